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
        if !self.target().inlines() || !self.is_vector() {
            return HashSet::new();
        }
        let is_inlined = |call: &ValueId| {
            self.is_call(*call)
                && self.position(*call).is_some_and(|axis| self.inlines_along(axis))
                && self.is_short_function(*call)
        };
        self.live_values().filter(is_inlined).collect()
    }

    /// Returns whether a loop of its own over strips computes the function of a call. The loops inside its level have the
    /// vectors.
    pub fn is_computed_in_strips(&self, call: ValueId) -> bool {
        let is_outer = |axis: AxisId| {
            self.nest.axes[axis.index()].part.is_none()
                && !self.forms.contains_key(&axis)
                && self.vectorizes(axis, Some(axis), &[])
        };
        self.target().inlines()
            && self.is_vector()
            && self.is_call(call)
            && self.position(call).is_some_and(is_outer)
            && self.is_short_function(call)
    }

    /// Returns whether the operations of a function are known, few, and not those of a call whose row is kept, which fills it.
    fn is_short_function(&self, call: ValueId) -> bool {
        self.kept.values().all(|kept| kept.call != call)
            && self.operations(call).is_some_and(|count| count <= MAX_INLINED_OPERATIONS)
    }

    /// Returns whether functions in the loop over an axis may be part of it: the loop has vectors. Calls take the values of
    /// a loop without vectors together, and several short rows at once.
    fn inlines_along(&self, axis: AxisId) -> bool {
        let entry = &self.nest.axes[axis.index()];
        let is_long =
            || entry.extent.as_constant().map_or(self.options.long_rows, |extent| extent >= LONG_ROW);
        match self.forms.get(&axis) {
            None => {
                // Those that fill rows stand before it.
                let mut inside = self.loops(Some(axis));
                inside.retain(|inner| !self.fills_rows(*inner));
                entry.part.is_none() && self.vectorizes(axis, Some(axis), &inside)
            }
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
