//! Runs the stages of a graph with loops: parts one after the other, and the steps of loops.
#![allow(unsafe_code, reason = "counters are written, and carried values copied, in the memory of the call")]

use super::launch::{Arguments, run_bound, run_call, run_kernel, set_pointer, share_work};
use super::{RunError, RunOptions};
use crate::array::copy_from_array;
use crate::bind::{
    Base, BoundCarried, BoundCode, BoundKernels, BoundLoop, BoundPart, BoundRows, BoundStage, BoundTimes,
    Call, Place, Strips,
};
use crate::variant::StepsCode;
use broadloom_ir::graph::StepValue;
use broadloom_jit::Failure;
use broadloom_loops::kernel::BufferId;
use smallvec::SmallVec;
use std::ops::Range;

/// A strip of elements takes this many steps before it looks whether it should stop, or as many as are those of so many elements.
const STEPS_BETWEEN_CHECKS: i64 = 64;
const ELEMENTS_BETWEEN_CHECKS: i64 = 1 << 18;

/// Returns the place of an array of a caller or of the memory of a call.
type Pointer<'p> = &'p mut dyn FnMut(Base) -> *mut u8;

/// Runs stages in order.
pub(super) fn run_stages(
    stages: &[BoundStage],
    options: &RunOptions,
    pointer: Pointer<'_>,
    arena: *mut u8,
) -> Result<(), RunError> {
    for stage in stages {
        match stage {
            BoundStage::Part(part) => run_part(part, options, arena, &mut |place| match place {
                Place::Outer(base) => pointer(base),
                Place::Step(_) | Place::Next(_) | Place::Stacked(_) | Place::Condition => {
                    std::ptr::null_mut()
                }
            })?,
            BoundStage::Loop(bound) => Running::new(bound, pointer, arena).run(options)?,
        }
    }
    Ok(())
}

/// Runs a part, whose arrays are at `places`.
fn run_part(
    part: &BoundPart,
    options: &RunOptions,
    arena: *mut u8,
    places: &mut dyn FnMut(Place) -> *mut u8,
) -> Result<(), RunError> {
    let mut pointer = |base: Base| match base {
        Base::Input(input) => places(part.inputs[input]),
        Base::Output(output) => places(part.outputs[output]),
        Base::Arena(_) | Base::Nothing => places(Place::Outer(base)),
    };
    let result = run_bound(&part.inner, &part.binding, options, &mut pointer, arena.wrapping_add(part.arena));
    result.map_err(|error| error.of_part(&part.origins))
}

/// A kernel that takes many steps, instead of the call of one that makes one.
struct StepsCall<'c> {
    code: &'c StepsCode,
    kernels: &'c BoundKernels,
    call: &'c Call,
    /// The pointers that move from step to step, and by how many bytes.
    moving: &'c [(usize, isize)],
}

/// Takes all steps for a range of elements. `arguments` are those of the first step.
fn run_steps(
    of: &StepsCall<'_>,
    arguments: &[u64],
    range: Range<i64>,
    steps: i64,
    options: &RunOptions,
) -> Result<(), RunError> {
    let StepsCall { code, kernels, call, moving } = of;
    let (params, bases) = arguments.split_at(arguments.len() - call.bases.len());
    let schedule = &kernels.variant.schedule;
    let accesses = &schedule.kernels[call.kernel.index()].accesses;
    let distance = |array: &BufferId| {
        let place = accesses.iter().filter_map(|access| access.buffer).position(|buffer| buffer == *array);
        let argument = place.map(|place| params.len() + place);
        let moved = moving.iter().find(|(moved, _)| Some(*moved) == argument);
        // Distances are those of elements.
        moved.map_or(0, |(_, bytes)| bytes / schedule.buffers[array.index()].dtype.size() as isize)
    };
    let mut all: Arguments = SmallVec::from_slice(params);
    let begins = all.len();
    all.extend([0, 0]);
    all.extend(code.made.rows.iter().map(|array| distance(array) as u64));
    let moved_by = all.len() - params.len();
    all.extend_from_slice(bases);
    let most = (ELEMENTS_BETWEEN_CHECKS / (range.end - range.start).max(1)).max(STEPS_BETWEEN_CHECKS);
    let mut before = 0;
    while before < steps {
        options.check()?;
        let taken = most.min(steps - before);
        (all[begins], all[begins + 1]) = (taken.cast_unsigned(), before.cast_unsigned());
        run_kernel(&code.module, &all, range.clone(), options)?;
        for (argument, bytes) in *moving {
            let pointer = &mut all[argument + moved_by];
            *pointer = pointer.wrapping_add_signed((*bytes as i64).wrapping_mul(taken));
        }
        before += taken;
    }
    Ok(())
}

/// A loop that runs.
struct Running<'r> {
    bound: &'r BoundLoop,
    pointer: Pointer<'r>,
    arena: *mut u8,
    /// Where the carried values are.
    current: SmallVec<[*mut u8; 4]>,
    /// The arrays for carried values, by kind, and those of them that hold none.
    owned: SmallVec<[SmallVec<[*mut u8; 4]>; 2]>,
    free: SmallVec<[SmallVec<[*mut u8; 4]>; 2]>,
    rows: SmallVec<[*mut u8; 2]>,
    stacked: SmallVec<[*mut u8; 2]>,
}

impl<'r> Running<'r> {
    fn new(bound: &'r BoundLoop, pointer: Pointer<'r>, arena: *mut u8) -> Self {
        let mut free: SmallVec<[SmallVec<[*mut u8; 4]>; 2]> =
            SmallVec::from_elem(SmallVec::new(), bound.kinds);
        for carried in &bound.carried {
            free[carried.kind].push(pointer(carried.result));
        }
        for (kind, start) in &bound.spare {
            free[*kind].push(arena.wrapping_add(*start));
        }
        if matches!(bound.steps, BoundTimes::Fixed(steps) if steps % 2 != 0) {
            // Of two arrays that take turns, the last step writes to the one of the result.
            free.iter_mut().for_each(|arrays| arrays.reverse());
        }
        let mut first = |rows: &BoundRows| pointer(rows.base).wrapping_offset(rows.offset);
        let rows = bound.rows.iter().map(&mut first).collect();
        let stacked = bound.stacked.iter().map(&mut first).collect();
        Running { bound, pointer, arena, current: SmallVec::new(), owned: free.clone(), free, rows, stacked }
    }

    fn run(mut self, options: &RunOptions) -> Result<(), RunError> {
        let bound = self.bound;
        self.begin(options)?;
        let limit = match bound.steps {
            BoundTimes::Fixed(steps) => Some(steps),
            // SAFETY: an earlier part has written this number, or the caller's array of one element has it.
            BoundTimes::Count(base) => Some(unsafe { (self.pointer)(base).cast::<i64>().read_unaligned() }),
            BoundTimes::While(_) => None,
        };
        if let (Some(strips), Some(step), Some(limit)) = (bound.strips, &bound.step, limit) {
            self.run_strips(strips, step, limit, options)?;
            self.finish();
            return Ok(());
        }
        let counter = self.arena.wrapping_add(bound.counter).cast::<i64>();
        let mut step = 0_i64;
        while limit.is_none_or(|limit| step < limit) {
            options.check()?;
            // SAFETY: the memory of the call has room for the counter there.
            unsafe { counter.write(step) };
            let at_step = |error: RunError| error.in_step(step, &bound.call);
            if let BoundTimes::While(condition) = &bound.steps {
                self.part(condition, &[], options).map_err(at_step)?;
                // SAFETY: the part has just written this byte.
                if unsafe { self.arena.wrapping_add(bound.condition).read() } == 0 {
                    break;
                }
            }
            let next = match bound.is_in_place {
                true => self.current.clone(),
                false => self.arrays_after(),
            };
            if let Some(step) = &bound.step {
                self.part(step, &next, options).map_err(at_step)?;
            }
            let before = std::mem::replace(&mut self.current, next);
            for (array, carried) in before.iter().zip(&bound.carried) {
                self.release(*array, carried.kind);
            }
            let moved = self.rows.iter_mut().zip(&bound.rows);
            for (row, rows) in moved.chain(self.stacked.iter_mut().zip(&bound.stacked)) {
                *row = row.wrapping_offset(rows.distance);
            }
            step += 1;
        }
        self.finish();
        Ok(())
    }

    /// Takes all steps for a strip of elements, and then for the next one.
    fn run_strips(
        &mut self,
        strips: Strips,
        step: &BoundPart,
        steps: i64,
        options: &RunOptions,
    ) -> Result<(), RunError> {
        let BoundCode::Kernels(kernels) = &step.binding.code else { return Ok(()) };
        let (launch, call) = (&kernels.launches[0], &kernels.launches[0].calls[0]);
        let params = call.arguments.len() - call.bases.len();
        let mut arguments: Arguments = SmallVec::from_slice(&call.arguments);
        // Pointers that move from step to step, and those of the counter, which each thread has for itself.
        let mut moving: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        let mut counters: SmallVec<[usize; 1]> = SmallVec::new();
        for (index, base) in call.bases.iter().enumerate() {
            let place = match *base {
                Base::Input(input) => step.inputs[input],
                Base::Output(output) => step.outputs[output],
                base => Place::Outer(base),
            };
            let argument = params + index;
            let start = match place {
                Place::Outer(base) => (self.pointer)(base),
                Place::Step(StepValue::Carried(number)) | Place::Next(number) => self.current[number],
                Place::Step(StepValue::Counter) => {
                    counters.push(argument);
                    continue;
                }
                Place::Step(StepValue::Row(number)) => {
                    moving.push((argument, self.bound.rows[number].distance));
                    self.rows[number]
                }
                Place::Stacked(number) => {
                    moving.push((argument, self.bound.stacked[number].distance));
                    self.stacked[number]
                }
                Place::Condition => std::ptr::null_mut(),
            };
            set_pointer(&mut arguments[argument], start);
        }
        let in_registers = kernels.variant.steps().filter(|_| strips.in_registers);
        let stop = options.as_stop();
        let strip = |start: i64| -> Result<(), RunError> {
            let range = start..launch.extent.min(start.saturating_add(strips.length));
            if let Some(code) = in_registers {
                return run_steps(
                    &StepsCall { code, kernels, call, moving: &moving },
                    &arguments,
                    range,
                    steps,
                    options,
                );
            }
            let mut counter = 0_i64;
            let mut arguments = arguments.clone();
            for argument in &counters {
                arguments[*argument] = (&raw mut counter).expose_provenance() as u64;
            }
            for number in 0..steps {
                if number % STEPS_BETWEEN_CHECKS == 0 {
                    options.check()?;
                }
                // SAFETY: this is the counter of this thread, which kernels only read.
                unsafe { (&raw mut counter).write_volatile(number) };
                run_call(kernels, call, &arguments, range.clone(), &stop, &mut Failure::default())?;
                for (argument, distance) in &moving {
                    arguments[*argument] = arguments[*argument].wrapping_add_signed(*distance as i64);
                }
            }
            // Kernels that were stopped in the last steps have ended early.
            options.check()
        };
        let count = launch.extent.unsigned_abs().div_ceil(strips.length.unsigned_abs()) as usize;
        let threads = &step.inner.options.threads;
        let most = if steps >= strips.shared_from { strips.threads } else { 1 };
        share_work(threads, most, count, &|_, number| strip(number as i64 * strips.length))
    }

    /// Sets the carried values to their initial ones.
    fn begin(&mut self, options: &RunOptions) -> Result<(), RunError> {
        for (number, carried) in self.bound.carried.iter().enumerate() {
            let initial = (self.pointer)(carried.initial);
            let array = match (&carried.strided, self.bound.is_in_place) {
                (None, false) => initial,
                (strided, is_in_place) => {
                    let array = match is_in_place {
                        true => (self.pointer)(carried.result),
                        false => self.take(number),
                    };
                    match strided {
                        // SAFETY: the initial value can be read; the other array has room for its elements, dense in
                        // row-major order, and shares none with it.
                        Some(geometry) => unsafe {
                            copy_from_array(initial, array, geometry, &|| options.check())?;
                        },
                        // SAFETY: as above; the initial value is dense, too.
                        None => unsafe { std::ptr::copy_nonoverlapping(initial, array, carried.bytes) },
                    }
                    array
                }
            };
            self.current.push(array);
        }
        Ok(())
    }

    /// Returns the arrays of the carried values after a step.
    fn arrays_after(&mut self) -> SmallVec<[*mut u8; 4]> {
        let carried = self.bound.carried.iter().enumerate();
        let array = |(number, carried): (usize, &BoundCarried)| match carried.moved {
            Some(from) => self.current[from],
            None => self.take(number),
        };
        carried.map(array).collect()
    }

    /// Returns an array for a carried value, which holds none. Each kind has as many as it has carried values, and as many again
    /// for those that a step computes, but one at least: there is always one. Arrays without elements may all be at one place, which
    /// is free once.
    fn take(&mut self, number: usize) -> *mut u8 {
        let carried = &self.bound.carried[number];
        let free = self.free[carried.kind].pop();
        debug_assert!(free.is_some() || carried.bytes == 0, "all arrays of a kind hold carried values");
        free.unwrap_or_else(|| (self.pointer)(carried.result))
    }

    /// Makes an array free that holds no carried value any more.
    fn release(&mut self, array: *mut u8, kind: usize) {
        if !self.current.contains(&array)
            && !self.free[kind].contains(&array)
            && self.owned[kind].contains(&array)
        {
            self.free[kind].insert(0, array);
        }
    }

    /// Copies the carried values to the arrays of the results, where they are not there.
    fn finish(&mut self) {
        for number in 0..self.current.len() {
            let carried = &self.bound.carried[number];
            let result = (self.pointer)(carried.result);
            // Nothing else goes where a result is.
            self.free[carried.kind].retain(|array| *array != result);
            if self.current[number] == result {
                continue;
            }
            if self.current[number + 1..].contains(&result) {
                // Another value is there, which is still needed.
                let array = self.take(number);
                self.copy(result, array, carried.bytes);
                self.current[number + 1..].iter_mut().filter(|at| **at == result).for_each(|at| *at = array);
            }
            let array = std::mem::replace(&mut self.current[number], result);
            self.copy(array, result, carried.bytes);
            self.release(array, carried.kind);
        }
    }

    fn copy(&self, from: *mut u8, to: *mut u8, bytes: usize) {
        if from != to {
            // SAFETY: both are arrays of this kind of carried value, and different ones, which do not overlap.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }

    /// Runs the step, or its condition, with these arrays for the carried values after it.
    fn part(&mut self, part: &BoundPart, next: &[*mut u8], options: &RunOptions) -> Result<(), RunError> {
        let Running { bound, pointer, arena, current, rows, stacked, .. } = self;
        run_part(part, options, *arena, &mut |place| match place {
            Place::Outer(base) => pointer(base),
            Place::Step(StepValue::Counter) => arena.wrapping_add(bound.counter),
            Place::Step(StepValue::Carried(number)) => current[number],
            Place::Step(StepValue::Row(number)) => rows[number],
            Place::Next(number) => next[number],
            Place::Stacked(number) => stacked[number],
            Place::Condition => arena.wrapping_add(bound.condition),
        })
    }
}
