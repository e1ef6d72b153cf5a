//! Loops: steps in time, iteration until it is enough, recurrences along an axis.

use super::dims::{Dim, Symbol};
use super::registry;
use super::tensor::Tensor;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{OpenLoop, Repeat, Site};

/// A number of steps: a number, a size, or an integer tensor of rank 0, whose value each run reads. A negative number
/// means 0 steps.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let (x, times) = (g.input::<f64>("x", shape![]), g.input::<i64>("times", shape![]));
/// let [y] = repeat(times, [x], |_, [x]| [x * 2.0]);
/// let kernel = y.compile()?;
/// for (times, want) in [(0i64, 1.0), (3, 8.0), (10, 1024.0)] {
///     let result: f64 = kernel.run((1.0f64, times))?.try_into()?;
///     assert_eq!(result, want);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Times(Kind);

#[derive(Debug, Clone, Copy)]
enum Kind {
    Size(Dim),
    Value(Tensor),
}

impl From<Tensor> for Times {
    fn from(count: Tensor) -> Self {
        Times(Kind::Value(count))
    }
}

macro_rules! from_sizes {
    ($($size:ty)*) => {$(
        impl From<$size> for Times {
            fn from(size: $size) -> Self {
                Times(Kind::Size(size.into()))
            }
        }
    )*};
}
from_sizes!(Dim Symbol i64 i32 usize);

/// Repeats a step a number of times, and returns what it carries after the last one.
///
/// The step gets the number of steps before it (`i64[]`) and the carried values, and returns their next values, which have
/// the same dtypes and shapes. A loop is compiled once, whatever the number of steps. What does not depend on the step is
/// computed before the loop.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// // Newton's method for square roots, 6 steps.
/// let [root] = repeat(6, [x], |_, [r]| [(r + x / r) / 2.0]);
/// let roots: Vec<f64> = root.compile()?.run(&[4.0f64, 9.0])?.try_into()?;
/// assert!((roots[0] - 2.0).abs() < 1e-12 && (roots[1] - 3.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn repeat<const N: usize>(
    times: impl Into<Times>,
    carried: [Tensor; N],
    step: impl FnOnce(Tensor, [Tensor; N]) -> [Tensor; N],
) -> [Tensor; N] {
    let site = Site::caller();
    let Times(times) = times.into();
    let run = |values: Vec<Tensor>, counter: Tensor| Stepped {
        next: step(counter, array(&values)).to_vec(),
        ..Stepped::default()
    };
    array(&build("repeat", (&carried, &[]), Some(times), site, run))
}

/// Repeats a step as long as a condition on the carried values holds (`bool[]`), and returns what it carries after the last
/// one. The condition is found before each step, the first one included.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![]);
/// let halvings = |x: Tensor| repeat_while([x, 0 * x], |[x, _]| x.gt(1.0), |[x, n]| [x / 2.0, n + 1.0]);
/// let [_, count] = halvings(x);
/// let count: f64 = count.compile()?.run(1000.0f64)?.try_into()?;
/// assert_eq!(count, 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn repeat_while<const N: usize>(
    carried: [Tensor; N],
    condition: impl FnOnce([Tensor; N]) -> Tensor,
    step: impl FnOnce([Tensor; N]) -> [Tensor; N],
) -> [Tensor; N] {
    let site = Site::caller();
    let run = |values: Vec<Tensor>, _| Stepped {
        condition: Some(condition(array(&values))),
        next: step(array(&values)).to_vec(),
        stacked: Vec::new(),
    };
    array(&build("repeat_while", (&carried, &[]), None, site, run))
}

/// Takes a step for each row of arrays, the elements of their leading axes, in order. Returns what the last step carries, and
/// further values of all steps, stacked along a new leading axis.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// // A moving average with decay, beginning at 0.
/// let ([_], [average]) = scan([g.constant(0.0f64)], [x], |[before], [x]| {
///     let average = 0.5 * before + 0.5 * x;
///     ([average], [average])
/// });
/// let average: Vec<f64> = average.compile()?.run(&[1.0f64, 1.0, 1.0])?.try_into()?;
/// assert_eq!(average, [0.5, 0.75, 0.875]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[track_caller]
pub fn scan<const N: usize, const M: usize, const K: usize>(
    carried: [Tensor; N],
    rows: [Tensor; M],
    step: impl FnOnce([Tensor; N], [Tensor; M]) -> ([Tensor; N], [Tensor; K]),
) -> ([Tensor; N], [Tensor; K]) {
    let site = Site::caller();
    let run = |values: Vec<Tensor>, _| {
        let (carried, rows) = values.split_at(N);
        let (next, stacked) = step(array(carried), array(rows));
        Stepped { condition: None, next: next.to_vec(), stacked: stacked.to_vec() }
    };
    let results = build("scan", (&carried, &rows), None, site, run);
    (array(&results), array(results.get(N..).unwrap_or_default()))
}

/// Returns the tensors as an array; what is missing after a mistake is the last of them.
fn array<const N: usize>(tensors: &[Tensor]) -> [Tensor; N] {
    let none = || registry::Joining::Concat.of_nothing();
    std::array::from_fn(|at| tensors.get(at).or(tensors.last()).copied().unwrap_or_else(none))
}

/// What a step makes of the values that it gets.
#[derive(Default)]
struct Stepped {
    /// Whether the step is taken.
    condition: Option<Tensor>,
    next: Vec<Tensor>,
    stacked: Vec<Tensor>,
}

/// Builds a loop with the steps of `run`. Without a number of times, it has a condition, or a step for each row.
fn build(
    call: &'static str,
    (carried, rows): (&[Tensor], &[Tensor]),
    times: Option<Kind>,
    site: Site,
    run: impl FnOnce(Vec<Tensor>, Tensor) -> Stepped,
) -> Vec<Tensor> {
    let (count, size) = match times {
        Some(Kind::Value(count)) => (Some(count), None),
        Some(Kind::Size(size)) => (None, Some(size)),
        None => (None, None),
    };
    let before: Vec<Tensor> = carried.iter().chain(rows).copied().chain(count).collect();
    if before.is_empty() {
        return Vec::new();
    }
    let key = registry::home(&before);
    let names: Vec<String> = (0..carried.len()).map(|number| format!("value {number}")).collect();
    let initial: Vec<(&str, ExprId)> =
        names.iter().map(String::as_str).zip(carried.iter().map(|tensor| tensor.expr)).collect();
    let arrays: Vec<(&str, ExprId)> = rows.iter().map(|tensor| ("row", tensor.expr)).collect();
    let mut begun: Option<OpenLoop> = None;
    let first = registry::build(key, &before, &[], site, |graph, _| {
        let open = graph.begin_loop(call, "step", &initial, &arrays, site);
        let counter = open.counter;
        begun = Some(open);
        counter
    });
    let tensor = |expr: ExprId| Tensor { graph: first.graph, expr };
    let Some(open) = begun else { return vec![first] };
    let values = open.carried.iter().chain(&open.rows).map(|expr| tensor(*expr)).collect();
    let Stepped { condition, next, stacked } = run(values, tensor(open.counter));
    let used: Vec<Tensor> = condition.iter().chain(&next).chain(&stacked).copied().collect();
    let dims: Vec<Dim> = size.into_iter().collect();
    let mut results: Vec<ExprId> = Vec::new();
    let last = registry::build(key, &used, &dims, site, |graph, dims| {
        let exprs =
            |tensors: &[Tensor]| -> Vec<ExprId> { tensors.iter().map(|tensor| tensor.expr).collect() };
        let repeat = match (condition, count) {
            (Some(condition), _) => Repeat::While(condition.expr),
            (None, Some(count)) => Repeat::Times(count.expr),
            (None, None) => Repeat::Along(dims.first().cloned()),
        };
        results = graph.end_loop(open, &repeat, &exprs(&next), &exprs(&stacked));
        results.last().copied().unwrap_or_else(|| graph.poison())
    });
    match results.is_empty() {
        true => vec![last],
        false => results.into_iter().map(tensor).collect(),
    }
}
