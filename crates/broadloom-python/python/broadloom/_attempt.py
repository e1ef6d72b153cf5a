"""Attempts to trace a step of a loop once for all steps, and what guards them against changes that only the first step would make.

A loop carries what its steps change. An array from outside that a step changes without that the loop carries it is found where it
is changed: it is refused there, and the attempt can begin again with the array among those that are carried.
"""

import threading

from ._errors import TracingError

_local = threading.local()

# The arrays that may share their elements with others, as NumPy would know, by their identities: results of loops that give names
# to arrays, and what these names stood for. A trace removes its own when it ends.
shared: dict = {}


class Attempt:
    """The steps that are being traced. `carried` are the identities of arrays that keep their place while they change."""

    def __init__(self, carried=(), call="the loop"):
        self.carried, self.call = frozenset(carried), call
        # The identity of an array that was changed and is not carried: the exception for it may be caught in between.
        self.changed = None
        # Why a value was refused that is known where steps are taken one by one: what the steps did after that is another thing.
        self.refused = None

    def __enter__(self):
        self.around = innermost()
        _local.attempt = self
        return self

    def __exit__(self, *error):
        _local.attempt = self.around

    def check(self):
        """Refuses the steps if something was refused in them, also if they caught the exception."""
        if self.refused is not None:
            raise self.refused
        if self.changed is not None:
            raise TracingError(
                f"a step of {self.call} changes an array that it does not carry: return the new array from the step, "
                "`x = x.at[i].set(v)`, or change a `.copy()` that is made in the step"
            )


def innermost():
    """The innermost attempt that is open in this thread."""
    return getattr(_local, "attempt", None)


def refusal(error):
    """The error, which no attempt that is open survives."""
    attempt = innermost()
    if attempt is not None:
        attempt.refused = error
    return error


def root_of(array):
    """The identity of the array whose elements an array has: its own, if it is no view."""
    return array._root or id(array)


def check_change(array):
    """Refuses the change of an array that steps are traced with and that they do not carry."""
    root = root_of(array)
    if root in shared:
        raise TracingError(
            "an array is changed to which the steps of a loop gave other names, and which of them stand for it is not known: write "
            "`a = b.copy()` in the steps, or change a copy"
        )
    attempt = innermost()
    if attempt is None or array._attempt is attempt:
        return
    if root not in attempt.carried:
        attempt.changed = root
        attempt.check()
