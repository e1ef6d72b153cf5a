//! Transposes blocks of a table: not an elementary function, but a loop that compiled kernels call, like a tile.
//!
//! Reading a table against the order of its elements takes a cache line for each of them. A block as wide as a
//! cache line uses the whole of each line that it touches; its columns, copied to rows, are then read like any
//! others.
#![allow(unsafe_code, reason = "an entry point that compiled kernels call with addresses")]

use std::ops::Range;

/// The entry point: `target[r][c] = source[c][r]` for `r < rows` and `c < columns`. Strides are bytes from one row of
/// `target`, and from one row of `source`, to the next; elements within a row are contiguous, of any alignment.
///
/// # Safety
///
/// `source` must be valid for reads of `columns` rows of `rows` elements, and `target` for writes of `rows` rows of
/// `columns` elements; they must not overlap.
pub type TransposeFn = unsafe extern "C" fn(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
);

/// Returns the loop for elements of 1, 2, 4 or 8 bytes.
pub fn transpose_function(size: usize) -> Option<TransposeFn> {
    match size {
        1 => Some(run::<u8>),
        2 => Some(run::<u16>),
        4 => Some(run::<u32>),
        8 => Some(run::<u64>),
        _ => None,
    }
}

/// The address of an element of a row of a table.
fn element<T>(table: *const u8, stride: isize, row: usize, element: usize) -> *const T {
    table.wrapping_offset(row as isize * stride).cast::<T>().wrapping_add(element)
}

/// Elements of which square blocks are transposed in registers.
trait Element: Copy {
    /// Rows and columns of a block.
    const SIDE: usize;

    /// Transposes a block.
    ///
    /// # Safety
    ///
    /// As [`TransposeFn`], of `SIDE` rows and columns.
    #[inline(always)]
    unsafe fn block(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        for r in 0..Self::SIDE {
            // SAFETY: by the contract of the caller.
            unsafe { one_by_one::<Self>(target, target_stride, source, source_stride, r, 0..Self::SIDE) };
        }
    }
}

/// A part of a row, element by element.
///
/// # Safety
///
/// As [`TransposeFn`]; row `r` and these columns are the caller's.
#[inline(always)]
unsafe fn one_by_one<T: Copy>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    r: usize,
    columns: Range<usize>,
) {
    for c in columns {
        let from = element::<T>(source, source_stride, c, r);
        let to = element::<T>(target, target_stride, r, c).cast_mut();
        // SAFETY: by the contract of the caller.
        unsafe { to.write_unaligned(from.read_unaligned()) };
    }
}

impl Element for u8 {
    const SIDE: usize = 8;
}

impl Element for u16 {
    const SIDE: usize = 8;
}

impl Element for u32 {
    const SIDE: usize = 4;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn block(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
        // SAFETY: four rows of four elements each are the caller's; moving floats changes no bit of them.
        unsafe {
            let load = |c: isize| _mm_loadu_ps(source.offset(c * source_stride).cast());
            let (mut a, mut b, mut c, mut d) = (load(0), load(1), load(2), load(3));
            _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (r, row) in (0..).zip([a, b, c, d]) {
                _mm_storeu_ps(target.offset(r * target_stride).cast(), row);
            }
        }
    }
}

impl Element for u64 {
    const SIDE: usize = 2;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn block(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
        // SAFETY: two rows of two elements each are the caller's; moving floats changes no bit of them.
        unsafe {
            let a = _mm_loadu_pd(source.cast());
            let b = _mm_loadu_pd(source.offset(source_stride).cast());
            _mm_storeu_pd(target.cast(), _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(target.offset(target_stride).cast(), _mm_unpackhi_pd(a, b));
        }
    }
}

/// The number of columns to prefetch ahead. CPUs do not predict reads that are pages apart: without prefetching, a
/// hand-written loop over a table of `f32` beyond the caches took 1.2 times as long.
const AHEAD: usize = 8;

/// Prefetches memory from an address on. Any address is allowed, because it is a hint.
#[inline(always)]
fn prefetch(address: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..bytes).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(line).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (address, bytes);
}

/// # Safety
///
/// As [`TransposeFn`].
unsafe extern "C" fn run<T: Element>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
) {
    let (whole_rows, whole_columns) = (rows - rows % T::SIDE, columns - columns % T::SIDE);
    // All rows of a few columns, so that a page of `source` is met once.
    for c in (0..whole_columns).step_by(T::SIDE) {
        for c in (c + AHEAD..columns).take(T::SIDE) {
            prefetch(element::<T>(source, source_stride, c, 0).cast(), rows * size_of::<T>());
        }
        for r in (0..whole_rows).step_by(T::SIDE) {
            let from = element::<T>(source, source_stride, c, r).cast();
            let to = element::<T>(target, target_stride, r, c).cast_mut().cast();
            // SAFETY: the columns from c on and the rows from r on, as many as a block has, are the caller's.
            unsafe { T::block(to, target_stride, from, source_stride) };
        }
    }
    for r in 0..rows {
        let first = if r < whole_rows { whole_columns } else { 0 };
        // SAFETY: r < rows and c < columns.
        unsafe { one_by_one::<T>(target, target_stride, source, source_stride, r, first..columns) };
    }
}
