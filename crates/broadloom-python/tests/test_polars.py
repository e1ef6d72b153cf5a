"""Expressions over columns of polars."""

import enum
import pickle
import threading

import numpy as np
import pytest

pl = pytest.importorskip("polars", reason="polars is not installed: broadloom.polars is not tested")

import broadloom as bl  # noqa: E402
import broadloom.polars as blp  # noqa: E402

RNG = np.random.default_rng(5)
LENGTHS = [0, 1, 2, 17, 1000, 100_003]

DTYPES = [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64, pl.Float32, pl.Float64]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", LENGTHS)
def test_numbers_of_each_dtype(dtype, length):
    x = pl.Series("x", RNG.integers(0, 100, length)).cast(dtype)
    frame = pl.DataFrame({"x": x, "y": x.reverse()})
    have = frame.select(pl.col("x").bl.eval("maximum(x, y) + x", y=pl.col("y")))["x"]
    a = x.to_numpy()
    np.testing.assert_array_equal(have.to_numpy(), np.maximum(a, a[::-1]) + a)
    assert have.dtype == dtype


@pytest.mark.parametrize("length", LENGTHS)
def test_truth_values_and_numbers_that_are_written(length):
    x = RNG.normal(size=length).astype(np.float32)
    frame = pl.DataFrame({"x": x})
    above = frame.select(above=pl.col("x").bl.eval("x > limit", limit=0.25))["above"]
    assert above.dtype == pl.Boolean
    np.testing.assert_array_equal(above.to_numpy(), x > np.float32(0.25))
    # A number takes the dtype of the column; an array has its own.
    scaled = frame.select(a=pl.col("x").bl.eval("x * k", k=0.1), b=pl.col("x").bl.eval("x * k", k=np.float64(0.1)))
    assert scaled.schema == {"a": pl.Float32, "b": pl.Float64}
    np.testing.assert_array_equal(scaled["a"].to_numpy(), x * np.float32(0.1))
    flags = frame.select(flag=pl.col("x") > 0).select(pl.col("flag").bl.eval("where(flag, 1, -1)"))["flag"]
    np.testing.assert_array_equal(flags.to_numpy(), np.where(x > 0, 1, -1))


@pytest.mark.parametrize("length", LENGTHS)
def test_rows_of_arrays(length):
    v = RNG.normal(size=(length, 3)).astype(np.float32)
    query = RNG.normal(size=3).astype(np.float32)
    codes = RNG.normal(size=(7, 3)).astype(np.float32)
    frame = pl.DataFrame({"v": pl.Series(v, dtype=pl.Array(pl.Float32, 3))})
    result = frame.select(
        cosine=pl.col("v").bl.eval("sum(x * q, axis=-1) / norm(x, axis=-1)", q=query),
        nearest=pl.col("v").bl.eval("argmin(sum((x[:, None] - codes) ** 2, axis=-1), axis=1)", codes=codes),
        unit=pl.col("v").bl.eval("x / norm(x, axis=-1, keepdims=True)"),
        outer=pl.col("v").bl.eval("x[:, :, None] * q", q=query),
    )
    assert result.schema == {
        "cosine": pl.Float32,
        "nearest": pl.Int64,
        "unit": pl.Array(pl.Float32, 3),
        "outer": pl.Array(pl.Array(pl.Float32, 3), 3),
    }
    norm = np.sqrt((v.astype(np.float64) ** 2).sum(axis=1))
    np.testing.assert_allclose(result["cosine"].to_numpy(), v @ query / norm, rtol=2e-5, atol=2e-5)
    squares = ((v[:, None].astype(np.float64) - codes) ** 2).sum(axis=2)
    np.testing.assert_array_equal(result["nearest"].to_numpy(), squares.argmin(axis=1) if length else np.zeros(0))
    np.testing.assert_allclose(result["unit"].to_numpy().reshape(length, 3), v / norm[:, None], rtol=1e-5)
    outer = result["outer"].explode().explode().to_numpy() if length else np.zeros(0)
    np.testing.assert_array_equal(outer.reshape(length, 3, 3), v[:, :, None] * query)


def test_rows_of_rows():
    v = RNG.normal(size=(5, 2, 3))
    frame = pl.DataFrame({"v": pl.Series(v, dtype=pl.Array(pl.Array(pl.Float64, 3), 2))})
    result = frame.select(pl.col("v").bl.eval("swapaxes(x, 1, 2) + 1"))["v"]
    assert result.dtype == pl.Array(pl.Array(pl.Float64, 2), 3)
    np.testing.assert_array_equal(np.array(result.to_list()), v.swapaxes(1, 2) + 1)


def test_nulls_are_those_of_the_columns():
    frame = pl.DataFrame({"x": [4.0, None, 9.0, None], "y": [1.0, 2.0, None, None], "i": [0, 7, 1, 0]})
    result = frame.select(
        root=blp.expr("sqrt(x)", x="x"),
        total=blp.expr("x + y", x="x", y="y"),
        # An index out of range in a row that is null is no error.
        taken=blp.expr("table[i] + 0 * x", i="i", x="x", table=np.array([10.0, 20.0])),
        mean=blp.agg("mean(x)", x="x"),
    )
    assert result["root"].to_list() == [2.0, None, 3.0, None]
    assert result["total"].to_list() == [5.0, None, None, None]
    assert result["taken"].to_list() == [10.0, None, 20.0, None]
    assert result["mean"].to_list() == [6.5] * 4
    rows = pl.DataFrame({"v": pl.Series([[1.0, 2.0], None, [3.0, None]], dtype=pl.Array(pl.Float64, 2))})
    assert rows.select(pl.col("v").bl.eval("sum(v, axis=1)"))["v"].to_list() == [3.0, None, None]


def test_chunks_slices_and_literals():
    x = RNG.normal(size=1000)
    parts = pl.concat([pl.DataFrame({"x": part}) for part in np.array_split(x, 7)], rechunk=False)
    frame = parts.slice(13, 900)
    assert frame["x"].n_chunks() > 1
    have = frame.select(blp.expr("x * y", x="x", y=pl.lit(2.0)))["x"].to_numpy()
    np.testing.assert_array_equal(have, x[13:913] * 2)
    flags = parts.select(flag=pl.col("x") > 0).slice(3, 77).select(pl.col("flag").bl.eval("~flag"))["flag"]
    np.testing.assert_array_equal(flags.to_numpy(), x[3:80] <= 0)
    assert pl.select(blp.expr("x + 1", x=pl.lit(2))).item() == 3
    assert frame.select(blp.expr("x + y", x="x", y=pl.lit(None, dtype=pl.Float64)))["x"].null_count() == 900


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_groups_and_windows(engine):
    count = 20_000
    frame = pl.DataFrame({"g": RNG.integers(0, 50, count), "x": RNG.normal(size=count), "w": RNG.uniform(1, 2, size=count)})
    lazy = frame.lazy()
    means = lazy.group_by("g").agg(blp.agg("sum(w * x) / sum(w)", w="w", x="x").alias("m")).sort("g").collect(engine=engine)
    scores = lazy.with_columns(
        z=pl.col("x").bl.eval("(x - mean(x)) / std(x)", mixes_rows=True).over("g"),
        twice=pl.col("x").bl.eval("x + x").over("g"),
    ).collect(engine=engine)
    groups, x, w = (frame[name].to_numpy() for name in "gxw")
    for group in range(50):
        of = groups == group
        want = (w[of] * x[of]).sum() / w[of].sum()
        assert means.filter(pl.col("g") == group)["m"].item() == pytest.approx(want, rel=1e-12)
        have = scores.filter(pl.col("g") == group)["z"].to_numpy()
        np.testing.assert_allclose(have, (x[of] - x[of].mean()) / x[of].std(), rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(scores.sort("x")["twice"].to_numpy(), np.sort(x) * 2)
    assert frame.group_by("g").agg(pl.col("x").bl.eval("x * 2"))["x"].dtype == pl.List(pl.Float64)


def test_without_rows():
    empty = pl.DataFrame({"x": pl.Series([], dtype=pl.Float64)})
    assert empty.select(blp.agg("max(x)", x="x"))["x"].to_list() == [None]
    assert empty.select(blp.agg("sum(x)", x="x"))["x"].to_list() == [None]
    assert empty.select(blp.expr("x + 1", x="x")).height == 0
    nulls = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Float64)})
    assert nulls.select(blp.agg("max(x)", x="x"))["x"].to_list() == [None]


def test_streams_and_schemas_without_running(tmp_path):
    count = 300_000
    x = RNG.normal(size=count)
    pl.DataFrame({"x": x}).write_parquet(tmp_path / "x.parquet", row_group_size=10_000)
    lazy = pl.scan_parquet(tmp_path / "x.parquet").select(pl.col("x").bl.eval("exp(-x * x)").alias("y"))
    assert lazy.collect_schema() == {"y": pl.Float64}
    lazy.sink_parquet(tmp_path / "y.parquet")
    have = pl.read_parquet(tmp_path / "y.parquet")["y"].to_numpy()
    np.testing.assert_allclose(have, np.exp(-x * x), rtol=1e-14)
    # An expression can be sent to another process.
    again = pl.Expr.deserialize(pickle.loads(pickle.dumps(pl.col("x").bl.eval("x * c", c=np.arange(3.0)[1:2]).meta.serialize())))
    np.testing.assert_array_equal(pl.DataFrame({"x": x}).select(again)["x"].to_numpy(), x)


def test_several_results_are_a_struct():
    frame = pl.DataFrame({"x": [3.0, 5.0]})
    result = frame.select(blp.expr("let y = x * 1; low = y - 1; high = y + 1", x="x").alias("range"))
    assert result["range"].struct.fields == ["low", "high"]
    assert result.unnest("range")["high"].to_list() == [4.0, 6.0]


def test_definitions_with_large_constants_are_told_apart():
    table = np.zeros(300_000)
    frame = pl.DataFrame({"g": np.arange(300) % 100, "i": np.zeros(300, dtype=np.int64)})
    for value in (1.0, 2.0):
        # The last element alone differs.
        table[-1] = value
        taken = frame.select(blp.expr("table[i - 1]", i="i", table=table))["i"]
        assert taken.to_list() == [value] * 300
    grouped = frame.group_by("g").agg(blp.agg("sum(table[i - 1])", i="i", table=table).alias("s"))
    assert grouped["s"].to_list() == [6.0] * 100


def test_numbers_of_classes_that_print_otherwise():
    class Named(enum.IntEnum):
        THREE = 3

    class Loud(float):
        def __repr__(self):
            return "loud"

    frame = pl.DataFrame({"x": [1, 2]})
    assert frame.select(blp.expr("x * k", x="x", k=Named.THREE))["x"].to_list() == [3, 6]
    assert frame.select(blp.expr("x * k", x="x", k=Loud(0.5)))["x"].to_list() == [0.5, 1.0]
    with pytest.raises(bl.Error, match="float128|longdouble"):
        blp.expr("x * k", x="x", k=np.longdouble(2))


def test_threads_at_once():
    frame = pl.DataFrame({"x": RNG.normal(size=50_000)})
    want = frame["x"].to_numpy() * 3 + 1
    wrong = []

    def work():
        for _ in range(20):
            have = frame.select(pl.col("x").bl.eval("x * 3 + 1"))["x"].to_numpy()
            if not np.array_equal(have, want):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


@pytest.mark.parametrize(
    ("make", "fragments"),
    [
        (lambda: pl.col("x").bl.eval("x + y"), ["leaves `x` and `y`", "one name is the column"]),
        (lambda: pl.col("x").bl.eval("1 + 2"), ["leaves no name for the column"]),
        (lambda: blp.expr("x + y", x="x"), ["reads `y`, which is not given", "write `y=..`"]),
        (lambda: blp.expr("x + 1", x="x", z=3), ["does not read `z`", "it reads `x`"]),
        (lambda: blp.expr("x + 1", x=3.0), ["no column", 'write `x=pl.col("name")`']),
        (lambda: blp.expr("x + c", x="x", c=np.array(["a"])), ["`c`", "pass a number, an array of numbers, or a column"]),
        (lambda: pl.col("x").bl.eval("sqrt(x"), ["sqrt(x"]),
    ],
)
def test_mistakes_while_writing(make, fragments):
    with pytest.raises(bl.Error) as error:
        make()
    for fragment in fragments:
        assert fragment in str(error.value), str(error.value)


@pytest.mark.parametrize(
    ("expression", "fragments"),
    [
        (lambda: pl.col("x").bl.eval("mean(x)"), ["makes one value of all rows", ".bl.agg(..)"]),
        (lambda: pl.col("x").bl.agg("x + 1"), ["makes a value for each row", ".bl.eval(..)"]),
        (lambda: pl.col("x").bl.eval("x - mean(x)"), ["`mean` combines rows", "mixes_rows=True"]),
        (lambda: pl.col("v").bl.eval("v + w", w=np.zeros(2)), ["3", "2", "v + w"]),
        # Lines are those of the text, whatever numbers it gets.
        (lambda: pl.col("v").bl.eval("k * v + w", k=2, w=np.zeros(2)), ["expression:1:1\n", "1 | k * v + w"]),
        (lambda: pl.col("x").bl.eval("x - k * mean(x)", k=2), ["`mean` combines rows, and `x - k * mean(x)` gets them"]),
        (lambda: pl.col("t").bl.eval("t + 1"), ["column `t`", "not a tensor of numbers", ".cast(pl.Float64)"]),
        (lambda: pl.col("l").bl.eval("l + 1"), ["column `l`", ".list.to_array(3)"]),
        (lambda: pl.col("d").bl.eval("d + 1"), ["column `d`", ".to_physical()"]),
        (lambda: pl.col("i").bl.eval("table[i]", table=np.zeros(2)), ["5", "table[i]"]),
        (lambda: pl.col("x").bl.agg("max(x[0:0])"), ["`max` is not defined for zero elements"]),
        (lambda: pl.col("x").bl.eval("x[:, None] * q", q=np.ones(0)), ["rows without elements", "f64[n, 0]"]),
    ],
)
def test_mistakes_in_columns(expression, fragments):
    frame = pl.DataFrame(
        {
            "x": [1.0, 2.0],
            "t": ["a", "b"],
            "l": [[1.0], [2.0, 3.0]],
            "i": [0, 5],
            "v": pl.Series([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=pl.Array(pl.Float64, 3)),
            "d": pl.Series(["2024-05-31", "2024-06-01"]).str.to_date(),
        }
    )
    with pytest.raises(pl.exceptions.ComputeError) as error:
        frame.select(expression())
    for fragment in fragments:
        assert fragment in str(error.value), str(error.value)
