//! The meaning of the indices of results: the texts of a column by which a program groups.

use crate::io::source::Opened;
use crate::io::table::Names;
use broadloom::CheckedGraph;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, View};
use broadloom_text::TextColumns;
use std::collections::HashMap;

/// The names along an axis, and the input that they come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub of: String,
    pub names: Names,
}

/// The labels of each result's axes, and the texts of results that are text.
#[derive(Debug, Default)]
pub struct Labels {
    axes: HashMap<String, Vec<Option<Label>>>,
    texts: HashMap<String, Names>,
}

/// The inputs by which the axes of an expression are grouped.
type Axes = Vec<Option<usize>>;

impl Labels {
    /// Follows groups from the reductions that make them to the results, through operations that keep each element's
    /// index along the axis.
    pub fn new(graph: &CheckedGraph, inputs: &[Opened], texts: &TextColumns) -> Labels {
        if inputs.iter().all(|input| input.source.names().is_none()) {
            return Labels::default();
        }
        let mut axes: HashMap<ExprId, Axes> = HashMap::new();
        for expr in graph.exprs() {
            let found = of_node(graph, expr, &axes, inputs);
            if found.iter().any(Option::is_some) {
                axes.insert(expr, found);
            }
        }
        let label = |input: &usize| {
            let Opened { name, source, .. } = inputs.get(*input)?;
            Some(Label { of: name.clone(), names: source.names()?.clone() })
        };
        let of_result = |axes: &Axes| axes.iter().map(|input| input.as_ref().and_then(label)).collect();
        let results = graph.outputs().iter();
        let labels =
            results.filter_map(|output| Some((output.name.to_string(), of_result(axes.get(&output.expr)?))));
        let axes = labels.collect();
        let names = |name: &str| inputs.iter().find(|input| input.name == *name)?.source.names().cloned();
        let texts = texts.results.iter();
        let texts = texts.filter_map(|(result, input)| Some((result.to_string(), names(input)?))).collect();
        Labels { axes, texts }
    }

    /// The texts that the elements of a result index, if it is text.
    pub fn texts(&self, result: &str) -> Option<&Names> {
        self.texts.get(result)
    }

    /// The label of an axis of a result.
    pub fn of(&self, result: &str, axis: usize) -> Option<&Label> {
        self.axes.get(result)?.get(axis)?.as_ref()
    }
}

fn of_node(graph: &CheckedGraph, expr: ExprId, known: &HashMap<ExprId, Axes>, inputs: &[Opened]) -> Axes {
    let rank = graph.shape(expr).rank();
    let of = |operand: ExprId| {
        known.get(&operand).cloned().unwrap_or_else(|| vec![None; graph.shape(operand).rank()])
    };
    match graph.node(expr) {
        // Blocks of rows, groups, and the axes of a row.
        Node::Segment { values, ids, .. } => {
            let groups = graph.shape(expr).get(1).and_then(Dim::as_constant);
            // Groups that no text has have no names.
            let has_all = |names: &Names| groups.is_some_and(|groups| names.len() as i64 == groups);
            let group = column(graph, *ids).and_then(|name| {
                inputs
                    .iter()
                    .position(|input| input.name == name && input.source.names().is_some_and(has_all))
            });
            [None, group].into_iter().chain(of(*values).into_iter().skip(1)).collect()
        }
        Node::Elementwise { .. } | Node::Select { .. } | Node::Cast(_) => {
            let operands: Vec<Axes> = (graph.operands(expr).into_iter())
                .map(|operand| stretched(graph, expr, operand, of(operand)))
                .collect();
            let common = |axis: usize| {
                let mut groups = operands.iter().filter_map(|axes| axes.get(axis).copied().flatten());
                let first = groups.next()?;
                // A result grouped by two columns of different texts has the names of neither.
                let names = |input: usize| inputs.get(input).and_then(|input| input.source.names());
                groups.all(|group| names(group) == names(first)).then_some(first)
            };
            (0..rank).map(common).collect()
        }
        Node::Reduce { operand, axes, keepdims, .. } => {
            let all = of(*operand).into_iter().enumerate();
            match keepdims {
                true => all.map(|(axis, group)| group.filter(|_| !axes.contains(&axis))).collect(),
                false => all.filter(|(axis, _)| !axes.contains(axis)).map(|(_, group)| group).collect(),
            }
        }
        // Along all other axes the groups stay where they are.
        Node::Sort { operand, sort } => {
            let all = of(*operand).into_iter().enumerate();
            all.map(|(axis, group)| group.filter(|_| axis != sort.axis)).collect()
        }
        Node::Compress { operand, axis: own, .. } => {
            let all = of(*operand).into_iter().enumerate();
            all.map(|(axis, group)| group.filter(|_| axis != *own)).collect()
        }
        Node::Search { values, .. } => of(*values),
        Node::Set { base, .. } | Node::Scatter { base, .. } => of(*base),
        Node::Scan { operand, .. } => of(*operand),
        Node::View { view, operand } => of_view(graph, expr, view, *operand, of(*operand)),
        Node::Input(_)
        | Node::Constant(_)
        | Node::Take { .. }
        | Node::Iota
        | Node::Size(_)
        | Node::Concat { .. }
        | Node::TopK { .. }
        | Node::Step { .. }
        | Node::Loop { .. }
        | Node::Poison => vec![None; rank],
    }
}

/// The name of the input whose elements, or some of them, an expression has.
fn column(graph: &CheckedGraph, mut expr: ExprId) -> Option<&str> {
    loop {
        expr = match graph.node(expr) {
            Node::Input(input) => return graph.inputs().get(input.index()).map(|info| &*info.name),
            Node::View { operand, .. } | Node::Compress { operand, .. } => *operand,
            Node::Sort { operand, sort } if !sort.indices => *operand,
            Node::Take { table, .. } => *table,
            _ => return None,
        };
    }
}

/// The groups of a result that an operand broadcasts to. A stretched axis has no groups.
fn stretched(graph: &CheckedGraph, expr: ExprId, operand: ExprId, groups: Axes) -> Axes {
    let (shape, own) = (graph.shape(expr), graph.shape(operand));
    let new = shape.rank().saturating_sub(groups.len());
    let kept = groups.into_iter().enumerate();
    let kept = kept.map(|(axis, group)| group.filter(|_| own.get(axis) == shape.get(axis + new)));
    std::iter::repeat_n(None, new).chain(kept).collect()
}

fn of_view(graph: &CheckedGraph, expr: ExprId, view: &View, operand: ExprId, groups: Axes) -> Axes {
    let shape = graph.shape(expr);
    let at = |axis: usize| groups.get(axis).copied().flatten();
    match view {
        View::Permute(permutation) => permutation.iter().map(|axis| at(*axis)).collect(),
        View::ExpandDims(axes) => {
            let mut rest = groups.iter().copied();
            (0..shape.rank())
                .map(|axis| if axes.contains(&axis) { None } else { rest.next().flatten() })
                .collect()
        }
        View::Squeeze(axes) => groups
            .iter()
            .enumerate()
            .filter(|(axis, _)| !axes.contains(axis))
            .map(|(_, group)| *group)
            .collect(),
        View::BroadcastTo => stretched(graph, expr, operand, groups),
        View::Rebind => groups,
        View::Slice(slices) => {
            let whole = graph.shape(operand);
            let is_whole = |axis: usize| {
                slices.get(axis).is_some_and(|slice| slice.start.is_zero() && slice.step == 1)
                    && whole.get(axis) == shape.get(axis)
            };
            (0..groups.len()).map(|axis| at(axis).filter(|_| is_whole(axis))).collect()
        }
        View::Windows(along) => {
            (0..shape.rank()).map(|axis| at(axis).filter(|_| axis != *along && axis < groups.len())).collect()
        }
        View::Reshape => vec![None; shape.rank()],
    }
}
