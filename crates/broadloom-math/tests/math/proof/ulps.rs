//! Multiple precision, and distances in units of the last place.
//!
//! The unit is that of the true value's binade, or the least subnormal below all binades. An infinite result
//! counts as the power of two after the largest finite number, so that a result may round to infinity within
//! its bound; any other disagreement about NaN, infinity, or the sign is an infinite distance.

use crate::proof::pair::Pair;
use crate::proof::random::Format;
use dashu_float::{FBig, round::mode::HalfEven};

/// A float of any precision.
pub type Big = FBig<HalfEven, 2>;

/// `x` exactly; what is computed from it has 130 bits, so more than twice those of f64.
pub fn big(x: f64) -> Big {
    Big::try_from(x).expect("the argument is finite").with_precision(130).value()
}

/// The distance from `got` to `want` in units of the last place of `want` in a format, or in units of `floor`
/// if that is more. The sign comes apart, because `want` may be zero.
pub fn from_big(got: f64, want: &Big, negative: bool, format: Format, floor: f64) -> f64 {
    if got.is_nan() || got.is_sign_negative() != negative && floor == 0.0 {
        return f64::INFINITY;
    }
    // With a floor, a value near zero may have come out on the other side.
    let other_side = got.is_sign_negative() != negative;
    let (least, greatest) = format.exponents;
    let limit = Big::ONE.with_precision(130).value() << (greatest as isize + 1);
    let want = if negative { -want.clone() } else { want.clone() };
    let got = match got.abs() {
        f64::INFINITY if want >= limit => return 0.0,
        f64::INFINITY => limit,
        got if other_side => -big(got),
        got => big(got),
    };
    let binade = want.repr().exponent() + want.repr().digits() as isize - 1;
    let exponent = ((binade as i32).min(greatest) - (format.digits - 1)).max(least);
    // Scaled before it becomes an f64, because the difference may be far below the subnormals.
    let distance = ((got - want) << -(exponent as isize)).to_f64().value().abs();
    distance / (floor / libm::scalbn(1.0, exponent)).max(1.0)
}

/// The distance from `got` to `want` in units of the last f32 place of `want`, or in units of `floor` if that
/// is more. `want` itself is known to f64 precision.
#[inline]
pub fn f32_from_f64(got: f32, want: f64, floor: f64) -> f64 {
    let wide = f64::from(got);
    let same_side = (wide.to_bits() ^ want.to_bits()) < 1 << 63 && want != 0.0;
    // Nearly always. With a floor, a value near zero may have come out on the other side.
    if (same_side || floor > 0.0) && (wide - want).is_finite() {
        return (wide - want).abs() / f32_unit(want).max(floor);
    }
    f32_from_special(wide, want)
}

/// The distance from `got` to `want` in units of the last f64 place of `want`, or in units of `floor` if that is
/// more; for a `want` far from the ends of the format.
pub fn f64_from_pair(got: f64, want: Pair, floor: f64) -> f64 {
    if !got.is_finite() || got.is_sign_negative() != want.hi.is_sign_negative() && floor == 0.0 {
        return f64::INFINITY;
    }
    // Of a power of two less something, the unit is that below.
    let power = want.hi.to_bits().trailing_zeros() >= 52;
    let below = power && want.lo != 0.0 && (want.hi > 0.0) == (want.lo < 0.0);
    let unit = libm::scalbn(1.0, libm::ilogb(want.hi) - 52 - i32::from(below));
    ((got - want.hi) - want.lo).abs() / floor.max(unit)
}

/// The last place of an f32 near `x`.
fn f32_unit(x: f64) -> f64 {
    let exponent = (x.to_bits() >> 52 & 0x7ff).clamp(1023 - 126, 1023 + 127);
    f64::from_bits((exponent - 23) << 52)
}

#[cold]
fn f32_from_special(got: f64, want: f64) -> f64 {
    const LIMIT: f64 = 2.0 * (1u128 << 127) as f64;
    if want == 0.0 || want.is_nan() || got.is_nan() {
        return bit_for_bit(got, want);
    }
    // Of two finite ones the signs differ. Else one or both are infinite.
    match (got.abs(), want.abs()) {
        _ if got.is_sign_negative() != want.is_sign_negative() => f64::INFINITY,
        (f64::INFINITY, want) if want >= LIMIT => 0.0,
        (f64::INFINITY, want) => (LIMIT - want) / f32_unit(want),
        _ => f64::INFINITY,
    }
}

/// No distance if the bits agree, where a NaN must be the positive quiet one; else an infinite one.
pub fn bit_for_bit(got: f64, want: f64) -> f64 {
    let want = if want.is_nan() { f64::NAN } else { want };
    if got.to_bits() == want.to_bits() { 0.0 } else { f64::INFINITY }
}
