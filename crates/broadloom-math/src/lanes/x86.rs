//! The vectors of SSE2, unfused, of AVX2 with FMA, and of AVX-512.
#![allow(unsafe_code, reason = "vector instructions, and loads and stores through pointers")]

use super::Lanes;
use std::arch::x86_64::*;

macro_rules! x86_lanes {
    (
        $(#[$doc:meta])* $name:ident: $vector:ident = [$float:ident; $count:literal],
        mask: $mask:ident, index: $index:ident;
        splat: $splat:ident, load: $load:ident, store: $store:ident,
        add: $add:ident, sub: $sub:ident, mul: $mul:ident, madd: |$ma:ident, $mb:ident, $mc:ident| $madd:expr, sqrt: $sqrt:ident,
        min: $min:ident, max: $max:ident,
        magnitude: |$m:ident| $magnitude:expr,
        less: |$la:ident, $lb:ident| $less:expr,
        nan: |$n:ident| $nan:expr,
        select: |$sm:ident, $sa:ident, $sb:ident| $select:expr,
        or: |$oa:ident, $ob:ident| $or:expr,
        and_not: |$aa:ident, $ab:ident| $and_not:expr,
        any: |$any_mask:ident| $any:expr,
        index_splat: |$i:ident| $index_splat:expr,
        index_select: |$im:ident, $ia:ident, $ib:ident| $index_select:expr,
        index_store: |$is:ident, $to:ident| $index_store:expr,
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($vector);

        impl Lanes for $name {
            type Scalar = $float;
            type Mask = $mask;
            type Index = $index;
            const COUNT: usize = $count;

            #[inline(always)]
            unsafe fn splat(x: $float) -> Self {
                // SAFETY: by the contract of the caller.
                $name(unsafe { $splat(x) })
            }

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: by the contract of the caller.
                $name(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: by the contract of the caller.
                unsafe { $store(to.cast(), self.0) };
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $add(self.0, other.0) })
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $sub(self.0, other.0) })
            }

            #[inline(always)]
            fn mul_by(self, x: $float) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $mul(self.0, $splat(x)) })
            }

            #[inline(always)]
            fn madd(self, b: Self, c: Self) -> Self {
                let ($ma, $mb, $mc) = (self.0, b.0, c.0);
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $madd })
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                let $m = self.0;
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $magnitude })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $sqrt(self.0) })
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $min(self.0, other.0) })
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $max(self.0, other.0) })
            }

            #[inline(always)]
            fn is_less(self, other: Self) -> Self::Mask {
                let ($la, $lb) = (self.0, other.0);
                // SAFETY: a vector exists, so the CPU has its instructions.
                unsafe { $less }
            }

            #[inline(always)]
            fn is_nan(self) -> Self::Mask {
                let $n = self.0;
                // SAFETY: a vector exists, so the CPU has its instructions.
                unsafe { $nan }
            }

            #[inline(always)]
            fn select(self, $sm: Self::Mask, other: Self) -> Self {
                let ($sa, $sb) = (self.0, other.0);
                // SAFETY: a vector exists, so the CPU has its instructions.
                $name(unsafe { $select })
            }

            #[inline(always)]
            fn or(self, $oa: Self::Mask, $ob: Self::Mask) -> Self::Mask {
                // SAFETY: a vector exists, so the CPU has its instructions.
                #[allow(unused_unsafe, reason = "masks may be integers")]
                unsafe { $or }
            }

            #[inline(always)]
            fn and_not(self, $aa: Self::Mask, $ab: Self::Mask) -> Self::Mask {
                // SAFETY: a vector exists, so the CPU has its instructions.
                #[allow(unused_unsafe, reason = "masks may be integers")]
                unsafe { $and_not }
            }

            #[inline(always)]
            fn any(self, $any_mask: Self::Mask) -> bool {
                // SAFETY: a vector exists, so the CPU has its instructions.
                #[allow(unused_unsafe, reason = "masks may be integers")]
                unsafe { $any }
            }

            #[inline(always)]
            fn index(self, $i: usize) -> Self::Index {
                // SAFETY: a vector exists, so the CPU has its instructions.
                unsafe { $index_splat }
            }

            #[inline(always)]
            fn select_index(self, $im: Self::Mask, $ia: Self::Index, $ib: Self::Index) -> Self::Index {
                // SAFETY: a vector exists, so the CPU has its instructions.
                unsafe { $index_select }
            }

            #[inline(always)]
            unsafe fn store_index(self, $is: Self::Index, $to: *mut i64) {
                // SAFETY: by the contract of the caller for the pointer; a vector exists, so the CPU has its instructions.
                unsafe { $index_store };
            }
        }
    };
}

x86_lanes! {
    /// 4 lanes of `f32` in a 128-bit register, unfused.
    F32x4: __m128 = [f32; 4], mask: __m128, index: __m128i;
    splat: _mm_set1_ps, load: _mm_loadu_ps, store: _mm_storeu_ps,
    add: _mm_add_ps, sub: _mm_sub_ps, mul: _mm_mul_ps, madd: |a, b, c| _mm_add_ps(_mm_mul_ps(a, b), c), sqrt: _mm_sqrt_ps,
    min: _mm_min_ps, max: _mm_max_ps,
    magnitude: |a| _mm_andnot_ps(_mm_set1_ps(-0.0), a),
    less: |a, b| _mm_cmplt_ps(a, b),
    nan: |a| _mm_cmpunord_ps(a, a),
    select: |m, a, b| _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b)),
    or: |a, b| _mm_or_ps(a, b),
    and_not: |a, b| _mm_andnot_ps(b, a),
    any: |m| _mm_movemask_ps(m) != 0,
    index_splat: |i| _mm_set1_epi32(i as i32),
    index_select: |m, a, b| {
        let m = _mm_castps_si128(m);
        _mm_or_si128(_mm_and_si128(m, a), _mm_andnot_si128(m, b))
    },
    index_store: |i, to| {
            // Indices are not negative.
            _mm_storeu_si128(to.cast(), _mm_unpacklo_epi32(i, _mm_setzero_si128()));
            _mm_storeu_si128(to.add(2).cast(), _mm_unpackhi_epi32(i, _mm_setzero_si128()));
        },
}

x86_lanes! {
    /// 2 lanes of `f64` in a 128-bit register, unfused.
    F64x2: __m128d = [f64; 2], mask: __m128d, index: __m128i;
    splat: _mm_set1_pd, load: _mm_loadu_pd, store: _mm_storeu_pd,
    add: _mm_add_pd, sub: _mm_sub_pd, mul: _mm_mul_pd, madd: |a, b, c| _mm_add_pd(_mm_mul_pd(a, b), c), sqrt: _mm_sqrt_pd,
    min: _mm_min_pd, max: _mm_max_pd,
    magnitude: |a| _mm_andnot_pd(_mm_set1_pd(-0.0), a),
    less: |a, b| _mm_cmplt_pd(a, b),
    nan: |a| _mm_cmpunord_pd(a, a),
    select: |m, a, b| _mm_or_pd(_mm_and_pd(m, a), _mm_andnot_pd(m, b)),
    or: |a, b| _mm_or_pd(a, b),
    and_not: |a, b| _mm_andnot_pd(b, a),
    any: |m| _mm_movemask_pd(m) != 0,
    index_splat: |i| _mm_set1_epi64x(i as i64),
    index_select: |m, a, b| {
        let m = _mm_castpd_si128(m);
        _mm_or_si128(_mm_and_si128(m, a), _mm_andnot_si128(m, b))
    },
    index_store: |i, to| _mm_storeu_si128(to.cast(), i),
}

x86_lanes! {
    /// 8 lanes of `f32` in a 256-bit register.
    F32x8: __m256 = [f32; 8], mask: __m256, index: __m256i;
    splat: _mm256_set1_ps, load: _mm256_loadu_ps, store: _mm256_storeu_ps,
    add: _mm256_add_ps, sub: _mm256_sub_ps, mul: _mm256_mul_ps, madd: |a, b, c| _mm256_fmadd_ps(a, b, c), sqrt: _mm256_sqrt_ps,
    min: _mm256_min_ps, max: _mm256_max_ps,
    magnitude: |a| _mm256_andnot_ps(_mm256_set1_ps(-0.0), a),
    less: |a, b| _mm256_cmp_ps::<_CMP_LT_OQ>(a, b),
    nan: |a| _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a),
    select: |m, a, b| _mm256_blendv_ps(b, a, m),
    or: |a, b| _mm256_or_ps(a, b),
    and_not: |a, b| _mm256_andnot_ps(b, a),
    any: |m| _mm256_movemask_ps(m) != 0,
    index_splat: |i| _mm256_set1_epi32(i as i32),
    index_select: |m, a, b| _mm256_blendv_epi8(b, a, _mm256_castps_si256(m)),
    index_store: |i, to| {
            _mm256_storeu_si256(to.cast(), _mm256_cvtepi32_epi64(_mm256_castsi256_si128(i)));
            _mm256_storeu_si256(to.add(4).cast(), _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(i)));
        },
}

x86_lanes! {
    /// 4 lanes of `f64` in a 256-bit register.
    F64x4: __m256d = [f64; 4], mask: __m256d, index: __m256i;
    splat: _mm256_set1_pd, load: _mm256_loadu_pd, store: _mm256_storeu_pd,
    add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd, madd: |a, b, c| _mm256_fmadd_pd(a, b, c), sqrt: _mm256_sqrt_pd,
    min: _mm256_min_pd, max: _mm256_max_pd,
    magnitude: |a| _mm256_andnot_pd(_mm256_set1_pd(-0.0), a),
    less: |a, b| _mm256_cmp_pd::<_CMP_LT_OQ>(a, b),
    nan: |a| _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a),
    select: |m, a, b| _mm256_blendv_pd(b, a, m),
    or: |a, b| _mm256_or_pd(a, b),
    and_not: |a, b| _mm256_andnot_pd(b, a),
    any: |m| _mm256_movemask_pd(m) != 0,
    index_splat: |i| _mm256_set1_epi64x(i as i64),
    index_select: |m, a, b| _mm256_blendv_epi8(b, a, _mm256_castpd_si256(m)),
    index_store: |i, to| _mm256_storeu_si256(to.cast(), i),
}

x86_lanes! {
    /// 16 lanes of `f32` in a 512-bit register.
    F32x16: __m512 = [f32; 16], mask: __mmask16, index: __m512i;
    splat: _mm512_set1_ps, load: _mm512_loadu_ps, store: _mm512_storeu_ps,
    add: _mm512_add_ps, sub: _mm512_sub_ps, mul: _mm512_mul_ps, madd: |a, b, c| _mm512_fmadd_ps(a, b, c), sqrt: _mm512_sqrt_ps,
    min: _mm512_min_ps, max: _mm512_max_ps,
    magnitude: |a| _mm512_abs_ps(a),
    less: |a, b| _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b),
    nan: |a| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a),
    select: |m, a, b| _mm512_mask_blend_ps(m, b, a),
    or: |a, b| a | b,
    and_not: |a, b| a & !b,
    any: |m| m != 0,
    index_splat: |i| _mm512_set1_epi32(i as i32),
    index_select: |m, a, b| _mm512_mask_blend_epi32(m, b, a),
    index_store: |i, to| {
            _mm512_storeu_si512(to.cast(), _mm512_cvtepi32_epi64(_mm512_castsi512_si256(i)));
            _mm512_storeu_si512(to.add(8).cast(), _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64::<1>(i)));
        },
}

x86_lanes! {
    /// 8 lanes of `f64` in a 512-bit register.
    F64x8: __m512d = [f64; 8], mask: __mmask8, index: __m512i;
    splat: _mm512_set1_pd, load: _mm512_loadu_pd, store: _mm512_storeu_pd,
    add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd, madd: |a, b, c| _mm512_fmadd_pd(a, b, c), sqrt: _mm512_sqrt_pd,
    min: _mm512_min_pd, max: _mm512_max_pd,
    magnitude: |a| _mm512_abs_pd(a),
    less: |a, b| _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b),
    nan: |a| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a),
    select: |m, a, b| _mm512_mask_blend_pd(m, b, a),
    or: |a, b| a | b,
    and_not: |a, b| a & !b,
    any: |m| m != 0,
    index_splat: |i| _mm512_set1_epi64(i as i64),
    index_select: |m, a, b| _mm512_mask_blend_epi64(m, b, a),
    index_store: |i, to| _mm512_storeu_si512(to.cast(), i),
}
