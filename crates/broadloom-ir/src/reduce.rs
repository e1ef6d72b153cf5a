//! The table of reductions, and the constants of the fixed order in which float sums and products combine.
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

/// Up to this length an axis is added in index order into one accumulator.
pub const SEQUENTIAL_LIMIT: usize = 64;
/// Number of lanes that the elements of a block are dealt to.
pub const LANES: usize = 16;
/// Number of elements of a block.
pub const BLOCK: usize = 1024;
/// Number of rows of a block of a segmented reduction.
pub const SEGMENT_BLOCK: usize = 65_536;

/// A reduction over axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReduceOp {
    /// Sum, in the accumulator dtype; 0 for an empty axis.
    Sum,
    /// Product, in the accumulator dtype; 1 for an empty axis.
    Prod,
    /// Least element, NaN if any is NaN; the axes must not be empty.
    Min,
    /// Greatest element, NaN if any is NaN; the axes must not be empty.
    Max,
    /// Sum divided by the number of elements; integers compute in `f64`; NaN for an empty axis.
    Mean,
    /// Index (i64) of the least element, counted in row-major order over the reduced axes: the lowest index of
    /// equal ones, the first NaN if there is one. The axes must not be empty.
    ArgMin,
    /// Index of the greatest element, by the same rules.
    ArgMax,
    /// Whether any element is true (not zero); false for an empty axis.
    Any,
    /// Whether all elements are true (not zero); true for an empty axis.
    All,
}

impl ReduceOp {
    /// Every reduction.
    pub const ALL: &'static [ReduceOp] = &[
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Min,
        ReduceOp::Max,
        ReduceOp::Mean,
        ReduceOp::ArgMin,
        ReduceOp::ArgMax,
        ReduceOp::Any,
        ReduceOp::All,
    ];

    /// The name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Min => "min",
            ReduceOp::Max => "max",
            ReduceOp::Mean => "mean",
            ReduceOp::ArgMin => "argmin",
            ReduceOp::ArgMax => "argmax",
            ReduceOp::Any => "any",
            ReduceOp::All => "all",
        }
    }

    /// The dtype in which an operand of `operand` is accumulated (for arg-reductions: compared).
    pub fn accumulator(self, operand: DType) -> DType {
        match self {
            ReduceOp::Sum | ReduceOp::Prod => operand.accumulator(),
            ReduceOp::Mean if operand.is_float() => operand.accumulator(),
            ReduceOp::Mean => DType::F64,
            ReduceOp::Any | ReduceOp::All => DType::Bool,
            ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax => operand,
        }
    }

    /// The dtype of the result for an operand of `operand`.
    pub fn result_dtype(self, operand: DType) -> DType {
        match self {
            ReduceOp::ArgMin | ReduceOp::ArgMax => DType::I64,
            // A float of 16 bits accumulates in `f32` and is rounded once.
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean if operand.is_float() => operand,
            _ => self.accumulator(operand),
        }
    }

    /// Whether an empty axis has no result: a build error for the constant 0, a check at bind for a symbol.
    pub fn needs_elements(self) -> bool {
        match self {
            ReduceOp::Min | ReduceOp::Max | ReduceOp::ArgMin | ReduceOp::ArgMax => true,
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean | ReduceOp::Any | ReduceOp::All => false,
        }
    }

    /// Whether the result is the same in any order of combination, for operands accumulated in `accumulator`.
    pub fn is_order_free(self, accumulator: DType) -> bool {
        match self {
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => !accumulator.is_float(),
            _ => true,
        }
    }

    /// The value that combines with any `x` to `x` itself. A float sum begins at -0, which unlike +0 changes no
    /// other value; see [`ReduceOp::finish`].
    pub fn identity(self, accumulator: DType) -> Scalar {
        // The cast saturates to the ends of every integer dtype.
        let extreme = |float: f64| Scalar::F64(float).cast(accumulator);
        match self {
            ReduceOp::Sum | ReduceOp::Mean => Scalar::F64(-0.0).cast(accumulator),
            ReduceOp::Prod => Scalar::I64(1).cast(accumulator),
            ReduceOp::Min | ReduceOp::ArgMin => extreme(f64::INFINITY),
            ReduceOp::Max | ReduceOp::ArgMax => match accumulator {
                DType::Bool => Scalar::Bool(false),
                _ => extreme(f64::NEG_INFINITY),
            },
            ReduceOp::Any => Scalar::Bool(false),
            ReduceOp::All => Scalar::Bool(true),
        }
    }

    /// What is added to the accumulated value in the end, if anything: a float sum adds +0, so that a sum of
    /// negative zeros, or of nothing, is +0 as in NumPy.
    pub fn finish(self, accumulator: DType) -> Option<Scalar> {
        match self {
            ReduceOp::Sum | ReduceOp::Mean if accumulator.is_float() => {
                Some(Scalar::F64(0.0).cast(accumulator))
            }
            _ => None,
        }
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
