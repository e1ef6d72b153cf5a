//! Quotients and remainders of integers: there are no vector instructions for them.
//!
//! ```text
//! 1 to 4 bytes ───────────▶ a / b in floats of twice the size, corrected by one
//! 8 bytes ─┬─ b constant ─▶ the upper half of a product
//!          ├─ wide ───────▶ a / b in floats, then (a - q b) / b again, corrected by one
//!          └─ otherwise ──▶ the machine's division, lane by lane
//! ```

use super::value::scalar_type;
use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// [`Op::FloorDivide`], [`Op::Remainder`] or [`Op::Fmod`] of operands that may be scalars among vectors.
    pub(super) fn divide_integers(&mut self, op: Op, operands: &[Val]) -> Val {
        let dtype = operands[0].dtype;
        let is_scalar = operands.iter().all(|arg| arg.lanes == 1);
        if !is_scalar && dtype.size() == 8 && self.host.is_wide() {
            let constant = Some(&operands[1]).filter(|divisor| divisor.lanes == 1);
            if let Some(divisor) = constant.and_then(|divisor| self.known_integer(divisor))
                && divisor != 0
            {
                return self.divide_by_constant(op, &operands[0], divisor);
            }
            return self.divide_long(op, operands);
        }
        if is_scalar || dtype.size() == 8 {
            // A constant divisor becomes a product.
            return self.by_lane(operands, |emitter, args| emitter.divide_scalars(op, &args[0], &args[1]));
        }
        let float = if dtype.size() == 4 { DType::F64 } else { DType::F32 };
        let floats: SmallVec<[Val; 2]> = operands.iter().map(|arg| self.cast(arg, float)).collect();
        let args = self.spread(&floats);
        let (a, b) = (&args[0], &args[1]);
        let quotient = if operands[1].lanes == 1 {
            // The reciprocal of an invariant divisor is computed once, before the loop.
            let inverse = self.reciprocal(b);
            self.zip(a, &inverse, |builder, a, inverse| builder.ins().fmul(a, inverse))
        } else {
            self.zip(a, b, |builder, a, b| builder.ins().fdiv(a, b))
        };
        self.integer_quotient(op, dtype, a, b, &quotient)
    }

    /// Divides integers by float arithmetic, with a quotient that is off by less than a half.
    ///
    /// With `|a| < 2^n`, `0 < |b| < 2^n` and fractions of `p > n + 4` bits, the quotient, rounded twice at most, is
    /// off by less than `2^n * 2^(2-p) < 1/4`. Rounded to the nearest integer `t`, it is within 3/4 of `a / b`. So
    /// the remainder `a - t * b` is less than `|b|`, and both `t * b`, with `|t * b| < 2^(n+1)`, and the remainder
    /// are exact. If the remainder has the wrong sign, `t` is off by one. This holds for `n = 16` and `p = 24` (`f32`
    /// for 1 and 2 bytes), and for `n = 32` and `p = 53`.
    ///
    /// To round, `1.5 * 2^(p-1)` is added, which leaves the integer in the low bits of the sum in two's complement. The
    /// result is taken from there too, so that the least integer divided by -1 wraps. The result for a zero divisor is
    /// replaced.
    fn integer_quotient(&mut self, op: Op, dtype: DType, a: &Val, b: &Val, quotient: &Val) -> Val {
        let (integer, sign, large) = match a.dtype {
            DType::F64 => (DType::I64, i64::MIN, 1.5 * 2f64.powi(52)),
            _ => (DType::I32, 0x8000_0000, 1.5 * 2f64.powi(23)),
        };
        let (ty, bits) = (self.host.vector_type(a.dtype, a.width), self.host.mask_type(a.width));
        let (zero, one, large) =
            (self.splat_float(ty, 0.0), self.splat_float(ty, 1.0), self.splat_float(ty, large));
        let (one, sign) = (self.bitcast(bits, one), self.splat_bits(bits, sign));
        let result = self.in_vectors(&[a, b, quotient], |emitter, args| {
            let (a, b, quotient) = (args[0], args[1], args[2]);
            let nearest = emitter.builder.ins().fadd(quotient, large);
            let nearest = emitter.builder.ins().fsub(nearest, large);
            let product = emitter.builder.ins().fmul(nearest, b);
            let rest = emitter.builder.ins().fsub(a, product);
            // The sign that the remainder must have.
            let like = if op == Op::Fmod { a } else { b };
            let product = emitter.builder.ins().fmul(rest, like);
            let wrong = emitter.builder.ins().fcmp(FloatCC::LessThan, product, zero);
            let result = match op {
                Op::FloorDivide => {
                    let step = emitter.builder.ins().band(wrong, one);
                    let step = emitter.bitcast(ty, step);
                    emitter.builder.ins().fsub(nearest, step)
                }
                _ => {
                    let (a, b) = (emitter.bitcast(bits, a), emitter.bitcast(bits, b));
                    let step = if op == Op::Fmod {
                        let magnitude = emitter.builder.ins().band_not(b, sign);
                        let sign = emitter.builder.ins().band(a, sign);
                        emitter.builder.ins().bor(magnitude, sign)
                    } else {
                        b
                    };
                    let step = emitter.builder.ins().band(wrong, step);
                    let step = emitter.bitcast(ty, step);
                    emitter.builder.ins().fadd(rest, step)
                }
            };
            let divisible = emitter.builder.ins().fcmp(FloatCC::NotEqual, b, zero);
            let result = emitter.bitcast(bits, result);
            let result = emitter.builder.ins().band(result, divisible);
            let result = emitter.bitcast(ty, result);
            emitter.builder.ins().fadd(result, large)
        });
        let regs: Vec<ir::Value> = result.regs.iter().map(|reg| self.bitcast(bits, *reg)).collect();
        let result = Val { dtype: integer, ..result.with_regs(regs) };
        self.cast(&result, dtype)
    }

    /// Scalar integer division: divisors that trap are replaced by 1.
    fn divide_scalars(&mut self, op: Op, x: &Val, y: &Val) -> Val {
        let signed = x.dtype.is_signed_integer();
        let size = x.dtype.size().max(4);
        let (a, b) = (self.resize_int(x, size), self.resize_int(y, size));
        let ty = self.builder.func.dfg.value_type(a);
        let (zero, one) = (self.builder.ins().iconst(ty, 0), self.builder.ins().iconst(ty, 1));
        let divides = self.builder.ins().icmp_imm_s(IntCC::NotEqual, b, 0);
        let negates = signed.then(|| self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1));
        let mut divisor = self.builder.ins().select(divides, b, one);
        if let Some(negates) = negates {
            divisor = self.builder.ins().select(negates, one, divisor);
        }
        let ins = self.builder.ins();
        let mut quotient = if signed { ins.sdiv(a, divisor) } else { ins.udiv(a, divisor) };
        let product = self.builder.ins().imul(quotient, divisor);
        let mut rest = self.builder.ins().isub(a, product);
        if signed && op != Op::Fmod {
            // The remainder has the sign of `a`, or is zero.
            let signs = self.builder.ins().bxor(rest, b);
            let other = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, signs, 0);
            let some = self.builder.ins().icmp_imm_s(IntCC::NotEqual, rest, 0);
            let wrong = self.builder.ins().band(other, some);
            let less = self.builder.ins().iadd_imm_s(quotient, -1);
            let more = self.builder.ins().iadd(rest, b);
            quotient = self.builder.ins().select(wrong, less, quotient);
            rest = self.builder.ins().select(wrong, more, rest);
        }
        let result = if op == Op::FloorDivide {
            if let Some(negates) = negates {
                let negative = self.builder.ins().ineg(a);
                quotient = self.builder.ins().select(negates, negative, quotient);
            }
            self.builder.ins().select(divides, quotient, zero)
        } else {
            rest
        };
        let result = if x.dtype.size() < size {
            self.builder.ins().ireduce(scalar_type(x.dtype), result)
        } else {
            result
        };
        Val::scalar(x.dtype, result)
    }

    /// Divides 8-byte integers by a constant that is not zero.
    ///
    /// A negative number counts as the complement of a non-negative one: floor(-1 - n / d) is -1 - floor(n / d).
    fn divide_by_constant(&mut self, op: Op, x: &Val, divisor: i64) -> Val {
        let is_signed = x.dtype.is_signed_integer();
        let is_negative = is_signed && divisor < 0;
        let size = if is_signed { divisor.unsigned_abs() } else { divisor.cast_unsigned() };
        let ty = self.host.vector_type(x.dtype, x.width);
        let zero = self.splat_bits(ty, 0);
        let size_lanes = self.splat_bits(ty, size.cast_signed());
        self.in_vectors(&[x], |emitter, args| {
            let x = args[0];
            let sign = is_signed.then(|| emitter.builder.ins().icmp(IntCC::SignedLessThan, x, zero));
            let turned = |emitter: &mut Self, value| match sign {
                Some(sign) => emitter.builder.ins().bxor(value, sign),
                None => value,
            };
            let magnitude = turned(emitter, x);
            let quotient = emitter.quotient_by(magnitude, size, is_signed);
            let quotient = turned(emitter, quotient);
            if op == Op::FloorDivide && !is_negative {
                return quotient;
            }
            // The remainder of the division by the magnitude of the divisor, which is not negative.
            let rest = if size.is_power_of_two() {
                let low = emitter.splat_bits(ty, (size - 1).cast_signed());
                emitter.builder.ins().band(x, low)
            } else {
                let product = emitter.builder.ins().imul(quotient, size_lanes);
                emitter.builder.ins().isub(x, product)
            };
            let some = |emitter: &mut Self| emitter.builder.ins().icmp(IntCC::NotEqual, rest, zero);
            let one_less = match (op, sign) {
                (Op::FloorDivide, _) => {
                    let some = some(emitter);
                    let negative = emitter.builder.ins().ineg(quotient);
                    return emitter.builder.ins().iadd(negative, some);
                }
                (Op::Remainder, _) if is_negative => some(emitter),
                (Op::Fmod, Some(sign)) => {
                    let some = some(emitter);
                    emitter.builder.ins().band(some, sign)
                }
                _ => return rest,
            };
            let step = emitter.builder.ins().band(one_less, size_lanes);
            emitter.builder.ins().isub(rest, step)
        })
    }

    /// The quotients of unsigned 8-byte integers and a constant, as in Granlund and Montgomery, "Division by Invariant
    /// Integers using Multiplication", 1994. Signed integers are not negative, so that their upper bit is not in use.
    fn quotient_by(&mut self, x: ir::Value, divisor: u64, is_signed: bool) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        // The least power of two that is not below the divisor.
        let bits = 64 - (divisor - 1).leading_zeros();
        if divisor.is_power_of_two() {
            return self.builder.ins().ushr_imm_u(x, i64::from(bits));
        }
        let factor = if is_signed {
            // 2^(63 + bits) / divisor, rounded up, is below 2^64 (theorem 4.2).
            (1_u128 << (63 + bits)) / u128::from(divisor) + 1
        } else {
            // This much more than 2^64 (figure 4.1).
            (((1_u128 << bits) - u128::from(divisor)) << 64) / u128::from(divisor) + 1
        };
        let factor = self.splat_bits(ty, (factor as u64).cast_signed());
        let mut high = self.builder.ins().umulhi(x, factor);
        if !is_signed {
            let rest = self.builder.ins().isub(x, high);
            let half = self.builder.ins().ushr_imm_u(rest, 1);
            high = self.builder.ins().iadd(half, high);
        }
        self.builder.ins().ushr_imm_u(high, i64::from(bits) - 1)
    }

    /// Divides 8-byte integers by float arithmetic, in two steps.
    ///
    /// The first quotient, a product with the inverse of b, is off by less than `2^64 * 2^-51 / |b|` from four roundings
    /// and by a half from the last one. So the remainder is below `2^13 + |b| / 2`, and modulo 2^64 it is exact if that
    /// is below 2^63. Its own quotient is off by little more than a half, and the last remainder below
    /// `|b| (1/2 + 2^-37)`: if it has the wrong sign, the quotient is off by one. Unsigned divisors from 2^63 on go at most
    /// once. The result for a zero divisor is replaced.
    fn divide_long(&mut self, op: Op, operands: &[Val]) -> Val {
        let is_signed = operands[0].dtype.is_signed_integer();
        // The inverse of an invariant divisor is computed once, before the loop.
        let inverse = self.cast(&operands[1], DType::F64);
        let inverse = self.reciprocal(&inverse);
        let a = self.cast(&operands[0], DType::F64);
        let args = self.spread(&[operands[0].clone(), operands[1].clone(), a, inverse]);
        let ty = self.host.vector_type(DType::I64, 8);
        let zero = self.splat_bits(ty, 0);
        self.in_vectors(&[&args[0], &args[1], &args[2], &args[3]], |emitter, args| {
            let (a, b, float, inverse) = (args[0], args[1], args[2], args[3]);
            let rest_of = |emitter: &mut Self, a, quotient| {
                let product = emitter.builder.ins().imul(quotient, b);
                emitter.builder.ins().isub(a, product)
            };
            let first = emitter.builder.ins().fmul(float, inverse);
            let first = emitter.integer_of(first);
            let rest = rest_of(emitter, a, first);
            let ty = emitter.builder.func.dfg.value_type(inverse);
            let float = emitter.builder.ins().fcvt_from_sint(ty, rest);
            let second = emitter.builder.ins().fmul(float, inverse);
            let second = emitter.small_integer_of(second);
            let rest = rest_of(emitter, rest, second);
            let quotient = emitter.builder.ins().iadd(first, second);
            let mut result = emitter.corrected(op, is_signed, [a, b], [quotient, rest]);
            if !is_signed {
                let is_large = emitter.builder.ins().icmp(IntCC::SignedLessThan, b, zero);
                let once = emitter.divided_once(op, a, b);
                result = emitter.blend(is_large, once, result);
            }
            let divisible = emitter.builder.ins().icmp(IntCC::NotEqual, b, zero);
            emitter.builder.ins().band(result, divisible)
        })
    }

    /// The result of an op from a quotient that may be one too large or, if they are signed, too small, and its remainder.
    fn corrected(
        &mut self,
        op: Op,
        is_signed: bool,
        [a, b]: [ir::Value; 2],
        [quotient, rest]: [ir::Value; 2],
    ) -> ir::Value {
        let zero = self.splat_bits(self.builder.func.dfg.value_type(rest), 0);
        let wrong = if is_signed {
            let signs = self.builder.ins().bxor(rest, if op == Op::Fmod { a } else { b });
            let other = self.builder.ins().icmp(IntCC::SignedLessThan, signs, zero);
            let some = self.builder.ins().icmp(IntCC::NotEqual, rest, zero);
            self.builder.ins().band(other, some)
        } else {
            self.builder.ins().icmp(IntCC::SignedLessThan, rest, zero)
        };
        let step = match op {
            Op::FloorDivide => return self.builder.ins().iadd(quotient, wrong),
            Op::Fmod if is_signed => {
                // b with the other sign than the remainder.
                let signs = self.builder.ins().bxor(rest, b);
                let turns = self.builder.ins().icmp(IntCC::SignedGreaterThanOrEqual, signs, zero);
                let step = self.builder.ins().bxor(b, turns);
                self.builder.ins().isub(step, turns)
            }
            _ => b,
        };
        let step = self.builder.ins().band(wrong, step);
        self.builder.ins().iadd(rest, step)
    }

    /// The result of an op on unsigned integers of which the second goes into the first once at most.
    fn divided_once(&mut self, op: Op, a: ir::Value, b: ir::Value) -> ir::Value {
        let goes = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
        if op == Op::FloorDivide {
            return self.builder.ins().ineg(goes);
        }
        let step = self.builder.ins().band(goes, b);
        self.builder.ins().isub(a, step)
    }

    /// The nearest integer modulo 2^64 of a float below 2^83.
    fn integer_of(&mut self, x: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        let bits = self.host.mask_type(8);
        // The sum has the multiple of 2^32 that is nearest in its low bits.
        let large = self.splat_float(ty, 1.5 * 2f64.powi(52 + 32));
        let sum = self.builder.ins().fadd(x, large);
        let upper = self.builder.ins().fsub(sum, large);
        let lower = self.builder.ins().fsub(x, upper);
        let sum = self.bitcast(bits, sum);
        let upper = self.builder.ins().ishl_imm_u(sum, 32);
        let lower = self.small_integer_of(lower);
        self.builder.ins().iadd(upper, lower)
    }

    /// The nearest integer of a float below 2^51.
    fn small_integer_of(&mut self, x: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(x);
        let bits = self.host.mask_type(8);
        let large = self.splat_float(ty, 1.5 * 2f64.powi(52));
        let sum = self.builder.ins().fadd(x, large);
        let [sum, large] = [sum, large].map(|float| self.bitcast(bits, float));
        self.builder.ins().isub(sum, large)
    }
}
