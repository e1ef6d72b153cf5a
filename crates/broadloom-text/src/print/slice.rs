//! Slices as Python's ranges.
//!
//! A node has the start, step and size of a slice. How it was written matters only for its demands on sizes, so
//! bounds are tried until a pair makes exactly the demands of the expression.

use super::Printer;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, SliceAxis, View};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, SymbolId};

/// The most constants to try as a bound.
const MOST_TRIED: i64 = 64;

/// Bounds in the graph's form: the elements from `start` to before `stop`, in reverse for a negative step.
struct Bounds {
    start: Dim,
    stop: Dim,
    step: i64,
}

impl Printer<'_> {
    /// The starts and steps of the region that a slice takes, or that a change replaces; the shape that it is a part of,
    /// and its own.
    fn region(&self, expr: ExprId) -> Option<(&[SliceAxis], &Shape, &Shape)> {
        match self.node(expr) {
            Node::View { view: View::Slice(parts), operand } => {
                Some((parts, self.graph.shape(*operand), self.graph.shape(expr)))
            }
            Node::Set { value, region, .. } => {
                Some((region, self.graph.shape(expr), self.graph.shape(*value)))
            }
            _ => None,
        }
    }

    /// The item of an axis that is indexed by its only element, if an index makes exactly the demands of the
    /// expression.
    pub(super) fn index(&self, slice: ExprId, axis: usize) -> Option<String> {
        let (parts, whole, _) = self.region(slice)?;
        let start = &parts[axis].start;
        let spare = whole[axis].sub(start).and_then(|rest| rest.sub(&Dim::ONE)).ok()?;
        let is_right = self.is_demanded(slice, start) && self.is_demanded(slice, &spare);
        is_right.then(|| self.size(start))
    }

    /// Whether an expression demands that a size is not negative, or the size never is.
    fn is_demanded(&self, slice: ExprId, size: &Dim) -> bool {
        let demands = self.demands.get(&slice).map_or(&[][..], Vec::as_slice);
        demands.iter().any(|(_, demand)| demand == size)
            || size.interval(&|symbol| self.facts(symbol)).lower >= 0
    }

    /// The item of an axis as a range; `:` for the whole axis.
    pub(super) fn range(&self, slice: ExprId, axis: usize) -> String {
        let Some((parts, whole, sizes)) = self.region(slice) else { return String::new() };
        let (part, whole, size) = (&parts[axis], &whole[axis], &sizes[axis]);
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

    /// The bounds that give this part and make the most demands of the expression.
    fn bounds(&self, slice: ExprId, part: &SliceAxis, whole: &Dim, size: &Dim) -> Option<Bounds> {
        let mut best = None;
        for bounds in self.candidates(slice, part, whole, size)? {
            if let Some(met) = self.demands_met(&bounds, whole, size, slice)
                && best.as_ref().is_none_or(|(most, _)| met > *most)
            {
                best = Some((met, bounds));
            }
        }
        match best {
            Some((_, bounds)) => Some(bounds),
            // No bounds fit only if a size cannot be computed; the last are the tightest.
            None => self.candidates(slice, part, whole, size)?.pop(),
        }
    }

    /// Bounds that may have been written, the likeliest first.
    fn candidates(&self, slice: ExprId, part: &SliceAxis, whole: &Dim, size: &Dim) -> Option<Vec<Bounds>> {
        let SliceAxis { start: first, step } = part;
        let stride = step.abs();
        // The largest number has no successor; only ranges that end elsewhere start there.
        let past_end = first.add(&Dim::ONE).unwrap_or_else(|_| whole.clone());
        let demands = self.demands.get(&slice).map_or(&[][..], Vec::as_slice);
        // A demand concerns the start, the length between the bounds, or the rest after the stop.
        let demanded = || demands.iter().map(|(_, demand)| demand);
        let starts = demanded().cloned().chain(demanded().filter_map(|demand| past_end.sub(demand).ok()));
        let starts: Vec<Dim> = starts.collect();
        let stops = demanded().filter_map(|demand| whole.sub(demand).ok());
        let stops: Vec<Dim> = stops.chain(demanded().filter_map(|demand| first.add(demand).ok())).collect();
        // Constants that skip as many steps as the size does.
        let left_out = |most: &Dim| {
            let steps = most.ceil_div(stride).and_then(|most| most.sub(size));
            let steps = steps.ok().and_then(|steps| steps.as_constant()).unwrap_or(0);
            let least = steps.saturating_sub(1).saturating_mul(stride).max(0);
            least..least.saturating_add(stride.saturating_mul(2).min(MOST_TRIED))
        };
        let near_end = left_out(&whole.sub(first).ok()?);
        let near_end = near_end.filter_map(|less| whole.sub(&Dim::constant(less)).ok());
        let near_start = left_out(&past_end).map(Dim::constant);
        let reach = || size.sub(&Dim::ONE).and_then(|steps| steps.scale(stride));
        let forward = |stop: Dim| Bounds { start: first.clone(), stop, step: *step };
        let backward = |start: Dim| Bounds { start, stop: past_end.clone(), step: *step };
        let within_step = (0..stride.min(MOST_TRIED)).rev();
        let mut candidates = Vec::new();
        if size.is_zero() {
            let places = [first.clone(), whole.clone()].into_iter().chain(stops).chain(starts);
            candidates.extend(places.map(|place| Bounds { start: place.clone(), stop: place, step: 1 }));
            // The original spelling is unknown: take the shortest, so that printing is canonical.
            candidates.sort_by_cached_key(|bounds: &Bounds| {
                let text = self.size(&bounds.start);
                (text.len(), text)
            });
        } else if *step > 0 {
            candidates.extend(near_end.chain(stops.iter().cloned()).map(forward));
            if size.is_one() {
                // Every step gives the same elements, so the node does not record it.
                let steps =
                    |stop: &Dim, start: &Dim| stop.sub(start).ok()?.as_constant().filter(|step| *step > 0);
                for stop in &stops {
                    let step = steps(stop, first);
                    candidates.extend(step.map(|step| Bounds {
                        start: first.clone(),
                        stop: stop.clone(),
                        step,
                    }));
                }
                for start in starts {
                    let step = steps(&past_end, &start);
                    candidates.extend(step.map(|step| Bounds { start, stop: past_end.clone(), step: -step }));
                }
            }
            let lengths = lengths(size, stride).into_iter();
            candidates.extend(lengths.filter_map(|length| first.add(&length).ok()).map(forward));
            let tightest = reach().and_then(|reach| past_end.add(&reach));
            let looser =
                within_step.filter_map(|more| tightest.as_ref().ok()?.add(&Dim::constant(more)).ok());
            candidates.extend(looser.map(forward));
        } else {
            candidates.extend(near_start.chain(starts).map(backward));
            let lengths = lengths(size, stride).into_iter();
            candidates.extend(lengths.filter_map(|length| past_end.sub(&length).ok()).map(backward));
            let tightest = reach().and_then(|reach| first.sub(&reach));
            let looser =
                within_step.filter_map(|more| tightest.as_ref().ok()?.sub(&Dim::constant(more)).ok());
            candidates.extend(looser.map(backward));
        }
        Some(candidates)
    }

    /// The number of the expression's demands that the bounds make; `None` if they make other demands or another size.
    fn demands_met(&self, bounds: &Bounds, whole: &Dim, size: &Dim, slice: ExprId) -> Option<usize> {
        let Bounds { start, stop, step } = bounds;
        // A negative constant would count from the end.
        let is_negative = |bound: &Dim| bound.as_constant().is_some_and(|bound| bound < 0);
        let length = stop.sub(start).ok()?;
        if is_negative(start) || is_negative(stop) || length.ceil_div(step.abs()).ok()? != *size {
            return None;
        }
        let demands = self.demands.get(&slice).map_or(&[][..], Vec::as_slice);
        let mut met = 0;
        for needed in [start.clone(), length, whole.sub(stop).ok()?] {
            if demands.iter().any(|(_, demand)| *demand == needed) {
                met += 1;
            } else if needed.interval(&|symbol| self.facts(symbol)).lower < 0 {
                return None;
            }
        }
        Some(met)
    }
}

/// The linear expression that gives the size when divided by the step and rounded up, if the size has this form: when a
/// symbol grows by the step, such a size grows by the symbol's coefficient.
fn lengths(size: &Dim, stride: i64) -> Vec<Dim> {
    let at = |chosen: Option<SymbolId>| {
        size.evaluate(&|symbol| Some(if Some(symbol) == chosen { stride } else { 0 })).ok()
    };
    let linear = || {
        let at_zero = at(None)?;
        let mut length = Dim::constant(at_zero.checked_mul(stride)?);
        for symbol in size.symbols() {
            let coefficient = at(Some(symbol))?.checked_sub(at_zero)?;
            length = length.add(&Dim::symbol(symbol).scale(coefficient).ok()?).ok()?;
        }
        Some(length)
    };
    let less = |length: Dim| {
        (0..stride.min(MOST_TRIED)).filter_map(move |less| length.sub(&Dim::constant(less)).ok())
    };
    linear().into_iter().flat_map(less).collect()
}
