//! What is wrong, as plain data: the kinds of mistakes, with the sizes, axes and dtypes involved.
//!
//! This knows nothing of the graph, which makes it. How it is explained is told in [`diagnostics`](crate::diagnostics).

mod conflict;
mod contraction;
mod operand;
mod requirement;

use crate::dim::DimError;
use crate::dtype::DType;
use crate::literal::Literal;
use crate::site::Site;
pub(crate) use conflict::rightmost;
pub use conflict::{Certainty, Conflict, Inferred, Size};
pub use contraction::{Alignment, Meeting, Misspelled, Rule, Subscripts};
pub use operand::{Made, Operand};
pub use requirement::Requirement;
use std::fmt;
use std::sync::Arc;

/// What a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// A symbol: letters, digits and `_`, not beginning with a digit.
    Symbol,
    /// An input or output: any printable text that is not empty, without quotes.
    Tensor,
}

/// Why an operand cannot be placed at an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplaced {
    /// Of equal ranks, the axis is 0 or -1.
    EqualRanks,
    /// There is no such axis; the only negative one is -1.
    NoAxis,
    /// The placed operand would reach beyond the last axis.
    TooLong,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// Operands do not broadcast. Conflicts in ascending order of axes; never empty.
    Broadcast(Vec<Conflict>),
    /// The operand does not stretch to the wanted shape, which stands as operand 1 in the conflicts.
    Stretch {
        /// What is asked for.
        wanted: Vec<Size>,
        /// In ascending order of axes; never empty.
        conflicts: Vec<Conflict>,
    },
    /// Operands of which the second is placed at an axis of the first do not broadcast.
    Placed {
        /// The axis.
        axis: i64,
        /// In ascending order of axes; never empty.
        conflicts: Vec<Conflict>,
    },
    /// An operand cannot be placed at an axis.
    Placement {
        /// The axis.
        axis: i64,
        /// Rank of the operand at which the other is placed.
        rank: usize,
        /// Rank of the operand that is placed, without axes of the literal size 1 at its end.
        placed: usize,
        /// Why not.
        because: Misplaced,
    },
    /// Operands of which products are summed do not fit.
    Contraction {
        /// Which axes meet.
        alignment: Arc<Alignment>,
        /// By which rules the axes of each conflict meet.
        meetings: Vec<Meeting>,
        /// In ascending order of columns; never empty.
        conflicts: Vec<Conflict>,
    },
    /// An operand of which products are summed has too few axes for it.
    TooFewAxes {
        /// What a sentence calls the operand.
        name: &'static str,
        /// Number of axes that are summed over.
        wanted: usize,
        /// Number of axes.
        rank: usize,
    },
    /// Axes to be summed over that are no pairs.
    Unpaired {
        /// Number of axes of the left operand.
        left: usize,
        /// Number of axes of the right operand.
        right: usize,
    },
    /// Subscripts of an `einsum` that say nothing.
    Subscripts(Box<Subscripts>),
    /// Operands with equally many elements of different shapes broadcast: a warning.
    Pointwise {
        /// Their number of elements.
        count: Size,
        /// The shape of the result.
        result: Vec<Size>,
        /// Whether the result has as many.
        is_harmless: bool,
    },
    /// Sizes that must be equal and are not known to be, though some of them are inferred.
    Undecided {
        /// The axis of the result; `None` of numbers of elements.
        axis: Option<usize>,
        /// The two sizes.
        sizes: Box<[Size; 2]>,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// Sizes that are declared to be equal and never are.
    NeverEqual {
        /// The one.
        left: Size,
        /// The other.
        right: Size,
    },
    /// A size is rebound to one that it never is.
    NeverRebound {
        /// Which axis.
        axis: usize,
        /// What it is, and what it should be.
        sizes: Box<[Size; 2]>,
    },
    /// A requirement that no values of the symbols meet, as was found in the end.
    NeverMet {
        /// Which.
        requirement: Requirement,
        /// What should not be negative.
        size: Size,
    },
    /// A fact stated of a symbol that is in use.
    LateFact {
        /// Its name.
        name: Box<str>,
        /// Where it was used first.
        used: Site,
    },
    /// Facts of a symbol that no size meets.
    ImpossibleFact {
        /// Its name.
        name: Box<str>,
    },
    /// A size that is inferred, or that may be 1, where it is no axis of an input.
    NotOfInput,
    /// The wanted shape has another number of elements.
    Count {
        /// What is asked for.
        wanted: Vec<Size>,
        /// Elements that there are.
        have: Size,
        /// Elements that are wanted.
        want: Size,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// The number of elements is not a multiple of the product of the given sizes.
    Indivisible {
        /// Elements that there are.
        have: Size,
        /// Product of the given sizes.
        by: Size,
        /// A symbol and what it would have to be a multiple of.
        multiple: Option<(Box<str>, i64)>,
    },
    /// More than one size is to be inferred.
    TwoInferred,
    /// An axis to be removed is not the literal 1.
    NotOne {
        /// Which.
        axis: usize,
        /// Its size.
        size: Size,
    },
    /// There is no such axis.
    NoAxis {
        /// As given.
        axis: i64,
        /// Number of axes.
        rank: usize,
    },
    /// An axis is given twice.
    RepeatedAxis {
        /// Which.
        axis: usize,
    },
    /// A permutation does not name every axis.
    NotPermutation {
        /// Number of axes given.
        given: usize,
        /// Number of axes.
        rank: usize,
    },
    /// A step of zero.
    ZeroStep,
    /// A slice or an index lies outside of its axis for all sizes.
    Outside {
        /// The axis of the operand.
        axis: usize,
        /// What is not met.
        requirement: Requirement,
        /// By how much; positive.
        by: Size,
    },
    /// A slice that ends where its axis does, and was written to go on: a warning.
    CutOff {
        /// The axis of the operand.
        axis: usize,
        /// Its size.
        size: i64,
    },
    /// More indices than axes.
    TooManyIndices {
        /// Number of indices.
        given: usize,
        /// Number of axes.
        rank: usize,
    },
    /// More axes than supported.
    RankTooLarge {
        /// Number of axes.
        rank: usize,
    },
    /// A target with fewer axes than the operand.
    RankTooSmall {
        /// Number of axes wanted.
        wanted: usize,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// A negative size.
    NegativeSize {
        /// Which axis.
        axis: usize,
        /// Its size.
        size: Size,
    },
    /// Sizes of two operands that must be equal, a literal 1 included.
    Unequal {
        /// The axis of both operands.
        axis: usize,
        /// What a sentence calls the operands.
        names: [Box<str>; 2],
        /// The two sizes.
        sizes: Box<[Size; 2]>,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// An operand of another rank than it must have.
    Rank {
        /// What a sentence calls the operand.
        name: Box<str>,
        /// Number of axes that it must have.
        expected: usize,
        /// Number of axes that it has.
        rank: usize,
    },
    /// More elements than can be addressed.
    TooManyElements,
    /// A size cannot be computed.
    Size(DimError),
    /// A reduction without identity over the constant size 0.
    EmptyReduction {
        /// Which axis.
        axis: usize,
    },
    /// Another number of best elements than there can be asked for.
    TopKCount {
        /// How many.
        k: i64,
    },
    /// More best elements than the axis has.
    TooFewElements {
        /// Which axis.
        axis: usize,
        /// How many are asked for.
        k: i64,
        /// How many are missing, at least; positive.
        by: Size,
    },
    /// Differences that are taken another number of times than they can be.
    DiffOrder {
        /// How often.
        order: i64,
    },
    /// An argument that means nothing: what the op does or needs, as the end of a sentence.
    Argument(&'static str),
    /// No input determines the symbol.
    Unsolvable {
        /// Its name.
        symbol: Box<str>,
    },
    /// The op has no meaning for these dtypes.
    NotDefined {
        /// Dtypes of the operands.
        dtypes: Vec<DType>,
    },
    /// Another number of operands than the op has.
    Arity {
        /// As many as the op has.
        expected: usize,
        /// As many as there are.
        given: usize,
    },
    /// The dtype cannot hold the literal.
    LiteralDoesNotFit {
        /// Which.
        literal: Literal,
        /// What it meets.
        dtype: DType,
    },
    /// Integers to the power of a negative literal.
    NegativeExponent {
        /// Which.
        exponent: Literal,
        /// Dtype of the base.
        dtype: DType,
    },
    /// The condition of a selection is not bool.
    ConditionNotBool {
        /// What it is.
        dtype: DType,
    },
    /// Indices that are not integers.
    IndicesNotInteger {
        /// What they are.
        dtype: DType,
    },
    /// A name that is not allowed.
    BadName {
        /// What it is the name of.
        kind: NameKind,
        /// The name.
        name: Box<str>,
    },
    /// An input declared again with another dtype or shape.
    DuplicateInput {
        /// Its dtype here.
        dtype: DType,
        /// Its shape here.
        dims: Vec<Size>,
        /// What it was first.
        first: Box<Operand>,
    },
    /// An assignment to what is no input.
    NotInput,
    /// An assignment to an input that may be stretched.
    AssignedStretched {
        /// Its name.
        name: Box<str>,
        /// An axis that may have size 1.
        axis: usize,
    },
    /// A second assignment to one input.
    AssignedTwice {
        /// Its name.
        name: Box<str>,
        /// Where the first is.
        first: Site,
    },
    /// An assignment of a larger shape: stretching is for the value, not for the input that it is written to.
    Grows {
        /// The input's name.
        name: Box<str>,
        /// Its shape.
        target: Vec<Size>,
        /// The shape to which both would stretch.
        result: Vec<Size>,
    },
    /// An assignment of another kind of dtype.
    OtherKind {
        /// What is assigned.
        value: DType,
        /// What the input holds.
        target: DType,
    },
    /// Two outputs of one name.
    DuplicateOutput {
        /// The name.
        name: Box<str>,
    },
    /// A graph without outputs.
    NoOutputs,
    /// An output that an earlier mistake spoiled, of which this graph has no record.
    PoisonedOutput {
        /// Its name.
        name: Box<str>,
    },
    /// More expressions or symbols than ids.
    TooLarge,
    /// A symbol of another graph.
    ForeignSymbol,
    /// Tensors of two graphs, or of a graph that was dropped.
    ForeignTensor {
        /// Where this graph was made.
        here: Site,
        /// Where the other graph was made, if it still exists.
        there: Option<Site>,
    },
}

/// The kinds of mistakes by a stable code: `S` for shapes, `T` for types, `N` for names and
/// the graph as a whole, `L` for warnings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// The code as text, e.g. `S001`.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Problem {
    /// The problem as one of a function that the user called.
    pub(crate) fn of_call(self, call: &str) -> Problem {
        match self {
            Problem::Outside { axis, requirement, by } => {
                Problem::Outside { axis, requirement: requirement.of_call(call), by }
            }
            other => other,
        }
    }

    /// The code.
    pub fn code(&self) -> Code {
        let of = |certainty: Certainty| if certainty == Certainty::Never { "S001" } else { "S002" };
        Code(match self {
            Problem::Broadcast(conflicts)
            | Problem::Stretch { conflicts, .. }
            | Problem::Contraction { conflicts, .. } => {
                rightmost(conflicts).map_or("S001", |conflict| of(conflict.certainty))
            }
            Problem::Placed { axis: _, conflicts } => {
                conflicts.first().map_or("S001", |conflict| of(conflict.certainty))
            }
            Problem::Count { certainty, .. }
            | Problem::Unequal { certainty, .. }
            | Problem::Undecided { certainty, .. } => of(*certainty),
            Problem::NeverEqual { .. } | Problem::NeverRebound { .. } => "S001",
            Problem::Grows { .. } | Problem::AssignedStretched { .. } => "S003",
            Problem::Indivisible { .. } | Problem::TwoInferred => "S004",
            Problem::NotOne { .. } => "S005",
            Problem::NoAxis { .. }
            | Problem::RepeatedAxis { .. }
            | Problem::NotPermutation { .. }
            | Problem::Unpaired { .. } => "S006",
            Problem::ZeroStep
            | Problem::Outside { .. }
            | Problem::NeverMet { .. }
            | Problem::TooManyIndices { .. } => "S007",
            Problem::RankTooLarge { .. }
            | Problem::RankTooSmall { .. }
            | Problem::Rank { .. }
            | Problem::TooFewAxes { .. } => "S008",
            Problem::NegativeSize { .. } | Problem::TooManyElements | Problem::Size(_) => "S009",
            Problem::EmptyReduction { .. } => "S010",
            Problem::Argument(_) => "S016",
            Problem::Unsolvable { .. } => "S011",
            Problem::Placement { .. } => "S012",
            Problem::TopKCount { .. } | Problem::TooFewElements { .. } | Problem::DiffOrder { .. } => "S015",
            Problem::LateFact { .. } | Problem::ImpossibleFact { .. } | Problem::NotOfInput => "S013",
            Problem::Subscripts(_) => "S014",
            Problem::Pointwise { .. } => "L001",
            Problem::CutOff { .. } => "L002",
            Problem::NotDefined { .. } | Problem::Arity { .. } => "T001",
            Problem::LiteralDoesNotFit { .. } | Problem::NegativeExponent { .. } => "T002",
            Problem::ConditionNotBool { .. } => "T003",
            Problem::IndicesNotInteger { .. } => "T004",
            Problem::OtherKind { .. } => "T005",
            Problem::BadName { .. } => "N001",
            Problem::DuplicateInput { .. }
            | Problem::DuplicateOutput { .. }
            | Problem::AssignedTwice { .. } => "N002",
            Problem::NoOutputs | Problem::PoisonedOutput { .. } => "N003",
            Problem::TooLarge => "N004",
            Problem::ForeignSymbol | Problem::ForeignTensor { .. } => "N005",
            Problem::NotInput => "N006",
        })
    }
}
