//! The best elements along an axis, as rows.

use super::*;

/// Finds the best elements along an axis by a tile function, which keeps those so far in order:
///
/// ```text
/// for strip of axis { body; values, indices <- the best of them and of source }
/// ```
#[derive(Debug, Clone)]
pub struct Best {
    /// The axis along which the elements are.
    pub axis: AxisId,
    /// The axis of their places: as long as elements are asked for, and never longer than `axis`.
    pub places: AxisId,
    /// Whether the greatest are asked for, or the least.
    pub largest: bool,
    /// Run for each strip of [`BLOCK`] steps: fills the row that is read. Empty where an array is: there, all of the
    /// axis is one strip.
    pub body: Vec<Stmt>,
    /// The elements.
    pub source: Operand,
    /// What is held: of the dtype of the elements, one for each place.
    pub values: RowId,
    /// The positions of these on the axis (i64).
    pub indices: RowId,
}

impl Best {
    /// Its rows of results.
    pub fn rows(&self) -> [RowId; 2] {
        [self.values, self.indices]
    }
}
