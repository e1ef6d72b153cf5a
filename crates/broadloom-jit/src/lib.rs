//! Machine code for loop schedules.
//!
//! ```text
//! Schedule ──compile──▶ Module ──run(kernel, arguments, range)──▶ arrays
//!              │            └── owns the code memory; Send + Sync; freed on drop
//!              ├── generate   statements and loops
//!              ├── emit       ops on several neighbours at once, in registers of 16, 32 or 64 bytes
//!              └── wide       machine code for 32 and 64 bytes; that for 16 is Cranelift's
//! ```
//!
//! All of Cranelift is in this crate, and none of it in the crate's interface. The crate sees loops, never the
//! graph.
#![deny(unsafe_code)]

mod assembly;
mod emit;
#[cfg(test)]
mod emulator;
mod failure;
mod generate;
mod module;
mod notes;
mod thresholds;
mod wide;

pub use assembly::Instruction;
/// The instructions that code may use, and the numerics that go with them.
pub use broadloom_math::CpuLevel;
/// What ends a run early.
pub use broadloom_math::Stop;
pub use failure::{Failure, FailureAt};
pub use module::{CompileError, JitOptions, Module, UnknownKernel, Vectors, compile, target_of};
pub use notes::LoopCode;
pub use wide::Registers;
