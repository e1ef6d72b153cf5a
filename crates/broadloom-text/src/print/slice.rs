//! Slices as Python's ranges.
//!
//! A node knows start, step and size of a slice; how it was written matters only for the demands that it makes of
//! sizes. So the bounds are tried until one pair makes just the demands that the expression has.

use super::Printer;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, View};

/// Bounds as the graph takes them: the elements from `start` to before `stop`, in reverse for a negative step.
struct Bounds {
    start: Dim,
    stop: Dim,
    step: i64,
}

impl Printer<'_> {
    /// The item of an axis that is indexed by its only element.
    pub(super) fn index(&self, slice: ExprId, axis: usize) -> String {
        match self.graph.node(slice) {
            Node::View { view: View::Slice(parts), .. } => self.size(&parts[axis].start),
            _ => String::new(),
        }
    }

    /// The item of an axis as a range; `:` if that is all of it.
    pub(super) fn range(&self, slice: ExprId, axis: usize) -> String {
        let Node::View { view: View::Slice(parts), operand } = self.graph.node(slice) else {
            return String::new();
        };
        let (part, whole, size) =
            (&parts[axis], &self.graph.shape(*operand)[axis], &self.graph.shape(slice)[axis]);
        let Some(Bounds { start, stop, step }) = self.bounds(slice, part, whole, size) else {
            return ":".to_owned();
        };
        let text = |bound: &Dim| self.size(bound);
        let is_whole = stop == *whole;
        let step_text = if step == 1 { String::new() } else { format!(":{step}") };
        if step > 0 {
            let first = if start.is_zero() { String::new() } else { text(&start) };
            let last = if is_whole { String::new() } else { text(&stop) };
            return format!("{first}:{last}{step_text}");
        }
        // Python counts from the last element taken to before the first one.
        let before = |bound: &Dim| bound.sub(&Dim::ONE).map_or_else(|_| String::new(), |bound| text(&bound));
        let first = if is_whole { String::new() } else { before(&stop) };
        let last = if start.is_zero() { String::new() } else { before(&start) };
        format!("{first}:{last}{step_text}")
    }

    /// The bounds that make this part with these demands; the tightest ones if none of those that are tried do.
    fn bounds(
        &self,
        slice: ExprId,
        part: &broadloom_ir::graph::SliceAxis,
        whole: &Dim,
        size: &Dim,
    ) -> Option<Bounds> {
        let stride = part.step.abs();
        let demands = self.demands.get(&slice).map_or(&[][..], Vec::as_slice);
        let ends = demands.iter().filter_map(|(_, demand)| whole.sub(demand).ok());
        let starts = demands.iter().map(|(_, demand)| demand.clone());
        let mut candidates = Vec::new();
        if part.step > 0 {
            let span = size.sub(&Dim::ONE).and_then(|steps| steps.scale(stride)).ok()?;
            let tight = match size.is_zero() {
                true => part.start.clone(),
                false => part.start.add(&span).and_then(|last| last.add(&Dim::ONE)).ok()?,
            };
            let near_end = (0..stride).filter_map(|less| whole.sub(&Dim::constant(less)).ok());
            for stop in [whole.clone()].into_iter().chain(near_end).chain(ends.clone()) {
                candidates.push(Bounds { start: part.start.clone(), stop, step: part.step });
            }
            if let Some(0 | 1) = size.as_constant() {
                // Every step takes the same, so that the step was dropped; so were the bounds of what is empty.
                for stop in ends {
                    let (start, step) = match size.is_zero() {
                        true => (stop.clone(), 1),
                        false => (
                            part.start.clone(),
                            stop.sub(&part.start).ok()?.as_constant().unwrap_or(1).max(1),
                        ),
                    };
                    candidates.push(Bounds { start, stop, step });
                }
            }
            candidates.push(Bounds { start: part.start.clone(), stop: tight, step: part.step });
        } else {
            let stop = part.start.add(&Dim::ONE).ok()?;
            let span = size.sub(&Dim::ONE).and_then(|steps| steps.scale(stride)).ok()?;
            let tight = part.start.sub(&span).ok()?;
            let near_start = (0..stride).map(Dim::constant);
            for start in near_start.chain(starts) {
                candidates.push(Bounds { start, stop: stop.clone(), step: part.step });
            }
            candidates.push(Bounds { start: tight, stop, step: part.step });
        }
        let is_right = |bounds: &Bounds| self.makes(bounds, whole, size, slice) == Some(true);
        let right = candidates.iter().position(is_right).unwrap_or(candidates.len() - 1);
        Some(candidates.swap_remove(right))
    }

    /// Whether bounds give this size without a demand that the expression does not have.
    fn makes(&self, bounds: &Bounds, whole: &Dim, size: &Dim, slice: ExprId) -> Option<bool> {
        let Bounds { start, stop, step } = bounds;
        // A negative constant would count from the end.
        if start.as_constant().is_some_and(|start| start < 0)
            || stop.as_constant().is_some_and(|stop| stop < 0)
        {
            return Some(false);
        }
        let length = stop.sub(start).ok()?;
        let demands = self.demands.get(&slice).map_or(&[][..], Vec::as_slice);
        let is_met = |demand: &Dim| {
            demand.interval(&|symbol| self.facts(symbol)).lower >= 0
                || demands.iter().any(|(_, known)| known == demand)
        };
        let needed = [start.clone(), length.clone(), whole.sub(stop).ok()?];
        Some(length.ceil_div(step.abs()).ok()? == *size && needed.iter().all(is_met))
    }
}
