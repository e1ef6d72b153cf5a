//! Integer ops for which Cranelift has no vector instructions: division, shifts by lane, and bit counts.

use super::value::scalar_type;
use super::{Emitter, Val};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, Opcode, types};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// An integer constant in the lanes of `like`.
    fn integer_like(&mut self, like: &Val, value: i64) -> Val {
        let constant = self.constant(Scalar::I64(value).cast(like.dtype));
        self.splat(&constant, like.lanes)
    }

    /// -1, 0 or 1.
    pub(super) fn sign_of_integers(&mut self, x: &Val) -> Val {
        let one = self.integer_like(x, 1);
        if !x.dtype.is_signed_integer() {
            return self.zip(x, &one, |builder, x, one| builder.ins().umin(x, one));
        }
        if x.lanes > 1 {
            // The masks are -1.
            let zero = self.integer_like(x, 0);
            return self.zip(x, &zero, |builder, x, zero| {
                let negative = builder.ins().icmp(IntCC::SignedLessThan, x, zero);
                let positive = builder.ins().icmp(IntCC::SignedGreaterThan, x, zero);
                builder.ins().isub(negative, positive)
            });
        }
        let below = self.integer_like(x, -1);
        let lifted = self.zip(x, &below, |builder, x, below| builder.ins().smax(x, below));
        self.zip(&lifted, &one, |builder, x, one| builder.ins().smin(x, one))
    }

    /// `x` where it is positive, else 0.
    pub(super) fn positive_integers(&mut self, x: &Val) -> Val {
        if !x.dtype.is_signed_integer() {
            return x.clone();
        }
        let zero = self.integer_like(x, 0);
        self.zip(x, &zero, |builder, x, zero| builder.ins().smax(x, zero))
    }

    /// [`Op::FloorDivide`], [`Op::Remainder`] or [`Op::Fmod`] of operands that may be scalars among vectors.
    pub(super) fn divide_integers(&mut self, op: Op, operands: &[Val]) -> Val {
        let dtype = operands[0].dtype;
        if operands.iter().all(|arg| arg.lanes == 1) || dtype.size() == 8 {
            // Cranelift turns a constant divisor into a product.
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

    /// [`Op::BitwiseLeftShift`] or [`Op::BitwiseRightShift`] of `x` by `y`, which is `count` splatted.
    pub(super) fn shift(&mut self, op: Op, x: &Val, y: &Val, count: &Val) -> Val {
        if count.lanes == 1 {
            return self.shift_uniformly(op, x, count);
        }
        if x.dtype.size() == 8 {
            return self.by_lane(&[x.clone(), y.clone()], |emitter, args| {
                emitter.shift_uniformly(op, &args[0], &args[1])
            });
        }
        // One step per bit of the count: 7 and 3 times as fast as lane by lane for 1 and 2 bytes, and as fast for 4.
        let width = x.dtype.size() as i64 * 8;
        let last = self.integer_like(x, width - 1);
        let bounded = self.zip(y, &last, |builder, y, last| builder.ins().umin(y, last));
        let mut shifted = x.clone();
        let mut distance = 1;
        while distance < width {
            let bit = self.integer_like(x, distance);
            let moved = self.map(&shifted, |builder, x| shift_by(builder, op, shifted.dtype, x, distance));
            let set = self.and(&bounded, &bit);
            let set = self.compare(IntCC::Equal, FloatCC::Equal, &set, &bit);
            shifted = self.select(&set, &moved, &shifted);
            distance *= 2;
        }
        if op == Op::BitwiseRightShift && x.dtype.is_signed_integer() {
            return shifted;
        }
        let inside =
            self.zip(y, &bounded, |builder, y, bounded| builder.ins().icmp(IntCC::Equal, y, bounded));
        self.and(&shifted, &inside)
    }

    /// Shifts all lanes by one scalar count.
    fn shift_uniformly(&mut self, op: Op, x: &Val, count: &Val) -> Val {
        let width = x.dtype.size() as i64 * 8;
        let keeps_sign = op == Op::BitwiseRightShift && x.dtype.is_signed_integer();
        if let Some(count) = self.known_integer(count) {
            let outside = !(0..width).contains(&count);
            return match (outside, keeps_sign) {
                (true, false) => self.integer_like(x, 0),
                (true, true) => self.map(x, |builder, reg| shift_by(builder, op, x.dtype, reg, width - 1)),
                (false, _) => self.map(x, |builder, reg| shift_by(builder, op, x.dtype, reg, count)),
            };
        }
        // As an unsigned number, a negative count is large.
        let last = self.builder.ins().iconst(scalar_type(x.dtype), width - 1);
        let bounded = self.builder.ins().umin(count.regs[0], last);
        let shifted = self.map(x, |builder, reg| match op {
            Op::BitwiseLeftShift => builder.ins().ishl(reg, bounded),
            _ if keeps_sign => builder.ins().sshr(reg, bounded),
            _ => builder.ins().ushr(reg, bounded),
        });
        if keeps_sign {
            return shifted;
        }
        let inside = self.builder.ins().icmp(IntCC::Equal, count.regs[0], bounded);
        let inside = match width {
            8 => inside,
            _ => self.builder.ins().uextend(scalar_type(x.dtype), inside),
        };
        let mask = self.builder.ins().ineg(inside);
        let mask = self.splat(&Val::scalar(x.dtype, mask), x.lanes);
        self.and(&shifted, &mask)
    }

    /// The value of a scalar integer, if it is a constant.
    fn known_integer(&self, x: &Val) -> Option<i64> {
        let dfg = &self.builder.func.dfg;
        let inst = dfg.value_def(x.regs[0]).inst()?;
        match dfg.insts[inst] {
            ir::InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
                let bits = imm.bits().cast_unsigned();
                // The constant is zero-extended, whatever its dtype.
                let value = Scalar::U64(bits).cast(x.dtype).cast(DType::I64);
                Some(value.bits().cast_signed())
            }
            _ => None,
        }
    }

    /// The number of set bits of unsigned numbers, as `u8`.
    pub(super) fn count_ones(&mut self, x: &Val) -> Val {
        if x.lanes == 1 {
            let ones = self.map(x, |builder, x| builder.ins().popcnt(x));
            return Val::scalar(DType::U8, self.resize_int(&ones, 1));
        }
        let ty = self.host.register_type(x);
        let mut ones = x.clone();
        for reg in &mut ones.regs {
            let bytes = self.bitcast(self.host.vector_of(types::I8), *reg);
            let counts = self.builder.ins().popcnt(bytes);
            *reg = self.bitcast(ty, counts);
        }
        // Add the counts of the bytes in the lowest byte; the bytes above it are garbage.
        let mut distance = 8;
        while distance < 8 * i64::from(x.width) {
            ones = self.map(&ones, |builder, reg| {
                let upper = builder.ins().ushr_imm_u(reg, distance);
                builder.ins().iadd(reg, upper)
            });
            distance *= 2;
        }
        self.cast(&ones, DType::U8)
    }

    /// The number of zero bits above the highest set bit, as `u8`.
    pub(super) fn leading_zeros(&mut self, x: &Val) -> Val {
        if x.lanes == 1 {
            let zeros = self.map(x, |builder, x| builder.ins().clz(x));
            return Val::scalar(DType::U8, self.resize_int(&zeros, 1));
        }
        if x.width == 8 {
            return self.by_lane(std::slice::from_ref(x), |emitter, x| emitter.leading_zeros(&x[0]));
        }
        // Set every bit below the highest set bit; the remaining zeros are those above it.
        let mut filled = x.clone();
        let mut distance = 1;
        while distance < 8 * i64::from(x.width) {
            filled = self.map(&filled, |builder, reg| {
                let lower = builder.ins().ushr_imm_u(reg, distance);
                builder.ins().bor(reg, lower)
            });
            distance *= 2;
        }
        let zeros = self.map(&filled, |builder, reg| builder.ins().bnot(reg));
        self.count_ones(&zeros)
    }
}

/// A shift by a constant below the width, with the sign if the dtype has one.
fn shift_by(
    builder: &mut cranelift_frontend::FunctionBuilder<'_>,
    op: Op,
    dtype: DType,
    x: ir::Value,
    count: i64,
) -> ir::Value {
    match op {
        Op::BitwiseLeftShift => builder.ins().ishl_imm_u(x, count),
        _ if dtype.is_signed_integer() => builder.ins().sshr_imm_u(x, count),
        _ => builder.ins().ushr_imm_u(x, count),
    }
}
