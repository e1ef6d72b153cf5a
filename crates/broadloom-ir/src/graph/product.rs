//! Sums of products: `matmul`, `dot` and related functions, and the parts they share with `einsum`.
//!
//! ```text
//! op, ranks ──▶ Layout: a label for each axis; equal labels meet, those that the result lacks are summed over
//! Layout, shapes ──meet──▶ the size of each label ──▶ permute, expand, multiply, sum
//! ```
//!
//! For two operands, each is composed of views, one multiplication and one sum: `x @ w` is `sum(x[:, :, None] * w,
//! axis=1)`, and everything true of that is true of the product. Integers keep their dtype and wrap in it, as in
//! NumPy; 16-bit floats are summed as `f32`; bool uses `and` for products and `or` for sums.

mod layout;

use super::reduction::Empty;
use super::unify::{Cause, Compared, Fit};
use super::{Axes, Graph, Node, Operands, Site};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Alignment, Certainty, Conflict, Meeting, Problem, Rule};
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use layout::Clash;
pub(crate) use layout::Layout;
pub(in crate::graph) use layout::{Label, distinct, merged};
use smallvec::smallvec;
use std::sync::Arc;

/// A product of two operands, by NumPy's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Product {
    /// Matrix product: `[.., n, k]` and `[.., k, m]` give `[.., n, m]`. The leading axes broadcast; an operand with
    /// one axis is a row on the left and a column on the right, and the result does not have that axis.
    Matmul,
    /// Sums over the last axis of the left operand and the last but one axis, or the only one, of the right; all
    /// other axes stay. If either has rank 0, it is the product of the two.
    Dot,
    /// The sum of the products of all elements, in row-major order.
    Vdot,
    /// The inner products of vectors that lie along this axis of both operands; all other axes broadcast.
    Vecdot(i64),
    /// Sums over the last axes; all other axes stay. If an operand has rank 0, it is the product of the two.
    Inner,
    /// Each element of the left operand times each element of the right, both in row-major order.
    Outer,
    /// Sums over the given axes in pairs; all other axes stay.
    Tensordot(Pairs),
    /// Each element of the left operand is replaced by its product with the right operand.
    Kron,
}

/// The axes that a `tensordot` sums over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pairs {
    /// This many last axes of the left operand with the same number of first axes of the right.
    Adjacent(usize),
    /// Axes of the left operand and of the right operand.
    Axes(Vec<i64>, Vec<i64>),
}

impl Product {
    /// Returns the name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Product::Matmul => "matmul",
            Product::Dot => "dot",
            Product::Vdot => "vdot",
            Product::Vecdot(_) => "vecdot",
            Product::Inner => "inner",
            Product::Outer => "outer",
            Product::Tensordot(_) => "tensordot",
            Product::Kron => "kron",
        }
    }

    /// Returns the product of this name if it needs no axes; suggestions try these.
    pub(crate) fn from_name(name: &str) -> Option<Product> {
        [Product::Matmul, Product::Dot, Product::Inner].into_iter().find(|product| product.name() == name)
    }
}

/// An operand whose axes have distinct labels.
#[derive(Debug, Clone)]
pub(super) struct Factor {
    pub expr: ExprId,
    pub labels: Vec<Label>,
}

impl Graph {
    /// Returns a product of two operands, in their common dtype.
    pub fn product(&mut self, product: &Product, operands: [ExprId; 2], site: Site) -> ExprId {
        let result = self.try_product(product, operands, site);
        if let Ok(expr) = result {
            self.warn_of_products(product.name(), &operands, expr, site);
        }
        self.settle(result, product.name(), &operands, site)
    }

    pub(super) fn try_product(
        &mut self,
        product: &Product,
        operands: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&operands) {
            return Ok(self.poison());
        }
        let ranks = operands.map(|operand| self.written(operand).rank());
        match product {
            Product::Dot | Product::Inner if ranks.contains(&0) => {
                self.try_elementwise(Op::Multiply, &operands, site)
            }
            Product::Matmul | Product::Dot | Product::Inner | Product::Vecdot(_) => {
                let layout = Layout::of(product, ranks)?;
                self.try_sum_of_products(product.name(), &layout, operands, site)
            }
            Product::Tensordot(pairs) => {
                let layout = Layout::tensordot(pairs, ranks)?;
                self.try_sum_of_products(product.name(), &layout, operands, site)
            }
            Product::Vdot => self.try_vdot(operands, site),
            Product::Outer => {
                let [left, right] = self.raveled(operands, site)?;
                let layout = Layout::pairs([1, 1], &[]);
                self.try_sum_of_products(product.name(), &layout, [left, right], site)
            }
            Product::Kron => self.try_kron(operands, site),
        }
    }

    fn raveled(&mut self, operands: [ExprId; 2], site: Site) -> Result<[ExprId; 2], Problem> {
        let [left, right] = operands.map(|operand| self.try_reshape(operand, &[None], site));
        Ok([left?, right?])
    }

    fn try_vdot(&mut self, operands: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let [left, right] = self.raveled(operands, site)?;
        let [have, want] = [left, right].map(|operand| self.written(operand)[0].clone());
        let cause =
            Cause { op: "vdot", operands: operands.as_slice().into(), site, compared: Compared::Count };
        if let Fit::Clash(certainty) = self.unifier.meet(&self.symbols, &have, &want, &cause) {
            let only_if = Box::new(self.only_if(&have, &want));
            let sizes = Box::new([self.size(&have), self.size(&want)]);
            return Err(Problem::Undecided { axis: None, sizes, certainty, only_if });
        }
        let layout = Layout::pairs([1, 1], &[(0, 0)]);
        let dtype = self.common(&[left, right]);
        let factors =
            [self.factor(left, &layout, 0, dtype, site)?, self.factor(right, &layout, 1, dtype, site)?];
        self.contract(factors, &layout.out, &[have, want], site).map(|factor| factor.expr)
    }

    /// In each axis, the left operand's position is the more significant one.
    fn try_kron(&mut self, operands: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let ranks = operands.map(|operand| self.written(operand).rank());
        let rank = ranks[0].max(ranks[1]);
        // Axes that an operand lacks are leading 1s.
        let labels = |side: usize| (rank - ranks[side]..rank).map(|axis| 2 * axis + side).collect();
        let layout = Layout {
            labels: vec![labels(0), labels(1)],
            out: (0..2 * rank).filter(|label| label / 2 + ranks[label % 2] >= rank).collect(),
            rules: vec![Rule::Summed; 2 * rank],
            heads: vec![None; 2 * rank],
        };
        let product = self.try_sum_of_products("kron", &layout, operands, site)?;
        let mut sizes = vec![Dim::ONE; rank];
        for operand in operands {
            let shape = self.written(operand).clone();
            for (size, own) in sizes[rank - shape.rank()..].iter_mut().zip(&shape) {
                *size = size.mul(own).map_err(Problem::Size)?;
            }
        }
        let sizes: Vec<Option<Dim>> = sizes.into_iter().map(Some).collect();
        self.try_reshape(product, &sizes, site)
    }

    fn try_sum_of_products(
        &mut self,
        op: &'static str,
        layout: &Layout,
        operands: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let sizes = self.meet_labels(op, layout, &operands, site)?;
        let dtype = self.common(&operands);
        let [left, right] = operands;
        let factors =
            [self.factor(left, layout, 0, dtype, site)?, self.factor(right, layout, 1, dtype, site)?];
        self.contract(factors, &layout.out, &sizes, site).map(|factor| factor.expr)
    }

    /// Returns the dtype in which a product is computed.
    pub(super) fn common(&self, operands: &[ExprId]) -> DType {
        let dtypes = operands.iter().map(|&operand| self.dtype(operand));
        DType::promote_all(dtypes).unwrap_or(DType::Bool)
    }

    fn factor(
        &mut self,
        operand: ExprId,
        layout: &Layout,
        position: usize,
        dtype: DType,
        site: Site,
    ) -> Result<Factor, Problem> {
        let expr = self.convert(operand, dtype, site)?;
        Ok(Factor { expr, labels: layout.labels[position].clone() })
    }

    /// Returns the sizes of all labels, which may find inferred ones, or the clashes.
    pub(super) fn meet_labels(
        &mut self,
        op: &'static str,
        layout: &Layout,
        operands: &[ExprId],
        site: Site,
    ) -> Result<Vec<Dim>, Problem> {
        let shapes: Vec<Shape> = operands.iter().map(|&operand| self.written(operand).clone()).collect();
        let dims: Vec<&[Dim]> = shapes.iter().map(Shape::dims).collect();
        let mut alignment: Option<Arc<Alignment>> = None;
        let (symbols, unifier) = (&self.symbols, &mut self.unifier);
        let sizes = layout.sizes(&dims, &mut |meeting, [(one, left), (other, right)]| {
            if left == right {
                return Fit::Same;
            }
            let alignment = alignment.get_or_insert_with(|| Arc::new(layout.alignment())).clone();
            let compared = Compared::Meeting { meeting, operands: [one, other], alignment };
            let cause = Cause { op, operands: operands.into(), site, compared };
            unifier.meet(symbols, left, right, &cause)
        });
        sizes.map_err(|clashes| {
            let alignment = alignment.unwrap_or_else(|| Arc::new(layout.alignment()));
            let count = operands.len();
            let mut met: Vec<(Meeting, Conflict)> = clashes
                .into_iter()
                .map(|Clash { meeting, sides, certainty, .. }| {
                    let column = alignment.columns[sides[1].0][meeting.axes[1]];
                    (meeting, self.met(column, sides, certainty, count))
                })
                .collect();
            met.sort_by_key(|(_, conflict)| conflict.axis);
            let (meetings, conflicts) = met.into_iter().unzip();
            Problem::Contraction { alignment, meetings, conflicts }
        })
    }

    /// Returns a conflict among this many operands.
    pub(super) fn met(
        &self,
        column: usize,
        [(one, left), (other, right)]: [(usize, Dim); 2],
        certainty: Certainty,
        count: usize,
    ) -> Conflict {
        let name = |operand: usize| match (count, operand) {
            (2, 0) => "on the left".into(),
            (2, _) => "on the right".into(),
            _ => format!("in operand {operand}").into(),
        };
        Conflict {
            axis: column,
            left_operand: one,
            right_operand: other,
            names: [name(one), name(other)],
            left: self.size(&left),
            right: self.size(&right),
            certainty,
            only_if: self.only_if(&left, &right),
            inferred: self.inferred([&left, &right]),
        }
    }

    /// Returns the product of two factors of one dtype, summed over the labels missing from `out`. 16-bit floats
    /// are multiplied and summed as `f32`, and the sum is rounded.
    pub(super) fn contract(
        &mut self,
        factors: [Factor; 2],
        out: &[Label],
        sizes: &[Dim],
        site: Site,
    ) -> Result<Factor, Problem> {
        let stored = self.dtype(factors[0].expr);
        let order = merged(out, &factors.each_ref().map(|factor| factor.labels.clone()), sizes.len());
        let is_sum = order.iter().any(|label| !out.contains(label));
        let dtype = if is_sum { stored.arithmetic() } else { stored };
        let [mut left, mut right] = factors;
        for factor in [&mut left, &mut right] {
            factor.expr = self.convert(factor.expr, dtype, site)?;
        }
        let [left, right] = [left, right].each_ref().map(|factor| self.aligned(factor, &order, site));
        let (left, right) = (left?, right?);
        let product = if order.is_empty() {
            self.try_elementwise(Op::Multiply, &[left, right], site)?
        } else {
            // The sizes have been compared: comparing them again could only postpone the same question twice.
            let shapes = [left, right].map(|side| self.written(side).clone());
            let size = |axis: usize| {
                let own = |shape: &Shape| shape.get((axis + shape.rank()).checked_sub(order.len())?).cloned();
                let [first, second] = shapes.each_ref().map(own);
                match (first, second) {
                    (Some(first), second) if !first.is_one() || second.is_none() => first,
                    (_, second) => second.unwrap_or(Dim::ONE),
                }
            };
            let shape = (0..order.len()).map(size).collect();
            let operands: Operands = smallvec![left, right];
            self.insert(Node::Elementwise { op: Op::Multiply, operands }, dtype, shape, Vec::new(), site)?
        };
        let Factor { expr, labels } = self.summed(Factor { expr: product, labels: order }, out, site)?;
        Ok(Factor { expr: self.convert(expr, stored, site)?, labels })
    }

    /// Returns a factor summed over the labels missing from `out`. It keeps its dtype, unlike a `sum` of small
    /// integers.
    pub(super) fn summed(&mut self, factor: Factor, out: &[Label], site: Site) -> Result<Factor, Problem> {
        let Factor { expr, labels } = factor;
        let is_left = |axis: &usize| !out.contains(&labels[*axis]);
        let axes: Vec<i64> = (0..labels.len()).filter(is_left).map(|axis| axis as i64).collect();
        if axes.is_empty() {
            return Ok(Factor { expr, labels });
        }
        let dtype = self.dtype(expr);
        let op = if dtype == DType::Bool { ReduceOp::Any } else { ReduceOp::Sum };
        let total = self.try_reduce(op, expr, Some(&axes), false, Empty::Refused, site)?;
        let expr = self.convert(total, dtype, site)?;
        Ok(Factor { expr, labels: labels.into_iter().filter(|label| out.contains(label)).collect() })
    }

    /// Returns a factor whose axes are where `order` has their labels, with axes of size 1 for the other labels.
    fn aligned(&mut self, factor: &Factor, order: &[Label], site: Site) -> Result<ExprId, Problem> {
        let own = |label: &Label| factor.labels.iter().position(|known| known == label);
        let axes: Vec<i64> = order.iter().filter_map(own).map(|axis| axis as i64).collect();
        let permuted = self.try_permute(factor.expr, &axes, site)?;
        // Shapes align at the last axis, so leading axes are unnecessary.
        let Some(first) = order.iter().position(|label| own(label).is_some()) else { return Ok(permuted) };
        let is_absent = |axis: &usize| own(&order[first + axis]).is_none();
        let absent: Axes = (0..order.len() - first).filter(is_absent).collect();
        let absent: Vec<i64> = absent.into_iter().map(|axis| axis as i64).collect();
        self.try_expand_dims(permuted, &absent, site)
    }
}
