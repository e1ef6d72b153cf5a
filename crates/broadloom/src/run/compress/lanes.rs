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

    /// Returns a bit for each of 16 elements of a mask.
    ///
    /// # Safety
    /// There are 16 bytes.
    #[inline(always)]
    unsafe fn bits_of_16(mask: *const u8) -> u32 {
        // SAFETY: by the contract of the caller; every x86-64 CPU has SSE2.
        unsafe {
            let bytes = _mm_loadu_si128(mask.cast());
            let are_false = _mm_cmpeq_epi8(bytes, _mm_setzero_si128());
            _mm_movemask_epi8(are_false) as u32 ^ 0xffff
        }
    }

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn move_32_avx512(
        mask: &[u8],
        from: *const u32,
        to: *mut u32,
        room: usize,
    ) -> (usize, usize) {
        let (mut index, mut place) = (0, 0);
        while index + 16 <= mask.len() && place + 16 <= room {
            // SAFETY: there are 16 elements at `index`, and there is room for 16 at `place`.
            unsafe {
                let bits = bits_of_16(mask.as_ptr().add(index));
                if bits != 0 {
                    let elements = _mm512_loadu_si512(from.add(index).cast());
                    let kept = _mm512_maskz_compress_epi32(bits as u16, elements);
                    _mm512_storeu_si512(to.add(place).cast(), kept);
                    place += bits.count_ones() as usize;
                }
            }
            index += 16;
        }
        (index, place)
    }

    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn move_64_avx512(
        mask: &[u8],
        from: *const u64,
        to: *mut u64,
        room: usize,
    ) -> (usize, usize) {
        let (mut index, mut place) = (0, 0);
        while index + 16 <= mask.len() && place + 16 <= room {
            // SAFETY: as above.
            unsafe {
                let bits = bits_of_16(mask.as_ptr().add(index));
                for half in 0..2 {
                    let own = (bits >> (8 * half)) as u8;
                    let elements = _mm512_loadu_si512(from.add(index + 8 * half).cast());
                    let kept = _mm512_maskz_compress_epi64(own, elements);
                    _mm512_storeu_si512(to.add(place).cast(), kept);
                    place += own.count_ones() as usize;
                }
            }
            index += 16;
        }
        (index, place)
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

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn move_32_avx2(
        mask: &[u8],
        from: *const u32,
        to: *mut u32,
        room: usize,
    ) -> (usize, usize) {
        let (mut index, mut place) = (0, 0);
        while index + 16 <= mask.len() && place + 16 <= room {
            // SAFETY: as above.
            unsafe {
                let bits = bits_of_16(mask.as_ptr().add(index));
                for half in 0..2 {
                    let own = bits >> (8 * half) & 0xff;
                    let order = _mm_loadl_epi64(FIRST_OF_8[own as usize].as_ptr().cast());
                    let elements = _mm256_loadu_si256(from.add(index + 8 * half).cast());
                    let kept = _mm256_permutevar8x32_epi32(elements, _mm256_cvtepu8_epi32(order));
                    _mm256_storeu_si256(to.add(place).cast(), kept);
                    place += own.count_ones() as usize;
                }
            }
            index += 16;
        }
        (index, place)
    }

    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn move_64_avx2(
        mask: &[u8],
        from: *const u64,
        to: *mut u64,
        room: usize,
    ) -> (usize, usize) {
        let (mut index, mut place) = (0, 0);
        while index + 16 <= mask.len() && place + 16 <= room {
            // SAFETY: as above.
            unsafe {
                let bits = bits_of_16(mask.as_ptr().add(index));
                for quarter in 0..4 {
                    let own = bits >> (4 * quarter) & 0xf;
                    // An element of 64 bits is two of 32.
                    let order = _mm_loadl_epi64(FIRST_OF_8[own as usize].as_ptr().cast());
                    let pairs = _mm256_cvtepu8_epi64(order);
                    let low = _mm256_add_epi64(pairs, pairs);
                    let high = _mm256_add_epi64(low, _mm256_set1_epi64x(1));
                    let order = _mm256_or_si256(low, _mm256_slli_epi64(high, 32));
                    let elements = _mm256_loadu_si256(from.add(index + 4 * quarter).cast());
                    let kept = _mm256_permutevar8x32_epi32(elements, order);
                    _mm256_storeu_si256(to.add(place).cast(), kept);
                    place += own.count_ones() as usize;
                }
            }
            index += 16;
        }
        (index, place)
    }
}
