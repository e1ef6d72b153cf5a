//! 16-bit floats.
//!
//! A value of `f16` or `bf16` is held as the `f32` values of its lanes, and is 16 bits wide only in memory.
//! Converting to `f32` is free; only rounding to the type costs something. Cranelift has no instructions for these
//! types, so everything here is arithmetic on `f32` and its bits, except for `f16` in wide registers, which x86-64
//! converts itself.

use super::value::Regs;
use super::{Emitter, Intrinsic, Val};
use crate::emit::casts::bitselect_floats;
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types};

/// The sign bit of an `f32`.
const SIGN: i64 = 0x8000_0000;
/// The exponent bits of an `f32`.
const EXPONENT: i64 = 0x7f80_0000;

/// A 16-bit float type, as far as rounding to it goes.
struct Format {
    /// Bits of the fraction.
    fraction: i32,
    /// Exponent of the least normal number.
    least: i32,
    /// Exponent from which on numbers are infinite.
    infinite: i32,
}

impl Format {
    fn of(dtype: DType) -> Format {
        match dtype {
            DType::F16 => Format { fraction: 10, least: -14, infinite: 16 },
            _ => Format { fraction: 7, least: -126, infinite: 128 },
        }
    }
}

impl Emitter<'_, '_> {
    /// Any value rounded once to a 16-bit float; integers by way of `f32`.
    pub(super) fn cast_to_half(&mut self, x: &Val, to: DType) -> Val {
        let rounded = match (x.dtype, to) {
            (DType::F64, _) => {
                let rounded = self.round_by_adding(x, to);
                let narrow = self.cast(&rounded, DType::F32);
                if to == DType::F16 { self.overflow_f16(&narrow) } else { narrow }
            }
            (DType::F32, DType::F16) if self.host.is_wide() => self.in_vectors(&[x], |emitter, args| {
                let halves = emitter.encode_halves(args[0]);
                emitter.decode_halves(halves)
            }),
            (DType::F32, DType::F16) => {
                let rounded = self.round_by_adding(x, to);
                self.overflow_f16(&rounded)
            }
            (DType::F32, _) => self.round_bf16(x),
            _ => {
                let float = self.cast(x, DType::F32);
                // A byte fits both types.
                if x.dtype.size() == 1 { float } else { return self.cast_to_half(&float, to) }
            }
        };
        Val { dtype: to, ..rounded }
    }

    /// Floats of `f32` or `f64` rounded to the fraction of a 16-bit float; what is too large for it stays as large.
    ///
    /// To `|x|` with `2^e <= |x| < 2^(e+1)` a power of two is added whose last bit has the weight that the last bit of
    /// the result shall have, and taken off again: the sum rounds to nearest, ties to even. Below the least normal
    /// number that weight no longer falls.
    fn round_by_adding(&mut self, x: &Val, to: DType) -> Val {
        let Format { fraction, least, infinite } = Format::of(to);
        let (sign, exponent, own) = match x.dtype {
            DType::F64 => (i64::MIN, 0x7ff << 52, 52),
            _ => (SIGN, EXPONENT, 23),
        };
        let (ty, bits) = (self.host.vector_type(x.dtype, x.width), self.host.mask_type(x.width));
        let (sign, exponent) = (self.splat_bits(bits, sign), self.splat_bits(bits, exponent));
        let (least, infinite) =
            (self.splat_float(ty, 2f64.powi(least)), self.splat_float(ty, 2f64.powi(infinite)));
        let scale = self.splat_float(ty, 2f64.powi(own - fraction));
        self.in_vectors(&[x], |emitter, args| {
            let x = emitter.bitcast(bits, args[0]);
            let power = emitter.builder.ins().band(x, exponent);
            let power = emitter.bitcast(ty, power);
            let below = emitter.builder.ins().fcmp(FloatCC::LessThan, least, power);
            let power = bitselect_floats(emitter.builder, below, power, least);
            let below = emitter.builder.ins().fcmp(FloatCC::LessThan, power, infinite);
            let power = bitselect_floats(emitter.builder, below, power, infinite);
            let power = emitter.builder.ins().fmul(power, scale);
            let magnitude = emitter.builder.ins().band_not(x, sign);
            let magnitude = emitter.bitcast(ty, magnitude);
            let sum = emitter.builder.ins().fadd(magnitude, power);
            let rounded = emitter.builder.ins().fsub(sum, power);
            let rounded = emitter.bitcast(bits, rounded);
            let sign = emitter.builder.ins().band(x, sign);
            let signed = emitter.builder.ins().bor(rounded, sign);
            emitter.bitcast(ty, signed)
        })
    }

    /// Infinity for what is too large for `f16`: scaled so that `f32` overflows at the same place, and back.
    fn overflow_f16(&mut self, x: &Val) -> Val {
        let floats = self.host.vector_of(types::F32);
        let (up, down) =
            (self.splat_float(floats, 2f64.powi(112)), self.splat_float(floats, 2f64.powi(-112)));
        self.in_vectors(&[x], |emitter, args| {
            let scaled = emitter.builder.ins().fmul(args[0], up);
            emitter.builder.ins().fmul(scaled, down)
        })
    }

    /// `f32` rounded to `bf16`, its upper half: half a unit is added to the bits, less one if the last bit is even.
    fn round_bf16(&mut self, x: &Val) -> Val {
        let [ty, floats] = [types::I32, types::F32].map(|lane| self.host.vector_of(lane));
        let (one, half, upper) =
            (self.splat_bits(ty, 1), self.splat_bits(ty, 0x7fff), self.splat_bits(ty, 0xffff_0000));
        let quiet = self.splat_bits(ty, 0x7fc0_0000);
        self.in_vectors(&[x], |emitter, args| {
            let bits = emitter.bitcast(ty, args[0]);
            let ins = emitter.builder.ins();
            let last = ins.ushr_imm_u(bits, 16);
            let last = emitter.builder.ins().band(last, one);
            let sum = emitter.builder.ins().iadd(bits, half);
            let sum = emitter.builder.ins().iadd(sum, last);
            let rounded = emitter.builder.ins().band(sum, upper);
            // The carry could make anything of a NaN.
            let nan = emitter.builder.ins().fcmp(FloatCC::Unordered, args[0], args[0]);
            let nan = emitter.builder.ins().band(nan, quiet);
            let result = emitter.builder.ins().bor(rounded, nan);
            emitter.bitcast(floats, result)
        })
    }

    /// The floats of 16 bits that a `u16` value holds.
    pub(super) fn half_of_bits(&mut self, bits: &Val, dtype: DType) -> Val {
        if dtype == DType::F16 && self.host.is_wide() {
            let floats = match bits.lanes {
                1 => {
                    let ty = self.host.vector_of(types::I16);
                    let halves = self.builder.ins().scalar_to_vector(ty, bits.regs[0]);
                    let floats = self.decode_halves(halves);
                    [self.builder.ins().extractlane(floats, 0u8)].into_iter().collect()
                }
                _ => self.halves(bits, |emitter, low| emitter.decode_halves(low)),
            };
            return Val { dtype, width: 4, ..bits.with_regs(floats) };
        }
        let [ty, float_type] = [types::I32, types::F32].map(|lane| self.host.vector_of(lane));
        let words: Regs = if bits.lanes == 1 {
            let word = self.builder.ins().sextend(types::I32, bits.regs[0]);
            [self.builder.ins().scalar_to_vector(ty, word)].into_iter().collect()
        } else {
            self.widen(bits, true)
        };
        let mut floats = Regs::new();
        for words in words {
            let float = match dtype {
                DType::F16 => self.f32_of_f16(words),
                _ => {
                    let upper = self.builder.ins().ishl_imm_u(words, 16);
                    self.bitcast(float_type, upper)
                }
            };
            floats.push(match bits.lanes {
                1 => self.builder.ins().extractlane(float, 0u8),
                _ => float,
            });
        }
        Val { dtype, width: 4, ..bits.with_regs(floats) }
    }

    fn decode_halves(&mut self, halves: ir::Value) -> ir::Value {
        let floats = self.host.vector_of(types::F32);
        self.intrinsic(Intrinsic::OfHalves, &[halves], floats)
    }

    fn encode_halves(&mut self, floats: ir::Value) -> ir::Value {
        let halves = self.host.vector_of(types::I16);
        self.intrinsic(Intrinsic::ToHalves, &[floats], halves)
    }

    /// Sign-extended `f16` bits as `f32`.
    ///
    /// Shifted to their places in an `f32` they read as 2^-112 times the number, also a subnormal one; the exponent of
    /// infinities and NaNs is set by hand.
    fn f32_of_f16(&mut self, words: ir::Value) -> ir::Value {
        let [ty, floats] = [types::I32, types::F32].map(|lane| self.host.vector_of(lane));
        // Three copies of the sign stand where the longer exponent begins.
        let places = self.splat_bits(ty, 0x8fff_ffff);
        let special = self.splat_bits(ty, 0x0f80_0000);
        let exponent = self.splat_bits(ty, EXPONENT);
        let scale = self.splat_float(floats, 2f64.powi(112));
        let shifted = self.builder.ins().ishl_imm_u(words, 13);
        let small = self.builder.ins().band(shifted, places);
        let top = self.builder.ins().band(shifted, special);
        let is_special = self.builder.ins().icmp(IntCC::Equal, top, special);
        let exponent = self.builder.ins().band(is_special, exponent);
        let small = self.bitcast(floats, small);
        let scaled = self.builder.ins().fmul(small, scale);
        let scaled = self.bitcast(ty, scaled);
        let result = self.builder.ins().bor(scaled, exponent);
        self.bitcast(floats, result)
    }

    /// The bits of 16-bit floats as `u16`: the inverse of [`Emitter::half_of_bits`].
    pub(super) fn bits_of_half(&mut self, x: &Val) -> Val {
        let [ty, floats] = [types::I32, types::F32].map(|lane| self.host.vector_of(lane));
        if x.dtype == DType::F16 && self.host.is_wide() {
            if x.lanes == 1 {
                let float = self.builder.ins().scalar_to_vector(floats, x.regs[0]);
                let halves = self.encode_halves(float);
                return Val::scalar(DType::U16, self.builder.ins().extractlane(halves, 0u8));
            }
            let ty = self.host.vector_of(types::I16);
            let halves = self.join_halves(x, ty, |emitter, floats| emitter.encode_halves(floats));
            return Val::vector(DType::U16, x.lanes, halves);
        }
        let mut words = Regs::new();
        for reg in &x.regs {
            let float = match x.lanes {
                1 => self.builder.ins().scalar_to_vector(floats, *reg),
                _ => *reg,
            };
            words.push(match x.dtype {
                DType::F16 => self.f16_of_f32(float),
                _ => self.bitcast(ty, float),
            });
        }
        // The bits are in the upper halves: taken with their signs, they fit the signed narrowing of SSE2.
        let words = x.with_regs(words);
        let words = self.map(&words, |builder, reg| builder.ins().sshr_imm_u(reg, 16));
        if x.lanes == 1 {
            let word = self.builder.ins().extractlane(words.regs[0], 0u8);
            return Val::scalar(DType::U16, self.builder.ins().ireduce(types::I16, word));
        }
        let regs = self.narrow(&words, super::masks::Narrowing::Signed);
        Val::vector(DType::U16, x.lanes, regs)
    }

    /// `f32` values of `f16` as the bits of those, in the upper half of each word. Infinities and NaNs keep an
    /// exponent of ones, of which the upper bits fall off.
    fn f16_of_f32(&mut self, x: ir::Value) -> ir::Value {
        let ty = self.host.vector_of(types::I32);
        let scale = self.splat_float(self.host.vector_of(types::F32), 2f64.powi(-112));
        let (sign, rest) = (self.splat_bits(ty, SIGN), self.splat_bits(ty, 0x7fff_0000));
        let scaled = self.builder.ins().fmul(x, scale);
        let bits = self.bitcast(ty, scaled);
        let sign = self.builder.ins().band(bits, sign);
        let moved = self.builder.ins().ishl_imm_u(bits, 3);
        let rest = self.builder.ins().band(moved, rest);
        self.builder.ins().bor(sign, rest)
    }
}
