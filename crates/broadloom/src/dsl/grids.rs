//! Grids of numbers, and sizes as values.

use super::axes::IntoAxis;
use super::dims::Dim;
use super::graph::Graph;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Problem;
use broadloom_ir::dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{self as ir, Site};
use broadloom_ir::ops::Op;

/// Numbers in order: positions, ranges and evenly spaced numbers.
impl Graph {
    /// Returns the integers 0, 1, 2, .. (`i64`) along one axis.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let i = g.iota(3);
    /// let (row, column) = (i.unsqueeze(1), i.unsqueeze(0));
    /// let identity = row.eq(column).cast::<f32>();
    /// let lower = row.ge(column);
    /// let kernel = g.compile([("identity", identity), ("lower", lower)])?;
    /// let (identity, lower): (Vec<f32>, Vec<bool>) = kernel.run(())?.try_into()?;
    /// assert_eq!(identity, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    /// assert_eq!(lower, [true, false, false, true, true, false, true, true, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    #[doc(alias("arange", "range"))]
    pub fn iota(&self, length: impl Into<Dim>) -> Tensor {
        let site = Site::caller();
        registry::build(self.key(), &[], &[length.into()], site, |graph, dims| {
            graph.iota(dims[0].clone(), site)
        })
    }

    /// Returns the numbers `start`, `start + step`, `start + 2 * step`, .. before `stop`, as integers (`i64`) or
    /// floats (`f64`). A negative step counts down. As in NumPy, the step of floats is the difference of the first two, which
    /// are rounded.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let integers: Vec<i64> = g.arange(5, 0, -2).compile()?.run(())?.try_into()?;
    /// assert_eq!(integers, [5, 3, 1]);
    /// let floats: Vec<f64> = g.arange(0.0, 1.0, 0.25).compile()?.run(())?.try_into()?;
    /// assert_eq!(floats, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn arange<T: RangeNumber>(&self, start: T, stop: T, step: T) -> Tensor {
        let site = Site::caller();
        registry::build(self.key(), &[], &[], site, |graph, _| match T::count(start, stop, step) {
            Ok(length) => {
                let position = graph.iota(dim::Dim::constant(length), site);
                let position = graph.cast(position, T::DTYPE, site);
                let step = T::rounded_step(start, step);
                let [start, step] = [start, step].map(|value| graph.constant(value.into_scalar(), site));
                let distance = graph.elementwise(Op::Multiply, &[position, step], site);
                graph.elementwise(Op::Add, &[start, distance], site)
            }
            Err(problem) => graph.report(problem, Some("arange"), site),
        })
    }

    /// Returns `length` evenly spaced numbers (`f64`) from `start` to `stop`, both included.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let numbers: Vec<f64> = g.linspace(0, 1, 5).compile()?.run(())?.try_into()?;
    /// assert_eq!(numbers, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn linspace(&self, start: impl Into<f64>, stop: impl Into<f64>, length: impl Into<Dim>) -> Tensor {
        let (site, start, stop) = (Site::caller(), start.into(), stop.into());
        registry::build(self.key(), &[], &[length.into()], site, |graph, dims| {
            graph.linspace(start, stop, dims[0].clone(), site)
        })
    }
}

/// Sizes of axes as numbers.
impl Tensor {
    /// Returns the size of an axis as a value (`i64`, rank 0) for use in expressions.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 2.0, 6.0], |x| x * x.size(0) / x.sum(0))?;
    /// assert_eq!(result, [1.0 / 3.0, 2.0 / 3.0, 2.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn size(self, axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        registry::build(self.graph, &[self], &[], site, |graph, _| size(graph, self.expr, axis, site))
    }
}

fn size(graph: &mut ir::Graph, operand: ExprId, axis: i64, site: Site) -> ExprId {
    if graph.is_poisoned(operand) {
        return operand;
    }
    let shape = graph.measure(operand);
    let rank = shape.rank();
    let position = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let position = position.and_then(|axis| usize::try_from(axis).ok());
    match position.and_then(|axis| shape.get(axis)).cloned() {
        Some(dim) => graph.size_value(dim, site),
        None => graph.report(Problem::NoAxis { axis, rank }, Some("size"), site),
    }
}

/// A number that [`Graph::arange`] counts in: `i64` or `f64`. Sealed.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// assert_eq!(g.arange(0, 10, 3).to_string(), "i64[4]");
/// assert_eq!(g.arange(0.0, 1.0, 0.25).to_string(), "f64[4]");
/// ```
pub trait RangeNumber: sealed::Sealed + Copy {
    #[doc(hidden)]
    const DTYPE: DType;
    #[doc(hidden)]
    fn into_scalar(self) -> Scalar;
    /// Returns how many numbers there are from `start` to before `stop`.
    #[doc(hidden)]
    fn count(start: Self, stop: Self, step: Self) -> Result<i64, Problem>;
    /// Returns the difference of the first two numbers.
    #[doc(hidden)]
    fn rounded_step(start: Self, step: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for i64 {}
    impl Sealed for f64 {}
}

impl RangeNumber for i64 {
    const DTYPE: DType = DType::I64;

    fn into_scalar(self) -> Scalar {
        Scalar::I64(self)
    }

    fn count(start: i64, stop: i64, step: i64) -> Result<i64, Problem> {
        if step == 0 {
            return Err(Problem::ZeroStep);
        }
        let (span, step) = (i128::from(stop) - i128::from(start), i128::from(step));
        let (span, step) = if step > 0 { (span, step) } else { (-span, -step) };
        let count = (span.max(0) + step - 1) / step;
        i64::try_from(count).map_err(|_| Problem::TooManyElements)
    }

    fn rounded_step(_: i64, step: i64) -> i64 {
        step
    }
}

impl RangeNumber for f64 {
    const DTYPE: DType = DType::F64;

    fn into_scalar(self) -> Scalar {
        Scalar::F64(self)
    }

    fn count(start: f64, stop: f64, step: f64) -> Result<i64, Problem> {
        if step == 0.0 {
            return Err(Problem::ZeroStep);
        }
        let count = ((stop - start) / step).ceil().max(0.0);
        // `max` has already turned a NaN among the bounds into 0.
        let is_counted = [start, stop, step].iter().all(|bound| bound.is_finite()) && count < i64::MAX as f64;
        if is_counted { Ok(count as i64) } else { Err(Problem::TooManyElements) }
    }

    fn rounded_step(start: f64, step: f64) -> f64 {
        (start + step) - start
    }
}
