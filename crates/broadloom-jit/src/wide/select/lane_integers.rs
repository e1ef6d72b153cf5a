//! Integers in the lanes of vectors.

use super::*;
use Has::{Both, No, Zmm};

/// Whether there is an instruction, and for which registers.
#[derive(Clone, Copy)]
pub(super) enum Has {
    No,
    /// For both widths, named as for 32 bytes.
    Both(Code),
    /// Only for 64 bytes.
    Zmm(Code),
}

/// Encodings for lanes of 1, 2, 4 and 8 bytes.
pub(super) type BySize = [Has; 4];

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
pub(super) const ADD: BySize = [
    Both(Code::VEX_Vpaddb_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddw_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddd_ymm_ymm_ymmm256),
    Both(Code::VEX_Vpaddq_ymm_ymm_ymmm256),
];
pub(super) const SUBTRACT: BySize = [
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
pub(super) const MAGNITUDE: BySize = [
    Both(Code::VEX_Vpabsb_ymm_ymmm256),
    Both(Code::VEX_Vpabsw_ymm_ymmm256),
    Both(Code::VEX_Vpabsd_ymm_ymmm256),
    Zmm(Code::EVEX_Vpabsq_zmm_k1z_zmmm512b64),
];
/// Of CPUs that [count bits](broadloom_math::counts_bits).
pub(super) const BIT_COUNTS: BySize = [
    Zmm(Code::EVEX_Vpopcntb_zmm_k1z_zmmm512),
    Zmm(Code::EVEX_Vpopcntw_zmm_k1z_zmmm512),
    Zmm(Code::EVEX_Vpopcntd_zmm_k1z_zmmm512b32),
    Zmm(Code::EVEX_Vpopcntq_zmm_k1z_zmmm512b64),
];
pub(super) const LEADING_ZEROS: BySize =
    [No, No, Zmm(Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32), Zmm(Code::EVEX_Vplzcntq_zmm_k1z_zmmm512b64)];
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

impl Selector<'_> {
    pub(super) fn by_size(&self, lane: Type, codes: BySize) -> Option<Code> {
        match codes.get(lane.bytes().trailing_zeros() as usize)? {
            No => None,
            Both(code) => Some(*code),
            Zmm(code) => (self.width == Width::Zmm).then_some(*code),
        }
    }

    /// The low halves of 8-byte products: the product of the low halves, plus the mixed products shifted up.
    pub(super) fn multiply_quadwords(&mut self, target: VReg, x: ir::Value, y: ir::Value) {
        let [x, y] = if self.is_low(x) { [y, x] } else { [x, y] };
        let is_low = self.is_low(y);
        let [x, y] = [x, y].map(|value| Arg::Use(self.get(value)));
        let product = Code::VEX_Vpmuludq_ymm_ymm_ymmm256;
        let low = Arg::Use(self.compute(product, &[x, y]));
        if is_low {
            let upper = self.upper_half(x);
            let mixed = Arg::Use(self.compute(product, &[upper, y]));
            let moved = Arg::Use(self.compute(Code::VEX_Vpsllq_ymm_ymm_imm8, &[mixed, Arg::Immediate(32)]));
            self.emit(Code::VEX_Vpaddq_ymm_ymm_ymmm256, &[Arg::Def(target), low, moved]);
            return;
        }
        // Swap the halves of y, so that one 4-byte product gives both mixed products.
        let swapped = Arg::Use(self.compute(Code::VEX_Vpshufd_ymm_ymmm256_imm8, &[y, Arg::Immediate(0xb1)]));
        let mixed = Arg::Use(self.compute(Code::VEX_Vpmulld_ymm_ymm_ymmm256, &[x, swapped]));
        let moved = Arg::Use(self.compute(Code::VEX_Vpsllq_ymm_ymm_imm8, &[mixed, Arg::Immediate(32)]));
        let sum = Arg::Use(self.compute(Code::VEX_Vpaddd_ymm_ymm_ymmm256, &[mixed, moved]));
        let upper = self.lanes_constant(&0xffff_ffff_0000_0000_u64.to_le_bytes());
        let high = Arg::Use(self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[sum, upper]));
        self.emit(Code::VEX_Vpaddq_ymm_ymm_ymmm256, &[Arg::Def(target), low, high]);
    }

    /// Whether the upper halves of 8-byte lanes are known to be zero.
    fn is_low(&self, value: ir::Value) -> bool {
        self.constant_lane(value).is_some_and(|lane| lane.iter().skip(4).all(|byte| *byte == 0))
    }

    /// The upper halves of 8-byte lanes.
    fn upper_half(&mut self, x: Arg) -> Arg {
        Arg::Use(self.compute(Code::VEX_Vpsrlq_ymm_ymm_imm8, &[x, Arg::Immediate(32)]))
    }

    /// The upper halves of unsigned 8-byte products, from the four products of their halves.
    pub(super) fn upper_products(&mut self, target: VReg, x: ir::Value, y: ir::Value) {
        let [product, add] = [Code::VEX_Vpmuludq_ymm_ymm_ymmm256, Code::VEX_Vpaddq_ymm_ymm_ymmm256];
        let [x, y] = [x, y].map(|value| Arg::Use(self.get(value)));
        let [x_upper, y_upper] = [x, y].map(|arg| self.upper_half(arg));
        let mut compute = |code, args: [Arg; 2]| Arg::Use(self.compute(code, &args));
        let low = compute(product, [x, y]);
        let [first, second] = [compute(product, [x_upper, y]), compute(product, [x, y_upper])];
        let high = compute(product, [x_upper, y_upper]);
        let carried = self.upper_half(low);
        let first = Arg::Use(self.compute(add, &[first, carried]));
        let lower = self.lanes_constant(&0xffff_ffff_u64.to_le_bytes());
        let carried = Arg::Use(self.compute(Code::VEX_Vpand_ymm_ymm_ymmm256, &[first, lower]));
        let second = Arg::Use(self.compute(add, &[second, carried]));
        let [first, second] = [first, second].map(|arg| self.upper_half(arg));
        let sum = Arg::Use(self.compute(add, &[high, first]));
        self.emit(add, &[Arg::Def(target), sum, second]);
    }

    pub(super) fn extreme_lanes(
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
    pub(super) fn without_sign(&mut self, lane: Type, reg: VReg) -> VReg {
        let bytes = lane.bytes() as usize;
        let mut sign = vec![0; bytes];
        sign[bytes - 1] = 0x80;
        let sign = self.lanes_constant(&sign);
        self.compute(Code::VEX_Vpxor_ymm_ymm_ymmm256, &[Arg::Use(reg), sign])
    }

    /// The set bits of each byte, by looking up its halves.
    pub(super) fn count_bits(&mut self, target: VReg, x: ir::Value) {
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
    pub(super) fn shift_lanes(
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

    pub(super) fn compare_lanes(
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
}
