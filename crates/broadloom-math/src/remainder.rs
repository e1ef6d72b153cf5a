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
use crate::float::{Float, Value};
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
pub(crate) fn is_rare<V: Value<Format: RemainderTable>, L: Level>(x: V, y: V) -> V::Mask {
    let (a, b) = (x.magnitude(), y.magnitude());
    let is_beyond = |quotient: V::Format| (b * quotient.into()).below_or_equal(a);
    if L::FUSED {
        is_beyond(V::Format::FUSED_QUOTIENT)
    } else {
        let half_range = V::from(V::Format::HALF_RANGE);
        is_beyond(V::Format::UNFUSED_QUOTIENT) | (half_range.below_or_equal(a) & b.below_or_equal(a))
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
pub(crate) fn common<V: Value<Format: RemainderTable>, L: Level>(x: V, y: V, division: Division) -> V {
    let (a, b) = (x.magnitude(), y.magnitude());
    let q = (a / b + V::ROUND) - V::ROUND;
    // Exact: a multiple of ulp(b) and at most 3/4 b.
    let r = minus_product::<V, L>(a, q, b);
    let r = V::select(r.below(V::ZERO), r + b, r);
    finish(x, y, V::select(a.below(b), a, r), division)
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
fn finish<V: Value<Format: RemainderTable>>(x: V, y: V, r: V, division: Division) -> V {
    let fmod = r.xor_sign(x);
    let is_zero = fmod.equals(V::ZERO);
    let (left, right) = (y.below(V::ZERO), fmod.below(V::ZERO));
    let wrong_side = !is_zero & ((left & !right) | (right & !left));
    let result = match division {
        Division::Fmod => fmod,
        Division::Remainder => V::select(is_zero, V::ZERO.xor_sign(y), V::select(wrong_side, fmod + y, fmod)),
        Division::FloorDivide => {
            // An integer but for two roundings.
            let quotient = (x - fmod) / y;
            let quotient = V::select(wrong_side, quotient - V::ONE, quotient);
            let zero = V::ZERO.xor_sign(x).xor_sign(y);
            let result = V::select(quotient.equals(V::ZERO), zero, snap(quotient));
            V::select(y.equals(V::ZERO), x / y, result)
        }
    };
    V::select(result.unordered() | x.unordered() | y.unordered(), V::NAN, result)
}

/// The floor of x, or one more if x is nearer to that.
#[inline(always)]
fn snap<V: Value>(x: V) -> V {
    let a = x.magnitude();
    let nearest = ((a + V::INTEGERS_FROM) - V::INTEGERS_FROM).xor_sign(x);
    let floor = V::select(nearest.above(x), nearest - V::ONE, nearest);
    let snapped = V::select((x - floor).above(V::HALF), floor + V::ONE, floor);
    V::select(V::INTEGERS_FROM.below_or_equal(a), x, snapped)
}
