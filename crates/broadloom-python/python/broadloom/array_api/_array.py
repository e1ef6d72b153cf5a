"""The array of the namespace: a handle to a node, which operations read and assignments replace."""

import operator

import numpy as np

from .._change import changing
from .._errors import ArgumentError, DTypeError, OutOfRangeError
from . import _graph
from ._info import check_device, checked_dtype

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
_NUMBERS = (bool, int, float)
# Arrays and scalars of NumPy's have their dtypes, as they have beside NumPy's arrays.
_OF_NUMPY = (np.ndarray, np.generic)


def _infix(compute):
    def forward(self, other):
        return compute(self, other) if isinstance(other, (Array, *_NUMBERS, *_OF_NUMPY)) else NotImplemented

    def backward(self, other):
        return compute(other, self) if isinstance(other, (Array, *_NUMBERS, *_OF_NUMPY)) else NotImplemented

    def in_place(self, other):
        result = forward(self, other)
        if result is not NotImplemented:
            if result.dtype != self.dtype:
                raise DTypeError(f"an array of {self.dtype} cannot hold the result of {result.dtype}: write `x = x .. y`")
            if result.shape != self.shape:
                raise ArgumentError(f"an array of shape {self.shape} cannot hold the result of shape {result.shape}")
            self._node = result._node
            result = self
        return result

    return forward, backward, in_place


def binary(function):
    """A function of the text language as one of two arrays, or of an array and a number."""

    def apply(x1, x2, /):
        return call(function, x1, x2)

    return apply


def pow(x1, x2, /):
    """`x1` to the power `x2`. A Python integer as the exponent becomes part of the kernel, as products."""
    if isinstance(x1, Array) and isinstance(x2, int):
        return call(_power, x1, exponent=int(x2))
    return call("pow", x1, x2)


def _power(values, exponent):
    return values[0] ** exponent


def _prefix(function):
    def apply(self, /):
        return call(function, self)

    return apply


def _method(name):
    """A method of NumPy's arrays, as NumPy computes it of its own."""
    function = getattr(np, name)

    def apply(self, *args, **kwargs):
        from ._numpy import computed

        if name in ("reshape", "transpose") and args and args[0] is not None:
            # The sizes, or the axes, may be written in a row.
            given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list, np.ndarray)) else args
            args = (tuple(map(operator.index, given)),)
        return computed(function, (self, *args), kwargs)

    apply.__name__ = name
    apply.__qualname__ = f"Array.{name}"
    apply.__doc__ = f"NumPy's `{name}`."
    return apply


class Array:
    """An array that is computed when its elements are needed.

    Operations only note what is to be done. ``bool``, ``float``, ``int``, ``repr``, ``numpy.asarray``, DLPack, assignments
    to positions, and functions whose shapes depend on elements run one kernel for all that leads to an array, which then keeps
    its elements. So does the shape of an array whose size depends on elements, such as ``x[x > 0]``.
    """

    __slots__ = ("_node",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self):
        raise TypeError("arrays are made by functions such as `asarray` and `zeros`")

    __add__, __radd__, __iadd__ = _infix(binary("add"))
    __sub__, __rsub__, __isub__ = _infix(binary("subtract"))
    __mul__, __rmul__, __imul__ = _infix(binary("multiply"))
    __truediv__, __rtruediv__, __itruediv__ = _infix(binary("divide"))
    __floordiv__, __rfloordiv__, __ifloordiv__ = _infix(binary("floor_divide"))
    __mod__, __rmod__, __imod__ = _infix(binary("remainder"))
    __pow__, __rpow__, __ipow__ = _infix(pow)
    __and__, __rand__, __iand__ = _infix(binary("bitwise_and"))
    __or__, __ror__, __ior__ = _infix(binary("bitwise_or"))
    __xor__, __rxor__, __ixor__ = _infix(binary("bitwise_xor"))
    __lshift__, __rlshift__, __ilshift__ = _infix(binary("bitwise_left_shift"))
    __rshift__, __rrshift__, __irshift__ = _infix(binary("bitwise_right_shift"))
    __matmul__, __rmatmul__, __imatmul__ = _infix(binary("matmul"))
    __eq__, _, _ = _infix(binary("equal"))
    __ne__, _, _ = _infix(binary("not_equal"))
    __lt__, _, _ = _infix(binary("less"))
    __le__, _, _ = _infix(binary("less_equal"))
    __gt__, _, _ = _infix(binary("greater"))
    __ge__, _, _ = _infix(binary("greater_equal"))
    del _
    __neg__ = _prefix("negative")
    __pos__ = _prefix("positive")
    __invert__ = _prefix("bitwise_invert")
    __abs__ = _prefix("abs")

    @property
    def shape(self):
        """The sizes of the axes."""
        return self._node.shape

    @property
    def dtype(self):
        """The dtype of the elements."""
        return self._node.dtype

    @property
    def device(self):
        """The device, which is always ``"cpu"``."""
        return "cpu"

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def T(self):
        """A matrix with its axes exchanged."""
        if self.ndim != 2:
            raise ArgumentError(f"`T` is of matrices, and this array has {self.ndim} axes: write `mT` or `permute_dims`")
        return call("permute_dims", self)

    @property
    def mT(self):
        """The last two axes exchanged."""
        return call("matrix_transpose", self)

    def to_device(self, device, /, *, stream=None):
        """The array itself: there is one device."""
        check_device(device)
        if stream is not None:
            raise ArgumentError("the CPU has no streams: leave out `stream`")
        return self

    def __array_namespace__(self, /, *, api_version=None):
        # The namespace imports this module.
        from .. import array_api

        if api_version is not None and api_version not in _VERSIONS:
            raise ArgumentError(f"there is no version {api_version!r} here: the versions are {', '.join(_VERSIONS)}")
        return array_api

    def __array__(self, dtype=None, copy=None):
        data = elements(self)
        if copy is False and dtype is not None and np.dtype(dtype) != data.dtype:
            raise ArgumentError(f"an array of {data.dtype} can become {dtype} only by a copy: leave out `copy=False`")
        if copy:
            return data.astype(data.dtype if dtype is None else dtype)
        data = data.astype(data.dtype if dtype is None else dtype, copy=False).view()
        data.flags.writeable = False
        return data

    def __array_ufunc__(self, ufunc, method, /, *inputs, **kwargs):
        from ._numpy import apply_ufunc

        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs, /):
        from ._numpy import apply

        return apply(function, args, kwargs)

    def __dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
        data = elements(self)
        if not data.flags.writeable and copy is None:
            data = data.copy()
        return data.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self, /):
        # The first device of the kind kDLCPU.
        return 1, 0

    def _number(self, convert):
        if self.ndim:
            raise DTypeError(f"`{convert.__name__}` takes an array of one element and no axes, not of shape {self.shape}")
        return convert(elements(self)[()])

    def __bool__(self, /):
        return self._number(bool)

    def __int__(self, /):
        return self._number(int)

    def __float__(self, /):
        return self._number(float)

    def __complex__(self, /):
        return self._number(complex)

    def __index__(self, /):
        return self._number(operator.index)

    def __len__(self):
        if not self.ndim:
            raise DTypeError("an array without axes has no length")
        return self.shape[0]

    def __iter__(self):
        return (self[position] for position in range(len(self)))

    def __getitem__(self, key, /):
        items = key if isinstance(key, tuple) else (key,)
        if not all(_is_basic(item) for item in items):
            items, arrays = _with_arrays(items, self.shape)
            return call(_choose, self, *arrays, items=items)
        items, node = _explicit(items, self.shape), self._node
        # Other positions would be other kernels: loops over them compute the array once.
        if node.source is None or any(isinstance(item, int) for item in items):
            return wrap(_index([node.evaluate()], items))
        return call(_index, self, items=items)

    def __setitem__(self, key, value, /):
        items = key if isinstance(key, tuple) else (key,)
        if isinstance(value, Array):
            if not np.can_cast(value.dtype, self.dtype, "same_kind"):
                raise DTypeError(f"elements of {self.dtype} cannot be set to values of {value.dtype}: write `astype`")
        elif isinstance(value, (np.ndarray, np.generic)):
            self[key] = copied(value)
            return
        else:
            value = wrap(scalar(value, self.dtype).astype(self.dtype))
        # Other positions would be other kernels, as for reading.
        is_range = all(item is None or item is Ellipsis or isinstance(item, slice) for item in items)
        if is_range and (self._node.source is not None or value._node.source is not None):
            self._node = call(_set, self, value, items=_explicit(items, self.shape))._node
            return
        if any(isinstance(item, bool) or (isinstance(item, Array) and item.dtype == bool) for item in items):
            items, arrays = _with_arrays(items, self.shape)
            self._node = call(_set_chosen, self, value, *arrays, items=items)._node
            return
        data = elements(self).copy()
        data[_for_numpy(items)] = elements(value)
        self._node = _graph.leaf(data)

    # The standard has functions only, but libraries that call NumPy's methods are more than those that do not.
    all, any, argmax, argmin, max, mean, min, prod, std, sum, var = map(
        _method, ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")
    )
    cumsum, ravel, reshape, squeeze, transpose = map(_method, ("cumsum", "ravel", "reshape", "squeeze", "transpose"))

    def astype(self, dtype, copy=True):
        """The elements in another dtype."""
        return converted(self, checked_dtype(dtype))

    def copy(self):
        """An array with the same elements. A change of one is not seen in the other."""
        return made(self._node)

    def item(self):
        """The only element as a number of Python's."""
        return elements(self).item()

    def __copy__(self):
        return made(self._node)

    def __deepcopy__(self, memo):
        return made(self._node)

    def __reduce__(self):
        return wrap, (elements(self),)

    def __repr__(self):
        return "Array" + repr(elements(self)).removeprefix("array")


def made(node):
    """The array of a node."""
    array = object.__new__(Array)
    array._node = node
    return array


def wrap(data):
    """An array of the elements of a NumPy array or number, without a copy."""
    return made(_graph.leaf(np.asarray(data)))


def copied(data):
    """An array of the elements that a NumPy array has now: it may change before they are read."""
    if isinstance(data, np.ndarray) and type(data) not in (np.ndarray, np.memmap):
        raise DTypeError(f"this takes plain arrays of NumPy's, not {type(data).__name__}: write `np.asarray(..)` around it")
    return wrap(np.array(data, dtype=checked_dtype(data.dtype)))


def elements(array):
    """The elements, as a NumPy array that must not be changed."""
    return checked(array)._node.evaluate()


def checked(array):
    """The array itself, if it is one of this namespace."""
    if not isinstance(array, Array):
        raise DTypeError(f"this takes arrays of the namespace, not {type(array).__name__}: write `asarray` around it")
    return array


def scalar(value, dtype):
    """A Python number as a NumPy array without axes, in the dtype that it takes beside another array."""
    if not isinstance(value, _NUMBERS):
        raise DTypeError(f"this takes arrays of the namespace and real numbers, not {type(value).__name__}")
    kind = next(kind for kind in _NUMBERS if isinstance(value, kind))
    return np.asarray(value, dtype=checked_dtype(np.result_type(dtype, kind(0))))


def arrays_of(*operands):
    """Operands, with numbers as arrays of the dtype of the others."""
    operands = [copied(operand) if isinstance(operand, _OF_NUMPY) else operand for operand in operands]
    found = [operand.dtype for operand in operands if isinstance(operand, Array)]
    if not found:
        raise DTypeError("this takes at least one array of the namespace, not only numbers")
    dtype = np.result_type(*found)
    return [operand if isinstance(operand, Array) else wrap(scalar(operand, dtype)) for operand in operands]


def call(function, *operands, **statics):
    """Apply a function of the text language, or one of lazy arrays, to arrays and numbers."""
    return made(_graph.node(function, [array._node for array in arrays_of(*operands)], **statics))


def converted(array, dtype):
    """The elements in another dtype."""
    return call(_convert, array, dtype=dtype)


def _convert(values, dtype):
    return values[0].astype(dtype)


def _is_basic(item):
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    return not isinstance(item, (bool, Array)) and hasattr(item, "__index__") and not hasattr(item, "__len__")


def _for_numpy(items):
    """An index for NumPy, which returns an array even if one element is left."""
    items = tuple(elements(item) if isinstance(item, Array) else item for item in items)
    return items if any(item is Ellipsis for item in items) else (*items, Ellipsis)


def _with_arrays(items, shape):
    """An index with arrays, as a hashable one in which they are texts, and the arrays. Integers beside them are arrays too: other
    positions would be other kernels."""
    is_kept = [item is None or item is Ellipsis or isinstance(item, slice) for item in items]
    arrays = [
        item if isinstance(item, Array) else wrap(np.asarray(item)) for item, is_it in zip(items, is_kept) if not is_it
    ]
    rest = iter(arrays)
    items = _explicit([item if is_it else next(rest) for item, is_it in zip(items, is_kept)], shape)
    return items, arrays


def _explicit(items, shape):
    """An index of an array of this shape, as a hashable one in which slices are triples within their axes, and arrays texts."""
    count = sum(_axes_of(item) for item in items)
    if count > len(shape):
        raise OutOfRangeError(f"there are {count} indices for {len(shape)} axes")
    found, axis = [], 0
    for item in items:
        if item is Ellipsis:
            axis += len(shape) - count
            found.append(Ellipsis)
        elif item is None:
            found.append(None)
        elif isinstance(item, Array):
            found.append("array")
            axis += _axes_of(item)
        else:
            if isinstance(item, slice):
                start, stop, step = item.indices(shape[axis])
                length = len(range(start, stop, step))
                found.append((start, None if stop < 0 else stop, step) if length else (0, 0, 1))
            else:
                position = operator.index(item)
                if not -shape[axis] <= position < shape[axis]:
                    raise OutOfRangeError(f"index {position} is outside of axis {axis}, whose size is {shape[axis]}")
                found.append(position)
            axis += 1
    return tuple(found)


def _axes_of(item):
    """The number of axes of an array that an item of an index stands for."""
    if isinstance(item, Array) and item.dtype == bool:
        return item.ndim
    return int(item is not None and item is not Ellipsis)


def _slices(items):
    return tuple(slice(*item) if isinstance(item, tuple) else item for item in items)


def _index(values, items):
    return values[0][_slices(items)]


def _chosen(arrays, items):
    arrays = iter(arrays)
    return tuple(next(arrays) if isinstance(item, str) else item for item in _slices(items))


def _choose(values, items):
    return values[0][_chosen(values[1:], items)]


def _set_chosen(values, items):
    changed = changing(values[0])
    changed[_chosen(values[2:], items)] = values[1]
    return changed


def _set(values, items):
    changed = changing(values[0])
    changed[_slices(items)] = values[1]
    return changed
