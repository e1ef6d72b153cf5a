"""Files between pyarrow and the program `broadloom`: python cli.py PROGRAM DIRECTORY"""

import pyarrow as pa
from tables import *

program = Program()
RESULTS = ["r.parquet", "r.arrow"]


def evaluated(table, result, *expressions):
    (program.directory / result).unlink(missing_ok=True)
    program.done("eval", "; ".join(expressions), table, "-o", result)
    return read(program.directory / result)


def test_columns_without_nulls_keep_types_and_bits():
    table = without_nulls()
    names = [*COLUMNS, "truth", "pair", "flags", "tensor"]
    for number, (file, compression) in enumerate(FILES):
        write(cut(table), program.directory / file, compression)
        result = evaluated(file, RESULTS[number % 2], *(f"{name} = {name}" for name in names))
        assert result.column_names == names
        for name in names:
            compare(f"{name} of {file}", result[name], table[name].type, rows_of(table[name]))


def test_nulls_are_nan():
    table = with_nulls()
    for number, (file, compression) in enumerate(FILES):
        write(cut(table), program.directory / file, compression)
        names = [*COLUMNS, "truth"]
        result = evaluated(
            file,
            RESULTS[number % 2],
            *(f"{name} = {name} * 2" for name in names),
            "pair = pair",
            "total = sum(tensor, axis=(1, 2))",
        )
        for name in names:
            kind = table[name].type if pa.types.is_floating(table[name].type) else pa.float64()
            expected = [math.nan if value is None else 2.0 * value for value in rows_of(table[name])]
            if name == "of_float16":
                result = result.set_column(
                    result.column_names.index(name), name, result[name].cast(pa.float32())
                )
                kind = pa.float32()
            compare(f"{name} of {file}", result[name], kind, expected)
        nothing = [math.nan, math.nan]
        # A row with a null element is a null row.
        pairs = [nothing if pair is None or None in pair else pair for pair in rows_of(table["pair"])]
        compare(f"pair of {file}", result["pair"], pa.list_(pa.float32(), 2), pairs)
        totals = [math.nan if row is None else sum(row) for row in rows_of(table["tensor"])]
        compare(f"total of {file}", result["total"], pa.float64(), totals)


def test_text_dates_and_dictionaries():
    columns = {
        "city": pa.array(["Oslo", "Lima", None, "Oslo"]),
        "word": pa.array(["b", "a", "b", "c"]).dictionary_encode(),
        "number": pa.array([1.5, 2.5, 1.5, 4.0]).dictionary_encode(),
        "price": pa.array([1, 2, 3, 4], pa.decimal128(10, 2)),
        "day": pa.array([0, 1, None, 19000], pa.date32()),
    }
    for file, compression in FORMATS:
        write(pa.table(columns), program.directory / file, compression)
        assert program.done("eval", "city", file) == "['Oslo' 'Lima' '' 'Oslo']\n"
        assert program.done("eval", "x", f"x={file}:day:days") == "[0.0e+00 1.0e+00     nan 1.9e+04]\n"
        assert program.done("eval", "word", file) == "['b' 'a' 'b' 'c']\n"
        assert program.done("eval", "number + 1", file) == "[2.5 3.5 2.5 5. ]\n"
        program.refused(1, ["cast it to Float64 first"], "eval", "price + 1", file)


def test_old_dates_nulls_and_indices():
    days = [-354285, 2932896]
    micros = pa.array([day * 86_400_000_000 for day in days], pa.timestamp("us"))
    pa.parquet.write_table(pa.table({"t": micros}), program.directory / "old.parquet", use_deprecated_int96_timestamps=True)
    assert program.done("eval", "t", "t=old.parquet:t:days") == "[-354285 2932896]\n"
    index = {"pandas": '{"index_columns": ["__index_level_0__"], "columns": []}'}
    table = pa.table({"x": [1.5, 2.5], "none": pa.nulls(2), "__index_level_0__": [3, 7]})
    for file, compression in FORMATS:
        write(table.replace_schema_metadata(index), program.directory / file, compression)
        assert program.done("eval", "none", file) == "[nan nan]\n"
        assert program.done("--quiet", "eval", "x", f"x={file}") == "[[1.5 nan]\n [2.5 nan]]\n"


def test_streams_and_codecs_that_are_not_there_are_refused():
    table = without_nulls()
    with pa.ipc.new_stream(str(program.directory / "s.arrow"), table.schema) as writer:
        writer.write_table(table)
    program.refused(1, ["it is a stream of Arrow IPC messages"], "eval", "id", "s.arrow")
    write(table, program.directory / "b.parquet", "brotli")
    program.refused(1, ["is compressed with Brotli", "write it with zstd"], "eval", "id", "b.parquet")


call_tests(globals())
