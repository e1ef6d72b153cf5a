//! The optimisations that Cranelift's optimiser makes for its own back ends but cannot make on 32-byte vectors,
//! because many of its rules have no right-hand side for them: every pure instruction is hoisted out of the loops
//! that it does not depend on, and an instruction that a dominating block has computed is reused.
//!
//! This is one walk over the blocks, dominators first: everything that an instruction reads has its final place
//! before the instruction is visited.

use crate::emit::Intrinsic;
use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, FuncRef, Function, Inst, InstructionData, Opcode, Type, Value, ValueDef};
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::loop_analysis::{Loop, LoopAnalysis};
use cranelift_codegen::{CodegenResult, Context};
use std::collections::{HashMap, HashSet};

/// Optimises the function of a context. If the instruction set asks for that, CLIF is verified before and after.
///
/// # Errors
/// Returns an error if CLIF is not valid: a bug.
pub(crate) fn optimise(context: &mut Context, isa: &dyn TargetIsa) -> CodegenResult<()> {
    context.compute_cfg();
    context.compute_domtree();
    context.eliminate_unreachable_code(isa)?;
    context.compute_loop_analysis();
    let order: Vec<Block> = context.domtree.cfg_rpo().copied().collect();
    let Context { func, domtree, loop_analysis, .. } = context;
    let parents: HashSet<Loop> =
        loop_analysis.loops().filter_map(|each| loop_analysis.loop_parent(each)).collect();
    let mut known: HashMap<Key, Vec<(Block, Value)>> = HashMap::new();
    for block in order {
        let insts: Vec<Inst> = func.layout.block_insts(block).collect();
        for inst in insts {
            let func = &mut *func;
            let values: Vec<Value> = func.dfg.inst_values(inst).collect();
            let values: Vec<Value> =
                values.into_iter().map(|value| func.dfg.resolve_aliases(value)).collect();
            func.dfg.overwrite_inst_values(inst, values.into_iter());
            match simplified(func, inst) {
                Some(Simpler::Value(value)) => {
                    replace(func, inst, value);
                    continue;
                }
                Some(Simpler::Number(number)) => {
                    // Only the bits of the type may be set.
                    let unused = 64 - func.dfg.value_type(func.dfg.first_result(inst)).bits();
                    let imm = (number << unused) as u64 >> unused;
                    func.dfg.insts[inst] =
                        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm: (imm as i64).into() };
                }
                None => {}
            }
            let Some(key) = Key::of(func, inst) else { continue };
            let home = home(func, domtree, loop_analysis, &parents, inst, block);
            let places = known.entry(key).or_default();
            let before = places.iter().find(|(place, _)| domtree.block_dominates(*place, home));
            match before {
                Some(&(_, value)) => replace(func, inst, value),
                None => {
                    places.push((home, func.dfg.first_result(inst)));
                    if home != block
                        && let Some(last) = func.layout.last_inst(home)
                    {
                        func.layout.remove_inst(inst);
                        func.layout.insert_inst(inst, last);
                    }
                }
            }
        }
    }
    // Values from the ends of loops are known now.
    context.func.dfg.resolve_all_aliases();
    context.verify_if(isa)
}

/// Replaces the result of an instruction by a value, and removes the instruction.
fn replace(func: &mut Function, inst: Inst, value: Value) {
    let result = func.dfg.first_result(inst);
    func.layout.remove_inst(inst);
    func.dfg.clear_results(inst);
    func.dfg.change_to_alias(result, value);
}

/// The outermost block that an instruction can move to: outside all loops that define none of its operands. An integer that
/// is repeated in all lanes does not move before the loops inside a loop: there it would take a vector register, and the
/// integer takes a general one. A float takes a vector register either way.
fn home(
    func: &Function,
    domtree: &DominatorTree,
    loops: &LoopAnalysis,
    parents: &HashSet<Loop>,
    inst: Inst,
    block: Block,
) -> Block {
    let is_general = |value: Value| {
        let def = func.dfg.value_def(value).inst().map(|inst| func.dfg.insts[inst].opcode());
        func.dfg.value_type(value).is_int() && def != Some(Opcode::Iconst)
    };
    let is_repeated = func.dfg.insts[inst].opcode() == Opcode::Splat
        && func.dfg.inst_args(inst).iter().copied().all(is_general);
    let mut home = block;
    while let Some(around) = loops.innermost_loop(home) {
        if is_repeated && parents.contains(&around) {
            break;
        }
        let is_inside = |value: Value| {
            let at = match func.dfg.value_def(value) {
                ValueDef::Result(inst, _) => func.layout.inst_block(inst),
                ValueDef::Param(block, _) => Some(block),
                ValueDef::Union(..) => None,
            };
            at.is_none_or(|at| loops.is_in_loop(at, around))
        };
        let Some(before) = domtree.idom(loops.loop_header(around)) else { break };
        if func.dfg.inst_values(inst).any(is_inside) {
            break;
        }
        home = before;
    }
    home
}

/// The identity of a pure instruction.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    data: InstructionData,
    ty: Type,
    /// The function and arguments of a call of an intrinsic.
    called: Option<(FuncRef, Vec<Value>)>,
}

impl Key {
    /// The key of an instruction, if it has no effect and may be moved.
    fn of(func: &Function, inst: Inst) -> Option<Key> {
        let data = func.dfg.insts[inst];
        let opcode = data.opcode();
        let &[result] = func.dfg.inst_results(inst) else { return None };
        let ty = func.dfg.value_type(result);
        if let InstructionData::Call { func_ref, .. } = data {
            // What is read may be written in between.
            if matches!(Intrinsic::called(func, inst)?, Intrinsic::Gathered { .. }) {
                return None;
            }
            let args = func.dfg.inst_args(inst).to_vec();
            return Some(Key {
                data: InstructionData::NullAry { opcode },
                ty,
                called: Some((func_ref, args)),
            });
        }
        let is_pure = !(opcode.is_call()
            || opcode.is_branch()
            || opcode.is_terminator()
            || opcode.can_load()
            || opcode.can_store()
            || opcode.can_trap()
            || opcode.other_side_effects());
        // A division by a nonzero constant becomes a product, which cannot trap.
        let divisor = match data {
            InstructionData::Binary { args: [_, divisor], .. } => number(func, divisor),
            _ => None,
        };
        let divides = matches!(opcode, Opcode::Udiv | Opcode::Urem | Opcode::Sdiv | Opcode::Srem)
            && divisor.is_some_and(|divisor| divisor != 0);
        (is_pure || divides).then_some(Key { data, ty, called: None })
    }
}

/// The value of an integer constant, with the sign of its type.
pub(super) fn number(func: &Function, value: Value) -> Option<i64> {
    let inst = func.dfg.value_def(value).inst()?;
    match func.dfg.insts[inst] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => {
            let unused = 64 - func.dfg.value_type(value).bits();
            Some(imm.bits() << unused >> unused)
        }
        _ => None,
    }
}

/// The replacement of an instruction.
enum Simpler {
    /// One of its operands.
    Value(Value),
    Number(i64),
}

/// Simplifies an instruction whose distances, strides or divisors are constant, or that undoes its operand.
fn simplified(func: &Function, inst: Inst) -> Option<Simpler> {
    let &[result] = func.dfg.inst_results(inst) else { return None };
    let ty = func.dfg.value_type(result);
    let (opcode, [x, y]) = match func.dfg.insts[inst] {
        // A value widened only to be stored again needs no rounding.
        InstructionData::Call { .. } => {
            let before = func.dfg.value_def(*func.dfg.inst_args(inst).first()?).inst()?;
            let is_undone = [inst, before].map(|inst| Intrinsic::called(func, inst))
                == [Intrinsic::ToHalves, Intrinsic::OfHalves].map(Some);
            return is_undone.then(|| Simpler::Value(func.dfg.inst_args(before)[0]));
        }
        InstructionData::Ternary { opcode: Opcode::Select, args: [condition, on_true, on_false] } => {
            return Some(Simpler::Value(if number(func, condition)? != 0 { on_true } else { on_false }));
        }
        InstructionData::Unary { opcode: Opcode::Ireduce | Opcode::Sextend, arg } if ty.bits() <= 64 => {
            return Some(Simpler::Number(number(func, arg)?));
        }
        InstructionData::IntCompare { args: [x, y], cond, .. } => {
            let is_equal = number(func, x)? == number(func, y)?;
            let holds = match cond {
                IntCC::Equal => is_equal,
                IntCC::NotEqual => !is_equal,
                _ => return None,
            };
            return Some(Simpler::Number(holds.into()));
        }
        InstructionData::Binary { opcode, args } if !ty.is_vector() && ty.is_int() => (opcode, args),
        _ => return None,
    };
    match (opcode, number(func, x), number(func, y)) {
        (Opcode::Iadd | Opcode::Isub | Opcode::Ishl | Opcode::Ushr | Opcode::Sshr, _, Some(0))
        | (Opcode::Imul, _, Some(1)) => Some(Simpler::Value(x)),
        (Opcode::Iadd, Some(0), _) | (Opcode::Imul, Some(1), _) => Some(Simpler::Value(y)),
        (Opcode::Iadd | Opcode::Isub | Opcode::Imul | Opcode::Ishl, Some(a), Some(b)) if ty.bits() == 64 => {
            Some(Simpler::Number(match opcode {
                Opcode::Iadd => a.wrapping_add(b),
                Opcode::Isub => a.wrapping_sub(b),
                Opcode::Imul => a.wrapping_mul(b),
                // The hardware, and CLIF, use the count modulo 64.
                _ => a.wrapping_shl(b as u32),
            }))
        }
        _ => None,
    }
}
