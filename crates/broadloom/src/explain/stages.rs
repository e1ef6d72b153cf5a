//! The parts of graphs with loops.

use super::part::{Explained, origin};
use crate::bind::{BoundCode, BoundPart, BoundStage, BoundTimes, SymbolNames, type_text};
use crate::compiled::{Code, Inner};
use crate::phased::Phased;
use crate::staged::{CompiledLoop, CompiledPart, CompiledStage, CompiledTimes};
use crate::thresholds::MIN_STEPS_IN_REGISTERS;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::SymbolKind;
use std::sync::Arc;

/// Returns the parts of compiled code: for a binding, with the variants that it has chosen.
pub(super) fn parts(inner: &Arc<Inner>, bound: Option<&BoundCode>) -> Vec<Explained> {
    let mut parts = Vec::new();
    add(&mut parts, inner, bound, &[], &Within::default());
    parts
}

/// What a part is part of.
#[derive(Default)]
struct Within<'o> {
    /// The expressions of the whole graph for which those of the part were made, if they are not the same.
    origins: Option<&'o Arc<[ExprId]>>,
    /// Whether it makes a step of a loop of which a kernel takes many.
    in_registers: bool,
}

/// Adds the parts of a part, which is part of what `headings` say.
fn add(
    parts: &mut Vec<Explained>,
    inner: &Arc<Inner>,
    bound: Option<&BoundCode>,
    headings: &[String],
    within: &Within<'_>,
) {
    let Within { origins, in_registers } = *within;
    let staged = match (&inner.code, bound) {
        (Code::Kernels(kernels), bound) => {
            let variant = match bound {
                Some(BoundCode::Kernels(bound)) => bound.variant.clone(),
                _ => kernels.variants.general.clone(),
            };
            let heading = (!headings.is_empty()).then(|| headings.join(", "));
            let (inner, kernels) = (inner.clone(), kernels.clone());
            let origins = origins.cloned();
            parts.push(Explained { heading, inner, kernels, variant, in_registers, origins });
            return;
        }
        (Code::Stages(staged), _) => staged,
        (Code::Phases(phased), _) => {
            let several = phased.phases.iter().filter(|phase| phase.part.is_some()).count() > 1;
            for (number, phase) in phased.phases.iter().enumerate() {
                let Some(part) = &phase.part else { continue };
                let heading = several.then(|| format!("phase {}", number + 1));
                let headings: Vec<String> = headings.iter().cloned().chain(heading).collect();
                let origins = of_whole(origins, &part.origins);
                add(
                    parts,
                    &part.inner,
                    None,
                    &headings,
                    &Within { origins: Some(&origins), in_registers: false },
                );
            }
            return;
        }
    };
    let bound_of = |stage: usize| match bound {
        Some(BoundCode::Stages(stages)) => stages.get(stage),
        _ => None,
    };
    let mut part = |part: &CompiledPart, bound: Option<&BoundPart>, more: String, in_registers: bool| {
        let headings: Vec<String> = headings.iter().cloned().chain([more]).collect();
        let code = bound.map(|bound| &bound.binding.code);
        let origins = of_whole(origins, &part.origins);
        add(parts, &part.inner, code, &headings, &Within { origins: Some(&origins), in_registers });
    };
    let mut loops = 0;
    for (number, stage) in staged.stages.iter().enumerate() {
        match (stage, bound_of(number)) {
            (CompiledStage::Part(of), bound) => {
                let bound = match bound {
                    Some(BoundStage::Part(bound)) => Some(bound),
                    _ => None,
                };
                let is_last = number + 1 == staged.stages.len();
                part(
                    of,
                    bound.map(|bound| &**bound),
                    if is_last { "after the loops" } else { "before the loops" }.to_owned(),
                    false,
                );
            }
            (CompiledStage::Loop(of), bound) => {
                let bound = match bound {
                    Some(BoundStage::Loop(bound)) => Some(bound),
                    _ => None,
                };
                loops += 1;
                if let CompiledTimes::While(condition) = &of.steps {
                    let bound = bound.and_then(|bound| match &bound.steps {
                        BoundTimes::While(condition) => Some(condition),
                        BoundTimes::Fixed(_) | BoundTimes::Count(_) => None,
                    });
                    part(condition, bound.map(|bound| &**bound), format!("loop {loops}, condition"), false);
                }
                let times = steps(inner, of);
                let general = |step: &CompiledPart| match &step.inner.code {
                    Code::Kernels(kernels) => step.has_steps(&kernels.variants.general).unwrap_or(false),
                    Code::Stages(_) | Code::Phases(_) => false,
                };
                let is_counted = match &of.steps {
                    CompiledTimes::Size(length) => {
                        length.as_constant().is_none_or(|steps| steps >= MIN_STEPS_IN_REGISTERS)
                    }
                    CompiledTimes::Count(_) => true,
                    CompiledTimes::While(_) => false,
                };
                let may_be = of.step.as_ref().filter(|_| of.is_in_place && is_counted && bound.is_none());
                let may_be = may_be.filter(|step| general(step));
                let in_registers = match bound {
                    Some(bound) => bound.strips.is_some_and(|strips| strips.in_registers),
                    None => may_be.is_some_and(|step| !step.has_rows()),
                };
                let place = match of.is_in_place {
                    _ if in_registers => "carried values stay in registers",
                    _ if may_be.is_some() => {
                        "carried values change in place, or stay in registers if rows are short or lie apart"
                    }
                    true => "carried values change in place",
                    false => "each step writes the carried values to other arrays",
                };
                if let Some(step) = &of.step {
                    let bound = bound.and_then(|bound| bound.step.as_ref());
                    part(step, bound, format!("loop {loops}, step: {times}, {place}"), in_registers);
                }
            }
        }
    }
}

/// Returns the expressions of the whole graph for which those of a part of a part were made.
fn of_whole(origins: Option<&Arc<[ExprId]>>, part: &Arc<[ExprId]>) -> Arc<[ExprId]> {
    match origins {
        None => part.clone(),
        Some(_) => part.iter().map(|expr| origin(origins, *expr)).collect(),
    }
}

/// Returns what happens between the phases of a graph whose data decide sizes, a line each.
pub(super) fn between_phases(inner: &Inner) -> Vec<String> {
    let Code::Phases(phased) = &inner.code else { return Vec::new() };
    let (graph, names) = (&inner.graph, SymbolNames(&inner.graph));
    let mut lines = Vec::new();
    for (number, phase) in phased.phases.iter().enumerate() {
        let number = number + 1;
        for decided in &phase.decided {
            let size = names.dim(&Dim::symbol(decided.symbol));
            let call = graph.call(decided.expr);
            let what = match graph.symbols()[decided.symbol.index()].kind {
                SymbolKind::Count(_) => "the number of true elements of",
                _ => "the value of",
            };
            lines.push(format!("after phase {number}: {size} is {what} `{call}`"));
        }
        for moved in &phase.moves {
            let slot = &phased.slots[moved.slot];
            let result = type_text(graph, slot.dtype, &slot.shape);
            let what = if moved.operand.is_some() { "selected elements" } else { "selected positions" };
            let how = match &phase.strips {
                Some(_) => format!("in phase {number}, strip by strip"),
                None => format!("after phase {number}"),
            };
            lines.push(format!("{how}: {what} are moved to {result}"));
        }
    }
    lines
}

fn steps(inner: &Inner, of: &CompiledLoop) -> String {
    match &of.steps {
        CompiledTimes::Size(length) if length.is_one() => "1 step".to_owned(),
        CompiledTimes::Size(length) => format!("{} steps", SymbolNames(&inner.graph).dim(length)),
        CompiledTimes::Count(_) => "as many steps as a number says".to_owned(),
        CompiledTimes::While(_) => "while the condition holds".to_owned(),
    }
}

/// Returns the bytes that loops and what they begin with store.
pub(super) fn stored(inner: &Inner) -> Dim {
    let staged = match &inner.code {
        Code::Stages(staged) => staged,
        Code::Phases(phased) => return stored_by_phases(phased),
        Code::Kernels(_) => return Dim::ZERO,
    };
    let bytes = |slot: usize| {
        let slot = &staged.slots[slot];
        slot.shape.elements().and_then(|count| count.scale(slot.dtype.size() as i64)).unwrap_or(Dim::ZERO)
    };
    let own = (0..staged.slots.len()).filter(|slot| staged.slots[*slot].output.is_none()).map(bytes);
    let mut all: Vec<Dim> = own.collect();
    for stage in &staged.stages {
        let (part, turns) = match stage {
            CompiledStage::Part(part) => (Some(part), None),
            CompiledStage::Loop(of) => (of.step.as_ref(), Some(of)),
        };
        all.extend(part.map(|part| stored(&part.inner)));
        // Values that do not change in place have a second array.
        let computed = turns.filter(|of| !of.is_in_place).into_iter().flat_map(|of| &of.carried);
        all.extend(computed.filter(|carried| carried.moved.is_none()).map(|carried| bytes(carried.result)));
    }
    all.iter().fold(Dim::ZERO, |total, bytes| total.add(bytes).unwrap_or(total))
}

fn stored_by_phases(phased: &Phased) -> Dim {
    let own = phased.slots.iter().enumerate().filter(|(slot, _)| !phased.outputs.contains(&Some(*slot)));
    let own = own.map(|(_, slot)| {
        slot.shape.elements().and_then(|count| count.scale(slot.dtype.size() as i64)).unwrap_or(Dim::ZERO)
    });
    let parts = phased.phases.iter().filter_map(|phase| phase.part.as_ref());
    let all: Vec<Dim> = own.chain(parts.map(|part| stored(&part.inner))).collect();
    all.iter().fold(Dim::ZERO, |total, bytes| total.add(bytes).unwrap_or(total))
}
