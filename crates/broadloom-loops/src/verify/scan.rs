//! Promise 13: scans run through the steps of an axis in order.

use super::{Fault, Scope, Strip};
use crate::kernel::*;
use broadloom_ir::reduce::ReduceOp;
use smallvec::{SmallVec, smallvec};

impl Scope<'_> {
    /// Checks the loops over the axis of scans.
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

    /// Checks a row of one element, for which all steps are one strip.
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
        rows: Option<AxisId>,
    ) -> Result<(), Fault> {
        self.axis(axis)?;
        let Row { span, dtype, count, .. } = *self.row(state)?;
        if self.kernel.scanned != Some(axis) || self.walked[axis.index()] || self.vector.is_some() {
            return Err(Fault::Form(axis));
        }
        let mut along: SmallVec<[AxisId; 2]> = smallvec![axis];
        match rows {
            None if span == Span::One => self.still_holds(state)?,
            // A row with an element for each step must be over these steps, with no other loop over them.
            Some(rows) if span == Span::Strip && count == 1 && rows != axis => {
                self.axis(rows)?;
                let of_arrays = [target, source].iter().all(|operand| operand.array().is_some());
                if self.walked[rows.index()] || !of_arrays {
                    return Err(Fault::Form(rows));
                }
                self.read_row(state, rows)?;
                along.push(rows);
            }
            None | Some(_) => return Err(Fault::Row(state)),
        }
        if !matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max) {
            return Err(Fault::Order(op));
        }
        self.source_of_strip(source, axis, &along, dtype)?;
        if self.target_of_strip(target, axis, &along)? != dtype {
            return Err(Fault::RowDtype(state));
        }
        target.row().map_or(Ok(()), |row| self.write_row(row, axis))
    }
}
