//! The ways in which a promise can be broken.

use crate::kernel::*;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;

/// A broken promise of a schedule: a bug in this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kernel {kernel}: {fault}")]
pub struct Broken {
    /// The kernel.
    pub kernel: KernelId,
    /// The fault.
    pub fault: Fault,
}

/// The kinds of broken promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Promise 1.
    #[error("there is no {0} {1}")]
    Missing(&'static str, usize),
    /// Promise 1.
    #[error("{0} is read where it is not defined")]
    Undefined(ValueId),
    /// Promise 1.
    #[error("{0} is defined twice")]
    Twice(ValueId),
    /// Promise 2.
    #[error("nested loops over the same axis {0}")]
    Nested(AxisId),
    /// Promise 3.
    #[error("row {0} is used outside of its strip or read before it is written")]
    Row(RowId),
    /// Promise 3.
    #[error("row {0} is shorter than its strip")]
    Short(RowId),
    /// Promise 3.
    #[error("row {0} is overwritten by another before it is read")]
    Overwritten(RowId),
    /// Promise 4 or 14.
    #[error("access {0} is moved by an axis that has no loop around it")]
    Moved(AccessId),
    /// Promise 4, 8 or 14.
    #[error("access {0} does not fit its buffer")]
    Buffer(AccessId),
    /// Promise 5.
    #[error("the dtypes of {0} disagree with its operands")]
    Dtype(ValueId),
    /// Promise 5.
    #[error("the dtype of row {0} is not that of what it holds")]
    RowDtype(RowId),
    /// Promise 5.
    #[error("{0} has no tile function for {1}")]
    NoTile(Op, DType),
    /// Promise 6, 7, 11, 12, 13, 14, 21 or 22.
    #[error("the loop over {0} cannot run in this form")]
    Form(AxisId),
    /// Promise 7.
    #[error("{0} does not combine in this order or of these operands")]
    Order(ReduceOp),
    /// Promise 7.
    #[error("elements at indices given by data cannot be combined by {0}")]
    Combined(Op),
    /// Promise 8.
    #[error("access {0} is written outside of the loop that threads share, or by several of its steps")]
    Shared(AccessId),
    /// Promise 9.
    #[error("{0} may be too long to be counted in 32 bits")]
    Count(AxisId),
    /// Promise 16.
    #[error("it does not run together with the kernels beside it")]
    Together,
    /// Promise 16.
    #[error("a step uses elements of {0} that are not in its row")]
    Rows(BufferId),
    /// Promise 17.
    #[error("the elements of {0} that are written are not all, or more than it has")]
    Coverage(BufferId),
    /// Promise 17.
    #[error("{0} cannot start as another array")]
    Start(BufferId),
    /// Promise 18.
    #[error("{0} may be no index of an element")]
    Index(ValueId),
    /// Promise 19.
    #[error("access {0} cannot stream")]
    Streams(AccessId),
    /// Promise 15.
    #[error("access {0} reads an array where it may have no elements")]
    Empty(AccessId),
    /// Promise 20.
    #[error("it is launched before a kernel that it waits for")]
    Waits,
}
