//! Statements on vectors.

use super::super::hosts;
use super::*;
use broadloom_math::counts_bits;

impl Generator<'_, '_> {
    fn vector_of(&self, lane: Type) -> Type {
        vector_of(lane, self.kinds.width)
    }

    /// The number of parts of 16 bytes in half a register.
    fn parts_of_half(&self) -> u8 {
        (self.kinds.width.bytes() / 32) as u8
    }

    pub(super) fn vectors(&mut self) {
        let ty = self.random.one_of(&integer_vectors(self.kinds.width));
        let [x, y, z] = [0; 3].map(|_| self.value(ty));
        let lane = ty.lane_type();
        let result = match self.random.below(21) {
            19 if lane == types::I64 => self.gathered([x, y]),
            16 if lane.bytes() >= 4 => self.in_rare_lanes(ty, [x, y, z]),
            17 if lane.bytes() >= 4 => self.shifted_each(ty, [x, y]),
            18 if lane == types::I64 => self.binary(Opcode::Umulhi, x, y),
            0..5 => {
                let all = INTEGER_OPS;
                let opcode = self.random.one_of(&all);
                self.binary(opcode, x, y)
            }
            5 if lane == types::I8 => self.unary(Opcode::Popcnt, ty, x),
            5 if self.kinds.width == Width::Zmm && counts_bits() && self.random.in_hundred(50) => {
                self.unary(Opcode::Popcnt, ty, x)
            }
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

    /// Elements of 8 or of 4 bytes at some of the first indices.
    fn gathered(&mut self, indices: [Value; 2]) -> Value {
        let quadwords = self.vector_of(types::I64);
        let most = self.ins().iconst(types::I64, 7);
        let most = self.ins().splat(quadwords, most);
        let source = self.source;
        if self.random.in_hundred(50) {
            let index = self.ins().band(indices[0], most);
            return self.emitter.intrinsic(Intrinsic::Gathered { long: true }, &[source, index], quadwords);
        }
        let halves = indices.map(|index| {
            let index = self.ins().band(index, most);
            self.emitter.intrinsic(Intrinsic::Gathered { long: false }, &[source, index], quadwords)
        });
        let parts = self.parts_of_half();
        self.emitter.intrinsic(Intrinsic::Joined(parts), &halves, quadwords)
    }

    /// Lanes shifted by counts around their bits.
    fn shifted_each(&mut self, ty: Type, [x, y]: [Value; 2]) -> Value {
        let most = self.ins().iconst(ty.lane_type(), 2 * i64::from(ty.lane_bits()) - 1);
        let most = self.ins().splat(ty, most);
        let counts = if self.random.in_hundred(80) { self.ins().band(y, most) } else { y };
        let left = self.random.in_hundred(50);
        self.emitter.intrinsic(Intrinsic::ShiftEach { left }, &[x, counts], ty)
    }

    /// A vector, replaced by the results of a tile function on one or two others if a condition holds in a lane.
    fn in_rare_lanes(&mut self, ty: Type, [result, x, y]: [Value; 3]) -> Value {
        // Few lanes at a time, so that both cases occur.
        let mut mask = self.lane_condition(ty);
        for _ in 0..self.random.below(4) {
            let other = self.lane_condition(ty);
            mask = self.ins().band(mask, other);
        }
        let address = self.ins().iconst(types::I64, hosts::tile_address(ty.lane_type()) as i64);
        let mut args = vec![result, mask, address, x];
        args.extend(self.random.in_hundred(50).then_some(y));
        self.emitter.intrinsic(Intrinsic::Tile, &args, ty)
    }

    /// A mask in lanes of the size of a type's.
    pub(super) fn lane_condition(&mut self, ty: Type) -> Value {
        let floats = match ty.lane_bits() {
            32 => self.vector_of(types::F32),
            _ => self.vector_of(types::F64),
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
        let ty = self.random.one_of(&float_vectors(self.kinds.width));
        let [x, y, z] = [0; 3].map(|_| self.value(ty));
        let integers = if ty.lane_type() == types::F32 { types::I32 } else { types::I64 };
        let integers = self.vector_of(integers);
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
        let from = self.random.one_of(&integer_vectors(self.kinds.width));
        let from = self.value(from);
        if self.type_of(from) == ty { from } else { self.bitcast(ty, from) }
    }

    /// Between scalars and vectors, and vectors of other lanes.
    pub(super) fn between_vectors(&mut self) {
        let ty = match self.random.in_hundred(70) {
            true => self.random.one_of(&integer_vectors(self.kinds.width)),
            false => self.random.one_of(&float_vectors(self.kinds.width)),
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
            4 if matches!(lane, types::I16 | types::I32) && count <= 16 => {
                let all = [Opcode::SwidenLow, Opcode::SwidenHigh, Opcode::UwidenLow, Opcode::UwidenHigh];
                let opcode = self.random.one_of(&all);
                let (inst, dfg) = self.ins().Unary(opcode, ty, x);
                dfg.first_result(inst)
            }
            4 if lane == types::F32 => {
                let to = self.vector_of(types::I32);
                let all = [Opcode::FcvtToSintSat, Opcode::FcvtToUintSat, Opcode::X86Cvtt2dq];
                let opcode = self.random.one_of(&all);
                self.unary(opcode, to, x)
            }
            5 if lane == types::I32 && count <= 8 => {
                let y = self.value(ty);
                let opcode = self.random.one_of(&[Opcode::Snarrow, Opcode::Unarrow]);
                self.binary(opcode, x, y)
            }
            5 if lane == types::F64 => {
                let y = self.value(ty);
                let [x, y] =
                    [x, y].map(|value| self.unary(Opcode::FcvtToSintSat, self.vector_of(types::I64), value));
                self.binary(Opcode::Snarrow, x, y)
            }
            5 if lane == types::I64 => {
                let narrow = self.value(self.vector_of(types::I32));
                let opcode = self.random.one_of(&[Opcode::SwidenLow, Opcode::SwidenHigh]);
                let words = self.vector_of(types::I32);
                let (inst, dfg) = self.ins().Unary(opcode, words, narrow);
                let wide = dfg.first_result(inst);
                self.unary(Opcode::FcvtFromSint, self.vector_of(types::F64), wide)
            }
            6 if lane.is_int() => self.bitcast_of_integers(ty),
            _ => return self.intrinsics(ty, x),
        };
        self.pool.push(result);
    }

    fn intrinsics(&mut self, ty: Type, x: Value) {
        let y = self.value(ty);
        let parts = self.parts_of_half();
        let [low, high] = [x, y].map(|value| match self.random.in_hundred(50) {
            true => value,
            false => self.emitter.intrinsic(Intrinsic::From(parts), &[value], ty),
        });
        let [bytes, words, singles, doubles] =
            [types::I8, types::I16, types::F32, types::F64].map(|lane| self.vector_of(lane));
        let result = match (self.random.below(4), ty.lane_type()) {
            (0, types::F32) => self.emitter.intrinsic(Intrinsic::Promote, &[low], doubles),
            (0, types::F64) => self.of_halves(Intrinsic::Demote, [x, y], singles),
            (0, types::I8) => {
                let signed = self.random.in_hundred(50);
                self.emitter.intrinsic(Intrinsic::Widen { signed }, &[low], words)
            }
            (0, types::I16) if self.random.in_hundred(50) => {
                let floats = self.emitter.intrinsic(Intrinsic::OfHalves, &[low], singles);
                let factor = self.value(singles);
                let floats = self.binary(Opcode::Fmul, floats, factor);
                // A NaN may have any bits, so replace it by a number.
                let halves = self.of_halves(Intrinsic::ToHalves, [floats, factor], words);
                self.emitter.intrinsic(Intrinsic::OfHalves, &[halves], singles)
            }
            (0, types::I16) => self.narrowed([x, y], bytes),
            (0, types::I32) if self.kinds.width == Width::Zmm => match self.random.in_hundred(50) {
                true => self.narrowed([x, y], words),
                false => {
                    let (signed, word) = (self.random.in_hundred(50), self.value(words));
                    self.emitter.intrinsic(Intrinsic::Widen { signed }, &[word], ty)
                }
            },
            (0, types::I64) if self.kinds.width == Width::Zmm => {
                let narrow = self.vector_of(types::I32);
                self.of_halves(Intrinsic::Narrow(Narrowing::Low), [x, y], narrow)
            }
            (1, lane) => {
                let words = Intrinsic::Words(self.random.next() as u8);
                let y = if self.random.in_hundred(30) { x } else { y };
                // The halves of an `f64` would show the bits of NaNs.
                if lane == types::F64 {
                    return;
                }
                self.emitter.intrinsic(words, &[x, y], ty)
            }
            (2, types::I8) => {
                let one = if self.random.in_hundred(50) { Intrinsic::Bytes } else { Intrinsic::Distances };
                self.emitter.intrinsic(one, &[x, y], ty)
            }
            (2, types::I32 | types::I64) if self.kinds.width == Width::Zmm && self.random.in_hundred(20) => {
                self.emitter.intrinsic(Intrinsic::LeadingZeros, &[x], ty)
            }
            (2, types::I32 | types::I64) if self.kinds.width == Width::Zmm && self.random.in_hundred(30) => {
                let numbers = self.value(ty);
                self.emitter.intrinsic(Intrinsic::Picked, &[x, y, numbers], ty)
            }
            (3, _) => {
                let order = self.random.next() as u8;
                self.emitter.intrinsic(Intrinsic::Parts(order), &[x], ty)
            }
            (2, _) if self.kinds.width == Width::Zmm => self.quarters([x, y], ty),
            _ => self.emitter.intrinsic(Intrinsic::Joined(parts), &[low, high], ty),
        };
        self.pool.push(result);
    }

    /// An intrinsic that fills half a register, for both halves.
    fn of_halves(&mut self, intrinsic: Intrinsic, of: [Value; 2], to: Type) -> Value {
        let halves = of.map(|value| self.emitter.intrinsic(intrinsic, &[value], to));
        let parts = self.parts_of_half();
        self.emitter.intrinsic(Intrinsic::Joined(parts), &halves, to)
    }

    /// Lanes half as wide of two registers.
    fn narrowed(&mut self, of: [Value; 2], to: Type) -> Value {
        let narrowing = match self.kinds.width {
            Width::Ymm => self.random.one_of(&[Narrowing::Signed, Narrowing::Unsigned]),
            Width::Zmm => self.random.one_of(&[Narrowing::Low, Narrowing::Signed, Narrowing::Unsigned]),
        };
        self.of_halves(Intrinsic::Narrow(narrowing), of, to)
    }

    /// Single parts of registers of 64 bytes, and halves that are loaded and stored.
    fn quarters(&mut self, of: [Value; 2], ty: Type) -> Value {
        let mut quarters = Vec::new();
        for _ in 0..2 {
            let part = self.random.one_of(&[1, 3]);
            quarters.push(self.emitter.intrinsic(Intrinsic::From(part), &[of[0]], ty));
        }
        let low = self.emitter.intrinsic(Intrinsic::Joined(1), &quarters, ty);
        let flags = self.flags();
        let (address, offset) = self.address(self.target, SCRATCH);
        let half = self.emitter.intrinsic(Intrinsic::Half, &[of[1]], types::I8X32);
        if ty.lane_type().is_int() {
            self.ins().store(flags, half, address, offset);
        }
        let half = self.load_from_source(types::I8X32);
        let high = self.emitter.intrinsic(Intrinsic::Whole, &[half], ty);
        self.emitter.intrinsic(Intrinsic::Joined(2), &[low, high], ty)
    }
}
