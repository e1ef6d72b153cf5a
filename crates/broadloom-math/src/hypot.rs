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
    fn length<V: Value<Format = Self>, L: Level>(x: V, y: V) -> V;
}

impl HypotTable for f32 {
    #[inline(always)]
    fn length<V: Value<Format = f32>, L: Level>(x: V, y: V) -> V {
        // A power of two whose square and the square of whose reciprocal have room for a sum and for its last places.
        const SQUARABLE: f32 = 1152921504606846976.0; // 2^60
        // One that lifts the least subnormal above 1 / SQUARABLE, and no number below that beyond SQUARABLE; and the
        // reverse for its reciprocal.
        const RESCALE: f32 = 1237940039285380274899124224.0; // 2^90
        const UNSCALE: f32 = 1.0 / RESCALE;
        let (long, short) = in_order(x, y);
        let (huge, tiny) = (long.above(SQUARABLE), long.below(1.0 / SQUARABLE));
        let scale = V::select(tiny, RESCALE, V::select(huge, UNSCALE, V::ONE));
        let back = V::select(tiny, UNSCALE, V::select(huge, RESCALE, V::ONE));
        let (long, short) = (scale * long, scale * short);

        // The sum is rounded little more than once, and the root halves its error. The short square may underflow only
        // where it is far below the last place of the long one.
        let (long_square, long_error) = two_product::<V, L>(long, long);
        let (short_square, short_error) = two_product::<V, L>(short, short);
        let (sum, error) = fast_two_sum(long_square, short_square);
        back * (sum + (error + (long_error + short_error))).sqrt()
    }
}

impl HypotTable for f64 {
    #[inline(always)]
    fn length<V: Value<Format = f64>, L: Level>(x: V, y: V) -> V {
        let (long, short) = in_order(x, y);
        let scale = scale_for(long);
        let back = V::from(f64::from_bits(ONE + ONE)).minus_bits(scale);
        let (long, short) = (scale * long, scale * short);

        // The short square may underflow only where it is far below the last place of the long one.
        let (long_square, long_error) = two_product::<V, L>(long, long);
        let (short_square, short_error) = two_product::<V, L>(short, short);
        let (sum, error) = fast_two_sum(long_square, short_square);
        // Rounded as the result will be, also below the normal numbers; the step then rounds once.
        let rounded = (back * sum.sqrt()).at_most(f64::MAX);
        let root = scale * rounded;
        let residue = minus_square::<V, L>(sum, root) + (error + (long_error + short_error));
        // The step is some tenths of an ulp, so it need not be known well.
        back.madd::<L>(residue * rough_half_inverse(root), rounded)
    }
}

const ONE: u64 = 1.0f64.to_bits();

/// The larger of two numbers, and the other.
#[inline(always)]
fn in_order<V: Value>(x: V, y: V) -> (V, V) {
    let swapped = y.above(x);
    (V::select(swapped, y, x), V::select(swapped, x, y))
}

/// Returns a power of two whose reciprocal is normal too, and which scales a float to between 2^-179 and 2^129; zero and
/// infinity stay.
#[inline(always)]
fn scale_for<V: Value<Format = f64>>(x: V) -> V {
    // The upper three bits of the exponent, negated.
    V::from(f64::from_bits(0x77f << 52)).minus_bits(x.and_bits(f64::from_bits(0x700 << 52)))
}

/// 1 / (2x) to within a 15th of it, for an x of moderate size.
#[inline(always)]
fn rough_half_inverse<V: Value<Format = f64>>(x: V) -> V {
    // The bits of a float are below its logarithm by at most 0.086; the average of that error is subtracted.
    const HALF: u64 = 0.5f64.to_bits();
    const LESS: u64 = (1 << 52) / 100 * 9;
    V::from(f64::from_bits(HALF + ONE - LESS)).minus_bits(x)
}

/// `c - a^2` with one rounding, or two, for an `a` next to the root of c.
#[inline(always)]
fn minus_square<V: Value, L: Level>(c: V, a: V) -> V {
    if L::FUSED {
        return (-a).madd::<L>(a, c);
    }
    // The square of the head is exact, and so near c that their difference is, too.
    let head = a.head();
    (c - head * head) - (a - head) * (a + head)
}

/// sqrt(x^2 + y^2).
#[inline(always)]
pub(crate) fn hypot<V: Value<Format: HypotTable>, L: Level>(x: V, y: V) -> V {
    let (ax, ay) = (x.magnitude(), y.magnitude());
    let result = V::Format::length::<V, L>(ax, ay);
    let result = V::select(x.unordered() | y.unordered(), V::NAN, result);
    V::select(ax.equals(V::INFINITY) | ay.equals(V::INFINITY), V::INFINITY, result)
}
