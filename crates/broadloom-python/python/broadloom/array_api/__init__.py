"""A namespace after the Python array API standard, version 2025.12, whose arrays are computed when they are read.

Code that is written for the standard runs on it unchanged. Operations note what is to be done; a look at an array, by
``bool``, ``float``, ``print``, ``numpy.asarray`` or DLPack, compiles all that leads to it to one kernel and runs it.
Kernels are kept, so that the same operations on other arrays, of other sizes too, compile nothing.

>>> import broadloom.array_api as xp
>>> x = xp.linspace(0.0, 1.0, 5)
>>> y = xp.sqrt(x * x + 1.0)
>>> float(xp.sum(y[1:] - y[:-1]))
0.41421356237309515
>>> xp.asarray([1, 2, 3]) ** 2
Array([1, 4, 9])

There are no complex numbers, no float16, and no extension `fft`. Decompositions of the extension `linalg` are computed at once, by
NumPy. So are functions whose shapes depend on elements, such as `nonzero`, by our kernels. NumPy's functions take these arrays too:
``numpy.exp(x)`` is noted like ``xp.exp(x)``.
"""

from math import e, inf, nan, pi

from . import linalg
from ._array import Array
from ._creation import *
from ._elementwise import *
from ._extras import *
from ._functions import *
from ._info import *

__array_api_version__ = "2025.12"
newaxis = None
