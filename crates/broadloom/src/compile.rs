//! The pipeline.
//!
//! ```text
//!             finish               lower              compile                bind            run
//! Graph ─────────────▶ CheckedGraph ─────▶ Schedule ─────────▶ Executable ─────────▶ Bound ──────▶ Outputs
//!       Diagnostics                                CompileError            BindError        RunError
//! ```
//!
//! A checked graph is proof of well-typed and well-shaped expressions; an executable has it and one or more
//! variants, each a schedule with its machine code, for the layouts of arrays that were met; a bound executable is
//! proof that the arrays fit. No stage checks again what an earlier one proved.

use crate::bind::Program;
use crate::executable::{Executable, Inner, Variant};
pub use crate::options::{CompileOptions, Threads};
use broadloom_ir::SymbolId;
use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::CheckedGraph;
use broadloom_jit::{CpuLevel, JitOptions};
use broadloom_loops::kernel::{Schedule, Specialisation};
use broadloom_loops::{Hazard, IndexWidth, LowerError, LowerOptions};
use std::fmt;
use std::time::Instant;
use thiserror::Error;

/// Compiles a checked graph for dense arrays; other layouts are compiled when they are met.
pub(crate) fn compile(graph: &CheckedGraph, options: &CompileOptions) -> Result<Executable, CompileError> {
    compile_part(graph, options, None)
}

/// Like [`compile`], for arrays whose axes of the size `tail` are the last few rows of many.
pub(crate) fn compile_part(
    graph: &CheckedGraph,
    options: &CompileOptions,
    tail: Option<Dim>,
) -> Result<Executable, CompileError> {
    let start = Instant::now();
    let level = options.level.unwrap_or_else(CpuLevel::detect);
    let lower_options = LowerOptions {
        vectorize: options.vectorize,
        tail,
        target: broadloom_jit::target_of(level),
        ..LowerOptions::dense(graph, level.is_fused())
    };
    let dense = compile_variant(graph, &lower_options, level, false)?;
    let program = Program::new(graph);
    let inner = Inner::new(graph.clone(), options.clone(), program, lower_options, level, dense);
    if is_likely_wide(graph, &inner.dense.schedule) {
        let wide = LowerOptions { index_width: IndexWidth::Wide, ..inner.dense_options.clone() };
        inner.variant(&wide)?;
    }
    Ok(Executable::new(inner, start.elapsed()))
}

/// Whether axes of the sizes to be expected are too long for indices of 32 bits.
fn is_likely_wide(graph: &CheckedGraph, schedule: &Schedule) -> bool {
    let likely = |symbol: SymbolId| {
        let info = graph.symbols().get(symbol.index())?;
        Some(info.likely? / info.unit)
    };
    let mut narrow = schedule.assumptions.iter().filter(|each| each.of == Specialisation::NarrowIndices);
    narrow.any(|each| each.size.evaluate(&likely).is_ok_and(|size| !each.holds(size)))
}

/// Schedule and machine code for one choice of layouts.
pub(crate) fn compile_variant(
    graph: &CheckedGraph,
    options: &LowerOptions,
    level: CpuLevel,
    keep_text: bool,
) -> Result<Variant, CompileError> {
    let schedule = broadloom_loops::lower(graph, options)?;
    let module =
        broadloom_jit::compile(&schedule, &JitOptions { level, keep_text, verify: cfg!(debug_assertions) })?;
    let asides = graph.outputs().iter().enumerate().map(|(index, output)| match output.assigned {
        Some(_) if graph.can_fail() => Some(Aside::CanFail),
        Some(input) => broadloom_loops::in_place(&schedule, index, input).err().map(Aside::Hazard),
        None => None,
    });
    Ok(Variant { asides: asides.collect(), schedule, module })
}

/// Why an assigned value is not written to its array directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Aside {
    /// The data may have no result; then the array keeps its values.
    CanFail,
    /// A value would be overwritten before it is read.
    Hazard(Hazard),
}

impl fmt::Display for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Aside::CanFail => f.write_str("the graph may fail on data"),
            Aside::Hazard(hazard) => fmt::Display::fmt(hazard, f),
        }
    }
}

/// Why there is no kernel.
#[derive(Error)]
#[non_exhaustive]
pub enum CompileError {
    /// Mistakes in the graph.
    #[error(transparent)]
    Graph(#[from] Diagnostics),
    /// The graph cannot be scheduled.
    #[error(transparent)]
    Schedule(#[from] LowerError),
    /// The schedule cannot be compiled.
    #[error(transparent)]
    Code(#[from] broadloom_jit::CompileError),
}

impl fmt::Debug for CompileError {
    /// The full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::Graph(diagnostics) => fmt::Debug::fmt(diagnostics, f),
            CompileError::Schedule(error) => fmt::Debug::fmt(error, f),
            CompileError::Code(error) => fmt::Debug::fmt(error, f),
        }
    }
}
