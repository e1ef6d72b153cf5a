//! Contractions: reductions of operands that two loops around them move in part: `(x[n, 1, d] * y[k, d]).sum(-1)`.

use super::{Form, Item, Placement};
use crate::flat::FlatId;
use crate::kernel::{AxisId, Contribution, Def, MAX_CONTRACTED_AXIS, Order, ValueId};
use crate::nest::{AxisSet, NestAxis, NestStore, bit};
use crate::thresholds::{
    MAX_CONTRACTED, MAX_CONTRACTED_OPS, MAX_SUMMED_TERMS, MAX_UNPACKED_BYTES, MIN_CONTRACTED_AXIS,
    MIN_SUMMED_STRIP,
};
use broadloom_ir::dim::Dim;
use broadloom_ir::reduce::{BLOCK, ReduceOp};
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

/// A reduction inside two loops that is computed for blocks of both at once, with a row of results for each step of
/// one of them.
#[derive(Debug)]
pub(crate) struct Contraction {
    /// The loop whose strips the rows cover: the inner one or, if that is a reduction itself, the outer one.
    pub strip: AxisId,
    /// The loop of the reduction, inside both.
    pub reduction: AxisId,
    /// The loops of other reductions between these, from the outermost on, which combine the results: of a sum over several
    /// axes.
    pub folds: Vec<AxisId>,
    /// What is packed, and which values of the loops around it computes.
    pub operands: Operands,
}

/// The operands that a contraction packs: each from what one of the two loops moves alone.
#[derive(Debug, Default)]
pub(crate) struct Operands {
    /// Those that the loop with rows does not move: rows over the strip, for a block of the reduction at once.
    pub packed: Vec<ValueId>,
    /// Those that the strip does not move: rows over the block, for a few steps of the loop with rows. They are computed, or
    /// loads that are strided along the reduction, or far apart in the order of the fixed tree.
    pub beside: Vec<ValueId>,
    /// The values of both loops from which these are computed.
    from_around: Vec<ValueId>,
}

impl Placement<'_, '_> {
    /// Finds the contractions, and sets the form of their reductions.
    pub(super) fn find_contractions(&mut self) {
        let found = self.nest.free.iter().filter_map(|outer| {
            let &[inner] = self.loops(Some(*outer)).as_slice() else { return None };
            Some((*outer, self.contraction_of(*outer, inner)?))
        });
        self.contractions = found.collect();
        let streamed: Vec<(AxisId, Contraction)> = self
            .reduced
            .keys()
            .filter(|axis| !matches!(self.orders[axis], Order::Counter))
            .filter_map(|axis| Some((*axis, self.contraction_of(*axis, self.neighbour(*axis)?)?)))
            .collect();
        // A reduction has no strips that a contraction could use: a value reduced inside it is read from an array.
        let (streamed, stored): (Vec<_>, Vec<_>) = streamed
            .into_iter()
            .partition(|(_, contraction)| !self.nest.axes[contraction.strip.index()].reduction);
        self.rows_of_contractions = stored.into_iter().map(|(axis, _)| axis).collect();
        for (axis, _) in &streamed {
            let is_best = self.nest.found.contains_key(axis);
            self.forms.insert(*axis, if is_best { Form::BestRows } else { Form::AccumulatorRows });
            self.dense.remove(axis);
        }
        self.contractions.extend(streamed);
        // Scans run through the steps of an axis once, not through strips of several axes.
        if self.nest.scanned.is_some() {
            let results = |found: &Contraction| *found.folds.first().unwrap_or(&found.reduction);
            self.rows_of_contractions.extend(self.contractions.values().map(results));
        }
        for Contraction { reduction, folds, .. } in self.contractions.values() {
            for axis in folds.iter().chain([reduction]) {
                self.forms.insert(*axis, Form::Contraction);
                self.dense.remove(axis);
            }
        }
        // What nothing else reads is computed only where it is packed.
        for (value, reduction) in self.read_only_by_contractions() {
            self.position[value.index()] = Some(reduction);
        }
    }

    /// Returns the values of loops around from which the contraction over an axis packs operands.
    pub(super) fn packed_from_around(&self, reduction: AxisId) -> &[ValueId] {
        let found = self.contractions.values().find(|contraction| contraction.reduction == reduction);
        found.map_or(&[], |contraction| &contraction.operands.from_around)
    }

    /// Returns the values of loops around that one contraction alone reads, with its reduction.
    fn read_only_by_contractions(&self) -> Vec<(ValueId, AxisId)> {
        let mut found = Vec::new();
        for Contraction { reduction, operands, .. } in self.contractions.values() {
            let mut inside: HashSet<ValueId> = operands.from_around.iter().copied().collect();
            inside.extend(self.subtree(*reduction));
            let others = self.live_values().filter(|value| !inside.contains(value));
            let not_reduced = others.filter(|value| !self.reduced[reduction].contains(value));
            let mut read: HashSet<ValueId> = not_reduced.flat_map(|value| self.sources(value)).collect();
            read.extend(self.nest.stores.iter().flat_map(NestStore::reads));
            let alone = operands.from_around.iter().filter(|value| !read.contains(value));
            found.extend(alone.map(|value| (*value, *reduction)));
        }
        found
    }

    /// Returns the values reduced from contractions in the loop of another reduction: a separate kernel stores
    /// them.
    pub fn rows_of_contractions(&self) -> impl Iterator<Item = FlatId> {
        let reduced = self.rows_of_contractions.iter().flat_map(|axis| &self.reduced[axis]);
        reduced.map(|value| self.nest.nodes[value.index()])
    }

    /// Returns the values that are reduced several times, and not only by contractions: contractions take much less
    /// time for each.
    pub fn reduced_again(&self) -> impl Iterator<Item = FlatId> {
        let mut reductions: BTreeMap<FlatId, Vec<AxisId>> = BTreeMap::new();
        for (value, reduction) in &self.nest.reductions {
            if self.live[value.index()] {
                reductions.entry(self.nest.nodes[value.index()]).or_default().push(reduction.axis);
            }
        }
        let is_other = |axis: &AxisId| self.forms.get(axis) != Some(&Form::Contraction);
        let again =
            reductions.into_iter().filter(move |(_, axes)| axes.len() > 1 && axes.iter().any(is_other));
        again.map(|(node, _)| node)
    }

    /// Returns whether a contraction produces a table over two loops by short sums, as a product of matrices does. Long sums
    /// fill vectors along their own axis: of two to four columns and 1000 terms, they took 0.4 to 0.6 of the time unrolled.
    pub fn has_products_of_short_rows(&self) -> bool {
        let is_free = |axis: AxisId| !self.nest.axes[axis.index()].reduction;
        let is_short = |axis: AxisId| self.orders.get(&axis) == Some(&Order::Sequential);
        let mut found = self.contractions.iter();
        self.rows_of_contractions.is_empty()
            && found.any(|(rows, found)| is_free(*rows) && is_free(found.strip) && is_short(found.reduction))
    }

    /// Returns whether short sums over pairs are loops here but not contractions.
    pub fn leaves_pairs(&self) -> bool {
        let pairs = self.nest.looped_pairs.iter().filter(|sum| self.live[sum.index()]);
        let is_other =
            |sum: &ValueId| self.forms.get(&self.nest.reductions[sum].axis) != Some(&Form::Contraction);
        self.rows_of_contractions.is_empty() && pairs.copied().any(|sum| is_other(&sum))
    }

    /// Returns the contraction in two loops, if there is a worthwhile one with rows for the steps of the axis
    /// `rows`.
    fn contraction_of(&self, rows: AxisId, strip: AxisId) -> Option<Contraction> {
        let nest = self.nest;
        let inner = if nest.axes[rows.index()].reduction { rows } else { strip };
        let &[mut reduction] = self.loops(Some(inner)).as_slice() else { return None };
        let mut folds = Vec::new();
        while let &[inside] = self.loops(Some(reduction)).as_slice()
            && self.folds_results(reduction, inside)
        {
            folds.push(reduction);
            reduction = inside;
        }
        let is_plain = |axis: AxisId| {
            let NestAxis { groups, part, .. } = &nest.axes[axis.index()];
            (groups.is_empty() || axis == strip) && part.is_none() && !self.is_counter(axis)
        };
        let reduced = self.reduced.get(&reduction)?;
        let is_ordered = |order: &Order| matches!(order, Order::Free | Order::Sequential | Order::Tree);
        if !self.is_vector()
            || ![rows, strip, reduction].into_iter().chain(folds.iter().copied()).all(is_plain)
            || !self.orders.get(&reduction).is_some_and(is_ordered)
            || !self.loops(Some(reduction)).is_empty()
            || reduced.len() > MAX_CONTRACTED
            || nest.axes[reduction.index()]
                .extent
                .as_constant()
                .map_or(!self.options.long_rows, |size| size > MAX_CONTRACTED_AXIS)
            || !self.is_long(rows, MIN_CONTRACTED_AXIS)
            || !self.is_long(strip, self.shortest_strip(rows, reduction))
        {
            return None;
        }
        // Values in an outer loop with rows would be computed again for each strip of the inner one.
        let is_repeated = |item: &Item| match item {
            Item::Value(value) => self.is_call(*value),
            Item::Loop(_) => false,
            Item::Store(_) => true,
        };
        let is_around = |value: &ValueId| [Some(rows), Some(strip)].contains(&self.position(*value));
        if nest.stores.iter().any(|store| store.level == Some(strip) && store.scatter.is_some())
            // Kept rows are read in blocks of their own length.
            || self.kept.iter().any(|(again, kept)| is_around(again) || is_around(&kept.call))
            || inner == strip && self.items(Some(rows)).iter().any(is_repeated)
        {
            return None;
        }
        let is_indexed = |value: &ValueId| nest.reductions[value].operand.is_indexed();
        if reduced.iter().any(is_indexed) {
            return None;
        }
        let operands = self.operands(rows, strip, reduction)?;
        Some(Contraction { strip, reduction, folds, operands })
    }

    /// Returns whether a reduction does nothing but combine the results of the loop inside it, and can have rows for that.
    fn folds_results(&self, outer: AxisId, inner: AxisId) -> bool {
        let nest = self.nest;
        let (Some(folded), Some(results)) = (self.reduced.get(&outer), self.reduced.get(&inner)) else {
            return false;
        };
        let is_folded = |(value, result): (&ValueId, &ValueId)| {
            let reduction = &nest.reductions[value];
            reduction.operand == Contribution::Value(*result)
                && reduction.dtype == nest.values[result.index()].dtype
        };
        let is_short = match self.orders.get(&outer) {
            Some(Order::Free | Order::Sequential) => true,
            // There are no rows for ranks.
            Some(Order::Tree) => {
                let extent = nest.axes[outer.index()].extent.as_constant();
                // Other lengths are assumed, as those of rows are: a call that they do not fit has code without them.
                extent.map_or(self.options.long_rows, |extent| extent <= BLOCK as i64)
            }
            _ => false,
        };
        is_short
            && folded.len() == results.len()
            && folded.iter().zip(results).all(is_folded)
            && self.items(Some(outer)) == [Item::Loop(inner)]
    }

    /// Returns what a contraction packs, if it is worthwhile: what each of the two loops moves alone.
    fn operands(&self, rows_axis: AxisId, strip_axis: AxisId, reduction: AxisId) -> Option<Operands> {
        let nest = self.nest;
        let (rows, strip) = (bit(rows_axis), bit(strip_axis));
        let along = |value: ValueId| nest.varies[value.index()] & (rows | strip);
        let is_load = |value: &ValueId| matches!(nest.values[value.index()].def, Def::Load { .. });
        let from_around = self.read_around([rows_axis, strip_axis], reduction);
        // Operands come before the values computed from them.
        let mut all = [from_around.as_slice(), &self.subtree(reduction)].concat();
        all.sort();
        if all.len() > 2 * MAX_CONTRACTED_OPS || all.iter().any(|value| !self.is_contracted(*value)) {
            return None;
        }
        let mut loads = all.iter().filter(|value| is_load(value));
        if loads.clone().any(|load| along(*load) == rows | strip) || !loads.any(|load| along(*load) == rows) {
            return None;
        }
        // Rows over the strip are not filled again for the same elements: nothing else may change them.
        let over_strip = self.alone(
            &all,
            |value| along(value) & rows == 0,
            |source| match nest.values[source.index()].def {
                Def::Constant(_) | Def::Param(_) => true,
                Def::Index(axis) => axis == strip_axis || axis == reduction,
                _ => false,
            },
        );
        let beside_strip = self.alone(
            &all,
            |value| along(value) & strip == 0,
            |source| !all.contains(&source) || matches!(nest.values[source.index()].def, Def::Index(_)),
        );
        let used_with_others = |alone: &HashSet<ValueId>| -> HashSet<ValueId> {
            let users = all.iter().filter(|user| !alone.contains(user)).chain(&self.reduced[&reduction]);
            users.flat_map(|user| self.sources(*user)).filter(|source| alone.contains(source)).collect()
        };
        let chosen = |used: HashSet<ValueId>, side: AxisSet| {
            all.iter().copied().filter(move |value| along(*value) == side && used.contains(value))
        };
        let packed: Vec<ValueId> = chosen(used_with_others(&over_strip), strip).collect();
        let is_beside = |value: &ValueId| self.is_beside(*value, rows_axis, reduction);
        let beside: Vec<ValueId> = chosen(used_with_others(&beside_strip), rows).filter(is_beside).collect();
        let operands = Operands { packed, beside, from_around };
        let in_tiles = self.in_tiles(reduction, &operands);
        let ops = in_tiles.iter().filter(|value| along(**value) & rows != 0 && !is_load(value)).count();
        let Operands { packed, from_around, .. } = &operands;
        let is_worthwhile = (1..=MAX_CONTRACTED).contains(&packed.len())
            && ops <= MAX_CONTRACTED_OPS
            && packed.iter().all(|value| nest.varies[value.index()] & bit(reduction) != 0)
            && !from_around.iter().any(|value| in_tiles.contains(value));
        is_worthwhile.then_some(operands)
    }

    /// Returns what tiles compute, or read from arrays, of a reduction with packed operands.
    fn in_tiles(&self, reduction: AxisId, operands: &Operands) -> HashSet<ValueId> {
        let is_packed = |value: &ValueId| operands.packed.contains(value) || operands.beside.contains(value);
        let mut found: HashSet<ValueId> = HashSet::new();
        let mut stack: Vec<ValueId> =
            self.reduced[&reduction].iter().flat_map(|value| self.sources(*value)).collect();
        while let Some(value) = stack.pop() {
            if !is_packed(&value) && found.insert(value) {
                stack.extend(self.sources(value));
            }
        }
        found
    }

    /// Returns the values in two loops around a reduction from which its body is computed.
    fn read_around(&self, around: [AxisId; 2], reduction: AxisId) -> Vec<ValueId> {
        let is_around = |value: &ValueId| self.position(*value).is_some_and(|axis| around.contains(&axis));
        let mut found: Vec<ValueId> = Vec::new();
        let mut stack: Vec<ValueId> = self.read_from_outside(reduction);
        while let Some(value) = stack.pop() {
            if is_around(&value) && !found.contains(&value) {
                found.push(value);
                stack.extend(self.sources(value));
            }
        }
        found
    }

    /// Returns which of some values, in an order in which each comes after what it is computed from, one side moves, and are
    /// computed only from others of them and from what is known.
    fn alone(
        &self,
        all: &[ValueId],
        is_on_side: impl Fn(ValueId) -> bool,
        is_known: impl Fn(ValueId) -> bool,
    ) -> HashSet<ValueId> {
        let mut alone: HashSet<ValueId> = HashSet::new();
        for value in all.iter().copied().filter(|value| is_on_side(*value)) {
            let is_alone = match self.nest.values[value.index()].def {
                Def::Index(_) => is_known(value),
                _ => self.sources(value).iter().all(|source| alone.contains(source) || is_known(*source)),
            };
            if is_alone {
                alone.insert(value);
            }
        }
        alone
    }

    /// Returns whether an operand that the strip does not move is packed.
    fn is_beside(&self, value: ValueId, rows: AxisId, reduction: AxisId) -> bool {
        let nest = self.nest;
        // A reduction over the rows takes results of one block from registers: it needs unpacked operands.
        let is_streamed = nest.axes[rows.index()].reduction;
        let extent = nest.axes[reduction.index()].extent.as_constant();
        let is_long = |size: usize| {
            let short = if is_streamed { BLOCK } else { MAX_UNPACKED_BYTES / size };
            self.orders[&reduction] == Order::Tree && extent.is_none_or(|extent| extent > short as i64)
        };
        let is_moved = nest.varies[value.index()] & bit(reduction) != 0;
        is_moved
            && match nest.values[value.index()].def {
                Def::Load { access, .. } => {
                    let access = &nest.accesses[access.index()];
                    is_long(access.dtype.size()) || !access.stride(reduction).is_one()
                }
                _ => !is_streamed,
            }
    }

    /// Returns the sizes that contractions assume to be long, or to be within the limit of their ranks, with the
    /// bounds.
    pub(super) fn contracted_sizes(&self) -> Vec<(Dim, RangeInclusive<i64>)> {
        let mut sizes = Vec::new();
        for (rows, Contraction { strip, reduction, folds, .. }) in &self.contractions {
            let by_tree = folds.iter().filter(|axis| self.orders[axis] == Order::Tree);
            let fixed = [
                (*rows, MIN_CONTRACTED_AXIS..=i64::MAX),
                (*strip, self.shortest_strip(*rows, *reduction)..=i64::MAX),
                (*reduction, 0..=MAX_CONTRACTED_AXIS),
            ];
            for (axis, range) in fixed.into_iter().chain(by_tree.map(|axis| (*axis, 0..=BLOCK as i64))) {
                let extent = &self.nest.axes[axis.index()].extent;
                if extent.as_constant().is_none() {
                    sizes.push((extent.clone(), range));
                }
            }
        }
        sizes
    }

    /// Returns the shortest strip for which a contraction is worthwhile.
    fn shortest_strip(&self, rows: AxisId, reduction: AxisId) -> i64 {
        let extent = self.nest.axes[reduction.index()].extent.as_constant();
        let are_sums = |values: &Vec<ValueId>| {
            values.iter().all(|value| self.nest.reductions[value].op == ReduceOp::Sum)
        };
        let adds = self.nest.axes[rows.index()].reduction && self.reduced.get(&rows).is_some_and(are_sums);
        match extent {
            Some(..=MAX_SUMMED_TERMS) if adds => MIN_SUMMED_STRIP,
            _ => MIN_CONTRACTED_AXIS,
        }
    }

    /// Returns whether an axis is at least this long, or assumed to be.
    fn is_long(&self, axis: AxisId, least: i64) -> bool {
        let extent = self.nest.axes[axis.index()].extent.as_constant();
        extent.map_or(self.options.long_rows, |extent| extent >= least)
    }

    /// Returns whether a value can be computed for blocks of several axes in any order: it cannot fail on data, and
    /// is not a function of whole rows.
    fn is_contracted(&self, value: ValueId) -> bool {
        match &self.nest.values[value.index()].def {
            Def::Op { position, .. } => position.is_none() && !self.is_call(value),
            Def::Load { access, .. } => self.nest.accesses[access.index()].gathered.is_none(),
            Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Select(_) | Def::Cast(_) => true,
            Def::Row(..) | Def::Take { .. } | Def::Search { .. } | Def::Checked { .. } | Def::Reduced => {
                false
            }
        }
    }
}
