//! Borrowed arrays: the place where pointers are taken.
#![allow(
    unsafe_code,
    reason = "an array view is a pointer with a proof that all its elements can be accessed"
)]

use super::geometry::{Geometry, LayoutError, checked, counted, describe, injective, strided};
use crate::memory::Storage;
use broadloom_ir::dtype::{DType, Element, Scalar};
use broadloom_ir::for_each_dtype;
use smallvec::SmallVec;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// Where the elements are. A scalar is stored inline, so that a number can be passed like an array.
#[derive(Clone, Copy)]
enum Base {
    Pointer(*const u8),
    Inline([u8; 8]),
}

/// A borrowed, read-only array of any dtype, shape and strides.
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

// SAFETY: the view represents a shared borrow of elements, and all element types are `Send` and `Sync`.
unsafe impl Send for ArrayView<'_> {}
// SAFETY: as above.
unsafe impl Sync for ArrayView<'_> {}

impl<'a> ArrayView<'a> {
    /// Views all elements of a slice in row-major order.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let rows = ArrayView::new(&[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(rows.get::<i32>(&[1, 0]), Some(4));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the shape does not have as many elements as the slice.
    pub fn new<T: Element>(data: &'a [T], shape: &[usize]) -> Result<Self, LayoutError> {
        let geometry = counted(T::DTYPE, shape, data.len())?;
        Ok(ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData })
    }

    /// Views elements of a slice: the element of index 0 is at `offset`, and its neighbours along each axis are
    /// `strides` elements away. Strides may be negative or zero.
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
    /// Returns an error if an element would lie outside the slice, or if the number of strides differs from the
    /// number of axes.
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

    /// Views a slice along one axis.
    pub(super) fn line<T: Element>(data: &'a [T]) -> Self {
        let geometry = Geometry::line(T::DTYPE, data.len());
        ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData }
    }

    /// Views the elements of an [`Array`](super::Array), whose shape fits them.
    pub(super) fn whole<T: Element>(data: &'a [T], shape: &[usize]) -> Self {
        let geometry = Geometry::dense(T::DTYPE, shape);
        ArrayView { base: Base::Pointer(data.as_ptr().cast()), geometry, lifetime: PhantomData }
    }

    /// Views the elements of an [`AnyArray`](super::AnyArray), whose shape fits them.
    pub(super) fn of_storage(storage: &'a Storage, shape: &[usize]) -> Self {
        let geometry = Geometry::dense(storage.dtype(), shape);
        ArrayView { base: Base::Pointer(storage.as_ptr()), geometry, lifetime: PhantomData }
    }

    /// Returns an array without elements.
    #[cfg(feature = "ndarray")]
    pub(super) fn nothing(dtype: DType, rank: usize) -> Self {
        let geometry = Geometry::dense(dtype, &vec![0; rank]);
        let pointer = std::ptr::dangling::<u64>().cast();
        ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData }
    }

    /// Returns the array of rank 0 that holds a number.
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

    /// Views an array anywhere in memory. Strides count elements.
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
    /// Returns an error if the number of elements is not representable, or if the number of strides differs from
    /// the number of axes.
    ///
    /// # Safety
    /// For the lifetime, every element that an index within the shape reaches is readable, holds a valid value of
    /// the dtype, is aligned, and is not written to.
    pub unsafe fn from_raw(
        pointer: *const u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = checked(dtype, shape, Some(strides))?;
        Ok(ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData })
    }

    /// Views an array anywhere in memory whose elements are contiguous in row-major order.
    ///
    /// ```
    /// use broadloom::{ArrayView, DType};
    /// let data = [1.0f32, 2.0, 3.0, 4.0];
    /// // SAFETY: all of `data`, which lives as long as the view.
    /// let view = unsafe { ArrayView::from_raw_dense(data.as_ptr().cast(), DType::F32, &[2, 2])? };
    /// assert_eq!(view.strides(), [2, 1]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the number of elements is not representable.
    ///
    /// # Safety
    /// The conditions of [`ArrayView::from_raw`].
    pub unsafe fn from_raw_dense(
        pointer: *const u8,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, LayoutError> {
        let geometry = checked(dtype, shape, None)?;
        Ok(ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData })
    }

    /// Returns a part along the leading axis; `None` if that axis is shorter, or if there are no axes.
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
        // An empty array has no element whose position would matter; otherwise this is the position of an element.
        let start = if shape.contains(&0) { 0 } else { range.start as isize * stride };
        let geometry = Geometry::new(self.geometry.dtype, &shape, Some(&strides)).ok()?;
        let pointer = pointer.wrapping_offset(start * self.geometry.dtype.size() as isize);
        Some(ArrayView { base: Base::Pointer(pointer), geometry, lifetime: PhantomData })
    }

    /// Returns the same elements under other sizes, with some axes of size 1 stretched.
    pub(crate) fn stretched(&self, geometry: Geometry) -> ArrayView<'a> {
        ArrayView { geometry, ..self.clone() }
    }

    /// Returns the dtype of the elements.
    ///
    /// ```
    /// use broadloom::{ArrayView, DType};
    /// assert_eq!(ArrayView::scalar(1u8).dtype(), DType::U8);
    /// ```
    pub fn dtype(&self) -> DType {
        self.geometry.dtype
    }

    /// Returns the sizes of the axes.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// assert_eq!(ArrayView::new(&[1, 2], &[1, 2])?.shape(), [1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn shape(&self) -> Vec<usize> {
        self.geometry.shape()
    }

    /// Returns the strides in elements. The stride of an axis with at most one element is unspecified.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// assert_eq!(ArrayView::new(&[0u8; 6], &[2, 3])?.strides(), [3, 1]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn strides(&self) -> Vec<isize> {
        self.geometry.strides()
    }

    /// Returns the element at an index; `None` if the index is out of range or `T` is not the dtype.
    ///
    /// ```
    /// use broadloom::ArrayView;
    /// let view = ArrayView::new(&[1, 2], &[2])?;
    /// assert_eq!((view.get::<i32>(&[1]), view.get::<i32>(&[2]), view.get::<u8>(&[1])), (Some(2), None, None));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn get<T: Element>(&self, index: &[usize]) -> Option<T> {
        let position = self.geometry.position(index).filter(|_| T::DTYPE == self.geometry.dtype)?;
        // SAFETY: the index is within the shape and `T` is the dtype, so the element can be read; an inline scalar
        // has only position 0. An inline base is not aligned for `T`.
        Some(unsafe { self.pointer().cast::<T>().wrapping_offset(position).read_unaligned() })
    }

    /// Returns the element at an index with its dtype; `None` if the index is out of range.
    ///
    /// ```
    /// use broadloom::{ArrayView, Scalar};
    /// let view = ArrayView::new(&[1u8, 2], &[2])?;
    /// assert_eq!((view.scalar_at(&[1]), view.scalar_at(&[2])), (Some(Scalar::U8(2)), None));
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn scalar_at(&self, index: &[usize]) -> Option<Scalar> {
        macro_rules! typed {
            ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
                match self.dtype() {
                    $(DType::$variant => self.get::<$rust>(index).map(Scalar::$variant),)*
                }
            };
        }
        for_each_dtype!(typed)
    }

    /// Copies the elements in row-major order; `None` if `T` is not the dtype, or if there is not enough memory.
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

    /// Returns a pointer to the element of index 0. It is valid until `self` moves.
    pub(crate) fn pointer(&self) -> *const u8 {
        match &self.base {
            Base::Pointer(pointer) => *pointer,
            Base::Inline(bytes) => bytes.as_ptr(),
        }
    }
}

/// A borrowed, writable array of any dtype, shape and strides. No two indices reach the same element.
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

// SAFETY: the view represents a mutable borrow of elements, and all element types are `Send` and `Sync`.
unsafe impl Send for ArrayViewMut<'_> {}
// SAFETY: as above; a shared reference to the view gives no access.
unsafe impl Sync for ArrayViewMut<'_> {}

impl<'a> ArrayViewMut<'a> {
    /// Views all elements of a slice in row-major order.
    ///
    /// ```
    /// use broadloom::ArrayViewMut;
    /// assert!(ArrayViewMut::new(&mut [0.0f32; 6], &[2, 3]).is_ok());
    /// ```
    ///
    /// # Errors
    /// Returns an error if the shape does not have as many elements as the slice.
    pub fn new<T: Element>(data: &'a mut [T], shape: &[usize]) -> Result<Self, LayoutError> {
        let geometry = counted(T::DTYPE, shape, data.len())?;
        Ok(ArrayViewMut { pointer: data.as_mut_ptr().cast(), geometry, lifetime: PhantomData })
    }

    /// Views a slice along one axis.
    pub(super) fn line<T: Element>(data: &'a mut [T]) -> Self {
        let geometry = Geometry::line(T::DTYPE, data.len());
        ArrayViewMut { pointer: data.as_mut_ptr().cast(), geometry, lifetime: PhantomData }
    }

    /// Views elements of a slice: the element of index 0 is at `offset`, and its neighbours along each axis are
    /// `strides` elements away.
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
    /// Returns an error if an element would lie outside the slice or be reached by two indices, or if the number of
    /// strides differs from the number of axes.
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

    /// Views an array anywhere in memory. Strides count elements.
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
    /// Returns an error if the number of elements is not representable, if two indices would reach the same
    /// element, or if the number of strides differs from the number of axes.
    ///
    /// # Safety
    /// For the lifetime, every element that an index within the shape reaches is writable, is aligned, and is
    /// accessed only through this view.
    pub unsafe fn from_raw(
        pointer: *mut u8,
        dtype: DType,
        shape: &[usize],
        strides: &[isize],
    ) -> Result<Self, LayoutError> {
        let geometry = injective(checked(dtype, shape, Some(strides))?)?;
        Ok(ArrayViewMut { pointer, geometry, lifetime: PhantomData })
    }

    /// Views a writable array anywhere in memory whose elements are contiguous in row-major order.
    ///
    /// ```
    /// use broadloom::{ArrayViewMut, DType};
    /// let mut data = [0u8; 4];
    /// // SAFETY: all of `data`, which nothing else accesses while the view lives.
    /// let view = unsafe { ArrayViewMut::from_raw_dense(data.as_mut_ptr(), DType::U8, &[2, 2])? };
    /// assert_eq!(view.strides(), [2, 1]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the number of elements is not representable.
    ///
    /// # Safety
    /// The conditions of [`ArrayViewMut::from_raw`].
    pub unsafe fn from_raw_dense(
        pointer: *mut u8,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Self, LayoutError> {
        Ok(ArrayViewMut { pointer, geometry: checked(dtype, shape, None)?, lifetime: PhantomData })
    }

    /// Returns the dtype of the elements.
    ///
    /// ```
    /// use broadloom::{ArrayViewMut, DType};
    /// assert_eq!(ArrayViewMut::new(&mut [0i64; 2], &[2])?.dtype(), DType::I64);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.geometry.dtype
    }

    /// Returns the sizes of the axes.
    ///
    /// ```
    /// use broadloom::ArrayViewMut;
    /// assert_eq!(ArrayViewMut::new(&mut [0i64; 2], &[1, 2])?.shape(), [1, 2]);
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    pub fn shape(&self) -> Vec<usize> {
        self.geometry.shape()
    }

    /// Returns the strides in elements. The stride of an axis with at most one element is unspecified.
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

    /// Views the same elements through a pointer that may still write.
    pub(super) fn into_shared(self) -> ArrayView<'a> {
        ArrayView { base: Base::Pointer(self.pointer), geometry: self.geometry, lifetime: PhantomData }
    }

    /// Views the same elements for as long as `self` is borrowed.
    pub(super) fn reborrow(&mut self) -> ArrayViewMut<'_> {
        ArrayViewMut { pointer: self.pointer, geometry: self.geometry.clone(), lifetime: PhantomData }
    }
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

#[cfg(test)]
mod tests {
    use super::super::owned::{AnyArray, Array};
    use super::super::{IntoArrayView, IntoArrayViewMut};
    use super::*;

    #[test]
    fn rows_of_every_layout_have_their_elements() {
        let data: Vec<i32> = (0..24).collect();
        let dense = ArrayView::new(&data, &[6, 4]).unwrap();
        let turned = ArrayView::strided(&data, 0, &[4, 6], &[1, 4]).unwrap();
        let backwards = ArrayView::strided(&data, 23, &[6, 4], &[-4, -1]).unwrap();
        let repeated = ArrayView::strided(&data, 5, &[3, 2], &[0, 1]).unwrap();
        assert_eq!(dense.rows(2..4).unwrap().to_vec(), Some((8..16).collect::<Vec<i32>>()));
        assert_eq!(turned.rows(3..4).unwrap().to_vec(), Some(vec![3, 7, 11, 15, 19, 23]));
        assert_eq!(backwards.rows(4..6).unwrap().to_vec(), Some(vec![7, 6, 5, 4, 3, 2, 1, 0]));
        assert_eq!(repeated.rows(1..3).unwrap().to_vec(), Some(vec![5, 6, 5, 6]));
        assert_eq!(dense.rows(6..6).unwrap().to_vec(), Some(Vec::<i32>::new()));
        assert!(dense.rows(5..7).is_none() && ArrayView::scalar(1).rows(0..0).is_none());
    }

    #[test]
    fn a_number_moves_with_its_view() {
        let views: Vec<ArrayView<'_>> =
            vec![ArrayView::scalar(2.5f64), ArrayView::scalar(true), ArrayView::scalar(-3i16)];
        let moved: Vec<ArrayView<'_>> = views.into_iter().rev().collect();
        assert_eq!(moved[0].get::<i16>(&[]), Some(-3));
        assert_eq!(moved[1].to_vec(), Some(vec![true]));
        assert_eq!(moved[2].clone().get::<f64>(&[]), Some(2.5));
        assert_eq!(moved[2].get::<f32>(&[]), None);
    }

    #[test]
    fn threads_share_a_view_and_write_to_their_own() {
        let mut data = [1u16, 2, 3, 4, 5, 6, 7, 8];
        let (left, right) = data.split_at_mut(4);
        let views = [left, right].map(|half| ArrayViewMut::strided(half, 3, &[4], &[-1]).unwrap());
        std::thread::scope(|scope| {
            for view in views {
                scope.spawn(move || {
                    for at in 0..4 {
                        // SAFETY: the four elements from the last one backwards are this view's.
                        unsafe { *view.pointer().cast::<u16>().offset(-at) += 100 * at as u16 };
                    }
                });
            }
        });
        assert_eq!(data, [301, 202, 103, 4, 305, 206, 107, 8]);
        let view = ArrayView::new(&data, &[2, 4]).unwrap();
        let sums = std::thread::scope(|scope| {
            let sum = |row: usize| (0..4).filter_map(|at| view.get::<u16>(&[row, at])).sum::<u16>();
            let threads = [0, 1].map(|row| scope.spawn(move || sum(row)));
            threads.map(|thread| thread.join().unwrap())
        });
        assert_eq!(sums, [610, 626]);
    }

    #[test]
    fn what_is_lent_comes_back_changed() {
        let mut array = Array::new(vec![1.0f32, 2.0, 3.0, 4.0], &[2, 2]).unwrap();
        let mut view = (&mut array).into_array_view_mut().unwrap();
        for value in [7.0f32, 8.0] {
            let again = view.reborrow();
            // SAFETY: the first of four elements.
            unsafe { *again.pointer().cast::<f32>() += value };
        }
        let shared = view.into_shared();
        assert_eq!(shared.get::<f32>(&[0, 0]), Some(16.0));
        assert_eq!(array.as_slice(), [16.0, 2.0, 3.0, 4.0]);

        let mut any = AnyArray::from(array);
        let end = any.as_mut_ptr().wrapping_add(12).cast::<f32>();
        // SAFETY: the last of four elements.
        unsafe { *end = 9.0 };
        assert_eq!((&any).into_array_view().get::<f32>(&[1, 1]), Some(9.0));
        // SAFETY: two elements of the array, which lives.
        let column = unsafe { ArrayView::from_raw(any.as_ptr(), DType::F32, &[2], &[2]) }.unwrap();
        assert_eq!(column.to_vec(), Some(vec![16.0f32, 3.0]));
        assert!(any.clone().into_array::<i32>().is_err());
        assert_eq!(any.into_array::<f32>().unwrap().into_vec(), [16.0, 2.0, 3.0, 9.0]);
    }
}
