//! Estimates of work, for the choice of threads.

use super::Maker;
use crate::kernel::*;
use broadloom_ir::dim::Dim;

impl Maker<'_, '_, '_> {
    /// Bytes moved and operations done per step of the parallel axis.
    pub(super) fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let mut add = |to: fn(&mut Cost) -> &mut Dim, count: usize, axes: &[AxisId]| {
            let mut product = Dim::constant(count as i64);
            for axis in axes.iter().filter(|axis| Some(*axis) != self.nest.free.first()) {
                let entry = &self.nest.axes[axis.index()];
                let grouped = entry.group.as_ref().filter(|_| !entry.reduction).map(|(_, length)| length);
                // An estimate may leave out what is too large to say.
                product = product.mul(grouped.unwrap_or(&entry.extent)).unwrap_or(product);
            }
            let sum = to(&mut cost);
            *sum = sum.add(&product).unwrap_or_else(|_| sum.clone());
        };
        for value in self.plan.live_values() {
            let entry = &self.nest.values[value.index()];
            let path = self.nest.path(self.plan.position(value));
            match &entry.def {
                Def::Load { .. } | Def::Take { .. } => add(|cost| &mut cost.bytes, entry.dtype.size(), &path),
                Def::Op { .. } if self.plan.is_call(value) => {
                    add(|cost| &mut cost.operations, crate::FUNCTION_COST as usize, &path);
                }
                Def::Op { .. } | Def::Select(_) | Def::Cast(_) | Def::Segment { .. } => {
                    add(|cost| &mut cost.operations, 1, &path);
                }
                Def::Reduced => {
                    let path = self.nest.path(Some(self.nest.reductions[&value].axis));
                    add(|cost| &mut cost.operations, 1, &path);
                }
                Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Row(..) => {}
            }
        }
        for store in &self.nest.stores {
            let size = self.nest.accesses[store.access.index()].dtype.size();
            add(|cost| &mut cost.bytes, size, &self.nest.path(store.level));
        }
        cost
    }
}
