//! Statements on vectors.

use super::*;

impl Generator<'_, '_> {
    pub(super) fn vectors(&mut self) {
        let ty = self.random.one_of(&INTEGER_VECTORS);
        let [x, y, z] = [0; 3].map(|_| self.value(ty));
        let lane = ty.lane_type();
        let result = match self.random.below(16) {
            0..5 => {
                let all = INTEGER_OPS;
                let opcode = self.random.one_of(&all);
                self.binary(opcode, x, y)
            }
            5 if lane == types::I8 => self.unary(Opcode::Popcnt, ty, x),
            5 => self.binary(Opcode::Imul, x, y),
            6 => {
                let opcode = self.random.one_of(&[Opcode::Bnot, Opcode::Ineg, Opcode::Iabs]);
                self.unary(opcode, ty, x)
            }
            7 => {
                let turned = self.unary(Opcode::Bnot, ty, y);
                let [x, y] = if self.random.in_hundred(50) { [x, turned] } else { [turned, x] };
                self.binary(Opcode::Band, x, y)
            }
            8..10 => {
                let opcode = self.random.one_of(&SHIFTS);
                let count = self.integer();
                self.binary(opcode, x, count)
            }
            10 => self.lane_condition(ty),
            11..13 => {
                let mask = self.lane_condition(ty);
                self.ternary(Opcode::Bitselect, mask, x, y)
            }
            13 => self.ternary(Opcode::Bitselect, z, x, y),
            14 if lane != types::I16 => self.ternary(Opcode::Blendv, z, x, y),
            _ => {
                let condition = self.condition();
                self.ternary(Opcode::Select, condition, x, y)
            }
        };
        self.pool.push(result);
    }

    /// A mask in lanes of the size of a type's.
    fn lane_condition(&mut self, ty: Type) -> Value {
        let floats = match ty.lane_bits() {
            32 => types::F32X8,
            _ => types::F64X4,
        };
        if ty.lane_bits() >= 32 && self.random.in_hundred(30) {
            let [x, y] = [0; 2].map(|_| self.value(floats));
            let condition = self.random.one_of(&FLOAT_CONDITIONS);
            return self.ins().fcmp(condition, x, y);
        }
        let [x, y] = [0; 2].map(|_| self.value(ty));
        let condition = self.random.one_of(&CONDITIONS);
        self.ins().icmp(condition, x, y)
    }

    pub(super) fn float_vectors(&mut self) {
        let ty = self.random.one_of(&FLOAT_VECTORS);
        let [x, y, z] = [0; 3].map(|_| self.value(ty));
        let integers = if ty == types::F32X8 { types::I32X8 } else { types::I64X4 };
        let result = match self.random.below(12) {
            0..3 => {
                let opcode = self.random.one_of(&FLOAT_ARITHMETIC);
                self.binary(opcode, x, y)
            }
            3..5 => self.ternary(Opcode::Fma, x, y, z),
            5 => {
                let opcode = self.rounding();
                self.unary(opcode, ty, x)
            }
            6 => {
                // One of the patterns that are one instruction, or nearly.
                let below = self.ins().fcmp(FloatCC::LessThan, x, y);
                let below = self.bitcast(ty, below);
                let [x, y] = if self.random.in_hundred(50) { [x, y] } else { [y, x] };
                self.ternary(Opcode::Bitselect, below, x, y)
            }
            7 => {
                let mask = self.lane_condition(integers);
                let mask = self.bitcast(ty, mask);
                let opcode = self.random.one_of(&[Opcode::Bitselect, Opcode::Blendv]);
                self.ternary(opcode, mask, x, y)
            }
            8 => {
                let mask = self.lane_condition(integers);
                let mask = self.bitcast(ty, mask);
                self.binary(Opcode::Band, mask, x)
            }
            9 => {
                let from = self.value(integers);
                let opcode = self.random.one_of(&[Opcode::FcvtFromSint, Opcode::FcvtFromUint]);
                self.unary(opcode, ty, from)
            }
            10 => self.bitcast_of_integers(ty),
            _ => {
                let condition = self.condition();
                self.ternary(Opcode::Select, condition, x, y)
            }
        };
        self.pool.push(result);
    }

    fn bitcast_of_integers(&mut self, ty: Type) -> Value {
        let from = self.random.one_of(&INTEGER_VECTORS);
        let from = self.value(from);
        if self.type_of(from) == ty { from } else { self.bitcast(ty, from) }
    }

    /// Between scalars and vectors, and vectors of other lanes.
    pub(super) fn between_vectors(&mut self) {
        let ty = match self.random.in_hundred(70) {
            true => self.random.one_of(&INTEGER_VECTORS),
            false => self.random.one_of(&FLOAT_VECTORS),
        };
        let (lane, count) = (ty.lane_type(), ty.lane_count() as usize);
        let (x, scalar) = (self.value(ty), self.value(lane));
        let result = match self.random.below(9) {
            0 => self.ins().splat(ty, scalar),
            1 => self.ins().scalar_to_vector(ty, scalar),
            2 => {
                let at = self.random.below(count) as u8;
                self.ins().insertlane(x, scalar, at)
            }
            3 => {
                let at = self.random.below(count) as u8;
                self.ins().extractlane(x, at)
            }
            4 if lane == types::I16 || lane == types::I32 => {
                let all = [Opcode::SwidenLow, Opcode::SwidenHigh, Opcode::UwidenLow, Opcode::UwidenHigh];
                let opcode = self.random.one_of(&all);
                let (inst, dfg) = self.ins().Unary(opcode, ty, x);
                dfg.first_result(inst)
            }
            4 if lane == types::F32 => {
                let to = types::I32X8;
                let all = [Opcode::FcvtToSintSat, Opcode::FcvtToUintSat, Opcode::X86Cvtt2dq];
                let opcode = self.random.one_of(&all);
                self.unary(opcode, to, x)
            }
            5 if lane == types::I32 => {
                let y = self.value(ty);
                let opcode = self.random.one_of(&[Opcode::Snarrow, Opcode::Unarrow]);
                self.binary(opcode, x, y)
            }
            5 if lane == types::F64 => {
                let y = self.value(ty);
                let [x, y] = [x, y].map(|value| self.unary(Opcode::FcvtToSintSat, types::I64X4, value));
                self.binary(Opcode::Snarrow, x, y)
            }
            5 if lane == types::I64 => {
                let narrow = self.value(types::I32X8);
                let opcode = self.random.one_of(&[Opcode::SwidenLow, Opcode::SwidenHigh]);
                let (inst, dfg) = self.ins().Unary(opcode, types::I32X8, narrow);
                let wide = dfg.first_result(inst);
                self.unary(Opcode::FcvtFromSint, types::F64X4, wide)
            }
            6 if lane.is_int() => self.bitcast_of_integers(ty),
            _ => return self.intrinsics(ty, x),
        };
        self.pool.push(result);
    }

    fn intrinsics(&mut self, ty: Type, x: Value) {
        let y = self.value(ty);
        let [low, high] = [x, y].map(|value| match self.random.in_hundred(50) {
            true => value,
            false => self.emitter.intrinsic(Intrinsic::UpperHalf, &[value], ty),
        });
        let result = match (self.random.below(3), ty.lane_type()) {
            (0, types::F32) => self.emitter.intrinsic(Intrinsic::Promote, &[low], types::F64X4),
            (0, types::F64) => {
                let [low, high] =
                    [x, y].map(|value| self.emitter.intrinsic(Intrinsic::Demote, &[value], types::F32X8));
                self.emitter.intrinsic(Intrinsic::LowerHalves, &[low, high], types::F32X8)
            }
            (0, types::I8) => {
                let signed = self.random.in_hundred(50);
                self.emitter.intrinsic(Intrinsic::Widen { signed }, &[low], types::I16X16)
            }
            (0, types::I16) if self.random.in_hundred(50) => {
                let floats = self.emitter.intrinsic(Intrinsic::OfHalves, &[low], types::F32X8);
                let factor = self.value(types::F32X8);
                let floats = self.binary(Opcode::Fmul, floats, factor);
                let [low, high] = [floats, factor]
                    .map(|value| self.emitter.intrinsic(Intrinsic::ToHalves, &[value], types::I16X16));
                // What is no number may have any bits: it becomes one again.
                let halves = self.emitter.intrinsic(Intrinsic::LowerHalves, &[low, high], types::I16X16);
                self.emitter.intrinsic(Intrinsic::OfHalves, &[halves], types::F32X8)
            }
            (0, types::I16) => {
                let signed = self.random.in_hundred(50);
                let [low, high] = [x, y].map(|value| {
                    self.emitter.intrinsic(Intrinsic::Narrow { signed }, &[value], types::I8X32)
                });
                self.emitter.intrinsic(Intrinsic::LowerHalves, &[low, high], types::I8X32)
            }
            (1, lane) => {
                let words = Intrinsic::Words(self.random.next() as u8);
                let y = if self.random.in_hundred(30) { x } else { y };
                // Halves of an `f64` would be told apart by what is no number.
                if lane == types::F64 {
                    return;
                }
                self.emitter.intrinsic(words, &[x, y], ty)
            }
            (2, types::I8) => self.emitter.intrinsic(Intrinsic::Bytes, &[x, y], ty),
            _ => self.emitter.intrinsic(Intrinsic::LowerHalves, &[low, high], ty),
        };
        self.pool.push(result);
    }
}
