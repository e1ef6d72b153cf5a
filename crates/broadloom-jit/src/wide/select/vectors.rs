//! Vectors: arithmetic, comparisons, blends.

use super::floats::{ByFloat, arithmetic, of, predicate, rounding};
use super::lane_integers::{ADD, BIT_COUNTS, BySize, MAGNITUDE, SUBTRACT};
use super::*;
use broadloom_math::counts_bits;
use cranelift_codegen::ir::condcodes::FloatCC;

/// `x * y + z` in the place of x, and in that of z: by the sign of the product, then by that of z.
const FUSED: [[[ByFloat; 2]; 2]; 2] = [
    [
        [
            [Code::VEX_Vfmadd213ps_ymm_ymm_ymmm256, Code::VEX_Vfmadd213pd_ymm_ymm_ymmm256],
            [Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256, Code::VEX_Vfmadd231pd_ymm_ymm_ymmm256],
        ],
        [
            [Code::VEX_Vfmsub213ps_ymm_ymm_ymmm256, Code::VEX_Vfmsub213pd_ymm_ymm_ymmm256],
            [Code::VEX_Vfmsub231ps_ymm_ymm_ymmm256, Code::VEX_Vfmsub231pd_ymm_ymm_ymmm256],
        ],
    ],
    [
        [
            [Code::VEX_Vfnmadd213ps_ymm_ymm_ymmm256, Code::VEX_Vfnmadd213pd_ymm_ymm_ymmm256],
            [Code::VEX_Vfnmadd231ps_ymm_ymm_ymmm256, Code::VEX_Vfnmadd231pd_ymm_ymm_ymmm256],
        ],
        [
            [Code::VEX_Vfnmsub213ps_ymm_ymm_ymmm256, Code::VEX_Vfnmsub213pd_ymm_ymm_ymmm256],
            [Code::VEX_Vfnmsub231ps_ymm_ymm_ymmm256, Code::VEX_Vfnmsub231pd_ymm_ymm_ymmm256],
        ],
    ],
];

impl Selector<'_> {
    /// Whether a value is the negative of another, and the other.
    fn signed(&self, value: ir::Value) -> (bool, ir::Value) {
        match self.defined_by(value, Opcode::Fneg) {
            Some(&[positive]) => (true, positive),
            _ => (false, value),
        }
    }

    pub(super) fn vectors(&mut self, inst: ir::Inst, data: &InstructionData, target: VReg) -> Result<()> {
        let ty = self.type_of(self.func.dfg.first_result(inst));
        if ty.bytes() as usize != self.width.bytes() {
            return self.unsupported(inst);
        }
        if self.width == Width::Zmm && self.is_truth(self.func.dfg.first_result(inst)) {
            return self.truths(inst, data);
        }
        let lane = ty.lane_type();
        let args: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        match (data.opcode(), args.as_slice()) {
            (opcode, &[x, y]) if let Some([_, codes]) = arithmetic(opcode) => {
                self.two(of(lane, codes), target, x, y);
            }
            (Opcode::Fma, &[x, y, z]) => {
                // Signs of products and sums are part of the instruction.
                let [(negative_x, x), (negative_y, y), (negative_z, z)] =
                    [x, y, z].map(|value| self.signed(value));
                let [products, sums] = FUSED[usize::from(negative_x != negative_y)][usize::from(negative_z)];
                self.fused(of(lane, products), of(lane, sums), target, [x, y, z]);
            }
            (Opcode::Sqrt, &[x]) => {
                let codes = [Code::VEX_Vsqrtps_ymm_ymmm256, Code::VEX_Vsqrtpd_ymm_ymmm256];
                self.one(of(lane, codes), target, x);
            }
            (opcode @ (Opcode::Floor | Opcode::Ceil | Opcode::Trunc | Opcode::Nearest), &[x]) => {
                let codes = [Code::VEX_Vroundps_ymm_ymmm256_imm8, Code::VEX_Vroundpd_ymm_ymmm256_imm8];
                let x = self.operand(x);
                let how = Arg::Immediate(rounding(opcode));
                self.emit(of(lane, codes), &[Arg::Def(target), x, how]);
            }
            (opcode @ (Opcode::Fneg | Opcode::Fabs | Opcode::Fcopysign), args) => {
                return self.signs(inst, opcode, ty, target, args);
            }
            (Opcode::Band | Opcode::Bor | Opcode::Isub, &[x, y]) if self.under_mask(data, target, x, y) => {}
            (opcode @ (Opcode::Band | Opcode::Bor | Opcode::Bxor), &[x, y]) => {
                return self.logic(inst, opcode, target, x, y);
            }
            (Opcode::Bnot, &[x]) if self.width == Width::Zmm => {
                let x = self.get(x);
                self.ternary_logic(target, x, [x, x].map(Arg::Use), !0xf0);
            }
            (Opcode::Bnot, &[x]) => {
                let (x, ones) = (self.fetch(x), self.ones());
                self.emit(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Def(target), x, Arg::Use(ones)]);
            }
            (Opcode::Iadd, &[x, y]) => self.two_by_size(inst, ADD, target, x, y)?,
            (Opcode::Isub, &[x, y]) => self.two_by_size(inst, SUBTRACT, target, x, y)?,
            (Opcode::Ineg, &[x]) => {
                let Some(code) = self.by_size(lane, SUBTRACT) else { return self.unsupported(inst) };
                let (zeros, x) = (self.some_zeros(), self.operand(x));
                self.emit(code, &[Arg::Def(target), Arg::Use(zeros), x]);
            }
            (Opcode::Imul, &[x, y]) => match lane {
                types::I16 => self.two(Code::VEX_Vpmullw_ymm_ymm_ymmm256, target, x, y),
                types::I32 => self.two(Code::VEX_Vpmulld_ymm_ymm_ymmm256, target, x, y),
                types::I64 if self.width == Width::Zmm => {
                    self.two(Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64, target, x, y);
                }
                types::I64 => self.multiply_quadwords(target, x, y),
                _ => return self.unsupported(inst),
            },
            (Opcode::Umulhi, &[x, y]) if lane == types::I64 => self.upper_products(target, x, y),
            (opcode @ (Opcode::Smin | Opcode::Smax | Opcode::Umin | Opcode::Umax), &[x, y]) => {
                return self.extreme_lanes(inst, opcode, target, x, y);
            }
            (Opcode::Iabs, &[x]) => match self.by_size(lane, MAGNITUDE) {
                Some(code) => self.one(code, target, x),
                None => {
                    // The negative of a negative number: its complement plus one.
                    let (x, zeros) = (self.get(x), self.some_zeros());
                    let sign =
                        self.compute(Code::VEX_Vpcmpgtq_ymm_ymm_ymmm256, &[Arg::Use(zeros), Arg::Use(x)]);
                    let turned =
                        self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(x), Arg::Use(sign)]);
                    let args = [Arg::Def(target), Arg::Use(turned), Arg::Use(sign)];
                    self.emit(Code::VEX_Vpsubq_ymm_ymm_ymmm256, &args);
                }
            },
            (Opcode::Popcnt, &[x]) => match self.by_size(lane, BIT_COUNTS) {
                Some(code) if counts_bits() => self.one(code, target, x),
                _ if lane == types::I8 => self.count_bits(target, x),
                _ => return self.unsupported(inst),
            },
            (opcode @ (Opcode::Ishl | Opcode::Ushr | Opcode::Sshr), &[x, y]) => {
                return self.shift_lanes(inst, opcode, lane, target, x, y);
            }
            (Opcode::Icmp, &[x, y]) => {
                let InstructionData::IntCompare { cond, .. } = *data else { return self.unsupported(inst) };
                return self.compare_lanes(inst, cond, target, x, y);
            }
            (Opcode::Fcmp, &[x, y]) => {
                let InstructionData::FloatCompare { cond, .. } = *data else { return self.unsupported(inst) };
                let codes = [Code::VEX_Vcmpps_ymm_ymm_ymmm256_imm8, Code::VEX_Vcmppd_ymm_ymm_ymmm256_imm8];
                let code = of(self.type_of(x).lane_type(), codes);
                let (x, y) = (self.fetch(x), self.operand(y));
                self.emit(code, &[Arg::Def(target), x, y, Arg::Immediate(predicate(cond))]);
            }
            (Opcode::Bitselect, &[c, x, y]) => self.bitselect(ty, target, c, x, y),
            // The machine blends lanes of 2 bytes as twice as many lanes of one.
            (Opcode::Blendv, &[c, x, y]) if lane != types::I16 => self.blend(lane, target, c, x, y),
            (Opcode::Select, &[c, x, y]) => {
                let mask = self.truth_in_lanes(c)?;
                let (x, y) = (self.get(x), self.get(y));
                self.choose_bits(target, mask, x, y);
            }
            _ => return self.lanes(inst, data, target),
        }
        Ok(())
    }

    /// An instruction of one operand, which may be in memory.
    pub(super) fn one(&mut self, code: Code, target: VReg, x: ir::Value) {
        let x = self.operand(x);
        self.emit(code, &[Arg::Def(target), x]);
    }

    fn two_by_size(
        &mut self,
        inst: ir::Inst,
        codes: BySize,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let Some(code) = self.by_size(self.type_of(x).lane_type(), codes) else {
            return self.unsupported(inst);
        };
        self.two(code, target, x, y);
        Ok(())
    }

    /// A vector of ones.
    pub(super) fn ones(&mut self) -> VReg {
        let ones = self.vector();
        let code = match self.width {
            Width::Ymm => Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256,
            Width::Zmm => Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
        };
        self.made.push(Inst::new(Kind::Idiom(code), &[Arg::Def(ones)]));
        ones
    }

    /// The sign of floats, scalar or vector: turned, cleared or taken from another.
    pub(super) fn signs(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        ty: Type,
        target: VReg,
        args: &[ir::Value],
    ) -> Result<()> {
        let [sign, others] = match ty.lane_type() {
            types::F32 => [i32::MIN, i32::MAX].map(|bits| self.lanes_constant(&bits.to_le_bytes())),
            _ => [i64::MIN, i64::MAX].map(|bits| self.lanes_constant(&bits.to_le_bytes())),
        };
        match (opcode, args) {
            (Opcode::Fneg, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vxorps_ymm_ymm_ymmm256, &[Arg::Def(target), x, sign]);
            }
            (Opcode::Fabs, &[x]) => {
                let x = self.fetch(x);
                self.emit(Code::VEX_Vandps_ymm_ymm_ymmm256, &[Arg::Def(target), x, others]);
            }
            (Opcode::Fcopysign, &[x, y]) => {
                let sign = self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[sign]);
                let [x, y] = [x, y].map(|value| self.get(value));
                self.choose_bits(target, sign, y, x);
            }
            _ => return self.unsupported(inst),
        }
        Ok(())
    }

    /// Bits of floats or integers, scalar or vector, in vector registers.
    pub(super) fn logic(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let is_vector = self.type_of(x).is_vector();
        let is_float = self.type_of(x).lane_type().is_float();
        let code = match (opcode, is_float) {
            (Opcode::Band, true) => Code::VEX_Vandps_ymm_ymm_ymmm256,
            (Opcode::Bor, true) => Code::VEX_Vorps_ymm_ymm_ymmm256,
            (Opcode::Bxor, true) => Code::VEX_Vxorps_ymm_ymm_ymmm256,
            (Opcode::Band, false) => Code::VEX_Vpand_ymm_ymm_ymmm256,
            (Opcode::Bor, false) => Code::VEX_Vpor_ymm_ymm_ymmm256,
            (Opcode::Bxor, false) => Code::VEX_Vpxor_ymm_ymm_ymmm256,
            _ => return self.unsupported(inst),
        };
        for [x, y] in [[x, y], [y, x]] {
            if opcode == Opcode::Band
                && let Some(&[turned]) = self.defined_by(x, Opcode::Bnot)
            {
                let code = if is_float {
                    Code::VEX_Vandnps_ymm_ymm_ymmm256
                } else {
                    Code::VEX_Vpandn_ymm_ymm_ymmm256
                };
                let (x, y) = (self.fetch(turned), self.fetch(y));
                self.emit(code, &[Arg::Def(target), x, y]);
                return Ok(());
            }
        }
        let (x, y) = (self.fetch(x), if is_vector { self.operand(y) } else { self.fetch(y) });
        self.emit(code, &[Arg::Def(target), x, y]);
        Ok(())
    }

    /// Bits of `x` where those of `c` are set, else of `y`.
    fn bitselect(&mut self, ty: Type, target: VReg, c: ir::Value, x: ir::Value, y: ir::Value) {
        let mask = self.uncast(c);
        let lane = ty.lane_type();
        match self.definition(mask) {
            Some((_, &InstructionData::FloatCompare { args: [a, b], cond, .. })) => {
                if cond == FloatCC::LessThan && self.type_of(a) == ty {
                    // `a < b ? a : b` and `a < b ? b : a`, the machine's minimum and maximum.
                    let codes = match () {
                        () if [a, b] == [x, y] => {
                            Some(([Code::VEX_Vminps_ymm_ymm_ymmm256, Code::VEX_Vminpd_ymm_ymm_ymmm256], a, b))
                        }
                        () if [a, b] == [y, x] => {
                            Some(([Code::VEX_Vmaxps_ymm_ymm_ymmm256, Code::VEX_Vmaxpd_ymm_ymm_ymmm256], b, a))
                        }
                        () => None,
                    };
                    if let Some((codes, first, second)) = codes {
                        self.two(of(lane, codes), target, first, second);
                        return;
                    }
                }
                self.blend(self.type_of(mask).lane_type(), target, c, x, y);
            }
            Some((_, InstructionData::IntCompare { .. })) => {
                self.blend(self.type_of(mask).lane_type(), target, c, x, y);
            }
            _ if self.is_truth(mask) => self.blend(self.type_of(mask).lane_type(), target, c, x, y),
            _ => {
                let [c, x, y] = [c, x, y].map(|value| self.get(value));
                self.choose_bits(target, c, x, y);
            }
        }
    }

    /// Bits of `x` where those of `c` are set, else of `y`.
    pub(super) fn choose_bits(&mut self, target: VReg, c: VReg, x: VReg, y: VReg) {
        if self.width == Width::Zmm {
            return self.ternary_logic(target, c, [x, y].map(Arg::Use), 0xf0 & 0xcc | !0xf0 & 0xaa);
        }
        let x = self.compute(Code::VEX_Vandps_ymm_ymm_ymmm256, &[Arg::Use(c), Arg::Use(x)]);
        let y = self.compute(Code::VEX_Vandnps_ymm_ymm_ymmm256, &[Arg::Use(c), Arg::Use(y)]);
        self.emit(Code::VEX_Vorps_ymm_ymm_ymmm256, &[Arg::Def(target), Arg::Use(x), Arg::Use(y)]);
    }

    /// Lanes of `x` where those of a mask are set, else of `y`.
    fn blend(&mut self, lane: Type, target: VReg, c: ir::Value, x: ir::Value, y: ir::Value) {
        if self.width == Width::Zmm {
            return self.blend_by_mask(lane, target, c, x, y);
        }
        let code = match lane.bytes() {
            4 => Code::VEX_Vblendvps_ymm_ymm_ymmm256_ymm,
            8 => Code::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm,
            _ => Code::VEX_Vpblendvb_ymm_ymm_ymmm256_ymm,
        };
        let (c, x, y) = (self.fetch(c), self.fetch(x), self.fetch(y));
        self.emit(code, &[Arg::Def(target), y, x, c]);
    }

    /// A scalar truth value in all bits of a vector.
    fn truth_in_lanes(&mut self, truth: ir::Value) -> Result<VReg> {
        let mask = self.mask_of_truth(truth)?;
        Ok(self.compute(Code::VEX_Vpbroadcastq_ymm_xmmm64, &[Arg::Use(mask)]))
    }
}
