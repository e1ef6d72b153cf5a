//! Thresholds: figures at which code changes, apart from the forms of vectors, of tiles in registers and of the fixed order.
//!
//! Those of schedules are in `broadloom-loops`, and those of calls in `broadloom`, in files of the same name. No figure
//! changes a result: others give other instructions with the same bits.

use broadloom_loops::kernel::MAX_UNPACKED_BYTES;

// Lanes and registers.

/// The number of lanes of the vectors for the remainder of an inner loop: the fewest that are supported.
pub(crate) const SHORT_LANES: usize = 4;

/// The number of lanes of walks over the ends of strips of accumulators.
pub(crate) const FEW_LANES: usize = 4;

/// The least number of accumulators of a kind that share a loop; fewer have separate code.
pub(crate) const WORTH_A_LOOP: usize = 3;

/// The number of registers that go through the trace of a function at once: the steps of one wait for each other, and
/// several need more registers than there are.
pub(crate) const INTERLEAVED: usize = 2;

/// The most statements, casts aside, of a loop that computes more lanes than its kernel says: its code is as many times as long.
/// 50 steps of `z * z + c` with a count, 554 statements that wait for each other, took 0.47 of the time with four registers of each
/// value, and 8 ms more to compile (Intel Xeon with AVX-512, 2026-11-30).
pub(crate) const MAX_WIDE_STATEMENTS: usize = 640;

/// The shortest loop of which a first part is as long as aligns the vectors of the rest.
pub(crate) const MIN_ALIGNED: i64 = 4096;

/// The most arrays of a kernel whose base pointers are read once, at its beginning. More of them are spilled anyway, and compiling
/// a kernel in which hundreds of values live to the end takes quadratic time.
pub(crate) const MAX_HELD_BASES: usize = 64;

// Contractions.

/// The number of steps computed at once where only accumulators need registers, and where other values need some too:
/// with 16 vector registers, and with 32. With 9 or 12 steps, products of matrices take longer: each step reads at another
/// address, and there are too few general-purpose registers for these.
pub(crate) const STEPS_AT_ONCE: [[usize; 2]; 2] = [[6, 4], [6, 6]];

/// The most steps along the axis of a contraction that are straight code instead of a loop.
pub(crate) const MAX_UNROLLED_STEPS: i64 = 4;

/// The number of registers of one accumulator, for each step. With four, and three steps at once, products with AVX-512
/// took 1.1 to 1.3 times as long; with six steps, 0.9 to 1.1.
pub(crate) const ACCUMULATOR_REGISTERS: usize = 2;

/// The most bytes of a row in a block of a contraction that is contiguous in its array and is read there, with one lane
/// of the fixed tree at once, and with two. With two, products of `f32` and of `f64` with rows of 4 KiB took 0.83 to 0.97 of
/// the time if they were not packed; with rows of 8 KiB, they took 1.7 times as long.
pub(crate) const LONGEST_UNPACKED: [usize; 2] = [MAX_UNPACKED_BYTES, 4096];

/// The fewest bytes of a row in a block of a contraction whose next rows are prefetched. Products of 2048 x 2048 took 0.75 to 0.83
/// of the time (`f64`) and 0.92 to 0.96 (`f32`; Emerald Rapids, AVX-512), smaller ones 0.8 to 1.05, depending on what else the
/// third-level cache did.
pub(crate) const MIN_PREFETCHED: i64 = 2048;

/// The shortest loop that divides by products with a reciprocal, which takes some twenty instructions before the loop.
pub(crate) const MIN_EXTENT_OF_PRODUCTS: i64 = 64;

/// The most other operations of a loop for each of its divisions, if these are to be products: between more of them, the divider
/// works at the same time.
pub(crate) const MAX_OPS_PER_DIVISION: usize = 8;

// Memory. Lengths are in elements unless they say otherwise.

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// The number of elements gathered at once.
pub(crate) const COPIED_LANES: usize = 8;

/// The most elements of rows that are read as a whole. The elements of all lanes are in registers then, which limits them
/// further.
pub(crate) const MAX_SHORT_ROW: i64 = 8;

/// The number of blocks of rows above which a shorter first block is worth that the others are aligned in what is read across
/// rows: `x + y.T` of 1200 x 1200 `f32` took 0.8 of the time (Zen 5, blocks of 8 rows).
pub(crate) const ALIGNED_BLOCKS: usize = 8;

/// The distance in bytes at which rows are prefetched. The rows of a block are more streams than the CPU predicts: a
/// hand-written loop over tables of 1200 x 1200 `f32` took 0.9 of the time, with twice the distance as well.
pub(crate) const AHEAD: i64 = 4 * LINE as i64;

/// The distance in steps at which arrays read across rows are prefetched. Each step reads another cache line, and often
/// another page: the same loop took 0.75 to 0.8 of the time. Half of the distance took 1.00 to 1.06 of the time (2000 x 2000,
/// Zen 5), twice of it as long.
pub(crate) const STEPS_AHEAD: i64 = 64;

/// The distance in bytes at which rows are prefetched of which there is one in each lane: more streams than the CPU predicts. Sums of
/// rows of 32 `f32` in memory took 0.7 of the time, arg-extremes of rows of 100 as well, and variances of rows of 64 0.75. Half and
/// twice of it take as long (Emerald Rapids, AVX-512).
pub(crate) const ROWS_AHEAD: i64 = 4096;

/// The distance between steps, in bytes, whose multiples are not prefetched. Their lines share so few sets of the
/// first-level cache that they would be replaced before they are read: tables of 768 x 768 took 1.3 times as long.
pub(crate) const CROWDED_STEP: i64 = 8 * LINE as i64;
