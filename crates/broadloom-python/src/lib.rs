//! The Python package's extension module: NumPy arrays in, lazy arrays through the text language's graph builder, NumPy
//! arrays out.
//!
//! ```text
//! call ──flatten──▶ leaves ──structure──▶ kernels ──hit──▶ bind and run, without the GIL ──▶ NumPy arrays
//!                                            └──miss──▶ the Python function, on lazy arrays ──▶ text ──▶ graph ──▶ kernel
//! ```
//!
//! Lazy arrays are names in a growing program of `broadloom-text` ([`broadloom_text::Session`]): what a function is
//! called, what it takes and what it means is said there and nowhere else.
#![deny(unsafe_code)]

mod array;
mod chunks;
mod columns;
mod dtype;
mod error;
mod fallback;
mod figures;
mod function;
mod interrupt;
mod kernel;
mod labels;
mod program;
mod state;
mod structure;
mod table;
mod texts;
mod trace;

use pyo3::prelude::*;

/// The compiled part of Broadloom.
#[pymodule(gil_used = false)]
mod _broadloom {
    /// The version of the package, as Cargo.toml has it.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use super::chunks::{Chunks, Run};
    #[pymodule_export]
    use super::columns::{Columns, Passed};
    #[pymodule_export]
    use super::figures::BroadcastFigures;
    #[pymodule_export]
    use super::function::Function;
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::program::Program;
    #[pymodule_export]
    use super::trace::{Trace, Value};
}
