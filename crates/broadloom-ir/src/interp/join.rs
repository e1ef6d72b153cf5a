//! Concatenation, and the partial results of segmented reductions.

use super::Array;
use super::error::{Fault, Rule};
use super::reduce::apply;
use super::view::{element_count, with_room};
use crate::dtype::Scalar;
use crate::reduce::{ReduceOp, SEGMENT_BLOCK};

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

/// Combines the rows of each block and segment in index order; `shape` is that of the result.
pub(super) fn segment(
    op: ReduceOp,
    values: &Array,
    ids: &Array,
    shape: Vec<usize>,
    fused: bool,
) -> Result<Array, Fault> {
    if !matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max) {
        return Err(Fault::Unsound(Rule::Types));
    }
    let (&[rows], &[leading, ref rest @ ..], &[blocks, segments, ref kept @ ..]) =
        (&ids.shape[..], &values.shape[..], &shape[..])
    else {
        return Err(Fault::Unsound(Rule::Axes));
    };
    if rows != leading || rest != kept || blocks != rows.div_ceil(SEGMENT_BLOCK) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let inner = element_count(rest)?;
    let mut elements = with_room(&shape)?;
    elements.resize(element_count(&shape)?, op.identity(values.dtype));
    for (row, id) in ids.elements.iter().enumerate() {
        let Scalar::I64(value) = *id else { return Err(Fault::Unsound(Rule::Types)) };
        let segment = usize::try_from(value).ok().filter(|segment| *segment < segments);
        let segment = segment.ok_or(Fault::Index { position: row, value, size: segments })?;
        let first = (row / SEGMENT_BLOCK * segments + segment) * inner;
        for column in 0..inner {
            let total = elements[first + column];
            elements[first + column] =
                apply(op.combine(), fused, &[total, values.elements[row * inner + column]])?;
        }
    }
    Ok(Array { dtype: values.dtype, shape, elements })
}
