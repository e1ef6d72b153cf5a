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
    /// The axis of their places: as long as elements are asked for. Where `axis` is shorter, the last places get what
    /// stands for missing ones.
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

/// Finds the best elements along an axis for all of the strip of another at once, by a tile function that takes a row of
/// elements, one of each step of the strip, and keeps those so far in a row for each place:
///
/// ```text
/// for so many steps of axis {
///   ahead
///   for i in these { per_step; prologue; values, indices <- the best of them and of source, for all of strip }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct BestRows {
    /// The axis along which the elements are.
    pub axis: AxisId,
    /// The axis whose current strip the rows are over.
    pub strip: AxisId,
    /// The axis of their places, all of which are one strip: as long as elements are asked for. Where `axis` is shorter,
    /// the last places get what stands for missing ones.
    pub places: AxisId,
    /// Whether the greatest are asked for, or the least.
    pub largest: bool,
    /// Run once per [`CONTRACTED_ROWS`] steps of the axis, before these: a [`Contract`] that leaves a row for each. Empty
    /// if the steps need none.
    pub ahead: Vec<Stmt>,
    /// Run per step of the axis: what does not depend on the strip.
    pub per_step: Vec<Stmt>,
    /// Run per step of the axis: fills the row that is read, if it is not there already.
    pub prologue: Vec<Stmt>,
    /// The elements of a step: side by side, if they are in an array.
    pub source: Operand,
    /// What is held, in a row for each place: of the dtype of the elements.
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

impl BestRows {
    /// Its rows of results.
    pub fn rows(&self) -> [RowId; 2] {
        [self.values, self.indices]
    }
}
