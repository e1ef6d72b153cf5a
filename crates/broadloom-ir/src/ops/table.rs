//! The rows. The documentation of [`ops`](crate::ops) has their grammar.

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
