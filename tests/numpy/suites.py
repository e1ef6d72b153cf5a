"""Calls as suites of tests write them: a dtype to compute in, positions of `out`, arrays without axes, arithmetic of
bool, ranges and partitions."""

import numpy as np

from functions import Lines, SOME, evaluate, true_zeros, values
from meaning import BOOL, DTYPES, Approximate

UFUNCS = [
    *(f"np.{name}(x, y, dtype=DTYPE)" for name in "add subtract multiply divide floor_divide remainder fmod power".split()),
    *(f"np.{name}(x, y, dtype=DTYPE)" for name in "maximum minimum fmax fmin bitwise_and left_shift right_shift gcd".split()),
    *(f"np.{name}(x, y, dtype=DTYPE)" for name in "equal less logical_and copysign nextafter hypot float_power".split()),
    *(f"np.{name}(x, dtype=DTYPE)" for name in "negative absolute sign square sqrt floor rint isnan isfinite signbit".split()),
    "np.add(x, 2, dtype=DTYPE)",
    "np.add(2.5, x, dtype=DTYPE)",
    "np.multiply(x, True, dtype=DTYPE)",
    "np.power(x, 2, dtype=DTYPE)",
    "np.clip(x, 1, 3, dtype=DTYPE)",
    "np.divmod(x, y, dtype=DTYPE)[0]",
    "np.bitwise_count(x, dtype=DTYPE)",
    "np.logical_not(x, dtype=DTYPE)",
    "np.maximum.reduce(x, dtype=DTYPE)",
    "np.add.accumulate(x, 1, DTYPE)",
]


def power(x, y, dtype):
    """The power in long doubles: NumPy's own f32 depends on the vectors of the CPU."""
    wide = [operand.astype(dtype).astype(np.longdouble) for operand in (x, y)]
    return Approximate(dtype, np.power(*wide).astype(dtype), steps=1)


POSITIONS = """
np.sum(x, 0, np.float64, None, True)
np.sum(x, None, None, None, False, 5)
np.prod(x, 1, np.int64, None)
np.mean(x, 1, np.float64, None, True)
np.max(x, 0, None, True)
np.min(x, 1, None)
np.max(x, 0, None, False, 3)
np.any(x, 0, None, True)
np.all(x, 1, None)
np.argmax(x, 0, None)
np.ptp(x, 1, None, True)
np.nansum(x, 0, np.float64, None, True)
np.nanmax(x, 0, None, True)
np.cumsum(x, 0, np.float64, None)
np.cumprod(x, 1, np.float64)
np.add.reduce(x, 1, np.float64, None, True)
np.add.reduce(x, 1, None, None, False, 7)
np.maximum.reduce(x, 1, None, None, True)
np.logical_or.reduce(x, 1, None, None, True)
np.add(x, x, None)
np.square(x, None)
np.clip(x, 1, 2, None)
np.take(x, [0, 2], 1, None)
np.concatenate((x, x), 0, None)
np.matmul(x, x.T, None)
np.add(x, x, out=None)
np.sum(x, out=None)
x.sum(0, np.float64, None, True)
x.max(1, None, True)
np.vecdot(x, x, keepdims=True)
np.vecdot(x, x, axis=0, keepdims=True)
np.vecdot(x, x, axis=-2, keepdims=False)
np.where(x, 1, 2)
np.where(y - 1, x, y)
np.take_along_axis(x, y, axis=None)
""".strip().splitlines()

WITHOUT_AXES = """
np.sum(x, axis=AXIS)
np.prod(x, axis=AXIS, keepdims=True)
np.max(x, axis=AXIS)
np.any(x, axis=AXIS)
np.argmax(x, axis=AXIS)
np.count_nonzero(x, axis=AXIS)
np.nansum(x, axis=AXIS)
np.squeeze(x, axis=AXIS)
np.cumsum(x, axis=AXIS)
np.argsort(x, axis=AXIS)
np.argpartition(x, 0, axis=AXIS)
np.take(x, 0, axis=AXIS)
np.take(x, [0, 0], axis=AXIS)
np.repeat(x, 2, axis=AXIS)
np.sort(x, axis=AXIS)
np.flip(x, axis=AXIS)
np.roll(x, 1, axis=AXIS)
""".strip().splitlines()

BOOL_ARITHMETIC = """
np.square(x)
x ** 2
x ** 3
x ** 0
x ** 2.0
x ** 0.5
x ** True
x ** False
x ** y
2 ** x
np.power(x, 2)
x // y
x // 2
x % y
np.fmod(x, y)
np.divmod(x, y)[1]
x << y
x >> y
x << 2
x >> True
x << z
x // z
x % z
x ** z
np.sign(x)
np.gcd(x, y)
-x
x - y
""".strip().splitlines()

RANGES = [
    "5.0", "0, 1, 0.1", "1, 2, 0.1", "0.5, 9.7, 2.25", "2.5", "1, 0, -0.25", "-3, 3, 0.7", "10, 0.5", "0.0, -2.0, -0.5",
    "0, 1, 0.1, np.int64", "0.5, 9.7, 2.25, np.int16", "5, 0, -1, np.uint8", "0, 2, 0.3, np.float16", "1, 2, 0.1, np.float32",
    "0, 5000, 3, np.float16", "7, dtype=np.float16", "0, -3, -1, np.float32", "0, 1000, 300, np.uint8", "3, 3.0", "0, 0.3, 0.1",
    "1e3, 1e3 + 1, 0.125", "0, 300, 7, np.int8",
]


def write(cases):
    lines = Lines(cases)
    random = lines.random
    for number, expression in enumerate(UFUNCS):
        for dtype in SOME[number % 2 :: 2] if number % 3 else SOME:
            # Numbers that every dtype holds, and no zero divisor.
            x, y = (true_zeros(np.abs(values(dtype, (3, 4), random))) for _ in range(2))
            y = np.where(y == 0, 1, y).astype(dtype)
            for name in ("bool", "u8", "i16", "f32", "f64") if dtype != BOOL else ("bool", "i8", "f64"):
                names = {"x": x, "y": y} if "y" in expression.replace("dtype", "") else {"x": x}
                text = expression.replace("DTYPE", f"np.{DTYPES[name].name}")
                result = evaluate(text, names, None)
                if "power(x, y" in text and getattr(result, "dtype", BOOL).kind == "f":
                    result = power(x, y, DTYPES[name])
                lines.cases.write("function", text, names, result)
    for dtype in SOME:
        x, places = true_zeros(np.abs(values(dtype, (3, 4), random))), random.integers(0, 12, 4)
        for expression in POSITIONS:
            lines.add(expression, **({"x": x, "y": places} if "y" in expression else {"x": x}))
        for expression in WITHOUT_AXES:
            for axis in (0, -1, 1):
                lines.add(expression.replace("AXIS", str(axis)), x=x[0, 0])
    x, y = values(BOOL, (7,), random), values(BOOL, (7,), random)
    for expression in BOOL_ARITHMETIC:
        used = {"x": x, "y": y, "z": random.integers(1, 4, 7).astype(np.uint8)}
        lines.add(expression, **{name: array for name, array in used.items() if name in expression})
    for arguments in RANGES:
        lines.add(f"np.arange({arguments}) + x", x=np.array(0, np.int8))
    # Any order is right that keeps NumPy's promise, so what is compared is the promise.
    for dtype in SOME:
        x = true_zeros(values(dtype, (4, 9), random))
        for kth, at in [("0", 0), ("3", 3), ("-1", -1), ("(2, 5)", 5), ("9", 0), ("-10", 0)]:
            lines.add(f"np.partition(x, {kth})[:, {at}]", x=x)
        lines.add("np.partition(x, 3, axis=0)[3]", x=x)
        lines.add("np.partition(x, 7, axis=None)[7]", x=x)
        lines.add("np.sort(np.partition(x, 4, axis=-1)[:, :4])", x=x)
        lines.add("np.sort(np.take_along_axis(x, np.argpartition(x, 4, axis=1), 1)[:, 4:])", x=x)
