//! Reductions of some of the elements: those that satisfy a condition, or those that are numbers.
//!
//! Elements left out are read as the neutral element of the reduction, so everything fuses and nothing is stored.
//! An initial value is combined with the result at the end.

use super::reduction::Empty;
use super::{Graph, Literal, Node, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The elements that a reduction takes; by default all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Filter {
    /// A bool tensor that stretches to the operand's shape; the reduction takes the elements where it holds.
    pub condition: Option<ExprId>,
    /// Whether to take only those that are not NaN.
    pub numbers: bool,
}

/// The elements that a reduction takes, and its initial value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// The elements.
    pub filter: Filter,
    /// Combined with the result; only for `sum`, `prod`, `min` and `max`.
    pub initial: Option<ExprId>,
}

impl Graph {
    /// Like [`Graph::reduce`], for some elements and with an initial value: NumPy's `where=`, `initial=`, `nansum`
    /// and similar. The mean is the sum of the selected elements divided by their number.
    ///
    /// `min` and `max` with a condition need an initial value, because no element may satisfy it. An initial value
    /// also gives an axis that may be empty a result. `min` and `max` of numbers only are NaN if there are none. An
    /// arg-reduction treats the elements left out as the worst possible, and is 0 if there are no others.
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
        self.warn_of_reduction(op, &name, operand, site);
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

    /// Returns a number as the initial value of a reduction, in the dtype of its result; for bool, whether it is
    /// nonzero.
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
                let nan = self.number(f64::NAN, self.dtype(operand), site)?;
                self.try_select([has_some, reduced, nan], site)
            }
            _ => Ok(reduced),
        }
    }

    /// Returns the filter as a mask in the shape of the operand; `None` if it holds everywhere.
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

    /// Returns the operand with NaNs replaced by the value that changes no result of the reduction: for a cast to a
    /// dtype that has no NaN.
    pub fn without_nan(&mut self, op: ReduceOp, operand: ExprId, site: Site) -> ExprId {
        let numbers = Filter { condition: None, numbers: true };
        let result = self.filter_of(operand, numbers, site).and_then(|filter| match filter {
            Some(filter) => self.chosen(op, operand, filter, site),
            None => Ok(operand),
        });
        self.settle(result, &format!("nan{}", op.name()), &[operand], site)
    }

    /// Reduces the elements that pass a filter; without any, the result is the neutral element.
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

    /// Returns the operand where a filter holds, and elsewhere a value that changes no result of the reduction.
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

    /// Returns how many elements a reduction takes (i64).
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

    /// Settles an op with a filter: if the filter does not stretch to the operand, the mistake is about the filter.
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

    /// Returns the weighted mean `sum(x * weights) / sum(weights)`. Weights have the shape of the operand, or the
    /// sizes of its `axes` in their order. Integers and bool are computed in `f64`; without weights it is the mean.
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

    /// Returns the greatest element minus the least. Integers wrap; bool is not supported, as in NumPy.
    pub fn ptp(&mut self, operand: ExprId, axes: Option<&[i64]>, keepdims: bool, site: Site) -> ExprId {
        let mut extreme = |op| self.try_reduce(op, operand, axes, keepdims, Empty::Refused, site);
        let result = extreme(ReduceOp::Max).and_then(|greatest| Ok([greatest, extreme(ReduceOp::Min)?]));
        let result = result.and_then(|extremes| self.try_elementwise(Op::Subtract, &extremes, site));
        self.settle(result, "ptp", &[operand], site)
    }
}
