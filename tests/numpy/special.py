"""Compositions on infinite, NaN and huge values, at the ends of integers, and beside literals that a dtype cannot hold."""

import numpy as np

from functions import Lines
from meaning import F16, F32, F64

INF, NAN = np.inf, np.nan
EDGES = np.array([0.0, -0.0, 5e-324, -5e-324, 1.0, -1.5, 1.7e308, -1.7e308, INF, -INF, NAN])
I64_ENDS = np.array([-(2**63), 2**63 - 1])

# NumPy's values.
AGREED = [
    ("np.convolve(x, y)", [1.0, 2.0, 3.0], [1.0, INF]),
    ("np.convolve(x, y)", [1.0, 2.0, 3.0], [1.0, NAN]),
    ("np.convolve(x, y, 'same')", [1.0, INF], [1.0, 2.0, 3.0]),
    ("np.correlate(x, y, 'full')", [1.0, 2.0, 3.0], [1.0, INF]),
    ("np.correlate(x, y, 'same')", [1.0, 2.0, 3.0], [1.0, INF]),
    ("np.correlate(x, y, 'full')", [1.0, INF], [1.0, 2.0, 3.0]),
    ("np.sort(x, axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.argsort(x, axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.concatenate((x, x), axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.take_along_axis(x, y, axis=None)", [[3.0, 1.0], [2.0, 0.0]], [3, 0]),
    ("np.stack((x, x), axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.diff(x, axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.trapezoid(x, axis=None)", [[3.0, 1.0], [2.0, 0.0]]),
    ("np.nanprod(x, dtype=np.int32)", [NAN, 2.0, 3.0]),
    ("np.nancumprod(x, dtype=np.int32)", [NAN, 2.0, 3.0]),
    ("np.nansum(x, dtype=bool)", [NAN]),
    ("np.nancumsum(x, dtype=bool)", [NAN, 1.0]),
    ("np.nanmean(x, dtype=np.int32)", [NAN, 2.0]),
    ("np.nanvar(x, dtype=np.int32)", [NAN, 2.0]),
    ("np.interp(x, y, y + 1)", EDGES, [0.0, 1.0]),
    ("np.histogram(x, 3, range=(0, 4))[0]", EDGES),
    ("np.digitize(x, y)", EDGES, [-INF, 0.0, INF]),
    ("np.searchsorted(y, x)", EDGES, [-INF, 0.0, INF, NAN]),
    ("np.isin(x, y)", EDGES, [-INF, 0.0, NAN]),
    ("np.nan_to_num(x)", EDGES),
    ("np.heaviside(x, 0.5)", EDGES),
    ("np.spacing(x)", EDGES),
    ("np.rint(x)", EDGES),
    ("np.modf(x)[0]", EDGES),
    ("np.modf(x)[1]", EDGES),
    ("np.isclose(x, y)", EDGES[:, None], EDGES),
    ("np.diff(x)", EDGES),
    ("np.tril(x * np.ones((11, 1)))", EDGES),
    ("np.diag(x)", EDGES),
    ("np.pad(x, 2)", EDGES),
    ("np.roll(x, 3)", EDGES),
    ("np.polyval([1.0, 2.0], x)", EDGES[:6]),
    ("x == y", np.array([2**62 + 1]), np.array([2**62], np.uint64)),
]

# On `x` of u8: quotients are floats, and comparisons are decided.
LITERALS = [
    *(f"x {op} {number}" for op in ("<", "<=", "==", "!=", ">", ">=") for number in (300, -1, 2**70, -(2**70))),
    "x / 256",
    "256 / x",
    "x * 256",
    "x // 256",
    "x % 256",
    "np.minimum(x, 300)",
    "np.clip(x, 2, 300)",
    "np.clip(x, -5, 3)",
    "np.clip(x, None, 300)",
    "np.clip(x, -5, None)",
    "np.clip(x, 300, 400)",
    "np.clip(x, -9, -5)",
    "np.isclose(x, 300)",
    "np.isclose(300, x)",
    "np.isin(x, 300)",
    "np.searchsorted(x, 300)",
    "np.logical_and(x, 300)",
    "np.float_power(x, 300)",
]

# Exact arithmetic, where NumPy overflows or compares integers in f64.
EXACT = [
    ("np.quantile(x, 0.5)", I64_ENDS, F64.type(0)),
    ("np.quantile(x, 0.5)", np.array([-40000, 40000], F16), F16.type(0)),
    ("np.quantile(x, 0.5)", np.array([-3e38, 3e38], F32), F32.type(0)),
    ("np.quantile(x, 0.5)", np.array([-1.7e308, 1.7e308]), F64.type(0)),
    ("np.median(x)", np.array([1.7e308, 1.7e308]), F64.type(1.7e308)),
    ("np.trapezoid(x)", np.array([1e308, 1e308]), F64.type(1e308)),
    ("np.gradient(x)", np.array([-1.5e308, 0, 1.5e308]), np.full(3, 1.5e308)),
    ("np.interp([0.5], [0, 1], x)", np.array([-1.7e308, 1.7e308]), np.zeros(1)),
    ("np.histogram(x, 2)[0]", np.array([-1.5e308, 1.0, 1.5e308]), np.array([1, 2])),
    ("np.histogram(x, 2)[1]", np.array([-1.5e308, 1.0, 1.5e308]), np.array([-1.5e308, 0, 1.5e308])),
    ("np.searchsorted(np.arange(100).astype(np.uint64) + x[0], x.astype(np.int64) + 25)", np.array([2**62], np.uint64), np.array([25])),
    ("np.digitize(x.astype(np.int64) + 25, np.arange(100).astype(np.uint64) + x[0])", np.array([2**62], np.uint64), np.array([26])),
]


def write(cases):
    lines = Lines(cases)
    for expression, *arrays in AGREED:
        lines.add(expression, **dict(zip("xy", map(np.asarray, arrays))))
    for expression in LITERALS:
        lines.add(expression, x=np.array([0, 1, 255], np.uint8))
    # A literal beyond the greatest number of a float dtype is not infinity.
    for op in ("equal", "less", "greater_equal"):
        cases.add("literal", f"{op}(a, 70000)", a=np.array([1.0, -INF, INF, NAN], F16))
        cases.add("literal", f"{op}(a, 1e300)", a=np.array([1.0, -INF, INF, NAN], F32))
    for expression, x, result in EXACT:
        cases.write("function", expression, {"x": x}, np.asarray(result))
