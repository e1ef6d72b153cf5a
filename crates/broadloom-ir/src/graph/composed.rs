//! Elementwise functions composed of rows of the op table when they are built.
//!
//! A row of [`for_each_composed`] generates the name, the method of the facade, the function of the text language
//! and the line of the documentation; [`Graph::composed`] defines the composition. A row may state the derivatives by its
//! operands ([`crate::partial`]) where those of the composition are inaccurate.

use super::derive::Rule;
use super::{Graph, LiteralRole, Site};
use crate::dtype::{AnyNumber, Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::partial::{Derivative, INV_SQRT_2PI, Partial, share, slope_of_sinc};
use crate::problem::Problem;
use smallvec::smallvec;
use std::f64::consts::LN_2;

/// Calls a macro with all rows of the table of composed functions.
#[macro_export]
macro_rules! for_each_composed {
    ($callback:ident) => {
        $callback! {
            /// Absolute value as a float: integers of 8 and 16 bits and bool give `f32`, wider integers `f64`.
            fabs = Fabs(x)
            /// Nearest integer as a float; halves round to even.
            rint = Rint(x)
            /// `log2(2**x + 2**y)` without overflow.
            logaddexp2 = Logaddexp2(x, y) by |_| [share(x, y, (x - y) * LN_2), share(y, x, (y - x) * LN_2)]
            /// `x` to the power `y`, both converted to `f64`.
            float_power = FloatPower(x, y)
            /// 0 for negative `x`, 1 for positive `x`, `y` for zero, and NaN for NaN.
            heaviside = Heaviside(x, y)
            /// Distance from `x` to the next float away from zero, with the sign of `x`; NaN for infinite `x`.
            spacing = Spacing(x)
            /// `x * 2**y` for an integer `y`, rounded once.
            ldexp = Ldexp(x, y)
            /// Whether `x` is positive infinity.
            isposinf = Isposinf(x)
            /// Whether `x` is negative infinity.
            isneginf = Isneginf(x)
            /// `sin(pi * x) / (pi * x)`, and 1 for zero.
            sinc = Sinc(x) by |r| [slope_of_sinc(x, r)]
            /// The normal cumulative distribution function, `erfc(-x / sqrt(2)) / 2`, within 6 units in the last
            /// place. It is computed as `gelu(x) / x`, with the error of `gelu` in accuracy.md and that of a
            /// division.
            ndtr = Ndtr(x) by |_| [(x * x * -0.5).exp() * INV_SQRT_2PI]
            /// Sum of integers, clamped to the range of their common dtype.
            saturating_add = SaturatingAdd(x, y)
            /// Difference of integers, clamped to the range of their common dtype.
            saturating_subtract = SaturatingSubtract(x, y)
        }
    };
}

macro_rules! define_composed {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident($($operand:ident),+)
        $(by |$result:pat_param| [$($derivative:expr),+])?)*) => {
        /// An elementwise function composed of rows of the op table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Composed {
            $($(#[doc = $doc])+ $variant,)*
        }

        impl Composed {
            /// Every function, in the order of the table.
            pub const ALL: &'static [Composed] = &[$(Composed::$variant),*];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self { $(Composed::$variant => stringify!($name),)* }
            }

            /// Returns the description.
            pub fn doc(self) -> &'static str {
                match self { $(Composed::$variant => concat!($($doc),+).trim_ascii(),)* }
            }

            /// Returns the derivative by an operand, in terms of the operands and the result, if the function derives by a
            /// formula of its own instead of those of the ops that it is composed of.
            #[allow(unused_variables, reason = "each row uses some of its operands")]
            pub fn derivative<T: Partial>(self, by: usize, of: &[T], result: T) -> Option<Derivative<T>> {
                match self {
                    $(Composed::$variant => {
                        let &[$($operand),+] = of else { return None };
                        $(
                            let $result = result;
                            let all: &[&dyn Fn() -> Derivative<T>] = &[$(&|| Derivative::from($derivative)),+];
                            return all.get(by).map(|derivative| derivative());
                        )?
                        #[allow(unreachable_code, reason = "only rows with formulas return before")]
                        None
                    })*
                }
            }

            /// Returns the derivatives by all operands as the table states them; none if those of the ops apply.
            pub fn derivatives(self) -> &'static [&'static str] {
                match self { $(Composed::$variant => &[$($(stringify!($derivative)),+)?],)* }
            }

            /// Returns the names of the operands.
            pub fn operands(self) -> &'static [&'static str] {
                match self { $(Composed::$variant => &[$(stringify!($operand)),+],)* }
            }
        }
    };
}
for_each_composed!(define_composed);

impl Composed {
    /// Returns the role of a number among the operands.
    pub fn literal_role(self) -> LiteralRole {
        match self {
            Composed::SaturatingAdd | Composed::SaturatingSubtract => LiteralRole::Value,
            Composed::FloatPower => LiteralRole::Wide,
            // Operands become floats as for the elementary functions.
            _ => LiteralRole::Computed(Op::Logaddexp),
        }
    }
}

/// How close two numbers have to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// The tolerance relative to the magnitude of the second number.
    pub relative: f64,
    /// The absolute tolerance.
    pub absolute: f64,
    /// Whether NaNs are close to each other.
    pub equal_nan: bool,
}

impl Default for Tolerance {
    /// NumPy's defaults: `1e-5` and `1e-8`, and NaNs differ.
    fn default() -> Self {
        Tolerance { relative: 1e-5, absolute: 1e-8, equal_nan: false }
    }
}

impl Graph {
    /// Applies a composed function to operands that broadcast. Unless its documentation says otherwise, operands
    /// become floats as for the elementary functions, and 16-bit floats are computed in `f32` and rounded once.
    pub fn composed(&mut self, function: Composed, operands: &[ExprId], site: Site) -> ExprId {
        let result = self.try_composed(function, operands, site);
        if let Ok(expr) = result {
            self.warn_of_shapes(function.name(), operands, expr, site);
        }
        self.settle(result, function.name(), operands, site)
    }

    fn try_composed(
        &mut self,
        function: Composed,
        operands: &[ExprId],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(operands) {
            return Ok(self.poison());
        }
        let expected = function.operands().len();
        let (x, y) = match operands {
            [x] if expected == 1 => (*x, *x),
            [x, y] if expected == 2 => (*x, *y),
            _ => return Err(Problem::Arity { expected, given: operands.len() }),
        };
        match function {
            Composed::Fabs => {
                let [x] = self.as_floats([x], site)?;
                self.try_elementwise(Op::Abs, &[x], site)
            }
            Composed::Rint => {
                let [x] = self.as_floats([x], site)?;
                self.try_elementwise(Op::Round, &[x], site)
            }
            Composed::Logaddexp2 => self.try_logaddexp2(x, y, site),
            Composed::FloatPower => {
                let x = self.convert(x, DType::F64, site)?;
                let y = self.convert(y, DType::F64, site)?;
                self.try_elementwise(Op::Pow, &[x, y], site)
            }
            Composed::Heaviside => {
                let [x, y] = self.as_floats([x, y], site)?;
                let [zero, one] = self.numbers_like(x, [0.0, 1.0], site)?;
                let is_positive = self.try_elementwise(Op::Greater, &[x, zero], site)?;
                let is_negative = self.try_elementwise(Op::Less, &[x, zero], site)?;
                let is_zero = self.try_elementwise(Op::Equal, &[x, zero], site)?;
                let other = self.try_select([is_zero, y, x], site)?;
                let other = self.try_select([is_negative, zero, other], site)?;
                self.try_select([is_positive, one, other], site)
            }
            Composed::Spacing => {
                let [x] = self.as_floats([x], site)?;
                let [zero, up, down] = self.numbers_like(x, [0.0, f64::INFINITY, f64::NEG_INFINITY], site)?;
                let is_negative = self.try_elementwise(Op::Less, &[x, zero], site)?;
                let away = self.try_select([is_negative, down, up], site)?;
                let next = self.try_elementwise(Op::Nextafter, &[x, away], site)?;
                self.try_elementwise(Op::Subtract, &[next, x], site)
            }
            Composed::Ldexp => self.try_ldexp(x, y, site),
            Composed::Isposinf | Composed::Isneginf => {
                let [x] = self.as_floats([x], site)?;
                let sign = if function == Composed::Isposinf { 1.0 } else { -1.0 };
                let [infinity] = self.numbers_like(x, [sign * f64::INFINITY], site)?;
                self.try_elementwise(Op::Equal, &[x, infinity], site)
            }
            Composed::Sinc => {
                let [x] = self.as_floats([x], site)?;
                let dtype = self.dtype(x);
                let x = self.convert(x, dtype.arithmetic(), site)?;
                let [pi, zero, one] = self.numbers_like(x, [std::f64::consts::PI, 0.0, 1.0], site)?;
                let angle = self.try_elementwise(Op::Multiply, &[pi, x], site)?;
                let sine = self.try_elementwise(Op::Sin, &[angle], site)?;
                let ratio = self.try_elementwise(Op::Divide, &[sine, angle], site)?;
                let is_zero = self.try_elementwise(Op::Equal, &[x, zero], site)?;
                let value = self.try_select([is_zero, one, ratio], site)?;
                self.derives_by(value, Rule::Elementwise { function, operands: smallvec![x] });
                self.convert(value, dtype, site)
            }
            Composed::Ndtr => self.try_ndtr(x, site),
            Composed::SaturatingAdd => self.try_saturating(Op::Add, x, y, site),
            Composed::SaturatingSubtract => self.try_saturating(Op::Subtract, x, y, site),
        }
    }

    /// Converts operands to the float dtype in which elementary functions of them are computed.
    pub(super) fn as_floats<const N: usize>(
        &mut self,
        operands: [ExprId; N],
        site: Site,
    ) -> Result<[ExprId; N], Problem> {
        let dtypes = operands.map(|operand| self.dtype(operand).function_float());
        let Some(dtype) = DType::promote_all(dtypes) else { return Ok(operands) };
        let mut floats = operands;
        for float in &mut floats {
            *float = self.convert(*float, dtype, site)?;
        }
        Ok(floats)
    }

    /// Returns constants of the dtype of an expression.
    pub(super) fn numbers_like<const N: usize>(
        &mut self,
        like: ExprId,
        values: [f64; N],
        site: Site,
    ) -> Result<[ExprId; N], Problem> {
        let dtype = self.dtype(like);
        let mut constants = [like; N];
        for (constant, value) in constants.iter_mut().zip(values) {
            *constant = self.number(value, dtype, site)?;
        }
        Ok(constants)
    }

    fn try_logaddexp2(&mut self, x: ExprId, y: ExprId, site: Site) -> Result<ExprId, Problem> {
        let [x, y] = self.as_floats([x, y], site)?;
        let dtype = self.dtype(x);
        let [x, y] = [self.convert(x, dtype.arithmetic(), site)?, self.convert(y, dtype.arithmetic(), site)?];
        let [one, scale] = self.numbers_like(x, [1.0, std::f64::consts::LOG2_E], site)?;
        let greater = self.try_elementwise(Op::Maximum, &[x, y], site)?;
        let distance = self.try_elementwise(Op::Subtract, &[x, y], site)?;
        let distance = self.try_elementwise(Op::Abs, &[distance], site)?;
        let exponent = self.try_elementwise(Op::Negative, &[distance], site)?;
        let part = self.try_elementwise(Op::Exp2, &[exponent], site)?;
        let part = self.try_elementwise(Op::Log1p, &[part], site)?;
        let part = self.try_elementwise(Op::Multiply, &[part, scale], site)?;
        // Equal infinities have no distance.
        let are_equal = self.try_elementwise(Op::Equal, &[x, y], site)?;
        let part = self.try_select([are_equal, one, part], site)?;
        let sum = self.try_elementwise(Op::Add, &[greater, part], site)?;
        let operands = smallvec![x, y];
        self.derives_by(sum, Rule::Elementwise { function: Composed::Logaddexp2, operands });
        self.convert(sum, dtype, site)
    }

    /// Floats up to 32 bits are exact in `f64` until the rounding at the end. 64-bit floats are scaled in three
    /// steps. Only the last step rounds: if an earlier step rounds, the number becomes zero in the end.
    fn try_ldexp(&mut self, x: ExprId, y: ExprId, site: Site) -> Result<ExprId, Problem> {
        /// Steps that reach beyond the range of `f32`, and of `f64`, from its other end.
        const FAR: [i64; 2] = [400, 2200];
        /// The exponents of normal numbers that one factor can have.
        const NORMAL: [f64; 2] = [-1022.0, 1000.0];
        /// The part of the exponent that one step applies.
        const STEP: [f64; 2] = [969.0, -1000.0];
        let exponent = self.dtype(y);
        if exponent.class() == Class::Float {
            return Err(Problem::Argument("needs an integer exponent"));
        }
        let [x] = self.as_floats([x], site)?;
        let dtype = self.dtype(x);
        let far = FAR[usize::from(dtype == DType::F64)];
        // A signed dtype wide enough for both bounds, which changes no number within them.
        let y = self.as_index_like(y, site)?;
        let [low, high] =
            [self.insert_constant(Scalar::I64(-far), site)?, self.insert_constant(Scalar::I64(far), site)?];
        let y = self.try_elementwise(Op::Clip, &[y, low, high], site)?;
        let mut left = self.convert(y, DType::F64, site)?;
        let mut scaled = self.convert(x, DType::F64, site)?;
        if dtype == DType::F64 {
            let [least, most] = self.numbers_like(left, NORMAL, site)?;
            let [one, zero] = self.numbers_like(left, [1.0, 0.0], site)?;
            let factors = STEP.map(|step| 2_f64.powi(-(step as i32)));
            let [down, up] = self.numbers_like(left, factors, site)?;
            let [more, less] = self.numbers_like(left, STEP, site)?;
            for _ in 0..2 {
                let is_low = self.try_elementwise(Op::Less, &[left, least], site)?;
                let is_high = self.try_elementwise(Op::Greater, &[left, most], site)?;
                let factor = self.try_select([is_high, up, one], site)?;
                let factor = self.try_select([is_low, down, factor], site)?;
                let taken = self.try_select([is_high, less, zero], site)?;
                let taken = self.try_select([is_low, more, taken], site)?;
                scaled = self.try_elementwise(Op::Multiply, &[scaled, factor], site)?;
                left = self.try_elementwise(Op::Add, &[left, taken], site)?;
            }
        }
        let power = self.try_elementwise(Op::Exp2, &[left], site)?;
        let scaled = self.try_elementwise(Op::Multiply, &[scaled, power], site)?;
        self.convert(scaled, dtype, site)
    }

    /// Uses `gelu`, which is this function times `x`, so it is accurate even where the result is small. Near zero,
    /// where the products vanish, it is 1/2; beyond 40 it is 1.
    fn try_ndtr(&mut self, x: ExprId, site: Site) -> Result<ExprId, Problem> {
        let [x] = self.as_floats([x], site)?;
        let dtype = self.dtype(x);
        let x = self.convert(x, dtype.arithmetic(), site)?;
        // An `x` this small changes 1/2 by less than a quarter of its last place.
        let near = if dtype == DType::F64 { 2_f64.powi(-55) } else { 2_f64.powi(-26) };
        let [near, far, half, one] = self.numbers_like(x, [near, 40.0, 0.5, 1.0], site)?;
        let product = self.try_elementwise(Op::Gelu, &[x], site)?;
        let quotient = self.try_elementwise(Op::Divide, &[product, x], site)?;
        let magnitude = self.try_elementwise(Op::Abs, &[x], site)?;
        let is_near = self.try_elementwise(Op::Less, &[magnitude, near], site)?;
        let is_far = self.try_elementwise(Op::Greater, &[x, far], site)?;
        let value = self.try_select([is_near, half, quotient], site)?;
        let value = self.try_select([is_far, one, value], site)?;
        self.derives_by(value, Rule::Elementwise { function: Composed::Ndtr, operands: smallvec![x] });
        self.convert(value, dtype, site)
    }

    /// Converts integers and bool to `i64`; greater values become its maximum.
    fn as_index_like(&mut self, operand: ExprId, site: Site) -> Result<ExprId, Problem> {
        if self.dtype(operand).class() == Class::Int {
            self.as_index(operand, site)
        } else {
            self.convert(operand, DType::I64, site)
        }
    }

    fn try_saturating(&mut self, op: Op, x: ExprId, y: ExprId, site: Site) -> Result<ExprId, Problem> {
        let dtype = self.dtype(x).promote(self.dtype(y));
        if dtype.class() != Class::Int {
            return Err(Problem::NotDefined { dtypes: vec![self.dtype(x), self.dtype(y)] });
        }
        let [x, y] = [self.convert(x, dtype, site)?, self.convert(y, dtype, site)?];
        let wrapped = self.try_elementwise(op, &[x, y], site)?;
        let [least, greatest] = [f64::NEG_INFINITY, f64::INFINITY].map(|end| Scalar::F64(end).cast(dtype));
        let [least, greatest] = [self.insert_constant(least, site)?, self.insert_constant(greatest, site)?];
        if !dtype.is_signed_integer() {
            // A wrapped sum is less than its operands, a wrapped difference greater than the first.
            let (wraps, end) = match op {
                Op::Add => (self.try_elementwise(Op::Less, &[wrapped, x], site)?, greatest),
                _ => (self.try_elementwise(Op::Less, &[x, y], site)?, least),
            };
            return self.try_select([wraps, end, wrapped], site);
        }
        // It wraps if neither operand can lead to the sign of the result.
        let turned = self.try_elementwise(Op::BitwiseXor, &[x, wrapped], site)?;
        let other = if op == Op::Add { wrapped } else { x };
        let apart = self.try_elementwise(Op::BitwiseXor, &[y, other], site)?;
        let both = self.try_elementwise(Op::BitwiseAnd, &[turned, apart], site)?;
        let zero = self.insert_constant(Scalar::I64(0).cast(dtype), site)?;
        let wraps = self.try_elementwise(Op::Less, &[both, zero], site)?;
        let is_negative = self.try_elementwise(Op::Less, &[x, zero], site)?;
        let end = self.try_select([is_negative, least, greatest], site)?;
        self.try_select([wraps, end, wrapped], site)
    }

    /// Returns whether two numbers are close: `abs(x - y) <= absolute + relative * abs(y)` for a finite `y`, or `x
    /// == y`. As in NumPy, `y` becomes a float first.
    pub fn isclose(&mut self, x: ExprId, y: ExprId, tolerance: Tolerance, site: Site) -> ExprId {
        let result = self.try_isclose(x, y, tolerance, site);
        if let Ok(expr) = result {
            self.warn_of_shapes("isclose", &[x, y], expr, site);
        }
        self.settle(result, "isclose", &[x, y], site)
    }

    fn try_isclose(
        &mut self,
        x: ExprId,
        y: ExprId,
        tolerance: Tolerance,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[x, y]) {
            return Ok(self.poison());
        }
        let float = if self.dtype(y).class() == Class::Float { self.dtype(y) } else { DType::F64 };
        let y = self.convert(y, float, site)?;
        let [relative, absolute] = self.numbers_like(y, [tolerance.relative, tolerance.absolute], site)?;
        let distance = self.try_elementwise(Op::Subtract, &[x, y], site)?;
        let distance = self.try_elementwise(Op::Abs, &[distance], site)?;
        let size = self.try_elementwise(Op::Abs, &[y], site)?;
        let limit = self.try_elementwise(Op::Multiply, &[relative, size], site)?;
        let limit = self.try_elementwise(Op::Add, &[absolute, limit], site)?;
        let near = self.try_elementwise(Op::LessEqual, &[distance, limit], site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[y], site)?;
        let near = self.try_elementwise(Op::LogicalAnd, &[near, is_finite], site)?;
        let same = self.try_elementwise(Op::Equal, &[x, y], site)?;
        let near = self.try_elementwise(Op::LogicalOr, &[near, same], site)?;
        if !tolerance.equal_nan {
            return Ok(near);
        }
        let nans =
            [self.try_elementwise(Op::Isnan, &[x], site)?, self.try_elementwise(Op::Isnan, &[y], site)?];
        let nans = self.try_elementwise(Op::LogicalAnd, &nans, site)?;
        self.try_elementwise(Op::LogicalOr, &[near, nans], site)
    }

    /// Rounds to a number of decimals, or to a power of ten if it is negative, by NumPy's steps: the number is scaled,
    /// rounded to an integer with halves to even, and scaled back. A float that is too large to be scaled has no
    /// decimals, and stays as it is. Integers are exact; one beyond the ends of its dtype becomes the end.
    pub fn round_to(&mut self, operand: ExprId, decimals: i64, site: Site) -> ExprId {
        let result = self.try_round_to(operand, decimals, site);
        self.settle(result, Op::Round.name(), &[operand], site)
    }

    fn try_round_to(&mut self, operand: ExprId, decimals: i64, site: Site) -> Result<ExprId, Problem> {
        /// Above this exponent, a power of ten is not an exact float.
        const MOST: u64 = 22;
        if self.is_poisoned(operand) || decimals == 0 {
            return self.try_elementwise(Op::Round, &[operand], site);
        }
        if decimals.unsigned_abs() > MOST {
            return Err(Problem::Argument("takes an integer from -22 to 22 as `decimals`"));
        }
        let dtype = self.dtype(operand);
        if dtype.class() != Class::Float && decimals > 0 {
            return Ok(operand);
        }
        if matches!(dtype, DType::I64 | DType::U64) {
            return self.rounded_integers(operand, decimals.unsigned_abs() as u32, site);
        }
        let power = 10_f64.powi(decimals.unsigned_abs() as i32);
        let work = match dtype.class() {
            Class::Float if power > dtype.greatest_finite() => dtype.arithmetic(),
            Class::Float => dtype,
            // `f64` holds their quotients well enough to decide which multiple is nearer.
            Class::Bool | Class::Int => DType::F64,
        };
        let x = self.convert(operand, work, site)?;
        let [power] = self.numbers_like(x, [power], site)?;
        let (first, last) =
            if decimals > 0 { (Op::Multiply, Op::Divide) } else { (Op::Divide, Op::Multiply) };
        let scaled = self.try_elementwise(first, &[x, power], site)?;
        let rounded = self.try_elementwise(Op::Round, &[scaled], site)?;
        let mut back = self.try_elementwise(last, &[rounded, power], site)?;
        if decimals > 0 {
            let is_scaled = self.try_elementwise(Op::Isfinite, &[scaled], site)?;
            back = self.try_select([is_scaled, back, x], site)?;
        }
        self.convert(back, dtype, site)
    }

    /// Rounds integers of 64 bits, which no float dtype holds, to multiples of a power of ten.
    fn rounded_integers(&mut self, x: ExprId, digits: u32, site: Site) -> Result<ExprId, Problem> {
        let dtype = self.dtype(x);
        let power = 10_i128.pow(digits);
        let [least, greatest] = match dtype {
            DType::U64 => [0, u64::MAX.into()],
            _ => [i64::MIN.into(), i64::MAX.into()],
        };
        let mut constant = |value: i128| self.insert_constant(AnyNumber::Int(value).to_scalar(dtype), site);
        let (zero, one) = (constant(0)?, constant(1)?);
        if power > greatest {
            // The nearest multiple is 0, or one that the dtype does not hold.
            let half = power / 2;
            let (least, greatest, low, high) =
                (constant(least)?, constant(greatest)?, constant(-half)?, constant(half)?);
            let zeros = self.try_broadcast_to(zero, self.written(x).clone(), site)?;
            if half > i64::MAX.into() {
                return Ok(zeros);
            }
            let is_above = self.try_elementwise(Op::Greater, &[x, high], site)?;
            let is_below = self.try_elementwise(Op::Less, &[x, low], site)?;
            let rounded = self.try_select([is_above, greatest, zeros], site)?;
            return self.try_select([is_below, least, rounded], site);
        }
        let power = constant(power)?;
        let quotient = self.try_elementwise(Op::FloorDivide, &[x, power], site)?;
        let multiple = self.try_elementwise(Op::Multiply, &[quotient, power], site)?;
        // If the multiple is below the least integer, both wrap, and the distance is right.
        let rest = self.try_elementwise(Op::Subtract, &[x, multiple], site)?;
        let missing = self.try_elementwise(Op::Subtract, &[power, rest], site)?;
        let is_nearer = self.try_elementwise(Op::Greater, &[rest, missing], site)?;
        let is_half = self.try_elementwise(Op::Equal, &[rest, missing], site)?;
        let last_bit = self.try_elementwise(Op::BitwiseAnd, &[quotient, one], site)?;
        let is_odd = self.try_elementwise(Op::Equal, &[last_bit, one], site)?;
        let is_half = self.try_elementwise(Op::LogicalAnd, &[is_half, is_odd], site)?;
        let goes_up = self.try_elementwise(Op::LogicalOr, &[is_nearer, is_half], site)?;
        let up = self.try_saturating(Op::Add, x, missing, site)?;
        let down = self.try_saturating(Op::Subtract, x, rest, site)?;
        self.try_select([goes_up, up, down], site)
    }

    /// Replaces NaN, infinity and minus infinity by numbers; without given numbers, the infinities become the ends
    /// of the dtype. Integers and bool stay as they are.
    pub fn nan_to_num(
        &mut self,
        operand: ExprId,
        nan: f64,
        infinities: [Option<f64>; 2],
        site: Site,
    ) -> ExprId {
        let result = self.try_nan_to_num(operand, nan, infinities, site);
        self.settle(result, "nan_to_num", &[operand], site)
    }

    fn try_nan_to_num(
        &mut self,
        x: ExprId,
        nan: f64,
        infinities: [Option<f64>; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let dtype = self.dtype(x);
        if self.is_poisoned(x) || dtype.class() != Class::Float {
            return Ok(x);
        }
        let greatest = dtype.greatest_finite();
        let [up, down] = [infinities[0].unwrap_or(greatest), infinities[1].unwrap_or(-greatest)];
        let [nan, up, down, above, below] =
            self.numbers_like(x, [nan, up, down, f64::INFINITY, f64::NEG_INFINITY], site)?;
        let is_above = self.try_elementwise(Op::Equal, &[x, above], site)?;
        let is_below = self.try_elementwise(Op::Equal, &[x, below], site)?;
        let is_nan = self.try_elementwise(Op::Isnan, &[x], site)?;
        let number = self.try_select([is_above, up, x], site)?;
        let number = self.try_select([is_below, down, number], site)?;
        self.try_select([is_nan, nan, number], site)
    }
}
