//! AVX-512's masks: comparisons produce them, and other instructions write only the lanes that they name.
//!
//! In CLIF a truth value in a vector is lanes of ones and zeros. Here it stays in a mask register for the
//! instructions that read it there, and becomes lanes only for the others.

use super::floats::{ByFloat, of, predicate};
use super::*;
use crate::emit::Narrowing;
use cranelift_codegen::ir::condcodes::FloatCC;

/// Encodings for lanes of 1, 2, 4 and 8 bytes.
type BySize = [Code; 4];

fn by_size(lane: Type, codes: BySize) -> Code {
    codes[lane.bytes().trailing_zeros() as usize]
}

const SIGNED: BySize = [
    Code::EVEX_Vpcmpb_kr_k1_zmm_zmmm512_imm8,
    Code::EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8,
    Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8,
    Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8,
];
const UNSIGNED: BySize = [
    Code::EVEX_Vpcmpub_kr_k1_zmm_zmmm512_imm8,
    Code::EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8,
    Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8,
    Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8,
];
const FLOATS: ByFloat =
    [Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae, Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae];
const LANES_OF_MASK: BySize = [
    Code::EVEX_Vpmovm2b_zmm_kr,
    Code::EVEX_Vpmovm2w_zmm_kr,
    Code::EVEX_Vpmovm2d_zmm_kr,
    Code::EVEX_Vpmovm2q_zmm_kr,
];
const MASK_OF_SIGNS: BySize = [
    Code::EVEX_Vpmovb2m_kr_zmm,
    Code::EVEX_Vpmovw2m_kr_zmm,
    Code::EVEX_Vpmovd2m_kr_zmm,
    Code::EVEX_Vpmovq2m_kr_zmm,
];
const TEST_OF_MASK: BySize =
    [Code::VEX_Kortestq_kr_kr, Code::VEX_Kortestd_kr_kr, Code::VEX_Kortestw_kr_kr, Code::VEX_Kortestb_kr_kr];
const BLEND: BySize = [
    Code::EVEX_Vpblendmb_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
];
const MOVE: BySize = [
    Code::EVEX_Vmovdqu8_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu16_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
    Code::EVEX_Vmovdqu64_zmm_k1z_zmmm512,
];
const ADD: BySize = [
    Code::EVEX_Vpaddb_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpaddw_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
];
const FROM_INTEGER: BySize = [
    Code::EVEX_Vpbroadcastb_zmm_k1z_r32,
    Code::EVEX_Vpbroadcastw_zmm_k1z_r32,
    Code::EVEX_Vpbroadcastd_zmm_k1z_r32,
    Code::EVEX_Vpbroadcastq_zmm_k1z_r64,
];

/// A comparison of lanes into a mask: the instruction, its operands, and the number of the condition.
struct Comparison {
    code: Code,
    x: ir::Value,
    y: ir::Value,
    how: i64,
}

/// The depth to which logic on truth values is followed.
const DEPTH: usize = 4;

impl Selector<'_> {
    /// Whether a vector consists of truth values compared here, which may stay in a mask register.
    pub(super) fn is_truth(&self, value: ir::Value) -> bool {
        self.width == Width::Zmm && self.is_truth_to(DEPTH, value)
    }

    fn is_truth_to(&self, depth: usize, value: ir::Value) -> bool {
        let value = self.uncast(value);
        let ty = self.type_of(value);
        let Some((inst, data)) = self.definition(value).filter(|_| ty.is_vector()) else { return false };
        match data.opcode() {
            Opcode::Icmp | Opcode::Fcmp => true,
            Opcode::Band | Opcode::Bor | Opcode::Bxor | Opcode::Bnot if depth > 0 => {
                self.func.dfg.inst_args(inst).iter().all(|arg| {
                    self.type_of(self.uncast(*arg)).lane_count() == ty.lane_count()
                        && self.is_truth_to(depth - 1, *arg)
                })
            }
            _ => false,
        }
    }

    /// The lanes of a truth value.
    fn truth_lane(&self, truth: ir::Value) -> Type {
        self.type_of(self.uncast(truth)).lane_type()
    }

    /// The mask register of a truth value.
    fn mask(&mut self, truth: ir::Value) -> VReg {
        let truth = self.uncast(truth);
        if let Some(mask) = self.masks[truth] {
            return mask;
        }
        let mask = self.fresh(MASK);
        self.masks[truth] = Some(mask);
        mask
    }

    /// A mask register of truth values in lanes.
    pub(super) fn mask_of_lanes(&mut self, lane: Type, truth: ir::Value) -> VReg {
        if self.is_truth(truth) {
            return self.mask(truth);
        }
        let signs = self.fetch(truth);
        self.compute_mask(by_size(lane, MASK_OF_SIGNS), &[signs])
    }

    /// Sets the flags for whether any lane is set.
    pub(super) fn any_lane(&mut self, truth: ir::Value) -> Result<Condition> {
        let lane = self.type_of(truth).lane_type();
        match self.width {
            Width::Ymm => {
                let lanes = self.get(truth);
                self.emit(Code::VEX_Vptest_ymm_ymmm256, &[Arg::Use(lanes), Arg::Use(lanes)]);
            }
            Width::Zmm => {
                let mask = self.mask_of_lanes(lane, truth);
                self.emit(by_size(lane, TEST_OF_MASK), &[Arg::Use(mask), Arg::Use(mask)]);
            }
        }
        Ok(Condition::NotEqual)
    }

    /// The mask result of an instruction.
    fn compute_mask(&mut self, code: Code, args: &[Arg]) -> VReg {
        let mask = self.fresh(MASK);
        let mut all = vec![Arg::Def(mask)];
        all.extend_from_slice(args);
        self.emit(code, &all);
        mask
    }

    /// Truth values: a comparison, or logic on others.
    pub(super) fn truths(&mut self, inst: ir::Inst, data: &InstructionData) -> Result<()> {
        let result = self.func.dfg.first_result(inst);
        let lane = self.truth_lane(result);
        let mask = self.mask(result);
        let args: Vec<ir::Value> = self.func.dfg.inst_args(inst).to_vec();
        let alone = |selector: &Self, truth| {
            selector.comparison(truth).filter(|_| selector.is_read_here_alone(truth))
        };
        match (data.opcode(), args.as_slice()) {
            (Opcode::Icmp | Opcode::Fcmp | Opcode::Bnot, _) if let Some(made) = self.comparison(result) => {
                self.compare_to_mask(mask, &made, None);
            }
            (Opcode::Bnot, &[x]) => {
                let x = self.mask(x);
                self.emit(Code::VEX_Knotq_kr_kr, &[Arg::Def(mask), Arg::Use(x)]);
            }
            // A comparison under another condition: one instruction instead of three dependent ones.
            (Opcode::Band, &[x, y]) if let Some(made) = alone(self, y) => {
                let under = self.mask(x);
                self.compare_to_mask(mask, &made, Some(under));
            }
            (Opcode::Band, &[x, y]) if let Some(made) = alone(self, x) => {
                let under = self.mask(y);
                self.compare_to_mask(mask, &made, Some(under));
            }
            (opcode, &[x, y]) => {
                // Bits beyond the lanes do not matter.
                let code = match opcode {
                    Opcode::Band => Code::VEX_Kandq_kr_kr_kr,
                    Opcode::Bor => Code::VEX_Korq_kr_kr_kr,
                    _ => Code::VEX_Kxorq_kr_kr_kr,
                };
                let [x, y] = [x, y].map(|arg| Arg::Use(self.mask(arg)));
                self.emit(code, &[Arg::Def(mask), x, y]);
            }
            _ => return self.unsupported(inst),
        }
        if self.needed[result] {
            let lanes = self.reg_of(result);
            self.emit(by_size(lane, LANES_OF_MASK), &[Arg::Def(lanes), Arg::Use(mask)]);
        }
        Ok(())
    }

    /// The instruction that computes a truth value by a comparison; also the negation of one that has no other use.
    fn comparison(&self, truth: ir::Value) -> Option<Comparison> {
        let (inst, data) = self.definition(self.uncast(truth))?;
        let args = self.func.dfg.inst_args(inst);
        match (*data, args) {
            (InstructionData::IntCompare { cond, .. }, &[x, y]) => {
                let codes = if cond.unsigned() == cond { UNSIGNED } else { SIGNED };
                let code = by_size(self.type_of(x).lane_type(), codes);
                Some(Comparison { code, x, y, how: order(cond) })
            }
            (InstructionData::FloatCompare { cond, .. }, &[x, y]) => {
                Some(Comparison { code: of(self.type_of(x), FLOATS), x, y, how: predicate(cond) })
            }
            (InstructionData::Unary { opcode: Opcode::Bnot, .. }, &[x]) if self.is_read_here_alone(x) => {
                let compared = self.comparison(x)?;
                // The third bit negates a comparison.
                Some(Comparison { how: compared.how ^ 4, ..compared })
            }
            _ => None,
        }
    }

    /// Whether the current instruction is in the block of a value, and so are all its uses.
    fn is_read_here_alone(&self, value: ir::Value) -> bool {
        let here =
            self.definition(self.uncast(value)).is_some_and(|(inst, _)| self.is_in_current_block(inst));
        here && self.uses[value] == 1
    }

    /// Compares lanes under another mask.
    fn compare_to_mask(&mut self, mask: VReg, made: &Comparison, under: Option<VReg>) {
        let (x, y) = (self.fetch(made.x), self.operand(made.y));
        let mut args = vec![Arg::Def(mask), x, y, Arg::Immediate(made.how)];
        args.extend(under.map(Arg::Under));
        self.emit(made.code, &args);
    }

    /// Selects lanes by a truth value, or counts it in an accumulator, with one masked instruction. Returns whether the
    /// instruction has this form.
    pub(super) fn under_mask(
        &mut self,
        data: &InstructionData,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
    ) -> bool {
        let opcode = data.opcode();
        let by = if self.is_truth(y) {
            Some((y, x))
        } else if opcode != Opcode::Isub && self.is_truth(x) {
            Some((x, y))
        } else {
            None
        };
        let Some((truth, other)) = by else { return false };
        let lane = self.truth_lane(truth);
        match opcode {
            Opcode::Band => {
                let (mask, other) = (self.mask(truth), self.operand(other));
                self.emit(by_size(lane, MOVE), &[Arg::Def(target), other, Arg::OrZero(mask)]);
            }
            Opcode::Bor => {
                let (mask, other) = (self.mask(truth), self.get(other));
                let code = by_size(lane, [MOVE[0], MOVE[1], TERNARY[0], TERNARY[1]]);
                let args = if lane.bytes() < 4 {
                    let ones = Arg::Use(self.ones());
                    vec![Arg::Tied(target, other), ones, Arg::Under(mask)]
                } else {
                    let every = Arg::Immediate(0xff);
                    vec![Arg::Tied(target, other), Arg::Use(other), Arg::Use(other), every, Arg::Under(mask)]
                };
                self.emit(code, &args);
            }
            _ if lane == self.type_of(x).lane_type() => {
                // A lane that is set is -1.
                let mut one = vec![0; lane.bytes() as usize];
                one[0] = 1;
                let one = self.lanes_constant(&one);
                let (mask, other) = (self.mask(truth), self.get(other));
                let args = [Arg::Tied(target, other), Arg::Use(other), one, Arg::Under(mask)];
                self.emit(by_size(lane, ADD), &args);
            }
            _ => return false,
        }
        true
    }

    /// Lanes of `x` where the lanes of `c` are negative, else of `y`.
    pub(super) fn blend_by_mask(
        &mut self,
        lane: Type,
        target: VReg,
        c: ir::Value,
        x: ir::Value,
        y: ir::Value,
    ) {
        let lane = if self.is_truth(c) { self.truth_lane(c) } else { lane };
        let mask = self.mask_of_lanes(lane, c);
        let (x, y) = (self.operand(x), self.fetch(y));
        self.emit(by_size(lane, BLEND), &[Arg::Def(target), y, x, Arg::Under(mask)]);
    }

    /// Any function of three bits: its value where the first is set in `0xf0`, the second in `0xcc`, the third in
    /// `0xaa`.
    pub(super) fn ternary_logic(&mut self, target: VReg, first: VReg, others: [Arg; 2], function: i64) {
        let args = [Arg::Tied(target, first), others[0], others[1], Arg::Immediate(function)];
        self.emit(TERNARY[0], &args);
    }

    /// A vector with another lane.
    pub(super) fn insert_by_mask(
        &mut self,
        inst: ir::Inst,
        lane: Type,
        target: VReg,
        x: ir::Value,
        y: ir::Value,
        place: u8,
    ) -> Result<()> {
        let code = match lane {
            types::F32 => Code::EVEX_Vbroadcastss_zmm_k1z_xmmm32,
            types::F64 => Code::EVEX_Vbroadcastsd_zmm_k1z_xmmm64,
            _ if lane.is_int() && lane.bits() <= 64 => by_size(lane, FROM_INTEGER),
            _ => return self.unsupported(inst),
        };
        let bit = self.number_in(1 << place);
        let mask = self.compute_mask(Code::VEX_Kmovq_kr_r64, &[Arg::Use(bit)]);
        let (x, y) = (self.get(x), self.fetch(y));
        self.emit(code, &[Arg::Tied(target, x), y, Arg::Under(mask)]);
        Ok(())
    }

    /// Lanes half as wide.
    pub(super) fn narrow(
        &mut self,
        inst: ir::Inst,
        narrowing: Narrowing,
        lane: Type,
        target: VReg,
        x: ir::Value,
    ) -> Result<()> {
        let (code, greatest) = match (narrowing, lane) {
            (Narrowing::Low, types::I8) => (Code::EVEX_Vpmovwb_ymmm256_k1z_zmm, None),
            (Narrowing::Low, types::I16) => (Code::EVEX_Vpmovdw_ymmm256_k1z_zmm, None),
            (Narrowing::Low, types::I32) => (Code::EVEX_Vpmovqd_ymmm256_k1z_zmm, None),
            (Narrowing::Signed, types::I8) => (Code::EVEX_Vpmovswb_ymmm256_k1z_zmm, None),
            (Narrowing::Signed, types::I16) => (Code::EVEX_Vpmovsdw_ymmm256_k1z_zmm, None),
            // These treat their operands as unsigned.
            (Narrowing::Unsigned, types::I8) => {
                (Code::EVEX_Vpmovuswb_ymmm256_k1z_zmm, Some(Code::VEX_Vpmaxsw_ymm_ymm_ymmm256))
            }
            (Narrowing::Unsigned, types::I16) => {
                (Code::EVEX_Vpmovusdw_ymmm256_k1z_zmm, Some(Code::VEX_Vpmaxsd_ymm_ymm_ymmm256))
            }
            _ => return self.unsupported(inst),
        };
        let mut x = self.get(x);
        if let Some(greatest) = greatest {
            let zeros = self.some_zeros();
            x = self.compute(greatest, &[Arg::Use(x), Arg::Use(zeros)]);
        }
        self.emit(code, &[Arg::Def(target), Arg::Use(x)]);
        Ok(())
    }

    // Conversions.

    /// Truncates floats to signed integers of 4 or 8 bytes: zero for NaN, and the greatest integer for larger
    /// numbers. The instruction itself returns the least integer for smaller ones. The codes are those of the
    /// truncation and of a move.
    pub(super) fn truncate_by_mask(
        &mut self,
        lane: Type,
        codes: [Code; 2],
        target: VReg,
        x: VReg,
        greatest: i64,
    ) {
        let most = match i32::try_from(greatest) {
            Ok(greatest) => self.lanes_constant(&greatest.to_le_bytes()),
            Err(_) => self.lanes_constant(&greatest.to_le_bytes()),
        };
        let compare = of(lane, FLOATS);
        let ordered = Arg::Immediate(predicate(FloatCC::Ordered));
        let is_number = self.compute_mask(compare, &[Arg::Use(x), Arg::Use(x), ordered]);
        let bound = self.float_lanes(lane, -(!greatest as f64));
        let above = Arg::Immediate(predicate(FloatCC::GreaterThanOrEqual));
        let is_above = self.compute_mask(compare, &[Arg::Use(x), bound, above]);
        let truncated = self.compute(codes[0], &[Arg::Use(x), Arg::OrZero(is_number)]);
        self.emit(codes[1], &[Arg::Tied(target, truncated), most, Arg::Under(is_above)]);
    }

    /// Conversions with an instruction in AVX-512. Returns whether this is one.
    pub(super) fn convert_wide(
        &mut self,
        opcode: Opcode,
        from: Type,
        to: Type,
        target: VReg,
        x: ir::Value,
    ) -> bool {
        match (opcode, from, to) {
            (Opcode::FcvtFromSint, types::I64, types::F64) => {
                let code = Code::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er;
                let widened = [Opcode::SwidenLow, Opcode::SwidenHigh];
                self.doubles_of(widened, [code, Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er], target, x);
            }
            (Opcode::FcvtFromUint, types::I64, types::F64) => {
                let code = Code::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er;
                let widened = [Opcode::UwidenLow, Opcode::UwidenHigh];
                self.doubles_of(widened, [code, Code::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er], target, x);
            }
            (Opcode::FcvtFromUint, types::I32, types::F32) => {
                self.one(Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, target, x);
            }
            (Opcode::FcvtToSintSat, types::F32, types::I32) => {
                let codes = [Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae, MOVE[2]];
                let x = self.get(x);
                self.truncate_by_mask(from, codes, target, x, i32::MAX.into());
            }
            (Opcode::FcvtToSintSat, types::F64, types::I64) => {
                let codes = [Code::EVEX_Vcvttpd2qq_zmm_k1z_zmmm512b64_sae, MOVE[3]];
                let x = self.get(x);
                self.truncate_by_mask(from, codes, target, x, i64::MAX);
            }
            (Opcode::FcvtToUintSat, types::F32, types::I32) => {
                let code = Code::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae;
                self.unsigned_of(Code::VEX_Vmaxps_ymm_ymm_ymmm256, code, target, x);
            }
            (Opcode::FcvtToUintSat, types::F64, types::I64) => {
                let code = Code::EVEX_Vcvttpd2uqq_zmm_k1z_zmmm512b64_sae;
                self.unsigned_of(Code::VEX_Vmaxpd_ymm_ymm_ymmm256, code, target, x);
            }
            _ => return false,
        }
        true
    }

    /// Numbers of 8 bytes, or those of 4 that they were widened from.
    fn doubles_of(&mut self, widened: [Opcode; 2], codes: [Code; 2], target: VReg, x: ir::Value) {
        for (opcode, upper) in widened.into_iter().zip([false, true]) {
            if let Some(&[narrow]) = self.defined_by(x, opcode)
                && self.type_of(narrow).lane_type() == types::I32
            {
                let half = self.half(narrow, upper);
                self.emit(codes[1], &[Arg::Def(target), half]);
                return;
            }
        }
        self.one(codes[0], target, x);
    }

    /// Truncates to unsigned integers; the instruction saturates large numbers.
    fn unsigned_of(&mut self, greatest: Code, code: Code, target: VReg, x: ir::Value) {
        let (x, zeros) = (self.fetch(x), self.some_zeros());
        // For a number and a NaN, the instruction returns the second operand.
        let positive = self.compute(greatest, &[x, Arg::Use(zeros)]);
        self.emit(code, &[Arg::Def(target), Arg::Use(positive)]);
    }
}

/// Any function of three bits, in lanes of 4 and of 8 bytes, which only a mask tells apart.
const TERNARY: [Code; 2] =
    [Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, Code::EVEX_Vpternlogq_zmm_k1z_zmm_zmmm512b64_imm8];

/// The number of a comparison of integers in its instruction.
fn order(condition: IntCC) -> i64 {
    match condition {
        IntCC::Equal => 0,
        IntCC::SignedLessThan | IntCC::UnsignedLessThan => 1,
        IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => 2,
        IntCC::NotEqual => 4,
        IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => 5,
        IntCC::SignedGreaterThan | IntCC::UnsignedGreaterThan => 6,
    }
}
