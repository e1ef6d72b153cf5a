//! The table of functions that exist as tiles. Each row generates a variant of the enum, a name and the tiles.
//!
//! ```text
//! /// Doc line.
//! name = Variant(operands) { the definition at T and L }
//! name = Variant(operands) traced { the definition at any value T and at L }
//!     rare condition => { the definition where the condition holds, at T and L }
//! ```
//!
//! `T` is the precision and `L` the [`Level`]. A `traced` definition takes any [`Value`], so it also exists as a
//! [`Trace`] for compiled kernels. A row with `rare` lanes has two definitions: the first runs on
//! all lanes, vectorised, and may give any number in rare lanes; then the second runs on those, one by one. The
//! condition takes any value like the first.
//! A function also has its method in [`Real`](crate::Real), its row in the tests' table, and its row in
//! `accuracy.tsv`.

use crate::float::Value;
use crate::level::{CpuLevel, Fused, Level, Unfused};
use crate::remainder::{self, Division};
use crate::tile::{Kernel, Precision, TileFn, at_level};
use crate::trace::Trace;
use crate::trig::{self, Wave};
use crate::{
    Tables, cbrt, erf, exp, hyperbolic, hypot, inverse_hyperbolic, inverse_trig, log, logistic, pow, tan,
    tanh,
};
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

macro_rules! arity {
    (($a:ident)) => {
        1
    };
    (($a:ident, $b:ident)) => {
        2
    };
}

/// A row's operands as a pattern for both operands of a tile.
macro_rules! pattern {
    (($a:ident)) => {
        ($a, _)
    };
    (($a:ident, $b:ident)) => {
        ($a, $b)
    };
}

/// The condition of a row with rare lanes, if it is one.
macro_rules! rare {
    () => {
        None
    };
    ($is_rare:expr) => {
        Some($is_rare)
    };
}

/// The trace of a definition.
macro_rules! trace {
    ($precision:ident, $level:ident, $operands:tt, ($($is_rare:expr)?)) => {
        None
    };
    ($precision:ident, $level:ident, $operands:tt, ($($is_rare:expr)?) $traced:expr) => {{
        fn define<T: Value<Format: Tables>, L: Level>(first: T, second: T) -> (T, Option<T::Mask>) {
            let pattern!($operands) = (first, second);
            ($traced, rare!($($is_rare)?))
        }
        Some(Trace::record::<$precision>(|first, second| define::<_, $level>(first, second)))
    }};
}

macro_rules! functions {
    ($(
        #[doc = $doc:literal]
        $name:ident = $variant:ident $operands:tt $({ $common:expr })? $(traced { $traced:expr })?
        $(rare $is_rare:expr => { $rare:expr })?
    )+) => {
        /// An elementary function that exists as tiles.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Function {
            $(#[doc = $doc] $variant,)+
        }

        impl Function {
            /// Every function.
            pub const ALL: [Function; [$(stringify!($name)),+].len()] = [$(Function::$variant),+];

            /// Returns the lower-case name, as in [`Real`](crate::Real).
            pub fn name(self) -> &'static str {
                match self {
                    $(Function::$variant => stringify!($name),)+
                }
            }

            /// Returns the number of operands: 1 or 2.
            pub fn arity(self) -> usize {
                match self {
                    $(Function::$variant => arity!($operands),)+
                }
            }

            /// Returns a sentence that says what it computes.
            pub fn doc(self) -> &'static str {
                match self {
                    $(Function::$variant => $doc.trim_ascii(),)+
                }
            }
        }

        /// The tile of a function, see [`tile_function`](crate::tile_function).
        pub(crate) fn tile_of<T: Tables>(function: Function, level: CpuLevel) -> TileFn {
            match function {
                $(Function::$variant => {
                    struct $variant<T>(PhantomData<T>);

                    impl<T: Tables> Kernel for $variant<T> {
                        type Element = T;
                        const BINARY: bool = arity!($operands) == 2;

                        #[inline(always)]
                        fn common<L: Level>(first: T, second: T) -> T {
                            let pattern!($operands) = (first, second);
                            $($common)? $($traced)?
                        }

                        $(
                            #[inline(always)]
                            fn is_rare<L: Level>(first: T, second: T) -> bool {
                                let pattern!($operands) = (first, second);
                                $is_rare
                            }

                            #[inline(always)]
                            fn rare<L: Level>(first: T, second: T) -> T {
                                let pattern!($operands) = (first, second);
                                $rare
                            }
                        )?
                    }

                    at_level::<$variant<T>>(level)
                })+
            }
        }

        /// The trace of a function, if its definition is traced.
        fn record<T: Tables, L: Level>(function: Function) -> Option<Trace> {
            match function {
                $(Function::$variant => {
                    trace!(T, L, $operands, ($($is_rare)?) $($traced)?)
                })+
            }
        }
    };
}

functions! {
    /// e^a.
    exp = Exp(a) traced { exp::exp::<T, L>(a) }
    /// The natural logarithm of a.
    log = Log(a) traced { log::log::<T, L>(a) }
    /// The sine of a.
    sin = Sin(a) traced { trig::common::<T, L>(a, Wave::Sin) }
        rare trig::is_rare::<T, L>(a) => { trig::rare::<T, L>(a, Wave::Sin) }
    /// The cosine of a.
    cos = Cos(a) traced { trig::common::<T, L>(a, Wave::Cos) }
        rare trig::is_rare::<T, L>(a) => { trig::rare::<T, L>(a, Wave::Cos) }
    /// The tangent of a.
    tan = Tan(a) traced { tan::common::<T, L>(a) }
        rare trig::is_rare::<T, L>(a) => { tan::rare::<T, L>(a) }
    /// The angle, -pi/2 to pi/2, whose sine is a.
    asin = Asin(a) traced { inverse_trig::asin::<T, L>(a) }
    /// The angle, 0 to pi, whose cosine is a.
    acos = Acos(a) traced { inverse_trig::acos::<T, L>(a) }
    /// The angle, -pi/2 to pi/2, whose tangent is a.
    atan = Atan(a) traced { inverse_trig::atan::<T, L>(a) }
    /// The angle, -pi to pi, of the point (b, a).
    atan2 = Atan2(a, b) traced { inverse_trig::atan2::<T, L>(a, b) }
    /// The hyperbolic sine of a.
    sinh = Sinh(a) traced { hyperbolic::sinh::<T, L>(a) }
    /// The hyperbolic cosine of a.
    cosh = Cosh(a) traced { hyperbolic::cosh::<T, L>(a) }
    /// The hyperbolic tangent of a.
    tanh = Tanh(a) traced { tanh::tanh::<T, L>(a) }
    /// The inverse hyperbolic sine of a.
    asinh = Asinh(a) traced { inverse_hyperbolic::asinh::<T, L>(a) }
    /// The inverse hyperbolic cosine of a.
    acosh = Acosh(a) traced { inverse_hyperbolic::acosh::<T, L>(a) }
    /// The inverse hyperbolic tangent of a.
    atanh = Atanh(a) traced { inverse_hyperbolic::atanh::<T, L>(a) }
    /// The length of the vector (a, b).
    hypot = Hypot(a, b) traced { hypot::hypot::<T, L>(a, b) }
    /// a to the power b.
    pow = Pow(a, b) { pow::pow::<T, L>(a, b) }
    /// 2^a.
    exp2 = Exp2(a) traced { exp::exp2::<T, L>(a) }
    /// e^a - 1.
    expm1 = Expm1(a) traced { exp::expm1::<T, L>(a) }
    /// The logarithm of a to the base 2.
    log2 = Log2(a) traced { log::log2::<T, L>(a) }
    /// The logarithm of a to the base 10.
    log10 = Log10(a) traced { log::log10::<T, L>(a) }
    /// The natural logarithm of 1 + a.
    log1p = Log1p(a) traced { log::log1p::<T, L>(a) }
    /// The cube root of a.
    cbrt = Cbrt(a) traced { cbrt::cbrt::<T, L>(a) }
    /// The error function of a.
    erf = Erf(a) traced { erf::erf::<T, L>(a) }
    /// 1 - erf a.
    erfc = Erfc(a) traced { erf::erfc::<T, L>(a) }
    /// 1 / (1 + e^-a).
    sigmoid = Sigmoid(a) traced { logistic::sigmoid::<T, L>(a) }
    /// log(1 + e^a).
    softplus = Softplus(a) traced { logistic::softplus::<T, L>(a) }
    /// a/2 (1 + erf(a / sqrt 2)).
    gelu = Gelu(a) traced { erf::gelu::<T, L>(a) }
    /// a/2 (1 + tanh(sqrt(2/pi) (a + 0.044715 a^3))).
    gelu_tanh = GeluTanh(a) traced { logistic::gelu_tanh::<T, L>(a) }
    /// a / (1 + e^-a).
    silu = Silu(a) traced { logistic::silu::<T, L>(a) }
    /// log(e^a + e^b).
    logaddexp = Logaddexp(a, b) traced { logistic::logaddexp::<T, L>(a, b) }
    /// The remainder of a divided by b, with the sign of a.
    fmod = Fmod(a, b) traced { remainder::common::<T, L>(a, b, Division::Fmod) }
        rare remainder::is_rare::<T, L>(a, b) => { remainder::rare::<T>(a, b, Division::Fmod) }
    /// The remainder of a divided by b, with the sign of b.
    remainder = Remainder(a, b) traced { remainder::common::<T, L>(a, b, Division::Remainder) }
        rare remainder::is_rare::<T, L>(a, b) => { remainder::rare::<T>(a, b, Division::Remainder) }
    /// The floor of a divided by b.
    floor_divide = FloorDivide(a, b) traced { remainder::common::<T, L>(a, b, Division::FloorDivide) }
        rare remainder::is_rare::<T, L>(a, b) => { remainder::rare::<T>(a, b, Division::FloorDivide) }
}

/// Returns the operations of a function, for code that computes lanes without calling it: `None` if its definition is
/// not traced.
pub fn trace(function: Function, precision: Precision, fused: bool) -> Option<&'static Trace> {
    static TRACES: [[OnceLock<Option<Trace>>; 4]; Function::ALL.len()] =
        [const { [const { OnceLock::new() }; 4] }; Function::ALL.len()];
    let record = match (precision, fused) {
        (Precision::F32, true) => record::<f32, Fused>,
        (Precision::F32, false) => record::<f32, Unfused>,
        (Precision::F64, true) => record::<f64, Fused>,
        (Precision::F64, false) => record::<f64, Unfused>,
    };
    let at = 2 * usize::from(precision == Precision::F64) + usize::from(fused);
    TRACES[function as usize][at].get_or_init(|| record(function)).as_ref()
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
