//! Element types, their promotion rules, and single values.

use half::{bf16, f16};
use std::fmt;

/// The kind of arithmetic of a dtype. Rows of the op table define one meaning per class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
/// Every definition per dtype is generated from this table, so a new dtype is one new row.
#[macro_export]
macro_rules! for_each_dtype {
    ($callback:ident) => {
        $callback! {
            Bool, bool, "bool", Bool, 1;
            I8, i8, "i8", Int, 1;
            I16, i16, "i16", Int, 2;
            I32, i32, "i32", Int, 4;
            I64, i64, "i64", Int, 8;
            U8, u8, "u8", Int, 1;
            U16, u16, "u16", Int, 2;
            U32, u32, "u32", Int, 4;
            U64, u64, "u64", Int, 8;
            F16, half::f16, "f16", Float, 2;
            Bf16, half::bf16, "bf16", Float, 2;
            F32, f32, "f32", Float, 4;
            F64, f64, "f64", Float, 8;
        }
    };
}

macro_rules! define_dtype {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        /// The type of the elements of a tensor.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// Returns the name in messages and in the text language, such as `f32`.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// Returns the size of one element in bytes.
            pub const fn size(self) -> usize {
                match self { $(DType::$variant => $size,)* }
            }

            /// Returns the class of arithmetic.
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
            /// Returns the dtype of the value.
            pub fn dtype(self) -> DType {
                match self { $(Scalar::$variant(_) => DType::$variant,)* }
            }

            /// Converts the value to another dtype by the rule of `cast`: floats saturate to integers and NaN
            /// becomes 0, integers wrap, and a conversion to bool is `!= 0`.
            pub fn cast(self, to: DType) -> Scalar {
                self.number().to_scalar(to)
            }

            /// Returns the value as a number, exactly.
            pub fn number(self) -> AnyNumber {
                match self { $(Scalar::$variant(value) => value.into(),)* }
            }
        }

        impl AnyNumber {
            /// Converts the number to a dtype by the rule of `cast`, see [`Scalar::cast`].
            pub fn to_scalar(self, to: DType) -> Scalar {
                match to { $(DType::$variant => Scalar::$variant(<$rust as CastTarget>::of(self)),)* }
            }
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

/// A Rust type that can be the element of a tensor. Sealed: the set of dtypes is closed.
pub trait Element:
    sealed::Sealed + Copy + Default + Send + Sync + PartialOrd + fmt::Debug + Into<AnyNumber> + 'static
{
    /// The dtype of `Self`.
    const DTYPE: DType;
    /// Returns the value with its dtype.
    fn into_scalar(self) -> Scalar;
    /// Returns the value if its dtype is that of `Self`.
    fn from_scalar(value: Scalar) -> Option<Self>;
}

/// The widest form of a number of each class. It defines `cast` without a table of pairs.
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
any_number!(
    bool => Int, i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, u64 => Int,
    f16 => Float, bf16 => Float, f32 => Float, f64 => Float
);

trait CastTarget: Sized {
    fn of(value: AnyNumber) -> Self;
}

macro_rules! cast_target {
    ($($t:ty),*) => {$(
        impl CastTarget for $t {
            fn of(value: AnyNumber) -> Self {
                match value {
                    AnyNumber::Int(value) => value as $t,
                    AnyNumber::Float(value) => value as $t,
                }
            }
        }
    )*};
}
cast_target!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! half_target {
    ($($t:ty),*) => {$(
        impl CastTarget for $t {
            fn of(value: AnyNumber) -> Self {
                <$t>::from_f32(match value {
                    AnyNumber::Int(value) => value as f32,
                    AnyNumber::Float(value) => round_to_odd(value),
                })
            }
        }
    )*};
}
half_target!(f16, bf16);

/// Converts an `f64` to the `f32` that rounds on to 16 bits as the `f64` itself would: of the two neighbours of an
/// inexact value, the one with an odd significand, which never lies half way between two 16-bit floats.
fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    if back == value || value.is_nan() || bits & 1 == 1 {
        nearest
    } else if back.abs() < value.abs() {
        f32::from_bits(bits + 1)
    } else {
        f32::from_bits(bits - 1)
    }
}

impl CastTarget for bool {
    fn of(value: AnyNumber) -> Self {
        match value {
            AnyNumber::Int(value) => value != 0,
            AnyNumber::Float(value) => value != 0.0,
        }
    }
}

for_each_dtype!(define_dtype);

impl DType {
    /// Returns the code by which NumPy's files and dtypes name this dtype, its kind and its bytes: `f4`. NumPy has no `bf16`.
    pub fn numpy_code(self) -> Option<&'static str> {
        Some(match self {
            DType::Bool => "b1",
            DType::I8 => "i1",
            DType::I16 => "i2",
            DType::I32 => "i4",
            DType::I64 => "i8",
            DType::U8 => "u1",
            DType::U16 => "u2",
            DType::U32 => "u4",
            DType::U64 => "u8",
            DType::F16 => "f2",
            DType::F32 => "f4",
            DType::F64 => "f8",
            DType::Bf16 => return None,
        })
    }

    /// Returns the dtype of a code of NumPy's, without the order of bytes.
    pub fn of_numpy_code(code: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|dtype| dtype.numpy_code() == Some(code))
    }

    /// Returns whether this is `f16`, `bf16`, `f32` or `f64`.
    pub fn is_float(self) -> bool {
        self.class() == Class::Float
    }

    /// Returns whether this is `i8`, `i16`, `i32` or `i64`.
    pub fn is_signed_integer(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// Returns whether the other dtype represents every value exactly, so that a cast there and back restores it.
    pub fn is_exact_in(self, other: DType) -> bool {
        let bits = |dtype: DType| 8 * dtype.size() - usize::from(dtype.is_signed_integer());
        match (self.class(), other.class()) {
            _ if self == other => true,
            (Class::Bool, _) => true,
            (Class::Int, Class::Int) => {
                bits(self) <= bits(other) && (other.is_signed_integer() || !self.is_signed_integer())
            }
            (Class::Int, Class::Float) => bits(self) <= other.digits(),
            (Class::Float, Class::Float) => self.size() < other.size(),
            (Class::Int | Class::Float, Class::Bool) | (Class::Float, Class::Int) => false,
        }
    }

    /// Returns the number of digits in the significand of a float; 0 for other dtypes.
    pub fn digits(self) -> usize {
        match self {
            DType::F16 => 11,
            DType::Bf16 => 8,
            DType::F32 => f32::MANTISSA_DIGITS as usize,
            DType::F64 => f64::MANTISSA_DIGITS as usize,
            _ => 0,
        }
    }

    /// Returns the dtype in which arithmetic on `self` is done: `f32` for the 16-bit floats, whose ops each round
    /// the result to the type, and `self` for all others.
    pub fn arithmetic(self) -> DType {
        match self {
            DType::F16 | DType::Bf16 => DType::F32,
            _ => self,
        }
    }

    /// Returns the float dtype in which a recurrence of `self` is computed: `f64` for bool and integers.
    pub fn fractional(self) -> DType {
        if self.is_float() { self.arithmetic() } else { DType::F64 }
    }

    /// Returns the dtype of a float function of `self`: floats stay, bool and integers of 8 and 16 bits give `f32`,
    /// wider integers `f64`.
    pub fn function_float(self) -> DType {
        match self.class() {
            Class::Float => self,
            Class::Bool | Class::Int if self.size() <= 2 => DType::F32,
            Class::Bool | Class::Int => DType::F64,
        }
    }

    /// Returns the greatest finite number of a float.
    pub(crate) fn greatest_finite(self) -> f64 {
        match self {
            DType::F16 => half::f16::MAX.to_f64(),
            DType::Bf16 => half::bf16::MAX.to_f64(),
            DType::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        }
    }

    /// Returns the dtype in which `sum` and `prod` accumulate: 64 bits for integers and bool, `f32` for the 16-bit
    /// floats.
    pub fn accumulator(self) -> DType {
        match self.class() {
            Class::Float => self.arithmetic(),
            Class::Int if !self.is_signed_integer() => DType::U64,
            Class::Bool | Class::Int => DType::I64,
        }
    }

    /// Returns NumPy 2's `result_type` of two dtypes. `bf16` stays with integers, and gives `f32` with `f16`.
    pub fn promote(self, other: DType) -> DType {
        let (a, b) = if self.class() <= other.class() { (self, other) } else { (other, self) };
        match (a.class(), b.class()) {
            _ if a == b => a,
            (Class::Bool, _) => b,
            (Class::Int, Class::Int) => a.promote_integer(b),
            (Class::Int, Class::Float) => match b {
                DType::F16 if a.size() == 1 => DType::F16,
                DType::F16 | DType::F32 if a.size() <= 2 => DType::F32,
                DType::Bf16 => DType::Bf16,
                _ => DType::F64,
            },
            _ if a.size() == b.size() => DType::F32,
            _ if a.size() < b.size() => b,
            _ => a,
        }
    }

    /// Returns NumPy 2's `result_type` of several dtypes; `None` for no dtypes. The order does not matter: each
    /// integer is promoted with the common float, and not first with an integer of the other sign, which would give
    /// a wider float.
    pub fn promote_all(dtypes: impl IntoIterator<Item = DType>) -> Option<DType> {
        let (floats, others): (Vec<DType>, Vec<DType>) =
            dtypes.into_iter().partition(|dtype| dtype.is_float());
        floats.into_iter().chain(others).reduce(DType::promote)
    }

    /// Returns the smallest integer dtype that holds both, or `f64` if there is none.
    fn promote_integer(self, other: DType) -> DType {
        let (small, large) = if self.size() <= other.size() { (self, other) } else { (other, self) };
        let (signed, unsigned) = if self.is_signed_integer() { (self, other) } else { (other, self) };
        if small.is_signed_integer() == large.is_signed_integer()
            || large == signed && small.size() < large.size()
        {
            return large;
        }
        match unsigned {
            DType::U8 => DType::I16,
            DType::U16 => DType::I32,
            DType::U32 => DType::I64,
            _ => DType::F64,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bits of a value, zero-extended to 64.
trait Bits {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($t:ty: $value:ident => $bits:expr;)*) => {$(
        impl Bits for $t {
            fn bits(self) -> u64 {
                let $value = self;
                $bits.into()
            }
        }
    )*};
}
bits! {
    bool: x => x;
    i8: x => x.cast_unsigned();
    i16: x => x.cast_unsigned();
    i32: x => x.cast_unsigned();
    i64: x => x.cast_unsigned();
    u8: x => x;
    u16: x => x;
    u32: x => x;
    u64: x => x;
    f16: x => x.to_bits();
    bf16: x => x.to_bits();
    f32: x => x.to_bits();
    f64: x => x.to_bits();
}

macro_rules! scalar_by_dtype {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        impl Scalar {
            /// Returns the bits of the value, zero-extended to 64. Two scalars of one dtype are the same constant
            /// if and only if these are equal.
            pub fn bits(self) -> u64 {
                match self { $(Scalar::$variant(value) => Bits::bits(value),)* }
            }
        }

        impl fmt::Display for Scalar {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Scalar::$variant(value) => write!(f, "{value:?}"),)* }
            }
        }
    };
}
for_each_dtype!(scalar_by_dtype);

impl Scalar {
    /// Returns the value of a dtype with the given [bits](Scalar::bits), if there is one.
    pub fn from_bits(dtype: DType, bits: u64) -> Option<Scalar> {
        let value = match dtype {
            DType::F16 => Scalar::F16(f16::from_bits(u16::try_from(bits).ok()?)),
            DType::Bf16 => Scalar::Bf16(bf16::from_bits(u16::try_from(bits).ok()?)),
            DType::F32 => Scalar::F32(f32::from_bits(u32::try_from(bits).ok()?)),
            DType::F64 => Scalar::F64(f64::from_bits(bits)),
            _ => AnyNumber::Int(bits.into()).to_scalar(dtype),
        };
        (value.bits() == bits).then_some(value)
    }

    /// Returns whether both have the same dtype and the same bits, with all NaNs equal: the relation in which
    /// interpreter and compiled code agree.
    pub fn same(self, other: Scalar) -> bool {
        self.dtype() == other.dtype() && (self.bits() == other.bits() || self.is_nan() && other.is_nan())
    }

    /// Returns whether the value is a NaN.
    pub fn is_nan(self) -> bool {
        matches!(self.number(), AnyNumber::Float(value) if value.is_nan())
    }

    /// Returns whether the value is a negative integer.
    pub fn is_negative_integer(self) -> bool {
        matches!(self.number(), AnyNumber::Int(value) if value < 0)
    }
}

impl PartialEq for Scalar {
    /// Compares constants by dtype and bits, so `0.0 != -0.0`, and a NaN equals itself.
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
