//! Selects from results instead of operands: `x[m] * 2 + y[m]` as `(x * 2 + y)[m]`, so that elements are moved once.
//!
//! What costs more than an element's move is left to the selected elements, and so is what could fail on others.

use super::{Rewriter, Rewritten};
use crate::graph::{CheckedGraph, Node, View};
use crate::ids::ExprId;
use smallvec::SmallVec;

/// The most expressions of a mask among which it looks for what the mask selects from.
const MAX_MASK_EXPRESSIONS: usize = 16;

/// An expression that is what a mask selects from one of all elements.
#[derive(Clone)]
struct Selection {
    mask: ExprId,
    axis: usize,
    /// What the mask has selected from to make it, in the source.
    moved: SmallVec<[ExprId; 2]>,
    /// The expression of all elements, in the new graph.
    whole: ExprId,
}

/// Returns the graph in which masks select after cheap elementwise operations instead of before. This is done where fewer arrays are
/// moved so, or where the mask reads the array anyway. Elsewhere it would cost more if few elements are selected: all of the array
/// would be read for them.
pub fn pull_up_selections(graph: &CheckedGraph) -> Rewritten {
    let innermost = graph.innermost();
    let mut selections: Vec<Option<Selection>> = Vec::with_capacity(graph.len());
    Rewriter::map(graph, |rewriter, expr| {
        let selection = match innermost[expr.index()] {
            None => selection(rewriter, &selections, expr),
            Some(_) => None,
        };
        let is_move = matches!(graph.node(expr), Node::Compress { .. });
        let image = match &selection {
            Some(selection) if !is_move && pays(graph, selection) => {
                let mask = rewriter.image(selection.mask);
                let node = Node::Compress { operand: selection.whole, mask, axis: selection.axis };
                let (dtype, shape) = (graph.dtype(expr), graph.shape(expr).clone());
                rewriter.builder().place_node(node, dtype, shape, graph.call(expr), graph.site(expr))
            }
            _ => rewriter.copy(expr),
        };
        selections.push(selection);
        image
    })
}

/// Returns the selection that an expression is, if it is one.
fn selection(
    rewriter: &mut Rewriter<'_>,
    selections: &[Option<Selection>],
    expr: ExprId,
) -> Option<Selection> {
    let graph = rewriter.source();
    let node = graph.node(expr);
    if let Node::Compress { operand, mask, axis } = node {
        let whole = rewriter.image(*operand);
        return Some(Selection { mask: *mask, axis: *axis, moved: SmallVec::from_slice(&[*operand]), whole });
    }
    let is_cheap = match node {
        // Elementary functions take longer than a move.
        Node::Elementwise { op, operands } => op.tile(graph.dtype(operands[0])).is_none(),
        Node::Select { .. } | Node::Cast(_) => true,
        Node::View { view: View::Permute(_) | View::ExpandDims(_) | View::Squeeze(_), .. } => true,
        _ => false,
    };
    if !is_cheap || node.can_fail(|operand| graph.dtype(operand)) {
        return None;
    }
    let shape = graph.shape(expr);
    let Along { mask, axis, operands } = match node {
        Node::View { view, operand } => {
            let of = selections[operand.index()].as_ref()?;
            Along {
                mask: of.mask,
                axis: of_view(view, of.axis)?,
                operands: SmallVec::from_slice(&[*operand]),
            }
        }
        _ => along(graph, selections, expr)?,
    };
    let selected =
        |operand: ExprId| selections[operand.index()].as_ref().filter(|_| operands.contains(&operand));
    let mut moved = SmallVec::new();
    for each in operands.iter().filter_map(|operand| selected(*operand)).flat_map(|of| &of.moved) {
        if !moved.contains(each) {
            moved.push(*each);
        }
    }
    let mut image = node.clone();
    image.renumber(|operand| selected(operand).map_or_else(|| rewriter.image(operand), |of| of.whole));
    let mut sizes = shape.to_vec();
    sizes[axis] = graph.shape(mask)[0].clone();
    let (dtype, call, site) = (graph.dtype(expr), graph.call(expr), graph.site(expr));
    let whole = rewriter.builder().place_node(image, dtype, sizes.into(), call, site);
    Some(Selection { mask, axis, moved, whole })
}

/// An axis of an expression that a mask selects from, and the operands that have it.
struct Along {
    mask: ExprId,
    axis: usize,
    operands: SmallVec<[ExprId; 4]>,
}

/// Returns the axis along which all operands of an operation are what one mask selects, or one number.
fn along(graph: &CheckedGraph, selections: &[Option<Selection>], expr: ExprId) -> Option<Along> {
    let (shape, all) = (graph.shape(expr), graph.operands(expr));
    let (mask, axis) = all.iter().find_map(|operand| {
        let of = selections[operand.index()].as_ref()?;
        Some((of.mask, of.axis + shape.rank() - graph.shape(*operand).rank()))
    })?;
    let (mut operands, mut has_all) = (SmallVec::new(), false);
    for operand in all {
        let own = graph.shape(operand);
        let at = (axis + own.rank()).checked_sub(shape.rank()).filter(|at| !own[*at].is_one());
        let Some(at) = at else { continue };
        selections[operand.index()].as_ref().filter(|of| of.mask == mask && of.axis == at)?;
        has_all |= own == shape;
        operands.push(operand);
    }
    // An operation that makes more elements does so of those that are selected.
    has_all.then_some(Along { mask, axis, operands })
}

/// Returns the axis of a view that an axis of its operand is.
fn of_view(view: &View, axis: usize) -> Option<usize> {
    match view {
        View::Permute(permutation) => permutation.iter().position(|from| *from == axis),
        View::ExpandDims(axes) => Some(axes.iter().fold(axis, |at, new| at + usize::from(*new <= at))),
        View::Squeeze(axes) => Some(axis - axes.iter().filter(|gone| **gone < axis).count()),
        _ => None,
    }
}

/// Returns whether a selection of results moves fewer arrays, or only reads what the mask does.
fn pays(graph: &CheckedGraph, selection: &Selection) -> bool {
    if selection.moved.len() > 1 {
        return true;
    }
    let mut open: SmallVec<[ExprId; 8]> = SmallVec::from_slice(&[selection.mask]);
    let mut seen = 0;
    while let Some(expr) = open.pop() {
        if selection.moved.contains(&expr) {
            return true;
        }
        seen += 1;
        if seen < MAX_MASK_EXPRESSIONS && matches!(graph.node(expr), Node::Elementwise { .. } | Node::Cast(_))
        {
            open.extend(graph.operands(expr));
        }
    }
    false
}
