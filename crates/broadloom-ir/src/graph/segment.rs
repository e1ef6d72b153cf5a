//! Reductions of the rows of a tensor by segments: the `segment_*` family.

use super::infer::AxisClash;
use super::reduction::Empty;
use super::{Fit, Graph, Node, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::{ReduceOp, segment_tables, used_tables};
use crate::shape::{MAX_RANK, Shape};

/// The reduction of the rows of each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentOp {
    /// Their sum. Floats are added in `f64`, and rounded once.
    Sum,
    /// The least element; the identity (infinity, or the greatest integer) for a segment without rows.
    Min,
    /// The greatest element; the identity (minus infinity, or the least integer) for a segment without rows.
    Max,
    /// Their mean; NaN for a segment without rows. It is computed in `f64`, and lies between the least and the greatest row
    /// unless the sum overflows.
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

/// The tables of a segmented reduction: see [`Node::Segment`].
#[derive(Clone, Copy)]
struct Tables {
    expr: ExprId,
    op: ReduceOp,
    compensated: bool,
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

    /// Returns the tables of a segmented reduction by themselves, [`Node::Segment`], as graphs are printed.
    #[allow(clippy::too_many_arguments, reason = "the fields of one graph node")]
    pub fn segment_tables(
        &mut self,
        op: ReduceOp,
        compensated: bool,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        elements: Dim,
        site: Site,
    ) -> ExprId {
        let result = self.try_segment_tables(op, compensated, values, ids, segments, elements, site);
        self.settle(result, "segment_tables", &[values, ids], site)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one graph node")]
    fn try_segment_tables(
        &mut self,
        op: ReduceOp,
        compensated: bool,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        elements: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[values, ids]) {
            return Ok(self.poison());
        }
        let dtype = self.dtype(values);
        if op.accumulator(dtype) != dtype || compensated && !(op == ReduceOp::Sum && dtype.is_float()) {
            return Err(Problem::Argument(
                "takes the dtype in which it accumulates, and compensates sums of floats only",
            ));
        }
        Ok(self.tables(op, compensated, values, ids, segments, elements, site)?.expr)
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
        let counts = self.counts(ids, segments.clone(), segments, site)?;
        self.combined(counts, site)
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
        let rest = self.written(values).iter().skip(1);
        let elements = Dim::product(std::iter::once(&segments).chain(rest)).map_err(Problem::Size)?;
        let op = match op {
            SegmentOp::Sum => ReduceOp::Sum,
            SegmentOp::Min => ReduceOp::Min,
            SegmentOp::Max => ReduceOp::Max,
            SegmentOp::Mean => return self.segment_mean(values, ids, segments, elements, site),
        };
        let (work, compensated) = match op {
            // An axis more must be possible.
            ReduceOp::Sum if dtype.is_float() => (DType::F64, dtype == DType::F64 && self.has_room(values)),
            _ => (op.accumulator(dtype), false),
        };
        let values = self.convert(values, work, site)?;
        let tables = self.tables(op, compensated, values, ids, segments, elements, site)?;
        let total = self.combined(tables, site)?;
        self.convert(total, op.result_dtype(dtype), site)
    }

    /// Returns whether compensated tables of some rows have no more axes than are possible.
    fn has_room(&self, values: ExprId) -> bool {
        self.written(values).rank() + 2 <= MAX_RANK
    }

    /// Returns the mean of each segment.
    fn segment_mean(
        &mut self,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        elements: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let dtype = self.dtype(values);
        // `f64` holds all sums of the others that matter.
        let compensated = matches!(dtype, DType::F64 | DType::I64 | DType::U64) && self.has_room(values);
        let values = self.convert(values, DType::F64, site)?;
        let tables =
            self.tables(ReduceOp::Sum, compensated, values, ids, segments.clone(), elements.clone(), site)?;
        let counts = self.counts(ids, segments, elements, site)?;
        let total = self.combined(tables, site)?;
        let rows = self.combined(counts, site)?;
        let after: Vec<i64> = (1..self.written(total).rank() as i64).collect();
        let rows = self.try_expand_dims(rows, &after, site)?;
        let rows = self.convert(rows, DType::F64, site)?;
        let mean = self.try_elementwise(Op::Divide, &[total, rows], site)?;
        let mean = match compensated {
            true => {
                let rest = self.rest_of_mean(tables, counts, mean, site)?;
                let rest = self.try_elementwise(Op::Divide, &[rest, rows], site)?;
                let exact = self.try_elementwise(Op::Add, &[mean, rest], site)?;
                // Infinities less infinities are not a rest.
                let is_finite = self.try_elementwise(Op::Isfinite, &[exact], site)?;
                self.try_select([is_finite, exact, mean], site)?
            }
            false => mean,
        };
        self.convert(mean, ReduceOp::Mean.result_dtype(dtype), site)
    }

    /// Returns what sums exceed the mean times their number of rows by: first for each table, where most of both cancels.
    fn rest_of_mean(
        &mut self,
        tables: Tables,
        counts: Tables,
        mean: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [sums, lost] = self.sums_and_lost(tables.expr, site)?;
        let after: Vec<i64> = (2..self.written(sums).rank() as i64).collect();
        let counts = self.try_expand_dims(counts.expr, &after, site)?;
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
    fn combined(&mut self, tables: Tables, site: Site) -> Result<ExprId, Problem> {
        let expr = match tables.compensated {
            true => {
                let [sums, lost] = self.sums_and_lost(tables.expr, site)?;
                let exact = self.try_elementwise(Op::Add, &[sums, lost], site)?;
                // What rounding loses of an infinite sum is not a number.
                let is_finite = self.try_elementwise(Op::Isfinite, &[sums], site)?;
                self.try_select([is_finite, exact, sums], site)?
            }
            false => tables.expr,
        };
        self.try_reduce(tables.op, expr, Some(&[0]), false, Empty::Identity, site)
    }

    /// Returns the tables of the number of rows.
    fn counts(&mut self, ids: ExprId, segments: Dim, elements: Dim, site: Site) -> Result<Tables, Problem> {
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let ones = self.try_broadcast_to(one, self.written(ids).clone(), site)?;
        self.tables(ReduceOp::Sum, false, ones, ids, segments, elements, site)
    }

    /// Returns tables of the rows of each segment, whose number `elements` determine; `values` have the dtype in which they
    /// accumulate.
    #[allow(clippy::too_many_arguments, reason = "the fields of one graph node")]
    fn tables(
        &mut self,
        op: ReduceOp,
        compensated: bool,
        values: ExprId,
        ids: ExprId,
        segments: Dim,
        elements: Dim,
        site: Site,
    ) -> Result<Tables, Problem> {
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
        let halves = compensated.then_some(Dim::constant(2));
        let obligations = self.require_sizes(&Shape::from_iter([segments.clone()]), &[])?;
        let elements = self.symbols.accept(&elements, site)?;
        let count = segment_tables(&elements).and_then(|tables| used_tables(&tables, &rows));
        let count = count.map_err(Problem::Size)?;
        let shape = [count, segments].into_iter().chain(halves).chain(rest.iter().cloned()).collect();
        let node = Node::Segment { op, compensated, elements, values, ids: codes, initial: None };
        let expr = self.insert(node, self.dtype(values), shape, obligations, site)?;
        Ok(Tables { expr, op, compensated })
    }
}
