//! Places temporaries, and outputs that are computed aside, in the one block of memory of a call.

use super::error::BindError;
use super::sizes::{Values, addressable, count, fits_isize};
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::{Kernel, Role, Schedule};
use std::ops::Range;

/// Arrays start at multiples of this many bytes.
const ALIGNMENT: usize = 64;

/// The memory of a call.
pub(super) struct Arena {
    /// The size in bytes.
    pub(super) bytes: usize,
}

impl Arena {
    /// Returns the position of `count` more elements, which share no bytes with others.
    pub(super) fn add(&mut self, count: usize, dtype: DType) -> Result<usize, BindError> {
        let start = self.bytes;
        let too_large = BindError::TooLarge { elements: count as i64, dtype };
        self.bytes = end(start, count * dtype.size()).ok_or(too_large)?;
        Ok(start)
    }
}

/// Returns where the next array may start, `bytes` bytes after a position, if that is addressable.
fn end(start: usize, bytes: usize) -> Option<usize> {
    start.checked_add(bytes)?.checked_next_multiple_of(ALIGNMENT).filter(|end| fits_isize(*end))
}

/// Places temporaries in one arena; temporaries that are not alive at the same time may share bytes. Versions of an array have
/// one place, which is that of the last; no place is given if this is an output. `launched` returns the kernels that a launch
/// of a kernel runs: these take turns.
pub(super) fn place_temporaries(
    schedule: &Schedule,
    values: &Values,
    launched: impl Fn(usize) -> Range<usize>,
) -> Result<(Vec<usize>, Arena), BindError> {
    struct Placed {
        first: usize,
        last: usize,
        start: usize,
        end: usize,
    }
    let mut placed: Vec<Placed> = Vec::new();
    let mut starts = vec![0; schedule.buffers.len()];
    let mut arena_bytes = 0;
    let last_versions = schedule.last_versions();
    for (index, buffer) in schedule.buffers.iter().enumerate() {
        if buffer.role != Role::Temporary || last_versions[index].index() != index {
            continue;
        }
        let uses = |kernel: &Kernel| {
            let mut used = kernel.accesses.iter().filter_map(|access| access.buffer);
            used.any(|buffer| last_versions[buffer.index()].index() == index)
        };
        let Some(first) = schedule.kernels.iter().position(uses) else { continue };
        let last = schedule.kernels.iter().rposition(uses).unwrap_or(first);
        let (first, last) = (launched(first).start, launched(last).end - 1);
        let elements = count(&buffer.shape, values)?;
        let bytes = addressable(elements, buffer.dtype)? * buffer.dtype.size();
        let too_large = || BindError::TooLarge { elements, dtype: buffer.dtype };
        let mut start = 0usize;
        // This finds the lowest gap: `placed` is sorted by `start`.
        for other in placed.iter().filter(|other| other.first <= last && first <= other.last) {
            if start.checked_add(bytes).ok_or_else(too_large)? <= other.start {
                break;
            }
            start = start.max(other.end);
        }
        let end = end(start, bytes).ok_or_else(too_large)?;
        let position = placed.partition_point(|other| other.start <= start);
        placed.insert(position, Placed { first, last, start, end });
        starts[index] = start;
        arena_bytes = arena_bytes.max(end);
    }
    let starts = last_versions.iter().map(|last| starts[last.index()]).collect();
    Ok((starts, Arena { bytes: arena_bytes }))
}
