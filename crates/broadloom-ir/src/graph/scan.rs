//! Scans: running results along an axis.
//!
//! Element `i` combines the elements `0..=i` in the order of the axis: each result combines the one before it with
//! one more element. Sums and products of 16-bit floats are computed in `f32`, and each result is rounded.

use super::{Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::Class;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The elements that a scan takes, and whether it starts with the result of no elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// `Sum`, `Prod`, `Min` or `Max`.
    pub op: ReduceOp,
    /// Whether NaNs are ignored: they count as 0 in a sum and as 1 in a product.
    pub numbers: bool,
    /// Whether the first result is that of no elements, so that there is one more result than there are elements.
    pub include_initial: bool,
}

impl Running {
    /// Returns the scan of an op with one result per element.
    pub fn of(op: ReduceOp) -> Running {
        Running { op, numbers: false, include_initial: false }
    }
}

/// Returns the name of an op's scan in the text language, in dumps and in messages.
pub fn scan_name(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "cumsum",
        ReduceOp::Prod => "cumprod",
        ReduceOp::Min => "cummin",
        ReduceOp::Max => "cummax",
        _ => op.name(),
    }
}

impl Graph {
    /// Scans along an axis; `None` scans all elements in row-major order.
    ///
    /// Sums and products have the dtype of those over the axis: integers and bools become 64 bits wide.
    pub fn scan(&mut self, running: Running, operand: ExprId, axis: Option<i64>, site: Site) -> ExprId {
        let result = self.try_running(running, operand, axis, site);
        let name = scan_name(running.op);
        let name = if running.numbers { format!("nan{name}") } else { name.to_owned() };
        self.settle(result, &name, &[operand], site)
    }

    /// Like [`Graph::scan`] along one axis, but starts from `initial`, which has the dtype of the accumulator and
    /// the shape without the axis: it continues where another scan ended. The result stays in that dtype.
    pub(crate) fn scan_from(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axis: usize,
        initial: ExprId,
        site: Site,
    ) -> ExprId {
        let result = self.try_scan(op, operand, axis, Some(initial), site);
        self.settle(result, scan_name(op), &[operand, initial], site)
    }

    pub(super) fn try_running(
        &mut self,
        running: Running,
        operand: ExprId,
        axis: Option<i64>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Running { op, numbers, include_initial } = running;
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        if include_initial && !matches!(op, ReduceOp::Sum | ReduceOp::Prod) {
            return Err(Problem::Argument("has no value for zero elements: leave out `include_initial`"));
        }
        let (operand, axis) = match axis {
            Some(axis) => self.along(operand, axis, site)?,
            None => (self.try_reshape(operand, &[None], site)?, 0),
        };
        let result = op.result_dtype(self.dtype(operand));
        let mut x = operand;
        if numbers && self.dtype(x).class() == Class::Float {
            let is_number = self.try_elementwise(Op::Equal, &[x, x], site)?;
            let nothing = self.insert_constant(op.empty(self.dtype(x)), site)?;
            x = self.try_select([is_number, x, nothing], site)?;
        }
        let x = self.convert(x, op.accumulator(self.dtype(x)), site)?;
        let scan = self.try_scan(op, x, axis, None, site)?;
        let scan = self.convert(scan, result, site)?;
        if !include_initial {
            return Ok(scan);
        }
        let mut shape = self.written(scan).to_vec();
        shape[axis] = Dim::ONE;
        let nothing = self.insert_constant(op.empty(result), site)?;
        let nothing = self.try_broadcast_to(nothing, shape.into(), site)?;
        self.try_concat(&[nothing, scan], axis as i64, site)
    }

    pub(super) fn try_scan(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axis: usize,
        initial: Option<ExprId>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if initial.is_none()
            && let Some(scanned) = self.scan_selected(op, operand, axis, site)?
        {
            return Ok(scanned);
        }
        let (dtype, shape) = (self.dtype(operand), self.written(operand).clone());
        self.insert(Node::Scan { op, operand, axis, initial }, dtype, shape, Vec::new(), site)
    }
}
