//! Joins tensors along an axis, and reduces the rows of a tensor by segments.

use super::axes::IntoAxis;
use super::dims::Dim;
use super::registry::{self, Joining};
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Graph, SegmentOp, Site};

/// Concatenates tensors along an axis. The result has their common dtype. All other sizes must be equal (the
/// constant 1 does not stretch). At least one tensor is needed.
///
/// ```
/// use broadloom::prelude::*;
/// let result: Vec<i32> = eval((&[1, 2], &[3]), |(x, y)| concat([x, y, x], 0))?;
/// assert_eq!(result, [1, 2, 3, 1, 2]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[track_caller]
#[doc(alias("concatenate", "hstack", "vstack"))]
pub fn concat(tensors: impl AsRef<[Tensor]>, axis: impl IntoAxis) -> Tensor {
    join(Joining::Concat, tensors.as_ref(), axis.into_axis(), Site::caller(), Graph::concat)
}

/// Stacks tensors of equal shapes along a new axis. The result has their common dtype. At least one tensor
/// is needed.
///
/// ```
/// use broadloom::prelude::*;
/// let rows: Vec<i32> = eval((&[1, 2], &[3, 4]), |(x, y)| stack([x, y], 0))?;
/// assert_eq!(rows, [1, 2, 3, 4]);
/// let columns: Vec<i32> = eval((&[1, 2], &[3, 4]), |(x, y)| stack([x, y], 1))?;
/// assert_eq!(columns, [1, 3, 2, 4]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
#[track_caller]
pub fn stack(tensors: impl AsRef<[Tensor]>, axis: impl IntoAxis) -> Tensor {
    join(Joining::Stack, tensors.as_ref(), axis.into_axis(), Site::caller(), Graph::stack)
}

fn join(
    joining: Joining,
    tensors: &[Tensor],
    axis: i64,
    site: Site,
    action: impl FnOnce(&mut Graph, &[ExprId], i64, Site) -> ExprId,
) -> Tensor {
    if tensors.is_empty() {
        return joining.of_nothing();
    }
    registry::build(registry::home(tensors), tensors, &[], site, |graph, _| {
        let exprs: Vec<ExprId> = tensors.iter().map(|tensor| tensor.expr).collect();
        action(graph, &exprs, axis, site)
    })
}

macro_rules! segments {
    ($($(#[doc = $doc:literal])+ $name:ident = $op:ident => $t:ident $result:literal;)*) => {
        /// Reductions of rows (elements of the leading axis) by segments: group-by. The number of segments replaces
        /// the leading axis.
        ///
        /// `ids` are integers along one axis, one for each row, from 0 to below the number of segments; any other
        /// id is an error at run time.
        impl Tensor {
            $(
                $(#[doc = $doc])+
                #[doc = concat!(
                    "\n```\n# use broadloom::prelude::*;\n",
                    "let (values, ids) = ([5i64, 6, 7], [2, 0, 2]);\n",
                    "let result: Vec<", stringify!($t), "> = ",
                    "eval((&values, &ids), |(values, ids)| values.", stringify!($name), "(ids, 3))?;\n",
                    "assert_eq!(", $result, ");\n",
                    "# Ok::<(), broadloom::EvalError>(())\n```"
                )]
                #[track_caller]
                pub fn $name(self, ids: Tensor, segments: impl Into<Dim>) -> Tensor {
                    let (site, tensors) = (Site::caller(), [self, ids]);
                    registry::build(registry::home(&tensors), &tensors, &[segments.into()], site, |graph, dims| {
                        graph.segment(SegmentOp::$op, self.expr, ids.expr, dims[0].clone(), site)
                    })
                }
            )*

            /// Counts the rows (`i64`) of each segment; `self` holds the ids.
            ///
            /// ```
            /// use broadloom::prelude::*;
            /// let result: Vec<i64> = eval(&[2, 0, 2], |ids| ids.segment_count(4))?;
            /// assert_eq!(result, [1, 0, 2, 0]);
            /// # Ok::<(), broadloom::EvalError>(())
            /// ```
            #[track_caller]
            pub fn segment_count(self, segments: impl Into<Dim>) -> Tensor {
                let site = Site::caller();
                registry::build(self.graph, &[self], &[segments.into()], site, |graph, dims| {
                    graph.segment_count(self.expr, dims[0].clone(), site)
                })
            }
        }
    };
}

segments! {
    /// Sum of the rows of each segment; 0 for a segment without rows. Floats are added in `f64` and rounded once; up to 16
    /// partial sums of `f64` keep what rounding loses (Knuth's TwoSum).
    segment_sum = Sum => i64 "result, [6, 0, 12]";
    /// Least element of each segment; infinity, or the greatest integer, for a segment without rows.
    segment_min = Min => i64 "result, [6, i64::MAX, 5]";
    /// Greatest element of each segment; minus infinity, or the least integer, for a segment without rows.
    segment_max = Max => i64 "result, [6, i64::MIN, 7]";
    /// Mean of each segment; `f64` for integers. It lies between the least and the greatest row, unless the sum overflows. NaN for
    /// a segment without rows.
    segment_mean = Mean => f64 "format!(\"{result:?}\"), \"[6.0, NaN, 6.0]\"";
}
