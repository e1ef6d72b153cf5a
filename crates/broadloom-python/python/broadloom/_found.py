"""Positions of elements that are not zero: `np.nonzero(c)`, also spelled `np.where(c)`. Their number depends on the data."""

import numpy as np

from ._change import Masked
from ._errors import ProgramError


def nonzero(a):
    """The positions along each axis: what a mask chooses of the numbers of the axis."""
    if not a.ndim:
        raise ProgramError("`np.nonzero` takes an array with axes: write `np.atleast_1d(x)`")
    mask = a.copy() if a.dtype == bool else a != 0
    found = []
    for axis, size in enumerate(a.shape):
        along = a._trace.call("arange", (size,), {})[(slice(None),) + (None,) * (a.ndim - 1 - axis)]
        places = Masked(np.where(mask, along, 0), mask)
        places.axis = axis
        found.append(places)
    return tuple(found)


def _flatnonzero(a):
    return nonzero(np.ravel(a).copy())[0]


def _argwhere(a):
    raise ProgramError(
        "the size of `np.argwhere(c)` depends on the data: use the positions of `np.nonzero(c)` as indices, `x[np.nonzero(c)] = v`, "
        "count them by `np.count_nonzero(c)`, or take the first one, `np.argmax(c)`"
    )


FOUND = {np.nonzero: nonzero, np.where: nonzero, np.flatnonzero: _flatnonzero, np.argwhere: _argwhere}
