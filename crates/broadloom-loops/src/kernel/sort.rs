//! Rows of arrays in order.

use super::*;

/// Puts the elements of a row of an array in order, by a function, into a row of another one.
#[derive(Debug, Clone)]
pub struct SortRow {
    /// The axis along which the rows are: in either array, neighbours lie side by side.
    pub axis: AxisId,
    /// The row that is read.
    pub source: AccessId,
    /// The row that is written: elements, or their indices (i64).
    pub target: AccessId,
    /// The indices of the elements, rather than themselves.
    pub indices: bool,
    /// The greatest first.
    pub descending: bool,
}
