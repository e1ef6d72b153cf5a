//! Prints checked graphs.

use super::{CheckedGraph, Node, SEARCH, StepValue, View, scan_name};
use crate::shape::Shape;
use std::fmt;

impl CheckedGraph {
    fn write_shape(&self, f: &mut fmt::Formatter<'_>, shape: &Shape) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in shape.iter().enumerate() {
            f.write_str(if axis == 0 { "" } else { ", " })?;
            write!(f, "{}", dim.display(&|symbol| self.named(symbol)))?;
        }
        f.write_str("]")
    }

    fn write_node(&self, f: &mut fmt::Formatter<'_>, node: &Node) -> fmt::Result {
        match node {
            Node::Input(input) => write!(f, "input {:?}", self.inputs()[input.index()].name),
            Node::Constant(value) => write!(f, "constant {value}"),
            Node::Elementwise { op, .. } => write!(f, "{op}"),
            Node::Select { .. } => f.write_str("select"),
            Node::Cast(_) => f.write_str("cast"),
            Node::Reduce { op, .. } => write!(f, "{op}"),
            Node::View { view, .. } => f.write_str(view.name()),
            Node::Take { .. } => f.write_str("take"),
            Node::Compress { .. } => f.write_str("compress"),
            Node::Iota => f.write_str("iota"),
            Node::Size(size) => write!(f, "size {}", size.display(&|symbol| self.named(symbol))),
            Node::Concat { .. } => f.write_str("concat"),
            Node::Set { .. } => f.write_str("set"),
            Node::Scatter { op: None, .. } => f.write_str("scatter"),
            Node::Scatter { op: Some(op), .. } => write!(f, "scatter_{op}"),
            Node::Segment { op, .. } => write!(f, "segment_{op}"),
            Node::TopK { topk, .. } => f.write_str(topk.name()),
            Node::Sort { sort, .. } => f.write_str(sort.name()),
            Node::Search { .. } => f.write_str(SEARCH),
            Node::Scan { op, .. } => f.write_str(scan_name(*op)),
            Node::Step { of, value, name } => {
                let kind = match value {
                    StepValue::Counter => "counter",
                    StepValue::Carried(_) => "carried",
                    StepValue::Row(_) => "row",
                };
                write!(f, "{kind} {name:?} of {of}")
            }
            Node::Loop { repeated, result } => write!(f, "result {result} of {}", repeated.id),
            Node::Poison => f.write_str("poison"),
        }?;
        for operand in node.operands() {
            write!(f, " {operand}")?;
        }
        match node {
            Node::Reduce { axes, keepdims, .. } => {
                write!(f, " axes={:?}{}", axes.as_slice(), if *keepdims { " keepdims" } else { "" })
            }
            Node::View { view: View::Permute(axes), .. } => write!(f, " axes={:?}", axes.as_slice()),
            Node::View { view: View::ExpandDims(axes) | View::Squeeze(axes), .. } => {
                write!(f, " axes={:?}", axes.as_slice())
            }
            Node::View { view: View::Slice(parts), .. } | Node::Set { region: parts, .. } => {
                for (axis, part) in parts.iter().enumerate() {
                    let start = part.start.display(&|symbol| self.named(symbol)).to_string();
                    write!(f, "{}{start}..:{}", if axis == 0 { " [" } else { ", " }, part.step)?;
                }
                f.write_str("]")
            }
            Node::TopK { topk, .. } => {
                let smallest = if topk.largest { "" } else { " smallest" };
                write!(f, " k={} axis={}{smallest}", topk.k, topk.axis)
            }
            Node::Sort { sort, .. } => {
                write!(f, " axis={}{}", sort.axis, if sort.descending { " descending" } else { "" })
            }
            Node::Search { right, .. } => f.write_str(if *right { " right" } else { "" }),
            Node::Take { axis, .. }
            | Node::Compress { axis, .. }
            | Node::Concat { axis, .. }
            | Node::Scan { axis, .. }
            | Node::View { view: View::Windows(axis), .. } => write!(f, " axis={axis}"),
            Node::Input(_)
            | Node::Constant(_)
            | Node::Elementwise { .. }
            | Node::Select { .. }
            | Node::Cast(_)
            | Node::View { view: View::Reshape | View::BroadcastTo | View::Rebind, .. }
            | Node::Iota
            | Node::Size(_)
            | Node::Scatter { .. }
            | Node::Segment { .. }
            | Node::Step { .. }
            | Node::Loop { .. }
            | Node::Poison => Ok(()),
        }
    }
}

impl fmt::Display for CheckedGraph {
    /// Prints one line per expression, `%3 = add %1 %2 : f32[n, 3]`, then one per output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for expr in self.exprs() {
            write!(f, "{expr} = ")?;
            self.write_node(f, self.node(expr))?;
            write!(f, " : {}", self.dtype(expr))?;
            self.write_shape(f, self.shape(expr))?;
            writeln!(f)?;
        }
        for output in self.outputs() {
            let verb = if output.assigned.is_some() { "assign" } else { "output" };
            writeln!(f, "{verb} {:?} = {}", output.name, output.expr)?;
        }
        Ok(())
    }
}

impl fmt::Debug for CheckedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
