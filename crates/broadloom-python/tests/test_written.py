"""What is written is computed as NumPy computes it, or refused with what to write: never quietly another thing."""

import types

import broadloom as bl
import numpy as np
import pytest

U = np.array([200, 100], np.uint8)
X = np.array([[3.0, 1.0], [2.0, 0.0]])
Y = np.array([[-3.0, 1.0, 2.0], [2.0, 0.0, -7.5]])
NANS = np.array([np.nan, 2.0, 3.0])
STACK = np.arange(24.0).reshape(2, 3, 4)
LONG = np.arange(20.0)


def same(function, *args, rtol=0.0):
    expected, found = function(*args), bl.jit(function)(*args)
    assert type(found) is type(expected)
    if isinstance(expected, (tuple, list)):
        assert found == expected
        return
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=rtol)


def refused(function, *args, error=bl.Error, match):
    with pytest.raises(error, match=match) as caught:
        bl.jit(function)(*args)
    return str(caught.value)


@pytest.mark.parametrize("name, operands", [("relu", 1), ("square", 1), ("add", 2), ("erf", 1)])
def test_ufuncs_are_known_by_what_they_are(name, operands):
    def other(*values):
        return 1000.0

    other.__name__ = name
    ufunc = np.frompyfunc(other, operands, 1)
    text = refused(lambda x: ufunc(*[x] * operands), X, match="is not one of NumPy's")
    assert f"`{name}" in text


def test_ufuncs_of_scipy():
    special = pytest.importorskip("scipy.special")
    same(lambda x: special.erf(x), X, rtol=1e-15)
    refused(lambda x: special.gamma(x), X, match="`gamma` is not one of NumPy's")


@pytest.mark.parametrize(
    "function",
    [
        lambda u: np.add(u, u, dtype=np.int32),
        lambda u: np.multiply(u, u, dtype=np.int32),
        lambda u: np.subtract(u, u[::-1], dtype="i2"),
        lambda u: np.power(u, 2, dtype=np.int64),
        lambda u: np.left_shift(u, 1, dtype=np.int32),
        lambda u: np.negative(u, dtype=np.int32),
        lambda u: np.add.outer(u, u, dtype=np.int32),
        lambda u: np.subtract.outer(u, STACK),
        lambda u: np.subtract.outer(STACK, u),
        lambda u: np.multiply.outer(3, u),
        lambda u: np.matmul(u, u, dtype=np.int64),
        lambda u: np.sqrt(u, dtype=float),
        lambda u: np.sqrt(u.astype(np.float32), dtype=float),
        lambda u: np.exp(u.astype(np.float32) / 100, dtype=float),
        lambda u: np.sqrt(u, signature="f->f"),
        lambda u: np.add(u, 300, dtype=np.int32),
        lambda u: np.add(2, u, signature=(None, None, np.int64)),
        lambda u: np.add(u.astype("i8"), u.astype("f4"), dtype=np.float32, casting="same_kind"),
        lambda u: np.divmod(u, 7, dtype=np.int16)[1],
        lambda u: np.less(u, 150, dtype=bool),
        lambda u: np.einsum("i,i->", u, u, dtype=np.int64),
        lambda u: np.einsum("i,i->i", u, u, optimize=True),
        lambda u: np.concatenate([u, u], dtype=np.float32),
        lambda u: np.stack([u, u], dtype=np.int64),
        lambda u: np.vstack([u, u], dtype=np.int64),
        lambda u: np.hstack([u, u.astype(np.int64) << 40], dtype=np.int64),
    ],
)
def test_the_dtype_to_compute_in(function):
    same(function, U)


@pytest.mark.parametrize(
    "function",
    [
        lambda u: np.less(u, 3, dtype=np.int64),
        lambda u: np.float_power(u, 2, dtype=np.float32),
        lambda u: np.add(u, u, dtype=np.uint16, casting="no"),
        lambda u: np.add(u, u.astype("i8"), casting="equiv"),
        lambda u: np.concatenate([u, u], dtype=np.int8, casting="safe"),
        lambda u: u.astype(np.int8, casting="safe"),
        lambda u: np.einsum("i->", u, dtype=np.int8),
    ],
)
def test_conversions_that_numpy_refuses(function):
    with pytest.raises(TypeError):
        function(U)
    refused(function, U, error=TypeError, match="astype")


def test_methods_that_change_an_array():
    def changed(change):
        def function(x):
            y = x.copy()
            change(y)
            return y, change(x), x

        ours, numpys = NANS.copy(), NANS.copy()
        for found, expected in zip(bl.jit(function)(ours), function(numpys)):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(ours, numpys)

    changed(lambda x: x.sort())
    changed(lambda x: x.partition(1))
    changed(lambda x: x.fill(2))
    changed(lambda x: np.nan_to_num(x, copy=False, nan=7.0))
    changed(lambda x: np.copyto(x, 0))
    changed(lambda x: np.clip(x, 2.5, None, x))
    same(lambda x: np.nan_to_num(x, nan=7.0), NANS)
    changed(lambda x: x.put([0], 1))
    changed(lambda x: np.add.at(x, [0, 0], 1))
    refused(lambda x: x.resize(4), X, match=r"x = x\.reshape")
    refused(lambda x: np.hypot.at(x, [0], 1), X, match="np.hypot.at")


def test_results_in_arrays_of_other_dtypes():
    """Sums are computed in the common dtype of `out` and the operand, and functions of single elements in that of the operands."""
    x, u = np.full(3, 0.1, np.float32), np.array([200, 100], np.uint8)

    def check(function, out, *args):
        ours, numpys = out.copy(), out.copy()
        bl.jit(function)(ours, *args)
        function(numpys, *args)
        np.testing.assert_array_equal(ours, numpys)

    for function in (np.sum, np.add.reduce, np.prod):
        check(lambda out, x, function=function: function(x, axis=0, out=out), np.zeros(3), x[:, None] + x)
    check(lambda out, x: np.cumsum(x, out=out), np.zeros(3), x)
    check(lambda out, u: np.add.accumulate(u, out=out), np.zeros(2, np.int16), u)
    check(lambda out, x: np.sqrt(x, out=out), np.zeros(3), x)
    check(lambda out, x: np.add(x, x, out=out, casting="unsafe"), np.zeros(3, np.int64), x * 100)
    check(lambda out, x: np.add(x, x, out), np.zeros(3), x)
    check(lambda out, x: x.sum(0, None, out), np.zeros(3, np.int32), x[:, None] * 100 + x)
    refused(lambda out, x: np.add(x, x, out=out, casting="no"), np.zeros(3), x, match="out=")
    refused(lambda out, x: np.mean(x, axis=0, out=out), np.zeros(3), x[:, None] + x, match="out=")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.ravel("F"),
        lambda x: x.flatten("F"),
        lambda x: np.ravel(x, "F"),
        lambda x: np.ravel(x[0], "K"),
        lambda x: np.reshape(x, (3, -1), order="F"),
        lambda x: x.reshape(-1, order="F"),
        lambda x: x[0].reshape(3, 1, order="F"),
        lambda x: x.T.reshape((2, 3), order="F"),
        lambda x: x[1].reshape((3, 1, 1), order="A"),
        lambda x: x.ravel("C"),
    ],
)
def test_the_order_of_elements(function):
    same(function, Y)
    same(function, np.asfortranarray(Y))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.ravel("A"),
        lambda x: x.flatten(order="K"),
        lambda x: np.ravel(x, "K"),
        lambda x: x.reshape(-1, order="A"),
        lambda x: x.copy(order="F"),
        lambda x: np.zeros_like(x, order="F"),
        lambda x: np.add(x, x, order="F"),
        lambda x: x.astype(np.float32, order="F"),
    ],
)
def test_orders_that_depend_on_memory(function):
    refused(function, np.asfortranarray(Y), match="order=")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.linalg.trace(x),
        lambda x: np.linalg.trace(x, offset=1, dtype=np.float32),
        lambda x: np.linalg.diagonal(x, offset=-1),
        lambda x: np.linalg.matmul(x, np.linalg.matrix_transpose(x)),
        lambda x: np.linalg.vecdot(x, x, axis=1),
        lambda x: np.linalg.tensordot(x, x, axes=([1, 2], [1, 2])),
        lambda x: np.linalg.outer(x[0, 0], x[0, 1]),
        lambda x: np.linalg.cross(x, x[::-1] + 1, axis=1),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x[0], "fro"),
        lambda x: np.linalg.norm(x, "fro", axis=(0, 2), keepdims=True),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.linalg.norm(x, 1, axis=1),
        lambda x: np.linalg.norm(x - 5, np.inf, axis=(0, 1)),
        lambda x: np.linalg.norm(x - 5, -1, axis=(-1, 0), keepdims=True),
        lambda x: np.linalg.norm(x - 5, 0, axis=1),
        lambda x: np.linalg.norm(x - 5, 3, axis=1),
        lambda x: np.linalg.norm(x - 5, -np.inf, axis=2, keepdims=True),
        lambda x: np.linalg.norm((x - 5).astype(int), 2, axis=2),
        lambda x: np.linalg.vector_norm(x),
        lambda x: np.linalg.vector_norm(x, keepdims=True, ord=1),
        lambda x: np.linalg.vector_norm(x, axis=1, ord=np.inf),
        lambda x: np.linalg.matrix_norm(x),
        lambda x: np.linalg.matrix_norm(x, ord=1, keepdims=True),
    ],
)
def test_linear_algebra(function):
    same(function, STACK, rtol=1e-14)


@pytest.mark.parametrize(
    "function, name",
    [
        (lambda x: np.emath.sqrt(x - 2), "np.emath.sqrt"),
        (lambda x: np.emath.log(x - 2), "np.emath.log"),
        (lambda x: np.emath.power(x - 2, 0.5), "np.emath.power"),
        (lambda x: np.emath.arccos(x), "np.emath.arccos"),
        (lambda x: np.linalg.inv(x), "np.linalg.inv"),
        (lambda x: np.linalg.norm(x, "nuc"), "np.linalg.norm"),
        (lambda x: np.linalg.norm(x, 2), "np.linalg.norm"),
        (lambda x: np.fft.rfft(x), "np.fft.rfft"),
        (lambda x: np.save("x.npy", x), "np.save"),
    ],
)
def test_functions_that_are_refused(function, name):
    assert f"`{name}`" in refused(function, X, match="outside of|in `np`|pass its result")


def test_dtypes_and_parts():
    same(lambda x: x.astype(np.result_type(x, np.int8)), U)
    same(lambda x: np.real(x) + np.imag(x) + x.real + x.imag, X)
    assert bl.jit(lambda x, a: np.result_type(x, a))(np.ones(3, np.float32), 2.0) == np.float32
    assert bl.jit(lambda x: np.isrealobj(x))(X) is True


def test_sizes_are_integers():
    same(lambda x: [1.0] * x.shape[0], LONG)
    same(lambda x: (0,) * x.shape[0], LONG)
    same(lambda x: x + np.zeros(x.shape[0]), LONG)
    same(lambda x: np.ones((x.shape[0], 2)) * x[:, None], LONG)

    same(lambda x: x * {"20": 2.0}[str(x.shape[0])], LONG)
    same(lambda x: x if f"{x.shape}" == "(20,)" else -x, LONG)

    def count(x):
        try:
            return x + len(x)
        except TypeError:
            return x

    f = bl.jit(count)
    for size in (20, 30):
        np.testing.assert_array_equal(f(np.arange(float(size))), count(np.arange(float(size))))


def test_floats_that_have_to_be_known():
    for function in [
        lambda x, rate: np.quantile(x, rate),
        lambda x, rate: x if rate > 0 else -x,
        lambda x, rate: x + int(rate),
        lambda x, rate: x if rate else -x,
    ]:
        refused(function, LONG, 0.5, match='`rate` is a float.*@bl.jit\\(static="rate"\\)')
        np.testing.assert_allclose(bl.jit(function, static="rate")(LONG, 0.5), function(LONG, 0.5), rtol=1e-15)
    refused(lambda x, a, b: x if a > b else -x, LONG, 0.5, 1.5, match='`a` and `b` are floats')
    same(lambda x, rate: x + np.linspace(0, rate, 20), LONG, 0.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(axis=np.int64(1)),
        lambda x: np.roll(x, np.int32(1), axis=np.int64(0)),
        lambda x: x.reshape(np.int64(3), np.int64(2)),
        lambda x: x.swapaxes(np.int64(0), np.int64(1)),
        lambda x: np.diff(x, n=np.int64(1), axis=np.int8(0)),
        lambda x: np.argsort(x, axis=np.int64(0), stable=np.bool_(True)),
    ],
)
def test_numbers_of_numpys_classes(function):
    same(function, Y)


def test_flags_of_numpys_classes():
    found = bl.jit(lambda x: x.sum(axis=1, keepdims=np.bool_(True)))(Y)
    np.testing.assert_array_equal(found, Y.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: np.float32(x) + 1, "x.astype(np.float32)"),
        (lambda x: np.r_[x[0], x[1]], "np.concatenate((x[0], x[1]))"),
        (lambda x: np.c_[x[0], x[1]], "np.column_stack((x[0], x[1]))"),
        (lambda x: np.max([x, x + 1], axis=0), "np.max(np.stack([x, x + 1]), axis=0)"),
        (lambda x: np.random.default_rng(0).permutation(x), "`np.random.default_rng(0).permutation` takes only NumPy's arrays"),
    ],
)
def test_functions_that_make_arrays_of_lists(function, instead):
    assert instead in refused(function, X, error=bl.TracingError, match="are not known")


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: np.asarray(x) + 1, "`x` itself"),
        (lambda x: np.array([x, x]), "np.stack([x, x])"),
    ],
)
def test_functions_that_make_arrays_in_code_with_names_of_its_own(function, instead):
    """Functions that are attributes of objects find NumPy itself."""
    holder = types.SimpleNamespace(function=function)
    assert instead in refused(lambda x: holder.function(x), X, error=bl.TracingError, match="are not known")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.asarray(x) + 1,
        lambda x: np.array([x, x]),
        lambda x: np.array(x, ndmin=3),
        lambda x: np.asarray(x, copy=True) + 1,
        lambda x: np.full((2, 3), [1, 2, 3]) + x,
        lambda x: np.select([x > 1, x > 0], [x, x * 2], 5.0),
        lambda x: np.select([x > 1, x > 0], [x, x * 2]),
        lambda x: np.select([x > 1], [1], default=0),
        lambda x: np.select([x > 1, x < 0], [x.astype("f2"), x.astype("i2")], x.astype("i1")),
        lambda x: np.diff(x, prepend=0),
        lambda x: np.diff(x, prepend=x[:, :1], append=5.0),
        lambda x: np.diff(x.astype(np.float32), append=0, axis=0),
    ],
)
def test_other_arguments(function):
    same(function, Y)
    refused(lambda x: np.select([x], [x]), Y, match="conditions of dtype bool")


def test_scalars_take_numpys_branch():
    def scaled(x, a):
        return x * a if np.isscalar(a) else x

    same(scaled, X, 2.0)
    same(scaled, X, np.float32(2))
    same(scaled, X, np.array([2.0, 3.0]))
    same(scaled, X, np.array(2.0))
    same(lambda x: x + np.isscalar(x.sum()) + 2 * np.isscalar(x[0, 0]) + 4 * np.isscalar(x) + 8 * np.isscalar(3), X)


def test_texts_of_floats_are_refused():
    for text in [str, "{:.1f}".format, "{}".format, lambda a: "%s" % a, print]:
        refused(lambda x, a: x if text(a) == "2.0" else -x, X, 2.0, error=bl.TracingError, match='static="a"')
        assert bl.jit(lambda x, a: x if text(a) == "2.0" else -x, static="a")(X, 2.0).shape == X.shape
    assert "Array(f64[" in bl.jit(lambda x: (x, repr(x)))(X)[1]


@pytest.mark.parametrize(
    "text", [str, "{:.2f}".format, lambda x: f"{x}", lambda x: "%s" % x, lambda x: {f"k{x}": x}, lambda x: f"{x:>20}"]
)
def test_texts_say_what_elements_are(text):
    for value in (lambda x, n: x, lambda x, n: x.sum(), lambda x, n: x[0, 0] * 2, lambda x, n: x[x > 0].shape[0]):
        refused(lambda x, n: (x, text(value(x, n))), X, np.int64(3), error=bl.TracingError, match="known")
    refused(lambda x, n: (x, text(n)), X, np.array(3), error=bl.TracingError, match=r'pass `int\(n\)`, or write `@bl.jit\(static="n"\)`')
    same(lambda x, n: x * len(str(text(n))), X, np.int64(3))
    same(lambda x: x * len(f"{x.shape[0]}{x.size:5}"), X)


def test_print_shows_what_there_is(capsys):
    def printing(x):
        print("sum:", x.sum(), 1)
        return x

    same(printing, X)
    assert "sum: Array(f64[]) 1" in capsys.readouterr().out
    assert str(bl.input("x", "f64[n]")) == f"{bl.input('x', 'f64[n]')}" == "Array(f64[n])"


def test_what_is_handed_over_to_a_function():
    def solved(x):
        y = x + 1
        return np.linalg.solve(y, x[0]) * 2

    refused(solved, X, match=r"`solution = np\.linalg\.solve\(y, x\[0\]\)`, and pass its result `solution`")
    refused(lambda x: np.linalg.eigh(x)[0], X, match=r"pass its results `eigenvalues`, `eigenvectors`")
    refused(lambda x: np.linalg.matrix_power(x, 3), X, match="x @ x @ x")


@pytest.mark.parametrize("dtype", [bool, "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_reciprocals(dtype):
    x = np.array([1, 2, 3, 100]).astype(dtype)
    if np.dtype(dtype).kind in "if":
        x = np.concatenate([x, -x])
    same(lambda x: np.reciprocal(x), x)
    same(lambda x: np.reciprocal(x, dtype=float), x)
    if np.dtype(dtype).kind in "iu":
        assert bl.jit(np.reciprocal)(np.zeros(1, dtype)) == 0


@pytest.mark.parametrize("split", [np.split, np.array_split, np.vsplit])
def test_parts_are_a_list(split):
    for parts in (1, [1]):
        found, expected = bl.jit(lambda x: split(x, parts))(Y), split(Y, parts)
        assert type(found) is list
        for part, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:1, :1].reshape(()) + 0,
        lambda x: np.reshape(x[:1, 1], ()) + 0,
        lambda x: np.reshape(x[:1, 1:2], (), order="F") + 0,
        lambda x: x.sum().reshape(()),
    ],
)
def test_shapes_without_axes(function):
    same(function, X)
    refused(lambda x: x.reshape(()), X, match="`reshape` cannot produce")
    refused(lambda x: x.reshape(), X, error=TypeError, match="takes exactly 1 argument")


def test_views_without_axes():
    def write(x):
        one, none = np.zeros((1, 1)), np.zeros(())
        view, other = one.reshape(()), none.reshape(1, 1)
        view[...] = x[0, 0]
        other[0] = x[0, 1]
        view += 1
        return one, none + 0

    for found, expected in zip(bl.jit(write)(X), write(X), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [bool, "i1", "u1", "i2", "i4", "i8", "f4"])
def test_functions_that_compute_in_floats_of_their_own(dtype):
    x = np.array([1, 0, 3, 1, 1]).astype(dtype)
    same(lambda x: np.sinc(x), x, rtol=1e-12)
    same(lambda x: np.trapezoid(x), x)
    same(lambda x: np.trapezoid(x, dx=0.5), x)
    same(lambda x: np.trapezoid(x.reshape(1, -1), axis=0), x)
    small = np.array([200, 100, 3, 250], np.uint8)
    same(lambda x: np.trapezoid(x), small)
    same(lambda x: np.trapezoid(x.astype(np.int64), x), small)
    same(lambda x: np.trapezoid(x > 0, np.arange(5.0)), x)
    same(lambda x: np.trapezoid(np.arange(5.0), x > 0), x)
