//! The best elements along an axis, held in rows.

use super::Maker;
use crate::LowerError;
use crate::kernel::*;
use crate::nest::Found;
use broadloom_ir::dtype::DType;

impl Maker<'_, '_, '_> {
    /// The walk that finds them.
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

    /// Where a walk along an axis finds its elements, and what fills that for a strip.
    fn elements(&mut self, axis: AxisId, operand: ValueId) -> Result<(Vec<Stmt>, Operand), LowerError> {
        if let Def::Load { access, delta } = self.nest.values[operand.index()].def
            && self.nest.accesses[access.index()].gathered.is_none()
        {
            return Ok((Vec::new(), Operand::Array { access, delta }));
        }
        let items = self.placement.items(Some(axis));
        let wanted = [operand];
        let (mut body, last, lanes, row) =
            self.in_stages(axis, Some(axis), &items, &wanted, |maker, body| {
                if let Some(row) = maker.rows.get(&(operand, axis)) {
                    return *row;
                }
                let value = maker.get(operand, body);
                let row = maker.row(maker.nest.values[operand.index()].dtype, 1, axis);
                body.push(Stmt::Put { row, part: 0, axis, value });
                row
            })?;
        if !last.is_empty() {
            body.push(Stmt::For { axis, lanes, body: last });
        }
        Ok((body, Operand::Row(row)))
    }
}
