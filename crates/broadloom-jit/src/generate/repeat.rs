//! Steps that are taken one after the other, with what they carry in registers.

use super::Generator;
use crate::emit::Val;
use crate::notes::Note;
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder};

/// The steps after which a loop that may settle looks whether it has: a power of two.
const STEPS_BETWEEN_LOOKS: i64 = 16;

impl Generator<'_, '_, '_> {
    /// Emits the steps.
    pub(super) fn repeat_steps(&mut self, repeat: &Repeat) {
        let bounds = self.bounds(repeat.axis);
        let initial: Vec<Val> = repeat.carried.iter().map(|entry| self.passed(entry.initial)).collect();
        let after = match repeat.settles {
            true => self.until_settled(repeat, bounds, &initial),
            false => self.steps_between(repeat, bounds, &initial),
        };
        for (entry, value) in repeat.carried.iter().zip(after) {
            let value = self.received(entry.last, &value);
            self.env.insert(entry.last, value);
        }
    }

    /// Emits a range of steps.
    fn steps_between(
        &mut self,
        repeat: &Repeat,
        (start, end): (ir::Value, ir::Value),
        before: &[Val],
    ) -> Vec<Val> {
        let (_, after) = self.repeat(start, end, 1, before, |generator, position, before| {
            generator.at(repeat.axis, position, 1, |generator| {
                if let Some((axis, lanes)) = generator.vector {
                    generator.emit.note(Note::Step(axis, lanes));
                }
                for (entry, value) in repeat.carried.iter().zip(before) {
                    let value = generator.received(entry.before, value);
                    generator.env.insert(entry.before, value);
                }
                generator.body(&repeat.body);
                repeat.carried.iter().map(|entry| generator.passed(entry.next)).collect()
            })
        });
        after
    }

    /// Emits steps until they are known. If some steps lead back to the bits with which they began, so does every multiple of them:
    /// what is left after these is less than as many steps.
    fn until_settled(
        &mut self,
        repeat: &Repeat,
        (start, end): (ir::Value, ir::Value),
        before: &[Val],
    ) -> Vec<Val> {
        let looped = self.loop_while(
            &[start],
            before,
            |generator, state| generator.ins().icmp(IntCC::SignedLessThan, state[0], end),
            |generator, state, before| {
                let next = generator.ins().iadd_imm_s(state[0], STEPS_BETWEEN_LOOKS);
                let next = generator.least(next, end);
                let after = generator.steps_between(repeat, (state[0], next), before);
                let left = generator.ins().isub(end, next);
                let known = generator.ins().band_imm_s(left, -STEPS_BETWEEN_LOOKS);
                let mut position = generator.ins().iadd(next, known);
                for (before, after) in before.iter().zip(&after) {
                    let differ = generator.emit.differ(before, after);
                    position = generator.ins().select(differ, next, position);
                }
                (vec![position], after)
            },
        );
        looped.carried
    }

    /// Returns a value in the lanes of the loop around, as it passes from step to step. Truth values pass as bytes: the width of
    /// their lanes may differ from step to step.
    fn passed(&mut self, id: ValueId) -> Val {
        let value = self.get(id);
        let value = if value.dtype == DType::Bool { self.emit.cast(&value, DType::U8) } else { value };
        let lanes = self.vector.map_or(1, |(_, lanes)| lanes);
        self.emit.splat(&value, lanes)
    }

    /// Returns a value that has passed to a step.
    fn received(&mut self, id: ValueId, value: &Val) -> Val {
        match self.kernel.values[id.index()].dtype {
            DType::Bool => self.emit.cast(value, DType::Bool),
            _ => value.clone(),
        }
    }
}
