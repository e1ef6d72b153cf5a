//! Contractions: reductions computed before the two loops that move their operands, and those loops as blocks
//! around them.

use super::{Maker, is_by_tree};
use crate::LowerError;
use crate::kernel::*;
use crate::place::Contraction;
use crate::thresholds::CONTRACTED_VECTOR;
use broadloom_ir::reduce::{BLOCK, LANES};
use std::collections::HashSet;

impl Maker<'_, '_, '_> {
    /// Makes the loop over an axis and the one inside it, strip by strip, with their contractions before each.
    pub(super) fn contraction(
        &mut self,
        rows: AxisId,
        contraction: &Contraction,
    ) -> Result<Stmt, LowerError> {
        let contract = self.scoped(|maker| maker.contract(rows, contraction))?;
        let body = self.level(Some(rows))?;
        let contract = match contraction.summed {
            Some(axis) => Stmt::For { axis, lanes: 1, body: vec![contract] },
            None => contract,
        };
        let block = vec![contract, Stmt::For { axis: rows, lanes: 1, body }];
        // Rows for a block of the reduction axis serve all strips of the outer loop.
        let block = Stmt::Strip { axis: rows, length: 0, body: block };
        Ok(Stmt::Strip { axis: contraction.strip, length: 0, body: vec![block] })
    }

    pub(super) fn contract(&mut self, rows: AxisId, contraction: &Contraction) -> Result<Stmt, LowerError> {
        let &Contraction { strip, reduction: axis, summed, ref packed } = contraction;
        let order = self.placement.orders[&axis];
        let by_lanes = is_by_tree(order);
        let extent = self.nest.axes[axis.index()].extent.as_constant();
        let block = extent.map_or(BLOCK, |extent| (extent.max(1) as usize).min(BLOCK));
        let rows_of_block = if by_lanes { LANES * ROWS_OF_LANE } else { block };
        let beside = self.placement.beside(rows, axis);
        let [(prologue, filled), (rows_prologue, beside)] = [
            (packed, rows_of_block, [axis, strip], Span::Block { rows: axis, by_lanes }),
            (&beside, PACKED_STEPS, [rows, axis], Span::Part { rows, by_lanes }),
        ]
        .map(|(values, count, [each, along], span)| {
            let rows = values.iter().map(|value| {
                let row = self.spanning(self.nest.values[value.index()].dtype, count, along, span);
                (self.pack(*value, row, each, along), ((*value, along), row))
            });
            rows.unzip::<_, _, Vec<Stmt>, Vec<_>>()
        });
        self.rows.extend(filled.into_iter().chain(beside));
        // An outer sum adds as many elements in each of its steps.
        let times = summed.map_or(Some(1), |summed| self.nest.axes[summed.index()].extent.as_constant());
        let elements = extent.zip(times).and_then(|(extent, times)| extent.checked_mul(times));
        let reduced = self.placement.reduced[&axis].clone();
        let mut body = Vec::new();
        let added_to: Vec<Accumulator> = reduced
            .iter()
            .map(|value| {
                let accumulator = self.accumulator(*value, &mut body);
                self.narrowed(accumulator, elements, &mut body)
            })
            .collect();
        self.remove_unused(&mut body, &added_to);
        let added = added_to.iter().map(|accumulator| {
            let narrow = accumulator.narrow(&self.kernel.values);
            narrow.map_or(accumulator.dtype, |narrow| narrow.dtype).size()
        });
        let most = (CONTRACTED_VECTOR / added.max().unwrap_or(1)).clamp(LEAST_LANES, 4 * LANES);
        // A short strip fills narrower vectors.
        let strip_extent = self.nest.axes[strip.index()].extent.as_constant();
        let lanes = strip_extent
            .map_or(most, |extent| (extent.max(1) as usize).next_power_of_two().clamp(LEAST_LANES, most));
        let accumulators = Vec::new();
        let mut contract =
            Contract { axis, rows, strip, summed, order, lanes, prologue, rows_prologue, body, accumulators };
        let count = contract.results(&self.kernel.axes);
        // The results are those of the outer sum.
        let results = summed.map_or(&reduced, |summed| &self.placement.reduced[&summed]).clone();
        for (value, accumulator) in results.iter().zip(added_to) {
            let span = Span::Block { rows, by_lanes: false };
            let target = self.spanning(accumulator.dtype, count, strip, span);
            self.rows.insert((*value, strip), target);
            contract.accumulators.push(Contracted { accumulator, target });
        }
        Ok(Stmt::Contract(contract))
    }

    /// Returns an accumulator of narrower lanes, if they hold the sum of all elements: fewer registers, and shorter rows.
    fn narrowed(
        &mut self,
        accumulator: Accumulator,
        elements: Option<i64>,
        body: &mut Vec<Stmt>,
    ) -> Accumulator {
        let narrow = accumulator.narrow(&self.kernel.values);
        let Some(Narrow { dtype, .. }) =
            narrow.filter(|narrow| elements.is_some_and(|elements| elements <= narrow.steps))
        else {
            return accumulator;
        };
        let operand = match accumulator.operand {
            Contribution::Value(wide) => {
                let values = &mut self.kernel.values;
                let cast = ValueId::new(values.len());
                let Value { def, origin, .. } = values[wide.index()].clone();
                values.push(Value { dtype, def, origin });
                body.push(Stmt::Let(cast));
                Contribution::Value(cast)
            }
            operand => operand,
        };
        self.kernel.values[accumulator.result.index()].dtype = dtype;
        Accumulator { dtype, operand, ..accumulator }
    }

    /// Removes the casts of which narrower accumulators use the operands.
    fn remove_unused(&self, body: &mut Vec<Stmt>, accumulators: &[Accumulator]) {
        let values = &self.kernel.values;
        let made =
            body.iter().filter_map(|stmt| if let Stmt::Let(value) = stmt { Some(*value) } else { None });
        let mut used: HashSet<ValueId> =
            made.flat_map(|value| values[value.index()].def.operands()).collect();
        used.extend(accumulators.iter().flat_map(|accumulator| accumulator.operand.operands()));
        body.retain(|stmt| !matches!(stmt, Stmt::Let(value) if !used.contains(value)));
    }

    /// Fills rows over the strip of an axis with a value, one for each step of another axis.
    fn pack(&mut self, value: ValueId, row: RowId, rows: AxisId, axis: AxisId) -> Stmt {
        let is_dealt = matches!(self.kernel.rows[row.index()].span, Span::Part { by_lanes: true, .. });
        if let Def::Load { access, delta } = self.nest.values[value.index()].def {
            let [each, along] =
                [rows, axis].map(|axis| self.nest.accesses[access.index()].stride(axis).is_one());
            if each && !along || along && is_dealt {
                return Stmt::Transpose { access, delta, row, rows, axis };
            }
        }
        let outer = self.env.clone();
        let mut body = Vec::new();
        let made = self.get(value, &mut body);
        body.push(Stmt::Put { row, part: 0, axis, value: made });
        self.env = outer;
        let lanes = match is_dealt {
            true => 1,
            false => self.placement.lanes(axis, Some(axis), self.placement.subtree(rows).into_iter()),
        };
        Stmt::For { axis: rows, lanes: 1, body: vec![Stmt::For { axis, lanes, body }] }
    }
}
