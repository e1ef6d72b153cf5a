//! Reshapes of computed values: the positions of the operand's elements for loops over the axes of the result.
//!
//! ```text
//! an axis is split    [6] as [2, 3]    index 3*i + j
//! axes are merged     [2, 3] as [6]    indices (i, j) of 3*i + j, if loops go along i and j; else (k / 3, k % 3) of k
//! ```
//!
//! Division costs more per element than a load. So the operand is stored instead if it takes no more memory than an
//! array that it reads, and positions are divided if it is a broadcast of smaller arrays.

use super::maps::{Reads, Term};
use super::{AffineIndex, AffineMap, Nest};
use crate::LowerError;
use crate::flat::{FlatId, Kind, dense_strides, runs};
use crate::plan::Reason;
use crate::thresholds::{MAX_RESHAPED_NODES, MAX_STORED_BROADCAST};
use broadloom_ir::dim::Dim;
use broadloom_ir::ops::Op;
use smallvec::smallvec;
use std::collections::HashSet;

impl Nest<'_> {
    /// Returns where a reshape reads its operand, which is not an array; `None` if something has to be stored
    /// first.
    pub(super) fn reshaped(
        &mut self,
        id: FlatId,
        operand: FlatId,
        map: &AffineMap,
    ) -> Result<Reads, LowerError> {
        let (from, to) = (self.flat.node(operand).shape.clone(), self.flat.node(id).shape.clone());
        let mut inner: AffineMap = smallvec![AffineIndex::at(0); from.rank()];
        for [old, new] in runs(&from, &to)? {
            let position = AffineIndex::sum(map[new.clone()].iter().zip(dense_strides(&to[new])?))?;
            let axes: Vec<usize> = old.filter(|axis| !from[*axis].is_one()).collect();
            let sizes: Vec<Dim> = axes.iter().map(|axis| from[*axis].clone()).collect();
            let parts = match self.unmerged(&position, &sizes)? {
                Some(parts) => parts,
                None => {
                    let stored = self.stored_before_division(operand)?;
                    if !stored.is_empty() {
                        self.wanted.extend(stored.into_iter().map(|node| (node, Reason::Reshaped)));
                        return Ok(smallvec![]);
                    }
                    self.divided(&position, &sizes, id)
                }
            };
            for (axis, part) in axes.into_iter().zip(parts) {
                inner[axis] = part;
            }
        }
        Ok(smallvec![(operand, inner)])
    }

    /// Returns the indices along axes of some sizes for a row-major position in them, if loops run along these
    /// axes.
    fn unmerged(
        &self,
        position: &AffineIndex,
        sizes: &[Dim],
    ) -> Result<Option<Vec<AffineIndex>>, LowerError> {
        if let [_] = sizes {
            return Ok(Some(vec![position.clone()]));
        }
        let mut rest: Vec<(Term, Dim)> = position.terms().collect();
        let mut parts = Vec::with_capacity(sizes.len());
        for (size, stride) in sizes.iter().zip(dense_strides(sizes)?) {
            let along = |(term, step): &(Term, Dim)| match term {
                Term::Axis(axis) => *step == stride && self.axes[axis.index()].extent == *size,
                Term::Value(_) => false,
            };
            parts.push(match rest.iter().position(along).map(|place| rest.swap_remove(place).0) {
                Some(Term::Axis(axis)) => AffineIndex::along(axis),
                Some(Term::Value(_)) | None => AffineIndex::at(0),
            });
        }
        Ok((rest.is_empty() && position.start.is_zero()).then_some(parts))
    }

    /// Returns the same by division.
    fn divided(&mut self, position: &AffineIndex, sizes: &[Dim], node: FlatId) -> Vec<AffineIndex> {
        let mut rest = self.iota(position, node);
        let mut parts = vec![AffineIndex::at(0); sizes.len()];
        for (part, size) in parts.iter_mut().zip(sizes).skip(1).rev() {
            let size = self.size(size, node);
            *part = AffineIndex::by_value(self.op(Op::Remainder, smallvec![rest, size], node));
            rest = self.op(Op::FloorDivide, smallvec![rest, size], node);
        }
        if let Some(outermost) = parts.first_mut() {
            *outermost = AffineIndex::by_value(rest);
        }
        parts
    }

    /// Returns whether a node can be computed at an index given by a value. It cannot if it may fail, because a
    /// report names an affine position; and it should not if it has a loop of its own that would gather each
    /// element.
    pub(super) fn is_gathered(&self, id: FlatId) -> bool {
        let node = self.flat.node(id);
        self.is_loaded(id)
            || match &node.kind {
                Kind::Op { op, args } => !op.can_fail(self.flat.node(args[0]).dtype),
                Kind::Reduce(reduction) => self.flat.unrolls(reduction),
                Kind::Take { .. }
                | Kind::Concat { .. }
                | Kind::Set { .. }
                | Kind::Scatter { .. }
                | Kind::Segment { .. }
                | Kind::TopK { .. }
                | Kind::Sort { .. }
                | Kind::Scan { .. } => false,
                Kind::Buffer(_)
                | Kind::Constant(_)
                | Kind::Size(_)
                | Kind::Select(_)
                | Kind::Cast(_)
                | Kind::Reindex { .. }
                | Kind::Slice { .. }
                | Kind::Windows { .. }
                | Kind::Reshape(_)
                | Kind::Search { .. }
                | Kind::Iota => true,
            }
    }

    /// Returns what has to be stored before a node is computed at divided positions: the node itself if an array
    /// that it reads is as large, and values that would be recomputed repeatedly for its elements.
    fn stored_before_division(&self, root: FlatId) -> Result<Vec<FlatId>, LowerError> {
        let total = Dim::product(self.flat.node(root).shape.iter())?;
        if total.as_constant().is_some_and(|total| total <= MAX_STORED_BROADCAST) {
            return Ok(vec![root]);
        }
        let mut seen = HashSet::new();
        let mut stored = Vec::new();
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.flat.node(id);
            let is_large = Dim::product(node.shape.iter())? == total;
            let is_array = self.is_loaded(id) || matches!(node.kind, Kind::Buffer(_));
            let is_gathered = self.is_gathered(id);
            if is_large && (is_array || !is_gathered) || seen.len() > MAX_RESHAPED_NODES {
                return Ok(vec![root]);
            }
            if is_array {
                continue;
            }
            let is_costly =
                matches!(&node.kind, Kind::Op { op, .. } if *op == Op::Pow || op.tile(node.dtype).is_some());
            if !is_gathered || is_costly && !is_large {
                stored.push(id);
            } else {
                stack.extend(node.kind.operands());
            }
        }
        Ok(stored)
    }
}
