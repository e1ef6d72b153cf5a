//! The roles of literals beside tensors, which decide what happens to a literal that their dtype cannot hold.

use super::Literal;
use crate::dtype::{AnyNumber, Class, DType, Scalar};
use crate::ops::{Domain, Op};

/// The role of a literal beside tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralRole {
    /// A value of the dtype of the tensors, which must hold it.
    Value,
    /// An operand that the op converts together with the tensors, which need not be able to hold it: in `x / 256`,
    /// an `x` of `u8` becomes `f64`.
    Computed(Op),
    /// A number that elements are compared with. The result is known although no element can be that number.
    Compared,
    /// A number that is searched for, or is a bound of bins: compared as it is, never rounded to a narrower float.
    Searched,
    /// An operand that the function converts to `f64`, as it is.
    Wide,
    /// An array of its own, as a list of one number would be, with the dtype of the number.
    Own,
    /// The lower limit of elements; below all of them it changes nothing.
    Low,
    /// The upper limit of elements; above all of them it changes nothing.
    High,
}

impl LiteralRole {
    /// Returns the dtype that a number without one of its own takes, if it is known only in a run.
    pub fn of_run(self, meets: DType) -> DType {
        match self {
            LiteralRole::Searched | LiteralRole::Wide | LiteralRole::Own => DType::Bool,
            _ => meets,
        }
    }

    /// Returns the role of the operand of an op at a position.
    pub fn of(op: Op, position: usize) -> LiteralRole {
        match (op, position, op.domain()) {
            (Op::Clip, 1, _) => LiteralRole::Low,
            (Op::Clip, 2, _) => LiteralRole::High,
            (_, _, Domain::Number) if op.is_comparison() => LiteralRole::Compared,
            (_, _, Domain::Number | Domain::Arithmetic) => LiteralRole::Value,
            (_, _, Domain::Real | Domain::Quotient | Domain::Logical) => LiteralRole::Computed(op),
        }
    }
}

/// Returns whether a float dtype holds the literal without rounding it.
pub(super) fn is_exact(value: Literal, meets: DType) -> bool {
    let float = value.to_f64();
    value.to_scalar(meets).is_some_and(|held| match held.number() {
        AnyNumber::Float(held) => held == float || float.is_nan(),
        AnyNumber::Int(_) => true,
    })
}

/// Returns a constant that compares with every value of a dtype as a literal does that the dtype cannot hold.
pub(super) fn beyond(value: Literal, meets: DType) -> Scalar {
    let held = |dtype: DType| value.to_scalar(dtype);
    let wider = match meets.class() {
        Class::Float => held(DType::F64),
        Class::Bool | Class::Int => held(DType::I64).or_else(|| held(DType::U64)),
    };
    wider.unwrap_or_else(|| {
        // The integers next to the ends of 64 bits round to those ends; the comparison must stay beyond them.
        let (least, most) = (i64::MIN as f64, u64::MAX as f64);
        let float = value.to_f64();
        Scalar::F64(if float < 0.0 { float.min(least.next_down()) } else { float.max(most.next_up()) })
    })
}
