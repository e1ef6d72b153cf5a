//! Reductions over axes, and functions composed of them.

use super::axes::IntoAxes;
use super::call::{Along, AlongFn, Call};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Filter, Graph, Norm, Site, Spread, Terms};
use broadloom_ir::reduce::ReduceOp;

/// The axes in the form that the graph takes; `None` for all.
type Axes<'a> = Option<&'a [i64]>;

/// Makes both forms of a reduction, each with an example on three numbers.
macro_rules! reductions {
    ($($(#[doc = $doc:literal])+ $name:ident, $keepdims:ident: $x:literal => $t:ident $y:literal = $build:expr;)*) => {
        /// Reductions over one axis, several or all (`..`). Negative axes count from the end. The `_keepdims` forms
        /// keep the axes as size 1, so that the result broadcasts against the operand.
        impl Tensor {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n```\n# use broadloom::prelude::*;\n",
                    "let result: ", stringify!($t), " = eval(&", $x, ", |x| x.", stringify!($name), "(0))?;\n",
                    "assert_eq!(result, ", $y, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, axes: impl IntoAxes) -> Tensor {
                    self.along(stringify!($name), $build, axes, false, Site::caller())
                }

                #[doc = concat!(
                    "Like [`Tensor::", stringify!($name), "`], leaving axes of size 1.\n",
                    "\n```\n# use broadloom::prelude::*;\nlet g = Graph::new();\n",
                    "let x = g.input::<", stringify!($t), ">(\"x\", shape![2, 3]);\n",
                    "assert_eq!(x.", stringify!($keepdims), "(1).shape(), shape![2, 1]);\n",
                    "assert_eq!(x.", stringify!($keepdims), "(..).shape(), shape![1, 1]);\n```"
                )]
                #[track_caller]
                pub fn $keepdims(self, axes: impl IntoAxes) -> Tensor {
                    self.along(stringify!($name), $build, axes, true, Site::caller())
                }
            )*
        }
    };
}

/// Applies a row of the table of reductions.
macro_rules! reduce {
    ($op:ident) => {
        |graph, operand, axes, keepdims, site| graph.reduce(ReduceOp::$op, operand, axes, keepdims, site)
    };
}

/// Applies a row of the table to the elements that are not NaN.
macro_rules! of_numbers {
    ($op:ident) => {
        |graph, operand, axes, keepdims, site| {
            let terms = Terms { filter: NUMBERS, initial: None };
            graph.reduce_terms(ReduceOp::$op, operand, terms, axes, keepdims, site)
        }
    };
}

const NUMBERS: Filter = Filter { condition: None, numbers: true };

reductions! {
    /// Sum of the elements; bool and integers are summed in 64 bits. Float sums have a fixed order, so the bits
    /// never depend on layout or threads. An empty axis gives 0.
    sum, sum_keepdims: "[3i64, 1, 2]" => i64 "6" = reduce!(Sum);
    /// Product of the elements; bool and integers are multiplied in 64 bits. An empty axis gives 1.
    prod, prod_keepdims: "[3i64, 1, 2]" => i64 "6" = reduce!(Prod);
    /// Least element; NaN if any element is NaN. The axes must not be empty.
    min, min_keepdims: "[3, 1, 2]" => i32 "1" = reduce!(Min);
    /// Greatest element; NaN if any element is NaN. The axes must not be empty.
    max, max_keepdims: "[3, 1, 2]" => i32 "3" = reduce!(Max);
    /// Mean; integers give `f64`. An empty axis gives NaN.
    mean, mean_keepdims: "[3, 1, 2]" => f64 "2.0" = reduce!(Mean);
    /// Index (`i64`) of the least element; the first one among equal elements or NaNs. Over several axes it is the
    /// row-major index. The axes must not be empty.
    argmin, argmin_keepdims: "[3, 1, 2]" => i64 "1" = reduce!(ArgMin);
    /// Index (`i64`) of the greatest element; the first one among equal elements or NaNs. Over several axes it is
    /// the row-major index. The axes must not be empty.
    argmax, argmax_keepdims: "[3, 1, 2]" => i64 "0" = reduce!(ArgMax);
    /// Whether any element is true (not zero). An empty axis gives false.
    any, any_keepdims: "[0, 0, 2]" => bool "true" = reduce!(Any);
    /// Whether all elements are true (not zero). An empty axis gives true.
    all, all_keepdims: "[0, 0, 2]" => bool "false" = reduce!(All);
    /// Number of elements that are not zero (`i64`).
    count_nonzero, count_nonzero_keepdims: "[0, 1, 2]" => i64 "2" = Graph::count_nonzero;
    /// Variance: the mean squared deviation from the mean, computed in two passes; integers give `f64`. See
    /// [`Tensor::var_with_correction`] for the sample variance.
    var, var_keepdims: "[3, 1, 5, 3]" => f64 "2.0"
        = |graph, operand, axes, keepdims, site| graph.var(operand, axes, 0.0, keepdims, site);
    /// Standard deviation: the square root of the variance; integers give `f64`. See
    /// [`Tensor::std_with_correction`] for the sample standard deviation.
    std, std_keepdims: "[3, 1, 5, 3, 1, 5, 3, 3, 3]" => f64 "(16.0f64 / 9.0).sqrt()"
        = |graph, operand, axes, keepdims, site| graph.std(operand, axes, 0.0, keepdims, site);
    /// `log(sum(exp(x)))` without overflow; integers give `f64`. An empty axis gives minus infinity.
    logsumexp, logsumexp_keepdims: "[1000.0, f64::NEG_INFINITY]" => f64 "1000.0" = Graph::logsumexp;
    /// Greatest element minus the least. Integers wrap; bool is not supported. The axes must not be empty.
    ptp, ptp_keepdims: "[3, 1, 7]" => i32 "6" = Graph::ptp;
    /// The middle element in sorted order, or the mean of the two middle elements; integers give `f64`. NaN if any
    /// element is NaN. The axes must not be empty.
    median, median_keepdims: "[7, 1, 2, 3]" => f64 "2.5"
        = |graph, operand, axes, keepdims, site| graph.median(operand, axes, false, keepdims, site);
    /// Median of the elements that are not NaN; NaN if there are none. The axes must not be empty.
    nanmedian, nanmedian_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "2.5"
        = |graph, operand, axes, keepdims, site| graph.median(operand, axes, true, keepdims, site);
    /// Sum of the elements that are not NaN, as by [`Tensor::sum`].
    nansum, nansum_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "5.0" = of_numbers!(Sum);
    /// Product of the elements that are not NaN, as by [`Tensor::prod`].
    nanprod, nanprod_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "6.0" = of_numbers!(Prod);
    /// Mean of the elements that are not NaN; NaN if there are none.
    nanmean, nanmean_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "2.5" = of_numbers!(Mean);
    /// Variance of the elements that are not NaN; NaN if there are none.
    nanvar, nanvar_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "0.25"
        = |graph, operand, axes, keepdims, site| {
            let spread = Spread { filter: NUMBERS, ..Spread::default() };
            graph.spread(spread, operand, axes, keepdims, site)
        };
    /// Standard deviation of the elements that are not NaN; NaN if there are none.
    nanstd, nanstd_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "0.5"
        = |graph, operand, axes, keepdims, site| {
            let spread = Spread { filter: NUMBERS, root: true, ..Spread::default() };
            graph.spread(spread, operand, axes, keepdims, site)
        };
    /// Least element that is not NaN; NaN if there is none. The axes must not be empty.
    nanmin, nanmin_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "2.0" = of_numbers!(Min);
    /// Greatest element that is not NaN; NaN if there is none. The axes must not be empty.
    nanmax, nanmax_keepdims: "[3.0, f64::NAN, 2.0]" => f64 "3.0" = of_numbers!(Max);
    /// Index (`i64`) of the least element; a NaN counts as infinity. 0 if all elements are NaN.
    nanargmin, nanargmin_keepdims: "[3.0, f64::NAN, 2.0]" => i64 "2" = of_numbers!(ArgMin);
    /// Index (`i64`) of the greatest element; a NaN counts as minus infinity. 0 if all elements are NaN.
    nanargmax, nanargmax_keepdims: "[3.0, f64::NAN, 2.0]" => i64 "0" = of_numbers!(ArgMax);
}

/// Sample statistics, norms and softmax.
impl Tensor {
    /// Returns the variance that divides by the number of elements minus a correction: 1 for the unbiased estimate
    /// from a sample.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: f64 = eval(&[3, 1, 5, 3], |x| x.var_with_correction(0, 2))?;
    /// assert_eq!(result, 4.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn var_with_correction(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        let correction = correction.into();
        self.over(axes, false, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.var(operand, axes, correction, keepdims, site)
        })
    }

    /// Like [`Tensor::var_with_correction`], but keeps the axes as size 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2, 3]);
    /// assert_eq!(x.var_with_correction_keepdims(1, 1).to_string(), "f32[2, 1]");
    /// ```
    #[track_caller]
    pub fn var_with_correction_keepdims(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        let correction = correction.into();
        self.over(axes, true, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.var(operand, axes, correction, keepdims, site)
        })
    }

    /// Returns the square root of [`Tensor::var_with_correction`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: f64 = eval(&[3, 1, 5, 3], |x| x.std_with_correction(0, 2))?;
    /// assert_eq!(result, 2.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn std_with_correction(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        let correction = correction.into();
        self.over(axes, false, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.std(operand, axes, correction, keepdims, site)
        })
    }

    /// Like [`Tensor::std_with_correction`], but keeps the axes as size 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![2, 3]);
    /// assert_eq!(x.std_with_correction_keepdims(1, 1).to_string(), "f32[2, 1]");
    /// ```
    #[track_caller]
    pub fn std_with_correction_keepdims(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        let correction = correction.into();
        self.over(axes, true, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.std(operand, axes, correction, keepdims, site)
        })
    }

    /// Returns a norm of the vectors along axes; integers give `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let vector = [3.0f32, -4.0];
    /// let (one, two, infinity): (f32, f32, f32) =
    ///     eval(&vector, |x| (x.norm(Norm::One, 0), x.norm(Norm::Two, 0), x.norm(Norm::Infinity, 0)))?;
    /// assert_eq!((one, two, infinity), (7.0, 5.0, 4.0));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn norm(self, norm: Norm, axes: impl IntoAxes) -> Tensor {
        self.over(axes, false, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.norm(norm, operand, axes, keepdims, site)
        })
    }

    /// Like [`Tensor::norm`], but keeps the axes as size 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f32> = eval(&[3.0f32, -4.0], |x| x / x.norm_keepdims(Norm::Two, 0))?;
    /// assert_eq!(result, [0.6, -0.8]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn norm_keepdims(self, norm: Norm, axes: impl IntoAxes) -> Tensor {
        self.over(axes, true, Site::caller(), |graph, operand, axes, keepdims, site| {
            graph.norm(norm, operand, axes, keepdims, site)
        })
    }

    /// Returns `exp(x) / sum(exp(x))` along axes, without overflow; integers give `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1000.0, 1000.0, 0.0], |x| x.softmax(0))?;
    /// assert_eq!(result, [0.5, 0.5, 0.0]);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn softmax(self, axes: impl IntoAxes) -> Tensor {
        let softmax: AlongFn = |graph, operand, axes, _, site| graph.softmax(operand, axes, site);
        self.along("softmax", softmax, axes, true, Site::caller())
    }

    /// Returns the logarithm of [`Tensor::softmax`], `x - logsumexp(x)`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[1000.0, 1000.0, 0.0], |x| x.log_softmax(0))?;
    /// assert_eq!(format!("{result:.4?}"), "[-0.6931, -0.6931, -1000.6931]");
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn log_softmax(self, axes: impl IntoAxes) -> Tensor {
        let log_softmax: AlongFn = |graph, operand, axes, _, site| graph.log_softmax(operand, axes, site);
        self.along("log_softmax", log_softmax, axes, true, Site::caller())
    }

    /// Returns `(x - mean) / sqrt(var + epsilon)` along axes; integers give `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: Vec<f64> = eval(&[3.0, 1.0, 5.0, 3.0], |x| x.layer_norm(0, 0.25))?;
    /// assert_eq!(format!("{result:.4?}"), "[0.0000, -1.3333, 1.3333, 0.0000]");
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn layer_norm(self, axes: impl IntoAxes, epsilon: impl Into<f64>) -> Tensor {
        let epsilon = epsilon.into();
        self.over(axes, true, Site::caller(), |graph, operand, axes, _, site| {
            graph.layer_norm(operand, axes, [None, None], epsilon, site)
        })
    }

    /// Like [`Tensor::layer_norm`], times `scale` plus `offset`, which broadcast to the shape of the tensor.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let arrays = (&[3.0, 1.0, 5.0, 3.0], &[1.0, 2.0, 3.0, 4.0], &[0.5, 0.5, 0.5, 0.5]);
    /// let result: Vec<f64> = eval(arrays, |(x, scale, offset)| x.layer_norm_affine(0, scale, offset, 0.25))?;
    /// assert_eq!(format!("{result:.4?}"), "[0.5000, -2.1667, 4.5000, 0.5000]");
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn layer_norm_affine(
        self,
        axes: impl IntoAxes,
        scale: Tensor,
        offset: Tensor,
        epsilon: impl Into<f64>,
    ) -> Tensor {
        let (site, epsilon, axes) = (Site::caller(), epsilon.into(), axes.into_axes());
        let operands = [self, scale, offset];
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            let affine = [Some(scale.expr), Some(offset.expr)];
            graph.layer_norm(self.expr, axes.as_deref(), affine, epsilon, site)
        })
    }

    /// Returns the weighted mean `sum(x * weights) / sum(weights)`. Weights have the shape of the tensor, or one
    /// axis for each of `axes`, in that order. Integers are computed in `f64`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: f64 = eval((&[3, 1, 5], &[1, 2, 1]), |(x, weights)| x.average(weights, 0))?;
    /// assert_eq!(result, 2.5);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn average(self, weights: Tensor, axes: impl IntoAxes) -> Tensor {
        let (site, axes, operands) = (Site::caller(), axes.into_axes(), [self, weights]);
        registry::build(registry::home(&operands), &operands, &[], site, |graph, _| {
            graph.average(self.expr, weights.expr, axes.as_deref(), false, site)
        })
    }

    /// Applies a function to this tensor and axes; `name` identifies everything that the function does.
    pub(super) fn along(
        self,
        name: &'static str,
        function: AlongFn,
        axes: impl IntoAxes,
        keepdims: bool,
        site: Site,
    ) -> Tensor {
        let axes = axes.into_axes();
        let along = Along { name, function, operand: self.expr, axes, keepdims };
        registry::call(&[self], Call::Along(along), site)
    }

    fn over(
        self,
        axes: impl IntoAxes,
        keepdims: bool,
        site: Site,
        build: impl FnOnce(&mut Graph, ExprId, Axes<'_>, bool, Site) -> ExprId,
    ) -> Tensor {
        let axes = axes.into_axes();
        registry::build(self.graph, &[self], &[], site, |graph, _| {
            build(graph, self.expr, axes.as_deref(), keepdims, site)
        })
    }
}

/// Makes both forms of an extreme with its index.
macro_rules! with_value {
    ($($name:ident, $keepdims:ident: $arg:ident, $extreme:ident = $doc:literal => $result:literal;)*) => {
        /// Extremes with their indices: two tensors computed in one pass.
        impl Tensor {
            $(
                #[doc = concat!(
                    $doc, "\n\n```\n# use broadloom::prelude::*;\n",
                    "let result: (i64, i32) = eval(&[3, 1, 2], |x| x.", stringify!($name), "(0))?;\n",
                    "assert_eq!(result, ", $result, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, axes: impl IntoAxes) -> (Tensor, Tensor) {
                    self.extreme([ReduceOp::$arg, ReduceOp::$extreme], axes, false, Site::caller())
                }

                #[doc = concat!(
                    "Like [`Tensor::", stringify!($name), "`], leaving axes of size 1.\n\n",
                    "```\n# use broadloom::prelude::*;\nlet g = Graph::new();\n",
                    "let (index, value) = g.input::<f32>(\"x\", shape![2, 3]).", stringify!($keepdims), "(1);\n",
                    "assert_eq!((index.shape(), value.shape()), (shape![2, 1], shape![2, 1]));\n```"
                )]
                #[track_caller]
                pub fn $keepdims(self, axes: impl IntoAxes) -> (Tensor, Tensor) {
                    self.extreme([ReduceOp::$arg, ReduceOp::$extreme], axes, true, Site::caller())
                }
            )*
        }
    };
}
with_value! {
    argmin_with_value, argmin_with_value_keepdims: ArgMin, Min
        = "The index of the least element, as by [`Tensor::argmin`], and the element." => "(1, 1)";
    argmax_with_value, argmax_with_value_keepdims: ArgMax, Max
        = "The index of the greatest element, as by [`Tensor::argmax`], and the element." => "(0, 3)";
}

impl Tensor {
    fn extreme(
        self,
        ops: [ReduceOp; 2],
        axes: impl IntoAxes,
        keepdims: bool,
        site: Site,
    ) -> (Tensor, Tensor) {
        let axes = axes.into_axes();
        let [index, value] = ops.map(|op| {
            registry::build(self.graph, &[self], &[], site, |graph, _| {
                graph.reduce(op, self.expr, axes.as_deref(), keepdims, site)
            })
        });
        (index, value)
    }
}
