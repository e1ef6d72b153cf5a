//! Selects from what is computed for each row by itself: a strip of rows at a time, so that neither the mask nor the elements
//! are stored whole.
//!
//! ```text
//! a strip of rows ──part──▶ its mask, its elements, in a cache ──the selected ones──▶ the next rows of the result
//! ```
//!
//! Each thread takes neighbouring strips and fills a part of the result of its own; at the end the parts are moved together.
#![allow(unsafe_code, reason = "threads fill parts of a result whose size is known at the end")]

use super::compress::{Dense, Target, lanes, product};
use super::launch::{nothing, run_bound, share_work};
use super::{RunError, RunOptions};
use crate::array::{AnyArray, Argument};
use crate::bind::{Base, Binding, Destination as Bound, Destinations, Given, Ordered};
use crate::cache::lock;
use crate::compiled::Inner;
use crate::memory::{Block, OutOfMemory, Storage};
use crate::phased::{CompiledPhase, PhasePart, Strips};
use broadloom_ir::phases::{Destination, Move, Source};
use broadloom_jit::CpuLevel;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The bytes of a strip that stay in a cache while it is selected from.
const STRIP_BYTES: usize = 128 << 10;

/// What is run strip by strip.
pub(super) struct Stripped<'r, 'a> {
    pub(super) whole: &'r Inner,
    pub(super) phase: &'r CompiledPhase,
    pub(super) part: &'r PhasePart,
    pub(super) strips: &'r Strips,
    pub(super) inputs: &'r Ordered<'a>,
    pub(super) given: &'r Given,
    pub(super) options: &'r RunOptions,
    /// The number of rows.
    pub(super) rows: usize,
}

/// The result of a move, and where it goes.
struct Filled {
    storage: Storage,
    shape: SmallVec<[usize; 4]>,
    /// The bytes of a row.
    width: usize,
    elements_of_row: usize,
}

impl Stripped<'_, '_> {
    /// Returns the results of the moves, in order, and how many rows each of them has.
    pub(super) fn run(&self) -> Result<Vec<(AnyArray, usize)>, RunError> {
        let mut filled =
            self.phase.moves.iter().map(|moved| self.room(moved)).collect::<Result<Vec<_>, _>>()?;
        let length = self.length();
        let threads = self.threads();
        let bound = |thread: usize| (self.rows * thread / threads).next_multiple_of(64).min(self.rows);
        let starts: Vec<Target> = filled.iter_mut().map(|each| Target(each.storage.as_mut_ptr())).collect();
        let widths: Vec<usize> = filled.iter().map(|each| each.width).collect();
        let counts: Vec<Mutex<Vec<usize>>> = (0..threads).map(|_| Mutex::default()).collect();
        // A pool may have fewer threads than there are parts.
        share_work(&self.whole.options.threads, threads, threads, &|_, part| {
            *lock(&counts[part]) = self.fill(bound(part)..bound(part + 1), length, &starts, &widths)?;
            Ok(())
        })?;
        let counts: Vec<Vec<usize>> = counts.iter().map(|count| lock(count).clone()).collect();
        let mut results = Vec::with_capacity(filled.len());
        for (number, mut each) in filled.drain(..).enumerate() {
            let mut total = counts[0][number];
            let start = each.storage.as_mut_ptr();
            for (thread, count) in counts.iter().enumerate().skip(1) {
                let (from, to) = (bound(thread) * each.width, total * each.width);
                // SAFETY: the thread has filled so many rows from its first one on, and the rows before are no more than
                // those of the threads before.
                unsafe { std::ptr::copy(start.add(from), start.add(to), count[number] * each.width) };
                total += count[number];
            }
            each.shape[0] = total;
            // SAFETY: so many rows have been filled with elements of this dtype.
            unsafe { each.storage.assume_written(total * each.elements_of_row) };
            each.storage.shrink();
            results.push((AnyArray::from_parts(each.storage, each.shape), total));
        }
        Ok(results)
    }

    /// Returns the threads that share the strips.
    fn threads(&self) -> usize {
        let options = &self.whole.options;
        let bytes = self.rows.saturating_mul(self.strips.row_bytes);
        let is_shared = bytes >= options.parallel_threshold && options.threads.are_of_this_process();
        let most = self.rows.div_ceil(self.length()).max(1);
        if is_shared { options.threads.available().clamp(1, most) } else { 1 }
    }

    /// Returns the number of rows of a strip.
    fn length(&self) -> usize {
        match STRIP_BYTES / self.strips.row_bytes.max(1) {
            few @ ..64 => few.max(1),
            many => many.next_multiple_of(64),
        }
    }

    /// Returns room for all rows, most of which is never touched if few are selected.
    fn room(&self, moved: &Move) -> Result<Filled, RunError> {
        let (dtype, mut shape) = match moved.operand {
            None => (broadloom_ir::dtype::DType::I64, SmallVec::new()),
            Some(Source::Array(input)) => {
                let view = self.input(input.index())?.view.clone();
                (view.dtype(), view.shape()[1..].iter().copied().collect())
            }
            Some(Source::Slot(slot)) => {
                let (dtype, shape) = self.part.of_slot(slot, self.given)?;
                (dtype, shape[1..].iter().copied().collect::<SmallVec<[usize; 4]>>())
            }
        };
        let elements_of_row = product(&shape);
        shape.insert(0, self.rows);
        let storage = Storage::allocate(dtype, self.rows.saturating_mul(elements_of_row))?;
        Ok(Filled { storage, shape, width: elements_of_row * dtype.size(), elements_of_row })
    }

    fn input(&self, index: usize) -> Result<&Argument<'_>, RunError> {
        self.inputs.get(index).and_then(Option::as_ref).ok_or(RunError::MissingArray)
    }

    /// Fills the results of some rows from the place of the first of them on. Returns how many rows each has.
    fn fill(
        &self,
        rows: Range<usize>,
        length: usize,
        starts: &[Target],
        widths: &[usize],
    ) -> Result<Vec<usize>, RunError> {
        let level = self.whole.options.level.unwrap_or_else(CpuLevel::detect);
        let mut counts = vec![0_usize; starts.len()];
        let mut first = rows.start;
        let mut strip = Strip::new(self, length.min(rows.len()))?;
        while first < rows.end {
            self.options.check()?;
            if rows.end - first < strip.rows {
                strip = Strip::new(self, rows.end - first)?;
            }
            strip.compute(first)?;
            for (number, moved) in self.phase.moves.iter().enumerate() {
                let mask = strip.rows_of(moved.mask, first)?;
                let (width, before) = (widths[number], rows.start + counts[number]);
                let room = rows.end - before;
                let to = starts[number].at(before * width);
                counts[number] += match moved.operand {
                    // SAFETY: this thread alone fills these rows, of which there is room up to the last one of its own.
                    None => unsafe { lanes::write_positions(mask.bytes(), first as i64, to.cast(), room) },
                    Some(operand) => {
                        let operand = strip.rows_of(operand, first)?;
                        // SAFETY: as above; the operand has a row for each element of the mask.
                        unsafe { lanes::move_rows(level, mask.bytes(), operand.start, width, to, room) }
                    }
                };
            }
            first += strip.rows;
        }
        Ok(counts)
    }
}

/// A strip of a number of rows, and the memory of a thread for what it makes. It is bound once for all places: a binding depends on
/// the sizes and the distances of elements, and not on where arrays begin.
struct Strip<'s, 'r, 'a> {
    of: &'s Stripped<'r, 'a>,
    rows: usize,
    binding: Arc<Binding>,
    /// For each input of the part, its first element, and the bytes from a row to the next one.
    inputs: SmallVec<[(*const u8, isize); 4]>,
    /// For each output of the part, where it is in the memory, and its bytes.
    outputs: SmallVec<[(usize, usize); 4]>,
    /// Where the memory begins, and where that of the call does, behind what the part makes. The block stays where it is as long as
    /// this lives.
    start: *mut u8,
    arena: *mut u8,
    _memory: Block,
}

impl<'s, 'r, 'a> Strip<'s, 'r, 'a> {
    fn new(of: &'s Stripped<'r, 'a>, rows: usize) -> Result<Self, RunError> {
        let mut bound: Ordered<'_> = SmallVec::new();
        let mut inputs = SmallVec::new();
        for (source, is_streamed) in of.part.inputs.iter().zip(&of.strips.streamed) {
            let Source::Array(input) = source else { return Err(RunError::MissingArray) };
            // What nothing in the part reads need not be there.
            let argument = of.inputs.get(input.index()).and_then(Option::as_ref);
            inputs.push(argument.map_or((std::ptr::null(), 0), |Argument { view, .. }| {
                let axis = view.geometry().axes.first().filter(|_| *is_streamed);
                // Distances were checked as bytes of an array, so they fit.
                let distance = axis.map_or(0, |axis| axis.stride as isize * view.dtype().size() as isize);
                (view.pointer(), distance)
            }));
            let view = argument.and_then(|argument| match is_streamed {
                true => argument.view.rows(0..rows),
                false => Some(argument.view.clone()),
            });
            bound.push(view.map(|view| Argument { view, is_exclusive: false }));
        }
        let mut given = of.given.clone();
        given.retain(|(symbol, _)| *symbol != of.strips.rows);
        given.push((of.strips.rows, rows as i64));
        let inner = &of.part.inner;
        let destinations = Destinations::from_elem(Bound::Own, inner.graph.outputs().len());
        let binding = inner.bind(&bound, &given, &destinations, of.options.stops());
        let binding =
            binding.map_err(|error| RunError::of_size(error).of_part(&of.part.origins))?.into_owned();
        let (mut end, mut outputs) = (0_usize, SmallVec::new());
        for output in &binding.outputs {
            outputs.push((end, output.bytes()));
            let after = end.checked_add(output.bytes()).and_then(|end| end.checked_next_multiple_of(64));
            end = after.ok_or(OutOfMemory { bytes: usize::MAX })?;
        }
        let mut memory = Block::new(end.saturating_add(binding.arena_bytes))?;
        let start = memory.as_mut_ptr();
        let arena = start.wrapping_add(end);
        Ok(Strip { of, rows, binding, inputs, outputs, start, arena, _memory: memory })
    }

    /// Computes the masks and elements of the strip that begins at a row.
    fn compute(&mut self, first: usize) -> Result<(), RunError> {
        let Strip { of, binding, inputs, outputs, start, arena, .. } = self;
        let mut pointer = |base: Base| match base {
            Base::Input(input) => {
                let (array, distance) = inputs[input];
                array.wrapping_offset(first as isize * distance).cast_mut()
            }
            Base::Output(output) => start.wrapping_add(outputs[output].0),
            Base::Arena(_) | Base::Nothing => nothing(),
        };
        let result = run_bound(&of.part.inner, binding, of.options, &mut pointer, *arena);
        result.map_err(|error| error.of_part(&of.part.origins))
    }

    /// Returns the rows of the strip that begins at a row, of an array, or those that the part has made for it.
    fn rows_of(&self, source: Source, first: usize) -> Result<Dense<'_>, RunError> {
        match source {
            Source::Array(input) => {
                let rows = self.of.input(input.index())?.view.rows(first..first + self.rows);
                Dense::of(&rows.ok_or(RunError::MissingArray)?, self.of.options)
            }
            Source::Slot(slot) => {
                let is_it = |destination: &Destination| *destination == Destination::Slot(slot);
                let number = self.of.part.outputs.iter().position(is_it).ok_or(RunError::MissingArray)?;
                let (start, bytes) = self.outputs[number];
                // SAFETY: the part has just written so many bytes there, which nothing writes before the next strip.
                Ok(unsafe { Dense::at(self.start.wrapping_add(start), bytes) })
            }
        }
    }
}
