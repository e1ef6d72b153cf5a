//! Elementwise ops, selection and casts: conversion of operands, broadcasting, folding of constants.

use super::infer::{self, AxisClash};
use super::role::{self, LiteralRole};
use super::{Cause, Compared, Fit, Graph, Literal, Node, Operands, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Conflict, Inferred, Problem, Size};
use crate::shape::Shape;

/// The operand names of a selection.
pub(crate) const SELECT_ROLES: &[&str] = &["condition", "on_true", "on_false"];

/// Returns whether one dtype is `u64` and the other a signed integer, which no integer dtype holds both.
pub(super) fn mixes_u64(left: DType, right: DType) -> bool {
    left == DType::U64 && right.is_signed_integer() || left.is_signed_integer() && right == DType::U64
}

impl Graph {
    /// Returns a literal as a constant of the dtype that it takes beside a tensor of `meets`.
    pub fn literal(&mut self, value: Literal, meets: DType, site: Site) -> ExprId {
        match self.try_literal(value, meets, site) {
            Ok(expr) => expr,
            // The user called no op: the literal stands alone.
            Err(problem) => self.report(problem, None, site),
        }
    }

    /// Returns a literal beside tensors of `meets` in the dtype that its role asks for. The roles other than
    /// [`LiteralRole::Value`] accept literals that `meets` cannot hold.
    pub fn operand_literal(&mut self, role: LiteralRole, value: Literal, meets: DType, site: Site) -> ExprId {
        match (role, value) {
            // Only whether it is zero counts: it may vanish in the dtype, or be beyond all integers.
            (LiteralRole::Computed(op), _)
                if (meets.class() == Class::Int || meets.class() == Class::Float && value.fits(meets))
                    && op.operand_dtype(&[meets]) == Some(DType::Bool) =>
            {
                self.constant(Scalar::Bool(value.to_f64() != 0.0), site)
            }
            (LiteralRole::Computed(op), Literal::Int(_)) if meets.class() == Class::Int => {
                let computed = op.operand_dtype(&[meets]).unwrap_or(meets);
                self.literal(value, computed, site)
            }
            (LiteralRole::Wide, _) => self.constant(Scalar::F64(value.to_f64()), site),
            (LiteralRole::Own, Literal::Int(_)) if !value.fits(DType::I64) => {
                self.literal(value, DType::U64, site)
            }
            (LiteralRole::Own, _) => self.literal(value, DType::Bool, site),
            (LiteralRole::Searched, Literal::Int(_) | Literal::Float(_))
                if meets.class() == Class::Float && !role::is_exact(value, meets) =>
            {
                self.constant(Scalar::F64(value.to_f64()), site)
            }
            (LiteralRole::Compared | LiteralRole::Searched, _) if !value.fits(meets) => {
                self.constant(role::beyond(value, meets), site)
            }
            (LiteralRole::Low | LiteralRole::High, _) if !value.fits(meets) => {
                let end = if role == LiteralRole::Low { f64::NEG_INFINITY } else { f64::INFINITY };
                match value.to_f64().is_sign_negative() == end.is_sign_negative() {
                    true => self.constant(Scalar::F64(end).cast(meets), site),
                    false => self.literal(value, meets, site),
                }
            }
            _ => self.literal(value, meets, site),
        }
    }

    fn try_literal(&mut self, literal: Literal, meets: DType, site: Site) -> Result<ExprId, Problem> {
        let dtype = literal.dtype(meets);
        let value = literal.to_scalar(dtype).ok_or(Problem::LiteralDoesNotFit { literal, dtype })?;
        self.insert_constant(value, site)
    }

    /// Applies a row of the op table element by element. Operands are converted and broadcast.
    pub fn elementwise(&mut self, op: Op, operands: &[ExprId], site: Site) -> ExprId {
        let result = self.try_elementwise(op, operands, site);
        if let Ok(expr) = &result {
            self.warn_of_elementwise(op, operands, *expr, site);
        }
        self.settle(result, op.name(), operands, site)
    }

    pub(super) fn try_elementwise(
        &mut self,
        op: Op,
        operands: &[ExprId],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(operands) {
            return Ok(self.poison());
        }
        if operands.len() != op.arity() {
            return Err(Problem::Arity { expected: op.arity(), given: operands.len() });
        }
        let dtypes: Vec<DType> = operands.iter().map(|&operand| self.dtype(operand)).collect();
        if let &[left, right] = operands
            && op.is_comparison()
            && mixes_u64(dtypes[0], dtypes[1])
        {
            self.broadcast(op.name(), operands, op.operands(), site)?;
            return self.compare_with_u64(op, [left, right], site);
        }
        let Some(dtype) = op.operand_dtype(&dtypes) else { return Err(Problem::NotDefined { dtypes }) };
        if let (Op::Nextafter, &[from, to]) = (op, operands)
            && dtype.arithmetic() != dtype
        {
            return self.nextafter_of_16_bits([from, to], dtype, site);
        }
        let shape = self.broadcast(op.name(), operands, op.operands(), site)?;
        let mut converted = Operands::new();
        for &operand in operands {
            converted.push(self.convert(operand, dtype, site)?);
        }
        if let Some(value) = self.constants(&converted).and_then(|values| op.folded(&values)) {
            return self.insert_constant(value, site);
        }
        let node = Node::Elementwise { op, operands: converted };
        self.insert(node, op.result_dtype(dtype), shape, Vec::new(), site)
    }

    /// Returns `base` to the power of a literal. The powers -1, 0, 0.5, 1 and 2 become a quotient, ones, a square
    /// root, the base itself and a square, as in NumPy.
    pub fn power_literal(&mut self, base: ExprId, exponent: Literal, site: Site) -> ExprId {
        let result = self.try_power(base, exponent, site);
        if let (Ok(expr), 2.0..) = (&result, exponent.to_f64()) {
            self.warn_of_square(Op::Pow.name(), &[base], *expr, site);
        }
        self.settle(result, Op::Pow.name(), &[base], site)
    }

    fn try_power(&mut self, base: ExprId, exponent: Literal, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(base) {
            return Ok(base);
        }
        let meets = self.dtype(base);
        let dtypes = [meets, exponent.dtype(meets)];
        let Some(dtype) = Op::Pow.operand_dtype(&dtypes) else {
            return Err(Problem::NotDefined { dtypes: dtypes.to_vec() });
        };
        let value = exponent.to_f64();
        if dtype.class() == Class::Int && value < 0.0 {
            return Err(Problem::NegativeExponent { exponent, dtype });
        }
        let shape = self.written(base).clone();
        if value == 0.0 {
            let one = self.insert_constant(Scalar::I64(1).cast(dtype), site)?;
            return self.try_broadcast_to(one, shape, site);
        }
        let converted = self.convert(base, dtype, site)?;
        if value == 1.0 {
            Ok(converted)
        } else if value == 2.0 {
            self.try_elementwise(Op::Square, &[converted], site)
        } else if value == 0.5 {
            self.try_elementwise(Op::Sqrt, &[converted], site)
        } else if value == -1.0 {
            let one = self.insert_constant(Scalar::I64(1).cast(dtype), site)?;
            self.try_elementwise(Op::Divide, &[one, converted], site)
        } else {
            let exponent = self.try_literal(exponent, meets, site)?;
            self.try_elementwise(Op::Pow, &[base, exponent], site)
        }
    }

    /// Returns `on_true` where `condition` holds and `on_false` elsewhere; all three broadcast.
    pub fn select(&mut self, condition: ExprId, on_true: ExprId, on_false: ExprId, site: Site) -> ExprId {
        let result = self.try_select([condition, on_true, on_false], site);
        if let Ok(expr) = result {
            self.warn_of_shapes("select", &[condition, on_true, on_false], expr, site);
        }
        self.settle(result, "select", &[condition, on_true, on_false], site)
    }

    pub(super) fn try_select(&mut self, operands: [ExprId; 3], site: Site) -> Result<ExprId, Problem> {
        if self.any_poisoned(&operands) {
            return Ok(self.poison());
        }
        let [condition, on_true, on_false] = operands;
        if self.dtype(condition) != DType::Bool {
            return Err(Problem::ConditionNotBool { dtype: self.dtype(condition) });
        }
        let shape = self.broadcast("select", &operands, SELECT_ROLES, site)?;
        let dtype = self.dtype(on_true).promote(self.dtype(on_false));
        let on_true = self.convert(on_true, dtype, site)?;
        let on_false = self.convert(on_false, dtype, site)?;
        if let Some([Scalar::Bool(holds), yes, no]) =
            self.constants(&[condition, on_true, on_false]).as_deref()
        {
            return self.insert_constant(if *holds { *yes } else { *no }, site);
        }
        self.insert(Node::Select { condition, on_true, on_false }, dtype, shape, Vec::new(), site)
    }

    /// Converts the operand to a dtype.
    pub fn cast(&mut self, operand: ExprId, to: DType, site: Site) -> ExprId {
        let result = self.convert(operand, to, site);
        if result.is_ok() {
            self.warn_of_cast(operand, to, site);
        }
        self.settle(result, "cast", &[operand], site)
    }

    pub(super) fn convert(&mut self, operand: ExprId, to: DType, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(self.poison());
        }
        if self.dtype(operand) == to {
            return Ok(operand);
        }
        if let Node::Constant(value) = self.node(operand) {
            let value = value.cast(to);
            return self.insert_constant(value, site);
        }
        let shape = self.written(operand).clone();
        self.insert(Node::Cast(operand), to, shape, Vec::new(), site)
    }

    pub(super) fn broadcast(
        &mut self,
        op: &'static str,
        operands: &[ExprId],
        roles: &[&str],
        site: Site,
    ) -> Result<Shape, Problem> {
        let (&first, others) = operands.split_first().ok_or(Problem::Arity { expected: 1, given: 0 })?;
        let shape = self.written(first);
        if others.iter().all(|&other| self.written(other) == shape) {
            return Ok(shape.clone());
        }
        let shapes: Vec<Shape> = operands.iter().map(|&operand| self.written(operand).clone()).collect();
        let dims: Vec<&[Dim]> = shapes.iter().map(Shape::dims).collect();
        self.comparing(op, operands, site, |compare| infer::broadcast(&dims, compare))
            .map_err(|clashes| Problem::Broadcast(self.conflicts(clashes, roles)))
    }

    /// Runs an inference with comparisons that may find inferred sizes; if it fails, it finds nothing.
    pub(super) fn comparing<R, E>(
        &mut self,
        op: &'static str,
        operands: &[ExprId],
        site: Site,
        infer: impl FnOnce(infer::Compare<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        let (symbols, unifier) = (&self.symbols, &mut self.unifier);
        let before = unifier.mark();
        let result = infer(&mut |axis, (left_operand, left), (right_operand, right)| {
            if left == right {
                return Fit::Same;
            }
            let compared = Compared::Axis { axis, operands: [left_operand, right_operand] };
            let cause = Cause { op, operands: operands.into(), site, compared };
            unifier.meet(symbols, left, right, &cause)
        });
        if result.is_err() {
            self.unifier.undo(before);
        }
        result
    }

    /// Returns the clashes of operands with these roles, as data of a diagnostic.
    pub(super) fn conflicts(&self, clashes: Vec<AxisClash>, roles: &[&str]) -> Vec<Conflict> {
        let name = |operand: usize| match roles {
            [_, _] => if operand == 0 { "on the left" } else { "on the right" }.into(),
            roles => format!("in `{}`", roles.get(operand).copied().unwrap_or("operand")).into(),
        };
        let conflict = |clash: AxisClash| Conflict {
            names: [name(clash.left.0), name(clash.right.0)],
            axis: clash.axis,
            left_operand: clash.left.0,
            right_operand: clash.right.0,
            left: self.size(&clash.left.1),
            right: self.size(&clash.right.1),
            certainty: clash.certainty,
            only_if: self.only_if(&clash.left.1, &clash.right.1),
            inferred: self.inferred([&clash.left.1, &clash.right.1]),
        };
        clashes.into_iter().map(conflict).collect()
    }

    /// Returns why the inferred sizes in these dims have their values.
    pub(super) fn inferred(&self, dims: [&Dim; 2]) -> Vec<Inferred> {
        /// The most steps shown.
        const MOST: usize = 4;
        let symbols =
            dims.into_iter().flat_map(Dim::symbols).filter(|&symbol| self.symbols.is_flexible(symbol));
        let step = |equation: &super::Equation| Inferred {
            sizes: Box::new([&equation.left, &equation.right].map(|dim| self.size_as_written(dim))),
            op: equation.cause.op,
            site: equation.cause.site,
        };
        symbols.flat_map(|symbol| self.unifier.reasons(symbol)).take(MOST).map(step).collect()
    }

    /// Returns the simplest two sizes that must be equal for `a` and `b` to be equal: for `2*n` and `n`, these are
    /// `n` and 0.
    pub(super) fn only_if(&self, a: &Dim, b: &Dim) -> [Size; 2] {
        let solve = || {
            let difference = self.resolved_dim(a).sub(&self.resolved_dim(b)).ok()?;
            let &[symbol] = difference.symbols().as_slice() else { return None };
            let (factor, rest) = difference.linear_in(symbol)?;
            let rest = rest.as_constant()?;
            let value = rest.checked_neg()?.checked_div(factor)?;
            let unit = self.symbols.get(symbol)?.unit;
            let is_whole = value.checked_mul(factor)? == rest.checked_neg()?;
            is_whole.then_some([self.symbol_size(symbol), value.checked_mul(unit)?.into()])
        };
        let [a, b] = solve().unwrap_or_else(|| [a.clone(), b.clone()]);
        [self.size(&a), self.size(&b)]
    }

    /// Returns the values of the operands, if all are constants.
    fn constants(&self, operands: &[ExprId]) -> Option<Vec<Scalar>> {
        let value = |&operand: &ExprId| {
            if let Node::Constant(value) = self.node(operand) { Some(*value) } else { None }
        };
        operands.iter().map(value).collect()
    }
}
