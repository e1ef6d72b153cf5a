//! Elementwise operations: the rows of the op table as methods, and common short names.

use super::call::{Argument, Call};
use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::diagnostics::Diagnostics;
use broadloom_ir::dtype::{DType, Element};
use broadloom_ir::graph::{Composed, Site, Tolerance};
use broadloom_ir::ops::Op;
use broadloom_ir::{for_each_composed, for_each_op};
use smallvec::SmallVec;

/// Applies an op of the table to operands, at least one of which is a tensor.
pub(super) fn elementwise(op: Op, operands: &[Operand], site: Site) -> Tensor {
    registry::call(&tensors(operands), Call::elementwise(op, operands), site)
}

fn tensors(operands: &[Operand]) -> SmallVec<[Tensor; 3]> {
    operands.iter().filter_map(Operand::as_tensor).collect()
}

/// Returns `on_true` where `condition` holds and `on_false` elsewhere; all three broadcast. Both sides are computed
/// for every element.
///
/// ```
/// use broadloom::prelude::*;
/// let result: Vec<i32> = eval(&[-1, 2, -3], |x| select(x.gt(0), x, 10 * x))?;
/// assert_eq!(result, [-10, 2, -30]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[track_caller]
#[doc(alias("where"))]
pub fn select(condition: Tensor, on_true: impl Into<Operand>, on_false: impl Into<Operand>) -> Tensor {
    let site = Site::caller();
    let sides = [on_true.into(), on_false.into()];
    let mut operands = tensors(&sides);
    operands.insert(0, condition);
    registry::call(&operands, Call::select(condition.expr, &sides), site)
}

/// Makes a documented method for each row of the table.
macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident $operands:tt: $domain:ident -> $rule:ident
        { $($class:ident: $meaning:expr),* } $(tile $tile:ident)?
        by |$result:pat_param| $derivatives:tt)*) => {
        /// The op table. Operands broadcast; second and third operands may be numbers.
        impl Tensor {
            $(methods!(@method $variant $name $operands $($doc)+);)*
        }
    };
    (@method $variant:ident $name:ident ($x:ident) $($doc:literal)+) => {
        $(#[doc = $doc])+
        #[doc = example!($name)]
        #[track_caller]
        pub fn $name(self) -> Tensor {
            elementwise(Op::$variant, &[self.into()], Site::caller())
        }
    };
    (@method $variant:ident $name:ident ($x:ident, $($other:ident),+) $($doc:literal)+) => {
        $(#[doc = $doc])+
        #[doc = concat!("\n\n`x` is `self`.\n", example!($name))]
        #[track_caller]
        #[allow(clippy::should_implement_trait, reason = "a name of the op table beside the operator")]
        pub fn $name(self, $($other: impl Into<Operand>),+) -> Tensor {
            elementwise(Op::$variant, &[self.into(), $($other.into()),+], Site::caller())
        }
    };
}

for_each_op!(methods);

/// Makes a documented method for each composed function.
macro_rules! composed_methods {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident($x:ident $(, $y:ident)?)
        $(by |$result:pat_param| $derivatives:tt)?)*) => {
        /// Functions composed of ops of the table. Operands broadcast; the second may be a number.
        impl Tensor {
            $(
                $(#[doc = $doc])+
                #[doc = concat!("\n\n`x` is `self`.\n", example!($name))]
                #[track_caller]
                pub fn $name(self $(, $y: impl Into<Operand>)?) -> Tensor {
                    composed(Composed::$variant, &[self.into() $(, $y.into())?], Site::caller())
                }
            )*
        }
    };
}
for_each_composed!(composed_methods);

fn composed(function: Composed, operands: &[Operand], site: Site) -> Tensor {
    registry::call(&tensors(operands), Call::composed(function, operands), site)
}

/// Closeness of numbers, and replacement of values that are not finite.
impl Tensor {
    /// Returns whether `abs(self - other) <= 1e-8 + 1e-5 * abs(other)`, which are NumPy's tolerances. Equal
    /// infinities are close; a NaN is close to nothing.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<bool> = eval((&[1.0, 1.0], &[1.000001, 1.1]), |(x, y)| x.isclose(y))?;
    /// assert_eq!(result, [true, false]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn isclose(self, other: impl Into<Operand>) -> Tensor {
        self.is_close(other.into(), Tolerance::default(), Site::caller())
    }

    /// Returns whether two numbers are as close as `tolerance` requires.
    ///
    /// ```
    /// use broadloom::{Tolerance, prelude::*};
    /// let tolerance = Tolerance { relative: 0.0, absolute: 0.5, equal_nan: true };
    /// let result: Vec<bool> =
    ///     eval((&[1.0, f64::NAN], &[1.25, f64::NAN]), |(x, y)| x.isclose_within(y, tolerance))?;
    /// assert_eq!(result, [true, true]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn isclose_within(self, other: impl Into<Operand>, tolerance: Tolerance) -> Tensor {
        self.is_close(other.into(), tolerance, Site::caller())
    }

    /// Returns whether all elements are close, as defined by [`Tensor::isclose`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: bool = eval((&[1.0, 2.0], &[1.000001, 2.0]), |(x, y)| x.allclose(y))?;
    /// assert!(result);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn allclose(self, other: impl Into<Operand>) -> Tensor {
        self.isclose(other).all(..)
    }

    fn is_close(self, other: Operand, tolerance: Tolerance, site: Site) -> Tensor {
        let operands = [self.into(), other];
        let call = Call::IsClose([Argument::from(&operands[0]), Argument::from(&operands[1])], tolerance);
        registry::call(&tensors(&operands), call, site)
    }

    /// Replaces NaN by 0, and the infinities by the greatest and least finite number.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f32> = eval(&[1.0f32, f32::NAN, f32::NEG_INFINITY], |x| x.nan_to_num())?;
    /// assert_eq!(result, [1.0, 0.0, f32::MIN]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nan_to_num(self) -> Tensor {
        let site = Site::caller();
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            graph.nan_to_num(self.expr, 0.0, [None, None], site)
        })
    }

    /// Replaces NaN, infinity and minus infinity by numbers.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 2.0];
    /// let result: Vec<f64> = eval(&values, |x| x.nan_to_num_with(0, 9, -9))?;
    /// assert_eq!(result, [0.0, 9.0, -9.0, 2.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nan_to_num_with(
        self,
        nan: impl Into<f64>,
        infinity: impl Into<f64>,
        minus_infinity: impl Into<f64>,
    ) -> Tensor {
        let (site, nan) = (Site::caller(), nan.into());
        let infinities = [Some(infinity.into()), Some(minus_infinity.into())];
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            graph.nan_to_num(self.expr, nan, infinities, site)
        })
    }
}

macro_rules! aliases {
    ($($alias:ident = $name:ident $operation:literal;)*) => {
        /// Short names for comparisons.
        impl Tensor {
            $(
                #[doc = concat!("Whether `self ", $operation, " other`, element by element: [`Tensor::", stringify!($name), "`].\n", example!($alias))]
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

/// Conversion between dtypes.
impl Tensor {
    /// Converts the elements to another dtype. Floats saturate to integers and NaN becomes 0; integers wrap; a
    /// conversion to bool is `!= 0`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<u8> = eval(&[-1.0f32, 2.9, 300.0, f32::NAN], |x| x.cast::<u8>())?;
    /// assert_eq!(result, [0, 2, 255, 0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("astype"))]
    pub fn cast<T: Element>(self) -> Tensor {
        self.convert(T::DTYPE, Site::caller())
    }

    /// Like [`Tensor::cast`], to a dtype known only when the graph is built.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<bool> = eval(&[0, 1, 2], |x| x.cast_to(DType::Bool))?;
    /// assert_eq!(result, [false, true, true]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    #[doc(alias("astype"))]
    pub fn cast_to(self, dtype: DType) -> Tensor {
        self.convert(dtype, Site::caller())
    }

    fn convert(self, dtype: DType, site: Site) -> Tensor {
        registry::call(&[self], Call::Cast(self.expr, dtype), site)
    }
}

macro_rules! fallible {
    ($($try_name:ident = $name:ident $variant:ident;)*) => {
        /// Forms that return a mistake at once instead of leaving it for `check`.
        impl Tensor {
            $(
                #[doc = concat!("Like [`Tensor::", stringify!($name), "`].\n\n# Errors\nIf the operands do not fit.\n",
                    "```\nuse broadloom::prelude::*;\nlet g = Graph::new();\n",
                    "let x = g.input::<i32>(\"x\", shape![2]);\n",
                    "let y = g.input::<i32>(\"y\", shape![3]);\n",
                    "assert!(x.", stringify!($try_name), "(x).is_ok());\n",
                    "assert!(x.", stringify!($try_name), "(y).is_err());\n",
                    "assert!(g.check().is_ok());\n```")]
                #[track_caller]
                pub fn $try_name(self, other: impl Into<Operand>) -> Result<Tensor, Diagnostics> {
                    attempt(Op::$variant, &[self.into(), other.into()], Site::caller())
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
    try_floor_divide = floor_divide FloorDivide;
    try_remainder = remainder Remainder;
    try_fmod = fmod Fmod;
    try_maximum = maximum Maximum;
    try_minimum = minimum Minimum;
    try_fmax = fmax Fmax;
    try_fmin = fmin Fmin;
    try_pow = pow Pow;
    try_atan2 = atan2 Atan2;
    try_hypot = hypot Hypot;
    try_logaddexp = logaddexp Logaddexp;
    try_copysign = copysign Copysign;
    try_nextafter = nextafter Nextafter;
    try_bitwise_and = bitwise_and BitwiseAnd;
    try_bitwise_or = bitwise_or BitwiseOr;
    try_bitwise_xor = bitwise_xor BitwiseXor;
    try_bitwise_left_shift = bitwise_left_shift BitwiseLeftShift;
    try_bitwise_right_shift = bitwise_right_shift BitwiseRightShift;
    try_equal = equal Equal;
    try_not_equal = not_equal NotEqual;
    try_less = less Less;
    try_less_equal = less_equal LessEqual;
    try_greater = greater Greater;
    try_greater_equal = greater_equal GreaterEqual;
    try_logical_and = logical_and LogicalAnd;
    try_logical_or = logical_or LogicalOr;
    try_logical_xor = logical_xor LogicalXor;
}

fn attempt(op: Op, operands: &[Operand], site: Site) -> Result<Tensor, Diagnostics> {
    let (tensors, call) = (tensors(operands), Call::elementwise(op, operands));
    registry::attempt(registry::home(&tensors), &tensors, site, |graph, _| call.apply(graph, site))
}
