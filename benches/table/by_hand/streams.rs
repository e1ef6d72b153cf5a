//! Loops whose results leave the caches before they are read: streaming stores do not read the lines that they write.

#[cfg(target_arch = "x86_64")]
use super::vectors::x86;
use super::vectors::{Float, Portable, Vector};
use super::{Level, Width};

/// A register of floats that can be stored past the caches.
trait Streamed: Float<Number = f32> {
    /// # Safety
    ///
    /// `to` must be valid for writes of as many numbers as there are lanes, and aligned to the register.
    unsafe fn stream(self, to: *mut f32);

    /// Lets what was streamed be seen before later stores.
    fn fence();
}

impl<const LANES: usize> Streamed for Portable<f32, LANES> {
    unsafe fn stream(self, to: *mut f32) {
        // SAFETY: the caller's.
        unsafe { self.store(to) }
    }

    fn fence() {}
}

#[cfg(target_arch = "x86_64")]
macro_rules! streamed {
    ($($vector:ident, $stream:ident;)*) => {$(
        impl Streamed for x86::$vector {
            #[inline(always)]
            unsafe fn stream(self, to: *mut f32) {
                // SAFETY: this is inlined into functions that have the instruction; what is written is the caller's.
                unsafe { std::arch::x86_64::$stream(to, self) }
            }

            #[inline(always)]
            fn fence() {
                // SAFETY: all CPUs of 64 bits have the instruction.
                unsafe { std::arch::x86_64::_mm_sfence() }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
streamed! {
    F32x16, _mm512_stream_ps;
    F32x8, _mm256_stream_ps;
}

at_every_width! {
    /// `2.5 * x + y`.
    fn axpy(x: &[f32], y: &[f32], out: &mut [f32]) for F32x16, F32x8, Portable<f32, 4>, {
        axpy_of::<V, { if I < J { I } else { J } }>(x, y, out);
    }
}

/// In steps of `I` registers, between elements one by one up to an aligned one and after the last step.
#[inline(always)]
fn axpy_of<V: Streamed, const I: usize>(x: &[f32], y: &[f32], out: &mut [f32]) {
    assert!(x.len() == out.len() && y.len() == out.len());
    let step = I * V::LANES;
    let first = out.as_ptr().align_offset(V::LANES * size_of::<f32>()).min(out.len());
    let end = first + (out.len() - first) / step * step;
    let factor = V::splat(2.5);
    for start in (first..end).step_by(step) {
        for at in (start..start + step).step_by(V::LANES) {
            // SAFETY: a whole register is left of each, and the results are aligned from `first` on.
            unsafe {
                let [x, y] = [x, y].map(|of| V::load(of.as_ptr().add(at)));
                factor.mul(x).add(y).stream(out.as_mut_ptr().add(at));
            }
        }
    }
    V::fence();
    for at in (0..first).chain(end..out.len()) {
        out[at] = 2.5 * x[at] + y[at];
    }
}
