//! Cuts graphs with loops into stages that run one after the other.
//!
//! ```text
//! arrays ──▶ part: what the loops begin with ──▶ slots ──▶ loops: a part, again and again ──▶ slots ──▶ part ──▶ outputs
//! ```
//!
//! A part is a graph without loops, or, for the steps of a loop, one that may have inner loops and is cut in turn. What a
//! step reads but does not change is computed once, before the loop, unless that would store something larger than all that
//! it is computed from: then each step computes it where it is used.

use crate::diagnostics::Diagnostics;
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::graph::{CheckedGraph, Loop, Node, Permutation, SliceAxis, StepValue, Steps, ValueOf, View};
use crate::ids::{ExprId, InputId, LoopId};
use crate::part::unused_prefix;
use crate::shape::Shape;
use crate::transform::Rewriter;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};

/// A graph cut into stages.
#[derive(Debug, Clone)]
pub struct Stages {
    /// The stages in order.
    pub stages: Vec<Stage>,
    /// The arrays that stages leave for later ones: dense in row-major order, or outputs of the graph.
    pub slots: Vec<Slot>,
}

/// An array that a stage leaves.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its dtype.
    pub dtype: DType,
    /// Its shape, in the symbols of the graph.
    pub shape: Shape,
    /// The output of the graph that it is, if it is one that the caller gets.
    pub output: Option<usize>,
    /// How it is that output, if its axes are in another order or run backwards.
    pub arrangement: Option<Arrangement>,
}

/// An array with its axes in another order, or backwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrangement {
    /// Axis `i` of the other array is axis `permutation[i]` of this one.
    pub permutation: Permutation,
    /// Whether axis `i` of the other array begins where that axis of this one ends.
    pub reversed: SmallVec<[bool; 4]>,
}

/// A stage.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Runs once.
    Part(Part),
    /// Runs again and again.
    Loop(Box<LoopStage>),
}

/// A part that runs once, or again and again. It has the symbols of the whole graph.
pub type Part = crate::part::Part<Source, Destination>;

/// The source of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An array of the caller.
    Array(InputId),
    /// An array that an earlier stage has left.
    Slot(usize),
    /// A value of the step.
    Step(StepValue),
}

/// The destination of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The output of the graph with this number.
    Output(usize),
    /// An array for later stages.
    Slot(usize),
    /// The carried value with this number, after the step.
    Carried(usize),
    /// A row of the stacked values with this number.
    Stacked(usize),
    /// Whether another step follows.
    Condition,
}

/// A loop.
#[derive(Debug, Clone)]
pub struct LoopStage {
    /// The function that the user called.
    pub call: Box<str>,
    /// How often it steps.
    pub steps: Times,
    /// The carried values.
    pub carried: Vec<CarriedValue>,
    /// The arrays of rows.
    pub rows: Vec<Rows>,
    /// The slots of the stacked values.
    pub stacked: Vec<usize>,
    /// A step, whose outputs are the carried values that it computes and the stacked values; `None` if there are none.
    pub step: Option<Part>,
    /// The same step with carried values that are assigned to, also those that it moves: of use if each can be changed where it is.
    pub in_place: Option<Part>,
}

/// An array of rows, as a view of an array that exists.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The array.
    pub source: Source,
    /// What the view has of it, in order.
    pub views: Vec<RowsView>,
}

/// A view of an array whose elements stay where they are.
#[derive(Debug, Clone)]
pub enum RowsView {
    /// Axis `i` is axis `permutation[i]` of the array.
    Permute(Permutation),
    /// Stretched to these sizes: the axes are aligned at the last one, and have the literal size 1, the same size, or are new.
    Stretch(Vec<Dim>),
    /// These elements of the axes: where they begin, which step they take, and how many they are.
    Slice(Vec<(SliceAxis, Dim)>),
}

/// A carried value.
#[derive(Debug, Clone)]
pub struct CarriedValue {
    /// Its value before the first step.
    pub initial: Source,
    /// The slot of its value after the last step.
    pub result: usize,
    /// The carried value that it is after a step, if the step computes nothing for it.
    pub moved: Option<usize>,
}

/// How often a loop steps.
#[derive(Debug, Clone)]
pub enum Times {
    /// As often as an axis is long.
    Size(Dim),
    /// This number of times.
    Count(Source),
    /// As long as the output of a part holds, which runs before each step.
    While(Part),
}

/// Cuts a graph with loops; `None` if it has none.
///
/// # Errors
/// Returns the mistakes of a part, which cannot happen: its expressions have been checked.
pub fn split(graph: &CheckedGraph) -> Result<Option<Stages>, Diagnostics> {
    if !graph.has_loops() {
        return Ok(None);
    }
    Cutter::new(graph).run().map(Some)
}

/// Returns, for each expression, whether parts compute it again that could read it from an array: a constant, a view, or
/// something larger than every array that it is computed from, which would be a temporary that grows with a product of sizes.
pub(crate) fn computed_again(graph: &CheckedGraph) -> Vec<bool> {
    let mut repeated: Vec<bool> = Vec::with_capacity(graph.len());
    for expr in graph.exprs() {
        let is = match graph.node(expr) {
            Node::Constant(_) | Node::Iota | Node::Size(_) | Node::View { .. } => true,
            Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_) => {
                let elements = |expr: ExprId| graph.shape(expr).elements().ok();
                let own = elements(expr);
                let is_as_large_an_array = |operand: &ExprId| {
                    let whole = seen_through(graph, *operand);
                    elements(whole) == own && !repeated[whole.index()]
                };
                own != Some(Dim::ONE) && !graph.operands(expr).iter().any(is_as_large_an_array)
            }
            _ => false,
        };
        repeated.push(is);
    }
    repeated
}

/// Returns the expression of which this is a view.
fn seen_through(graph: &CheckedGraph, mut expr: ExprId) -> ExprId {
    while let Node::View { operand, .. } = graph.node(expr) {
        expr = *operand;
    }
    expr
}

struct Cutter<'g> {
    graph: &'g CheckedGraph,
    innermost: Vec<Option<LoopId>>,
    /// For each expression that is computed once, the number of loops that must have ended before.
    level: Vec<usize>,
    /// The values that each step computes again although they do not depend on it.
    repeated: Vec<bool>,
    slots: Vec<Slot>,
    /// The slots of stored expressions.
    stored: BTreeMap<ExprId, usize>,
    mark: String,
}

impl<'g> Cutter<'g> {
    fn new(graph: &'g CheckedGraph) -> Self {
        let innermost = graph.innermost();
        let mut level: Vec<usize> = Vec::with_capacity(graph.len());
        for expr in graph.exprs() {
            let operands = graph.operands(expr).iter().map(|operand| level[operand.index()]).max();
            let is_loop = matches!(graph.node(expr), Node::Loop { .. }) && innermost[expr.index()].is_none();
            level.push(operands.unwrap_or(0) + usize::from(is_loop));
        }
        let mark = unused_prefix(graph);
        let repeated = computed_again(graph);
        Cutter { graph, innermost, level, repeated, slots: Vec::new(), stored: BTreeMap::new(), mark }
    }

    fn run(mut self) -> Result<Stages, Diagnostics> {
        let graph = self.graph;
        let roots: Vec<ExprId> = graph.outputs().iter().map(|output| output.expr).collect();
        let mut loops: BTreeMap<(usize, LoopId), (ExprId, Loop)> = BTreeMap::new();
        for expr in self.reachable(&roots, &|_| false) {
            if let Node::Loop { repeated, .. } = graph.node(expr)
                && self.innermost[expr.index()].is_none()
            {
                let key = (self.level[expr.index()], repeated.id);
                loops.entry(key).or_insert_with(|| (expr, Loop::clone(repeated))).1.merge(repeated);
            }
        }
        let mut stages = Vec::new();
        let levels: BTreeSet<usize> = loops.keys().map(|(level, _)| *level).collect();
        for level in levels {
            let here: Vec<(ExprId, Loop)> = loops
                .extract_if((level, LoopId::new(0))..(level + 1, LoopId::new(0)), |_, _| true)
                .map(|(_, of)| of)
                .collect();
            let mut wanted = BTreeSet::new();
            for (_, repeated) in &here {
                // A loop may begin with an array whose view its rows are, and with the view as well.
                let rows = repeated.rows.iter().map(|rows| self.array_of(*rows).0);
                let before = repeated.begins_with().chain(rows);
                wanted.extend(before.filter(|expr| !self.is_array(*expr)));
                wanted.extend(self.read_by_steps(repeated).into_iter().filter(|expr| !self.is_array(*expr)));
            }
            wanted.retain(|expr| !self.stored.contains_key(expr));
            if !wanted.is_empty() {
                let roots = wanted.iter().map(|expr| (*expr, Destination::Slot(self.slot(*expr))));
                let roots: Vec<(ExprId, Destination)> = roots.collect();
                stages.push(Stage::Part(self.part(&roots, false)?));
                for (expr, destination) in roots {
                    if let Destination::Slot(slot) = destination {
                        self.stored.insert(expr, slot);
                    }
                }
            }
            for (expr, repeated) in here {
                stages.push(Stage::Loop(Box::new(self.loop_stage(expr, &repeated)?)));
            }
        }
        let outputs = graph.outputs().iter().enumerate();
        let is_there = |output: usize| self.slots.iter().any(|slot| slot.output == Some(output));
        let rest = outputs.filter(|(number, _)| !is_there(*number));
        let rest: Vec<(ExprId, Destination)> =
            rest.map(|(number, output)| (output.expr, Destination::Output(number))).collect();
        if !rest.is_empty() {
            stages.push(Stage::Part(self.part(&rest, false)?));
        }
        Ok(Stages { stages, slots: self.slots })
    }

    fn slot(&mut self, expr: ExprId) -> usize {
        let (dtype, shape) = (self.graph.dtype(expr), self.graph.shape(expr).clone());
        self.new_slot(dtype, shape)
    }

    fn new_slot(&mut self, dtype: DType, shape: Shape) -> usize {
        self.slots.push(Slot { dtype, shape, output: None, arrangement: None });
        self.slots.len() - 1
    }

    fn is_array(&self, expr: ExprId) -> bool {
        matches!(self.graph.node(expr), Node::Input(_))
    }

    /// Returns the roots and what they are made of, down to leaves.
    fn reachable(&self, roots: &[ExprId], is_leaf: &dyn Fn(ExprId) -> bool) -> BTreeSet<ExprId> {
        let mut found = BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(expr) = open.pop() {
            if found.insert(expr) && !is_leaf(expr) {
                open.extend(self.graph.operands(expr));
            }
        }
        found
    }

    /// Returns what the steps of a loop read of values that are computed once.
    fn read_by_steps(&self, repeated: &Loop) -> BTreeSet<ExprId> {
        let mut read = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<ExprId> = repeated.of_step().collect();
        while let Some(expr) = open.pop() {
            if !seen.insert(expr) {
                continue;
            }
            let is_read = self.innermost[expr.index()].is_none() && !self.repeated[expr.index()];
            match is_read {
                true => drop(read.insert(expr)),
                false => open.extend(self.graph.operands(expr)),
            }
        }
        read
    }

    fn source(&self, expr: ExprId) -> Option<Source> {
        match self.graph.node(expr) {
            Node::Input(input) => Some(Source::Array(*input)),
            _ => self.stored.get(&expr).map(|slot| Source::Slot(*slot)),
        }
    }

    /// Returns the array of which rows are a view, and the view.
    fn array_of(&self, mut expr: ExprId) -> (ExprId, Vec<RowsView>) {
        let mut views = Vec::new();
        while let Node::View { view, operand } = self.graph.node(expr) {
            views.push(match view {
                View::Permute(permutation) => RowsView::Permute(permutation.clone()),
                View::Slice(parts) => RowsView::Slice(
                    parts.iter().cloned().zip(self.graph.shape(expr).iter().cloned()).collect(),
                ),
                View::BroadcastTo => RowsView::Stretch(self.graph.shape(expr).to_vec()),
                _ => break,
            });
            expr = *operand;
        }
        views.reverse();
        (expr, views)
    }

    /// Returns the source of what a loop begins with, which is an array of the caller or stored.
    fn before(&self, expr: ExprId) -> Source {
        match self.graph.node(expr) {
            Node::Input(input) => Source::Array(*input),
            _ => Source::Slot(self.stored[&expr]),
        }
    }

    fn loop_stage(&mut self, expr: ExprId, repeated: &Loop) -> Result<LoopStage, Diagnostics> {
        let graph = self.graph;
        let initial: Vec<Source> =
            repeated.carried.iter().map(|carried| self.before(carried.initial)).collect();
        let rows = repeated.rows.iter().map(|rows| {
            let (array, views) = self.array_of(*rows);
            Rows { source: self.before(array), views }
        });
        let rows = rows.collect();
        let steps = match &repeated.steps {
            Steps::Size(length) => Times::Size(length.clone()),
            Steps::Count(count) => match graph.node(*count) {
                Node::Constant(Scalar::I64(count)) => Times::Size(Dim::constant((*count).max(0))),
                Node::Size(length) => Times::Size(length.clone()),
                _ => Times::Count(self.before(*count)),
            },
            Steps::While(condition) => {
                Times::While(self.part(&[(*condition, Destination::Condition)], false)?)
            }
        };
        let results_of = |value: ValueOf| {
            let is_it = move |expr: &ExprId| match graph.node(*expr) {
                Node::Loop { repeated: of, result } => of.id == repeated.id && of.value_of(*result) == value,
                _ => false,
            };
            graph.exprs().filter(is_it).collect::<Vec<ExprId>>()
        };
        let is_moved = |next: ExprId| match graph.node(next) {
            Node::Step { of, value: StepValue::Carried(from), .. } if *of == repeated.id => Some(*from),
            _ => None,
        };
        let computed = repeated.carried.iter().enumerate();
        let computed = computed.filter(|(_, carried)| is_moved(carried.next).is_none());
        let mut roots: Vec<(ExprId, Destination)> =
            computed.map(|(number, carried)| (carried.next, Destination::Carried(number))).collect();
        // What nobody reads is not stacked.
        let stacked = repeated.stacked.iter().map(|of| (*of, results_of(ValueOf::Stacked(*of))));
        let read: Vec<(ExprId, Vec<ExprId>)> = stacked.filter(|(_, results)| !results.is_empty()).collect();
        roots.extend(read.iter().enumerate().map(|(number, (of, _))| (*of, Destination::Stacked(number))));
        let step = if roots.is_empty() { None } else { Some(self.part(&roots, false)?) };
        let in_place = match roots.iter().any(|(_, of)| matches!(of, Destination::Carried(_))) {
            true => {
                let moved = repeated.carried.iter().enumerate();
                let moved = moved.filter(|(_, carried)| is_moved(carried.next).is_some());
                roots.extend(moved.map(|(number, carried)| (carried.next, Destination::Carried(number))));
                Some(self.part(&roots, true)?)
            }
            false => None,
        };
        let mut carried = Vec::new();
        for ((number, of), initial) in repeated.carried.iter().enumerate().zip(initial) {
            let slot = self.slot(of.initial);
            self.finish(&results_of(ValueOf::Carried(number)), slot);
            carried.push(CarriedValue { initial, result: slot, moved: is_moved(of.next) });
        }
        let mut slots = Vec::new();
        for (_, results) in read {
            let slot = self.slot(results[0]);
            self.finish(&results, slot);
            self.finish_arranged(&results, slot);
            slots.push(slot);
        }
        Ok(LoopStage { call: graph.call(expr).into(), steps, carried, rows, stacked: slots, step, in_place })
    }

    /// Records the slot of equal results, which is an array of the caller where one is an output.
    fn finish(&mut self, results: &[ExprId], slot: usize) {
        self.stored.extend(results.iter().map(|result| (*result, slot)));
        let mut outputs = self.graph.outputs().iter();
        self.slots[slot].output =
            outputs.position(|output| results.contains(&output.expr) && output.assigned.is_none());
    }

    /// Records the slot of equal stacked results that is an array of the caller with its axes in another order, or backwards: a step
    /// writes its row there, and nothing moves them afterwards.
    fn finish_arranged(&mut self, results: &[ExprId], slot: usize) {
        if self.slots[slot].output.is_some() {
            return;
        }
        let outputs = self.graph.outputs().iter().enumerate();
        let arranged =
            outputs.filter(|(_, output)| output.assigned.is_none()).find_map(|(number, output)| {
                let arrangement = self.arrangement_of(output.expr, results)?;
                Some((number, arrangement))
            });
        if let Some((output, arrangement)) = arranged {
            let of = &mut self.slots[slot];
            (of.output, of.arrangement) = (Some(output), Some(arrangement));
        }
    }

    /// Returns how an output is one of some results whose axes are in another order, or backwards. Nothing else reads what is
    /// backwards: its first element is not where the array begins.
    fn arrangement_of(&self, output: ExprId, results: &[ExprId]) -> Option<Arrangement> {
        let graph = self.graph;
        let mut permutation: Permutation = (0..graph.shape(output).rank()).collect();
        let mut reversed: SmallVec<[bool; 4]> = SmallVec::from_elem(false, permutation.len());
        // The output, the results, and the views between them.
        let mut own: BTreeSet<ExprId> = results.iter().copied().collect();
        let mut expr = output;
        while !results.contains(&expr) {
            let Node::View { view, operand } = graph.node(expr) else { return None };
            match view {
                View::Permute(by) => permutation.iter_mut().for_each(|axis| *axis = by[*axis]),
                View::Slice(parts) if graph.shape(expr) == graph.shape(*operand) => {
                    for (axis, reversed) in permutation.iter().zip(&mut reversed) {
                        *reversed ^= parts[*axis].step < 0;
                    }
                }
                _ => return None,
            }
            own.insert(expr);
            expr = *operand;
        }
        let is_reader = |expr: ExprId| {
            !own.contains(&expr) && graph.operands(expr).iter().any(|operand| own.contains(operand))
        };
        let is_read_elsewhere = || {
            let outputs = graph.outputs().iter().filter(|output| own.contains(&output.expr));
            outputs.count() > 1 || graph.exprs().any(is_reader)
        };
        let is_own = !reversed.contains(&true) || !is_read_elsewhere();
        is_own.then_some(Arrangement { permutation, reversed })
    }

    /// Returns the graph that computes some expressions, from arrays, from what is stored, and from the values of a step.
    /// Carried values are assigned to if they are changed `in_place`.
    fn part(&self, roots: &[(ExprId, Destination)], in_place: bool) -> Result<Part, Diagnostics> {
        let graph = self.graph;
        let mut rewriter = Rewriter::without_inputs(graph);
        let mut inputs: Vec<Source> = Vec::new();
        let of_step = |expr: ExprId| match graph.node(expr) {
            Node::Step { value, of, .. } => (!self.is_inner(*of, roots)).then_some(Source::Step(*value)),
            _ => None,
        };
        let source = |expr: ExprId| self.source(expr).or_else(|| of_step(expr));
        let exprs: Vec<ExprId> = roots.iter().map(|(expr, _)| *expr).collect();
        let mut carried: BTreeMap<usize, ExprId> = BTreeMap::new();
        for expr in self.reachable(&exprs, &|expr| source(expr).is_some()) {
            let image = match source(expr) {
                None => rewriter.copy(expr),
                Some(of) => {
                    let name = match of {
                        Source::Array(input) => graph.inputs()[input.index()].name.to_string(),
                        Source::Slot(slot) => format!("{}{slot}", self.mark),
                        Source::Step(value) => self.name_of_step(value),
                    };
                    // Equal results of a loop have one slot, and one input.
                    if !inputs.contains(&of) {
                        inputs.push(of);
                    }
                    let (dtype, shape, site) =
                        (graph.dtype(expr), graph.shape(expr).clone(), graph.site(expr));
                    let image = rewriter.builder().input(&name, dtype, shape, site);
                    if let Source::Step(StepValue::Carried(number)) = of {
                        carried.insert(number, image);
                    }
                    image
                }
            };
            rewriter.replace(expr, image);
        }
        let mut outputs: Vec<(String, ExprId, Destination)> = Vec::new();
        let mut assigned = Vec::new();
        for (expr, destination) in roots {
            let image = rewriter.image(*expr);
            let name = match destination {
                Destination::Output(number) => {
                    if let Some(input) = graph.outputs()[*number].assigned {
                        let target = self.target(&mut rewriter, &mut inputs, input);
                        assigned.push((target, image, *destination, *expr));
                        continue;
                    }
                    graph.outputs()[*number].name.to_string()
                }
                Destination::Carried(number) if in_place => {
                    let target = match carried.get(number) {
                        Some(target) => *target,
                        None => {
                            let name = self.name_of_step(StepValue::Carried(*number));
                            inputs.push(Source::Step(StepValue::Carried(*number)));
                            let (dtype, shape) = (graph.dtype(*expr), graph.shape(*expr).clone());
                            rewriter.builder().input(&name, dtype, shape, graph.site(*expr))
                        }
                    };
                    assigned.push((target, image, *destination, *expr));
                    continue;
                }
                Destination::Slot(slot) => format!("{}{slot}", self.mark),
                Destination::Carried(number) => format!("{}next{number}", self.mark),
                Destination::Stacked(number) => format!("{}stacked{number}", self.mark),
                Destination::Condition => format!("{}goes on", self.mark),
            };
            outputs.push((name, image, *destination));
        }
        let mut destinations: Vec<Destination> =
            outputs.iter().map(|(_, _, destination)| *destination).collect();
        for (target, image, destination, expr) in assigned {
            rewriter.builder().assign(target, image, graph.site(expr));
            destinations.push(destination);
        }
        let named: Vec<(&str, ExprId)> =
            outputs.iter().map(|(name, expr, _)| (name.as_str(), *expr)).collect();
        let (made, origins) = rewriter.finish_with(&named)?;
        // The conditions of the whole graph hold: a call checks them first.
        Ok(Part { graph: made.with_conditions_of(graph, |_| true), origins, inputs, outputs: destinations })
    }

    fn name_of_step(&self, value: StepValue) -> String {
        match value {
            StepValue::Counter => format!("{}step", self.mark),
            StepValue::Carried(number) => format!("{}carried{number}", self.mark),
            StepValue::Row(number) => format!("{}row{number}", self.mark),
        }
    }

    /// Returns the input that an output is assigned to.
    fn target(&self, rewriter: &mut Rewriter<'_>, inputs: &mut Vec<Source>, input: InputId) -> ExprId {
        let info = &self.graph.inputs()[input.index()];
        if !inputs.contains(&Source::Array(input)) {
            inputs.push(Source::Array(input));
        }
        rewriter.builder().input(&info.name, info.dtype, info.shape.clone(), info.site)
    }

    /// Returns whether a loop is part of what the roots compute, with all its steps.
    fn is_inner(&self, of: LoopId, roots: &[(ExprId, Destination)]) -> bool {
        let around = roots.iter().filter_map(|(expr, _)| self.innermost[expr.index()]).max();
        Some(of) > around
    }
}
