//! The error function, its complement, and the Gaussian unit based on it.
//!
//! ```text
//! |x| small: erf x = x + x P(x^2)
//! beyond:    erfc |x| = e^(-x^2) Q(t) / (|x| + 2), t = (|x| - 2) / (|x| + 2)
//!                └─▶ erf |x| = 1 - erfc |x|, erfc -|x| = 2 - erfc |x|
//! ```
//!
//! Both are computed and one is chosen. In the second, the relative error of the exponential is the absolute error of
//! x^2, so the square is a sum of two floats, and so are the other factors. Q follows M. M. Shepherd and J. G.
//! Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x" (1981), with another factor.

use crate::exact::{fast_two_sum, minus_product, two_product, two_sum};
use crate::exp::{ExpTable, Scaled, scaled_exp};
use crate::float::{Value, polynomial};
use crate::level::Level;

/// The constants of the error function and its relatives for a format.
pub trait ErfTable: ExpTable {
    /// From this value on, erfc x and x erfc x are zero.
    const ERFC_MAX: Self;
    /// `ERFC_MAX` sqrt(2), or less.
    const GELU_MAX: Self;
    /// From this value on, erf x and erf(x / sqrt 2) round to 1.
    const ERF_ONE: Self;
    /// Up to this value, erf is the polynomial.
    const ERF_SMALL: Self;

    /// P in erf x = x + x P(x^2) for |x| up to `ERF_SMALL`.
    fn erf_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
    /// (Q(0) in two parts, (Q(t) - Q(0)) / t) for x from 0.68 to `ERFC_MAX`.
    fn erfc_tail<V: Value<Format = Self>, L: Level>(t: V) -> ([Self; 2], V);
}

impl ErfTable for f32 {
    const ERFC_MAX: f32 = 10.5;
    const GELU_MAX: f32 = 14.75;
    const ERF_ONE: f32 = 6.0;
    const ERF_SMALL: f32 = 0.6875;

    #[inline(always)]
    fn erf_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to erf x: 2^-30.9.
        polynomial::<V, L, 6>(
            z,
            [0.12837917, -0.3761263, 0.11283579, -0.026846927, 0.0051445733, -0.0007007377],
        )
    }

    #[inline(always)]
    fn erfc_tail<V: Value<Format = f32>, L: Level>(t: V) -> ([f32; 2], V) {
        // Error relative to Q: 2^-29.6.
        let slope = polynomial::<V, L, 9>(
            t,
            [
                -0.6871607,
                0.27947214,
                -0.036443274,
                -0.02151126,
                0.006493972,
                0.0030875348,
                -0.0009170199,
                -0.00061006186,
                0.00018697957,
            ],
        );
        ([1.0215827, -1.7860266e-08], slope)
    }
}

impl ErfTable for f64 {
    const ERFC_MAX: f64 = 28.0;
    const GELU_MAX: f64 = 39.5;
    const ERF_ONE: f64 = 9.0;
    const ERF_SMALL: f64 = 0.6875;

    #[inline(always)]
    fn erf_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to erf x: 2^-62.9.
        polynomial::<V, L, 11>(
            z,
            [
                0.1283791670955126,
                -0.3761263890318375,
                0.11283791670954556,
                -0.026866170644944294,
                0.005223977622289594,
                -0.0008548326712764119,
                0.0001205531385417662,
                -1.4924891984374678e-05,
                1.6442714873601979e-06,
                -1.605518771088614e-07,
                1.1940566164840966e-08,
            ],
        )
    }

    #[inline(always)]
    fn erfc_tail<V: Value<Format = f64>, L: Level>(t: V) -> ([f64; 2], V) {
        // Error relative to Q: 2^-60.4.
        let slope = polynomial::<V, L, 22>(
            t,
            [
                -0.6871606844138106,
                0.27947209255605493,
                -0.03644223150687255,
                -0.02151066188951653,
                0.006479185067351505,
                0.003090612060750807,
                -0.0008372960519693125,
                -0.0006630735449366066,
                3.437128702002995e-05,
                0.00014447132859777588,
                3.415002211207043e-05,
                -2.1701424738779742e-05,
                -1.6124614239074415e-05,
                -1.0968365888411272e-06,
                3.638887641508052e-06,
                1.9098661897340097e-06,
                8.327096280877951e-08,
                -4.3150841211181675e-07,
                -5.705488074544677e-07,
                -7.617469614941637e-09,
                3.627177913712993e-07,
                -1.1880182178263799e-07,
            ],
        );
        ([1.021582705242023, -1.7257017136291486e-17], slope)
    }
}

/// 1 + erf x for |x| <= `ERF_SMALL`, z being x^2. The polynomial is so small that nearly all of the error is
/// the last rounding.
#[inline(always)]
fn one_plus_small<V: Value<Format: ErfTable>, L: Level>(x: V, z: V) -> V {
    let (sum, error) = fast_two_sum(V::ONE, x);
    sum + x.madd::<L>(V::Format::erf_tail::<V, L>(z), error)
}

/// erfc a for 0.68 <= a <= `ERFC_MAX` as hi + lo, not yet scaled; a^2 is `square + square_lo`.
#[inline(always)]
fn tail<V: Value<Format: ErfTable>, L: Level>(a: V, square: V, square_lo: V) -> Scaled<V> {
    let e = scaled_exp::<V, L>(-square, -square_lo, V::ROUND + (V::BIAS + V::BIAS));
    // 1 / (a + 2), and t = 1 - 4 / (a + 2).
    let (d, d_lo) = two_sum(a, V::TWO);
    let inverse = V::ONE / d;
    let inverse_lo = (-inverse).madd::<L>(d_lo, minus_product::<V, L>(V::ONE, inverse, d)) * inverse;
    let four = V::TWO + V::TWO;
    let (t, t_error) = fast_two_sum(V::ONE, -four * inverse);
    let t_lo = t_error - four * inverse_lo;
    // Q, whose slope is about that of its chord.
    let (constant, slope) = V::Format::erfc_tail::<V, L>(t);
    let [constant, constant_lo] = constant.map(V::from);
    let (q, q_error) = fast_two_sum(constant, t * slope);
    let q_lo = t_lo.madd::<L>(slope, q_error + constant_lo);
    // The products; parts of the second order are left out.
    let (p, p_error) = two_product::<V, L>(q, inverse);
    let p_lo = q.madd::<L>(inverse_lo, q_lo.madd::<L>(inverse, p_error));
    let (hi, error) = two_product::<V, L>(e.hi, p);
    let lo = e.hi.madd::<L>(p_lo, e.lo.madd::<L>(p, error));
    Scaled { hi, lo, exponent: e.exponent }
}

/// The error function of x.
#[inline(always)]
pub(crate) fn erf<V: Value<Format: ErfTable>, L: Level>(x: V) -> V {
    let a = x.magnitude().at_most(V::Format::ERF_ONE);
    let (square, square_lo) = two_product::<V, L>(a, a);
    let rest = tail::<V, L>(a, square, square_lo);
    // Just above ERF_SMALL, the rounding of erfc matters.
    let (large, error) = fast_two_sum(V::ONE, -rest.scale(rest.hi));
    let large = large + (error - rest.scale(rest.lo));
    let small = a.madd::<L>(V::Format::erf_tail::<V, L>(square), a);
    V::select(a.below(V::Format::ERF_SMALL), small, large).xor_sign(x).or_nan_of(x)
}

/// 1 - erf x.
#[inline(always)]
pub(crate) fn erfc<V: Value<Format: ErfTable>, L: Level>(x: V) -> V {
    let is_negative = x.below(V::ZERO);
    // A value that is subtracted from 2 need not underflow.
    let a = x.magnitude().at_most(V::select(is_negative, V::Format::ERF_ONE, V::Format::ERFC_MAX));
    let (square, square_lo) = two_product::<V, L>(a, a);
    let rest = tail::<V, L>(a, square, square_lo);
    let rest = rest.scale(rest.hi + rest.lo);
    let large = V::select(is_negative, V::TWO - rest, rest);
    let small = one_plus_small::<V, L>(-x, square);
    V::select(a.below(V::Format::ERF_SMALL), small, large).or_nan_of(x)
}

/// x/2 erfc(-x / sqrt 2).
#[inline(always)]
pub(crate) fn gelu<V: Value<Format: ErfTable>, L: Level>(x: V) -> V {
    let is_negative = x.below(V::ZERO);
    let size = x.magnitude().at_most(V::select(is_negative, V::Format::GELU_MAX, V::Format::ERF_ONE));
    let a = size * V::SQRT_HALF;
    // a^2, without the rounding error of a: that has no effect elsewhere.
    let (square, square_lo) = two_product::<V, L>(size, size);
    let (square, square_lo) = (square * V::HALF, square_lo * V::HALF);
    let rest = tail::<V, L>(a, square, square_lo);
    let rest = rest.scale((V::HALF * size) * (rest.hi + rest.lo));
    let large = V::select(is_negative, -rest, x - rest);
    let small = V::HALF * x * one_plus_small::<V, L>(a.xor_sign(x), square);
    V::select(a.below(V::Format::ERF_SMALL), small, large).or_nan_of(x)
}
