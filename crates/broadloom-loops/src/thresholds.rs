//! Thresholds: every figure of this crate at which a decision changes.
//!
//! ```text
//! cost.rs          what an op, a load, an array cost, in additions     estimates
//! target.rs        registers and caches of the machine                 given by the caller
//! thresholds.rs    from where on something is worth it, or too much    measured where it says so
//! ```
//!
//! Decisions depend only on these three, the graph and the options of lowering. No figure changes a result: other
//! figures give other loops with the same bits. A figure that follows from another, or from the table of costs, is
//! written as a formula. Blocks, lanes and similar constants belong to the fixed order of sums or to the form of
//! kernels, and are defined there.

use crate::Target;
use crate::cost;
use crate::kernel::LEAST_LANES;
use broadloom_ir::reduce::SEQUENTIAL_LIMIT;
use std::ops::Range;

// What is materialised. Costs are in additions per element, as in `cost`.

/// The least cost, without loads, at which a loop-invariant value is materialised instead of being recomputed in
/// every step.
pub(crate) const MIN_INVARIANT_COST: u32 = 4;

/// The cost above which an output of other sizes reads an output back instead of recomputing it: it is stored
/// anyway, so this takes a load or two.
pub(crate) const MAX_RECOMPUTED_OUTPUT_COST: u32 = 2 * cost::LOAD;

/// Up to this cost, the operands that a reduction and a loop over the same row of a table share count as read once:
/// they are computed in both.
pub(crate) const MAX_RECOMPUTED_ROW_COST: u32 = 2 * cost::MATERIALISE;

/// The most index maps under which a broadcast that no array holds is computed instead of stored: it may be larger
/// than all arrays. Beyond that it is stored nevertheless, so that code stays finite.
pub(crate) const MAX_BROADCAST_MAPS: usize = 8;

/// The most successive reductions for which a table of pairs is recomputed instead of stored: it may be larger than
/// all arrays. They are those of a softmax of such a table: the maximum, and a sum.
pub(crate) const MAX_CONTRACTED_AGAIN: usize = 2;

/// The highest cost of an element at which that is done: if sums are known to have more than some hundred terms,
/// computing them twice takes up to twice the time, and with few terms it takes less than storing them. Symbols are
/// assumed to be short, so a table of unknown size is not stored: with 64 terms it takes 1.5 times the time.
pub(crate) const MAX_CONTRACTED_AGAIN_COST: u32 = 8 * LIKELY_EXTENT;

/// The length that estimates assume for a reduction axis whose length is a symbol.
pub(crate) const LIKELY_EXTENT: u32 = 64;

/// The length of the shortest strip that is worth a function call in each step of a reduction: below that, the call
/// costs more than its arithmetic, so its results are stored.
pub(crate) const MIN_CALLED_STRIP: i64 = 64;

/// The number of repetitions of a loop that are worth a copy of the array it gathers.
pub(crate) const MIN_PACKED_REPETITIONS: i64 = 8;

/// Statements of a loop stay in their order unless more values than these are alive at once: with up to eight, each has four of the
/// 32 registers of AVX-512.
pub(crate) const MIN_ALIVE_ORDERED: usize = 8;

/// The fewest operations of a loop from which a search, or the index of what is combined with elements of a table, is computed in
/// a loop of its own over strips.
pub(crate) const MIN_OPS_APART: usize = 8;

/// The most that an element of a table may cost that is computed from its position where data choose it, instead of being stored
/// and read there: a read is done for each lane, and a computation for all of them at once.
pub(crate) const MAX_COMPUTED_ELEMENT: u32 = 16;

/// The most nodes through which a reshape reaches: those that it moves through to whole arrays, and those that are
/// computed at divided positions.
pub(crate) const MAX_RESHAPED_NODES: usize = 64;

/// The number of elements of the largest broadcast that is stored before it is reshaped, whatever it is computed
/// from. Division costs more per element than a load.
pub(crate) const MAX_STORED_BROADCAST: i64 = 1 << 20;

/// The most reductions nested in one another's bodies before one is stored.
pub(crate) const MAX_NESTED_REDUCTIONS: usize = 6;

// What runs together, for a few rows at a time.

/// The fewest bytes of arrays for which kernels run together instead of one after the other: less stays in a cache between
/// them.
pub const MIN_BAND_BYTES: i64 = 1 << 20;

/// The most kernels that run together: each thread holds the rows of all their arrays.
pub(crate) const MAX_BAND_KERNELS: usize = 64;

/// The fewest bytes of a row for which kernels that run together use finer rows, of loops inside: a thread holds several shorter
/// ones in its cache.
pub(crate) const MIN_DIVIDED_ROW: i64 = 64 << 10;

// What is unrolled. Lengths are in elements, and constant.

/// The longest reduction axis that is unrolled into what reads the result.
pub const MAX_UNROLLED_REDUCTION: i64 = 8;
// Unrolled reductions add in index order.
const _: () = assert!(MAX_UNROLLED_REDUCTION <= SEQUENTIAL_LIMIT as i64);

/// The longest axis of a sum over pairs of a broadcast that is unrolled: all axes that add in index order.
pub(crate) const MAX_UNROLLED_PAIRS: i64 = SEQUENTIAL_LIMIT as i64;

/// The most elements of several axes that are reduced over pairs of floats without a contraction, if that needs a loop over each axis.
/// Tables of 1000 x 1000 products or greatest differences of 9 to 16 elements took 0.6 to 0.8 of the time so, of 20 elements 0.8
/// to 1.5, and of 24 2.1 to 2.7. Counts of 4 to 16 differences took 2 to 9 times as long (Emerald Rapids, AVX-512).
pub(crate) const MAX_UNROLLED_TABLE: i64 = 16;

/// The most elements reduced over pairs without a contraction where the results are compared with more of them than
/// [`MAX_UNROLLED_COMPARED`]: the nearest of 1000 codes of
/// 8 and 12 elements over three axes took 0.4 of a contraction's time, of 15 and 16 over two 1.3 to 1.6. Where results are added,
/// sums over pairs are contractions: of functions of 8 to 16 elements, they took 0.15 to 0.6 of the time.
pub(crate) const MAX_UNROLLED_COMPARED_TABLE: i64 = 12;

/// The most sums of up to [`MAX_UNROLLED_REDUCTION`] terms over pairs whose extreme is found with these sums unrolled, instead
/// of a contraction. The nearest of 16 codes of 8 coordinates took 0.8 of its time, of 64 0.95, and of 1024 1.1 (`f64`) to 1.8
/// (Emerald Rapids, AVX-512).
pub(crate) const MAX_UNROLLED_COMPARED: i64 = 64;

/// The most sums of at most [`FEW_TERMS`] terms over pairs whose extreme is found with these sums unrolled: the nearest of 16
/// codes of 2 or 3 coordinates took 0.55 to 0.7 of the time, of 64 0.8 to 0.95, of 256 0.95 to 0.98, and of 1024 0.95 to 1.03.
pub(crate) const MAX_UNROLLED_FEW_COMPARED: i64 = 256;
/// The most terms of a sum that counts as one of few terms.
pub(crate) const FEW_TERMS: i64 = 3;

/// The most square roots of sums over pairs whose extreme is found with these sums unrolled. A contraction computes two roots
/// for six sums: the nearest of 64 codes of 3 coordinates took 1.2 to 1.35 of the time.
pub(crate) const MAX_UNROLLED_ROOTS: i64 = 16;

/// The most nodes computed with an element of a reduction if it is unrolled.
pub(crate) const MAX_UNROLLED_NODES: u32 = 24;

/// The longest trailing free axis that is unrolled rather than looped over.
pub(crate) const MAX_UNROLLED_TRAILING: i64 = 4;

/// The longest trailing axis around reductions of values that do not vary along it, such as weights of several
/// right-hand sides: their accumulators are rows or registers, and common values are computed once and not stored.
pub(crate) const MAX_UNROLLED_RIGHT_SIDES: i64 = 8;

// How axes are ordered and merged. Lengths are in elements.

/// The number of loads that a store counts for in the choice of the innermost axis: reads against memory order can
/// go by blocks.
pub(crate) const LOADS_OF_STORE: usize = 2;

/// The shortest axes around a reduction for which an axis that all of its operands move along becomes the outermost instead of
/// the innermost one: products of smaller matrices fill vectors along that axis.
pub(crate) const MIN_BATCHED: i64 = 8;

/// The longest axis that moves outside in this way. Each step of it reads one element of every cache line: of 1024 steps, products
/// took 7 times as long outside.
pub(crate) const MAX_BATCH: i64 = 64;

/// The fewest bytes of elements of short rows that are loaded and stored as a whole. Where operands would be stretched
/// along rows of 2 to 4 such elements, `x * w` of `x[n, 3]` and `w[n, 1]` takes 0.15 to 0.5 of the time with a vector for each
/// element of a row, and `exp(x) * w` 0.5 to 0.9; with shorter elements, it would take up to twice as long.
pub const MIN_WORD: usize = 4;

/// The longest axis whose elements recur along another in a row that is filled once. Longer axes keep a vector loop
/// busy alone.
pub(crate) const MAX_PERIOD: i64 = 64;

/// The longest axis whose elements recur along another in a row inside other loops, which fill it again in each step.
pub(crate) const MAX_PERIOD_INSIDE: i64 = 8;

/// The most loads that one loop gathers strip by strip. `exp` of the sum of 24 slices of rows of 128 took twice the
/// time when all of them were gathered.
pub(crate) const MAX_GATHERED: usize = 4;

/// The shortest axis on which function calls waste little. A shorter axis is merged with the axis around it, even
/// if some operands have to be stretched or recur; if its length is a symbol, this happens in a variant of the
/// code.
pub(crate) const LONG_ROW: i64 = 256;

/// The shortest axis that is not merged if operands that move along both axes would have to be gathered. `exp` of one
/// slice gained up to rows of 127 (0.7 to 0.9 of the time); with two and four slices, rows of 24 to 48 gained as much, and
/// rows of 100 to 127 took 0.9 to 1.4 of it.
pub(crate) const LONG_GATHERED_ROW: i64 = 64;

/// The shortest axis that fills vectors. A shorter axis without calls is merged even if some operands have to be
/// stretched.
pub(crate) const LONG_LOOP: i64 = 16;

// The number of lanes of a vector loop.

/// The bytes of the vectors for which loops are written. Wider registers compute several of them at once.
pub const VECTOR_BYTES: usize = 16;

/// The size in bytes of the elements of most loops: a loop without elements of its own, such as a fill, gets as
/// many lanes. Crowded loops with such elements have fewer.
pub(crate) const USUAL_LANE_BYTES: usize = 4;

/// The registers per value in a vector loop, which hide latencies.
pub(crate) const REGISTERS_OF_VALUE: usize = 4;

/// The registers per value in a vector loop whose values would not stay in registers with that many.
pub(crate) const REGISTERS_OF_CROWDED_VALUE: usize = 2;

/// Returns the number of values above which a vector loop is crowded: two and a half per register.
pub(crate) fn max_uncrowded_values(target: &Target) -> usize {
    target.registers * 5 / 2
}

/// The fewest lanes of a loop along a reduction axis, and of one whose operands come from rows. A shorter axis is
/// walked element by element.
pub(crate) const MIN_REDUCTION_LANES: usize = 2 * LEAST_LANES;

/// The number of ops per scatter below which a loop counts as scattering, which runs element by element anyway: it
/// has no lanes.
pub(crate) const MIN_OPS_OF_SCATTER: usize = 2;

/// The longest axis of a reduction in any order that has a row in each lane instead of filling vectors along the rows, whose
/// lanes have to be combined for each of them. Extremes of rows of 9 `f32` take 0.1 of the time, of 33 half, and of 64 as
/// long, but of 64 `i32` 1.4 times as long (AVX-512, Emerald Rapids).
pub const MAX_TRANSPOSED_ROW: i64 = 48;

/// The longest axis of an arg-extreme that has a row in each lane; its lanes take longer to combine. Arg-extremes of rows
/// of 64 take 0.2 of the time, of 128 half, and of 256 0.7.
pub(crate) const MAX_TRANSPOSED_ROW_ARG: i64 = 256;

/// The longest axis of a reduction in any order that has a row in each lane beside loops along the rows. `x - x.max(1)` of rows of 10
/// and 16 `f32` takes 0.4 and 0.6 of the time, of 48 `i64` 1.5 (AVX-512, Emerald Rapids).
pub(crate) const MAX_ROW_IN_TURNS: i64 = 16;

/// The fewest rows of which each lane computes the functions of one. Rows that are left over are computed one by one: sums of `exp`
/// of 79 rows of 64 took 1.2 of the time of calls for each row, of 1,000 rows 0.4.
pub(crate) const MIN_ROWS_IN_LANES: i64 = 128;

// Strips, blocks and their scratch rows. Lengths are in elements; rows are made to fit the caches of the `Target`.

/// The longest strip over which tile functions run.
pub(crate) const MAX_TILE_STRIP: usize = 1024;

/// The longest other strip: of columns that are summed while their table is read row by row. The part of a table
/// row in the strip should be a page or more.
pub(crate) const MAX_COLUMN_STRIP: usize = 2048;

/// The longest strip beside rows with repeated elements, which one call fills.
pub(crate) const MAX_PERIODIC_STRIP: usize = 512;

/// Strips that could be longer are multiples of this.
pub(crate) const STRIP_UNIT: usize = 256;

/// The shortest strip, for kernels with very many rows; such strips are multiples of it.
pub(crate) const MIN_STRIP: usize = 64;

/// The rows over the strips of one axis take at most one part in this many of the scratch memory.
pub(crate) const PARTS_OF_SCRATCH: usize = 2;

/// The rows of arrays that loops over a strip read one after the other take at most one part in this many of the first-level cache.
/// A strip of few rows lets the CPU begin to read the next one while it computes this one.
pub(crate) const PARTS_OF_ROWS_READ_AGAIN: usize = 8;

/// The number of contiguous bytes that a block takes at once where an array is read against its order, if vectors are not
/// longer. A block goes through registers: of the widest elements, these are the rows that it has. More rows of the other
/// arrays at once are more streams than the CPU predicts: in a hand-written loop with AVX2 (Zen 3), 16 rows of `f32` took
/// 1.15 times as long as 8. With AVX-512 (Zen 5), whole cache lines took 0.8 to 0.95 of the time of halves.
pub(crate) const TILE_BYTES: usize = 32;

/// The smallest elements of which blocks are transposed in registers.
pub const MIN_TILED_ELEMENT: usize = size_of::<f32>();

/// The number of rows of a block that are in registers at a time: those that 16 bytes of the smallest such elements have.
pub const ROWS_IN_REGISTERS: usize = VECTOR_BYTES / MIN_TILED_ELEMENT;

/// The most values of a loop whose blocks go through registers: its code is repeated for every row.
pub(crate) const MAX_TILED_VALUES: usize = 16;

/// The number of contiguous bytes that a block takes at once if it goes through scratch rows: in a hand-written loop,
/// blocks of 64 rows of a table of `f32` beyond the caches took 0.7 of the time of 32 rows, and more rows took no less.
pub(crate) const BLOCK_BYTES: usize = 256;

/// The most rows of such a block: those of `f32`, for narrower elements too.
pub(crate) const MAX_BLOCK_ROWS: usize = BLOCK_BYTES / size_of::<f32>();

/// The shortest inner axis that is cut into blocks.
pub(crate) const MIN_BLOCKED_AXIS: i64 = 32;

/// The shortest outer axis that is cut into blocks.
pub(crate) const MIN_BLOCKED_OUTER_AXIS: i64 = MIN_BLOCKED_AXIS / 2;

/// The most loads by blocks in one loop: their rows share the caches.
pub(crate) const MAX_BLOCKED_LOADS: usize = 4;

// Functions inside loops.

/// The most operations of a function that is computed inside loops instead of being called. `exp` of `f32` has 25, `log1p`
/// of `f64` 58, `gelu` of `f64`, the longest, 125. In loops and sums of each function alone, all took 0.5 to 0.93 of the
/// time with calls: `remainder` the least, sums of `asinh` and `atan` of `f32` the most.
pub(crate) const MAX_INLINED_OPERATIONS: usize = 128;

/// The most operations of all functions that one loop computes instead of calling them. 40 `sin` of `f32`, each of the last, took
/// as long with calls, 80 took 0.2 of the time (AVX-512, a loaded machine): their constants and code no longer find place. Compiling
/// 1,000 of them took 0.1 of the time.
pub(crate) const MAX_INLINED_OPERATIONS_OF_LOOP: usize = 1024;

// Contractions: reductions whose operands two axes move in part.

/// The fewest bytes of the strip of a contraction, for each step of the reduction axis: the operands that the other
/// axis moves are read once for each strip, from memory if the array is large. Products of 2048 x 2048 `f64` took
/// 0.6 to 0.8 of the time compared with half as many bytes.
pub(crate) const CONTRACTED_BYTES: usize = 512;

/// The most bytes of a row of a block that is contiguous in its array and always read there. Longer ones may be packed: a lane
/// of the fixed tree reads every sixteenth element, and several rows do not stay in the first-level cache. Products
/// of 512 x 512 `f32`, with as many bytes, took 1.07 of the time if they were packed, and of 1000 x 1000 0.9.
pub const MAX_UNPACKED_BYTES: usize = 2048;

/// The most bytes, for few steps. Longer strips serve functions of the results, which are called on strips: 16
/// steps of a Gaussian kernel took 0.7 of the time with this many.
pub(crate) const MAX_CONTRACTED_BYTES: usize = 1024;

/// The bytes that a contraction accumulates at once for each step of an axis: two of the widest registers.
pub(crate) const CONTRACTED_VECTOR: usize = 128;

/// The shortest of the two axes around the sums of a contraction. Of two rows or columns, which fill half of a tile or less,
/// it takes 0.1 to 1.2 of the time of separate sums, and of four or more 0.03 to 0.8 (products and distances of `f32`, 64 and
/// 1000 terms, Emerald Rapids).
pub(crate) const MIN_CONTRACTED_AXIS: i64 = 2;

/// The shortest strip of a contraction whose short sums a stream adds functions of. Vectors along the stream are full whatever the
/// length of the strip: sums of 10,000 Gaussian weights took 5 us for each row in 3 dimensions and 7 in 8, and as a contraction
/// 80 and 120 for all of up to 16 rows (Emerald Rapids, AVX-512).
pub(crate) const MIN_SUMMED_STRIP: i64 = 16;

/// The most terms of such short sums: of 16 terms, vectors along the stream took less time only for up to five rows.
pub(crate) const MAX_SUMMED_TERMS: i64 = 8;

/// The most ops in the body of a contraction: with more, there is enough work for each element that is read.
pub(crate) const MAX_CONTRACTED_OPS: usize = 8;

/// The most rows that a contraction fills for a block, and the most values that it accumulates.
pub(crate) const MAX_CONTRACTED: usize = 2;

// Reductions into rows. Lengths are in elements of a row of the table that is reduced.

/// The number of steps of the reduction axis that a walk along the strip takes. For columns of a table in memory,
/// four rows at once took 0.5 of the time of single rows.
pub(crate) const STREAM_STEPS: usize = 4;

/// The number of statements of the largest body that is repeated for several steps.
pub(crate) const MAX_REPEATED_STATEMENTS: usize = 24;

/// The most rows of accumulators with which several steps are taken: more do not stay in registers.
pub(crate) const MAX_REPEATED_ACCUMULATORS: usize = 4;

/// The most rows of accumulators with which several steps are taken after contractions, whose rows leave the accumulators of
/// all lanes no place in the first-level cache: with 8 of them, a Gaussian kernel took 0.75 of the time of single steps.
pub(crate) const MAX_ACCUMULATORS_AFTER_CONTRACTION: usize = 8;

/// The shortest row of a table of which several steps are taken, whatever
/// [`Stream::steps`](crate::kernel::Stream::steps) says. Rows of a few cache lines stream through memory one after
/// the other: for a table of 17 columns in memory, four steps at once took 1.5 times as long.
pub const MIN_STEPPED_ROW: i64 = 64;

/// The longest rows of a table of which several are walked as one, if they are
/// [dense](crate::kernel::Stream::dense).
pub const MAX_DENSE_ROW: i64 = 256;

/// The most vector registers in which the accumulators of all lanes of dense rows are held for the steps of a block: of
/// the sixteen of x86-64, the others are for what is computed.
pub const MAX_HELD_REGISTERS: usize = 12;

// Blocks of the fixed tree. The lanes of one wait for each other's additions: of 64 Ki `f32` in the second-level cache,
// sums of squares take 0.77 of the time with four blocks at once, and sums 0.9 of it.

/// The most blocks that one loop processes at once: enough to hide the latency of an addition.
pub const MAX_INTERLEAVED_BLOCKS: usize = 4;

/// The vector registers for the lanes of the blocks processed at once: half of those of x86-64.
pub const INTERLEAVED_REGISTERS: usize = 8;

/// The number of statements of the largest body that processes several blocks at once: a larger body has enough
/// work in one block.
pub const MAX_INTERLEAVED_STATEMENTS: usize = 6;

// Groups, which threads share.

/// The number of elements of the largest result that is always reduced by groups, whatever the sizes: it has too
/// few elements for the threads to share.
pub(crate) const MAX_GROUPED_RESULT: i64 = 16;

/// The length of the shortest constant axis that is worth cutting into groups.
pub(crate) const MIN_GROUPED_AXIS: i64 = 65_536;

// The size of kernels, so that compiling takes linear time.

/// The most values of a kernel: a larger one is cut in two.
pub(crate) const MAX_KERNEL_VALUES: usize = 2000;

/// The number of values under index maps, equal ones among them, at which a kernel is no longer built, if one of its nodes is
/// computed under so many maps that it is stored instead.
pub(crate) const MAX_NEST_ENTRIES: usize = 4 * MAX_KERNEL_VALUES;

/// The most reductions of a kernel: each takes half a kilobyte of the stack.
pub(crate) const MAX_KERNEL_REDUCTIONS: usize = 128;

/// The most ops on tensors of one size that are planned one by one. More of them are a section: all that is read of them
/// elsewhere is computed by one kernel. The sum of `y*y + sin(y)`, 20 deep, with its derivative stores 2 arrays instead of 20 so;
/// 200 sines store 2 instead of 100.
pub(crate) const MIN_SECTIONED_OPS: usize = 64;

/// Ops of the longest section that is not cut before kernels are made: each op is a value.
pub(crate) const MAX_UNCUT_OPS: usize = MAX_KERNEL_VALUES;

/// Ops of a section.
pub(crate) const OPS_OF_SECTION: Range<usize> = 512..1024;

/// The most conditions of calls that a proof about sizes tries, one after the other.
pub(crate) const MAX_CONDITIONS: usize = 16;

/// The most pieces into which a node is cut for joins that lie below another join.
pub(crate) const MAX_PIECES: usize = 256;

/// The most nodes under index maps that tell how reductions go through memory.
pub(crate) const MAX_NODES_OF_DIRECTION: usize = 256;

/// The greatest step of a change whose elements, and each of those between them, are a piece. All of the base is written where
/// there are more, and where the step is along the last axis, before the change is written over it.
pub(crate) const MAX_STEP_IN_PIECES: i64 = 8;

/// The most pieces of one kernel.
pub(crate) const MAX_KERNEL_PIECES: usize = 16;
