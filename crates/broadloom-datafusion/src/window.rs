//! Aggregates over window frames.

use crate::aggregate::{BROADLOOM_AGG, TensorAggregate};
use crate::plan::Plan;
use crate::rows::Rows;
use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::arrow::compute::concat;
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion_expr::planner::{PlannerResult, RawWindowExpr};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, WindowFunctionDefinition};
use std::fmt;
use std::sync::Arc;

/// The rows of a frame that slides. Partial results cannot give up rows, so each frame is computed from its rows.
pub(crate) struct Frame {
    plan: Arc<Plan>,
    /// The type of the result.
    result: DataType,
    /// The rows in the order in which they came, each piece with all columns.
    pieces: Vec<Vec<ArrayRef>>,
}

impl Frame {
    pub(crate) fn new(plan: Arc<Plan>, result: &DataType) -> Frame {
        Frame { plan, result: result.clone(), pieces: Vec::new() }
    }

    /// Joins the pieces, so that their rows are computed at once.
    fn joined(&mut self) -> Result<Option<&[ArrayRef]>> {
        if self.pieces.len() > 1 {
            let columns = self.pieces.first().map_or(0, Vec::len);
            let column = |index: usize| {
                let parts: Vec<_> = self.pieces.iter().map(|piece| piece[index].as_ref()).collect();
                Ok(concat(&parts)?)
            };
            self.pieces = vec![(0..columns).map(column).collect::<Result<_>>()?];
        }
        Ok(self.pieces.first().map(Vec::as_slice))
    }
}

fn rows(piece: &[ArrayRef]) -> usize {
    piece.first().map_or(0, |column| column.len())
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame({} rows)", self.pieces.iter().map(|piece| rows(piece)).sum::<usize>())
    }
}

impl Accumulator for Frame {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if rows(values) > 0 {
            self.pieces.push(values.to_vec());
        }
        Ok(())
    }

    /// Drops the rows that came first: frames only move forward.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut leaving = rows(values);
        let is_whole = |piece: &&Vec<ArrayRef>| {
            let leaves = rows(piece) <= leaving;
            leaving -= if leaves { rows(piece) } else { 0 };
            leaves
        };
        let whole = self.pieces.iter().take_while(is_whole).count();
        self.pieces.drain(..whole);
        match self.pieces.first_mut() {
            Some(piece) => {
                let kept = rows(piece) - leaving;
                piece.iter_mut().for_each(|column| *column = column.slice(leaving, kept));
                Ok(())
            }
            None if leaving > 0 => exec_err!("more rows leave a window frame than it has"),
            None => Ok(()),
        }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut rows = Rows::new(self.plan.clone());
        if let Some(values) = self.joined()? {
            rows.update(values)?;
        }
        rows.evaluated(&self.result)
    }

    fn size(&self) -> usize {
        let columns = self.pieces.iter().flatten();
        size_of::<Frame>() + columns.map(|column| column.get_array_memory_size()).sum::<usize>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("a window frame has no partial result")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        exec_err!("window frames do not merge")
    }
}

/// Replaces calls of aggregates over windows by those of their expression. What the arguments are is decided here,
/// because later the planner may rename columns.
pub(crate) fn planned(call: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
    let WindowFunctionDefinition::AggregateUDF(func) = &call.func_def else {
        return Ok(PlannerResult::Original(call));
    };
    let (aggregate, skipped) = match func.inner().downcast_ref::<TensorAggregate>() {
        Some(aggregate) => (aggregate.clone(), 0),
        None if func.name() == BROADLOOM_AGG => (TensorAggregate::called(call.args.first())?, 1),
        None => return Ok(PlannerResult::Original(call)),
    };
    aggregate.refuse_distinct(call.distinct)?;
    if call.null_treatment.is_some() {
        return plan_err!(
            "`{}` leaves out rows with a null: leave out IGNORE NULLS and RESPECT NULLS",
            aggregate.name()
        );
    }
    let RawWindowExpr { args, partition_by, order_by, window_frame, filter, .. } = call;
    let args: Vec<Expr> = args.into_iter().skip(skipped).collect();
    let aggregate = aggregate.with_columns(&args)?;
    let fun = WindowFunctionDefinition::AggregateUDF(Arc::new(AggregateUDF::from(aggregate)));
    let params = WindowFunctionParams {
        args,
        partition_by,
        order_by,
        window_frame,
        filter,
        null_treatment: None,
        distinct: false,
    };
    Ok(PlannerResult::Planned(Expr::WindowFunction(Box::new(WindowFunction { fun, params }))))
}
