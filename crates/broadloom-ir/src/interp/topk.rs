//! The best elements along an axis, by sorting all of them.

use super::Array;
use super::error::{Fault, Rule};
use super::reduce::{apply, is_nan};
use super::view::{element_count, row_major, with_room};
use crate::dtype::{DType, Scalar};
use crate::graph::TopK;
use crate::ops::Op;
use crate::reduce::NO_INDEX;
use std::cmp::Ordering;

/// Returns the best elements along an axis, or their indices.
pub(super) fn topk(topk: TopK, operand: &Array, fused: bool) -> Result<Array, Fault> {
    let TopK { axis, k, largest, indices } = topk;
    let length = *operand.shape.get(axis).ok_or(Fault::Unsound(Rule::Axes))?;
    let mut shape = operand.shape.clone();
    shape[axis] = k;
    let mut elements = with_room(&shape)?;
    // The value for elements that short rows lack. An axis that a caller names has an obligation of its own.
    let missing = if indices { Scalar::I64(NO_INDEX) } else { topk.first().identity(operand.dtype) };
    elements.resize(element_count(&shape)?, missing);
    let inner = row_major(&operand.shape)[axis];
    let count = if elements.is_empty() { 0 } else { element_count(&shape)? / (k * inner) };
    for outer in 0..count {
        for column in 0..inner {
            let at = |index: usize| operand.elements[(outer * length + index) * inner + column];
            let mut row = Vec::with_capacity(length);
            for index in 0..length {
                row.push((rank(at(index), is_nan(at(index), fused)?), index));
            }
            // The sort is stable: among equal elements the lower index comes first.
            row.sort_by(|(left, _), (right, _)| {
                let order = left.compare(right, !indices);
                // A NaN is the best in either order.
                let is_reversed = largest && !matches!((left, right), (Rank::Nan, _) | (_, Rank::Nan));
                if is_reversed { order.reverse() } else { order }
            });
            for (place, (_, index)) in row.into_iter().take(k).enumerate() {
                elements[(outer * k + place) * inner + column] = match indices {
                    true => Scalar::I64(i64::try_from(index).map_err(|_| Fault::Unsound(Rule::Axes))?),
                    // All NaNs count as one value.
                    false => apply(Op::Maximum, fused, &[at(index), at(index)])?,
                };
            }
        }
    }
    let dtype = if indices { DType::I64 } else { operand.dtype };
    Ok(Array { dtype, shape, elements })
}

/// The value by which an element is compared.
pub(super) enum Rank {
    Nan,
    Float(f64),
    Integer(i128),
}

pub(super) fn rank(element: Scalar, is_nan: bool) -> Rank {
    match (element, element.cast(DType::F64), element.cast(DType::I64)) {
        _ if is_nan => Rank::Nan,
        (Scalar::U64(value), ..) => Rank::Integer(value.into()),
        (_, Scalar::F64(value), _) if element.dtype().is_float() => Rank::Float(value),
        (.., Scalar::I64(value)) => Rank::Integer(value.into()),
        // A cast has the requested dtype.
        _ => Rank::Nan,
    }
}

impl Rank {
    /// Compares in ascending order, with NaN first. Zeros differ as values, but not in their positions.
    pub(super) fn compare(&self, other: &Rank, by_sign_of_zero: bool) -> Ordering {
        match (self, other) {
            (Rank::Nan, Rank::Nan) => Ordering::Equal,
            (Rank::Nan, _) => Ordering::Less,
            (_, Rank::Nan) => Ordering::Greater,
            (Rank::Float(left), Rank::Float(right)) if by_sign_of_zero => left.total_cmp(right),
            (Rank::Float(left), Rank::Float(right)) => left.partial_cmp(right).unwrap_or(Ordering::Equal),
            (Rank::Integer(left), Rank::Integer(right)) => left.cmp(right),
            // All elements of an array have one dtype.
            _ => Ordering::Equal,
        }
    }
}
