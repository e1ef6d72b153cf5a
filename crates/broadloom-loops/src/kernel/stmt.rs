//! Statements.

use super::*;

/// A statement.
#[derive(Debug, Clone)]
pub enum Stmt {
    /// Computes the value here.
    Let(ValueId),
    /// Writes a value to a buffer at the current position, moved by a constant number of elements.
    Store {
        /// Where.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// What.
        value: ValueId,
    },
    /// Combines a value with the element of a buffer at an index that the data give, neighbours of a vector loop in
    /// order. Does nothing if there are no elements.
    Scatter {
        /// The buffer at index 0 of the axis, at the current position.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// The index, below `size`.
        index: ValueId,
        /// Stride of the axis.
        stride: Stride,
        /// Size of the axis.
        size: Extent,
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// What.
        value: ValueId,
    },
    /// Writes a value to a scratch row at the current position within the strip of the axis.
    Put {
        /// Where.
        row: RowId,
        /// Which of several rows.
        part: usize,
        /// Whose strip.
        axis: AxisId,
        /// What.
        value: ValueId,
    },
    /// Runs the body for every step of the axis (of its current strip, inside a [`Stmt::Strip`] of that axis).
    For {
        /// The axis.
        axis: AxisId,
        /// Steps done at once: 1, or a multiple of [`LEAST_LANES`]. What remains is done one by one.
        lanes: usize,
        /// What.
        body: Vec<Stmt>,
    },
    /// Cuts the axis into strips of at most `length` steps and runs the body for each.
    Strip {
        /// The axis.
        axis: AxisId,
        /// Steps of a strip.
        length: usize,
        /// What.
        body: Vec<Stmt>,
    },
    /// Applies an elementary function to whole rows, over the current strip of the axis.
    Call {
        /// An op that has tile functions.
        op: Op,
        /// Result; may be one of the arguments.
        target: Operand,
        /// Arguments.
        args: SmallVec<[Operand; 2]>,
        /// Whose strip.
        axis: AxisId,
    },
    /// Writes the one element of a row: what running results begin with.
    Begin {
        /// A row of one element.
        row: RowId,
        /// Of its dtype.
        value: ValueId,
    },
    /// Running results along the current strip of an axis, from where the strip before it has ended.
    Scan {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// Result; may be the operand.
        target: Operand,
        /// What is combined.
        source: Operand,
        /// The last result so far: a row of one element, or one over the strip of `rows`.
        state: RowId,
        /// Whose strip it is.
        axis: AxisId,
        /// The axis for each step of whose strip results run: several at once, for they do not wait for each other.
        rows: Option<AxisId>,
    },
    /// Accumulates over an axis, into values.
    Reduce(Reduce),
    /// Accumulates over an axis, into rows.
    Stream(Stream),
    /// Accumulates over an axis, for the strips of two others at once, into rows.
    Contract(Contract),
    /// Accumulates the extreme over an axis of sums over pairs, into rows, by a tile function.
    Pairs(Pairs),
    /// Finds the best elements along an axis, in order, into rows, by a tile function.
    Best(Best),
    /// Finds the best elements along an axis for the strip of another, in order, into rows, by a tile function.
    BestRows(BestRows),
    /// Puts a row in order.
    Sort(SortRow),
    /// Copies what the strips of two axes meet of an array into rows, one for each step of `rows`.
    Transpose {
        /// Of which array: neighbours along `rows` lie side by side.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// Where.
        row: RowId,
        /// The axis whose strip is as long as there are rows.
        rows: AxisId,
        /// The axis over whose strip the rows are.
        axis: AxisId,
    },
    /// Copies what the strip of an axis that stands for two meets of an array into a row: along the two, its elements
    /// do not lie as along one.
    Gather {
        /// Of which array.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// Where.
        row: RowId,
        /// The axis that stands for two.
        axis: AxisId,
        /// Steps of the inner one of the two.
        steps: Extent,
        /// From one step to the next of the outer one and of the inner one, in elements.
        strides: [Stride; 2],
    },
}

/// What a [`Stmt::Call`] reads or writes over the strip of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A scratch row.
    Row(RowId),
    /// The elements of an array that the strip meets, which lie side by side.
    Array {
        /// How the array is addressed.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
    },
}

impl Operand {
    /// The row, if it is one.
    pub fn row(self) -> Option<RowId> {
        match self {
            Operand::Row(row) => Some(row),
            Operand::Array { .. } => None,
        }
    }

    /// The array, if it is one.
    pub fn array(self) -> Option<(AccessId, i64)> {
        match self {
            Operand::Row(_) => None,
            Operand::Array { access, delta } => Some((access, delta)),
        }
    }
}
