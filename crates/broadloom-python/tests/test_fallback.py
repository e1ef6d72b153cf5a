"""Functions that cannot be compiled run in NumPy, with one warning."""

import time
import warnings

import broadloom as bl
import numpy as np
import pytest


def search(x):
    x[0] += 1
    for position, value in enumerate(x):
        if value > 3:
            return position
    return -1


def test_what_cannot_be_traced_runs_in_numpy():
    f = bl.jit(search, fallback=True)
    x = np.arange(6.0)
    with pytest.warns(bl.FallbackWarning, match=r"`search` runs in NumPy.*test_fallback.py:14") as caught:
        assert f(x) == 4
    assert len(caught) == 1 and x[0] == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(x) == 4 and f(np.zeros(3)) == -1 and f(x.astype(np.float32)) == 4
    with pytest.raises(bl.TracingError):
        bl.jit(search)(np.arange(6.0))


def test_it_is_traced_once():
    f = bl.jit(search, fallback=True)
    with pytest.warns(bl.FallbackWarning):
        f(np.arange(6.0))
    traces = f.traces
    for _ in range(3):
        f(np.arange(6.0))
    assert f.traces == traces


def test_dtypes_and_arguments_that_are_not_supported():
    f = bl.jit(lambda x: x * 2, fallback=True)
    with pytest.warns(bl.FallbackWarning, match="complex128"):
        np.testing.assert_array_equal(f(np.array([1j, 2])), [2j, 4])

    @bl.jit(fallback=True)
    def add(x, y):
        x += y

    x = np.arange(4.0)
    with pytest.warns(bl.FallbackWarning, match="shares memory"):
        add(x, x)
    np.testing.assert_array_equal(x, [0, 2, 4, 6])


def test_errors_of_the_function_stay():
    def raises(x):
        raise KeyError("own")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyError):
            bl.jit(raises, fallback=True)(np.zeros(3))
        with pytest.raises(IndexError):
            bl.jit(lambda x: x[7], fallback=True)(np.zeros(3))
        assert bl.jit(lambda x: x + 1, fallback=True)(np.zeros(1))[0] == 1


LIMIT = None


def test_what_a_function_reads_is_compared():
    """A function that could not be compiled is traced again when what it reads has changed."""
    global LIMIT
    f = bl.jit(lambda x: x * (LIMIT if LIMIT is not None else float(x[0])), fallback=True)
    x = np.arange(1.0, 4.0)
    try:
        with pytest.warns(bl.FallbackWarning, match="float"):
            np.testing.assert_array_equal(f(x), x)
        for LIMIT in (3.0, 4.0):
            np.testing.assert_array_equal(f(x), x * LIMIT)
        assert "mul" in f.kernel(x).text or "*" in f.kernel(x).text
        LIMIT = None
        np.testing.assert_array_equal(f(x), x)
    finally:
        LIMIT = None


def test_clocks_and_random_numbers():
    for function in (lambda x: x + 0 * time.time(), lambda x: x + 0 * np.random.rand()):
        f = bl.jit(function, fallback=True)
        with pytest.warns(bl.FallbackWarning):
            np.testing.assert_array_equal(f(np.arange(3.0)), np.arange(3.0))


def test_it_stays_in_other_processes():
    cloudpickle = pytest.importorskip("cloudpickle")
    f = cloudpickle.loads(cloudpickle.dumps(bl.jit(lambda x: x * float(x[0]), fallback=True)))
    with pytest.warns(bl.FallbackWarning):
        np.testing.assert_array_equal(f(np.full(2, 3.0)), [9, 9])
