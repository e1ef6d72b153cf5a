"""What was refused while functions are traced. NumPy would not have refused it: a function that catches the error, by `except TypeError`
around `float(x)`, would go on with another thing than in NumPy, and its kernel would compute that."""

import threading
import weakref

_local = threading.local()


class Tracing:
    """A function that is being traced, as long as this lives: what it can change beside its arguments, and what was refused."""

    def __init__(self, function, kept):
        self.function, self.kept = function, kept
        # The first error that NumPy would not raise, and the traced function from which it came, if it is another one.
        self.error = self.inner = None
        traced = open_now()
        self.around = weakref.ref(traced[-1]) if traced else None
        _local.open.append(weakref.ref(self))

    def __del__(self):
        self.close()

    def close(self):
        """Ends the trace. Returns what was refused, which the function that called this one may catch too."""
        _local.open = [reference for reference in getattr(_local, "open", ()) if reference() is not self]
        # NumPy may compute next: what an attempt that failed has changed is put back, as far as it is known.
        self.kept.restore()
        error, self.error = self.error, None
        around = self.around and self.around()
        if around is not None and error is not None and around.error is None:
            around.error, around.inner = error, self.function
        elif around is not None and error is None and around.inner is self.function:
            # Another attempt was refused before.
            around.error = around.inner = None
        return error


def open_now():
    """The functions that are being traced in this thread, the innermost one last."""
    _local.open = [reference for reference in getattr(_local, "open", ()) if reference() is not None]
    return [tracing for reference in _local.open if (tracing := reference()) is not None]


def note(error):
    """Keeps an error that is raised while a function is traced."""
    traced = open_now()
    if traced and traced[-1].error is None:
        traced[-1].error = error


def forget(error):
    """Returns an error that NumPy raises too, which the function may catch."""
    for tracing in open_now():
        if tracing.error is error:
            tracing.error = None
    return error


def begin(function, kept):
    """Begins to trace a function."""
    made = Tracing(function, kept)
    names, _local.names = getattr(_local, "names", None), None
    if names is not None and (names := names()) is not None:
        names.tracing = made
    return made


def expect(names):
    """The function that is traced next has these names."""
    _local.names = weakref.ref(names)


def end(tracing):
    """Ends the trace of a function that has returned; raises what it caught."""
    error = tracing.close()
    # Nothing is passed on when it is no more.
    tracing.around = None
    if error is not None:
        raise error


class Trial:
    """Steps that are traced on trial: what is refused in them may be taken another way."""

    def __init__(self):
        traced = open_now()
        self.tracing = weakref.ref(traced[-1]) if traced else None
        self.before = traced[-1].error if traced else None

    def undo(self):
        """Forgets what was refused since the trial began."""
        tracing = self.tracing and self.tracing()
        if tracing is not None:
            tracing.error = self.before
