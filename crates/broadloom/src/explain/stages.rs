//! The parts of graphs with loops.

use super::part::{Explained, origin};
use crate::bind::{BoundCode, BoundPart, BoundStage, BoundTimes, SymbolNames};
use crate::compiled::{Code, Inner};
use crate::staged::{CompiledLoop, CompiledPart, CompiledStage, CompiledTimes};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use std::sync::Arc;

/// Returns the parts of compiled code: for a binding, with the variants that it has chosen.
pub(super) fn parts(inner: &Arc<Inner>, bound: Option<&BoundCode>) -> Vec<Explained> {
    let mut parts = Vec::new();
    add(&mut parts, inner, bound, &[], None);
    parts
}

/// Adds the parts of a part, which is part of what `headings` say.
fn add(
    parts: &mut Vec<Explained>,
    inner: &Arc<Inner>,
    bound: Option<&BoundCode>,
    headings: &[String],
    origins: Option<&Arc<[ExprId]>>,
) {
    let staged = match (&inner.code, bound) {
        (Code::Kernels(kernels), bound) => {
            let variant = match bound {
                Some(BoundCode::Kernels(bound)) => bound.variant.clone(),
                _ => kernels.variants.general.clone(),
            };
            let heading = (!headings.is_empty()).then(|| headings.join(", "));
            let (inner, kernels) = (inner.clone(), kernels.clone());
            parts.push(Explained { heading, inner, kernels, variant, origins: origins.cloned() });
            return;
        }
        (Code::Stages(staged), _) => staged,
    };
    let bound_of = |stage: usize| match bound {
        Some(BoundCode::Stages(stages)) => stages.get(stage),
        _ => None,
    };
    let mut part = |part: &CompiledPart, bound: Option<&BoundPart>, more: String| {
        let of_whole: Arc<[ExprId]> = match origins {
            None => part.origins.clone(),
            Some(_) => part.origins.iter().map(|expr| origin(origins, *expr)).collect(),
        };
        let headings: Vec<String> = headings.iter().cloned().chain([more]).collect();
        add(parts, &part.inner, bound.map(|bound| &bound.binding.code), &headings, Some(&of_whole));
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
                    part(condition, bound.map(|bound| &**bound), format!("loop {loops}, condition"));
                }
                let times = steps(inner, of);
                let place = match of.is_in_place {
                    true => "carried values change in place",
                    false => "each step writes the carried values to other arrays",
                };
                if let Some(step) = &of.step {
                    let bound = bound.and_then(|bound| bound.step.as_ref());
                    part(step, bound, format!("loop {loops}, step: {times}, {place}"));
                }
            }
        }
    }
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
    let Code::Stages(staged) = &inner.code else { return Dim::ZERO };
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
