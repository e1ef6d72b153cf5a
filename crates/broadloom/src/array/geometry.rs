//! Sizes and strides: the positions of an array's elements.
#![allow(unsafe_code, reason = "elements are copied to where the strides say")]

use broadloom_ir::dim::DimError;
use broadloom_ir::dtype::DType;
use smallvec::SmallVec;
use std::convert::Infallible;
use std::fmt;
use std::ops::Range;
use thiserror::Error;

/// The error of sizes and strides that do not fit the memory behind them.
///
/// ```
/// use broadloom::{ArrayView, LayoutError};
/// let error = ArrayView::new(&[1.0f32; 5], &[2, 3]).unwrap_err();
/// assert!(matches!(error, LayoutError::Count { expected: 6, found: 5, .. }));
/// assert_eq!(error.to_string(), "shape [2, 3] has 6 elements, but the slice has 5");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// A dense shape needs a different number of elements.
    #[error("shape {shape:?} has {expected} elements, but the slice has {found}")]
    Count {
        /// The requested sizes.
        shape: Vec<usize>,
        /// Their product.
        expected: usize,
        /// The length of the slice.
        found: usize,
    },
    /// The number of strides differs from the number of axes.
    #[error("shape {shape:?} has {} axes, but {strides} strides are given", shape.len())]
    Strides {
        /// The requested sizes.
        shape: Vec<usize>,
        /// The number of strides.
        strides: usize,
    },
    /// The number of elements, or of bytes spanned, cannot be represented.
    #[error("an array of shape {shape:?} is too large")]
    TooLarge {
        /// The requested sizes.
        shape: Vec<usize>,
    },
    /// An element lies outside the slice.
    #[error(
        "shape {shape:?} with strides {strides:?} from element {offset} spans elements {first} to {last}, but the slice has {length}"
    )]
    OutOfBounds {
        /// The requested sizes.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
        /// The position of the element of index 0 in the slice.
        offset: usize,
        /// The least position reached.
        first: i128,
        /// The greatest position reached.
        last: i128,
        /// The length of the slice.
        length: usize,
    },
    /// Two different indices may reach the same element of an array to be written.
    #[error(
        "shape {shape:?} with strides {strides:?} may reach the same element by two indices, so it cannot be written to"
    )]
    Overlap {
        /// The requested sizes.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
    },
}

/// The size of an axis and its stride in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisLayout {
    pub(crate) size: i64,
    pub(crate) stride: i64,
}

/// Dtype, sizes and strides. Axes of at most one element, and all axes of an empty array, have the stride they
/// would have in a dense array, whatever the caller passed: no index depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) dtype: DType,
    pub(crate) axes: SmallVec<[AxisLayout; 4]>,
}

impl Geometry {
    /// Normalises sizes and strides in elements. `strides` of `None` means row-major order.
    pub(super) fn new(
        dtype: DType,
        shape: &[usize],
        strides: Option<&[isize]>,
    ) -> Result<Geometry, LayoutError> {
        let too_large = || LayoutError::TooLarge { shape: shape.to_vec() };
        let mut axes: SmallVec<[AxisLayout; 4]> = SmallVec::with_capacity(shape.len());
        let empty = shape.contains(&0);
        let mut dense: i64 = 1;
        for (axis, &size) in shape.iter().enumerate().rev() {
            let size = i64::try_from(size).map_err(|_| too_large())?;
            let stride = match strides {
                Some(strides) if size > 1 && !empty => {
                    i64::try_from(strides[axis]).map_err(|_| too_large())?
                }
                _ => dense,
            };
            axes.push(AxisLayout { size, stride });
            // Saturation is harmless: an empty array never uses its strides, and any other is refused.
            dense = if empty {
                dense.saturating_mul(size)
            } else {
                dense.checked_mul(size).ok_or_else(too_large)?
            };
        }
        axes.reverse();
        Ok(Geometry { dtype, axes })
    }

    /// Returns a layout with these axes.
    ///
    /// # Errors
    /// Returns an error if a size is negative or its elements cannot be addressed.
    pub(crate) fn of_axes(&self, axes: &[AxisLayout]) -> Result<Geometry, DimError> {
        let sizes: Option<SmallVec<[usize; 4]>> =
            axes.iter().map(|axis| usize::try_from(axis.size).ok()).collect();
        let strides: SmallVec<[isize; 4]> = axes.iter().map(|axis| axis.stride as isize).collect();
        let made = sizes.and_then(|sizes| Geometry::new(self.dtype, &sizes, Some(&strides)).ok());
        made.ok_or(DimError::Overflow)
    }

    /// Returns the same elements along axes of other sizes: an axis of size 1 is stretched with a stride of 0.
    pub(crate) fn stretched(&self, shape: &[usize]) -> Result<Geometry, LayoutError> {
        let axes = self.axes.iter().zip(shape);
        let strides: SmallVec<[isize; 4]> = axes
            .map(|(axis, &size)| if axis.size == size as i64 { axis.stride as isize } else { 0 })
            .collect();
        Geometry::new(self.dtype, shape, Some(&strides))
    }

    /// Returns one axis with as many elements as there are in memory, so that nothing overflows.
    #[inline]
    pub(crate) fn line(dtype: DType, count: usize) -> Geometry {
        let mut axes = SmallVec::new();
        axes.push(AxisLayout { size: count as i64, stride: 1 });
        Geometry { dtype, axes }
    }

    /// Returns row-major order over sizes whose elements are all in memory, so that nothing overflows.
    #[inline]
    pub(crate) fn dense(dtype: DType, shape: &[usize]) -> Geometry {
        if let [count] = shape {
            return Geometry::line(dtype, *count);
        }
        Geometry::dense_along(dtype, shape)
    }

    fn dense_along(dtype: DType, shape: &[usize]) -> Geometry {
        let mut axes: SmallVec<[AxisLayout; 4]> =
            SmallVec::from_elem(AxisLayout { size: 0, stride: 0 }, shape.len());
        let mut stride: i64 = 1;
        for (axis, &size) in axes.iter_mut().zip(shape).rev() {
            *axis = AxisLayout { size: size as i64, stride };
            stride = stride.wrapping_mul(size as i64);
        }
        Geometry { dtype, axes }
    }

    /// Returns the least and greatest position reached, relative to the element of index 0; `None` for an empty
    /// array.
    fn span(&self) -> Option<(i128, i128)> {
        let (mut first, mut last) = (0i128, 0i128);
        for axis in &self.axes {
            if axis.size == 0 {
                return None;
            }
            let reach = i128::from(axis.size - 1) * i128::from(axis.stride);
            if reach < 0 { first += reach } else { last += reach }
        }
        Some((first, last))
    }

    /// Returns the addresses of the array's bytes, from the first element in memory to the last, if the element of
    /// index 0 is at `start`; an empty range for an empty array. The elements exist, so no address wraps.
    pub(crate) fn addresses(&self, start: *const u8) -> Range<usize> {
        let size = self.dtype.size();
        let (mut first, mut end) = (start.addr(), start.addr().wrapping_add(size));
        for axis in &self.axes {
            if axis.size == 0 {
                return 0..0;
            }
            let reach = (axis.size - 1).wrapping_mul(axis.stride).wrapping_mul(size as i64) as isize;
            let side = if reach < 0 { &mut first } else { &mut end };
            *side = side.wrapping_add_signed(reach);
        }
        first..end
    }

    /// Returns whether different indices provably reach different elements.
    fn is_injective(&self) -> bool {
        let mut axes: SmallVec<[AxisLayout; 4]> =
            self.axes.iter().copied().filter(|axis| axis.size > 1).collect();
        axes.sort_by_key(|axis| axis.stride.unsigned_abs());
        let mut reach = 0i128;
        self.span().is_none()
            || axes.iter().all(|axis| {
                let stride = i128::from(axis.stride.unsigned_abs());
                let distinct = stride > reach;
                reach += i128::from(axis.size - 1) * stride;
                distinct
            })
    }

    /// Returns the number of elements. The constructor has checked that it is representable.
    pub(crate) fn count(&self) -> usize {
        if self.axes.iter().any(|axis| axis.size == 0) {
            return 0;
        }
        self.axes.iter().map(|axis| axis.size as usize).product()
    }

    pub(crate) fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.size as usize).collect()
    }

    pub(super) fn strides(&self) -> Vec<isize> {
        self.axes.iter().map(|axis| axis.stride as isize).collect()
    }

    /// Returns whether the strides are those of row-major order.
    pub(crate) fn is_dense(&self) -> bool {
        let mut dense = 1i64;
        self.count() == 0
            || self.axes.iter().rev().all(|axis| {
                let expected = dense;
                dense = dense.wrapping_mul(axis.size);
                axis.size == 1 || axis.stride == expected
            })
    }

    /// Returns the position of an element relative to that of index 0, if the index lies within the shape.
    pub(super) fn position(&self, index: &[usize]) -> Option<isize> {
        if index.len() != self.axes.len() {
            return None;
        }
        let mut position = 0i64;
        for (&index, axis) in index.iter().zip(&self.axes) {
            let index = i64::try_from(index).ok().filter(|index| *index < axis.size)?;
            // This wraps only if the shape has no elements, and then a later axis refuses the index.
            position = position.wrapping_add(index.wrapping_mul(axis.stride));
        }
        isize::try_from(position).ok()
    }
}

/// Copies elements in row-major order into an array.
///
/// # Safety
/// `source` is readable for as many elements as the array has, all of the array's elements are writable, and the
/// two do not overlap.
pub(crate) unsafe fn copy_to_array(source: *const u8, target: *mut u8, geometry: &Geometry) {
    let (count, size) = (geometry.count(), geometry.dtype.size());
    if geometry.is_dense() {
        // SAFETY: by the contract of the caller; the array's elements are laid out like those of the source.
        unsafe { std::ptr::copy_nonoverlapping(source, target, count * size) };
        return;
    }
    let Ok(()) = for_each_position(geometry, |element, position| {
        let to = target.wrapping_offset(position as isize * size as isize);
        // SAFETY: `element` is less than the count, and `position` is the position of the array's element at this
        // index.
        unsafe { std::ptr::copy_nonoverlapping(source.add(element * size), to, size) };
        Ok::<(), Infallible>(())
    });
}

/// The elements that are copied between two checks.
const COPIED_AT_ONCE: usize = 1 << 16;

/// Copies the elements of an array of some geometry to dense memory, in row-major order, as long as `check` finds no error on the
/// way.
///
/// # Safety
/// All of the array's elements are readable, `target` is writable for as many elements, and the two do not overlap.
pub(crate) unsafe fn copy_from_array<E>(
    source: *const u8,
    target: *mut u8,
    geometry: &Geometry,
    check: &dyn Fn() -> Result<(), E>,
) -> Result<(), E> {
    let (count, size) = (geometry.count(), geometry.dtype.size());
    if geometry.is_dense() {
        for first in (0..count).step_by(COPIED_AT_ONCE) {
            check()?;
            let (bytes, start) = (COPIED_AT_ONCE.min(count - first) * size, first * size);
            // SAFETY: by the contract of the caller; the array's elements are laid out like those of the target.
            unsafe { std::ptr::copy_nonoverlapping(source.add(start), target.add(start), bytes) };
        }
        return Ok(());
    }
    for_each_position(geometry, |element, position| {
        if element.is_multiple_of(COPIED_AT_ONCE) {
            check()?;
        }
        let from = source.wrapping_offset(position as isize * size as isize);
        // SAFETY: `element` is less than the count, and `position` is the position of the array's element at this
        // index.
        unsafe { std::ptr::copy_nonoverlapping(from, target.add(element * size), size) };
        Ok(())
    })
}

/// Calls a function with the number and the position of each element, in row-major order, up to its first error.
fn for_each_position<E>(
    geometry: &Geometry,
    mut visit: impl FnMut(usize, i64) -> Result<(), E>,
) -> Result<(), E> {
    let mut index: SmallVec<[i64; 8]> = SmallVec::from_elem(0, geometry.axes.len());
    let mut position = 0i64;
    for element in 0..geometry.count() {
        visit(element, position)?;
        for (index, axis) in index.iter_mut().zip(&geometry.axes).rev() {
            *index += 1;
            position += axis.stride;
            if *index < axis.size {
                break;
            }
            position -= *index * axis.stride;
            *index = 0;
        }
    }
    Ok(())
}

/// Returns the layout of a dense array with exactly `found` elements.
pub(super) fn counted(dtype: DType, shape: &[usize], found: usize) -> Result<Geometry, LayoutError> {
    let geometry = Geometry::new(dtype, shape, None)?;
    let expected = geometry.count();
    if expected != found {
        return Err(LayoutError::Count { shape: shape.to_vec(), expected, found });
    }
    Ok(geometry)
}

/// Returns the layout of an array anywhere in memory; without strides it is dense.
pub(super) fn checked(
    dtype: DType,
    shape: &[usize],
    strides: Option<&[isize]>,
) -> Result<Geometry, LayoutError> {
    if let Some(strides) = strides.filter(|strides| strides.len() != shape.len()) {
        return Err(LayoutError::Strides { shape: shape.to_vec(), strides: strides.len() });
    }
    let geometry = Geometry::new(dtype, shape, strides)?;
    if let Some((first, last)) = geometry.span()
        && (last - first).saturating_mul(dtype.size() as i128) > isize::MAX as i128
    {
        return Err(LayoutError::TooLarge { shape: shape.to_vec() });
    }
    Ok(geometry)
}

/// Returns the layout of an array whose elements lie within a slice of known length.
pub(super) fn strided(
    dtype: DType,
    length: usize,
    offset: usize,
    shape: &[usize],
    strides: &[isize],
) -> Result<Geometry, LayoutError> {
    let geometry = checked(dtype, shape, Some(strides))?;
    if let Some((first, last)) = geometry.span() {
        let (first, last) = (first + offset as i128, last + offset as i128);
        if first < 0 || last >= length as i128 {
            let (shape, strides) = (shape.to_vec(), strides.to_vec());
            return Err(LayoutError::OutOfBounds { shape, strides, offset, first, last, length });
        }
    }
    Ok(geometry)
}

/// Accepts a layout if no two indices reach the same element.
pub(super) fn injective(geometry: Geometry) -> Result<Geometry, LayoutError> {
    if !geometry.is_injective() {
        return Err(LayoutError::Overlap { shape: geometry.shape(), strides: geometry.strides() });
    }
    Ok(geometry)
}

/// Prints dtype and sizes, and the strides unless the array is dense.
pub(super) fn describe(f: &mut fmt::Formatter<'_>, geometry: &Geometry) -> fmt::Result {
    write!(f, "{}{:?}", geometry.dtype, geometry.shape())?;
    if !geometry.is_dense() {
        write!(f, " strides {:?}", geometry.strides())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::view::{ArrayView, ArrayViewMut};
    use super::*;

    /// Returns the position of each element in row-major order, by quotients and remainders.
    fn positions(shape: &[usize], offset: usize, strides: &[isize]) -> Vec<usize> {
        let place = |mut element: usize| {
            let mut position = offset as isize;
            for (size, stride) in shape.iter().zip(strides).rev() {
                position += (element % size) as isize * stride;
                element /= size;
            }
            position as usize
        };
        (0..shape.iter().product()).map(place).collect()
    }

    #[test]
    fn elements_are_copied_to_their_places_and_nowhere_else() {
        let layouts: [(&[usize], usize, &[isize]); 11] = [
            (&[], 3, &[]),
            (&[0], 0, &[1]),
            (&[2, 0, 3], 5, &[7, 1, 9]),
            (&[24], 0, &[1]),
            (&[24], 23, &[-1]),
            (&[3, 8], 0, &[8, 1]),
            (&[8, 3], 0, &[1, 8]),
            (&[4, 3], 19, &[-6, 2]),
            (&[2, 3, 4], 23, &[-12, -4, -1]),
            (&[4, 1, 3], 1, &[6, 100, 2]),
            (&[1, 1], 23, &[-1000, 1000]),
        ];
        for (shape, offset, strides) in layouts {
            let places = positions(shape, offset, strides);
            let source: Vec<f32> = (1..=places.len()).map(|number| number as f32).collect();
            let mut expected = [0.0f32; 24];
            places.iter().zip(&source).for_each(|(place, value)| expected[*place] = *value);

            let mut target = [0.0f32; 24];
            let array = ArrayViewMut::strided(&mut target, offset, shape, strides).unwrap();
            // SAFETY: the source has as many elements as the array, and is other memory.
            unsafe { copy_to_array(source.as_ptr().cast(), array.pointer(), array.geometry()) };
            assert_eq!(target, expected, "{shape:?} {strides:?}");

            let view = ArrayView::strided(&target, offset, shape, strides).unwrap();
            assert_eq!(view.to_vec(), Some(source), "{shape:?} {strides:?}");
            let bytes = view.geometry().addresses(view.pointer());
            let all = [places.iter().min(), places.iter().max()].map(|place| place.copied());
            if let [Some(first), Some(last)] = all {
                let start = target.as_ptr().addr();
                assert_eq!(bytes, start + first * 4..start + last * 4 + 4, "{shape:?} {strides:?}");
            } else {
                assert!(bytes.is_empty());
            }
        }
    }
}
