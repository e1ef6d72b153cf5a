"""Tables of all types, as pyarrow writes and reads them, for the tests of both programs."""

import math
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

ROWS = 1000
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMBERS = INTEGERS + FLOATS
# Columns of numbers; the names of dtypes are words of the language.
COLUMNS = [f"of_{name}" for name in NUMBERS]
TENSOR = pa.fixed_shape_tensor(pa.float64(), [2, 3])
# Name and compression of each file.
FILES = [
    ("none.parquet", "none"),
    ("snappy.parquet", "snappy"),
    ("zstd.parquet", "zstd"),
    ("lz4.parquet", "lz4"),
    ("gzip.parquet", "gzip"),
    ("none.arrow", None),
    ("lz4.arrow", "lz4"),
    ("zstd.arrow", "zstd"),
    ("zstd.feather", "zstd"),
]
# One of each format, where the compression does not matter.
FORMATS = [("zstd.parquet", "zstd"), ("lz4.arrow", "lz4")]


def extremes(dtype):
    """Numbers of a dtype, among them the first and the last, and all that is special."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, math.inf, -math.inf, math.nan, info.max, info.min, info.smallest_subnormal]
    else:
        info = np.iinfo(dtype)
        special = [0, 1, info.min, info.max]
    numbers = np.arange(ROWS) % 100
    return np.concatenate([np.array(special, dtype), numbers[len(special):].astype(dtype)])


def without_nulls():
    """A column of each type, with extreme numbers."""
    columns = {"id": np.arange(ROWS)}
    columns |= {f"of_{name}": extremes(name) for name in NUMBERS}
    columns["truth"] = np.arange(ROWS) % 3 == 0
    columns["pair"] = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(2.0 * ROWS, dtype="f4")), 2)
    flags = pa.array(np.arange(2 * ROWS) % 5 == 0)
    columns["flags"] = pa.FixedSizeListArray.from_arrays(flags, 2)
    elements = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(6.0 * ROWS)), 6)
    columns["tensor"] = pa.ExtensionArray.from_storage(TENSOR, elements)
    return pa.table(columns)


def is_null(row):
    return row % 7 == 3


def with_nulls():
    """Columns with a null in each seventh row, small numbers and lists that have null elements elsewhere."""
    rows = range(ROWS)
    columns = {"id": pa.array(rows, pa.int64())}
    for name in NUMBERS:
        numbers = [None if is_null(row) else np.dtype(name).type(row % 100) for row in rows]
        columns[f"of_{name}"] = pa.array(numbers, getattr(pa, name)())
    columns["truth"] = pa.array([None if is_null(row) else row % 3 == 0 for row in rows])
    pairs = [None if is_null(row) else [row, None if row % 11 == 5 else -row] for row in rows]
    columns["pair"] = pa.array(pairs, pa.list_(pa.float32(), 2))
    storage = [None if is_null(row) else [float(row + axis) for axis in range(6)] for row in rows]
    columns["tensor"] = pa.ExtensionArray.from_storage(TENSOR, pa.array(storage, TENSOR.storage_type))
    return pa.table(columns)


def cut(table):
    """The same table of slices, which start at rows that are no multiples of 8."""
    twice = pa.concat_tables([table, table])
    parts = [twice.slice(ROWS, 13), twice.slice(13, 300), twice.slice(313, ROWS - 313)]
    return pa.concat_tables(parts)


def write(table, path, compression):
    name = str(path)
    if name.endswith(".parquet"):
        pa.parquet.write_table(table, name, compression=compression, row_group_size=170)
    elif name.endswith(".feather"):
        pa.feather.write_feather(table, name, compression=compression, chunksize=170)
    else:
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with pa.ipc.new_file(name, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=170)


def read(path):
    name = str(path)
    if name.endswith(".parquet"):
        return pa.parquet.read_table(name)
    with pa.ipc.open_file(name) as file:
        return file.read_all()


def rows_of(column):
    """The rows of a column as Python has them, those of tensors as flat lists."""
    column = column.combine_chunks()
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    return column.to_pylist()


def same(found, expected):
    """Whether two values are equal, down to the sign of zero. nan equals nan, and None only None."""
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float) and isinstance(found, float):
        if math.isnan(expected):
            return math.isnan(found)
        return found == expected and math.copysign(1, found) == math.copysign(1, expected)
    return type(found) is type(expected) and found == expected


def compare(what, column, kind, expected):
    assert column.type == kind, f"{what}: the type is {column.type}, not {kind}"
    found = rows_of(column)
    assert len(found) == len(expected), f"{what}: {len(found)} rows, not {len(expected)}"
    for row, (one, other) in enumerate(zip(found, expected)):
        assert same(one, other), f"{what}: row {row} is {one!r}, not {other!r}"


class Program:
    """A program to test, which is run in the directory of the files, with some arguments in each run."""

    def __init__(self):
        self.path, self.directory, self.always = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]

    def run(self, *arguments):
        command = [self.path, *arguments, *self.always]
        return subprocess.run(command, cwd=self.directory, capture_output=True, encoding="utf-8")

    def done(self, *arguments):
        output = self.run(*arguments)
        assert output.returncode == 0, f"{arguments}:\n{output.stderr}"
        return output.stdout

    def refused(self, code, parts, *arguments):
        output = self.run(*arguments)
        assert output.returncode == code, f"{arguments}: exit code {output.returncode}\n{output.stderr}"
        for part in parts:
            assert part in output.stderr, f"{arguments}: no {part!r} in\n{output.stderr}"


def call_tests(scope):
    """Runs the functions of a script whose names start with `test_`."""
    for name, test in list(scope.items()):
        if name.startswith("test_"):
            test()
            print(f"ok: {name}")
