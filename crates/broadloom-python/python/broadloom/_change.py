"""Changes of lazy arrays: writes to indices and masks, operators in place, and views, which change with their arrays.

A change adds a line to the program that makes a new value, `x.at[1:-1].set(v)`, and the array takes its name.
"""

import functools
import operator

import numpy as np

from ._attempt import check_change, root_of
from ._broadloom import NOTHING_CHOSEN, Value
from ._errors import DTypeError, ProgramError, ShapeError, TracingError
from ._index import (
    at, cast, check_cast, converted, has_axis, has_dots, has_lazy, has_moving, is_array, is_basic, is_known, is_mask, positions, rank,
    stacked, with_places, without_leading, write_mask,
)  # fmt: skip
from ._moving import moving
from ._special import check_order, lazy, reshape

_MASKED = (
    "the size of `x[mask]` depends on the data: while a function is traced, apply functions of single elements "
    "to it, reduce it, or write it to the same mask, `x[mask] = f(x[mask])`; otherwise write `np.where(mask, a, b)`"
)


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
        index = as_mask(index)
        if has_moving(index):
            part, rest = moving(self, index)
            return part if rest is None else part[rest]
        if isinstance(index, (bool, np.bool_)):
            return self._all_or_none(index).copy()
        if is_mask(index):
            return Masked(self.copy(), index)
        beside = _mask_beside(self, index)
        if beside is not None:
            part, mask, place = beside
            return Masked(part.copy(), mask, place)
        if has_masked(index):
            return chosen_by_masked(self, index)
        if isinstance(index, tuple) and any(map(is_known, index)):
            index = positions(self._trace, index)
        is_view, index = is_basic(index), with_places(index)
        if is_view and (has_dots(index) or rank(self, index)):
            return self._part(index)
        return self._trace.index(self, index)

    def __setitem__(self, index, value):
        index = as_mask(index)
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
        if has_masked(index):
            write_chosen_by_masked(self, index, value)
            return
        if isinstance(value, Masked):
            raise ProgramError(_MASKED)
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
        if name != "flat":
            raise AttributeError(f"the attribute {name!r} of a lazy array cannot be set")
        self.flat[:] = value

    def copy(self, order="C"):
        """An array of its own with the same elements."""
        check_order("x.copy", order)
        return type(self)(self._trace, self._name())

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
        return _Flat(self)


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
    if isinstance(made, Masked):
        raise ProgramError(_MASKED)
    check_cast(made.dtype, array.dtype, shown, casting)
    if made.ndim > array.ndim:
        raise ShapeError(
            f"`{shown}` writes {made._type}, which has more axes than the array {array._type}: make a new array, "
            "or index the operand"
        )
    if made.dtype != array.dtype:
        made = made.astype(array.dtype)
    if made._type != array._type:
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
    index = as_mask(index)
    if not has_masked(index) and (is_mask(index) or is_basic(index)):
        made = ufunc(array[index], *operands)
        check_cast(made.dtype, array.dtype, name)
        array[index] = made
        return
    method = _ACCUMULATED.get(ufunc)
    if method is not None and has_masked(index) and len(operands) == 1:
        write_chosen_by_masked(array, index, operands[0], method)
        return
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
                "`out=` is an array of NumPy's, and the result is not known while the function is traced: "
                "pass the array as an argument of the function"
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


def as_mask(index):
    """An index in which a mask stands for its positions, `x[np.nonzero(mask)]`, and the only item for itself."""
    items = index if isinstance(index, tuple) else (index,)
    first = items[0] if items else None
    if isinstance(first, Masked):
        axes = range(first.mask.ndim)
        found = [(item.axis, item.name) for item in items[: len(axes)] if isinstance(item, Masked)]
        if found == [(axis, first.name) for axis in axes]:
            items = (first.mask, *items[len(axes) :])
    alone = [item for item in items if isinstance(item, Masked)]
    if len(alone) == 1 and len(items) > 1 and alone[0].axis == 0 and alone[0].mask.ndim == 1:
        items = tuple(item.mask if item is alone[0] else item for item in items)
    return items[0] if len(items) == 1 else items


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
    mask = lazy(array._trace, mask)
    rank = array.ndim - mask.ndim
    if isinstance(value, Masked):
        value.check_mask(mask, place)
        made = value.elements
        if made.dtype != array.dtype:
            made = converted(made, array.dtype)
        array._store(array._trace.call("where", (_wide(mask, rank), made, array), {}))
        return
    array._store(write_mask(array, mask, _same_for_all(cast(array, value), rank, place)))


def _wide(mask, rank):
    """A mask with as many axes of size 1 after its own."""
    return mask[(...,) + (None,) * rank] if rank else mask


def _same_for_all(value, rank, place=0):
    """A value of which each element that a mask chooses gets the same, which has this many axes. The axis of these elements is
    at `place` among them."""
    own = np.ndim(value) - (rank - place) - 1
    if own >= 0 and not (isinstance(value.shape[own], int) and value.shape[own] == 1):
        raise TracingError(
            "the values beside a mask are one for each element that it chooses, whose number is not known: write "
            "`x[mask] = y[mask]` with `y` in the shape of `x`, or `np.where(mask, y, x)`"
        )
    return without_leading(value[(slice(None),) * own + (0,)] if own >= 0 else value, rank)


class Masked(np.lib.mixins.NDArrayOperatorsMixin):
    """The elements that a mask chooses: `x[mask]`. It holds an element for each of the mask, chosen or not."""

    __array_priority__ = 2000
    _refused_result = _MASKED
    # The axis along which these are the positions of the mask, if they are.
    axis = None

    def __init__(self, elements, mask, place=0):
        self.elements = elements
        # The number of axes in front of that of the elements; the first axes of `elements` are those of the mask.
        self.place = place
        self.mask = lazy(elements._trace, mask)
        self.name = self.mask._name()
        write_mask(elements, self.mask, elements.dtype.type(0).item())  # Checks that the shapes fit.

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self.elements.dtype

    @property
    def _trace(self):
        return self.elements._trace

    def check_mask(self, mask, place=0):
        """Checks that another mask chooses the same elements, along the same axis."""
        if mask._name() != self.name or place != self.place:
            raise TracingError(
                "`x[mask]` is used beside another mask: both sides need the same mask, or write `np.where(mask, a, b)`"
            )

    def _with(self, elements):
        made = Masked.__new__(Masked)
        made.elements, made.mask, made.name, made.place = elements, self.mask, self.name, self.place
        return made

    def astype(self, dtype, **kwargs):
        """Convert the elements."""
        return self._with(self.elements.astype(dtype))

    def copy(self, order="C"):
        """The elements themselves: nothing changes them."""
        return self

    def _operand(self, other):
        if isinstance(other, Masked):
            other.check_mask(self.mask, self.place)
            return other.elements
        if np.ndim(other) > (0 if self.place else self.elements.ndim - self.mask.ndim):
            raise TracingError(
                "an array is combined with `x[mask]`, whose number of elements is not known: index it by the same "
                "mask, `y[mask]`, or write `np.where(mask, a, b)`"
            )
        return other

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if method == "at" and isinstance(inputs[0], Changing):
            ufunc_at(ufunc, *inputs)
            return None
        if method != "__call__" or ufunc.signature is not None or (out is not None and out[0] is not self):
            raise ProgramError(_MASKED)
        made = ufunc(*map(self._operand, inputs), **kwargs)
        if out is not None:
            # `x[mask] += v` changes the elements, which the same statement then writes to the mask.
            check_cast(made.dtype, self.dtype, f"np.{ufunc.__name__}")
            self.elements, self.axis = made.astype(self.dtype), None
            return self
        return tuple(map(self._with, made)) if isinstance(made, tuple) else self._with(made)

    def __array_function__(self, function, types, args, kwargs):
        if function in _OF_ELEMENTS:
            operands = [self._operand(item) if item is not None else None for item in args]
            return self._with(function(*operands, **{name: self._operand(item) for name, item in kwargs.items()}))
        if function is np.take and len(args) == 2 and isinstance(args[0], Value) and kwargs in ({}, {"axis": 0}):
            table = args[0] if kwargs else np.ravel(args[0])
            return chosen_by_masked(table, args[1])
        if function not in _REDUCTIONS or not args or args[0] is not self:
            raise ProgramError(_MASKED)
        return self._reduced(function, *args[1:], **kwargs)

    def _reduced(self, function, axis=None, **kwargs):
        if axis is not None or kwargs.keys() - {"initial"}:
            raise ProgramError(_MASKED)
        mask = _wide(self.mask, self.elements.ndim - self.mask.ndim)
        if function not in (np.max, np.min) or "initial" in kwargs:
            return function(self.elements, where=mask, **kwargs)
        reduced = function(self.elements, where=mask, initial=_worst(function, self.dtype))
        # Of no elements there is none, so that something is taken where nothing is.
        found = np.any(np.broadcast_to(mask, self.elements.shape))
        nothing = self._trace.call("zeros", ((1,),), {"dtype": reduced.dtype})
        return np.where(found, reduced, nothing[np.where(found, 0, NOTHING_CHOSEN)])

    @property
    def size(self):
        """The number of elements that the mask chooses."""
        return np.sum(self.mask)

    @property
    def ndim(self):
        """The number of axes."""
        return self.elements.ndim - self.mask.ndim + 1

    def __getattr__(self, name):
        function = {f.__name__: f for f in _REDUCTIONS}.get(name)
        if function is None:
            if name.startswith("__"):
                raise AttributeError(name)
            raise ProgramError(_MASKED)
        return functools.partial(self._reduced, function)

    def positions(self, mask):
        """The elements as positions: those that the mask leaves out are 0, for they may be outside of an axis."""
        self.check_mask(mask)
        return np.where(self.mask, self.elements, 0).astype(self.dtype)

    def _refuse(self, *args, **kwargs):
        raise ProgramError(_MASKED)

    def __getitem__(self, index):
        if self.axis is not None:
            raise ProgramError(
                "positions of `np.nonzero(c)` or `np.flatnonzero(c)` are indices as they are: write `x[c, 0]` with the "
                "condition itself, or `np.where(c, a, b)`"
            )
        raise ProgramError(_MASKED)

    __setitem__ = __iter__ = __len__ = __bool__ = __array__ = __float__ = __int__ = _refuse


def has_masked(index):
    """Whether `x[mask]` is an index, or among its items."""
    return any(isinstance(item, Masked) for item in (index if isinstance(index, tuple) else (index,)))


def _masked_items(index):
    """The leading items `i[mask]` of an index, their positions, and the other items."""
    items = index if isinstance(index, tuple) else (index,)
    count = next((number for number, item in enumerate(items) if not isinstance(item, Masked)), len(items))
    if has_masked(items[count:]) or not is_basic(items[count:]) or not count:
        raise ProgramError(_MASKED)
    first = items[0]
    if any(item.elements.ndim != first.mask.ndim for item in items[:count]):
        raise ProgramError(_MASKED)
    return first, [item.positions(first.mask) for item in items[:count]], items[count:]


def chosen_by_masked(array, index):
    """`table[i[mask]]`: the elements at the positions that the mask chooses."""
    first, places, others = _masked_items(index)
    return first._with(array[(*places, *others)])


def write_chosen_by_masked(array, index, value, method="set"):
    """`table[i[mask]] = v` and `np.add.at(table, i[mask], v)`: what the mask leaves out goes to a row after the last one,
    which is dropped."""
    first, places, others = _masked_items(index)
    part = array[(*(slice(None),) * len(places), *others)] if others else array
    rank, trace = part.ndim - len(places), array._trace
    if isinstance(value, Masked):
        value.check_mask(first.mask)
        value = value.elements
    elif method == "set":
        value = _same_for_all(cast(part, value), rank)
    elif isinstance(value, (int, float, Value)):
        value = _same_for_all(value, rank) if np.ndim(value) else value
    else:
        value = _same_for_all(np.asarray(value), rank)
    if method == "set":
        value = cast(part, value)
    # A position outside of the axis is an error here, and a negative one counts from its end.
    along = [np.take(trace.call("arange", (size,), {}), place) for size, place in zip(part.shape, places)]
    rows = part.shape[0]
    along[0] = np.where(first.mask, along[0], rows)
    spare = trace.call("zeros", ((1, *part.shape[1:]),), {"dtype": part.dtype})
    longer = trace.call("concatenate", ((part, spare),), {"axis": 0})
    part[...] = at(longer, longer._items(tuple(along)), value, method)[:rows]


def _worst(function, dtype):
    """The value that each other one replaces as the largest or the smallest."""
    if dtype.kind == "b":
        return function is np.min
    if dtype.kind == "f":
        return -np.inf if function is np.max else np.inf
    limits = np.iinfo(dtype)
    return int(limits.min if function is np.max else limits.max)


_OF_ELEMENTS = {np.clip, np.round, np.around, np.nan_to_num, np.where, np.fix, np.sinc}
_REDUCTIONS = (np.sum, np.prod, np.mean, np.max, np.min, np.any, np.all, np.var, np.std)


# `x.flat` ------------------------------------------------------------------------------------------------------------


class _Flat:
    """The elements of an array in row-major order."""

    def __init__(self, array):
        self.array = array

    def _place(self, key):
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise TracingError("`x.flat` takes one position while a function is traced: write `x.reshape(-1)` or a range")
        try:
            return tuple(int(i) for i in np.unravel_index(key % self.array.size, self.array.shape))
        except TypeError:
            raise TracingError("a size is not known while the function is traced for all sizes") from None

    def __getitem__(self, key):
        if isinstance(key, slice) or is_array(key):
            return np.ravel(self.array)[key].copy()
        return self.array[self._place(key)]

    def __setitem__(self, key, value):
        if isinstance(key, slice):
            flat = np.ravel(self.array).copy()
            flat[key] = np.ravel(value) if np.ndim(value) > 1 else value
            self.array[...] = reshape(flat, self.array.shape)
        elif is_array(key):
            put(self.array, key, value)
        else:
            self.array[self._place(key)] = value


class _At:
    """`x.at`: `x.at[index]` has methods that return a copy with other elements there."""

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return _Chosen(self.array, index)


def _accumulating(ufunc):
    def method(self, value):
        made = self.array.copy()
        ufunc_at(ufunc, made, self.index, value)
        return made

    method.__doc__ = f"A copy with `np.{ufunc.__name__}` of the elements and a value; each of equal positions counts."
    return method


class _Chosen:
    def __init__(self, array, index):
        self.array, self.index = array, index

    def set(self, value):
        """A copy with these values; the last of equal positions counts."""
        made = self.array.copy()
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
    rows, columns = a.shape
    mask = a._trace.call("eye", (rows, columns), {"dtype": np.dtype(bool)})
    a._store(write_mask(a, mask, cast(a, val)))


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
    if np.size(vals) != 1:
        raise TracingError(
            "`np.place` writes the values one after the other to as many elements as the mask chooses, whose number is not "
            "known: write `np.copyto(x, values, where=mask)` with values in the shape of `x`"
        )
    arr[lazy(arr._trace, mask).astype(bool)] = np.ravel(vals)[0]


CHANGES = {
    np.copyto: _copyto,
    np.putmask: _putmask,
    np.fill_diagonal: _fill_diagonal,
    np.place: _place,
    np.put: put,
    np.put_along_axis: _put_along_axis,
}
