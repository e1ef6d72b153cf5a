//! Promise 13: results run through the steps of an axis in order.

use super::{Fault, Scope, Strip};
use crate::kernel::*;
use broadloom_ir::reduce::ReduceOp;

impl Scope<'_> {
    /// The loops over the axis along which results run.
    pub(super) fn scanned(&self) -> Result<(), Fault> {
        let Some(axis) = self.kernel.scanned else { return Ok(()) };
        self.axis(axis)?;
        let skips = |stmt: &Stmt| match stmt {
            Stmt::For { axis: of, lanes, body } => {
                *of == axis && *lanes > 1 && statements(body).any(|inside| matches!(inside, Stmt::For { .. }))
            }
            _ => false,
        };
        match self.kernel.parallel == Some(axis) || self.kernel.statements().any(skips) {
            true => Err(Fault::Form(axis)),
            false => Ok(()),
        }
    }

    /// A row of one element, for which all steps are one strip.
    pub(super) fn begin(&mut self, row: RowId, value: ValueId) -> Result<(), Fault> {
        let Row { span, count, length, dtype, .. } = *self.row(row)?;
        let in_strip = self.kernel.scanned.is_none_or(|axis| self.strips[axis.index()].is_some());
        if span != Span::One || count != 1 || length != 1 || in_strip || self.vector.is_some() {
            return Err(Fault::Row(row));
        }
        let Some(axis) = self.kernel.scanned else { return Err(Fault::Row(row)) };
        self.scratch.write(row, (axis, Strip { number: usize::MAX, length }));
        if self.read(value)? == dtype { Ok(()) } else { Err(Fault::RowDtype(row)) }
    }

    pub(super) fn scan(
        &mut self,
        op: ReduceOp,
        [target, source]: [Operand; 2],
        state: RowId,
        axis: AxisId,
    ) -> Result<(), Fault> {
        self.axis(axis)?;
        let Row { span, dtype, .. } = *self.row(state)?;
        if self.kernel.scanned != Some(axis) || self.walked[axis.index()] || self.vector.is_some() {
            return Err(Fault::Form(axis));
        }
        if span != Span::One {
            return Err(Fault::Row(state));
        }
        self.still_holds(state)?;
        if !matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max) {
            return Err(Fault::Order(op));
        }
        self.source_of_strip(source, axis, dtype)?;
        if self.target_of_strip(target, axis)? != dtype {
            return Err(Fault::RowDtype(state));
        }
        target.row().map_or(Ok(()), |row| self.write_row(row, axis))
    }
}
