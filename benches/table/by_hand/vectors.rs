//! Registers of numbers, at the widths that loops over pairs are written for.
//!
//! A loop is written once, over [`Vector`]. All that it is made of is inlined into one function per width, which has the
//! instructions: [`at_every_width`](super::at_every_width).

/// What a register holds.
pub trait Number: Copy + Default + PartialOrd {
    /// No distance is above it.
    const MOST: Self;

    /// A small index as such a number.
    fn of(index: usize) -> Self;

    /// The index that a number is.
    fn index(self) -> i64;
}

macro_rules! number {
    ($($number:ty, $most:expr;)*) => {$(
        impl Number for $number {
            const MOST: $number = $most;

            #[inline(always)]
            fn of(index: usize) -> $number {
                index as $number
            }

            #[inline(always)]
            fn index(self) -> i64 {
                self as i64
            }
        }
    )*};
}

number! {
    f32, f32::INFINITY;
    f64, f64::INFINITY;
    u8, u8::MAX;
    u64, u64::MAX / 2; // AVX2 compares signed words
}

/// A register. Its methods are an instruction or two, once they are inlined into a function that has these.
pub trait Vector: Copy {
    type Number: Number;
    const LANES: usize;

    fn splat(x: Self::Number) -> Self;

    /// # Safety
    ///
    /// `from` must be valid for reads of as many numbers as there are lanes.
    unsafe fn load(from: *const Self::Number) -> Self;

    /// # Safety
    ///
    /// `to` must be valid for writes of as many numbers as there are lanes.
    unsafe fn store(self, to: *mut Self::Number);

    fn add(self, other: Self) -> Self;

    /// The lanes, of which there are 64 at most.
    #[inline(always)]
    fn lanes(self) -> [Self::Number; 64] {
        let mut lanes = [Self::Number::default(); 64];
        assert!(Self::LANES <= lanes.len());
        // SAFETY: there is room for all lanes.
        unsafe { self.store(lanes.as_mut_ptr()) };
        lanes
    }

    /// The indices that the lanes are.
    ///
    /// # Safety
    ///
    /// `to` must be valid for writes of as many numbers as there are lanes.
    #[inline(always)]
    unsafe fn store_indices(self, to: *mut i64) {
        for (lane, number) in self.lanes().into_iter().enumerate().take(Self::LANES) {
            // SAFETY: the caller's.
            unsafe { to.add(lane).write(number.index()) };
        }
    }

    /// Where it is less than `best`, it and `at` take the places of `best` and `index`. An index is a number of the same
    /// type, as which it is exact: u8 has those of up to 256 points, f32 those of 16 million.
    fn keep_less(self, at: Self, best: &mut Self, index: &mut Self);
}

/// A register of floats.
pub trait Float: Vector {
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn sqrt(self) -> Self;
    /// The sum of all lanes.
    fn total(self) -> Self::Number;
    /// `self * y + z`, rounded once where the CPU can.
    fn fma(self, y: Self, z: Self) -> Self;
}

/// A register of which the exponential is wanted.
pub trait Exp: Float<Number = f32> {
    /// The nearest integers.
    fn round(self) -> Self;

    /// Times two to the power of `n`, which is a whole number of at most 127; or zero if the result is below the normal
    /// numbers.
    fn scale(self, n: Self) -> Self;

    /// e^x for x of at most 88, with an error of some 1 ulp: Cephes's polynomial of degree 7.
    #[inline(always)]
    fn exp(self) -> Self {
        let n = self.mul(Self::splat(std::f32::consts::LOG2_E)).round();
        let r = n.fma(Self::splat(-0.693_359_4), self);
        let r = n.fma(Self::splat(2.121_944_4e-4), r);
        let mut tail = Self::splat(1.987_569_1e-4);
        for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
            tail = tail.fma(r, Self::splat(coefficient));
        }
        tail.fma(r.mul(r), r).add(Self::splat(1.0)).scale(n)
    }
}

/// A register of bytes or words of bits, of which differences are counted.
pub trait Bits: Vector {
    /// The counts with those of `x` and `y` added: 1 for a byte that differs, or the bits of a word that do.
    fn count(self, x: Self, y: Self) -> Self;
}

/// What a CPU without wide vectors has: LLVM makes vectors of the baseline of these.
#[derive(Clone, Copy)]
pub struct Portable<N, const LANES: usize>([N; LANES]);

impl<N: Copy, const LANES: usize> Portable<N, LANES> {
    #[inline(always)]
    fn with(mut self, other: Self, of: impl Fn(N, N) -> N) -> Self {
        for (x, y) in self.0.iter_mut().zip(other.0) {
            *x = of(*x, y);
        }
        self
    }
}

impl<N: Number + PartialOrd + std::ops::Add<Output = N>, const LANES: usize> Vector for Portable<N, LANES> {
    type Number = N;
    const LANES: usize = LANES;

    #[inline(always)]
    fn splat(x: N) -> Self {
        Portable([x; LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const N) -> Self {
        // SAFETY: the caller's.
        Portable(unsafe { from.cast::<[N; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut N) {
        // SAFETY: the caller's.
        unsafe { to.cast::<[N; LANES]>().write(self.0) }
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.with(other, |x, y| x + y)
    }

    #[inline(always)]
    fn keep_less(self, at: Self, best: &mut Self, index: &mut Self) {
        for lane in 0..LANES {
            if self.0[lane] < best.0[lane] {
                (best.0[lane], index.0[lane]) = (self.0[lane], at.0[lane]);
            }
        }
    }
}

macro_rules! portable_float {
    ($($number:ty)*) => {$(
        impl<const LANES: usize> Float for Portable<$number, LANES> {
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.with(other, |x, y| x - y)
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.with(other, |x, y| x * y)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.with(self, |x, _| x.abs())
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.with(self, |x, _| x.sqrt())
            }

            #[inline(always)]
            fn fma(self, y: Self, z: Self) -> Self {
                self.mul(y).add(z)
            }

            #[inline(always)]
            fn total(self) -> $number {
                self.0.iter().sum()
            }
        }
    )*};
}

portable_float!(f32 f64);

impl<const LANES: usize> Exp for Portable<f32, LANES> {
    #[inline(always)]
    fn round(self) -> Self {
        self.with(self, |x, _| x.round_ties_even())
    }

    #[inline(always)]
    fn scale(self, n: Self) -> Self {
        self.with(n, |x, n| x * f32::from_bits(((n.max(-127.0) as i32 + 127) as u32) << 23))
    }
}

impl<const LANES: usize> Bits for Portable<u8, LANES> {
    #[inline(always)]
    fn count(self, x: Self, y: Self) -> Self {
        self.add(x.with(y, |x, y| u8::from(x != y)))
    }
}

impl<const LANES: usize> Bits for Portable<u64, LANES> {
    #[inline(always)]
    fn count(self, x: Self, y: Self) -> Self {
        self.add(x.with(y, |x, y| u64::from((x ^ y).count_ones())))
    }
}

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    use super::{Bits, Exp, Float, Vector};
    use std::arch::x86_64::*;

    /// Sixteen lanes, and so on.
    pub type F32x16 = __m512;
    pub type F64x8 = __m512d;
    pub type F32x8 = __m256;
    pub type F64x4 = __m256d;

    /// Bytes or words of bits in a register that the CPU does not tell apart.
    #[derive(Clone, Copy)]
    pub struct U8x64(__m512i);
    #[derive(Clone, Copy)]
    pub struct U64x8(__m512i);
    #[derive(Clone, Copy)]
    pub struct U8x32(__m256i);
    #[derive(Clone, Copy)]
    pub struct U64x4(__m256i);

    /// What all registers of floats have, by the names of the instructions. An expression of several stands in braces.
    macro_rules! floats {
        ($vector:ty, $number:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident,
         $fma:ident, $sqrt:ident, |$x:ident| { abs: $abs:expr, indices: $indices:expr, total: $total:expr },
         |$new:ident, $at:ident, $best:ident, $index:ident| $keep:expr) => {
            impl Vector for $vector {
                type Number = $number;
                const LANES: usize = $lanes;

                #[inline(always)]
                fn splat(x: $number) -> Self {
                    // SAFETY: these are inlined into functions that have the instructions, and called nowhere else.
                    unsafe { $splat(x) }
                }

                #[inline(always)]
                unsafe fn load(from: *const $number) -> Self {
                    // SAFETY: as above; what is read is the caller's.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $number) {
                    // SAFETY: as above; what is written is the caller's.
                    unsafe { $store(to, self) }
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $add(self, other) }
                }

                #[inline(always)]
                fn keep_less(self, $at: Self, best: &mut Self, index: &mut Self) {
                    let ($new, $best, $index) = (self, *best, *index);
                    // SAFETY: as above.
                    (*best, *index) = unsafe { $keep };
                }

                #[inline(always)]
                unsafe fn store_indices(self, to: *mut i64) {
                    let $x = self;
                    // SAFETY: as above; what is written is the caller's.
                    unsafe { std::ptr::write_unaligned(to.cast(), $indices) };
                }
            }

            impl Float for $vector {
                #[inline(always)]
                fn sub(self, other: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $sub(self, other) }
                }

                #[inline(always)]
                fn mul(self, other: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $mul(self, other) }
                }

                #[inline(always)]
                fn abs(self) -> Self {
                    let $x = self;
                    // SAFETY: as above.
                    unsafe { $abs }
                }

                #[inline(always)]
                fn sqrt(self) -> Self {
                    // SAFETY: as above.
                    unsafe { $sqrt(self) }
                }

                #[inline(always)]
                fn fma(self, y: Self, z: Self) -> Self {
                    // SAFETY: as above.
                    unsafe { $fma(self, y, z) }
                }

                #[inline(always)]
                fn total(self) -> $number {
                    let $x = self;
                    // SAFETY: as above.
                    unsafe { $total }
                }
            }
        };
    }

    floats! {
        F32x16, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps,
        _mm512_fmadd_ps, _mm512_sqrt_ps, |x| {
            abs: _mm512_abs_ps(x),
            indices: [
                _mm512_cvttps_epi64(_mm512_castps512_ps256(x)),
                _mm512_cvttps_epi64(_mm512_extractf32x8_ps::<1>(x))
            ],
            total: _mm512_reduce_add_ps(x)
        }, |new, at, best, index| {
            let less = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(new, best);
            (_mm512_min_ps(new, best), _mm512_mask_mov_ps(index, less, at))
        }
    }

    floats! {
        F64x8, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd,
        _mm512_fmadd_pd, _mm512_sqrt_pd, |x| {
            abs: _mm512_abs_pd(x),
            indices: _mm512_cvttpd_epi64(x),
            total: _mm512_reduce_add_pd(x)
        }, |new, at, best, index| {
            let less = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(new, best);
            (_mm512_min_pd(new, best), _mm512_mask_mov_pd(index, less, at))
        }
    }

    floats! {
        F32x8, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps,
        _mm256_fmadd_ps, _mm256_sqrt_ps, |x| {
            abs: _mm256_andnot_ps(_mm256_set1_ps(-0.0), x),
            indices: {
                let indices = _mm256_cvttps_epi32(x);
                let upper = _mm256_extracti128_si256::<1>(indices);
                [_mm256_cvtepi32_epi64(_mm256_castsi256_si128(indices)), _mm256_cvtepi32_epi64(upper)]
            },
            total: {
                let four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
                let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
                _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
            }
        }, |new, at, best, index| {
            let less = _mm256_cmp_ps::<_CMP_LT_OQ>(new, best);
            (_mm256_min_ps(new, best), _mm256_blendv_ps(index, at, less))
        }
    }

    floats! {
        F64x4, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd,
        _mm256_fmadd_pd, _mm256_sqrt_pd, |x| {
            abs: _mm256_andnot_pd(_mm256_set1_pd(-0.0), x),
            indices: _mm256_cvtepi32_epi64(_mm256_cvttpd_epi32(x)),
            total: {
                let two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd::<1>(x));
                _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
            }
        }, |new, at, best, index| {
            let less = _mm256_cmp_pd::<_CMP_LT_OQ>(new, best);
            (_mm256_min_pd(new, best), _mm256_blendv_pd(index, at, less))
        }
    }

    impl Exp for F32x16 {
        #[inline(always)]
        fn round(self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_roundscale_ps::<_MM_FROUND_TO_NEAREST_INT>(self) }
        }

        #[inline(always)]
        fn scale(self, n: Self) -> Self {
            // SAFETY: as above.
            unsafe { _mm512_scalef_ps(self, n) }
        }
    }

    impl Exp for F32x8 {
        #[inline(always)]
        fn round(self) -> Self {
            // SAFETY: as above.
            unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self) }
        }

        #[inline(always)]
        fn scale(self, n: Self) -> Self {
            // SAFETY: as above.
            unsafe {
                let exponent = _mm256_cvtps_epi32(_mm256_max_ps(n, _mm256_set1_ps(-127.0)));
                let biased = _mm256_add_epi32(exponent, _mm256_set1_epi32(127));
                _mm256_mul_ps(self, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
            }
        }
    }

    /// What all registers of integers have.
    macro_rules! integers {
        ($vector:ident, $number:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident,
         |$new:ident, $at:ident, $best:ident, $index:ident| $keep:expr,
         |$counts:ident, $x:ident, $y:ident| $count:expr) => {
            impl Vector for $vector {
                type Number = $number;
                const LANES: usize = $lanes;

                #[inline(always)]
                fn splat(x: $number) -> Self {
                    // SAFETY: as above.
                    $vector(unsafe { $splat(x.cast_signed()) })
                }

                #[inline(always)]
                unsafe fn load(from: *const $number) -> Self {
                    // SAFETY: as above; what is read is the caller's.
                    $vector(unsafe { $load(from.cast()) })
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $number) {
                    // SAFETY: as above; what is written is the caller's.
                    unsafe { $store(to.cast(), self.0) }
                }

                #[inline(always)]
                fn add(self, other: Self) -> Self {
                    // SAFETY: as above.
                    $vector(unsafe { $add(self.0, other.0) })
                }

                #[inline(always)]
                fn keep_less(self, at: Self, best: &mut Self, index: &mut Self) {
                    let ($new, $at, $best, $index) = (self.0, at.0, best.0, index.0);
                    // SAFETY: as above.
                    (best.0, index.0) = unsafe { $keep };
                }
            }

            impl Bits for $vector {
                #[inline(always)]
                fn count(self, x: Self, y: Self) -> Self {
                    let ($counts, $x, $y) = (self.0, x.0, y.0);
                    // SAFETY: as above.
                    $vector(unsafe { $count })
                }
            }
        };
    }

    integers! {
        U8x64, u8, 64, _mm512_set1_epi8, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi8,
        |new, at, best, index| {
            let less = _mm512_cmplt_epu8_mask(new, best);
            (_mm512_min_epu8(new, best), _mm512_mask_mov_epi8(index, less, at))
        },
        |counts, x, y| {
            let differ = _mm512_cmpneq_epi8_mask(x, y);
            _mm512_mask_add_epi8(counts, differ, counts, _mm512_set1_epi8(1))
        }
    }

    integers! {
        U64x8, u64, 8, _mm512_set1_epi64, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi64,
        |new, at, best, index| {
            let less = _mm512_cmplt_epu64_mask(new, best);
            (_mm512_min_epu64(new, best), _mm512_mask_mov_epi64(index, less, at))
        },
        |counts, x, y| _mm512_add_epi64(counts, _mm512_popcnt_epi64(_mm512_xor_si512(x, y)))
    }

    integers! {
        U8x32, u8, 32, _mm256_set1_epi8, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi8,
        |new, at, best, index| {
            let not_less = _mm256_cmpeq_epi8(_mm256_max_epu8(new, best), new);
            (_mm256_min_epu8(new, best), _mm256_blendv_epi8(at, index, not_less))
        },
        |counts, x, y| {
            let equal = _mm256_cmpeq_epi8(x, y);
            _mm256_add_epi8(counts, _mm256_add_epi8(_mm256_set1_epi8(1), equal))
        }
    }

    integers! {
        U64x4, u64, 4, _mm256_set1_epi64x, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi64,
        |new, at, best, index| {
            let less = _mm256_cmpgt_epi64(best, new);
            (_mm256_blendv_epi8(best, new, less), _mm256_blendv_epi8(index, at, less))
        },
        |counts, x, y| {
            // Half a byte at a time, by a table.
            let table = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
            let low = _mm256_set1_epi8(15);
            let differ = _mm256_xor_si256(x, y);
            let lower = _mm256_shuffle_epi8(table, _mm256_and_si256(differ, low));
            let upper = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(differ), low));
            let bytes = _mm256_add_epi8(lower, upper);
            _mm256_add_epi64(counts, _mm256_sad_epu8(bytes, _mm256_setzero_si256()))
        }
    }
}
