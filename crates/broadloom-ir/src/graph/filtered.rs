//! Reductions of some of the elements: of those for which a condition holds, and of those that are numbers.
//!
//! What is left out takes the neutral element of the reduction where it is read, so that all of this fuses and nothing
//! is stored. An initial value is combined with the result in the end.

use super::reduction::Empty;
use super::{Graph, Literal, Node, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// Which elements a reduction takes; all of them by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// Bool, and stretches to the operand's shape: the elements where it holds.
    pub condition: Option<ExprId>,
    /// Of these, the ones that are no NaN.
    pub numbers: bool,
}

/// What a reduction takes, and what it begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// Of which elements.
    pub filter: Filter,
    /// Combined with the result: of `sum`, `prod`, `min` and `max` only.
    pub initial: Option<ExprId>,
}

impl Graph {
    /// Like [`Graph::reduce`], of some elements and from an initial value: NumPy's `where=`, `initial=` and `nansum` with
    /// its like. The mean is the sum of the chosen elements divided by their number.
    ///
    /// `min` and `max` of elements for which a condition holds need an initial value, for there may be none; those of an
    /// axis that may be empty have a value with one; those of numbers alone are NaN if there are none. An arg-reduction
    /// takes the elements left out for the worst there are, and is 0 if there are no others.
    pub fn reduce_terms(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        terms: Terms,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_reduce_terms(op, operand, terms, axes, keepdims, site);
        let name = if terms.filter.numbers { format!("nan{}", op.name()) } else { op.name().to_owned() };
        let reduced = self.settle_filtered(result, &name, operand, terms.filter, site);
        let Some(initial) = terms.initial else { return reduced };
        let neutral = op.identity(self.dtype(reduced));
        match self.node(initial) {
            Node::Constant(value) if *value == neutral => reduced,
            _ => {
                let combined = self.try_elementwise(op.combine(), &[reduced, initial], site);
                self.settle(combined, &name, &[reduced, initial], site)
            }
        }
    }

    /// A number that a reduction of an operand begins with, in the dtype of its result; of bool, whether it is not zero.
    pub fn initial_literal(&mut self, op: ReduceOp, operand: ExprId, value: Literal, site: Site) -> ExprId {
        let meets = op.result_dtype(self.dtype(operand));
        let value = if meets == DType::Bool { Literal::Bool(value.to_f64() != 0.0) } else { value };
        self.literal(value, meets, site)
    }

    fn try_reduce_terms(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        terms: Terms,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Terms { filter, initial } = terms;
        let is_extreme = matches!(op, ReduceOp::Min | ReduceOp::Max);
        if initial.is_some() && !is_extreme && !matches!(op, ReduceOp::Sum | ReduceOp::Prod) {
            return Err(Problem::Argument(
                "does not accept `initial`: only `sum`, `prod`, `min` and `max` do",
            ));
        }
        if is_extreme && filter.condition.is_some() && initial.is_none() {
            return Err(Problem::Argument(
                "needs an `initial` value with `where`, which may select no elements",
            ));
        }
        let empty = if initial.is_some() { Empty::Identity } else { Empty::Refused };
        let chosen = self.filter_of(operand, filter, site)?;
        let reduced = self.reduce_filtered(op, operand, chosen, axes, keepdims, empty, site)?;
        match (initial, chosen) {
            (None, Some(chosen)) if is_extreme => {
                let has_some =
                    self.try_reduce(ReduceOp::Any, chosen, axes, keepdims, Empty::Refused, site)?;
                let nan = self.insert_constant(Scalar::F64(f64::NAN).cast(self.dtype(operand)), site)?;
                self.try_select([has_some, reduced, nan], site)
            }
            _ => Ok(reduced),
        }
    }

    /// Where a filter holds, in the shape of the operand; `None` for everywhere.
    pub(super) fn filter_of(
        &mut self,
        operand: ExprId,
        filter: Filter,
        site: Site,
    ) -> Result<Option<ExprId>, Problem> {
        if self.is_poisoned(operand) {
            return Ok(None);
        }
        let has_nan = self.dtype(operand).class() == Class::Float;
        let numbers = match filter.numbers && has_nan {
            true => Some(self.try_elementwise(Op::Equal, &[operand, operand], site)?),
            false => None,
        };
        let Some(condition) = filter.condition else { return Ok(numbers) };
        let dtype = self.dtype(condition);
        if dtype != DType::Bool && !self.is_poisoned(condition) {
            return Err(Problem::ConditionNotBool { dtype });
        }
        let condition = self.try_broadcast_to(condition, self.written(operand).clone(), site)?;
        match numbers {
            Some(numbers) => self.try_elementwise(Op::LogicalAnd, &[condition, numbers], site).map(Some),
            None => Ok(Some(condition)),
        }
    }

    /// A reduction of the elements for which a filter holds; the neutral element of none.
    #[allow(clippy::too_many_arguments, reason = "those of a reduction, and a filter")]
    pub(super) fn reduce_filtered(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        filter: Option<ExprId>,
        axes: Option<&[i64]>,
        keepdims: bool,
        empty: Empty,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some(filter) = filter else { return self.try_reduce(op, operand, axes, keepdims, empty, site) };
        if self.any_poisoned(&[operand, filter]) {
            return Ok(self.poison());
        }
        if op != ReduceOp::Mean {
            let chosen = self.chosen(op, operand, filter, site)?;
            return self.try_reduce(op, chosen, axes, keepdims, empty, site);
        }
        let dtype = self.dtype(operand);
        let work = op.accumulator(dtype);
        let x = self.convert(operand, work, site)?;
        let x = self.chosen(ReduceOp::Sum, x, filter, site)?;
        let total = self.try_reduce(ReduceOp::Sum, x, axes, keepdims, empty, site)?;
        let count = self.number_of(operand, Some(filter), axes, keepdims, site)?;
        let count = self.convert(count, work, site)?;
        let mean = self.try_elementwise(Op::Divide, &[total, count], site)?;
        self.convert(mean, op.result_dtype(dtype), site)
    }

    /// The operand where a filter holds, and what changes no result of the reduction elsewhere.
    fn chosen(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        filter: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let neutral = self.insert_constant(op.identity(self.dtype(operand)), site)?;
        self.try_select([filter, operand, neutral], site)
    }

    /// How many elements a reduction takes (i64).
    pub(super) fn number_of(
        &mut self,
        operand: ExprId,
        filter: Option<ExprId>,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        match filter {
            Some(filter) => self.try_reduce(ReduceOp::Sum, filter, axes, keepdims, Empty::Refused, site),
            None => {
                let shape = self.written(operand);
                let over = self.axes_of(operand, axes)?;
                let count = Dim::product(over.iter().map(|&axis| &shape[axis])).map_err(Problem::Size)?;
                self.try_size(count, site)
            }
        }
    }

    /// Settles what has a filter: a filter that does not stretch to the operand is what the mistake is about.
    pub(super) fn settle_filtered(
        &mut self,
        result: Result<ExprId, Problem>,
        name: &str,
        operand: ExprId,
        filter: Filter,
        site: Site,
    ) -> ExprId {
        let about = match (&result, filter.condition) {
            (Err(Problem::Stretch { .. } | Problem::RankTooSmall { .. }), Some(filter)) => filter,
            _ => operand,
        };
        self.settle(result, name, &[about], site)
    }

    /// The mean of the elements, each as often as its weight says: `sum(x * weights) / sum(weights)`. Weights have the
    /// shape of the operand, or the sizes of its `axes` in their order. Integers and bool compute in `f64`; without
    /// weights it is the mean.
    pub fn average(
        &mut self,
        operand: ExprId,
        weights: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_average(operand, weights, axes, keepdims, site);
        self.settle(result, "average", &[operand, weights], site)
    }

    fn try_average(
        &mut self,
        operand: ExprId,
        weights: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[operand, weights]) {
            return Ok(self.poison());
        }
        let of = self.dtype(operand);
        let common = of.promote(self.dtype(weights));
        let dtype = if of.class() == Class::Float { common } else { common.promote(DType::F64) };
        let work = dtype.arithmetic();
        let shape = self.written(operand).clone();
        let over = self.axes_of(operand, axes)?;
        let [x, mut weights] = [self.convert(operand, work, site)?, self.convert(weights, work, site)?];
        let rank = self.written(weights).rank();
        if rank != shape.rank() {
            if rank != over.len() {
                return Err(Problem::Argument(
                    "takes weights of the operand's shape, or with one axis for each axis that it averages over",
                ));
            }
            let mut order: Vec<usize> = (0..rank).collect();
            order.sort_by_key(|&axis| over[axis]);
            let order: Vec<i64> = order.into_iter().map(|axis| axis as i64).collect();
            weights = self.try_permute(weights, &order, site)?;
            let others = (0..shape.rank()).filter(|axis| !over.contains(axis));
            let others: Vec<i64> = others.map(|axis| axis as i64).collect();
            weights = self.try_expand_dims(weights, &others, site)?;
        }
        let weights = self.try_broadcast_to(weights, shape, site)?;
        let product = self.try_elementwise(Op::Multiply, &[x, weights], site)?;
        let total = self.try_reduce(ReduceOp::Sum, product, axes, keepdims, Empty::Refused, site)?;
        let weight = self.try_reduce(ReduceOp::Sum, weights, axes, keepdims, Empty::Refused, site)?;
        let average = self.try_elementwise(Op::Divide, &[total, weight], site)?;
        self.convert(average, dtype, site)
    }

    /// The greatest element less the least one. Integers wrap; not defined on bool, as in NumPy.
    pub fn ptp(&mut self, operand: ExprId, axes: Option<&[i64]>, keepdims: bool, site: Site) -> ExprId {
        let mut extreme = |op| self.try_reduce(op, operand, axes, keepdims, Empty::Refused, site);
        let result = extreme(ReduceOp::Max).and_then(|greatest| Ok([greatest, extreme(ReduceOp::Min)?]));
        let result = result.and_then(|extremes| self.try_elementwise(Op::Subtract, &extremes, site));
        self.settle(result, "ptp", &[operand], site)
    }
}
