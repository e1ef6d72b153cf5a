//! Conversions to array views.

use super::geometry::LayoutError;
use super::owned::{AnyArray, Array};
use super::view::{ArrayView, ArrayViewMut};
use broadloom_ir::dtype::Element;
use broadloom_ir::for_each_dtype;

/// Types that can be passed as an input: views, slices and vectors (one axis), numbers (no axes), [`Array`]s and,
/// with the feature `ndarray`, that crate's arrays and views of any strides. Nothing is copied.
///
/// ```
/// use broadloom::IntoArrayView;
/// /// Takes whatever can be an input.
/// fn elements<'a>(array: impl IntoArrayView<'a>) -> usize {
///     array.into_array_view().shape().iter().product()
/// }
/// assert_eq!(elements(&vec![1.0f32, 2.0]), 2);
/// assert_eq!(elements(&[1u8, 2, 3]), 3);
/// assert_eq!(elements(7i64), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed as an array",
    note = "pass a slice or a reference to a `Vec`, an `Array` or an `AnyArray`; for several axes `ArrayView::new(&data, &[rows, columns])?`",
    note = "to pass arrays of `ndarray`, enable the feature `ndarray`"
)]
pub trait IntoArrayView<'a> {
    /// Returns the view of the elements.
    fn into_array_view(self) -> ArrayView<'a>;
}

/// Types that can be written to: views, slices and vectors (one axis), numbers (no axes), [`Array`]s and, with the
/// feature `ndarray`, that crate's arrays and views of any strides.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (2 * x).compile()?;
/// let mut results = vec![0.0f32; 3];
/// kernel.run_into(&[1.0f32, 2.0], &mut results[1..])?;
/// assert_eq!(results, [0.0, 2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written to as an array",
    note = "pass `&mut` of a slice, a `Vec` or an `Array`; for several axes `ArrayViewMut::new(&mut data, &[rows, columns])?`"
)]
pub trait IntoArrayViewMut<'a> {
    /// Returns the view of the elements.
    ///
    /// # Errors
    /// Returns an error if two indices could reach the same element.
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError>;
}

impl<'a> IntoArrayView<'a> for ArrayView<'a> {
    fn into_array_view(self) -> ArrayView<'a> {
        self
    }
}

impl<'a> IntoArrayView<'a> for &ArrayView<'a> {
    fn into_array_view(self) -> ArrayView<'a> {
        self.clone()
    }
}

impl<'a, T: Element> IntoArrayView<'a> for &'a [T] {
    fn into_array_view(self) -> ArrayView<'a> {
        ArrayView::line(self)
    }
}

impl<'a, T: Element, const N: usize> IntoArrayView<'a> for &'a [T; N] {
    fn into_array_view(self) -> ArrayView<'a> {
        ArrayView::line(self)
    }
}

impl<'a, T: Element> IntoArrayView<'a> for &'a Vec<T> {
    fn into_array_view(self) -> ArrayView<'a> {
        ArrayView::line(self)
    }
}

impl<'a, T: Element> IntoArrayView<'a> for &'a Array<T> {
    fn into_array_view(self) -> ArrayView<'a> {
        ArrayView::whole(self.as_slice(), self.shape())
    }
}

impl<'a> IntoArrayView<'a> for &'a AnyArray {
    fn into_array_view(self) -> ArrayView<'a> {
        ArrayView::of_storage(self.storage(), self.shape())
    }
}

impl<'a> IntoArrayViewMut<'a> for ArrayViewMut<'a> {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        Ok(self)
    }
}

impl<'a> IntoArrayViewMut<'a> for &'a mut ArrayViewMut<'_> {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        Ok(self.reborrow())
    }
}

impl<'a, T: Element> IntoArrayViewMut<'a> for &'a mut [T] {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        Ok(ArrayViewMut::line(self))
    }
}

impl<'a, T: Element, const N: usize> IntoArrayViewMut<'a> for &'a mut [T; N] {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        Ok(ArrayViewMut::line(self))
    }
}

impl<'a, T: Element> IntoArrayViewMut<'a> for &'a mut Vec<T> {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        self.as_mut_slice().into_array_view_mut()
    }
}

impl<'a, T: Element> IntoArrayViewMut<'a> for &'a mut Array<T> {
    fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
        let (data, shape) = self.split_mut();
        ArrayViewMut::new(data, shape)
    }
}

macro_rules! scalars {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        $(
            impl<'a> IntoArrayView<'a> for $rust {
                fn into_array_view(self) -> ArrayView<'a> {
                    ArrayView::scalar(self)
                }
            }

            impl<'a> IntoArrayViewMut<'a> for &'a mut $rust {
                fn into_array_view_mut(self) -> Result<ArrayViewMut<'a>, LayoutError> {
                    ArrayViewMut::new(std::slice::from_mut(self), &[])
                }
            }
        )*
    };
}

for_each_dtype!(scalars);
