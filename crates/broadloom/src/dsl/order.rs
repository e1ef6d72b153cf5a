//! Sorting, binary search in sorted tables, and quantiles.

use super::axes::{IntoAxes, IntoAxis};
use super::call::{Argument, Call};
use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::{QuantileMethod, Quantiles, Site};

/// Sorting along an axis. Ascending order puts -0 before +0, and NaNs after all numbers. Descending order is the
/// reverse, with NaNs first. Indices (`i64`) are those of a stable sort: among equal elements, the lower index
/// comes first in either direction. All zeros are equal, and so are all NaNs.
impl Tensor {
    /// Sorts the elements along an axis in ascending order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let sorted: Vec<i32> = eval(&[3, 1, 2], |x| x.sort(0))?;
    /// assert_eq!(sorted, [1, 2, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn sort(self, axis: impl IntoAxis) -> Tensor {
        self.along(
            "sort",
            |graph, x, axes, _, site| graph.sort(x, first(axes), false, site),
            axis.into_axis(),
            false,
            Site::caller(),
        )
    }

    /// Sorts the elements along an axis in descending order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let sorted: Vec<i32> = eval(&[3, 1, 2], |x| x.sort_descending(0))?;
    /// assert_eq!(sorted, [3, 2, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn sort_descending(self, axis: impl IntoAxis) -> Tensor {
        self.along(
            "sort descending",
            |graph, x, axes, _, site| graph.sort(x, first(axes), true, site),
            axis.into_axis(),
            false,
            Site::caller(),
        )
    }

    /// Returns the indices that sort the elements along an axis in ascending order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let order: Vec<i64> = eval(&[3, 1, 3, 2], |x| x.argsort(0))?;
    /// assert_eq!(order, [1, 3, 0, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn argsort(self, axis: impl IntoAxis) -> Tensor {
        self.along(
            "argsort",
            |graph, x, axes, _, site| graph.argsort(x, first(axes), false, site),
            axis.into_axis(),
            false,
            Site::caller(),
        )
    }

    /// Returns the indices that sort the elements along an axis in descending order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let order: Vec<i64> = eval(&[3, 1, 3, 2], |x| x.argsort_descending(0))?;
    /// assert_eq!(order, [0, 2, 3, 1]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn argsort_descending(self, axis: impl IntoAxis) -> Tensor {
        self.along(
            "argsort descending",
            |graph, x, axes, _, site| graph.argsort(x, first(axes), true, site),
            axis.into_axis(),
            false,
            Site::caller(),
        )
    }

    /// Returns the position of each value in this table (`i64`): the number of table elements that are less than
    /// it. The table has one axis and is in ascending order. In an unsorted table, the position is some number from
    /// 0 to the size, the same on every run.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let bins: Vec<i64> = eval((&[1.0, 2.0, 3.0], &[0.5, 2.0, 9.0]), |(edges, x)| edges.searchsorted(x))?;
    /// assert_eq!(bins, [0, 1, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn searchsorted(self, values: impl Into<Operand>) -> Tensor {
        self.searched(&values.into(), false, Site::caller())
    }

    /// Like [`Tensor::searchsorted`], but to the right of equal elements: the number of table elements that are not
    /// greater.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let bins: Vec<i64> = eval((&[1.0, 2.0, 3.0], &[0.5, 2.0, 9.0]), |(edges, x)| edges.searchsorted_right(x))?;
    /// assert_eq!(bins, [0, 2, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn searchsorted_right(self, values: impl Into<Operand>) -> Tensor {
        self.searched(&values.into(), true, Site::caller())
    }

    fn searched(self, values: &Operand, right: bool, site: Site) -> Tensor {
        let operands: Vec<Tensor> = [Some(self), values.as_tensor()].into_iter().flatten().collect();
        let call = Call::Search([Argument::Expr(self.expr), Argument::from(values)], right);
        registry::call(&operands, call, site)
    }
}

/// Quantiles: the values at fractions of the order along axes, from 0 for the least element to 1 for the greatest.
/// A NaN gives NaN; the `nan` forms ignore NaNs. The axes must not be empty.
///
/// One fraction drops the axes. An array or a slice of fractions inserts an axis for them in front, and floats
/// become `f64`. Integers give `f64`, except for methods that return elements themselves.
impl Tensor {
    /// Returns a quantile, interpolated linearly between the two elements around it.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (low, both): (f64, Vec<f64>) =
    ///     eval(&[1.0, 2.0, 4.0], |x| (x.quantile(0.25, ..), x.quantile([0.25, 0.75], ..)))?;
    /// assert_eq!((low, both), (1.5, vec![1.5, 3.0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn quantile(self, at: impl IntoFractions, axes: impl IntoAxes) -> Tensor {
        self.quantiles(at, axes, QuantileMethod::Linear, false, false, Site::caller())
    }

    /// Like [`Tensor::quantile`], but keeps the axes as size 1.
    ///
    /// ```
    /// # use broadloom::prelude::*;
    /// # let g = Graph::new();
    /// let x = g.input::<f64>("x", shape![2, 3]);
    /// assert_eq!(x.quantile_keepdims(0.5, 1).shape(), shape![2, 1]);
    /// ```
    #[track_caller]
    pub fn quantile_keepdims(self, at: impl IntoFractions, axes: impl IntoAxes) -> Tensor {
        self.quantiles(at, axes, QuantileMethod::Linear, false, true, Site::caller())
    }

    /// Like [`Tensor::quantile`], with another method.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::QuantileMethod;
    /// let low: f64 = eval(&[1.0, 2.0, 4.0], |x| x.quantile_by(QuantileMethod::Lower, 0.3, ..))?;
    /// assert_eq!(low, 1.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn quantile_by(self, method: QuantileMethod, at: impl IntoFractions, axes: impl IntoAxes) -> Tensor {
        self.quantiles(at, axes, method, false, false, Site::caller())
    }

    /// Like [`Tensor::quantile`], but ignores NaNs; NaN if there is nothing else.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let low: f64 = eval(&[1.0, f64::NAN, 2.0], |x| x.nanquantile(0.25, ..))?;
    /// assert_eq!(low, 1.25);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nanquantile(self, at: impl IntoFractions, axes: impl IntoAxes) -> Tensor {
        self.quantiles(at, axes, QuantileMethod::Linear, true, false, Site::caller())
    }

    /// Like [`Tensor::nanquantile`], but keeps the axes as size 1.
    ///
    /// ```
    /// # use broadloom::prelude::*;
    /// # let g = Graph::new();
    /// let x = g.input::<f64>("x", shape![2, 3]);
    /// assert_eq!(x.nanquantile_keepdims([0.5, 0.9], 1).shape(), shape![2, 2, 1]);
    /// ```
    #[track_caller]
    pub fn nanquantile_keepdims(self, at: impl IntoFractions, axes: impl IntoAxes) -> Tensor {
        self.quantiles(at, axes, QuantileMethod::Linear, true, true, Site::caller())
    }

    /// Like [`Tensor::nanquantile`], with another method.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::QuantileMethod;
    /// let high: f64 = eval(&[1.0, f64::NAN, 2.0], |x| x.nanquantile_by(QuantileMethod::Higher, 0.1, ..))?;
    /// assert_eq!(high, 2.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn nanquantile_by(
        self,
        method: QuantileMethod,
        at: impl IntoFractions,
        axes: impl IntoAxes,
    ) -> Tensor {
        self.quantiles(at, axes, method, true, false, Site::caller())
    }

    fn quantiles(
        self,
        at: impl IntoFractions,
        axes: impl IntoAxes,
        method: QuantileMethod,
        numbers: bool,
        keepdims: bool,
        site: Site,
    ) -> Tensor {
        let (at, several) = at.into_fractions();
        let axes = axes.into_axes();
        registry::build(registry::home(&[self]), &[self], &[], site, |graph, _| {
            let quantiles = Quantiles { at: &at, several, percents: false, method, numbers };
            graph.quantile(self.expr, quantiles, axes.as_deref(), keepdims, site)
        })
    }
}

/// Fractions from 0 to 1: one, or several that have an axis in the result.
///
/// ```
/// use broadloom::prelude::*;
/// let data = [1.0f64, 2.0, 3.0, 4.0, 5.0];
/// let (middle, quarters): (f64, Vec<f64>) =
///     eval(&data, |x| (x.quantile(0.5, 0), x.quantile([0.25, 0.75], 0)))?;
/// assert_eq!((middle, quarters), (3.0, vec![2.0, 4.0]));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
pub trait IntoFractions {
    /// Returns the fractions, and whether the result has an axis for them.
    fn into_fractions(self) -> (Vec<f64>, bool);
}

impl IntoFractions for f64 {
    fn into_fractions(self) -> (Vec<f64>, bool) {
        (vec![self], false)
    }
}

impl IntoFractions for &[f64] {
    fn into_fractions(self) -> (Vec<f64>, bool) {
        (self.to_vec(), true)
    }
}

impl<const N: usize> IntoFractions for [f64; N] {
    fn into_fractions(self) -> (Vec<f64>, bool) {
        (self.to_vec(), true)
    }
}

/// Returns the axis if exactly one is given.
fn first(axes: Option<&[i64]>) -> Option<i64> {
    axes.and_then(|axes| axes.first().copied())
}
