//! Contractions: promise 10.

use super::{Fault, Scope};
use crate::kernel::*;
use broadloom_ir::reduce::{BLOCK, ReduceOp, SEQUENTIAL_LIMIT};

impl Scope<'_> {
    pub(super) fn contract(&mut self, contract: &Contract, stmt: &Stmt) -> Result<(), Fault> {
        let &Contract { axis, rows, strip, order, lanes, .. } = contract;
        let [of_rows, of_strip] = [rows, strip].map(|axis| self.strips.get(axis.index()).copied().flatten());
        let (Some(of_rows), Some(of_strip)) = (of_rows, of_strip) else { return Err(Fault::Form(axis)) };
        let is_apart = axis != rows && axis != strip && rows != strip;
        let is_walked = [rows, strip].into_iter().any(|axis| self.walked[axis.index()]);
        if !is_apart
            || is_walked
            || self.vector.is_some()
            || !matches!(order, Order::Free | Order::Sequential | Order::Tree)
            || self.axis(axis)?.group.is_some()
            || !self.is_at_most(axis, MAX_CONTRACTED_AXIS)
            || of_rows.length > self.most_steps(contract)
            || lanes < LEAST_LANES
            || !lanes.is_power_of_two()
            || !of_strip.length.is_multiple_of(lanes)
            || contract.accumulators.is_empty()
            || contract.accumulators.iter().any(|entry| entry.accumulator.operand.is_indexed())
            || !contract.body.iter().all(|stmt| self.is_contracted(stmt, contract))
            || !self.is_packing(contract)
            || contract.summed.is_some_and(|summed| !self.is_summed(summed, contract))
        {
            return Err(Fault::Form(axis));
        }
        for Contracted { accumulator, target } in &contract.accumulators {
            let held = self.row(*target)?;
            if held.dtype != accumulator.dtype || held.count < contract.results(&self.kernel.axes) {
                return Err(Fault::RowDtype(*target));
            }
            self.write_block(*target, rows, strip)?;
        }
        let mut rows: Vec<RowId> = contract.accumulators.iter().map(|entry| entry.target).collect();
        rows.extend(contract.filled_beside(&self.kernel.values));
        for row in contract.filled(&self.kernel.values) {
            self.has_its_own(row)?;
            rows.push(row);
        }
        for (index, row) in rows.iter().enumerate() {
            let is_again = rows[..index].contains(row);
            let writers = self.kernel.statements().filter(|stmt| {
                stmt.rows(&self.kernel.values).iter().any(|(of, used)| of == row && *used != RowUse::Read)
            });
            if is_again || writers.count() != 1 {
                return Err(Fault::Overwritten(*row));
            }
        }
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            scope.looped(&each, &mut |scope| {
                for entry in &contract.accumulators {
                    scope.contribution(&entry.accumulator, axis, order)?;
                    // Each block continues from the previous one.
                    scope.still_holds(entry.target)?;
                }
                Ok(())
            })
        })?;
        self.left_in_rows(contract.accumulators.iter().map(|entry| &entry.accumulator))
    }

    /// Whether the steps of a loop around a contraction can add its results: it does nothing else in a strip of its own, so that
    /// its first step replaces the results and only the last one leaves them; each step has whole sums, and results can hold all.
    fn is_summed(&self, summed: AxisId, contract: &Contract) -> bool {
        let extent = |axis: AxisId, most: usize| match self.kernel.axes.get(axis.index()) {
            Some(Axis { extent: Extent::Constant(extent), group: None, .. }) => {
                (1..=most as i64).contains(extent).then_some(*extent)
            }
            _ => None,
        };
        let (Some(steps), Some(terms)) = (extent(summed, SEQUENTIAL_LIMIT), extent(contract.axis, BLOCK))
        else {
            return false;
        };
        let holds = |entry: &Contracted| {
            let Accumulator { op, dtype, ref operand, .. } = entry.accumulator;
            let is_counted = matches!(operand, Contribution::Count(_)) && dtype.size() < 8;
            op == ReduceOp::Sum && (!is_counted || steps * terms < 1 << (8 * dtype.size()))
        };
        self.is_alone(contract) && contract.accumulators.iter().all(holds)
    }

    /// Whether a strip is cut for this contraction.
    fn is_alone(&self, contract: &Contract) -> bool {
        self.kernel.statements().filter_map(Stmt::stripped).any(|other| std::ptr::eq(other, contract))
    }

    /// Returns the most steps of a strip with rows. With ranks, they are more if the strip is cut for this contraction, because
    /// the code then shortens it if ranks need rows.
    fn most_steps(&self, contract: &Contract) -> usize {
        match self.is_alone(contract) {
            true => contract.most_steps(&self.kernel.axes),
            false => contract.fewest_steps(&self.kernel.axes),
        }
    }

    /// Whether the prologue fills rows with values that depend only on the elements that it reads: it does not run again for
    /// the same elements. Nothing may write to these arrays meanwhile.
    fn is_packing(&self, contract: &Contract) -> bool {
        let &Contract { axis, strip, .. } = contract;
        let written: Vec<BufferId> = self.kernel.written().collect();
        let is_read = |access: AccessId| {
            let buffer = self.kernel.accesses.get(access.index()).and_then(|access| access.buffer);
            buffer.is_some_and(|buffer| !written.contains(&buffer))
        };
        let made: Vec<ValueId> = statements(&contract.prologue)
            .filter_map(|stmt| if let Stmt::Let(value) = stmt { Some(*value) } else { None })
            .collect();
        let is_known = |value: &ValueId| {
            let def = self.kernel.values.get(value.index()).map(|value| &value.def);
            made.contains(value) || matches!(def, Some(Def::Constant(_) | Def::Param(_)))
        };
        statements(&contract.prologue).all(|stmt| match stmt {
            Stmt::Transpose { access, rows, axis: along, .. } => {
                *rows == axis && *along == strip && is_read(*access)
            }
            Stmt::For { axis: of, .. } => *of == axis || *of == strip,
            Stmt::Put { value, .. } => is_known(value),
            Stmt::Let(value) => match self.kernel.values.get(value.index()).map(|value| &value.def) {
                Some(Def::Load { access, .. }) => is_read(*access),
                Some(Def::Index(of)) => *of == axis || *of == strip,
                Some(def @ (Def::Op { position: None, .. } | Def::Select(_) | Def::Cast(_))) => {
                    def.operands().iter().all(is_known)
                }
                Some(Def::Constant(_) | Def::Param(_)) => true,
                _ => false,
            },
            _ => false,
        })
    }

    /// Checks that no other row shares memory with a row, because it is not filled again for every strip that reads it.
    fn has_its_own(&self, row: RowId) -> Result<(), Fault> {
        let place = |row: &Row| row.offset..row.offset + row.dtype.size() * row.length * row.count;
        let own = place(self.row(row)?);
        let mut others = (0..).zip(&self.kernel.rows).filter(|(index, _)| *index != row.index());
        match others.any(|(_, other)| place(other).start < own.end && own.start < place(other).end) {
            true => Err(Fault::Overwritten(row)),
            false => Ok(()),
        }
    }

    /// Whether a statement can run for lanes past the end of the strip: it reads no array that the strip moves, and cannot
    /// fail.
    fn is_contracted(&self, stmt: &Stmt, contract: &Contract) -> bool {
        let strip = contract.strip;
        let Stmt::Let(value) = stmt else { return false };
        match self.kernel.values.get(value.index()).map(|value| &value.def) {
            Some(Def::Row(row, axis)) => {
                let values = &self.kernel.values;
                *axis == strip && contract.filled(values).any(|filled| filled == *row)
                    || *axis == contract.axis && contract.filled_beside(values).any(|filled| filled == *row)
            }
            def => def.is_some_and(|def| self.kernel.goes_behind(def, strip)),
        }
    }
}
