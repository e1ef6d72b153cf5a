//! The tangent.
//!
//! ```text
//! |x| = q pi/2 + r ──▶ T = 2 tan(r/2), D = 1 - T^2/4 ──▶ tan |x| = T / D or -D / T, by the low bit of q
//! ```
//!
//! The half angle keeps the polynomial short and its tail small; numerator and denominator are sums of two
//! floats, and the division is corrected. The reduction and what counts as rare are those of [`crate::trig`].

use crate::exact::{divide, fast_two_sum};
use crate::float::{Value, polynomial};
use crate::huge::Quadrant;
use crate::level::Level;
use crate::trig::{TrigTable, is_rare, reduce};

/// The constants of the tangent for a format.
pub trait TanTable: TrigTable {
    /// R in 2 tan(r/2) = r + r^3 R(r^2) for |r| up to about pi/4.
    fn half_tan_tail<V: Value<Format = Self>, L: Level>(z: V) -> V;
}

impl TanTable for f32 {
    #[inline(always)]
    fn half_tan_tail<V: Value<Format = f32>, L: Level>(z: V) -> V {
        // Error relative to 2 tan(r/2): 2^-28.6.
        polynomial::<V, L, 4>(z, [0.08333321, 0.008335171, 0.00083478267, 0.00010055819])
    }
}

impl TanTable for f64 {
    #[inline(always)]
    fn half_tan_tail<V: Value<Format = f64>, L: Level>(z: V) -> V {
        // Error relative to 2 tan(r/2): 2^-58.7.
        polynomial::<V, L, 9>(
            z,
            [
                0.08333333333333377,
                0.008333333333305198,
                0.00084325396887941,
                8.542768278610765e-05,
                8.655545289256478e-06,
                8.768295855107513e-07,
                8.920781623181534e-08,
                8.52989555245609e-09,
                1.2545943579916513e-09,
            ],
        )
    }
}

/// The tangent of x where x is not rare; at rare x, any number.
#[inline(always)]
pub(crate) fn common<V: Value<Format: TanTable>, L: Level>(x: V) -> V {
    on_quadrant::<V, L>(reduce::<V, L>(x.magnitude()), x).or_nan_of(x)
}

/// The tangent of any x, one at a time.
#[inline(always)]
pub(crate) fn rare<T: TanTable, L: Level>(x: T) -> T {
    let a = x.magnitude();
    if a < T::INFINITY { on_quadrant::<T, L>(a.reduce_huge(), x) } else { T::NAN }
}

/// The tangent of any x.
#[inline(always)]
pub(crate) fn tan<T: TanTable, L: Level>(x: T) -> T {
    if is_rare::<T, L>(x) { rare::<T, L>(x) } else { common::<T, L>(x) }
}

/// The tangent of `x`, whose magnitude lies at `at`.
#[inline(always)]
fn on_quadrant<V: Value<Format: TanTable>, L: Level>(at: Quadrant<V>, x: V) -> V {
    let Quadrant { q, hi: r, lo } = at;
    let z = r * r;
    // The derivative of 2 tan(r/2) is 1 + tan(r/2)^2, here about 1 + r^2/4.
    let lo = lo.madd::<L>(V::HALF * V::HALF * z, lo);
    let (t, t_lo) = fast_two_sum(r, (z * r).madd::<L>(V::Format::half_tan_tail::<V, L>(z), lo));

    let half = V::HALF * t;
    let square = half * half;
    let d = V::ONE - square;
    let d_lo = ((V::ONE - d) - square) - half * t_lo;

    let cotangent = (q + V::ROUND).low_bit();
    let (n, n_lo) = (V::select(cotangent, -d, t), V::select(cotangent, -d_lo, t_lo));
    let (d, d_lo) = (V::select(cotangent, t, d), V::select(cotangent, t_lo, d_lo));
    let (quotient, rest) = divide::<V, L>(n, n_lo, d, d_lo);
    (quotient + rest).xor_sign(x)
}
