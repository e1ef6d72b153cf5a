"""Functions of NumPy that are written with other functions."""

import numpy as np

from ._broadloom import Value
from ._index import has_lazy, is_computed
from ._errors import ArgumentError, ShapeError, TracingError
from ._special import check_device, lazy, trace_of


def histogram(a, bins=10, range=None, density=None, weights=None):
    """`np.histogram` with weights; without, the language has it."""
    if weights is None:
        return NotImplemented
    if np.ndim(weights) != np.ndim(a):
        raise ArgumentError("`weights=` of `np.histogram` needs the shape of the elements")
    _, edges = np.histogram(a, bins, range)
    a, weights = np.ravel(a), np.ravel(weights)
    count = edges.shape[0] - 1
    first, last = edges[0], edges[-1]
    if np.ndim(bins):
        place = np.searchsorted(edges, a, side="right") - 1
        place = np.where(a == last, count - 1, place)
    else:
        # As NumPy does it: the quotient, which rounds, is compared with the edges of its bin.
        place = np.clip(((a - first) / (last - first) * count).astype(np.int64), 0, count - 1)
        place = place - (a < edges[place])
        place = place + ((a >= edges[place + 1]) & (place != count - 1))
    inside = (a >= first) & (a <= last)
    counted = {"weights": np.where(inside, weights, 0), "minlength": count}
    sums = a._trace.call("bincount", (np.where(inside, place, 0),), counted)
    if density:
        return sums / np.diff(edges) / sums.sum(), edges
    return sums.astype(weights.dtype), edges


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`np.linspace` between numbers that are known only when the kernel is called."""
    check_device("np.linspace", device)
    if axis is None:
        raise TypeError("`np.linspace` takes an integer as `axis=`, not None")
    if any(np.ndim(end) for end in (start, stop)) or axis not in (0, -1):
        raise TracingError("`np.linspace` between arrays is not traced: write `start + (stop - start) * np.linspace(0, 1, n)`")
    if is_computed(num):
        num = num._trace.call("as_size", (num,), {})
    if not isinstance(num, (int, np.integer)) and not getattr(num, "_is_size", False):
        raise TracingError("the number of elements of `np.linspace` is not known: pass it as a static argument or a size")
    trace = next(value._trace for value in (start, stop, num) if isinstance(value, Value))
    options = {"endpoint": bool(endpoint)}
    made = trace.call("linspace", (start, stop, num), options)
    if retstep:
        # Integers are converted first: their difference may not fit them.
        start, stop = (end.astype(made.dtype) if isinstance(end, Value) else end for end in (start, stop))
        parts = num - 1 if endpoint else num
        step = (stop - start) / parts if isinstance(parts, Value) or parts > 0 else np.nan * (stop - start)
    if dtype is not None:
        made = trace.call("linspace", (start, stop, num), options | {"dtype": np.dtype(dtype)})
    return (made, step) if retstep else made


class Grid:
    """`np.mgrid` and `np.ogrid`"""

    def __init__(self, trace, plain):
        self._trace, self._plain = trace, plain

    def __getitem__(self, key):
        keys = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(part, slice) and has_lazy([part.start, part.stop, part.step]) for part in keys):
            return self._plain[key]
        axes = [self._trace.call("arange", (part.start or 0, part.stop, part.step or 1), {}) for part in keys]
        if not isinstance(key, tuple):
            return axes[0]
        axes = np.meshgrid(*axes, indexing="ij", sparse=self._plain is np.ogrid)
        return axes if self._plain is np.ogrid else np.stack(axes)


def ix_(*args):
    """`np.ix_`: positions along each axis, which stretch to all pairs of them."""
    made = []
    for number, item in enumerate(args):
        if not isinstance(item, Value):
            item = np.asarray(item)
            item = item.nonzero()[0] if item.dtype == bool else item
        elif item.dtype == bool:
            item = item.nonzero()[0]
        if item.ndim != 1:
            raise ShapeError("`np.ix_` takes arrays of one axis")
        made.append(item[(None,) * number + (slice(None),) + (None,) * (len(args) - 1 - number)])
    return tuple(made)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    """`np.cov` refuses the numbers that the language takes for other functions."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    return NotImplemented


def unravel_index(indices, shape, order="C"):
    """`np.unravel_index` refuses orders that other functions take."""
    if order not in ("C", "F", None):
        raise ValueError("only 'C' or 'F' order is permitted")
    return NotImplemented


def sinc(x, /):
    """`np.sinc` computes in `f64` also where other functions of small integers have results of `f32`."""
    return NotImplemented if x.dtype.kind == "f" else np.sinc(x.astype(np.float64))


def trapezoid(y, x=None, dx=1.0, axis=-1):
    """`np.trapezoid` of flags and integers, whose sums and differences are of their own dtype."""
    trace = trace_of((y, x, dx))
    y = lazy(trace, y)
    x = None if x is None else lazy(trace, x)
    if y.dtype.kind == "f" and (x is None or x.dtype.kind == "f"):
        return NotImplemented
    steps = dx if x is None else np.diff(x) if x.ndim == 1 else np.diff(np.moveaxis(x, axis, -1))
    y = np.moveaxis(y, axis, -1)
    return (steps * (y[..., 1:] + y[..., :-1]) / 2.0).sum(axis=-1)


FUNCTIONS = {
    np.histogram: histogram, np.linspace: linspace, np.ix_: ix_, np.cov: cov, np.unravel_index: unravel_index,
    np.sinc: sinc, np.trapezoid: trapezoid,
}  # fmt: skip
