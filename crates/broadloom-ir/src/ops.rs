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

use crate::dtype::{Class, DType, Element, Scalar};
use crate::integer::Integer;
use crate::partial::Derivative::{self, Flat, Undefined};
use crate::partial::{
    INV_SQRT_2PI, Partial, both, by_base, by_exponent, loses, loses_over_nan, over_square, share, tanh_gelu,
    wins, wins_over_nan,
};
use broadloom_math::{Function, Fused, Level, Precision, Real, Unfused};
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, LN_10, PI};

/// Calls a macro with all rows of the op table. See the module documentation for the grammar of a row.
#[macro_export]
macro_rules! for_each_op {
    ($callback:ident) => {
        $callback! {
            /// Sum. Integers wrap; bool computes `or`, as in NumPy.
            add = Add(x, y): Number -> Same { bool: x | y, int: x.wrapping_add(y), float: x + y }
                by |_| [1.0, 1.0]
            /// Difference. Integers wrap; bool is not supported, as in NumPy.
            subtract = Subtract(x, y): Number -> Same { int: x.wrapping_sub(y), float: x - y }
                by |_| [1.0, -1.0]
            /// Product. Integers wrap; bool computes `and`, as in NumPy.
            multiply = Multiply(x, y): Number -> Same { bool: x & y, int: x.wrapping_mul(y), float: x * y }
                by |_| [y, x]
            /// Quotient. Integers of any width are divided as `f64`.
            divide = Divide(x, y): Quotient -> Same { float: x / y }
                by |r| [y.recip(), -r / y]
            /// Quotient rounded down. For integers, division by zero gives 0, and the least integer divided by -1
            /// gives itself.
            floor_divide = FloorDivide(x, y): Arithmetic -> Same { int: x.floor_quotient(y), float: Real::floor_divide::<L>(x, y) } tile FloorDivide
                by |_| [Flat, Flat]
            /// Remainder of the quotient rounded down, with the sign of `y`. For integers, a zero divisor gives 0.
            remainder = Remainder(x, y): Arithmetic -> Same { int: x.floor_remainder(y), float: Real::remainder::<L>(x, y) } tile Remainder
                by |_| [1.0, -x.floor_divide(y)]
            /// Remainder of the quotient rounded toward zero, with the sign of `x`. For integers, a zero divisor
            /// gives 0.
            fmod = Fmod(x, y): Arithmetic -> Same { int: x.truncated_remainder(y), float: Real::fmod::<L>(x, y) } tile Fmod
                by |r| [1.0, (r - x) / y]
            /// Negation. Integers wrap; bool is not supported, as in NumPy.
            negative = Negative(x): Number -> Same { int: x.wrapping_neg(), float: -x }
                by |_| [-1.0]
            /// `x` itself; bool is not supported, as in NumPy.
            positive = Positive(x): Number -> Same { int: x, float: x }
                by |_| [1.0]
            /// Absolute value. The least signed integer wraps to itself.
            abs = Abs(x): Number -> Same { bool: x, int: x.magnitude(), float: x.abs() }
                by |_| [x.sign()]
            /// Sign of `x`: -1, 0 or 1; NaN for NaN.
            sign = Sign(x): Number -> Same { int: x.sign(), float: Real::sign(x) }
                by |_| [Flat]
            /// Square, `x * x`. Integers wrap.
            square = Square(x): Arithmetic -> Same { int: x.wrapping_mul(x), float: x * x }
                by |_| [x * 2.0]
            /// Square root; NaN for negative `x`.
            sqrt = Sqrt(x): Real -> Same { float: x.sqrt() }
                by |r| [(r * 2.0).recip()]
            /// Reciprocal square root, `1 / sqrt(x)`, rounded twice; NaN for negative `x`.
            rsqrt = Rsqrt(x): Real -> Same { float: 1.0 / x.sqrt() }
                by |r| [-r / (x * 2.0)]
            /// Cube root.
            cbrt = Cbrt(x): Real -> Same { float: Real::cbrt::<L>(x) } tile Cbrt
                by |r| [(r * r * 3.0).recip()]
            /// Reciprocal, `1 / x`, of a float.
            reciprocal = Reciprocal(x): Real -> Same { float: 1.0 / x }
                by |r| [-r * r]
            /// Exponential function.
            exp = Exp(x): Real -> Same { float: Real::exp::<L>(x) } tile Exp
                by |r| [r]
            /// Two to the power `x`.
            exp2 = Exp2(x): Real -> Same { float: Real::exp2::<L>(x) } tile Exp2
                by |r| [r * LN_2]
            /// `exp(x) - 1`, accurate near zero.
            expm1 = Expm1(x): Real -> Same { float: Real::expm1::<L>(x) } tile Expm1
                by |_| [x.exp()]
            /// Natural logarithm; NaN for negative `x`, minus infinity for zero.
            log = Log(x): Real -> Same { float: Real::log::<L>(x) } tile Log
                by |_| [x.recip().within(x.at_least(0.0))]
            /// Binary logarithm; NaN for negative `x`, minus infinity for zero.
            log2 = Log2(x): Real -> Same { float: Real::log2::<L>(x) } tile Log2
                by |_| [(x * LN_2).recip().within(x.at_least(0.0))]
            /// Decimal logarithm; NaN for negative `x`, minus infinity for zero.
            log10 = Log10(x): Real -> Same { float: Real::log10::<L>(x) } tile Log10
                by |_| [(x * LN_10).recip().within(x.at_least(0.0))]
            /// `log(1 + x)`, accurate near zero; NaN below -1, minus infinity for -1.
            log1p = Log1p(x): Real -> Same { float: Real::log1p::<L>(x) } tile Log1p
                by |_| [(x + 1.0).recip().within(x.at_least(-1.0))]
            /// `log(exp(x) + exp(y))` without overflow.
            logaddexp = Logaddexp(x, y): Real -> Same { float: Real::logaddexp::<L>(x, y) } tile Logaddexp
                by |_| [share(x, y, x - y), share(y, x, y - x)]
            /// Sine of `x` in radians; NaN for infinite `x`.
            sin = Sin(x): Real -> Same { float: Real::sin::<L>(x) } tile Sin
                by |_| [x.cos()]
            /// Cosine of `x` in radians; NaN for infinite `x`.
            cos = Cos(x): Real -> Same { float: Real::cos::<L>(x) } tile Cos
                by |_| [-x.sin()]
            /// Tangent of `x` in radians; NaN for infinite `x`.
            tan = Tan(x): Real -> Same { float: Real::tan::<L>(x) } tile Tan
                by |r| [r * r + 1.0]
            /// Inverse sine in radians, from -pi/2 to pi/2; NaN outside -1 to 1.
            asin = Asin(x): Real -> Same { float: Real::asin::<L>(x) } tile Asin
                by |_| [((x + 1.0) * (-x + 1.0)).sqrt().recip()]
            /// Inverse cosine in radians, from 0 to pi; NaN outside -1 to 1.
            acos = Acos(x): Real -> Same { float: Real::acos::<L>(x) } tile Acos
                by |_| [-((x + 1.0) * (-x + 1.0)).sqrt().recip()]
            /// Inverse tangent in radians, from -pi/2 to pi/2.
            atan = Atan(x): Real -> Same { float: Real::atan::<L>(x) } tile Atan
                by |_| [(x * x + 1.0).recip()]
            /// Angle of the point with ordinate `x` (the first operand) and abscissa `y`, in radians from -pi to
            /// pi.
            atan2 = Atan2(x, y): Real -> Same { float: Real::atan2::<L>(x, y) } tile Atan2
                by |_| [over_square(y, x.hypot(y)), over_square(-x, x.hypot(y))]
            /// Length of the vector `(x, y)`, without intermediate overflow.
            hypot = Hypot(x, y): Real -> Same { float: Real::hypot::<L>(x, y) } tile Hypot
                by |r| [(x / r).unless_zero(r), (y / r).unless_zero(r)]
            /// Hyperbolic sine.
            sinh = Sinh(x): Real -> Same { float: Real::sinh::<L>(x) } tile Sinh
                by |_| [x.cosh()]
            /// Hyperbolic cosine.
            cosh = Cosh(x): Real -> Same { float: Real::cosh::<L>(x) } tile Cosh
                by |_| [x.sinh()]
            /// Hyperbolic tangent.
            tanh = Tanh(x): Real -> Same { float: Real::tanh::<L>(x) } tile Tanh
                by |r| [(r + 1.0) * (-r + 1.0)]
            /// Inverse hyperbolic sine.
            asinh = Asinh(x): Real -> Same { float: Real::asinh::<L>(x) } tile Asinh
                by |_| [x.hypot(x.number(1.0)).recip()]
            /// Inverse hyperbolic cosine; NaN below 1.
            acosh = Acosh(x): Real -> Same { float: Real::acosh::<L>(x) } tile Acosh
                by |_| [((x - 1.0).sqrt() * (x + 1.0).sqrt()).recip()]
            /// Inverse hyperbolic tangent; NaN outside -1 to 1.
            atanh = Atanh(x): Real -> Same { float: Real::atanh::<L>(x) } tile Atanh
                by |_| [((x + 1.0) * (-x + 1.0)).recip().within(x.at_least(-1.0) & x.at_most(1.0))]
            /// Error function.
            erf = Erf(x): Real -> Same { float: Real::erf::<L>(x) } tile Erf
                by |_| [(-x * x).exp() * FRAC_2_SQRT_PI]
            /// Complementary error function, `1 - erf(x)`, accurate for large `x`.
            erfc = Erfc(x): Real -> Same { float: Real::erfc::<L>(x) } tile Erfc
                by |_| [-(-x * x).exp() * FRAC_2_SQRT_PI]
            /// Logistic function, `1 / (1 + exp(-x))`.
            sigmoid = Sigmoid(x): Real -> Same { float: Real::sigmoid::<L>(x) } tile Sigmoid
                by |r| [r * (-r + 1.0)]
            /// `log(1 + exp(x))` without overflow.
            softplus = Softplus(x): Real -> Same { float: Real::softplus::<L>(x) } tile Softplus
                by |_| [x.sigmoid()]
            /// `x * sigmoid(x)`.
            silu = Silu(x): Real -> Same { float: Real::silu::<L>(x) } tile Silu
                by |r| [x.sigmoid() + r * (-x).sigmoid()]
            /// `x` times the normal cumulative distribution function, `x / 2 * erfc(-x / sqrt(2))`.
            gelu = Gelu(x): Real -> Same { float: Real::gelu::<L>(x) } tile Gelu
                by |_| [(x * -FRAC_1_SQRT_2).erfc() * 0.5 + x * (x * x * -0.5).exp() * INV_SQRT_2PI]
            /// The tanh approximation of `gelu`.
            gelu_tanh = GeluTanh(x): Real -> Same { float: Real::gelu_tanh::<L>(x) } tile GeluTanh
                by |_| [tanh_gelu(x)]
            /// Greater of two values. If either is NaN, the result is NaN; -0 is less than +0.
            maximum = Maximum(x, y): Number -> Same { bool: x | y, int: x.max(y), float: Real::maximum(x, y) }
                by |_| [wins(x, y), wins(y, x)]
            /// Lesser of two values. If either is NaN, the result is NaN; -0 is less than +0.
            minimum = Minimum(x, y): Number -> Same { bool: x & y, int: x.min(y), float: Real::minimum(x, y) }
                by |_| [loses(x, y), loses(y, x)]
            /// Greater of two values; a NaN is ignored if the other is a number; -0 is less than +0.
            fmax = Fmax(x, y): Number -> Same { bool: x | y, int: x.max(y), float: Real::fmax(x, y) }
                by |_| [wins_over_nan(x, y), wins_over_nan(y, x)]
            /// Lesser of two values; a NaN is ignored if the other is a number; -0 is less than +0.
            fmin = Fmin(x, y): Number -> Same { bool: x & y, int: x.min(y), float: Real::fmin(x, y) }
                by |_| [loses_over_nan(x, y), loses_over_nan(y, x)]
            /// `x` limited to `low..=high`: `minimum(maximum(x, low), high)`.
            clip = Clip(x, low, high): Number -> Same {
                bool: (x | low) & high,
                int: x.max(low).min(high),
                float: Real::minimum(Real::maximum(x, low), high)
            }
                by |_| [
                    both(wins(x, low), loses(x.maximum(low), high)),
                    both(wins(low, x), loses(x.maximum(low), high)),
                    loses(high, x.maximum(low))
                ]
            /// `x` where it is positive, 0 elsewhere; NaN for NaN.
            relu = Relu(x): Number -> Same { int: x.max(0), float: Real::maximum(x, 0.0) }
                by |_| [wins(x, x.number(0.0))]
            /// `x` to the power `y`. Integers wrap, and a negative integer exponent is an error.
            pow = Pow(x, y): Arithmetic -> Same { int: x.power(y), float: Real::pow::<L>(x, y) } tile Pow
                by |r| [by_base(x, y), by_exponent(x, y, r)]
            /// Greatest integer not greater than `x`.
            floor = Floor(x): Number -> Same { bool: x, int: x, float: x.floor() }
                by |_| [Flat]
            /// Least integer not less than `x`.
            ceil = Ceil(x): Number -> Same { bool: x, int: x, float: x.ceil() }
                by |_| [Flat]
            /// Integer part of `x`, toward zero.
            trunc = Trunc(x): Number -> Same { bool: x, int: x, float: x.trunc() }
                by |_| [Flat]
            /// Nearest integer; halves round to even.
            round = Round(x): Number -> Same { int: x, float: x.round_ties_even() }
                by |_| [Flat]
            /// `x * y + z` with a single rounding.
            fma = Fma(x, y, z): Real -> Same { float: x.mul_add(y, z) }
                by |_| [y, x, 1.0]
            /// `x` with the sign of `y`. A NaN counts as positive, because the sign of a NaN result is unspecified.
            copysign = Copysign(x, y): Real -> Same { float: if y.is_nan() { x.abs() } else { x.copysign(y) } }
                by |_| [x.sign() * x.number(1.0).copysign(y), Flat]
            /// The next float after `x` in the direction of `y`, in their dtype.
            nextafter = Nextafter(x, y): Real -> Same { float: Real::nextafter(x, y) }
                by |_| [Flat, Flat]
            /// Converts degrees to radians, `x * (pi / 180)`.
            deg2rad = Deg2rad(x): Real -> Same { float: Real::deg2rad(x) }
                by |_| [PI / 180.0]
            /// Converts radians to degrees, `x * (180 / pi)`.
            rad2deg = Rad2deg(x): Real -> Same { float: Real::rad2deg(x) }
                by |_| [180.0 / PI]
            /// `x` as a constant for derivatives: nothing is derived through it.
            stop_gradient = StopGradient(x): Number -> Same { bool: x, int: x, float: x }
                by |_| [Flat]
            /// `x` with the derivatives of `y`: `with_gradient(round(x), x)` rounds, and derives as if it did not.
            with_gradient = WithGradient(x, y): Number -> Same { bool: { _ = y; x }, int: { _ = y; x }, float: { _ = y; x } }
                by |_| [Flat, 1.0]
            /// Bits set in both operands. bool computes `and`.
            bitwise_and = BitwiseAnd(x, y): Number -> Same { bool: x & y, int: x & y }
                by |_| [Undefined, Undefined]
            /// Bits set in either operand. bool computes `or`.
            bitwise_or = BitwiseOr(x, y): Number -> Same { bool: x | y, int: x | y }
                by |_| [Undefined, Undefined]
            /// Bits set in exactly one operand. bool computes `!=`.
            bitwise_xor = BitwiseXor(x, y): Number -> Same { bool: x ^ y, int: x ^ y }
                by |_| [Undefined, Undefined]
            /// Greatest common divisor of the magnitudes; 0 if both are zero.
            gcd = Gcd(x, y): Number -> Same { int: x.greatest_divisor(y) }
                by |_| [Undefined, Undefined]
            /// Least common multiple of the magnitudes, which wraps; 0 if one is zero.
            lcm = Lcm(x, y): Number -> Same { int: x.least_multiple(y) }
                by |_| [Undefined, Undefined]
            /// All bits flipped. bool computes `not`.
            bitwise_invert = BitwiseInvert(x): Number -> Same { bool: !x, int: !x }
                by |_| [Undefined]
            /// `x` shifted left by `y` bits; 0 if `y` is negative or not less than the width.
            bitwise_left_shift = BitwiseLeftShift(x, y): Arithmetic -> Same { int: x.shift_left(y) }
                by |_| [Undefined, Undefined]
            /// `x` shifted right by `y` bits, arithmetically if signed. If `y` is negative or not less than the
            /// width, the result is 0, or -1 for a negative `x`.
            bitwise_right_shift = BitwiseRightShift(x, y): Arithmetic -> Same { int: x.shift_right(y) }
                by |_| [Undefined, Undefined]
            /// Number of bits set (in the magnitude of a negative number); 1 or 0 for bool.
            count_ones = CountOnes(x): Number -> Count { bool: u8::from(x), int: x.ones() }
                by |_| [Undefined]
            /// Number of zero bits above the highest set bit.
            leading_zeros = LeadingZeros(x): Number -> Count { int: x.leading_zeros() as u8 }
                by |_| [Undefined]
            /// Whether `x` is NaN.
            isnan = Isnan(x): Number -> Bool { bool: never(x), int: never(x), float: x.is_nan() }
                by |_| [Flat]
            /// Whether `x` is infinite.
            isinf = Isinf(x): Number -> Bool { bool: never(x), int: never(x), float: x.is_infinite() }
                by |_| [Flat]
            /// Whether `x` is neither infinite nor NaN.
            isfinite = Isfinite(x): Number -> Bool { bool: !never(x), int: !never(x), float: x.is_finite() }
                by |_| [Flat]
            /// Whether the sign bit of a float is set. A NaN counts as positive, as in `copysign`.
            signbit = Signbit(x): Real -> Bool { float: x.is_sign_negative() && !x.is_nan() }
                by |_| [Flat]
            /// Whether `x == y`. A NaN equals nothing.
            equal = Equal(x, y): Number -> Bool { bool: x == y, int: x == y, float: x == y }
                by |_| [Flat, Flat]
            /// Whether `x != y`. A NaN differs from everything.
            not_equal = NotEqual(x, y): Number -> Bool { bool: x != y, int: x != y, float: x != y }
                by |_| [Flat, Flat]
            /// Whether `x < y`. False if either is NaN.
            less = Less(x, y): Number -> Bool { bool: !x & y, int: x < y, float: x < y }
                by |_| [Flat, Flat]
            /// Whether `x <= y`. False if either is NaN.
            less_equal = LessEqual(x, y): Number -> Bool { bool: !x | y, int: x <= y, float: x <= y }
                by |_| [Flat, Flat]
            /// Whether `x > y`. False if either is NaN.
            greater = Greater(x, y): Number -> Bool { bool: x & !y, int: x > y, float: x > y }
                by |_| [Flat, Flat]
            /// Whether `x >= y`. False if either is NaN.
            greater_equal = GreaterEqual(x, y): Number -> Bool { bool: x | !y, int: x >= y, float: x >= y }
                by |_| [Flat, Flat]
            /// Whether both operands are true (not zero).
            logical_and = LogicalAnd(x, y): Logical -> Bool { bool: x & y }
                by |_| [Undefined, Undefined]
            /// Whether either operand is true (not zero).
            logical_or = LogicalOr(x, y): Logical -> Bool { bool: x | y }
                by |_| [Undefined, Undefined]
            /// Whether exactly one operand is true (not zero).
            logical_xor = LogicalXor(x, y): Logical -> Bool { bool: x ^ y }
                by |_| [Undefined, Undefined]
            /// Whether `x` is false (zero).
            logical_not = LogicalNot(x): Logical -> Bool { bool: !x }
                by |_| [Undefined]
        }
    };
}

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
