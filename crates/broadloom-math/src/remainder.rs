//! Remainders, exact for all arguments, and the floored quotient.
//!
//! ```text
//! q = |x| / |y| rounded to an integer ──▶ r = |x| - q |y|, exact ──▶ plus |y| where negative: fmod
//!                                                                     ──▶ to the sign of y: remainder
//! ```
//!
//! This holds for quotients below a bound, which depends on format and level. Larger quotients are rare lanes,
//! divided one by one in integers. `remainder` and `floor_divide` are Python's, as NumPy defines them (`npy_divmod`).

use crate::exact::minus_product;
use crate::float::Float;
use crate::level::Level;

/// The constants of the remainders for a format.
pub trait RemainderTable: Float {
    /// Quotients below it are within one of the integer next to them, before and after rounding. (Fused.)
    const FUSED_QUOTIENT: Self;
    /// Quotients below it also fit in half a mantissa, as `two_product` needs. (Unfused.)
    const UNFUSED_QUOTIENT: Self;
    /// Half the range: splitting a float below it into halves cannot overflow.
    const HALF_RANGE: Self;

    /// fmod for non-negative arguments.
    fn fmod_in_integers(self, y: Self) -> Self;
}

impl RemainderTable for f32 {
    const FUSED_QUOTIENT: f32 = 4194304.0; // 2^22
    const UNFUSED_QUOTIENT: f32 = 2048.0; // 2^11
    const HALF_RANGE: f32 = 1.7014118e38; // 2^127

    #[inline(always)]
    fn fmod_in_integers(self, y: f32) -> f32 {
        // A remainder is a multiple of the smaller of both last places and below y: it fits f32 again.
        long_division(f64::from(self), f64::from(y)) as f32
    }
}

impl RemainderTable for f64 {
    const FUSED_QUOTIENT: f64 = 2251799813685248.0; // 2^51
    const UNFUSED_QUOTIENT: f64 = 33554432.0; // 2^25
    const HALF_RANGE: f64 = 8.98846567431158e307; // 2^1023

    #[inline(always)]
    fn fmod_in_integers(self, y: f64) -> f64 {
        long_division(self, y)
    }
}

/// fmod for any non-negative x and y; NaN for an infinite x and for a zero y.
#[cold]
#[inline(never)]
fn long_division(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x == f64::INFINITY || y == 0.0 {
        return f64::NAN;
    }
    if x < y {
        return x;
    }
    let ((mut rest, mut exponent), (divisor, last)) = (parts(x), parts(y));
    // An odd divisor has the fewest bits, so that each step can shift by as many as possible.
    let (divisor, last) = (divisor >> divisor.trailing_zeros(), last + divisor.trailing_zeros() as i32);
    if exponent < last {
        // Both in units of x's last place. y <= x, so the shifted divisor fits.
        return (rest % (divisor << (last - exponent))) as f64 * power(exponent);
    }
    rest %= divisor;
    while exponent > last && rest != 0 {
        let shift = (exponent - last).min(rest.leading_zeros() as i32);
        rest = (rest << shift) % divisor;
        exponent -= shift;
    }
    // Below y, and a multiple of its last place: exact, subnormal or not.
    rest as f64 * power(last)
}

/// `(m, e)` with `x = m 2^e`, for a non-negative finite x.
fn parts(x: f64) -> (u64, i32) {
    let (field, fraction) = ((x.to_bits() >> 52) as i32, x.to_bits() & ((1 << 52) - 1));
    if field == 0 { (fraction, -1074) } else { (fraction | (1 << 52), field - 1075) }
}

/// 2^e for -1074 <= e < 1024.
fn power(e: i32) -> f64 {
    if e >= -1022 { f64::from_bits(((e + 1023) as u64) << 52) } else { f64::from_bits(1 << (e + 1074)) }
}

/// Whether the quotient is beyond the vectorised division. False for NaN, true for an infinite x and for a
/// zero y.
#[inline(always)]
pub(crate) fn is_rare<T: RemainderTable, L: Level>(x: T, y: T) -> bool {
    let (a, b) = (x.magnitude(), y.magnitude());
    if L::FUSED {
        a >= b * T::FUSED_QUOTIENT
    } else {
        (a >= b * T::UNFUSED_QUOTIENT) | ((a >= T::HALF_RANGE) & (a >= b))
    }
}

/// One of the three functions.
#[derive(Clone, Copy)]
pub(crate) enum Division {
    Fmod,
    Remainder,
    FloorDivide,
}

/// The function at a pair that is not rare; at rare pairs, any number.
#[inline(always)]
pub(crate) fn common<T: RemainderTable, L: Level>(x: T, y: T, division: Division) -> T {
    let (a, b) = (x.magnitude(), y.magnitude());
    let q = (a / b + T::ROUND) - T::ROUND;
    // Exact: a multiple of ulp(b) and at most 3/4 b.
    let r = minus_product::<T, L>(a, q, b);
    let r = if r < T::ZERO { r + b } else { r };
    finish(x, y, if a < b { a } else { r }, division)
}

/// The function at any pair, one at a time.
#[inline(always)]
pub(crate) fn rare<T: RemainderTable>(x: T, y: T, division: Division) -> T {
    finish(x, y, x.magnitude().fmod_in_integers(y.magnitude()), division)
}

/// The function at any pair.
#[inline(always)]
pub(crate) fn divide<T: RemainderTable, L: Level>(x: T, y: T, division: Division) -> T {
    if is_rare::<T, L>(x, y) { rare::<T>(x, y, division) } else { common::<T, L>(x, y, division) }
}

/// The function from fmod(|x|, |y|).
#[inline(always)]
fn finish<T: RemainderTable>(x: T, y: T, r: T, division: Division) -> T {
    let fmod = r.xor_sign(x);
    let wrong_side = (fmod != T::ZERO) & ((y < T::ZERO) != (fmod < T::ZERO));
    let result = match division {
        Division::Fmod => fmod,
        Division::Remainder => {
            let signed = if wrong_side { fmod + y } else { fmod };
            if fmod == T::ZERO { T::ZERO.xor_sign(y) } else { signed }
        }
        Division::FloorDivide => {
            // An integer but for two roundings.
            let quotient = (x - fmod) / y;
            let quotient = if wrong_side { quotient - T::ONE } else { quotient };
            let snapped = snap(quotient);
            let result = if quotient == T::ZERO { T::ZERO.xor_sign(x).xor_sign(y) } else { snapped };
            if y == T::ZERO { x / y } else { result }
        }
    };
    if result.unordered() | x.unordered() | y.unordered() { T::NAN } else { result }
}

/// The floor of x, or one more if x is nearer to that.
#[inline(always)]
fn snap<T: Float>(x: T) -> T {
    let a = x.magnitude();
    let nearest = ((a + T::INTEGERS_FROM) - T::INTEGERS_FROM).xor_sign(x);
    let floor = if nearest > x { nearest - T::ONE } else { nearest };
    let snapped = if x - floor > T::HALF { floor + T::ONE } else { floor };
    if a >= T::INTEGERS_FROM { x } else { snapped }
}
