//! Evaluation in one line, on arrays that already exist.
//!
//! ```text
//! arrays ──sizes become symbols──▶ closure builds a graph ──structure──▶ cache ──hit──▶ run
//!                                          │ does not infer                └──miss──▶ compile
//!                                          └──▶ closure builds it with the real sizes
//! ```
//!
//! A closure that repeats what it wrote before builds no graph: its calls are compared with the recorded ones,
//! which lead to the same cache entry.

use crate::array::{ArrayView, IntoArrayView, IntoInput, OutputError};
use crate::bind::{BindError, Inputs};
use crate::cache::{Cache, Slots};
use crate::dsl::{Declaration, Declarations, Graph, Script, Scripts, Size, Tensor};
use crate::executable::Executable;
use crate::options::CompileOptions;
use crate::run::{CallError, Outputs};
use crate::variant::CompileError;
use broadloom_ir::diagnostics::{Diagnostics, Requirement};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Demand, Node, Obligation, Site};
use broadloom_ir::shape;
use broadloom_ir::{ExprId, InputId};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::panic::Location;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};
use thiserror::Error;

/// The most kernels that the cache keeps; a new one replaces the least recently used.
const CAPACITY: usize = 256;
/// Trailing sizes up to this one are compiled into the kernel as constants.
const SMALL: i64 = 8;

/// Computes an expression of arrays.
///
/// Each array is anything that converts to an [`ArrayView`]; the closure receives one tensor per array. Sizes
/// become symbols automatically: 1 and trailing sizes up to 8 stay numbers, and equal sizes share one symbol.
/// Kernels are cached by the structure of the expression, constants included, so a second call with other sizes
/// compiles nothing. Mistakes are explained with the actual sizes. The closure may be called twice.
///
/// ```
/// let (a, b) = (vec![3.0f32, 6.0], vec![4.0f32, 8.0]);
/// let c: Vec<f32> = broadloom::eval((&a, &b), |(a, b)| (a * a + b * b).sqrt())?;
/// assert_eq!(c, [5.0, 10.0]);
/// # Ok::<(), broadloom::EvalError>(())
/// ```
///
/// # Errors
/// Returns an error if the expression does not fit the arrays, if the data have no result, or if the result is not
/// an `R`.
#[track_caller]
pub fn eval<'a, A, E, R>(arrays: A, expression: impl Fn(A::Tensors) -> E) -> Result<R, EvalError>
where
    A: EvalArrays<'a>,
    E: EvalResult,
    R: TryFrom<Outputs, Error = OutputError>,
{
    let views = arrays.into_views();
    let outputs = match symbolic::<A, E>(&views, &expression) {
        Ok(kept) => match run(&kept, &views) {
            // The sizes break a condition of the expression: build it over the actual sizes, so that the message
            // names them.
            Err(EvalError::Call(CallError::Bind(BindError::Size(_) | BindError::Obligation(_)))) => {
                run(&concrete::<A, E>(&views, &expression)?, &views)
            }
            result => result,
        },
        Err(_) => run(&concrete::<A, E>(&views, &expression)?, &views),
    }?;
    Ok(R::try_from(outputs)?)
}

/// The reason why an expression of arrays has no result.
///
/// ```
/// use broadloom::{EvalError, prelude::*};
/// let wrong: Result<Vec<f32>, EvalError> = eval((&[1.0f32, 2.0], &[1.0f32, 2.0, 3.0]), |(x, y)| x + y);
/// match wrong {
///     Err(EvalError::Compile(error)) => assert!(error.to_string().contains("cannot broadcast")),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Error)]
pub enum EvalError {
    /// The expression does not fit the arrays, or the compiler does not support it.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// The data have no result.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The result does not have the requested type.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl From<Diagnostics> for EvalError {
    fn from(diagnostics: Diagnostics) -> Self {
        EvalError::Compile(diagnostics.into())
    }
}

impl fmt::Debug for EvalError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Compile(error) => fmt::Debug::fmt(error, f),
            EvalError::Call(error) => fmt::Debug::fmt(error, f),
            EvalError::Output(error) => fmt::Display::fmt(error, f),
        }
    }
}

/// The arrays for [`eval`]: one, or a tuple of up to eight.
pub trait EvalArrays<'a> {
    /// One tensor per array.
    type Tensors;
    /// Returns the arrays.
    fn into_views(self) -> Vec<ArrayView<'a>>;
    /// Returns their tensors; `make` maps each position to its tensor.
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

/// The result of the closure of [`eval`]: a tensor, or a tuple of up to four.
#[diagnostic::on_unimplemented(
    message = "a closure of `eval` cannot return `{Self}`",
    note = "return a `Tensor`, or a tuple of them; the type of the result of `eval` says what they become"
)]
pub trait EvalResult {
    /// Returns the tensors.
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

/// Builds the graph over symbols.
#[track_caller]
fn symbolic<'a, A: EvalArrays<'a>, E: EvalResult>(
    views: &[ArrayView<'a>],
    expression: &impl Fn(A::Tensors) -> E,
) -> Result<Arc<Kept>, Diagnostics> {
    let site = Location::caller();
    let mut known: SmallVec<[i64; 8]> = SmallVec::new();
    let declarations = declarations(views, |size, trailing| {
        if size == 1 || trailing && (1..=SMALL).contains(&size) {
            return Size::Constant(size);
        }
        let number = known.iter().position(|known| *known == size).unwrap_or_else(|| {
            known.push(size);
            known.len() - 1
        });
        Size::Symbol(number)
    });
    let place = Place { site, declarations };
    let written = WRITTEN.get(&place);
    let scripts = written.as_ref().map(|written| written.scripts.clone()).unwrap_or_default();
    let (graph, inputs) = Graph::scripted(&place.declarations, &scripts, Site::Rust(site));
    let results = expression(A::tensors(|position| inputs[position])).into_tensors();
    if let Some(written) = &written
        && let Some(position) = graph.finished(&results)
    {
        return Ok(written.kept[position].clone());
    }
    let script = graph.script(&results);
    let kept = Arc::new(Kept::new(finish(&graph, results)?));
    if let Some(script) = script {
        WRITTEN.add(place, script, kept.clone());
    }
    Ok(kept)
}

/// Builds the graph over the actual sizes.
#[track_caller]
fn concrete<'a, A: EvalArrays<'a>, E: EvalResult>(
    views: &[ArrayView<'a>],
    expression: &impl Fn(A::Tensors) -> E,
) -> Result<Kept, Diagnostics> {
    let declarations = declarations(views, |size, _| Size::Constant(size));
    let (graph, inputs) = Graph::scripted(&declarations, &Scripts::default(), Site::caller());
    let results = expression(A::tensors(|position| inputs[position])).into_tensors();
    Ok(Kept::new(finish(&graph, results)?))
}

/// Declares an input for each array; `size` maps each size, and whether it is that of the last axis, to the size
/// that is declared.
fn declarations(views: &[ArrayView<'_>], mut size: impl FnMut(i64, bool) -> Size) -> Declarations {
    let mut declaration = |view: &ArrayView<'_>| {
        let axes = &view.geometry().axes;
        let sizes = axes.iter().enumerate().map(|(axis, of)| size(of.size, axis + 1 == axes.len()));
        Declaration { dtype: view.dtype(), sizes: sizes.collect() }
    };
    views.iter().map(&mut declaration).collect()
}

#[track_caller]
fn finish(graph: &Graph, results: Vec<Tensor>) -> Result<CheckedGraph, Diagnostics> {
    let names: Vec<String> = (0..results.len()).map(|position| format!("out{position}")).collect();
    graph.finish(names.iter().map(String::as_str).zip(results))
}

fn run(kept: &Kept, views: &[ArrayView<'_>]) -> Result<Outputs, EvalError> {
    let executable = kept.executable()?;
    let mut inputs = Inputs::new();
    for (view, required) in views.iter().zip(&executable.inner().rules.required) {
        if *required {
            inputs.add(view.into_input());
        }
    }
    Ok(executable.run(inputs).map_err(|error| placed(error, &kept.graph))?)
}

/// Moves an error of a kernel to the place where this call wrote the op: the kernel may have been compiled for
/// another expression of the same structure, whose expressions have the same ids.
fn placed(mut error: CallError, graph: &CheckedGraph) -> CallError {
    if let Some((expr, site, call)) = error.origin_mut() {
        *site = graph.site(*expr);
        *call = graph.call(*expr).into();
    }
    error
}

/// The cache key of kernels: everything in a graph except names and places.
#[derive(PartialEq, Eq, Hash)]
struct Structure {
    inputs: Vec<(DType, shape::Shape)>,
    nodes: Vec<(Node, DType, shape::Shape)>,
    outputs: Vec<(ExprId, Option<InputId>)>,
    /// The conditions that each call checks: a slice of five elements is not a `rebind` to five.
    demands: Vec<(Demand, Requirement, Option<Arc<str>>)>,
    /// The units of sizes with their least and greatest multiples; simplification may depend on them.
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
                .map(|Obligation { demand, requirement, call, .. }| {
                    (demand.clone(), *requirement, call.clone())
                })
                .collect(),
            sizes: (graph.symbols().iter())
                .map(|symbol| (symbol.unit, symbol.facts.lower, symbol.facts.upper))
                .collect(),
        }
    }
}

/// A structure that is hashed only once.
#[derive(Clone)]
struct Key {
    structure: Arc<Structure>,
    hash: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.structure, &other.structure)
            || self.hash == other.hash && self.structure == other.structure
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// A graph and the place of its kernel in the cache.
struct Kept {
    graph: CheckedGraph,
    key: Key,
}

impl Kept {
    fn new(graph: CheckedGraph) -> Kept {
        let structure = Structure::of(&graph);
        let hash = HASHER.hash_one(&structure);
        Kept { graph, key: CACHE.same(Key { structure: Arc::new(structure), hash }) }
    }

    fn executable(&self) -> Result<Executable, CompileError> {
        let admit = |key, slots: &mut Slots<Key, Executable>| {
            slots.make_room(CAPACITY);
            key
        };
        CACHE.get_or_make(self.key.clone(), admit, |_| {
            Executable::compile(&self.graph, &CompileOptions::default())
        })
    }
}

static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
static CACHE: LazyLock<Cache<Key, Executable>> = LazyLock::new(Cache::default);
static WRITTEN: LazyLock<Writings> = LazyLock::new(Writings::default);

/// A call site of [`eval`] and the arrays it received.
struct Place {
    site: &'static Location<'static>,
    declarations: Declarations,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.site, other.site) && self.declarations == other.declarations
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.site, state);
        self.declarations.hash(state);
    }
}

/// The scripts that closures wrote at one place, and the graph of each.
#[derive(Default)]
struct Writing {
    scripts: Scripts,
    kept: Vec<Arc<Kept>>,
}

/// The scripts of all places.
#[derive(Default)]
struct Writings(RwLock<HashMap<Place, Arc<Writing>>>);

/// The most scripts kept for one place: a closure may write other numbers each time.
const MAX_SCRIPTS: usize = 8;

impl Writings {
    fn get(&self, place: &Place) -> Option<Arc<Writing>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    /// Adds a script. The oldest script of the place makes room for it; all places make room for a new place.
    fn add(&self, place: Place, script: Script, kept: Arc<Kept>) {
        let mut written = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= CAPACITY && !written.contains_key(&place) {
            written.clear();
        }
        let of_place = written.entry(place).or_default();
        let others = of_place.scripts.iter().cloned().zip(of_place.kept.iter().cloned());
        let all = std::iter::once((Arc::new(script), kept)).chain(others).take(MAX_SCRIPTS);
        let (scripts, kept): (Vec<Arc<Script>>, Vec<Arc<Kept>>) = all.unzip();
        *of_place = Arc::new(Writing { scripts: scripts.into(), kept });
    }
}

/// How often [`eval`] found a kernel, and how often it compiled one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStats {
    /// Number of calls that found their kernel.
    pub hits: u64,
    /// Number of calls that compiled it.
    pub compiles: u64,
    /// Number of kernels in the cache.
    pub entries: usize,
}

/// Returns the state of the cache of [`eval`], which all threads share.
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
