//! Sorted rows of arrays.

use super::*;

/// Sorts a row of an array into a row of another array by calling a function.
#[derive(Debug, Clone, PartialEq)]
pub struct SortRow {
    /// The axis of the rows: neighbours are contiguous in both arrays.
    pub axis: AxisId,
    /// The row that is read.
    pub source: AccessId,
    /// The row that is written: elements, or their indices (i64).
    pub target: AccessId,
    /// Whether to return the indices of the elements instead of the elements.
    pub indices: bool,
    /// Whether the greatest comes first.
    pub descending: bool,
}
