"""Functions as NumPy spells them: the same text is evaluated by NumPy and read by the text language.

A line is a template: `x` and `y` are arrays, of which the dtypes and shapes are tried that the line asks for. Results of
floats are compared bit for bit, but for a number of steps where the order of additions or a function rounds.
"""

import math
import warnings
from fractions import Fraction

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from elementwise import corners
from meaning import BOOL, DTYPES, F16, F32, F64, I64, Approximate, Refused
from reduced import whole

FLOATS = [F16, F32, F64]
WIDE_FLOATS = [F32, F64]
INTEGERS = [dtype for dtype in DTYPES.values() if dtype.kind in "iu"]
SOME = [DTYPES[name] for name in ("bool", "i8", "u16", "i32", "u64", "f16", "f32", "f64")]

SHAPE = (3, 5, 4)
AXES = ["", "axis=0", "axis=1", "axis=-1", "axis=(0, 2)", "axis=(-1, 1), keepdims=True", "axis=3", "axis=(1, 1)"]


def values(dtype, shape, random):
    """Small numbers, so that sums are exact in every float."""
    if dtype == BOOL:
        return random.integers(0, 2, shape).astype(BOOL)
    if dtype.kind == "u":
        return random.integers(0, 9, shape).astype(dtype)
    numbers = random.integers(-8, 9, shape)
    return (numbers / 2 if dtype.kind == "f" else numbers).astype(dtype)


def with_nans(dtype, shape, random, share=0.3):
    array = values(dtype, shape, random)
    if dtype.kind == "f":
        array[random.random(shape) < share] = np.nan
    return array


def true_zeros(array):
    """Without negative zeros, which minima and maxima order and NumPy does not."""
    return array + array.dtype.type(0) if array.dtype.kind == "f" else array


class Lines:
    """Writes one case after the other."""

    def __init__(self, cases):
        self.cases = cases
        self.random = np.random.default_rng(11)

    def add(self, expression, steps=None, /, **inputs):
        inputs = {name: np.asarray(array) for name, array in inputs.items()}
        self.cases.write("function", expression, inputs, evaluate(expression, inputs, steps))


def evaluate(expression, inputs, steps):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = np.asarray(eval(expression, {"np": np, "sliding_window_view": sliding_window_view, **inputs}))
    except (ValueError, IndexError, TypeError, OverflowError) as mistake:
        return Refused(str(mistake))
    if steps and result.dtype.kind == "f":
        return Approximate(result.dtype, result, steps=steps)
    return result


def filtered(lines):
    random = lines.random
    for dtype in SOME:
        for axes in AXES:
            x, mask = values(dtype, SHAPE, random), random.random(SHAPE) < 0.6
            mask[0, 0] = False
            end = f"{axes}, " if axes else ""
            for name in ["sum", "any", "all"]:
                lines.add(f"np.{name}(x, {end}where=m)", x=x, m=mask)
            lines.add(f"np.mean(x, {end}where=m)", 2, x=x, m=mask)
            signs = np.sign(x) if dtype.kind in "if" else x
            lines.add(f"np.prod(x, {end}where=m)", x=true_zeros(signs), m=mask)
            lines.add(f"np.sum(x, {end}initial=3)", x=x)
            lines.add(f"np.prod(x, {end}initial=2, where=m)", x=true_zeros(signs), m=mask)
            extremes = true_zeros(x)
            if dtype != BOOL:
                lines.add(f"np.min(x, {end}initial=2, where=m)", x=extremes, m=mask)
                lines.add(f"np.max(x, {end}initial=3, where=m[0])", x=extremes, m=mask)
                lines.add(f"np.ptp(x{', ' * bool(axes)}{axes})", x=extremes)
            if dtype != F16:
                # Deviations of these numbers round, and the sums of their squares do.
                lines.add(f"np.var(x, {end}where=m)", 8, x=x, m=mask)
                lines.add(f"np.std(x, {end}where=m, ddof=1)", 8, x=x, m=mask)
    x, m = values(F32, SHAPE, random), random.random(SHAPE) < 0.5
    lines.add("np.sum(x, where=m[:, :, 0])", x=x, m=m)
    lines.add("np.sum(x, axis=1, where=m[:, :1])", x=x, m=m)
    lines.add("np.sum(x, where=m[None])", x=x, m=m)
    lines.add("np.min(x, where=m)", x=x, m=m)
    lines.add("np.max(x, axis=0, initial=-1)", x=np.zeros((0, 3), F32))
    lines.add("np.min(x, axis=0, initial=9)", x=np.zeros((0, 3), I64))


def of_numbers(lines):
    random = lines.random
    for dtype in SOME:
        for axes in AXES:
            x = true_zeros(with_nans(dtype, SHAPE, random))
            if dtype.kind == "f":
                x[1, 2] = np.nan
                x[:, 3, 1] = np.nan
            end = f", {axes}" if axes else ""
            signs = np.sign(x) if dtype.kind in "if" else x
            lines.add(f"np.nansum(x{end})", x=x)
            lines.add(f"np.nanprod(x{end})", x=signs)
            lines.add(f"np.nanmean(x{end})", 2, x=x)
            lines.add(f"np.nanmin(x{end})", x=x)
            lines.add(f"np.nanmax(x{end})", x=x)
            if dtype != F16:
                lines.add(f"np.nanvar(x{end})", 8, x=x)
                lines.add(f"np.nanstd(x{end}, ddof=2)", 8, x=x)
        for axis in ["", ", axis=0", ", axis=-1", ", axis=1, keepdims=True"]:
            x = true_zeros(with_nans(dtype, (6, 9, 8), random, 0.2))
            lines.add(f"np.nanargmin(x{axis})", x=x)
            lines.add(f"np.nanargmax(x{axis})", x=x)
        special = [np.nan, np.inf, -np.inf, 0.0, -1.5] if dtype.kind == "f" else [0, 1, 1, 0, 1]
        special = np.array(special).astype(dtype)
        lines.add("np.nan_to_num(x)", x=special)
        lines.add("np.nan_to_num(x, nan=7, posinf=8, neginf=-9.5)", x=special)
    for dtype in FLOATS:
        x = np.full((2, 3), np.nan, dtype)
        x[1, 1] = 2
        for name in ["nansum", "nanmean", "nanmin", "nanmax", "nanvar", "nanstd"]:
            lines.add(f"np.{name}(x, axis=1)", x=x)


def near(lines):
    random = lines.random
    for left in SOME:
        for right in SOME:
            x, y = values(left, (4, 5), random), values(right, (5,), random)
            if left.kind == "f":
                x = x * x.dtype.type(1 + 1e-6)
                x[0] = [np.nan, np.inf, -np.inf, 0, 1]
            if right.kind == "f":
                y[:3] = [np.nan, np.inf, np.inf]
            # NumPy has no difference of bool.
            if left != BOOL or right.kind == "f":
                lines.add("np.isclose(x, y)", x=x, y=y)
                lines.add("np.isclose(x, y, rtol=0.25, atol=0.5, equal_nan=True)", x=x, y=y)
    x = values(F64, (4, 5), random)
    lines.add("np.allclose(x, y)", x=x, y=x + 1e-9)
    lines.add("np.allclose(x, y)", x=x, y=x + 1)
    lines.add("np.isclose(x, 2)", x=values(F32, (9,), random))


def averages(lines):
    random = lines.random
    for dtype in [DTYPES["bool"], DTYPES["i32"], F32, F64]:
        for weight in [DTYPES["u8"], F32, F64]:
            x = values(dtype, SHAPE, random)
            w = np.abs(values(weight, SHAPE, random)) + weight.type(1)
            lines.add("np.average(x, weights=w)", 4, x=x, w=w)
            lines.add("np.average(x, axis=1, weights=w)", 4, x=x, w=w)
            lines.add("np.average(x, 2, w)", 4, x=x, w=w[0, 0])
            lines.add("np.average(x, axis=(2, 0), weights=w)", 4, x=x, w=w[:, 0, :].T)
            lines.add("np.average(x, axis=(0, 1), weights=w, keepdims=True)", 4, x=x, w=w)
        lines.add("np.average(x)", 4, x=x)
        lines.add("np.average(x, axis=0)", 4, x=x)
        lines.add("np.average(x, axis=0, weights=w)", x=x, w=w[0])


def elementwise(lines):
    random = lines.random
    for dtype in SOME:
        x = whole(dtype, (3, 5), random)
        if dtype.itemsize > 1:
            lines.add("np.fabs(x)", x=x)
        for other in SOME:
            y = values(other, (5,), random)
            lines.add("np.float_power(x, y)", 2, x=x, y=y)
            if dtype.itemsize > 1 and other.itemsize > 1:
                lines.add("np.heaviside(x, y)", x=x, y=y)
    for dtype in WIDE_FLOATS:
        x = np.array([0, -0.0, 1, -1, 1e-3, -250, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny], dtype)
        edges = np.array([np.finfo(dtype).max, -np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal], dtype)
        x = np.concatenate([x, edges])
        lines.add("np.spacing(x)", x=x)
        lines.add("np.heaviside(x, 0.5)", x=x)
        lines.add("np.fabs(x)", x=x)
        lines.add("np.logaddexp2(x, y)", 4, x=random.normal(0, 30, 400).astype(dtype), y=random.normal(0, 30, 400).astype(dtype))
        lines.add("np.logaddexp2(x[:, None], x)", 4, x=np.concatenate([x[:9], [dtype.type(1000)]]))
    for dtype in FLOATS:
        x = np.concatenate([random.normal(0, 4, 50), [0, -0.0, np.inf, -np.inf, np.nan, 1]]).astype(dtype)
        x = np.concatenate([x, [np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny * dtype.type(1.5)]])
        powers = [0, 1, -1, 7, -24, 30, 127, -126, -149, 200, -300, 1023, 1024, -1022, -1060, -1074, 2098, -2098, 2**31 - 1, -(2**31)]
        powers += list(range(-1085, -1015)) + list(range(-160, -120)) + list(range(-30, -10))
        lines.add("np.ldexp(x[:, None], n)", x=x.astype(dtype), n=np.array(powers, DTYPES["i32"]))
    lines.add("np.ldexp(x, x)", x=np.ones(3, F32))


def normal(x):
    """The normal distribution function, within 2 units of the last place of f64, and what is lost in `x / sqrt(2)` told."""
    root = Fraction(math.isqrt(2 << 400), 1 << 200)
    result = []
    for value in x.astype(F64):
        if not math.isfinite(value):
            result.append(value if math.isnan(value) else float(value > 0))
            continue
        scaled = -float(value) / math.sqrt(2)
        lost = -Fraction(float(value)) / root - Fraction(scaled)
        slope = -2 / math.sqrt(math.pi) * math.exp(-scaled * scaled) * float(lost)
        result.append((math.erfc(scaled) + slope) / 2)
    return np.array(result)


def special(lines):
    random = lines.random
    for dtype in WIDE_FLOATS:
        info = np.finfo(dtype)
        ends = [0.0, -0.0, np.inf, -np.inf, np.nan, info.tiny, -info.smallest_subnormal, info.max, -info.max, info.eps, -1e-9]
        # Beyond these the result is below the normal numbers, of which a unit is more.
        least = -12.5 if dtype == F32 else -37
        x = np.concatenate([ends, random.uniform(least, 9, 20000), random.normal(0, 1, 9000), random.normal(0, 1e-6, 99)])
        x = x.astype(dtype)
        inputs = {"x": x}
        wanted = Approximate(dtype, normal(x).astype(dtype), steps=6)
        lines.cases.write("function", "ndtr(x)", inputs, wanted)
    for name in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"):
        dtype = DTYPES[name]
        info = np.iinfo(dtype)
        x = corners(dtype)
        for function, op in [("saturating_add", int.__add__), ("saturating_subtract", int.__sub__)]:
            wanted = [[min(max(op(int(a), int(b)), info.min), info.max) for b in x] for a in x]
            lines.cases.write("function", f"{function}(x[:, None], x)", {"x": x}, np.array(wanted, dtype))
    for dtype in WIDE_FLOATS:
        x = random.normal(3, 2, (6, 9)).astype(dtype)
        w, b = random.normal(0, 1, (2, 9)).astype(dtype)
        wide = x.astype(np.longdouble)
        deviation = wide - wide.mean(axis=-1, keepdims=True)
        normed = deviation / np.sqrt(wide.var(axis=-1, keepdims=True) + dtype.type(1e-3))
        distance = np.full(x.shape, 40 * float(np.finfo(dtype).eps))
        for text, wanted in [("layer_norm(x, epsilon=1e-3)", normed), ("layer_norm(x, -1, w, b, 1e-3)", normed * w + b)]:
            wanted = Approximate(dtype, wanted.astype(F64), distance=distance)
            lines.cases.write("function", text, {"x": x, "w": w, "b": b}, wanted)


VIEWS = """
np.roll(x, 2, axis=1)
np.roll(x, -7, axis=0)
np.roll(x, (1, -2), axis=(2, 1))
np.roll(x, 3)
np.roll(x, 1, axis=3)
np.repeat(x, 3, axis=1)
np.repeat(x, 2)
np.repeat(x, 0, axis=0)
np.tile(x, 2)
np.tile(x, (2, 1, 3))
np.tile(x, (2, 1, 1, 2))
np.rot90(x)
np.rot90(x, 2)
np.rot90(x, -1, axes=(1, 2))
np.rot90(x, 5, (2, 0))
np.rot90(x, 1, (1, 1))
np.flip(x)
np.flip(x, 1)
np.flip(x, axis=(0, 2))
np.flipud(x)
np.fliplr(x)
np.moveaxis(x, 0, -1)
np.moveaxis(x, (0, 1), (-1, 0))
np.moveaxis(x, (0, 1), (0,))
np.swapaxes(x, 0, 2)
np.swapaxes(x, -1, 1)
np.swapaxes(x, 3, 0)
np.atleast_1d(x)
np.atleast_2d(x[0, 0])
np.atleast_3d(x[0])
np.atleast_3d(x[0, 0])
np.atleast_3d(x[0, 0, 0])
np.atleast_2d(x[0, 0, 0])
np.pad(x, 1)
np.pad(x, (2, 1), constant_values=1)
np.pad(x, ((0, 1), (2, 0), (1, 1)))
np.pad(x, 2, 'edge')
np.pad(x, ((2, 1), (0, 3), (1, 2)), mode='reflect')
np.pad(x, ((2, 1), (0, 3), (1, 2)), 'symmetric')
np.pad(x, ((2, 1), (0, 3), (1, 2)), mode='wrap')
np.pad(x[0, 0], (1, 2), 'edge')
np.pad(x, ((1, 1), (1, 1)))
np.diagonal(x)
np.diagonal(x, 1)
np.diagonal(x, -2, axis1=1, axis2=2)
np.diagonal(x, offset=7)
np.diagonal(x, 0, 1, 1)
np.trace(x)
np.trace(x, 1, 1, 2)
np.tril(x)
np.tril(x, -1)
np.triu(x, 2)
np.tril(x[0, 0])
np.zeros_like(x)
np.ones_like(x)
np.full_like(x, 1)
np.take(x, 7)
np.vander(x[0, 0], 4)
np.vander(x[0, 0])
np.vander(x[0, 0], increasing=True)
np.vander(x[0], 2)
sliding_window_view(x, 2, axis=1)
sliding_window_view(x, (2, 3), axis=(0, 2))
sliding_window_view(x, (2, 3, 1))
sliding_window_view(x, (2, 2), (1, 1))
sliding_window_view(x, 6, 1)
sliding_window_view(x, 3, -2).sum(-1)
(sliding_window_view(x, 3, 1) * sliding_window_view(x, 3, 1)[:, ::-1]).sum(-1)
sliding_window_view(x, 2, 1).max(axis=-1)
sliding_window_view(x, 2, 1).max(axis=1)
sliding_window_view(x, 2, 2).argmax(axis=-1)
sliding_window_view(x, (3, 2), (1, 2)).sum((-1, -2))
sliding_window_view(np.pad(x, 1), (3, 3), (1, 2)).max((-1, -2))
sliding_window_view(x.sum(0), 2, 0).sum(-1)
sliding_window_view(x + x, 3, 1)[..., 1]
"""


def arranged(lines):
    random = lines.random
    for dtype in [DTYPES[name] for name in ("bool", "u8", "i32", "f16", "f32", "f64")]:
        for line in VIEWS.strip().splitlines():
            x = true_zeros(values(dtype, SHAPE, random))
            lines.add(line, x=x)
    for dtype in [DTYPES["i8"], DTYPES["i64"], F32]:
        x = true_zeros(values(dtype, SHAPE, random))
        for index in [DTYPES["i64"], DTYPES["u8"]]:
            low = -4 if index.kind == "i" else 0
            i = random.integers(low, 4, (3, 5, 6)).astype(index)
            lines.add("np.take_along_axis(x, i, -1)", x=x, i=i)
            lines.add("np.take_along_axis(x, i, axis=-1)", x=x, i=i[:, :1])
            lines.add("np.take_along_axis(x, i, axis=0)", x=x, i=np.clip(i[:2, :, :4], -3, 2))
            lines.add("np.take_along_axis(x[:, :1], i, 2)", x=x, i=i)
            lines.add("np.take_along_axis(x, i, 2)", x=x, i=i[0])
            lines.add("np.take_along_axis(x, i, 2)", x=x, i=i[:2])
            lines.add("np.take(x, i)", x=x, i=i)
        lines.add("np.take_along_axis(x, np.expand_dims(np.argmax(x, axis=1), 1), 1)", x=x)
    # Squares: a vector is a row of one.
    lines.add("np.eye(3) + 0 * x", x=np.zeros((3, 3)))
    lines.add("np.eye(3, 4, k=1, dtype=np.float32) * x", x=np.ones((3, 4), F32))
    lines.add("np.zeros((2, 3)) + x", x=np.ones((2, 3), F32))
    lines.add("np.ones(4, dtype=np.int8) + x", x=np.ones(4, DTYPES["i8"]))
    lines.add("np.full((2, 3), 7) + x", x=np.ones((2, 3), DTYPES["i8"]))
    lines.add("np.full((2, 3), 0.5, dtype=np.float32) + x", x=np.ones((2, 3), F32))
    for length in [1, 7, 64, 65, 300, 2000]:
        x = values(F32, (length,), random)
        for width in [1, 2, 3, 64, 65]:
            lines.add(f"sliding_window_view(x, {width}).sum(-1)", x=x)
        if length < 2000:
            y = values(F32, (length, 6), random)
            lines.add("sliding_window_view(y, 3, 0).min(-1)", y=true_zeros(y))
            lines.add("sliding_window_view(y * 2, 5, 1).sum(0)", y=y)
            lines.add("sliding_window_view(y.T, 2, 0) @ np.ones(2, dtype=np.float32)", y=y)


METHODS = [
    "linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf", "averaged_inverted_cdf", "closest_observation",
    "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased",
]


def ordered(lines):
    """Sorts, places and quantiles. NumPy leaves the order of zeros of both signs open, and of equal elements by default."""
    random = lines.random
    for dtype in DTYPES.values():
        x, row = true_zeros(with_nans(dtype, SHAPE, random)), true_zeros(with_nans(dtype, 70, random))
        for axis in ["", ", axis=0", ", axis=1", ", axis=-1", ", axis=None", ", axis=3"]:
            lines.add(f"np.sort(x{axis})", x=x)
            lines.add(f"np.argsort(x{axis}, kind='stable')", x=x)
            lines.add(f"np.argsort(x{axis}, stable=True)", x=x)
        lines.add("np.sort(x, 0)", x=x)
        lines.add("np.sort(x, 0, 'heapsort')", x=x)
        lines.add("np.sort(x, axis=0)", x=x[:0])
        lines.add("np.argsort(x, axis=-1)", x=x[:, :, :0])
        lines.add("np.sort(x[0, 0, 0])", x=x)
        lines.add("np.sort(x[0, 0, 0], axis=None)", x=x)
        lines.add("np.sort(x, kind='bubble')", x=x)
        lines.add("np.searchsorted(np.sort(x), y)", x=row, y=x)
        lines.add("np.searchsorted(np.sort(x), y, side='right')", x=row, y=x)
        lines.add("np.searchsorted(np.sort(x), y, 'left')", x=row[:1], y=x)
        lines.add("np.searchsorted(x, y[0, 0, 0])", x=row[:0], y=x)
        lines.add("np.sort(x).searchsorted(y, side='right')", x=row, y=x)
        lines.add("np.searchsorted(x, y, side='middle')", x=row, y=x)
        lines.add("np.searchsorted(y, x)", x=row, y=x)
        for other in SOME:
            # Of two that have no common integer, NumPy and this compare in f64.
            table = np.sort(values(other, 17, random))
            lines.add("np.searchsorted(x, y, side='right')", x=table, y=x)
        for axes in AXES:
            end = f", {axes}" if axes else ""
            lines.add(f"np.median(x{end})", x=x)
            lines.add(f"np.median(x{end})", x=values(dtype, (3, 4, 2), random))
            lines.add(f"np.nanmedian(x{end})", x=x)
            if dtype == BOOL:
                continue
            whole_rows = values(dtype, SHAPE, random)
            for q in ["0.3", "1.0", "[0.25, 0.9]", "[0.0, 0.5, 1.0]"]:
                lines.add(f"np.quantile(x, {q}{end})", x=whole_rows)
                lines.add(f"np.quantile(x, {q}{end})", x=x)
                lines.add(f"np.nanquantile(x, {q}{end})", x=x)
            lines.add(f"np.percentile(x, 37.5{end})", x=whole_rows)
            lines.add(f"np.nanpercentile(x, [10, 90]{end})", x=x)
        if dtype == BOOL:
            continue
        for method in METHODS:
            for length in (1, 2, 3, 8, 17):
                x = values(dtype, (length, 3), random)
                for q in ["0.0", "0.1", "0.25", "0.5", "0.77", "1.0", "[0.3, 0.125, 0.875]"]:
                    lines.add(f"np.quantile(x, {q}, axis=0, method='{method}')", x=x)
                with_some = with_nans(dtype, (length, 3), random)
                lines.add(f"np.nanquantile(x, 0.4, axis=0, method='{method}')", x=with_some)
                lines.add(f"np.percentile(x, 62.5, axis=0, method='{method}', keepdims=True)", x=with_some)
    for q in ["1.5", "-0.1", "[0.5, 2]", "nan"]:
        lines.add(f"np.quantile(x, {q.replace('nan', 'np.nan')})", x=x)
    lines.add("np.quantile(x, 0.5, method='middle')", x=x)
    lines.add("np.percentile(x, 101)", x=x)


QUIRKS = """
np.rint(x)
np.clip(x)
np.clip(x, None, 2)
x > -1
-1 < x
x == -3
x[1:9]
x[-9:2]
x[5:2]
x[7:]
x[::-2]
x[9::-1]
x[-9::-1]
x[3:-9:-1]
x[:, 1:100:3]
x[2:1:-1, -100:-1]
np.take(x, 7)
np.sum(x[0, 0], axis=0)
np.max(x[0, 0], axis=-1)
np.argmin(x[0, 0], axis=0)
np.any(x[0, 0], axis=-1, keepdims=True)
np.sum(x[0, 0], axis=1)
1_000 + x.astype(np.int64)
0x_ff + x.astype(np.int64)
00 + x
"""


def quirks(lines):
    for name in ("u16", "i32", "u64", "f32", "f64"):
        x = values(DTYPES[name], (4, 6), lines.random)
        for line in QUIRKS.strip().splitlines():
            lines.add(line, x=x)
    for line in ["1__0 + x", "07 + x", "1_ + x", "0x__f + x"]:
        lines.cases.write("function", line, {"x": x}, Refused("no number of Python's"))


def scans(lines):
    random = lines.random
    for dtype in SOME:
        for axis in ["", ", axis=0", ", axis=1", ", axis=-1", ", 2", ", axis=3"]:
            x = values(dtype, SHAPE, random)
            signs = np.sign(x) if dtype.kind in "if" else x
            lines.add(f"np.cumsum(x{axis})", x=x)
            lines.add(f"np.cumprod(x{axis})", x=signs)
            if axis:
                lines.add(f"np.cumulative_sum(x{axis.replace(', 2', ', axis=2')}, include_initial=True)", x=x)
                lines.add(f"np.cumulative_prod(x{axis.replace(', 2', ', axis=2')}, include_initial=True)", x=signs)
            x = with_nans(dtype, SHAPE, random)
            lines.add(f"np.nancumsum(x{axis})", x=x)
            lines.add(f"np.nancumprod(x{axis})", x=np.sign(x) if dtype.kind in "if" else x)
        for name in ("add", "multiply", "minimum", "maximum"):
            x = true_zeros(np.sign(values(dtype, SHAPE, random)) if dtype.kind in "if" else values(dtype, SHAPE, random))
            if dtype.kind != "f" or name in ("minimum", "maximum"):
                lines.add(f"np.{name}.accumulate(x, axis=1)", x=x)
                lines.add(f"np.{name}.reduce(x, axis=(0, 2), keepdims=True)", x=x)
        lines.add("x.cumsum(0).sum() + x.cumprod(1)", x=values(dtype, (3, 2), random))
        lines.add("np.cumsum(x[0, 0], axis=0)", x=values(dtype, (3, 2), random))
        lines.add("np.cumsum(x[:0], axis=0)", x=values(dtype, (3, 2), random))
        lines.add("np.cumsum(x, axis=1, dtype=np.float64)", x=values(dtype, (3, 200), random))
    for dtype in WIDE_FLOATS:
        # One addition after the other, so that the bits are the same however they round.
        x = random.normal(0, 1, (7, 1500)).astype(dtype)
        lines.add("np.cumsum(x, axis=1)", x=x)
        lines.add("np.cumsum(x, axis=0)", x=x)
        lines.add("np.cumsum(x.T, axis=0)", x=x)
        lines.add("np.cumprod(1 + x / 64, axis=1)", x=x)
        lines.add("np.cumsum(x)[-1] - np.cumsum(np.exp2(np.floor(x)), axis=1)", x=x)


def write(cases):
    lines = Lines(cases)
    scans(lines)
    filtered(lines)
    of_numbers(lines)
    near(lines)
    averages(lines)
    elementwise(lines)
    arranged(lines)
    ordered(lines)
    special(lines)
    quirks(lines)
