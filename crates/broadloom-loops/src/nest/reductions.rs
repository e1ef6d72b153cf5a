//! Reductions as values: loops over axes of their own or, for short axes, chains of ops.

use super::maps::Term;
use super::{AffineIndex, AffineMap, AxisKey, Nest, NestAxis, NestReduction, bit};
use crate::LowerError;
use crate::flat::{FlatId, Reduction};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use smallvec::{SmallVec, smallvec};

impl Nest<'_> {
    /// Returns the loop axis of a reduction. Reductions over axes of one size at one place share it, unless one is
    /// computed from the other.
    pub(super) fn reduction_axis(
        &mut self,
        id: FlatId,
        reduction: &Reduction,
        map: &AffineMap,
    ) -> Result<AxisId, LowerError> {
        let around = map.iter().flat_map(AffineIndex::terms).fold(0, |set, (term, _)| match term {
            Term::Axis(axis) => set | bit(axis),
            Term::Value(value) => set | self.depends[value.index()],
        });
        let parent = self.deepest(around);
        let extent = self.flat.node(reduction.operand).shape[reduction.axis].clone();
        let key = AxisKey {
            parent,
            extent: extent.clone(),
            nested: self.flat.node(id).nested,
            group: reduction.group,
            combines: reduction.combines,
        };
        if let Some(&axis) = self.reduction_axes.get(&key) {
            return Ok(axis);
        }
        let length = |group: usize| Dim::symbol(self.flat.groups[group].length);
        let groups =
            reduction.group.and_then(|group| Some((map[0].axis?, length(group)))).into_iter().collect();
        let axis = self.axis(NestAxis {
            reduction: true,
            groups,
            combines: reduction.combines,
            ..NestAxis::free(extent, parent)
        })?;
        self.reduction_axes.insert(key, axis);
        Ok(axis)
    }

    /// Returns a short reduction over a constant axis as a chain of ops, in index order.
    pub(super) fn unrolled(&mut self, reduction: &Reduction, args: &[ValueId], node: FlatId) -> ValueId {
        let accumulator = self.flat.node(reduction.operand).dtype;
        if args.is_empty() {
            return self.constant(reduction.op.empty(accumulator), node);
        }
        if reduction.factors.is_some() {
            let mut terms = args.chunks_exact(2);
            let mut sum = terms.next().map(|xy| self.op(Op::Multiply, SmallVec::from_slice(xy), node));
            for xy in terms {
                sum = sum.map(|sum| self.multiply_add(xy[0], xy[1], sum, node));
            }
            return match sum {
                // Squares are never negative zero.
                Some(sum) if args.chunks_exact(2).all(|xy| xy[0] == xy[1]) => sum,
                Some(sum) => self.finished(reduction.op, sum, node),
                None => self.constant(reduction.op.empty(accumulator), node),
            };
        }
        if reduction.op.is_arg() {
            return self.unrolled_arg(reduction, args, node);
        }
        let mut result = args[0];
        for &arg in &args[1..] {
            result = self.op(reduction.op.combine(), smallvec![result, arg], node);
        }
        self.finished(reduction.op, result, node)
    }

    /// Returns the end of an unrolled reduction.
    pub(super) fn finished(&mut self, op: ReduceOp, value: ValueId, node: FlatId) -> ValueId {
        match op.finish(self.values[value.index()].dtype) {
            Some(zero) => {
                let zero = self.constant(zero, node);
                self.op(Op::Add, smallvec![value, zero], node)
            }
            None => value,
        }
    }

    /// Returns `x * y + sum`, contracted if the numerics level does that.
    pub(super) fn multiply_add(&mut self, x: ValueId, y: ValueId, sum: ValueId, node: FlatId) -> ValueId {
        if self.flat.fused {
            return self.op(Op::Fma, smallvec![x, y, sum], node);
        }
        let product = self.op(Op::Multiply, smallvec![x, y], node);
        self.op(Op::Add, smallvec![sum, product], node)
    }

    pub(super) fn unrolled_arg(&mut self, reduction: &Reduction, args: &[ValueId], node: FlatId) -> ValueId {
        let compare = if reduction.op == ReduceOp::ArgMin { Op::Less } else { Op::Greater };
        // Each value comes with the result that belongs to it, or without one: then the result is the position.
        let mut terms = (0i64..).zip(args.chunks(if reduction.index.is_some() { 2 } else { 1 }));
        let result = |nest: &mut Self, position: i64, term: &[ValueId]| match term.get(1) {
            Some(result) => *result,
            None => nest.constant(Scalar::I64(position), node),
        };
        let mut best = args[0];
        let mut index = match terms.next() {
            Some((position, term)) => result(self, position, term),
            None => best,
        };
        for (position, term) in terms {
            let arg = term[0];
            let mut better = self.op(compare, smallvec![arg, best], node);
            if self.values[arg.index()].dtype.is_float() {
                let nan = self.op(Op::NotEqual, smallvec![arg, arg], node);
                let no_nan = self.op(Op::Equal, smallvec![best, best], node);
                let first_nan = self.op(Op::LogicalAnd, smallvec![nan, no_nan], node);
                better = self.op(Op::LogicalOr, smallvec![better, first_nan], node);
            }
            let result = result(self, position, term);
            index = self.select([better, result, index], node);
            best = self.select([better, arg, best], node);
        }
        index
    }

    pub(super) fn looped(
        &mut self,
        reduction: &Reduction,
        map: &AffineMap,
        args: &[ValueId],
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let axis = self.reduction_axis(node, reduction, map)?;
        let accumulator = self.flat.node(reduction.operand).dtype;
        // It is assumed that a symbolic axis is short enough; each bind checks this.
        let is_countable =
            self.axes[axis.index()].extent.as_constant().is_none_or(|extent| i32::try_from(extent).is_ok());
        let operand = match (reduction.factors, reduction.op.is_arg()) {
            (Some(_), _) => Contribution::Product(args[0], args[1]),
            (None, true) => Contribution::Indexed {
                value: args[0],
                index: args.get(1).copied(),
                narrow: self.narrow && is_countable && accumulator.size() <= 4 && args.len() == 1,
            },
            (None, false) => match self.values[args[0].index()].def {
                Def::Cast(truth)
                    if reduction.op == ReduceOp::Sum
                        && accumulator.class() == Class::Int
                        && self.values[truth.index()].dtype == DType::Bool =>
                {
                    Contribution::Count(truth)
                }
                _ => Contribution::Value(args[0]),
            },
        };
        let group = self.axes[axis.index()].counters().fold(0, |set, counter| set | bit(counter));
        let parent = self.axes[axis.index()].parent.map_or(0, bit);
        let varies = args.iter().fold(group, |set, arg| set | self.varies[arg.index()]) & !bit(axis);
        let depends =
            args.iter().fold(group | parent, |set, arg| set | self.depends[arg.index()]) & !bit(axis);
        let dtype = reduction.op.result_dtype(accumulator);
        let value = self.fresh(Def::Reduced, dtype, depends, varies, node);
        self.reductions.insert(value, NestReduction { axis, op: reduction.op, dtype: accumulator, operand });
        Ok(value)
    }
}
