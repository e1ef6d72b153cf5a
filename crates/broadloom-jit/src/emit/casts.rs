//! Every dtype to every other.

use super::value::{Regs, scalar_type, vector_type, width_of};
use super::{Emitter, Val};
use broadloom_ir::dtype::{Class, DType, Scalar};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};

impl Emitter<'_, '_> {
    /// The value converted to another dtype: float to integer saturates and NaN gives 0, integers wrap, anything to
    /// bool is `!= 0`.
    pub(crate) fn cast(&mut self, x: &Val, to: DType) -> Val {
        use DType::*;
        if x.dtype == to {
            return x.clone();
        }
        if to == Bool {
            let zero = self.constant(Scalar::Bool(false).cast(x.dtype));
            let zero = self.splat(&zero, x.lanes);
            return self.compare(IntCC::NotEqual, FloatCC::NotEqual, x, &zero);
        }
        if x.lanes == 1 {
            return self.cast_scalar(x, to);
        }
        let regs = match (x.dtype, to) {
            (Bool, U8) => return self.bytes_of_mask(x),
            (Bool, I32 | I64 | F32 | F64) => self.ones_of_mask(x, to),
            (U8, I32) => self.widen_bytes(x.regs[0], x.lanes, false),
            (U8, I64 | F32 | F64) => return self.cast_via(x, I32, to),
            (I32, U8) => {
                let low = self.splat_bits(types::I32X4, 0xff);
                let bytes = self.map(x, |builder, reg| builder.ins().band(reg, low));
                self.narrow_bytes(&bytes.regs, false)
            }
            (I64, U8) => return self.cast_via(x, I32, to),
            (I32, I64) => self.widen_words(&x.regs),
            (I64, I32) => self.narrow_words(&x.regs),
            (I32, F32) => self.map(x, |builder, reg| builder.ins().fcvt_from_sint(types::F32X4, reg)).regs,
            (I64, F64) => self.map(x, |builder, reg| builder.ins().fcvt_from_sint(types::F64X2, reg)).regs,
            (I32, F64) => self.halves(x, |emitter, low| {
                // Cranelift knows the instruction for the low half of a register only.
                let wide = emitter.builder.ins().swiden_low(low);
                emitter.builder.ins().fcvt_from_sint(types::F64X2, wide)
            }),
            (F32, F64) => self.halves(x, |emitter, low| emitter.builder.ins().fvpromote_low(low)),
            (F64, F32) => {
                self.join_halves(x, types::F32X4, |emitter, reg| emitter.builder.ins().fvdemote(reg))
            }
            (F32, I32) => self.map(x, |builder, reg| builder.ins().fcvt_to_sint_sat(types::I32X4, reg)).regs,
            (F64, I32) => self.join_halves(x, types::I32X4, |emitter, reg| {
                // Together with the zeros this is one truncation on x86-64, where the parts do not exist.
                let zeros = emitter.vector_constant(types::I64X2, vec![0; 16].into());
                let wide = emitter.builder.ins().fcvt_to_sint_sat(types::I64X2, reg);
                emitter.builder.ins().snarrow(wide, zeros)
            }),
            (F32, U8) => {
                let words = self.bytes_of_floats(x);
                self.narrow_bytes(&words, false)
            }
            (F64, U8) => {
                let words = self.cast(x, I32);
                self.narrow_bytes(&words.regs, false)
            }
            // No vector instruction before AVX-512, and none in Cranelift.
            (I64, F32) | (F32 | F64, I64) => {
                return self.by_lane(std::slice::from_ref(x), |emitter, x| emitter.cast_scalar(&x[0], to));
            }
            (_, Bool) | (U8, U8) | (I32, I32) | (I64, I64) | (F32, F32) | (F64, F64) => x.regs.clone(),
        };
        Val::vector(to, x.lanes, regs)
    }

    fn cast_via(&mut self, x: &Val, middle: DType, to: DType) -> Val {
        let middle = self.cast(x, middle);
        self.cast(&middle, to)
    }

    fn cast_scalar(&mut self, x: &Val, to: DType) -> Val {
        let from = x.regs[0];
        let ty = scalar_type(to);
        let value = match (x.dtype.class(), to.class()) {
            (Class::Float, Class::Float) if to == DType::F64 => self.builder.ins().fpromote(ty, from),
            (Class::Float, Class::Float) => self.builder.ins().fdemote(ty, from),
            (Class::Float, Class::Int) if to == DType::U8 => {
                let word = self.builder.ins().fcvt_to_sint_sat(types::I32, from);
                let (least, greatest) = (self.int(types::I32, 0), self.int(types::I32, 255));
                let word = self.builder.ins().smax(word, least);
                let word = self.builder.ins().smin(word, greatest);
                self.builder.ins().ireduce(ty, word)
            }
            (Class::Float, Class::Int | Class::Bool) => self.builder.ins().fcvt_to_sint_sat(ty, from),
            (Class::Bool | Class::Int, Class::Float) => {
                let whole = self.resize_int(x, x.dtype.size().max(4));
                self.builder.ins().fcvt_from_sint(ty, whole)
            }
            (Class::Bool | Class::Int, Class::Int | Class::Bool) => self.resize_int(x, to.size()),
        };
        Val::scalar(to, value)
    }

    fn int(&mut self, ty: ir::Type, value: i64) -> ir::Value {
        self.builder.ins().iconst(ty, value)
    }

    /// A scalar bool or integer in `size` bytes, extended as its dtype says.
    fn resize_int(&mut self, x: &Val, size: usize) -> ir::Value {
        let from = x.regs[0];
        let Some(ty) = ir::Type::int_with_byte_size(size as u16) else { return from };
        match x.dtype.size().cmp(&size) {
            std::cmp::Ordering::Greater => self.builder.ins().ireduce(ty, from),
            std::cmp::Ordering::Equal => from,
            std::cmp::Ordering::Less if x.dtype == DType::I32 => self.builder.ins().sextend(ty, from),
            std::cmp::Ordering::Less => self.builder.ins().uextend(ty, from),
        }
    }

    /// A mask as numbers 0 and 1.
    fn ones_of_mask(&mut self, x: &Val, to: DType) -> Regs {
        let mask = self.resize_mask(x, width_of(to));
        let one = Scalar::Bool(true).cast(to).bits().cast_signed();
        let ones = self.splat_bits(mask.register_type(), one);
        let ty = vector_type(to, mask.width);
        let bits = self.map(&mask, |builder, reg| builder.ins().band(reg, ones));
        bits.regs.iter().map(|reg| self.bitcast(ty, *reg)).collect()
    }

    /// Two registers from each: `emit` widens the low half of what it gets.
    fn halves(&mut self, x: &Val, emit: impl Fn(&mut Self, ir::Value) -> ir::Value) -> Regs {
        let mut wide = Regs::new();
        for reg in &x.regs {
            wide.push(emit(self, *reg));
            let high = self.rotate_words(*reg, 2);
            wide.push(emit(self, high));
        }
        wide
    }

    /// One register from each pair: `emit` narrows into the low half of what it gives.
    fn join_halves(
        &mut self,
        x: &Val,
        ty: ir::Type,
        emit: impl Fn(&mut Self, ir::Value) -> ir::Value,
    ) -> Regs {
        let mut narrow = Regs::new();
        for pair in x.regs.chunks(2) {
            let low = emit(self, pair[0]);
            let high = emit(self, pair[pair.len() - 1]);
            let joined = self.shuffle_words(low, high, [0, 1, 4, 5]);
            narrow.push(self.bitcast(ty, joined));
        }
        narrow
    }

    /// Floats truncated to integers that saturate to bytes as the floats would.
    fn bytes_of_floats(&mut self, x: &Val) -> Regs {
        if !self.host.is_x64 {
            return self.cast(x, DType::I32).regs;
        }
        // Clamped values, with 0 for NaN, truncate by the bare instruction: 3 instructions where saturation takes 7.
        let clamps = [Scalar::F32(0.0), Scalar::F32(255.0)].map(|bound| {
            let bound = self.constant(bound);
            self.splat(&bound, x.lanes).regs[0]
        });
        let clamped = self.map(x, |builder, reg| {
            let ins = builder.ins();
            let positive = ins.fcmp(FloatCC::LessThan, clamps[0], reg);
            let lifted = bitselect_floats(builder, positive, reg, clamps[0]);
            let small = builder.ins().fcmp(FloatCC::LessThan, lifted, clamps[1]);
            bitselect_floats(builder, small, lifted, clamps[1])
        });
        self.map(&clamped, |builder, reg| builder.ins().x86_cvtt2dq(types::I32X4, reg)).regs
    }
}

/// The pattern that becomes one minimum or maximum on x86-64, when the condition compares the very values.
pub(super) fn bitselect_floats(
    builder: &mut cranelift_frontend::FunctionBuilder<'_>,
    condition: ir::Value,
    t: ir::Value,
    f: ir::Value,
) -> ir::Value {
    let ty = builder.func.dfg.value_type(t);
    let condition = builder.ins().bitcast(ty, ir::MemFlagsData::new(), condition);
    builder.ins().bitselect(condition, t, f)
}
