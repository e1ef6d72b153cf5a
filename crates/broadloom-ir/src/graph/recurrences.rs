//! Recurrences along an axis, composed of loops over its rows: averages with decay, filters, running log-sums.

use super::reduction::resolve_axis;
use super::{Graph, Node, Repeat, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{AnyNumber, DType};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// The highest order of a filter.
pub const MAX_FILTER_ORDER: usize = 64;

/// Exponentially weighted statistics, as pandas defines them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ewm {
    /// What is computed.
    pub of: EwmOf,
    /// Whether weights are divided by their sum, so that the first elements do not weigh more: `adjust=True`. Otherwise each
    /// result is `(1 - alpha)` of the one before and `alpha` of the element.
    pub adjust: bool,
    /// Whether weights depend on the positions among elements that are not NaN, and not on those among all: `ignore_na=True`.
    pub ignore_na: bool,
}

/// A statistic with decaying weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EwmOf {
    /// The mean.
    Mean,
    /// The variance; divided as a sample's is unless it is biased.
    Var {
        /// `bias=True`
        bias: bool,
    },
    /// The square root of the variance.
    Std {
        /// `bias=True`
        bias: bool,
    },
}

impl EwmOf {
    /// Returns the name of the function.
    pub fn name(self) -> &'static str {
        match self {
            EwmOf::Mean => "ewm_mean",
            EwmOf::Var { .. } => "ewm_var",
            EwmOf::Std { .. } => "ewm_std",
        }
    }
}

/// What a step makes of carried values and a row: the next values, and the result.
pub(super) type Stepped = Result<(Vec<ExprId>, ExprId), Problem>;

impl Graph {
    /// Returns exponentially weighted statistics along an axis: element `i` weighs the elements `0..=i`, each `1 - alpha` times as
    /// much as the next. `alpha` is a number, above 0 and at most 1. NaN has no weight; see [`Ewm`]. Integers and bool are
    /// computed in `f64`.
    ///
    /// Source: pandas, `ExponentialMovingWindow`.
    pub fn ewm(&mut self, ewm: Ewm, x: ExprId, alpha: ExprId, axis: i64, site: Site) -> ExprId {
        let result = self.try_ewm(ewm, x, alpha, axis, site);
        self.settle(result, ewm.of.name(), &[x, alpha], site)
    }

    fn try_ewm(
        &mut self,
        ewm: Ewm,
        x: ExprId,
        alpha: ExprId,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[x, alpha]) {
            return Ok(self.poison());
        }
        self.require_scalar("`alpha`", alpha)?;
        let is_share = |alpha: AnyNumber| match alpha {
            AnyNumber::Int(alpha) => alpha == 1,
            AnyNumber::Float(alpha) => alpha > 0.0 && alpha <= 1.0,
        };
        if matches!(self.node(alpha), Node::Constant(alpha) if !is_share(alpha.number())) {
            return Err(Problem::Argument("takes a number greater than 0 and at most 1 as `alpha`"));
        }
        let (dtype, _) = self.floats_of(&[x]);
        let alpha = self.convert(alpha, dtype, site)?;
        let one = self.number(1.0, dtype, site)?;
        let decay = self.try_elementwise(Op::Subtract, &[one, alpha], site)?;
        let weights = Weights { ewm, decay, of_new: if ewm.adjust { one } else { alpha }, one, site };
        let result = match ewm.of {
            EwmOf::Mean => {
                self.try_along(ewm.of.name(), x, axis, &[f64::NAN, 1.0], site, |graph, carried, row| {
                    graph.ewm_mean(&weights, carried, row)
                })
            }
            EwmOf::Var { bias } | EwmOf::Std { bias } => {
                let initial = [f64::NAN, 0.0, 1.0, 1.0, 1.0];
                self.try_along(ewm.of.name(), x, axis, &initial, site, |graph, carried, row| {
                    graph.ewm_var(&weights, bias, carried, row)
                })
            }
        }?;
        match ewm.of {
            EwmOf::Std { .. } => self.try_elementwise(Op::Sqrt, &[result], site),
            EwmOf::Mean | EwmOf::Var { .. } => Ok(result),
        }
    }

    /// Carries the mean and the sum of weights.
    fn ewm_mean(&mut self, weights: &Weights, carried: &[ExprId], row: ExprId) -> Stepped {
        let &[mean, old] = carried else { return Err(Problem::Argument("carries two values")) };
        let Seen { is_number, has_mean, decays, both } = self.seen(weights, mean, row)?;
        let old = self.decayed(weights, decays, old, weights.decay)?;
        let next = self.weighted_mean(weights, [mean, row], old)?;
        let next = self.try_select([has_mean, next, row], weights.site)?;
        let next = self.try_select([is_number, next, mean], weights.site)?;
        let old = self.after_number(weights, both, old)?;
        Ok((vec![next, old], next))
    }

    /// Carries the mean, the biased variance, the sum of weights, that of their squares, and the weight of what was before.
    fn ewm_var(&mut self, weights: &Weights, bias: bool, carried: &[ExprId], row: ExprId) -> Stepped {
        let &[mean, variance, sum, squares, old] = carried else {
            return Err(Problem::Argument("carries five values"));
        };
        let site = weights.site;
        let apply =
            |graph: &mut Graph, op: Op, operands: &[ExprId]| graph.try_elementwise(op, operands, site);
        let Seen { is_number, has_mean, decays, both } = self.seen(weights, mean, row)?;
        let decay_squared = apply(self, Op::Square, &[weights.decay])?;
        let sum = self.decayed(weights, decays, sum, weights.decay)?;
        let squares = self.decayed(weights, decays, squares, decay_squared)?;
        let old = self.decayed(weights, decays, old, weights.decay)?;
        let mixed = self.weighted_mean(weights, [mean, row], old)?;
        let total = apply(self, Op::Add, &[old, weights.of_new])?;
        let [from_old, from_new] = [mean, row];
        let moved = apply(self, Op::Subtract, &[from_old, mixed])?;
        let moved = apply(self, Op::Square, &[moved])?;
        let moved = apply(self, Op::Add, &[variance, moved])?;
        let of_old = apply(self, Op::Multiply, &[old, moved])?;
        let distance = apply(self, Op::Subtract, &[from_new, mixed])?;
        let distance = apply(self, Op::Square, &[distance])?;
        let of_new = apply(self, Op::Multiply, &[weights.of_new, distance])?;
        let changed = apply(self, Op::Add, &[of_old, of_new])?;
        let changed = apply(self, Op::Divide, &[changed, total])?;
        let variance = self.try_select([both, changed, variance], site)?;
        let new_squared = apply(self, Op::Square, &[weights.of_new])?;
        let mut more_sum = apply(self, Op::Add, &[sum, weights.of_new])?;
        let mut more_squares = apply(self, Op::Add, &[squares, new_squared])?;
        if !weights.ewm.adjust {
            let total_squared = apply(self, Op::Square, &[total])?;
            more_sum = apply(self, Op::Divide, &[more_sum, total])?;
            more_squares = apply(self, Op::Divide, &[more_squares, total_squared])?;
        }
        let sum = self.try_select([both, more_sum, sum], site)?;
        let squares = self.try_select([both, more_squares, squares], site)?;
        let old = self.after_number(weights, both, old)?;
        let next = self.try_select([has_mean, mixed, row], site)?;
        let next = self.try_select([is_number, next, mean], site)?;
        let is_known = apply(self, Op::Equal, &[next, next])?;
        let nan = self.number(f64::NAN, self.dtype(next), site)?;
        let result = match bias {
            true => self.try_select([is_known, variance, nan], site)?,
            false => {
                let numerator = apply(self, Op::Square, &[sum])?;
                let denominator = apply(self, Op::Subtract, &[numerator, squares])?;
                let zero = self.number(0.0, self.dtype(next), site)?;
                let is_positive = apply(self, Op::Greater, &[denominator, zero])?;
                let counts = apply(self, Op::LogicalAnd, &[is_known, is_positive])?;
                let factor = apply(self, Op::Divide, &[numerator, denominator])?;
                let unbiased = apply(self, Op::Multiply, &[factor, variance])?;
                self.try_select([counts, unbiased, nan], site)?
            }
        };
        Ok((vec![next, variance, sum, squares, old], result))
    }

    /// Returns what a step sees: whether there is an element, whether there was one before, whether weights decay.
    fn seen(&mut self, weights: &Weights, mean: ExprId, row: ExprId) -> Result<Seen, Problem> {
        let site = weights.site;
        let is_number = self.try_elementwise(Op::Equal, &[row, row], site)?;
        let has_mean = self.try_elementwise(Op::Equal, &[mean, mean], site)?;
        let both = self.try_elementwise(Op::LogicalAnd, &[has_mean, is_number], site)?;
        let decays = if weights.ewm.ignore_na { both } else { has_mean };
        Ok(Seen { is_number, has_mean, decays, both })
    }

    fn decayed(
        &mut self,
        weights: &Weights,
        decays: ExprId,
        weight: ExprId,
        by: ExprId,
    ) -> Result<ExprId, Problem> {
        let less = self.try_elementwise(Op::Multiply, &[weight, by], weights.site)?;
        self.try_select([decays, less, weight], weights.site)
    }

    /// Returns the mean of the one before and an element. Equal values have themselves as their mean.
    fn weighted_mean(
        &mut self,
        weights: &Weights,
        [mean, row]: [ExprId; 2],
        old: ExprId,
    ) -> Result<ExprId, Problem> {
        let site = weights.site;
        let of_old = self.try_elementwise(Op::Multiply, &[old, mean], site)?;
        let of_new = self.try_elementwise(Op::Multiply, &[weights.of_new, row], site)?;
        let both = self.try_elementwise(Op::Add, &[of_old, of_new], site)?;
        let total = self.try_elementwise(Op::Add, &[old, weights.of_new], site)?;
        let mixed = self.try_elementwise(Op::Divide, &[both, total], site)?;
        let is_same = self.try_elementwise(Op::Equal, &[mean, row], site)?;
        self.try_select([is_same, mean, mixed], site)
    }

    fn after_number(&mut self, weights: &Weights, both: ExprId, old: ExprId) -> Result<ExprId, Problem> {
        let more = match weights.ewm.adjust {
            true => self.try_elementwise(Op::Add, &[old, weights.of_new], weights.site)?,
            false => weights.one,
        };
        self.try_select([both, more, old], weights.site)
    }

    /// Returns the result of a digital filter along an axis: `a[0] y[t] = b[0] x[t] + b[1] x[t-1] + .. - a[1] y[t-1] - ..`, where
    /// what precedes the first element is 0. The coefficients are tensors of rank 1 with constant sizes. Integers and bool are
    /// computed in `f64`.
    ///
    /// Source: the transposed direct form II, as in scipy's `signal.lfilter`.
    pub fn lfilter(&mut self, [b, a, x]: [ExprId; 3], axis: i64, site: Site) -> ExprId {
        let result = self.try_lfilter([b, a, x], axis, site);
        self.settle(result, "lfilter", &[b, a, x], site)
    }

    fn try_lfilter(&mut self, [b, a, x]: [ExprId; 3], axis: i64, site: Site) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[b, a, x]) {
            return Ok(self.poison());
        }
        let (dtype, _) = self.floats_of(&[x]);
        let (numerator, denominator) =
            (self.coefficients("b", b, dtype, site)?, self.coefficients("a", a, dtype, site)?);
        let first = denominator[0];
        let by_first = |graph: &mut Graph, values: Vec<ExprId>| -> Result<Vec<ExprId>, Problem> {
            values.into_iter().map(|value| graph.try_elementwise(Op::Divide, &[value, first], site)).collect()
        };
        let (numerator, denominator) = (by_first(self, numerator)?, by_first(self, denominator)?);
        let order = numerator.len().max(denominator.len()) - 1;
        let initial = vec![0.0; order];
        self.try_along("lfilter", x, axis, &initial, site, |graph, state, row| {
            let mut y = graph.try_elementwise(Op::Multiply, &[numerator[0], row], site)?;
            if let Some(&before) = state.first() {
                y = graph.try_elementwise(Op::Add, &[before, y], site)?;
            }
            let mut next = Vec::with_capacity(order);
            for place in 0..order {
                let mut value = state.get(place + 1).copied();
                for (coefficient, of, op) in
                    [(numerator.get(place + 1), row, Op::Add), (denominator.get(place + 1), y, Op::Subtract)]
                {
                    let Some(&coefficient) = coefficient else { continue };
                    let product = graph.try_elementwise(Op::Multiply, &[coefficient, of], site)?;
                    value = Some(match (value, op) {
                        (Some(value), op) => graph.try_elementwise(op, &[value, product], site)?,
                        (None, Op::Add) => product,
                        (None, _) => graph.try_elementwise(Op::Negative, &[product], site)?,
                    });
                }
                let zero = graph.number(0.0, graph.dtype(y), site)?;
                next.push(value.unwrap_or(zero));
            }
            Ok((next, y))
        })
    }

    /// Returns the elements of a tensor of rank 1 with a constant size, as numbers.
    fn coefficients(
        &mut self,
        name: &str,
        of: ExprId,
        dtype: DType,
        site: Site,
    ) -> Result<Vec<ExprId>, Problem> {
        let shape = self.written(of).clone();
        let [size] = shape.dims() else {
            return Err(Problem::Rank { name: format!("`{name}`").into(), expected: 1, rank: shape.rank() });
        };
        let count = size.as_constant().and_then(|size| usize::try_from(size).ok());
        let count = count.filter(|count| (1..=MAX_FILTER_ORDER + 1).contains(count));
        let Some(count) = count else {
            return Err(Problem::Argument("takes 1 to 65 coefficients, whose number is known"));
        };
        let of = self.convert(of, dtype, site)?;
        let place = |place: usize| SliceSpec::At(Dim::constant(place as i64));
        (0..count).map(|number| self.try_slice(of, &[place(number)], site)).collect()
    }

    /// Returns `y[t] = a[t] * y[t-1] + x[t]` along an axis, beginning with `initial`, or with 0 before the first element. `a`
    /// stretches to the shape of `x`. Integers and bool are computed in `f64`.
    pub fn linear_recurrence(
        &mut self,
        [a, x]: [ExprId; 2],
        initial: Option<ExprId>,
        axis: i64,
        site: Site,
    ) -> ExprId {
        let result = self.try_linear_recurrence([a, x], initial, axis, site);
        self.settle(result, "linear_recurrence", &[a, x], site)
    }

    fn try_linear_recurrence(
        &mut self,
        [a, x]: [ExprId; 2],
        initial: Option<ExprId>,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[a, x]) || initial.is_some_and(|initial| self.is_poisoned(initial)) {
            return Ok(self.poison());
        }
        let (dtype, own) = self.floats_of(&[a, x]);
        let (a, x) = (self.convert(a, dtype, site)?, self.convert(x, dtype, site)?);
        let shape = self.written(x).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let is_number = self.written(a).rank() == 0;
        let factor = if is_number { a } else { self.try_broadcast_to(a, shape.clone(), site)? };
        let row = row_of(&shape, axis);
        let initial = match initial {
            Some(initial) => {
                let initial = self.convert(initial, dtype, site)?;
                self.try_broadcast_to(initial, row, site)?
            }
            None => self.constant_array(0.0, dtype, row, site)?,
        };
        let rows = if is_number { vec![x] } else { vec![x, factor] };
        let result =
            self.try_steps("linear_recurrence", &rows, axis, &[initial], site, |graph, carried, rows| {
                let by = rows.get(1).copied().unwrap_or(factor);
                let before = graph.try_elementwise(Op::Multiply, &[by, carried[0]], site)?;
                let next = graph.try_elementwise(Op::Add, &[before, rows[0]], site)?;
                Ok((vec![next], next))
            })?;
        self.convert(result, own, site)
    }

    /// Returns `log(sum(exp(x)))` of the elements so far along an axis, without overflow. Integers and bool are computed in `f64`.
    pub fn cumulative_logsumexp(&mut self, x: ExprId, axis: i64, site: Site) -> ExprId {
        let result = match self.is_poisoned(x) {
            true => Ok(x),
            false => self.try_along(
                "cumulative_logsumexp",
                x,
                axis,
                &[f64::NEG_INFINITY],
                site,
                |graph, carried, row| {
                    let next = graph.try_elementwise(Op::Logaddexp, &[carried[0], row], site)?;
                    Ok((vec![next], next))
                },
            ),
        };
        self.settle(result, "cumulative_logsumexp", &[x], site)
    }

    /// Returns how far each element is below the greatest one so far along an axis, as a part of that: `x / cummax(x) - 1`.
    pub fn drawdown(&mut self, x: ExprId, axis: i64, site: Site) -> ExprId {
        let result = self.try_drawdown(x, axis, site);
        self.settle(result, "drawdown", &[x], site)
    }

    fn try_drawdown(&mut self, x: ExprId, axis: i64, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(x) {
            return Ok(x);
        }
        let axis = resolve_axis(axis, self.written(x).rank())?;
        let highest = self.try_scan(ReduceOp::Max, x, axis, None, site)?;
        let part = self.try_elementwise(Op::Divide, &[x, highest], site)?;
        let one = self.number(1.0, self.dtype(part), site)?;
        self.try_elementwise(Op::Subtract, &[part, one], site)
    }

    fn constant_array(
        &mut self,
        value: f64,
        dtype: DType,
        shape: Shape,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let value = self.number(value, dtype, site)?;
        self.try_broadcast_to(value, shape, site)
    }

    /// Takes steps along an axis of a tensor, which carry arrays that begin with numbers. The result has the dtype of the tensor.
    fn try_along(
        &mut self,
        call: &'static str,
        x: ExprId,
        axis: i64,
        initial: &[f64],
        site: Site,
        step: impl FnOnce(&mut Graph, &[ExprId], ExprId) -> Stepped,
    ) -> Result<ExprId, Problem> {
        let (dtype, own) = self.floats_of(&[x]);
        let x = self.convert(x, dtype, site)?;
        let shape = self.written(x).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let row = row_of(&shape, axis);
        let initial: Result<Vec<ExprId>, Problem> =
            initial.iter().map(|value| self.constant_array(*value, dtype, row.clone(), site)).collect();
        let result = self.try_steps(call, &[x], axis, &initial?, site, |graph, carried, rows| {
            step(graph, carried, rows[0])
        })?;
        self.convert(result, own, site)
    }

    /// Takes steps along an axis of tensors of equal shapes, and returns the results of the steps along this axis.
    pub(super) fn try_steps(
        &mut self,
        call: &'static str,
        tensors: &[ExprId],
        axis: usize,
        initial: &[ExprId],
        site: Site,
        step: impl FnOnce(&mut Graph, &[ExprId], &[ExprId]) -> Stepped,
    ) -> Result<ExprId, Problem> {
        let along = axis as i64;
        let mut rows = Vec::new();
        for tensor in tensors {
            rows.push(("row", self.try_moveaxis(*tensor, &[along], &[0], site)?));
        }
        let carried: Vec<(&str, ExprId)> = initial.iter().map(|initial| ("state", *initial)).collect();
        let open = self.begin_loop(call, "step", &carried, &rows, site);
        let (next, result) = match step(self, &open.carried, &open.rows) {
            Ok(stepped) => stepped,
            Err(problem) => {
                self.abandon_loop(&open);
                return Err(problem);
            }
        };
        let results = self.end_loop(open, &Repeat::Along(None), &next, &[result]);
        let stacked = results.last().copied().unwrap_or_else(|| self.poison());
        self.try_moveaxis(stacked, &[0], &[along], site)
    }
}

/// What the steps of weighted statistics share.
struct Weights {
    ewm: Ewm,
    /// What weights are multiplied by in each step.
    decay: ExprId,
    /// The weight of a new element.
    of_new: ExprId,
    one: ExprId,
    site: Site,
}

/// Truth values of a step.
struct Seen {
    /// Whether there is an element, which is not NaN.
    is_number: ExprId,
    /// Whether there was one before.
    has_mean: ExprId,
    decays: ExprId,
    both: ExprId,
}

fn row_of(shape: &Shape, axis: usize) -> Shape {
    shape.iter().enumerate().filter(|(of, _)| *of != axis).map(|(_, size)| size.clone()).collect()
}
