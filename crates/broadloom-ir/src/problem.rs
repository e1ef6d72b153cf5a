//! Mistakes as plain data: their kinds, with the sizes, axes and dtypes involved.
//!
//! This module does not depend on the graph, which creates the data. [`diagnostics`](crate::diagnostics) explains
//! them.

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

/// The thing that a name belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameKind {
    /// A symbol: letters, digits and `_`, not starting with a digit.
    Symbol,
    /// An input or output: any printable text without quotes that is not empty.
    Tensor,
}

/// The reason why an operand cannot be aligned with an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplaced {
    /// For equal ranks, the axis must be 0 or -1.
    EqualRanks,
    /// There is no such axis; the only negative one is -1.
    NoAxis,
    /// The aligned operand would extend beyond the last axis.
    TooLong,
}

/// What wraps in integers with few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapped {
    /// Differences below 0, which unsigned integers do not hold.
    Difference,
    /// Differences of signed integers.
    SignedDifference,
    /// Negatives of unsigned integers.
    Negation,
    /// Squares.
    Square,
    /// Sums of tensors.
    Sum,
    /// Products of tensors, of which one may be known to be small.
    Product,
    /// Sums of products.
    SumOfProducts,
}

/// Where an axis of size 1 comes from that stretches, so that two operands of equal numbers of elements broadcast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ones {
    /// It is an axis of data, or of a result that has it for another reason: a product, or a reduction that keeps its axes.
    Given,
    /// The program adds it, as for a table of all pairs.
    Added,
    /// The program adds it to combine a tensor with itself.
    OfItself,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// Operands do not broadcast. Conflicts in ascending order of axes; never empty.
    Broadcast(Vec<Conflict>),
    /// The operand does not stretch to the wanted shape, which is operand 1 in the conflicts.
    Stretch {
        /// The wanted shape.
        wanted: Vec<Size>,
        /// In ascending order of axes; never empty.
        conflicts: Vec<Conflict>,
    },
    /// Operands do not broadcast when the second is aligned with an axis of the first.
    Placed {
        /// The axis.
        axis: i64,
        /// In ascending order of axes; never empty.
        conflicts: Vec<Conflict>,
    },
    /// An operand cannot be aligned with an axis.
    Placement {
        /// The axis.
        axis: i64,
        /// The rank of the larger operand.
        rank: usize,
        /// The rank of the aligned operand, without trailing axes of the literal size 1.
        placed: usize,
        /// The reason.
        because: Misplaced,
    },
    /// Operands of a sum of products do not fit.
    Contraction {
        /// The axes that meet.
        alignment: Arc<Alignment>,
        /// The rules by which the axes of each conflict meet.
        meetings: Vec<Meeting>,
        /// In ascending order of columns; never empty.
        conflicts: Vec<Conflict>,
    },
    /// An operand of a sum of products has too few axes.
    TooFewAxes {
        /// The operand's name in a sentence.
        name: &'static str,
        /// The number of axes to sum over.
        wanted: usize,
        /// Number of axes.
        rank: usize,
    },
    /// The axes to sum over do not form pairs.
    Unpaired {
        /// Number of axes of the left operand.
        left: usize,
        /// Number of axes of the right operand.
        right: usize,
    },
    /// The subscripts of an `einsum` are invalid.
    Subscripts(Box<Subscripts>),
    /// Operands of different shapes with equal numbers of elements broadcast: a warning.
    Pointwise {
        /// Their number of elements.
        count: Size,
        /// The shape of the result.
        result: Vec<Size>,
        /// Whether the result has the same number of elements.
        is_harmless: bool,
        /// Where the axis that stretches comes from.
        ones: Ones,
    },
    /// Integers wrap in a dtype with few bits: a warning.
    Wraps {
        /// The dtype.
        dtype: DType,
        /// What does not fit.
        of: Wrapped,
    },
    /// An operand is a reduction of the other one, and its axes meet other axes than those that they were: a warning.
    Misaligned {
        /// The axes of the other operand that were reduced.
        reduced: Vec<usize>,
        /// An axis that was kept.
        own: usize,
        /// The axis that it meets.
        at: usize,
    },
    /// Sizes must be equal but are not known to be, although some of them are inferred.
    Undecided {
        /// The axis of the result; `None` for numbers of elements.
        axis: Option<usize>,
        /// The two sizes.
        sizes: Box<[Size; 2]>,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// Sizes were declared equal but never are.
    NeverEqual {
        /// The first size.
        left: Size,
        /// The second size.
        right: Size,
    },
    /// A size is rebound to a size that it never has.
    NeverRebound {
        /// The axis.
        axis: usize,
        /// The actual size, and the requested one.
        sizes: Box<[Size; 2]>,
    },
    /// At the end, no values of the symbols satisfy a requirement.
    NeverMet {
        /// The requirement.
        requirement: Requirement,
        /// The size that must not be negative.
        size: Size,
    },
    /// A fact is declared about a symbol that is in use.
    LateFact {
        /// Its name.
        name: Box<str>,
        /// The place of its first use.
        used: Site,
    },
    /// No size satisfies the facts about a symbol.
    ImpossibleFact {
        /// Its name.
        name: Box<str>,
    },
    /// A size that is inferred, or that may be 1, is used outside an axis of an input.
    NotOfInput,
    /// The wanted shape has a different number of elements.
    Count {
        /// The wanted shape.
        wanted: Vec<Size>,
        /// The actual number of elements.
        have: Size,
        /// The wanted number of elements.
        want: Size,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// The number of elements is not a multiple of the product of the given sizes.
    Indivisible {
        /// The number of elements.
        have: Size,
        /// Product of the given sizes.
        by: Size,
        /// A symbol, and the number that it would have to be a multiple of.
        multiple: Option<(Box<str>, i64)>,
    },
    /// More than one size would have to be inferred.
    TwoInferred,
    /// An axis to be removed is not the literal 1.
    NotOne {
        /// The axis.
        axis: usize,
        /// Its size.
        size: Size,
    },
    /// There is no such axis.
    NoAxis {
        /// The axis as given.
        axis: i64,
        /// Number of axes.
        rank: usize,
    },
    /// An axis is given twice.
    RepeatedAxis {
        /// The axis.
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
    /// A slice or an index lies outside its axis for all sizes.
    Outside {
        /// The axis of the operand.
        axis: usize,
        /// The requirement that is not met.
        requirement: Requirement,
        /// The excess; positive.
        by: Size,
    },
    /// A slice stops at the end of its axis, although it was written to go further: a warning.
    CutOff {
        /// The axis of the operand.
        axis: usize,
        /// Its size.
        size: i64,
    },
    /// There are more indices than axes.
    TooManyIndices {
        /// Number of indices.
        given: usize,
        /// Number of axes.
        rank: usize,
    },
    /// There are more axes than supported.
    RankTooLarge {
        /// Number of axes.
        rank: usize,
    },
    /// The target has fewer axes than the operand.
    RankTooSmall {
        /// Number of axes wanted.
        wanted: usize,
        /// Number of axes of the operand.
        rank: usize,
    },
    /// A negative size.
    NegativeSize {
        /// The axis.
        axis: usize,
        /// Its size.
        size: Size,
    },
    /// Sizes of two operands must be equal, even a literal 1.
    Unequal {
        /// The axis of both operands.
        axis: usize,
        /// The operands' names in a sentence.
        names: [Box<str>; 2],
        /// The two sizes.
        sizes: Box<[Size; 2]>,
        /// Whether they can ever be equal.
        certainty: Certainty,
        /// The simplest two sizes that must be equal for these to be.
        only_if: Box<[Size; 2]>,
    },
    /// An operand has the wrong rank.
    Rank {
        /// The operand's name in a sentence.
        name: Box<str>,
        /// Number of axes that it must have.
        expected: usize,
        /// Number of axes that it has.
        rank: usize,
    },
    /// There are more elements than addressable.
    TooManyElements,
    /// A size cannot be computed.
    Size(DimError),
    /// A reduction without identity runs over the constant size 0.
    EmptyReduction {
        /// The axis.
        axis: usize,
    },
    /// The requested number of best elements is not supported.
    TopKCount {
        /// The number requested.
        k: i64,
    },
    /// More best elements are requested than the axis has.
    TooFewElements {
        /// The axis.
        axis: usize,
        /// The number requested.
        k: i64,
        /// The least number missing; positive.
        by: Size,
    },
    /// Differences cannot be taken this many times.
    DiffOrder {
        /// The number of times.
        order: i64,
    },
    /// An invalid argument: what the op does or needs, as the end of a sentence.
    Argument(&'static str),
    /// No input determines the symbol.
    Unsolvable {
        /// Its name.
        symbol: Box<str>,
    },
    /// A value of this dtype has no derivative, and none can be taken by it.
    NotDerivable {
        /// Not a float.
        dtype: DType,
    },
    /// The loss does not depend on what it is derived by: a warning.
    NotRead,
    /// A node on the way has no derivative: the tables of segments by themselves.
    NoDerivative,
    /// The op is not defined for these dtypes.
    NotDefined {
        /// Dtypes of the operands.
        dtypes: Vec<DType>,
    },
    /// The number of operands differs from the op's.
    Arity {
        /// The number that the op has.
        expected: usize,
        /// The number given.
        given: usize,
    },
    /// The dtype cannot hold the literal.
    LiteralDoesNotFit {
        /// The literal.
        literal: Literal,
        /// The dtype beside it.
        dtype: DType,
    },
    /// Integers to the power of a negative literal.
    NegativeExponent {
        /// The literal.
        exponent: Literal,
        /// Dtype of the base.
        dtype: DType,
    },
    /// The condition of a selection is not bool.
    ConditionNotBool {
        /// Its dtype.
        dtype: DType,
    },
    /// Indices that are not integers.
    IndicesNotInteger {
        /// Their dtype.
        dtype: DType,
    },
    /// A name that is not allowed.
    BadName {
        /// The kind of name.
        kind: NameKind,
        /// The name.
        name: Box<str>,
    },
    /// An input is declared again with another dtype or shape.
    DuplicateInput {
        /// Its dtype here.
        dtype: DType,
        /// Its shape here.
        dims: Vec<Size>,
        /// Its first declaration.
        first: Box<Operand>,
    },
    /// A step of a loop gives another number of values than the loop carries.
    CarriedCount {
        /// The number of carried values.
        expected: usize,
        /// The number of values that the step gives.
        given: usize,
    },
    /// A step of a loop changes the shape of a carried value.
    CarriedShape {
        /// The name of the value.
        name: Box<str>,
        /// Its shape before the step.
        before: Vec<Size>,
        /// Its shape after the step.
        after: Vec<Size>,
    },
    /// A step of a loop changes the dtype of a carried value.
    CarriedDType {
        /// The name of the value.
        name: Box<str>,
        /// Its dtype before the step.
        before: DType,
        /// Its dtype after the step.
        after: DType,
    },
    /// A number of steps that is not an integer.
    StepsNotInteger {
        /// Its dtype.
        dtype: DType,
    },
    /// A value of a step of a loop is used outside of the loop.
    OutsideLoop {
        /// A name by which to find the loop.
        name: Box<str>,
    },
    /// An assignment to an expression that is not an input.
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
        /// The place of the first assignment.
        first: Site,
    },
    /// An assignment of a larger shape: the value may stretch, but not the input that it is written to.
    Grows {
        /// The input's name.
        name: Box<str>,
        /// Its shape.
        target: Vec<Size>,
        /// The shape to which both would stretch.
        result: Vec<Size>,
    },
    /// An assignment of a different kind of dtype.
    OtherKind {
        /// The dtype of the value.
        value: DType,
        /// The dtype of the input.
        target: DType,
    },
    /// A size that is not an integer.
    SizeNotInteger {
        /// Its dtype.
        dtype: DType,
    },
    /// An input has a size that the data decide.
    DecidedInput {
        /// Its name.
        name: Box<str>,
        /// The size.
        size: Size,
    },
    /// What decides a size depends on the step of a loop.
    DecidedInStep,
    /// Two outputs have the same name.
    DuplicateOutput {
        /// The name.
        name: Box<str>,
    },
    /// The graph has no outputs.
    NoOutputs,
    /// An earlier mistake poisoned an output, and this graph has no record of the mistake.
    PoisonedOutput {
        /// Its name.
        name: Box<str>,
    },
    /// There are more expressions or symbols than ids.
    TooLarge,
    /// A symbol belongs to another graph.
    ForeignSymbol,
    /// Tensors belong to two graphs, or to a graph that was dropped.
    ForeignTensor {
        /// The place where this graph was made.
        here: Site,
        /// The place where the other graph was made, if it still exists.
        there: Option<Site>,
    },
}

/// A kind of mistake as a stable code: `S` for shapes, `T` for types, `N` for names and the graph as a whole, `L`
/// for warnings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// Returns the code as text, such as `S001`.
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
    /// Returns the problem in terms of a function that the user called.
    pub(crate) fn of_call(self, call: &str) -> Problem {
        match self {
            Problem::Outside { axis, requirement, by } => {
                Problem::Outside { axis, requirement: requirement.of_call(call), by }
            }
            other => other,
        }
    }

    /// Returns the code.
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
            Problem::Wraps { .. } => "L003",
            Problem::Misaligned { .. } => "L004",
            Problem::NotRead => "L005",
            Problem::NotDefined { .. } | Problem::Arity { .. } => "T001",
            Problem::LiteralDoesNotFit { .. } | Problem::NegativeExponent { .. } => "T002",
            Problem::ConditionNotBool { .. } => "T003",
            Problem::IndicesNotInteger { .. } => "T004",
            Problem::OtherKind { .. } => "T005",
            Problem::CarriedShape { .. } => "S017",
            Problem::CarriedDType { .. }
            | Problem::StepsNotInteger { .. }
            | Problem::SizeNotInteger { .. } => "T007",
            Problem::CarriedCount { .. } | Problem::OutsideLoop { .. } => "N007",
            Problem::NotDerivable { .. } | Problem::NoDerivative => "T006",
            Problem::BadName { .. } => "N001",
            Problem::DuplicateInput { .. }
            | Problem::DuplicateOutput { .. }
            | Problem::AssignedTwice { .. } => "N002",
            Problem::DecidedInput { .. } => "S018",
            Problem::DecidedInStep => "N007",
            Problem::NoOutputs | Problem::PoisonedOutput { .. } => "N003",
            Problem::TooLarge => "N004",
            Problem::ForeignSymbol | Problem::ForeignTensor { .. } => "N005",
            Problem::NotInput => "N006",
        })
    }
}
