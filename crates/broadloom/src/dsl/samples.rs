//! What is computed of samples along an axis, of their places among sorted numbers, and of how they relate.

use super::axes::IntoAxis;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{self as ir, Bins, Overlap, Site, Sliding};

/// How far apart samples are: a number, or a tensor of places.
#[derive(Debug, Clone, Copy)]
pub enum Spacing {
    /// Each so far from the one before.
    Step(f64),
    /// At these places: one for each along the axis, or of the shape of the samples.
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

/// What is computed of samples along an axis, and of places among sorted numbers.
impl Tensor {
    /// The area under samples along an axis, by trapezoids between samples that are so far apart, or at such places.
    /// Integers and bool compute in `f64`.
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

    /// The slopes of samples along an axis: half the difference of both neighbours, and at the ends the difference to
    /// the one; at places of their own, the slopes of the parabolas through three. Integers and bool compute in `f64`.
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

    /// What `action` makes of this tensor and others.
    fn with(self, operands: &[Tensor], site: Site, action: impl FnOnce(&mut ir::Graph) -> ExprId) -> Tensor {
        registry::build(registry::home(operands), operands, &[], site, |graph, _| action(graph))
    }

    /// The convolution with another vector: the sums of products of this one and the other, turned round, slid along it.
    /// Integers keep their common dtype.
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

    /// The correlation with another vector, which is slid along this one as it is.
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

    /// The polynomial of these coefficients, the highest first, at each element: a vector of up to 64.
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

    /// The bin of each element (`i64`): how many of the bounds, in increasing order, it has reached, and in decreasing
    /// order how many are above it.
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

    /// Values at each element between those that are known at increasing places, on straight lines (`f64`); beyond the
    /// ends, the values there.
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

    /// How many elements are in each of so many bins of equal width from `low` to `high` (`i64`), and the bounds of the
    /// bins. The last bin has its upper bound; elements outside of all are in none.
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

    /// Whether each element is among some values.
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

    /// The part of each number behind the point, with its sign, and the number without it.
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

/// How rows of numbers and vectors relate.
impl Tensor {
    /// The covariances of variables (`f64`), of which each row is one: their number of observations less 1 divides. Of one
    /// vector it is the variance.
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

    /// The correlations of variables (`f64`), of which each row is one.
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

    /// The cross products of vectors of three along an axis; the other axes broadcast.
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

    /// A matrix with this vector on a diagonal, where the column is the row plus `offset`, and zeros beside it.
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

    /// Each element along an axis of constant size as often as a number of its own says.
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
