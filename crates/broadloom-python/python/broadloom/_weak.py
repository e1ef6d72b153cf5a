"""Integers of Python's beside arrays. As in NumPy they take the dtype of the array, which has to hold them.

Programs have counters, sizes and what is computed of them as integers of 64 bits, so that they are cast. Where it is not known
whether they fit, this is refused.
"""

import numpy as np

from ._attempt import refusal
from ._broadloom import Value
from ._errors import TracingError

# A loop or an axis whose length is not known is shorter than this.
MANY = 2**31 - 2**16
# Operators that compute in the common dtype, and whose result does not depend on that of an integer.
_EXACT = {
    "==", "!=", "<", "<=", ">", ">=", "/", "@",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "divide", "matmul",
}  # fmt: skip


def is_weak(value):
    """Whether a lazy value is an integer of Python's."""
    return isinstance(value, Value) and (value._is_integer or (value._is_number and value.dtype.kind == "i"))


def operands(name, values):
    """The operands of an operator or a function, where integers of Python's have the dtype of what is not one."""
    if name in _EXACT or not any(map(is_weak, values)):
        return values
    known = [_dtype(value) for value in values if not is_weak(value)]
    known = [dtype for dtype in known if dtype is not None]
    if not known:
        return values
    dtype = np.result_type(*known)
    return tuple(in_dtype(value, dtype) if is_weak(value) else value for value in values)


def _dtype(value):
    """The dtype of an operand; `None` for a number of Python's, which has none."""
    if isinstance(value, Value):
        return None if value._is_number else value.dtype
    if value is None or isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return None
    return getattr(value, "dtype", None) or np.asarray(value).dtype


def in_dtype(value, dtype):
    """An integer of Python's as an element of a dtype; as it is, if programs have it so."""
    if dtype.kind == "f":
        is_given = value._is_number or getattr(value, "_is_size", False)
        return value if is_given else value._trace.call("astype", (value, dtype), {})
    if dtype.kind not in "iu" or dtype == np.int64:
        return value
    check_fits(value, dtype)
    return value._trace.call("astype", (value, dtype), {})


def check_fits(value, dtype):
    """Refuses an integer that elements may not hold."""
    limits = np.iinfo(dtype)
    if getattr(value, "_is_size", False):
        if limits.max >= MANY:
            return
        if not value._is_decided:
            # With the sizes of the call, it is a number.
            value._trace.needs_sizes()
    elif (fits := value._fits(limits) if hasattr(value, "_terms") else None) is not None:
        if fits:
            return
    raise refusal(TracingError(
        f"whether an integer fits elements of dtype {dtype} is not known while the function is traced, and NumPy refuses it "
        f"if it does not: write `np.asarray(i, np.{dtype})` in the place of `i` to cast it, or compute in another dtype"
    ))  # fmt: skip
