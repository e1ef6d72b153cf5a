//! Where decisions change: every figure of this crate by which one thing is done up to it and another beyond.
//!
//! ```text
//! cost.rs          what an op, a load, an array cost, in additions     estimates
//! target.rs        registers and caches of the machine                 given by the caller
//! thresholds.rs    from where on something is worth it, or too much    measured where it says so
//! ```
//!
//! Together with the graph and the options of lowering, these three are all on which decisions rest. No figure changes
//! a result: another one makes other loops, of the same bits. A figure that follows from another one, or from the table
//! of costs, is written so. Blocks, lanes and the like belong to the fixed order of sums or to the form of kernels;
//! they stand where those are defined.

use crate::Target;
use crate::cost;
use crate::kernel::LEAST_LANES;
use broadloom_ir::reduce::SEQUENTIAL_LIMIT;
use std::ops::Range;

// What is materialised. Costs are in additions per element, as in `cost`.

/// A loop-invariant value that costs at least this, without loads, is materialised rather than computed in every step.
pub(crate) const MIN_INVARIANT_COST: u32 = 4;

/// An output that costs more than this is read back by an output of other sizes, rather than computed again: it is
/// stored anyway, so that this takes a load or two.
pub(crate) const MAX_RECOMPUTED_OUTPUT_COST: u32 = 2 * cost::LOAD;

/// Up to this cost, what a reduction and a loop over the same row of a table read counts as read once: it is computed
/// in both.
pub(crate) const MAX_RECOMPUTED_ROW_COST: u32 = 2 * cost::MATERIALISE;

/// Index maps under which a broadcast that no array holds is computed, rather than stored: it may be larger than all
/// arrays. Beyond that it is stored all the same, so that code stays finite.
pub(crate) const MAX_BROADCAST_MAPS: usize = 8;

/// Reductions, one after another, for which a table of pairs is computed again, rather than stored: it may be larger than
/// all arrays. Those of a softmax of such a table: the greatest element, and a sum.
pub(crate) const MAX_CONTRACTED_AGAIN: usize = 2;

/// The highest cost of an element at which that is done: where sums are known to be of more than some hundred terms,
/// computing them twice takes up to twice the time, and of few terms it takes less than storing them. Symbols are taken
/// to be short, so that a table of unknown size is not stored: with 64 terms it takes 1.5 times the time.
pub(crate) const MAX_CONTRACTED_AGAIN_COST: u32 = 8 * LIKELY_EXTENT;

/// Elements that a reduction axis is taken to have in estimates where its length is a symbol.
pub(crate) const LIKELY_EXTENT: u32 = 64;

/// Elements of the shortest strip that is worth a call of a function in each step of a reduction: below that, the call
/// costs more than what it computes, so that its results are stored.
pub(crate) const MIN_CALLED_STRIP: i64 = 64;

/// Repetitions of a loop that are worth a copy of the array which it gathers.
pub(crate) const MIN_PACKED_REPETITIONS: i64 = 8;

/// Nodes through which a reshape reaches, at most: those that it moves through to whole arrays, and those that are
/// computed at divided positions.
pub(crate) const MAX_RESHAPED_NODES: usize = 64;

/// Elements of the largest broadcast that is stored before a reshape of it, whatever it is computed from. Division
/// costs more per element than a load.
pub(crate) const MAX_STORED_BROADCAST: i64 = 1 << 20;

/// Reductions inside one another's bodies, at most, before one is stored.
pub(crate) const MAX_NESTED_REDUCTIONS: usize = 6;

// What is unrolled. Lengths are in elements, and constant.

/// The longest reduction axis that is unrolled into what reads the result.
pub const MAX_UNROLLED_REDUCTION: i64 = 8;
// What is unrolled adds in the order of the index.
const _: () = assert!(MAX_UNROLLED_REDUCTION <= SEQUENTIAL_LIMIT as i64);

/// The longest axis of a sum over pairs of a broadcast that is unrolled: all those that add in the order of the index.
pub(crate) const MAX_UNROLLED_PAIRS: i64 = SEQUENTIAL_LIMIT as i64;

/// Nodes that are computed with an element of a reduction, at most, if it is unrolled.
pub(crate) const MAX_UNROLLED_NODES: u32 = 24;

/// The longest trailing free axis that is unrolled rather than looped over.
pub(crate) const MAX_UNROLLED_TRAILING: i64 = 4;

/// The longest one around reductions of what does not vary along it, such as weights of several right-hand sides: their
/// accumulators are rows or registers, and what they share is computed once and not stored.
pub(crate) const MAX_UNROLLED_RIGHT_SIDES: i64 = 8;

// How axes are ordered and merged. Lengths are in elements.

/// Loads that a store counts for where the innermost axis is chosen: what is read against the order of memory can be
/// read by blocks.
pub(crate) const LOADS_OF_STORE: usize = 2;

/// The longest axis whose elements recur along another in a row that is filled once. Longer ones keep a vector loop
/// busy by themselves.
pub(crate) const MAX_PERIOD: i64 = 64;

/// The same where loops stand around, in each step of which the row is filled anew.
pub(crate) const MAX_PERIOD_INSIDE: i64 = 8;

/// Loads that one loop gathers strip by strip, at most. `exp` of the sum of 24 slices of rows of 128 took twice the time
/// when all of them were gathered.
pub(crate) const MAX_GATHERED: usize = 4;

/// The shortest axis that wastes little of the calls of functions along it. A shorter one is merged with the axis
/// around it, even if some operands have to be stretched for that, or recur; where its length is a symbol, in a variant
/// of the code.
pub(crate) const LONG_ROW: i64 = 256;

/// The same where operands have to be gathered that move along both axes. `exp` of one slice gained up to rows of 127
/// (0.7 to 0.9 of the time); of two and four slices, rows of 24 to 48 gained as much, and rows of 100 to 127 took 0.9 to
/// 1.4 of it.
pub(crate) const LONG_GATHERED_ROW: i64 = 64;

/// The shortest axis that fills vectors. A shorter one, without calls, is merged even if some operands have to be
/// stretched.
pub(crate) const LONG_LOOP: i64 = 16;

// How many lanes a vector loop has.

/// Bytes of the elements of most loops: what has none of its own, like a fill, gets as many lanes as those. Of crowded
/// loops, those of such elements have fewer.
pub(crate) const USUAL_LANE_BYTES: usize = 4;

/// Registers of each value in a vector loop, so that they hide latencies.
pub(crate) const REGISTERS_OF_VALUE: usize = 4;

/// The same where so many values would not stay in registers.
pub(crate) const REGISTERS_OF_CROWDED_VALUE: usize = 2;

/// Values of a vector loop beyond which it is crowded: two and a half for each register.
pub(crate) fn max_uncrowded_values(target: &Target) -> usize {
    target.registers * 5 / 2
}

/// Lanes of a loop along a reduction axis, and of one whose operands come out of rows, at least. An axis that is
/// shorter is walked one by one.
pub(crate) const MIN_REDUCTION_LANES: usize = 2 * LEAST_LANES;

/// Ops for each scatter below which a loop is for scattering, which goes one by one anyway: it has no lanes.
pub(crate) const MIN_OPS_OF_SCATTER: usize = 2;

// Strips, blocks and their scratch rows. Lengths are in elements; rows are made to fit the caches of the `Target`.

/// The longest strip over which tile functions run.
pub(crate) const MAX_TILE_STRIP: usize = 1024;

/// The longest other strip: one of columns that are summed while their table is read row by row. What a row of the
/// table has of the strip should be a page or more.
pub(crate) const MAX_COLUMN_STRIP: usize = 2048;

/// The longest strip beside rows that are filled with elements over and over, which a call does once.
pub(crate) const MAX_PERIODIC_STRIP: usize = 512;

/// Strips that could be longer are a multiple of this.
pub(crate) const STRIP_UNIT: usize = 256;

/// The shortest strip, for kernels with very many rows, and what such strips are a multiple of.
pub(crate) const MIN_STRIP: usize = 64;

/// The rows over the strips of one axis take one in so many parts of the scratch memory, at most.
pub(crate) const PARTS_OF_SCRATCH: usize = 2;

/// Bytes that a block takes at once of the memory that lies side by side, where an array is read against its order: in a
/// loop by hand, blocks of 64 rows of a table of `f32` beyond the caches took 0.7 of the time of 32 rows, and more rows
/// no less.
pub(crate) const BLOCK_BYTES: usize = 256;

/// Rows of a block, at most: those of `f32`, for narrower elements too.
pub(crate) const MAX_BLOCK_ROWS: usize = BLOCK_BYTES / size_of::<f32>();

/// The shortest inner axis that is cut into blocks.
pub(crate) const MIN_BLOCKED_AXIS: i64 = 32;

/// The shortest outer axis that is.
pub(crate) const MIN_BLOCKED_OUTER_AXIS: i64 = MIN_BLOCKED_AXIS / 2;

/// Loads by blocks in one loop, at most: their rows share the caches.
pub(crate) const MAX_BLOCKED_LOADS: usize = 4;

// Contractions: reductions of what two axes move, each some of it.

/// Bytes of the strip of a contraction, for each step of the reduction axis, at least: what the other axis moves is read
/// once for each strip, out of memory if the array is large. Products of 2048 x 2048 `f64` took 0.6 to 0.8 of the time
/// with as many instead of half.
pub(crate) const CONTRACTED_BYTES: usize = 512;

/// The same where rows of the other side are packed as well: all of them together should stay in the second-level cache.
pub(crate) const CONTRACTED_BYTES_OF_BOTH: usize = CONTRACTED_BYTES / 2;

/// The most, of few steps. They serve functions of the results, which are called on strips: 16 steps of a Gaussian kernel
/// took 0.7 of the time with so many.
pub(crate) const MAX_CONTRACTED_BYTES: usize = 1024;

/// Bytes of what a contraction accumulates at once for each step of an axis: two of the widest registers there are.
pub(crate) const CONTRACTED_VECTOR: usize = 128;

/// The shortest axis over whose strips a contraction runs: its last vector goes on behind the end, which wastes little of
/// longer ones.
pub(crate) const MIN_CONTRACTED_STRIP: i64 = 16;

/// The shortest axis whose steps a contraction takes several at once.
pub(crate) const MIN_CONTRACTED_ROWS: i64 = 8;

/// Ops in the body of a contraction, at most: with more, there is enough to do for each element that is read.
pub(crate) const MAX_CONTRACTED_OPS: usize = 8;

/// Rows that a contraction fills for a block, at most, and what it accumulates.
pub(crate) const MAX_CONTRACTED: usize = 2;

// Reductions into rows. Lengths are in elements of a row of the table that is reduced.

/// Steps of the reduction axis that a walk along the strip takes. Of columns of a table that is read from memory, four
/// rows at once took 0.5 of the time of one by one.
pub(crate) const STREAM_STEPS: usize = 4;

/// Statements of the largest body that is repeated for several steps.
pub(crate) const MAX_REPEATED_STATEMENTS: usize = 24;

/// Rows of accumulators for which several steps are taken, at most: more do not stay in registers.
pub(crate) const MAX_REPEATED_ACCUMULATORS: usize = 4;

/// The shortest row of a table of which several steps are taken, whatever
/// [`Stream::steps`](crate::kernel::Stream::steps) says. Those of a few cache lines stream through memory one after the
/// other: of a table of 17 columns in memory, four steps at once took 1.5 times as long.
pub const MIN_STEPPED_ROW: i64 = 64;

/// The longest rows of a table that are walked several as one, if they are [dense](crate::kernel::Stream::dense).
pub const MAX_DENSE_ROW: i64 = 256;

// Blocks of the fixed tree. The lanes of one wait for each other's additions: of 64 Ki `f32` in the second-level cache,
// sums of squares take 0.77 of the time with four blocks at once, and sums 0.9 of it.

/// The most blocks that go through a loop at once: enough to hide the latency of an addition.
pub const MAX_INTERLEAVED_BLOCKS: usize = 4;

/// Vector registers for the lanes of the blocks that go at once: half of those of x86-64.
pub const INTERLEAVED_REGISTERS: usize = 8;

/// Statements of the largest body of which several blocks go at once: beyond it there is enough to do in one.
pub const MAX_INTERLEAVED_STATEMENTS: usize = 6;

// Groups, which threads share.

/// Elements of the largest result that is reduced by groups, whatever the sizes: it has too few for the threads to
/// share.
pub(crate) const MAX_GROUPED_RESULT: i64 = 16;

/// Elements of the shortest constant axis that is worth cutting into groups.
pub(crate) const MIN_GROUPED_AXIS: i64 = 65_536;

// The size of kernels, so that compiling takes linear time.

/// Values of a kernel, at most: a larger one is cut in two.
pub(crate) const MAX_KERNEL_VALUES: usize = 2000;

/// Reductions of a kernel, at most: each takes half a kilobyte of the stack.
pub(crate) const MAX_KERNEL_REDUCTIONS: usize = 128;

/// Ops of the longest graph that is not cut into sections before kernels are made: each op is a value.
pub(crate) const MAX_UNCUT_OPS: usize = MAX_KERNEL_VALUES;

/// Ops of a section.
pub(crate) const OPS_OF_SECTION: Range<usize> = 512..1024;

/// Pieces of a node, at most, into which it is cut for the sake of joins that lie below another one.
pub(crate) const MAX_PIECES: usize = 64;

/// Pieces of one kernel, at most.
pub(crate) const MAX_KERNEL_PIECES: usize = 16;
