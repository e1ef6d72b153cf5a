//! Reductions, `take` and `iota`.

use super::{Axes, CheckedGraph, Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::{DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Problem, Requirement};
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// The treatment of an empty axis by a reduction without identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Empty {
    /// A mistake, now or when the size is known.
    Refused,
    /// The neutral element of the accumulator, for callers whose result is right with it.
    Identity,
}

impl Graph {
    /// Reduces the operand over axes; `None` means all of them. With `keepdims` the reduced axes stay as literal
    /// 1s.
    ///
    /// Over no axes nothing is reduced: the operand takes the dtype of the result, and an arg-reduction is 0.
    pub fn reduce(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_reduce(op, operand, axes, keepdims, Empty::Refused, site);
        self.warn_of_reduction(op, op.name(), operand, site);
        self.settle(result, op.name(), &[operand], site)
    }

    /// Like [`Graph::reduce`], but an empty axis gives the identity of the accumulator, even for a `max`, which has
    /// no value over no elements.
    pub fn reduce_or_identity(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_reduce(op, operand, axes, keepdims, Empty::Identity, site);
        self.settle(result, op.name(), &[operand], site)
    }

    pub(super) fn try_reduce(
        &mut self,
        op: ReduceOp,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        empty: Empty,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let shape = self.written(operand).clone();
        let mut axes = reduced_axes(axes, shape.rank())?;
        axes.sort_unstable();
        let dtype = op.result_dtype(self.dtype(operand));
        if axes.is_empty() {
            if op.is_arg() {
                let zero = self.insert_constant(Scalar::I64(0), site)?;
                return self.try_broadcast_to(zero, shape, site);
            }
            return self.convert(operand, dtype, site);
        }
        let selected = self.reduce_selected(op, operand, &axes, keepdims, site)?;
        let mut obligations = Vec::new();
        if empty == Empty::Refused && op.needs_elements() {
            for &axis in &axes {
                let spare = shape[axis].sub(&Dim::ONE).map_err(Problem::Size)?;
                self.require(spare, Requirement::NotEmpty, &mut obligations)
                    .map_err(|_| Problem::EmptyReduction { axis })?;
            }
        }
        if let Some(reduced) = selected {
            self.oblige(reduced, obligations, site);
            return Ok(reduced);
        }
        let kept = shape.iter().enumerate().filter_map(|(axis, dim)| match axes.contains(&axis) {
            true if keepdims => Some(Dim::ONE),
            true => None,
            false => Some(dim.clone()),
        });
        let result: Shape = kept.collect();
        self.insert(Node::Reduce { op, operand, axes, keepdims }, dtype, result, obligations, site)
    }

    /// Indexes `table` along `axis` by integers: the axes of `indices` replace the axis.
    pub fn take(&mut self, table: ExprId, indices: ExprId, axis: i64, site: Site) -> ExprId {
        let result = self.try_take(table, indices, axis, site);
        self.settle(result, "take", &[table, indices], site)
    }

    pub(super) fn try_take(
        &mut self,
        table: ExprId,
        indices: ExprId,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[table, indices]) {
            return Ok(self.poison());
        }
        let index = self.as_index(indices, site)?;
        let (table, axis) = self.along(table, axis, site)?;
        let source = self.written(table).clone();
        let (before, after) = (&source[..axis], &source[axis + 1..]);
        let shape: Shape = before.iter().chain(self.written(indices)).chain(after).cloned().collect();
        let dtype = self.dtype(table);
        self.insert(Node::Take { table, indices: index, axis }, dtype, shape, Vec::new(), site)
    }

    /// Returns an operand and its axis counted from the beginning. As in NumPy, along the axis 0 or -1 a tensor without axes
    /// counts as a row of one element.
    pub(super) fn along(
        &mut self,
        operand: ExprId,
        axis: i64,
        site: Site,
    ) -> Result<(ExprId, usize), Problem> {
        match (self.written(operand).rank(), axis) {
            (0, 0 | -1) if !self.is_poisoned(operand) => Ok((self.try_reshape(operand, &[None], site)?, 0)),
            (rank, _) => Ok((operand, resolve_axis(axis, rank)?)),
        }
    }

    /// Returns the integers 0, 1, 2, .. (i64) along one axis of the given length.
    pub fn iota(&mut self, length: Dim, site: Site) -> ExprId {
        let result = self.try_iota(length, site);
        self.settle(result, "iota", &[], site)
    }

    pub(super) fn try_iota(&mut self, length: Dim, site: Site) -> Result<ExprId, Problem> {
        let length = self.symbols.accept(&length, site)?;
        let shape = Shape::from_iter([length]);
        let obligations = self.require_sizes(&shape, &[])?;
        self.insert(Node::Iota, DType::I64, shape, obligations, site)
    }
}

impl CheckedGraph {
    /// Returns `x` and `y` if this is a sum or mean of `x * y` (or of `x` squared) that accumulates with fma if the
    /// numerics level is fused.
    pub fn factors(&self, reduce: ExprId) -> Option<[ExprId; 2]> {
        match self.node(reduce) {
            Node::Reduce { op, operand, .. } => factors(*op, self.node(*operand), self.dtype(*operand)),
            _ => None,
        }
    }
}

/// Returns the factors of the reduced expression, if their products are accumulated with fma.
pub(crate) fn factors(op: ReduceOp, operand: &Node, dtype: DType) -> Option<[ExprId; 2]> {
    // A product of 16-bit floats is rounded to their dtype before it is added.
    if !matches!(op, ReduceOp::Sum | ReduceOp::Mean) || !matches!(dtype, DType::F32 | DType::F64) {
        return None;
    }
    match operand {
        Node::Elementwise { op: Op::Multiply, operands } => <[ExprId; 2]>::try_from(operands.as_slice()).ok(),
        Node::Elementwise { op: Op::Square, operands } => operands.first().map(|&x| [x, x]),
        _ => None,
    }
}

/// Returns the axes of a reduction counted from the beginning; `None` means all of them. As in NumPy, the first or
/// the last axis of a tensor without axes means no axes.
pub(super) fn reduced_axes(axes: Option<&[i64]>, rank: usize) -> Result<Axes, Problem> {
    match (axes, rank) {
        (None, _) => Ok((0..rank).collect()),
        (Some([0 | -1]), 0) => Ok(Axes::new()),
        (Some(axes), _) => resolve_axes(axes, rank),
    }
}

/// Returns an axis counted from the beginning.
pub(super) fn resolve_axis(axis: i64, rank: usize) -> Result<usize, Problem> {
    let signed = rank as i64;
    let resolved = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
    match resolved {
        Some(resolved) if (0..signed).contains(&resolved) => Ok(resolved as usize),
        _ => Err(Problem::NoAxis { axis, rank }),
    }
}

/// Returns axes counted from the beginning, in the given order; they must be distinct.
pub(super) fn resolve_axes(axes: &[i64], rank: usize) -> Result<Axes, Problem> {
    let mut resolved = Axes::new();
    for &axis in axes {
        let axis = resolve_axis(axis, rank)?;
        if resolved.contains(&axis) {
            return Err(Problem::RepeatedAxis { axis });
        }
        resolved.push(axis);
    }
    Ok(resolved)
}
