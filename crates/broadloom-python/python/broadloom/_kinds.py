"""Classes of lazy values as a function of NumPy arrays sees them: `isinstance`, `type` and `hasattr` of traced functions answer as they
would for the array, the scalar or the number that a value stands for."""

import builtins
import types

import numpy as np

from ._broadloom import Value
from ._change import Changing
from ._weak import is_weak


def kind_of(value):
    """The class of what a lazy value stands for."""
    if is_weak(value):
        return int
    if value._is_number:
        return float if value.dtype.kind == "f" else bool
    return value.dtype.type if is_scalar(value) else np.ndarray


def is_scalar(value):
    """Whether a lazy value stands for a scalar of NumPy's, which cannot change."""
    return not value.ndim and not value._can_change


def is_instance(instance, kinds, /):
    """`isinstance`"""
    if isinstance(kinds, _Type):
        kinds = builtins.type
    if not isinstance(instance, Value):
        return isinstance(instance, kinds)
    if isinstance(kinds, (tuple, types.UnionType)):
        return any(is_instance(instance, kind) for kind in (kinds if isinstance(kinds, tuple) else kinds.__args__))
    # The classes of this package are those of the value itself.
    return kinds in builtins.type(instance).__mro__[:-1] or issubclass(kind_of(instance), kinds)


def has_attribute(instance, name, /):
    """`hasattr`"""
    return hasattr(kind_of(instance) if isinstance(instance, Value) else instance, name)


class _Type:
    """`type`"""

    def __init__(self, arrays):
        # The class that stands for `np.ndarray`.
        self._arrays = arrays

    def __call__(self, *args, **kwargs):
        if len(args) != 1 or kwargs or not isinstance(args[0], Value):
            return builtins.type(*args, **kwargs)
        kind = kind_of(args[0])
        return self._arrays if kind is np.ndarray else kind

    def __mro_entries__(self, bases):
        return (builtins.type,)

    def __getattr__(self, name):
        return getattr(builtins.type, name)


def names(arrays):
    """The functions of Python's that tell classes apart, for traced functions, where `arrays` stands for `np.ndarray`."""
    return {"isinstance": is_instance, "hasattr": has_attribute, "type": _Type(arrays), "print": _print}


def _print(*values, **kwargs):
    """`print`, which shows lazy values as `repr` does: they have no elements yet."""
    print(*(repr(value) if isinstance(value, Changing) else value for value in values), **kwargs)
