"""Arguments whose elements Broadloom does not compute with: which part of the argument has them, and what to pass instead."""

import dataclasses

import numpy as np

# By the kind of a dtype, where `{x}` is the array.
_HELP = {
    "c": "pass the real and the imaginary part, `{x}.real` and `{x}.imag`",
    "M": "pass seconds as integers, `{x}.astype('datetime64[s]').astype(np.int64)`",
    "m": "pass seconds as integers, `{x}.astype('timedelta64[s]').astype(np.int64)`",
    "O": "pass numbers, `{x}.astype(np.float64)`",
    "V": "pass its fields as arrays of their own",
}
_NUMBERS = "pass bool, int8 to int64, uint8 to uint64, float16, float32, float64 or ml_dtypes.bfloat16"


def says(dtype, place="x"):
    """The sentence about a dtype that is not supported, of the array that stands at `place`."""
    return f"arrays of dtype {dtype} are not supported: {_HELP.get(dtype.kind, _NUMBERS).format(x=place)}"


def named(name, value, text):
    """The text of an error of an argument, with the part of it that has the dtype, if there is one."""
    place, dtype = next(_parts(name, value), (name, None))
    return f"`{place}`: {text if dtype is None else says(dtype, place)}"


def is_supported(value):
    """Whether no part of a value has a dtype that is not supported."""
    return next(_parts("", value), None) is None


def _parts(place, value):
    """The parts of an argument whose dtypes are not supported, as one writes them."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _parts(f"{place}[{key!r}]", item)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for field, item in zip(value._fields, value, strict=True):
            yield from _parts(f"{place}.{field}", item)
    elif isinstance(value, (tuple, list)):
        for number, item in enumerate(value):
            yield from _parts(f"{place}[{number}]", item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _parts(f"{place}.{field.name}", getattr(value, field.name))
    elif callable(getattr(getattr(value, "dtypes", None), "items", None)):
        # A table of pandas': extension dtypes name the one of NumPy's that their elements have.
        for column, dtype in value.dtypes.items():
            dtype = getattr(dtype, "numpy_dtype", dtype)
            if not _has_elements(dtype):
                yield f"{place}[{column!r}]", dtype if isinstance(dtype, np.dtype) else np.dtype(object)
    elif isinstance(dtype := getattr(value, "dtype", None), np.dtype) and not _has_elements(dtype):
        yield place, dtype


def _has_elements(dtype):
    """Whether there are kernels for a dtype."""
    return isinstance(dtype, np.dtype) and (dtype.kind in "biuf" and dtype.itemsize <= 8 or dtype.name == "bfloat16")
