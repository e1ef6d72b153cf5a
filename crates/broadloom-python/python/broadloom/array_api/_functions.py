"""Functions of whole arrays: reductions, orders, shapes, searches and products."""

import builtins
import functools
import operator
from typing import NamedTuple

import numpy as np

from .._errors import ArgumentError, DTypeError
from . import _graph
from ._array import Array, arrays_of, call, checked, wrap
from ._creation import asarray
from ._info import checked_dtype, isdtype

__all__ = [
    "all", "any", "argmax", "argmin", "argsort", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat",
    "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "expand_dims", "flip", "isin", "matmul",
    "matrix_transpose", "max", "mean", "min", "moveaxis", "nonzero", "permute_dims", "prod", "repeat", "reshape",
    "roll", "searchsorted", "sort", "squeeze", "stack", "std", "sum", "take", "take_along_axis", "tensordot",
    "tile", "unique_all", "unique_counts", "unique_inverse", "unique_values", "unstack", "var", "vecdot", "where",
]


def _axes(axis):
    """One axis, or a tuple of them, as Python integers."""
    if axis is None:
        return None
    return tuple(map(operator.index, axis)) if isinstance(axis, (tuple, list)) else operator.index(axis)


def _given(**statics):
    return {name: value for name, value in statics.items() if value is not None}


def _all(name, arrays, **statics):
    """A function that takes a list of arrays."""
    return call(_of_list, *map(checked, arrays), name=name, **statics)


def _of_list(values, name, **statics):
    return values[0]._trace.call(name, (tuple(values),), statics)


# Reductions.


def _reduced(name, x, axis, keepdims, **statics):
    return call(name, checked(x), **_given(axis=_axes(axis)), keepdims=builtins.bool(keepdims), **statics)


def _dtype(dtype):
    return _given(dtype=None if dtype is None else checked_dtype(dtype))


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """The sum; integers and bool are summed in 64 bits."""
    return _reduced("sum", x, axis, keepdims, **_dtype(dtype))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product; integers and bool are multiplied in 64 bits."""
    # cubed multiplies the sizes of axes.
    x = x if isinstance(x, Array) else asarray(x)
    return _reduced("prod", x, axis, keepdims, **_dtype(dtype))


def mean(x, /, *, axis=None, dtype=None, keepdims=False):
    """The mean."""
    return _reduced("mean", x, axis, keepdims, **_dtype(dtype))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance: squared deviations from the mean, divided by their number less ``correction``."""
    return _reduced("var", x, axis, keepdims, correction=float(correction))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The square root of the variance."""
    return _reduced("std", x, axis, keepdims, correction=float(correction))


def max(x, /, *, axis=None, keepdims=False):
    """The greatest element; NaN if there is one."""
    return _reduced("max", x, axis, keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The least element; NaN if there is one."""
    return _reduced("min", x, axis, keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Whether all elements are true."""
    return _reduced("all", x, axis, keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Whether an element is true."""
    return _reduced("any", x, axis, keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The position of the first greatest element."""
    return _reduced("argmax", x, axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The position of the first least element."""
    return _reduced("argmin", x, axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """The number of elements that are not zero."""
    return _reduced("count_nonzero", x, axis, keepdims)


def _cumulative(name, x, axis, dtype, include_initial):
    if axis is None and checked(x).ndim != 1:
        raise ArgumentError(f"`axis` is needed for an array of {x.ndim} axes")
    axis = 0 if axis is None else operator.index(axis)
    return call(name, checked(x), axis=axis, include_initial=builtins.bool(include_initial), **_dtype(dtype))


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


def diff(x, /, n=1, axis=-1, *, prepend=None, append=None):
    """The differences of neighbours along an axis, taken ``n`` times, behind ``prepend`` and before ``append``."""
    parts = [part for part in (prepend, x, append) if part is not None]
    joined = concat(parts, axis=axis) if len(parts) > 1 else checked(x)
    return call("diff", joined, n=operator.index(n), axis=operator.index(axis))


# Orders and searches.


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements along an axis in order."""
    return call("sort", checked(x), axis=operator.index(axis), descending=builtins.bool(descending))


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The positions that sort the elements along an axis."""
    return call("argsort", checked(x), axis=operator.index(axis), descending=builtins.bool(descending))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """The positions in the sorted vector ``x1`` at which the elements of ``x2`` keep it sorted."""
    if sorter is not None:
        x1 = take(x1, sorter)
    return call("searchsorted", checked(x1), x2, side=side)


def where(condition, x1=None, x2=None, /):
    """``x1`` where the condition holds, and ``x2`` elsewhere; without them, the positions where it holds."""
    if x1 is None and x2 is None:
        return nonzero(condition)
    if not isdtype(checked(condition).dtype, "bool"):
        raise DTypeError(f"a condition has the dtype bool, not {condition.dtype}: write `x != 0`")
    if not isinstance(x1, Array) and not isinstance(x2, Array):
        x1 = asarray(x1)
    return call("where", condition, *arrays_of(x1, x2))


def isin(x1, x2, /, *, invert=False):
    """Whether each element is among those of ``x2``."""
    return call("isin", x1, x2, invert=builtins.bool(invert))


def take(x, indices, /, *, axis=None):
    """The elements at positions along an axis, which only a vector may leave out."""
    # cubed takes one position.
    indices = indices if isinstance(indices, Array) else asarray(indices)
    if axis is None and checked(x).ndim != 1:
        raise ArgumentError(f"`axis` is needed for an array of {x.ndim} axes")
    return call("take", checked(x), checked(indices), axis=0 if axis is None else operator.index(axis))


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements at positions along an axis, with separate positions for each row."""
    return call("take_along_axis", checked(x), checked(indices), axis=operator.index(axis))


# Shapes.


def broadcast_shapes(*shapes):
    """The shape to which shapes broadcast."""
    return np.broadcast_shapes(*shapes)


def broadcast_to(x, /, shape):
    """An array broadcast to a shape."""
    return call("broadcast_to", checked(x), shape=_axes(tuple(shape)))


def broadcast_arrays(*arrays):
    """Arrays broadcast to their common shape."""
    shape = broadcast_shapes(*(checked(array).shape for array in arrays))
    return tuple(broadcast_to(array, shape) for array in arrays)


def concat(arrays, /, *, axis=0):
    """Arrays joined along an axis, or all their elements for ``axis=None``."""
    arrays = list(arrays)
    if axis is None:
        arrays, axis = [call("ravel", checked(array)) for array in arrays], 0
    return _all("concat", arrays, axis=operator.index(axis))


def stack(arrays, /, *, axis=0):
    """Arrays of one shape joined along a new axis."""
    return _all("stack", arrays, axis=operator.index(axis))


def unstack(x, /, *, axis=0):
    """The parts along an axis, without it."""
    moved = moveaxis(x, axis, 0)
    return tuple(moved[position] for position in range(moved.shape[0]))


def expand_dims(x, /, axis):
    """An array with new axes of size 1."""
    return call("expand_dims", checked(x), axis=_axes(axis))


def squeeze(x, /, axis):
    """An array without axes of size 1."""
    return call("squeeze", checked(x), axis=_axes(axis))


def flip(x, /, *, axis=None):
    """An array reversed along axes, by default all."""
    return call("flip", checked(x), **_given(axis=_axes(axis)))


def roll(x, /, shift, *, axis=None):
    """The elements shifted along axes, or in row-major order; those that leave at the end return at the beginning."""
    return call("roll", checked(x), shift=_axes(shift), **_given(axis=_axes(axis)))


def moveaxis(x, source, destination, /):
    """An array with axes moved to other places."""
    return call("moveaxis", checked(x), source=_axes(source), destination=_axes(destination))


def permute_dims(x, /, axes):
    """An array with its axes in another order."""
    return call("permute_dims", checked(x), axes=_axes(tuple(axes)))


def matrix_transpose(x, /):
    """An array with its last two axes exchanged."""
    return call("matrix_transpose", checked(x))


def reshape(x, /, shape, *, copy=None):
    """The elements in row-major order in another shape. What is changed in one array is never seen in the other."""
    return call("reshape", checked(x), shape=_axes(tuple(shape)))


def repeat(x, repeats, /, *, axis=None):
    """Each element repeated, as often as a number says, or a number for each."""
    if isinstance(repeats, Array):
        return call(_repeat, checked(x), repeats, **_given(axis=_axes(axis)))
    return call("repeat", checked(x), repeats=operator.index(repeats), **_given(axis=_axes(axis)))


def _repeat(values, axis=None):
    return np.repeat(*values, axis=axis)


def tile(x, repetitions, /):
    """An array repeated along its axes."""
    return call("tile", checked(x), reps=_axes(tuple(repetitions)))


# Products.


def matmul(x1, x2, /):
    """The product of matrices."""
    return call("matmul", checked(x1), checked(x2))


def vecdot(x1, x2, /, *, axis=-1):
    """The products of the vectors along an axis."""
    return call("vecdot", checked(x1), checked(x2), axis=operator.index(axis))


def tensordot(x1, x2, /, *, axes=2):
    """The sums of products over pairs of axes."""
    axes = tuple(map(_axes, map(tuple, axes))) if isinstance(axes, (tuple, list)) else operator.index(axes)
    return call("tensordot", checked(x1), checked(x2), axes=axes)


# Functions of several results whose shapes depend on elements: one kernel computes all of them, when they are called.


class UniqueAll(NamedTuple):
    """Values that differ, where each first is, which of them each element is, and how often each occurs."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Values that differ, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Values that differ, and which of them each element is."""

    values: Array
    inverse_indices: Array


def nonzero(x, /):
    """The positions of the elements that are not zero, an array for each axis."""
    if not checked(x).ndim:
        raise ArgumentError("an array without axes has no positions")
    return _several(np.nonzero, x)


def _several(function, x):
    return tuple(map(wrap, _graph.several(_of_operands(function), [checked(x)._node])))


@functools.cache
def _of_operands(function):
    """A function of one array as one of a list."""
    return lambda values: function(*values)


def unique_all(x, /):
    """The values that differ, with positions, inverse and counts."""
    return UniqueAll(*_several(np.unique_all, x))


def unique_counts(x, /):
    """The values that differ, with counts."""
    return UniqueCounts(*_several(np.unique_counts, x))


def unique_inverse(x, /):
    """The values that differ, and the place of each element among them."""
    return UniqueInverse(*_several(np.unique_inverse, x))


def unique_values(x, /):
    """The values that differ."""
    return call("unique_values", checked(x))
