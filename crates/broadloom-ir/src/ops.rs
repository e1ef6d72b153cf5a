//! The table of elementwise ops: one row holds everything that is known about an op.
//!
//! ```text
//! /// doc line
//! name = Variant(operands): Domain -> Result { class: meaning, .. } tile Function by |r| [derivative, ..]
//! ```
//!
//! The row generates the [`Op`] enum, its name and type rule, constant folding, the reference interpreter, and the
//! scalar function that compiled code may call. Shapes need no column: every op in the table broadcasts its
//! operands. The classes that a row defines are the types that it accepts.
//!
//! `Domain` determines the conversion of the operands:
//!
//! | domain | operands become |
//! | --- | --- |
//! | `Number` | their common promoted dtype |
//! | `Arithmetic` | the same, where bool becomes `i8`, as in NumPy |
//! | `Real` | a float: their common dtype, or the widest function float of integers ([`DType::function_float`]) |
//! | `Quotient` | a float: themselves, or `f64` for any integer |
//! | `Logical` | bool, by `!= 0` |
//!
//! `Result` is `Same` (the dtype of the converted operands), `Bool` or `Count` (`u8`). A meaning for `float` covers
//! `f32` and `f64`; the 16-bit floats are computed in `f32`, and the result is rounded. In a meaning, `L` is the
//! numerics [`Level`] that the elementary functions depend on. These have a [`Function`] of the same meaning, named
//! after `tile`, which computes whole rows.

#[macro_use]
mod table;

use crate::dtype::{Class, DType, Element, Scalar};
use crate::integer::Integer;
use crate::partial::Derivative::{self, Flat, Undefined};
use crate::partial::{
    INV_SQRT_2PI, Partial, both, by_base, by_exponent, loses, loses_over_nan, over_square, share, tanh_gelu,
    wins, wins_over_nan,
};
use broadloom_math::{Function, Fused, Level, Precision, Real, Unfused};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10, PI};

/// The conversion of an op's operands before it applies. See the module documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// Converts to their common promoted dtype.
    Number,
    /// Converts to their common promoted dtype, and bool to `i8`, as in NumPy.
    Arithmetic,
    /// Converts to a float; integers alone become the widest of their function floats.
    Real,
    /// Converts to a float; integers become `f64`.
    Quotient,
    /// Converts to bool, by `!= 0`.
    Logical,
}

/// The dtype of an op's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultRule {
    /// The dtype of the converted operands.
    Same,
    /// Bool.
    Bool,
    /// `u8`, for a number of bits.
    Count,
}

/// The scalar function of a row at one dtype and level, as compiled code calls it: with the C calling convention,
/// and one parameter per operand, of the operands' dtype.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReferenceFn {
    /// The address of the function.
    pub address: usize,
    /// The number of parameters, each of the operands' dtype.
    pub arity: usize,
    /// The dtype of the parameters.
    pub operand: DType,
    /// The dtype of the result.
    pub result: DType,
}

/// Returns false for any value: integers are neither infinite nor NaN.
fn never<T>(_: T) -> bool {
    false
}

macro_rules! result_type {
    (Same, $t:ty) => {
        $t
    };
    (Bool, $t:ty) => {
        bool
    };
    (Count, $t:ty) => {
        u8
    };
}

macro_rules! class_functions {
    (bool, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_bool: bool);
    };
    (int, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_i8: i8, f_i16: i16, f_i32: i32, f_i64: i64);
        class_functions!(@each $rule, $operands, $meaning, f_u8: u8, f_u16: u16, f_u32: u32, f_u64: u64);
    };
    (float, $rule:ident, $operands:tt, $meaning:expr) => {
        class_functions!(@each $rule, $operands, $meaning, f_f32: f32, f_f64: f64);
        class_functions!(@half $rule, $operands, f_f16: half::f16);
        class_functions!(@half $rule, $operands, f_bf16: half::bf16);
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
    // A 16-bit float computes in f32; only a result of its own dtype is rounded.
    (@half Same, ($($operand:ident),*), $f:ident: $t:ty) => {
        pub extern "C" fn $f<L: Level>($($operand: $t),*) -> $t {
            <$t>::from_f32(f_f32::<L>($($operand.to_f32()),*))
        }
    };
    (@half $rule:ident, ($($operand:ident),*), $f:ident: $t:ty) => {
        pub extern "C" fn $f<L: Level>($($operand: $t),*) -> result_type!($rule, $t) {
            f_f32::<L>($($operand.to_f32()),*)
        }
    };
}

/// Passes the row's function at the dtype to the visitor, if the row defines the class of the dtype.
macro_rules! visit_class {
    (bool, $($rest:tt)*) => { visit_class!(@each $($rest)*, Bool f_bool bool) };
    (int, $($rest:tt)*) => {
        visit_class!(@each $($rest)*, I8 f_i8 i8, I16 f_i16 i16, I32 f_i32 i32, I64 f_i64 i64,
            U8 f_u8 u8, U16 f_u16 u16, U32 f_u32 u32, U64 f_u64 u64)
    };
    (float, $($rest:tt)*) => {
        visit_class!(@each $($rest)*, F16 f_f16 half::f16, Bf16 f_bf16 half::bf16, F32 f_f32 f32, F64 f_f64 f64)
    };
    (@each $name:ident, $operands:tt, $level:ty, $dtype:ident, $visitor:ident, $($variant:ident $f:ident $t:ty),*) => {
        $(if $dtype == DType::$variant {
            return Some($visitor.visit(pointer!(rows::$name::$f::<$level>, $operands, $t)));
        })*
    };
}

/// Converts a function item to the pointer type for its number of operands.
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
        { $($class:ident: $meaning:expr),* } $(tile $tile:ident)?
        by |$result:pat_param| [$($partial:expr),*])*) => {
        /// An elementwise op: a row of the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Op {
            /// Every op, in the order of the table.
            pub const ALL: &'static [Op] = &[$(Op::$variant),*];

            /// Returns the name in the text language, in dumps and in messages.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => stringify!($name),)* }
            }

            /// Returns the description of the op: the doc line of its row.
            pub fn doc(self) -> &'static str {
                match self { $(Op::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            /// Returns the names of the operands, in order.
            pub fn operands(self) -> &'static [&'static str] {
                match self { $(Op::$variant => operand_names!($operands),)* }
            }

            /// Returns the conversion that the operands undergo first.
            pub fn domain(self) -> Domain {
                match self { $(Op::$variant => Domain::$domain,)* }
            }

            /// Returns the rule for the dtype of the result.
            pub fn result_rule(self) -> ResultRule {
                match self { $(Op::$variant => ResultRule::$rule,)* }
            }

            /// Returns whether the row defines a meaning for the class.
            pub fn accepts(self, class: Class) -> bool {
                match self { $(Op::$variant => [$(class_name!($class)),*].contains(&class),)* }
            }

            /// Returns the derivative by an operand, in terms of the operands and the result. `None` if there is no such operand.
            #[allow(unused_variables, reason = "each row uses some of its operands")]
            pub fn derivative<T: Partial>(self, by: usize, of: &[T], result: T) -> Option<Derivative<T>> {
                match self {
                    $(Op::$variant => {
                        let $result = result;
                        let &operands!($operands) = of else { return None };
                        let all: &[&dyn Fn() -> Derivative<T>] = &[$(&|| Derivative::from($partial)),*];
                        all.get(by).map(|derivative| derivative())
                    })*
                }
            }

            /// Returns the derivatives by all operands as the table states them.
            pub fn derivatives(self) -> &'static [&'static str] {
                match self { $(Op::$variant => &[$(stringify!($partial)),*],)* }
            }

            fn function(self) -> Option<Function> {
                match self { $(Op::$variant => tile!($($tile)?),)* }
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
                use super::super::{Integer, Level, Real, never};
                $(class_functions!($class, $rule, $operands, $meaning);)*
            })*
        }
    };
}

macro_rules! tile {
    () => {
        None
    };
    ($tile:ident) => {
        Some(Function::$tile)
    };
}

macro_rules! operands {
    (($($operand:ident),*)) => { [$($operand),*] };
}

macro_rules! operand_names {
    (($($operand:ident),*)) => { &[$(stringify!($operand)),*] };
}

for_each_op!(define_ops);

/// Receives the function of a row as a typed pointer.
trait Visitor {
    type Output;
    fn visit<F: Reference>(self, function: F) -> Self::Output;
}

/// The function of a row: any number of operands of one dtype.
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
    /// Returns the number of operands.
    pub fn arity(self) -> usize {
        self.operands().len()
    }

    /// Returns the op with a name of the table.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Returns whether an op may combine elements at positions with values in turn: see [`Node::Scatter`](crate::graph::Node).
    pub fn accumulates(self) -> bool {
        use Op::*;
        matches!(self, Add | Subtract | Multiply | Divide | Minimum | Maximum)
    }

    /// Returns the dtype to which operands of these dtypes are converted, or `None` if the op is not defined on
    /// them.
    pub fn operand_dtype(self, operands: &[DType]) -> Option<DType> {
        let common = DType::promote_all(operands.iter().copied())?;
        let converted = match self.domain() {
            Domain::Arithmetic if common == DType::Bool => DType::I8,
            Domain::Number | Domain::Arithmetic => common,
            Domain::Real if common.is_float() => common,
            // Promote each dtype alone: `i16` and `u16` are both exact in `f32`, unlike the `i32` that holds both.
            Domain::Real => DType::promote_all(operands.iter().map(|dtype| dtype.function_float()))?,
            Domain::Quotient if common.is_float() => common,
            Domain::Quotient => DType::F64,
            Domain::Logical => DType::Bool,
        };
        self.accepts(converted.class()).then_some(converted)
    }

    /// Returns the dtype of the result for converted operands of dtype `operand`.
    pub fn result_dtype(self, operand: DType) -> DType {
        match self.result_rule() {
            ResultRule::Same => operand,
            ResultRule::Bool => DType::Bool,
            ResultRule::Count => DType::U8,
        }
    }

    /// Evaluates the row on converted operands; `fused` is the numerics level of the elementary functions. Returns
    /// `None` if the number or the dtypes of the operands do not match the row.
    pub fn evaluate(self, fused: bool, operands: &[Scalar]) -> Option<Scalar> {
        let dtype = operands.first()?.dtype();
        match fused {
            true => self.visit::<Fused, _>(dtype, Call(operands)),
            false => self.visit::<Unfused, _>(dtype, Call(operands)),
        }?
    }

    /// Returns the value of the op on constants while the graph is built: `None` if it is an error, or if its bits
    /// depend on the numerics level, which is chosen later.
    pub fn folded(self, operands: &[Scalar]) -> Option<Scalar> {
        if self.can_fail(operands.first()?.dtype()) && self.fails(operands) {
            return None;
        }
        let value = self.evaluate(false, operands)?;
        value.same(self.evaluate(true, operands)?).then_some(value)
    }

    /// Returns the function behind [`Op::evaluate`] for converted operands of dtype `operand`.
    pub fn reference_fn(self, fused: bool, operand: DType) -> Option<ReferenceFn> {
        match fused {
            true => self.visit::<Fused, _>(operand, Describe),
            false => self.visit::<Unfused, _>(operand, Describe),
        }
    }

    /// Returns the tile function that computes whole rows of the op on operands of a dtype, if there is one.
    pub fn tile(self, operand: DType) -> Option<(Function, Precision)> {
        let precision = match operand {
            DType::F32 => Precision::F32,
            DType::F64 => Precision::F64,
            _ => return None,
        };
        Some((self.function()?, precision))
    }

    /// Returns whether the op compares two numbers.
    pub fn is_comparison(self) -> bool {
        matches!(self, Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual | Op::Greater | Op::GreaterEqual)
    }

    /// Returns whether exchanging the operands keeps the bits of the result. All NaNs count as one.
    pub fn is_commutative(self) -> bool {
        matches!(
            self,
            Op::Add
                | Op::Multiply
                | Op::Maximum
                | Op::Minimum
                | Op::Fmax
                | Op::Fmin
                | Op::BitwiseAnd
                | Op::BitwiseOr
                | Op::BitwiseXor
                | Op::LogicalAnd
                | Op::LogicalOr
                | Op::LogicalXor
                | Op::Equal
                | Op::NotEqual
        )
    }

    /// Returns whether some operands of this dtype have no result and are reported at run time: the negative
    /// exponents of integer `pow`.
    pub fn can_fail(self, operand: DType) -> bool {
        self == Op::Pow && operand.is_signed_integer()
    }

    /// Returns whether these operands have no result. Only for ops that [can fail](Op::can_fail).
    pub fn fails(self, operands: &[Scalar]) -> bool {
        self == Op::Pow && matches!(operands, [_, exponent] if exponent.is_negative_integer())
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
