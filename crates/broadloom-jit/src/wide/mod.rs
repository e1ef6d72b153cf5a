//! A back end for CLIF with vectors of 32 or 64 bytes on x86-64, which Cranelift's own back end lacks.
//!
//! ```text
//! CLIF ─optimise─▶ CLIF ─select─▶ instructions on virtual registers ─allocate─▶ registers ─encode─▶ bytes
//! ```
//!
//! | file | what |
//! | --- | --- |
//! | `machine.rs` | an instruction: an encoding of iced-x86, and virtual registers for its operands |
//! | `optimise.rs` | moves pure instructions out of loops, and computes none twice |
//! | `select.rs` | walks a function from its end to its start and takes what is needed; blocks, control flow, calls |
//! | `select/memory.rs` | addresses, loads and stores |
//! | `select/integers.rs`, `select/floats.rs` | scalars |
//! | `select/vectors.rs`, `select/convert.rs`, `select/lanes.rs` | vectors |
//! | `select/masks.rs` | what AVX-512 does by masks |
//! | `select/pressure.rs` | which constants stay in memory |
//! | `codes.rs` | the encodings of 64 bytes, by those of 32 |
//! | `allocate.rs` | registers, by regalloc2 |
//! | `encode.rs` | the frame, moves, branches, constants: bytes, by iced-x86 |
//!
//! One CLIF instruction becomes one or a few of x86-64, which take addresses, loads and comparisons into themselves.
//! Instructions are selected by their names for 32 bytes. A function of 64 gets their encodings from the table in
//! `codes.rs`; what has no such name, or a better way, is where selection asks for the [`Width`]. Scalars stay in the 16
//! registers that the short encodings can name.
//! What this back end does not know is [`Unsupported`]; the kernel is then emitted once more with narrower vectors, those of
//! 16 bytes for Cranelift. So an instruction may be missing here, but never wrong.

mod allocate;
mod codes;
mod encode;
mod machine;
mod optimise;
mod select;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

pub(crate) use machine::Width;
pub(crate) use optimise::optimise;

use cranelift_codegen::Context;
use cranelift_codegen::isa::{CallConv, TargetIsa};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use std::fmt::Write;

/// Alignment of code and of the constants behind it.
pub(crate) const ALIGNMENT: u64 = 64;

/// Machine code that can lie anywhere: it refers to itself alone.
pub(crate) struct Code {
    /// Instructions, and constants behind them.
    pub(crate) bytes: Vec<u8>,
    /// Bytes of the instructions.
    instructions: usize,
    /// What it does with registers.
    pub(crate) registers: Registers,
}

/// What the code of a kernel does with vector registers, as far as its loops are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// How many of them it uses.
    pub used: usize,
    /// Moves of any registers to and from the stack in loops that have no loop in them.
    pub spills: usize,
}

impl Code {
    /// The instructions as text, each with its place, in the notation of Intel.
    pub(crate) fn assembly(&self) -> String {
        let mut text = String::new();
        let mut formatter = IntelFormatter::new();
        formatter.options_mut().set_rip_relative_addresses(true);
        for instruction in
            &mut Decoder::with_ip(64, &self.bytes[..self.instructions], 0, DecoderOptions::NONE)
        {
            let _ = write!(text, "{:6x}  ", instruction.ip());
            formatter.format(&instruction, &mut text);
            text.push('\n');
        }
        text
    }
}

/// What stands in the way of code, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsupported(pub(crate) String);

/// Whether this is a back end for an instruction set: x86-64 with the calling convention of System V.
pub(crate) fn serves(isa: &dyn TargetIsa) -> bool {
    isa.name() == "x64" && isa.default_call_conv() == CallConv::SystemV
}

/// Compiles the [optimised](optimise) function of a context, all of whose vectors have one width: for machines with AVX2,
/// FMA, F16C, BMI2, LZCNT and POPCNT, and for 64 bytes AVX-512 F, BW, DQ and VL.
///
/// # Errors
/// The first thing that is not known here.
pub(crate) fn compile(context: &Context, width: Width) -> Result<Code, Unsupported> {
    let function = select::select(context, width)?;
    let allocation = allocate::allocate(&function)?;
    encode::encode(&function, &allocation)
}
