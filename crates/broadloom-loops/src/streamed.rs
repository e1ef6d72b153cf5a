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
        let first = |stmt: &Stmt| {
            let Stmt::For { axis, lanes: 2.., body } = stmt else { return None };
            let stores = body.iter().filter_map(|stmt| match stmt {
                Stmt::Store { access, .. } => Some(*access),
                _ => None,
            });
            let mut once =
                stores.clone().filter(|access| stores.clone().filter(|other| other == access).count() == 1);
            once.find(|access| {
                let access = &accesses[access.index()];
                access.is_unit(*axis) && access.buffer.is_some_and(is_streamed)
            })
        };
        let found: Vec<AccessId> = kernel.statements().filter_map(first).collect();
        for access in found {
            kernel.accesses[access.index()].streams = true;
        }
    }
}
