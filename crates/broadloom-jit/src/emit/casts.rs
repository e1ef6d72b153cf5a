//! Casts from every dtype to every other.

use super::intrinsics::Intrinsic;
use super::masks::Narrowing;
use super::value::{Regs, scalar_type, width_of};
use super::{Emitter, Val};
use broadloom_ir::dtype::{Class, DType, Scalar};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};

impl Emitter<'_, '_> {
    /// Converts a value to another dtype: float to integer saturates and NaN gives 0, integers wrap, anything to bool
    /// is `!= 0`.
    pub(crate) fn cast(&mut self, x: &Val, to: DType) -> Val {
        use DType::*;
        if x.dtype == to {
            return x.clone();
        }
        if x.dtype != x.dtype.arithmetic() {
            let float = Val { dtype: x.dtype.arithmetic(), ..x.clone() };
            return self.cast(&float, to);
        }
        if to == Bool {
            let zero = self.constant(Scalar::Bool(false).cast(x.dtype));
            let zero = self.splat(&zero, x.lanes);
            return self.compare(IntCC::NotEqual, FloatCC::NotEqual, x, &zero);
        }
        if x.lanes == 1 {
            return self.cast_scalar(x, to);
        }
        // If floats and integers have the same size, all registers have the type of the result.
        let ty = self.host.vector_type(to, width_of(to));
        let regs = match (x.dtype, to) {
            (Bool, _) if to == to.arithmetic() => self.ones_of_mask(x, to),
            (_, F16 | Bf16) => return self.cast_to_half(x, to),
            (I8 | I16 | U8 | U16, F32 | F64) => return self.cast_via(x, I32, to),
            (I32, F32) => self.map(x, |builder, reg| builder.ins().fcvt_from_sint(ty, reg)).regs,
            (U32, F32) => self.map(x, |builder, reg| builder.ins().fcvt_from_uint(ty, reg)).regs,
            (I64, F64) => self.map(x, |builder, reg| builder.ins().fcvt_from_sint(ty, reg)).regs,
            (U64, F64) => self.map(x, |builder, reg| builder.ins().fcvt_from_uint(ty, reg)).regs,
            // Cranelift has the instruction only for the low half of a register.
            (I32, F64) => self.halves(x, |emitter, low| {
                let wide = emitter.builder.ins().swiden_low(low);
                emitter.builder.ins().fcvt_from_sint(ty, wide)
            }),
            (U32, F64) => self.halves(x, |emitter, low| {
                let wide = emitter.builder.ins().uwiden_low(low);
                emitter.builder.ins().fcvt_from_uint(ty, wide)
            }),
            (F32, F64) if self.host.is_wide() => {
                self.halves(x, |emitter, low| emitter.intrinsic(Intrinsic::Promote, &[low], ty))
            }
            (F32, F64) => self.halves(x, |emitter, low| emitter.builder.ins().fvpromote_low(low)),
            (F64, F32) if self.host.is_wide() => {
                self.join_halves(x, ty, |emitter, reg| emitter.intrinsic(Intrinsic::Demote, &[reg], ty))
            }
            (F64, F32) => self.join_halves(x, ty, |emitter, reg| emitter.builder.ins().fvdemote(reg)),
            (F32, I32) => self.map(x, |builder, reg| builder.ins().fcvt_to_sint_sat(ty, reg)).regs,
            (F32, U32) => self.map(x, |builder, reg| builder.ins().fcvt_to_uint_sat(ty, reg)).regs,
            (F64, I32) => self.join_halves(x, ty, |emitter, reg| {
                // With the zeros, this becomes one truncation on x86-64, which lacks the separate parts.
                let long = emitter.host.vector_of(types::I64);
                let zeros = emitter.vector_constant(long, vec![0; emitter.host.vector_bytes].into());
                let wide = emitter.builder.ins().fcvt_to_sint_sat(long, reg);
                emitter.builder.ins().snarrow(wide, zeros)
            }),
            (F64, U32) => self.words_of_doubles(x),
            (F32 | F64, I8 | I16 | U8 | U16) => self.short_of_floats(x, to),
            (F64, I64) if self.host.has_avx512() => {
                self.map(x, |builder, reg| builder.ins().fcvt_to_sint_sat(ty, reg)).regs
            }
            (F64, U64) if self.host.has_avx512() => {
                self.map(x, |builder, reg| builder.ins().fcvt_to_uint_sat(ty, reg)).regs
            }
            (F32, I64 | U64) if self.host.has_avx512() => return self.cast_via(x, F64, to),
            // There is no vector instruction before AVX-512, and none in Cranelift.
            (I64 | U64, F32) | (F32 | F64, I64 | U64) => {
                return self.by_lane(std::slice::from_ref(x), |emitter, x| emitter.cast_scalar(&x[0], to));
            }
            _ => return self.resize_lanes(x, to),
        };
        Val::vector(to, x.lanes, regs)
    }

    fn cast_via(&mut self, x: &Val, middle: DType, to: DType) -> Val {
        let middle = self.cast(x, middle);
        self.cast(&middle, to)
    }

    fn cast_scalar(&mut self, x: &Val, to: DType) -> Val {
        if to != to.arithmetic() {
            return self.cast_to_half(x, to);
        }
        let from = x.regs[0];
        let ty = scalar_type(to);
        let value = match (x.dtype.class(), to.class()) {
            (Class::Float, Class::Float) if to == DType::F64 => self.builder.ins().fpromote(ty, from),
            (Class::Float, Class::Float) => self.builder.ins().fdemote(ty, from),
            (Class::Float, _) if to.size() < 4 => {
                let word = self.builder.ins().fcvt_to_sint_sat(types::I32, from);
                let bounds = [f64::NEG_INFINITY, f64::INFINITY].map(|end| {
                    let bound = self.constant(Scalar::F64(end).cast(to));
                    self.resize_int(&bound, 4)
                });
                let word = self.builder.ins().smax(word, bounds[0]);
                let word = self.builder.ins().smin(word, bounds[1]);
                self.builder.ins().ireduce(ty, word)
            }
            (Class::Float, _) if to.is_signed_integer() => self.builder.ins().fcvt_to_sint_sat(ty, from),
            (Class::Float, _) => self.builder.ins().fcvt_to_uint_sat(ty, from),
            (_, Class::Float) if x.dtype == DType::U64 => self.builder.ins().fcvt_from_uint(ty, from),
            (_, Class::Float) => {
                // Wide enough that the sign is that of the number.
                let size = if x.dtype == DType::U32 { 8 } else { x.dtype.size().max(4) };
                let whole = self.resize_int(x, size);
                self.builder.ins().fcvt_from_sint(ty, whole)
            }
            _ => self.resize_int(x, to.size()),
        };
        Val::scalar(to, value)
    }

    /// A scalar bool or integer in `size` bytes, extended according to its dtype.
    pub(super) fn resize_int(&mut self, x: &Val, size: usize) -> ir::Value {
        let from = x.regs[0];
        let Some(ty) = ir::Type::int_with_byte_size(size as u16) else { return from };
        match x.dtype.size().cmp(&size) {
            std::cmp::Ordering::Greater => self.builder.ins().ireduce(ty, from),
            std::cmp::Ordering::Equal => from,
            std::cmp::Ordering::Less if x.dtype.is_signed_integer() => self.builder.ins().sextend(ty, from),
            std::cmp::Ordering::Less => self.builder.ins().uextend(ty, from),
        }
    }

    /// Integers as another integer dtype: extended according to their own, or their low parts.
    fn resize_lanes(&mut self, x: &Val, to: DType) -> Val {
        let signed = x.dtype.is_signed_integer();
        let mut lanes = x.clone();
        while lanes.width < width_of(to) {
            let regs = self.widen(&lanes, signed);
            lanes = Val { width: lanes.width * 2, ..lanes.with_regs(regs) };
        }
        while lanes.width > width_of(to) {
            let narrowing = match (lanes.width, width_of(to)) {
                // Masked once, words and their halves are numbers that every narrowing keeps.
                (4, 1) if !self.host.has_avx512() => {
                    let low = self.splat_bits(self.host.vector_of(types::I32), 0xff);
                    lanes = self.map(&lanes, |builder, reg| builder.ins().band(reg, low));
                    let regs = self.narrow(&lanes, Narrowing::Signed);
                    lanes = Val { width: 2, ..lanes.with_regs(regs) };
                    Narrowing::Unsigned
                }
                _ => Narrowing::Low,
            };
            let regs = self.narrow(&lanes, narrowing);
            lanes = Val { width: lanes.width / 2, ..lanes.with_regs(regs) };
        }
        Val::vector(to, x.lanes, lanes.regs)
    }

    /// A mask as numbers 0 and 1.
    fn ones_of_mask(&mut self, x: &Val, to: DType) -> Regs {
        let mask = self.resize_mask(x, width_of(to));
        let one = Scalar::Bool(true).cast(to).bits().cast_signed();
        let ones = self.splat_bits(self.host.register_type(&mask), one);
        let ty = self.host.vector_type(to, mask.width);
        let bits = self.map(&mask, |builder, reg| builder.ins().band(reg, ones));
        bits.regs.iter().map(|reg| self.bitcast(ty, *reg)).collect()
    }

    /// Makes a register from each half with lanes: `emit` widens the low half of its argument.
    pub(super) fn halves(&mut self, x: &Val, emit: impl Fn(&mut Self, ir::Value) -> ir::Value) -> Regs {
        let mut wide = Regs::new();
        for index in 0..self.host.register_count(x.lanes, x.width * 2) {
            let reg = x.regs[index / 2];
            let half = if index % 2 == 0 { reg } else { self.upper_half(reg) };
            wide.push(emit(self, half));
        }
        wide
    }

    /// Makes one register from each pair, or from a single one: `emit` narrows into the low half of its result.
    pub(super) fn join_halves(
        &mut self,
        x: &Val,
        ty: ir::Type,
        emit: impl Fn(&mut Self, ir::Value) -> ir::Value,
    ) -> Regs {
        let mut narrow = Regs::new();
        for pair in x.regs.chunks(2) {
            let parts: Regs = pair.iter().map(|reg| emit(self, *reg)).collect();
            let joined = match *parts {
                [low, high] if self.host.is_wide() => self.lower_halves(low, high),
                [low, high] => self.shuffle_words(low, high, [0, 1, 4, 5]),
                _ => parts[0],
            };
            narrow.push(self.bitcast(ty, joined));
        }
        narrow
    }

    /// Truncates floats to integers of 1 or 2 bytes, saturating.
    fn short_of_floats(&mut self, x: &Val, to: DType) -> Regs {
        let words = match x.dtype {
            DType::F32 if self.host.is_x64 => self.words_of_bounded(x, to),
            _ => self.cast(x, DType::I32).regs,
        };
        let words = Val::vector(DType::I32, x.lanes, words);
        let last = if to.is_signed_integer() { Narrowing::Signed } else { Narrowing::Unsigned };
        if to.size() == 2 {
            return self.narrow(&words, last);
        }
        let pairs = self.narrow(&words, Narrowing::Signed);
        let pairs = Val { width: 2, ..words.with_regs(pairs) };
        self.narrow(&pairs, last)
    }

    /// Truncates floats to 4-byte integers that saturate to a short dtype as the floats would. This takes 3 or 4
    /// instructions instead of 8 for saturation to 4 bytes: the bare instruction gives the least integer for
    /// everything out of range.
    fn words_of_bounded(&mut self, x: &Val, to: DType) -> Regs {
        let greatest = Scalar::F64(f64::INFINITY).cast(to);
        let bounds = [Scalar::F32(0.0), greatest].map(|bound| {
            let bound = self.constant(bound.cast(DType::F32));
            self.splat(&bound, x.lanes).regs[0]
        });
        let [floats, words] = [types::F32, types::I32].map(|lane| self.host.vector_of(lane));
        let clamped = self.map(x, |builder, reg| {
            let number = if to.is_signed_integer() {
                let number = builder.ins().fcmp(FloatCC::Equal, reg, reg);
                let number = builder.ins().bitcast(floats, ir::MemFlagsData::new(), number);
                builder.ins().band(reg, number)
            } else {
                let positive = builder.ins().fcmp(FloatCC::LessThan, bounds[0], reg);
                bitselect_floats(builder, positive, reg, bounds[0])
            };
            let small = builder.ins().fcmp(FloatCC::LessThan, number, bounds[1]);
            bitselect_floats(builder, small, number, bounds[1])
        });
        self.map(&clamped, |builder, reg| builder.ins().x86_cvtt2dq(words, reg)).regs
    }

    /// Truncates `f64` to `u32`, saturating.
    ///
    /// A bounded number is rounded to the nearest integer by adding and subtracting 2^52, and then down by a
    /// comparison. Adding 2^52 again leaves the integer in the low half of the bits.
    fn words_of_doubles(&mut self, x: &Val) -> Regs {
        let [doubles, long] = [types::F64, types::I64].map(|lane| self.host.vector_of(lane));
        let [zero, greatest, one, large] =
            [0.0, f64::from(u32::MAX), 1.0, 2f64.powi(52)].map(|value| self.splat_float(doubles, value));
        let bits = self.map(x, |builder, reg| {
            let positive = builder.ins().fcmp(FloatCC::LessThan, zero, reg);
            let lifted = bitselect_floats(builder, positive, reg, zero);
            let small = builder.ins().fcmp(FloatCC::LessThan, lifted, greatest);
            let bounded = bitselect_floats(builder, small, lifted, greatest);
            let sum = builder.ins().fadd(bounded, large);
            let nearest = builder.ins().fsub(sum, large);
            let above = builder.ins().fcmp(FloatCC::LessThan, bounded, nearest);
            let above = builder.ins().bitcast(doubles, ir::MemFlagsData::new(), above);
            let step = builder.ins().band(above, one);
            builder.ins().fsub(sum, step)
        });
        let bits: Regs = bits.regs.iter().map(|reg| self.bitcast(long, *reg)).collect();
        let bits = Val::vector(DType::U64, x.lanes, bits);
        self.narrow(&bits, Narrowing::Low)
    }
}

/// The pattern that becomes one minimum or maximum on x86-64 if the condition compares the same values.
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
