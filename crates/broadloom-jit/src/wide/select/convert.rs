//! Floats to integers and back, in vectors.

use super::floats::{ByFloat, of, predicate};
use super::*;
use cranelift_codegen::ir::condcodes::FloatCC;

const COMPARE: ByFloat = [Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, Code::VEX_Vcmppd_ymm_ymm_ymmm256_imm8];

impl Selector<'_> {
    pub(super) fn convert(&mut self, inst: ir::Inst, data: &InstructionData, target: VReg) -> Result<()> {
        let ty = self.type_of(self.func.dfg.first_result(inst));
        let &[x] = self.func.dfg.inst_args(inst) else { return self.unsupported(inst) };
        let from = self.type_of(x).lane_type();
        if self.width == Width::Zmm && self.convert_wide(data.opcode(), from, ty.lane_type(), target, x) {
            return Ok(());
        }
        match (data.opcode(), from, ty.lane_type()) {
            (Opcode::FcvtFromSint, types::I32, types::F32) => {
                self.one(Code::VEX_Vcvtdq2ps_ymm_ymmm256, target, x);
            }
            (Opcode::FcvtFromSint, types::I64, types::F64) => self.doubles_of_signed(target, x),
            (Opcode::FcvtFromUint, types::I32, types::F32) => self.floats_of_unsigned(target, x),
            (Opcode::FcvtFromUint, types::I64, types::F64) => self.doubles_of_unsigned(target, x),
            (Opcode::FcvtToSintSat, types::F32, types::I32) => {
                let x = self.get(x);
                let [number, above] = self.bounded(types::F32, x, 2f64.powi(31));
                let truncated = self.compute(Code::VEX_Vcvttps2dq_ymm_ymmm256, &[Arg::Use(number)]);
                let args = [Arg::Def(target), Arg::Use(truncated), Arg::Use(above)];
                self.emit(Code::VEX_Vpxor_ymm_ymm_ymmm256, &args);
            }
            (Opcode::FcvtToUintSat, types::F32, types::I32) => self.unsigned_of_floats(target, x),
            (Opcode::X86Cvtt2dq, types::F32, types::I32) => {
                self.one(Code::VEX_Vcvttps2dq_ymm_ymmm256, target, x);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// Floats with zeros for NaN, and a mask of those that are at least a bound.
    fn bounded(&mut self, lane: Type, x: VReg, bound: f64) -> [VReg; 2] {
        let compare = of(lane, COMPARE);
        let ordered = Arg::Immediate(predicate(FloatCC::Ordered));
        let is_number = self.compute(compare, &[Arg::Use(x), Arg::Use(x), ordered]);
        let number = self.compute(Code::VEX_Vandps_ymm_ymm_ymmm256, &[Arg::Use(x), Arg::Use(is_number)]);
        let bound = self.float_lanes(lane, bound);
        let above = Arg::Immediate(predicate(FloatCC::GreaterThanOrEqual));
        [number, self.compute(compare, &[Arg::Use(number), bound, above])]
    }

    pub(super) fn float_lanes(&mut self, lane: Type, value: f64) -> Arg {
        match lane {
            types::F32 => self.lanes_constant(&(value as f32).to_le_bytes()),
            _ => self.lanes_constant(&value.to_le_bytes()),
        }
    }

    /// Unsigned 4-byte integers: the halves are exact, and one sum rounds.
    fn floats_of_unsigned(&mut self, target: VReg, x: ir::Value) {
        let x = Arg::Use(self.get(x));
        let low = self.lanes_constant(&0xffff_u32.to_le_bytes());
        let low = self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[x, low]);
        let high = self.compute(Code::VEX_Vpsrld_ymm_ymm_imm8, &[x, Arg::Immediate(16)]);
        let [low, high] =
            [low, high].map(|half| self.compute(Code::VEX_Vcvtdq2ps_ymm_ymmm256, &[Arg::Use(half)]));
        let scale = self.float_lanes(types::F32, 65536.0);
        let high = self.compute(Code::VEX_Vmulps_ymm_ymm_ymmm256, &[Arg::Use(high), scale]);
        self.emit(Code::VEX_Vaddps_ymm_ymm_ymmm256, &[Arg::Def(target), Arg::Use(high), Arg::Use(low)]);
    }

    /// 8-byte integers. There is an instruction for those widened from 4 bytes.
    fn doubles_of_signed(&mut self, target: VReg, x: ir::Value) {
        for (opcode, upper) in [(Opcode::SwidenLow, false), (Opcode::SwidenHigh, true)] {
            if let Some(&[narrow]) = self.defined_by(x, opcode)
                && self.type_of(narrow).lane_type() == types::I32
            {
                let half = self.half(narrow, upper);
                self.emit(Code::VEX_Vcvtdq2pd_ymm_xmmm128, &[Arg::Def(target), half]);
                return;
            }
        }
        // With the sign flipped, the upper half is an unsigned number, 2^63 too large.
        self.doubles_of_halves(
            target,
            x,
            0x4530_0000_8000_0000,
            2f64.powi(84) + 2f64.powi(63) + 2f64.powi(52),
        );
    }

    fn doubles_of_unsigned(&mut self, target: VReg, x: ir::Value) {
        self.doubles_of_halves(target, x, 2f64.powi(84).to_bits(), 2f64.powi(84) + 2f64.powi(52));
    }

    /// The halves of numbers in the low bits of 2^84, with bits flipped, and of 2^52; then one exact difference and
    /// one sum that rounds.
    fn doubles_of_halves(&mut self, target: VReg, x: ir::Value, upper_bits: u64, offset: f64) {
        let x = Arg::Use(self.get(x));
        let high = self.compute(Code::VEX_Vpsrlq_ymm_ymm_imm8, &[x, Arg::Immediate(32)]);
        let bits = self.lanes_constant(&upper_bits.to_le_bytes());
        let high = self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(high), bits]);
        let exponent = self.lanes_constant(&2f64.powi(52).to_bits().to_le_bytes());
        let low = self.compute(Code::VEX_Vpblendd_ymm_ymm_ymmm256_imm8, &[x, exponent, Arg::Immediate(0xaa)]);
        let offset = self.float_lanes(types::F64, offset);
        let high = self.compute(Code::VEX_Vsubpd_ymm_ymm_ymmm256, &[Arg::Use(high), offset]);
        self.emit(Code::VEX_Vaddpd_ymm_ymm_ymmm256, &[Arg::Def(target), Arg::Use(high), Arg::Use(low)]);
    }

    /// Truncates to unsigned integers, saturating.
    fn unsigned_of_floats(&mut self, target: VReg, x: ir::Value) {
        let (x, zeros) = (self.fetch(x), self.some_zeros());
        // For a number and a NaN, the instruction returns the second operand.
        let x = Arg::Use(self.compute(Code::VEX_Vmaxps_ymm_ymm_ymmm256, &[x, Arg::Use(zeros)]));
        let at_least = Arg::Immediate(predicate(FloatCC::GreaterThanOrEqual));
        let compare = COMPARE[0];
        let half = self.float_lanes(types::F32, 2f64.powi(31));
        let upper = Arg::Use(self.compute(compare, &[x, half, at_least]));
        let whole = self.float_lanes(types::F32, 2f64.powi(32));
        let beyond = Arg::Use(self.compute(compare, &[x, whole, at_least]));
        let taken = Arg::Use(self.compute(Code::VEX_Vandps_ymm_ymm_ymmm256, &[upper, half]));
        let lower = Arg::Use(self.compute(Code::VEX_Vsubps_ymm_ymm_ymmm256, &[x, taken]));
        let lower = Arg::Use(self.compute(Code::VEX_Vcvttps2dq_ymm_ymmm256, &[lower]));
        let top = Arg::Use(self.compute(Code::VEX_Vpslld_ymm_ymm_imm8, &[upper, Arg::Immediate(31)]));
        let sum = Arg::Use(self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[lower, top]));
        self.emit(Code::VEX_Vpor_ymm_ymm_ymmm256, &[Arg::Def(target), sum, beyond]);
    }

    /// `f64` truncated to saturating 8-byte integers and narrowed to 4 bytes: a single instruction does both. The
    /// second operand has the same form, or is zero.
    pub(super) fn narrowed_doubles(
        &mut self,
        inst: ir::Inst,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let mut halves = Vec::new();
        for value in [x, y] {
            let Some(&[from]) = self.defined_by(value, Opcode::FcvtToSintSat) else { continue };
            let from = self.get(from);
            if self.width == Width::Zmm {
                let half = self.vector();
                let codes =
                    [Code::EVEX_Vcvttpd2dq_ymm_k1z_zmmm512b64_sae, Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256];
                self.truncate_by_mask(types::F64, codes, half, from, i32::MAX.into());
                halves.push(half);
                continue;
            }
            let [number, above] = self.bounded(types::F64, from, 2f64.powi(31));
            let truncated = self.compute(Code::VEX_Vcvttpd2dq_xmm_ymmm256, &[Arg::Use(number)]);
            // The masks of words of 8 bytes as such of 4.
            let upper =
                self.compute(Code::VEX_Vextracti128_xmmm128_ymm_imm8, &[Arg::Use(above), Arg::Immediate(1)]);
            let masks = self.compute(
                Code::VEX_Vshufps_xmm_xmm_xmmm128_imm8,
                &[Arg::Use(above), Arg::Use(upper), Arg::Immediate(0x88)],
            );
            halves
                .push(self.compute(Code::VEX_Vpxor_xmm_xmm_xmmm128, &[Arg::Use(truncated), Arg::Use(masks)]));
        }
        match *halves.as_slice() {
            [low, high] => {
                let args = [Arg::Def(target), Arg::Use(low), Arg::Use(high), Arg::Immediate(1)];
                let code = match self.width {
                    Width::Ymm => Code::VEX_Vinserti128_ymm_ymm_xmmm128_imm8,
                    Width::Zmm => Code::EVEX_Vinserti64x4_zmm_k1z_zmm_ymmm256_imm8,
                };
                self.emit(code, &args);
            }
            [low] if self.defined_by(x, Opcode::FcvtToSintSat).is_some() && self.is_zeros(y) => {
                let code = match self.width {
                    Width::Ymm => Code::VEX_Vmovaps_xmm_xmmm128,
                    Width::Zmm => Code::EVEX_Vmovups_ymm_k1z_ymmm256,
                };
                self.emit(code, &[Arg::Def(target), Arg::Use(low)]);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    fn is_zeros(&self, value: ir::Value) -> bool {
        match self.definition(value) {
            Some((_, &InstructionData::UnaryConst { constant_handle, .. })) => {
                self.func.dfg.constants.get(constant_handle).iter().all(|byte| *byte == 0)
            }
            _ => false,
        }
    }
}
