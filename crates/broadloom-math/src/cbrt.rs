//! The cube root.
//!
//! ```text
//! |x| = 8^q t ──▶ z = t^(-1/3), a polynomial ──▶ y = t z^2 in half a mantissa ──▶ y + (t - y^3) z^2 / 3 + ..
//!                                                                            ──▶ times 2^q
//! ```
//!
//! The last step starts from a residue with a single rounding, so the error is little more than the final rounding:
//! cubes have exact roots.

use crate::exact::minus_product;
use crate::float::{Float, Value, polynomial};
use crate::level::Level;
use crate::log::split;

/// The constants of the cube root for a format.
pub trait CbrtTable: Float {
    const THIRD: Self;
    /// 2^(1/3) and 2^(-1/3).
    const ROOTS_OF_TWO: [Self; 2];

    /// m^(-1/3) for m between sqrt(1/2) and sqrt(2).
    fn inverse_cbrt<V: Value<Format = Self>, L: Level>(m: V) -> V;
    /// `z`, or a better approximation of t^(-1/3) if half a mantissa needs one.
    fn refine<V: Value<Format = Self>, L: Level>(z: V, t: V) -> V;
}

impl CbrtTable for f32 {
    const THIRD: f32 = 1.0 / 3.0;
    const ROOTS_OF_TWO: [f32; 2] = [1.2599211, 0.7937005];

    #[inline(always)]
    fn inverse_cbrt<V: Value<Format = f32>, L: Level>(m: V) -> V {
        // Error relative to the result: 2^-17.4.
        polynomial::<V, L, 6>(m, [1.9991697, -2.4859157, 2.792204, -1.8981274, 0.7007373, -0.10806403])
    }

    #[inline(always)]
    fn refine<V: Value<Format = f32>, L: Level>(z: V, _: V) -> V {
        z
    }
}

impl CbrtTable for f64 {
    const THIRD: f64 = 1.0 / 3.0;
    const ROOTS_OF_TWO: [f64; 2] = [1.2599210498948732, 0.7937005259840998];

    #[inline(always)]
    fn inverse_cbrt<V: Value<Format = f64>, L: Level>(m: V) -> V {
        // Error relative to the result: 2^-17.4.
        polynomial::<V, L, 6>(
            m,
            [
                1.999169673417005,
                -2.4859156134054543,
                2.79220395404917,
                -1.8981274265716295,
                0.7007372894221201,
                -0.10806403006578684,
            ],
        )
    }

    #[inline(always)]
    fn refine<V: Value<Format = f64>, L: Level>(z: V, t: V) -> V {
        // Newton's step for 1 / z^3 = t: the error becomes 2^-33.8.
        let error = (-(t * z)).madd::<L>(z * z, V::ONE);
        (error * Self::THIRD.into()).madd::<L>(z, z)
    }
}

/// The cube root of x.
#[inline(always)]
pub(crate) fn cbrt<V: Value<Format: CbrtTable>, L: Level>(x: V) -> V {
    let (k, m) = split(x.magnitude());
    let third = V::from(V::Format::THIRD);
    let biased = k.madd::<L>(third, V::ROUND + V::BIAS);
    let q = biased - (V::ROUND + V::BIAS);
    // -1, 0 or 1.
    let rest = k - (q + q + q);
    let (more, less) = (rest.above(V::ZERO), rest.below(V::ZERO));
    let [root, inverse_root] = V::Format::ROOTS_OF_TWO.map(V::from);
    let scale = V::select(less, V::HALF, V::select(more, V::TWO, V::ONE));
    let inverse = V::select(less, root, V::select(more, inverse_root, V::ONE));
    let t = m * scale;
    let z = V::Format::refine::<V, L>(V::Format::inverse_cbrt::<V, L>(m) * inverse, t);

    let square = z * z;
    let y = (t * square).head();
    // With y = r (1 + e) the step is -r (e + e^2), short of the root by its own square.
    let step = minus_product::<V, L>(t, y * y, y) * (square * third);
    let root = y + (step * step).madd::<L>(z, step);
    let result = (root * biased.two_to()).xor_sign(x);
    let is_same = x.equals(V::ZERO) | x.magnitude().equals(V::INFINITY);
    V::select(is_same, x, result).or_nan_of(x)
}
