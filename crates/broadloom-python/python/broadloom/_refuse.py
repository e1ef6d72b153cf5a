"""Refusals of what needs the elements of a lazy array, and what to write instead."""

import ast
import contextlib
import dis
import re

import numpy as np

from ._attempt import refusal
from ._broadloom import Value
from ._caught import open_now
from ._errors import DTypeError, ProgramError, ShapeError, TracingError
from ._frames import asking, asking_object, describe, here, named

_UNKNOWN = "the elements of a lazy array are not known while the function is traced"
_CHOOSE = "write `np.where(condition, a, b)` to choose between values"


def elements(what, instead=None):
    """A method that asks for elements, and is refused, with what else to write."""
    advice = _CHOOSE if instead is None else f"{instead}, or {_CHOOSE}"

    def refuse(self, *args, **kwargs):
        _check_is_alive(self)
        asks = f"`{name}` asks for them; call it outside of the traced function, or {_CHOOSE}" if (name := asking()) else None
        raise _refused(_static(self), _table() or asks or _lookup() or f"{what}; {advice}")

    refuse.__doc__ = f"Refused while a function is traced: {what}."
    return refuse


def frozen(subject, what):
    """The error of what is another thing each time, which a function would read once."""
    return TracingError(
        f"{subject} {what}, but a traced function is run once: its result would stay the same; call "
        "it outside of the traced function, and pass the result as an argument"
    )


def _check_is_alive(value):
    """Raises that a value is used after its function has returned, if it is: sizes are read from the trace."""
    _ = value._type


def _refused(static, otherwise):
    stored = _stored()
    error = refusal(TracingError(f"{_UNKNOWN}: {static or stored or otherwise}"))
    # NumPy puts one of its own in the place of an error in an assignment.
    error.is_hidden = stored is not None
    return error


def attribute(name):
    """Refuses an attribute that NumPy's arrays have, which a default or `hasattr` would replace by another branch."""
    return refusal(TracingError(
        f"`x.{name}` is not known while the function is traced: use it outside of the traced function, and pass what is needed as an argument"
    ))  # fmt: skip


def array(self, *args, **kwargs):
    """Refused while a function is traced: NumPy asks for the elements."""
    _check_is_alive(self)
    name = asking()
    function = "a function" if name is None else f"`{name}`"
    any_function = f"{function} takes only NumPy's arrays, and asks for them; call it outside of the traced function, or {_CHOOSE}"
    raise _refused(_table(), (None if name else _conversion(self) or _lookup()) or any_function)


def text(value, make, what):
    """The text of a lazy array outside of traced functions; in these it would say its elements, and is refused."""
    if not open_now():
        return make(value)
    help = _static(value) or "return the value, and write its text outside of the traced function"
    raise refusal(TracingError(f"{_UNKNOWN}, and {what} asks for them: {help}; `repr` shows the lazy array"))


def _table():
    """What to write for an object of pandas' or xarray's, which takes only NumPy's arrays beside it."""
    table, name = asking_object()
    if not callable(getattr(type(table), "to_numpy", None)):
        return None
    kind = f"{type(table).__module__.partition('.')[0]}.{type(table).__name__}"
    what = f"`{name}` is" if name else "it stands beside"
    return f"{what} an object of the class {kind}, which takes only NumPy's arrays; write `{name or 'table'}.to_numpy()`"


_RESULTS = {
    "cholesky": "factor", "cond": "number", "det": "determinant", "eig": "eigenvalues, eigenvectors", "eigh": "eigenvalues, eigenvectors",
    "eigvals": "eigenvalues", "eigvalsh": "eigenvalues", "inv": "inverse", "lstsq": "solution", "matrix_rank": "rank",
    "pinv": "inverse", "qr": "q, r", "slogdet": "sign, logarithm", "solve": "solution", "svd": "u, s, vh", "svdvals": "s",
    "tensorinv": "inverse", "tensorsolve": "solution",
}  # fmt: skip


def linalg(name):
    """What to write for a function of `np.linalg` that has no kernel: what is computed before the call, and handed over."""
    if name == "matrix_power":
        return "write the product, `x @ x @ x`"
    if name == "multi_dot":
        return "write the product, `a @ b @ c`"
    expression = _expression()
    is_call = isinstance(expression, ast.Call) and ast.unparse(expression.func).endswith(name)
    call = ast.unparse(expression) if is_call else f"np.linalg.{name}(..)"
    results = _RESULTS.get(name, "result")
    given = "its result `" + results + "`" if "," not in results else "its results `" + results.replace(", ", "`, `") + "`"
    return (
        f"call it in NumPy, `{results} = {call}`, and pass {given} to the compiled function as an argument. What the function "
        "computes before, a compiled function of its own returns"
    )


# The kinds of numbers among the arguments: what one is, what several are, and how to make Python's of NumPy's.
_KINDS = {
    "float": ("a float", "floats", None),
    "i": ("an integer of NumPy's", "integers of NumPy's", "int"),
    "u": ("an integer of NumPy's", "integers of NumPy's", "int"),
    "f": ("a float of NumPy's", "floats of NumPy's", None),
    "b": ("a flag of NumPy's", "flags of NumPy's", "bool"),
    "several": ("", "numbers", None),
}  # fmt: skip


def _static(value):
    """What to write if it is a number among the arguments, or computed of these alone, that is asked for its value."""
    kinds = dict.fromkeys(value._numbers, "float") or _scalars(value)
    if not kinds:
        return None
    # The function is traced again, with what is an integer or a flag among these.
    value._trace.needs_integers()
    several = len(kinds) > 1
    names = " and ".join(f"`{name}`" for name in kinds)
    one, many, make = _KINDS[next(iter(kinds.values())) if len(set(kinds.values())) == 1 else "several"]
    are = f"{names} are {many}" if several else f"{names} is {one}"
    if value._trace.is_derived and not {"float", "f"}.isdisjoint(kinds.values()):
        return f"{are}, with respect to which the function is differentiated; {_CHOOSE}"
    written = ", ".join(f'"{name}"' for name in kinds)
    call = f"write `@bl.jit(static={f'[{written}]' if several else written})`"
    if make and not several:
        call = f"pass `{make}({next(iter(kinds))})`, or {call},"
    verb, them = ("are", "them") if several else ("is", "it")
    return f"{are}, which {verb} passed to the kernel at each call; {call} to make {them} a part of the kernel"


_INPUT = re.compile(r'input ("?)(\w+)"?: ([biuf])\w*\[(.*)\]')


def _scalars(value):
    """The arguments without axes of which alone a value is computed, with their kinds; none if other arrays are needed too."""
    if getattr(value, "_is_size", False) or value.ndim:
        return {}
    inputs, definitions = {}, {}
    for line in value._trace.text.splitlines():
        if given := _INPUT.fullmatch(line):
            inputs[given[2]] = given
        elif line.startswith("let "):
            made, _, expression = line.removeprefix("let ").partition(" = ")
            definitions.update(dict.fromkeys(re.findall(r"\w+", made), expression))
    found, seen, stack = {}, set(), [value._name()]
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in definitions:
            stack.extend(re.findall(r"(?<![\w.])[A-Za-z_]\w*", definitions[name]))
        elif name in inputs:
            found[name] = "float" if inputs[name][1] else inputs[name][3]
            if inputs[name][4]:
                return {}
        elif re.fullmatch(r"v\d+", name):
            # What the steps of a loop carry.
            return {}
    known = value._trace.captured_names
    return {name: found[name] for name in inputs if name in found and name not in known}


@contextlib.contextmanager
def explained(arguments):
    """Adds to the errors of a call with these arguments what to write if one of them is a number that is not known."""
    try:
        yield
    except (DTypeError, ProgramError, ShapeError) as error:
        made = with_static(error, arguments)
        if made is error:
            raise
        raise made from None


def with_static(error, arguments):
    """The error of a call with these arguments, with what to write if one of them is a number that is not known."""
    stack, text = [arguments], str(error)
    is_about_values = any(word in text for word in ("expected", " takes ", "to have rank 1, not 0"))
    while stack and is_about_values and _HELP not in text:
        argument = stack.pop()
        if isinstance(argument, (tuple, list)):
            stack.extend(argument)
        elif isinstance(argument, dict):
            stack.extend(argument.values())
        elif isinstance(argument, Value) and (help := _static(argument)) is not None:
            text = text.replace("found a number", "found one that is not known").replace("found a tensor", "found one that is not known")
            return type(error)(f"{text}\n\n{_HELP}: {help}.")
    return error


_HELP = "If the function needs the value while it is traced"


def _expression():
    """The expression that runs now in the code of the user, and its text; None if it cannot be read."""
    found = here()
    if found is None:
        return None
    *_, column, width, line = describe(found)
    try:
        return ast.parse(line[column - 1 : column - 1 + width].strip(), mode="eval").body
    except SyntaxError:
        return None


def _conversion(value):
    """What to write for a function of NumPy's that makes an array of its argument before it does anything else."""
    expression = _expression()
    if isinstance(expression, ast.Subscript):
        base = ast.unparse(expression.value)
        if base.endswith((".r_", ".c_")):
            joined = "np.concatenate" if base.endswith("r_") else "np.column_stack"
            items = expression.slice.elts if isinstance(expression.slice, ast.Tuple) else [expression.slice]
            if any(isinstance(item, ast.Slice) for item in items):
                return f"`{base}` makes an array of its items; write `{joined}((..))`, with `np.arange` for a slice"
            return f"`{base}` makes an array of its items; write `{joined}(({', '.join(ast.unparse(item) for item in items)}))`"
        return None
    if not isinstance(expression, ast.Call):
        return None
    function = ast.unparse(expression.func)
    short = function.rpartition(".")[2]
    first = expression.args[0] if expression.args else None
    is_list = isinstance(first, (ast.List, ast.Tuple))
    text = ast.unparse(first) if first is not None else "x"
    if short in ("array", "asarray", "asanyarray", "ascontiguousarray"):
        if is_list:
            return f"`{function}` makes an array of its items; write `np.stack({text})`"
        return f"`{function}` makes an array of its argument, which is one already if it is lazy; write `{text}` itself, and {_CHOOSE[6:]}"
    if isinstance(getattr(np, short, None), type) and issubclass(getattr(np, short), np.generic):
        return f"`{function}` makes a scalar of its argument; write `{text}.astype({function})`"
    if is_list:
        rest = [ast.unparse(item) for item in expression.args[1:]]
        rest += [f"{word.arg}={ast.unparse(word.value)}" if word.arg else ".." for word in expression.keywords]
        return f"`{function}` makes an array of its items; write `{function}({', '.join([f'np.stack({text})', *rest])})`"
    if (of_lazy := _of_lazy(value, expression)) is not None:
        return of_lazy
    return (
        f"`{function}` takes only NumPy's arrays; call it outside of the traced function, and pass its result as an argument, "
        f"or {_CHOOSE}"
    )


def _of_lazy(value, call):
    """What to write for a method of an array of NumPy's, or a function that asks its first array alone what it is, as `np.take`."""
    function, operands = call.func, [ast.unparse(operand) for operand in call.args]
    if not isinstance(function, ast.Attribute) or not hasattr(value, function.attr) or not operands:
        return None
    base = ast.unparse(function.value)
    if not hasattr(named(base), "__name__"):
        operands.insert(0, base)
    if len(operands) < 2:
        return None
    table, other, *rest = operands
    rest += [f"{word.arg}={ast.unparse(word.value)}" for word in call.keywords if word.arg]
    made = f"np.asarray({table}, like={other}).{function.attr}({', '.join([other, *rest])})"
    return f"`{table}` is not lazy, and knows nothing of what is; pass it as an argument of the function, or write `{made}`"


def _stored():
    """What to write for `table[0] = value`, if this is what asks for elements."""
    found = here()
    if found is None or dis.opname[found[0].co_code[found[1]]] != "STORE_SUBSCR":
        return None
    expression = _expression()
    table = ast.unparse(expression.value) if isinstance(expression, ast.Subscript) else "y"
    return (
        f"`{table}` is an array of NumPy's, and cannot hold what is not known; make it lazy, `{table} = np.asarray({table}, like=x)` with "
        "an argument `x`, or pass it as an argument of the function"
    )


def _lookup():
    """What to write for `table[index]`, if this is what asks for elements: the table knows nothing of lazy arrays."""
    expression = _expression()
    if not isinstance(expression, ast.Subscript):
        return None
    table, at = ast.unparse(expression.value), ast.unparse(expression.slice)
    says = f"`{table}` is not lazy, and cannot be indexed by what is; pass it as an argument of the function"
    if isinstance(expression.slice, (ast.Tuple, ast.Slice)):
        return says
    return f"{says}, or write `np.asarray({table}, like={at})[{at}]`"
