//! Stable sorts and binary searches.

use super::Array;
use super::error::{Fault, Rule};
use super::reduce::{apply, is_nan};
use super::topk::{Rank, rank};
use super::view::{element_count, row_major, with_room};
use crate::dtype::{DType, Scalar};
use crate::graph::Sort;
use crate::ops::Op;
use std::cmp::Ordering;

/// Returns the elements along an axis in order, or their indices.
pub(super) fn sort(sort: Sort, operand: &Array, fused: bool) -> Result<Array, Fault> {
    let length = *operand.shape.get(sort.axis).ok_or(Fault::Unsound(Rule::Axes))?;
    let inner = row_major(&operand.shape)[sort.axis];
    let mut elements = with_room(&operand.shape)?;
    elements.resize(element_count(&operand.shape)?, Scalar::I64(0));
    let rows = if elements.is_empty() { 0 } else { elements.len() / length };
    for row in 0..rows {
        let place = |index: usize| (row / inner * length + index) * inner + row % inner;
        let mut ranked = Vec::with_capacity(length);
        for index in 0..length {
            let element = operand.elements[place(index)];
            ranked.push((rank(element, is_nan(element, fused)?), index));
        }
        ranked.sort_by(|(left, _), (right, _)| {
            let order = ascending(left, right, !sort.indices);
            if sort.descending { order.reverse() } else { order }
        });
        for (to, (_, from)) in ranked.into_iter().enumerate() {
            let element = operand.elements[place(from)];
            elements[place(to)] = match sort.indices {
                true => index(from)?,
                // All NaNs count as one value.
                false => apply(Op::Maximum, fused, &[element, element])?,
            };
        }
    }
    let dtype = if sort.indices { DType::I64 } else { operand.dtype };
    Ok(Array { dtype, shape: operand.shape.clone(), elements })
}

/// Returns the positions of values in a table.
pub(super) fn search(table: &Array, values: &Array, right: bool, fused: bool) -> Result<Array, Fault> {
    if table.dtype != values.dtype {
        return Err(Fault::Unsound(Rule::Types));
    }
    let ranked = |element: &Scalar| Ok(rank(*element, is_nan(*element, fused)?));
    let table = table.elements.iter().map(ranked).collect::<Result<Vec<Rank>, Fault>>()?;
    let mut elements = with_room(&values.shape)?;
    for value in &values.elements {
        let value = ranked(value)?;
        let (mut first, mut last) = (0, table.len());
        while first < last {
            let middle = first + (last - first) / 2;
            let is_before = match ascending(&table[middle], &value, false) {
                Ordering::Less => true,
                Ordering::Equal => right,
                Ordering::Greater => false,
            };
            if is_before {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        elements.push(index(first)?);
    }
    Ok(Array { dtype: DType::I64, shape: values.shape.clone(), elements })
}

/// Orders NaN after all numbers.
fn ascending(left: &Rank, right: &Rank, by_sign_of_zero: bool) -> Ordering {
    let order = left.compare(right, by_sign_of_zero);
    if matches!((left, right), (Rank::Nan, _) | (_, Rank::Nan)) { order.reverse() } else { order }
}

fn index(index: usize) -> Result<Scalar, Fault> {
    i64::try_from(index).map(Scalar::I64).map_err(|_| Fault::Unsound(Rule::Axes))
}
