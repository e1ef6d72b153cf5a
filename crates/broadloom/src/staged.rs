//! Graphs with loops: parts that are compiled on their own, and run one after the other or again and again.

use crate::compile::{compile_part, outlook};
use crate::compiled::{Code, Inner};
use crate::options::CompileOptions;
use crate::variant::{CompileError, Variant};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::StepValue;
use broadloom_ir::stages::{
    CarriedValue, Destination, LoopStage, Part, Rows, Slot, Source, Stage, Stages, Times,
};
use broadloom_loops::steps::StepArray;
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

impl CompiledPart {
    /// Returns what its inputs and outputs are to the loop of which it makes a step.
    fn step_arrays(&self) -> [Vec<StepArray>; 2] {
        let input = |source: &Source| match source {
            Source::Step(StepValue::Counter) => StepArray::Counter,
            Source::Step(StepValue::Carried(number)) => StepArray::Carried(*number),
            Source::Step(StepValue::Row(_)) => StepArray::Row,
            Source::Array(_) | Source::Slot(_) => StepArray::Fixed,
        };
        let output = |target: &Destination| match target {
            Destination::Carried(number) => StepArray::Carried(*number),
            Destination::Stacked(_) => StepArray::Row,
            Destination::Output(_) | Destination::Slot(_) | Destination::Condition => StepArray::Fixed,
        };
        [self.inputs.iter().map(input).collect(), self.outputs.iter().map(output).collect()]
    }

    /// Returns whether a step reads or writes rows.
    pub(crate) fn has_rows(&self) -> bool {
        self.step_arrays().iter().flatten().any(|array| *array == StepArray::Row)
    }

    /// Returns whether there is a kernel that takes many steps of which a variant makes one, which this makes if there can be one.
    pub(crate) fn has_steps(&self, variant: &Variant) -> Result<bool, CompileError> {
        let Code::Kernels(kernels) = &self.inner.code else { return Ok(false) };
        let [inputs, outputs] = self.step_arrays();
        Ok(kernels.variants.make_steps(variant, &inputs, &outputs)?.is_some())
    }
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
                let moves = carried.iter().any(|carried| carried.moved.is_some());
                let is_worth = |changed: &Part| {
                    step.as_ref().is_some_and(|step| is_better(changed, step, moves, options))
                };
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
/// write each of them directly, and stores nothing else for that. Values that move from one to another are copied then, so a single
/// kernel has to do it, which takes all steps for some elements before it goes on to others.
fn is_better(in_place: &Part, turns: &Part, moves: bool, options: &CompileOptions) -> bool {
    let Some(changed) = outlook(&in_place.graph, options).filter(|changed| changed.is_in_place) else {
        return false;
    };
    match moves {
        true => changed.stored == 0 && changed.kernels == 1,
        false => {
            let of_turns = || outlook(&turns.graph, options);
            changed.stored == 0 || of_turns().is_some_and(|turns| changed.stored <= turns.stored)
        }
    }
}
