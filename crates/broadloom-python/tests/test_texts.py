"""Columns of text in `bl.eval`: those of NumPy, pandas and Arrow, against the same expression in NumPy."""

import broadloom as bl
import numpy as np
import pytest

CITIES = ["Oslo", "Lima", "Oslo", "Åre", "", "Lima"]
X = np.arange(6.0)


def columns():
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    yield np.array(CITIES)
    yield np.array(CITIES, object)
    yield np.array(CITIES, np.dtypes.StringDType())
    yield np.char.encode(np.array(CITIES), "utf-8")
    yield pandas.Series(CITIES)
    yield pandas.Series(CITIES, dtype="string")
    yield pandas.Series(CITIES, dtype="category")
    yield arrow.array(CITIES)
    yield arrow.array(CITIES).cast(arrow.large_string())
    yield arrow.array(CITIES).dictionary_encode()
    yield arrow.chunked_array([CITIES[:2], CITIES[2:]])


def test_comparisons():
    cities = np.array(CITIES)
    for city in columns():
        for text, wanted in [
            ("city == 'Oslo'", cities == "Oslo"), ("'Åre' != city", cities != "Åre"), ("(city == '').sum()", 1),
            ("sum(where(city == 'Lima', x, 0))", X[cities == "Lima"].sum()),
            ("segment_sum(x, city)", [4.0, 6.0, 2.0, 3.0]), ("city.astype(i64)", [2, 1, 2, 3, 0, 1]),
        ]:  # fmt: skip
            arrays = {"city": city, "x": X} if "x" in text else {"city": city}
            np.testing.assert_array_equal(bl.eval(text, arrays), wanted)


def test_frames():
    frame = pytest.importorskip("pandas").DataFrame({"city": CITIES, "x": X})
    assert bl.eval("mean(x, where=city == 'Oslo')", frame) == 1.0
    assert bl.eval("mean(x, where=city == 'Lima')", frame[frame.x > 1]) == 5.0
    table = pytest.importorskip("pyarrow").table({"city": CITIES, "x": X})
    assert bl.eval("sum(x, where=city == 'Oslo')", city=table["city"], x=table["x"].to_numpy()) == 2.0


def test_columns_that_meet():
    a, b = np.array(CITIES), np.array(["Oslo", "Rome", "Lima", "Åre", "Bonn", "Lima"])
    np.testing.assert_array_equal(bl.eval("a == b", a=a, b=b), a == b)
    got = bl.eval("output same = a == b; output rome = b == 'Rome'; output n = segment_count(x)", a=a, b=b, x=a)
    np.testing.assert_array_equal(got["rome"], b == "Rome")
    np.testing.assert_array_equal(got["n"], [1, 2, 2, 1])


def test_results_that_are_text():
    a, b = np.array(CITIES), np.array(["Oslo", "Rome", "Lima", "Åre", "Bonn", "Lima"])
    np.testing.assert_array_equal(bl.eval("where(x > 2, a, b)", a=a, b=b, x=X), np.where(X > 2, a, b))
    got = bl.eval("output sorted = sort(a); output twice = x * 2; output last = b[-2:]", a=a, b=b, x=X)
    np.testing.assert_array_equal(got["sorted"], np.sort(a))
    np.testing.assert_array_equal(got["last"], b[-2:])
    np.testing.assert_array_equal(got["twice"], X * 2)
    with pytest.raises(bl.Error, match="leave out `out=`"):
        bl.eval("sort(a)", a=a, out=np.empty(6, np.int64))


def test_rows_and_other_texts_of_one_program():
    program = bl.Program("city == 'Oslo'")
    for cities in (CITIES, CITIES[:3], ["Oslo"], ["Bonn", "Oslo"], CITIES):
        np.testing.assert_array_equal(program(city=np.array(cities)), np.array(cities) == "Oslo")


def test_what_is_refused():
    city = np.array(CITIES)
    for text, error, message in [
        ("city == 'Osla'", bl.Error, "did you mean 'Oslo'"), ("city + 1", bl.Error, "a column of text"),
        ("city == 'Rome'", bl.Error, "the column contains"), ("exp(city)", bl.Error, "a column of text"),
    ]:  # fmt: skip
        with pytest.raises(error, match=message):
            bl.eval(text, city=city)
    with pytest.raises(bl.DTypeError, match=r"such as None: replace them first, `city\.fillna\(''\)`"):
        bl.eval("city == 'Oslo'", city=np.array(["Oslo", None], object))
    with pytest.raises(bl.DTypeError):
        bl.eval("city == 'Oslo'", city=np.array([{}, []], object))


def test_texts_in_either_kind_of_quotes():
    """A name in double quotes that is compared and not given is a text, as on the command line."""
    k = np.array(["a", "b", "a"])
    for program in ['k == "a"', "k == 'a'", 'equal(k, "a")', 'isin(k, ["a"])', '~isin(k, "b")', '"a" == k']:
        np.testing.assert_array_equal(bl.eval(program, k=k), k == "a", err_msg=program)
    # Where it is given, it is an input.
    given = bl.eval('k == "a"', k=k, a=np.array(["b", "b", "a"]))
    np.testing.assert_array_equal(given, [False, True, True])
    with pytest.raises(bl.ArgumentError, match="`my column`, which is not given"):
        bl.eval('"my column" * 2', k=k)
