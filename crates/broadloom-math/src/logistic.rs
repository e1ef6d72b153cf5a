//! The logistic function and functions based on it.
//!
//! ```text
//! E = e^-|v| ──▶ sigmoid v = 1 / (1 + E) or, for v < 0, E / (1 + E) ──▶ silu, gelu_tanh: times x
//!            ──▶ log(1 + e^v) = max(v, 0) + log1p E              ──▶ softplus, logaddexp
//! ```
//!
//! Where a result is as small as E its power of two is applied last, so that it is rounded once even if it is
//! subnormal.

use crate::exact::{fast_two_sum, two_product, two_sum};
use crate::exp::{Scaled, exp_and_exponent, exp_of_sum, scaled_exp};
use crate::level::Level;
use crate::log::{LogTable, log1p};

/// The constants of the logistic family for a format.
pub trait LogisticTable: LogTable {
    /// From this value down, x e^x is zero, and 2^n is still in the range of its two factors.
    const SILU_MIN: Self;
    /// From this value down, `gelu_tanh` is zero; v is above `SILU_MIN`.
    const GELU_TANH_MIN: Self;
    /// From this value on, `gelu_tanh x` rounds to x.
    const GELU_TANH_MAX: Self;
    /// k and 2^-k, for an odd k such that 2^(n+k) is normal for every n of `gelu_tanh`.
    const GELU_TANH_LIFT: [Self; 2];
    /// sqrt(8/pi), in two parts.
    const GELU_TANH_LINEAR: [Self; 2];
    /// 0.044715 sqrt(8/pi), in two parts.
    const GELU_TANH_CUBIC: [Self; 2];
}

impl LogisticTable for f32 {
    const SILU_MIN: f32 = -137.0;
    const GELU_TANH_MIN: f32 = -11.0;
    const GELU_TANH_MAX: f32 = 6.0;
    const GELU_TANH_LIFT: [f32; 2] = [41.0, 1.0 / (1u64 << 41) as f32];
    const GELU_TANH_LINEAR: [f32; 2] = [1.5957692, -4.534068e-8];
    const GELU_TANH_CUBIC: [f32; 2] = [0.071354814, 2.3988325e-9];
}

impl LogisticTable for f64 {
    const SILU_MIN: f64 = -800.0;
    const GELU_TANH_MIN: f64 = -22.0;
    const GELU_TANH_MAX: f64 = 8.0;
    const GELU_TANH_LIFT: [f64; 2] = [127.0, 1.0 / (1u128 << 127) as f64];
    const GELU_TANH_LINEAR: [f64; 2] = [1.5957691216057308, -9.96930880911092e-17];
    const GELU_TANH_CUBIC: [f64; 2] = [0.07135481627260025, -6.175149918155315e-19];
}

/// `x / (1 + e^-(v + dv))`, for an x with the sign of v and above `SILU_MIN`, and any v.
#[inline(always)]
fn weighted<T: LogisticTable, L: Level>(x: T, v: T, dv: T) -> T {
    let negative = v < T::ZERO;
    let (size, d_size) = if negative { (v, dv) } else { (-v, -dv) };
    // A value that is added to 1 need not underflow.
    let least = if negative { T::SILU_MIN } else { T::EXPM1_MIN };
    let size = if size < least { least } else { size };
    let e: Scaled<T> = scaled_exp::<T, L>(size, d_size);
    let numerator = if negative { x * e.hi } else { x };
    let quotient = numerator / (T::ONE + e.scale(e.hi));
    if negative { e.scale(quotient) } else { quotient }
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<T: LogisticTable, L: Level>(x: T) -> T {
    let result = weighted::<T, L>(T::ONE, x, T::ZERO);
    if x.unordered() { T::NAN } else { result }
}

/// x / (1 + e^-x).
#[inline(always)]
pub(crate) fn silu<T: LogisticTable, L: Level>(x: T) -> T {
    let a = if x < T::SILU_MIN { T::SILU_MIN } else { x };
    let result = weighted::<T, L>(a, a, T::ZERO);
    if x.unordered() { T::NAN } else { result }
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x / (1 + e^-v), v = sqrt(8/pi) (x + 0.044715 x^3).
#[inline(always)]
pub(crate) fn gelu_tanh<T: LogisticTable, L: Level>(x: T) -> T {
    let a = if x < T::GELU_TANH_MIN { T::GELU_TANH_MIN } else { x };
    let bounded = if a > T::GELU_TANH_MAX { T::GELU_TANH_MAX } else { a };
    // v as a sum of two floats, because the error of e^v is the absolute one of v.
    let ([linear, linear_lo], [cubic, cubic_lo]) = (T::GELU_TANH_LINEAR, T::GELU_TANH_CUBIC);
    let (square, square_lo) = two_product::<T, L>(bounded, bounded);
    let (term, term_error) = two_product::<T, L>(cubic, square);
    let term_lo = cubic.madd::<L>(square_lo, cubic_lo.madd::<L>(square, term_error));
    let (larger, smaller) = if term > linear { (term, linear) } else { (linear, term) };
    let (factor, factor_error) = fast_two_sum(larger, smaller);
    let (v, v_error) = two_product::<T, L>(bounded, factor);
    let v_lo = bounded.madd::<L>(factor_error + (term_lo + linear_lo), v_error);

    // As in `weighted`, with one power of two, 2^(n+k), in place of two factors: no |v| is too large for that here.
    // What becomes small is multiplied by 2^-k last.
    let [k, lower] = T::GELU_TANH_LIFT;
    let (e, biased) = exp_and_exponent::<T, L>(-v.magnitude(), v_lo.xor_sign(-v), k);
    let e = e * biased.two_to();
    let (weight, back) = if v.has_sign() { (e, lower) } else { (T::ONE, T::ONE) };
    let result = a * weight / e.madd::<L>(lower, T::ONE) * back;
    if x.unordered() { T::NAN } else { result }
}

/// log(e^larger + e^(larger - distance - rest)), for a `rest` of at most half an ulp of `distance`.
#[inline(always)]
fn sum_of_exps<T: LogisticTable, L: Level>(larger: T, distance: T, rest: T) -> T {
    // A value that is added to a number above 1 need not underflow.
    let least = if larger.magnitude() > T::ONE { T::EXPM1_MIN } else { T::EXP_MIN };
    // Differences that overflow have no rest.
    let (size, rest) = if -distance < least { (least, T::ZERO) } else { (-distance, -rest) };
    larger + log1p::<T, L>(exp_of_sum::<T, L>(size, rest))
}

/// log(1 + e^x).
#[inline(always)]
pub(crate) fn softplus<T: LogisticTable, L: Level>(x: T) -> T {
    let larger = if x > T::ZERO { x } else { T::ZERO };
    let result = sum_of_exps::<T, L>(larger, x.magnitude(), T::ZERO);
    if x.unordered() { T::NAN } else { result }
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp<T: LogisticTable, L: Level>(x: T, y: T) -> T {
    let (larger, smaller) = if x > y { (x, y) } else { (y, x) };
    // Equal infinities have no difference.
    let (distance, rest) = if x == y { (T::ZERO, T::ZERO) } else { two_sum(larger, -smaller) };
    let result = sum_of_exps::<T, L>(larger, distance, rest);
    if x.unordered() | y.unordered() { T::NAN } else { result }
}
