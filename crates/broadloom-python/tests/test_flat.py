"""`x.flat`, and loops over arrays that change, against NumPy."""

import numpy as np
import pytest
from test_changes import array, check
from test_loops import same as same_loop
from test_written import refused

A, LONG = array(2, 3), array(20, 10)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: list(x.flat),
        lambda x: [*x.flat],
        lambda x: [a + b for a, b in zip(x.flat, x.T.flat)],
        lambda x: tuple(enumerate(x.flat)),
        lambda x: np.sum(x.flat),
        lambda x: np.sqrt(x.flat),
        lambda x: np.concatenate([x.flat, x[0]]),
        lambda x: np.array(x.flat) + len(x.flat),
        lambda x: x.flat == 1,
        lambda x: x.flat[...],
        lambda x: sum(x.flat),
        lambda x: max(x.flat[0], x.flat[-1]),
        lambda x: (x + 1).flat.copy(),
    ],
)
def test_all_elements(function):
    check(function, A)


def test_the_first_elements():
    def unpacked(x):
        a, b, *others = x.flat
        return a, b, others

    def one_by_one(x):
        elements = x.flat
        return next(elements), list(elements), list(elements)

    check(unpacked, A)
    check(one_by_one, A)


@pytest.mark.parametrize("x", [A, LONG])
def test_loops_over_all_elements(x):
    def carried(x):
        s = 0.0
        for i, value in enumerate(x.flat):
            s = s * 0.5 + value * i
        return s

    def changed(x):
        for i, value in enumerate(x.flat):
            x.flat[i] = value * i
        return x

    check(changed, x)
    same_loop(carried, x)


def test_what_is_no_array():
    refused(lambda x: x.flat, A, match=r"return the elements, `x\.ravel\(\)`")
    for function in (lambda x: np.copyto(x.flat, 1), lambda x: np.add(x.flat, 1, out=x.flat), lambda x: np.add.at(x.flat, 0, 1)):
        with pytest.raises(TypeError):
            function(A.copy())
        refused(function, A.copy(), error=TypeError, match="is not an array")
    with pytest.raises(IndexError):
        A.flat[6]
    refused(lambda x: x.flat[6], A, error=IndexError, match="out of bounds")


def test_the_real_part():
    def change(x):
        x.real += 1
        x.real = x * 2
        x.real[0] = 7
        return x.real

    check(change, A)
    refused(lambda x: setattr(x, "dtype", np.int64), A, match=r"x\.view\(dtype\)")


@pytest.mark.parametrize("step", [1, 2])
def test_rows_of_arrays_of_other_lengths(step):
    def change(x):
        for a, b in zip(x, x[1::step]):
            b += a
        return x

    def read(x):
        s = x[0] * 0
        for a, b, i in zip(x, x[1::step], range(90)):
            s = s + a * b * i
        return s

    for x in (A, LONG, array(100, 2)):
        check(change, x)
        check(read, x)


N = np.int64(3)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_two_loops_of_one_counter(count):
    def after_each_other(x, n):
        for i in range(n):
            x[i] = i
        for i in range(n):
            x[i] += i
        return x

    def in_each_other(x, n):
        for i in range(n):
            for j in range(n):
                x[j] += i
        for i in range(n):
            for j in range(n):
                x[j] *= i
        return x

    def after(x, n):
        i = 7
        for i in range(n):
            x[i] = i
        return x, x + i

    for function in (after_each_other, in_each_other, after):
        check(function, array(5), np.int64(count))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sums_that_begin_with_an_integer(dtype):
    def total(x, n):
        s = 0
        for i in range(n):
            s += x[i].sum()
        return s

    check(total, array(5, 3, dtype=dtype), N)
