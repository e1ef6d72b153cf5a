//! Tile functions: each definition of the table in a loop, compiled once per CPU level.
//!
//! ```text
//! a, b ──copy──▶ [T; CHUNK] on the stack ──LLVM's vectors──▶ [T; CHUNK] ──rare lanes one by one──▶ dst
//! ```
//!
//! The copies make in-place calls safe and keep the arguments for the rare lanes. They also give the loop a constant
//! length, so it has no scalar remainder: a short last chunk is padded with ones, computed in full, and cut.
#![allow(unsafe_code, reason = "entry points called by compiled kernels, and their dispatch by CPU level")]

use crate::float::{Float, Value};
use crate::functions::{Function, tile_of};
use crate::level::{CpuLevel, Fused, Level, Unfused};

/// The element type of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

/// The entry point of a tile: `dst[i] = f(a[i], b[i])` for `i < len`, elements contiguous, of any alignment.
///
/// # Safety
///
/// `a` must be valid for reads of `len` elements and `dst` for writes. If the function has two operands, `b` must be
/// valid for reads too; otherwise it is ignored and may be null. `dst` may equal `a` or `b`, but not overlap them in
/// part. The CPU must support the level for which [`tile_function`] returned the pointer.
pub type TileFn = unsafe extern "C" fn(dst: *mut u8, a: *const u8, b: *const u8, len: usize);

/// Returns the tile of a function at a level. If this CPU or build does not support the level, the tile is portable:
/// slow, with the level's numerics.
pub fn tile_function(function: Function, precision: Precision, level: CpuLevel) -> TileFn {
    match precision {
        Precision::F32 => tile_of::<f32>(function, level),
        Precision::F64 => tile_of::<f64>(function, level),
    }
}

/// Computes `dst[i] = f(a[i], b[i])` over the shortest of the slices, and returns that length. Functions of one operand
/// ignore `b`; for functions of two operands, `None` counts as an empty slice.
pub fn tile_f32(function: Function, level: CpuLevel, dst: &mut [f32], a: &[f32], b: Option<&[f32]>) -> usize {
    on_slices(function, tile_function(function, Precision::F32, level), dst, a, b)
}

/// Like [`tile_f32`], for `f64`.
pub fn tile_f64(function: Function, level: CpuLevel, dst: &mut [f64], a: &[f64], b: Option<&[f64]>) -> usize {
    on_slices(function, tile_function(function, Precision::F64, level), dst, a, b)
}

fn on_slices<T>(function: Function, tile: TileFn, dst: &mut [T], a: &[T], b: Option<&[T]>) -> usize {
    let b = if function.arity() == 2 { b.unwrap_or_default() } else { a };
    let len = dst.len().min(a.len()).min(b.len());
    // SAFETY: all three slices have at least `len` elements of the tile's type, `dst` is exclusive, and
    // `tile_function` returns nothing that this CPU cannot run.
    unsafe { tile(dst.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast(), len) };
    len
}

/// One function at one precision, as the tile loop needs it.
pub(crate) trait Kernel {
    type Element: Float;
    const BINARY: bool;

    /// The function, except in rare lanes.
    fn common<L: Level>(a: Self::Element, b: Self::Element) -> Self::Element;

    /// Whether the lane needs `rare`.
    #[inline(always)]
    fn is_rare<L: Level>(_a: Self::Element, _b: Self::Element) -> bool {
        false
    }

    /// The function in rare lanes.
    #[inline(always)]
    fn rare<L: Level>(a: Self::Element, b: Self::Element) -> Self::Element {
        Self::common::<L>(a, b)
    }
}

/// Returns the compiled loop for a level, or a portable one if this CPU does not support the level.
pub(crate) fn at_level<K: Kernel>(level: CpuLevel) -> TileFn {
    match level {
        CpuLevel::Baseline => portable::<K, Unfused>,
        #[cfg(target_arch = "x86_64")]
        CpuLevel::Avx2Fma if level.is_supported() => avx2_fma::<K>,
        #[cfg(target_arch = "x86_64")]
        CpuLevel::Avx512 if level.is_supported() => avx512::<K>,
        CpuLevel::Avx2Fma | CpuLevel::Avx512 | CpuLevel::Neon => portable::<K, Fused>,
    }
}

/// The loop with the instructions that the build target guarantees; on AArch64, NEON with fused multiply-add.
///
/// # Safety
///
/// As [`TileFn`].
unsafe extern "C" fn portable<K: Kernel, L: Level>(dst: *mut u8, a: *const u8, b: *const u8, len: usize) {
    // SAFETY: by the contract of the caller.
    unsafe { run::<K, L>(dst, a, b, len) }
}

/// # Safety
///
/// As [`TileFn`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe extern "C" fn avx2_fma<K: Kernel>(dst: *mut u8, a: *const u8, b: *const u8, len: usize) {
    // SAFETY: by the contract of the caller.
    unsafe { run::<K, Fused>(dst, a, b, len) }
}

/// # Safety
///
/// As [`TileFn`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
unsafe extern "C" fn avx512<K: Kernel>(dst: *mut u8, a: *const u8, b: *const u8, len: usize) {
    // SAFETY: by the contract of the caller.
    unsafe { run::<K, Fused>(dst, a, b, len) }
}

/// The elements of a chunk. Of 16 to 128, 32 is the smallest at which long tiles reach full speed; larger chunks make
/// short tiles compute more padding.
const CHUNK: usize = 32;

/// # Safety
///
/// As [`TileFn`], for a CPU level that is the caller's.
#[inline(always)]
unsafe fn run<K: Kernel, L: Level>(dst: *mut u8, a: *const u8, b: *const u8, len: usize) {
    let mut start = 0;
    while start < len {
        let count = CHUNK.min(len - start);
        // SAFETY: elements start .. start + count are within the caller's len.
        let x = unsafe { load::<K::Element>(a, start, count) };
        // SAFETY: as above; a binary function's b is valid too.
        let y = if K::BINARY { unsafe { load::<K::Element>(b, start, count) } } else { x };
        let mut result = [K::Element::ZERO; CHUNK];
        for i in 0..CHUNK {
            result[i] = K::common::<L>(x[i], y[i]);
        }
        if x.iter().zip(&y).fold(false, |any, (&x, &y)| any | K::is_rare::<L>(x, y)) {
            for i in (0..count).filter(|&i| K::is_rare::<L>(x[i], y[i])) {
                result[i] = K::rare::<L>(x[i], y[i]);
            }
        }
        // SAFETY: as for the loads; `result` is a local, so it cannot overlap.
        unsafe { store(&result, dst, start, count) };
        start += count;
    }
}

/// Loads `count` elements from `start` on, and fills the rest with ones.
///
/// # Safety
///
/// `from` must be valid for reads of elements `start .. start + count`, and `count` at most `CHUNK`.
#[inline(always)]
unsafe fn load<T: Float>(from: *const u8, start: usize, count: usize) -> [T; CHUNK] {
    let mut chunk = [T::ONE; CHUNK];
    // SAFETY: by the contract of the caller. The copy is by bytes because kernels promise no alignment. Full chunks are a case of their
    // own so that their copy has a constant length.
    unsafe {
        let from = from.add(start * size_of::<T>());
        let bytes = if count == CHUNK { size_of::<[T; CHUNK]>() } else { count * size_of::<T>() };
        from.copy_to_nonoverlapping(chunk.as_mut_ptr().cast(), bytes);
    }
    chunk
}

/// Writes the first `count` elements to those from `start` on.
///
/// # Safety
///
/// `to` must be valid for writes of elements `start .. start + count`, not overlap `chunk`, and `count` be at
/// most `CHUNK`.
#[inline(always)]
unsafe fn store<T: Float>(chunk: &[T; CHUNK], to: *mut u8, start: usize, count: usize) {
    // SAFETY: by the contract of the caller; see `load`.
    unsafe {
        let to = to.add(start * size_of::<T>());
        let bytes = if count == CHUNK { size_of::<[T; CHUNK]>() } else { count * size_of::<T>() };
        chunk.as_ptr().cast::<u8>().copy_to_nonoverlapping(to, bytes);
    }
}
