"""The index of pandas' objects, which results with the same rows get."""

import sys

import numpy as np

from ._unsupported import is_supported


def unlabelled(frame, arrays):
    """The arrays of pandas' objects, and their index; the objects themselves and None if their indices differ."""
    pandas = sys.modules.get("pandas")
    # It may be kept from being imported, or another thread may just import it.
    if not hasattr(pandas, "DataFrame"):
        return arrays, None
    classes = pandas.Series, pandas.DataFrame
    labelled = [array for array in arrays if isinstance(array, classes)]
    if isinstance(frame, pandas.DataFrame):
        index = frame.index
    elif labelled:
        index = labelled[0].index
    else:
        return arrays, None
    if not all(array.index is index or array.index.equals(index) for array in labelled):
        return arrays, None
    # What is not supported is refused as it is, so that messages name the column.
    return [array.to_numpy() if isinstance(array, classes) and is_supported(array) else array for array in arrays], index


def labelled(results, index, in_rows):
    """A Series for each result of one value a row, a DataFrame for one of several values a row; the others as they are."""
    if not any(in_rows):
        return results
    if isinstance(results, dict):
        pairs = zip(results.items(), in_rows, strict=True)
        return {name: _with_index(result, index) if is_in_rows else result for (name, result), is_in_rows in pairs}
    return _with_index(results, index)


def _with_index(result, index):
    if not isinstance(result, np.ndarray) or result.ndim not in (1, 2) or len(result) != len(index):
        return result
    pandas = sys.modules["pandas"]
    make = pandas.Series if result.ndim == 1 else pandas.DataFrame
    return make(result, index=index, copy=False)
