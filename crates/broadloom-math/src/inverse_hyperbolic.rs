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
use crate::float::polynomial;
use crate::level::Level;

/// The constants of the inverse hyperbolic functions for a format.
pub trait AreaTable: ExpTable {
    const SQRT_2: Self;
    /// From this value on, sqrt(x^2 +- 1) counts as x in the logarithm of the sum with x.
    const ONE_IS_LOST: Self;
    /// Below this value, asinh x is x.
    const LINEAR_BELOW: Self;

    /// R in atanh s = s + s^3 R(s^2) for |s| up to about tanh(ln 2 / 4).
    fn atanh_tail<L: Level>(z: Self) -> Self;
}

impl AreaTable for f32 {
    const SQRT_2: f32 = std::f32::consts::SQRT_2;
    const ONE_IS_LOST: f32 = 65536.0; // 2^16
    const LINEAR_BELOW: f32 = 0.00012207031; // 2^-13

    #[inline(always)]
    fn atanh_tail<L: Level>(z: f32) -> f32 {
        // Error relative to atanh s: 2^-30.
        polynomial::<f32, L, 3>(z, [0.33333394, 0.19987822, 0.1496308])
    }
}

impl AreaTable for f64 {
    const SQRT_2: f64 = std::f64::consts::SQRT_2;
    const ONE_IS_LOST: f64 = 1073741824.0; // 2^30
    const LINEAR_BELOW: f64 = 3.725290298461914e-9; // 2^-28

    #[inline(always)]
    fn atanh_tail<L: Level>(z: f64) -> f64 {
        // Error relative to atanh s: 2^-59.5.
        polynomial::<f64, L, 7>(
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
fn half_log<T: AreaTable, L: Level>(k: T, (s, s_lo): (T, T)) -> T {
    let z = s * s;
    let tail = (s * z).madd::<L>(T::atanh_tail::<L>(z), s_lo);
    // (k/2) LN2_HI is exact, and at least twice |s| unless it is zero.
    let half_k = T::HALF * k;
    let (sum, error) = fast_two_sum(half_k * T::LN2_HI, s);
    sum + (error + half_k.madd::<L>(T::LN2_LO, tail))
}

/// `log(a + sqrt(h + l))`, where that is at least 0, for an l of at most some ulps of h. From `ONE_IS_LOST` on
/// it is `log(2 a)`, whatever h.
#[inline(always)]
fn log_with_root<T: AreaTable, L: Level>(a: T, h: T, l: T) -> T {
    let large = a > T::ONE_IS_LOST;
    let zero = T::ZERO;
    let root = h.sqrt();
    let (high, low) = if a > root { (a, root) } else { (root, a) };
    let (w, w_lo) = fast_two_sum(high, low);
    let (k, m) = (if large { a } else { w }).split_exponent();

    // w = 2^k (1 + f + f_lo), but for the root's error.
    let scale = (T::ROUND + T::BIAS - if large { zero } else { k }).two_to();
    let (f, f_lo) = fast_two_sum(m - T::ONE, if large { zero } else { scale * w_lo });
    let (d, d_lo) = fast_two_sum(T::TWO, f);

    // One division gives the inverses of d and, for its error, of the root.
    let divisor = if (root > zero) & !large { root } else { T::ONE };
    let inverse = T::ONE / (divisor * d);
    let root_lo = T::HALF * (minus_product::<T, L>(h, root, root) + l) * (d * inverse);
    let f_lo = if large { zero } else { scale.madd::<L>(root_lo, f_lo) };
    let s = divide_by_inverse::<T, L>(f, f_lo, d, d_lo + f_lo, divisor * inverse);
    T::TWO * half_log::<T, L>(if large { k + T::ONE } else { k }, s)
}

/// The inverse hyperbolic sine of x.
#[inline(always)]
pub(crate) fn asinh<T: AreaTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    let (square, square_lo) = two_product::<T, L>(a, a);
    let (h, l) = two_sum(T::ONE, square);
    let result = log_with_root::<T, L>(a, h, l + square_lo);
    let result = if (a < T::LINEAR_BELOW) | (a == T::INFINITY) { a } else { result }.xor_sign(x);
    if x.unordered() { T::NAN } else { result }
}

/// The inverse hyperbolic cosine of x.
#[inline(always)]
pub(crate) fn acosh<T: AreaTable, L: Level>(x: T) -> T {
    let (square, square_lo) = two_product::<T, L>(x, x);
    // Near 1 the difference is exact, and so small that square_lo is not below its last place.
    let (h, l) = fast_two_sum(square, -T::ONE);
    let (h, l) = fast_two_sum(h, l + square_lo);
    let result = log_with_root::<T, L>(x, h, l);
    let result = if x < T::INFINITY { result } else { x };
    if x >= T::ONE { result } else { T::NAN }
}

/// The inverse hyperbolic tangent of x.
#[inline(always)]
pub(crate) fn atanh<T: AreaTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    // k by which (1 + a) / (1 - a) comes between about sqrt(1/2) and sqrt(2), without dividing.
    let (log_rest, rest) = (T::ONE - a).split_exponent();
    let halved = T::ONE + a > T::SQRT_2 * rest;
    let k = if halved { T::ONE - log_rest } else { -log_rest };
    let c = (T::ROUND + T::BIAS + k).two_to();

    // (m - 1) / (m + 1) = (p - q) / (p + q) with p = 1 + a and q = c (1 - a), c = 2^k. The rounded p and q are
    // near each other, so their difference is exact; at k = 0 it may vanish and leave all to their errors.
    let (p, p_lo) = fast_two_sum(T::ONE, a);
    let (q, q_lo) = fast_two_sum(c, -(c * a));
    let (n, n_lo) = fast_two_sum(p - q, p_lo - q_lo);
    let (d, d_lo) = two_sum(p, q);
    let d_lo = d_lo + (p_lo + q_lo);
    let result = half_log::<T, L>(k, divide::<T, L>(n, n_lo, d, d_lo));
    let result = if a < T::ONE { result } else { T::INFINITY }.xor_sign(x);
    if a <= T::ONE { result } else { T::NAN }
}
