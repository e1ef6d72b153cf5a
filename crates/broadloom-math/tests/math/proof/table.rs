//! The table of functions: what each is compared with, on which arguments, and how far it may be off.

use crate::proof::random::{Format, Random};
use crate::proof::samples::{self, Arguments};
use crate::proof::truth::{self, Divide, wide};
use crate::proof::ulps::Big;
use broadloom_math::{Function, Fused, Real, Unfused};

/// A function as the tests see it.
pub struct Row {
    pub function: Function,
    /// Largest allowed error of f32 and f64 in ulps.
    pub bounds: [f64; 2],
    pub truth: Truth,
    /// One round of random arguments.
    pub round: fn(&mut Random, Format) -> Vec<Arguments>,
    /// Arguments known to be hard.
    pub hard: fn(Format) -> Vec<Arguments>,
    /// The methods of [`Real`], unfused and fused.
    pub f32: [fn(f32, f32) -> f32; 2],
    pub f64: [fn(f64, f64) -> f64; 2],
}

/// What a function's results are compared with.
#[derive(Clone, Copy)]
pub enum Truth {
    Rounded {
        /// In f64, with which f32 is compared, and on whose special values f64 must agree.
        wide: fn(f64, f64) -> f64,
        /// At finite arguments with finite results, in multiple precision.
        big: fn(Big, Big) -> Big,
        /// Times the format's epsilon the least unit of errors, such as the largest term of a sum; 0 for a
        /// function whose errors are all measured in ulps of the result.
        floor: fn(f64, f64) -> f64,
    },
    /// Operations of the standard library of which every step rounds as ours: they agree to the bit.
    Exact { f32: fn(f32, f32) -> f32, f64: fn(f64, f64) -> f64 },
}

impl Row {
    /// The largest allowed error in ulps.
    pub fn bound(&self, format: Format) -> f64 {
        self.bounds[usize::from(format == Format::F64)]
    }
}

macro_rules! function {
    (($x:ident) $body:expr) => {
        |$x, _| $body
    };
    (($x:ident, $y:ident) $body:expr) => {
        |$x, $y| $body
    };
}

/// Unary functions draw numbers, binary ones pairs.
macro_rules! arguments {
    (($x:ident) $round:path) => {
        |random, format| samples::unary($round(random, format))
    };
    (($x:ident, $y:ident) $round:path) => {
        $round
    };
}

macro_rules! hard {
    ($operands:tt) => {
        |_| Vec::new()
    };
    (($x:ident) $hard:path) => {
        |format| samples::unary($hard(format))
    };
    (($x:ident, $y:ident) $hard:path) => {
        $hard
    };
}

macro_rules! truth {
    ($operands:tt $wide:expr, $big:expr) => {
        Truth::Rounded { wide: function!($operands $wide), big: function!($operands $big), floor: |_, _| 0.0 }
    };
    ($operands:tt $wide:expr, $big:expr, $floor:expr) => {
        Truth::Rounded {
            wide: function!($operands $wide),
            big: function!($operands $big),
            floor: function!($operands $floor),
        }
    };
    ($operands:tt $exact:expr) => {
        Truth::Exact { f32: function!($operands $exact), f64: function!($operands $exact) }
    };
}

macro_rules! scalars {
    ($method:ident ($x:ident)) => {
        [|$x, _| Real::$method::<Unfused>($x), |$x, _| Real::$method::<Fused>($x)]
    };
    ($method:ident ($x:ident, $y:ident)) => {
        [|$x, $y| Real::$method::<Unfused>($x, $y), |$x, $y| Real::$method::<Fused>($x, $y)]
    };
}

macro_rules! functions {
    ($($variant:ident $method:ident $operands:tt
        within $f32:literal $f64:literal of $($truth:expr),+;
        $round:path $(, $hard:path)?;
    )+) => {
        /// Every function.
        pub const FUNCTIONS: &[Row] = &[$(Row {
            function: Function::$variant,
            bounds: [$f32, $f64],
            truth: truth!($operands $($truth),+),
            round: arguments!($operands $round),
            hard: hard!($operands $($hard)?),
            f32: scalars!($method $operands),
            f64: scalars!($method $operands),
        }),+];
    };
}

// Variant, method and operands; bounds in ulps for f32 and f64; the truth in f64, in multiple precision and,
// if some errors are measured in other units, `floor`; or only the operation itself, with bounds of 0,
// if it is exact. Then random arguments, and hard ones if any are known.
functions! {
    Exp exp(x) within 1.0 1.0 of x.exp(), x.exp(); samples::exp::exp;
    Log log(x) within 1.0 1.0 of x.ln(), x.ln(); samples::log::log;
    Sin sin(x) within 1.0 1.0 of x.sin(), x.sin(); samples::trig::angle, samples::trig::hardest;
    Cos cos(x) within 1.0 1.0 of x.cos(), x.cos(); samples::trig::angle, samples::trig::hardest;
    Tan tan(x) within 1.0 1.0 of x.tan(), x.tan(); samples::trig::angle, samples::trig::hardest;
    Asin asin(x) within 1.0 1.0 of x.asin(), x.asin(); samples::arc::asin;
    Acos acos(x) within 1.0 1.0 of x.acos(), x.acos(); samples::arc::asin;
    Atan atan(x) within 1.0 1.0 of x.atan(), x.atan(); samples::arc::atan;
    Atan2 atan2(y, x) within 1.0 1.0 of y.atan2(x), atan2(y, x); samples::arc::atan2;
    Sinh sinh(x) within 1.0 1.0 of x.sinh(), x.sinh(); samples::exp::sinh;
    Cosh cosh(x) within 1.0 1.0 of x.cosh(), x.cosh(); samples::exp::sinh;
    Tanh tanh(x) within 1.0 1.0 of x.tanh(), x.tanh(); samples::exp::tanh;
    Asinh asinh(x) within 1.0 1.0 of libm::asinh(x), x.asinh(); samples::log::asinh;
    Acosh acosh(x) within 1.0 1.0 of acosh(x), x.acosh(); samples::log::acosh;
    Atanh atanh(x) within 1.0 1.0 of libm::atanh(x), x.atanh(); samples::log::atanh;
    Hypot hypot(x, y) within 1.0 1.0 of x.hypot(y), x.hypot(&y); samples::hypot::hypot;
    Pow pow(x, y) within 2.0 2.0 of x.powf(y), x.powf(&y); samples::pow::pow;
    Exp2 exp2(x) within 1.0 1.0 of x.exp2(), truth::exp2(x); samples::exp::exp2;
    Expm1 expm1(x) within 1.0 1.0 of x.exp_m1(), truth::expm1(x); samples::exp::exp;
    Log2 log2(x) within 1.0 1.0 of x.log2(), x.log2(); samples::log::log;
    Log10 log10(x) within 1.0 1.0 of x.log10(), x.log10(); samples::log::log;
    Log1p log1p(x) within 1.0 1.0 of x.ln_1p(), x.ln_1p(); samples::log::log1p;
    Cbrt cbrt(x) within 1.0 1.0 of x.cbrt(), truth::cbrt(x); samples::log::any;
    Erf erf(x) within 1.0 1.0 of libm::erf(x), truth::erf(x); samples::erf::erf;
    Erfc erfc(x) within 2.0 2.0 of libm::erfc(x), truth::erfc(x); samples::erf::erf;
    Sigmoid sigmoid(x) within 4.0 4.0 of wide::sigmoid(x), truth::sigmoid(x); samples::exp::exp;
    Softplus softplus(x) within 4.0 4.0 of wide::softplus(x), truth::softplus(x); samples::exp::exp;
    Gelu gelu(x) within 4.0 4.0 of wide::gelu(x), truth::gelu(x); samples::erf::gelu;
    GeluTanh gelu_tanh(x) within 4.0 4.0 of wide::gelu_tanh(x), truth::gelu_tanh(x); samples::erf::gelu_tanh;
    Silu silu(x) within 4.0 4.0 of wide::silu(x), truth::silu(x); samples::exp::exp;
    Logaddexp logaddexp(x, y) within 4.0 4.0
        of wide::logaddexp(x, y), truth::logaddexp(x, y), x.max(y).abs(); samples::exp::logaddexp;
    Fmod fmod(x, y) within 0.0 0.0 of x % y; samples::remainder::remainder;
    Remainder remainder(x, y) within 0.0 0.0 of Divide::remainder(x, y); samples::remainder::remainder;
    FloorDivide floor_divide(x, y) within 0.0 0.0 of Divide::floor_divide(x, y); samples::remainder::remainder;
}

/// That of `libm` gives numbers at some arguments below -2.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

/// The angle of (x, y). At the origin, where multiple precision has none, an x of zero counts as 1 of its sign.
fn atan2(y: Big, x: Big) -> Big {
    let at_origin = y.repr().significand().is_zero() && x.repr().significand().is_zero();
    y.atan2(&if at_origin { x.sign() * Big::ONE.with_precision(130).value() } else { x })
}
