"""Names of NumPy for traced functions: NumPy asks some functions for numbers that are not known yet, such as
`np.zeros(x.shape)`, and hands over to lazy arrays only what has one among its arguments.

The code of the function stays what it is but for its loops, so that lines and columns of errors do. The names that it looks up are
others.
"""

import builtins
import collections
import functools
import operator
import types

import numpy as np

from . import _kinds as kinds
from ._attempt import refusal, shared
from ._broadloom import Function, Value
from ._caught import expect
from ._change import Changing
from ._derived import Derived
from ._index import has_lazy, is_computed, stacked
from ._errors import TracingError
from ._flat import elements
from ._frames import is_foreign
from ._later import MAKERS, is_changed_later
from ._over import over
from ._pieces import Grid, linspace
from ._refuse import explained, frozen
from ._selected import arange
from ._special import check_device, check_order
from ._steps import MAX_UNROLLED, each, while_holds
from ._syntax import EACH, OVER, WHILE, rewritten
from ._views import opaque


def contents(arguments):
    """What stands in the containers among the arguments, in order."""
    found, stack = [], [arguments]
    while stack:
        item = stack.pop()
        found.append(item)
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (list, tuple)):
            stack.extend(item)
        elif hasattr(type(item), "__dataclass_fields__") and type(item).__hash__ is None:
            stack.extend(getattr(item, name) for name in item.__dataclass_fields__)
    return found


class Names:
    """The values of the names that a function looks up: a function with the same code, in which NumPy creates lazy arrays."""

    def __init__(self, trace):
        self.trace = trace
        # What is refused while the function is traced.
        self.tracing = None
        expect(self)
        # How often the steps of a loop had to be taken one after the other, by their code.
        self.unrolled = collections.Counter()
        # The steps that were taken one after the other, and how many loops of their own may have for that.
        self.steps, self.longest_unrolled = 0, MAX_UNROLLED
        # Arrays that share their elements with others.
        self.shared = []
        self.numpy = _Numpy(trace)
        self.functions = {}
        self.spaces = {}
        self.builtins = {
            **vars(builtins), "max": functools.partial(_extreme, "maximum", max),
            "min": functools.partial(_extreme, "minimum", min), "len": _length, "__import__": self.imported,
            **kinds.names(self.numpy.ndarray),
            EACH: functools.partial(each, self), WHILE: functools.partial(while_holds, self), OVER: over,
        }  # fmt: skip

    def share(self, array):
        """Lets nobody change an array any more, as others may have the same elements."""
        self.shared.append(array)
        shared[id(array)] = array

    def write_globals(self):
        """Ends the trace: assigns the globals that functions assigned."""
        error, self.tracing = getattr(self.tracing, "error", None), None
        for array in self.shared:
            shared.pop(id(array), None)
        for space in self.spaces.values():
            space.write()
        if getattr(error, "is_hidden", False):
            raise error

    def imported(self, *args, **kwargs):
        found = builtins.__import__(*args, **kwargs)
        return self.numpy if found is np else found

    def value(self, value):
        """What stands for a value of a name."""
        if value is np:
            return self.numpy
        if value is np.random:
            return self.numpy.random
        if value is np.random.default_rng:
            return self.numpy.random.default_rng
        if id(value) in _OWN:
            return getattr(self.numpy, _OWN[id(value)])
        if type(value) is types.FunctionType:
            return self.function(value)
        if type(value) is types.MethodType:
            return types.MethodType(self.value(value.__func__), value.__self__)
        if type(value) is functools.partial:
            return functools.partial(self.value(value.func), *value.args, **value.keywords)
        if isinstance(value, Function):
            return self.value(value.__wrapped__)
        if isinstance(value, Derived):
            return value.with_names(self.value)
        if type(value) is types.ModuleType and not is_foreign(value.__name__):
            return _Module(self, value)
        return value

    def function(self, function):
        if is_foreign(function.__module__):
            return function
        known = self.functions.get(id(function))
        if known is not None:
            return known
        space = self.spaces.get(id(function.__globals__))
        if space is None:
            space = self.spaces[id(function.__globals__)] = _Globals(self, function.__globals__)
        code = rewritten(function.__code__)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

        def with_cells():
            closure = tuple(cells[name] for name in code.co_freevars)
            return types.FunctionType(code, space, function.__name__, closure=closure)

        made = self.functions[id(function)] = with_cells()
        if cells:
            cells = {name: self.cell(cell) for name, cell in cells.items()}
            made = self.functions[id(function)] = with_cells()
        made.__defaults__ = function.__defaults__ and tuple(map(self.value, function.__defaults__))
        made.__kwdefaults__ = function.__kwdefaults__ and {name: self.value(item) for name, item in function.__kwdefaults__.items()}
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        made.__dict__.update(function.__dict__)
        return made

    def cell(self, cell):
        """A cell for a name of an enclosing function; the cell itself if its value stays, as the function may assign it."""
        try:
            content = cell.cell_contents
        except ValueError:
            return cell
        value = self.value(content)
        return cell if value is content else types.CellType(value)


class _Module:
    """A module whose functions use the names of the trace too."""

    def __init__(self, names, module):
        self._names, self._module = names, module

    def __getattr__(self, name):
        return self._names.value(getattr(self._module, name))


class _Globals(dict):
    """The globals of a function. Python looks up names in its own table first, which holds what the function assigns."""

    def __init__(self, names, original):
        super().__init__(__builtins__=names.builtins)
        self._names, self._original = names, original

    def __missing__(self, name):
        return self._names.value(self._original[name])

    def write(self):
        """Assigns to the globals themselves what the function assigned to its own."""
        self._original.update((name, value) for name, value in self.items() if name != "__builtins__")


def _extreme(name, plain, *args, **kwargs):
    """`max` and `min` of Python, which compare numbers and no arrays."""
    items = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    if kwargs or not has_lazy(list(items)) or any(getattr(item, "_is_size", False) for item in items):
        return plain(*args, **kwargs)
    if any(np.ndim(item) for item in items):
        raise TracingError(
            f"`{plain.__name__}` compares whole arrays, whose elements are not known while the function is traced: "
            f"write `np.{name}(a, b)`, or `x.{plain.__name__}()` for the elements of one array"
        )
    best = items[0]
    for item in items[1:]:
        best = np.where(item > best if plain is max else item < best, item, best)
    return best


def _length(obj, /):
    """`len`, which may be a size that the data decide."""
    size = obj.shape[0] if isinstance(obj, Changing) and obj.ndim else None
    return size if getattr(size, "_is_decided", False) else len(obj)


class _Arrays(type):
    """The class of `np.ndarray` in traced functions: lazy arrays are instances of it."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, np.ndarray) or isinstance(instance, Changing) and not kinds.is_scalar(instance)

    def __subclasscheck__(cls, other):
        return issubclass(other, (np.ndarray, Changing))

    def __getattr__(cls, name):
        return getattr(np.ndarray, name)

    def __call__(cls, shape, dtype=float, buffer=None, offset=0, strides=None, order=None):
        if buffer is not None or offset or strides is not None:
            raise TracingError("`np.ndarray` of a buffer is not traced: pass the array as an argument")
        return cls.numpy.zeros(shape, dtype)


class _Random:
    """`np.random`, whose sources have seeds: others are seeded once, while the function is traced, and not at each call."""

    def __getattr__(self, name):
        return getattr(np.random, name)

    def __dir__(self):
        return dir(np.random)

    def default_rng(self, seed=None):
        if seed is None:
            raise refusal(frozen("`np.random.default_rng`", "without a seed draws other random numbers at each call"))
        return np.random.default_rng(seed)


class _Numpy:
    """NumPy, with functions that create lazy arrays."""

    def __init__(self, trace):
        self._trace = trace
        # Whether there are arrays of constants, which the function could also get from NumPy.
        self.made_constants = False
        self.mgrid, self.ogrid = Grid(trace, np.mgrid), Grid(trace, np.ogrid)
        self.ndarray = _Arrays("ndarray", (), {"numpy": self})
        self.random = _Random()

    def __getattr__(self, name):
        found = getattr(np, name)
        return functools.partial(self._changing, found) if name in MAKERS else found

    def _changing(self, function, *args, **kwargs):
        """The result of a function that makes arrays, lazy if it is one of constants that the function changes."""
        made = function(*args, **kwargs)
        if type(made) is not np.ndarray or not made.ndim or made.dtype.kind not in "biuf" or not is_changed_later():
            return made
        self.made_constants = True
        made = self._trace.call("copy", (made,), {})
        made._is_whole = True
        return made

    def __dir__(self):
        return dir(np)

    def _filled(self, function, plain, shape, args, dtype, order, **kwargs):
        _check_rest(function, kwargs, {"device", "like"})
        check_order(f"np.{function}", order)
        kind = np.dtype(dtype)
        if kind.kind not in "biuf" or kind.itemsize > 8 or not _is_shape(shape):
            return plain()
        sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        sizes = tuple(size.item() if isinstance(size, np.integer) else size for size in sizes)
        self.made_constants |= not has_lazy([*sizes, *args])
        made = self._trace.call("zeros" if function == "empty" else function, (sizes, *args), {"dtype": kind})
        made._let_change()
        made._is_whole = True
        return made

    def zeros(self, shape, dtype=float, order="C", **kwargs):
        """`np.zeros`"""
        return self._filled("zeros", lambda: np.zeros(shape, dtype, order, **kwargs), shape, (), dtype, order, **kwargs)

    def empty(self, shape, dtype=float, order="C", **kwargs):
        """`np.empty`: elements that are never written are zeros."""
        return self._filled("empty", lambda: np.empty(shape, dtype, order, **kwargs), shape, (), dtype, order, **kwargs)

    def ones(self, shape, dtype=float, order="C", **kwargs):
        """`np.ones`"""
        return self._filled("ones", lambda: np.ones(shape, dtype, order, **kwargs), shape, (), dtype, order, **kwargs)

    def full(self, shape, fill_value, dtype=None, order="C", **kwargs):
        """`np.full`"""
        if np.ndim(fill_value):
            fill_value = self.asarray(fill_value)
        kind = dtype
        if kind is None:
            kind = fill_value.dtype if isinstance(fill_value, Value) else np.asarray(fill_value).dtype
        if np.ndim(fill_value):
            made = self.empty(shape, kind, order, **kwargs)
            made[...] = fill_value
            return made
        return self._filled(
            "full", lambda: np.full(shape, fill_value, dtype, order, **kwargs), shape, (fill_value,), kind, order, **kwargs
        )

    def eye(self, N, M=None, k=0, dtype=float, order="C", **kwargs):
        """`np.eye`"""
        kind = np.dtype(dtype)
        if kind.kind not in "biuf":
            return np.eye(N, M, k, dtype, order, **kwargs)
        _check_rest("eye", kwargs, {"device", "like"})
        check_order("np.eye", order)
        sizes = (N,) if M is None else (N, M)
        self.made_constants |= not has_lazy(sizes)
        return self._trace.call("eye", sizes, {"k": k, "dtype": kind} if k else {"dtype": kind})

    def identity(self, n, dtype=float, **kwargs):
        """`np.identity`"""
        _check_rest("identity", kwargs, {"like"})
        return self.eye(n, dtype=dtype)

    def arange(self, *args, dtype=None, **kwargs):
        """`np.arange`"""
        if not has_lazy(list(args)) and not has_lazy(list(kwargs.values())):
            return self._changing(np.arange, *args, dtype=dtype, **kwargs)
        _check_rest("arange", kwargs, {"start", "stop", "step", "device", "like"})
        kwargs = {name: value for name, value in kwargs.items() if name not in ("device", "like")}
        if any(map(is_computed, args)) and not kwargs:
            made = arange(self._trace, args, dtype)
            if made is not NotImplemented:
                return made
        if dtype is not None:
            kwargs["dtype"] = np.dtype(dtype)
        with explained((args, kwargs)):
            return self._trace.call("arange", args, kwargs)

    def linspace(self, start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, **kwargs):
        """`np.linspace`"""
        if not has_lazy([start, stop, num]):
            return self._changing(np.linspace, start, stop, num, endpoint, retstep, dtype, axis, **kwargs)
        return linspace(start, stop, num, endpoint, retstep, dtype, axis, **kwargs)

    def ndenumerate(self, arr):
        """`np.ndenumerate`"""
        if not has_lazy(arr):
            return np.ndenumerate(arr)
        return zip(np.ndindex(*map(operator.index, arr.shape)), arr.flat)

    def nditer(self, op, *args, **kwargs):
        """`np.nditer`"""
        if not has_lazy(op):
            return np.nditer(op, *args, **kwargs)
        raise refusal(TracingError("`np.nditer` is not traced: write operations on whole arrays, or a loop over `x.flat`"))

    def errstate(self, **kwargs):
        """`np.errstate`: kernels have no floating-point errors to raise."""
        if not {"raise", "call", "log", "print"}.isdisjoint(kwargs.values()):
            raise refusal(TracingError(
                "`np.errstate` and `np.seterr` are not honoured by kernels, which return `inf` and NaN: look at the result, "
                "`np.isfinite(y).all()`, or check the operands outside of the traced function"
            ))  # fmt: skip
        return np.errstate(**kwargs)

    def seterr(self, **kwargs):
        """`np.seterr`"""
        self.errstate(**kwargs)
        return np.seterr(**kwargs)

    def isscalar(self, element):
        """`np.isscalar`: true for what cannot change, Python's numbers and NumPy's scalars."""
        if isinstance(element, Value):
            return kinds.is_scalar(element)
        return np.isscalar(element)

    def array(self, object, dtype=None, *, copy=True, order="K", ndmin=0, **kwargs):
        """`np.array`"""
        object = elements(object)
        if not has_lazy(object):
            return self._changing(np.array, object, dtype, copy=copy, order=order, ndmin=ndmin, **kwargs)
        _check_rest("array", kwargs, {"subok", "ndmax", "like"})
        check_order("np.array", order)
        made = self._made(object, dtype, copy)
        return made if made.ndim >= ndmin else made[(None,) * (ndmin - made.ndim)]

    def asarray(self, a, dtype=None, order=None, *, copy=None, **kwargs):
        """`np.asarray`"""
        a = elements(a)
        if not has_lazy(a):
            return np.asarray(a, dtype, order, copy=copy, **kwargs)
        _check_rest("asarray", kwargs, {"device", "like"})
        check_order("np.asarray", order)
        return self._made(a, dtype, copy)

    def asanyarray(self, a, dtype=None, order=None, **kwargs):
        """`np.asanyarray`"""
        return self.asarray(a, dtype, order, **kwargs)

    def ascontiguousarray(self, a, dtype=None, **kwargs):
        """`np.ascontiguousarray`: whether it is a copy depends on the layout."""
        a = elements(a)
        if not has_lazy(a):
            return np.ascontiguousarray(a, dtype, **kwargs)
        _check_rest("ascontiguousarray", kwargs, {"like"})
        made = self._made(a, dtype, True)
        return opaque(a, made) if isinstance(a, Value) and made.dtype == a.dtype else made

    def _made(self, object, dtype, copy):
        is_array = isinstance(object, Changing) and not kinds.is_scalar(object)
        if is_array and not copy and (dtype is None or object.dtype == dtype):
            return object
        if isinstance(object, Value) and object._is_number:
            # A number of Python's has no dtype, and its array has.
            made = object._trace.call("astype", (object, object.dtype), {})
        else:
            made = object.copy() if isinstance(object, Changing) else stacked(self._trace, object)
        if dtype is not None and made.dtype != dtype:
            made = made.astype(dtype)
        if made.ndim == 0 and isinstance(made, Changing):
            made = made.copy()
            made._let_change()
        return made


# What has another meaning in traced functions, under any name, by its identity.
_OWN = {
    id(getattr(np, name)): name
    for name in (*(name for name in vars(_Numpy) if not name.startswith("_")), *MAKERS, "mgrid", "ogrid", "ndarray")
}


def _check_rest(function, keywords, known):
    """Refuses keywords that NumPy's function does not have; those that are known change nothing."""
    for name in keywords:
        if name not in known:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    check_device(f"np.{function}", keywords.get("device"))


def _is_shape(shape):
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return all(isinstance(size, (int, np.integer, Value)) and not isinstance(size, bool) for size in sizes)
