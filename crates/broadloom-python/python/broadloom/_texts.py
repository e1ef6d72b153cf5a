"""Columns of text: their texts in order, and codes, the positions of the elements among these."""

import numpy as np

from ._errors import DTypeError


def encoded(name, column):
    """The codes and the texts of a column of text, of NumPy, pandas, Arrow or polars; `None` for other objects."""
    if not isinstance(column, np.ndarray):
        # Arrow makes an array with `None` for what is missing.
        make = getattr(column, "to_numpy", None)
        if make is None:
            return None
        column = make(zero_copy_only=False) if type(column).__module__.startswith("pyarrow") else make()
        if not isinstance(column, np.ndarray):
            return None
    if column.dtype.kind not in "USOT" or not column.ndim:
        return None
    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8")
    elif column.dtype.kind in "OT":
        column = column.astype(object)
        is_text = np.frompyfunc(lambda item: isinstance(item, str), 1, 1)(column).astype(bool)
        if not is_text.all():
            if not is_text.any():
                return None
            missing = column[~is_text].flat[0]
            raise DTypeError(
                f"`{name}` is a column of text with elements that are not text, such as {missing!r}: replace them first, "
                f"`{name}.fillna('')`"
            )
    texts, codes = np.unique(column, return_inverse=True)
    return codes.reshape(column.shape).astype(np.int64), [str(text) for text in texts]


def recoded(codes, texts, joined):
    """The codes of the same elements among more texts."""
    return np.searchsorted(np.array(joined), np.array(texts, dtype=np.array(joined).dtype))[codes]


def decoded(codes, texts):
    """The elements of a result that is text."""
    return np.array(texts, dtype=str)[codes]
