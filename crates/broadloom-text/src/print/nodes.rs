//! Determines which parts of a graph are printed, and in which order.

use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::Scalar;
use broadloom_ir::graph::{CheckedGraph, Node, SliceAxis, Steps, SymbolKind, View};
use broadloom_ir::{ExprId, SymbolId};
use std::collections::HashMap;

/// The input and axis whose size stayed unknown, if no other declaration mentions it: it is printed as `_`.
pub(super) fn open_axis(graph: &CheckedGraph, symbol: SymbolId) -> Option<(&str, usize)> {
    let mentions = |dim: &Dim| dim.symbols().contains(&symbol);
    if graph.symbols()[symbol.index()].kind != SymbolKind::Flexible {
        return None;
    }
    let axes = graph.inputs().iter().flat_map(|input| {
        input
            .shape
            .iter()
            .enumerate()
            .filter(|(_, dim)| mentions(dim))
            .map(move |(axis, dim)| (input, axis, dim))
    });
    let [(input, axis, dim)] = axes.collect::<Vec<_>>()[..] else { return None };
    let is_alone = dim.as_symbol() == Some(symbol) && !input.may_be_one.contains(&axis);
    let is_stated = graph
        .obligations()
        .iter()
        .any(|obligation| obligation.origin.is_none() && obligation.demand.symbols().contains(&symbol));
    // Read back, it is the size of this very axis.
    let is_own = *graph.symbols()[symbol.index()].name == *format!("?{}.{axis}", input.name);
    (is_alone && is_own && !is_stated).then_some((&*input.name, axis))
}

/// The symbols to declare: those of inputs, of what the outputs need and of demands, and the parameters.
pub(super) fn used_symbols(graph: &CheckedGraph) -> Vec<SymbolId> {
    let mut used = vec![false; graph.symbols().len()];
    let mut mark = |dim: &Dim| dim.symbols().into_iter().for_each(|symbol| used[symbol.index()] = true);
    graph.inputs().iter().flat_map(|input| input.shape.iter()).for_each(&mut mark);
    for expr in graph.exprs() {
        graph.shape(expr).iter().for_each(&mut mark);
        match graph.node(expr) {
            Node::Size(size) => mark(size),
            Node::View { view: View::Slice(parts), .. } | Node::Set { region: parts, .. } => {
                parts.iter().for_each(|part| mark(&part.start));
            }
            Node::Loop { repeated, .. } => {
                if let Steps::Size(length) = &repeated.steps {
                    mark(length);
                }
            }
            _ => {}
        }
    }
    for obligation in graph.obligations() {
        obligation.demand.symbols().into_iter().map(Dim::symbol).for_each(|dim| mark(&dim));
    }
    let symbols = graph.symbols().iter().enumerate();
    let needed = symbols.filter(|(index, info)| used[*index] || info.kind == SymbolKind::Parameter);
    let needed = needed.filter(|(_, info)| info.kind.decided_by().is_none());
    needed.map(|(index, _)| SymbolId::new(index)).collect()
}

/// The nodes with representatives as operands, and the representative of each expression. Once inferred sizes are
/// known, a view may equal its operand, and different expressions may be equal.
pub(super) fn unified(graph: &CheckedGraph) -> (Vec<Node>, Vec<ExprId>) {
    let (mut nodes, mut same): (Vec<Node>, Vec<ExprId>) = (Vec::new(), Vec::new());
    let mut known = HashMap::new();
    for expr in graph.exprs() {
        let mut node = graph.node(expr).clone();
        node.renumber(|operand| same[operand.index()]);
        let shape = graph.shape(expr);
        if let Node::Size(size) = &node
            && let Some(size) = size.as_constant()
        {
            node = Node::Constant(Scalar::I64(size));
        }
        let is_all = |parts: &[SliceAxis]| parts.iter().all(|part| part.start.is_zero() && part.step == 1);
        let is_operand = |view: &View, operand: ExprId| {
            let is_whole = match view {
                View::Reshape | View::BroadcastTo | View::Rebind => true,
                View::Slice(parts) => is_all(parts),
                View::Permute(_) | View::ExpandDims(_) | View::Squeeze(_) | View::Windows(_) => false,
            };
            is_whole && graph.shape(operand) == shape
        };
        same.push(match &node {
            Node::View { view, operand } if is_operand(view, *operand) => *operand,
            Node::Set { value, region, .. } if is_all(region) && graph.shape(*value) == shape => *value,
            _ => *known.entry((node.clone(), graph.dtype(expr), shape.clone())).or_insert(expr),
        });
        nodes.push(node);
    }
    (nodes, same)
}

/// The expressions that the outputs need, operands first, in the order of the walk; `deciding` returns those that decide sizes
/// of an expression.
pub(super) fn ordered(
    nodes: &[Node],
    outputs: &[ExprId],
    deciding: impl Fn(ExprId) -> Vec<ExprId>,
) -> Vec<ExprId> {
    let mut order = Vec::new();
    let mut done = vec![false; nodes.len()];
    let mut stack: Vec<(ExprId, bool)> = outputs.iter().rev().map(|expr| (*expr, false)).collect();
    while let Some((expr, is_ready)) = stack.pop() {
        if done[expr.index()] {
            continue;
        }
        if is_ready {
            done[expr.index()] = true;
            order.push(expr);
        } else {
            stack.push((expr, true));
            let operands = nodes[expr.index()].operands();
            stack.extend(operands.into_iter().rev().map(|operand| (operand, false)));
            stack.extend(deciding(expr).into_iter().rev().map(|expr| (expr, false)));
        }
    }
    order
}
