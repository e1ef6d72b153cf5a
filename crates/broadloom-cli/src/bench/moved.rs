//! The bytes that a run moves of inputs that it updates in part: those of the regions.

use super::elements;
use super::sizes::Sizes;
use broadloom::{CheckedGraph, Executable};
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Node, View};
use std::collections::HashSet;

/// Returns the elements that a run reads and writes of an input that it updates in place by regions; `None` if it writes
/// the whole array.
pub fn of_update(kernel: &Executable, sizes: &Sizes, name: &str) -> Option<[usize; 2]> {
    let graph = kernel.graph();
    if kernel.explain().in_place(name) != Some(true) {
        return None;
    }
    let output = graph.outputs().iter().find(|output| output.assigned.is_some() && *output.name == *name)?;
    let count = |expr: ExprId| Some(elements(&sizes.of(graph.shape(expr))?));
    let (mut expr, mut written, mut changes) = (output.expr, 0_usize, HashSet::new());
    while let Node::Set { base, value, .. } = graph.node(expr) {
        changes.insert(expr);
        written = written.saturating_add(count(*value)?);
        expr = *base;
    }
    let Node::Input(input) = graph.node(expr) else { return None };
    if changes.is_empty() || *graph.inputs().get(input.index())?.name != *name {
        return None;
    }
    let whole = count(expr)?;
    Some([read(graph, expr, &changes, &count)?.min(whole), written.min(whole)])
}

/// Returns the number of elements that are read of an input and of its changes.
fn read(
    graph: &CheckedGraph,
    input: ExprId,
    changes: &HashSet<ExprId>,
    count: &dyn Fn(ExprId) -> Option<usize>,
) -> Option<usize> {
    let mut read = 0_usize;
    for expr in graph.exprs() {
        let node = graph.node(expr);
        let operands = node.operands();
        if !operands.iter().any(|operand| *operand == input || changes.contains(operand)) {
            continue;
        }
        read = read.saturating_add(match node {
            Node::Set { value, .. } if changes.contains(&expr) && *value != input => 0,
            Node::View { view: View::Slice(_), .. } => count(expr)?,
            _ => count(input)?,
        });
    }
    Some(read)
}
