"""NumPy code, compiled: lazy, broadcasting array expressions, fused into loops of machine code.

>>> import numpy as np
>>> import broadloom as bl
>>> @bl.jit
... def distance(x, y):
...     return np.sqrt(x * x + y * y)
>>> distance(np.array([3.0, 6.0]), np.array([4.0, 8.0]))
array([ 5., 10.])
>>> bl.eval("sqrt(x*x + y*y)", x=np.array([3.0]), y=np.array([4.0]))
array([5.])
"""

from ._api import broadcast_figures, compile, eval, input, jit
from ._broadloom import VERSION as __version__
from ._broadloom import BroadcastFigures, Function, Kernel, Program
from ._errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    Error,
    FallbackWarning,
    InternalError,
    OutOfRangeError,
    ProgramError,
    ShapeError,
    TracingError,
)
from ._grad import grad, hvp, jvp, stop_gradient, value_and_grad, vjp, with_gradient
from ._lazy import Array, Size
from ._loops import fori_loop, scan, while_loop

__all__ = [
    "ArgumentError",
    "Array",
    "BroadcastFigures",
    "CompileError",
    "DTypeError",
    "Error",
    "FallbackWarning",
    "Function",
    "InternalError",
    "Kernel",
    "OutOfRangeError",
    "Program",
    "ProgramError",
    "ShapeError",
    "Size",
    "TracingError",
    "__version__",
    "broadcast_figures",
    "compile",
    "eval",
    "fori_loop",
    "grad",
    "hvp",
    "input",
    "jit",
    "jvp",
    "scan",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "while_loop",
    "with_gradient",
]
