"""Traced functions against the same functions on NumPy's arrays."""

import collections
import contextlib
import copy
import dataclasses
import gc
import pickle
import threading
import weakref

import broadloom as bl
import numpy as np
import pytest

RNG = np.random.default_rng(7)


def same(function, *args, rtol=0.0, **kwargs):
    """The compiled function computes what NumPy does, with its dtype and its shape."""
    expected = function(*args, **kwargs)
    found = bl.jit(function)(*args, **kwargs)
    check(found, expected, rtol)


def check(found, expected, rtol=0.0):
    if isinstance(expected, (tuple, list)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for one, other in zip(found, expected):
            check(one, other, rtol)
        return
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            check(found[key], expected[key], rtol)
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    if rtol:
        np.testing.assert_allclose(found, expected, rtol=rtol)
    else:
        np.testing.assert_array_equal(found, expected)


X = RNG.normal(size=(6, 5))
Y = RNG.normal(size=(6, 5))
F = RNG.normal(size=(6, 5)).astype(np.float32)
I = RNG.integers(-9, 9, size=(6, 5))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + y * 2 - 1,
        lambda x, y: (x < y) & (y > 0),
        lambda x, y: np.where(x > y, x, y),
        lambda x, y: np.maximum(x, 0) // 0.5 % 2,
        lambda x, y: x[1:4, None, ::-1] * y[0],
        lambda x, y: x.T @ y > 1,
        lambda x, y: x.reshape(5, 6)[..., 0],
        lambda x, y: np.concatenate([x, y], axis=1),
        lambda x, y: np.stack((x, y)).transpose(1, 0, 2),
        lambda x, y: x.astype(np.float32).astype("i4"),
        lambda x, y: x[[0, 2, 1]],
        lambda x, y: np.sort(x, axis=0)[-1],
        lambda x, y: np.argmin(np.abs(x - 0.5), axis=1),
        lambda x, y: x.max(axis=0, keepdims=True) - x.min(),
        lambda x, y: np.add.outer(x[0], y[1]),
        lambda x, y: np.clip(x, -0.5, None),
        lambda x, y: abs(-x) ** 2,
        lambda x, y: np.diff(x, axis=1),
        lambda x, y: (x > 0).any(axis=1),
        lambda x, y: np.zeros_like(x) + np.arange(5),
        lambda x, y: x * np.ones(5, np.float32),
        lambda x, y: np.broadcast_to(x[0], (3, 5)),
        lambda x, y: [row * 2 for row in x],
        lambda x, y: x.shape[0] * x,
        lambda x, y: np.roll(x, 2, axis=1),
        lambda x, y: divmod(x, 2.0),
    ],
)
def test_operations(function):
    same(function, X, Y)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.exp(-(x**2)).sum(axis=1),
        lambda x: x.mean(axis=0),
        lambda x: x.std(ddof=1),
        lambda x: (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6),
        lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: np.tensordot(x, x, axes=([0], [0])),
        lambda x: np.sin(x) + np.arctan2(x, 2) - np.log1p(np.abs(x)),
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.linalg.norm(x) if False else np.sqrt((x * x).sum()),
    ],
)
def test_floats(function):
    same(function, X, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"])
def test_dtypes(dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    same(lambda x: x, x)
    same(lambda x: x.sum(axis=0), x)
    same(lambda x: np.where(x, x, x[::-1]), x)
    same(lambda x: x * x[:, :1], x)


def test_python_numbers_are_weak():
    for scalar in (2, 2.5, True):
        for dtype in ("i1", "i4", "f2", "f4", "f8"):
            x = np.array([1, 2, 3], dtype)
            same(lambda x, s: x * s, x, scalar)
            same(lambda x: x * scalar, x)


def test_numpy_scalars_are_not_weak():
    same(lambda x, s: x * s, np.ones(3, "f4"), np.float64(2))
    same(lambda x: x * np.float64(2), np.ones(3, "f4"))
    same(lambda x: x + np.int16(2), np.ones(3, "i1"))


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    found = bl.jit(lambda x: x + x)(x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found.astype("f4"), (x + x).astype("f4"))


def test_layouts():
    base = RNG.normal(size=(8, 9))
    views = [base[::-1], base[:, ::-2], base.T, base[1:1], np.broadcast_to(base[0], (4, 9)), base[:1], np.asfortranarray(base)]
    for view in views:
        same(lambda x: x * 2 + 1, view)
    read_only = base.copy()
    read_only.flags.writeable = False
    same(lambda x: x + 1, read_only)
    same(lambda x: x + 1, np.array(3.0))
    same(lambda x: x + 1, base.astype(">f8").view())
    record = np.zeros(5, dtype=[("a", "i1"), ("b", "f8")])
    record["b"] = range(5)
    same(lambda x: x + 1, record["b"])


def test_results_own_their_memory():
    found = bl.jit(lambda x: x + 1)(X)
    assert found.flags.writeable and found.flags.c_contiguous and type(found) is np.ndarray
    found[...] = 0
    assert isinstance(bl.jit(lambda x: x.sum())(X), np.float64)


def test_other_sizes_are_not_traced_again():
    f = bl.jit(lambda x, y: np.exp(x) @ y)
    for n, m in [(10, 20), (30, 40), (12, 100)]:
        x, y = np.ones((n, m)), np.ones(m)
        np.testing.assert_allclose(f(x, y), np.exp(x) @ y)
    assert f.traces == 1
    # A size of 1 stretches, which is another structure.
    x, y = np.ones((10, 1)), np.ones(1)
    np.testing.assert_allclose(f(x, y), np.exp(x) @ y)
    assert f.traces == 2


def test_sizes_that_are_asked_for():
    def tail(x):
        return sum(x[i] for i in range(len(x)))

    f = bl.jit(tail)
    for n in (20, 30, 20):
        x = np.arange(float(n * 2)).reshape(n, 2)
        np.testing.assert_array_equal(f(x), tail(x))
    # Once for all sizes, in vain, and once for each.
    assert f.traces == 3


def test_slices_that_end_behind_the_axis():
    f = bl.jit(lambda x: x[:20] * 2)
    for n in (100, 30, 12, 12):
        np.testing.assert_array_equal(f(np.arange(float(n))), np.arange(float(n))[:20] * 2)
    # Once for all sizes of at least 20, once for 12.
    assert f.traces == 2


def test_short_axes_that_meet_trailing_ones():
    f = bl.jit(lambda x, weights: x @ weights)
    weights = RNG.normal(size=(3, 3))
    for n in (20, 30, 40):
        x = RNG.normal(size=(n, 3))
        np.testing.assert_allclose(f(x, weights), x @ weights)
    assert f.traces == 1


def test_numpy_needs_the_value_of_a_size():
    f = bl.jit(lambda x: x + np.arange(x.shape[0]))
    for n in (20, 30, 20):
        np.testing.assert_array_equal(f(np.ones(n)), 1.0 + np.arange(n))


def test_copies():
    assert copy.copy(top_level) is top_level and copy.deepcopy(top_level) is top_level
    assert pickle.loads(pickle.dumps(top_level)) is top_level
    kernel = top_level.kernel(X)
    assert copy.copy(kernel) is kernel and copy.deepcopy([kernel])[0] is kernel


@bl.jit
def top_level(x):
    return x + 1


def test_bytes_that_mean_true():
    """A view of integers as bools has other bytes than 0 and 1, and each but 0 is true."""
    mask = np.array([0, 1, 2, 255, 128, 0] * 5, np.uint8).view(bool)
    for strange in (mask, mask[::-2], mask.reshape(6, 5).T, np.broadcast_to(mask[3], (4, 3)), mask[:0], mask[2]):
        same(lambda m: np.where(m, 1, -1), strange)
        same(lambda m: m.astype("i4").sum(), strange)
        found = bl.jit(lambda m: m & True)(strange)
        np.testing.assert_array_equal(np.asarray(found).view("u1"), np.where(strange, 1, 0))
    assert bl.eval("sum(m)", m=mask) == 20
    out = mask.copy()
    assert bl.jit(lambda m: ~m)(mask, out=out) is out
    np.testing.assert_array_equal(out.view("u1"), np.where(mask, 0, 1))


def test_threads_that_trace_at_the_same_time():
    barrier = threading.Barrier(2)

    @bl.jit
    def f(x):
        with contextlib.suppress(threading.BrokenBarrierError):
            barrier.wait(5)
        return x + 1

    results = [None, None]

    def work(number):
        results[number] = f(X)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    for found in results:
        np.testing.assert_array_equal(found, X + 1)
    assert f.traces == 2
    assert f.kernel(X) is f.kernel(Y) and f.traces == 2


def test_collection():
    def make():
        @bl.jit
        def f(x):
            return x + 1 if f is not None else x

        f(X)
        return weakref.ref(f)

    reference = make()
    gc.collect()
    assert reference() is None


Point = collections.namedtuple("Point", "x y")


def test_containers():
    same(lambda x: {"a": x + 1, "b": (x, [x * 2])}, X)
    same(lambda p: p[0] + p[1]["b"], (X, {"b": Y}))
    found = bl.jit(lambda x: Point(x + 1, None))(X)
    assert isinstance(found, Point) and found.y is None
    np.testing.assert_array_equal(found.x, X + 1)
    assert bl.jit(lambda x: None)(X) is None
    same(lambda x: (x, np.arange(3)), X)


def test_static_and_default_arguments():
    def reduce(x, axis=0, *, kind="sum"):
        return getattr(x, kind)(axis=axis)

    same(reduce, X)
    same(reduce, X, 1)
    same(reduce, X, axis=1, kind="max")
    f = bl.jit(lambda x, scale: x * scale, static="scale")
    for scale in (2.0, 3.0, 2.0, 2, True):
        np.testing.assert_array_equal(f(I, scale), I * scale)
        assert f(I, scale).dtype == (I * scale).dtype
    assert f.traces == 4


def test_captured_arrays():
    weights = RNG.normal(size=5)
    f = bl.jit(lambda x: x @ weights)
    np.testing.assert_allclose(f(X), X @ weights)
    weights[:] = 1
    np.testing.assert_allclose(f(X), X @ weights)


def test_nested():
    square = bl.jit(lambda x: x * x)
    outer = bl.jit(lambda x, y: square(x) + square(y))
    np.testing.assert_array_equal(outer(X, Y), X * X + Y * Y)
    assert square.traces == 0


def test_methods():
    class Model:
        def __init__(self, scale):
            self.scale = scale

        @bl.jit
        def __call__(self, x):
            return x * self.scale

    np.testing.assert_array_equal(Model(2.0)(X), X * 2)
    np.testing.assert_array_equal(Model(3.0)(X), X * 3)


def test_out():
    f = bl.jit(lambda x, y: x * 2 + y)
    out = np.empty_like(X)
    assert f(X, Y, out=out) is out
    np.testing.assert_array_equal(out, X * 2 + Y)
    x = X.copy()
    assert f(x, Y, out=x) is x
    np.testing.assert_array_equal(x, X * 2 + Y)
    x = X.copy()
    f(x, Y[:, ::-1], out=x[:, ::-1])
    np.testing.assert_array_equal(x[:, ::-1], X * 2 + Y[:, ::-1])
    # A shifted overlap reads what was there before.
    line = np.arange(100.0)
    bl.jit(lambda x: x + 1)(line[:-1], out=line[1:])
    np.testing.assert_array_equal(line, np.concatenate([[0], np.arange(1.0, 100)]))
    pair = np.empty(6), np.empty(5)
    bl.jit(lambda x: (x.sum(axis=1), x.max(axis=0)))(X, out=pair)
    np.testing.assert_allclose(pair[0], X.sum(axis=1))
    for wrong, error in [
        (np.empty((6, 5), "f4"), bl.DTypeError),
        (np.empty((5, 6)), bl.ShapeError),
        ([out], bl.ArgumentError),
        (3, bl.DTypeError),
        (np.broadcast_to(out, (6, 5)), bl.ArgumentError),
    ]:
        with pytest.raises(error):
            f(X, Y, out=wrong)


def test_threads():
    f = bl.jit(lambda x: np.exp(x) + x.sum(axis=0))
    expected = f(X)
    results = []

    def work():
        for _ in range(200):
            results.append(np.array_equal(f(X), expected))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(results) == 800 and all(results)
    np.testing.assert_array_equal(bl.jit(lambda x: np.exp(x) + x.sum(axis=0), threads=1)(X), expected)


def test_buffers_and_dlpack():
    import array

    f = bl.jit(lambda x: x * 2)
    np.testing.assert_array_equal(f(array.array("d", [1, 2])), [2.0, 4.0])
    np.testing.assert_array_equal(f(memoryview(np.arange(3))), [0, 2, 4])

    class Tensor:
        def __init__(self, data):
            self.data = data

        def __dlpack__(self, **kwargs):
            return self.data.__dlpack__(**kwargs)

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    np.testing.assert_array_equal(f(Tensor(X)), X * 2)
    np.testing.assert_array_equal(np.from_dlpack(f(X)), X * 2)


@pytest.mark.parametrize("library", ["torch", "jax.numpy"])
def test_tensors_of_other_libraries(library):
    other = pytest.importorskip(library)
    double = bl.jit(lambda x: x * 2)
    for dtype in ["float32", "int32", "uint8", "float16", "bfloat16"]:
        tensor = other.ones((3, 4), dtype=getattr(other, dtype))
        if library == "torch" and dtype == "bfloat16":
            with pytest.raises(bl.ArgumentError, match="of a dtype that NumPy has"):
                double(tensor)
            continue
        found = double(tensor)
        assert found.dtype == np.asarray(tensor).dtype if library == "jax.numpy" else str(found.dtype) == dtype
        np.testing.assert_array_equal(found.astype(np.float64), np.full((3, 4), 2.0))
    grid = other.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(double(grid.T), 2 * np.arange(12.0).reshape(3, 4).T)
    back = other.from_dlpack(double(np.ones(3, np.float32)))
    assert back.tolist() == [2.0, 2.0, 2.0]


@dataclasses.dataclass
class State:
    position: np.ndarray
    rate: float = 0.5
    steps: int = 2

    def energy(self):
        return (self.position**2).sum() * self.rate

    @bl.jit
    def moved(self, by):
        return State(self.position + by * self.steps, self.rate)


@dataclasses.dataclass
class Moments:
    first: np.ndarray
    second: np.ndarray


@dataclasses.dataclass(frozen=True)
class Options:
    rate: float = 2.0


def test_named_tuples_and_dataclasses():
    same(lambda p: p.x * 2 + p.y, Point(X, Y))
    same(lambda p: p._replace(x=p.x + 1).x, Point(X, 2.0))
    f = bl.jit(lambda state: (state.energy(), state))
    for rate in (0.5, 2.0):
        energy, state = f(State(X, rate))
        np.testing.assert_allclose(energy, State(X, rate).energy())
        np.testing.assert_array_equal(state.position, X)
        assert type(state) is State and state.rate == rate and state.steps == 2
    assert f.traces == 1
    assert f(State(X, steps=3))[1].steps == 3 and f.traces == 2
    moved = State(X).moved(1.0)
    np.testing.assert_array_equal(moved.position, X + 2)
    state, before = State(X), State.moved.traces
    state.position = Y
    np.testing.assert_array_equal(state.moved(1.0).position, Y + 2)
    assert State.moved.traces == before
    out = Moments(np.empty(5), np.empty(6))
    assert bl.jit(lambda x: Moments(x.max(axis=0), x.min(axis=1)))(X, out=out) is out
    np.testing.assert_array_equal(out.first, X.max(axis=0))
    np.testing.assert_array_equal(out.second, X.min(axis=1))
    # What can be hashed is a part of the kernel.
    g = bl.jit(lambda x, options: x if options.rate > 0 else -x)
    for rate in (2.0, -2.0):
        np.testing.assert_array_equal(g(X, Options(rate)), X * np.sign(rate))
