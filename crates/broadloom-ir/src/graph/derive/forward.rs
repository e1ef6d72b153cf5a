//! Forward mode: from values to what depends on them.

use super::super::views::signed;
use super::super::{Loop, Node, Sort};
use super::reverse::Kind;
use super::rule::Rule;
use super::{Derivation, Slope, Walk};
use crate::dim::Dim;
use crate::ids::{ExprId, LoopId};
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The changes of values, in their shapes and in the dtype in which derivatives are computed. A value without one does not
/// change.
type Tangents = HashMap<ExprId, ExprId>;

/// Tangents before a selection: a value, and where it counts. Elsewhere the tangent is 0, because what is below a root does not
/// change. The selection stays behind the functions of one value above it, whose derivatives may be infinite there too.
type Guarded = HashMap<ExprId, [ExprId; 2]>;

impl Derivation<'_> {
    /// Returns the change of `y` along directions.
    pub(super) fn forward(
        &mut self,
        y: ExprId,
        along: &[(ExprId, ExprId)],
        walk: &Walk,
    ) -> Result<ExprId, Problem> {
        let mut directions: HashMap<ExprId, Vec<ExprId>> = HashMap::new();
        along.iter().for_each(|(by, direction)| directions.entry(*by).or_default().push(*direction));
        let (mut tangents, mut guarded) = (Tangents::new(), Guarded::new());
        let mut of_loops: HashMap<LoopId, (Loop, Vec<Option<ExprId>>)> = HashMap::new();
        for &expr in &walk.active {
            let shape = self.graph.written(expr).clone();
            let mut tangent = match self.graph.node(expr).clone() {
                Node::Loop { repeated, result } => {
                    // All results of a loop are derived together.
                    let (all, found) = match of_loops.entry(repeated.id) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(place) => {
                            let (_, all) = self.merged(&repeated, walk);
                            let found = self.tangents_of_loop(&all, &tangents)?;
                            place.insert((all, found))
                        }
                    };
                    let place = all.result_of(repeated.value_of(result));
                    place.and_then(|place| found.get(place).copied().flatten())
                }
                _ => self.tangent(expr, &tangents, &mut guarded)?,
            };
            for direction in directions.get(&expr).into_iter().flatten() {
                let direction =
                    self.graph.convert(*direction, self.graph.dtype(expr).arithmetic(), self.site)?;
                let direction = self.graph.try_broadcast_to(direction, shape.clone(), self.site)?;
                tangent = Some(self.sum(tangent, direction)?);
                guarded.remove(&expr);
            }
            if let Some(tangent) = tangent {
                let whole = self.graph.try_broadcast_to(tangent, shape, self.site)?;
                tangents.insert(expr, whole);
            }
        }
        let (dtype, shape) = (self.graph.dtype(y), self.graph.written(y).clone());
        match tangents.get(&y) {
            Some(tangent) => self.graph.convert(*tangent, dtype, self.site),
            None => self.zeros(shape, dtype),
        }
    }

    fn sum(&mut self, total: Option<ExprId>, next: ExprId) -> Result<ExprId, Problem> {
        match total {
            Some(total) => self.op(Op::Add, &[total, next]),
            None => Ok(next),
        }
    }

    fn sloped(&mut self, slope: Slope, tangent: ExprId) -> Result<Option<ExprId>, Problem> {
        Ok(match slope {
            Slope::Flat => None,
            Slope::Number(1.0) => Some(tangent),
            Slope::Number(-1.0) => Some(self.op(Op::Negative, &[tangent])?),
            Slope::Number(number) => {
                let factor = self.number(number, self.graph.dtype(tangent))?;
                Some(self.times(tangent, factor)?)
            }
            Slope::Value(factor) => Some(self.times(tangent, factor)?),
            Slope::Where(condition, factor) => {
                let value = self.times(tangent, factor)?;
                Some(self.only(condition, value)?)
            }
        })
    }

    /// Returns the tangent of a value from those of its operands.
    fn tangent(
        &mut self,
        expr: ExprId,
        tangents: &Tangents,
        guarded: &mut Guarded,
    ) -> Result<Option<ExprId>, Problem> {
        if let Some(rule) = self.graph.rules.get(&expr).cloned() {
            return self.tangent_by_rule(expr, rule, tangents);
        }
        let of = |operand: ExprId| tangents.get(&operand).copied();
        let site = self.site;
        let shape = self.graph.written(expr).clone();
        let work = self.graph.dtype(expr).arithmetic();
        let made = match self.graph.node(expr).clone() {
            Node::Elementwise { op, operands } => {
                let mut parts = Vec::new();
                for (by, operand) in operands.iter().enumerate() {
                    let Some(whole) = of(*operand) else { continue };
                    let (tangent, mut guard) = match guarded.get(operand) {
                        Some(&[value, guard]) => (value, Some(guard)),
                        None => (whole, None),
                    };
                    let slope = self.slope(op, by, &operands, expr)?;
                    let Some(next) = self.sloped(slope, tangent)? else { continue };
                    if let Slope::Value(factor) | Slope::Where(_, factor) = slope
                        && self.kind(op, &operands) == Kind::Steep
                    {
                        // What does not change does not change the result, however steep it is there.
                        let counts = self.counts(tangent, factor)?;
                        guard = self.both(guard, Some(counts))?;
                    }
                    parts.push((next, guard));
                }
                if let [(value, Some(guard))] = parts[..] {
                    guarded.insert(expr, [value, guard]);
                }
                let mut total = None;
                for (value, guard) in parts {
                    let next = guard.map_or(Ok(value), |guard| self.only(guard, value))?;
                    total = Some(self.sum(total, next)?);
                }
                return Ok(total);
            }
            Node::Select { condition, on_true, on_false } => {
                let sides = [of(on_true), of(on_false)];
                if sides == [None, None] {
                    return Ok(None);
                }
                let zero = self.number(0.0, work)?;
                let [yes, no] = sides.map(|side| side.unwrap_or(zero));
                self.graph.try_select([condition, yes, no], site)?
            }
            Node::Cast(operand) => match of(operand) {
                Some(tangent) => {
                    if let Some(&[value, guard]) = guarded.get(&operand) {
                        let value = self.graph.convert(value, work, site)?;
                        guarded.insert(expr, [value, guard]);
                    }
                    self.graph.convert(tangent, work, site)?
                }
                None => return Ok(None),
            },
            Node::Reduce { op, operand, axes, keepdims } => {
                let Some(tangent) = of(operand) else { return Ok(None) };
                let Some(total) = self.tangent_of_reduction(expr, (op, operand), &axes, keepdims, tangent)?
                else {
                    return Ok(None);
                };
                let total = self.graph.convert(total, work, site)?;
                self.kept(total, &axes, keepdims)?
            }
            Node::View { view, operand } => match of(operand) {
                Some(tangent) => {
                    if let Some(&[value, guard]) = guarded.get(&operand) {
                        let mut viewed = |of: ExprId| -> Result<ExprId, Problem> {
                            let from = self.graph.written(operand).clone();
                            let whole = self.graph.try_broadcast_to(of, from, site)?;
                            self.graph.insert_view(view.clone(), whole, shape.clone(), Vec::new(), site)
                        };
                        guarded.insert(expr, [viewed(value)?, viewed(guard)?]);
                    }
                    self.graph.insert_view(view, tangent, shape, Vec::new(), site)?
                }
                None => return Ok(None),
            },
            Node::Take { table, indices, axis } => match of(table) {
                Some(tangent) => self.graph.try_take(tangent, indices, axis as i64, site)?,
                None => return Ok(None),
            },
            Node::Compress { operand, mask, axis } => match of(operand) {
                Some(operand) => {
                    let node = Node::Compress { operand, mask, axis };
                    self.graph.insert(node, work, shape, Vec::new(), site)?
                }
                None => return Ok(None),
            },
            Node::Concat { operands, axis } => {
                let parts = operands.iter().map(|operand| self.or_zeros(*operand, tangents));
                let parts: Vec<ExprId> = parts.collect::<Result<_, _>>()?;
                self.graph.try_concat(&parts, axis as i64, site)?
            }
            Node::Set { base, value, region } => {
                let base = self.or_zeros(base, tangents)?;
                let value = self.or_zeros(value, tangents)?;
                self.graph.insert(Node::Set { base, value, region }, work, shape, Vec::new(), site)?
            }
            Node::Scatter { op: None, base, indices, values } => {
                let base = self.or_zeros(base, tangents)?;
                let values = self.or_zeros(values, tangents)?;
                let node = Node::Scatter { op: None, base, indices, values };
                self.graph.insert(node, work, shape, Vec::new(), site)?
            }
            Node::Sort { operand, sort } => {
                let Some(tangent) = of(operand) else { return Ok(None) };
                let order = self.graph.insert_sort(operand, Sort { indices: true, ..sort }, site)?;
                let places = self.places(order, sort.axis, &shape[sort.axis])?;
                self.gathered(&places, tangent)?
            }
            Node::TopK { operand, topk } => {
                let Some(tangent) = of(operand) else { return Ok(None) };
                let chosen = self.graph.chosen_by_topk(operand, topk, site)?;
                let size = self.graph.written(operand)[topk.axis].clone();
                let places = self.places(chosen, topk.axis, &size)?;
                self.gathered(&places, tangent)?
            }
            Node::Scan { op, operand, axis, initial: None } => {
                let Some(tangent) = of(operand) else { return Ok(None) };
                self.forward_scan(op, [operand, expr], axis, tangent)?
            }
            // Accumulation has a rule of its own.
            Node::Scatter { op: Some(_), .. }
            | Node::Segment { .. }
            | Node::Scan { .. }
            | Node::Loop { .. } => {
                return Err(Problem::NoDerivative);
            }
            Node::Input(_)
            | Node::Constant(_)
            | Node::Iota
            | Node::Step { .. }
            | Node::Size(_)
            | Node::Search { .. }
            | Node::Poison => return Ok(None),
        };
        Ok(Some(made))
    }

    /// Removes the axes of a reduction, unless they are kept.
    fn kept(&mut self, reduced: ExprId, axes: &[usize], keepdims: bool) -> Result<ExprId, Problem> {
        match keepdims {
            true => Ok(reduced),
            false => self.graph.try_squeeze(reduced, &signed(axes), self.site),
        }
    }

    /// Returns the tangent of a value, or zeros.
    fn or_zeros(&mut self, expr: ExprId, tangents: &Tangents) -> Result<ExprId, Problem> {
        match tangents.get(&expr) {
            Some(tangent) => Ok(*tangent),
            None => self.zeros(self.graph.written(expr).clone(), self.graph.dtype(expr).arithmetic()),
        }
    }

    /// Returns the tangent of a reduction, which keeps its axes.
    fn tangent_of_reduction(
        &mut self,
        expr: ExprId,
        (op, operand): (ReduceOp, ExprId),
        axes: &[usize],
        keepdims: bool,
        tangent: ExprId,
    ) -> Result<Option<ExprId>, Problem> {
        let rank = self.graph.written(operand).rank();
        Ok(Some(match op {
            ReduceOp::Sum => self.sum_of_products(tangent, axes)?,
            ReduceOp::Mean => self.reduce(ReduceOp::Mean, tangent, axes)?,
            ReduceOp::Prod => {
                let x = self.computed(operand)?;
                let others = self.product_of_others(x, axes)?;
                let weighted = self.times(tangent, others)?;
                self.reduce(ReduceOp::Sum, weighted, axes)?
            }
            ReduceOp::Min | ReduceOp::Max => {
                let extreme = self.unreduced(expr, rank, axes, keepdims)?;
                let [is_extreme, count] = self.extremes(operand, extreme, axes)?;
                let chosen = self.only(is_extreme, tangent)?;
                let x = self.computed(operand)?;
                let chosen = self.or_nan(x, chosen)?;
                let total = self.reduce(ReduceOp::Sum, chosen, axes)?;
                let count = self.graph.convert(count, self.graph.dtype(total), self.site)?;
                self.op(Op::Divide, &[total, count])?
            }
            ReduceOp::ArgMin | ReduceOp::ArgMax | ReduceOp::Any | ReduceOp::All => return Ok(None),
        }))
    }

    /// Sums a tangent. The sum of two products is two contractions.
    fn sum_of_products(&mut self, tangent: ExprId, axes: &[usize]) -> Result<ExprId, Problem> {
        let is_product = |expr: &ExprId| {
            matches!(self.graph.node(*expr), Node::Elementwise { op: Op::Multiply, .. })
                && self.graph.written(*expr) == self.graph.written(tangent)
        };
        let Node::Elementwise { op: Op::Add, operands } = self.graph.node(tangent) else {
            return self.reduce(ReduceOp::Sum, tangent, axes);
        };
        match operands[..] {
            [left, right] if is_product(&left) && is_product(&right) => {
                let left = self.reduce(ReduceOp::Sum, left, axes)?;
                let right = self.reduce(ReduceOp::Sum, right, axes)?;
                self.op(Op::Add, &[left, right])
            }
            _ => self.reduce(ReduceOp::Sum, tangent, axes),
        }
    }

    fn forward_scan(
        &mut self,
        op: ReduceOp,
        [operand, result]: [ExprId; 2],
        axis: usize,
        tangent: ExprId,
    ) -> Result<ExprId, Problem> {
        match op {
            ReduceOp::Sum => self.running(ReduceOp::Sum, tangent, axis),
            ReduceOp::Prod => {
                let x = self.computed(operand)?;
                let r = self.computed(result)?;
                let steps = self.change_of_products(x, tangent, axis)?;
                let quotient = self.op(Op::Divide, &[tangent, x])?;
                let [is_first, products, is_before] = self.without_first_zero(x, axis)?;
                let quotient = self.only(is_before, quotient)?;
                let sums = self.running(ReduceOp::Sum, quotient, axis)?;
                let without = self.op(Op::Multiply, &[sums, r])?;
                let at_zero = self.only(is_first, tangent)?;
                let carried = self.running(ReduceOp::Sum, at_zero, axis)?;
                let beside_zero = self.op(Op::Multiply, &[carried, products])?;
                let change = self.graph.try_select([is_before, without, beside_zero], self.site)?;
                self.graph.derives_by(change, Rule::As(steps));
                Ok(change)
            }
            ReduceOp::Min | ReduceOp::Max => {
                let reached = self.reached(result, axis)?;
                let size = self.graph.written(result)[axis].clone();
                let places = self.places(reached, axis, &size)?;
                self.gathered(&places, tangent)
            }
            _ => Err(Problem::NoDerivative),
        }
    }

    fn tangent_by_rule(
        &mut self,
        expr: ExprId,
        rule: Rule,
        tangents: &Tangents,
    ) -> Result<Option<ExprId>, Problem> {
        match rule {
            Rule::As(other) => Ok(tangents.get(&other).copied()),
            Rule::Elementwise { function, operands } => {
                let mut total = None;
                for (by, operand) in operands.iter().enumerate() {
                    let Some(tangent) = tangents.get(operand) else { continue };
                    let slope = self.slope_of_composed(function, by, &operands, expr)?;
                    if let Some(next) = self.sloped(slope, *tangent)? {
                        total = Some(self.sum(total, next)?);
                    }
                }
                Ok(total)
            }
            Rule::Along { function, operand, axes } => match tangents.get(&operand) {
                Some(tangent) => self.along(function, [operand, expr], &axes, *tangent, false).map(Some),
                None => Ok(None),
            },
            Rule::Deviations { operand, deviation, axes, keepdims } => {
                let Some(&tangent) = tangents.get(&operand) else { return Ok(None) };
                let slope = self.slope(Op::Square, 0, &[deviation], expr)?;
                let Some(changes) = self.sloped(slope, tangent)? else { return Ok(None) };
                let total = self.reduce(ReduceOp::Sum, changes, &axes)?;
                self.kept(total, &axes, keepdims).map(Some)
            }
            Rule::Segment { op, values, ids } => {
                let Some(&tangent) = tangents.get(&values) else { return Ok(None) };
                let segments: Dim = self.graph.written(expr)[0].clone();
                let work = self.graph.dtype(expr).arithmetic();
                let (tangent, count) = match op {
                    ReduceOp::Mean => {
                        let rows = self.graph.try_segment_count(ids, segments.clone(), self.site)?;
                        (tangent, Some(rows))
                    }
                    ReduceOp::Min | ReduceOp::Max => {
                        let (is_extreme, count) = self.extremes_of_segments(values, ids, expr)?;
                        let x = self.computed(values)?;
                        let chosen = self.only(is_extreme, tangent)?;
                        (self.or_nan(x, chosen)?, Some(count))
                    }
                    ReduceOp::Prod => {
                        let others = self.product_of_segment(values, ids, &segments)?;
                        (self.times(tangent, others)?, None)
                    }
                    _ => (tangent, None),
                };
                let mut total = self.graph.segment_total(ReduceOp::Sum, tangent, ids, segments, self.site)?;
                if let Some(count) = count {
                    total = self.by_rows(total, count)?;
                    if op != ReduceOp::Mean {
                        // No row of an empty segment changes.
                        let rows = self.beside_rows(count, total)?;
                        let zero = self.number(0.0, self.graph.dtype(rows))?;
                        let has_rows = self.op(Op::NotEqual, &[rows, zero])?;
                        total = self.only(has_rows, total)?;
                    }
                }
                self.graph.convert(total, work, self.site).map(Some)
            }
        }
    }
}
