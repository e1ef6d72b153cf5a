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

/// The interval of a dtype of integers that `i64` holds, or of truth values as numbers: a byte of which nothing is known.
pub(crate) fn of_dtype(dtype: DType) -> Option<Interval> {
    match (dtype.class(), dtype.is_signed_integer()) {
        (Class::Bool, _) => Some([0, 255]),
        (Class::Int, true) => {
            Some([i64::MIN >> (64 - 8 * dtype.size()), i64::MAX >> (64 - 8 * dtype.size())])
        }
        (Class::Int, false) if dtype.size() < 8 => Some([0, (1 << (8 * dtype.size())) - 1]),
        _ => None,
    }
}

/// The interval of everything that lies in one of some.
pub(crate) fn union(intervals: impl IntoIterator<Item = Option<Interval>>) -> Option<Interval> {
    let mut intervals = intervals.into_iter();
    let first = intervals.next()??;
    intervals.try_fold(first, |[least, most], next| next.map(|[low, high]| [least.min(low), most.max(high)]))
}

/// The interval of the results of an op, before they wrap; `None` if nothing is known of it.
pub(crate) fn of_op(op: Op, args: &[Interval]) -> Option<Interval> {
    let are_truths = || args.iter().all(|[least, most]| *least >= 0 && *most <= 1);
    match (op, args) {
        (Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor | Op::LogicalNot, _) if are_truths() => Some([0, 1]),
        (Op::Positive, [x]) => Some(*x),
        (Op::Add, [[a, b], [c, d]]) => Some([a.checked_add(*c)?, b.checked_add(*d)?]),
        (Op::Subtract, [[a, b], [c, d]]) => Some([a.checked_sub(*d)?, b.checked_sub(*c)?]),
        (Op::Minimum, [[a, b], [c, d]]) => Some([*a.min(c), *b.min(d)]),
        (Op::Maximum, [[a, b], [c, d]]) => Some([*a.max(c), *b.max(d)]),
        (Op::Clip, [x, low, high]) => of_op(Op::Minimum, &[of_op(Op::Maximum, &[*x, *low])?, *high]),
        (Op::Remainder, [_, [a, b]]) if *a > 0 => Some([0, b - 1]),
        // The bits of a number that is not negative are all that is left.
        (Op::BitwiseAnd, [[a, b], [c, d]]) if *a >= 0 && *c >= 0 => Some([0, *b.min(d)]),
        (Op::BitwiseAnd, [[a, most], _] | [_, [a, most]]) if *a >= 0 => Some([0, *most]),
        (Op::BitwiseRightShift, [[a, b], [c, d]]) if c == d && (0..64).contains(c) => Some([a >> c, b >> c]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lie_in_their_intervals() {
        let ends = -4..=5_i64;
        let intervals: Vec<Interval> =
            ends.clone().flat_map(|low| (low..=5).map(move |high| [low, high])).collect();
        let ops = [
            Op::Positive,
            Op::Add,
            Op::Subtract,
            Op::Minimum,
            Op::Maximum,
            Op::Clip,
            Op::Remainder,
            Op::BitwiseAnd,
            Op::BitwiseRightShift,
        ];
        for op in ops {
            // All of the first operand, and a few of the others.
            for first in &intervals {
                for others in intervals.iter().step_by(7) {
                    let args: Vec<Interval> =
                        [*first, *others, [-1, 3]].into_iter().take(op.arity()).collect();
                    let Some([least, most]) = of_op(op, &args) else { continue };
                    let mut tuples: Vec<Vec<i64>> = vec![Vec::new()];
                    for [low, high] in &args {
                        let with = |tuple: &Vec<i64>, value| tuple.iter().copied().chain([value]).collect();
                        tuples = tuples
                            .iter()
                            .flat_map(|tuple| (*low..=*high).map(move |value| with(tuple, value)))
                            .collect();
                    }
                    for tuple in tuples {
                        let operands: Vec<Scalar> = tuple.iter().map(|value| Scalar::I64(*value)).collect();
                        let Some(Scalar::I64(result)) = op.evaluate(true, &operands) else {
                            panic!("{op} of {tuple:?}")
                        };
                        assert!((least..=most).contains(&result), "{op} of {tuple:?} is {result}: {args:?}");
                    }
                }
            }
        }
    }
}
