//! Rows of function values that are read again.

use super::{Form, Plan};
use crate::kernel::{AxisId, ValueId};
use broadloom_ir::reduce::BLOCK;
use std::collections::HashMap;

/// The call of a reduction whose row is read again by the loop over a free axis after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    /// The call in the reduction.
    pub call: ValueId,
    /// A result of the reduction.
    pub after: ValueId,
}

impl Plan<'_, '_> {
    /// Finds the calls of reductions that a loop over a free axis beside them would repeat, and whose row holds the
    /// whole axis: `exp(x)` and `exp(x) / sum(exp(x))`.
    pub(super) fn keep_rows(&mut self) {
        let nest = self.nest;
        let short = |axis: AxisId| {
            let extent = nest.axes[axis.index()].extent.as_constant();
            extent.filter(|extent| (1..=BLOCK as i64).contains(extent))
        };
        let mut kept = HashMap::new();
        let mut axes: Vec<AxisId> = self.reduced.keys().copied().collect();
        axes.retain(|axis| self.forms[axis] == Form::Row);
        axes.sort();
        for axis in axes {
            // Between the two loops no segment of the loop around may end, for the row lasts one step of it.
            let Some(around) = nest.axes[axis.index()].parent.filter(|axis| !self.has_row_items(*axis))
            else {
                continue;
            };
            let entry = &nest.axes[axis.index()];
            let mut beside =
                nest.free.iter().copied().filter(|free| {
                    nest.axes[free.index()].parent == Some(around) && short(*free) == short(axis)
                });
            let (Some(_), Some(free)) = (short(axis).filter(|_| entry.group.is_none()), beside.next_back())
            else {
                continue;
            };
            for (call, again) in nest.twins(axis, free) {
                let both = [call, again].iter().all(|value| self.live[value.index()] && self.is_call(*value));
                if both && self.position(call) == Some(axis) && self.position(again) == Some(free) {
                    kept.insert(again, Kept { call, after: self.reduced[&axis][0] });
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

    /// Whether something at a level works on whole rows.
    fn has_row_items(&self, level: AxisId) -> bool {
        self.live_values().any(|value| self.position(value) == Some(level) && self.is_call(value))
            || self
                .loops(Some(level))
                .iter()
                .any(|axis| self.forms.get(axis).is_some_and(|form| form.is_by_rows()))
    }
}
