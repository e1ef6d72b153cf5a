//! Graphs whose data decide sizes: parts that are compiled on their own, and run one after the other.

use crate::compile::compile;
use crate::compiled::Inner;
use crate::options::CompileOptions;
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::phases::{Decided, Destination, Move, Phase, Phases, Slot, Source};
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

/// A compiled phase.
pub(crate) struct CompiledPhase {
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

/// Compiles the phases of a graph.
pub(crate) fn compile_phases(phases: Phases, options: &CompileOptions) -> Result<Phased, CompileError> {
    let Phases { phases, slots, outputs, conditions } = phases;
    let compiled = phases.into_iter().map(|Phase { part, decided, moves }| {
        let part = part.map(|part| {
            Ok::<PhasePart, CompileError>(PhasePart {
                inner: Arc::new(compile(&part.graph, options)?),
                origins: part.origins.into(),
                inputs: part.inputs,
                outputs: part.outputs,
            })
        });
        Ok(CompiledPhase { part: part.transpose()?, decided, moves })
    });
    let phases = compiled.collect::<Result<_, CompileError>>()?;
    Ok(Phased { phases, slots, outputs, conditions })
}
