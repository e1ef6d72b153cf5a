//! Computes the lengths of strips and the places of scratch rows.
//!
//! Rows with disjoint lifetimes share memory. A row lives from the statement that first writes it, or from the
//! beginning of the loop that writes it element by element, to the last statement that reads it or, if a loop reads
//! it that does not write it, to the end of that loop.

use crate::Target;
use crate::kernel::*;
use crate::thresholds::{
    CONTRACTED_BYTES, MAX_COLUMN_STRIP, MAX_CONTRACTED_BYTES, MAX_PERIODIC_STRIP, MAX_TILE_STRIP, MIN_STRIP,
    PARTS_OF_ROWS_READ_AGAIN, PARTS_OF_SCRATCH, STRIP_UNIT,
};
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::BLOCK;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where a row should stay while a strip is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    /// In the first-level cache: every step uses it.
    First,
    /// In the second-level cache: a lane of a block, which one step in `LANES` uses, or a place of the best
    /// elements, which few steps use.
    Second,
    /// Anywhere: a rank of blocks, which one in `2^rank` blocks uses, and most axes hardly use any; or one of many
    /// rows of a transposed block, each of which is written and read once. Reading the other arrays by whole rows
    /// is worth more.
    Memory,
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Lanes of most vector loops.
const STRIP_LANES: usize = 16;

/// Gives strips and rows their lengths, and rows their places. `row_axes` are the strip axes of the rows;
/// along the axes `read_kept` strips are blocks.
pub(crate) fn lay_out(kernel: &mut Kernel, row_axes: &[AxisId], read_kept: &[AxisId], target: &Target) {
    let lives = Lives::of(kernel).intervals;
    let usage = Usage::of(kernel, target);
    let mut lengths: HashMap<AxisId, usize> = read_kept.iter().map(|axis| (*axis, BLOCK)).collect();
    let mut by_axis: BTreeMap<AxisId, Vec<usize>> = BTreeMap::new();
    for (row, axis) in row_axes.iter().enumerate() {
        by_axis.entry(*axis).or_default().push(row);
    }
    for (axis, rows) in by_axis {
        // The memory in use changes where a row begins, and after the end of one.
        let mut changes: Vec<(usize, bool, usize)> = Vec::with_capacity(2 * rows.len());
        for row in rows.into_iter().filter(|row| ![Span::Axis, Span::One].contains(&kernel.rows[*row].span)) {
            changes.extend([(lives[row].0, true, row), (lives[row].1 + 1, false, row)]);
        }
        changes.sort();
        let peak = |last: Level| -> usize {
            let (mut alive, mut most) = (0, 1);
            for (_, begins, row) in changes.iter().filter(|(.., row)| usage.levels[*row] <= last) {
                let Row { dtype, count, .. } = kernel.rows[*row];
                let bytes = dtype.size() * count;
                alive = if *begins { alive + bytes } else { alive - bytes };
                most = most.max(alive);
            }
            most
        };
        let (near, with_lanes) = (peak(Level::First), peak(Level::Second));
        let of_axis = kernel.rows.iter().zip(row_axes).filter(|(_, of)| **of == axis);
        let longest = of_axis.map(|(row, _)| match row.span {
            Span::Periodic { .. } => MAX_PERIODIC_STRIP,
            _ if usage.tiled.contains(&axis) => MAX_TILE_STRIP,
            Span::Strip
            | Span::Axis
            | Span::One
            | Span::Stretched { .. }
            | Span::Block { .. }
            | Span::Part { .. } => MAX_COLUMN_STRIP,
        });
        let longest = longest.chain(usage.contracted.get(&axis).copied()).min().unwrap_or(MAX_COLUMN_STRIP);
        let units = |bytes: usize, of: usize, unit: usize| (bytes / of / unit * unit).max(unit);
        let in_first = units(target.row_bytes(), near, STRIP_UNIT).min(longest);
        let in_second = units(target.lanes_bytes(), with_lanes, MIN_STRIP);
        let in_scratch = units(target.scratch_bytes() / PARTS_OF_SCRATCH, near, MIN_STRIP);
        // Rows inside a reduction are over its blocks.
        let block = kernel.axes[axis.index()].reduction || read_kept.contains(&axis);
        let again = usage.read_again.get(&axis);
        let again = again.map(|bytes| units(target.l1 / PARTS_OF_ROWS_READ_AGAIN, *bytes, STRIP_LANES));
        let length = in_first.min(in_second).min(in_scratch).min(again.unwrap_or(usize::MAX));
        // If they fit, use strips of whole periods and whole vectors. They begin where the rows do, so that no vector
        // crosses the end of a cache line.
        let periods = kernel.rows.iter().zip(row_axes).filter(|(_, of)| **of == axis);
        let unit = periods.fold(STRIP_LANES, |unit, (row, _)| match row.period(&kernel.axes) {
            Some(period) => unit / common_factor(unit, period) * period,
            None => unit,
        });
        let length = match () {
            () if block => BLOCK,
            () if unit <= length => length / unit * unit,
            () => length,
        };
        lengths.insert(axis, length);
    }
    for row in &kernel.rows {
        if let Span::Block { rows, .. } = row.span {
            let most = usage.steps.get(&rows).map_or(row.count, |steps| row.count.min(*steps));
            let length = lengths.entry(rows).or_insert(most);
            *length = most.min(*length);
        }
    }
    let mut placed: Vec<(usize, usize, usize)> = Vec::new();
    let mut order: Vec<usize> = (0..kernel.rows.len()).collect();
    order.sort_by_key(|row| usage.levels[*row]);
    for index in order {
        let Kernel { rows, axes, .. } = kernel;
        let row = &mut rows[index];
        // Rows whose starts are whole pages apart would all use one set of the cache.
        let apart = if row.count > 1 { LINE / row.dtype.size() } else { 0 };
        row.length = match row.span {
            Span::Strip | Span::Block { .. } | Span::Part { .. } => lengths[&row_axes[index]] + apart,
            Span::Axis => row.length,
            Span::One => 1,
            Span::Stretched { .. } => lengths[&row_axes[index]] + STRETCH,
            Span::Periodic { .. } => {
                let Some(period) = row.period(axes) else { continue };
                (lengths[&row_axes[index]] + period).next_multiple_of(period)
            }
        };
        let bytes = (row.dtype.size() * row.length * row.count).next_multiple_of(64);
        let (from, to) = lives[index];
        let mut busy: Vec<(usize, usize)> = placed
            .iter()
            .filter(|(other, ..)| lives[*other].0 <= to && from <= lives[*other].1)
            .map(|(_, start, end)| (*start, *end))
            .collect();
        busy.sort();
        let offset = busy
            .iter()
            .fold(0, |offset, (start, end)| if offset + bytes <= *start { offset } else { offset.max(*end) });
        row.offset = offset;
        placed.push((index, offset, offset + bytes));
    }
    set_strips(&mut kernel.body, &lengths);
}

/// The greatest common divisor of positive numbers.
fn common_factor(x: usize, y: usize) -> usize {
    if y == 0 { x } else { common_factor(y, x % y) }
}

impl Row {
    /// Returns the number of elements after which those of the row recur, if it is constant.
    fn period(&self, axes: &[Axis]) -> Option<usize> {
        match self.span {
            Span::Periodic { period, .. } => match axes[period.index()].extent {
                Extent::Constant(period) => Some(period as usize),
                Extent::Param(_) => None,
            },
            Span::Strip
            | Span::Axis
            | Span::One
            | Span::Stretched { .. }
            | Span::Block { .. }
            | Span::Part { .. } => None,
        }
    }
}

/// Returns the bytes of scratch memory of the rows that should stay in the first-level cache.
pub(crate) fn near_bytes(kernel: &Kernel, target: &Target) -> usize {
    let bytes = |row: &Row| (row.dtype.size() * row.length * row.count).next_multiple_of(64);
    let near =
        kernel.rows.iter().zip(Usage::of(kernel, target).levels).filter(|(_, level)| *level == Level::First);
    near.map(|(row, _)| row.offset + bytes(row)).max().unwrap_or(0)
}

/// How a kernel uses its rows.
struct Usage {
    levels: Vec<Level>,
    /// The axes over whose strips tile functions run.
    tiled: HashSet<AxisId>,
    /// The axes over whose strips contractions have rows, and the maximum length of the rows.
    contracted: HashMap<AxisId, usize>,
    /// The axes whose strips have a step for each row of a contraction, and the maximum number of steps.
    steps: HashMap<AxisId, usize>,
    /// The axes over whose strips one loop after the other reads rows of arrays, and the bytes of these rows.
    read_again: HashMap<AxisId, usize>,
}

impl Usage {
    fn of(kernel: &Kernel, target: &Target) -> Usage {
        let mut usage = Usage {
            levels: vec![Level::First; kernel.rows.len()],
            tiled: kernel.statements().filter_map(Stmt::tiled).collect(),
            contracted: HashMap::new(),
            steps: HashMap::new(),
            read_again: HashMap::new(),
        };
        for stmt in kernel.statements() {
            match stmt {
                Stmt::Strip { axis, body, .. } => {
                    if let Some(bytes) = read_again(kernel, *axis, body) {
                        usage.read_again.insert(*axis, bytes);
                    }
                }
                Stmt::Transpose { row, .. } => usage.levels[row.index()] = Level::Memory,
                Stmt::Contract(contract) => {
                    let mut bytes = 0;
                    for row in contract.filled(&kernel.values) {
                        usage.levels[row.index()] = Level::Memory;
                        bytes += kernel.rows[row.index()].dtype.size();
                    }
                    let beside: Vec<RowId> = contract.filled_beside(&kernel.values).collect();
                    // All rows that tiles read together should stay in the second-level cache.
                    let read = contract.body.iter().flat_map(|stmt| stmt.rows(&kernel.values));
                    let read = read.filter(|(row, _)| beside.contains(row)).count();
                    let least = CONTRACTED_BYTES / read.max(1);
                    for row in contract.accumulators.iter().map(|entry| entry.target).chain(beside) {
                        usage.levels[row.index()] = Level::Memory;
                    }
                    let steps = usage.steps.entry(contract.rows).or_insert(contract.steps);
                    *steps = contract.steps.min(*steps);
                    let steps = contract.filled(&kernel.values).map(|row| kernel.rows[row.index()].count);
                    let steps = steps.max().unwrap_or(BLOCK).min(BLOCK);
                    // Contractions that run one after another over the same strip have rows of their own. All of
                    // them use whole vectors, whose lanes are powers of two.
                    let over_strip = |other: &Stmt| match other {
                        Stmt::Contract(of) if of.strip == contract.strip => Some(of.lanes),
                        _ => None,
                    };
                    let lanes: Vec<usize> = kernel.statements().filter_map(over_strip).collect();
                    let strip = (target.l2 / steps).clamp(least, MAX_CONTRACTED_BYTES) / lanes.len();
                    let dtypes = contract.accumulators.iter().map(|entry| entry.accumulator.dtype);
                    let bytes = bytes.max(dtypes.map(DType::size).sum());
                    let vector = lanes.into_iter().max().unwrap_or(contract.lanes);
                    let length = (strip / bytes.max(1)).next_multiple_of(vector);
                    let most = usage.contracted.entry(contract.strip).or_insert(length);
                    *most = length.min(*most);
                }
                Stmt::FoldRows(fold) => {
                    let rows = fold.folded.iter().flat_map(Folded::rows);
                    rows.for_each(|row| usage.levels[row.index()] = Level::Memory);
                }
                Stmt::Stream(stream) => {
                    // Rows that a prologue fills, between steps of different lanes, leave less room for these.
                    let is_spared = stream.prologue.is_empty() || stream.is_by_lanes();
                    let level = if is_spared { Level::Second } else { Level::First };
                    for tree in stream.accumulators.iter().filter_map(|entry| entry.tree) {
                        usage.levels[tree.lanes.index()] = level;
                        usage.levels[tree.ranks.index()] = Level::Memory;
                    }
                }
                // A step always reads only the last of the places.
                Stmt::BestRows(best) => {
                    best.rows().iter().for_each(|row| usage.levels[row.index()] = Level::Second);
                }
                _ => {}
            }
        }
        usage
    }
}

/// Returns the bytes of the rows of arrays that belong to a step of a strip, if more than one loop over the strip uses such rows
/// and their lengths are constant.
fn read_again(kernel: &Kernel, strip: AxisId, body: &[Stmt]) -> Option<usize> {
    let loops = body.iter().filter_map(|stmt| match stmt {
        Stmt::For { axis, body, .. } if *axis == strip => Some(rows_of_arrays(kernel, strip, body)),
        _ => None,
    });
    let with_rows: Vec<HashMap<BufferId, usize>> = loops.filter(|rows| !rows.is_empty()).collect();
    let mut most: HashMap<BufferId, usize> = HashMap::new();
    for (buffer, bytes) in with_rows.iter().flatten() {
        let most = most.entry(*buffer).or_default();
        *most = (*bytes).max(*most);
    }
    (with_rows.len() > 1).then(|| most.into_values().fold(0, usize::saturating_add))
}

/// Returns the bytes of the rows that a step of a strip uses in each array: those of constant length along the loops inside.
fn rows_of_arrays(kernel: &Kernel, strip: AxisId, body: &[Stmt]) -> HashMap<BufferId, usize> {
    let mut rows: HashMap<BufferId, usize> = HashMap::new();
    let inside: Vec<&Stmt> = statements(body).collect();
    let loops: HashSet<AxisId> = inside.iter().filter_map(|stmt| Some(stmt.as_loop()?.axis)).collect();
    for (access, _) in inside.iter().flat_map(|stmt| stmt.accesses(&kernel.values)) {
        let access = &kernel.accesses[access.index()];
        let Some(buffer) = access.buffer else { continue };
        let along = access.strides.iter().map(|(axis, _)| axis).filter(|axis| loops.contains(axis));
        // Sizes of declared arrays may be larger than any memory.
        let steps = along.map(|axis| kernel.axes[axis.index()].extent).try_fold(1, |steps: usize, extent| {
            let Extent::Constant(extent) = extent else { return None };
            Some(steps.saturating_mul(usize::try_from(extent).unwrap_or(0)))
        });
        let moves = access.strides.iter().any(|(axis, _)| *axis == strip);
        if let Some(steps) = steps.filter(|steps| *steps > 1 && moves) {
            let most = rows.entry(buffer).or_default();
            *most = steps.saturating_mul(access.dtype.size()).max(*most);
        }
    }
    rows
}

/// A loop around a statement.
#[derive(Clone, Copy)]
struct Around {
    number: usize,
    /// The axis that it walks element by element.
    axis: Option<AxisId>,
    start: usize,
}

/// The lives of rows as intervals of positions in the text of a kernel.
struct Lives {
    intervals: Vec<(usize, usize)>,
    whole: Vec<bool>,
    /// The loops around the statement that first wrote each row.
    written_in: Vec<Option<Vec<usize>>>,
    /// Loops around, by number, and the rows that live to the end of each.
    around: Vec<Around>,
    until_end: HashMap<usize, Vec<RowId>>,
    position: usize,
    loops: usize,
}

impl Lives {
    fn of(kernel: &Kernel) -> Lives {
        let mut lives = Lives {
            intervals: vec![(0, 0); kernel.rows.len()],
            whole: kernel.rows.iter().map(|row| row.span == Span::Axis).collect(),
            written_in: vec![None; kernel.rows.len()],
            around: Vec::new(),
            until_end: HashMap::new(),
            position: 0,
            loops: 0,
        };
        lives.body(kernel, &kernel.body);
        // Rows that are filled once are read again in later strips.
        for stmt in kernel.statements() {
            if let Stmt::Contract(contract) = stmt {
                for row in contract.filled(&kernel.values) {
                    lives.intervals[row.index()] = (0, usize::MAX - 1);
                }
            }
        }
        lives
    }

    /// A row is written or read, over its whole strip or at the position of an axis.
    fn touch(&mut self, row: RowId, at: Option<AxisId>) {
        let position = self.position;
        let is_whole = self.whole[row.index()];
        match &self.written_in[row.index()] {
            None => {
                let walk = self.around.iter().rev().find(|around| around.axis.is_some() && around.axis == at);
                // A whole row keeps its elements longer than the rows of a block.
                let walk = if is_whole { self.around.last() } else { walk };
                self.intervals[row.index()] = (walk.map_or(position, |around| around.start), position);
                self.written_in[row.index()] = Some(self.around.iter().map(|around| around.number).collect());
            }
            Some(written_in) => {
                self.intervals[row.index()].1 = position;
                let outer = self.around.iter().find(|around| !written_in.contains(&around.number));
                if let Some(outer) = outer {
                    self.until_end.entry(outer.number).or_default().push(row);
                }
            }
        }
    }

    fn enclosed(&mut self, axis: Option<AxisId>, inside: impl FnOnce(&mut Self)) {
        let number = self.loops;
        self.loops += 1;
        self.around.push(Around { number, axis, start: self.position });
        inside(self);
        self.around.pop();
        self.position += 1;
        for row in self.until_end.remove(&number).unwrap_or_default() {
            let end = &mut self.intervals[row.index()].1;
            *end = (*end).max(self.position);
        }
    }

    fn body(&mut self, kernel: &Kernel, body: &[Stmt]) {
        for stmt in body {
            self.position += 1;
            let rows = stmt.rows(&kernel.values);
            for (row, used) in &rows {
                let at = if let RowUse::Put(axis) = used { Some(*axis) } else { None };
                self.touch(*row, at);
            }
            if let Some(each) = stmt.as_loop() {
                self.looped(kernel, &each);
            }
            if rows.iter().any(|(_, used)| *used == RowUse::Accumulate) {
                // Accumulators live to after the last step.
                self.position += 1;
                rows.iter().for_each(|(row, _)| self.touch(*row, None));
            }
        }
    }

    fn looped(&mut self, kernel: &Kernel, each: &Loop<'_>) {
        let walked = matches!(each.turn, Turn::Steps(_)).then_some(each.axis);
        self.enclosed(walked, |lives| {
            each.bodies.iter().for_each(|body| lives.body(kernel, body));
            if let Some(inner) = &each.inner {
                lives.looped(kernel, inner);
            }
        });
    }
}

fn set_strips(body: &mut [Stmt], lengths: &HashMap<AxisId, usize>) {
    for stmt in body {
        if let Stmt::Strip { axis, length, .. } = stmt {
            // Without rows, functions are called on the arrays themselves.
            *length = lengths.get(axis).copied().unwrap_or(MAX_TILE_STRIP);
        }
        stmt.children_mut().into_iter().for_each(|body| set_strips(body, lengths));
    }
}
