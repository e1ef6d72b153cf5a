//! The kinds of expressions.

use super::{Loop, Sort, StepValue, Steps, TopK};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::{ExprId, InputId, LoopId};
use crate::ops::Op;
use crate::reduce::ReduceOp;
use smallvec::{SmallVec, smallvec};

/// The operands of an elementwise op.
pub type Operands = SmallVec<[ExprId; 3]>;
/// The axes of a tensor, ascending and distinct, each less than the rank.
pub type Axes = SmallVec<[usize; 4]>;

/// An expression. Dtype and shape are stored beside it; see [`CheckedGraph::dtype`](super::CheckedGraph::dtype) and
/// [`CheckedGraph::shape`](super::CheckedGraph::shape).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// An array that the caller passes.
    Input(InputId),
    /// A constant of rank 0.
    Constant(Scalar),
    /// A row of the op table, applied element by element to operands that broadcast. The operands already have the
    /// dtype on which the op works. Their shapes are aligned at the last axis; on each axis, an operand is absent,
    /// the literal 1 (stretches), or the size of the result.
    Elementwise {
        /// The row.
        op: Op,
        /// One for each operand of the row.
        operands: Operands,
    },
    /// `on_true` where `condition` (bool) holds and `on_false` elsewhere; all three broadcast.
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
        /// The reduction.
        op: ReduceOp,
        /// Any dtype; the reduction converts to its accumulator.
        operand: ExprId,
        /// The axes of the operand to reduce; not empty.
        axes: Axes,
        /// Whether the reduced axes stay as literal 1s.
        keepdims: bool,
    },
    /// A view: the elements of the operand under other indices.
    View {
        /// The kind of view.
        view: View,
        /// The viewed expression.
        operand: ExprId,
    },
    /// `table` indexed along `axis` by the integers of `indices` (i64): the axes of `indices` replace the axis.
    /// Negative indices count from the end. An index out of range is reported at run time.
    Take {
        /// The table.
        table: ExprId,
        /// The indices; i64.
        indices: ExprId,
        /// The indexed axis of the table.
        axis: usize,
    },
    /// The integers (i64) 0, 1, 2, .. along the only axis.
    Iota,
    /// A size as a value (i64) of rank 0. Not a constant.
    Size(Dim),
    /// The operands concatenated along an axis. All have the dtype of the result, its rank, and its sizes on all
    /// other axes.
    Concat {
        /// At least two.
        operands: Operands,
        /// The axis.
        axis: usize,
    },
    /// The elements along an axis at which a mask holds, in their order. The size of the axis is the symbol that
    /// [counts](super::SymbolKind::Count) the elements of the mask.
    Compress {
        /// Any dtype.
        operand: ExprId,
        /// Bool, along one axis, whose size is that of the axis.
        mask: ExprId,
        /// The axis of the operand.
        axis: usize,
    },
    /// The base, in whose region the elements are those of the value: element `j` of the value's axis replaces element
    /// `start + j * step` of the base's axis. The shape is that of the base.
    Set {
        /// Of the dtype of the result.
        base: ExprId,
        /// Of the dtype and the rank of the result; its sizes are those of the region.
        value: ExprId,
        /// The start and the step on each axis. No position occurs twice.
        region: Box<[SliceAxis]>,
    },
    /// The base with rows (elements of its leading axis) changed, in row-major order of `i`: `values[i, ..]` replaces row
    /// `indices[i]`, so that of equal indices the last counts, or the op combines the row with it, so that each counts.
    /// Negative indices count from the end; one outside of the axis is reported at run time. The shape is that of the base.
    Scatter {
        /// Add, Subtract, Multiply, Divide, Minimum or Maximum, in a dtype that is computed in (no 16-bit floats); `None` if rows
        /// are replaced.
        op: Option<Op>,
        /// Of the dtype of the result.
        base: ExprId,
        /// i64, of any shape.
        indices: ExprId,
        /// Of the dtype of the result; its shape is that of the indices, and then that of a row.
        values: ExprId,
    },
    /// The tables of a segmented reduction: element `[t, s, ..]` combines, in index order from the identity of the
    /// reduction, the rows `values[i, ..]` that table `t` takes with `ids[i] == s`: in each block of
    /// [`SEGMENT_BLOCK`](crate::reduce::SEGMENT_BLOCK) rows, the part with its number. An id that is negative or not below the size of axis 1 is reported at run time.
    Segment {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// Whether the result has an axis of size 2 after that of the segments: sums, and what rounding has lost of them.
        compensated: bool,
        /// The number of elements that determines the number of tables: see [`crate::reduce::segment_tables`].
        elements: Dim,
        /// Of the accumulator dtype, which is that of the result.
        values: ExprId,
        /// i64, along one axis, the leading one of `values`.
        ids: ExprId,
        /// The tables to start from, in place of the identity: of rows before these, whose number is a multiple of
        /// [`SEGMENT_BLOCK`](crate::reduce::SEGMENT_BLOCK).
        initial: Option<ExprId>,
    },
    /// The best elements along an axis, or their indices: best first, in place of the axis. An axis that a caller
    /// names has enough of them. If it is the row axis of a chunk with fewer elements, the missing ones come last:
    /// the identity of [`TopK::first`], and [`NO_INDEX`](crate::reduce::NO_INDEX).
    TopK {
        /// Any dtype.
        operand: ExprId,
        /// Which elements, and along which axis.
        topk: TopK,
    },
    /// The elements along an axis in order, or their indices.
    Sort {
        /// Any dtype.
        operand: ExprId,
        /// What the sort returns, and in which order.
        sort: Sort,
    },
    /// The positions of values in a sorted table (i64): the number of its elements that are less than each value,
    /// or not greater; see [`Graph::searchsorted`](super::Graph::searchsorted).
    Search {
        /// A table with one axis.
        table: ExprId,
        /// Of the dtype of the table; their shape is that of the result.
        values: ExprId,
        /// Whether positions come after equal elements instead of before them.
        right: bool,
    },
    /// A scan along an axis: each result combines the one before it with one more element. The first result is the
    /// first element, or that element combined with `initial`.
    Scan {
        /// Sum, Prod, Min or Max.
        op: ReduceOp,
        /// Of the accumulator dtype, which is that of the result.
        operand: ExprId,
        /// The axis of the operand.
        axis: usize,
        /// The initial values: of the same dtype, and with the shape of the operand without the axis.
        initial: Option<ExprId>,
    },
    /// A value that a loop provides in each of its steps. Only what its steps compute depends on it.
    Step {
        /// The loop.
        of: LoopId,
        /// Which value.
        value: StepValue,
        /// Its name.
        name: Box<str>,
    },
    /// A result of a loop: a carried value after the last step, or values of all steps along a new axis 0.
    Loop {
        /// The loop, equal in the nodes of all its results.
        repeated: Box<Loop>,
        /// The number of the result.
        result: usize,
    },
    /// The result of a mistake. It has rank 0, and any use of it is poisoned as well.
    Poison,
}

/// The kinds of views. The shape of the result is that of the node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum View {
    /// The elements of the operand in row-major order under the shape of the node.
    Reshape,
    /// Axis `i` of the result is axis `permutation[i]` of the operand.
    Permute(Permutation),
    /// Literal 1s inserted; the axes are those of the result.
    ExpandDims(Axes),
    /// Literal 1s removed; the axes are those of the operand.
    Squeeze(Axes),
    /// Stretched to the shape of the node by the broadcast rule.
    BroadcastTo,
    /// The operand with sizes of the same values. Sizes that are written differently are equal; the graph records that
    /// as a condition.
    Rebind,
    /// A start and a step for each axis of the operand; the sizes are those of the node.
    Slice(Box<[SliceAxis]>),
    /// Windows along this axis: element `i` of the result's axis and `j` of its new last axis is element `i + j` of
    /// the operand's axis.
    Windows(usize),
}

/// A permutation of axes.
pub type Permutation = SmallVec<[usize; 4]>;

/// Element `i` of a sliced axis is element `start + i * step` of the operand's axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SliceAxis {
    /// The first element, counted from the beginning of the operand's axis.
    pub start: Dim,
    /// The step; not zero.
    pub step: i64,
}

impl SliceAxis {
    /// Returns the axis as every graph writes it, if it has this size. If at most one element is taken, every step takes
    /// the same.
    pub(super) fn of_size(self, size: &Dim) -> SliceAxis {
        match size.as_constant() {
            Some(0) => SliceAxis { start: Dim::ZERO, step: 1 },
            Some(1) => SliceAxis { step: 1, ..self },
            _ => self,
        }
    }
}

impl Node {
    /// Returns the operands in order.
    pub fn operands(&self) -> Operands {
        match self {
            Node::Input(_)
            | Node::Constant(_)
            | Node::Iota
            | Node::Size(_)
            | Node::Step { .. }
            | Node::Poison => Operands::new(),
            Node::Loop { repeated, .. } => repeated.operands(),
            Node::Elementwise { operands, .. } | Node::Concat { operands, .. } => operands.clone(),
            Node::Segment { values, ids, initial, .. } => {
                [*values, *ids].into_iter().chain(*initial).collect()
            }
            Node::Set { base, value, .. } => smallvec![*base, *value],
            Node::Scatter { base, indices, values, .. } => smallvec![*base, *indices, *values],
            Node::Select { condition, on_true, on_false } => smallvec![*condition, *on_true, *on_false],
            Node::Cast(operand)
            | Node::Reduce { operand, .. }
            | Node::View { operand, .. }
            | Node::TopK { operand, .. }
            | Node::Sort { operand, .. } => smallvec![*operand],
            Node::Take { table, indices, .. } => smallvec![*table, *indices],
            Node::Search { table, values, .. } => smallvec![*table, *values],
            Node::Compress { operand, mask, .. } => smallvec![*operand, *mask],
            Node::Scan { operand, initial, .. } => std::iter::once(*operand).chain(*initial).collect(),
        }
    }

    /// Returns whether the node itself can fail on data: an index or a group out of range, an integer raised to a
    /// negative power. `dtype` returns the dtypes of operands.
    pub fn can_fail(&self, dtype: impl Fn(ExprId) -> DType) -> bool {
        match self {
            Node::Take { .. } | Node::Scatter { .. } | Node::Segment { .. } => true,
            Node::Elementwise { op, operands } => {
                operands.first().is_some_and(|operand| op.can_fail(dtype(*operand)))
            }
            _ => false,
        }
    }

    /// Visits the sizes stored in the node itself.
    pub(super) fn visit_dims(&mut self, visit: &mut dyn FnMut(&mut Dim)) {
        match self {
            Node::View { view: View::Slice(parts), .. } | Node::Set { region: parts, .. } => {
                parts.iter_mut().for_each(|part| visit(&mut part.start));
            }
            Node::Size(size) | Node::Segment { elements: size, .. } => visit(size),
            Node::Loop { repeated, .. } => {
                if let Steps::Size(length) = &mut repeated.steps {
                    visit(length);
                }
            }
            Node::View { .. }
            | Node::Input(_)
            | Node::Constant(_)
            | Node::Elementwise { .. }
            | Node::Select { .. }
            | Node::Cast(_)
            | Node::Reduce { .. }
            | Node::Take { .. }
            | Node::Compress { .. }
            | Node::Scatter { .. }
            | Node::Iota
            | Node::Concat { .. }
            | Node::TopK { .. }
            | Node::Sort { .. }
            | Node::Search { .. }
            | Node::Scan { .. }
            | Node::Step { .. }
            | Node::Poison => {}
        }
    }

    /// Writes the parts of axes as the builder does where it knows the sizes. `shape` is that of the node, and `shape_of`
    /// returns those of operands.
    pub(super) fn settle_parts<'s>(&mut self, shape: &'s [Dim], shape_of: impl FnOnce(ExprId) -> &'s [Dim]) {
        let (parts, sizes) = match self {
            Node::View { view: View::Slice(parts), .. } => (parts, shape),
            Node::Set { value, region, .. } => (region, shape_of(*value)),
            _ => return,
        };
        for (part, size) in parts.iter_mut().zip(sizes) {
            *part = part.clone().of_size(size);
        }
    }

    /// Replaces each operand.
    pub fn renumber(&mut self, id: impl Fn(ExprId) -> ExprId) {
        let operands: &mut [&mut ExprId] = match self {
            Node::Input(_)
            | Node::Constant(_)
            | Node::Iota
            | Node::Size(_)
            | Node::Step { .. }
            | Node::Poison => return,
            Node::Loop { repeated, .. } => {
                repeated.renumber(id);
                return;
            }
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
            Node::Compress { operand, mask, .. } => &mut [operand, mask],
            Node::Search { table, values, .. } => &mut [table, values],
            Node::Set { base, value, .. } => &mut [base, value],
            Node::Scatter { base, indices, values, .. } => &mut [base, indices, values],
            Node::Scan { operand, initial, .. } => {
                *operand = id(*operand);
                *initial = initial.map(id);
                return;
            }
            Node::Segment { values, ids, initial, .. } => {
                *initial = initial.map(&id);
                &mut [values, ids]
            }
        };
        for operand in operands {
            **operand = id(**operand);
        }
    }
}

impl View {
    /// Returns the name of the op that makes such a view.
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
