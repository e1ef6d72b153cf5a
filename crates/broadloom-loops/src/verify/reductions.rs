//! Promises of reductions: orders, forms, and the rows of their results.

use super::{Fault, Scope, find, is_computed};
use crate::kernel::*;
use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::reduce::{LANES, ReduceOp, SEQUENTIAL_LIMIT};

impl Scope<'_> {
    /// Checks the contribution of an element at the end of the innermost loop of a reduction.
    pub(super) fn contribution(
        &self,
        accumulator: &Accumulator,
        axis: AxisId,
        order: Order,
    ) -> Result<(), Fault> {
        let Accumulator { op, dtype, operand, result } = accumulator;
        for value in operand.operands() {
            let expected = match operand {
                Contribution::Indexed { index: Some(index), .. } if *index == value => DType::I64,
                Contribution::Count(_) => DType::Bool,
                _ => *dtype,
            };
            if self.read(value)? != expected {
                return Err(Fault::Dtype(*result));
            }
        }
        let allowed = match operand {
            Contribution::Value(_) => !op.is_arg() && *op != ReduceOp::Mean,
            Contribution::Count(_) => *op == ReduceOp::Sum && dtype.class() == Class::Int,
            Contribution::Product(..) => *op == ReduceOp::Sum,
            Contribution::Indexed { .. } => op.is_arg(),
        };
        if !allowed || !self.is_ordered(*op, *dtype, axis, order)? {
            return Err(Fault::Order(*op));
        }
        if matches!(operand, Contribution::Indexed { narrow: true, .. }) {
            self.counted(axis)
        } else {
            Ok(())
        }
    }

    /// Returns whether a reduction combines elements of a dtype in an order that its axis allows.
    pub(super) fn is_ordered(
        &self,
        op: ReduceOp,
        dtype: DType,
        axis: AxisId,
        order: Order,
    ) -> Result<bool, Fault> {
        let extent = self.axis(axis)?.extent;
        let is_allowed = match order {
            Order::Free => op.is_order_free(dtype),
            Order::Sequential => {
                matches!(extent, Extent::Constant(extent) if extent <= SEQUENTIAL_LIMIT as i64)
            }
            Order::Tree | Order::Blocks | Order::Counter => true,
        };
        Ok(is_allowed && is_computed(dtype))
    }

    /// Checks an axis that is counted in 32 bits.
    fn counted(&self, axis: AxisId) -> Result<(), Fault> {
        match self.is_at_most(axis, i32::MAX.into()) {
            true => Ok(()),
            false => Err(Fault::Count(axis)),
        }
    }

    /// Returns whether an axis has at most `most` steps for all sizes that the schedule accepts.
    pub(super) fn is_at_most(&self, axis: AxisId, most: i64) -> bool {
        match self.kernel.axes[axis.index()].extent {
            Extent::Constant(extent) => extent <= most,
            Extent::Param(param) => {
                let size = self.kernel.params.get(param.index());
                let assumptions = &self.schedule.assumptions;
                assumptions.iter().any(|known| Some(&known.size) == size && known.most <= most)
            }
        }
    }

    /// Checks the result value of an accumulator.
    fn result(&self, accumulator: &Accumulator) -> Result<(), Fault> {
        let Accumulator { op, dtype, result, .. } = accumulator;
        let value = find(&self.kernel.values, result.index(), "value")?;
        let expected = if op.is_arg() { DType::I64 } else { *dtype };
        match value.def == Def::Reduced && value.dtype == expected {
            true => Ok(()),
            false => Err(Fault::Dtype(*result)),
        }
    }

    pub(super) fn reduce(&mut self, reduce: &Reduce, stmt: &Stmt) -> Result<(), Fault> {
        let per_lane = matches!(reduce.order, Order::Free | Order::Sequential) && reduce.prologue.is_empty();
        if self.vector.is_some() && !per_lane {
            return Err(Fault::Form(reduce.axis));
        }
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            scope.looped(&each, &mut |scope| {
                let mut accumulators = reduce.accumulators.iter();
                accumulators.try_for_each(|each| scope.contribution(each, reduce.axis, reduce.order))
            })
        })?;
        for accumulator in &reduce.accumulators {
            self.result(accumulator)?;
            self.define(accumulator.result)?;
        }
        Ok(())
    }

    pub(super) fn stream(&mut self, stream: &Stream, stmt: &Stmt) -> Result<(), Fault> {
        self.axis(stream.strip)?;
        let by_lanes = matches!(stream.order, Order::Tree | Order::Blocks);
        let one_by_one = !stream.prologue.is_empty() || stream.is_in_order();
        if stream.order == Order::Counter
            || stream.axis == stream.strip
            || stream.steps == 0
            || stream.steps > 1 && one_by_one
            || stream.dense && !stream.ahead.is_empty()
            || self.vector.is_some()
            || self.strips[stream.strip.index()].is_none()
        {
            return Err(Fault::Form(stream.axis));
        }
        for entry in &stream.accumulators {
            self.stream_rows(entry, stream.order)?;
            entry.rows().try_for_each(|row| self.write_row(row, stream.strip))?;
        }
        let Some(each) = stmt.as_loop() else { return Ok(()) };
        self.scoped(|scope| {
            scope.looped(&each, &mut |scope| {
                for StreamAccumulator { accumulator, .. } in &stream.accumulators {
                    scope.contribution(accumulator, stream.axis, stream.order)?;
                }
                // Each step continues from the previous one.
                let mut rows = stream.accumulators.iter().flat_map(StreamAccumulator::rows);
                rows.try_for_each(|row| scope.read_row(row, stream.strip).map(|_| ()))
            })
        })?;
        if stream.dense && !(by_lanes && self.has_dense_rows(stream)) {
            return Err(Fault::Form(stream.axis));
        }
        self.left_in_rows(stream.accumulators.iter().map(|entry| &entry.accumulator))
    }

    /// Checks results that are read from rows instead of values.
    pub(super) fn left_in_rows<'a>(
        &mut self,
        mut accumulators: impl Iterator<Item = &'a Accumulator>,
    ) -> Result<(), Fault> {
        self.scoped(|scope| {
            accumulators.try_for_each(|accumulator| {
                scope.result(accumulator)?;
                scope.define(accumulator.result)
            })
        })
    }

    /// Returns the dtypes and numbers of the rows of a streamed accumulator.
    fn stream_rows(&self, entry: &StreamAccumulator, order: Order) -> Result<(), Fault> {
        let Accumulator { op, dtype, operand, .. } = &entry.accumulator;
        let holds = |row: RowId, dtype: DType, count: usize| -> Result<(), Fault> {
            let Row { dtype: held, count: rows, .. } = *self.row(row)?;
            if held == dtype && rows >= count { Ok(()) } else { Err(Fault::RowDtype(row)) }
        };
        match (operand, &entry.state[..]) {
            (Contribution::Indexed { narrow, .. }, &[value, index]) => {
                holds(value, *dtype, 1)?;
                holds(index, if *narrow { DType::I32 } else { DType::I64 }, 1)?;
                holds(entry.target, DType::I64, 1)?;
            }
            (Contribution::Value(_) | Contribution::Count(_) | Contribution::Product(..), &[value])
                if entry.target == value =>
            {
                holds(value, *dtype, 1)?;
            }
            _ => return Err(Fault::RowDtype(entry.target)),
        }
        let by_the_tree = matches!(order, Order::Tree | Order::Blocks) && !op.is_order_free(*dtype);
        match entry.tree {
            Some(tree) if by_the_tree => {
                holds(tree.lanes, *dtype, LANES)?;
                holds(tree.ranks, *dtype, RANKS)
            }
            None if !by_the_tree => Ok(()),
            _ => Err(Fault::Order(*op)),
        }
    }
}
