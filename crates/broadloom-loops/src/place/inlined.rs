//! Functions that are computed inside loops, instead of being called for whole strips.

use super::{Form, Placement};
use crate::kernel::{AxisId, Def, ValueId};
use crate::thresholds::{LONG_ROW, MAX_INLINED_OPERATIONS, MAX_INLINED_OPERATIONS_OF_LOOP};
use broadloom_math::trace;
use std::collections::{HashMap, HashSet};

impl Placement<'_, '_> {
    /// Finds the functions that the loops around them compute themselves: no strip, no call, and no scratch rows for
    /// arguments and results.
    pub(super) fn find_inlined(&self) -> HashSet<ValueId> {
        let is_part = |call: &ValueId| self.position(*call).is_some_and(|axis| self.inlines_along(axis));
        self.live_values().filter(|call| self.may_inline(*call) && is_part(call)).collect()
    }

    /// Finds the loops of which all functions are called.
    pub(super) fn find_calling(&self) -> HashSet<AxisId> {
        let mut operations: HashMap<AxisId, usize> = HashMap::new();
        for call in self.live_values().filter(|call| self.may_inline(*call)) {
            if let Some(axis) = self.position(call) {
                *operations.entry(axis).or_default() += self.few_operations(call).unwrap_or(0);
            }
        }
        operations.retain(|_, count| *count > MAX_INLINED_OPERATIONS_OF_LOOP);
        operations.into_keys().collect()
    }

    /// Returns whether a loop of its own over strips computes the function of a call. The loops inside its level have the
    /// vectors.
    pub fn is_computed_in_strips(&self, call: ValueId) -> bool {
        self.may_inline(call) && self.position(call).is_some_and(|axis| self.is_outer(axis))
    }

    /// Returns whether code of kernels may compute the function of a call: its operations are known and few. A call whose row
    /// is kept fills the row.
    fn may_inline(&self, call: ValueId) -> bool {
        self.is_call(call)
            && self.position(call).is_some_and(|axis| !self.calling.contains(&axis))
            && self.kept.values().all(|kept| kept.call != call)
            && self.few_operations(call).is_some()
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
            Some(Form::AccumulatorRows | Form::PerLane) => true,
            Some(Form::Contiguous) => is_long(),
            Some(_) => false,
        }
    }

    /// Returns whether there are functions along an axis, all of which code of kernels may compute.
    pub(super) fn has_few_operations(&self, axis: AxisId) -> bool {
        let along = self.live_values().filter(|value| self.position(*value) == Some(axis));
        let counts: Option<Vec<usize>> =
            along.filter(|value| self.is_function(*value)).map(|value| self.few_operations(value)).collect();
        let total = counts.map_or(0, |counts| counts.into_iter().sum());
        (1..=MAX_INLINED_OPERATIONS_OF_LOOP).contains(&total)
    }

    /// Returns the number of operations of a function, if code of kernels may compute it: they are known and few.
    fn few_operations(&self, value: ValueId) -> Option<usize> {
        let entry = &self.nest.values[value.index()];
        let Def::Op { op, .. } = entry.def else { return None };
        let (function, precision) = op.tile(entry.dtype)?;
        let count = trace(function, precision, self.options.fused)?.operations();
        (self.target().inlines() && self.is_vector() && count <= MAX_INLINED_OPERATIONS).then_some(count)
    }
}
