"""What has another result at each call is refused, however the function gets at it."""

import io
import itertools
import math
import os
import random
import secrets
import time
import timeit

import broadloom as bl
import numpy as np
import pytest
from test_written import refused

X = np.ones(3)
NUMBERS, SYSTEM, GENERATOR = itertools.count(), secrets.SystemRandom(), np.random.default_rng(1)
STEPS = (step for step in range(9))


def import_of_a_module(x):
    import time

    return x + time.time()


def import_of_a_name(x):
    from time import perf_counter as clock

    return x + clock()


def import_of_random(x):
    import random

    return x + random.random()


def import_of_a_random_function(x):
    from numpy.random import rand

    return x + rand()


def import_of_numpy(x):
    import numpy as other

    return x + other.random.rand()


def import_of_a_submodule(x):
    import numpy.random as source

    return x + source.rand()


def import_of_a_class(x):
    from datetime import datetime

    return x + datetime.now().microsecond


def import_under_another_name(x):
    import datetime as dates

    return x + dates.datetime.now().microsecond


def import_of_secrets(x):
    import secrets

    return x + secrets.randbelow(10) + secrets.choice([1, 2])


def import_of_os(x):
    import os

    return x + os.urandom(1)[0]


def import_by_a_call(x):
    return x + __import__("time").time()


def import_by_a_function(x):
    import importlib

    return x + importlib.import_module("time").time()


def import_in_an_inner_function(x):
    def now():
        import time

        return time.time()

    return x + now()


def import_for_an_inner_function(x):
    import time

    def now():
        return time.time()

    return x + now()


def date_of_now(x):
    return x + np.datetime64("now").astype(int)


def next_number(x):
    return x + next(NUMBERS)


def next_step(x):
    return x + next(STEPS)


def system_random(x):
    return x + SYSTEM.random()


def usage(x):
    import resource

    return x + resource.getrusage(resource.RUSAGE_SELF).ru_utime


def default(x, clock=time.monotonic):
    return x + clock()


class Timer:
    module = time

    def __init__(self):
        self.clock, self.own = time.time, time

    def of_the_class(self, x):
        return x + self.module.time()

    def of_the_object(self, x):
        return x + self.own.perf_counter()

    def by_a_function(self, x):
        return x + self.clock()


def source_under_another_name(x):
    make = np.random.default_rng
    try:
        return x + make().random()
    except bl.TracingError:
        return x


@pytest.mark.parametrize(
    "function",
    [
        import_of_a_module, import_of_a_name, import_of_random, import_of_a_random_function, import_of_numpy, import_of_a_submodule,
        import_of_a_class, import_under_another_name, import_of_secrets, import_of_os, import_by_a_call, import_by_a_function,
        import_in_an_inner_function, import_for_an_inner_function, date_of_now, next_number, next_step, system_random, default,
        usage, lambda x: x + np.random.RandomState().rand(), lambda x: x + random.Random().random(),
        lambda x: x + random.SystemRandom().random(), lambda x: x + np.random.Generator(np.random.PCG64()).random(),
        lambda x: x + np.random.default_rng(seed=None).random(), lambda x: x + int(time.strftime("%S")),
        lambda x: x + time.gmtime().tm_sec, lambda x: x + time.localtime()[5], lambda x: x + len(time.ctime()),
        lambda x: x + os.times().user, lambda x: x + os.getloadavg()[0], lambda x: x + timeit.default_timer(),
        Timer().of_the_class, Timer().of_the_object, Timer().by_a_function,
        source_under_another_name, lambda x, seed=None: x + np.random.default_rng(seed).random(),
        lambda x: x + np.random.default_rng(*[]).random(), lambda x: x + getattr(np.random, "default_rng")().random(),
        lambda x: x + GENERATOR.spawn(1)[0].random(),
    ],
)  # fmt: skip
def test_results_that_differ_at_each_call(function):
    refused(function, X, error=bl.TracingError, match="outside")
    # Elsewhere, sources are seeded by the system.
    assert np.random.default_rng().random() != np.random.default_rng().random()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + np.random.RandomState(3).rand(3), lambda x: x + random.Random(3).random(),
        lambda x: x + np.random.Generator(np.random.PCG64(3)).random(3), lambda x: x + np.random.default_rng(seed=3).random(3),
    ],
)  # fmt: skip
def test_random_numbers_with_a_seed(function):
    np.testing.assert_array_equal(bl.jit(function)(X), function(X))


def rand(x):
    y = x + 1
    return y + np.random.rand(3)


def shuffle(x):
    items = [1, 2, 3]
    random.shuffle(items)
    return x + items[0]


def generator(x):
    y = x + 1
    return y + GENERATOR.normal()


def clock(x):
    y = x + 1
    return y + time.time()


class Noise:
    def __init__(self):
        self.source = np.random.default_rng(1)

    def added(self, x):
        y = x + 1
        return y + self.source.normal()


@pytest.mark.parametrize(
    "function, name, line",
    [
        (rand, "np.random.rand", 2), (shuffle, "random.shuffle", 2), (generator, "GENERATOR.normal", 2), (clock, "time.time", 2),
        (next_number, "NUMBERS", 1), (Noise().added, "source", 2),
    ],
)  # fmt: skip
def test_errors_name_the_line(function, name, line):
    place = f"test_frozen.py:{function.__code__.co_firstlineno + line}"
    assert f"{place}," in (text := refused(function, X, error=bl.TracingError, match=f"`{name}`")) or f"{place} " in text
    if function is not next_number:
        with pytest.warns(bl.FallbackWarning, match=place):
            bl.jit(function, fallback=True)(X)


def test_imports_of_other_things():
    def function(x):
        import math
        import os.path as path
        import time
        from datetime import timedelta

        time.sleep(0)
        return x * math.pi * len(path.join("a", "b")) * timedelta(1).days

    np.testing.assert_allclose(bl.jit(function)(X), X * math.pi * 3)


@pytest.mark.parametrize(
    "made",
    [
        lambda: iter(range(9)), lambda: iter([1, 2, 3]), lambda: iter((1, 2, 3)), lambda: iter({1: 2, 3: 4}), lambda: iter({1: 2}.values()),
        lambda: iter({1, 2}), lambda: iter("123"), lambda: iter(np.arange(9.0)), lambda: reversed([1, 2, 3]), lambda: np.nditer(np.arange(9.0)),
        lambda: np.arange(9.0).flat, lambda: iter(lambda: 3, 4), lambda: enumerate([1, 2]), lambda: zip([1], [2]), lambda: map(abs, [1]),
        lambda: itertools.cycle([1]), lambda: itertools.pairwise([1, 2, 3]), lambda: np.ndindex(3), lambda: (step for step in range(9)),
    ],
)  # fmt: skip
def test_iterators_from_outside(made):
    items = made()

    class Holder:
        def __init__(self):
            self.items = items

        def step(self, x):
            return x * next(self.items)

    for function in (
        lambda x: x * next(items),
        lambda x: x * len(list(itertools.islice(items, 2))),
        lambda x: [x for _ in items],
        lambda x: Holder.step(holder, x),
    ):
        holder = Holder()
        refused(function, X, error=bl.TracingError, match="`items` in .* is an iterator, which has other items each time")
    holder = Holder()
    refused(holder.step, X, error=bl.TracingError, match="is an iterator")


def test_iterators_that_the_function_makes():
    log = io.StringIO()

    class Counting:
        """An iterator whose state is compared as that of other objects."""

        def __init__(self):
            self.count = 0

        def __next__(self):
            self.count += 1
            return self.count

    def function(x):
        items = iter([1, 2, 3])
        y = x * next(items)
        for row, weight in zip(x, iter((4.0, 5.0, 6.0))):
            y = y + row * weight
        for number in reversed(range(3)):
            y = y * number + 1
        for item in items:
            y = y + item
        print("traced", file=log)
        return y + len(next(iter(["ab"])))

    np.testing.assert_allclose(bl.jit(function)(X), function(X))
    counting = Counting()
    compiled = bl.jit(lambda x: x * next(counting))
    assert [float(compiled(X)[0]) for _ in range(3)] == [1, 2, 3]
