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
use crate::float::{Value, polynomial};
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
    fn asin_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
    /// R in atan t = t + t^3 R(t^2) for |t| up to about tan(pi/8).
    fn atan_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
}

impl ArcTable for f32 {
    const FRAC_3_PI_4: [f32; 2] = [2.3561945, -5.9624403e-9];
    const TAN_PI_8: f32 = 0.41421357;
    const TAN_3_PI_8: f32 = 2.4142137;
    const INVERTIBLE: f32 = 4.2535296e37; // 2^125
    const FAR_LIFT: f32 = 18446744073709551616.0; // 2^64

    #[inline(always)]
    fn asin_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to asin s: 2^-31.3.
        polynomial::<V, L, 6>(z, [0.16666658, 0.07500647, 0.04448834, 0.03205526, 0.013474278, 0.03890466])
    }

    #[inline(always)]
    fn atan_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to atan t: 2^-30.2.
        polynomial::<V, L, 5>(z, [-0.33333313, 0.19998258, -0.14239275, 0.1056085, -0.059915405])
    }
}

impl ArcTable for f64 {
    const FRAC_3_PI_4: [f64; 2] = [2.356194490192345, 9.184850993605148e-17];
    const TAN_PI_8: f64 = 0.41421356237309503;
    const TAN_3_PI_8: f64 = 2.414213562373095;
    const INVERTIBLE: f64 = 2.247116418577895e307; // 2^1021
    const FAR_LIFT: f64 = 1.3407807929942597e154; // 2^512

    #[inline(always)]
    fn asin_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to asin s: 2^-59.8.
        polynomial::<V, L, 13>(
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
    fn atan_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to atan t: 2^-59.5.
        polynomial::<V, L, 11>(
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
struct Arc<V: Value> {
    /// Whether the arc is the complement `pi/2 - 2 (hi + lo)`, else it is `hi + lo`.
    complement: V::Mask,
    hi: V,
    lo: V,
}

/// The arc for |x| = a <= 1; beyond, any numbers.
#[inline(always)]
fn arc<V: Value<Format: ArcTable>, L: Level>(a: V) -> Arc<V> {
    let complement = a.above(V::HALF);
    let half_rest = V::HALF * (V::ONE - a); // exact where it is used
    let root = half_rest.sqrt();
    let root_error = minus_product::<V, L>(half_rest, root, root) / (root + root);
    let root_error = V::select(root.above(V::ZERO), root_error, V::ZERO);

    let z = V::select(complement, half_rest, a * a);
    let hi = V::select(complement, root, a);
    let error = V::select(complement, root_error, V::ZERO);
    Arc { complement, hi, lo: (hi * z).madd::<L>(V::Format::asin_tail::<V, L>(z), error) }
}

/// `base + hi + lo`, for a base of two parts that is zero or larger than `hi`.
#[inline(always)]
fn onto<V: Value>(base: [V; 2], hi: V, lo: V) -> V {
    let (sum, error) = fast_two_sum(base[0], hi);
    sum + (error + (base[1] + lo))
}

/// The two parts of `factor * pi/2`, for a power of two.
#[inline(always)]
fn half_pi_times<V: Value<Format: ArcTable>>(factor: V) -> [V; 2] {
    let [hi, lo, _] = V::Format::FRAC_PI_2.map(V::from);
    [factor * hi, factor * lo]
}

/// The first base where a condition holds, the second elsewhere.
#[inline(always)]
fn select_base<V: Value>(condition: V::Mask, then: [V; 2], otherwise: [V; 2]) -> [V; 2] {
    [0, 1].map(|part| V::select(condition, then[part], otherwise[part]))
}

/// The arc sine of x.
#[inline(always)]
pub(crate) fn asin<V: Value<Format: ArcTable>, L: Level>(x: V) -> V {
    let a = x.magnitude();
    let Arc { complement, hi, lo } = arc::<V, L>(a);
    let base = select_base(complement, half_pi_times(V::ONE), [V::ZERO; 2]);
    let factor = V::select(complement, -V::TWO, V::ONE);
    let result = onto(base, factor * hi, factor * lo).xor_sign(x);
    V::select(a.below_or_equal(V::ONE), result, V::NAN)
}

/// The arc cosine of x.
#[inline(always)]
pub(crate) fn acos<V: Value<Format: ArcTable>, L: Level>(x: V) -> V {
    let a = x.magnitude();
    let Arc { complement, hi, lo } = arc::<V, L>(a);
    // pi/2 -+ the arc; for its complements 2 (hi + lo), or pi minus that.
    let end = select_base(x.has_sign(), half_pi_times(V::TWO), [V::ZERO; 2]);
    let base = select_base(complement, end, half_pi_times(V::ONE));
    let factor = V::select(complement, V::TWO, -V::ONE);
    let result = onto(base, (factor * hi).xor_sign(x), (factor * lo).xor_sign(x));
    V::select(a.below_or_equal(V::ONE), result, V::NAN)
}

/// atan((n + n_lo) / (d + d_lo)) as a sum of two floats, for quotients of at most about tan(pi/8).
#[inline(always)]
fn atan_of_quotient<V: Value<Format: ArcTable>, L: Level>(n: V, n_lo: V, d: V, d_lo: V) -> (V, V) {
    let (t, t_lo) = divide::<V, L>(n, n_lo, d, d_lo);
    let z = t * t;
    (t, (t * z).madd::<L>(V::Format::atan_tail::<V, L>(z), t_lo))
}

/// The arc tangent of x.
#[inline(always)]
pub(crate) fn atan<V: Value<Format: ArcTable>, L: Level>(x: V) -> V {
    // Beyond, the result is pi/2 to far more than its precision; this keeps infinity out of the quotient.
    let a = x.magnitude().at_most(V::INTEGERS_FROM * V::INTEGERS_FROM);
    // atan a is atan a, or pi/4 + atan((a - 1) / (a + 1)), or pi/2 + atan(-1 / a). In the middle
    // fast_two_sum is right even for a > 1: the difference is exact there, and so is the sum minus 1.
    let (flat, steep) = (a.below(V::Format::TAN_PI_8), a.above(V::Format::TAN_3_PI_8));
    let (difference, difference_lo) = fast_two_sum(-V::ONE, a);
    let (sum, sum_lo) = fast_two_sum(V::ONE, a);
    let end = flat | steep;
    let n = V::select(steep, -V::ONE, V::select(flat, a, difference));
    let d = V::select(steep, a, V::select(flat, V::ONE, sum));
    let n_lo = V::select(end, V::ZERO, difference_lo);
    let d_lo = V::select(end, V::ZERO, sum_lo);
    let multiple = V::select(steep, V::ONE, V::select(flat, V::ZERO, V::HALF));

    let (hi, lo) = atan_of_quotient::<V, L>(n, n_lo, d, d_lo);
    onto(half_pi_times(multiple), hi, lo).xor_sign(x).or_nan_of(x)
}

/// The angle of the point (x, y), in (-pi, pi].
#[inline(always)]
pub(crate) fn atan2<V: Value<Format: ArcTable>, L: Level>(y: V, x: V) -> V {
    let (ay, ax) = (y.magnitude(), x.magnitude());
    let (steep, backward) = (ay.above(ax), x.has_sign());
    let (long, short) = (V::select(steep, ay, ax), V::select(steep, ax, ay));

    // The quotient of two infinities counts as 1, and that of two zeros as 0.
    let infinite = long.equals(V::INFINITY);
    let of_infinite = V::select(short.equals(V::INFINITY), V::ONE, V::ZERO);
    let short = V::select(infinite, of_infinite, short);
    let long = V::select(infinite | long.equals(V::ZERO), V::ONE, long);
    // Scaled so that no intermediate result is subnormal or infinite, unless the quotient itself is subnormal.
    let [invertible, far_lift] = [V::Format::INVERTIBLE, V::Format::FAR_LIFT].map(V::from);
    let scale = V::select(long.below(invertible / far_lift), far_lift, V::ONE);
    let scale = V::select(long.above(invertible), V::HALF * V::HALF * V::HALF, scale);
    let (long, short) = (scale * long, scale * short);

    // Within the octant: atan(short / long), or pi/4 + atan((short - long) / (short + long)).
    let middle = short.above(V::from(V::Format::TAN_PI_8) * long);
    let (difference, difference_lo) = fast_two_sum(-long, short);
    let (sum, sum_lo) = fast_two_sum(long, short);
    let (n, n_lo) = (V::select(middle, difference, short), V::select(middle, difference_lo, V::ZERO));
    let (d, d_lo) = (V::select(middle, sum, long), V::select(middle, sum_lo, V::ZERO));
    let (hi, lo) = atan_of_quotient::<V, L>(n, n_lo, d, d_lo);

    // The octant is entered from its far end if it is steep or backward, but not if it is both.
    let sign = V::select(backward, V::select(steep, V::ONE, -V::ONE), V::select(steep, -V::ONE, V::ONE));
    let end = V::select(steep, V::ONE, V::select(backward, V::TWO, V::ZERO));
    let centre = select_base(backward, V::Format::FRAC_3_PI_4.map(V::from), half_pi_times(V::HALF));
    let base = select_base(middle, centre, half_pi_times(end));
    let result = onto(base, sign * hi, sign * lo).xor_sign(y);
    V::select(x.unordered() | y.unordered(), V::NAN, result)
}
