//! The form of each reduction: along its own axis, in the lanes of the loop around it, or in rows.

use super::{Form, Placement};
use crate::kernel::{AxisId, Def, Order, Use, ValueId};
use crate::nest::{NestAxis, bit};
use crate::thresholds::{
    LONG_LOOP, MAX_ROW_IN_TURNS, MAX_TRANSPOSED_ROW, MAX_TRANSPOSED_ROW_ARG, MIN_ROWS_IN_LANES, MIN_WORD,
};
use broadloom_ir::dim::Dim;

impl Placement<'_, '_> {
    pub(super) fn form(&self, axis: AxisId, order: Order) -> Form {
        let inside = self.loops(Some(axis));
        if self.nest.found.contains_key(&axis) {
            let directions = self.neighbour(axis).map(|neighbour| self.directions(axis, neighbour));
            let is_across = matches!(directions, Some(Directions { along: 0, both: 0, across: 1.., .. }))
                && inside.is_empty();
            return if is_across { Form::BestRows } else { Form::Best };
        }
        let has_calls =
            self.live_values().any(|value| self.position(value) == Some(axis) && self.is_call(value));
        let forms: Vec<Form> = inside.iter().filter_map(|inner| self.forms.get(inner).copied()).collect();
        let inside_in_vector = forms.iter().all(|form| *form == Form::PerLane || form.is_by_rows());
        let by_rows = has_calls || forms.iter().any(|form| form.is_by_rows());
        let per_lane = matches!(order, Order::Free | Order::Sequential) && !by_rows && inside_in_vector;
        let along_itself = if inside_in_vector { Form::Contiguous } else { Form::Serial };
        let Some(neighbour) = self.neighbour(axis) else { return along_itself };
        if !inside.is_empty() {
            return if per_lane { Form::PerLane } else { along_itself };
        }
        let Directions { along, across, other, both } = self.directions(axis, neighbour);
        let streams = order != Order::Counter;
        if has_calls {
            let is_along = (across, other, both) == (0, 0, 0) && along > 0;
            let is_short =
                order == Order::Sequential || order == Order::Free && self.transposes_rows(axis, neighbour);
            if is_along && is_short && inside_in_vector && self.has_functions_in_lanes(axis, neighbour) {
                return Form::PerLane;
            }
            let is_by_rows = across + both > 0 || self.is_short_beside(axis, neighbour);
            return if streams && along == 0 && is_by_rows {
                Form::AccumulatorRows
            } else {
                Form::Contiguous
            };
        }
        match (along, across, other) {
            (0, 0, 0) if per_lane => Form::PerLane,
            // What a window has, those beside it have as well: it stays in a cache.
            (0, 0, 0) if both > 0 && streams => Form::AccumulatorRows,
            (_, _, _) if order == Order::Sequential && per_lane => Form::PerLane,
            (1.., 0, 0) if order == Order::Free && per_lane && self.transposes_rows(axis, neighbour) => {
                Form::PerLane
            }
            (1.., 0, 0) => Form::Contiguous,
            (0, 1.., 0) if streams => Form::AccumulatorRows,
            _ if per_lane => Form::PerLane,
            (0, 1.., _) if streams => Form::AccumulatorRows,
            _ => Form::Contiguous,
        }
    }

    /// Returns whether an axis is so short that a reduction along it in any order takes less time for a row in each lane, of
    /// which 16 bytes at once are transposed in registers. There have to be rows for many lanes.
    fn transposes_rows(&self, axis: AxisId, rows: AxisId) -> bool {
        let is_word = |value: ValueId| match self.nest.values[value.index()].def {
            Def::Load { access, .. } => self.nest.accesses[access.index()].dtype.size() >= MIN_WORD,
            _ => true,
        };
        let is_indexed = |value: &ValueId| self.nest.reductions[value].operand.is_indexed();
        let longest = match self.reduced[&axis].iter().any(is_indexed) {
            true => MAX_TRANSPOSED_ROW_ARG,
            false => MAX_TRANSPOSED_ROW,
        };
        let [extent, rows] = [axis, rows].map(|axis| self.nest.axes[axis.index()].extent.as_constant());
        extent.is_some_and(|extent| extent <= longest)
            && rows.is_none_or(|rows| rows >= LONG_LOOP)
            && self.subtree(axis).into_iter().all(is_word)
    }

    /// Returns whether code computes the functions along a short axis for a row in each lane, instead of calling them for one row
    /// after the other. There have to be rows for several vectors, because those that are left over are computed one by one. Around
    /// a reduction, the lanes would be those of a loop around that.
    fn has_functions_in_lanes(&self, axis: AxisId, rows: AxisId) -> bool {
        let NestAxis { extent, reduction, .. } = &self.nest.axes[rows.index()];
        !reduction
            && extent.as_constant().map_or(self.options.long_rows, |rows| rows >= MIN_ROWS_IN_LANES)
            && self.has_few_operations(axis)
    }

    /// Returns the symbolic numbers of rows of which each lane computes the functions of one.
    pub(super) fn rows_in_lanes(&self) -> impl Iterator<Item = &Dim> {
        let in_lanes = self.reduced.keys().copied().filter(|axis| self.forms[axis] == Form::PerLane);
        let rows = in_lanes
            .filter(|axis| self.has_few_operations(*axis))
            .filter_map(|axis| self.nest.axes[axis.index()].parent);
        rows.map(|rows| &self.nest.axes[rows.index()].extent).filter(|rows| rows.as_constant().is_none())
    }

    /// Returns whether an axis does not fill vectors, and the loop around it may: a function is called for the strip of one of
    /// them. Sums of `pow` over axes of 2 and 4 took 16 times as long with calls for 2 elements each.
    fn is_short_beside(&self, axis: AxisId, rows: AxisId) -> bool {
        let [extent, rows] = [axis, rows].map(|axis| self.nest.axes[axis.index()].extent.as_constant());
        extent.is_some_and(|extent| extent < LONG_LOOP && rows.is_none_or(|rows| rows > extent))
    }

    /// Lets reductions fill vectors along their own axis, or call functions for its elements, where the loop around them has no
    /// vectors, because another loop in it is not computed for several of its steps at once, and the two cannot take turns. Long
    /// rows in any order do not take turns: their vectors take as long, and may begin with the next row before this one ends.
    pub(super) fn turn_lanes(&mut self) {
        let is_contiguous = |axis: AxisId| {
            self.subtree(axis).into_iter().all(|value| match self.nest.values[value.index()].def {
                Def::Load { access, .. } if self.nest.varies[value.index()] & bit(axis) != 0 => {
                    self.nest.accesses[access.index()].stride(axis).is_one()
                }
                _ => true,
            })
        };
        // What a reduction along its own axis has by rows is computed before its vectors.
        let is_in_vectors = |axis: &AxisId| {
            let parent = self.nest.axes[axis.index()].parent;
            parent.is_some_and(|parent| self.forms.get(&parent) == Some(&Form::Contiguous))
        };
        let becomes_contiguous = |axis: &AxisId| {
            let parent = self.nest.axes[axis.index()].parent;
            let mut siblings = self.loops(parent).into_iter();
            let is_free = self.orders[axis] == Order::Free;
            let is_short = self.nest.axes[axis.index()]
                .extent
                .as_constant()
                .is_some_and(|size| size <= MAX_ROW_IN_TURNS);
            self.forms[axis] == Form::PerLane
                && (is_free || self.has_few_operations(*axis))
                && self.loops(Some(*axis)).is_empty()
                && !is_in_vectors(axis)
                && !(parent.is_some_and(|parent| self.takes_turns(parent)) && (is_short || !is_free))
                && siblings.any(|sibling| !self.is_in_lanes(sibling))
                && is_contiguous(*axis)
        };
        let contiguous: Vec<AxisId> = self.reduced.keys().copied().filter(becomes_contiguous).collect();
        self.forms.extend(contiguous.into_iter().map(|axis| (axis, Form::Contiguous)));
    }

    /// Counts the loads that depend on both a reduction axis and its neighbour.
    fn directions(&self, axis: AxisId, neighbour: AxisId) -> Directions {
        let mut directions = Directions::default();
        for value in self.live_values().filter(|value| self.position(*value) == Some(axis)) {
            let accesses = self.nest.values[value.index()].def.accesses();
            let Some((access, used)) = accesses.into_iter().find(|(_, used)| used.reads()) else { continue };
            let (access, taken) = (&self.nest.accesses[access.index()], used == Use::ReadAny);
            let unit = |axis: AxisId| access.stride(axis).is_one();
            let both = bit(axis) | bit(neighbour);
            match () {
                () if self.nest.varies[value.index()] & both != both => {}
                () if taken => directions.other += 1,
                () if unit(axis) && unit(neighbour) => directions.both += 1,
                () if unit(axis) => directions.along += 1,
                () if unit(neighbour) => directions.across += 1,
                () => directions.other += 1,
            }
        }
        directions
    }
}

/// How many loads have neighbours in memory along a reduction axis, along the loop around it, along both, as windows do, or along
/// neither.
#[derive(Default)]
struct Directions {
    along: usize,
    across: usize,
    both: usize,
    other: usize,
}
