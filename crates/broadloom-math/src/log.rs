//! Logarithms: natural, of 1 + x, and to the bases 2 and 10.
//!
//! ```text
//! x = 2^k (1 + f) ──▶ log(1 + f) = f + tail(f), sqrt(1/2) <= 1 + f < sqrt(2) ──▶ plus k ln 2, in two parts
//! ```

use crate::exact::{fast_two_sum, two_sum};
use crate::exp::ExpTable;
use crate::float::{Value, polynomial};
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
    fn log_tail<V: Value<Format = Self>, L: Level>(f: V) -> V;
}

impl LogTable for f32 {
    const LOG2_E_PARTS: [f32; 2] = [1.4428711, -0.00017605285];
    const LOG10_E: f32 = std::f32::consts::LOG10_E;
    const LOG10_E_PARTS: [f32; 2] = [0.43432617, -3.168997e-5];
    const LOG10_2_PARTS: [f32; 2] = [0.3010254, 4.605039e-6];

    #[inline(always)]
    fn log_tail<V: Value<Format = f32>, L: Level>(f: V) -> V {
        // log(1 + f) = f - f^2/2 + f^3 P(f), error relative to the result: 2^-30.4.
        let p = polynomial::<V, L, 9>(
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
        (square * f).madd::<L>(p, -V::HALF * square)
    }
}

impl LogTable for f64 {
    const LOG2_E_PARTS: [f64; 2] = [1.4426950514316559, -1.0542692476429138e-8];
    const LOG10_E: f64 = std::f64::consts::LOG10_E;
    const LOG10_E_PARTS: [f64; 2] = [0.4342944845557213, -2.6524694553078553e-9];
    const LOG10_2_PARTS: [f64; 2] = [0.3010299956640665, -8.532344317057107e-14];

    #[inline(always)]
    fn log_tail<V: Value<Format = f64>, L: Level>(f: V) -> V {
        // With s = f / (2 + f) the logarithm is 2 atanh(s) = 2s + s R(s^2), and 2s = f - s f: a series in s^2
        // <= 0.03 needs a third of the terms of one in f. The rearrangement is that of FreeBSD's e_log.c:
        // log(1 + f) = f - f^2/2 + s (f^2/2 + R). Error of R relative to the result: 2^-58.5.
        let s = f / (V::TWO + f);
        let z = s * s;
        let r = z * polynomial::<V, L, 7>(
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
        let half_square = V::HALF * f * f;
        s.madd::<L>(half_square + r, -half_square)
    }
}

/// The exponent and mantissa of a positive finite number, subnormal or not.
#[inline(always)]
pub(crate) fn split<V: Value>(x: V) -> (V, V) {
    let subnormal = x.below(V::MIN_POSITIVE);
    let (k, m) = V::select(subnormal, x * V::LIFT, x).split_exponent();
    (V::select(subnormal, k - V::LIFT_EXPONENT, k), m)
}

/// Returns the logarithm of any x, given the value for a positive finite x.
#[inline(always)]
fn with_limits<V: Value>(x: V, finite: V) -> V {
    let result = V::select(x.below(V::INFINITY), finite, x);
    let result = V::select(x.equals(V::ZERO), -V::INFINITY, result);
    V::select(V::ZERO.below_or_equal(x), result, V::NAN)
}

/// The natural logarithm of x.
#[inline(always)]
pub(crate) fn log<V: Value<Format: LogTable>, L: Level>(x: V) -> V {
    let (k, m) = split(x);
    let f = m - V::ONE;
    // k LN2_HI is exact, and at least twice |f| unless it is zero.
    let (sum, error) = fast_two_sum(k * V::Format::LN2_HI.into(), f);
    with_limits(x, sum + (error + k.madd::<L>(V::Format::LN2_LO, V::Format::log_tail::<V, L>(f))))
}

/// The natural logarithm of 1 + x.
#[inline(always)]
pub(crate) fn log1p<V: Value<Format: LogTable>, L: Level>(x: V) -> V {
    // Below half an ulp of 1, x^2 / 2 has no effect, and would underflow.
    let tiny = (x.magnitude() * V::LIFT).below(V::ONE);
    let (u, rest) = two_sum(V::ONE, V::select(tiny, V::ZERO, x));
    let (k, m) = u.split_exponent();
    // 1 + x = 2^k (m + rest 2^-k); for k = 0 that gives f = x again. The rest does not count for large k.
    let rest = rest * (V::ROUND + V::BIAS - k.at_most(V::LIFT_EXPONENT)).two_to();
    let (f, f_error) = fast_two_sum(m - V::ONE, rest);
    let (sum, error) = fast_two_sum(k * V::Format::LN2_HI.into(), f);
    // log(1 + f + d) = log(1 + f) + d (1 - f + ..)
    let tail = V::Format::log_tail::<V, L>(f) + (-f).madd::<L>(f_error, f_error);
    let finite = sum + (error + k.madd::<L>(V::Format::LN2_LO, tail));
    V::select(tiny, x, with_limits(V::ONE + x, finite))
}

/// f + tail(f) times a constant given in parts, as a sum: the first product is exact.
#[inline(always)]
fn in_base<V: Value<Format: LogTable>, L: Level>(
    f: V,
    whole: V::Format,
    [c_head, c_rest]: [V::Format; 2],
) -> (V, V) {
    let (log, error) = fast_two_sum(f, V::Format::log_tail::<V, L>(f));
    let head = log.head();
    (head * c_head.into(), head.madd::<L>(c_rest, ((log - head) + error) * whole.into()))
}

/// The logarithm of x to the base 2, exact for powers of two.
#[inline(always)]
pub(crate) fn log2<V: Value<Format: LogTable>, L: Level>(x: V) -> V {
    let (k, m) = split(x);
    let (hi, lo) = in_base::<V, L>(m - V::ONE, V::Format::LOG2_E, V::Format::LOG2_E_PARTS);
    let (sum, error) = fast_two_sum(k, hi);
    with_limits(x, sum + (error + lo))
}

/// The logarithm of x to the base 10, exact for powers of ten.
#[inline(always)]
pub(crate) fn log10<V: Value<Format: LogTable>, L: Level>(x: V) -> V {
    let (k, m) = split(x);
    let (hi, lo) = in_base::<V, L>(m - V::ONE, V::Format::LOG10_E, V::Format::LOG10_E_PARTS);
    let [log10_2_hi, log10_2_lo] = V::Format::LOG10_2_PARTS;
    let (sum, error) = fast_two_sum(k * log10_2_hi.into(), hi);
    with_limits(x, sum + (error + k.madd::<L>(log10_2_lo, lo)))
}
