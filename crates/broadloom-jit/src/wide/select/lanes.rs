//! Lanes of vectors: inserts, extracts and shuffles.

use super::lane_integers::LEADING_ZEROS;
use super::*;
use crate::emit::Narrowing;

/// Takes the upper half of a register, or the second of its parts of 16 bytes.
const UPPER: Arg = Arg::Immediate(1);

/// Rounding to nearest, ties to even.
const TO_NEAREST: Arg = Arg::Immediate(0);

impl Selector<'_> {
    pub(super) fn lanes(&mut self, inst: ir::Inst, data: &InstructionData, target: VReg) -> Result<()> {
        let ty = self.type_of(self.func.dfg.first_result(inst));
        let lane = ty.lane_type();
        let args: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        match (data.opcode(), args.as_slice()) {
            (Opcode::Vconst, []) => {
                let InstructionData::UnaryConst { constant_handle, .. } = *data else {
                    return self.unsupported(inst);
                };
                let bytes = self.func.dfg.constants.get(constant_handle).as_slice().to_vec();
                let memory = self.constant(&bytes);
                self.emit(Code::VEX_Vmovups_ymm_ymmm256, &[Arg::Def(target), Arg::Memory(memory)]);
            }
            (Opcode::Splat, &[x]) => return self.splat(inst, lane, target, x),
            (Opcode::ScalarToVector, &[x]) => match self.type_of(x) {
                types::I8 | types::I16 => {
                    let x = self.extended(x, false);
                    self.emit(Code::VEX_Vmovd_xmm_rm32, &[Arg::Def(target), Arg::Use(x)]);
                }
                types::I32 => self.one(Code::VEX_Vmovd_xmm_rm32, target, x),
                types::I64 => self.one(Code::VEX_Vmovq_xmm_rm64, target, x),
                // Loads into vector registers set the bytes above to zero.
                types::I128 => self.one(Code::VEX_Vmovups_xmm_xmmm128, target, x),
                types::F64 => self.one(Code::VEX_Vmovq_xmm_xmmm64, target, x),
                types::F32 => match self.loaded(x) {
                    Some(memory) => {
                        self.emit(Code::VEX_Vmovss_xmm_m32, &[Arg::Def(target), Arg::Memory(memory)]);
                    }
                    None => {
                        let x = self.fetch(x);
                        let kept = Arg::Immediate(0x0e);
                        self.emit(Code::VEX_Vinsertps_xmm_xmm_xmmm32_imm8, &[Arg::Def(target), x, x, kept]);
                    }
                },
                _ => return self.unsupported(inst),
            },
            (Opcode::Insertlane, &[x, y]) => {
                let InstructionData::TernaryImm8 { imm, .. } = *data else { return self.unsupported(inst) };
                return self.insert(inst, lane, target, x, y, imm);
            }
            (opcode @ (Opcode::SwidenLow | Opcode::SwidenHigh), &[x]) => {
                let code = match lane {
                    types::I16 => Code::VEX_Vpmovsxbw_ymm_xmmm128,
                    types::I32 => Code::VEX_Vpmovsxwd_ymm_xmmm128,
                    _ => Code::VEX_Vpmovsxdq_ymm_xmmm128,
                };
                let half = self.half(x, opcode == Opcode::SwidenHigh);
                self.emit(code, &[Arg::Def(target), half]);
            }
            (opcode @ (Opcode::UwidenLow | Opcode::UwidenHigh), &[x]) => {
                let code = match lane {
                    types::I16 => Code::VEX_Vpmovzxbw_ymm_xmmm128,
                    types::I32 => Code::VEX_Vpmovzxwd_ymm_xmmm128,
                    _ => Code::VEX_Vpmovzxdq_ymm_xmmm128,
                };
                let half = self.half(x, opcode == Opcode::UwidenHigh);
                self.emit(code, &[Arg::Def(target), half]);
            }
            (Opcode::Snarrow, &[x, y]) if lane == types::I32 => {
                return self.narrowed_doubles(inst, target, x, y);
            }
            (opcode @ (Opcode::Snarrow | Opcode::Unarrow), &[x, y]) if self.width == Width::Ymm => {
                let code = match (opcode, lane) {
                    (Opcode::Snarrow, types::I8) => Code::VEX_Vpacksswb_ymm_ymm_ymmm256,
                    (Opcode::Snarrow, types::I16) => Code::VEX_Vpackssdw_ymm_ymm_ymmm256,
                    (Opcode::Unarrow, types::I8) => Code::VEX_Vpackuswb_ymm_ymm_ymmm256,
                    (Opcode::Unarrow, types::I16) => Code::VEX_Vpackusdw_ymm_ymm_ymmm256,
                    _ => return self.unsupported(inst),
                };
                let (x, y) = (self.fetch(x), self.operand(y));
                let mixed = self.compute(code, &[x, y]);
                // The machine narrows the lower halves of both, then the upper halves.
                let order = Arg::Immediate(0xd8);
                self.emit(Code::VEX_Vpermq_ymm_ymmm256_imm8, &[Arg::Def(target), Arg::Use(mixed), order]);
            }
            (Opcode::Call, args) => {
                let Some(intrinsic) = Intrinsic::called(self.func, inst) else {
                    return self.unsupported(inst);
                };
                return self.intrinsic(inst, intrinsic, lane, target, args);
            }
            _ => return self.convert(inst, data, target),
        }
        Ok(())
    }

    /// Half of a register as the lower part of one.
    pub(super) fn half(&mut self, x: ir::Value, upper: bool) -> Arg {
        let x = self.fetch(x);
        if !upper {
            return x;
        }
        let code = match self.width {
            Width::Ymm => Code::VEX_Vextracti128_xmmm128_ymm_imm8,
            Width::Zmm => Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8,
        };
        Arg::Use(self.compute(code, &[x, UPPER]))
    }

    /// A part of 16 bytes of a register as the lowest one.
    fn part(&mut self, x: ir::Value, part: u32) -> Arg {
        let x = self.fetch(x);
        if part == 0 {
            return x;
        }
        let part = Arg::Immediate(part.into());
        Arg::Use(self.compute(self.take_part(), &[x, part]))
    }

    /// The first 16 bytes of a vector: in its register, or in the memory where they are.
    fn part_operand(&mut self, vector: ir::Value) -> Arg {
        let whole = self.uncast(vector);
        let is_alone = self.uses[whole] == 1 && self.uses[vector] == 1;
        let source = self.defined_by(whole, Opcode::ScalarToVector).filter(|_| is_alone);
        let memory = match source {
            Some(&[part]) if self.type_of(part) == types::I128 => self.loaded(part),
            _ => None,
        };
        memory.map_or_else(|| self.fetch(vector), Arg::Memory)
    }

    fn take_part(&self) -> Code {
        match self.width {
            Width::Ymm => Code::VEX_Vextracti128_xmmm128_ymm_imm8,
            Width::Zmm => Code::EVEX_Vextracti32x4_xmmm128_k1z_zmm_imm8,
        }
    }

    fn splat(&mut self, inst: ir::Inst, lane: Type, target: VReg, x: ir::Value) -> Result<()> {
        let (from_integer, code) = match lane {
            types::F32 => (None, Code::VEX_Vbroadcastss_ymm_xmm),
            types::F64 => (None, Code::VEX_Vbroadcastsd_ymm_xmm),
            types::I8 => (Some(Code::VEX_Vmovd_xmm_rm32), Code::VEX_Vpbroadcastb_ymm_xmmm8),
            types::I16 => (Some(Code::VEX_Vmovd_xmm_rm32), Code::VEX_Vpbroadcastw_ymm_xmmm16),
            types::I32 => (Some(Code::VEX_Vmovd_xmm_rm32), Code::VEX_Vpbroadcastd_ymm_xmmm32),
            types::I64 => (Some(Code::VEX_Vmovq_xmm_rm64), Code::VEX_Vpbroadcastq_ymm_xmmm64),
            _ => return self.unsupported(inst),
        };
        // A constant is loaded with all its lanes.
        if let Some(bytes) = self.lane_constant(x) {
            let constant = self.lanes_constant(&bytes);
            self.emit(Code::VEX_Vmovups_ymm_ymmm256, &[Arg::Def(target), constant]);
            return Ok(());
        }
        if let Some(memory) = self.loaded(x) {
            let code = match lane {
                types::F32 => Code::VEX_Vbroadcastss_ymm_m32,
                types::F64 => Code::VEX_Vbroadcastsd_ymm_m64,
                _ => code,
            };
            self.emit(code, &[Arg::Def(target), Arg::Memory(memory)]);
            return Ok(());
        }
        // AVX-512 broadcasts an integer directly.
        let from_register = match lane {
            types::I8 => Code::EVEX_Vpbroadcastb_zmm_k1z_r32,
            types::I16 => Code::EVEX_Vpbroadcastw_zmm_k1z_r32,
            types::I32 => Code::EVEX_Vpbroadcastd_zmm_k1z_r32,
            _ => Code::EVEX_Vpbroadcastq_zmm_k1z_r64,
        };
        let x = match from_integer {
            Some(_) if self.width == Width::Zmm => {
                let x = self.fetch(x);
                self.emit(from_register, &[Arg::Def(target), x]);
                return Ok(());
            }
            Some(through) => {
                let x = self.fetch(x);
                Arg::Use(self.compute(through, &[x]))
            }
            None => self.fetch(x),
        };
        self.emit(code, &[Arg::Def(target), x]);
        Ok(())
    }

    /// A lane as a scalar.
    pub(super) fn extract(
        &mut self,
        inst: ir::Inst,
        x: ir::Value,
        data: &InstructionData,
        target: VReg,
    ) -> Result<()> {
        let InstructionData::BinaryImm8 { imm, .. } = *data else { return self.unsupported(inst) };
        let ty = self.type_of(x);
        let per_part = 16 / ty.lane_type().bytes();
        let (part, place) = (u32::from(imm) / per_part, i64::from(u32::from(imm) % per_part));
        let half = self.part(x, part);
        let place = Arg::Immediate(place);
        match (ty.lane_type(), place) {
            (types::F32 | types::F64, Arg::Immediate(0)) => {
                self.emit(Code::VEX_Vmovaps_xmm_xmmm128, &[Arg::Def(target), half]);
            }
            (types::F32, _) => {
                self.emit(Code::VEX_Vpermilps_xmm_xmmm128_imm8, &[Arg::Def(target), half, place]);
            }
            (types::F64, _) => {
                self.emit(Code::VEX_Vunpckhpd_xmm_xmm_xmmm128, &[Arg::Def(target), half, half]);
            }
            (types::I8, _) => self.emit(Code::VEX_Vpextrb_r32m8_xmm_imm8, &[Arg::Def(target), half, place]),
            (types::I16, _) => self.emit(Code::VEX_Vpextrw_r32_xmm_imm8, &[Arg::Def(target), half, place]),
            (types::I32, _) => self.emit(Code::VEX_Vpextrd_rm32_xmm_imm8, &[Arg::Def(target), half, place]),
            (types::I64, _) => self.emit(Code::VEX_Vpextrq_rm64_xmm_imm8, &[Arg::Def(target), half, place]),
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// A vector with another lane.
    fn insert(
        &mut self,
        inst: ir::Inst,
        lane: Type,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
        place: u8,
    ) -> Result<()> {
        let per_part = 16 / lane.bytes();
        let upper = u32::from(place) >= per_part;
        let is_all = !upper && self.has_zeros_above(x);
        if self.width == Width::Zmm && !is_all {
            return self.insert_by_mask(inst, lane, target, x, y, place);
        }
        let place = i64::from(u32::from(place) % per_part);
        let half = self.part(x, upper.into());
        let (x, y) = (self.fetch(x), self.fetch(y));
        let (code, how) = match lane {
            types::I8 => (Code::VEX_Vpinsrb_xmm_xmm_r32m8_imm8, Some(place)),
            types::I16 => (Code::VEX_Vpinsrw_xmm_xmm_r32m16_imm8, Some(place)),
            types::I32 => (Code::VEX_Vpinsrd_xmm_xmm_rm32_imm8, Some(place)),
            types::I64 => (Code::VEX_Vpinsrq_xmm_xmm_rm64_imm8, Some(place)),
            types::F32 => (Code::VEX_Vinsertps_xmm_xmm_xmmm32_imm8, Some(place << 4)),
            types::F64 if place == 0 => (Code::VEX_Vblendpd_xmm_xmm_xmmm128_imm8, Some(1)),
            types::F64 => (Code::VEX_Vunpcklpd_xmm_xmm_xmmm128, None),
            _ => return self.unsupported(inst),
        };
        let changed = if is_all { target } else { self.vector() };
        let mut args = vec![Arg::Def(changed), half, y];
        args.extend(how.map(Arg::Immediate));
        self.emit(code, &args);
        let changed = Arg::Use(changed);
        if upper {
            self.emit(Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8, &[Arg::Def(target), x, changed, UPPER]);
        } else if !is_all {
            let low = Arg::Immediate(0x0f);
            self.emit(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, &[Arg::Def(target), x, changed, low]);
        }
        Ok(())
    }

    /// Whether all bytes of a vector after the first 16 are known to be zero: instructions on the first 16 bytes
    /// clear the others, such as those that make a vector from a scalar and insert lanes.
    fn has_zeros_above(&self, value: ir::Value) -> bool {
        let mut value = self.uncast(value);
        loop {
            match self.definition(value) {
                Some((_, InstructionData::Unary { opcode: Opcode::ScalarToVector, .. })) => return true,
                Some((
                    _,
                    &InstructionData::TernaryImm8 { opcode: Opcode::Insertlane, args: [x, _], imm },
                )) if u32::from(imm) < 16 / self.type_of(x).lane_type().bytes() => {
                    value = self.uncast(x);
                }
                _ => return false,
            }
        }
    }

    fn intrinsic(
        &mut self,
        inst: ir::Inst,
        intrinsic: Intrinsic,
        lane: Type,
        target: VReg,
        args: &[ir::Value],
    ) -> Result<()> {
        match (intrinsic, args) {
            (Intrinsic::From(2), &[x]) if self.width == Width::Zmm => {
                let x = self.fetch(x);
                self.emit(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, &[Arg::Def(target), x, UPPER]);
            }
            (Intrinsic::From(part), &[x]) if 16 * usize::from(part) < self.width.bytes() => {
                let x = self.fetch(x);
                self.emit(self.take_part(), &[Arg::Def(target), x, Arg::Immediate(part.into())]);
            }
            (Intrinsic::Joined(parts @ 1..=2), &[x, y]) if 32 * usize::from(parts) <= self.width.bytes() => {
                let code = match (self.width, parts) {
                    (Width::Ymm, _) => Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8,
                    (Width::Zmm, 1) => Code::EVEX_Vinserti32x4_ymm_k1z_ymm_xmmm128_imm8,
                    (Width::Zmm, _) => Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8,
                };
                let y = if parts == 1 { self.part_operand(y) } else { self.fetch(y) };
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x, y, UPPER]);
            }
            (Intrinsic::Parts(parts), &[x]) => {
                let x = self.fetch(x);
                let (code, parts) = match self.width {
                    // The bits for the second part are at another position, and there are only two.
                    Width::Ymm => (Code::VEX_Vperm2i128_ymm_ymm_ymmm256_imm8, parts & 1 | (parts & 4) << 2),
                    Width::Zmm => (Code::EVEX_Vshufi64x2_zmm_k1z_zmm_zmmm512b64_imm8, parts),
                };
                self.emit(code, &[Arg::Def(target), x, x, Arg::Immediate(parts.into())]);
            }
            (Intrinsic::Whole, &[x]) if self.width == Width::Zmm => {
                self.one(Code::EVEX_Vmovups_ymm_k1z_ymmm256, target, x);
            }
            (Intrinsic::Words(words), &[x, y]) => {
                let words = Arg::Immediate(words.into());
                if x == y && lane.is_int() {
                    let x = self.operand(x);
                    self.emit(Code::VEX_Vpshufd_ymm_ymmm256_imm8, &[Arg::Def(target), x, words]);
                } else {
                    let (x, y) = (self.fetch(x), self.fetch(y));
                    self.emit(Code::VEX_Vshufps_ymm_ymm_ymmm256_imm8, &[Arg::Def(target), x, y, words]);
                }
            }
            (Intrinsic::Bytes, &[x, order]) => {
                self.two(Code::VEX_Vpshufb_ymm_ymm_ymmm256, target, x, order);
            }
            (Intrinsic::Distances, &[x, y]) => {
                self.two(Code::VEX_Vpsadbw_ymm_ymm_ymmm256, target, x, y);
            }
            (Intrinsic::LeadingZeros, &[x]) => match self.by_size(lane, LEADING_ZEROS) {
                Some(code) => self.one(code, target, x),
                None => return self.unsupported(inst),
            },
            (Intrinsic::Picked, &[x, y, numbers]) if self.width == Width::Zmm => {
                let code = match lane.bytes() {
                    4 => Code::EVEX_Vpermt2ps_zmm_k1z_zmm_zmmm512b32,
                    8 => Code::EVEX_Vpermt2pd_zmm_k1z_zmm_zmmm512b64,
                    _ => return self.unsupported(inst),
                };
                let (x, numbers, y) = (self.get(x), self.get(numbers), self.operand(y));
                self.emit(code, &[Arg::Tied(target, x), Arg::Use(numbers), y]);
            }
            (Intrinsic::Scaled, &[x, n]) if self.width == Width::Zmm => {
                let code = match lane {
                    types::F32 => Code::EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er,
                    types::F64 => Code::EVEX_Vscalefpd_zmm_k1z_zmm_zmmm512b64_er,
                    _ => return self.unsupported(inst),
                };
                self.two(code, target, x, n);
            }
            (Intrinsic::Promote, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtps2pd_ymm_xmmm128, &[Arg::Def(target), x]);
            }
            (Intrinsic::Demote, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtpd2ps_xmm_ymmm256, &[Arg::Def(target), x]);
            }
            (Intrinsic::OfHalves, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtph2ps_ymm_xmmm128, &[Arg::Def(target), x]);
            }
            (Intrinsic::ToHalves, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vcvtps2ph_xmmm128_ymm_imm8, &[Arg::Def(target), x, TO_NEAREST]);
            }
            (Intrinsic::Widen { signed }, &[x]) => {
                let code = match (lane, signed) {
                    (types::I16, true) => Code::VEX_Vpmovsxbw_ymm_xmmm128,
                    (types::I16, false) => Code::VEX_Vpmovzxbw_ymm_xmmm128,
                    (types::I32, true) => Code::VEX_Vpmovsxwd_ymm_xmmm128,
                    (types::I32, false) => Code::VEX_Vpmovzxwd_ymm_xmmm128,
                    _ => return self.unsupported(inst),
                };
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x]);
            }
            (Intrinsic::ShiftEach { left }, &[x, counts]) => {
                let code = match (lane, left) {
                    (types::I32, true) => Code::VEX_Vpsllvd_ymm_ymm_ymmm256,
                    (types::I32, false) => Code::VEX_Vpsrlvd_ymm_ymm_ymmm256,
                    (types::I64, true) => Code::VEX_Vpsllvq_ymm_ymm_ymmm256,
                    (types::I64, false) => Code::VEX_Vpsrlvq_ymm_ymm_ymmm256,
                    _ => return self.unsupported(inst),
                };
                self.two(code, target, x, counts);
            }
            (Intrinsic::Gathered { long }, &[address, indices]) => {
                let address = self.get(address);
                let scale = if long { 8 } else { 4 };
                let index = Some((self.get(indices), scale));
                let memory = Arg::Memory(Memory { base: Base::Register(address), index, offset: 0 });
                let result = Arg::Tied(target, self.some_zeros());
                // The instruction clears the lanes of the mask, all of which are set.
                match self.width {
                    Width::Ymm => {
                        let code = match long {
                            true => Code::VEX_Vpgatherqq_ymm_vm64y_ymm,
                            false => Code::VEX_Vpgatherqd_xmm_vm64y_xmm,
                        };
                        let (spent, all) = (self.vector(), self.ones());
                        self.emit(code, &[result, memory, Arg::Tied(spent, all)]);
                    }
                    Width::Zmm => {
                        let code = match long {
                            true => Code::EVEX_Vpgatherqq_zmm_k1_vm64z,
                            false => Code::EVEX_Vpgatherqd_ymm_k1_vm64z,
                        };
                        let (spent, all) = (self.fresh(MASK), self.fresh(MASK));
                        self.made.push(Inst::new(Kind::Idiom(Code::VEX_Kxnorw_kr_kr_kr), &[Arg::Def(all)]));
                        self.emit(code, &[result, memory, Arg::Spent(spent, all)]);
                    }
                }
            }
            (Intrinsic::Tile, &[result, mask, address, ref args @ ..]) => {
                return self.tile(inst, target, [result, mask, address], args);
            }
            (Intrinsic::Narrow(narrowing), &[x]) if self.width == Width::Zmm => {
                return self.narrow(inst, narrowing, lane, target, x);
            }
            (Intrinsic::Narrow(narrowing), &[x]) => {
                let code = match (narrowing, lane) {
                    (Narrowing::Signed, types::I8) => Code::VEX_Vpacksswb_xmm_xmm_xmmm128,
                    (Narrowing::Unsigned, types::I8) => Code::VEX_Vpackuswb_xmm_xmm_xmmm128,
                    _ => return self.unsupported(inst),
                };
                let upper = self.half(x, true);
                let x = self.fetch(x);
                self.emit(code, &[Arg::Def(target), x, upper]);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }
}
