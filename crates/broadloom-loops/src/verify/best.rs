//! Promises of the best elements along an axis.

use super::{Fault, Scope, is_computed};
use crate::kernel::*;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::ReduceOp;

impl Scope<'_> {
    pub(super) fn best(&mut self, best: &Best, stmt: &Stmt) -> Result<(), Fault> {
        let (axis, places) = (best.axis, best.places);
        self.extent(self.axis(axis)?.extent)?;
        if self.walked[axis.index()] || self.strips[axis.index()].is_some() {
            return Err(Fault::Nested(axis));
        }
        let Extent::Constant(k @ 1..) = self.axis(places)?.extent else { return Err(Fault::Form(places)) };
        let is_around = |axis: AxisId| self.walked[axis.index()] || self.strips[axis.index()].is_some();
        let has_body = matches!(best.source, Operand::Row(_));
        if self.vector.is_some() || axis == places || is_around(places) || has_body == best.body.is_empty() {
            return Err(Fault::Form(axis));
        }
        let dtype = match best.source {
            Operand::Row(row) => self.row(row)?.dtype,
            Operand::Array { access, .. } => {
                let source = self.moved(access, &[axis])?;
                self.buffer(access, source)?.dtype
            }
        };
        if !is_computed(dtype) {
            return Err(Fault::Order(if best.largest { ReduceOp::Max } else { ReduceOp::Min }));
        }
        for (row, dtype) in best.rows().into_iter().zip([dtype, DType::I64]) {
            let held = self.row(row)?;
            if held.dtype != dtype {
                return Err(Fault::RowDtype(row));
            }
            if held.span != Span::Axis {
                return Err(Fault::Row(row));
            }
            // The row's length determines how many elements are held.
            if held.length as i64 != k {
                return Err(Fault::Short(row));
            }
            self.write_places(row, places);
        }
        if let (Some(each), Operand::Row(row)) = (stmt.as_loop(), best.source) {
            self.scoped(|scope| {
                scope.looped(&each, &mut |scope| {
                    scope.read_row(row, axis)?;
                    // Each strip continues from the previous one.
                    best.rows().into_iter().try_for_each(|row| scope.still_holds(row))
                })
            })?;
        }
        Ok(())
    }

    pub(super) fn best_rows(&mut self, best: &BestRows, stmt: &Stmt) -> Result<(), Fault> {
        let &BestRows { axis, strip, places, .. } = best;
        self.axis(strip)?;
        let Extent::Constant(k @ 1..) = self.axis(places)?.extent else { return Err(Fault::Form(places)) };
        let is_apart = axis != strip && axis != places && strip != places;
        let [of_strip, of_places] = [strip, places].map(|axis| self.strips[axis.index()]);
        let is_walked = self.walked[strip.index()] || self.walked[places.index()];
        let has_all = of_places.is_some_and(|strip| strip.length as i64 >= k);
        if self.vector.is_some() || !is_apart || is_walked || of_strip.is_none() || !has_all {
            return Err(Fault::Form(axis));
        }
        for row in best.rows() {
            self.write_block(row, places, strip)?;
            // The number of rows determines how many elements are held.
            if self.row(row)?.count as i64 != k {
                return Err(Fault::Short(row));
            }
        }
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            scope.looped(&each, &mut |scope| {
                let dtype = match best.source {
                    Operand::Row(row) => scope.read_row(row, strip)?,
                    Operand::Array { access, .. } => scope.side_by_side(access, strip)?,
                };
                if !is_computed(dtype) {
                    return Err(Fault::Order(if best.largest { ReduceOp::Max } else { ReduceOp::Min }));
                }
                for (row, dtype) in best.rows().into_iter().zip([dtype, DType::I64]) {
                    if scope.row(row)?.dtype != dtype {
                        return Err(Fault::RowDtype(row));
                    }
                    // Each step continues from the previous one.
                    scope.still_holds(row)?;
                }
                Ok(())
            })
        })
    }
}
