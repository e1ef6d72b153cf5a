//! Compositions that derive by a rule of their own, because the nodes that they consist of derive badly.

use super::super::{Axes, Composed, Graph, Operands};
use super::{Derivation, Slope, term};
use crate::dtype::DType;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use smallvec::smallvec;

/// What a result computes.
#[derive(Debug, Clone)]
pub(in crate::graph) enum Rule {
    /// An elementwise function of operands that have the dtype of the result.
    Elementwise { function: Composed, operands: Operands },
    /// A function of an operand along axes. Those that it reduces stay as 1s.
    Along { function: Normalized, operand: ExprId, axes: Axes },
    /// The sum of the squares of deviations from the mean. The sum of the deviations is 0, so the mean has no part in its
    /// derivative, only in that of the derivative.
    Deviations {
        operand: ExprId,
        /// Of the shape of the operand.
        deviation: ExprId,
        axes: Axes,
        keepdims: bool,
    },
    /// The sum, product, mean, least or greatest of the rows of each segment.
    Segment {
        op: ReduceOp,
        values: ExprId,
        /// Of `i64`, with one axis.
        ids: ExprId,
    },
    /// What another result computes in other steps.
    As(ExprId),
}

/// Functions of exponentials and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Normalized {
    LogSumExp,
    Softmax,
    LogSoftmax,
}

impl Rule {
    /// Returns the operands by which the result derives, and those that only choose.
    pub(super) fn operands(&self) -> Operands {
        match self {
            Rule::Elementwise { operands, .. } => operands.clone(),
            Rule::Along { operand, .. } | Rule::Deviations { operand, .. } => smallvec![*operand],
            Rule::Segment { values, ids, .. } => smallvec![*values, *ids],
            Rule::As(other) => smallvec![*other],
        }
    }

    /// Returns everything that the rule reads.
    pub(super) fn read(&self) -> Operands {
        match self {
            Rule::Deviations { operand, deviation, .. } => smallvec![*operand, *deviation],
            _ => self.operands(),
        }
    }

    /// Replaces everything that the rule reads.
    pub(super) fn renumber(&mut self, new: impl Fn(ExprId) -> ExprId) {
        let replace = |expr: &mut ExprId| *expr = new(*expr);
        match self {
            Rule::Elementwise { operands, .. } => operands.iter_mut().for_each(replace),
            Rule::Along { operand, .. } => replace(operand),
            Rule::Deviations { operand, deviation, .. } => [operand, deviation].into_iter().for_each(replace),
            Rule::Segment { values, ids, .. } => [values, ids].into_iter().for_each(replace),
            Rule::As(other) => replace(other),
        }
    }
}

impl Graph {
    /// States how a result derives, unless it is an older expression: walks take what is derived by before what derives.
    pub(in crate::graph) fn derives_by(&mut self, result: ExprId, rule: Rule) {
        if rule.operands().iter().all(|operand| *operand < result) {
            self.rules.entry(result).or_insert(rule);
        }
    }
}

impl Derivation<'_> {
    pub(super) fn slope_of_composed(
        &mut self,
        function: Composed,
        by: usize,
        operands: &[ExprId],
        result: ExprId,
    ) -> Result<Slope, Problem> {
        term::slope(self.graph, self.site, operands, result, |of, result| function.derivative(by, of, result))
    }

    /// Returns the rule applied to what comes in: the cotangent of the result, or the tangent of the operand. The shares of the
    /// elements are the derivatives of a `logsumexp`; a row of nothing but minus infinities has none.
    pub(super) fn along(
        &mut self,
        function: Normalized,
        [operand, result]: [ExprId; 2],
        axes: &[usize],
        given: ExprId,
        is_reverse: bool,
    ) -> Result<ExprId, Problem> {
        let shares = match function {
            Normalized::LogSumExp => {
                // The least float in place of minus infinity, from which minus infinity has a distance.
                let least = if self.graph.dtype(result) == DType::F64 { f64::MIN } else { f32::MIN.into() };
                let least = self.number(least, self.graph.dtype(result))?;
                let from = self.op(Op::Maximum, &[result, least])?;
                let distance = self.op(Op::Subtract, &[operand, from])?;
                self.op(Op::Exp, &[distance])?
            }
            Normalized::Softmax => result,
            Normalized::LogSoftmax => self.op(Op::Exp, &[result])?,
        };
        let weighted = self.times(given, shares)?;
        match (function, is_reverse) {
            (Normalized::LogSumExp, true) => Ok(weighted),
            (Normalized::LogSumExp, false) => self.reduce(ReduceOp::Sum, weighted, axes),
            (Normalized::LogSoftmax, true) => {
                let shape = self.graph.written(operand).clone();
                let given = self.graph.try_broadcast_to(given, shape, self.site)?;
                let total = self.reduce(ReduceOp::Sum, given, axes)?;
                let taken = self.op(Op::Multiply, &[shares, total])?;
                self.op(Op::Subtract, &[given, taken])
            }
            (Normalized::LogSoftmax, false) => {
                let total = self.reduce(ReduceOp::Sum, weighted, axes)?;
                self.op(Op::Subtract, &[given, total])
            }
            (Normalized::Softmax, _) => {
                let total = self.reduce(ReduceOp::Sum, weighted, axes)?;
                let rest = self.op(Op::Subtract, &[given, total])?;
                self.op(Op::Multiply, &[shares, rest])
            }
        }
    }
}
