//! How reductions read expressions, which decides what is computed in which order.

use broadloom_ir::ExprId;
use broadloom_ir::graph::{CheckedGraph, Node};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use std::collections::HashMap;

/// How reductions read an expression, through ops and views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduced {
    /// One of them adds or multiplies its elements.
    Added,
    /// They compare at most so many elements, or values computed from these.
    Compared(i64),
    /// They find the least of at most so many elements.
    Least(i64),
    /// They find the least of the square roots of at most so many elements.
    LeastRoot(i64),
}

impl Reduced {
    /// Returns how the operands of an op are read whose results are read in this way.
    fn through(self, op: Op) -> Reduced {
        match self {
            Reduced::Least(count) if op == Op::Sqrt => Reduced::LeastRoot(count),
            _ => self.of_others(),
        }
    }

    /// Returns how elements are read from which others are computed, which are read in this way.
    fn of_others(self) -> Reduced {
        match self {
            Reduced::Added => Reduced::Added,
            Reduced::Compared(count) | Reduced::Least(count) | Reduced::LeastRoot(count) => {
                Reduced::Compared(count)
            }
        }
    }

    /// Returns how this reduction and others read an expression.
    fn and(self, others: Reduced) -> Reduced {
        match (self, others) {
            (Reduced::Least(a), Reduced::Least(b)) => Reduced::Least(a.max(b)),
            (Reduced::LeastRoot(a), Reduced::LeastRoot(b)) => Reduced::LeastRoot(a.max(b)),
            _ => match (self.of_others(), others.of_others()) {
                (Reduced::Compared(a), Reduced::Compared(b)) => Reduced::Compared(a.max(b)),
                _ => Reduced::Added,
            },
        }
    }
}

/// Returns how sums, products and extremes over axes read expressions.
pub(super) fn reduced(graph: &CheckedGraph, long_rows: bool) -> HashMap<ExprId, Reduced> {
    let mut reduced: HashMap<ExprId, Reduced> = HashMap::new();
    let exprs: Vec<ExprId> = graph.exprs().collect();
    for expr in exprs.into_iter().rev() {
        let node = graph.node(expr);
        let read = reduced.get(&expr).copied();
        let how = match node {
            Node::Reduce { op: ReduceOp::Sum | ReduceOp::Prod, .. } => Some(Reduced::Added),
            Node::Reduce { op: ReduceOp::Mean, .. } => {
                // The sum is divided.
                if let Some(read) = read {
                    reduced.insert(expr, read.of_others());
                }
                Some(Reduced::Added)
            }
            Node::Reduce { op, operand, axes, .. } => {
                let unknown = if long_rows { i64::MAX } else { 0 };
                let extents =
                    axes.iter().map(|axis| graph.shape(*operand)[*axis].as_constant().unwrap_or(unknown));
                let is_least = matches!(op, ReduceOp::Min | ReduceOp::ArgMin);
                let how = if is_least { Reduced::Least } else { Reduced::Compared };
                op.beats().and_then(|_| extents.max()).map(how)
            }
            Node::TopK { .. } | Node::Sort { .. } | Node::Search { .. } | Node::Scan { .. } => None,
            Node::Elementwise { op, .. } => read.map(|how| how.through(*op)),
            Node::View { .. } => read,
            _ => read.map(Reduced::of_others),
        };
        let Some(how) = how else { continue };
        for operand in node.operands() {
            reduced.entry(operand).and_modify(|others| *others = how.and(*others)).or_insert(how);
        }
    }
    reduced
}
