"""Functions that make arrays of numbers, sequences and other arrays."""

import numpy as np

from .._errors import ArgumentError
from ._array import Array, call, checked, converted, wrap
from ._info import check_device, checked_dtype, float64

__all__ = [
    "arange", "asarray", "astype", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace",
    "meshgrid", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, nested sequences of them, buffers or arrays.

    Elements of other objects are copied, so that what is computed later does not depend on what happens to them, unless
    ``copy=False`` asks for sharing: then an expression has the elements that are there when it is computed.
    """
    check_device(device)
    dtype = None if dtype is None else checked_dtype(dtype)
    if isinstance(obj, Array):
        if dtype is not None and dtype != obj.dtype:
            if copy is False:
                raise ArgumentError(f"an array of {obj.dtype} can become {dtype} only by a copy: leave out `copy=False`")
            return astype(obj, dtype)
        return obj.__copy__() if copy else obj
    data = np.array(obj, dtype=dtype, copy=copy is not False)
    return wrap(data.astype(checked_dtype(data.dtype), copy=False))


def from_dlpack(x, /, *, device=None, copy=None):
    """An array of the elements of an object with ``__dlpack__``, which are copied unless ``copy=False``."""
    check_device(device)
    found = np.from_dlpack(x, copy=copy) if copy is False else np.from_dlpack(x).copy()
    checked_dtype(found.dtype)
    return wrap(found)


def astype(x, dtype, /, *, copy=True, device=None):
    """The elements converted to another dtype."""
    check_device(device)
    dtype = checked_dtype(dtype)
    if checked(x).dtype == dtype:
        return x.__copy__() if copy else x
    return converted(x, dtype)


def full(shape, fill_value, *, dtype=None, device=None):
    """One value everywhere."""
    check_device(device)
    value = np.asarray(fill_value, dtype=None if dtype is None else checked_dtype(dtype))
    checked_dtype(value.dtype)
    if value.ndim:
        raise ArgumentError(f"`fill_value` is one number, not of shape {value.shape}")
    return wrap(np.full(shape, value))


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value everywhere, in the shape and the dtype of an array."""
    return full(checked(x).shape, fill_value, dtype=x.dtype if dtype is None else dtype, device=device)


def zeros(shape, *, dtype=None, device=None):
    """Zeros."""
    return full(shape, 0, dtype=float64 if dtype is None else dtype, device=device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape and the dtype of an array."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """Ones."""
    return full(shape, 1, dtype=float64 if dtype is None else dtype, device=device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape and the dtype of an array."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """Zeros."""
    return zeros(shape, dtype=dtype, device=device)


def empty_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape and the dtype of an array."""
    return zeros_like(x, dtype=dtype, device=device)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """The numbers from ``start``, or from 0, up to and without ``stop``, or ``start``."""
    check_device(device)
    dtype = None if dtype is None else checked_dtype(dtype)
    data = np.arange(start, step=step, dtype=dtype) if stop is None else np.arange(start, stop, step, dtype=dtype)
    checked_dtype(data.dtype)
    return wrap(data)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """Evenly spaced numbers from ``start`` to ``stop``."""
    check_device(device)
    dtype = float64 if dtype is None else checked_dtype(dtype)
    return wrap(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on a diagonal, and zeros elsewhere."""
    check_device(device)
    return wrap(np.eye(n_rows, n_cols, k=k, dtype=float64 if dtype is None else checked_dtype(dtype)))


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of the grid that vectors span, an array for each of them."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"`indexing` is 'xy' or 'ij', not {indexing!r}")
    shapes = [checked(array).shape for array in arrays]
    if any(len(shape) > 1 for shape in shapes):
        raise ArgumentError("meshgrid takes vectors")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = [1, 0]
    sizes = [0] * len(arrays)
    for array, axis in zip(arrays, order):
        sizes[axis] = array.size
    grids = []
    for array, axis in zip(arrays, order):
        column = call("reshape", array, shape=tuple(size if axis == own else 1 for own, size in enumerate(sizes)))
        grids.append(call("broadcast_to", column, shape=tuple(sizes)))
    return tuple(grids)


def tril(x, /, *, k=0):
    """The elements on and below a diagonal, with zeros above it."""
    return call("tril", checked(x), k=int(k))


def triu(x, /, *, k=0):
    """The elements on and above a diagonal, with zeros below it."""
    return call("triu", checked(x), k=int(k))
