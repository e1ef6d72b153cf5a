//! Thresholds: every figure at which the decision of a call changes.
//!
//! Those of lowering are in `broadloom-loops`, in the file of the same name. No figure changes a result: other figures
//! choose other code, or share the work among threads in another way, with the same bits.

use broadloom_ir::reduce::{BLOCK, SEQUENTIAL_LIMIT};
use broadloom_loops::{MAX_TRANSPOSED_ROW, MAX_UNROLLED_REDUCTION};
use std::ops::RangeInclusive;

// Loops.

/// The fewest steps for which a kernel is compiled that takes many, in a millisecond: fewer are calls of the kernel for one.
pub(crate) const MIN_STEPS_IN_REGISTERS: i64 = 8;

// Variants: code for short sizes. Lengths are in elements.

/// Sums of these lengths add in index order, and may be contractions.
pub(crate) const SHORT_SUM: RangeInclusive<i64> = 2..=SEQUENTIAL_LIMIT as i64;

/// The tiles of a contraction compute whole sums over pairs of these lengths, and add them over further axes.
pub(crate) const SHORT_SUM_OF_PAIRS: RangeInclusive<i64> = 2..=BLOCK as i64;

/// Sums over pairs of a single row or column are not over pairs: the nearest of 10,000 codes of one point took 0.05 to 0.2 of the
/// time of code for all numbers of points (3, 16 and 64 dimensions; Emerald Rapids, AVX-512).
pub(crate) const SINGLE_ROW: RangeInclusive<i64> = 1..=1;

/// Other reductions of these lengths are unrolled.
pub(crate) const SHORT_REDUCTION: RangeInclusive<i64> = 2..=MAX_UNROLLED_REDUCTION;

/// Extremes of rows of these lengths have a row in each lane.
pub(crate) const SHORT_ROW: RangeInclusive<i64> = 2..=MAX_TRANSPOSED_ROW;

/// So do arg-extremes, and of longer rows.
pub(crate) const SHORT_ROW_OF_ARG: RangeInclusive<i64> = 2..=64;

/// Trailing axes of these lengths become part of a vector loop.
pub(crate) const SHORT_TRAILING: RangeInclusive<i64> = 2..=16;

/// The fewest elements for which another variant is worthwhile: with fewer, a call takes no longer than its overhead.
pub(crate) const MIN_VARIANT_ELEMENTS: i64 = 1024;

/// The most expressions of a graph that has variants for short sizes: a larger one takes too long to compile again
/// while a call waits.
pub(crate) const MAX_VARIANT_EXPRS: usize = 512;

/// The most variants for exact layouts; beyond that, one variant for any strides serves all.
pub(crate) const MAX_LAYOUTS: usize = 16;

/// The most variants for short sizes; beyond that, the code for all sizes serves.
pub(crate) const MAX_SIZED: usize = 8;

/// The bytes of a result in memory of the caller from which it is written past the caches, which do not hold it until it is read.
/// A copy of 32 MiB took 0.78 of the time, of 64 MiB 0.45, and `a * x + y` of 32 and 128 MiB 0.57 and 0.69; the same two times in
/// turn, of which the second reads what the first has written, 0.57 and 0.65, but of 4 MiB 1.05. The first stores to new memory took
/// 1.24 to 1.36 times as long (Intel Xeon with AVX-512, 2026-11-30).
pub(crate) const MIN_STREAMED_BYTES: usize = 32 << 20;

// Threads: what they share.

/// The number of results per thread from which threads share the results, so that the last ones keep no thread
/// waiting.
pub(crate) const RESULTS_OF_THREAD: i64 = 4;

/// The number of columns per thread from which threads share the columns. Each thread's part of a row should span some
/// pages: for 120 M elements in 200 to 1,000 columns, two threads that shared the columns took 1.3 times as long as one
/// thread, and two that shared the rows 0.6 times as long.
pub(crate) const COLUMNS_OF_THREAD: i64 = 2048;

/// The number of rows of a contraction per thread from which threads share them, if it has as many columns. Cut along what it
/// reduces over, it is none: 32 x 32 results of a million rows took 2.6 times as long on two threads as on one.
pub(crate) const CONTRACTED_ROWS_OF_THREAD: i64 = 8;

/// The number of rows of a product per thread from which two threads share them; of fewer, they share the columns. Each thread packs
/// all columns for its rows, or all rows for its columns. By columns, 8 x 3000 x 2000 took 0.65 of the time (`f32`), 64 x 1000 x
/// 1000 0.8, 150 x 1024 x 1024 as long, and 800 x 900 x 850 1.15 (`f64`; Intel Xeon with AVX-512, two threads, 2026-11-30).
pub(crate) const PACKED_ROWS_OF_THREAD: i64 = 72;

/// The fewest columns of such a product per thread, and of a part of it for which its rows are packed.
pub(crate) const PACKED_COLUMNS_OF_THREAD: i64 = 128;

/// The fewest elements per result for which results are combined from parts.
pub(crate) const MIN_PARTS_ELEMENTS: i64 = 4 * BLOCK as i64;

/// The fewest columns per thread. Threads with a few columns each would read the same cache lines: over 16 columns,
/// two threads took twice as long as one.
pub(crate) const MIN_COLUMNS: i64 = 64;

/// The most groups or chunks per thread. All chunks have the same length, so with few of them one thread may wait
/// while another computes the last chunk: five chunks on two threads take 0.6 of the time of one thread, not 0.5.
pub(crate) const MAX_CHUNKS_OF_THREAD: i64 = 16;

/// The least work of a chunk, in bytes of memory traffic or operations that take as long: the cost of handing it to a
/// thread is small.
pub(crate) const MIN_CHUNK_WORK: f64 = (512 << 10) as f64;

/// The work from which a call that can be stopped runs code whose loops look whether they should end, in the same unit. Less ends soon by
/// itself, also where the estimate is much too small, and needs no code of its own.
pub(crate) const STOPPED_WORK: u64 = 4 << 20;

/// The instructions of such code between two looks: some 0.1 ms. A look takes 50 ns.
pub(crate) const LOOKS_AFTER: u32 = 1 << 18;

/// The bytes of rows that a thread holds between kernels that run together: they stay in its cache.
pub(crate) const BAND_BYTES: i64 = 256 << 10;

/// The same if one of the kernels is a contraction, which packs the other operand again for each of these groups of rows.
pub(crate) const CONTRACTED_BAND_BYTES: i64 = 2 << 20;

/// The most rows that are held instead, up to twice as many bytes or those of that operand. With 60 rows, softmaxes of 3,000
/// products of 784 terms took 1.4 times as long as without bands, and with 288 1.0 times (AMD EPYC, AVX2, one thread).
pub(crate) const MAX_PACKED_ROWS: i64 = 288;

/// The share of the work of rows that kernels which run together may do again for each group of rows.
pub(crate) const MAX_REPEATED_SHARE: f64 = 0.125;

/// Chunks at least four times as long as one of these end at a multiple of it, so that vector loops have few
/// remainders and no thread loses much of its share.
pub(crate) const CHUNK_ALIGNMENTS: [i64; 2] = [64, 16];
