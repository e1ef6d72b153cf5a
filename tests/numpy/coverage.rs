//! That no row of a table is left out: every op, reduction, cast and kind of node, on every dtype that it accepts, is
//! the last step of some case that has a result.

use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Node, SEARCH, scan_name};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use std::collections::HashSet;

/// What was the last step of some case, as text.
#[derive(Default)]
pub struct Covered(HashSet<String>);

/// The dtypes that NumPy has.
fn dtypes() -> impl Iterator<Item = DType> {
    DType::ALL.iter().copied().filter(|&dtype| dtype != DType::Bf16)
}

impl Covered {
    /// Notes what a graph ends with.
    pub fn count(&mut self, graph: &CheckedGraph) {
        let output = graph.outputs()[0].expr;
        let step = match graph.node(output) {
            Node::Elementwise { op, operands } => format!("{op} of {}", graph.dtype(operands[0])),
            Node::Reduce { op, operand, .. } => format!("{op} of {}", graph.dtype(*operand)),
            Node::Cast(operand) => format!("cast of {} to {}", graph.dtype(*operand), graph.dtype(output)),
            Node::Select { .. } => format!("select of {}", graph.dtype(output)),
            Node::Take { .. } => format!("take of {}", graph.dtype(output)),
            Node::Compress { .. } => format!("compress of {}", graph.dtype(output)),
            Node::Concat { .. } => format!("concat of {}", graph.dtype(output)),
            Node::Set { .. } => format!("set of {}", graph.dtype(output)),
            Node::TopK { topk, operand } => format!("{} of {}", topk.name(), graph.dtype(*operand)),
            Node::Sort { sort, operand } => format!("{} of {}", sort.name(), graph.dtype(*operand)),
            Node::Search { table, .. } => format!("{SEARCH} of {}", graph.dtype(*table)),
            Node::Scan { op, .. } => format!("{} of {}", scan_name(*op), graph.dtype(output)),
            Node::View { view, .. } => format!("{} of {}", view.name(), graph.dtype(output)),
            Node::Scatter { .. }
            | Node::Segment { .. }
            | Node::Input(_)
            | Node::Constant(_)
            | Node::Iota
            | Node::Size(_)
            | Node::Step { .. }
            | Node::Loop { .. }
            | Node::Poison => {
                return;
            }
        };
        self.0.insert(step);
    }

    /// What was not.
    pub fn missing(&self) -> Vec<String> {
        let mut required = Vec::new();
        for dtype in dtypes() {
            let ops = Op::ALL.iter().filter(|op| op.accepts(dtype.class()));
            // At 16 bits it is made of other ops when it is built.
            let ops = ops.filter(|&&op| op != Op::Nextafter || dtype.arithmetic() == dtype);
            // Operands of a quotient or of a logical op have been converted, so that its row sees some dtypes only.
            let ops = ops.filter(|op| op.operand_dtype(&vec![dtype; op.arity()]) == Some(dtype));
            required.extend(ops.map(|op| format!("{op} of {dtype}")));
            required.extend(ReduceOp::ALL.iter().map(|op| format!("{op} of {dtype}")));
            required.extend(
                ["select", "take", "concat", "topk", "argtopk", "sort", "argsort", SEARCH]
                    .map(|name| format!("{name} of {dtype}")),
            );
            let others = dtypes().filter(|&to| to != dtype);
            required.extend(others.map(|to| format!("cast of {dtype} to {to}")));
        }
        required.retain(|step| !self.0.contains(step));
        required
    }
}
