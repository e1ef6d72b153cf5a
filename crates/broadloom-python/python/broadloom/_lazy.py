"""Lazy arrays, which a traced function gets as its arguments. The text language defines the meaning of operations."""

import functools

import numpy as np

from . import _refuse
from ._attempt import innermost, refusal
from ._broadloom import Value
from ._caught import Trial, open_now
from ._change import CHANGES, Changing, in_place
from ._dispatch import apply_function, apply_ufunc, function_with_out, ufunc_with_out
from ._errors import Error, TracingError
from ._frames import is_asked_by_user
from ._kinds import kind_of
from ._special import check_casting, check_order, plain, ravel, reshape
from ._views import arranged, as_view, opaque, reshaped
from ._weak import operands


DECIDED = "the data decide this size, which is known only when the kernel runs"


def _infix(operator):
    def forward(self, other):
        if other is None and operator in _OF_NONE:
            return _with_none(self, _OF_NONE[operator])
        if not _is_operand(self, other, operator):
            return NotImplemented
        left, right = operands(operator, (self, other))
        return self._trace.infix(operator, left, right)

    def backward(self, other):
        if not _is_operand(self, other, operator):
            return NotImplemented
        left, right = operands(operator, (other, self))
        return self._trace.infix(operator, left, right)

    return forward, backward


# What comparisons with None are.
_OF_NONE = {"==": False, "!=": True}


def _with_none(own, holds):
    is_array = own.ndim or own._can_change
    return np.full_like(own, holds, dtype=bool) if is_array else holds


def _is_operand(own, other, operator):
    if isinstance(other, (list, tuple, str, bytes, bytearray)):
        # A size is an integer: it repeats a list, and does not make it an array. So is a scalar of integers, beside `*`.
        if type(own) is Size or (operator == "*" and not own.ndim and not own._can_change):
            return False
    return not hasattr(type(other), "__array_ufunc__") or isinstance(other, (Value, np.ndarray, np.generic))


def _prefix(operator):
    def apply(self):
        return self._trace.around(operator, self, "")

    return apply


class _Arithmetic(Value):
    """The common part of arrays and sizes: operators that add a line to the program."""

    __slots__ = ()
    # Whether all values of the class are integers of Python's.
    _is_integer = False

    @property  # type: ignore[misc]
    def __class__(self):
        """The class, for `isinstance`: methods of objects, which are called as they are, see that of what the value stands for."""
        return kind_of(self) if is_asked_by_user() and open_now() else type(self)

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

    __slots__ = ("_attempt", "_is_whole", "_positions", "_root")
    __array_priority__ = 1000

    def __init__(self, trace, name):
        # The steps of a loop in which it is made, and the identity of the array of which it is a view.
        self._attempt, self._root = innermost(), None
        # Whether it is made in row-major order, whatever the order of other arrays is.
        self._is_whole = False
        # The name, the mask and the axis of positions that `np.nonzero` returned.
        self._positions = None

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

    __bool__ = _refuse.elements("`if`, `and`, `or` and `while` ask for them", "write `(a < x) & (x < b)` for conditions of elements")
    __float__ = _refuse.elements("`float()` asks for them", "write `.astype(float)`, NumPy's functions instead of `math`")
    __int__ = _refuse.elements(
        "`int()` asks for them", "write `.astype(int)`, or the number itself where a size is expected, `np.zeros(n)`, `x[:n]`"
    )
    __contains__ = _refuse.elements("`in` asks for them", "write `(x == value).any()`")
    __complex__ = _refuse.elements("`complex()` asks for them")
    __index__ = _refuse.elements("an index, `range` or `[0] * n` asks for them, unless the argument is static: `@bl.jit(static=\"name\")`")
    __array__ = _refuse.array
    is_integer = as_integer_ratio = hex = _refuse.elements("a method of Python's floats asks for them")
    item = _refuse.elements("`item` asks for them")
    tolist = _refuse.elements("`tolist` asks for them")

    def __abs__(self):
        return self._trace.call("abs", (self,), {})

    def __divmod__(self, other):
        return self._trace.call("divmod", operands("divmod", (self, other)), {})

    def __rdivmod__(self, other):
        return self._trace.call("divmod", operands("divmod", (other, self)), {})

    def __round__(self, ndigits=None):
        made = self._trace.call("round", (self, 0 if ndigits is None else ndigits), {})
        if ndigits is not None or self.ndim or self._can_change:
            return made
        # Without digits, it is an integer of Python's.
        from ._counter import Counter

        return Counter.of(made.astype(np.int64))

    def __len__(self):
        if not self.ndim:
            raise TypeError("len() of an array without axes")
        size = self.shape[0]
        if isinstance(size, int):
            return size
        if size._is_decided:
            raise refusal(TracingError(f"{DECIDED}: write `x.shape[0]` instead of `len(x)`"))
        self._trace.needs_sizes()
        raise TracingError("the size is not known while the function is traced: write `x.shape[0]` instead of `len(x)`")

    def __iter__(self):
        return iter([self[position] for position in range(len(self))])

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

    @property
    def imag(self):
        """Zeros: there are no complex numbers."""
        return np.zeros_like(self)

    def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
        """Convert the elements to a dtype."""
        check_order("x.astype", order)
        check_casting("x.astype", self, np.dtype(dtype), casting)
        if not copy and self.dtype == dtype:
            return self
        return self._trace.call("astype", (self, np.dtype(dtype)), {})

    def view(self, dtype=None):
        """The bits of integers as another dtype with as many bytes; without one, the array itself."""
        return self if dtype is None else opaque(self, self._trace.call("view", (self, np.dtype(dtype)), {}))

    def reshape(self, *shape, order="C", copy=None):
        """Give the elements another shape, in row-major order or in that of columns, 'F'."""
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        made = reshape(self, _unpacked(shape), order)
        if not made.ndim and self._can_change:
            made._let_change()
        return made if copy else reshaped(self, made, order)

    def transpose(self, *axes):
        """Permute the axes."""
        axes = plain(_unpacked(axes))
        if not axes or axes[0] is None:
            return self.T
        with _refuse.explained(axes):
            return arranged(np.transpose, self, self._trace.call("permute_dims", (self, *axes), {}), axes)

    def swapaxes(self, axis1, axis2):
        """Exchange two axes."""
        axes = plain((axis1, axis2))
        with _refuse.explained(axes):
            return arranged(np.swapaxes, self, self._trace.call("swapaxes", (self, *axes), {}), *axes)

    def conj(self):
        """The array itself: there are no complex numbers."""
        return self

    conjugate = conj

    @property
    def device(self):
        """Where the elements are."""
        return "cpu"

    def flatten(self, order="C"):
        """All elements along one axis."""
        return ravel(self, order)

    def compress(self, condition, axis=None, out=None):
        """The elements along an axis at which a condition holds."""
        return np.compress(condition, self, axis, out=out)

    def dot(self, other, out=None):
        """The product of matrices or vectors."""
        return np.dot(self, other, out=out)

    def __getattr__(self, name):
        function = getattr(np, name, None) if name in _METHODS else None
        if function is None:
            if not name.startswith("_") and hasattr(np.ndarray, name):
                raise _refuse.attribute(name)
            raise AttributeError(f"lazy arrays have no attribute {name!r}")
        return functools.partial(function, self)

    def compile(self, threads=None):
        """Return the kernel that computes this array from declared inputs."""
        return self._trace.compile(self, threads)

    def explain(self):
        """Explain how this array is computed from declared inputs."""
        return self.compile().explain()

    def explain_html(self):
        """Explain it in a page, which notebooks show."""
        return self.compile().explain_html()

    def _repr_svg_(self):
        trial = Trial()
        try:
            return self.compile()._repr_svg_()
        except Error:
            trial.undo()
            return None

    def __repr__(self):
        return f"Array({shown(self)})"

    def __str__(self):
        return _refuse.text(self, repr, "`str` or `print`")

    def __format__(self, form):
        return _refuse.text(self, lambda value: format(repr(value), form), "a text")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.pop("out", None)
        if out is None:
            return apply_ufunc(ufunc, method, inputs, kwargs)
        return ufunc_with_out(ufunc, method, inputs, out, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        if function in CHANGES:
            return CHANGES[function](*args, **kwargs)
        made = function_with_out(function, args, kwargs)
        if made is not None:
            return made
        return as_view(function, args, kwargs, apply_function(function, args, kwargs, self))

    def __array_namespace__(self, api_version=None):
        return np


ENDED = "of a function that has returned"


def shown(value):
    """The type of a value as debuggers show it, also after its function has returned."""
    trial = Trial()
    try:
        return value._type
    except TracingError:
        trial.undo()
        return ENDED


# Methods that are NumPy's functions of the same names.
_METHODS = frozenset(
    "all any argmax argmin argsort clip cumprod cumsum diagonal max mean min nonzero prod ravel repeat round "
    "searchsorted squeeze std sum take trace var choose argpartition".split()
)


def _unpacked(arguments):
    """The items of the only argument, or all arguments."""
    if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)):
        return tuple(arguments[0])
    return tuple(arguments)


class Size(_Arithmetic):
    """The size of an axis that is known only when the kernel is called. It computes like an integer."""

    __slots__ = ()
    _is_size = _is_integer = True

    def _unknown(self, *args, **kwargs):
        if self._is_decided:
            raise refusal(TracingError(f"{DECIDED}: compute with it, use it as a size, or choose by `np.where(n > 3, a, b)`"))
        # The exception may not arrive: NumPy replaces it by its own, and code of the user may catch it.
        self._trace.needs_sizes()
        raise TracingError("a size is not known while the function is traced for all sizes")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __array__ = __round__ = __trunc__ = __floor__ = __ceil__ = __divmod__ = __hash__ = _unknown

    def __eq__(self, other):
        if other is None or isinstance(other, str):
            return False
        if isinstance(other, Size) and self._is_same(other):
            return True
        return self._unknown()

    def __ne__(self, other):
        return not self == other

    def __repr__(self):
        # A text of a size may be a name or a key, so that the function is traced with the numbers.
        text = shown(self)
        if text != ENDED and not self._is_decided:
            self._trace.needs_sizes()
        return f"Size({text})"

    def __str__(self):
        return self._unknown() if self._is_decided else repr(self)

    def __format__(self, form):
        return self._unknown()

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Array.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)
