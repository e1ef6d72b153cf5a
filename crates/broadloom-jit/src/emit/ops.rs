//! The meaning of every op in machine code.

use super::value::Regs;
use super::{Emitter, Val};
use crate::notes::Note;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_math::{Extreme, Real};
use cranelift_codegen::ir::condcodes::{CondCode, FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// Emits an op on converted operands of one dtype; scalars among vectors are splatted.
    ///
    /// A new row of the op table needs an arm here. [`Emitter::call_row`] works for every row, with one call per
    /// element.
    pub(crate) fn op(&mut self, op: Op, operands: &[Val]) -> Val {
        let dtype = operands[0].dtype;
        if dtype != dtype.arithmetic() {
            return self.op_on_halves(op, operands);
        }
        let args = self.spread(operands);
        let x = &args[0];
        // Used only by ops of two operands, and by arms that compare or add.
        let y = args.get(1).unwrap_or(x);
        let class = dtype.class();
        match op {
            Op::Add => match class {
                Class::Bool => self.or(x, y),
                Class::Int => self.zip(x, y, |builder, x, y| builder.ins().iadd(x, y)),
                Class::Float => self.zip(x, y, |builder, x, y| builder.ins().fadd(x, y)),
            },
            Op::Subtract => match class {
                Class::Bool | Class::Int => self.zip(x, y, |builder, x, y| builder.ins().isub(x, y)),
                Class::Float => self.zip(x, y, |builder, x, y| builder.ins().fsub(x, y)),
            },
            Op::Multiply => self.multiply(x, y),
            Op::Divide => self.zip(x, y, |builder, x, y| builder.ins().fdiv(x, y)),
            Op::FloorDivide | Op::Remainder | Op::Fmod => match class {
                Class::Int => self.divide_integers(op, operands),
                Class::Bool => self.call_row(op, &args),
                Class::Float => self.function(op, &args),
            },
            Op::Negative => match class {
                Class::Bool | Class::Int => self.map(x, |builder, x| builder.ins().ineg(x)),
                Class::Float => self.map(x, |builder, x| builder.ins().fneg(x)),
            },
            Op::Positive | Op::StopGradient | Op::WithGradient => x.clone(),
            Op::Abs => self.magnitude(x),
            Op::Sign => match class {
                Class::Bool | Class::Int => self.sign_of_integers(x),
                Class::Float => self.sign_of_floats(x),
            },
            Op::Square => self.multiply(x, x),
            Op::Sqrt => self.map(x, |builder, x| builder.ins().sqrt(x)),
            Op::Rsqrt => {
                let root = self.map(x, |builder, x| builder.ins().sqrt(x));
                self.reciprocal(&root)
            }
            Op::Reciprocal => self.reciprocal(x),
            Op::Exp
            | Op::Exp2
            | Op::Expm1
            | Op::Log
            | Op::Log2
            | Op::Log10
            | Op::Log1p
            | Op::Logaddexp
            | Op::Sin
            | Op::Cos
            | Op::Tan
            | Op::Asin
            | Op::Acos
            | Op::Atan
            | Op::Atan2
            | Op::Hypot
            | Op::Sinh
            | Op::Cosh
            | Op::Tanh
            | Op::Asinh
            | Op::Acosh
            | Op::Atanh
            | Op::Cbrt
            | Op::Erf
            | Op::Erfc
            | Op::Sigmoid
            | Op::Softplus
            | Op::Silu
            | Op::Gelu
            | Op::GeluTanh
            | Op::Pow => self.function(op, &args),
            Op::Maximum => self.extreme(Extreme::Greatest, x, y),
            Op::Minimum => self.extreme(Extreme::Least, x, y),
            Op::Fmax => self.known_extreme(Extreme::Greatest, x, y),
            Op::Fmin => self.known_extreme(Extreme::Least, x, y),
            Op::Clip => {
                let lifted = self.extreme(Extreme::Greatest, x, y);
                self.extreme(Extreme::Least, &lifted, &args[2])
            }
            Op::Relu => match class {
                Class::Bool | Class::Int => self.positive_integers(x),
                Class::Float => self.positive_floats(x),
            },
            Op::Floor | Op::Ceil | Op::Trunc | Op::Round => match class {
                Class::Bool | Class::Int => x.clone(),
                Class::Float if self.host.has_rounding => self.map(x, |builder, x| match op {
                    Op::Floor => builder.ins().floor(x),
                    Op::Ceil => builder.ins().ceil(x),
                    Op::Trunc => builder.ins().trunc(x),
                    _ => builder.ins().nearest(x),
                }),
                Class::Float => self.call_row(op, &args),
            },
            Op::Fma => match args.as_slice() {
                [x, y, z] if self.level.is_fused() => self.fma(x, y, z),
                _ => self.call_row(op, &args),
            },
            Op::Copysign => self.copysign(x, y),
            Op::Nextafter => self.nextafter(x, y),
            Op::Deg2rad => self.scale(x, <f32 as Real>::DEGREE, <f64 as Real>::DEGREE),
            Op::Rad2deg => self.scale(x, <f32 as Real>::RADIAN, <f64 as Real>::RADIAN),
            Op::BitwiseAnd | Op::LogicalAnd => self.and(x, y),
            Op::BitwiseOr | Op::LogicalOr => self.or(x, y),
            Op::BitwiseXor | Op::LogicalXor => self.zip(x, y, |builder, x, y| builder.ins().bxor(x, y)),
            Op::BitwiseInvert | Op::LogicalNot => self.not(x),
            Op::BitwiseLeftShift | Op::BitwiseRightShift => self.shift(op, x, y, &operands[1]),
            // The number of Euclid's steps depends on the elements.
            Op::Gcd | Op::Lcm => self.call_row(op, &args),
            Op::CountOnes if class == Class::Bool => self.cast(x, DType::U8),
            Op::CountOnes => {
                let ones = self.count_ones(x);
                self.cast(&ones, DType::U8)
            }
            Op::LeadingZeros => self.leading_zeros(x),
            Op::Isnan => match class {
                Class::Bool | Class::Int => self.all_lanes(false, x.lanes),
                Class::Float => self.compare(IntCC::NotEqual, FloatCC::NotEqual, x, x),
            },
            Op::Isinf => match class {
                Class::Bool | Class::Int => self.all_lanes(false, x.lanes),
                Class::Float => self.compare_with_infinity(FloatCC::Equal, x),
            },
            Op::Isfinite => match class {
                Class::Bool | Class::Int => self.all_lanes(true, x.lanes),
                Class::Float => self.compare_with_infinity(FloatCC::LessThan, x),
            },
            Op::Signbit => self.signbit(x),
            Op::Equal => self.compare(IntCC::Equal, FloatCC::Equal, x, y),
            Op::NotEqual => self.compare(IntCC::NotEqual, FloatCC::NotEqual, x, y),
            Op::Less => self.compare(IntCC::SignedLessThan, FloatCC::LessThan, x, y),
            Op::LessEqual => self.compare(IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual, x, y),
            // Swap the comparison: Cranelift recognises a minimum or maximum only in this form.
            Op::Greater => self.compare(IntCC::SignedLessThan, FloatCC::LessThan, y, x),
            Op::GreaterEqual => self.compare(IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual, y, x),
        }
    }

    /// Emits an op on 16-bit floats: computes in `f32`, and rounds if the result has their dtype.
    fn op_on_halves(&mut self, op: Op, operands: &[Val]) -> Val {
        let half = operands[0].dtype;
        let wide: SmallVec<[Val; 3]> = operands.iter().map(|arg| self.cast(arg, half.arithmetic())).collect();
        let result = self.op(op, &wide);
        if op.result_dtype(half) == half { self.cast(&result, half) } else { result }
    }

    /// Calls the row's reference function for every element, and records that.
    pub(super) fn call_row(&mut self, op: Op, args: &[Val]) -> Val {
        let dtype = args[0].dtype;
        let function = op
            .reference_fn(self.level.is_fused(), dtype)
            .expect("a verified kernel applies rows to dtypes that they accept");
        self.note(Note::Called(op, dtype));
        self.by_lane(args, |emitter, scalars| {
            let scalars: SmallVec<[ir::Value; 3]> = scalars.iter().map(|scalar| scalar.regs[0]).collect();
            Val::scalar(function.result, emitter.call_reference(function, &scalars))
        })
    }

    /// `x * y + z`, rounded once, on targets that have the instruction.
    pub(super) fn fma(&mut self, x: &Val, y: &Val, z: &Val) -> Val {
        let regs: Regs = (x.regs.iter().zip(&y.regs).zip(&z.regs))
            .map(|((x, y), z)| self.builder.ins().fma(*x, *y, *z))
            .collect();
        x.with_regs(regs)
    }

    fn multiply(&mut self, x: &Val, y: &Val) -> Val {
        match x.dtype.class() {
            Class::Bool => self.and(x, y),
            Class::Int if x.lanes > 1 && x.width == 1 => self.multiply_bytes(x, y),
            Class::Int => self.zip(x, y, |builder, x, y| builder.ins().imul(x, y)),
            Class::Float => self.zip(x, y, |builder, x, y| builder.ins().fmul(x, y)),
        }
    }

    /// Products of bytes, modulo 256, from products of 2-byte words: x86-64 has no instruction for bytes.
    fn multiply_bytes(&mut self, x: &Val, y: &Val) -> Val {
        let little = ir::MemFlagsData::new().with_endianness(ir::Endianness::Little);
        let [bytes, words] = [types::I8, types::I16].map(|lane| self.host.vector_of(lane));
        self.zip(x, y, |builder, x, y| {
            let [x, y] = [x, y].map(|bytes| builder.ins().bitcast(words, little, bytes));
            let even = builder.ins().imul(x, y);
            let low = builder.ins().iconst(types::I16, 0xff);
            let low = builder.ins().splat(words, low);
            let even = builder.ins().band(even, low);
            let [x, y] = [x, y].map(|words| builder.ins().ushr_imm_u(words, 8));
            let odd = builder.ins().imul(x, y);
            let odd = builder.ins().ishl_imm_u(odd, 8);
            let product = builder.ins().bor(even, odd);
            builder.ins().bitcast(bytes, little, product)
        })
    }

    pub(super) fn magnitude(&mut self, x: &Val) -> Val {
        match x.dtype.class() {
            Class::Float => self.map(x, |builder, x| builder.ins().fabs(x)),
            Class::Int if x.dtype.is_signed_integer() => self.map(x, |builder, x| builder.ins().iabs(x)),
            Class::Bool | Class::Int => x.clone(),
        }
    }

    /// One truth value in every lane.
    fn all_lanes(&mut self, truth: bool, lanes: usize) -> Val {
        let truth = self.constant(Scalar::Bool(truth));
        self.splat(&truth, lanes)
    }

    /// The bitwise `and` of bools or integers of one shape.
    pub(super) fn and(&mut self, x: &Val, y: &Val) -> Val {
        self.zip(x, y, |builder, x, y| builder.ins().band(x, y))
    }

    /// The bitwise `or` of bools or integers of one shape.
    pub(super) fn or(&mut self, x: &Val, y: &Val) -> Val {
        self.zip(x, y, |builder, x, y| builder.ins().bor(x, y))
    }

    fn not(&mut self, x: &Val) -> Val {
        if x.dtype == DType::Bool && x.lanes == 1 {
            return self.map(x, |builder, x| builder.ins().bxor_imm_u(x, 1));
        }
        self.map(x, |builder, x| builder.ins().bnot(x))
    }

    /// Compares values of one shape; the integer condition is the signed one.
    pub(super) fn compare(&mut self, int: IntCC, float: FloatCC, x: &Val, y: &Val) -> Val {
        let int = match x.dtype {
            // A set lane is -1: below an unset one, where true is above false.
            DType::Bool if x.lanes > 1 => int.swap_args(),
            dtype if dtype.is_signed_integer() => int,
            _ => int.unsigned(),
        };
        let compared = match x.dtype.class() {
            Class::Float => self.zip(x, y, |builder, x, y| builder.ins().fcmp(float, x, y)),
            Class::Bool | Class::Int => self.zip(x, y, |builder, x, y| builder.ins().icmp(int, x, y)),
        };
        match x.lanes {
            1 => Val::scalar(DType::Bool, compared.regs[0]),
            _ => Val::mask(x.lanes, x.width, compared.regs),
        }
    }

    /// The maximum or minimum of values of one shape.
    pub(super) fn extreme(&mut self, which: Extreme, x: &Val, y: &Val) -> Val {
        let least = which == Extreme::Least;
        let signed = x.dtype.is_signed_integer();
        match x.dtype.class() {
            Class::Bool if least => self.and(x, y),
            Class::Bool => self.or(x, y),
            Class::Int => self.zip(x, y, |builder, x, y| match (signed, least) {
                (true, true) => builder.ins().smin(x, y),
                (true, false) => builder.ins().smax(x, y),
                (false, true) => builder.ins().umin(x, y),
                (false, false) => builder.ins().umax(x, y),
            }),
            Class::Float => self.extreme_floats(which, x, y),
        }
    }
}
