//! Moves the selected elements of a block with the vectors that the CPU has.
#![allow(unsafe_code, reason = "elements of any dtype are moved by their number of bytes")]

use broadloom_jit::CpuLevel;

/// Moves the rows of `width` bytes at which a mask holds, to the front of `to`. Returns how many there are, up to `room`.
///
/// # Safety
/// At `from` there is a row for each element of the mask, and at `to` room for `room` rows. Neither has to be aligned. The CPU
/// has the instructions of the level.
pub(in crate::run) unsafe fn move_rows(
    level: CpuLevel,
    mask: &[u8],
    from: *const u8,
    width: usize,
    to: *mut u8,
    room: usize,
) -> usize {
    // SAFETY: by the contract of the caller; what is left of the mask after whole vectors has its rows from `seen` on.
    unsafe {
        let (seen, moved) = move_vectors(level, mask, from, width, to, room);
        let (from, to) = (from.add(seen * width), to.add(moved * width));
        let (mask, room) = (&mask[seen..], room - moved);
        moved
            + match width {
                1 => move_elements::<u8>(mask, from.cast(), to.cast(), room),
                2 => move_elements::<u16>(mask, from.cast(), to.cast(), room),
                4 => move_elements::<u32>(mask, from.cast(), to.cast(), room),
                8 => move_elements::<u64>(mask, from.cast(), to.cast(), room),
                _ => move_wide(mask, from, width, to, room),
            }
    }
}

/// Moves elements as long as whole vectors fit. Returns how many elements of the mask it has seen, and how many it has moved.
///
/// # Safety
/// As that of [`move_rows`].
unsafe fn move_vectors(
    level: CpuLevel,
    mask: &[u8],
    from: *const u8,
    width: usize,
    to: *mut u8,
    room: usize,
) -> (usize, usize) {
    match (level, width) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: by the contract of the caller.
        (CpuLevel::Avx512, 4) => unsafe { x86::move_32_avx512(mask, from.cast(), to.cast(), room) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (CpuLevel::Avx512, 8) => unsafe { x86::move_64_avx512(mask, from.cast(), to.cast(), room) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (CpuLevel::Avx2Fma, 4) => unsafe { x86::move_32_avx2(mask, from.cast(), to.cast(), room) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        (CpuLevel::Avx2Fma, 8) => unsafe { x86::move_64_avx2(mask, from.cast(), to.cast(), room) },
        _ => (0, 0),
    }
}

/// Writes the positions of the true elements of a mask, the first of which is at `first`. Returns how many there are, up to
/// `room`.
///
/// # Safety
/// At `to` there is room for `room` elements.
pub(in crate::run) unsafe fn write_positions(mask: &[u8], first: i64, to: *mut i64, room: usize) -> usize {
    select(mask, room, |index, place| {
        // SAFETY: `place` is below `room`.
        unsafe { to.add(place).write_unaligned(first + index as i64) };
    })
}

/// # Safety
/// As that of [`move_rows`].
unsafe fn move_elements<T: Copy>(mask: &[u8], from: *const T, to: *mut T, room: usize) -> usize {
    select(mask, room, |index, place| {
        // SAFETY: `index` is below the length of the mask, and `place` below `room`.
        unsafe { to.add(place).write_unaligned(from.add(index).read_unaligned()) };
    })
}

/// # Safety
/// As that of [`move_rows`].
unsafe fn move_wide(mask: &[u8], from: *const u8, width: usize, to: *mut u8, room: usize) -> usize {
    let mut moved = 0;
    for (index, _) in mask.iter().enumerate().filter(|(_, byte)| **byte != 0).take(room) {
        // SAFETY: by the contract of the caller.
        unsafe { std::ptr::copy_nonoverlapping(from.add(index * width), to.add(moved * width), width) };
        moved += 1;
    }
    moved
}

/// Calls `write` with a position in the mask, and a place below `room` for each: the last call for a place has the position
/// of the true element that belongs there. Returns how many there are, up to `room`.
#[inline(always)]
fn select(mask: &[u8], room: usize, write: impl Fn(usize, usize)) -> usize {
    let (mut place, mut index) = (0, 0);
    for word in mask.chunks_exact(8) {
        if place + 8 > room {
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
        if place == room {
            break;
        }
        write(index, place);
        place += usize::from(*byte != 0);
    }
    place
}

/// Each function returns how many elements of the mask it has seen, and how many it has moved; it stops where a whole vector no
/// longer fits.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// Returns a bit for each of 64 elements of a mask.
    ///
    /// # Safety
    /// There are 64 bytes.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    unsafe fn bits_of_64(mask: *const u8) -> u64 {
        // SAFETY: by the contract of the caller.
        let bytes = unsafe { _mm512_loadu_si512(mask.cast()) };
        _mm512_test_epi8_mask(bytes, bytes)
    }

    /// Returns a bit for each of 32 elements of a mask.
    ///
    /// # Safety
    /// There are 32 bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn bits_of_32(mask: *const u8) -> u64 {
        // SAFETY: by the contract of the caller.
        let bytes = unsafe { _mm256_loadu_si256(mask.cast()) };
        let are_false = _mm256_cmpeq_epi8(bytes, _mm256_setzero_si256());
        u64::from(!_mm256_movemask_epi8(are_false).cast_unsigned())
    }

    /// The number of elements of a mask that are passed over together if none is true.
    const STRETCH: usize = 512;

    /// Returns whether no element is true.
    #[inline(always)]
    fn is_false(stretch: &[u8; STRETCH]) -> bool {
        stretch.iter().fold(0, |all, byte| all | byte) == 0
    }

    /// For each choice of 8 elements, which of them come first.
    static FIRST_OF_8: [[u8; 8]; 256] = {
        let mut table = [[0; 8]; 256];
        let mut bits = 0;
        while bits < 256 {
            let (mut place, mut lane) = (0, 0);
            while lane < 8 {
                if bits >> lane & 1 == 1 {
                    table[bits][place] = lane as u8;
                    place += 1;
                }
                lane += 1;
            }
            bits += 1;
        }
        table
    };

    /// Defines functions that read some elements of a mask at a time, and move theirs in vectors of some lanes: `kept` takes the
    /// bits of the lanes that are kept and the address of the elements, and gives a vector that begins with them.
    macro_rules! movers {
        ($($name:ident: $feature:literal, $count:literal by $bits_of:ident, $lanes:literal lanes of $element:ty, $store:ident, |$bits:ident, $from:ident| $kept:expr;)*) => {
            $(
                #[target_feature(enable = $feature)]
                pub(super) unsafe fn $name(
                    mask: &[u8],
                    from: *const $element,
                    to: *mut $element,
                    room: usize,
                ) -> (usize, usize) {
                    let (mut index, mut place) = (0, 0);
                    while index + $count <= mask.len() && place + $count <= room {
                        // Long stretches of a mask are often false. A test of fewer elements would often be guessed wrong.
                        if mask[index..].first_chunk().is_some_and(|stretch: &[u8; STRETCH]| is_false(stretch)) {
                            index += STRETCH;
                            continue;
                        }
                        let end = mask.len().min(index + STRETCH);
                        while index + $count <= end && place + $count <= room {
                            // SAFETY: there are so many elements at `index`, and there is room for as many at `place`.
                            unsafe {
                                let bits = $bits_of(mask.as_ptr().add(index));
                                for vector in 0..$count / $lanes {
                                    let $bits = bits >> ($lanes * vector) & ((1 << $lanes) - 1);
                                    let $from = from.add(index + $lanes * vector);
                                    $store(to.add(place).cast(), $kept);
                                    place += $bits.count_ones() as usize;
                                }
                            }
                            index += $count;
                        }
                    }
                    (index, place)
                }
            )*
        };
    }

    movers! {
        move_32_avx512: "avx512f,avx512bw,popcnt", 64 by bits_of_64, 16 lanes of u32, _mm512_storeu_si512, |bits, from| {
            _mm512_maskz_compress_epi32(bits as u16, _mm512_loadu_si512(from.cast()))
        };
        move_64_avx512: "avx512f,avx512bw,popcnt", 64 by bits_of_64, 8 lanes of u64, _mm512_storeu_si512, |bits, from| {
            _mm512_maskz_compress_epi64(bits as u8, _mm512_loadu_si512(from.cast()))
        };
        move_32_avx2: "avx2,popcnt", 32 by bits_of_32, 8 lanes of u32, _mm256_storeu_si256, |bits, from| {
            let order = _mm_loadl_epi64(FIRST_OF_8[bits as usize].as_ptr().cast());
            _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from.cast()), _mm256_cvtepu8_epi32(order))
        };
        move_64_avx2: "avx2,popcnt", 32 by bits_of_32, 4 lanes of u64, _mm256_storeu_si256, |bits, from| {
            // An element of 64 bits is two of 32.
            let order = _mm_loadl_epi64(FIRST_OF_8[bits as usize].as_ptr().cast());
            let pairs = _mm256_cvtepu8_epi64(order);
            let low = _mm256_add_epi64(pairs, pairs);
            let high = _mm256_add_epi64(low, _mm256_set1_epi64x(1));
            let order = _mm256_or_si256(low, _mm256_slli_epi64(high, 32));
            _mm256_permutevar8x32_epi32(_mm256_loadu_si256(from.cast()), order)
        };
    }
}
