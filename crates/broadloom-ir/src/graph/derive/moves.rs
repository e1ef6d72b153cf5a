//! Elements moved along an axis: to computed positions, out of windows, and against the direction of a scan.

use super::super::views::{inverse, signed};
use super::super::{Node, Running, SliceAxis, View};
use super::{Derivation, Rule};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// Windows of at most this many elements reverse to as many shifted sums.
const FEW: i64 = 16;

/// Positions along an axis as positions among all elements, with the axis last.
pub(super) struct Places {
    /// The order of axes that brings the axis to the end, and the one that brings it back.
    order: [Vec<i64>; 2],
    /// `i64`, along one axis.
    ids: ExprId,
    /// The sizes of the other axes, and their product.
    others: Vec<Dim>,
    rows: Dim,
    /// The size of the axis to which the positions belong, and their number in each row.
    size: Dim,
    count: Dim,
}

impl Derivation<'_> {
    /// Returns positions (`i64`) along an axis of this size as positions among all elements.
    pub(super) fn places(&mut self, positions: ExprId, axis: usize, size: &Dim) -> Result<Places, Problem> {
        let shape = self.graph.written(positions).clone();
        let there: Vec<usize> = (0..shape.rank()).filter(|of| *of != axis).chain([axis]).collect();
        let others: Vec<Dim> = there[..shape.rank() - 1].iter().map(|&of| shape[of].clone()).collect();
        let (there, back) = (signed(&there), inverse(&there));
        let rows = Dim::product(&others).map_err(Problem::Size)?;
        let count = shape[axis].clone();
        let moved = self.graph.try_permute(positions, &there, self.site)?;
        let mut ids = self.graph.try_reshape(moved, &[Some(rows.clone()), Some(count.clone())], self.site)?;
        if !rows.is_one() {
            let row = self.graph.try_iota(rows.clone(), self.site)?;
            let step = self.graph.try_size(size.clone(), self.site)?;
            let first = self.op(Op::Multiply, &[row, step])?;
            let first = self.graph.try_expand_dims(first, &[1], self.site)?;
            ids = self.op(Op::Add, &[first, ids])?;
        }
        let ids = self.graph.try_reshape(ids, &[None], self.site)?;
        Ok(Places { order: [there, back], ids, others, rows, size: size.clone(), count })
    }

    /// Returns the elements at positions along the axis.
    pub(super) fn gathered(&mut self, places: &Places, operand: ExprId) -> Result<ExprId, Problem> {
        let flat = self.folded(places, operand)?;
        let taken = self.graph.try_take(flat, places.ids, 0, self.site)?;
        self.unfolded(places, taken, &places.count)
    }

    /// Returns zeros with elements at positions that are distinct along the axis.
    pub(super) fn scattered(&mut self, places: &Places, values: ExprId) -> Result<ExprId, Problem> {
        let values = self.folded(places, values)?;
        let total = places.rows.mul(&places.size).map_err(Problem::Size)?;
        let (dtype, shape) = (self.graph.dtype(values), Shape::from_iter([total]));
        let base = self.zeros(shape.clone(), dtype)?;
        let node = Node::Scatter { op: None, base, indices: places.ids, values };
        let flat = self.graph.insert(node, dtype, shape, Vec::new(), self.site)?;
        self.unfolded(places, flat, &places.size)
    }

    /// Returns the sums of the elements at each position along the axis.
    pub(super) fn summed(&mut self, places: &Places, values: ExprId) -> Result<ExprId, Problem> {
        let dtype = self.graph.dtype(values);
        let values = self.folded(places, values)?;
        let total = places.rows.mul(&places.size).map_err(Problem::Size)?;
        let sums = self.graph.segment_total(ReduceOp::Sum, values, places.ids, total, self.site)?;
        let sums = self.graph.convert(sums, dtype, self.site)?;
        self.unfolded(places, sums, &places.size)
    }

    /// Returns all elements along one axis.
    fn folded(&mut self, places: &Places, operand: ExprId) -> Result<ExprId, Problem> {
        let moved = self.graph.try_permute(operand, &places.order[0], self.site)?;
        self.graph.try_reshape(moved, &[None], self.site)
    }

    fn unfolded(&mut self, places: &Places, flat: ExprId, last: &Dim) -> Result<ExprId, Problem> {
        let sizes: Vec<Option<Dim>> = places.others.iter().chain([last]).cloned().map(Some).collect();
        let unfolded = self.graph.try_reshape(flat, &sizes, self.site)?;
        self.graph.try_permute(unfolded, &places.order[1], self.site)
    }

    /// Returns zeros with the elements along an axis that a mask has selected where they were.
    pub(super) fn put_back(
        &mut self,
        selected: ExprId,
        mask: ExprId,
        axis: usize,
        shape: &Shape,
    ) -> Result<ExprId, Problem> {
        let order: Vec<usize> =
            std::iter::once(axis).chain((0..shape.rank()).filter(|of| *of != axis)).collect();
        let indices = self.graph.try_flatnonzero(mask, self.site)?;
        let values = self.graph.try_permute(selected, &signed(&order), self.site)?;
        let (dtype, rows) = (self.graph.dtype(values), order.iter().map(|of| shape[*of].clone()).collect());
        let base = self.zeros(Shape::clone(&rows), dtype)?;
        let node = Node::Scatter { op: None, base, indices, values };
        let whole = self.graph.insert(node, dtype, rows, Vec::new(), self.site)?;
        self.graph.try_permute(whole, &inverse(&order), self.site)
    }

    /// Returns zeros with a region replaced. The conditions of the region are those of the view that it reverses.
    pub(super) fn in_zeros(
        &mut self,
        value: ExprId,
        region: Box<[SliceAxis]>,
        shape: Shape,
    ) -> Result<ExprId, Problem> {
        let dtype = self.graph.dtype(value);
        let base = self.zeros(shape.clone(), dtype)?;
        self.graph.insert(Node::Set { base, value, region }, dtype, shape, Vec::new(), self.site)
    }

    /// Returns a value with zeros before and after it along an axis.
    fn surrounded(
        &mut self,
        value: ExprId,
        axis: usize,
        before: &Dim,
        size: &Dim,
    ) -> Result<ExprId, Problem> {
        let mut shape = self.graph.written(value).to_vec();
        let whole = SliceAxis { start: Dim::ZERO, step: 1 };
        let mut region = vec![whole; shape.len()];
        region[axis].start = before.clone();
        region[axis] = region[axis].clone().of_size(&shape[axis]);
        shape[axis] = size.clone();
        self.in_zeros(value, region.into(), shape.into())
    }

    /// Sums what windows along an axis send to each element. `sent` has the axes of the windows, whose elements lie along the
    /// last one.
    pub(super) fn out_of_windows(
        &mut self,
        sent: ExprId,
        axis: usize,
        size: &Dim,
        width: &Dim,
    ) -> Result<ExprId, Problem> {
        let last = self.graph.written(sent).rank() as i64 - 1;
        let margin = width.sub(&Dim::ONE).map_err(Problem::Size)?;
        let padded = size.add(&margin).map_err(Problem::Size)?;
        let is_same = self.graph.written(sent)[last as usize].is_one();
        if is_same && !width.is_one() {
            // The same for all elements of a window: the sum over the windows that contain an element.
            let sent = self.graph.try_squeeze(sent, &[last], self.site)?;
            let padded = self.surrounded(sent, axis, &margin, &padded)?;
            let windows = self.windows(padded, axis, size, width)?;
            let total = self.reduce(ReduceOp::Sum, windows, &[last as usize])?;
            return self.graph.try_squeeze(total, &[last], self.site);
        }
        if let Some(count) = width.as_constant().filter(|count| *count <= FEW) {
            let mut total = None;
            for number in 0..count {
                let at = Dim::constant(number);
                let stop = Dim::constant(number + 1);
                let one = self.graph.part(sent, last as usize, Some(at.clone()), Some(stop), 1, self.site)?;
                let one = self.graph.try_squeeze(one, &[last], self.site)?;
                let moved = self.surrounded(one, axis, &at, size)?;
                total = Some(match total {
                    None => moved,
                    Some(before) => self.op(Op::Add, &[before, moved])?,
                });
            }
            return match total {
                Some(total) => Ok(total),
                None => {
                    let shape = self.graph.written(sent);
                    let sizes = shape[..last as usize].iter().enumerate();
                    let shape = sizes.map(|(of, own)| if of == axis { size } else { own }).cloned().collect();
                    let dtype = self.graph.dtype(sent);
                    self.zeros(shape, dtype)
                }
            };
        }
        // Element `p` gets element `j` of window `p - j`: in windows over the padded windows, those on the diagonal.
        let padded = self.surrounded(sent, axis, &margin, &padded)?;
        let windows = self.windows(padded, axis, size, width)?;
        let number = self.graph.try_iota(width.clone(), self.site)?;
        let after = self.graph.try_expand_dims(number, &[1], self.site)?;
        let place = self.op(Op::Add, &[after, number])?;
        let end = self.graph.try_size(margin, self.site)?;
        let is_own = self.op(Op::Equal, &[place, end])?;
        let own = self.only(is_own, windows)?;
        let total = self.reduce(ReduceOp::Sum, own, &[last as usize, last as usize + 1])?;
        self.graph.try_squeeze(total, &[last, last + 1], self.site)
    }

    fn windows(
        &mut self,
        operand: ExprId,
        axis: usize,
        places: &Dim,
        width: &Dim,
    ) -> Result<ExprId, Problem> {
        let shape = self.graph.written(operand);
        let sizes = shape.iter().enumerate().map(|(of, own)| if of == axis { places } else { own });
        let shape: Shape = sizes.chain([width]).cloned().collect();
        self.graph.insert_view(View::Windows(axis), operand, shape, Vec::new(), self.site)
    }

    /// Returns running sums from the end of an axis.
    pub(super) fn running_from_end(&mut self, operand: ExprId, axis: usize) -> Result<ExprId, Problem> {
        let axes = [axis as i64];
        let turned = self.graph.try_flip(operand, Some(&axes), self.site)?;
        let sums = self.running(ReduceOp::Sum, turned, axis)?;
        self.graph.try_flip(sums, Some(&axes), self.site)
    }

    /// Returns the product of the other elements along axes, for each element: of those before it and those after it.
    pub(super) fn product_of_others(&mut self, x: ExprId, axes: &[usize]) -> Result<ExprId, Problem> {
        let shape = self.graph.written(x).clone();
        let others = (0..shape.rank()).filter(|axis| !axes.contains(axis));
        let order: Vec<usize> = others.chain(axes.iter().copied()).collect();
        let sizes: Vec<Option<Dim>> = order.iter().map(|axis| Some(shape[*axis].clone())).collect();
        let length = Dim::product(axes.iter().map(|axis| &shape[*axis])).map_err(Problem::Size)?;
        let last = order.len() - axes.len();
        let merged: Vec<Option<Dim>> = sizes[..last].iter().cloned().chain([Some(length.clone())]).collect();
        let moved = self.graph.try_permute(x, &signed(&order), self.site)?;
        let rows = self.graph.try_reshape(moved, &merged, self.site)?;
        let before = self.products_before(rows, last, &length)?;
        let turned = self.graph.try_flip(rows, Some(&[last as i64]), self.site)?;
        let after = self.products_before(turned, last, &length)?;
        let after = self.graph.try_flip(after, Some(&[last as i64]), self.site)?;
        let products = self.op(Op::Multiply, &[before, after])?;
        let products = self.graph.try_reshape(products, &sizes, self.site)?;
        self.graph.try_permute(products, &inverse(&order), self.site)
    }

    /// Returns the product of the elements before each one along an axis of this size.
    fn products_before(&mut self, x: ExprId, axis: usize, size: &Dim) -> Result<ExprId, Problem> {
        let running = Running { include_initial: true, ..Running::of(ReduceOp::Prod) };
        let products = self.graph.try_running(running, x, Some(axis as i64), self.site)?;
        self.graph.part(products, axis, None, Some(size.clone()), 1, self.site)
    }

    pub(super) fn running(&mut self, op: ReduceOp, operand: ExprId, axis: usize) -> Result<ExprId, Problem> {
        self.graph.try_scan(op, operand, axis, None, self.site)
    }

    /// Returns, for running products, which elements are the first zeros of their rows, and the products without these.
    pub(super) fn without_first_zero(&mut self, x: ExprId, axis: usize) -> Result<[ExprId; 3], Problem> {
        let dtype = self.graph.dtype(x);
        let zero = self.number(0.0, dtype)?;
        let is_zero = self.op(Op::Equal, &[x, zero])?;
        let number = self.graph.convert(is_zero, DType::I64, self.site)?;
        let zeros = self.running(ReduceOp::Sum, number, axis)?;
        let one = self.graph.insert_constant(Scalar::I64(1), self.site)?;
        let is_one = self.op(Op::Equal, &[zeros, one])?;
        let is_first = self.op(Op::LogicalAnd, &[is_zero, is_one])?;
        let one = self.number(1.0, dtype)?;
        let others = self.graph.try_select([is_first, one, x], self.site)?;
        let products = self.running(ReduceOp::Prod, others, axis)?;
        let none = self.graph.insert_constant(Scalar::I64(0), self.site)?;
        let is_before = self.op(Op::Equal, &[zeros, none])?;
        Ok([is_first, products, is_before])
    }

    /// Returns the change of running products, step by step: a polynomial, which derives again where elements are 0, unlike the
    /// quotients that give its value.
    pub(super) fn change_of_products(
        &mut self,
        x: ExprId,
        tangent: ExprId,
        axis: usize,
    ) -> Result<ExprId, Problem> {
        let size = self.graph.written(x)[axis].clone();
        let before = self.products_before(x, axis, &size)?;
        let new = self.op(Op::Multiply, &[before, tangent])?;
        let zero = self.zero_row(x, axis)?;
        let site = self.site;
        self.graph.try_steps("jvp", &[x, new], axis, &[zero], site, |graph, carried, rows| {
            let old = graph.try_elementwise(Op::Multiply, &[carried[0], rows[0]], site)?;
            let next = graph.try_elementwise(Op::Add, &[old, rows[1]], site)?;
            Ok((vec![next], next))
        })
    }

    /// Returns what the cotangents of running products send to each element, step by step from the end, for the same reason.
    pub(super) fn sent_by_products(
        &mut self,
        x: ExprId,
        value: ExprId,
        axis: usize,
    ) -> Result<ExprId, Problem> {
        let size = self.graph.written(x)[axis].clone();
        let before = self.products_before(x, axis, &size)?;
        let along = [axis as i64];
        let turned = self.graph.try_flip(x, Some(&along), self.site)?;
        let weights = self.graph.try_flip(value, Some(&along), self.site)?;
        let zero = self.zero_row(x, axis)?;
        let site = self.site;
        let sums = self.graph.try_steps(
            "grad",
            &[turned, weights],
            axis,
            &[zero],
            site,
            |graph, carried, rows| {
                let sum = graph.try_elementwise(Op::Add, &[rows[1], carried[0]], site)?;
                let next = graph.try_elementwise(Op::Multiply, &[sum, rows[0]], site)?;
                Ok((vec![next], sum))
            },
        )?;
        let sums = self.graph.try_flip(sums, Some(&along), self.site)?;
        self.op(Op::Multiply, &[before, sums])
    }

    /// Returns zeros for one place along an axis.
    fn zero_row(&mut self, x: ExprId, axis: usize) -> Result<ExprId, Problem> {
        let mut shape = self.graph.written(x).to_vec();
        shape.remove(axis);
        self.zeros(shape.into(), self.graph.dtype(x))
    }

    /// Returns the positions along an axis at which running extremes were first reached.
    pub(super) fn reached(&mut self, extremes: ExprId, axis: usize) -> Result<ExprId, Problem> {
        let shape = self.graph.written(extremes).clone();
        let number = self.graph.try_iota(shape[axis].clone(), self.site)?;
        let after: Vec<i64> = (1..(shape.rank() - axis) as i64).collect();
        let number = self.graph.try_expand_dims(number, &after, self.site)?;
        let number = self.graph.try_broadcast_to(number, shape.clone(), self.site)?;
        // Each element beside the one before it; the first one is its own.
        let one = self.graph.insert_constant(Scalar::I64(1), self.site)?;
        let zero = self.graph.insert_constant(Scalar::I64(0), self.site)?;
        let before = self.op(Op::Subtract, &[number, one])?;
        let before = self.op(Op::Maximum, &[before, zero])?;
        let places = self.places(before, axis, &shape[axis])?;
        let previous = self.gathered(&places, extremes)?;
        let is_same = self.op(Op::Equal, &[extremes, previous])?;
        // Once NaN, an extreme stays NaN.
        let is_nan = self.op(Op::NotEqual, &[previous, previous])?;
        let is_same = self.op(Op::LogicalOr, &[is_same, is_nan])?;
        let reached = self.graph.try_select([is_same, zero, number], self.site)?;
        self.running(ReduceOp::Max, reached, axis)
    }

    pub(super) fn reverse_scan(
        &mut self,
        op: ReduceOp,
        [operand, result]: [ExprId; 2],
        axis: usize,
        value: ExprId,
    ) -> Result<ExprId, Problem> {
        match op {
            ReduceOp::Sum => self.running_from_end(value, axis),
            ReduceOp::Prod => {
                let x = self.computed(operand)?;
                let r = self.computed(result)?;
                let steps = self.sent_by_products(x, value, axis)?;
                let weighted = self.op(Op::Multiply, &[value, r])?;
                let later = self.running_from_end(weighted, axis)?;
                let quotient = self.op(Op::Divide, &[later, x])?;
                let [is_first, products, is_before] = self.without_first_zero(x, axis)?;
                let weighted = self.op(Op::Multiply, &[value, products])?;
                let beside_zero = self.running_from_end(weighted, axis)?;
                let others = self.only(is_before, quotient)?;
                let sent = self.graph.try_select([is_first, beside_zero, others], self.site)?;
                self.graph.derives_by(sent, Rule::As(steps));
                Ok(sent)
            }
            ReduceOp::Min | ReduceOp::Max => {
                let reached = self.reached(result, axis)?;
                let size = self.graph.written(result)[axis].clone();
                let places = self.places(reached, axis, &size)?;
                self.summed(&places, value)
            }
            _ => Err(Problem::NoDerivative),
        }
    }

    /// Returns which values of a scatter along the leading axis are the last ones at their positions.
    pub(super) fn last_of_equal(&mut self, indices: ExprId, shape: &Shape) -> Result<ExprId, Problem> {
        let given = self.graph.written(indices).clone();
        let count = Dim::product(&given).map_err(Problem::Size)?;
        let number = self.graph.try_iota(count, self.site)?;
        let sizes: Vec<Option<Dim>> = given.iter().cloned().map(Some).collect();
        let number = self.graph.try_reshape(number, &sizes, self.site)?;
        let rows = Shape::from_iter([shape[0].clone()]);
        let base = self.zeros(rows.clone(), DType::I64)?;
        let node = Node::Scatter { op: None, base, indices, values: number };
        let last = self.graph.insert(node, DType::I64, rows, Vec::new(), self.site)?;
        let last = self.graph.try_take(last, indices, 0, self.site)?;
        let is_last = self.op(Op::Equal, &[last, number])?;
        let first = given.rank() as i64;
        let axes: Vec<i64> = (first..first + shape.rank() as i64 - 1).collect();
        self.graph.try_expand_dims(is_last, &axes, self.site)
    }
}
