//! The nearest of some codes to each row, in intrinsics: of the same loop over arrays of 16 floats, which LLVM has to
//! vectorise by itself, it made code that took 1.4 to 3 times as long.

use super::{Level, Width};

/// The nearest of `codes` to each of `obs`, rows of `D` numbers: the first of least distance. With `ROOT` the
/// distances are rooted before they are compared, which makes ties of what differed in the last bit.
pub fn nearest<const D: usize, const ROOT: bool>(level: Level, obs: &[f32], codes: &[f32], out: &mut [i64]) {
    match level.0 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` gives this width only where the CPU has these features.
        Width::Avx512 => unsafe { x86::nearest_avx512::<D, ROOT>(obs, codes, out) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Width::Avx2 => unsafe { x86::nearest_avx2::<D, ROOT>(obs, codes, out) },
        Width::Portable => nearest_portable::<D, ROOT>(obs, codes, out),
    }
}

/// Four rows at a time, of which LLVM makes a vector.
fn nearest_portable<const D: usize, const ROOT: bool>(obs: &[f32], codes: &[f32], out: &mut [i64]) {
    const LANES: usize = 4;
    let (codes, _) = codes.as_chunks::<D>();
    let whole = out.len() / LANES * LANES;
    let (blocks, rest) = out.split_at_mut(whole);
    for (obs, out) in obs.chunks_exact(LANES * D).zip(blocks.chunks_exact_mut(LANES)) {
        let columns: [[f32; LANES]; D] =
            std::array::from_fn(|d| std::array::from_fn(|lane| obs[lane * D + d]));
        let (mut best, mut index) = ([f32::INFINITY; LANES], [0i32; LANES]);
        for (at, code) in codes.iter().enumerate() {
            let mut distance = [0.0f32; LANES];
            for (code, column) in code.iter().zip(&columns) {
                for (distance, x) in distance.iter_mut().zip(column) {
                    *distance += (code - x) * (code - x);
                }
            }
            for lane in 0..LANES {
                let distance = if ROOT { distance[lane].sqrt() } else { distance[lane] };
                index[lane] = if distance < best[lane] { at as i32 } else { index[lane] };
                best[lane] = if distance < best[lane] { distance } else { best[lane] };
            }
        }
        for (out, index) in out.iter_mut().zip(index) {
            *out = i64::from(index);
        }
    }
    nearest_naive::<ROOT>(&obs[whole * D..], codes.as_flattened(), D, rest);
}

/// The loop one writes first: rows, codes, coordinates.
#[inline(never)]
pub fn nearest_naive<const ROOT: bool>(obs: &[f32], codes: &[f32], d: usize, out: &mut [i64]) {
    for (out, row) in out.iter_mut().zip(obs.chunks_exact(d)) {
        let (mut best, mut index) = (f32::INFINITY, 0);
        for (at, code) in codes.chunks_exact(d).enumerate() {
            let mut distance = 0.0;
            for (code, x) in code.iter().zip(row) {
                distance += (code - x) * (code - x);
            }
            let distance = if ROOT { distance.sqrt() } else { distance };
            if distance < best {
                (best, index) = (distance, at as i64);
            }
        }
        *out = index;
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::nearest_naive;
    use std::arch::x86_64::*;

    /// Two vectors of 16 rows in flight; with one or four it was 7% slower. Gathers instead of the scalar loads that
    /// bring coordinates into columns took three times as long.
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    pub fn nearest_avx512<const D: usize, const ROOT: bool>(obs: &[f32], codes: &[f32], out: &mut [i64]) {
        const VECTORS: usize = 2;
        const ROWS: usize = 16 * VECTORS;
        let (codes, _) = codes.as_chunks::<D>();
        let whole = out.len() / ROWS * ROWS;
        let (blocks, rest) = out.split_at_mut(whole);
        for (obs, out) in obs.chunks_exact(ROWS * D).zip(blocks.chunks_exact_mut(ROWS)) {
            let mut columns = [[_mm512_setzero_ps(); VECTORS]; D];
            for d in 0..D {
                for vector in 0..VECTORS {
                    let column: [f32; 16] = std::array::from_fn(|lane| obs[(vector * 16 + lane) * D + d]);
                    // SAFETY: the array has the 16 floats that are loaded.
                    columns[d][vector] = unsafe { _mm512_loadu_ps(column.as_ptr()) };
                }
            }
            let mut best = [_mm512_set1_ps(f32::INFINITY); VECTORS];
            let mut index = [_mm512_setzero_si512(); VECTORS];
            for (at, code) in codes.iter().enumerate() {
                let at = _mm512_set1_epi32(at as i32);
                for vector in 0..VECTORS {
                    let difference = _mm512_sub_ps(_mm512_set1_ps(code[0]), columns[0][vector]);
                    let mut distance = _mm512_mul_ps(difference, difference);
                    for d in 1..D {
                        let difference = _mm512_sub_ps(_mm512_set1_ps(code[d]), columns[d][vector]);
                        distance = _mm512_fmadd_ps(difference, difference, distance);
                    }
                    if ROOT {
                        distance = _mm512_sqrt_ps(distance);
                    }
                    let less = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(distance, best[vector]);
                    best[vector] = _mm512_min_ps(distance, best[vector]);
                    index[vector] = _mm512_mask_mov_epi32(index[vector], less, at);
                }
            }
            for (index, out) in index.into_iter().zip(out.chunks_exact_mut(16)) {
                let (low, high) = out.split_at_mut(8);
                let halves = [_mm512_castsi512_si256(index), _mm512_extracti64x4_epi64::<1>(index)];
                for (half, out) in halves.into_iter().zip([low, high]) {
                    // SAFETY: the slice has the eight integers that are stored.
                    unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), _mm512_cvtepi32_epi64(half)) };
                }
            }
        }
        nearest_naive::<ROOT>(&obs[whole * D..], codes.as_flattened(), D, rest);
    }

    /// The same with vectors of eight rows.
    #[target_feature(enable = "avx2,fma")]
    pub fn nearest_avx2<const D: usize, const ROOT: bool>(obs: &[f32], codes: &[f32], out: &mut [i64]) {
        const VECTORS: usize = 2;
        const ROWS: usize = 8 * VECTORS;
        let (codes, _) = codes.as_chunks::<D>();
        let whole = out.len() / ROWS * ROWS;
        let (blocks, rest) = out.split_at_mut(whole);
        for (obs, out) in obs.chunks_exact(ROWS * D).zip(blocks.chunks_exact_mut(ROWS)) {
            let mut columns = [[_mm256_setzero_ps(); VECTORS]; D];
            for d in 0..D {
                for vector in 0..VECTORS {
                    let column: [f32; 8] = std::array::from_fn(|lane| obs[(vector * 8 + lane) * D + d]);
                    // SAFETY: the array has the eight floats that are loaded.
                    columns[d][vector] = unsafe { _mm256_loadu_ps(column.as_ptr()) };
                }
            }
            let mut best = [_mm256_set1_ps(f32::INFINITY); VECTORS];
            let mut index = [_mm256_setzero_ps(); VECTORS];
            for (at, code) in codes.iter().enumerate() {
                let at = _mm256_castsi256_ps(_mm256_set1_epi32(at as i32));
                for vector in 0..VECTORS {
                    let difference = _mm256_sub_ps(_mm256_set1_ps(code[0]), columns[0][vector]);
                    let mut distance = _mm256_mul_ps(difference, difference);
                    for d in 1..D {
                        let difference = _mm256_sub_ps(_mm256_set1_ps(code[d]), columns[d][vector]);
                        distance = _mm256_fmadd_ps(difference, difference, distance);
                    }
                    if ROOT {
                        distance = _mm256_sqrt_ps(distance);
                    }
                    let less = _mm256_cmp_ps::<_CMP_LT_OQ>(distance, best[vector]);
                    best[vector] = _mm256_min_ps(distance, best[vector]);
                    index[vector] = _mm256_blendv_ps(index[vector], at, less);
                }
            }
            for (index, out) in index.into_iter().zip(out.chunks_exact_mut(8)) {
                let index = _mm256_castps_si256(index);
                let (low, high) = out.split_at_mut(4);
                let halves = [_mm256_castsi256_si128(index), _mm256_extracti128_si256::<1>(index)];
                for (half, out) in halves.into_iter().zip([low, high]) {
                    // SAFETY: the slice has the four integers that are stored.
                    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_cvtepi32_epi64(half)) };
                }
            }
        }
        nearest_naive::<ROOT>(&obs[whole * D..], codes.as_flattened(), D, rest);
    }
}
