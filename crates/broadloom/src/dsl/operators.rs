//! Rust's operators on tensors.
//!
//! `+ - * / %` are the ops of those names. `%` is [`Tensor::remainder`]: its result has the sign of the divisor, as
//! in Python and unlike Rust. `& | ^ !` and `<< >>` are the bitwise ops; on bool the first four are and, or, xor
//! and not.

use super::axes::IntoAxis;
use super::elementwise::elementwise;
use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::Site;
use broadloom_ir::ops::Op;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use std::ops::{
    AddAssign, BitAndAssign, BitOrAssign, BitXorAssign, DivAssign, MulAssign, RemAssign, ShlAssign,
    ShrAssign, SubAssign,
};

/// A binary operator and its assigning form.
macro_rules! operators {
    ($($(#[doc = $doc:literal])+ $trait:ident $method:ident, $assign:ident $assign_method:ident = $op:ident;)*) => {$(
        $(#[doc = $doc])+
        impl<T: Into<Operand>> $trait<T> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: T) -> Tensor {
                elementwise(Op::$op, &[self.into(), other.into()], Site::caller())
            }
        }

        /// Replaces this handle by the new expression. It does not write to an input: see [`Tensor::assign`].
        impl<T: Into<Operand>> $assign<T> for Tensor {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = elementwise(Op::$op, &[(*self).into(), other.into()], Site::caller());
            }
        }
    )*};
}
operators! {
    /// [`Tensor::add`].
    Add add, AddAssign add_assign = Add;
    /// [`Tensor::subtract`].
    Sub sub, SubAssign sub_assign = Subtract;
    /// [`Tensor::multiply`].
    Mul mul, MulAssign mul_assign = Multiply;
    /// [`Tensor::divide`]: integers give `f64`.
    Div div, DivAssign div_assign = Divide;
    /// [`Tensor::remainder`]: as in Python, with the sign of the divisor.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[7, -7], |x| x % 3)?;
    /// assert_eq!(result, [1, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    Rem rem, RemAssign rem_assign = Remainder;
    /// [`Tensor::bitwise_and`]; `and` on bool.
    BitAnd bitand, BitAndAssign bitand_assign = BitwiseAnd;
    /// [`Tensor::bitwise_or`]; `or` on bool.
    BitOr bitor, BitOrAssign bitor_assign = BitwiseOr;
    /// [`Tensor::bitwise_xor`]; `!=` on bool.
    BitXor bitxor, BitXorAssign bitxor_assign = BitwiseXor;
    /// [`Tensor::bitwise_left_shift`].
    Shl shl, ShlAssign shl_assign = BitwiseLeftShift;
    /// [`Tensor::bitwise_right_shift`].
    Shr shr, ShrAssign shr_assign = BitwiseRightShift;
}

/// Makes a binary op that aligns one operand with an axis of the other.
macro_rules! placed {
    ($($name:ident = $method:ident $op:ident $call:literal;)*) => {
        /// PaddlePaddle's `axis=`: the first axis of the smaller operand is aligned with `axis` of the larger one,
        /// whereas broadcasting aligns the last axes. -1 broadcasts as usual. Trailing axes of the constant size 1
        /// of the smaller operand are ignored; operands of equal rank take 0 or -1.
        impl Tensor {
            $(
                #[doc = concat!("[`Tensor::", stringify!($method), "`] of an operand placed at an axis.\n\n```")]
                /// use broadloom::prelude::*;
                /// let g = Graph::new();
                /// let [n, c, h, w] = g.symbols(["n", "c", "h", "w"]);
                /// let (x, y) = (g.input::<f32>("x", shape![n, c, h, w]), g.input::<f32>("y", shape![c]));
                #[doc = concat!("assert_eq!(", $call, ".shape(), x.shape());")]
                /// # g.check().unwrap();
                /// ```
                #[track_caller]
                pub fn $name(self, other: Tensor, axis: impl IntoAxis) -> Tensor {
                    let (site, axis) = (Site::caller(), axis.into_axis());
                    registry::build(self.graph, &[self, other], &[], site, |graph, _| {
                        graph.elementwise_at(Op::$op, [self.expr, other.expr], axis, site)
                    })
                }
            )*
        }

        #[test]
        fn every_op_that_help_offers_to_place_has_a_method() {
            let methods = [$(Op::$op),*];
            assert_eq!(methods, broadloom_ir::graph::PLACED_OPS);
            $(assert_eq!(stringify!($name), format!("{}_axis", Op::$op));)*
        }
    };
}
placed! {
    add_axis = add Add "x.add_axis(y, 1)";
    subtract_axis = subtract Subtract "x.subtract_axis(y, 1)";
    multiply_axis = multiply Multiply "x.multiply_axis(y, 1)";
    divide_axis = divide Divide "x.divide_axis(y, 1)";
    floor_divide_axis = floor_divide FloorDivide "x.floor_divide_axis(y, 1)";
    remainder_axis = remainder Remainder "x.remainder_axis(y, 1)";
    pow_axis = pow Pow "x.pow_axis(y, 1)";
    minimum_axis = minimum Minimum "x.minimum_axis(y, 1)";
    maximum_axis = maximum Maximum "x.maximum_axis(y, 1)";
}

/// Numbers on the left. There is only one type of integers and one of floats: with more, the compiler could infer
/// neither the type of the `2.0` in `(2.0 * x).sqrt()` nor that the product is a tensor. Write other numbers on the
/// right, `x * a`, or as an [`Operand`].
macro_rules! numbers_on_the_left {
    ($($t:ident: $($trait:ident $method:ident $op:ident),*;)*) => {$($(
        impl $trait<Tensor> for $t {
            type Output = Tensor;
            #[track_caller]
            fn $method(self, other: Tensor) -> Tensor {
                elementwise(Op::$op, &[self.into(), other.into()], Site::caller())
            }
        }
    )*)*};
}
numbers_on_the_left! {
    i64: Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide, Rem rem Remainder,
        BitAnd bitand BitwiseAnd, BitOr bitor BitwiseOr, BitXor bitxor BitwiseXor,
        Shl shl BitwiseLeftShift, Shr shr BitwiseRightShift;
    f64: Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide, Rem rem Remainder;
    bool: BitAnd bitand BitwiseAnd, BitOr bitor BitwiseOr, BitXor bitxor BitwiseXor;
    Operand: Add add Add, Sub sub Subtract, Mul mul Multiply, Div div Divide, Rem rem Remainder,
        BitAnd bitand BitwiseAnd, BitOr bitor BitwiseOr, BitXor bitxor BitwiseXor,
        Shl shl BitwiseLeftShift, Shr shr BitwiseRightShift;
}

/// [`Tensor::negative`].
impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        elementwise(Op::Negative, &[self.into()], Site::caller())
    }
}

/// [`Tensor::bitwise_invert`]; `not` on bool.
impl Not for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn not(self) -> Tensor {
        elementwise(Op::BitwiseInvert, &[self.into()], Site::caller())
    }
}
