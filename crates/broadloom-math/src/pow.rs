//! Powers.
//!
//! ```text
//! |x|^y = e^(y log |x|) ──▶ sign by the parity of y ──▶ the table of C99 F.9.4.4
//! ```
//!
//! An error of one ulp in a logarithm near 700 would be 700 ulps in the result. So f64 takes the logarithm as
//! a sum of two floats, and f32 computes in f64.

use crate::exact::{fast_two_sum, minus_product, two_product};
use crate::exp::{ExpTable, exp_of_sum};
use crate::float::{Float, Value, polynomial};
use crate::level::Level;
use crate::log;
use std::f64::consts::LN_2;

/// |x|^y by format, for positive finite |x| and finite y; otherwise any number.
pub trait PowTable: Float {
    fn finite_pow<L: Level>(x: Self, y: Self) -> Self;
}

impl PowTable for f32 {
    #[inline(always)]
    fn finite_pow<L: Level>(x: f32, y: f32) -> f32 {
        // Like log and exp for f64, but shorter: only 2^-24 matters. The logarithm's error, 2^-36.6 of
        // itself, grows to 2^-29.9 of the result at its largest, 104; the exponential adds 2^-34.2.
        let (k, m) = log::split(x);
        let f = f64::from(m) - 1.0;
        let s = f / (2.0 + f);
        let z = s * s;
        let series = polynomial::<f64, L, 4>(
            z,
            [0.6666666564504026, 0.40000335293769085, 0.28537301513722885, 0.23582293241362365],
        );
        let log_m = (s * z).madd::<L>(series, s + s);
        let exponent = f64::from(y) * f64::from(k).madd::<L>(LN_2, log_m);

        // Within these bounds 2^n is a normal f64, and beyond them results are infinite or zero in f32.
        let exponent = if exponent > 100.0 { 100.0 } else { exponent };
        let exponent = if exponent < -105.0 { -105.0 } else { exponent };
        let round = f64::ROUND + f64::BIAS;
        let biased = exponent.madd::<L>(f64::LOG2_E, round);
        let r = (round - biased).madd::<L>(LN_2, exponent);
        let tail = polynomial::<f64, L, 6>(
            r,
            [
                0.5000000067681972,
                0.16666665868937677,
                0.04166629494755687,
                0.008333497074695138,
                0.001394465961425499,
                0.00019790341495094893,
            ],
        );
        ((r * r).madd::<L>(tail, r + 1.0) * biased.two_to()) as f32
    }
}

impl PowTable for f64 {
    #[inline(always)]
    fn finite_pow<L: Level>(x: f64, y: f64) -> f64 {
        let (log_hi, log_lo) = log_pair::<L>(x);
        let (hi, error) = two_product::<f64, L>(y, log_hi);
        let lo = y.madd::<L>(log_lo, error);
        // Beyond the range of results `lo` may be NaN, from inf - inf.
        let lo = if hi.magnitude() < 1000.0 { lo } else { 0.0 };
        exp_of_sum::<f64, L>(hi, lo)
    }
}

/// log x as a sum of two floats, to about 2^-65 of itself.
#[inline(always)]
fn log_pair<L: Level>(x: f64) -> (f64, f64) {
    let (k, m) = log::split(x);

    // s = f / (m + 1), as a pair: quotient, and its residue divided again.
    let f = m - 1.0;
    let (d_hi, d_lo) = (1.0 + m, m - ((1.0 + m) - 1.0));
    let inverse = 1.0 / d_hi;
    let s = f * inverse;
    let residue = (-s).madd::<L>(d_lo, minus_product::<f64, L>(f, s, d_hi));
    let s_lo = residue * inverse;

    // log m = 2 atanh s = 2s + s^3 (2/3 + z (2/5 + 2/7 z + ..)), z = s^2 <= 0.03. Rounding errors of the
    // inner series are scaled by z^3 <= 2^-15; the outer terms are pairs. Error of the series: 2^-71.7.
    let (z, z_error) = two_product::<f64, L>(s, s);
    let z_lo = (s + s).madd::<L>(s_lo, z_error);
    let inner = z * polynomial::<f64, L, 7>(
        z,
        [
            0.2857142857143283,
            0.22222222220132706,
            0.18181818588363993,
            0.15384574135125953,
            0.133357146400548,
            0.11686023871560694,
            0.11902908269195328,
        ],
    );
    let (b, b_lo) = fast_two_sum(0.4, inner);
    let b_lo = b_lo - 2.2204460492503132e-17; // 2/5 - 0.4
    let (series, series_error) = two_product::<f64, L>(z, b);
    let series_lo = z.madd::<L>(b_lo, z_lo.madd::<L>(b, series_error));
    let (c, c_lo) = fast_two_sum(0.6666666666666666, series);
    let c_lo = c_lo + (series_lo + 3.700743415417188e-17); // 2/3 - 0.6666666666666666
    let (cube, cube_error) = two_product::<f64, L>(z, s);
    let cube_lo = z.madd::<L>(s_lo, s.madd::<L>(z_lo, cube_error));
    let (term, term_error) = two_product::<f64, L>(cube, c);
    let term_lo = cube.madd::<L>(c_lo, c.madd::<L>(cube_lo, term_error));

    let (sum, error) = fast_two_sum(k * f64::LN2_HI, s + s);
    let (hi, hi_error) = fast_two_sum(sum, term);
    let lo = (k.madd::<L>(f64::LN2_LO, error) + hi_error) + ((s_lo + s_lo) + term_lo);
    fast_two_sum(hi, lo)
}

/// Whether a float is an integer, as all large ones are.
#[inline(always)]
fn is_integer<T: Float>(x: T) -> bool {
    let a = x.magnitude();
    (a >= T::INTEGERS_FROM) | ((a + T::INTEGERS_FROM) - T::INTEGERS_FROM == a)
}

/// x^y.
#[inline(always)]
pub(crate) fn pow<T: PowTable, L: Level>(x: T, y: T) -> T {
    let a = x.magnitude();
    let y_integer = is_integer(y);
    // y / 2 is exact except for tiny y, which are not integers.
    let y_odd = y_integer & !is_integer(T::HALF * y);

    let size = T::finite_pow::<L>(a, y);
    // 0, infinity and their reciprocals.
    let grows = (a > T::ONE) == (y > T::ZERO);
    let extreme = (a == T::ZERO) | (a == T::INFINITY) | (y.magnitude() == T::INFINITY);
    let limit = if grows { T::INFINITY } else { T::ZERO };
    let size = if extreme { limit } else { size };
    let size = if a == T::ONE { T::ONE } else { size };

    let signed = if x.has_sign() & y_odd { -size } else { size };
    let no_root = (x < T::ZERO) & (a < T::INFINITY) & !y_integer;
    let result = if no_root | x.unordered() | y.unordered() { T::NAN } else { signed };
    if (y == T::ZERO) | (x == T::ONE) { T::ONE } else { result }
}
