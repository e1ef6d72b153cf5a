//! Calls kernels: the one place where pointers become arguments of machine code.
#![allow(unsafe_code, reason = "machine code is called with pointers that the binding proves valid")]

use super::RunError;
use crate::array::ArrayViewMut;
use crate::bind::Ordered;
use crate::bind::plan::{Binding, Launch};
use crate::executable::Inner;
use crate::memory::{OutOfMemory, Storage, with_scratch};
use broadloom_jit::Failure;
use broadloom_loops::kernel::Role;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Runs into arrays that were allocated for this binding, and declares them written.
///
/// `storage` has been allocated by the plan of `binding`, whose inputs have the geometries of `inputs`; `outputs`
/// points to it.
pub(super) fn run_allocated(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    outputs: &[*mut u8],
    storage: &mut [Storage],
) -> Result<(), RunError> {
    run(inner, binding, inputs, outputs)?;
    for (storage, plan) in storage.iter_mut().zip(&binding.outputs) {
        // SAFETY: `plan.count` elements were allocated, and the kernels of a schedule write every element of every
        // output, with values of its dtype.
        unsafe { storage.assume_written(plan.count) };
    }
    Ok(())
}

/// Runs into arrays of the caller, which have the geometries that `binding` was made for.
pub(super) fn run_borrowed(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    outputs: &[ArrayViewMut<'_>],
) -> Result<(), RunError> {
    let pointers: SmallVec<[*mut u8; 4]> = outputs.iter().map(ArrayViewMut::pointer).collect();
    run(inner, binding, inputs, &pointers)
}

/// What went wrong on any thread.
#[derive(Default)]
struct Trouble {
    failure: Failure,
    memory: Option<OutOfMemory>,
}

fn run(inner: &Inner, binding: &Binding, inputs: &Ordered<'_>, outputs: &[*mut u8]) -> Result<(), RunError> {
    let trouble = Mutex::new(Trouble::default());
    inner.with_arena(binding.arena_bytes, |arena| {
        let buffers = binding.variant.schedule.buffers.iter().zip(&binding.temporaries);
        let pointers: SmallVec<[*mut u8; 8]> = buffers
            .map(|(buffer, start)| match buffer.role {
                // Kernels only read inputs.
                Role::Input(input) => match &inputs[input.index()] {
                    Some(view) => view.pointer().cast_mut(),
                    None => std::ptr::null_mut(),
                },
                Role::Output(output) => outputs[output],
                Role::Temporary => arena.wrapping_add(*start),
            })
            .collect();
        for launch in &binding.launches {
            let mut arguments: SmallVec<[u64; 32]> = SmallVec::from_slice(&launch.params);
            for (buffer, offset) in &launch.bases {
                // On 64-bit targets; an offset fits as it was checked as bytes of an array.
                let base = pointers[*buffer].wrapping_offset(*offset as isize);
                arguments.push(base.expose_provenance() as u64);
            }
            run_launch(inner, binding, launch, &arguments, &trouble);
        }
    })?;
    let trouble = trouble.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (trouble.memory, trouble.failure.first) {
        (Some(error), _) => Err(error.into()),
        (None, Some(failure)) => Err(RunError::new(&inner.graph, binding, &failure)),
        (None, None) => Ok(()),
    }
}

fn run_launch(
    inner: &Inner,
    binding: &Binding,
    launch: &Launch,
    arguments: &[u64],
    trouble: &Mutex<Trouble>,
) {
    let run_range = |range: Range<i64>| {
        let mut failure = Failure::default();
        let result = with_scratch(launch.scratch_bytes, |scratch| {
            // SAFETY: the arguments are the params and base pointers of this kernel as the schedule lists them. The
            // sizes from which they are computed are those of the arrays (checked when `binding` was made), whose
            // elements can be read or written for the duration of the call: inputs and outputs by their borrows,
            // which also keep them from overlapping, temporaries by the arena's size. Ranges of one launch are
            // disjoint, so that threads never write the same element. Scratch is this thread's, aligned to 64.
            unsafe {
                binding.variant.module.run(launch.kernel, arguments, range, scratch, &mut failure);
            }
        });
        if failure.first.is_some() || result.is_err() {
            let mut trouble = trouble.lock().unwrap_or_else(PoisonError::into_inner);
            trouble.failure.merge(failure);
            trouble.memory = trouble.memory.or(result.err());
        }
    };
    if launch.chunk >= launch.extent {
        if launch.extent > 0 {
            run_range(0..launch.extent);
        }
        return;
    }
    let chunks = launch.extent.unsigned_abs().div_ceil(launch.chunk.unsigned_abs()) as usize;
    inner.options.threads.enter(|| {
        (0..chunks).into_par_iter().with_max_len(1).for_each(|index| {
            let start = index as i64 * launch.chunk;
            run_range(start..launch.extent.min(start.saturating_add(launch.chunk)));
        });
    });
}
