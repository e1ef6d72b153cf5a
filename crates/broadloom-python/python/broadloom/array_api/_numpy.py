"""NumPy's functions on arrays of the namespace: noted as the namespace's own are, or computed by NumPy where no kernel can."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._errors import ArgumentError, ProgramError, TracingError
from .._lazy import Array as Lazy
from . import _graph
from ._array import Array, copied, elements, made, wrap

# What needs no elements.
_OF_SHAPES: dict[Any, Callable[..., Any]] = {
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.result_type: lambda *given: np.result_type(*(item.dtype if isinstance(item, Array) else item for item in given)),
}


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where an array stands among arguments."""

    number: int


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call of a function of NumPy's, whose arrays are those of a list."""

    function: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]

    def __call__(self, values):
        args, kwargs = _filled(self.args, values), _filled(self.kwargs, values)
        return self.function(*args, **dict(kwargs))


def apply(function, args, kwargs):
    """Return the result of a function of NumPy's. Where tracing does not know it, NumPy computes it at once."""
    if function in _OF_SHAPES and not kwargs:
        return _OF_SHAPES[function](*args)
    arrays = []
    call = _Call(function, _placed(tuple(args), arrays), _placed(tuple(kwargs.items()), arrays))
    try:
        hash(call)
        return _noted(call, [array._node for array in arrays])
    except (TracingError, ProgramError, TypeError):
        return call([elements(array) for array in arrays])


def wrapped(result):
    """NumPy's arrays in a result as arrays of the namespace."""
    if isinstance(result, tuple):
        return type(result)(*map(wrapped, result)) if hasattr(result, "_fields") else tuple(map(wrapped, result))
    return wrap(result) if isinstance(result, (np.ndarray, np.generic, float, int)) else result


def _noted(call, nodes):
    kind = _kind(call, tuple((node.shape, node.dtype) for node in nodes))
    if kind is None:
        raise TracingError("the result is not an array")
    if kind is Lazy:
        return made(_graph.node(call, nodes))
    return kind(map(wrap, _graph.several(call, nodes)))


@functools.lru_cache(maxsize=4096)
def _kind(call, types):
    """What a call returns: a lazy array, a tuple or a list of them, or something else, `None`."""
    result = call([_graph.declared(number, *kind) for number, kind in enumerate(types, start=1)])
    if isinstance(result, Lazy):
        return Lazy
    is_several = type(result) in (tuple, list) and all(isinstance(item, Lazy) for item in result)
    return type(result) if is_several else None


def _placed(item, arrays):
    """Arguments with places for arrays, hashable if what they hold is."""
    if isinstance(item, (Array, np.ndarray, np.generic)):
        arrays.append(item if isinstance(item, Array) else copied(item))
        return _Place(len(arrays) - 1)
    if type(item) in (tuple, list):
        return tuple(_placed(each, arrays) for each in item)
    return item


def _filled(item, values):
    if isinstance(item, _Place):
        return values[item.number]
    return tuple(_filled(each, values) for each in item) if type(item) is tuple else item


def apply_ufunc(ufunc, method, inputs, kwargs):
    """Return the result of a ufunc, or of one of its methods."""
    if any(isinstance(given, Array) for given in kwargs.get("out", ())):
        raise ArgumentError("`out=` takes no array of this namespace: write `x = ..`")
    if "out" in kwargs:
        return NotImplemented
    return apply(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)
