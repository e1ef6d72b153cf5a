//! Ops that join tensors along an axis or split the rows of one: `concat`, `stack` and the `segment_*` family.

use super::infer::AxisClash;
use super::reduction::{Empty, resolve_axis};
use super::{Fit, Graph, Node, Operands, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::{ReduceOp, SEGMENT_BLOCK};
use crate::shape::Shape;

/// The rule that a call without tensors breaks.
pub const NO_TENSORS: &str = "takes at least one tensor";

/// The reduction of the rows of each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentOp {
    /// Their sum, accumulated as by `sum`.
    Sum,
    /// The least element; the identity (infinity, or the greatest integer) for a segment without rows.
    Min,
    /// The greatest element; the identity (minus infinity, or the least integer) for a segment without rows.
    Max,
    /// Their mean; NaN for a segment without rows. Integers and bool are computed in `f64`.
    Mean,
}

impl SegmentOp {
    fn name(self) -> &'static str {
        match self {
            SegmentOp::Sum => "segment_sum",
            SegmentOp::Min => "segment_min",
            SegmentOp::Max => "segment_max",
            SegmentOp::Mean => "segment_mean",
        }
    }
}

impl Graph {
    /// Concatenates the operands along an axis. They are converted to their common dtype; all other sizes are equal
    /// (a literal 1 does not stretch).
    pub fn concat(&mut self, operands: &[ExprId], axis: i64, site: Site) -> ExprId {
        let result = self.try_concat(operands, axis, site);
        self.settle(result, "concat", operands, site)
    }

    pub(super) fn try_concat(
        &mut self,
        operands: &[ExprId],
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some(&first) = operands.first() else {
            return Err(Problem::Argument(NO_TENSORS));
        };
        if self.any_poisoned(operands) {
            return Ok(self.poison());
        }
        let shape = self.written(first).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let shapes: Vec<Shape> = operands.iter().map(|&operand| self.written(operand).clone()).collect();
        let mut length = shape[axis].clone();
        let name = |operand: usize| Box::from(format!("operand {operand}"));
        for (position, next) in shapes.iter().enumerate() {
            if next.rank() != shape.rank() {
                return Err(Problem::Rank {
                    name: name(position),
                    expected: shape.rank(),
                    rank: next.rank(),
                });
            }
            if position > 0 {
                length = length.add(&next[axis]).map_err(Problem::Size)?;
            }
        }
        let clash = self.comparing("concat", operands, site, |compare| {
            for (position, next) in shapes.iter().enumerate() {
                for (of, (left, right)) in shape.iter().zip(next.iter()).enumerate() {
                    if of != axis
                        && let Fit::Clash(certainty) = compare(of, (0, left), (position, right))
                    {
                        let (left, right) = ((0, left.clone()), (position, right.clone()));
                        return Err(AxisClash { axis: of, left, right, certainty });
                    }
                }
            }
            Ok(())
        });
        clash.map_err(|clash| self.unequal(&clash, [name(clash.left.0), name(clash.right.0)]))?;
        let dtypes = operands.iter().map(|&operand| self.dtype(operand));
        let dtype = DType::promote_all(dtypes).unwrap_or_else(|| self.dtype(first));
        let mut pieces = Operands::new();
        for &operand in operands {
            pieces.push(self.convert(operand, dtype, site)?);
        }
        if pieces.len() == 1 {
            return Ok(pieces[0]);
        }
        let dims =
            shape.iter().enumerate().map(|(of, dim)| if of == axis { length.clone() } else { dim.clone() });
        let joined: Shape = dims.collect();
        self.insert(Node::Concat { operands: pieces, axis }, dtype, joined, Vec::new(), site)
    }

    /// Stacks the operands, of equal shapes, along a new axis.
    pub fn stack(&mut self, operands: &[ExprId], axis: i64, site: Site) -> ExprId {
        let result = self.try_stack(operands, axis, site);
        self.settle(result, "stack", operands, site)
    }

    pub(super) fn try_stack(
        &mut self,
        operands: &[ExprId],
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut expanded = Operands::new();
        for &operand in operands {
            expanded.push(self.try_expand_dims(operand, &[axis], site)?);
        }
        let added =
            operands.first().map_or(Ok(0), |&first| resolve_axis(axis, self.written(first).rank() + 1))?;
        self.try_concat(&expanded, axis, site).map_err(|problem| match problem {
            // This describes the operands as they were written, without the new axis.
            Problem::Unequal { axis, names, sizes, certainty, only_if } => {
                let axis = axis - usize::from(axis > added);
                Problem::Unequal { axis, names, sizes, certainty, only_if }
            }
            Problem::Rank { name, expected, rank } => {
                Problem::Rank { name, expected: expected - 1, rank: rank - 1 }
            }
            problem => problem,
        })
    }

    /// Reduces, for each segment, the rows (elements of the leading axis) whose id is the segment's number. `ids`
    /// are integers along one axis, from 0 to below `segments`; others are reported at run time.
    ///
    /// In the result, `segments` replaces the leading axis. Float sums have a fixed order: blocks of
    /// [`SEGMENT_BLOCK`] rows, each in index order, combined like a `sum` over the blocks.
    pub fn segment(
        &mut self,
        op: SegmentOp,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        site: Site,
    ) -> ExprId {
        let result = self.try_segment(op, values, ids, segments, site);
        self.settle(result, op.name(), &[values, ids], site)
    }

    /// Returns the number of rows (`i64`) of each segment.
    pub fn segment_count(&mut self, ids: ExprId, segments: Dim, site: Site) -> ExprId {
        let result = self.try_segment_count(ids, segments, site);
        self.settle(result, "segment_count", &[ids], site)
    }

    fn try_segment_count(&mut self, ids: ExprId, segments: Dim, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(ids) {
            return Ok(ids);
        }
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let ones = self.try_broadcast_to(one, self.written(ids).clone(), site)?;
        self.reduce_segments(ReduceOp::Sum, ones, ids, segments, site)
    }

    pub(super) fn try_segment(
        &mut self,
        op: SegmentOp,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[values, ids]) {
            return Ok(self.poison());
        }
        match op {
            SegmentOp::Sum => self.reduce_segments(ReduceOp::Sum, values, ids, segments, site),
            SegmentOp::Min => self.reduce_segments(ReduceOp::Min, values, ids, segments, site),
            SegmentOp::Max => self.reduce_segments(ReduceOp::Max, values, ids, segments, site),
            SegmentOp::Mean => {
                let dtype = self.dtype(values);
                let work = ReduceOp::Mean.accumulator(dtype);
                let values = self.convert(values, work, site)?;
                let total = self.reduce_segments(ReduceOp::Sum, values, ids, segments.clone(), site)?;
                let count = self.try_segment_count(ids, segments, site)?;
                let count = self.convert(count, work, site)?;
                let after: Vec<i64> = (1..self.written(total).rank() as i64).collect();
                let count = self.try_expand_dims(count, &after, site)?;
                let mean = self.try_elementwise(Op::Divide, &[total, count], site)?;
                self.convert(mean, ReduceOp::Mean.result_dtype(dtype), site)
            }
        }
    }

    /// Returns the partial results of each block of rows, reduced.
    fn reduce_segments(
        &mut self,
        op: ReduceOp,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let segments = self.symbols.accept(&segments, site)?;
        let codes = self.as_index(ids, site)?;
        let rows = self.length_of(ids, "`ids`")?;
        let shape = self.written(values).clone();
        let Some((leading, rest)) = shape.dims().split_first() else {
            return Err(Problem::RankTooSmall { wanted: 1, rank: 0 });
        };
        let clash = self.comparing("segment", &[values, ids], site, |compare| {
            match compare(0, (0, leading), (1, &rows)) {
                Fit::Same => Ok(()),
                Fit::Clash(certainty) => {
                    let (left, right) = ((0, leading.clone()), (1, rows.clone()));
                    Err(AxisClash { axis: 0, left, right, certainty })
                }
            }
        });
        clash.map_err(|clash| self.unequal(&clash, ["`values`".into(), "`ids`".into()]))?;
        let accumulator = op.accumulator(self.dtype(values));
        let result = op.result_dtype(self.dtype(values));
        let values = self.convert(values, accumulator, site)?;
        let blocks = rows.ceil_div(SEGMENT_BLOCK as i64).map_err(Problem::Size)?;
        let partial: Shape = [blocks, segments.clone()].into_iter().chain(rest.iter().cloned()).collect();
        let obligations = self.require_sizes(&Shape::from_iter([segments]), &[])?;
        let partial =
            self.insert(Node::Segment { op, values, ids: codes }, accumulator, partial, obligations, site)?;
        let total = self.try_reduce(op, partial, Some(&[0]), false, Empty::Identity, site)?;
        self.convert(total, result, site)
    }

    /// Converts integers to indices (`i64`); those beyond `i64` become its maximum, which is out of range
    /// everywhere.
    pub(super) fn as_index(&mut self, indices: ExprId, site: Site) -> Result<ExprId, Problem> {
        let dtype = self.dtype(indices);
        if dtype.class() != Class::Int {
            return Err(Problem::IndicesNotInteger { dtype });
        }
        let mut indices = indices;
        if dtype == DType::U64 {
            let greatest = self.insert_constant(Scalar::U64(i64::MAX.cast_unsigned()), site)?;
            indices = self.try_elementwise(Op::Minimum, &[indices, greatest], site)?;
        }
        self.convert(indices, DType::I64, site)
    }

    fn unequal(&self, clash: &AxisClash, names: [Box<str>; 2]) -> Problem {
        let AxisClash { axis, left: (_, left), right: (_, right), certainty } = clash;
        let sizes = Box::new([self.size(left), self.size(right)]);
        let only_if = Box::new(self.only_if(left, right));
        Problem::Unequal { axis: *axis, names, sizes, certainty: *certainty, only_if }
    }
}
