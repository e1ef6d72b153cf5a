//! A back end for CLIF with vectors of 32 or 64 bytes on x86-64, which Cranelift's own back end lacks.
//!
//! ```text
//! CLIF ─optimise─▶ CLIF ─select, split─▶ instructions on virtual registers ─allocate─▶ registers ─encode─▶ bytes
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `machine.rs` | an instruction: an encoding of iced-x86, and virtual registers for its operands |
//! | `optimise.rs` | moves pure instructions out of loops, and computes none twice |
//! | `select.rs` | walks a function from its end to its start and takes what is needed; blocks, control flow |
//! | `select/calls.rs` | calls of functions of the host |
//! | `select/memory.rs` | addresses, loads and stores |
//! | `select/integers.rs`, `select/floats.rs` | scalars |
//! | `select/vectors.rs`, `select/lane_integers.rs`, `select/convert.rs`, `select/lanes.rs` | vectors |
//! | `select/masks.rs` | AVX-512's masks |
//! | `select/pressure.rs` | constants that stay in memory |
//! | `split.rs` | copies of vectors around loops without calls |
//! | `codes.rs` | maps encodings of 32 bytes to those of 64 |
//! | `allocate.rs` | registers, by regalloc2 |
//! | `encode.rs` | the frame, moves, branches, constants: bytes, by iced-x86 |
//! | `encode/cold.rs` | calls of tile functions for rare lanes, after all other code |
//!
//! One CLIF instruction becomes one or a few of x86-64, which absorb addresses, loads and comparisons. Instructions
//! are selected by their names for 32 bytes; a function of 64 bytes gets its encodings from the table in `codes.rs`.
//! Where there is no such name, or a better instruction, selection checks the [`Width`]. Scalars stay in the 16
//! registers that the short encodings can name. Anything that this back end lacks is [`Unsupported`]; the kernel is
//! then emitted again with narrower vectors, for Cranelift those of 16 bytes. So a missing instruction costs speed,
//! never correctness.

mod allocate;
mod codes;
mod encode;
mod machine;
mod optimise;
mod select;
mod split;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

pub(crate) use machine::Width;
pub(crate) use optimise::optimise;

use crate::assembly::{self, Instruction};
use cranelift_codegen::Context;
use cranelift_codegen::ir::{Block, SourceLoc};
use cranelift_codegen::isa::{CallConv, TargetIsa};

/// The alignment of code and of the constants after it.
pub(crate) const ALIGNMENT: u64 = 64;

/// Position-independent machine code: it refers only to itself.
pub(crate) struct Code {
    /// Instructions, followed by constants.
    pub(crate) bytes: Vec<u8>,
    /// The number of bytes of the instructions.
    instructions: usize,
    /// The offsets at which the source location changes, and the locations from there on; none if CLIF has none.
    locations: Vec<(usize, SourceLoc)>,
    /// Its use of registers.
    pub(crate) registers: Registers,
    /// The use of registers in each innermost loop, by its first block.
    pub(crate) loops: Vec<(Block, Registers)>,
}

/// The use of vector registers in a kernel or an innermost loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The number of registers used.
    pub used: usize,
    /// Moves of any registers to and from the stack in innermost loops, summed over their code.
    pub spills: usize,
}

impl Code {
    /// Returns the instructions as text.
    pub(crate) fn assembly(&self) -> Vec<Instruction> {
        assembly::decoded(&self.bytes[..self.instructions], &self.locations)
    }
}

/// The reason why there is no code, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsupported(pub(crate) String);

/// Returns whether this back end supports an instruction set: x86-64 with the System V calling convention.
pub(crate) fn serves(isa: &dyn TargetIsa) -> bool {
    isa.name() == "x64" && isa.default_call_conv() == CallConv::SystemV
}

/// Compiles the [optimised](optimise) function of a context, all of whose vectors have one width: for machines with
/// AVX2, FMA, F16C, BMI2, LZCNT and POPCNT, and for 64 bytes AVX-512 F, BW, DQ and VL.
///
/// # Errors
/// Returns the first thing that this back end does not support.
pub(crate) fn compile(context: &Context, width: Width) -> Result<Code, Unsupported> {
    let function = selected(context, width)?;
    let allocation = allocate::allocate(&function)?;
    encode::encode(&function, &allocation)
}

/// Returns the instructions of a function, on virtual registers.
fn selected(context: &Context, width: Width) -> Result<machine::Function, Unsupported> {
    let mut function = select::select(context, width)?;
    split::split(&mut function, context);
    Ok(function)
}
