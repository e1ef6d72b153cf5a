//! Ops on the bits of floats: signs, neighbours, extremes.

use super::casts::bitselect_floats;
use super::value::width_of;
use super::{Emitter, Val};
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_math::Extreme;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, Type};
use cranelift_frontend::FunctionBuilder;

impl Emitter<'_, '_> {
    /// The vector types of floats and of their bits, and the sign bit.
    fn bits_of(&self, dtype: DType) -> (Type, Type, i64) {
        let sign = if dtype == DType::F64 { i64::MIN } else { 0x8000_0000 };
        let width = width_of(dtype);
        (self.host.vector_type(dtype, width), self.host.mask_type(width), sign)
    }

    /// A float constant in the lanes of `like`.
    fn float_like(&mut self, like: &Val, value: f64) -> Val {
        let constant = self.constant(Scalar::F64(value).cast(like.dtype));
        self.splat(&constant, like.lanes)
    }

    pub(super) fn reciprocal(&mut self, x: &Val) -> Val {
        let one = self.float_like(x, 1.0);
        self.zip(&one, x, |builder, one, x| builder.ins().fdiv(one, x))
    }

    /// Product with a constant of the dtype.
    pub(super) fn scale(&mut self, x: &Val, single: f32, double: f64) -> Val {
        let factor = if x.dtype == DType::F64 { double } else { single.into() };
        let factor = self.float_like(x, factor);
        self.zip(x, &factor, |builder, x, factor| builder.ins().fmul(x, factor))
    }

    /// The magnitude compared with infinity.
    pub(super) fn compare_with_infinity(&mut self, condition: FloatCC, x: &Val) -> Val {
        let magnitude = self.map(x, |builder, x| builder.ins().fabs(x));
        let infinity = self.float_like(x, f64::INFINITY);
        self.compare(IntCC::Equal, condition, &magnitude, &infinity)
    }

    /// Whether the bits, as an integer, are at most those of minus infinity: above are the negative NaNs.
    pub(super) fn signbit(&mut self, x: &Val) -> Val {
        let (integer, infinity) = match x.width {
            8 => (DType::I64, f64::NEG_INFINITY.to_bits().cast_signed()),
            _ => (DType::I32, f32::NEG_INFINITY.to_bits().cast_signed().into()),
        };
        let bits = self.reinterpreted(x, integer);
        let above = self.integer_like(&bits, infinity + 1);
        self.compare(IntCC::SignedLessThan, FloatCC::LessThan, &bits, &above)
    }

    /// Returns the bits of `x` as values of another dtype of that size.
    fn reinterpreted(&mut self, x: &Val, dtype: DType) -> Val {
        let like = Val { dtype, ..x.clone() };
        let ty = self.host.register_type(&like);
        let regs: Vec<ir::Value> = x.regs.iter().map(|reg| self.bitcast(ty, *reg)).collect();
        like.with_regs(regs)
    }

    /// -1, +0 or 1 by the sign; NaN for NaN.
    pub(super) fn sign_of_floats(&mut self, x: &Val) -> Val {
        let (ty, bits, sign) = self.bits_of(x.dtype);
        let (zero, one) = (self.splat_float(ty, 0.0), self.splat_float(ty, 1.0));
        let (one, sign) = (self.bitcast(bits, one), self.splat_bits(bits, sign));
        self.in_vectors(&[x], |emitter, args| {
            let not_zero = emitter.builder.ins().fcmp(FloatCC::NotEqual, args[0], zero);
            let nan = emitter.builder.ins().fcmp(FloatCC::Unordered, args[0], args[0]);
            let x = emitter.bitcast(bits, args[0]);
            let signed = emitter.builder.ins().band(x, sign);
            let signed = emitter.builder.ins().bor(signed, one);
            let signed = emitter.builder.ins().band(signed, not_zero);
            // A mask is a NaN.
            let result = emitter.builder.ins().bor(signed, nan);
            emitter.bitcast(ty, result)
        })
    }

    /// `x` with the sign of `y`; positive if `y` is NaN.
    pub(super) fn copysign(&mut self, x: &Val, y: &Val) -> Val {
        let (ty, bits, sign) = self.bits_of(x.dtype);
        let sign = self.splat_bits(bits, sign);
        self.in_vectors(&[x, y], |emitter, args| {
            let number = emitter.builder.ins().fcmp(FloatCC::Ordered, args[1], args[1]);
            let (x, y) = (emitter.bitcast(bits, args[0]), emitter.bitcast(bits, args[1]));
            let magnitude = emitter.builder.ins().band_not(x, sign);
            let sign = emitter.builder.ins().band(y, sign);
            let sign = emitter.builder.ins().band(sign, number);
            let result = emitter.builder.ins().bor(magnitude, sign);
            emitter.bitcast(ty, result)
        })
    }

    /// The neighbour of `x` in the direction of `y`: its bits plus or minus one; from zero, the least number with the
    /// sign of `y`; and `y` itself if both are equal.
    pub(super) fn nextafter(&mut self, x: &Val, y: &Val) -> Val {
        let (ty, bits, sign) = self.bits_of(x.dtype);
        let (zero, one, sign) =
            (self.splat_float(ty, 0.0), self.splat_bits(bits, 1), self.splat_bits(bits, sign));
        self.in_vectors(&[x, y], |emitter, args| {
            let (x, y) = (args[0], args[1]);
            let (x_bits, y_bits) = (emitter.bitcast(bits, x), emitter.bitcast(bits, y));
            let below = emitter.builder.ins().fcmp(FloatCC::LessThan, x, y);
            let positive = emitter.builder.ins().fcmp(FloatCC::LessThan, zero, x);
            let toward_zero = emitter.builder.ins().bxor(below, positive);
            // -1 toward zero, else 1.
            let step = emitter.builder.ins().bor(toward_zero, one);
            let stepped = emitter.builder.ins().iadd(x_bits, step);
            let least = emitter.builder.ins().band(y_bits, sign);
            let least = emitter.builder.ins().bor(least, one);
            let at_zero = emitter.builder.ins().fcmp(FloatCC::Equal, x, zero);
            let stepped = emitter.builder.ins().bitselect(at_zero, least, stepped);
            let equal = emitter.builder.ins().fcmp(FloatCC::Equal, x, y);
            let stepped = emitter.builder.ins().bitselect(equal, y_bits, stepped);
            let nan = emitter.builder.ins().fcmp(FloatCC::Unordered, x, y);
            let result = emitter.builder.ins().bor(stepped, nan);
            emitter.bitcast(ty, result)
        })
    }

    /// The largest number with a square root, or the largest negative number for NaN, which is the root of all of these.
    ///
    /// A number has the root `r`, whose unit in the last place is `u`, if it is below `(r + u / 2)^2`: at most `r * u` above the
    /// square of `r`, which is less than `sqrt(2)` units in the last place of that square. Rounding the square adds at most
    /// half of one. So the rounded square has the root `r`, perhaps the next number as well, but not the one after it. Only
    /// where the square overflows, the greatest number takes its place.
    pub(crate) fn largest_of_root(&mut self, root: &Val) -> Val {
        let (integer, greatest, before_zero) = match root.dtype {
            DType::F64 => (DType::I64, f64::MAX, -f64::from_bits(1)),
            _ => (DType::I32, f32::MAX.into(), -f64::from(f32::from_bits(1))),
        };
        let [greatest, before_zero] = [greatest, before_zero].map(|value| self.float_like(root, value));
        let square = self.op(Op::Multiply, &[root.clone(), root.clone()]);
        let square = self.extreme_floats(Extreme::Least, &greatest, &square);
        let bits = self.reinterpreted(&square, integer);
        let one = self.integer_like(&bits, 1);
        let next = self.op(Op::Add, &[bits, one]);
        let next = self.reinterpreted(&next, root.dtype);
        let of_next = self.op(Op::Sqrt, std::slice::from_ref(&next));
        let is_same = self.compare(IntCC::Equal, FloatCC::Equal, &of_next, root);
        let largest = self.select(&is_same, &next, &square);
        let is_number = self.compare(IntCC::Equal, FloatCC::Equal, root, root);
        self.select(&is_number, &largest, &before_zero)
    }

    /// `x` where it is positive, else +0; NaN for NaN.
    pub(super) fn positive_floats(&mut self, x: &Val) -> Val {
        let zero = self.float_like(x, 0.0);
        if x.lanes == 1 {
            return self.extreme_floats(Extreme::Greatest, x, &zero);
        }
        self.zip(x, &zero, |builder, x, zero| {
            // One maximum on x86-64, which keeps NaN and a negative zero; the sum makes the zero positive.
            let below = builder.ins().fcmp(FloatCC::LessThan, x, zero);
            let lifted = bitselect_floats(builder, below, zero, x);
            builder.ins().fadd(lifted, zero)
        })
    }

    /// The maximum or minimum; NaN if either is NaN, and -0 below +0.
    pub(super) fn extreme_floats(&mut self, which: Extreme, x: &Val, y: &Val) -> Val {
        if self.host.is_x64 && x.lanes > 1 {
            // One instruction, which returns its second operand if both are equal or either is NaN, is enough if the
            // other is neither NaN nor zero.
            let is_plain = |known: f64| !known.is_nan() && known != 0.0;
            for (known, other) in [(x, y), (y, x)] {
                if self.known_float(known).is_some_and(is_plain) {
                    return self.zip(known, other, |builder, known, other| {
                        let [low, high] =
                            if which == Extreme::Least { [known, other] } else { [other, known] };
                        let below = builder.ins().fcmp(FloatCC::LessThan, low, high);
                        bitselect_floats(builder, below, known, other)
                    });
                }
            }
        }
        match (self.host.is_x64 && x.lanes > 1, which) {
            (true, Extreme::Least) => self.zip(x, y, least_floats),
            (true, Extreme::Greatest) => self.zip(x, y, |builder, x, y| {
                let both = greatest_numbers(builder, x, y);
                let nan = builder.ins().fcmp(FloatCC::Unordered, x, y);
                let ty = builder.func.dfg.value_type(x);
                let nan = builder.ins().bitcast(ty, ir::MemFlagsData::new(), nan);
                builder.ins().bor(both, nan)
            }),
            (false, Extreme::Least) => self.zip(x, y, |builder, x, y| builder.ins().fmin(x, y)),
            (false, Extreme::Greatest) => self.zip(x, y, |builder, x, y| builder.ins().fmax(x, y)),
        }
    }

    /// The float in all lanes of a value, if it is a constant.
    fn known_float(&self, x: &Val) -> Option<f64> {
        let dfg = &self.builder.func.dfg;
        if x.regs.iter().any(|reg| *reg != x.regs[0]) {
            return None;
        }
        let splat = dfg.value_def(x.regs[0]).inst()?;
        let lane = match dfg.insts[splat] {
            ir::InstructionData::Unary { opcode: ir::Opcode::Splat, arg } => dfg.value_def(arg).inst()?,
            _ => return None,
        };
        match dfg.insts[lane] {
            ir::InstructionData::UnaryIeee32 { imm, .. } => Some(f32::from_bits(imm.bits()).into()),
            ir::InstructionData::UnaryIeee64 { imm, .. } => Some(f64::from_bits(imm.bits())),
            _ => None,
        }
    }

    /// The maximum or minimum; a NaN is ignored if the other operand is a number.
    pub(super) fn known_extreme(&mut self, which: Extreme, x: &Val, y: &Val) -> Val {
        if !x.dtype.is_float() {
            return self.extreme(which, x, y);
        }
        // Replace each NaN by the other operand: then both are numbers, or the same NaN.
        let is_number = self.compare(IntCC::Equal, FloatCC::Equal, x, x);
        let x = self.select(&is_number, x, y);
        let is_number = self.compare(IntCC::Equal, FloatCC::Equal, y, y);
        let y = self.select(&is_number, y, &x);
        match which {
            Extreme::Greatest if self.host.is_x64 && x.lanes > 1 => self.zip(&x, &y, greatest_numbers),
            _ => self.extreme_floats(which, &x, &y),
        }
    }
}

/// The minimum; NaN if either is NaN, and -0 below +0: 3 instructions on x86-64.
///
/// `minps(x, y)` gives `y` if the values are equal or either is NaN. The two orders agree otherwise, so that their `or`
/// is the minimum, the negative zero of two zeros, or has the exponent and a fraction bit of a NaN.
fn least_floats(builder: &mut FunctionBuilder<'_>, x: ir::Value, y: ir::Value) -> ir::Value {
    let below = builder.ins().fcmp(FloatCC::LessThan, x, y);
    let one = bitselect_floats(builder, below, x, y);
    let below = builder.ins().fcmp(FloatCC::LessThan, y, x);
    let other = bitselect_floats(builder, below, y, x);
    builder.ins().bor(one, other)
}

/// The maximum, with +0 above -0; NaN only if both are NaNs of the same bits: 3 instructions on x86-64.
///
/// The `and` of the two orders is the maximum, or the positive one of two zeros. A single NaN needs a comparison, which
/// makes 5 instructions instead of Cranelift's 9.
fn greatest_numbers(builder: &mut FunctionBuilder<'_>, x: ir::Value, y: ir::Value) -> ir::Value {
    let above = builder.ins().fcmp(FloatCC::LessThan, y, x);
    let one = bitselect_floats(builder, above, x, y);
    let above = builder.ins().fcmp(FloatCC::LessThan, x, y);
    let other = bitselect_floats(builder, above, y, x);
    builder.ins().band(one, other)
}
