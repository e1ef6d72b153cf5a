//! A back end for CLIF with vectors of 32 bytes on x86-64, which Cranelift's own does not have.
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
//! | `select/pressure.rs` | which constants stay in memory |
//! | `allocate.rs` | registers, by regalloc2 |
//! | `encode.rs` | the frame, moves, branches, constants: bytes, by iced-x86 |
//!
//! One CLIF instruction becomes one or a few of x86-64, which take addresses, loads and comparisons into themselves.
//! What this back end does not know is [`Unsupported`]; the kernel is then emitted once more with vectors of 16 bytes,
//! for Cranelift. So an instruction may be missing here, but never wrong.

mod allocate;
mod encode;
mod machine;
mod optimise;
mod select;
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

pub(crate) use optimise::optimise;

use cranelift_codegen::Context;
use cranelift_codegen::isa::{CallConv, TargetIsa};
use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
use std::fmt::Write;

/// Bytes of a vector register.
pub(crate) const VECTOR_BYTES: usize = 32;

/// Alignment of code and of the constants behind it.
pub(crate) const ALIGNMENT: u64 = 32;

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

/// Compiles the [optimised](optimise) function of a context, for machines with AVX2, FMA, F16C, BMI2, LZCNT and POPCNT.
///
/// # Errors
/// The first thing that is not known here.
pub(crate) fn compile(context: &Context) -> Result<Code, Unsupported> {
    let function = select::select(&context.func, &context.cfg, &context.domtree, &context.loop_analysis)?;
    let allocation = allocate::allocate(&function)?;
    encode::encode(&function, &allocation)
}
