//! Kernels that can run together for finer rows: in a batch `d[b, n, k]`, the kernel that computes `d` has a loop over `n` in
//! one over `b`, while a sort has a single one over `b * n`. Each step of `b` is a row of the array for both, a whole table; but
//! if threads count the steps of both loops of the first kernel together, each such step is a row of the table. The same holds
//! if all kernels have loops over `b` and `n`.

use super::turned::moves_writes;
use super::{Known, is_by_rows, steps};
use crate::kernel::*;
use crate::thresholds::{MAX_BAND_KERNELS, MIN_DIVIDED_ROW};
use broadloom_ir::dim::Dim;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the steps of inner loops of kernels with those that threads share, if all kernels around some temporaries then use these
/// by finer rows.
pub(crate) fn count_together(kernels: &mut [Kernel], buffers: &[Buffer], known: Known<'_>) {
    let mut by_rows: BTreeMap<BufferId, BTreeSet<usize>> = BTreeMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        for buffer in kernel.accesses.iter().filter_map(|access| access.buffer) {
            by_rows.entry(buffer).or_default().insert(index);
        }
    }
    // An array no larger than one of the caller's may be stored, and others are stored already.
    by_rows.retain(|buffer, users| {
        let Buffer { role, shape, .. } = &buffers[buffer.index()];
        let Ok(elements) = shape.elements() else { return false };
        *role == Role::Temporary
            && users.len() > 1
            && !is_small(buffers, &elements)
            && users.iter().all(|user| is_by_rows(&kernels[*user], *buffer, &elements, known))
    });
    while let Some(first) = by_rows.keys().next().copied() {
        let (held, members) = connected(&mut by_rows, first);
        let around = Around { buffers, known, held: &held };
        let users = || members.iter().map(|member| (*member, kernels[*member].clone())).collect();
        let finest = (members.len() <= MAX_BAND_KERNELS).then(|| around.finest(users())).flatten();
        finest.into_iter().flatten().for_each(|(index, kernel)| kernels[index] = kernel);
    }
}

/// Returns whether an array of so many elements is no larger than one of the caller's.
pub(super) fn is_small(buffers: &[Buffer], elements: &Dim) -> bool {
    let of_caller = buffers.iter().filter(|buffer| buffer.role != Role::Temporary);
    let mut sizes = of_caller.filter_map(|buffer| buffer.shape.elements().ok());
    sizes.any(|size| size.exact_div(elements).is_some())
}

/// Takes an array, and all those that kernels around it use as well, with these kernels.
fn connected(
    arrays: &mut BTreeMap<BufferId, BTreeSet<usize>>,
    first: BufferId,
) -> (BTreeMap<BufferId, BTreeSet<usize>>, BTreeSet<usize>) {
    let (mut held, mut members) = (BTreeMap::new(), BTreeSet::new());
    let mut next = Some(first);
    while let Some(buffer) = next {
        let users = arrays.remove(&buffer).unwrap_or_default();
        members.extend(users.iter().copied());
        held.insert(buffer, users);
        let is_near = |users: &BTreeSet<usize>| !users.is_disjoint(&members);
        next = arrays.iter().find(|(_, users)| is_near(users)).map(|(buffer, _)| *buffer);
    }
    (held, members)
}

/// Kernels, and the arrays that they use by rows, each with its users.
struct Around<'s> {
    buffers: &'s [Buffer],
    known: Known<'s>,
    held: &'s BTreeMap<BufferId, BTreeSet<usize>>,
}

impl Around<'_> {
    /// Returns the kernels with the finest rows of the arrays that all of them can use.
    fn finest(&self, mut kernels: BTreeMap<usize, Kernel>) -> Option<BTreeMap<usize, Kernel>> {
        let all: Vec<Dim> = kernels.values().map(steps).collect::<Option<_>>()?;
        let is_finest = |rows: &&Dim| all.iter().all(|steps| rows.exact_div(steps).is_some());
        let mut rows = all.iter().find(is_finest)?.clone();
        kernels = self.with_rows(&kernels, &rows)?;
        // Loops that all of them have inside make finer rows.
        while let Some(first) = kernels.values().next() {
            let sizes = first.axes.iter().map(|axis| rows.mul(&first.size(axis.extent)));
            let finer = sizes
                .filter_map(Result::ok)
                .filter(|finer| *finer != rows && self.is_worthwhile(&rows, finer));
            let mut finer = finer.filter_map(|finer| Some((self.with_rows(&kernels, &finer)?, finer)));
            match finer.next() {
                Some((next, finer)) => (kernels, rows) = (next, finer),
                None => break,
            }
        }
        Some(kernels)
    }

    /// Returns whether some rows are long, and finer ones are not single elements.
    fn is_worthwhile(&self, rows: &Dim, finer: &Dim) -> bool {
        let is_long = |buffer: &BufferId| {
            let of_row = self.elements(*buffer)?.exact_div(rows)?;
            let bytes = of_row.scale(self.buffers[buffer.index()].dtype.size() as i64).ok()?;
            Some(bytes.as_constant().is_none_or(|bytes| bytes >= MIN_DIVIDED_ROW))
        };
        let is_single = |buffer: &BufferId| self.elements(*buffer).as_ref() == Some(finer);
        self.held.keys().any(|buffer| is_long(buffer) == Some(true)) && !self.held.keys().any(is_single)
    }

    fn elements(&self, buffer: BufferId) -> Option<Dim> {
        self.buffers[buffer.index()].shape.elements().ok()
    }

    /// Returns the kernels with so many steps each, if these are rows of the arrays.
    fn with_rows(&self, kernels: &BTreeMap<usize, Kernel>, rows: &Dim) -> Option<BTreeMap<usize, Kernel>> {
        kernels.iter().map(|(member, kernel)| Some((*member, self.counted(*member, kernel, rows)?))).collect()
    }

    /// Returns a kernel that counts the steps of inner loops too, so that there are so many.
    fn counted(&self, member: usize, kernel: &Kernel, rows: &Dim) -> Option<Kernel> {
        let arrays = self.held.iter().filter(|(_, users)| users.contains(&member));
        let arrays: Vec<(BufferId, Dim)> =
            arrays.map(|(buffer, _)| Some((*buffer, self.elements(*buffer)?))).collect::<Option<_>>()?;
        let (mut kernel, mut left) = (kernel.clone(), rows.exact_div(&steps(kernel)?)?);
        while !left.is_one() {
            let inner = (0..kernel.axes.len()).map(AxisId::new);
            let mut counted = inner.filter_map(|axis| counting(&kernel, axis, &left));
            (kernel, left) = counted.find(|(kernel, _)| {
                arrays.iter().all(|(array, elements)| is_by_rows(kernel, *array, elements, self.known))
            })?;
        }
        Some(kernel)
    }
}

/// Returns the kernel with an axis counted after those that threads share, if that is possible, and what is left of so many steps
/// of further axes.
fn counting(kernel: &Kernel, axis: AxisId, left: &Dim) -> Option<(Kernel, Dim)> {
    let entry = &kernel.axes[axis.index()];
    let names = |entry: &Axis| {
        entry.groups.iter().any(|(counter, _)| *counter == axis)
            || entry.stretched.is_some_and(|(along, _)| along == axis)
    };
    if entry.reduction
        || Some(axis) == kernel.scanned
        || kernel.shares(axis)
        || !entry.is_whole()
        || kernel.axes.iter().any(names)
    {
        return None;
    }
    let size = kernel.size(entry.extent);
    if size.is_one() {
        return None;
    }
    let left = left.exact_div(&size)?;
    let around: Vec<AxisId> = kernel.shared().collect();
    if !moves_writes(kernel, axis) || !is_inside(&kernel.body, axis, &around) {
        return None;
    }
    let counted = kernel.counted.iter().copied().chain([axis]).collect();
    let (mut step, mut outside) = (kernel.cost.step.clone(), kernel.cost.outside.clone());
    // What the loop around does beside this one is done again for each part of its steps.
    for (of_step, of_outside) in
        [(&mut step.bytes, &mut outside.bytes), (&mut step.operations, &mut outside.operations)]
    {
        let (per_step, rest) = of_step.div_terms(&size).ok()?;
        *of_outside = of_outside.add(&rest).ok()?;
        *of_step = per_step;
    }
    Some((Kernel { counted, cost: Cost { step, outside }, ..kernel.clone() }, left))
}

/// Returns whether all loops over an axis are in loops over others that take single steps, each in that over the one before, and
/// no statement goes along it in another way.
fn is_inside(body: &[Stmt], axis: AxisId, around: &[AxisId]) -> bool {
    body.iter().all(|stmt| {
        let (is_apart, rest) = match (stmt, around) {
            (Stmt::For { axis: of, lanes, .. }, [first, rest @ ..]) if of == first => (*lanes == 1, rest),
            (Stmt::Sort(sort), _) => (sort.axis != axis, around),
            (Stmt::Best(best), _) => (best.axis != axis && best.places != axis, around),
            (Stmt::BestRows(best), _) => (best.axis != axis, around),
            _ => {
                let own = stmt.as_loop();
                let mut loops = std::iter::successors(own.as_ref(), |each| each.inner.as_deref());
                let is_other = |each: &Loop| each.axis != axis && !around.contains(&each.axis);
                (around.is_empty() || loops.all(is_other), around)
            }
        };
        is_apart && stmt.children().into_iter().all(|body| is_inside(body, axis, rest))
    })
}
