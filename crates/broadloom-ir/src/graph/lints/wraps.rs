//! Warnings of integers that wrap: differences below 0, and squares, sums and products in dtypes with few bits.

use super::super::{Graph, Node, Site};
use super::MOST_SEARCHED;
use crate::dtype::{Class, DType};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Problem, Wrapped};
use crate::reduce::ReduceOp;

/// Squares of integers of at most this many bytes wrap for common values.
const NARROW: usize = 2;

impl Graph {
    /// Warns of an elementwise op that a user called on what wraps, or that wraps itself.
    pub(super) fn warn_of_wrapping(&mut self, op: Op, operands: &[ExprId], result: ExprId, site: Site) {
        let is_square =
            op == Op::Square || op == Op::Multiply && matches!(operands, [left, right] if left == right);
        if is_square {
            self.warn_of_square(op.name(), operands, result, site);
        }
        let is_float = self.dtype(result).class() == Class::Float;
        match (op, operands) {
            (Op::Abs, &[operand]) => {
                let of = match self.is_unsigned_difference(operand) {
                    true => Some(Wrapped::Difference),
                    false => self.narrow_signed_difference(operand),
                };
                self.warn_of(of, op.name(), operand, site);
            }
            (Op::Negative, &[operand]) if self.is_narrow_data(operand) => {
                let is_unsigned = !self.dtype(operand).is_signed_integer();
                self.warn_of(is_unsigned.then_some(Wrapped::Negation), op.name(), operand, site);
            }
            // What comes after the sum or the product is no help any more.
            (Op::Divide | Op::FloorDivide | Op::BitwiseRightShift, &[divided, _]) => {
                let of = self.narrow(divided).filter(|of| matches!(of, Wrapped::Sum | Wrapped::Product));
                self.warn_of(of, op.name(), divided, site);
            }
            (Op::Multiply, _) if is_float => {
                for &operand in operands {
                    let of = self.narrow(operand).filter(|of| *of == Wrapped::Sum);
                    self.warn_of(of, op.name(), operand, site);
                }
            }
            _ => {}
        }
        let tells_sign = matches!(
            op,
            Op::Less
                | Op::LessEqual
                | Op::Greater
                | Op::GreaterEqual
                | Op::Maximum
                | Op::Fmax
                | Op::Clip
                | Op::Sign
        );
        if tells_sign || is_float {
            self.warn_of_wrapped(op.name(), operands, site);
        }
    }

    /// Records a warning of what wraps, if anything does.
    fn warn_of(&mut self, of: Option<Wrapped>, function: &str, operand: ExprId, site: Site) {
        if let Some(of) = of {
            self.warn(Problem::Wraps { dtype: self.dtype(operand), of }, function, &[operand], site);
        }
    }

    /// Warns of a square of integers with few bits.
    pub(in crate::graph) fn warn_of_square(
        &mut self,
        op: &str,
        operands: &[ExprId],
        result: ExprId,
        site: Site,
    ) {
        let dtype = self.dtype(result);
        let is_known = matches!(self.node(result), Node::Constant(_) | Node::Poison);
        if is_narrow(dtype) && !is_known && !operands.iter().all(|operand| self.is_truth(*operand)) {
            self.warn(Problem::Wraps { dtype, of: Wrapped::Square }, op, operands, site);
        }
    }

    /// Warns of a conversion that comes after a difference or a product has wrapped.
    pub(in crate::graph) fn warn_of_cast(&mut self, operand: ExprId, to: DType, site: Site) {
        let dtype = self.dtype(operand);
        if to.class() == Class::Float || to.size() > dtype.size() {
            self.warn_of_wrapped("cast", &[operand], site);
        }
    }

    /// Warns of a function of a difference or a product that has wrapped: what it makes of 255 is not what it makes of -1.
    /// Returns whether there is one.
    pub(in crate::graph) fn warn_of_wrapped(
        &mut self,
        function: &str,
        operands: &[ExprId],
        site: Site,
    ) -> bool {
        if !self.warns_of_pointwise {
            return false;
        }
        let wrapped = operands.iter().find_map(|&operand| {
            let of = self.narrow(operand).filter(|of| *of != Wrapped::Sum)?;
            Some((operand, of))
        });
        if let Some((operand, of)) = wrapped {
            self.warn_of(Some(of), function, operand, site);
        }
        wrapped.is_some()
    }

    /// Warns of a reduction of what has wrapped, unless it only asks which elements are zero.
    pub(in crate::graph) fn warn_of_reduction(
        &mut self,
        op: ReduceOp,
        function: &str,
        operand: ExprId,
        site: Site,
    ) {
        if !self.warns_of_pointwise || matches!(op, ReduceOp::Any | ReduceOp::All) {
            return;
        }
        self.warn_of_wrapped(function, &[operand], site);
        // A mean divides.
        let of = self.narrow(operand).filter(|of| op == ReduceOp::Mean && *of == Wrapped::Sum);
        self.warn_of(of, function, operand, site);
    }

    /// Warns of a sum of products in integers with few bits.
    pub(in crate::graph) fn warn_of_products(
        &mut self,
        function: &str,
        operands: &[ExprId],
        result: ExprId,
        site: Site,
    ) {
        if self.warn_of_wrapped(function, operands, site) || !self.warns_of_pointwise {
            return;
        }
        let [first, others @ ..] = operands else { return };
        if others.is_empty() || self.is_poisoned(result) {
            return;
        }
        if others.iter().all(|other| self.viewed(*other) == self.viewed(*first)) {
            self.warn_of_square(function, &[*first], result, site);
            return;
        }
        let dtype = self.dtype(result);
        let is_known = |operand: &ExprId| matches!(self.node(self.viewed(*operand)), Node::Constant(_));
        // Products with 0 and 1 fit.
        let fits = operands.iter().any(|operand| self.is_truth(*operand) || is_known(operand));
        if is_narrow(dtype) && !fits {
            let rank = |expr: ExprId| self.written(expr).rank();
            let sums = function != "kron" && rank(result) < operands.iter().map(|each| rank(*each)).sum();
            let of = if sums { Wrapped::SumOfProducts } else { Wrapped::Product };
            self.warn(Problem::Wraps { dtype, of }, function, operands, site);
        }
    }

    /// What wraps in the elements: unsigned differences, sums or products of tensors of data, in integers with few bits. Others,
    /// such as the distance from a minimum, may be known to fit.
    fn narrow(&self, expr: ExprId) -> Option<Wrapped> {
        let expr = self.viewed(expr);
        let Node::Elementwise { op, operands } = self.node(expr) else { return None };
        let dtype = self.dtype(expr);
        match op {
            _ if !is_narrow(dtype) => None,
            Op::Subtract if !dtype.is_signed_integer() => {
                operands.iter().all(|operand| self.is_data(*operand)).then_some(Wrapped::Difference)
            }
            Op::Add => (self.data_in(expr, Op::Add)? > 1).then_some(Wrapped::Sum),
            Op::Multiply => (self.data_in(expr, Op::Multiply)? > 1).then_some(Wrapped::Product),
            _ => None,
        }
    }

    /// The number of tensors of data that an op, applied to two operands at a time, combines; `None` if it combines anything
    /// else than those and constants.
    fn data_in(&self, expr: ExprId, op: Op) -> Option<usize> {
        let dtype = self.dtype(expr);
        let (mut waiting, mut count) = (vec![expr], 0);
        for _ in 0..MOST_SEARCHED {
            let Some(next) = waiting.pop() else { return Some(count) };
            let next = self.viewed(next);
            match self.node(next) {
                Node::Elementwise { op: of, operands } if *of == op && self.dtype(next) == dtype => {
                    waiting.extend(operands);
                }
                Node::Constant(_) => {}
                _ if self.is_data(next) => count += 1,
                _ => return None,
            }
        }
        None
    }

    /// Whether an expression has elements of an input, of any size that its dtype holds.
    fn is_data(&self, expr: ExprId) -> bool {
        match self.node(self.viewed(expr)) {
            Node::Input(_) | Node::Take { .. } => true,
            // Converted from a smaller dtype, they leave room.
            Node::Cast(from) => {
                let [from, to] = [self.dtype(*from), self.dtype(expr)];
                from.is_float() || from.class() == Class::Int && from.size() >= to.size()
            }
            Node::Compress { operand, .. } => matches!(self.node(self.viewed(*operand)), Node::Input(_)),
            _ => false,
        }
    }

    fn is_narrow_data(&self, expr: ExprId) -> bool {
        is_narrow(self.dtype(expr)) && self.is_data(expr)
    }

    /// Whether the elements are truth values, or 0 and 1 made of them.
    fn is_truth(&self, expr: ExprId) -> bool {
        match self.node(self.viewed(expr)) {
            Node::Cast(converted) => self.dtype(*converted) == DType::Bool,
            _ => self.dtype(expr) == DType::Bool,
        }
    }

    /// Whether the elements are differences of unsigned integers, which are never negative.
    fn is_unsigned_difference(&self, expr: ExprId) -> bool {
        let expr = self.viewed(expr);
        let dtype = self.dtype(expr);
        matches!(self.node(expr), Node::Elementwise { op: Op::Subtract, .. })
            && dtype.class() == Class::Int
            && !dtype.is_signed_integer()
    }

    /// Differences of signed data with few bits, which wrap if their signs differ.
    fn narrow_signed_difference(&self, expr: ExprId) -> Option<Wrapped> {
        let expr = self.viewed(expr);
        let Node::Elementwise { op: Op::Subtract, operands } = self.node(expr) else { return None };
        let is_data = operands.iter().all(|operand| self.is_data(*operand));
        let is_signed = self.dtype(expr).is_signed_integer();
        (is_narrow(self.dtype(expr)) && is_signed && is_data).then_some(Wrapped::SignedDifference)
    }
}

fn is_narrow(dtype: DType) -> bool {
    dtype.class() == Class::Int && dtype.size() <= NARROW
}

/// A dtype that holds squares and differences of integers of another one.
pub(crate) fn wider(dtype: DType) -> DType {
    if dtype.size() <= NARROW { DType::I32 } else { DType::I64 }
}
