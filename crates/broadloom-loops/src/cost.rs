//! The table of costs, on which every choice between recomputing and storing rests.
//!
//! The unit is the time that a vector loop takes for one addition per element. The figures are estimates, not
//! measurements; only their order of magnitude matters. `thresholds` holds the costs at which decisions change.

use broadloom_ir::dtype::{Class, DType};
use broadloom_ir::ops::Op;

/// Reading an element from a cache, including its address arithmetic.
pub const LOAD: u32 = 2;
/// Writing an element to a separate array and reading it back: it streams through memory twice.
pub const MATERIALISE: u32 = 24;
/// Reading an element at an index given by data.
pub const GATHER: u32 = 4;
/// Finding a position in a sorted table: about ten dependent reads at data-dependent indices.
pub const SEARCH: u32 = 64;
/// Sorting one element among many.
pub const SORT: u32 = 64;
/// A select, or a conversion between dtypes.
pub const SELECT: u32 = 1;
/// The least cost of a reduction, whatever it reads: it is a loop of its own.
pub const REDUCTION: u32 = 16;

/// Returns the cost of one evaluation of an op on operands of a dtype.
pub fn op(op: Op, dtype: DType) -> u32 {
    let class = dtype.class();
    let cost = match op {
        Op::Add
        | Op::Subtract
        | Op::Negative
        | Op::Positive
        | Op::StopGradient
        | Op::WithGradient
        | Op::Abs
        | Op::Fma
        | Op::Deg2rad
        | Op::Rad2deg
        | Op::BitwiseAnd
        | Op::BitwiseOr
        | Op::BitwiseXor
        | Op::BitwiseInvert
        | Op::Isnan
        | Op::Isinf
        | Op::Isfinite
        | Op::Signbit
        | Op::Equal
        | Op::NotEqual
        | Op::Less
        | Op::LessEqual
        | Op::Greater
        | Op::GreaterEqual
        | Op::LogicalAnd
        | Op::LogicalOr
        | Op::LogicalXor
        | Op::LogicalNot => 1,
        // A 64-bit product takes three 32-bit products, an 8-bit product two 16-bit ones.
        Op::Multiply | Op::Square if class == Class::Int && matches!(dtype.size(), 1 | 8) => 3,
        Op::Multiply | Op::Square => 1,
        // The NaN rule takes another comparison and select.
        Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin | Op::Relu if class == Class::Float => 3,
        Op::Maximum | Op::Minimum | Op::Fmax | Op::Fmin | Op::Relu => 1,
        Op::Clip | Op::Sign | Op::Copysign => 3,
        Op::Floor | Op::Ceil | Op::Trunc | Op::Round => 2,
        Op::BitwiseLeftShift | Op::BitwiseRightShift => 2,
        Op::Divide | Op::Sqrt | Op::Reciprocal => 4,
        Op::Rsqrt => 8,
        Op::CountOnes | Op::LeadingZeros | Op::Nextafter => 8,
        // Integer division runs element by element.
        Op::FloorDivide | Op::Remainder | Op::Fmod => 24,
        Op::Hypot => 12,
        Op::Exp
        | Op::Exp2
        | Op::Expm1
        | Op::Log
        | Op::Log2
        | Op::Log10
        | Op::Log1p
        | Op::Tanh
        | Op::Sigmoid
        | Op::Silu
        | Op::GeluTanh => 16,
        Op::Sin | Op::Cos | Op::Asin | Op::Acos | Op::Atan | Op::Erf | Op::Cbrt | Op::Sinh | Op::Cosh => 20,
        Op::Tan | Op::Atan2 | Op::Asinh | Op::Acosh | Op::Atanh | Op::Erfc | Op::Softplus | Op::Gelu => 28,
        Op::Logaddexp => 36,
        // These iterate until the remainder is zero, element by element.
        Op::Pow | Op::Gcd | Op::Lcm => 48,
    };
    // A register holds half as many elements, and the polynomials are longer.
    if dtype == DType::F64 && op.tile(dtype).is_some() { 2 * cost } else { cost }
}
