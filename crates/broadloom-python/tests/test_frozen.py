"""What has another result at each call is refused, however the function gets at it."""

import itertools
import math
import secrets
import time

import broadloom as bl
import numpy as np
import pytest
from test_written import refused

X = np.ones(3)
NUMBERS, SYSTEM = itertools.count(), secrets.SystemRandom()
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


@pytest.mark.parametrize(
    "function",
    [
        import_of_a_module, import_of_a_name, import_of_random, import_of_a_random_function, import_of_numpy, import_of_a_submodule,
        import_of_a_class, import_under_another_name, import_of_secrets, import_of_os, import_by_a_call, import_by_a_function,
        import_in_an_inner_function, import_for_an_inner_function, date_of_now, next_number, next_step, system_random, default,
        Timer().of_the_class, Timer().of_the_object, Timer().by_a_function,
    ],
)  # fmt: skip
def test_results_that_differ_at_each_call(function):
    refused(function, X, error=bl.TracingError, match="outside")


def test_imports_of_other_things():
    def function(x):
        import math
        import os.path as path
        import time
        from datetime import timedelta

        time.sleep(0)
        return x * math.pi * len(path.join("a", "b")) * timedelta(1).days

    np.testing.assert_allclose(bl.jit(function)(X), X * math.pi * 3)
