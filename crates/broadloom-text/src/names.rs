//! The names of the language: functions with their parameters and their other names in NumPy, constants, dtypes, and what to write
//! instead of others.

mod absent;
mod aliases;
mod dtypes;
mod nearest;
mod positions;

pub(crate) use absent::instead_of_keyword;
pub use absent::{absent_keywords, elsewhere};
use aliases::{ALIASES, KEYWORDS};
use broadloom_ir::graph::{Composed, Literal, PLACED_OPS, SegmentOp, SetOp, Sliding, Triangle};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
pub use dtypes::dtype;
pub(crate) use dtypes::{dtypes, quoted_dtype};
pub use nearest::nearest;
pub(crate) use positions::{OUT, numpy_order, of_method};

/// A statistic composed of several reductions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Statistic {
    Var { numbers: bool, root: bool },
    CountNonzero,
    LogSumExp,
    Softmax,
    LogSoftmax,
    LayerNorm,
    Norm,
    Ptp,
    Average,
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

/// A rearrangement of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrange {
    Flip,
    /// Along this axis.
    FlipAxis(i64),
    SwapAxes,
    MoveAxis,
    Rot90,
    Roll,
    Repeat,
    Tile,
    Pad,
    AtLeast(usize),
    Diagonal,
    Trace,
    Triangle(Triangle),
    Vander,
    Windows,
    Unfold,
}

/// Functions of samples, of positions among sorted numbers, and of relations between rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sampled {
    Trapezoid,
    Slide(Sliding),
    Polyval,
    Digitize,
    Interp,
    IsIn,
    Cov,
    Corrcoef,
    Cross,
    Diag,
    Bincount,
    ArrayEqual,
}

/// Elements that a mask selects, and distinct elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selected {
    Compress,
    Extract,
    FlatNonzero,
    ArgWhere,
    UniqueValues,
    Sets(SetOp),
    TrimZeros,
}

/// Tensors joined along an axis, which they may have to get first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joined {
    Rows,
    Columns,
    Horizontal,
    Depth,
    Append,
}

/// Functions with several results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Several {
    Divmod,
    Modf,
    Meshgrid,
    BroadcastArrays,
    /// Along the given axis, or this one.
    Split(Option<i64>),
    ArraySplit,
    Unstack,
    Histogram,
    UnravelIndex,
    Nonzero,
    Unique,
    UniqueCounts,
    UniqueInverse,
    UniqueAll,
    Gradient,
    /// Derivatives of a loss without axes, or weighted ones of a tensor.
    Grad,
    Vjp,
}

/// How a tensor of one value gets its shape: from a shape, or from another tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filled {
    Shape(Option<u8>),
    Like(Option<u8>),
}

/// A recurrence along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recurrence {
    EwmMean,
    EwmVar,
    EwmStd,
    Filter,
    Linear,
    LogSumExp,
    Drawdown,
}

impl Recurrence {
    /// Whether the axis is the first one unless said, along which series run; otherwise it is the last one.
    pub fn is_of_series(self) -> bool {
        !matches!(self, Recurrence::Filter | Recurrence::LogSumExp)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Elementwise(Op),
    Composed(Composed),
    IsClose,
    AllClose,
    NanToNum,
    Reduce(ReduceOp),
    /// A reduction of the elements that are not NaN.
    NanReduce(ReduceOp),
    Statistic(Statistic),
    Product(ProductOf),
    Einsum,
    Sampled(Sampled),
    Several(Several),
    Joined(Joined),
    Triangular,
    Copy,
    Select,
    Cast,
    /// The same bits as another dtype.
    View,
    Reshape,
    Rebind,
    Ravel,
    BroadcastTo,
    PermuteDims,
    MatrixTranspose,
    ExpandDims,
    Squeeze,
    Arrange(Arrange),
    Take,
    TakeAlongAxis,
    Filled(Filled),
    Eye,
    TopK,
    ArgTopK,
    /// The elements in order, or their indices.
    Sort {
        indices: bool,
    },
    /// The elements in an order in which some positions are those of the sorted elements, or their indices.
    Partition {
        indices: bool,
    },
    Search,
    /// The median of all elements, or of those that are not NaN.
    Median {
        numbers: bool,
    },
    Quantile {
        percents: bool,
        numbers: bool,
    },
    /// Running results along an axis, the first one unless said: NumPy's `add.accumulate` and its like.
    Accumulate(ReduceOp),
    /// A reduction over axes, the first one unless said: NumPy's `add.reduce` and its like.
    Fold(ReduceOp),
    Scan {
        op: ReduceOp,
        /// Only elements that are not NaN.
        numbers: bool,
    },
    Diff,
    Recurrence(Recurrence),
    Concat,
    Stack,
    Jvp,
    Segment(SegmentOp),
    SegmentCount,
    SegmentTables,
    Iota,
    Linspace,
    Array,
    FromBits,
    Shape,
    Length,
    Ndim,
    Size,
    /// A computed integer as a size.
    AsSize,
    Selected(Selected),
}

/// The functions with a text argument, its position, and its parameter.
const TEXTS: &[(&str, usize, &str)] = &[
    ("einsum", 0, "subscripts"),
    ("pad", 2, "mode"),
    ("sort", 2, "kind"),
    ("argsort", 2, "kind"),
    ("partition", 3, "kind"),
    ("argpartition", 3, "kind"),
    ("searchsorted", 2, "side"),
    ("quantile", 3, "method"),
    ("nanquantile", 3, "method"),
    ("percentile", 3, "method"),
    ("nanpercentile", 3, "method"),
    ("convolve", 2, "mode"),
    ("correlate", 2, "mode"),
    ("meshgrid", usize::MAX, "indexing"),
    ("trim_zeros", 1, "trim"),
];

/// The functions outside the tables of elementwise ops and reductions, with their parameters. `?` marks an optional
/// parameter; `*` marks one that takes all further arguments; `=` marks one that is only given by name.
const FUNCTIONS: &[(&str, Function, &[&str])] = &[
    ("var", Function::Statistic(Statistic::Var { numbers: false, root: false }), SPREAD),
    ("std", Function::Statistic(Statistic::Var { numbers: false, root: true }), SPREAD),
    ("nanvar", Function::Statistic(Statistic::Var { numbers: true, root: false }), SPREAD),
    ("nanstd", Function::Statistic(Statistic::Var { numbers: true, root: true }), SPREAD),
    ("nansum", Function::NanReduce(ReduceOp::Sum), REDUCE_SUM),
    ("nanprod", Function::NanReduce(ReduceOp::Prod), REDUCE_SUM),
    ("nanmean", Function::NanReduce(ReduceOp::Mean), REDUCE_MEAN),
    ("nanmin", Function::NanReduce(ReduceOp::Min), REDUCE_EXTREME),
    ("nanmax", Function::NanReduce(ReduceOp::Max), REDUCE_EXTREME),
    ("nanargmin", Function::NanReduce(ReduceOp::ArgMin), REDUCE),
    ("nanargmax", Function::NanReduce(ReduceOp::ArgMax), REDUCE),
    ("ptp", Function::Statistic(Statistic::Ptp), REDUCE),
    ("average", Function::Statistic(Statistic::Average), &["x", "axis?", "weights?", "keepdims?"]),
    ("isclose", Function::IsClose, &["x", "y", "rtol?", "atol?", "equal_nan?"]),
    ("allclose", Function::AllClose, &["x", "y", "rtol?", "atol?", "equal_nan?"]),
    ("nan_to_num", Function::NanToNum, &["x", "nan?", "posinf?", "neginf?"]),
    ("count_nonzero", Function::Statistic(Statistic::CountNonzero), &["x", "axis?", "keepdims?"]),
    ("logsumexp", Function::Statistic(Statistic::LogSumExp), &["x", "axis?", "keepdims?"]),
    ("softmax", Function::Statistic(Statistic::Softmax), &["x", "axis?"]),
    ("log_softmax", Function::Statistic(Statistic::LogSoftmax), &["x", "axis?"]),
    (
        "layer_norm",
        Function::Statistic(Statistic::LayerNorm),
        &["x", "axis?", "scale?", "offset?", "epsilon?"],
    ),
    ("norm", Function::Statistic(Statistic::Norm), &["x", "ord?", "axis?", "keepdims?"]),
    ("matmul", Function::Product(ProductOf::Matmul), &["x", "y", "dtype?="]),
    ("dot", Function::Product(ProductOf::Dot), &["x", "y"]),
    ("vdot", Function::Product(ProductOf::Vdot), &["x", "y"]),
    ("vecdot", Function::Product(ProductOf::Vecdot), &["x", "y", "axis?", "keepdims?=", "dtype?="]),
    ("inner", Function::Product(ProductOf::Inner), &["x", "y"]),
    ("outer", Function::Product(ProductOf::Outer), &["x", "y"]),
    ("tensordot", Function::Product(ProductOf::Tensordot), &["x", "y", "axes?"]),
    ("kron", Function::Product(ProductOf::Kron), &["x", "y"]),
    ("einsum", Function::Einsum, &["subscripts", "operands*"]),
    ("where", Function::Select, &["condition", "x?", "y?"]),
    ("astype", Function::Cast, &["x", "dtype"]),
    ("view", Function::View, &["x", "dtype"]),
    ("reshape", Function::Reshape, &["x", "shape*"]),
    ("rebind", Function::Rebind, &["x", "shape*"]),
    ("ravel", Function::Ravel, &["x"]),
    ("broadcast_to", Function::BroadcastTo, &["x", "shape*"]),
    ("permute_dims", Function::PermuteDims, &["x", "axis*?"]),
    ("swapaxes", Function::Arrange(Arrange::SwapAxes), &["x", "axis1", "axis2"]),
    ("moveaxis", Function::Arrange(Arrange::MoveAxis), &["x", "source", "destination"]),
    ("matrix_transpose", Function::MatrixTranspose, &["x"]),
    ("expand_dims", Function::ExpandDims, &["x", "axis*"]),
    ("squeeze", Function::Squeeze, &["x", "axis*?"]),
    ("flip", Function::Arrange(Arrange::Flip), &["x", "axis*?"]),
    ("flipud", Function::Arrange(Arrange::FlipAxis(0)), &["x"]),
    ("fliplr", Function::Arrange(Arrange::FlipAxis(1)), &["x"]),
    ("rot90", Function::Arrange(Arrange::Rot90), &["x", "k?", "axes?"]),
    ("roll", Function::Arrange(Arrange::Roll), &["x", "shift", "axis?"]),
    ("repeat", Function::Arrange(Arrange::Repeat), &["x", "repeats", "axis?"]),
    ("tile", Function::Arrange(Arrange::Tile), &["x", "reps"]),
    ("pad", Function::Arrange(Arrange::Pad), &["x", "pad_width", "mode?", "constant_values?"]),
    ("atleast_1d", Function::Arrange(Arrange::AtLeast(1)), &["x"]),
    ("atleast_2d", Function::Arrange(Arrange::AtLeast(2)), &["x"]),
    ("atleast_3d", Function::Arrange(Arrange::AtLeast(3)), &["x"]),
    ("diagonal", Function::Arrange(Arrange::Diagonal), &["x", "offset?", "axis1?", "axis2?"]),
    ("trace", Function::Arrange(Arrange::Trace), &["x", "offset?", "axis1?", "axis2?"]),
    ("tril", Function::Arrange(Arrange::Triangle(Triangle::Lower)), &["x", "k?"]),
    ("triu", Function::Arrange(Arrange::Triangle(Triangle::Upper)), &["x", "k?"]),
    ("vander", Function::Arrange(Arrange::Vander), &["x", "n?", "increasing?"]),
    ("sliding_window_view", Function::Arrange(Arrange::Windows), &["x", "window_shape", "axis?"]),
    ("unfold", Function::Arrange(Arrange::Unfold), &["x", "axis", "size", "step?"]),
    ("full", Function::Filled(Filled::Shape(None)), &["shape", "fill_value", "dtype?"]),
    ("zeros", Function::Filled(Filled::Shape(Some(0))), &["shape", "dtype?"]),
    ("ones", Function::Filled(Filled::Shape(Some(1))), &["shape", "dtype?"]),
    ("full_like", Function::Filled(Filled::Like(None)), &["x", "fill_value", "dtype?"]),
    ("zeros_like", Function::Filled(Filled::Like(Some(0))), &["x", "dtype?"]),
    ("ones_like", Function::Filled(Filled::Like(Some(1))), &["x", "dtype?"]),
    ("eye", Function::Eye, &["n", "m?", "k?", "dtype?"]),
    ("take", Function::Take, &["x", "indices", "axis?"]),
    ("take_along_axis", Function::TakeAlongAxis, &["x", "indices", "axis?"]),
    ("topk", Function::TopK, &["x", "k", "axis?", "largest?"]),
    ("argtopk", Function::ArgTopK, &["x", "k", "axis?", "largest?"]),
    ("sort", Function::Sort { indices: false }, SORT),
    ("argsort", Function::Sort { indices: true }, SORT),
    ("partition", Function::Partition { indices: false }, PARTITION),
    ("argpartition", Function::Partition { indices: true }, PARTITION),
    ("searchsorted", Function::Search, &["x", "v", "side?"]),
    ("median", Function::Median { numbers: false }, REDUCE),
    ("nanmedian", Function::Median { numbers: true }, REDUCE),
    ("quantile", Function::Quantile { percents: false, numbers: false }, QUANTILE),
    ("nanquantile", Function::Quantile { percents: false, numbers: true }, QUANTILE),
    ("percentile", Function::Quantile { percents: true, numbers: false }, QUANTILE),
    ("nanpercentile", Function::Quantile { percents: true, numbers: true }, QUANTILE),
    ("cumsum", Function::Scan { op: ReduceOp::Sum, numbers: false }, SCAN_FROM_NONE),
    ("cumprod", Function::Scan { op: ReduceOp::Prod, numbers: false }, SCAN_FROM_NONE),
    ("cummin", Function::Scan { op: ReduceOp::Min, numbers: false }, SCAN),
    ("cummax", Function::Scan { op: ReduceOp::Max, numbers: false }, SCAN),
    ("nancumsum", Function::Scan { op: ReduceOp::Sum, numbers: true }, SCAN),
    ("nancumprod", Function::Scan { op: ReduceOp::Prod, numbers: true }, SCAN),
    ("add.accumulate", Function::Accumulate(ReduceOp::Sum), ACCUMULATE),
    ("multiply.accumulate", Function::Accumulate(ReduceOp::Prod), ACCUMULATE),
    ("minimum.accumulate", Function::Accumulate(ReduceOp::Min), ACCUMULATE),
    ("maximum.accumulate", Function::Accumulate(ReduceOp::Max), ACCUMULATE),
    ("add.reduce", Function::Fold(ReduceOp::Sum), REDUCE_SUM),
    ("multiply.reduce", Function::Fold(ReduceOp::Prod), REDUCE_SUM),
    ("minimum.reduce", Function::Fold(ReduceOp::Min), REDUCE_SUM),
    ("maximum.reduce", Function::Fold(ReduceOp::Max), REDUCE_SUM),
    ("logical_and.reduce", Function::Fold(ReduceOp::All), REDUCE_SUM),
    ("logical_or.reduce", Function::Fold(ReduceOp::Any), REDUCE_SUM),
    ("diff", Function::Diff, &["x", "n?", "axis?"]),
    (
        "ewm_mean",
        Function::Recurrence(Recurrence::EwmMean),
        &["x", "alpha", "axis?", "adjust?", "ignore_na?"],
    ),
    (
        "ewm_var",
        Function::Recurrence(Recurrence::EwmVar),
        &["x", "alpha", "axis?", "adjust?", "ignore_na?", "bias?"],
    ),
    (
        "ewm_std",
        Function::Recurrence(Recurrence::EwmStd),
        &["x", "alpha", "axis?", "adjust?", "ignore_na?", "bias?"],
    ),
    ("lfilter", Function::Recurrence(Recurrence::Filter), &["b", "a", "x", "axis?"]),
    ("linear_recurrence", Function::Recurrence(Recurrence::Linear), &["a", "x", "axis?", "initial?"]),
    ("cumulative_logsumexp", Function::Recurrence(Recurrence::LogSumExp), &["x", "axis?"]),
    ("drawdown", Function::Recurrence(Recurrence::Drawdown), &["x", "axis?"]),
    ("concat", Function::Concat, &["arrays", "axis?"]),
    ("stack", Function::Stack, &["arrays", "axis?"]),
    ("vstack", Function::Joined(Joined::Rows), &["arrays"]),
    ("hstack", Function::Joined(Joined::Horizontal), &["arrays"]),
    ("dstack", Function::Joined(Joined::Depth), &["arrays"]),
    ("column_stack", Function::Joined(Joined::Columns), &["arrays"]),
    ("append", Function::Joined(Joined::Append), &["x", "values", "axis?"]),
    ("copy", Function::Copy, &["x"]),
    ("tri", Function::Triangular, &["n", "m?", "k?", "dtype?"]),
    ("diag", Function::Sampled(Sampled::Diag), &["x", "k?"]),
    ("trapezoid", Function::Sampled(Sampled::Trapezoid), &["y", "x?", "dx?", "axis?"]),
    ("gradient", Function::Several(Several::Gradient), &["x", "spacing*?", "axis?", "edge_order?"]),
    ("grad", Function::Several(Several::Grad), &["loss", "by"]),
    ("vjp", Function::Several(Several::Vjp), &["y", "by", "cotangent"]),
    ("jvp", Function::Jvp, &["y", "by", "tangent"]),
    ("convolve", Function::Sampled(Sampled::Slide(Sliding::Convolve)), &["x", "y", "mode?"]),
    ("correlate", Function::Sampled(Sampled::Slide(Sliding::Correlate)), &["x", "y", "mode?"]),
    ("polyval", Function::Sampled(Sampled::Polyval), &["p", "x"]),
    ("digitize", Function::Sampled(Sampled::Digitize), &["x", "bins", "right?"]),
    ("interp", Function::Sampled(Sampled::Interp), &["x", "xp", "fp", "left?", "right?"]),
    ("histogram", Function::Several(Several::Histogram), &["x", "bins?", "range?", "density?"]),
    ("bincount", Function::Sampled(Sampled::Bincount), &["x", "weights?", "minlength?"]),
    ("isin", Function::Sampled(Sampled::IsIn), &["x", "values", "invert?"]),
    ("array_equal", Function::Sampled(Sampled::ArrayEqual), &["x", "y"]),
    ("cov", Function::Sampled(Sampled::Cov), &["x", "y?", "rowvar?", "bias?", "correction?"]),
    ("corrcoef", Function::Sampled(Sampled::Corrcoef), &["x", "y?", "rowvar?"]),
    ("cross", Function::Sampled(Sampled::Cross), &["x", "y", "axis?"]),
    ("divmod", Function::Several(Several::Divmod), &["x", "y", "dtype?="]),
    ("modf", Function::Several(Several::Modf), &["x", "dtype?="]),
    ("meshgrid", Function::Several(Several::Meshgrid), &["arrays*", "indexing?", "sparse?"]),
    ("broadcast_arrays", Function::Several(Several::BroadcastArrays), &["arrays*"]),
    ("split", Function::Several(Several::Split(None)), &["x", "sections", "axis?"]),
    ("array_split", Function::Several(Several::ArraySplit), &["x", "sections", "axis?"]),
    ("vsplit", Function::Several(Several::Split(Some(0))), &["x", "sections"]),
    ("hsplit", Function::Several(Several::Split(Some(1))), &["x", "sections"]),
    ("dsplit", Function::Several(Several::Split(Some(2))), &["x", "sections"]),
    ("unstack", Function::Several(Several::Unstack), &["x", "axis?"]),
    ("unravel_index", Function::Several(Several::UnravelIndex), &["indices", "shape"]),
    ("nonzero", Function::Several(Several::Nonzero), &["x"]),
    ("flatnonzero", Function::Selected(Selected::FlatNonzero), &["x"]),
    ("argwhere", Function::Selected(Selected::ArgWhere), &["x"]),
    ("compress", Function::Selected(Selected::Compress), &["condition", "x", "axis?"]),
    ("extract", Function::Selected(Selected::Extract), &["condition", "x"]),
    (
        "unique",
        Function::Several(Several::Unique),
        &["x", "return_index?", "return_inverse?", "return_counts?", "axis?", "equal_nan?="],
    ),
    ("unique_values", Function::Selected(Selected::UniqueValues), &["x"]),
    ("unique_counts", Function::Several(Several::UniqueCounts), &["x"]),
    ("unique_inverse", Function::Several(Several::UniqueInverse), &["x"]),
    ("unique_all", Function::Several(Several::UniqueAll), &["x"]),
    ("union1d", Function::Selected(Selected::Sets(SetOp::Union)), &["x", "y"]),
    ("intersect1d", Function::Selected(Selected::Sets(SetOp::Intersection)), &["x", "y"]),
    ("setdiff1d", Function::Selected(Selected::Sets(SetOp::Difference)), &["x", "y"]),
    ("setxor1d", Function::Selected(Selected::Sets(SetOp::SymmetricDifference)), &["x", "y"]),
    ("trim_zeros", Function::Selected(Selected::TrimZeros), &["x", "trim?"]),
    ("segment_sum", Function::Segment(SegmentOp::Sum), &["x", "ids", "segments?"]),
    ("segment_min", Function::Segment(SegmentOp::Min), &["x", "ids", "segments?"]),
    ("segment_max", Function::Segment(SegmentOp::Max), &["x", "ids", "segments?"]),
    ("segment_mean", Function::Segment(SegmentOp::Mean), &["x", "ids", "segments?"]),
    ("segment_count", Function::SegmentCount, &["ids", "segments?"]),
    ("segment_tables", Function::SegmentTables, &["x", "ids", "segments", "elements", "op", "compensated?"]),
    ("arange", Function::Iota, &["start?", "stop?", "step?", "dtype?"]),
    ("linspace", Function::Linspace, &["start", "stop", "num?", "endpoint?", "dtype?="]),
    ("array", Function::Array, &["x", "dtype?"]),
    ("from_bits", Function::FromBits, &["dtype", "bits"]),
    ("shape", Function::Shape, &["x"]),
    ("len", Function::Length, &["x"]),
    ("ndim", Function::Ndim, &["x"]),
    ("size", Function::Size, &["x"]),
    ("as_size", Function::AsSize, &["x"]),
];

/// The parameters of reductions. `initial` is their initial value, so that even an empty axis has a least element.
const REDUCE: &[&str] = &["x", "axis?", "keepdims?"];
const REDUCE_TRUTH: &[&str] = &["x", "axis?", "keepdims?", "where?"];
const REDUCE_MEAN: &[&str] = &["x", "axis?", "keepdims?", "dtype?", "where?"];
const REDUCE_SUM: &[&str] = &["x", "axis?", "keepdims?", "dtype?", "initial?", "where?"];
const REDUCE_EXTREME: &[&str] = &["x", "axis?", "keepdims?", "initial?", "where?"];
const SORT: &[&str] = &["x", "axis?", "kind?", "stable?", "descending?"];
const PARTITION: &[&str] = &["x", "kth", "axis?", "kind?"];
const QUANTILE: &[&str] = &["x", "q", "axis?", "method?", "keepdims?"];
const ACCUMULATE: &[&str] = &["x", "axis?", "dtype?"];
const SCAN: &[&str] = &["x", "axis?", "dtype?"];
const SCAN_FROM_NONE: &[&str] = &["x", "axis?", "dtype?", "include_initial?"];
const SPREAD: &[&str] = &["x", "axis?", "correction?", "keepdims?", "dtype?", "where?"];

/// Named numbers.
const CONSTANTS: &[(&str, f64)] = &[
    ("pi", std::f64::consts::PI),
    ("e", std::f64::consts::E),
    ("inf", f64::INFINITY),
    ("nan", f64::NAN),
    ("euler_gamma", 0.577_215_664_901_532_9),
];

/// Returns the function of a name, its primary name, and its parameters.
pub(crate) fn function(name: &str) -> Option<(Function, &'static str, Vec<&'static str>)> {
    let name = alias(ALIASES, name);
    if let Some(op) = Op::from_name(name) {
        let parameters = match op {
            Op::Clip => vec!["x", "low?", "high?", "dtype?="],
            Op::Round => vec!["x", "decimals?"],
            // Paddle's parameter: the axis at which the smaller operand is aligned.
            op if PLACED_OPS.contains(&op) => {
                op.operands().iter().copied().chain(["axis?", "dtype?="]).collect()
            }
            op => op.operands().iter().copied().chain(["dtype?="]).collect(),
        };
        return Some((Function::Elementwise(op), op.name(), parameters));
    }
    if let Some(reduce) = ReduceOp::ALL.iter().copied().find(|reduce| reduce.name() == name) {
        let parameters = match reduce {
            ReduceOp::Min | ReduceOp::Max => REDUCE_EXTREME,
            ReduceOp::Sum | ReduceOp::Prod => REDUCE_SUM,
            ReduceOp::Mean => REDUCE_MEAN,
            ReduceOp::Any | ReduceOp::All => REDUCE_TRUTH,
            ReduceOp::ArgMin | ReduceOp::ArgMax => REDUCE,
        };
        return Some((Function::Reduce(reduce), reduce.name(), parameters.to_vec()));
    }
    if let Some(composed) = Composed::ALL.iter().copied().find(|composed| composed.name() == name) {
        let parameters = composed.operands().iter().copied().chain(["dtype?="]).collect();
        return Some((Function::Composed(composed), composed.name(), parameters));
    }
    let (name, function, parameters) = FUNCTIONS.iter().find(|(own, ..)| *own == name)?;
    Some((*function, name, parameters.to_vec()))
}

/// Returns the primary name of a function, by any of its names.
///
/// ```
/// assert_eq!(broadloom_text::own_name("arcsin"), Some("asin"));
/// assert!(broadloom_text::other_names("asin").any(|name| name == "arcsin"));
/// ```
pub fn own_name(name: &str) -> Option<&'static str> {
    function(name).map(|(_, own, _)| own)
}

/// Returns the other names of a function, by its primary name.
pub fn other_names(own: &str) -> impl Iterator<Item = &'static str> {
    ALIASES.iter().filter(move |(_, of)| *of == own).map(|(name, _)| *name)
}

/// Returns the other names of parameters, each with its primary name.
pub fn keywords() -> &'static [(&'static str, &'static str)] {
    KEYWORDS
}

/// Returns the position of a function's text argument, and its parameter.
pub(crate) fn text_parameter(function: &str) -> Option<(usize, &'static str)> {
    let text = TEXTS.iter().find(|(own, ..)| *own == function);
    text.map(|(_, position, parameter)| (*position, *parameter))
}

/// Returns a parameter without its marks.
pub(crate) fn bare(parameter: &str) -> &str {
    parameter.trim_end_matches(['*', '?', '='])
}

/// Returns the primary name of a parameter.
pub(crate) fn keyword(name: &str) -> &str {
    alias(KEYWORDS, name)
}

fn alias<'a>(table: &[(&str, &'a str)], name: &'a str) -> &'a str {
    table.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| own)
}

pub(crate) fn constant(name: &str) -> Option<Literal> {
    CONSTANTS.iter().find(|(own, _)| *own == name).map(|(_, value)| Literal::Float(*value))
}

/// Returns the names of all functions.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    let ops = Op::ALL.iter().map(|op| op.name());
    let reductions = ReduceOp::ALL.iter().map(|reduce| reduce.name());
    let composed = Composed::ALL.iter().map(|composed| composed.name());
    let others = composed.chain(FUNCTIONS.iter().map(|(name, ..)| *name));
    ops.chain(reductions).chain(others).chain(ALIASES.iter().map(|(name, _)| *name))
}

#[cfg(test)]
mod tests {
    use super::absent::ABSENT;
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_leads_somewhere_and_to_one_place() {
        let mut names = HashSet::new();
        for name in functions() {
            assert!(names.insert(name), "{name} twice");
            assert!(function(name).is_some(), "{name}");
        }
        // NumPy's `select` is a different function from the one with this name here.
        for name in ABSENT.iter().flat_map(|(names, _)| *names).filter(|name| **name != "select") {
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
