//! Finds kernels that can run together, for a few rows at a time: then arrays between them hold only these rows.
//!
//! ```text
//! k0: t0[i, j] = ..        k1: t1[i, ..] = sort t0[i, ..]        k2: y[i] = t1[i, 5]        all in steps of i
//! ```
//!
//! A step of a kernel's parallel axis, or of this and others inside it that are counted with it, is a *row* of an array if all that
//! the step reads and writes there is one part of the array, and the parts of successive steps follow each other. Kernels can run together if each array that one of them
//! writes and another uses is used by rows, and if none of them waits for a kernel outside that waits for another of them.
//! They then read and write the same elements in the same order as in a run of one kernel after the other.

mod counted;
mod positions;
mod turned;

pub(crate) use counted::count_together;
pub(crate) use turned::{turn, turn_contractions};

use crate::kernel::*;
use crate::thresholds::{MAX_BAND_KERNELS, MAX_CONDITIONS, MIN_BAND_BYTES};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, Facts};
use broadloom_ir::graph::{Demand, SymbolInfo};
use counted::is_small;
use positions::{Position, contents, position, range};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of sizes and of arrays.
#[derive(Clone, Copy)]
pub(crate) struct Known<'s> {
    pub symbols: &'s [SymbolInfo],
    pub conditions: &'s [Demand],
    /// The least and the greatest element of some arrays.
    pub contents: &'s BTreeMap<BufferId, (Dim, Dim)>,
}

/// No array of which anything is known.
static NO_CONTENTS: BTreeMap<BufferId, (Dim, Dim)> = BTreeMap::new();

impl<'s> Known<'s> {
    /// Returns what is known of sizes.
    pub fn new(symbols: &'s [SymbolInfo], conditions: &'s [Demand]) -> Known<'s> {
        Known { symbols, conditions, contents: &NO_CONTENTS }
    }

    /// Returns what a schedule knows of sizes.
    pub fn of(schedule: &'s Schedule) -> Known<'s> {
        Known::new(&schedule.symbols, &schedule.conditions)
    }

    fn interval_starts_at_zero(self, dim: &Dim) -> bool {
        let facts = |symbol: SymbolId| match self.symbols.get(symbol.index()) {
            Some(symbol) => symbol.facts,
            // Strides of the host may be negative.
            None => Facts { lower: i64::MIN, upper: None },
        };
        dim.interval(&facts).lower >= 0
    }

    /// Returns whether a number is certainly not negative.
    pub fn is_size(self, dim: &Dim) -> bool {
        let is_more = |demand: &Demand| match demand {
            Demand::NonNegative(size) => dim.sub(size).is_ok_and(|rest| self.interval_starts_at_zero(&rest)),
            Demand::Equal(..) => false,
        };
        self.interval_starts_at_zero(dim)
            || self.conditions.iter().take(MAX_CONDITIONS).any(is_more)
            || self.without_factor(dim).is_some_and(|rest| self.is_size(&rest))
    }

    /// Returns the other factor, if a size is a factor of a number: conditions are of sizes, and not of areas.
    fn without_factor(self, dim: &Dim) -> Option<Dim> {
        dim.symbols().into_iter().map(Dim::symbol).find_map(|size| {
            let rest = dim.exact_div(&size)?;
            self.interval_starts_at_zero(&size).then_some(rest)
        })
    }
}

/// The use of an array by a statement.
struct Touch {
    access: AccessId,
    writes: bool,
    /// Added to the position; `None` if the access does not tell which elements are used.
    delta: Option<i64>,
    /// How data choose the element.
    chosen: Option<Chosen>,
}

/// An element of a table.
#[derive(Clone, Copy)]
struct Chosen {
    stride: Stride,
    size: Extent,
    /// Its number, if the data tell it.
    index: Option<ValueId>,
}

/// Returns how a statement uses arrays.
fn touches(kernel: &Kernel, stmt: &Stmt) -> impl Iterator<Item = Touch> {
    let (delta, chosen) = match stmt {
        Stmt::Let(value) => match kernel.values[value.index()].def {
            Def::Take { stride, size, index, .. } => {
                (Some(0), Some(Chosen { stride, size, index: Some(index) }))
            }
            Def::Search { stride, size, .. } => (Some(0), Some(Chosen { stride, size, index: None })),
            _ => (None, None),
        },
        Stmt::Sort(_) => (Some(0), None),
        Stmt::Transpose { delta, .. } => (Some(*delta), None),
        Stmt::Best(Best { source, .. }) | Stmt::BestRows(BestRows { source, .. }) => {
            (source.array().map(|(_, delta)| delta), None)
        }
        _ => (None, None),
    };
    let touch = move |(access, used): (AccessId, Use)| Touch {
        access,
        writes: used.writes(),
        delta: match used {
            Use::Read(delta) | Use::Write(delta) => Some(delta),
            Use::ReadAny | Use::Combine | Use::Position => delta,
        },
        chosen,
    };
    stmt.accesses(&kernel.values).into_iter().map(touch)
}

/// Returns the number of steps that threads share, unless their axis is a part of another one.
fn steps(kernel: &Kernel) -> Option<Dim> {
    let axis = &kernel.axes[kernel.parallel?.index()];
    axis.is_whole().then(|| kernel.steps().ok())?
}

/// How the steps that threads share move an access.
enum Moved {
    /// Each by this many elements.
    By(Dim),
    Not,
}

/// Returns how the steps that threads share move an access: `None` if those of several axes move it in different ways.
fn moved(kernel: &Kernel, access: &Access) -> Option<Moved> {
    let axes: Vec<AxisId> = kernel.shared().collect();
    if axes.iter().all(|axis| access.stride(*axis).is_none()) {
        return Some(Moved::Not);
    }
    let by = |axis: AxisId| access.stride(axis).map_or(Dim::ZERO, |stride| kernel.elements(stride));
    let is_alike = |pair: &[AxisId]| {
        let steps = kernel.size(kernel.axes[pair[1].index()].extent);
        by(pair[1]).mul(&steps).is_ok_and(|all| by(pair[0]) == all)
    };
    let last = *axes.last()?;
    axes.windows(2).all(is_alike).then(|| Moved::By(by(last)))
}

/// Returns whether a kernel uses all of an array by rows.
pub(crate) fn is_by_rows(kernel: &Kernel, buffer: BufferId, elements: &Dim, known: Known<'_>) -> bool {
    let mut touched = kernel.statements().flat_map(|stmt| touches(kernel, stmt));
    touched.all(|touch| {
        let is_other = kernel.accesses[touch.access.index()].buffer != Some(buffer);
        is_other || is_in_row(kernel, &touch, elements, known) == Some(true)
    })
}

/// Returns whether a use is of a row: `None` if that is not known.
fn is_in_row(kernel: &Kernel, touch: &Touch, elements: &Dim, known: Known<'_>) -> Option<bool> {
    let access = &kernel.accesses[touch.access.index()];
    let start = access.offset.add(&Dim::constant(touch.delta?)).ok()?;
    let (mut first, mut last) = (start.clone(), start);
    let (row, chosen) = match (moved(kernel, access)?, touch.chosen) {
        (Moved::By(by), chosen) => (by, chosen),
        // The index tells the row.
        (Moved::Not, Some(chosen)) => {
            let Position { per_step, first: least, last: greatest } = placed(kernel, chosen, known)?;
            (first, last) = (first.add(&least).ok()?, last.add(&greatest).ok()?);
            (per_step, None)
        }
        (Moved::Not, None) => return None,
    };
    if row.mul(&steps(kernel)?).ok()? != *elements {
        return None;
    }
    let mut reach = |by: Stride, steps: Extent| {
        let by = kernel.elements(by);
        // An axis without steps reaches nothing.
        let reach = by.mul(&kernel.size(steps).sub(&Dim::ONE).ok()?).ok()?;
        let end = match known.is_size(&by) {
            true => &mut last,
            false if known.is_size(&by.neg().ok()?) => &mut first,
            false => return None,
        };
        *end = end.add(&reach).ok()?;
        Some(())
    };
    for &(axis, by) in access.strides.iter().filter(|(axis, _)| !kernel.shares(*axis)) {
        let entry = &kernel.axes[axis.index()];
        if !entry.is_whole() {
            return None;
        }
        reach(by, entry.extent)?;
    }
    if let Some(Chosen { stride, size, .. }) = chosen {
        reach(stride, size)?;
    }
    let room = row.sub(&last).ok()?.sub(&Dim::ONE).ok()?;
    Some(known.is_size(&first) && known.is_size(&room))
}

/// Returns by how much an index moves the place of an element, if it is within the table in each step.
fn placed(kernel: &Kernel, chosen: Chosen, known: Known<'_>) -> Option<Position> {
    let Chosen { stride: by, size, index } = chosen;
    let (least, greatest) = range(kernel, index?, known)?;
    let room = kernel.size(size).sub(&greatest).ok()?.sub(&Dim::ONE).ok()?;
    let by = kernel.elements(by);
    let is_within = [&least, &room, &by].into_iter().all(|size| known.is_size(size));
    is_within.then(|| position(kernel, index?, known)?.times(&by))?
}

/// Kernels that can run together.
pub(crate) struct Together {
    /// The number of rows.
    rows: Dim,
    /// The kernels, in no order, with the steps of each per row.
    kernels: BTreeMap<usize, Dim>,
    /// The temporaries between them, each with the sizes of a row.
    held: Vec<(BufferId, Vec<Dim>)>,
}

impl Together {
    /// Returns the band of these kernels in a schedule, with the symbol for its rows: the launch order of kernels and the
    /// numbers of arrays are those of the schedule. The arrays that it holds get a size for some rows.
    pub fn band(
        self,
        rows: SymbolId,
        order: &[usize],
        renumbered: &BTreeMap<BufferId, BufferId>,
        buffers: &mut [Buffer],
    ) -> Band {
        let mut held = Vec::new();
        for (buffer, of_row) in self.held {
            let buffer = renumbered[&buffer];
            buffers[buffer.index()].shape = std::iter::once(Dim::symbol(rows)).chain(of_row).collect();
            held.push(buffer);
        }
        let launched = order.iter().enumerate();
        let kernels =
            launched.filter_map(|(at, kernel)| Some((KernelId::new(at), self.kernels.get(kernel)?.clone())));
        Band { extent: self.rows, rows, kernels: kernels.collect(), held }
    }
}

/// The kernels of a schedule that is being made.
pub(crate) struct Finder<'s> {
    pub kernels: &'s [Kernel],
    pub buffers: &'s [Buffer],
    pub known: Known<'s>,
    /// Each kernel with one that waits for it.
    pub edges: &'s [(usize, usize)],
    /// The arrays that may share memory: inputs, and the outputs that replace them.
    pub assigned: &'s [(BufferId, BufferId)],
    /// The versions of arrays that are changed in place: kernels that use them run one after the other.
    pub versions: &'s BTreeSet<BufferId>,
}

impl Finder<'_> {
    /// Returns the kernels that run together, each in at most one group, and all kernels in launch order: as close as
    /// possible to a given one. The groups are in this order too.
    pub fn find(&self, order: Vec<usize>) -> (Vec<Together>, Vec<usize>) {
        let mut found = self.found();
        if found.is_empty() {
            return (found, order);
        }
        // Each group was found to have an order.
        let order = in_order(&order, &found.iter().collect::<Vec<_>>(), self.edges).unwrap_or(order);
        found.sort_by_key(|band| order.iter().position(|kernel| band.kernels.contains_key(kernel)));
        (found, order)
    }

    fn found(&self) -> Vec<Together> {
        let mut found: Vec<Together> = Vec::new();
        if self.kernels.len() < 2 {
            return found;
        }
        let users = self.users();
        let contents = contents(self.kernels, self.buffers, self.known);
        let known = Known { contents: &contents, ..self.known };
        let changes = |kernel: &usize| {
            let mut used = self.kernels[*kernel].accesses.iter().filter_map(|access| access.buffer);
            used.any(|buffer| self.versions.contains(&buffer))
        };
        let is_small = |buffer: &BufferId| {
            let elements = self.buffers[buffer.index()].shape.elements();
            elements.is_ok_and(|elements| is_small(self.buffers, &elements))
        };
        // What is held of large arrays decides how fine rows are.
        let (small, large): (Vec<_>, Vec<_>) = users.iter().partition(|(buffer, _)| is_small(buffer));
        for (buffer, kernels) in large.into_iter().chain(small) {
            if kernels.keys().any(changes) {
                continue;
            }
            if self.buffers[buffer.index()].role != Role::Temporary || kernels.len() < 2 {
                continue;
            }
            let (joined, others): (Vec<Together>, Vec<Together>) = std::mem::take(&mut found)
                .into_iter()
                .partition(|band| kernels.keys().any(|kernel| band.kernels.contains_key(kernel)));
            let members = joined.iter().flat_map(|band| band.kernels.keys()).chain(kernels.keys()).copied();
            found = others;
            match self.together(*buffer, &members.collect(), &users, (&found, known)) {
                Some(band) if !is_small(buffer) || joined.iter().all(|joined| joined.rows == band.rows) => {
                    found.push(band);
                }
                _ => found.extend(joined),
            }
        }
        for band in &mut found {
            let is_between = |(_, kernels): &(&BufferId, &BTreeMap<usize, bool>)| {
                kernels.len() > 1 && kernels.keys().all(|kernel| band.kernels.contains_key(kernel))
            };
            let between = users.iter().filter(is_between).map(|(buffer, _)| *buffer);
            let stored = between.filter(|held| self.buffers[held.index()].role == Role::Temporary);
            band.held =
                stored.filter_map(|held| Some((held, self.sizes_of_row(held, &band.rows)?))).collect();
        }
        found
    }

    /// Returns the sizes of a row of an array with so many rows.
    fn sizes_of_row(&self, buffer: BufferId, rows: &Dim) -> Option<Vec<Dim>> {
        let shape = &self.buffers[buffer.index()].shape;
        let around = |axes: &usize| Dim::product(&shape[..*axes]).as_ref() == Ok(rows);
        // A row may also end within an axis.
        match (1..=shape.rank()).find(around) {
            Some(axes) => Some(shape[axes..].to_vec()),
            None => Some(vec![shape.elements().ok()?.exact_div(rows)?]),
        }
    }

    /// Returns the kernels that use each array, and whether they write it. Arrays that may share memory count as one.
    fn users(&self) -> BTreeMap<BufferId, BTreeMap<usize, bool>> {
        let mut users: BTreeMap<BufferId, BTreeMap<usize, bool>> = BTreeMap::new();
        for (index, kernel) in self.kernels.iter().enumerate() {
            for touch in kernel.statements().flat_map(|stmt| touches(kernel, stmt)) {
                let Some(buffer) = kernel.accesses[touch.access.index()].buffer else { continue };
                let same =
                    self.assigned.iter().find(|(input, _)| *input == buffer).map(|(_, output)| *output);
                *users.entry(same.unwrap_or(buffer)).or_default().entry(index).or_default() |= touch.writes;
            }
        }
        users
    }

    /// Returns the kernels as a group, if they can run together for the sake of an array.
    fn together(
        &self,
        reason: BufferId,
        members: &BTreeSet<usize>,
        users: &BTreeMap<BufferId, BTreeMap<usize, bool>>,
        (others, known): (&[Together], Known<'_>),
    ) -> Option<Together> {
        if members.len() > MAX_BAND_KERNELS {
            return None;
        }
        let all: Vec<Dim> =
            members.iter().map(|member| steps(&self.kernels[*member])).collect::<Option<_>>()?;
        let per_row =
            |rows: &Dim| all.iter().map(|steps| steps.exact_div(rows)).collect::<Option<Vec<Dim>>>();
        let (rows, per_row) = all.iter().find_map(|rows| Some((rows, per_row(rows)?)))?;
        let Buffer { shape, dtype, .. } = &self.buffers[reason.index()];
        let elements = shape.elements().ok()?;
        let is_short = elements.as_constant().is_some_and(|count| {
            count.checked_mul(dtype.size() as i64).is_some_and(|bytes| bytes < MIN_BAND_BYTES)
        });
        if is_short || elements == *rows {
            return None;
        }
        for (&buffer, kernels) in users {
            let inside = || kernels.iter().filter(|(kernel, _)| members.contains(kernel));
            if inside().count() > 1 && inside().any(|(_, writes)| *writes) {
                let elements = self.buffers[buffer.index()].shape.elements().ok()?;
                let inputs = self.assigned.iter().filter(|(_, output)| *output == buffer);
                let arrays: Vec<BufferId> = inputs.map(|(input, _)| *input).chain([buffer]).collect();
                let by_rows = |(kernel, _): (&usize, &bool)| {
                    let kernel = &self.kernels[*kernel];
                    arrays.iter().all(|array| is_by_rows(kernel, *array, &elements, known))
                };
                if !inside().all(by_rows) {
                    return None;
                }
            }
        }
        let kernels = members.iter().copied().zip(per_row).collect();
        let band = Together { rows: rows.clone(), kernels, held: Vec::new() };
        let order: Vec<usize> = (0..self.kernels.len()).collect();
        let bands: Vec<&Together> = others.iter().chain([&band]).collect();
        in_order(&order, &bands, self.edges)?;
        Some(band)
    }
}

/// Returns kernels in an order in which those that run together follow each other, and which is close to a given order that
/// keeps to the edges: `None` if there is none.
fn in_order(order: &[usize], bands: &[&Together], edges: &[(usize, usize)]) -> Option<Vec<usize>> {
    let of = |kernel: usize| bands.iter().position(|band| band.kernels.contains_key(&kernel));
    let band_of: Vec<Option<usize>> = (0..order.len()).map(of).collect();
    // A group is represented by one of its kernels.
    let first = |kernel: usize| match band_of[kernel] {
        Some(band) => bands[band].kernels.keys().next().copied().unwrap_or(kernel),
        None => kernel,
    };
    let mut waits = vec![0usize; order.len()];
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
    for &(from, to) in edges {
        let (from, to) = (first(from), first(to));
        if from != to {
            waits[to] += 1;
            after[from].push(to);
        }
    }
    let mut ready: BTreeSet<usize> = BTreeSet::new();
    let place: Vec<usize> = {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, kernel)| place[*kernel] = at);
        place
    };
    let is_ready = |kernel: usize, waits: &[usize]| first(kernel) == kernel && waits[kernel] == 0;
    ready.extend((0..order.len()).filter(|kernel| is_ready(*kernel, &waits)).map(|kernel| place[kernel]));
    let mut sorted = Vec::with_capacity(order.len());
    while let Some(at) = ready.pop_first() {
        let kernel = order[at];
        let mut members: Vec<usize> = match band_of[kernel] {
            Some(band) => bands[band].kernels.keys().copied().collect(),
            None => vec![kernel],
        };
        members.sort_by_key(|member| place[*member]);
        sorted.extend(members);
        for &next in &after[kernel] {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.insert(place[next]);
            }
        }
    }
    (sorted.len() == order.len()).then_some(sorted)
}
