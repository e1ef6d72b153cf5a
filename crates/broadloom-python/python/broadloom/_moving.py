"""Ranges of an index whose place depends on the counter of a loop: `x[i - 1:i + 2]` has 3 elements in each step."""

import numpy as np

from ._attempt import refusal
from ._errors import TracingError
from ._index import is_moving

DEPENDS = "depends on the counter of a loop, which is not known while its steps are traced once for all"


class CounterError(TracingError):
    """The steps of a loop cannot be traced once, whatever the sizes are."""


def moving(array, index):
    """The view of an array that ranges of constant lengths choose, and the index of the others in it."""
    items = list(index) if isinstance(index, tuple) else [index]
    at = next((position for position, item in enumerate(items) if item is Ellipsis), None)
    if at is not None:
        given = sum(item is not None and item is not Ellipsis for item in items)
        items[at : at + 1] = [slice(None)] * (array.ndim - given)
    axis, part = 0, array
    for position, item in enumerate(items):
        if item is None:
            continue
        if is_moving(item):
            places = _places(part, axis, item)
            part = part._part((slice(None),) * axis + (places,))
            items[position] = slice(None)
        axis += 1
    # Sizes that are not known are not compared.
    is_all = all(isinstance(item, slice) and item.start is item.stop is item.step is None for item in items)
    return part, None if is_all else tuple(items)


def _places(array, axis, item):
    """The positions of a range, whose number must be known."""
    start, stop = item.start, item.stop
    if item.step not in (None, 1):
        raise refusal(TracingError(f"the step of a range {DEPENDS}: write `x[i:i + n][::2]`"))
    terms = [{} if isinstance(end, int) else getattr(end, "_terms", None) for end in (0 if start is None else start, stop)]
    if None in terms or terms[0] != terms[1]:
        kind = TracingError if None in terms else CounterError
        text = "write ranges of one length, such as `x[i:i + 3]`, or masks, `np.where(np.arange(n) < i, x, 0)`"
        raise refusal(kind(f"the length of the range `x[i:j]` {DEPENDS}: {text}"))
    length = max(stop._offset - start._offset, 0)
    size = array.shape[axis]
    if start._low is None or start._low < 0:
        raise refusal(TracingError(f"a range begins at a place that {DEPENDS}, and that may lie before the array"))
    if isinstance(size, int) and start._high is not None and start._high + length > size:
        raise refusal(TracingError(f"a range ends at a place that {DEPENDS}, and that may lie behind the array"))
    return array._trace.call("arange", (length,), {}) + start.astype(np.int64)
