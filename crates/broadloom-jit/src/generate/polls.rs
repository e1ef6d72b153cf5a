//! Looks whether the run should end, between the iterations of loops.
//!
//! ```text
//! begin ──▶ turn: the body ──go on?──▶ left -= the instructions of the body ──left > 0──▶ turn
//!   ▲                         └──────▶ exit                     └─────▶ look: the host ──────▶ begin
//!   └──────────────────────────────────────────────────────────────────────────┴──due──▶ the end of the kernel
//! ```
//!
//! A call leaves no vector register as it was. So it is in a loop around the one with the body, and what that carries is stored before
//! the call and loaded after it: the allocator of registers would move it to the stack in each iteration. Every loop has this form,
//! whatever it is for, but those that are short by their nature and hot: loops in tiles of contractions, in blocks of the fixed tree and
//! along strips. What one iteration does is all that a run waits for.

use super::Generator;
use crate::emit::Val;
use crate::failure::LOOK;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    self, Block, BlockArg, InstBuilder, StackSlot, StackSlotData, StackSlotKind, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

/// The alignment of what loops carry, during a call.
const ALIGNMENT: u32 = 16;

/// The instructions for which a call of the host counts, besides what it does for each element.
pub(super) const CALL: usize = 1 << 11;

/// Those of all tiles of the strips of a contraction over a block: up to a millisecond.
pub(super) const TILES: usize = 1 << 16;

/// Those of a strip of running results, and of a few blocks of the fixed tree.
pub(super) const STRIP: usize = 1 << 12;

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
    /// Room for what any loop carries, during a call.
    carried: StackSlot,
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
        // As long as the longest needs, which is known at the end.
        let carried = StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 4);
        let carried = builder.create_sized_stack_slot(carried);
        Polls { left, all: all.into(), end: builder.create_block(), carried, called: 0, counted: 0 }
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
            let params = self.emit.builder.block_params(turns.begin).iter();
            let passed: Vec<BlockArg> = params.map(|param| BlockArg::Value(*param)).collect();
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
        let Some(Polls { left, all, end, carried, .. }) = self.polls else {
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
        let look = self.emit.builder.create_block();
        self.emit.builder.set_cold_block(look);
        self.ins().brif(is_left, turns.turn, again, look, &[]);
        self.emit.builder.switch_to_block(look);
        let (offsets, flags) = (self.offsets(again), self.emit.flags);
        for (value, offset) in &offsets {
            let room = self.ins().stack_addr(types::I64, carried, *offset);
            self.ins().store(flags, *value, room, 0);
        }
        let watch = self.watch;
        let call = self.call_host_for(LOOK.address(), &[watch], &[types::I64]);
        let is_due = self.emit.builder.inst_results(call)[0];
        let all = self.constant(all);
        self.emit.builder.def_var(left, all);
        let loaded = offsets.into_iter().map(|(value, offset)| {
            let ty = self.emit.builder.func.dfg.value_type(value);
            let room = self.ins().stack_addr(types::I64, carried, offset);
            BlockArg::Value(self.ins().load(ty, flags, room, 0))
        });
        let loaded: Vec<BlockArg> = loaded.collect();
        self.ins().brif(is_due, end, &[], turns.begin, &loaded);
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

    /// Emits loops that do not look, because all of them together are short, and counts them as so many instructions.
    pub(super) fn without_looks<T>(&mut self, instructions: usize, emit: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.uncounted();
        let polls = self.polls.take();
        let result = emit(self);
        self.polls = polls;
        let emitted = self.uncounted() - before;
        if let Some(polls) = &mut self.polls {
            polls.counted += emitted;
            polls.called += instructions;
        }
        result
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

    /// Returns where values are during a call, for which it makes room.
    fn offsets(&mut self, values: &[BlockArg]) -> Vec<(ir::Value, i32)> {
        let func = &mut self.emit.builder.func;
        let mut end = 0;
        let values = values.iter().filter_map(BlockArg::as_value);
        let offsets = values.map(|value| {
            let start = end;
            end += func.dfg.value_type(value).bytes().next_multiple_of(ALIGNMENT);
            (value, start as i32)
        });
        let offsets: Vec<(ir::Value, i32)> = offsets.collect();
        if let Some(polls) = &self.polls {
            let size = &mut func.sized_stack_slots[polls.carried].size;
            *size = end.max(*size);
        }
        offsets
    }
}
