"""The exceptions. Each is also an instance of the built-in exception that fits."""

import warnings
from typing import TYPE_CHECKING

from ._caught import note

if TYPE_CHECKING:
    from ._broadloom import BroadcastFigures

_WARNED: set[type] = set()


def warn_of_labels(kind):
    """Says once for each class that arrays of pandas and xarray are computed without what they have beside their elements."""
    package = kind.__module__.partition(".")[0]
    if package not in ("pandas", "xarray") or kind in _WARNED:
        return
    _WARNED.add(kind)
    what = "labels do not align, and NaN is not skipped" if package == "pandas" else "dimensions are taken by position"
    text = f"objects of the class {package}.{kind.__name__} are computed as NumPy's arrays: {what}"
    warnings.warn(f"{text}; write `x.to_numpy()` to say so", stacklevel=2)


class Error(Exception):
    """The base class of the exceptions of this package."""

    # Whether NumPy raises an error for the same reason, which a function may catch.
    _is_of_numpy = False

    def __init__(self, *args):
        super().__init__(*args)
        # What the data decide, `@k`, is not known to be wrong.
        if not self._is_of_numpy or "`@" in str(self):
            note(self)


class ShapeError(Error, ValueError):
    """Shapes do not fit together."""

    _is_of_numpy = True
    _figures: "BroadcastFigures | None" = None

    @property
    def figures(self) -> "BroadcastFigures | None":
        """The shapes that an operation cannot broadcast, drawn; None if this is not the mistake."""
        return self._figures


class DTypeError(Error, TypeError):
    """An operation does not accept the class of an object, or a dtype."""


class ProgramError(Error, ValueError):
    """A text is not a program, or a function or an argument does not exist."""


class ArgumentError(Error, ValueError):
    """An argument has a value that is not accepted."""


class OutOfRangeError(Error, IndexError):
    """The data have no result, such as an index outside of its axis."""

    _is_of_numpy = True


class TracingError(Error, TypeError):
    """A traced function needs a value that is known only when its kernel is called."""


class CompileError(Error, RuntimeError):
    """The compiler does not support a program."""


class FallbackWarning(UserWarning):
    """A function that cannot be compiled runs in NumPy: `bl.jit(function, fallback=True)`."""


class InternalError(Error, RuntimeError):
    """A defect of Broadloom, which should be reported."""
