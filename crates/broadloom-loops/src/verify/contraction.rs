//! Contractions: promise 10.

use super::{Fault, Scope};
use crate::kernel::*;
use broadloom_ir::reduce::{BLOCK, LANES, ReduceOp};

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
            || !self.axis(axis)?.groups.is_empty()
            || !self.is_at_most(axis, MAX_CONTRACTED_AXIS)
            || of_rows.length > contract.steps
            || contract.is_ranked(&self.kernel.axes) && contract.steps > self.most_ranked(contract)
            || lanes < LEAST_LANES
            || !lanes.is_power_of_two()
            || !of_strip.length.is_multiple_of(lanes)
            || contract.accumulators.is_empty()
            || contract.accumulators.iter().any(|entry| entry.accumulator.operand.is_indexed())
            || !contract.body.iter().all(|stmt| self.is_contracted(stmt, contract))
            || !self.is_packing(contract)
            || !self.hold_counts(contract)
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
        self.have_one_writer(&rows)?;
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

    /// Checks results that are combined over an axis: they are those of a contraction for the same strips, in each step.
    pub(super) fn fold_rows(&mut self, fold: &FoldRows, stmt: &Stmt) -> Result<(), Fault> {
        let &FoldRows { axis, rows, strip, order, .. } = fold;
        let is_of_strips = |axis: AxisId| {
            matches!(self.strips.get(axis.index()), Some(Some(_))) && !self.walked[axis.index()]
        };
        let from: Vec<RowId> = match fold.body.as_slice() {
            [Stmt::Contract(of)] if (of.rows, of.strip) == (rows, strip) => {
                of.accumulators.iter().map(|entry| entry.target).collect()
            }
            [Stmt::FoldRows(of)] if (of.rows, of.strip) == (rows, strip) => {
                of.folded.iter().map(|entry| entry.target).collect()
            }
            _ => return Err(Fault::Form(axis)),
        };
        let has_few_blocks = order != Order::Tree || self.is_at_most(axis, BLOCK as i64);
        let contract = fold.contract().ok_or(Fault::Form(axis))?;
        if !self.axis(axis)?.groups.is_empty()
            || self.strips[axis.index()].is_some()
            || !is_of_strips(rows)
            || !is_of_strips(strip)
            || self.vector.is_some()
            || !matches!(order, Order::Free | Order::Sequential | Order::Tree)
            || !has_few_blocks
            || !fold.folded.iter().map(|entry| entry.from).eq(from)
        {
            return Err(Fault::Form(axis));
        }
        for &Folded { op, dtype, from, target, lanes } in &fold.folded {
            if op.is_arg() || op == ReduceOp::Mean || !self.is_ordered(op, dtype, axis, order)? {
                return Err(Fault::Order(op));
            }
            if lanes.is_some() != (order == Order::Tree && !op.is_order_free(dtype)) {
                return Err(Fault::Order(op));
            }
            let Row { count, length, .. } = *self.row(target)?;
            // Tiles may combine their results themselves, also those beyond the last step.
            let least = rows_of_steps(contract.steps);
            let of_lanes = lanes.map(|row| (row, LANES * count));
            for (row, count) in [(from, least), (target, least)].into_iter().chain(of_lanes) {
                let held = self.row(row)?;
                if held.dtype != dtype || held.count < count || held.length != length {
                    return Err(Fault::RowDtype(row));
                }
            }
            for row in [Some(target), lanes].into_iter().flatten() {
                self.write_block(row, rows, strip)?;
            }
        }
        let kept: Vec<RowId> = fold.folded.iter().flat_map(Folded::rows).collect();
        self.have_one_writer(&kept)?;
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            scope.looped(&each, &mut |scope| {
                // Each step reads what it has left, and continues from the previous one.
                let mut read = fold.folded.iter().map(|entry| entry.from).chain(kept.iter().copied());
                read.try_for_each(|row| scope.still_holds(row))
            })
        })
    }

    /// Checks that rows are different, and that one statement writes each.
    fn have_one_writer(&self, rows: &[RowId]) -> Result<(), Fault> {
        for (index, row) in rows.iter().enumerate() {
            let is_again = rows[..index].contains(row);
            let writers = self.kernel.statements().filter(|stmt| {
                stmt.rows(&self.kernel.values).iter().any(|(of, used)| of == row && *used != RowUse::Read)
            });
            if is_again || writers.count() != 1 {
                return Err(Fault::Overwritten(*row));
            }
        }
        Ok(())
    }

    /// Whether the results of a contraction, and those combined from them, hold all counts.
    fn hold_counts(&self, contract: &Contract) -> bool {
        let extent = |axis: AxisId| match self.kernel.axes.get(axis.index())?.extent {
            Extent::Constant(extent) => Some(extent),
            Extent::Param(_) => None,
        };
        let folds = self.kernel.statements().filter_map(|stmt| match stmt {
            Stmt::FoldRows(fold) if fold.contract().is_some_and(|of| std::ptr::eq(of, contract)) => {
                Some(fold)
            }
            _ => None,
        });
        let folds: Vec<&FoldRows> = folds.collect();
        // The greatest or least of counts is one of them.
        let adds = |fold: &&&FoldRows| fold.folded.iter().any(|entry| entry.op == ReduceOp::Sum);
        let counted =
            folds.iter().filter(adds).try_fold(extent(contract.axis).unwrap_or(i64::MAX), |counted, fold| {
                counted.checked_mul(extent(fold.axis)?)
            });
        let are_counts = |fold: &&FoldRows| {
            fold.folded.iter().all(|entry| matches!(entry.op, ReduceOp::Sum | ReduceOp::Min | ReduceOp::Max))
        };
        let holds = |entry: &Contracted| {
            let Accumulator { dtype, ref operand, .. } = entry.accumulator;
            !matches!(operand, Contribution::Count(_))
                || dtype.size() >= 8
                || folds.iter().all(are_counts)
                    && counted.is_some_and(|counted| counted < 1 << (8 * dtype.size()))
        };
        contract.accumulators.iter().all(holds)
    }

    /// Returns the most steps of a strip with rows if there are ranks: more if the strip is cut for this contraction, because
    /// the code then shortens it if ranks need rows.
    fn most_ranked(&self, contract: &Contract) -> usize {
        let mut stripped = self.kernel.statements().filter_map(Stmt::stripped);
        if stripped.any(|other| std::ptr::eq(other, contract)) { RANKED_ROWS } else { CONTRACTED_ROWS }
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
            def => def.is_some_and(|def| self.kernel.can_overrun_strip(def, strip)),
        }
    }
}
