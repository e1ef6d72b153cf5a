//! What derivatives of reductions need in both directions: which elements are extremes, and products of the other rows of
//! segments.

use super::super::views::signed;
use super::Derivation;
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

impl Derivation<'_> {
    /// Returns whether a factor counts: one that is 0 does not where what it meets is infinite.
    pub(super) fn counts(&mut self, factor: ExprId, met: ExprId) -> Result<ExprId, Problem> {
        let zero = self.number(0.0, self.graph.dtype(factor))?;
        let differs = self.op(Op::NotEqual, &[factor, zero])?;
        let is_infinite = self.op(Op::Isinf, &[met])?;
        let is_other = self.op(Op::LogicalNot, &[is_infinite])?;
        self.op(Op::LogicalOr, &[differs, is_other])
    }

    /// Returns the part that an element has in the derivative of an extreme. That of NaN is NaN, not a number beside it, unless
    /// nothing asks for it.
    pub(super) fn or_nan(&mut self, x: ExprId, part: ExprId) -> Result<ExprId, Problem> {
        let zero = self.number(0.0, self.graph.dtype(part))?;
        let is_asked = self.op(Op::NotEqual, &[part, zero])?;
        let is_nan = self.op(Op::NotEqual, &[x, x])?;
        let both = self.op(Op::LogicalAnd, &[is_nan, is_asked])?;
        self.graph.try_select([both, x, part], self.site)
    }

    /// Returns which elements are the extreme. A NaN is the extreme of all.
    fn is_extreme(&mut self, values: ExprId, extreme: ExprId) -> Result<ExprId, Problem> {
        let is_equal = self.op(Op::Equal, &[values, extreme])?;
        let is_nan = self.op(Op::NotEqual, &[values, values])?;
        self.op(Op::LogicalOr, &[is_equal, is_nan])
    }

    /// Returns which elements are the extremes along axes, and their number.
    pub(super) fn extremes(
        &mut self,
        operand: ExprId,
        extreme: ExprId,
        axes: &[usize],
    ) -> Result<[ExprId; 2], Problem> {
        let is_extreme = self.is_extreme(operand, extreme)?;
        let number = self.graph.convert(is_extreme, DType::I64, self.site)?;
        let count = self.reduce(ReduceOp::Sum, number, axes)?;
        Ok([is_extreme, count])
    }

    /// Divides rows by a number for each.
    pub(super) fn by_rows(&mut self, value: ExprId, rows: ExprId) -> Result<ExprId, Problem> {
        let rows = self.beside_rows(rows, value)?;
        let rows = self.graph.convert(rows, self.graph.dtype(value), self.site)?;
        self.op(Op::Divide, &[value, rows])
    }

    /// Returns numbers of rows with trailing axes of size 1, as many axes as the rows have.
    pub(super) fn beside_rows(&mut self, numbers: ExprId, rows: ExprId) -> Result<ExprId, Problem> {
        let after = self.graph.written(numbers).rank()..self.graph.written(rows).rank();
        let after: Vec<usize> = after.collect();
        self.graph.try_expand_dims(numbers, &signed(&after), self.site)
    }

    /// Returns, for each row, the product of the other rows of its segment.
    pub(super) fn product_of_segment(
        &mut self,
        values: ExprId,
        ids: ExprId,
        segments: &Dim,
    ) -> Result<ExprId, Problem> {
        let x = self.computed(values)?;
        let dtype = self.graph.dtype(x);
        let [zero, one] = [self.number(0.0, dtype)?, self.number(1.0, dtype)?];
        let is_zero = self.op(Op::Equal, &[x, zero])?;
        let number = self.graph.convert(is_zero, DType::I64, self.site)?;
        let zeros = self.graph.segment_total(ReduceOp::Sum, number, ids, segments.clone(), self.site)?;
        let others = self.graph.try_select([is_zero, one, x], self.site)?;
        let product = self.graph.segment_total(ReduceOp::Prod, others, ids, segments.clone(), self.site)?;
        // The only zero of a segment has the product of the others. Beside it, all others have 0.
        let [none, single] = [0, 1].map(|count| self.graph.insert_constant(Scalar::I64(count), self.site));
        let [zeros, product] = [zeros, product].map(|table| self.graph.try_take(table, ids, 0, self.site));
        let (zeros, product) = (zeros?, product?);
        let has_none = self.op(Op::Equal, &[zeros, none?])?;
        let has_one = self.op(Op::Equal, &[zeros, single?])?;
        let quotient = self.op(Op::Divide, &[product, x])?;
        let beside_zero = self.only(has_one, product)?;
        let beside_none = self.only(has_none, quotient)?;
        self.graph.try_select([is_zero, beside_zero, beside_none], self.site)
    }

    /// Returns which rows are the extremes of their segments, and the number of those in each row's segment.
    pub(super) fn extremes_of_segments(
        &mut self,
        values: ExprId,
        ids: ExprId,
        result: ExprId,
    ) -> Result<(ExprId, ExprId), Problem> {
        let extremes = self.graph.try_take(result, ids, 0, self.site)?;
        let is_extreme = self.is_extreme(values, extremes)?;
        let segments = self.graph.written(result)[0].clone();
        let number = self.graph.convert(is_extreme, DType::I64, self.site)?;
        let count = self.graph.segment_total(ReduceOp::Sum, number, ids, segments, self.site)?;
        Ok((is_extreme, count))
    }
}
