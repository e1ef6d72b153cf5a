"""Errors that a function catches while it is traced: what NumPy would not refuse is raised at the end, and not lost."""

import warnings
import weakref

import broadloom as bl
import numpy as np
import pytest
from broadloom._caught import open_now
from test_written import refused

X = np.array([[2.0, 1.0], [0.0, 4.0]])


def inverse(x):
    try:
        return np.linalg.inv(x)
    except ValueError:
        return x * 0


def scaled(x):
    try:
        return x * float(x[0, 0])
    except TypeError:
        return x


def doubled(x):
    try:
        if x.sum() > 5:
            return x * 2
    except Exception:
        pass
    return x


def of_numpy_alone(x):
    try:
        return x + np.array([x[0, 0], 1.0])[int(x[1, 1]) - 4]
    except (TypeError, ValueError):
        return x


def in_a_loop(x):
    for i in range(100):
        try:
            x = x * (1 if i > 3 else 1.5)
        except TypeError:
            x = x * 0
    return x


@pytest.mark.parametrize("function", [inverse, scaled, doubled, of_numpy_alone])
def test_refusals_that_are_caught(function):
    refused(function, X, match=".")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = bl.jit(function, fallback=True)(X)
    assert [item.category for item in caught] == [bl.FallbackWarning]
    np.testing.assert_array_equal(found, function(X))


def test_what_is_taken_another_way_is_no_refusal():
    np.testing.assert_allclose(bl.jit(in_a_loop)(X), in_a_loop(X))


def of_shapes(x):
    try:
        return x + np.ones(5)
    except ValueError:
        return x * 3


def of_dtypes(x):
    x = x.astype(int)
    try:
        x += 0.5
    except TypeError:
        x = x + 0.5
    return x


@pytest.mark.parametrize("function", [of_shapes, of_dtypes])
def test_errors_of_numpys_are_caught(function):
    np.testing.assert_array_equal(bl.jit(function)(X), function(X))


def test_an_error_spoils_nothing_after_it():
    refused(inverse, X, match="np.linalg.inv")
    table = bl.jit(lambda x: x + np.zeros(2)[int(x[0])])

    def outer(x):
        try:
            table(np.ones(2))
        except TypeError:
            return x * 0
        return x

    refused(outer, X, match="int")
    np.testing.assert_array_equal(bl.jit(lambda x: bl.jit(in_a_loop)(X) + x)(X), in_a_loop(X) + X)
    # The first attempt, for all sizes and with arrays that are lazy, is refused.
    picked = bl.jit(lambda x: x[: int(np.ones(x.shape[0])[0])])
    np.testing.assert_array_equal(bl.jit(lambda x: picked(X) + x)(X), X[:1] + X)
    assert not open_now()
    np.testing.assert_array_equal(bl.jit(lambda x: x + 1)(X), X + 1)


def test_errors_keep_nothing_alive():
    class Noticed(np.ndarray):
        pass

    for compiled in (bl.jit(scaled), bl.jit(lambda x: x * int(np.zeros(2)[0]) * float(x[0, 0]))):
        big = np.ones((3, 3)).view(Noticed)
        alive = weakref.ref(big)
        try:
            compiled(big)
        except bl.TracingError:
            pass
        del big
        assert alive() is None and not open_now()


class Settings(dict):
    __getattr__ = dict.__getitem__


class Slotted:
    __slots__ = ("missing", "rate")

    def __getattr__(self, name):
        raise KeyError(name)


def test_objects_whose_attributes_raise():
    settings, slotted = Settings(rate=0.5), Slotted()
    slotted.rate = 2.0
    compiled = bl.jit(lambda x: x * settings.rate + slotted.rate)
    np.testing.assert_array_equal(compiled(X), X * 0.5 + 2)
    settings["rate"] = 0.25
    np.testing.assert_array_equal(compiled(X), X * 0.25 + 2)

    def steps(x):
        for _ in range(100):
            x = x * settings.rate + slotted.rate
        return x

    np.testing.assert_allclose(bl.jit(steps)(X), steps(X))
