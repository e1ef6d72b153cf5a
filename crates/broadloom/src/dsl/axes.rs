//! Axis arguments of methods.

use std::ops::RangeFull;

/// Axes of a tensor: a number (`1`, or `-1` for the last), several (`[0, 2]`), or `..` for all.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![2, 3, 4]);
/// assert_eq!(x.sum(-1).to_string(), "f32[2, 3]");
/// assert_eq!(x.sum([0, 2]).to_string(), "f32[3]");
/// assert_eq!(x.sum(..).to_string(), "f32[]");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name axes",
    note = "write one axis (`0`, `-1`), several (`[0, 1]`), or all of them (`..`)"
)]
pub trait IntoAxes {
    /// Returns the axes; `None` for all of them.
    fn into_axes(self) -> Option<Vec<i64>>;
}

/// A number that can name an axis. If it is too large to be an axis, the graph reports that when it is checked.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![2, 3]);
/// let last: usize = 1;
/// assert_eq!(x.flip(last).shape(), x.flip(-1).shape());
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an axis",
    note = "write an axis as a number: `0` or `-1`"
)]
pub trait IntoAxis {
    /// Returns the axis, saturated to the range of `i64`.
    fn into_axis(self) -> i64;
}

macro_rules! axis_numbers {
    ($($t:ty)*) => {$(
        impl IntoAxis for $t {
            fn into_axis(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }
        }

        impl IntoAxes for $t {
            fn into_axes(self) -> Option<Vec<i64>> {
                Some(vec![self.into_axis()])
            }
        }
    )*};
}
axis_numbers!(i32 i64 isize u32 usize);

impl<T: IntoAxis, const N: usize> IntoAxes for [T; N] {
    fn into_axes(self) -> Option<Vec<i64>> {
        Some(self.into_iter().map(T::into_axis).collect())
    }
}

impl<T: IntoAxis + Copy> IntoAxes for &[T] {
    fn into_axes(self) -> Option<Vec<i64>> {
        Some(self.iter().copied().map(T::into_axis).collect())
    }
}

impl<T: IntoAxis> IntoAxes for Vec<T> {
    fn into_axes(self) -> Option<Vec<i64>> {
        Some(self.into_iter().map(T::into_axis).collect())
    }
}

impl IntoAxes for RangeFull {
    fn into_axes(self) -> Option<Vec<i64>> {
        None
    }
}
