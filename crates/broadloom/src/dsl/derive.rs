//! Derivatives.

use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{self as ir, Site};

/// Derivatives. A derivative is an ordinary tensor: it fuses with others, and derives again. docs/derivatives.md has the
/// derivative of each function, and what it is where there is none.
impl Tensor {
    /// Returns the derivatives of this loss, which has no axes, by tensors, in their shapes and dtypes: by inputs or by any
    /// other floats from which the loss is computed. The derivative by a tensor that it does not read is 0.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (by_w, by_x): (Vec<f64>, Vec<f64>) = eval((&[1.0, 2.0], &[3.0, 5.0]), |(w, x)| {
    ///     let [by_w, by_x] = (w * x).sum(0).grad([w, x]);
    ///     (by_w, by_x)
    /// })?;
    /// assert_eq!((by_w, by_x), (vec![3.0, 5.0], vec![1.0, 2.0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn grad<const N: usize>(self, by: [Tensor; N]) -> [Tensor; N] {
        let site = Site::caller();
        self.derivatives(by, &[], site, |graph, by| graph.grad(self.expr, by, site))
    }

    /// Returns this loss with its [derivatives](Tensor::grad).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (value, slope): (f64, Vec<f64>) = eval(&[1.0, 3.0], |x| {
    ///     let (value, [slope]) = x.square().sum(0).value_and_grad([x]);
    ///     (value, slope)
    /// })?;
    /// assert_eq!((value, slope), (10.0, vec![2.0, 6.0]));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn value_and_grad<const N: usize>(self, by: [Tensor; N]) -> (Tensor, [Tensor; N]) {
        (self, self.grad(by))
    }

    /// Returns the derivatives of `(self * cotangent).sum()` by tensors, for a constant `cotangent` that broadcasts to this
    /// tensor: the product of a vector and the Jacobian matrix.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval((&[1.0, 3.0], &[1.0, 10.0]), |(x, weights)| {
    ///     let [slope] = x.square().vjp(weights, [x]);
    ///     slope
    /// })?;
    /// assert_eq!(result, [2.0, 60.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn vjp<const N: usize>(self, cotangent: Tensor, by: [Tensor; N]) -> [Tensor; N] {
        let site = Site::caller();
        self.derivatives(by, &[cotangent], site, |graph, by| graph.vjp(self.expr, cotangent.expr, by, site))
    }

    /// Returns the derivative of this tensor along a direction: its change per change of tensors, each with its tangent, which
    /// broadcasts to it. It is the product of the Jacobian matrix and a vector, and takes one pass with the values.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval((&[1.0, 3.0], &[1.0, 10.0]), |(x, dx)| x.square().jvp([(x, dx)]))?;
    /// assert_eq!(result, [2.0, 60.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn jvp<const N: usize>(self, along: [(Tensor, Tensor); N]) -> Tensor {
        let site = Site::caller();
        let operands: Vec<Tensor> =
            std::iter::once(self).chain(along.iter().flat_map(|(by, tangent)| [*by, *tangent])).collect();
        let along = along.map(|(by, tangent)| (by.expr, tangent.expr));
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            graph.jvp(self.expr, &along, site)
        })
    }

    /// Returns the products of the Hessian matrix of this loss and a direction, which has a tangent for each tensor: the
    /// derivatives of the [gradient](Tensor::grad) along it. No matrix is stored.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval((&[1.0, 2.0], &[1.0, 0.0]), |(x, direction)| {
    ///     let [product] = (x * x * x).sum(0).hvp([(x, direction)]);
    ///     product
    /// })?;
    /// assert_eq!(result, [6.0, 0.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn hvp<const N: usize>(self, along: [(Tensor, Tensor); N]) -> [Tensor; N] {
        let site = Site::caller();
        let tangents = along.map(|(_, tangent)| tangent);
        self.derivatives(along.map(|(by, _)| by), &tangents, site, |graph, by| {
            let along: Vec<(ExprId, ExprId)> =
                by.iter().copied().zip(tangents.map(|tangent| tangent.expr)).collect();
            graph.hvp(self.expr, &along, site)
        })
    }

    fn derivatives<const N: usize>(
        self,
        by: [Tensor; N],
        others: &[Tensor],
        site: Site,
        derive: impl FnOnce(&mut ir::Graph, &[ExprId]) -> Vec<ExprId>,
    ) -> [Tensor; N] {
        let operands: Vec<Tensor> = std::iter::once(self).chain(others.iter().copied()).chain(by).collect();
        let mut made = Vec::new();
        let last = registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            made = derive(graph, &by.map(|tensor| tensor.expr));
            made.last().copied().unwrap_or(self.expr)
        });
        // Where nothing could be built, all of them are what stands for the mistake.
        std::array::from_fn(|at| Tensor {
            graph: last.graph,
            expr: made.get(at).copied().unwrap_or(last.expr),
        })
    }
}
