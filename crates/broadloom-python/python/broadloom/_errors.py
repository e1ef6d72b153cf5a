"""The exceptions. Each is also of the class of Python's that fits."""


class Error(Exception):
    """What all exceptions of this package are."""


class ShapeError(Error, ValueError):
    """Shapes do not fit each other."""


class DTypeError(Error, TypeError):
    """An object or a dtype is of a kind that the operation does not take."""


class ProgramError(Error, ValueError):
    """A text is no program, or a function or an argument does not exist."""


class ArgumentError(Error, ValueError):
    """An argument has a value that is not accepted."""


class OutOfRangeError(Error, IndexError):
    """The data have no result, such as an index outside of its axis."""


class TracingError(Error, TypeError):
    """A traced function asks for what is known only when its kernel is called."""


class CompileError(Error, RuntimeError):
    """The compiler does not support a program."""


class InternalError(Error, RuntimeError):
    """A defect of Broadloom, which should be reported."""
