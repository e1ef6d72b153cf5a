//! The properties of a float format that the definitions need: arithmetic, and a few operations on bits.
//!
//! Every method is branch-free and vectorises on plain SSE2; that excludes `floor`, conversions between `i64`
//! and floats, and arithmetic shifts of `i64`. Integers therefore live in the low mantissa bits of a float
//! near `ROUND`, where adding rounds to an integer and the bits below the exponent are that integer.

use crate::level::Level;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A binary float format: `f32` or `f64`.
pub trait Float:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    const ZERO: Self;
    const HALF: Self;
    const ONE: Self;
    const TWO: Self;
    const INFINITY: Self;
    /// The NaN that all functions return, so that NaNs have the same bits too.
    const NAN: Self;
    const MIN_POSITIVE: Self;
    /// 1.5 * 2^p with p mantissa bits: for small `x` the sum `x + ROUND` rounds `x` to an integer (ties to
    /// even).
    const ROUND: Self;
    /// The exponent bias, as a float.
    const BIAS: Self;
    /// 2^p: all floats from this value on are integers.
    const INTEGERS_FROM: Self;
    /// 2^(p+2), lifts every subnormal into the normal range.
    const LIFT: Self;
    /// log2 of `LIFT`.
    const LIFT_EXPONENT: Self;
    /// The least subnormal.
    const LEAST: Self;

    /// Returns `self * b + c`, fused or not as the level says.
    fn madd<L: Level>(self, b: Self, c: Self) -> Self;
    /// The square root; NaN, of either sign, of negative numbers.
    fn sqrt(self) -> Self;
    /// Whether this is any NaN.
    fn unordered(self) -> bool;
    /// Clears the sign.
    fn magnitude(self) -> Self;
    /// Flips the sign where `sign` is negative (or -0, or a NaN with its sign set).
    fn xor_sign(self, sign: Self) -> Self;
    /// Whether the sign bit is set.
    fn has_sign(self) -> bool;
    /// `self` rounded to half its significant bits; the rest, `self - head`, fits the other half.
    fn head(self) -> Self;
    /// 2^n for `self = ROUND + BIAS + n`, where 2^n is a normal number.
    fn two_to(self) -> Self;
    /// For `self = ROUND + 2 * BIAS + n` two normal powers of two whose product is 2^n, also where 2^n itself
    /// is subnormal, zero or infinite.
    fn two_to_in_halves(self) -> (Self, Self);
    /// Whether n is odd, for `self = ROUND + n`.
    fn low_bit(self) -> bool;
    /// Flips the sign where n has its bit 1 set, for `quadrant = ROUND + n`.
    fn flip_in_half_turn(self, quadrant: Self) -> Self;
    /// `(k, m)` with `self = 2^k * m` and `m` in `[sqrt(1/2), sqrt(2))`, for a positive normal `self`.
    fn split_exponent(self) -> (Self, Self);
    /// Both operands' sign bits and magnitudes ANDed; for two zeros that is their maximum.
    fn and_bits(self, other: Self) -> Self;
    /// Both operands' sign bits and magnitudes ORed; for two zeros that is their minimum.
    fn or_bits(self, other: Self) -> Self;
    /// The next float of larger magnitude, for a finite `self`.
    fn away(self) -> Self;
    /// The next float of smaller magnitude, for a `self` that is not zero.
    fn toward_zero(self) -> Self;
}

macro_rules! float {
    (
        $float:ident, $bits:ident, $madd:ident,
        mantissa: $mantissa:literal, bias: $bias:literal, head: $head:literal
    ) => {
        impl Float for $float {
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const ONE: Self = 1.0;
            const TWO: Self = 2.0;
            const INFINITY: Self = $float::INFINITY;
            const NAN: Self = $float::NAN;
            const MIN_POSITIVE: Self = $float::MIN_POSITIVE;
            const ROUND: Self = (3u64 << ($mantissa - 1)) as $float;
            const BIAS: Self = $bias as $float;
            const INTEGERS_FROM: Self = (1u64 << $mantissa) as $float;
            const LIFT: Self = (1u64 << ($mantissa + 2)) as $float;
            const LIFT_EXPONENT: Self = ($mantissa + 2) as $float;
            const LEAST: Self = $float::from_bits(1);

            #[inline(always)]
            fn madd<L: Level>(self, b: Self, c: Self) -> Self {
                L::$madd(self, b, c)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn unordered(self) -> bool {
                self.is_nan()
            }

            #[inline(always)]
            fn magnitude(self) -> Self {
                $float::from_bits(self.to_bits() & ($bits::MAX >> 1))
            }

            #[inline(always)]
            fn xor_sign(self, sign: Self) -> Self {
                $float::from_bits(self.to_bits() ^ (sign.to_bits() & !($bits::MAX >> 1)))
            }

            #[inline(always)]
            fn has_sign(self) -> bool {
                self.to_bits() > $bits::MAX >> 1
            }

            #[inline(always)]
            fn head(self) -> Self {
                let half_step: $bits = 1 << ($head - 1);
                $float::from_bits(self.to_bits().wrapping_add(half_step) & !((1 << $head) - 1))
            }

            #[inline(always)]
            fn two_to(self) -> Self {
                // The low bits of `self` are BIAS + n; the shift drops all others.
                $float::from_bits(self.to_bits() << $mantissa)
            }

            #[inline(always)]
            fn two_to_in_halves(self) -> (Self, Self) {
                // The low bits are 2 * BIAS + n = (BIAS + floor(n/2)) + (BIAS + ceil(n/2)).
                let low = self.to_bits() >> 1;
                let high = self.to_bits().wrapping_sub(low);
                ($float::from_bits(low << $mantissa), $float::from_bits(high << $mantissa))
            }

            #[inline(always)]
            fn low_bit(self) -> bool {
                self.to_bits() & 1 != 0
            }

            #[inline(always)]
            fn flip_in_half_turn(self, quadrant: Self) -> Self {
                let sign = (quadrant.to_bits() & 2) << ($bits::BITS - 2);
                $float::from_bits(self.to_bits() ^ sign)
            }

            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                const FRACTION: $bits = (1 << $mantissa) - 1;
                const SQRT_HALF: $bits = std::$float::consts::FRAC_1_SQRT_2.to_bits();
                // Moves the step of the exponent field from 1 to sqrt(1/2) and back.
                let shifted = self.to_bits().wrapping_add((1.0 as $float).to_bits() - SQRT_HALF);
                let m = $float::from_bits((shifted & FRACTION) + SQRT_HALF);
                // An exponent field in the low bits of 2^p reads as 2^p + BIAS + k.
                let k = $float::from_bits((shifted >> $mantissa) | Self::INTEGERS_FROM.to_bits());
                (k - (Self::INTEGERS_FROM + Self::BIAS), m)
            }

            #[inline(always)]
            fn and_bits(self, other: Self) -> Self {
                $float::from_bits(self.to_bits() & other.to_bits())
            }

            #[inline(always)]
            fn or_bits(self, other: Self) -> Self {
                $float::from_bits(self.to_bits() | other.to_bits())
            }

            #[inline(always)]
            fn away(self) -> Self {
                $float::from_bits(self.to_bits().wrapping_add(1))
            }

            #[inline(always)]
            fn toward_zero(self) -> Self {
                $float::from_bits(self.to_bits().wrapping_sub(1))
            }
        }
    };
}

float!(f32, u32, madd_f32, mantissa: 23, bias: 127, head: 12);
float!(f64, u64, madd_f64, mantissa: 52, bias: 1023, head: 27);

/// `c[0] + c[1] x + c[2] x^2 + ..` by Horner's rule.
#[inline(always)]
pub(crate) fn polynomial<T: Float, L: Level, const N: usize>(x: T, c: [T; N]) -> T {
    let mut sum = c[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.madd::<L>(x, c[i]);
    }
    sum
}

/// Like [`polynomial`], with independent chains of even and odd terms: for long loops, which LLVM does not unroll.
#[inline(always)]
pub(crate) fn polynomial_by_parity<T: Float, L: Level, const N: usize>(x: T, c: [T; N]) -> T {
    let square = x * x;
    let terms_down_from = |last: usize| {
        let mut sum = c[last];
        for i in (0..last / 2).rev() {
            sum = sum.madd::<L>(square, c[last % 2 + 2 * i]);
        }
        sum
    };
    let (even, odd) = (terms_down_from((N - 1) / 2 * 2), terms_down_from(N / 2 * 2 - 1));
    odd.madd::<L>(x, even)
}
