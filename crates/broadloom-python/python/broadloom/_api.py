"""The functions that most code calls."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar, overload

import numpy as np

from ._broadloom import BroadcastFigures, Function, Kernel, Program, Trace, Value
from ._errors import ArgumentError
from ._lazy import Array

_P = ParamSpec("_P")
_R = TypeVar("_R")


@functools.lru_cache(maxsize=256)
def _program(text, threads=None):
    return Program(text, threads=threads)


def eval(
    text: str, arrays: Any = None, /, *, out: Any = None, threads: int | None = None, **named: Any
) -> Any:
    """Compute a program in the text language on arrays by name.

    Names are looked up in ``named``, then in ``arrays``, a mapping such as ``locals()`` or a DataFrame, and nowhere else. Kernels are
    kept, so that the same text on arrays of other sizes compiles nothing. Several outputs are returned as a dict. Results with the rows of a
    DataFrame or Series of pandas have its index.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.eval("x.sum(axis=1) / n", x=np.ones((2, 3), np.float32), n=2.0)
    array([1.5, 1.5], dtype=float32)

    Raises
    ------
    ProgramError, ShapeError, DTypeError
        If the text is not a program, or does not fit the arrays.
    """
    try:
        return _program(text, threads)(arrays, out=out, **named)
    except ArgumentError as error:
        raise _of_quotes(text, error) from None


def _of_quotes(text, error):
    """The error of a program that reads a name in double quotes, which Python has for texts too."""
    for name in re.findall(r'"([^"]*)"', text):
        if str(error).startswith(f"the program reads `{name}`, "):
            return ArgumentError(f"{error}; double quotes are those of names: write a text in single quotes, `'{name}'`")
    return error


def input(name: str, type: str, /) -> Array:
    """Declare an array that is passed later, and return a lazy array.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> x = bl.input("x", "f32[n, 3]")
    >>> y = np.sqrt((x * x).sum(axis=1))
    >>> y
    Array(f32[n])
    >>> kernel = bl.compile(y)
    >>> kernel(np.array([[3, 4, 0]], np.float32))
    array([5.], dtype=float32)
    """
    return Trace.open(name, type)


def compile(*results: Any, threads: int | None = None) -> Kernel:
    """Compile lazy arrays that depend on declared inputs, or containers of them, to a kernel.

    The kernel takes arrays by position, in the order in which the inputs were first used together, or by name.

    >>> import broadloom as bl
    >>> x, y = bl.input("x", "f64[n]"), bl.input("y", "f64[n]")
    >>> bl.compile({"sum": x + y, "product": x * y})
    Kernel(x: f64[n], y: f64[n] -> out0: f64[n], out1: f64[n])
    """
    wanted = results[0] if len(results) == 1 else results
    stack = [wanted]
    while stack:
        item = stack.pop()
        if isinstance(item, Value):
            return item._trace.compile(wanted, threads)
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
    raise TypeError("compile takes lazy arrays, which `bl.input` declares, or containers of them")


def broadcast_figures(text: str, /, **inputs: Any) -> BroadcastFigures:
    """Draw how the operations of a program in the text language broadcast their operands.

    Inputs are types, as for ``input``, or arrays. Shapes that do not fit are drawn too, with what would help. A notebook
    shows the figures, and ``svg`` returns them as one file.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> bl.broadcast_figures("a[:, None] + b", a="f64[4]", b=np.ones(3))
    <1 figure of broadcasting>
    >>> try:
    ...     bl.eval("table - offsets", table=np.ones((4, 3)), offsets=np.ones(4))
    ... except bl.ShapeError as error:
    ...     print(error.figures)
    <1 figure of broadcasting>

    Raises
    ------
    ProgramError, ShapeError, DTypeError
        If the text is not a program, or has mistakes other than shapes that do not broadcast.
    ArgumentError
        If no operation of the program broadcasts its operands.
    """
    return BroadcastFigures.of_program(text, [(name, _type(given)) for name, given in inputs.items()])


def _type(given):
    """The type of an input, from which arrays need nothing but their dtype and shape."""
    if isinstance(given, str):
        return given
    if isinstance(given, Value):
        return given._type
    if not (hasattr(given, "dtype") and hasattr(given, "shape")):
        given = np.asarray(given)
    sizes = ", ".join(map(str, given.shape))
    return f"{given.dtype}[{sizes}]"


@overload
def jit(
    function: Callable[_P, _R], /, *, static: str | Iterable[str] = (), threads: int | None = None, fallback: bool = False
) -> Function[_P, _R]: ...
@overload
def jit(
    function: None = None, /, *, static: str | Iterable[str] = (), threads: int | None = None, fallback: bool = False
) -> Callable[[Callable[_P, _R]], Function[_P, _R]]: ...
def jit(function=None, /, *, static=(), threads=None, fallback=False):
    """Compile a function of arrays, once for each structure of its arguments.

    The function is called with lazy arrays, which NumPy's functions, operators, methods and indices accept, and what it
    did is compiled. New sizes need no new kernel. Floats are passed to the kernel; integers, texts, None and the arguments
    named in ``static`` become part of it. Arguments may be tuples, lists and dicts of arrays, and so may results.

    Arguments that the function changes, by ``x[1:-1] = v`` or ``x += y``, hold the new elements when the call ends. With
    ``fallback=True``, what cannot be compiled runs in NumPy, and a ``FallbackWarning`` says once why.

    Beside its own arguments, the compiled function takes ``out``: arrays for the results.

    >>> import numpy as np
    >>> import broadloom as bl
    >>> @bl.jit
    ... def softmax(x):
    ...     e = np.exp(x - x.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True)
    >>> softmax(np.zeros((1, 4)))
    array([[0.25, 0.25, 0.25, 0.25]])

    Raises
    ------
    TracingError
        If the function asks for values of arrays, as ``if x > 0`` does: write ``np.where``.
    """
    if function is None:
        return functools.partial(jit, static=static, threads=threads, fallback=fallback)
    if not callable(function):
        raise TypeError(f"jit takes a function, not {type(function).__name__}")
    if isinstance(function, Function):
        if not static and threads is None and not fallback:
            return function
        own_static, own_threads, own_fallback = function._options
        static = [*own_static, *([static] if isinstance(static, str) else static)]
        threads, fallback = own_threads if threads is None else threads, fallback or own_fallback
        function = function.__wrapped__
    if fallback and not getattr(function, "runs_in_numpy", True):
        raise ValueError("a derivative does not run in NumPy, which has none: leave out `fallback=True`")
    wanted = []
    for name in [static] if isinstance(static, str) else static:
        if not isinstance(name, str):
            raise TypeError(f"static takes names of parameters, not {type(name).__name__}: write `static=\"name\"`")
        wanted.append(name)
    names = _parameters(function)
    unknown = [name for name in wanted if names[1] and name not in names[1]]
    if unknown:
        raise ValueError(f"the function has no parameter {unknown[0]!r}; it has {', '.join(names[1])}")
    compiled = Function(function, names[0], wanted, threads, fallback)
    functools.update_wrapper(compiled, function)
    return compiled


def _reduce(compiled, function, static, threads, fallback):
    """The pickled form of a compiled function."""
    module, name = compiled.__module__, compiled.__qualname__
    found = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    # Workers of another process have another `__main__`: cloudpickle sends what is in it along, and pickle does not.
    if found is compiled and not (module == "__main__" and _is_sent()):
        return name
    return _restore, (function, static, threads, fallback)


def _restore(function, static, threads, fallback):
    return jit(function, static=static, threads=threads, fallback=fallback)


def _is_sent():
    """Whether cloudpickle is pickling, or another package that sends functions by their code."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "").rpartition(".")[2].startswith(("cloudpickle", "_dill")):
            return True
        frame = frame.f_back
    return False


def _parameters(function):
    """The names of the positional parameters, and of all."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [], []
    positional = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return positional, []
    return positional, [p.name for p in parameters]
