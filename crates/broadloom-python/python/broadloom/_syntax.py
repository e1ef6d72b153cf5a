"""Plain `for` and `while` of traced functions: the same function with a call in the place of each loop, which gets the steps as a
function and decides how they are taken (`_steps.py`).

The variables of a function become cells, which its steps share by `nonlocal`: steps that are taken one after the other do what
the loop did. Files, lines and columns stay those of the user, and a function without loops stays what it is.
"""

import ast
import copy
import dis
import functools
import linecache
import types
import __future__

# The names of what stands for loops. They cannot be names of the user.
EACH, WHILE, OVER, _ITEM = "<each>", "<while>", "<over>", "<item>"

_ITERATED = {"range", "enumerate", "zip", "reversed"}
# Calls in a step that look at its frame.
_LOOKING = {"super", "__class__", "locals", "vars", "dir", "eval", "exec", "globals"}
_CHANGING = {"fill", "sort", "partition", "put", "resize"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUTURE = functools.reduce(lambda flags, name: flags | getattr(__future__, name).compiler_flag, __future__.all_feature_names, 0)


def rewritten(code):
    """The code of a function with calls in the place of loops; the code itself if it has none, or no source."""
    return _rewritten(code, code.co_filename)


@functools.lru_cache(maxsize=1024)
def _rewritten(code, filename):
    # Equal code of two files has other lines in messages.
    if not _has_loops(code):
        return code
    source = "".join(linecache.getlines(filename))
    try:
        module = parsed(source)
    except (SyntaxError, ValueError, RecursionError):
        return code
    for node, kind in _functions(module, None):
        if node.name == code.co_name and _first_line(node) == code.co_firstlineno:
            # Attributes of what a module imports have other instructions, and a part of it may have been compiled alone.
            for imports in (_imports(module), []):
                # The file may be another one by now, or a tool may have changed the code.
                same = _compiled(imports, node, kind, code)
                if same is not None and (same.co_code, same.co_names) == (code.co_code, code.co_names):
                    made = _compiled(imports, _with_calls(copy.deepcopy(node)), kind, code)
                    return code if made is None else made.replace(co_qualname=code.co_qualname)
    return code


def _has_loops(code):
    if any("JUMP_BACKWARD" in item.opname for item in dis.get_instructions(code)):
        return True
    return any(_has_loops(item) for item in code.co_consts if isinstance(item, types.CodeType))


@functools.lru_cache(maxsize=16)
def parsed(source):
    return ast.parse(source)


def _first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _functions(node, kind):
    """All functions of a module, each with the name of the class to which its private names belong."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child, kind
        yield from _functions(child, child.name if isinstance(child, ast.ClassDef) else kind)


def _imports(module):
    found = [item for item in _own(module.body) if isinstance(item, (ast.Import, ast.ImportFrom))]
    return [item for item in found if getattr(item, "module", None) != "__future__"]


def _compiled(imports, node, kind, code):
    """The code of a function of the same free variables, in a module that imports the same."""
    inner = [ast.ClassDef(kind, [], [], [node], [])] if kind else [node]
    if kind:
        inner[0].type_params = []
    held = [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None)) for name in code.co_freevars]
    made = ast.fix_missing_locations(ast.Module([*imports, _definition("<outer>", held + inner)], []))
    try:
        made = compile(made, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return _found(made, code)


def _definition(name, body):
    """A function without parameters."""
    made = ast.FunctionDef(name, ast.arguments([], [], None, [], [], None, []), body, [], None, None)
    made.type_params = []
    return made


def _found(made, code):
    for item in made.co_consts:
        if isinstance(item, types.CodeType):
            if (item.co_name, item.co_firstlineno) == (code.co_name, code.co_firstlineno):
                return item if set(item.co_freevars) == set(code.co_freevars) else None
            if (deeper := _found(item, code)) is not None:
                return deeper
    return None


def _with_calls(function):
    """The function with calls in the place of its loops, and of those of the functions in it."""
    rewriter = _Rewriter(function)
    function.body = rewriter.statements(function.body)
    if rewriter.bound:
        # What only steps assign is a variable of the function.
        targets = [ast.Name(name, ast.Store()) for name in sorted(rewriter.bound)]
        variables = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
        at = 1 if ast.get_docstring(function, clean=False) is not None else 0
        function.body.insert(at, _placed(variables, function.body[0]))
    return function


def _placed(node, place):
    """The node, and all in it that has no place, at the place of another one."""
    for item in ast.walk(node):
        if "lineno" in item._attributes and not hasattr(item, "lineno"):
            ast.copy_location(item, place)
    return node


class _Rewriter(ast.NodeTransformer):
    """Rewrites the loops of one function."""

    def __init__(self, function):
        self.function = function
        self.globals = {name for node in _own(function.body) if isinstance(node, ast.Global) for name in node.names}
        self.nonlocals = {name for node in _own(function.body) if isinstance(node, ast.Nonlocal) for name in node.names}
        self.bound = set()

    def statements(self, body):
        made = []
        for statement in body:
            new = self.visit(statement)
            made += new if isinstance(new, list) else [new]
        return made

    def visit_FunctionDef(self, node):
        return _with_calls(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        return node

    def visit_ClassDef(self, node):
        # Names of the body of a class are no variables of a function.
        for item in node.body:
            if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
                _with_calls(item)
        return node

    def visit_For(self, node):
        return self._loop(node, [node.target, *node.body], EACH)

    def visit_While(self, node):
        return self._loop(node, [node.test, *node.body], WHILE)

    def _loop(self, node, parts, helper):
        assigned = _assigned(parts)
        if not _is_eligible(node) or any(name.startswith("__") and not name.endswith("__") for name in assigned):
            return self.generic_visit(node)
        changed = changes(node.body) - assigned
        needed = assigned & _read_outside(self.function, node)
        targets = _assigned([node.target]) if helper is EACH else set()
        node.body = self.statements(node.body)
        orelse = self.statements(node.orelse)
        step = self._function(node, node.body, assigned, "<step>")
        if helper is EACH:
            item = ast.Assign([node.target], ast.copy_location(ast.Name(_ITEM, ast.Load()), node.iter))
            at = sum(isinstance(part, (ast.Nonlocal, ast.Global)) for part in step.body)
            step.body.insert(at, ast.copy_location(item, node.target))
            step.args.args.append(ast.copy_location(ast.arg(_ITEM), node.iter))
            before, given, place = [step], _over(node.iter), node.iter
        else:
            condition = self._function(node, [ast.copy_location(ast.Return(node.test), node.test)], _assigned([node.test]), "<condition>")
            before, given, place = [condition, step], ast.Name("<condition>", ast.Load()), node.test
        about = assigned - self.globals, changed, needed, targets
        names = [ast.Tuple([ast.Constant(name) for name in sorted(some)], ast.Load()) for some in about]
        call = ast.Call(ast.Name(helper, ast.Load()), [given, ast.Name("<step>", ast.Load()), *names], [])
        return [*(_placed(part, node) for part in before), _placed(ast.Expr(call), place), *orelse]

    def _function(self, node, body, assigned, name):
        """The function of a step, or of a condition, which assigns variables of the function around it."""
        declared = []
        if own := assigned - self.globals:
            declared.append(ast.Nonlocal(sorted(own)))
            self.bound |= own - self.nonlocals
        if of_module := assigned & self.globals:
            declared.append(ast.Global(sorted(of_module)))
        body = _Continued().statements(body)
        return _placed(_definition(name, declared + body), node)


class _Continued(ast.NodeTransformer):
    """Ends the step where the loop continues, and assigns where variables were annotated."""

    def statements(self, body):
        return [made for made in map(self.visit, body) if made is not None]

    def visit_Continue(self, node):
        return ast.copy_location(ast.Return(None), node)

    def visit_AnnAssign(self, node):
        if not isinstance(node.target, ast.Name):
            return node
        made = ast.Assign([node.target], node.value) if node.value is not None else ast.Pass()
        return ast.copy_location(made, node)

    def _inner(self, node):
        # A `continue` of a loop in the step is its own; one after it is not.
        node.orelse = self.statements(node.orelse)
        body = _Annotated()
        node.body = [body.visit(statement) for statement in node.body]
        return node

    visit_For = visit_AsyncFor = visit_While = _inner

    def _stays(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _stays


class _Annotated(_Continued):
    """The same in a loop of the step, which stays a loop."""

    visit_Continue = _Continued._stays


def _own(nodes):
    """All nodes of statements, but for those of the functions and classes in them."""
    for node in nodes:
        yield node
        if not isinstance(node, _SCOPES):
            yield from _own(ast.iter_child_nodes(node))


def _is_eligible(node):
    """Whether a loop ends by itself alone, and its steps can be a function."""
    expressions = [node.iter] if isinstance(node, ast.For) else [node.test]
    never = (
        ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal,
    )  # fmt: skip
    for item in _own([*expressions, *node.body]):
        if isinstance(item, never) or (isinstance(item, ast.Name) and item.id in _LOOKING):
            return False
        if isinstance(item, ast.comprehension) and item.is_async:
            return False
    return not _breaks(node.body)


def _breaks(body):
    for item in body:
        if isinstance(item, ast.Break):
            return True
        if isinstance(item, (ast.For, ast.While, ast.AsyncFor)):
            if _breaks(item.orelse):
                return True
        elif not isinstance(item, _SCOPES) and _breaks(ast.iter_child_nodes(item)):
            return True
    return False


def _assigned(nodes):
    """The names of a function that are assigned or deleted."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        if isinstance(node, _SCOPES):
            continue
        if isinstance(node, _COMPREHENSIONS):
            # Its variables are its own, but for those of `:=`.
            found |= {item.target.id for item in ast.walk(node) if isinstance(item, ast.NamedExpr)}
        else:
            found |= _assigned(ast.iter_child_nodes(node))
    return found


def changes(body):
    """The names of what statements seem to change in place: what else they change is seen when they run."""
    found = set()
    for node in _own(body):
        target = None
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            target = node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            target = node.func
        elif isinstance(node, ast.keyword) and node.arg == "out":
            target = node.value
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        if isinstance(target, ast.Name):
            found.add(target.id)
    return found


def _read_outside(function, loop):
    """The names that a function reads somewhere outside of a loop."""
    found, stack = set(), [function]
    while stack:
        node = stack.pop()
        if node is loop:
            stack += node.orelse
            continue
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        stack += ast.iter_child_nodes(node)
    return found


def _over(node):
    """What a loop iterates over, where `range` and the like may get what is not known yet."""
    is_known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ITERATED
    if not is_known or node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return node
    arguments = [_over(argument) for argument in node.args]
    made = ast.Call(ast.copy_location(ast.Name(OVER, ast.Load()), node.func), [node.func, *arguments], [])
    return ast.copy_location(made, node)
