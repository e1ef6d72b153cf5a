//! Inputs as destinations: the value that an input's array has after a run.
//!
//! Every read of the input, before or after the assignment, means its value at the call. So an assignment changes
//! no expression; it is an output with the input's name.

use super::infer::{self, StretchError};
use super::{CheckedGraph, Graph, Node, Site};
use crate::dtype::{Class, DType};
use crate::ids::{ExprId, InputId};
use crate::ops::Op;
use crate::problem::Problem;

/// An input that a run writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// The input.
    pub input: InputId,
    /// Its new value, of its dtype and shape.
    pub value: ExprId,
    /// The place of the assignment.
    pub site: Site,
}

impl Graph {
    /// Makes an input the destination of a value, which is stretched to the input's shape and, within the same
    /// kind, converted to its dtype. Returns that value. Each input has at most one assignment.
    pub fn assign(&mut self, target: ExprId, value: ExprId, site: Site) -> ExprId {
        let result = self.try_assign(target, value, site);
        self.settle(result, "assign", &[target, value], site)
    }

    /// Assigns the result of a binary op on an input and another operand to the input: `x.add_(y)`.
    pub fn assign_op(&mut self, op: Op, target: ExprId, other: ExprId, site: Site) -> ExprId {
        let value = self.try_elementwise(op, &[target, other], site);
        let result = value.and_then(|value| self.try_assign(target, value, site));
        self.settle(result, &format!("{op}_"), &[target, other], site)
    }

    /// Returns the assignments in order.
    pub fn assignments(&self) -> &[Assignment] {
        &self.assignments
    }

    fn try_assign(&mut self, target: ExprId, value: ExprId, site: Site) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[target, value]) {
            return Ok(self.poison());
        }
        let &Node::Input(input) = self.node(target) else { return Err(Problem::NotInput) };
        if let Some(first) = self.assignments.iter().find(|assignment| assignment.input == input) {
            let name = self.inputs[input.index()].name.clone();
            return Err(Problem::AssignedTwice { name, first: first.site });
        }
        let (shape, dtype) = (self.written(target).clone(), self.dtype(target));
        if let Some(&axis) = self.inputs[input.index()].may_be_one.first() {
            let name = self.inputs[input.index()].name.clone();
            return Err(Problem::AssignedStretched { name, axis });
        }
        let given = self.written(value).clone();
        let fits = self
            .comparing("assign", &[target, value], site, |compare| infer::stretch(&given, &shape, compare));
        if let Err(error) = fits {
            let dims = [self.resolved(&shape).into_owned(), self.resolved(&given).into_owned()];
            let dims = dims.each_ref().map(Vec::as_slice);
            let facts = |symbol| self.facts(symbol);
            let result =
                infer::broadcast(&dims, &mut |_, (_, left), (_, right)| infer::compare(left, right, &facts));
            return Err(match (result, error) {
                // Shapes that do not broadcast at all are reported as such, as in NumPy.
                (Err(_), StretchError::Clashes(clashes)) => Problem::Stretch {
                    wanted: self.sizes(&shape),
                    conflicts: self.conflicts(clashes, &["value", "wanted"]),
                },
                (Err(clashes), StretchError::Rank) => {
                    Problem::Broadcast(self.conflicts(clashes, &["target", "value"]))
                }
                (Ok(result), _) => Problem::Grows {
                    name: self.inputs[input.index()].name.clone(),
                    target: self.sizes(&shape),
                    result: self.sizes(&result),
                },
            });
        }
        if !is_same_kind(self.dtype(value), dtype) {
            return Err(Problem::OtherKind { value: self.dtype(value), target: dtype });
        }
        let value = self.convert(value, dtype, site)?;
        let value = self.try_broadcast_to(value, shape, site)?;
        self.assignments.push(Assignment { input, value, site });
        Ok(value)
    }
}

/// Tests NumPy's casting rule `same_kind`: to the same kind, or to a later one of bool, unsigned, signed, float.
pub(super) fn is_same_kind(from: DType, to: DType) -> bool {
    let kind = |dtype: DType| match dtype.class() {
        Class::Bool => 0,
        Class::Int if !dtype.is_signed_integer() => 1,
        Class::Int => 2,
        Class::Float => 3,
    };
    kind(from) <= kind(to)
}

impl CheckedGraph {
    /// Returns whether the graph may have no result for some data: an index or a segment out of range, or an
    /// integer raised to a negative exponent.
    pub fn can_fail(&self) -> bool {
        self.exprs().any(|expr| {
            let node = self.node(expr);
            let is_safe_power = match node {
                Node::Elementwise { operands, .. } => operands.last().is_some_and(|exponent| {
                    matches!(self.node(*exponent), Node::Constant(value) if !value.is_negative_integer())
                }),
                _ => false,
            };
            node.can_fail(|operand| self.dtype(operand)) && !is_safe_power
        })
    }
}
