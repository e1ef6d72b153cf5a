//! Vectors of floats in registers, for the one inner loop that LLVM does not vectorise well.
//!
//! The tiles of `tile.rs` are loops that LLVM vectorises. A pair tile holds a block of sums in registers, and
//! there the vectors are spelled out: one type per register width and precision, and arrays elsewhere.
#![allow(unsafe_code, reason = "vector instructions, and loads and stores through pointers")]

use crate::float::{Float, Value};
use crate::level::Level;
use std::marker::PhantomData;

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{F32x4, F32x8, F32x16, F64x2, F64x4, F64x8};

#[cfg(target_arch = "x86_64")]
mod x86;

/// A vector of floats.
///
/// Its operations are safe because values come only from [`splat`](Self::splat) or [`load`](Self::load), whose callers
/// vouch for the CPU. All are exact or rounded once, like the scalar operations.
pub(crate) trait Lanes: Copy {
    type Scalar: Float;
    /// One truth value per lane.
    type Mask: Copy;
    /// One integer per lane, of the scalar's size.
    type Index: Copy;
    const COUNT: usize;

    /// # Safety
    ///
    /// The CPU must have the type's instructions.
    unsafe fn splat(x: Self::Scalar) -> Self;
    /// Loads elements from `from` on, of any alignment.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads of `COUNT` elements, and the CPU have the type's instructions.
    unsafe fn load(from: *const u8) -> Self;
    /// # Safety
    ///
    /// `to` must be valid for writes of `COUNT` elements.
    unsafe fn store(self, to: *mut u8);
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul_by(self, x: Self::Scalar) -> Self;
    /// `self * b + c`, as [`Level`] does it.
    fn madd(self, b: Self, c: Self) -> Self;
    fn magnitude(self) -> Self;
    fn sqrt(self) -> Self;
    /// `self` where it is less than `other`, else, also where either is NaN, `other`.
    fn lesser(self, other: Self) -> Self;
    /// `self` where it is greater than `other`, else, also where either is NaN, `other`.
    fn greater(self, other: Self) -> Self;
    fn is_less(self, other: Self) -> Self::Mask;
    fn is_nan(self) -> Self::Mask;
    /// `self` where the mask is set.
    fn select(self, mask: Self::Mask, other: Self) -> Self;
    fn or(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `a` where `b` is not set.
    fn and_not(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    fn any(self, mask: Self::Mask) -> bool;
    fn index(self, i: usize) -> Self::Index;
    /// `a` where the mask is set.
    fn select_index(self, mask: Self::Mask, a: Self::Index, b: Self::Index) -> Self::Index;
    /// # Safety
    ///
    /// `to` must be valid for writes of `COUNT` elements, of any alignment.
    unsafe fn store_index(self, index: Self::Index, to: *mut i64);
}

/// Lanes in an array, for LLVM to put into registers; `T`'s integers are masks and indices.
#[derive(Clone, Copy)]
pub(crate) struct Array<T, L, const N: usize>([T; N], PhantomData<L>);

macro_rules! array_lanes {
    ($float:ident, $integer:ident) => {
        impl<L: Level, const N: usize> Array<$float, L, N> {
            #[inline(always)]
            fn zip<B: Copy, C: Copy + Default>(self, other: [B; N], f: impl Fn($float, B) -> C) -> [C; N] {
                let mut result = [C::default(); N];
                for i in 0..N {
                    result[i] = f(self.0[i], other[i]);
                }
                result
            }

            #[inline(always)]
            fn with(self, other: Self, f: impl Fn($float, $float) -> $float) -> Self {
                Array(self.zip(other.0, f), PhantomData)
            }
        }

        impl<L: Level, const N: usize> Lanes for Array<$float, L, N> {
            type Scalar = $float;
            type Mask = [$integer; N];
            type Index = [$integer; N];
            const COUNT: usize = N;

            #[inline(always)]
            unsafe fn splat(x: $float) -> Self {
                Array([x; N], PhantomData)
            }

            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: by the contract of the caller.
                Array(unsafe { from.cast::<[$float; N]>().read_unaligned() }, PhantomData)
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: by the contract of the caller.
                unsafe { to.cast::<[$float; N]>().write_unaligned(self.0) };
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.with(other, |a, b| a + b)
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.with(other, |a, b| a - b)
            }

            #[inline(always)]
            fn mul_by(self, x: $float) -> Self {
                self.with(Array([x; N], PhantomData), |a, b| a * b)
            }

            #[inline(always)]
            fn madd(self, b: Self, c: Self) -> Self {
                let mut result = c;
                for i in 0..N {
                    result.0[i] = Value::madd::<L>(self.0[i], b.0[i], c.0[i]);
                }
                result
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                Array(self.0.map($float::abs), PhantomData)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Array(self.0.map($float::sqrt), PhantomData)
            }

            #[inline(always)]
            fn lesser(self, other: Self) -> Self {
                self.with(other, |a, b| if a < b { a } else { b })
            }

            #[inline(always)]
            fn greater(self, other: Self) -> Self {
                self.with(other, |a, b| if a > b { a } else { b })
            }

            #[inline(always)]
            fn is_less(self, other: Self) -> Self::Mask {
                self.zip(other.0, |a, b| -$integer::from(a < b))
            }

            #[inline(always)]
            fn is_nan(self) -> Self::Mask {
                self.0.map(|a| -$integer::from(a.is_nan()))
            }

            #[inline(always)]
            fn select(self, mask: Self::Mask, other: Self) -> Self {
                let (a, b) =
                    (self.0.map(|x| x.to_bits() as $integer), other.0.map(|x| x.to_bits() as $integer));
                Array(self.select_index(mask, a, b).map(|x| $float::from_bits(x as _)), PhantomData)
            }

            #[inline(always)]
            fn or(self, a: Self::Mask, b: Self::Mask) -> Self::Mask {
                let mut result = a;
                for i in 0..N {
                    result[i] |= b[i];
                }
                result
            }

            #[inline(always)]
            fn and_not(self, a: Self::Mask, b: Self::Mask) -> Self::Mask {
                let mut result = a;
                for i in 0..N {
                    result[i] &= !b[i];
                }
                result
            }

            #[inline(always)]
            fn any(self, mask: Self::Mask) -> bool {
                mask.iter().fold(0, |any, x| any | x) != 0
            }

            #[inline(always)]
            fn index(self, i: usize) -> Self::Index {
                [i as $integer; N]
            }

            #[inline(always)]
            fn select_index(self, mask: Self::Mask, a: Self::Index, b: Self::Index) -> Self::Index {
                let mut result = b;
                for i in 0..N {
                    result[i] = (a[i] & mask[i]) | (b[i] & !mask[i]);
                }
                result
            }

            #[inline(always)]
            unsafe fn store_index(self, index: Self::Index, to: *mut i64) {
                // SAFETY: by the contract of the caller.
                unsafe { to.cast::<[i64; N]>().write_unaligned(index.map(i64::from)) };
            }
        }
    };
}

array_lanes!(f32, i32);
array_lanes!(f64, i64);
