//! Graphs with loops: parts that are compiled on their own, and run one after the other or again and again.

use crate::compile::{compile_part, stored_arrays};
use crate::compiled::Inner;
use crate::options::CompileOptions;
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::stages::{
    CarriedValue, Destination, LoopStage, Part, Rows, Slot, Source, Stage, Stages, Times,
};
use std::sync::Arc;

/// The compiled stages of a graph.
pub(crate) struct Staged {
    pub(crate) stages: Vec<CompiledStage>,
    pub(crate) slots: Vec<Slot>,
}

/// A compiled stage.
pub(crate) enum CompiledStage {
    Part(CompiledPart),
    Loop(Box<CompiledLoop>),
}

/// A compiled part of a graph.
pub(crate) struct CompiledPart {
    pub(crate) inner: Arc<Inner>,
    /// For each expression of the part, the expression of the whole graph for which it was made.
    pub(crate) origins: Arc<[ExprId]>,
    pub(crate) inputs: Vec<Source>,
    pub(crate) outputs: Vec<Destination>,
}

/// A compiled loop.
pub(crate) struct CompiledLoop {
    /// The function that the user called.
    pub(crate) call: Box<str>,
    pub(crate) steps: CompiledTimes,
    pub(crate) carried: Vec<CarriedValue>,
    pub(crate) rows: Vec<Rows>,
    /// The slots of the stacked values.
    pub(crate) stacked: Vec<usize>,
    /// `None` if a step computes nothing.
    pub(crate) step: Option<CompiledPart>,
    /// Whether a step changes the carried values where they are.
    pub(crate) is_in_place: bool,
}

/// How often a loop steps.
pub(crate) enum CompiledTimes {
    Size(Dim),
    Count(Source),
    While(CompiledPart),
}

/// Compiles the stages of a graph.
pub(crate) fn compile_stages(
    stages: Stages,
    options: &CompileOptions,
    tail: Option<&Dim>,
) -> Result<Staged, CompileError> {
    let part = |part: Part| compile_one(part, options, tail);
    let compiled = stages.stages.into_iter().map(|stage| {
        Ok(match stage {
            Stage::Part(of) => CompiledStage::Part(part(of)?),
            Stage::Loop(of) => {
                let LoopStage { call, steps, carried, rows, stacked, step, in_place } = *of;
                let steps = match steps {
                    Times::Size(length) => CompiledTimes::Size(length),
                    Times::Count(source) => CompiledTimes::Count(source),
                    Times::While(condition) => CompiledTimes::While(part(condition)?),
                };
                let is_worth =
                    |changed: &Part| step.as_ref().is_some_and(|step| is_better(changed, step, options));
                let in_place = in_place.filter(is_worth);
                let is_in_place = in_place.is_some();
                let step = in_place.or(step).map(part).transpose()?;
                CompiledStage::Loop(Box::new(CompiledLoop {
                    call,
                    steps,
                    carried,
                    rows,
                    stacked,
                    step,
                    is_in_place,
                }))
            }
        })
    });
    let compiled = compiled.collect::<Result<_, CompileError>>()?;
    Ok(Staged { stages: compiled, slots: stages.slots })
}

fn compile_one(
    part: Part,
    options: &CompileOptions,
    tail: Option<&Dim>,
) -> Result<CompiledPart, CompileError> {
    let Part { graph, origins, inputs, outputs } = part;
    let inner = Arc::new(compile_part(&graph, options, tail.cloned())?);
    Ok(CompiledPart { inner, origins: origins.into(), inputs, outputs })
}

/// Returns whether a step should change carried values where they are, instead of in two arrays that take turns: if it can
/// write each of them directly, and stores nothing else for that.
fn is_better(in_place: &Part, turns: &Part, options: &CompileOptions) -> bool {
    match stored_arrays(&in_place.graph, options) {
        Some((0, true)) => true,
        Some((stored, true)) => {
            stored_arrays(&turns.graph, options).is_some_and(|(of_turns, _)| stored <= of_turns)
        }
        _ => false,
    }
}
