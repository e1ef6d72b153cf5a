"""Derivatives of functions, against closed forms and differences."""

import dataclasses
import functools
import pickle
import threading
import typing
import warnings

import broadloom as bl
import ml_dtypes
import numpy as np
import pytest

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
X = np.array([0.3, -1.2, 2.5, 0.9])
W = np.array([1.0, -2.0])
TABLE = np.arange(8.0).reshape(4, 2) / 7


class Named(typing.NamedTuple):
    w: typing.Any
    b: typing.Any


@dataclasses.dataclass
class Record:
    w: typing.Any
    b: typing.Any


def affine(parameters, table):
    w, b = (parameters["w"], parameters["b"]) if isinstance(parameters, dict) else (
        parameters if isinstance(parameters, (list, tuple)) else (parameters.w, parameters.b)
    )
    return ((table @ w + b) ** 2).sum()


SLOPE_W, SLOPE_B = 2 * TABLE.T @ (TABLE @ W + 0.5), 2 * (TABLE @ W + 0.5).sum()


def differences(function, x, step=1e-3):
    """Quotients of the fourth order in extended precision."""
    x = np.asarray(x, np.longdouble)
    slope = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        def value(steps):
            moved = x.copy()
            moved[at] += steps * np.longdouble(step)
            return function(moved)

        slope[at] = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * np.longdouble(step))
    return slope.astype(float)


LOSSES = [
    lambda x: (np.sin(x) * np.exp(-(x**2))).sum(),
    lambda x: np.sqrt((x * x).sum()) + np.abs(x).max(),
    lambda x: np.log(np.exp(x - x.max()).sum()) + x.max(),
    lambda x: (np.where(x > 0, x**3, -x) * np.arctan(x)).mean(),
    lambda x: (np.cumsum(x)[1:] * x[:-1][::-1]).sum() + np.prod(x),
    lambda x: (x.reshape(2, 2) @ x.reshape(2, 2).T).trace() + np.sort(x)[1:3].sum() ** 2,
    lambda x: (np.outer(x, x) * np.tanh(x)).sum() + np.linalg.norm(x[:, None] - x[None, ::-1]),
    lambda x: (x[np.array([0, 2, 2])] ** 2).sum() + np.concatenate([x, x[:1]]).std(),
]


@pytest.mark.parametrize("number", range(len(LOSSES)))
def test_differences(number):
    loss = LOSSES[number]
    want = differences(loss, X)
    np.testing.assert_allclose(bl.grad(loss)(X), want, rtol=1e-9, atol=1e-9)
    value, slope = bl.value_and_grad(loss)(X)
    np.testing.assert_allclose(value, loss(X), rtol=1e-13)
    np.testing.assert_allclose(slope, want, rtol=1e-9, atol=1e-9)
    value, change = bl.jvp(loss, (X,), (np.cos(X),))
    np.testing.assert_allclose(value, loss(X), rtol=1e-13)
    np.testing.assert_allclose(change, want @ np.cos(X), rtol=1e-9, atol=1e-9)


def test_hessians():
    def loss(x):
        return np.exp(np.outer(x, np.sin(x))).sum()

    slope = bl.grad(loss)
    direction = np.array([1.0, -0.5, 0.0, 2.0])
    step = 1e-4
    want = (slope(X + step * direction) - slope(X - step * direction)) / (2 * step)
    (product,) = bl.hvp(loss, (X,), (direction,))
    np.testing.assert_allclose(product, want, rtol=1e-6)
    np.testing.assert_allclose(bl.jvp(slope, (X,), (direction,))[1], product, rtol=1e-12)
    np.testing.assert_allclose(bl.jit(lambda x, d: bl.hvp(loss, (x,), (d,)))(X, direction)[0], product, rtol=1e-12)


@pytest.mark.parametrize(
    "parameters",
    [{"w": W, "b": 0.5}, [W, 0.5], (W, 0.5), Named(W, 0.5), Record(W, 0.5), Named(W, np.float64(0.5)), {"w": W, "b": np.array(0.5)}],
)
@pytest.mark.parametrize("wrapped", [bl.grad, lambda f: bl.jit(bl.grad(f)), lambda f: bl.grad(bl.jit(f))])
def test_structures(parameters, wrapped):
    slopes = wrapped(affine)(parameters, TABLE)
    assert type(slopes) is type(parameters)
    if isinstance(slopes, dict):
        assert list(slopes) == ["w", "b"]
        slopes = slopes.values()
    elif isinstance(slopes, Record):
        slopes = slopes.w, slopes.b
    by_w, by_b = slopes
    np.testing.assert_allclose(by_w, SLOPE_W, rtol=1e-13)
    np.testing.assert_allclose(by_b, SLOPE_B, rtol=1e-13)


def test_nested_structures_and_none():
    parameters = {"layers": [(W, None), Named(0.5, {"scale": np.array([[2.0]])})]}

    def loss(p, x):
        (w, nothing), rest = p["layers"]
        assert nothing is None
        return ((x @ w + rest.w) ** 2).sum() * rest.b["scale"][0, 0]

    slopes = bl.grad(loss)(parameters, TABLE)
    (by_w, nothing), rest = slopes["layers"]
    assert nothing is None and isinstance(rest, Named)
    np.testing.assert_allclose(by_w, 2 * SLOPE_W, rtol=1e-13)
    np.testing.assert_allclose(rest.b["scale"], [[((TABLE @ W + 0.5) ** 2).sum()]], rtol=1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    """Of the dtype of the argument: rounded once from the derivative in more digits."""
    x = X.astype(dtype)
    have = bl.grad(lambda x: (np.sin(x) * 2.0).sum())(x)
    assert have.dtype == x.dtype
    want = 2 * np.cos(x.astype(np.float64))
    np.testing.assert_allclose(have.astype(float), want, rtol=float(ml_dtypes.finfo(dtype).eps), atol=1e-12)
    value, change = bl.jvp(lambda x: x * x, (x,), (x,))
    assert value.dtype == change.dtype == x.dtype
    np.testing.assert_allclose(change.astype(float), 2 * x.astype(float) ** 2, rtol=2 * float(ml_dtypes.finfo(dtype).eps))


def test_floats_take_the_dtype_of_arrays():
    x = X.astype(np.float32)
    value, slopes = bl.value_and_grad(lambda x, a, b: (x * a + b).sum(), argnums=(0, 1, 2))(x, 3.0, 1.0)
    assert [item.dtype for item in (value, *slopes)] == [np.float32, np.float32, np.float64, np.float64]
    np.testing.assert_allclose(slopes[1], x.sum(dtype=float), rtol=1e-6)
    assert slopes[2] == 4


def test_argnums():
    def loss(a, b, c):
        return (a * b**2).sum() * c

    a, b, c = X, X + 4, 3.0
    by_a, by_b, by_c = b**2 * c, 2 * a * b * c, (a * b**2).sum()
    np.testing.assert_allclose(bl.grad(loss)(a, b, c), by_a)
    np.testing.assert_allclose(bl.grad(loss, 1)(a, b, c), by_b)
    np.testing.assert_allclose(bl.grad(loss, argnums=-1)(a, b, c), by_c)
    (only,) = bl.grad(loss, argnums=(1,))(a, b, c)
    np.testing.assert_allclose(only, by_b)
    found = bl.grad(loss, argnums=[2, 0])(a, b, c)
    np.testing.assert_allclose(found[0], by_c)
    np.testing.assert_allclose(found[1], by_a)
    np.testing.assert_allclose(bl.grad(loss)(a, b, c=c), by_a)


def test_aux():
    def loss(x):
        return (x * x).sum(), {"doubled": 2 * x, "name": "x"}

    slope, aux = bl.grad(loss, has_aux=True)(X)
    np.testing.assert_array_equal(slope, 2 * X)
    np.testing.assert_array_equal(aux["doubled"], 2 * X)
    assert aux["name"] == "x"
    (value, aux), slope = bl.value_and_grad(loss, has_aux=True)(X)
    assert value == pytest.approx((X * X).sum()) and aux["name"] == "x"
    np.testing.assert_array_equal(slope, 2 * X)


def test_derivatives_of_derivatives():
    cube = lambda x: x**3 * np.sin(x)  # noqa: E731
    x = 0.7
    first = 3 * x**2 * np.sin(x) + x**3 * np.cos(x)
    second = 6 * x * np.sin(x) + 6 * x**2 * np.cos(x) - x**3 * np.sin(x)
    third = 6 * np.sin(x) + 18 * x * np.cos(x) - 9 * x**2 * np.sin(x) - x**3 * np.cos(x)
    for function, want in [(bl.grad(cube), first), (bl.grad(bl.grad(cube)), second), (bl.grad(bl.grad(bl.grad(cube))), third)]:
        assert function(x) == pytest.approx(want, rel=1e-13)
        assert bl.jit(function)(x) == pytest.approx(want, rel=1e-13)
    assert bl.grad(bl.jit(bl.grad(bl.jit(cube))))(x) == pytest.approx(second, rel=1e-13)
    assert bl.jvp(bl.grad(cube), (x,), (2.0,))[1] == pytest.approx(2 * second, rel=1e-13)


def test_a_parameter_is_not_what_it_is_called_with():
    """Derivatives by a parameter leave out what the function holds, though it may be the same array or number."""
    grad = bl.grad
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1
    assert grad(lambda x: x * grad(lambda y: x * y)(x))(3.0) == 6
    assert grad(lambda x: grad(lambda y: y * 1.0 + 1.0)(1.0) * x)(5.0) == 1
    np.testing.assert_array_equal(bl.jit(lambda x: grad(lambda a: (a * x).sum())(x))(X), X)
    np.testing.assert_array_equal(bl.jit(lambda x: grad(lambda a, b: (a * b**2).sum(), argnums=(0,))(x, x))(X)[0], X**2)
    both = bl.jit(lambda x: grad(lambda a, b: (a * b**2).sum(), argnums=(0, 1))(x, x))(X)
    np.testing.assert_allclose(both[1], 2 * X**2)
    value, change = bl.jvp(lambda x: bl.jvp(lambda y: x * y, (x,), (1.0,))[1], (4.0,), (1.0,))
    assert (value, change) == (4, 1)


def test_inside_of_a_traced_function():
    @bl.jit
    def step(w, x, y, rate):
        value, slope = bl.value_and_grad(lambda w: ((x @ w - y) ** 2).mean())(w)
        return w - rate * slope, value

    y = TABLE @ np.array([0.5, 1.5])
    w = by_hand = W
    for _ in range(20):
        w, value = step(w, TABLE, y, 0.5)
        residual = TABLE @ by_hand - y
        np.testing.assert_allclose(value, (residual**2).mean(), rtol=1e-11)
        by_hand = by_hand - 0.5 * 2 * TABLE.T @ residual / 4
        np.testing.assert_allclose(w, by_hand, rtol=1e-11)
    assert step.traces == 1


def test_weights_outside_of_the_trace():
    """Arrays that the function did not get, within one that is traced."""
    have = bl.jit(lambda x: bl.grad(lambda w: ((x @ w) ** 2).sum())(W))(TABLE)
    np.testing.assert_allclose(have, 2 * TABLE.T @ (TABLE @ W), rtol=1e-13)


def test_one_kernel_for_all_sizes():
    slope = bl.grad(lambda x: np.log(np.cosh(x)).sum())
    for size in (100, 1000, 12345):
        x = np.linspace(-1, 1, size)
        np.testing.assert_allclose(slope(x), np.tanh(x), rtol=1e-13, atol=1e-15)
    assert slope.traces == 1
    slope(x.astype(np.float32))
    assert slope.traces == 2


def test_the_same_function_is_derived_once():
    def loss(x):
        return (x**2).sum()

    assert bl.grad(loss) is bl.grad(loss)
    assert bl.grad(loss) is not bl.value_and_grad(loss)
    for _ in range(3):
        bl.jvp(loss, (X,), (X,))
        np.testing.assert_array_equal(bl.vjp(loss, X)[1](1.0)[0], 2 * X)
    assert bl.jit(bl.grad(loss)) is bl.grad(loss)


def test_options_of_compiled_functions():
    def loss(x, power):
        return (x**power).sum() if power > 1 else x.sum()

    for function in (bl.grad(bl.jit(loss, static="power")), bl.jit(bl.grad(loss), static="power")):
        np.testing.assert_allclose(function(X, 2.0), 2 * X)
        np.testing.assert_allclose(function(X, 1.0), np.ones(4))
    one = bl.jit(bl.grad(bl.jit(loss, static="power")), threads=1)
    assert one._options == (["power"], 1, False)


def test_changes_in_place():
    """The derivative is by the elements at the call, and the caller's arrays stay as they are."""

    def loss(x, rest):
        x[1:] += x[:-1] ** 2
        x *= rest
        rest[...] = 0
        made = np.zeros(x.shape)
        made[::2] = x[::2]
        np.add.at(made, np.array([0, 0, 3]), x[:3])
        return (made**2).sum() + rest.sum()

    x, rest = X.copy(), np.array([1.0, 2.0, 3.0, 4.0])
    step = 1e-6
    want = [(loss(X + move, rest.copy()) - loss(X - move, rest.copy())) / (2 * step) for move in np.eye(4) * step]
    np.testing.assert_allclose(bl.grad(loss)(x, rest), want, rtol=1e-7)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(rest, [1, 2, 3, 4])
    value, pullback = bl.vjp(loss, x, rest)
    np.testing.assert_array_equal(x, X)
    x[...] = 100
    np.testing.assert_allclose(pullback(1.0)[0], want, rtol=1e-7)

    @bl.jit
    def outer(x, rest):
        slope = bl.grad(loss)(x, rest)
        x += 1
        return slope

    x = X.copy()
    np.testing.assert_allclose(outer(x, rest), want, rtol=1e-7)
    np.testing.assert_array_equal(x, X + 1)


def test_pullbacks():
    def function(a, b):
        return {"product": a * b, "rest": (a.sum(), np.outer(a, a))}

    value, pullback = bl.vjp(function, X, 2.0)
    np.testing.assert_allclose(value["product"], 2 * X)
    weights = {"product": np.arange(4.0), "rest": (3.0, np.arange(16.0).reshape(4, 4))}
    by_a, by_b = pullback(weights)
    matrix = weights["rest"][1]
    np.testing.assert_allclose(by_a, 2 * np.arange(4.0) + 3 + matrix @ X + matrix.T @ X, rtol=1e-13)
    np.testing.assert_allclose(by_b, X @ np.arange(4.0), rtol=1e-13)

    def jacobian(x):
        value, pullback = bl.vjp(lambda x: x**2 + x[::-1], x)
        return pullback(np.ones(4))[0], value

    np.testing.assert_allclose(bl.jit(jacobian)(X)[0], 2 * X + 1)
    np.testing.assert_allclose(jacobian(X)[0], 2 * X + 1)


def test_directions():
    parameters, direction = {"w": W, "b": 0.5}, {"w": np.array([0.1, 0.2]), "b": -1.0}
    value, change = bl.jvp(lambda p: (affine(p, TABLE), p["w"] * 2), (parameters,), (direction,))
    np.testing.assert_allclose(change[0], SLOPE_W @ direction["w"] - SLOPE_B, rtol=1e-12)
    np.testing.assert_allclose(change[1], [0.2, 0.4])
    np.testing.assert_allclose(value[0], affine(parameters, TABLE))
    (product,) = bl.hvp(lambda p: affine(p, TABLE), (parameters,), (direction,))
    inner = TABLE @ direction["w"] - 1
    np.testing.assert_allclose(product["w"], 2 * TABLE.T @ inner, rtol=1e-12)
    np.testing.assert_allclose(product["b"], 2 * inner.sum(), rtol=1e-12)


def test_stopped_and_replaced():
    np.testing.assert_array_equal(bl.grad(lambda x: (bl.stop_gradient(x) * x).sum())(X), X)
    stopped = bl.grad(lambda p: (bl.stop_gradient(p)["a"] * p["a"]).sum())({"a": X})
    np.testing.assert_array_equal(stopped["a"], X)
    assert bl.stop_gradient({"a": 3.0}) == {"a": 3.0}
    np.testing.assert_array_equal(bl.grad(lambda x: (bl.with_gradient(np.round(x), x**2) * 3).sum())(X), 6 * X)
    assert bl.with_gradient(3.0, 4.0) == 3.0
    x = X.astype(np.float32)
    value = bl.jit(lambda x, a: x * bl.stop_gradient(a))(x, 2.0)
    assert value.dtype == np.float32


def test_branches_left_out():
    slope = bl.grad(lambda x: np.where(x > 0, np.log(x), 0.0).sum())(np.array([0.0, -1.0, 2.0]))
    np.testing.assert_array_equal(slope, [0, 0, 0.5])
    np.testing.assert_array_equal(bl.grad(lambda x: np.linalg.norm(x[:, None] - x[None, :]))(np.ones(3)), np.zeros(3))


def test_what_is_read_is_traced_again():
    class Model:
        def __init__(self):
            self.power = 2.0

        def loss(self, x):
            return (x**self.power).sum()

        slope = bl.grad(loss, argnums=1)

    model = Model()
    slope = bl.grad(model.loss)
    for power in (2.0, 3.0):
        model.power = power
        np.testing.assert_allclose(slope(X), power * X ** (power - 1))
        np.testing.assert_allclose(model.slope(X), power * X ** (power - 1))


def test_two_threads():
    slope, found = bl.value_and_grad(lambda x, y: (np.exp(-((x[:, None] - y) ** 2))).sum(), argnums=(0, 1)), {}
    x, y = np.linspace(0, 1, 3000), np.linspace(-1, 2, 2000)

    def run(number):
        found[number] = slope(x, y)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (value, (by_x, by_y)), other = found[0], found[1]
    distance = x[:, None] - y
    table = -2 * distance * np.exp(-(distance**2))
    np.testing.assert_allclose(by_x, table.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(by_y, -table.sum(axis=0), rtol=1e-11, atol=1e-11)
    one = bl.jit(slope, threads=1)(x, y)
    for same in (other, one):
        assert value == same[0]
        np.testing.assert_array_equal(by_x, same[1][0])
        np.testing.assert_array_equal(by_y, same[1][1])


def test_declared_inputs():
    x = bl.input("x", "f64[n]")
    slope = bl.grad(lambda a: (a**2 * x).sum())(x)
    assert repr(slope) == "Array(f64[n])"
    np.testing.assert_allclose(bl.compile(slope)(X), 2 * X**2)


def test_pickles():
    assert pickle.loads(pickle.dumps(bl.grad(affine, argnums=0)))((W, 0.5), TABLE)[1] == pytest.approx(SLOPE_B)


def test_numpy_gradient_stays():
    np.testing.assert_array_equal(bl.jit(np.gradient)(X), np.gradient(X))


def test_unread_arguments():
    slope = bl.grad(lambda x, y, z: x.sum(), argnums=(0, 1, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        _, by_y, by_z = slope(X, {"a": X[:2]}, 1.0)
        slope(X, {"a": X}, 1.0)
        bl.grad(lambda x: (x > 0).sum() * 1.0)(X)
    np.testing.assert_array_equal(by_y["a"], [0, 0])
    assert by_z == 0
    (warning,) = caught
    assert warning.category is UserWarning and warning.filename == __file__
    assert "`y['a']` and `z` are not read by the loss" in str(warning.message)


def test_calls_of_many_kinds():
    """Partial functions, functions of NumPy's, loops over sizes, parts chosen by masks, arrays without elements, `out`."""
    np.testing.assert_allclose(bl.grad(functools.partial(lambda a, x: (a * x).sum(), 3.0))(X), [3, 3, 3, 3])
    assert bl.grad(np.sin)(1.0) == pytest.approx(np.cos(1.0), rel=1e-15)
    np.testing.assert_array_equal(bl.grad(lambda x: sum(x[at] * at for at in range(x.shape[0])))(X), np.arange(4.0))
    np.testing.assert_array_equal(bl.grad(lambda x: (x[x > 0] * 2).sum())(X), 2 * (X > 0))
    assert bl.grad(lambda x: (x**2).mean())(X[:0]).shape == (0,)
    out = np.empty(4)
    assert bl.grad(lambda x: (x**2).sum())(X, out=out) is out
    np.testing.assert_array_equal(out, 2 * X)
    table = np.arange(24.0).reshape(4, 6)[::2].T
    np.testing.assert_array_equal(bl.grad(lambda x: (x**2).sum())(table), 2 * table)
