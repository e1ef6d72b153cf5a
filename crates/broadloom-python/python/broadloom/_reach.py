"""What the steps of a loop can reach: the lazy arrays, and the containers and objects that they may change."""

import collections
import dis
import functools
import types

import numpy as np

from ._broadloom import Function, Value
from ._derived import Derived
from ._errors import TracingError
from ._frames import is_foreign
from ._state import has_hidden_state, own_attribute

_MAX_ITEMS = 20_000


class Reached:
    """Everything that functions reach by their variables, as it was. What lies in modules of others is not theirs to change."""

    def __init__(self, functions, own):
        # Cells that the loop itself looks after.
        self.own = set(map(id, own))
        self.arrays, self.constants, self.kept, self.seen, self.count = [], [], [], set(), 0
        stack = list(functions)
        while stack:
            stack.extend(self._of(stack.pop()))

    def restore(self):
        """Puts back what has changed. Returns what that is, None if nothing has."""
        changed = [(thing, what, back) for thing, is_same, back, what in self.kept if not is_same()]
        for _, _, back in changed:
            back()
        return changed[0][1] if changed else None

    def _keep(self, thing, is_same, back, what):
        self.kept.append((thing, is_same, back, what))

    def _of(self, item):
        kind = type(item)
        if item is None or kind in (int, float, bool, str, bytes, complex, types.ModuleType, types.CodeType) or id(item) in self.seen:
            return ()
        self.seen.add(id(item))
        self.count += 1
        if self.count > _MAX_ITEMS:
            raise TracingError("the steps reach too many objects to know which of them they change")
        if isinstance(item, Value):
            self.arrays.append(item)
            return ()
        if isinstance(item, np.ndarray):
            return self._array(item)
        if kind is types.FunctionType:
            return () if is_foreign(item.__module__) else self._function(item)
        if kind is types.MethodType:
            return item.__func__, item.__self__
        if kind is types.BuiltinMethodType:
            return (item.__self__,)
        if has_hidden_state(item):
            raise TracingError(f"the steps reach an object of the class {kind.__name__}, whose changes are not seen")
        if kind is functools.partial:
            return item.func, item.args, item.keywords
        if isinstance(item, Derived):
            return item.function if isinstance(item.function, tuple) else (item.function,)
        if isinstance(item, Function):
            return (item.__wrapped__,)
        if isinstance(item, type):
            return () if is_foreign(item.__module__) else self._class(item)
        if kind.__module__.partition(".")[0] == "broadloom":
            return ()
        if isinstance(item, (tuple, frozenset)):
            return tuple(item)
        if isinstance(item, (list, collections.deque)):
            before = list(item)
            self._keep(item, lambda: _are_same(before, list(item)), lambda: (item.clear(), item.extend(before)), "a list")
            return before
        if isinstance(item, (set, bytearray)):
            copy = item.copy()
            back = (lambda: (item.clear(), item.update(copy))) if isinstance(item, set) else (lambda: item.__setitem__(slice(None), copy))
            self._keep(item, lambda: item == copy, back, f"a {kind.__name__}")
            return tuple(copy) if isinstance(item, set) else ()
        if isinstance(item, dict):
            return self._dict(item, "a dict")
        fields = own_attribute(item, "__dict__")
        held = self._dict(fields, f"an object of the class {kind.__name__}") if isinstance(fields, dict) else ()
        return *held, *self._slots(item, kind), kind

    def _array(self, array):
        if array.dtype.hasobject:
            raise TracingError("the steps reach an array of objects, whose changes are not seen")
        self.constants.append(array)
        before = array.copy()
        bits = before.tobytes
        self._keep(array, lambda: array.tobytes() == bits(), lambda: array.__setitem__(..., before), "an array of NumPy's")
        return ()

    def _dict(self, item, what):
        before = dict(item)

        def is_same():
            return _are_same(list(before), list(item)) and _are_same(list(before.values()), list(item.values()))

        self._keep(item, is_same, lambda: (item.clear(), item.update(before)), what)
        return tuple(before.values())

    def _class(self, item):
        before = dict(vars(item))

        def back():
            for name in vars(item).keys() - before.keys():
                delattr(item, name)
            for name, value in before.items():
                if vars(item).get(name) is not value:
                    setattr(item, name, value)

        self._keep(item, lambda: _are_same(list(before.values()), list(vars(item).values())), back, f"the class {item.__name__}")
        return tuple(before.values())

    def _slots(self, item, kind):
        names = [name for base in kind.__mro__ for name in _names_of_slots(base)]

        def held():
            return {name: own_attribute(item, name) for name in names if own_attribute(item, name, item) is not item}

        before = held()

        def is_same():
            now = held()
            return now.keys() == before.keys() and all(now[name] is before[name] for name in now)

        def back():
            for name in names:
                if name in before:
                    object.__setattr__(item, name, before[name])
                elif own_attribute(item, name, item) is not item:
                    object.__delattr__(item, name)

        if names:
            self._keep(item, is_same, back, f"an object of the class {kind.__name__}")
        return tuple(before.values())

    def _function(self, function):
        found = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for cell in function.__closure__ or ():
            if id(cell) in self.own:
                found += content_of(cell)
            elif id(cell) not in self.seen:
                self.seen.add(id(cell))
                before = content_of(cell)
                self._keep(cell, lambda cell=cell, before=before: _are_same(before, content_of(cell)),
                           lambda cell=cell, before=before: fill(cell, *before), "a variable of an enclosing function")  # fmt: skip
                found += before
        space = function.__globals__
        original = getattr(space, "_original", space)
        # What a traced function assigns to globals stands in a table of its own.
        if original is not space:
            self._space(space)
        for name in _globals_of(function.__code__):
            found.append(dict.get(space, name, original.get(name)))
        return found

    def _space(self, space):
        if id(space) in self.seen:
            return
        self.seen.add(id(space))
        before = dict(space)
        self._keep(space, lambda: before.keys() == space.keys() and all(space[name] is before[name] for name in before),
                   lambda: (space.clear(), space.update(before)), "a global")  # fmt: skip


def _are_same(before, now):
    return len(before) == len(now) and all(old is new for old, new in zip(before, now))


def content_of(cell):
    """What a cell holds, in a list; nothing if it is empty, or if there is no cell."""
    try:
        return [] if cell is None else [cell.cell_contents]
    except ValueError:
        return []


def fill(cell, *content):
    """Gives a cell its content, or none."""
    if content:
        (cell.cell_contents,) = content
    elif content_of(cell):
        del cell.cell_contents


def _globals_of(code):
    found = {item.argval for item in dis.get_instructions(code) if item.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _globals_of(constant)
    return found


def _names_of_slots(base):
    slots = vars(base).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if not name.startswith("__")]
