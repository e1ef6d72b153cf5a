//! docs/numpy.md: every function of NumPy's main namespace, and what becomes of it here.

use broadloom_text::{absent_keywords, elsewhere, functions, keywords, own_name, usage};
use std::fmt::Write;

/// The functions in `dir(numpy)` of the NumPy of `tests/numpy/requirements.txt`: what is callable and neither a class nor
/// a module.
const NAMES: &str = include_str!("numpy_names.txt");
/// Names that are here and say something else.
const OTHERS: &[&str] = &["select"];

pub fn render() -> String {
    let mut page = String::from(HEAD);
    let mut here = Vec::new();
    for name in NAMES.lines() {
        let own = own_name(name).filter(|_| !OTHERS.contains(&name));
        let (what, how) = match own {
            Some(own) => {
                here.push(own);
                let signature = usage(name).unwrap_or_default();
                (if own == name { "here" } else { "here, by another name" }, format!("`{signature}`"))
            }
            None => match elsewhere(name) {
                Some(help) if help.starts_with("write") => ("written as", help.to_owned()),
                Some(help) => ("absent", help.to_owned()),
                None => panic!("{name} is neither a function nor said elsewhere: names/absent.rs"),
            },
        };
        let _ = writeln!(page, "| `{name}` | {what} | {} |", how.replace('|', "\\|"));
    }
    page.push_str(OWN_HEAD);
    for own in functions().filter(|own| !here.contains(own)) {
        let signature = usage(own).unwrap_or_default();
        let _ = writeln!(page, "| `{own}` | `{}` |", signature.replace('|', "\\|"));
    }
    page.push_str(KEYWORD_HEAD);
    for (other, own) in keywords() {
        let _ = writeln!(page, "| `{other}` | `{own}` |");
    }
    page.push_str(ABSENT_KEYWORD_HEAD);
    for (keyword, help) in absent_keywords() {
        let _ = writeln!(page, "| `{keyword}` | {help} |");
    }
    page
}

const HEAD: &str = "\
# NumPy's functions

Generated from the names of the text language by `UPDATE_DOCS=1 cargo test --test docs`; do not edit. Every function of
NumPy's main namespace (2.4) has a line: it is *here*, under its own name or another, with its parameters (those with `=`
are optional); it is *written as* an expression; or it is *absent*, with what to do instead. A program that uses an absent name gets the
same message. All names may start with `np.`, and functions of a tensor are also methods, but for those whose data is not the first
argument, such as `where`; `x.compress(condition)` has the order of NumPy's method.

[ops.md](ops.md) says where results differ from NumPy's on purpose: float sums have a fixed order, -0 is below +0, and a
literal that a dtype cannot hold is an error, except where the result is known: in quotients of integers, comparisons and the limits of
`clip`. As in NumPy, a number is an array of its own, with the dtype that it has in a list, in `append` and `polyval`; one that is searched
for (`isin`, `searchsorted`, `digitize`) or raised by `float_power` is not rounded to the dtype of the elements.
Where NumPy's intermediate results overflow or round integers, results are those of exact arithmetic: quantiles lie between their
neighbours, integers compare as integers, `round(x, -2)` of integers is exact (beyond the ends of the dtype it is the end), and a float
that is too large for `round(x, decimals)` to be scaled stays as it is. `union1d`, `intersect1d` and `setxor1d` of `u64` and signed integers
compare integers, and convert the result to `f64` as NumPy does: two of its elements can round to the same float. The edges of a
`histogram` are `f64`, also between ends that are scalars of `f16` or `f32`, to which NumPy rounds the edges. `digitize` and `histogram`
refuse bounds without order, also NaN among the bounds of a histogram; what only a run knows is an error of the run. A tensor
without axes accepts the axis 0 or -1 where NumPy does: in reductions, `squeeze`, `cumsum`, `argsort`, `take` and `repeat`. Slices are
cut at the end of an axis of constant size; along an axis of symbolic size, each call checks them, as for `diff`, which needs as many
elements as it takes differences.

Functions that compute element by element, and products, take the `dtype` to compute in: operands are converted to it first, as in NumPy,
and never from floats to integers by themselves. Conditions, such as `where=`, are true where they are not zero. Arguments by position have
the order of torch, `sum(x, 0, True)`. NumPy's order, `sum(x, 0, float32, None, True)`, is recognised by a dtype or `None` in a place where
only NumPy has one. `x.view(dtype)` reads integers as others of as many bytes, and not floats: which bits a NaN has is not defined.
`out` may be `None`: a result does not go into another tensor, but is an output, `output y = ..`.

| NumPy | here? | how |
| --- | --- | --- |
";

const OWN_HEAD: &str = "
## What NumPy's main namespace does not have

| function | call |
| --- | --- |
";

const KEYWORD_HEAD: &str = "
## Other names of parameters

Parameters also have the names of torch and of the array API:

| name | is |
| --- | --- |
";

const ABSENT_KEYWORD_HEAD: &str = "
## Parameters that functions do not have

NumPy's functions take these too. Here, a function has one of them only if its line says so. Results are new tensors, which have no
memory to leave as it is, so that `where=` of functions that compute element by element needs the other values:

| name | what to do instead |
| --- | --- |
";
