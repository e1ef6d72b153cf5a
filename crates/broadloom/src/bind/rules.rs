//! A flat list of steps that solves and checks sizes when arrays are bound. It is made once per executable;
//! `check.rs` executes it.

use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{CheckedGraph, Node, Site, Steps, SymbolKind, View, symbol_named};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId};
use std::collections::HashSet;

/// Solves and checks the sizes of inputs.
#[derive(Debug)]
pub(crate) struct SizeRules {
    /// For each input, whether it must be passed: the outputs read it, or need its sizes.
    pub(crate) required: Vec<bool>,
    /// The symbols that no axis of a required input determines: the caller gives them.
    pub(crate) parameters: Vec<SymbolId>,
    pub(super) steps: Vec<Step>,
    pub(super) takes: Vec<Take>,
}

/// The action for an axis of an input.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) input: InputId,
    pub(super) axis: usize,
    pub(super) action: Action,
}

#[derive(Debug)]
pub(super) enum Action {
    /// The axis has the size `coefficient * symbol + rest`, which determines the symbol.
    Solve { symbol: SymbolId, coefficient: i64, rest: Dim },
    /// Only axes that may have size 1 mention the symbol. If one of them has a size other than 1, that is the
    /// symbol's value. `axes` are all of them.
    SolveStretched { symbol: SymbolId, axes: Vec<(InputId, usize)> },
    /// The axis has this size; all of its symbols are solved.
    Check(Dim),
    /// The axis has this size, or 1.
    CheckStretched(Dim),
}

/// Indices into an axis, which must have elements if there are any indices.
#[derive(Debug)]
pub(super) struct Take {
    pub(super) size: Dim,
    pub(super) indices: Shape,
    pub(super) axis: Option<usize>,
    /// Whether the function that takes has made the array itself, as `median` sorts before it takes.
    pub(super) is_own: bool,
    pub(super) expr: ExprId,
    pub(super) site: Site,
}

impl SizeRules {
    /// Makes the rules of a graph.
    pub(crate) fn new(graph: &CheckedGraph) -> SizeRules {
        let mut read = vec![false; graph.inputs().len()];
        for input in graph.outputs().iter().filter_map(|output| output.assigned) {
            read[input.index()] = true;
        }
        let mut needed = HashSet::new();
        let mut seen = HashSet::new();
        let mut takes = Vec::new();
        // A loop may not step at all: its step is a graph with rules of its own.
        let innermost = graph.innermost();
        for expr in graph.exprs() {
            if seen.insert(graph.shape(expr)) {
                needed.extend(graph.shape(expr).iter().flat_map(Dim::symbols));
            }
            match graph.node(expr) {
                Node::Input(input) => read[input.index()] = true,
                Node::View { view: View::Slice(parts), .. } | Node::Set { region: parts, .. } => {
                    needed.extend(parts.iter().flat_map(|part| part.start.symbols()));
                }
                Node::Take { table, indices, axis } => takes.push(Take {
                    size: graph.shape(*table)[*axis].clone(),
                    indices: graph.shape(*indices).clone(),
                    axis: Some(*axis),
                    is_own: graph.call(*table) == graph.call(expr) && graph.site(*table) == graph.site(expr),
                    expr,
                    site: graph.site(expr),
                }),
                Node::Scatter { base, indices, .. } => takes.push(Take {
                    size: graph.shape(*base)[0].clone(),
                    indices: graph.shape(*indices).clone(),
                    // The axis of the positions goes to the front.
                    axis: Some(match graph.node(*base) {
                        Node::View { view: View::Permute(axes), .. } => axes.first().copied().unwrap_or(0),
                        _ => 0,
                    }),
                    is_own: false,
                    expr,
                    site: graph.site(expr),
                }),
                Node::Segment { ids, .. } => takes.push(Take {
                    size: graph.shape(expr)[1].clone(),
                    indices: graph.shape(*ids).clone(),
                    axis: None,
                    is_own: false,
                    expr,
                    site: graph.site(expr),
                }),
                Node::Size(size) => needed.extend(size.symbols()),
                Node::Constant(_)
                | Node::Concat { .. }
                | Node::Elementwise { .. }
                | Node::Select { .. }
                | Node::Cast(_)
                | Node::Compress { .. }
                | Node::TopK { .. }
                | Node::Sort { .. }
                | Node::Search { .. }
                | Node::Scan { .. }
                | Node::Reduce { .. }
                | Node::View { .. }
                | Node::Iota
                | Node::Step { .. }
                | Node::Poison => {}
                Node::Loop { repeated, .. } => {
                    if let Steps::Size(length) = &repeated.steps {
                        needed.extend(length.symbols());
                    }
                }
            }
        }
        takes.retain(|take| innermost[take.expr.index()].is_none());
        // What the data of a run decide is checked by the part of the graph that knows it.
        takes.retain(|take| !take.indices.iter().chain([&take.size]).any(|size| graph.is_decided(size)));
        // Declarations may mention sizes that nothing determines.
        let demands = graph
            .obligations()
            .iter()
            .filter(|obligation| obligation.origin.is_some() || obligation.bounds_size);
        needed.extend(demands.flat_map(|obligation| obligation.demand.symbols()));
        needed.retain(|symbol| graph.decided_by(*symbol).is_none());
        let mut required = read;
        let (mut steps, mut solved) = solve(graph, &required, HashSet::new());
        let is_parameter = |symbol: &SymbolId| graph.symbols()[symbol.index()].kind == SymbolKind::Parameter;
        let mut open: Vec<SymbolId> = needed
            .iter()
            .copied()
            .filter(|symbol| !solved.contains(symbol) && is_parameter(symbol))
            .collect();
        // An axis that may be 1 determines a size only where nothing else does: not even an input that no output reads.
        let is_guessed = steps.iter().any(|step| match &step.action {
            Action::SolveStretched { symbol, .. } => {
                needed.contains(symbol) && is_determined_beside(graph, &required, *symbol)
            }
            Action::Solve { .. } | Action::Check(_) | Action::CheckStretched(_) => false,
        });
        if is_guessed || !needed.iter().all(|symbol| solved.contains(symbol) || is_parameter(symbol)) {
            required.fill(true);
            (steps, solved) = solve(graph, &required, HashSet::new());
            open.retain(|symbol| !solved.contains(symbol));
        }
        // Parameters allow more sizes to be solved, among them some that are not needed.
        open.extend(graph.inputs().iter().zip(&required).filter(|(_, required)| **required).flat_map(
            |(input, _)| {
                let symbols = input.shape.iter().flat_map(Dim::symbols);
                symbols.filter(|symbol| !solved.contains(symbol) && is_parameter(symbol)).collect::<Vec<_>>()
            },
        ));
        open.sort_unstable();
        open.dedup();
        if !open.is_empty() {
            (steps, _) = solve(graph, &required, open.iter().copied().collect());
        }
        SizeRules { required, parameters: open, steps, takes }
    }
}

/// Returns whether an input that is not required has an axis that determines a symbol and may not be 1.
fn is_determined_beside(graph: &CheckedGraph, required: &[bool], symbol: SymbolId) -> bool {
    let others = graph.inputs().iter().zip(required).filter(|(_, required)| !**required);
    others.into_iter().any(|(input, _)| {
        let mut axes = input.shape.iter().enumerate();
        axes.any(|(axis, dim)| !input.may_be_one.contains(&axis) && dim.linear_in(symbol).is_some())
    })
}

/// Returns steps over the axes of the chosen inputs, each of which solves at most one symbol that earlier steps
/// leave open, together with the solved symbols.
fn solve(
    graph: &CheckedGraph,
    chosen: &[bool],
    mut solved: HashSet<SymbolId>,
) -> (Vec<Step>, HashSet<SymbolId>) {
    let mut open: Vec<(InputId, usize, &Dim)> = Vec::new();
    let mut stretched: Vec<(InputId, usize, &Dim)> = Vec::new();
    for (index, input) in graph.inputs().iter().enumerate().filter(|(index, _)| chosen[*index]) {
        for (axis, dim) in input.shape.iter().enumerate() {
            let axes = if input.may_be_one.contains(&axis) { &mut stretched } else { &mut open };
            axes.push((InputId::new(index), axis, dim));
        }
    }
    let mut steps = Vec::new();
    loop {
        let before = open.len();
        open.retain(|&(input, axis, dim)| {
            let unknown: Vec<SymbolId> =
                dim.symbols().into_iter().filter(|symbol| !solved.contains(symbol)).collect();
            let action = match unknown.as_slice() {
                [] => Action::Check(dim.clone()),
                [symbol] => match dim.linear_in(*symbol) {
                    Some((coefficient, rest)) => Action::Solve { symbol: *symbol, coefficient, rest },
                    None => return true,
                },
                _ => return true,
            };
            solved.extend(unknown);
            steps.push(Step { input, axis, action });
            false
        });
        if open.len() < before {
            continue;
        }
        // An axis that may be 1 determines a size only where nothing else does.
        let lone = |&(input, axis, dim): &(InputId, usize, &Dim)| {
            Some((input, axis, symbol_named(dim, graph.symbols()).filter(|symbol| !solved.contains(symbol))?))
        };
        let Some((input, axis, symbol)) = stretched.iter().find_map(lone) else { break };
        let alike = stretched.iter().filter(|(_, _, dim)| symbol_named(dim, graph.symbols()) == Some(symbol));
        let axes = alike.map(|&(input, axis, _)| (input, axis)).collect();
        steps.push(Step { input, axis, action: Action::SolveStretched { symbol, axes } });
        solved.insert(symbol);
    }
    for (input, axis, dim) in stretched {
        if dim.symbols().iter().all(|symbol| solved.contains(symbol)) {
            steps.push(Step { input, axis, action: Action::CheckStretched(dim.clone()) });
        }
    }
    (steps, solved)
}
