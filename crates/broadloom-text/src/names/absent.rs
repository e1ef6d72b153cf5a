//! What is often looked for and is said in another way here, or is not here: NumPy's functions first, each of those that
//! are no function of the language, then others'.

/// Names, and what to write in place of each.
pub(super) const ABSENT: &[(&[&str], &str)] = &[
    // Calculation.
    (&["angle"], "there are no complex numbers; of points, write `atan2(y, x)`"),
    (&["real", "conj", "conjugate", "real_if_close"], "there are no complex numbers: write `x`"),
    (&["imag"], "there are no complex numbers: write `zeros_like(x)`"),
    (&["iscomplex", "isreal", "iscomplexobj", "isrealobj", "sort_complex"], "there are no complex numbers"),
    (
        &["frexp"],
        "write the exponent as `(floor(log2(abs(x))) + 1).astype(i64)`, and the rest as `ldexp(x, -exponent)`",
    ),
    (&["i0", "kaiser"], "there are no Bessel functions: compute it before, and pass it as an input"),
    (&["unwrap"], "it is a running sum: compute it before, and pass it as an input"),
    (
        &["isnat", "datetime_as_string", "datetime_data"],
        "there are no dates: pass days or seconds as integers",
    ),
    (&["busday_count", "busday_offset", "is_busday"], "there are no dates: pass days or seconds as integers"),
    (&["array_equiv"], "write `all(x == y)`"),
    (&["select"], "write `where(c1, a, where(c2, b, otherwise))`"),
    (&["choose", "piecewise"], "write `where(c1, a, where(c2, b, otherwise))`"),
    // Polynomials and numbers in between.
    (
        &["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "roots"],
        "there are no polynomials as objects: compute coefficients before, and write `(a * x + b) * x + c`",
    ),
    (&["ediff1d"], "write `diff(x)`"),
    (&["matvec"], "write `x @ v`, or `einsum('...ij,...j->...i', x, v)`"),
    (&["vecmat"], "write `v @ x`, or `einsum('...i,...ij->...j', v, x)`"),
    (&["multi_dot"], "write `a @ b @ c`, or `einsum('ij,jk,kl', a, b, c)`, which chooses the order"),
    (&["einsum_path"], "write `einsum(..)`, which chooses the order by itself"),
    // Order.
    (&["lexsort"], "sort by the last key first: `order = argsort(b)`, then `order[argsort(a[order])]`"),
    (&["partition"], "write `sort(x)`, or `topk(x, 10)` for the 10 greatest"),
    (&["argpartition"], "write `argsort(x)`, or `argtopk(x, 10)` for the 10 greatest"),
    (
        &["histogram2d", "histogramdd", "histogram_bin_edges"],
        "write `segment_count(((x - low) / width).astype(i64), bins)`",
    ),
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
    (&["block", "bmat"], "write `concat([concat([a, b], axis=1), concat([c, d], axis=1)])`"),
    (&["insert"], "write `concat([x[:2], values, x[2:]])`"),
    (&["resize"], "write `tile(x, 2)` and a slice of it"),
    (&["rollaxis"], "write `moveaxis(x, 2, 0)`"),
    (&["broadcast_shapes"], "write `(x + y).shape`"),
    (&["ix_", "indices"], "write `x[:, None]` and `y[None, :]`, which broadcast"),
    (&["diagflat"], "write `eye(n) * v`"),
    (&["diag_indices", "diag_indices_from"], "write `diagonal(x)`, or `where(eye(n, dtype=bool), value, x)`"),
    (&["fill_diagonal"], "write `where(eye(n, dtype=bool), value, x)`"),
    (
        &["tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from", "mask_indices"],
        "write `tril(x)` or `triu(x)`: the shape stays",
    ),
    (&["ravel_multi_index"], "write `i * x.shape[1] + j`"),
    (
        &["place", "putmask", "put", "put_along_axis", "copyto"],
        "values are not changed in place here: `where(condition, value, x)`, or `assign x = ..` for an input",
    ),
    (
        &["packbits"],
        "write `sum(x.reshape(-1, 8).astype(u8) << array([7, 6, 5, 4, 3, 2, 1, 0], dtype=u8), axis=1)`",
    ),
    (&["unpackbits"], "write it by shifts: `(x[:, None] >> arange(7, -1, -1)) & 1`"),
    // Makers.
    (&["logspace"], "write `10 ** linspace(0, 2, 50)`"),
    (&["geomspace"], "write `10 ** linspace(0, 2, 50)`, by the powers that it begins and ends with"),
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
        "there are no random numbers, as a result depends on its inputs alone: draw them before, and pass them as an input",
    ),
    (
        &["fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "fftfreq", "fftshift", "stft"],
        "there are no Fourier transforms: compute it before, and pass it as an input",
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
        "matrices are not decomposed or solved here: compute it before, and pass it as an input",
    ),
    (
        &["dropna", "drop_duplicates", "masked_array"],
        "its size would depend on the data, and sizes are known before data are; reductions take a condition: `sum(x, where=condition)`",
    ),
    (
        &["corr"],
        "write it with columns on one scale: `let z = (x - mean(x, axis=0)) / std(x, axis=0); output r = z.T @ z / len(x)`",
    ),
    (
        &["hist"],
        "write the number of each bin, and count: `segment_count(floor((x - low) / width).astype(i64), bins)`",
    ),
    (
        &["interp1d", "poly1d"],
        "there is no such function; write it with operations of docs/ops.md, or compute it before, and pass it as an input",
    ),
    (
        &["groupby", "aggregate", "agg", "pivot_table"],
        "write `segment_mean(x, ids, groups)`, or sum, min, max, count",
    ),
    (&["value_counts"], "write `segment_count(ids, groups)`"),
    (&["fillna"], "write `where(isnan(x), 0, x)`"),
    (&["isna", "isnull"], "write `isnan(x)`"),
    (&["notna", "notnull"], "write `~isnan(x)`"),
    (&["iloc", "loc", "iat", "at", "item"], "write an index: `x[3]`, `x[:, 0]`"),
    (
        &["values", "to_numpy", "numpy", "tolist", "deepcopy", "detach", "cpu", "cuda", "contiguous"],
        "leave it out: a value is an array already, and nothing changes it",
    ),
    (
        &["apply", "map", "applymap", "vectorize", "lambdify"],
        "there are no functions to pass: every operation works on whole tensors, element by element",
    ),
    (
        &["read_csv", "imread", "to_csv", "imwrite", "imsave"],
        "files are inputs and outputs of the program, not of expressions: x=FILE, and -o FILE",
    ),
    (&["print", "display"], "every result is printed: `name = ..`"),
];
