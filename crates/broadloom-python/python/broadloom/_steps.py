"""How the steps of plain loops are taken while a function is traced: once for all steps, as a loop of the program, or one after the
other, which unrolls them. `_syntax.py` calls this in the place of loops.

A step that is traced once must do the same for each counter. What it assigns is carried from step to step; what it changes in place
is found when it does, and carried in its place. Whatever else it changes was not for all steps: it is put back, and the loop is
unrolled.
"""

import contextlib
import sys
import types
import weakref

import numpy as np

from ._attempt import check_change, innermost, refusal, root_of
from ._broadloom import Value
from ._caught import Trial
from ._counter import Counter
from ._errors import DTypeError, Error, ShapeError, TracingError
from ._frames import is_own
from ._lazy import Array, Size
from ._loops import repeated
from ._moving import CounterError
from ._over import as_over
from ._reach import Reached, content_of, fill
from ._structure import leaves, mapped
from ._undefined import Undefined

# Loops of more steps are loops of the program, if they can be: a loop alone, loops in each other all in all, and those that are in
# loops of so many.
MAX_UNROLLED, _MAX_NEST, _MAX_IN_NEST = 64, 1024, 8
# And those of more values in all of their steps: the first call of NPBench's cavity_flow took 1.4 s unrolled and 0.2 as a loop, and
# later calls as long.
_MAX_VALUES = 4096
# Passes over a step to find what it carries, and attempts on the same lines.
_MAX_PASSES, _MAX_ATTEMPTS = 32, 2

# The code of steps that depend on their counter for all sizes.
_never: weakref.WeakSet = weakref.WeakSet()


def each(names, iterable, step, *about):
    """A `for` loop."""
    steps = as_over(iterable)
    if steps is not None and not (steps.is_known and steps.length <= names.longest_unrolled) and _is_taken(names, step, about, steps=steps):
        return
    for number, item in enumerate(iterable):
        steps_before, values_before = names.steps, names.trace.made
        step(item)
        names.steps += 1
        if number == 0 and isinstance(iterable, range) and len(iterable) > 1 and _is_much(names, steps_before, values_before, len(iterable)):
            # The loops in it would be unrolled each time: they are loops of the program, as far as they can be.
            around, names.longest_unrolled = names.longest_unrolled, min(names.longest_unrolled, _MAX_IN_NEST)
            try:
                if _is_taken(names, step, about, steps=as_over(iterable[1:])):
                    return
            finally:
                names.longest_unrolled = around


def _is_much(names, steps_before, values_before, count):
    """Whether as many more steps as the last one are better a loop of the program."""
    steps, values = names.steps - steps_before, names.trace.made - values_before
    return steps * count > _MAX_NEST or values * count > _MAX_VALUES


def while_holds(names, condition, step, *about):
    """A `while` loop."""
    while True:
        holds = condition()
        if isinstance(holds, Array) and not holds.ndim and _is_taken(names, step, about, condition=condition):
            return
        if not holds:
            return
        step()


def _is_taken(names, step, about, **loop):
    """Takes the steps as a loop of the program, if that can be."""
    return _Loop(names, step, *about, **loop).is_done()


class _Again(Exception):
    """The steps carry more than was known."""


class _Loop:
    """A loop that is tried as one of the program."""

    def __init__(self, names, step, assigned, changed, needed, targets, steps=None, condition=None):
        self.names, self.trace, self.step, self.condition, self.steps = names, names.trace, step, condition, steps
        self.cells = dict(zip(step.__code__.co_freevars, step.__closure__ or ()))
        if condition is not None:
            self.cells.update(zip(condition.__code__.co_freevars, condition.__closure__ or ()))
        self.assigned = [name for name in assigned if name in self.cells]
        self.changed, self.needed = changed, needed
        self.is_known = steps is not None and steps.is_known
        # Arrays that change in place, and what makes values for names that have none of the right shape before the loop.
        self.places, self.models = [], {}
        # Names that steps give another dtype or shape than before the loop: no step may read what they were, and why.
        self.hidden = {name: f"`{name}` is assigned by each step" for name in targets}
        # Whether rows are read by their positions, because the steps change them.
        self.by_position = False

    def is_done(self):
        """Takes the steps, if they can be traced once. Raises why they cannot, if they cannot be unrolled either."""
        code = self.step.__code__
        if self.is_known and (self.names.unrolled[code] >= _MAX_ATTEMPTS or code in _never):
            return False
        self.before = {name: content_of(self.cells[name]) for name in self.assigned}
        if not self.is_known:
            # After no steps at all, the name has the value that it had.
            for name in [name for name in self.hidden if name in self.needed and self.before.get(name) and _is_carried(self.before[name][0])]:
                del self.hidden[name]
        trial = Trial()
        # Arrays for which only one variable stands.
        self.alone = set()
        for content in self.before.values():
            for item in content:
                if not isinstance(item, (Array, np.ndarray)):
                    continue
                is_view = item._root is not None if isinstance(item, Array) else item.base is not None
                if not is_view and sys.getrefcount(item) <= _REFERENCES:
                    self.alone.add(id(item))
        try:
            functions = [self.step] if self.condition is None else [self.step, self.condition]
            self.reached = Reached(functions, [self.cells[name] for name in self.assigned])
            if self.is_known and not self.reached.arrays and not any(isinstance(row, Value) for row in self.steps.rows):
                # A loop of Python's numbers.
                return False
            self._refresh()
            self._take()
            return True
        except Exception as error:
            if (around := innermost()) is not None and around.changed is not None:
                # The loop around has to carry more.
                raise
            if isinstance(error, CounterError) and self.is_known:
                _never.add(code)
            if self.is_known:
                self.names.unrolled[code] += 1
                trial.undo()
                return False
            if self.steps is not None and isinstance(self.steps.length, Size):
                # With the sizes of the call it may be unrolled.
                self.trace.needs_sizes()
            raise refusal(self._explained(error)) from error

    def _take(self):
        # What seems to change in place need not be found out.
        for name in self.changed:
            for array in [item for item in content_of(self.cells.get(name)) if isinstance(item, Array)]:
                if (root := self._root(root_of(array))) is not None and not _is_in(root, self.places):
                    self.places.append(root)
        for _ in range(_MAX_PASSES):
            for array in self.places:
                check_change(array)
            saved, trial = [(array, array.copy()) for array in self.places], Trial()
            try:
                self._pass()
                return
            except _Again:
                self._restore(saved)
            except BaseException as error:
                self._restore(saved)
                if not self._learns(error):
                    raise
                trial.undo()
        raise TracingError("the steps of the loop carry too much")

    def _restore(self, saved):
        for array, before in saved:
            Value._store(array, before)
        for name in self.assigned:
            fill(self.cells[name], *self.before[name])
        self.reached.restore()

    def _refresh(self):
        """Reads the newest elements of views, and arrays of NumPy's: what is first read in a step is known there only."""
        trial = Trial()
        for array in self.reached.constants:
            if array.dtype.kind in "biuf":
                with contextlib.suppress(Error):
                    self.trace.around("", array, "")
        for array in self.reached.arrays:
            with contextlib.suppress(TracingError):
                array._name()
        trial.undo()

    def _learns(self, error):
        """Whether another pass can do better: with an array that was changed in place, or without a name that need not be carried."""
        changed = getattr(self.attempt, "changed", None)
        if isinstance(error, TracingError) and changed is not None:
            root = self._root(changed)
            if root is not None and not _is_in(root, self.places):
                self.places.append(root)
                return True
        if isinstance(error, ShapeError) and self.final:
            # Sizes that are not known are compared by the program.
            for name in self.begin.keys() - self.hidden.keys() - self.models.keys():
                end = self.final[name]
                if end and (why := _mismatch(name, self.given[name], end[0], True)) is not None:
                    self.hidden[name] = why
                    return True
        return False

    def _root(self, identity):
        """The array with an identity, among those that the steps or the functions around them can reach."""
        for array in self.reached.arrays:
            if id(array) == identity:
                return array
        frame = sys._getframe(1)
        while frame is not None:
            if not is_own(frame.f_code.co_filename):
                for value in frame.f_locals.values():
                    if id(value) == identity and isinstance(value, Array):
                        return value
            frame = frame.f_back
        return None

    # One pass ---------------------------------------------------------------------------------------------------------

    def _pass(self):
        begin = {name: content for name, content in self.before.items() if name not in self.hidden}
        begin |= {name: [model()] for name, model in self.models.items()}
        self.begin = {
            name: content[0] for name, content in begin.items()
            if content and _is_carried(content[0]) and not _is_in_places(content[0], self.places)
        }  # fmt: skip
        init = {"names": self.begin, "places": tuple(self.places)}
        self.final = None
        by_rows = self.steps is not None and self.steps.rows and not self.by_position
        if self.steps is not None:
            length = self.steps.length
            bounds = (0, max(length - 1, 0)) if self.is_known else (0, None)
            rows, count = (list(self.steps.rows), None) if by_rows else (None, length)
        else:
            bounds, rows, count = (0, None), None, None
        condition = None if self.condition is None else self._condition
        last, _ = repeated(
            self.trace, "the loop", init, self._step, rows=rows, count=count, condition=condition,
            kept=[id(array) for array in self.places], bounds=bounds, shown=_shown, opened=self._open,
        )  # fmt: skip
        self._leave(last)

    def _open(self, attempt):
        self.attempt = attempt

    def _enter(self, carried):
        """Gives the variables the values that a step begins with."""
        for name in self.assigned:
            if name in carried["names"]:
                fill(self.cells[name], carried["names"][name])
            else:
                fill(self.cells[name], *(self.before[name] if self._is_placed(name) else ()))
        for array, value in zip(self.places, carried["places"], strict=True):
            Value._store(array, value)

    def _condition(self, carried):
        self._enter(self._fresh(carried))
        holds = self.condition()
        return holds != 0 if isinstance(holds, Value) and holds.dtype != bool else holds

    def _fresh(self, carried):
        """The values of names as a step may change them: what Python has as an integer stays one whose growth is known."""

        def fresh(pair):
            value, old = pair
            if isinstance(old, (Array, np.ndarray)) and getattr(old, "_can_change", True):
                value._let_change()
            return value

        made = {}
        for name, value in carried["names"].items():
            old = iter([leaf for _, leaf in leaves(self.begin[name])])
            made[name] = mapped(lambda leaf, path: fresh((leaf, next(old))), value)
        return {"names": made, "places": carried["places"]}

    def _step(self, counter, rows, carried):
        """Traces the step, and returns what it carries on."""
        carried = self._fresh(carried)
        self.given = carried["names"]
        begin = [(path, leaf, leaf._name()) for path, leaf in leaves(carried["names"])]
        self._enter(carried)
        if self.steps is None:
            self.step()
        else:
            if self.by_position:
                rows = [row[counter] for row in self.steps.rows]
            of_rows = [row._name() for row in rows or ()]
            self.step(self.steps.item(counter, rows))
            has_changed = [row._name() for row in rows or ()] != of_rows
            if not self.by_position and (has_changed or any(_is_in_places(row, self.places) for row in self.steps.rows)):
                self.by_position = True
                raise _Again
        if what := self.reached.restore():
            raise TracingError(f"a step changes {what}, which each step would have to do")
        self.attempt.check()
        self.counter = counter
        self.final = {name: content_of(self.cells[name]) for name in self.assigned}
        return self._following(carried, begin), None

    def _following(self, carried, begin):
        """What the step carries on; raises if another pass has to carry more."""
        ends = {}
        for name in carried["names"]:
            if not self.final[name]:
                raise TracingError(f"`{name}` is deleted in a step: give it a value at its end")
            ends[name] = self.final[name][0]
        at = dict(leaves(ends))
        moved = []
        for path, value, name in begin:
            if value._name() == name:
                continue
            # Changed in place: the array itself is carried if the name still stands for it.
            old = dict(leaves(self.begin)).get(path)
            if at.get(path) is value and isinstance(old, Array):
                root = self._root(root_of(old))
                if root is None or _is_in(root, self.places):
                    raise TracingError(f"`{_shown(path)}` is changed in place by a step, and it is a view of another array")
                self.places.append(root)
                raise _Again
            moved.append(path)
        self.moved = moved
        self._check_moved(ends, begin)
        for name in self.assigned:
            if name in ends:
                self._check_end(name, carried["names"][name], ends)
            elif self._is_placed(name):
                if not self.final[name] or self.final[name][0] is not self.before[name][0]:
                    raise TracingError(f"a step changes the array `{name}` in place, and gives the name another one: write the one or the other")
            elif self.final[name] and name in self.needed and self.is_known and name not in self.models:
                final = self.final[name][0]
                if (model := self._model(final)) is not None:
                    self.models[name] = model
                    raise _Again
                if not isinstance(final, Undefined) and isinstance(self._end(name, final), Undefined):
                    raise TracingError(f"`{name}` is read after the loop, and no step carries an object of the class {type(final).__name__}")
        self._find_shared(ends, begin)
        return {"names": ends, "places": tuple(array.copy() for array in self.places)}

    def _check_end(self, name, value, ends):
        end = ends[name]
        why = _mismatch(name, value, end)
        if why is None and isinstance(value, Counter) and self.is_known and name not in self.models and not _grows(value, end):
            why = f"the integer `{name}` is computed of itself, and Python's integers have no bounds: begin with `np.int64({name})`"
        if why is not None:
            if name in self.models:
                raise DTypeError(why)
            self.hidden[name] = why
            raise _Again

    def _check_moved(self, ends, begin):
        """Refuses what changes in place if other names stand for it after the step: `a, b = b, a` alone is known to have no others."""
        own, old = {id(leaf): path for path, leaf, _ in begin}, dict(leaves(self.begin))
        found = [(path, leaf) for path, leaf in leaves(ends) if isinstance(leaf, Array) and leaf.ndim]
        kept = set(map(id, self.places))
        for path, leaf in found:
            if root_of(leaf) in kept and not self._is_placed(_name_of(path)):
                raise TracingError(f"`{_shown(path)}` becomes another name of an array that a step changes in place: write `.copy()`")
        if not self.moved:
            return
        roots = [root_of(leaf) for _, leaf in found]
        taken = {own[id(leaf)] for path, leaf in found if own.get(id(leaf), path) != path}
        exchanged = {path for path, leaf in found if own.get(id(leaf), path) != path} | set(self.moved)
        is_exchange = len(roots) == len(set(roots)) and not any(leaf._root in own for _, leaf in found)
        for path in exchanged | taken:
            array = old[path]
            if not is_exchange or (isinstance(array, (Array, np.ndarray)) and id(array) not in self.alone):
                raise TracingError(
                    f"a step changes the array `{_shown(path)}` in place, and gives the name another one: write the one or the other"
                )

    def _find_shared(self, ends, begin):
        """The paths of results that may share elements with others, and the arrays from before the loop that may."""
        own = {id(leaf): path for path, leaf, _ in begin}
        at, old = leaves(ends), dict(leaves(self.begin))
        self.sharing, self.shared = set(), []
        for path, leaf in at:
            if not isinstance(leaf, Array) or not leaf.ndim:
                continue
            root = root_of(leaf)
            same = [other for other, item in at if isinstance(item, Array) and root_of(item) == root]
            if own.get(root) == path and leaf._root is None and len(same) == 1:
                continue
            if root in own:
                self.sharing |= {path, own[root], *same}
            elif leaf._attempt is not self.attempt:
                self.sharing |= {path, *same}
                self.shared += [array for array in [self._root(root)] if array is not None]
            elif len(same) > 1 or leaf._root is not None:
                self.sharing |= set(same)
        # What the names stood for, if others stand for it too.
        self.shared += [old[path] for path in self.sharing if isinstance(old.get(path), Array) and id(old[path]) not in self.alone]

    def _model(self, value):
        """What makes zeros of the dtype and the shape of a lazy value, for a name that all steps assign; `None` without one."""
        if not isinstance(value, Array) or isinstance(value, Counter):
            return None
        if value._is_number:
            return lambda: 0 if value.dtype.kind == "i" else 0.0
        # What names its sizes in the steps means nothing before them.
        sizes, dtype = "[" + value._type.partition("[")[2], value.dtype
        return lambda: self.trace.around(f"zeros({sizes}, dtype=", dtype, ")")

    def _is_placed(self, name):
        """Whether a name stands for an array that changes in place, or for a view of one."""
        return bool(self.before[name]) and _is_in_places(self.before[name][0], self.places)

    def _leave(self, last):
        """Gives the variables their values after the last step."""
        for array in self.shared:
            self.names.share(array)
        for array, value in zip(self.places, last["places"], strict=True):
            Value._store(array, value)
        for name in self.assigned:
            cell, final = self.cells[name], self.final[name]
            if name in self.begin:
                fill(cell, self._after(name, self.begin[name], final[0], last["names"][name]))
            elif self._is_placed(name) or not final:
                fill(cell, *self.before[name])
            else:
                fill(cell, self._end(name, final[0]))

    def _after(self, name, init, final, last):
        pairs = zip(leaves({name: self.given[name]}), leaves({name: final}), strict=True)
        if name not in self.models and all(begin is end and path not in self.moved for (path, begin), (_, end) in pairs):
            # The steps left it as it was.
            return init
        if isinstance(final, Counter) and self.is_known and isinstance(init, int):
            return init + final._offset * self.steps.length
        if self.is_known and not isinstance(final, (Value, tuple)):
            return final
        for path, leaf in leaves({name: last}):
            if path in self.sharing:
                self.names.share(leaf)
        return last

    def _end(self, name, final):
        """What a name stands for after the last step, if it has no value before the first one."""
        if isinstance(final, Counter) and self.is_known:
            factor = final._terms.get(self.counter._name())
            if len(final._terms) == (factor is not None):
                return final._offset + (factor or 0) * (self.steps.length - 1)
        if self.is_known and _is_constant(final):
            return final
        return Undefined(name)

    def _explained(self, error):
        """The error of steps that have to be traced once, as their number is not known."""
        if isinstance(error, NameError) and error.name in self.cells:
            name = error.name
            if name in self.hidden:
                return DTypeError(self.hidden[name])
            what = "is defined only in the steps of the loop" if not self.before.get(name) else "has no value that steps can carry on"
            return TracingError(f"`{name}` {what}: give it an array or a number before the loop")
        made = error if isinstance(error, Error) else TracingError(f"{type(error).__name__}: {error}")
        where = "" if "-->" in str(made) else _line(error)
        return type(made)(f"{made}{where}\n\nThe steps of this loop are traced once, as their number is not known: what they do cannot depend on it.")


# The references to an array that only one variable has: that of the cell, and those that are made when they are counted.
_REFERENCES = 4


def _line(error):
    found, trace = None, error.__traceback__
    while trace is not None:
        if not is_own(trace.tb_frame.f_code.co_filename):
            found = trace
        trace = trace.tb_next
    return "" if found is None else f"\n  --> {found.tb_frame.f_code.co_filename}:{found.tb_lineno}"


def _shown(path):
    """A carried value as messages name it: the paths of all begin with what holds it and its name."""
    return path.removeprefix("['names']").replace("['", "", 1).replace("']", "", 1) if path.startswith("['") else path


def _name_of(path):
    return path[2:].partition("'")[0]


def _is_in(item, items):
    return any(item is other for other in items)


def _is_in_places(row, places):
    return isinstance(row, Array) and any(root_of(row) == id(place) for place in places)


def _is_carried(content):
    """Whether a loop of the program can carry what a variable stands for."""
    if isinstance(content, tuple):
        return bool(content) and all(map(_is_carried, content))
    if isinstance(content, (np.ndarray, np.generic)):
        return content.dtype.kind in "biuf"
    return isinstance(content, (Array, bool, int, float))


def _is_constant(value):
    return value is None or isinstance(value, (int, float, str, bytes, type, np.dtype, types.ModuleType))


def _mismatch(name, value, end, is_exact=False):
    """Why steps cannot carry what a name stands for at their end; `None` if they can."""
    if not _is_carried(end):
        return f"a step gives `{name}` an object of the class {type(end).__name__}: steps carry arrays and numbers, and tuples of them"
    begin, after = dict(leaves(value, name)), dict(leaves(end, name))
    if begin.keys() != after.keys():
        return f"a step gives `{name}` {len(after)} items, and it has {len(begin)} before a step"
    for path, leaf in begin.items():
        new = after[path]
        axes, of_new = leaf.ndim, getattr(new, "ndim", 0)
        if axes != of_new:
            return f"`{path}` has {axes} axes before a step, and {of_new} after it: begin with an array of that shape, such as `np.zeros(shape)`"
        sizes = [item._type for item in (leaf, new) if isinstance(item, Array) and (is_exact or _has_known_shape(item))]
        dtype = getattr(new, "dtype", leaf.dtype)
        if not leaf._is_number and dtype != leaf.dtype:
            return (
                f"`{path}` has the dtype {leaf.dtype} before a step, and {dtype} after it: begin with `{path}.astype(np.{dtype})`, or "
                f"end the step with `.astype(np.{leaf.dtype})`"
            )
        if not leaf._is_number and len(set(sizes)) == 2:
            return f"`{path}` is {sizes[0]} before a step, and {sizes[1]} after it: begin with an array of the shape that it keeps"
    return None


def _grows(value, end):
    """Whether an integer of Python's is the same at the end of a step but for what is known to be added."""
    if isinstance(end, Value) and end._is_number and end.dtype.kind == "i":
        return isinstance(end, Counter) and end._terms == value._terms
    return True


def _has_known_shape(array):
    return all(isinstance(size, int) for size in array.shape)
