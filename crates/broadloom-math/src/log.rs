//! Logarithms: natural, of 1 + x, and to the bases 2 and 10.
//!
//! ```text
//! x = 2^k (1 + f) ──▶ log(1 + f) = f + tail(f), sqrt(1/2) <= 1 + f < sqrt(2) ──▶ plus k ln 2, in two parts
//! ```

use crate::exact::{fast_two_sum, two_sum};
use crate::exp::ExpTable;
use crate::float::{Float, polynomial};
use crate::level::Level;

/// The constants of the logarithms for a format.
pub trait LogTable: ExpTable {
    /// log2 e: its head of half a mantissa, and the rest.
    const LOG2_E_PARTS: [Self; 2];
    /// log10 e, whole, its head of half a mantissa, and the rest.
    const LOG10_E: Self;
    const LOG10_E_PARTS: [Self; 2];
    /// log10 2: a head short enough that its product with any exponent is exact, and the rest.
    const LOG10_2_PARTS: [Self; 2];

    /// log(1 + f) - f for 1 + f between sqrt(1/2) and sqrt(2).
    fn log_tail<L: Level>(f: Self) -> Self;
}

impl LogTable for f32 {
    const LOG2_E_PARTS: [f32; 2] = [1.4428711, -0.00017605285];
    const LOG10_E: f32 = std::f32::consts::LOG10_E;
    const LOG10_E_PARTS: [f32; 2] = [0.43432617, -3.168997e-5];
    const LOG10_2_PARTS: [f32; 2] = [0.3010254, 4.605039e-6];

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
    const LOG2_E_PARTS: [f64; 2] = [1.4426950514316559, -1.0542692476429138e-8];
    const LOG10_E: f64 = std::f64::consts::LOG10_E;
    const LOG10_E_PARTS: [f64; 2] = [0.4342944845557213, -2.6524694553078553e-9];
    const LOG10_2_PARTS: [f64; 2] = [0.3010299956640665, -8.532344317057107e-14];

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

/// Returns the logarithm of any x, given the value for a positive finite x.
#[inline(always)]
fn with_limits<T: Float>(x: T, finite: T) -> T {
    let result = if x < T::INFINITY { finite } else { x };
    let result = if x == T::ZERO { -T::INFINITY } else { result };
    if x >= T::ZERO { result } else { T::NAN }
}

/// The natural logarithm of x.
#[inline(always)]
pub(crate) fn log<T: LogTable, L: Level>(x: T) -> T {
    let (k, m) = split(x);
    let f = m - T::ONE;
    // k LN2_HI is exact, and at least twice |f| unless it is zero.
    let (sum, error) = fast_two_sum(k * T::LN2_HI, f);
    with_limits(x, sum + (error + k.madd::<L>(T::LN2_LO, T::log_tail::<L>(f))))
}

/// The natural logarithm of 1 + x.
#[inline(always)]
pub(crate) fn log1p<T: LogTable, L: Level>(x: T) -> T {
    // Below half an ulp of 1, x^2 / 2 has no effect, and would underflow.
    let tiny = x.magnitude() * T::LIFT < T::ONE;
    let (u, rest) = two_sum(T::ONE, if tiny { T::ZERO } else { x });
    let (k, m) = u.split_exponent();
    // 1 + x = 2^k (m + rest 2^-k); for k = 0 that gives f = x again. The rest does not count for large k.
    let bounded = if k > T::LIFT_EXPONENT { T::LIFT_EXPONENT } else { k };
    let rest = rest * (T::ROUND + T::BIAS - bounded).two_to();
    let (f, f_error) = fast_two_sum(m - T::ONE, rest);
    let (sum, error) = fast_two_sum(k * T::LN2_HI, f);
    // log(1 + f + d) = log(1 + f) + d (1 - f + ..)
    let tail = T::log_tail::<L>(f) + (-f).madd::<L>(f_error, f_error);
    let finite = sum + (error + k.madd::<L>(T::LN2_LO, tail));
    let result = with_limits(T::ONE + x, finite);
    if tiny { x } else { result }
}

/// f + tail(f) times a constant given in parts, as a sum: the first product is exact.
#[inline(always)]
fn in_base<T: LogTable, L: Level>(f: T, whole: T, [c_head, c_rest]: [T; 2]) -> (T, T) {
    let (log, error) = fast_two_sum(f, T::log_tail::<L>(f));
    let head = log.head();
    (head * c_head, head.madd::<L>(c_rest, ((log - head) + error) * whole))
}

/// The logarithm of x to the base 2, exact for powers of two.
#[inline(always)]
pub(crate) fn log2<T: LogTable, L: Level>(x: T) -> T {
    let (k, m) = split(x);
    let (hi, lo) = in_base::<T, L>(m - T::ONE, T::LOG2_E, T::LOG2_E_PARTS);
    let (sum, error) = fast_two_sum(k, hi);
    with_limits(x, sum + (error + lo))
}

/// The logarithm of x to the base 10, exact for powers of ten.
#[inline(always)]
pub(crate) fn log10<T: LogTable, L: Level>(x: T) -> T {
    let (k, m) = split(x);
    let (hi, lo) = in_base::<T, L>(m - T::ONE, T::LOG10_E, T::LOG10_E_PARTS);
    let [log10_2_hi, log10_2_lo] = T::LOG10_2_PARTS;
    let (sum, error) = fast_two_sum(k * log10_2_hi, hi);
    with_limits(x, sum + (error + k.madd::<L>(log10_2_lo, lo)))
}
