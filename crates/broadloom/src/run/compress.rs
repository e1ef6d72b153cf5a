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

pub(super) mod lanes;

use super::launch::share_work;
use super::{RunError, RunOptions};
use crate::array::{AnyArray, ArrayView, copy_from_array};
use crate::memory::{OutOfMemory, Storage};
use crate::options::CompileOptions;
use broadloom_ir::dtype::DType;
use broadloom_jit::CpuLevel;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The elements that are moved.
pub(super) struct Selected<'a> {
    /// Bool, along one axis.
    pub(super) mask: ArrayView<'a>,
    /// The elements; `None` for their positions along the axis.
    pub(super) operand: Option<ArrayView<'a>>,
    /// The axis of the elements, which is as long as the mask.
    pub(super) axis: usize,
}

/// The most elements of a mask that are counted and moved together: their bytes fit a cache.
const BLOCK: usize = 1 << 14;

/// The bytes of the rows of a block, after which a run can stop.
const BYTES_OF_BLOCK: usize = 1 << 20;

/// Returns how many elements of a mask are true.
pub(super) fn count(mask: &ArrayView<'_>, options: &RunOptions) -> Result<i64, RunError> {
    let dense = Dense::of(mask, options)?;
    let mut total = 0;
    for part in dense.bytes().chunks(BYTES_OF_BLOCK) {
        options.check()?;
        total += part.chunks(BLOCK).map(count_block).sum::<usize>();
    }
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
    let mask = Dense::of(&selected.mask, options)?;
    let mask = mask.bytes();
    let (dtype, mut shape) = match &selected.operand {
        Some(operand) => (operand.dtype(), operand.shape()),
        None => (DType::I64, vec![mask.len()]),
    };
    if shape.get(selected.axis) != Some(&mask.len()) {
        return Err(RunError::MissingArray);
    }
    let (outer, inner) = (product(&shape[..selected.axis]), product(&shape[selected.axis + 1..]));
    let width = inner.saturating_mul(dtype.size());
    let length = (BYTES_OF_BLOCK / width.max(1)).clamp(1, BLOCK);
    let blocks: Vec<&[u8]> = mask.chunks(length).collect();
    let threads = &compiled.threads;
    let bytes = mask.len()
        + selected
            .operand
            .as_ref()
            .map_or(mask.len() * 8, |operand| operand.geometry().count() * operand.dtype().size());
    let most = if bytes >= compiled.parallel_threshold { threads.available() } else { 1 };
    let counts: Vec<AtomicUsize> = blocks.iter().map(|_| AtomicUsize::new(0)).collect();
    share_work(threads, most, blocks.len(), &|_, block| {
        options.check()?;
        counts[block].store(count_block(blocks[block]), Ordering::Relaxed);
        Ok(())
    })?;
    let counts: Vec<usize> = counts.into_iter().map(AtomicUsize::into_inner).collect();
    let mut starts = Vec::with_capacity(blocks.len());
    let mut total = 0;
    for count in &counts {
        starts.push(total);
        total += count;
    }
    let level = compiled.level.unwrap_or_else(CpuLevel::detect);
    let operand = selected.operand.as_ref().map(|operand| Dense::of(operand, options)).transpose()?;
    shape[selected.axis] = total;
    let elements = product(&shape);
    let mut storage = Storage::allocate(dtype, elements)?;
    if elements > 0 {
        let target = Target(storage.as_mut_ptr());
        let moves = outer * blocks.len();
        share_work(threads, most, moves, &|_, number| {
            options.check()?;
            let (row, block) = (number / blocks.len(), number % blocks.len());
            let (first, count) = (block * length, counts[block]);
            let to = target.at((row * total + starts[block]) * width);
            let moved = match &operand {
                Some(operand) => {
                    let from = operand.start.wrapping_add((row * mask.len() + first) * width);
                    // SAFETY: the operand has a row of this many bytes for each element of the mask, from `first` on;
                    // the result has room for all that were counted, and each block has a place of its own.
                    unsafe { lanes::move_rows(level, blocks[block], from, width, to, count) }
                }
                // SAFETY: as above, with positions as elements.
                None => unsafe { lanes::write_positions(blocks[block], first as i64, to.cast(), count) },
            };
            // SAFETY: there is room for all that were counted.
            unsafe { to.add(moved * width).write_bytes(0, (count - moved) * width) };
            Ok(())
        })?;
    }
    // SAFETY: the blocks have written all elements: as many as they have counted, with bytes of elements of this dtype, or 0.
    unsafe { storage.assume_written(elements) };
    Ok(AnyArray::from_parts(storage, shape.into()))
}

/// Returns the product of sizes: 0 if any of them is, however large the others are.
pub(super) fn product(sizes: &[usize]) -> usize {
    match sizes.contains(&0) {
        true => 0,
        false => sizes.iter().fold(1, |product, size| product.saturating_mul(*size)),
    }
}

/// The memory of a result, of which threads write different parts.
pub(super) struct Target(pub(super) *mut u8);

// SAFETY: each block and each thread has a part of its own, see `compress` and `Stripped::run`.
unsafe impl Sync for Target {}

impl Target {
    pub(super) fn at(&self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

/// The elements of an array, dense in row-major order: where they are, or copied.
pub(super) struct Dense<'a> {
    pub(super) start: *const u8,
    bytes: usize,
    /// The copy.
    _copy: Option<Vec<u64>>,
    _array: std::marker::PhantomData<&'a u8>,
}

// SAFETY: the elements are only read.
unsafe impl Sync for Dense<'_> {}

impl<'a> Dense<'a> {
    pub(super) fn of(array: &ArrayView<'a>, options: &RunOptions) -> Result<Dense<'a>, RunError> {
        let geometry = array.geometry();
        let bytes = geometry.count() * geometry.dtype.size();
        if geometry.is_dense() {
            // SAFETY: the array can be read as long as it is borrowed.
            return Ok(unsafe { Dense::at(array.pointer(), bytes) });
        }
        let mut copy: Vec<u64> = Vec::new();
        copy.try_reserve_exact(bytes.div_ceil(8)).map_err(|_| OutOfMemory { bytes })?;
        copy.resize(bytes.div_ceil(8), 0);
        // SAFETY: the copy has room for the elements, which can be read.
        unsafe {
            copy_from_array(array.pointer(), copy.as_mut_ptr().cast(), geometry, &|| options.check())?;
        }
        Ok(Dense { start: copy.as_ptr().cast(), bytes, _copy: Some(copy), _array: std::marker::PhantomData })
    }

    /// Returns elements that are there.
    ///
    /// # Safety
    /// So many bytes can be read, as long as the value lives.
    pub(super) unsafe fn at(start: *const u8, bytes: usize) -> Dense<'a> {
        Dense { start, bytes, _copy: None, _array: std::marker::PhantomData }
    }

    pub(super) fn bytes(&self) -> &[u8] {
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
