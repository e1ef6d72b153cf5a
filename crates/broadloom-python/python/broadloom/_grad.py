"""Derivatives of functions: as in JAX, but that they are compiled. docs/derivatives.md has the rules."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ._broadloom import Function, Value
from ._derived import Evaluation, Gradient, Pullback, Pushforward, derived, trace_of
from ._errors import ArgumentError, DTypeError
from ._structure import mapped

_P = ParamSpec("_P")
_R = TypeVar("_R")


def grad(function: Callable[_P, Any], /, argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function[_P, Any]:
    """Return the function of the derivatives of a loss by an argument, or by several, which `argnums` counts from 0.

    The derivatives have the structure of the argument: an array, a float, or tuples, lists, dicts, named tuples and dataclasses
    of them; several numbers give a tuple. The function returns a number without axes, or with ``has_aux=True`` a pair of it and
    of what is returned beside the derivatives.

    The result is compiled as by `bl.jit`, and can be traced and derived again. It leaves the arguments as they are: what the
    function changes in place is a copy.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> def loss(w, x, y):
    ...     return ((x @ w - y) ** 2).mean()
    >>> bl.grad(loss)(np.array([1.0, 2.0]), np.eye(2), np.array([0.0, 0.0]))
    array([1., 2.])

    Raises
    ------
    DTypeError, ShapeError
        If the function has no derivatives by the argument, or the loss has axes.
    """
    return _gradient(function, argnums, has_aux, False)


def value_and_grad(
    function: Callable[_P, _R], /, argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Function[_P, tuple[_R, Any]]:
    """Return the function of a loss and its derivatives, which `bl.grad` describes, as a pair.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.value_and_grad(lambda x: (x * x).sum())(np.array([1.0, 3.0]))
    (np.float64(10.0), array([2., 6.]))
    """
    return _gradient(function, argnums, has_aux, True)


def vjp(function: Callable[..., Any], /, *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """Return what a function returns for arguments, and the pullback: the function that takes weights of what it returned, and
    returns the derivatives of their products by each argument. None is no weight.

    The pullback computes the value again where it needs it.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> value, pullback = bl.vjp(np.sin, np.array([0.0, 1.0]))
    >>> pullback(np.array([1.0, 0.0]))
    (array([1., 0.]),)
    """
    _check_callable("vjp", function)
    options = (tuple(range(len(primals))),)
    rule = derived(Pullback, function, options)
    trace = trace_of(function, primals)
    if trace is not None:
        return Pullback(function, options).opened(trace, primals)
    Pullback(function, options).check(primals, None)
    # The pullback is of the arguments as they are now.
    primals = mapped(lambda leaf, path: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, primals)
    return derived(Evaluation, function, ())(*primals), lambda cotangent: rule(primals, cotangent)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], /) -> tuple[Any, Any]:
    """Return what a function returns for arguments, and its change along a direction, which has a tangent for each argument. None
    is no change.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.jvp(lambda x: x**2, (np.array([1.0, 3.0]),), (np.array([1.0, 0.5]),))
    (array([1., 9.]), array([2., 3.]))
    """
    _check_callable("jvp", function)
    _check_direction("jvp", function, primals, tangents)
    return derived(Pushforward, function, ("jvp", True))(primals, tangents)


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], /) -> Any:
    """Return the products of the Hessian matrix of a loss and a direction, which has a tangent for each argument: the change of
    the derivatives by each argument. No matrix is stored.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.hvp(lambda x: (x**3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    (array([6., 0.]),)
    """
    _check_callable("hvp", function)
    _check_direction("hvp", function, primals, tangents)
    slopes = derived(Gradient, function, (tuple(range(len(primals))), False, False))
    return derived(Pushforward, slopes, ("hvp", False))(primals, tangents)


def stop_gradient(x: _R, /) -> _R:
    """Return arrays, or containers of them, that are constants for derivatives.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.grad(lambda x: (bl.stop_gradient(x) * x).sum())(np.array([3.0]))
    array([3.])
    """

    def stopped(leaf, path):
        return leaf._trace.call("stop_gradient", (leaf,), {}) if isinstance(leaf, Value) else leaf

    return mapped(stopped, x)


def with_gradient(value: Any, surrogate: Any, /) -> Any:
    """Return a value with the derivatives of another one.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.grad(lambda x: (bl.with_gradient(np.round(x), x) * 2).sum())(np.array([1.7]))
    array([2.])
    """
    lazy = next((item for item in (value, surrogate) if isinstance(item, Value)), None)
    return value if lazy is None else lazy._trace.call("with_gradient", (value, surrogate), {})


def _gradient(function, argnums, has_aux, has_value):
    _check_callable("value_and_grad" if has_value else "grad", function)
    try:
        chosen = tuple(map(operator.index, argnums)) if isinstance(argnums, (tuple, list)) else operator.index(argnums)
    except TypeError:
        text = f"argnums is {argnums!r}: write the number of an argument, `argnums=0`, or several, `argnums=(0, 2)`"
        raise TypeError(text) from None
    if chosen == ():
        raise ValueError("argnums is empty: write the number of an argument, counted from 0")
    return derived(Gradient, function, (chosen, bool(has_aux), has_value))


def _check_callable(name, function):
    if not callable(function):
        raise TypeError(f"{name} takes a function, not {type(function).__name__}")


def _check_direction(name, function, primals, tangents):
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise DTypeError(f"`{name}` takes a tuple of arguments and one of their tangents: `bl.{name}(f, (x,), (dx,))`")
    if len(primals) != len(tangents):
        raise ArgumentError(
            f"`{name}` takes a tangent for each argument: there are {len(primals)} arguments, and {len(tangents)} tangents"
        )
    Pushforward(function, (name, False)).pairs(primals, tangents)
