"""NumPy's functions on lazy arrays: which function is called, and what each of its arguments means."""

import functools
import inspect
import sys

import numpy as np

from ._absent import reason, reduction
from ._broadloom import Value
from ._change import ufunc_at, write_out
from ._errors import DTypeError, ProgramError, TracingError
from ._pieces import FUNCTIONS
from ._refuse import explained, linalg
from ._selected import SELECTED
from ._special import SPECIAL, check_device, check_order, flag, number, plain, trace_of, written
from ._weak import is_weak, operands

# By identity: a ufunc of another library may have the name of one of NumPy's, and compute something else.
_UFUNCS = frozenset(value for value in vars(np).values() if isinstance(value, np.ufunc))


class _Asked:
    """Returns the ufunc that a method of an array of NumPy's calls."""

    def __array_ufunc__(self, ufunc, *args, **kwargs):
        return ufunc


# The method `clip` calls one that has no name in NumPy's namespace.
_CLIP = np.zeros(1).clip(_Asked(), _Asked())  # type: ignore[call-overload]
_SCIPY = frozenset({"cbrt", "erf", "erfc", "exp2", "expit", "expm1", "log1p"})
_FUNCTIONS = frozenset(
    id(value) for space in (np, np.lib.stride_tricks) for value in vars(space).values() if callable(value)
)

_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "matmul": "@", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}


def apply_ufunc(ufunc, method, inputs, kwargs):
    """Records a call of a ufunc, or of one of its methods."""
    name = ufunc.__name__
    if ufunc is _CLIP and method == "__call__":
        return np.clip(*inputs, **kwargs)
    if not _is_known(ufunc):
        raise ProgramError(
            f"the ufunc `{name}` is not one of NumPy's, and cannot be traced: write it with NumPy's functions, "
            "or call it outside of the traced function and pass the result"
        )
    if method == "at":
        ufunc_at(ufunc, *inputs)
        return None
    if method not in ("__call__", "reduce", "accumulate", "outer"):
        raise ProgramError(f"`np.{name}.{method}` is not supported: write it with `np.{name}`")
    if method != "reduce" and kwargs.pop("where", True) is not True:
        raise TracingError("`where=` of a ufunc leaves elements unset: write `np.where(condition, result, other)`, or pass `out=`")
    kwargs.pop("subok", None)
    check_order(f"np.{name}", kwargs.pop("order", None))
    kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
    trace = trace_of((inputs, kwargs))
    if method in ("reduce", "accumulate"):
        if kwargs.get("dtype") is not None:
            kwargs["dtype"] = np.dtype(kwargs["dtype"])
        with explained((inputs, kwargs)):
            return _reduced(trace, name, method, inputs, {key: _argument(ufunc, key, value) for key, value in kwargs.items()})
    made = _BY_OTHERS[ufunc](*inputs, **kwargs) if ufunc in _BY_OTHERS else NotImplemented
    if made is not NotImplemented:
        return made
    if method == "outer":
        inputs = _outer(trace, *inputs)
    inputs, results = _converted(ufunc, inputs, kwargs)
    inputs = operands(name, inputs)
    if name in _OPERATORS and not kwargs:
        made = trace.infix(_OPERATORS[name], *inputs)
    else:
        made = trace.call(name, inputs, {key: _argument(ufunc, key, value) for key, value in kwargs.items()})
    _check_results(name, made, results)
    return made


def _numeric(operand):
    """Flags as the integers with which NumPy computes where it has no rule for flags."""
    return operand.astype(np.int8) if operand.dtype == bool else operand


def _conjugate(x, /, **kwargs):
    return np.positive(_numeric(x), **kwargs)


def _reciprocal(x, /, **kwargs):
    """The reciprocal of integers is cut to an integer: only those of 1 and -1 are not 0."""
    (x,), _ = _converted(np.reciprocal, (x,), kwargs)
    if x.dtype.kind == "f":
        return NotImplemented
    x = _numeric(x)
    return np.multiply(x, (x == 1) | (x == -1), **kwargs)


# Ufuncs that are written with other ones, for some dtypes or for all.
_BY_OTHERS = {np.conjugate: _conjugate, np.reciprocal: _reciprocal}


def _reduced(trace, name, method, inputs, kwargs):
    try:
        return trace.call(f"{name}.{method}", inputs, kwargs)
    except ProgramError as error:
        if "unknown" not in str(error):
            raise
        text = f"`np.{name}.{method}` is not supported while a function is traced: {reduction(name, method)}"
        raise ProgramError(text) from None


def _is_known(ufunc):
    if ufunc in _UFUNCS:
        return True
    special = sys.modules.get("scipy.special")
    return ufunc.__name__ in _SCIPY and getattr(special, ufunc.__name__, None) is ufunc


def _outer(trace, left, right):
    """The operands of `ufunc.outer`, the first with an axis more for each of the second."""
    left, right = (x if isinstance(x, Value) else np.asarray(x) for x in (left, right))
    if not isinstance(left, Value):
        return left[(...,) + (None,) * np.ndim(right)], right
    return trace.index(left, (...,) + (None,) * np.ndim(right)), right


def _converted(ufunc, inputs, kwargs):
    """The operands in the dtypes in which NumPy computes for `dtype=`, `signature=` and `casting=`, and the dtypes of the
    results. NumPy itself says which these are. Takes the keywords from `kwargs`."""
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    signature = kwargs.pop("signature", kwargs.pop("sig", None))
    if dtype is None and signature is None and casting in ("same_kind", "unsafe"):
        return inputs, None
    if dtype is not None:
        signature = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    given = [
        int if is_weak(x) else type(x) if type(x) in (int, float) else np.asarray(x).dtype if _is_plain(x) else x.dtype for x in inputs
    ]
    chosen = {} if signature is None else {"signature": signature}
    try:
        found = ufunc.resolve_dtypes((*given, *[None] * ufunc.nout), casting=casting, **chosen)
    except TypeError as error:
        wanted = f" in {np.dtype(dtype)}" if dtype is not None else ""
        raise DTypeError(
            f"`np.{ufunc.__name__}` does not compute{wanted} from these operands: {error}; "
            "convert the operands or the result: `.astype(..)`"
        ) from None
    converted = [
        x if kind is int or kind is float else (np.asarray(x) if _is_plain(x) else x).astype(to)
        for x, kind, to in zip(inputs, given, found)
    ]
    if all(isinstance(kind, type) for kind in given):
        converted[0] = np.asarray(converted[0], found[0])
    return tuple(converted), found[ufunc.nin :]


def _is_plain(operand):
    return not hasattr(operand, "dtype")


def _check_results(name, made, wanted):
    if wanted is None:
        return
    for result, dtype in zip(made if isinstance(made, tuple) else (made,), wanted):
        if result.dtype != dtype:
            raise DTypeError(f"`np.{name}` has no result of dtype {dtype} here, but of {result.dtype}: leave out `dtype=`")


_SPREADS = {np.var, np.std, np.nanvar, np.nanstd}


def apply_function(function, args, kwargs, array):
    """Records a call of a function of NumPy's that is not a ufunc; `array` is a lazy array that it got, or `like=`."""
    with explained((args, kwargs)):
        for table in (SELECTED, SPECIAL, FUNCTIONS):
            special = table.get(function)
            made = NotImplemented if special is None else special(*args, **kwargs)
            if made is not NotImplemented:
                return made
        name = written(function)
        why = reason(name)
        if why is None and name.startswith("np.linalg."):
            why = linalg(function.__name__)
        if why is None and id(function) not in _FUNCTIONS:
            why = _OUTSIDE
        if why is not None:
            raise ProgramError(f"`{name}` is not supported while a function is traced: {why}")
        args, kwargs = _bound(function, args, kwargs)
        if function in _SPREADS and np.dtype(kwargs.get("dtype", float)).kind != "f":
            raise DTypeError(f"`{name}` computes in floats, and takes no `dtype={kwargs['dtype']}`: write `.astype(..)`")
        if function is np.clip:
            values = operands("clip", (*args, *kwargs.values()))
            args, kwargs = values[: len(args)], dict(zip(kwargs, values[len(args) :], strict=True))
        # After `like=`, no lazy array is among the arguments.
        trace = trace_of((args, kwargs, array))
        try:
            return trace.call(function.__name__, args, kwargs)
        except ProgramError as error:
            if f"unknown function `{function.__name__}`" not in str(error):
                raise
            raise ProgramError(f"`{name}` is not supported while a function is traced: {_OUTSIDE}") from None


_OUTSIDE = "call it outside of the traced function, and pass its result as an argument"


@functools.lru_cache(maxsize=None)
def _signature(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


# Functions that sum or multiply in the dtype that the operand has in common with `out`, and cast the results as they are; and
# functions that do this in a part of their steps.
_SUMS = {np.sum, np.prod, np.cumsum, np.cumprod, np.trace, np.nansum, np.nanprod, np.nancumsum, np.nancumprod}
_PARTLY_SUMS = {np.mean, np.var, np.std, np.nanmean, np.nanvar, np.nanstd, np.einsum}


def function_with_out(function, args, kwargs):
    """Records a call that writes its result to `out=`, which may be passed by position; `None` if there is no such argument."""
    if "out" not in kwargs and len(args) > 2 and (signature := _signature(function)) is not None:
        parameters = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = [p.name for p in parameters]
        if "out" in names[: len(args)]:
            # Those that have no name in calls stay where they are.
            first = max(1, sum(p.kind == p.POSITIONAL_ONLY for p in parameters[: names.index("out")]))
            args, kwargs = args[:first], {**kwargs, **dict(zip(names[first:], args[first:]))}
    out = kwargs.get("out")
    if out is None:
        return None
    kwargs = {name: value for name, value in kwargs.items() if name != "out"}
    if function in _SUMS and kwargs.get("dtype") is None:
        kwargs["dtype"] = _common_dtype(args[0] if args else kwargs["a"], out)
    elif function in _PARTLY_SUMS and kwargs.get("dtype") is None:
        dtype = function(*args, **kwargs).dtype
        if out.dtype != dtype:
            raise DTypeError(f"`{written(function)}` has a result of dtype {dtype}, and `out=` has {out.dtype}: pass an array of that dtype")
    return write_out(out, lambda: function(*args, **kwargs), casting="unsafe" if function in _SUMS else "same_kind")


def ufunc_with_out(ufunc, method, inputs, out, kwargs):
    """Records a call of a ufunc, or of one of its methods, that writes its results to the arrays of `out`."""
    where, casting = True, "unsafe"
    if method == "__call__":
        where, casting = kwargs.pop("where", True), kwargs.get("casting", "same_kind")
    elif ufunc in (np.add, np.multiply) and method in ("reduce", "accumulate") and kwargs.get("dtype") is None:
        kwargs["dtype"] = _common_dtype(inputs[0], *out)
    return write_out(out, lambda: getattr(ufunc, method)(*inputs, **kwargs), where, casting)


def _common_dtype(operand, out):
    return np.result_type(np.asarray(operand).dtype if _is_plain(operand) else operand.dtype, out.dtype)


# Parameters that do not change which elements a result has: lazy arrays have neither subclasses nor memory, and a result
# is always an array of its own.
_WITHOUT_EFFECT = {"subok", "like", "copy", "overwrite_input"}
# Parameters that are numbers or positions, and not operands with a dtype.
_PLAIN = {
    "axis", "axis1", "axis2", "axes", "n", "k", "offset", "decimals", "shift", "bins", "num", "N", "M",
    "window_shape", "repeats", "shape", "edge_order", "kth", "pad_width", "reps", "source", "destination",
    "indices_or_sections", "q", "range",
}  # fmt: skip
# Parameters whose default does not say that they are true or false, or a number.
_FLAGS = {"keepdims", "stable", "descending", "density"}
_NUMBERS = {"ddof", "correction", "left", "right"}


def _argument(function, name, value, default=None):
    """The value of a parameter as the language takes it."""
    if name in _PLAIN:
        return plain(value)
    if value is None or value is np._NoValue or isinstance(value, Value):
        return value
    if type(default) is bool or name in _FLAGS:
        return flag(function, name, value)
    if type(default) in (int, float) or name in _NUMBERS:
        return number(function, name, value)
    return value


def _bound(function, args, kwargs):
    """Arguments as the language takes them: what has a default by keyword, and only if it is given another value."""
    signature = _signature(function)
    if signature is None:
        return args, {key: value for key, value in kwargs.items() if value is not None}
    bound = signature.bind(*args, **kwargs)
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        value = _argument(function, name, value, parameter.default)
        if parameter.kind == parameter.VAR_POSITIONAL:
            # Distances between samples are numbers, or arrays of positions.
            positional.extend(plain(value) if function is np.gradient else value)
        elif parameter.kind == parameter.VAR_KEYWORD:
            named.update((key, _argument(function, key, item)) for key, item in value.items())
        elif parameter.default is parameter.empty:
            positional.append(value)
        elif value is parameter.default or value is np._NoValue or name in _WITHOUT_EFFECT:
            continue
        elif name == "order" and parameter.default in ("C", "K"):
            check_order(written(function), value)
        elif name == "device":
            check_device(written(function), value)
        else:
            named[name] = value
    return tuple(positional), named
