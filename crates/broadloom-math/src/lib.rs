//! Elementary functions, one Rust definition each, as scalars, as vectorised tiles, and as traces.
//!
//! ```text
//!                             ┌─▶ Real::exp::<Fused>(x)            a scalar
//! exp.rs: one definition ─────┼─▶ tile_function(Exp, F32, Avx512)  a loop around it that LLVM vectorises,
//!   generic over Value, Level │                                    called by compiled kernels
//!                             └─▶ trace(Exp, F32, true)          its operations, recorded, which kernels inline
//! ```
//!
//! Each function is branch-free code over one value, written only with arithmetic, comparisons and operations on
//! bits. The loop of a tile calls the same code. So at one [`Level`], a scalar call, a tile and a trace give the same
//! bits, whatever the tile's length, the element's position and its neighbours; also for NaN, which is always the positive
//! quiet one. Nothing depends on the C library.
//!
//! Special values are those of C99 Annex F. `docs/accuracy.md` has the bound of each function and the largest
//! error found, over how many arguments (of f32 all 2^32, or so far a part), and how to measure it again.
//!
//! ```
//! use broadloom_math::{CpuLevel, Function, Fused, Real, tile_f32};
//!
//! let x = [0.0f32, 1.0, -1.0];
//! let mut y = [0.0; 3];
//! tile_f32(Function::Exp, CpuLevel::Avx512, &mut y, &x, None);
//! // `x.exp()` would be the inherent method of the standard library.
//! assert_eq!(y, x.map(|x| Real::exp::<Fused>(x)));
//! ```
#![deny(unsafe_code)]

mod best;
mod cbrt;
mod digits;
mod element;
mod erf;
mod exact;
mod exp;
mod few_values;
mod float;
mod functions;
mod huge;
mod hyperbolic;
mod hypot;
mod inverse_hyperbolic;
mod inverse_trig;
mod level;
mod log;
mod logistic;
mod order;
mod pow;
mod remainder;
mod search;
mod stop;
mod tan;
mod tanh;
mod tile;
mod trace;
mod transpose;
mod trig;
#[cfg(target_arch = "x86_64")]
mod vector_sort;

pub use best::{BestFn, BestRowsFn, Extreme, best_function, best_rows_function};
pub use element::ElementType;
pub use functions::{Function, trace};
pub use level::{CpuLevel, Fused, Level, Unfused, counts_bits};
pub use order::{SortFn, Sorting, sort_function};
pub use search::{SearchFn, search_function};
pub use stop::Stop;
pub use tile::{Precision, TileFn, tile_f32, tile_f64, tile_function};
pub use trace::{Step, Trace};
pub use transpose::{TransposeFn, transpose_function};

use remainder::Division;
use trig::Wave;

/// The requirements of all definitions together; implemented for `f32` and `f64`, and sealed because its parts are
/// private.
trait Tables:
    log::LogTable
    + tan::TanTable
    + inverse_trig::ArcTable
    + hyperbolic::HyperbolicTable
    + tanh::TanhTable
    + inverse_hyperbolic::AreaTable
    + pow::PowTable
    + hypot::HypotTable
    + remainder::RemainderTable
    + cbrt::CbrtTable
    + erf::ErfTable
    + logistic::LogisticTable
{
}

impl Tables for f32 {}
impl Tables for f64 {}

/// The elementary functions as scalar calls, at either [`Level`].
#[expect(private_bounds, reason = "the tables of coefficients are nobody else's business")]
pub trait Real: Tables {
    /// e^x. Overflows to infinity, underflows gradually to zero.
    #[inline(always)]
    fn exp<L: Level>(self) -> Self {
        exp::exp::<Self, L>(self)
    }

    /// The natural logarithm; -inf at zero of either sign, NaN below.
    #[inline(always)]
    fn log<L: Level>(self) -> Self {
        log::log::<Self, L>(self)
    }

    /// The sine of an angle in radians, of any size; NaN at infinities.
    #[inline(always)]
    fn sin<L: Level>(self) -> Self {
        trig::wave::<Self, L>(self, Wave::Sin)
    }

    /// The cosine of an angle in radians, of any size; NaN at infinities.
    #[inline(always)]
    fn cos<L: Level>(self) -> Self {
        trig::wave::<Self, L>(self, Wave::Cos)
    }

    /// The tangent of an angle in radians, of any size; NaN at infinities.
    #[inline(always)]
    fn tan<L: Level>(self) -> Self {
        tan::tan::<Self, L>(self)
    }

    /// The angle, -pi/2 to pi/2, whose sine this is; NaN beyond -1 and 1.
    #[inline(always)]
    fn asin<L: Level>(self) -> Self {
        inverse_trig::asin::<Self, L>(self)
    }

    /// The angle, 0 to pi, whose cosine this is; NaN beyond -1 and 1.
    #[inline(always)]
    fn acos<L: Level>(self) -> Self {
        inverse_trig::acos::<Self, L>(self)
    }

    /// The angle, -pi/2 to pi/2, whose tangent this is.
    #[inline(always)]
    fn atan<L: Level>(self) -> Self {
        inverse_trig::atan::<Self, L>(self)
    }

    /// The angle, -pi to pi, at which the point (`x`, `self`) is seen from the origin, with all special cases
    /// of C99's `atan2`: zeros and infinities count as limits, along the axes or the diagonals.
    #[inline(always)]
    fn atan2<L: Level>(self, x: Self) -> Self {
        inverse_trig::atan2::<Self, L>(self, x)
    }

    /// The hyperbolic sine.
    #[inline(always)]
    fn sinh<L: Level>(self) -> Self {
        hyperbolic::sinh::<Self, L>(self)
    }

    /// The hyperbolic cosine.
    #[inline(always)]
    fn cosh<L: Level>(self) -> Self {
        hyperbolic::cosh::<Self, L>(self)
    }

    /// The hyperbolic tangent.
    #[inline(always)]
    fn tanh<L: Level>(self) -> Self {
        tanh::tanh::<Self, L>(self)
    }

    /// The inverse of the hyperbolic sine.
    #[inline(always)]
    fn asinh<L: Level>(self) -> Self {
        inverse_hyperbolic::asinh::<Self, L>(self)
    }

    /// The non-negative inverse of the hyperbolic cosine; NaN below 1.
    #[inline(always)]
    fn acosh<L: Level>(self) -> Self {
        inverse_hyperbolic::acosh::<Self, L>(self)
    }

    /// The inverse of the hyperbolic tangent; infinite at -1 and 1, NaN beyond.
    #[inline(always)]
    fn atanh<L: Level>(self) -> Self {
        inverse_hyperbolic::atanh::<Self, L>(self)
    }

    /// sqrt(self^2 + y^2), where only the result may overflow or underflow; infinite if either is, even with
    /// NaN.
    #[inline(always)]
    fn hypot<L: Level>(self, y: Self) -> Self {
        hypot::hypot::<Self, L>(self, y)
    }

    /// `self` to the power `y`, with all special cases of C99's `pow`: among them 1 for `x^0` and `1^y` even
    /// with NaN, and NaN for a negative `x` and a finite `y` that is not an integer.
    #[inline(always)]
    fn pow<L: Level>(self, y: Self) -> Self {
        pow::pow::<Self, L>(self, y)
    }

    /// 2^x, exact for integers. Overflows to infinity, underflows gradually to zero.
    #[inline(always)]
    fn exp2<L: Level>(self) -> Self {
        exp::exp2::<Self, L>(self)
    }

    /// e^x - 1, to full relative precision near zero.
    #[inline(always)]
    fn expm1<L: Level>(self) -> Self {
        exp::expm1::<Self, L>(self)
    }

    /// The logarithm to the base 2, exact for powers of two; -inf at zero of either sign, NaN below.
    #[inline(always)]
    fn log2<L: Level>(self) -> Self {
        log::log2::<Self, L>(self)
    }

    /// The logarithm to the base 10, exact for powers of ten; -inf at zero of either sign, NaN below.
    #[inline(always)]
    fn log10<L: Level>(self) -> Self {
        log::log10::<Self, L>(self)
    }

    /// log(1 + x), to full relative precision near zero; -inf at -1, NaN below.
    #[inline(always)]
    fn log1p<L: Level>(self) -> Self {
        log::log1p::<Self, L>(self)
    }

    /// The cube root, exact for cubes; of negative numbers too.
    #[inline(always)]
    fn cbrt<L: Level>(self) -> Self {
        cbrt::cbrt::<Self, L>(self)
    }

    /// The error function: 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x.
    #[inline(always)]
    fn erf<L: Level>(self) -> Self {
        erf::erf::<Self, L>(self)
    }

    /// 1 - erf x, to full relative precision for large x.
    #[inline(always)]
    fn erfc<L: Level>(self) -> Self {
        erf::erfc::<Self, L>(self)
    }

    /// The logistic function 1 / (1 + e^-x), to full relative precision for negative x.
    #[inline(always)]
    fn sigmoid<L: Level>(self) -> Self {
        logistic::sigmoid::<Self, L>(self)
    }

    /// log(1 + e^x), to full relative precision for negative x and without overflow.
    #[inline(always)]
    fn softplus<L: Level>(self) -> Self {
        logistic::softplus::<Self, L>(self)
    }

    /// x/2 (1 + erf(x / sqrt 2)), to full relative precision for negative x; -0 at -inf, the limit.
    #[inline(always)]
    fn gelu<L: Level>(self) -> Self {
        erf::gelu::<Self, L>(self)
    }

    /// `gelu` with tanh in place of erf: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); -0 at -inf.
    #[inline(always)]
    fn gelu_tanh<L: Level>(self) -> Self {
        logistic::gelu_tanh::<Self, L>(self)
    }

    /// x / (1 + e^-x); -0 at -inf, the limit from below.
    #[inline(always)]
    fn silu<L: Level>(self) -> Self {
        logistic::silu::<Self, L>(self)
    }

    /// log(e^x + e^y) without overflow; -inf of two -inf. A result near zero of negative operands is the
    /// difference of larger terms: its error is relative to those.
    #[inline(always)]
    fn logaddexp<L: Level>(self, y: Self) -> Self {
        logistic::logaddexp::<Self, L>(self, y)
    }

    /// C's `fmod`: `self - n y` with the integer n that truncates the quotient, exact for all arguments. The
    /// sign is that of `self`, also of a zero. NaN for an infinite `self` or a zero `y`.
    #[inline(always)]
    fn fmod<L: Level>(self, y: Self) -> Self {
        remainder::divide::<Self, L>(self, y, Division::Fmod)
    }

    /// Python's and NumPy's `%`: `fmod`, plus `y` if their signs differ, so that the sign is that of `y`, also
    /// of a zero. Only that sum rounds: a tiny `self` of the other sign gives `y` itself, even an infinite one.
    #[inline(always)]
    fn remainder<L: Level>(self, y: Self) -> Self {
        remainder::divide::<Self, L>(self, y, Division::Remainder)
    }

    /// NumPy's `//`: the quotient `(self - remainder) / y`, which is an integer but for rounding, made one. So
    /// it is NaN for an infinite `self`; by zero it is `self / y`.
    #[inline(always)]
    fn floor_divide<L: Level>(self, y: Self) -> Self {
        remainder::divide::<Self, L>(self, y, Division::FloorDivide)
    }

    /// The larger; NaN if either is, and +0 over -0.
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        let larger = if self > other { self } else { other };
        let result = if self == other { self.and_bits(other) } else { larger };
        if self.unordered() | other.unordered() { Self::NAN } else { result }
    }

    /// The smaller; NaN if either is, and -0 over +0.
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        let smaller = if self < other { self } else { other };
        let result = if self == other { self.or_bits(other) } else { smaller };
        if self.unordered() | other.unordered() { Self::NAN } else { result }
    }

    /// The larger, or the other one if one is NaN; NaN if both are.
    #[inline(always)]
    fn fmax(self, other: Self) -> Self {
        let known = if other.unordered() { self } else { self.maximum(other) };
        if self.unordered() { other.maximum(other) } else { known }
    }

    /// The smaller, or the other one if one is NaN; NaN if both are.
    #[inline(always)]
    fn fmin(self, other: Self) -> Self {
        let known = if other.unordered() { self } else { self.minimum(other) };
        if self.unordered() { other.minimum(other) } else { known }
    }

    /// -1, +0 or 1 by the sign; NaN for NaN.
    #[inline(always)]
    fn sign(self) -> Self {
        let one = Self::ONE.xor_sign(self);
        let result = if self == Self::ZERO { Self::ZERO } else { one };
        if self.unordered() { Self::NAN } else { result }
    }

    /// The neighbour of `self` in the direction of `other`; `other` if they are equal.
    #[inline(always)]
    fn nextafter(self, other: Self) -> Self {
        let stepped = if (self < other) == (self > Self::ZERO) { self.away() } else { self.toward_zero() };
        let least = Self::LEAST.xor_sign(other);
        let stepped = if self == Self::ZERO { least } else { stepped };
        let result = if self == other { other } else { stepped };
        if self.unordered() | other.unordered() { Self::NAN } else { result }
    }

    /// Degrees in radians, `self * (pi / 180)`.
    #[inline(always)]
    fn deg2rad(self) -> Self {
        self * Self::DEGREE
    }

    /// Radians in degrees, `self * (180 / pi)`.
    #[inline(always)]
    fn rad2deg(self) -> Self {
        self * Self::RADIAN
    }

    /// One degree in radians.
    const DEGREE: Self;
    /// One radian in degrees.
    const RADIAN: Self;
}

impl Real for f32 {
    const DEGREE: f32 = (std::f64::consts::PI / 180.0) as f32;
    const RADIAN: f32 = (180.0 / std::f64::consts::PI) as f32;
}

impl Real for f64 {
    const DEGREE: f64 = std::f64::consts::PI / 180.0;
    const RADIAN: f64 = 180.0 / std::f64::consts::PI;
}

/// Runs the examples of the page for registries.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
