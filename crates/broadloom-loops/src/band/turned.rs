//! Kernels whose threads can share another axis: `sort(x, axis=0)[:5]` reads sorted columns, which are rows of the array that
//! holds them, in a loop inside the one over its own rows; a product of few rows and many columns has more columns to share.

use super::{Known, is_by_rows, steps, touches};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::shape::Shape;
use std::collections::{BTreeMap, BTreeSet};

/// Lets threads share the steps of an inner loop of kernels which then use a temporary by rows, as other kernels do.
pub(crate) fn turn(kernels: &mut [Kernel], buffers: &[Buffer], known: Known<'_>) {
    // For each temporary, the steps of kernels that use it by rows, and the others.
    let mut uses: BTreeMap<BufferId, (Vec<Dim>, Vec<usize>)> = BTreeMap::new();
    for (index, kernel) in kernels.iter().enumerate() {
        let used: BTreeSet<BufferId> = kernel.accesses.iter().filter_map(|access| access.buffer).collect();
        for buffer in used {
            let Buffer { role, shape, .. } = &buffers[buffer.index()];
            let (Role::Temporary, Ok(elements)) = (role, shape.elements()) else { continue };
            let (by_rows, others) = uses.entry(buffer).or_default();
            match steps(kernel).filter(|_| is_by_rows(kernel, buffer, &elements, known)) {
                Some(steps) => by_rows.push(steps),
                None => others.push(index),
            }
        }
    }
    for (buffer, (by_rows, others)) in uses {
        let Ok(elements) = buffers[buffer.index()].shape.elements() else { continue };
        for index in others {
            if by_rows.is_empty() || !is_plain(&kernels[index]) {
                continue;
            }
            let inner = (0..kernels[index].axes.len()).map(AxisId::new);
            let turned = inner.filter_map(|axis| sharing(&kernels[index], axis, &elements));
            let found = turned.into_iter().find(|kernel| {
                let is_alike = steps(kernel).is_some_and(|steps| by_rows.contains(&steps));
                is_alike && is_by_rows(kernel, buffer, &elements, known)
            });
            if let Some(kernel) = found {
                kernels[index] = kernel;
            }
        }
    }
}

/// Lets threads share the columns of products that have one of these shapes, instead of their rows.
pub(crate) fn turn_contractions(kernels: &mut [Kernel], buffers: &[Buffer], shapes: &[Shape]) {
    for kernel in kernels {
        let is_wide = |buffer: BufferId| shapes.contains(&buffers[buffer.index()].shape);
        // Beside the loops there are constants and other numbers, which all threads compute.
        let Some((Stmt::Strip { axis: strip, body, .. }, before)) = kernel.body.split_last() else {
            continue;
        };
        let [Stmt::Strip { axis: rows, .. }] = body.as_slice() else { continue };
        let is_of_both =
            |stmt: &Stmt| matches!(stmt, Stmt::Contract(of) if (of.rows, of.strip) == (*rows, *strip));
        let is_turned = before.iter().all(|stmt| matches!(stmt, Stmt::Let(_)))
            && kernel.parallel == Some(*rows)
            && kernel.written().all(is_wide)
            && kernel.statements().any(is_of_both);
        if let Some(turned) = is_turned.then(|| shared_by(kernel, *strip)).flatten() {
            *kernel = turned;
        }
    }
}

/// Returns whether the steps of an axis move everything that a kernel writes.
pub(super) fn moves_writes(kernel: &Kernel, axis: AxisId) -> bool {
    let mut touched = kernel.statements().flat_map(|stmt| touches(kernel, stmt));
    let is_moved = |access: AccessId| {
        let stride = kernel.accesses[access.index()].stride(axis);
        stride.is_some_and(|stride| stride != Stride::Constant(0))
    };
    touched.all(|touch| !touch.writes || is_moved(touch.access))
}

/// Returns whether a kernel only has loops in loops: no other statement depends on which axis is shared.
fn is_plain(kernel: &Kernel) -> bool {
    kernel.statements().all(|stmt| matches!(stmt, Stmt::For { .. } | Stmt::Let(_) | Stmt::Store { .. }))
}

/// Returns the kernel with another shared axis. A kernel of as many steps as there are elements in the array that it reads
/// writes as much itself, in an order that suits memory: it is left as it is.
fn sharing(kernel: &Kernel, axis: AxisId, elements: &Dim) -> Option<Kernel> {
    let both = steps(kernel)?.mul(&kernel.size(kernel.axes[axis.index()].extent)).ok()?;
    if both == *elements { None } else { shared_by(kernel, axis) }
}

/// Returns the kernel with another shared axis, if that moves everything it writes.
fn shared_by(kernel: &Kernel, axis: AxisId) -> Option<Kernel> {
    let entry = &kernel.axes[axis.index()];
    if entry.reduction || Some(axis) == kernel.scanned || Some(axis) == kernel.parallel {
        return None;
    }
    if !moves_writes(kernel, axis) {
        return None;
    }
    let (before, after) = (steps(kernel)?, kernel.size(entry.extent));
    let per_step = |work: &Dim| work.mul(&before).ok()?.exact_div(&after);
    let step = Work {
        bytes: per_step(&kernel.cost.step.bytes)?,
        operations: per_step(&kernel.cost.step.operations)?,
    };
    let cost = Cost { step, outside: kernel.cost.outside.clone() };
    let turned = Kernel { parallel: Some(axis), cost, ..kernel.clone() };
    steps(&turned).map(|_| turned)
}
