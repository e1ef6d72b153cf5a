"""What a function can change beside its arguments: sources of random numbers, and arrays of NumPy's. What it does to them while it is
traced is done once, and not at each call."""

import random
import threading

import numpy as np

# Copies of all arrays that are compared have at most so many bytes; those of the smallest are made first.
_MAX_BYTES = 256 << 20


class Kept:
    """Sources of random numbers and arrays, as they are when the trace of a function begins."""

    def __init__(self, sources, arrays):
        self._states = [(source, _state(source), name, place) for source, name, place in sources]
        # As they are in memory: subclasses have rules of their own.
        arrays = [(np.asarray(array), *named) for array, *named in arrays]
        self._copies, total = [], 0
        for array, *named in sorted(arrays, key=lambda found: found[0].nbytes):
            total += array.nbytes if array.flags.writeable else 0
            if array.flags.writeable and total <= _MAX_BYTES:
                self._copies.append((array, array.copy("K"), *named))

    def drawn(self):
        """The names and the places of the sources of random numbers that have another state."""
        return [(name, place) for source, state, name, place in self._states if _state(source) != state]

    def restore(self):
        """Puts back the elements of arrays that have changed, and ends the comparison. Returns their names and where the code reads
        them. Beside other threads, which may have changed them, nothing is put back."""
        copies, self._copies = self._copies, []
        changed = [(array, copy, *named) for array, copy, *named in copies if _bits(array) != _bits(copy)]
        if threading.active_count() == 1:
            for array, copy, *_ in changed:
                array[...] = copy
        return [tuple(named) for _, _, *named in changed]


def _bits(array):
    """The bytes of all elements, without a copy of them where they are contiguous."""
    if array.dtype.hasobject or not array.nbytes:
        return array.tobytes()
    return memoryview(array.ravel("K").view(np.uint8))


def _state(source):
    """The state of a source of random numbers, as a value that can be compared."""
    if isinstance(source, random.Random):
        return source.getstate()
    is_old = isinstance(source, np.random.RandomState)
    return sorted(_plain_state(source.get_state(legacy=False) if is_old else source.bit_generator.state))


def _plain_state(state):
    for name, value in state.items():
        if isinstance(value, dict):
            yield from _plain_state(value)
        else:
            yield name, value.tobytes() if isinstance(value, np.ndarray) else value
