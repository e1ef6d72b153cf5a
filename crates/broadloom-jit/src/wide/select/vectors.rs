//! Vectors: arithmetic, comparisons, blends, shifts.

use super::floats::{ByFloat, arithmetic, of, predicate, rounding};
use super::*;
use Has::{Both, No, Zmm};
use cranelift_codegen::ir::condcodes::FloatCC;

/// Whether there is an instruction, and for which registers.
#[derive(Clone, Copy)]
enum Has {
    No,
    /// For both widths, named as for 32 bytes.
    Both(Code),
    /// Only for 64 bytes.
    Zmm(Code),
}

/// Encodings for lanes of 1, 2, 4 and 8 bytes.
type BySize = [Has; 4];

const EQUAL: BySize = [
    Both(Code::VEX_Vpcmpeqb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpeqw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpeqd_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpeqq_ymm_ymm_ymmm256),
];
const GREATER: BySize = [
    Both(Code::VEX_Vpcmpgtb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpgtw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpgtd_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpcmpgtq_ymm_ymm_ymmm256),
];
const ADD: BySize = [
    Both(Code::VEX_Vpaddb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddd_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddq_ymm_ymm_ymmm256),
];
const SUBTRACT: BySize = [
    Both(Code::VEX_Vpsubb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpsubw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpsubd_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpsubq_ymm_ymm_ymmm256),
];
const SIGNED_LEAST: BySize = [
    Both(Code::VEX_Vpminsb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpminsw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpminsd_ymm_ymm_ymmm256),
    Zmm(Code::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64),
];
const SIGNED_GREATEST: BySize = [
    Both(Code::VEX_Vpmaxsb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpmaxsw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpmaxsd_ymm_ymm_ymmm256),
    Zmm(Code::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64),
];
const UNSIGNED_LEAST: BySize = [
    Both(Code::VEX_Vpminub_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpminuw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpminud_ymm_ymm_ymmm256),
    Zmm(Code::EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64),
];
const UNSIGNED_GREATEST: BySize = [
    Both(Code::VEX_Vpmaxub_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpmaxuw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpmaxud_ymm_ymm_ymmm256),
    Zmm(Code::EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64),
];
const MAGNITUDE: BySize = [
    Both(Code::VEX_Vpabsb_ymm_ymmm256),
    Both(Code::VEX_Vpabsw_ymm_ymmm256),
    Both(Code::VEX_Vpabsd_ymm_ymmm256),
    Zmm(Code::EVEX_Vpabsq_zmm_k1z_zmmm512b64),
];
/// By a constant.
const LEFT_BY: BySize = [
    No,
    Both(Code::VEX_Vpsllw_ymm_ymm_imm8),
    Both(Code::VEX_Vpslld_ymm_ymm_imm8),
    Both(Code::VEX_Vpsllq_ymm_ymm_imm8),
];
const RIGHT_BY: BySize = [
    No,
    Both(Code::VEX_Vpsrlw_ymm_ymm_imm8),
    Both(Code::VEX_Vpsrld_ymm_ymm_imm8),
    Both(Code::VEX_Vpsrlq_ymm_ymm_imm8),
];
const SIGNED_RIGHT_BY: BySize = [
    No,
    Both(Code::VEX_Vpsraw_ymm_ymm_imm8),
    Both(Code::VEX_Vpsrad_ymm_ymm_imm8),
    Zmm(Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8),
];
/// By the first lane of a register.
const LEFT: BySize = [
    No,
    Both(Code::VEX_Vpsllw_ymm_ymm_xmmm128),
    Both(Code::VEX_Vpslld_ymm_ymm_xmmm128),
    Both(Code::VEX_Vpsllq_ymm_ymm_xmmm128),
];
const RIGHT: BySize = [
    No,
    Both(Code::VEX_Vpsrlw_ymm_ymm_xmmm128),
    Both(Code::VEX_Vpsrld_ymm_ymm_xmmm128),
    Both(Code::VEX_Vpsrlq_ymm_ymm_xmmm128),
];
const SIGNED_RIGHT: BySize = [
    No,
    Both(Code::VEX_Vpsraw_ymm_ymm_xmmm128),
    Both(Code::VEX_Vpsrad_ymm_ymm_xmmm128),
    Zmm(Code::EVEX_Vpsraq_zmm_k1z_zmm_xmmm128),
];

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

    fn by_size(&self, lane: Type, codes: BySize) -> Option<Code> {
        match codes.get(lane.bytes().trailing_zeros() as usize)? {
            No => None,
            Both(code) => Some(*code),
            Zmm(code) => (self.width == Width::Zmm).then_some(*code),
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
                self.of_three(target, x, [x, x].map(Arg::Use), !0xf0);
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
            (Opcode::Popcnt, &[x]) if lane == types::I8 => self.count_bits(target, x),
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

    /// The low halves of 8-byte products: the product of the low halves, plus the mixed products shifted up.
    fn multiply_quadwords(&mut self, target: VReg, x: ir::Value, y: ir::Value) {
        let [x, y] = [x, y].map(|value| Arg::Use(self.get(value)));
        let product = Code::VEX_Vpmuludq_ymm_ymm_ymmm256;
        let low = Arg::Use(self.compute(product, &[x, y]));
        // Swap the halves of y, so that one 4-byte product gives both mixed products.
        let swapped = Arg::Use(self.compute(Code::VEX_Vpshufd_ymm_ymmm256_imm8, &[y, Arg::Immediate(0xb1)]));
        let mixed = Arg::Use(self.compute(Code::VEX_Vpmulld_ymm_ymm_ymmm256, &[x, swapped]));
        let moved = Arg::Use(self.compute(Code::VEX_Vpsllq_ymm_ymm_imm8, &[mixed, Arg::Immediate(32)]));
        let sum = Arg::Use(self.compute(Code::VEX_Vpaddd_ymm_ymm_ymmm256, &[mixed, moved]));
        let upper = self.lanes_constant(&0xffff_ffff_0000_0000_u64.to_le_bytes());
        let high = Arg::Use(self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[sum, upper]));
        self.emit(Code::VEX_Vpaddq_ymm_ymm_ymmm256, &[Arg::Def(target), low, high]);
    }

    fn extreme_lanes(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let (codes, signed, least) = match opcode {
            Opcode::Smin => (SIGNED_LEAST, true, true),
            Opcode::Smax => (SIGNED_GREATEST, true, false),
            Opcode::Umin => (UNSIGNED_LEAST, false, true),
            _ => (UNSIGNED_GREATEST, false, false),
        };
        let lane = self.type_of(x).lane_type();
        if let Some(code) = self.by_size(lane, codes) {
            self.two(code, target, x, y);
            return Ok(());
        }
        if lane != types::I64 {
            return self.unsupported(inst);
        }
        let [x, y] = [x, y].map(|value| self.get(value));
        let [a, b] = if signed { [x, y] } else { [x, y].map(|reg| self.without_sign(lane, reg)) };
        let greater = self.compute(Code::VEX_Vpcmpgtq_ymm_ymm_ymmm256, &[Arg::Use(a), Arg::Use(b)]);
        let [on_greater, otherwise] = if least { [y, x] } else { [x, y] };
        let args = [Arg::Def(target), Arg::Use(otherwise), Arg::Use(on_greater), Arg::Use(greater)];
        self.emit(Code::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm, &args);
        Ok(())
    }

    /// Unsigned numbers mapped to signed ones in the same order.
    fn without_sign(&mut self, lane: Type, reg: VReg) -> VReg {
        let bytes = lane.bytes() as usize;
        let mut sign = vec![0; bytes];
        sign[bytes - 1] = 0x80;
        let sign = self.lanes_constant(&sign);
        self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(reg), sign])
    }

    /// The set bits of each byte, by looking up its halves.
    fn count_bits(&mut self, target: VReg, x: ir::Value) {
        let table = self.lanes_constant(&[0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4]);
        let table = self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[table]);
        let low = self.lanes_constant(&[0x0f]);
        let x = Arg::Use(self.get(x));
        let lower = self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[x, low]);
        let moved = self.compute(Code::VEX_Vpsrlw_ymm_ymm_imm8, &[x, Arg::Immediate(4)]);
        let upper = self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[Arg::Use(moved), low]);
        let counts = [lower, upper]
            .map(|half| self.compute(Code::VEX_Vpshufb_ymm_ymm_ymmm256, &[Arg::Use(table), Arg::Use(half)]));
        let args = [Arg::Def(target), Arg::Use(counts[0]), Arg::Use(counts[1])];
        self.emit(Code::VEX_Vpaddb_ymm_ymm_ymmm256, &args);
    }

    /// Shifts of all lanes by one scalar count, modulo their bits.
    fn shift_lanes(
        &mut self,
        inst: ir::Inst,
        opcode: Opcode,
        lane: Type,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let x = Arg::Use(self.get(x));
        let bits = i64::from(lane.bits());
        // The count as the instruction takes it.
        let known = self.known(y).map(|count| count & (bits - 1));
        let count = match known {
            Some(count) => Arg::Immediate(count),
            None => {
                let (count, within) = (self.get(y), self.integer());
                self.emit(Code::And_rm32_imm32, &[Arg::Tied(within, count), Arg::Immediate(bits - 1)]);
                Arg::Use(self.compute(Code::VEX_Vmovd_xmm_rm32, &[Arg::Use(within)]))
            }
        };
        let [left, right, signed] = match known {
            Some(_) => [LEFT_BY, RIGHT_BY, SIGNED_RIGHT_BY],
            None => [LEFT, RIGHT, SIGNED_RIGHT],
        };
        let codes = match opcode {
            Opcode::Ishl => left,
            Opcode::Ushr => right,
            _ => signed,
        };
        if let Some(code) = self.by_size(lane, codes) {
            self.emit(code, &[Arg::Def(target), x, count]);
            return Ok(());
        }
        if lane == types::I8 {
            // Shift words of 2 bytes, and clear the bits from the neighbour.
            let [left, right] = [left, right].map(|codes| self.by_size(types::I16, codes));
            let (Some(left), Some(right)) = (left, right) else { return self.unsupported(inst) };
            let shifted = self.compute(if opcode == Opcode::Ishl { left } else { right }, &[x, count]);
            let kept = if opcode == Opcode::Ishl {
                // The low byte of the shifted ones, in both bytes.
                let low = self.lanes_constant(&[0xff, 0]);
                let low = self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[low]);
                let low = Arg::Use(self.compute(left, &[Arg::Use(low), count]));
                let order = self.lanes_constant(&[0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14]);
                self.compute(Code::VEX_Vpshufb_ymm_ymm_ymmm256, &[low, order])
            } else {
                let ones = Arg::Use(self.ones());
                let high = Arg::Use(self.compute(right, &[ones, count]));
                let order = self.lanes_constant(&[1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15]);
                self.compute(Code::VEX_Vpshufb_ymm_ymm_ymmm256, &[high, order])
            };
            let and = Code::VEX_Vpand_ymm_ymm_ymmm256;
            if opcode != Opcode::Sshr {
                self.emit(and, &[Arg::Def(target), Arg::Use(shifted), Arg::Use(kept)]);
                return Ok(());
            }
            let shifted = self.compute(and, &[Arg::Use(shifted), Arg::Use(kept)]);
            let sign = self.lanes_constant(&[0x80]);
            let sign = self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[sign]);
            let sign = self.compute(right, &[Arg::Use(sign), count]);
            let sign = self.compute(and, &[Arg::Use(sign), Arg::Use(kept)]);
            self.spread_sign(Code::VEX_Vpsubb_ymm_ymm_ymmm256, target, shifted, sign);
            return Ok(());
        }
        // 8-byte words have no arithmetic shift.
        let Some(right) = self.by_size(types::I64, right) else { return self.unsupported(inst) };
        let sign = self.lanes_constant(&i64::MIN.to_le_bytes());
        let sign = self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[sign]);
        let shifted = self.compute(right, &[x, count]);
        let sign = self.compute(right, &[Arg::Use(sign), count]);
        self.spread_sign(Code::VEX_Vpsubq_ymm_ymm_ymmm256, target, shifted, sign);
        Ok(())
    }

    /// Sign-extends from the marked bit: flipping and subtracting it borrows from the bits above.
    fn spread_sign(&mut self, subtract: Code, target: VReg, shifted: VReg, sign: VReg) {
        let turned = self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(shifted), Arg::Use(sign)]);
        self.emit(subtract, &[Arg::Def(target), Arg::Use(turned), Arg::Use(sign)]);
    }

    fn compare_lanes(
        &mut self,
        inst: ir::Inst,
        condition: IntCC,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> Result<()> {
        let lane = self.type_of(x).lane_type();
        let (Some(equal), Some(greater)) = (self.by_size(lane, EQUAL), self.by_size(lane, GREATER)) else {
            return self.unsupported(inst);
        };
        let is_signed =
            condition.unsigned() != condition || matches!(condition, IntCC::Equal | IntCC::NotEqual);
        let [x, y] = [x, y].map(|value| match self.constant_lane(value).filter(|_| !is_signed) {
            Some(mut constant) => {
                constant[lane.bytes() as usize - 1] ^= 0x80;
                self.lanes_constant(&constant)
            }
            None if is_signed => Arg::Use(self.get(value)),
            None => {
                let value = self.get(value);
                Arg::Use(self.without_sign(lane, value))
            }
        });
        let (code, x, y, is_inverted) = match condition {
            IntCC::Equal => (equal, x, y, false),
            IntCC::NotEqual => (equal, x, y, true),
            IntCC::SignedGreaterThan | IntCC::UnsignedGreaterThan => (greater, x, y, false),
            IntCC::SignedLessThan | IntCC::UnsignedLessThan => (greater, y, x, false),
            IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => (greater, y, x, true),
            IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => (greater, x, y, true),
        };
        // Only the second operand may be in memory.
        let x = match x {
            Arg::Memory(_) => Arg::Use(self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[x])),
            _ => x,
        };
        if !is_inverted {
            self.emit(code, &[Arg::Def(target), x, y]);
            return Ok(());
        }
        let compared = self.compute(code, &[x, y]);
        let ones = self.ones();
        let args = [Arg::Def(target), Arg::Use(compared), Arg::Use(ones)];
        self.emit(Code::VEX_Vpxor_ymm_ymm_ymmm256, &args);
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
            return self.of_three(target, c, [x, y].map(Arg::Use), 0xf0 & 0xcc | !0xf0 & 0xaa);
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
