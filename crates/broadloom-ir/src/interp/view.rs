//! Views, broadcasting and `take` on concrete shapes, by NumPy's rules.
//!
//! All of them are the same walk: it visits the indices of the result in row-major order, and a step along an axis
//! of the result moves by a fixed number of elements of the source (zero on a stretched axis, backwards on a
//! flipped one).

use super::error::{Fault, Rule};
use super::{Array, MAX_ELEMENTS};
use crate::dtype::Scalar;
use std::borrow::Cow;

/// Returns the product of the sizes, if it fits.
pub(super) fn product(shape: &[usize]) -> Option<usize> {
    // If one of them is zero, the product is 0, even if the others would overflow.
    if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(1, |count: usize, &size| count.checked_mul(size))
    }
}

/// Returns the number of elements of a shape, if an array of it fits.
pub(super) fn element_count(shape: &[usize]) -> Result<usize, Fault> {
    product(shape).filter(|&count| count <= MAX_ELEMENTS).ok_or_else(|| Fault::TooLarge(shape.to_vec()))
}

/// Returns an empty list with room for the elements of a shape.
pub(super) fn with_room(shape: &[usize]) -> Result<Vec<Scalar>, Fault> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(element_count(shape)?).map_err(|_| Fault::TooLarge(shape.to_vec()))?;
    Ok(elements)
}

/// Returns the distance between neighbours along each axis in a row-major list. Only used for shapes with elements,
/// whose products fit.
pub(super) fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut steps = vec![1_usize; shape.len()];
    for axis in (1..shape.len()).rev() {
        steps[axis - 1] = steps[axis].wrapping_mul(shape[axis]);
    }
    steps
}

/// Visits the indices of a shape in row-major order, each as the position `start + sum(index[axis] * steps[axis])`.
/// Steps may be negative in two's complement, so positions are computed modulo 2^64.
pub(super) struct Walk {
    sizes: Vec<usize>,
    steps: Vec<usize>,
    index: Vec<usize>,
    position: usize,
    left: usize,
}

impl Walk {
    pub(super) fn new(sizes: &[usize], start: usize, steps: Vec<usize>) -> Result<Walk, Fault> {
        let left = element_count(sizes)?;
        Ok(Walk { sizes: sizes.to_vec(), steps, index: vec![0; sizes.len()], position: start, left })
    }
}

impl Iterator for Walk {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let position = self.position;
        for axis in (0..self.sizes.len()).rev() {
            self.index[axis] += 1;
            self.position = self.position.wrapping_add(self.steps[axis]);
            if self.index[axis] < self.sizes[axis] {
                break;
            }
            self.position = self.position.wrapping_sub(self.steps[axis].wrapping_mul(self.sizes[axis]));
            self.index[axis] = 0;
        }
        Some(position)
    }
}

/// Returns the elements along an axis at which the mask holds.
pub(super) fn compress(operand: &Array, mask: &Array, axis: usize) -> Result<Array, Fault> {
    let size = *operand.shape.get(axis).ok_or(Fault::Unsound(Rule::Axes))?;
    if mask.elements.len() != size {
        return Err(Fault::Unsound(Rule::Broadcast));
    }
    let chosen: Vec<usize> = (0..size).filter(|index| mask.elements[*index] == Scalar::Bool(true)).collect();
    let mut shape = operand.shape.clone();
    shape[axis] = chosen.len();
    let (outer, inner) = (product(&operand.shape[..axis]), product(&operand.shape[axis + 1..]));
    let (Some(outer), Some(inner)) = (outer, inner) else { return Err(Fault::TooLarge(shape)) };
    let mut elements = with_room(&shape)?;
    for row in 0..outer {
        for index in &chosen {
            let start = (row * size + index) * inner;
            elements.extend_from_slice(&operand.elements[start..start + inner]);
        }
    }
    Ok(Array { dtype: operand.dtype, shape, elements })
}

/// Returns the elements of `source` that a walk over `shape` visits.
fn gather(source: &[Scalar], shape: &[usize], start: usize, steps: Vec<usize>) -> Result<Vec<Scalar>, Fault> {
    let mut elements = with_room(shape)?;
    for position in Walk::new(shape, start, steps)? {
        elements.push(*source.get(position).ok_or(Fault::Unsound(Rule::Slice))?);
    }
    Ok(elements)
}

/// Returns the shape to which shapes broadcast: aligned at the last axis, with the size that is not 1 on each axis.
pub(super) fn broadcast_shape<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Vec<usize>, Fault> {
    let mut result: Vec<usize> = Vec::new();
    for shape in shapes {
        if shape.len() > result.len() {
            let missing = shape.len() - result.len();
            result.splice(0..0, std::iter::repeat_n(1, missing));
        }
        for (size, &other) in result.iter_mut().rev().zip(shape.iter().rev()) {
            match (*size, other) {
                (size, other) if size == other => {}
                (_, 1) => {}
                (1, other) => *size = other,
                _ => return Err(Fault::Unsound(Rule::Broadcast)),
            }
        }
    }
    Ok(result)
}

/// Stretches the elements of an array to a shape.
pub(super) fn stretch<'a>(array: &'a Array, shape: &[usize]) -> Result<Cow<'a, [Scalar]>, Fault> {
    if array.shape == shape {
        return Ok(Cow::Borrowed(&array.elements));
    }
    let refused = || Fault::Unsound(Rule::Broadcast);
    let missing = shape.len().checked_sub(array.shape.len()).ok_or_else(refused)?;
    let mut steps = vec![0; shape.len()];
    for (axis, (&size, step)) in array.shape.iter().zip(row_major(&array.shape)).enumerate() {
        if size == shape[missing + axis] {
            steps[missing + axis] = step;
        } else if size != 1 {
            return Err(refused());
        }
    }
    gather(&array.elements, shape, 0, steps).map(Cow::Owned)
}

/// Returns the same elements in row-major order under another shape.
pub(super) fn reshape(array: &Array, shape: Vec<usize>) -> Result<Array, Fault> {
    if element_count(&shape)? != array.elements.len() {
        return Err(Fault::Unsound(Rule::Reshape));
    }
    Ok(Array { dtype: array.dtype, shape, elements: array.elements.clone() })
}

/// Permutes axes: axis `i` of the result is axis `permutation[i]` of the operand.
pub(super) fn permute(array: &Array, permutation: &[usize]) -> Result<Array, Fault> {
    let mut sorted = permutation.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..array.shape.len()) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let steps = row_major(&array.shape);
    let shape: Vec<usize> = permutation.iter().map(|&axis| array.shape[axis]).collect();
    let steps = permutation.iter().map(|&axis| steps[axis]).collect();
    let elements = gather(&array.elements, &shape, 0, steps)?;
    Ok(Array { dtype: array.dtype, shape, elements })
}

/// Inserts axes of size 1; `axes` are those of the result, ascending.
pub(super) fn expand_dims(array: &Array, axes: &[usize]) -> Result<Array, Fault> {
    let mut shape = array.shape.clone();
    for &axis in axes {
        if axis > shape.len() {
            return Err(Fault::Unsound(Rule::Axes));
        }
        shape.insert(axis, 1);
    }
    reshape(array, shape)
}

/// Removes axes of size 1; `axes` are those of the operand.
pub(super) fn squeeze(array: &Array, axes: &[usize]) -> Result<Array, Fault> {
    if axes.iter().any(|&axis| array.shape.get(axis) != Some(&1)) {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let kept = array.shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
    reshape(array, kept.map(|(_, &size)| size).collect())
}

/// An axis of a slice: element `i` is element `start + i * step` of the operand's axis.
pub(super) struct Picked {
    pub(super) start: i64,
    pub(super) step: i64,
    pub(super) size: usize,
}

/// Returns a walk over the elements of an array of this shape that are picked on every axis; `None` if there are none.
fn walk(shape: &[usize], picked: &[Picked]) -> Result<Option<Walk>, Fault> {
    if picked.len() != shape.len() {
        return Err(Fault::Unsound(Rule::Axes));
    }
    let sizes: Vec<usize> = picked.iter().map(|axis| axis.size).collect();
    if element_count(&sizes)? == 0 {
        // An empty region may start after the last element.
        return Ok(None);
    }
    let (mut start, mut steps) = (0_usize, Vec::new());
    for ((axis, &size), step) in picked.iter().zip(shape).zip(row_major(shape)) {
        let first = i128::from(axis.start);
        // This cannot overflow: a list has fewer than 2^63 elements, and the magnitude of a step is less than 2^64.
        let last = first + (axis.size as i128 - 1) * i128::from(axis.step);
        if [first, last].iter().any(|&index| index < 0 || index >= size as i128) {
            return Err(Fault::Unsound(Rule::Slice));
        }
        start = start.wrapping_add((axis.start as usize).wrapping_mul(step));
        steps.push((axis.step as usize).wrapping_mul(step));
    }
    Walk::new(&sizes, start, steps).map(Some)
}

/// Returns the elements picked on every axis.
pub(super) fn slice(array: &Array, picked: &[Picked]) -> Result<Array, Fault> {
    let shape: Vec<usize> = picked.iter().map(|axis| axis.size).collect();
    let mut elements = with_room(&shape)?;
    for position in walk(&array.shape, picked)?.into_iter().flatten() {
        elements.push(*array.elements.get(position).ok_or(Fault::Unsound(Rule::Slice))?);
    }
    Ok(Array { dtype: array.dtype, shape, elements })
}

/// Returns the base with the elements picked on every axis replaced by those of the value, in order.
pub(super) fn set(base: &Array, picked: &[Picked], value: &Array) -> Result<Array, Fault> {
    if base.dtype != value.dtype {
        return Err(Fault::Unsound(Rule::Types));
    }
    let mut changed = base.clone();
    for (position, element) in walk(&base.shape, picked)?.into_iter().flatten().zip(&value.elements) {
        *changed.elements.get_mut(position).ok_or(Fault::Unsound(Rule::Slice))? = *element;
    }
    Ok(changed)
}

/// Returns windows of `width` elements along an axis, which then counts positions; the elements of a window lie
/// along a new last axis.
pub(super) fn windows(array: &Array, axis: usize, width: usize) -> Result<Array, Fault> {
    let size = *array.shape.get(axis).ok_or(Fault::Unsound(Rule::Axes))?;
    let places = size.checked_sub(width).ok_or(Fault::Unsound(Rule::Slice))? + 1;
    let mut shape = array.shape.clone();
    shape[axis] = places;
    shape.push(width);
    if element_count(&shape)? == 0 {
        return Ok(Array { dtype: array.dtype, shape, elements: Vec::new() });
    }
    let mut steps = row_major(&array.shape);
    steps.push(steps[axis]);
    let elements = gather(&array.elements, &shape, 0, steps)?;
    Ok(Array { dtype: array.dtype, shape, elements })
}

/// Returns the row of `size` that an index names; negative ones count from the end.
pub(super) fn row(index: i64, size: usize) -> Option<usize> {
    let row = if index < 0 { i128::from(index) + size as i128 } else { i128::from(index) };
    usize::try_from(row).ok().filter(|row| *row < size)
}

/// Indexes `table` along `axis`: the axes of `indices` replace the axis. Negative indices count from the end.
pub(super) fn take(table: &Array, indices: &Array, axis: usize) -> Result<Array, Fault> {
    let &size = table.shape.get(axis).ok_or(Fault::Unsound(Rule::Axes))?;
    let (before, after) = (&table.shape[..axis], &table.shape[axis + 1..]);
    let mut rows = Vec::with_capacity(indices.elements.len());
    for (position, index) in indices.elements.iter().enumerate() {
        let Scalar::I64(value) = *index else { return Err(Fault::Unsound(Rule::Types)) };
        rows.push(row(value, size).ok_or(Fault::Index { position, value, size })?);
    }
    let shape = [before, &indices.shape, after].concat();
    let mut elements = with_room(&shape)?;
    if element_count(&shape)? > 0 {
        let (outer, inner) = (element_count(before)?, element_count(after)?);
        for block in table.elements.chunks_exact(size * inner).take(outer) {
            for row in &rows {
                elements.extend_from_slice(&block[row * inner..(row + 1) * inner]);
            }
        }
    }
    Ok(Array { dtype: table.dtype, shape, elements })
}
