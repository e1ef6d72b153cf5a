"""Whether a function changes an array of constants after it makes it, `y = np.array([1.0, 2.0])` before `y[0] = x[0]`: an array of NumPy's
cannot hold what is not known while the function is traced."""

import ast
import functools
import linecache

from ._frames import here, line_of
from ._syntax import changes, parsed

# Functions of NumPy that make new arrays.
MAKERS = frozenset(
    "arange array concatenate copy empty_like full_like geomspace linspace logspace ones_like repeat stack tile zeros_like".split()
)


def is_changed_later():
    """Whether the statement that runs now assigns a name, and the function around it changes what that stands for."""
    found = here()
    if found is None:
        return False
    return _is_changed("".join(linecache.getlines(found[0].co_filename)), line_of(found))


@functools.lru_cache(maxsize=1024)
def _is_changed(source, line):
    try:
        module = parsed(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    around = [node for node in ast.walk(module) if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno]
    functions = [node for node in around if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    made = next((node for node in around if isinstance(node, (ast.Assign, ast.AnnAssign))), None)
    if not functions or made is None:
        return False
    targets = made.targets if isinstance(made, ast.Assign) else [made.target]
    names = {item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name)}
    # The last one is the innermost.
    body = functions[-1].body
    added = {
        node.target.id for statement in body for node in ast.walk(statement)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }  # fmt: skip
    return not names.isdisjoint(changes(body) | added)
