//! The natural logarithm.
//!
//! ```text
//! x = 2^k (1 + f) ──▶ log(1 + f) = f + tail(f), sqrt(1/2) <= 1 + f < sqrt(2) ──▶ plus k ln 2, in two parts
//! ```

use crate::exact::fast_two_sum;
use crate::exp::ExpTable;
use crate::float::{Float, polynomial};
use crate::level::Level;

/// What the logarithm needs per format.
pub trait LogTable: ExpTable {
    /// log(1 + f) - f for 1 + f between sqrt(1/2) and sqrt(2).
    fn log_tail<L: Level>(f: Self) -> Self;
}

impl LogTable for f32 {
    #[inline(always)]
    fn log_tail<L: Level>(f: f32) -> f32 {
        // log(1 + f) = f - f^2/2 + f^3 P(f), error relative to the result: 2^-30.4.
        let p = polynomial::<f32, L, 9>(
            f,
            [
                0.3333331,
                -0.24999987,
                0.20002227,
                -0.16669253,
                0.14218664,
                -0.12384335,
                0.11872926,
                -0.11789864,
                0.069155395,
            ],
        );
        let square = f * f;
        (square * f).madd::<L>(p, -0.5 * square)
    }
}

impl LogTable for f64 {
    #[inline(always)]
    fn log_tail<L: Level>(f: f64) -> f64 {
        // With s = f / (2 + f) the logarithm is 2 atanh(s) = 2s + s R(s^2), and 2s = f - s f: a series in s^2
        // <= 0.03 needs a third of the terms of one in f. The rearrangement is that of FreeBSD's e_log.c:
        // log(1 + f) = f - f^2/2 + s (f^2/2 + R). Error of R relative to the result: 2^-58.5.
        let s = f / (2.0 + f);
        let z = s * s;
        let r = z * polynomial::<f64, L, 7>(
            z,
            [
                0.6666666666666734,
                0.3999999999941432,
                0.28571428742475,
                0.22222198563471532,
                0.1818356486740325,
                0.15314035816891758,
                0.14796105619956618,
            ],
        );
        let half_square = 0.5 * f * f;
        s.madd::<L>(half_square + r, -half_square)
    }
}

/// The exponent and mantissa of a positive finite number, subnormal or not.
#[inline(always)]
pub(crate) fn split<T: Float>(x: T) -> (T, T) {
    let subnormal = x < T::MIN_POSITIVE;
    let (k, m) = (if subnormal { x * T::LIFT } else { x }).split_exponent();
    (if subnormal { k - T::LIFT_EXPONENT } else { k }, m)
}

/// The natural logarithm of x.
#[inline(always)]
pub(crate) fn log<T: LogTable, L: Level>(x: T) -> T {
    let (k, m) = split(x);
    let f = m - T::ONE;
    // k LN2_HI is exact, and at least twice |f| unless it is zero.
    let (sum, error) = fast_two_sum(k * T::LN2_HI, f);
    let finite = sum + (error + k.madd::<L>(T::LN2_LO, T::log_tail::<L>(f)));
    let result = if x < T::INFINITY { finite } else { x };
    let result = if x == T::ZERO { -T::INFINITY } else { result };
    if x >= T::ZERO { result } else { T::NAN }
}
