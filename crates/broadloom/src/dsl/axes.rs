//! Axes and reductions over them.

use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::Site;
use broadloom_ir::reduce::ReduceOp;
use std::ops::RangeFull;
use std::panic::Location;

/// Axes of a tensor: a number (`1`, or `-1` for the last), several (`[0, 2]`), or `..` for all.
pub trait IntoAxes {
    /// The axes; `None` for all of them.
    fn into_axes(self) -> Option<Vec<i64>>;
}

/// A number that can name an axis. One too large to be an axis is reported as such when the graph is checked.
pub trait IntoAxis {
    /// The axis, saturated to the range of `i64`.
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

macro_rules! reductions {
    ($($(#[doc = $doc:literal])+ $name:ident, $keepdims:ident = $op:ident;)*) => {
        /// Reductions over one axis, several or all (`..`); negative axes count from the last. The `_keepdims`
        /// forms leave axes of size 1, so that the result broadcasts against the operand.
        impl Tensor {
            $(
                $(#[doc = $doc])+
                #[track_caller]
                pub fn $name(self, axes: impl IntoAxes) -> Tensor {
                    self.reduce(ReduceOp::$op, axes.into_axes(), false, Location::caller())
                }

                #[doc = concat!("Like [`Tensor::", stringify!($name), "`], leaving axes of size 1.")]
                #[track_caller]
                pub fn $keepdims(self, axes: impl IntoAxes) -> Tensor {
                    self.reduce(ReduceOp::$op, axes.into_axes(), true, Location::caller())
                }
            )*
        }
    };
}

reductions! {
    /// Sum; of bool and integers in `i64`. Float sums have a fixed order, so that the bits never depend on layout
    /// or threads. An empty axis gives 0.
    sum, sum_keepdims = Sum;
    /// Product; of bool and integers in `i64`. An empty axis gives 1.
    prod, prod_keepdims = Prod;
    /// Least element; NaN if there is one. The axes must not be empty.
    min, min_keepdims = Min;
    /// Greatest element; NaN if there is one. The axes must not be empty.
    max, max_keepdims = Max;
    /// Mean; of integers in `f64`. An empty axis gives NaN.
    mean, mean_keepdims = Mean;
    /// Index (`i64`) of the least element: the first of equal ones, or of NaNs. Over several axes it is the
    /// row-major index. The axes must not be empty.
    argmin, argmin_keepdims = ArgMin;
    /// Index (`i64`) of the greatest element: the first of equal ones, or of NaNs. Over several axes it is the
    /// row-major index. The axes must not be empty.
    argmax, argmax_keepdims = ArgMax;
}

impl Tensor {
    fn reduce(self, op: ReduceOp, axes: Option<Vec<i64>>, keepdims: bool, site: Site) -> Tensor {
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            graph.reduce(op, self.expr, axes.as_deref(), keepdims, site)
        })
    }
}
