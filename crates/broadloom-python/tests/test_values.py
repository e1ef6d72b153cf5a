"""Explicit `axis=None`, special values and numbers beyond a dtype in traced functions, against NumPy."""

import broadloom as bl
import numpy as np
import pytest

X = np.array([[3.0, 1.0], [2.0, 0.0]])
IMAGE = np.array([0, 1, 255], np.uint8)
NANS = np.array([np.nan, 2.0, 3.0])


def same(function, x):
    expected, found = function(x), bl.jit(function)(x)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(x, axis=None),
        lambda x: np.argsort(x, axis=None),
        lambda x: x.argsort(axis=None),
        lambda x: np.concatenate((x, x), axis=None),
        lambda x: np.append(x, x, axis=None),
        lambda x: np.cumsum(x, axis=None),
        lambda x: np.median(x, axis=None),
        lambda x: np.roll(x, 1, axis=None),
    ],
)
def test_no_axis_means_all_elements(function):
    same(function, X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.stack((x, x), axis=None),
        lambda x: np.diff(x, axis=None),
        lambda x: np.trapezoid(x, axis=None),
    ],
)
def test_no_axis_is_refused_where_numpy_does(function):
    with pytest.raises((TypeError, ValueError)):
        function(X)
    with pytest.raises(bl.Error, match="takes one axis"):
        bl.jit(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.nanprod(x, dtype=np.int32),
        lambda x: np.nancumprod(x, dtype=np.int32),
        lambda x: np.nansum(x[:1], dtype=bool),
        lambda x: np.convolve(x[1:], np.array([1.0, np.inf])),
    ],
)
def test_special_values(function):
    same(function, NANS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 256,
        lambda x: 256 / x,
        lambda x: x < 300,
        lambda x: np.clip(x, 2, 300),
        lambda x: np.isclose(x, 300),
    ],
)
def test_numbers_beyond_the_dtype(function):
    with np.errstate(divide="ignore"):
        same(function, IMAGE)


def test_a_histogram_names_what_is_not_finite():
    with pytest.raises(bl.Error, match="is nan"):
        bl.jit(lambda x: np.histogram(x, 3)[0])(NANS)


@pytest.mark.parametrize("scalar", [np.float16, np.float32, np.float64, np.int8, np.uint64])
def test_a_histogram_between_numbers_of_numpys_classes(scalar):
    """NumPy rounds edges to the dtype of such floats."""
    x = np.linspace(0, 4, 101)
    first, last = scalar(1), scalar(3)
    for between in ((first, last), np.array([first, last]), [first, 3]):
        counts, edges = bl.jit(lambda x: np.histogram(x, 7, between))(x)  # noqa: B023
        expected = np.histogram(x, 7, (1.0, 3.0))
        assert edges.dtype == np.float64
        np.testing.assert_array_equal(edges, expected[1])
        np.testing.assert_array_equal(counts, expected[0])
