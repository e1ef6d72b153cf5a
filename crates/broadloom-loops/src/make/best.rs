//! The best elements along an axis, kept in rows.

use super::{Maker, Steps};
use crate::LowerError;
use crate::kernel::*;
use crate::nest::Found;
use crate::place::Item;
use broadloom_ir::dtype::DType;

impl Maker<'_, '_, '_> {
    /// Makes the walk that finds them.
    pub(super) fn best(&mut self, axis: AxisId, found: Found) -> Result<Best, LowerError> {
        let Found { places, k, largest, operand } = found;
        let (body, source) = self.scoped(|maker| maker.elements(axis, operand))?;
        let dtype = self.nest.values[operand.index()].dtype;
        let [values, indices] = [dtype, DType::I64].map(|dtype| {
            let row = self.spanning(dtype, 1, places, Span::Axis);
            self.kernel.rows[row.index()].length = k;
            row
        });
        for value in self.placement.reduced[&axis].clone() {
            let row = if self.nest.reductions[&value].op.is_arg() { indices } else { values };
            self.rows.insert((value, places), row);
        }
        Ok(Best { axis, places, largest, body, source, values, indices })
    }

    /// Makes the loop over an axis around a walk for its whole strip at once. The places are a strip too, and the
    /// loop over them is outside the loop over the axis, whose elements are contiguous.
    pub(super) fn strips_of_best(&mut self, axis: AxisId, found: Found) -> Result<Stmt, LowerError> {
        let places = found.places;
        let mut body = self.gathers(axis);
        let mut items = self.placement.items(Some(axis));
        items.retain(|item| *item != Item::Loop(places));
        let (before, last, lanes, ()) = self.in_stages(axis, Some(axis), &items, &[], |_, _| ())?;
        body.extend(before);
        if !last.is_empty() {
            body.push(Stmt::For { axis, lanes, body: last });
        }
        let stored: Vec<ValueId> = self.nest.stores.iter().map(|store| store.value).collect();
        let lanes = self.stage_lanes(axis, Some(axis), &[], &stored);
        let stores = self.scoped(|maker| maker.level(Some(places)))?;
        let along = Stmt::For { axis, lanes, body: stores };
        body.push(Stmt::For { axis: places, lanes: 1, body: vec![along] });
        let body = vec![Stmt::Strip { axis: places, length: 0, body }];
        Ok(Stmt::Strip { axis, length: 0, body })
    }

    /// Makes the walk that finds them for the whole strip of the loop around it.
    pub(super) fn best_rows(
        &mut self,
        axis: AxisId,
        strip: AxisId,
        found: Found,
    ) -> Result<BestRows, LowerError> {
        let Found { places, k, largest, operand } = found;
        let (Steps { ahead, per_step, .. }, prologue, source) = self.scoped(|maker| {
            let steps = maker.before_strip(axis, strip)?;
            let (prologue, source) = match maker.operand(operand, strip) {
                Some(source) => (Vec::new(), source),
                None => maker.filled(axis, strip, &steps.varying, operand)?,
            };
            Ok((steps, prologue, source))
        })?;
        let dtype = self.nest.values[operand.index()].dtype;
        let span = Span::Block { rows: places, by_lanes: false };
        let [values, indices] = [dtype, DType::I64].map(|dtype| self.spanning(dtype, k, strip, span));
        for value in self.placement.reduced[&axis].clone() {
            let row = if self.nest.reductions[&value].op.is_arg() { indices } else { values };
            self.rows.insert((value, strip), row);
        }
        Ok(BestRows { axis, strip, places, largest, ahead, per_step, prologue, source, values, indices })
    }

    /// Returns where a walk along an axis finds its elements, and the statements that fill that for a strip.
    fn elements(&mut self, axis: AxisId, operand: ValueId) -> Result<(Vec<Stmt>, Operand), LowerError> {
        if let Def::Load { access, delta } = self.nest.values[operand.index()].def
            && self.nest.accesses[access.index()].gathered.is_none()
        {
            return Ok((Vec::new(), Operand::Array { access, delta }));
        }
        let items = self.placement.items(Some(axis));
        self.filled(axis, axis, &items, operand)
    }

    /// Fills a row over a strip with a value of a loop, and returns the row.
    fn filled(
        &mut self,
        level: AxisId,
        strip: AxisId,
        items: &[Item],
        value: ValueId,
    ) -> Result<(Vec<Stmt>, Operand), LowerError> {
        let (mut body, last, lanes, row) =
            self.in_stages(strip, Some(level), items, &[value], |maker, body| {
                if let Some(row) = maker.own_row(value, strip) {
                    return row;
                }
                let made = maker.get(value, body);
                let row = maker.row(maker.nest.values[value.index()].dtype, 1, strip);
                body.push(Stmt::Put { row, part: 0, axis: strip, value: made });
                row
            })?;
        if !last.is_empty() {
            body.push(Stmt::For { axis: strip, lanes, body: last });
        }
        Ok((body, Operand::Row(row)))
    }
}
