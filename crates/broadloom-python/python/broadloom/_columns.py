"""Expressions over the columns of tables: which name stands for which column, and what is a constant."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import numpy as np

from ._broadloom import Program
from ._errors import ArgumentError


def split(values: dict[str, Any], is_column) -> tuple[str, dict[str, Any], list[tuple[str, str, list[int], bytes]]]:
    """Return the numbers among the values as definitions of the text language, the columns, and the constant arrays."""
    columns: dict[str, Any] = {}
    constants: list[tuple[str, str, list[int], bytes]] = []
    numbers = ""
    for name, value in values.items():
        if is_column(value):
            columns[name] = value
        elif isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
            # Numbers take the dtypes of what they meet, as they do where they are written.
            numbers += f"let {name} = {_written(value)}\n"
        else:
            constants.append(_constant(name, value))
    return numbers, columns, constants


def _written(number):
    """A number of Python's as the text language has it, whatever its class prints."""
    if isinstance(number, bool):
        return repr(bool(number))
    return repr(float(number)) if isinstance(number, float) else repr(int(number))


def _constant(name, value):
    array = np.asarray(value)
    if array.dtype.name not in _DTYPES:
        raise ArgumentError(
            f"`{name}` is {type(value).__name__} of dtype {array.dtype}: pass a number, an array of numbers, or a column"
        )
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(array.shape)
    return name, _DTYPES[array.dtype.name], list(array.shape), array.tobytes()


_DTYPES = {
    "bool": "bool",
    **{f"{kind}{bits}": f"{kind[0]}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
}


def identity(*parts) -> str:
    """Return a text that only equal parts have."""
    return hashlib.blake2b(pickle.dumps(parts, protocol=5)).hexdigest()


def free_names(text: str) -> list[str]:
    """Return the names that a program reads, in the order of their first use."""
    return Program(text).inputs


def listed(names) -> str:
    """Return names as a sentence lists them: `x`, `y` and `z`."""
    names = [f"`{name}`" for name in names]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names) or "none"


def check_names(text: str, given) -> None:
    """Raise an error if a program reads a name that is not given, or if it does not read one that is."""
    wanted = free_names(text)
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ArgumentError(f"the expression reads {listed(missing)}, which is not given: write `{missing[0]}=..`")
    unused = [name for name in given if name not in wanted]
    if unused:
        raise ArgumentError(f"the expression does not read {listed(unused)}: it reads {listed(wanted)}")
