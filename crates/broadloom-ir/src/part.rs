//! Parts of graphs, which are graphs that are compiled on their own.

use crate::graph::CheckedGraph;
use crate::ids::ExprId;

/// A graph that computes part of another one, with the sources of its inputs and the destinations of its outputs.
#[derive(Debug, Clone)]
pub struct Part<S, D> {
    /// The graph.
    pub graph: CheckedGraph,
    /// For each expression, the expression of the whole graph for which it was made.
    pub origins: Vec<ExprId>,
    /// The source of each input.
    pub inputs: Vec<S>,
    /// The destination of each output.
    pub outputs: Vec<D>,
}

/// Returns a prefix that makes names which no input and no output of a graph has.
pub(crate) fn unused_prefix(graph: &CheckedGraph) -> String {
    let inputs = graph.inputs().iter().map(|input| &input.name);
    let names = inputs.chain(graph.outputs().iter().map(|output| &output.name));
    let marks = |name: &str| name.len() - name.trim_start_matches('%').len();
    "%".repeat(names.map(|name| marks(name)).max().unwrap_or(0) + 1)
}
