//! Operands of an expression: tensors and numbers.

use super::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Graph, Literal, Site};
use half::{bf16, f16};

/// A tensor, or a number that takes the dtype of the tensors it meets.
///
/// Methods with an `impl Into<Operand>` parameter accept tensors and numbers of any Rust type. A number is *weak*,
/// as in NumPy: `x + 1` has the dtype of `x`, whatever the width of the `1`. Only two cases change the dtype: a
/// float with integers gives `f64`, and an integer with bool gives `i64`. A number that the dtype cannot hold is a
/// mistake.
///
/// The left side of an operator accepts literals, `i64`, `f64`, and any number as an `Operand`:
///
/// ```
/// use broadloom::{Operand, prelude::*};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![3]);
/// let a = 0.5f32;
/// assert_eq!((1 - (2.0 * x).exp() * a).to_string(), "f32[3]");
/// assert_eq!((Operand::from(a) / x).to_string(), "f32[3]");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Operand(pub(super) Kind);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Tensor(Tensor),
    Literal(Literal),
}

impl Operand {
    /// Returns the expression; a number meets the dtype of a tensor.
    pub(super) fn beside(self, graph: &mut Graph, tensor: ExprId, site: Site) -> ExprId {
        match self.0 {
            Kind::Tensor(tensor) => tensor.expr,
            Kind::Literal(literal) => graph.literal(literal, graph.dtype(tensor), site),
        }
    }

    /// Returns the expression; a number takes the dtype of floats in which a tensor is computed with floats.
    pub(super) fn beside_float(self, graph: &mut Graph, tensor: ExprId, site: Site) -> ExprId {
        let dtype = graph.dtype(tensor).fractional();
        match self.0 {
            Kind::Tensor(tensor) => tensor.expr,
            Kind::Literal(literal) => graph.literal(literal, dtype, site),
        }
    }

    pub(super) fn as_tensor(&self) -> Option<Tensor> {
        if let Kind::Tensor(tensor) = self.0 { Some(tensor) } else { None }
    }
}

impl From<Tensor> for Operand {
    fn from(tensor: Tensor) -> Self {
        Operand(Kind::Tensor(tensor))
    }
}

impl From<&Tensor> for Operand {
    fn from(tensor: &Tensor) -> Self {
        Operand(Kind::Tensor(*tensor))
    }
}

impl From<bool> for Operand {
    fn from(value: bool) -> Self {
        Operand(Kind::Literal(Literal::Bool(value)))
    }
}

macro_rules! from_numbers {
    ($($variant:ident($wide:ty): $($t:ty)*;)*) => {$($(
        impl From<$t> for Operand {
            fn from(value: $t) -> Self {
                Operand(Kind::Literal(Literal::$variant(value as $wide)))
            }
        }
    )*)*};
}
from_numbers! {
    Int(i128): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    Float(f64): f32 f64;
}

macro_rules! from_halves {
    ($($t:ty)*) => {$(
        impl From<$t> for Operand {
            fn from(value: $t) -> Self {
                Operand(Kind::Literal(Literal::Float(value.into())))
            }
        }
    )*};
}
from_halves!(f16 bf16);
