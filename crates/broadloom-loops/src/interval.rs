//! Intervals of integers.

use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;

/// The least and the greatest of some integers.
pub(crate) type Interval = [i64; 2];

/// The interval of a constant that is an integer or a truth value.
pub(crate) fn of_constant(value: Scalar) -> Option<Interval> {
    match (of_dtype(value.dtype())?, value.cast(DType::I64)) {
        (_, Scalar::I64(value)) => Some([value; 2]),
        _ => None,
    }
}

/// The interval of a dtype of integers that `i64` holds, or of truth values as numbers.
pub(crate) fn of_dtype(dtype: DType) -> Option<Interval> {
    match (dtype.class(), dtype.is_signed_integer()) {
        (Class::Bool, _) => Some([0, 1]),
        (Class::Int, true) => {
            Some([i64::MIN >> (64 - 8 * dtype.size()), i64::MAX >> (64 - 8 * dtype.size())])
        }
        (Class::Int, false) if dtype.size() < 8 => Some([0, (1 << (8 * dtype.size())) - 1]),
        _ => None,
    }
}

/// The interval of the results of an op, before they wrap; `None` if nothing is known of it.
pub(crate) fn of_op(op: Op, args: &[Interval]) -> Option<Interval> {
    match (op, args) {
        (Op::Positive, [x]) => Some(*x),
        (Op::Add, [[a, b], [c, d]]) => Some([a.checked_add(*c)?, b.checked_add(*d)?]),
        (Op::Subtract, [[a, b], [c, d]]) => Some([a.checked_sub(*d)?, b.checked_sub(*c)?]),
        (Op::Minimum, [[a, b], [c, d]]) => Some([*a.min(c), *b.min(d)]),
        (Op::Maximum, [[a, b], [c, d]]) => Some([*a.max(c), *b.max(d)]),
        (Op::Clip, [x, low, high]) => of_op(Op::Minimum, &[of_op(Op::Maximum, &[*x, *low])?, *high]),
        (Op::Remainder, [_, [a, b]]) if *a > 0 => Some([0, b - 1]),
        (Op::BitwiseAnd, [[a, b], [c, d]]) if *a >= 0 && *c >= 0 => Some([0, *b.min(d)]),
        _ => None,
    }
}
