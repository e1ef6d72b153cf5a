//! Cuts graphs whose data decide sizes into phases: a phase is over when the sizes of the next one are known.
//!
//! ```text
//! arrays ──▶ part: masks, what they select from, numbers ──▶ count, move the selected elements ──▶ part ──▶ .. ──▶ outputs
//! ```
//!
//! A part is an ordinary graph: the sizes that earlier phases have found out are given to it by name, so everything after
//! this cut knows sizes of calls only.

use crate::diagnostics::Diagnostics;
use crate::dtype::DType;
use crate::graph::{CheckedGraph, Node, SymbolKind};
use crate::ids::{ExprId, InputId, LoopId, SymbolId};
use crate::part::unused_prefix;
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use crate::stages::computed_again;
use crate::transform::{Rewriter, pull_up_selections};
use std::collections::{BTreeMap, BTreeSet};

/// A graph cut into phases.
#[derive(Debug, Clone)]
pub struct Phases {
    /// The phases in order; at least two, unless only conditions need a decided size.
    pub phases: Vec<Phase>,
    /// The arrays that phases leave, dense in row-major order.
    pub slots: Vec<Slot>,
    /// For each output of the graph, the slot that it is; `None` if a part writes it.
    pub outputs: Vec<Option<usize>>,
    /// The numbers of the conditions that can be checked before each phase, and after the last one. Those before the first
    /// one need no decided size: the call checks them.
    pub conditions: Vec<Vec<usize>>,
}

/// A phase.
#[derive(Debug, Clone, Default)]
pub struct Phase {
    /// What is computed; `None` if it is nothing.
    pub part: Option<Part>,
    /// The sizes that are known after that.
    pub decided: Vec<Decided>,
    /// The elements to move then.
    pub moves: Vec<Move>,
}

/// An array that a phase leaves.
#[derive(Debug, Clone)]
pub struct Slot {
    /// Its dtype.
    pub dtype: DType,
    /// Its shape, in the symbols of the graph.
    pub shape: Shape,
    /// The last phase that reads it.
    pub last: usize,
}

/// The graph of a phase. It has the symbols of the whole graph.
pub type Part = crate::part::Part<Source, Destination>;

/// The source of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// An array of the caller.
    Array(InputId),
    /// An array that an earlier phase, or the part of this one, has left.
    Slot(usize),
}

/// The destination of an output of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The output of the graph with this number.
    Output(usize),
    /// An array for later.
    Slot(usize),
}

/// A size that is found out.
#[derive(Debug, Clone, Copy)]
pub struct Decided {
    /// The symbol.
    pub symbol: SymbolId,
    /// The expression that decides it.
    pub expr: ExprId,
    /// The array from which it follows.
    pub by: Source,
    /// Whether it is the number of true elements; otherwise it is the value.
    pub counts: bool,
}

/// Selected elements that are moved together.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    /// The elements; `None` for their positions along the axis.
    pub operand: Option<Source>,
    /// The mask (bool), along one axis.
    pub mask: Source,
    /// The axis of the elements.
    pub axis: usize,
    /// The slot of the result.
    pub slot: usize,
}

/// Cuts a graph whose data decide sizes; `None` if all sizes are known when it is called.
///
/// # Errors
/// Returns the mistakes of a part, which cannot happen: its expressions have been checked.
pub fn split(graph: &CheckedGraph) -> Result<Option<Phases>, Diagnostics> {
    if !graph.has_decided_sizes() {
        return Ok(None);
    }
    let rewritten = pull_up_selections(graph);
    let mut phases = Cutter::new(&rewritten.graph).run()?;
    for phase in &mut phases.phases {
        for expr in phase.part.iter_mut().flat_map(|part| &mut part.origins) {
            *expr = rewritten.origin(*expr);
        }
        for decided in &mut phase.decided {
            decided.expr = rewritten.origin(decided.expr);
        }
    }
    Ok(Some(phases))
}

/// The most ops of what a later phase computes again from inputs. An array of the results would be written and read, which takes
/// more time, and memory that grows with the rows: ids that a remainder gives, for a number of groups that the data decide.
const MAX_OPS_AGAIN: usize = 4;

/// Returns, for each expression, whether a later phase computes it again that could read it from an array: what steps of loops
/// compute again, and a few ops on inputs.
fn again(graph: &CheckedGraph) -> Vec<bool> {
    let mut ops: Vec<Option<usize>> = Vec::with_capacity(graph.len());
    for expr in graph.exprs() {
        let below = || {
            let mut operands = graph.operands(expr).into_iter();
            operands.try_fold(0, |sum, operand| Some(sum + ops[operand.index()]?))
        };
        let own = match graph.node(expr) {
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) => Some(0),
            Node::View { .. } => below(),
            // Elementary functions take longer than an array does.
            Node::Elementwise { op, operands } if op.tile(graph.dtype(operands[0])).is_none() => {
                below().map(|ops| ops + 1)
            }
            Node::Select { .. } | Node::Cast(_) => below().map(|ops| ops + 1),
            _ => None,
        };
        ops.push(own.filter(|ops| *ops <= MAX_OPS_AGAIN));
    }
    let few = ops.into_iter().map(|ops| ops.is_some_and(|ops| ops > 0));
    computed_again(graph).into_iter().zip(few).map(|(again, few)| again || few).collect()
}

struct Cutter<'g> {
    graph: &'g CheckedGraph,
    /// For each expression, the first phase after whose moves, and in whose part, it can be known.
    level: Vec<usize>,
    /// What each phase computes again although an earlier one could store it.
    again: Vec<bool>,
    innermost: Vec<Option<LoopId>>,
    /// The expressions that are stored.
    stored: BTreeSet<ExprId>,
    /// The masks of which only the number of elements is needed.
    counted: BTreeSet<ExprId>,
    /// The symbols that something needs.
    symbols: BTreeSet<SymbolId>,
    slots: Vec<Slot>,
    slot_of: BTreeMap<ExprId, usize>,
    count_of: BTreeMap<ExprId, usize>,
    mark: String,
}

impl<'g> Cutter<'g> {
    fn new(graph: &'g CheckedGraph) -> Self {
        let mut level: Vec<usize> = Vec::with_capacity(graph.len());
        for expr in graph.exprs() {
            let operands = graph.operands(expr).into_iter().map(|operand| level[operand.index()]);
            let moved = usize::from(matches!(graph.node(expr), Node::Compress { .. }));
            let own = operands.max().unwrap_or(0) + moved;
            let sizes = graph.decided_sizes(expr).into_iter().map(|symbol| level_of(graph, &level, symbol));
            level.push(sizes.max().unwrap_or(0).max(own));
        }
        Cutter {
            graph,
            level,
            again: again(graph),
            innermost: graph.innermost(),
            stored: BTreeSet::new(),
            counted: BTreeSet::new(),
            symbols: BTreeSet::new(),
            slots: Vec::new(),
            slot_of: BTreeMap::new(),
            count_of: BTreeMap::new(),
            mark: unused_prefix(graph),
        }
    }

    fn run(mut self) -> Result<Phases, Diagnostics> {
        let graph = self.graph;
        self.find_stored();
        let deciding = self.symbols.iter().map(|symbol| level_of(graph, &self.level, *symbol) - 1);
        let outputs = graph.outputs().iter().map(|output| self.level[output.expr.index()]);
        let stored = self.stored.iter().map(|expr| self.level[expr.index()]);
        let last = deciding.chain(outputs).chain(stored).max().unwrap_or(0).max(self.writes());
        for expr in self.stored.clone() {
            let slot = self.new_slot(graph.dtype(expr), graph.shape(expr).clone());
            self.slot_of.insert(expr, slot);
        }
        for expr in self.counted.clone() {
            let slot = self.new_slot(DType::I64, Shape::scalar());
            self.count_of.insert(expr, slot);
        }
        let mut phases = Vec::new();
        for level in 0..=last {
            let part = self.part(level, level == last)?;
            let decided = self.decided(level);
            let moves = self.moves(level);
            phases.push(Phase { part, decided, moves });
        }
        self.find_last_reads(&phases);
        let outputs = graph.outputs().iter();
        let outputs = outputs.map(|output| match output.assigned {
            None => self.slot_of.get(&output.expr).copied(),
            Some(_) => None,
        });
        let outputs: Vec<Option<usize>> = outputs.collect();
        for slot in outputs.iter().flatten() {
            self.slots[*slot].last = last + 1;
        }
        let mut conditions = vec![Vec::new(); last + 2];
        for (number, obligation) in graph.obligations().iter().enumerate() {
            let symbols = obligation.demand.symbols().into_iter();
            let level = symbols.map(|symbol| level_of(graph, &self.level, symbol)).max().unwrap_or(0);
            conditions[level.min(last + 1)].push(number);
        }
        Ok(Phases { phases, slots: self.slots, outputs, conditions })
    }

    /// Returns the phase in which inputs are written: the last one of all outputs, after all conditions on sizes have been checked.
    fn writes(&self) -> usize {
        let graph = self.graph;
        let outputs = graph.outputs().iter();
        if outputs.clone().all(|output| output.assigned.is_none()) {
            return 0;
        }
        let symbols = graph.obligations().iter().flat_map(|obligation| obligation.demand.symbols());
        let conditions = symbols.map(|symbol| level_of(graph, &self.level, symbol));
        outputs.map(|output| self.level[output.expr.index()]).chain(conditions).max().unwrap_or(0)
    }

    /// Finds what is stored: what elements are moved from and to, what decides sizes, and what a later phase reads.
    fn find_stored(&mut self) {
        let graph = self.graph;
        let last = self.writes();
        // What is computed, and in which phase.
        let mut open: Vec<(ExprId, usize)> = Vec::new();
        for output in graph.outputs() {
            open.push((
                output.expr,
                if output.assigned.is_some() { last } else { self.level[output.expr.index()] },
            ));
        }
        for obligation in graph.obligations() {
            for symbol in obligation.demand.symbols() {
                self.need(symbol, &mut open);
            }
        }
        let mut seen = BTreeSet::new();
        while let Some((expr, phase)) = open.pop() {
            if !seen.insert((expr, phase)) {
                continue;
            }
            for symbol in graph.decided_sizes(expr) {
                self.need(symbol, &mut open);
            }
            if let Node::Compress { operand, mask, .. } = graph.node(expr) {
                self.store(expr, &mut open);
                self.store(*mask, &mut open);
                if !matches!(graph.node(*operand), Node::Iota) {
                    self.store(*operand, &mut open);
                }
                continue;
            }
            let own = self.level[expr.index()];
            let is_stored =
                own < phase && !self.again[expr.index()] && self.innermost[expr.index()].is_none();
            if is_stored {
                self.store(expr, &mut open);
            } else {
                open.extend(graph.operands(expr).into_iter().map(|operand| (operand, phase)));
            }
        }
        self.counted
            .retain(|mask| !self.stored.contains(mask) && !matches!(graph.node(*mask), Node::Input(_)));
    }

    fn store(&mut self, expr: ExprId, open: &mut Vec<(ExprId, usize)>) {
        if !matches!(self.graph.node(expr), Node::Input(_)) && self.stored.insert(expr) {
            open.push((expr, self.level[expr.index()]));
        }
    }

    /// Records that a size is needed.
    fn need(&mut self, symbol: SymbolId, open: &mut Vec<(ExprId, usize)>) {
        let kind = self.graph.symbols()[symbol.index()].kind;
        let Some(expr) = kind.decided_by() else { return };
        if !self.symbols.insert(symbol) {
            return;
        }
        match kind {
            SymbolKind::Count(_) => {
                self.counted.insert(expr);
                open.push((expr, self.level[expr.index()]));
            }
            _ => self.store(expr, open),
        }
    }

    fn new_slot(&mut self, dtype: DType, shape: Shape) -> usize {
        self.slots.push(Slot { dtype, shape, last: 0 });
        self.slots.len() - 1
    }

    /// Returns the array that an expression is.
    fn source(&self, expr: ExprId) -> Option<Source> {
        match self.graph.node(expr) {
            Node::Input(input) => Some(Source::Array(*input)),
            _ => self.slot_of.get(&expr).map(|slot| Source::Slot(*slot)),
        }
    }

    fn decided(&self, level: usize) -> Vec<Decided> {
        let graph = self.graph;
        let needed = self.symbols.iter().filter(|symbol| level_of(graph, &self.level, **symbol) == level + 1);
        let decided = needed.filter_map(|symbol| {
            let kind = graph.symbols()[symbol.index()].kind;
            let expr = kind.decided_by()?;
            let (by, counts) = match (self.count_of.get(&expr), kind) {
                (Some(slot), SymbolKind::Count(_)) => (Source::Slot(*slot), false),
                (_, kind) => (self.source(expr)?, matches!(kind, SymbolKind::Count(_))),
            };
            Some(Decided { symbol: *symbol, expr, by, counts })
        });
        decided.collect()
    }

    fn moves(&self, level: usize) -> Vec<Move> {
        let here = self.slot_of.iter().filter(|(expr, _)| self.level[expr.index()] == level + 1);
        let moves = here.filter_map(|(expr, slot)| match self.graph.node(*expr) {
            Node::Compress { operand, mask, axis } => {
                let (operand, mask) = (self.source(*operand), self.source(*mask)?);
                Some(Move { operand, mask, axis: *axis, slot: *slot })
            }
            _ => None,
        });
        moves.collect()
    }

    /// Returns what a phase computes.
    fn part(&self, level: usize, is_last: bool) -> Result<Option<Part>, Diagnostics> {
        let graph = self.graph;
        let is_here = |expr: &ExprId| self.level[expr.index()] == level;
        let is_moved = |expr: &ExprId| matches!(graph.node(*expr), Node::Compress { .. });
        let mut roots: Vec<(ExprId, Destination)> = Vec::new();
        let mut assigned: Vec<(ExprId, InputId, Destination)> = Vec::new();
        for (number, output) in graph.outputs().iter().enumerate() {
            let destination = Destination::Output(number);
            match output.assigned {
                Some(input) if is_last => assigned.push((output.expr, input, destination)),
                None if is_here(&output.expr) && !self.stored.contains(&output.expr) => {
                    roots.push((output.expr, destination));
                }
                _ => {}
            }
        }
        let stored = self.slot_of.iter().filter(|(expr, _)| is_here(expr) && !is_moved(expr));
        roots.extend(stored.map(|(expr, slot)| (*expr, Destination::Slot(*slot))));
        let counts: Vec<(ExprId, usize)> = self
            .count_of
            .iter()
            .filter(|(expr, _)| is_here(expr))
            .map(|(expr, slot)| (*expr, *slot))
            .collect();
        if roots.is_empty() && assigned.is_empty() && counts.is_empty() {
            return Ok(None);
        }
        let computed: BTreeSet<ExprId> = roots.iter().map(|(expr, _)| *expr).collect();
        let is_given = |expr: ExprId| matches!(graph.node(expr), Node::Input(_)) || !computed.contains(&expr);
        let source = |expr: ExprId| self.source(expr).filter(|_| is_given(expr));
        let exprs = roots.iter().map(|(expr, _)| *expr);
        let exprs =
            exprs.chain(assigned.iter().map(|(expr, ..)| *expr)).chain(counts.iter().map(|(expr, _)| *expr));
        let mut rewriter = Rewriter::without_inputs(graph);
        let mut inputs: Vec<Source> = Vec::new();
        for expr in self.reachable(exprs.collect(), &|expr| source(expr).is_some()) {
            let image = match source(expr) {
                None => rewriter.copy(expr),
                Some(of) => {
                    if !inputs.contains(&of) {
                        inputs.push(of);
                    }
                    match of {
                        Source::Array(_) => rewriter.copy(expr),
                        Source::Slot(slot) => {
                            let name = format!("{}{slot}", self.mark);
                            let (dtype, shape) = (graph.dtype(expr), graph.shape(expr).clone());
                            rewriter.builder().input(&name, dtype, shape, graph.site(expr))
                        }
                    }
                }
            };
            rewriter.replace(expr, image);
        }
        let mut outputs: Vec<(String, ExprId, Destination)> = Vec::new();
        for (expr, destination) in roots {
            let name = match destination {
                Destination::Output(number) => graph.outputs()[number].name.to_string(),
                Destination::Slot(slot) => format!("{}{slot}", self.mark),
            };
            outputs.push((name, rewriter.image(expr), destination));
        }
        for (mask, slot) in counts {
            let image = rewriter.image(mask);
            let count = rewriter.builder().reduce(ReduceOp::Sum, image, None, false, graph.site(mask));
            rewriter.attribute(mask);
            outputs.push((format!("{}{slot}", self.mark), count, Destination::Slot(slot)));
        }
        let mut destinations: Vec<Destination> =
            outputs.iter().map(|(_, _, destination)| *destination).collect();
        for (expr, input, destination) in assigned {
            if !inputs.contains(&Source::Array(input)) {
                inputs.push(Source::Array(input));
            }
            let image = rewriter.image(expr);
            let target = rewriter.builder().declare(&graph.inputs()[input.index()]);
            rewriter.builder().assign(target, image, graph.site(expr));
            rewriter.attribute(expr);
            destinations.push(destination);
        }
        let named: Vec<(&str, ExprId)> =
            outputs.iter().map(|(name, expr, _)| (name.as_str(), *expr)).collect();
        let (made, origins) = rewriter.finish_with(&named)?;
        // Conditions on sizes that are known hold: they have been checked.
        let known = |symbol: SymbolId| level_of(graph, &self.level, symbol) <= level;
        let made = made.with_conditions_of(graph, |demand| demand.symbols().into_iter().all(known));
        Ok(Some(Part { graph: made, origins, inputs, outputs: destinations }))
    }

    /// Returns some expressions and what they are made of, down to leaves.
    fn reachable(&self, mut open: Vec<ExprId>, is_leaf: &dyn Fn(ExprId) -> bool) -> BTreeSet<ExprId> {
        let mut found = BTreeSet::new();
        while let Some(expr) = open.pop() {
            if found.insert(expr) && !is_leaf(expr) {
                open.extend(self.graph.operands(expr));
            }
        }
        found
    }

    fn find_last_reads(&mut self, phases: &[Phase]) {
        for (number, phase) in phases.iter().enumerate() {
            let part = phase.part.iter().flat_map(|part| part.inputs.iter().copied());
            let decided = phase.decided.iter().map(|decided| decided.by);
            let moves = phase.moves.iter().flat_map(|moved| moved.operand.into_iter().chain([moved.mask]));
            for source in part.chain(decided).chain(moves) {
                if let Source::Slot(slot) = source {
                    self.slots[slot].last = number;
                }
            }
        }
    }
}

/// Returns the phase that begins when a size is known.
fn level_of(graph: &CheckedGraph, level: &[usize], symbol: SymbolId) -> usize {
    graph.decided_by(symbol).map_or(0, |expr| level[expr.index()] + 1)
}
