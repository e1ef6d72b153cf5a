//! Order and merging of the free axes of a nest, without looking at sizes.
//!
//! Adjacent axes become one loop when every access steps through them as through one:
//! `stride_outer == extent_inner * stride_inner` as polynomials. Between two dense axes of equal stretch pattern that
//! is always so: operands of one shape are one flat loop.
//!
//! A short constant axis merges even if some operands move along it alone: `(n,m,3) + (3)` runs as `[n*m*3]`, with the
//! three elements of the second operand over and over in a scratch row.

use crate::LowerError;
use crate::kernel::{AxisId, Def};
use crate::nest::{AxisSet, MAX_AXES, Nest, NestAxis, bit};
use broadloom_ir::dim::Dim;

impl Nest<'_> {
    /// The nest with its axes in order and merged, unless it is void.
    pub fn arranged(mut self) -> Result<Self, LowerError> {
        if self.wanted.is_empty() {
            self.order_axes();
            self.merge_axes()?;
        }
        Ok(self)
    }

    /// Puts the axis innermost along which most accesses have neighbours in memory, if that is clearly another one.
    /// Only where every value is elementwise: reductions have chosen their place by the order.
    fn order_axes(&mut self) {
        let chain = self.free.windows(2).all(|pair| self.axes[pair[1].index()].parent == Some(pair[0]));
        let innermost = self.free.last().copied();
        let plain = self.stores.iter().all(|store| store.scatter.is_none() && store.level == innermost);
        if !self.reductions.is_empty() || self.free.len() < 2 || !chain || !plain {
            return;
        }
        let votes =
            |axis: AxisId| self.accesses.iter().filter(|access| access.stride(axis) == Dim::ONE).count();
        let innermost = self.free.len() - 1;
        let best =
            (0..self.free.len()).max_by_key(|&place| (votes(self.free[place]), place)).unwrap_or(innermost);
        if votes(self.free[best]) > votes(self.free[innermost]) {
            let axis = self.free.remove(best);
            self.free.push(axis);
            let mut parent = None;
            for &axis in &self.free {
                self.axes[axis.index()].parent = parent;
                parent = Some(axis);
            }
            self.stores.iter_mut().for_each(|store| store.level = parent);
        }
    }

    /// Merges free axes as far as accesses allow.
    fn merge_axes(&mut self) -> Result<(), LowerError> {
        for inner in (1..self.free.len()).rev() {
            let axis = self.free[inner];
            if let Some(outer) = self.around(axis)
                && self.merging(outer, axis)? == Some(Merge::Alike)
            {
                self.merge(outer, axis)?;
            }
        }
        let Some(&inner) = self.free.last() else { return Ok(()) };
        if let Some(outer) = self.around(inner)
            && self.may_recur(outer, inner)
            && self.merging(outer, inner)? == Some(Merge::Recurring)
        {
            let short = self.recurring(outer, inner)?;
            self.merge(outer, inner)?;
            self.free.push(short);
        }
        Ok(())
    }

    fn around(&self, axis: AxisId) -> Option<AxisId> {
        self.axes[axis.index()].parent
    }

    /// Puts all that moves along the outer axis onto the inner one, which becomes as long as both.
    fn merge(&mut self, outer_axis: AxisId, inner_axis: AxisId) -> Result<(), LowerError> {
        let outer = self.axes[outer_axis.index()].clone();
        let entry = &mut self.axes[inner_axis.index()];
        entry.extent = outer.extent.mul(&entry.extent)?;
        entry.parent = outer.parent;
        self.free.retain(|axis| *axis != outer_axis);
        for access in &mut self.accesses {
            access.strides.retain(|(axis, _)| *axis != outer_axis);
        }
        let merged = |set: AxisSet| {
            if set & bit(outer_axis) != 0 { set & !bit(outer_axis) | bit(inner_axis) } else { set }
        };
        self.depends.iter_mut().for_each(|set| *set = merged(*set));
        self.varies.iter_mut().for_each(|set| *set = merged(*set));
        Ok(())
    }

    /// How an axis merges with the one around it, if it does.
    fn merging(&self, outer: AxisId, inner: AxisId) -> Result<Option<Merge>, LowerError> {
        let named = |axis: AxisId| {
            self.values.iter().any(|value| value.def == Def::Index(axis))
                || self.axes[axis.index()].group.is_some()
                || self.axes.iter().any(|other| other.group.as_ref().is_some_and(|(group, _)| *group == axis))
        };
        let within = |axis: &NestAxis| axis.parent == Some(outer);
        let around = self.axes.iter().any(|axis| axis.reduction && within(axis))
            || self.free.iter().filter(|axis| within(&self.axes[axis.index()])).count() > 1
            || self.stores.iter().any(|store| store.level == Some(outer));
        if named(outer) || named(inner) || around {
            return Ok(None);
        }
        let extent = &self.axes[inner.index()].extent;
        let mut merge = Merge::Alike;
        for access in &self.accesses {
            let stride = access.stride(outer);
            if stride == extent.mul(&access.stride(inner))? {
                continue;
            }
            if !stride.is_zero() {
                return Ok(None);
            }
            merge = Merge::Recurring;
        }
        Ok(Some(merge))
    }

    /// Whether elements along a short axis may be kept in rows, to recur along the axis that it is merged into: the
    /// rows are filled once, or beside loops that would be too short for vectors.
    fn may_recur(&self, outer: AxisId, inner: AxisId) -> bool {
        let longest = if self.around(outer).is_none() { LONGEST_PERIOD } else { LONGEST_PERIOD_INSIDE };
        let extent = self.axes[inner.index()].extent.as_constant();
        extent.is_some_and(|extent| (2..=longest).contains(&extent))
            && self.axes.iter().all(|axis| axis.parent != Some(inner))
            && self.stores.iter().all(|store| store.scatter.is_none())
            && self.axes.len() < MAX_AXES
    }

    /// A new axis, beside the merged one, for what moves along the inner axis alone.
    fn recurring(&mut self, outer: AxisId, inner: AxisId) -> Result<AxisId, LowerError> {
        let NestAxis { extent, .. } = self.axes[inner.index()].clone();
        let parent = self.axes[outer.index()].parent;
        let short =
            NestAxis { extent, parent, reduction: false, group: None, combines: false, recurs: Some(inner) };
        let short = self.axis(short)?;
        for access in self.accesses.iter_mut().filter(|access| access.stride(outer).is_zero()) {
            access.strides.iter_mut().filter(|(axis, _)| *axis == inner).for_each(|(axis, _)| *axis = short);
            access.strides.sort_by_key(|(axis, _)| *axis);
        }
        let (both, alone) = (bit(outer) | bit(inner), bit(inner));
        for (depends, varies) in self.depends.iter_mut().zip(&mut self.varies) {
            for set in match *depends & both {
                set if set == alone => [depends, varies],
                _ => continue,
            } {
                if *set & alone != 0 {
                    *set = *set & !alone | bit(short);
                }
            }
        }
        Ok(short)
    }
}

/// How two axes become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Merge {
    /// Every access steps through them as through one.
    Alike,
    /// Some accesses move along the inner one alone: what they read recurs.
    Recurring,
}

/// Longest axis whose elements recur along another. Longer rows keep a vector loop busy by themselves.
const LONGEST_PERIOD: i64 = 64;
/// The same where loops stand around, in each step of which the rows are filled anew.
const LONGEST_PERIOD_INSIDE: i64 = 8;
