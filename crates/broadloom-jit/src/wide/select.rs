//! Selects machine instructions for CLIF.
//!
//! Blocks are walked in reverse, from users to definitions: unused instructions are skipped, and anything that one
//! machine instruction absorbs (addresses, constants, loads, comparisons before branches) is not computed
//! separately.

mod calls;
mod convert;
mod edges;
mod floats;
mod integers;
mod lane_integers;
mod lanes;
mod masks;
mod memory;
mod pressure;
mod vectors;

use super::machine::*;
use super::optimise::number;
use super::{Unsupported, codes};
use crate::emit::Intrinsic;
use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, ArgumentExtension, InstructionData, Opcode, Type, types};
use cranelift_codegen::isa::CallConv;
use iced_x86::Code;
use regalloc2::{RegClass, VReg};
use std::collections::HashMap;

type Result<T> = std::result::Result<T, Unsupported>;

/// Selects instructions for a function.
pub(super) fn select(context: &Context, width: Width) -> Result<Function> {
    let Context { func, cfg, domtree, loop_analysis, .. } = context;
    let mut order: Vec<ir::Block> = domtree.cfg_postorder().to_vec();
    order.reverse();
    let entry = order[0];
    if cfg.pred_iter(entry).next().is_some() {
        return Err(Unsupported("a loop from the entry".to_string()));
    }
    let is_integer = |param: &ir::AbiParam| param.value_type.is_int() && param.value_type.bits() <= 64;
    let ir::Signature { params, returns, .. } = &func.signature;
    if params.len() > INTEGER_ARGUMENTS.len() || !params.iter().all(is_integer) || !returns.is_empty() {
        return Err(Unsupported(format!("a function of the type {}", func.signature)));
    }
    let mut selector = Selector::new(func, width);
    selector.place_slots()?;
    selector.leave_constants(loop_analysis);
    let mut bodies: HashMap<ir::Block, Vec<Inst>> = HashMap::new();
    for &block in order.iter().rev() {
        let body = selector.block(block)?;
        bodies.insert(block, body);
    }
    let mut blocks = selector.connect(&order, bodies, cfg);
    if width == Width::Zmm {
        for inst in blocks.iter_mut().flat_map(|block| &mut block.insts) {
            if let Kind::Machine(code) | Kind::Idiom(code) = &mut inst.kind {
                *code = codes::zmm(*code);
            }
        }
    }
    let Selector { vregs, constants, slot_bytes, outgoing_bytes, .. } = selector;
    Ok(Function { blocks, vregs, width, constants, slot_bytes, outgoing_bytes })
}

/// Alignment of stack slots: that of the stack.
const SLOT_ALIGNMENT: u32 = 16;
/// Bytes of the largest stack slot, so that sums of offsets cannot overflow.
const MAX_SLOT: u32 = 1 << 16;

/// The function, and the instructions selected so far.
struct Selector<'f> {
    func: &'f ir::Function,
    width: Width,
    /// The virtual registers of values.
    regs: SecondaryMap<ir::Value, Option<VReg>>,
    /// Whether a selected instruction reads a value in its register.
    needed: SecondaryMap<ir::Value, bool>,
    /// The mask registers of vector truth values that selected instructions read there.
    masks: SecondaryMap<ir::Value, Option<VReg>>,
    /// Vector constants that stay in memory.
    in_memory: SecondaryMap<ir::Value, bool>,
    /// The parameters of blocks that something reads, apart from being passed on to others that nothing reads.
    live: SecondaryMap<ir::Value, bool>,
    /// The number of uses of each value.
    uses: SecondaryMap<ir::Value, u32>,
    /// The number of instructions with effects before each one in its block.
    effects: SecondaryMap<ir::Inst, u32>,
    /// The instruction being selected, and its block.
    current: Option<(ir::Inst, ir::Block)>,
    /// The machine instructions of the current instruction.
    made: Vec<Inst>,
    vregs: usize,
    constants: Vec<Vec<u8>>,
    known_constants: HashMap<Vec<u8>, usize>,
    slots: SecondaryMap<ir::StackSlot, u32>,
    slot_bytes: u32,
    outgoing_bytes: u32,
}

impl<'f> Selector<'f> {
    fn new(func: &'f ir::Function, width: Width) -> Self {
        let mut uses: SecondaryMap<ir::Value, u32> = SecondaryMap::new();
        let mut effects = SecondaryMap::new();
        for block in func.layout.blocks() {
            let mut before = 0;
            for inst in func.layout.block_insts(block) {
                effects[inst] = before;
                let opcode = func.dfg.insts[inst].opcode();
                before += u32::from(opcode.can_store() || opcode == Opcode::CallIndirect);
                func.dfg.inst_values(inst).for_each(|value| uses[value] += 1);
            }
        }
        Selector {
            func,
            width,
            regs: SecondaryMap::new(),
            needed: SecondaryMap::new(),
            masks: SecondaryMap::new(),
            in_memory: SecondaryMap::new(),
            live: edges::live_params(func),
            uses,
            effects,
            current: None,
            made: Vec::new(),
            vregs: 0,
            constants: Vec::new(),
            known_constants: HashMap::new(),
            slots: SecondaryMap::new(),
            slot_bytes: 0,
            outgoing_bytes: 0,
        }
    }

    fn place_slots(&mut self) -> Result<()> {
        for (slot, data) in &self.func.sized_stack_slots {
            if 1 << data.align_shift > SLOT_ALIGNMENT || data.size > MAX_SLOT {
                return Err(Unsupported(format!("the slot {data}")));
            }
            self.slots[slot] = self.slot_bytes;
            self.slot_bytes += data.size.next_multiple_of(SLOT_ALIGNMENT);
        }
        Ok(())
    }

    fn type_of(&self, value: ir::Value) -> Type {
        self.func.dfg.value_type(value)
    }

    // Registers.

    fn fresh(&mut self, class: RegClass) -> VReg {
        self.vregs += 1;
        VReg::new(self.vregs - 1, class)
    }

    fn integer(&mut self) -> VReg {
        self.fresh(RegClass::Int)
    }

    fn vector(&mut self) -> VReg {
        self.fresh(RegClass::Float)
    }

    /// The vector with the same bits as a value: one register holds both.
    fn uncast(&self, value: ir::Value) -> ir::Value {
        let mut value = value;
        while let Some(&[inner]) = self.defined_by(value, Opcode::Bitcast)
            && self.type_of(inner).is_vector()
            && self.type_of(value).is_vector()
        {
            value = inner;
        }
        value
    }

    /// The register of a value.
    fn reg_of(&mut self, value: ir::Value) -> VReg {
        let value = self.uncast(value);
        if let Some(reg) = self.regs[value] {
            return reg;
        }
        let ty = self.type_of(value);
        let class = if ty.is_int() && ty.bits() <= 64 { RegClass::Int } else { RegClass::Float };
        let reg = self.fresh(class);
        self.regs[value] = Some(reg);
        reg
    }

    /// A value read in its register. Numbers and constants that stay in memory are materialised at each use.
    fn get(&mut self, value: ir::Value) -> VReg {
        if let Some(number) = self.known(value) {
            return self.number_in(number);
        }
        let ty = self.type_of(value);
        if let Some(bytes) = self.lane_constant(value).filter(|_| ty.is_float()) {
            let reg = self.vector();
            self.float_in(reg, ty, &bytes);
            return reg;
        }
        if let Some(constant) = self.left_constant(value) {
            return self.compute(Code::VEX_Vmovups_ymm_ymmm256, &[constant]);
        }
        self.need(value);
        self.reg_of(value)
    }

    fn need(&mut self, value: ir::Value) {
        let value = self.uncast(value);
        self.needed[value] = true;
    }

    fn emit(&mut self, code: Code, args: &[Arg]) {
        self.made.push(Inst::new(Kind::Machine(code), args));
    }

    /// The vector result of an instruction on others.
    fn compute(&mut self, code: Code, args: &[Arg]) -> VReg {
        let reg = self.vector();
        let mut all = vec![Arg::Def(reg)];
        all.extend_from_slice(args);
        self.emit(code, &all);
        reg
    }

    // Definitions.

    fn definition(&self, value: ir::Value) -> Option<(ir::Inst, &'f InstructionData)> {
        let inst = self.func.dfg.value_def(value).inst()?;
        Some((inst, &self.func.dfg.insts[inst]))
    }

    /// The arguments of the instruction that defines a value, if it has this opcode.
    fn defined_by(&self, value: ir::Value, opcode: Opcode) -> Option<&'f [ir::Value]> {
        let (inst, data) = self.definition(value)?;
        (data.opcode() == opcode).then(|| self.func.dfg.inst_args(inst))
    }

    /// The arguments of the intrinsic that defines a value, if it is this one.
    fn called(&self, value: ir::Value, intrinsic: Intrinsic) -> Option<&'f [ir::Value]> {
        let (inst, _) = self.definition(value)?;
        (Intrinsic::called(self.func, inst) == Some(intrinsic)).then(|| self.func.dfg.inst_args(inst))
    }

    fn is_in_current_block(&self, inst: ir::Inst) -> bool {
        self.current.is_some_and(|(_, block)| self.func.layout.inst_block(inst) == Some(block))
    }

    /// The value of an integer constant, sign-extended from its type.
    fn known(&self, value: ir::Value) -> Option<i64> {
        number(self.func, value)
    }

    fn known_i32(&self, value: ir::Value) -> Option<i64> {
        self.known(value).filter(|value| i32::try_from(*value).is_ok())
    }

    /// A constant in memory.
    fn constant(&mut self, bytes: &[u8]) -> Memory {
        let known = self.known_constants.get(bytes).copied();
        let index = known.unwrap_or_else(|| {
            self.constants.push(bytes.to_vec());
            self.known_constants.insert(bytes.to_vec(), self.constants.len() - 1);
            self.constants.len() - 1
        });
        Memory { base: Base::Constant(index), index: None, offset: 0 }
    }

    /// A vector constant with the same value in every lane.
    fn lanes_constant(&mut self, lane: &[u8]) -> Arg {
        let bytes: Vec<u8> = lane.iter().copied().cycle().take(self.width.bytes()).collect();
        Arg::Memory(self.constant(&bytes))
    }

    // Blocks.

    /// The instructions of a block, in order.
    fn block(&mut self, block: ir::Block) -> Result<Vec<Inst>> {
        let mut reversed: Vec<Inst> = Vec::new();
        let insts: Vec<ir::Inst> = self.func.layout.block_insts(block).collect();
        for inst in insts.into_iter().rev() {
            let dfg = &self.func.dfg;
            let opcode = dfg.insts[inst].opcode();
            let results = dfg.inst_results(inst);
            // A vector bitcast to another type shares the register.
            let is_cast = |value: ir::Value| self.uncast(value) != value;
            let is_read = |value: ir::Value| self.needed[value] || self.masks[value].is_some();
            let is_wanted = results.iter().any(|value| is_read(*value) && !is_cast(*value));
            let has_effect = opcode.is_terminator()
                || opcode.can_store()
                || opcode.can_trap()
                || opcode.other_side_effects()
                || opcode.is_call()
                    && matches!(Intrinsic::called(self.func, inst), None | Some(Intrinsic::Prefetch));
            if is_wanted || has_effect {
                self.current = Some((inst, block));
                self.inst(inst)?;
                let location = self.func.srcloc(inst);
                reversed.extend(self.made.drain(..).rev().map(|made| Inst { location, ..made }));
            }
        }
        if self.func.layout.entry_block() == Some(block) {
            let params = self.func.dfg.block_params(block);
            let mut arguments = Inst::new(Kind::Arguments, &[]);
            for (&param, place) in params.iter().zip(INTEGER_ARGUMENTS) {
                arguments.fixed_defs.push((self.reg_of(param), place));
            }
            reversed.push(arguments);
        }
        reversed.reverse();
        Ok(reversed)
    }

    // Instructions.

    fn unsupported<T>(&self, inst: ir::Inst) -> Result<T> {
        Err(Unsupported(self.func.dfg.display_inst(inst).to_string()))
    }

    /// Selects an instruction.
    fn inst(&mut self, inst: ir::Inst) -> Result<()> {
        let dfg = &self.func.dfg;
        let data = &dfg.insts[inst];
        // 16-byte integers only move between memory and the first lanes of vectors.
        let is_long = |value: &ir::Value| self.type_of(*value) == types::I128;
        let moves = matches!(data.opcode(), Opcode::Store | Opcode::ScalarToVector);
        if !moves && dfg.inst_args(inst).iter().any(is_long) {
            return self.unsupported(inst);
        }
        match *data {
            InstructionData::Jump { destination, .. } => {
                self.need_passed(&destination);
                self.made.push(Inst::new(Kind::Jump, &[]));
                return Ok(());
            }
            InstructionData::Brif { arg, ref blocks, .. } => {
                blocks.iter().for_each(|call| self.need_passed(call));
                let condition = self.condition(arg)?;
                self.made.push(Inst::new(Kind::Branch(condition), &[]));
                return Ok(());
            }
            InstructionData::Store { opcode: Opcode::Store, args: [value, address], offset, .. } => {
                return self.store(inst, value, address, offset.into());
            }
            InstructionData::CallIndirect { sig_ref, .. } => return self.call(inst, sig_ref),
            InstructionData::Call { .. }
                if Intrinsic::called(self.func, inst) == Some(Intrinsic::Prefetch) =>
            {
                let memory = self.address(dfg.inst_args(inst)[0], 0);
                self.emit(Code::Prefetcht0_m8, &[Arg::Memory(memory)]);
                return Ok(());
            }
            InstructionData::NullAry { opcode: Opcode::Fence } => {
                self.emit(Code::Mfence, &[]);
                return Ok(());
            }
            InstructionData::MultiAry { opcode: Opcode::Return, .. } => {
                self.made.push(Inst::new(Kind::Return, &[]));
                return Ok(());
            }
            _ => {}
        }
        let &[result] = dfg.inst_results(inst) else { return self.unsupported(inst) };
        let ty = self.type_of(result);
        let target = self.reg_of(result);
        match *data {
            InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } => {
                let memory = self.address(arg, offset.into());
                self.load(inst, ty, target, memory)
            }
            InstructionData::StackAddr { .. } => {
                let memory = self.address(result, 0);
                self.emit(Code::Lea_r64_m, &[Arg::Def(target), Arg::Memory(memory)]);
                Ok(())
            }
            _ if ty.is_vector() => self.vectors(inst, data, target),
            _ if ty.is_float() => self.floats(inst, data, target),
            _ if ty.bits() <= 64 => self.integers(inst, data, target),
            _ => self.unsupported(inst),
        }
    }

    // Conditions.

    /// Sets the flags for a truth value.
    fn condition(&mut self, value: ir::Value) -> Result<Condition> {
        let mut value = value;
        while let Some(&[inner]) = self.defined_by(value, Opcode::Uextend) {
            value = inner;
        }
        if let Some(&[lanes]) = self.defined_by(value, Opcode::VanyTrue) {
            return self.any_lane(lanes);
        }
        if let Some((_, &InstructionData::IntCompare { args: [x, y], cond, .. })) = self.definition(value)
            && !self.type_of(x).is_vector()
        {
            return Ok(self.compare(cond, x, y));
        }
        let truth = self.get(value);
        let code = match self.type_of(value).bits() {
            8 => Code::Test_rm8_r8,
            16 => Code::Test_rm16_r16,
            32 => Code::Test_rm32_r32,
            _ => Code::Test_rm64_r64,
        };
        self.emit(code, &[Arg::Use(truth), Arg::Use(truth)]);
        Ok(Condition::NotEqual)
    }

    /// Compares scalar integers.
    fn compare(&mut self, condition: IntCC, x: ir::Value, y: ir::Value) -> Condition {
        let is_wide = self.type_of(x).bits() == 64;
        let signed = !matches!(
            condition,
            IntCC::UnsignedLessThan
                | IntCC::UnsignedLessThanOrEqual
                | IntCC::UnsignedGreaterThan
                | IntCC::UnsignedGreaterThanOrEqual
        );
        let left = self.extended(x, signed);
        match self.known_i32(y).filter(|number| signed || *number >= 0) {
            Some(number) => {
                let code = if is_wide { Code::Cmp_rm64_imm32 } else { Code::Cmp_rm32_imm32 };
                self.emit(code, &[Arg::Use(left), Arg::Immediate(number)]);
            }
            None => {
                let right = self.extended(y, signed);
                let code = if is_wide { Code::Cmp_r64_rm64 } else { Code::Cmp_r32_rm32 };
                self.emit(code, &[Arg::Use(left), Arg::Use(right)]);
            }
        }
        match condition {
            IntCC::Equal => Condition::Equal,
            IntCC::NotEqual => Condition::NotEqual,
            IntCC::SignedLessThan => Condition::Less,
            IntCC::SignedLessThanOrEqual => Condition::LessEqual,
            IntCC::SignedGreaterThan => Condition::Greater,
            IntCC::SignedGreaterThanOrEqual => Condition::GreaterEqual,
            IntCC::UnsignedLessThan => Condition::Below,
            IntCC::UnsignedLessThanOrEqual => Condition::BelowEqual,
            IntCC::UnsignedGreaterThan => Condition::Above,
            IntCC::UnsignedGreaterThanOrEqual => Condition::AboveEqual,
        }
    }

    /// A scalar integer extended to at least 32 bits.
    fn extended(&mut self, value: ir::Value, signed: bool) -> VReg {
        let source = self.get(value);
        let code = match (self.type_of(value), signed) {
            (types::I8, true) => Code::Movsx_r32_rm8,
            (types::I8, false) => Code::Movzx_r32_rm8,
            (types::I16, true) => Code::Movsx_r32_rm16,
            (types::I16, false) => Code::Movzx_r32_rm16,
            _ => return source,
        };
        let target = self.integer();
        self.emit(code, &[Arg::Def(target), Arg::Use(source)]);
        target
    }
}
