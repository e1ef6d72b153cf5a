//! Decodes encoded functions, and compares them with the instructions that were meant.

use super::super::machine::Tile;
use super::super::tests::generate::{Generated, Kinds, function};
use super::super::tests::machine::{native, optimised};
use super::super::{allocate, selected};
use super::*;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpCodeOperandKind};
use std::collections::{BTreeSet, HashMap};

/// The decoded instructions, in order.
struct Decoded<'c> {
    code: &'c Code,
    all: Vec<Instruction>,
    /// The numbers of instructions, by their offsets.
    starts: HashMap<u64, usize>,
    next: usize,
}

impl<'c> Decoded<'c> {
    fn of(code: &'c Code) -> Decoded<'c> {
        let bytes = &code.bytes[..code.instructions];
        let all: Vec<Instruction> =
            Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).into_iter().collect();
        let starts = all.iter().enumerate().map(|(number, decoded)| (decoded.ip(), number)).collect();
        Decoded { code, all, starts, next: 0 }
    }

    fn next(&mut self) -> Instruction {
        self.next += 1;
        let decoded = self.all[self.next - 1];
        assert!(!decoded.is_invalid());
        decoded
    }

    /// Returns the offset at which control arrives from another, following jumps.
    fn arrives(&self, at: u64) -> u64 {
        let mut at = at;
        for _ in 0..self.all.len() {
            let decoded = self.all[self.starts[&at]];
            if decoded.mnemonic() != Mnemonic::Jmp {
                return at;
            }
            at = decoded.near_branch_target();
        }
        panic!("jumps without an end")
    }
}

/// Returns the number of a register in encodings. `ah` to `bh` are never meant.
fn number(reg: Register) -> usize {
    let low = BYTES.iter().position(|byte| *byte == reg);
    let files = [
        (Register::RAX, 16),
        (Register::EAX, 16),
        (Register::AX, 16),
        (Register::XMM0, 32),
        (Register::YMM0, 32),
        (Register::ZMM0, 32),
        (Register::K0, 8),
    ];
    let wider = files.iter().map(|(first, count)| ((reg as usize).wrapping_sub(*first as usize), *count));
    low.or(wider.into_iter().find(|(number, count)| number < count).map(|(number, _)| number))
        .expect("a register")
}

/// Whether an operand is the register of a number and a class, of any size.
fn is_register(decoded: &Instruction, operand: u32, reg: PReg) -> bool {
    let got = decoded.op_register(operand);
    let is_class = match reg.class() {
        RegClass::Int => got.is_gpr(),
        MASK => got.is_k(),
        _ => got.is_xmm() || got.is_ymm() || got.is_zmm(),
    };
    decoded.op_kind(operand) == OpKind::Register && is_class && number(got) == reg.hw_enc()
}

struct Checker<'f> {
    function: &'f Function,
    allocation: &'f Allocation,
    frame: Frame,
    /// The offsets of the constants found so far, by their numbers.
    constants: HashMap<usize, u64>,
}

impl Checker<'_> {
    /// The frame: saved registers, pages, the stack pointer.
    fn prologue(&self, decoded: &mut Decoded<'_>) {
        for reg in &self.frame.saved {
            let push = decoded.next();
            assert!(push.code() == Encoding::Push_r64 && is_register(&push, 0, *reg), "{push}");
        }
        let aligning = self.frame.kept.map_or(0, |_| self.function.width.bytes() as u32);
        for page in 1..=i64::from((self.frame.bytes + aligning) / PAGE) {
            let touch = decoded.next();
            assert_eq!((touch.mnemonic(), touch.memory_base()), (Mnemonic::Or, Register::RSP));
            assert_eq!(touch.memory_displacement64().cast_signed(), -page * i64::from(PAGE));
            assert_eq!(touch.immediate(1), 0);
        }
        let Some(kept) = self.frame.kept else { return self.stack_moves(decoded, Mnemonic::Sub) };
        let before = decoded.next();
        assert_eq!((before.mnemonic(), before.op0_register()), (Mnemonic::Mov, Register::RAX), "{before}");
        assert_eq!(before.op1_register(), Register::RSP, "{before}");
        let [moved, aligned] = [decoded.next(), decoded.next()];
        assert_eq!((moved.mnemonic(), moved.op0_register()), (Mnemonic::Sub, Register::RSP), "{moved}");
        assert_eq!(moved.immediate(1), u64::from(self.frame.bytes), "{moved}");
        assert_eq!((aligned.mnemonic(), aligned.op0_register()), (Mnemonic::And, Register::RSP), "{aligned}");
        let width = self.function.width.bytes() as i64;
        assert_eq!(aligned.immediate(1).cast_signed(), -width, "{aligned}");
        // Whole vectors are aligned then, and nothing else is where the stack pointer is kept.
        assert!(u64::from(self.frame.spills).is_multiple_of(width as u64));
        let words = u32::try_from(self.allocation.output.num_spillslots).expect("a few");
        assert!(
            (self.frame.spills + 8 * words..self.frame.bytes).contains(&kept) && kept + 8 <= self.frame.bytes
        );
        let keep = decoded.next();
        assert_eq!((keep.mnemonic(), keep.op1_register()), (Mnemonic::Mov, Register::RAX), "{keep}");
        self.memory_is(&keep, Register::RSP, None, kept.into());
    }

    fn stack_moves(&self, decoded: &mut Decoded<'_>, mnemonic: Mnemonic) {
        if self.frame.bytes > 0 {
            let moved = decoded.next();
            assert_eq!((moved.mnemonic(), moved.op0_register()), (mnemonic, Register::RSP));
            assert_eq!(moved.immediate(1), u64::from(self.frame.bytes));
        }
        // With the return address and the saved registers, the stack is aligned, if it is used.
        let pushed = 8 + 8 * self.frame.saved.len() as u32;
        assert!(self.frame.bytes == 0 || (pushed + self.frame.bytes).is_multiple_of(16));
    }

    fn epilogue(&self, decoded: &mut Decoded<'_>) {
        match self.frame.kept {
            Some(kept) => {
                let restored = decoded.next();
                assert_eq!((restored.mnemonic(), restored.op0_register()), (Mnemonic::Mov, Register::RSP));
                self.memory_is(&restored, Register::RSP, None, kept.into());
            }
            None => self.stack_moves(decoded, Mnemonic::Add),
        }
        for reg in self.frame.saved.iter().rev() {
            let pop = decoded.next();
            assert!(pop.code() == Encoding::Pop_r64 && is_register(&pop, 0, *reg), "{pop}");
        }
        assert_eq!(decoded.next().mnemonic(), Mnemonic::Vzeroupper);
        assert_eq!(decoded.next().mnemonic(), Mnemonic::Ret);
    }

    /// A call that a branch leads to, with the places of its result and of its arguments.
    fn cold_call(&self, decoded: &mut Decoded<'_>, tile: Tile, branch: &Instruction, places: &[Place]) {
        assert_eq!(branch.near_branch_target(), decoded.all[decoded.next].ip(), "{branch}");
        let around = &self.frame.around_calls;
        // Every register that the convention does not save, and that is in use.
        let clobbered = self.allocation.registers().into_iter().filter(|reg| !is_kept(*reg));
        assert_eq!(clobbered.collect::<Vec<_>>(), around.iter().map(|(reg, _)| *reg).collect::<Vec<_>>());
        for (reg, slot) in around {
            self.transfer(&decoded.next(), Place::reg(*reg), Place::stack(*slot));
        }
        // Both operands of a function of one are the same.
        let places = [places[0], places[1], places[places.len() - 1]];
        for (place, argument) in places.into_iter().zip([Register::RDI, Register::RSI, Register::RDX]) {
            let address = decoded.next();
            assert_eq!((address.mnemonic(), address.op0_register()), (Mnemonic::Lea, argument), "{address}");
            let saved = |reg: PReg| around.iter().find(|(known, _)| *known == reg).map(|(_, slot)| *slot);
            let slot = place.as_reg().map_or(place.as_stack(), saved).expect("a slot");
            let offset = i64::from(self.frame.spills) + 8 * slot.index() as i64;
            self.memory_is(&address, Register::RSP, None, offset);
        }
        for (reg, number) in [(Register::RCX, u64::from(tile.lanes)), (Register::RAX, tile.address)] {
            let moved = decoded.next();
            assert_eq!((moved.op0_register(), moved.immediate(1)), (reg, number), "{moved}");
        }
        assert_eq!(decoded.next().mnemonic(), Mnemonic::Vzeroupper);
        let call = decoded.next();
        assert_eq!((call.mnemonic(), call.op0_register()), (Mnemonic::Call, Register::RAX));
        for (reg, slot) in around {
            self.transfer(&decoded.next(), Place::stack(*slot), Place::reg(*reg));
        }
        let back = decoded.next();
        assert_eq!((back.mnemonic(), back.near_branch_target()), (Mnemonic::Jmp, branch.next_ip()));
    }

    fn memory_is(&self, decoded: &Instruction, base: Register, index: Option<(PReg, u32)>, offset: i64) {
        assert_eq!(decoded.memory_base(), base, "{decoded}");
        match index {
            None => assert_eq!(decoded.memory_index(), Register::None, "{decoded}"),
            Some((reg, scale)) => {
                assert_eq!(number(decoded.memory_index()), reg.hw_enc(), "{decoded}");
                let index = decoded.memory_index();
                let is_class = match (reg.class(), self.function.width) {
                    (RegClass::Float, Width::Ymm) => index.is_ymm(),
                    (RegClass::Float, Width::Zmm) => index.is_zmm(),
                    _ => index.is_gpr64(),
                };
                assert!(is_class, "{decoded}");
                assert_eq!(decoded.memory_index_scale(), scale, "{decoded}");
            }
        }
        assert_eq!(decoded.memory_displacement64().cast_signed(), offset, "{decoded}");
        assert_eq!(decoded.segment_prefix(), Register::None, "{decoded}");
    }

    fn transfer(&self, decoded: &Instruction, from: Place, to: Place) {
        let is_integer = from.as_reg().or(to.as_reg()).map(PReg::class) == Some(RegClass::Int);
        let is_mask = from.as_reg().or(to.as_reg()).map(PReg::class) == Some(MASK);
        let mnemonic = match () {
            () if is_integer => Mnemonic::Mov,
            () if is_mask => Mnemonic::Kmovq,
            () => Mnemonic::Vmovups,
        };
        let bytes = self.function.width.bytes();
        assert_eq!(decoded.mnemonic(), mnemonic);
        for (operand, place) in [(0, to), (1, from)] {
            match (place.as_reg(), place.as_stack()) {
                (Some(reg), _) => {
                    assert!(is_register(decoded, operand, reg), "{decoded}");
                    let whole = decoded.op_register(operand);
                    assert!(whole.is_gpr64() || whole.is_k() || whole.is_zmm() == (bytes == 64), "{decoded}");
                }
                (_, Some(slot)) => {
                    assert_eq!(decoded.op_kind(operand), OpKind::Memory);
                    let offset = i64::from(self.frame.spills) + 8 * slot.index() as i64;
                    self.memory_is(decoded, Register::RSP, None, offset);
                    let bytes = if is_integer || is_mask { 8 } else { bytes };
                    assert_eq!(decoded.memory_size().size(), bytes, "{decoded}");
                    assert!(
                        offset as u32 + bytes as u32 <= self.frame.kept.unwrap_or(self.frame.bytes),
                        "{decoded}"
                    );
                    // Registers around cold calls come after the spilled values, and need not be aligned.
                    let is_spilled = slot.index() < self.allocation.output.num_spillslots;
                    assert!(!is_spilled || (offset as usize).is_multiple_of(bytes), "{decoded}");
                }
                _ => panic!("a move of nothing"),
            }
        }
    }

    fn machine(
        &mut self,
        decoded: &Instruction,
        code: Encoding,
        inst: &Inst,
        places: &[Place],
        bytes: &[u8],
    ) {
        assert_eq!(decoded.code(), code, "{decoded}");
        let mut places = places.iter().filter_map(|place| place.as_reg());
        let mut next = || places.next().expect("a register");
        let is_masked =
            inst.args.iter().any(|arg| matches!(arg, Arg::Under(_) | Arg::OrZero(_) | Arg::Spent(..)));
        assert_eq!(decoded.has_op_mask(), is_masked, "{decoded}");
        assert_eq!(decoded.op_count() as usize + usize::from(is_masked), inst.args.len(), "{decoded}");
        for (operand, arg) in (0_u32..).zip(&inst.args) {
            match *arg {
                Arg::Under(_) | Arg::OrZero(_) => {
                    assert_eq!(number(decoded.op_mask()), next().hw_enc(), "{decoded}");
                    assert_eq!(decoded.zeroing_masking(), matches!(arg, Arg::OrZero(_)), "{decoded}");
                }
                Arg::Spent(..) => {
                    let [from, to] = [next(), next()];
                    assert_eq!(from, to, "{decoded}");
                    assert_eq!(number(decoded.op_mask()), to.hw_enc(), "{decoded}");
                }
                Arg::Anywhere(_) => panic!("an operand of cold calls"),
                Arg::Def(_) | Arg::Use(_) => assert!(is_register(decoded, operand, next()), "{decoded}"),
                Arg::Tied(..) => {
                    let [from, to] = [next(), next()];
                    assert_eq!(from, to, "{decoded}");
                    assert!(is_register(decoded, operand, to), "{decoded}");
                }
                Arg::Memory(memory) => {
                    assert_eq!(decoded.op_kind(operand), OpKind::Memory, "{decoded}");
                    let offset = i64::from(memory.offset);
                    let (base, offset) = match memory.base {
                        Base::Register(_) => (Register::RAX + next().hw_enc() as u32, offset),
                        Base::Slots => {
                            assert!(offset as u32 <= self.function.slot_bytes, "{decoded}");
                            (Register::RSP, offset + i64::from(self.frame.slots))
                        }
                        Base::Outgoing => {
                            assert!(offset + 8 <= i64::from(self.function.outgoing_bytes));
                            (Register::RSP, offset)
                        }
                        Base::Constant(which) => {
                            self.constant(decoded, which, memory.offset, bytes);
                            continue;
                        }
                    };
                    let index = memory.index.map(|(_, scale)| (next(), scale));
                    self.memory_is(decoded, base, index, offset);
                }
                Arg::Immediate(value) => {
                    let kind = code.op_code().op_kind(operand);
                    let mask = match kind {
                        OpCodeOperandKind::imm8 => 0xff,
                        OpCodeOperandKind::imm32 => 0xffff_ffff,
                        _ => u64::MAX,
                    };
                    assert_eq!(decoded.immediate(operand) & mask, value.cast_unsigned() & mask, "{decoded}");
                    // The bits that are cut off are those that the instruction adds.
                    if mask == 0xffff_ffff {
                        assert!(i32::try_from(value).is_ok() || u32::try_from(value).is_ok(), "{decoded}");
                    }
                }
            }
        }
    }

    /// An operand that is a constant after the code, with the same bytes wherever it is read.
    fn constant(&mut self, decoded: &Instruction, which: usize, offset: i32, bytes: &[u8]) {
        assert!(decoded.is_ip_rel_memory_operand(), "{decoded}");
        let at = decoded.ip_rel_memory_address() - offset as u64;
        let expected = &self.function.constants[which];
        assert_eq!(&bytes[at as usize..][..expected.len()], expected.as_slice(), "{decoded}");
        assert!(at.is_multiple_of(expected.len() as u64), "{decoded}");
        assert_eq!(*self.constants.entry(which).or_insert(at), at, "{decoded}");
        let read = decoded.memory_size().size();
        assert!(
            offset as usize + read <= expected.len(),
            "{decoded} reads beyond a constant of {expected:?}"
        );
    }
}

/// The condition of a jump, by its mnemonic.
fn condition_of(mnemonic: Mnemonic) -> Condition {
    match mnemonic {
        Mnemonic::Je => Condition::Equal,
        Mnemonic::Jne => Condition::NotEqual,
        Mnemonic::Jl => Condition::Less,
        Mnemonic::Jle => Condition::LessEqual,
        Mnemonic::Jg => Condition::Greater,
        Mnemonic::Jge => Condition::GreaterEqual,
        Mnemonic::Jb => Condition::Below,
        Mnemonic::Jbe => Condition::BelowEqual,
        Mnemonic::Ja => Condition::Above,
        Mnemonic::Jae => Condition::AboveEqual,
        other => panic!("{other:?}"),
    }
}

/// The condition that holds where another one does not.
fn opposite(condition: Condition) -> Condition {
    match condition {
        Condition::Equal => Condition::NotEqual,
        Condition::NotEqual => Condition::Equal,
        Condition::Less => Condition::GreaterEqual,
        Condition::GreaterEqual => Condition::Less,
        Condition::LessEqual => Condition::Greater,
        Condition::Greater => Condition::LessEqual,
        Condition::Below => Condition::AboveEqual,
        Condition::AboveEqual => Condition::Below,
        Condition::BelowEqual => Condition::Above,
        Condition::Above => Condition::BelowEqual,
    }
}

/// Checks the code of a function. Returns the mnemonics in it.
fn check(function: &Function, allocation: &Allocation, code: &Code) -> BTreeSet<Mnemonic> {
    let mut decoded = Decoded::of(code);
    let frame = Frame::of(function, allocation).expect("a frame");
    let mut checker = Checker { function, allocation, frame, constants: HashMap::new() };
    checker.prologue(&mut decoded);
    // The starts of blocks, and the jumps at their ends, which are checked once all starts are known.
    let mut starts = Vec::new();
    let mut ends: Vec<(usize, Vec<Instruction>, u64)> = Vec::new();
    let mut cold = Vec::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let place = |decoded: &Decoded<'_>| {
            decoded.all.get(decoded.next).map_or(code.instructions as u64, Instruction::ip)
        };
        starts.push(place(&decoded));
        let first = checker.allocation.first_inst(index);
        for step in checker.allocation.steps(index) {
            match step {
                InstOrEdit::Edit(Edit::Move { from, to }) if from == to => {}
                InstOrEdit::Edit(Edit::Move { from, to }) => checker.transfer(&decoded.next(), *from, *to),
                InstOrEdit::Inst(inst) => {
                    let places = checker.allocation.output.inst_allocs(inst);
                    let inst = &block.insts[inst.index() - first];
                    match inst.kind {
                        Kind::Arguments => {}
                        Kind::Machine(encoding) => {
                            checker.machine(&decoded.next(), encoding, inst, places, &code.bytes);
                        }
                        Kind::Idiom(encoding) => {
                            let decoded = decoded.next();
                            assert_eq!(decoded.code(), encoding, "{decoded}");
                            let reg = places[0].as_reg().expect("a register");
                            let same = |operand| match decoded.op_kind(operand) {
                                OpKind::Immediate8 => decoded.immediate8() == 0xff,
                                _ => is_register(&decoded, operand, reg),
                            };
                            assert!((0..decoded.op_count()).all(same), "{decoded}");
                        }
                        Kind::Call => {
                            assert_eq!(decoded.next().mnemonic(), Mnemonic::Vzeroupper);
                            let call = decoded.next();
                            checker.machine(&call, Encoding::Call_rm64, inst, places, &code.bytes);
                        }
                        Kind::Tile(tile) => {
                            let (test, branch) = (decoded.next(), decoded.next());
                            assert_eq!(test.code(), tile.test, "{test}");
                            let mask = places[2].as_reg().expect("a register");
                            assert!(
                                [0, 1].iter().all(|operand| is_register(&test, *operand, mask)),
                                "{test}"
                            );
                            assert_eq!(branch.mnemonic(), Mnemonic::Jne, "{branch}");
                            assert_eq!(places[0], places[1]);
                            cold.push((tile, branch, [&[places[1]], &places[3..]].concat()));
                        }
                        Kind::Copy if places[0] == places[1] => {}
                        Kind::Copy => checker.transfer(&decoded.next(), places[1], places[0]),
                        Kind::Jump | Kind::Branch(_) => {
                            if is_empty(function, allocation, index) {
                                continue;
                            }
                            let mut jumps = Vec::new();
                            if inst.kind != Kind::Jump {
                                jumps.push(decoded.next());
                            }
                            // No block begins with a jump: one that only jumps is empty.
                            let next = decoded.all.get(decoded.next);
                            if next.is_some_and(|next| next.mnemonic() == Mnemonic::Jmp) {
                                jumps.push(decoded.next());
                            }
                            ends.push((index, jumps, place(&decoded)));
                        }
                        Kind::Return => checker.epilogue(&mut decoded),
                    }
                }
            }
        }
    }
    for (tile, branch, places) in cold {
        checker.cold_call(&mut decoded, tile, &branch, &places);
    }
    assert_eq!(decoded.next, decoded.all.len(), "instructions that nobody meant");
    for jump in decoded.all.iter().filter(|inst| inst.op0_kind() == OpKind::NearBranch64) {
        assert!(decoded.starts.contains_key(&jump.near_branch_target()), "{jump} goes between instructions");
    }
    let meant = |block: usize| {
        let block = follow(function, allocation, block).expect("a block that is not empty");
        decoded.arrives(starts[block])
    };
    for (index, jumps, after) in ends {
        let block = &function.blocks[index];
        let last = jumps.last().filter(|jump| jump.mnemonic() == Mnemonic::Jmp);
        let otherwise = decoded.arrives(last.map_or(after, Instruction::near_branch_target));
        match block.insts.last().map(|inst| inst.kind) {
            Some(Kind::Branch(condition)) => {
                let taken = decoded.arrives(jumps[0].near_branch_target());
                let got = condition_of(jumps[0].mnemonic());
                let [yes, no] = if got == condition {
                    [taken, otherwise]
                } else {
                    assert_eq!(got, opposite(condition));
                    [otherwise, taken]
                };
                assert_eq!(yes, meant(block.successors[0].0), "block {index}");
                assert_eq!(no, meant(block.successors[1].0), "block {index}");
            }
            _ => assert_eq!(otherwise, meant(block.successors[0].0), "block {index}"),
        }
    }
    let mut constants: Vec<(u64, usize)> =
        checker.constants.iter().map(|(which, at)| (*at, function.constants[*which].len())).collect();
    constants.sort_unstable();
    assert!(constants.first().is_none_or(|(at, _)| *at >= decoded.code.instructions as u64));
    assert!(constants.windows(2).all(|pair| pair[0].0 + pair[0].1 as u64 <= pair[1].0), "constants overlap");
    decoded.all.iter().map(Instruction::mnemonic).collect()
}

#[test]
fn what_is_decoded_is_what_was_meant() {
    // The encoding does not depend on this machine; only running it does.
    let isa = native();
    let mut met = BTreeSet::new();
    for (seed, kinds) in (0..600).map(|seed| {
        let slot = if seed % 10 == 0 { 20_000 } else { 96 };
        let width = if seed % 2 == 0 { Width::Ymm } else { Width::Zmm };
        (7000 + seed, Kinds { width, vectors: seed % 3 > 0, slot })
    }) {
        let Generated { func, .. } = function(&*isa, seed, kinds);
        let context = optimised(&*isa, &func);
        let function = selected(&context, kinds.width).expect("a known function");
        let allocation = allocate::allocate(&function).expect("registers");
        let code = encode(&function, &allocation).expect("code");
        met.extend(check(&function, &allocation, &code));
    }
    assert!(met.len() > 260, "{} mnemonics", met.len());
}
