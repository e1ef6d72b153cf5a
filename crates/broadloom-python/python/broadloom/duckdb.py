"""Expressions as functions of DuckDB. duckdb and pyarrow have to be installed.

    import broadloom.duckdb
    broadloom.duckdb.register(con, "hypotenuse", "sqrt(x*x + y*y)", ["DOUBLE", "DOUBLE"])
    con.sql("SELECT hypotenuse(a, b) FROM t")

A column of numbers is an array of a value for each row. A column of a type such as `FLOAT[3]` has a row of numbers for each row:
these are the axes after the first. A row of the result is NULL where a column is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import duckdb  # type: ignore[import-not-found, unused-ignore]
import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ._broadloom import Columns
from ._columns import check_names, free_names, listed, split
from ._errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def register(
    connection: Any, name: str, text: str, types: Sequence[str] | Mapping[str, str], /, **constants: ArrayLike
) -> None:
    """Add a function of SQL that computes an expression for each row.

    `types` are the types of the arguments, such as `"DOUBLE"` or `"FLOAT[3]"`, by the names in the expression, or in the order of
    their first use. Constants are numbers or arrays. Each row is computed from itself.

        >>> import duckdb
        >>> import broadloom.duckdb
        >>> con = duckdb.connect()
        >>> broadloom.duckdb.register(con, "above", "maximum(x - low, 0)", ["DOUBLE"], low=2)
        >>> con.sql("SELECT above(x) FROM (VALUES (1.5), (NULL), (4.0)) t(x)").fetchall()
        [(0.0,), (None,), (2.0,)]
    """
    names = [name for name in free_names(text) if name not in constants]
    if isinstance(types, str) or not isinstance(types, (Mapping, Sequence)):
        raise ArgumentError('types are a list or a dict: write ["DOUBLE"] or {"x": "DOUBLE"}')
    if not isinstance(types, Mapping):
        if len(types) != len(names):
            raise ArgumentError(
                f"the expression reads {listed(names)}, and {len(types)} types are given: give one for each name, in this order"
            )
        types = dict(zip(names, types, strict=True))
    check_names(text, {**types, **constants})
    numbers, _, arrays = split(constants, lambda value: False)
    columns = Columns(numbers, text, list(types), arrays, "rows", "duckdb")
    result = pa.field(columns.result([_field(connection, column, kind) for column, kind in types.items()]))

    def run(*arguments):
        return pa.array(columns.run([_whole(argument) for argument in arguments]))

    # DuckDB counts the parameters.
    parameters = [Parameter(f"x{number}", Parameter.POSITIONAL_ONLY) for number in range(len(types))]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    connection.create_function(
        name, run, [duckdb.type(kind) for kind in types.values()], _name(result.type), type="arrow", null_handling="special"
    )


def _field(connection, name, kind):
    """The field of Arrow of an argument."""
    schema = connection.sql(f"SELECT NULL::{kind} AS x LIMIT 0").to_arrow_table().schema
    return schema.field(0).with_name(name)


def _whole(column):
    """The chunks of a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _name(kind) -> str:
    """The name that DuckDB has for a type of a result."""
    if pa.types.is_fixed_size_list(kind):
        return f"{_name(kind.value_type)}[{kind.list_size}]"
    if pa.types.is_struct(kind):
        fields = (f'"{field.name}" {_name(field.type)}' for field in kind)
        return f"STRUCT({', '.join(fields)})"
    known = _NAMES.get(str(kind))
    if known is None:
        raise ArgumentError(f"DuckDB has no type for results of {kind}: write `.astype(f32)` behind the expression")
    return known


_NAMES = {
    "bool": "BOOLEAN",
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "uint8": "UTINYINT",
    "uint16": "USMALLINT",
    "uint32": "UINTEGER",
    "uint64": "UBIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
}
