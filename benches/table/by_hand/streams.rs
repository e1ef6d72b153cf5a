//! Loops whose results leave the caches before they are read: streaming stores do not read the lines that they write.

use super::{Level, Width};

/// `2.5 * x + y`.
pub fn axpy(level: Level, x: &[f32], y: &[f32], out: &mut [f32]) {
    assert!(x.len() == out.len() && y.len() == out.len());
    let usual = |places: std::ops::Range<usize>, out: &mut [f32]| {
        for at in places {
            out[at] = 2.5 * x[at] + y[at];
        }
    };
    let bytes = match level.0 {
        Width::Avx512 => 64,
        Width::Avx2 => 32,
        Width::Portable => return usual(0..out.len(), out),
    };
    let first = out.as_ptr().align_offset(bytes).min(out.len());
    let end = first + (out.len() - first) / 16 * 16;
    usual(0..first, out);
    usual(end..out.len(), out);
    let (x, y) = (&x[first..end], &y[first..end]);
    #[cfg(target_arch = "x86_64")]
    match level.0 {
        // SAFETY: `Level::detect` gives this width only where the CPU has these features. The first element is aligned to a
        // register, and there are as many elements of each as 16 divides.
        Width::Avx512 => unsafe { avx512(x, y, &mut out[first..end]) },
        // SAFETY: as above.
        Width::Avx2 => unsafe { avx2(x, y, &mut out[first..end]) },
        Width::Portable => {}
    }
}

/// # Safety
///
/// The CPU has AVX-512, and the results are aligned to 64 bytes. All slices are as long, and 16 divides that.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn avx512(x: &[f32], y: &[f32], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let factor = _mm512_set1_ps(2.5);
    for at in (0..out.len()).step_by(16) {
        // SAFETY: a whole register is left of each.
        unsafe {
            let x = _mm512_loadu_ps(x.as_ptr().add(at));
            let y = _mm512_loadu_ps(y.as_ptr().add(at));
            _mm512_stream_ps(out.as_mut_ptr().add(at), _mm512_add_ps(_mm512_mul_ps(factor, x), y));
        }
    }
    _mm_sfence();
}

/// # Safety
///
/// The CPU has AVX2, and the results are aligned to 32 bytes. All slices are as long, and 16 divides that.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2(x: &[f32], y: &[f32], out: &mut [f32]) {
    use std::arch::x86_64::*;
    let factor = _mm256_set1_ps(2.5);
    for at in (0..out.len()).step_by(8) {
        // SAFETY: a whole register is left of each.
        unsafe {
            let x = _mm256_loadu_ps(x.as_ptr().add(at));
            let y = _mm256_loadu_ps(y.as_ptr().add(at));
            _mm256_stream_ps(out.as_mut_ptr().add(at), _mm256_add_ps(_mm256_mul_ps(factor, x), y));
        }
    }
    _mm_sfence();
}
