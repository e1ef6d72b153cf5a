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


def test_lists_of_one_length_are_tensors():
    items = [[1.5, 2.0, -4.0], None, [0.5, 8.0, 16.0], [1.0, None, 2.0], [32.0, 64.0, 0.25]]
    ragged = [[1.0, 2.0], [3.0, 4.0], None, [5.0], [6.0, 7.0]]
    columns = {
        "id": pa.array(range(5)),
        "items": pa.array(items),
        "large": pa.array(items, pa.large_list(pa.float32())),
        "ragged": pa.array(ragged),
    }
    # A row with a null element is a null row.
    valid = [item if item and None not in item else None for item in items]
    for number, (file, compression) in enumerate(FORMATS):
        write(pa.table(columns), program.directory / file, compression)
        result = selected(
            file,
            RESULTS[number % 2],
            "broadloom('sum(v, axis=1)', items) AS total",
            "broadloom('2 * v', large) AS twice",
            "broadloom('sum(v * w, axis=1)', items, [1.0, 2.0, 4.0]) AS weighted",
        )
        total = [sum(item) if item else None for item in valid]
        compare(f"totals of lists of {file}", result["total"], pa.float64(), total)
        twice = [[2 * element for element in item] if item else None for item in valid]
        assert result["twice"].to_pylist() == twice, file
        assert pa.types.is_list(result["twice"].type), file
        weighted = [item[0] + 2 * item[1] + 4 * item[2] if item else None for item in valid]
        compare(f"weighted lists of {file}", result["weighted"], pa.float64(), weighted)
        sql = "SELECT broadloom('sum(v, axis=1)', ragged) FROM t"
        message = ["error[Q002]", "row 0 of the batch has 2 elements, row 3 has 1", "array_length(..) = 2"]
        program.refused(1, message, sql, f"t={file}")
        program.done(f"{sql} WHERE array_length(ragged) = 2 ORDER BY id", f"t={file}", "-o", "r.arrow")
        result = read(program.directory / "r.arrow")
        compare(f"lists of two of {file}", result.column(0), pa.float64(), [3.0, 7.0, 13.0])


call_tests(globals())
