//! The inverse trigonometric functions.
//!
//! ```text
//! asin, acos:  |x| > 1/2 ──▶ s = sqrt((1 - |x|) / 2) ──▶ asin |x| = pi/2 - 2 asin s
//! atan, atan2: y/x ──▶ the nearest multiple of pi/4 plus atan t, |t| <= tan(pi/8)
//! ```
//!
//! A square root or quotient brings its rounding error along, as a second float, and so do the multiples of
//! pi/4; all second floats are added to the tail of the series.

use crate::exact::{divide, fast_two_sum, minus_product};
use crate::float::{Float, polynomial};
use crate::level::Level;
use crate::trig::TrigTable;

/// The constants of the inverse trigonometric functions for a format.
pub trait ArcTable: TrigTable {
    /// 3/4 pi in two parts.
    const FRAC_3_PI_4: [Self; 2];
    /// tan(pi/8), about.
    const TAN_PI_8: Self;
    /// tan(3/8 pi), about.
    const TAN_3_PI_8: Self;
    /// Reciprocals of numbers up to here are normal.
    const INVERTIBLE: Self;
    /// Lifts every subnormal far into the normal range.
    const FAR_LIFT: Self;

    /// R in asin s = s + s^3 R(s^2) for |s| <= 1/2.
    fn asin_tail<L: Level>(z: Self) -> Self;
    /// R in atan t = t + t^3 R(t^2) for |t| up to about tan(pi/8).
    fn atan_tail<L: Level>(z: Self) -> Self;
}

impl ArcTable for f32 {
    const FRAC_3_PI_4: [f32; 2] = [2.3561945, -5.9624403e-9];
    const TAN_PI_8: f32 = 0.41421357;
    const TAN_3_PI_8: f32 = 2.4142137;
    const INVERTIBLE: f32 = 4.2535296e37; // 2^125
    const FAR_LIFT: f32 = 18446744073709551616.0; // 2^64

    #[inline(always)]
    fn asin_tail<L: Level>(z: f32) -> f32 {
        // Error relative to asin s: 2^-31.3.
        polynomial::<f32, L, 6>(z, [0.16666658, 0.07500647, 0.04448834, 0.03205526, 0.013474278, 0.03890466])
    }

    #[inline(always)]
    fn atan_tail<L: Level>(z: f32) -> f32 {
        // Error relative to atan t: 2^-30.2.
        polynomial::<f32, L, 5>(z, [-0.33333313, 0.19998258, -0.14239275, 0.1056085, -0.059915405])
    }
}

impl ArcTable for f64 {
    const FRAC_3_PI_4: [f64; 2] = [2.356194490192345, 9.184850993605148e-17];
    const TAN_PI_8: f64 = 0.41421356237309503;
    const TAN_3_PI_8: f64 = 2.414213562373095;
    const INVERTIBLE: f64 = 2.247116418577895e307; // 2^1021
    const FAR_LIFT: f64 = 1.3407807929942597e154; // 2^512

    #[inline(always)]
    fn asin_tail<L: Level>(z: f64) -> f64 {
        // Error relative to asin s: 2^-59.8.
        polynomial::<f64, L, 13>(
            z,
            [
                0.16666666666666763,
                0.07499999999970178,
                0.044642857175205546,
                0.03038194267936169,
                0.02237221578521066,
                0.017351597763210845,
                0.013980990334106323,
                0.011397532089545961,
                0.010787937051149612,
                0.0036775735594492967,
                0.021777160048875418,
                -0.021097116536654165,
                0.03268958874112156,
            ],
        )
    }

    #[inline(always)]
    fn atan_tail<L: Level>(z: f64) -> f64 {
        // Error relative to atan t: 2^-59.5.
        polynomial::<f64, L, 11>(
            z,
            [
                -0.333333333333332,
                0.19999999999954,
                -0.14285714280239634,
                0.11111110785673808,
                -0.0909089782258373,
                0.07692061382070572,
                -0.06663117397208677,
                0.058479865955607786,
                -0.050397424682128315,
                0.038075644161937816,
                -0.01791928729229528,
            ],
        )
    }
}

/// The arc whose sine is |x|, in the form that its size calls for.
struct Arc<T> {
    /// Whether the arc is the complement `pi/2 - 2 (hi + lo)`, else it is `hi + lo`.
    complement: bool,
    hi: T,
    lo: T,
}

/// The arc for |x| = a <= 1; beyond, any numbers.
#[inline(always)]
fn arc<T: ArcTable, L: Level>(a: T) -> Arc<T> {
    let complement = a > T::HALF;
    let half_rest = T::HALF * (T::ONE - a); // exact where it is used
    let root = half_rest.sqrt();
    let root_error = minus_product::<T, L>(half_rest, root, root) / (root + root);
    let root_error = if root > T::ZERO { root_error } else { T::ZERO };

    let z = if complement { half_rest } else { a * a };
    let hi = if complement { root } else { a };
    let error = if complement { root_error } else { T::ZERO };
    Arc { complement, hi, lo: (hi * z).madd::<L>(T::asin_tail::<L>(z), error) }
}

/// `base + hi + lo`, for a base of two parts that is zero or larger than `hi`.
#[inline(always)]
fn onto<T: Float>(base: [T; 2], hi: T, lo: T) -> T {
    let (sum, error) = fast_two_sum(base[0], hi);
    sum + (error + (base[1] + lo))
}

/// The two parts of `factor * pi/2`, for a power of two.
#[inline(always)]
fn half_pi_times<T: ArcTable>(factor: T) -> [T; 2] {
    let [hi, lo, _] = T::FRAC_PI_2;
    [factor * hi, factor * lo]
}

/// The arc sine of x.
#[inline(always)]
pub(crate) fn asin<T: ArcTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    let Arc { complement, hi, lo } = arc::<T, L>(a);
    let zero = [T::ZERO; 2];
    let (base, factor) = if complement { (half_pi_times(T::ONE), -T::TWO) } else { (zero, T::ONE) };
    let result = onto(base, factor * hi, factor * lo).xor_sign(x);
    if a <= T::ONE { result } else { T::NAN }
}

/// The arc cosine of x.
#[inline(always)]
pub(crate) fn acos<T: ArcTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    let Arc { complement, hi, lo } = arc::<T, L>(a);
    // pi/2 -+ the arc; for its complements 2 (hi + lo), or pi minus that.
    let base = match (complement, x.has_sign()) {
        (false, _) => half_pi_times(T::ONE),
        (true, false) => [T::ZERO; 2],
        (true, true) => half_pi_times(T::TWO),
    };
    let factor = if complement { T::TWO } else { -T::ONE };
    let result = onto(base, (factor * hi).xor_sign(x), (factor * lo).xor_sign(x));
    if a <= T::ONE { result } else { T::NAN }
}

/// atan((n + n_lo) / (d + d_lo)) as a sum of two floats, for quotients of at most about tan(pi/8).
#[inline(always)]
fn atan_of_quotient<T: ArcTable, L: Level>(n: T, n_lo: T, d: T, d_lo: T) -> (T, T) {
    let (t, t_lo) = divide::<T, L>(n, n_lo, d, d_lo);
    let z = t * t;
    (t, (t * z).madd::<L>(T::atan_tail::<L>(z), t_lo))
}

/// The arc tangent of x.
#[inline(always)]
pub(crate) fn atan<T: ArcTable, L: Level>(x: T) -> T {
    // Beyond, the result is pi/2 to far more than its precision; this keeps infinity out of the quotient.
    let largest = T::INTEGERS_FROM * T::INTEGERS_FROM;
    let a = x.magnitude();
    let a = if a > largest { largest } else { a };
    // atan a is atan a, or pi/4 + atan((a - 1) / (a + 1)), or pi/2 + atan(-1 / a). In the middle
    // fast_two_sum is right even for a > 1: the difference is exact there, and so is the sum minus 1.
    let (flat, steep) = (a < T::TAN_PI_8, a > T::TAN_3_PI_8);
    let (difference, difference_lo) = fast_two_sum(-T::ONE, a);
    let (sum, sum_lo) = fast_two_sum(T::ONE, a);
    let end = flat | steep;
    let n = if flat { a } else { difference };
    let n = if steep { -T::ONE } else { n };
    let d = if flat { T::ONE } else { sum };
    let d = if steep { a } else { d };
    let n_lo = if end { T::ZERO } else { difference_lo };
    let d_lo = if end { T::ZERO } else { sum_lo };
    let multiple = if flat { T::ZERO } else { T::HALF };
    let multiple = if steep { T::ONE } else { multiple };

    let (hi, lo) = atan_of_quotient::<T, L>(n, n_lo, d, d_lo);
    let result = onto(half_pi_times(multiple), hi, lo).xor_sign(x);
    if x.unordered() { T::NAN } else { result }
}

/// The angle of the point (x, y), in (-pi, pi].
#[inline(always)]
pub(crate) fn atan2<T: ArcTable, L: Level>(y: T, x: T) -> T {
    let (ay, ax) = (y.magnitude(), x.magnitude());
    let (steep, backward) = (ay > ax, x.has_sign());
    let (long, short) = if steep { (ay, ax) } else { (ax, ay) };

    // The quotient of two infinities counts as 1, and that of two zeros as 0.
    let infinite = long == T::INFINITY;
    let of_infinite = if short == T::INFINITY { T::ONE } else { T::ZERO };
    let short = if infinite { of_infinite } else { short };
    let long = if infinite | (long == T::ZERO) { T::ONE } else { long };
    // Scaled so that no intermediate result is subnormal or infinite, unless the quotient itself is subnormal.
    let scale = if long < T::INVERTIBLE / T::FAR_LIFT { T::FAR_LIFT } else { T::ONE };
    let scale = if long > T::INVERTIBLE { T::HALF * T::HALF * T::HALF } else { scale };
    let (long, short) = (scale * long, scale * short);

    // Within the octant: atan(short / long), or pi/4 + atan((short - long) / (short + long)).
    let middle = short > T::TAN_PI_8 * long;
    let (difference, difference_lo) = fast_two_sum(-long, short);
    let (sum, sum_lo) = fast_two_sum(long, short);
    let zero = T::ZERO;
    let (n, n_lo) = if middle { (difference, difference_lo) } else { (short, zero) };
    let (d, d_lo) = if middle { (sum, sum_lo) } else { (long, zero) };
    let (hi, lo) = atan_of_quotient::<T, L>(n, n_lo, d, d_lo);

    // The octant is entered from its far end if it is steep or backward, but not if it is both.
    let sign = if steep == backward { T::ONE } else { -T::ONE };
    let end = if backward { T::TWO } else { zero };
    let end = half_pi_times(if steep { T::ONE } else { end });
    let centre = if backward { T::FRAC_3_PI_4 } else { half_pi_times(T::HALF) };
    let base = if middle { centre } else { end };
    let result = onto(base, sign * hi, sign * lo).xor_sign(y);
    if x.unordered() | y.unordered() { T::NAN } else { result }
}
