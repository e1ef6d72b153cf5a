//! Element types, their promotion, and single values of them.

use std::fmt;

/// What arithmetic a dtype has. Rows of the op table define a meaning per class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Truth values.
    Bool,
    /// Wrapping two's complement or unsigned integers.
    Int,
    /// IEEE 754 binary floating point.
    Float,
}

/// Calls a macro with one row per dtype: variant, Rust type, name, class, size in bytes.
///
/// Everything that is said per dtype is generated from here, so that a further dtype is one more row.
#[macro_export]
macro_rules! for_each_dtype {
    ($callback:ident) => {
        $callback! {
            Bool, bool, "bool", Bool, 1;
            U8, u8, "u8", Int, 1;
            I32, i32, "i32", Int, 4;
            I64, i64, "i64", Int, 8;
            F32, f32, "f32", Float, 4;
            F64, f64, "f64", Float, 8;
        }
    };
}

macro_rules! define_dtype {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        /// The type of a tensor's elements.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The name in messages and in the text language, e.g. `f32`.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// Size of one element in bytes.
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => $size,)* }
            }

            /// The class of arithmetic.
            pub fn class(self) -> Class {
                match self { $(DType::$variant => Class::$class,)* }
            }
        }

        /// One value of some dtype.
        #[derive(Debug, Clone, Copy)]
        pub enum Scalar {
            $(#[doc = concat!("A value of `", $name, "`.")] $variant($rust),)*
        }

        impl Scalar {
            /// The dtype of the value.
            pub fn dtype(self) -> DType {
                match self { $(Scalar::$variant(_) => DType::$variant,)* }
            }

            /// The value converted to another dtype by the rule of `cast`: float to integer saturates and NaN
            /// gives 0, integers wrap, anything to bool is `!= 0`.
            pub fn cast(self, to: DType) -> Scalar {
                match self { $(Scalar::$variant(value) => cast_from(value, to),)* }
            }
        }

        fn cast_from<T: Element>(value: T, to: DType) -> Scalar {
            match to { $(DType::$variant => Scalar::$variant(<$rust as CastTarget>::of(value)),)* }
        }

        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust {
                const DTYPE: DType = DType::$variant;
                fn into_scalar(self) -> Scalar {
                    Scalar::$variant(self)
                }
                fn from_scalar(value: Scalar) -> Option<Self> {
                    if let Scalar::$variant(value) = value { Some(value) } else { None }
                }
            }
        )*
    };
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that a tensor can hold. Sealed: the set of dtypes is closed.
pub trait Element:
    sealed::Sealed + Copy + Default + Send + Sync + PartialOrd + fmt::Debug + Into<AnyNumber> + 'static
{
    /// The dtype of `Self`.
    const DTYPE: DType;
    /// The value with its dtype.
    fn into_scalar(self) -> Scalar;
    /// The value back, if its dtype is that of `Self`.
    fn from_scalar(value: Scalar) -> Option<Self>;
}

/// The widest form of a number of each class, from which `cast` is defined without a pair table.
#[derive(Debug, Clone, Copy)]
pub enum AnyNumber {
    /// A truth value or an integer, exactly.
    Int(i128),
    /// A float of any width, exactly.
    Float(f64),
}

macro_rules! any_number {
    ($($t:ty => $variant:ident),*) => {$(
        impl From<$t> for AnyNumber {
            fn from(value: $t) -> Self {
                AnyNumber::$variant(value.into())
            }
        }
    )*};
}
any_number!(bool => Int, u8 => Int, i32 => Int, i64 => Int, f32 => Float, f64 => Float);

trait CastTarget: Sized {
    fn of(value: impl Into<AnyNumber>) -> Self;
}

macro_rules! cast_target {
    ($($t:ty),*) => {$(
        impl CastTarget for $t {
            fn of(value: impl Into<AnyNumber>) -> Self {
                match value.into() {
                    AnyNumber::Int(value) => value as $t,
                    AnyNumber::Float(value) => value as $t,
                }
            }
        }
    )*};
}
cast_target!(u8, i32, i64, f32, f64);

impl CastTarget for bool {
    fn of(value: impl Into<AnyNumber>) -> Self {
        match value.into() {
            AnyNumber::Int(value) => value != 0,
            AnyNumber::Float(value) => value != 0.0,
        }
    }
}

for_each_dtype!(define_dtype);

impl DType {
    /// True for `f32` and `f64`.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// The dtype in which a float function of `self` computes: itself for floats, `f32` for bool and 8-bit
    /// integers, `f64` for wider integers.
    pub fn function_float(self) -> DType {
        match self {
            DType::Bool | DType::U8 | DType::F32 => DType::F32,
            DType::I32 | DType::I64 | DType::F64 => DType::F64,
        }
    }

    /// The dtype in which `sum` and `prod` accumulate, and which they give.
    pub fn accumulator(self) -> DType {
        match self {
            DType::Bool | DType::U8 | DType::I32 | DType::I64 => DType::I64,
            DType::F32 => DType::F32,
            DType::F64 => DType::F64,
        }
    }

    /// NumPy 2's `result_type` of two dtypes.
    pub fn promote(self, other: DType) -> DType {
        use DType::*;
        match (self, other) {
            (a, b) if a == b => a,
            (Bool, x) | (x, Bool) => x,
            (F64, _) | (_, F64) => F64,
            (F32, I32 | I64) | (I32 | I64, F32) => F64,
            (F32, _) | (_, F32) => F32,
            (I64, _) | (_, I64) => I64,
            (I32, _) | (_, I32) => I32,
            (U8, U8) => U8,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scalar {
    /// The bits of the value, zero-extended to 64. Two scalars of one dtype are the same constant iff these agree.
    pub fn bits(self) -> u64 {
        match self {
            Scalar::Bool(value) => value.into(),
            Scalar::U8(value) => value.into(),
            Scalar::I32(value) => u64::from(value.cast_unsigned()),
            Scalar::I64(value) => value.cast_unsigned(),
            Scalar::F32(value) => value.to_bits().into(),
            Scalar::F64(value) => value.to_bits(),
        }
    }

    /// True if both have the same dtype and the same bits, where all NaNs count as equal: the relation in which
    /// interpreter and compiled code agree.
    pub fn same(self, other: Scalar) -> bool {
        let nan = |value: Scalar| match value {
            Scalar::F32(value) => value.is_nan(),
            Scalar::F64(value) => value.is_nan(),
            Scalar::Bool(_) | Scalar::U8(_) | Scalar::I32(_) | Scalar::I64(_) => false,
        };
        self.dtype() == other.dtype() && (self.bits() == other.bits() || nan(self) && nan(other))
    }
}

impl PartialEq for Scalar {
    /// Equality of constants: dtype and bits, so that `0.0 != -0.0` and a NaN equals itself.
    fn eq(&self, other: &Scalar) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => write!(f, "{value}"),
            Scalar::U8(value) => write!(f, "{value}"),
            Scalar::I32(value) => write!(f, "{value}"),
            Scalar::I64(value) => write!(f, "{value}"),
            Scalar::F32(value) => write!(f, "{value:?}"),
            Scalar::F64(value) => write!(f, "{value:?}"),
        }
    }
}
