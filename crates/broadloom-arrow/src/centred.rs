//! Sums of products around means, in one pass.
//!
//! `var(x)` adds up `(x - mean(x))^2`, so it needs the mean before the rows; but an aggregate sees its rows once. So a
//! sum over the rows of `(a - mean(a)) * (b - mean(b))` is computed for each batch around the means of that batch, and
//! batches merge by the rule of Chan, Golub and LeVeque (1983), which is as stable as two passes:
//!
//! ```text
//! sum = left + right + (mean_a right - mean_a left) * (mean_b right - mean_b left) * n_left * n_right / (n_left + n_right)
//! ```

use crate::column::Column;
use crate::error::ColumnError;
use crate::graph::RowGraph;
use crate::kernel::run;
use broadloom::{AnyArray, Array, CompileOptions, DType, Executable};
use broadloom_ir::chunks::Split;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Axes, Node, View};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::transform::Rewriter;
use broadloom_ir::{ExprId, SymbolId};

/// The sums around means of a graph, and the graph with inputs in their place.
#[derive(Debug)]
pub(crate) struct Centred {
    /// Computes for some rows each sum, and the two means.
    kernel: Executable,
    sums: Vec<Sum>,
}

#[derive(Debug)]
struct Sum {
    /// The input that takes its place.
    input: String,
    dtype: DType,
    shape: Vec<usize>,
    /// The number of elements that each row adds to a sum.
    each: usize,
    /// Whether the expression is the mean of the products.
    is_mean: bool,
}

/// The values of a sum for some rows, in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moments {
    sum: Vec<f64>,
    means: [Vec<f64>; 2],
}

/// A sum in a graph.
pub(crate) struct Found {
    expr: ExprId,
    /// What the products are made of, before their means are subtracted.
    pub(crate) values: [ExprId; 2],
    means: [ExprId; 2],
    axes: Axes,
    pub(crate) is_mean: bool,
}

/// Returns the expression without views that keep the order of its elements.
fn unviewed(graph: &RowGraph, mut expr: ExprId) -> ExprId {
    while let Node::View { view: View::ExpandDims(_) | View::Squeeze(_), operand } = graph.graph().node(expr)
    {
        expr = *operand;
    }
    expr
}

/// Returns `a` and its mean, if an expression is `a - mean(a)` over these axes.
fn mean_of(graph: &RowGraph, expr: ExprId, over: &Axes) -> Option<(ExprId, ExprId)> {
    let Node::Elementwise { op: Op::Subtract, operands } = graph.graph().node(expr) else { return None };
    let [value, mean] = operands.as_slice() else { return None };
    let mean = unviewed(graph, *mean);
    match graph.graph().node(mean) {
        Node::Reduce { op: ReduceOp::Mean, operand, axes, .. } => {
            (operand == value && axes == over).then_some((*value, mean))
        }
        _ => None,
    }
}

/// Returns the sum that an expression is, if it is one around means.
pub(crate) fn found(graph: &RowGraph, split: &Split, expr: ExprId) -> Option<Found> {
    let Node::Reduce { op: op @ (ReduceOp::Sum | ReduceOp::Mean), operand, axes, .. } =
        graph.graph().node(expr)
    else {
        return None;
    };
    let rows = split.axis_of_rows[operand.index()]?;
    let factors = match graph.graph().node(*operand) {
        Node::Elementwise { op: Op::Square, operands } => [operands[0], operands[0]],
        Node::Elementwise { op: Op::Multiply, operands } => [operands[0], operands[1]],
        _ => return None,
    };
    let [(a, mean_a), (b, mean_b)] = [mean_of(graph, factors[0], axes)?, mean_of(graph, factors[1], axes)?];
    let means = [mean_a, mean_b];
    // Means of other axes, as in a table of covariances, do not lie as the sums do.
    let elements = |expr: ExprId| graph.graph().shape(expr).elements().ok();
    let fits = means.iter().all(|mean| elements(*mean).is_some() && elements(*mean) == elements(expr));
    let is_float = matches!(graph.graph().dtype(expr), DType::F32 | DType::F64);
    let all_floats =
        is_float && means.iter().all(|mean| matches!(graph.graph().dtype(*mean), DType::F32 | DType::F64));
    (fits && all_floats && axes.contains(&rows)).then(|| Found {
        expr,
        values: [a, b],
        means,
        axes: axes.clone(),
        is_mean: *op == ReduceOp::Mean,
    })
}

impl Centred {
    /// Finds the sums around means of a graph that needs two passes. Returns them with the graph that has inputs in
    /// their place; `None` if there are none.
    pub(crate) fn new(
        graph: &RowGraph,
        split: &Split,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        options: &CompileOptions,
    ) -> Result<Option<(Centred, RowGraph)>, ColumnError> {
        let whole = graph.graph();
        let founds: Vec<Found> = whole.exprs().filter_map(|expr| found(graph, split, expr)).collect();
        if founds.is_empty() {
            return Ok(None);
        }
        let size = |dim: &Dim| {
            let size = dim.evaluate(value).ok().and_then(|size| usize::try_from(size).ok());
            size.ok_or_else(|| ColumnError::Size { output: "result".to_owned() })
        };
        let mark = graph.unused_name("%centred");
        let (mut rewriter, mut kept) = (Rewriter::new(whole), Rewriter::new(whole));
        let mut sums = Vec::new();
        for expr in whole.exprs() {
            let copy = kept.copy(expr);
            kept.replace(expr, copy);
            let image = match founds.iter().find(|found| found.expr == expr) {
                Some(found) => {
                    let (dtype, shape) = (whole.dtype(expr), whole.shape(expr).clone());
                    let Node::Reduce { operand, .. } = whole.node(expr) else { continue };
                    let others =
                        found.axes.iter().filter(|axis| split.axis_of_rows[operand.index()] != Some(**axis));
                    let each = others
                        .map(|axis| size(&whole.shape(*operand)[*axis]))
                        .product::<Result<usize, _>>()?;
                    let input = format!("{mark} {}", sums.len());
                    sums.push(Sum {
                        input: input.clone(),
                        dtype,
                        shape: shape.iter().map(size).collect::<Result<_, _>>()?,
                        each,
                        is_mean: found.is_mean,
                    });
                    rewriter.builder().input(&input, dtype, shape, whole.site(expr))
                }
                None => rewriter.copy(expr),
            };
            rewriter.replace(expr, image);
        }
        let outputs: Vec<(&str, ExprId)> =
            whole.outputs().iter().map(|output| (&*output.name, rewriter.image(output.expr))).collect();
        // Conditions on the number of rows say nothing of some of them.
        let holds = |symbol: SymbolId| symbol != graph.rows;
        let rest = RowGraph::remaining(rewriter.finish_part(&outputs, holds)?, graph.rows);
        let values = founds.iter().flat_map(|found| [found.expr, found.means[0], found.means[1]]);
        let values: Vec<(String, ExprId)> =
            values.zip(0..).map(|(expr, number)| (format!("{number}"), kept.image(expr))).collect();
        let named: Vec<(&str, ExprId)> = values.iter().map(|(name, image)| (name.as_str(), *image)).collect();
        let kernel = Executable::compile(&kept.finish_part(&named, holds)?, options)?;
        Ok(Some((Centred { kernel, sums }, rest)))
    }

    pub(crate) fn executable(&self) -> &Executable {
        &self.kernel
    }

    /// Computes the sums of some rows.
    pub(crate) fn of_rows(
        &self,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
    ) -> Result<Vec<Moments>, ColumnError> {
        let outputs = run(&self.kernel, columns, constants, &[])?;
        let mut arrays = outputs.into_iter().map(|(_, array)| numbers(&array));
        let mut next = || arrays.next().unwrap_or_default();
        let moments = self.sums.iter().map(|sum| {
            let mut moments = Moments { sum: next(), means: [next(), next()] };
            if sum.is_mean {
                let count = (rows * sum.each) as f64;
                moments.sum.iter_mut().for_each(|sum| *sum *= count);
            }
            moments
        });
        Ok(moments.collect())
    }

    /// Adds the sums of other rows.
    pub(crate) fn merge(&self, left: &mut [Moments], left_rows: usize, right: &[Moments], right_rows: usize) {
        for ((sum, left), right) in self.sums.iter().zip(left).zip(right) {
            let [of_left, of_right] = [left_rows, right_rows].map(|rows| rows as f64);
            let share = of_right / (of_left + of_right);
            let weight = of_left * share * sum.each as f64;
            for index in 0..left.sum.len().min(right.sum.len()) {
                let [a, b] = [0, 1].map(|side: usize| right.means[side][index] - left.means[side][index]);
                left.sum[index] += right.sum[index] + a * b * weight;
                left.means[0][index] += a * share;
                left.means[1][index] += b * share;
            }
        }
    }

    /// Returns the values of the inputs that stand for the sums.
    pub(crate) fn finish(
        &self,
        moments: &[Moments],
        rows: usize,
    ) -> Result<Vec<(String, AnyArray)>, ColumnError> {
        let inputs = self.sums.iter().zip(moments).map(|(sum, moments)| {
            let count = if sum.is_mean { (rows * sum.each) as f64 } else { 1.0 };
            let values = moments.sum.iter().map(|value| value / count);
            let array = match sum.dtype {
                DType::F32 => Array::new(values.map(|value| value as f32).collect(), &sum.shape)?.into(),
                _ => Array::new(values.collect::<Vec<f64>>(), &sum.shape)?.into(),
            };
            Ok((sum.input.clone(), array))
        });
        inputs.collect()
    }

    /// Writes the sums of some rows.
    pub(crate) fn write(moments: &[Moments], bytes: &mut Vec<u8>) {
        for Moments { sum, means: [a, b] } in moments {
            let values = sum.iter().chain(a).chain(b);
            values.for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        }
    }

    /// Reads sums that `next` returns as bytes of a given number. `None` if there are too few bytes.
    pub(crate) fn read<'a>(&self, mut next: impl FnMut(usize) -> Option<&'a [u8]>) -> Option<Vec<Moments>> {
        let moments = self.sums.iter().map(|sum| {
            let bytes = sum.shape.iter().try_fold(8usize, |bytes, size| bytes.checked_mul(*size))?;
            let mut list = || {
                let elements = next(bytes)?
                    .chunks_exact(8)
                    .map(|element| f64::from_le_bytes(element.try_into().unwrap_or_default()));
                Some(elements.collect::<Vec<f64>>())
            };
            Some(Moments { sum: list()?, means: [list()?, list()?] })
        });
        moments.collect()
    }

    /// Returns the memory of the sums of some rows, in bytes.
    pub(crate) fn bytes(moments: &[Moments]) -> usize {
        let numbers: usize = moments.iter().map(|moments| 3 * moments.sum.len()).sum();
        8 * numbers + size_of_val(moments)
    }
}

fn numbers(array: &AnyArray) -> Vec<f64> {
    match array.as_slice::<f32>() {
        Some(numbers) => numbers.iter().map(|number| f64::from(*number)).collect(),
        None => array.as_slice::<f64>().unwrap_or_default().to_vec(),
    }
}
