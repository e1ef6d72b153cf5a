//! Recurrences along an axis: averages with decay, filters, running log-sums.

use super::axes::IntoAxis;
use super::operand::Operand;
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::Scalar;
use broadloom_ir::graph::{self as ir, EwmOf, Graph, Site};

/// Exponentially weighted statistics of a tensor; see [`Tensor::ewm`].
///
/// ```
/// use broadloom::prelude::*;
/// let result: Vec<f64> = eval(&[1.0, 2.0, 4.0], |x| x.ewm(0.5).adjusted(false).mean(0))?;
/// assert_eq!(result, [1.0, 1.5, 2.75]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Ewm {
    x: Tensor,
    alpha: Operand,
    adjust: bool,
    ignore_na: bool,
}

impl Ewm {
    /// Sets whether weights are divided by their sum, as they are by default. Otherwise each mean is `1 - alpha` of the one before
    /// and `alpha` of the element.
    pub fn adjusted(self, adjust: bool) -> Ewm {
        Ewm { adjust, ..self }
    }

    /// Sets whether NaN counts as no step for the weights of the elements around it; by default it does.
    pub fn ignoring_nan(self, ignore_na: bool) -> Ewm {
        Ewm { ignore_na, ..self }
    }

    /// Returns the weighted means of the elements so far along an axis; NaN before the first number.
    #[track_caller]
    pub fn mean(self, axis: impl IntoAxis) -> Tensor {
        self.of(EwmOf::Mean, axis.into_axis(), Site::caller())
    }

    /// Returns the weighted variances of the elements so far along an axis, of a sample; NaN for a single element.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 3.0], |x| x.ewm(0.5).var(0))?;
    /// assert!(result[0].is_nan() && (result[1] - 2.0).abs() < 1e-12);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn var(self, axis: impl IntoAxis) -> Tensor {
        self.of(EwmOf::Var { bias: false }, axis.into_axis(), Site::caller())
    }

    /// Returns the square roots of the weighted variances of the elements so far along an axis.
    #[track_caller]
    pub fn std(self, axis: impl IntoAxis) -> Tensor {
        self.of(EwmOf::Std { bias: false }, axis.into_axis(), Site::caller())
    }

    /// Returns the weighted variances with the weights of a population, which are not corrected for a sample.
    #[track_caller]
    pub fn biased_var(self, axis: impl IntoAxis) -> Tensor {
        self.of(EwmOf::Var { bias: true }, axis.into_axis(), Site::caller())
    }

    fn of(self, of: EwmOf, axis: i64, site: Site) -> Tensor {
        let Ewm { x, alpha, adjust, ignore_na } = self;
        let operands: Vec<Tensor> = std::iter::once(x).chain(alpha.as_tensor()).collect();
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            let alpha = alpha.beside_float(graph, x.expr, site);
            graph.ewm(ir::Ewm { of, adjust, ignore_na }, x.expr, alpha, axis, site)
        })
    }
}

/// Recurrences along an axis. They run row by row, all other axes at once.
impl Tensor {
    /// Returns exponentially weighted statistics, as pandas defines them: each element weighs `1 - alpha` times as much as the
    /// next one. `alpha` is above 0 and at most 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 2.0], |x| x.ewm(0.5).mean(0))?;
    /// assert!((result[1] - 5.0 / 3.0).abs() < 1e-15); // (0.5 * 1 + 2) / (0.5 + 1)
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    pub fn ewm(self, alpha: impl Into<Operand>) -> Ewm {
        Ewm { x: self, alpha: alpha.into(), adjust: true, ignore_na: false }
    }

    /// Returns the result of a digital filter along an axis, with the coefficients of scipy's `signal.lfilter`:
    /// `a[0] y[t] = b[0] x[t] + b[1] x[t-1] + .. - a[1] y[t-1] - ..`. What precedes the first element is 0.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 0.0, 0.0], |x| x.lfilter(&[1.0, 2.0], &[1.0, -0.5], 0))?;
    /// assert_eq!(result, [1.0, 2.5, 1.25]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn lfilter(self, b: &[f64], a: &[f64], axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            let [b, a] = [b, a].map(|numbers| coefficients(graph, numbers, site));
            graph.lfilter([b, a, self.expr], axis, site)
        })
    }

    /// Returns `y[t] = factor[t] * y[t-1] + x[t]` along an axis, with 0 before the first element. The factor stretches to the shape
    /// of `x`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1.0, 1.0, 1.0], |x| x.linear_recurrence(0.5, 0))?;
    /// assert_eq!(result, [1.0, 1.5, 1.75]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn linear_recurrence(self, factor: impl Into<Operand>, axis: impl IntoAxis) -> Tensor {
        let (site, axis, factor) = (Site::caller(), axis.into_axis(), factor.into());
        let operands: Vec<Tensor> = std::iter::once(self).chain(factor.as_tensor()).collect();
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            let factor = factor.beside_float(graph, self.expr, site);
            graph.linear_recurrence([factor, self.expr], None, axis, site)
        })
    }

    /// Returns `log(sum(exp(x)))` of the elements so far along an axis, without overflow.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1000.0, 1000.0], |x| x.cumulative_logsumexp(0))?;
    /// assert!((result[1] - (1000.0 + 2f64.ln())).abs() < 1e-9);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn cumulative_logsumexp(self, axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            graph.cumulative_logsumexp(self.expr, axis, site)
        })
    }

    /// Returns how far each element is below the greatest one so far along an axis, as a part of that: `x / cummax(x) - 1`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[4.0, 2.0, 8.0], |x| x.drawdown(0))?;
    /// assert_eq!(result, [0.0, -0.5, 0.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn drawdown(self, axis: impl IntoAxis) -> Tensor {
        let (site, axis) = (Site::caller(), axis.into_axis());
        registry::build(self.graph, &[self], &[], site, |graph, _| graph.drawdown(self.expr, axis, site))
    }
}

/// Returns numbers as a tensor; no numbers are refused where they are used.
fn coefficients(graph: &mut Graph, numbers: &[f64], site: Site) -> ExprId {
    let numbers: Vec<ExprId> =
        numbers.iter().map(|number| graph.constant(Scalar::F64(*number), site)).collect();
    graph.stack(&numbers, 0, site)
}
