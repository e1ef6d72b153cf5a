"""`x.flat`: the elements of a lazy array in row-major order, by position and one after the other."""

import operator

import numpy as np

from ._broadloom import Value
from ._errors import TracingError
from ._index import is_array
from ._special import reshape


class Flat:
    """The elements of an array, which changes with them."""

    _refused_result = "the iterator `x.flat` is returned: return the elements, `x.ravel()`"

    def __init__(self, array, put):
        # The array, and what writes to positions that are arrays.
        self.base, self._put = array, put
        self.index = 0

    def __len__(self):
        return len(np.ravel(self.base))

    def __iter__(self):
        return self

    def __next__(self):
        elements = np.ravel(self.base)
        if self.index >= len(elements):
            raise StopIteration
        self.index += 1
        return elements[self.index - 1]

    def copy(self):
        """All elements along one axis."""
        return np.ravel(self.base).copy()

    def _place(self, key):
        if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
            raise TracingError("`x.flat` takes one position while a function is traced: write `x.reshape(-1)` or a range")
        size = self.base.size
        if isinstance(size, int) and not -size <= key < size:
            raise IndexError(f"index {key} is out of bounds for size {size}")
        try:
            return tuple(int(i) for i in np.unravel_index(key % size, self.base.shape))
        except TypeError:
            raise TracingError("a size is not known while the function is traced for all sizes") from None

    def __getitem__(self, key):
        if isinstance(key, slice) or key is Ellipsis or is_array(key):
            return self.copy()[key].copy()
        if isinstance(key, Value):
            return np.ravel(self.base)[key]
        return self.base[self._place(key)]

    def __setitem__(self, key, value):
        if isinstance(key, slice) or key is Ellipsis:
            flat = self.copy()
            flat[key] = np.ravel(value) if np.ndim(value) > 1 else value
            self.base[...] = reshape(flat, self.base.shape)
        elif is_array(key):
            self._put(self.base, key, value)
        else:
            self.base[self._place(key)] = value

    def __array__(self, *args, **kwargs):
        return np.ravel(self.base).__array__(*args, **kwargs)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "at" or any(isinstance(item, Flat) for item in kwargs.get("out", ())):
            raise TypeError("`x.flat` is not an array: write to `x` itself")
        return getattr(ufunc, method)(*map(elements, inputs), **{name: elements(item) for name, item in kwargs.items()})

    def __array_function__(self, function, types, args, kwargs):
        if isinstance(kwargs.get("out"), Flat) or function in (np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal):
            raise TypeError("`x.flat` is not an array: write to `x` itself")
        return function(*map(elements, args), **{name: elements(item) for name, item in kwargs.items()})


def _compared(name):
    compare = getattr(operator, name)
    return lambda self, other: compare(self.copy(), elements(other))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Flat, f"__{_name}__", _compared(_name))
del _name


def elements(item):
    """An array in the place of its iterator, also in lists."""
    if isinstance(item, Flat):
        return item.copy()
    if type(item) in (list, tuple):
        return type(item)(map(elements, item))
    return item
