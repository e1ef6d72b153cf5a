//! Promise 17: every element of an array is written.
//!
//! The elements that stores write are counted for sizes that a call may have, so that no mistake in the proofs by which arrays
//! are cut into pieces stays unnoticed.

use super::present::Example;
use super::{Broken, Fault};
use crate::kernel::*;

/// Checks that kernels write all of each array, or a part of one that starts as another.
pub(super) fn coverage(schedule: &Schedule) -> Result<(), Broken> {
    let examples = Example::sized(schedule);
    let mut writes: Vec<Vec<(KernelId, Option<AccessId>)>> = vec![Vec::new(); schedule.buffers.len()];
    let mut is_counted = vec![true; schedule.buffers.len()];
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        for stmt in kernel.statements() {
            for (access, _) in stmt.accesses(&kernel.values).into_iter().filter(|(_, used)| used.writes()) {
                let Some(buffer) = kernel.accesses[access.index()].buffer else { continue };
                // What data choose is written already.
                let access = Some(access).filter(|_| !matches!(stmt, Stmt::Scatter { .. }));
                writes[buffer.index()].push((KernelId::new(index), access));
                // Others write rows.
                is_counted[buffer.index()] &= matches!(stmt, Stmt::Store { .. } | Stmt::Scatter { .. });
            }
        }
    }
    let mut starts = vec![false; schedule.buffers.len()];
    for (index, buffer) in schedule.buffers.iter().enumerate() {
        let Some(before) = buffer.starts_as else { continue };
        let elements = |of: &Buffer| of.shape.elements().ok();
        let is_alike =
            |source: &&Buffer| source.dtype == buffer.dtype && elements(source) == elements(buffer);
        let source = schedule.buffers.get(before.index()).filter(is_alike);
        let is_sound = match source.map(|source| source.role) {
            Some(Role::Temporary) => !std::mem::replace(&mut starts[before.index()], true),
            Some(Role::Input(_)) => true,
            Some(Role::Output(_)) | None => false,
        };
        if !is_sound {
            let kernel = writes[index].first().map_or(KernelId::new(0), |(kernel, _)| *kernel);
            return Err(Broken { kernel, fault: Fault::Start(BufferId::new(index)) });
        }
    }
    for (index, buffer) in schedule.buffers.iter().enumerate() {
        let Some((kernel, _)) = writes[index].first().filter(|_| is_counted[index]) else { continue };
        // The host decides on how many rows or groups there are.
        let mut symbols = buffer.shape.iter().flat_map(|size| size.symbols());
        if symbols.any(|symbol| symbol.index() >= schedule.symbols.len()) {
            continue;
        }
        for example in &examples {
            let elements = buffer.shape.elements().ok().and_then(|elements| example.size(&elements));
            let counts = writes[index].iter().map(|(kernel, access)| {
                access.map_or(Some(0), |access| written(&schedule.kernels[kernel.index()], access, example))
            });
            let count = counts.sum::<Option<i64>>();
            let (Some(elements), Some(count)) = (elements, count) else { continue };
            if count > elements || count < elements && buffer.starts_as.is_none() {
                return Err(Broken { kernel: *kernel, fault: Fault::Coverage(BufferId::new(index)) });
            }
        }
    }
    Ok(())
}

/// Returns the number of elements that a store writes; `None` if that is not known.
fn written(kernel: &Kernel, access: AccessId, example: &Example) -> Option<i64> {
    let mut count: i64 = 1;
    for (axis, _) in &kernel.accesses[access.index()].strides {
        let Axis { extent, stretched, .. } = &kernel.axes[axis.index()];
        let extent = match (extent, stretched) {
            (_, Some(_)) => return None,
            (Extent::Constant(extent), None) => *extent,
            (Extent::Param(param), None) => example.size(&kernel.params[param.index()])?,
        };
        count = count.checked_mul(extent)?;
    }
    Some(count)
}
