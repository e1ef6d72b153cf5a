"""Functions whose results have sizes that the data decide: `np.nonzero(c)`, also spelled `np.where(c)`, `np.unique`, `np.repeat`."""

import numpy as np

from ._broadloom import Value
from ._errors import ProgramError
from ._index import has_lazy, is_computed, is_known, stacked
from ._special import flag, lazy, plain, trace_of


def nonzero(a):
    """The positions along each axis of the elements that are not zero."""
    if not a.ndim:
        raise ProgramError("`np.nonzero` takes an array with axes: write `np.atleast_1d(x)`")
    mask = a.copy() if a.dtype == bool else a != 0
    return tuple(_positions(mask, axis, found) for axis, found in enumerate(a._trace.call("nonzero", (mask,), {})))


def _positions(mask, axis, found):
    # As an index, they choose what the mask does.
    found._positions = found._name(), mask, axis
    return found


def _where(condition, x=None, y=None, /):
    return nonzero(condition) if x is None and y is None else NotImplemented


def _flatnonzero(a):
    if a.ndim == 1:
        return nonzero(a)[0]
    return a._trace.call("flatnonzero", (a,), {})


def _argwhere(a):
    if not a.ndim:
        raise ProgramError("`np.argwhere` takes an array with axes: write `np.atleast_1d(x)`")
    return a._trace.call("argwhere", (a,), {})


def _operand(trace, value):
    """An operand as an array."""
    if isinstance(value, (list, tuple)) and has_lazy(value):
        return stacked(trace, value)
    return lazy(trace, value)


def compress(condition, a, axis=None, out=None):
    """The elements along an axis at which a condition holds; one that is too short holds for none of the others."""
    trace = trace_of((condition, a))
    condition, a = _operand(trace, condition), _operand(trace, a)
    if axis is None:
        a, axis = np.ravel(a), 0
    given, size = condition.shape[0] if condition.ndim == 1 else None, a.shape[plain(axis)]
    if isinstance(given, int) and isinstance(size, int) and given < size:
        a = a[(slice(None),) * (plain(axis) % a.ndim) + (slice(given),)]
    return trace.call("compress", (condition, a), {"axis": plain(axis)})


def _extract(condition, arr):
    trace = trace_of((condition, arr))
    return compress(np.ravel(_operand(trace, condition)), np.ravel(_operand(trace, arr)))


def _unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True):
    """The distinct elements are in order also if they need not be."""
    if axis is not None:
        raise ProgramError("`np.unique` finds distinct elements, not distinct rows: leave out `axis=`, or call it outside of the traced function")
    trace = trace_of(ar)
    flags = {"return_index": return_index, "return_inverse": return_inverse, "return_counts": return_counts}
    flags = {name: flag(np.unique, name, value) for name, value in flags.items()}
    flags = {name: value for name, value in flags.items() if value}
    if not flag(np.unique, "equal_nan", equal_nan):
        flags["equal_nan"] = False
    found = trace.call("unique", (_operand(trace, ar),), flags)
    return found[0] if isinstance(found, tuple) and len(found) == 1 else found


def _unique_of(function):
    """A function of the array API."""
    made = type(function(np.zeros(1)))

    def apply(x, /):
        found = x._trace.call(function.__name__, (x,), {})
        return made(*found) if isinstance(found, tuple) else found

    return apply


def _sets(name):
    def apply(ar1, ar2, assume_unique=False):
        """Elements that the caller says are unique are also found to be so."""
        trace = trace_of((ar1, ar2))
        return trace.call(name, (_operand(trace, ar1), _operand(trace, ar2)), {})

    return apply


def _intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    if not flag(np.intersect1d, "return_indices", return_indices):
        return _sets("intersect1d")(ar1, ar2)
    trace = trace_of((ar1, ar2))
    (own, first), (other, second) = (_unique(_operand(trace, of), return_index=True) for of in (ar1, ar2))
    own_has, other_has = np.isin(own, other), np.isin(other, own)
    return np.compress(own_has, own).astype(np.result_type(own.dtype, other.dtype)), first[own_has], second[other_has]


def _setdiff1d(ar1, ar2, assume_unique=False):
    if not flag(np.setdiff1d, "assume_unique", assume_unique):
        return _sets("setdiff1d")(ar1, ar2).astype(ar1.dtype if hasattr(ar1, "dtype") else np.asarray(ar1).dtype)
    trace = trace_of((ar1, ar2))
    # They keep their order.
    ar1, ar2 = np.ravel(_operand(trace, ar1)), _operand(trace, ar2)
    return ar1[np.isin(ar1, ar2, invert=True)]


def _trim_zeros(filt, trim="fb", axis=None):
    filt = _operand(trace_of(filt), filt)
    if filt.ndim != 1:
        raise ProgramError(f"`np.trim_zeros` takes an array with one axis, not with {filt.ndim}: trim rows by a mask, `x[mask]`")
    sides = "".join(side for side in "fb" if side in trim.lower())
    return filt._trace.call("trim_zeros", (filt, sides), {}) if sides else filt.copy()


def _repeat(a, repeats, axis=None):
    if not isinstance(repeats, Value) and not is_known(repeats) and not has_lazy(repeats):
        return NotImplemented
    trace = trace_of((a, repeats))
    a, repeats = _operand(trace, a), plain(repeats) if isinstance(repeats, list) and not has_lazy(repeats) else repeats
    if axis is None:
        a, axis = np.ravel(a), 0
    if getattr(repeats, "_is_size", False) or isinstance(repeats, list) and not has_lazy(repeats):
        return trace.call("repeat", (a, repeats), {"axis": plain(axis)})
    repeats = _operand(trace, repeats)
    repeats = repeats.astype(np.int64) if repeats.dtype == bool else repeats
    if repeats.ndim == 1 and isinstance(repeats.shape[0], int) and repeats.shape[0] == 1:
        repeats = repeats[0]
    return trace.call("repeat", (a, repeats), {"axis": plain(axis)})


def _bincount(x, /, weights=None, minlength=0):
    trace = trace_of((x, weights, minlength))
    x = _operand(trace, x)
    keywords = {} if weights is None else {"weights": _operand(trace, weights)}
    minlength = plain(minlength)
    if not isinstance(minlength, int) or minlength:
        keywords["minlength"] = np.maximum(np.max(x.astype(np.int64), initial=-1) + 1, minlength)
    return trace.call("bincount", (x,), keywords)


def arange(trace, args, dtype):
    """`np.arange` of integers that are computed: the positions of as many elements, times the step."""
    if len(args) > 3 or not all(isinstance(end, (int, np.integer)) or is_computed(end) or getattr(end, "_is_size", False) for end in args):
        return NotImplemented
    start, stop, step = {1: lambda: (0, args[0], 1), 2: lambda: (*args, 1), 3: lambda: args}[len(args)]()
    if isinstance(step, Value):
        raise ProgramError("the step of `np.arange` is not known: write `np.arange(n) * step`")
    if not step:
        raise ZeroDivisionError("the step of `np.arange` is 0")
    if dtype is None:
        dtype = np.arange(*(end.dtype.type(1) if is_computed(end) else 1 for end in args)).dtype
    start, stop = (end.astype(np.int64) if is_computed(end) else end for end in (start, stop))
    # The numbers of elements that masks choose are known as such where nothing else is added to them.
    count = stop - start if not isinstance(start, int) or start else stop
    count = count if plain(step) == 1 else -(-count // plain(step))
    made = trace.call("arange", (np.maximum(count, 0),), {})
    made = made if plain(step) == 1 else made * plain(step)
    made = made if isinstance(start, int) and start == 0 else made + start
    return made if made.dtype == dtype else made.astype(dtype)


# By NumPy's function; the first argument is lazy, or another one is.
SELECTED: dict = {
    np.nonzero: nonzero, np.where: _where, np.flatnonzero: _flatnonzero, np.argwhere: _argwhere, np.compress: compress,
    np.extract: _extract, np.unique: _unique, np.union1d: lambda ar1, ar2: _sets("union1d")(ar1, ar2), np.intersect1d: _intersect1d,
    np.setdiff1d: _setdiff1d, np.setxor1d: _sets("setxor1d"), np.trim_zeros: _trim_zeros, np.repeat: _repeat,
    np.bincount: _bincount,
    **{of: _unique_of(of) for of in (np.unique_all, np.unique_counts, np.unique_inverse, np.unique_values)},
}  # fmt: skip
