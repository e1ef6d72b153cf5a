//! Functions and keyword arguments that people look for, and that have another name here, or are missing: first all functions of
//! NumPy that the language does not have, then those of other libraries.

/// Names, and what to write in place of each.
pub(super) const ABSENT: &[(&[&str], &str)] = &[
    // Calculation.
    (&["angle"], "complex numbers are not supported; for points, write `atan2(y, x)`"),
    (&["real", "conj", "conjugate", "real_if_close"], "complex numbers are not supported: write `x`"),
    (&["imag"], "complex numbers are not supported: write `zeros_like(x)`"),
    (
        &["iscomplex", "isreal", "iscomplexobj", "isrealobj", "sort_complex"],
        "complex numbers are not supported",
    ),
    (
        &["frexp"],
        "write the exponent as `(floor(log2(abs(x))) + 1).astype(i64)`, and the rest as `ldexp(x, -exponent)`",
    ),
    (
        &["i0", "kaiser"],
        "Bessel functions are not supported: compute the values beforehand, and pass them as an input",
    ),
    (&["unwrap"], "compute it beforehand, and pass it as an input"),
    (
        &["isnat", "datetime_as_string", "datetime_data"],
        "dates are not supported: pass days or seconds as integers",
    ),
    (
        &["busday_count", "busday_offset", "is_busday"],
        "dates are not supported: pass days or seconds as integers",
    ),
    (&["array_equiv"], "write `all(x == y)`"),
    (&["select"], "write `where(c1, a, where(c2, b, otherwise))`"),
    (&["choose", "piecewise"], "write `where(c1, a, where(c2, b, otherwise))`"),
    // Polynomials and numbers in between.
    (
        &["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"],
        "polynomial objects are not supported: compute the coefficients beforehand, and write `polyval(p, x)`",
    ),
    (&["ediff1d"], "write `diff(x)`"),
    (&["matvec"], "write `x @ v`, or `einsum('...ij,...j->...i', x, v)`"),
    (&["vecmat"], "write `v @ x`, or `einsum('...i,...ij->...j', v, x)`"),
    (&["multi_dot"], "write `a @ b @ c`, or `einsum('ij,jk,kl', a, b, c)`, which chooses the order"),
    (&["einsum_path"], "write `einsum(..)`, which chooses the order itself"),
    // Order.
    (&["lexsort"], "sort by the last key first: `order = argsort(b)`, then `order[argsort(a[order])]`"),
    (
        &["histogram2d", "histogramdd", "histogram_bin_edges"],
        "write `segment_count(((x - low) / width).astype(i64), bins)`",
    ),
    (&["delete"], "select what stays: `x[mask]`"),
    // Arrangement.
    (&["block", "bmat"], "write `concat([concat([a, b], axis=1), concat([c, d], axis=1)])`"),
    (&["insert"], "write `concat([x[:2], values, x[2:]])`"),
    (&["resize"], "write `tile(x, 2)`, and slice the result"),
    (&["rollaxis"], "write `moveaxis(x, 2, 0)`"),
    (&["broadcast_shapes"], "write `(x + y).shape`"),
    (&["ix_", "indices"], "write `x[:, None]` and `y[None, :]`, which broadcast"),
    (&["diagflat"], "write `diag(ravel(x))`"),
    (&["diag_indices", "diag_indices_from"], "write `diagonal(x)`, or `where(eye(n, dtype=bool), value, x)`"),
    (&["fill_diagonal"], "write `where(eye(n, dtype=bool), value, x)`"),
    (
        &["tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "mask_indices"],
        "write `tril(x)` or `triu(x)`, which keep the shape",
    ),
    (&["ravel_multi_index"], "write `i * x.shape[1] + j`"),
    (
        &["place", "putmask", "put", "put_along_axis", "copyto"],
        "write `x.at[1:3].set(value)`, `x.at[i].set(value)`, or `x.at[x < 0].set(value)`; to write to an input: `assign x = x.at[..].set(..)`",
    ),
    (
        &["packbits"],
        "write `sum(x.reshape(-1, 8).astype(u8) << array([7, 6, 5, 4, 3, 2, 1, 0], dtype=u8), axis=1)`",
    ),
    (&["unpackbits"], "use shifts: `(x[:, None] >> arange(7, -1, -1)) & 1`"),
    // Makers.
    (&["logspace"], "write `10 ** linspace(0, 2, 50)`"),
    (&["geomspace"], "write `10 ** linspace(0, 2, 50)`, with the exponents of the first and the last value"),
    (&["hamming"], "write `0.54 - 0.46 * cos(2 * pi * arange(n) / (n - 1))`"),
    (&["hanning"], "write `0.5 - 0.5 * cos(2 * pi * arange(n) / (n - 1))`"),
    (
        &["blackman"],
        "write `0.42 - 0.5 * cos(2 * pi * arange(n) / (n - 1)) + 0.08 * cos(4 * pi * arange(n) / (n - 1))`",
    ),
    (&["bartlett"], "write `1 - abs(2 * arange(n) / (n - 1) - 1)`"),
    (&["fromfunction"], "write the expression with `arange(n)[:, None]` and `arange(m)`"),
    // Functions that call functions.
    (
        &["apply_along_axis", "apply_over_axes", "frompyfunc", "nested_iters", "iterable"],
        "functions cannot be passed: write the expression itself, with `axis=`",
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
        "dtypes are known when a program is checked, before it runs",
    ),
    (
        &["isfortran", "isscalar", "may_share_memory", "shares_memory"],
        "layouts do not matter here, and values do not share memory",
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
        "files are not read here: pass arrays as inputs",
    ),
    (
        &["save", "savez", "savez_compressed", "savetxt"],
        "files are not written here: what runs the program takes its results",
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
        "the program prints results, and `-o` writes them to a file",
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
        "NumPy's settings do not apply here",
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
    (
        &[
            "rand",
            "randn",
            "randint",
            "random",
            "random_sample",
            "normal",
            "standard_normal",
            "uniform",
            "choice",
            "shuffle",
            "permutation",
            "seed",
            "default_rng",
            "poisson",
            "binomial",
        ],
        "random numbers are not supported, because a result depends only on its inputs: draw them beforehand, and pass them as an input",
    ),
    (
        &["fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "fftfreq", "fftshift", "stft"],
        "Fourier transforms are not supported: compute them beforehand, and pass them as an input",
    ),
    (
        &[
            "inv",
            "pinv",
            "solve",
            "det",
            "slogdet",
            "eig",
            "eigh",
            "eigvals",
            "eigvalsh",
            "svd",
            "svdvals",
            "qr",
            "cholesky",
            "lstsq",
            "matrix_rank",
            "matrix_power",
            "cond",
            "expm",
        ],
        "matrix decompositions and solvers are not supported: compute the result beforehand, and pass it as an input",
    ),
    (&["dropna"], "select the numbers: `x[~isnan(x)]`, or rows with `x[~any(isnan(x), axis=1)]`"),
    (&["drop_duplicates"], "`unique(x)` has the different values in order"),
    (
        &["masked_array"],
        "pass the condition to a reduction, `sum(x, where=condition)`, or select with it: `x[condition]`",
    ),
    (
        &["corr"],
        "standardise the columns first: `let z = (x - mean(x, axis=0)) / std(x, axis=0); output r = z.T @ z / len(x)`",
    ),
    (
        &["hist"],
        "compute the bin of each element, and count them: `segment_count(floor((x - low) / width).astype(i64), bins)`",
    ),
    (
        &["interp1d", "poly1d"],
        "write it with the operations in docs/ops.md, or compute it beforehand, and pass it as an input",
    ),
    (
        &["groupby", "aggregate", "agg", "pivot_table"],
        "write `segment_mean(x, ids, groups)`, or `segment_sum`, `segment_min`, `segment_max` or `segment_count`",
    ),
    (&["value_counts", "segment_size"], "write `segment_count(ids, groups)`"),
    (
        &["segment_var"],
        "write `segment_mean((x - segment_mean(x, ids, groups)[ids])**2, ids, groups)`; for a column of text, index by `ids.astype(i64)`, and leave out `groups`",
    ),
    (
        &["segment_std"],
        "write `sqrt(segment_mean((x - segment_mean(x, ids, groups)[ids])**2, ids, groups))`; for a column of text, index by `ids.astype(i64)`, and leave out `groups`",
    ),
    (&["segment_prod"], "for positive elements, write `exp(segment_sum(log(x), ids, groups))`"),
    (&["segment_any"], "write `segment_max(x, ids, groups)`"),
    (&["segment_all"], "write `segment_min(x, ids, groups)`"),
    (
        &["segment_median", "segment_quantile"],
        "use SQL: `broadloom-sql \"SELECT k, broadloom_agg('median(x)', x) FROM t GROUP BY k\" t=FILE`",
    ),
    (&["fillna"], "write `where(isnan(x), 0, x)`"),
    (&["isna", "isnull"], "write `isnan(x)`"),
    (&["notna", "notnull"], "write `~isnan(x)`"),
    (&["iloc", "loc", "iat", "at", "item"], "write an index: `x[3]`, `x[:, 0]`"),
    (
        &["values", "to_numpy", "numpy", "tolist", "deepcopy", "detach", "cpu", "cuda", "contiguous"],
        "leave it out: a value is already an array, and it never changes",
    ),
    (
        &["apply", "map", "applymap", "vectorize", "lambdify"],
        "functions cannot be passed: every operation already works on whole tensors, element by element",
    ),
    (
        &["read_csv", "imread", "to_csv", "imwrite", "imsave"],
        "files are inputs and outputs of the command, not of expressions: x=FILE, and -o FILE",
    ),
    (&["print", "display"], "every named result is printed: `name = ..`"),
];

/// NumPy's keyword arguments that most functions do not have, with what to write instead.
const ABSENT_KEYWORDS: &[(&str, &str)] = &[
    ("dtype", "convert the operand: `x.astype(f64)`"),
    ("where", "choose between the result and another value: `where(m, add(x, y), 0)`"),
    ("casting", "leave it out, and convert what NumPy would not convert by itself: `x.astype(i64)`"),
    (
        "order",
        "leave it out: layouts do not matter; for elements in the order of columns, write `x.T.ravel()`",
    ),
    ("subok", "leave it out: tensors have no subclasses"),
    ("copy", "leave it out: nothing is shared"),
    ("like", "leave it out: results are tensors"),
    ("device", "leave it out: programs run on the processor"),
];

/// Returns what to write in place of a function that does not exist.
///
/// ```
/// assert_eq!(broadloom_text::elsewhere("rollaxis"), Some("write `moveaxis(x, 2, 0)`"));
/// ```
pub fn elsewhere(name: &str) -> Option<&'static str> {
    ABSENT.iter().find(|(names, _)| names.contains(&name)).map(|(_, help)| *help)
}

/// Returns NumPy's keyword arguments that functions have only if their parameters say so, each with what to write instead.
pub fn absent_keywords() -> &'static [(&'static str, &'static str)] {
    ABSENT_KEYWORDS
}

/// Returns what to write in place of a keyword argument that a function does not have.
pub(crate) fn instead_of_keyword(name: &str) -> Option<&'static str> {
    ABSENT_KEYWORDS.iter().find(|(keyword, _)| *keyword == name).map(|(_, help)| *help)
}
