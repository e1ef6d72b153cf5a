//! The names of the language: functions with their parameters, NumPy's other names for them, constants, dtypes, and
//! the nearest name to one that is none.

use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Literal, PLACED_OPS, SegmentOp};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// A statistic that is made of several reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Var,
    Std,
    CountNonzero,
    LogSumExp,
    Softmax,
    LogSoftmax,
    Norm,
}

/// A sum of products of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProductOf {
    Matmul,
    Dot,
    Vdot,
    Vecdot,
    Inner,
    Outer,
    Tensordot,
    Kron,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Elementwise(Op),
    Reduce(ReduceOp),
    Statistic(Statistic),
    Product(ProductOf),
    Einsum,
    Select,
    Cast,
    Reshape,
    Rebind,
    Ravel,
    BroadcastTo,
    PermuteDims,
    SwapAxes,
    MatrixTranspose,
    ExpandDims,
    Squeeze,
    Flip,
    Take,
    TopK,
    ArgTopK,
    Diff,
    Concat,
    Stack,
    Segment(SegmentOp),
    SegmentCount,
    Iota,
    Linspace,
    Array,
    FromBits,
    Shape,
    Length,
    Ndim,
    Size,
}

/// The only function that takes text, and its parameter for it.
const EINSUM: &str = "einsum";
const SUBSCRIPTS: &str = "subscripts";

/// Functions beside the tables of elementwise ops and reductions, with their parameters. A `?` marks those that may be
/// left out, a `*` one that takes all further arguments together.
const FUNCTIONS: &[(&str, Function, &[&str])] = &[
    ("var", Function::Statistic(Statistic::Var), &["x", "axis?", "correction?", "keepdims?", "dtype?"]),
    ("std", Function::Statistic(Statistic::Std), &["x", "axis?", "correction?", "keepdims?", "dtype?"]),
    ("count_nonzero", Function::Statistic(Statistic::CountNonzero), &["x", "axis?", "keepdims?"]),
    ("logsumexp", Function::Statistic(Statistic::LogSumExp), &["x", "axis?", "keepdims?"]),
    ("softmax", Function::Statistic(Statistic::Softmax), &["x", "axis?"]),
    ("log_softmax", Function::Statistic(Statistic::LogSoftmax), &["x", "axis?"]),
    ("norm", Function::Statistic(Statistic::Norm), &["x", "ord?", "axis?", "keepdims?"]),
    ("matmul", Function::Product(ProductOf::Matmul), &["x", "y"]),
    ("dot", Function::Product(ProductOf::Dot), &["x", "y"]),
    ("vdot", Function::Product(ProductOf::Vdot), &["x", "y"]),
    ("vecdot", Function::Product(ProductOf::Vecdot), &["x", "y", "axis?"]),
    ("inner", Function::Product(ProductOf::Inner), &["x", "y"]),
    ("outer", Function::Product(ProductOf::Outer), &["x", "y"]),
    ("tensordot", Function::Product(ProductOf::Tensordot), &["x", "y", "axes?"]),
    ("kron", Function::Product(ProductOf::Kron), &["x", "y"]),
    (EINSUM, Function::Einsum, &[SUBSCRIPTS, "operands*"]),
    ("where", Function::Select, &["condition", "x", "y"]),
    ("astype", Function::Cast, &["x", "dtype"]),
    ("reshape", Function::Reshape, &["x", "shape*"]),
    ("rebind", Function::Rebind, &["x", "shape*"]),
    ("ravel", Function::Ravel, &["x"]),
    ("broadcast_to", Function::BroadcastTo, &["x", "shape*"]),
    ("permute_dims", Function::PermuteDims, &["x", "axis*?"]),
    ("swapaxes", Function::SwapAxes, &["x", "axis1", "axis2"]),
    ("matrix_transpose", Function::MatrixTranspose, &["x"]),
    ("expand_dims", Function::ExpandDims, &["x", "axis*"]),
    ("squeeze", Function::Squeeze, &["x", "axis*?"]),
    ("flip", Function::Flip, &["x", "axis*?"]),
    ("take", Function::Take, &["x", "indices", "axis?"]),
    ("topk", Function::TopK, &["x", "k", "axis?", "largest?"]),
    ("argtopk", Function::ArgTopK, &["x", "k", "axis?", "largest?"]),
    ("diff", Function::Diff, &["x", "n?", "axis?"]),
    ("concat", Function::Concat, &["arrays", "axis?"]),
    ("stack", Function::Stack, &["arrays", "axis?"]),
    ("segment_sum", Function::Segment(SegmentOp::Sum), &["x", "ids", "segments?"]),
    ("segment_min", Function::Segment(SegmentOp::Min), &["x", "ids", "segments?"]),
    ("segment_max", Function::Segment(SegmentOp::Max), &["x", "ids", "segments?"]),
    ("segment_mean", Function::Segment(SegmentOp::Mean), &["x", "ids", "segments?"]),
    ("segment_count", Function::SegmentCount, &["ids", "segments?"]),
    ("arange", Function::Iota, &["start?", "stop?", "step?", "dtype?"]),
    ("linspace", Function::Linspace, &["start", "stop", "num?"]),
    ("array", Function::Array, &["x", "dtype?"]),
    ("from_bits", Function::FromBits, &["dtype", "bits"]),
    ("shape", Function::Shape, &["x"]),
    ("len", Function::Length, &["x"]),
    ("ndim", Function::Ndim, &["x"]),
    ("size", Function::Size, &["x"]),
];

/// Parameters of the reductions of the table; `initial` is what `min` and `max` begin with, so that an empty axis has a result.
const REDUCE: &[&str] = &["x", "axis?", "keepdims?"];
const REDUCE_DTYPE: &[&str] = &["x", "axis?", "keepdims?", "dtype?"];
const REDUCE_INITIAL: &[&str] = &["x", "axis?", "keepdims?", "initial?"];

/// Other names of functions: NumPy's, SciPy's, the DSL's.
const ALIASES: &[(&str, &str)] = &[
    ("absolute", "abs"),
    ("power", "pow"),
    ("true_divide", "divide"),
    ("mod", "remainder"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("radians", "deg2rad"),
    ("degrees", "rad2deg"),
    ("rint", "round"),
    ("around", "round"),
    ("fix", "trunc"),
    ("invert", "bitwise_invert"),
    ("bitwise_not", "bitwise_invert"),
    ("left_shift", "bitwise_left_shift"),
    ("right_shift", "bitwise_right_shift"),
    ("bitwise_count", "count_ones"),
    ("expit", "sigmoid"),
    ("clamp", "clip"),
    ("mul", "multiply"),
    ("sub", "subtract"),
    ("div", "divide"),
    ("neg", "negative"),
    ("eq", "equal"),
    ("ne", "not_equal"),
    ("lt", "less"),
    ("le", "less_equal"),
    ("gt", "greater"),
    ("ge", "greater_equal"),
    ("amin", "min"),
    ("amax", "max"),
    ("product", "prod"),
    ("concatenate", "concat"),
    ("select", "where"),
    ("cast", "astype"),
    ("transpose", "permute_dims"),
    ("t", "matrix_transpose"),
    ("unsqueeze", "expand_dims"),
    ("flatten", "ravel"),
    ("iota", "arange"),
    ("asarray", "array"),
    ("top_k", "topk"),
];

/// Other names of parameters.
const KEYWORDS: &[(&str, &str)] = &[
    ("dim", "axis"),
    ("axes", "axis"),
    ("keepdim", "keepdims"),
    ("ddof", "correction"),
    ("a", "x"),
    ("array", "x"),
    ("a_min", "low"),
    ("min", "low"),
    ("a_max", "high"),
    ("max", "high"),
    ("newshape", "shape"),
    ("x1", "x"),
    ("x2", "y"),
    ("b", "y"),
    ("other", "y"),
    ("num_segments", "segments"),
];

/// Numbers that have names.
const CONSTANTS: &[(&str, f64)] = &[
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("euler_gamma", 0.577_215_664_901_532_9),
];

/// Other names of dtypes.
const DTYPES: &[(&str, DType)] = &[
    ("bool_", DType::Bool),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("int", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("float16", DType::F16),
    ("bfloat16", DType::Bf16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float", DType::F64),
];

/// What is often looked for and is said in another way here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("trace", "write `einsum('ii', x)`"),
    ("diagonal", "write `einsum('ii->i', x)`"),
    ("cross", "write it by components: `stack([a[1] * b[2] - a[2] * b[1], ..])`"),
    ("multi_dot", "write `a @ b @ c`, or `einsum('ij,jk,kl', a, b, c)`, which chooses the order"),
    ("average", "write `mean(x)`, or `sum(x * w) / sum(w)`"),
    ("ptp", "write `max(x) - min(x)`"),
    ("vstack", "write `concat([a, b], axis=0)`"),
    ("hstack", "write `concat([a, b], axis=1)`"),
    ("moveaxis", "write `permute_dims(x, (1, 0, 2))`"),
    ("zeros_like", "write `0 * x`"),
    ("full", "write `broadcast_to(f32(1.5), (n, 3))`"),
    ("zeros", "write `broadcast_to(f32(0), (n, 3))`"),
    ("ones", "write `broadcast_to(f32(1), (n, 3))`"),
    (
        "argmin_with_value",
        "write `argmin(x, axis=1)` and `min(x, axis=1)` as two outputs: they become one kernel",
    ),
    (
        "argmax_with_value",
        "write `argmax(x, axis=1)` and `max(x, axis=1)` as two outputs: they become one kernel",
    ),
    ("roll", "write `concat([x[-1:], x[:-1]])`"),
    ("bincount", "write `segment_count(ids, k)`, or `segment_sum(weights, ids, k)`"),
    ("nan_to_num", "write `where(isnan(x), 0, x)`"),
    ("nansum", "write `sum(where(isnan(x), 0, x))`"),
    ("nanmean", "write `sum(where(isnan(x), 0, x)) / sum(~isnan(x))`"),
    ("isclose", "write `abs(a - b) <= 1e-8 + 1e-5 * abs(b)`"),
    ("allclose", "write `all(abs(a - b) <= 1e-8 + 1e-5 * abs(b))`"),
    ("eye", "write `(arange(n)[:, None] == arange(n)).astype(f64)`"),
    ("cumsum", "there are no prefix sums; compute it before, and pass it as an input"),
    ("sort", "write `topk(x, 10)` for the 10 greatest; a whole order is to be passed as an input"),
    ("argsort", "write `argtopk(x, 10)` for the 10 greatest; a whole order is to be passed as an input"),
    ("partition", "write `topk(x, 10)` for the 10 greatest, `topk(x, 10, largest=False)` for the least"),
    ("argpartition", "write `argtopk(x, 10)`, or `argtopk(x, 10, largest=False)`"),
    ("median", "there is no sorting; compute it before, and pass it as an input"),
];

/// The function of a name, its own name, and its parameters.
pub(crate) fn function(name: &str) -> Option<(Function, &'static str, Vec<&'static str>)> {
    let name = alias(ALIASES, name);
    if let Some(op) = Op::from_name(name) {
        let parameters = match op {
            Op::Clip => vec!["x", "low?", "high?"],
            Op::Round => vec!["x", "decimals?"],
            // Paddle's: where the smaller operand stands.
            op if PLACED_OPS.contains(&op) => op.operands().iter().copied().chain(["axis?"]).collect(),
            op => op.operands().to_vec(),
        };
        return Some((Function::Elementwise(op), op.name(), parameters));
    }
    if let Some(reduce) = ReduceOp::ALL.iter().copied().find(|reduce| reduce.name() == name) {
        let parameters = match reduce {
            ReduceOp::Min | ReduceOp::Max => REDUCE_INITIAL,
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => REDUCE_DTYPE,
            _ => REDUCE,
        };
        return Some((Function::Reduce(reduce), reduce.name(), parameters.to_vec()));
    }
    let (name, function, parameters) = FUNCTIONS.iter().find(|(own, ..)| *own == name)?;
    Some((*function, name, parameters.to_vec()))
}

/// The own name of a function, whose name may be another of it.
///
/// ```
/// assert_eq!(broadloom_text::own_name("arcsin"), Some("asin"));
/// assert!(broadloom_text::other_names("asin").any(|name| name == "arcsin"));
/// ```
pub fn own_name(name: &str) -> Option<&'static str> {
    function(name).map(|(_, own, _)| own)
}

/// The other names of a function, by its own.
pub fn other_names(own: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, of)| *of == own).map(|(name, _)| *name)
}

/// What to write in place of a function that does not exist.
pub(crate) fn elsewhere(name: &str) -> Option<&'static str> {
    ELSEWHERE.iter().find(|(own, _)| *own == name).map(|(_, help)| *help)
}

/// The parameter of a function that takes text.
pub(crate) fn text_parameter(function: &str) -> Option<&'static str> {
    (function == EINSUM).then_some(SUBSCRIPTS)
}

/// The own name of a parameter.
pub(crate) fn keyword(name: &str) -> &str {
    alias(KEYWORDS, name)
}

fn alias<'a>(table: &[(&str, &'a str)], name: &'a str) -> &'a str {
    table.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own)
}

pub(crate) fn constant(name: &str) -> Option<Literal> {
    CONSTANTS.iter().find(|(own, _)| *own == name).map(|(_, value)| Literal::Float(*value))
}

/// The dtype of a name: its own, or NumPy's.
pub fn dtype(name: &str) -> Option<DType> {
    let own = DType::ALL.iter().copied().find(|dtype| dtype.name() == name);
    own.or_else(|| DTYPES.iter().find(|(other, _)| *other == name).map(|(_, dtype)| *dtype))
}

/// All names of functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    let ops = Op::ALL.iter().map(|op| op.name());
    let reductions = ReduceOp::ALL.iter().map(|reduce| reduce.name());
    let others = FUNCTIONS.iter().map(|(name, ..)| *name);
    ops.chain(reductions).chain(others).chain(ALIASES.iter().map(|(name, _)| *name))
}

/// All names of dtypes.
pub(crate) fn dtypes() -> impl Iterator<Item = &'static str> {
    DType::ALL.iter().map(|dtype| dtype.name()).chain(DTYPES.iter().map(|(name, _)| *name))
}

/// The candidate that was probably meant: at most a third of its letters differ.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Longest name that is compared, in characters.
    const LONGEST: usize = 40;
    let letters: Vec<char> = name.chars().take(LONGEST + 1).collect();
    // Of one letter, any other name of one or two would be near.
    if !(2..=LONGEST).contains(&letters.len()) {
        return None;
    }
    let distance = |candidate: &&str| edits(&letters, candidate);
    let near = candidates.into_iter().filter(|candidate| candidate.len() <= 4 * LONGEST);
    let best = near.min_by_key(distance)?;
    let longest = letters.len().max(best.chars().count());
    (3 * distance(&best) <= longest.max(3)).then_some(best)
}

/// Letters to insert, remove, replace, or exchange with their neighbour.
fn edits(left: &[char], right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_leads_somewhere_and_to_one_place() {
        let mut names = HashSet::new();
        for name in functions() {
            assert!(names.insert(name), "{name} twice");
            assert!(function(name).is_some(), "{name}");
        }
        for (name, _) in ELSEWHERE {
            assert!(names.insert(name), "{name} exists");
        }
        for name in dtypes() {
            assert!(dtype(name).is_some() && function(name).is_none(), "{name}");
        }
    }

    #[test]
    fn the_nearest_name() {
        for (name, near) in [
            ("argmni", Some("argmin")),
            ("Sum", Some("sum")),
            ("sofmax", Some("softmax")),
            ("concatenat", Some("concatenate")),
            ("frobnicate", None),
            ("q", None),
        ] {
            assert_eq!(nearest(name, functions()), near, "{name}");
        }
        assert_eq!(nearest(&"a".repeat(1000), functions()), None);
    }
}
