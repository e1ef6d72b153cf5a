//! Promise 19: streaming stores.

use super::{Broken, Fault};
use crate::kernel::*;

/// Checks that only contiguous stores of vector loops stream, to outputs that no kernel reads.
pub(super) fn streams(schedule: &Schedule) -> Result<(), Broken> {
    let streams = |kernel: &Kernel| kernel.accesses.iter().any(|access| access.streams);
    if !schedule.kernels.iter().any(streams) {
        return Ok(());
    }
    let read = schedule.read();
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let is_unread_output = |buffer: BufferId| {
            matches!(schedule.buffers[buffer.index()].role, Role::Output(_)) && !read.contains(&buffer)
        };
        for (number, access) in kernel.accesses.iter().enumerate().filter(|(_, access)| access.streams) {
            let id = AccessId::new(number);
            let stores = |stmt: &Stmt| match stmt {
                Stmt::For { axis, lanes: 2.., body } if access.is_unit(*axis) => {
                    // Of several stores, one would not be aligned.
                    let stores = |stmt: &&Stmt| matches!(stmt, Stmt::Store { access, .. } if *access == id);
                    body.iter().filter(stores).count().min(1)
                }
                _ => 0,
            };
            let uses = |stmt: &Stmt| stmt.accesses(&kernel.values).iter().filter(|(of, _)| *of == id).count();
            let are_stores = kernel.statements().map(uses).sum::<usize>()
                == kernel.statements().map(stores).sum::<usize>();
            if !are_stores || !access.buffer.is_some_and(is_unread_output) {
                return Err(Broken { kernel: KernelId::new(index), fault: Fault::Streams(id) });
            }
        }
    }
    Ok(())
}
