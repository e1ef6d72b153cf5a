//! Reductions, one axis at a time: which become short chains of ops, and which are cut into groups.

use super::views::merged_axes;
use super::{Flat, FlatId, FlatNode, Kind, Reduced, Reduction};
use crate::LowerError;
use crate::kernel::{Group, HostSymbol};
use crate::thresholds::{
    FEW_TERMS, MAX_GROUPED_RESULT, MAX_UNROLLED_COMPARED, MAX_UNROLLED_COMPARED_TABLE,
    MAX_UNROLLED_FEW_COMPARED, MAX_UNROLLED_NODES, MAX_UNROLLED_PAIRS, MAX_UNROLLED_REDUCTION,
    MAX_UNROLLED_ROOTS, MAX_UNROLLED_TABLE, MAX_UNROLLED_TRAILING, MIN_CONTRACTED_AXIS, MIN_GROUPED_AXIS,
};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp};
use broadloom_ir::shape::Shape;
use smallvec::smallvec;
use std::ops::Range;

/// Returns whether a result has too few elements for threads to share, whatever the sizes: then they always share
/// the reduced axis.
pub fn is_few(shape: &Shape) -> bool {
    let count = shape.iter().try_fold(1i64, |count, dim| count.checked_mul(dim.as_constant()?));
    count.is_some_and(|count| count <= MAX_GROUPED_RESULT)
}

/// Returns the most sums of so many terms over pairs, at most [`MAX_UNROLLED_REDUCTION`], that an extreme of them, or the least
/// of their square roots, finds with the sums unrolled, instead of by a contraction. Without a number of terms, it is that of
/// the fewest.
pub fn most_unrolled(terms: Option<i64>, by_root: bool) -> i64 {
    match terms {
        _ if by_root => MAX_UNROLLED_ROOTS,
        Some(terms) if terms > FEW_TERMS => MAX_UNROLLED_COMPARED,
        _ => MAX_UNROLLED_FEW_COMPARED,
    }
}

/// Returns whether a reduction is over a whole axis, and not over a group of its elements or over the results of groups.
fn is_uncut(reduction: &Reduction) -> bool {
    reduction.group.is_none() && !reduction.combines
}

impl Flat {
    /// Returns whether a reduction becomes a short chain of ops instead of a loop.
    pub fn unrolls(&self, reduction: &Reduction) -> bool {
        // A table of sums over pairs is a contraction if it is long enough.
        let is_of_pairs = self.sums_pairs(reduction) && !self.is_long_table(reduction);
        self.is_short(reduction, if is_of_pairs { MAX_UNROLLED_PAIRS } else { MAX_UNROLLED_REDUCTION })
            || self.is_over_few_sums(reduction)
            || self.is_over_few_pairs(reduction)
    }

    /// Returns whether a reduction is over a few long sums over pairs, for which a contraction does not pay off: the
    /// distances from an observation to each of four codes. Unrolled, they are sums of one loop, which reads the
    /// observation once, and do not wait for each other.
    fn is_over_few_sums(&self, reduction: &Reduction) -> bool {
        // A contraction adds sums itself.
        !self.adds_sums_over_pairs(reduction)
            && self.is_brief(reduction, MAX_UNROLLED_TRAILING)
            && self.is_of_long_sums(reduction.operand)
    }

    /// Returns whether a reduction adds nothing but sums over pairs.
    fn adds_sums_over_pairs(&self, reduction: &Reduction) -> bool {
        let is_of_pairs = |sum: &Reduction| self.sums_pairs(sum) && self.is_long_table(sum);
        reduction.op == ReduceOp::Sum
            && matches!(&self.node(reduction.operand).kind, Kind::Reduce(sum) if is_of_pairs(sum))
    }

    /// Returns whether a node is computed from sums over pairs that are loops, and from no other reduction. It calls itself
    /// as often as the node has other nodes below it: at most [`MAX_UNROLLED_NODES`].
    fn is_of_long_sums(&self, id: FlatId) -> bool {
        match &self.node(id).kind {
            Kind::Op { args, .. } => {
                let mut nested = args.iter().filter(|arg| self.node(**arg).nested > 0).peekable();
                nested.peek().is_some() && nested.all(|arg| self.is_of_long_sums(*arg))
            }
            Kind::Reduce(sum) => self.sums_pairs(sum) && !self.is_short(sum, MAX_UNROLLED_PAIRS),
            _ => false,
        }
    }

    /// Returns whether a reduction becomes a loop if that is a contraction, and is unrolled otherwise. A reduction
    /// of few elements becomes a loop only if its results are reduced further, for which contractions pay off however few
    /// elements they reduce: over other axes, by a sum over the table, or by an extreme of many elements of it.
    pub fn is_short_table(&self, id: FlatId) -> bool {
        let FlatNode { kind: Kind::Reduce(reduction), origin, .. } = self.node(id) else { return false };
        // A short reduction is of few nodes.
        self.is_short(reduction, MAX_UNROLLED_PAIRS)
            && if self.combined.contains_key(&id) {
                self.is_of_long_pairs(reduction)
            } else {
                self.is_long_table(reduction)
                    && (self.is_read_often(*origin, self.terms(reduction)) || !self.unrolls(reduction))
            }
    }

    /// Returns whether a reduction combines the results of one that becomes a loop if that is a contraction, and becomes a loop
    /// too in that case.
    pub fn is_over_short_table(&self, reduction: &Reduction) -> bool {
        !self.are_few(reduction.operand) && self.is_over_pairs(reduction)
    }

    /// Returns whether a reduction combines the results of unrolled ones over pairs, and is of so few elements that it is
    /// unrolled too.
    fn is_over_few_pairs(&self, reduction: &Reduction) -> bool {
        is_uncut(reduction)
            && self.node(reduction.operand).nested == 0
            && self.are_few(reduction.operand)
            && self.is_over_pairs(reduction)
    }

    /// Returns whether a reduction combines the results of a short one over pairs.
    fn is_over_pairs(&self, reduction: &Reduction) -> bool {
        let Kind::Reduce(inner) = &self.node(reduction.operand).kind else { return false };
        self.combined.contains_key(&reduction.operand)
            && (self.is_short_table(reduction.operand) || self.is_over_pairs(inner))
    }

    /// Returns whether the reductions that are combined over several axes are of few floats, which are all unrolled without
    /// a contraction.
    fn are_few(&self, combined: FlatId) -> bool {
        let FlatNode { dtype, origin, .. } = self.node(combined);
        self.combined.get(&combined).copied().flatten().is_some_and(|elements| {
            let most = match self.reduced.get(origin) {
                Some(Reduced::Added) => 0,
                Some(_) if self.is_read_often(*origin, Some(elements)) => MAX_UNROLLED_COMPARED_TABLE,
                _ => MAX_UNROLLED_TABLE,
            };
            elements <= most && dtype.is_float()
        })
    }

    /// Returns whether a sum over pairs, of so many terms, is added to others, or compared with so many others that a contraction
    /// pays off.
    fn is_read_often(&self, expr: ExprId, terms: Option<i64>) -> bool {
        match self.reduced.get(&expr) {
            Some(Reduced::Added) => true,
            Some(Reduced::Compared(count) | Reduced::Least(count)) => *count > most_unrolled(terms, false),
            Some(Reduced::LeastRoot(count)) => *count > most_unrolled(terms, true),
            None => false,
        }
    }

    /// Returns the number of terms of a reduction, if it is constant.
    pub fn terms(&self, reduction: &Reduction) -> Option<i64> {
        self.node(reduction.operand).shape[reduction.axis].as_constant()
    }

    /// Returns whether a reduction has at most this many elements and computes little for each, without other
    /// reductions.
    fn is_short(&self, reduction: &Reduction, longest: i64) -> bool {
        self.is_brief(reduction, longest) && self.node(reduction.operand).nested == 0
    }

    /// Returns whether a reduction has at most this many elements and computes little for each.
    fn is_brief(&self, reduction: &Reduction, longest: i64) -> bool {
        is_uncut(reduction)
            && self.terms(reduction).is_some_and(|terms| terms <= longest)
            && self.node(reduction.operand).weight <= MAX_UNROLLED_NODES
    }

    /// Returns whether each tensor of a sum over pairs stretches along a long axis of the other.
    fn is_long_table(&self, reduction: &Reduction) -> bool {
        self.stretches_of_pairs(reduction).is_some_and(|sides| self.are_long(&sides))
    }

    /// Returns whether each of two tensors stretches along a long axis.
    fn are_long(&self, sides: &[Vec<Dim>; 2]) -> bool {
        let is_long =
            |size: &Dim| size.as_constant().map_or(self.long_rows, |size| size >= MIN_CONTRACTED_AXIS);
        sides.iter().all(|sizes| sizes.iter().any(is_long))
    }

    /// Returns whether a reduction sums products or differences of two tensors, each of which stretches along an
    /// axis of the other.
    fn sums_pairs(&self, reduction: &Reduction) -> bool {
        self.stretches_of_pairs(reduction).is_some_and(|sides| sides.iter().all(|sizes| !sizes.is_empty()))
    }

    /// Returns the sizes along which each of the two tensors stretches whose products or differences a reduction sums.
    fn stretches_of_pairs(&self, reduction: &Reduction) -> Option<[Vec<Dim>; 2]> {
        let pair = match (reduction.op, reduction.factors) {
            (ReduceOp::Sum, Some([x, y])) if x != y => [x, y],
            (ReduceOp::Sum, Some([x, _])) => self.difference(x)?,
            (ReduceOp::Sum, None) => match &self.node(reduction.operand).kind {
                Kind::Op { op: Op::Abs, args } => self.difference(args[0])?,
                _ => return None,
            },
            _ => return None,
        };
        Some(self.stretches(reduction, pair))
    }

    /// Returns whether a reduction is of a function of tensors of which two stretch along a long axis of each other.
    fn is_of_long_pairs(&self, reduction: &Reduction) -> bool {
        let (mut found, mut tensors) = (vec![reduction.operand], Vec::new());
        while let Some(id) = found.pop() {
            match &self.node(id).kind {
                Kind::Op { args, .. } => found.extend(args),
                Kind::Select(args) => found.extend(args),
                Kind::Cast(operand) => found.push(*operand),
                _ => tensors.push(id),
            }
        }
        let are_pairs =
            |x: &FlatId| tensors.iter().any(|y| self.are_long(&self.stretches(reduction, [*x, *y])));
        tensors.iter().any(are_pairs)
    }

    /// Returns the sizes along which each of two tensors stretches in the operand of a reduction.
    fn stretches(&self, reduction: &Reduction, [x, y]: [FlatId; 2]) -> [Vec<Dim>; 2] {
        let shape = &self.node(reduction.operand).shape;
        let is_present = |id: FlatId, axis: usize| {
            let own = &self.node(id).shape;
            (axis + own.rank()).checked_sub(shape.rank()).is_some_and(|axis| !own[axis].is_one())
        };
        let stretches = |this: FlatId, other: FlatId| {
            let axes = (0..shape.rank()).filter(|&axis| is_present(other, axis) && !is_present(this, axis));
            axes.map(|axis| shape[axis].clone()).collect()
        };
        [stretches(x, y), stretches(y, x)]
    }

    /// Returns the operands of a difference.
    fn difference(&self, id: FlatId) -> Option<[FlatId; 2]> {
        match &self.node(id).kind {
            Kind::Op { op: Op::Subtract, args } => Some([args[0], args[1]]),
            _ => None,
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one graph node")]
    pub(super) fn reduce(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axes: &[usize],
        keepdims: bool,
        factors: Option<[FlatId; 2]>,
        origin: ExprId,
        shape: Shape,
    ) -> Result<FlatId, LowerError> {
        let dtype = self.node(operand).dtype;
        // The extremes of 16-bit floats are those of the same values as f32.
        let accumulator = op.accumulator(dtype).arithmetic();
        let operand = self.cast(operand, accumulator);
        let full = self.node(operand).shape.clone();
        let mut result = operand;
        if op.is_arg() {
            result = self.reduce_arg(op, operand, axes, origin)?;
        } else {
            let mut factors = factors;
            let elements =
                axes.iter().try_fold(1i64, |count, &axis| count.checked_mul(full[axis].as_constant()?));
            // An extreme of few elements is unrolled whole: unlike a sum, it has no order to keep.
            let is_unrolled = matches!(op, ReduceOp::Min | ReduceOp::Max)
                && elements.is_some_and(|elements| elements <= MAX_UNROLLED_REDUCTION);
            for &axis in axes.iter().rev() {
                let single = if op == ReduceOp::Mean { ReduceOp::Sum } else { op };
                result = self.reduce_axis(single, result, axis, factors.take(), origin)?;
                if axis != axes[0] && !is_unrolled {
                    self.combined.insert(result, elements);
                }
            }
        }
        if op == ReduceOp::Mean {
            let size = Dim::product(axes.iter().map(|&axis| &full[axis]))?;
            let size = self.push(Kind::Size(size), DType::I64, Shape::default(), origin);
            let size = self.cast(size, accumulator);
            let sum_shape = self.node(result).shape.clone();
            result = self.push(
                Kind::Op { op: Op::Divide, args: smallvec![result, size] },
                accumulator,
                sum_shape,
                origin,
            );
        }
        result = self.cast(result, op.result_dtype(dtype));
        if keepdims {
            let axes = (0..full.rank()).filter(|axis| !axes.contains(axis)).map(Some).collect();
            let dtype = self.node(result).dtype;
            result = self.push(Kind::Reindex { operand: result, axes }, dtype, shape, origin);
        }
        Ok(result)
    }

    /// Returns the operand with the given axes moved to the end and merged into one, and the number of that axis.
    fn flatten_last(
        &mut self,
        operand: FlatId,
        axes: &[usize],
        origin: ExprId,
    ) -> Result<(FlatId, usize), LowerError> {
        let node = self.node(operand).clone();
        let kept: Vec<usize> = (0..node.shape.rank()).filter(|axis| !axes.contains(axis)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let mut places = smallvec![None; order.len()];
        for (to, &from) in order.iter().enumerate() {
            places[from] = Some(to);
        }
        let moved = if order.is_sorted() {
            operand
        } else {
            let shape: Shape = order.iter().map(|&axis| node.shape[axis].clone()).collect();
            self.push(Kind::Reindex { operand, axes: places }, node.dtype, shape, origin)
        };
        let last = Dim::product(axes.iter().map(|&axis| &node.shape[axis]))?;
        let shape: Shape = kept.iter().map(|&axis| node.shape[axis].clone()).chain([last]).collect();
        Ok((self.reshape(moved, shape, origin)?, kept.len()))
    }

    /// Adds an arg-reduction: over one axis if a view of the arrays merges the axes, otherwise over one axis after
    /// the other, with extremes and indices together, so that nothing is stored.
    fn reduce_arg(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axes: &[usize],
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let rank = self.node(operand).shape.rank();
        let trailing = axes.iter().copied().eq(rank - axes.len()..rank);
        if axes.is_empty() || axes.len() > 1 && trailing && self.is_view_of_arrays(operand) {
            let (flattened, axis) = self.flatten_last(operand, axes, origin)?;
            return Ok(self.arg_along(op, flattened, axis, None, false, origin).1);
        }
        let (mut operand, mut axes) = (operand, axes.to_vec());
        for place in (0..axes.len()).rev() {
            if let Some((split, parts)) = self.split_axis(operand, axes[place], origin)? {
                let more = parts.len() - 1;
                axes[place + 1..].iter_mut().for_each(|axis| *axis += more);
                axes.splice(place..=place, parts);
                operand = split;
            }
        }
        let shape = self.node(operand).shape.clone();
        let (mut values, mut inner) = (operand, Dim::ONE);
        let mut found = None;
        for &axis in axes.iter().rev() {
            let index = found.map(|index| self.index_around(index, axis, &inner, origin));
            inner = inner.mul(&shape[axis])?;
            let (extremes, index) = self.arg_along(op, values, axis, index, axis != axes[0], origin);
            values = extremes.unwrap_or(values);
            found = Some(index);
        }
        Ok(found.unwrap_or(operand))
    }

    /// Returns row-major indices over an axis and those inside it, which have `inner` elements and are at `index`
    /// among them.
    fn index_around(&mut self, index: FlatId, axis: usize, inner: &Dim, origin: ExprId) -> FlatId {
        let shape = self.node(index).shape.clone();
        let iota = self.push(Kind::Iota, DType::I64, Shape::from(vec![shape[axis].clone()]), origin);
        let places = Kind::Reindex { operand: iota, axes: smallvec![Some(axis)] };
        let places = self.push(places, DType::I64, shape.clone(), origin);
        let inner = self.push(Kind::Size(inner.clone()), DType::I64, Shape::default(), origin);
        let before = Kind::Op { op: Op::Multiply, args: smallvec![places, inner] };
        let before = self.push(before, DType::I64, shape.clone(), origin);
        self.push(Kind::Op { op: Op::Add, args: smallvec![before, index] }, DType::I64, shape, origin)
    }

    /// Adds an arg-reduction along one axis. Returns the extremes, if requested, and the values of `index` that
    /// belong to them, or otherwise their positions.
    fn arg_along(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axis: usize,
        index: Option<FlatId>,
        with_values: bool,
        origin: ExprId,
    ) -> (Option<FlatId>, FlatId) {
        let dtype = self.node(operand).dtype;
        let shape = self.without(operand, axis);
        let extreme = if op == ReduceOp::ArgMin { ReduceOp::Min } else { ReduceOp::Max };
        let factors = None;
        let mut found = Reduction { op, operand, axis, factors, index, group: None, combines: false };
        let mut values = Reduction { op: extreme, index: None, ..found.clone() };
        if let Some((group, partial_shape)) = self.grouped(operand, axis, &shape) {
            (found.group, values.group) = (Some(group), Some(group));
            let partial = self.push(Kind::Reduce(values), dtype, partial_shape.clone(), origin);
            let index = self.push(Kind::Reduce(found), DType::I64, partial_shape, origin);
            self.store(index);
            self.store(partial);
            values = Reduction {
                op: extreme,
                operand: partial,
                axis: 0,
                factors: None,
                index: None,
                group: None,
                combines: true,
            };
            found = Reduction { op, index: Some(index), ..values.clone() };
        }
        let values = with_values.then(|| self.push(Kind::Reduce(values), dtype, shape.clone(), origin));
        (values, self.push(Kind::Reduce(found), DType::I64, shape, origin))
    }

    /// Returns the shape of a reduction.
    fn without(&self, operand: FlatId, axis: usize) -> Shape {
        let shape = &self.node(operand).shape;
        shape.iter().enumerate().filter(|(of, _)| *of != axis).map(|(_, dim)| dim.clone()).collect()
    }

    /// Returns the groups into which the axis of a reduction to `shape` is cut, if it is, and the shape of the
    /// partial results.
    fn grouped(&mut self, operand: FlatId, axis: usize, shape: &Shape) -> Option<(usize, Shape)> {
        let extent = self.node(operand).shape[axis].clone();
        let short = extent.as_constant().is_some_and(|extent| extent < MIN_GROUPED_AXIS)
            // There are few tables.
            || matches!(self.without_casts(operand).kind, Kind::Segment { .. });
        if short || !self.is_few(shape) {
            return None;
        }
        let group = self.group(extent);
        let count = Dim::symbol(self.groups[group].count);
        Some((group, std::iter::once(count).chain(shape.iter().cloned()).collect()))
    }

    fn reduce_axis(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axis: usize,
        factors: Option<[FlatId; 2]>,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let accumulator = self.node(operand).dtype;
        if op.is_order_free(accumulator)
            && let Some((split, parts)) = self.split_axis(operand, axis, origin)?
        {
            return parts
                .rev()
                .try_fold(split, |operand, axis| self.reduce_axis(op, operand, axis, None, origin));
        }
        let dtype = op.result_dtype(accumulator);
        let shape = self.without(operand, axis);
        let mut whole = Reduction { op, operand, axis, factors, index: None, group: None, combines: false };
        if let Some((group, partial_shape)) = self.grouped(operand, axis, &shape) {
            let partial = Reduction { group: Some(group), ..whole.clone() };
            let partial = self.push(Kind::Reduce(partial), dtype, partial_shape, origin);
            self.store(partial);
            whole = Reduction { operand: partial, axis: 0, factors: None, combines: true, ..whole };
        }
        Ok(self.push(Kind::Reduce(whole), dtype, shape, origin))
    }

    /// Returns the operand of a reduction along an axis that a reshape merged from axes of a computed value, in a
    /// shape with the axes before the merge, and those axes.
    fn split_axis(
        &mut self,
        operand: FlatId,
        axis: usize,
        origin: ExprId,
    ) -> Result<Option<(FlatId, Range<usize>)>, LowerError> {
        let shape = self.node(operand).shape.clone();
        let merged = |id: &FlatId| match self.node(*id).kind {
            Kind::Reshape(from) if !self.is_dense(from) => merged_axes(&self.node(from).shape, &shape, axis),
            _ => None,
        };
        let Some(parts) = self.reshapable(operand).and_then(|order| order.iter().find_map(merged)) else {
            return Ok(None);
        };
        let range = axis..axis + parts.len();
        let split =
            shape[..axis].iter().cloned().chain(parts).chain(shape[axis + 1..].iter().cloned()).collect();
        Ok(Some((self.reshape(operand, split, origin)?, range)))
    }

    /// Returns a node, or the operand of its conversion.
    fn without_casts(&self, mut id: FlatId) -> &FlatNode {
        while let Kind::Cast(operand) = self.node(id).kind {
            id = operand;
        }
        self.node(id)
    }

    /// Returns whether a result has too few elements for the threads to share, either always or in the calls for
    /// which this graph is lowered.
    fn is_few(&self, shape: &Shape) -> bool {
        is_few(shape) || self.shared.contains(shape)
    }

    fn group(&mut self, extent: Dim) -> usize {
        if let Some(found) = self.groups.iter().position(|group| group.extent == extent) {
            return found;
        }
        let index = self.groups.len();
        let count = self.host_symbol(HostSymbol::GroupCount(index));
        let length = self.host_symbol(HostSymbol::GroupLength(index));
        self.groups.push(Group { extent, count, length, unit: BLOCK });
        index
    }
}
