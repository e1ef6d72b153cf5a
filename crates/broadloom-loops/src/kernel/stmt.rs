//! Statements.

use super::*;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Stmt {
    /// Computes a value here.
    Let(ValueId),
    /// Writes a value to a buffer at the current position plus a constant number of elements.
    Store {
        /// The access.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// The value.
        value: ValueId,
    },
    /// Combines a value with the element of a buffer at an index given by data, or replaces that. Neighbours of a vector loop
    /// do so in order. Does nothing if there are no elements.
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
        /// Add, Subtract, Multiply, Divide, Minimum or Maximum; `None` if the value replaces the element.
        op: Option<Op>,
        /// The value.
        value: ValueId,
        /// For a compensated sum: where what rounding loses is added, at the same index with the same stride.
        lost: Option<(AccessId, i64)>,
    },
    /// Writes a value to a scratch row at the current position in the strip of the axis.
    Put {
        /// The row.
        row: RowId,
        /// The number of the row, if there are several.
        part: usize,
        /// The axis of the strip.
        axis: AxisId,
        /// The value.
        value: ValueId,
    },
    /// Runs the body for every step of the axis, or of its current strip inside a [`Stmt::Strip`] of that axis.
    For {
        /// The axis.
        axis: AxisId,
        /// The number of steps done at once with vectors of 16 bytes: 1, or a multiple of [`LEAST_LANES`]. Code with
        /// wider vectors may take more of them at once, and takes fewer for the remainder.
        lanes: usize,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Strip-mines the axis: cuts it into strips of at most `length` steps and runs the body for each.
    Strip {
        /// The axis.
        axis: AxisId,
        /// The number of steps of a strip.
        length: usize,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Applies an elementary function to whole rows, over the current strip of the axis.
    Call {
        /// An op that has tile functions.
        op: Op,
        /// The result; may be one of the arguments.
        target: Operand,
        /// The arguments.
        args: SmallVec<[Operand; 2]>,
        /// The axis of the strip.
        axis: AxisId,
    },
    /// Writes the only element of a row: the initial value of a scan.
    Begin {
        /// A row of one element.
        row: RowId,
        /// A value of its dtype.
        value: ValueId,
    },
    /// Scans along the current strip of an axis, from where the previous strip ended.
    Scan {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// The result; may be the operand.
        target: Operand,
        /// The operand.
        source: Operand,
        /// The last result so far: a row of one element, or one over the strip of `rows`.
        state: RowId,
        /// The axis of the strip.
        axis: AxisId,
        /// The axis with one scan per step of its strip: several run at once, because they are independent.
        rows: Option<AxisId>,
    },
    /// Takes steps one after the other.
    Repeat(Repeat),
    /// Accumulates over an axis into values.
    Reduce(Reduce),
    /// Accumulates over an axis into rows.
    Stream(Stream),
    /// Accumulates over an axis into rows, for the strips of two other axes at once.
    Contract(Contract),
    /// Combines the results of a [`Stmt::Contract`] over another axis.
    FoldRows(FoldRows),
    /// Finds the best elements along an axis, in order, into rows, with a tile function.
    Best(Best),
    /// Finds the best elements along an axis for the strip of another, in order, into rows, with a tile function.
    BestRows(BestRows),
    /// Sorts a row.
    Sort(SortRow),
    /// Copies the block of an array that the strips of two axes cover into rows, one for each step of `rows`.
    Transpose {
        /// The array: neighbours along `rows` are contiguous, or those along `axis` if the rows have the elements of
        /// each lane of the fixed tree together.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// The rows.
        row: RowId,
        /// The axis whose strip has one step per row.
        rows: AxisId,
        /// The axis whose strip the rows cover.
        axis: AxisId,
        /// Whether the rows serve only what whole vectors leave: the loops that read them take whole blocks from registers, in
        /// which vectors along `rows` are transposed.
        in_registers: bool,
    },
    /// Copies a row over the block of a reduction axis to one of a [`Span::Part`] that has the elements of each lane of the fixed
    /// tree together.
    Deinterleave {
        /// The target.
        row: RowId,
        /// A row with the elements in their order.
        source: RowId,
        /// The reduction axis.
        axis: AxisId,
    },
    /// Copies the elements of an array that the strip of a merged axis covers into a row: along the two axes that
    /// it merges, the elements are not laid out as along one.
    Gather {
        /// The array.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
        /// The row.
        row: RowId,
        /// The merged axis.
        axis: AxisId,
        /// The number of steps of the inner axis.
        steps: Extent,
        /// The strides of the outer axis and of the inner axis, in elements.
        strides: [Stride; 2],
    },
}

/// An argument or result of a [`Stmt::Call`] over the strip of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A scratch row.
    Row(RowId),
    /// The elements of an array that the strip covers, which are contiguous.
    Array {
        /// How the array is addressed.
        access: AccessId,
        /// Added to the position, in elements.
        delta: i64,
    },
}

impl Operand {
    /// Returns the row, if it is one.
    pub fn row(self) -> Option<RowId> {
        match self {
            Operand::Row(row) => Some(row),
            Operand::Array { .. } => None,
        }
    }

    /// Returns the array, if it is one.
    pub fn array(self) -> Option<(AccessId, i64)> {
        match self {
            Operand::Row(_) => None,
            Operand::Array { access, delta } => Some((access, delta)),
        }
    }
}
