"""What a function changes beside its arguments, where only NumPy computes, is refused by name, and is as it was."""

import functools
import io
import itertools
import mmap
import random
import threading
import types

import broadloom as bl
import numpy as np
import pytest
from test_written import refused

X = np.arange(6.0).reshape(2, 3) + 1
BIG, SMALL, TABLES = np.zeros(4000), np.zeros(4), [np.zeros(4000), np.zeros((60, 80))[:, ::2]]
READ_ONLY = np.arange(4000.0)
READ_ONLY.flags.writeable = False


def element(x):
    BIG[0] = BIG[0] + 1
    return x * BIG[0]


def part(x):
    BIG[:8] += 1
    return x * BIG[0]


def small(x):
    SMALL[1] = SMALL[0] + 1
    return x * SMALL[1]


def out(x):
    np.add(BIG, 1, BIG)
    return x * BIG[0]


def in_a_list(x):
    for table in TABLES:
        table.sort()
    TABLES[1][3] = 2
    return x + TABLES[1][3, 1]


def caught(x):
    BIG[0] = 3
    try:
        return np.linalg.inv(x)
    except ValueError:
        return x * BIG[0]


@pytest.mark.parametrize(
    "function, name",
    [(element, "`BIG`"), (part, "`BIG`"), (small, "`SMALL`"), (out, "`BIG`"), (in_a_list, "`TABLES`")],
)  # fmt: skip
def test_arrays_from_outside(function, name):
    for _ in range(2):
        refused(function, X, error=bl.TracingError, match=f"changes the array {name} at .*test_kept.py:.* pass the array as an argument")
    assert not BIG.any() and not SMALL.any() and not any(table.any() for table in TABLES)


def test_cells_and_objects():
    table = np.zeros(4000)

    def cell(x):
        table.fill(2)
        return x * table[0]

    refused(cell, X, match="the array `table`")

    class Model:
        def __init__(self):
            self.state = np.zeros(4000)

        def step(self, x):
            self.state += 1
            return x * self.state[0]

    model = Model()
    refused(model.step, X, match="the array `state`")
    refused(Model.step, model, X, match="the array `state`")
    refused(functools.partial(Model.step, model), X, match="the array `state`")
    assert not model.state.any() and not table.any()


def test_what_is_refused_and_caught_leaves_arrays_as_they_were():
    refused(caught, X[:, :2], match="`np.linalg.inv` is not supported")
    assert not BIG.any()


def test_numpy_computes_what_is_not_compiled():
    table = np.zeros(4000)

    def count(x):
        table[0] += 1
        return x * table[0]

    function = bl.jit(count, fallback=True)
    with pytest.warns(bl.FallbackWarning, match="changes the array `table`"):
        first = function(X)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(function(X), X * 2)


def test_memory_of_others_is_not_put_back():
    """Another program may have written it meanwhile."""
    shared = np.frombuffer(mmap.mmap(-1, 32))

    def count(x):
        shared[0] += 1
        return x * shared[0]

    refused(count, X, match="the array `shared`")
    assert shared[0] > 0


def test_code_without_writes_reads_what_others_write():
    table = np.zeros((4, 200))

    done = threading.Event()

    def write():
        while not done.is_set():
            table[:] += 1

    def plain(x):
        for _ in range(60):
            x = np.sin(x) + table.shape[0]
        return x

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            np.testing.assert_allclose(bl.jit(lambda x: plain(x))(X), plain(X))
    finally:
        done.set()
        writer.join()


def made_inside(x):
    generator, numbers, other = np.random.default_rng(0), iter(range(10000)), random.Random(1)
    draw, lines = other.random, io.StringIO("1\n" * 100)
    for _ in range(70):
        x = x + generator.normal() + next(numbers) + draw() + int(lines.readline())
    return x


def in_each_other(x):
    numbers = itertools.count()
    for _ in range(40):
        for _ in range(40):
            x = x + next(numbers)
    return x


@pytest.mark.parametrize("function", [made_inside, in_each_other])
def test_what_has_another_state_in_each_step_is_not_taken_once(function):
    np.testing.assert_allclose(bl.jit(function)(X), function(X), rtol=1e-14)


def test_random_numbers_of_packages():
    bits = np.random.PCG64(3)

    def drawn(x):
        return x + np.random.Generator(bits).normal()

    refused(drawn, X, match="draws random numbers by `bits`")
    package = types.ModuleType("package_of_others")
    exec("import numpy as np\ndef draw(): return np.random.normal()", vars(package))
    refused(lambda x: x + package.draw(), X, match="random numbers")


def test_arrays_that_are_only_read():
    texts, objects = np.array(["a", "b"], dtype=np.dtypes.StringDType()), np.array([1, None, "a"])
    records = np.zeros(3, [("a", "i4"), ("b", "f8")])
    part = READ_ONLY[::-3].reshape(2, -1)

    def f(x):
        own = BIG.copy()
        own[0] = len(texts) + len(objects) + records["a"][1]
        return x * own[0] + READ_ONLY[3] + part[1, 0]

    np.testing.assert_array_equal(bl.jit(f)(X), f(X))
