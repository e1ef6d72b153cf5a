//! Borrowed arrays: where pointers are taken.
#![allow(
    unsafe_code,
    reason = "an array view is a pointer with a proof that all its elements can be accessed"
)]

use crate::memory::Storage;
use broadloom_ir::dtype::{DType, Element};
use smallvec::SmallVec;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use thiserror::Error;

/// Sizes and strides that do not fit the memory behind them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// A dense shape needs another number of elements.
    #[error("shape {shape:?} has {expected} elements, but the slice has {found}")]
    Count {
        /// The sizes asked for.
        shape: Vec<usize>,
        /// Their product.
        expected: usize,
        /// Length of the slice.
        found: usize,
    },
    /// Not one stride per axis.
    #[error("shape {shape:?} has {} axes, but {strides} strides are given", shape.len())]
    Strides {
        /// The sizes asked for.
        shape: Vec<usize>,
        /// Number of strides.
        strides: usize,
    },
    /// The number of elements, or of bytes spanned, cannot be represented.
    #[error("an array of shape {shape:?} is too large")]
    TooLarge {
        /// The sizes asked for.
        shape: Vec<usize>,
    },
    /// Some element lies outside the slice.
    #[error(
        "shape {shape:?} with strides {strides:?} from element {offset} reaches from element {first} to {last}, \
         but the slice has {length}"
    )]
    OutOfBounds {
        /// The sizes asked for.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
        /// Where in the slice the element of index 0 is.
        offset: usize,
        /// Least position reached.
        first: i128,
        /// Greatest position reached.
        last: i128,
        /// Length of the slice.
        length: usize,
    },
    /// Different indices may mean the same element of an array that is to be written.
    #[error(
        "shape {shape:?} with strides {strides:?} may reach one element by two indices; it cannot be written to"
    )]
    Overlap {
        /// The sizes asked for.
        shape: Vec<usize>,
        /// The strides, in elements.
        strides: Vec<isize>,
    },
}

/// Size of an axis and its stride in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisLayout {
    pub(crate) size: i64,
    pub(crate) stride: i64,
}

/// Dtype, sizes and strides. Axes of at most one element, and all axes of arrays without elements, have the stride
/// that they would have in a dense array, whatever the caller said: no index depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) dtype: DType,
    pub(crate) axes: SmallVec<[AxisLayout; 4]>,
}

impl Geometry {
    /// Sizes and strides in elements, normalised. `strides` of `None` is row-major order.
    fn new(dtype: DType, shape: &[usize], strides: Option<&[isize]>) -> Result<Geometry, LayoutError> {
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
            // Saturation is harmless: without elements strides are never used, with elements it is refused.
            dense = if empty {
                dense.saturating_mul(size)
            } else {
                dense.checked_mul(size).ok_or_else(too_large)?
            };
        }
        axes.reverse();
        Ok(Geometry { dtype, axes })
    }

    /// The same elements along axes of other sizes: one that had size 1 is stretched, by a stride of 0.
    pub(crate) fn stretched(&self, shape: &[usize]) -> Result<Geometry, LayoutError> {
        let axes = self.axes.iter().zip(shape);
        let strides: SmallVec<[isize; 4]> = axes
            .map(|(axis, &size)| if axis.size == size as i64 { axis.stride as isize } else { 0 })
            .collect();
        Geometry::new(self.dtype, shape, Some(&strides))
    }

    /// One axis of as many elements as there are in memory, so that nothing overflows.
    #[inline]
    pub(crate) fn line(dtype: DType, count: usize) -> Geometry {
        let mut axes = SmallVec::new();
        axes.push(AxisLayout { size: count as i64, stride: 1 });
        Geometry { dtype, axes }
    }

    /// Row-major order over sizes of which there are that many elements in memory, so that nothing overflows.
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

    /// The positions reached, relative to the element of index 0; `None` without elements.
    pub(crate) fn span(&self) -> Option<(i128, i128)> {
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

    /// Whether different indices are provably different elements.
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

    /// Number of elements. Representable, as the constructor has checked.
    pub(crate) fn count(&self) -> usize {
        if self.axes.iter().any(|axis| axis.size == 0) {
            return 0;
        }
        self.axes.iter().map(|axis| axis.size as usize).product()
    }

    pub(crate) fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.size as usize).collect()
    }

    fn strides(&self) -> Vec<isize> {
        self.axes.iter().map(|axis| axis.stride as isize).collect()
    }

    /// Whether the strides are those of row-major order.
    pub(crate) fn is_dense(&self) -> bool {
        let mut dense = 1i64;
        self.count() == 0
            || self.axes.iter().rev().all(|axis| {
                let expected = dense;
                dense = dense.wrapping_mul(axis.size);
                axis.size == 1 || axis.stride == expected
            })
    }

    /// Position of an element relative to that of index 0, if the index lies within the shape.
    fn position(&self, index: &[usize]) -> Option<isize> {
        if index.len() != self.axes.len() {
            return None;
        }
        let mut position = 0i64;
        for (&index, axis) in index.iter().zip(&self.axes) {
            let index = i64::try_from(index).ok().filter(|index| *index < axis.size)?;
            // Wraps only where the shape has no elements, so that a later axis refuses the index.
            position = position.wrapping_add(index.wrapping_mul(axis.stride));
        }
        isize::try_from(position).ok()
    }
}

/// Copies elements in row-major order to an array.
///
/// # Safety
/// As many elements as the array has can be read from `source`, all of the array's can be written, and the two do not
/// overlap.
pub(crate) unsafe fn copy_to_array(source: *const u8, target: *mut u8, geometry: &Geometry) {
    let (count, size) = (geometry.count(), geometry.dtype.size());
    if geometry.is_dense() {
        // SAFETY: the caller's promises; the array's elements lie as those of the source.
        unsafe { std::ptr::copy_nonoverlapping(source, target, count * size) };
        return;
    }
    let mut index: SmallVec<[i64; 8]> = SmallVec::from_elem(0, geometry.axes.len());
    let mut position = 0i64;
    for element in 0..count {
        let to = target.wrapping_offset(position as isize * size as isize);
        // SAFETY: `element` is below the count, and `position` is that of the array's element of this index.
        unsafe { std::ptr::copy_nonoverlapping(source.add(element * size), to, size) };
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
}

/// Where the elements are. A scalar is carried along, so that a number can be passed like an array.
#[derive(Clone, Copy)]
enum Base {
    Pointer(*const u8),
    Inline([u8; 8]),
}

/// A borrowed array of any dtype, shape and strides, to be read.
///
/// ```
/// use broadloom::ArrayView;
/// let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = ArrayView::new(&data, &[2, 3])?;
/// let transposed = ArrayView::strided(&data, 0, &[3, 2], &[1, 3])?;
/// let backwards = ArrayView::strided(&data, 5, &[6], &[-1])?;
/// assert_eq!(rows.get::<f32>(&[1, 0]), Some(4.0));
/// assert_eq!(transposed.get::<f32>(&[0, 1]), Some(4.0));
/// assert_eq!(backwards.get::<f32>(&[0]), Some(6.0));
/// # Ok::<(), broadloom::LayoutError>(())
/// ```
#[derive(Clone)]
pub struct ArrayView<'a> {
    base: Base,
    geometry: Geometry,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: the view stands for a shared borrow of elements, all of whose types are `Send` and `Sync`.
unsafe impl Send for ArrayView<'_> {}
// SAFETY: as above.
unsafe impl Sync for ArrayView<'_> {}

impl<'a> ArrayView<'a> {
    /// All elements of a slice in row-major order.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let rows = ArrayView::new(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(rows.get::<i32>(&[1, 0]), Some(4));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// If the shape has another number of elements than the slice.
    pub fn new<T: Element>(data: &'a [T], shape: &[usize]) -> Result<Self, LayoutError> {
        let geometry = counted(T::DTYPE, shape, data.len())?;
        Ok(ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData })
    }

    /// Elements of a slice: that of index 0 at `offset`, its neighbours along each axis `strides` elements away.
    /// Strides may be negative or zero.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let data = [1, 2, 3, 4, 5, 6];
    /// let second_column = ArrayView::strided(&data, 1, &[2], &[3])?;
    /// assert_eq!(second_column.to_vec(), Some(vec![2, 5]));
    /// assert!(ArrayView::strided(&data, 1, &[3], &[3]).is_err());
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// If an element would lie outside the slice, or there is not one stride per axis.
    pub fn strided<T: Element>(
        data: &'a [T],
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = strided(T::DTYPE, data.len(), offset, shape, strides)?;
        let pointer = data.as_ptr().wrapping_add(offset);
        Ok(ArrayView { base: Base::Pointer(pointer.cast()), geometry, lifetime: PhantomData })
    }

    /// A slice along one axis.
    pub(super) fn line<T: Element>(data: &'a [T]) -> Self {
        let geometry = Geometry::line(T::DTYPE, data.len());
        ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData }
    }

    /// The elements of an [`Array`](super::Array), whose shape fits them.
    pub(super) fn whole<T: Element>(data: &'a [T], shape: &[usize]) -> Self {
        let geometry = Geometry::dense(T::DTYPE, shape);
        ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData }
    }

    /// The elements of an [`AnyArray`](super::AnyArray), whose shape fits them.
    pub(super) fn of_storage(storage: &'a Storage, shape: &[usize]) -> Self {
        let geometry = Geometry::dense(storage.dtype(), shape);
        ArrayView { base: Base::Pointer(storage.as_ptr()), geometry, lifetime: PhantomData }
    }

    /// An array without elements.
    #[cfg(feature = "ndarray")]
    pub(super) fn nothing(dtype: DType, rank: usize) -> Self {
        let geometry = Geometry::dense(dtype, &vec![0; rank]);
        let pointer = std::ptr::dangling::<u64>().cast();
        ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData }
    }

    /// The array of rank 0 that holds a number.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// assert_eq!(ArrayView::scalar(2.5f64).get(&[]), Some(2.5));
    /// ```
    pub fn scalar<T: Element>(value: T) -> ArrayView<'static> {
        let geometry = Geometry { dtype: T::DTYPE, axes: SmallVec::new() };
        let base = Base::Inline(value.into_scalar().bits().to_le_bytes());
        ArrayView { base, geometry, lifetime: PhantomData }
    }

    /// An array somewhere in memory. Strides count elements.
    ///
    /// ```
    /// use broadloom::{ArrayView, DType};
    /// let data = [1.0f32, 2.0, 3.0, 4.0];
    /// // SAFETY: the elements 0 and 2 of `data`, which lives as long as the view.
    /// let view = unsafe { ArrayView::from_raw(data.as_ptr().cast(), DType::F32, &[2], &[2])? };
    /// assert_eq!(view.to_vec(), Some(vec![1.0f32, 3.0]));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// If the number of elements cannot be represented, or there is not one stride per axis.
    ///
    /// # Safety
    /// For the lifetime, every element that an index within the shape reaches can be read, holds a valid value of
    /// the dtype, is aligned, and is not written to.
    pub unsafe fn from_raw(
        pointer: *const u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = checked(dtype, shape, strides)?;
        Ok(ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData })
    }

    /// The part along the leading axis; `None` if that is shorter, or there are no axes.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let rows = ArrayView::new(&[1, 2, 3, 4, 5, 6], &[3, 2])?;
    /// assert_eq!(rows.rows(1..3).and_then(|rows| rows.to_vec()), Some(vec![3, 4, 5, 6]));
    /// assert!(rows.rows(1..4).is_none());
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn rows(&self, range: Range<usize>) -> Option<ArrayView<'a>> {
        let (mut shape, strides) = (self.geometry.shape(), self.geometry.strides());
        let (size, stride) = (shape.first_mut()?, *strides.first()?);
        let Base::Pointer(pointer) = self.base else { return None };
        if range.start > range.end || range.end > *size {
            return None;
        }
        *size = range.end - range.start;
        // Of an array without elements, no position is meant; elsewhere it is that of one of its elements.
        let start = if shape.contains(&0) { 0 } else { range.start as isize * stride };
        let geometry = Geometry::new(self.geometry.dtype, &shape, Some(&strides)).ok()?;
        let pointer = pointer.wrapping_offset(start * self.geometry.dtype.size() as isize);
        Some(ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData })
    }

    /// The same elements along axes of other sizes, of which some that had size 1 are stretched.
    pub(crate) fn stretched(&self, geometry: Geometry) -> ArrayView<'a> {
        ArrayView { geometry, ..self.clone() }
    }

    /// Type of the elements.
    ///
    /// ```
    /// use broadloom::{ArrayView, DType};
    /// assert_eq!(ArrayView::scalar(1u8).dtype(), DType::U8);
    /// ```
    pub fn dtype(&self) -> DType {
        self.geometry.dtype
    }

    /// Sizes.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// assert_eq!(ArrayView::new(&[1, 2], &[1, 2])?.shape(), [1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn shape(&self) -> Vec<usize> {
        self.geometry.shape()
    }

    /// Strides in elements; that of an axis of at most one element is unspecified.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// assert_eq!(ArrayView::new(&[0u8; 6], &[2, 3])?.strides(), [3, 1]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn strides(&self) -> Vec<isize> {
        self.geometry.strides()
    }

    /// The element at an index; `None` if the index is out of range or the dtype is another.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let view = ArrayView::new(&[1, 2], &[2])?;
    /// assert_eq!((view.get::<i32>(&[1]), view.get::<i32>(&[2]), view.get::<u8>(&[1])), (Some(2), None, None));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn get<T: Element>(&self, index: &[usize]) -> Option<T> {
        let position = self.geometry.position(index).filter(|_| T::DTYPE == self.geometry.dtype)?;
        // SAFETY: the index is within the shape and `T` is the dtype, so that the element can be read; an inline
        // scalar has only position 0. An inline base is not aligned for `T`.
        Some(unsafe { self.pointer().cast::<T>().wrapping_offset(position).read_unaligned() })
    }

    /// The elements in row-major order; `None` if the dtype is another, or there is not enough memory.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let backwards = ArrayView::strided(&[1, 2, 3], 2, &[3], &[-1])?;
    /// assert_eq!(backwards.to_vec(), Some(vec![3, 2, 1]));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        let shape = self.shape();
        let mut index = vec![0; shape.len()];
        let mut elements = Vec::new();
        elements.try_reserve_exact(self.geometry.count()).ok()?;
        for _ in 0..self.geometry.count() {
            elements.push(self.get(&index)?);
            for axis in (0..shape.len()).rev() {
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
        (T::DTYPE == self.dtype()).then_some(elements)
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The element of index 0. Valid while `self` stays where it is.
    pub(crate) fn pointer(&self) -> *const u8 {
        match &self.base {
            Base::Pointer(pointer) => *pointer,
            Base::Inline(bytes) => bytes.as_ptr(),
        }
    }
}

/// A borrowed array of any dtype, shape and strides, to be written. No element has two indices.
///
/// ```
/// use broadloom::ArrayViewMut;
/// let mut data = [0.0f32; 6];
/// assert!(ArrayViewMut::new(&mut data, &[2, 3]).is_ok());
/// assert!(ArrayViewMut::strided(&mut data, 0, &[6, 2], &[1, 0]).is_err());
/// ```
pub struct ArrayViewMut<'a> {
    pointer: *mut u8,
    geometry: Geometry,
    lifetime: PhantomData<&'a mut [u8]>,
}

// SAFETY: the view stands for a mutable borrow of elements, all of whose types are `Send` and `Sync`.
unsafe impl Send for ArrayViewMut<'_> {}
// SAFETY: as above; a shared view gives no access.
unsafe impl Sync for ArrayViewMut<'_> {}

impl<'a> ArrayViewMut<'a> {
    /// All elements of a slice in row-major order.
    ///
    /// ```
    /// use broadloom::ArrayViewMut;
    /// assert!(ArrayViewMut::new(&mut [0.0f32; 6], &[2, 3]).is_ok());
    /// ```
    ///
    /// # Errors
    /// If the shape has another number of elements than the slice.
    pub fn new<T: Element>(data: &'a mut [T], shape: &[usize]) -> Result<Self, LayoutError> {
        let geometry = counted(T::DTYPE, shape, data.len())?;
        Ok(ArrayViewMut { pointer: data.as_mut_ptr().cast(), geometry, lifetime: PhantomData })
    }

    /// A slice along one axis.
    pub(super) fn line<T: Element>(data: &'a mut [T]) -> Self {
        let geometry = Geometry::line(T::DTYPE, data.len());
        ArrayViewMut { pointer: data.as_mut_ptr().cast(), geometry, lifetime: PhantomData }
    }

    /// Elements of a slice: that of index 0 at `offset`, its neighbours along each axis `strides` elements away.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = (g.input::<f32>("x", shape![2]) + 1).compile()?;
    /// let mut data = [0.0f32; 4];
    /// kernel.run_into(&[1.0f32, 2.0], ArrayViewMut::strided(&mut data, 0, &[2], &[2])?)?;
    /// assert_eq!(data, [2.0, 0.0, 3.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If an element would lie outside the slice or have two indices, or there is not one stride per axis.
    pub fn strided<T: Element>(
        data: &'a mut [T],
        offset: usize,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = injective(strided(T::DTYPE, data.len(), offset, shape, strides)?)?;
        let pointer = data.as_mut_ptr().wrapping_add(offset);
        Ok(ArrayViewMut { pointer: pointer.cast(), geometry, lifetime: PhantomData })
    }

    /// An array somewhere in memory. Strides count elements.
    ///
    /// ```
    /// use broadloom::{ArrayViewMut, DType};
    /// let mut data = [0u8; 4];
    /// // SAFETY: all of `data`, which nothing else accesses while the view lives.
    /// let view = unsafe { ArrayViewMut::from_raw(data.as_mut_ptr(), DType::U8, &[2, 2], &[2, 1])? };
    /// assert_eq!(view.shape(), [2, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// If the number of elements cannot be represented, an element would have two indices, or there is not one
    /// stride per axis.
    ///
    /// # Safety
    /// For the lifetime, every element that an index within the shape reaches can be written, is aligned, and is
    /// accessed through this view only.
    pub unsafe fn from_raw(
        pointer: *mut u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = injective(checked(dtype, shape, strides)?)?;
        Ok(ArrayViewMut { pointer, geometry, lifetime: PhantomData })
    }

    /// Type of the elements.
    ///
    /// ```
    /// use broadloom::{ArrayViewMut, DType};
    /// assert_eq!(ArrayViewMut::new(&mut [0i64; 2], &[2])?.dtype(), DType::I64);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.geometry.dtype
    }

    /// Sizes.
    ///
    /// ```
    /// use broadloom::ArrayViewMut;
    /// assert_eq!(ArrayViewMut::new(&mut [0i64; 2], &[1, 2])?.shape(), [1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn shape(&self) -> Vec<usize> {
        self.geometry.shape()
    }

    /// Strides in elements; that of an axis of at most one element is unspecified.
    ///
    /// ```
    /// use broadloom::ArrayViewMut;
    /// assert_eq!(ArrayViewMut::new(&mut [0i64; 6], &[2, 3])?.strides(), [3, 1]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn strides(&self) -> Vec<isize> {
        self.geometry.strides()
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// The same elements through a pointer that still may write.
    pub(super) fn into_shared(self) -> ArrayView<'a> {
        ArrayView { base: Base::Pointer(self.pointer), geometry: self.geometry, lifetime: PhantomData }
    }

    /// The same elements for as long as `self` is borrowed.
    pub(super) fn reborrow(&mut self) -> ArrayViewMut<'_> {
        ArrayViewMut { pointer: self.pointer, geometry: self.geometry.clone(), lifetime: PhantomData }
    }
}

fn counted(dtype: DType, shape: &[usize], found: usize) -> Result<Geometry, LayoutError> {
    let geometry = Geometry::new(dtype, shape, None)?;
    let expected = geometry.count();
    if expected != found {
        return Err(LayoutError::Count { shape: shape.to_vec(), expected, found });
    }
    Ok(geometry)
}

fn checked(dtype: DType, shape: &[usize], strides: &[isize]) -> Result<Geometry, LayoutError> {
    if shape.len() != strides.len() {
        return Err(LayoutError::Strides { shape: shape.to_vec(), strides: strides.len() });
    }
    let geometry = Geometry::new(dtype, shape, Some(strides))?;
    if let Some((first, last)) = geometry.span()
        && (last - first).saturating_mul(dtype.size() as i128) > isize::MAX as i128
    {
        return Err(LayoutError::TooLarge { shape: shape.to_vec() });
    }
    Ok(geometry)
}

fn strided(
    dtype: DType,
    length: usize,
    offset: usize,
    shape: &[usize],
    strides: &[isize],
) -> Result<Geometry, LayoutError> {
    let geometry = checked(dtype, shape, strides)?;
    if let Some((first, last)) = geometry.span() {
        let (first, last) = (first + offset as i128, last + offset as i128);
        if first < 0 || last >= length as i128 {
            let (shape, strides) = (shape.to_vec(), strides.to_vec());
            return Err(LayoutError::OutOfBounds { shape, strides, offset, first, last, length });
        }
    }
    Ok(geometry)
}

fn injective(geometry: Geometry) -> Result<Geometry, LayoutError> {
    if !geometry.is_injective() {
        return Err(LayoutError::Overlap { shape: geometry.shape(), strides: geometry.strides() });
    }
    Ok(geometry)
}

fn describe(f: &mut fmt::Formatter<'_>, geometry: &Geometry) -> fmt::Result {
    write!(f, "{}{:?}", geometry.dtype, geometry.shape())?;
    if !geometry.is_dense() {
        write!(f, " strides {:?}", geometry.strides())?;
    }
    Ok(())
}

impl fmt::Debug for ArrayView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &self.geometry)
    }
}

impl fmt::Debug for ArrayViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(f, &self.geometry)
    }
}
