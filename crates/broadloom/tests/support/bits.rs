//! The bits of values and arrays, to be compared.

use broadloom::AnyArray;
use broadloom::prelude::*;
use broadloom_ir::dtype::Scalar;

/// The bits of a value, of which all NaNs are one.
pub fn bits(value: Scalar) -> u64 {
    let is_nan =
        value.dtype().is_float() && matches!(value.cast(DType::F64), Scalar::F64(value) if value.is_nan());
    if is_nan { u64::MAX } else { value.bits() }
}

/// The bits of the elements of an array.
pub fn array_bits(array: &AnyArray) -> Vec<u64> {
    macro_rules! of {
        ($($type:ty)*) => {
            $(if let Some(values) = array.as_slice::<$type>() {
                return values.iter().map(|value| bits(value.into_scalar())).collect();
            })*
        };
    }
    of! { bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 }
    panic!("{:?}", array.dtype())
}
