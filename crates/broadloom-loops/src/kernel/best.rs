//! The best elements along an axis, as rows.

use super::*;

/// Finds the best elements along an axis with a tile function, which keeps the best so far in order:
///
/// ```text
/// for strip of axis { body; values, indices <- the best of them and of source }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The axis of the elements.
    pub axis: AxisId,
    /// The axis of the results: as long as the number of elements requested. If `axis` is shorter, the last results
    /// get the value for missing elements.
    pub places: AxisId,
    /// Whether to find the greatest instead of the least.
    pub largest: bool,
    /// Runs for each strip of [`BLOCK`] steps and fills the row that is read. Empty if an array is read directly:
    /// then the whole axis is one strip.
    pub body: Vec<Stmt>,
    /// The elements.
    pub source: Operand,
    /// The results: of the dtype of the elements, one for each place.
    pub values: RowId,
    /// The positions of the results on the axis (i64).
    pub indices: RowId,
}

/// Finds the best elements along an axis for a whole strip of another axis at once. A tile function takes a row of
/// elements, one for each step of the strip, and keeps the best so far in one row per place:
///
/// ```text
/// for so many steps of axis {
///   ahead
///   for i in these { per_step; prologue; values, indices <- the best of them and of source, for all of strip }
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BestRows {
    /// The axis of the elements.
    pub axis: AxisId,
    /// The axis whose current strip the rows cover.
    pub strip: AxisId,
    /// The axis of the results, which is one strip: as long as the number of elements requested. If `axis` is
    /// shorter, the last results get the value for missing elements.
    pub places: AxisId,
    /// Whether to find the greatest instead of the least.
    pub largest: bool,
    /// Runs once before every [few steps](Contract::steps) of the axis: a [`Contract`], or a [`FoldRows`] of one, that
    /// produces a row for each step. Empty if the steps need none.
    pub ahead: Vec<Stmt>,
    /// Runs per step of the axis: everything that does not depend on the strip.
    pub per_step: Vec<Stmt>,
    /// Runs per step of the axis: fills the row that is read, if it is not filled already.
    pub prologue: Vec<Stmt>,
    /// The elements of a step; contiguous if they are in an array.
    pub source: Operand,
    /// The results, one row per place: of the dtype of the elements.
    pub values: RowId,
    /// The positions of the results on the axis (i64).
    pub indices: RowId,
}

impl Best {
    /// Returns its rows of results.
    pub fn rows(&self) -> [RowId; 2] {
        [self.values, self.indices]
    }
}

impl BestRows {
    /// Returns its rows of results.
    pub fn rows(&self) -> [RowId; 2] {
        [self.values, self.indices]
    }
}
