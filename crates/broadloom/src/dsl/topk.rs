//! The best elements along an axis.

use super::axes::IntoAxis;
use super::call::{Best, Call};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::Site;

/// The best elements along an axis and their indices (`i64`): two tensors computed in one pass, in which size `k`
/// replaces the size of the axis. `k` is a number from 1 to 64 and at most the size of the axis.
///
/// The order is that of [`Tensor::max`] and [`Tensor::argmax`]: best first, the lower index first among equal
/// elements, and NaNs before all numbers.
impl Tensor {
    /// Returns the `k` greatest elements along an axis, greatest first, and their indices.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (values, indices): (Vec<i32>, Vec<i64>) = eval(&[3, 1, 5, 3], |x| x.topk(3, 0))?;
    /// assert_eq!((values, indices), (vec![5, 3, 3], vec![2, 0, 3]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn topk(self, k: usize, axis: impl IntoAxis) -> (Tensor, Tensor) {
        self.best(k, axis.into_axis(), true, Site::caller())
    }

    /// Returns the `k` least elements along an axis, least first, and their indices. NaNs come before all numbers
    /// here too.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (values, indices): (Vec<i32>, Vec<i64>) = eval(&[3, 1, 5, 3], |x| x.topk_smallest(3, 0))?;
    /// assert_eq!((values, indices), (vec![1, 3, 3], vec![1, 0, 3]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn topk_smallest(self, k: usize, axis: impl IntoAxis) -> (Tensor, Tensor) {
        self.best(k, axis.into_axis(), false, Site::caller())
    }

    fn best(self, k: usize, axis: i64, largest: bool, site: Site) -> (Tensor, Tensor) {
        let k = i64::try_from(k).unwrap_or(i64::MAX);
        let best = Best { operand: self.expr, k, axis, largest };
        let values = registry::call(&[self], Call::Best(best), site);
        (values, registry::call(&[values], Call::PlacesOfBest(values.expr), site))
    }
}
