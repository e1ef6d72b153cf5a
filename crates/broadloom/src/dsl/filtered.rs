//! Reductions of the elements that satisfy a condition, and reductions with an initial value.

use super::axes::IntoAxes;
use super::operand::{Kind, Operand};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::graph::{Filter, Graph, Site, Spread, Terms};
use broadloom_ir::reduce::ReduceOp;

/// The elements of a tensor that satisfy a condition, ready to be reduced: NumPy's `where=`. Made by
/// [`Tensor::filter`].
///
/// Nothing as large as the elements is stored: the elements left out count as the neutral element of the reduction.
///
/// ```
/// use broadloom::prelude::*;
/// let mean: f32 = eval(&[3.0f32, f32::NAN, 5.0], |x| x.filter(!x.isnan()).mean(0))?;
/// assert_eq!(mean, 4.0);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Filtered {
    tensor: Tensor,
    condition: Tensor,
}

/// Selection of the elements to reduce.
impl Tensor {
    /// Selects the elements that satisfy a condition, ready to be reduced. The condition is a bool tensor that
    /// broadcasts to the shape of this one.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let (total, mean): (i64, f64) = eval(&[3i64, -1, 5], |x| {
    ///     let positive = x.filter(x.gt(0));
    ///     (positive.sum(0), positive.mean(0))
    /// })?;
    /// assert_eq!((total, mean), (8, 4.0));
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[doc(alias("where="))]
    pub fn filter(self, condition: Tensor) -> Filtered {
        Filtered { tensor: self, condition }
    }
}

/// The operand of a reduction: a tensor and its condition.
struct Reduced {
    tensor: Tensor,
    condition: Option<Tensor>,
    initial: Option<Operand>,
    keepdims: bool,
    site: Site,
}

impl Reduced {
    fn operands(&self) -> Vec<Tensor> {
        let initial = self.initial.as_ref().and_then(Operand::as_tensor);
        [Some(self.tensor), self.condition, initial].into_iter().flatten().collect()
    }

    fn filter(&self) -> Filter {
        Filter { condition: self.condition.map(|condition| condition.expr), numbers: false }
    }

    fn reduce(self, op: ReduceOp, axes: impl IntoAxes) -> Tensor {
        let (axes, operands) = (axes.into_axes(), self.operands());
        registry::build(registry::home(&operands), &operands, &[], self.site, |graph, _| {
            let initial = self.initial.map(|initial| match initial.0 {
                Kind::Tensor(tensor) => tensor.expr,
                Kind::Literal(literal) => graph.initial_literal(op, self.tensor.expr, literal, self.site),
            });
            let terms = Terms { filter: self.filter(), initial };
            graph.reduce_terms(op, self.tensor.expr, terms, axes.as_deref(), self.keepdims, self.site)
        })
    }

    fn spread(self, correction: f64, root: bool, axes: impl IntoAxes) -> Tensor {
        let (axes, operands) = (axes.into_axes(), self.operands());
        let spread = Spread { correction, filter: self.filter(), root };
        registry::build(registry::home(&operands), &operands, &[], self.site, |graph, _| {
            Graph::spread(graph, spread, self.tensor.expr, axes.as_deref(), self.keepdims, self.site)
        })
    }
}

/// Makes both forms of a reduction of selected elements, with an example on `[3, -1, 5]`.
macro_rules! filtered {
    ($($(#[doc = $doc:literal])+ $name:ident, $keepdims:ident => $t:ident $result:literal
        = |$reduced:ident, $axes:ident| $reduce:expr;)*) => {
        /// Reductions over one axis, several or all (`..`). The `_keepdims` forms leave axes of size 1.
        impl Filtered {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n```\n# use broadloom::prelude::*;\n",
                    "let result: ", stringify!($t), " = eval(&[3i64, -1, 5], |x| x.filter(x.gt(0)).",
                    stringify!($name), "(0))?;\nassert_eq!(result, ", $result, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, axes: impl IntoAxes) -> Tensor {
                    let ($reduced, $axes) = (self.reduced(false, Site::caller()), axes);
                    $reduce
                }

                #[doc = concat!("Like [`Filtered::", stringify!($name), "`], leaving axes of size 1.")]
                #[track_caller]
                pub fn $keepdims(self, axes: impl IntoAxes) -> Tensor {
                    let ($reduced, $axes) = (self.reduced(true, Site::caller()), axes);
                    $reduce
                }
            )*
        }
    };
}

filtered! {
    /// Their sum, as by [`Tensor::sum`]; 0 if there are none.
    sum, sum_keepdims => i64 "8" = |reduced, axes| reduced.reduce(ReduceOp::Sum, axes);
    /// Their product, as by [`Tensor::prod`]; 1 if there are none.
    prod, prod_keepdims => i64 "15" = |reduced, axes| reduced.reduce(ReduceOp::Prod, axes);
    /// Their mean: the sum divided by the number; NaN if there are none.
    mean, mean_keepdims => f64 "4.0" = |reduced, axes| reduced.reduce(ReduceOp::Mean, axes);
    /// Whether any of them is true (not zero); false if there are none.
    any, any_keepdims => bool "true" = |reduced, axes| reduced.reduce(ReduceOp::Any, axes);
    /// Whether all of them are true (not zero); true if there are none.
    all, all_keepdims => bool "true" = |reduced, axes| reduced.reduce(ReduceOp::All, axes);
    /// Their variance, as by [`Tensor::var`]; NaN if there are none.
    var, var_keepdims => f64 "1.0" = |reduced, axes| reduced.spread(0.0, false, axes);
    /// Their standard deviation, as by [`Tensor::std`]; NaN if there are none.
    std, std_keepdims => f64 "1.0" = |reduced, axes| reduced.spread(0.0, true, axes);
}

impl Filtered {
    /// Returns the variance that divides by the number of selected elements minus a correction; see
    /// [`Tensor::var_with_correction`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: f64 = eval(&[3i64, -1, 5], |x| x.filter(x.gt(0)).var_with_correction(0, 1))?;
    /// assert_eq!(result, 2.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn var_with_correction(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        self.reduced(false, Site::caller()).spread(correction.into(), false, axes)
    }

    /// Returns the square root of [`Filtered::var_with_correction`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let result: f64 = eval(&[3i64, -1, 5, 4], |x| x.filter(x.gt(0)).std_with_correction(0, 1))?;
    /// assert_eq!(result, 1.0);
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    #[track_caller]
    pub fn std_with_correction(self, axes: impl IntoAxes, correction: impl Into<f64>) -> Tensor {
        self.reduced(false, Site::caller()).spread(correction.into(), true, axes)
    }

    fn reduced(self, keepdims: bool, site: Site) -> Reduced {
        let Filtered { tensor, condition } = self;
        Reduced { tensor, condition: Some(condition), initial: None, keepdims, site }
    }
}

impl Tensor {
    fn reduced(self, keepdims: bool, site: Site) -> Reduced {
        Reduced { tensor: self, condition: None, initial: None, keepdims, site }
    }
}

/// Makes both forms of a reduction with an initial value, for a tensor and for selected elements.
macro_rules! with_initial {
    ($of:ident, $operand:literal, $call:literal: $($(#[doc = $doc:literal])+ $name:ident, $keepdims:ident: $op:ident => $result:literal;)*) => {
        /// Reductions with an initial value: NumPy's `initial=`. The value is combined with the result at the end.
        /// A number takes the dtype of the result; a tensor broadcasts with the result.
        impl $of {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n```\n# use broadloom::prelude::*;\n",
                    "let result: i64 = eval(&", $operand, ", |x| x.", $call, stringify!($name), "(0, 2))?;\n",
                    "assert_eq!(result, ", $result, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, axes: impl IntoAxes, initial: impl Into<Operand>) -> Tensor {
                    let reduced = self.reduced(false, Site::caller());
                    Reduced { initial: Some(initial.into()), ..reduced }.reduce(ReduceOp::$op, axes)
                }

                #[doc = concat!("Like [`", stringify!($of), "::", stringify!($name), "`], leaving axes of size 1.")]
                #[track_caller]
                pub fn $keepdims(self, axes: impl IntoAxes, initial: impl Into<Operand>) -> Tensor {
                    let reduced = self.reduced(true, Site::caller());
                    Reduced { initial: Some(initial.into()), ..reduced }.reduce(ReduceOp::$op, axes)
                }
            )*
        }
    };
}
with_initial! { Tensor, "[3i64, 1, 5]", "":
    /// Sum of the elements and a value.
    sum_with_initial, sum_with_initial_keepdims: Sum => "11";
    /// Product of the elements and a value.
    prod_with_initial, prod_with_initial_keepdims: Prod => "30";
    /// The least of the elements and a value; for an empty axis, the value.
    min_with_initial, min_with_initial_keepdims: Min => "1";
    /// The greatest of the elements and a value; for an empty axis, the value.
    max_with_initial, max_with_initial_keepdims: Max => "5";
}
with_initial! { Filtered, "[3i64, -1, 5]", "filter(x.gt(0)).":
    /// Sum of the selected elements and a value.
    sum_with_initial, sum_with_initial_keepdims: Sum => "10";
    /// Product of the selected elements and a value.
    prod_with_initial, prod_with_initial_keepdims: Prod => "30";
    /// The least of the selected elements and a value; if no element is selected, the value.
    min_with_initial, min_with_initial_keepdims: Min => "2";
    /// The greatest of the selected elements and a value; if no element is selected, the value.
    max_with_initial, max_with_initial_keepdims: Max => "5";
}
