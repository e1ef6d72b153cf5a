//! Reductions: into values, into scratch rows, and over pairs.

use super::*;
use crate::thresholds::STREAM_STEPS;

/// The order in which a reduction combines elements. See [`broadloom_ir::reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Any order: every accumulator is order-free.
    Free,
    /// Index order into one accumulator: the axis has a constant size of at most `SEQUENTIAL_LIMIT`.
    Sequential,
    /// The fixed tree.
    Tree,
    /// The fixed tree of an axis of which this is a part: in blocks, whatever its length.
    Blocks,
    /// The partial results of aligned groups of blocks: the upper part of the fixed tree.
    Counter,
}

/// Accumulates over an axis.
///
/// With `lanes > 1` the body runs for that many neighbours of the axis at once. Inside a vector loop over another
/// axis, `lanes` is 1 and every accumulator has one lane per step of that loop, in order `Free` or `Sequential`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduce {
    /// The reduction axis.
    pub axis: AxisId,
    /// The order in which elements combine.
    pub order: Order,
    /// The number of elements of the axis that the body computes at once.
    pub lanes: usize,
    /// Runs once per block of [`BLOCK`] elements, before the body runs for them, and fills scratch rows over the
    /// block. Empty if the body needs none.
    pub prologue: Vec<Stmt>,
    /// Runs per element.
    pub body: Vec<Stmt>,
    /// Inside a vector loop over another axis: loads of the body, all of elements of one size, whose arrays are contiguous along
    /// the axis, so that each lane has a row. Registers are filled by parts of 16 bytes of these rows, which are transposed.
    pub transposed: SmallVec<[ValueId; 2]>,
    /// The accumulated results.
    pub accumulators: Vec<Accumulator>,
}

/// One accumulated result.
#[derive(Debug, Clone, PartialEq)]
pub struct Accumulator {
    /// Sum, Prod, Min, Max, ArgMin or ArgMax.
    pub op: ReduceOp,
    /// The dtype of the accumulator (for arg-reductions: of the compared values).
    pub dtype: DType,
    /// The contribution of each element.
    pub operand: Contribution,
    /// The value that the reduction defines.
    pub result: ValueId,
}

/// The contribution of an element to an accumulator.
#[derive(Debug, Clone, PartialEq)]
pub enum Contribution {
    /// A value.
    Value(ValueId),
    /// One if a truth value holds: a sum of integers.
    Count(ValueId),
    /// A product, accumulated with one fma.
    Product(ValueId, ValueId),
    /// A value to compare and the index that is the result; without an index, the result is the position on the
    /// axis.
    Indexed {
        /// The compared value.
        value: ValueId,
        /// The result that belongs to it (i64).
        index: Option<ValueId>,
        /// Whether the running index is kept in 32 bits.
        narrow: bool,
    },
}

/// Accumulates over an axis while walking along another, in rows of accumulators over a strip, so that memory is
/// streamed and never read with a stride.
///
/// ```text
/// for so many steps of axis { ahead; for i in these { per_step; prologue; for j in strip { body; accumulators[j] } } }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis whose current strip the rows cover.
    pub strip: AxisId,
    /// The order in which elements combine: `Free`, `Sequential`, `Tree` or `Blocks`.
    pub order: Order,
    /// The number of steps of the strip that the body computes at once.
    pub lanes: usize,
    /// The number of steps of the reduction axis that one walk along the strip takes, so that its accumulators are
    /// loaded and stored once for all of them. It exceeds 1 only without a prologue. In tree order, they are steps
    /// of one lane.
    pub steps: usize,
    /// Whether several short rows of the table are walked at once, if the strip contains whole rows: everything
    /// read from them is contiguous, as along one axis. In tree order, they are steps of that many lanes.
    pub dense: bool,
    /// Whether walks along the strip end with a whole vector of [`lanes`](Stream::lanes), some of which may lie past its end: all
    /// rows are long enough, and nothing else moves with the strip.
    pub padded: bool,
    /// Runs once before every [few steps](Contract::steps) of the reduction axis: a [`Contract`], or a [`FoldRows`] of
    /// one, that produces a row for each step. Empty if the steps need none.
    pub ahead: Vec<Stmt>,
    /// Runs per step of the reduction axis: everything that does not depend on the strip.
    pub per_step: Vec<Stmt>,
    /// Runs per step of the reduction axis and fills scratch rows over the strip.
    pub prologue: Vec<Stmt>,
    /// Runs per step of the reduction axis and element of the strip.
    pub body: Vec<Stmt>,
    /// The accumulated results.
    pub accumulators: Vec<StreamAccumulator>,
}

impl Stream {
    /// Returns whether the steps of one lane of a block run one after the other, and then those of the next lane: the
    /// rows of one lane, and those that the prologue fills, stay in the first-level cache even if the strip is long.
    pub fn is_by_lanes(&self) -> bool {
        !self.prologue.is_empty() && self.ahead.is_empty() && !self.is_in_order()
    }

    /// Returns whether the steps of a block have to run in order, and not lane by lane, because the first of equal
    /// elements has to win.
    pub fn is_in_order(&self) -> bool {
        let has_lanes = matches!(self.order, Order::Tree | Order::Blocks);
        has_lanes && self.accumulators.iter().any(|entry| entry.accumulator.operand.is_indexed())
    }
}

/// Accumulates over an axis for all steps of the strips of two other axes. One of them moves some of the operands,
/// the other moves the rest: matrix products and similar reductions. All operands are read for a block of the axis
/// at once, and many steps use each element before the next one is needed:
///
/// ```text
/// for block of axis {
///   prologue
///   for part of rows {
///     rows_prologue
///     for i in part { for j in strip { for r in block { body; accumulators[i][j] } } }
///   }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis with one row of results for each step of its strip.
    pub rows: AxisId,
    /// The axis whose strip the rows cover.
    pub strip: AxisId,
    /// The most steps of the strip with rows. If there are ranks, and the strip is cut for this contraction alone, all rows of
    /// results are used, whatever the length of the axis: a strip has [`CONTRACTED_ROWS`] steps, times the number of groups of
    /// so many rows that there are for the results and each rank in use. The more steps, the less often a block is packed again.
    pub steps: usize,
    /// The order in which elements combine: `Free`, `Sequential` or `Tree`.
    pub order: Order,
    /// The most steps of the strip that the body computes at once; narrower registers compute fewer. The last ones
    /// may lie beyond the end of the strip.
    pub lanes: usize,
    /// Runs once per block of [`BLOCK`] steps of the axis, unless it would read the same data as before, and fills
    /// scratch rows over the strip, one for each step.
    pub prologue: Vec<Stmt>,
    /// Runs once per block of the axis and [`PACKED_STEPS`] steps of the axis `rows`, and fills scratch rows over the
    /// block, one for each of these steps, with operands that the strip does not move. Reading these from their
    /// arrays instead would take a cache line, or a set of the cache, for each element. Code may do so nevertheless
    /// if rows are contiguous and short.
    pub rows_prologue: Vec<Stmt>,
    /// Runs per element: computes with these rows, and with operands that the strip does not move.
    pub body: Vec<Stmt>,
    /// What becomes of the results of a tile.
    pub epilogue: Epilogue,
    /// The accumulated results.
    pub accumulators: Vec<Contracted>,
}

/// What becomes of the results that a tile of a [`Contract`] holds in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epilogue {
    /// They are stored in the rows of results, or added to what blocks before have left there.
    Store,
    /// The contraction is all that runs ahead of the steps of a [`Stream`], whose extremes take the results from registers. Only
    /// its steps read the rows of results, which are not written.
    Extremes {
        /// Whether the extremes are the least square roots of the results, or their positions: a tile takes the root of its
        /// least result.
        of_roots: bool,
    },
    /// The contraction is the step of a [`FoldRows`], which combines the results from registers with its rows. The rows of
    /// results are not written.
    Fold,
}

/// One accumulated result of each step of two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Contracted {
    /// The contribution of each element.
    pub accumulator: Accumulator,
    /// The results: [`Contract::results`] rows over the strip. If there are ranks, the block results by rank come
    /// after those of the steps of the strip.
    pub target: RowId,
}

impl Contract {
    /// Returns whether block results are kept by rank: in tree order, if there may be several blocks.
    pub fn is_ranked(&self, axes: &[Axis]) -> bool {
        let extent = axes[self.axis.index()].extent;
        let is_short = matches!(extent, Extent::Constant(extent) if extent <= BLOCK as i64);
        self.order == Order::Tree && !is_short
    }

    /// Returns the number of rows of results.
    pub fn results(&self, axes: &[Axis]) -> usize {
        if self.is_ranked(axes) { RANKED_ROWS } else { rows_of_steps(self.steps) }
    }
}

/// Combines tables over an axis: each step of it leaves results in rows, one for each step of the strip of another axis over
/// the strip of a third, and they are combined with those of the steps before, element by element. So a sum over several axes
/// is a [`Contract`] over the innermost of them, in one of these for each of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldRows {
    /// The reduction axis.
    pub axis: AxisId,
    /// The axis with one row of results for each step of its strip.
    pub rows: AxisId,
    /// The axis whose strip the rows cover.
    pub strip: AxisId,
    /// The order in which the steps combine: `Free`, `Sequential` or `Tree`. In tree order there are at most [`BLOCK`].
    pub order: Order,
    /// Runs in each step: a [`Contract`] or [`FoldRows`] for the same two axes.
    pub body: Vec<Stmt>,
    /// What is combined.
    pub folded: Vec<Folded>,
}

/// Results that are combined over an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folded {
    /// The op that combines them, which is not an arg-reduction.
    pub op: ReduceOp,
    /// Their dtype.
    pub dtype: DType,
    /// The rows in which a step leaves them.
    pub from: RowId,
    /// The rows of the combined results.
    pub target: RowId,
    /// In tree order, for a reduction that is not free of it: such rows for each of the [`LANES`].
    pub lanes: Option<RowId>,
}

impl FoldRows {
    /// Returns the contraction of its steps.
    pub fn contract(&self) -> Option<&Contract> {
        if let [step] = self.body.as_slice() { step.contraction() } else { None }
    }
}

/// Returns the number of rows for the results of so many steps, a multiple of [`PACKED_STEPS`] or of [`STREAMED_STEPS`], with
/// those of the last tile beyond them.
pub fn rows_of_steps(steps: usize) -> usize {
    if steps.is_multiple_of(PACKED_STEPS) { steps } else { steps + MAX_STEPS_BEYOND }
}

/// The number of steps behind a [`Contract`] of short sums.
pub const STREAMED_STEPS: usize = STREAM_STEPS * LANES;

/// The most steps of the last tile beyond these, each of which has a row.
pub const MAX_STEPS_BEYOND: usize = 2;

/// The fewest rows of results of a [`Contract`]: a multiple of the number of steps computed at once, 4 or 6, and
/// large enough that filling rows for a block costs little compared to the computation.
pub const CONTRACTED_ROWS: usize = 36;

/// The number of rows of results of each block, and by rank.
pub const RANKED_ROWS: usize = CONTRACTED_ROWS * (1 + CONTRACTED_RANKS);

/// The number of rows of results that are combined over other axes. For each strip of so many rows, each step of these axes
/// packs its block again.
pub const FOLDED_ROWS: usize = 8 * CONTRACTED_ROWS;

/// The number of steps of a reduction whose results are combined over other axes: a multiple of [`STREAMED_STEPS`].
pub const FOLDED_STEPS: usize = 4 * STREAMED_STEPS;

/// The number of steps of the axis with rows for which a [`Contract`] packs their operands at once: a multiple of the
/// number of steps computed at once.
pub const PACKED_STEPS: usize = 12;
const _: () = assert!(CONTRACTED_ROWS.is_multiple_of(PACKED_STEPS));

/// The number of ranks of the results of a [`Contract`].
pub const CONTRACTED_RANKS: usize = 15;

/// The longest axis whose blocks have at most that many ranks: about 33 million steps.
pub const MAX_CONTRACTED_AXIS: i64 = BLOCK as i64 * ((1 << CONTRACTED_RANKS) - 1);

/// One accumulated row.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamAccumulator {
    /// The contribution of each element.
    pub accumulator: Accumulator,
    /// The running value over the strip and, for an arg-reduction, the running index.
    pub state: SmallVec<[RowId; 2]>,
    /// The result over the strip: the running value itself, or an i64 row for an arg-reduction.
    pub target: RowId,
    /// The rows of the fixed tree, for an accumulator in tree order.
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

/// The number of ranks that the binary counter over blocks can need: an axis has fewer than 2^63 elements.
pub const RANKS: usize = 54;
