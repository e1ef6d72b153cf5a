//! Elementary functions in lanes: the operations of their definitions, in the same order, so with the same bits.

use super::value::Regs;
use super::{Emitter, Val};
use crate::notes::Note;
use broadloom_ir::ops::Op;
use broadloom_math::{Program, Step, program};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{self, InstBuilder, Type, types};
use smallvec::SmallVec;

/// The number of registers that go through a program at once: the steps of one wait for each other, and several need
/// more registers than there are.
const INTERLEAVED: usize = 2;

impl Emitter<'_, '_> {
    /// Applies an elementary function: its operations if they are known, else a call for each lane.
    pub(super) fn function(&mut self, op: Op, args: &[Val]) -> Val {
        let tile = op.tile(args[0].dtype);
        match tile.and_then(|(function, precision)| program(function, precision, self.fused)) {
            Some(program) => {
                self.note(Note::Inlined(op, args[0].dtype));
                self.inlined(program, args)
            }
            None => self.call_row(op, args),
        }
    }

    /// Runs a program on values of one shape. A scalar goes through it in the first lane of a register.
    fn inlined(&mut self, program: &Program, args: &[Val]) -> Val {
        let like = &args[0];
        let lanes = Lanes {
            floats: self.host.vector_type(like.dtype, like.width),
            bits: self.host.mask_type(like.width),
        };
        if like.lanes == 1 {
            let scalars =
                args.iter().map(|arg| self.builder.ins().scalar_to_vector(lanes.floats, arg.regs[0]));
            let args: SmallVec<[ir::Value; 2]> = scalars.collect();
            let result = self.run(program, lanes, 1, |position, _| args[position])[0];
            return Val::scalar(like.dtype, self.builder.ins().extractlane(result, 0u8));
        }
        let mut results = Regs::new();
        for first in (0..like.regs.len()).step_by(INTERLEAVED) {
            let count = INTERLEAVED.min(like.regs.len() - first);
            let arg = |position: usize, reg| args[position].regs[first + reg];
            results.extend(self.run(program, lanes, count, arg));
        }
        like.with_regs(results)
    }

    /// Runs a program on some registers of each argument, step by step.
    fn run(
        &mut self,
        program: &Program,
        lanes: Lanes,
        count: usize,
        arg: impl Fn(usize, usize) -> ir::Value,
    ) -> Regs {
        let mut steps: Vec<Regs> = Vec::with_capacity(program.steps().len());
        for step in program.steps() {
            let regs = (0..count)
                .map(|reg| self.step(*step, lanes, |position| arg(position, reg), |at| steps[at][reg]))
                .collect();
            steps.push(regs);
        }
        steps.pop().unwrap_or_default()
    }

    /// A register with the float of these bits in every lane.
    fn splat_of_bits(&mut self, ty: Type, bits: u64) -> ir::Value {
        let lane = match ty.lane_type() {
            types::F32 => self.builder.ins().f32const(Ieee32::with_bits(bits as u32)),
            _ => self.builder.ins().f64const(Ieee64::with_bits(bits)),
        };
        self.builder.ins().splat(ty, lane)
    }

    /// A step on one register of each operand.
    fn step(
        &mut self,
        step: Step,
        lanes: Lanes,
        arg: impl Fn(usize) -> ir::Value,
        of: impl Fn(usize) -> ir::Value,
    ) -> ir::Value {
        match step {
            Step::Argument(position) => arg(position),
            Step::Constant(bits) => self.splat_of_bits(lanes.floats, bits),
            Step::Add(x, y) => self.builder.ins().fadd(of(x), of(y)),
            Step::Subtract(x, y) => self.builder.ins().fsub(of(x), of(y)),
            Step::Multiply(x, y) => self.builder.ins().fmul(of(x), of(y)),
            Step::Divide(x, y) => self.builder.ins().fdiv(of(x), of(y)),
            Step::Fma(x, y, z) => self.builder.ins().fma(of(x), of(y), of(z)),
            Step::Negative(x) => self.builder.ins().fneg(of(x)),
            Step::Sqrt(x) => self.builder.ins().sqrt(of(x)),
            Step::And(x, y) => self.builder.ins().band(of(x), of(y)),
            Step::Or(x, y) => self.builder.ins().bor(of(x), of(y)),
            Step::Xor(x, y) => self.builder.ins().bxor(of(x), of(y)),
            Step::PlusBits(x, y) => {
                let [x, y] = [x, y].map(|at| self.bitcast(lanes.bits, of(at)));
                let sum = self.builder.ins().iadd(x, y);
                self.bitcast(lanes.floats, sum)
            }
            Step::MinusBits(x, y) => {
                let [x, y] = [x, y].map(|at| self.bitcast(lanes.bits, of(at)));
                let difference = self.builder.ins().isub(x, y);
                self.bitcast(lanes.floats, difference)
            }
            Step::ShiftLeft(x, by) => {
                let x = self.bitcast(lanes.bits, of(x));
                let moved = self.builder.ins().ishl_imm_u(x, i64::from(by));
                self.bitcast(lanes.floats, moved)
            }
            Step::ShiftRight(x, by) => {
                let x = self.bitcast(lanes.bits, of(x));
                let moved = self.builder.ins().ushr_imm_u(x, i64::from(by));
                self.bitcast(lanes.floats, moved)
            }
            Step::Less(x, y) => self.builder.ins().fcmp(FloatCC::LessThan, of(x), of(y)),
            Step::LessEqual(x, y) => self.builder.ins().fcmp(FloatCC::LessThanOrEqual, of(x), of(y)),
            Step::Equal(x, y) => self.builder.ins().fcmp(FloatCC::Equal, of(x), of(y)),
            Step::Unordered(x) => self.builder.ins().fcmp(FloatCC::Unordered, of(x), of(x)),
            Step::HasSign(x) => {
                let x = self.bitcast(lanes.bits, of(x));
                let zero = self.splat_bits(lanes.bits, 0);
                self.builder.ins().icmp(IntCC::SignedLessThan, x, zero)
            }
            Step::Both(x, y) => self.builder.ins().band(of(x), of(y)),
            Step::Either(x, y) => self.builder.ins().bor(of(x), of(y)),
            Step::Not(x) => self.builder.ins().bnot(of(x)),
            Step::Select(condition, x, y) => self.blend(of(condition), of(x), of(y)),
        }
    }
}

/// The types of registers of floats, and of their bits.
#[derive(Clone, Copy)]
struct Lanes {
    floats: Type,
    bits: Type,
}
