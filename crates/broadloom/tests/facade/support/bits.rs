//! The bits of values and arrays, and of the outputs of a run beside those of the interpreter.

use broadloom::prelude::*;
use broadloom::{AnyArray, Executable, Outputs};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp;
use std::fmt::Display;

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

/// Whether the outputs of a run have the bits that the interpreter found.
pub fn assert_bits(kernel: &Executable, mut got: Outputs, want: &[interp::Array], what: impl Display) {
    for (output, want) in kernel.graph().outputs().iter().zip(want) {
        let got: AnyArray = got.take(&output.name).unwrap();
        let got = array_bits(&got);
        let want: Vec<u64> = want.elements.iter().map(|value| bits(*value)).collect();
        let differs = got.iter().zip(&want).position(|(got, want)| got != want);
        assert!(
            got.len() == want.len() && differs.is_none(),
            "{} of {what} at {differs:?}\n{}",
            output.name,
            kernel.explain()
        );
    }
}
