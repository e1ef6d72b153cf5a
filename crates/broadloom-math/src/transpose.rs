//! Transposes blocks of a table: not an elementary function, but a loop that compiled kernels call, like a tile.
//!
//! Reading a table against the order of its elements takes a cache line for each of them. A block as wide as a
//! cache line uses the whole of each line that it touches; its columns, copied to rows, are then read like any
//! others.
#![allow(unsafe_code, reason = "an entry point that compiled kernels call with addresses")]

#[cfg(target_arch = "x86_64")]
use crate::level::CpuLevel;
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
    #[cfg(target_arch = "x86_64")]
    if matches!(CpuLevel::detect(), CpuLevel::Avx2Fma | CpuLevel::Avx512) {
        match size {
            4 => return Some(avx2::<Wide<u32>, u32>),
            8 => return Some(avx2::<Wide<u64>, u64>),
            _ => {}
        }
    }
    match size {
        1 => Some(portable::<u8>),
        2 => Some(portable::<u16>),
        4 => Some(portable::<u32>),
        8 => Some(portable::<u64>),
        _ => None,
    }
}

/// The address of an element of a row of a table.
fn element<T>(table: *const u8, stride: isize, row: usize, element: usize) -> *const T {
    table.wrapping_offset(row as isize * stride).cast::<T>().wrapping_add(element)
}

/// A square block that is transposed in registers.
trait Block {
    type Element: Copy;
    /// Rows and columns.
    const SIDE: usize;

    /// Transposes a block.
    ///
    /// # Safety
    ///
    /// As [`TransposeFn`], of `SIDE` rows and columns; the CPU must have the instructions of the block.
    #[inline(always)]
    unsafe fn transpose(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        for r in 0..Self::SIDE {
            // SAFETY: by the contract of the caller.
            unsafe {
                one_by_one::<Self::Element>(target, target_stride, source, source_stride, r, 0..Self::SIDE);
            }
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

impl Block for u8 {
    type Element = u8;
    const SIDE: usize = 8;
}

impl Block for u16 {
    type Element = u16;
    const SIDE: usize = 8;
}

impl Block for u32 {
    type Element = u32;
    const SIDE: usize = 4;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn transpose(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
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

impl Block for u64 {
    type Element = u64;
    const SIDE: usize = 2;

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn transpose(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
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

/// A block whose rows are registers of AVX2.
#[cfg(target_arch = "x86_64")]
struct Wide<T>(std::marker::PhantomData<T>);

#[cfg(target_arch = "x86_64")]
impl Block for Wide<u32> {
    type Element = u32;
    const SIDE: usize = 8;

    #[inline(always)]
    unsafe fn transpose(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        use std::arch::x86_64::*;
        // SAFETY: eight rows of eight elements each are the caller's; moving floats changes no bit of them.
        unsafe {
            let mut rows = [_mm256_setzero_ps(); 8];
            for (c, row) in (0..).zip(&mut rows) {
                *row = _mm256_loadu_ps(source.offset(c * source_stride).cast());
            }
            let mut pairs = rows;
            for at in [0, 2, 4, 6] {
                pairs[at] = _mm256_unpacklo_ps(rows[at], rows[at + 1]);
                pairs[at + 1] = _mm256_unpackhi_ps(rows[at], rows[at + 1]);
            }
            let mut fours = pairs;
            for at in [0, 4] {
                for of in [0, 1] {
                    let (low, high) = (pairs[at + of], pairs[at + of + 2]);
                    fours[at + 2 * of] = _mm256_shuffle_ps::<0b01_00_01_00>(low, high);
                    fours[at + 2 * of + 1] = _mm256_shuffle_ps::<0b11_10_11_10>(low, high);
                }
            }
            for r in 0..4 {
                let (low, high) = (fours[r], fours[r + 4]);
                let to = target.offset(r as isize * target_stride);
                _mm256_storeu_ps(to.cast(), _mm256_permute2f128_ps::<0x20>(low, high));
                _mm256_storeu_ps(
                    to.offset(4 * target_stride).cast(),
                    _mm256_permute2f128_ps::<0x31>(low, high),
                );
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Block for Wide<u64> {
    type Element = u64;
    const SIDE: usize = 4;

    #[inline(always)]
    unsafe fn transpose(target: *mut u8, target_stride: isize, source: *const u8, source_stride: isize) {
        use std::arch::x86_64::*;
        // SAFETY: four rows of four elements each are the caller's; moving floats changes no bit of them.
        unsafe {
            let mut rows = [_mm256_setzero_pd(); 4];
            for (c, row) in (0..).zip(&mut rows) {
                *row = _mm256_loadu_pd(source.offset(c * source_stride).cast());
            }
            let mut pairs = rows;
            for at in [0, 2] {
                pairs[at] = _mm256_unpacklo_pd(rows[at], rows[at + 1]);
                pairs[at + 1] = _mm256_unpackhi_pd(rows[at], rows[at + 1]);
            }
            for r in 0..2 {
                let (low, high) = (pairs[r], pairs[r + 2]);
                let to = target.offset(r as isize * target_stride);
                _mm256_storeu_pd(to.cast(), _mm256_permute2f128_pd::<0x20>(low, high));
                _mm256_storeu_pd(
                    to.offset(2 * target_stride).cast(),
                    _mm256_permute2f128_pd::<0x31>(low, high),
                );
            }
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
unsafe extern "C" fn portable<B: Block>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
) {
    // SAFETY: by the contract of the caller.
    unsafe { run::<B>(target, target_stride, source, source_stride, rows, columns) };
}

/// Transposes with blocks of AVX2, or smaller ones where overlapping blocks would move a third more elements.
///
/// # Safety
///
/// As [`TransposeFn`], and the CPU must have AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn avx2<B: Block, N: Block>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
) {
    let fits = |length: usize| length >= B::SIDE && 3 * length.next_multiple_of(B::SIDE) < 4 * length;
    // SAFETY: by the contract of the caller.
    unsafe {
        match fits(rows) && fits(columns) {
            true => run::<B>(target, target_stride, source, source_stride, rows, columns),
            false => run::<N>(target, target_stride, source, source_stride, rows, columns),
        }
    }
}

/// Transposes columns of `ROWS` elements that follow each other. The length of the inner loop is constant, so the compiler
/// turns it into shuffles.
///
/// # Safety
///
/// As [`TransposeFn`].
#[inline(always)]
unsafe fn few<T: Copy, const ROWS: usize>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    columns: usize,
) {
    let source = source.cast::<T>();
    let rows: [*mut T; ROWS] =
        std::array::from_fn(|r| target.wrapping_offset(r as isize * target_stride).cast());
    for c in 0..columns {
        for (r, row) in rows.iter().enumerate() {
            // SAFETY: r < ROWS and c < columns.
            unsafe { row.add(c).write_unaligned(source.add(c * ROWS + r).read_unaligned()) };
        }
    }
}

/// The first elements of blocks that cover a length; the last block overlaps the one before.
#[inline(always)]
fn blocks(length: usize, side: usize) -> impl Iterator<Item = usize> {
    (0..length.div_ceil(side)).map(move |block| (block * side).min(length - side))
}

/// # Safety
///
/// As [`TransposeFn`], and the CPU must have the instructions of the block.
#[inline(always)]
unsafe fn run<B: Block>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
) {
    if rows.min(columns) < B::SIDE {
        // The compiler makes no shuffles of 8-byte elements.
        if source_stride == (rows * size_of::<B::Element>()) as isize && size_of::<B::Element>() < 8 {
            // SAFETY: by the contract of the caller.
            unsafe {
                match rows {
                    2 => return few::<B::Element, 2>(target, target_stride, source, columns),
                    3 => return few::<B::Element, 3>(target, target_stride, source, columns),
                    _ => {}
                }
            }
        }
        for r in 0..rows {
            // SAFETY: r < rows and c < columns.
            unsafe {
                one_by_one::<B::Element>(target, target_stride, source, source_stride, r, 0..columns);
            }
        }
        return;
    }
    // All rows of a few columns, so that a page of `source` is met once.
    for c in blocks(columns, B::SIDE) {
        for c in (c + AHEAD..columns).take(B::SIDE) {
            let bytes = rows * size_of::<B::Element>();
            prefetch(element::<B::Element>(source, source_stride, c, 0).cast(), bytes);
        }
        for r in blocks(rows, B::SIDE) {
            let from = element::<B::Element>(source, source_stride, c, r).cast();
            let to = element::<B::Element>(target, target_stride, r, c).cast_mut().cast();
            // SAFETY: the columns from c on and the rows from r on, as many as a block has, are the caller's.
            unsafe { B::transpose(to, target_stride, from, source_stride) };
        }
    }
}
