//! Truth values in vectors: masks, their widths, and what they select.

use super::value::{Regs, width_of};
use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, types};

impl Emitter<'_, '_> {
    /// Elements of `t` where `c` holds, else of `f`.
    pub(crate) fn select(&mut self, c: &Val, t: &Val, f: &Val) -> Val {
        let lanes = c.lanes.max(t.lanes).max(f.lanes);
        if lanes == 1 {
            let chosen = self.builder.ins().select(c.regs[0], t.regs[0], f.regs[0]);
            return Val::scalar(t.dtype, chosen);
        }
        let (c, t, f) = if t.dtype == DType::Bool {
            let masks = self.spread(&[c.clone(), t.clone(), f.clone()]);
            (masks[0].clone(), masks[1].clone(), masks[2].clone())
        } else {
            (self.widen_mask(c, lanes, width_of(t.dtype)), self.splat(t, lanes), self.splat(f, lanes))
        };
        let regs: Regs = (0..c.regs.len()).map(|at| self.blend(c.regs[at], t.regs[at], f.regs[at])).collect();
        t.with_regs(regs)
    }

    /// Lanes of `t` where the mask is set, else of `f`; `t` and `f` of one type with lanes as wide as the mask's.
    ///
    /// Cranelift makes one blend of a `bitselect` only where it sees the comparison, and one minimum or maximum where
    /// it sees a comparison of the very floats; `blendv` is one blend on x86-64 for any mask.
    fn blend(&mut self, mask: ir::Value, t: ir::Value, f: ir::Value) -> ir::Value {
        let dfg = &self.builder.func.dfg;
        let ty = dfg.value_type(t);
        let opcode = dfg.value_def(mask).inst().map(|inst| dfg.insts[inst].opcode());
        if opcode == Some(Opcode::Fcmp) && ty.lane_type().is_float() {
            let mask = self.bitcast(ty, mask);
            return self.builder.ins().bitselect(mask, t, f);
        }
        let mask_type = dfg.value_type(mask);
        let (t, f) = (self.bitcast(mask_type, t), self.bitcast(mask_type, f));
        let compared = matches!(opcode, Some(Opcode::Fcmp | Opcode::Icmp));
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
        let regs = match (x.width, width) {
            (1, 4) => self.widen_bytes(x.regs[0], x.lanes, true),
            (1, 8) => {
                let words = self.widen_bytes(x.regs[0], x.lanes, true);
                self.widen_words(&words)
            }
            (4, 8) => self.widen_words(&x.regs),
            (8, 4) => self.narrow_words(&x.regs),
            (4, 1) => self.narrow_bytes(&x.regs, true),
            (8, 1) => {
                let words = self.narrow_words(&x.regs);
                self.narrow_bytes(&words, true)
            }
            _ => return x.clone(),
        };
        Val::mask(x.lanes, width, regs)
    }

    /// A mask as bytes 0 and 1, as bools are in memory.
    pub(super) fn bytes_of_mask(&mut self, x: &Val) -> Val {
        let mask = self.resize_mask(x, 1);
        let ones = self.splat_bits(types::I8X16, 1);
        let bytes = self.map(&mask, |builder, reg| builder.ins().band(reg, ones));
        Val::vector(DType::U8, x.lanes, bytes.regs)
    }

    /// Bytes to words of 4, with sign or zeros.
    pub(super) fn widen_bytes(&mut self, reg: ir::Value, lanes: usize, signed: bool) -> Regs {
        let mut words = Regs::new();
        for high in [false, true].into_iter().take(lanes.div_ceil(8)) {
            let half = self.widen_half(reg, high, signed);
            words.push(self.widen_half(half, false, signed));
            if lanes > 4 {
                words.push(self.widen_half(half, true, signed));
            }
        }
        words
    }

    /// Half of the lanes of a register, twice as wide.
    fn widen_half(&mut self, reg: ir::Value, high: bool, signed: bool) -> ir::Value {
        let ins = self.builder.ins();
        match (signed, high) {
            (true, false) => ins.swiden_low(reg),
            (true, true) => ins.swiden_high(reg),
            (false, false) => ins.uwiden_low(reg),
            (false, true) => ins.uwiden_high(reg),
        }
    }

    /// Words of 4 bytes to 8, with sign.
    pub(super) fn widen_words(&mut self, regs: &[ir::Value]) -> Regs {
        let mut wide = Regs::new();
        for reg in regs {
            wide.push(self.builder.ins().swiden_low(*reg));
            wide.push(self.builder.ins().swiden_high(*reg));
        }
        wide
    }

    /// Words of 8 bytes to 4, by their low halves.
    pub(super) fn narrow_words(&mut self, regs: &[ir::Value]) -> Regs {
        let mut narrow = Regs::new();
        for pair in regs.chunks(2) {
            let reg = self.shuffle_words(pair[0], pair[pair.len() - 1], [0, 2, 4, 6]);
            narrow.push(self.bitcast(types::I32X4, reg));
        }
        narrow
    }

    /// Words of 4 bytes to single bytes, saturating to i8 or to u8.
    pub(super) fn narrow_bytes(&mut self, regs: &[ir::Value], signed: bool) -> Regs {
        let mut halves = Regs::new();
        for pair in regs.chunks(2) {
            halves.push(self.builder.ins().snarrow(pair[0], pair[pair.len() - 1]));
        }
        let (low, high) = (halves[0], halves[halves.len() - 1]);
        let ins = self.builder.ins();
        Regs::from_slice(&[if signed { ins.snarrow(low, high) } else { ins.unarrow(low, high) }])
    }
}
