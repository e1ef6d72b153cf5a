//! Reduces several ways of writing an expression to one, so that equal expressions are one node.
//!
//! ```text
//! reduction with keepdims           ──▶ reduction, expand_dims
//! mean                              ──▶ sum / size
//! inserted axes that are removed    ──▶ nothing
//! op of an operand with leading 1s  ──▶ op of the operand without them, which broadcasts alike
//! ```

use super::{Rewriter, Rewritten};
use crate::dim::Dim;
use crate::graph::{Axes, CheckedGraph, Node, View};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::reduce::ReduceOp;

/// Returns the graph in canonical form.
pub fn canonical(graph: &CheckedGraph) -> Rewritten {
    Rewriter::map(graph, |rewriter, expr| {
        let image = match rewriter.node(expr) {
            Node::Reduce { op, operand, axes, keepdims } if keepdims || op == ReduceOp::Mean => {
                reduction(rewriter, expr, op, operand, &axes, keepdims)
            }
            Node::View { view: View::ExpandDims(_) | View::Squeeze(_), operand } => {
                undone(rewriter, expr, operand)
            }
            Node::Elementwise { .. } | Node::Select { .. } => aligned(rewriter, expr),
            _ => None,
        };
        image.unwrap_or_else(|| rewriter.copy(expr))
    })
}

/// Rewrites a reduction without `keepdims`, and never as a mean. Its conditions are not repeated: the rewriter
/// keeps those of the graph.
fn reduction(
    rewriter: &mut Rewriter<'_>,
    expr: ExprId,
    op: ReduceOp,
    operand: ExprId,
    axes: &Axes,
    keepdims: bool,
) -> Option<ExprId> {
    let source = rewriter.source();
    let (dtype, site) = (source.dtype(expr), source.site(expr));
    let graph = rewriter.builder();
    let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
    let reduced = match op {
        ReduceOp::Mean => {
            let accumulator = op.accumulator(graph.dtype(operand));
            let shape = graph.shape(operand);
            let count = Dim::product(axes.iter().map(|axis| &shape[*axis as usize])).ok()?;
            let operand = graph.cast(operand, accumulator, site);
            let total = graph.reduce_or_identity(ReduceOp::Sum, operand, Some(&axes), false, site);
            let count = graph.size_value(count, site);
            let count = graph.cast(count, accumulator, site);
            let mean = graph.elementwise(Op::Divide, &[total, count], site);
            graph.cast(mean, dtype, site)
        }
        _ => graph.reduce_or_identity(op, operand, Some(&axes), false, site),
    };
    Some(if keepdims { graph.expand_dims(reduced, &axes, site) } else { reduced })
}

/// Returns the operand of a pair of views that undo each other: axes inserted and removed, or removed and inserted.
fn undone(rewriter: &Rewriter<'_>, expr: ExprId, operand: ExprId) -> Option<ExprId> {
    let graph = rewriter.graph();
    match graph.node(operand) {
        Node::View { view: View::ExpandDims(_) | View::Squeeze(_), operand: inner }
            if graph.shape(*inner) == *rewriter.source().shape(expr) =>
        {
            Some(*inner)
        }
        _ => None,
    }
}

/// Rewrites an op to operands without inserted leading axes, as long as another operand has the rank of the result.
fn aligned(rewriter: &mut Rewriter<'_>, expr: ExprId) -> Option<ExprId> {
    let source = rewriter.source();
    let (rank, site) = (source.shape(expr).rank(), source.site(expr));
    let node = rewriter.node(expr);
    let mut operands = node.operands();
    let graph = rewriter.builder();
    let mut full = operands.iter().filter(|operand| graph.shape(**operand).rank() == rank).count();
    let mut found = false;
    for operand in &mut operands {
        let Node::View { view: View::ExpandDims(axes), operand: inner } = graph.node(*operand) else {
            continue;
        };
        let leading = axes.iter().enumerate().take_while(|(position, axis)| position == *axis).count();
        let is_full = graph.shape(*operand).rank() == rank;
        if leading == 0 || is_full && full < 2 {
            continue;
        }
        let after: Vec<i64> = axes[leading..].iter().map(|axis| (axis - leading) as i64).collect();
        *operand = graph.expand_dims(*inner, &after, site);
        full -= usize::from(is_full);
        found = true;
    }
    if !found {
        return None;
    }
    Some(match (node, operands.as_slice()) {
        (Node::Elementwise { op, .. }, operands) => graph.elementwise(op, operands, site),
        (_, &[condition, on_true, on_false]) => graph.select(condition, on_true, on_false, site),
        _ => return None,
    })
}
