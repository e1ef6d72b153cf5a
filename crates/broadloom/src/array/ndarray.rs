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

#[cfg(test)]
mod tests {
    use super::super::copy_to_array;
    use super::*;
    use ndarray::{Array2, Array3, ArrayD, Axis, s};

    #[test]
    fn views_of_any_strides_have_the_elements() {
        let table = Array2::from_shape_fn((4, 6), |(i, j)| (10 * i + j) as i32);
        let row = table.row(2);
        let mut backwards = table.view();
        backwards.invert_axis(Axis(1));
        for part in [
            table.view(),
            table.t(),
            backwards,
            table.slice(s![..;-1, ..;-2]),
            table.slice(s![1..3, 2..5]),
            table.slice(s![..0, ..]),
            row.broadcast((3, 6)).unwrap(),
        ] {
            let elements: Vec<i32> = part.iter().copied().collect();
            assert_eq!((&part).into_array_view().to_vec(), Some(elements.clone()));
            assert_eq!(part.into_array_view().to_vec(), Some(elements));
        }
    }

    #[test]
    fn what_is_written_reaches_the_part_and_nothing_else() {
        let mut whole = Array3::<f32>::zeros((3, 2, 4));
        let mut expected = whole.clone();
        let values: Vec<f32> = (1..=12).map(|number| number as f32).collect();
        let part = |array: &mut Array3<f32>, write: &dyn Fn(ndarray::ArrayViewMut2<'_, f32>)| {
            let mut part = array.index_axis_mut(Axis(1), 1);
            part.invert_axis(Axis(0));
            write(part.reversed_axes());
        };
        part(&mut whole, &|part| {
            let view = part.into_array_view_mut().unwrap();
            // SAFETY: twelve elements each.
            unsafe { copy_to_array(values.as_ptr().cast(), view.pointer(), view.geometry()) };
        });
        part(&mut expected, &|mut part| {
            part.iter_mut().zip(&values).for_each(|(element, value)| *element = *value);
        });
        assert_eq!(whole, expected);
    }

    #[test]
    fn results_become_arrays_of_their_rank() {
        let any = || AnyArray::from(super::super::Array::new(vec![1u8, 2, 3, 4, 5, 6], &[2, 3]).unwrap());
        assert_eq!(Array2::<u8>::from_array(any()).unwrap(), ndarray::array![[1, 2, 3], [4, 5, 6]]);
        assert_eq!(ArrayD::<u8>::from_array(any()).unwrap().shape(), [2, 3]);
        assert!(Array3::<u8>::from_array(any()).is_err() && Array2::<i8>::from_array(any()).is_err());
    }
}
