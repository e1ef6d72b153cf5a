//! Graphs with numbers in place of their symbols: what is accepted for all sizes is accepted for each, with the same
//! shapes and the same bits.

use crate::build::{apply, reduce};
use broadloom::{CheckedGraph, Dim, Graph, Op, Scalar, Shape, SliceItem, Tensor, concat, select};
use broadloom_ir::dim;
use broadloom_ir::for_each_dtype;
use broadloom_ir::graph::{InputInfo, Node, SliceAxis, View};
use broadloom_ir::reduce::{ReduceOp, SEGMENT_BLOCK, rows_of_table, segment_tables};

/// The graph written anew for values of its symbols, with the outputs of the original.
pub struct Concrete {
    pub graph: Graph,
    pub outputs: Vec<(String, Tensor)>,
}

/// Writes each expression anew by the methods of the DSL.
pub fn substitute(graph: &CheckedGraph, values: &dyn Fn(broadloom_ir::SymbolId) -> Option<i64>) -> Concrete {
    let size = |dim: &dim::Dim| dim.evaluate(values).expect("all symbols have values");
    let fresh = Graph::new();
    // All of them, so that arrays go with them in order.
    let declare = |info: &InputInfo| {
        let dims = info.shape.iter().enumerate().map(|(axis, dim)| {
            let dim = Dim::from(size(dim));
            if info.may_be_one.contains(&axis) { dim.or_one() } else { dim }
        });
        fresh.input_dyn(&info.name, info.dtype, dims.collect::<Vec<Dim>>())
    };
    let inputs: Vec<Tensor> = graph.inputs().iter().map(declare).collect();
    let mut tensors: Vec<Tensor> = Vec::new();
    for expr in graph.exprs() {
        let operands: Vec<Tensor> = graph.operands(expr).iter().map(|of| tensors[of.index()]).collect();
        let shape: Vec<i64> = graph.shape(expr).iter().map(size).collect();
        let dims = || shape.iter().map(|size| Dim::from(*size)).collect::<Vec<Dim>>();
        let tensor = match graph.node(expr) {
            Node::Input(input) => inputs[input.index()],
            Node::Constant(value) => constant(&fresh, *value),
            Node::Elementwise { op, .. } => apply(*op, &operands),
            Node::Select { .. } => select(operands[0], operands[1], operands[2]),
            Node::Cast(_) => operands[0].cast_to(graph.dtype(expr)),
            // No rows have no tables; what they would hold is the identity.
            Node::Reduce { op, axes, operand, .. }
                if op.needs_elements()
                    && axes.iter().any(|axis| size(&graph.shape(*operand)[*axis]) == 0) =>
            {
                constant(&fresh, op.identity(graph.dtype(expr))).broadcast_to(dims())
            }
            Node::Reduce { op, axes, keepdims, .. } => {
                let axes: Vec<i64> = axes.iter().map(|axis| *axis as i64).collect();
                reduce(*op, operands[0], axes, *keepdims)
            }
            Node::View { view, operand } => {
                let x = operands[0];
                let signed = |axes: &[usize]| axes.iter().map(|axis| *axis as i64).collect::<Vec<i64>>();
                match view {
                    View::Reshape => x.reshape(Shape::from(dims())),
                    View::Permute(axes) => x.permute_dims(signed(axes)),
                    View::ExpandDims(axes) => x.expand_dims(signed(axes)),
                    View::Squeeze(axes) => x.squeeze(signed(axes)),
                    View::BroadcastTo => x.broadcast_to(dims()),
                    View::Rebind => x.rebind(dims()),
                    View::Windows(axis) => x.sliding_window_view(shape[shape.len() - 1], *axis),
                    View::Slice(parts) => {
                        let parts = parts.iter().zip(&shape).map(|(part, count)| slice(part, *count, &size));
                        let sliced = x.slice(parts.collect::<Vec<SliceItem>>());
                        assert_eq!(graph.shape(*operand).rank(), shape.len());
                        sliced
                    }
                }
            }
            Node::Take { axis, .. } => operands[0].take(operands[1], *axis as i64),
            Node::TopK { topk, .. } => {
                let (k, axis) = (topk.k, topk.axis as i64);
                let best = match topk.largest {
                    true => operands[0].topk(k, axis),
                    false => operands[0].topk_smallest(k, axis),
                };
                if topk.indices { best.1 } else { best.0 }
            }
            Node::Sort { sort, .. } => {
                let (x, axis) = (operands[0], sort.axis as i64);
                match (sort.indices, sort.descending) {
                    (false, false) => x.sort(axis),
                    (false, true) => x.sort_descending(axis),
                    (true, false) => x.argsort(axis),
                    (true, true) => x.argsort_descending(axis),
                }
            }
            Node::Search { right: false, .. } => operands[0].searchsorted(operands[1]),
            Node::Search { right: true, .. } => operands[0].searchsorted_right(operands[1]),
            Node::Scan { op, axis, .. } => match op {
                ReduceOp::Sum => operands[0].cumsum(*axis),
                ReduceOp::Prod => operands[0].cumprod(*axis),
                ReduceOp::Min => operands[0].cummin(*axis),
                _ => operands[0].cummax(*axis),
            },
            Node::Iota => fresh.iota(Dim::from(shape[0])),
            Node::Size(dim) => fresh.constant(size(dim)),
            Node::Concat { axis, .. } => concat(operands, *axis as i64),
            Node::Set { value, region, .. } => {
                let counts: Vec<i64> = graph.shape(*value).iter().map(size).collect();
                let parts = region.iter().zip(&counts).map(|(part, count)| slice(part, *count, &size));
                operands[0].at(parts.collect::<Vec<SliceItem>>()).set(operands[1])
            }
            Node::Scatter { op, .. } => {
                let rows = operands[0].at(operands[1]);
                match op {
                    None => rows.set(operands[2]),
                    Some(Op::Add) => rows.add(operands[2]),
                    Some(Op::Subtract) => rows.subtract(operands[2]),
                    Some(Op::Multiply) => rows.multiply(operands[2]),
                    Some(Op::Divide) => rows.divide(operands[2]),
                    Some(Op::Minimum) => rows.minimum(operands[2]),
                    Some(Op::Maximum) => rows.maximum(operands[2]),
                    Some(op) => unreachable!("{op} does not accumulate"),
                }
            }
            Node::Segment { op, compensated, elements, .. } => {
                let identity = constant(&fresh, op.identity(graph.dtype(expr)));
                let tables = segment_tables(elements).expect("it was accepted");
                let taken = size(&rows_of_table(&tables).expect("it was accepted"));
                segmented(&fresh, (*op, identity), (*compensated, taken), [operands[0], operands[1]], &shape)
            }
            Node::Compress { axis, .. } => operands[0].compress(operands[1], *axis),
            Node::Step { .. } | Node::Loop { .. } => unreachable!("a recipe has no loops"),
            Node::Poison => unreachable!("a checked graph has no mistakes"),
        };
        assert!(!tensor.is_poisoned(), "{expr} is refused for {shape:?}: {:?}\n{graph}", fresh.check());
        let inferred: Vec<Option<i64>> = tensor.shape().iter().map(|dim| dim.as_constant()).collect();
        assert_eq!(inferred, shape.iter().map(|size| Some(*size)).collect::<Vec<_>>(), "{expr}\n{graph}");
        assert_eq!(tensor.dtype(), Some(graph.dtype(expr)), "{expr}\n{graph}");
        tensors.push(tensor);
    }
    let outputs =
        graph.outputs().iter().map(|output| (output.name.to_string(), tensors[output.expr.index()]));
    let outputs = outputs.collect();
    Concrete { graph: fresh, outputs }
}

/// The elements that a part of a slice takes, `count` of them.
fn slice(part: &SliceAxis, count: i64, size: &dyn Fn(&dim::Dim) -> i64) -> SliceItem {
    let first = size(&part.start);
    if count == 0 {
        return SliceItem::from((0, 0));
    }
    let reach = (count - 1) * part.step;
    let (start, stop) = if part.step > 0 { (first, first + reach + 1) } else { (first + reach, first + 1) };
    SliceItem::from((start, stop)).step(part.step)
}

/// The tables of a segmented reduction, of this shape: running results of the rows of each table and segment.
fn segmented(
    graph: &Graph,
    (op, identity): (ReduceOp, Tensor),
    (compensated, taken): (bool, i64),
    [values, ids]: [Tensor; 2],
    shape: &[i64],
) -> Tensor {
    let constant = |dim: &Dim| dim.as_constant().expect("all sizes are numbers");
    let (rows, rest) = (constant(&values.shape()[0]), &shape[2 + usize::from(compensated)..]);
    let (tables, segments) = (shape[0], shape[1]);
    // Others have no rows.
    let used = tables.min((rows + taken - 1) / taken);
    let of = |sizes: [i64; 3]| sizes.into_iter().chain(rest.iter().copied()).collect::<Vec<i64>>();
    let inner: Vec<i64> = (3..3 + rest.len() as i64).collect();

    let table = graph.iota(rows).remainder(SEGMENT_BLOCK as i64).floor_divide(taken);
    let of_table = table.expand_dims([0, 2]).eq(graph.iota(used).expand_dims([1, 2]));
    let of_segment = ids.expand_dims([0, 2]).eq(graph.iota(segments).expand_dims([0, 1]));
    let is_here = of_table.logical_and(of_segment).expand_dims(inner);
    let first = identity.broadcast_to(of([used, 1, segments]));
    let others = identity.broadcast_to(of([tables - used, 1, segments]));
    let running = |x: Tensor| match op {
        ReduceOp::Sum => x.cumsum(1),
        ReduceOp::Prod => x.cumprod(1),
        ReduceOp::Min => x.cummin(1),
        _ => x.cummax(1),
    };
    let values = select(is_here, values.expand_dims([0, 2]), identity);
    let totals = running(concat([first, values], 1));
    let last = |of: Tensor| concat([of.slice_axis(1, (rows, rows + 1), 1), others], 0);
    if !compensated {
        return last(totals).squeeze(1);
    }
    let [before, after] = [0, 1].map(|start| totals.slice_axis(1, (start, rows + start), 1));
    let of_value = after - before;
    let lost = (before - (after - of_value)) + (values - of_value);
    let lost = running(concat([first, select(is_here, lost, identity)], 1));
    concat([last(totals), last(lost)], 1)
        .permute_dims([0, 2, 1].into_iter().chain(3..3 + rest.len() as i64).collect::<Vec<i64>>())
}

macro_rules! define_constant {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        fn constant(graph: &Graph, value: Scalar) -> Tensor {
            match value { $(Scalar::$variant(value) => graph.constant(value),)* }
        }
    };
}
for_each_dtype!(define_constant);
