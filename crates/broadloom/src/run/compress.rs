//! Moves the elements that a mask selects.
//!
//! ```text
//! mask ──count, block by block──▶ where each block begins ──each thread moves blocks──▶ selected elements, in order
//! ```
//!
//! The elements of a block go where those of all blocks before it end, so the result does not depend on threads. A mask in
//! memory that other programs share may change between the two walks: a block moves as many elements as it has counted, and
//! what it does not find any more is 0.
#![allow(unsafe_code, reason = "elements of any dtype are moved by their number of bytes")]

use super::launch::Shares;
use super::{RunError, RunOptions};
use crate::array::{AnyArray, ArrayView, copy_from_array};
use crate::cache::lock;
use crate::memory::{OutOfMemory, Storage};
use crate::options::CompileOptions;
use broadloom_ir::dtype::DType;
use std::sync::Mutex;

/// The elements that are moved.
pub(super) struct Selected<'a> {
    /// Bool, along one axis.
    pub(super) mask: ArrayView<'a>,
    /// The elements; `None` for their positions along the axis.
    pub(super) operand: Option<ArrayView<'a>>,
    /// The axis of the elements, which is as long as the mask.
    pub(super) axis: usize,
}

/// The number of elements of a mask that are counted and moved together: their bytes fit a cache.
const BLOCK: usize = 1 << 14;

/// Returns how many elements of a mask are true.
pub(super) fn count(mask: &ArrayView<'_>) -> Result<i64, RunError> {
    let dense = Dense::of(mask)?;
    let total: usize = dense.bytes().chunks(BLOCK).map(count_block).sum();
    Ok(total as i64)
}

/// Returns the number (`i64`) in an array of one element.
pub(super) fn whole_number(array: &ArrayView<'_>) -> i64 {
    // SAFETY: the graph says that the array is an i64 of rank 0; it may lie anywhere.
    unsafe { array.pointer().cast::<i64>().read_unaligned() }
}

/// Returns the selected elements.
pub(super) fn compress(
    selected: &Selected<'_>,
    compiled: &CompileOptions,
    options: &RunOptions,
) -> Result<AnyArray, RunError> {
    let mask = Dense::of(&selected.mask)?;
    let mask = mask.bytes();
    let blocks: Vec<&[u8]> = mask.chunks(BLOCK).collect();
    let mut counts = vec![0_usize; blocks.len()];
    let threads = &compiled.threads;
    let is_shared = mask.len() >= compiled.parallel_threshold && threads.are_of_this_process();
    let most = if is_shared { threads.available() } else { 1 };
    {
        let counts: Vec<Mutex<&mut usize>> = counts.iter_mut().map(Mutex::new).collect();
        shared(compiled, most, blocks.len(), &|block| **lock(&counts[block]) = count_block(blocks[block]));
    }
    let mut starts = Vec::with_capacity(blocks.len());
    let mut total = 0;
    for count in &counts {
        starts.push(total);
        total += count;
    }
    let operand = selected.operand.as_ref().map(Dense::of).transpose()?;
    let (dtype, mut shape) = match &selected.operand {
        Some(operand) => (operand.dtype(), operand.shape()),
        None => (DType::I64, vec![mask.len()]),
    };
    let outer: usize = shape[..selected.axis].iter().product();
    let inner: usize = shape[selected.axis + 1..].iter().product();
    shape[selected.axis] = total;
    let elements = outer * inner * total;
    let mut storage = Storage::allocate(dtype, elements)?;
    if elements > 0 {
        let target = Target(storage.as_mut_ptr());
        let width = inner * dtype.size();
        let moves = outer * blocks.len();
        let stopped = Mutex::new(Ok(()));
        shared(compiled, most, moves, &|number| {
            if let Err(error) = options.check() {
                *lock(&stopped) = Err(error);
                return;
            }
            let (row, block) = (number / blocks.len(), number % blocks.len());
            let (first, count) = (block * BLOCK, counts[block]);
            let to = target.at((row * total + starts[block]) * width);
            match &operand {
                Some(operand) => {
                    let from = operand.start.wrapping_add((row * mask.len() + first) * width);
                    // SAFETY: the operand has a row of this many bytes for each element of the mask, from `first` on;
                    // the result has room for all that were counted, and each block has a place of its own.
                    unsafe { move_rows(blocks[block], from, width, to, count) };
                }
                // SAFETY: as above, with positions as elements.
                None => unsafe { write_positions(blocks[block], first as i64, to.cast(), count) },
            }
        });
        stopped.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)?;
    }
    // SAFETY: the blocks have written all elements: as many as they have counted, with bytes of elements of this dtype, or 0.
    unsafe { storage.assume_written(elements) };
    Ok(AnyArray::from_parts(storage, shape.into()))
}

/// Runs `work` for each number, on up to `most` threads.
fn shared(compiled: &CompileOptions, most: usize, count: usize, work: &(dyn Fn(usize) + Sync)) {
    let shares = Shares::new(count, most);
    match shares.threads() {
        1 => (0..count).for_each(work),
        threads => compiled.threads.share(threads, &|thread| shares.take(thread, |_, number| work(number))),
    }
}

/// The memory of a result, of which threads write different parts.
struct Target(*mut u8);

// SAFETY: each block has a part of its own, see `compress`.
unsafe impl Sync for Target {}

impl Target {
    fn at(&self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

/// The elements of an array, dense in row-major order: where they are, or copied.
struct Dense<'a> {
    start: *const u8,
    bytes: usize,
    /// The copy.
    _copy: Option<Vec<u64>>,
    _array: std::marker::PhantomData<&'a u8>,
}

// SAFETY: the elements are only read.
unsafe impl Sync for Dense<'_> {}

impl<'a> Dense<'a> {
    fn of(array: &ArrayView<'a>) -> Result<Dense<'a>, RunError> {
        let geometry = array.geometry();
        let bytes = geometry.count() * geometry.dtype.size();
        if geometry.is_dense() {
            return Ok(Dense {
                start: array.pointer(),
                bytes,
                _copy: None,
                _array: std::marker::PhantomData,
            });
        }
        let mut copy: Vec<u64> = Vec::new();
        copy.try_reserve_exact(bytes.div_ceil(8)).map_err(|_| OutOfMemory { bytes })?;
        copy.resize(bytes.div_ceil(8), 0);
        // SAFETY: the copy has room for the elements, which can be read.
        unsafe { copy_from_array(array.pointer(), copy.as_mut_ptr().cast(), geometry) };
        Ok(Dense { start: copy.as_ptr().cast(), bytes, _copy: Some(copy), _array: std::marker::PhantomData })
    }

    fn bytes(&self) -> &[u8] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: the elements can be read as bytes as long as the array or its copy lives.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }
}

/// Returns how many elements of a block are true. Any byte but 0 is, as kernels read it.
fn count_block(mask: &[u8]) -> usize {
    // Sums of bytes are fast as long as they fit bytes.
    mask.chunks(255).map(|part| usize::from(part.iter().map(|byte| u8::from(*byte != 0)).sum::<u8>())).sum()
}

/// Moves the selected ones of rows of `width` bytes.
///
/// # Safety
/// At `from` there is a row for each element of the mask, and at `to` room for `count` rows.
unsafe fn move_rows(mask: &[u8], from: *const u8, width: usize, to: *mut u8, count: usize) {
    // SAFETY: by the contract of the caller.
    unsafe {
        match width {
            1 => move_elements::<u8>(mask, from.cast(), to.cast(), count),
            2 => move_elements::<u16>(mask, from.cast(), to.cast(), count),
            4 => move_elements::<u32>(mask, from.cast(), to.cast(), count),
            8 => move_elements::<u64>(mask, from.cast(), to.cast(), count),
            _ => {
                let mut moved = 0;
                for (index, _) in mask.iter().enumerate().filter(|(_, byte)| **byte != 0) {
                    if moved == count {
                        return;
                    }
                    std::ptr::copy_nonoverlapping(from.add(index * width), to.add(moved * width), width);
                    moved += 1;
                }
                to.add(moved * width).write_bytes(0, (count - moved) * width);
            }
        }
    }
}

/// Moves the selected elements.
///
/// # Safety
/// At `from` there is an element for each of the mask, and at `to` room for `count`. Neither has to be aligned.
unsafe fn move_elements<T: Copy>(mask: &[u8], from: *const T, to: *mut T, count: usize) {
    let found = select(mask, count, |index, place| {
        // SAFETY: `index` is below the length of the mask, and `place` below `count`.
        unsafe { to.add(place).write_unaligned(from.add(index).read_unaligned()) };
    });
    // SAFETY: there is room for `count` elements.
    unsafe { to.add(found).cast::<u8>().write_bytes(0, (count - found) * size_of::<T>()) };
}

/// Writes the positions of the true elements of a mask, the first of which is at `first`.
///
/// # Safety
/// At `to` there is room for `count` elements.
unsafe fn write_positions(mask: &[u8], first: i64, to: *mut i64, count: usize) {
    let found = select(mask, count, |index, place| {
        // SAFETY: `place` is below `count`.
        unsafe { to.add(place).write_unaligned(first + index as i64) };
    });
    // SAFETY: there is room for `count` elements.
    unsafe { to.add(found).cast::<u8>().write_bytes(0, (count - found) * size_of::<i64>()) };
}

/// Calls `write` with a position in the mask, and a place below `count` for each: the last call for a place has the position
/// of the true element that belongs there. Returns how many there are, up to `count`.
#[inline(always)]
fn select(mask: &[u8], count: usize, write: impl Fn(usize, usize)) -> usize {
    let (mut place, mut index) = (0, 0);
    for word in mask.chunks_exact(8) {
        if place + 8 > count {
            break;
        }
        // Without branches, as masks have no pattern: each element is written where the next true one belongs.
        if word != [0; 8] {
            for (step, byte) in word.iter().enumerate() {
                write(index + step, place);
                place += usize::from(*byte != 0);
            }
        }
        index += 8;
    }
    for (index, byte) in mask.iter().enumerate().skip(index) {
        if place == count {
            break;
        }
        write(index, place);
        place += usize::from(*byte != 0);
    }
    place
}
