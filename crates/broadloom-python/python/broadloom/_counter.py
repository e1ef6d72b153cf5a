"""Counters of loops: integers that are not known while a step is traced, but of which it is known how they grow."""

import numpy as np

from ._attempt import refusal
from ._errors import TracingError
from ._lazy import Array
from ._moving import DEPENDS


class Counter(Array):
    """A sum of counters and an integer: it has a factor for each counter, by its name."""

    __slots__ = ("_high", "_low", "_offset", "_terms")

    @classmethod
    def of(cls, value, low=None, high=None):
        """The counter that a lazy integer is, with its bounds."""
        return cls.made(value, {value._name(): 1}, 0, low, high)

    @classmethod
    def made(cls, value, terms, offset, low, high):
        self = cls(value._trace, value._name())
        self._terms = {name: factor for name, factor in terms.items() if factor}
        self._offset, self._low, self._high = offset, low, high
        return self

    def _sum(self, value, other, sign=1, own=1):
        """The counter that a value is: a multiple of this one, and of an integer or another counter."""
        if not isinstance(value, Array) or not value._is_number:
            return value
        is_counter = isinstance(other, Counter)
        terms = {name: own * factor for name, factor in self._terms.items()}
        for name, factor in (other._terms if is_counter else {}).items():
            terms[name] = terms.get(name, 0) + sign * factor
        offset = own * self._offset + sign * (other._offset if is_counter else other)
        ends = [_scaled(self._low, self._high, own), _scaled(*((other._low, other._high) if is_counter else (other, other)), sign)]
        low, high = (None if None in pair else sum(pair) for pair in zip(*ends))
        return Counter.made(value, terms, offset, low, high)

    def __add__(self, other):
        made = Array.__add__(self, other)
        return self._sum(made, other) if _is_whole(other) else made

    def __radd__(self, other):
        made = Array.__radd__(self, other)
        return self._sum(made, other) if _is_whole(other) else made

    def __sub__(self, other):
        made = Array.__sub__(self, other)
        return self._sum(made, other, -1) if _is_whole(other) else made

    def __rsub__(self, other):
        made = Array.__rsub__(self, other)
        return self._sum(made, other, own=-1) if _is_whole(other) else made

    def __mul__(self, other):
        made = Array.__mul__(self, other)
        return self._sum(made, 0, own=int(other)) if _is_known(other) else made

    def __rmul__(self, other):
        made = Array.__rmul__(self, other)
        return self._sum(made, 0, own=int(other)) if _is_known(other) else made

    def __neg__(self):
        return self._sum(Array.__neg__(self), 0, own=-1)

    def __pos__(self):
        return self

    def __pow__(self, other):
        # Python's integers have no bounds, and those of programs have 64 bits.
        ends = (self._low, self._high)
        if isinstance(other, int) and None not in ends and max(map(abs, ends)) ** max(other, 0) >= 2**63:
            raise refusal(TracingError(f"a power of an integer that {DEPENDS} has more than 64 bits"))
        return Array.__pow__(self, other)

    def _refuse(self, *args, **kwargs):
        raise refusal(TracingError(f"a value {DEPENDS}: write `np.where(condition, a, b)` to choose between values"))

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __hash__ = _refuse  # type: ignore[assignment]
    __str__ = __repr__ = __format__ = __lshift__ = __rlshift__ = __rpow__ = _refuse  # type: ignore[assignment]


def _is_known(other):
    return isinstance(other, (int, np.integer)) and not isinstance(other, bool)


def _is_whole(other):
    return isinstance(other, Counter) or (isinstance(other, int) and not isinstance(other, bool))


def _scaled(low, high, factor):
    ends = [None if end is None else end * factor for end in (low, high)]
    return ends if factor >= 0 else ends[::-1]
