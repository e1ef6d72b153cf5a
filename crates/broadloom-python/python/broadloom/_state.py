"""What a traced function reads beside its arguments: globals, closures, and attributes of objects.

A kernel has their values in it, so that it serves only as long as they are the same. The code of the function, and of the
functions of the user that it names, shows what is read; what it reads by a name that is made at run time is not seen.
"""

import array
import builtins
import collections
import dis
import enum
import functools
import importlib
import io
import queue
import random
import sys
import threading
import types
import weakref

import numpy as np

from ._broadloom import Function
from ._caught import begin, end
from ._derived import Derived
from ._errors import TracingError
from ._frames import is_of_user, short
from ._kept import Kept
from ._refuse import frozen

# Names by which code reads attributes whose names it does not show.
_DYNAMIC = {"getattr", "vars", "__dict__", "globals", "asdict", "astuple", "fields", "eval", "exec"}
_CLOCKS = {
    "time": {
        "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns", "thread_time",
        "thread_time_ns", "clock_gettime", "clock_gettime_ns", "gmtime", "localtime", "ctime", "asctime", "strftime",
    },
    "datetime.datetime": {"now", "utcnow", "today"},
    "datetime.date": {"today"},
    "os": {"urandom", "getrandom", "times", "getloadavg"},
    "resource": {"getrusage"},
    "uuid": {"uuid1", "uuid4"},
    "secrets": {"token_bytes", "token_hex", "token_urlsafe", "randbits", "randbelow", "choice"},
}  # fmt: skip
_SOURCES = (np.random.Generator, np.random.BitGenerator, np.random.RandomState, random.Random)
# Methods and functions that write to arrays, the argument of others, and those of which it may be the third one.
_WRITERS = {
    "fill", "sort", "partition", "put", "itemset", "resize", "byteswap", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal",
    "shuffle", "at", "out",
}  # fmt: skip
_UFUNCS = {name for name, function in vars(np).items() if isinstance(function, np.ufunc)}
# Arrays of more bytes are compared by identity: kernels read their elements, but what NumPy computes of them while the function
# is traced is kept.
_COMPARED_BYTES = 8192
_MAX_NESTING, _MAX_ITEMS = 16, 10_000
_NO_VALUE = object()
# Instructions between the name of a function and its call.
_BETWEEN = frozenset({"PUSH_NULL", "PRECALL", "CACHE", "KW_NAMES"})
_WRITES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})
# What an instruction has just imported, which the next one gives a name.
_LAST = "<imported>"


def own_attribute(value, name, default=None):
    """An attribute that an object has by itself: code of the user that computes others may raise anything."""
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return default


# Special functions of a class that the code of a user does not call without showing it.
_ONLY_SHOWN = {"__repr__", "__str__", "__del__", "__reduce__", "__getstate__", "__setstate__"}
_NOT_SHOWN = _ONLY_SHOWN | {"__init__", "__new__", "__post_init__"}


def _read(module, name):
    """An attribute of an installed module or class, which may be made by code of its own."""
    try:
        return getattr(module, name)
    except Exception:
        return _NO_VALUE


class _Same:
    """An object that is equal to itself alone."""

    __slots__ = ("object",)

    def __init__(self, object):
        self.object = object

    def __eq__(self, other):
        return type(other) is _Same and other.object is self.object

    def __hash__(self):
        return id(self.object)


class _SameAlive:
    """An object that is equal to itself alone, and is not kept alive."""

    __slots__ = ("hash", "reference")

    def __init__(self, object):
        self.hash, self.reference = id(object), weakref.ref(object)

    def __eq__(self, other):
        own = self.reference()
        return own is not None and type(other) is _SameAlive and other.reference() is own

    def __hash__(self):
        return self.hash


def _same(object):
    try:
        return _SameAlive(object)
    except TypeError:
        return _Same(object)


class Reads:
    """What one function reads, and what its objects among the arguments hold."""

    def __init__(self, function):
        self._lock = threading.RLock()
        self._function = function
        # The names of all attributes and functions in the code, which says which attributes of objects are read.
        self._names = set()
        self._codes = set()
        self._classes = set()
        # Globals and attributes of modules that are read: dicts and keys.
        self._places = {}
        # Sources of random numbers and arrays, by their identities, those of the arguments apart.
        self._changing, self._of_arguments = {}, {}
        # The files and lines where the code first reads each name, and where it names sources of random numbers, with these.
        self._lines, self._draws = {}, {}
        # Whether the code may write to arrays at all, and whether it calls anything with an argument for results.
        self._writes = self._passes_many = False
        # The variable or the attribute that is being read, for messages.
        self._name = None
        # The values that are compared by identity, arrays that are compared by their bytes, and whether others have to be
        # read at each call.
        self.fixed, self.arrays, self.is_mutable = [], [], False
        # Which attributes of objects are read is known once the function is.
        self.current()

    def of(self, objects):
        """The state of objects among the arguments, as values that can be compared."""
        with self._lock:
            kept = self.fixed, self.arrays, self.is_mutable, self._changing
            self.fixed, self.arrays = [], []
            try:
                return self._until_known(lambda: tuple(self._print(item, 0, set()) for item in objects))
            finally:
                self._of_arguments = self._changing
                self.fixed, self.arrays, self.is_mutable, self._changing = kept

    def current(self):
        """The values of everything else that is read, which can be compared. Sets `fixed`, `arrays` and `is_mutable`."""

        def read():
            self.fixed, self.arrays, self.is_mutable = [], [], False
            prints = [self._print(self._function, 0, set())]
            for container, key in list(self._places.values()):
                value = container.get(key, _NO_VALUE)
                self.fixed.append((container, key, value))
                prints.append(self._print_named(key, value, 0, set()))
            return tuple(prints)

        with self._lock:
            return self._until_known(read)

    def _until_known(self, read):
        """Reads again while that finds code which reads more."""
        while True:
            version, self._changing = self.version, {}
            prints = read()
            if self.version == version:
                return prints

    @property
    def version(self):
        """A number that grows with what is known of the code."""
        return len(self._names) + len(self._places)

    def begin_trace(self):
        """Begins to trace the function. Returns the trace, with what the function can change beside its arguments."""
        with self._lock:
            found = [(thing(), name) for thing, name in (*self._changing.values(), *self._of_arguments.values())]
        names = _WRITERS | _UFUNCS if self._passes_many else _WRITERS
        writes = self._writes or not names.isdisjoint(self._names)
        arrays = [(thing, name, self._lines.get(name)) for thing, name in found if writes and isinstance(thing, np.ndarray)]
        sources = [(source, name, place) for place, (name, source) in self._draws.items()]
        sources += [(thing, name, self._lines.get(name)) for thing, name in found if isinstance(thing, _SOURCES)]
        if threading.active_count() == 1:
            # Code of packages draws from these.
            sources += [(np.random.mtrand._rand, "np.random", None), (random._inst, "random", None)]
        return begin(self, Kept(sources, arrays))

    def end_trace(self, tracing):
        """Ends the trace of the function. Refuses random numbers that it drew, arrays that it changed, and errors that it caught."""
        changed, drawn = tracing.kept.restore(), tracing.kept.drawn()
        end(tracing)
        if drawn:
            name, place = drawn[0]
            by = f" by `{name}` at {place}" if place else ""
            raise TracingError(
                f"the function draws random numbers{by}, which would be the same at each call: draw them outside, and "
                "pass the array as an argument"
            )
        if changed:
            name, place = changed[0]
            what = f"the array `{name}`" + (f" at {place}" if place else "") if name else "an array"
            raise TracingError(
                f"the function changes {what}, which is not one of its arguments: NumPy would do so once, while the function is "
                "traced, and not at each call; pass the array as an argument, or change a copy"
            )

    def _print_named(self, name, value, depth, seen):
        before, self._name = self._name, name
        try:
            return self._print(value, depth, seen)
        finally:
            self._name = before

    def _frozen(self, thing, what):
        """The error of a thing that is read now."""
        return _frozen(self._function, self._name or thing.__name__, what, self._lines.get(self._name))

    def _print(self, value, depth, seen):
        """A value that is equal as long as the state of `value` is the same."""
        kind = type(value)
        if value is None or kind in (bool, int, str, bytes, complex):
            return kind, value
        if kind is float:
            # Zero and its negative, and integers, are other numbers.
            return kind, value.hex()
        if isinstance(value, np.generic):
            return kind, value.tobytes()
        if _is_iterator(kind):
            raise self._frozen(kind, "is an iterator, which has other items each time")
        if isinstance(value, random.SystemRandom):
            raise self._frozen(kind, "draws other random numbers at each call")
        if kind is types.BuiltinFunctionType and _is_clock(value):
            raise self._frozen(value, "has another result at each call")
        if kind is types.ModuleType and not self._names.isdisjoint(_CLOCKS.get(value.__name__, ())) and depth:
            raise self._frozen(value, "has other results at each call")
        if isinstance(value, _SOURCES):
            self._changing[id(value)] = functools.partial(_itself, value), self._name
            return _Same(value)
        if isinstance(value, np.ndarray):
            # Objects among the arguments, and what they hold, are not kept alive.
            self._changing[id(value)] = weakref.ref(value), self._name
            if value.nbytes > _COMPARED_BYTES or value.dtype.hasobject:
                return _Same(value)
            content = value.tobytes("A")
            if type(value) is np.ndarray and value.flags.forc and value.dtype.isnative and value.dtype.kind in "biuf":
                self.arrays.append((value, content))
            else:
                self.is_mutable = True
            return _Same(value), value.shape, content
        if kind in (types.ModuleType, types.BuiltinFunctionType) or isinstance(value, (np.ufunc, np.dtype, enum.Enum)):
            return _Same(value)
        if depth == _MAX_NESTING or id(value) in seen:
            return kind, "..."
        seen.add(id(value))
        if isinstance(value, Function):
            return self._print(value.__wrapped__, depth, seen)
        if isinstance(value, Derived):
            return kind, value.options, self._print(value.function, depth, seen)
        if isinstance(value, types.FunctionType):
            return self._of_function(value, depth, seen)
        if isinstance(value, type):
            return _Same(value), self._of_class(value, depth, seen, _ONLY_SHOWN)
        if isinstance(value, (types.MethodType, functools.partial)):
            parts = (value.__func__, value.__self__) if kind is types.MethodType else (value.func, value.args, value.keywords)
            return kind, tuple(self._print(part, depth + 1, seen) for part in parts)
        if isinstance(value, (list, tuple, dict, set, frozenset, collections.deque)):
            return self._of_container(value, depth, seen)
        return self._of_instance(value, depth, seen)

    def _of_function(self, function, depth, seen):
        if not _is_of_user(function):
            return _Same(function)
        if function.__code__ not in self._codes:
            self._codes.add(function.__code__)
            self._learn(function.__code__, function)
        read = [(self._name, value) for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            value = _value(cell)
            self.fixed.append((cell, None, value))
            read.append((name, value))
        return _Same(function.__code__), tuple(self._print_named(name, item, depth + 1, seen) for name, item in read)

    def _of_container(self, value, depth, seen):
        self.is_mutable = self.is_mutable or not isinstance(value, (tuple, frozenset))
        if len(value) > _MAX_ITEMS:
            return _Same(value), len(value)
        items = value.items() if isinstance(value, dict) else value
        prints = [self._print(item, depth + 1, seen) for item in list(items)]
        return type(value), frozenset(prints) if isinstance(value, (set, frozenset)) else tuple(prints)

    def _of_instance(self, value, depth, seen):
        """The attributes of an object that the code names, and its class."""
        kind = type(value)
        fields = own_attribute(value, "__dict__")
        slots = _slots_of(kind)
        if not isinstance(fields, dict) and not slots:
            return _Same(value)
        self.is_mutable = True
        of_class = self._of_class(kind, depth, seen, _NOT_SHOWN)
        items = list(fields.items()) if isinstance(fields, dict) else []
        items += [(name, own_attribute(value, name, _NO_VALUE)) for name in slots]
        names = self._names
        if _DYNAMIC.isdisjoint(names):
            items = [(name, item) for name, item in items if name in names]
        prints = tuple((name, self._print_named(name, item, depth + 1, seen)) for name, item in items)
        # What objects of other packages hold is not known, but another object is another one.
        return _Same(kind) if _is_plain(kind) else _same(value), of_class, prints

    def _of_class(self, kind, depth, seen, unread):
        """The attributes of a class that the code names. Its special functions are read once, but for those in `unread`."""
        found = []
        for base in _bases_of_user(kind):
            fields = vars(base)
            if (base, len(unread)) not in self._classes:
                self._classes.add((base, len(unread)))
                for name in [name for name in fields if name.startswith("__") and name.endswith("__")]:
                    if name not in unread and isinstance(fields[name], (types.FunctionType, Function)):
                        self._print(fields[name], 0, set())
            for name in sorted(name for name in fields.keys() & self._names if not name.startswith("__")):
                found.append((name, self._print_named(name, _function_of(fields[name]), depth + 1, seen)))
                self.is_mutable = True
        return tuple(found)

    def _learn(self, code, function, imported=()):
        """Reads code of a function: which names it has, and which globals it reads."""
        self._names.update(code.co_names)
        local = dict(imported)
        ops = {dis.opname[op] for op in set(code.co_code[::2])}
        self._writes = self._writes or not _WRITES.isdisjoint(ops)
        is_alone = not (code.co_names or code.co_freevars or local or any(op.startswith("CALL") for op in ops))
        # Reading all instructions takes as long as tracing them, and code that names and calls nothing has nothing else to tell.
        if not (is_alone and self._writes):
            instructions = list(dis.get_instructions(code))
            self._writes = self._writes or any(map(_is_write, instructions))
            calls = [item for item in instructions if item.opname.startswith("CALL")]
            self._passes_many = self._passes_many or any(item.opname == "CALL_FUNCTION_EX" or (item.arg or 0) > 2 for item in calls)
            self._learn_paths(code, instructions, function, local)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._learn(constant, function, local)
            for text in constant if isinstance(constant, tuple) else (constant,):
                if isinstance(text, str) and text.isidentifier():
                    self._names.add(text)

    def _learn_paths(self, code, instructions, function, local):
        """Follows each path of names, such as `settings.rate`, through modules. `local` gets the names that the code imports."""
        chain, value, constants, module = [], _NO_VALUE, [], _NO_VALUE
        file, names = short(code.co_filename), {*code.co_names, *code.co_freevars}

        def place():
            return f"{file}:{instruction.positions.lineno}"

        for instruction in instructions:
            name, does = instruction.argval, instruction.opname
            if does in _BETWEEN:
                continue
            if does.startswith("LOAD_") and name in names and name not in self._lines:
                self._lines[name] = place()
            if does in ("LOAD_GLOBAL", "LOAD_NAME"):
                chain, value, constants = [name], self._place(function.__globals__, name), []
            elif does.startswith("LOAD_") and isinstance(name, str) and name in local and does not in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_CONST"):
                chain, value, constants = local[name][0], local[name][1], []
            elif does in ("LOAD_DEREF", "LOAD_CLASSDEREF") and name in code.co_freevars:
                chain, value, constants = [name], _free(function, name), []
            elif does in ("LOAD_ATTR", "LOAD_METHOD") and chain:
                chain, value = [*chain, name], self._attribute(value, name)
            elif does == "IMPORT_NAME":
                # What is imported by itself is the outermost package.
                own = constants and constants[-1]
                module = _imported(name if own else name.partition(".")[0])
                chain, value = [], module
                local[_LAST] = [name], module
                continue
            elif does == "IMPORT_FROM":
                local[_LAST] = [name], self._attribute(module, name)
                continue
            elif does.startswith("STORE_") and _LAST in local:
                local[name] = local.pop(_LAST)
            elif does == "LOAD_CONST":
                constants.append(name)
                if value is np.datetime64 and name in ("now", "today"):
                    raise _frozen(function, ".".join(chain), "has another result at each call", place())
                if not _is_importer(value) and not _is_seeded(value):
                    chain, value = [], _NO_VALUE
                continue
            elif does == "CALL" and _is_importer(value) and constants and isinstance(constants[-1], str):
                chain, value = [constants[-1]], _imported(constants[-1])
            else:
                seeds = [constant for constant in constants if not isinstance(constant, tuple)]
                if does in ("CALL", "CALL_KW") and _is_seeded(value) and seeds == [None] * instruction.arg:
                    raise _frozen(function, ".".join(chain), "without a seed draws other random numbers at each call", place())
                chain, value, constants = [], _NO_VALUE, []
            if chain:
                self._check_source(function, chain, value, place())

    def _check_source(self, function, chain, value, place):
        """Refuses clocks, and notes where the function may draw random numbers."""
        owner = {id(np.random): np.random.mtrand._rand, id(random): random._inst}.get(id(value)) or own_attribute(value, "__self__")
        if chain and (_is_clock(value) or value is random.SystemRandom or isinstance(owner, random.SystemRandom)):
            raise _frozen(function, ".".join(chain), "has another result at each call", place)
        if isinstance(owner, _SOURCES):
            # The name that is read last is the longest one.
            self._draws[place] = ".".join(chain), owner

    def _place(self, container, name):
        """The value of a global, which is read at each call if it may change."""
        if name not in container:
            return vars(builtins).get(name, _NO_VALUE)
        value = container[name]
        if not isinstance(value, types.ModuleType):
            self._places.setdefault((id(container), name), (container, name))
        return value

    def _attribute(self, value, name):
        if isinstance(value, types.ModuleType):
            if _is_of_user(value):
                return self._place(vars(value), name)
            return _read(value, name)
        if isinstance(value, _SOURCES) or (isinstance(value, type) and not _is_of_user(value)):
            return _read(value, name)
        if isinstance(value, (types.FunctionType, Function)) and name in vars(value):
            return self._place(vars(value), name)
        return _NO_VALUE


def _itself(value):
    return value


def _is_seeded(value):
    """Whether a function or a class makes a source of random numbers, which is another one each time if it gets no seed."""
    if not isinstance(value, type) or _is_of_user(value):
        return value is np.random.default_rng
    return issubclass(value, (np.random.RandomState, np.random.BitGenerator, np.random.SeedSequence, random.Random))


def _is_importer(value):
    return value is builtins.__import__ or value is importlib.import_module


def _imported(name):
    """A module of the kind that has other results at each call; others are not read."""
    if name not in _CLOCKS.keys() | {"datetime", "random", "numpy", "numpy.random", "importlib"}:
        return _NO_VALUE
    return importlib.import_module(name)


def _frozen(function, name, what, place=None):
    where = f" at {place}" if place else ""
    own = getattr(function, "__qualname__", type(function).__name__)
    return frozen(f"`{name}` in `{own}`{where}", what)


def _value(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return _NO_VALUE


def _free(function, name):
    names = function.__code__.co_freevars
    return _value(function.__closure__[names.index(name)]) if name in names else _NO_VALUE


def _function_of(item):
    """The function of an attribute of a class."""
    if isinstance(item, property):
        return item.fget
    if isinstance(item, (classmethod, staticmethod)):
        return item.__func__
    return item.func if isinstance(item, functools.cached_property) else item


def _slots(base):
    slots = vars(base).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [name for name in slots if not name.startswith("__")]


def _is_clock(value):
    if not isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
        return False
    owner = value.__module__ or ""
    if isinstance(getattr(value, "__self__", None), type):
        owner = f"{value.__self__.__module__}.{value.__self__.__qualname__}"
    return value.__name__ in _CLOCKS.get({"posix": "os", "nt": "os"}.get(owner, owner), ())


@functools.lru_cache(maxsize=1024)
def _is_iterator(kind):
    """Whether objects of a class have other items each time, of which they do not show the state. Files may be written too."""
    return hasattr(kind, "__next__") and not issubclass(kind, (io.IOBase, np.broadcast)) and not _is_plain(kind)


def _is_write(instruction):
    """Whether an instruction writes to what may be an array."""
    return instruction.opname in _WRITES or instruction.opname == "BINARY_OP" and instruction.argrepr.endswith("=")


def has_hidden_state(value):
    """Whether an object changes when it is used, which its attributes do not show."""
    return _is_iterator(type(value)) or isinstance(value, (*_SOURCES, np.random.SeedSequence, io.IOBase, array.array, queue.SimpleQueue))


@functools.lru_cache(maxsize=1024)
def _bases_of_user(kind):
    return [base for base in kind.__mro__ if _is_of_user(base)]


@functools.lru_cache(maxsize=1024)
def _is_plain(kind):
    """Whether objects of a class have nothing but the attributes that the code of the user gives them."""
    return all(base is object or base is types.SimpleNamespace or _is_of_user(base) for base in kind.__mro__)


@functools.lru_cache(maxsize=1024)
def _slots_of(kind):
    return [name for base in kind.__mro__ for name in _slots(base)]


def _is_of_user(thing):
    """Whether the code of a function, a class or a module is not that of an installed package."""
    if isinstance(thing, types.FunctionType):
        return is_of_user(thing.__code__.co_filename)
    module = thing if isinstance(thing, types.ModuleType) else sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None:
        return isinstance(thing, type) and thing.__module__ != "builtins"
    if module.__name__.partition(".")[0] in sys.stdlib_module_names and module.__name__ != "__main__":
        return False
    return is_of_user(getattr(module, "__file__", None) or "")
