//! Arrays of the caller and results.
//!
//! [`ArrayView`] and [`ArrayViewMut`] borrow memory of any dtype, shape and strides. [`Array`] and [`AnyArray`] own
//! dense memory, with a dtype known at compile time or at run time.

mod convert;
mod geometry;
mod input;
#[cfg(feature = "ndarray")]
mod ndarray;
mod owned;
mod view;

pub use convert::{IntoArrayView, IntoArrayViewMut};
pub use geometry::LayoutError;
pub(crate) use geometry::{AxisLayout, Geometry, copy_from_array, copy_to_array};
pub(crate) use input::Argument;
pub use input::{Input, IntoInput};
pub use owned::{AnyArray, Array, FromArray, OutputError};
pub use view::{ArrayView, ArrayViewMut};
