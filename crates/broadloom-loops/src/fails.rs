//! Which kernels may find data that have no result, and which arrays are written only after all of them.

use crate::kernel::*;
use broadloom_ir::dim::Dim;
use std::collections::HashMap;

/// Returns which kernels may find data that have no result: an index out of range, or a negative exponent of an integer. An
/// index that another kernel has checked below the same size is in range.
pub(crate) fn failing(kernels: &[Kernel], buffers: &[Buffer]) -> Vec<bool> {
    let checked = checked(kernels, buffers);
    let fails = |kernel: &Kernel| {
        kernel.values.iter().any(|value| {
            let is_checked = match value.def {
                Def::Checked { index, size, .. } => is_checked(&checked, kernel, index, size),
                _ => false,
            };
            !is_checked && value.def.is_reported()
        })
    };
    kernels.iter().map(fails).collect()
}

/// Returns whether a value is loaded from a temporary that has only indices below a size.
fn is_checked(
    checked: &HashMap<BufferId, Option<Dim>>,
    reader: &Kernel,
    index: ValueId,
    below: Extent,
) -> bool {
    let Def::Load { access, .. } = reader.values[index.index()].def else { return false };
    let array = reader.accesses[access.index()].buffer;
    let size = array.and_then(|array| checked.get(&array)?.as_ref());
    size.is_some_and(|size| *size == reader.size(below))
}

/// Returns the temporaries that are written, each with the size below which all its elements are, if these are indices that
/// were checked below one size.
fn checked(kernels: &[Kernel], buffers: &[Buffer]) -> HashMap<BufferId, Option<Dim>> {
    let mut checked: HashMap<BufferId, Option<Dim>> = HashMap::new();
    for kernel in kernels {
        for stmt in kernel.statements() {
            let size = match stmt {
                Stmt::Store { value, .. } => match kernel.values[value.index()].def {
                    Def::Checked { size, .. } => Some(kernel.size(size)),
                    _ => None,
                },
                _ => None,
            };
            for (access, used) in stmt.accesses(&kernel.values) {
                let Some(array) = kernel.accesses[access.index()].buffer.filter(|_| used.writes()) else {
                    continue;
                };
                let buffer = &buffers[array.index()];
                let is_own = buffer.role == Role::Temporary && buffer.starts_as.is_none();
                let size = size.clone().filter(|_| is_own);
                let all = checked.entry(array).or_insert_with(|| size.clone());
                if *all != size {
                    *all = None;
                }
            }
        }
    }
    checked
}

impl Schedule {
    /// Returns the last kernel that may find data that have no result.
    pub fn last_failing(&self) -> Option<KernelId> {
        failing(&self.kernels, &self.buffers).into_iter().rposition(|fails| fails).map(KernelId::new)
    }
}

/// Returns whether some of an output, or of what shares its memory, is written before the last kernel ends that may find data that
/// have no result.
pub fn fails_late(schedule: &Schedule, output: usize) -> bool {
    let is_target = |buffer: &Buffer| buffer.role == Role::Output(output);
    let target = schedule.buffers.iter().position(is_target).map(BufferId::new);
    let (Some(last), Some(target)) = (schedule.last_failing(), target) else { return false };
    let versions = schedule.versions(target);
    schedule.kernels.iter().enumerate().any(|(index, kernel)| {
        let is_early = index <= last.index() || schedule.take_turns(KernelId::new(index), last);
        is_early && kernel.written().any(|written| versions.contains(&written))
    })
}
