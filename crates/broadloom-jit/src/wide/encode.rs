//! Encodes allocated instructions as bytes.

mod cold;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

use super::allocate::{Allocation, InnerLoop, SAVED, is_kept};
use super::machine::{Arg, Base, Condition, Function, Inst, Kind, MASK, Width};
use super::{Code, Registers, Unsupported};
use cranelift_codegen::ir::SourceLoc;
use iced_x86::{Code as Encoding, Encoder, Instruction, OpKind, Register};
use regalloc2::{Allocation as Place, Edit, InstOrEdit, PReg, RegClass, SpillSlot};
use smallvec::SmallVec;
use std::collections::HashMap;

/// At most the size of a page: the guard of a stack has at least one.
const PAGE: u32 = 4096;
/// The largest frame; each of its pages is touched.
const MAX_FRAME: u32 = 16 * PAGE;

/// Encodes an allocated function.
pub(super) fn encode(function: &Function, allocation: &Allocation) -> Result<Code, Unsupported> {
    let frame = Frame::of(function, allocation)?;
    let mut writer = Writer {
        encoder: Encoder::new(64),
        width: function.width,
        bytes: Vec::new(),
        frame,
        views: HashMap::new(),
        blocks: vec![0; function.blocks.len()],
        branches: Vec::new(),
        constants: Vec::new(),
        cold: Vec::new(),
        locations: Vec::new(),
    };
    writer.prologue()?;
    for index in 0..function.blocks.len() {
        writer.blocks[index] = writer.bytes.len();
        if !is_empty(function, allocation, index) {
            writer.block(function, allocation, index)?;
        }
    }
    writer.cold_calls()?;
    let instructions = writer.bytes.len();
    let loops = allocation.loops(function);
    let spills = loops.iter().map(|inner| inner.registers.spills).sum();
    let registers = Registers { used: allocation.vectors(0..function.blocks.len()), spills };
    let source = |inner: &InnerLoop| Some((function.blocks[inner.first].source?, inner.registers));
    let loops = loops.iter().filter_map(source).collect();
    let locations = std::mem::take(&mut writer.locations);
    Ok(Code { bytes: writer.finish(function), instructions, locations, registers, loops })
}

/// Whether a block only jumps to another one.
fn is_empty(function: &Function, allocation: &Allocation, index: usize) -> bool {
    let block = &function.blocks[index];
    let only_jumps = matches!(block.insts.as_slice(), [inst] if inst.kind == Kind::Jump);
    let is_move = |step: InstOrEdit<'_>| match step {
        InstOrEdit::Edit(Edit::Move { from, to }) => from != to,
        InstOrEdit::Inst(_) => false,
    };
    only_jumps && !allocation.steps(index).any(is_move)
}

/// The stack of a function, from the lowest address: arguments for others, slots, spilled values, registers around cold
/// calls, the stack pointer if it had to be aligned, saved registers.
struct Frame {
    slots: u32,
    spills: u32,
    bytes: u32,
    /// Where the stack pointer is kept if the frame is aligned to whole vectors.
    kept: Option<u32>,
    saved: Vec<PReg>,
    /// The places of registers around cold calls.
    around_calls: Vec<(PReg, SpillSlot)>,
}

impl Frame {
    fn of(function: &Function, allocation: &Allocation) -> Result<Frame, Unsupported> {
        let used = allocation.registers();
        let saved = SAVED.map(|number| PReg::new(number, RegClass::Int));
        let saved: Vec<PReg> = saved.into_iter().filter(|reg| used.contains(*reg)).collect();
        let kinds = || function.blocks.iter().flat_map(|block| &block.insts).map(|inst| inst.kind);
        let has_cold_calls = kinds().any(|kind| matches!(kind, Kind::Tile(_)));
        let mut words = allocation.output.num_spillslots;
        let around_calls = used
            .into_iter()
            .filter(|reg| has_cold_calls && !is_kept(*reg))
            .map(|reg| {
                let slot = SpillSlot::new(words);
                words += if reg.class() == RegClass::Float { function.width.bytes() / 8 } else { 1 };
                (reg, slot)
            })
            .collect();
        let slots = function.outgoing_bytes.next_multiple_of(16);
        // A vector that crosses a cache line takes several times as long to be written and read again.
        let width = function.width.bytes() as u32;
        let is_aligned = allocation.spills_vectors();
        let spills = (slots + function.slot_bytes).next_multiple_of(if is_aligned { width } else { 16 });
        let end = spills + 8 * words as u32;
        // For calls and slots the stack is aligned to 16 bytes, counting the return address and the saved registers.
        let pushed = 8 * (1 + saved.len() as u32);
        let calls = has_cold_calls || kinds().any(|kind| kind == Kind::Call);
        let kept = is_aligned.then_some(end);
        let bytes = match () {
            () if is_aligned => (end + 8).next_multiple_of(width),
            () if calls || end > 0 => (end + pushed).next_multiple_of(16) - pushed,
            () => 0,
        };
        if bytes > MAX_FRAME {
            return Err(Unsupported(format!("a frame of {bytes} bytes")));
        }
        Ok(Frame { slots, spills, bytes, kept, saved, around_calls })
    }
}

struct Writer {
    encoder: Encoder,
    width: Width,
    bytes: Vec<u8>,
    frame: Frame,
    /// The operand kinds of encodings.
    views: HashMap<Encoding, SmallVec<[View; 4]>>,
    /// The offsets of blocks.
    blocks: Vec<usize>,
    /// Distances of 4 bytes to blocks, filled in later: their offsets and the blocks.
    branches: Vec<(usize, usize)>,
    constants: Vec<Distance>,
    /// Calls to write at the end.
    cold: Vec<cold::Call>,
    /// The offsets at which the source location changes.
    locations: Vec<(usize, SourceLoc)>,
}

/// A distance of 4 bytes to a constant, filled in later.
struct Distance {
    /// Its offset.
    at: usize,
    /// The offset that it is relative to: the end of its instruction.
    end: usize,
    which: usize,
    offset: usize,
}

/// The form in which an encoding takes a register or a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Xmm,
    Ymm,
    Zmm,
    Mask,
    /// This many bits of a general purpose register.
    Bits(u32),
    Immediate(OpKind),
}

/// The operand kinds of an encoding, read from its name: `VEX_Vextracti128_xmmm128_ymm_imm8`. The tables of iced-x86
/// have them too, but take milliseconds to initialise.
fn views(code: Encoding) -> SmallVec<[View; 4]> {
    let name = format!("{code:?}");
    let parts = name.split('_').skip(if name.contains("VEX_") { 2 } else { 1 });
    // Not operands: an optional mask, and rounding.
    let parts = parts.filter(|part| !matches!(*part, "k1" | "k1z" | "er" | "sae"));
    let mut views: SmallVec<[View; 4]> = SmallVec::new();
    for part in parts {
        let bits = |of: &str| part.trim_start_matches(['r', 'm']).starts_with(of);
        views.push(match part {
            "imm8" => View::Immediate(OpKind::Immediate8),
            // A 32-bit number is sign-extended.
            "imm32" if views.first() == Some(&View::Bits(64)) => View::Immediate(OpKind::Immediate32to64),
            "imm32" => View::Immediate(OpKind::Immediate32),
            "imm64" => View::Immediate(OpKind::Immediate64),
            _ if part.starts_with('k') => View::Mask,
            _ if part.starts_with("zmm") => View::Zmm,
            _ if part.starts_with("ymm") => View::Ymm,
            _ if part.starts_with("xmm") => View::Xmm,
            _ if bits("16") => View::Bits(16),
            _ if bits("32") => View::Bits(32),
            _ if bits("64") => View::Bits(64),
            _ => View::Bits(8),
        });
    }
    views
}

fn register(reg: PReg, view: View) -> Register {
    let base = match view {
        // Skip the high halves of ax, cx, dx and bx, which are numbered in between.
        View::Bits(8) => return BYTES[reg.hw_enc()],
        View::Bits(16) => Register::AX,
        View::Bits(32) => Register::EAX,
        View::Bits(_) | View::Immediate(_) => Register::RAX,
        View::Xmm => Register::XMM0,
        View::Ymm => Register::YMM0,
        View::Zmm => Register::ZMM0,
        View::Mask => Register::K0,
    };
    base + reg.hw_enc() as u32
}

/// The low bytes of the general purpose registers, by number.
const BYTES: [Register; 16] = [
    Register::AL,
    Register::CL,
    Register::DL,
    Register::BL,
    Register::SPL,
    Register::BPL,
    Register::SIL,
    Register::DIL,
    Register::R8L,
    Register::R9L,
    Register::R10L,
    Register::R11L,
    Register::R12L,
    Register::R13L,
    Register::R14L,
    Register::R15L,
];

impl Writer {
    fn write(&mut self, instruction: &Instruction) -> Result<usize, Unsupported> {
        let before = self.bytes.len();
        self.encoder
            .encode(instruction, before as u64)
            .map_err(|error| Unsupported(format!("{instruction:?}: {error}")))?;
        let mut bytes = self.encoder.take_buffer();
        self.bytes.append(&mut bytes);
        self.encoder.set_buffer(bytes);
        Ok(before)
    }

    fn views(&mut self, code: Encoding) -> SmallVec<[View; 4]> {
        self.views.entry(code).or_insert_with(|| views(code)).clone()
    }

    fn prologue(&mut self) -> Result<(), Unsupported> {
        for reg in self.frame.saved.clone() {
            self.write(&simple(Encoding::Push_r64, &[Register::RAX + reg.hw_enc() as u32]))?;
        }
        // A frame of several pages must not skip the guard of the stack.
        let deepest = self.frame.bytes + self.frame.kept.map_or(0, |_| self.width.bytes() as u32);
        for page in 1..=deepest / PAGE {
            let mut touch = Instruction::default();
            touch.set_code(Encoding::Or_rm32_imm8);
            touch.set_op_kind(0, OpKind::Memory);
            touch.set_memory_base(Register::RSP);
            set_offset(&mut touch, -i64::from(page * PAGE));
            touch.set_op_kind(1, OpKind::Immediate8to32);
            self.write(&touch)?;
        }
        let Some(kept) = self.frame.kept else { return self.move_stack(Encoding::Sub_rm64_imm32) };
        // No argument of the function is in rax.
        self.write(&simple(Encoding::Mov_r64_rm64, &[Register::RAX, Register::RSP]))?;
        self.move_stack(Encoding::Sub_rm64_imm32)?;
        let mut align = simple(Encoding::And_rm64_imm8, &[Register::RSP]);
        align.set_op_kind(1, OpKind::Immediate8to64);
        align.set_immediate8to64(-(self.width.bytes() as i64));
        self.write(&align)?;
        let mut keep = simple(Encoding::Mov_rm64_r64, &[Register::RSP, Register::RAX]);
        keep.set_op_kind(0, OpKind::Memory);
        keep.set_memory_base(Register::RSP);
        set_offset(&mut keep, kept.into());
        self.write(&keep).map(|_| ())
    }

    fn epilogue(&mut self) -> Result<(), Unsupported> {
        match self.frame.kept {
            Some(kept) => {
                let mut restore = simple(Encoding::Mov_r64_rm64, &[Register::RSP, Register::RSP]);
                restore.set_op_kind(1, OpKind::Memory);
                restore.set_memory_base(Register::RSP);
                set_offset(&mut restore, kept.into());
                self.write(&restore)?;
            }
            None => self.move_stack(Encoding::Add_rm64_imm32)?,
        }
        for reg in self.frame.saved.clone().into_iter().rev() {
            self.write(&simple(Encoding::Pop_r64, &[Register::RAX + reg.hw_enc() as u32]))?;
        }
        self.clear_upper_halves()?;
        self.write(&simple(Encoding::Retnq, &[])).map(|_| ())
    }

    /// Code elsewhere may use instructions that are slow while upper halves are in use.
    fn clear_upper_halves(&mut self) -> Result<(), Unsupported> {
        self.write(&simple(Encoding::VEX_Vzeroupper, &[])).map(|_| ())
    }

    fn move_stack(&mut self, code: Encoding) -> Result<(), Unsupported> {
        if self.frame.bytes > 0 {
            let mut instruction = simple(code, &[Register::RSP]);
            instruction.set_op_kind(1, OpKind::Immediate32to64);
            instruction.set_immediate32to64(i64::from(self.frame.bytes));
            self.write(&instruction)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        function: &Function,
        allocation: &Allocation,
        index: usize,
    ) -> Result<(), Unsupported> {
        let block = &function.blocks[index];
        let first = allocation.first_inst(index);
        for step in allocation.steps(index) {
            match step {
                InstOrEdit::Edit(Edit::Move { from, to }) => self.transfer(*from, *to)?,
                InstOrEdit::Inst(inst) => {
                    let places = allocation.output.inst_allocs(inst);
                    let inst = &block.insts[inst.index() - first];
                    self.locate(inst.location);
                    match inst.kind {
                        Kind::Machine(code) => self.machine(code, inst, places)?,
                        Kind::Idiom(code) => self.idiom(code, places)?,
                        Kind::Arguments => {}
                        Kind::Call => {
                            self.clear_upper_halves()?;
                            self.machine(Encoding::Call_rm64, inst, places)?;
                        }
                        Kind::Tile(tile) => self.cold_call(tile, places)?,
                        Kind::Copy => self.transfer(places[1], places[0])?,
                        Kind::Jump => {
                            let target = follow(function, allocation, block.successors[0].0)?;
                            self.jump(function, allocation, index, target)?;
                        }
                        Kind::Branch(condition) => {
                            let target =
                                |which: usize| follow(function, allocation, block.successors[which].0);
                            let (yes, no) = (target(0)?, target(1)?);
                            if is_next(function, allocation, index, yes) {
                                self.branch(conditional(condition.negated()), no)?;
                            } else {
                                self.branch(conditional(condition), yes)?;
                                self.jump(function, allocation, index, no)?;
                            }
                        }
                        Kind::Return => self.epilogue()?,
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes where the code of a source location begins.
    fn locate(&mut self, location: SourceLoc) {
        let before = self.locations.last().map_or(SourceLoc::default(), |(_, before)| *before);
        if location != before {
            self.locations.push((self.bytes.len(), location));
        }
    }

    fn jump(
        &mut self,
        function: &Function,
        allocation: &Allocation,
        from: usize,
        to: usize,
    ) -> Result<(), Unsupported> {
        if is_next(function, allocation, from, to) { Ok(()) } else { self.branch(Encoding::Jmp_rel32_64, to) }
    }

    fn branch(&mut self, code: Encoding, to: usize) -> Result<(), Unsupported> {
        let at = self.open_branch(code)?;
        self.branches.push((at, to));
        Ok(())
    }

    /// A branch whose distance is filled in later. Returns the offset of the distance.
    fn open_branch(&mut self, code: Encoding) -> Result<usize, Unsupported> {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        instruction.set_op0_kind(OpKind::NearBranch64);
        instruction.set_near_branch64(0);
        self.write(&instruction)?;
        Ok(self.bytes.len() - 4)
    }

    /// Fills in the distance of a branch.
    fn close_branch(&mut self, at: usize, target: usize) {
        let distance = target as i64 - (at as i64 + 4);
        self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
    }

    /// An instruction with the registers and addresses of its operands.
    fn machine(&mut self, code: Encoding, inst: &Inst, places: &[Place]) -> Result<(), Unsupported> {
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        let views = self.views(code);
        let mut places = places.iter().copied();
        let mut next = || {
            let reg = places.next().and_then(Place::as_reg);
            reg.ok_or_else(|| Unsupported("an operand without a register".to_string()))
        };
        let mut constant = None;
        // Masks follow the operands and do not count as operands.
        let views = views.into_iter().chain(std::iter::repeat(View::Mask));
        for ((number, arg), view) in (0_u32..).zip(&inst.args).zip(views) {
            match arg {
                Arg::Under(_) | Arg::OrZero(_) => {
                    instruction.set_op_mask(register(next()?, View::Mask));
                    instruction.set_zeroing_masking(matches!(arg, Arg::OrZero(_)));
                }
                Arg::Spent(..) => {
                    next()?;
                    instruction.set_op_mask(register(next()?, View::Mask));
                }
                Arg::Def(_) | Arg::Use(_) | Arg::Anywhere(_) => {
                    instruction.set_op_kind(number, OpKind::Register);
                    instruction.set_op_register(number, register(next()?, view));
                }
                Arg::Tied(..) => {
                    next()?;
                    instruction.set_op_kind(number, OpKind::Register);
                    instruction.set_op_register(number, register(next()?, view));
                }
                Arg::Memory(memory) => {
                    instruction.set_op_kind(number, OpKind::Memory);
                    let mut offset = i64::from(memory.offset);
                    instruction.set_memory_base(match memory.base {
                        Base::Register(_) => Register::RAX + next()?.hw_enc() as u32,
                        Base::Constant(which) => {
                            constant = Some((which, memory.offset as usize));
                            Register::RIP
                        }
                        Base::Slots => {
                            offset += i64::from(self.frame.slots);
                            Register::RSP
                        }
                        Base::Outgoing => Register::RSP,
                    });
                    if let Some((_, scale)) = memory.index {
                        let index = next()?;
                        let view = match (index.class(), self.width) {
                            (RegClass::Float, Width::Ymm) => View::Ymm,
                            (RegClass::Float, Width::Zmm) => View::Zmm,
                            _ => View::Bits(64),
                        };
                        instruction.set_memory_index(register(index, view));
                        instruction.set_memory_index_scale(scale);
                    }
                    set_offset(&mut instruction, offset);
                }
                Arg::Immediate(value) => set_immediate(&mut instruction, number, view, *value),
            }
        }
        let start = self.write(&instruction)?;
        if let Some((which, offset)) = constant {
            let at = start + self.encoder.get_constant_offsets().displacement_offset();
            self.constants.push(Distance { at, end: self.bytes.len(), which, offset });
        }
        Ok(())
    }

    /// An instruction whose operands are all the register that it writes.
    fn idiom(&mut self, code: Encoding, places: &[Place]) -> Result<(), Unsupported> {
        let Some(reg) = places[0].as_reg() else {
            return Err(Unsupported("a result without a register".to_string()));
        };
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for (number, view) in (0_u32..).zip(self.views(code)) {
            if let View::Immediate(_) = view {
                set_immediate(&mut instruction, number, view, -1);
            } else {
                instruction.set_op_kind(number, OpKind::Register);
                instruction.set_op_register(number, register(reg, view));
            }
        }
        self.write(&instruction).map(|_| ())
    }

    /// A move between registers, or between a register and the stack.
    fn transfer(&mut self, from: Place, to: Place) -> Result<(), Unsupported> {
        if from == to {
            return Ok(());
        }
        let class = from.as_reg().or(to.as_reg()).map_or(RegClass::Int, PReg::class);
        let (load, store, view) = match (class, self.width) {
            (RegClass::Int, _) => (Encoding::Mov_r64_rm64, Encoding::Mov_rm64_r64, View::Bits(64)),
            (MASK, _) => (Encoding::VEX_Kmovq_kr_km64, Encoding::VEX_Kmovq_m64_kr, View::Mask),
            (_, Width::Ymm) => {
                (Encoding::VEX_Vmovups_ymm_ymmm256, Encoding::VEX_Vmovups_ymmm256_ymm, View::Ymm)
            }
            (_, Width::Zmm) => {
                (Encoding::EVEX_Vmovups_zmm_k1z_zmmm512, Encoding::EVEX_Vmovups_zmmm512_k1z_zmm, View::Zmm)
            }
        };
        let code = if to.is_reg() { load } else { store };
        let mut instruction = Instruction::default();
        instruction.set_code(code);
        for (number, place) in [to, from].into_iter().enumerate() {
            let number = number as u32;
            if let Some(reg) = place.as_reg() {
                instruction.set_op_kind(number, OpKind::Register);
                instruction.set_op_register(number, register(reg, view));
            } else if let Some(slot) = place.as_stack() {
                self.set_spilled(&mut instruction, number, slot);
            }
        }
        self.write(&instruction).map(|_| ())
    }

    /// Sets an operand to the place of a spilled value.
    fn set_spilled(&self, instruction: &mut Instruction, number: u32, slot: SpillSlot) {
        instruction.set_op_kind(number, OpKind::Memory);
        instruction.set_memory_base(Register::RSP);
        set_offset(instruction, i64::from(self.frame.spills) + 8 * slot.index() as i64);
    }

    /// The code with its distances filled in, followed by the constants.
    fn finish(mut self, function: &Function) -> Vec<u8> {
        let mut starts = Vec::new();
        let mut end = self.bytes.len().next_multiple_of(super::ALIGNMENT as usize);
        for constant in &function.constants {
            end = end.next_multiple_of(constant.len());
            starts.push(end);
            end += constant.len();
        }
        for (at, block) in std::mem::take(&mut self.branches) {
            self.close_branch(at, self.blocks[block]);
        }
        for &Distance { at, end, which, offset } in &self.constants {
            let distance = (starts[which] + offset) as i64 - end as i64;
            self.bytes[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        for (constant, start) in function.constants.iter().zip(starts) {
            self.bytes.resize(start, 0);
            self.bytes.extend_from_slice(constant);
        }
        self.bytes
    }
}

/// The block that control reaches, skipping empty blocks.
fn follow(function: &Function, allocation: &Allocation, mut block: usize) -> Result<usize, Unsupported> {
    for _ in 0..function.blocks.len() {
        if !is_empty(function, allocation, block) {
            return Ok(block);
        }
        block = function.blocks[block].successors[0].0;
    }
    Err(Unsupported("a loop that does nothing".to_string()))
}

/// Whether two blocks are adjacent.
fn is_next(function: &Function, allocation: &Allocation, from: usize, to: usize) -> bool {
    to > from && (from + 1..to).all(|between| is_empty(function, allocation, between))
}

/// An instruction on registers.
fn simple(code: Encoding, registers: &[Register]) -> Instruction {
    let mut instruction = Instruction::default();
    instruction.set_code(code);
    for (number, reg) in (0_u32..).zip(registers) {
        instruction.set_op_kind(number, OpKind::Register);
        instruction.set_op_register(number, *reg);
    }
    instruction
}

fn set_offset(instruction: &mut Instruction, offset: i64) {
    instruction.set_memory_displacement64(offset.cast_unsigned());
    // One byte if that is enough; distances to constants have four.
    let is_relative = instruction.memory_base() == Register::RIP;
    instruction.set_memory_displ_size(if is_relative { 8 } else { u32::from(offset != 0) });
}

fn set_immediate(instruction: &mut Instruction, number: u32, view: View, value: i64) {
    let View::Immediate(kind) = view else { return };
    instruction.set_op_kind(number, kind);
    match kind {
        OpKind::Immediate8 => instruction.set_immediate8(value as u8),
        OpKind::Immediate32 => instruction.set_immediate32(value as u32),
        OpKind::Immediate32to64 => instruction.set_immediate32to64(value),
        _ => instruction.set_immediate64(value.cast_unsigned()),
    }
}

fn conditional(condition: Condition) -> Encoding {
    match condition {
        Condition::Equal => Encoding::Je_rel32_64,
        Condition::NotEqual => Encoding::Jne_rel32_64,
        Condition::Less => Encoding::Jl_rel32_64,
        Condition::LessEqual => Encoding::Jle_rel32_64,
        Condition::Greater => Encoding::Jg_rel32_64,
        Condition::GreaterEqual => Encoding::Jge_rel32_64,
        Condition::Below => Encoding::Jb_rel32_64,
        Condition::BelowEqual => Encoding::Jbe_rel32_64,
        Condition::Above => Encoding::Ja_rel32_64,
        Condition::AboveEqual => Encoding::Jae_rel32_64,
    }
}
