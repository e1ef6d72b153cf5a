//! The kinds of expressions.

use super::{Sort, TopK};
use crate::dim::Dim;
use crate::dtype::Scalar;
use crate::ids::{ExprId, InputId};
use crate::ops::Op;
use crate::reduce::ReduceOp;
use smallvec::{SmallVec, smallvec};

/// Operands of an elementwise op.
pub type Operands = SmallVec<[ExprId; 3]>;
/// Axes of a tensor, ascending and distinct, each smaller than the rank.
pub type Axes = SmallVec<[usize; 4]>;

/// What an expression is. Dtype and shape are kept beside it, see [`CheckedGraph::dtype`](super::CheckedGraph::dtype) and [`CheckedGraph::shape`](super::CheckedGraph::shape).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// An array that the caller passes.
    Input(InputId),
    /// A constant of rank 0.
    Constant(Scalar),
    /// A row of the op table, applied element by element to operands that broadcast. The operands have already
    /// the one dtype on which the op works; their shapes are aligned at the last axis, and on each axis an operand
    /// is absent, the literal 1 (stretches), or the size of the result.
    Elementwise {
        /// The row.
        op: Op,
        /// As many as the row has operands.
        operands: Operands,
    },
    /// `on_true` where `condition` (bool) holds, else `on_false`; the three broadcast.
    Select {
        /// Bool.
        condition: ExprId,
        /// Of the dtype of the result.
        on_true: ExprId,
        /// Of the dtype of the result.
        on_false: ExprId,
    },
    /// The operand converted to the dtype of this node.
    Cast(ExprId),
    /// The operand reduced over axes.
    Reduce {
        /// How.
        op: ReduceOp,
        /// Any dtype; the reduction converts to its accumulator.
        operand: ExprId,
        /// Over which axes of the operand; not empty.
        axes: Axes,
        /// Whether the reduced axes stay as literal 1s.
        keepdims: bool,
    },
    /// The same elements under other indices.
    View {
        /// Which.
        view: View,
        /// Of what.
        operand: ExprId,
    },
    /// `table` indexed along `axis` by the integers of `indices` (i64): the axis is replaced by the axes of
    /// `indices`. Negative indices count from the end. An index out of range is reported when the graph runs.
    Take {
        /// What is indexed.
        table: ExprId,
        /// By what; i64.
        indices: ExprId,
        /// Along which axis of the table.
        axis: usize,
    },
    /// The integers (i64) 0, 1, 2, .. along the only axis.
    Iota,
    /// A size as a value (i64) of rank 0. Not a constant.
    Size(Dim),
    /// The operands one after the other along an axis. All have the dtype of the result, its rank, and its sizes on
    /// all other axes.
    Concat {
        /// At least two.
        operands: Operands,
        /// Along which axis.
        axis: usize,
    },
    /// Partial results of a segmented reduction: element `[b, s, ..]` combines, in index order from the identity of
    /// the reduction, the rows `values[i, ..]` of block `b` (rows `b * SEGMENT_BLOCK ..`) with `ids[i] == s`. An id
    /// that is negative or not below the size of axis 1 is reported when the graph runs.
    Segment {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// Of the accumulator dtype, which is that of the result.
        values: ExprId,
        /// i64, along one axis, the leading one of `values`.
        ids: ExprId,
    },
    /// The best elements along an axis, or their indices: best first, in place of the axis. An axis that a caller names
    /// has enough of them. Where it is that of the rows of a chunk and has fewer, what is missing comes last: the identity
    /// of [`TopK::first`], and [`NO_INDEX`](crate::reduce::NO_INDEX).
    TopK {
        /// Any dtype.
        operand: ExprId,
        /// Which.
        topk: TopK,
    },
    /// The elements along an axis in order, or their indices.
    Sort {
        /// Any dtype.
        operand: ExprId,
        /// Which, and how.
        sort: Sort,
    },
    /// Where values would stand in a sorted table (i64): the number of its elements that are less than each, or not
    /// greater; see [`Graph::searchsorted`](super::Graph::searchsorted).
    Search {
        /// Along one axis.
        table: ExprId,
        /// Of the dtype of the table; their shape is that of the result.
        values: ExprId,
        /// Behind the elements that are equal, rather than before them.
        right: bool,
    },
    /// Running results along an axis: each is that before it combined with one element more; the first is the first element,
    /// or that combined with `initial`.
    Scan {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// Of the accumulator dtype, which is that of the result.
        operand: ExprId,
        /// Along which axis of the operand.
        axis: usize,
        /// Of the same dtype, and of the shape of the operand without the axis.
        initial: Option<ExprId>,
    },
    /// What a mistake left behind. It has rank 0 and any use of it is poisoned as well.
    Poison,
}

/// The kinds of view. The shape of the result is that of the node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum View {
    /// The same elements in row-major order under the shape of the node.
    Reshape,
    /// Axis `i` of the result is axis `permutation[i]` of the operand.
    Permute(Permutation),
    /// Literal 1s inserted; the axes are those of the result.
    ExpandDims(Axes),
    /// Literal 1s removed; the axes are those of the operand.
    Squeeze(Axes),
    /// Stretched to the shape of the node by the broadcast rule.
    BroadcastTo,
    /// The same elements along the same axes; sizes that are written otherwise are equal, which the graph demands.
    Rebind,
    /// Per axis of the operand a start and a step; the sizes are those of the node.
    Slice(Box<[SliceAxis]>),
    /// Windows along this axis: element `i` of the axis of the result and `j` of its last, new one is element `i + j` of the
    /// operand's.
    Windows(usize),
}

/// A permutation of axes.
pub type Permutation = SmallVec<[usize; 4]>;

/// Element `i` of a sliced axis is element `start + i * step` of the operand's axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceAxis {
    /// First element, counted from the beginning of the operand's axis.
    pub start: Dim,
    /// Not zero.
    pub step: i64,
}

impl Node {
    /// The operands in order.
    pub fn operands(&self) -> Operands {
        match self {
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) | Node::Poison => Operands::new(),
            Node::Elementwise { operands, .. } | Node::Concat { operands, .. } => operands.clone(),
            Node::Segment { values, ids, .. } => smallvec![*values, *ids],
            Node::Select { condition, on_true, on_false } => smallvec![*condition, *on_true, *on_false],
            Node::Cast(operand)
            | Node::Reduce { operand, .. }
            | Node::View { operand, .. }
            | Node::TopK { operand, .. }
            | Node::Sort { operand, .. } => smallvec![*operand],
            Node::Take { table, indices, .. } => smallvec![*table, *indices],
            Node::Search { table, values, .. } => smallvec![*table, *values],
            Node::Scan { operand, initial, .. } => std::iter::once(*operand).chain(*initial).collect(),
        }
    }

    /// The sizes that stand in the node itself.
    pub(super) fn visit_dims(&mut self, visit: &mut dyn FnMut(&mut Dim)) {
        match self {
            Node::View { view: View::Slice(parts), .. } => {
                parts.iter_mut().for_each(|part| visit(&mut part.start));
            }
            Node::Size(size) => visit(size),
            Node::View { .. }
            | Node::Input(_)
            | Node::Constant(_)
            | Node::Elementwise { .. }
            | Node::Select { .. }
            | Node::Cast(_)
            | Node::Reduce { .. }
            | Node::Take { .. }
            | Node::Iota
            | Node::Concat { .. }
            | Node::Segment { .. }
            | Node::TopK { .. }
            | Node::Sort { .. }
            | Node::Search { .. }
            | Node::Scan { .. }
            | Node::Poison => {}
        }
    }

    /// Puts other operands in place of each.
    pub fn renumber(&mut self, id: impl Fn(ExprId) -> ExprId) {
        let operands: &mut [&mut ExprId] = match self {
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) | Node::Poison => return,
            Node::Segment { values, ids, .. } => &mut [values, ids],
            Node::Elementwise { operands, .. } | Node::Concat { operands, .. } => {
                operands.iter_mut().for_each(|operand| *operand = id(*operand));
                return;
            }
            Node::Select { condition, on_true, on_false } => &mut [condition, on_true, on_false],
            Node::Cast(operand)
            | Node::Reduce { operand, .. }
            | Node::View { operand, .. }
            | Node::TopK { operand, .. }
            | Node::Sort { operand, .. } => &mut [operand],
            Node::Take { table, indices, .. } => &mut [table, indices],
            Node::Search { table, values, .. } => &mut [table, values],
            Node::Scan { operand, initial, .. } => {
                *operand = id(*operand);
                *initial = initial.map(id);
                return;
            }
        };
        for operand in operands {
            **operand = id(**operand);
        }
    }
}

impl View {
    /// The name of the op that makes such a view.
    pub fn name(&self) -> &'static str {
        match self {
            View::Reshape => "reshape",
            View::Permute(_) => "permute_dims",
            View::ExpandDims(_) => "expand_dims",
            View::Squeeze(_) => "squeeze",
            View::BroadcastTo => "broadcast_to",
            View::Rebind => "rebind",
            View::Slice(_) => "slice",
            View::Windows(_) => "sliding_window_view",
        }
    }
}
