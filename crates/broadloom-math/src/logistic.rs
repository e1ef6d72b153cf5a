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
use crate::exp::{ExpTable, Lift, Scaled, exp_and_exponent, exp_of_sum, scaled_exp};
use crate::float::Value;
use crate::level::Level;
use crate::log::{LogTable, log1p};

/// The constants of the logistic family for a format.
pub trait LogisticTable: LogTable {
    /// From this value down, x e^x is zero, and 2^n is still in the range of its two factors.
    const SILU_MIN: Self;
    /// Below this value, x e^x is subnormal or zero.
    const SILU_TINY: Self;
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
    const SILU_TINY: f32 = -91.9;
    const GELU_TANH_MIN: f32 = -11.0;
    const GELU_TANH_MAX: f32 = 6.0;
    const GELU_TANH_LIFT: [f32; 2] = [41.0, 1.0 / (1u64 << 41) as f32];
    const GELU_TANH_LINEAR: [f32; 2] = [1.5957692, -4.534068e-8];
    const GELU_TANH_CUBIC: [f32; 2] = [0.071354814, 2.3988325e-9];
}

impl LogisticTable for f64 {
    const SILU_MIN: f64 = -800.0;
    const SILU_TINY: f64 = -715.0;
    const GELU_TANH_MIN: f64 = -22.0;
    const GELU_TANH_MAX: f64 = 8.0;
    const GELU_TANH_LIFT: [f64; 2] = [127.0, 1.0 / (1u128 << 127) as f64];
    const GELU_TANH_LINEAR: [f64; 2] = [1.5957691216057308, -9.96930880911092e-17];
    const GELU_TANH_CUBIC: [f64; 2] = [0.07135481627260025, -6.175149918155315e-19];
}

/// `x / (1 + e^-(v + dv))`, for an x above `SILU_MIN`, and any v. The result is subnormal or zero where v is below `tiny`.
#[inline(always)]
fn weighted<V: Value<Format: LogisticTable>, L: Level>(x: V, v: V, dv: V, tiny: V::Format) -> V {
    let negative = v.below(V::ZERO);
    let (size, d_size) = (V::select(negative, v, -v), V::select(negative, dv, -dv));
    // A value that is added to 1 need not underflow.
    let least: V = V::select(negative, V::Format::SILU_MIN, V::Format::EXPM1_MIN);
    let lift = Lift::below(tiny, v);
    let e: Scaled<V> = scaled_exp::<V, L>(size.at_least(least), d_size, lift.round());
    let numerator = V::select(negative, x * e.hi, x);
    // Beside 1, what is tiny does not count.
    let quotient = numerator / (V::ONE + lift.or_zero(e.scale(e.hi)));
    V::select(negative, lift.back_with_sign(e.scale(quotient)), quotient)
}

/// 1 / (1 + e^-x).
#[inline(always)]
pub(crate) fn sigmoid<V: Value<Format: LogisticTable>, L: Level>(x: V) -> V {
    weighted::<V, L>(V::ONE, x, V::ZERO, V::Format::EXP_TINY).or_nan_of(x)
}

/// x / (1 + e^-x).
#[inline(always)]
pub(crate) fn silu<V: Value<Format: LogisticTable>, L: Level>(x: V) -> V {
    let a = x.at_least(V::Format::SILU_MIN);
    weighted::<V, L>(a, a, V::ZERO, V::Format::SILU_TINY).or_nan_of(x)
}

/// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x / (1 + e^-v), v = sqrt(8/pi) (x + 0.044715 x^3).
#[inline(always)]
pub(crate) fn gelu_tanh<V: Value<Format: LogisticTable>, L: Level>(x: V) -> V {
    let a = x.at_least(V::Format::GELU_TANH_MIN);
    let bounded = a.at_most(V::Format::GELU_TANH_MAX);
    // v as a sum of two floats, because the error of e^v is the absolute one of v.
    let [linear, linear_lo] = V::Format::GELU_TANH_LINEAR.map(V::from);
    let [cubic, cubic_lo] = V::Format::GELU_TANH_CUBIC.map(V::from);
    let (square, square_lo) = two_product::<V, L>(bounded, bounded);
    let (term, term_error) = two_product::<V, L>(cubic, square);
    let term_lo = cubic.madd::<L>(square_lo, cubic_lo.madd::<L>(square, term_error));
    let is_larger = term.above(linear);
    let (larger, smaller) = (V::select(is_larger, term, linear), V::select(is_larger, linear, term));
    let (factor, factor_error) = fast_two_sum(larger, smaller);
    let (v, v_error) = two_product::<V, L>(bounded, factor);
    let v_lo = bounded.madd::<L>(factor_error + (term_lo + linear_lo), v_error);

    // As in `weighted`, with one power of two, 2^(n+k), in place of two factors: no |v| is too large for that here.
    // What becomes small is multiplied by 2^-k last.
    let [k, lower] = V::Format::GELU_TANH_LIFT.map(V::from);
    let (e, biased) = exp_and_exponent::<V, L>(-v.magnitude(), v_lo.xor_sign(-v), k);
    let e = e * biased.two_to();
    let negative = v.has_sign();
    let (weight, back) = (V::select(negative, e, V::ONE), V::select(negative, lower, V::ONE));
    (a * weight / e.madd::<L>(lower, V::ONE) * back).or_nan_of(x)
}

/// log(e^larger + e^(larger - distance - rest)), for a `rest` of at most half an ulp of `distance`.
#[inline(always)]
fn sum_of_exps<V: Value<Format: LogisticTable>, L: Level>(larger: V, distance: V, rest: V) -> V {
    // A value that is added to a number above 1 need not underflow.
    let is_large = larger.magnitude().above(V::ONE);
    let least: V = V::select(is_large, V::Format::EXPM1_MIN, V::Format::EXP_MIN);
    // Differences that overflow have no rest.
    let overflows = (-distance).below(least);
    let (size, rest) = (V::select(overflows, least, -distance), V::select(overflows, V::ZERO, -rest));
    larger + log1p::<V, L>(exp_of_sum::<V, L>(size, rest))
}

/// log(1 + e^x).
#[inline(always)]
pub(crate) fn softplus<V: Value<Format: LogisticTable>, L: Level>(x: V) -> V {
    let larger = V::select(x.above(V::ZERO), x, V::ZERO);
    sum_of_exps::<V, L>(larger, x.magnitude(), V::ZERO).or_nan_of(x)
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp<V: Value<Format: LogisticTable>, L: Level>(x: V, y: V) -> V {
    let is_larger = x.above(y);
    let (larger, smaller) = (V::select(is_larger, x, y), V::select(is_larger, y, x));
    // Equal infinities have no difference.
    let is_equal = x.equals(y);
    let (distance, rest) = two_sum(larger, -smaller);
    let (distance, rest) = (V::select(is_equal, V::ZERO, distance), V::select(is_equal, V::ZERO, rest));
    sum_of_exps::<V, L>(larger, distance, rest).or_nan_of(x).or_nan_of(y)
}
