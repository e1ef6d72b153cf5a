//! Values that the loops, in the order that suits memory, would recompute repeatedly.

use super::Placement;
use crate::cost;
use crate::flat::FlatId;
use crate::kernel::*;
use crate::nest::{AxisSet, Part, bit};
use crate::thresholds::MIN_INVARIANT_COST;
use std::collections::HashMap;

impl Placement<'_, '_> {
    /// Returns the nodes whose values would be recomputed for every step of a loop that they do not depend on.
    pub fn recomputed(&self) -> Vec<FlatId> {
        let nest = self.nest;
        // The loop over the outer part of a merged axis repeats nothing.
        let around = |value: ValueId| -> AxisSet {
            let part = self.position(value).and_then(|axis| nest.axes[axis.index()].part);
            let merged = if let Some(Part::Outer(merged, _)) = part { bit(merged) } else { 0 };
            nest.path(self.position(value)).into_iter().fold(0, |set, axis| set | bit(axis)) & !merged
        };
        let mut totals: HashMap<ValueId, u32> = HashMap::new();
        let mut repeated: Vec<bool> = vec![false; nest.values.len()];
        for value in self.live_values() {
            // The groups of an axis divide it: along both axes together nothing is computed twice.
            let varies =
                nest.axes.iter().enumerate().fold(nest.varies[value.index()], |set, (axis, entry)| {
                    let is_along = set & bit(AxisId::new(axis)) != 0;
                    entry.counters().filter(|_| is_along).fold(set, |set, counter| set | bit(counter))
                });
            if around(value) & !varies == 0 {
                continue;
            }
            let entry = &nest.values[value.index()];
            let own = match &entry.def {
                Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Load { .. } | Def::Row(..) => 0,
                Def::Op { op, args, .. } => cost::op(*op, nest.values[args[0].index()].dtype),
                Def::Select(_) | Def::Cast(_) | Def::Checked { .. } => cost::SELECT,
                Def::Take { .. } => cost::GATHER,
                Def::Search { .. } => cost::SEARCH,
                Def::Reduced => cost::REDUCTION,
            };
            let total = self
                .sources(value)
                .iter()
                .fold(own, |sum, source| sum.saturating_add(totals.get(source).copied().unwrap_or(0)));
            totals.insert(value, total);
            repeated[value.index()] = total >= MIN_INVARIANT_COST && own > 0;
        }
        // Of a chain of such values, only the last is stored.
        let mut covered = vec![true; nest.values.len()];
        let mut users = vec![0usize; nest.values.len()];
        for value in self.live_values() {
            for source in self.sources(value) {
                users[source.index()] += 1;
                covered[source.index()] &= repeated[value.index()];
            }
        }
        let mut nodes: Vec<FlatId> = self
            .live_values()
            .filter(|value| repeated[value.index()] && !(users[value.index()] > 0 && covered[value.index()]))
            .map(|value| nest.nodes[value.index()])
            .collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }
}
