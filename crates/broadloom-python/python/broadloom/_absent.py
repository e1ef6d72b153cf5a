"""Functions of NumPy that cannot be traced, and what to write instead, as a user of NumPy writes it."""

_WRITES = "write the file outside of the traced function, from its result"
_READS = "read the file outside of the traced function, and pass the array as an argument"
_DATES = "dates are not supported: pass days or seconds as integers"
_POLYNOMIALS = "compute the coefficients outside, and write `np.polyval(p, x)`"
_TRIANGLES = "write `np.tril(x)` or `np.triu(x)`, which keep the shape"
_LAYOUT = "it depends on the memory of the arrays: call it outside of the traced function"
_OUTSIDE = "call it outside of the traced function, and pass its result as an argument"

# Names, or modules, and what to write instead.
REFUSED = {
    **{f"np.{name}": _WRITES for name in ("save", "savetxt", "savez", "savez_compressed")},
    **{f"np.{name}": _READS for name in ("load", "loadtxt", "genfromtxt", "fromfile", "fromregex")},
    **{f"np.{name}": _DATES for name in ("isnat", "datetime_as_string", "busday_count", "busday_offset", "is_busday")},
    **{f"np.{name}": _POLYNOMIALS for name in ("poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots")},
    **{f"np.{name}": _TRIANGLES for name in ("tril_indices_from", "triu_indices_from")},
    **{f"np.{name}": _LAYOUT for name in ("may_share_memory", "shares_memory", "isfortran")},
    "np.emath": "its results are complex outside of the domain of the function, and complex numbers are not supported; "
    "write the function of that name in `np`, which returns NaN there",
    "np.apply_along_axis": "call the function on the whole array, with `axis=`: `np.sum(x, axis=0)`",
    "np.apply_over_axes": "call the function on the whole array, with several axes: `np.sum(x, axis=(0, 1), keepdims=True)`",
    "np.fft": "call it outside of the traced function, and pass its real and imaginary parts as arguments",
    "np.random": "random numbers would be the same at each call; pass them as an argument",
    "np.insert": "write `np.concatenate([x[:2], values, x[2:]])`",
    "np.delete": "write `np.concatenate([x[:2], x[3:]])`, or select what stays by a mask, `x[mask]`",
    "np.piecewise": "write `np.select([c1, c2], [a, b], otherwise)`",
    "np.lexsort": "sort by the last key first, `order = np.argsort(b, kind='stable')`, then `order[np.argsort(a[order], kind='stable')]`",
    "np.histogram2d": "write `np.bincount(i * columns + j, minlength=rows * columns)` with the bins `i` and `j` of each element",
    "np.histogramdd": "write `np.bincount` with one number for the bins of each element",
    "np.histogram_bin_edges": "write `np.linspace(x.min(), x.max(), bins + 1)`",
    "np.common_type": "write `np.result_type(x, y)`",
    "np.array_equiv": "write `(x == y).all()`",
    "np.resize": "write `np.tile(x, 2)`, and slice the result",
    "np.ravel_multi_index": "write `i * x.shape[1] + j`",
    "np.unwrap": _OUTSIDE,
    "np.frexp": "write `np.floor(np.log2(abs(x))) + 1` for the exponent",
    "np.packbits": "write `(x.reshape(-1, 8).astype(np.uint8) << np.arange(7, -1, -1, dtype=np.uint8)).sum(axis=1)`",
    "np.unpackbits": "write `(x[:, None] >> np.arange(7, -1, -1, dtype=np.uint8)) & 1`",
    "np.i0": _OUTSIDE,
    "np.angle": "complex numbers are not supported; for points, write `np.arctan2(y, x)`",
}


def reason(name):
    """Why a function, by the name that a program has for it, is not traced; `None` if nothing is known against it."""
    return REFUSED.get(name) or REFUSED.get(name.rpartition(".")[0])


def reduction(name, method):
    """What to write for a method of a ufunc that has no kernel."""
    if method == "reduce":
        return f"write a loop, `for row in x[1:]: result = np.{name}(result, row)`, that begins with `result = x[0]`"
    return f"write a loop, `for i in range(1, len(x)): y[i] = np.{name}(y[i - 1], x[i])`"
