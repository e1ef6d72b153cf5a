//! Looks whether the run should end, between the iterations of loops.
//!
//! ```text
//! begin ──▶ turn: the body ──go on?──▶ left -= the instructions of the body ──left > 0──▶ turn
//!   ▲                         └──────▶ exit                     └─────▶ look: the host ──────▶ begin
//!   └──────────────────────────────────────────────────────────────────────────┴──due──▶ the end of the kernel
//! ```
//!
//! A call leaves no vector register as it was. So it is in a loop around the one with the body, which keeps its values in registers.
//! Every loop has this form, whatever it is for: what one iteration does is all that a run waits for.

use super::Generator;
use crate::emit::Val;
use crate::failure::LOOK;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, BlockArg, InstBuilder, types};
use cranelift_frontend::{FunctionBuilder, Variable};

/// The instructions for which a call of the host counts, besides what it does for each element.
pub(super) const CALL: usize = 1 << 11;

/// Those of a search for one element.
pub(super) const SEARCHED: usize = 1 << 8;

/// Those of an element that is sorted, and of one that is compared with the best, as powers of two.
pub(super) const SORTED: u32 = 5;
pub(super) const COMPARED: u32 = 4;

/// The elements of a row of which the best are found by one call. Even where each of them is better than all before, it takes
/// milliseconds.
pub(super) const BEST_AT_ONCE: i64 = 1 << 14;

/// The state of code that looks.
pub(super) struct Polls {
    /// The instructions until the next look, and those between two looks.
    left: Variable,
    all: i64,
    /// The end of the kernel.
    end: Block,
    /// The instructions for which calls count.
    called: usize,
    /// The instructions of all loops that have been emitted.
    counted: usize,
}

impl Polls {
    pub(super) fn new(builder: &mut FunctionBuilder<'_>, all: u32) -> Polls {
        let left = builder.declare_var(types::I64);
        let at_first = builder.ins().iconst(types::I64, i64::from(all));
        builder.def_var(left, at_first);
        Polls { left, all: all.into(), end: builder.create_block(), called: 0, counted: 0 }
    }
}

/// The blocks of a loop.
pub(super) struct Turns {
    /// The first block of the body.
    pub(super) turn: Block,
    /// The block that begins it, also after a look; the same one in code that does not look.
    pub(super) begin: Block,
    /// The instructions before its body.
    before: usize,
}

impl Generator<'_, '_, '_> {
    /// Returns the blocks of a loop that carries so many integers and these values.
    pub(super) fn turns(&mut self, integers: usize, carried: &[Val]) -> Turns {
        let turn = self.block_for(integers, carried);
        let begin = if self.polls.is_some() { self.block_for(integers, carried) } else { turn };
        Turns { turn, begin, before: 0 }
    }

    /// Begins the body of a loop.
    pub(super) fn begin_turns(&mut self, turns: &mut Turns) {
        if self.polls.is_some() {
            self.emit.builder.switch_to_block(turns.begin);
            let passed = self.passed(turns.begin);
            self.ins().jump(turns.turn, &passed);
        }
        self.emit.builder.switch_to_block(turns.turn);
        turns.before = self.uncounted();
    }

    /// Ends the body of a loop: it begins again with these arguments if `go` holds, and goes to the exit otherwise.
    pub(super) fn turn_again(
        &mut self,
        turns: &Turns,
        go: ir::Value,
        again: &[BlockArg],
        (exit, passed): (Block, &[BlockArg]),
    ) {
        let Some(Polls { left, all, end, .. }) = self.polls else {
            self.ins().brif(go, turns.turn, again, exit, passed);
            return;
        };
        let cost = (self.uncounted() - turns.before) as i64;
        let latch = self.emit.builder.create_block();
        self.ins().brif(go, latch, &[], exit, passed);
        self.emit.builder.switch_to_block(latch);
        let before = self.emit.builder.use_var(left);
        let after = self.ins().iadd_imm_s(before, -cost);
        self.emit.builder.def_var(left, after);
        let is_left = self.ins().icmp_imm_s(IntCC::SignedGreaterThan, after, 0);
        let look = self.block_like(turns.begin);
        self.emit.builder.set_cold_block(look);
        self.ins().brif(is_left, turns.turn, again, look, again);
        self.emit.builder.switch_to_block(look);
        let watch = self.watch;
        let call = self.call_host_for(LOOK.address(), &[watch], &[types::I64]);
        let is_due = self.emit.builder.inst_results(call)[0];
        let all = self.constant(all);
        self.emit.builder.def_var(left, all);
        let passed = self.passed(look);
        self.ins().brif(is_due, end, &[], turns.begin, &passed);
        let of_loop = self.uncounted() - turns.before;
        if let Some(polls) = &mut self.polls {
            polls.counted += of_loop;
        }
    }

    /// Lets code that looks end here.
    pub(super) fn end_polls(&mut self) {
        if let Some(Polls { end, .. }) = self.polls {
            self.ins().jump(end, &[]);
            self.emit.builder.switch_to_block(end);
        }
    }

    /// Counts what a call does as so many instructions.
    pub(super) fn weigh(&mut self, instructions: usize) {
        if let Some(polls) = &mut self.polls {
            polls.called += instructions;
        }
    }

    /// Counts what a call has done for each of some elements: a power of two of instructions.
    pub(super) fn spend(&mut self, elements: ir::Value, of_element: u32) {
        if let Some(Polls { left, .. }) = self.polls {
            let spent = self.ins().ishl_imm_u(elements, i64::from(of_element));
            let before = self.emit.builder.use_var(left);
            let after = self.ins().isub(before, spent);
            self.emit.builder.def_var(left, after);
        }
    }

    /// Returns the number of instructions outside the loops that have been emitted.
    fn uncounted(&self) -> usize {
        let instructions = self.emit.builder.func.dfg.num_insts();
        self.polls.as_ref().map_or(0, |polls| instructions + polls.called - polls.counted)
    }

    /// Returns the parameters of a block as arguments.
    fn passed(&self, block: Block) -> Vec<BlockArg> {
        self.emit.builder.block_params(block).iter().map(|param| BlockArg::Value(*param)).collect()
    }

    /// Creates a block with the parameters of another.
    fn block_like(&mut self, block: Block) -> Block {
        let builder = &mut *self.emit.builder;
        let types: Vec<ir::Type> =
            builder.block_params(block).iter().map(|param| builder.func.dfg.value_type(*param)).collect();
        let like = builder.create_block();
        for ty in types {
            builder.append_block_param(like, ty);
        }
        like
    }
}
