"""Samples, bins, relations of rows, functions with several results, and other spellings of joins, as NumPy spells them."""

import math

import numpy as np

from functions import FLOATS, INTEGERS, Lines, SOME, true_zeros, values
from meaning import BOOL, DTYPES, F16, F32, F64, I64, Approximate

SHAPE = (3, 5, 4)


def slopes(lines):
    random = lines.random
    for dtype in [DTYPES["u8"], DTYPES["i32"], F32, F64]:
        x = values(dtype, (4, 6), random)
        # NumPy's differences of unsigned numbers wrap.
        if dtype.kind != "u":
            for axis in [0, 1, -1]:
                lines.add(f"np.gradient(x, axis={axis})", 2, x=x)
            lines.add("np.gradient(x)[0]", 2, x=x)
            lines.add("np.gradient(x)[-1]", 2, x=x)
            lines.add("np.gradient(x, 0.5)[1]", 2, x=x)
            lines.add("np.gradient(x, 2, 0.25)[1]", 2, x=x)
            lines.add("np.gradient(x[:, 0], t)", 16, x=x, t=np.array([0.0, 1, 3, 3.5]))
            lines.add("np.gradient(x, t, axis=0)", 16, x=x, t=np.array([0.0, 1, 3, 3.5]))
            lines.add("np.gradient(x, t, axis=0)", 16, x=x, t=np.array([0.0, 0.5, 1, 1.5]))
            if dtype.kind == "f":
                gaps = np.where(np.arange(24).reshape(4, 6) % 5 == 2, dtype.type(np.nan), x)
                lines.add("np.gradient(x, t, axis=0)", 16, x=gaps, t=np.array([0.0, 0.5, 1, 1.5]))
            lines.add("np.gradient(x, t[:4], t, axis=(0, 1))[1]", 16, x=x, t=np.array([0.0, 1, 3, 3.5, 6, 7]))
            lines.add("np.trapezoid(x)", 4, x=x)
            lines.add("np.trapezoid(x, axis=0)", 4, x=x)
            lines.add("np.trapezoid(x, dx=0.5)", 4, x=x)
            lines.add("np.trapezoid(x, t, axis=0)", 4, x=x, t=np.array([0.0, 1, 3, 3.5]))
            lines.add("np.trapezoid(x, x=t)", 4, x=x, t=np.cumsum(np.ones((4, 6)), axis=1))
    for size in [0, 1, 2, 3, 17, 65, 1000]:
        x = values(F64, (size,), random)
        lines.add("np.gradient(x)", 2, x=x)
        if size:
            lines.add("np.trapezoid(x)", 4, x=x)


def slid(lines):
    random = lines.random
    for left in SOME:
        for right in [BOOL, DTYPES["i8"], F32]:
            for name in ["convolve", "correlate"]:
                for mode in ["", ", mode='full'", ", 'same'", ", mode='valid'"]:
                    x, y = values(left, (7,), random), values(right, (3,), random)
                    lines.add(f"np.{name}(x, y{mode})", 2, x=x, y=y)
                    lines.add(f"np.{name}(y, x{mode})", 2, x=x, y=y)
    for length in [1, 2, 3, 17, 65, 1000]:
        for width in [1, 2, 4, 17]:
            x, y = values(F64, (length,), random), values(F64, (width,), random)
            lines.add("np.convolve(x, y, 'same')", x=x, y=y)
            lines.add("np.correlate(x, y, 'full')", x=x, y=y)
    lines.add("np.convolve(x, y)", x=np.zeros(0), y=np.ones(2))
    for dtype in SOME:
        x, p = values(dtype, (5,), random), values(dtype, (3,), random)
        lines.add("np.polyval(p, x)", 4, x=x, p=p)
        lines.add("np.polyval([2, -1, 3], x)", 4, x=values(F64, (3, 4), random))


def binned(lines):
    random = lines.random
    for dtype in [DTYPES["i32"], DTYPES["u8"], F32, F64]:
        x = values(dtype, SHAPE, random)
        bounds = np.array([1, 2, 2, 5]).astype(dtype)
        for right in ["", ", right=True", ", right=False"]:
            lines.add(f"np.digitize(x, b{right})", x=x, b=bounds)
            lines.add(f"np.digitize(x, b[::-1]{right})", x=x, b=bounds)
            lines.add(f"np.digitize(x, b[:1]{right})", x=x, b=bounds)
        lines.add("np.isin(x, v)", x=x, v=bounds)
        lines.add("np.isin(x, [1, 3], invert=True)", x=x)
        lines.add("np.histogram(x, bins=4, range=(0, 8))[0]", x=x)
        lines.add("np.histogram(x, b)[0]", x=x, b=np.array([0, 1, 3, 8]).astype(dtype))
        lines.add("np.interp(x, t, y)", 4, x=x, t=np.array([-2.0, 0, 1, 7]), y=np.array([3.0, -1, 4, 4.5]))
        lines.add("np.interp(x, t, y, left=-9, right=9.5)", 4, x=x, t=np.array([0.0, 1, 7]), y=np.array([3.0, -1, 4]))
        lines.add("np.interp(x, t, y)", x=x, t=np.array([2.0]), y=np.array([3.0]))
    x = random.normal(0, 3, 999)
    for size in [0, 1, 2, 3, 17, 65, 999]:
        for bins in [1, 3, 10, 64]:
            lines.add(f"np.histogram(x, bins={bins})[0]", x=x[:size])
            lines.add(f"np.histogram(x, {bins})[1]", 8, x=x[:size])
        lines.add("np.histogram(x, bins=7, range=(-2, 2.5))[0]", x=x[:size])
        lines.add("np.histogram(x)[0]", x=np.round(x[:size]))
    lines.add("np.histogram(x, bins=6, density=True)[0]", 8, x=x)
    # So many bounds and values that they are searched by halving.
    for left in [DTYPES["i64"], DTYPES["u64"], DTYPES["i8"], F16, F32, F64, BOOL]:
        for right in [DTYPES["i64"], DTYPES["u64"], F32, F64]:
            x = values(left, (40,), random)
            bounds = np.sort(np.abs(values(right, (17,), random)))
            for b in [bounds, bounds[:16]]:
                for side in ["", ", right=True"]:
                    lines.add(f"np.digitize(x, b{side})", x=x, b=b)
                    lines.add(f"np.digitize(x, b[::-1]{side})", x=x, b=b)
                lines.add("np.isin(x, v)", x=x, v=b[::-1])
                lines.add("np.isin(x, v, invert=True)", x=x, v=values(right, b.shape, random))
                if left != BOOL:
                    lines.add("np.histogram(x, b)[0]", x=x, b=b)
        places = np.arange(-4, 5, 0.5)
        lines.add("np.interp(x, t, y)", 4, x=x, t=places, y=places**3)
        lines.add("np.interp(x, t, y, left=-9, right=9.5)", 4, x=x, t=places, y=places**3)
    far = np.array([2**53, 2**53 + 1, 2**63 - 1], dtype=np.int64)
    for repeats in [1, 9]:
        lines.add("np.isin(x, v)", x=far.astype(np.uint64), v=np.repeat(far[:2], repeats))
    lines.add("np.isin(x, v)", x=-far, v=far.astype(np.uint64))
    x = np.array([np.nan, 0.0, -0.0, np.inf])
    lines.add("np.isin(x, v)", x=x, v=np.append(np.arange(20.0), [np.nan, np.inf]))
    lines.add("np.digitize(x, b)", x=x, b=np.append(np.arange(20.0), np.inf))
    lines.add("np.digitize(x, b[::-1], right=True)", x=x, b=np.append(np.arange(20.0), np.inf))
    lines.add("np.digitize(x, b)", x=np.array([np.nan, np.inf, -np.inf, 0]), b=np.array([-1.0, 0, 2]))
    lines.add("np.interp(x, t, y)", x=np.array([np.nan, np.inf, -np.inf, 0]), t=np.array([-1.0, 0, 2]), y=np.array([5.0, 6, 7]))
    for dtype in INTEGERS:
        if dtype != DTYPES["u64"]:
            ids = random.integers(0, 5, 40).astype(dtype)
            lines.add("np.bincount(x, minlength=5)", x=ids)
            # NumPy adds weights one after the other; ours are compensated, so the exact sums decide.
            weights = random.normal(0, 1, 40)
            sums = np.array([math.fsum(weights[ids == bin]) for bin in range(5)])
            lines.cases.write(
                "function",
                "np.bincount(x, weights=w, minlength=5)",
                {"x": ids, "w": weights},
                Approximate(F64, sums, steps=1),
            )


def related(lines):
    random = lines.random
    for dtype in [DTYPES["i32"], F32, F64]:
        x, y = values(dtype, (3, 9), random), values(dtype, (9,), random)
        for call in ["x", "x.T, rowvar=False", "x, ddof=0", "x, bias=True", "x[0]", "x[0], y", "x, y"]:
            lines.add(f"np.cov({call})", 64, x=x, y=y)
        for call in ["x", "x.T, rowvar=False", "x[0]", "x[0], y"]:
            lines.add(f"np.corrcoef({call})", 512, x=x, y=y)
    for dtype in SOME:
        if dtype != BOOL:
            x, y = values(dtype, (4, 3), random), values(dtype, (3,), random)
            lines.add("np.cross(x, y)", x=x, y=y)
            lines.add("np.cross(x.T, x.T, axis=0)", x=true_zeros(x), y=y)
        v = values(dtype, (4,), random)
        for k in ["", ", 2", ", k=-1"]:
            lines.add(f"np.diag(x{k})", x=v)
            lines.add(f"np.diag(x{k})", x=values(dtype, (4, 5), random))
        lines.add("np.array_equal(x, x)", x=true_zeros(v))
        lines.add("np.array_equal(x, x[:2])", x=v)
    lines.add("np.cross(x, x)", x=np.ones((2, 4)))
    lines.add("np.tri(3) + x", x=np.zeros(3))
    lines.add("np.tri(3, 4, -1, dtype=np.int8) + x", x=np.zeros(4, DTYPES["i8"]))


LINES = """
np.vstack([x, x])
np.vstack((x[0, 0], x[1, 1]))
np.vstack([x[0], x[1, 1][None]])
np.hstack([x, x])
np.hstack([x[0, 0], x[1, 1]])
np.hstack([x[0, 0, 0], x[1, 1]])
np.dstack([x, x])
np.dstack([x[0, 0], x[1, 1]])
np.dstack([x[0], x[1]])
np.column_stack([x[0, 0], x[1, 1]])
np.column_stack([x[0, 0], x[1].T])
np.append(x, x[0])
np.append(x, x, axis=1)
np.append(x[0], [1, 0])
x.copy()
np.split(x, 3)[1]
np.split(x, 2)[1]
np.split(x, 4, axis=-1)[3]
np.split(x, [1, 3], axis=1)[1]
np.split(x, [1, 3], axis=1)[-1]
np.array_split(x, 2)[0]
np.array_split(x, 2)[1]
np.array_split(x, 4, axis=1)[3]
np.array_split(x, 3, axis=2)[0]
np.vsplit(x, 3)[2]
np.hsplit(x, 5)[2]
np.hsplit(x[0, 0], 2)[1]
np.dsplit(x, 2)[0]
np.unstack(x)[2]
np.unstack(x, axis=1)[-1]
np.meshgrid(x[0, 0], x[:, 0, 0])[0]
np.meshgrid(x[0, 0], x[:, 0, 0])[1]
np.meshgrid(x[0, 0], x[:, 0, 0], indexing='ij')[0]
np.meshgrid(x[0, 0], x[:, 0, 0], x[0, :, 0])[1]
np.meshgrid(x[0, 0], x[:, 0, 0], x[0, :, 0], indexing='xy')[2]
np.meshgrid(x[0, 0])[0]
np.stack(np.meshgrid(x[0, 0], x[:, 0, 0]), axis=-1)
np.broadcast_arrays(x[:, :1], x[0, 0])[0]
np.broadcast_arrays(x[:, :1], x[0, 0])[1]
np.repeat(x, [1, 0, 2], axis=0)
np.repeat(x, [0, 0, 0, 0], axis=2)
np.repeat(x, (2, 2, 1, 1, 3), axis=-2)
np.repeat(x, [2], axis=1)
np.repeat(x, [1, 2], axis=0)
np.repeat(x, [1, -2, 1], axis=0)
np.repeat(x[0, 0], [1, 2, 3, 4])
np.roll(x, 17, axis=1)
np.roll(x, -100, axis=0)
np.roll(x, 1000)
np.pad(x, 9, 'reflect')
np.pad(x, 11, 'symmetric')
np.pad(x, 13, mode='wrap')
np.pad(x[:, :1], ((3, 2), (4, 1), (8, 9)), 'reflect')
np.pad(x[:1], ((3, 2), (4, 10), (8, 9)), 'wrap')
np.pad(x[:1, :2], ((3, 2), (4, 10), (8, 9)), 'symmetric')
x.astype('f4')
x.astype('i8')
x.astype('<u2')
x.astype("float64")
x.astype('bool')
np.array_equal(x, x[..., 0])
len(np.meshgrid(x[0, 0], x[1, 1])) + x
"""


def spelled(lines):
    random = lines.random
    for dtype in [DTYPES[name] for name in ("bool", "u8", "i32", "f16", "f32", "f64")]:
        for line in LINES.strip().splitlines():
            x = true_zeros(values(dtype, SHAPE, random))
            if "astype" in line and dtype.kind == "f":
                x = np.abs(x)
            lines.add(line, x=x)
    for dtype in SOME:
        x = values(dtype, (3, 7), random)
        if dtype != BOOL:
            y = true_zeros(values(dtype, (7,), random)) + dtype.type(9)
            lines.add("np.divmod(x, y)[0]", x=true_zeros(x), y=y)
            lines.add("divmod(x, 3)[1]", x=true_zeros(x))
    for dtype in FLOATS:
        x = np.array([1.5, -2.25, 0.0, -0.0, 7, -9, np.inf, -np.inf, np.nan], dtype)
        lines.add("np.modf(x)[0]", x=x)
        lines.add("np.modf(x)[1]", x=x)
        lines.add("np.isposinf(x)", x=x)
        lines.add("np.isneginf(x)", x=x)
    for dtype in [F32, F64]:
        lines.add("np.sinc(x)", 64, x=np.array([0, 0.5, -0.25, 3.1, 1e-9, 7.25], dtype))
    places = np.array([0, 5, 59, 17])
    for axis in range(3):
        lines.add(f"np.unravel_index(i, (3, 5, 4))[{axis}]", i=places)
        lines.add(f"np.unravel_index(i, x.shape)[{axis}]", i=places, x=np.ones(SHAPE))
    lines.add("np.unravel_index(np.argmax(x), x.shape)[1]", x=random.normal(0, 1, (7, 9)))
    # Bool begins with bool.
    m = random.random((4, 5)) < 0.5
    lines.add("np.max(x, initial=False)", x=m)
    lines.add("np.min(x, axis=0, initial=True)", x=m)
    lines.add("np.max(x, axis=0, initial=0)", x=m)
    lines.add("np.min(x, axis=0, initial=1)", x=m)
    lines.add("np.max(x, axis=1, initial=True, where=m)", x=m, m=~m)
    for dtype in [F16, F32, F64, I64]:
        lines.add("np.max(x, initial=False)", x=values(dtype, (4,), random))


def write(cases):
    lines = Lines(cases)
    slopes(lines)
    slid(lines)
    binned(lines)
    related(lines)
    spelled(lines)
