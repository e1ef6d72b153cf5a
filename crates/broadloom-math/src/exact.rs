//! Error-free transformations: a rounded result together with its rounding error.
//!
//! Sources: T. J. Dekker, "A floating-point technique for extending the available precision" (1971), and
//! Muller et al., "Handbook of Floating-Point Arithmetic", chapter 4.

use crate::{float::Value, level::Level};

/// `(s, e)` with `s + e = a + b` exactly, for `|a| >= |b|` or `a = 0`.
#[inline(always)]
pub(crate) fn fast_two_sum<T: Value>(a: T, b: T) -> (T, T) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// `(s, e)` with `s + e = a + b` exactly.
#[inline(always)]
pub(crate) fn two_sum<T: Value>(a: T, b: T) -> (T, T) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `(p, e)` with `p + e = a * b` exactly, short of underflow and overflow.
#[inline(always)]
pub(crate) fn two_product<T: Value, L: Level>(a: T, b: T) -> (T, T) {
    let product = a * b;
    if L::FUSED {
        return (product, a.madd::<L>(b, -product));
    }
    let (a_head, b_head) = (a.head(), b.head());
    let (a_rest, b_rest) = (a - a_head, b - b_head);
    let error = ((a_head * b_head - product) + a_head * b_rest + a_rest * b_head) + a_rest * b_rest;
    (product, error)
}

/// `(q, e)` with `q + e` the quotient `(n + n_lo) / (d + d_lo)` to nearly twice the format's precision.
#[inline(always)]
pub(crate) fn divide<T: Value, L: Level>(n: T, n_lo: T, d: T, d_lo: T) -> (T, T) {
    divide_by_inverse::<T, L>(n, n_lo, d, d_lo, T::ONE / d)
}

/// As [`divide`], by a known `inverse` of d, which may be some ulps off.
#[inline(always)]
pub(crate) fn divide_by_inverse<T: Value, L: Level>(n: T, n_lo: T, d: T, d_lo: T, inverse: T) -> (T, T) {
    let quotient = n * inverse;
    let rest = minus_product::<T, L>(n, quotient, d) + (-quotient).madd::<L>(d_lo, n_lo);
    (quotient, rest * inverse)
}

/// `c - a * b` with one rounding, for a `c` so close to `a * b` that `c` minus the rounded product is exact.
#[inline(always)]
pub(crate) fn minus_product<T: Value, L: Level>(c: T, a: T, b: T) -> T {
    if L::FUSED {
        return (-a).madd::<L>(b, c);
    }
    let (product, error) = two_product::<T, L>(a, b);
    (c - product) - error
}
