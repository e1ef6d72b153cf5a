//! The best elements of a row so far, in order: like tiles, these are loops that compiled kernels call, compiled once per
//! CPU level.
//!
//! ```text
//! row ──compare a block with the last element held──▶ nothing better, in most cases
//!                                    └─▶ each better element ──▶ inserted among those held
//! ```
//!
//! The elements held stay in memory between two calls, so a row may come in strips, and strips of several rows in turn.
//! Many rows may also come together, one element of each at a time. Then the elements held are stored place by place, and
//! the elements of neighbouring rows are compared at once, each with the last element held for its row.
#![allow(unsafe_code, reason = "entry points called by compiled kernels, and their dispatch by CPU level")]

use crate::element::ElementType;
use crate::level::CpuLevel;
use std::marker::PhantomData;

/// The end of an order whose elements are the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest.
    Least,
    /// The largest.
    Greatest,
}

impl Extreme {
    /// Both.
    pub const ALL: [Extreme; 2] = [Extreme::Least, Extreme::Greatest];
}

/// The entry point for one row: takes `count` more elements of a row of which `seen` elements were taken before.
///
/// The best `k` of all elements taken so far (or all, if there are fewer) are in `values`, best first, and their indices
/// in `indices`. The first element of this call has the index `first`, the next one `first + 1`, and so on. Element `i`
/// is `i * stride` bytes after `source`. Nothing needs alignment.
///
/// NaN is better than all numbers. As values, -0 is less than +0; indices follow an order in which zeros are equal. Of
/// equal elements, the one that was taken first is better. So an index always refers to an element that is equal to the
/// value beside it, and for `k = 1` the results are those of `maximum` and a search for it.
///
/// # Safety
///
/// The elements must be valid for reads. `values` and `indices` must be valid for reads and writes of `k` elements and
/// overlap nothing; if `seen` is not zero, they must be as the last call for this row left them. The CPU must support
/// the level for which [`best_function`] returned the pointer.
pub type BestFn = unsafe extern "C" fn(
    values: *mut u8,
    indices: *mut i64,
    k: usize,
    seen: usize,
    source: *const u8,
    stride: isize,
    first: i64,
    count: usize,
);

/// The entry point for many rows at once: takes one more element of each of `count` rows of which `seen` elements were
/// taken before. The element of row `i` is `i` elements after `source`, and all have the same index.
///
/// The results are those that a [`BestFn`] would hold for each row. A place has one element for each row: that of row
/// `i` is `i` elements after the start of the place. Places are `values_apart` and `indices_apart` bytes apart. Nothing
/// needs alignment.
///
/// # Safety
///
/// As for [`BestFn`], for all rows; the CPU must support the level for which [`best_rows_function`] returned the pointer.
pub type BestRowsFn = unsafe extern "C" fn(
    values: *mut u8,
    values_apart: usize,
    indices: *mut u8,
    indices_apart: usize,
    k: usize,
    seen: usize,
    source: *const u8,
    index: i64,
    count: usize,
);

/// Returns the loop for elements of a type at a CPU level; all levels give the same results. There is none for floats of
/// 16 bits, which kernels compare as `f32`.
pub fn best_function(of: ElementType, extreme: Extreme, level: CpuLevel) -> Option<BestFn> {
    of_type(of, extreme, level).map(|loops| loops.of_row)
}

/// Returns the loop for many rows of a type at a CPU level, like [`best_function`].
pub fn best_rows_function(of: ElementType, extreme: Extreme, level: CpuLevel) -> Option<BestRowsFn> {
    of_type(of, extreme, level).map(|loops| loops.of_rows)
}

/// The loops for a type, an extreme and a level.
struct Loops {
    of_row: BestFn,
    of_rows: BestRowsFn,
}

fn of_type(of: ElementType, extreme: Extreme, level: CpuLevel) -> Option<Loops> {
    Some(match of {
        ElementType::Bool | ElementType::U8 => at_level::<u8>(extreme, level),
        ElementType::I8 => at_level::<i8>(extreme, level),
        ElementType::I16 => at_level::<i16>(extreme, level),
        ElementType::I32 => at_level::<i32>(extreme, level),
        ElementType::I64 => at_level::<i64>(extreme, level),
        ElementType::U16 => at_level::<u16>(extreme, level),
        ElementType::U32 => at_level::<u32>(extreme, level),
        ElementType::U64 => at_level::<u64>(extreme, level),
        ElementType::F32 => at_level::<f32>(extreme, level),
        ElementType::F64 => at_level::<f64>(extreme, level),
        ElementType::F16 | ElementType::Bf16 => return None,
    })
}

fn at_level<T: Element>(extreme: Extreme, level: CpuLevel) -> Loops {
    match extreme {
        Extreme::Least => of_extreme::<T, false>(level),
        Extreme::Greatest => of_extreme::<T, true>(level),
    }
}

fn of_extreme<T: Element, const GREATEST: bool>(level: CpuLevel) -> Loops {
    match level {
        #[cfg(target_arch = "x86_64")]
        CpuLevel::Avx2Fma if level.is_supported() => avx2_fma::loops::<T, GREATEST>(),
        #[cfg(target_arch = "x86_64")]
        CpuLevel::Avx512 if level.is_supported() => avx512::loops::<T, GREATEST>(),
        CpuLevel::Baseline | CpuLevel::Avx2Fma | CpuLevel::Avx512 | CpuLevel::Neon => {
            portable::loops::<T, GREATEST>()
        }
    }
}

macro_rules! entries {
    ($(#[$attribute:meta])* $name:ident) => {
        mod $name {
            use super::*;

            pub(super) fn loops<T: Element, const GREATEST: bool>() -> Loops {
                Loops { of_row: of_row::<T, GREATEST>, of_rows: of_rows::<T, GREATEST> }
            }

            /// # Safety
            ///
            /// As for [`BestFn`].
            $(#[$attribute])*
            unsafe extern "C" fn of_row<T: Element, const GREATEST: bool>(
                values: *mut u8,
                indices: *mut i64,
                k: usize,
                seen: usize,
                source: *const u8,
                stride: isize,
                first: i64,
                count: usize,
            ) {
                let (values, indices) = (Places::of::<T>(values), Places::of::<i64>(indices.cast()));
                let held = Held::<T, GREATEST> { values, indices, k, count: seen.min(k), of: PhantomData };
                // SAFETY: by the contract of the caller.
                unsafe { push(held, Source { start: source, stride, first, count }) }
            }

            /// # Safety
            ///
            /// As for [`BestRowsFn`].
            $(#[$attribute])*
            unsafe extern "C" fn of_rows<T: Element, const GREATEST: bool>(
                values: *mut u8,
                values_apart: usize,
                indices: *mut u8,
                indices_apart: usize,
                k: usize,
                seen: usize,
                source: *const u8,
                index: i64,
                count: usize,
            ) {
                let values = Places { start: values, apart: values_apart };
                let indices = Places { start: indices, apart: indices_apart };
                let held = Held::<T, GREATEST> { values, indices, k, count: seen.min(k), of: PhantomData };
                let source = Source { start: source, stride: size_of::<T>() as isize, first: index, count };
                // SAFETY: by the contract of the caller.
                unsafe { push_across(held, source) }
            }
        }
    };
}

entries!(portable);
#[cfg(target_arch = "x86_64")]
entries!(
    #[target_feature(enable = "avx2,fma")]
    avx2_fma
);
#[cfg(target_arch = "x86_64")]
entries!(
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    avx512
);

/// An element that has a place in the order.
trait Element: Copy + PartialOrd + 'static {
    /// Returns whether a block may have an element to be held when `last` is the last one held: true for every block
    /// that has one, and for few others.
    fn may_beat<const GREATEST: bool>(block: &[Self; BLOCK], last: Self) -> bool;

    /// Returns whether it comes before another in the order in which zeros are equal.
    #[inline(always)]
    fn beats<const GREATEST: bool>(self, other: Self) -> bool {
        if GREATEST { self > other } else { self < other }
    }

    /// Returns whether it comes before another as a value: -0 is less than +0.
    #[inline(always)]
    fn exceeds<const GREATEST: bool>(self, other: Self) -> bool {
        self.beats::<GREATEST>(other)
    }

    /// Returns the value that is held for it.
    #[inline(always)]
    fn held(self) -> Self {
        self
    }

    /// Returns whether both orders agree with the operators of its type on this element, whatever it is compared with:
    /// true for all elements except zeros and NaNs.
    #[inline(always)]
    fn is_plain(self) -> bool {
        true
    }
}

/// The number of elements that are compared with the last one held at once: one or two vectors. If one of them is better,
/// all of them are compared one by one.
const BLOCK: usize = 16;
/// The number of rows whose elements are compared, each with the last one held for its row, before any is taken.
const ACROSS: usize = 64;
/// The number of blocks that are compared before a branch on whether any element is better.
const BLOCKS: usize = 8;

macro_rules! integers {
    ($($integer:ident)*) => {$(
        impl Element for $integer {
            #[inline(always)]
            fn may_beat<const GREATEST: bool>(block: &[Self; BLOCK], last: Self) -> bool {
                block.iter().fold(false, |any, x| any | x.beats::<GREATEST>(last))
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($float:ident)*) => {$(
        impl Element for $float {
            #[inline(always)]
            fn may_beat<const GREATEST: bool>(block: &[Self; BLOCK], last: Self) -> bool {
                // Nothing is better than NaN, and no element is worse than another NaN. One zero is better than the other.
                if last.is_nan() {
                    false
                } else if last == 0.0 && last.is_sign_negative() == GREATEST {
                    let is_worse = |x: &Self| if GREATEST { *x < last } else { *x > last };
                    block.iter().fold(false, |any, x| any | !is_worse(x))
                } else {
                    let is_no_better = |x: &Self| if GREATEST { *x <= last } else { *x >= last };
                    block.iter().fold(false, |any, x| any | !is_no_better(x))
                }
            }

            #[inline(always)]
            fn beats<const GREATEST: bool>(self, other: Self) -> bool {
                let is_better = if GREATEST { self > other } else { self < other };
                !other.is_nan() && (is_better || self.is_nan())
            }

            #[inline(always)]
            fn exceeds<const GREATEST: bool>(self, other: Self) -> bool {
                // No branches, so that LLVM can vectorise it. NaN is at least as good as anything; equal elements
                // differ in their bits only if they are zeros.
                let is_better = !(if GREATEST { self <= other } else { self >= other });
                let (bits, other_bits) = (self.to_bits().cast_signed(), other.to_bits().cast_signed());
                let by_sign = if GREATEST { bits > other_bits } else { bits < other_bits };
                (is_better | (self == other) & by_sign) & !other.is_nan()
            }

            #[inline(always)]
            fn held(self) -> Self {
                if self.is_nan() { $float::NAN } else { self }
            }

            #[inline(always)]
            fn is_plain(self) -> bool {
                self != 0.0 && !self.is_nan()
            }
        }
    )*};
}
floats!(f32 f64);

/// The places of the elements held, or of their indices, best first.
#[derive(Clone, Copy)]
struct Places {
    start: *mut u8,
    /// The number of bytes from one place to the next.
    apart: usize,
}

impl Places {
    /// Returns adjacent places.
    #[inline(always)]
    fn of<T>(start: *mut u8) -> Places {
        Places { start, apart: size_of::<T>() }
    }

    /// Returns the address of a place of a row.
    #[inline(always)]
    fn at<T>(self, place: usize, row: usize) -> *mut T {
        self.start.wrapping_add(place * self.apart + row * size_of::<T>()).cast()
    }
}

/// The best elements so far of one row, or of each of several rows.
#[derive(Clone, Copy)]
struct Held<T, const GREATEST: bool> {
    values: Places,
    indices: Places,
    k: usize,
    /// The number of elements held.
    count: usize,
    of: PhantomData<T>,
}

/// The elements to take.
struct Source {
    start: *const u8,
    stride: isize,
    first: i64,
    count: usize,
}

impl Source {
    /// # Safety
    ///
    /// As for [`BestFn`], for the element `at`.
    #[inline(always)]
    unsafe fn element<T: Copy>(&self, at: usize) -> T {
        // SAFETY: by the contract of the caller.
        unsafe { self.start.wrapping_offset(at as isize * self.stride).cast::<T>().read_unaligned() }
    }

    /// # Safety
    ///
    /// As for [`BestFn`], for a block of contiguous elements that starts at `at`.
    #[inline(always)]
    unsafe fn block<T: Copy>(&self, at: usize) -> [T; BLOCK] {
        // SAFETY: by the contract of the caller.
        unsafe { self.start.wrapping_add(at * size_of::<T>()).cast::<[T; BLOCK]>().read_unaligned() }
    }
}

impl<T: Element, const GREATEST: bool> Held<T, GREATEST> {
    /// # Safety
    ///
    /// As for [`BestFn`] or [`BestRowsFn`], and `place` must be below the count.
    #[inline(always)]
    unsafe fn value(&self, place: usize, row: usize) -> T {
        // SAFETY: by the contract of the caller.
        unsafe { self.values.at::<T>(place, row).read_unaligned() }
    }

    /// Inserts an element, if it has a place: its index by the order in which zeros are equal, its value by the order of
    /// values.
    ///
    /// # Safety
    ///
    /// As for [`BestFn`] or [`BestRowsFn`].
    #[inline(always)]
    unsafe fn take(&self, row: usize, element: T, index: i64) {
        // SAFETY: places are below the count, or equal to it if that is below k.
        unsafe {
            let mut place = self.count;
            if element.is_plain() {
                let precedes = |other: T| if GREATEST { element > other } else { element < other };
                while place > 0 && precedes(self.value(place - 1, row)) {
                    place -= 1;
                    self.make_way::<i64>(self.indices, place, row);
                    self.make_way::<T>(self.values, place, row);
                }
                self.put(self.indices, place, row, index);
                self.put(self.values, place, row, element);
                return;
            }
            while place > 0 && element.beats::<GREATEST>(self.value(place - 1, row)) {
                place -= 1;
                self.make_way::<i64>(self.indices, place, row);
            }
            self.put(self.indices, place, row, index);
            let mut place = self.count;
            while place > 0 && element.exceeds::<GREATEST>(self.value(place - 1, row)) {
                place -= 1;
                self.make_way::<T>(self.values, place, row);
            }
            self.put(self.values, place, row, element.held());
        }
    }

    /// Writes to a place, if it exists.
    ///
    /// # Safety
    ///
    /// As for [`BestFn`] or [`BestRowsFn`].
    #[inline(always)]
    unsafe fn put<U: Copy>(&self, places: Places, place: usize, row: usize, what: U) {
        if place < self.k {
            // SAFETY: by the contract of the caller.
            unsafe { places.at::<U>(place, row).write_unaligned(what) };
        }
    }

    /// Moves the content of a place to the next place, if that exists.
    ///
    /// # Safety
    ///
    /// As for [`BestFn`] or [`BestRowsFn`], and `place` must be below the count.
    #[inline(always)]
    unsafe fn make_way<U: Copy>(&self, places: Places, place: usize, row: usize) {
        if place + 1 < self.k {
            // SAFETY: by the contract of the caller.
            unsafe {
                places.at::<U>(place + 1, row).write_unaligned(places.at::<U>(place, row).read_unaligned())
            };
        }
    }
}

/// # Safety
///
/// As for [`BestFn`].
#[inline(always)]
unsafe fn push<T: Element, const GREATEST: bool>(mut held: Held<T, GREATEST>, source: Source) {
    if held.k == 0 {
        return;
    }
    let is_dense = source.stride == size_of::<T>() as isize;
    let mut at = 0;
    // SAFETY: by the contract of the caller, elements below the count can be read, and those held can be written.
    unsafe {
        while at < source.count {
            let is_full = held.count == held.k;
            let blocks = if is_full && is_dense { (source.count - at) / BLOCK } else { 0 };
            if blocks >= BLOCKS {
                let last = held.value(held.k - 1, 0);
                let mut any = false;
                for block in 0..BLOCKS {
                    any |= T::may_beat::<GREATEST>(&source.block(at + block * BLOCK), last);
                }
                if !any {
                    at += BLOCKS * BLOCK;
                    continue;
                }
            }
            // Some of these may be better. They are compared block by block, because the last element held changes.
            let end = source.count.min(at + BLOCKS * BLOCK);
            while at < end {
                let stop = end.min(at + BLOCK);
                let is_whole = is_dense && held.count == held.k && stop - at == BLOCK;
                if !is_whole || T::may_beat::<GREATEST>(&source.block(at), held.value(held.k - 1, 0)) {
                    for index in at..stop {
                        let element = source.element::<T>(index);
                        let is_better =
                            held.count < held.k || element.exceeds::<GREATEST>(held.value(held.k - 1, 0));
                        if is_better {
                            held.take(0, element, source.first.wrapping_add(index as i64));
                            held.count = held.k.min(held.count + 1);
                        }
                    }
                }
                at = stop;
            }
        }
    }
}

/// Takes one element of each of several rows; the elements are contiguous and have the same index.
///
/// # Safety
///
/// As for [`BestRowsFn`].
#[inline(always)]
unsafe fn push_across<T: Element, const GREATEST: bool>(held: Held<T, GREATEST>, source: Source) {
    if held.k == 0 {
        return;
    }
    let index = source.first;
    // SAFETY: by the contract of the caller, elements below the count can be read, and those held can be written.
    unsafe {
        let is_full = held.count == held.k;
        let mut at = 0;
        while at < source.count {
            let end = source.count.min(at + ACROSS);
            let mut is_better = [0u8; ACROSS];
            if is_full {
                let last = held.values.at::<T>(held.k - 1, at);
                let elements = source.start.cast::<T>().wrapping_add(at);
                for (row, flag) in is_better[..end - at].iter_mut().enumerate() {
                    let element = elements.wrapping_add(row).read_unaligned();
                    let last = last.wrapping_add(row).read_unaligned();
                    *flag = u8::from(element.exceeds::<GREATEST>(last));
                }
            } else {
                // While places are free, every element gets one.
                is_better[..end - at].fill(1);
            }
            // Few elements are better, so 16 flags are tested at once.
            for (word, flags) in is_better.as_chunks::<16>().0.iter().enumerate() {
                let mut left = u128::from_le_bytes(*flags);
                while left != 0 {
                    let row = at + 16 * word + left.trailing_zeros() as usize / 8;
                    held.take(row, source.element(row), index);
                    left &= left - 1;
                }
            }
            at = end;
        }
    }
}
