//! The language in which the op table states partial derivatives: expressions in the operands and the result of a row.
//!
//! A row states one [`Derivative`] for each operand. The graph reads them as expressions, tests as numbers.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

/// An operand, a result or a derivative.
pub trait Partial:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// What a comparison results in.
    type Condition: Copy
        + BitAnd<Output = Self::Condition>
        + BitOr<Output = Self::Condition>
        + Not<Output = Self::Condition>;

    /// A number beside this value.
    fn number(self, value: f64) -> Self;
    /// Exponential function.
    fn exp(self) -> Self;
    /// Two to the power of this.
    fn exp2(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Logistic function.
    fn sigmoid(self) -> Self;
    /// Complementary error function.
    fn erfc(self) -> Self;
    /// Sign: -1, 0 or 1.
    fn sign(self) -> Self;
    /// Integer part, toward zero.
    fn trunc(self) -> Self;
    /// The greater of two values.
    fn maximum(self, other: Self) -> Self;
    /// This to the power of another value.
    fn pow(self, exponent: Self) -> Self;
    /// The length of a vector.
    fn hypot(self, other: Self) -> Self;
    /// This with the sign of another value.
    fn copysign(self, sign: Self) -> Self;
    /// The quotient rounded down.
    fn floor_divide(self, divisor: Self) -> Self;
    /// Whether this is less than another value.
    fn less(self, other: Self) -> Self::Condition;
    /// Whether two values are equal.
    fn equal(self, other: Self) -> Self::Condition;
    /// Whether the value is the same number for all elements, known when the graph is built.
    fn is_constant(self) -> bool;
    /// One value where a condition holds, and another elsewhere.
    fn select(condition: Self::Condition, on_true: Self, on_false: Self) -> Self;

    /// This where a condition holds, and NaN elsewhere: outside of a function's domain.
    fn within(self, domain: Self::Condition) -> Self {
        Self::select(domain, self, self.number(f64::NAN))
    }

    /// Whether this is not less than a number; true for NaN.
    fn at_least(self, least: f64) -> Self::Condition {
        !self.less(self.number(least))
    }

    /// Whether this is not greater than a number; true for NaN.
    fn at_most(self, most: f64) -> Self::Condition {
        !self.number(most).less(self)
    }

    /// This, and 0 where another value is 0.
    fn unless_zero(self, other: Self) -> Self {
        Self::select(other.equal(other.number(0.0)), self.number(0.0), self)
    }

    /// The reciprocal.
    fn recip(self) -> Self {
        self.number(1.0) / self
    }
}

/// The derivative of a row by one of its operands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Derivative<T: Partial> {
    /// Zero wherever there is one: the result is constant between its steps.
    Flat,
    /// The row takes no floats.
    Undefined,
    /// The same number everywhere.
    Number(f64),
    /// A value.
    Value(T),
    /// A value where a condition holds. Elsewhere it is 0, whatever the value is there.
    Where(T::Condition, T),
}

impl<T: Partial> From<f64> for Derivative<T> {
    fn from(number: f64) -> Self {
        Derivative::Number(number)
    }
}

impl<T: Partial> From<T> for Derivative<T> {
    fn from(value: T) -> Self {
        Derivative::Value(value)
    }
}

/// 1 where `x` is greater than `y`: where they are equal, the two share it. A constant has no share. Where either is NaN,
/// so is the greater of them, and both count.
pub(crate) fn wins<T: Partial>(x: T, y: T) -> Derivative<T> {
    if y.is_constant() {
        return Derivative::Where(!(x.less(y) | x.equal(y)), x.number(1.0));
    }
    Derivative::Where(!x.less(y), T::select(x.equal(y), x.number(0.5), x.number(1.0)))
}

/// 1 where `x` is less than `y`, as [`wins`].
pub(crate) fn loses<T: Partial>(x: T, y: T) -> Derivative<T> {
    if y.is_constant() {
        return Derivative::Where(!(y.less(x) | x.equal(y)), x.number(1.0));
    }
    Derivative::Where(!y.less(x), T::select(x.equal(y), x.number(0.5), x.number(1.0)))
}

/// Like [`wins`], where a NaN never wins over a number.
pub(crate) fn wins_over_nan<T: Partial>(x: T, y: T) -> Derivative<T> {
    only(x.equal(x), wins(x, y))
}

/// Like [`loses`], where a NaN never wins over a number.
pub(crate) fn loses_over_nan<T: Partial>(x: T, y: T) -> Derivative<T> {
    only(x.equal(x), loses(x, y))
}

/// The product of two derivatives of which either may be 0.
pub(crate) fn both<T: Partial>(first: Derivative<T>, second: Derivative<T>) -> Derivative<T> {
    match (first, second) {
        (Derivative::Where(one, x), Derivative::Where(other, y)) => Derivative::Where(one & other, x * y),
        (Derivative::Where(condition, x), Derivative::Value(y))
        | (Derivative::Value(y), Derivative::Where(condition, x)) => Derivative::Where(condition, x * y),
        (Derivative::Value(x), Derivative::Value(y)) => Derivative::Value(x * y),
        _ => Derivative::Flat,
    }
}

/// A derivative where a condition holds, and 0 elsewhere.
pub(crate) fn only<T: Partial>(condition: T::Condition, derivative: Derivative<T>) -> Derivative<T> {
    match derivative {
        Derivative::Where(also, value) => Derivative::Where(condition & also, value),
        Derivative::Value(value) => Derivative::Where(condition, value),
        other => other,
    }
}

/// `x / (r * r)` without overflow, and 0 where `r` is 0.
pub(crate) fn over_square<T: Partial>(x: T, r: T) -> T {
    (x / r / r).unless_zero(r)
}

/// The derivative of `r = x**y` by `y`. Zero to any power that is not negative stays 0 as the power grows.
pub(crate) fn by_exponent<T: Partial>(x: T, y: T, r: T) -> T {
    let zero = x.number(0.0);
    T::select(x.equal(zero) & !y.less(zero), zero, r * x.log())
}

/// `1 / sqrt(2 * pi)`.
pub(crate) const INV_SQRT_2PI: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2 / 2.0;

/// The derivative of the logarithm of the sum of powers of `x` and `y` by `x`, from their distance `d` in the natural unit. Equal
/// infinities have no distance, and share.
pub(crate) fn share<T: Partial>(x: T, y: T, d: T) -> T {
    let tie = T::select(x.equal(y), x.number(0.5), d);
    T::select(d.equal(d), d.sigmoid(), tie)
}

/// The derivative of `x**y` by `x`. Any number to the power of 0 is 1.
pub(crate) fn by_base<T: Partial>(x: T, y: T) -> T {
    let zero = x.number(0.0);
    let is_flat = y.equal(zero) & (x.equal(zero) | !x.equal(x));
    T::select(is_flat, zero, y * x.pow(y - 1.0))
}

/// The derivative of the tanh approximation of `gelu`, `x / 2 * (1 + tanh(c * (x + a * x**3)))`.
pub(crate) fn tanh_gelu<T: Partial>(x: T) -> T {
    const A: f64 = 0.044715;
    let scale = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
    let angle = (x * x * A + 1.0) * x * scale;
    let t = angle.tanh();
    let slope = (x * x * (3.0 * A) + 1.0) * scale;
    (t + 1.0) * 0.5 + x * 0.5 * (t + 1.0) * (-t + 1.0) * slope
}

/// The derivative of `r = sin(pi * x) / (pi * x)`, `(cos(pi * x) - r) / x`. Near 0 the difference cancels, and the Taylor series
/// of `r` takes its place.
pub(crate) fn slope_of_sinc<T: Partial>(x: T, r: T) -> T {
    /// Up to here the terms left out are below the last place of `f64`.
    const NEAR: f64 = 0.25;
    const TERMS: i32 = 8;
    let square = x * x;
    // The term of `x**(2 k)` in `r` is `(-pi**2)**k / (2 k + 1)!`.
    let (mut coefficient, mut factors) = (1.0, Vec::new());
    for k in 1..=TERMS {
        coefficient *= -PI * PI / f64::from((2 * k) * (2 * k + 1));
        factors.push(coefficient * f64::from(2 * k));
    }
    let series = factors.iter().rev().fold(x.number(0.0), |sum, factor| sum * square + *factor);
    T::select(square.less(x.number(NEAR * NEAR)), series * x, ((x * PI).cos() - r) / x)
}
