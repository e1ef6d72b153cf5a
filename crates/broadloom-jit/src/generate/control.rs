//! Loops and branches that carry integers and values.

use super::Generator;
use crate::emit::Val;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, InstBuilder, types};

impl Generator<'_, '_, '_> {
    /// Emits a loop `for i in (start..end).step_by(step)` that runs while a whole step fits and carries values. Returns the
    /// first `i` that was not run, and the values.
    pub(super) fn repeat(
        &mut self,
        start: ir::Value,
        end: ir::Value,
        step: i64,
        carried: &[Val],
        body: impl FnOnce(&mut Self, ir::Value, &[Val]) -> Vec<Val>,
    ) -> (ir::Value, Vec<Val>) {
        let limit = if step == 1 { end } else { self.ins().iadd_imm_s(end, 1 - step) };
        self.loop_while(
            &[start],
            carried,
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], limit),
            |generator, state, carried| {
                let carried = body(generator, state[0], carried);
                (vec![generator.ins().iadd_imm_s(state[0], step)], carried)
            },
        )
        .into_single()
    }

    /// Emits a loop that carries integers and values, with a test before the first iteration and after each.
    pub(super) fn loop_while(
        &mut self,
        state: &[ir::Value],
        carried: &[Val],
        mut test: impl FnMut(&mut Self, &[ir::Value]) -> ir::Value,
        body: impl FnOnce(&mut Self, &[ir::Value], &[Val]) -> (Vec<ir::Value>, Vec<Val>),
    ) -> Looped {
        let mut around = self.turns(state.len(), carried);
        let exit = self.block_for(state.len(), carried);
        let go = test(self, state);
        let values = flatten(state, carried);
        self.ins().brif(go, around.begin, &values, exit, &values);
        self.begin_turns(&mut around);
        let (inner_state, inner_carried) = self.unflatten(around.turn, state.len(), carried);
        let (next_state, next_carried) =
            self.scoped(|generator| body(generator, &inner_state, &inner_carried));
        let go = test(self, &next_state);
        let values = flatten(&next_state, &next_carried);
        self.turn_again(&around, go, &values, (exit, &values));
        self.emit.builder.switch_to_block(exit);
        let (state, carried) = self.unflatten(exit, state.len(), carried);
        Looped { state, carried }
    }

    /// Emits a loop that carries integers and values and runs at least once, with a test after each iteration.
    pub(super) fn loop_once_and_while(
        &mut self,
        state: &[ir::Value],
        carried: &[Val],
        test: impl FnOnce(&mut Self, &[ir::Value]) -> ir::Value,
        body: impl FnOnce(&mut Self, &[ir::Value], &[Val]) -> (Vec<ir::Value>, Vec<Val>),
    ) -> Looped {
        let mut around = self.turns(state.len(), carried);
        let exit = self.emit.builder.create_block();
        self.ins().jump(around.begin, &flatten(state, carried));
        self.begin_turns(&mut around);
        let (inner_state, inner_carried) = self.unflatten(around.turn, state.len(), carried);
        let (state, carried) = self.scoped(|generator| body(generator, &inner_state, &inner_carried));
        let go = test(self, &state);
        self.turn_again(&around, go, &flatten(&state, &carried), (exit, &[]));
        self.emit.builder.switch_to_block(exit);
        Looped { state, carried }
    }

    /// Emits `if condition { then } else { otherwise }` and returns values of the types of `like`.
    pub(super) fn branch(
        &mut self,
        condition: ir::Value,
        like: &[Val],
        then: impl FnOnce(&mut Self) -> Vec<Val>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Val>,
    ) -> Vec<Val> {
        let on_true = self.emit.builder.create_block();
        let on_false = self.emit.builder.create_block();
        let join = self.block_for(0, like);
        self.ins().brif(condition, on_true, &[], on_false, &[]);
        self.emit.builder.switch_to_block(on_true);
        let values = self.scoped(then);
        self.ins().jump(join, &flatten(&[], &values));
        self.emit.builder.switch_to_block(on_false);
        let values = self.scoped(otherwise);
        self.ins().jump(join, &flatten(&[], &values));
        self.emit.builder.switch_to_block(join);
        self.unflatten(join, 0, like).1
    }

    /// Emits `if condition { then }`.
    pub(super) fn when(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        let then = |generator: &mut Self| {
            then(generator);
            Vec::new()
        };
        self.branch(condition, &[], then, |_| Vec::new());
    }

    pub(super) fn block_for(&mut self, integers: usize, values: &[Val]) -> Block {
        let block = self.emit.builder.create_block();
        for _ in 0..integers {
            self.emit.builder.append_block_param(block, types::I64);
        }
        for value in values {
            for _ in &value.regs {
                self.emit.builder.append_block_param(block, self.emit.host.register_type(value));
            }
        }
        block
    }

    pub(super) fn unflatten(
        &self,
        block: Block,
        integers: usize,
        like: &[Val],
    ) -> (Vec<ir::Value>, Vec<Val>) {
        let mut params = self.emit.builder.block_params(block).iter().copied();
        let state = params.by_ref().take(integers).collect();
        let values =
            like.iter().map(|value| value.with_regs(params.by_ref().take(value.regs.len()))).collect();
        (state, values)
    }

    /// Emits `if condition { then }`, where the condition seldom holds: outside the common path.
    pub(super) fn rarely(&mut self, condition: ir::Value, then: impl FnOnce(&mut Self)) {
        let cold = self.emit.builder.create_block();
        let join = self.emit.builder.create_block();
        self.emit.builder.set_cold_block(cold);
        self.ins().brif(condition, cold, &[], join, &[]);
        self.emit.builder.switch_to_block(cold);
        self.scoped(then);
        self.ins().jump(join, &[]);
        self.emit.builder.switch_to_block(join);
    }
}

/// The results of a loop.
pub(super) struct Looped {
    pub(super) state: Vec<ir::Value>,
    pub(super) carried: Vec<Val>,
}

impl Looped {
    pub(super) fn into_single(self) -> (ir::Value, Vec<Val>) {
        (self.state[0], self.carried)
    }
}

pub(super) fn flatten(state: &[ir::Value], values: &[Val]) -> Vec<ir::BlockArg> {
    let regs = values.iter().flat_map(|value| value.regs.iter());
    state.iter().chain(regs).map(|value| ir::BlockArg::Value(*value)).collect()
}
