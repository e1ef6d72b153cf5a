//! The values of expressions of the text language.

use super::TextKind;
use crate::syntax::Id;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{IndexItem, Literal};

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// The result of a mistake; using it reports nothing more.
    Poison,
    Tensor(ExprId),
    /// A number that takes the dtype of the other operands.
    Literal(Literal),
    /// Arithmetic on symbols.
    Size(Dim),
    /// Any other result computed from numbers and sizes: a tensor of rank 0 that acts as a number beside other
    /// operands.
    Number(ExprId),
    /// A shape.
    Sizes(Vec<Dim>),
    /// `n % 8`, which only `assume` leaves as it is.
    Modulo(Dim, i64),
    List(Vec<Id>),
    /// The results of a function that has several.
    Several(Vec<ExprId>),
    /// `x.at`
    At(ExprId),
    /// `x.at[1:]`
    Region(Region),
    DType(DType),
    None,
    Ellipsis,
    Text(Box<str>, TextKind),
}

impl Value {
    /// A number that is written as such.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Value::Literal(literal @ (Literal::Int(_) | Literal::Float(_))) => Some(literal.to_f64()),
            _ => None,
        }
    }

    pub(super) fn expr(&self) -> Option<ExprId> {
        match self {
            Value::Tensor(expr) | Value::Number(expr) => Some(*expr),
            _ => None,
        }
    }

    pub(super) fn describe(&self) -> &'static str {
        match self {
            Value::Poison => "a mistake",
            Value::Tensor(_) => "a tensor",
            Value::Literal(Literal::Bool(_)) => "`True` or `False`",
            Value::Literal(_) | Value::Number(_) => "a number",
            Value::Sizes(_) => "a shape",
            Value::Size(_) | Value::Modulo(..) => "a size",
            Value::List(_) => "a list",
            Value::Several(_) => "several results",
            Value::At(_) | Value::Region(_) => "elements to change",
            Value::DType(_) => "a dtype",
            Value::None => "`None`",
            Value::Ellipsis => "`...`",
            Value::Text(..) => "text",
        }
    }
}

/// The elements of a tensor that `.at[..]` chooses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Region {
    pub(super) tensor: ExprId,
    pub(super) chosen: Chosen,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Chosen {
    Items(Vec<IndexItem>),
    /// Where a condition holds.
    Mask(ExprId),
}
