//! The forms of a tensor of the flat graph.

use super::{FlatId, Reduction, Region};
use crate::kernel::BufferId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::Scalar;
use broadloom_ir::graph::{Sort, TopK};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use smallvec::{SmallVec, smallvec};

/// The forms of a tensor.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Buffer(BufferId),
    Constant(Scalar),
    /// A size as an i64.
    Size(Dim),
    Op {
        op: Op,
        args: SmallVec<[FlatId; 3]>,
    },
    Select([FlatId; 3]),
    Cast(FlatId),
    Reduce(Reduction),
    /// Axis `j` of the operand is axis `axes[j]` of the node; `None` where the operand's axis is a literal 1.
    Reindex {
        operand: FlatId,
        axes: SmallVec<[Option<usize>; 4]>,
    },
    /// Element `i` of axis `j` is element `start + i * step` of the operand's.
    Slice {
        operand: FlatId,
        axes: SmallVec<[(Dim, i64); 4]>,
    },
    /// Element `i` of this axis and `j` of the last one is element `i + j` of the operand's axis.
    Windows {
        operand: FlatId,
        axis: usize,
    },
    /// The elements of the operand in row-major order, under another shape.
    Reshape(FlatId),
    Take {
        table: FlatId,
        indices: FlatId,
        axis: usize,
    },
    Iota,
    /// The operands concatenated along an axis.
    Concat {
        operands: SmallVec<[FlatId; 3]>,
        axis: usize,
        /// The end of each operand in the result.
        ends: SmallVec<[Dim; 3]>,
    },
    /// The base with a region replaced by the value, whose sizes are those of the region.
    Set {
        base: FlatId,
        value: FlatId,
        region: Region,
    },
    /// The best elements along an axis, or their indices. Always stored.
    TopK {
        operand: FlatId,
        topk: TopK,
    },
    /// The sorted elements along the last axis, or their indices. Always stored; the operand is stored too.
    Sort {
        operand: FlatId,
        sort: Sort,
    },
    /// The positions of values in a sorted table.
    Search {
        table: FlatId,
        values: FlatId,
        right: bool,
    },
    /// A scan along an axis, in the dtype of the operand. It is computed where it is read only by loops over the
    /// whole of it, in order.
    Scan {
        op: ReduceOp,
        operand: FlatId,
        axis: usize,
        /// The initial values, without the axis.
        initial: Option<FlatId>,
    },
    /// An array of which a region has rows changed along an axis, see [`Node::Scatter`]: the values have the axes of the
    /// indices, then the others of the region. Always stored.
    Scatter {
        op: Option<Op>,
        base: FlatId,
        axis: usize,
        region: Region,
        indices: FlatId,
        values: FlatId,
    },
    /// The tables of a segmented reduction, see [`Node::Segment`]. Always stored.
    Segment {
        op: ReduceOp,
        compensated: bool,
        taken: Dim,
        values: FlatId,
        ids: FlatId,
        initial: Option<FlatId>,
    },
}

impl Kind {
    /// Returns the nodes that it is computed from.
    pub fn operands(&self) -> SmallVec<[FlatId; 3]> {
        match self {
            Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_) | Kind::Iota => smallvec![],
            Kind::Op { args, .. } => args.clone(),
            Kind::Select(args) => SmallVec::from_slice(args),
            Kind::Cast(operand)
            | Kind::Reindex { operand, .. }
            | Kind::Slice { operand, .. }
            | Kind::Windows { operand, .. }
            | Kind::Reshape(operand)
            | Kind::TopK { operand, .. }
            | Kind::Sort { operand, .. } => {
                smallvec![*operand]
            }
            Kind::Reduce(reduction) => {
                let mut operands: SmallVec<[FlatId; 3]> = match reduction.factors {
                    Some(factors) => SmallVec::from_slice(&factors),
                    None => smallvec![reduction.operand],
                };
                operands.extend(reduction.index);
                operands
            }
            Kind::Take { table, indices, .. } => smallvec![*table, *indices],
            Kind::Search { table, values, .. } => smallvec![*table, *values],
            Kind::Concat { operands, .. } => operands.clone(),
            Kind::Set { base, value, .. } => smallvec![*base, *value],
            Kind::Scatter { base, indices, values, .. } => smallvec![*base, *indices, *values],
            Kind::Segment { values, ids, initial, .. } => {
                [*values, *ids].into_iter().chain(*initial).collect()
            }
            Kind::Scan { operand, initial, .. } => std::iter::once(*operand).chain(*initial).collect(),
        }
    }

    /// Returns whether each element is that of one operand, which its position tells.
    pub fn is_join(&self) -> bool {
        matches!(self, Kind::Concat { .. } | Kind::Set { .. })
    }
}
