"""Expressions that wait to be computed.

A node has data, or the operation that computes it from other nodes. One kernel computes all that a node needs."""

import functools

import numpy as np

from .._api import input as declare
from .._api import jit
from .._lazy import Array as Lazy

# An expression of more operations is evaluated in parts, so that loops that never look at their arrays need no more memory
# and no longer kernels with each round.
MAX_OPERATIONS = 128


class Node:
    """An array of known dtype: with data, or with the operation that makes it."""

    __slots__ = ("_shape", "data", "dtype", "operations", "source")

    def __init__(self, shape, dtype, data, source, operations):
        # None if the data decide it.
        self._shape = shape
        self.dtype = dtype
        self.data = data
        # None, or the operation, the nodes that it takes and its static arguments; None only once there are data, so that
        # a thread that reads it needs no lock.
        self.source = source
        self.operations = operations

    @property
    def shape(self):
        """The sizes of the axes. Where the data decide them, as of `x[x > 0]`, the elements are computed."""
        if self._shape is None:
            self._shape = self.evaluate().shape
        return self._shape

    def evaluate(self):
        """The elements, which are computed once."""
        source = self.source
        if source is not None:
            self.data = _evaluate(self)
            self.source = None
            self.operations = 0
        return self.data


def leaf(data):
    """A node of the elements of a NumPy array."""
    return Node(data.shape, data.dtype, data, None, 0)


def node(operation, operands, **statics):
    """The result of an operation on nodes.

    The operation is the name of a function of the text language, or a function that takes a list of lazy arrays and makes
    one of them. Static arguments are hashable.
    """
    operations = 1 + sum(operand.operations for operand in operands)
    if operations > MAX_OPERATIONS:
        for operand in operands:
            operand.evaluate()
        operations = 1
    statics = tuple(statics.items())
    found = inferred(operation, tuple((operand.shape, operand.dtype) for operand in operands), statics)
    return Node(*found, None, (operation, tuple(operands), statics), operations)


def _apply(operation, values, statics):
    if callable(operation):
        return operation(values, **dict(statics))
    return values[0]._trace.call(operation, tuple(values), dict(statics))


@functools.lru_cache(maxsize=4096)
def inferred(operation, types, statics):
    """What an operation makes by the rules of the text language: the shape, which is `None` if the data decide it, and the
    dtype of an array; `tuple` or `list` if it makes several arrays so, and `None` if it makes something else."""
    values = [
        declare(f"x{number}", f"{dtype}[{', '.join(map(str, shape))}]")
        for number, (shape, dtype) in enumerate(types, start=1)
    ]
    result = _apply(operation, values, statics)
    if isinstance(result, Lazy):
        is_known = all(isinstance(size, int) for size in result.shape)
        return result.shape if is_known else None, result.dtype
    is_several = type(result) in (tuple, list) and all(isinstance(item, Lazy) for item in result)
    return type(result) if is_several else None


def several(function, operands):
    """The results of a function that takes a list of lazy arrays and returns several, as NumPy's arrays."""
    return _run_several(function, [operand.evaluate() for operand in operands])


@functools.partial(jit, static="function")
def _run_several(function, operands):
    return tuple(function(operands))


@functools.partial(jit, static="program")
def _run(program, leaves):
    """Repeats the steps of a program on the lazy arrays of a trace; the last step makes the result."""
    values = list(leaves)
    for operation, operands, statics in program:
        values.append(_apply(operation, [values[number] for number in operands], statics))
    return values[-1]


def _evaluate(root):
    leaves, steps = _ordered(root)
    numbers = {id(node): number for number, (node, _) in enumerate(leaves)}
    program = []
    for node, (operation, operands, statics) in steps:
        numbers[id(node)] = len(leaves) + len(program)
        program.append((operation, tuple(numbers[id(operand)] for operand in operands), statics))
    return np.asarray(_run(tuple(program), [data for _, data in leaves]))


def _ordered(root):
    """The nodes with data below a node, and those without, each after its operands."""
    leaves, steps, seen = [], [], set()
    stack = [(root, None)]
    while stack:
        node, source = stack.pop()
        if source is not None:
            steps.append((node, source))
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        source = node.source
        if source is None:
            leaves.append((node, node.data))
            continue
        stack.append((node, source))
        stack.extend((operand, None) for operand in source[1])
    return leaves, steps
