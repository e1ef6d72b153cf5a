"""What views, joins, lookups and grids mean: the same elements under other indices, by NumPy."""

import math

import numpy as np

from meaning import DTYPES, F64, I64, Fails, Refused, cast, differs, select


def view(function):
    def reference(*arguments):
        try:
            return np.asarray(function(*arguments))
        except (ValueError, IndexError) as error:
            raise Refused(str(error)) from error

    return reference


def sliced(x, *parts):
    """NumPy's slices, with strict bounds; a negative step goes backwards over the same elements `start..stop`."""
    index, backwards, axis = [], [], 0
    for part in parts:
        kind, *numbers = part
        if kind == "new":
            index.append(np.newaxis)
            continue
        if axis >= x.ndim:
            raise Refused("more indices than axes")
        size = x.shape[axis]
        axis += 1
        if kind == "whole":
            index.append(slice(None))
        elif kind == "at":
            index.append(numbers[0])
        else:
            start, stop, step = numbers
            start = 0 if start is None else start + size * (start < 0)
            stop = size if stop is None else stop + size * (stop < 0)
            if step == 0 or not 0 <= start <= stop <= size:
                raise Refused("bounds")
            index.append(slice(start, stop))
            backwards.append((len(index) - 1, step))
    try:
        result = x[tuple(index)]
    except IndexError as error:
        raise Refused(str(error)) from error
    for at, step in backwards:
        # Whole elements before this axis of the result: indices that were dropped do not count.
        axis = sum(not isinstance(part, int) for part in index[:at])
        result = result[(slice(None),) * axis + (slice(None, None, step),)]
    return result


def concat(operands, axis):
    # A literal 1 does not stretch, as in NumPy.
    return view(lambda *parts: np.concatenate(parts, axis=axis))(*operands)


def stack(operands, axis):
    return view(lambda *parts: np.stack(parts, axis=axis))(*operands)


def take(table, indices, axis):
    if indices.dtype.kind not in "iu" or not -table.ndim <= axis < table.ndim:
        raise Refused("indices")
    size = table.shape[axis]
    if any(not -size <= int(index) < size for index in indices.ravel()):
        raise Fails("index")
    return np.take(table, indices.astype(I64), axis=axis)


def diff(x, order, axis):
    if not 0 <= order <= 16 or not -x.ndim <= axis < x.ndim:
        raise Refused("diff")
    with np.errstate(all="ignore"):
        return np.diff(x, order, axis)


def linspace(start, stop, length):
    if length == 0 or math.isfinite(stop - start):
        return np.linspace(start, stop, length, dtype=F64)
    differs("infinite_span", length)
    share = np.arange(length) / max(length - 1, 1)
    result = start * (1 - share) + stop * share
    result[0], result[length - 1 :] = start, stop if length > 1 else start
    return result


VIEWS = {
    "reshape": view(lambda x, sizes: x.reshape(sizes)),
    "permute": view(lambda x, axes: x.transpose(axes)),
    "expand_dims": view(lambda x, axes: np.expand_dims(x, tuple(axes))),
    "squeeze": view(lambda x, axes: np.squeeze(x, tuple(axes))),
    "broadcast_to": view(lambda x, sizes: np.broadcast_to(x, tuple(sizes))),
    "flip": view(lambda x, axis: np.flip(x, axis)),
    "diff": diff,
    "slice": sliced,
    "at": lambda index: ("at", index),
    "span": lambda start, stop, step: ("span", start, stop, step),
    "new": ("new",),
    "whole": ("whole",),
    "concat": concat,
    "stack": stack,
    "take": take,
    "iota": lambda length: np.arange(length, dtype=I64),
    "linspace": linspace,
    "cast": cast,
    "select": select,
    "inf": float("inf"),
    "nan": float("nan"),
    **DTYPES,
}
"""Everything else that an expression may name."""
