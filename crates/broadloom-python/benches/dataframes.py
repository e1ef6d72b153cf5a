"""Times expressions over columns of polars and DuckDB beside the engines' own and beside numba: `python benches/dataframes.py`.

Each way runs in turn in one process, with the threads that it chooses; the median of all turns counts.
"""

import statistics
import time

import broadloom.duckdb
import broadloom.polars
import duckdb
import numba
import numpy as np
import polars as pl
import pyarrow as pa

ROWS, GROUPS, CODES, TURNS = 4_000_000, 1_000, 16, 9


@numba.vectorize(["float64(float64, float64, float64, float64)"], target="parallel")
def haversine_in_numba(a, b, c, d):
    s, t = np.sin((c - a) / 2), np.sin((d - b) / 2)
    return 12742 * np.arcsin(np.sqrt(s * s + np.cos(a) * np.cos(c) * t * t))


@numba.njit(parallel=True, fastmath=True)
def cosine_in_numba(v, q):
    result = np.empty(len(v), v.dtype)
    for row in numba.prange(len(v)):
        product = square = np.float32(0)
        for axis in range(len(q)):
            product += v[row, axis] * q[axis]
            square += v[row, axis] * v[row, axis]
        result[row] = product / np.sqrt(square)
    return result


@numba.njit(parallel=True, fastmath=True)
def nearest_in_numba(v, codes):
    result = np.empty(len(v), np.int64)
    for row in numba.prange(len(v)):
        least, at = np.float32(np.inf), 0
        for code in range(len(codes)):
            distance = np.float32(0)
            for axis in range(codes.shape[1]):
                difference = v[row, axis] - codes[code, axis]
                distance += difference * difference
            if distance < least:
                least, at = distance, code
        result[row] = at
    return result


def haversine():
    frame = pl.DataFrame({name: rng.uniform(-1.5, 1.5, ROWS) for name in "abcd"})
    text = "12742 * arcsin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))"
    ours = broadloom.polars.expr(text, **{name: name for name in "abcd"})
    a, b, c, d = (pl.col(name) for name in "abcd")
    own = 12742 * (((c - a) / 2).sin() ** 2 + a.cos() * c.cos() * ((d - b) / 2).sin() ** 2).sqrt().arcsin()
    arrays = [frame[name].to_numpy() for name in "abcd"]
    con = duckdb.connect()
    con.register("t", frame.to_arrow())
    broadloom.duckdb.register(con, "ours", text, dict.fromkeys("abcd", "DOUBLE"))
    formula = "12742 * asin(sqrt(sin((c - a) / 2) ** 2 + cos(a) * cos(c) * sin((d - b) / 2) ** 2))"
    return {
        "Broadloom in polars": lambda: frame.select(ours).to_series().sum(),
        "polars": lambda: frame.select(own).to_series().sum(),
        "numba on the arrays": lambda: haversine_in_numba(*arrays).sum(),
        "Broadloom in DuckDB": lambda: con.sql("SELECT sum(ours(a, b, c, d)) FROM t").fetchall()[0][0],
        "DuckDB": lambda: con.sql(f"SELECT sum({formula}) FROM t").fetchall()[0][0],
    }


def cosine():
    size, query = 8, rng.normal(size=8).astype(np.float32)
    v = rng.normal(size=(ROWS // 4, size)).astype(np.float32)
    frame = pl.DataFrame({"v": pl.Series(v, dtype=pl.Array(pl.Float32, size))})
    ours = pl.col("v").bl.eval("sum(v * q, axis=-1) / norm(v, axis=-1)", q=query)
    column, row = pl.col("v"), pl.lit(pl.Series([query], dtype=pl.Array(pl.Float32, size)))
    own = (column * row).arr.sum() / (column * column).arr.sum().sqrt()
    con = duckdb.connect()
    con.register("t", pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), size)}))
    broadloom.duckdb.register(con, "ours", "sum(v * q, axis=-1) / norm(v, axis=-1)", ["FLOAT[8]"], q=query)
    there = f"array_inner_product(v, {query.tolist()}::FLOAT[8]) / sqrt(array_inner_product(v, v))"
    return {
        "Broadloom in polars": lambda: frame.select(ours).to_series().sum(),
        "polars": lambda: frame.select(own).to_series().sum(),
        "numba on the arrays": lambda: cosine_in_numba(v, query).sum(),
        "Broadloom in DuckDB": lambda: con.sql("SELECT sum(ours(v)) FROM t").fetchall()[0][0],
        "DuckDB": lambda: con.sql(f"SELECT sum({there}) FROM t").fetchall()[0][0],
    }


def nearest():
    v, codes = (rng.normal(size=(rows, 3)).astype(np.float32) for rows in (ROWS // 4, CODES))
    frame = pl.DataFrame({"v": pl.Series(v, dtype=pl.Array(pl.Float32, 3))})
    text = "argmin(sum((v[:, None] - codes) ** 2, axis=-1), axis=1)"
    ours = pl.col("v").bl.eval(text, codes=codes)
    axes = [pl.col("v").arr.get(axis) for axis in range(3)]
    distances = [sum((of - float(at)) ** 2 for of, at in zip(axes, code, strict=True)) for code in codes]
    own = pl.concat_list(distances).list.arg_min()
    return {
        "Broadloom in polars": lambda: frame.select(ours).to_series().sum(),
        "polars": lambda: frame.select(own).to_series().sum(),
        "numba on the arrays": lambda: nearest_in_numba(v, codes).sum(),
    }


def scores():
    frame = pl.DataFrame({"g": rng.integers(0, GROUPS, ROWS // 4), "x": rng.normal(size=ROWS // 4)})
    ours = pl.col("x").bl.eval("(x - mean(x)) / std(x)", mixes_rows=True).over("g")
    x = pl.col("x")
    own = ((x - x.mean()) / x.std(ddof=0)).over("g")
    return {
        "Broadloom in polars": lambda: frame.select(ours).to_series().abs().sum(),
        "polars": lambda: frame.select(own).to_series().abs().sum(),
    }


JOBS = {
    f"haversine of {ROWS // 10**6} M rows, f64": haversine,
    f"cosine of {ROWS // 4 // 10**6} M rows of 8 f32": cosine,
    f"nearest of {CODES} codes, {ROWS // 4 // 10**6} M rows of 3 f32": nearest,
    f"z-score in {GROUPS} groups, {ROWS // 4 // 10**6} M rows, f64": scores,
}

if __name__ == "__main__":
    rng = np.random.default_rng(1)
    for name, make in JOBS.items():
        ways = make()
        values = {way: run() for way, run in ways.items()}
        first = next(iter(values.values()))
        for way, value in values.items():
            assert np.isclose(value, first, rtol=1e-3), (name, way, value, first)
        times = {way: [] for way in ways}
        for _ in range(TURNS):
            for way, run in ways.items():
                start = time.perf_counter()
                run()
                times[way].append(time.perf_counter() - start)
        print(f"| {name} | " + " | ".join(f"{way} {statistics.median(of) * 1e3:.1f} ms" for way, of in times.items()) + " |")
