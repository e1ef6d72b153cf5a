//! Order and merging of the free axes of a nest, without looking at sizes.
//!
//! Adjacent axes become one loop when every access steps through them as through one:
//! `stride_outer == extent_inner * stride_inner` as polynomials. Between two dense axes of equal stretch pattern that
//! is always so: `(n,m,3) + (3)` runs as `[n*m | 3]`, operands of one shape as one flat loop.

use crate::LowerError;
use crate::kernel::{AxisId, Def};
use crate::nest::{AxisSet, Nest, bit};
use broadloom_ir::dim::Dim;

impl Nest<'_> {
    /// Puts the axis innermost along which most accesses have neighbours in memory, if that is clearly another one.
    /// Only where every value is elementwise: reductions have chosen their place by the order.
    pub fn order_axes(&mut self) {
        if !self.reductions.is_empty() || self.free.len() < 2 {
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
            self.link_free();
        }
    }

    fn link_free(&mut self) {
        let mut parent = None;
        for &axis in &self.free {
            self.axes[axis.index()].parent = parent;
            parent = Some(axis);
        }
    }

    /// Merges free axes as far as accesses allow.
    pub fn merge_axes(&mut self) -> Result<(), LowerError> {
        let mut inner = self.free.len();
        while inner > 1 {
            inner -= 1;
            let (outer_axis, inner_axis) = (self.free[inner - 1], self.free[inner]);
            if !self.mergeable(outer_axis, inner_axis)? {
                continue;
            }
            let extent = self.axes[outer_axis.index()].extent.mul(&self.axes[inner_axis.index()].extent)?;
            self.axes[inner_axis.index()].extent = extent;
            self.free.remove(inner - 1);
            for access in &mut self.accesses {
                access.strides.retain(|(axis, _)| *axis != outer_axis);
            }
            let merged = |set: AxisSet| {
                if set & bit(outer_axis) != 0 { set & !bit(outer_axis) | bit(inner_axis) } else { set }
            };
            self.depends.iter_mut().for_each(|set| *set = merged(*set));
            self.varies.iter_mut().for_each(|set| *set = merged(*set));
        }
        self.link_free();
        Ok(())
    }

    fn mergeable(&self, outer: AxisId, inner: AxisId) -> Result<bool, LowerError> {
        let named = |axis: AxisId| {
            self.values.iter().any(|value| value.def == Def::Index(axis))
                || self.axes.iter().any(|other| other.group.is_some_and(|(group, _)| group == axis))
        };
        let around = self.axes.iter().any(|axis| axis.reduction && axis.parent == Some(outer));
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
