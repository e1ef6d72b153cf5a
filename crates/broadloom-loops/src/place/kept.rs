//! Rows of function values that are read again later.

use super::{Form, Placement};
use crate::kernel::{AxisId, ValueId};
use std::collections::HashMap;

/// A call in a reduction whose row the loop over a free axis after it reads again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// The call in the reduction.
    pub call: ValueId,
    /// A result of the reduction.
    pub after: ValueId,
    /// The most elements of the row.
    pub at_most: usize,
}

impl Placement<'_, '_> {
    /// Finds the calls in reductions that a loop over a free axis beside them would repeat, and keeps their rows
    /// for that loop as far as they fit into the cache: `exp(x)` and `exp(x) / sum(exp(x))`.
    pub(super) fn keep_rows(&mut self) {
        let nest = self.nest;
        let mut kept = HashMap::new();
        let mut axes: Vec<AxisId> = self.reduced.keys().copied().collect();
        axes.retain(|axis| self.forms[axis] == Form::Contiguous);
        axes.sort();
        for axis in axes {
            // No stage of the loop around may end between the two loops, because the row lives for only one of its
            // steps.
            let Some(around) = nest.axes[axis.index()].parent.filter(|axis| !self.has_row_items(*axis))
            else {
                continue;
            };
            let entry = &nest.axes[axis.index()];
            let fits = match entry.extent.as_constant() {
                Some(extent) => extent > 0,
                None => self.keeps_rows(),
            };
            let beside = |free: &AxisId| {
                let free = &nest.axes[free.index()];
                free.parent == Some(around) && free.extent == entry.extent
            };
            let Some(free) =
                nest.free.iter().copied().rfind(beside).filter(|_| fits && entry.groups.is_empty())
            else {
                continue;
            };
            for (call, again) in nest.same_along_both_axes(axis, free) {
                let both = [call, again].iter().all(|value| self.live[value.index()] && self.is_call(*value));
                let bytes = nest.values[call.index()].dtype.size();
                let at_most = self.target().kept_bytes() / bytes;
                let fits = entry.extent.as_constant().is_none_or(|extent| extent as usize <= at_most);
                if both && fits && self.position(call) == Some(axis) && self.position(again) == Some(free) {
                    kept.insert(again, Kept { call, after: self.reduced[&axis][0], at_most });
                }
            }
        }
        if !kept.is_empty() {
            self.kept = kept;
            self.mark_live();
            let live = &self.live;
            self.reduced.values_mut().for_each(|reduced| reduced.retain(|value| live[value.index()]));
            self.reduced.retain(|_, reduced| !reduced.is_empty());
        }
    }

    /// Returns whether an item of a level works on whole rows.
    fn has_row_items(&self, level: AxisId) -> bool {
        self.live_values().any(|value| self.position(value) == Some(level) && self.is_by_rows(value))
            || self
                .loops(Some(level))
                .iter()
                .any(|axis| self.forms.get(axis).is_some_and(|form| form.is_by_rows()))
    }
}
