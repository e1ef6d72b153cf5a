"""Expressions as functions of DuckDB."""

import numpy as np
import pytest

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: broadloom.duckdb is not tested")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: broadloom.duckdb is not tested")

import broadloom as bl  # noqa: E402
import broadloom.duckdb as bld  # noqa: E402

RNG = np.random.default_rng(6)


@pytest.fixture
def con():
    return duckdb.connect()


@pytest.mark.parametrize(
    "kind", ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"]
)
def test_numbers_of_each_type(con, kind):
    bld.register(con, "twice_" + kind, "x + x", [kind])
    rows = con.sql(f"SELECT x, twice_{kind}(x::{kind}) AS y FROM (SELECT i % 50 AS x FROM range(10000) t(i))").fetchnumpy()
    np.testing.assert_array_equal(rows["y"], rows["x"] * 2)
    assert con.sql(f"SELECT twice_{kind}(1::{kind})").types == [kind]


def test_nulls_truth_values_and_no_rows(con):
    bld.register(con, "above", "(x > limit) & flag", {"x": "DOUBLE", "flag": "BOOLEAN"}, limit=2)
    rows = con.sql("SELECT above(x, f) FROM (VALUES (1.0, true), (3.0, true), (NULL, true), (3.0, NULL), (3.0, false)) t(x, f)")
    assert rows.fetchall() == [(False,), (True,), (None,), (None,), (False,)]
    assert con.sql("SELECT above(x, f) FROM (VALUES (1.0, true)) t(x, f) WHERE x > 9").fetchall() == []
    assert con.sql("SELECT above(3, true)").fetchall() == [(True,)]


def test_rows_of_arrays(con):
    v = RNG.normal(size=(5000, 3)).astype(np.float32)
    codes = RNG.normal(size=(9, 3)).astype(np.float32)
    bld.register(con, "nearest", "argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)", ["FLOAT[3]"], codes=codes)
    bld.register(con, "unit", "v / norm(v, axis=-1, keepdims=True)", ["FLOAT[3]"])
    bld.register(con, "outer_product", "a[:, :, None] * b[:, None]", ["FLOAT[3]", "FLOAT[2]"])
    table = pa.table({"i": np.arange(5000), "v": pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), 3)})
    con.register("points", table)
    rows = con.sql("SELECT nearest(v), unit(v) FROM (SELECT i, v::FLOAT[3] AS v FROM points) ORDER BY i").fetchall()
    want = ((v[:, None].astype(np.float64) - codes) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal([row[0] for row in rows], want)
    np.testing.assert_allclose([row[1] for row in rows], v / np.linalg.norm(v, axis=1, keepdims=True), rtol=1e-5)
    made = con.sql("SELECT outer_product([1, 2, 3]::FLOAT[3], [10, 20]::FLOAT[2])")
    np.testing.assert_array_equal(made.fetchall()[0][0], [[10, 20], [20, 40], [30, 60]])


def test_several_threads(con):
    con.sql("SET threads = 4")
    bld.register(con, "wave", "sin(x) * exp(-x * x / 2)", ["DOUBLE"])
    have = con.sql("SELECT wave(i / 100000.0) AS y FROM range(1000000) t(i)").fetchnumpy()["y"]
    x = np.arange(1_000_000) / 100000.0
    np.testing.assert_allclose(have, np.sin(x) * np.exp(-x * x / 2), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("x + y", ["DOUBLE"]), ["reads `x` and `y`", "1 types are given"]),
        (("x + y", {"x": "DOUBLE"}), ["reads `y`, which is not given"]),
        (("x + 1", "DOUBLE"), ['write ["DOUBLE"]']),
        (("mean(x)", ["DOUBLE"]), ["makes one value of all rows"]),
        (("x - mean(x)", ["DOUBLE"]), ["`mean` combines rows", "subquery"]),
        (("x + 1", ["VARCHAR"]), ["`x`", "not a tensor of numbers", "CAST"]),
        (("x.astype(f16)", ["DOUBLE"]), ["no type for results"]),
    ],
)
def test_mistakes(con, arguments, fragments):
    with pytest.raises(bl.Error) as error:
        bld.register(con, "wrong", *arguments)
    for fragment in fragments:
        assert fragment in str(error.value), str(error.value)


def test_lines_are_those_of_the_text(con):
    with pytest.raises(bl.Error) as error:
        bld.register(con, "wrong", "low + x\n+ table[x, high]", ["BIGINT"], low=2, high=5.5, table=np.zeros((2, 2)))
    assert "expression:2:" in str(error.value) and " 2 | + table[x, high]" in str(error.value), str(error.value)


def test_an_error_of_the_data_names_the_expression(con):
    bld.register(con, "looked_up", "table[i]", ["BIGINT"], table=np.zeros(2))
    with pytest.raises(duckdb.Error, match=r"the index at \[2\] is 2, but the axis has 2 elements"):
        con.sql("SELECT looked_up(i) FROM range(5) t(i)").fetchall()
