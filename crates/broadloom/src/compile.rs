//! The compilation pipeline.
//!
//! ```text
//!             finish              prepare, lower          compile                bind            run
//! Graph ─────────────▶ CheckedGraph ───────────▶ Schedule ─────────▶ Executable ─────────▶ Bound ──────▶ Outputs
//!       Diagnostics                                      CompileError            BindError        RunError
//! ```
//!
//! A checked graph proves that its expressions are well-typed and well-shaped. An executable holds such a graph and
//! one or more variants, each a schedule with its machine code, for the array layouts and short sizes that calls
//! have used. A bound executable proves that the arrays fit. No stage checks again what an earlier one proved.
//!
//! Lowering takes the graph in [canonical and simplified](broadloom_ir::transform) form. A schedule that leaves
//! here refers to the expressions of the graph that the user wrote, and so do runtime errors and explanations.

use crate::compiled::{Code, Inner};
use crate::options::CompileOptions;
use crate::phased::compile_phases;
use crate::staged::compile_stages;
use crate::variant::{CompileError, Variant, Variants};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::transform::prepare;
use broadloom_ir::{phases, stages};
use broadloom_jit::{CpuLevel, JitOptions};
use broadloom_loops::kernel::{Role, Schedule, Specialisation};
use broadloom_loops::{IndexWidth, LowerOptions};
use std::time::Instant;

/// Compiles a checked graph for dense arrays; other layouts are compiled on first use.
pub(crate) fn compile(graph: &CheckedGraph, options: &CompileOptions) -> Result<Inner, CompileError> {
    compile_part(graph, options, None)
}

/// Like [`compile`], for arrays whose axes of size `tail` hold the last few of many rows.
pub(crate) fn compile_part(
    graph: &CheckedGraph,
    options: &CompileOptions,
    tail: Option<Dim>,
) -> Result<Inner, CompileError> {
    let start = Instant::now();
    if let Some(phases) = phases::split(graph)? {
        let code = Code::Phases(compile_phases(graph, phases, options, tail.as_ref())?);
        return Ok(Inner::of_code(graph.clone(), options.clone(), code, start.elapsed()));
    }
    if let Some(stages) = stages::split(graph)? {
        let staged = compile_stages(stages, options, tail.as_ref())?;
        return Ok(Inner::of_code(graph.clone(), options.clone(), Code::Stages(staged), start.elapsed()));
    }
    let (level, facts) = facts_of(graph, options, tail);
    let machine = JitOptions { vector_bytes: options.vector_bytes, ..JitOptions::of(level) };
    let prepared = prepare(graph);
    let general = Variant::compile(&prepared, &facts, &machine)?;
    let is_likely_wide = is_likely_wide(graph, &general.schedule);
    let variants = Variants::new(prepared, machine, general);
    if is_likely_wide {
        variants.get(LowerOptions { index_width: IndexWidth::Wide, ..facts })?;
    }
    Ok(Inner::new(graph.clone(), options.clone(), variants, start.elapsed()))
}

/// Returns the level of machine code, and what it relies on for dense arrays of all sizes.
fn facts_of(graph: &CheckedGraph, options: &CompileOptions, tail: Option<Dim>) -> (CpuLevel, LowerOptions) {
    let level = options.level.unwrap_or_else(CpuLevel::detect);
    let facts = LowerOptions {
        vectorize: options.vectorize,
        max_values: options.max_values,
        tail,
        target: broadloom_jit::target_of(level, options.vector_bytes),
        ..LowerOptions::dense(graph, level.is_fused())
    };
    (level, facts)
}

/// What the kernels of a graph would do.
pub(crate) struct Outlook {
    /// The number of kernels.
    pub(crate) kernels: usize,
    /// The number of arrays that they store between them.
    pub(crate) stored: usize,
    /// Whether they write each assigned value over its input.
    pub(crate) is_in_place: bool,
}

/// Returns what the kernels of a graph would do; `None` for a graph that has loops.
pub(crate) fn outlook(graph: &CheckedGraph, options: &CompileOptions) -> Option<Outlook> {
    let prepared = prepare(graph);
    let (_, facts) = facts_of(graph, options, None);
    let schedule = broadloom_loops::lower(&prepared.graph, &facts).ok()?;
    let assigned = graph.outputs().iter().enumerate();
    let mut assigned = assigned.filter_map(|(index, output)| Some((index, output.assigned?)));
    let is_in_place =
        assigned.all(|(index, input)| broadloom_loops::in_place(&schedule, index, input).is_ok());
    let stored = schedule.buffers.iter().filter(|buffer| buffer.role == Role::Temporary).count();
    Some(Outlook { kernels: schedule.kernels.len(), stored, is_in_place })
}

/// Returns whether axes of the likely sizes are too long for 32-bit indices.
fn is_likely_wide(graph: &CheckedGraph, schedule: &Schedule) -> bool {
    let likely = |symbol: SymbolId| {
        let info = graph.symbols().get(symbol.index())?;
        Some(info.likely? / info.unit)
    };
    let mut narrow = schedule.assumptions.iter().filter(|each| each.of == Specialisation::NarrowIndices);
    narrow.any(|each| each.size.evaluate(&likely).is_ok_and(|size| !each.holds(size)))
}
