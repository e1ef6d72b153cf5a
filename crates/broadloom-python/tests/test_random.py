"""Random expressions of NumPy, traced, against NumPy itself: dtypes, shapes and values."""

import warnings

import broadloom as bl
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "f2", "f4", "f8"]
EXACT = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater"]
UNARY = ["negative", "abs", "square", "sign", "floor", "ceil", "trunc", "isnan", "logical_not", "positive"]
REDUCTIONS = ["max", "min", "argmax", "argmin", "any", "all", "count_nonzero"]


def leaf(draw, shape):
    dtype = draw(st.sampled_from(DTYPES))
    size = int(np.prod(shape))
    values = draw(st.lists(st.integers(0, 1 if dtype == "?" else 11), min_size=size, max_size=size))
    return np.array(values).reshape(shape).astype(dtype)


@st.composite
def programs(draw):
    """Arrays, and steps on a stack of values; each step is a function of NumPy's, or of operands."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    shapes = [(rows, columns), (columns,), (rows, 1), (1, columns), ()]
    arrays = [leaf(draw, draw(st.sampled_from(shapes))) for _ in range(draw(st.integers(1, 3)))]
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["binary", "scalar", "unary", "reduce", "where", "index", "cast", "transpose", "clip"]))
        steps.append((kind, draw(st.integers(0, 99)), draw(st.integers(0, 99)), draw(st.integers(0, 99))))
    return arrays, steps


def compute(arrays, steps):
    values = list(arrays)
    for kind, a, b, c in steps:
        x, y, z = (values[number % len(values)] for number in (a, b, c))
        match kind:
            case "binary":
                made = getattr(np, EXACT[c % len(EXACT)])(x, y)
            case "scalar":
                made = (lambda s: s - x if a % 2 else x * s)([1, 2, 0.5, True][c % 4])
            case "unary":
                # `np.square` of bools is int8, by a loop that this package does not have.
                x = x.astype(np.int8) if x.dtype == np.bool_ else x
                made = getattr(np, UNARY[c % len(UNARY)])(x)
            case "reduce":
                axis = None if x.ndim == 0 or c % 3 == 0 else c % x.ndim
                made = getattr(np, REDUCTIONS[b % len(REDUCTIONS)])(x, axis=axis)
            case "where":
                made = np.where(x, y, z)
            case "index":
                made = x[..., None] if x.ndim == 0 else [x[0], x[::-1], x[-1:], x[..., 0], x[None]][c % 5]
            case "cast":
                # What floats beyond the range of integers become depends on the machine, in NumPy.
                made = np.clip(x, 0, 11).astype(DTYPES[c % len(DTYPES)])
            case "transpose":
                made = x.T.reshape(-1)
            case "clip":
                made = np.clip(x, 1, 5)
        values.append(np.asarray(made) if isinstance(made, np.generic) else made)
    return values[-1]


@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_expressions(program):
    arrays, steps = program
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = compute(arrays, steps)
        except (TypeError, ValueError, IndexError, OverflowError, np.exceptions.AxisError):
            # What NumPy refuses may be refused in another way, or have a result.
            return
    found = bl.jit(lambda arrays: compute(arrays, steps))(arrays)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(found, expected)
