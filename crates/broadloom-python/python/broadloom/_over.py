"""What a loop iterates over, where it may be a loop of the program: ranges whose ends are not known, and rows of lazy arrays."""

import numpy as np

from ._broadloom import Value
from ._counter import Counter
from ._flat import Flat
from ._lazy import Array, Size


class Over:
    """What a loop iterates over, as a loop of the program does: so many steps, or the rows of arrays."""

    def __init__(self, length, rows, item, plain):
        self.length, self.rows, self.item, self.plain = length, rows, item, plain

    @property
    def is_known(self):
        return isinstance(self.length, int)

    def __iter__(self):
        return iter(self.plain())


def over(kind, *arguments):
    """What `range`, `enumerate`, `zip` and `reversed` return, where their arguments may be lazy."""
    if kind is range and 1 <= len(arguments) <= 3 and any(isinstance(bound, Value) for bound in arguments):
        return _range(*arguments)
    if kind is reversed and len(arguments) == 1 and isinstance(arguments[0], range):
        return arguments[0][::-1]
    made = _combined(kind, arguments) if kind in (enumerate, zip, reversed) else None
    return kind(*arguments) if made is None else made


def _range(first, *others):
    start, stop, step = (0, first, 1) if not others else (first, *others, 1)[:3]
    for bound in (start, stop, step):
        if isinstance(bound, Value) and not isinstance(bound, Size) and (bound.ndim or bound.dtype.kind not in "iu"):
            raise TypeError(f"`range` takes integers, not {bound._type}: write `.astype(int)`")

    def plain():
        return range(*(bound if isinstance(bound, int) else bound.__index__() for bound in (start, stop, step)))

    if not isinstance(step, (int, np.integer)) or step == 0:
        return plain()
    step = int(step)
    length = stop - start if not isinstance(start, int) or start else stop
    if step != 1:
        length = (length + (step - 1)) // step if step > 0 else (length * -1 + (-step - 1)) // -step
    if isinstance(length, int):
        return range(start, stop, step)
    return Over(length, [], _number(start, step), plain)


def _number(start, step):
    """The numbers of a range, by their counter."""

    def number(counter, rows):
        scaled = counter if step == 1 else counter * step
        if isinstance(start, int) and not start:
            return scaled
        made = scaled + start
        # An integer of Python's, wherever it begins.
        return made if isinstance(made, Counter) or not isinstance(made, Array) else Counter.of(made)

    return number


def _combined(kind, arguments):
    """What combines others, if all are ranges and arrays, and one is lazy."""
    start = 0
    if kind is enumerate and len(arguments) == 2:
        *arguments, start = arguments
    parts = [as_over(argument, True) for argument in arguments]
    if None in parts or not parts or not any(isinstance(argument, (Over, Value, Flat)) for argument in arguments):
        return None
    lengths = [part.length for part in parts]
    if all(part.is_known for part in parts):
        length = min(lengths)
    elif len(parts) == 1 or all(_is_same(length, lengths[0]) for length in lengths) and all(part.rows for part in parts):
        length = lengths[0]
    else:
        return None
    rows, at = [], []
    for part in parts:
        at.append(slice(len(rows), len(rows) + len(part.rows)))
        rows += part.rows if _is_same(part.length, length) else [row[:length] for row in part.rows]

    def items(counter, of_rows):
        return tuple(part.item(counter, of_rows[place]) for part, place in zip(parts, at, strict=True))

    def plain():
        return kind(*arguments, start) if kind is enumerate else kind(*arguments)

    if kind is zip:
        return Over(length, rows, items, plain)
    if kind is enumerate:
        return Over(length, rows, lambda counter, of_rows: (counter + start, *items(counter, of_rows)), plain)
    (part,) = parts
    if part.rows:
        return Over(part.length, [row[::-1] for row in part.rows], part.item, plain)


    def reverse(counter, of_rows):
        made = -counter + (part.length - 1)
        return part.item(made if part.is_known else Counter.of(made, 0), of_rows)

    return Over(part.length, [], reverse, plain)


def _is_same(length, other):
    """Whether two lengths are equal for all sizes."""
    if isinstance(length, Size) and isinstance(other, Size):
        return length._is_same(other)
    return isinstance(length, int) and length == other


def as_over(item, is_part=False):
    """What a loop of the program could iterate over; `None` for everything else."""
    if isinstance(item, Over):
        return item
    if isinstance(item, range):
        return Over(len(item), [], _number(item.start, item.step), lambda: item)
    if isinstance(item, Flat):
        if item.index or (of_flat := as_over(np.ravel(item.base))) is None:
            return None
        return Over(of_flat.length, of_flat.rows, of_flat.item, lambda: item)
    if isinstance(item, Array) and item.ndim or (is_part and isinstance(item, np.ndarray) and item.ndim):
        return Over(item.shape[0], [item], lambda counter, rows: rows[0], lambda: item)
    return None
