//! Contractions: reductions computed before the two loops that move their operands, and those loops as blocks
//! around them.

use super::{Maker, is_by_tree};
use crate::LowerError;
use crate::kernel::*;
use crate::nest::bit;
use crate::place::Contraction;
use crate::thresholds::CONTRACTED_VECTOR;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::{BLOCK, LANES, ReduceOp};
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
        let block = vec![contract, Stmt::For { axis: rows, lanes: 1, body }];
        // Rows for a block of the reduction axis serve all strips of the outer loop.
        let block = Stmt::Strip { axis: rows, length: 0, body: block };
        Ok(Stmt::Strip { axis: contraction.strip, length: 0, body: vec![block] })
    }

    /// Returns the contraction, combined over the axes around it.
    pub(super) fn contract(&mut self, rows: AxisId, contraction: &Contraction) -> Result<Stmt, LowerError> {
        let &Contraction { strip, reduction: axis, ref folds, ref operands } = contraction;
        let order = self.placement.orders[&axis];
        let by_lanes = is_by_tree(order);
        let extent = self.nest.axes[axis.index()].extent.as_constant();
        let block = extent.map_or(BLOCK, |extent| (extent.max(1) as usize).min(BLOCK));
        let rows_of_block = if by_lanes { LANES * ROWS_OF_LANE } else { block };
        let block_of_rows = Span::Block { rows: axis, by_lanes };
        let (mut prologue, mut rows_prologue, mut filled) = (Vec::new(), Vec::new(), Vec::new());
        for &value in &operands.packed {
            let row = self.spanning(self.dtype(value), rows_of_block, strip, block_of_rows);
            prologue.push(self.pack(value, row, [axis, strip]));
            filled.push(((value, strip), row));
        }
        for &value in &operands.beside {
            let row = self.spanning(self.dtype(value), PACKED_STEPS, axis, Span::Part { rows, by_lanes });
            rows_prologue.push(self.pack(value, row, [rows, axis]));
            filled.push(((value, axis), row));
        }
        self.rows.extend(filled);
        let elements = self.added_elements(contraction);
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
        let mut contract = Contract {
            axis,
            rows,
            strip,
            steps: 0,
            order,
            lanes,
            prologue,
            rows_prologue,
            body,
            epilogue: Epilogue::Store,
            accumulators,
        };
        contract.steps = self.steps_of(&contract, folds);
        let count = contract.results(&self.kernel.axes);
        let span = Span::Block { rows, by_lanes: false };
        for (value, accumulator) in reduced.iter().zip(added_to) {
            let target = self.spanning(accumulator.dtype, count, strip, span);
            self.rows.insert((*value, strip), target);
            contract.accumulators.push(Contracted { accumulator, target });
        }
        let count = rows_of_steps(contract.steps);
        let mut from: Vec<(DType, RowId)> =
            contract.accumulators.iter().map(|entry| (entry.accumulator.dtype, entry.target)).collect();
        let mut made = Stmt::Contract(contract);
        for &axis in folds.iter().rev() {
            let order = self.placement.orders[&axis];
            let results = self.placement.reduced[&axis].clone();
            let folded: Vec<Folded> = results
                .iter()
                .zip(from)
                .map(|(value, (dtype, from))| {
                    let op = self.nest.reductions[value].op;
                    let target = self.spanning(dtype, count, strip, span);
                    let is_by_tree = order == Order::Tree && !op.is_order_free(dtype);
                    let lanes = is_by_tree.then(|| self.spanning(dtype, LANES * count, strip, span));
                    self.rows.insert((*value, strip), target);
                    Folded { op, dtype, from, target, lanes }
                })
                .collect();
            from = folded.iter().map(|entry| (entry.dtype, entry.target)).collect();
            made = Stmt::FoldRows(FoldRows { axis, rows, strip, order, body: vec![made], folded });
        }
        Ok(made)
    }

    /// Returns the most steps of the strip with rows for a contraction whose results are combined over further axes.
    fn steps_of(&self, contract: &Contract, folds: &[AxisId]) -> usize {
        let is_reduced = self.nest.axes[contract.rows.index()].reduction;
        let is_ranked = contract.is_ranked(&self.kernel.axes);
        let have_lanes = folds.iter().any(|axis| self.placement.orders[axis] == Order::Tree);
        match (is_reduced, folds.is_empty()) {
            // All rows are used.
            (false, true) if is_ranked => RANKED_ROWS,
            (false, true) => CONTRACTED_ROWS,
            // Long sums take the time. Behind short ones, several steps are those of one lane of the fixed tree, whose
            // accumulators are loaded and stored once for all of them.
            (true, true) if contract.order == Order::Tree => CONTRACTED_ROWS,
            (true, true) => STREAMED_STEPS,
            _ if is_ranked || have_lanes => CONTRACTED_ROWS,
            (true, false) => FOLDED_STEPS,
            (false, false) => FOLDED_ROWS,
        }
    }

    /// Returns the most elements whose sum is a result, if that is known: an outer sum adds as many in each of its steps.
    fn added_elements(&self, contraction: &Contraction) -> Option<i64> {
        let extent = |axis: AxisId| self.nest.axes[axis.index()].extent.as_constant();
        contraction.folds.iter().try_fold(extent(contraction.reduction)?, |elements, axis| {
            let ops = self.placement.reduced[axis].iter().map(|value| self.nest.reductions[value].op);
            let are_sums = ops.clone().all(|op| op == ReduceOp::Sum);
            let are_extremes = ops.clone().all(|op| matches!(op, ReduceOp::Min | ReduceOp::Max));
            match (are_sums, are_extremes) {
                (true, _) => elements.checked_mul(extent(*axis)?),
                (_, true) => Some(elements),
                _ => None,
            }
        })
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

    fn dtype(&self, value: ValueId) -> DType {
        self.nest.values[value.index()].dtype
    }

    /// Fills rows over the strip of an axis with a value, one for each step of another axis.
    fn pack(&mut self, value: ValueId, row: RowId, [rows, axis]: [AxisId; 2]) -> Stmt {
        let is_by_tree_lane = matches!(self.kernel.rows[row.index()].span, Span::Part { by_lanes: true, .. });
        if let Def::Load { access, delta } = self.nest.values[value.index()].def {
            let [each, along] =
                [rows, axis].map(|axis| self.nest.accesses[access.index()].stride(axis).is_one());
            if each && !along || along && is_by_tree_lane {
                return Stmt::Transpose { access, delta, row, rows, axis, in_registers: false };
            }
        }
        // Vectors are computed in the order of the axis.
        let in_order = if is_by_tree_lane { self.row(self.dtype(value), 1, axis) } else { row };
        let outer = self.env.clone();
        let (mut per_row, mut body) = (Vec::new(), Vec::new());
        let (moved, same) = self.moved_along(value, axis);
        for source in same {
            self.get(source, &mut per_row);
        }
        let made = self.get(value, &mut body);
        body.push(Stmt::Put { row: in_order, part: 0, axis, value: made });
        self.env = outer;
        let lanes = self.placement.lanes(axis, Some(axis), moved.into_iter());
        per_row.push(Stmt::For { axis, lanes, body });
        if is_by_tree_lane {
            per_row.push(Stmt::Deinterleave { row, source: in_order, axis });
        }
        Stmt::For { axis: rows, lanes: 1, body: per_row }
    }

    /// Returns the values along an axis from which a value is computed, itself among them, and the others that these read.
    fn moved_along(&self, value: ValueId, axis: AxisId) -> (Vec<ValueId>, Vec<ValueId>) {
        let (mut moved, mut same) = (Vec::new(), Vec::new());
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if self.nest.varies[value.index()] & bit(axis) == 0 {
                same.push(value);
            } else if !moved.contains(&value) {
                moved.push(value);
                stack.extend(self.placement.sources(value));
            }
        }
        (moved, same)
    }
}
