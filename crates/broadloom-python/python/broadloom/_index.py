"""Indices of lazy arrays and values that are assigned to them, and the lines that change them."""

import numpy as np

from ._broadloom import Value
from ._caught import forget
from ._errors import DTypeError, ProgramError, ShapeError, TracingError
from ._special import lazy
from ._weak import check_fits, is_weak


# What marks sizes that the data decide in the text of a type.
DECIDED = "@"


def check_cast(source, target, shown, casting="same_kind"):
    """Refuses what NumPy's operations in place refuse: floats in an array of integers, and integers in one of bools."""
    if not np.can_cast(source, target, casting):
        raise forget(DTypeError(
            f"`{shown}` cannot write {source} to an array of dtype {target}: convert the operand by `.astype({target})`, "
            "or make a new array, `x = x + y`"
        ))  # fmt: skip


def at(array, items, value, method="set"):
    return array._trace.around(f"{array._name()}.at[{items}].{method}(", value, ")")


def is_basic(index):
    """Whether NumPy returns a view for an index: ranges, integers, `...` and None. Arrays of integers choose elements."""
    items = index if isinstance(index, tuple) else (index,)
    return all(
        item is None
        or item is Ellipsis
        or isinstance(item, slice)
        or (isinstance(item, (int, np.integer)) and not isinstance(item, bool))
        or getattr(item, "_is_size", False)
        or _is_scalar(item)
        for item in items
    )


def _is_scalar(item):
    """Whether an item of an index is an integer that is not known, of Python's or a scalar of NumPy's."""
    return isinstance(item, Value) and not item.ndim and not item._can_change and item.dtype.kind in "iu"


def is_integer(item):
    """Whether an item of an index is an integer of Python's that is not known, such as the counter of a loop."""
    return is_weak(item) and not getattr(item, "_is_size", False)


def with_places(index):
    """An index with integers that are not known as positions."""
    if isinstance(index, tuple):
        return tuple(map(with_places, index))
    return converted(index, np.dtype(np.int64)) if is_integer(index) else index


def is_moving(item):
    """Whether an item of an index is a range whose place depends on the counter of a loop."""
    ends = (item.start, item.stop, item.step) if isinstance(item, slice) else ()
    return any(is_integer(end) and end._is_number for end in ends)


def has_moving(index):
    return any(map(is_moving, index if isinstance(index, tuple) else (index,)))


def is_computed(item):
    """Whether an item is an integer that is computed, such as `m.sum()`."""
    return isinstance(item, Value) and not getattr(item, "_is_size", False) and not item.ndim and item.dtype.kind in "iu"


def with_ends(array, index):
    """An index whose ranges have ends within their axes, as NumPy understands them, where one is an integer that is computed, or the
    data decide how long the axis is."""
    items = list(index) if isinstance(index, tuple) else [index]
    has_end = [isinstance(item, slice) and (is_computed(item.start) or is_computed(item.stop)) for item in items]
    may_end = any(isinstance(item, slice) and _has_known_end(item) for item in items) and DECIDED in array._type
    if not any(has_end) and not may_end:
        return index
    used = sum(item.ndim if is_mask(item) else item is not None and item is not Ellipsis for item in items)
    axis = 0
    for number, item in enumerate(items):
        is_short = isinstance(item, slice) and _has_known_end(item) and getattr(array.shape[axis], "_is_decided", False)
        if has_end[number] or is_short:
            if item.step not in (None, 1):
                raise ProgramError("the ends of a range with a step are not known: write `x[:k][::2]`")
            size = array.shape[axis]
            start = 0 if item.start is None else _end(array._trace, item.start, size)
            stop = item.stop if item.stop is None else np.maximum(_end(array._trace, item.stop, size), start)
            items[number] = slice(start, stop)
        axis += array.ndim - used if item is Ellipsis else item.ndim if is_mask(item) else item is not None
    return tuple(items) if isinstance(index, tuple) else items[0]


def _has_known_end(item):
    """Whether a range of neighbours begins or ends at a known place that a short axis does not have."""
    return item.step in (None, 1) and any(isinstance(end, (int, np.integer)) and end != 0 for end in (item.start, item.stop))


def _end(trace, end, size):
    """An end of a range: a negative one counts from the end of the axis, and none lies outside of it."""
    if isinstance(end, (int, np.integer)) and isinstance(size, int):
        return max(int(end) + size, 0) if end < 0 else min(int(end), size)
    end = converted(lazy(trace, end), np.dtype(np.int64))
    return np.clip(np.where(end < 0, end + size, end), 0, size)


def has_dots(index):
    return index is Ellipsis or (isinstance(index, tuple) and any(item is Ellipsis for item in index))


def has_axis(item):
    """Whether an item of an index leaves an axis: a range or None."""
    return item is None or isinstance(item, slice)


def rank(array, index):
    """The number of axes of a region."""
    items = index if isinstance(index, tuple) else (index,)
    integers = sum(not (item is Ellipsis or has_axis(item)) for item in items)
    return array.ndim - integers + sum(item is None for item in items)


def cast(array, value):
    """A value in the dtype of the array to which it is assigned, as NumPy casts it."""
    dtype = array.dtype
    if is_weak(value) and dtype.kind in "iu" and dtype != np.int64:
        check_fits(value, dtype)
    if isinstance(value, Value):
        return value if value.dtype == dtype and not getattr(value, "_is_size", False) else converted(value, dtype)
    if isinstance(value, (list, tuple)) and has_lazy(value):
        return cast(array, stacked(array._trace, value))
    given = np.asarray(value)
    if isinstance(value, (list, tuple)) and given.dtype == object:
        raise ShapeError("lists of different lengths cannot be assigned")
    # NumPy itself says what is assigned, and which integers do not fit.
    made = np.empty(given.shape, dtype)
    made[...] = value
    return made.item() if made.ndim == 0 else made


def converted(value, dtype):
    return value._trace.call("astype", (value, dtype), {})


def without_leading(value, rank):
    """A value without the leading axes of size 1 that its region does not have."""
    while np.ndim(value) > max(rank, 0):
        size = value.shape[0]
        if not isinstance(size, int) or size != 1:
            raise ShapeError(f"the value has {np.ndim(value)} axes, and the elements that it is assigned to have {rank}")
        value = value[0]
    return value


def has_lazy(value):
    """Whether there is a lazy array somewhere in lists."""
    if isinstance(value, (list, tuple)):
        return any(has_lazy(item) for item in value)
    return isinstance(value, Value)


def stacked(trace, value):
    """Lists of lazy arrays and numbers as an array."""
    if not isinstance(value, (list, tuple)):
        if isinstance(value, Value):
            return converted(value, np.dtype(np.int64)) if getattr(value, "_is_size", False) else value
        return value
    items = [stacked(trace, item) for item in value]
    dtype = np.result_type(*(item.dtype if isinstance(item, Value) else np.asarray(item) for item in items))
    arrays = [converted(lazy(trace, item), dtype) for item in items]
    return trace.call("stack", (tuple(arrays),), {})


def positions(trace, index):
    """An index with lists as arrays, and known masks as the positions that they choose."""
    items = []
    for item in index if isinstance(index, tuple) else (index,):
        if isinstance(item, (list, tuple)) and has_lazy(item):
            item = stacked(trace, item)
        elif is_known(item):
            item = np.asarray(item)
            if item.dtype == bool and item.ndim:
                items.extend(item.nonzero())
                continue
            item = item if item.size else item.astype(np.intp)
        items.append(item)
    return tuple(items)


def with_lists(trace, index):
    """An index in which lists of masks, or with lazy items, are arrays."""
    if isinstance(index, tuple):
        return tuple(with_lists(trace, item) if isinstance(item, list) else item for item in index)
    if isinstance(index, str) or isinstance(index, list) and any(isinstance(item, str) for item in index):
        raise TracingError(
            f"`x[{index!r}]` asks for columns by name, and tables are computed as NumPy's arrays: pass the columns as arguments, "
            "`table[name].to_numpy()`, or a dict of them, or write `bl.eval(text, table)`"
        )
    if not isinstance(index, list):
        return index
    if has_lazy(index):
        return stacked(trace, index)
    made = np.asarray(index)
    return made if made.dtype == bool else index if made.size else made.astype(np.intp)


def is_known(item):
    return isinstance(item, (list, range, np.ndarray))


def is_mask(index):
    if isinstance(index, np.ndarray) and index.dtype == bool and index.ndim:
        return True
    return isinstance(index, Value) and not getattr(index, "_is_size", False) and index.dtype == bool


def is_array(item):
    return isinstance(item, (Value, np.ndarray, list))


def write_mask(array, mask, value):
    mask = lazy(array._trace, mask)
    return at(array, array._items(mask), value)
