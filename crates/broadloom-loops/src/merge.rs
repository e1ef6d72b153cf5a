//! Orders and merges the free axes of a nest, without looking at sizes.
//!
//! Adjacent axes become one loop if every access steps through them as if they were one: `stride_outer ==
//! extent_inner * stride_inner` as polynomials. Two dense axes with the same pattern of stretching always satisfy
//! this: operands of one shape are one flat loop.
//!
//! A short axis merges even if some operands move along only one of the two axes: `(n,3) * (n,1) + (3)` runs as
//! `[n*3]`. Scratch rows hold the three elements of the last operand repeatedly, and each element of the second one
//! three times. For the sake of functions, operands that move along both axes but not as along one, such as `x[:,
//! ::-1]`, are gathered into such a row strip by strip.

use crate::LowerError;
use crate::kernel::{AccessId, AxisId, Def, Value};
use crate::nest::{AxisSet, Gathered, MAX_AXES, Nest, NestAccess, NestAxis, NestStore, Part, bit};
use crate::thresholds::{
    LOADS_OF_STORE, LONG_GATHERED_ROW, LONG_LOOP, LONG_ROW, MAX_BATCH, MAX_GATHERED, MAX_PERIOD,
    MAX_PERIOD_INSIDE, MAX_UNROLLED_TRAILING, MIN_BATCHED, MIN_WORD,
};
use broadloom_ir::dim::Dim;

impl Nest<'_> {
    /// Returns the nest with its axes ordered and merged, unless it is void.
    pub fn arranged(mut self, takes_rows_for_long: bool) -> Result<Self, LowerError> {
        self.store_reductions_around_rows();
        if self.wanted.is_empty() {
            self.order_axes();
            self.order_batches();
            self.merge_axes(takes_rows_for_long)?;
            self.place_scanned();
        }
        Ok(self)
    }

    /// Moves the axis along which most accesses have neighbours in memory to the innermost position, if another one
    /// is clearly better than the current one. Operands against memory order can be read in blocks, so a store
    /// counts as two loads; operands that only one axis moves do not matter. This applies only if every value is
    /// elementwise: reductions have chosen their place by the order.
    fn order_axes(&mut self) {
        let chain = self.free.windows(2).all(|pair| self.axes[pair[1].index()].parent == Some(pair[0]));
        let innermost = self.free.last().copied();
        let plain = self.stores.iter().all(|store| store.scatter.is_none() && store.level == innermost);
        if !self.reductions.is_empty() || self.scanned.is_some() || self.free.len() < 2 || !chain || !plain {
            return;
        }
        let votes = |axis: AxisId| -> usize {
            let unit = self
                .accesses
                .iter()
                .zip(0..)
                .filter(|(access, _)| access.stride(axis) == Dim::ONE && access.axes() != bit(axis));
            let is_stored = |id: usize| self.stores.iter().any(|store| store.access.index() == id);
            unit.map(|(_, id)| if is_stored(id) { LOADS_OF_STORE } else { 1 }).sum()
        };
        let innermost = self.free.len() - 1;
        let best =
            (0..self.free.len()).max_by_key(|&place| (votes(self.free[place]), place)).unwrap_or(innermost);
        if votes(self.free[best]) > votes(self.free[innermost]) {
            let axis = self.free.remove(best);
            self.free.push(axis);
            self.chain_free_axes();
        }
    }

    /// Moves an innermost axis that all operands of reductions move along, such as the last one of `x[i, d, b]` and
    /// `y[d, j, b]` in a product of matrices for each step of `b`, around all others: the reduction can be a contraction
    /// then, which reads each element once for several steps of `i` and `j`. Inside these, it would read all of both tables
    /// again for each step of `i`. Each step of a long one would read a single element of every cache line.
    fn order_batches(&mut self) {
        let chain = self.free.windows(2).all(|pair| self.axes[pair[1].index()].parent == Some(pair[0]));
        let Some((&batch, others)) = self.free.split_last() else { return };
        let is_short =
            self.axes[batch.index()].extent.as_constant().is_some_and(|extent| extent <= MAX_BATCH);
        let plain = self.stores.iter().all(|store| store.scatter.is_none() && store.level == Some(batch));
        let mut reduced = self.axes.iter().filter(|axis| axis.reduction);
        if !chain
            || !plain
            || !is_short
            || self.scanned.is_some()
            || !reduced.all(|axis| axis.parent == Some(batch))
        {
            return;
        }
        let reductions: AxisSet =
            self.reductions.values().fold(0, |set, reduction| set | bit(reduction.axis));
        let moved: Vec<AxisSet> =
            self.accesses.iter().map(NestAccess::axes).filter(|axes| axes & reductions != 0).collect();
        let is_long = |axis: AxisId| {
            let extent = self.axes[axis.index()].extent.as_constant();
            extent.is_none_or(|extent| extent >= MIN_BATCHED)
        };
        let alone = others.iter().filter(|axis| {
            let along = moved.iter().filter(|axes| **axes & bit(**axis) != 0).count();
            (1..moved.len()).contains(&along) && is_long(**axis)
        });
        if alone.count() < 2 || moved.iter().any(|axes| axes & bit(batch) == 0) {
            return;
        }
        self.free.rotate_right(1);
        self.chain_free_axes();
        let innermost = self.free.last().copied();
        self.axes.iter_mut().filter(|axis| axis.reduction).for_each(|axis| axis.parent = innermost);
    }

    /// Puts each free loop into the one before it, and the stores into the last.
    pub(crate) fn chain_free_axes(&mut self) {
        let mut parent = None;
        for &axis in &self.free {
            self.axes[axis.index()].parent = parent;
            parent = Some(axis);
        }
        self.stores.iter_mut().for_each(|store| store.level = parent);
    }

    /// Merges free axes as far as accesses allow.
    fn merge_axes(&mut self, takes_rows_for_long: bool) -> Result<(), LowerError> {
        for inner in (1..self.free.len()).rev() {
            let axis = self.free[inner];
            if let Some(outer) = self.around(axis)
                && self.merging(outer, axis)? == Some(Merge::default())
            {
                self.merge(outer, axis)?;
            }
        }
        // Recurring operands are read into rows once, before scans run.
        let Some(&inner) = self.free.last().filter(|_| self.scanned.is_none()) else { return Ok(()) };
        let Some(outer) = self.around(inner) else { return Ok(()) };
        let Some(merge) = self.merging(outer, inner)? else { return Ok(()) };
        let Some(recurring) = self.may_keep_parts(outer, inner, &merge) else { return Ok(()) };
        let extent = self.axes[inner.index()].extent.clone();
        if extent.as_constant().is_none() && takes_rows_for_long {
            self.long_rows.push((extent, merge.long_row()));
            return Ok(());
        }
        self.merge_with_parts(outer, inner, &merge, recurring)
    }

    fn around(&self, axis: AxisId) -> Option<AxisId> {
        self.axes[axis.index()].parent
    }

    /// Moves everything along the outer axis onto the inner one, whose length becomes that of both.
    fn merge(&mut self, outer_axis: AxisId, inner_axis: AxisId) -> Result<(), LowerError> {
        let outer = self.axes[outer_axis.index()].clone();
        let entry = &mut self.axes[inner_axis.index()];
        entry.extent = outer.extent.mul(&entry.extent)?;
        entry.parent = outer.parent;
        self.free.retain(|axis| *axis != outer_axis);
        for access in &mut self.accesses {
            access.strides.retain(|(axis, _)| *axis != outer_axis);
        }
        let merged = |set: AxisSet| {
            if set & bit(outer_axis) != 0 { set & !bit(outer_axis) | bit(inner_axis) } else { set }
        };
        self.depends.iter_mut().for_each(|set| *set = merged(*set));
        self.varies.iter_mut().for_each(|set| *set = merged(*set));
        Ok(())
    }

    /// Returns how an axis merges with the one around it, if it does.
    fn merging(&self, outer: AxisId, inner: AxisId) -> Result<Option<Merge>, LowerError> {
        let named = |axis: AxisId| {
            self.values.iter().any(|value| value.def == Def::Index(axis))
                || !self.axes[axis.index()].groups.is_empty()
                || self.axes.iter().flat_map(NestAxis::counters).any(|counter| counter == axis)
        };
        let within = |axis: &NestAxis| axis.parent == Some(outer);
        let around = self.axes.iter().any(|axis| axis.reduction && within(axis))
            || self.free.iter().filter(|axis| within(&self.axes[axis.index()])).count() > 1
            || self.stores.iter().any(|store| store.level == Some(outer));
        let in_order = [outer, inner].map(Some).contains(&self.scanned);
        if named(outer) || named(inner) || around || in_order {
            return Ok(None);
        }
        let extent = &self.axes[inner.index()].extent;
        let mut merge = Merge::default();
        for (access, id) in self.accesses.iter().zip(0..) {
            let (along_outer, along_inner) = (access.stride(outer), access.stride(inner));
            match () {
                () if along_outer == extent.mul(&along_inner)? => {}
                () if along_outer.is_zero() => merge.recurring.push(AccessId::new(id)),
                () if along_inner.is_zero() => merge.stretches = true,
                () => merge.gathered.push(AccessId::new(id)),
            }
        }
        Ok(Some(merge))
    }

    /// Returns whether it is possible and worthwhile to keep operands in rows that do not move along two axes as
    /// along one, and how recurring operands get there.
    fn may_keep_parts(&self, outer: AxisId, inner: AxisId, merge: &Merge) -> Option<Recurring> {
        let is_called =
            |value: &Value| matches!(&value.def, Def::Op { op, .. } if op.tile(value.dtype).is_some());
        let of = |axes: AxisSet| {
            let both = bit(outer) | bit(inner);
            let values = self.values.iter().zip(&self.depends);
            values.filter(move |(_, depends)| **depends & both == axes).map(|(value, _)| value)
        };
        let calls = of(bit(outer) | bit(inner)).any(is_called);
        let extent = self.axes[inner.index()].extent.as_constant();
        // Rows of recurring operands are filled once, or beside loops that would be too short for vectors.
        let longest = if self.around(outer).is_none() { MAX_PERIOD } else { MAX_PERIOD_INSIDE };
        let is_period = extent.is_some_and(|extent| (2..=longest).contains(&extent));
        // Rows of stretched operands are filled for each strip: this is less work than functions along short axes,
        // or than loops over a few elements.
        let shorter_than = if calls { merge.long_row() } else { LONG_LOOP };
        let may_stretch = extent.map_or(calls, |extent| (2..shorter_than).contains(&extent))
            && !self.is_row_of_words(inner)
            && !of(bit(outer)).any(is_called);
        // The same holds for gathered rows, at a higher cost.
        let may_gather = calls && may_stretch;
        let recurring = if is_period { Recurring::Periodic } else { Recurring::Gathered };
        let gathered: Vec<AccessId> = merge.gathered(recurring).collect();
        let is_gathered = |value: &&Value| value.def.accesses().iter().any(|(of, _)| gathered.contains(of));
        let gathering: Vec<&Value> = self.values.iter().filter(is_gathered).collect();
        let may_recur = !of(bit(inner)).any(is_called);
        // Values in the loop over the merged axis may not address an array by a part of the axis.
        let both = bit(outer) | bit(inner);
        let moved = |access: AccessId| self.accesses[access.index()].axes() & both;
        let addresses = |(value, depends): (&Value, &AxisSet)| {
            let mut accesses = value.def.accesses().into_iter().map(|(access, _)| moved(access));
            accesses.all(|moved| moved == 0 || moved == depends & both)
        };
        // The strides of an empty array may be zero.
        let stores = |store: &NestStore| {
            let is_plain =
                [0, both].contains(&moved(store.access)) && !merge.gathered.contains(&store.access);
            store.scatter.is_none() && is_plain
        };
        let may = (may_recur || merge.recurring.is_empty())
            && (may_stretch || !merge.stretches)
            && (may_gather || gathered.is_empty())
            && gathering.len() <= MAX_GATHERED
            && gathering.iter().all(|value| matches!(value.def, Def::Load { .. }))
            && self.values.iter().zip(&self.depends).all(addresses)
            && self.axes.iter().all(|axis| axis.parent != Some(inner))
            && self.stores.iter().all(stores)
            && self.axes.len() + 2 <= MAX_AXES;
        may.then_some(recurring)
    }

    /// Returns whether rows along a short axis are loaded and stored as a whole if it is unrolled: their elements are
    /// vectors along the axis around it then, and so is what would be stretched.
    fn is_row_of_words(&self, inner: AxisId) -> bool {
        let extent = self.axes[inner.index()].extent.as_constant();
        let mut along = self.accesses.iter().filter(|access| !access.stride(inner).is_zero());
        extent.is_some_and(|extent| extent <= MAX_UNROLLED_TRAILING)
            && along.all(|access| access.dtype.size() >= MIN_WORD)
    }

    /// Merges two axes, with separate axes for operands that move along only one of them.
    fn merge_with_parts(
        &mut self,
        outer: AxisId,
        inner: AxisId,
        merge: &Merge,
        recurring: Recurring,
    ) -> Result<(), LowerError> {
        let steps = self.axes[inner.index()].extent.clone();
        for access in merge.gathered(recurring) {
            let access = &mut self.accesses[access.index()];
            let strides = [outer, inner].map(|axis| access.stride(axis));
            access.strides.retain(|(axis, _)| *axis != outer && *axis != inner);
            access.gathered = Some(Gathered { axis: inner, steps: steps.clone(), strides });
        }
        let mut parts = Vec::new();
        if !merge.recurring.is_empty() && recurring == Recurring::Periodic {
            let axis = self.axis(NestAxis {
                part: Some(Part::Inner(inner)),
                ..NestAxis::free(steps.clone(), self.around(outer))
            })?;
            parts.push((inner, outer, axis));
        }
        if merge.stretches {
            let extent = self.axes[outer.index()].extent.clone();
            let steps = self.extent(&steps);
            let axis = self.axis(NestAxis {
                part: Some(Part::Outer(inner, steps)),
                ..NestAxis::free(extent, Some(inner))
            })?;
            parts.push((outer, inner, axis));
        }
        for (alone, other, part) in parts {
            for access in self.accesses.iter_mut().filter(|access| access.stride(other).is_zero()) {
                access
                    .strides
                    .iter_mut()
                    .filter(|(axis, _)| *axis == alone)
                    .for_each(|(axis, _)| *axis = part);
                access.strides.sort_by_key(|(axis, _)| *axis);
            }
            let both = bit(alone) | bit(other);
            for (depends, varies) in self.depends.iter_mut().zip(&mut self.varies) {
                if *depends & both == bit(alone) {
                    for set in [depends, varies] {
                        *set = if *set & bit(alone) != 0 { *set & !bit(alone) | bit(part) } else { *set };
                    }
                }
            }
            self.free.push(part);
        }
        self.merge(outer, inner)
    }
}

/// The way in which two axes merge.
#[derive(Debug, Default, PartialEq, Eq)]
struct Merge {
    /// The accesses that move only along the inner axis: their elements recur.
    recurring: Vec<AccessId>,
    /// Whether some accesses move only along the outer axis: their elements are stretched.
    stretches: bool,
    /// The accesses that move along both, but not as along one.
    gathered: Vec<AccessId>,
}

impl Merge {
    /// Returns the shortest inner axis along which functions are called row by row instead.
    fn long_row(&self) -> i64 {
        if self.gathered.is_empty() { LONG_ROW } else { LONG_GATHERED_ROW }
    }

    /// Returns the accesses that are gathered strip by strip.
    fn gathered(&self, recurring: Recurring) -> impl Iterator<Item = AccessId> + '_ {
        let recurring = self.recurring.iter().filter(move |_| recurring == Recurring::Gathered);
        self.gathered.iter().chain(recurring).copied()
    }
}

/// The way in which recurring operands get into rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recurring {
    /// Once, with as many repetitions as a strip may need.
    Periodic,
    /// Again for each strip.
    Gathered,
}
