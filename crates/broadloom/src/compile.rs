//! The pipeline.
//!
//! ```text
//!             finish              prepare, lower          compile                bind            run
//! Graph ─────────────▶ CheckedGraph ───────────▶ Schedule ─────────▶ Executable ─────────▶ Bound ──────▶ Outputs
//!       Diagnostics                                      CompileError            BindError        RunError
//! ```
//!
//! A checked graph is proof of well-typed and well-shaped expressions; an executable has it and one or more
//! variants, each a schedule with its machine code, for the layouts of arrays and short sizes that were met; a bound
//! executable is proof that the arrays fit. No stage checks again what an earlier one proved.
//!
//! What is lowered is the graph in [canonical and simplified](broadloom_ir::transform) form. A schedule that leaves here
//! speaks of the expressions of the graph that the user wrote, and so do errors of runs and explanations.

use crate::compiled::Inner;
use crate::options::CompileOptions;
use crate::variant::{CompileError, Variant, Variants};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::transform::prepare;
use broadloom_jit::{CpuLevel, JitOptions};
use broadloom_loops::kernel::{Schedule, Specialisation};
use broadloom_loops::{IndexWidth, LowerOptions};
use std::time::Instant;

/// Compiles a checked graph for dense arrays; other layouts are compiled when they are met.
pub(crate) fn compile(graph: &CheckedGraph, options: &CompileOptions) -> Result<Inner, CompileError> {
    compile_part(graph, options, None)
}

/// Like [`compile`], for arrays whose axes of the size `tail` are the last few rows of many.
pub(crate) fn compile_part(
    graph: &CheckedGraph,
    options: &CompileOptions,
    tail: Option<Dim>,
) -> Result<Inner, CompileError> {
    let start = Instant::now();
    let level = options.level.unwrap_or_else(CpuLevel::detect);
    let machine = JitOptions { vector_bytes: options.vector_bytes, ..JitOptions::of(level) };
    let facts = LowerOptions {
        vectorize: options.vectorize,
        tail,
        target: broadloom_jit::target_of(level),
        ..LowerOptions::dense(graph, level.is_fused())
    };
    let prepared = prepare(graph);
    let general = Variant::compile(&prepared, &facts, &machine)?;
    let is_likely_wide = is_likely_wide(graph, &general.schedule);
    let variants = Variants::new(prepared, machine, general);
    if is_likely_wide {
        variants.get(LowerOptions { index_width: IndexWidth::Wide, ..facts })?;
    }
    Ok(Inner::new(graph.clone(), options.clone(), variants, start.elapsed()))
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
