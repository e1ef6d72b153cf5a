//! Arrays of the crate `ndarray`, with any strides, without copying.
#![allow(unsafe_code, reason = "pointers are taken from arrays of another crate")]

use super::convert::{IntoArrayView, IntoArrayViewMut};
use super::geometry::LayoutError;
use super::owned::{AnyArray, FromArray, OutputError};
use super::view::{ArrayView, ArrayViewMut};
use broadloom_ir::dtype::Element;
use ndarray::{ArrayBase, Data, DataMut, Dimension, IxDyn, OwnedRepr, ViewRepr};

/// # Safety
/// The pointer, shape and strides belong to an `ndarray` array borrowed for `'a`.
unsafe fn view<'a, T: Element>(pointer: *const T, shape: &[usize], strides: &[isize]) -> ArrayView<'a> {
    // SAFETY: `ndarray` keeps all elements of an array valid and aligned; the caller borrows it for `'a`.
    let view = unsafe { ArrayView::from_raw(pointer.cast(), T::DTYPE, shape, strides) };
    // `ndarray` limits the number of elements and the bytes spanned to `isize::MAX`.
    view.unwrap_or_else(|_| ArrayView::nothing(T::DTYPE, shape.len()))
}

impl<'a, S: Data<Elem: Element>, D: Dimension> IntoArrayView<'a> for &'a ArrayBase<S, D> {
    fn into_array_view(self) -> ArrayView<'a> {
        // SAFETY: pointer, shape and strides of a shared borrow for `'a`.
        unsafe { view(self.as_ptr(), self.shape(), self.strides()) }
    }
}

impl<'a, T: Element, D: Dimension> IntoArrayView<'a> for ArrayBase<ViewRepr<&'a T>, D> {
    fn into_array_view(self) -> ArrayView<'a> {
        // SAFETY: pointer, shape and strides of a view for `'a`.
        unsafe { view(self.as_ptr(), self.shape(), self.strides()) }
    }
}

impl<'a, S: DataMut<Elem: Element>, D: Dimension> IntoArrayViewMut<'a> for &'a mut ArrayBase<S, D> {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        self.view_mut().into_array_view_mut()
    }
}

impl<'a, T: Element, D: Dimension> IntoArrayViewMut<'a> for ArrayBase<ViewRepr<&'a mut T>, D> {
    fn into_array_view_mut(mut self) -> Result<ArrayViewMut<'a>, LayoutError> {
        let pointer = self.as_mut_ptr().cast();
        // SAFETY: pointer, shape and strides of a mutable view for `'a`, which is consumed.
        unsafe { ArrayViewMut::from_raw(pointer, T::DTYPE, self.shape(), self.strides()) }
    }
}

impl<T: Element, D: Dimension> FromArray for ArrayBase<OwnedRepr<T>, D> {
    fn check(array: &AnyArray) -> Result<(), OutputError> {
        array.check_rank::<T>(D::NDIM)
    }

    fn from_array(array: AnyArray) -> Result<Self, OutputError> {
        <Self as FromArray>::check(&array)?;
        let (shape, found) = (array.shape().to_vec(), array.shape().len());
        let mismatch = OutputError::Rank { found, wanted: D::NDIM.unwrap_or(found) };
        let data = array.into_array::<T>()?.into_vec();
        let array = ndarray::Array::from_shape_vec(IxDyn(&shape), data).map_err(|_| mismatch.clone())?;
        array.into_dimensionality().map_err(|_| mismatch)
    }
}
