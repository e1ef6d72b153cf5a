//! The steps of reductions.

use super::{Emitter, Val};
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{LANES, ReduceOp};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// One step of an accumulator of a dtype: combines `acc` with `x`, in this order.
    pub(crate) fn accumulate(&mut self, op: ReduceOp, dtype: DType, acc: &Val, x: &Val) -> Val {
        debug_assert!(acc.dtype == dtype && x.dtype == dtype);
        self.op(op.combine(), &[acc.clone(), x.clone()])
    }

    /// One step of a count, in an integer dtype: `acc`, and one more where `x` holds.
    pub(crate) fn count(&mut self, acc: &Val, x: &Val) -> Val {
        let x = self.splat(x, acc.lanes);
        if !x.is_mask() {
            let one = self.cast(&x, acc.dtype);
            return self.op(Op::Add, &[acc.clone(), one]);
        }
        // All ones are -1.
        let mask = self.resize_mask(&x, acc.width);
        self.zip(acc, &mask, |builder, acc, mask| builder.ins().isub(acc, mask))
    }

    /// One step of a sum of products: rounded once if the level is fused.
    pub(crate) fn accumulate_product(&mut self, acc: &Val, x: &Val, y: &Val) -> Val {
        if self.level.is_fused() && acc.dtype.is_float() {
            return self.op(Op::Fma, &[x.clone(), y.clone(), acc.clone()]);
        }
        let product = self.op(Op::Multiply, &[x.clone(), y.clone()]);
        self.op(Op::Add, &[acc.clone(), product])
    }

    /// Whether a candidate replaces the best so far: it is strictly better, or the first NaN.
    pub(crate) fn better(&mut self, op: ReduceOp, candidate: &Val, best: &Val) -> Val {
        let args = self.spread(&[candidate.clone(), best.clone()]);
        let (candidate, best) = (&args[0], &args[1]);
        let (low, high) = match op.beats() {
            Some(Op::Greater) => (best, candidate),
            _ => (candidate, best),
        };
        if !best.dtype.is_float() {
            return self.compare(IntCC::SignedLessThan, FloatCC::LessThan, low, high);
        }
        // "Not at most as good" also holds for a NaN, and is one instruction on every target; "better or unordered"
        // is not.
        let at_most = self.compare(IntCC::SignedLessThanOrEqual, FloatCC::LessThanOrEqual, high, low);
        let best_is_number = self.compare(IntCC::Equal, FloatCC::Equal, best, best);
        self.zip(&best_is_number, &at_most, |builder, number, at_most| {
            let better = builder.ins().bnot(at_most);
            builder.ins().band(number, better)
        })
    }

    /// Whether a candidate from another part replaces the best: it is better, or equally good with a lower index.
    pub(crate) fn better_or_tied(
        &mut self,
        op: ReduceOp,
        candidate: &Val,
        candidate_index: &Val,
        best: &Val,
        best_index: &Val,
    ) -> Val {
        let better = self.better(op, candidate, best);
        let worse = self.better(op, best, candidate);
        let lower = self.op(Op::Less, &[candidate_index.clone(), best_index.clone()]);
        // Neither is better: both are equal, or both NaN.
        let not_worse = self.op(Op::LogicalNot, &[worse]);
        let tied = self.op(Op::LogicalAnd, &[not_worse, lower]);
        self.op(Op::LogicalOr, &[better, tied])
    }

    /// The lanes of a block combined by halves: l with l+8, then l+4, l+2 and l+1, the lower lane on the left.
    pub(crate) fn fold_halves(&mut self, op: ReduceOp, x: &Val) -> Val {
        debug_assert_eq!(x.lanes, LANES);
        let mut folded = x.clone();
        while folded.lanes > 4 {
            let half = folded.lanes / 2;
            let low = self.lanes_slice(&folded, 0, half);
            let high = self.lanes_slice(&folded, half, half);
            folded = self.accumulate(op, folded.dtype, &low, &high);
        }
        if folded.width < 4 || folded.dtype == DType::Bool {
            let mut lanes: SmallVec<[Val; 4]> = (0..4).map(|index| self.lane(&folded, index)).collect();
            for half in [2, 1] {
                for index in 0..half {
                    lanes[index] = self.accumulate(op, folded.dtype, &lanes[index], &lanes[index + half]);
                }
            }
            return lanes[0].clone();
        }
        // Within one register: move the upper part down and ignore what stays above.
        for distance in [2, 1] {
            let registers = folded.regs.len();
            let other = if registers > 1 {
                let upper = folded.with_regs([folded.regs[1]]);
                folded = folded.with_regs([folded.regs[0]]);
                upper
            } else {
                let words = distance * usize::from(folded.width) / 4;
                let moved = self.words_from(folded.regs[0], words);
                folded.with_regs([moved])
            };
            folded = self.accumulate(op, folded.dtype, &folded, &other);
        }
        self.lane(&folded, 0)
    }
}
