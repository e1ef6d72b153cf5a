"""What a function reads beside its arguments: a change of it is seen, or what cannot stay the same is refused."""

import collections
import datetime
import functools
import gc
import random
import sys
import time
import types
import weakref

import broadloom as bl
import numpy as np
import pytest

X = np.arange(20.0)
RATE = 2.0
LEVELS = [1.0, 2.0]
SETTINGS = types.SimpleNamespace(rate=3.0, unread=0)
WEIGHTS = np.arange(20.0)
OWN = sys.modules[__name__]
GENERATOR = np.random.default_rng(1)


def scaled(x):
    return x * RATE


def everything(x):
    return scaled(x) + LEVELS[0] + SETTINGS.rate * OWN.WEIGHTS


class Layer:
    offset = 1.0

    def __init__(self):
        self.w = np.ones(20)
        self.b = 0.0
        self.calls = 0

    def product(self, x):
        return x * self.w

    @property
    def doubled(self):
        return 2 * self.b

    def plain(self, x):
        return self.product(x) + self.doubled + self.offset

    compiled = bl.jit(plain)


def test_globals():
    f = bl.jit(everything)

    def check():
        np.testing.assert_array_equal(f(X), everything(X))

    check()
    before = f.traces
    check()
    SETTINGS.unread = 7
    check()
    assert f.traces == before
    changes = [
        ("RATE", 5.0),
        ("RATE", 5),
        ("LEVELS", [4.0]),
        ("WEIGHTS", WEIGHTS * 2),
        ("SETTINGS", types.SimpleNamespace(rate=1.0)),
        ("scaled", lambda x: x - RATE),
    ]
    kept = {name: globals()[name] for name, _ in changes}
    try:
        for name, value in changes:
            globals()[name] = value
            check()
        LEVELS[0] = 9.0
        check()
        SETTINGS.rate = -1.0
        check()
        WEIGHTS[3] = 100
        check()
    finally:
        globals().update(kept)
    check()


def test_changes_while_the_function_is_traced():
    """Another thread may change a global while the function runs, and change it back."""

    def f(x):
        globals()["RATE"] = 7.0
        return x * RATE

    def back(x):
        return scaled(x)

    kept = RATE
    compiled = bl.jit(lambda x: f(x) + back(x))
    try:
        np.testing.assert_array_equal(compiled(X), X * 14)
        globals()["RATE"] = kept
        np.testing.assert_array_equal(compiled(X), X * 14)
        assert compiled.traces == 2
        np.testing.assert_array_equal(compiled(X), X * 14)
        assert compiled.traces == 3
        np.testing.assert_array_equal(compiled(X), X * 14)
        assert compiled.traces == 3
    finally:
        globals()["RATE"] = kept


def test_closures():
    factor, weights, options = 2.0, [1.0, 2.0], {"shift": 3.0, "names": ("a", "b")}
    recent = collections.deque([1.0], maxlen=2)

    def f(x):
        return x * factor + weights[1] + options["shift"] * recent[0]

    compiled = bl.jit(f)
    np.testing.assert_array_equal(compiled(X), f(X))
    factor = -1.0
    np.testing.assert_array_equal(compiled(X), f(X))
    weights[1] = 20.0
    np.testing.assert_array_equal(compiled(X), f(X))
    options["shift"] = 0.5
    np.testing.assert_array_equal(compiled(X), f(X))
    recent.appendleft(3.0)
    np.testing.assert_array_equal(compiled(X), f(X))
    traces = compiled.traces
    np.testing.assert_array_equal(compiled(X), f(X))
    assert compiled.traces == traces


def test_elements_that_numpy_computes_with():
    table = np.array([2.0, 3.0])
    f = bl.jit(lambda x: x * table[0] + (table * 2).sum())
    for value in (2.0, 5.0, 7.0):
        table[0] = value
        np.testing.assert_array_equal(f(X), X * table[0] + (table * 2).sum())


def test_objects():
    layer, other = Layer(), Layer()

    def check():
        for own in (layer, other):
            np.testing.assert_array_equal(own.compiled(X), own.plain(X))

    check()
    traces = Layer.compiled.traces
    check()
    assert Layer.compiled.traces == traces
    layer.w = np.full(20, 2.0)
    check()
    layer.b = 100
    check()
    layer.b = 100.0
    check()
    layer.w[2] = 7.0
    check()
    traces = Layer.compiled.traces
    layer.calls += 1
    check()
    assert Layer.compiled.traces == traces
    Layer.offset = 5.0
    check()
    layer.offset = -5.0
    check()
    kept = Layer.product
    try:
        Layer.product = lambda self, x: x + self.w
        check()
    finally:
        Layer.product = kept
        Layer.offset = 1.0
    check()


class Slotted:
    __slots__ = ("inner", "kind")

    def __init__(self, inner):
        self.inner, self.kind = inner, "sum"


def test_objects_within_objects():
    f = bl.jit(lambda x, model: getattr(x * model.inner.w, model.kind)(), static="model")
    model = Slotted(Layer())
    assert f(X, model) == (X * model.inner.w).sum()
    model.inner.w = model.inner.w * 3
    assert f(X, model) == (X * model.inner.w).sum()
    model.kind = "max"
    assert f(X, model) == (X * model.inner.w).max()
    model.inner.parent = model
    assert f(X, model) == (X * model.inner.w).max()


class Configuration:
    rate = 2.0
    unread = 1


class Table(collections.UserDict):
    """Its items are in an attribute that only the code of its base class names."""


def with_attribute(x):
    return x * with_attribute.scale + Configuration.rate


with_attribute.scale = 3.0
LIBRARY = datetime.timedelta(1)
TABLE = Table(rate=5.0)


def test_attributes_of_classes_and_functions(monkeypatch):
    f = bl.jit(with_attribute)
    np.testing.assert_array_equal(f(X), with_attribute(X))
    monkeypatch.setattr(with_attribute, "scale", -1.0)
    np.testing.assert_array_equal(f(X), with_attribute(X))
    monkeypatch.setattr(Configuration, "rate", 7.0)
    np.testing.assert_array_equal(f(X), with_attribute(X))
    traces = f.traces
    monkeypatch.setattr(Configuration, "unread", 7.0)
    np.testing.assert_array_equal(f(X), with_attribute(X))
    assert f.traces == traces


def test_objects_of_other_packages_are_replaced(monkeypatch):
    f = bl.jit(lambda x: x * LIBRARY.days + TABLE["rate"])
    np.testing.assert_array_equal(f(X), X * 1 + 5)
    monkeypatch.setattr(OWN, "LIBRARY", datetime.timedelta(4))
    np.testing.assert_array_equal(f(X), X * 4 + 5)
    monkeypatch.setattr(OWN, "TABLE", Table(rate=-5.0))
    np.testing.assert_array_equal(f(X), X * 4 - 5)


def test_functions_among_the_arguments():
    f = bl.jit(lambda x, g: g(x) + 1)
    factor = 2.0

    def g(x):
        return x * factor

    np.testing.assert_array_equal(f(X, g), X * 2 + 1)
    factor = 3.0
    np.testing.assert_array_equal(f(X, g), X * 3 + 1)
    for power in (2, 3):
        np.testing.assert_array_equal(f(X, functools.partial(np.power, 2)), 2**X + 1)
        np.testing.assert_array_equal(f(X, functools.partial(np.maximum, power)), np.maximum(power, X) + 1)


def test_equal_numbers_of_other_classes():
    f = bl.jit(lambda x, s: x * s, static="s")
    with np.errstate(divide="ignore"):
        assert np.signbit(f(X, -0.0)).all() and not np.signbit(f(X, 0.0)).any()
    g = bl.jit(lambda x, s: x * s[0], static="s")
    whole = np.arange(3)
    assert [g(whole, s).dtype for s in ((1,), (1.0,), (True,))] == [(whole * s).dtype for s in (1, 1.0, True)]


def refused(function, match):
    with pytest.raises(bl.TracingError, match=match):
        bl.jit(function)(X)


def test_random_numbers():
    random_numbers = "draws random numbers.*draw them outside"
    refused(lambda x: x + np.random.rand(20), random_numbers)
    refused(lambda x: x + np.random.normal(), random_numbers)
    refused(lambda x: x * random.random(), random_numbers)
    refused(lambda x: x + GENERATOR.random(20), random_numbers)
    refused(lambda x: x + np.random.default_rng().random(20), "default_rng` in .* other random numbers")
    seeded = lambda x: x + np.random.default_rng(3).random(20)  # noqa: E731
    np.testing.assert_array_equal(bl.jit(seeded)(X), seeded(X))

    def noisy(x):
        return x + draw()

    def draw():
        return np.random.rand()

    refused(noisy, random_numbers)


def test_clocks():
    refused(lambda x: x + time.time(), "`time.time` in `.*` at .*test_state.py:.* has another result at each call")
    refused(lambda x: x + time.perf_counter(), "time.perf_counter")
    refused(lambda x: x + datetime.datetime.now().year, "datetime.datetime.now")


def test_objects_die():
    class Big:
        def __init__(self):
            self.w = np.ones((200, 200))

        @bl.jit
        def __call__(self, x):
            return self.w @ x

    models = [Big() for _ in range(5)]
    arrays = [weakref.ref(model.w) for model in models]
    for model in models:
        model(np.ones(200))
    assert all(array() is not None for array in arrays)
    del models, model
    gc.collect()
    # No other call is needed.
    assert all(array() is None for array in arrays)


def test_constants_die():
    made = []
    # A method of a list, and not the list, which would change at each trace.
    note = made.append

    def product(x):
        constant = np.tri(x.shape[0])
        note(weakref.ref(constant))
        return x @ constant

    f = bl.jit(product)
    for size in range(700, 760):
        np.testing.assert_array_equal(f(np.ones(size)), np.arange(size, 0.0, -1.0))
    gc.collect()
    kept = sum(array().nbytes for array in made if array() is not None)
    assert 0 < kept <= 32 << 20
    traces = f.traces
    f(np.ones(759))
    assert f.traces == traces


COUNT = 0


def test_globals_that_a_function_assigns():
    def f(x):
        global COUNT
        COUNT += 1
        return x * 2

    compiled = bl.jit(f)
    before = COUNT
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), X * 2)
    assert COUNT == before + compiled.traces
