//! Cuts two loops into blocks where an array is read against the order of its elements: `x + y.T`.

use super::Placement;
use crate::kernel::{AxisId, Def, ValueId};
use crate::nest::NestAxis;
use crate::thresholds::{
    BLOCK_BYTES, MAX_BLOCK_ROWS, MAX_BLOCKED_LOADS, MAX_TILED_VALUES, MIN_BLOCKED_AXIS,
    MIN_BLOCKED_OUTER_AXIS, MIN_TILED_ELEMENT, TILE_BYTES,
};
use broadloom_ir::dim::Dim;

/// The reads by blocks in the loop over an axis.
#[derive(Debug)]
pub(crate) struct Blocks {
    /// The loop inside.
    pub inner: AxisId,
    /// The loads whose neighbours are contiguous along the outer axis.
    pub loads: Vec<ValueId>,
    /// The number of steps of the outer axis in a block.
    pub rows: usize,
}

impl Placement<'_, '_> {
    /// Returns the blocks of the loop over an axis, if cutting is worthwhile: for elementwise work on arrays, some
    /// of which are contiguous along this axis and some along the axis inside.
    pub fn blocks(&self, outer: AxisId) -> Option<Blocks> {
        let nest = self.nest;
        let &[inner] = self.loops(Some(outer)).as_slice() else { return None };
        let is_plain = |axis: AxisId, shortest: i64| {
            let NestAxis { extent, reduction, groups, part, .. } = &nest.axes[axis.index()];
            let is_long = extent.as_constant().is_none_or(|extent| extent >= shortest);
            is_long && !reduction && groups.is_empty() && part.is_none()
        };
        let is_inside = |axis: Option<AxisId>| axis == Some(outer) || axis == Some(inner);
        let mut values = self.live_values().filter(|value| is_inside(self.position(*value)));
        let mut stores = nest.stores.iter().filter(|store| is_inside(store.level));
        if !self.is_vector()
            || !nest.reductions.is_empty()
            || nest.scanned.is_some()
            || !self.loops(Some(inner)).is_empty()
            || !is_plain(outer, MIN_BLOCKED_OUTER_AXIS)
            || !is_plain(inner, MIN_BLOCKED_AXIS)
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
        let read: Vec<ValueId> =
            self.live_values().filter(|value| self.position(*value) == Some(inner)).collect();
        let loads: Vec<ValueId> = read.iter().copied().filter(is_across).collect();
        let has_rows = nest.accesses.iter().any(|access| access.stride(inner).is_one());
        let sizes = || loads.iter().map(|load| nest.values[load.index()].dtype.size());
        let (widest, narrowest) = (sizes().max()?, sizes().min()?);
        let rows = match narrowest >= MIN_TILED_ELEMENT && read.len() <= MAX_TILED_VALUES {
            true => self.target().widest_bytes.max(TILE_BYTES) / widest,
            false => (BLOCK_BYTES / widest).min(MAX_BLOCK_ROWS),
        };
        (has_rows && loads.len() <= MAX_BLOCKED_LOADS).then_some(Blocks { inner, loads, rows })
    }
}
