"""Changes of lazy arrays: writes to indices and masks, operators in place, and views, which change with their arrays.

A change adds a line to the program that makes a new value, `x.at[1:-1].set(v)`, and the array takes its name.
"""

import operator

import numpy as np

from ._attempt import check_change, root_of
from ._broadloom import Value
from ._caught import forget
from ._errors import DTypeError, ProgramError, ShapeError, TracingError
from ._flat import Flat
from ._index import (
    at, cast, check_cast, has_axis, has_dots, has_lazy, has_moving, is_basic, is_known, is_mask, positions, rank, stacked,
    with_ends, with_lists, with_places, without_leading, write_mask,
)  # fmt: skip
from ._moving import moving
from ._special import check_order, lazy, reshape


class Changing(Value):
    """The part of a lazy array that changes it, or makes views of it."""

    __slots__ = ()

    def _store(self, value):
        check_change(self)
        super()._store(value)

    def _reshape(self, value):
        check_change(self)
        super()._reshape(value)

    def _view_of(self, parent, read, write):
        super()._view_of(parent, read, write)
        self._attempt, self._root = parent._attempt, root_of(parent)

    def _part(self, index):
        """The view of the elements at an index whose positions are all different."""
        made, items = self._trace.index(self, index), self._items(index)
        made._view_of(self, f"{{old}}[{items}]", f"{{old}}.at[{items}].set({{new}})")
        made._let_change()
        return made

    def __getitem__(self, index):
        index = as_mask(self, index)
        if has_moving(index):
            part, rest = moving(self, index)
            return part if rest is None else part[rest]
        if isinstance(index, (bool, np.bool_)):
            return self._all_or_none(index).copy()
        if is_mask(index):
            return self._trace.index(self, lazy(self._trace, index))
        beside = _mask_beside(self, index)
        if beside is not None:
            part, mask, place = beside
            chosen = part[mask]
            return np.moveaxis(chosen, 0, place).copy() if place else chosen
        index = with_ends(self, index)
        if isinstance(index, tuple) and any(map(is_known, index)):
            index = positions(self._trace, index)
        is_view, index = is_basic(index), with_places(index)
        if is_view and (has_dots(index) or rank(self, index)):
            return self._part(index)
        return self._trace.index(self, index)

    def __setitem__(self, index, value):
        if not self.ndim and not self._can_change:
            raise forget(DTypeError("a scalar, such as `x.sum()` or `x[0, 0]`, cannot change: write `np.asarray(x.sum())`, or compute a new one"))
        index = as_mask(self, index)
        if has_moving(index):
            part, rest = moving(self, index)
            part[... if rest is None else rest] = value
            return
        if isinstance(index, (bool, np.bool_)):
            self._all_or_none(index)[...] = value
            return
        if is_mask(index):
            _set_masked(self, index, value)
            return
        beside = _mask_beside(self, index)
        if beside is not None:
            part, mask, place = beside
            _set_masked(part, mask, value, place)
            return
        index = with_ends(self, index)
        if not is_basic(index):
            self._store(at(self, self._items(positions(self._trace, with_places(index))), cast(self, value)))
            return
        index = with_places(index)
        items = self._items(index)
        if isinstance(value, Value) and hasattr(value, "_is_part") and value._is_part(self, f"{{old}}[{items}]"):
            # `x[1:] += v` writes the view, and then the view to the array.
            return
        value = without_leading(cast(self, value), rank(self, index))
        self._store(at(self, items, value))

    def _all_or_none(self, flag):
        """`x[True]` is all of `x` along a new axis, and `x[False]` nothing of it."""
        return self[None] if flag else self[None][:0]

    def __setattr__(self, name, value):
        if name == "shape":
            self._reshape(reshape(self, tuple(value) if isinstance(value, (tuple, list)) else (value,)))
            return
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if name == "real" and self._can_change:
            # `x.real += 1` has changed the array already.
            if value is not self:
                self[...] = value
            return
        if name == "dtype":
            raise TracingError("the dtype of a lazy array stays: write `x = x.view(dtype)` or `x = x.astype(dtype)`")
        if name != "flat":
            raise AttributeError(f"the attribute {name!r} of a lazy array cannot be set")
        self.flat[:] = value

    def copy(self, order="C"):
        """An array of its own with the same elements."""
        check_order("x.copy", order)
        made = type(self)(self._trace, self._name())
        made._is_whole = order == "C"
        return made

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def fill(self, value):
        """Replace all elements by one value."""
        if np.ndim(value):
            raise ShapeError("`fill` takes one value: write `x[...] = values` for several")
        self[...] = value

    def sort(self, axis=-1, kind=None, order=None, *, stable=None):
        """Sort the elements in place."""
        self[...] = np.sort(self, axis=axis, kind=kind, order=order, stable=stable)

    def partition(self, kth, axis=-1, kind="introselect", order=None):
        """Partition the elements in place."""
        self[...] = np.partition(self, kth, axis=axis, kind=kind, order=order)

    @property
    def nbytes(self):
        """The bytes of all elements."""
        return self.size * self.dtype.itemsize

    def put(self, indices, values, mode="raise"):
        """Replace the elements at positions in row-major order."""
        put(self, indices, values, mode)

    @property
    def at(self):
        """Copies with other elements at an index: `x.at[i].set(v)`, `x.at[i].add(v)`."""
        return _At(self)

    def resize(self, *new_shape, refcheck=True):
        """Refused: the number of elements of an array stays."""
        raise TracingError("`x.resize(..)` changes the shape of a lazy array, which stays: write `x = x.reshape(..)`")

    @property
    def flat(self):
        """The elements in row-major order, by position."""
        return Flat(self, put)


def in_place(name):
    """The method of an operator such as `+=`, by the name of the operator that makes a new array."""
    method, shown = f"__{name}__", f"{_SIGNS[name]}="

    def apply(self, other):
        made = getattr(self, method)(other)
        if made is NotImplemented or not self._can_change:
            return made
        return replace(self, made, shown)

    return apply


_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip


def replace(array, made, shown, casting="same_kind"):
    """Writes a result to all elements of an array, as NumPy's operators in place do. Returns the array."""
    if not isinstance(made, Value):
        made = lazy(array._trace, made)
    check_cast(made.dtype, array.dtype, shown, casting)
    if made.ndim > array.ndim:
        raise ShapeError(
            f"`{shown}` writes {made._type}, which has more axes than the array {array._type}: make a new array, "
            "or index the operand"
        )
    if made.dtype != array.dtype:
        made = made.astype(array.dtype)
    if made._type != array._type:
        if made.ndim == array.ndim and any(getattr(size, "_is_decided", False) for size in made.shape):
            made = made._trace.call("rebind", (made, *array.shape), {})
        made = at(array, "...", made)
    array._store(made)
    return array


_ACCUMULATED = {
    np.add: "add", np.subtract: "subtract", np.multiply: "multiply", np.divide: "divide",
    np.minimum: "minimum", np.maximum: "maximum",
}  # fmt: skip


def ufunc_at(ufunc, array, index, *operands):
    """`np.add.at(x, i, v)`, which counts each of equal positions."""
    name = f"np.{ufunc.__name__}.at"
    _check_is_lazy(f"{ufunc.__name__}.at", array)
    index = as_mask(array, index)
    if is_mask(index) or is_basic(index):
        made = ufunc(array[index], *operands)
        check_cast(made.dtype, array.dtype, name)
        array[index] = made
        return
    method = _ACCUMULATED.get(ufunc)
    if method is None or len(operands) != 1:
        raise TracingError(
            f"`{name}` is not supported at positions, which may be equal: only `add`, `subtract`, `multiply`, `divide`, "
            f"`minimum` and `maximum`. Where no two are equal, write `x[i] = np.{ufunc.__name__}(x[i], ..)`"
        )
    value = operands[0]
    if not isinstance(value, (Value, int, float)):
        value = stacked(array._trace, value) if has_lazy(value) else np.asarray(value)
    items = array._items(positions(array._trace, with_places(index)))
    array._store(at(array, items, value, method))


def write_out(out, compute, where=True, casting="same_kind"):
    """Writes results to the arrays of `out=`, where a condition holds, and returns them."""
    outs = out if isinstance(out, tuple) else (out,)
    for array in outs:
        if array is not None and not isinstance(array, Changing):
            raise TracingError(
                "an array of NumPy's is changed, by `out=` or an operator such as `+=`, and the result is not known while the function is "
                "traced: pass the array as an argument of the function, or make it lazy, `y = np.asarray(y, like=x)`"
            )
    made = compute()
    results = made if isinstance(made, tuple) else (made,)
    for array, result in zip(outs, results):
        if array is not None:
            if where is not True:
                check_cast(result.dtype, array.dtype, "out=", casting)
                result = np.where(where, result.astype(array.dtype), array)
            replace(array, result, "out=", casting)
    chosen = tuple(result if array is None else array for array, result in zip(outs, results))
    return chosen if isinstance(made, tuple) else chosen[0]


# Masks ---------------------------------------------------------------------------------------------------------------


def as_mask(array, index):
    """An index in which a mask stands for its positions, which `np.nonzero(mask)` returned: they need not be known to choose by it."""
    index = with_lists(array._trace, index)
    items = index if isinstance(index, tuple) else (index,)
    arrays = [item for item in items if isinstance(item, Value) and not getattr(item, "_is_size", False) or is_known(item)]
    mask = _mask_of(arrays[0]) if arrays else None
    # Positions of other arrays are beside these, one by one.
    if mask is None or len(arrays) != mask.ndim or any(_mask_of(item, axis) is not mask for axis, item in enumerate(arrays)):
        return index[0] if isinstance(index, tuple) and len(index) == 1 else index
    place = next(number for number, item in enumerate(items) if item is arrays[0])
    before, after = items[:place], items[place + mask.ndim :]
    axis = sum(item is not None for item in before)
    are_adjacent = all(item is array for item, array in zip(items[place:], arrays))
    if has_dots(before) or not are_adjacent or not _has_sizes(array, axis, mask):
        return index
    items = (*before, mask, *after)
    return items[0] if len(items) == 1 else items


def _mask_of(item, axis=0):
    """The mask of which an item of an index is the positions along an axis, if it is, and has not changed since."""
    name, mask, own = getattr(item, "_positions", None) or (None, None, None) if isinstance(item, Changing) else (None, None, None)
    return mask if own == axis and name == item._name() else None


def _has_sizes(array, first, mask):
    """Whether the axes of an array from one on have the sizes of a mask."""
    sizes = array.shape[first : first + mask.ndim]
    return len(sizes) == mask.ndim and all(map(_is_same, sizes, mask.shape))


def _is_same(size, other):
    """Whether two sizes are equal in all calls."""
    if isinstance(size, Value) and isinstance(other, Value):
        return size._is_same(other)
    return isinstance(size, int) and isinstance(other, int) and size == other


def _mask_beside(array, index):
    """For `x[mask, 0]`, `x[1, mask]` and `x[:, mask]`: the view that the other items choose, with the axes of the mask in front,
    the mask, and the number of axes in front of the elements that it chooses; `None` for other indices."""
    if not isinstance(index, tuple) or sum(map(is_mask, index)) != 1:
        return None
    others = [item for item in index if not is_mask(item)]
    if not all(map(is_basic, others)):
        return None
    mask = next(item for item in index if is_mask(item))
    if has_dots(tuple(others)):
        # All other axes.
        used = mask.ndim + sum(item is not None and item is not Ellipsis for item in others)
        dots = next(number for number, item in enumerate(index) if item is Ellipsis)
        index = (*index[:dots], *(slice(None),) * (array.ndim - used), *index[dots + 1 :])
    place = next(number for number, item in enumerate(index) if is_mask(item))
    before, after = index[:place], index[place + 1 :]
    part = array[(*before, *(slice(None),) * mask.ndim, *after)]
    # Beside a mask, numbers count as positions: the axis of the elements stands where all of these are, if they are adjacent, and
    # in front otherwise.
    chosen = [number for number, item in enumerate(index) if not has_axis(item)]
    are_adjacent = chosen[-1] - chosen[0] < len(chosen)
    first = sum(map(has_axis, before))
    axes = tuple(range(mask.ndim))
    part = np.moveaxis(part, tuple(first + axis for axis in axes), axes) if first else part
    return part, mask, sum(map(has_axis, index[: chosen[0]])) if are_adjacent else 0


def _set_masked(array, mask, value, place=0):
    """Writes to the elements that a mask chooses, whose axis is the one at `place` of the value."""
    mask, rank = lazy(array._trace, mask), array.ndim - np.ndim(mask)
    value = _by_element(cast(array, value), rank, place)
    if np.ndim(value) > rank:
        value = _of_size(lazy(array._trace, value), array[mask].shape[0])
    array._store(write_mask(array, mask, value))


def _of_size(value, count):
    """A value with another size of its first axis: the call checks that it is the same."""
    if _is_same(value.shape[0], count):
        return value
    return value._trace.call("rebind", (value, count, *(None,) * (value.ndim - 1)), {})


def _by_element(value, rank, place):
    """A value with the axis of the elements that a mask chooses in front, if it has that axis. It stands at `place` among `rank`
    others."""
    own = np.ndim(value) - (rank - place) - 1
    if own < 0:
        return without_leading(value, rank)
    size = value.shape[own]
    if isinstance(size, int) and size == 1:
        return without_leading(value[(slice(None),) * own + (0,)], rank)
    value = without_leading(value, rank + 1)
    value = value[(None,) * (rank + 1 - np.ndim(value))]
    return np.moveaxis(value, place, 0) if place else value


# `x.at` --------------------------------------------------------------------------------------------------------------


def changing(array):
    """A copy that changes, also of a scalar."""
    made = array.copy()
    made._let_change()
    return made


class _At:
    """`x.at`: `x.at[index]` has methods that return a copy with other elements there."""

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return _Chosen(self.array, index)


def _accumulating(ufunc):
    def method(self, value):
        made = changing(self.array)
        ufunc_at(ufunc, made, self.index, value)
        return made

    method.__doc__ = f"A copy with `np.{ufunc.__name__}` of the elements and a value; each of equal positions counts."
    return method


class _Chosen:
    def __init__(self, array, index):
        self.array, self.index = array, index

    def set(self, value):
        """A copy with these values; the last of equal positions counts."""
        made = changing(self.array)
        made[self.index] = value
        return made

    add, subtract, multiply, divide = map(_accumulating, (np.add, np.subtract, np.multiply, np.divide))
    minimum = min = _accumulating(np.minimum)
    maximum = max = _accumulating(np.maximum)


# Functions that change an argument -----------------------------------------------------------------------------------


def _check_is_lazy(name, array):
    if not isinstance(array, Changing):
        raise TracingError(f"`np.{name}` writes to an array of NumPy's: pass it as an argument of the function")


def _copyto(dst, src, casting="same_kind", where=True):
    _check_is_lazy("copyto", dst)
    dtype = src.dtype if hasattr(src, "dtype") else np.asarray(src).dtype if not has_lazy(src) else dst.dtype
    weak = isinstance(src, (bool, int, float))
    if not weak and not np.can_cast(dtype, dst.dtype, casting):
        raise DTypeError(f"`np.copyto` cannot write {dtype} to {dst.dtype}: write `casting='unsafe'`")
    if weak and casting != "unsafe" and not np.can_cast(np.min_scalar_type(src) if dst.dtype.kind != "f" else dtype, dst.dtype, casting):
        raise DTypeError(f"`np.copyto` cannot write {src!r} to {dst.dtype}: write `casting='unsafe'`")
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, lazy(dst._trace, cast(dst, src)), dst)


def _putmask(a, mask, values):
    _check_is_lazy("putmask", a)
    if np.ndim(values) and getattr(values, "_type", None) != getattr(a, "_type", None):
        raise TracingError("`np.putmask` repeats values of another shape: write `np.copyto(x, values, where=mask)`")
    a[...] = np.where(mask, lazy(a._trace, cast(a, values)), a)


def _fill_diagonal(a, val, wrap=False):
    _check_is_lazy("fill_diagonal", a)
    if a.ndim != 2 or wrap:
        raise ProgramError("`np.fill_diagonal` takes two axes and no `wrap=`: write `np.where(np.eye(n, dtype=bool), v, x)`")
    if np.ndim(val):
        raise ProgramError("`np.fill_diagonal` takes one value: write `np.where(np.eye(n, dtype=bool), np.diag(v), x)`")
    rows, columns = (a._trace.call("arange", (size,), {}) for size in a.shape)
    if rows._type == columns._type:
        # These positions alone are written.
        a[rows, columns] = cast(a, val)
    else:
        a._store(write_mask(a, rows[:, None] == columns, cast(a, val)))


def put(a, ind, v, mode="raise"):
    """`np.put`: the values repeat, and the last of equal positions counts."""
    _check_is_lazy("put", a)
    if mode not in ("raise", "wrap", "clip"):
        raise TracingError(f"`np.put` takes mode='raise', 'wrap' or 'clip', not {mode!r}")
    flat = np.ravel(a).copy()
    (places,) = positions(a._trace, ind)
    places = np.ravel(places)
    if mode != "raise":
        places = lazy(a._trace, places)
        places = places % flat.shape[0] if mode == "wrap" else np.clip(places, 0, flat.shape[0] - 1)
    v = stacked(a._trace, v) if has_lazy(v) else np.asarray(v)
    if v.ndim:
        v = np.ravel(v)
        if getattr(v, "_type", v.shape) != getattr(places, "_type", places.shape):
            v = v[np.arange(len(places)) % len(v)] if len(v) else v
    flat[places] = v
    a[...] = flat.reshape(a.shape)


def _put_along_axis(arr, indices, values, axis=-1):
    _check_is_lazy("put_along_axis", arr)
    if axis is None:
        flat = np.ravel(arr).copy()
        flat[indices] = values
        arr[...] = flat.reshape(arr.shape)
        return
    axis = operator.index(axis) % arr.ndim
    if np.ndim(indices) != arr.ndim:
        raise ShapeError(f"`np.put_along_axis` takes indices with the axes of the array, {arr.ndim}, not {np.ndim(indices)}")
    index = []
    for other, size in enumerate(arr.shape):
        along = arr._trace.call("arange", (size,), {})
        index.append(indices if other == axis else along[(slice(None),) + (None,) * (arr.ndim - 1 - other)])
    arr[tuple(index)] = values


def _place(arr, mask, vals):
    _check_is_lazy("place", arr)
    mask = lazy(arr._trace, mask).astype(bool)
    vals = np.ravel(stacked(arr._trace, vals) if has_lazy(vals) else vals)
    if vals.shape[0] != 1:
        # The values repeat.
        count = arr[mask].shape[0]
        vals = np.take(vals, arr._trace.call("arange", (count,), {}) % vals.shape[0])
    arr[mask] = vals


CHANGES = {
    np.copyto: _copyto,
    np.putmask: _putmask,
    np.fill_diagonal: _fill_diagonal,
    np.place: _place,
    np.put: put,
    np.put_along_axis: _put_along_axis,
}
