"""Integers of Python's beside arrays take the dtype of the array, as in NumPy: counters, sums that begin with 0, and sizes. Loops that are
unrolled and loops of the program have the same results, or are refused; they never have another dtype."""

import copy
import warnings

import broadloom as bl
import numpy as np
import pytest
from test_changes import check
from test_loops import is_loop, text_of
from test_written import refused

DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64]


def total(x, n):
    s = 0
    for value in x:
        s += value
    return s


def scaled(x, n):
    y = np.zeros_like(x)
    for i in range(n):
        y[i] = x[i] * i
    return y


def added(x, n):
    y = x
    for i in range(n):
        y = y + i
    return y


def reversed_range(x, n):
    y = x * 1
    for i in reversed(range(n)):
        y = y * 3 + i
    return y


def parts(x, n):
    y = x * 1
    for i in range(n):
        y = y * 3 + i // 2 + i % 3
    return y


def counted(x, n):
    k, y = 0, x * 1
    for i in range(n):
        k += 1
        y = y * 3 + k
    return y, y + k * 0


def functions(x, n):
    y = x * 1
    for i in range(n):
        y = np.maximum(y * 3, i) + np.where(y > 3, y, i) + np.clip(y, i, 100)
    return y


def numbered(x, n):
    y = np.zeros_like(x)
    for i, value in enumerate(x, 1):
        y[i - 1] = value + i
    return y


def of_numbers_alone(x, n):
    s = 0
    for i in range(n):
        s += i
    return x[0] * 0 + s // (n * n)


def sizes(x, n):
    return x * len(x), x + x.shape[0], x.size - x, np.minimum(x, len(x))


def outside(x, n):
    y = x * 1
    for i in range(-1, n):
        y = y + i
    return y


def large(x, n):
    y = x * 1
    for i in range(n):
        y = y + i * 1000
    return y


FUNCTIONS = [
    total, scaled, added, reversed_range, parts, counted, functions, numbered, of_numbers_alone, sizes, outside, large,
]  # fmt: skip


def found(function, *arguments):
    """The result, or that there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*copy.deepcopy(arguments))
    except (OverflowError, bl.Error, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_integers_take_the_dtype_of_arrays(function, dtype):
    for size, n in [(3, 3), (80, 80), (3, np.int64(3)), (80, np.int64(80)), (300, 300)]:
        x = (np.arange(size) % 7 + 5).astype(dtype)
        wanted, got = found(function, x, n), found(bl.jit(function), x, n)
        if isinstance(got, type):
            # What NumPy computes is refused only where it is not known that the integers fit.
            assert issubclass(got, bl.Error) or got is OverflowError
            is_narrow = np.dtype(dtype).kind in "iu" and dtype is not np.int64
            assert isinstance(wanted, type) or is_narrow and isinstance(n, np.int64) or np.dtype(dtype) == bool, (n, wanted, got)
            continue
        assert not isinstance(wanted, type), (n, wanted, got)
        for one, other in zip(*(item if isinstance(item, tuple) else (item,) for item in (got, wanted)), strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), (n, one, other)
            np.testing.assert_allclose(one, other, rtol=1e-2 if dtype is np.float16 else 1e-5)


@pytest.mark.parametrize("function", [total, scaled, added, reversed_range, parts, counted, functions, numbered])
def test_loops_of_integers_that_fit_are_loops(function):
    x = np.full(80, 7, np.uint8)
    assert is_loop(text_of(function, x, 80))
    for dtype in (np.int32, np.int64, np.float32):
        if function is not functions:
            assert is_loop(text_of(added, x.astype(dtype), np.int64(80)))


def test_integers_of_which_nothing_is_known():
    def begun(x, a, n):
        for i in range(a, n):
            x = x + i
        return x

    def powers(x, n):
        for i in range(n):
            x = x + i * i
        return x

    for dtype in (np.float32, np.float64, np.int64):
        check(begun, np.ones(3, dtype), np.int64(2), np.int64(9))
        check(powers, np.ones(3, dtype), np.int64(9))
    for dtype in (np.int16, np.int32, np.uint8):
        refused(begun, np.ones(3, dtype), np.int64(2), np.int64(9), match=rf"np\.asarray\(i, np\.{np.dtype(dtype)}\)")
        refused(powers, np.ones(3, dtype), np.int64(9), match=rf"np\.asarray\(i, np\.{np.dtype(dtype)}\)")

    def cast(x, a, n):
        for i in range(a, n):
            x = x + np.asarray(i, x.dtype)
        return x

    for dtype in (np.uint8, np.int32, np.float32):
        check(cast, np.ones(3, dtype), np.int64(2), np.int64(9))


def test_rows_at_computed_integers_are_views():
    def change(x, a, n):
        for i in range(a, n):
            row = x[i]
            row += i
        return x

    check(change, np.ones((9, 2)), np.int64(2), np.int64(7))


def test_functions_of_steps():
    x = np.arange(4, dtype=np.int32)
    got = bl.jit(lambda x, n: bl.fori_loop(0, n, lambda i, y: y * 2 + i, x))(x, np.int64(5))
    wanted = x
    for i in range(5):
        wanted = wanted * 2 + i
    assert got.dtype == wanted.dtype and got.tolist() == wanted.tolist()
    last, all_of_them = bl.scan(lambda total, v: (total + v, total), 0, np.full(80, 7, np.uint8))
    assert (last.dtype, last) == (np.uint8, 48) and all_of_them.dtype == np.uint8
