//! The exponential function.
//!
//! ```text
//! x = n ln 2 + r ──▶ e^r = 1 + r + r^2 Q(r), |r| <= ln 2 / 2 ──▶ times 2^n, in two factors
//! ```

use crate::float::{Float, polynomial};
use crate::level::Level;

/// What the exponential and its relatives need per format.
pub trait ExpTable: Float {
    const LOG2_E: Self;
    /// The head of ln 2, short enough that its product with any exponent is exact.
    const LN2_HI: Self;
    /// ln 2 - `LN2_HI`.
    const LN2_LO: Self;
    /// From here on the result is infinite.
    const EXP_MAX: Self;
    /// From here down the result is zero.
    const EXP_MIN: Self;

    /// Q in e^r = 1 + r + r^2 Q(r) for |r| <= ln 2 / 2.
    fn exp_tail<L: Level>(r: Self) -> Self;
}

// Coefficients here and in the other files: coefficients.py (Remez exchange in 60 digits, then rounded).
impl ExpTable for f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2_HI: f32 = 0.69314575; // 15 bits
    const LN2_LO: f32 = 1.4286068e-6;
    const EXP_MAX: f32 = 89.0;
    const EXP_MIN: f32 = -104.0;

    #[inline(always)]
    fn exp_tail<L: Level>(r: f32) -> f32 {
        // Error relative to e^r: 2^-28.3.
        polynomial::<f32, L, 5>(r, [0.49999994, 0.16666521, 0.04166839, 0.008368717, 0.0013814599])
    }
}

impl ExpTable for f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_HI: f64 = 0.6931471805601177; // 41 bits
    const LN2_LO: f64 = -1.7239444525614835e-13;
    const EXP_MAX: f64 = 710.0;
    const EXP_MIN: f64 = -746.0;

    #[inline(always)]
    fn exp_tail<L: Level>(r: f64) -> f64 {
        // Error relative to e^r: 2^-57.9.
        polynomial::<f64, L, 10>(
            r,
            [
                0.5000000000000011,
                0.16666666666666413,
                0.041666666666530155,
                0.008333333333494463,
                0.001388888894363038,
                0.00019841269506575744,
                2.480149309863533e-05,
                2.7557586375678646e-06,
                2.763024847316803e-07,
                2.5000061183251388e-08,
            ],
        )
    }
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<T: ExpTable, L: Level>(x: T) -> T {
    let result = exp_of_sum::<T, L>(x, T::ZERO);
    if x.unordered() { T::NAN } else { result }
}

/// e^(x + dx) for a `dx` of at most some ulps of `x`.
#[inline(always)]
pub(crate) fn exp_of_sum<T: ExpTable, L: Level>(x: T, dx: T) -> T {
    // Keeps 2^n in the range of its two factors; the last product then overflows or vanishes by itself.
    let x = if x > T::EXP_MAX { T::EXP_MAX } else { x };
    let x = if x < T::EXP_MIN { T::EXP_MIN } else { x };
    let round = T::ROUND + (T::BIAS + T::BIAS);
    let biased = x.madd::<L>(T::LOG2_E, round);
    let n = biased - round;
    let hi = (-n).madd::<L>(T::LN2_HI, x); // exact, see LN2_HI
    let lo = (-n).madd::<L>(T::LN2_LO, dx);
    let r = hi + lo;
    // The rounding error of r matters only in the linear term: there hi and lo are added separately.
    let curve = (r * r).madd::<L>(T::exp_tail::<L>(r), lo);
    let e_r = T::ONE + (hi + curve);
    let (first, second) = biased.two_to_in_halves();
    e_r * first * second
}
