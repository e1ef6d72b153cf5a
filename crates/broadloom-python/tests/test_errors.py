"""Whatever is wrong is an exception of a fitting class that says where it was written and what to write."""

import math
import os
import pickle
import re
import xml.etree.ElementTree
from typing import NamedTuple

import broadloom as bl
import numpy as np
import pytest
from broadloom import _frames

X = np.arange(12.0).reshape(4, 3)


def fails(function, *args, error):
    with pytest.raises(error) as caught:
        bl.jit(function)(*args)
    return str(caught.value)


def test_shapes_point_at_the_line():
    def wrong(x, y):
        scaled = x * 2
        return scaled + y

    text = fails(wrong, X, np.ones(4), error=bl.ShapeError)
    assert "test_errors.py:" in text and "return scaled + y" in text and "^^^^^^^^^^" in text
    assert "[:, None]" in text
    assert issubclass(bl.ShapeError, ValueError)


def test_dtypes():
    text = fails(lambda x: x.astype("f4") & 1, X, error=bl.DTypeError)
    assert "test_errors.py:" in text
    for wrong in [np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(3, "M8[s]"), np.zeros(2, [("a", "f8")])]:
        assert "not supported" in fails(lambda x: x, wrong, error=bl.DTypeError)
    assert issubclass(bl.DTypeError, TypeError)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.sum() > 0 else -x,
        lambda x: float(x[0, 0]),
        lambda x: x and x,
        lambda x: [i for i in range(x.astype(int)[0, 0])],
        lambda x: np.random.default_rng(0).permutation(x),
        lambda x: 3 in x,
        lambda x: x.tolist(),
    ],
)
def test_values_are_not_known(function):
    assert "np.where" in fails(function, X, error=bl.TracingError)


TABLE = np.array([[10.0, 20.0], [30.0, 40.0]])


def test_tables_from_outside():
    rows = [1.5, 2.5]
    index = np.array([1, 0, 1])
    for function, written in [
        (lambda a: TABLE[a], "np.asarray(TABLE, like=a)[a]"),
        (lambda a: TABLE[a % 2].sum(), "np.asarray(TABLE, like=a % 2)[a % 2]"),
        (lambda a: TABLE.T[a] + a[:, None], "np.asarray(TABLE.T, like=a)[a]"),
        (lambda a: rows[a], "np.asarray(rows, like=a)[a]"),
    ]:
        text = fails(function, index, error=bl.TracingError)
        assert f"`{written}`" in text and "pass it as an argument" in text and "np.where" not in text, text
    for function in [lambda a: TABLE[a, 0], lambda a: TABLE[0, a]]:
        text = fails(function, index, error=bl.TracingError)
        assert "pass it as an argument" in text and "np.asarray" not in text, text
    # What the messages say to write.
    for table in [TABLE, rows, TABLE > 15, TABLE.astype(np.uint8), [True, False]]:
        expected = np.asarray(table)[index]
        np.testing.assert_array_equal(bl.jit(lambda a: np.asarray(table, like=a)[a])(index), expected)
        np.testing.assert_array_equal(bl.jit(lambda table, a: table[a])(np.asarray(table), index), expected)
    np.testing.assert_array_equal(bl.jit(lambda table, a: table[a, 0])(TABLE, index), TABLE[index, 0])
    np.testing.assert_array_equal(bl.jit(lambda a: np.zeros(3, like=a) + np.arange(3, like=a) + a)(index), index + [0, 1, 2])


def test_methods_of_tables_from_outside():
    index, vector = np.array([1, 0]), np.array([0.5, 2.5, 1.5])
    sorted_ = np.arange(3.0)
    for function, argument, written in [
        (lambda i: TABLE.take(i), index, "np.asarray(TABLE, like=i).take(i)"),
        (lambda i: np.take(TABLE, i, axis=1), index, "np.asarray(TABLE, like=i).take(i, axis=1)"),
        (lambda i: np.take(TABLE[::-1], i % 2), index, "np.asarray(TABLE[::-1], like=i % 2).take(i % 2)"),
        (lambda x: sorted_.searchsorted(x), vector, "np.asarray(sorted_, like=x).searchsorted(x)"),
        (lambda x: sorted_.dot(x), vector, "np.asarray(sorted_, like=x).dot(x)"),
    ]:
        text = fails(function, argument, error=bl.TracingError)
        assert f"`{written}`" in text and "pass it as an argument" in text and "np.where" not in text, text
        # What the message says to write.
        lazy = eval(f"lambda x, i: {written}", {"np": np, "TABLE": TABLE, "sorted_": sorted_})
        np.testing.assert_array_equal(bl.jit(lazy)(vector, index), function(argument))
    # NumPy's arrays know these themselves.
    for function in [
        lambda x: sorted_.clip(x, x + 1),
        lambda x: sorted_.clip(max=x),
        lambda x: sorted_.sum(where=x > 1),
        lambda x: np.sum(sorted_, where=x > 1),
        lambda x: np.add.reduce(sorted_, where=x > 1),
    ]:
        np.testing.assert_array_equal(bl.jit(function)(vector), function(vector))


def test_what_elements_are_asked_for():
    vector = np.array([0.5, 2.5])
    for function, instead in [
        (lambda x: math.sqrt(x[0]), "NumPy's functions instead of `math`"),
        (lambda x: int(x[0]), ".astype(int)"),
        (lambda x: 2.5 in x, "(x == value).any()"),
        (lambda x: 0 < x < 1, "(a < x) & (x < b)"),
    ]:
        assert instead in fails(function, vector, error=bl.TracingError)


def test_writes_that_are_refused():
    def add(x):
        x += 0.5

    integers = X.astype(int)
    assert "x = x + y" in fails(add, integers, error=bl.DTypeError)
    outside = np.empty(X.shape)
    assert "out=" in fails(lambda x: np.add(x, 1, out=outside), X, error=bl.TracingError)
    assert "the axis has 4 elements" in fails(lambda x: x.__setitem__(x.astype(int), 1), X, error=bl.OutOfRangeError)
    assert "needs integer indices" in fails(lambda x: x.__setitem__(x, 1), X, error=bl.DTypeError)


def test_functions_that_do_not_exist():
    assert fails(lambda x: np.linalg.eig(x), X, error=bl.ProgramError)
    assert "`x.tofile`" in fails(lambda x: x.tofile("x"), X, error=bl.TracingError)
    with pytest.raises(AttributeError):
        bl.jit(lambda x: x.to_file("x"))(X)


def test_exceptions_of_the_function_pass_through():
    def raises(x):
        raise KeyError("own")

    with pytest.raises(KeyError):
        bl.jit(raises)(X)
    with pytest.raises(RecursionError):
        recursive = bl.jit(lambda x: recursive(x))
        recursive(X)
    with pytest.raises(TypeError):
        bl.jit(lambda x: x)(X, X)


def test_generators_and_leaks():
    def generate(x):
        yield x

    fails(generate, X, error=TypeError)
    kept = []
    bl.jit(lambda x: kept.append(x))(X)
    with pytest.raises(bl.TracingError):
        kept[0] + 1
    with pytest.raises(bl.TracingError):
        bl.jit(lambda x: x + kept[0])(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_containers():
    loop = []
    loop.append(loop)
    fails(lambda x: x, loop, error=bl.ArgumentError)
    fails(lambda x: x, {1, 2}, error=bl.DTypeError)
    fails(lambda x: x, np.ma.masked_array([1.0]), error=bl.DTypeError)
    fails(lambda x: x, np.matrix([1.0]), error=bl.DTypeError)


def test_indices_out_of_range():
    f = bl.jit(lambda x, i: x[i])
    np.testing.assert_array_equal(f(X, np.array([0, -1])), X[[0, -1]])
    with pytest.raises(IndexError) as caught:
        f(X, np.array([0, 9]))
    assert "the index at [1] is 9" in str(caught.value) and "test_errors.py" in str(caught.value)


class Lying:
    def __init__(self, **interface):
        self.__array_interface__ = interface


def test_lying_objects():
    class NoArray:
        def __array__(self):
            return 3

    class Raising:
        def __array__(self):
            raise ZeroDivisionError

    fails(lambda x: x + 1, NoArray(), error=bl.DTypeError)
    fails(lambda x: x + 1, Raising(), error=ZeroDivisionError)
    # Not followed: its address could be any.
    lying = Lying(shape=(2**40,), typestr="<f8", data=(8, False), version=3)
    fails(lambda x: x + 1, lying, error=TypeError)


def test_decorator_arguments():
    with pytest.raises(ValueError, match="no parameter"):
        bl.jit(lambda x: x, static="y")
    with pytest.raises(TypeError):
        bl.jit(3)
    with pytest.raises(bl.ArgumentError):
        bl.jit(lambda x: x, threads=0)


def test_what_is_computed_of_numbers_among_the_arguments():
    x, k, m = np.arange(4.0), np.int64(1), 2.5
    for function in (
        lambda x, k, m: x if k == 1 else -x,
        lambda x, k, m: x if k > 0 else -x,
        lambda x, k, m: x if 2 * k + 1 > k else -x,
        lambda x, k, m: x * int(-k),
        lambda x, k, m: x * [1, 2, 3][k - 1],
        lambda x, k, m: np.partition(x, k - 1),
        lambda x, k, m: x.sum(axis=k - 1),
    ):
        np.testing.assert_array_equal(bl.jit(function)(x, k, m), function(x, k, m))
    for function in (
        lambda x, k, m: x * float(-m),
        lambda x, k, m: x if m > 1 else -x,
        lambda x, k, m: x if (k == 1) & (m > 1) else x,
    ):
        with pytest.raises(bl.Error) as caught:
            bl.jit(function)(x, k, m)
        assert 'static="m"' in str(caught.value)
        np.testing.assert_array_equal(bl.jit(function, static=["k", "m"])(x, int(k), m), function(x, int(k), m))


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


@pytest.mark.parametrize(
    "argument, place, help",
    [
        (np.ones(3, complex), "x", "`x.real` and `x.imag`"),
        ({"a": np.ones(3), "b": np.ones(3, complex)}, "x['b']", "`x['b'].real` and `x['b'].imag`"),
        ((1.0, [np.ones(3), np.array(["a", "b"])]), "x[1][1]", "pass bool, int8"),
        (Pair(np.ones(2), np.array(["2020-01-01"], "M8[D]")), "x.second", "`x.second.astype('datetime64[s]').astype(np.int64)`"),
        (np.zeros(3, [("a", "f8"), ("b", "i4")]), "x", "its fields"),
        (np.array([1, 2], object), "x", "`x.astype(np.float64)`"),
    ],
    ids=["complex", "dict", "list", "tuple", "record", "object"],
)  # fmt: skip
def test_parts_of_arguments_that_are_not_supported_are_named(argument, place, help):
    for call in (lambda f: f(argument), lambda f: f(x=argument)):
        with pytest.raises(bl.DTypeError) as caught:
            call(bl.jit(lambda x: x))
        assert str(caught.value).startswith(f"`{place}`: arrays of dtype ") and help in str(caught.value)


def test_columns_that_are_not_supported_are_named():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1, 2], "b": [0.5, 2], "t": pandas.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(bl.DTypeError, match=r"`x\['t'\]`: arrays of dtype datetime64"):
        bl.jit(lambda x: x)(table)
    with pytest.raises(bl.DTypeError, match=r"`t`: arrays of dtype datetime64"):
        bl.eval("a + t", table)


def test_what_is_computed_of_arrays_too_has_no_static_argument():
    with pytest.raises(bl.TracingError) as caught:
        bl.jit(lambda x, k: x if k > x.sum() else -x)(np.arange(4.0), np.int64(1))
    assert "static" not in str(caught.value)


SERIES = '''
import numpy as np

class Series:
    __array_ufunc__ = None

    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        return self.values

    def multiply(self, other):
        return self.values * np.asarray(other)

    __mul__ = __rmul__ = multiply
'''


def test_tables_of_other_packages(tmp_path, monkeypatch):
    """An object of an installed package, as pandas has them."""
    monkeypatch.setattr(_frames, "_INSTALLED", (*_frames._INSTALLED, f"{tmp_path}{os.sep}"))
    path = tmp_path / "tables.py"
    path.write_text(SERIES)
    space = {"__name__": "tables"}
    exec(compile(SERIES, path, "exec"), space)
    series = space["Series"](np.arange(3.0))
    columns = {"a": series}
    for function, text in (
        (lambda x: x * series, "`series` is an object of the class tables.Series, .* write `series.to_numpy"),
        (lambda x: series * x, "`series` is an object of the class tables.Series"),
        (lambda x: series.multiply(x), "`series` is an object of the class tables.Series"),
        (lambda x: columns["a"] * x, "an object of the class tables.Series, .* write `table.to_numpy"),
    ):
        with pytest.raises(bl.TracingError, match=text):
            bl.jit(function)(X)
    np.testing.assert_array_equal(bl.jit(lambda x: x * series.to_numpy())(X), X * np.arange(3.0))


def test_shapes_that_do_not_broadcast_are_drawn():
    def wrong(x, y):
        return np.exp(x) - y

    with pytest.raises(bl.ShapeError) as caught:
        bl.jit(wrong)(X, np.ones(4))
    figures = caught.value.figures
    assert len(figures) == 1 and "3 ≠ 4" in figures.svg() and "[:, None]" in figures._repr_svg_()
    again = pickle.loads(pickle.dumps(caught.value)).figures
    assert (len(again), again.svg()) == (1, figures.svg())
    with pytest.raises(bl.ShapeError) as caught:
        bl.jit(lambda x: x.reshape(5, 5))(X)
    assert caught.value.figures is None


def test_figures_of_broadcasting():
    figures = bl.broadcast_figures("a[:, None] + b", a="f64[4]", b=np.ones(3))
    assert repr(figures) == "<1 figure of broadcasting>"
    root = xml.etree.ElementTree.fromstring(figures.svg())
    assert root.tag.endswith("svg")
    lazy = bl.broadcast_figures("x - x.mean(axis=0)", x=bl.input("x", "f32[n, m]"))
    assert "f32[n, m]" in lazy.svg()
    assert "n = m?" in bl.broadcast_figures("x + y", x="f32[n]", y="f32[m]").svg()
    with pytest.raises(bl.ArgumentError, match="no operation"):
        bl.broadcast_figures("exp(x)", x=[1.0, 2.0])
    with pytest.raises(bl.ProgramError, match="unknown name"):
        bl.broadcast_figures("x + z", x=X)
    with pytest.raises(bl.ProgramError, match="one input and nothing else"):
        bl.broadcast_figures("x + x", x="f32[3]; output y = x")
