//! Loops over blocks of two axes.

use super::*;

/// A loop over strips of two axes that copies the blocks of arrays to rows, and reads these.
///
/// ```text
/// strip rows of count { strip axis { transposes; for rows { per_row; for axis { body } } } }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Block<'s> {
    /// The axis with a row for each step.
    pub rows: AxisId,
    /// The number of rows of a block.
    pub count: usize,
    /// The axis of the rows.
    pub axis: AxisId,
    /// What fills the rows.
    pub transposes: &'s [Stmt],
    /// Runs once for each row.
    pub per_row: &'s [Stmt],
    /// The number of elements of a row that the body computes at once.
    pub lanes: usize,
    /// Runs for each element.
    pub body: &'s [Stmt],
    /// The statement that computes a block, or a part of it, by rows.
    pub by_rows: &'s Stmt,
}

impl Block<'_> {
    /// Returns the block of a statement, if it is such a loop.
    pub fn of(stmt: &Stmt) -> Option<Block<'_>> {
        let Stmt::Strip { axis: rows, length: count, body } = stmt else { return None };
        let [by_rows @ Stmt::Strip { axis, body: block, .. }] = body.as_slice() else { return None };
        let (Stmt::For { axis: outer, lanes: 1, body }, transposes) = block.split_last()? else {
            return None;
        };
        let (Stmt::For { axis: inner, lanes, body }, per_row) = body.split_last()? else { return None };
        let is_block = (outer, inner) == (rows, axis);
        is_block.then_some(Block {
            rows: *rows,
            count: *count,
            axis: *axis,
            transposes,
            per_row,
            lanes: *lanes,
            body,
            by_rows,
        })
    }
}
