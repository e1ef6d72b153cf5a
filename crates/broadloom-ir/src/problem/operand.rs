//! Operands as a diagnostic shows them.

use super::Size;
use crate::dtype::{DType, Scalar};
use crate::site::Site;

/// How an operand was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// An input of this name.
    Input(Box<str>),
    /// The result of an op, applied to this input if its first operand is one.
    Op {
        /// Name of the op.
        op: Box<str>,
        /// Name of the input.
        of: Option<Box<str>>,
    },
    /// A list of numbers.
    List,
    /// A constant.
    Constant(Scalar),
    /// A requested shape, such as the target of `broadcast_to`.
    Wanted,
    /// The shape of an impossible result.
    Result,
}

/// An operand of an op that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// The input's name, or the operand's role: `lhs`, `rhs`, `condition`.
    pub name: Box<str>,
    /// Its dtype, if it is a tensor.
    pub dtype: Option<DType>,
    /// Its sizes.
    pub dims: Vec<Size>,
    /// The columns of a table that its axes occupy, if they do not end at the last column.
    pub columns: Option<Vec<usize>>,
    /// How it was made.
    pub made: Made,
    /// The place where it was made.
    pub site: Site,
}
