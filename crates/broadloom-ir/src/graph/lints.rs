//! Warnings: ops that are valid, and rarely meant as they are written.

use super::{Axes, Graph, Node, Site, View};
use crate::dim::Dim;
use crate::dtype::{Class, DType};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Problem, Wrapped};
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// The most expressions to search for the origin of an operand.
const MOST_SEARCHED: usize = 64;
/// Squares of integers of at most this many bytes wrap for common values.
const NARROW: usize = 2;

impl Graph {
    /// Records a warning once, if warnings are turned on.
    pub fn warn(&mut self, problem: Problem, op: &str, operands: &[ExprId], site: Site) {
        if !self.warns_of_pointwise {
            return;
        }
        let warning = self.mistake(problem, Some(op), operands, site);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Warns of an elementwise op that a user called.
    pub(super) fn warn_of_elementwise(&mut self, op: Op, operands: &[ExprId], result: ExprId, site: Site) {
        if !self.warns_of_pointwise || self.any_poisoned(operands) || self.is_poisoned(result) {
            return;
        }
        let is_square =
            op == Op::Square || op == Op::Multiply && matches!(operands, [left, right] if left == right);
        if is_square {
            self.warn_of_square(op.name(), operands, result, site);
        }
        if let ([operand], Op::Abs) = (operands, op)
            && self.is_unsigned_difference(*operand)
        {
            let problem = Problem::Wraps { dtype: self.dtype(*operand), of: Wrapped::Difference };
            self.warn(problem, op.name(), operands, site);
        }
        if let (&[divided, _], Op::Divide) = (operands, op)
            && self.narrow(divided) == Some(Wrapped::Sum)
        {
            let problem = Problem::Wraps { dtype: self.dtype(divided), of: Wrapped::Sum };
            self.warn(problem, op.name(), &[divided], site);
        }
        let tells_sign = matches!(op, Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual);
        if tells_sign || self.dtype(result).class() == Class::Float {
            self.warn_of_differences(op.name(), operands, site);
        }
        if let &[left, right] = operands {
            let problem = self.pointwise([left, right], result).or_else(|| self.misaligned([left, right]));
            if let Some(problem) = problem {
                self.warn(problem, op.name(), operands, site);
            }
        }
    }

    /// Warns of a square of integers with few bits.
    pub(super) fn warn_of_square(&mut self, op: &str, operands: &[ExprId], result: ExprId, site: Site) {
        let dtype = self.dtype(result);
        let is_known = matches!(self.node(result), Node::Constant(_) | Node::Poison);
        // Squares of 0 and 1 fit.
        let is_truth = |operand: &ExprId| match self.node(self.viewed(*operand)) {
            Node::Cast(converted) => self.dtype(*converted) == DType::Bool,
            _ => self.dtype(*operand) == DType::Bool,
        };
        let is_narrow = dtype.class() == Class::Int && dtype.size() <= NARROW;
        if is_narrow && !is_known && !operands.iter().all(is_truth) {
            self.warn(Problem::Wraps { dtype, of: Wrapped::Square }, op, operands, site);
        }
    }

    /// Warns of a conversion that comes after a difference has wrapped.
    pub(super) fn warn_of_cast(&mut self, operand: ExprId, to: DType, site: Site) {
        let dtype = self.dtype(operand);
        let holds_more = to.class() == Class::Float || to.size() > dtype.size();
        if holds_more && self.narrow(operand) == Some(Wrapped::Difference) {
            self.warn(Problem::Wraps { dtype, of: Wrapped::Difference }, "cast", &[operand], site);
        }
    }

    /// Warns of a function to which a difference below 0 is not what has wrapped.
    pub(super) fn warn_of_differences(&mut self, function: &str, operands: &[ExprId], site: Site) {
        let is_difference = |operand: &&ExprId| self.narrow(**operand) == Some(Wrapped::Difference);
        if self.warns_of_pointwise
            && let Some(&operand) = operands.iter().find(is_difference)
        {
            let problem = Problem::Wraps { dtype: self.dtype(operand), of: Wrapped::Difference };
            self.warn(problem, function, &[operand], site);
        }
    }

    /// Warns of a reduction of differences, unless it only asks which are zero.
    pub(super) fn warn_of_reduction(&mut self, op: ReduceOp, function: &str, operand: ExprId, site: Site) {
        if !matches!(op, ReduceOp::Any | ReduceOp::All) {
            self.warn_of_differences(function, &[operand], site);
        }
    }

    /// Warns of a sum of products in integers with few bits: of differences, or of a tensor with itself.
    pub(super) fn warn_of_products(
        &mut self,
        function: &str,
        operands: &[ExprId],
        result: ExprId,
        site: Site,
    ) {
        self.warn_of_differences(function, operands, site);
        if let [first, others @ ..] = operands
            && self.warns_of_pointwise
            && !others.is_empty()
            && others.iter().all(|other| self.viewed(*other) == self.viewed(*first))
        {
            self.warn_of_square(function, &[*first], result, site);
        }
    }

    /// Whether the elements are sums or unsigned differences of two tensors of data, in integers with few bits. Others, such
    /// as the distance from a minimum, may be known to fit.
    fn narrow(&self, expr: ExprId) -> Option<Wrapped> {
        let expr = self.viewed(expr);
        let Node::Elementwise { op, operands } = self.node(expr) else { return None };
        let is_data =
            |operand: &ExprId| matches!(self.node(self.viewed(*operand)), Node::Input(_) | Node::Take { .. });
        let dtype = self.dtype(expr);
        let is_narrow = dtype.class() == Class::Int && dtype.size() <= NARROW;
        match op {
            _ if !is_narrow || !operands.iter().all(is_data) => None,
            Op::Subtract if !dtype.is_signed_integer() => Some(Wrapped::Difference),
            Op::Add => Some(Wrapped::Sum),
            _ => None,
        }
    }

    /// The tensor of which an expression is a view.
    fn viewed(&self, mut expr: ExprId) -> ExprId {
        while let Node::View { operand, .. } = self.node(expr) {
            expr = *operand;
        }
        expr
    }

    /// Whether the elements are differences of unsigned integers, which are never negative.
    fn is_unsigned_difference(&self, expr: ExprId) -> bool {
        let expr = self.viewed(expr);
        let dtype = self.dtype(expr);
        matches!(self.node(expr), Node::Elementwise { op: Op::Subtract, .. })
            && dtype.class() == Class::Int
            && !dtype.is_signed_integer()
    }

    /// Finds operands with equal numbers of elements that broadcast: torch before version 0.2 combined them element by
    /// element.
    fn pointwise(&self, operands: [ExprId; 2], result: ExprId) -> Option<Problem> {
        let dims = operands.map(|operand| self.resolved(self.written(operand)).into_owned());
        let count = |dims: &[Dim]| Dim::product(dims).ok();
        let [left, right] = &dims;
        let elements = count(left).filter(|_| left != right)?;
        if count(right).as_ref() != Some(&elements) {
            return None;
        }
        let result = self.resolved(self.written(result)).into_owned();
        Some(Problem::Pointwise {
            count: self.size(&elements),
            result: self.sizes(&result),
            is_harmless: count(&result) == Some(elements.clone()),
            is_explicit: operands.iter().any(|operand| self.adds_axes(*operand)),
        })
    }

    /// Whether the program itself gives the operand axes of size 1.
    fn adds_axes(&self, expr: ExprId) -> bool {
        self.search(expr, &|graph, expr| {
            matches!(
                graph.node(expr),
                Node::View { view: View::ExpandDims(_) | View::Reshape | View::BroadcastTo, .. }
                    | Node::Reduce { keepdims: true, .. }
            )
        })
    }

    /// Finds an operand that is a reduction of the other one, and whose axes meet others than those that they were.
    fn misaligned(&self, [left, right]: [ExprId; 2]) -> Option<Problem> {
        [(left, right), (right, left)].into_iter().find_map(|(whole, part)| {
            let axes = self.axes_reduced(part, whole)?;
            let rank = self.written(whole).rank();
            let kept = (0..rank).filter(|axis| !axes.contains(axis));
            let (own, at) = kept.zip(axes.len()..).find(|(own, at)| own != at)?;
            Some(Problem::Misaligned { reduced: axes.to_vec(), own, at })
        })
    }

    /// The axes over which elements of `whole` were reduced to those of `part`, without a trace in its shape.
    fn axes_reduced(&self, part: ExprId, whole: ExprId) -> Option<Axes> {
        let shape: &Shape = self.written(whole);
        if self.written(part).rank() == 0 || self.written(part).rank() >= shape.rank() {
            return None;
        }
        let mut found = None;
        // Through ops that keep elements in place, as from a variance to a deviation.
        let mut waiting = vec![part];
        for _ in 0..MOST_SEARCHED {
            let expr = waiting.pop()?;
            if let Some((operand, axes)) = self.reduced.get(&expr)
                && self.written(*operand) == shape
                && self.search(*operand, &|_, expr| expr == whole)
            {
                found = Some(axes.clone());
                break;
            }
            match self.node(expr) {
                Node::Reduce { operand, axes, keepdims: false, .. }
                    if self.written(*operand) == shape && self.search(*operand, &|_, expr| expr == whole) =>
                {
                    found = Some(axes.clone());
                    break;
                }
                Node::Elementwise { operands, .. } => {
                    let same = |operand: &&ExprId| self.written(**operand) == self.written(part);
                    waiting.extend(operands.iter().filter(same));
                }
                Node::Cast(operand) => waiting.push(*operand),
                _ => {}
            }
        }
        found
    }

    /// Whether some expression that this one is made of has a property.
    fn search(&self, expr: ExprId, has: &dyn Fn(&Graph, ExprId) -> bool) -> bool {
        let mut waiting = vec![expr];
        for _ in 0..MOST_SEARCHED {
            let Some(expr) = waiting.pop() else { return false };
            if has(self, expr) {
                return true;
            }
            waiting.extend(self.node(expr).operands());
        }
        false
    }
}

/// A dtype that holds squares and differences of integers of another one.
pub(crate) fn wider(dtype: DType) -> DType {
    if dtype.size() <= NARROW { DType::I32 } else { DType::I64 }
}
