//! Which kernels may find data that have no result, and which arrays are written only after all of them.

use crate::kernel::*;

/// Returns whether a kernel may find data that have no result: an index out of range, or a negative exponent of an integer.
/// An index that another kernel has checked below the same size is in range.
pub(crate) fn can_fail(kernels: &[Kernel], buffers: &[Buffer], kernel: &Kernel) -> bool {
    kernel.values.iter().any(|value| {
        let is_checked = match &value.def {
            Def::Checked { index, size, .. } => {
                are_checked(kernels, buffers, kernel, *index, *size).unwrap_or(false)
            }
            _ => false,
        };
        !is_checked && value.def.accesses().iter().any(|(_, used)| *used == Use::Position)
    })
}

/// Returns whether a value is loaded from a temporary that has only indices below a size.
fn are_checked(
    kernels: &[Kernel],
    buffers: &[Buffer],
    reader: &Kernel,
    index: ValueId,
    below: Extent,
) -> Option<bool> {
    let Def::Load { access, .. } = reader.values[index.index()].def else { return None };
    let array = reader.accesses[access.index()].buffer?;
    if buffers[array.index()].role != Role::Temporary || buffers[array.index()].starts_as.is_some() {
        return None;
    }
    let below = reader.size(below);
    let writes = |kernel: &Kernel, stmt: &Stmt| {
        let of_array = |access: AccessId| kernel.accesses[access.index()].buffer == Some(array);
        stmt.accesses(&kernel.values).iter().any(|(access, used)| used.writes() && of_array(*access))
    };
    let is_checked = |kernel: &Kernel, stmt: &Stmt| match stmt {
        Stmt::Store { value, .. } => match kernel.values[value.index()].def {
            Def::Checked { size, .. } => kernel.size(size) == below,
            _ => false,
        },
        _ => false,
    };
    let mut statements =
        kernels.iter().flat_map(|kernel| kernel.statements().map(move |stmt| (kernel, stmt)));
    Some(statements.all(|(kernel, stmt)| !writes(kernel, stmt) || is_checked(kernel, stmt)))
}

impl Schedule {
    /// Returns the last kernel that may find data that have no result.
    pub fn last_failing(&self) -> Option<KernelId> {
        let fails = |kernel: &Kernel| can_fail(&self.kernels, &self.buffers, kernel);
        self.kernels.iter().rposition(fails).map(KernelId::new)
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
