//! Relations between rows of numbers and between vectors: covariance, correlation, cross products, and diagonal
//! matrices.

use super::reduction::{Empty, resolve_axis};
use super::{Graph, Pad, Product, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

impl Graph {
    /// Returns the covariances of variables in `f64`, one variable per row or per column: the sums of products of
    /// the deviations from the means, divided by the number of observations minus `correction`. For a single
    /// variable it is the variance.
    pub fn cov(&mut self, operand: ExprId, in_rows: bool, correction: f64, site: Site) -> ExprId {
        let result = self.try_cov(operand, in_rows, correction, site);
        self.settle_view(result, "cov", operand, site)
    }

    /// Returns the variables of two tensors as the rows of one matrix, for [`Graph::cov`] or [`Graph::corrcoef`]: both
    /// have as many observations.
    pub fn variables_of_both(
        &mut self,
        name: &str,
        operands: [ExprId; 2],
        in_rows: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_variables_of_both(operands, in_rows, site);
        self.settle_all(result, name, &operands, site)
    }

    fn try_variables_of_both(
        &mut self,
        operands: [ExprId; 2],
        in_rows: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let own_axis = usize::from(in_rows && self.written(operands[0]).rank() > 1);
        let mut rows = operands;
        for row in &mut rows {
            *row = match self.written(*row).rank() {
                0 => self.try_expand_dims(*row, &[0, 1], site)?,
                1 => self.try_expand_dims(*row, &[0], site)?,
                2 if !in_rows => self.try_permute(*row, &[1, 0], site)?,
                _ => *row,
            };
        }
        self.try_concat(&rows, 0, site).map_err(|problem| match problem {
            Problem::Unequal { sizes, certainty, only_if, .. } => {
                let names = ["observations of `x`".into(), "observations of `y`".into()];
                Problem::Unequal { axis: own_axis, names, sizes, certainty, only_if }
            }
            problem => problem,
        })
    }

    /// Returns the variables as the rows of a matrix, and whether there is a single one without an axis of its own.
    fn variables(&mut self, operand: ExprId, in_rows: bool, site: Site) -> Result<(ExprId, bool), Problem> {
        let x = self.convert(operand, self.dtype(operand).promote(DType::F64), site)?;
        match self.written(x).rank() {
            1 => Ok((self.try_expand_dims(x, &[0], site)?, true)),
            2 if in_rows => Ok((x, false)),
            2 => Ok((self.try_permute(x, &[1, 0], site)?, false)),
            rank => Err(Problem::Rank { name: "the operand".into(), expected: 2, rank }),
        }
    }

    fn try_cov(
        &mut self,
        operand: ExprId,
        in_rows: bool,
        correction: f64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let (x, is_alone) = self.variables(operand, in_rows, site)?;
        let mean = self.try_reduce(ReduceOp::Mean, x, Some(&[1]), true, Empty::Refused, site)?;
        let deviation = self.try_elementwise(Op::Subtract, &[x, mean], site)?;
        let transposed = self.try_permute(deviation, &[1, 0], site)?;
        let sums = self.try_product(&Product::Matmul, [deviation, transposed], site)?;
        let count = self.try_size(self.written(x)[1].clone(), site)?;
        let count = self.convert(count, DType::F64, site)?;
        let [correction, zero] = self.numbers_like(x, [correction, 0.0], site)?;
        let freedom = self.try_elementwise(Op::Subtract, &[count, correction], site)?;
        let freedom = self.try_elementwise(Op::Maximum, &[freedom, zero], site)?;
        let cov = self.try_elementwise(Op::Divide, &[sums, freedom], site)?;
        if is_alone { self.try_squeeze(cov, &[0, 1], site) } else { Ok(cov) }
    }

    /// Returns the correlation coefficients of variables in `f64`: their covariances divided by the roots of their
    /// variances, clamped to -1 and 1.
    pub fn corrcoef(&mut self, operand: ExprId, in_rows: bool, site: Site) -> ExprId {
        let result = self.try_corrcoef(operand, in_rows, site);
        self.settle_view(result, "corrcoef", operand, site)
    }

    fn try_corrcoef(&mut self, operand: ExprId, in_rows: bool, site: Site) -> Result<ExprId, Problem> {
        let cov = self.try_cov(operand, in_rows, 1.0, site)?;
        let ratio = if self.written(cov).rank() == 0 {
            self.try_elementwise(Op::Divide, &[cov, cov], site)?
        } else {
            let variances = self.try_diagonal(cov, 0, [0, 1], site)?;
            let spread = self.try_elementwise(Op::Sqrt, &[variances], site)?;
            let column = self.try_expand_dims(spread, &[1], site)?;
            let ratio = self.try_elementwise(Op::Divide, &[cov, column], site)?;
            self.try_elementwise(Op::Divide, &[ratio, spread], site)?
        };
        let [least, greatest] = self.numbers_like(cov, [-1.0, 1.0], site)?;
        self.try_elementwise(Op::Clip, &[ratio, least, greatest], site)
    }

    /// Returns the cross products of vectors of three elements along an axis of both operands; the other axes
    /// broadcast.
    pub fn cross(&mut self, operands: [ExprId; 2], axis: i64, site: Site) -> ExprId {
        let result = self.try_cross(operands, axis, site);
        self.settle_all(result, "cross", &operands, site)
    }

    fn try_cross(&mut self, operands: [ExprId; 2], axis: i64, site: Site) -> Result<ExprId, Problem> {
        let dtype = self.dtype(operands[0]).promote(self.dtype(operands[1]));
        let mut components = Vec::with_capacity(2);
        for operand in operands {
            let shape = self.written(operand).clone();
            let axis = resolve_axis(axis, shape.rank())?;
            if shape[axis].as_constant() != Some(3) {
                return Err(Problem::Argument(
                    "needs vectors of three elements: the axis must have the constant size 3 in both operands",
                ));
            }
            let x = self.convert(operand, dtype, site)?;
            let part = |at: i64| {
                let mut specs = vec![SliceSpec::All; axis];
                specs.push(SliceSpec::At(Dim::constant(at)));
                specs
            };
            components.push([
                self.try_slice(x, &part(0), site)?,
                self.try_slice(x, &part(1), site)?,
                self.try_slice(x, &part(2), site)?,
            ]);
        }
        let [[a0, a1, a2], [b0, b1, b2]] = components[..] else {
            return Err(Problem::Arity { expected: 2, given: components.len() });
        };
        let mut made = Vec::with_capacity(3);
        for [a, b, c, d] in [[a1, b2, a2, b1], [a2, b0, a0, b2], [a0, b1, a1, b0]] {
            let left = self.try_elementwise(Op::Multiply, &[a, b], site)?;
            let right = self.try_elementwise(Op::Multiply, &[c, d], site)?;
            made.push(self.try_elementwise(Op::Subtract, &[left, right], site)?);
        }
        self.try_stack(&made, axis, site)
    }

    /// Returns a matrix with a vector on the diagonal whose second index is the first plus `offset`, and zeros
    /// elsewhere.
    pub fn diag(&mut self, vector: ExprId, offset: i64, site: Site) -> ExprId {
        let result = self.try_diag(vector, offset, site);
        self.settle_view(result, "diag", vector, site)
    }

    fn try_diag(&mut self, vector: ExprId, offset: i64, site: Site) -> Result<ExprId, Problem> {
        let length = self.length_of(vector, "the operand")?;
        let beside = Dim::constant(offset.checked_abs().ok_or(Problem::TooManyElements)?);
        let size = length.add(&beside).map_err(Problem::Size)?;
        let zero = self.insert_constant(Scalar::I64(0).cast(self.dtype(vector)), site)?;
        let mut x = self.try_pad(vector, &[[Dim::ZERO, beside]], Pad::Constant(zero), site)?;
        // Above the main diagonal, the number of an element is its row; below, it is its column.
        if offset >= 0 {
            x = self.try_expand_dims(x, &[1], site)?;
        }
        let is_on = self.beside_diagonal(Op::Equal, [size.clone(), size], offset, site)?;
        self.try_select([is_on, x, zero], site)
    }
}
