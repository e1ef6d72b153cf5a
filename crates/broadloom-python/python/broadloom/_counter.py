"""Counters of loops: integers that are not known while a step is traced, but of which it is known how they grow."""

from ._attempt import refusal
from ._errors import TracingError
from ._lazy import Array
from ._moving import DEPENDS


def _summed(name, sign=1, own=1):
    operate = getattr(Array, f"__{name}__")

    def sum_with(self, other):
        made = operate(self, other)
        return self._sum(made, other, sign, own) if isinstance(other, Counter) or is_integer(other) else made

    return sum_with


def _multiplied(name):
    operate = getattr(Array, f"__{name}__")

    def multiply_by(self, other):
        made = operate(self, other)
        return self._sum(made, 0, own=other) if is_integer(other) else made

    return multiply_by


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

    __add__, __radd__ = _summed("add"), _summed("radd")
    __sub__, __rsub__ = _summed("sub", sign=-1), _summed("rsub", own=-1)
    __mul__, __rmul__ = _multiplied("mul"), _multiplied("rmul")

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


def is_integer(value):
    """Whether a value is an integer of Python's."""
    return isinstance(value, int) and not isinstance(value, bool)


def _scaled(low, high, factor):
    ends = [None if end is None else end * factor for end in (low, high)]
    return ends if factor >= 0 else ends[::-1]
