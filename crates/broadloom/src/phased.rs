//! Graphs whose data decide sizes: parts that are compiled on their own, and run one after the other.

use crate::bind::Given;
use crate::compile::compile_part;
use crate::compiled::Inner;
use crate::limits::CallLimits;
use crate::options::{CompileOptions, Threads};
use crate::run::RunError;
use crate::variant::CompileError;
use broadloom_ir::chunks;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::phases::{Decided, Destination, Move, Part, Phase, Phases, Slot, Source};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, SymbolId};
use std::sync::Arc;

/// The compiled phases of a graph.
pub(crate) struct Phased {
    pub(crate) phases: Vec<CompiledPhase>,
    pub(crate) slots: Vec<Slot>,
    /// For each output of the graph, the slot that it is; `None` if a part writes it.
    pub(crate) outputs: Vec<Option<usize>>,
    /// The numbers of the conditions to check before each phase, and after the last one.
    pub(crate) conditions: Vec<Vec<usize>>,
}

/// How the part of a phase is run for some rows at a time: each row depends on its own rows alone, none can fail, and only the
/// moves of the phase read what it makes.
pub(crate) struct Strips {
    /// The size of the rows' axis.
    pub(crate) rows: SymbolId,
    /// For each input of the part, whether its leading axis are the rows.
    pub(crate) streamed: Vec<bool>,
    /// The bytes that a row reads and makes.
    pub(crate) row_bytes: usize,
}

/// A compiled phase.
pub(crate) struct CompiledPhase {
    pub(crate) strips: Option<Strips>,
    pub(crate) part: Option<PhasePart>,
    pub(crate) decided: Vec<Decided>,
    pub(crate) moves: Vec<Move>,
}

/// What a phase computes.
pub(crate) struct PhasePart {
    pub(crate) inner: Arc<Inner>,
    /// For each expression of the part, the expression of the whole graph for which it was made.
    pub(crate) origins: Arc<[ExprId]>,
    pub(crate) inputs: Vec<Source>,
    pub(crate) outputs: Vec<Destination>,
}

impl PhasePart {
    /// Returns the dtype and the shape of the array that the part makes for a slot.
    pub(crate) fn of_slot(&self, slot: usize, given: &Given) -> Result<(DType, Vec<usize>), RunError> {
        let number = self.outputs.iter().position(|output| *output == Destination::Slot(slot));
        let output = number.and_then(|number| self.inner.graph.outputs().get(number));
        let output = output.ok_or(RunError::MissingArray)?;
        let value = |symbol: SymbolId| given.iter().find(|(of, _)| *of == symbol).map(|(_, value)| *value);
        let size = |dim: &Dim| dim.evaluate(&value).ok().and_then(|size| usize::try_from(size).ok());
        let shape = self.inner.graph.shape(output.expr).iter().map(size).collect::<Option<Vec<usize>>>();
        Ok((self.inner.graph.dtype(output.expr), shape.ok_or(RunError::MissingArray)?))
    }
}

/// Returns how a phase runs in strips of rows, if it can, and the part for a strip: what the number of all rows satisfies, that
/// of a strip need not.
fn strips(whole: &CheckedGraph, phase: &Phase, number: usize, slots: &[Slot]) -> Option<(Strips, Part)> {
    let part = phase.part.as_ref()?;
    let graph = &part.graph;
    let is_of_part = |slot: usize| part.outputs.contains(&Destination::Slot(slot));
    let is_read_here = |output: &Destination| match output {
        Destination::Output(_) => false,
        Destination::Slot(slot) => slots[*slot].last == number,
    };
    // Every array that is selected from has the same rows.
    let rows_of = |source: Source| match source {
        Source::Array(input) => whole.inputs().get(input.index())?.shape.first()?.as_symbol(),
        Source::Slot(slot) => slots.get(slot).filter(|_| is_of_part(slot))?.shape.first()?.as_symbol(),
    };
    let masks = phase.moves.iter().map(|moved| rows_of(moved.mask));
    let rows = masks.reduce(|left, right| left.filter(|_| left == right)).flatten()?;
    let is_moved =
        |moved: &Move| moved.axis == 0 && moved.operand.is_none_or(|operand| rows_of(operand) == Some(rows));
    let is_counted =
        |decided: &Decided| decided.counts && phase.moves.iter().any(|moved| moved.mask == decided.by);
    let can_fail = graph.exprs().any(|expr| graph.node(expr).can_fail(|operand| graph.dtype(operand)));
    if phase.moves.is_empty()
        || can_fail
        || graph.has_loops()
        || !part.outputs.iter().all(is_read_here)
        || !part.inputs.iter().all(|source| matches!(source, Source::Array(_)))
        || !phase.moves.iter().all(is_moved)
        || !phase.decided.iter().all(is_counted)
    {
        return None;
    }
    let has_rows = |expr: ExprId| graph.shape(expr).first().and_then(Dim::as_symbol) == Some(rows);
    if !graph.outputs().iter().all(|output| has_rows(output.expr)) {
        return None;
    }
    let mut split = chunks::split(graph, rows).ok()?;
    let is_one_pass = split.passes.len() == 1 && split.multiple == chunks::Multiple::One;
    let pass = split.passes.pop().filter(|_| is_one_pass)?;
    let each = pass.each.filter(|_| pass.begin.is_none() && pass.merge.is_none() && pass.rest.is_none())?;
    let (mut inputs, mut streamed) = (Vec::new(), Vec::new());
    for source in &each.inputs {
        let chunks::Source::Array(input) = source else { return None };
        inputs.push(part.inputs[input.index()]);
        streamed.push(split.streamed[input.index()]);
    }
    let outputs = each.outputs.iter().map(|destination| match destination {
        chunks::Destination::Rows(number) => Some(part.outputs[*number]),
        _ => None,
    });
    let outputs = outputs.collect::<Option<Vec<Destination>>>()?;
    let origins = each.origins.iter().map(|expr| part.origins[expr.index()]).collect();
    let bytes = |dtype: DType, shape: &Shape| {
        let mut of_row = shape.iter().skip(1).map(|dim| dim.as_constant());
        of_row.try_fold(dtype.size(), |bytes, size| bytes.checked_mul(usize::try_from(size?).ok()?))
    };
    let graph = each.graph;
    let read = graph.inputs().iter().zip(&streamed).filter(|(_, is_streamed)| **is_streamed);
    let read = read.map(|(input, _)| bytes(input.dtype, &input.shape));
    let made = graph.outputs().iter().map(|output| bytes(graph.dtype(output.expr), graph.shape(output.expr)));
    let all = read.chain(made).map(|bytes| bytes.unwrap_or(1 << 10));
    let row_bytes = all.fold(0, usize::saturating_add);
    Some((Strips { rows, streamed, row_bytes }, Part { graph, origins, inputs, outputs }))
}

/// Compiles the phases of a graph; `tail` as in [`compile_part`].
pub(crate) fn compile_phases(
    whole: &CheckedGraph,
    phases: Phases,
    options: &CompileOptions,
    tail: Option<&Dim>,
) -> Result<Phased, CompileError> {
    let Phases { phases, slots, outputs, conditions } = phases;
    // What phases leave for later ones are no results: those are checked when their sizes are known.
    let limits = CallLimits { output_bytes: u64::MAX, ..options.limits };
    let compiled = phases.into_iter().enumerate().map(|(number, phase)| {
        let (strips, of_strip) = strips(whole, &phase, number, &slots).unzip();
        let Phase { part, decided, moves } = phase;
        let part = of_strip.or(part);
        // Threads share strips instead of kernels.
        let threads = if strips.is_some() { Threads::Calling } else { options.threads.clone() };
        let of_part = CompileOptions { threads, limits, ..options.clone() };
        let part = part.map(|part| {
            Ok::<PhasePart, CompileError>(PhasePart {
                inner: Arc::new(compile_part(&part.graph, &of_part, tail.cloned())?),
                origins: part.origins.into(),
                inputs: part.inputs,
                outputs: part.outputs,
            })
        });
        Ok(CompiledPhase { strips, part: part.transpose()?, decided, moves })
    });
    let phases = compiled.collect::<Result<_, CompileError>>()?;
    Ok(Phased { phases, slots, outputs, conditions })
}
