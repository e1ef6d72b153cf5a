//! What can stand beside a tensor in an expression.

use super::Tensor;
use broadloom_ir::graph::Literal;

/// A tensor, or a number that takes the dtype of the tensors it meets.
///
/// Methods that take `impl Into<Operand>` accept tensors and numbers of any Rust type. A number is *weak*, as in
/// NumPy: `x + 1` has the dtype of `x`, whatever the width of the `1`; only a float that meets integers makes them
/// `f64`, and an integer that meets bool makes it `i64`. One that the dtype cannot hold is a mistake.
#[derive(Debug, Clone, Copy)]
pub struct Operand(pub(super) Kind);

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Tensor(Tensor),
    Literal(Literal),
}

impl Operand {
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

/// Calls a macro with the Rust types of numbers that can be written beside tensors, and the literals they are.
macro_rules! for_each_number {
    ($callback:ident) => {
        $callback! {
            i8 Int i128; i16 Int i128; i32 Int i128; i64 Int i128; isize Int i128;
            u8 Int i128; u16 Int i128; u32 Int i128; u64 Int i128; usize Int i128;
            f32 Float f64; f64 Float f64;
        }
    };
}
pub(super) use for_each_number;

macro_rules! from_numbers {
    ($($t:ident $variant:ident $wide:ident;)*) => {$(
        impl From<$t> for Operand {
            fn from(value: $t) -> Self {
                Operand(Kind::Literal(Literal::$variant(value as $wide)))
            }
        }
    )*};
}
for_each_number!(from_numbers);
