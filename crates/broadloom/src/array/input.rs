//! What can be passed for an input: anything readable, and by `&mut` anything writable.

use super::convert::{IntoArrayView, IntoArrayViewMut};
use super::geometry::LayoutError;
use super::owned::Array;
use super::view::{ArrayView, ArrayViewMut};
use broadloom_ir::dtype::Element;
use broadloom_ir::for_each_dtype;

/// An array for an input, and whether a run may write to it.
///
/// ```
/// use broadloom::{Input, IntoInput};
/// let mut data = vec![1.0f32, 2.0];
/// let shared: Input = (&data).into_input(); // to be read
/// drop(shared);
/// let exclusive: Input = (&mut data).into_input(); // a run may write to it
/// ```
#[derive(Debug)]
pub struct Input<'a>(pub(crate) Result<Argument<'a>, Box<LayoutError>>);

/// A valid array for an input.
#[derive(Debug, Clone)]
pub(crate) struct Argument<'a> {
    pub(crate) view: ArrayView<'a>,
    /// Whether the run has exclusive access to it.
    pub(crate) is_exclusive: bool,
}

/// Types that can be passed for an input: whatever converts to an [`ArrayView`], to be read, or to an
/// [`ArrayViewMut`] (`&mut` to vectors, slices, [`Array`]s and numbers, and with the feature `ndarray` to its
/// arrays and views). An input that is [assigned](crate::Tensor::assign) to needs the latter.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// x.add_(1);
/// let kernel = g.compile([])?;
/// let mut data = vec![1.0f32, 2.0];
/// kernel.run(&mut data)?;
/// assert_eq!(data, [2.0, 3.0]);
/// assert!(kernel.run(&data).is_err()); // the kernel writes to `x`
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait IntoInput<'a> {
    /// Returns the array.
    fn into_input(self) -> Input<'a>;
}

impl<'a, V: IntoArrayView<'a>> IntoInput<'a> for V {
    fn into_input(self) -> Input<'a> {
        Input(Ok(Argument { view: self.into_array_view(), is_exclusive: false }))
    }
}

impl<'a> IntoInput<'a> for ArrayViewMut<'a> {
    fn into_input(self) -> Input<'a> {
        Input(Ok(Argument { view: self.into_shared(), is_exclusive: true }))
    }
}

/// Implements [`IntoInput`] for types that implement [`IntoArrayViewMut`].
macro_rules! exclusive {
    ($([$($generics:tt)*] $t:ty;)*) => {$(
        impl<'a, $($generics)*> IntoInput<'a> for $t {
            fn into_input(self) -> Input<'a> {
                match self.into_array_view_mut() {
                    Ok(view) => view.into_input(),
                    Err(error) => Input(Err(Box::new(error))),
                }
            }
        }
    )*};
}
exclusive! {
    [] &'a mut ArrayViewMut<'_>;
    [T: Element] &'a mut [T];
    [T: Element, const N: usize] &'a mut [T; N];
    [T: Element] &'a mut Vec<T>;
    [T: Element] &'a mut Array<T>;
}
#[cfg(feature = "ndarray")]
exclusive! {
    [S: ndarray::DataMut<Elem: Element>, D: ndarray::Dimension] &'a mut ndarray::ArrayBase<S, D>;
    [T: Element, D: ndarray::Dimension] ndarray::ArrayBase<ndarray::ViewRepr<&'a mut T>, D>;
}

macro_rules! numbers {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        exclusive! { $([] &'a mut $rust;)* }
    };
}
for_each_dtype!(numbers);
