//! Reductions of the rows of a tensor by segments: the `segment_*` family.

use super::derive::Rule;
use super::infer;
use super::reduction::Empty;
use super::{Graph, Node, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::{ReduceOp, segment_tables, used_tables};
use crate::shape::MAX_RANK;

/// More rows than a tensor has: 2 to the power of 64.
const MOST_ROWS: f64 = 18_446_744_073_709_551_616.0;

/// The reduction of the rows of each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentOp {
    /// Their sum. Floats are added in `f64`, and rounded once.
    Sum,
    /// The least element; the identity (infinity, or the greatest integer) for a segment without rows.
    Min,
    /// The greatest element; the identity (minus infinity, or the least integer) for a segment without rows.
    Max,
    /// Their mean; NaN for a segment without rows. It is computed in `f64`, and lies between the least and the greatest row.
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

/// What the tables of a segmented reduction hold: see [`Node::Segment`].
#[derive(Debug, Clone)]
pub struct Segmented {
    /// Sum, Prod, Min or Max.
    pub op: ReduceOp,
    /// Whether sums keep what rounding loses of them.
    pub compensated: bool,
    /// The number of segments.
    pub segments: Dim,
    /// The number of elements that determines the number of tables.
    pub elements: Dim,
}

impl Segmented {
    /// The number of rows of each segment, in as many tables.
    fn counts(&self) -> Segmented {
        Segmented { op: ReduceOp::Sum, compensated: false, ..self.clone() }
    }
}

impl Graph {
    /// Reduces, for each segment, the rows (elements of the leading axis) whose id is the segment's number. `ids`
    /// are integers along one axis, from 0 to below `segments`; others are reported at run time.
    ///
    /// In the result, `segments` replaces the leading axis. Floats are added in `f64`, in a fixed order (see
    /// [`crate::reduce`]), and sums of `f64` are compensated: each of up to 16 tables keeps what rounding loses of its rows.
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

    /// Returns the tables of a segmented reduction by themselves, [`Node::Segment`], as graphs are printed. The operands are
    /// the values, in the dtype in which they accumulate, and the ids.
    pub fn segment_tables(&mut self, of: &Segmented, operands: [ExprId; 2], site: Site) -> ExprId {
        let result = self.try_segment_tables(of, operands, site);
        self.settle(result, "segment_tables", &operands, site)
    }

    fn try_segment_tables(
        &mut self,
        of: &Segmented,
        operands: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&operands) {
            return Ok(self.poison());
        }
        let dtype = self.dtype(operands[0]);
        if of.op.accumulator(dtype) != dtype
            || of.compensated && !(of.op == ReduceOp::Sum && dtype.is_float())
        {
            return Err(Problem::Argument(
                "takes the dtype in which it accumulates, and compensates sums of floats only",
            ));
        }
        self.tables(of, operands, site)
    }

    /// Returns the number of rows (`i64`) of each segment.
    pub fn segment_count(&mut self, ids: ExprId, segments: Dim, site: Site) -> ExprId {
        let result = self.try_segment_count(ids, segments, site);
        self.settle(result, "segment_count", &[ids], site)
    }

    pub(super) fn try_segment_count(
        &mut self,
        ids: ExprId,
        segments: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(ids) {
            return Ok(ids);
        }
        let elements = segments.clone();
        let of = Segmented { op: ReduceOp::Sum, compensated: false, segments, elements };
        let counts = self.counts(&of, ids, site)?;
        self.combined(&of, counts, site)
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
        let dtype = self.dtype(values);
        let op = match op {
            SegmentOp::Sum => ReduceOp::Sum,
            SegmentOp::Min => ReduceOp::Min,
            SegmentOp::Max => ReduceOp::Max,
            SegmentOp::Mean => ReduceOp::Mean,
        };
        let total = self.segment_total(op, values, ids, segments, site)?;
        self.convert(total, op.result_dtype(dtype), site)
    }

    /// Replaces means that are not finite by those of the values times a power of two, whose sums do not overflow: what that
    /// rounds away of tiny values does not matter beside values whose sum does.
    fn or_mean_of_scaled(
        &mut self,
        of: &Segmented,
        mean: ExprId,
        [values, ids]: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [down, up] = self.numbers_like(mean, [MOST_ROWS.recip(), MOST_ROWS], site)?;
        let scaled = self.try_elementwise(Op::Multiply, &[values, down], site)?;
        let tables = self.tables(of, [scaled, ids], site)?;
        let scaled = self.mean_of_tables(of, [tables, ids], site)?;
        let scaled = self.try_elementwise(Op::Multiply, &[scaled, up], site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[mean], site)?;
        self.try_select([is_finite, mean, scaled], site)
    }

    /// Returns the reduction or the mean of each segment in the dtype in which it accumulates, so that it is rounded once after what
    /// follows.
    pub(super) fn segment_total(
        &mut self,
        op: ReduceOp,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let is_mean = op == ReduceOp::Mean;
        let added = if is_mean { ReduceOp::Sum } else { op };
        let (of, tables) = self.tables_of(added, is_mean, [values, ids], segments, site)?;
        let total = match is_mean {
            false => self.combined(&of, tables, site)?,
            true => {
                let mean = self.mean_of_tables(&of, [tables, ids], site)?;
                // Sums of others do not overflow in `f64`.
                match self.dtype(values) {
                    DType::F64 => self.or_mean_of_scaled(&of, mean, [values, ids], site)?,
                    _ => mean,
                }
            }
        };
        let ids = self.as_index(ids, site)?;
        self.derives_by(total, Rule::Segment { op, values, ids });
        Ok(total)
    }

    /// Returns the tables of a reduction, and what they hold. Those of a mean are sums of floats.
    fn tables_of(
        &mut self,
        op: ReduceOp,
        is_mean: bool,
        [values, ids]: [ExprId; 2],
        segments: Dim,
        site: Site,
    ) -> Result<(Segmented, ExprId), Problem> {
        let dtype = self.dtype(values);
        let rest = self.written(values).iter().skip(1);
        let elements = Dim::product(std::iter::once(&segments).chain(rest)).map_err(Problem::Size)?;
        // An axis more must be possible.
        let has_room = self.written(values).rank() + 2 <= MAX_RANK;
        // `f64` holds all sums of the others that matter.
        let is_long = match op {
            ReduceOp::Sum if is_mean => matches!(dtype, DType::F64 | DType::I64 | DType::U64),
            ReduceOp::Sum => dtype == DType::F64,
            _ => false,
        };
        let work = match op {
            ReduceOp::Sum if dtype.is_float() || is_mean => DType::F64,
            _ => op.accumulator(dtype),
        };
        let of = Segmented { op, compensated: is_long && has_room, segments, elements };
        let values = self.convert(values, work, site)?;
        let tables = self.tables(&of, [values, ids], site)?;
        Ok((of, tables))
    }

    /// Returns the mean of each segment from the tables of its sum.
    fn mean_of_tables(
        &mut self,
        of: &Segmented,
        [tables, ids]: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let total = self.combined(of, tables, site)?;
        let counts = self.counts(of, ids, site)?;
        let rows = self.combined(&of.counts(), counts, site)?;
        let after: Vec<i64> = (1..self.written(total).rank() as i64).collect();
        let rows = self.try_expand_dims(rows, &after, site)?;
        let rows = self.convert(rows, DType::F64, site)?;
        let mean = self.try_elementwise(Op::Divide, &[total, rows], site)?;
        if !of.compensated {
            return Ok(mean);
        }
        let rest = self.rest_of_mean(tables, counts, mean, site)?;
        let rest = self.try_elementwise(Op::Divide, &[rest, rows], site)?;
        let exact = self.try_elementwise(Op::Add, &[mean, rest], site)?;
        // Infinities less infinities are not a rest.
        let is_finite = self.try_elementwise(Op::Isfinite, &[exact], site)?;
        self.try_select([is_finite, exact, mean], site)
    }

    /// Returns what sums exceed the mean times their number of rows by: first for each table, where most of both cancels.
    fn rest_of_mean(
        &mut self,
        tables: ExprId,
        counts: ExprId,
        mean: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [sums, lost] = self.sums_and_lost(tables, site)?;
        let after: Vec<i64> = (2..self.written(sums).rank() as i64).collect();
        let counts = self.try_expand_dims(counts, &after, site)?;
        let counts = self.convert(counts, DType::F64, site)?;
        let counts = self.try_elementwise(Op::Negative, &[counts], site)?;
        let rest = self.try_elementwise(Op::Fma, &[counts, mean, sums], site)?;
        let rest = self.try_elementwise(Op::Add, &[rest, lost], site)?;
        self.try_reduce(ReduceOp::Sum, rest, Some(&[0]), false, Empty::Identity, site)
    }

    /// Returns the two halves of compensated tables: the sums, and what rounding lost of them.
    fn sums_and_lost(&mut self, tables: ExprId, site: Site) -> Result<[ExprId; 2], Problem> {
        let mut half = |at: i64| {
            let parts = [SliceSpec::All, SliceSpec::All, SliceSpec::At(Dim::constant(at))];
            self.try_slice(tables, &parts, site)
        };
        Ok([half(0)?, half(1)?])
    }

    /// Returns the combination of all tables.
    fn combined(&mut self, of: &Segmented, tables: ExprId, site: Site) -> Result<ExprId, Problem> {
        let combined = match of.compensated {
            true => {
                let [sums, lost] = self.sums_and_lost(tables, site)?;
                let exact = self.try_elementwise(Op::Add, &[sums, lost], site)?;
                // What rounding loses of an infinite sum is not a number.
                let is_finite = self.try_elementwise(Op::Isfinite, &[sums], site)?;
                self.try_select([is_finite, exact, sums], site)?
            }
            false => tables,
        };
        self.try_reduce(of.op, combined, Some(&[0]), false, Empty::Identity, site)
    }

    /// Returns the tables of the number of rows, as many as those of a reduction.
    fn counts(&mut self, of: &Segmented, ids: ExprId, site: Site) -> Result<ExprId, Problem> {
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let ones = self.try_broadcast_to(one, self.written(ids).clone(), site)?;
        self.tables(&of.counts(), [ones, ids], site)
    }

    /// Returns the tables of values, in the dtype in which they accumulate, by ids.
    fn tables(&mut self, of: &Segmented, [values, ids]: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let Segmented { op, compensated, segments, elements } = of;
        let (op, compensated) = (*op, *compensated);
        let segments = self.symbols.accept(segments, site)?;
        let codes = self.as_index(ids, site)?;
        let rows = self.length_of(ids, "`ids`")?;
        let shape = self.written(values).clone();
        let Some((leading, rest)) = shape.dims().split_first() else {
            return Err(Problem::RankTooSmall { wanted: 1, rank: 0 });
        };
        let clash = self.comparing("segment", &[values, ids], site, |compare| {
            infer::equal(compare, 0, (0, leading), (1, &rows))
        });
        clash.map_err(|clash| self.unequal(&clash, ["`values`".into(), "`ids`".into()]))?;
        let halves = compensated.then_some(Dim::constant(2));
        let elements = self.symbols.accept(elements, site)?;
        // Fewer than no elements would have more tables than rows of a block.
        let sizes: Vec<Dim> = std::iter::once(&segments).chain(rest).cloned().collect();
        let obligations = self.require_sizes(&[segments.clone(), elements.clone()], &sizes)?;
        let count = segment_tables(&elements).and_then(|tables| used_tables(&tables, &rows));
        let count = count.map_err(Problem::Size)?;
        let shape = [count, segments].into_iter().chain(halves).chain(rest.iter().cloned()).collect();
        let node = Node::Segment { op, compensated, elements, values, ids: codes, initial: None };
        self.insert(node, self.dtype(values), shape, obligations, site)
    }
}
