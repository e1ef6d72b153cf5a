//! The table of reductions: one row says everything that is known about one. And the constants of the fixed order in
//! which float sums and products combine.
//!
//! ```text
//! /// doc line
//! name = Variant: Accumulator -> Result { combine: op, identity: x, finish: x, floats: order, empty: meaning }
//! ```
//!
//! | column | says |
//! | --- | --- |
//! | `Accumulator` | the dtype that accumulates: `Wide` ([`DType::accumulator`]), `Quotient` (the same of floats, `f64` of others), `Truth` (bool) or `Operand` (its own) |
//! | `Result` | its dtype: `Accumulated`, `Rounded` (of floats back to the operand's, which has 16 bits, once) or `Index` (i64) |
//! | `combine` | the op of two accumulated values; of those that give an index, of the values behind it |
//! | `identity` | what combines with any `x` to `x` itself, as the accumulator has it |
//! | `finish` | what is added to an accumulated float in the end |
//! | `floats` | whether floats combine in the `Fixed` order below, or in `Any`; everything else may always |
//! | `empty` | what an axis without elements gives: the finished `Identity`, or it is `Refused` |
//!
//! Along one axis of run-time length `L`:
//!
//! ```text
//! L <= 64   elements in index order into one accumulator
//! L >  64   blocks of 1,024; element i of a block joins lane i mod 16, each lane in index order;
//!           lanes combine by halves: l with l+8, then l+4, l+2, l+1 (absent ones are skipped);
//!           block results combine in index order like a binary counter: equal ranks merge as soon as
//!           both exist, leftovers from right to left
//! ```
//!
//! Several axes reduce one at a time, innermost first. Reductions that are [order-free](ReduceOp::is_order_free)
//! have the same result in any order. A sum or mean whose operand is a multiplication or a square of floats
//! accumulates the product with one fma where the numerics level is fused.

use crate::dtype::{DType, Scalar};
use crate::ops::Op;

/// Up to this length an axis is added in index order into one accumulator.
pub const SEQUENTIAL_LIMIT: usize = 64;
/// Number of lanes that the elements of a block are dealt to.
pub const LANES: usize = 16;
/// Number of elements of a block.
pub const BLOCK: usize = 1024;
/// Number of rows of a block of a segmented reduction.
pub const SEGMENT_BLOCK: usize = 65_536;
/// The index of what is missing where more of the best elements are asked for than a chunk of rows has.
pub const NO_INDEX: i64 = i64::MAX;

/// What a row says, see the module documentation.
struct Row {
    name: &'static str,
    accumulator: Accumulator,
    result: ResultRule,
    combine: Op,
    identity: f64,
    finish: Option<f64>,
    floats: Order,
    empty: Empty,
}

enum Accumulator {
    Wide,
    Quotient,
    Operand,
    Truth,
}

#[derive(PartialEq)]
enum ResultRule {
    Accumulated,
    Rounded,
    Index,
}

#[derive(PartialEq)]
enum Order {
    Fixed,
    Any,
}

#[derive(PartialEq)]
enum Empty {
    Identity,
    Refused,
}

macro_rules! define_reductions {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident: $accumulator:ident -> $result:ident {
        combine: $combine:ident, identity: $identity:expr, finish: $finish:expr, floats: $order:ident, empty: $empty:ident
    })*) => {
        /// A reduction over axes: a row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ReduceOp {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl ReduceOp {
            /// Every reduction, in the order of the table.
            pub const ALL: &'static [ReduceOp] = &[$(ReduceOp::$variant),*];

            fn row(self) -> &'static Row {
                match self {
                    $(ReduceOp::$variant => &Row {
                        name: stringify!($name),
                        accumulator: Accumulator::$accumulator,
                        result: ResultRule::$result,
                        combine: Op::$combine,
                        identity: $identity,
                        finish: $finish,
                        floats: Order::$order,
                        empty: Empty::$empty,
                    },)*
                }
            }
        }
    };
}

// A float sum begins at -0, which unlike +0 changes no other value, and adds +0 in the end, so that a sum of negative
// zeros, or of nothing, is +0 as in NumPy.
define_reductions! {
    /// Sum, in the accumulator dtype; 0 for an empty axis.
    sum = Sum: Wide -> Rounded { combine: Add, identity: -0.0, finish: Some(0.0), floats: Fixed, empty: Identity }
    /// Product, in the accumulator dtype; 1 for an empty axis.
    prod = Prod: Wide -> Rounded { combine: Multiply, identity: 1.0, finish: None, floats: Fixed, empty: Identity }
    /// Least element, NaN if any is NaN; the axes must not be empty.
    min = Min: Operand -> Accumulated { combine: Minimum, identity: f64::INFINITY, finish: None, floats: Any, empty: Refused }
    /// Greatest element, NaN if any is NaN; the axes must not be empty.
    max = Max: Operand -> Accumulated { combine: Maximum, identity: f64::NEG_INFINITY, finish: None, floats: Any, empty: Refused }
    /// Sum divided by the number of elements; integers compute in `f64`; NaN for an empty axis.
    mean = Mean: Quotient -> Rounded { combine: Add, identity: -0.0, finish: Some(0.0), floats: Fixed, empty: Identity }
    /// Index (i64) of the least element, counted in row-major order over the reduced axes: the lowest index of
    /// equal ones, the first NaN if there is one. The axes must not be empty.
    argmin = ArgMin: Operand -> Index { combine: Minimum, identity: f64::INFINITY, finish: None, floats: Any, empty: Refused }
    /// Index of the greatest element, by the same rules.
    argmax = ArgMax: Operand -> Index { combine: Maximum, identity: f64::NEG_INFINITY, finish: None, floats: Any, empty: Refused }
    /// Whether any element is true (not zero); false for an empty axis.
    any = Any: Truth -> Accumulated { combine: LogicalOr, identity: 0.0, finish: None, floats: Any, empty: Identity }
    /// Whether all elements are true (not zero); true for an empty axis.
    all = All: Truth -> Accumulated { combine: LogicalAnd, identity: 1.0, finish: None, floats: Any, empty: Identity }
}

impl ReduceOp {
    /// The name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The dtype in which an operand of `operand` is accumulated (for arg-reductions: compared).
    pub fn accumulator(self, operand: DType) -> DType {
        match self.row().accumulator {
            Accumulator::Wide => operand.accumulator(),
            Accumulator::Quotient if operand.is_float() => operand.accumulator(),
            Accumulator::Quotient => DType::F64,
            Accumulator::Operand => operand,
            Accumulator::Truth => DType::Bool,
        }
    }

    /// The dtype of the result for an operand of `operand`.
    pub fn result_dtype(self, operand: DType) -> DType {
        match self.row().result {
            ResultRule::Index => DType::I64,
            ResultRule::Rounded if operand.is_float() => operand,
            ResultRule::Rounded | ResultRule::Accumulated => self.accumulator(operand),
        }
    }

    /// Whether the result is the index of an element.
    pub fn is_arg(self) -> bool {
        self.row().result == ResultRule::Index
    }

    /// The op that combines two accumulated values (for arg-reductions: those that are compared).
    pub fn combine(self) -> Op {
        self.row().combine
    }

    /// Of a least or greatest element: the comparison that holds where one value beats another. A NaN beats all.
    pub fn beats(self) -> Option<Op> {
        match self.combine() {
            Op::Minimum => Some(Op::Less),
            Op::Maximum => Some(Op::Greater),
            _ => None,
        }
    }

    /// Whether an empty axis has no result: a build error for the constant 0, a check at bind for a symbol.
    pub fn needs_elements(self) -> bool {
        self.row().empty == Empty::Refused
    }

    /// Whether the result is the same in any order of combination, for operands accumulated in `accumulator`.
    pub fn is_order_free(self, accumulator: DType) -> bool {
        self.row().floats == Order::Any || !accumulator.is_float()
    }

    /// The value that combines with any `x` to `x` itself; see [`ReduceOp::finish`] for sums of floats.
    pub fn identity(self, accumulator: DType) -> Scalar {
        let identity = self.row().identity;
        match accumulator {
            // Minus infinity is not zero, and so would be true.
            DType::Bool => Scalar::Bool(identity > 0.0),
            // The cast saturates to the ends of every integer dtype.
            _ => Scalar::F64(identity).cast(accumulator),
        }
    }

    /// What is added to the accumulated value in the end, if anything.
    pub fn finish(self, accumulator: DType) -> Option<Scalar> {
        let finish = self.row().finish.filter(|_| accumulator.is_float());
        finish.map(|value| Scalar::F64(value).cast(accumulator))
    }

    /// The value of an axis without elements, for reductions that accept one.
    pub fn empty(self, accumulator: DType) -> Scalar {
        self.finish(accumulator).unwrap_or_else(|| self.identity(accumulator))
    }
}

impl std::fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
