//! Literals: constants without a dtype of their own.

use crate::dtype::{Class, DType, Scalar};
use std::fmt;

/// A number written in the source, which takes the dtype of the tensor that it meets (NEP 50).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Literal {
    /// A truth value; always bool.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Literal {
    /// The dtype that the literal takes when it meets `meets`: integers that meet bool become `i64`, floats that
    /// meet integers or bool `f64`.
    pub fn dtype(self, meets: DType) -> DType {
        match (self, meets.class()) {
            (Literal::Bool(_), _) => DType::Bool,
            (Literal::Int(_), Class::Bool) => DType::I64,
            (Literal::Float(_), Class::Bool | Class::Int) => DType::F64,
            (Literal::Int(_), Class::Int | Class::Float) | (Literal::Float(_), Class::Float) => meets,
        }
    }

    /// The value in a dtype, unless it does not fit. Floats round.
    pub fn to_scalar(self, dtype: DType) -> Option<Scalar> {
        match self {
            Literal::Bool(value) => Some(Scalar::Bool(value).cast(dtype)),
            Literal::Int(value) => match dtype {
                DType::Bool => None,
                DType::U8 => value.try_into().ok().map(Scalar::U8),
                DType::I32 => value.try_into().ok().map(Scalar::I32),
                DType::I64 => value.try_into().ok().map(Scalar::I64),
                DType::F32 => Some(Scalar::F32(value as f32)),
                DType::F64 => Some(Scalar::F64(value as f64)),
            },
            Literal::Float(value) => match dtype {
                DType::Bool | DType::U8 | DType::I32 | DType::I64 => None,
                DType::F32 if value.is_finite() && (value as f32).is_infinite() => None,
                DType::F32 | DType::F64 => Some(Scalar::F64(value).cast(dtype)),
            },
        }
    }

    /// The value as the nearest float.
    pub(super) fn to_f64(self) -> f64 {
        match self {
            Literal::Bool(value) => value.into(),
            Literal::Int(value) => value as f64,
            Literal::Float(value) => value,
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Int(value) => write!(f, "{value}"),
            Literal::Float(value) => write!(f, "{value:?}"),
        }
    }
}
