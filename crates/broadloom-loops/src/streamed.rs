//! Streaming stores: which arrays are written past the caches.
//!
//! A usual store first reads the line of memory that it writes. A streaming store does not, which is half of the traffic of
//! a copy, but whoever reads the array next finds nothing of it in a cache.

use crate::kernel::*;

/// Lets vector loops stream outputs that are `streamed`, where no kernel reads them. Of the arrays that a loop writes, only
/// the first is aligned with its vectors.
pub(crate) fn stream(schedule: &mut Schedule, streamed: &[bool]) {
    if !streamed.contains(&true) {
        return;
    }
    let read = schedule.read();
    let Schedule { buffers, kernels, .. } = schedule;
    let is_streamed = |buffer: BufferId| {
        let is_output = matches!(buffers[buffer.index()].role, Role::Output(output) if streamed[output]);
        is_output && !read.contains(&buffer)
    };
    for kernel in kernels {
        let accesses = &kernel.accesses;
        let chosen = |stmt: &Stmt| {
            let Stmt::For { axis, lanes: 2.., body } = stmt else { return None };
            let mut stores = stores_of(body);
            stores.find(|access| {
                let access = &accesses[access.index()];
                access.is_unit(*axis) && access.buffer.is_some_and(is_streamed)
            })
        };
        let found: Vec<AccessId> = kernel.statements().filter_map(chosen).collect();
        // Every use of it is the only one of a loop that has chosen it.
        let is_always = |id: &AccessId| {
            let uses = |stmt: &Stmt| stmt.accesses(&kernel.values).iter().filter(|(of, _)| of == id).count();
            kernel.statements().map(uses).sum::<usize>() == found.iter().filter(|of| *of == id).count()
        };
        let always: Vec<AccessId> = found.iter().copied().filter(is_always).collect();
        for access in always {
            kernel.accesses[access.index()].streams = true;
        }
    }
}

/// Returns the accesses by which statements store themselves, in order.
pub(crate) fn stores_of(body: &[Stmt]) -> impl Iterator<Item = AccessId> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Store { access, .. } => Some(*access),
        _ => None,
    })
}
