//! What is often looked for and is said in another way here, or is not here: NumPy's functions first, each of those that
//! are no function of the language, then others'.

/// Names, and what to write in place of each.
pub(super) const ABSENT: &[(&[&str], &str)] = &[
    // Calculation.
    (&["angle"], "there are no complex numbers; of points, write `atan2(y, x)`"),
    (&["real", "conj", "conjugate", "real_if_close"], "there are no complex numbers: write `x`"),
    (&["imag"], "there are no complex numbers: write `zeros_like(x)`"),
    (&["iscomplex", "isreal", "iscomplexobj", "isrealobj", "sort_complex"], "there are no complex numbers"),
    (&["divmod"], "write `x // y` and `x % y`"),
    (&["modf"], "write `x - trunc(x)` and `trunc(x)`"),
    (&["frexp"], "write the exponent as `floor(log2(abs(x))) + 1`, and the rest as `ldexp(x, -exponent)`"),
    (&["i0", "kaiser"], "there are no Bessel functions: compute it before, and pass it as an input"),
    (&["sinc"], "write `where(x == 0, 1, sin(pi * x) / (pi * x))`"),
    (&["unwrap"], "it is a running sum: compute it before, and pass it as an input"),
    (&["isneginf"], "write `x == -inf`"),
    (&["isposinf"], "write `x == inf`"),
    (
        &["isnat", "datetime_as_string", "datetime_data"],
        "there are no dates: pass days or seconds as integers",
    ),
    (&["busday_count", "busday_offset", "is_busday"], "there are no dates: pass days or seconds as integers"),
    (&["isin"], "write `any(x[:, None] == values, axis=1)`"),
    (&["array_equal", "array_equiv"], "write `all(x == y)`"),
    (&["select"], "write `where(c1, a, where(c2, b, otherwise))`"),
    (&["choose", "piecewise"], "write `where(c1, a, where(c2, b, otherwise))`"),
    // Polynomials and numbers in between.
    (&["polyval"], "write it by Horner's rule: `(a * x + b) * x + c`"),
    (
        &["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"],
        "there are no polynomials as objects: compute coefficients before, and write `(a * x + b) * x + c`",
    ),
    (
        &["interp"],
        "find the places before, pass them as integers `i`, and write `y[i] + (x - x0[i]) * (y[i + 1] - y[i])`",
    ),
    (&["gradient"], "write `(x[2:] - x[:-2]) / 2`"),
    (&["diff", "ediff1d"], "write `x[1:] - x[:-1]`"),
    (&["trapezoid"], "write `sum((y[1:] + y[:-1]) / 2 * (x[1:] - x[:-1]))`"),
    (
        &["convolve"],
        "write `sum(sliding_window_view(x, 3) * w[::-1], axis=-1)`, with `pad(x, 1)` for the edges",
    ),
    (&["correlate"], "write `sum(sliding_window_view(x, 3) * w, axis=-1)`, with `pad(x, 1)` for the edges"),
    (
        &["cov"],
        "write `(x - mean(x, axis=1, keepdims=True)) @ (x - mean(x, axis=1, keepdims=True)).T / (n - 1)`",
    ),
    (&["corrcoef"], "write the rows on one scale, `z = (x - mean) / std`, and then `z @ z.T / n`"),
    (&["cross"], "write it by components: `stack([a[1] * b[2] - a[2] * b[1], ..])`"),
    (&["matvec"], "write `x @ v`, or `einsum('...ij,...j->...i', x, v)`"),
    (&["vecmat"], "write `v @ x`, or `einsum('...i,...ij->...j', v, x)`"),
    (&["multi_dot"], "write `a @ b @ c`, or `einsum('ij,jk,kl', a, b, c)`, which chooses the order"),
    (&["einsum_path"], "write `einsum(..)`, which chooses the order by itself"),
    // Running results and order.
    (
        &["cumsum", "cumulative_sum", "nancumsum", "cumprod", "cumulative_prod", "nancumprod"],
        "there are no running results; compute it before, and pass it as an input",
    ),
    (&["sort"], "write `topk(x, 10)` for the 10 greatest; a whole order is to be passed as an input"),
    (
        &["argsort", "lexsort"],
        "write `argtopk(x, 10)` for the 10 greatest; a whole order is to be passed as an input",
    ),
    (&["partition"], "write `topk(x, 10)` for the 10 greatest, `topk(x, 10, largest=False)` for the least"),
    (&["argpartition"], "write `argtopk(x, 10)`, or `argtopk(x, 10, largest=False)`"),
    (
        &["median", "nanmedian", "quantile", "nanquantile", "percentile", "nanpercentile"],
        "there is no sorting; compute it before, and pass it as an input",
    ),
    (&["searchsorted", "digitize"], "of few bounds, write `sum(bounds <= x[:, None], axis=1)`"),
    (
        &["histogram", "histogram2d", "histogramdd", "histogram_bin_edges"],
        "write `segment_count(((x - low) / width).astype(i64), bins)`",
    ),
    (&["bincount"], "write `segment_count(ids, k)`, or `segment_sum(weights, ids, k)`"),
    // Sizes that depend on the data.
    (
        &["nonzero", "flatnonzero", "argwhere", "extract", "compress", "trim_zeros", "delete"],
        "its size depends on the data: choose element by element, `where(condition, x, 0)`, or reduce, `sum(x, where=condition)`",
    ),
    (
        &["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"],
        "its size depends on the data: number the groups before, and write `segment_count(ids, k)`",
    ),
    (&["intersect1d", "union1d", "setdiff1d", "setxor1d"], "its size depends on the data: compute it before"),
    // Arrangement.
    (&["vstack", "row_stack"], "write `concat([a, b], axis=0)`; of vectors, `stack([a, b])`"),
    (&["hstack"], "write `concat([a, b], axis=1)`; of vectors, `concat([a, b])`"),
    (&["dstack"], "write `concat([a, b], axis=2)`; of matrices, `stack([a, b], axis=2)`"),
    (&["column_stack"], "write `stack([a, b], axis=1)`"),
    (&["block", "bmat"], "write `concat([concat([a, b], axis=1), concat([c, d], axis=1)])`"),
    (&["append"], "write `concat([a, b])`"),
    (&["insert"], "write `concat([x[:2], values, x[2:]])`"),
    (
        &["split", "array_split", "hsplit", "vsplit", "dsplit", "unstack"],
        "write the parts: `x[:2]` and `x[2:]`",
    ),
    (&["resize"], "write `tile(x, 2)` and a slice of it"),
    (&["rollaxis"], "write `moveaxis(x, 2, 0)`"),
    (&["broadcast_arrays"], "write `broadcast_to(x, y.shape)`; operands of an op need none of it"),
    (&["broadcast_shapes"], "write `(x + y).shape`"),
    (&["meshgrid", "ix_", "indices"], "write `x[:, None]` and `y[None, :]`, which broadcast"),
    (&["diag"], "write `diagonal(x)` of a matrix, `eye(n) * v` of a vector"),
    (&["diagflat"], "write `eye(n) * v`"),
    (&["diag_indices", "diag_indices_from"], "write `diagonal(x)`, or `where(eye(n, dtype=bool), value, x)`"),
    (&["fill_diagonal"], "write `where(eye(n, dtype=bool), value, x)`"),
    (&["tri"], "write `tril(ones((n, m)))`"),
    (
        &["tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "mask_indices"],
        "write `tril(x)` or `triu(x)`: the shape stays",
    ),
    (&["ravel_multi_index"], "write `i * x.shape[1] + j`"),
    (&["unravel_index"], "write `i // x.shape[1]` and `i % x.shape[1]`"),
    (
        &["place", "putmask", "put", "put_along_axis", "copyto"],
        "values are not changed in place here: `where(condition, value, x)`, or `assign x = ..` for an input",
    ),
    (
        &[
            "copy",
            "ascontiguousarray",
            "asfortranarray",
            "asanyarray",
            "asarray_chkfinite",
            "require",
            "asmatrix",
        ],
        "write `x`: layouts do not matter here, and nothing is shared",
    ),
    (&["packbits", "unpackbits"], "write it by shifts: `(x[:, None] >> arange(8)) & 1`"),
    // Makers.
    (&["logspace"], "write `10 ** linspace(0, 2, 50)`"),
    (&["geomspace"], "write `exp(linspace(log(1), log(100), 50))`, for numbers in place of the logarithms"),
    (&["hamming"], "write `0.54 - 0.46 * cos(2 * pi * arange(n) / (n - 1))`"),
    (&["hanning"], "write `0.5 - 0.5 * cos(2 * pi * arange(n) / (n - 1))`"),
    (
        &["blackman"],
        "write `0.42 - 0.5 * cos(2 * pi * arange(n) / (n - 1)) + 0.08 * cos(4 * pi * arange(n) / (n - 1))`",
    ),
    (&["bartlett"], "write `1 - abs(2 * arange(n) / (n - 1) - 1)`"),
    (&["fromfunction"], "write it of `arange(n)[:, None]` and `arange(m)`"),
    // Functions that call functions.
    (
        &["apply_along_axis", "apply_over_axes", "frompyfunc", "nested_iters", "iterable"],
        "there are no functions to pass: write the expression itself, with `axis=`",
    ),
    // Dtypes.
    (
        &[
            "can_cast",
            "common_type",
            "isdtype",
            "issubdtype",
            "min_scalar_type",
            "mintypecode",
            "promote_types",
            "result_type",
            "typename",
        ],
        "dtypes are known when a program is checked: `broadloom check` prints them",
    ),
    (
        &["isfortran", "isscalar", "may_share_memory", "shares_memory"],
        "layouts do not matter here, and nothing is shared",
    ),
    // Files, text and settings.
    (
        &[
            "load",
            "loadtxt",
            "genfromtxt",
            "fromfile",
            "fromregex",
            "fromstring",
            "frombuffer",
            "fromiter",
            "from_dlpack",
        ],
        "arrays are passed as inputs: `broadloom eval '..' x=file.npy`, or `x=file.csv`",
    ),
    (
        &["save", "savez", "savez_compressed", "savetxt"],
        "results are written by `broadloom eval '..' -o file.npy`",
    ),
    (
        &[
            "array2string",
            "array_repr",
            "array_str",
            "base_repr",
            "binary_repr",
            "format_float_positional",
            "format_float_scientific",
            "get_printoptions",
            "set_printoptions",
            "printoptions",
        ],
        "results are printed by the program, and written by `-o`",
    ),
    (
        &[
            "get_include",
            "getbufsize",
            "setbufsize",
            "geterr",
            "seterr",
            "geterrcall",
            "seterrcall",
            "info",
            "show_config",
            "show_runtime",
            "test",
        ],
        "it is a setting of NumPy's, of which there is none here",
    ),
    // Of others than NumPy.
    (
        &["argmin_with_value"],
        "write `argmin(x, axis=1)` and `min(x, axis=1)` as two outputs: they become one kernel",
    ),
    (
        &["argmax_with_value"],
        "write `argmax(x, axis=1)` and `max(x, axis=1)` as two outputs: they become one kernel",
    ),
];
