//! The peak of the CPU: independent multiplications and additions.

#[cfg(target_arch = "x86_64")]
use super::vectors::x86;
use super::vectors::{Float, Portable};
use super::{Level, Width};
use std::hint::black_box;

/// As many sums as a tile has registers: what two units work on at a time, with a latency of four.
#[inline(always)]
fn chains<V: Float, const I: usize, const J: usize>(count: usize, number: V::Number, out: &mut [V::Number]) {
    let x = V::splat(black_box(number));
    let mut sums = [[x; I]; J];
    for _ in 0..count / (I * J * V::LANES) {
        for sum in sums.as_flattened_mut() {
            *sum = sum.fma(x, x);
        }
    }
    let mut total = V::splat(number);
    for sum in sums.as_flattened() {
        total = total.add(*sum);
    }
    assert!(out.len() >= V::LANES);
    // SAFETY: there is room for all lanes.
    unsafe { total.store(out.as_mut_ptr()) };
    black_box(out);
}

at_every_width! {
    /// Does the given number of multiplications and additions in f32.
    fn fused_f32(count: usize, out: &mut [f32]) for F32x16, F32x8, Portable<f32, 4>, {
        chains::<V, I, J>(count, 0.5, out);
    }

    /// Does the given number of multiplications and additions in f64.
    fn fused_f64(count: usize, out: &mut [f64]) for F64x8, F64x4, Portable<f64, 2>, {
        chains::<V, I, J>(count, 0.5, out);
    }
}
