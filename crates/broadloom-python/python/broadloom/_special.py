"""NumPy's functions that are written with other ones, or that differ from the language's function of the same name."""

import math

import numpy as np

from ._broadloom import Value
from ._errors import DTypeError, ProgramError, TracingError
from ._weak import is_weak, operands


def trace_of(arguments):
    """The trace of a lazy array somewhere in the arguments."""
    stack = [arguments]
    while stack:
        item = stack.pop()
        if isinstance(item, Value):
            return item._trace
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
    raise TracingError("no lazy array is among the arguments")


def lazy(trace, operand):
    """An operand as a lazy array."""
    if isinstance(operand, Value):
        return operand
    return trace.call("copy", (np.asarray(operand),), {})


def plain(value):
    """Numbers and flags of NumPy's classes, also within tuples and lists, as Python's: they say what to do, and have no dtype."""
    if isinstance(value, (np.number, np.bool_)):
        return value.item()
    if type(value) in (tuple, list):
        return type(value)(plain(item) for item in value)
    return value


def flag(function, name, value):
    """A parameter that is true or false, for which NumPy takes any number."""
    if not isinstance(value, (int, np.integer, np.bool_)):
        raise DTypeError(f"`{written(function)}` takes `{name}=True` or `{name}=False`, not {value!r}")
    return bool(value)


def number(function, name, value):
    """A parameter that is a number and not an operand with a dtype."""
    if not isinstance(value, (int, float, np.number, np.bool_)):
        raise DTypeError(f"`{written(function)}` takes a number as `{name}=`, not {type(value).__name__}")
    value = plain(value)
    return int(value) if isinstance(value, bool) else value


def written(function):
    """The name of a function as a program writes it: `np.linalg.inv`."""
    module = getattr(function, "__module__", None) or "numpy"
    module = module.replace("numpy.lib.scimath", "numpy.emath").replace("numpy", "np", 1)
    return f"{module}.{function.__name__}"


def check_order(name, order):
    """Refuses an order of the elements in memory other than that of all results."""
    if order not in (None, "C", "K", "A"):
        raise ProgramError(
            f"`{name}` takes no `order={order!r}`: results are in row-major order; call `np.asfortranarray` on the result of "
            "the traced function"
        )


def check_device(name, device):
    """Refuses a place for the elements other than the one that there is."""
    if device not in (None, "cpu"):
        raise ProgramError(f"`{name}` takes no `device={device!r}`: arrays are in the memory of the CPU")


def check_casting(name, array, dtype, casting):
    """Refuses a conversion that NumPy refuses with `casting`."""
    if not np.can_cast(array.dtype, dtype, casting):
        raise DTypeError(f"`{name}` does not cast from {array.dtype} to {dtype} with `casting={casting!r}`: write `.astype({dtype})`")


def _shape(a):
    return a.shape


def _size(a, axis=None):
    if isinstance(axis, tuple):
        return math.prod(a.shape[number] for number in axis)
    return a.size if axis is None else a.shape[axis]


def _ndim(a):
    return a.ndim


def is_by_columns(name, array, order):
    """Whether elements are counted with the first index fastest; refuses what depends on the memory of the array."""
    if order in (None, "C") or array.ndim < 2:
        return False
    if order == "F":
        return True
    if order not in ("A", "K"):
        raise ProgramError(f"`{name}` takes no `order={order!r}`: write 'C' or 'F'")
    raise TracingError(
        f"`{name}` cannot follow `order={order!r}`: the order of the elements in memory is not known while the function is "
        "traced; write `order='C'` or `order='F'`"
    )


def ravel(a, order="C"):
    a = a.T if is_by_columns("np.ravel", a, order) else a
    return a._trace.call("ravel", (a,), {})


def reshape(a, shape, order="C"):
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    shape = plain(shape)
    if not shape:
        return a._trace.index(a._trace.call("reshape", (a, 1), {}), (0,))
    if is_by_columns("np.reshape", a, order) or (order == "F" and len(shape) > 1):
        return a._trace.call("reshape", (a.T, *shape[::-1]), {}).T
    return a._trace.call("reshape", (a, *shape), {})


def _reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    return a.reshape(shape if newshape is None else newshape, order=order, copy=copy)


def _transpose(a, axes=None):
    return a.transpose(*(() if axes is None else (axes,)))


def _astype(x, dtype, /, *, copy=True, device=None):
    return x.astype(dtype, copy=copy)


def _copy(a, order="K", subok=False):
    return a.copy(order)


def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    keywords = {"nan": nan, "posinf": posinf, "neginf": neginf}
    given = {key: number(np.nan_to_num, key, value) for key, value in keywords.items() if value is not None}
    made = x._trace.call("nan_to_num", (x,), given)
    if copy or not x._can_change:
        return made
    x[...] = made
    return x


def _converted(name, arrays, dtype, casting):
    """Arrays in the dtype in which they are joined: each is cast by itself."""
    trace = trace_of(arrays)
    arrays = tuple(arrays)
    if dtype is None:
        return trace, arrays
    arrays = tuple(lazy(trace, array) for array in arrays)
    for array in arrays:
        check_casting(name, array, np.dtype(dtype), casting)
    return trace, tuple(array.astype(dtype) for array in arrays)


def _concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    trace, arrays = _converted("np.concatenate", arrays, dtype, casting)
    if axis is None:
        arrays, axis = tuple(lazy(trace, array).ravel() for array in arrays), 0
    return trace.call("concatenate", (arrays,), {"axis": plain(axis)})


def _stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    trace, arrays = _converted("np.stack", arrays, dtype, casting)
    return trace.call("stack", (arrays,), {"axis": plain(axis)})


def _stacked(function):
    def joined(tup, *, dtype=None, casting="same_kind"):
        trace, arrays = _converted(f"np.{function}", tup, dtype, casting)
        return trace.call(function, (arrays,), {})

    return joined


def _where(condition, x=None, y=None, /):
    if x is None or y is None:
        raise ValueError("np.where takes both arrays to choose from, or none")
    return trace_of((condition, x, y)).call("where", (condition, *operands("where", (x, y))), {})


def _select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError("np.select takes as many conditions as choices, and at least one")
    if isinstance(default, str):
        raise DTypeError("`np.select` takes a number or an array as `default=`, not a text")
    trace = trace_of((condlist, choicelist, default))
    values = [x if type(x) in (int, float, bool) else lazy(trace, x) for x in (*choicelist, default)]
    dtype = np.result_type(*(x if not isinstance(x, Value) else x.dtype for x in values))
    *choices, result = (x.astype(dtype) if isinstance(x, Value) else x for x in values)
    if not isinstance(result, Value):
        result = lazy(trace, np.asarray(result, dtype))
    for number, (condition, choice) in reversed(list(enumerate(zip(condlist, choices)))):
        condition = lazy(trace, condition)
        if condition.dtype != np.bool_:
            raise DTypeError(f"np.select takes conditions of dtype bool, and condition {number} is {condition.dtype}: compare it")
        result = trace.call("where", (condition, choice, result), {})
    return result


def _diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    trace = trace_of((a, prepend, append))
    if prepend is not np._NoValue or append is not np._NoValue:
        a = lazy(trace, a)
        first = [slice(None)] * a.ndim
        first[axis] = slice(0, 1)

        def edge(value):
            if value is np._NoValue:
                return ()
            value = lazy(trace, value)
            return (value if value.ndim else trace.call("broadcast_to", (value, *a[tuple(first)].shape), {}),)

        a = _concatenate((*edge(prepend), a, *edge(append)), axis=axis)
    return trace.call("diff", (a,), {"n": plain(n), "axis": plain(axis)})


def _einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """`optimize` is without effect: the order of products is chosen by their cost."""
    check_order("np.einsum", order)
    trace = trace_of(operands)
    if not isinstance(operands[0], str):
        raise ProgramError("`np.einsum` takes its subscripts as a text: write `np.einsum('ij,jk->ik', x, y)`")
    subscripts, *arrays = operands
    if dtype is not None:
        _, arrays = _converted("np.einsum", arrays, dtype, casting)
    return trace.call("einsum", (subscripts, *arrays), {})


def _iscomplexobj(x):
    return False


def _isrealobj(x):
    return True


def _real(val):
    return val


def _block(arrays):
    """`np.block`: the innermost lists are joined along the last axis, those around them along the axis before it."""
    depth, ranks, level = 0, [], [arrays]
    while level:
        ranks += [np.ndim(item) for item in level if type(item) is not list]
        level = [part for item in level if type(item) is list for part in item]
        depth += bool(level)
    rank = max(depth, *ranks)

    def joined(item, above):
        if type(item) is list:
            return np.concatenate([joined(part, above + 1) for part in item], axis=above - depth)
        array = lazy(trace, item)
        return array[(None,) * (rank - array.ndim) + (...,)]

    trace = trace_of(arrays)
    made = joined(arrays, 0)
    return made.copy() if depth == 0 else made


def _diagflat(v, k=0):
    return np.diag(np.ravel(v), k)


def _diag_indices_from(arr):
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    first, *others = arr.shape
    if any(not (size._is_same(first) if isinstance(size, Value) and isinstance(first, Value) else size is first or size == first) for size in others):
        raise ValueError("All dimensions of input must be of equal length")
    return (arr._trace.call("arange", (first,), {}),) * arr.ndim


def _result_type(*arrays_and_dtypes):
    """The dtype of a result, to which numbers of Python's add nothing but their kind."""
    known = [x if not isinstance(x, Value) else 0.0 if x._numbers else 0 if is_weak(x) else x.dtype for x in arrays_and_dtypes]
    return np.result_type(*known)


def _trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    keywords = {"offset": plain(offset), "axis1": plain(axis1), "axis2": plain(axis2)}
    if dtype is None:
        return a._trace.call("trace", (a,), keywords)
    return a._trace.call("diagonal", (a,), keywords).sum(axis=-1, dtype=dtype)


def _linalg_trace(x, /, *, offset=0, dtype=None):
    return np.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def _linalg_diagonal(x, /, *, offset=0):
    return np.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def _linalg_outer(x1, x2, /):
    if np.ndim(x1) != 1 or np.ndim(x2) != 1:
        raise ProgramError("`np.linalg.outer` takes arrays with one axis: write `np.outer`, or `.ravel()`")
    return np.outer(x1, x2)


def _linalg_cross(x1, x2, /, *, axis=-1):
    return np.cross(x1, x2, axis=axis)


def _linalg_vecdot(x1, x2, /, *, axis=-1):
    return trace_of((x1, x2)).call("vecdot", (x1, x2), {"axis": plain(axis)})


def _norm(x, ord=None, axis=None, keepdims=False):
    """The norms of vectors and those of matrices that sum: NumPy tells them apart by the number of axes."""
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    axis, ord, keepdims = plain(axis), plain(ord), flag(np.linalg.norm, "keepdims", keepdims)
    if ord is None:
        return x._trace.call("norm", (x,), {"axis": axis, "keepdims": keepdims})
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(x, axes[0], ord, keepdims)
    if len(axes) == 2 and ord == "fro":
        return x._trace.call("norm", (x,), {"axis": axes, "keepdims": keepdims})
    if len(axes) == 2 and ord in (1, -1, np.inf, -np.inf):
        rows, columns = (number % x.ndim for number in axes)
        summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = abs(x).sum(axis=summed, keepdims=True)
        found = (np.max if ord > 0 else np.min)(sums, axis=chosen, keepdims=True)
        return found if keepdims else np.squeeze(found, axis=(rows, columns))
    raise ProgramError(
        f"`np.linalg.norm` does not have `ord={ord!r}` for {len(axes)} axes: call it outside of the traced function, "
        "or write `ord='fro'`"
    )


def _vector_norm(x, axis, ord, keepdims):
    if ord == 2:
        return x._trace.call("norm", (x,), {"axis": axis, "keepdims": keepdims})
    if ord in (np.inf, -np.inf):
        return (np.max if ord > 0 else np.min)(abs(x), axis=axis, keepdims=keepdims)
    if ord == 1:
        return abs(x).sum(axis=axis, keepdims=keepdims)
    if ord == 0:
        return (x != 0).astype(x.dtype).sum(axis=axis, keepdims=keepdims)
    if type(ord) not in (int, float):
        raise ProgramError(f"`np.linalg.norm` takes numbers, 'fro' and np.inf as `ord`, not {ord!r}: declare it `static`")
    return (abs(x) ** ord).sum(axis=axis, keepdims=keepdims) ** (1 / ord)


def _linalg_vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    if axis is None:
        found = _norm(x.ravel(), ord)
        return found.reshape((1,) * x.ndim) if keepdims else found
    if isinstance(axis, tuple):
        raise ProgramError("`np.linalg.vector_norm` takes one axis, or None for all: write `x.reshape(..)`")
    return _norm(x, ord, axis, keepdims)


def _linalg_matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return _norm(x, ord, (-2, -1), keepdims)


def _with_scalars(operand, *numbers):
    """An array in the dtype that it has with numbers of NumPy's classes, which have dtypes; and the numbers as Python's."""
    kinds = [x.dtype if x.dtype.kind == "f" else np.dtype(np.float64) for x in numbers if isinstance(x, (np.number, np.ndarray))]
    if kinds and isinstance(operand, Value):
        operand = operand.astype(np.result_type(operand.dtype, *kinds))
    return operand, [x.item() if isinstance(x, np.ndarray) else plain(x) for x in numbers]


def _quantiles(function):
    def made(a, q, *args, **kwargs):
        if isinstance(a, Value) and a.dtype.kind in "iu" and not isinstance(q, Value) and function in (np.quantile, np.nanquantile):
            # NumPy's quantiles of integers at integers are extremes, in their dtype.
            ends = np.asarray(q)
            if ends.size and ends.dtype.kind in "iub" and {*ends.flat} <= {0, 1} and len(args) < 2 and kwargs.keys() <= {"axis", "keepdims"}:
                found = [(np.max if end else np.min)(a, *args, **kwargs) for end in ends.flat]
                return np.stack(found).reshape(ends.shape + found[0].shape) if ends.ndim else found[0]
        if isinstance(q, np.ndarray) and q.ndim in (1, 2) and isinstance(a, Value):
            found = function(a, q.ravel().tolist(), *args, **kwargs)
            found = found.astype(np.result_type(a.dtype, q.dtype if q.dtype.kind == "f" else np.float64))
            return found.reshape(q.shape + found.shape[1:])
        if not isinstance(q, (np.number, np.ndarray)) or q.ndim:
            return NotImplemented
        if q.dtype.kind != "f" and function in (np.quantile, np.nanquantile):
            return function(a, q.item(), *args, **kwargs)
        a, (q,) = _with_scalars(a, q)
        return function(a, q, *args, **kwargs)

    return made


def _histogram(a, bins=10, range=None, *args, **kwargs):
    if not any(isinstance(x, np.number) for x in (() if range is None else range)):
        return NotImplemented
    a, range = _with_scalars(a, *range)
    return np.histogram(a, bins, range, *args, **kwargs)


SPECIAL = {
    np.quantile: _quantiles(np.quantile),
    np.percentile: _quantiles(np.percentile),
    np.nanquantile: _quantiles(np.nanquantile),
    np.nanpercentile: _quantiles(np.nanpercentile),
    np.histogram: _histogram,
    np.shape: _shape,
    np.size: _size,
    np.ndim: _ndim,
    np.ravel: ravel,
    np.reshape: _reshape,
    np.transpose: _transpose,
    np.astype: _astype,
    np.copy: _copy,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: _stacked("vstack"),
    np.hstack: _stacked("hstack"),
    np.iscomplexobj: _iscomplexobj,
    np.isrealobj: _isrealobj,
    np.real: _real,
    np.block: _block,
    np.diagflat: _diagflat,
    np.diag_indices_from: _diag_indices_from,
    np.imag: np.zeros_like,
    np.result_type: _result_type,
    np.where: _where,
    np.select: _select,
    np.diff: _diff,
    np.einsum: _einsum,
    np.nan_to_num: _nan_to_num,
    np.trace: _trace,
    np.linalg.trace: _linalg_trace,
    np.linalg.diagonal: _linalg_diagonal,
    np.linalg.outer: _linalg_outer,
    np.linalg.cross: _linalg_cross,
    np.linalg.matmul: lambda x1, x2, /: np.matmul(x1, x2),
    np.linalg.vecdot: _linalg_vecdot,
    np.linalg.tensordot: lambda x1, x2, /, *, axes=2: np.tensordot(x1, x2, axes=axes),
    np.linalg.matrix_transpose: lambda x, /: np.matrix_transpose(x),
    np.linalg.norm: _norm,
    np.linalg.vector_norm: _linalg_vector_norm,
    np.linalg.matrix_norm: _linalg_matrix_norm,
}
