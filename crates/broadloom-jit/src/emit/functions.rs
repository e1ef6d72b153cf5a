//! Elementary functions in lanes: the operations of their definitions, in the same order, so with the same bits.

use super::value::Regs;
use super::{Emitter, Intrinsic, Val};
use crate::notes::Note;
use crate::thresholds::INTERLEAVED;
use broadloom_ir::ops::Op;
use broadloom_math::{Step, Trace, tile_function, trace};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{self, InstBuilder, Type, types};
use smallvec::SmallVec;

impl Emitter<'_, '_> {
    /// Applies an elementary function: its operations if they are known, else a call for each lane. Only the wide back
    /// end computes rare lanes apart.
    pub(super) fn function(&mut self, op: Op, args: &[Val]) -> Val {
        let inlined = op.tile(args[0].dtype).and_then(|(function, precision)| {
            let trace = trace(function, precision, self.level.is_fused())?;
            let tile =
                trace.rare().map(|at| (at, tile_function(function, precision, self.level) as usize as i64));
            (tile.is_none() || self.host.is_wide()).then_some(Inlined { trace, tile })
        });
        match inlined {
            Some(inlined) => {
                self.note(Note::Inlined(op, args[0].dtype));
                self.inlined(inlined, args)
            }
            None => self.call_row(op, args),
        }
    }

    /// Runs a trace on values of one shape. A scalar goes through it in the first lane of a register.
    fn inlined(&mut self, function: Inlined, args: &[Val]) -> Val {
        let like = &args[0];
        let lanes = Lanes {
            floats: self.host.vector_type(like.dtype, like.width),
            bits: self.host.mask_type(like.width),
            in_use: like.lanes.min(self.host.per_register(like.width)),
        };
        if like.lanes == 1 {
            let scalars: SmallVec<[[ir::Value; 1]; 2]> = args
                .iter()
                .map(|arg| [self.builder.ins().scalar_to_vector(lanes.floats, arg.regs[0])])
                .collect();
            let args: SmallVec<[&[ir::Value]; 2]> = scalars.iter().map(|arg| &arg[..]).collect();
            let result = self.run(function, lanes, &args)[0];
            return Val::scalar(like.dtype, self.builder.ins().extractlane(result, 0u8));
        }
        let mut results = Regs::new();
        for first in (0..like.regs.len()).step_by(INTERLEAVED) {
            let end = like.regs.len().min(first + INTERLEAVED);
            let args: SmallVec<[&[ir::Value]; 2]> = args.iter().map(|arg| &arg.regs[first..end]).collect();
            results.extend(self.run(function, lanes, &args));
        }
        like.with_regs(results)
    }

    /// Runs a trace on some registers of each argument, step by step.
    fn run(&mut self, Inlined { trace, tile }: Inlined, lanes: Lanes, args: &[&[ir::Value]]) -> Regs {
        let count = args[0].len();
        let mut steps: Vec<Regs> = Vec::with_capacity(trace.steps().len());
        for step in trace.steps() {
            let regs = (0..count)
                .map(|reg| self.step(*step, lanes, |position| args[position][reg], |at| steps[at][reg]))
                .collect();
            steps.push(regs);
        }
        let results = steps[trace.result()].clone();
        let Some((rare, address)) = tile else { return results };
        let address = self.builder.ins().iconst(types::I64, address);
        let in_rare_lanes = |(reg, result): (usize, &ir::Value)| {
            let mask = self.where_in_use(steps[rare][reg], lanes);
            let mut operands: SmallVec<[ir::Value; 5]> = SmallVec::from_slice(&[*result, mask, address]);
            operands.extend(args.iter().map(|arg| arg[reg]));
            self.intrinsic(Intrinsic::Tile, &operands, lanes.floats)
        };
        results.iter().enumerate().map(in_rare_lanes).collect()
    }

    /// A mask without the lanes that are not in use: whatever they contain, it is no reason for a call.
    fn where_in_use(&mut self, mask: ir::Value, lanes: Lanes) -> ir::Value {
        let used = lanes.in_use * lanes.bits.lane_type().bytes() as usize;
        if used == self.host.vector_bytes {
            return mask;
        }
        let bytes: Vec<u8> = (0..self.host.vector_bytes).map(|at| if at < used { 0xff } else { 0 }).collect();
        let in_use = self.vector_constant(lanes.bits, bytes.into());
        self.builder.ins().band(mask, in_use)
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
            Step::Scaled(x, n, _) if self.host.has_avx512() => {
                self.intrinsic(Intrinsic::Scaled, &[of(x), of(n)], lanes.floats)
            }
            Step::Scaled(_, _, product) => of(product),
        }
    }
}

/// A function whose operations are known.
#[derive(Clone, Copy)]
struct Inlined {
    trace: &'static Trace,
    /// For rare lanes, the step that finds them and the address of the tile function that computes them.
    tile: Option<(usize, i64)>,
}

/// The types of registers of floats, and of their bits, and the number of lanes in use.
#[derive(Clone, Copy)]
struct Lanes {
    floats: Type,
    bits: Type,
    in_use: usize,
}
