"""What each name of an expression means, said by NumPy.

The functions of `NAMES` take arrays and Python literals (which NumPy takes as weak, as Broadloom does) and give

* an array: bit for bit the result, where all NaNs count as one,
* an `Approximate`: a value and how far from it a result may be,
* or raise `Refused` (a mistake in the expression) or `Fails` (one in the data).

Where Broadloom's language differs from NumPy on purpose, the rule is computed here by itself and counted under its
name in `DIFFERENCES`. There is no bf16 in NumPy, so none here.
"""

import dataclasses
import functools
import math
import operator
from collections import Counter
from fractions import Fraction

import numpy as np

import references

DIFFERENCES = {
    "function_float": "float functions of bool and 8-bit integers compute in f32, not in f16",
    "saturation": "a float cast to an integer saturates and NaN gives 0; NumPy leaves it to the machine",
    "literal_fits": "a literal that the dtype cannot hold is a mistake, also for floats; not in quotients and comparisons",
    "literal_compares": "a literal beyond a float dtype compares as it is; NumPy rounds it to infinity",
    "zero_order": "maximum, minimum, fmax, fmin, clip, max, min and topk order -0 below +0; NumPy takes either",
    "bool_refused": "bool is not rounded; NumPy gives float16",
    "bool_power": "`pow` of bool and 2 is i64, as with 3; NumPy's operator takes a shortcut to int8, as that of the text language",
    "integer_reciprocal": "the reciprocal of an integer is a float; NumPy truncates it to an integer",
    "nextafter_zero": "nextafter of 0 towards -0 is -0 in every dtype, as in C; NumPy's f16 stays at 0",
    "degrees": "rad2deg multiplies by the float nearest 180/pi; NumPy's f32 divides two rounded ones",
    "infinite_span": "linspace mixes its ends if their difference overflows; NumPy gives infinities and NaN",
    "nan_sign": "signbit and copysign take a NaN for positive; the sign of a NaN that was computed says nothing",
    "condition": "the condition of select is bool; NumPy's where takes any dtype, as that of the text language",
    "arg_axes": "argmin and argmax go over any axes; NumPy knows one or all",
    "product_zero": "a product of which nothing is summed keeps the sign of its zeros; NumPy's einsum adds it to +0",
    "empty_extreme": "min and max over an empty axis are refused even if nothing is asked for; NumPy gives nothing",
}
"""Rules of the language that differ from NumPy on purpose, each with its reason."""

applied = Counter()
"""How many results each difference decided."""

DTYPES = {
    "bool": np.dtype("?"),
    "i8": np.dtype("i1"),
    "i16": np.dtype("i2"),
    "i32": np.dtype("i4"),
    "i64": np.dtype("i8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("u2"),
    "u32": np.dtype("u4"),
    "u64": np.dtype("u8"),
    "f16": np.dtype("f2"),
    "f32": np.dtype("f4"),
    "f64": np.dtype("f8"),
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
BOOL, I64, U64, F16, F32, F64 = (DTYPES[name] for name in ("bool", "i64", "u64", "f16", "f32", "f64"))

WIDE = np.longdouble
"""In what functions are computed: 64 bits of significand on x86-64, 113 on AArch64 Linux."""
if np.finfo(WIDE).nmant < 60:
    raise SystemExit("long double is no wider than double here, so there is no reference for functions")

MOST_ULPS = {"pow": 2, "erfc": 2, "logaddexp": 4, "sigmoid": 4, "softplus": 4, "silu": 4, "gelu": 4, "gelu_tanh": 4}
"""How far from the true value a function may be, in units of the last place of its dtype; 1 for the others."""


class Refused(Exception):
    """The expression is a mistake."""


class Fails(Exception):
    """The data is a mistake."""


class Unsaid(Exception):
    """The result depends on what the language leaves open to NumPy: no case."""


@dataclasses.dataclass
class Approximate:
    """Values of a dtype and how far a result may be from them: some steps from one value of the dtype to the next,
    or per element an absolute distance (then the values are f64)."""

    dtype: np.dtype
    values: np.ndarray
    steps: int | None = None
    distance: np.ndarray | None = None


products = {}
"""The products of floats that the expression under way made, by identity: a sum may accumulate them unrounded."""


def is_literal(value):
    return not isinstance(value, np.ndarray)


def differs(name, count=1):
    assert name in DIFFERENCES, name
    applied[name] += int(count)


def fits(literal, meets):
    """Whether the dtype that a literal takes beside arrays can hold it."""
    dtype = meets
    if isinstance(literal, bool):
        return True
    if isinstance(literal, float) and meets.kind != "f":
        dtype = F64
    elif meets == BOOL:
        dtype = I64
    if dtype.kind != "f":
        return np.iinfo(dtype).min <= literal <= np.iinfo(dtype).max
    try:
        return not math.isfinite(literal) or bool(np.isfinite(np.asarray(float(literal)).astype(dtype)))
    except OverflowError:
        return False


def met(operands):
    """The common dtype of the arrays."""
    return np.result_type(*(value for value in operands if not is_literal(value)))


def check_literals(operands, computes=False):
    """Refuses literals that the dtype of the arrays cannot hold, unless a function `computes` with both as floats or
    truth values."""
    meets = met(operands)
    for literal in filter(is_literal, operands):
        is_converted = computes and meets.kind in "iu" and isinstance(literal, int)
        if not is_converted and not fits(literal, meets):
            differs("literal_fits")
            raise Refused(f"{literal} does not fit {meets}")


def comparison(function):
    """A comparison as NumPy has it; where NumPy would round a literal to infinity, by f64."""

    def reference(*operands):
        meets = met(operands)
        try:
            result = np.asarray(function(*operands))
            if meets.kind == "f" and not all(fits(value, meets) for value in filter(is_literal, operands)):
                exact = np.asarray(function(*(np.asarray(value).astype(F64) for value in operands)))
                differs("literal_compares", np.count_nonzero(exact != result))
                return exact
            return result
        except (TypeError, ValueError) as error:
            raise Refused(str(error)) from error

    return reference


def ufunc(function, refuses_bool=False, computes=False):
    """A ufunc as NumPy has it; with `refuses_bool`, if the operands come to bool they are refused."""

    def reference(*operands):
        check_literals(operands, computes)
        if refuses_bool and np.result_type(*operands) == BOOL:
            differs("bool_refused")
            raise Refused("bool")
        try:
            return np.asarray(function(*operands))
        except (TypeError, ValueError) as error:
            raise Refused(str(error)) from error

    return reference


def logical(function):
    """A ufunc of truth values."""

    def reference(*operands):
        check_literals(operands, computes=True)
        try:
            return np.asarray(function(*(np.asarray(value).astype(BOOL) for value in operands)))
        except ValueError as error:
            raise Refused(str(error)) from error

    return reference


def product(function):
    inner = ufunc(function)

    def reference(*operands):
        result = inner(*operands)
        if result.dtype.kind == "f":
            products[id(result)] = result
        return result

    return reference


def as_floats(function, operands):
    """The operands of a float function as arrays of the dtype in which it works."""
    check_literals(operands, computes=True)
    try:
        dtype = np.asarray(function(*operands)).dtype
        np.broadcast_shapes(*map(np.shape, operands))
    except (TypeError, ValueError) as error:
        raise Refused(str(error)) from error
    if dtype == F16 and F16 not in [value.dtype for value in operands if not is_literal(value)]:
        differs("function_float")
        dtype = F32
    return [np.asarray(value).astype(dtype) for value in operands]


def exact_float(function):
    """A float function that is exact and a ufunc of NumPy."""
    return lambda *operands: np.asarray(function(*as_floats(function, operands)))


def rounded_once(like, function):
    """A function that NumPy lacks, by some arithmetic in f32 for f16, of the dtype that `like` gives."""

    def reference(*operands):
        operands = as_floats(like, operands)
        dtype = operands[0].dtype
        work = F32 if dtype == F16 else dtype
        return np.asarray(function(*(value.astype(work) for value in operands)), work).astype(dtype)

    return reference


def nextafter(x, y):
    x, y = as_floats(np.nextafter, (x, y))
    result = np.asarray(np.nextafter(x, y))
    equal = x == y
    differs("nextafter_zero", np.count_nonzero(equal & (np.signbit(result) != np.signbit(y))))
    return np.where(equal, y, result)


def rad2deg(x):
    result = rounded_once(np.rad2deg, lambda x: x * np.asarray(180 / WIDE(references.PI)).astype(x.dtype))(x)
    numpys = np.rad2deg(x.astype(result.dtype))
    differs("degrees", np.count_nonzero((result != numpys) & ~np.isnan(numpys)))
    return result


def signbit(x):
    result = ufunc(np.signbit)(x)
    is_nan = np.isnan(x)
    differs("nan_sign", np.count_nonzero(result & is_nan))
    return result & ~is_nan


def copysign(x, y):
    x, y = as_floats(np.copysign, (x, y))
    result, is_nan = np.asarray(np.copysign(x, y)), np.isnan(y)
    differs("nan_sign", np.count_nonzero(is_nan & np.signbit(y) & ~np.isnan(x)))
    return np.where(is_nan, np.abs(x), result)


def reciprocal(x):
    if x.dtype.kind in "iu":
        differs("integer_reciprocal")
    return rounded_once(np.sqrt, lambda x: 1 / x)(x)


def wide(name, function, like=None):
    """A function computed in `WIDE`."""

    def reference(*operands):
        operands = as_floats(like or function, operands)
        values = np.asarray(function(*(value.astype(WIDE) for value in operands))).astype(operands[0].dtype)
        return Approximate(values.dtype, values, steps=MOST_ULPS.get(name, 1))

    return reference


def logaddexp(x, y):
    """Errors are measured in units of the larger operand where the result is less."""
    x, y = as_floats(np.logaddexp, (x, y))
    wide_x, wide_y = x.astype(WIDE), y.astype(WIDE)
    values = np.asarray(np.logaddexp(wide_x, wide_y))
    rounded = values.astype(x.dtype)
    info = np.finfo(x.dtype)
    # Results of f16 are those of f32, rounded once more.
    unit = np.spacing(np.abs(rounded).astype(F64)) / np.finfo(F64).eps * info.eps
    largest = np.maximum(np.abs(values), np.abs(np.maximum(wide_x, wide_y))).astype(F64)
    distance = MOST_ULPS["logaddexp"] * np.maximum(np.minimum(largest, info.max) * info.eps, info.smallest_subnormal)
    distance = distance + unit
    exact = ~np.isfinite(rounded)
    return Approximate(x.dtype, np.where(exact, rounded, values).astype(F64), distance=np.where(exact, 0.0, distance))


def extreme(function, greatest):
    """One of maximum, minimum, fmax and fmin, which order the zeros."""

    def reference(x, y):
        result = ufunc(function)(x, y)
        if result.dtype.kind != "f":
            return result
        x, y = (np.broadcast_to(np.asarray(value).astype(result.dtype), result.shape) for value in (x, y))
        negative = [np.signbit(x), np.signbit(y)]
        negative = negative[0] & negative[1] if greatest else negative[0] | negative[1]
        zeros = (x == 0) & (y == 0)
        differs("zero_order", np.count_nonzero(zeros & (np.signbit(result) != negative)))
        return np.where(zeros, np.where(negative, -0.0, 0.0).astype(result.dtype), result)

    return reference


maximum, minimum = extreme(np.maximum, True), extreme(np.minimum, False)


def clip(x, low, high):
    meets = met((x, low, high))
    # A limit beyond the dtype on its own side limits nothing.
    ends = [-np.inf, np.inf] if meets.kind == "f" else [np.iinfo(meets).min, np.iinfo(meets).max] if meets != BOOL else []
    limits = [low, high]
    for place, end in enumerate(ends):
        limit = limits[place]
        if is_literal(limit) and not fits(limit, meets) and (limit > 0) == (end > 0):
            limits[place] = end
    low, high = limits
    operands = (x, low, high)
    check_literals(operands)
    dtype = np.result_type(*operands)
    x, low, high = (np.asarray(value).astype(dtype) for value in operands)
    try:
        shape = np.broadcast_shapes(x.shape, low.shape, high.shape)
        numpys = np.clip(x, low, high)
    except ValueError as error:
        raise Refused(str(error)) from error
    result = minimum(maximum(x, low), high)
    assert result.shape == shape and np.array_equal(result, numpys, equal_nan=dtype.kind == "f"), "clip"
    return result


def relu(x):
    if x.dtype == BOOL:
        raise Refused("bool")
    return maximum(x, np.zeros((), x.dtype))


def like_three(*operands):
    """Something of the dtype of a float function of three operands, of which NumPy has none. A float literal that
    meets integers makes them f64, and an integer that meets bool i64."""
    common = np.result_type(*operands)
    if common.kind == "f":
        return np.zeros((), common)
    meets = np.result_type(*(value for value in operands if not is_literal(value)))
    taken = I64 if meets == BOOL and common != BOOL else meets
    dtypes = [taken if is_literal(value) else value.dtype for value in operands]
    return functools.reduce(np.hypot, [np.zeros((), dtype) for dtype in dtypes])


FORMATS = {F32: (24, -126), F64: (53, -1022)}


def nearest(value, dtype):
    """A fraction rounded to f32 or f64, half to even."""
    bits, least = FORMATS[dtype]
    if value == 0:
        return 0.0
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    quantum = max(exponent, least) - bits + 1
    units = round(value / Fraction(2) ** quantum)
    try:
        return float(dtype.type(math.ldexp(units, quantum)))
    except OverflowError:
        return math.copysign(math.inf, units)


def fma_of(x, y, z):
    """`x * y + z` with one rounding, from exact fractions."""
    dtype = x.dtype
    x, y, z = np.broadcast_arrays(x, y, z)
    result = np.array(x.astype(WIDE) * y.astype(WIDE) + z.astype(WIDE)).astype(dtype)
    for at in np.ndindex(result.shape):
        terms = float(x[at]), float(y[at]), float(z[at])
        if all(map(math.isfinite, terms)) and terms[0] != 0 and terms[1] != 0:
            exact = Fraction(terms[0]) * Fraction(terms[1]) + Fraction(terms[2])
            result[at] = nearest(exact, dtype)
    return result


def leading_zeros(x):
    if x.dtype.kind not in "iu":
        raise Refused("not integer")
    width = 8 * x.dtype.itemsize
    zeros = [width - (int(value) % 2**width).bit_length() for value in x.ravel()]
    return np.array(zeros, "u1").reshape(x.shape)


def power(x, y):
    if is_literal(y) and not isinstance(y, bool):
        return literal_power(x, y)
    check_literals((x, y))
    try:
        result = np.asarray(np.power(x, y))
    except ValueError as error:
        raise (Fails if "negative integer" in str(error) else Refused)(str(error)) from error
    return powered(x, y) if result.dtype.kind == "f" else result


def powered(x, y):
    """In long doubles, but for zeros and infinities, where some libraries take every large exponent for an odd one."""
    result = wide("pow", np.power)(x, y)
    x, y = np.broadcast_arrays(*(value.astype(F64) for value in as_floats(np.power, (x, y))))
    special = (x == 0) | np.isinf(x)
    result.values = np.where(special, np.power(x, y), result.values).astype(result.dtype)
    return result


def literal_power(x, exponent):
    if x.dtype == BOOL and not isinstance(exponent, float):
        if exponent == 2:
            differs("bool_power")
        x = x.astype(I64)
    if exponent not in (-1, 0, 0.5, 1, 2):
        check_literals((x, exponent))
    try:
        result = np.asarray(operator.pow(x, exponent))
    except (ValueError, OverflowError) as error:
        raise Refused(str(error)) from error
    if result.dtype.kind == "f" and exponent not in (-1, 0, 0.5, 1, 2):
        return powered(x, exponent)
    if result.dtype.kind == "f" and exponent == 2:
        products[id(result)] = result
    return result


def select(condition, on_true, on_false):
    if condition.dtype != BOOL:
        differs("condition")
        raise Refused("condition")
    check_literals((on_true, on_false))
    try:
        return np.where(condition, on_true, on_false)
    except ValueError as error:
        raise Refused(str(error)) from error


def cast(x, to):
    if x.dtype.kind == "f" and to.kind in "iu":
        info = np.iinfo(to)
        values = [float(value) for value in x.ravel()]
        values = [0 if math.isnan(value) else max(info.min, min(value, info.max)) for value in values]
        # A bound that f64 does not hold has won as the integer that it is.
        result = np.array([int(value) for value in values], to).reshape(x.shape)
        with np.errstate(all="ignore"):
            differs("saturation", np.count_nonzero(result != x.astype(to)))
        return result
    return x.astype(to)


ELEMENTWISE = {
    "add": ufunc(np.add),
    "subtract": ufunc(np.subtract),
    "multiply": product(np.multiply),
    "divide": ufunc(np.divide, computes=True),
    "floor_divide": ufunc(np.floor_divide),
    "remainder": ufunc(np.remainder),
    "fmod": ufunc(np.fmod),
    "negative": ufunc(np.negative),
    "positive": ufunc(np.positive),
    "abs": ufunc(np.abs),
    "sign": ufunc(np.sign),
    "square": product(np.square),
    "sqrt": exact_float(np.sqrt),
    "rsqrt": rounded_once(np.sqrt, lambda x: 1 / np.sqrt(x)),
    "reciprocal": reciprocal,
    "stop_gradient": ufunc(np.asarray),
    "with_gradient": ufunc(lambda x, y: np.broadcast_arrays(np.asarray(x).astype(np.result_type(x, y)), y)[0]),
    "maximum": maximum,
    "minimum": minimum,
    "fmax": extreme(np.fmax, True),
    "fmin": extreme(np.fmin, False),
    "clip": clip,
    "relu": relu,
    "pow": power,
    "floor": ufunc(np.floor),
    "ceil": ufunc(np.ceil),
    "trunc": ufunc(np.trunc),
    "round": ufunc(np.round, refuses_bool=True),
    "fma": rounded_once(like_three, fma_of),
    "copysign": copysign,
    "nextafter": nextafter,
    "deg2rad": exact_float(np.deg2rad),
    "rad2deg": rad2deg,
    "bitwise_and": ufunc(np.bitwise_and),
    "bitwise_or": ufunc(np.bitwise_or),
    "bitwise_xor": ufunc(np.bitwise_xor),
    "bitwise_invert": ufunc(np.bitwise_invert),
    "bitwise_left_shift": ufunc(np.left_shift),
    "bitwise_right_shift": ufunc(np.right_shift),
    "count_ones": ufunc(np.bitwise_count),
    "gcd": ufunc(np.gcd),
    "lcm": ufunc(np.lcm),
    "leading_zeros": leading_zeros,
    "isnan": ufunc(np.isnan),
    "isinf": ufunc(np.isinf),
    "isfinite": ufunc(np.isfinite),
    "signbit": signbit,
    "equal": comparison(np.equal),
    "not_equal": comparison(np.not_equal),
    "less": comparison(np.less),
    "less_equal": comparison(np.less_equal),
    "greater": comparison(np.greater),
    "greater_equal": comparison(np.greater_equal),
    "logical_and": logical(np.logical_and),
    "logical_or": logical(np.logical_or),
    "logical_xor": logical(np.logical_xor),
    "logical_not": logical(np.logical_not),
    "logaddexp": logaddexp,
    **{
        name: wide(name, function)
        for name, function in {
            "exp": np.exp,
            "exp2": np.exp2,
            "expm1": np.expm1,
            "log": np.log,
            "log2": np.log2,
            "log10": np.log10,
            "log1p": np.log1p,
            "cbrt": np.cbrt,
            "sin": np.sin,
            "cos": np.cos,
            "tan": np.tan,
            "asin": np.arcsin,
            "acos": np.arccos,
            "atan": np.arctan,
            "atan2": np.arctan2,
            "hypot": np.hypot,
            "sinh": np.sinh,
            "cosh": np.cosh,
            "tanh": np.tanh,
            "asinh": np.arcsinh,
            "acosh": np.arccosh,
            "atanh": np.arctanh,
        }.items()
    },
    # NumPy lacks these, so their dtypes are those of another function.
    **{
        name: wide(name, function, like=np.exp)
        for name, function in {
            "erf": references.erf,
            "erfc": references.erfc,
            "sigmoid": references.sigmoid,
            "softplus": references.softplus,
            "silu": references.silu,
            "gelu": references.gelu,
            "gelu_tanh": references.gelu_tanh,
        }.items()
    },
}
"""The rows of the op table."""
