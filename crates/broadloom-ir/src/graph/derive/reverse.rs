//! Reverse mode: from a result to what it depends on.

use super::super::views::{inverse, signed};
use super::super::{Node, SliceAxis, Sort, ValueOf, View};
use super::rule::{Normalized, Rule};
use super::{Derivation, Slope, Walk};
use crate::dim::Dim;
use crate::ids::{ExprId, LoopId};
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use std::collections::{HashMap, HashSet};

/// What a value contributes to the derivative: a number for each element. It broadcasts to the value: an axis along which it
/// is the same stays a literal 1 or absent, so that nothing is computed or summed twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cotangent {
    pub(super) value: ExprId,
    /// Where this does not hold, the contribution is 0, whatever the value is: the elements that a selection left out. It stays
    /// beside the value, because a product with an infinite factor would be NaN.
    pub(super) guard: Option<ExprId>,
    /// Whether the value is 0 itself where the guard does not hold: products with finite factors, such as those of a
    /// contraction, need no selection.
    pub(super) zeroed: bool,
    /// Whether the value may be infinite where a root or a logarithm begins. Then a factor 0 stays 0.
    pub(super) steep: bool,
}

/// How an elementwise function passes on a cotangent that may be infinite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A root or a logarithm: what it sends is infinite at 0.
    Steep,
    /// What follows may be infinite if what comes in is.
    Passes,
    /// Where the derivative is not 0, the root above is not at 0 either: the square in a norm.
    Ends,
}

impl Derivation<'_> {
    pub(super) fn kind(&self, op: Op, operands: &[ExprId]) -> Kind {
        match op {
            // The slope of such a power is finite at 0, as that of a square.
            Op::Pow
                if operands.last().and_then(|exponent| self.value(*exponent)).is_some_and(|y| y >= 1.0) =>
            {
                Kind::Ends
            }
            Op::Sqrt | Op::Rsqrt | Op::Cbrt | Op::Pow | Op::Log | Op::Log2 | Op::Log10 => Kind::Steep,
            Op::Multiply if operands.first() == operands.last() => Kind::Ends,
            Op::Square | Op::Abs => Kind::Ends,
            _ => Kind::Passes,
        }
    }

    /// Whether an expression is a product of two tensors that both stretch, as the terms of a contraction are.
    fn is_contracted(&self, expr: ExprId) -> bool {
        let shape = self.graph.written(expr);
        let stretches = |operand: &ExprId| {
            let own = self.graph.written(*operand);
            let missing = shape.rank() - own.rank();
            (0..shape.rank())
                .any(|axis| !shape[axis].is_one() && (axis < missing || own[axis - missing].is_one()))
        };
        match self.graph.node(expr) {
            Node::Elementwise { op: Op::Multiply, operands } => operands.iter().all(stretches),
            _ => false,
        }
    }
}

struct Reverse<'d, 'g> {
    derivation: &'d mut Derivation<'g>,
    /// The cotangents of results of loops, until all of a loop are known.
    of_loops: HashMap<LoopId, Vec<(ValueOf, ExprId)>>,
    /// What users have sent so far, added in their order.
    sent: HashMap<ExprId, Cotangent>,
    walk: &'d Walk,
}

impl Derivation<'_> {
    /// Returns the derivatives of `y`, weighted by a seed that broadcasts to it.
    pub(super) fn reverse(
        &mut self,
        y: ExprId,
        seed: ExprId,
        by: &[ExprId],
        walk: &Walk,
    ) -> Result<Vec<ExprId>, Problem> {
        let seed = Cotangent { value: seed, guard: None, zeroed: false, steep: false };
        let mut reverse =
            Reverse { derivation: self, of_loops: HashMap::new(), sent: HashMap::from([(y, seed)]), walk };
        let wanted: HashSet<ExprId> = by.iter().copied().collect();
        let mut found = HashMap::new();
        for &expr in walk.active.iter().rev() {
            let total = reverse.sent.remove(&expr);
            if let Some(total) = total.filter(|_| wanted.contains(&expr)) {
                found.insert(expr, total);
            }
            match (reverse.derivation.graph.node(expr), total) {
                (Node::Loop { .. }, total) => reverse.derive_loop(expr, total)?,
                (_, Some(total)) => reverse.derive(expr, total)?,
                (_, None) => {}
            }
        }
        let mut results = Vec::with_capacity(by.len());
        for expr in by {
            let (dtype, shape) = (self.graph.dtype(*expr), self.graph.written(*expr).clone());
            let value = match found.get(expr) {
                Some(total) => self.applied(*total)?,
                None => self.number(0.0, dtype)?,
            };
            let value = self.graph.try_broadcast_to(value, shape, self.site)?;
            results.push(self.graph.convert(value, dtype, self.site)?);
        }
        Ok(results)
    }

    /// Returns the sum of two cotangents of a value.
    fn added(&mut self, one: Cotangent, other: Cotangent) -> Result<Cotangent, Problem> {
        let guard = match (one.guard, other.guard) {
            (Some(one), Some(other)) if one == other => Some(one),
            (Some(one), Some(other)) => Some(self.op(Op::LogicalOr, &[one, other])?),
            _ => None,
        };
        let values = [self.applied(one)?, self.applied(other)?];
        let value = self.op(Op::Add, &values)?;
        Ok(Cotangent { value, guard, zeroed: true, steep: one.steep || other.steep })
    }

    /// Returns the value of a cotangent, 0 where its guard does not hold.
    pub(super) fn applied(&mut self, cotangent: Cotangent) -> Result<ExprId, Problem> {
        match cotangent.guard {
            Some(guard) if !cotangent.zeroed => self.only(guard, cotangent.value),
            _ => Ok(cotangent.value),
        }
    }
}

impl Reverse<'_, '_> {
    fn is_active(&self, expr: ExprId) -> bool {
        self.walk.is_active.contains(&expr)
    }

    /// Sends a cotangent to a value, in the dtype in which derivatives by it are computed.
    fn send(&mut self, to: ExprId, cotangent: Cotangent) -> Result<(), Problem> {
        if self.is_active(to) {
            let graph = &mut *self.derivation.graph;
            let dtype = graph.dtype(to).arithmetic();
            let value = graph.convert(cotangent.value, dtype, self.derivation.site)?;
            let next = Cotangent { value, ..cotangent };
            let total = match self.sent.get(&to).copied() {
                Some(before) => self.derivation.added(before, next)?,
                None => next,
            };
            self.sent.insert(to, total);
        }
        Ok(())
    }

    /// Sends a cotangent times the derivative of an elementwise function.
    fn send_slope(
        &mut self,
        slope: Slope,
        (to, shape): (ExprId, &Shape),
        (of, given): (ExprId, Cotangent),
        kind: Kind,
    ) -> Result<(), Problem> {
        let derivation = &mut *self.derivation;
        let Cotangent { value, guard, zeroed, steep } = given;
        let (value, mut guard) = match slope {
            Slope::Flat => return Ok(()),
            Slope::Number(-1.0) => (derivation.op(Op::Negative, &[value])?, guard),
            Slope::Number(number) => {
                let factor = derivation.number(number, derivation.graph.dtype(value))?;
                (derivation.times(value, factor)?, guard)
            }
            Slope::Value(factor) => (derivation.times(value, factor)?, guard),
            Slope::Where(condition, factor) => {
                (derivation.times(value, factor)?, derivation.both(guard, Some(condition))?)
            }
        };
        if let Slope::Value(factor) | Slope::Where(_, factor) = slope
            && steep
            && !derivation.graph.is_same_everywhere(factor)
        {
            let counts = derivation.counts(factor, given.value)?;
            guard = derivation.both(guard, Some(counts))?;
        }
        let is_finite = matches!(slope, Slope::Number(_)) || derivation.is_contracted(of);
        let keeps_zeros = guard == given.guard && is_finite;
        let steep = match kind {
            Kind::Steep => true,
            Kind::Passes => steep,
            Kind::Ends => false,
        };
        let cotangent = Cotangent { value, guard, zeroed: zeroed && keeps_zeros, steep };
        let to_shape = derivation.graph.written(to).clone();
        let cotangent = derivation.unstretched(cotangent, shape, &to_shape)?;
        self.send(to, cotangent)
    }

    /// Sends what follows from the cotangent of a value to what it is computed from.
    fn derive(&mut self, expr: ExprId, given: Cotangent) -> Result<(), Problem> {
        if let Some(rule) = self.derivation.graph.rules.get(&expr).cloned() {
            return self.derive_rule(expr, rule, given);
        }
        let site = self.derivation.site;
        let shape = self.derivation.graph.written(expr).clone();
        match self.derivation.graph.node(expr).clone() {
            Node::Elementwise { op, operands } => {
                let kind = self.derivation.kind(op, &operands);
                for (by, operand) in operands.iter().enumerate() {
                    if self.is_active(*operand) {
                        let slope = self.derivation.slope(op, by, &operands, expr)?;
                        self.send_slope(slope, (*operand, &shape), (expr, given), kind)?;
                    }
                }
                Ok(())
            }
            Node::Select { condition, on_true, on_false } => {
                for (side, holds) in [(on_true, true), (on_false, false)] {
                    if self.is_active(side) {
                        let chosen = match holds {
                            true => condition,
                            false => self.derivation.op(Op::LogicalNot, &[condition])?,
                        };
                        let guard = self.derivation.both(given.guard, Some(chosen))?;
                        let to = self.derivation.graph.written(side).clone();
                        let sent = Cotangent { guard, zeroed: false, ..given };
                        let sent = self.derivation.unstretched(sent, &shape, &to)?;
                        self.send(side, sent)?;
                    }
                }
                Ok(())
            }
            Node::Cast(operand) => self.send(operand, given),
            Node::Reduce { op, operand, axes, keepdims } => {
                self.derive_reduction(expr, (op, operand), &axes, keepdims, given)
            }
            Node::View { view, operand } => self.derive_view(&view, operand, &shape, given),
            Node::Take { table, indices, axis } => self.derive_take(table, indices, axis, &shape, given),
            Node::Compress { operand, mask, axis } => {
                let value = self.whole(given, &shape)?;
                let sizes = self.derivation.graph.written(operand).clone();
                let sent = self.derivation.put_back(value, mask, axis, &sizes)?;
                self.send_whole(operand, sent, given.steep)
            }
            Node::Concat { operands, axis } => {
                let value = self.whole(given, &shape)?;
                let mut start = Dim::ZERO;
                for operand in operands {
                    let size = self.derivation.graph.written(operand)[axis].clone();
                    let stop = start.add(&size).map_err(Problem::Size)?;
                    if self.is_active(operand) {
                        let sizes = self.derivation.graph.written(operand).clone();
                        let mut parts = vec![SliceAxis { start: Dim::ZERO, step: 1 }; shape.rank()];
                        parts[axis].start = start;
                        parts[axis] = parts[axis].clone().of_size(&size);
                        let view = View::Slice(parts.into());
                        let part = self.derivation.graph.insert_view(view, value, sizes, Vec::new(), site)?;
                        self.send_whole(operand, part, given.steep)?;
                    }
                    start = stop;
                }
                Ok(())
            }
            Node::Set { base, value, region } => {
                let whole = self.whole(given, &shape)?;
                let sizes = self.derivation.graph.written(value).clone();
                let dtype = self.derivation.graph.dtype(whole);
                if self.is_active(base) {
                    let none = self.derivation.zeros(sizes.clone(), dtype)?;
                    let node = Node::Set { base: whole, value: none, region: region.clone() };
                    let left = self.derivation.graph.insert(node, dtype, shape, Vec::new(), site)?;
                    self.send_whole(base, left, given.steep)?;
                }
                if self.is_active(value) {
                    let view = View::Slice(region);
                    let part = self.derivation.graph.insert_view(view, whole, sizes, Vec::new(), site)?;
                    self.send_whole(value, part, given.steep)?;
                }
                Ok(())
            }
            // Accumulation has a rule of its own.
            Node::Scatter { op: Some(_), .. } => Err(Problem::NoDerivative),
            Node::Scatter { op: None, base, indices, values } => {
                let whole = self.whole(given, &shape)?;
                let dtype = self.derivation.graph.dtype(whole);
                if self.is_active(base) {
                    let sizes = self.derivation.graph.written(values).clone();
                    let none = self.derivation.zeros(sizes, dtype)?;
                    let node = Node::Scatter { op: None, base: whole, indices, values: none };
                    let left = self.derivation.graph.insert(node, dtype, shape.clone(), Vec::new(), site)?;
                    self.send_whole(base, left, given.steep)?;
                }
                if self.is_active(values) {
                    let counts = self.derivation.last_of_equal(indices, &shape)?;
                    let taken = self.derivation.graph.try_take(whole, indices, 0, site)?;
                    let kept = self.derivation.only(counts, taken)?;
                    self.send_whole(values, kept, given.steep)?;
                }
                Ok(())
            }
            Node::Sort { operand, sort } => {
                let order = Sort { indices: true, ..sort };
                let order = self.derivation.graph.insert_sort(operand, order, site)?;
                let value = self.whole(given, &shape)?;
                let places = self.derivation.places(order, sort.axis, &shape[sort.axis])?;
                let sent = self.derivation.scattered(&places, value)?;
                self.send_whole(operand, sent, given.steep)
            }
            Node::TopK { operand, topk } => {
                let size = self.derivation.graph.written(operand)[topk.axis].clone();
                let chosen = self.derivation.graph.chosen_by_topk(operand, topk, site)?;
                let value = self.whole(given, &shape)?;
                let places = self.derivation.places(chosen, topk.axis, &size)?;
                let sent = self.derivation.scattered(&places, value)?;
                self.send_whole(operand, sent, given.steep)
            }
            Node::Scan { op, operand, axis, initial: None } => {
                let value = self.whole(given, &shape)?;
                let sent = self.derivation.reverse_scan(op, [operand, expr], axis, value)?;
                self.send_whole(operand, sent, false)
            }
            // Results of loops are derived together.
            Node::Segment { .. } | Node::Scan { .. } | Node::Loop { .. } => Err(Problem::NoDerivative),
            Node::Input(_)
            | Node::Constant(_)
            | Node::Iota
            | Node::Step { .. }
            | Node::Size(_)
            | Node::Search { .. }
            | Node::Poison => Ok(()),
        }
    }

    /// Derives a loop, if this is the last of its results in the order of this walk.
    fn derive_loop(&mut self, expr: ExprId, given: Option<Cotangent>) -> Result<(), Problem> {
        let Node::Loop { repeated, result } = self.derivation.graph.node(expr).clone() else { return Ok(()) };
        if let Some(given) = given {
            let shape = self.derivation.graph.written(expr).clone();
            let whole = self.whole(given, &shape)?;
            self.of_loops.entry(repeated.id).or_default().push((repeated.value_of(result), whole));
        }
        let (first, repeated) = self.derivation.merged(&repeated, self.walk);
        if first != Some(expr) {
            return Ok(());
        }
        let Some(found) = self.of_loops.remove(&repeated.id) else { return Ok(()) };
        let mut cotangents: HashMap<usize, ExprId> = HashMap::new();
        for (value, cotangent) in found {
            let Some(result) = repeated.result_of(value) else { continue };
            let total = match cotangents.get(&result) {
                Some(before) => self.derivation.op(Op::Add, &[*before, cotangent])?,
                None => cotangent,
            };
            cotangents.insert(result, total);
        }
        let walk = self.walk;
        let sent =
            self.derivation.sent_by_loop(&repeated, &cotangents, &|expr| walk.is_active.contains(&expr))?;
        sent.into_iter().try_for_each(|(to, value)| self.send_whole(to, value, false))
    }

    /// Returns a cotangent in the shape of its value.
    fn whole(&mut self, given: Cotangent, shape: &Shape) -> Result<ExprId, Problem> {
        let value = self.derivation.applied(given)?;
        self.derivation.graph.try_broadcast_to(value, shape.clone(), self.derivation.site)
    }

    fn send_whole(&mut self, to: ExprId, value: ExprId, steep: bool) -> Result<(), Problem> {
        self.send(to, Cotangent { value, guard: None, zeroed: false, steep })
    }

    fn derive_rule(&mut self, expr: ExprId, rule: Rule, given: Cotangent) -> Result<(), Problem> {
        let shape = self.derivation.graph.written(expr).clone();
        match rule {
            Rule::As(other) => self.send(other, given),
            Rule::Elementwise { function, operands } => {
                for (by, operand) in operands.iter().enumerate() {
                    if self.is_active(*operand) {
                        let slope = self.derivation.slope_of_composed(function, by, &operands, expr)?;
                        self.send_slope(slope, (*operand, &shape), (expr, given), Kind::Passes)?;
                    }
                }
                Ok(())
            }
            Rule::Along { function, operand, axes } => {
                let value = self.derivation.applied(given)?;
                let value = match function {
                    Normalized::LogSumExp => value,
                    _ => self.derivation.graph.try_broadcast_to(value, shape, self.derivation.site)?,
                };
                let sent = self.derivation.along(function, [operand, expr], &axes, value, true)?;
                self.send_whole(operand, sent, false)
            }
            Rule::Deviations { operand, deviation, axes, keepdims } => {
                let rank = self.derivation.graph.written(operand).rank();
                let own = self.derivation.graph.written(deviation).clone();
                let mut unreduced = |expr| self.derivation.unreduced(expr, rank, &axes, keepdims);
                let value = unreduced(given.value)?;
                let guard = given.guard.map(&mut unreduced).transpose()?;
                let slope = self.derivation.slope(Op::Square, 0, &[deviation], expr)?;
                self.send_slope(
                    slope,
                    (operand, &own),
                    (expr, Cotangent { value, guard, ..given }),
                    Kind::Ends,
                )
            }
            Rule::Segment { op, values, ids } => {
                let mut value = self.whole(given, &shape)?;
                let site = self.derivation.site;
                let own = self.derivation.graph.dtype(values).arithmetic();
                let mut guard = None;
                match op {
                    ReduceOp::Mean => {
                        let rows = self.derivation.graph.try_segment_count(ids, shape[0].clone(), site)?;
                        value = self.derivation.by_rows(value, rows)?;
                    }
                    ReduceOp::Min | ReduceOp::Max => {
                        let (is_extreme, count) = self.derivation.extremes_of_segments(values, ids, expr)?;
                        value = self.derivation.by_rows(value, count)?;
                        guard = Some(is_extreme);
                    }
                    _ => {}
                }
                let value = self.derivation.graph.convert(value, own, site)?;
                let mut value = self.derivation.graph.try_take(value, ids, 0, site)?;
                if matches!(op, ReduceOp::Min | ReduceOp::Max) {
                    let x = self.derivation.computed(values)?;
                    value = self.derivation.or_nan(x, value)?;
                }
                if op == ReduceOp::Prod {
                    let others = self.derivation.product_of_segment(values, ids, &shape[0])?;
                    value = self.derivation.times(value, others)?;
                }
                self.send(values, Cotangent { value, guard, zeroed: false, steep: given.steep })
            }
        }
    }

    fn derive_reduction(
        &mut self,
        expr: ExprId,
        (op, operand): (ReduceOp, ExprId),
        axes: &[usize],
        keepdims: bool,
        mut given: Cotangent,
    ) -> Result<(), Problem> {
        let derivation = &mut *self.derivation;
        let source = derivation.graph.written(operand).clone();
        if derivation.is_contracted(operand) {
            // A contraction stays one: its products with what is left out are 0 if the factors are finite, and none of its
            // factors 0 is taken to meet an infinite value.
            given = Cotangent {
                value: derivation.applied(given)?,
                zeroed: given.guard.is_some(),
                steep: false,
                ..given
            };
        }
        let rank = source.rank();
        let mut value = derivation.unreduced(given.value, rank, axes, keepdims)?;
        let mut guard =
            given.guard.map(|guard| derivation.unreduced(guard, rank, axes, keepdims)).transpose()?;
        let work = derivation.graph.dtype(operand).arithmetic();
        value = derivation.graph.convert(value, work, derivation.site)?;
        match op {
            ReduceOp::Sum => {}
            ReduceOp::Mean => {
                let count = derivation.count(axes.iter().map(|axis| &source[*axis]), work)?;
                value = derivation.op(Op::Divide, &[value, count])?;
            }
            ReduceOp::Prod => {
                let x = derivation.computed(operand)?;
                let others = derivation.product_of_others(x, axes)?;
                value = derivation.times(value, others)?;
                given.zeroed = false;
            }
            ReduceOp::Min | ReduceOp::Max => {
                let extreme = derivation.unreduced(expr, rank, axes, keepdims)?;
                let [is_extreme, count] = derivation.extremes(operand, extreme, axes)?;
                let count = derivation.graph.convert(count, work, derivation.site)?;
                let share = derivation.op(Op::Divide, &[value, count])?;
                let x = derivation.computed(operand)?;
                value = derivation.or_nan(x, share)?;
                guard = derivation.both(guard, Some(is_extreme))?;
                given.zeroed = false;
            }
            ReduceOp::ArgMin | ReduceOp::ArgMax | ReduceOp::Any | ReduceOp::All => return Ok(()),
        }
        self.send(operand, Cotangent { value, guard, ..given })
    }

    fn derive_view(
        &mut self,
        view: &View,
        operand: ExprId,
        shape: &Shape,
        given: Cotangent,
    ) -> Result<(), Problem> {
        let derivation = &mut *self.derivation;
        let site = derivation.site;
        let source = derivation.graph.written(operand).clone();
        if *view == View::BroadcastTo {
            let sent = derivation.unstretched(given, shape, &source)?;
            return self.send(operand, sent);
        }
        if let View::Slice(_) | View::Windows(_) | View::Reshape = view {
            let value = derivation.applied(given)?;
            let value = derivation.of_rank(value, shape.rank())?;
            let sent = derivation.reverse_view(view, value, shape, &source)?;
            return self.send_whole(operand, sent, given.steep);
        }
        let mut reversed = |expr: ExprId| -> Result<ExprId, Problem> {
            let expr = derivation.of_rank(expr, shape.rank())?;
            let own = derivation.graph.written(expr).clone();
            match view {
                View::Permute(permutation) => derivation.graph.try_permute(expr, &inverse(permutation), site),
                View::ExpandDims(axes) => derivation.graph.try_squeeze(expr, &signed(axes), site),
                View::Squeeze(axes) => derivation.graph.try_expand_dims(expr, &signed(axes), site),
                // Sizes with other names.
                _ => {
                    let sizes =
                        own.iter().zip(&source).map(|(own, size)| if own.is_one() { own } else { size });
                    let sizes: Shape = sizes.cloned().collect();
                    match sizes == own {
                        true => Ok(expr),
                        false => derivation.graph.insert_view(View::Rebind, expr, sizes, Vec::new(), site),
                    }
                }
            }
        };
        let value = reversed(given.value)?;
        let guard = given.guard.map(&mut reversed).transpose()?;
        self.send(operand, Cotangent { value, guard, ..given })
    }

    fn derive_take(
        &mut self,
        table: ExprId,
        indices: ExprId,
        axis: usize,
        shape: &Shape,
        given: Cotangent,
    ) -> Result<(), Problem> {
        if !self.is_active(table) {
            return Ok(());
        }
        let value = self.whole(given, shape)?;
        let derivation = &mut *self.derivation;
        let site = derivation.site;
        let source = derivation.graph.written(table).clone();
        let dtype = derivation.graph.dtype(value);
        let along = derivation.graph.written(indices).rank();
        // The rows to which the values belong come first, as one axis.
        let moved = derivation.graph.with_axes_moved(value, axis, along, 0, site)?;
        let count = Dim::product(&derivation.graph.written(indices).clone()).map_err(Problem::Size)?;
        let others: Vec<Dim> = derivation.graph.written(moved)[along..].to_vec();
        let sizes: Vec<Option<Dim>> = std::iter::once(&count).chain(&others).cloned().map(Some).collect();
        let values = derivation.graph.try_reshape(moved, &sizes, site)?;
        let ids = derivation.graph.counted_from_start(indices, &source[axis], site)?;
        let ids = derivation.graph.try_reshape(ids, &[Some(count)], site)?;
        let sums = derivation.graph.segment_total(ReduceOp::Sum, values, ids, source[axis].clone(), site)?;
        let sums = derivation.graph.convert(sums, dtype, site)?;
        let back = derivation.graph.with_axes_moved(sums, 0, 1, axis, site)?;
        self.send_whole(table, back, given.steep)
    }
}
