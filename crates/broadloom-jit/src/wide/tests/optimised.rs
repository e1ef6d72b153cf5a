//! Optimised functions are valid, compute the same, and keep instructions that access memory or trap in their places.

use super::generate::{Generated, Kinds, function};
use super::machine::{Machine, optimised};
use super::numbers::Random;
use super::random::{Arrays, assert_same};
use crate::wide::Width;
use cranelift_codegen::ir::{Block, Function, Inst, Opcode};

/// Instructions that must stay, in order, in the blocks that are reached.
fn anchored(func: &Function, reached: &[Block]) -> Vec<(Block, Vec<(Inst, Opcode)>)> {
    let stays = |opcode: Opcode| {
        opcode.can_load()
            || opcode.can_store()
            || opcode.can_trap()
            || opcode.is_terminator()
            || opcode.is_branch()
            || opcode == Opcode::CallIndirect
    };
    let insts = |block: Block| {
        func.layout
            .block_insts(block)
            .map(|inst| (inst, func.dfg.insts[inst].opcode()))
            .filter(|(_, opcode)| stays(*opcode))
            .collect()
    };
    reached.iter().map(|block| (*block, insts(*block))).collect()
}

fn check(kinds: Kinds, seeds: std::ops::Range<u64>) {
    let Some(mut machine) = Machine::new(kinds.width) else { return };
    let isa = machine.isa.clone();
    let mut all = Vec::new();
    let (mut before, mut after) = (0, 0);
    for seed in seeds {
        let Generated { func, results } = function(&*isa, seed, kinds);
        let optimised = optimised(&*isa, &func).func;
        let reached: Vec<Block> = optimised.layout.blocks().collect();
        assert_eq!(anchored(&func, &reached), anchored(&optimised, &reached), "seed {seed}\n{func}");
        let count = |func: &Function| {
            reached.iter().map(|block| func.layout.block_insts(*block).count()).sum::<usize>()
        };
        before += count(&func);
        after += count(&optimised);
        let compiled = (!kinds.vectors).then(|| [&func, &optimised].map(|func| machine.cranelift(func)));
        all.push((seed, func, optimised, results, compiled));
    }
    assert!(after * 20 < before * 19, "{after} of {before} instructions are left");
    machine.finish();
    for (seed, func, optimised, results, compiled) in all {
        let arrays = Arrays::of(&mut Random(seed));
        let expected = arrays.interpret(&func);
        let name = format!("seed {seed}");
        assert_same(&name, &optimised, &results, &arrays.interpret(&optimised), &expected);
        for callable in compiled.into_iter().flatten() {
            assert_same(&name, &optimised, &results, &arrays.call(&machine, callable), &expected);
        }
    }
}

#[test]
fn scalars_stay_what_they_are() {
    check(Kinds { width: Width::Ymm, vectors: false, slot: 64 }, 5000..5250);
}

#[test]
fn vectors_stay_what_they_are() {
    for width in Width::ALL {
        check(Kinds { width, vectors: true, slot: 64 }, 6000..6400);
    }
}
