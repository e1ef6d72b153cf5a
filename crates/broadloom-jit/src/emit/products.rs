//! Quotients of `f64` by a divisor that a loop does not change: products with its reciprocal, with the bits of the division.
//!
//! With `r` the rounded reciprocal of `y`, `1 - r y` is exact in one fused operation, so that `s`, which is `(1 - r y) r`, is the rest of
//! the reciprocal but for an error of some `u^2 r`, where `u` is 2^-53. Then
//!
//! ```text
//! q = x r + (x s)      fused: the quotient, rounded, of which the part before rounding is off by 3 u^2 |q| at most
//! e = x - q y          fused: exact, because q is one of the two neighbours of the quotient
//! q = q + e r          fused: the rounded quotient
//! ```
//!
//! The last line is a theorem of Markstein's (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
//! processor", IBM J. Res. Dev. 34, 1990; J.-M. Muller et al., "Handbook of Floating-Point Arithmetic", 2nd edition, section 4.7): if
//! `r` is the rounded reciprocal and `q` a neighbour of the quotient, then `q + e r`, rounded, is the rounded quotient. The first line
//! is the division by constants of N. Brisebarre, J.-M. Muller and S. K. Raina, "Accelerating correctly rounded floating-point
//! division when the divisor is known in advance", IEEE Trans. Comput. 53, 2004.
//!
//! Nothing may overflow, and no rest may fall below the subnormal numbers. So magnitudes of `x` and `y` have bounds. Zeros may be
//! divided as well, with the sign of the result put in at the end. Where any of a few registers has another number, the CPU divides
//! them all, in code outside the common path.

use super::value::Regs;
use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder, types};

/// A divisor is between one over this number and this number.
const MOST_DIVISOR: f64 = power_of_two(500);

/// Quotients are between these, so that no product of rests is subnormal, and nothing overflows.
const QUOTIENTS: [f64; 2] = [power_of_two(-900), power_of_two(1020)];

/// Dividends are between these, so that what is left of them can be represented.
const DIVIDENDS: [f64; 2] = [power_of_two(-960), power_of_two(1022)];

const fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// What is computed of a divisor once.
struct Divisor {
    itself: ir::Value,
    reciprocal: ir::Value,
    rest: ir::Value,
    sign: ir::Value,
    least: ir::Value,
    most: ir::Value,
    zero: ir::Value,
}

impl Emitter<'_, '_> {
    /// Whether products with a reciprocal take less time than the divisions of a vector by a scalar. Eight divisions of `f64` keep the
    /// divider busy for 16 cycles, the products take 7. Sixteen of `f32` take no longer than their products, and shorter vectors less.
    pub(crate) fn has_products(&self, x: &Val, y: &Val) -> bool {
        let is_full = (x.lanes * usize::from(x.width)).is_multiple_of(self.host.vector_bytes);
        self.host.has_avx512() && x.dtype == DType::F64 && x.lanes > 1 && is_full && y.lanes == 1
    }

    /// Divides vectors by a scalar. The result has the bits of the division, with any NaN for a NaN.
    pub(crate) fn divide_by_invariant(&mut self, x: &Val, y: &Val) -> Val {
        let ty = self.host.vector_of(types::F64);
        let Divisor { itself, reciprocal, rest, sign, least, most, zero } = self.divisor(y, ty);
        let mut outside = Regs::new();
        for &x in &x.regs {
            let magnitude = self.builder.ins().fabs(x);
            let small = self.builder.ins().fcmp(FloatCC::UnorderedOrLessThan, magnitude, least);
            let large = self.builder.ins().fcmp(FloatCC::UnorderedOrGreaterThan, magnitude, most);
            let is_outside = self.builder.ins().bor(small, large);
            let is_some = self.builder.ins().fcmp(FloatCC::NotEqual, x, zero);
            outside.push(self.builder.ins().band(is_outside, is_some));
        }
        let rare = self.any(&Val::mask(x.lanes, x.width, outside));
        let [common, cold, join] = [(); 3].map(|()| self.builder.create_block());
        self.builder.set_cold_block(cold);
        let results: Regs = x.regs.iter().map(|_| self.builder.append_block_param(join, ty)).collect();
        // Tested first: some CPUs take a hundred cycles for a product that is subnormal.
        self.builder.ins().brif(rare, cold, &[], common, &[]);
        self.builder.switch_to_block(cold);
        let divided = x.regs.iter().map(|x| ir::BlockArg::Value(self.builder.ins().fdiv(*x, itself)));
        let divided: Vec<ir::BlockArg> = divided.collect();
        self.builder.ins().jump(join, &divided);
        self.builder.switch_to_block(common);
        let signs = self.splat_float(ty, -0.0);
        let mut quotients: Vec<ir::BlockArg> = Vec::new();
        for &x in &x.regs {
            let first = self.builder.ins().fmul(x, rest);
            let first = self.builder.ins().fma(x, reciprocal, first);
            let negative = self.builder.ins().fneg(first);
            let left = self.builder.ins().fma(negative, itself, x);
            let quotient = self.builder.ins().fma(left, reciprocal, first);
            let signed = self.builder.ins().bxor(x, sign);
            let signed = self.builder.ins().band(signed, signs);
            quotients.push(ir::BlockArg::Value(self.builder.ins().bor(quotient, signed)));
        }
        self.builder.ins().jump(join, &quotients);
        self.builder.switch_to_block(join);
        x.with_regs(results)
    }

    /// Computes what quotients need of a scalar divisor, in all lanes of registers of a type.
    fn divisor(&mut self, y: &Val, ty: ir::Type) -> Divisor {
        let y = y.regs[0];
        let number = |emitter: &mut Self, number: f64| emitter.builder.ins().f64const(number);
        let [one, nan, zero, signs] = [1.0, f64::NAN, 0.0, -0.0].map(|each| number(self, each));
        let reciprocal = self.builder.ins().fdiv(one, y);
        let negative = self.builder.ins().fneg(reciprocal);
        let rest = self.builder.ins().fma(negative, y, one);
        let rest = self.builder.ins().fmul(rest, reciprocal);
        let magnitude = self.builder.ins().fabs(y);
        let [of_least, of_most] = QUOTIENTS.map(|bound| number(self, bound));
        let [least, most] = DIVIDENDS.map(|bound| number(self, bound));
        let of_least = self.builder.ins().fmul(magnitude, of_least);
        let least = self.builder.ins().fmax(of_least, least);
        let of_most = self.builder.ins().fmul(magnitude, of_most);
        let most = self.builder.ins().fmin(of_most, most);
        // No number is at least a NaN, and none is equal to it: the CPU divides all by a divisor that is out of bounds.
        let [from, to] = [1.0 / MOST_DIVISOR, MOST_DIVISOR].map(|bound| number(self, bound));
        let above = self.builder.ins().fcmp(FloatCC::GreaterThanOrEqual, magnitude, from);
        let below = self.builder.ins().fcmp(FloatCC::LessThanOrEqual, magnitude, to);
        let is_within = self.builder.ins().band(above, below);
        let [least, zero] = [least, zero].map(|number| self.builder.ins().select(is_within, number, nan));
        let sign = self.builder.ins().band(y, signs);
        let mut splat = |value: ir::Value| self.builder.ins().splat(ty, value);
        Divisor {
            itself: splat(y),
            reciprocal: splat(reciprocal),
            rest: splat(rest),
            sign: splat(sign),
            least: splat(least),
            most: splat(most),
            zero: splat(zero),
        }
    }
}
