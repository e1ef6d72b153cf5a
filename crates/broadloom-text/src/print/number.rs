//! Prints constants as text that parses back to the same bits.

use broadloom_ir::dtype::{AnyNumber, Class, Scalar};
use broadloom_ir::graph::Literal;

/// A number without a dtype, for a place where the other operands give it the constant's.
pub(super) fn weak(value: Scalar) -> String {
    match value.number() {
        AnyNumber::Int(number) => match value.dtype().class() {
            Class::Bool => if number == 0 { "False" } else { "True" }.to_owned(),
            Class::Int | Class::Float => number.to_string(),
        },
        AnyNumber::Float(number) if number.is_nan() => {
            if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned()
        }
        AnyNumber::Float(number) => {
            // The shortest text of the constant's own dtype, if that is enough through the `f64` of literals.
            let short = value.to_string();
            let is_exact = |text: &String| {
                text.parse().is_ok_and(|read| Literal::Float(read).to_scalar(value.dtype()) == Some(value))
            };
            let has_point = short.contains(['.', 'e', 'i']);
            if has_point && is_exact(&short) { short } else { format!("{number:?}") }
        }
    }
}

/// A number with its own dtype.
pub(super) fn typed(value: Scalar) -> String {
    match is_weak(value) {
        true => format!("{}({})", value.dtype(), weak(value)),
        false => format!("from_bits({}, {:#x})", value.dtype(), value.bits()),
    }
}

/// Whether a number without a dtype determines all bits; for a NaN it gives only the sign.
pub(super) fn is_weak(value: Scalar) -> bool {
    match value.number() {
        AnyNumber::Float(number) if number.is_nan() => {
            let read = Literal::Float(f64::NAN.copysign(number)).to_scalar(value.dtype());
            read.is_some_and(|read| read.bits() == value.bits())
        }
        AnyNumber::Int(_) | AnyNumber::Float(_) => true,
    }
}

/// Whether a literal exponent of this value gives an op other than `pow`.
pub(super) fn is_rewritten_as_exponent(value: Scalar) -> bool {
    match value.number() {
        AnyNumber::Int(number) => number <= 2,
        AnyNumber::Float(number) => [-1.0, 0.0, 0.5, 1.0, 2.0].contains(&number),
    }
}
