//! Places every value of a nest, and chooses the form of every reduction.
//!
//! A value is placed in the loop of the deepest axis that it depends on: values that depend only on outer axes are
//! computed in the outer loop. A value that would be recomputed repeatedly at any place (`sin(y[1,m])` under a loop
//! over n) is reported, so that a kernel of its own stores it.

mod apart;
mod blocks;
mod contraction;
mod dense;
mod forms;
mod inlined;
mod kept;
mod order;
mod recomputed;

pub(crate) use blocks::Blocks;
pub(crate) use contraction::Contraction;
pub(crate) use kept::Kept;

use crate::kernel::*;
use crate::nest::{Found, Gathered, Nest, NestAxis, NestStore, Part, bit};
use crate::thresholds::{
    MIN_CALLED_STRIP, MIN_ROWS_IN_LANES, REGISTERS_OF_CROWDED_VALUE, REGISTERS_OF_VALUE, USUAL_LANE_BYTES,
    max_uncrowded_values,
};
use crate::{LowerOptions, Target};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::SEQUENTIAL_LIMIT;
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

/// The form in which a reduction runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One accumulator per lane of the vector loop around it.
    PerLane,
    /// Along its own axis, several neighbours in memory at once.
    Contiguous,
    /// Along its own axis, element by element, because it contains loops.
    Serial,
    /// Rows of accumulators over the strip of the loop around it.
    AccumulatorRows,
    /// For the strips of both loops around it at once, before their steps, which read its results from rows.
    Contraction,
    /// Along its own axis, with a tile function that keeps the best elements in rows.
    Best,
    /// Along its own axis for the whole strip of the loop around it, with the best elements in rows over the strip.
    BestRows,
}

impl Form {
    /// Returns whether the reduction works on whole rows over the strip of the loop around it, and so ends a stage.
    pub fn is_by_rows(self) -> bool {
        matches!(self, Form::AccumulatorRows | Form::BestRows)
    }
}

/// An element of a level of the loop tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Item {
    Value(ValueId),
    Loop(AxisId),
    Store(usize),
}

/// A nest with the places of its values.
#[derive(Debug)]
pub(crate) struct Placement<'n, 'a> {
    pub nest: &'n Nest<'a>,
    position: Vec<Option<AxisId>>,
    live: Vec<bool>,
    pub forms: HashMap<AxisId, Form>,
    pub orders: HashMap<AxisId, Order>,
    /// The reduced values of each reduction axis, in order.
    pub reduced: HashMap<AxisId, Vec<ValueId>>,
    /// Calls whose results are read from a row that an earlier reduction has kept.
    pub kept: HashMap<ValueId, Kept>,
    /// Calls that write directly to arrays, and the stores that they replace.
    pub stored_calls: HashMap<ValueId, usize>,
    /// The functions that are computed in the loops that read them.
    inlined: HashSet<ValueId>,
    /// Values whose readers are in a later loop over the strip.
    apart: HashSet<ValueId>,
    /// The loops that call all of their functions, because their code would be very long otherwise.
    calling: HashSet<AxisId>,
    /// The reductions over dense rows.
    dense: HashSet<AxisId>,
    /// The contractions, by the loop around them that has a row per step.
    pub contractions: BTreeMap<AxisId, Contraction>,
    /// The reductions over such loops inside another reduction.
    rows_of_contractions: Vec<AxisId>,
    options: &'n LowerOptions,
}

impl<'n, 'a> Placement<'n, 'a> {
    pub fn new(nest: &'n Nest<'a>, options: &'n LowerOptions) -> Placement<'n, 'a> {
        let mut placement = Placement {
            nest,
            position: Vec::new(),
            live: vec![false; nest.values.len()],
            forms: HashMap::new(),
            orders: HashMap::new(),
            reduced: HashMap::new(),
            kept: HashMap::new(),
            stored_calls: HashMap::new(),
            inlined: HashSet::new(),
            apart: HashSet::new(),
            calling: HashSet::new(),
            dense: HashSet::new(),
            contractions: BTreeMap::new(),
            rows_of_contractions: Vec::new(),
            options,
        };
        placement.position = (0..nest.values.len())
            .map(|index| match nest.reductions.get(&ValueId::new(index)) {
                Some(reduction) => nest.axes[reduction.axis.index()].parent,
                None => nest.deepest(nest.depends[index]),
            })
            .collect();
        placement.mark_live();
        for value in placement.live_values() {
            if let Some(reduction) = nest.reductions.get(&value) {
                placement.reduced.entry(reduction.axis).or_default().push(value);
            }
        }
        let mut axes: Vec<AxisId> = placement.reduced.keys().copied().collect();
        axes.sort_by_key(|axis| (std::cmp::Reverse(nest.depth(*axis)), *axis));
        for axis in axes {
            let order = placement.order(axis);
            placement.orders.insert(axis, order);
            let form = placement.form(axis, order);
            placement.forms.insert(axis, form);
        }
        placement.dense = placement.find_dense_rows();
        placement.keep_rows();
        placement.find_contractions();
        placement.turn_lanes();
        placement.calling = placement.find_calling();
        placement.inlined = placement.find_inlined();
        placement.apart = placement.find_apart();
        placement.find_stored_calls();
        placement
    }

    /// Marks everything that stores are computed from.
    fn mark_live(&mut self) {
        self.live.fill(false);
        let mut stack: Vec<ValueId> = self.nest.stores.iter().flat_map(NestStore::reads).collect();
        while let Some(value) = stack.pop() {
            if !std::mem::replace(&mut self.live[value.index()], true) {
                stack.extend(self.sources(value));
            }
        }
    }

    pub fn live_values(&self) -> impl Iterator<Item = ValueId> + use<> {
        let live: Vec<ValueId> = self
            .live
            .iter()
            .enumerate()
            .filter(|(_, live)| **live)
            .map(|(index, _)| ValueId::new(index))
            .collect();
        live.into_iter()
    }

    /// Returns the loop that contains a value; `None` means outside all loops.
    pub fn position(&self, value: ValueId) -> Option<AxisId> {
        self.position[value.index()]
    }

    /// Returns what a value is computed from; for a reduced value, the contributions of its elements.
    pub fn sources(&self, value: ValueId) -> SmallVec<[ValueId; 3]> {
        if let Some(kept) = self.kept.get(&value) {
            return smallvec![kept.after];
        }
        match &self.nest.values[value.index()].def {
            Def::Reduced => match self.nest.scans.get(&value) {
                Some(scan) => smallvec![scan.operand],
                None => self.nest.reductions[&value].operand.operands(),
            },
            def => def.operands(),
        }
    }

    /// Returns whether an axis is inside the loop of another, or equal to it.
    fn is_within(&self, axis: Option<AxisId>, around: AxisId) -> bool {
        axis.is_some_and(|axis| self.nest.path(Some(axis)).contains(&around))
    }

    /// Returns the live loops directly inside a level.
    pub fn loops(&self, level: Option<AxisId>) -> Vec<AxisId> {
        // A part of a merged axis has its own loop only for the values in it.
        let is_live = |axis: &AxisId| {
            self.nest.axes[axis.index()].part.is_none()
                || self.live_values().any(|value| self.position(value) == Some(*axis))
        };
        let mut loops: Vec<AxisId> = self
            .nest
            .free
            .iter()
            .copied()
            .filter(|axis| self.nest.axes[axis.index()].parent == level && is_live(axis))
            .collect();
        let mut reductions: Vec<AxisId> = self
            .reduced
            .keys()
            .copied()
            .filter(|axis| self.nest.axes[axis.index()].parent == level)
            .collect();
        reductions.sort();
        loops.extend(reductions);
        loops
    }

    /// Returns the live values in the loop of an axis or in one inside it.
    pub fn subtree(&self, axis: AxisId) -> Vec<ValueId> {
        self.live_values().filter(|value| self.is_within(self.position(*value), axis)).collect()
    }

    /// Returns the values that a loop and those inside it read, but do not contain. What contractions compute again where they
    /// pack their operands is not read.
    pub fn read_from_outside(&self, axis: AxisId) -> Vec<ValueId> {
        let mut read: Vec<ValueId> = Vec::new();
        let mut add = |level: Option<AxisId>, value: ValueId| {
            let again = level.map_or(&[][..], |level| self.packed_from_around(level));
            read.extend(self.sources(value).into_iter().filter(|source| !again.contains(source)));
        };
        for value in self.subtree(axis) {
            add(self.position(value), value);
        }
        for (of, reduced) in &self.reduced {
            if self.is_within(Some(*of), axis) {
                reduced.iter().for_each(|value| add(Some(*of), *value));
            }
        }
        let stores = self.nest.stores.iter().filter(|store| self.is_within(store.level, axis));
        read.extend(stores.flat_map(NestStore::reads));
        read.retain(|value| !self.is_within(self.position(*value), axis));
        read.sort();
        read.dedup();
        read
    }

    /// Returns what an item of a level reads that is itself an item of the level.
    pub fn item_sources(&self, item: Item, level: Option<AxisId>) -> Vec<Item> {
        let values: Vec<ValueId> = match item {
            Item::Value(value) => self.sources(value).into_vec(),
            Item::Loop(axis) => self.read_from_outside(axis),
            Item::Store(store) => self.nest.stores[store].reads().collect(),
        };
        let mut items: Vec<Item> =
            values.into_iter().filter_map(|value| self.item_at(value, level)).collect();
        items.sort();
        items.dedup();
        items
    }

    /// Returns the item of a level from which a value is read there: the item that produces it, or the loop over a
    /// part of a merged axis.
    fn item_at(&self, value: ValueId, level: Option<AxisId>) -> Option<Item> {
        let position = self.position(value);
        let part = position.filter(|axis| {
            let NestAxis { parent, part, .. } = self.nest.axes[axis.index()];
            part.is_some() && parent == level
        });
        part.map(Item::Loop).or_else(|| (position == level).then(|| self.item_of(value)))
    }

    /// Returns the merged axis along which a value recurs or is stretched.
    pub fn merged_axis(&self, value: ValueId) -> Option<AxisId> {
        match self.nest.axes[self.position(value)?.index()].part? {
            Part::Inner(merged) | Part::Outer(merged, _) => Some(merged),
        }
    }

    /// Returns the values of a part of a merged axis that are read outside its loop.
    pub fn read_from_part(&self, part: AxisId) -> Vec<ValueId> {
        let readers = self.live_values().filter(|value| self.position(*value) != Some(part));
        let mut read: Vec<ValueId> = readers.flat_map(|value| self.sources(value)).collect();
        read.extend(self.nest.stores.iter().flat_map(NestStore::reads));
        read.retain(|value| self.position(*value) == Some(part));
        read.sort();
        read.dedup();
        read
    }

    /// Returns the array that a value is loaded from, if its elements are contiguous in a strip of an axis.
    pub fn side_by_side(&self, value: ValueId, strip: AxisId) -> Option<Operand> {
        match self.nest.values[value.index()].def {
            Def::Load { access, delta } if self.nest.accesses[access.index()].stride(strip).is_one() => {
                Some(Operand::Array { access, delta })
            }
            _ => None,
        }
    }

    /// Finds calls with a single store as their only use, whose results are contiguous in the array.
    fn find_stored_calls(&mut self) {
        let nest = self.nest;
        let mut readers = vec![0usize; nest.values.len()];
        let stored = nest.stores.iter().flat_map(NestStore::reads);
        let read = self.live_values().flat_map(|value| self.sources(value)).chain(stored);
        read.for_each(|value| readers[value.index()] += 1);
        for call in self.kept.values().map(|kept| kept.call) {
            readers[call.index()] += 1;
        }
        let is_direct = |store: &NestStore| {
            let access = &nest.accesses[store.access.index()];
            readers[store.value.index()] == 1
                && store.scatter.is_none()
                && self.is_by_rows(store.value)
                && self.position(store.value) == store.level
                && store.level.is_some_and(|strip| access.stride(strip).is_one())
                && access.dtype == nest.values[store.value.index()].dtype
        };
        let direct = nest.stores.iter().enumerate().filter(|(_, store)| is_direct(store));
        self.stored_calls = direct.map(|(index, store)| (store.value, index)).collect();
    }

    /// Returns the loads that are gathered into rows over the strip of an axis.
    pub fn gathered(&self, axis: AxisId) -> Vec<(ValueId, &Gathered)> {
        let of = |value: ValueId| match self.nest.values[value.index()].def {
            Def::Load { access, .. } => self.nest.accesses[access.index()].gathered.as_ref(),
            _ => None,
        };
        let loads = self.live_values().filter_map(|value| Some((value, of(value)?)));
        loads.filter(|(_, gathered)| gathered.axis == axis).collect()
    }

    /// Returns the item that produces a value.
    pub fn item_of(&self, value: ValueId) -> Item {
        match self.nest.reductions.get(&value) {
            Some(reduction) => Item::Loop(reduction.axis),
            None => Item::Value(value),
        }
    }

    /// Returns the items of a level in an order in which each comes after what it reads.
    pub fn items(&self, level: Option<AxisId>) -> Vec<Item> {
        let mut items: Vec<Item> = self
            .live_values()
            .filter(|value| self.position(*value) == level && !self.nest.reductions.contains_key(value))
            .map(Item::Value)
            .collect();
        items.extend(self.loops(level).into_iter().map(Item::Loop));
        let stores = (0..self.nest.stores.len()).filter(|store| self.nest.stores[*store].level == level);
        items.extend(stores.map(Item::Store));
        let mut sources: HashMap<Item, Vec<Item>> = HashMap::new();
        let mut sorted: Vec<Item> = Vec::with_capacity(items.len());
        let mut done: HashSet<Item> = HashSet::new();
        for item in items {
            let mut stack = vec![item];
            while let Some(&top) = stack.last() {
                if done.contains(&top) {
                    stack.pop();
                    continue;
                }
                let read = sources.entry(top).or_insert_with(|| self.item_sources(top, level));
                let missing: Vec<Item> =
                    read.iter().copied().filter(|source| !done.contains(source)).collect();
                if missing.is_empty() {
                    done.insert(top);
                    sorted.push(top);
                    stack.pop();
                } else {
                    stack.extend(missing);
                }
            }
        }
        if level.is_some() { self.with_fewer_alive(sorted, &sources) } else { sorted }
    }

    /// Returns whether a tile function computes a value for whole rows.
    pub fn is_call(&self, value: ValueId) -> bool {
        self.position(value).is_some()
            && !self.kept.contains_key(&value)
            && !self.inlined.contains(&value)
            && self.is_function(value)
    }

    /// Returns whether there is a tile function for a value.
    fn is_function(&self, value: ValueId) -> bool {
        let entry = &self.nest.values[value.index()];
        matches!(&entry.def, Def::Op { op, .. } if op.tile(entry.dtype).is_some())
    }

    /// Returns whether a value is computed for whole rows: by a tile function, or by a scan along the rows.
    pub fn is_by_rows(&self, value: ValueId) -> bool {
        self.is_call(value)
            || self.nest.scans.contains_key(&value) && self.position(value) == self.nest.scanned
    }

    /// Returns whether the readers of a value are in a later loop over the strip.
    pub fn ends_stage(&self, value: ValueId) -> bool {
        self.apart.contains(&value)
    }

    /// Returns whether the loop over an axis is one of its own with vectors, whatever is inside it.
    fn is_outer(&self, axis: AxisId) -> bool {
        self.nest.axes[axis.index()].part.is_none()
            && !self.forms.contains_key(&axis)
            && self.vectorizes(axis, Some(axis), &[])
    }

    /// Returns whether the loop over an axis fills whole rows over the strip around it.
    pub fn fills_rows(&self, axis: AxisId) -> bool {
        matches!(self.nest.axes[axis.index()].part, Some(Part::Outer(..)))
            || self.forms.get(&axis).is_some_and(|form| form.is_by_rows())
    }

    fn order(&self, axis: AxisId) -> Order {
        let entry = &self.nest.axes[axis.index()];
        let free = self.reduced[&axis].iter().all(|value| {
            let reduction = &self.nest.reductions[value];
            reduction.op.is_order_free(reduction.dtype)
        });
        let short = entry.extent.as_constant().is_some_and(|extent| extent <= SEQUENTIAL_LIMIT as i64);
        match () {
            () if free => Order::Free,
            () if entry.combines => Order::Counter,
            () if short => Order::Sequential,
            () if self.options.tail.as_ref() == Some(&entry.extent) => Order::Blocks,
            () => Order::Tree,
        }
    }

    /// Returns whether an axis counts the groups of another.
    fn is_counter(&self, axis: AxisId) -> bool {
        self.nest.axes.iter().flat_map(NestAxis::counters).any(|counter| counter == axis)
    }

    /// Returns the axis whose vector loop or strip a reduction may share: the one around it, unless its steps are
    /// groups, whose ranges differ.
    fn neighbour(&self, axis: AxisId) -> Option<AxisId> {
        let parent = self.nest.axes[axis.index()].parent?;
        (!self.is_counter(parent)).then_some(parent)
    }

    /// Returns the walk in a loop that covers its whole strip at once, if there is one.
    pub fn best_in(&self, axis: AxisId) -> Option<Found> {
        let walks = self.nest.found.iter().filter(|(walk, _)| self.forms.get(walk) == Some(&Form::BestRows));
        let mut inside = walks.filter(|(walk, _)| self.nest.axes[walk.index()].parent == Some(axis));
        inside.next().map(|(_, found)| *found)
    }

    /// Returns whether a loop over a free axis (or over one in a strip) may compute several steps at once, given
    /// the loops inside it.
    pub fn vectorizes(&self, axis: AxisId, level: Option<AxisId>, inside: &[AxisId]) -> bool {
        let counts = self.is_counter(axis);
        let short = self.steps(axis, level).is_some_and(|steps| steps < LEAST_LANES as i64);
        self.options.vectorize && !counts && !short && inside.iter().all(|inner| self.is_in_lanes(*inner))
    }

    /// Returns whether a loop inside another one is computed for several steps of that one at once.
    pub fn is_in_lanes(&self, inner: AxisId) -> bool {
        matches!(self.forms.get(&inner), Some(Form::PerLane | Form::Contraction))
    }

    /// Returns whether the stages of a loop over a free axis take turns: reductions of short rows run in its lanes, and other
    /// loops inside it have vectors of their own, as in `x - x.mean(1)` of rows in the order of memory.
    pub fn takes_turns(&self, axis: AxisId) -> bool {
        let inside = self.loops(Some(axis));
        let keeps = |value: &ValueId| self.position(*value).is_some_and(|of| inside.contains(&of));
        self.is_outer(axis)
            && inside.iter().any(|inner| self.forms.get(inner) == Some(&Form::PerLane))
            && inside.iter().any(|inner| !self.is_in_lanes(*inner))
            // A kept row lives for one step.
            && !self.kept.keys().any(keeps)
    }

    /// Returns the number of steps of the loop over an axis at a level, if it is constant: in a reduction over
    /// dense rows, the loop may continue from one row into the next.
    fn steps(&self, axis: AxisId, level: Option<AxisId>) -> Option<i64> {
        let is_dense = level.is_some_and(|level| level != axis && self.has_dense_rows(level));
        self.nest.axes[axis.index()].extent.as_constant().filter(|_| !is_dense)
    }

    /// Returns the number of steps computed at once for values of these dtypes.
    pub fn lanes(&self, axis: AxisId, level: Option<AxisId>, values: impl Iterator<Item = ValueId>) -> usize {
        let (mut count, mut widest, mut narrowest) = (0, None, 8);
        for value in values.filter(|value| self.nest.varies[value.index()] & bit(axis) != 0) {
            let entry = &self.nest.values[value.index()];
            let narrow = self.nest.reductions.get(&value).is_some_and(|reduction| {
                matches!(reduction.operand, Contribution::Indexed { narrow: true, .. })
            });
            if narrow {
                continue;
            }
            count += 1;
            // Elements that are not contiguous are loaded one by one, however short they are.
            let is_apart = matches!(entry.def, Def::Load { access, .. }
                if !self.nest.accesses[access.index()].stride(axis).is_one());
            if entry.dtype != DType::Bool || matches!(entry.def, Def::Load { .. }) {
                let size = entry.dtype.arithmetic().size().max(if is_apart { USUAL_LANE_BYTES } else { 1 });
                widest = widest.max(Some(size));
                narrowest = narrowest.min(size);
            }
        }
        let element = widest.unwrap_or(USUAL_LANE_BYTES);
        let is_crowded =
            element == USUAL_LANE_BYTES && narrowest > 1 && count > max_uncrowded_values(self.target());
        let registers = if is_crowded { REGISTERS_OF_CROWDED_VALUE } else { REGISTERS_OF_VALUE };
        let preferred = registers * self.target().vector_bytes / element;
        // A short axis also fills whole vectors.
        match self.steps(axis, level) {
            Some(steps) if steps < 2 * LEAST_LANES as i64 => LEAST_LANES,
            Some(steps) if steps < 4 * LEAST_LANES as i64 => preferred.min(2 * LEAST_LANES),
            _ => preferred,
        }
    }

    /// Returns the assumptions of the kernel about sizes.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let is_narrow = |value: &ValueId| {
            matches!(self.nest.reductions[value].operand, Contribution::Indexed { narrow: true, .. })
        };
        let narrow = self.reduced.iter().filter(|(_, values)| values.iter().any(is_narrow));
        let narrow = narrow.map(|(axis, _)| (*axis, i64::from(i32::MAX), Specialisation::NarrowIndices));
        let kept = self.kept.iter().filter_map(|(again, kept)| {
            Some((self.position(*again)?, kept.at_most as i64, Specialisation::KeptRows))
        });
        let assumption = |(axis, most, of): (AxisId, i64, Specialisation)| {
            let size = self.nest.axes[axis.index()].extent.clone();
            let holds = size.as_constant().is_some_and(|size| size <= most);
            (!holds).then_some(Assumption { size, least: 0, most, of })
        };
        let long =
            |size: Dim, least: i64| Assumption { size, least, most: i64::MAX, of: Specialisation::LongRows };
        let contracted = |(size, range): (Dim, RangeInclusive<i64>)| {
            let (least, most) = range.into_inner();
            Assumption { size, least, most, of: Specialisation::LongRows }
        };
        let merged = self.nest.long_rows.iter().map(|(size, least)| long(size.clone(), *least));
        let called = self.called_strips().into_iter().filter(|_| self.options.long_rows);
        let called = called.map(|size| long(size, MIN_CALLED_STRIP));
        let contracted = self.contracted_sizes().into_iter().map(contracted);
        let in_lanes = self.rows_in_lanes().map(|size| long(size.clone(), MIN_ROWS_IN_LANES));
        let called = called.chain(in_lanes);
        narrow.chain(kept).filter_map(assumption).chain(merged).chain(called).chain(contracted).collect()
    }

    /// Returns the machine for which the kernel is made.
    pub fn target(&self) -> &Target {
        &self.options.target
    }

    /// Returns whether rows of symbolic length may be kept.
    pub fn keeps_rows(&self) -> bool {
        self.options.keep_rows
    }

    /// Returns whether loops may compute several steps at once.
    pub fn is_vector(&self) -> bool {
        self.options.vectorize
    }
}
