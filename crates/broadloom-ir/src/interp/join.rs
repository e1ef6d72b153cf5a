//! Concatenation, tables of segmented reductions, and rows that replace others.

use super::Array;
use super::error::{Fault, Rule};
use super::reduce::apply;
use super::view::{self, element_count, with_room};
use crate::dim::Dim;
use crate::dtype::Scalar;
use crate::ops::Op;
use crate::reduce::{ReduceOp, SEGMENT_BLOCK, rows_of_table, segment_tables};

/// Concatenates the operands along an axis.
pub(super) fn concat(operands: &[&Array], axis: usize) -> Result<Array, Fault> {
    let first = operands.first().ok_or(Fault::Unsound(Rule::Operand))?;
    let mut shape = first.shape.clone();
    let fits = |array: &&Array| {
        array.dtype == first.dtype
            && array.shape.len() == shape.len()
            && array.shape.iter().zip(&shape).enumerate().all(|(of, (a, b))| of == axis || a == b)
    };
    if axis >= shape.len() || !operands.iter().all(fits) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    shape[axis] = operands.iter().map(|array| array.shape[axis]).sum();
    let mut elements = with_room(&shape)?;
    let inner = element_count(&shape[axis + 1..])?;
    for outer in 0..element_count(&shape[..axis])? {
        for array in operands {
            let length = array.shape[axis] * inner;
            elements.extend_from_slice(&array.elements[outer * length..(outer + 1) * length]);
        }
    }
    Ok(Array { dtype: first.dtype, shape, elements })
}

/// The tables of a segmented reduction.
pub(super) struct Tables<'a> {
    pub shape: Vec<usize>,
    /// Whether sums keep what rounding loses of them.
    pub compensated: bool,
    /// The number of elements that determines the number of tables.
    pub elements: i64,
    pub initial: Option<&'a Array>,
}

/// Combines the rows of each segment with those of its table, in index order.
pub(super) fn segment(
    op: ReduceOp,
    values: &Array,
    ids: &Array,
    tables: Tables<'_>,
    fused: bool,
) -> Result<Array, Fault> {
    let Tables { shape, compensated, elements, initial } = tables;
    let kept = usize::from(compensated);
    let is_sum = op == ReduceOp::Sum && values.dtype.is_float();
    if !matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max) || compensated && !is_sum
    {
        return Err(Fault::Unsound(Rule::Types));
    }
    let (&[rows], &[leading, ref rest @ ..], &[count, segments, ref inner @ ..]) =
        (&ids.shape[..], &values.shape[..], &shape[..])
    else {
        return Err(Fault::Unsound(Rule::Axes));
    };
    let fits =
        rows == leading && inner.get(kept..) == Some(rest) && inner[..kept].iter().all(|size| *size == 2);
    if !fits || initial.is_some_and(|initial| initial.shape != shape) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let taken = segment_tables(&Dim::constant(elements)).and_then(|tables| rows_of_table(&tables));
    let taken = taken.ok().and_then(|taken| usize::try_from(taken.as_constant()?).ok());
    let taken = taken.filter(|taken| *taken > 0).ok_or(Fault::Unsound(Rule::Axes))?;
    if count.saturating_mul(taken) < rows.min(SEGMENT_BLOCK) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let width = element_count(rest)?;
    let mut elements = match initial {
        Some(initial) => initial.elements.clone(),
        None => {
            let mut elements = with_room(&shape)?;
            elements.resize(element_count(&shape)?, op.identity(values.dtype));
            elements
        }
    };
    for (row, id) in ids.elements.iter().enumerate() {
        let Scalar::I64(value) = *id else { return Err(Fault::Unsound(Rule::Types)) };
        let segment = usize::try_from(value).ok().filter(|segment| *segment < segments);
        let segment = segment.ok_or(Fault::Index { position: row, value, size: segments })?;
        let table = row % SEGMENT_BLOCK / taken;
        let first = (table * segments + segment) * width * (1 + kept);
        for column in first..first + width {
            let (total, value) = (elements[column], values.elements[row * width + column - first]);
            elements[column] = apply(op.combine(), fused, &[total, value])?;
            if compensated {
                let lost = lost(total, value, elements[column])?;
                let error = &mut elements[column + width];
                *error = apply(Op::Add, fused, &[*error, lost])?;
            }
        }
    }
    Ok(Array { dtype: values.dtype, shape, elements })
}

/// Returns what rounding lost of a sum of two floats, which is a float: Knuth's TwoSum (The Art of Computer Programming,
/// volume 2, 4.2.2, theorem B).
fn lost(x: Scalar, y: Scalar, sum: Scalar) -> Result<Scalar, Fault> {
    let minus = |a: Scalar, b: Scalar| apply(Op::Subtract, false, &[a, b]);
    let of_y = minus(sum, x)?;
    let of_x = minus(sum, of_y)?;
    apply(Op::Add, false, &[minus(x, of_x)?, minus(y, of_y)?])
}

/// Replaces rows of an array, or combines them with others, in index order.
pub(super) fn scatter(op: Option<Op>, base: &Array, indices: &Array, values: &Array) -> Result<Array, Fault> {
    let Some((&size, row)) = base.shape.split_first() else { return Err(Fault::Unsound(Rule::Axes)) };
    let (chosen, rest) =
        values.shape.split_at_checked(indices.shape.len()).ok_or(Fault::Unsound(Rule::Axes))?;
    if chosen != indices.shape || rest != row {
        return Err(Fault::Unsound(Rule::Axes));
    }
    if values.dtype != base.dtype {
        return Err(Fault::Unsound(Rule::Types));
    }
    let width = element_count(row)?;
    let mut elements = base.elements.clone();
    for (position, index) in indices.elements.iter().enumerate() {
        let Scalar::I64(value) = *index else { return Err(Fault::Unsound(Rule::Types)) };
        let row = view::row(value, size).ok_or(Fault::Index { position, value, size })?;
        let (to, from) = (row * width, position * width);
        for (element, value) in elements[to..to + width].iter_mut().zip(&values.elements[from..]) {
            *element = match op {
                Some(op) => apply(op, false, &[*element, *value])?,
                None => *value,
            };
        }
    }
    Ok(Array { dtype: base.dtype, shape: base.shape.clone(), elements })
}
