//! Graphs cut along the rows of their inputs, to be computed chunk by chunk.
//!
//! The rows are the elements of the leading axis of some inputs, all of the size of one symbol. An expression is
//! either one of each row, which a chunk of rows is enough to compute, or one of all rows, which a reduction over them
//! gives. [`split`] makes of a graph passes over the rows:
//!
//! ```text
//!            ┌───────── for every chunk ─────────┐
//! arrays ───▶│ each: results of its rows         │──▶ rest: totals finished, what only they need ──▶ the next pass
//! begin ────▶│       partial results ──▶ merge   │
//!            │       ends of scans ──▶ the next  │
//!            └───────────────────────────────────┘
//! ```
//!
//! One pass is enough unless rows depend on totals: `x - mean(x)` needs two. Sums of floats keep the order of
//! [`crate::reduce`] if every chunk but the last has a multiple of [`BLOCK`] rows: blocks of one chunk combine within
//! the kernel, and chunks as the same binary counter does.

mod partial;
mod parts;
mod place;

pub use parts::{Destination, Part, Pass, Source, Split, split};
pub use place::Refusal;

use crate::reduce::{BLOCK, SEGMENT_BLOCK};

/// What the number of rows of every chunk but the last must be a multiple of, so that results have the same bits as
/// those of all rows at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Multiple {
    /// Any number.
    One,
    /// Whole blocks of a sum of floats.
    Block,
    /// Whole blocks of a segmented reduction.
    SegmentBlock,
}

impl Multiple {
    /// The number.
    pub fn rows(self) -> usize {
        match self {
            Multiple::One => 1,
            Multiple::Block => BLOCK,
            Multiple::SegmentBlock => SEGMENT_BLOCK,
        }
    }
}
