"""Expressions over the columns of polars: row by row, over all rows, and as aggregates. polars has to be installed.

    import broadloom.polars
    frame.select(pl.col("v").bl.eval("sum(x * q, axis=-1) / norm(x, axis=-1)", q=query))
    frame.group_by("g").agg(broadloom.polars.agg("sum(w * x) / sum(w)", w="weight", x="value"))

A column of numbers is an array of a value for each row. A column of the type `Array` has a row of numbers for each row: these
are the axes after the first. A row of the result is null where a column is null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl  # type: ignore[import-not-found, unused-ignore]
from polars.plugins import register_plugin_function  # type: ignore[import-not-found, unused-ignore]

from . import _broadloom
from ._columns import check_names, free_names, identity, listed, split
from ._errors import ArgumentError


def expr(text: str, /, *, mixes_rows: bool = False, **values: Any) -> pl.Expr:
    """Return the expression of polars that computes a value for each row.

    The values of the names in the text are expressions of polars, names of columns, numbers, or constant arrays. Each row is
    computed from itself, so the expression streams. With `mixes_rows`, all rows are there at once, as in `x - mean(x)`: such an
    expression works within `over` too.

        >>> import polars as pl
        >>> import broadloom.polars
        >>> frame = pl.DataFrame({"x": [3.0, None], "y": [4.0, 1.0]})
        >>> frame.select(length=broadloom.polars.expr("sqrt(x*x + y*y)", x="x", y="y"))["length"].to_list()
        [5.0, None]
    """
    return _made(text, "mixed" if mixes_rows else "rows", values)


def agg(text: str, /, **values: Any) -> pl.Expr:
    """Return the expression of polars that computes one value of all rows, for `select` and `group_by`.

    Rows with a null in any column do not count. Without rows the result is null.

        >>> import polars as pl
        >>> import broadloom.polars
        >>> frame = pl.DataFrame({"g": [1, 1, 2], "x": [3.0, 5.0, 7.0]})
        >>> mean = broadloom.polars.agg("mean(x)", x="x")
        >>> frame.group_by("g", maintain_order=True).agg(mean)["x"].to_list()
        [4.0, 7.0]
    """
    return _made(text, "total", values)


@pl.api.register_expr_namespace("bl")
class Namespace:
    """Expressions over a column: `pl.col("v").bl.eval("x - min(x, axis=-1)")`."""

    def __init__(self, column: pl.Expr):
        self._column = column

    def eval(self, text: str, /, *, mixes_rows: bool = False, **values: Any) -> pl.Expr:
        """Return a value for each row, as `broadloom.polars.expr` does. The column is the name that has no other value."""
        return _made(text, "mixed" if mixes_rows else "rows", self._with_column(text, values))

    def agg(self, text: str, /, **values: Any) -> pl.Expr:
        """Return one value of all rows, as `broadloom.polars.agg` does. The column is the name that has no other value."""
        return _made(text, "total", self._with_column(text, values))

    def _with_column(self, text, values):
        names = [name for name in free_names(text) if name not in values]
        if len(names) != 1:
            what = f"leaves {listed(names)}" if names else "leaves no name for the column"
            raise ArgumentError(
                f"the expression {what}: one name is the column, and the others are given, such as "
                '`pl.col("v").bl.eval("x * w", w=pl.col("weight"))`'
            )
        return {names[0]: self._column, **values}


def _made(text: str, makes: str, values: dict[str, Any]) -> pl.Expr:
    check_names(text, values)
    numbers, columns, constants = split(values, lambda value: isinstance(value, (pl.Expr, str)))
    if not columns:
        raise ArgumentError('the expression has no column: write `x=pl.col("name")` or `x="name"`')
    arguments: Iterable[Any] = [pl.col(column) if isinstance(column, str) else column for column in columns.values()]
    definition = {"numbers": numbers, "text": text, "names": list(columns), "constants": constants, "makes": makes}
    return register_plugin_function(
        plugin_path=_broadloom.__file__,
        function_name="broadloom",
        args=arguments,
        # Plans are found by what comes first, which large constants do not slow down.
        kwargs={"identity": identity(*definition.values()), **definition},
        is_elementwise=makes == "rows",
        returns_scalar=makes == "total",
    )
