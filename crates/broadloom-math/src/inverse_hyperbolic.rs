//! The inverse hyperbolic functions.
//!
//! ```text
//! asinh, acosh: w = |x| + sqrt(x^2 +- 1) = 2^k m ──▶ 2 (k/2 ln 2 + atanh((m - 1) / (m + 1)))
//! atanh:        (1 + |x|) / (1 - |x|) = 2^k m    ──▶    k/2 ln 2 + atanh((m - 1) / (m + 1))
//! ```
//!
//! Near zero, the logarithm of a rounded w would consist of its rounding error. So w is a sum of floats, and the
//! difference from 1, the quotient and the product k ln 2 are sums of two floats.

use crate::exact::{divide, divide_by_inverse, fast_two_sum, minus_product, two_product, two_sum};
use crate::exp::ExpTable;
use crate::float::{Value, polynomial};
use crate::level::Level;

/// The constants of the inverse hyperbolic functions for a format.
pub trait AreaTable: ExpTable {
    const SQRT_2: Self;
    /// From this value on, sqrt(x^2 +- 1) counts as x in the logarithm of the sum with x.
    const ONE_IS_LOST: Self;
    /// Below this value, asinh x is x.
    const LINEAR_BELOW: Self;

    /// R in atanh s = s + s^3 R(s^2) for |s| up to about tanh(ln 2 / 4).
    fn atanh_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
}

impl AreaTable for f32 {
    const SQRT_2: f32 = std::f32::consts::SQRT_2;
    const ONE_IS_LOST: f32 = 65536.0; // 2^16
    const LINEAR_BELOW: f32 = 0.00012207031; // 2^-13

    #[inline(always)]
    fn atanh_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to atanh s: 2^-30.
        polynomial::<V, L, 3>(z, [0.33333394, 0.19987822, 0.1496308])
    }
}

impl AreaTable for f64 {
    const SQRT_2: f64 = std::f64::consts::SQRT_2;
    const ONE_IS_LOST: f64 = 1073741824.0; // 2^30
    const LINEAR_BELOW: f64 = 3.725290298461914e-9; // 2^-28

    #[inline(always)]
    fn atanh_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to atanh s: 2^-59.5.
        polynomial::<V, L, 7>(
            z,
            [
                0.3333333333333367,
                0.1999999999970698,
                0.1428571437128121,
                0.11111099276879548,
                0.09091782704260191,
                0.07657010544302736,
                0.07398130723510014,
            ],
        )
    }
}

/// `k/2 ln 2 + atanh(s + s_lo)`, for |s| up to about tanh(ln 2 / 4).
#[inline(always)]
fn half_log<V: Value<Format: AreaTable>, L: Level>(k: V, (s, s_lo): (V, V)) -> V {
    let z = s * s;
    let tail = (s * z).madd::<L>(V::Format::atanh_tail::<V, L>(z), s_lo);
    // (k/2) LN2_HI is exact, and at least twice |s| unless it is zero.
    let half_k = V::HALF * k;
    let (sum, error) = fast_two_sum(half_k * V::Format::LN2_HI.into(), s);
    sum + (error + half_k.madd::<L>(V::Format::LN2_LO, tail))
}

/// `log(a + sqrt(h + l))`, where that is at least 0, for an l of at most some ulps of h. From `ONE_IS_LOST` on
/// it is `log(2 a)`, whatever h.
#[inline(always)]
fn log_with_root<V: Value<Format: AreaTable>, L: Level>(a: V, h: V, l: V) -> V {
    let large = a.above(V::Format::ONE_IS_LOST);
    let root = h.sqrt();
    let is_greater = a.above(root);
    let (high, low) = (V::select(is_greater, a, root), V::select(is_greater, root, a));
    let (w, w_lo) = fast_two_sum(high, low);
    let (k, m) = V::select(large, a, w).split_exponent();

    // w = 2^k (1 + f + f_lo), but for the root's error.
    let scale = (V::ROUND + V::BIAS - V::select(large, V::ZERO, k)).two_to();
    let (f, f_lo) = fast_two_sum(m - V::ONE, V::select(large, V::ZERO, scale * w_lo));
    let (d, d_lo) = fast_two_sum(V::TWO, f);

    // One division gives the inverses of d and, for its error, of the root.
    let divisor = V::select(root.above(V::ZERO) & !large, root, V::ONE);
    let inverse = V::ONE / (divisor * d);
    let root_lo = V::HALF * (minus_product::<V, L>(h, root, root) + l) * (d * inverse);
    let f_lo = V::select(large, V::ZERO, scale.madd::<L>(root_lo, f_lo));
    let s = divide_by_inverse::<V, L>(f, f_lo, d, d_lo + f_lo, divisor * inverse);
    V::TWO * half_log::<V, L>(V::select(large, k + V::ONE, k), s)
}

/// The inverse hyperbolic sine of x.
#[inline(always)]
pub(crate) fn asinh<V: Value<Format: AreaTable>, L: Level>(x: V) -> V {
    let a = x.magnitude();
    let (square, square_lo) = two_product::<V, L>(a, a);
    let (h, l) = two_sum(V::ONE, square);
    let result = log_with_root::<V, L>(a, h, l + square_lo);
    let is_same = a.below(V::Format::LINEAR_BELOW) | a.equals(V::INFINITY);
    V::select(is_same, a, result).xor_sign(x).or_nan_of(x)
}

/// The inverse hyperbolic cosine of x.
#[inline(always)]
pub(crate) fn acosh<V: Value<Format: AreaTable>, L: Level>(x: V) -> V {
    let (square, square_lo) = two_product::<V, L>(x, x);
    // Near 1 the difference is exact, and so small that square_lo is not below its last place.
    let (h, l) = fast_two_sum(square, -V::ONE);
    let (h, l) = fast_two_sum(h, l + square_lo);
    let result = log_with_root::<V, L>(x, h, l);
    let result = V::select(x.below(V::INFINITY), result, x);
    V::select(V::ONE.below_or_equal(x), result, V::NAN)
}

/// The inverse hyperbolic tangent of x.
#[inline(always)]
pub(crate) fn atanh<V: Value<Format: AreaTable>, L: Level>(x: V) -> V {
    let a = x.magnitude();
    // k by which (1 + a) / (1 - a) comes between about sqrt(1/2) and sqrt(2), without dividing.
    let (log_rest, rest) = (V::ONE - a).split_exponent();
    let halved = (V::ONE + a).above(V::from(V::Format::SQRT_2) * rest);
    let k = V::select(halved, V::ONE - log_rest, -log_rest);
    let c = (V::ROUND + V::BIAS + k).two_to();

    // (m - 1) / (m + 1) = (p - q) / (p + q) with p = 1 + a and q = c (1 - a), c = 2^k. The rounded p and q are
    // near each other, so their difference is exact; at k = 0 it may vanish and leave all to their errors.
    let (p, p_lo) = fast_two_sum(V::ONE, a);
    let (q, q_lo) = fast_two_sum(c, -(c * a));
    let (n, n_lo) = fast_two_sum(p - q, p_lo - q_lo);
    let (d, d_lo) = two_sum(p, q);
    let d_lo = d_lo + (p_lo + q_lo);
    let result = half_log::<V, L>(k, divide::<V, L>(n, n_lo, d, d_lo));
    let result = V::select(a.below(V::ONE), result, V::INFINITY).xor_sign(x);
    V::select(a.below_or_equal(V::ONE), result, V::NAN)
}
