"""Counters of loops: integers that are not known while a step is traced, but of which it is known how they grow."""

from ._attempt import refusal
from ._errors import TracingError
from ._lazy import Array
from ._moving import DEPENDS
from ._weak import MANY, check_fits


def _summed(name, sign=1, own=1):
    operate = getattr(Array, f"__{name}__")

    def sum_with(self, other):
        made = operate(self, other)
        if getattr(other, "_is_size", False):
            other = Counter.made(other, {other._name(): 1}, 0, None, None, {other._name(): (0, MANY)})
        return self._sum(made, other, sign, own) if isinstance(other, Counter) or is_integer(other) else made

    return sum_with


def _multiplied(name):
    operate = getattr(Array, f"__{name}__")

    def multiply_by(self, other):
        made = operate(self, other)
        return self._sum(made, 0, own=other) if is_integer(other) else made

    return multiply_by


def _divided(name):
    operate = getattr(Array, f"__{name}__")

    def divide_by(self, other):
        made = operate(self, other)
        if not is_integer(other) or other <= 0 or not isinstance(made, Array):
            return made
        known, expected = (self._low, self._high), self._bounds()
        if name == "mod":
            return Counter.of(made, 0, other - 1)
        ends = [(None if low is None else low // other, None if high is None else high // other) for low, high in (known, expected or (None, None))]
        return Counter.of(made, *ends[0], ends=None if expected is None else ends[1])

    return divide_by


class Counter(Array):
    """A sum of counters and an integer: it has a factor for each counter, by its name."""

    # `_low` and `_high` are bounds that are known. `_ends` has for each counter those that it keeps in loops that end before very
    # many steps, a list of what it has to fit if they are known once the step is traced, or None.
    __slots__ = ("_ends", "_high", "_low", "_offset", "_terms")
    _is_integer = True

    @classmethod
    def of(cls, value, low=None, high=None, ends=None):
        """The counter that a lazy integer is, with its bounds."""
        if low is not None:
            ends = low, low + MANY if high is None else high
        return cls.made(value, {value._name(): 1}, 0, low, high, {value._name(): ends})

    @classmethod
    def made(cls, value, terms, offset, low, high, ends):
        self = cls(value._trace, value._name())
        self._terms = {name: factor for name, factor in terms.items() if factor}
        self._offset, self._low, self._high, self._ends = offset, low, high, ends
        return self

    def _sum(self, value, other, sign=1, own=1):
        """The counter that a value is: a multiple of this one, and of an integer or another counter."""
        if not isinstance(value, Array) or value.ndim or value.dtype.kind != "i":
            return value
        is_counter = isinstance(other, Counter)
        terms = {name: own * factor for name, factor in self._terms.items()}
        for name, factor in (other._terms if is_counter else {}).items():
            terms[name] = terms.get(name, 0) + sign * factor
        offset = own * self._offset + sign * (other._offset if is_counter else other)
        ends = [_scaled(self._low, self._high, own), _scaled(*((other._low, other._high) if is_counter else (other, other)), sign)]
        low, high = (None if None in pair else sum(pair) for pair in zip(*ends))
        return Counter.made(value, terms, offset, low, high, self._ends | (other._ends if is_counter else {}))

    def _bounds(self, known=None):
        """The bounds of the integer in loops that end before very many steps; None if they are not known. `known` has those of
        counters that steps carry."""
        if self._low is not None and self._high is not None:
            return self._low, self._high
        low = high = self._offset
        for name, factor in self._terms.items():
            ends = (known or {}).get(name, self._ends[name])
            if not isinstance(ends, tuple):
                return None
            first, last = _scaled(*ends, factor)
            low, high = low + first, high + last
        return low, high

    def _fits(self, limits):
        """Whether elements with these limits hold the integer; None if that is not known. Where it will be, it counts as if they did."""
        bounds = self._bounds()
        if bounds is not None:
            return limits.min <= bounds[0] and bounds[1] <= limits.max
        waiting = [ends for name in self._terms if isinstance(ends := self._ends[name], list)]
        if not waiting or any(self._ends[name] is None for name in self._terms):
            return None
        for ends in waiting:
            ends.append((self, limits.dtype))
        return True

    __add__, __radd__ = _summed("add"), _summed("radd")
    __sub__, __rsub__ = _summed("sub", sign=-1), _summed("rsub", own=-1)
    __mul__, __rmul__ = _multiplied("mul"), _multiplied("rmul")
    __floordiv__, __mod__ = _divided("floordiv"), _divided("mod")

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

    def copy(self, order="C"):
        """The integer itself: nothing changes it."""
        return self

    def _refuse(self, *args, **kwargs):
        raise refusal(TracingError(f"a value {DEPENDS}: write `np.where(condition, a, b)` to choose between values"))

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __hash__ = _refuse  # type: ignore[assignment]
    __str__ = __repr__ = __format__ = __lshift__ = __rlshift__ = __rpow__ = _refuse  # type: ignore[assignment]


def as_counter(value):
    """An integer of Python's that the steps of a loop carry: what it has to fit is checked when it is known how it grows."""
    return Counter.of(value, ends=[])


def check_carried(value, init, end, steps):
    """Refuses an integer that steps carry if what they compute it with does not hold it. `steps` is their number, if it is known."""
    name = value._name()
    waiting = value._ends[name]
    if getattr(end, "dtype", None) is not None and not isinstance(end, Counter):
        # It takes the dtype of what follows it, with which the steps are traced again.
        return
    last = max(steps - 1, 0) if isinstance(steps, int) else MANY
    if isinstance(end, Counter) and end._terms == value._terms:
        ends = (init, init + end._offset * last)
    else:
        ends = (init, end) if is_integer(end) else None
    value._ends[name] = None
    for counter, dtype in waiting:
        known = {} if ends is None else {name: (min(ends), max(ends))}
        bounds = counter._bounds(known)
        check_fits(counter if bounds is None else Counter.of(counter, *bounds), dtype)


def is_integer(value):
    """Whether a value is an integer of Python's."""
    return isinstance(value, int) and not isinstance(value, bool)


def _scaled(low, high, factor):
    ends = [None if end is None else end * factor for end in (low, high)]
    return ends if factor >= 0 else ends[::-1]
