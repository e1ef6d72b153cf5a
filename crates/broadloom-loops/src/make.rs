//! From a placed nest to the statements of a kernel.
//!
//! A level of the loop tree becomes one loop, unless some of its items work on whole rows: tile functions and
//! streamed reductions. Then the loop is cut into strips, and a strip into stages:
//!
//! ```text
//! strip n of 1024 {
//!   for n vector 16 { v1 = load x; put r0 <- v1 }        stage 0: what the row items read
//!   call r1 = exp(r0)                                     row items of stage 0
//!   for n vector 16 { v2 = row r1; .. store }             stage 1
//! }
//! ```
//!
//! A value that crosses from one stage to a later one goes through a scratch row, or is loaded again if it is a
//! load. Every value is computed in the last stage that comes before all of its readers.

mod best;
mod contraction;
mod cost;
mod scan;
mod sort;
mod stages;

pub(crate) use sort::sort_rows;

use crate::kernel::*;
use crate::nest::{Gathered, Nest, NestScatter, NestStore, Part, bit};
use crate::place::{Blocks, Form, Item, Placement};
use crate::thresholds::{
    MAX_ACCUMULATORS_AFTER_CONTRACTION, MAX_REPEATED_ACCUMULATORS, MAX_REPEATED_STATEMENTS,
    MIN_REDUCTION_LANES, STREAM_STEPS,
};
use crate::{LowerError, rows};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::LANES;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Returns the kernel of a placed nest. `params` are the parameters that the nest has made.
pub(crate) fn make(
    placement: &Placement<'_, '_>,
    axis_names: &dyn Fn(&Dim) -> String,
) -> Result<Kernel, LowerError> {
    let mut maker = Maker {
        placement,
        nest: placement.nest,
        kernel: Kernel { params: placement.nest.params.clone(), ..Kernel::default() },
        env: HashMap::new(),
        rows: HashMap::new(),
        row_axes: Vec::new(),
        read_kept: Vec::new(),
        states: HashMap::new(),
    };
    maker.axes(axis_names);
    maker.accesses();
    let body = maker.level(None)?;
    maker.kernel.body = body;
    // Threads do not share the places of the best elements: one walk finds them all.
    let shared = |axis: &AxisId| !placement.nest.is_over_places(*axis);
    maker.kernel.parallel = placement.nest.shared_axis().filter(shared);
    maker.kernel.scanned = placement.nest.scanned;
    rows::lay_out(&mut maker.kernel, &maker.row_axes, &maker.read_kept, placement.target());
    maker.kernel.cost = maker.cost();
    maker.kernel.exprs = placement.nest.exprs();
    Ok(maker.kernel)
}

struct Maker<'p, 'n, 'a> {
    placement: &'p Placement<'n, 'a>,
    nest: &'n Nest<'a>,
    kernel: Kernel,
    /// The kernel's value for a value of the nest, where it is in scope.
    env: HashMap<ValueId, ValueId>,
    /// The rows that hold values of the nest over the strip of an axis.
    rows: HashMap<(ValueId, AxisId), RowId>,
    /// The strip axis of every row.
    row_axes: Vec<AxisId>,
    /// Axes along which kept rows are read: their strips are blocks.
    read_kept: Vec<AxisId>,
    /// The rows of the last results so far, of values that run along an axis.
    states: HashMap<ValueId, RowId>,
}

impl Maker<'_, '_, '_> {
    fn param(&mut self, dim: &Dim) -> ParamId {
        let found = self.kernel.params.iter().position(|param| param == dim);
        ParamId::new(found.unwrap_or_else(|| {
            self.kernel.params.push(dim.clone());
            self.kernel.params.len() - 1
        }))
    }

    fn extent(&mut self, dim: &Dim) -> Extent {
        match dim.as_constant() {
            Some(extent) => Extent::Constant(extent),
            None => Extent::Param(self.param(dim)),
        }
    }

    fn stride(&mut self, dim: &Dim) -> Stride {
        match dim.as_constant() {
            Some(stride) => Stride::Constant(stride),
            None => Stride::Param(self.param(dim)),
        }
    }

    fn axes(&mut self, names: &dyn Fn(&Dim) -> String) {
        for axis in &self.nest.axes {
            let mut name = names(&axis.extent);
            while self.kernel.axes.iter().any(|other| other.name == name) {
                name.push('\'');
            }
            let extent = self.extent(&axis.extent);
            let groups = axis.groups.iter().map(|(counter, length)| (*counter, self.param(length))).collect();
            let stretched = match axis.part {
                Some(Part::Outer(merged, steps)) => Some((merged, steps)),
                Some(Part::Inner(_)) | None => None,
            };
            self.kernel.axes.push(Axis { name, extent, reduction: axis.reduction, groups, stretched });
        }
    }

    fn accesses(&mut self) {
        for access in &self.nest.accesses {
            let strides = access.strides.iter().map(|(axis, stride)| (*axis, self.stride(stride))).collect();
            let offset_param = access.buffer.is_none().then(|| self.param(&access.offset));
            self.kernel.accesses.push(Access {
                buffer: access.buffer,
                dtype: access.dtype,
                offset: access.offset.clone(),
                offset_param,
                strides,
                streams: false,
            });
        }
    }

    fn row(&mut self, dtype: DType, count: usize, axis: AxisId) -> RowId {
        self.spanning(dtype, count, axis, Span::Strip)
    }

    /// Rows over the strip of an axis.
    fn spanning(&mut self, dtype: DType, count: usize, axis: AxisId, span: Span) -> RowId {
        self.kernel.rows.push(Row { dtype, length: 0, span, count, offset: 0 });
        self.row_axes.push(axis);
        RowId::new(self.kernel.rows.len() - 1)
    }

    fn define(&mut self, def: Def, like: ValueId) -> ValueId {
        let Value { dtype, origin, .. } = self.nest.values[like.index()];
        self.kernel.values.push(Value { dtype, def, origin });
        ValueId::new(self.kernel.values.len() - 1)
    }

    /// Returns the kernel's value for a value of the nest, and brings it into scope if necessary.
    fn get(&mut self, value: ValueId, body: &mut Vec<Stmt>) -> ValueId {
        if let Some(&found) = self.env.get(&value) {
            return found;
        }
        let def = match (self.row_of(value).or_else(|| self.narrow_row_of(value)), self.nest.across()) {
            (Some((row, axis)), _) => self.read(value, (row, axis), body),
            (None, Some(strip)) if self.nest.scans.contains_key(&value) => self.running(value, strip, body),
            (None, _) => self.nest.values[value.index()].def.clone().map_operands(|arg| self.get(arg, body)),
        };
        let defined = self.define(def, value);
        body.push(Stmt::Let(defined));
        self.keep_running(value, defined, body);
        self.env.insert(value, defined);
        defined
    }

    /// Returns the row of a value, and the axis whose strip it covers: the places of a walk for the best elements,
    /// the value's own loop, the merged loop that contains it, or a loop around.
    fn row_of(&self, value: ValueId) -> Option<(RowId, AxisId)> {
        let places = self.nest.places_of(value);
        if let Some((row, places)) =
            places.and_then(|places| Some((*self.rows.get(&(value, places))?, places)))
        {
            return Some((row, places));
        }
        let own = self.placement.position(value)?;
        std::iter::once(own)
            .chain(self.placement.merged_axis(value))
            .chain(self.nest.path(Some(own)).into_iter().rev().skip(1))
            .find_map(|axis| Some((*self.rows.get(&(value, axis))?, axis)))
    }

    /// Returns the row of the operand of a cast, if it already holds what the cast gives.
    fn narrow_row_of(&self, value: ValueId) -> Option<(RowId, AxisId)> {
        let Def::Cast(source) = self.nest.values[value.index()].def else { return None };
        let found = self.row_of(source)?;
        let held = self.kernel.rows[found.0.index()].dtype;
        let is_held = held == self.nest.values[value.index()].dtype;
        (is_held && held != self.nest.values[source.index()].dtype).then_some(found)
    }

    /// Reads a value from a row, which may hold it as a narrower dtype.
    fn read(&mut self, value: ValueId, (row, axis): (RowId, AxisId), body: &mut Vec<Stmt>) -> Def {
        let Row { dtype: held, .. } = self.kernel.rows[row.index()];
        let read = Def::Row(row, axis);
        if held == self.nest.values[value.index()].dtype {
            return read;
        }
        let narrow = self.define(read, value);
        self.kernel.values[narrow.index()].dtype = held;
        body.push(Stmt::Let(narrow));
        Def::Cast(narrow)
    }

    /// Returns whether a value is computed again where it is needed, rather than kept in a row.
    fn is_leaf(&self, value: ValueId) -> bool {
        self.placement.kept.contains_key(&value)
            || matches!(
                self.nest.values[value.index()].def,
                Def::Constant(_) | Def::Param(_) | Def::Index(_) | Def::Load { .. }
            )
    }

    /// Runs `make`. Values that it brings into scope leave it afterwards.
    fn scoped<T>(&mut self, make: impl FnOnce(&mut Self) -> Result<T, LowerError>) -> Result<T, LowerError> {
        let outer = self.env.clone();
        let made = make(self);
        self.env = outer;
        made
    }

    /// The statements of a level without row items.
    fn level(&mut self, level: Option<AxisId>) -> Result<Vec<Stmt>, LowerError> {
        let mut body = Vec::new();
        for item in self.placement.items(level) {
            self.item(item, &mut body)?;
        }
        Ok(body)
    }

    fn item(&mut self, item: Item, body: &mut Vec<Stmt>) -> Result<(), LowerError> {
        match item {
            Item::Value(value) => {
                self.get(value, body);
            }
            Item::Store(index) => {
                let store = self.nest.stores[index].clone();
                let NestStore { access, delta, .. } = store;
                let value = self.get(store.value, body);
                let stmt = match store.scatter {
                    None => Stmt::Store { access, delta, value },
                    Some(NestScatter { op, index, stride, size, lost }) => {
                        let index = self.get(index, body);
                        Stmt::Scatter { access, delta, index, stride, size, op, value, lost }
                    }
                };
                body.push(stmt);
            }
            Item::Loop(axis) => {
                // Bring the values that the loop reads into scope once, before it. Values that recur along it are read from rows.
                for value in self.placement.read_from_outside(axis) {
                    if ![self.placement.merged_axis(value), self.nest.places_of(value)].contains(&Some(axis))
                    {
                        self.get(value, body);
                    }
                }
                if let Some(part) = self.nest.axes[axis.index()].part {
                    let stmt = self.part(axis, part)?;
                    body.push(stmt);
                } else if self.placement.forms.get(&axis) == Some(&Form::Contraction) {
                    // It stands before the loops around, which read its results from rows.
                } else if let Some(&found) = self.nest.found.get(&axis) {
                    let best = self.best(axis, found)?;
                    body.push(Stmt::Best(best));
                } else if self.nest.axes[axis.index()].reduction {
                    let reduce = self.reduce(axis)?;
                    body.push(Stmt::Reduce(reduce));
                } else {
                    self.begin_scans(axis, body);
                    let stmts = self.scoped(|maker| maker.free(axis))?;
                    body.extend(stmts);
                }
            }
        }
        Ok(())
    }

    /// The loop over a free axis.
    fn free(&mut self, axis: AxisId) -> Result<Vec<Stmt>, LowerError> {
        if let Some(blocks) = self.placement.blocks(axis) {
            return Ok(vec![self.blocks(axis, &blocks)?]);
        }
        if let Some(contraction) = self.placement.contractions.get(&axis) {
            return Ok(vec![self.contraction(axis, contraction)?]);
        }
        if let Some(walk) = self.placement.best_in(axis) {
            return Ok(vec![self.strips_of_best(axis, walk)?]);
        }
        match self.nest.across() {
            Some(strip) if self.nest.scanned == Some(axis) => self.scan_across(axis, strip),
            _ => {
                let stmts = self.walk(axis)?;
                Ok(self.scans_of_rows(axis, stmts))
            }
        }
    }

    /// The loop over a free axis, in strips if it has stages.
    fn walk(&mut self, axis: AxisId) -> Result<Vec<Stmt>, LowerError> {
        let mut before = self.gathers(axis);
        let items = self.placement.items(Some(axis));
        let (prologue, last, lanes, ()) = self.in_stages(axis, Some(axis), &items, &[], |_, _| ())?;
        before.extend(prologue);
        let last = (!last.is_empty()).then_some(Stmt::For { axis, lanes, body: last });
        let reads_kept =
            self.placement.kept.keys().any(|value| self.placement.position(*value) == Some(axis));
        let reads_found = self.nest.is_over_places(axis);
        let reads_parts = self.rows.keys().any(|(value, _)| self.placement.merged_axis(*value) == Some(axis));
        match last {
            Some(last) if before.is_empty() && !reads_kept && !reads_parts && !reads_found => Ok(vec![last]),
            last => {
                before.extend(last);
                // Inside a contraction or a scan across the axis, the loop is in a strip already.
                let around = self.nest.axes[axis.index()].parent;
                let around = around.and_then(|outer| self.placement.contractions.get(&outer));
                let is_contracted = around.is_some_and(|contraction| contraction.strip == axis);
                match is_contracted || self.nest.across() == Some(axis) {
                    true => Ok(before),
                    false => Ok(vec![Stmt::Strip { axis, length: 0, body: before }]),
                }
            }
        }
    }

    /// Returns the statements that gather operands into rows before the loop over a merged axis: those that move along
    /// both parts, but not as along one axis.
    fn gathers(&mut self, axis: AxisId) -> Vec<Stmt> {
        let mut gathers = Vec::new();
        for (load, Gathered { steps, strides: [outer, inner], .. }) in self.placement.gathered(axis) {
            let Value { dtype, def: Def::Load { access, delta }, .. } = self.nest.values[load.index()] else {
                continue;
            };
            let row = self.row(dtype, 1, axis);
            let steps = self.extent(steps);
            let strides = [self.stride(outer), self.stride(inner)];
            gathers.push(Stmt::Gather { access, delta, row, axis, steps, strides });
            self.rows.insert((load, axis), row);
        }
        gathers
    }

    /// Returns the loop over an axis in blocks: strips of it and of the loop inside.
    fn blocks(&mut self, outer: AxisId, blocks: &Blocks) -> Result<Stmt, LowerError> {
        let inner = blocks.inner;
        let mut block = Vec::new();
        for load in &blocks.loads {
            let Value { dtype, def: Def::Load { access, delta }, .. } = self.nest.values[load.index()] else {
                continue;
            };
            let row = self.spanning(dtype, blocks.rows, inner, Span::Block { rows: outer, by_lanes: false });
            block.push(Stmt::Transpose { access, delta, row, rows: outer, axis: inner, in_registers: false });
            self.rows.insert((*load, inner), row);
        }
        let body = self.level(Some(outer))?;
        block.push(Stmt::For { axis: outer, lanes: 1, body });
        let block = Stmt::Strip { axis: inner, length: 0, body: block };
        Ok(Stmt::Strip { axis: outer, length: 0, body: vec![block] })
    }

    /// Returns the loop over a part of a merged axis. Values that are read outside it are put into rows along the merged
    /// axis.
    pub(super) fn part(&mut self, axis: AxisId, part: Part) -> Result<Stmt, LowerError> {
        let (along, span) = match part {
            Part::Inner(along) => (along, Span::Periodic { period: axis, along }),
            Part::Outer(along, _) => (along, Span::Stretched { over: axis, along }),
        };
        let items = self.placement.items(Some(axis));
        let wanted = self.placement.read_from_part(axis);
        let row = |value: &ValueId| self.spanning(self.nest.values[value.index()].dtype, 1, along, span);
        let rows: Vec<RowId> = wanted.iter().map(row).collect();
        // No function of whole rows is among them, see `merge`: one loop is enough.
        let body = self.scoped(|maker| {
            let mut body = Vec::new();
            for &item in &items {
                maker.item(item, &mut body)?;
            }
            for (value, &row) in wanted.iter().zip(&rows) {
                let value = maker.get(*value, &mut body);
                body.push(Stmt::Put { row, part: 0, axis, value });
            }
            Ok(body)
        })?;
        let lanes = match part {
            Part::Inner(_) => self.stage_lanes(axis, Some(axis), &items, &wanted),
            Part::Outer(..) => 1,
        };
        self.rows.extend(wanted.into_iter().zip(rows).map(|(value, row)| ((value, along), row)));
        Ok(Stmt::For { axis, lanes, body })
    }

    fn accumulator(&mut self, value: ValueId, body: &mut Vec<Stmt>) -> Accumulator {
        let reduction = self.nest.reductions[&value].clone();
        let operand = reduction.operand.map_operands(|value| self.get(value, body));
        let result = self.define(Def::Reduced, value);
        Accumulator { op: reduction.op, dtype: reduction.dtype, operand, result }
    }

    /// A reduction into values.
    fn reduce(&mut self, axis: AxisId) -> Result<Reduce, LowerError> {
        let reduced = self.placement.reduced[&axis].clone();
        let wanted: Vec<ValueId> =
            reduced.iter().flat_map(|value| self.nest.reductions[value].operand.operands()).collect();
        let (reduce, results) = self.scoped(|maker| {
            let items = maker.placement.items(Some(axis));
            let (prologue, body, _, accumulators) =
                maker.in_stages(axis, Some(axis), &items, &wanted, |maker, body| {
                    reduced.iter().map(|value| maker.accumulator(*value, body)).collect::<Vec<_>>()
                })?;
            let is_vector = maker.placement.forms[&axis] == Form::Contiguous && maker.placement.is_vector();
            let extent = maker.nest.axes[axis.index()].extent.as_constant();
            let short = extent.is_some_and(|extent| extent < MIN_REDUCTION_LANES as i64);
            let values = maker.placement.subtree(axis).into_iter().chain(wanted.iter().copied());
            let lanes = match is_vector && !short {
                true => maker.placement.lanes(axis, Some(axis), values).clamp(MIN_REDUCTION_LANES, LANES),
                false => 1,
            };
            let results: Vec<ValueId> = accumulators.iter().map(|accumulator| accumulator.result).collect();
            let order = maker.placement.orders[&axis];
            let transposed = SmallVec::new();
            Ok((Reduce { axis, order, lanes, prologue, body, transposed, accumulators }, results))
        })?;
        self.env.extend(reduced.iter().copied().zip(results));
        Ok(reduce)
    }

    /// Returns what the steps of an axis do before they walk along a strip.
    fn before_strip(&mut self, axis: AxisId, strip: AxisId) -> Result<Steps, LowerError> {
        let contraction = self.placement.contractions.get(&axis);
        let ahead = contraction.map(|contraction| self.scoped(|maker| maker.contract(axis, contraction)));
        let ahead = ahead.transpose()?.into_iter().collect();
        let varies = |item: &Item| matches!(item, Item::Value(value) if self.nest.depends[value.index()] & bit(strip) != 0);
        let items = self.placement.items(Some(axis));
        let (varying, uniform): (Vec<Item>, Vec<Item>) = items.into_iter().partition(varies);
        let mut per_step = Vec::new();
        for item in uniform {
            self.item(item, &mut per_step)?;
        }
        Ok(Steps { ahead, per_step, varying })
    }

    /// A reduction into rows over the strip of the axis around it.
    fn stream(&mut self, axis: AxisId, strip: AxisId) -> Result<Stream, LowerError> {
        let reduced = self.placement.reduced[&axis].clone();
        let wanted: Vec<ValueId> =
            reduced.iter().flat_map(|value| self.nest.reductions[value].operand.operands()).collect();
        let order = self.placement.orders[&axis];
        let mut stream = self.scoped(|maker| {
            let Steps { ahead, per_step, varying } = maker.before_strip(axis, strip)?;
            let (prologue, body, lanes, accumulators) =
                maker.in_stages(strip, Some(axis), &varying, &wanted, |maker, body| {
                    reduced.iter().map(|value| maker.accumulator(*value, body)).collect::<Vec<_>>()
                })?;
            let accumulators = accumulators
                .into_iter()
                .map(|accumulator| StreamAccumulator {
                    accumulator,
                    state: SmallVec::new(),
                    target: RowId::new(0),
                    tree: None,
                })
                .collect();
            let lanes = match maker.placement.is_vector() {
                true if body.is_empty() => lanes.clamp(MIN_REDUCTION_LANES, LANES),
                // The counted values are narrower than the counts.
                true => lanes.min(LANES),
                false => 1,
            };
            let dense = maker.placement.has_dense_rows(axis);
            let mut stream = Stream {
                axis,
                strip,
                order,
                lanes,
                steps: 1,
                dense,
                padded: false,
                ahead,
                per_step,
                prologue,
                body,
                accumulators,
            };
            let [extent, width] = [axis, strip].map(|axis| maker.kernel.axes[axis.index()].extent);
            stream.steps = steps(&stream, extent, width);
            Ok(stream)
        })?;
        for (value, entry) in reduced.iter().zip(&mut stream.accumulators) {
            let Accumulator { op, dtype, .. } = entry.accumulator;
            entry.state.push(self.row(dtype, 1, strip));
            entry.target = entry.state[0];
            if let Contribution::Indexed { narrow, .. } = entry.accumulator.operand {
                entry.state.push(self.row(if narrow { DType::I32 } else { DType::I64 }, 1, strip));
                entry.target = self.row(DType::I64, 1, strip);
            }
            entry.tree = (is_by_tree(order) && !op.is_order_free(dtype)).then(|| StreamTree {
                lanes: self.row(dtype, LANES, strip),
                ranks: self.row(dtype, RANKS, strip),
            });
            self.rows.insert((*value, strip), entry.target);
        }
        Ok(stream)
    }
}

/// Steps of an axis that each walk along a strip.
struct Steps {
    /// Statements that run ahead of a group of steps.
    ahead: Vec<Stmt>,
    /// Statements of each step that do not depend on the strip.
    per_step: Vec<Stmt>,
    /// Items that do.
    varying: Vec<Item>,
}

fn is_by_tree(order: Order) -> bool {
    matches!(order, Order::Tree | Order::Blocks)
}

/// Returns the number of steps of the reduction axis that one walk along the strip takes.
fn steps(stream: &Stream, extent: Extent, width: Extent) -> usize {
    // Rows of a few cache lines stream through memory one after the other.
    if matches!(width, Extent::Constant(width) if width < MIN_STEPPED_ROW) {
        return 1;
    }
    let short = matches!(extent, Extent::Constant(extent) if extent < STREAM_STEPS as i64);
    let repeatable =
        stream.prologue.is_empty() && stream.per_step.len() + stream.body.len() <= MAX_REPEATED_STATEMENTS;
    let most =
        if stream.ahead.is_empty() { MAX_REPEATED_ACCUMULATORS } else { MAX_ACCUMULATORS_AFTER_CONTRACTION };
    let few = stream.accumulators.len() <= most;
    // Several steps are those of one lane: all lanes have them only behind short sums.
    let steps = stream.ahead.iter().find_map(Stmt::steps_after_contraction);
    if is_by_tree(stream.order) && steps.is_some_and(|steps| steps < STREAMED_STEPS) {
        return 1;
    }
    if repeatable && few && !short && !stream.is_in_order() { STREAM_STEPS } else { 1 }
}
