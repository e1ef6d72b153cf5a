//! Cuts graphs along the rows of their inputs, so that they can be computed chunk by chunk.
//!
//! The rows are the elements of the leading axis of some inputs, whose size is one symbol. An expression either has
//! a value for each row, which a chunk of rows is enough to compute, or one value for all rows, the result of a
//! reduction over them. [`split`] divides a graph into passes over the rows:
//!
//! ```text
//!            ┌───────── for every chunk ─────────┐
//! arrays ───▶│ each: results of its rows         │──▶ rest: totals finished, what only they need ──▶ the next pass
//! begin ────▶│       partial results ──▶ merge   │
//!            │       ends of scans ──▶ the next  │
//!            └───────────────────────────────────┘
//! ```
//!
//! One pass is enough unless rows depend on totals: `x - mean(x)` needs two. Float sums keep the order of
//! [`crate::reduce`] if the number of rows of every chunk but the last is a multiple of [`BLOCK`]: the kernel
//! combines the blocks of one chunk, and chunks combine like the same binary counter.

mod partial;
mod parts;
mod place;
mod writer;

pub use parts::{Counted, Destination, Part, Pass, Source, Split, split};
pub use place::Refusal;

use crate::reduce::{BLOCK, SEGMENT_BLOCK};

/// The number that the rows of every chunk but the last must be a multiple of, so that results have the same bits
/// as for all rows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Multiple {
    /// Any number.
    One,
    /// Whole blocks of a float sum.
    Block,
    /// Whole blocks of a segmented reduction.
    SegmentBlock,
}

impl Multiple {
    /// Returns the number.
    pub fn rows(self) -> usize {
        match self {
            Multiple::One => 1,
            Multiple::Block => BLOCK,
            Multiple::SegmentBlock => SEGMENT_BLOCK,
        }
    }
}
