//! Cuts a loop into strips, and strips into stages, around items that work on whole rows.

use super::Maker;
use crate::LowerError;
use crate::kernel::*;
use crate::nest::{NestStore, bit};
use crate::place::{Form, Item};
use crate::thresholds::MIN_OPS_OF_SCATTER;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

impl Maker<'_, '_, '_> {
    pub(super) fn is_row_item(&self, item: Item, level: Option<AxisId>) -> bool {
        match item {
            Item::Value(value) => level.is_some() && self.placement.is_by_rows(value),
            Item::Loop(axis) => self.placement.fills_rows(axis),
            Item::Store(_) => false,
        }
    }

    /// Cuts the items of a level into stages over the strips of `strip`. Returns the statements before the last
    /// stage, the body of the last one, its lanes, and the result of `finish` at the end of that body for `wanted`.
    pub(super) fn in_stages<T>(
        &mut self,
        strip: AxisId,
        level: Option<AxisId>,
        items: &[Item],
        wanted: &[ValueId],
        finish: impl FnOnce(&mut Self, &mut Vec<Stmt>) -> T,
    ) -> Result<(Vec<Stmt>, Vec<Stmt>, usize, T), LowerError> {
        // A function writes directly to the array if its result is only stored.
        let is_written = |item: &Item| match item {
            Item::Store(store) => {
                let stored = self.placement.stored_calls.get(&self.nest.stores[*store].value);
                level == Some(strip) && stored == Some(store)
            }
            Item::Value(_) | Item::Loop(_) => false,
        };
        let items: Vec<Item> = items.iter().copied().filter(|item| !is_written(item)).collect();
        let items = items.as_slice();
        let (stages, last) = self.stages(level, items);
        let crossing = self.crossing(level, items, &stages, wanted, last);
        let mut by_stage: Vec<Vec<Item>> = vec![Vec::new(); last + 1];
        items.iter().for_each(|item| by_stage[stages[item]].push(*item));
        let in_last = by_stage.pop().unwrap_or_default();
        let mut before = Vec::new();
        for here in by_stage {
            let (row_items, mut plain): (Vec<Item>, Vec<Item>) =
                here.into_iter().partition(|item| self.is_row_item(*item, level));
            // Loads are made where they are read, if they are read in this stage at all.
            plain.retain(|item| !matches!(item, Item::Value(value) if self.is_leaf(*value)));
            let mut for_rows: Vec<ValueId> = Vec::new();
            for item in &row_items {
                match item {
                    Item::Value(call) => {
                        // A loop of its own also reads what is no row.
                        let in_loop = self.placement.is_computed_in_strips(*call);
                        for source in self.placement.sources(*call) {
                            let is_read = self.operand(source, strip).is_some()
                                || in_loop && (self.is_leaf(source) || self.env.contains_key(&source));
                            if !is_read && !for_rows.contains(&source) {
                                for_rows.push(source);
                            }
                        }
                    }
                    Item::Loop(_) | Item::Store(_) => {}
                }
            }
            let (body, lanes) = self.scoped(|maker| {
                let mut body = Vec::new();
                for &item in &plain {
                    maker.item(item, &mut body)?;
                }
                let kept = plain.iter().filter_map(|item| match item {
                    Item::Value(value) if crossing.contains(value) => Some(vec![*value]),
                    Item::Loop(axis) => {
                        let reduced = maker.placement.reduced.get(axis)?;
                        let has_row = |value: &ValueId| maker.rows.contains_key(&(*value, strip));
                        let crosses = |value: &ValueId| crossing.contains(value) && !has_row(value);
                        Some(reduced.iter().copied().filter(crosses).collect())
                    }
                    Item::Value(_) | Item::Store(_) => None,
                });
                let mut kept: Vec<ValueId> = kept.flatten().collect();
                kept.extend(for_rows.iter().copied());
                kept.sort();
                kept.dedup();
                let mut made = Vec::new();
                for value in kept {
                    let source = maker.get(value, &mut body);
                    // A scan's row is filled already.
                    if let Some(&row) = maker.states.get(&value) {
                        made.push((value, row));
                        continue;
                    }
                    let row = maker.row(maker.nest.values[value.index()].dtype, 1, strip);
                    body.push(Stmt::Put { row, part: 0, axis: strip, value: source });
                    made.push((value, row));
                }
                for (value, row) in made {
                    maker.rows.insert((value, strip), row);
                }
                let lanes = maker.stage_lanes(strip, level, &plain, &for_rows);
                Ok((body, lanes))
            })?;
            if !body.is_empty() {
                before.push(Stmt::For { axis: strip, lanes, body });
            }
            for item in row_items {
                self.row_item(item, strip, &mut before)?;
            }
        }
        let (body, made, lanes) = self.scoped(|maker| {
            let mut body = Vec::new();
            for &item in &in_last {
                maker.item(item, &mut body)?;
            }
            let made = finish(maker, &mut body);
            Ok((body, made, maker.stage_lanes(strip, level, &in_last, &[])))
        })?;
        Ok((before, body, lanes, made))
    }

    /// Returns the row over a strip that holds a value as its own dtype.
    pub(super) fn own_row(&self, value: ValueId, strip: AxisId) -> Option<RowId> {
        let row = *self.rows.get(&(value, strip))?;
        let is_own = self.kernel.rows[row.index()].dtype == self.nest.values[value.index()].dtype;
        is_own.then_some(row)
    }

    /// Returns where a function of a whole strip finds an argument: in a row, or in the array itself.
    pub(super) fn operand(&self, value: ValueId, strip: AxisId) -> Option<Operand> {
        let row = self.own_row(value, strip).map(Operand::Row);
        row.or_else(|| self.placement.side_by_side(value, strip))
    }

    /// Returns where a result for a whole strip goes: to the array, if it is only stored, or to a row.
    pub(super) fn target(&mut self, value: ValueId, strip: AxisId) -> Operand {
        if let Some(store) = self.placement.stored_calls.get(&value) {
            let NestStore { access, delta, .. } = self.nest.stores[*store];
            return Operand::Array { access, delta };
        }
        let row = self.row(self.nest.values[value.index()].dtype, 1, strip);
        self.rows.insert((value, strip), row);
        Operand::Row(row)
    }

    /// Returns a loop over a strip that computes an elementary function and nothing else.
    fn function_loop(&mut self, value: ValueId, strip: AxisId) -> Result<Stmt, LowerError> {
        let body = self.scoped(|maker| {
            let mut body = Vec::new();
            let result = maker.get(value, &mut body);
            body.push(match maker.target(value, strip) {
                Operand::Row(row) => Stmt::Put { row, part: 0, axis: strip, value: result },
                Operand::Array { access, delta } => Stmt::Store { access, delta, value: result },
            });
            Ok(body)
        })?;
        let values = self.placement.sources(value).into_iter().chain([value]);
        Ok(Stmt::For { axis: strip, lanes: self.placement.lanes(strip, Some(strip), values), body })
    }

    fn row_item(&mut self, item: Item, strip: AxisId, before: &mut Vec<Stmt>) -> Result<(), LowerError> {
        match item {
            Item::Value(scan) if self.nest.scans.contains_key(&scan) => self.scan_along(scan, strip, before),
            Item::Value(value) if self.placement.is_computed_in_strips(value) => {
                let stmt = self.function_loop(value, strip)?;
                before.push(stmt);
            }
            Item::Value(value) => {
                if let Def::Op { op, args, .. } = self.nest.values[value.index()].def.clone() {
                    let args: SmallVec<[Operand; 2]> =
                        args.iter().filter_map(|arg| self.operand(*arg, strip)).collect();
                    let target = self.target(value, strip);
                    before.push(Stmt::Call { op, target, args, axis: strip });
                    let Some(target) = target.row() else { return Ok(()) };
                    for (again, kept) in self.placement.kept.iter().filter(|(_, kept)| kept.call == value) {
                        let row = &mut self.kernel.rows[target.index()];
                        row.span = Span::Axis;
                        row.length = kept.at_most;
                        if let Some(free) = self.placement.position(*again) {
                            self.rows.insert((*again, free), target);
                            self.read_kept.push(free);
                        }
                    }
                }
            }
            Item::Loop(axis) => match (self.nest.axes[axis.index()].part, self.placement.forms.get(&axis)) {
                (Some(part), _) => {
                    let stmt = self.part(axis, part)?;
                    before.push(stmt);
                }
                (None, Some(Form::AccumulatorRows)) => {
                    let stream = self.stream(axis, strip)?;
                    before.push(Stmt::Stream(stream));
                }
                (None, Some(Form::BestRows)) => {
                    if let Some(&found) = self.nest.found.get(&axis) {
                        let best = self.best_rows(axis, strip, found)?;
                        before.push(Stmt::BestRows(best));
                    }
                }
                (None, _) => {}
            },
            Item::Store(_) => {}
        }
        Ok(())
    }

    /// Returns the lanes of a stage of a level, as the loops inside it allow.
    pub(super) fn stage_lanes(
        &self,
        strip: AxisId,
        level: Option<AxisId>,
        items: &[Item],
        for_rows: &[ValueId],
    ) -> usize {
        let loops: Vec<AxisId> = items
            .iter()
            .filter_map(|item| match item {
                Item::Loop(axis) => Some(*axis),
                Item::Value(_) | Item::Store(_) => None,
            })
            .collect();
        if !self.placement.vectorizes(strip, level, &loops) || self.mostly_scatters(strip, items) {
            return 1;
        }
        let mut values: Vec<ValueId> = loops.iter().flat_map(|axis| self.placement.subtree(*axis)).collect();
        // The counted values are narrower than the counts.
        values.extend(loops.iter().filter_map(|axis| self.placement.reduced.get(axis)).flatten());
        for item in items {
            match item {
                Item::Value(value) => values.push(*value),
                Item::Store(store) => values.extend(self.nest.stores[*store].reads()),
                Item::Loop(_) => {}
            }
        }
        values.extend(for_rows);
        self.placement.lanes(strip, level, values.into_iter())
    }

    /// Returns whether a loop mostly combines rows of a table with their segments, which runs one by one anyway.
    fn mostly_scatters(&self, strip: AxisId, items: &[Item]) -> bool {
        let (mut scatters, mut work) = (0, 0);
        for item in items {
            match item {
                Item::Store(store) => {
                    let scatter = self.nest.stores[*store].scatter.as_ref();
                    let varies = |index: ValueId| self.nest.varies[index.index()] & bit(strip) != 0;
                    scatters += usize::from(scatter.is_some_and(|scatter| varies(scatter.index)));
                }
                Item::Value(value) => {
                    let computed = |def: &Def| matches!(def, Def::Op { .. } | Def::Select(_) | Def::Cast(_));
                    work += usize::from(computed(&self.nest.values[value.index()].def));
                }
                Item::Loop(_) => {}
            }
        }
        work < MIN_OPS_OF_SCATTER * scatters
    }

    /// Returns the stage of every item, as late as its readers allow, and the number of the last stage. A row item
    /// ends its stage.
    fn stages(&self, level: Option<AxisId>, items: &[Item]) -> (HashMap<Item, usize>, usize) {
        let here: HashSet<Item> = items.iter().copied().collect();
        let sources: HashMap<Item, Vec<Item>> = items
            .iter()
            .map(|item| {
                let mut sources = self.placement.item_sources(*item, level);
                sources.retain(|source| here.contains(source));
                (*item, sources)
            })
            .collect();
        let ends = |item: &Item| {
            let ends_stage = |value: ValueId| level.is_some() && self.placement.ends_stage(value);
            self.is_row_item(*item, level) || matches!(item, Item::Value(value) if ends_stage(*value))
        };
        let after = |item: &Item, stages: &HashMap<Item, usize>| stages[item] + usize::from(ends(item));
        // Stages with vectors are even where others are between them. `None`: either will do.
        let takes_turns = level.is_some_and(|level| self.placement.takes_turns(level));
        let in_vectors = |item: &Item| match item {
            Item::Loop(axis) if takes_turns => Some(self.placement.is_in_lanes(*axis)),
            Item::Value(value) if takes_turns && !self.is_leaf(*value) => Some(true),
            Item::Loop(_) | Item::Value(_) | Item::Store(_) => None,
        };
        let is_wrong = |item: &Item, stage: usize| {
            usize::from(in_vectors(item).is_some_and(|in_vectors| in_vectors != stage.is_multiple_of(2)))
        };
        let mut earliest: HashMap<Item, usize> = HashMap::new();
        for item in items {
            let stage = sources[item].iter().map(|source| after(source, &earliest)).max().unwrap_or(0);
            // What is computed from the results of a loop may stand beside it.
            let later = if let Item::Loop(_) = item { is_wrong(item, stage) } else { 0 };
            earliest.insert(*item, stage + later);
        }
        let last = items.iter().map(|item| after(item, &earliest)).max().unwrap_or(0);
        // The earliest stage among the readers of an item, which come after it.
        let mut read_in: HashMap<Item, usize> = HashMap::new();
        let mut stages: HashMap<Item, usize> = HashMap::new();
        for item in items.iter().rev() {
            let stage = match item {
                _ if ends(item) => earliest[item],
                Item::Value(_) | Item::Loop(_) => read_in.get(item).copied().unwrap_or(last),
                Item::Store(_) => last,
            };
            let stage = stage.saturating_sub(is_wrong(item, stage)).max(earliest[item]);
            stages.insert(*item, stage);
            for source in &sources[item] {
                let read = read_in.entry(*source).or_insert(stage);
                *read = stage.min(*read);
            }
        }
        (stages, last)
    }

    /// Returns the values that a later stage or a streamed reduction reads, except those that are simply made again
    /// there.
    fn crossing(
        &self,
        level: Option<AxisId>,
        items: &[Item],
        stages: &HashMap<Item, usize>,
        wanted: &[ValueId],
        last: usize,
    ) -> HashSet<ValueId> {
        let kept = |value: &ValueId| {
            let item = self.placement.item_of(*value);
            stages.get(&item).is_some_and(|stage| *stage < last)
                && !self.is_row_item(item, level)
                && !self.is_leaf(*value)
        };
        let mut crossing: HashSet<ValueId> = wanted.iter().copied().filter(kept).collect();
        for reader in items {
            let read: Vec<ValueId> = match reader {
                Item::Value(value) => self.placement.sources(*value).into_vec(),
                Item::Loop(axis) => self.placement.read_from_outside(*axis),
                Item::Store(store) => self.nest.stores[*store].reads().collect(),
            };
            for value in read {
                let item = self.placement.item_of(value);
                let Some(stage) = stages.get(&item) else { continue };
                let leaves = stages[reader] > *stage
                    || self.is_row_item(*reader, level) && matches!(reader, Item::Loop(_));
                if leaves && !self.is_row_item(item, level) && !self.is_leaf(value) {
                    crossing.insert(value);
                }
            }
        }
        crossing
    }
}
