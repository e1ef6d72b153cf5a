//! Loops: what belongs to a step is computed again and again.

use super::error::{Fault, InterpretError, Rule};
use super::{Array, Run, view};
use crate::dtype::{DType, Scalar};
use crate::graph::{Loop, Node, StepValue, Steps, ValueOf};
use crate::ids::{ExprId, LoopId};

impl Run<'_> {
    /// Runs a loop, and keeps its results, which the first of them asks for.
    pub(super) fn repeat(&mut self, repeated: &Loop, first: ExprId) -> Result<(), InterpretError> {
        let graph = self.graph;
        let repeated = &graph.whole_loop(repeated);
        let values: Vec<(StepValue, ExprId)> = graph.step_values(repeated.id).collect();
        let whole = |run: &Self, expr: ExprId| run.array(expr).cloned().map_err(|fault| fault.at(first));
        let limit = match &repeated.steps {
            Steps::Size(length) => Some(self.sizes.evaluate(length)?),
            Steps::Count(count) => match whole(self, *count)?.elements[..] {
                [Scalar::I64(count)] => Some(count),
                _ => return Err(Fault::Unsound(Rule::Types).at(first)),
            },
            Steps::While(_) => None,
        };
        let initial = repeated.carried.iter().map(|carried| whole(self, carried.initial));
        let mut carried = initial.collect::<Result<Vec<Array>, _>>()?;
        let mut stacked: Vec<Vec<Scalar>> = vec![Vec::new(); repeated.stacked.len()];
        let mut step = 0_i64;
        while limit.is_none_or(|limit| step < limit) {
            for (value, expr) in &values {
                let array = match value {
                    StepValue::Counter => {
                        Array { dtype: DType::I64, shape: Vec::new(), elements: vec![Scalar::I64(step)] }
                    }
                    StepValue::Carried(number) => carried[*number].clone(),
                    StepValue::Row(number) => {
                        let array = self.array(repeated.rows[*number]).map_err(|fault| fault.at(*expr))?;
                        row_of(array, step).map_err(|fault| fault.at(*expr))?
                    }
                };
                self.keep(*expr, array)?;
            }
            if let Steps::While(condition) = repeated.steps {
                // Nothing else is computed unless a step follows.
                self.part_of_step(condition, repeated.id)?;
                if whole(self, condition)?.elements[..] != [Scalar::Bool(true)] {
                    break;
                }
            }
            self.steps_of(Some(repeated.id))?;
            let next = repeated.carried.iter().map(|carried| whole(self, carried.next));
            carried = next.collect::<Result<_, _>>()?;
            for (rows, expr) in stacked.iter_mut().zip(&repeated.stacked) {
                rows.extend(whole(self, *expr)?.elements);
            }
            // Loops in this one start anew in the next step.
            for expr in graph.exprs() {
                if self.loops[expr.index()] >= Some(repeated.id) {
                    self.arrays[expr.index()] = None;
                }
            }
            step += 1;
        }
        for expr in graph.exprs() {
            let Node::Loop { repeated: of, result } = graph.node(expr) else { continue };
            if of.id != repeated.id {
                continue;
            }
            let array = match of.value_of(*result) {
                ValueOf::Carried(number) => carried[number].clone(),
                ValueOf::Stacked(value) => {
                    let number = repeated.stacked.iter().position(|stacked| *stacked == value);
                    let elements = number.map(|number| stacked[number].clone()).unwrap_or_default();
                    Array { dtype: graph.dtype(expr), shape: self.declared_shape(expr)?, elements }
                }
            };
            self.keep(expr, array)?;
        }
        Ok(())
    }

    /// Computes what a value of a step needs.
    fn part_of_step(&mut self, expr: ExprId, of: LoopId) -> Result<(), InterpretError> {
        let mut needed = vec![false; expr.index() + 1];
        needed[expr.index()] = true;
        for index in (0..needed.len()).rev().filter(|index| self.loops[*index] >= Some(of)) {
            if needed[index] {
                self.graph
                    .operands(ExprId::new(index))
                    .iter()
                    .for_each(|operand| needed[operand.index()] = true);
            }
        }
        self.compute(Some(of), |expr| needed.get(expr.index()) == Some(&true))
    }
}

/// Returns a row of an array.
fn row_of(array: &Array, step: i64) -> Result<Array, Fault> {
    let shape = array.shape.get(1..).ok_or(Fault::Unsound(Rule::Axes))?.to_vec();
    let size = view::element_count(&shape)?;
    let start = usize::try_from(step).ok().and_then(|step| step.checked_mul(size));
    let elements =
        start.and_then(|start| array.elements.get(start..start + size)).ok_or(Fault::Unsound(Rule::Slice))?;
    Ok(Array { dtype: array.dtype, shape, elements: elements.to_vec() })
}
