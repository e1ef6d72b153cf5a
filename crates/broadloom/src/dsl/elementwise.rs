//! Elementwise operations: the rows of the op table as methods, the usual short names, and Rust's operators.

use super::operand::{Kind, Operand};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::for_each_op;
use broadloom_ir::graph::{Graph, Site};
use broadloom_ir::ops::Op;
use std::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};
use std::panic::Location;

/// An op of the table on operands of which at least one is a tensor.
fn elementwise(op: Op, operands: &[Operand], site: Site) -> Tensor {
    let tensors: Vec<Tensor> = operands.iter().filter_map(Operand::as_tensor).collect();
    registry::build(registry::home(&tensors), &tensors, &[], site, |graph, _| {
        insert(graph, op, operands, site)
    })
}

fn insert(graph: &mut Graph, op: Op, operands: &[Operand], site: Site) -> ExprId {
    if let (Op::Pow, [Operand(Kind::Tensor(base)), Operand(Kind::Literal(exponent))]) = (op, operands) {
        return graph.power_literal(base.expr, *exponent, site);
    }
    let exprs = exprs(graph, operands, site);
    graph.elementwise(op, &exprs, site)
}

/// Expressions of the operands; literals meet the common dtype of the tensors.
fn exprs(graph: &mut Graph, operands: &[Operand], site: Site) -> Vec<ExprId> {
    let dtypes = operands.iter().filter_map(Operand::as_tensor).map(|tensor| graph.dtype(tensor.expr));
    let meets = dtypes.reduce(DType::promote).unwrap_or(DType::Bool);
    let mut expr = |operand: &Operand| match operand.0 {
        Kind::Tensor(tensor) => tensor.expr,
        Kind::Literal(literal) => graph.literal(literal, meets, site),
    };
    operands.iter().map(&mut expr).collect()
}

/// `on_true` where `condition` holds, else `on_false`; the three broadcast. Both sides are computed everywhere.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![4]);
/// let relu = select(x.gt(0), x, 0);
/// assert_eq!(relu.to_string(), "f32[4]");
/// ```
#[track_caller]
pub fn select(condition: Tensor, on_true: impl Into<Operand>, on_false: impl Into<Operand>) -> Tensor {
    let site = Location::caller();
    let sides = [on_true.into(), on_false.into()];
    let mut tensors = vec![condition];
    tensors.extend(sides.iter().filter_map(Operand::as_tensor));
    registry::build(registry::home(&tensors), &tensors, &[], site, |graph, _| {
        let exprs = exprs(graph, &sides, site);
        graph.select(condition.expr, exprs[0], exprs[1], site)
    })
}

/// A method per row of the table, with its documentation.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident $operands:tt: $domain:ident -> $rule:ident
        { $($class:ident: $meaning:expr),* })*) => {
        /// The op table. Operands broadcast; second and third operands may be numbers.
        impl Tensor {
            $(methods!(@method $variant $name $operands $($doc)+);)*
        }
    };
    (@method $variant:ident $name:ident ($x:ident) $($doc:literal)+) => {
        $(#[doc = $doc])+
        #[track_caller]
        pub fn $name(self) -> Tensor {
            elementwise(Op::$variant, &[self.into()], Location::caller())
        }
    };
    (@method $variant:ident $name:ident ($x:ident, $($other:ident),+) $($doc:literal)+) => {
        $(#[doc = $doc])+
        #[doc = concat!("\n\n`x` is `self`.")]
        #[track_caller]
        #[allow(clippy::should_implement_trait, reason = "a name of the op table beside the operator")]
        pub fn $name(self, $($other: impl Into<Operand>),+) -> Tensor {
            elementwise(Op::$variant, &[self.into(), $($other.into()),+], Location::caller())
        }
    };
}

for_each_op!(methods);

macro_rules! aliases {
    ($($alias:ident = $name:ident $operation:literal;)*) => {
        /// Short names of comparisons.
        impl Tensor {
            $(
                #[doc = concat!("Whether `self ", $operation, " other`, element by element: [`Tensor::", stringify!($name), "`].")]
                #[track_caller]
                #[allow(clippy::should_implement_trait, reason = "compares element by element")]
                pub fn $alias(self, other: impl Into<Operand>) -> Tensor {
                    self.$name(other)
                }
            )*
        }
    };
}
aliases! {
    gt = greater ">";
    ge = greater_equal ">=";
    lt = less "<";
    le = less_equal "<=";
    eq = equal "==";
    ne = not_equal "!=";
}

/// What is made of rows of the op table.
impl Tensor {
    /// Limits every element to `least ..= greatest`; NaNs stay. Where `least > greatest` the result is `greatest`.
    #[track_caller]
    pub fn clip(self, least: impl Into<Operand>, greatest: impl Into<Operand>) -> Tensor {
        self.maximum(least).minimum(greatest)
    }

    /// `1 / x`.
    #[track_caller]
    pub fn reciprocal(self) -> Tensor {
        1 / self
    }

    /// The elements converted to another dtype: floats to integers saturate and NaN gives 0, integers wrap, anything
    /// to bool is `!= 0`.
    #[track_caller]
    pub fn cast<T: Element>(self) -> Tensor {
        self.convert(T::DTYPE, Location::caller())
    }

    /// Like [`Tensor::cast`], to a dtype that is known only when the graph is built.
    #[track_caller]
    pub fn cast_to(self, dtype: DType) -> Tensor {
        self.convert(dtype, Location::caller())
    }

    fn convert(self, dtype: DType, site: Site) -> Tensor {
        registry::build(self.graph, &[self], &[], site, |graph, _| graph.cast(self.expr, dtype, site))
    }
}

macro_rules! fallible {
    ($($try_name:ident = $name:ident $variant:ident;)*) => {
        /// Forms that return a mistake at once, instead of leaving it for `check`.
        impl Tensor {
            $(
                #[doc = concat!("Like [`Tensor::", stringify!($name), "`].\n\n# Errors\nIf the operands do not fit.")]
                #[track_caller]
                pub fn $try_name(self, other: impl Into<Operand>) -> Result<Tensor, Diagnostics> {
                    attempt(Op::$variant, &[self.into(), other.into()], Location::caller())
                }
            )*
        }
    };
}
fallible! {
    try_add = add Add;
    try_subtract = subtract Subtract;
    try_multiply = multiply Multiply;
    try_divide = divide Divide;
    try_maximum = maximum Maximum;
    try_minimum = minimum Minimum;
    try_pow = pow Pow;
    try_equal = equal Equal;
    try_not_equal = not_equal NotEqual;
    try_less = less Less;
    try_less_equal = less_equal LessEqual;
    try_greater = greater Greater;
    try_greater_equal = greater_equal GreaterEqual;
    try_logical_and = logical_and LogicalAnd;
    try_logical_or = logical_or LogicalOr;
}

fn attempt(op: Op, operands: &[Operand], site: Site) -> Result<Tensor, Diagnostics> {
    let tensors: Vec<Tensor> = operands.iter().filter_map(Operand::as_tensor).collect();
    registry::attempt(registry::home(&tensors), &tensors, site, |graph, _| insert(graph, op, operands, site))
}

macro_rules! operators {
    ($($trait:ident $method:ident $variant:ident;)*) => {$(
        impl<T: Into<Operand>> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                elementwise(Op::$variant, &[self.into(), other.into()], Location::caller())
            }
        }
    )*};
}
operators! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
    BitAnd bitand LogicalAnd;
    BitOr bitor LogicalOr;
}

macro_rules! assignments {
    ($($trait:ident $method:ident $variant:ident;)*) => {$(
        /// Makes the handle stand for the new expression.
        impl<T: Into<Operand>> $trait<T> for Tensor {
            #[track_caller]
            fn $method(&mut self, other: T) {
                *self = elementwise(Op::$variant, &[(*self).into(), other.into()], Location::caller());
            }
        }
    )*};
}
assignments! {
    AddAssign add_assign Add;
    SubAssign sub_assign Subtract;
    MulAssign mul_assign Multiply;
    DivAssign div_assign Divide;
}

/// Numbers on the left. Only one type of integers and one of floats: with more, the compiler could not tell the type
/// of the `2.0` in `(2.0 * x).sqrt()`, nor that the product is a tensor. Others are written on the right, `x * a`, or
/// as an [`Operand`].
macro_rules! numbers_on_the_left {
    ($($t:ident)*) => {$(
        numbers_on_the_left!(@operators $t: Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide);
    )*};
    (@operators $t:ident: $($trait:ident $method:ident $op:ident),*) => {$(
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                elementwise(Op::$op, &[self.into(), other.into()], Location::caller())
            }
        }
    )*};
}
numbers_on_the_left!(i64 f64 Operand);

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        elementwise(Op::Negative, &[self.into()], Location::caller())
    }
}

impl Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        elementwise(Op::LogicalNot, &[self.into()], Location::caller())
    }
}
