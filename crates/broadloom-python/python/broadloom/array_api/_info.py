"""Dtypes, their properties, and the properties of this namespace."""

import builtins
from dataclasses import dataclass

import numpy as np

from .._errors import ArgumentError, DTypeError

__all__ = [
    "__array_namespace_info__", "bool", "can_cast", "complex128", "complex64", "finfo", "float32", "float64", "iinfo", "int16", "int32",
    "int64", "int8", "isdtype", "result_type", "uint16", "uint32", "uint64", "uint8",
]

int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
float32, float64 = np.dtype("float32"), np.dtype("float64")
bool = np.dtype("bool")
# There are no arrays of these. Libraries read the names to ask whether an array has such a dtype.
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")

_KINDS = {
    "bool": (bool,),
    "signed integer": (int8, int16, int32, int64),
    "unsigned integer": (uint8, uint16, uint32, uint64),
    "real floating": (float32, float64),
    "complex floating": (),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"]
DTYPES = (bool, *_KINDS["numeric"])


def checked_dtype(given):
    """One of the dtypes of the namespace, in native byte order."""
    # NumPy takes None for float64.
    found = None if given is None else np.dtype(given).newbyteorder("=")
    if found is None or found not in DTYPES:
        names = ", ".join(map(str, DTYPES))
        raise DTypeError(f"dtype {found} is not supported: convert to one of {names}")
    return found


def check_device(device):
    """Refuses devices other than the only one."""
    if device is not None and device != "cpu":
        raise ArgumentError(f"there is no device {device!r}: the only one is 'cpu'")


def dtype_of(given):
    """The dtype of an array, or a dtype itself."""
    return checked_dtype(getattr(given, "dtype", given))


def isdtype(dtype, kind):
    """Whether a dtype is another one, or of a kind such as ``"integral"``, or any of several."""
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ArgumentError(f"there is no kind {kind!r} of dtypes: the kinds are {', '.join(_KINDS)}")
        return dtype in _KINDS[kind]
    return checked_dtype(dtype) == (kind if kind in (complex64, complex128) else checked_dtype(kind))


def result_type(*arrays_and_dtypes):
    """The dtype in which arrays, dtypes and Python's numbers meet."""
    plain = (builtins.bool, int, float)
    if builtins.all(isinstance(given, plain) for given in arrays_and_dtypes):
        raise DTypeError("result_type takes at least one array or dtype, not only numbers")
    found = [given if isinstance(given, plain) else dtype_of(given) for given in arrays_and_dtypes]
    return checked_dtype(np.result_type(*found))


def can_cast(from_, to, /):
    """Whether a dtype, or that of an array, becomes another one where the two meet."""
    to = dtype_of(to)
    return result_type(dtype_of(from_), to) == to


@dataclass(frozen=True)
class FloatInfo:
    """The limits of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


@dataclass(frozen=True)
class IntegerInfo:
    """The limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(type, /):
    """The limits of a float dtype, or of that of an array."""
    dtype = dtype_of(type)
    if not isdtype(dtype, "real floating"):
        raise DTypeError(f"finfo takes a float dtype, not {dtype}: write `iinfo` for integers")
    found = np.finfo(dtype)
    limits = (float(limit) for limit in (found.eps, found.max, found.min, found.smallest_normal))
    return FloatInfo(found.bits, *limits, dtype)


def iinfo(type, /):
    """The limits of an integer dtype, or of that of an array."""
    dtype = dtype_of(type)
    if not isdtype(dtype, "integral"):
        raise DTypeError(f"iinfo takes an integer dtype, not {dtype}: write `finfo` for floats")
    found = np.iinfo(dtype)
    return IntegerInfo(found.bits, found.max, found.min, dtype)


class _Info:
    """What the namespace is able to do."""

    def capabilities(self):
        """The optional parts of the standard that are supported."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self):
        """The device of new arrays."""
        return "cpu"

    def devices(self):
        """All devices."""
        return ("cpu",)

    def default_dtypes(self, *, device=None):
        """The dtypes of arrays made from Python numbers, and of indices."""
        check_device(device)
        return {"real floating": float64, "integral": int64, "indexing": int64}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes of a kind, or of several, by name."""
        check_device(device)
        if kind is None:
            found = DTYPES
        else:
            found = [dtype for dtype in DTYPES if isdtype(dtype, kind)]
        return {str(dtype): dtype for dtype in found}


def __array_namespace_info__():
    """What the namespace is able to do."""
    return _Info()
