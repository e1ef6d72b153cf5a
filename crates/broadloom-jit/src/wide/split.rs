//! Copies of vectors around loops without calls.
//!
//! A call leaves no vector register as it was, so a vector that is alive across one is on the stack. The allocator reads it
//! back where it is used: in an inner loop, each step reads it and writes it back. A copy before the outermost loop that calls
//! nothing is alive in that loop alone, and stays in a register.

use super::machine::{Arg, Block, Function, Inst, Kind, Memory};
use cranelift_codegen::Context;
use cranelift_codegen::loop_analysis::Loop;
use regalloc2::{RegClass, VReg};
use std::collections::{BTreeMap, HashSet};

/// Gives loops without calls copies of the vectors that come from outside, in a function that calls others.
pub(super) fn split(function: &mut Function, context: &Context) {
    let loop_analysis = &context.loop_analysis;
    let calls = |block: &&Block| block.insts.iter().any(|inst| inst.kind == Kind::Call);
    let calling: Vec<Option<Loop>> = function
        .blocks
        .iter()
        .filter(calls)
        .filter_map(|block| block.source)
        .map(|source| loop_analysis.innermost_loop(source))
        .collect();
    if calling.is_empty() {
        return;
    }
    let around = |each: Loop| std::iter::successors(Some(each), |each| loop_analysis.loop_parent(*each));
    let calling: HashSet<Loop> = calling.into_iter().flatten().flat_map(around).collect();
    let is_outermost = |each: &Loop| {
        !calling.contains(each)
            && loop_analysis.loop_parent(*each).is_none_or(|parent| calling.contains(&parent))
    };
    for each in loop_analysis.loops().filter(is_outermost) {
        // A block on an edge follows the one that it leaves.
        let is_inside = |before: &mut bool, block: &Block| {
            *before = block.source.map_or(*before, |source| loop_analysis.is_in_loop(source, each));
            Some(*before)
        };
        let inside: Vec<bool> = function.blocks.iter().scan(false, is_inside).collect();
        let header = Some(loop_analysis.loop_header(each));
        let enters = |index: &usize| {
            let mut to = function.blocks[*index].successors.iter().map(|(to, _)| *to);
            !inside[*index] && to.any(|to| function.blocks[to].source == header)
        };
        let blocks = 0..function.blocks.len();
        let entering: Vec<usize> = blocks.clone().filter(enters).collect();
        let [before] = entering[..] else { continue };
        let inside: Vec<usize> = blocks.filter(|index| inside[*index]).collect();
        let made: HashSet<VReg> = inside.iter().flat_map(|index| made(&function.blocks[*index])).collect();
        let mut copies: BTreeMap<usize, (VReg, VReg)> = BTreeMap::new();
        for index in inside {
            let vregs = &mut function.vregs;
            read(&mut function.blocks[index], |reg| {
                if reg.class() != RegClass::Int && !made.contains(reg) {
                    let copy = copies.entry(reg.vreg()).or_insert_with(|| {
                        *vregs += 1;
                        (VReg::new(*vregs - 1, reg.class()), *reg)
                    });
                    *reg = copy.0;
                }
            });
        }
        let insts = &mut function.blocks[before].insts;
        let end = insts.len().saturating_sub(1);
        let copies = copies.into_values();
        let copies = copies.map(|(copy, from)| Inst::new(Kind::Copy, &[Arg::Def(copy), Arg::Anywhere(from)]));
        insts.splice(end..end, copies);
    }
}

/// The values that a block makes.
fn made(block: &Block) -> impl Iterator<Item = VReg> {
    let of_inst = |inst: &Inst| -> Vec<VReg> {
        let args = inst.args.iter().filter_map(|arg| match *arg {
            Arg::Def(reg) | Arg::Tied(reg, _) | Arg::Spent(reg, _) => Some(reg),
            _ => None,
        });
        args.chain(inst.fixed_defs.iter().map(|(reg, _)| *reg)).collect()
    };
    block.params.iter().copied().chain(block.insts.iter().flat_map(of_inst))
}

/// Changes the values that a block reads. Of addresses, only indices may be vectors.
fn read(block: &mut Block, mut change: impl FnMut(&mut VReg)) {
    for inst in &mut block.insts {
        for arg in &mut inst.args {
            match arg {
                Arg::Use(reg)
                | Arg::Anywhere(reg)
                | Arg::Tied(_, reg)
                | Arg::Under(reg)
                | Arg::OrZero(reg)
                | Arg::Spent(_, reg) => change(reg),
                Arg::Memory(Memory { index: Some((reg, _)), .. }) if reg.class() == RegClass::Float => {
                    change(reg);
                }
                Arg::Def(_) | Arg::Memory(_) | Arg::Immediate(_) => {}
            }
        }
        inst.fixed_uses.iter_mut().for_each(|(reg, _)| change(reg));
    }
    block.successors.iter_mut().flat_map(|(_, passed)| passed).for_each(change);
}
