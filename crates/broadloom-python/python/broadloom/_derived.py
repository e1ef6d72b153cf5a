"""Functions that are derived from others. They work on lazy arrays, and compile themselves elsewhere."""

from __future__ import annotations

import functools
import types
import warnings

from ._api import _parameters, jit
from ._broadloom import Function, Value
from ._errors import ArgumentError, DTypeError, ShapeError
from ._frames import level
from ._lazy import Array, Size
from ._structure import items, leaves, mapped


class Derived:
    """A function of a function: what is read and traced is the function from which it is derived."""

    __slots__ = ("function", "options", "warned", "__dict__", "__weakref__")
    runs_in_numpy = False

    def __init__(self, function, options=(), warned=None):
        self.function, self.options = function, options
        # The arguments about which there was a warning.
        self.warned = set() if warned is None else warned

    def of(self, function):
        """The same of another function, which stands for that of the user while it is traced."""
        return type(self)(function, self.options, self.warned)

    def with_names(self, value):
        """The same with what stands for the names of the function while it is traced."""
        return self.of(value(self.function))

    def __call__(self, *args, **kwargs):
        trace = trace_of(self.function, (args, kwargs))
        if trace is None:
            self.check(*args)
            return jit(self)(*args, **kwargs)
        return self.traced(trace, *args, **kwargs)

    @property
    def name(self):
        """The function as messages name it."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def path(self, position):
        """An argument of the function as messages name it."""
        names = _parameters(self.function)[0]
        return names[position] if position < len(names) else f"arguments[{position}]"

    def paths(self, args):
        return [(self.path(position), argument) for position, argument in enumerate(args)]


class Evaluation(Derived):
    """The function itself, but that it leaves its arguments as they are."""

    def __call__(self, *args, **kwargs):
        return self.function(*mapped(_copied, args), **mapped(_copied, kwargs))


class Gradient(Derived):
    """The derivatives of a loss by arguments: `bl.grad` and `bl.value_and_grad`."""

    def check(self, *args):
        for position in self._chosen(args):
            _check_floats("grad", self.path(position), args[position])

    def traced(self, trace, *args, **kwargs):
        argnums, has_aux, has_value = self.options
        chosen = self._chosen(args)
        variables = Variables("grad", trace)
        given = [
            variables.of(argument, self.path(position)) if position in chosen else mapped(_copied, argument)
            for position, argument in enumerate(args)
        ]
        loss = self.function(*given, **mapped(_copied, kwargs))
        aux = None
        if has_aux:
            if not isinstance(loss, tuple) or len(loss) != 2:
                raise DTypeError(
                    f"`{self.name}` returns {_kind(loss)}, but with `has_aux=True` the loss and what stands beside it: write "
                    "`return loss, aux`"
                )
            loss, aux = loss
        self._check_loss(loss)
        slopes = iter(trace.call("grad", (loss, variables.values), {}))
        self._warn_of_unread(trace, loss, variables)
        found = {at: mapped(lambda leaf, path: None if leaf is None else next(slopes), args[at]) for at in sorted(set(chosen))}
        slope = tuple(found[at] for at in chosen) if isinstance(argnums, tuple) else found[chosen[0]]
        if has_value:
            return ((loss, aux) if has_aux else loss), slope
        return (slope, aux) if has_aux else slope

    def _chosen(self, args):
        argnums = self.options[0]
        count = len(args)
        chosen = []
        for number in argnums if isinstance(argnums, tuple) else (argnums,):
            if not -count <= number < count:
                has = {0: "none", 1: "argument 0"}.get(count, f"arguments 0 to {count - 1}")
                raise ArgumentError(
                    f"`grad` differentiates `{self.name}` with respect to argument {number}, `argnums`, but the call has {has} by "
                    "position: count from 0, and pass these arguments without their names"
                )
            chosen.append(number % count)
        return chosen

    def _check_loss(self, loss):
        if isinstance(loss, tuple):
            raise DTypeError(
                f"`{self.name}` returns a tuple, which is no loss: return the loss alone, or write `has_aux=True` for a function that "
                "returns the loss and what stands beside it"
            )
        if not hasattr(loss, "dtype") and not isinstance(loss, (int, float)):
            raise DTypeError(f"`{self.name}` returns {_kind(loss)}, which is no loss: return a number, such as `x.sum()`")

    def _warn_of_unread(self, trace, loss, variables):
        def is_read(value):
            return isinstance(loss, Value) and trace.depends(loss, value)

        unread = [path for path, value in zip(variables.paths, variables.values, strict=True) if not is_read(value)]
        unread = [path for path in unread if path not in self.warned]
        if not unread:
            return
        self.warned.update(unread)
        names, verb = " and ".join(f"`{path}`" for path in unread), "is" if len(unread) == 1 else "are"
        warnings.warn(
            f"{names} {verb} not read by the loss that `{self.name}` returns: the derivative is 0", stacklevel=level()
        )


class Pullback(Derived):
    """The derivatives of weighted results by arguments: what `bl.vjp` returns."""

    def check(self, args, cotangent):
        for position in self.options[0]:
            _check_floats("vjp", self.path(position), args[position])

    def traced(self, trace, args, cotangent):
        variables = Variables("vjp", trace)
        value = self.value_of(args, variables)
        return self.pulled(trace, args, value, cotangent, variables)

    def opened(self, trace, args):
        """The value for lazy arrays, and their pullback."""
        variables = Variables("vjp", trace)
        value = self.value_of(args, variables)
        return value, lambda cotangent: self.pulled(trace, args, value, cotangent, variables)

    def value_of(self, args, variables):
        """The function of variables."""
        given = [
            variables.of(argument, path) if position in self.options[0] else mapped(_copied, argument)
            for position, (path, argument) in enumerate(self.paths(args))
        ]
        return self.function(*given)

    def pulled(self, trace, args, value, cotangent, variables):
        """The derivatives of the products of a value and its cotangent."""
        pairs = _pairs("vjp", "value", value, "the cotangent", cotangent)
        # What is no lazy array is a constant.
        pairs = [(y, weights) for y, weights in pairs if isinstance(y, Value) and weights is not None]
        if len(pairs) == 1:
            (y, weights), = pairs
            slopes = trace.call("vjp", (y, variables.values, weights), {})
        else:
            # The sum of products, whose values are not needed, has the same derivatives in one pass.
            total = 0.0
            for y, weights in pairs:
                weights = trace.call("broadcast_to", (weights, y.shape), {})
                total = total + trace.call("sum", (trace.infix("*", y, weights),), {})
            slopes = trace.call("grad", (total, variables.values), {})
        slopes = iter(slopes)
        return tuple(
            mapped(lambda leaf, path: None if leaf is None else next(slopes), args[position]) for position in self.options[0]
        )


class Pushforward(Derived):
    """The value and its change along a direction, or the change alone: `bl.jvp` and `bl.hvp`."""

    def check(self, primals, tangents):
        for path, argument in self.paths(primals):
            _check_floats(self.options[0], path, argument)

    def pairs(self, primals, tangents):
        """Arrays and numbers of the arguments, each with its tangent."""
        return [
            pair
            for (path, primal), tangent in zip(self.paths(primals), tangents, strict=True)
            for pair in _pairs(self.options[0], path, primal, f"the tangent of `{path}`", tangent)
        ]

    def traced(self, trace, primals, tangents):
        call, has_value = self.options
        variables = Variables(call, trace)
        given = [variables.of(argument, path) for path, argument in self.paths(primals)]
        directions = [0.0 if direction is None else direction for _, direction in self.pairs(primals, tangents)]
        value = self.function(*given)

        def change(y, path):
            return None if y is None else trace.call("jvp", (y, variables.values, directions), {})

        tangent = mapped(change, value)
        return (value, tangent) if has_value else tangent


class Variables:
    """The values by which a function is derived: those of its parameters, in order."""

    def __init__(self, call, trace):
        self.call, self.trace = call, trace
        self.values, self.paths = [], []

    def of(self, argument, path):
        """The argument with variables in the place of its arrays and numbers."""
        _check_floats(self.call, path, argument)

        def variable(leaf, place):
            if leaf is None:
                return None
            made = self.trace.variable(leaf)
            self.values.append(made)
            self.paths.append(place)
            # The function may change what it gets.
            return _copied(made, like=leaf)

        return mapped(variable, argument, path)


def _copied(value, path="", like=None):
    """An array of its own with the elements of a lazy array."""
    if not isinstance(value, Value) or isinstance(value, Size):
        return value
    made = Array(value._trace, value._name())
    if getattr(like if like is not None else value, "_can_change", False):
        made._let_change()
    return made


def _check_floats(call, path, argument):
    """Refuses arguments that have no derivatives."""
    found = leaves(argument, path)
    instead = "choose other arguments by `argnums`" if call == "grad" else "let the function hold it, `lambda x: f(x, k)`"
    for place, leaf in found:
        if leaf is None or isinstance(leaf, float):
            continue
        says = f"`{call}` differentiates with respect to floats, and `{place}` is"
        if isinstance(leaf, (bool, str, bytes)) or not (hasattr(leaf, "dtype") or isinstance(leaf, (int, Size))):
            raise DTypeError(f"{says} {_kind(leaf)}: {instead}")
        if isinstance(leaf, int):
            raise DTypeError(f"{says} the integer {leaf}: write `{leaf}.0`, or {instead}")
        if isinstance(leaf, Size) or leaf.dtype.kind in "biu":
            kind = "a size" if isinstance(leaf, Size) else f"an array of {leaf.dtype}" if leaf.ndim else f"a number of {leaf.dtype}"
            raise DTypeError(f"{says} {kind}: write `{place}.astype(np.float64)`, or {instead}")
    if not any(leaf is not None for _, leaf in found):
        raise DTypeError(f"`{call}` differentiates with respect to floats, and `{path}` holds none: {instead}")


def _pairs(call, path, structure, what, other):
    """What two containers hold, side by side."""
    left, right = leaves(structure, path), leaves(other, path)
    places = [place for place, _ in left]
    if places != [place for place, _ in right]:
        raise DTypeError(
            f"`{call}` takes {what} in the structure of what it belongs to: that has {_listed(places)}, and {what} has "
            f"{_listed([place for place, _ in right])}"
        )
    for (place, own), (_, item) in zip(left, right, strict=True):
        axes, of_item = getattr(own, "ndim", 0), getattr(item, "ndim", 0)
        if own is not None and item is not None and axes != of_item:
            raise ShapeError(
                f"`{call}` takes {what} in the shape of what it belongs to: `{place}` has {axes} axes, and {what} {of_item} axes"
            )
        shape, of_item = getattr(own, "shape", ()), getattr(item, "shape", ())
        # Sizes that are not known yet are compared when they are.
        sizes = zip(shape, of_item, strict=False)
        if item is not None and any(type(size) is type(other) is int and other not in (size, 1) for size, other in sizes):
            raise ShapeError(
                f"`{call}` takes {what} in the shape of what it belongs to: `{place}` has the shape {shape}, and {what} {of_item}"
            )
    return [(own, item) for (_, own), (_, item) in zip(left, right, strict=True) if own is not None]


def _listed(places):
    return ", ".join(f"`{place}`" for place in places) or "nothing"


def _kind(value):
    return "None" if value is None else f"an object of the class {type(value).__name__}"


def trace_of(function, arguments):
    """The trace of the lazy arrays among the arguments, or of those that the function holds; None if there are none."""
    open, seen = [arguments, function] if _is_traced(function) else [arguments], set()
    while open:
        item = open.pop(0)
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Value):
            return item._trace
        if isinstance(item, types.FunctionType):
            cells = [cell.cell_contents for cell in item.__closure__ or () if _is_set(cell)]
            open += [*cells, *(item.__defaults__ or ()), *(item.__kwdefaults__ or {}).values()]
        elif isinstance(item, functools.partial):
            open += [item.func, item.args, item.keywords]
        elif isinstance(item, Derived):
            open.append(item.function)
        else:
            open += [held for _, held in items(item, "") or ()]
    return None


def _is_traced(function):
    """Whether a function belongs to one that is being traced, whose lazy arrays it may hold."""
    return isinstance(function, Derived) or type(getattr(function, "__globals__", {})) is not dict


def _is_set(cell):
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def derived(kind, function, options):
    """The compiled function of a kind that is derived from another one; the same one for the same function."""
    if _is_traced(function):
        return _named(kind(function, options))
    try:
        return _kept(kind, function, options)
    except TypeError:
        return _made(kind, function, options)


def _made(kind, function, options):
    made = _named(kind(function, options))
    static, threads, _ = function._options if isinstance(function, Function) else ((), None, False)
    return jit(made, static=static if kind is Gradient else (), threads=threads)


def _named(made):
    return functools.update_wrapper(made, made.function, updated=()) if isinstance(made, Gradient) else made


@functools.lru_cache(maxsize=32)
def _kept(kind, function, options):
    return _made(kind, function, options)
