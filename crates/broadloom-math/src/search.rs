//! Binary search of several values at once in a sorted row: like tiles, these are loops that compiled kernels call.
//!
//! ```text
//! values ──rank──▶ 16 ranges of places, halved together without branches ──▶ places
//! ```
//!
//! Neighbouring values take different ways through the row, so a branch would be wrong half of the time, and a search alone
//! would wait for each of its loads. AVX-512 gathers the elements of a row that lie side by side.
#![allow(unsafe_code, reason = "entry points called by compiled kernels")]

use crate::element::ElementType;
use crate::level::CpuLevel;
use crate::order::{Element, OfElements, of_elements};
use std::hint::select_unpredictable;

/// The entry point of a search: writes for each of `len` values how many of the `count` elements of a sorted row are less than
/// it, or less than or equal to it. Element `i` of the row is `i * stride` bytes after `table`; values are side by side. Nothing
/// needs alignment.
///
/// The range of places starts as `0..=count` and is halved at `first + (last - first) / 2`, rounded down, until one place
/// is left. This defines the result for rows that are not sorted, too: it is the same on every machine. Zeros are equal,
/// and NaN is above all numbers.
///
/// # Safety
///
/// The elements of the table must be valid for reads, `values` for reads of `len` elements, and `places` for writes of as many.
/// The CPU must support the level for which [`search_function`] returned the pointer.
pub type SearchFn = unsafe extern "C" fn(
    places: *mut i64,
    table: *const u8,
    stride: isize,
    count: usize,
    values: *const u8,
    len: usize,
);

/// Returns the search for elements of a type: for the place after equal elements (`right`), or before them.
pub fn search_function(of: ElementType, right: bool, level: CpuLevel) -> SearchFn {
    of_elements(of, Searches { right, level })
}

/// The searches of a level.
struct Searches {
    right: bool,
    level: CpuLevel,
}

impl OfElements for Searches {
    type Function = SearchFn;

    fn of<E: Element>(self) -> SearchFn {
        #[cfg(target_arch = "x86_64")]
        if self.level == CpuLevel::Avx512 && self.level.is_supported() {
            match (size_of::<E::Bits>(), self.right) {
                (4, false) => return gathered::words::<E, false>,
                (4, true) => return gathered::words::<E, true>,
                (8, false) => return gathered::longs::<E, false>,
                (8, true) => return gathered::longs::<E, true>,
                _ => {}
            }
        }
        if self.right { portable::<E, true> } else { portable::<E, false> }
    }
}

/// The values that are searched together.
const TOGETHER: usize = 8;

/// # Safety
///
/// As for [`SearchFn`].
unsafe extern "C" fn portable<E: Element, const RIGHT: bool>(
    places: *mut i64,
    table: *const u8,
    stride: isize,
    count: usize,
    values: *const u8,
    len: usize,
) {
    let values = values.cast::<E::Bits>();
    for start in (0..len).step_by(TOGETHER) {
        // Lanes beyond the values search for the last one once more.
        let wanted: [E::Bits; TOGETHER] = std::array::from_fn(|lane| {
            // SAFETY: by the contract of the caller; the place is below `len`.
            E::rank(unsafe { values.add((start + lane).min(len - 1)).read_unaligned() })
        });
        let (mut first, mut left) = ([0_usize; TOGETHER], [count; TOGETHER]);
        // The longer part of a range of `left` places has half of them, so it is empty after as many halvings as `count` has
        // bits.
        for _ in 0..usize::BITS - count.leading_zeros() {
            for ((first, left), wanted) in first.iter_mut().zip(&mut left).zip(&wanted) {
                let half = *left / 2;
                let is_open = *left > 0;
                // An empty range may be at the end of the table.
                let middle = (*first + half).min(count - 1);
                // SAFETY: by the contract of the caller; `middle` is below `count`, which is not 0.
                let bits = unsafe {
                    table.offset(stride.wrapping_mul(middle as isize)).cast::<E::Bits>().read_unaligned()
                };
                let rank = E::rank(bits);
                let is_after = is_open & if RIGHT { rank <= *wanted } else { rank < *wanted };
                *first = select_unpredictable(is_after, middle + 1, *first);
                *left = select_unpredictable(is_after, left.wrapping_sub(half + 1), half);
            }
        }
        for (lane, first) in first.iter().enumerate().take(len - start) {
            // SAFETY: by the contract of the caller; the sum is below `len`.
            unsafe { places.add(start + lane).write_unaligned(*first as i64) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod gathered {
    use super::{Element, portable};
    use crate::order::Kind;
    use std::arch::x86_64::*;

    /// The bytes of a register.
    const REGISTER: usize = 64;
    /// The registers of values that are searched together, so that none waits for its loads.
    const TOGETHER: usize = 4;

    macro_rules! gathered {
        (
            $name:ident, $block:ident, $rank:ident, $int:ty, $mask:ty, $load:ident, $gather:ident, $splat:ident, $add:ident, $add_where:ident,
            $subtract_where:ident, $shift:ident, $sign:ident, $test:ident, $equal:ident, $greater:ident, $less:ident,
            $less_equal:ident, $keep:ident, |$first:ident, $used:ident, $places:ident| $store:expr
        ) => {
            /// The ranks of elements, which compare as unsigned integers.
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
            fn $rank<E: Element>(bits: __m512i) -> __m512i {
                let sign = $splat(<$int>::MIN);
                match E::KIND {
                    Kind::Unsigned => bits,
                    Kind::Signed => _mm512_xor_si512(bits, sign),
                    Kind::Float { infinity } => {
                        let flips = _mm512_or_si512($sign::<{ <$int>::BITS - 1 }>(bits), sign);
                        let key = _mm512_xor_si512(bits, flips);
                        let magnitude = _mm512_andnot_si512(sign, bits);
                        let key = $keep(key, $equal(magnitude, _mm512_setzero_si512()), sign);
                        $keep(key, $greater(magnitude, $splat(infinity as $int)), $splat(-1))
                    }
                }
            }

            /// # Safety
            ///
            /// As for [`SearchFn`](super::SearchFn).
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
            pub(super) unsafe extern "C" fn $name<E: Element, const RIGHT: bool>(
                places: *mut i64,
                table: *const u8,
                stride: isize,
                count: usize,
                values: *const u8,
                len: usize,
            ) {
                const LANES: usize = REGISTER / size_of::<$int>();
                if stride != size_of::<$int>() as isize || count > i32::MAX as usize {
                    // SAFETY: by the contract of the caller.
                    return unsafe { portable::<E, RIGHT>(places, table, stride, count, values, len) };
                }
                let mut start = 0;
                while start < len {
                    let (places, values) =
                        (places.wrapping_add(start), values.cast::<$int>().wrapping_add(start));
                    let (table, rest) = (table.cast::<$int>(), len - start);
                    let registers = rest.div_ceil(LANES).min(TOGETHER);
                    // SAFETY: by the contract of the caller.
                    unsafe {
                        match registers {
                            1 => $block::<E, RIGHT, 1>(places, table, count, values, rest),
                            2 => $block::<E, RIGHT, 2>(places, table, count, values, rest),
                            _ => $block::<E, RIGHT, TOGETHER>(places, table, count, values, rest),
                        }
                    }
                    start += TOGETHER * LANES;
                }
            }

            /// Searches the values of some registers together, or fewer if there are no more.
            ///
            /// # Safety
            ///
            /// As for [`SearchFn`](super::SearchFn).
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
            unsafe fn $block<E: Element, const RIGHT: bool, const REGISTERS: usize>(
                places: *mut i64,
                table: *const $int,
                count: usize,
                values: *const $int,
                len: usize,
            ) {
                const LANES: usize = REGISTER / size_of::<$int>();
                let one = $splat(1);
                let used: [$mask; REGISTERS] = std::array::from_fn(|register| {
                    let beyond = ((register + 1) * LANES).saturating_sub(len);
                    <$mask>::MAX.checked_shr(beyond as u32).unwrap_or(0)
                });
                let mut wanted = [one; REGISTERS];
                for (register, wanted) in wanted.iter_mut().enumerate() {
                    let from = values.wrapping_add(register * LANES);
                    // SAFETY: by the contract of the caller; lanes from `len` on are not read.
                    *wanted = $rank::<E>(unsafe { $load(used[register], from) });
                }
                let mut first = [_mm512_setzero_si512(); REGISTERS];
                let mut left = [$splat(count as $int); REGISTERS];
                for _ in 0..usize::BITS - count.leading_zeros() {
                    for register in 0..REGISTERS {
                        let half = $shift::<1>(left[register]);
                        let middle = $add(first[register], half);
                        let open = $test(left[register], left[register]);
                        let bits =
                            // SAFETY: by the contract of the caller; in lanes that are read, `middle` is below `count`.
                            unsafe { $gather::<{ size_of::<$int>() as i32 }>(one, open, middle, table) };
                        let rank = $rank::<E>(bits);
                        let is_after = match RIGHT {
                            true => $less_equal(open, rank, wanted[register]),
                            false => $less(open, rank, wanted[register]),
                        };
                        first[register] = $add_where(first[register], is_after, middle, one);
                        left[register] = $subtract_where(half, is_after, left[register], $add(half, one));
                    }
                }
                for register in 0..REGISTERS {
                    let ($first, $used) = (first[register], used[register]);
                    let $places = places.wrapping_add(register * LANES);
                    // SAFETY: by the contract of the caller; lanes from `len` on are not written.
                    unsafe { $store };
                }
            }
        };
    }

    gathered! {
        words, block_of_words, rank_of_words, i32, __mmask16, _mm512_maskz_loadu_epi32, _mm512_mask_i32gather_epi32, _mm512_set1_epi32,
        _mm512_add_epi32, _mm512_mask_add_epi32, _mm512_mask_sub_epi32, _mm512_srli_epi32, _mm512_srai_epi32,
        _mm512_test_epi32_mask, _mm512_cmpeq_epi32_mask, _mm512_cmpgt_epu32_mask, _mm512_mask_cmplt_epu32_mask,
        _mm512_mask_cmple_epu32_mask, _mm512_mask_mov_epi32,
        |first, used, places| {
            let [low, high] = [_mm512_castsi512_si256(first), _mm512_extracti64x4_epi64::<1>(first)];
            _mm512_mask_storeu_epi64(places, used as u8, _mm512_cvtepu32_epi64(low));
            _mm512_mask_storeu_epi64(places.wrapping_add(8), (used >> 8) as u8, _mm512_cvtepu32_epi64(high));
        }
    }

    gathered! {
        longs, block_of_longs, rank_of_longs, i64, __mmask8, _mm512_maskz_loadu_epi64, _mm512_mask_i64gather_epi64, _mm512_set1_epi64,
        _mm512_add_epi64, _mm512_mask_add_epi64, _mm512_mask_sub_epi64, _mm512_srli_epi64, _mm512_srai_epi64,
        _mm512_test_epi64_mask, _mm512_cmpeq_epi64_mask, _mm512_cmpgt_epu64_mask, _mm512_mask_cmplt_epu64_mask,
        _mm512_mask_cmple_epu64_mask, _mm512_mask_mov_epi64,
        |first, used, places| _mm512_mask_storeu_epi64(places, used, first)
    }
}
