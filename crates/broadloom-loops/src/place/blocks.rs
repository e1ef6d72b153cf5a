//! Two loops in blocks, where an array is read against the order of its elements: `x + y.T`.

use super::Placement;
use crate::kernel::{AxisId, Def, ValueId};
use crate::nest::NestAxis;
use broadloom_ir::dim::Dim;

/// What is read by blocks in the loop over an axis.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The loop inside.
    pub inner: AxisId,
    /// The loads whose neighbours lie side by side along the outer axis.
    pub loads: Vec<ValueId>,
}

/// Rows of a block: two cache lines of elements of 32 bits, for CPUs fetch pairs of lines.
pub(crate) const BLOCK_ROWS: usize = 32;
/// Loads by blocks in one loop, at most: their rows share the second-level cache.
const MOST_LOADS: usize = 4;

impl Placement<'_, '_> {
    /// The blocks of the loop over an axis, if it is worth cutting into them: elementwise work on arrays some of which
    /// have neighbours along this axis and some along the axis inside.
    pub fn blocks(&self, outer: AxisId) -> Option<Blocks> {
        let nest = self.nest;
        let &[inner] = self.loops(Some(outer)).as_slice() else { return None };
        let is_plain = |axis: AxisId, shortest: usize| {
            let NestAxis { extent, reduction, group, part, .. } = &nest.axes[axis.index()];
            let is_long = extent.as_constant().is_none_or(|extent| extent >= shortest as i64);
            is_long && !reduction && group.is_none() && part.is_none()
        };
        let is_inside = |axis: Option<AxisId>| axis == Some(outer) || axis == Some(inner);
        let mut values = self.live_values().filter(|value| is_inside(self.position(*value)));
        let mut stores = nest.stores.iter().filter(|store| is_inside(store.level));
        if !self.is_vector()
            || !nest.reductions.is_empty()
            || !self.loops(Some(inner)).is_empty()
            || !is_plain(outer, BLOCK_ROWS / 2)
            || !is_plain(inner, BLOCK_ROWS)
            || values.any(|value| self.is_call(value))
            || stores.any(|store| store.level != Some(inner) || store.scatter.is_some())
        {
            return None;
        }
        let is_across = |value: &ValueId| match nest.values[value.index()].def {
            Def::Load { access, .. } => {
                let access = &nest.accesses[access.index()];
                let along = access.stride(inner);
                access.stride(outer).is_one() && !along.is_zero() && along != Dim::ONE
            }
            _ => false,
        };
        let is_read = |value: &ValueId| self.position(*value) == Some(inner);
        let loads: Vec<ValueId> = self.live_values().filter(is_read).filter(is_across).collect();
        let has_rows = nest.accesses.iter().any(|access| access.stride(inner).is_one());
        (has_rows && (1..=MOST_LOADS).contains(&loads.len())).then_some(Blocks { inner, loads })
    }
}
