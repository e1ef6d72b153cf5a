//! Reductions: into values, into scratch rows, and over pairs.

use super::*;

/// In which order a reduction combines. See [`broadloom_ir::reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any order: every accumulator is order-free.
    Free,
    /// Index order into one accumulator: the axis has at most `SEQUENTIAL_LIMIT` elements, as a constant.
    Sequential,
    /// The fixed tree.
    Tree,
    /// The fixed tree of an axis of which this is a part: by blocks, whatever its length.
    Blocks,
    /// The partial results of aligned groups of blocks: the upper part of the fixed tree.
    Counter,
}

/// Accumulates over an axis.
///
/// With `lanes > 1` the body runs for that many neighbours of the axis at once; inside a vector loop over another
/// axis `lanes` is 1 and every accumulator has a lane per step of that loop, in order `Free` or `Sequential`.
#[derive(Debug, Clone)]
pub struct Reduce {
    /// The reduction axis.
    pub axis: AxisId,
    /// In which order elements combine.
    pub order: Order,
    /// Elements of the axis that the body computes at once.
    pub lanes: usize,
    /// Run once per block of [`BLOCK`] elements, before the body runs for them: fills
    /// scratch rows over the block. Empty if the body needs none.
    pub prologue: Vec<Stmt>,
    /// Run per element.
    pub body: Vec<Stmt>,
    /// What is accumulated.
    pub accumulators: Vec<Accumulator>,
}

/// One accumulated result.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulator {
    /// Sum, Prod, Min, Max, ArgMin or ArgMax.
    pub op: ReduceOp,
    /// Type of the accumulator (for arg-reductions: of the values compared).
    pub dtype: DType,
    /// What each element contributes.
    pub operand: Contribution,
    /// The value that the reduction defines.
    pub result: ValueId,
}

/// What an element contributes to an accumulator.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution {
    /// A value.
    Value(ValueId),
    /// One, where a truth value holds: a sum of integers.
    Count(ValueId),
    /// A product, accumulated by one fma.
    Product(ValueId, ValueId),
    /// A value to compare and the index that is the result; no index means the position on the axis.
    Indexed {
        /// Compared.
        value: ValueId,
        /// The result belonging to it (i64).
        index: Option<ValueId>,
        /// Whether the running index is kept in 32 bits.
        narrow: bool,
    },
}

/// Accumulates over an axis while walking along another: rows of accumulators over a strip, so that memory is
/// streamed and never strided through.
///
/// ```text
/// for so many steps of axis { ahead; for i in these { per_step; prologue; for j in strip { body; accumulators[j] } } }
/// ```
#[derive(Debug, Clone)]
pub struct Stream {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis whose current strip the rows are over.
    pub strip: AxisId,
    /// In which order elements combine: `Free`, `Sequential`, `Tree` or `Blocks`.
    pub order: Order,
    /// Steps of the strip that the body computes at once.
    pub lanes: usize,
    /// Steps of the reduction axis that one walk along the strip takes, so that its accumulators are loaded and stored
    /// once for all of them: more than 1 only without a prologue. By the tree they are steps of one lane.
    pub steps: usize,
    /// Whether short rows of the table are walked several at once, where the strip has all of a row: all that is read
    /// of them lies row behind row, as along one axis. By the tree they are steps of as many lanes.
    pub dense: bool,
    /// Run once per [`CONTRACTED_ROWS`] steps of the reduction axis, before these: a [`Contract`] that leaves a row for
    /// each. Empty if the steps need none.
    pub ahead: Vec<Stmt>,
    /// Run per step of the reduction axis: what does not depend on the strip.
    pub per_step: Vec<Stmt>,
    /// Run per step of the reduction axis: fills scratch rows over the strip.
    pub prologue: Vec<Stmt>,
    /// Run per step of the reduction axis and element of the strip.
    pub body: Vec<Stmt>,
    /// What is accumulated.
    pub accumulators: Vec<StreamAccumulator>,
}

/// Accumulates over an axis for all steps of the strips of two others, of which one moves some of what is read and the
/// other the rest: products of matrices and what is like them. All that is read is read for a block of the axis at
/// once, and each element of it is met by many steps before the next one is:
///
/// ```text
/// for block of axis {
///   prologue; rows_prologue
///   for i in rows { for j in strip { for r in block { body; accumulators[i][j] } } }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Contract {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis for each step of whose strip there is a row of results.
    pub rows: AxisId,
    /// The axis over whose strip the rows are.
    pub strip: AxisId,
    /// In which order elements combine: `Free`, `Sequential` or `Tree`.
    pub order: Order,
    /// Steps of the strip that the body computes at once, at most: the fewer, the narrower registers are. The last ones
    /// may lie behind the end of the strip.
    pub lanes: usize,
    /// Run once per block of [`BLOCK`] steps of the axis, unless what it reads is what it read the last time: fills
    /// scratch rows over the strip, one for each step.
    pub prologue: Vec<Stmt>,
    /// Run once per block of steps of the axis: fills scratch rows over the strip of the other axis, with what lies apart
    /// along the reduction axis.
    pub rows_prologue: Vec<Stmt>,
    /// Run per element: computes of these rows, and of what the strip does not move.
    pub body: Vec<Stmt>,
    /// What is accumulated.
    pub accumulators: Vec<Contracted>,
}

/// One accumulated result of each step of two axes.
#[derive(Debug, Clone)]
pub struct Contracted {
    /// What each element contributes.
    pub accumulator: Accumulator,
    /// Where the results are left: [`CONTRACTED_ROWS`] rows over the strip. Code may hand them to extremes that read
    /// nothing else of these rows in registers instead.
    pub target: RowId,
    /// By the tree, if there may be several blocks: their results by rank, [`CONTRACTED_RANKS`] times as many rows.
    pub ranks: Option<RowId>,
}

impl Contracted {
    /// Its rows.
    pub fn rows(&self) -> impl Iterator<Item = RowId> {
        std::iter::once(self.target).chain(self.ranks)
    }
}

/// Rows of results of a [`Contract`]: a multiple of the steps that are computed at once, 4 or 6, and so many that
/// filling rows for a block is little beside computing with them.
pub const CONTRACTED_ROWS: usize = 36;

/// Number of ranks of the results of a [`Contract`].
pub const CONTRACTED_RANKS: usize = 16;

/// The longest axis whose blocks have so many ranks: some 67 million steps.
pub const MAX_CONTRACTED_AXIS: i64 = BLOCK as i64 * ((1 << CONTRACTED_RANKS) - 1);

/// One accumulated row.
#[derive(Debug, Clone)]
pub struct StreamAccumulator {
    /// What each element contributes.
    pub accumulator: Accumulator,
    /// The running value over the strip and, for an arg-reduction, the running index.
    pub state: SmallVec<[RowId; 2]>,
    /// Where the result is left over the strip: the running value itself, or an i64 row for an arg-reduction.
    pub target: RowId,
    /// For an accumulator whose order is the tree's.
    pub tree: Option<StreamTree>,
}

/// The rows of the fixed tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamTree {
    /// The lanes of a block, `LANES` rows.
    pub lanes: RowId,
    /// The block results by rank, `RANKS` rows.
    pub ranks: RowId,
}

/// What a pair of elements contributes to the sum of a [`Pairs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairTerm {
    /// `(x - y)^2`, accumulated by fma where the level has it.
    SquaredDifference,
    /// `x * y`, accumulated by fma where the level has it.
    Product,
    /// `|x - y|`.
    AbsoluteDifference,
}

/// A reduce of a broadcast, such as the nearest code: for every element of a strip, over an axis, the extreme of a sum
/// over a short constant axis of terms of pairs.
///
/// ```text
/// for i in strip { extreme over j in axis of sum over t of term(left[t][i], right[j, t]) }
/// ```
///
/// The sums run in index order into one accumulator.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis whose current strip the rows are over.
    pub strip: AxisId,
    /// What is summed.
    pub term: PairTerm,
    /// Whether the extreme is that of the square roots of the sums.
    pub root: bool,
    /// `Min` or `Max`.
    pub extreme: ReduceOp,
    /// Number of terms of a sum.
    pub terms: usize,
    /// As many rows, the elements of the strip.
    pub left: RowId,
    /// The other element of each pair.
    pub right: AccessId,
    /// Added to its position, in elements.
    pub delta: i64,
    /// From one term to the next, in elements.
    pub step: i64,
    /// Where the extremes are left, if they are wanted.
    pub values: Option<RowId>,
    /// Where their positions on the axis are left (i64), if they are wanted.
    pub indices: Option<RowId>,
}

/// Number of ranks that the binary counter over blocks can need: an axis has fewer than 2^63 elements.
pub const RANKS: usize = 54;
