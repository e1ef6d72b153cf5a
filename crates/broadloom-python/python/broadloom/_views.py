"""Views that NumPy's functions return: what makes them of their arrays, and what writes them back."""

import inspect
import itertools

import numpy as np

from ._broadloom import Value
from ._change import Changing
from ._errors import TracingError


def _arranged(function):
    """A function that only permutes, reverses, adds or removes axes: what it does is read from what NumPy's does."""

    def view(array, made, args, kwargs):
        sizes = iter(range(2, 2 + array.ndim))
        shape = [1 if _is_one(size) else next(sizes) for size in array.shape]
        model = np.empty(shape, np.uint8)
        result = function(model, *args[1:], **kwargs)
        own = [axis for axis, size in enumerate(shape) if size > 1]
        of_step = {abs(model.strides[axis]): axis for axis in own}
        order, signs, added = [], {}, []
        for size, step in zip(result.shape, result.strides):
            added.append(size == 1)
            if size > 1:
                axis = of_step[abs(step)]
                order.append(axis)
                signs[axis] = step < 0
        items = ", ".join("0" if size == 1 else "::-1" if signs[axis] else ":" for axis, size in enumerate(shape)) or "..."
        inverse = ", ".join(str(order.index(axis)) for axis in own)
        forward = ", ".join(str(own.index(axis)) for axis in order)
        inner, back = f"{{old}}[{items}]", "{new}"
        if any(added):
            back = f"{back}[{', '.join('0' if one else ':' for one in added)}]"
        if order != own:
            inner, back = f"permute_dims({inner}, {forward})", f"permute_dims({back}, {inverse})"
        if any(added):
            inner = f"{inner}[{', '.join('None' if one else ':' for one in added)}]"
        made._view_of(array, inner, f"{{old}}.at[{items}].set({back})")
        made._let_change()
        return made

    return view


def _is_one(size):
    return isinstance(size, int) and size == 1


def opaque(array, made):
    """Marks a result that may be a view of an array, which depends on its layout."""
    if isinstance(made, Changing):
        if made is not array and isinstance(array, Changing):
            made._view_of(array, "", "")
    elif isinstance(made, (tuple, list)):
        for item in made:
            opaque(array, item)
    return made


def reshaped(array, made, order="C"):
    """Makes a result with other axes a view of an array that is made in row-major order, where all sizes can be written."""
    sizes = [[_written(size) for size in item.shape] for item in (made, array)] if isinstance(array, Changing) else []
    if made is array or not sizes or not array._is_whole or order not in ("C", None) or None in sizes[0] + sizes[1]:
        return opaque(array, made)
    made._view_of(array, _shaped("{old}", sizes[0]), _shaped("{new}", sizes[1]))
    made._let_change()
    made._is_whole = True
    return made


def _shaped(text, sizes):
    """The elements in another shape. The only element of an array without axes is that of an array with one."""
    return f"reshape({text}, {', '.join(sizes)})" if sizes else f"reshape({text}, 1)[0]"


def _written(size):
    """A size as it stands in programs; `None` for one that the data decide."""
    if isinstance(size, Value):
        return None if size._is_decided else size._name()
    return str(size)


def _split(array, made, axis):
    """Makes the parts of an array views of it, where their sizes are known."""
    sizes = [part.shape[axis] for part in made]
    if not all(isinstance(size, int) for size in (*sizes, array.shape[axis])) or sum(sizes) != array.shape[axis]:
        return list(opaque(array, made))
    ends = list(itertools.accumulate(sizes))
    before = (slice(None),) * (axis % array.ndim)
    return [array[(*before, slice(end - size, end))] for size, end in zip(sizes, ends)]


def arranged(function, array, made, *args, **kwargs):
    """Makes a result a view of the array from which NumPy's function makes it."""
    if made is array or not isinstance(made, Changing):
        return made
    return _arranged(function)(array, made, (array, *args), kwargs)


_ARRANGING = {
    np.transpose, np.permute_dims, np.swapaxes, np.moveaxis, np.rollaxis, np.matrix_transpose, np.flip, np.fliplr, np.flipud,
    np.rot90, np.squeeze, np.expand_dims, np.linalg.matrix_transpose,
}  # fmt: skip
_EACH = {np.atleast_1d, np.atleast_2d, np.atleast_3d}


def _axis_given(array, axis=0):
    return axis


_AXES_OF_SPLIT: dict = {
    np.split: _axis_given, np.array_split: _axis_given, np.vsplit: lambda array: 0,
    np.hsplit: lambda array: min(array.ndim - 1, 1), np.dsplit: lambda array: 2,
}  # fmt: skip
_OPAQUE = {
    np.ravel, np.unstack, np.diagonal, np.linalg.diagonal,
    np.broadcast_to, np.lib.stride_tricks.sliding_window_view, np.real, np.diag,
}  # fmt: skip


def _check_squeeze(array):
    """Refuses sizes such as `n - 2`, which may be 1. Sizes of arguments are not 1, unless this is part of the kernel."""
    if any(isinstance(size, Value) and not size._type.isidentifier() for size in array.shape):
        raise TracingError(
            f"whether {array._type} has axes of size 1 is not known for all sizes: write `x.squeeze(axis=..)`"
        )


def as_view(function, args, kwargs, made):
    """Makes the result of a function of NumPy's a view of its argument, if NumPy returns one."""
    if not args and kwargs and function in _ARRANGING | _EACH | _OPAQUE | _AXES_OF_SPLIT.keys():
        first = next(iter(inspect.signature(function).parameters))
        args, kwargs = (kwargs[first],), {name: value for name, value in kwargs.items() if name != first}
    array = args[0] if args else None
    if function is np.einsum and len(args) == 2:
        # `np.einsum("ii->i", x)` is a view.
        return opaque(args[1], made)
    if not isinstance(array, Changing):
        return made
    if function in _ARRANGING:
        if function is np.squeeze and len(args) == 1 and kwargs.get("axis") is None:
            _check_squeeze(array)
        return arranged(function, array, made, *args[1:], **kwargs)
    if function in _EACH and len(args) == 1:
        return arranged(function, array, made)
    if function in _AXES_OF_SPLIT:
        rest = dict(kwargs)
        rest.pop("indices_or_sections", None)
        return _split(array, made, _AXES_OF_SPLIT[function](array, *args[2:], **rest))
    if function is np.ravel:
        return reshaped(array, made, *args[1:], **kwargs)
    if function is np.where and len(args) == 3 and made.ndim == 0:
        made._let_change()
    return opaque(array, made) if function in _OPAQUE else made
