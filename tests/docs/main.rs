//! docs/ops.md and docs/derivatives.md are what the tables render to, docs/errors.md what the gallery of mistakes does, docs/language.md what the
//! text language knows of itself.
//! `UPDATE_DOCS=1 cargo test --test docs` writes them anew.

mod book;
mod coming_from;
mod derivatives;
mod errors;
mod examples;
#[path = "../../examples/mistakes/gallery/mod.rs"]
mod gallery;
mod language;
mod numpy;
mod pages;
mod sessions;
mod source;

use broadloom::{Composed, DType, Op};
use broadloom_ir::dtype::Class;
use broadloom_ir::ops::{Domain, ResultRule};
use broadloom_ir::reduce::ReduceOp;
use source::{Example, Row};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// The facade's examples of ops, its reductions, its other methods, and the measured accuracy of functions.
const EXAMPLES: &str = include_str!("../../crates/broadloom/src/dsl/examples.rs");
const REDUCTIONS: &str = include_str!("../../crates/broadloom/src/dsl/reductions.rs");
const ACCURACY: &str = include_str!("../../crates/broadloom-math/accuracy.tsv");

/// How NumPy (or SciPy) says it, where the name is another or there is none.
const ELSEWHERE: &[(&str, &str)] = &[
    ("rsqrt", "`1 / sqrt(x)`"),
    ("relu", "`maximum(x, 0)`"),
    ("fma", "none"),
    ("count_ones", "`bitwise_count`"),
    ("leading_zeros", "none"),
    ("erf", "`scipy.special.erf`"),
    ("erfc", "`scipy.special.erfc`"),
    ("sigmoid", "`scipy.special.expit`"),
    ("softplus", "`logaddexp(0, x)`"),
    ("silu", "`x * scipy.special.expit(x)`"),
    ("gelu", "`x * scipy.special.ndtr(x)`"),
    ("gelu_tanh", "none"),
    ("logsumexp", "`scipy.special.logsumexp`"),
    ("ndtr", "`scipy.special.ndtr`"),
    ("saturating_add", "none"),
    ("saturating_subtract", "none"),
];

#[test]
fn the_page_of_ops_is_what_the_tables_say() {
    check("docs/ops.md", &render());
}

#[test]
fn the_page_of_derivatives_is_what_the_tables_say() {
    check("docs/derivatives.md", &derivatives::render());
}

#[test]
fn the_page_of_errors_is_what_the_gallery_says() {
    check("docs/errors.md", &errors::render());
}

#[test]
fn the_page_of_the_language_is_what_the_tables_say() {
    check("docs/language.md", &language::render());
}

#[test]
fn the_page_of_numpy_names_is_what_the_language_knows() {
    check("docs/numpy.md", &numpy::render());
}

/// Compares a page with what it should be, or writes it.
fn check(name: &str, page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    let differing = found.lines().zip(page.lines()).find(|(found, page)| found != page);
    assert!(
        found == page,
        "{name} is out of date, first at {differing:?}: `UPDATE_DOCS=1 cargo test --test docs` writes it"
    );
}

fn render() -> String {
    let examples = source::examples(EXAMPLES);
    let accuracy = accuracy();
    let mut page = String::from(HEAD);
    for op in Op::ALL {
        let example = examples.get(op.name()).unwrap_or_else(|| panic!("{op} has no example"));
        elementwise(&mut page, *op, example, &accuracy);
    }
    page.push_str(COMPOSED_HEAD);
    for function in Composed::ALL {
        let (name, doc) = (function.name(), escape(function.doc()));
        let example = examples.get(name).unwrap_or_else(|| panic!("{name} has no example"));
        let (numpy, example) = (elsewhere(name), escape(&example.text()));
        let _ = writeln!(page, "| `{name}` | {doc} | {numpy} | {example} |");
    }
    page.push_str(REDUCTION_HEAD);
    let reductions = source::reductions(REDUCTIONS);
    for row in &reductions {
        reduction(&mut page, row);
    }
    for op in ReduceOp::ALL {
        assert!(reductions.iter().any(|row| row.name == op.name()), "{op} is not among the reductions");
    }
    page.push_str(PRODUCTS);
    page.push_str(TAIL);
    page
}

const HEAD: &str = "\
# Operations

Generated from the tables of the source by `UPDATE_DOCS=1 cargo test --test docs`; do not edit. Every op is a method
of `Tensor` of this name, with its documentation and an example that runs; the operators `+ - * / % & | ^ ! << >>` and
the comparisons `eq ne lt le gt ge` are forms of rows below.

Dtypes: `bool`; integers `i8 i16 i32 i64 u8 u16 u32 u64`; floats `f16 bf16 f32 f64`.

## Elementwise

Operands broadcast and are converted first, as the third column says: to their *common* dtype (NumPy's promotion), to
a *float* (a float itself; f32 for bool and integers of 8 and 16 bits, f64 for wider ones), to a *quotient* (a float
itself; f64 for bool and integers), or to *bool* (`!= 0`). The result has that dtype unless the column says another.
Ops that are *exact* give the same bits on every path, rounding as IEEE 754 says; the errors of functions are the
largest measured in units in the last place ([accuracy.md](accuracy.md) says how). f16 and bf16 compute in f32 and round
every result.

| op | meaning | operands | accuracy | NumPy | example |
| --- | --- | --- | --- | --- | --- |
";

const COMPOSED_HEAD: &str = "
## Made of these

These functions are made of ops of the table above, and fuse as those do. Operands become floats, as for the functions
above, unless the line says otherwise. `isclose`, `isclose_within`, `allclose`, `nan_to_num` and `nan_to_num_with`
are documented with `Tensor`.

| op | meaning | NumPy | example |
| --- | --- | --- | --- |
";

const REDUCTION_HEAD: &str = "
## Reductions

Over one axis, several, or all (`..`); each has a form `.._keepdims` that leaves axes of size 1. Float sums have a fixed
order, so that their bits depend neither on layout nor on threads. `var_with_correction`, `std_with_correction`,
`norm`, `softmax`, `log_softmax`, `layer_norm`, `average`, `argmin_with_value` and `argmax_with_value` are documented with
`Tensor`.

`x.filter(condition)` chooses the elements for which a condition holds. It is NumPy's `where=`: `x.filter(x.gt(0)).mean(0)`
is `mean(x, axis=0, where=x > 0)` in the text language. `sum_with_initial`, `prod_with_initial`, `min_with_initial` and
`max_with_initial` combine the result with a first value, NumPy's `initial=`; the least and the greatest of chosen elements
need one. Neither stores anything: elements that are not chosen count as the neutral element.

`x.topk(k, axis)` gives the `k` greatest elements along an axis, best first, and their indices (`i64`).
`x.topk_smallest(k, axis)` gives the least ones. `k` is a number from 1 to 64. In the text language they are `topk(x, k,
axis=-1, largest=True)` and `argtopk(..)`. The order is that of `max` and `argmax`: NaNs come first, for the least elements
too; equal elements are ordered by their indices; the value -0 is below +0, although zeros of both signs are equal for
indices. Whole rows are never sorted, and elements that are computed are not stored.

`x.cumsum(axis)`, `cumprod`, `cummin` and `cummax` give running results along an axis, as NumPy's `cumsum` and
`maximum.accumulate` do. Each result is the one before it combined with one more element, in the order of the axis, so sums
of floats have the bits of a plain loop. `nancumsum` and `nancumprod` skip NaNs. `cumsum_from_zero`, which is
`cumsum(x, include_initial=True)` in the text language, begins with 0. Elementwise ops before and after are fused into the
same loops. Neighbouring rows are computed at once, and threads share the rows. In chunks, each chunk continues where the one
before it ended. Sums of f16 and bf16 are kept in f32, and each result is rounded.

`x.sort(axis)` sorts the elements along an axis in ascending order. `x.argsort(axis)` gives their indices (`i64`), as a stable
sort does. `sort_descending` and `argsort_descending` reverse the order, but equal elements keep theirs. As a value, -0 is
below +0; for indices, zeros are equal. NaNs are above all numbers. `x.searchsorted(values)` counts the elements of a sorted
table that are less than each value, and `searchsorted_right` those that are not greater. It is a binary search: between the
places `first` and `last`, the element at `first + (last - first) / 2`, rounded down, decides which half to search, so the
result is defined for tables without an order too. `x.median(axes)`, `x.quantile(q, axes)` and their `nan` forms, in the text
language also `percentile`, sort and interpolate: positions are computed in `f64`, by NumPy's formulas for all of its methods
(`quantile_by`). A list of fractions adds an axis in front. Where both neighbours are equal, or the position is a whole
number, the quantile is that element, also if it is infinite, where NumPy may give NaN. No elements have no quantile. Whole
rows are stored to be sorted, so the sorted axis cannot be the one that comes in chunks.

`x.diff(order, axis)`, in the text language `diff(x, n=1, axis=-1)`, gives the differences of neighbours along an axis, taken
up to 16 times; for bool, whether they differ.

| op | meaning | NumPy | example |
| --- | --- | --- | --- |
";

const PRODUCTS: &str = "
## Sums of products

They are made of the ops above by broadcasting: nothing as large as the products is stored, and later ops are fused. Operands
take their common dtype, which is that of the result; integers wrap in it, and bool is `or` of `and`. Products of f16 and bf16
are multiplied and summed as f32 and rounded once, at the end; `einsum` does so for each pair of operands. An axis that is
summed over has the same size in both operands; only batch axes of the constant 1 stretch.

| op | meaning | NumPy | example |
| --- | --- | --- | --- |
| `matmul` | Matrix product, `@` in the text language: `[.., n, k]` times `[.., k, m]` is `[.., n, m]`, and the axes in front broadcast. An operand of one axis is a row on the left, a column on the right. | `matmul`, `@` | `x = [[1, 2], [3, 4]]`, `y = [10, 1]`: `[12, 34]` |
| `dot` | Sums over the last axis of `x` and the last but one, or the only one, of `y`; all others stay. With an operand of rank 0, the product. | `dot` | `x = [1, 2, 3]`, `y = [4, 5, 6]`: `32` |
| `vdot` | Sum of the products of all elements, in row-major order. | `vdot` | `x = [[1, 2], [3, 4]]`, `y = [1, 1, 1, 2]`: `14` |
| `vecdot` | Products of vectors along an axis, the last one by default; all others broadcast. | `vecdot` | `x = [[1, 2], [3, 4]]`, `y = [10, 1]`: `[12, 34]` |
| `inner` | Sums over the last axis of both; all others stay. With an operand of rank 0, the product. | `inner` | `x = [[1, 2], [3, 4]]`, `y = [[1, 0], [0, 1]]`: `[[1, 2], [3, 4]]` |
| `outer` | Each element times each of the other. | `outer` | `x = [1, 2]`, `y = [10, 20]`: `[[10, 20], [20, 40]]` |
| `tensordot` | Sums over pairs of axes: a number of last axes of `x` and first axes of `y`, or the axes of two lists. | `tensordot` | `x = [[1, 2], [3, 4]]`, `y = [[1, 0], [0, 1]]` with `2`: `5` |
| `kron` | Kronecker product: each element replaced by its product with all of `y`. | `kron` | `x = [1, 2]`, `y = [1, 10]`: `[1, 10, 2, 20]` |
| `einsum` | A sum of products, given by subscripts, such as \"ij,jk->ik\" for a matrix product. Equal letters are one axis; letters that the result lacks are summed over; `...` stands for other axes; a letter that occurs twice in an operand takes the diagonal. Three or more operands are multiplied in pairs, in the order that takes the fewest multiplications. | `einsum` | `x = [[1, 2], [3, 4]]` with `ii`: `5` |
";

const TAIL: &str = "
## Views, joins, segments and grids

Documented with `Tensor` and `Graph`: `reshape`, `permute_dims`, `t`, `unsqueeze`, `squeeze`, `broadcast_to`, `slice`,
`index`, `take`, `take_along_axis`, `concat`, `stack`, `select` (NumPy's `where`), `segment_sum`, `segment_min`,
`segment_max`, `segment_mean`, `segment_count`, `iota`, `linspace`, `arange`, `full`, `full_like`, `zeros_like`, `ones_like`,
`eye`, `meshgrid`; `flip`, `rot90`, `roll`, `swapaxes`, `moveaxis`, `atleast`, `repeat`, `repeat_each`, `tile`, `pad`,
`diagonal`, `trace`, `diag`, `tril`, `triu`, `vander`.

## Samples, bins and relations

Also documented with `Tensor`, and made of the functions above: `gradient`, `trapezoid`, `convolve`, `correlate`, `polyval`;
`digitize`, `interp`, `histogram` and `isin`, which compare each element with up to 16 bounds or values, and search if there
are more (each run checks the order of bounds that are not constants, once); `cov`, `corrcoef`, `cross`; `modf`.

`x.sliding_window_view(width, axis)` gives the windows of an axis along a new last one. They overlap, and none is copied: a
moving average is `x.sliding_window_view(5, 0).mean(-1)`, and a convolution is the sum of such windows times weights.
";

/// Largest error in ulps per function and precision.
fn accuracy() -> BTreeMap<(String, String), f64> {
    let mut worst = BTreeMap::new();
    for line in ACCURACY.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        if let [function, format, _, ulps, ..] = fields[..]
            && let Ok(ulps) = ulps.parse::<f64>()
        {
            let entry = worst.entry((function.to_string(), format.to_string())).or_insert(0.0);
            *entry = ulps.max(*entry);
        }
    }
    worst
}

fn elementwise(page: &mut String, op: Op, example: &Example, accuracy: &BTreeMap<(String, String), f64>) {
    let classes: Vec<&str> = [(Class::Bool, "bool"), (Class::Int, "integers"), (Class::Float, "floats")]
        .into_iter()
        .filter(|(class, _)| op.accepts(*class))
        .map(|(_, name)| name)
        .collect();
    let operands = match op.domain() {
        Domain::Number if classes.len() == 3 => "common".to_string(),
        Domain::Number => format!("common: {}", classes.join(", ")),
        Domain::Arithmetic => format!("common: {}; bool as i8", classes.join(", ")),
        Domain::Real => "float".into(),
        Domain::Quotient => "quotient".into(),
        Domain::Logical => "bool".into(),
    };
    let result = match op.result_rule() {
        ResultRule::Same => "",
        ResultRule::Bool if op.domain() == Domain::Logical => "",
        ResultRule::Bool => " → bool",
        ResultRule::Count => " → u8",
    };
    let measured = |format: DType| accuracy.get(&(op.name().to_string(), format.name().to_string()));
    // Rounded up, so that the page promises nothing too good.
    let up = |ulps: f64| (ulps * 100.0).ceil() / 100.0;
    let accuracy = match (measured(DType::F32), measured(DType::F64)) {
        (Some(single), Some(double)) if *single > 0.0 || *double > 0.0 => {
            format!("f32 {:.2}, f64 {:.2} ulp", up(*single), up(*double))
        }
        _ if op == Op::Rsqrt => "rounded twice".into(),
        _ if matches!(op, Op::Deg2rad | Op::Rad2deg) => "one product".into(),
        _ => "exact".into(),
    };
    let (name, doc, numpy) = (op.name(), escape(op.doc()), elsewhere(op.name()));
    let example = escape(&example.text());
    let _ = writeln!(page, "| `{name}` | {doc} | {operands}{result} | {accuracy} | {numpy} | {example} |");
}

fn reduction(page: &mut String, row: &Row) {
    let (name, doc, numpy) = (&row.name, escape(&row.doc), elsewhere(&row.name));
    let example = escape(&format!("`x = {}`: `{}`", row.operand, row.result));
    let _ = writeln!(page, "| `{name}` | {doc} | {numpy} | {example} |");
}

fn elsewhere(name: &str) -> String {
    let known = ELSEWHERE.iter().find(|(ours, _)| *ours == name);
    known.map_or(format!("`{name}`"), |(_, theirs)| (*theirs).to_string())
}

/// Text in a cell of a table.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}
