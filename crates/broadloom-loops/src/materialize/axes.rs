//! The loop axes of the plan, and the index maps along them.

use super::Planner;
use crate::flat::{FlatId, Reduction};
use crate::kernel::AxisId;
use crate::nest::{AffineIndex, AffineMap};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::TopK;
use smallvec::SmallVec;
use std::rc::Rc;

/// A loop axis of the plan: of the space of a materialised tensor, or of a reduction in it.
pub(super) struct PlanAxis {
    pub(super) extent: Dim,
    pub(super) parent: Option<AxisId>,
    pub(super) reduction: bool,
    /// Whether it is unrolled around reductions instead of being a loop.
    pub(super) unrolled: bool,
    /// The axes that count the groups of this axis.
    pub(super) counters: SmallVec<[AxisId; 2]>,
    /// Axes of equal extent in the same loop have one class: for example, a reduction and a loop over the same row
    /// of a table.
    pub(super) class: usize,
}

/// The users of one outermost loop: outputs of equal sizes, segmented reductions by the same ids, the results of
/// one walk, a section of a long graph, or a single temporary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Outputs(Rc<[Dim]>),
    Segments(FlatId),
    Best(FlatId, TopK),
    Section(usize),
    Temporary(FlatId),
}

/// Reductions with equal keys share a loop.
pub(super) type ReductionKey = (Option<AxisId>, Dim, usize, Option<usize>, bool);

impl Planner<'_> {
    /// Returns the part of a map that moves, by axes or by classes of axes.
    pub(super) fn moving<'m>(&self, map: &'m AffineMap, by_class: bool) -> Vec<(usize, i64, &'m Dim)> {
        let of = |index: &'m AffineIndex| {
            let axis = index.axis?.index();
            Some((if by_class { self.axes[axis].class } else { axis }, index.step, &index.start))
        };
        map.iter().filter_map(of).collect()
    }

    /// Returns whether the outermost loop around a map goes along the first of the axes that it moves.
    pub(super) fn is_by_rows(&self, map: &AffineMap) -> bool {
        let first = map.iter().find_map(|index| index.axis);
        first.is_some_and(|axis| {
            let PlanAxis { parent, reduction, .. } = &self.axes[axis.index()];
            parent.is_none() && !reduction
        })
    }

    /// Returns whether a map reads the whole of a tensor in the order of the loops of a space of its sizes.
    pub(super) fn is_whole(&self, id: FlatId, map: &AffineMap) -> bool {
        let sizes: Vec<&Dim> = self.flat.node(id).shape.iter().filter(|dim| !dim.is_one()).collect();
        let moving: Vec<&AffineIndex> = map.iter().filter(|index| index.axis.is_some()).collect();
        let Some(first) = moving.first().and_then(|index| index.axis) else { return sizes.is_empty() };
        let space = &self.sizes[first.index()];
        let starts_at_zero = moving.iter().all(|index| index.step == 1 && index.start.is_zero());
        let axes = moving.iter().filter_map(|index| index.axis).map(AxisId::index);
        starts_at_zero
            && space.iter().eq(sizes)
            && axes.eq(first.index()..first.index() + moving.len())
            && moving.len() == space.len()
            && self.axes[first.index()].parent.is_none()
    }

    /// Returns whether a value under a map is recomputed in each step of a loop that it does not depend on.
    pub(super) fn is_repeated(&self, map: &AffineMap) -> bool {
        let mut read: Vec<AxisId> = map.iter().filter_map(|index| index.axis).collect();
        let counters = read.iter().flat_map(|axis| &self.axes[axis.index()].counters);
        let counters: Vec<AxisId> = counters.copied().collect();
        // The groups of an axis divide it: along both axes together, nothing is computed twice.
        read.extend(counters);
        let Some(deepest) = self.deepest(&read) else { return false };
        self.path(deepest).any(|axis| !read.contains(&axis) && !self.axes[axis.index()].unrolled)
    }

    pub(super) fn extent(&self, axis: AxisId) -> Dim {
        self.axes[axis.index()].extent.clone()
    }

    pub(super) fn path(&self, axis: AxisId) -> impl Iterator<Item = AxisId> + '_ {
        std::iter::successors(Some(axis), |axis| self.axes[axis.index()].parent)
    }

    pub(super) fn deepest(&self, axes: &[AxisId]) -> Option<AxisId> {
        axes.iter().copied().max_by_key(|axis| self.path(*axis).count())
    }

    pub(super) fn axis(&mut self, extent: &Dim, parent: Option<AxisId>, sizes: &Rc<[Dim]>) -> AxisId {
        let next = self.next_class;
        // The outermost axes of different kernels have nothing in common.
        let class = match parent.map(|parent| self.axes[parent.index()].class) {
            Some(around) => *self.classes.entry((around, extent.clone())).or_insert(next),
            None => next,
        };
        self.next_class += 1;
        self.axes.push(PlanAxis {
            extent: extent.clone(),
            parent,
            reduction: false,
            unrolled: false,
            counters: SmallVec::new(),
            class,
        });
        self.sizes.push(sizes.clone());
        AxisId::new(self.axes.len() - 1)
    }

    /// A free axis: the one that is there, where kernels share their loops.
    pub(super) fn free_axis(
        &mut self,
        space: &Space,
        parent: Option<AxisId>,
        extent: &Dim,
        sizes: &Rc<[Dim]>,
    ) -> AxisId {
        let outer = (space.clone(), extent.clone());
        let found = match parent {
            None => self.spaces.get(&outer),
            Some(parent) => self.inner.get(&(parent, extent.clone())),
        };
        if let Some(&axis) = found {
            return axis;
        }
        let axis = self.axis(extent, parent, sizes);
        match parent {
            None => self.spaces.insert(outer, axis),
            Some(parent) => self.inner.insert((parent, extent.clone()), axis),
        };
        axis
    }

    /// Returns nested loops for the dims that are not a literal 1, and the index map along them.
    pub(super) fn chain(
        &mut self,
        space: &Space,
        around: Option<AxisId>,
        dims: &[Dim],
        sizes: &Rc<[Dim]>,
    ) -> AffineMap {
        let mut parent = around;
        let index = |dim: &Dim| {
            if dim.is_one() {
                return AffineIndex::at(0);
            }
            let axis = self.free_axis(space, parent, dim, sizes);
            parent = Some(axis);
            AffineIndex::along(axis)
        };
        dims.iter().map(index).collect()
    }

    pub(super) fn reduction_axis(&mut self, id: FlatId, reduction: &Reduction, map: &AffineMap) -> AxisId {
        let around: Vec<AxisId> = map.iter().filter_map(|index| index.axis).collect();
        let parent = self.deepest(&around);
        let extent = self.flat.node(reduction.operand).shape[reduction.axis].clone();
        let key = (parent, extent.clone(), self.flat.node(id).nested, reduction.group, reduction.combines);
        // Reductions to scalars in different kernels have no common loop around them.
        if let (Some(&axis), Some(_)) = (self.reductions.get(&key), parent) {
            return axis;
        }
        let sizes = match parent {
            Some(parent) => self.sizes[parent.index()].clone(),
            None => Rc::from([]),
        };
        let axis = self.axis(&extent, parent, &sizes);
        self.axes[axis.index()].reduction = true;
        self.axes[axis.index()].counters = reduction.group.and_then(|_| map[0].axis).into_iter().collect();
        self.reductions.insert(key, axis);
        axis
    }
}
