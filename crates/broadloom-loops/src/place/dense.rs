//! Contiguous rows of a table: reductions into scratch rows walk several short ones as one.

use super::{Form, Placement};
use crate::flat::FlatId;
use crate::kernel::{AccessId, AxisId, Def, Order, ValueId};
use crate::nest::{NestReduction, bit};
use crate::plan::Reason;
use crate::thresholds::MIN_CALLED_STRIP;
use broadloom_ir::dim::Dim;
use std::collections::HashSet;

impl Placement<'_, '_> {
    /// Returns whether there are reductions, and all of them are over dense rows of tables.
    pub fn is_over_dense_rows(&self) -> bool {
        !self.reduced.is_empty() && self.reduced.keys().all(|axis| self.has_dense_rows(*axis))
    }

    /// Returns whether a reduction is over dense rows of tables.
    pub fn has_dense_rows(&self, axis: AxisId) -> bool {
        self.dense.contains(&axis)
    }

    pub(super) fn find_dense_rows(&self) -> HashSet<AxisId> {
        self.reduced.keys().copied().filter(|axis| self.is_dense(*axis)).collect()
    }

    /// Returns whether a reduction into scratch rows reads only contiguous rows of tables, and nothing else
    /// distinguishes the elements of two rows.
    fn is_dense(&self, axis: AxisId) -> bool {
        let nest = self.nest;
        let Some(strip) = nest.axes[axis.index()].parent else { return false };
        let row = &nest.axes[strip.index()].extent;
        let both = bit(axis) | bit(strip);
        let along = |value: ValueId| nest.depends[value.index()] & both;
        let is_dense = |access: AccessId| {
            let access = &nest.accesses[access.index()];
            let (down, across) = (access.stride(axis), access.stride(strip));
            across.is_one() && down == *row || across.is_zero() && down.is_zero()
        };
        let is_plain = |value: ValueId| {
            let def = &nest.values[value.index()].def;
            let is_known =
                !matches!(def, Def::Index(_) | Def::Take { .. } | Def::Search { .. } | Def::Checked { .. });
            is_known && along(value) == both && def.accesses().into_iter().all(|(access, _)| is_dense(access))
        };
        // An order-free accumulator has one row and no lanes.
        let has_lanes = |value: &ValueId| {
            let NestReduction { op, dtype, operand, .. } = &nest.reductions[value];
            !operand.is_indexed() && !op.is_order_free(*dtype)
        };
        self.forms.get(&axis) == Some(&Form::AccumulatorRows)
            && matches!(self.orders.get(&axis), Some(Order::Tree | Order::Blocks))
            && self.loops(Some(axis)).is_empty()
            && self.reduced[&axis].iter().all(has_lanes)
            && self.subtree(axis).into_iter().all(is_plain)
            && self.read_from_outside(axis).into_iter().all(|value| along(value) == 0)
    }

    /// Returns the functions over short strips in each step of a reduction that streams along another axis. They cost
    /// more than their arithmetic, and other loops often need them too, so their results are stored, unless several rows
    /// are walked at once. A broadcast that no array holds may be larger than all arrays, and is not stored for this reason.
    pub fn short_calls(&self) -> impl Iterator<Item = (FlatId, Reason)> {
        let short = |(call, strip): (ValueId, &Dim)| {
            let Def::Op { op, .. } = self.nest.values[call.index()].def else { return None };
            let length = strip.as_constant();
            let is_short = length.map_or(!self.options.long_rows, |length| length < MIN_CALLED_STRIP);
            is_short.then(|| (self.nest.nodes[call.index()], Reason::ShortStrip { op: op.name(), length }))
        };
        self.streamed_calls().filter_map(short)
    }

    /// Returns the symbolic lengths of strips over which functions are called in each step of a reduction.
    pub(super) fn called_strips(&self) -> Vec<Dim> {
        let strips = self.streamed_calls().map(|(_, strip)| strip);
        let mut lengths: Vec<Dim> = strips.filter(|strip| strip.as_constant().is_none()).cloned().collect();
        lengths.dedup();
        lengths
    }

    /// Returns the calls of values that may be stored in each step of a reduction that streams along another axis
    /// row by row, and the lengths of the strips.
    fn streamed_calls(&self) -> impl Iterator<Item = (ValueId, &Dim)> {
        let streamed = |call: ValueId| {
            let axis =
                self.position(call).filter(|axis| self.forms.get(axis) == Some(&Form::AccumulatorRows))?;
            let strip = self.nest.axes[axis.index()].parent?;
            let is_function = self.is_call(call) || self.inlined.contains(&call);
            let is_one = is_function && !self.has_dense_rows(axis) && self.is_held(call);
            is_one.then(|| (call, &self.nest.axes[strip.index()].extent))
        };
        self.live_values().filter_map(streamed)
    }

    /// Returns whether an array that a value is computed from has all axes of the value.
    fn is_held(&self, value: ValueId) -> bool {
        let nest = self.nest;
        let axes = nest.depends[value.index()];
        let is_whole = |access: AccessId| axes & !nest.accesses[access.index()].axes() == 0;
        let (mut seen, mut stack) = (vec![value], vec![value]);
        while let Some(value) = stack.pop() {
            if matches!(nest.values[value.index()].def, Def::Load { access, .. } if is_whole(access)) {
                return true;
            }
            let sources = self.sources(value).into_iter().filter(|source| !seen.contains(source));
            let sources: Vec<ValueId> = sources.collect();
            seen.extend(&sources);
            stack.extend(sources);
        }
        false
    }
}
