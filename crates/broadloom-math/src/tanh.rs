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
pub(crate) fn tanh<T: TanhTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    let a = if a > T::TANH_ONE { T::TANH_ONE } else { a };
    let twice = a + a;

    // e^r - 1 = hi + curve as in `exp`, with 2|x| = n ln 2 + r.
    let round = T::ROUND + T::BIAS;
    let biased = twice.madd::<L>(T::LOG2_E, round);
    let n = biased - round;
    let hi = (-n).madd::<L>(T::LN2_HI, twice);
    let lo = -n * T::LN2_LO;
    let r = hi + lo;
    let curve = (r * r).madd::<L>(T::exp_tail::<L>(r), lo);

    // N = 2^n (e^r - 1) + (2^n - 1); the second is zero or at least |2^n hi|.
    let scale = biased.two_to();
    let (sum, error) = fast_two_sum(scale - T::ONE, scale * hi);
    let (n_hi, n_lo) = fast_two_sum(sum, scale.madd::<L>(curve, error));
    let (d_hi, d_lo) = two_sum(n_hi, T::TWO);
    let d_lo = d_lo + n_lo;

    let inverse = T::ONE / d_hi;
    let quotient = n_hi * inverse;
    let rest = minus_product::<T, L>(n_hi, quotient, d_hi) + (-quotient).madd::<L>(d_lo, n_lo);
    let result = rest.madd::<L>(inverse, quotient).xor_sign(x);
    if x.unordered() { T::NAN } else { result }
}
