//! Scans: in loops that cover the whole of a tensor, along the scanned axis in order.
//!
//! A short axis that is unrolled is a chain of ops. Otherwise the loop over the axis is around the loop over the
//! last other axis inside it, if there is one: the scan then runs in as many lanes as that loop has steps.

use super::{AffineIndex, AffineMap, Nest, NestReduction, NestStore, bit};
use crate::flat::{FlatId, Kind};
use crate::kernel::*;
use crate::plan::Reason;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::ReduceOp;
use smallvec::smallvec;
use std::collections::BTreeSet;

/// A scan along the scanned axis as a value.
#[derive(Debug, Clone)]
pub(crate) struct NestScan {
    pub op: ReduceOp,
    pub dtype: DType,
    pub operand: ValueId,
    /// The initial value, unless it is the identity.
    pub initial: Option<ValueId>,
}

impl Nest<'_> {
    /// Returns whether the loops around cover the whole of a scan, along its axis in order. The first scan
    /// determines the axis.
    pub(super) fn follows(&mut self, id: FlatId, map: &AffineMap) -> bool {
        let node = self.flat.node(id);
        let Kind::Scan { axis: scanned, .. } = node.kind else { return false };
        let along = |index: &AffineIndex| index.axis.filter(|_| index.more.is_empty());
        let goes_over = |(index, size): (&AffineIndex, &Dim)| match along(index) {
            Some(axis) => {
                let of = &self.axes[axis.index()];
                index.step == 1 && index.start.is_zero() && !of.reduction && of.extent == *size
            }
            None => index.more.is_empty() && index.start.as_constant().is_some_and(|start| start >= 0),
        };
        let indexed = map.iter().filter_map(along).fold(0, |set, axis| set | bit(axis));
        let is_inside = |axis: &AxisId| indexed & bit(*axis) != 0;
        if !self.is_whole
            || !map.iter().zip(&*node.shape).all(goes_over)
            || !self.path(self.innermost).iter().all(is_inside)
        {
            return false;
        }
        match along(&map[scanned]) {
            Some(axis) => *self.scanned.get_or_insert(axis) == axis,
            None => true,
        }
    }

    /// Returns a scan under a map, from its operands.
    pub(super) fn scan(
        &mut self,
        op: ReduceOp,
        axis: usize,
        map: &AffineMap,
        args: &[ValueId],
        id: FlatId,
    ) -> ValueId {
        let (Some(&operand), before) = (args.first(), args.get(1).copied()) else {
            return self.want(id, Reason::Scanned, id);
        };
        if map[axis].axis.is_none() {
            return match before {
                Some(before) => self.op(op.combine(), smallvec![before, operand], id),
                None => operand,
            };
        }
        let all = map.iter().filter_map(|index| index.axis).fold(0, |set, axis| set | bit(axis));
        let (dtype, depends) = (self.flat.node(id).dtype, self.depends[operand.index()] | all);
        let value = self.fresh(Def::Reduced, dtype, depends, all, id);
        self.scans.insert(value, NestScan { op, dtype, operand, initial: before });
        value
    }

    /// Moves the loop over the scanned axis around the innermost other loop inside it.
    pub(crate) fn place_scanned(&mut self) {
        let Some(place) = self.scanned.and_then(|scanned| self.free.iter().position(|axis| *axis == scanned))
        else {
            return;
        };
        if place + 2 >= self.free.len() {
            return;
        }
        let axis = self.free.remove(place);
        self.free.insert(self.free.len() - 1, axis);
        self.chain_free_axes();
    }

    /// Stores reductions that belong to each step of the scanned axis, if the scan runs in rows. Those loops take all
    /// steps once for each strip, so the loops between would no longer be around the reductions.
    pub(crate) fn store_reductions_around_rows(&mut self) {
        let (Some(scanned), Some(&last)) = (self.scanned, self.free.last()) else { return };
        if scanned == last || !self.free.contains(&scanned) {
            return;
        }
        let is_repeated = |reduction: &NestReduction| {
            let parent = self.axes[reduction.axis.index()].parent;
            parent != Some(last)
                && parent.is_some_and(|axis| self.free.contains(&axis))
                && self.path(parent).contains(&scanned)
        };
        let nodes: BTreeSet<FlatId> = self
            .reductions
            .iter()
            .filter(|(_, reduction)| is_repeated(reduction))
            .map(|(value, _)| self.nodes[value.index()])
            .filter(|node| !self.roots.contains(node))
            .collect();
        self.wanted.extend(nodes.into_iter().map(|node| (node, Reason::Loops)));
    }

    /// Returns the loop inside the loop over the scanned axis, if there is one: scans run in rows over the strips
    /// of its axis.
    pub fn across(&self) -> Option<AxisId> {
        self.free
            .iter()
            .copied()
            .find(|axis| self.axes[axis.index()].parent == self.scanned && self.scanned.is_some())
    }

    /// Returns whether scans run in rows over the last axis, and this is not a short axis that would better be
    /// unrolled.
    pub fn runs_across(&self) -> bool {
        self.scanned.is_some() && self.free.last().copied() != self.scanned
    }

    /// Returns the axis whose steps threads share: the outermost, unless a scan runs along it, or several of its steps may
    /// write one element.
    pub fn shared_axis(&self) -> Option<AxisId> {
        let outermost = match self.free.first().copied() {
            Some(first) if Some(first) == self.scanned => self.across(),
            first => first,
        };
        let moves =
            |store: &NestStore, axis: AxisId| self.accesses[store.access.index()].axes() & bit(axis) != 0;
        let is_apart = |axis: &AxisId| {
            self.stores.iter().filter(|store| store.scatter.is_some()).all(|store| moves(store, *axis))
        };
        outermost.filter(is_apart)
    }
}
