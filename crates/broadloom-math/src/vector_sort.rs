//! Sorts of unsigned integers in place by vectors of AVX-512.
//!
//! ```text
//! many ──▶ less than a pivot | others, by compressed stores, again and again ──▶ few ──▶ a network over 16 registers
//! ```
//!
//! The partition is that of B. Bramas, "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel Skylake" (2017);
//! the network is K. E. Batcher's bitonic one, "Sorting networks and their applications" (1968).
#![allow(unsafe_code, reason = "vectors are loaded and stored by pointers into a slice")]

use crate::digits;
use crate::level::CpuLevel;
use crate::stop::{PART, Stop};
use std::arch::x86_64::*;

/// Returns whether this CPU has the instructions of the sorts: those of its level, and a count of bits.
pub(crate) fn is_supported() -> bool {
    CpuLevel::Avx512.is_supported() && std::arch::is_x86_feature_detected!("popcnt")
}

/// The registers that the network sorts.
const REGISTERS: usize = 16;

/// The vectors that are parted at once.
const UNROLLED: usize = 4;

/// The lanes that keep the greater element in a stage that compares lanes at a distance of `by` in runs of `run` lanes, every
/// second one of which descends.
const fn greater_of_runs(by: usize, run: usize) -> u32 {
    let (mut mask, mut lane) = (0, 0);
    while lane < 16 {
        if (lane & by != 0) != (lane & run != 0) {
            mask |= 1 << lane;
        }
        lane += 1;
    }
    mask
}

macro_rules! vector_sort {
    (
        $module:ident, $int:ty, $lanes:literal, $mask:ty, $load:ident, $load_where:ident, $store_where:ident,
        $splat:ident, $least:ident, $greatest:ident, $less:ident, $blend:ident, $permute:ident, $compress:ident,
        [$($by:literal of $run:literal),*], [$($merged:literal),*]
    ) => {
        pub(crate) mod $module {
            use super::*;

            const LANES: usize = $lanes;

            /// The lane with which each lane of a stage is compared: the one whose number differs in the bits of `by`.
            const fn partners(by: $int) -> [$int; LANES] {
                let mut partners = [0; LANES];
                let mut lane = 0;
                while lane < LANES {
                    partners[lane] = lane as $int ^ by;
                    lane += 1;
                }
                partners
            }

            /// Sorts a slice. Returns `None` if it was stopped.
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            pub(crate) fn sort(keys: &mut [$int], stop: &Stop<'_>) -> Option<()> {
                // Bad pivots are so rare that a deeper stack means keys made for it.
                sort_part(keys, 2 * (usize::BITS - keys.len().leading_zeros()), stop)
            }

            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn sort_part(mut keys: &mut [$int], mut depth: u32, stop: &Stop<'_>) -> Option<()> {
                loop {
                    if keys.len() <= LANES * REGISTERS {
                        sort_few(keys);
                        return Some(());
                    }
                    if depth == 0 {
                        return digits::sort(keys, stop, &|keys: &mut [$int]| keys.sort_unstable());
                    }
                    depth -= 1;
                    let pivot = pivot(keys);
                    let Parted { less, has_greater } = part(keys, pivot, stop)?;
                    if !has_greater {
                        // What is not less than the pivot is equal to it.
                        keys = &mut keys[..less];
                    } else if less == 0 {
                        // Neither are the keys that are equal to the pivot sorted again.
                        let Parted { less, .. } = part(keys, pivot + 1, stop)?;
                        keys = &mut keys[less..];
                    } else {
                        let (left, right) = keys.split_at_mut(less);
                        sort_part(right, depth, stop)?;
                        keys = left;
                    }
                }
            }

            /// The middle of some keys from all over the slice.
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn pivot(keys: &[$int]) -> $int {
                let step = keys.len() / (LANES * 4);
                let mut sample: [$int; LANES * 4] = std::array::from_fn(|at| keys[at * step + step / 2]);
                sort_few(&mut sample);
                sample[LANES * 2]
            }

            struct Parted {
                less: usize,
                has_greater: bool,
            }

            /// Moves the keys that are less than the pivot to the front. Returns how many they are, and whether any is greater; `None`
            /// if it was stopped, which leaves other keys.
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn part(keys: &mut [$int], pivot: $int, stop: &Stop<'_>) -> Option<Parted> {
                const BLOCK: usize = LANES * UNROLLED;
                let start = keys.as_mut_ptr();
                // SAFETY: each is of keys between `from` and `to`, of which there are whole blocks.
                let block = |at: usize| unsafe {
                    std::array::from_fn::<__m512i, UNROLLED, _>(|vector| $load(start.add(at + vector * LANES).cast()))
                };
                let all = [<$mask>::MAX; UNROLLED];
                // What is beyond whole blocks, and a block at each end, is read ahead, so that there is room for a block on
                // either side.
                let odd = keys.len() % BLOCK;
                let (mut from, mut to) = (odd, keys.len());
                let mut ahead = [([$splat(0); UNROLLED], [0; UNROLLED]); 3];
                let mut waiting = 0;
                for (vector, keys) in keys[..odd].chunks(LANES).enumerate() {
                    let used = <$mask>::MAX >> (LANES - keys.len());
                    // SAFETY: lanes beyond the keys are not read.
                    let keys = unsafe { $load_where($splat(0), used, keys.as_ptr().cast()) };
                    (ahead[0].0[vector], ahead[0].1[vector], waiting) = (keys, used, 1);
                }
                if from < to {
                    ahead[waiting] = (block(from), all);
                    (from, waiting) = (from + BLOCK, waiting + 1);
                }
                if from < to {
                    to -= BLOCK;
                    ahead[waiting] = (block(to), all);
                    waiting += 1;
                }
                let pivots = $splat(pivot.cast_signed());
                let mut greater: $mask = 0;
                // Keys are written after `first` and before `end`.
                let (mut first, mut end) = (0, keys.len());
                loop {
                    // One choice for several vectors: the next loads wait for it, and it waits for the counts of these.
                    let (vectors, used) = if from < to {
                        let is_left = from - first <= end - to;
                        let vectors = block(if is_left { from } else { to - BLOCK });
                        (from, to) = if is_left { (from + BLOCK, to) } else { (from, to - BLOCK) };
                        if to - from >= PART && (to - from) % PART < BLOCK && stop.is_due() {
                            return None;
                        }
                        (vectors, all)
                    } else if waiting > 0 {
                        waiting -= 1;
                        ahead[waiting]
                    } else {
                        break;
                    };
                    for (vector, used) in vectors.into_iter().zip(used) {
                        greater |= $less(pivots, vector) & used;
                        let is_less = $less(vector, pivots);
                        let (left, right) = (is_less & used, !is_less & used);
                        let [less, others] = [left, right].map(|mask| mask.count_ones() as usize);
                        end -= others;
                        // SAFETY: the keys that were at these places have been read.
                        unsafe {
                            let (left, right) = ($compress(left, vector), $compress(right, vector));
                            $store_where(start.add(first).cast(), ((1_u32 << less) - 1) as $mask, left);
                            $store_where(start.add(end).cast(), ((1_u32 << others) - 1) as $mask, right);
                        }
                        first += less;
                    }
                }
                Some(Parted { less: first, has_greater: greater != 0 })
            }

            /// Sorts as many keys as the registers of the network hold.
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn sort_few(keys: &mut [$int]) {
                match keys.len().div_ceil(LANES) {
                    0 => {}
                    1 => sort_in_registers::<1>(keys),
                    2 => sort_in_registers::<2>(keys),
                    3..=4 => sort_in_registers::<4>(keys),
                    5..=8 => sort_in_registers::<8>(keys),
                    _ => sort_in_registers::<REGISTERS>(keys),
                }
            }

            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn sort_in_registers<const COUNT: usize>(keys: &mut [$int]) {
                debug_assert!(keys.len() <= COUNT * LANES);
                let (start, len) = (keys.as_mut_ptr(), keys.len());
                let used = |register: usize| {
                    let beyond = ((register + 1) * LANES).saturating_sub(len);
                    <$mask>::MAX.checked_shr(beyond as u32).unwrap_or(0)
                };
                // What is beyond the keys is not less than any of them, and stays behind them.
                let mut registers = [$splat(-1); COUNT];
                for (register, vector) in registers.iter_mut().enumerate() {
                    // SAFETY: lanes beyond the keys are not read.
                    *vector = unsafe {
                        $load_where(*vector, used(register), start.wrapping_add(register * LANES).cast())
                    };
                }
                for vector in &mut registers {
                    $(*vector = {
                        const PARTNERS: [$int; LANES] = partners($by);
                        exchanged(*vector, PARTNERS, greater_of_runs($by, $run) as $mask)
                    };)*
                }
                let mut sorted = 1;
                while sorted < COUNT {
                    for runs in registers.chunks_exact_mut(2 * sorted) {
                        merge(runs);
                    }
                    sorted *= 2;
                }
                for (register, vector) in registers.into_iter().enumerate() {
                    // SAFETY: lanes beyond the keys are not written.
                    unsafe { $store_where(start.wrapping_add(register * LANES).cast(), used(register), vector) };
                }
            }

            /// Each lane compared with its partner: those of the mask keep the greater element, the others the less.
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn exchanged(vector: __m512i, partners: [$int; LANES], greater: $mask) -> __m512i {
                // SAFETY: the array is as long as a register.
                let partners = unsafe { $load(partners.as_ptr().cast()) };
                let other = $permute(partners, vector);
                $blend(greater, $least(vector, other), $greatest(vector, other))
            }

            /// Merges two ascending runs of registers, each half of them.
            #[inline]
            #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,popcnt")]
            fn merge(registers: &mut [__m512i]) {
                const REVERSED: [$int; LANES] = partners(LANES as $int - 1);
                // SAFETY: the array is as long as a register.
                let reversed = unsafe { $load(REVERSED.as_ptr().cast()) };
                let half = registers.len() / 2;
                let (low, high) = registers.split_at_mut(half);
                high.reverse();
                for (low, high) in low.iter_mut().zip(high) {
                    let other = $permute(reversed, *high);
                    (*low, *high) = ($least(*low, other), $greatest(*low, other));
                }
                // Both halves are bitonic now.
                let mut distance = half / 2;
                while distance > 0 {
                    for run in registers.chunks_exact_mut(2 * distance) {
                        let (low, high) = run.split_at_mut(distance);
                        for (low, high) in low.iter_mut().zip(high) {
                            (*low, *high) = ($least(*low, *high), $greatest(*low, *high));
                        }
                    }
                    distance /= 2;
                }
                for vector in registers {
                    $(*vector = {
                        const PARTNERS: [$int; LANES] = partners($merged);
                        exchanged(*vector, PARTNERS, greater_of_runs($merged, LANES) as $mask)
                    };)*
                }
            }
        }
    };
}

vector_sort! {
    of_words, u32, 16, __mmask16, _mm512_loadu_epi32, _mm512_mask_loadu_epi32, _mm512_mask_storeu_epi32,
    _mm512_set1_epi32, _mm512_min_epu32, _mm512_max_epu32, _mm512_cmplt_epu32_mask, _mm512_mask_blend_epi32,
    _mm512_permutexvar_epi32, _mm512_maskz_compress_epi32,
    [1 of 2, 2 of 4, 1 of 4, 4 of 8, 2 of 8, 1 of 8, 8 of 16, 4 of 16, 2 of 16, 1 of 16], [8, 4, 2, 1]
}

vector_sort! {
    of_longs, u64, 8, __mmask8, _mm512_loadu_epi64, _mm512_mask_loadu_epi64, _mm512_mask_storeu_epi64,
    _mm512_set1_epi64, _mm512_min_epu64, _mm512_max_epu64, _mm512_cmplt_epu64_mask, _mm512_mask_blend_epi64,
    _mm512_permutexvar_epi64, _mm512_maskz_compress_epi64,
    [1 of 2, 2 of 4, 1 of 4, 4 of 8, 2 of 8, 1 of 8], [4, 2, 1]
}
