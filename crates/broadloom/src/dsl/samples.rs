//! Functions of samples along an axis, of positions in sorted numbers, and of relations between samples.

use super::axes::IntoAxis;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{self as ir, Bins, Overlap, Site, Sliding};

/// The spacing of samples: a number, or a tensor of positions.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Spacing;
/// let (y, x) = ([0.0f64, 1.0, 4.0], [0.0f64, 1.0, 3.0]);
/// let (even, uneven): (f64, f64) =
///     eval((&y, &x), |(y, x)| (y.trapezoid(Spacing::Step(0.5), 0), y.trapezoid(Spacing::At(x), 0)))?;
/// assert_eq!((even, uneven), (1.5, 5.5));
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub enum Spacing {
    /// A constant distance between neighbours.
    Step(f64),
    /// Positions: one for each sample along the axis, or a tensor with the shape of the samples.
    At(Tensor),
}

impl From<f64> for Spacing {
    fn from(step: f64) -> Spacing {
        Spacing::Step(step)
    }
}

impl From<i32> for Spacing {
    fn from(step: i32) -> Spacing {
        Spacing::Step(step.into())
    }
}

impl From<Tensor> for Spacing {
    fn from(places: Tensor) -> Spacing {
        Spacing::At(places)
    }
}

impl Spacing {
    fn of(self) -> (ir::Spacing, Option<Tensor>) {
        match self {
            Spacing::Step(step) => (ir::Spacing::Step(step), None),
            Spacing::At(places) => (ir::Spacing::At(places.expr), Some(places)),
        }
    }
}

/// Functions of samples along an axis, and of positions in sorted numbers.
impl Tensor {
    /// Returns the area under samples along an axis by the trapezoidal rule, for a constant distance or for given
    /// positions. Integers and bool are computed in `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: (f64, f64) = eval((&[1.0, 2.0, 4.0], &[0.0, 1.0, 3.0]), |(y, x)| {
    ///     (y.trapezoid(0.5, 0), y.trapezoid(x, 0))
    /// })?;
    /// assert_eq!(result, (2.25, 7.5));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn trapezoid(self, spacing: impl Into<Spacing>, axis: impl IntoAxis) -> Tensor {
        self.spaced(spacing.into(), axis.into_axis(), Site::caller(), ir::Graph::trapezoid)
    }

    /// Returns the slopes of samples along an axis: half the difference of the two neighbours, and at the ends the
    /// difference to the only neighbour. Samples at given positions use the slopes of parabolas through three
    /// samples. Integers and bool are computed in `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 4.0, 9.0, 16.0], |x| x.gradient(1, 0))?;
    /// assert_eq!(result, [3.0, 4.0, 6.0, 7.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn gradient(self, spacing: impl Into<Spacing>, axis: impl IntoAxis) -> Tensor {
        self.spaced(spacing.into(), axis.into_axis(), Site::caller(), ir::Graph::gradient)
    }

    fn spaced(
        self,
        spacing: Spacing,
        axis: i64,
        site: Site,
        action: impl FnOnce(&mut ir::Graph, ExprId, ir::Spacing, i64, Site) -> ExprId,
    ) -> Tensor {
        let (spacing, places) = spacing.of();
        let operands: Vec<Tensor> = [Some(self), places].into_iter().flatten().collect();
        self.with(&operands, site, |graph| action(graph, self.expr, spacing, axis, site))
    }

    /// Applies `action` to this tensor and others.
    pub(super) fn with(
        self,
        operands: &[Tensor],
        site: Site,
        action: impl FnOnce(&mut ir::Graph) -> ExprId,
    ) -> Tensor {
        registry::build(registry::home(operands), operands, &[], site, |graph, _| action(graph))
    }

    /// Returns the convolution with another vector: the other vector is reversed and slid along this one, with a
    /// sum of products at each position. Integers keep their common dtype.
    ///
    /// ```
    /// use broadloom::{Overlap, prelude::*};
    /// let (full, same): (Vec<i32>, Vec<i32>) = eval((&[1, 2, 3], &[1, 1]), |(x, w)| {
    ///     (x.convolve(w, Overlap::Full), x.convolve(w, Overlap::Same))
    /// })?;
    /// assert_eq!((full, same), (vec![1, 3, 5, 3], vec![1, 3, 5]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn convolve(self, other: Tensor, overlap: Overlap) -> Tensor {
        let (site, vectors) = (Site::caller(), [self.expr, other.expr]);
        self.with(&[self, other], site, |graph| graph.slide(Sliding::Convolve, vectors, overlap, site))
    }

    /// Returns the correlation with another vector, which is slid along this one without reversal.
    ///
    /// ```
    /// use broadloom::{Overlap, prelude::*};
    /// let result: Vec<i32> = eval((&[1, 2, 3], &[0, 1]), |(x, w)| x.correlate(w, Overlap::Valid))?;
    /// assert_eq!(result, [2, 3]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn correlate(self, other: Tensor, overlap: Overlap) -> Tensor {
        let (site, vectors) = (Site::caller(), [self.expr, other.expr]);
        self.with(&[self, other], site, |graph| graph.slide(Sliding::Correlate, vectors, overlap, site))
    }

    /// Evaluates the polynomial with these coefficients, highest power first, at each element. The coefficients are
    /// a vector of up to 64.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let p = g.input::<i32>("p", shape![3]);
    /// let kernel = g.input::<i32>("x", shape![2]).polyval(p).compile()?;
    /// let result: Vec<i32> = kernel.run((&[1, 0, 2], &[2, 3]))?.try_into()?;
    /// assert_eq!(result, [6, 11]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn polyval(self, coefficients: Tensor) -> Tensor {
        let site = Site::caller();
        self.with(&[self, coefficients], site, |graph| graph.polyval(coefficients.expr, self.expr, site))
    }

    /// Returns the bin of each element (`i64`). With increasing bounds it is the number of bounds that the element
    /// has reached; with decreasing bounds, the number of bounds above it.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i64> = eval((&[0.5, 1.0, 7.0], &[1.0, 2.0]), |(x, bounds)| x.digitize(bounds))?;
    /// assert_eq!(result, [0, 1, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn digitize(self, bounds: Tensor) -> Tensor {
        let site = Site::caller();
        self.with(&[self, bounds], site, |graph| graph.digitize(self.expr, bounds.expr, false, site))
    }

    /// Interpolates linearly at each element between values known at increasing positions (`f64`). Beyond the ends
    /// it returns the values at the ends.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (places, values) = (&[0.0, 1.0, 3.0], &[10.0, 20.0, 0.0]);
    /// let result: Vec<f64> =
    ///     eval((&[-1.0, 0.5, 2.0], places, values), |(x, places, values)| x.interp(places, values))?;
    /// assert_eq!(result, [10.0, 15.0, 10.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn interp(self, places: Tensor, values: Tensor) -> Tensor {
        let (site, known) = (Site::caller(), [places.expr, values.expr]);
        self.with(&[self, places, values], site, |graph| graph.interp(self.expr, known, [None, None], site))
    }

    /// Counts the elements in each of `bins` bins of equal width from `low` to `high` (`i64`), and returns the
    /// counts and the bounds of the bins. The last bin includes its upper bound; elements outside are not counted.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (counts, bounds): (Vec<i64>, Vec<f64>) =
    ///     eval(&[0.5, 1.0, 1.5, 2.0, 9.0], |x| x.histogram(2, 0, 2))?;
    /// assert_eq!((counts, bounds), (vec![1, 3], vec![0.0, 1.0, 2.0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn histogram(self, bins: i64, low: impl Into<f64>, high: impl Into<f64>) -> (Tensor, Tensor) {
        let (site, bins) = (Site::caller(), Bins::Count(bins, Some([low.into(), high.into()])));
        let part =
            |at: usize| self.with(&[self], site, |graph| graph.histogram(self.expr, bins, false, site)[at]);
        (part(0), part(1))
    }

    /// Returns whether each element is one of some values.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<bool> = eval((&[1, 2, 3], &[3, 1]), |(x, values)| x.isin(values))?;
    /// assert_eq!(result, [true, false, true]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn isin(self, values: Tensor) -> Tensor {
        let site = Site::caller();
        self.with(&[self, values], site, |graph| graph.isin(self.expr, values.expr, site))
    }

    /// Returns the fractional part of each number, with its sign, and the integer part.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (part, whole): (Vec<f64>, Vec<f64>) = eval(&[1.5, -2.25], |x| x.modf())?;
    /// assert_eq!((part, whole), (vec![0.5, -0.25], vec![1.0, -2.0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn modf(self) -> (Tensor, Tensor) {
        let site = Site::caller();
        let part = |at: usize| self.with(&[self], site, |graph| graph.modf(self.expr, site)[at]);
        (part(0), part(1))
    }
}

/// Relations between rows of numbers and between vectors.
impl Tensor {
    /// Returns the covariances of variables (`f64`), one variable per row, divided by the number of observations
    /// minus 1. For a single vector it is the variance.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1.0, 2.0, 3.0, 2.0, 4.0, 6.0], &[2, 3])?;
    /// let result: Vec<f64> = eval(rows, |x| x.cov())?;
    /// assert_eq!(result, [1.0, 2.0, 2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn cov(self) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.cov(x, true, 1.0, site))
    }

    /// Returns the correlation coefficients of variables (`f64`), one variable per row.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let rows = ArrayView::new(&[1.0, 2.0, 3.0, 2.0, 1.0, 0.0], &[2, 3])?;
    /// let result: Vec<f64> = eval(rows, |x| x.corrcoef())?;
    /// assert_eq!(result, [1.0, -1.0, -1.0, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn corrcoef(self) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.corrcoef(x, true, site))
    }

    /// Returns the cross products of vectors of three elements along an axis; the other axes broadcast.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [x, y] = ["x", "y"].map(|name| g.input::<i32>(name, shape![3]));
    /// let result: Vec<i32> = x.cross(y, 0).compile()?.run((&[1, 0, 0], &[0, 1, 0]))?.try_into()?;
    /// assert_eq!(result, [0, 0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn cross(self, other: Tensor, axis: impl IntoAxis) -> Tensor {
        let (site, axis, operands) = (Site::caller(), axis.into_axis(), [self.expr, other.expr]);
        self.with(&[self, other], site, |graph| graph.cross(operands, axis, site))
    }

    /// Returns a matrix with this vector on the diagonal where the column is the row plus `offset`, and zeros
    /// elsewhere.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<i32> = eval(&[1, 2], |x| x.diag(0))?;
    /// assert_eq!(result, [1, 0, 0, 2]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn diag(self, offset: i64) -> Tensor {
        self.made(&[], Site::caller(), |graph, x, _, site| graph.diag(x, offset, site))
    }

    /// Repeats each element along an axis of constant size by its own count.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let kernel = g.input::<i32>("x", shape![3]).repeat_each([1, 0, 2], 0).compile()?;
    /// let result: Vec<i32> = kernel.run(&[5, 6, 7])?.try_into()?;
    /// assert_eq!(result, [5, 7, 7]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn repeat_each(self, counts: impl AsRef<[i64]>, axis: impl IntoAxis) -> Tensor {
        let (counts, axis) = (counts.as_ref(), axis.into_axis());
        self.made(&[], Site::caller(), |graph, x, _, site| graph.repeat_each(x, counts, Some(axis), site))
    }
}
