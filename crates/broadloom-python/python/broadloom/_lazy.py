"""Lazy arrays, which a traced function gets as its arguments. The text language defines the meaning of operations."""

import ast
import functools
import inspect

import numpy as np

from ._broadloom import Value
from ._change import CHANGES, Changing, in_place, refuse_at, write_out
from ._errors import Error, ProgramError, TracingError
from ._frames import describe, here
from ._pieces import FUNCTIONS
from ._views import arranged, as_view, opaque

_UNKNOWN = "the elements of a lazy array are not known while the function is traced"


def _refuse(what):
    def refuse(self, *args, **kwargs):
        lookup = _lookup()
        if lookup is not None:
            raise TracingError(f"{_UNKNOWN}: {lookup}")
        raise TracingError(f"{_UNKNOWN}: {what}; write `np.where(condition, a, b)` to choose between values")

    refuse.__doc__ = f"Refused while a function is traced: {what}."
    return refuse


def _lookup():
    """What to write for `table[index]`, if this is what asks for elements: the table knows nothing of lazy arrays."""
    found = here()
    if found is None:
        return None
    *_, column, width, line = describe(found)
    try:
        written = ast.parse(line[column - 1 : column - 1 + width].strip(), mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(written, ast.Subscript):
        return None
    table, at = ast.unparse(written.value), ast.unparse(written.slice)
    says = f"`{table}` is not lazy, and cannot be indexed by what is; pass it as an argument of the function"
    if isinstance(written.slice, (ast.Tuple, ast.Slice)):
        return says
    return f"{says}, or write `np.asarray({table}, like={at})[{at}]`"


def _infix(operator):
    def forward(self, other):
        return self._trace.infix(operator, self, other) if _is_operand(other) else NotImplemented

    def backward(self, other):
        return self._trace.infix(operator, other, self) if _is_operand(other) else NotImplemented

    return forward, backward


def _is_operand(other):
    return not hasattr(type(other), "__array_ufunc__") or isinstance(other, (Value, np.ndarray, np.generic))


def _prefix(operator):
    def apply(self):
        return self._trace.around(operator, self, "")

    return apply


class _Arithmetic(Value):
    """The common part of arrays and sizes: operators that add a line to the program."""

    __slots__ = ()

    __add__, __radd__ = _infix("+")
    __sub__, __rsub__ = _infix("-")
    __mul__, __rmul__ = _infix("*")
    __truediv__, __rtruediv__ = _infix("/")
    __floordiv__, __rfloordiv__ = _infix("//")
    __mod__, __rmod__ = _infix("%")
    __pow__, __rpow__ = _infix("**")
    __neg__ = _prefix("-")
    __pos__ = _prefix("+")


class Array(Changing, _Arithmetic):
    """An array without elements: its dtype is known, and its sizes are numbers or symbols.

    It stands for an argument, or for what was computed of arguments, while a function is traced.
    """

    __slots__ = ()
    __array_priority__ = 1000

    __matmul__, __rmatmul__ = _infix("@")
    __and__, __rand__ = _infix("&")
    __or__, __ror__ = _infix("|")
    __xor__, __rxor__ = _infix("^")
    __lshift__, __rlshift__ = _infix("<<")
    __rshift__, __rrshift__ = _infix(">>")
    __eq__, _ = _infix("==")
    __ne__, _ = _infix("!=")
    __lt__, _ = _infix("<")
    __le__, _ = _infix("<=")
    __gt__, _ = _infix(">")
    __ge__, _ = _infix(">=")
    del _
    __invert__ = _prefix("~")
    __hash__ = None  # type: ignore[assignment]

    __bool__ = _refuse("`if`, `and`, `or` and `while` ask for them")
    __float__ = _refuse("`float()` asks for them")
    __int__ = _refuse("`int()` asks for them")
    __complex__ = _refuse("`complex()` asks for them")
    __index__ = _refuse("an index or `range` asks for them, unless the argument is static: `@bl.jit(static=\"name\")`")
    __array__ = _refuse("a function that takes only NumPy's arrays asks for them")
    item = _refuse("`item` asks for them")
    tolist = _refuse("`tolist` asks for them")

    def __abs__(self):
        return self._trace.call("abs", (self,), {})

    def __divmod__(self, other):
        return self._trace.call("divmod", (self, other), {})

    def __rdivmod__(self, other):
        return self._trace.call("divmod", (other, self), {})

    def __round__(self, ndigits=0):
        return self._trace.call("round", (self, ndigits), {})

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        size = self.shape[0]
        if isinstance(size, int):
            return size
        raise TracingError("the size is not known while the function is traced: write `x.shape[0]` instead of `len(x)`")

    def __iter__(self):
        return iter([self[position] for position in range(len(self))])

    def __contains__(self, value):
        return bool((self == value).any())

    for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():
        locals()[f"__i{_name}__"] = in_place(_name)
    del _name

    @property
    def T(self):
        """The axes in reverse order."""
        return arranged(np.transpose, self, self._trace.around("", self, ".T"))

    @property
    def mT(self):
        """The last two axes exchanged."""
        return arranged(np.matrix_transpose, self, self._trace.around("", self, ".mT"))

    @property
    def size(self):
        """The number of elements."""
        return self._trace.around("", self, ".size")

    @property
    def itemsize(self):
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def real(self):
        """The array itself: there are no complex numbers."""
        return self

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """Convert the elements to a dtype."""
        if not copy and self.dtype == dtype:
            return self
        return self._trace.call("astype", (self, np.dtype(dtype)), {})

    def view(self, dtype=None):
        """The bits of integers as another dtype with as many bytes; without one, the array itself."""
        return self if dtype is None else opaque(self, self._trace.call("view", (self, np.dtype(dtype)), {}))

    def reshape(self, *shape, order="C", copy=None):
        """Give the elements another shape, in row-major order."""
        if order not in ("C", "A"):
            raise ProgramError("elements are in row-major order: write `x.T.reshape(..)` for `order='F'`")
        return opaque(self, self._trace.call("reshape", (self, *_unpacked(shape)), {}))

    def transpose(self, *axes):
        """Permute the axes."""
        axes = _unpacked(axes)
        if not axes or axes == (None,):
            return self.T
        return arranged(np.transpose, self, self._trace.call("permute_dims", (self, *axes), {}), axes)

    def swapaxes(self, axis1, axis2):
        """Exchange two axes."""
        return arranged(np.swapaxes, self, self._trace.call("swapaxes", (self, axis1, axis2), {}), axis1, axis2)

    def flatten(self, order="C"):
        """All elements along one axis."""
        return self._trace.call("ravel", (self,), {})

    def dot(self, other):
        """The product of matrices or vectors."""
        return self._trace.call("dot", (self, other), {})

    def __getattr__(self, name):
        function = getattr(np, name, None) if name in _METHODS else None
        if function is None:
            if name.startswith("_"):
                raise AttributeError(name)
            raise AttributeError(f"lazy arrays have no attribute {name!r}: only NumPy's methods that change nothing")
        return functools.partial(function, self)

    def compile(self, threads=None):
        """Return the kernel that computes this array from declared inputs."""
        return self._trace.compile(self, threads)

    def explain(self):
        """Explain how this array is computed from declared inputs."""
        return self.compile().explain()

    def _repr_svg_(self):
        try:
            return self.compile()._repr_svg_()
        except Error:
            return None

    def __repr__(self):
        return f"Array({self._type})"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if method == "at":
            refuse_at(ufunc.__name__)
        if out is not None:
            where = kwargs.pop("where", True) if method == "__call__" else True
            return write_out(out, lambda: getattr(ufunc, method)(*inputs, **kwargs), where)
        if method != "reduce" and kwargs.pop("where", True) is not True:
            raise TracingError("`where=` of a ufunc leaves elements unset: write `np.where(condition, result, other)`")
        casting = kwargs.pop("casting", None)
        kwargs.pop("subok", None), kwargs.pop("order", None)
        trace = _trace_of(inputs)
        dtype = kwargs.pop("dtype", None)
        if dtype is not None:
            kwargs["dtype"] = np.dtype(dtype)
            if casting == "unsafe":
                inputs = tuple(x.astype(dtype) if isinstance(x, (Array, np.ndarray)) else x for x in inputs)
        name = ufunc.__name__
        if method == "__call__":
            return _ufunc(trace, name, inputs, kwargs)
        if method in ("reduce", "accumulate"):
            kwargs = {key: value for key, value in kwargs.items() if value is not np._NoValue}
            return trace.call(f"{name}.{method}", inputs, kwargs)
        if method == "outer":
            left, right = inputs
            left = _lazy(trace, left)
            return _ufunc(trace, name, (left[(...,) + (None,) * np.ndim(right)], right), kwargs)
        raise ProgramError(f"`np.{name}.{method}` is not supported: write it with `np.{name}`")

    def __array_function__(self, function, types, args, kwargs):
        own = CHANGES.get(function) or FUNCTIONS.get(function)
        made = NotImplemented if own is None else own(*args, **kwargs)
        if made is not NotImplemented:
            return made
        if kwargs.get("out") is not None:
            out = kwargs.pop("out")
            return write_out(out, lambda: function(*args, **kwargs))
        return as_view(function, args, kwargs, self._recorded(function, args, kwargs))

    def _recorded(self, function, args, kwargs):
        special = _SPECIAL.get(function)
        if special is not None:
            return special(*args, **kwargs)
        args, kwargs = _bound(function, args, kwargs)
        # After `like=`, no lazy array is among the arguments.
        return _trace_of((args, kwargs, self)).call(function.__name__, args, kwargs)

    def __array_namespace__(self, api_version=None):
        return np


_OPERATORS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%",
    "matmul": "@", "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}


def _ufunc(trace, name, inputs, kwargs):
    if name in _OPERATORS and not kwargs:
        return trace.infix(_OPERATORS[name], *inputs)
    return trace.call(name, inputs, kwargs)


def _lazy(trace, operand):
    return operand if isinstance(operand, Array) else trace.around("+", operand, "")


# Methods that are NumPy's functions of the same names.
_METHODS = frozenset(
    "all any argmax argmin argsort clip cumprod cumsum diagonal max mean min nonzero prod ptp ravel repeat round "
    "searchsorted sort squeeze std sum take trace var choose compress partition argpartition conj conjugate".split()
)


def _unpacked(arguments):
    """The items of the only argument, or all arguments."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return tuple(arguments)


def _trace_of(arguments):
    """The trace of a lazy array somewhere in the arguments."""
    stack = [arguments]
    while stack:
        item = stack.pop()
        if isinstance(item, Value):
            return item._trace
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
    raise TracingError("no lazy array is among the arguments")


@functools.lru_cache(maxsize=None)
def _signature(function):
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


# Parameters that say how NumPy works and not what it computes.
_IGNORED = {"order", "subok", "casting", "like", "device", "copy"}


def _bound(function, args, kwargs):
    """Arguments as the language takes them: what has a default by keyword, and only if it is given another value."""
    signature = _signature(function)
    if signature is None:
        return args, {key: value for key, value in kwargs.items() if value is not None}
    bound = signature.bind(*args, **kwargs)
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind == parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.kind == parameter.VAR_KEYWORD:
            named.update(value)
        elif parameter.default is parameter.empty:
            positional.append(value)
        elif name == "out":
            if value is not None:
                raise TracingError("arrays are not changed in a traced function: use the result instead of `out=`")
        elif value is not parameter.default and value is not np._NoValue and name not in _IGNORED:
            named[name] = value
    return tuple(positional), named


def _shape(a):
    return a.shape


def _size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


def _ndim(a):
    return a.ndim


def _reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    return a.reshape(shape if newshape is None else newshape, order=order)


def _transpose(a, axes=None):
    return a.transpose(*(() if axes is None else (axes,)))


def _astype(x, dtype, /, *, copy=True, device=None):
    return x.astype(dtype)


def _concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    arrays = tuple(arrays)
    name, keywords = ("concatenate", {}) if axis is None else ("concatenate", {"axis": axis})
    trace = _trace_of(arrays)
    if axis is None:
        arrays = tuple(_lazy(trace, array).ravel() for array in arrays)
        keywords = {"axis": 0}
    result = trace.call(name, (arrays,), keywords)
    return result if dtype is None else result.astype(dtype)


def _where(condition, x=None, y=None, /):
    if x is None or y is None:
        return _trace_of(condition).call("nonzero", (condition,), {})
    return _trace_of((condition, x, y)).call("where", (condition, x, y), {})


def _iscomplexobj(x):
    return False


_SPECIAL = {
    np.shape: _shape,
    np.size: _size,
    np.ndim: _ndim,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.permute_dims: _transpose,
    np.astype: _astype,
    np.concatenate: _concatenate,
    np.iscomplexobj: _iscomplexobj,
    np.where: _where,
}


class Size(_Arithmetic):
    """The size of an axis that is known only when the kernel is called. It computes like an integer."""

    __slots__ = ()
    _is_size = True

    def _unknown(self, *args, **kwargs):
        raise TracingError("a size is not known while the function is traced for all sizes")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __array__ = __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __hash__ = _unknown

    def __eq__(self, other):
        if isinstance(other, Size) and self._is_same(other):
            return True
        return self._unknown()

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        return f"Size({self._type})"

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Array.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)
