"""Classes, lists, attributes and messages of traced values: as NumPy has them, or refused with what to write."""

import collections.abc
import numbers
import types

import broadloom as bl
import numpy as np
import pytest
from test_written import X, refused, same


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: [0] * n,
        lambda x, n: (1.0,) * n,
        lambda x, n: n * [1, 2],
        lambda x, n: len([1, 2] * n),
        lambda x, n: "ab" * n,
        lambda x, n: [0, 1] * x.argmax(),
        lambda x, n: [0] * (n + 1),
    ],
)
def test_lists_are_repeated_and_not_multiplied(function):
    if function.__code__.co_names == ("argmax",):
        refused(function, X, np.int64(3), error=bl.TracingError, match="are not known")
    else:
        assert bl.jit(function)(X, np.int64(3)) == bl.jit(function, static="n")(X, 3) == function(X, 3)


def test_lists_beside_arrays():
    same(lambda x, n: np.array([1, 2]) * n, X, np.int64(3))
    same(lambda x, n: [1, 2] * n, X, np.array(3))
    same(lambda x, n: [1, 2] + n, X, np.int64(3))
    same(lambda x: [1.0, 2.0] * x, X)
    same(lambda x: len([0] * x.shape[0]), X)

    def repeated(x, n):
        values = [1, 2]
        values *= n
        return values

    assert bl.jit(repeated)(X, np.int64(3)) == repeated(X, np.int64(3))


KINDS = [
    float, int, bool, complex, np.floating, np.integer, np.generic, np.number, np.float64, np.int64, np.bool_, np.ndarray, list,
    (int, float), int | float, numbers.Real, numbers.Number, numbers.Integral, collections.abc.Sized, object, type,
]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        lambda x, q, n: x,
        lambda x, q, n: x[0],
        lambda x, q, n: x[0, 0],
        lambda x, q, n: x.sum(),
        lambda x, q, n: x.argmax(),
        lambda x, q, n: x.any(),
        lambda x, q, n: np.asarray(x.sum()),
        lambda x, q, n: x.astype(np.float32)[0, 0],
        lambda x, q, n: q,
        lambda x, q, n: q * 2 + 1,
        lambda x, q, n: n,
        lambda x, q, n: n + 1,
        lambda x, q, n: x.shape[0],
        lambda x, q, n: x.shape[0] * 2,
        lambda x, q, n: len(x),
        lambda x, q, n: np.zeros(3),
        lambda x, q, n: 3.5,
    ],
)
def test_classes_are_those_of_numpy(value):
    def instances(x, q, n):
        v = value(x, q, n)
        return tuple(isinstance(v, kind) for kind in KINDS), x

    def attributes(x, q, n):
        v = value(x, q, n)
        names = "__len__", "ptp", "shape", "T", "is_integer", "tolist", "at", "real", "__iter__", "flags"
        return tuple(hasattr(v, name) for name in names), x

    def types_of(x, q, n):
        v = value(x, q, n)
        return type(v) is np.ndarray, type(v) is float, type(v) == int, issubclass(type(v), np.floating), type(v).__name__, x

    for function in (instances, attributes, types_of):
        arguments = np.ones((12, 20)), 2.5, np.int64(3)
        assert bl.jit(function)(*arguments)[:-1] == function(*arguments)[:-1]


def test_type_is_a_class():
    def made(x):
        class Meta(type):
            pass

        class Own(metaclass=Meta):
            pass

        return isinstance(Own, type), isinstance(Own, Meta), type("Named", (), {}).__name__, type(Own) is Meta, isinstance(x, bl.Array), x

    assert bl.jit(made)(X)[:-1] == (True, True, "Named", True, True)


def test_attributes_that_are_not_known():
    for name in ("flags", "strides", "base", "data", "tobytes"):
        refused(lambda x: getattr(x, name, None) and x, X, error=bl.TracingError, match=f"x.{name}")
    with pytest.raises(AttributeError):
        bl.jit(lambda x: x.nothing)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x == None,  # noqa: E711
        lambda x: x != None,  # noqa: E711
        lambda x: x[0, 0] == None,  # noqa: E711
        lambda x: x.shape[0] == None,  # noqa: E711
        lambda x: x.conj(),
        lambda x: np.conj(x),
        lambda x: np.conjugate(x > 1),
        lambda x: (x > 1).conjugate(),
        lambda x: np.block([[x, x * 2], [x[:1], np.ones((1, 2))]]),
        lambda x: np.block([x[0], 3.0, [x[1]]] if x.ndim == 3 else [x[0], 3.0]),
        lambda x: np.block([[[x]], [[x]]]),
        lambda x: np.block(x),
        lambda x: np.diagflat(x, 1),
        lambda x: np.diagflat(x[0]),
        lambda x: x[np.diag_indices_from(x)],
        lambda x: np.stack([np.stack([value, value * i]) for (i, j), value in np.ndenumerate(x)]),
        lambda x: round(x[0, 0]) * x.astype(np.float32),
        lambda x: round(x[0, 0], 1),
    ],
)
def test_functions_that_are_made_of_others(function):
    same(function, X)


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: np.subtract.reduce(x), r"np\.subtract\(result, row\)"),
        (lambda x: np.hypot.accumulate(x), r"np\.hypot\(y\[i - 1\], x\[i\]\)"),
        (lambda x: np.common_type(x), r"np\.result_type"),
        (lambda x: np.insert(x, 0, 1), r"np\.concatenate"),
        (lambda x: np.lexsort(x), r"np\.argsort"),
        (lambda x: np.nditer(x), r"x\.flat"),
    ],
)
def test_help_is_written_in_numpy(function, instead):
    text = refused(function, X, error=bl.Error, match=instead)
    assert not any(word in text for word in ("concat(", "i64", "broadloom ", "docs/ops"))


def test_integers_of_numpys_are_known_where_they_have_to_be():
    a, b = np.int64(1), np.bool_(True)
    for function in (
        lambda x, a, b: x.sum(axis=a), lambda x, a, b: np.roll(x, 1, axis=a), lambda x, a, b: np.expand_dims(x, a),
        lambda x, a, b: np.concatenate([x, x], axis=a), lambda x, a, b: np.var(x, ddof=a), lambda x, a, b: np.triu(x, a),
        lambda x, a, b: np.round(x, a), lambda x, a, b: np.split(x, a)[0], lambda x, a, b: np.histogram(x, a)[0],
        lambda x, a, b: np.percentile(x, a), lambda x, a, b: x.swapaxes(0, a), lambda x, a, b: x.transpose(a, 0),
        lambda x, a, b: np.sum(x, axis=(0, a)), lambda x, a, b: x if a else -x,
        lambda x, a, b: np.sum(x, keepdims=bool(b)), lambda x, a, b: x if b else -x, lambda x, a, b: x * int(a),
    ):  # fmt: skip
        same(function, X, a, b)
        same(function, X, np.uint8(1), b)


def test_integers_of_numpys_are_parts_of_kernels_only_where_they_have_to_be():
    large = np.arange(600.0).reshape(20, 30)
    product, total = bl.jit(lambda x, k: x * k), bl.jit(lambda x, k: x.sum(axis=k))
    for k in range(2):
        np.testing.assert_array_equal(product(large, np.int64(k)), large * k)
    assert product.traces == 1
    for k in (0, 1, 0, -1, 1):
        np.testing.assert_array_equal(total(large, np.int64(k)), large.sum(axis=k))
    counted = total.traces
    for k in (0, 1, -1):
        # A kernel for an axis serves arrays of all sizes.
        np.testing.assert_array_equal(total(large[:19, :11], np.int64(k)), large[:19, :11].sum(axis=k))
    assert total.traces == counted
    with pytest.raises(bl.Error, match="axis"):
        total(large, np.int64(2))
    # Where an integer meets a size, both are known.
    for function in (
        lambda x, k: x.reshape(k, -1), lambda x, k: np.reshape(x, (-1, k)), lambda x, k: x.reshape(k, 600 // k),
        lambda x, k: np.zeros((k, 30)) + x[:1], lambda x, k: np.concatenate([x.ravel()[:600], np.ones(k)]).reshape(-1, 600 + k),
    ):  # fmt: skip
        for k in (np.int64(6), np.int32(4)):
            np.testing.assert_array_equal(bl.jit(function)(large, k), function(large, k))
    with pytest.raises(bl.ShapeError, match="`reshape` cannot infer a size: 600 is not divisible by 7"):
        bl.jit(lambda x, k: x.reshape(k, -1))(large, np.int64(7))

    def mixed(x, k):
        if k == 1:
            return x * 2
        return x + k if len(x) > 300 else x - k

    for order in ((1, 2), (2, 1)):
        function = bl.jit(mixed)
        for round in range(3):
            for k in order:
                for n in (1000, 1001) if k == 1 or not round else (1000,):
                    x = np.arange(float(n))
                    np.testing.assert_array_equal(function(x, np.int64(k)), mixed(x, k))
            counted = counted if round else function.traces
        # What was compiled in the first round serves the others, whichever value came first.
        assert function.traces == counted

    # In containers too, and beside floats, which stay arguments.
    both = bl.jit(lambda x, p: (x * p["scale"]).sum(axis=p["axis"]))
    for axis, scale in ((np.int64(0), 2.0), (np.int64(1), 3.0), (np.int64(0), 4.0)):
        np.testing.assert_array_equal(both(large, {"axis": axis, "scale": scale}), (large * scale).sum(axis=axis))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8"])
def test_numbers_of_numpys_in_the_place_of_pythons(dtype):
    x = X.astype(dtype)
    for q in (np.float64(0.25), np.float32(0.25), np.array(0.5), np.array([0.25, 1]), np.array([0.25, 1], "f4"), [np.float64(0.5), 1], np.array([[0, 0.5], [0.75, 1]])):
        same(lambda x, q=q: np.quantile(x, q, axis=1), x)
        same(lambda x, q=q: np.nanquantile(x, q), x)
        same(lambda x, q=q: np.percentile(x, q * 100 if isinstance(q, (np.generic, np.ndarray)) else q, axis=0, keepdims=True), x)
    for bounds in ((np.float64(0), 3), (np.float32(0), np.float32(3)), (np.int64(0), 3), np.array([0, 4.5]), [0, 3]):
        same(lambda x, bounds=bounds: np.histogram(x, np.int64(3), bounds)[0], x)
        same(lambda x, bounds=bounds: np.histogram(x, 3, range=bounds)[1], x)
    same(lambda x: np.percentile(x, np.int64(25)), x)
    whole = np.array([[3, 1, 2], [9, 2**62 + 1, 8]])
    for q in (0, 1, np.int64(1), True, [0, 1], (1,), np.array([[0, 1], [1, 1]])):
        for function in (np.quantile, np.nanquantile):
            for dtype in (np.int64, np.int32, np.uint8):
                same(lambda x, q=q, function=function: function(x, q, axis=1), whole.astype(dtype))
                same(lambda x, q=q, function=function: function(x, q, keepdims=True), whole.astype(dtype))
    same(lambda x: np.quantile(x, 0.5), whole[:1])
    if np.dtype(dtype).kind == "f":
        same(lambda x: np.gradient(x, np.float64(2), axis=0), x)
        same(lambda x: np.gradient(x, np.float64(2), np.float32(0.5))[1], x)


def test_static_floats_are_told_apart_by_their_bits():
    function = bl.jit(lambda x, fill: np.where(x > 1, x, 1 / fill), static="fill")
    for fill in (0.5, float("nan"), float("nan"), float("inf"), -float("inf"), 0.5):
        np.testing.assert_array_equal(function(X, fill), np.where(X > 1, X, 1 / fill))
    assert function.traces == 4


def test_floats_that_have_to_be_known():
    q = 0.5
    for function in (lambda x, q: np.histogram(x, range=(0, q)), lambda x, q: np.arange(0, q, 0.1)):
        refused(function, X, q, match='static="q"')
    text = refused(lambda x, q: np.isclose(x, 0, atol=q), X, q, match='static="q"')
    assert "found a number" not in text
    # An array without axes may change, so it is no number.
    refused(lambda x, a: x.sum(axis=a), X, np.array(1), match=r"pass `int\(a\)`")


def test_arrays_of_numbers_have_dtypes():
    narrow = X.astype(np.float32)
    for function in (
        lambda x, a: x * np.asarray(a), lambda x, a: x * np.array(a), lambda x, a: x * np.asarray(len(x)), lambda x, a: x * np.asarray(x[0, 0]),
        lambda x, a: x * np.asarray(a, np.float32),
    ):  # fmt: skip
        same(function, narrow, 0.5)


def test_complex_numbers_are_refused():
    for function in (lambda x: x + 1j, lambda x: np.full(x.shape, 1j) + x):
        refused(function, X, error=bl.DTypeError, match="complex")


def test_names_of_columns():
    refused(lambda x: x["a"], X, error=bl.TracingError, match=r"`x\['a'\]` asks for columns")
    refused(lambda x: x[["a", "b"]], X, error=bl.TracingError, match="bl.eval")
    with pytest.raises(bl.ArgumentError, match="single quotes, `'fro'`"):
        bl.eval('norm(A, "fro")', A=X)


def test_floating_point_errors():
    def strict(x):
        with np.errstate(all="raise"):
            return np.log(x)

    def ignoring(x):
        with np.errstate(divide="ignore"):
            return np.log(x)

    refused(strict, X, error=bl.TracingError, match=r"np\.isfinite\(y\)\.all\(\)")
    refused(lambda x: np.seterr(all="raise") and x, X, error=bl.TracingError, match="np.seterr")
    with np.errstate(divide="ignore"):
        same(ignoring, X, rtol=1e-15)


def test_lazy_arrays_that_are_kept():
    kept = types.SimpleNamespace()

    def keeping(x):
        kept.array, kept.size = x * 2, x.shape[0]
        return x

    bl.jit(keeping)(np.ones(30))
    assert "has returned" in repr(kept.array) and "has returned" in repr(kept.size)
    for use in (np.asarray, np.sum, float, lambda x: x + 1, lambda x: x[0]):
        with pytest.raises(bl.TracingError, match="return it as a result"):
            use(kept.array)


def test_scalars_do_not_change():
    def assigned(x):
        s = x.sum()
        s[...] = 1
        return s

    def filled(x):
        s = x[0, 0]
        s.fill(1)
        return s

    def converted(x):
        s = np.asarray(x.sum())
        s[...] = 1
        return x * s

    for function in (assigned, filled):
        refused(function, X, error=bl.DTypeError, match="scalar")
    same(converted, X)


class Objects:
    def of_array(self, x):
        return isinstance(x, np.ndarray), isinstance(x, float), isinstance(x[0, 0], (int, float)), isinstance(x.shape[0], int)

    @staticmethod
    def of_scalar(x):
        match x[0, 0]:
            case np.ndarray():
                return 0
            case float():
                return 1
        return 2

    def __call__(self, x, q):
        return isinstance(q, float), isinstance(x.sum(), numbers.Real), isinstance(x, collections.abc.Sized)


def test_methods_of_objects_see_the_same_classes():
    held = Objects()
    tests = {"list": lambda x: isinstance(x, list), "array": lambda x: isinstance(x, np.ndarray)}

    def function(x, q):
        return held.of_array(x), Objects.of_scalar(x), held(x, q), [test(x) for test in tests.values()], x

    x = np.ones((12, 20))
    assert bl.jit(function)(x, 2.5)[:-1] == function(x, 2.5)[:-1]
    assert not isinstance(bl.input("x", "f64[n]"), np.ndarray)
