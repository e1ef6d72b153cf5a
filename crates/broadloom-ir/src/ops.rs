//! The table of elementwise ops: one row says everything that is known about an op.
//!
//! ```text
//! /// doc line
//! name = Variant(operands): Domain -> Result { class: meaning, .. }
//! ```
//!
//! From the row come the [`Op`] enum, its name and type rule, constant folding, the reference interpreter, and the
//! scalar function that compiled code may call. Shapes need no column: being in the table means that operands
//! broadcast. The classes that a row defines are the types that it accepts.
//!
//! `Domain` says to what the operands are converted first:
//!
//! | domain | operands become |
//! | --- | --- |
//! | `Number` | their common promoted dtype |
//! | `Real` | a float: themselves, or the function float of an integer ([`DType::function_float`]) |
//! | `Quotient` | a float: themselves, or `f64` for any integer |
//! | `Logical` | bool, by `!= 0` |
//!
//! `Result` is `Same` (the dtype of the converted operands) or `Bool`. In a meaning, `L` is the numerics
//! [`Level`], of which the elementary functions depend.

use crate::dtype::{Class, DType, Element, Scalar};
use broadloom_math::{Fused, Level, Real, Unfused};

/// Calls a macro with all rows of the op table. See the module documentation for the grammar of a row.
#[macro_export]
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
            /// Sum. Integers wrap; on bool it is `or`, as in NumPy.
            add = Add(x, y): Number -> Same { bool: x | y, int: x.wrapping_add(y), float: x + y }
            /// Difference. Integers wrap; not defined on bool, as in NumPy.
            subtract = Subtract(x, y): Number -> Same { int: x.wrapping_sub(y), float: x - y }
            /// Product. Integers wrap; on bool it is `and`, as in NumPy.
            multiply = Multiply(x, y): Number -> Same { bool: x & y, int: x.wrapping_mul(y), float: x * y }
            /// Quotient. Integers of any width are divided as `f64`.
            divide = Divide(x, y): Quotient -> Same { float: x / y }
            /// Negation. Integers wrap; not defined on bool, as in NumPy.
            negative = Negative(x): Number -> Same { int: x.wrapping_neg(), float: -x }
            /// Absolute value. The least signed integer wraps to itself.
            abs = Abs(x): Number -> Same { bool: x, int: x.magnitude(), float: x.abs() }
            /// Square, `x * x`. Integers wrap.
            square = Square(x): Number -> Same { int: x.wrapping_mul(x), float: x * x }
            /// Square root; NaN for negative `x`.
            sqrt = Sqrt(x): Real -> Same { float: x.sqrt() }
            /// Exponential function.
            exp = Exp(x): Real -> Same { float: Real::exp::<L>(x) }
            /// Natural logarithm; NaN for negative `x`, minus infinity for zero.
            log = Log(x): Real -> Same { float: Real::log::<L>(x) }
            /// Sine of `x` in radians; NaN for infinite `x`.
            sin = Sin(x): Real -> Same { float: Real::sin::<L>(x) }
            /// Cosine of `x` in radians; NaN for infinite `x`.
            cos = Cos(x): Real -> Same { float: Real::cos::<L>(x) }
            /// Hyperbolic tangent.
            tanh = Tanh(x): Real -> Same { float: Real::tanh::<L>(x) }
            /// Greater of two values. A NaN on either side gives NaN; -0 is below +0.
            maximum = Maximum(x, y): Number -> Same { bool: x | y, int: x.max(y), float: Real::maximum(x, y) }
            /// Lesser of two values. A NaN on either side gives NaN; -0 is below +0.
            minimum = Minimum(x, y): Number -> Same { bool: x & y, int: x.min(y), float: Real::minimum(x, y) }
            /// `x` to the power `y`. Integers wrap, and a negative integer exponent is an error.
            pow = Pow(x, y): Number -> Same { int: x.power(y), float: Real::pow::<L>(x, y) }
            /// Greatest integer not above `x`.
            floor = Floor(x): Number -> Same { bool: x, int: x, float: x.floor() }
            /// Nearest integer, halves to the even one.
            round = Round(x): Number -> Same { int: x, float: x.round_ties_even() }
            /// `x * y + z` with one rounding.
            fma = Fma(x, y, z): Real -> Same { float: x.mul_add(y, z) }
            /// Whether `x == y`. A NaN equals nothing.
            equal = Equal(x, y): Number -> Bool { bool: x == y, int: x == y, float: x == y }
            /// Whether `x != y`. A NaN differs from everything.
            not_equal = NotEqual(x, y): Number -> Bool { bool: x != y, int: x != y, float: x != y }
            /// Whether `x < y`. False if either is NaN.
            less = Less(x, y): Number -> Bool { bool: !x & y, int: x < y, float: x < y }
            /// Whether `x <= y`. False if either is NaN.
            less_equal = LessEqual(x, y): Number -> Bool { bool: !x | y, int: x <= y, float: x <= y }
            /// Whether `x > y`. False if either is NaN.
            greater = Greater(x, y): Number -> Bool { bool: x & !y, int: x > y, float: x > y }
            /// Whether `x >= y`. False if either is NaN.
            greater_equal = GreaterEqual(x, y): Number -> Bool { bool: x | !y, int: x >= y, float: x >= y }
            /// Whether both are true (not zero).
            logical_and = LogicalAnd(x, y): Logical -> Bool { bool: x & y }
            /// Whether either is true (not zero).
            logical_or = LogicalOr(x, y): Logical -> Bool { bool: x | y }
            /// Whether `x` is false (zero).
            logical_not = LogicalNot(x): Logical -> Bool { bool: !x }
        }
    };
}

/// To what the operands of an op are converted before it applies. See the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Their common promoted dtype.
    Number,
    /// A float; integers become their function float.
    Real,
    /// A float; integers become `f64`.
    Quotient,
    /// Bool, by `!= 0`.
    Logical,
}

/// The dtype of an op's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRule {
    /// That of the converted operands.
    Same,
    /// Bool.
    Bool,
}

/// The integer meanings that the standard library lacks for some type.
trait Integer: Copy {
    fn magnitude(self) -> Self;
    fn power(self, exponent: Self) -> Self;
}

macro_rules! integer {
    ($($t:ty: $magnitude:expr;)*) => {$(
        impl Integer for $t {
            fn magnitude(self) -> Self {
                let magnitude: fn($t) -> $t = $magnitude;
                magnitude(self)
            }

            /// Wrapping power; 0 for a negative exponent, which the caller reports as an error.
            fn power(self, exponent: Self) -> Self {
                let Ok(mut exponent) = u64::try_from(i128::from(exponent)) else { return 0 };
                let (mut base, mut result): ($t, $t) = (self, 1);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                result
            }
        }
    )*};
}
integer! {
    u8: |x| x;
    i32: i32::wrapping_abs;
    i64: i64::wrapping_abs;
}

/// The scalar function of a row at one dtype and level, as compiled code calls it: the C calling convention, one
/// parameter per operand of the operands' dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceFn {
    /// Address of the function.
    pub address: usize,
    /// Number of parameters, each of the operands' dtype.
    pub arity: usize,
    /// Dtype of the parameters.
    pub operand: DType,
    /// Dtype of the result.
    pub result: DType,
}

macro_rules! result_type {
    (Same, $t:ty) => {
        $t
    };
    (Bool, $t:ty) => {
        bool
    };
}

macro_rules! class_functions {
    (bool, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_bool: bool);
    };
    (int, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_u8: u8, f_i32: i32, f_i64: i64);
    };
    (float, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_f32: f32, f_f64: f64);
    };
    (@each $rule:ident, $operands:tt, $meaning:expr, $($f:ident: $t:ty),*) => {
        $(class_functions!(@one $rule, $operands, $meaning, $f, $t);)*
    };
    (@one $rule:ident, ($($operand:ident),*), $meaning:expr, $f:ident, $t:ty) => {
        #[allow(clippy::extra_unused_type_parameters, reason = "exact rows are the same at every level")]
        pub extern "C" fn $f<L: Level>($($operand: $t),*) -> result_type!($rule, $t) {
            $meaning
        }
    };
}

/// Hands the row's function at the dtype to the visitor, if the row defines the class of the dtype.
macro_rules! visit_class {
    (bool, $($rest:tt)*) => { visit_class!(@each $($rest)*, Bool f_bool bool) };
    (int, $($rest:tt)*) => { visit_class!(@each $($rest)*, U8 f_u8 u8, I32 f_i32 i32, I64 f_i64 i64) };
    (float, $($rest:tt)*) => { visit_class!(@each $($rest)*, F32 f_f32 f32, F64 f_f64 f64) };
    (@each $name:ident, $operands:tt, $level:ty, $dtype:ident, $visitor:ident, $($variant:ident $f:ident $t:ty),*) => {
        $(if $dtype == DType::$variant {
            return Some($visitor.visit(pointer!(rows::$name::$f::<$level>, $operands, $t)));
        })*
    };
}

/// A function item as the pointer type that fits its number of operands.
macro_rules! pointer {
    ($function:expr, ($x:ident), $t:ty) => {
        $function as extern "C" fn($t) -> _
    };
    ($function:expr, ($x:ident, $y:ident), $t:ty) => {
        $function as extern "C" fn($t, $t) -> _
    };
    ($function:expr, ($x:ident, $y:ident, $z:ident), $t:ty) => {
        $function as extern "C" fn($t, $t, $t) -> _
    };
}

macro_rules! class_name {
    (bool) => {
        Class::Bool
    };
    (int) => {
        Class::Int
    };
    (float) => {
        Class::Float
    };
}

macro_rules! define_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident $operands:tt: $domain:ident -> $rule:ident
        { $($class:ident: $meaning:expr),* })*) => {
        /// An elementwise op: a row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Op {
            /// Every op, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// The name in the text language, in dumps and in messages.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => stringify!($name),)* }
            }

            /// What the op computes: the doc line of its row.
            pub fn doc(self) -> &'static str {
                match self { $(Op::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            /// Names of the operands, in order.
            pub fn operands(self) -> &'static [&'static str] {
                match self { $(Op::$variant => operand_names!($operands),)* }
            }

            /// To what the operands are converted first.
            pub fn domain(self) -> Domain {
                match self { $(Op::$variant => Domain::$domain,)* }
            }

            /// The rule for the dtype of the result.
            pub fn result_rule(self) -> ResultRule {
                match self { $(Op::$variant => ResultRule::$rule,)* }
            }

            /// Whether the row defines a meaning for the class.
            pub fn accepts(self, class: Class) -> bool {
                match self { $(Op::$variant => [$(class_name!($class)),*].contains(&class),)* }
            }

            fn visit<L: Level, V: Visitor>(self, dtype: DType, visitor: V) -> Option<V::Output> {
                match self {
                    $(Op::$variant => { $(visit_class!($class, $name, $operands, L, dtype, visitor);)* })*
                }
                None
            }
        }

        mod rows {
            $(pub mod $name {
                #[allow(unused_imports, reason = "each row uses some of the traits")]
                use super::super::{Integer, Level, Real};
                $(class_functions!($class, $rule, $operands, $meaning);)*
            })*
        }
    };
}

macro_rules! operand_names {
    (($($operand:ident),*)) => { &[$(stringify!($operand)),*] };
}

for_each_op!(define_ops);

/// Sees the function of a row as a typed pointer.
trait Visitor {
    type Output;
    fn visit<F: Reference>(self, function: F) -> Self::Output;
}

/// A row's function: any number of operands of one dtype.
trait Reference: Copy {
    fn call(self, arguments: &[Scalar]) -> Option<Scalar>;
    fn describe(self) -> ReferenceFn;
}

macro_rules! reference {
    ($($arity:literal: $($index:literal)*;)*) => {$(
        impl<T: Element, R: Element> Reference for extern "C" fn($(reference!(@type $index T)),*) -> R {
            fn call(self, arguments: &[Scalar]) -> Option<Scalar> {
                (arguments.len() == $arity).then_some(())?;
                Some(self($(T::from_scalar(arguments[$index])?),*).into_scalar())
            }

            fn describe(self) -> ReferenceFn {
                ReferenceFn { address: self as usize, arity: $arity, operand: T::DTYPE, result: R::DTYPE }
            }
        }
    )*};
    (@type $index:literal $t:ident) => { $t };
}
reference! {
    1: 0;
    2: 0 1;
    3: 0 1 2;
}

struct Call<'a>(&'a [Scalar]);

impl Visitor for Call<'_> {
    type Output = Option<Scalar>;
    fn visit<F: Reference>(self, function: F) -> Option<Scalar> {
        function.call(self.0)
    }
}

struct Describe;

impl Visitor for Describe {
    type Output = ReferenceFn;
    fn visit<F: Reference>(self, function: F) -> ReferenceFn {
        function.describe()
    }
}

impl Op {
    /// The number of operands.
    pub fn arity(self) -> usize {
        self.operands().len()
    }

    /// The op of a name of the table.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// To what operands of these dtypes are converted, or `None` if the op is not defined on them.
    pub fn operand_dtype(self, operands: &[DType]) -> Option<DType> {
        let common = operands.iter().copied().reduce(DType::promote)?;
        let converted = match self.domain() {
            Domain::Number => common,
            Domain::Real => common.function_float(),
            Domain::Quotient if common.is_float() => common,
            Domain::Quotient => DType::F64,
            Domain::Logical => DType::Bool,
        };
        self.accepts(converted.class()).then_some(converted)
    }

    /// The dtype of the result for converted operands of `operand`.
    pub fn result_dtype(self, operand: DType) -> DType {
        match self.result_rule() {
            ResultRule::Same => operand,
            ResultRule::Bool => DType::Bool,
        }
    }

    /// The meaning of the row on converted operands; `fused` is the numerics level of the elementary functions.
    /// `None` if the number or the dtypes of the operands are not the row's.
    pub fn evaluate(self, fused: bool, operands: &[Scalar]) -> Option<Scalar> {
        let dtype = operands.first()?.dtype();
        match fused {
            true => self.visit::<Fused, _>(dtype, Call(operands)),
            false => self.visit::<Unfused, _>(dtype, Call(operands)),
        }?
    }

    /// The function behind [`Op::evaluate`] for converted operands of `operand`.
    pub fn reference_fn(self, fused: bool, operand: DType) -> Option<ReferenceFn> {
        match fused {
            true => self.visit::<Fused, _>(operand, Describe),
            false => self.visit::<Unfused, _>(operand, Describe),
        }
    }

    /// Whether some operands of this dtype have no result and are reported when met: the negative exponents of
    /// integer `pow`.
    pub fn can_fail(self, operand: DType) -> bool {
        self == Op::Pow && operand.class() == Class::Int && operand != DType::U8
    }

    /// Whether these operands have no result. Only for ops that [can fail](Op::can_fail).
    pub fn fails(self, operands: &[Scalar]) -> bool {
        match (self, operands) {
            (Op::Pow, [_, Scalar::I32(exponent)]) => *exponent < 0,
            (Op::Pow, [_, Scalar::I64(exponent)]) => *exponent < 0,
            _ => false,
        }
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
