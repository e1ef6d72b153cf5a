//! Matrices made from positions: triangles, ones on a diagonal, powers, and the coordinates of a grid.

use super::{Graph, Site};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::shape::Shape;

/// A part of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triangle {
    /// The diagonal and below.
    Lower,
    /// The diagonal and above.
    Upper,
}

impl Graph {
    /// Sets the last two axes to 0 on the other side of a diagonal, on which the last index is the one before it
    /// plus `offset`. A vector is the row of a square matrix.
    pub fn triangle(&mut self, operand: ExprId, triangle: Triangle, offset: i64, site: Site) -> ExprId {
        let name = if triangle == Triangle::Lower { "tril" } else { "triu" };
        let result = self.try_triangle(operand, triangle, offset, site);
        self.settle_view(result, name, operand, site)
    }

    fn try_triangle(
        &mut self,
        operand: ExprId,
        triangle: Triangle,
        offset: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let shape = self.written(operand).clone();
        let [.., columns] = shape.dims() else {
            return Err(Problem::RankTooSmall { wanted: 1, rank: 0 });
        };
        let rows = shape.dims().iter().nth_back(1).unwrap_or(columns);
        let op = if triangle == Triangle::Lower { Op::LessEqual } else { Op::GreaterEqual };
        let stays = self.beside_diagonal(op, [rows.clone(), columns.clone()], offset, site)?;
        let zero = self.insert_constant(Scalar::I64(0).cast(self.dtype(operand)), site)?;
        self.try_select([stays, operand, zero], site)
    }

    /// Returns the powers 0 to `count - 1` of the elements of a vector along a new last axis, highest first unless
    /// `increasing`. Each power is the previous one times the element. Narrower integers and bool give `i64`; `f32`
    /// and narrower floats give `f64`.
    pub fn vander(&mut self, operand: ExprId, count: i64, increasing: bool, site: Site) -> ExprId {
        let result = self.try_vander(operand, count, increasing, site);
        self.settle_view(result, "vander", operand, site)
    }

    fn try_vander(
        &mut self,
        operand: ExprId,
        count: i64,
        increasing: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        /// The most columns; each is a product.
        const MOST: i64 = 64;
        let length = self.length_of(operand, "the operand")?;
        if !(0..=MOST).contains(&count) {
            return Err(Problem::Argument("supports 0 to 64 columns"));
        }
        let dtype = self.dtype(operand).promote(DType::I64);
        let x = self.convert(operand, dtype, site)?;
        let one = self.insert_constant(Scalar::I64(1).cast(dtype), site)?;
        if count == 0 {
            return self.try_broadcast_to(one, Shape::from_iter([length, Dim::ZERO]), site);
        }
        let mut columns = vec![self.try_broadcast_to(one, self.written(x).clone(), site)?];
        let mut power = x;
        for exponent in 1..count {
            if exponent > 1 {
                power = self.try_elementwise(Op::Multiply, &[power, x], site)?;
            }
            columns.push(power);
        }
        if !increasing {
            columns.reverse();
        }
        self.try_stack(&columns, 1, site)
    }

    /// Returns one value in every element, under the name of the function that was called: `full`, `zeros`,
    /// `ones_like`, ..
    pub fn filled(&mut self, name: &str, value: ExprId, shape: Shape, site: Site) -> ExprId {
        let result = self.try_broadcast_to(value, shape, site);
        self.settle_view(result, name, value, site)
    }

    /// Returns ones where the second index is the first plus `offset`, and zeros elsewhere.
    pub fn eye(&mut self, sizes: [Dim; 2], offset: i64, dtype: DType, site: Site) -> ExprId {
        let result = self.try_eye(sizes, offset, dtype, site);
        self.settle(result, "eye", &[], site)
    }

    fn try_eye(&mut self, sizes: [Dim; 2], offset: i64, dtype: DType, site: Site) -> Result<ExprId, Problem> {
        let is_one = self.beside_diagonal(Op::Equal, sizes, offset, site)?;
        self.convert(is_one, dtype, site)
    }

    /// Compares the columns of a matrix with those of a diagonal, row by row.
    pub(super) fn beside_diagonal(
        &mut self,
        op: Op,
        [rows, columns]: [Dim; 2],
        offset: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        /// An offset beyond all elements, whose sum with a row does not wrap.
        const FAR: i64 = 1 << 62;
        let row = self.try_iota(rows, site)?;
        let row = self.try_expand_dims(row, &[1], site)?;
        let column = self.try_iota(columns, site)?;
        let offset = self.insert_constant(Scalar::I64(offset.clamp(-FAR, FAR)), site)?;
        let diagonal = self.try_elementwise(Op::Add, &[row, offset], site)?;
        self.try_elementwise(op, &[column, diagonal], site)
    }

    /// Returns the vector number `number` of a grid, along its axis and stretched to all others.
    pub fn coordinate(&mut self, vectors: &[ExprId], number: usize, site: Site) -> ExprId {
        let result = self.try_coordinate(vectors, number, site);
        if self.any_poisoned(vectors) {
            return self.poison();
        }
        self.settle(result, "meshgrid", vectors, site)
    }

    fn try_coordinate(&mut self, vectors: &[ExprId], number: usize, site: Site) -> Result<ExprId, Problem> {
        let mut grid = Vec::with_capacity(vectors.len());
        for &vector in vectors {
            grid.push(self.length_of(vector, "each vector")?);
            self.measure(vector);
        }
        let Some(&vector) = vectors.get(number) else {
            return Err(Problem::Arity { expected: number + 1, given: vectors.len() });
        };
        let after: Vec<i64> = (1..(vectors.len() - number) as i64).collect();
        let along = self.try_expand_dims(vector, &after, site)?;
        self.try_broadcast_to(along, grid.into(), site)
    }

    /// Returns the tensor number `number`, stretched to the shape to which all operands broadcast.
    pub fn stretched(&mut self, operands: &[ExprId], number: usize, site: Site) -> ExprId {
        let result = self.try_stretched(operands, number, site);
        self.settle_all(result, "broadcast_arrays", operands, site)
    }

    fn try_stretched(&mut self, operands: &[ExprId], number: usize, site: Site) -> Result<ExprId, Problem> {
        let Some(&operand) = operands.get(number) else {
            return Err(Problem::Arity { expected: number + 1, given: operands.len() });
        };
        let roles = vec!["operand"; operands.len()];
        let shape = self.broadcast("broadcast_arrays", operands, &roles, site)?;
        operands.iter().for_each(|operand| _ = self.measure(*operand));
        self.try_broadcast_to(operand, shape, site)
    }

    /// Returns the indices along one axis of a shape for positions among all its elements in row-major order
    /// (`i64`). An invalid position is an error at run time.
    pub fn unravelled(&mut self, positions: ExprId, shape: &[Dim], axis: usize, site: Site) -> ExprId {
        let result = self.try_unravelled(positions, shape, axis, site);
        self.settle_all(result, "unravel_index", &[positions], site)
    }

    fn try_unravelled(
        &mut self,
        positions: ExprId,
        shape: &[Dim],
        axis: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some((size, after)) = shape.get(axis..).and_then(<[Dim]>::split_first) else {
            return Err(Problem::NoAxis { axis: axis as i64, rank: shape.len() });
        };
        let all = self.try_iota(Dim::product(shape).map_err(Problem::Size)?, site)?;
        let position = self.try_take(all, positions, 0, site)?;
        let step = self.try_size(Dim::product(after).map_err(Problem::Size)?, site)?;
        let size = self.try_size(size.clone(), site)?;
        let place = self.try_elementwise(Op::FloorDivide, &[position, step], site)?;
        self.try_elementwise(Op::Remainder, &[place, size], site)
    }
}
