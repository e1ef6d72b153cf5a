//! The length of a vector of two components.
//!
//! ```text
//! both scaled by a power of two where squares could overflow or vanish ──▶ sqrt(x^2 + y^2) ──▶ scaled back
//! ```

use crate::exact::{fast_two_sum, two_product};
use crate::float::Float;
use crate::level::Level;

/// What `hypot` needs per format.
pub trait HypotTable: Float {
    /// A power of two whose square and the square of whose reciprocal have room for a sum and for its last
    /// places.
    const SQUARABLE: Self;
    /// A power of two that lifts the least subnormal above 1 / `SQUARABLE`, and no number below that beyond
    /// `SQUARABLE`; and the reverse for its reciprocal.
    const RESCALE: Self;
    /// 1 / `RESCALE`.
    const UNSCALE: Self;
}

impl HypotTable for f32 {
    const SQUARABLE: f32 = 1152921504606846976.0; // 2^60
    const RESCALE: f32 = 1237940039285380274899124224.0; // 2^90
    const UNSCALE: f32 = 1.0 / Self::RESCALE;
}

impl HypotTable for f64 {
    const SQUARABLE: f64 = 3.273390607896142e150; // 2^500
    const RESCALE: f64 = 4.149515568880993e180; // 2^600
    const UNSCALE: f64 = 1.0 / Self::RESCALE;
}

/// sqrt(x^2 + y^2).
#[inline(always)]
pub(crate) fn hypot<T: HypotTable, L: Level>(x: T, y: T) -> T {
    let (ax, ay) = (x.magnitude(), y.magnitude());
    let (long, short) = if ay > ax { (ay, ax) } else { (ax, ay) };
    let (scale, back) = if long > T::SQUARABLE { (T::UNSCALE, T::RESCALE) } else { (T::ONE, T::ONE) };
    let tiny = long < T::ONE / T::SQUARABLE;
    let (scale, back) = if tiny { (T::RESCALE, T::UNSCALE) } else { (scale, back) };
    let (long, short) = (scale * long, scale * short);

    // The sum is rounded little more than once, and the root halves its error. The short square may underflow
    // only where it is far below the last place of the long one.
    let (long_square, long_lo) = two_product::<T, L>(long, long);
    let (short_square, short_lo) = two_product::<T, L>(short, short);
    let (sum, error) = fast_two_sum(long_square, short_square);
    let result = back * (sum + (error + (long_lo + short_lo))).sqrt();
    let result = if x.unordered() | y.unordered() { T::NAN } else { result };
    if (ax == T::INFINITY) | (ay == T::INFINITY) { T::INFINITY } else { result }
}
