"""Files between pyarrow and the program `broadloom-sql`:

python sql.py PROGRAM DIRECTORY [--cluster HOST:PORT]
"""

import pyarrow as pa
from tables import *

program = Program()
RESULTS = ["r.parquet", "r.arrow"]


def selected(table, result, *columns):
    (program.directory / result).unlink(missing_ok=True)
    program.done(f"SELECT {', '.join(columns)} FROM t ORDER BY id", f"t={table}", "-o", result)
    return read(program.directory / result)


def test_columns_keep_types_bits_and_nulls():
    for table in [without_nulls(), with_nulls()]:
        names = [name for name in table.column_names if name != "id"]
        for number, (file, compression) in enumerate(FILES):
            write(cut(table), program.directory / file, compression)
            columns = [f"broadloom('x', {name}) AS {name}" for name in names]
            result = selected(file, RESULTS[number % 2], *columns)
            assert result.column_names == names
            for name in names:
                expected = rows_of(table[name])
                if name == "pair":
                    # A row with a null element is a null row.
                    expected = [None if pair and None in pair else pair for pair in expected]
                compare(f"{name} of {file}", result[name], table[name].type, expected)


def test_nulls_in_rows_and_in_sums():
    table = with_nulls()
    for number, (file, compression) in enumerate(FORMATS):
        write(cut(table), program.directory / file, compression)
        result = selected(
            file,
            RESULTS[number % 2],
            "broadloom('x + y', of_float64, of_int32) AS added",
            "broadloom('~x', truth) AS denied",
            "broadloom('sum(t, axis=(1, 2))', tensor) AS total",
            "broadloom('sum(t, axis=(1, 2))', broadloom('t * 2', tensor)) AS twice",
        )
        rows = range(ROWS)
        added = [None if is_null(row) else 2.0 * (row % 100) for row in rows]
        compare(f"sums of {file}", result["added"], pa.float64(), added)
        denied = [None if is_null(row) else row % 3 != 0 for row in rows]
        compare(f"truth values of {file}", result["denied"], pa.bool_(), denied)
        total = [None if is_null(row) else 6.0 * row + 15 for row in rows]
        compare(f"totals of {file}", result["total"], pa.float64(), total)
        twice = [None if value is None else 2 * value for value in total]
        compare(f"twice the totals of {file}", result["twice"], pa.float64(), twice)
        program.done(
            "SELECT broadloom_agg('mean(x)', of_int8) AS mean, broadloom_agg('sum(v, axis=0)', pair) AS pair FROM t",
            f"t={file}",
            "-o",
            "total.arrow",
        )
        totals = read(program.directory / "total.arrow")
        valid = [row % 100 for row in rows if not is_null(row)]
        compare(f"mean of {file}", totals["mean"], pa.float64(), [sum(valid) / len(valid)])
        pairs = float(sum(row for row in rows if not is_null(row) and row % 11 != 5))
        compare(f"pair of {file}", totals["pair"], pa.list_(pa.float32(), 2), [[pairs, -pairs]])


def test_dictionaries_and_decimals_are_refused_with_a_cast_that_works():
    columns = {
        "id": pa.array(range(4)),
        "number": pa.array([1.5, 2.5, 1.5, 4.0]).dictionary_encode(),
        "price": pa.array([1, 2, 3, 4], pa.decimal128(10, 2)),
        "city": pa.array(["Oslo", "Lima", None, "Oslo"]),
        "items": pa.array([[1, 2], [3, 4], [5, 6], [7, 8]]),
    }
    for file, compression in FORMATS:
        write(pa.table(columns), program.directory / file, compression)
        for name, found, cast, expected in [
            ("number", "Dictionary(Int32, Float64)", "arrow_cast(number, 'Float64')", [2.5, 3.5, 2.5, 5.0]),
            ("price", "Decimal128(10, 2)", "CAST(price AS DOUBLE)", [2.0, 3.0, 4.0, 5.0]),
            ("city", "Utf8", "CAST(length(city) AS DOUBLE)", [5.0, 5.0, None, 5.0]),
        ]:
            sql = f"SELECT broadloom('x + 1', {name}) FROM t"
            program.refused(2, [f"column `{name}` has the type {found}", "cast it to"], sql, f"t={file}")
            result = selected(file, "r.arrow", f"broadloom('x + 1', {cast}) AS r")
            compare(f"{name} of {file}", result["r"], pa.float64(), expected)
        sql = "SELECT broadloom('sum(v, axis=1)', items) FROM t"
        program.refused(2, ["arrow_cast(.., 'FixedSizeList(3, Int64)')"], sql, f"t={file}")
        cast = "arrow_cast(items, 'FixedSizeList(2, Int64)')"
        result = selected(file, "r.arrow", f"broadloom('sum(v, axis=1)', {cast}) AS r")
        compare(f"lists of {file}", result["r"], pa.int64(), [3, 7, 11, 15])


call_tests(globals())
