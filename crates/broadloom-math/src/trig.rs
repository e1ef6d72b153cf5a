//! Sine and cosine.
//!
//! ```text
//! |x| = q pi/2 + r ──▶ +-sin r or +-cos r, by the two low bits of q
//! ```
//!
//! Both polynomials are evaluated and one is chosen. Near a multiple of pi/2 the subtraction cancels up to
//! all bits of x, so pi/2 has three parts and r has two. This is enough below `FUSED_BELOW`; larger arguments are rare
//! lanes, which [`crate::huge`] reduces one by one.

use crate::exact::{minus_product, two_product};
use crate::float::{Float, Value, polynomial};
use crate::huge::{self, Quadrant};
use crate::level::Level;

/// The constants of sine and cosine for a format.
pub trait TrigTable: Float {
    const FRAC_2_PI: Self;
    /// pi/2 in three parts of full width each.
    const FRAC_PI_2: [Self; 3];
    /// The bound of the fused vectorised reduction: below it, quotients are exact and leave bits for the third part of
    /// pi/2.
    const FUSED_BELOW: Self;
    /// The bound of the unfused reduction: below it, quotients also fit in half a mantissa, as `two_product` needs.
    const UNFUSED_BELOW: Self;

    /// S in sin r = r + r^3 S(r^2) for |r| up to about pi/4.
    fn sin_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
    /// C in cos r = 1 - r^2/2 + r^4 C(r^2) for |r| up to about pi/4.
    fn cos_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
    /// The quadrant of any finite non-negative x.
    fn reduce_huge(self) -> Quadrant<Self>;
}

impl TrigTable for f32 {
    const FRAC_2_PI: f32 = std::f32::consts::FRAC_2_PI;
    const FRAC_PI_2: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371139e-8, -1.7151245e-15];
    const FUSED_BELOW: f32 = 131072.0;
    const UNFUSED_BELOW: f32 = 6000.0;

    #[inline(always)]
    fn sin_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to sin r: 2^-37.3.
        polynomial::<V, L, 4>(z, [-0.16666667, 0.008333329, -0.00019839176, 2.71681e-06])
    }

    #[inline(always)]
    fn cos_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error: 2^-33.
        polynomial::<V, L, 3>(z, [0.041666646, -0.0013887243, 2.4423889e-05])
    }

    #[inline(always)]
    fn reduce_huge(self) -> Quadrant<f32> {
        // The f64 pair holds r to 2^-50 of itself; rounding it twice leaves far more than an f32 pair holds.
        let Quadrant { q, hi, lo } = match f64::from(self) {
            large if large < huge::LARGE_BELOW => huge::reduce_large(large),
            huge => huge::reduce(huge),
        };
        let narrow = hi as f32;
        Quadrant { q: q as f32, hi: narrow, lo: (hi - f64::from(narrow) + lo) as f32 }
    }
}

impl TrigTable for f64 {
    const FRAC_2_PI: f64 = std::f64::consts::FRAC_2_PI;
    const FRAC_PI_2: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
    const FUSED_BELOW: f64 = 1073741824.0;
    const UNFUSED_BELOW: f64 = 1048576.0;

    #[inline(always)]
    fn sin_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to sin r: 2^-58.
        polynomial::<V, L, 6>(
            z,
            [
                -0.16666666666666632,
                0.008333333333322413,
                -0.00019841269829807819,
                2.7557313691920794e-06,
                -2.5050758115642605e-08,
                1.5896795672224764e-10,
            ],
        )
    }

    #[inline(always)]
    fn cos_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error: 2^-64.2.
        polynomial::<V, L, 6>(
            z,
            [
                0.0416666666666666,
                -0.0013888888888874125,
                2.4801587289482174e-05,
                -2.7557314352328286e-07,
                2.0875723272501897e-09,
                -1.1359647761725295e-11,
            ],
        )
    }

    #[inline(always)]
    fn reduce_huge(self) -> Quadrant<f64> {
        huge::reduce(self)
    }
}

/// The function: the number of quadrants by which it leads the sine.
#[derive(Clone, Copy)]
pub(crate) enum Wave {
    Sin,
    Cos,
}

/// Whether `x` is beyond the vectorised reduction. False for NaN, true for infinities.
#[inline(always)]
pub(crate) fn is_rare<V: Value<Format: TrigTable>, L: Level>(x: V) -> V::Mask {
    let bound = if L::FUSED { V::Format::FUSED_BELOW } else { V::Format::UNFUSED_BELOW };
    V::from(bound).below_or_equal(x.magnitude())
}

/// The wave at x if x is not rare; any number otherwise.
#[inline(always)]
pub(crate) fn common<V: Value<Format: TrigTable>, L: Level>(x: V, wave: Wave) -> V {
    on_quadrant::<V, L>(reduce::<V, L>(x.magnitude()), x, wave).or_nan_of(x)
}

/// The wave at any x, one at a time. Only the reduction is out of line: what follows it needs the caller's
/// instructions, because a fused `madd` without them is a library call.
#[inline(always)]
pub(crate) fn rare<T: TrigTable, L: Level>(x: T, wave: Wave) -> T {
    let a = x.magnitude();
    if a < T::INFINITY { on_quadrant::<T, L>(a.reduce_huge(), x, wave) } else { T::NAN }
}

/// The wave at any x.
#[inline(always)]
pub(crate) fn wave<T: TrigTable, L: Level>(x: T, wave: Wave) -> T {
    if is_rare::<T, L>(x) { rare::<T, L>(x, wave) } else { common::<T, L>(x, wave) }
}

/// Cody and Waite's reduction with the rounding errors kept.
#[inline(always)]
pub(crate) fn reduce<V: Value<Format: TrigTable>, L: Level>(a: V) -> Quadrant<V> {
    let [first, second, third] = V::Format::FRAC_PI_2.map(V::from);
    let q = a.madd::<L>(V::Format::FRAC_2_PI, V::ROUND) - V::ROUND;
    // Exact: a multiple of the smaller of ulp(first) and ulp(a), and below 1.
    let r = minus_product::<V, L>(a, q, first);
    // If r and the product are near each other the subtraction is exact; if r is the larger this is a
    // fast_two_sum; and if r is much the smaller it is still a multiple of ulp(product), which is enough for
    // (r - hi) to be exact. So error is the rounding error in all cases.
    let (product, product_error) = two_product::<V, L>(q, second);
    let hi = r - product;
    let error = (r - hi) - product;
    let lo = (-q).madd::<L>(third, error - product_error);
    Quadrant { q, hi, lo }
}

/// The wave at `x`, whose magnitude lies at `at`.
#[inline(always)]
fn on_quadrant<V: Value<Format: TrigTable>, L: Level>(at: Quadrant<V>, x: V, wave: Wave) -> V {
    let Quadrant { q, hi: r, lo } = at;
    let z = r * r;
    let half_z = V::HALF * z;
    let w = V::ONE - half_z;
    // sin (r + lo) = sin r + lo cos r, cos (r + lo) = cos r - lo sin r.
    let sin = r + (z * r).madd::<L>(V::Format::sin_tail::<V, L>(z), lo * w);
    let cos = w + (((V::ONE - w) - half_z) + (z * z).madd::<L>(V::Format::cos_tail::<V, L>(z), -(r * lo)));
    let quadrant = match wave {
        Wave::Sin => q + V::ROUND,
        Wave::Cos => q + V::ONE + V::ROUND,
    };
    let result = V::select(quadrant.low_bit(), cos, sin).flip_in_half_turn(quadrant);
    match wave {
        Wave::Sin => result.xor_sign(x),
        Wave::Cos => result,
    }
}
