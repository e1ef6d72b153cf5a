"""The place of the code that calls an operation, for errors that point there."""

import functools
import linecache
import os
import sys
import sysconfig

import numpy as np

_HERE = os.path.dirname(__file__) + os.sep
_NUMPY = os.sep + "numpy" + os.sep
_INSTALLED = tuple(
    path + os.sep
    for path in {
        _HERE.removesuffix(os.sep),
        os.path.dirname(np.__file__),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    }
)

# Functions of these modules are called as they are: they do not compute with the names of the caller.
_FOREIGN = frozenset({"numpy", "broadloom", "scipy"}) | sys.stdlib_module_names


def is_foreign(module):
    """Whether a module, by its name, is none of the user's."""
    return str(module).partition(".")[0] in _FOREIGN and module != "__main__"


@functools.cache
def is_own(name):
    """Whether a file belongs to this package or to NumPy."""
    return name.startswith(_HERE) or _NUMPY in name


@functools.cache
def is_of_user(name):
    """Whether a file is not one of an installed package."""
    return not name.startswith(_INSTALLED) and not name.startswith("<frozen")


def is_asked_by_user():
    """Whether code of the user reads the attribute that calls this."""
    frame = sys._getframe(2)
    # Abstract classes ask in its place.
    if frame.f_code.co_filename == "<frozen abc>" and frame.f_back is not None:
        frame = frame.f_back
    return is_of_user(frame.f_code.co_filename) and not is_own(frame.f_code.co_filename)


def asking():
    """The function of an installed package that code of the user has called, and that runs now; None if there is none."""
    found, _ = _asking()
    return found and f"{found.f_globals.get('__name__')}.{found.f_code.co_qualname}"


def asking_object():
    """The object whose method that function is, or its first argument, and the name that the code of the user has for it; None if there
    is none."""
    found, caller = _asking()
    if found is None or not found.f_code.co_argcount:
        return None, None
    own = found.f_locals.get(found.f_code.co_varnames[0])
    names = (*caller.f_locals, *caller.f_code.co_names)
    return own, next((name for name in names if _variable(caller, name) is own), None)


def _asking():
    """The frame of that function, and the frame that has called it."""
    (frame, _), found = _outside(), None
    while frame is not None and not is_of_user(frame.f_code.co_filename):
        frame, found = frame.f_back, frame
    return (None, None) if found is None or frame is None else (found, frame)


def _outside():
    """The nearest frame outside of this package and of NumPy, None if there is none, and its distance from the caller."""
    frame, level = sys._getframe(1), 0
    while frame is not None and is_own(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    return frame, level


def level():
    """The distance of that code from the caller of this function, for warnings."""
    return _outside()[1]


def here():
    """The nearest code outside of this package and of NumPy, and its instruction; None if there is none."""
    frame, _ = _outside()
    # The line of a frame is looked up from the start of its code, which takes long in long functions: only messages need it.
    return None if frame is None else (frame.f_code, frame.f_lasti)


def line_of(found):
    """The line of what :func:`here` found."""
    code, instruction = found
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return next(lines, None) or code.co_firstlineno


def named(name):
    """What a name stands for in that code; None if it is none of its variables."""
    return _variable(_outside()[0], name)


def _variable(frame, name):
    try:
        # The globals of a traced function have names on demand.
        return frame.f_locals[name] if name in frame.f_locals else frame.f_globals[name]
    except (AttributeError, KeyError):
        return None


def describe(found):
    """The file, line, first column and width in characters, and the line of what :func:`here` found."""
    (code, instruction), line = found, line_of(found)
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    column, width = 1, max(len(text.strip()), 1)
    for number, positions in enumerate(code.co_positions()):
        if number == instruction // 2:
            start_line, end_line, start, end = positions
            if start_line == line and start is not None and end is not None:
                data = text.encode()
                end = end if end_line == line else len(data)
                column = len(data[:start].decode(errors="replace")) + 1
                width = max(len(data[start:end].decode(errors="replace")), 1)
            break
    else:
        column = len(text) - len(text.lstrip()) + 1
    return short(code.co_filename), line, column, width, text


def short(name):
    """A path relative to where the program runs, if that is shorter."""
    try:
        relative = os.path.relpath(name)
    except ValueError:
        return name
    return relative if len(relative) < len(name) else name
