//! Views in the few forms: reindexed axes, and reshapes moved as deep as possible.

use super::{Flat, FlatId, Kind};
use crate::LowerError;
use crate::thresholds::MAX_RESHAPED_NODES;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::View;
use broadloom_ir::shape::Shape;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;
use std::ops::Range;

impl Flat {
    pub(super) fn view(
        &mut self,
        view: &View,
        operand: FlatId,
        shape: Shape,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let rank = self.node(operand).shape.rank();
        let dtype = self.node(operand).dtype;
        let axes = match view {
            View::Reshape => return self.reshape(operand, shape, origin),
            View::Slice(slices) => {
                let axes = slices.iter().map(|slice| (slice.start.clone(), slice.step)).collect();
                return Ok(self.push(Kind::Slice { operand, axes }, dtype, shape, origin));
            }
            View::Windows(axis) => {
                // A loop inside a window would run again for every window that contains its result.
                let node = self.node(operand);
                if node.nested > 0 || node.joins {
                    self.stored.insert(operand);
                }
                return Ok(self.push(Kind::Windows { operand, axis: *axis }, dtype, shape, origin));
            }
            // The whole operand, from its start.
            View::Rebind => {
                let axes = (0..rank).map(|_| (Dim::ZERO, 1)).collect();
                return Ok(self.push(Kind::Slice { operand, axes }, dtype, shape, origin));
            }
            View::Permute(permutation) => {
                let mut axes: SmallVec<[Option<usize>; 4]> = smallvec![None; rank];
                for (to, &from) in permutation.iter().enumerate() {
                    axes[from] = Some(to);
                }
                // Its inverse undoes a permutation.
                if let Some((array, before)) = self.permuted(operand)
                    && before.iter().map(|of| axes[*of]).eq((0..rank).map(Some))
                {
                    return Ok(array);
                }
                axes
            }
            View::ExpandDims(inserted) => {
                (0..shape.rank()).filter(|axis| !inserted.contains(axis)).map(Some).collect()
            }
            View::Squeeze(removed) => {
                let mut next = 0..;
                (0..rank).map(|axis| if removed.contains(&axis) { None } else { next.next() }).collect()
            }
            View::BroadcastTo => self.aligned(operand, &shape),
        };
        Ok(self.push(Kind::Reindex { operand, axes }, dtype, shape, origin))
    }

    /// Returns the tensor of which a node is a permutation, and the node's axes in the order of those.
    pub(super) fn permuted(&self, id: FlatId) -> Option<(FlatId, SmallVec<[usize; 4]>)> {
        let Kind::Reindex { operand, axes } = &self.node(id).kind else { return None };
        let places: SmallVec<[usize; 4]> = axes.iter().copied().collect::<Option<_>>()?;
        (places.len() == self.node(id).shape.rank()).then_some((*operand, places))
    }

    /// Returns how the axes of a result index an operand that broadcasts to it, aligned at the last axis.
    pub fn aligned(&self, operand: FlatId, result: &[Dim]) -> SmallVec<[Option<usize>; 4]> {
        let shape = &self.node(operand).shape;
        let shift = result.len() - shape.rank();
        let stretches = |axis: usize| shape[axis].is_one();
        (0..shape.rank()).map(|axis| (!stretches(axis)).then_some(axis + shift)).collect()
    }

    pub(super) fn reshape(
        &mut self,
        operand: FlatId,
        shape: Shape,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let sizes = |shape: &Shape| -> Vec<usize> {
            shape.iter().enumerate().filter(|(_, dim)| !dim.is_one()).map(|(axis, _)| axis).collect()
        };
        let from = self.node(operand).shape.clone();
        let dtype = self.node(operand).dtype;
        let (old, new) = (sizes(&from), sizes(&shape));
        if old.len() == new.len() && old.iter().zip(&new).all(|(&old, &new)| from[old] == shape[new]) {
            // Only literal 1s come or go.
            let mut axes = smallvec![None; from.rank()];
            for (old, new) in old.into_iter().zip(new) {
                axes[old] = Some(new);
            }
            return Ok(self.push(Kind::Reindex { operand, axes }, dtype, shape, origin));
        }
        if let Some(joined) = self.reshaped_join(operand, &shape, origin)? {
            return Ok(joined);
        }
        let Some(order) = self.reshapable(operand) else {
            return Ok(self.push(Kind::Reshape(operand), dtype, shape, origin));
        };
        let mut moved: HashMap<FlatId, FlatId> = HashMap::new();
        for id in order {
            let node = self.node(id).clone();
            let of = |moved: &HashMap<FlatId, FlatId>, arg: &FlatId| moved.get(arg).copied().unwrap_or(*arg);
            let kind = match node.kind {
                Kind::Op { op, args } => {
                    Kind::Op { op, args: args.iter().map(|arg| of(&moved, arg)).collect() }
                }
                Kind::Select(args) => Kind::Select(args.map(|arg| of(&moved, &arg))),
                Kind::Cast(arg) => Kind::Cast(of(&moved, &arg)),
                Kind::Reshape(array) if self.node(array).shape == shape => {
                    moved.insert(id, array);
                    continue;
                }
                Kind::Reshape(array) => Kind::Reshape(array),
                _ => Kind::Reshape(id),
            };
            let id_moved = self.push(kind, node.dtype, shape.clone(), node.origin);
            moved.insert(id, id_moved);
        }
        Ok(moved[&operand])
    }

    /// Returns the reshape of a join as the join of reshapes, if its axis stays one axis or is merged with axes
    /// after it, and no operand has to be stored for it.
    fn reshaped_join(
        &mut self,
        join: FlatId,
        shape: &Shape,
        origin: ExprId,
    ) -> Result<Option<FlatId>, LowerError> {
        let Kind::Concat { operands, axis, .. } = self.node(join).kind.clone() else { return Ok(None) };
        let from = self.node(join).shape.clone();
        let (before, after) = (Dim::product(&from[..axis])?, Dim::product(&from[axis + 1..])?);
        let mut place = None;
        for to in 0..shape.rank() {
            let merged = after.exact_div(&Dim::product(&shape[to + 1..])?);
            if let Some(merged) = merged
                && Dim::product(&shape[..to])? == before
                && shape[to] == from[axis].mul(&merged)?
            {
                place = Some((to, merged));
            }
        }
        let plain = |operand: &FlatId| self.reshapable(*operand).is_some();
        let Some((to, merged)) = place.filter(|_| operands.iter().all(plain)) else { return Ok(None) };
        let mut pieces = SmallVec::new();
        for operand in operands {
            let mut sizes: Vec<Dim> = shape.to_vec();
            sizes[to] = self.node(operand).shape[axis].mul(&merged)?;
            pieces.push(self.reshape(operand, sizes.into(), origin)?);
        }
        let dtype = self.node(join).dtype;
        let joined = self.concat(pieces, to)?;
        Ok(Some(self.push(joined, dtype, shape.clone(), origin)))
    }

    /// Returns whether a node of any shape is computed element by element from arrays in their memory order.
    pub(super) fn is_view_of_arrays(&self, root: FlatId) -> bool {
        let is_view = |id: &FlatId| match self.node(*id).kind {
            Kind::Buffer(_) => self.is_dense(*id),
            Kind::Reshape(from) => self.is_dense(from),
            _ => true,
        };
        self.reshapable(root).is_some_and(|order| order.iter().all(is_view))
    }

    /// Returns the nodes of full shape that a reshape of `root` has to change, operands first, if it can move
    /// through all of them to whole arrays. Operands of one element stay as they are.
    pub(super) fn reshapable(&self, root: FlatId) -> Option<Vec<FlatId>> {
        let shape = &self.node(root).shape;
        let single = |id: FlatId| self.node(id).shape.iter().all(Dim::is_one);
        let mut order: Vec<FlatId> = Vec::new();
        let mut stack = vec![(root, false)];
        while let Some((id, entered)) = stack.pop() {
            if order.contains(&id) {
                continue;
            }
            let node = self.node(id);
            if entered {
                order.push(id);
                continue;
            }
            if order.len() + stack.len() > MAX_RESHAPED_NODES || self.stored.contains(id) {
                return None;
            }
            match &node.kind {
                Kind::Buffer(_) | Kind::Reshape(_) => order.push(id),
                Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_) => {
                    stack.push((id, true));
                    for arg in node.kind.operands() {
                        // An operand of one element must have rank 0 to stay aligned under any new shape.
                        if single(arg) && self.node(arg).shape.rank() == 0 {
                            continue;
                        }
                        if self.node(arg).shape != *shape {
                            return None;
                        }
                        stack.push((arg, false));
                    }
                }
                Kind::Constant(_)
                | Kind::Size(_)
                | Kind::Reduce(_)
                | Kind::Reindex { .. }
                | Kind::Slice { .. }
                | Kind::Windows { .. }
                | Kind::Take { .. }
                | Kind::Iota
                | Kind::Concat { .. }
                | Kind::Set { .. }
                | Kind::TopK { .. }
                | Kind::Sort { .. }
                | Kind::Search { .. }
                | Kind::Scan { .. }
                | Kind::Scatter { .. }
                | Kind::Segment { .. } => return None,
            }
        }
        Some(order)
    }
}

/// Returns runs of axes of a tensor and of its reshape that hold equally many elements: each run reshapes into its
/// counterpart and is as short as can be proved.
pub(crate) fn runs(from: &[Dim], to: &[Dim]) -> Result<Vec<[Range<usize>; 2]>, LowerError> {
    let mut runs = Vec::new();
    let (mut old, mut new) = (0, 0);
    while old < from.len() || new < to.len() {
        let (first_old, first_new) = (old, new);
        let (mut old_size, mut new_size) = (Dim::ONE, Dim::ONE);
        loop {
            let old_lags = new_size.exact_div(&old_size).is_some();
            let new_lags = old_size.exact_div(&new_size).is_some();
            if old < from.len() && (old_lags || !new_lags || new == to.len()) {
                old_size = old_size.mul(&from[old])?;
                old += 1;
            } else if new < to.len() {
                new_size = new_size.mul(&to[new])?;
                new += 1;
            }
            if old_size == new_size || (old, new) == (from.len(), to.len()) {
                break;
            }
        }
        runs.push([first_old..old, first_new..new]);
    }
    Ok(runs)
}

/// Returns the sizes that a reshape merged into an axis, if there are several.
pub(crate) fn merged_axes(from: &[Dim], to: &[Dim], axis: usize) -> Option<Vec<Dim>> {
    // An axis of one element beside merged axes is not one of them.
    if to[axis].is_one() {
        return None;
    }
    let found = runs(from, to).ok()?.into_iter().find(|[_, new]| new.contains(&axis));
    let [old, new] = found?;
    let parts: Vec<Dim> = from[old].iter().filter(|dim| !dim.is_one()).cloned().collect();
    (parts.len() > 1 && to[new].iter().filter(|dim| !dim.is_one()).count() == 1).then_some(parts)
}
