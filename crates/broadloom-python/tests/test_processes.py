"""Signals, other processes, caught errors, and arrays of packages with labels."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import types
import warnings

import broadloom as bl
import numpy as np
import pytest

X = np.arange(6.0)
factor = 2.0


@bl.jit
def scaled(x):
    return x * factor


class Model:
    def __init__(self, weight):
        self.weight = weight

    @bl.jit
    def predict(self, x):
        return x * self.weight


other_name = bl.jit(scaled.__wrapped__, threads=1)
anonymous = bl.jit(lambda x, power: x**power, static="power")


def test_pickles():
    for function in (scaled, Model.predict):
        assert pickle.loads(pickle.dumps(function)) is function
    with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
        pickle.dumps(anonymous)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(Model(3.0))).predict(X), X * 3)


def test_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    back = cloudpickle.loads(cloudpickle.dumps(anonymous))
    np.testing.assert_array_equal(back(X, 2), X**2)
    np.testing.assert_array_equal(back(X, 3.0), X**3.0)
    local = bl.jit(lambda x: x + len(back.__name__))
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(local))(X), X + len(back.__name__))


WORKERS = """
import sys
import joblib, numpy as np, broadloom as bl

offset = 1.0

@bl.jit
def double(x):
    return 2 * x + offset

class Model:
    def __init__(self):
        self.w = 3.0

    @bl.jit
    def predict(self, x):
        return x * self.w

if __name__ == "__main__":
    for function in (double, Model().predict, bl.jit(lambda x: x - 1)):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(function)(np.full(2, i)) for i in range(3))
        print([float(array[0]) for array in found])
"""


def test_workers_of_joblib(tmp_path):
    pytest.importorskip("joblib")
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:3] == ["[1.0, 3.0, 5.0]", "[0.0, 3.0, 6.0]", "[-1.0, 0.0, 1.0]"]


def test_names_of_functions():
    f = bl.jit(lambda x, y: x + y)
    assert "test_names_of_functions" in repr(f) and "(x, y)" in repr(f) and "traced 0 times" in repr(f)
    f(X, X)
    assert "traced once" in repr(f)
    assert repr(bl.jit(np.sin)).startswith("<broadloom.Function sin(")


@pytest.mark.skipif(not hasattr(signal, "raise_signal") or os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("has_out", [False, True])
def test_interrupts(has_out):
    pairs = bl.jit(lambda x, y: np.exp(np.sin(x[:, None] * y)).sum(axis=1))
    out = np.empty(200)
    np.testing.assert_allclose(pairs(np.ones(200), np.ones(100), out=out), np.full(200, 100 * np.exp(np.sin(1))))
    # About a minute of work.
    x = np.ones(400_000)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    # A shell lets what it runs in the background ignore the signal.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    before = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            pairs(x, x, out=np.empty(len(x)) if has_out else None)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - before < 5
    np.testing.assert_allclose(pairs(np.ones(5), np.ones(100)), np.full(5, 100 * np.exp(np.sin(1))))


def test_caught_errors_spoil_nothing():
    x, y, z = bl.input("x", "f64[3]"), bl.input("y", "f64[4]"), bl.input("z", "f64[n]")
    with pytest.raises(bl.ShapeError):
        x + y
    with pytest.raises(bl.ShapeError):
        x.sum(axis=3)
    np.testing.assert_array_equal(bl.compile(x * 2)(np.ones(3)), np.full(3, 2.0))
    np.testing.assert_array_equal(bl.compile(y * 2)(np.ones(4)), np.full(4, 2.0))
    # Two inputs of one name do not fit together, and stay what they are.
    same_name = bl.input("x", "f32[5]")
    with pytest.raises(bl.Error, match="declared"):
        (x + 1) * same_name
    np.testing.assert_array_equal(bl.compile(x + 1)(np.ones(3)), np.full(3, 2.0))
    np.testing.assert_array_equal(bl.compile(same_name * 2)(np.ones(5, np.float32)), np.full(5, 2.0, np.float32))
    # A kernel needs the inputs of its own results, and those whose sizes it uses.
    total = z.sum() + x
    assert "z" not in bl.compile(x * 2).shapes() and "z" in bl.compile(total).shapes()
    count = bl.compile(x * z.shape[0])
    np.testing.assert_array_equal(count(x=np.ones(3), z=np.ones(7)), np.full(3, 7.0))

    def careful(x):
        try:
            return x + np.ones(7)
        except bl.ShapeError:
            return x * 2

    np.testing.assert_array_equal(bl.jit(careful)(X), X * 2)


def of_package(name, package, data):
    """An object as pandas and xarray have them."""
    kind = type(name, (), {"__array__": lambda self, dtype=None, copy=None: data, "__module__": package})
    return kind()


@pytest.mark.parametrize("package, what", [("pandas", "labels do not align"), ("xarray", "by position")])
def test_arrays_with_labels(package, what):
    series = of_package(f"Of{package}", f"{package}.core", X)
    with pytest.warns(UserWarning, match=f"{package}.Of{package}.*{what}") as caught:
        np.testing.assert_array_equal(scaled(series), X * 2)
    assert caught[0].filename == __file__
    # Once.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled(series)
        scaled(of_package("Other", "elsewhere", X))


def test_data_frames():
    class Frame:
        """As a DataFrame of pandas, which is not a mapping."""

        columns = {"a": X, "b": np.array(["Oslo"] * 6, object)}

        def keys(self):
            return self.columns.keys()

        def __contains__(self, name):
            return name in self.columns

        def __getitem__(self, name):
            return types.SimpleNamespace(to_numpy=lambda: self.columns[name])

    np.testing.assert_array_equal(bl.eval("a / 2", Frame()), X / 2)
    with pytest.raises(bl.Error, match="a column of text"):
        bl.eval("b + a", Frame())
    with pytest.raises(TypeError, match="a dict or a DataFrame"):
        bl.eval("a / 2", 3)
    with pytest.raises(bl.DTypeError, match="`x`: arrays of dtype <U1"):
        scaled(np.array(["a"]))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X, "b": list("abcdef")})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(bl.eval("a / 2", frame), X / 2)
