//! Running kernels.

mod launch;
mod outputs;
mod overlap;

pub use outputs::{IntoOutputs, Outputs, OutputsMut};

use crate::array::AnyArray;
use crate::bind::{BindError, Binding, Given, Inputs, Ordered, given, type_text};
use crate::cache::lock;
use crate::compiled::Inner;
use crate::explain::Explanation;
use crate::memory::OutOfMemory;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::{Places, Row, Style, Text};
use broadloom_ir::graph::{CheckedGraph, Node, Site};
use broadloom_jit::{FailureAt, UnknownKernel};
use overlap::destinations;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use thiserror::Error;

/// Arrays that fit a kernel. Only the data can still make a run fail.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<i32>("x", shape![g.symbol("n")]);
/// let kernel = (x + 1).compile()?;
/// let bound = kernel.bind(&[1, 2, 3])?;
/// let first: Vec<i32> = bound.run()?.try_into()?;
/// let again: Vec<i32> = bound.run()?.try_into()?;
/// assert_eq!((first, again), (vec![2, 3, 4], vec![2, 3, 4]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Bound<'a> {
    inner: Arc<Inner>,
    binding: Arc<Binding>,
    inputs: Ordered<'a>,
    given: Given,
    /// Locked during a run if it writes to inputs: two such runs must not overlap.
    writing: Option<Mutex<()>>,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(inner: Arc<Inner>, inputs: Inputs<'a>) -> Result<Self, BindError> {
        let given = given(&inner.graph, &inputs)?;
        let inputs = inputs.into_ordered(&inner.graph, &inner.rules.required)?;
        Bound::of_ordered(inner, inputs, &given)
    }

    /// Binds arrays whose dtypes and numbers of axes have been checked.
    pub(crate) fn of_ordered(
        inner: Arc<Inner>,
        inputs: Ordered<'a>,
        given: &Given,
    ) -> Result<Self, BindError> {
        require_all(&inner, &inputs)?;
        let binding = {
            let destinations = destinations(&inner.graph, &inputs, None)?;
            inner.bind(&inputs, given, &destinations)?.into_owned()
        };
        let writes = inner.graph.results().len() < inner.graph.outputs().len();
        let writing = writes.then(Mutex::default);
        Ok(Bound { inner, binding, inputs, given: given.clone(), writing })
    }

    /// Computes the outputs into new arrays. Each run writes again to the inputs that are
    /// [assigned](crate::Tensor::assign) to.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// for _ in 0..3 {
    ///     let result: Vec<f32> = bound.run()?.try_into()?;
    ///     assert_eq!(result, [2.0, 4.0]);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the data have no result, or if memory is not available.
    pub fn run(&self) -> Result<Outputs, RunError> {
        let _writing = self.writes();
        let mut outputs = Outputs::none();
        run(&self.inner, &self.binding, &self.inputs, &mut outputs)?;
        Ok(outputs)
    }

    /// Computes the outputs into arrays of the caller, like [`Executable::run_into`](crate::Executable::run_into).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// let bound = kernel.bind(&[1.0f32, 2.0])?;
    /// let mut twice = [0.0f32; 2];
    /// bound.run_into(&mut twice)?;
    /// assert_eq!(twice, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit, or if the data have no result; in the latter case the contents of
    /// the outputs are unspecified.
    #[track_caller]
    pub fn run_into<'b>(&self, outputs: impl IntoOutputs<'b>) -> Result<(), CallError> {
        let site = Site::caller();
        let _writing = self.writes();
        run_into(&self.inner, &self.inputs, &self.given, &mut outputs.into_outputs())
            .map_err(|error| error.called_from(site))
    }

    /// Locks writes to inputs, if the kernel makes any.
    fn writes(&self) -> Option<MutexGuard<'_, ()>> {
        self.writing.as_ref().map(lock)
    }

    /// Returns what the compiler made of the graph for these arrays: the code may rely on their layouts, and on
    /// short sizes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, k, d] = g.symbols(["n", "k", "d"]);
    /// let (codes, obs) = (g.input::<f32>("codes", shape![k, d]), g.input::<f32>("obs", shape![n, d]));
    /// let code = (codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1);
    /// let kernel = code.compile()?;
    /// let (codes, obs) = (vec![0.5f32; 16 * 3], vec![1.0f32; 1000 * 3]);
    /// let (codes, obs) = (ArrayView::new(&codes, &[16, 3])?, ArrayView::new(&obs, &[1000, 3])?);
    /// let bound = kernel.bind(inputs! { "codes" => codes, "obs" => obs })?;
    /// assert!(bound.explain().to_string().contains("only where k = 16, d = 3"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let variant = self.binding.variant.clone();
        let compile_time = variant.compile_time;
        Explanation::new(self.inner.clone(), variant, compile_time)
    }

    /// Returns the most bytes that a run stores between kernels at one time, without the outputs and scratch
    /// memory.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.bind(&[1.0f32, 2.0])?.temporary_bytes(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary_bytes(&self) -> usize {
        self.binding.arena_bytes
    }
}

impl fmt::Debug for Bound<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound").field("inputs", &self.inputs).finish()
    }
}

/// Computes the outputs of given arrays into arrays that it appends to `outputs`.
pub(crate) fn run_inputs(
    inner: &Inner,
    inputs: &mut Inputs<'_>,
    outputs: &mut Outputs,
) -> Result<(), CallError> {
    let given = given(&inner.graph, inputs)?;
    let inputs = inputs.order(&inner.graph, &inner.rules.required)?;
    let binding = inner.bind(inputs, &given, &destinations(&inner.graph, inputs, None)?)?;
    run(inner, &binding, inputs, outputs)?;
    Ok(())
}

/// Computes the outputs of given arrays into arrays of the caller.
pub(crate) fn run_inputs_into(
    inner: &Inner,
    inputs: &mut Inputs<'_>,
    outputs: &mut OutputsMut<'_>,
) -> Result<(), CallError> {
    let given = given(&inner.graph, inputs)?;
    let inputs = inputs.order(&inner.graph, &inner.rules.required)?;
    run_into(inner, inputs, &given, outputs)
}

/// Computes the outputs into arrays that it puts into `outputs`, which is empty before. After an error, its
/// contents are meaningless.
fn run(
    inner: &Inner,
    binding: &Binding,
    inputs: &Ordered<'_>,
    outputs: &mut Outputs,
) -> Result<(), RunError> {
    let arrays = &mut outputs.arrays;
    for bound in &binding.outputs[..inner.graph.results().len()] {
        arrays.push((bound.name.clone(), AnyArray::unwritten(bound.dtype, bound.count, &bound.shape)?));
    }
    launch::run_allocated(inner, binding, inputs, arrays)
}

fn run_into(
    inner: &Inner,
    inputs: &Ordered<'_>,
    given: &Given,
    outputs: &mut OutputsMut<'_>,
) -> Result<(), CallError> {
    let outputs = outputs.order(&inner.graph)?;
    let binding = inner.bind(inputs, given, &destinations(&inner.graph, inputs, Some(outputs))?)?;
    launch::run_borrowed(inner, &binding, inputs, outputs)?;
    Ok(())
}

/// Checks that all required inputs are present: without its array, a kernel would read from nowhere.
fn require_all(inner: &Inner, inputs: &Ordered<'_>) -> Result<(), BindError> {
    let given = inputs.iter().map(Option::is_some).chain(std::iter::repeat(false));
    let mut missing = inner.graph.inputs().iter().zip(&inner.rules.required).zip(given);
    match missing.find(|((_, required), given)| **required && !given) {
        None => Ok(()),
        Some(((info, _), _)) => {
            let expected = type_text(&inner.graph, info.dtype, &info.shape);
            Err(BindError::Missing { name: info.name.to_string(), expected })
        }
    }
}

/// The reason why data have no result. `{}` prints one line; `{:#}` and `{:?}` also show the line of the program.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::{CallError, RunError};
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let at = g.input::<i64>("at", shape![g.symbol("m")]);
/// let kernel = x.take(at, 0).compile()?;
/// match kernel.run((&[1.0f32, 2.0], &[0i64, 7])) {
///     Err(CallError::Run(RunError::IndexOutOfRange { position, index, size, .. })) => {
///         assert_eq!((position, index, size), (vec![1], 7, 2));
///     }
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RunError {
    /// `take` met an index outside the axis.
    IndexOutOfRange {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The position of the first index that is out of range.
        position: Vec<usize>,
        /// The value of the index.
        index: i64,
        /// The size of the axis.
        size: i64,
    },
    /// A segmented reduction met an id without a segment.
    NoSuchSegment {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The first row whose id is out of range.
        row: usize,
        /// The id.
        id: i64,
        /// The number of segments.
        segments: i64,
    },
    /// An integer was raised to a negative power.
    NegativeExponent {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The position of the first element without a result.
        position: Vec<usize>,
        /// The exponent.
        exponent: i64,
    },
    /// An element of a histogram without a given range is not finite.
    NoBin {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The position of the first such element.
        position: Vec<usize>,
        /// The element: `nan`, `inf` or `-inf`.
        value: &'static str,
    },
    /// Memory for results, temporaries or scratch is not available.
    Memory(#[from] OutOfMemory),
    /// The code does not belong to the schedule: a bug in Broadloom.
    UnknownKernel(#[from] UnknownKernel),
}

impl RunError {
    /// Returns the code of the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            RunError::IndexOutOfRange { .. } => "R001",
            RunError::NoSuchSegment { .. } => "R002",
            RunError::NegativeExponent { .. } => "R003",
            RunError::Memory(_) => "R004",
            RunError::UnknownKernel(_) => "R005",
            RunError::NoBin { .. } => "R006",
        }
    }

    /// Returns the whole text with ANSI escape sequences for colours; see
    /// [`Diagnostic::colored`](crate::Diagnostic::colored).
    pub fn colored(&self) -> impl fmt::Display {
        self.text().colored()
    }

    /// Returns the whole text with places other than those in Rust; see
    /// [`Diagnostic::display_at`](crate::Diagnostic::display_at).
    pub fn display_at(&self, places: &dyn Places) -> Text {
        self.text().at(places)
    }

    fn text(&self) -> Text {
        let mut text = Text::message(Style::Error, format!("error[{}]", self.code()), self.to_string());
        let (site, reason) = match self {
            RunError::IndexOutOfRange { site, size, .. } => {
                (site, format!("valid indices are 0 to {}, or -{size} to -1 from the end", size - 1))
            }
            RunError::NoSuchSegment { site, segments, .. } => {
                (site, format!("valid ids are 0 to {}", segments - 1))
            }
            RunError::NegativeExponent { site, .. } => {
                (site, "to get fractions, cast the base to f64 first".to_owned())
            }
            RunError::NoBin { site, .. } => {
                (site, "give the `range` of the bins, or replace such elements first".to_owned())
            }
            RunError::Memory(_) | RunError::UnknownKernel(_) => return text,
        };
        text.source(*site, Style::Error);
        text.rows(vec![Row::new(reason, None)]);
        text
    }

    fn new(graph: &CheckedGraph, binding: &Binding, failure: &FailureAt) -> RunError {
        let (expr, site) = (failure.origin, graph.site(failure.origin));
        let call: Box<str> = graph.call(expr).into();
        let index = |shape: &broadloom_ir::shape::Shape| {
            let mut rest = failure.position;
            let mut index: Vec<usize> = Vec::new();
            for dim in shape.iter().rev() {
                let size = crate::bind::evaluate(dim, &binding.values).unwrap_or(1).max(1);
                index.push((rest % size) as usize);
                rest /= size;
            }
            index.reverse();
            index
        };
        match graph.node(expr) {
            Node::Take { indices, .. } if let Some(value) = graph.value_without_bin(expr, failure.value) => {
                RunError::NoBin { expr, site, call, position: index(graph.shape(*indices)), value }
            }
            Node::Take { indices, .. } => RunError::IndexOutOfRange {
                expr,
                site,
                call,
                position: index(graph.shape(*indices)),
                index: failure.value,
                size: failure.size,
            },
            Node::Segment { .. } => RunError::NoSuchSegment {
                expr,
                site,
                call,
                row: failure.position.try_into().unwrap_or(0),
                id: failure.value,
                segments: failure.size,
            },
            _ => RunError::NegativeExponent {
                expr,
                site,
                call,
                position: index(graph.shape(expr)),
                exponent: failure.value,
            },
        }
    }
}

impl fmt::Display for RunError {
    /// Prints the headline; with `#` the whole text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", self.text());
        }
        match self {
            RunError::IndexOutOfRange { position, index, size, call, .. } => {
                let at = at(position);
                write!(f, "`{call}`: the index{at} is {index}, but the axis has {size} elements")
            }
            RunError::NoSuchSegment { row, id, segments, call, .. } => {
                write!(f, "`{call}`: the id of row {row} is {id}, but there are {segments} segments")
            }
            RunError::NegativeExponent { position, exponent, call, .. } => write!(
                f,
                "`{call}`: the exponent{} is {exponent}, but integers have no negative powers",
                at(position)
            ),
            RunError::NoBin { position, value, call, .. } => write!(
                f,
                "`{call}`: the element{} is {value}, so the range of the data has no bins",
                at(position)
            ),
            RunError::Memory(error) => write!(f, "{error}"),
            RunError::UnknownKernel(error) => write!(f, "{error}"),
        }
    }
}

/// Returns ` at [2, 0]`, or nothing for a scalar.
fn at(position: &[usize]) -> String {
    if position.is_empty() { String::new() } else { format!(" at {position:?}") }
}

impl fmt::Debug for RunError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

/// The reason why a call has no result: the arrays do not fit, or the data have no result.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::CallError;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
/// let kernel = (x + y).compile()?;
/// let error = kernel.run((&[1.0f32; 2], &[1.0f32; 3])).unwrap_err();
/// assert!(matches!(error, CallError::Bind(_))); // the arrays do not fit
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Error)]
pub enum CallError {
    /// The arrays do not fit the kernel.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The data have no result.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl CallError {
    /// Returns the expression in the compiled graph that caused the error, its place and its function.
    pub(crate) fn origin_mut(&mut self) -> Option<(&mut ExprId, &mut Site, &mut Box<str>)> {
        match self {
            CallError::Run(
                RunError::IndexOutOfRange { expr, site, call, .. }
                | RunError::NoSuchSegment { expr, site, call, .. }
                | RunError::NegativeExponent { expr, site, call, .. }
                | RunError::NoBin { expr, site, call, .. },
            ) => Some((expr, site, call)),
            CallError::Bind(BindError::EmptyTable(table)) => {
                Some((&mut table.expr, &mut table.site, &mut table.call))
            }
            CallError::Run(RunError::Memory(_) | RunError::UnknownKernel(_)) | CallError::Bind(_) => None,
        }
    }

    /// Returns the error with the place of the call.
    pub(crate) fn called_from(self, site: Site) -> CallError {
        match self {
            CallError::Bind(error) => CallError::Bind(error.called_from(site)),
            CallError::Run(_) => self,
        }
    }
}

impl fmt::Debug for CallError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Bind(error) => fmt::Debug::fmt(error, f),
            CallError::Run(error) => fmt::Debug::fmt(error, f),
        }
    }
}
