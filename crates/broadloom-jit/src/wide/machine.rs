//! Instructions of x86-64 on virtual registers.

use broadloom_math::CpuLevel;
use cranelift_codegen::ir::{self, SourceLoc};
use iced_x86::Code;
use regalloc2::{PReg, RegClass, VReg};
use smallvec::SmallVec;

/// The vector registers of a function, which determine the encodings of its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// 32 bytes, as in AVX2.
    Ymm,
    /// 64 bytes, as in AVX-512, with separate mask registers.
    Zmm,
}

impl Width {
    /// All, the widest first.
    pub(crate) const ALL: [Width; 2] = [Width::Zmm, Width::Ymm];

    /// Bytes of a register.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Width::Ymm => 32,
            Width::Zmm => 64,
        }
    }

    /// Number of registers.
    pub(crate) fn registers(self) -> usize {
        match self {
            Width::Ymm => 16,
            Width::Zmm => 32,
        }
    }

    /// Whether code of a level may use them.
    pub(crate) fn is_of(self, level: CpuLevel) -> bool {
        match level {
            CpuLevel::Avx512 => true,
            CpuLevel::Avx2Fma => self == Width::Ymm,
            CpuLevel::Baseline | CpuLevel::Neon => false,
        }
    }
}

/// An operand of an instruction.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arg {
    /// A register that is written.
    Def(VReg),
    /// A register that is read.
    Use(VReg),
    /// A value that is read in its register or, if it has been spilled, in its slot.
    Anywhere(VReg),
    /// The first is written to the register that the second is read from.
    Tied(VReg, VReg),
    /// Memory.
    Memory(Memory),
    /// A number.
    Immediate(i64),
    /// Not an operand, but the mask register of the lanes to write. The other lanes keep their values.
    Under(VReg),
    /// Not an operand, but the mask register of the lanes to write. The other lanes become zero.
    OrZero(VReg),
    /// Not an operand, but the mask register of the lanes to write, the second; the first is the same register after the
    /// instruction has cleared it.
    Spent(VReg, VReg),
}

/// An address: `base + index * scale + offset`, or one for each lane of an index that is a vector.
#[derive(Debug, Clone, Copy)]
pub(super) struct Memory {
    pub(super) base: Base,
    pub(super) index: Option<(VReg, u32)>,
    pub(super) offset: i32,
}

/// The base of an address.
#[derive(Debug, Clone, Copy)]
pub(super) enum Base {
    Register(VReg),
    /// A constant of the function, by its number.
    Constant(usize),
    /// The stack slots of the function.
    Slots,
    /// The arguments on the stack for the functions that are called.
    Outgoing,
}

/// The operation of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An instruction of the machine.
    Machine(Code),
    /// An instruction whose operands are all the register that it writes, whatever that contains: zeros and ones. Its
    /// immediate, if it has one, is all ones.
    Idiom(Code),
    /// Takes the arguments of the function from the places where the caller put them.
    Arguments,
    /// Calls the function at the address in the first operand.
    Call,
    /// Replaces the vector in the first operand by the results of a tile function on those in the third and fourth, if the
    /// mask in the second has a lane that is set. Code at the end of the function does that. It saves all registers, so
    /// that none is reserved for it.
    Tile(Tile),
    /// Writes the second operand to the first.
    Copy,
    Jump,
    /// Jumps to the first successor if the condition holds, else to the second.
    Branch(Condition),
    Return,
}

/// A tile function for the lanes of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tile {
    /// The instruction on the mask, as both of its operands, that clears the zero flag if a lane is set.
    pub(super) test: Code,
    pub(super) address: u64,
    pub(super) lanes: u32,
}

/// A condition on the flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Below,
    BelowEqual,
    Above,
    AboveEqual,
}

impl Condition {
    pub(super) fn negated(self) -> Condition {
        match self {
            Condition::Equal => Condition::NotEqual,
            Condition::NotEqual => Condition::Equal,
            Condition::Less => Condition::GreaterEqual,
            Condition::LessEqual => Condition::Greater,
            Condition::Greater => Condition::LessEqual,
            Condition::GreaterEqual => Condition::Less,
            Condition::Below => Condition::AboveEqual,
            Condition::BelowEqual => Condition::Above,
            Condition::Above => Condition::BelowEqual,
            Condition::AboveEqual => Condition::Below,
        }
    }
}

/// An instruction.
#[derive(Debug, Clone)]
pub(super) struct Inst {
    pub(super) kind: Kind,
    /// In the order of the encoding.
    pub(super) args: SmallVec<[Arg; 4]>,
    /// The values that it reads in fixed registers.
    pub(super) fixed_uses: SmallVec<[(VReg, PReg); 2]>,
    /// The values that it writes to fixed registers.
    pub(super) fixed_defs: SmallVec<[(VReg, PReg); 2]>,
    /// The location of the CLIF from which it was made, if that has one.
    pub(super) location: SourceLoc,
}

impl Inst {
    pub(super) fn new(kind: Kind, args: &[Arg]) -> Inst {
        let (fixed_uses, fixed_defs) = (SmallVec::new(), SmallVec::new());
        let (args, location) = (args.iter().copied().collect(), SourceLoc::default());
        Inst { kind, args, fixed_uses, fixed_defs, location }
    }
}

/// A block: instructions, of which the last transfers control.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// The block of CLIF; none for a block on an edge.
    pub(super) source: Option<ir::Block>,
    pub(super) insts: Vec<Inst>,
    pub(super) params: Vec<VReg>,
    /// The successors, and the values passed to each.
    pub(super) successors: Vec<(usize, Vec<VReg>)>,
}

/// A function. Control flow has no critical edges; the first block is the entry.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) blocks: Vec<Block>,
    pub(super) vregs: usize,
    pub(super) width: Width,
    /// Constants and their bytes; their lengths are powers of two.
    pub(super) constants: Vec<Vec<u8>>,
    /// Bytes of the stack slots.
    pub(super) slot_bytes: u32,
    /// Bytes of arguments on the stack for the functions that are called.
    pub(super) outgoing_bytes: u32,
}

/// General purpose registers by their numbers in encodings.
pub(super) const RAX: PReg = PReg::new(0, RegClass::Int);
pub(super) const RCX: PReg = PReg::new(1, RegClass::Int);
pub(super) const RDX: PReg = PReg::new(2, RegClass::Int);
pub(super) const RSI: PReg = PReg::new(6, RegClass::Int);
pub(super) const RDI: PReg = PReg::new(7, RegClass::Int);
pub(super) const R8: PReg = PReg::new(8, RegClass::Int);
pub(super) const R9: PReg = PReg::new(9, RegClass::Int);

/// A vector register by its number.
pub(super) const fn vector(number: usize) -> PReg {
    PReg::new(number, RegClass::Float)
}

/// The class of mask registers.
pub(super) const MASK: RegClass = RegClass::Vector;
/// The mask registers for masked instructions: the first one means no mask there.
pub(super) const MASKS: std::ops::Range<usize> = 1..8;

/// The registers of integer arguments, in order.
pub(super) const INTEGER_ARGUMENTS: [PReg; 6] = [RDI, RSI, RDX, RCX, R8, R9];
/// Number of vector registers of float arguments.
pub(super) const FLOAT_ARGUMENTS: usize = 8;
