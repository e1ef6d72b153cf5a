"""Elementwise functions. They compute what the functions of the same names in the text language do."""

from ._array import binary, call, checked, converted, pow
from ._info import isdtype
from .._errors import DTypeError

_UNARY = {
    "abs": "The magnitude.",
    "acos": "The inverse cosine, in radians.",
    "acosh": "The inverse hyperbolic cosine.",
    "asin": "The inverse sine, in radians.",
    "asinh": "The inverse hyperbolic sine.",
    "atan": "The inverse tangent, in radians.",
    "atanh": "The inverse hyperbolic tangent.",
    "bitwise_invert": "All bits flipped; not, for bool.",
    "ceil": "The least integer not less.",
    "cos": "The cosine of radians.",
    "cosh": "The hyperbolic cosine.",
    "exp": "The exponential function.",
    "expm1": "`exp(x) - 1`, accurate near zero.",
    "floor": "The greatest integer not greater.",
    "isfinite": "Whether it is neither infinite nor NaN.",
    "isinf": "Whether it is infinite.",
    "isnan": "Whether it is NaN.",
    "log": "The natural logarithm.",
    "log10": "The decimal logarithm.",
    "log1p": "`log(1 + x)`, accurate near zero.",
    "log2": "The binary logarithm.",
    "logical_not": "Whether it is false.",
    "negative": "The negation.",
    "positive": "The array itself.",
    "reciprocal": "`1 / x`.",
    "round": "The nearest integer; halves round to even.",
    "sign": "-1, 0 or 1; NaN for NaN.",
    "signbit": "Whether the sign bit is set; a NaN counts as positive.",
    "sin": "The sine of radians.",
    "sinh": "The hyperbolic sine.",
    "sqrt": "The square root.",
    "square": "`x * x`.",
    "tan": "The tangent of radians.",
    "tanh": "The hyperbolic tangent.",
    "trunc": "The integer part.",
}
_BINARY = {
    "add": "`x1 + x2`.",
    "atan2": "The angle of the points with ordinates `x1` and abscissas `x2`, in radians.",
    "bitwise_and": "The bits that both have; and, for bool.",
    "bitwise_left_shift": "`x1` shifted left by `x2` bits.",
    "bitwise_or": "The bits that either has; or, for bool.",
    "bitwise_right_shift": "`x1` shifted right by `x2` bits.",
    "bitwise_xor": "The bits that one of them has; exclusive or, for bool.",
    "copysign": "`x1` with the sign of `x2`; a NaN counts as positive.",
    "divide": "`x1 / x2`.",
    "equal": "Whether `x1 == x2`.",
    "floor_divide": "`x1 / x2`, rounded down.",
    "greater": "Whether `x1 > x2`.",
    "greater_equal": "Whether `x1 >= x2`.",
    "hypot": "The length of the vectors `(x1, x2)`.",
    "less": "Whether `x1 < x2`.",
    "less_equal": "Whether `x1 <= x2`.",
    "logaddexp": "`log(exp(x1) + exp(x2))`, without overflow.",
    "logical_and": "Whether both are true.",
    "logical_or": "Whether either is true.",
    "logical_xor": "Whether one of them is true.",
    "maximum": "The greater one; NaN if either is NaN.",
    "minimum": "The lesser one; NaN if either is NaN.",
    "multiply": "`x1 * x2`.",
    "nextafter": "The next float after `x1` in the direction of `x2`.",
    "not_equal": "Whether `x1 != x2`.",
    "remainder": "The remainder of `floor_divide`, with the sign of `x2`.",
    "subtract": "`x1 - x2`.",
}
__all__ = [*_UNARY, *_BINARY, "pow", "clip", "conj", "imag", "real"]


def _unary(name, doc):
    def function(x, /):
        return call(name, checked(x))

    return _named(function, name, doc)


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


globals().update({name: _unary(name, doc) for name, doc in _UNARY.items()})
globals().update({name: _named(binary(name), name, doc) for name, doc in _BINARY.items()})


def clip(x, /, min=None, max=None):
    """The elements limited to a range, in their dtype."""
    dtype = _of_numbers(x).dtype
    limits = {name: limit for name, limit in (("maximum", min), ("minimum", max)) if limit is not None}
    for name, limit in limits.items():
        x = call(name, x, limit)
    return converted(x, dtype)


def conj(x, /):
    """The array itself: there are no complex numbers."""
    return real(x)


def real(x, /):
    """The array itself: there are no complex numbers."""
    return call("positive", _of_numbers(x))


def imag(x, /):
    """Zeros: there are no complex numbers."""
    return call("zeros_like", _of_numbers(x))


def _of_numbers(x):
    if not isdtype(checked(x).dtype, "numeric"):
        raise DTypeError(f"this takes numbers, not {x.dtype}: write `astype`")
    return x
