//! Maps virtual registers to those of the machine.

use super::machine::{Arg, Base, Block, Function, Inst, Kind, MASK, MASKS, Width, vector};
use super::{Registers, Unsupported};
use iced_x86::Code;
use regalloc2::{
    Allocation as Allocated, Edit, Inst as InstId, InstOrEdit, InstRange, MachineEnv, Operand,
    OperandConstraint, OperandKind, OperandPos, Output, PReg, PRegSet, RegClass, RegallocOptions, VReg,
};
use std::collections::HashMap;
use std::ops::Range;

/// Registers that a function saves if it uses them: rbx, rbp, r12 to r15.
pub(super) const SAVED: [usize; 6] = [3, 5, 12, 13, 14, 15];
/// The stack pointer.
const RSP: usize = 4;

/// The places of values.
pub(super) struct Allocation {
    pub(super) output: Output,
    view: View,
}

impl Allocation {
    /// Instructions and moves of a block, in order.
    pub(super) fn steps(&self, block: usize) -> regalloc2::OutputIter<'_> {
        self.output.block_insts_and_edits(&self.view, regalloc2::Block::new(block))
    }

    /// The number of the first instruction of a block.
    pub(super) fn first_inst(&self, block: usize) -> usize {
        self.view.ranges[block].first().index()
    }

    /// Returns whether a vector is moved to the stack or back.
    pub(super) fn spills_vectors(&self) -> bool {
        let is_vector = |place: &Allocated| place.as_reg().is_some_and(|reg| reg.class() == RegClass::Float);
        self.output.edits.iter().any(|(_, Edit::Move { from, to })| {
            is_vector(from) && to.is_stack() || from.is_stack() && is_vector(to)
        })
    }

    /// Returns all registers in use.
    pub(super) fn registers(&self) -> PRegSet {
        let moves = self.output.edits.iter().flat_map(|(_, Edit::Move { from, to })| [from, to]);
        let places = self.output.allocs.iter().chain(moves).filter_map(|place| place.as_reg());
        places.fold(PRegSet::empty(), PRegSet::with)
    }
}

impl Allocation {
    /// Returns the number of vector registers in blocks.
    pub(super) fn vectors(&self, blocks: Range<usize>) -> usize {
        let insts = blocks.flat_map(|block| self.view.ranges[block].iter());
        let places = insts.flat_map(|inst| self.output.inst_allocs(inst)).filter_map(|place| place.as_reg());
        let vectors = places.filter(|reg| reg.class() == RegClass::Float);
        vectors.fold(PRegSet::empty(), |set, reg| set.with(reg)).into_iter().count()
    }

    /// Returns the innermost loops. Blocks are in code order: a loop is the range that a jump goes back over, including
    /// any blocks in between.
    pub(super) fn loops(&self, function: &Function) -> Vec<InnerLoop> {
        let on_stack = |step: &InstOrEdit<'_>| match step {
            InstOrEdit::Edit(Edit::Move { from, to }) => from.is_stack() || to.is_stack(),
            InstOrEdit::Inst(_) => false,
        };
        let mut loops = Vec::new();
        // A loop that starts before the latest start of finished loops contains one of them.
        let mut first_free = 0;
        for (last, block) in function.blocks.iter().enumerate() {
            let back = block.successors.iter().map(|(to, _)| *to).filter(|first| *first <= last).max();
            if let Some(first) = back.filter(|first| *first >= first_free) {
                let spills = (first..=last).flat_map(|block| self.steps(block)).filter(on_stack).count();
                let registers = Registers { used: self.vectors(first..last + 1), spills };
                loops.push(InnerLoop { first, registers });
                first_free = first + 1;
            }
        }
        loops
    }
}

/// An innermost loop.
pub(super) struct InnerLoop {
    /// Its first block.
    pub(super) first: usize,
    pub(super) registers: Registers,
}

/// Allocates registers.
pub(super) fn allocate(function: &Function) -> Result<Allocation, Unsupported> {
    let view = View::of(function);
    let options = RegallocOptions { validate_ssa: cfg!(debug_assertions), ..RegallocOptions::default() };
    let output = regalloc2::run(&view, &environment(function.width), &options)
        .map_err(|error| Unsupported(format!("{error:?}")))?;
    Ok(Allocation { output, view })
}

fn set(class: RegClass, numbers: impl IntoIterator<Item = usize>) -> PRegSet {
    numbers.into_iter().fold(PRegSet::empty(), |set, number| set.with(PReg::new(number, class)))
}

/// The registers of the System V calling convention; caller-saved ones first.
fn environment(width: Width) -> MachineEnv {
    let free = (0..16).filter(|number| *number != RSP && !SAVED.contains(number));
    MachineEnv {
        preferred_regs_by_class: [
            set(RegClass::Int, free),
            set(RegClass::Float, 0..width.registers()),
            set(MASK, MASKS),
        ],
        non_preferred_regs_by_class: [set(RegClass::Int, SAVED), PRegSet::empty(), PRegSet::empty()],
        scratch_by_class: [None, None, None],
        fixed_stack_slots: Vec::new(),
    }
}

/// A function as the allocator sees it.
struct View {
    operands: Vec<Vec<Operand>>,
    kinds: Vec<Kind>,
    ranges: Vec<InstRange>,
    params: Vec<Vec<VReg>>,
    successors: Vec<Vec<regalloc2::Block>>,
    predecessors: Vec<Vec<regalloc2::Block>>,
    passed: Vec<Vec<Vec<VReg>>>,
    clobbers: Vec<PRegSet>,
    vregs: usize,
    /// A spilled vector in words of 8 bytes.
    vector_words: usize,
}

impl View {
    fn of(function: &Function) -> View {
        let count = function.blocks.len();
        let mut view = View {
            operands: Vec::new(),
            kinds: Vec::new(),
            ranges: Vec::new(),
            params: Vec::new(),
            successors: Vec::new(),
            predecessors: vec![Vec::new(); count],
            passed: Vec::new(),
            clobbers: Vec::new(),
            vregs: function.vregs,
            vector_words: function.width.bytes() / 8,
        };
        let mut short_codes = ShortCodes { width: function.width, known: HashMap::new() };
        for (index, Block { insts, params, successors, .. }) in function.blocks.iter().enumerate() {
            let start = view.operands.len();
            for inst in insts {
                view.operands.push(operands(inst, short_codes.vectors(inst.kind)));
                view.kinds.push(inst.kind);
                view.clobbers.push(clobbers(inst, function.width));
            }
            view.ranges.push(InstRange::new(InstId::new(start), InstId::new(view.operands.len())));
            view.params.push(params.clone());
            view.successors.push(successors.iter().map(|(to, _)| regalloc2::Block::new(*to)).collect());
            view.passed.push(successors.iter().map(|(_, passed)| passed.clone()).collect());
            for (to, _) in successors {
                view.predecessors[*to].push(regalloc2::Block::new(index));
            }
        }
        view
    }
}

/// The encodings that can name only the first 16 vector registers: the short ones, with a VEX prefix.
struct ShortCodes {
    width: Width,
    known: HashMap<Code, bool>,
}

impl ShortCodes {
    /// The registers that the vector operands of an instruction may use.
    fn vectors(&mut self, kind: Kind) -> OperandConstraint {
        let (Width::Zmm, Kind::Machine(code) | Kind::Idiom(code)) = (self.width, kind) else {
            return OperandConstraint::Reg;
        };
        // Read it from the name: the tables of iced-x86 have it too, but take milliseconds to initialise.
        match *self.known.entry(code).or_insert_with(|| format!("{code:?}").starts_with("VEX_")) {
            true => OperandConstraint::Limit(16),
            false => OperandConstraint::Reg,
        }
    }
}

/// The operands of an instruction, in the order in which `encode` reads them.
fn operands(inst: &Inst, vectors: OperandConstraint) -> Vec<Operand> {
    let constraint = |reg: VReg| match reg.class() {
        RegClass::Float => vectors,
        _ => OperandConstraint::Reg,
    };
    let written = |reg| Operand::new(reg, constraint(reg), OperandKind::Def, OperandPos::Late);
    let read = |reg| Operand::new(reg, constraint(reg), OperandKind::Use, OperandPos::Early);
    let mut operands = Vec::new();
    for arg in &inst.args {
        match *arg {
            Arg::Def(reg) => operands.push(written(reg)),
            Arg::Use(reg) | Arg::Under(reg) | Arg::OrZero(reg) => operands.push(read(reg)),
            Arg::Anywhere(reg) => operands.push(Operand::any_use(reg)),
            Arg::Tied(def, from) | Arg::Spent(def, from) => {
                // A limit would be lost: the allocator accepts any register for a reused one.
                debug_assert_eq!(constraint(def), OperandConstraint::Reg);
                let place = operands.len();
                operands.push(read(from));
                operands.push(Operand::reg_reuse_def(def, place));
            }
            Arg::Memory(memory) => {
                if let Base::Register(base) = memory.base {
                    operands.push(Operand::reg_use(base));
                }
                if let Some((index, _)) = memory.index {
                    operands.push(Operand::reg_use(index));
                }
            }
            Arg::Immediate(_) => {}
        }
    }
    operands.extend(inst.fixed_uses.iter().map(|(reg, at)| Operand::reg_fixed_use(*reg, *at)));
    operands.extend(inst.fixed_defs.iter().map(|(reg, at)| Operand::reg_fixed_def(*reg, *at)));
    operands
}

/// The registers that a call clobbers: all that the convention does not save, except its results.
fn clobbers(inst: &Inst, width: Width) -> PRegSet {
    if inst.kind != Kind::Call {
        return PRegSet::empty();
    }
    let integers = (0..16).filter(|number| *number != RSP);
    let integers = integers.map(|number| PReg::new(number, RegClass::Int));
    let masks = MASKS.map(|number| PReg::new(number, MASK));
    let all = integers.chain((0..width.registers()).map(vector)).chain(masks);
    let mut set = PRegSet::empty();
    for reg in all.filter(|reg| !is_kept(*reg) && inst.fixed_defs.iter().all(|(_, at)| at != reg)) {
        set.add(reg);
    }
    set
}

/// Whether the content of a register is the same after a call.
pub(super) fn is_kept(reg: PReg) -> bool {
    reg.class() == RegClass::Int && SAVED.contains(&reg.hw_enc())
}

impl regalloc2::Function for View {
    fn num_insts(&self) -> usize {
        self.operands.len()
    }

    fn num_blocks(&self) -> usize {
        self.ranges.len()
    }

    fn entry_block(&self) -> regalloc2::Block {
        regalloc2::Block::new(0)
    }

    fn block_insns(&self, block: regalloc2::Block) -> InstRange {
        self.ranges[block.index()]
    }

    fn block_succs(&self, block: regalloc2::Block) -> &[regalloc2::Block] {
        &self.successors[block.index()]
    }

    fn block_preds(&self, block: regalloc2::Block) -> &[regalloc2::Block] {
        &self.predecessors[block.index()]
    }

    fn block_params(&self, block: regalloc2::Block) -> &[VReg] {
        &self.params[block.index()]
    }

    fn is_ret(&self, inst: InstId) -> bool {
        self.kinds[inst.index()] == Kind::Return
    }

    fn is_branch(&self, inst: InstId) -> bool {
        matches!(self.kinds[inst.index()], Kind::Jump | Kind::Branch(_))
    }

    fn branch_blockparams(&self, block: regalloc2::Block, _: InstId, successor: usize) -> &[VReg] {
        &self.passed[block.index()][successor]
    }

    fn inst_operands(&self, inst: InstId) -> &[Operand] {
        &self.operands[inst.index()]
    }

    fn inst_clobbers(&self, inst: InstId) -> PRegSet {
        self.clobbers[inst.index()]
    }

    fn num_vregs(&self) -> usize {
        self.vregs
    }

    fn spillslot_size(&self, class: RegClass) -> usize {
        if class == RegClass::Float { self.vector_words } else { 1 }
    }
}
