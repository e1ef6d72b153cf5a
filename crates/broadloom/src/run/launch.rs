//! Calls kernels: the only place where pointers become arguments of machine code.
#![allow(unsafe_code, reason = "machine code is called with pointers that the binding proves valid")]

use super::stages::run_stages;
use super::{Outputs, RunError, RunOptions};
use crate::array::{AnyArray, ArrayViewMut, AxisLayout, copy_from_array, copy_to_array};
use crate::bind::{Base, Binding, BoundCode, BoundKernels, Call, Launch, Ordered};
use crate::cache::lock;
use crate::compiled::Inner;
use crate::memory::with_scratch;
use crate::options::Threads;
use broadloom_jit::{Failure, Module, Stop};
use broadloom_loops::kernel::KernelId;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Runs into arrays allocated for this binding, and marks them as written.
///
/// `arrays` have been allocated for the outputs of `binding`, whose inputs have the geometries of `inputs`.
pub(super) fn run_allocated(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    options: &RunOptions,
    arrays: &mut [(Arc<str>, AnyArray)],
) -> Result<(), RunError> {
    run(inner, binding, inputs, options, |output| arrays[output].1.storage_mut().as_mut_ptr())?;
    for ((_, array), bound) in arrays.iter_mut().zip(&binding.outputs) {
        // SAFETY: `bound.count` elements were allocated, and the kernels of a schedule write every element of every
        // output, with values of its dtype.
        unsafe { array.storage_mut().assume_written(bound.count) };
    }
    Ok(())
}

/// Runs into arrays of the caller, which have the geometries for which `binding` was made.
pub(super) fn run_borrowed(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    options: &RunOptions,
    outputs: &[ArrayViewMut<'_>],
) -> Result<(), RunError> {
    run(inner, binding, inputs, options, |output| outputs[output].pointer())
}

/// Copies results to arrays of the caller, which have their dtypes, and their sizes or more. Returns the sizes.
pub(super) fn copy_results(
    results: Outputs,
    targets: &[ArrayViewMut<'_>],
) -> Result<Vec<Vec<usize>>, RunError> {
    let copies = results.into_arrays().zip(targets).map(|(array, target)| {
        let axes = target.geometry().axes.iter().zip(array.shape());
        let axes: SmallVec<[AxisLayout; 4]> =
            axes.map(|(axis, size)| AxisLayout { size: *size as i64, ..*axis }).collect();
        let leading = target.geometry().of_axes(&axes).map_err(|error| RunError::of_size(error.into()))?;
        // SAFETY: the sizes were compared, so these elements are some of the array; those of an owned array are dense in
        // row-major order.
        unsafe { copy_to_array(array.as_ptr(), target.pointer(), &leading) };
        Ok(array.shape().to_vec())
    });
    copies.collect()
}

/// Runs a bound graph. `array` returns the arrays of the outputs that are not assigned to inputs.
fn run(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    options: &RunOptions,
    mut array: impl FnMut(usize) -> *mut u8,
) -> Result<(), RunError> {
    inner.with_arena(binding.arena_bytes, |arena| {
        let mut pointer = |base: Base| match base {
            // Kernels write to an input only if it is assigned to. Such an input is exclusive, which was checked
            // when the arrays were ordered, and comes from a pointer that may write.
            Base::Input(input) => match &inputs[input] {
                Some(input) => input.view.pointer().cast_mut(),
                None => std::ptr::null_mut(),
            },
            Base::Output(output) => array(output),
            Base::Arena(start) => arena.wrapping_add(start),
            Base::Nothing => nothing(),
        };
        run_bound(inner, binding, options, &mut pointer, arena)
    })
}

/// Runs what is bound, with the arrays of the caller at `places`, in the memory of the call.
pub(super) fn run_bound(
    inner: &Inner,
    binding: &Binding,
    options: &RunOptions,
    places: &mut dyn FnMut(Base) -> *mut u8,
    arena: *mut u8,
) -> Result<(), RunError> {
    let mut pointer = |base: Base| match base {
        Base::Arena(start) => arena.wrapping_add(start),
        Base::Input(_) | Base::Output(_) | Base::Nothing => places(base),
    };
    for copy in binding.copies.iter().filter(|copy| copy.starts_as_target) {
        let (source, target) = (pointer(copy.target), pointer(Base::Arena(copy.start)));
        // SAFETY: the array of the caller can be read; the arena has room for its elements, dense in row-major order.
        unsafe { copy_from_array(source, target, &copy.geometry, &|| options.check()) }?;
    }
    match &binding.code {
        BoundCode::Kernels(kernels) => run_kernels(inner, binding, kernels, options, &mut pointer)?,
        BoundCode::Stages(stages) => run_stages(stages, options, &mut pointer, arena)?,
        // Whoever runs such a graph runs its parts.
        BoundCode::Phases => return Err(RunError::MissingArray),
    }
    for copy in &binding.copies {
        let (source, target) = (pointer(Base::Arena(copy.start)), pointer(copy.target));
        // SAFETY: the kernels have written all elements of the output to the arena, dense in row-major order, or those
        // that change where it started as the array; the array has its sizes and dtype and can be written.
        unsafe { copy_to_array(source, target, &copy.geometry) };
    }
    Ok(())
}

fn run_kernels(
    inner: &Inner,
    binding: &Binding,
    kernels: &BoundKernels,
    options: &RunOptions,
    pointer: &mut dyn FnMut(Base) -> *mut u8,
) -> Result<(), RunError> {
    let mut failure = Failure::default();
    for (index, launch) in kernels.launches.iter().enumerate() {
        options.check()?;
        if let Some(failure) = failure.first.as_ref().filter(|_| index == kernels.failing) {
            return Err(RunError::new(&inner.graph, binding, failure));
        }
        let arguments = launch.calls.iter().map(|call| {
            let mut arguments: Arguments = SmallVec::from_slice(&call.arguments);
            let params = arguments.len() - call.bases.len();
            for (argument, base) in arguments[params..].iter_mut().zip(&call.bases) {
                set_pointer(argument, pointer(*base));
            }
            arguments
        });
        let arguments: SmallVec<[Arguments; 1]> = arguments.collect();
        if launch.chunk < launch.extent {
            run_chunks(inner, kernels, launch, &arguments, options, &mut failure)?;
        } else if launch.extent > 0 {
            run_range(kernels, launch, &arguments, (0, 0..launch.extent), options, &mut failure)?;
        }
    }
    options.check()?;
    match failure.first {
        Some(failure) => Err(RunError::new(&inner.graph, binding, &failure)),
        None => Ok(()),
    }
}

/// Returns the address of arrays without elements, which kernels neither read nor write. In debug builds it is in no
/// memory, so that a test which does so ends; in others there is memory.
pub(super) fn nothing() -> *mut u8 {
    static ZEROS: [u64; 64] = [0; 64];
    match cfg!(debug_assertions) {
        true => std::ptr::without_provenance_mut(64),
        false => ZEROS.as_ptr().cast_mut().cast(),
    }
}

/// Makes the argument that is a distance in an array the pointer to that place.
pub(super) fn set_pointer(argument: &mut u64, array: *mut u8) {
    // Targets are 64-bit, and the distance was checked as bytes of an array, so it fits.
    let distance = argument.cast_signed() as isize;
    *argument = array.wrapping_offset(distance).expose_provenance() as u64;
}

/// The arguments of a call: params and pointers.
pub(super) type Arguments = SmallVec<[u64; 32]>;

/// Runs kernels chunk by chunk, on several threads if these share them and there are any. Data without a result are added to
/// `failure`.
fn run_chunks(
    inner: &Inner,
    kernels: &BoundKernels,
    launch: &Launch,
    arguments: &[Arguments],
    options: &RunOptions,
    failure: &mut Failure,
) -> Result<(), RunError> {
    let chunks = launch.extent.unsigned_abs().div_ceil(launch.chunk.unsigned_abs()) as usize;
    let failure = Mutex::new(failure);
    let run = |number: usize, index: usize| {
        let start = index as i64 * launch.chunk;
        let range = start..launch.extent.min(start.saturating_add(launch.chunk));
        let mut of_chunk = Failure::default();
        let result = run_range(kernels, launch, arguments, (number, range), options, &mut of_chunk);
        if of_chunk.first.is_some() {
            lock(&failure).merge(of_chunk);
        }
        result
    };
    share_work(&inner.options.threads, launch.threads, chunks, &run)
}

/// Does numbered pieces of work, on at most `most` threads that share them: `work` takes the number of the thread and that of the
/// piece. Returns the first error, after which no other piece begins.
pub(super) fn share_work(
    threads: &Threads,
    most: usize,
    count: usize,
    work: &(dyn Fn(usize, usize) -> Result<(), RunError> + Sync),
) -> Result<(), RunError> {
    if most.min(count) <= 1 || !threads.are_of_this_process() {
        return (0..count).try_for_each(|piece| work(0, piece));
    }
    let shares = Shares::new(count, threads.available().min(most));
    let error = OnceLock::new();
    threads.share(shares.threads(), &|thread| {
        shares.take(thread, |thread, piece| {
            if error.get().is_none()
                && let Err(found) = work(thread, piece)
            {
                // Only the first one is kept.
                error.set(found).ok();
            }
        });
    });
    error.into_inner().map_or(Ok(()), Err)
}

/// Chunks that threads share: each thread has a part of them, and helps with the parts of others once its own is done.
/// Neighbours are in one part, because what one kernel leaves in a cache the next one may find there.
struct Shares(Vec<Share>);

/// Chunks of one thread: the next one that nobody has taken, and the end.
struct Share {
    next: AtomicUsize,
    end: usize,
}

impl Shares {
    fn new(chunks: usize, threads: usize) -> Shares {
        let threads = threads.clamp(1, chunks.max(1));
        let bound = |thread: usize| chunks * thread / threads;
        let share = |thread| Share { next: AtomicUsize::new(bound(thread)), end: bound(thread + 1) };
        Shares((0..threads).map(share).collect())
    }

    /// Returns the number of threads.
    fn threads(&self) -> usize {
        self.0.len()
    }

    /// Runs chunks as long as there are any, first those of the thread with this number.
    fn take(&self, number: usize, run: impl Fn(usize, usize)) {
        let (before, from) = self.0.split_at(number.min(self.0.len()));
        for share in from.iter().chain(before) {
            loop {
                // What the chunks read was there before the threads began, and what they write is read after all of
                // them have ended.
                let index = share.next.fetch_add(1, Ordering::Relaxed);
                if index >= share.end {
                    break;
                }
                run(number, index);
            }
        }
    }
}

/// Runs the kernels of a launch for a chunk, on the thread with this number among those that share the launch.
#[inline]
fn run_range(
    kernels: &BoundKernels,
    launch: &Launch,
    arguments: &[Arguments],
    (number, range): (usize, Range<i64>),
    options: &RunOptions,
    failure: &mut Failure,
) -> Result<(), RunError> {
    let stop = options.as_stop();
    for (call, arguments) in launch.calls.iter().zip(arguments) {
        options.check()?;
        let steps = range.start * call.steps..range.end * call.steps;
        if call.held.is_empty() {
            run_call(kernels, call, arguments, steps, &stop, failure)?;
            continue;
        }
        // The first step of the range uses the first row of those that this thread holds.
        let rows = number as i64 * launch.chunk - range.start;
        let mut arguments = arguments.clone();
        for (pointer, bytes) in &call.held {
            let distance = rows.wrapping_mul(*bytes).cast_unsigned();
            arguments[*pointer] = arguments[*pointer].wrapping_add(distance);
        }
        run_call(kernels, call, &arguments, steps, &stop, failure)?;
    }
    Ok(())
}

/// Runs the only kernel of a module for some steps of the axis that threads share.
pub(super) fn run_kernel(
    module: &Module,
    arguments: &[u64],
    range: Range<i64>,
    options: &RunOptions,
) -> Result<(), RunError> {
    let (kernel, stop, mut failure) = (KernelId::new(0), options.as_stop(), Failure::default());
    // SAFETY: as in `run_call`: what the kernel reads and writes is what calls for each of its steps would, whose arguments these are,
    // with the number of steps and the distances of rows. It has no scratch rows, and cannot fail.
    unsafe { module.run(kernel, arguments, range, std::ptr::null_mut(), &stop, &mut failure) }?;
    Ok(())
}

/// Runs a kernel for some steps. Once `stop` is due it ends early, and whoever looks at the results has to check that before.
#[inline]
pub(super) fn run_call(
    kernels: &BoundKernels,
    call: &Call,
    arguments: &[u64],
    range: Range<i64>,
    stop: &Stop<'_>,
    failure: &mut Failure,
) -> Result<(), RunError> {
    let module = kernels.variant.module(kernels.stops);
    with_scratch(call.scratch_bytes, |scratch| {
        // SAFETY: the arguments are the params and base pointers of this kernel as the schedule lists them. The
        // sizes from which they are computed are those of the arrays (checked when `binding` was made), whose
        // elements can be read or written for the duration of the call: inputs and outputs by their borrows,
        // temporaries by the arena's size. Of temporaries with room for some rows, a step uses only its own row, which
        // is one of those of this thread: it takes chunks one after the other, and no other has its number. None of them
        // overlap, but an input and the output that is written in its place, each element of which the schedule reads
        // before it writes it. Ranges of one launch are disjoint, so that threads never write the same element. Scratch
        // is this thread's, aligned to 64.
        unsafe { module.run(call.kernel, arguments, range, scratch, stop, failure) }?;
        Ok(())
    })
}
