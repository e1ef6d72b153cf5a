//! The hyperbolic sine and cosine.
//!
//! ```text
//! |x| = n ln 2 + r ──▶ C = cosh r, S = sinh r ──▶ 2^(n-1) ((1 -+ v) C + (1 +- v) S), v = 4^-n
//! ```
//!
//! That is e^|x| -+ e^-|x| without a division. For the sine at n = 0 only the second term remains, twice, and
//! the odd series keeps its relative precision.

use crate::exact::fast_two_sum;
use crate::exp::ExpTable;
use crate::float::{Value, polynomial};
use crate::level::Level;

/// The constants of the hyperbolic sine and cosine for a format.
pub trait HyperbolicTable: ExpTable {
    /// From this value on, both are infinite.
    const COSH_MAX: Self;

    /// Q in sinh r = r + r^3 Q(r^2) for |r| <= ln 2 / 2.
    fn sinh_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
    /// Q in cosh r = 1 + r^2/2 + r^4 Q(r^2) for |r| <= ln 2 / 2.
    fn cosh_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
}

impl HyperbolicTable for f32 {
    const COSH_MAX: f32 = 90.0;

    #[inline(always)]
    fn sinh_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to sinh r: 2^-37.2.
        polynomial::<V, L, 3>(z, [0.16666667, 0.008333285, 0.00019907525])
    }

    #[inline(always)]
    fn cosh_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error: 2^-33.
        polynomial::<V, L, 2>(z, [0.04166644, 0.0013937277])
    }
}

impl HyperbolicTable for f64 {
    const COSH_MAX: f64 = 711.0;

    #[inline(always)]
    fn sinh_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to sinh r: 2^-61.7.
        polynomial::<V, L, 5>(
            z,
            [
                0.16666666666666677,
                0.008333333333321615,
                0.000198412698861604,
                2.7557244180057132e-06,
                2.5109045531467777e-08,
            ],
        )
    }

    #[inline(always)]
    fn cosh_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error: 2^-70.0.
        polynomial::<V, L, 5>(
            z,
            [
                0.041666666666666685,
                0.001388888888887346,
                2.480158734879645e-05,
                2.7557252203827754e-07,
                2.0921641262782877e-09,
            ],
        )
    }
}

/// e^a split into its even and odd part about a multiple of ln 2, for a >= 0:
/// `e^+-a = 2^+-n (1 + c +- (hi + s))`.
struct Parts<V> {
    /// cosh r - 1.
    c: V,
    /// r, but for its rounding error.
    hi: V,
    /// sinh r - hi.
    s: V,
    /// 4^-n, or a number as negligible.
    v: V,
    /// Two powers of two whose product is 2^(n-1).
    scales: (V, V),
}

#[inline(always)]
fn parts<V: Value<Format: HyperbolicTable>, L: Level>(a: V) -> Parts<V> {
    let a = a.at_most(V::Format::COSH_MAX);
    let round = V::ROUND + V::BIAS;
    let biased = a.madd::<L>(V::Format::LOG2_E, round);
    let n = biased - round;
    let hi = (-n).madd::<L>(V::Format::LN2_HI, a); // exact, see LN2_HI
    let lo = -n * V::Format::LN2_LO.into();
    let r = hi + lo;
    let z = r * r;
    let c = (z * z).madd::<L>(V::Format::cosh_tail::<V, L>(z), V::HALF * z);
    let s = (z * r).madd::<L>(V::Format::sinh_tail::<V, L>(z), lo);

    // Far below the last place of 1 it no longer counts how far, and two_to has no smaller numbers.
    let few = n.at_most(V::LIFT_EXPONENT);
    let v = (round - (few + few)).two_to();
    let scales = (biased + V::BIAS - V::ONE).two_to_in_halves();
    Parts { c, hi, s, v, scales }
}

/// The hyperbolic sine of x.
#[inline(always)]
pub(crate) fn sinh<V: Value<Format: HyperbolicTable>, L: Level>(x: V) -> V {
    let Parts { c, hi, s, v, scales } = parts::<V, L>(x.magnitude());
    // 1 - v is zero or at least 3/4, and what remains of it at least 0.4: more than |v hi|.
    let (difference, difference_lo) = fast_two_sum(V::ONE, -v);
    let (first, first_error) = fast_two_sum(difference, hi);
    let (second, second_error) = fast_two_sum(first, v * hi);
    let small = difference.madd::<L>(c, s.madd::<L>(v, s));
    let sum = second + (small + (difference_lo + first_error + second_error));
    (sum * scales.0 * scales.1).xor_sign(x).or_nan_of(x)
}

/// The hyperbolic cosine of x.
#[inline(always)]
pub(crate) fn cosh<V: Value<Format: HyperbolicTable>, L: Level>(x: V) -> V {
    let Parts { c, hi, s, v, scales } = parts::<V, L>(x.magnitude());
    let (sum, sum_lo) = fast_two_sum(V::ONE, v);
    let (first, first_error) = fast_two_sum(sum, hi);
    let (second, second_error) = fast_two_sum(first, -(v * hi));
    let small = sum.madd::<L>(c, (-s).madd::<L>(v, s));
    let total = second + (small + (sum_lo + first_error + second_error));
    (total * scales.0 * scales.1).or_nan_of(x)
}
