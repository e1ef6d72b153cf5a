//! One line on arrays that are there.
//!
//! ```text
//! arrays ──sizes become symbols──▶ closure builds a graph ──structure──▶ cache ──hit──▶ run
//!                                          │ does not infer                └──miss──▶ compile
//!                                          └──▶ closure builds it with the real sizes
//! ```

use crate::array::{ArrayView, IntoArrayView};
use crate::bind::{BindError, Inputs};
use crate::cache::{Cache, Slots};
use crate::compile::{CompileError, CompileOptions, compile};
use crate::dsl::{Dim, Graph, Shape, Tensor};
use crate::executable::Executable;
use crate::run::{CallError, OutputError, Outputs};
use broadloom_ir::diagnostics::{Diagnostics, Requirement};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Demand, Node};
use broadloom_ir::shape;
use broadloom_ir::{ExprId, InputId};
use std::fmt;
use std::sync::LazyLock;
use thiserror::Error;

/// Most kernels that are kept; the one not used for longest makes room.
const CAPACITY: usize = 256;
/// Trailing sizes up to this one are part of the kernel.
const SMALL: usize = 8;

/// Computes an expression of arrays that are there.
///
/// Arrays are anything that converts to an [`ArrayView`]; the closure gets a tensor for each. Sizes become symbols
/// by themselves: 1 and trailing sizes up to 8 stay numbers, equal sizes are one symbol. Kernels are kept by the
/// structure of the expression (constants included), so that a second call with other sizes compiles nothing.
/// Mistakes are explained with the real sizes. The closure may be called twice.
///
/// ```
/// let (a, b) = (vec![3.0f32, 6.0], vec![4.0f32, 8.0]);
/// let c: Vec<f32> = broadloom::eval((&a, &b), |(a, b)| (a * a + b * b).sqrt())?;
/// assert_eq!(c, [5.0, 10.0]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
///
/// # Errors
/// If the expression does not fit the arrays, the data have no result, or the result is not an `R`.
#[track_caller]
pub fn eval<'a, A, E, R>(arrays: A, expression: impl Fn(A::Tensors) -> E) -> Result<R, EvalError>
where
    A: EvalArrays<'a>,
    E: EvalResult,
    R: TryFrom<Outputs, Error = OutputError>,
{
    let views = arrays.into_views();
    let outputs = match symbolic::<A, E>(&views, &expression) {
        Ok(graph) => match run(&graph, &views) {
            // The sizes do not satisfy what the expression demands of them: say so with the sizes.
            Err(EvalError::Call(CallError::Bind(BindError::Size(_) | BindError::Obligation(_)))) => {
                run(&concrete::<A, E>(&views, &expression)?, &views)
            }
            result => result,
        },
        Err(_) => run(&concrete::<A, E>(&views, &expression)?, &views),
    }?;
    Ok(R::try_from(outputs)?)
}

/// Why an expression of arrays has no result.
#[derive(Error)]
pub enum EvalError {
    /// The expression does not fit the arrays, or cannot be compiled.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The data have no result.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The result is not what is asked for.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Diagnostics> for EvalError {
    fn from(diagnostics: Diagnostics) -> Self {
        EvalError::Compile(diagnostics.into())
    }
}

impl fmt::Debug for EvalError {
    /// The full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Compile(error) => fmt::Debug::fmt(error, f),
            EvalError::Call(error) => fmt::Debug::fmt(error, f),
            EvalError::Output(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// Arrays for [`eval`]: one, or a tuple of up to eight.
pub trait EvalArrays<'a> {
    /// A tensor for each array.
    type Tensors;
    /// The arrays.
    fn into_views(self) -> Vec<ArrayView<'a>>;
    /// Their tensors, made by a function from the position.
    fn tensors(make: impl FnMut(usize) -> Tensor) -> Self::Tensors;
}

impl<'a, V: IntoArrayView<'a>> EvalArrays<'a> for V {
    type Tensors = Tensor;

    fn into_views(self) -> Vec<ArrayView<'a>> {
        vec![self.into_array_view()]
    }

    fn tensors(mut make: impl FnMut(usize) -> Tensor) -> Tensor {
        make(0)
    }
}

macro_rules! arrays {
    ($(($($array:ident $position:literal)*))*) => {$(
        impl<'a, $($array: IntoArrayView<'a>),*> EvalArrays<'a> for ($($array,)*) {
            type Tensors = ($(arrays!(@tensor $array),)*);

            #[allow(non_snake_case, reason = "the types name the values")]
            fn into_views(self) -> Vec<ArrayView<'a>> {
                let ($($array,)*) = self;
                vec![$($array.into_array_view()),*]
            }

            fn tensors(mut make: impl FnMut(usize) -> Tensor) -> Self::Tensors {
                ($(make($position),)*)
            }
        }
    )*};
    (@tensor $array:ident) => { Tensor };
}
arrays! {
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

/// What the closure of [`eval`] gives: a tensor, or a tuple of up to four.
pub trait EvalResult {
    /// The tensors.
    fn into_tensors(self) -> Vec<Tensor>;
}

impl EvalResult for Tensor {
    fn into_tensors(self) -> Vec<Tensor> {
        vec![self]
    }
}

macro_rules! results {
    ($(($($tensor:ident)*))*) => {$(
        impl EvalResult for ($(results!(@tensor $tensor),)*) {
            fn into_tensors(self) -> Vec<Tensor> {
                let ($($tensor,)*) = self;
                vec![$($tensor),*]
            }
        }
    )*};
    (@tensor $tensor:ident) => { Tensor };
}
results!((a)(a b)(a b c)(a b c d));

/// The graph over symbols.
#[track_caller]
fn symbolic<'a, A: EvalArrays<'a>, E: EvalResult>(
    views: &[ArrayView<'a>],
    expression: &impl Fn(A::Tensors) -> E,
) -> Result<CheckedGraph, Diagnostics> {
    let mut known: Vec<(usize, Dim)> = Vec::new();
    build::<A, E>(views, expression, |graph, size, trailing| {
        if size == 1 || trailing && (1..=SMALL).contains(&size) {
            return Dim::from(size);
        }
        if let Some((_, dim)) = known.iter().find(|(known, _)| *known == size) {
            return *dim;
        }
        let dim = Dim::from(graph.symbol(&format!("n{}", known.len())));
        known.push((size, dim));
        dim
    })
}

/// The graph over the real sizes.
#[track_caller]
fn concrete<'a, A: EvalArrays<'a>, E: EvalResult>(
    views: &[ArrayView<'a>],
    expression: &impl Fn(A::Tensors) -> E,
) -> Result<CheckedGraph, Diagnostics> {
    build::<A, E>(views, expression, |_, size, _| Dim::from(size))
}

#[track_caller]
fn build<'a, A: EvalArrays<'a>, E: EvalResult>(
    views: &[ArrayView<'a>],
    expression: &impl Fn(A::Tensors) -> E,
    mut dim: impl FnMut(&Graph, usize, bool) -> Dim,
) -> Result<CheckedGraph, Diagnostics> {
    let graph = Graph::new();
    let mut inputs = Vec::with_capacity(views.len());
    for (position, view) in views.iter().enumerate() {
        let sizes = view.shape();
        let last = sizes.len().wrapping_sub(1);
        let shape: Shape =
            sizes.iter().enumerate().map(|(axis, size)| dim(&graph, *size, axis == last)).collect();
        inputs.push(graph.input_dyn(&input_name(position), view.dtype(), shape));
    }
    let results = expression(A::tensors(|position| inputs[position])).into_tensors();
    let names: Vec<String> = (0..results.len()).map(|position| format!("out{position}")).collect();
    graph.finish(names.iter().map(String::as_str).zip(results))
}

fn input_name(position: usize) -> String {
    format!("arg{position}")
}

fn run(graph: &CheckedGraph, views: &[ArrayView<'_>]) -> Result<Outputs, EvalError> {
    let executable = cached(graph)?;
    let mut inputs = Inputs::new();
    for (position, view) in views.iter().enumerate() {
        inputs = inputs.named(input_name(position), view);
    }
    Ok(executable.run(inputs).map_err(|error| placed(error, graph))?)
}

/// What a kernel reports, at the place where this call wrote the op: the kernel may have been compiled for another
/// expression of the same structure, whose expressions have the same ids.
fn placed(mut error: CallError, graph: &CheckedGraph) -> CallError {
    if let Some((expr, site)) = error.origin_mut() {
        *site = graph.site(*expr);
    }
    error
}

/// What kernels are kept by: everything of a graph but names and places.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Structure {
    inputs: Vec<(DType, shape::Shape)>,
    nodes: Vec<(Node, DType, shape::Shape)>,
    outputs: Vec<(ExprId, Option<InputId>)>,
    /// What each call checks: a slice of five elements is not a `rebind` to five.
    demands: Vec<(Demand, Requirement)>,
    /// Units of sizes, and the least and greatest number of them, on which what is simplified may depend.
    sizes: Vec<(i64, i64, Option<i64>)>,
}

impl Structure {
    fn of(graph: &CheckedGraph) -> Structure {
        let node = |expr| (graph.node(expr).clone(), graph.dtype(expr), graph.shape(expr).clone());
        Structure {
            inputs: graph.inputs().iter().map(|input| (input.dtype, input.shape.clone())).collect(),
            nodes: graph.exprs().map(node).collect(),
            outputs: graph.outputs().iter().map(|output| (output.expr, output.assigned)).collect(),
            demands: (graph.obligations().iter())
                .map(|obligation| (obligation.demand.clone(), obligation.requirement))
                .collect(),
            sizes: (graph.symbols().iter())
                .map(|symbol| (symbol.unit, symbol.facts.lower, symbol.facts.upper))
                .collect(),
        }
    }
}

static CACHE: LazyLock<Cache<Structure, Executable>> = LazyLock::new(Cache::default);

fn cached(graph: &CheckedGraph) -> Result<Executable, CompileError> {
    let admit = |structure, slots: &mut Slots<Structure, Executable>| {
        slots.make_room(CAPACITY);
        structure
    };
    CACHE.get_or_make(Structure::of(graph), admit, |_| compile(graph, &CompileOptions::default()))
}

/// How often [`eval`] found a kernel, or had to compile one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// Calls that found their kernel.
    pub hits: u64,
    /// Calls that compiled it.
    pub compiles: u64,
    /// Kernels that are kept.
    pub entries: usize,
}

/// The state of the cache of [`eval`], which all threads share.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::eval::cache_stats;
/// let before = cache_stats();
/// for size in [1000, 2000, 3000] {
///     let twice: Vec<f32> = eval(&vec![1.0f32; size], |x| 2 * x)?;
///     assert_eq!(twice.len(), size);
/// }
/// assert!(cache_stats().hits > before.hits);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
pub fn cache_stats() -> CacheStats {
    let (hits, compiles, entries) = CACHE.counts();
    CacheStats { hits, compiles, entries }
}
