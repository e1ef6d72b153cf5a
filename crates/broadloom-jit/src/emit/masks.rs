//! Truth values in vectors: masks, their widths, and selects.

use super::intrinsics::Intrinsic;
use super::value::{Regs, width_of};
use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode, types};

impl Emitter<'_, '_> {
    /// Elements of `t` where `c` holds, else of `f`.
    pub(crate) fn select(&mut self, c: &Val, t: &Val, f: &Val) -> Val {
        let lanes = c.lanes.max(t.lanes).max(f.lanes);
        if lanes == 1 {
            let chosen = self.builder.ins().select(c.regs[0], t.regs[0], f.regs[0]);
            return Val::scalar(t.dtype, chosen);
        }
        let is_zero = t.dtype != DType::Bool && self.is_zero(f);
        let (c, t, f) = if t.dtype == DType::Bool {
            let masks = self.spread(&[c.clone(), t.clone(), f.clone()]);
            (masks[0].clone(), masks[1].clone(), masks[2].clone())
        } else {
            (self.widen_mask(c, lanes, width_of(t.dtype)), self.splat(t, lanes), self.splat(f, lanes))
        };
        let choose = |at| match is_zero {
            true => self.masked(c.regs[at], t.regs[at]),
            false => self.blend(c.regs[at], t.regs[at], f.regs[at]),
        };
        let regs: Regs = (0..c.regs.len()).map(choose).collect();
        t.with_regs(regs)
    }

    /// Whether all bits of a scalar are known to be zero.
    fn is_zero(&self, x: &Val) -> bool {
        let dfg = &self.builder.func.dfg;
        let definition = dfg.value_def(x.regs[0]).inst().map(|inst| dfg.insts[inst]);
        match definition {
            Some(InstructionData::UnaryImm { imm, .. }) => imm.bits() == 0,
            Some(InstructionData::UnaryIeee32 { imm, .. }) => imm.bits() == 0,
            Some(InstructionData::UnaryIeee64 { imm, .. }) => imm.bits() == 0,
            _ => false,
        }
    }

    /// Lanes where the mask is set, else zero.
    fn masked(&mut self, mask: ir::Value, lanes: ir::Value) -> ir::Value {
        let ty = self.builder.func.dfg.value_type(lanes);
        let mask = self.bitcast(ty, mask);
        self.builder.ins().band(mask, lanes)
    }

    /// Lanes of `t` where the mask is set, else of `f`; `t` and `f` of one type with lanes as wide as the mask's.
    ///
    /// Cranelift turns a `bitselect` into one blend only if it sees the comparison, and into one minimum or maximum
    /// if the comparison is of the same floats; `blendv` is one blend on x86-64 for any mask.
    pub(super) fn blend(&mut self, mask: ir::Value, t: ir::Value, f: ir::Value) -> ir::Value {
        let dfg = &self.builder.func.dfg;
        let ty = dfg.value_type(t);
        let opcode = dfg.value_def(mask).inst().map(|inst| dfg.insts[inst].opcode());
        if opcode == Some(Opcode::Fcmp) && ty.lane_type().is_float() {
            let mask = self.bitcast(ty, mask);
            return self.builder.ins().bitselect(mask, t, f);
        }
        let compared = matches!(opcode, Some(Opcode::Fcmp | Opcode::Icmp));
        let mask_type = match dfg.value_type(mask) {
            // There is no `blendv` of 2 bytes.
            ty if ty.lane_type() == types::I16 && !compared => self.host.vector_of(types::I8),
            ty => ty,
        };
        let mask = self.bitcast(mask_type, mask);
        let (t, f) = (self.bitcast(mask_type, t), self.bitcast(mask_type, f));
        let blended = if !compared && self.host.is_x64 && self.host.has_rounding {
            self.builder.ins().blendv(mask, t, f)
        } else {
            self.builder.ins().bitselect(mask, t, f)
        };
        self.bitcast(ty, blended)
    }

    /// A scalar bool or a mask as a mask of `lanes` of a width.
    pub(super) fn widen_mask(&mut self, x: &Val, lanes: usize, width: u8) -> Val {
        if x.lanes == lanes { self.resize_mask(x, width) } else { self.splat_mask(x, lanes, width) }
    }

    /// A mask with lanes of another width.
    pub(super) fn resize_mask(&mut self, x: &Val, width: u8) -> Val {
        let mut mask = x.clone();
        while mask.width < width {
            let regs = self.widen(&mask, true);
            mask = Val::mask(x.lanes, mask.width * 2, regs);
        }
        while mask.width > width {
            let regs = self.narrow(&mask, Narrowing::Signed);
            mask = Val::mask(x.lanes, mask.width / 2, regs);
        }
        mask
    }

    /// Integers in lanes twice as wide, sign- or zero-extended.
    pub(super) fn widen(&mut self, x: &Val, signed: bool) -> Regs {
        // CLIF cannot extend this many lanes.
        if self.host.is_wide() && self.host.per_register(x.width) > 16 {
            let ty = self.host.mask_type(x.width * 2);
            return self.halves(x, |emit, half| emit.intrinsic(Intrinsic::Widen { signed }, &[half], ty));
        }
        let mut wide = Regs::new();
        for index in 0..self.host.register_count(x.lanes, x.width * 2) {
            let (reg, high, ins) = (x.regs[index / 2], index % 2 == 1, self.builder.ins());
            wide.push(match (signed, high) {
                (true, false) => ins.swiden_low(reg),
                (true, true) => ins.swiden_high(reg),
                (false, false) => ins.uwiden_low(reg),
                (false, true) => ins.uwiden_high(reg),
            });
        }
        wide
    }

    /// Integers in lanes half as wide. From 8 bytes always the low halves, whatever `narrowing` says.
    pub(super) fn narrow(&mut self, x: &Val, narrowing: Narrowing) -> Regs {
        if x.width == 8 {
            return match self.host.has_avx512() {
                true => self.narrow_halves(x, Narrowing::Low),
                false => self.narrow_words(&x.regs),
            };
        }
        if narrowing == Narrowing::Low && self.host.has_avx512() {
            return self.narrow_halves(x, narrowing);
        }
        let (ty, low) = (self.host.mask_type(x.width), if x.width == 4 { 0xffff } else { 0xff });
        let (x, signed) = match narrowing {
            Narrowing::Signed => (x.clone(), true),
            Narrowing::Unsigned => (x.clone(), false),
            // Before SSE4.1, x86-64 narrows 4 bytes only with a sign.
            Narrowing::Low if x.width == 4 && !self.host.has_rounding => {
                let extended = self.map(x, |builder, reg| {
                    let high = builder.ins().ishl_imm_u(reg, 16);
                    builder.ins().sshr_imm_u(high, 16)
                });
                (extended, true)
            }
            Narrowing::Low => {
                let low = self.splat_bits(ty, low);
                (self.map(x, |builder, reg| builder.ins().band(reg, low)), false)
            }
        };
        // CLIF cannot narrow this many lanes.
        if self.host.is_wide() && self.host.per_register(x.width) > 8 {
            return self.narrow_halves(&x, if signed { Narrowing::Signed } else { Narrowing::Unsigned });
        }
        let mut narrow = Regs::new();
        for pair in x.regs.chunks(2) {
            let (low, high, ins) = (pair[0], pair[pair.len() - 1], self.builder.ins());
            narrow.push(if signed { ins.snarrow(low, high) } else { ins.unarrow(low, high) });
        }
        narrow
    }

    /// Integers in lanes half as wide; each register becomes half a register.
    fn narrow_halves(&mut self, x: &Val, narrowing: Narrowing) -> Regs {
        let ty = self.host.mask_type(x.width / 2);
        self.join_halves(x, ty, |emit, reg| emit.intrinsic(Intrinsic::Narrow(narrowing), &[reg], ty))
    }

    /// The lower halves of two wide registers in one, and the upper halves in another, so that shuffles within 16
    /// bytes make neighbours of the right words.
    fn interleave_halves(&mut self, low: ir::Value, high: ir::Value) -> (ir::Value, ir::Value) {
        let uppers = [low, high].map(|reg| self.upper_half(reg));
        (self.lower_halves(low, high), self.lower_halves(uppers[0], uppers[1]))
    }

    /// Words of 8 bytes to 4, by their low halves.
    fn narrow_words(&mut self, regs: &[ir::Value]) -> Regs {
        let ty = self.host.vector_of(types::I32);
        let mut narrow = Regs::new();
        for pair in regs.chunks(2) {
            let (low, high) = match *pair {
                [low, high] if self.host.is_wide() => self.interleave_halves(low, high),
                [low] if self.host.is_wide() => (low, self.upper_half(low)),
                _ => (pair[0], pair[pair.len() - 1]),
            };
            let reg = self.shuffle_words(low, high, [0, 2, 4, 6]);
            narrow.push(self.bitcast(ty, reg));
        }
        narrow
    }
}

/// The treatment of integers that do not fit half the width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrowing {
    /// Keep the low half.
    Low,
    /// Signed to signed, saturating.
    Signed,
    /// Signed to unsigned, saturating.
    Unsigned,
}

impl Narrowing {
    /// All of them, by number.
    pub(super) const ALL: [Narrowing; 3] = [Narrowing::Low, Narrowing::Signed, Narrowing::Unsigned];
}
