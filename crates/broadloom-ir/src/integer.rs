//! The meanings of integer ops that the standard library lacks or defines otherwise, on every width.

/// An integer dtype.
pub(crate) trait Integer: Copy {
    /// Returns the absolute value; the least signed integer wraps to itself.
    fn magnitude(self) -> Self;
    /// Returns -1, 0 or 1.
    fn sign(self) -> Self;
    /// Returns the wrapping power; 0 for a negative exponent, which the caller reports as an error.
    fn power(self, exponent: Self) -> Self;
    /// Returns the quotient rounded down; 0 for a zero divisor.
    fn floor_quotient(self, divisor: Self) -> Self;
    /// Returns the remainder of [`Integer::floor_quotient`], with the sign of the divisor; 0 for a zero divisor.
    fn floor_remainder(self, divisor: Self) -> Self;
    /// Returns the remainder of the quotient rounded toward zero, with the sign of `self`; 0 for a zero divisor.
    fn truncated_remainder(self, divisor: Self) -> Self;
    /// Shifts left; 0 for a count outside the width.
    fn shift_left(self, count: Self) -> Self;
    /// Shifts right and fills with the sign; for a count outside the width only the sign remains.
    fn shift_right(self, count: Self) -> Self;
    /// Returns the greatest common divisor of the magnitudes; 0 if both are zero. That of the least signed integer
    /// and itself wraps to itself.
    fn greatest_divisor(self, other: Self) -> Self;
    /// Returns the least common multiple of the magnitudes, which wraps; 0 if one is zero.
    fn least_multiple(self, other: Self) -> Self;
    /// Returns the number of bits set in the magnitude, like NumPy's `bitwise_count`.
    fn ones(self) -> u8;
}

macro_rules! integer {
    ($($t:ty: $magnitude:expr, $ones:expr;)*) => {$(
        impl Integer for $t {
            fn magnitude(self) -> Self {
                let magnitude: fn($t) -> $t = $magnitude;
                magnitude(self)
            }

            #[allow(unused_comparisons, reason = "unsigned types share the definition")]
            fn sign(self) -> Self {
                Self::from(self > 0).wrapping_sub(Self::from(self < 0))
            }

            fn power(self, exponent: Self) -> Self {
                let Ok(mut exponent) = u64::try_from(i128::from(exponent)) else { return 0 };
                let (mut base, mut result): ($t, $t) = (self, 1);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                result
            }

            #[allow(unused_comparisons, reason = "unsigned types share the definition")]
            fn floor_quotient(self, divisor: Self) -> Self {
                if divisor == 0 {
                    return 0;
                }
                let rest = self.wrapping_rem(divisor);
                let quotient = self.wrapping_div(divisor);
                if rest != 0 && (rest < 0) != (divisor < 0) { quotient.wrapping_sub(1) } else { quotient }
            }

            #[allow(unused_comparisons, reason = "unsigned types share the definition")]
            fn floor_remainder(self, divisor: Self) -> Self {
                if divisor == 0 {
                    return 0;
                }
                let rest = self.wrapping_rem(divisor);
                if rest != 0 && (rest < 0) != (divisor < 0) { rest.wrapping_add(divisor) } else { rest }
            }

            fn truncated_remainder(self, divisor: Self) -> Self {
                if divisor == 0 { 0 } else { self.wrapping_rem(divisor) }
            }

            fn shift_left(self, count: Self) -> Self {
                u32::try_from(count).ok().and_then(|count| self.checked_shl(count)).unwrap_or(0)
            }

            fn shift_right(self, count: Self) -> Self {
                let count = u32::try_from(count).unwrap_or(Self::BITS).min(Self::BITS);
                // Shift in two steps, each of them shorter than the width.
                self >> (count / 2) >> (count - count / 2)
            }

            fn greatest_divisor(self, other: Self) -> Self {
                let (mut a, mut b) = (i128::from(self).unsigned_abs(), i128::from(other).unsigned_abs());
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a as $t
            }

            fn least_multiple(self, other: Self) -> Self {
                if self == 0 || other == 0 {
                    return 0;
                }
                let divisor = i128::from(self.greatest_divisor(other)).unsigned_abs();
                let [a, b] = [self, other].map(|x| i128::from(x).unsigned_abs());
                (a / divisor).wrapping_mul(b) as $t
            }

            fn ones(self) -> u8 {
                let ones: fn($t) -> u32 = $ones;
                ones(self) as u8
            }
        }
    )*};
}
integer! {
    i8: i8::wrapping_abs, |x| x.unsigned_abs().count_ones();
    i16: i16::wrapping_abs, |x| x.unsigned_abs().count_ones();
    i32: i32::wrapping_abs, |x| x.unsigned_abs().count_ones();
    i64: i64::wrapping_abs, |x| x.unsigned_abs().count_ones();
    u8: |x| x, u8::count_ones;
    u16: |x| x, u16::count_ones;
    u32: |x| x, u32::count_ones;
    u64: |x| x, u64::count_ones;
}
