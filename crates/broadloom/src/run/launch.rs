//! Calls kernels: the one place where pointers become arguments of machine code.
#![allow(unsafe_code, reason = "machine code is called with pointers that the binding proves valid")]

use super::RunError;
use crate::array::{AnyArray, ArrayViewMut, Geometry, copy_to_array};
use crate::bind::{Base, Binding, Launch, Ordered};
use crate::compiled::Inner;
use crate::memory::with_scratch;
use broadloom_jit::Failure;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs into arrays that were allocated for this binding, and declares them written.
///
/// `arrays` have been allocated by the plan of `binding`, whose inputs have the geometries of `inputs`.
pub(super) fn run_allocated(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    arrays: &mut [(Arc<str>, AnyArray)],
) -> Result<(), RunError> {
    let mut targets = Targets::new();
    for (_, array) in arrays.iter_mut() {
        targets.push(Target(array.storage_mut().as_mut_ptr(), None));
    }
    run(inner, binding, inputs, targets)?;
    for ((_, array), plan) in arrays.iter_mut().zip(&binding.outputs) {
        // SAFETY: `plan.count` elements were allocated, and the kernels of a schedule write every element of every
        // output, with values of its dtype.
        unsafe { array.storage_mut().assume_written(plan.count) };
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
    let mut targets = Targets::new();
    for view in outputs {
        targets.push(Target(view.pointer(), Some(view.geometry())));
    }
    run(inner, binding, inputs, targets)
}

/// Where an output's array is, and how it lies if it is one of the caller's.
struct Target<'g>(*mut u8, Option<&'g Geometry>);

/// In order of the outputs.
type Targets<'g> = SmallVec<[Target<'g>; 4]>;

/// What went wrong on any thread.
#[derive(Default)]
struct Trouble {
    failure: Failure,
    error: Option<RunError>,
}

impl Trouble {
    fn add(&mut self, failure: Failure, error: Option<RunError>) {
        if failure.first.is_none() && error.is_none() {
            return;
        }
        self.failure.merge(failure);
        self.error = self.error.take().or(error);
    }
}

/// `targets` are the arrays of the outputs that are not assigned to inputs.
fn run<'g>(
    inner: &Inner,
    binding: &Binding,
    inputs: &'g Ordered<'_>,
    mut targets: Targets<'g>,
) -> Result<(), RunError> {
    for output in &inner.graph.outputs()[targets.len()..] {
        let input = output.assigned.and_then(|input| inputs[input.index()].as_ref());
        targets.push(match input {
            // Exclusive, as was checked when the arrays were ordered; it was made from a pointer that may write.
            Some(input) => Target(input.view.pointer().cast_mut(), Some(input.view.geometry())),
            None => Target(std::ptr::null_mut(), None),
        });
    }
    let trouble = inner.with_arena(binding.arena_bytes, |arena| {
        let mut trouble = Trouble::default();
        let base = |base: Base| match base {
            // Kernels only read inputs.
            Base::Input(input) => match &inputs[input] {
                Some(input) => input.view.pointer().cast_mut(),
                None => std::ptr::null_mut(),
            },
            Base::Output(output) => targets[output].0,
            Base::Arena(start) => arena.wrapping_add(start),
        };
        for launch in &binding.launches {
            let mut arguments: SmallVec<[u64; 32]> = SmallVec::new();
            arguments.extend_from_slice(&launch.params);
            for (buffer, offset) in &launch.bases {
                // On 64-bit targets; an offset fits as it was checked as bytes of an array.
                let base = base(binding.buffers[*buffer]).wrapping_offset(*offset as isize);
                arguments.push(base.expose_provenance() as u64);
            }
            run_launch(inner, binding, launch, &arguments, &mut trouble);
        }
        if trouble.error.is_none() && trouble.failure.first.is_none() {
            for (plan, target) in binding.outputs.iter().zip(&targets) {
                if let (Some(start), Target(pointer, Some(geometry))) = (plan.aside, target) {
                    // SAFETY: the kernels have written all elements of the output to the arena, dense in row-major
                    // order; the array has its sizes and dtype and can be written.
                    unsafe { copy_to_array(arena.wrapping_add(start), *pointer, geometry) };
                }
            }
        }
        trouble
    })?;
    match (trouble.error, trouble.failure.first) {
        (Some(error), _) => Err(error),
        (None, Some(failure)) => Err(RunError::new(&inner.graph, binding, &failure)),
        (None, None) => Ok(()),
    }
}

fn run_launch(inner: &Inner, binding: &Binding, launch: &Launch, arguments: &[u64], trouble: &mut Trouble) {
    let run_range = |range: Range<i64>| {
        let mut failure = Failure::default();
        let result = with_scratch(launch.scratch_bytes, |scratch| {
            // SAFETY: the arguments are the params and base pointers of this kernel as the schedule lists them. The
            // sizes from which they are computed are those of the arrays (checked when `binding` was made), whose
            // elements can be read or written for the duration of the call: inputs and outputs by their borrows,
            // temporaries by the arena's size. None of them overlap, but an input and the output that is written
            // in its place, each element of which the schedule reads before it writes it. Ranges of one launch are
            // disjoint, so that threads never write the same element. Scratch is this thread's, aligned to 64.
            unsafe { binding.variant.module.run(launch.kernel, arguments, range, scratch, &mut failure) }
        });
        (failure, result.map_err(RunError::from).and_then(|known| known.map_err(RunError::from)).err())
    };
    if launch.chunk >= launch.extent {
        if launch.extent > 0 {
            let (failure, error) = run_range(0..launch.extent);
            trouble.add(failure, error);
        }
        return;
    }
    let chunks = launch.extent.unsigned_abs().div_ceil(launch.chunk.unsigned_abs()) as usize;
    let trouble = Mutex::new(trouble);
    inner.options.threads.enter(|| {
        (0..chunks).into_par_iter().with_max_len(1).for_each(|index| {
            let start = index as i64 * launch.chunk;
            let (failure, error) = run_range(start..launch.extent.min(start.saturating_add(launch.chunk)));
            if failure.first.is_some() || error.is_some() {
                trouble.lock().unwrap_or_else(PoisonError::into_inner).add(failure, error);
            }
        });
    });
}
