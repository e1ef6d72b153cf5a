//! Elements that a comparison selects, by compress-store; positions; distinct integers.

use super::{Level, Width};

/// The elements below a number, in a new vector.
pub fn selected(level: Level, x: &[f32], below: f32) -> Vec<f32> {
    let mut kept: Vec<f32> = Vec::with_capacity(x.len() + 16);
    let (seen, count) = match level.0 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `Level::detect` gives this width only where the CPU has these features; there is room for all elements.
        Width::Avx512 => unsafe { selected_avx512(x, below, kept.as_mut_ptr()) },
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => (0, 0),
        Width::Portable => (0, 0),
    };
    // SAFETY: so many elements have been written.
    unsafe { kept.set_len(count) };
    kept.extend(x[seen..].iter().copied().filter(|x| *x < below));
    kept
}

/// `x * 2 + y` where `x` is below a number, in a new vector.
pub fn combined(x: &[f32], y: &[f32], below: f32) -> Vec<f32> {
    let mut kept = vec![0.0; x.len()];
    let mut count = 0;
    for (x, y) in x.iter().zip(y) {
        // Without branches: each result is written where the next one belongs.
        kept[count] = x * 2.0 + y;
        count += usize::from(*x < below);
    }
    kept.truncate(count);
    kept
}

/// Returns how many elements were seen, and how many kept.
///
/// # Safety
/// There is room for all elements at `kept`, and for a vector more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
unsafe fn selected_avx512(x: &[f32], below: f32, kept: *mut f32) -> (usize, usize) {
    use std::arch::x86_64::*;
    let (limit, mut count) = (_mm512_set1_ps(below), 0);
    for vector in x.chunks_exact(16) {
        // SAFETY: by the contract of the caller.
        unsafe {
            let elements = _mm512_loadu_ps(vector.as_ptr());
            let mask = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(elements, limit);
            _mm512_storeu_ps(kept.add(count), _mm512_maskz_compress_ps(mask, elements));
            count += mask.count_ones() as usize;
        }
    }
    (x.len() / 16 * 16, count)
}

/// The positions of the elements below a number.
pub fn positions(x: &[f32], below: f32) -> Vec<i64> {
    let mut found = Vec::new();
    for (block, part) in x.chunks(64).enumerate() {
        if part.iter().any(|x| *x < below) {
            let each = part.iter().enumerate().filter(|(_, x)| **x < below);
            found.extend(each.map(|(at, _)| (block * 64 + at) as i64));
        }
    }
    found
}

/// The distinct elements in ascending order.
pub fn distinct(x: &[i64]) -> Vec<i64> {
    let mut sorted = x.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}
