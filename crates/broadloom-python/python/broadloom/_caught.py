"""What was refused while functions are traced. NumPy would not have refused it: a function that catches the error, by `except TypeError`
around `float(x)`, would go on with another thing than in NumPy, and its kernel would compute that."""

import threading

_local = threading.local()


class _Tracing:
    """A function that is being traced, and the first error in it that NumPy would not raise."""

    __slots__ = ("error", "function")

    def __init__(self, function):
        self.function, self.error = function, None


def _open():
    try:
        return _local.open
    except AttributeError:
        _local.open = []
        return _local.open


def note(error):
    """Keeps an error that is raised while a function is traced."""
    traced = _open()
    if traced and traced[-1].error is None:
        traced[-1].error = error


def forget(error):
    """Returns an error that NumPy raises too, which the function may catch."""
    for tracing in _open():
        if tracing.error is error:
            tracing.error = None
    return error


def begin(function):
    """Begins to trace a function."""
    traced = _open()
    # An attempt that failed ends when the next one begins.
    if traced and traced[-1].function is function:
        traced.pop()
    traced.append(_Tracing(function))


def end(function):
    """Ends the trace of a function that has returned; raises what it caught."""
    traced, found = _open(), None
    while traced:
        tracing = traced.pop()
        found = tracing.error or found
        if tracing.function is function:
            break
    if found is not None:
        raise found


def depth():
    """The number of functions that are being traced in this thread."""
    return len(_open())


def leave(depth):
    """Ends the traces that were begun after there were so many, of functions that have raised. Returns the first error in each."""
    traced = _open()
    left = [tracing.error for tracing in traced[depth:] if tracing.error is not None]
    del traced[depth:]
    return left


class Trial:
    """Steps that are traced on trial: what is refused in them may be taken another way."""

    def __init__(self):
        traced = _open()
        self.tracing = traced[-1] if traced else None
        self.before = None if self.tracing is None else self.tracing.error

    def undo(self):
        """Forgets what was refused since the trial began."""
        if self.tracing is not None:
            self.tracing.error = self.before
