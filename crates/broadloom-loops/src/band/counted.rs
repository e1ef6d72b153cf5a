//! Kernels that can run together for finer rows: in a batch `d[b, n, k]`, the kernel that computes `d` has a loop over `n` in
//! one over `b`, while a sort has a single one over `b * n`. Each step of `b` is a row of the array for both, a whole table; but
//! if threads count the steps of both loops of the first kernel together, each such step is one, a row of the table.

use super::turned::moves_writes;
use super::{Known, is_by_rows, steps};
use crate::kernel::*;
use crate::thresholds::MAX_BAND_KERNELS;
use broadloom_ir::dim::Dim;
use std::collections::{BTreeMap, BTreeSet};

/// Counts the steps of inner loops of kernels with those that threads share, if all kernels around some temporaries use these by
/// rows, but only some by the finest.
pub(crate) fn count_together(kernels: &mut [Kernel], buffers: &[Buffer], known: Known<'_>) {
    let mut by_rows: BTreeMap<BufferId, BTreeSet<usize>> = BTreeMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        for buffer in kernel.accesses.iter().filter_map(|access| access.buffer) {
            by_rows.entry(buffer).or_default().insert(index);
        }
    }
    let of_caller: BTreeSet<Dim> = buffers
        .iter()
        .filter(|buffer| buffer.role != Role::Temporary)
        .filter_map(|buffer| buffer.shape.elements().ok())
        .collect();
    // An array as large as one of the caller's may be stored, and others are stored already.
    by_rows.retain(|buffer, users| {
        let Buffer { role, shape, .. } = &buffers[buffer.index()];
        let Ok(elements) = shape.elements() else { return false };
        *role == Role::Temporary
            && users.len() > 1
            && !of_caller.contains(&elements)
            && users.iter().all(|user| is_by_rows(&kernels[*user], *buffer, &elements, known))
    });
    while let Some(first) = by_rows.keys().next().copied() {
        let (held, members) = connected(&mut by_rows, first);
        if let Some(finer) = finer(kernels, buffers, known, (&held, &members)) {
            finer.into_iter().for_each(|(index, kernel)| kernels[index] = kernel);
        }
    }
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

/// Returns the kernels that have to count steps together so that all use the finest rows of the arrays, if they can.
fn finer(
    kernels: &[Kernel],
    buffers: &[Buffer],
    known: Known<'_>,
    (held, members): (&BTreeMap<BufferId, BTreeSet<usize>>, &BTreeSet<usize>),
) -> Option<BTreeMap<usize, Kernel>> {
    if members.len() > MAX_BAND_KERNELS {
        return None;
    }
    let all: BTreeMap<usize, Dim> =
        members.iter().map(|member| Some((*member, steps(&kernels[*member])?))).collect::<Option<_>>()?;
    let is_finest = |rows: &&Dim| all.values().all(|steps| rows.exact_div(steps).is_some());
    let finest = all.values().find(is_finest)?;
    let mut finer = BTreeMap::new();
    for (&member, steps) in all.iter().filter(|(_, steps)| *steps != finest) {
        let arrays = held.iter().filter(|(_, users)| users.contains(&member)).map(|(buffer, _)| *buffer);
        let arrays: Vec<(BufferId, Dim)> = arrays
            .map(|buffer| Some((buffer, buffers[buffer.index()].shape.elements().ok()?)))
            .collect::<Option<_>>()?;
        let mut kernel = kernels[member].clone();
        let mut left = finest.exact_div(steps)?;
        while !left.is_one() {
            let inner = (0..kernel.axes.len()).map(AxisId::new);
            let mut counted = inner.filter_map(|axis| counting(&kernel, axis, &left));
            let (next, rest) = counted.find(|(kernel, _)| {
                arrays.iter().all(|(array, elements)| is_by_rows(kernel, *array, elements, known))
            })?;
            (kernel, left) = (next, rest);
        }
        finer.insert(member, kernel);
    }
    Some(finer)
}

/// Returns the kernel with an axis counted after those that threads share, if that is possible, and what is left of so many steps
/// of further axes.
fn counting(kernel: &Kernel, axis: AxisId, left: &Dim) -> Option<(Kernel, Dim)> {
    let entry = &kernel.axes[axis.index()];
    let is_whole = |entry: &Axis| entry.groups.is_empty() && entry.stretched.is_none();
    let names = |entry: &Axis| {
        entry.groups.iter().any(|(counter, _)| *counter == axis)
            || entry.stretched.is_some_and(|(along, _)| along == axis)
    };
    if entry.reduction
        || Some(axis) == kernel.scanned
        || kernel.shared().any(|shared| shared == axis)
        || !is_whole(entry)
        || kernel.axes.iter().any(names)
    {
        return None;
    }
    let size = kernel.size(entry.extent);
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
