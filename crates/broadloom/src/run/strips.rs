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
use super::launch::share_work;
use super::{Outputs, RunError, RunOptions, run_ordered};
use crate::array::{AnyArray, Argument, ArrayView, IntoArrayView};
use crate::bind::{Given, Ordered};
use crate::cache::lock;
use crate::compiled::Inner;
use crate::memory::Storage;
use crate::phased::{CompiledPhase, PhasePart, Strips};
use broadloom_ir::phases::{Destination, Move, Source};
use broadloom_jit::CpuLevel;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Mutex;

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
        while first < rows.end {
            self.options.check()?;
            let strip = first..rows.end.min(first + length);
            let made = self.compute(&strip)?;
            for (number, moved) in self.phase.moves.iter().enumerate() {
                let mask = self.rows_of(moved.mask, &made, &strip)?;
                let mask = Dense::of(&mask)?;
                let (width, before) = (widths[number], rows.start + counts[number]);
                let room = rows.end - before;
                let to = starts[number].at(before * width);
                counts[number] += match moved.operand {
                    // SAFETY: this thread alone fills these rows, of which there is room up to the last one of its own.
                    None => unsafe { lanes::write_positions(mask.bytes(), first as i64, to.cast(), room) },
                    Some(operand) => {
                        let operand = self.rows_of(operand, &made, &strip)?;
                        let operand = Dense::of(&operand)?;
                        // SAFETY: as above; the operand has a row for each element of the mask.
                        unsafe { lanes::move_rows(level, mask.bytes(), operand.start, width, to, room) }
                    }
                };
            }
            first = strip.end;
        }
        Ok(counts)
    }

    /// Computes the masks and elements of a strip, in the order of the part's outputs.
    fn compute(&self, strip: &Range<usize>) -> Result<Vec<AnyArray>, RunError> {
        let inputs = self.part.inputs.iter().zip(&self.strips.streamed).map(|(source, is_streamed)| {
            let Source::Array(input) = source else { return None };
            let argument = self.inputs.get(input.index())?.as_ref()?;
            let view = match is_streamed {
                true => argument.view.rows(strip.clone())?,
                false => argument.view.clone(),
            };
            Some(Argument { view, is_exclusive: false })
        });
        let inputs: Ordered<'_> = inputs.collect();
        let mut given = self.given.clone();
        given.retain(|(symbol, _)| *symbol != self.strips.rows);
        given.push((self.strips.rows, strip.len() as i64));
        let mut made = Outputs::none();
        let result = run_ordered(&self.part.inner, &inputs, &given, self.options, &mut made);
        result.map_err(|error| RunError::of_call(error.of_part(&self.part.origins)))?;
        Ok(made.into_arrays().collect())
    }

    /// Returns the rows of a strip of an array, or the array that the part has made for it.
    fn rows_of<'v>(
        &'v self,
        source: Source,
        made: &'v [AnyArray],
        strip: &Range<usize>,
    ) -> Result<ArrayView<'v>, RunError> {
        let rows = match source {
            Source::Array(input) => self.input(input.index())?.view.rows(strip.clone()),
            Source::Slot(slot) => {
                let is_it = |destination: &Destination| *destination == Destination::Slot(slot);
                let number = self.part.outputs.iter().position(is_it);
                number.and_then(|number| made.get(number)).map(IntoArrayView::into_array_view)
            }
        };
        rows.ok_or(RunError::MissingArray)
    }
}
