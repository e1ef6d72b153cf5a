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
                *operations.entry(axis).or_default() += self.operations(call).unwrap_or(0);
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
        self.target().inlines()
            && self.is_vector()
            && self.is_call(call)
            && self.position(call).is_some_and(|axis| !self.calling.contains(&axis))
            && self.kept.values().all(|kept| kept.call != call)
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
            Some(Form::PerLane) => true,
            Some(_) => false,
        }
    }

    /// Returns the number of operations of all functions along an axis, if code of kernels may compute each of them.
    pub(super) fn operations_along(&self, axis: AxisId) -> Option<usize> {
        let mut along = self.live_values().filter(|value| self.position(*value) == Some(axis));
        along.try_fold(0, |sum, value| match &self.nest.values[value.index()].def {
            Def::Op { op, .. } if op.tile(self.nest.values[value.index()].dtype).is_some() => {
                let count = self.operations(value).filter(|count| *count <= MAX_INLINED_OPERATIONS)?;
                (self.target().inlines() && self.is_vector()).then_some(sum + count)
            }
            _ => Some(sum),
        })
    }

    /// Returns the number of operations of a function, if they are known.
    fn operations(&self, call: ValueId) -> Option<usize> {
        let entry = &self.nest.values[call.index()];
        let Def::Op { op, .. } = entry.def else { return None };
        let (function, precision) = op.tile(entry.dtype)?;
        Some(trace(function, precision, self.options.fused)?.operations())
    }
}
