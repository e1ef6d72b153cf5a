//! Functions that are computed inside loops, instead of being called for whole strips.

use super::{Form, Placement};
use crate::kernel::{AxisId, Def, ValueId};
use crate::thresholds::{LONG_ROW, MAX_INLINED_OPERATIONS};
use broadloom_math::trace;
use std::collections::HashSet;

impl Placement<'_, '_> {
    /// Finds the functions that the loops around them compute themselves: no strip, no call, and no scratch rows for
    /// arguments and results.
    pub(super) fn find_inlined(&self) -> HashSet<ValueId> {
        if !self.target().inlines || !self.is_vector() {
            return HashSet::new();
        }
        // The row of a kept call is filled by it.
        let kept: HashSet<ValueId> = self.kept.values().map(|kept| kept.call).collect();
        let is_inlined = |call: &ValueId| {
            self.is_call(*call)
                && !kept.contains(call)
                && self.position(*call).is_some_and(|axis| self.inlines_along(axis))
                && self.operations(*call).is_some_and(|count| count <= MAX_INLINED_OPERATIONS)
        };
        self.live_values().filter(is_inlined).collect()
    }

    /// Returns whether functions in the loop over an axis may be part of it: the loop has vectors. Calls take the values of
    /// a loop without vectors together, and several short rows at once.
    fn inlines_along(&self, axis: AxisId) -> bool {
        let entry = &self.nest.axes[axis.index()];
        let is_long =
            || entry.extent.as_constant().map_or(self.options.long_rows, |extent| extent >= LONG_ROW);
        match self.forms.get(&axis) {
            None => entry.part.is_none() && self.vectorizes(axis, Some(axis), &self.loops(Some(axis))),
            Some(Form::AccumulatorRows) => true,
            Some(Form::Contiguous) => is_long(),
            Some(_) => false,
        }
    }

    /// Returns the number of operations of a function, if they are known.
    fn operations(&self, call: ValueId) -> Option<usize> {
        let entry = &self.nest.values[call.index()];
        let Def::Op { op, .. } = entry.def else { return None };
        let (function, precision) = op.tile(entry.dtype)?;
        Some(trace(function, precision, self.options.fused)?.operations())
    }
}
