//! Values that are better computed in a loop of their own over strips, with the others before or after them.

use super::Placement;
use crate::kernel::{AxisId, Def, ValueId};
use crate::nest::bit;
use crate::thresholds::MIN_OPS_APART;
use std::collections::{HashMap, HashSet};

impl Placement<'_, '_> {
    /// Finds the values whose readers begin a loop of their own. A search takes many values together, for which
    /// registers are free only if its loop does little else. Elements that data choose are written one by one, from indices that
    /// vectors have computed before.
    pub(super) fn find_apart(&self) -> HashSet<ValueId> {
        let mut apart = HashSet::new();
        if !self.target().inlines() || !self.is_vector() {
            return apart;
        }
        let mut computed: HashMap<AxisId, usize> = HashMap::new();
        for value in self.live_values() {
            let def = &self.nest.values[value.index()].def;
            if let (Def::Op { .. } | Def::Select(_) | Def::Cast(_), Some(axis)) = (def, self.position(value))
            {
                *computed.entry(axis).or_default() += 1;
            }
        }
        let is_worth = |value: &ValueId| {
            self.position(*value).is_some_and(|axis| {
                let is_moved = self.nest.varies[value.index()] & bit(axis) != 0;
                is_moved
                    && self.is_outer(axis)
                    && computed.get(&axis).is_some_and(|count| *count >= MIN_OPS_APART)
            })
        };
        let is_search = |value: &ValueId| matches!(self.nest.values[value.index()].def, Def::Search { .. });
        apart.extend(self.live_values().filter(is_search).filter(is_worth));
        let scattered = self.nest.stores.iter().filter_map(|store| store.scatter.as_ref());
        apart.extend(scattered.map(|scatter| scatter.index).filter(is_worth));
        apart
    }
}
