//! Order and merging of the free axes of a nest, without looking at sizes.
//!
//! Adjacent axes become one loop when every access steps through them as through one:
//! `stride_outer == extent_inner * stride_inner` as polynomials. Between two dense axes of equal stretch pattern that
//! is always so: `(n,m,3) + (3)` runs as `[n*m | 3]`, operands of one shape as one flat loop.

use crate::LowerError;
use crate::kernel::{AxisId, Def};
use crate::nest::{AxisSet, Nest, NestAxis, bit};
use broadloom_ir::dim::Dim;

impl Nest<'_> {
    /// Puts the axis innermost along which most accesses have neighbours in memory, if that is clearly another one.
    /// Only where every value is elementwise: reductions have chosen their place by the order.
    pub fn order_axes(&mut self) {
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
    pub fn merge_axes(&mut self) -> Result<(), LowerError> {
        let mut inner = self.free.len();
        while inner > 1 {
            inner -= 1;
            let inner_axis = self.free[inner];
            let Some(outer_axis) = self.axes[inner_axis.index()].parent else { continue };
            if !self.mergeable(outer_axis, inner_axis)? {
                continue;
            }
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
        }
        Ok(())
    }

    fn mergeable(&self, outer: AxisId, inner: AxisId) -> Result<bool, LowerError> {
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
            return Ok(false);
        }
        let extent = &self.axes[inner.index()].extent;
        for access in &self.accesses {
            if access.stride(outer) != extent.mul(&access.stride(inner))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
