//! The table of reductions: one row holds everything that is known about a reduction. The module also holds the
//! constants of the fixed order in which float sums and products combine.
//!
//! ```text
//! /// doc line
//! name = Variant: Accumulator -> Result { combine: op, identity: x, finish: x, floats: order, empty: meaning }
//! ```
//! | column | meaning |
//! | --- | --- |
//! | `Accumulator` | the dtype that accumulates: `Wide` ([`DType::accumulator`]), `Quotient` (the same for floats, `f64` for others), `Truth` (bool) or `Operand` (its own) |
//! | `Result` | its dtype: `Accumulated`, `Rounded` (floats round once to the operand's dtype if that has 16 bits) or `Index` (i64) |
//! | `combine` | the op that combines two accumulated values; for reductions that return an index, the values at the indices |
//! | `identity` | the value that combines with any `x` to `x` itself, in the accumulator |
//! | `finish` | the value added to an accumulated float at the end |
//! | `floats` | whether floats combine in the `Fixed` order below or in `Any` order; other dtypes may always use any order |
//! | `empty` | the result of an empty axis: the finished `Identity`, or an error (`Refused`) |
//!
//! Along one axis whose length `L` is known at run time:
//!
//! ```text
//! L <= 64   elements in index order into one accumulator
//! L >  64   blocks of 1,024; element i of a block joins lane i mod 16, each lane in index order;
//!           lanes combine by halves: l with l+8, then l+4, l+2, l+1 (absent ones are skipped);
//!           block results combine in index order like a binary counter: equal ranks merge as soon as
//!           both exist, leftovers from right to left
//! ```
//!
//! A segmented reduction of rows adds to several tables of segments, which threads share: the fewer, the larger a table
//! is, so that they take little memory, whatever the number of rows ([`segment_tables`]); those without rows are left out
//! ([`used_tables`]). Each block of [`SEGMENT_BLOCK`]
//! rows is cut into one part for each table ([`rows_of_table`]). A table combines its rows in index order, sums of floats in
//! `f64`; those of `f64` keep the rounding errors as well. Tables combine like any axis.
//!
//! Several axes reduce one at a time, innermost first. [Order-free](ReduceOp::is_order_free) reductions have the
//! same result in any order. A sum or mean whose operand is a product or a square of floats accumulates each
//! product with one fma if the numerics level is fused.

use crate::dim::{Dim, DimError};
use crate::dtype::{DType, Scalar};
use crate::ops::Op;

/// Up to this length, an axis is added in index order into one accumulator.
pub const SEQUENTIAL_LIMIT: usize = 64;
/// The number of lanes to which the elements of a block are dealt.
pub const LANES: usize = 16;
/// The number of elements in a block.
pub const BLOCK: usize = 1024;
/// The number of rows after which the tables of a segmented reduction take turns again.
pub const SEGMENT_BLOCK: usize = 65_536;
/// The tables of a segmented reduction of few elements, less one. With 64 of them, sums of 4 million rows in 10 to 1,000,000
/// groups took 0.9 to 1.1 of the time, with four times the memory (AMD EPYC, one thread).
const MORE_TABLES: i64 = 15;
/// A table with this many elements has half as many others beside it.
const HALF_THE_TABLES: i64 = 2048;
/// The rows that a table takes in a block are a multiple of this number.
const ROW_UNIT: i64 = 16;
/// The fewest rows that a table takes in a block.
const LEAST_ROWS: i64 = (SEGMENT_BLOCK as i64 / ROW_UNIT / (MORE_TABLES + 1) + 1) * ROW_UNIT;
/// The index of a missing element, where more of the best elements are requested than a chunk of rows has.
pub const NO_INDEX: i64 = i64::MAX;

/// Returns the number of tables of a segmented reduction, from 1 to 16, for a table of so many elements.
///
/// # Errors
/// Returns an error if the size has too many terms.
pub fn segment_tables(elements: &Dim) -> Result<Dim, DimError> {
    let reduced = elements.add(&Dim::constant(HALF_THE_TABLES))?;
    reduced.fits_into(MORE_TABLES * HALF_THE_TABLES)?.add(&Dim::ONE)
}

/// Returns a number of tables that is at least that of those that get any of so many rows, and not more than `tables`.
///
/// # Errors
/// Returns an error if the size has too many terms.
pub fn used_tables(tables: &Dim, rows: &Dim) -> Result<Dim, DimError> {
    rows.ceil_div(LEAST_ROWS)?.least(tables)
}

/// Returns the number of rows that a table takes in each block of [`SEGMENT_BLOCK`]; the last tables may have fewer.
///
/// # Errors
/// Returns an error if the size has too many terms.
pub fn rows_of_table(tables: &Dim) -> Result<Dim, DimError> {
    tables.fits_into(SEGMENT_BLOCK as i64 / ROW_UNIT)?.add(&Dim::ONE)?.scale(ROW_UNIT)
}

/// The columns of a row; see the module documentation.
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

// A float sum starts at -0, which unlike +0 changes no other value, and adds +0 at the end, so that a sum of
// negative zeros, or of no elements, is +0 as in NumPy.
define_reductions! {
    /// Sum, in the accumulator dtype; 0 for an empty axis.
    sum = Sum: Wide -> Rounded { combine: Add, identity: -0.0, finish: Some(0.0), floats: Fixed, empty: Identity }
    /// Product, in the accumulator dtype; 1 for an empty axis.
    prod = Prod: Wide -> Rounded { combine: Multiply, identity: 1.0, finish: None, floats: Fixed, empty: Identity }
    /// Least element, NaN if any is NaN; the axes must not be empty.
    min = Min: Operand -> Accumulated { combine: Minimum, identity: f64::INFINITY, finish: None, floats: Any, empty: Refused }
    /// Greatest element, NaN if any is NaN; the axes must not be empty.
    max = Max: Operand -> Accumulated { combine: Maximum, identity: f64::NEG_INFINITY, finish: None, floats: Any, empty: Refused }
    /// Sum divided by the number of elements; integers are computed in `f64`; NaN for an empty axis.
    mean = Mean: Quotient -> Rounded { combine: Add, identity: -0.0, finish: Some(0.0), floats: Fixed, empty: Identity }
    /// Index (i64) of the least element, counted in row-major order over the reduced axes: the lowest index among
    /// equal elements, or the first NaN if there is one. The axes must not be empty.
    argmin = ArgMin: Operand -> Index { combine: Minimum, identity: f64::INFINITY, finish: None, floats: Any, empty: Refused }
    /// Index of the greatest element, by the same rules.
    argmax = ArgMax: Operand -> Index { combine: Maximum, identity: f64::NEG_INFINITY, finish: None, floats: Any, empty: Refused }
    /// Whether any element is true (not zero); false for an empty axis.
    any = Any: Truth -> Accumulated { combine: LogicalOr, identity: 0.0, finish: None, floats: Any, empty: Identity }
    /// Whether all elements are true (not zero); true for an empty axis.
    all = All: Truth -> Accumulated { combine: LogicalAnd, identity: 1.0, finish: None, floats: Any, empty: Identity }
}

impl ReduceOp {
    /// Returns the name in the text language, in dumps and in messages.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the dtype in which an operand of dtype `operand` is accumulated (for arg-reductions: compared).
    pub fn accumulator(self, operand: DType) -> DType {
        match self.row().accumulator {
            Accumulator::Wide => operand.accumulator(),
            Accumulator::Quotient if operand.is_float() => operand.accumulator(),
            Accumulator::Quotient => DType::F64,
            Accumulator::Operand => operand,
            Accumulator::Truth => DType::Bool,
        }
    }

    /// Returns the dtype of the result for an operand of dtype `operand`.
    pub fn result_dtype(self, operand: DType) -> DType {
        match self.row().result {
            ResultRule::Index => DType::I64,
            ResultRule::Rounded if operand.is_float() => operand,
            ResultRule::Rounded | ResultRule::Accumulated => self.accumulator(operand),
        }
    }

    /// Returns whether the result is the index of an element.
    pub fn is_arg(self) -> bool {
        self.row().result == ResultRule::Index
    }

    /// Returns the op that combines two accumulated values (for arg-reductions: the compared values).
    pub fn combine(self) -> Op {
        self.row().combine
    }

    /// For a least or greatest element, returns the comparison that holds where one value beats another. A NaN
    /// beats every number.
    pub fn beats(self) -> Option<Op> {
        match self.combine() {
            Op::Minimum => Some(Op::Less),
            Op::Maximum => Some(Op::Greater),
            _ => None,
        }
    }

    /// Returns whether an empty axis has no result: an error at build time for the constant 0, a check at bind time
    /// for a symbol.
    pub fn needs_elements(self) -> bool {
        self.row().empty == Empty::Refused
    }

    /// Returns whether the result is the same in any order of combination, for operands accumulated in
    /// `accumulator`.
    pub fn is_order_free(self, accumulator: DType) -> bool {
        self.row().floats == Order::Any || !accumulator.is_float()
    }

    /// Returns the value that combines with any `x` to `x` itself; see [`ReduceOp::finish`] for float sums.
    pub fn identity(self, accumulator: DType) -> Scalar {
        let identity = self.row().identity;
        match accumulator {
            // Minus infinity is not zero, so a cast would make it true.
            DType::Bool => Scalar::Bool(identity > 0.0),
            // The cast saturates to the ends of every integer dtype.
            _ => Scalar::F64(identity).cast(accumulator),
        }
    }

    /// Returns the value that is added to the accumulated value at the end, if any.
    pub fn finish(self, accumulator: DType) -> Option<Scalar> {
        let finish = self.row().finish.filter(|_| accumulator.is_float());
        finish.map(|value| Scalar::F64(value).cast(accumulator))
    }

    /// Returns the value of an empty axis, for reductions that accept one.
    pub fn empty(self, accumulator: DType) -> Scalar {
        self.finish(accumulator).unwrap_or_else(|| self.identity(accumulator))
    }
}

impl std::fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
