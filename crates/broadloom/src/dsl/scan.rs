//! Scans: running results along an axis.

use super::axes::IntoAxis;
use super::call::Call;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::{Running, Site};
use broadloom_ir::reduce::ReduceOp;

/// Scans along an axis: element `i` combines the elements `0..=i` one after the other, as NumPy does. The shape
/// stays the same. Scans fuse with the elementwise ops that feed them and with those that use their results; rows
/// and columns that lie side by side are computed together. A scan of a single axis runs on one thread.
impl Tensor {
    /// Returns running sums, in the dtype of [`Tensor::sum`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i64> = eval(&[1, 2, 3], |x| x.cumsum(0))?;
    /// assert_eq!(result, [1, 3, 6]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cumsum(self, axis: impl IntoAxis) -> Tensor {
        self.running(Running::of(ReduceOp::Sum), axis.into_axis(), Site::caller())
    }

    /// Returns running products, in the dtype of [`Tensor::prod`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[2.0, 3.0, 4.0], |x| x.cumprod(0))?;
    /// assert_eq!(result, [2.0, 6.0, 24.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cumprod(self, axis: impl IntoAxis) -> Tensor {
        self.running(Running::of(ReduceOp::Prod), axis.into_axis(), Site::caller())
    }

    /// Returns running sums that start from 0: one more than there are elements, the last of them the sum of all.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let ends: Vec<i64> = eval(&[1, 2, 3], |x| x.cumsum_from_zero(0))?;
    /// assert_eq!(ends, [0, 1, 3, 6]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cumsum_from_zero(self, axis: impl IntoAxis) -> Tensor {
        self.running(
            Running { include_initial: true, ..Running::of(ReduceOp::Sum) },
            axis.into_axis(),
            Site::caller(),
        )
    }

    /// Returns the least of the elements so far; NaN from the first NaN on.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[3, 1, 2], |x| x.cummin(0))?;
    /// assert_eq!(result, [3, 1, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cummin(self, axis: impl IntoAxis) -> Tensor {
        self.running(Running::of(ReduceOp::Min), axis.into_axis(), Site::caller())
    }

    /// Returns the greatest of the elements so far; NaN from the first NaN on.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// // How far prices are below the highest that there was.
    /// let fall: Vec<f64> = eval(&[4.0, 6.0, 3.0, 5.0], |x| x / x.cummax(0) - 1)?;
    /// assert_eq!(fall, [0.0, 0.0, -0.5, 5.0 / 6.0 - 1.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cummax(self, axis: impl IntoAxis) -> Tensor {
        self.running(Running::of(ReduceOp::Max), axis.into_axis(), Site::caller())
    }

    /// Returns running sums that count NaN as 0.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, f64::NAN, 2.0], |x| x.nancumsum(0))?;
    /// assert_eq!(result, [1.0, 1.0, 3.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nancumsum(self, axis: impl IntoAxis) -> Tensor {
        self.running(
            Running { numbers: true, ..Running::of(ReduceOp::Sum) },
            axis.into_axis(),
            Site::caller(),
        )
    }

    /// Returns running products that count NaN as 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[2.0, f64::NAN, 3.0], |x| x.nancumprod(0))?;
    /// assert_eq!(result, [2.0, 2.0, 6.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nancumprod(self, axis: impl IntoAxis) -> Tensor {
        self.running(
            Running { numbers: true, ..Running::of(ReduceOp::Prod) },
            axis.into_axis(),
            Site::caller(),
        )
    }

    fn running(self, running: Running, axis: i64, site: Site) -> Tensor {
        registry::call(&[self], Call::Scan(running, self.expr, axis), site)
    }
}
