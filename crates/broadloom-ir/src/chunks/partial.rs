//! The contribution of a chunk to a reduction over the rows, the merge of neighbouring contributions, and the final
//! result.
//!
//! ```text
//! sum, max, ..     the reduction of the chunk's rows, in the dtype in which it accumulates     combined
//! argmin, argmax   the index, counted from the first of all rows, and the value behind it      the better one's
//! topk             the best of the chunk's rows                                                the best of both
//! argtopk          their indices, and the values behind them                                   each by its place among both
//! segments         the tables, which go on from those of the rows before                       the next chunk's
//! ```
//!
//! Where the order matters, for the bits of a sum or for which of equal elements has the lowest index, reductions
//! go innermost first. Then reduced axes outside the rows stay until all rows are present.

use super::parts::{Destination, Refused, Source, Splitter};
use super::place::Place;
use super::writer::Writer;
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::graph::{Axes, Node, Site, SliceSpec, TopK};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::reduce::{NO_INDEX, ReduceOp, SEGMENT_BLOCK};
use crate::shape::Shape;

/// A reduction over the rows, or the tables of a segmented one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Partial {
    pub expr: ExprId,
    pub pass: usize,
    pub slot: usize,
    /// For a reduction that [gives indices](gives_indices): the slot of the values behind the indices.
    pub value: Option<usize>,
}

/// Returns whether the result is the indices of elements: then the elements are needed too, to find the best of
/// several chunks.
pub(super) fn gives_indices(node: &Node) -> bool {
    match node {
        Node::Reduce { op, .. } => op.is_arg(),
        Node::TopK { topk, .. } => topk.indices,
        _ => false,
    }
}

/// Returns whether each chunk continues the result of the rows before it, in place of a merge.
pub(super) fn is_continued(node: &Node) -> bool {
    matches!(node, Node::Segment { .. } | Node::Scatter { .. })
}

/// One side of a merge: a result, and the values behind it if it is an index.
type Side = (ExprId, Option<ExprId>);

impl Splitter<'_> {
    /// Returns the axes over which a chunk reduces: from the rows inwards, or all of them if the order does not
    /// matter.
    fn reduced_by_chunk(&self, op: ReduceOp, operand: ExprId, axes: &Axes) -> Axes {
        let is_free = !op.is_arg() && op.is_order_free(op.accumulator(self.graph.dtype(operand)));
        match self.places[operand.index()] {
            Place::Rows { axis: rows, .. } if !is_free => {
                axes.iter().copied().filter(|axis| *axis >= rows).collect()
            }
            _ => axes.clone(),
        }
    }

    /// Returns the dtype and shape of a slot of a partial result.
    pub(super) fn type_of(&self, partial: Partial, slot: usize) -> (DType, Shape) {
        let (dtype, shape) = (self.graph.dtype(partial.expr), self.graph.shape(partial.expr));
        let is_index = partial.value.is_some() && slot == partial.slot;
        match self.graph.node(partial.expr) {
            Node::Reduce { op, operand, axes, .. } => {
                let reduced = self.reduced_by_chunk(*op, *operand, axes);
                let dtype = if is_index { DType::I64 } else { op.accumulator(self.graph.dtype(*operand)) };
                let shape = self.graph.shape(*operand).iter().enumerate();
                let kept = shape.filter(|(axis, _)| !reduced.contains(axis)).map(|(_, dim)| dim.clone());
                (dtype, kept.collect())
            }
            Node::TopK { operand, .. } if !is_index => (self.graph.dtype(*operand), shape.clone()),
            Node::Segment { .. } => (dtype, self.all_tables(shape)),
            _ => (dtype, shape.clone()),
        }
    }

    /// Returns the shape of tables of segments that are enough for any number of rows.
    fn all_tables(&self, shape: &Shape) -> Shape {
        let most = Dim::constant(SEGMENT_BLOCK as i64);
        let mut shape = shape.to_vec();
        if let Some(tables) = shape.first_mut() {
            // A size that was accepted for all numbers of rows can be computed for this one.
            *tables = tables.substitute(self.rows, &most).unwrap_or_else(|_| tables.clone());
        }
        shape.into()
    }

    /// Returns the graph that merges the partial results of two neighbours.
    pub(super) fn merge(&self, pass: usize) -> Result<Option<super::Part>, Refused> {
        let mut writer = Writer::new(self, false);
        let merged: Vec<Partial> =
            self.partials_of(pass).filter(|partial| !is_continued(self.graph.node(partial.expr))).collect();
        let mut side = |name: &str| -> Vec<Side> {
            let inputs = merged.iter().map(|partial| {
                let mut input = |slot: usize| {
                    let (dtype, shape) = self.type_of(*partial, slot);
                    let site = self.graph.site(partial.expr);
                    writer.named_input(&format!("{name} {slot}"), dtype, shape, Source::Slot(slot), site)
                };
                let side = (input(partial.slot), partial.value.map(input));
                writer.attribute(partial.expr);
                side
            });
            inputs.collect()
        };
        let (left, right) = (side("left"), side("right"));
        for ((partial, left), right) in merged.iter().zip(left).zip(right) {
            writer.merge(*partial, left, right);
        }
        writer.finish()
    }
}

impl Writer<'_, '_> {
    /// Adds the contribution of a chunk to a partial result. Tables and changes at positions go on from those of the rows before
    /// (`carries`), or hold these rows alone.
    pub(super) fn contribute(&mut self, partial: Partial, carries: bool) {
        let whole = self.whole();
        let (expr, site) = (partial.expr, whole.site(partial.expr));
        self.decide_sizes(expr);
        let (result, value) = match whole.node(expr) {
            Node::Reduce { op, operand, axes, .. } => {
                let axes = self.splitter().reduced_by_chunk(*op, *operand, axes);
                self.reduced(*op, *operand, &axes, site)
            }
            Node::TopK { operand, topk } => self.best(*operand, *topk, expr),
            Node::Segment { op, compensated, elements, values, ids, .. } => {
                let (dtype, shape) = self.splitter().type_of(partial, partial.slot);
                let initial = carries.then(|| self.slot(partial.slot, dtype, shape.clone(), site));
                let (values, ids) = (self.image(*values), self.image(*ids));
                let node = Node::Segment {
                    op: *op,
                    compensated: *compensated,
                    elements: elements.clone(),
                    values,
                    ids,
                    initial,
                };
                let tables = self.graph().place_node(node, dtype, shape, whole.call(expr), site);
                return self.output(expr, tables, Destination::Carried(partial.slot));
            }
            Node::Scatter { op, base, indices, values } => {
                let (dtype, shape) = (whole.dtype(expr), whole.shape(expr).clone());
                let base = match carries {
                    true => self.slot(partial.slot, dtype, shape.clone(), site),
                    false => self.image(*base),
                };
                let (indices, values) = (self.image(*indices), self.image(*values));
                let node = Node::Scatter { op: *op, base, indices, values };
                let changed = self.graph().place_node(node, dtype, shape, whole.call(expr), site);
                return self.output(expr, changed, Destination::Carried(partial.slot));
            }
            _ => (self.copied(expr), None),
        };
        self.output(expr, result, Destination::Merged(partial.slot));
        if let (Some(slot), Some(value)) = (partial.value, value) {
            self.output(expr, value, Destination::Merged(slot));
        }
    }

    fn reduced(&mut self, op: ReduceOp, of: ExprId, axes: &Axes, site: Site) -> Side {
        let whole = self.whole();
        let (dtype, shape, operand) = (whole.dtype(of), whole.shape(of), self.image(of));
        let over: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
        let graph = self.graph();
        let Some(extreme) = extreme(op) else {
            let single = if op == ReduceOp::Mean { ReduceOp::Sum } else { op };
            let operand = match op {
                ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => {
                    graph.cast(operand, op.accumulator(dtype), site)
                }
                _ => operand,
            };
            return (graph.reduce_or_identity(single, operand, Some(&over), false, site), None);
        };
        let best = graph.reduce_or_identity(extreme, operand, Some(&over), false, site);
        let index = graph.reduce_or_identity(op, operand, Some(&over), false, site);
        // The index counts elements along all these axes; the rows are the outermost.
        let inner = Dim::product(axes.iter().skip(1).map(|axis| &shape[*axis]));
        let before = self.rows_before(site);
        let graph = self.graph();
        let each = graph.size_value(inner.unwrap_or(Dim::ONE), site);
        let before = graph.elementwise(Op::Multiply, &[before, each], site);
        (graph.elementwise(Op::Add, &[index, before], site), Some(best))
    }

    /// Returns the best of a chunk's rows, of which there may be fewer than requested.
    fn best(&mut self, operand: ExprId, topk: TopK, expr: ExprId) -> Side {
        let whole = self.whole();
        let found = self.copied(expr);
        if !topk.indices {
            return (found, None);
        }
        let (dtype, shape, site) = (whole.dtype(operand), whole.shape(expr).clone(), whole.site(expr));
        let node = Node::TopK { operand: self.image(operand), topk: TopK { indices: false, ..topk } };
        let before = self.rows_before(site);
        let graph = self.graph();
        let values = graph.place_node(node, dtype, shape, whole.call(expr), site);
        let none = graph.constant(Scalar::I64(NO_INDEX), site);
        let is_missing = graph.elementwise(Op::Equal, &[found, none], site);
        let index = graph.elementwise(Op::Add, &[found, before], site);
        (graph.select(is_missing, none, index, site), Some(values))
    }

    /// Merges the partial results of two neighbours.
    fn merge(&mut self, partial: Partial, left: Side, right: Side) {
        let (whole, expr) = (self.whole(), partial.expr);
        let site = whole.site(expr);
        let (result, value) = match (whole.node(expr), left, right) {
            (Node::Reduce { op, .. }, (left, Some(of_left)), (right, Some(of_right))) => {
                // Take the right one only if it beats the left one: among equal elements the first has the lower
                // index, unless the axes outside, along which neither is reduced yet, decide otherwise.
                let is_better = self.beats(*op, of_right, of_left, site);
                let graph = self.graph();
                let index = graph.select(is_better, right, left, site);
                (index, Some(graph.select(is_better, of_right, of_left, site)))
            }
            (Node::Reduce { op, .. }, (left, _), (right, _)) => {
                (self.graph().elementwise(op.combine(), &[left, right], site), None)
            }
            (Node::TopK { topk, .. }, (left, Some(of_left)), (right, Some(of_right))) => {
                let index = self.merged_indices(*topk, [left, right], [of_left, of_right], site);
                (index, Some(self.merged_best(*topk, [of_left, of_right], site)))
            }
            (Node::TopK { topk, .. }, (left, _), (right, _)) => {
                (self.merged_best(*topk, [left, right], site), None)
            }
            _ => return,
        };
        self.output(expr, result, Destination::Merged(partial.slot));
        if let (Some(slot), Some(value)) = (partial.value, value) {
            self.output(expr, value, Destination::Merged(slot));
        }
    }

    /// Returns whether a later value replaces an earlier one: it beats that one, or is the first NaN.
    fn beats(&mut self, op: ReduceOp, later: ExprId, earlier: ExprId, site: Site) -> ExprId {
        let graph = self.graph();
        let better = graph.elementwise(op.beats().unwrap_or(op.combine()), &[later, earlier], site);
        if !graph.dtype(later).is_float() {
            return better;
        }
        let is_nan = graph.elementwise(Op::NotEqual, &[later, later], site);
        let is_first = graph.elementwise(Op::Equal, &[earlier, earlier], site);
        let either = graph.elementwise(Op::LogicalOr, &[better, is_nan], site);
        graph.elementwise(Op::LogicalAnd, &[either, is_first], site)
    }

    /// Returns the best elements of two neighbours.
    fn merged_best(&mut self, topk: TopK, sides: [ExprId; 2], site: Site) -> ExprId {
        let (graph, axis) = (self.graph(), topk.axis as i64);
        let both = graph.concat(&sides, axis, site);
        graph.topk(both, topk.k as i64, axis, topk.largest, site)
    }

    /// Returns the indices of the best elements of two neighbours. The position of each among both is its own
    /// position plus one for each element of the other side that comes before it; elements that a short chunk lacks
    /// come last.
    fn merged_indices(
        &mut self,
        topk: TopK,
        indices: [ExprId; 2],
        [of_left, of_right]: [ExprId; 2],
        site: Site,
    ) -> ExprId {
        // The left side's elements lie along this axis, the right side's along the next one.
        let axis = topk.axis as i64;
        let [later, earlier] = [(of_right, axis), (of_left, axis + 1)]
            .map(|(values, other)| self.graph().expand_dims(values, &[other], site));
        let is_better = self.beats(topk.first(), later, earlier, site);
        let graph = self.graph();
        let none = graph.constant(Scalar::I64(NO_INDEX), site);
        let is_missing = graph.elementwise(Op::Equal, &[indices[0], none], site);
        let is_missing = graph.expand_dims(is_missing, &[axis + 1], site);
        let right_first = graph.elementwise(Op::LogicalOr, &[is_better, is_missing], site);
        let left_first = graph.elementwise(Op::LogicalNot, &[right_first], site);

        let rank = graph.shape(indices[0]).rank() as i64;
        let after: Vec<i64> = (1..rank - axis).collect();
        let own = graph.iota(Dim::constant(topk.k as i64), site);
        let own = graph.expand_dims(own, &after, site);
        let wanted = graph.expand_dims(own, &[1], site);
        let sides = [(indices[0], right_first, axis + 1), (indices[1], left_first, axis)];
        let chosen = sides.map(|(index, other_first, other)| {
            let before = graph.reduce(ReduceOp::Sum, other_first, Some(&[other]), false, site);
            let place = graph.elementwise(Op::Add, &[own, before], site);
            // The axis has the requested elements, the next axis the available ones.
            let [place, index] = [place, index].map(|of| graph.expand_dims(of, &[axis], site));
            let is_here = graph.elementwise(Op::Equal, &[place, wanted], site);
            let chosen = graph.select(is_here, index, none, site);
            graph.reduce(ReduceOp::Min, chosen, Some(&[axis + 1]), false, site)
        });
        graph.elementwise(Op::Minimum, &chosen, site)
    }

    /// Returns the result of all rows from the merged results of the chunks.
    pub(super) fn finished(&mut self, partial: Partial) -> ExprId {
        let (whole, splitter) = (self.whole(), self.splitter());
        let (expr, site) = (partial.expr, whole.site(partial.expr));
        let mut slot = |slot: usize| {
            let (dtype, shape) = splitter.type_of(partial, slot);
            self.slot(slot, dtype, shape, site)
        };
        let found = slot(partial.slot);
        if let Node::Segment { .. } = whole.node(expr) {
            // The others have no rows.
            let used = SliceSpec::Range { start: None, stop: Some(whole.shape(expr)[0].clone()), step: 1 };
            return self.graph().slice(found, &[used], site);
        }
        let Node::Reduce { op, operand, axes, keepdims } = whole.node(expr) else { return found };
        let by_chunk = splitter.reduced_by_chunk(*op, *operand, axes);
        let outer: Vec<i64> =
            axes.iter().filter(|axis| !by_chunk.contains(axis)).map(|axis| *axis as i64).collect();
        let count = |axes: &Axes| {
            let shape = whole.shape(*operand);
            Dim::product(axes.iter().map(|axis| &shape[*axis])).unwrap_or(Dim::ONE)
        };
        let mut result = match partial.value.filter(|_| !outer.is_empty()) {
            Some(value) => {
                let value = slot(value);
                self.outer_index(*op, (found, value), &outer, count(&by_chunk), site)
            }
            None if outer.is_empty() => found,
            None => {
                let single = if *op == ReduceOp::Mean { ReduceOp::Sum } else { *op };
                self.graph().reduce_or_identity(single, found, Some(&outer), false, site)
            }
        };
        let graph = self.graph();
        if *op == ReduceOp::Mean {
            let count = graph.size_value(count(axes), site);
            let count = graph.cast(count, graph.dtype(result), site);
            result = graph.elementwise(Op::Divide, &[result, count], site);
        }
        result = graph.cast(result, whole.dtype(expr), site);
        if *keepdims {
            let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
            result = graph.expand_dims(result, &axes, site);
        }
        result
    }

    /// Returns the index of an extreme over all axes from the indices over the inner axes, which have `inner`
    /// elements each, and the values at those indices.
    fn outer_index(
        &mut self,
        op: ReduceOp,
        (index, value): (ExprId, ExprId),
        outer: &[i64],
        inner: Dim,
        site: Site,
    ) -> ExprId {
        let graph = self.graph();
        let best = graph.reduce_or_identity(op, value, Some(outer), true, site);
        let shape = graph.shape(value).clone();
        let mut here = graph.constant(Scalar::I64(0), site);
        for axis in outer {
            let size = &shape[*axis as usize];
            let count = graph.size_value(size.clone(), site);
            let along = graph.iota(size.clone(), site);
            let after: Vec<i64> = (1..shape.rank() as i64 - axis).collect();
            let along = graph.expand_dims(along, &after, site);
            here = graph.elementwise(Op::Multiply, &[here, count], site);
            here = graph.elementwise(Op::Add, &[here, along], site);
        }
        let is_here = graph.elementwise(Op::Equal, &[here, best], site);
        let zero = graph.constant(Scalar::I64(0), site);
        let chosen = graph.select(is_here, index, zero, site);
        let chosen = graph.reduce(ReduceOp::Sum, chosen, Some(outer), false, site);
        let inner = graph.size_value(inner, site);
        let best = graph.squeeze(best, outer, site);
        let before = graph.elementwise(Op::Multiply, &[best, inner], site);
        graph.elementwise(Op::Add, &[before, chosen], site)
    }
}

/// Returns the extreme whose index a reduction returns.
fn extreme(op: ReduceOp) -> Option<ReduceOp> {
    match op {
        ReduceOp::ArgMin => Some(ReduceOp::Min),
        ReduceOp::ArgMax => Some(ReduceOp::Max),
        _ => None,
    }
}
