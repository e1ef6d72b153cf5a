//! The length of a vector of two components.
//!
//! ```text
//! both times a power of two, so that no square overflows or vanishes ──▶ sqrt(x^2 + y^2) ──▶ scaled back
//! f64:                                                                                      ──▶ corrected
//! ```
//!
//! The correction is that of C. F. Borges, "An improved algorithm for hypot(a, b)" (2019): one step of Newton's
//! method, with the residue of the root computed as if exactly. For f32 it would take a third longer, and a root in
//! f64 a sixth.

use crate::exact::{fast_two_sum, two_product};
use crate::float::{Float, Value};
use crate::level::Level;

/// The length of (x, y), for finite x, y >= 0, by format; otherwise any number.
pub trait HypotTable: Float {
    fn length<L: Level>(x: Self, y: Self) -> Self;
}

impl HypotTable for f32 {
    #[inline(always)]
    fn length<L: Level>(x: f32, y: f32) -> f32 {
        // A power of two whose square and the square of whose reciprocal have room for a sum and for its last places.
        const SQUARABLE: f32 = 1152921504606846976.0; // 2^60
        // One that lifts the least subnormal above 1 / SQUARABLE, and no number below that beyond SQUARABLE; and the
        // reverse for its reciprocal.
        const RESCALE: f32 = 1237940039285380274899124224.0; // 2^90
        const UNSCALE: f32 = 1.0 / RESCALE;
        let (long, short) = if y > x { (y, x) } else { (x, y) };
        let (scale, back) = if long > SQUARABLE { (UNSCALE, RESCALE) } else { (1.0, 1.0) };
        let tiny = long < 1.0 / SQUARABLE;
        let (scale, back) = if tiny { (RESCALE, UNSCALE) } else { (scale, back) };
        let (long, short) = (scale * long, scale * short);

        // The sum is rounded little more than once, and the root halves its error. The short square may underflow only
        // where it is far below the last place of the long one.
        let (long_square, long_error) = two_product::<f32, L>(long, long);
        let (short_square, short_error) = two_product::<f32, L>(short, short);
        let (sum, error) = fast_two_sum(long_square, short_square);
        back * (sum + (error + (long_error + short_error))).sqrt()
    }
}

impl HypotTable for f64 {
    #[inline(always)]
    fn length<L: Level>(x: f64, y: f64) -> f64 {
        let (long, short) = if y > x { (y, x) } else { (x, y) };
        let scale = scale_for(long);
        let back = f64::from_bits((ONE + ONE) - scale.to_bits());
        let (long, short) = (scale * long, scale * short);

        // The short square may underflow only where it is far below the last place of the long one.
        let (long_square, long_error) = two_product::<f64, L>(long, long);
        let (short_square, short_error) = two_product::<f64, L>(short, short);
        let (sum, error) = fast_two_sum(long_square, short_square);
        // Rounded as the result will be, also below the normal numbers; the step then rounds once.
        let rounded = back * sum.sqrt();
        let rounded = if rounded > f64::MAX { f64::MAX } else { rounded };
        let root = scale * rounded;
        let residue = minus_square::<L>(sum, root) + (error + (long_error + short_error));
        // The step is some tenths of an ulp, so it need not be known well.
        back.madd::<L>(residue * rough_half_inverse(root), rounded)
    }
}

const ONE: u64 = 1.0f64.to_bits();

/// Returns a power of two whose reciprocal is normal too, and which scales a float to between 2^-179 and 2^129; zero and
/// infinity stay.
#[inline(always)]
fn scale_for(x: f64) -> f64 {
    // The upper three bits of the exponent, negated.
    f64::from_bits((0x77f << 52) - (x.to_bits() & (0x700 << 52)))
}

/// 1 / (2x) to within a 15th of it, for an x of moderate size.
#[inline(always)]
fn rough_half_inverse(x: f64) -> f64 {
    // The bits of a float are below its logarithm by at most 0.086; the average of that error is subtracted.
    const HALF: u64 = 0.5f64.to_bits();
    const LESS: u64 = (1 << 52) / 100 * 9;
    f64::from_bits((HALF + ONE - LESS).wrapping_sub(x.to_bits()))
}

/// `c - a^2` with one rounding, or two, for an `a` next to the root of c.
#[inline(always)]
fn minus_square<L: Level>(c: f64, a: f64) -> f64 {
    if L::FUSED {
        return (-a).madd::<L>(a, c);
    }
    // The square of the head is exact, and so near c that their difference is, too.
    let head = a.head();
    (c - head * head) - (a - head) * (a + head)
}

/// sqrt(x^2 + y^2).
#[inline(always)]
pub(crate) fn hypot<T: HypotTable, L: Level>(x: T, y: T) -> T {
    let (ax, ay) = (x.magnitude(), y.magnitude());
    let result = T::length::<L>(ax, ay);
    let result = if x.unordered() | y.unordered() { T::NAN } else { result };
    if (ax == T::INFINITY) | (ay == T::INFINITY) { T::INFINITY } else { result }
}
