//! Estimates of work, which determine the number of threads.

use super::Maker;
use crate::cost;
use crate::kernel::*;
use crate::nest::Part;
use broadloom_ir::dim::Dim;

/// The unit of an estimate.
enum Unit {
    Bytes,
    Operations,
}

impl Maker<'_, '_, '_> {
    /// Returns bytes moved and operations done per step of the parallel axis, and outside it.
    pub(super) fn cost(&self) -> Cost {
        let mut cost = Cost::default();
        let parallel = self.kernel.parallel.as_ref();
        let mut add = |what: Unit, count: u32, axes: &[AxisId]| {
            let mut product = Dim::constant(count.into());
            for axis in axes.iter().filter(|axis| Some(*axis) != parallel) {
                let entry = &self.nest.axes[axis.index()];
                let steps = entry.groups.last().map_or(&entry.extent, |(_, length)| length);
                // An estimate may leave out a factor that is too large to represent.
                product = product.mul(steps).unwrap_or(product);
            }
            let is_outside = parallel.is_some_and(|parallel| !axes.contains(parallel));
            let part = if is_outside { &mut cost.outside } else { &mut cost.step };
            let sum = match what {
                Unit::Bytes => &mut part.bytes,
                Unit::Operations => &mut part.operations,
            };
            *sum = sum.add(&product).unwrap_or_else(|_| sum.clone());
        };
        for value in self.placement.live_values() {
            let entry = &self.nest.values[value.index()];
            // Count once for each step of an outer part, not for every step of the merged axis that contains it.
            let mut path = self.nest.path(self.placement.position(value));
            path.retain(|axis| !matches!(self.nest.axes[axis.index()].part, Some(Part::Outer(..))));
            match &entry.def {
                Def::Load { .. } | Def::Take { .. } => add(Unit::Bytes, entry.dtype.size() as u32, &path),
                Def::Op { op, args, .. } => {
                    let operand = self.nest.values[args[0].index()].dtype;
                    add(Unit::Operations, cost::op(*op, operand), &path);
                }
                Def::Search { .. } => add(Unit::Operations, cost::SEARCH, &path),
                Def::Select(_) | Def::Cast(_) | Def::Checked { .. } => {
                    add(Unit::Operations, cost::SELECT, &path);
                }
                Def::Reduced if self.nest.scans.contains_key(&value) => {
                    add(Unit::Operations, cost::SELECT, &path);
                }
                Def::Reduced => {
                    let path = self.nest.path(Some(self.nest.reductions[&value].axis));
                    add(Unit::Operations, cost::SELECT, &path);
                }
                Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Row(..) => {}
            }
        }
        for store in &self.nest.stores {
            let size = self.nest.accesses[store.access.index()].dtype.size();
            add(Unit::Bytes, size as u32, &self.nest.path(store.level));
        }
        cost
    }
}
