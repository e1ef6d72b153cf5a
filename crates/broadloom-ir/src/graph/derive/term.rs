//! Partial derivatives as expressions of a graph.

use super::super::{Graph, Node, Site};
use crate::dtype::Scalar;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::partial::{Derivative, Partial};
use crate::problem::Problem;
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// A derivative by an operand, as expressions.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slope {
    Flat,
    Number(f64),
    Value(ExprId),
    /// A value where a condition holds, 0 elsewhere.
    Where(ExprId, ExprId),
}

/// Where formulas are written: operators cannot return errors, so the first one is kept.
pub(super) struct Page<'g> {
    graph: RefCell<&'g mut Graph>,
    site: Site,
    problem: RefCell<Option<Problem>>,
}

/// A value of a formula.
#[derive(Clone, Copy)]
pub(super) struct Term<'p, 'g> {
    page: &'p Page<'g>,
    expr: ExprId,
}

/// A condition of a formula.
#[derive(Clone, Copy)]
pub(super) struct Condition<'p, 'g>(Term<'p, 'g>);

/// Writes a formula of operands and a result into the graph.
pub(super) fn slope(
    graph: &mut Graph,
    site: Site,
    operands: &[ExprId],
    result: ExprId,
    formula: impl for<'p, 'g> FnOnce(&[Term<'p, 'g>], Term<'p, 'g>) -> Option<Derivative<Term<'p, 'g>>>,
) -> Result<Slope, Problem> {
    let page = Page { graph: RefCell::new(graph), site, problem: RefCell::new(None) };
    let term = |expr: ExprId| Term { page: &page, expr };
    let of: Vec<Term<'_, '_>> = operands.iter().copied().map(term).collect();
    let slope = match formula(&of, term(result)) {
        None | Some(Derivative::Undefined) => return Err(Problem::NoDerivative),
        Some(Derivative::Flat) => Slope::Flat,
        Some(Derivative::Number(number)) => Slope::Number(number),
        Some(Derivative::Value(value)) => Slope::Value(value.expr),
        Some(Derivative::Where(condition, value)) => Slope::Where(condition.0.expr, value.expr),
    };
    page.problem.into_inner().map_or(Ok(slope), Err)
}

impl<'p, 'g> Page<'g> {
    fn write(&'p self, made: impl FnOnce(&mut Graph) -> Result<ExprId, Problem>) -> Term<'p, 'g> {
        let mut graph = self.graph.borrow_mut();
        let expr = made(*graph).unwrap_or_else(|problem| {
            self.problem.borrow_mut().get_or_insert(problem);
            graph.poison()
        });
        Term { page: self, expr }
    }
}

impl Term<'_, '_> {
    fn apply(self, op: Op, others: &[Self]) -> Self {
        let operands: Vec<ExprId> =
            std::iter::once(self.expr).chain(others.iter().map(|other| other.expr)).collect();
        self.page.write(|graph| graph.try_elementwise(op, &operands, self.page.site))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident)*) => {$(
        impl $trait for Term<'_, '_> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                let op = operators!(@op $trait);
                self.apply(op, &[other])
            }
        }

        impl $trait<f64> for Term<'_, '_> {
            type Output = Self;
            fn $method(self, number: f64) -> Self {
                $trait::$method(self, self.number(number))
            }
        }
    )*};
    (@op Add) => { Op::Add };
    (@op Sub) => { Op::Subtract };
    (@op Mul) => { Op::Multiply };
    (@op Div) => { Op::Divide };
}
operators! { Add add Sub sub Mul mul Div div }

impl Neg for Term<'_, '_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.apply(Op::Negative, &[])
    }
}

impl BitAnd for Condition<'_, '_> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Condition(self.0.apply(Op::LogicalAnd, &[other.0]))
    }
}

impl BitOr for Condition<'_, '_> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Condition(self.0.apply(Op::LogicalOr, &[other.0]))
    }
}

impl Not for Condition<'_, '_> {
    type Output = Self;
    fn not(self) -> Self {
        Condition(self.0.apply(Op::LogicalNot, &[]))
    }
}

macro_rules! functions {
    ($($method:ident = $op:ident($($other:ident),*);)*) => {$(
        fn $method(self, $($other: Self),*) -> Self {
            self.apply(Op::$op, &[$($other),*])
        }
    )*};
}

impl<'p, 'g> Partial for Term<'p, 'g> {
    type Condition = Condition<'p, 'g>;

    fn number(self, value: f64) -> Self {
        self.page.write(|graph| {
            let dtype = graph.dtype(self.expr);
            graph.number(value, dtype, self.page.site)
        })
    }

    functions! {
        exp = Exp();
        exp2 = Exp2();
        log = Log();
        sqrt = Sqrt();
        sin = Sin();
        cos = Cos();
        sinh = Sinh();
        cosh = Cosh();
        tanh = Tanh();
        sigmoid = Sigmoid();
        erfc = Erfc();
        sign = Sign();
        trunc = Trunc();
        maximum = Maximum(other);
        pow = Pow(exponent);
        hypot = Hypot(other);
        copysign = Copysign(sign);
        floor_divide = FloorDivide(divisor);
    }

    fn less(self, other: Self) -> Self::Condition {
        Condition(self.apply(Op::Less, &[other]))
    }

    fn equal(self, other: Self) -> Self::Condition {
        Condition(self.apply(Op::Equal, &[other]))
    }

    fn is_constant(self) -> bool {
        self.page.graph.borrow().is_same_everywhere(self.expr)
    }

    fn select(condition: Self::Condition, on_true: Self, on_false: Self) -> Self {
        let page = on_true.page;
        let known = match page.graph.borrow().node(condition.0.expr) {
            Node::Constant(Scalar::Bool(holds)) => Some(*holds),
            _ => None,
        };
        match known {
            Some(true) => on_true,
            Some(false) => on_false,
            None => page
                .write(|graph| graph.try_select([condition.0.expr, on_true.expr, on_false.expr], page.site)),
        }
    }
}

impl Graph {
    /// Whether an expression is a constant, or views and casts of one.
    pub(super) fn is_same_everywhere(&self, mut expr: ExprId) -> bool {
        loop {
            expr = match self.node(expr) {
                Node::Constant(_) => return true,
                Node::View { operand, .. } | Node::Cast(operand) => *operand,
                _ => return false,
            };
        }
    }
}
