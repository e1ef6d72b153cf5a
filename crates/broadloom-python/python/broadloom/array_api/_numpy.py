"""NumPy's functions on arrays of the namespace: noted as the namespace's own are, or computed by NumPy where no kernel can."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import ArgumentError, Error, ProgramError, TracingError
from . import _graph
from ._array import Array, copied, elements, made, wrap

# What needs no elements.
_OF_SHAPES: dict[Any, Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.result_type: lambda *given: np.result_type(*(item.dtype if isinstance(item, Array) else item for item in given)),
}
# What changes its first argument.
_CHANGES = (np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask)
# The most calls that are known: what is noted of another one is compiled again.
_CAPACITY = 4096


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where an array stands among arguments."""

    number: int


@dataclasses.dataclass(frozen=True)
class _List:
    """A list among arguments, which are hashable so."""

    items: tuple[Any, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class _Call:
    """A call of a function of NumPy's, whose arrays are those of a list. There is one for all calls that are alike."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]

    def __call__(self, values):
        args, kwargs = _filled(self.args, values), _filled(self.kwargs, values)
        return self.function(*args, **dict(kwargs))


_CALLS: dict[Any, _Call] = {}


def apply(function, args, kwargs):
    """Return the result of a function of NumPy's. Where tracing does not know it, NumPy computes it at once."""
    if function in _OF_SHAPES and not kwargs:
        return _OF_SHAPES[function](*args)
    _refuse_changes(function, args, kwargs)
    if function in _CHANGES:
        return function(*map(_read, args), **{name: _read(value) for name, value in kwargs.items()})
    args, kwargs, out = _without_out(function, args, kwargs)
    if out is not None:
        result = apply(function, args, kwargs)
        np.copyto(out, _read(result), casting="same_kind")
        return out
    arrays = []
    call = _Call(function, _placed(tuple(args), arrays), _placed(tuple(kwargs.items()), arrays))
    # NumPy's scalars may be sizes, which no kernel takes from data.
    has_scalars = _has_scalars((*args, *kwargs.values()))
    try:
        call = _known(call)
        return _noted(call, [array._node for array in arrays])
    except (TracingError, ProgramError, TypeError):
        pass
    except Error:
        if not has_scalars:
            raise
    return function(*map(_read, args), **{name: _read(value) for name, value in kwargs.items()})


def _has_scalars(item):
    return any(map(_has_scalars, item)) if type(item) in (tuple, list) else isinstance(item, np.generic)


def computed(function, args, kwargs):
    """Return the result of a function of NumPy's as arrays of the namespace, unless it is the array of `out=`."""
    result = apply(function, args, kwargs)
    is_given = any(result is given for given in (*args, *kwargs.values()))
    return result if is_given else wrapped(result)


def wrapped(result):
    """NumPy's arrays in a result as arrays of the namespace."""
    if isinstance(result, tuple):
        return type(result)(*map(wrapped, result)) if hasattr(result, "_fields") else tuple(map(wrapped, result))
    return wrap(result) if isinstance(result, (np.ndarray, np.generic, float, int)) else result


def _refuse_changes(function, args, kwargs):
    """Refuses what changes an array of the namespace: only assignments do."""
    name = getattr(function, "__name__", "")
    if args and isinstance(args[0], Array) and (function in _CHANGES or kwargs.get("copy") is False):
        raise ArgumentError(f"`np.{name}` does not change arrays of this namespace: write `x[i] = values`, or `x = ..`")


@functools.cache
def _position_of_out(function):
    """Where a function takes the array to write to, if it can be passed without its name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return None
    found = parameters.get("out")
    is_positional = found is not None and found.kind is found.POSITIONAL_OR_KEYWORD
    return list(parameters).index("out") if is_positional else None


def _without_out(function, args, kwargs):
    """The arguments without the array to write to, and that array."""
    position = _position_of_out(function)
    if kwargs.get("out") is not None:
        out = kwargs["out"]
    elif position is not None and len(args) > position and args[position] is not None:
        out, args = args[position], (*args[:position], None, *args[position + 1 :])
    else:
        return args, kwargs, None
    if isinstance(out, Array):
        raise ArgumentError("`out=` takes no array of this namespace: write `x = ..`")
    return args, {name: value for name, value in kwargs.items() if name != "out"}, out


def _read(item):
    """An argument with arrays of NumPy's, which cannot be written to, in place of those of the namespace."""
    if isinstance(item, Array):
        return np.asarray(item)
    return type(item)(map(_read, item)) if type(item) in (tuple, list) else item


def _known(call):
    """The call that stands for all like it. Numbers that are equal are not alike if one is an integer: they have other dtypes."""
    key = call.function, _typed(call.args), _typed(call.kwargs)
    hash(key)
    if len(_CALLS) >= _CAPACITY:
        _CALLS.clear()
    return _CALLS.setdefault(key, call)


def _typed(item):
    if type(item) is tuple:
        return tuple(map(_typed, item))
    if type(item) is _List:
        return _List, _typed(item.items)
    return type(item), repr(item) if isinstance(item, float) else item


def _noted(call, nodes):
    found = _graph.inferred(call, tuple((node.shape, node.dtype) for node in nodes), ())
    if found is None:
        raise TracingError("the result is not an array")
    if found in (tuple, list):
        return found(map(wrap, _graph.several(call, nodes)))
    return made(_graph.node(call, nodes))


def _placed(item, arrays):
    """Arguments with places for arrays, hashable if what they hold is."""
    if isinstance(item, (Array, np.ndarray, np.generic)):
        arrays.append(item if isinstance(item, Array) else copied(item))
        return _Place(len(arrays) - 1)
    if type(item) is tuple:
        return tuple(_placed(each, arrays) for each in item)
    return _List(_placed(tuple(item), arrays)) if type(item) is list else item


def _filled(item, values):
    if type(item) is _Place:
        return values[item.number]
    if type(item) is _List:
        return list(_filled(item.items, values))
    return tuple(_filled(each, values) for each in item) if type(item) is tuple else item


def apply_ufunc(ufunc, method, inputs, kwargs):
    """Return the result of a ufunc, or of one of its methods."""
    function = ufunc if method == "__call__" else getattr(ufunc, method)
    if method == "at" and isinstance(inputs[0], Array):
        raise ArgumentError(f"`np.{ufunc.__name__}.at` does not change arrays of this namespace: write `x[i] = values`")
    if any(isinstance(given, Array) for given in kwargs.get("out", ())):
        raise ArgumentError("`out=` takes no array of this namespace: write `x = ..`")
    if "out" in kwargs or method == "at":
        # NumPy writes into its own array.
        return function(*map(_read, inputs), **{name: _read(value) for name, value in kwargs.items()})
    return apply(function, inputs, kwargs)
