//! Promise 19: streaming stores.

use super::{Broken, Fault};
use crate::kernel::*;
use crate::streamed::stores_of;

/// Checks that only contiguous stores of vector loops stream, one of each, to outputs that no kernel reads.
pub(super) fn streams(schedule: &Schedule) -> Result<(), Broken> {
    let streams = |kernel: &Kernel| kernel.accesses.iter().any(|access| access.streams);
    if !schedule.kernels.iter().any(streams) {
        return Ok(());
    }
    let read = schedule.read();
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let broken = |access| Broken { kernel: KernelId::new(index), fault: Fault::Streams(access) };
        let is_streamed = |access: &AccessId| kernel.accesses[access.index()].streams;
        let is_unread_output = |buffer: BufferId| {
            matches!(schedule.buffers[buffer.index()].role, Role::Output(_)) && !read.contains(&buffer)
        };
        // The stores that stream, each of which is aligned with the vectors of its loop.
        let mut aligned: Vec<AccessId> = Vec::new();
        for stmt in kernel.statements() {
            let Stmt::For { axis, lanes: 2.., body } = stmt else { continue };
            let mut streamed = stores_of(body).filter(is_streamed);
            match (streamed.next(), streamed.next()) {
                (Some(_), Some(second)) => return Err(broken(second)),
                (Some(only), None) if kernel.accesses[only.index()].is_unit(*axis) => aligned.push(only),
                _ => {}
            }
        }
        for id in (0..kernel.accesses.len()).map(AccessId::new).filter(is_streamed) {
            let uses = |stmt: &Stmt| stmt.accesses(&kernel.values).iter().filter(|(of, _)| *of == id).count();
            let are_aligned = kernel.statements().map(uses).sum::<usize>()
                == aligned.iter().filter(|of| **of == id).count();
            if !are_aligned || !kernel.accesses[id.index()].buffer.is_some_and(is_unread_output) {
                return Err(broken(id));
            }
        }
    }
    Ok(())
}
