//! The numbers of the definitions: arithmetic, and a few operations on bits.
//!
//! ```text
//! Value ──┬─ f32, f64   the number itself: scalars, and tiles, whose loops LLVM vectorises     (Float)
//!         └─ Traced     a step of a trace that is recorded, from which compiled kernels take lanes
//! ```
//!
//! Every method is branch-free and vectorises on plain SSE2; that excludes `floor`, conversions between `i64`
//! and floats, and arithmetic shifts of `i64`. Integers therefore live in the low mantissa bits of a float
//! near `ROUND`, where adding rounds to an integer and the bits below the exponent are that integer.

use crate::level::Level;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// A binary float format: `f32` or `f64`.
pub trait Float: Value<Format = Self, Mask = bool> + PartialOrd + 'static {
    /// The number of bits.
    const BITS: u32;
    /// The number of bits of the mantissa, without the one that is not stored.
    const MANTISSA: u32;
    /// The number of bits that [`head`](Value::head) clears.
    const REST: u32;

    /// Returns the float of these bits, of which only [`BITS`](Self::BITS) count.
    fn of_bits(bits: u64) -> Self;

    /// Returns its bits.
    fn bits(self) -> u64;
}

/// A number in a definition. Definitions that take any value choose by [`select`](Value::select) instead of `if`.
pub trait Value:
    Copy
    + From<Self::Format>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The format of the number.
    type Format: Float;
    /// A truth value about numbers.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;

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
    /// The least subnormal: its bits are the integer 1.
    const LEAST: Self;
    /// The root of 1/2.
    const SQRT_HALF: Self;
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::Format::BITS - 1);

    /// Returns `self * b + c`, fused or not as the level says.
    fn madd<L: Level>(self, b: impl Into<Self>, c: impl Into<Self>) -> Self;
    /// Whether `self < other`.
    fn below(self, other: impl Into<Self>) -> Self::Mask;
    /// Whether `self <= other`.
    fn below_or_equal(self, other: impl Into<Self>) -> Self::Mask;
    /// Whether `self == other`.
    fn equals(self, other: impl Into<Self>) -> Self::Mask;
    /// One value where a condition holds, another elsewhere.
    fn select(condition: Self::Mask, then: impl Into<Self>, otherwise: impl Into<Self>) -> Self;
    /// The square root; NaN, of either sign, of negative numbers.
    fn sqrt(self) -> Self;
    /// Whether this is any NaN.
    fn unordered(self) -> Self::Mask;
    /// Whether the sign bit is set.
    fn has_sign(self) -> Self::Mask;
    /// Both operands' bits ANDed; for two zeros that is their maximum.
    fn and_bits(self, other: impl Into<Self>) -> Self;
    /// Both operands' bits ORed; for two zeros that is their minimum.
    fn or_bits(self, other: impl Into<Self>) -> Self;
    /// The bits that differ.
    fn xor_bits(self, other: impl Into<Self>) -> Self;
    /// The wrapping sum of the bits as integers.
    fn plus_bits(self, other: impl Into<Self>) -> Self;
    /// The wrapping difference of the bits as integers.
    fn minus_bits(self, other: impl Into<Self>) -> Self;
    /// The bits moved up.
    fn shifted_left(self, by: u32) -> Self;
    /// The bits moved down, with zeros above.
    fn shifted_right(self, by: u32) -> Self;

    /// Clears the sign.
    #[inline(always)]
    fn magnitude(self) -> Self {
        self.and_bits(Self::Format::of_bits(!Self::SIGN))
    }

    /// Flips the sign where `sign` is negative (or -0, or a NaN with its sign set).
    #[inline(always)]
    fn xor_sign(self, sign: Self) -> Self {
        self.xor_bits(sign.and_bits(Self::Format::of_bits(Self::SIGN)))
    }

    /// `self` rounded to half its significant bits; the rest, `self - head`, fits the other half.
    #[inline(always)]
    fn head(self) -> Self {
        let half_step = Self::Format::of_bits(1 << (Self::Format::REST - 1));
        self.plus_bits(half_step).and_bits(Self::Format::of_bits(!((1 << Self::Format::REST) - 1)))
    }

    /// 2^n for `self = ROUND + BIAS + n`, where 2^n is a normal number.
    #[inline(always)]
    fn two_to(self) -> Self {
        // The low bits of `self` are BIAS + n; the shift drops all others.
        self.shifted_left(Self::Format::MANTISSA)
    }

    /// For `self = ROUND + 2 * BIAS + n` two normal powers of two whose product is 2^n, also where 2^n itself
    /// is subnormal, zero or infinite.
    #[inline(always)]
    fn two_to_in_halves(self) -> (Self, Self) {
        // The low bits are 2 * BIAS + n = (BIAS + floor(n/2)) + (BIAS + ceil(n/2)).
        let low = self.shifted_right(1);
        let high = self.minus_bits(low);
        (low.shifted_left(Self::Format::MANTISSA), high.shifted_left(Self::Format::MANTISSA))
    }

    /// `self` times 2^n for `exponent = ROUND + 2 * BIAS + n`, rounded once, also where it is subnormal.
    #[inline(always)]
    fn times_two_to(self, exponent: Self) -> Self {
        let (first, second) = exponent.two_to_in_halves();
        self * first * second
    }

    /// Whether n is odd, for `self = ROUND + n`.
    #[inline(always)]
    fn low_bit(self) -> Self::Mask {
        self.shifted_left(Self::Format::BITS - 1).has_sign()
    }

    /// Flips the sign where n has its bit 1 set, for `quadrant = ROUND + n`.
    #[inline(always)]
    fn flip_in_half_turn(self, quadrant: Self) -> Self {
        let sign = quadrant.and_bits(Self::Format::of_bits(2)).shifted_left(Self::Format::BITS - 2);
        self.xor_bits(sign)
    }

    /// `(k, m)` with `self = 2^k * m` and `m` in `[sqrt(1/2), sqrt(2))`, for a positive normal `self`.
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        let fraction = Self::Format::of_bits((1 << Self::Format::MANTISSA) - 1);
        // Moves the step of the exponent field from 1 to sqrt(1/2) and back.
        let shifted = self.plus_bits(Self::ONE.minus_bits(Self::SQRT_HALF));
        let m = shifted.and_bits(fraction).plus_bits(Self::SQRT_HALF);
        // An exponent field in the low bits of 2^p reads as 2^p + BIAS + k.
        let k = shifted.shifted_right(Self::Format::MANTISSA).or_bits(Self::INTEGERS_FROM);
        (k - (Self::INTEGERS_FROM + Self::BIAS), m)
    }

    /// The next float of larger magnitude, for a finite `self`.
    #[inline(always)]
    fn away(self) -> Self {
        self.plus_bits(Self::LEAST)
    }

    /// The next float of smaller magnitude, for a `self` that is not zero.
    #[inline(always)]
    fn toward_zero(self) -> Self {
        self.minus_bits(Self::LEAST)
    }

    /// Whether `self > other`.
    #[inline(always)]
    fn above(self, other: impl Into<Self>) -> Self::Mask {
        other.into().below(self)
    }

    /// The bound where `self` is above it. NaN stays.
    #[inline(always)]
    fn at_most(self, bound: impl Into<Self>) -> Self {
        let bound = bound.into();
        Self::select(self.above(bound), bound, self)
    }

    /// The bound where `self` is below it. NaN stays.
    #[inline(always)]
    fn at_least(self, bound: impl Into<Self>) -> Self {
        let bound = bound.into();
        Self::select(self.below(bound), bound, self)
    }

    /// `self`, but NaN where `x` is NaN.
    #[inline(always)]
    fn or_nan_of(self, x: Self) -> Self {
        Self::select(x.unordered(), Self::NAN, self)
    }
}

macro_rules! float {
    (
        $float:ident, $bits:ident, $madd:ident,
        mantissa: $mantissa:literal, bias: $bias:literal, head: $head:literal
    ) => {
        impl Value for $float {
            type Format = $float;
            type Mask = bool;

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
            const SQRT_HALF: Self = std::$float::consts::FRAC_1_SQRT_2;

            #[inline(always)]
            fn madd<L: Level>(self, b: impl Into<Self>, c: impl Into<Self>) -> Self {
                L::$madd(self, b.into(), c.into())
            }

            #[inline(always)]
            fn below(self, other: impl Into<Self>) -> bool {
                self < other.into()
            }

            #[inline(always)]
            fn below_or_equal(self, other: impl Into<Self>) -> bool {
                self <= other.into()
            }

            #[inline(always)]
            fn equals(self, other: impl Into<Self>) -> bool {
                self == other.into()
            }

            #[inline(always)]
            fn select(condition: bool, then: impl Into<Self>, otherwise: impl Into<Self>) -> Self {
                if condition { then.into() } else { otherwise.into() }
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
            fn has_sign(self) -> bool {
                self.to_bits() > $bits::MAX >> 1
            }

            #[inline(always)]
            fn and_bits(self, other: impl Into<Self>) -> Self {
                $float::from_bits(self.to_bits() & other.into().to_bits())
            }

            #[inline(always)]
            fn or_bits(self, other: impl Into<Self>) -> Self {
                $float::from_bits(self.to_bits() | other.into().to_bits())
            }

            #[inline(always)]
            fn xor_bits(self, other: impl Into<Self>) -> Self {
                $float::from_bits(self.to_bits() ^ other.into().to_bits())
            }

            #[inline(always)]
            fn plus_bits(self, other: impl Into<Self>) -> Self {
                $float::from_bits(self.to_bits().wrapping_add(other.into().to_bits()))
            }

            #[inline(always)]
            fn minus_bits(self, other: impl Into<Self>) -> Self {
                $float::from_bits(self.to_bits().wrapping_sub(other.into().to_bits()))
            }

            #[inline(always)]
            fn shifted_left(self, by: u32) -> Self {
                $float::from_bits(self.to_bits() << by)
            }

            #[inline(always)]
            fn shifted_right(self, by: u32) -> Self {
                $float::from_bits(self.to_bits() >> by)
            }
        }

        impl Float for $float {
            const BITS: u32 = $bits::BITS;
            const MANTISSA: u32 = $mantissa;
            const REST: u32 = $head;

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                $float::from_bits(bits as $bits)
            }

            #[inline(always)]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    };
}

float!(f32, u32, madd_f32, mantissa: 23, bias: 127, head: 12);
float!(f64, u64, madd_f64, mantissa: 52, bias: 1023, head: 27);

/// `c[0] + c[1] x + c[2] x^2 + ..` by Horner's rule.
#[inline(always)]
pub(crate) fn polynomial<V: Value, L: Level, const N: usize>(x: V, c: [V::Format; N]) -> V {
    let mut sum: V = c[N - 1].into();
    for i in (0..N - 1).rev() {
        sum = sum.madd::<L>(x, c[i]);
    }
    sum
}

/// Like [`polynomial`], with independent chains of even and odd terms: for long loops, which LLVM does not unroll.
#[inline(always)]
pub(crate) fn polynomial_by_parity<V: Value, L: Level, const N: usize>(x: V, c: [V::Format; N]) -> V {
    let square = x * x;
    let terms_down_from = |last: usize| {
        let mut sum: V = c[last].into();
        for i in (0..last / 2).rev() {
            sum = sum.madd::<L>(square, c[last % 2 + 2 * i]);
        }
        sum
    };
    let (even, odd) = (terms_down_from((N - 1) / 2 * 2), terms_down_from(N / 2 * 2 - 1));
    odd.madd::<L>(x, even)
}
