//! The hyperbolic tangent.
//!
//! ```text
//! N = e^(2|x|) - 1 as a sum of two floats ──▶ tanh |x| = N / (N + 2), a division and its correction
//! ```
//!
//! The second float of N and the correction keep the error below one ulp: a plain quotient has three roundings of full
//! weight.

use crate::exact::{fast_two_sum, minus_product, two_sum};
use crate::exp::ExpTable;
use crate::float::Value;
use crate::level::Level;

/// The constants of the hyperbolic tangent for a format.
pub trait TanhTable: ExpTable {
    /// From this value on, tanh rounds to 1.
    const TANH_ONE: Self;
}

impl TanhTable for f32 {
    const TANH_ONE: f32 = 10.0;
}

impl TanhTable for f64 {
    const TANH_ONE: f64 = 22.0;
}

/// The hyperbolic tangent of x.
#[inline(always)]
pub(crate) fn tanh<V: Value<Format: TanhTable>, L: Level>(x: V) -> V {
    let a = x.magnitude();
    let a = a.at_most(V::Format::TANH_ONE);
    let twice = a + a;

    // e^r - 1 = hi + curve as in `exp`, with 2|x| = n ln 2 + r.
    let round = V::ROUND + V::BIAS;
    let biased = twice.madd::<L>(V::Format::LOG2_E, round);
    let n = biased - round;
    let hi = (-n).madd::<L>(V::Format::LN2_HI, twice);
    let lo = -n * V::Format::LN2_LO.into();
    let r = hi + lo;
    let curve = (r * r).madd::<L>(V::Format::exp_tail::<V, L>(r), lo);

    // N = 2^n (e^r - 1) + (2^n - 1); the second is zero or at least |2^n hi|.
    let scale = biased.two_to();
    let (sum, error) = fast_two_sum(scale - V::ONE, scale * hi);
    let (n_hi, n_lo) = fast_two_sum(sum, scale.madd::<L>(curve, error));
    let (d_hi, d_lo) = two_sum(n_hi, V::TWO);
    let d_lo = d_lo + n_lo;

    let inverse = V::ONE / d_hi;
    let quotient = n_hi * inverse;
    let rest = minus_product::<V, L>(n_hi, quotient, d_hi) + (-quotient).madd::<L>(d_lo, n_lo);
    rest.madd::<L>(inverse, quotient).xor_sign(x).or_nan_of(x)
}
