"""Loops of functions of steps: as in JAX, but that any number of steps is one kernel. docs/python.md has a section."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ._attempt import Attempt
from ._broadloom import Value
from ._counter import Counter, as_counter, check_carried, is_integer
from ._derived import Derived, derived, trace_of
from ._errors import DTypeError, ShapeError
from ._structure import leaves, mapped

_C = TypeVar("_C")


def fori_loop(lower: Any, upper: Any, body_fun: Callable[[Any, _C], _C], init_val: _C, /) -> _C:
    """Return what is left of a value after a step for each integer from `lower` to `upper` - 1: `val = body_fun(i, val)`.

    The value may be a container of arrays and numbers. A step keeps its structure, dtypes and shapes; a Python number takes the
    dtype of what follows it. The loop is compiled once, for any number of steps.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.fori_loop(0, 3, lambda i, x: x * 2 + i, np.array([1.0, 2.0]))
    array([12., 20.])

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the shape or the dtype of a value.
    """
    return _Counted((body_fun,))(lower, upper, init_val)


def while_loop(cond_fun: Callable[[_C], Any], body_fun: Callable[[_C], _C], init_val: _C, /) -> _C:
    """Return what is left of a value after steps, `val = body_fun(val)`, as long as `cond_fun(val)` holds before a step.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.while_loop(lambda x: x.sum() > 1, lambda x: x / 2, np.array([4.0, 8.0]))
    array([0.25, 0.5 ])

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the shape or the dtype of a value, or the condition is no truth value without axes.
    """
    return _Conditional((cond_fun, body_fun))(init_val)


def scan(
    f: Callable[[_C, Any], tuple[_C, Any]], init: _C, xs: Any = None, length: int | None = None, reverse: bool = False
) -> tuple[_C, Any]:
    """Take a step for each row of arrays: `carry, y = f(carry, x)`. Return what the last one carries, and all `y`, stacked.

    `xs` is an array or a container of arrays, whose rows are the elements of their leading axes; without one, `length` is the
    number of steps, and `x` is None. With ``reverse=True``, the last row comes first.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.scan(lambda total, x: (total + x, total + x), 0.0, np.array([1.0, 2.0, 3.0]))
    (np.float64(6.0), array([1., 3., 6.]))

    Raises
    ------
    ShapeError, DTypeError
        If a step changes the shape or the dtype of what is carried, or the arrays have different numbers of rows.
    """
    if xs is None and length is None:
        raise TypeError("scan takes arrays of rows, `xs`, or the number of steps, `length=10`")
    return _Scan((f,), (bool(reverse),))(init, xs, length)


class Loop(Derived):
    """A loop over functions of the user, which are read and traced."""

    def with_names(self, value):
        return self.of(tuple(map(value, self.function)))

    def __call__(self, *args):
        for function in self.function:
            if not callable(function):
                raise TypeError(f"{self.name} takes a function, not {type(function).__name__}")
        trace = next(filter(None, (trace_of(function, args) for function in self.function)), None)
        if trace is not None:
            return self.traced(trace, *args)
        return derived(type(self), self.function, self.options)(*self.passed(*args))

    def passed(self, *args):
        """The arguments as a kernel gets them."""
        return args


class _Counted(Loop):
    name = "fori_loop"

    def passed(self, lower, upper, init):
        # An integer would be part of the kernel: another number of steps compiles nothing. Where they begin is known, so that
        # ranges such as `x[i - 1:i + 1]` are known to lie within their arrays.
        return lower if isinstance(lower, int) else np.asarray(lower), np.asarray(upper), init

    def traced(self, trace, lower, upper, init):
        (body,) = self.function
        begins_at_0 = isinstance(lower, int) and lower == 0
        count = upper if begins_at_0 else upper - lower
        last = max(count - 1, 0) if isinstance(count, int) else None

        def step(counter, row, carried):
            return body(counter if begins_at_0 else counter + lower, carried), None

        return repeated(trace, f"`{self.name}`", init, step, count=count, bounds=(0, last))[0]


class _Conditional(Loop):
    name = "while_loop"

    def traced(self, trace, init):
        condition, body = self.function
        return repeated(trace, f"`{self.name}`", init, lambda counter, row, carried: (body(carried), None), condition=condition)[0]


class _Scan(Loop):
    name = "scan"

    def traced(self, trace, init, xs, length):
        (function,) = self.function
        (is_reversed,) = self.options

        def step(counter, row, carried):
            result = function(carried, row)
            if not isinstance(result, tuple) or len(result) != 2:
                raise DTypeError("the function of `scan` returns a pair: write `return carry, y`, where `y` may be None")
            return result

        if is_reversed:
            xs = mapped(lambda leaf, path: None if leaf is None else leaf[::-1], xs)
        held = [leaf for _, leaf in leaves(xs) if leaf is not None]
        last, stacked = repeated(trace, f"`{self.name}`", init, step, rows=xs, count=None if held else length)
        if is_reversed:
            stacked = mapped(lambda leaf, path: None if leaf is None else leaf[::-1], stacked)
        return last, stacked


def repeated(trace, call, init, step, rows=None, count=None, condition=None, kept=(), bounds=(None, None), shown=None, opened=None):
    """What a loop carries after its last step, and the values of all steps, stacked.

    `step` gets the counter, a row and what is carried, and returns what it carries on, and a value to be stacked or None. `kept` are
    the identities of arrays that change in place while steps are traced, `bounds` those of the counter, where they are known, and
    `shown` writes the path of a carried value as messages do, and `opened` gets each attempt.
    """
    shown = shown or (lambda path: "value" + path)
    held = [(path, leaf) for path, leaf in leaves(init) if leaf is not None]
    arrays = [leaf for _, leaf in leaves(rows) if leaf is not None]
    dtypes = [None] * len(held)
    around = trace.loops
    while True:
        try:
            with Attempt(kept, call) as attempt:
                if opened is not None:
                    opened(attempt)
                counter, of_rows, values = trace.begin_loop(count, arrays, [leaf for _, leaf in held], dtypes)
                values = [
                    as_counter(value) if is_integer(leaf) and value._is_number else value
                    for (_, leaf), value in zip(held, values, strict=True)
                ]
                carried = _refilled(init, values)
                if condition is not None:
                    trace.condition(_truth(call, condition(carried)))
                    # What the condition did to its argument is no step.
                    carried = _refilled(init, values)
                counter = counter if counter is None else Counter.of(counter, *bounds)
                following, value = step(counter, _refilled(rows, of_rows), carried)
                attempt.check()
                after = _following(call, following, init, values, shown)
                stacked = [leaf for _, leaf in leaves(value) if leaf is not None]
                steps = arrays[0].shape[0] if arrays else count
                for (_, leaf), begin, end in zip(held, values, after, strict=True):
                    if isinstance(begin, Counter) and is_integer(leaf):
                        check_carried(begin, leaf, end, steps)
            ended = trace.end_loop(after, stacked)
        except BaseException:
            trace.abandon_loops(around)
            raise
        if isinstance(ended, tuple):
            return _refilled(init, ended[: len(held)]), _refilled(value, ended[len(held) :])
        # Numbers take the dtypes of what follows them.
        dtypes = [old if new is None else _dtype(new) for new, old in zip(ended, dtypes, strict=True)]


def _dtype(name):
    """The dtype that programs call `f32`. In NumPy, `i8` has eight bytes."""
    if name == "bool":
        return np.dtype(bool)
    if name == "bf16":
        return np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    return np.dtype(f"{name[0]}{int(name[1:]) // 8}")


def _following(call, following, init, values, shown):
    """The values after a step, beside those before it."""
    before = [path for path, leaf in leaves(init) if leaf is not None]
    after = [(path, leaf) for path, leaf in leaves(following) if leaf is not None]
    if before != [path for path, _ in after]:
        listed = [", ".join(f"`{shown(path)}`" for path in paths) or "nothing" for paths in (before, [path for path, _ in after])]
        raise DTypeError(f"a step of {call} keeps the structure of its value: that has {listed[0]}, and the step gives {listed[1]}")
    for (path, leaf), value in zip(after, values, strict=True):
        place = shown(path)
        if not isinstance(leaf, (Value, np.ndarray, np.generic, int, float)):
            raise DTypeError(f"a step of {call} gives `{place}` an object of the class {type(leaf).__name__}: arrays and numbers go on")
        if not isinstance(value, Value):
            continue
        if getattr(leaf, "ndim", 0) != value.ndim:
            raise ShapeError(
                f"a step of {call} keeps the shape of `{place}`: it has {value.ndim} axes before a step, and "
                f"{getattr(leaf, 'ndim', 0)} after it; begin with an array of the shape that it gets, such as `np.zeros(shape)`"
            )
        dtype = getattr(leaf, "dtype", value.dtype)
        sizes = _sizes(value), _sizes(leaf)
        if not value._is_number and None not in sizes and sizes[0] != sizes[1]:
            raise ShapeError(f"a step of {call} keeps the shape of `{place}`: it is {value._type} before a step, and {leaf._type} after it")
        if not value._is_number and dtype != value.dtype:
            raise DTypeError(
                f"a step of {call} keeps the dtype of `{place}`: it is {value.dtype} before a step, and {dtype} after it; begin with "
                f"`{place}.astype(np.{dtype})`, or end the step with `.astype(np.{value.dtype})`"
            )
    return [leaf for _, leaf in after]


def _sizes(value):
    """The sizes of an array, if all are known."""
    sizes = getattr(value, "shape", ())
    return sizes if isinstance(value, Value) and all(isinstance(size, int) for size in sizes) else None


def _truth(call, condition):
    if getattr(condition, "ndim", 0) or not (isinstance(condition, (bool, np.bool_)) or getattr(condition, "dtype", None) == bool):
        raise DTypeError(f"the condition of {call} is one truth value: write `(x > 1).any()` or `x.max() > 1`")
    return condition


def _refilled(structure, values):
    """The same containers with other values; None stays."""
    values = iter(values)
    return mapped(lambda leaf, path: None if leaf is None else next(values), structure)
