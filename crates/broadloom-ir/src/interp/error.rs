//! The errors of interpreting a checked graph.

use crate::dim::{DimError, Facts};
use crate::dtype::DType;
use crate::graph::BoundsFault;
use crate::ids::ExprId;
use crate::problem::Requirement;

/// The reason why a graph could not be interpreted on some arrays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InterpretError {
    /// The number of arrays differs from that of declared inputs.
    #[error("the graph has {expected} inputs, but {found} arrays were passed")]
    InputCount {
        /// Number of inputs of the graph.
        expected: usize,
        /// Number of arrays passed.
        found: usize,
    },
    /// An array and its input have different dtypes.
    #[error("input `{name}` is {expected}, but its array is {found}")]
    InputDType {
        /// Name of the input.
        name: Box<str>,
        /// Declared dtype.
        expected: DType,
        /// Dtype of the array.
        found: DType,
    },
    /// An array and its input have different numbers of axes.
    #[error("input `{name}` has rank {expected}, but its array has rank {found}")]
    InputRank {
        /// Name of the input.
        name: Box<str>,
        /// Declared rank.
        expected: usize,
        /// Rank of the array.
        found: usize,
    },
    /// An array whose list of elements does not fill its shape.
    #[error("the array for input `{name}` has shape {shape:?}, but {found} elements")]
    ElementCount {
        /// Name of the input.
        name: Box<str>,
        /// Shape of the array.
        shape: Vec<usize>,
        /// Length of the list of elements.
        found: usize,
    },
    /// An element of an array has a different dtype from the array.
    #[error("the array for input `{name}` is {expected}, but its element {position} is {found}")]
    ElementDType {
        /// Name of the input.
        name: Box<str>,
        /// Row-major position of the first such element.
        position: usize,
        /// Dtype of the array.
        expected: DType,
        /// Dtype of the element.
        found: DType,
    },
    /// The size of an axis contradicts its declared size at the sizes that earlier axes determined.
    #[error("axis {axis} of input `{name}` has size {found}, but {}", declared(dim, *expected))]
    SizesDisagree {
        /// Name of the input.
        name: Box<str>,
        /// The axis.
        axis: usize,
        /// Size of the array's axis.
        found: usize,
        /// Declared size.
        dim: Box<str>,
        /// Value of the declared size.
        expected: i64,
    },
    /// The declared size of an axis has no solution.
    #[error(
        "axis {axis} of input `{name}` has size {found}, but no `{symbol}` >= 0 gives `{dim}` that value"
    )]
    NoSolution {
        /// Name of the input.
        name: Box<str>,
        /// The axis.
        axis: usize,
        /// Size of the array's axis.
        found: usize,
        /// Declared size.
        dim: Box<str>,
        /// The symbol that was to be solved.
        symbol: Box<str>,
    },
    /// No input axis determines a symbol, and its size is not given.
    #[error("the size `{symbol}` is not given, and no input axis determines it")]
    Unsolved {
        /// The symbol.
        symbol: Box<str>,
    },
    /// The size of a symbol contradicts the facts in the graph.
    #[error("the size `{symbol}` is {value}, but it must be {}", stated(facts, *unit))]
    Facts {
        /// The symbol.
        symbol: Box<str>,
        /// The size with its name.
        value: i64,
        /// The number that it must be a multiple of.
        unit: i64,
        /// The declared facts, in units.
        facts: Facts,
    },
    /// A size was given for a name that belongs to no symbol.
    #[error("there is no symbol `{name}`")]
    NoSymbol {
        /// The name.
        name: Box<str>,
    },
    /// A size was given for a symbol that has another size.
    #[error("the size `{symbol}` is given as {given}, but it is {found}")]
    GivenSize {
        /// The symbol.
        symbol: Box<str>,
        /// The given size.
        given: i64,
        /// The actual size.
        found: i64,
    },
    /// A size does not fit `i64`.
    #[error("the size `{dim}` cannot be computed")]
    Size {
        /// The size.
        dim: Box<str>,
        /// Why.
        #[source]
        source: DimError,
    },
    /// A condition on sizes that the graph left to the call does not hold.
    #[error("{}{requirement}: `{nonnegative}` is {value}", .expr.map_or(String::new(), |expr| format!("{expr}: ")))]
    Obligation {
        /// The expression that requires it; `None` for a declaration.
        expr: Option<ExprId>,
        /// The reason.
        requirement: Requirement,
        /// The size that must not be negative, or must be zero.
        nonnegative: Box<str>,
        /// Its value.
        value: i64,
    },
    /// An array exceeds [`MAX_ELEMENTS`](super::MAX_ELEMENTS), or the available memory.
    #[error("{expr} of shape {shape:?} has too many elements to be interpreted")]
    TooLarge {
        /// The expression.
        expr: ExprId,
        /// Shape of the array.
        shape: Vec<usize>,
    },
    /// An index of a `take` outside its axis.
    #[error("{expr}: index {value} at position {position} is out of range for an axis of size {size}")]
    Index {
        /// The earliest expression with such an index.
        expr: ExprId,
        /// Smallest row-major position of such an index in the operand that holds the indices.
        position: usize,
        /// The index.
        value: i64,
        /// Size of the axis.
        size: usize,
    },
    /// A negative exponent of an integer power.
    #[error("{expr}: negative exponent {value} of an integer power at position {position}")]
    NegativeExponent {
        /// The earliest expression with such an exponent.
        expr: ExprId,
        /// Smallest row-major position of such an exponent in the result.
        position: usize,
        /// The exponent.
        value: i64,
    },
    /// A computed size that is negative.
    #[error("{expr}: the size is {value}")]
    NegativeSize {
        /// The expression that decides the size.
        expr: ExprId,
        /// Its value.
        value: i64,
    },
    /// An element of a histogram without a given range that is not finite.
    #[error("{expr}: {value} at position {position} has no bin in the range of the data")]
    NoBin {
        /// The expression that checks the data.
        expr: ExprId,
        /// Smallest row-major position of such an element.
        position: usize,
        /// The element: `nan`, `inf` or `-inf`.
        value: &'static str,
    },
    /// Bounds that are not those of bins.
    #[error("{expr}: the bound at position {position} {fault}")]
    Bounds {
        /// The expression that checks the bounds.
        expr: ExprId,
        /// The position of the first bound that is wrong.
        position: usize,
        /// What is wrong with it.
        fault: BoundsFault,
    },
    /// The concrete rules give a different shape from the symbolic ones: a bug in Broadloom, not a mistake of the
    /// caller.
    #[error("{expr} has shape {concrete:?}, but {inferred:?} was inferred for it")]
    ShapeDisagrees {
        /// The expression.
        expr: ExprId,
        /// The inferred shape at the solved sizes.
        inferred: Vec<i64>,
        /// The shape by the concrete rules.
        concrete: Vec<usize>,
    },
    /// A concrete rule refuses what the graph accepted when it was built: a bug in Broadloom, not a mistake of the
    /// caller.
    #[error("{expr} was accepted when built, but {rule}")]
    Unsound {
        /// The expression.
        expr: ExprId,
        /// The rule.
        rule: Rule,
    },
}

fn declared(dim: &str, value: i64) -> String {
    let literal = dim.parse() == Ok(value);
    if literal { format!("{dim} is declared") } else { format!("`{dim}` is {value}") }
}

fn stated(facts: &Facts, unit: i64) -> String {
    let upper =
        facts.upper.map_or(String::new(), |upper| format!(", at most {}", upper.saturating_mul(unit)));
    format!("at least {}{upper} and a multiple of {unit}", facts.lower.saturating_mul(unit))
}

/// A rule on concrete operands that every node of a checked graph satisfies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// Sizes on one axis are equal or 1.
    #[error("its operands do not broadcast")]
    Broadcast,
    /// A reshape keeps the number of elements.
    #[error("it changes the number of elements")]
    Reshape,
    /// A slice stays inside its operand.
    #[error("it reaches outside its operand")]
    Slice,
    /// Axes exist, are distinct and, where removed, of size 1.
    #[error("its axes do not fit its operand")]
    Axes,
    /// Dtypes are those of the op table, and of the node.
    #[error("its dtypes do not fit")]
    Types,
    /// A minimum or maximum has an element.
    #[error("it reduces no elements")]
    EmptyAxes,
    /// Operands come before their use.
    #[error("one of its operands has no value")]
    Operand,
    /// No mistake is left in a checked graph.
    #[error("it is the result of an error")]
    Poison,
}

/// The fault of a node, before the node is named.
#[derive(Debug)]
pub(super) enum Fault {
    Unsound(Rule),
    TooLarge(Vec<usize>),
    Index { position: usize, value: i64, size: usize },
    NegativeExponent { position: usize, value: i64 },
}

impl Fault {
    pub(super) fn at(self, expr: ExprId) -> InterpretError {
        match self {
            Fault::Unsound(rule) => InterpretError::Unsound { expr, rule },
            Fault::TooLarge(shape) => InterpretError::TooLarge { expr, shape },
            Fault::Index { position, value, size } => InterpretError::Index { expr, position, value, size },
            Fault::NegativeExponent { position, value } => {
                InterpretError::NegativeExponent { expr, position, value }
            }
        }
    }
}
