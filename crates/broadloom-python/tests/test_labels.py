"""Series and DataFrames of pandas in `bl.eval`: what has the rows of the arguments has their index, against pandas itself."""

import sys
import warnings

import numpy as np
import pytest

import broadloom as bl

pandas = pytest.importorskip("pandas")
FRAME = pandas.DataFrame({"x": [1.0, 4.0, 9.0], "y": [2, 3, 5], "city": ["Oslo", "Lima", "Oslo"]}, index=["a", "b", "a"])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sqrt(x) + y", np.sqrt(FRAME.x) + FRAME.y),
        ("x - mean(x)", FRAME.x - FRAME.x.mean()),
        ("cumsum(y)", FRAME.y.cumsum()),
        ("city == 'Oslo'", FRAME.city == "Oslo"),
        ("where(y > 2, city, city)", FRAME.city),
        ("stack([x, y], axis=1)", pandas.DataFrame({0: FRAME.x, 1: FRAME.y.astype(float)})),
    ],
)
def test_rows_have_the_index(text, expected):
    got = bl.eval(text, FRAME)
    compare = pandas.testing.assert_frame_equal if got.ndim == 2 else pandas.testing.assert_series_equal
    compare(got, expected, check_names=False, check_dtype=False)
    assert got.index is FRAME.index


@pytest.mark.parametrize(
    "text", ["sum(x)", "sort(x)", "x[::-1]", "x[x > 2]", "unique(y)", "segment_sum(x, city)", "x[:, None] * stack([x, y])[:, None]"]
)
def test_others_are_arrays(text):
    assert not isinstance(bl.eval(text, FRAME), (pandas.Series, pandas.DataFrame))


def test_sizes():
    """Short frames have kernels of their own."""
    many = pandas.concat([FRAME] * 20)
    for rows in (0, 1, 2, 17, 60):
        frame = many.iloc[:rows]
        pandas.testing.assert_series_equal(bl.eval("x * 2", frame), frame.x * 2, check_names=False)
        assert isinstance(bl.eval("sort(x)", frame), np.ndarray)


def test_series_by_name():
    x, y = FRAME.x, FRAME.y.copy()
    pandas.testing.assert_series_equal(bl.eval("x * y + z", x=x, y=y, z=0.5), x * y + 0.5, check_names=False)
    pandas.testing.assert_series_equal(bl.eval("x * y", {"x": x, "y": y, "z": 3}), x * y, check_names=False)
    pandas.testing.assert_series_equal(bl.eval("x * y", FRAME, y=np.ones(3)), x * 1.0, check_names=False)
    pandas.testing.assert_series_equal(bl.eval("input x: f64[n]; x + 1", x=x), x + 1, check_names=False)
    pandas.testing.assert_frame_equal(bl.eval("x * 2", x=FRAME[["x", "y"]]).set_axis(["x", "y"], axis=1), FRAME[["x", "y"]] * 2.0)


def test_several_results():
    got = bl.eval("output a = x * 2; output total = sum(x); output b = y > 2", FRAME)
    assert list(got) == ["a", "total", "b"] and got["total"] == 14.0
    expected = pandas.DataFrame({"a": FRAME.x * 2, "b": FRAME.y > 2})
    pandas.testing.assert_frame_equal(pandas.DataFrame({"a": got["a"], "b": got["b"]}), expected)


def test_what_stays_numpys():
    out = np.zeros(3)
    assert bl.eval("x * 2", FRAME, out=out) is out
    np.testing.assert_array_equal(out, [2.0, 8.0, 18.0])
    # Labels that differ do not align: the warning says so, and the result has none.
    other = pandas.Series([1.0, 2.0, 3.0], index=[7, 8, 9])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = bl.eval("x + y", x=FRAME.x, y=other)
    assert type(got) is np.ndarray
    np.testing.assert_array_equal(got, [2.0, 6.0, 12.0])
    assert type(bl.eval("x + y", {"x": np.ones(2), "y": np.ones(2)})) is np.ndarray


def test_a_program_that_is_kept():
    program = bl.Program("x * factor")
    for rows in (3, 2, 3):
        frame = FRAME.iloc[:rows]
        pandas.testing.assert_series_equal(program(frame, factor=2.5), frame.x * 2.5, check_names=False)


def test_columns_that_are_not_supported_are_named():
    table = FRAME.assign(t=pandas.to_datetime(["2020-01-01"] * 3))[["x", "t"]]
    warnings.simplefilter("ignore")
    with pytest.raises(bl.DTypeError, match=r"`table\['t'\]`: arrays of dtype datetime64"):
        bl.eval("table[:, 0] * 2", table=table)


def test_without_pandas(monkeypatch):
    for blocked in (None, type("Begun", (), {})()):
        monkeypatch.setitem(sys.modules, "pandas", blocked)
        np.testing.assert_array_equal(bl.eval("x * 2", x=np.arange(3.0)), [0, 2, 4])
