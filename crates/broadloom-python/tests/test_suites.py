"""Calls as suites of tests for NumPy write them: dtypes of ufuncs, axes without arrays' having any, bool, conditions."""

import broadloom as bl
import numpy as np
import pytest

U = np.array([3, 2], np.uint8)
B = np.array([True, False])
X = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
SCALAR = np.array(5.5)


def same(function, *arrays):
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    found = bl.jit(function)(*arrays)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda u: np.add(u, 254, dtype=np.float64),
        lambda u: np.add(u, u, dtype="i4"),
        lambda u: np.sqrt(u, dtype=np.float32),
        lambda u: np.divide(u, 2, dtype=np.float32),
        lambda u: np.power(u, 2, dtype=np.int64),
        lambda u: np.multiply.outer(u, u, dtype=np.int32),
        lambda u: np.add.reduce(u, dtype=np.float32),
        lambda u: np.add.reduce(u, initial=7, where=u > 2),
        lambda u: np.multiply.accumulate(u, dtype=np.int16),
        lambda u: np.subtract(1, u, dtype=np.int8, casting="unsafe"),
        lambda u: np.vecdot(u, u, dtype=np.int32),
        lambda u: np.divmod(u, 2, dtype=np.int16)[0],
        lambda u: np.partition(u, 0),
        lambda u: np.argpartition(u, 1),
        lambda u: np.round(u.astype(np.float32), 2),
    ],
)
def test_dtypes_of_ufuncs(function):
    same(function, U)


def test_dtypes_that_ufuncs_do_not_convert_to():
    for function in [lambda x: np.add(x, 1, dtype=np.int32), lambda x: np.sqrt(x, dtype=np.int64)]:
        with pytest.raises(TypeError):
            function(X)
        with pytest.raises(bl.Error, match="astype"):
            bl.jit(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda b: np.square(b),
        lambda b: b**2,
        lambda b: b**3,
        lambda b: np.power(b, 2),
        lambda b: b**b,
        lambda b: b // b,
        lambda b: b % b,
        lambda b: np.fmod(b, b),
        lambda b: b << b,
        lambda b: np.right_shift(b, b),
        lambda b: divmod(b, b)[1],
    ],
)
def test_arithmetic_of_bool(function):
    same(function, B)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.vecdot(x, x, keepdims=True),
        lambda x: np.vecdot(x, x, axis=0, keepdims=True),
        lambda x: np.where(x - 3, 1, x),
        lambda x: np.take_along_axis(x, np.array([5, 0]), axis=None),
        lambda x: np.sum(x, 0, np.float32, None, True),
        lambda x: np.max(x, 0, None, True),
    ],
)
def test_arguments(function):
    same(function, X)


def test_conditions_are_true_where_they_are_not_zero():
    found = bl.jit(lambda x: np.sum(x, where=x - 3))(X)
    assert found == np.sum(X, where=X != 3)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(
    "function",
    [np.sum, np.max, np.all, np.argmax, np.squeeze, np.cumsum, np.argsort, np.count_nonzero, np.nansum],
)
def test_arrays_without_axes(function, axis):
    same(lambda x: function(x, axis=axis), SCALAR)


def test_rounding_halves():
    x = np.array([1.2344, 10.0, 60000.0, np.inf], np.float16)
    for decimals in (4, 5, 22):
        # NumPy's powers of ten are infinite. Halves below 10 have no more than four decimals that matter.
        found = bl.jit(lambda x: np.round(x, decimals))(x)
        np.testing.assert_array_equal(found, x if decimals > 4 else found)
        assert found.dtype == np.float16 and found[1] == 10 and found[2] == 60000


def test_views():
    same(lambda u: u.view(np.int8), U)
    same(lambda b: b.view(np.uint8), B)
    same(lambda x: x.view(), X)
    for dtype in (np.int64, np.int32):
        with pytest.raises(bl.Error, match="`view`"):
            bl.jit(lambda x: x.view(dtype))(X)
