//! The exponential function, to the bases e and 2, and e^x - 1.
//!
//! ```text
//! x = n ln 2 + r ──▶ e^r = 1 + r + r^2 Q(r), |r| <= ln 2 / 2 ──▶ times 2^n, in two factors ──▶ lowered, if tiny
//! ```

use crate::exact::{fast_two_sum, two_product, two_sum};
use crate::float::{Float, Value, polynomial, polynomial_by_parity};
use crate::level::Level;

/// The constants of the exponential and its relatives for a format.
pub trait ExpTable: Float {
    const LOG2_E: Self;
    /// The head of ln 2, short enough that its product with any exponent is exact.
    const LN2_HI: Self;
    /// ln 2 - `LN2_HI`.
    const LN2_LO: Self;
    /// ln 2, rounded, and what it lacks.
    const LN2: Self;
    const LN2_ERROR: Self;
    /// The head of ln 2, of half a mantissa, and the rest.
    const LN2_HEAD: Self;
    const LN2_REST: Self;
    /// From this value on, the result is infinite.
    const EXP_MAX: Self;
    /// From this value down, the result is zero.
    const EXP_MIN: Self;
    /// From this value on, 2^x is infinite.
    const EXP2_MAX: Self;
    /// From this value down, 2^x is zero.
    const EXP2_MIN: Self;
    /// Below this value, e^x is subnormal or zero, also with its rounding errors: a little below ln 2 times the least exponent.
    const EXP_TINY: Self;
    /// Below this value, 2^x is subnormal or zero.
    const EXP2_TINY: Self;
    /// The even number of binary places by which tiny powers are lifted.
    const TINY_LIFT: Self;
    /// The float to whose last place the least subnormal number is lifted.
    const TINY_UNIT: Self;
    /// From this value down, e^x - 1 rounds to -1.
    const EXPM1_MIN: Self;
    /// Whether the rounding errors of r and of 1 + r are taken into account.
    const COMPENSATED: bool;

    /// Q in e^r = 1 + r + r^2 Q(r) for |r| <= ln 2 / 2.
    fn exp_tail<V: Value<Format = Self>, L: Level>(r: V) -> V;
    /// Q(r) - 1/2, such that e^r - 1 keeps its relative precision near zero.
    fn expm1_tail<V: Value<Format = Self>, L: Level>(r: V) -> V;
}

// Coefficients here and in the other files: coefficients.py (Remez exchange in 60 digits, then rounded).
impl ExpTable for f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN2_HI: f32 = 0.69314575; // 15 bits
    const LN2_LO: f32 = 1.4286068e-6;
    const LN2: f32 = std::f32::consts::LN_2;
    const LN2_ERROR: f32 = -1.9046542e-9;
    const LN2_HEAD: f32 = 0.69311523;
    const LN2_REST: f32 = 3.1946183e-5;
    const EXP_MAX: f32 = 89.0;
    const EXP_MIN: f32 = -104.0;
    const EXP2_MAX: f32 = 128.0;
    const EXP2_MIN: f32 = -151.0;
    const EXP_TINY: f32 = -87.34;
    const EXP2_TINY: f32 = -126.0;
    const TINY_LIFT: f32 = 150.0;
    const TINY_UNIT: f32 = (1u64 << 24) as f32;
    const EXPM1_MIN: f32 = -18.0;
    const COMPENSATED: bool = false;

    #[inline(always)]
    fn exp_tail<V: Value<Format = f32>, L: Level>(r: V) -> V {
        // Error relative to e^r: 2^-28.3.
        polynomial::<V, L, 5>(r, [0.49999994, 0.16666521, 0.04166839, 0.008368717, 0.0013814599])
    }

    #[inline(always)]
    fn expm1_tail<V: Value<Format = f32>, L: Level>(r: V) -> V {
        Self::exp_tail::<V, L>(r) - V::HALF
    }
}

impl ExpTable for f64 {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN2_HI: f64 = 0.6931471805601177; // 41 bits
    const LN2_LO: f64 = -1.7239444525614835e-13;
    const LN2: f64 = std::f64::consts::LN_2;
    const LN2_ERROR: f64 = 2.3190468138462996e-17;
    const LN2_HEAD: f64 = 0.6931471824645996;
    const LN2_REST: f64 = -1.904654299957768e-9;
    const EXP_MAX: f64 = 710.0;
    const EXP_MIN: f64 = -746.0;
    const EXP2_MAX: f64 = 1024.0;
    const EXP2_MIN: f64 = -1076.0;
    const EXP_TINY: f64 = -708.4;
    const EXP2_TINY: f64 = -1022.0;
    const TINY_LIFT: f64 = 1074.0;
    const TINY_UNIT: f64 = (1u64 << 52) as f64;
    const EXPM1_MIN: f64 = -38.0;
    const COMPENSATED: bool = true;

    #[inline(always)]
    fn exp_tail<V: Value<Format = f64>, L: Level>(r: V) -> V {
        // Error relative to e^r: 2^-57.9.
        polynomial::<V, L, 10>(
            r,
            [
                0.5000000000000011,
                0.16666666666666413,
                0.041666666666530155,
                0.008333333333494463,
                0.001388888894363038,
                0.00019841269506575744,
                2.480149309863533e-05,
                2.7557586375678646e-06,
                2.763024847316803e-07,
                2.5000061183251388e-08,
            ],
        )
    }

    #[inline(always)]
    fn expm1_tail<V: Value<Format = f64>, L: Level>(r: V) -> V {
        // Q(r) = 1/2 + r P(r). Error relative to e^r - 1: 2^-61.7.
        let p = polynomial_by_parity::<V, L, 10>(
            r,
            [
                0.16666666666666677,
                0.04166666666666658,
                0.008333333333322158,
                0.001388888888894266,
                0.0001984126988494493,
                2.480158719823364e-05,
                2.7557245291603845e-06,
                2.7557387033436137e-07,
                2.5108687410518117e-08,
                2.087891555221135e-09,
            ],
        );
        r * p
    }
}

/// e^x.
#[inline(always)]
pub(crate) fn exp<V: Value<Format: ExpTable>, L: Level>(x: V) -> V {
    // 0.77 ulp instead of 0.91 would take f64 a tenth longer, and 0.70 a third: LLVM then no longer unrolls the loop of
    // the tile.
    plain_exp_of_sum::<V, L>(x, V::ZERO).or_nan_of(x)
}

/// e^(x + dx) for a `dx` of at most some ulps of `x`, with the rounding errors of r and of 1 + r.
#[inline(always)]
fn plain_exp_of_sum<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V) -> V {
    let lift = Lift::below(V::Format::EXP_TINY, x);
    let e = scaled_exp::<V, L>(clamped(x), dx, lift.round());
    lift.back(e.scale(e.hi))
}

/// Keeps 2^n in the range of its two factors; the last product then overflows by itself, and is lowered to zero.
#[inline(always)]
fn clamped<V: Value<Format: ExpTable>>(x: V) -> V {
    x.at_most(V::Format::EXP_MAX).at_least(V::Format::EXP_MIN)
}

/// e^(x + dx) for a `dx` of at most some ulps of `x`.
#[inline(always)]
pub(crate) fn exp_of_sum<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V) -> V {
    if !V::Format::COMPENSATED {
        return plain_exp_of_sum::<V, L>(x, dx);
    }
    let lift = Lift::below(V::Format::EXP_TINY, x);
    let (hi, lo, exponent) = reduced::<V, L>(clamped(x), dx, lift.round());
    let power = careful_exp_of_small_sum::<V, L>(hi, lo);
    lift.back(Scaled { hi: power, lo: V::ZERO, exponent }.scale(power))
}

/// How powers that would be subnormal are computed: times an even power of two, as normal numbers, and lowered as integers. Some
/// processors take a hundred cycles for each product that is subnormal or underflows.
#[derive(Clone, Copy)]
pub(crate) struct Lift<V: Value> {
    x: V,
    bound: V::Format,
}

impl<V: Value<Format: ExpTable>> Lift<V> {
    /// For powers that are tiny where the exponent is below a bound.
    #[inline(always)]
    pub(crate) fn below(bound: V::Format, x: V) -> Self {
        Lift { x, bound }
    }

    #[inline(always)]
    fn is_tiny(self) -> V::Mask {
        self.x.below(self.bound)
    }

    /// ROUND + 2 * BIAS, and where it is tiny the lift: the sum with an exponent rounds the same way for both.
    #[inline(always)]
    pub(crate) fn round(self) -> V {
        let round = V::ROUND + (V::BIAS + V::BIAS);
        V::select(self.is_tiny(), round + V::Format::TINY_LIFT.into(), round)
    }

    /// A positive number that has been lifted, without the lift.
    #[inline(always)]
    pub(crate) fn back(self, lifted: V) -> V {
        self.lowered(lifted, V::Format::TINY_UNIT.into())
    }

    /// A number of any sign that has been lifted, without the lift.
    #[inline(always)]
    pub(crate) fn back_with_sign(self, lifted: V) -> V {
        self.lowered(lifted, V::from(V::Format::TINY_UNIT).xor_sign(lifted))
    }

    /// A number without its lift, rounded to the last place of a unit of its sign.
    #[inline(always)]
    fn lowered(self, lifted: V, unit: V) -> V {
        // Asked once more, in other words: `x` stays in a register for its NaNs, and a mask would take another one. The bound is
        // negative, so this is the float before it.
        let is_tiny = self.x.below_or_equal(V::Format::of_bits(self.bound.bits() + 1));
        V::select(is_tiny, (lifted + unit).minus_bits(V::Format::TINY_UNIT), lifted)
    }

    /// Zero where the number is tiny.
    #[inline(always)]
    pub(crate) fn or_zero(self, x: V) -> V {
        V::select(self.is_tiny(), V::ZERO, x)
    }
}

/// (hi + lo) 2^n, where 2^n may be beyond the format's exponents.
#[derive(Clone, Copy)]
pub(crate) struct Scaled<V> {
    pub(crate) hi: V,
    /// What `hi` lacks: its last two rounding errors.
    pub(crate) lo: V,
    /// ROUND + 2 * BIAS + n.
    pub(crate) exponent: V,
}

impl<V: Value> Scaled<V> {
    /// x 2^n, rounded once, also where it is subnormal.
    #[inline(always)]
    pub(crate) fn scale(self, x: V) -> V {
        x.times_two_to(self.exponent)
    }
}

/// As [`exp_of_sum`] before the scaling, for an `x` between about twice the bounds of [`ExpTable`]; `round` is that of a
/// [`Lift`], or ROUND + 2 * BIAS.
#[inline(always)]
pub(crate) fn scaled_exp<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V, round: V) -> Scaled<V> {
    let (hi, lo, exponent) = reduced_exp::<V, L>(x, dx, round);
    Scaled { hi, lo, exponent }
}

/// `(e, ROUND + BIAS + k + n)` with `e 2^n` as [`scaled_exp`] has it, for an odd integer k: 2^(n+k) is then one factor.
#[inline(always)]
pub(crate) fn exp_and_exponent<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V, k: V) -> (V, V) {
    // Like twice the bias, BIAS + k is even: ties go the same way.
    let (hi, _, exponent) = reduced_exp::<V, L>(x, dx, V::ROUND + (V::BIAS + k));
    (hi, exponent)
}

/// e^(x + dx) = (hi + lo) 2^n, and `round` + n.
#[inline(always)]
fn reduced_exp<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V, round: V) -> (V, V, V) {
    let (hi, lo, exponent) = reduced::<V, L>(x, dx, round);
    let (sum, sum_error) = fast_two_sum(hi, curve::<V, L>(hi, lo));
    let (hi, error) = fast_two_sum(V::ONE, sum);
    (hi, error + sum_error, exponent)
}

/// x + dx = hi + lo + n ln 2, and `round` + n.
#[inline(always)]
fn reduced<V: Value<Format: ExpTable>, L: Level>(x: V, dx: V, round: V) -> (V, V, V) {
    let exponent = x.madd::<L>(V::Format::LOG2_E, round);
    let n = exponent - round;
    let hi = (-n).madd::<L>(V::Format::LN2_HI, x); // exact, see LN2_HI
    let lo = (-n).madd::<L>(V::Format::LN2_LO, dx);
    (hi, lo, exponent)
}

/// e^(hi + lo) - 1 - hi. The rounding error of the sum matters only in the linear term, and there is none.
#[inline(always)]
fn curve<V: Value<Format: ExpTable>, L: Level>(hi: V, lo: V) -> V {
    let r = hi + lo;
    (r * r).madd::<L>(V::Format::exp_tail::<V, L>(r), lo)
}

/// e^(hi + lo), for a small lo, and |hi| <= ln 2 / 2. What is added last is at most a 90th of the sum, so that its own
/// rounding errors hardly count.
#[inline(always)]
fn careful_exp_of_small_sum<V: Value<Format: ExpTable>, L: Level>(hi: V, lo: V) -> V {
    let r = hi + lo;
    // Where lo is the larger, the error of this is far below the last place of 1.
    let rest = lo - (r - hi);
    let (linear, linear_error) = fast_two_sum(V::ONE, r);
    let (sum, error) = plus_half_square::<V, L>(linear, r);
    let tail = (r * r).madd::<L>(V::Format::expm1_tail::<V, L>(r), r.madd::<L>(rest, rest));
    sum + (linear_error + error + tail)
}

/// a + r^2/2 as a sum, for an `a` that is larger than the square.
#[inline(always)]
fn plus_half_square<V: Value, L: Level>(a: V, r: V) -> (V, V) {
    if L::FUSED {
        let half = V::HALF * r;
        let sum = half.madd::<L>(r, a);
        return (sum, half.madd::<L>(r, a - sum));
    }
    // The square of the head is exact.
    let head = r.head();
    let (sum, error) = fast_two_sum(a, V::HALF * head * head);
    (sum, (V::HALF * (r - head)).madd::<L>(r + head, error))
}

/// 2^x, exact for integers.
#[inline(always)]
pub(crate) fn exp2<V: Value<Format: ExpTable>, L: Level>(x: V) -> V {
    let a = x.at_most(V::Format::EXP2_MAX).at_least(V::Format::EXP2_MIN);
    let lift = Lift::below(V::Format::EXP2_TINY, a);
    let round = lift.round();
    let exponent = a + round;
    let f = a - (exponent - round);
    // f ln 2 as a sum.
    let power = if V::Format::COMPENSATED && L::FUSED {
        let (product, error) = two_product::<V, L>(f, V::Format::LN2.into());
        careful_exp_of_small_sum::<V, L>(product, f.madd::<L>(V::Format::LN2_ERROR, error))
    } else {
        // The product of the heads is exact.
        let head = f.head();
        let [ln2, ln2_head] = [V::Format::LN2, V::Format::LN2_HEAD].map(V::from);
        let (hi, lo) = (head * ln2_head, head.madd::<L>(V::Format::LN2_REST, (f - head) * ln2));
        V::ONE + (hi + curve::<V, L>(hi, lo))
    };
    lift.back(Scaled { hi: power, lo: V::ZERO, exponent }.scale(power)).or_nan_of(x)
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn expm1<V: Value<Format: ExpTable>, L: Level>(x: V) -> V {
    // Below half an ulp of 1, x^2 / 2 has no effect, and would underflow.
    let tiny = (x.magnitude() * V::LIFT).below(V::ONE);
    let a = V::select(tiny, V::ZERO, x);
    let a = a.at_most(V::Format::EXP_MAX).at_least(V::Format::EXPM1_MIN);
    let round = V::ROUND + V::BIAS;
    let biased = a.madd::<L>(V::Format::LOG2_E, round);
    let n = biased - round;
    let hi = (-n).madd::<L>(V::Format::LN2_HI, a);
    let lo = -n * V::Format::LN2_LO.into();
    let r = hi + lo;
    let (hi, lo) = if V::Format::COMPENSATED {
        let rest = lo - (r - hi);
        (r, r.madd::<L>(rest, rest))
    } else {
        (hi, lo)
    };
    // e^r - 1 = r + r^2/2 + .. with a share of the square that is exact, because what it is added to may
    // cancel: near x = ln 2 / 2 the square's rounding errors would count fourfold.
    let head = r.head();
    let (linear, error) = fast_two_sum(hi, V::HALF * head * head);
    let square_rest = (V::HALF * (r - head)).madd::<L>(r + head, lo);
    let curve = (r * r).madd::<L>(V::Format::expm1_tail::<V, L>(r), square_rest + error);
    // Half of the result, 2^(n-1) (e^r - 1) + (2^(n-1) - 1/2), because 2^n may overflow before it. The second
    // term is zero or at least |2^(n-1) linear|.
    let half = (biased - V::ONE).two_to();
    let (base, base_error) = two_sum(half, -V::HALF);
    let (sum, error) = fast_two_sum(base, half * linear);
    let result = sum + half.madd::<L>(curve, error + base_error);
    V::select(tiny, x, result + result).or_nan_of(x)
}
