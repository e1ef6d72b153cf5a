//! What is said of functions that do not exist: the one that was probably meant, or why there is none.

use crate::names::{elsewhere, functions, nearest};

/// Names that people look for by what they have in common, and why there is no such function. What has a row in the
/// table of [`crate::names::elsewhere`] is not among them.
const FAMILIES: &[(&[&str], &str)] = &[
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
        &[
            "unique",
            "unique_values",
            "unique_counts",
            "nonzero",
            "flatnonzero",
            "argwhere",
            "compress",
            "extract",
            "delete",
            "dropna",
            "drop_duplicates",
            "trim_zeros",
            "union1d",
            "intersect1d",
            "setdiff1d",
            "masked_array",
        ],
        "its size would depend on the data, and sizes are known before data are; reductions take a condition: `sum(x, where=condition)`",
    ),
    (
        &["cov"],
        "write it with a product of deviations: `let z = x - mean(x, axis=0); output c = z.T @ z / (len(x) - 1)`",
    ),
    (
        &["corrcoef", "corr"],
        "write it with columns on one scale: `let z = (x - mean(x, axis=0)) / std(x, axis=0); output r = z.T @ z / len(x)`",
    ),
    (
        &["histogram", "histogram2d", "histogramdd", "hist"],
        "write the number of each bin, and count: `segment_count(floor((x - low) / width).astype(i64), bins)`",
    ),
    (
        &[
            "interp",
            "interp1d",
            "convolve",
            "correlate",
            "polyfit",
            "polyval",
            "poly1d",
            "gradient",
            "trapz",
            "trapezoid",
        ],
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
        &["values", "to_numpy", "numpy", "tolist", "copy", "deepcopy", "detach", "cpu", "cuda", "contiguous"],
        "leave it out: a value is an array already, and nothing changes it",
    ),
    (
        &[
            "apply",
            "map",
            "applymap",
            "vectorize",
            "apply_along_axis",
            "apply_over_axes",
            "fromfunction",
            "lambdify",
        ],
        "there are no functions to pass: every operation works on whole tensors, element by element",
    ),
    (
        &[
            "load",
            "loadtxt",
            "genfromtxt",
            "read_csv",
            "imread",
            "save",
            "savez",
            "savetxt",
            "to_csv",
            "imwrite",
            "imsave",
        ],
        "files are inputs and outputs of the program, not of expressions: x=FILE, and -o FILE",
    ),
    (&["print", "display"], "every result is printed: `name = ..`"),
];

/// What to write in place of a function that does not exist, or why there is none.
///
/// ```
/// assert!(broadloom_text::instead("cov").contains("mean"));
/// assert_eq!(broadloom_text::instead("sofmax"), "did you mean `softmax`?");
/// ```
pub fn instead(name: &str) -> String {
    match (elsewhere(name).or_else(|| reason(name)), meant(name)) {
        (Some(help), _) => help.to_owned(),
        (None, Some(near)) => format!("did you mean `{near}`?"),
        (None, None) => "`broadloom ops` and docs/ops.md list all functions".to_owned(),
    }
}

/// Why there is no function of this name, if it is one that people look for.
fn reason(name: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(names, _)| names.contains(&name)).map(|(_, why)| *why)
}

/// The function that a name was probably meant to be. Most short names are near to each other and mean nothing alike,
/// so that of these only letters in another order or case, or one too many or too few, are taken for a slip.
fn meant(name: &str) -> Option<&'static str> {
    /// Longest name that is short.
    const SHORT: usize = 4;
    let (lower, length) = (name.to_lowercase(), name.chars().count());
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let is_likely = |candidate: &&str| {
        let begins_alike = lower.chars().next() == candidate.chars().next();
        let is_no_other_word = length > SHORT || length != candidate.chars().count();
        begins_alike && is_no_other_word || sorted(&lower) == sorted(candidate)
    };
    nearest(name, functions().filter(is_likely))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::function;
    use std::collections::HashSet;

    #[test]
    fn what_is_absent_is_not_there() {
        let mut known = HashSet::new();
        for name in FAMILIES.iter().flat_map(|(names, _)| *names) {
            assert!(known.insert(name), "{name} twice");
            assert!(function(name).is_none() || elsewhere(name).is_some(), "{name} exists");
        }
    }

    #[test]
    fn near_names_mean_something_near() {
        for (name, near) in [
            ("argmni", Some("argmin")),
            ("Sum", Some("sum")),
            ("usm", Some("sum")),
            ("summ", Some("sum")),
            ("sinn", Some("sin")),
            ("sofmax", Some("softmax")),
            ("concatenat", Some("concatenate")),
            ("xamax", None),
            ("cox", None),
            ("frobnicate", None),
        ] {
            assert_eq!(meant(name), near, "{name}");
        }
    }
}
