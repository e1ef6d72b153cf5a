//! Literals: constants without a dtype of their own.

use crate::dtype::{AnyNumber, Class, DType, Scalar};
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
    /// Returns the dtype that the literal takes beside `meets`: integers beside bool become `i64`, floats beside
    /// integers or bool become `f64`.
    pub fn dtype(self, meets: DType) -> DType {
        match (self, meets.class()) {
            (Literal::Bool(_), _) => DType::Bool,
            (Literal::Int(_), Class::Bool) => DType::I64,
            (Literal::Float(_), Class::Bool | Class::Int) => DType::F64,
            (Literal::Int(_), Class::Int | Class::Float) | (Literal::Float(_), Class::Float) => meets,
        }
    }

    /// Returns the value in a dtype; `None` if it does not fit. Floats round.
    pub fn to_scalar(self, dtype: DType) -> Option<Scalar> {
        match (self, dtype.class()) {
            (Literal::Bool(value), _) => Some(Scalar::Bool(value).cast(dtype)),
            (Literal::Int(_), Class::Bool) | (Literal::Float(_), Class::Bool | Class::Int) => None,
            (Literal::Int(value), Class::Int) => {
                let scalar = AnyNumber::Int(value).to_scalar(dtype);
                matches!(scalar.number(), AnyNumber::Int(fits) if fits == value).then_some(scalar)
            }
            (Literal::Int(value), Class::Float) => {
                let scalar = AnyNumber::Int(value).to_scalar(dtype);
                matches!(scalar.number(), AnyNumber::Float(fits) if fits.is_finite()).then_some(scalar)
            }
            (Literal::Float(value), Class::Float) => {
                let scalar = Scalar::F64(value).cast(dtype);
                let fits = matches!(scalar.number(), AnyNumber::Float(fits) if fits.is_finite());
                (fits || !value.is_finite()).then_some(scalar)
            }
        }
    }

    /// Returns whether the dtype that the literal takes beside `meets` holds it.
    pub fn fits(self, meets: DType) -> bool {
        self.to_scalar(self.dtype(meets)).is_some()
    }

    /// Returns the nearest float.
    pub fn to_f64(self) -> f64 {
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
