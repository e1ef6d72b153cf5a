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
        """Returns the names of the arrays that have changed since the trace began, and where the code reads them. Puts back their
        elements, unless other threads or programs may have written them."""
        copies, self._copies = self._copies, []
        changed = [(array, copy, *named) for array, copy, *named in copies if not _are_equal(array, copy)]
        for array, copy, *_ in changed:
            if threading.active_count() == 1 and _owns_its_memory(array):
                array[...] = copy
        return [tuple(named) for _, _, *named in changed]


def _owns_its_memory(array):
    """Whether NumPy has allocated the elements, or some other library that may share them."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.flags.owndata


def _are_equal(array, copy):
    """Whether two arrays have the same bits."""
    if array.dtype.hasobject or not array.nbytes:
        return array.tobytes() == copy.tobytes()
    return np.array_equal(*(each.ravel("K").view(np.uint8) for each in (array, copy)))


def _state(source):
    """The state of a source of random numbers, as a value that can be compared."""
    if isinstance(source, random.Random):
        return source.getstate()
    if isinstance(source, np.random.RandomState):
        return sorted(_plain_state(source.get_state(legacy=False)))
    bits = source if isinstance(source, np.random.BitGenerator) else source.bit_generator
    # Children of a source draw other numbers than those before them.
    return sorted(_plain_state(bits.state)), getattr(bits.seed_seq, "n_children_spawned", None)


def _plain_state(state):
    for name, value in state.items():
        if isinstance(value, dict):
            yield from _plain_state(value)
        else:
            yield name, value.tobytes() if isinstance(value, np.ndarray) else value
