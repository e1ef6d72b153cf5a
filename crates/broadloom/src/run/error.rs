//! The errors of runs.

use crate::bind::{BindError, Binding};
use crate::memory::OutOfMemory;
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::{Places, Row, Style, Text};
use broadloom_ir::graph::{BoundsFault, CheckedGraph, Node, Site};
use broadloom_jit::{FailureAt, UnknownKernel};
use std::fmt;
use thiserror::Error;

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
    /// The bounds of bins have no order, or no numbers between them.
    Bounds {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The position of the first bound that is wrong.
        position: Vec<usize>,
        /// What is wrong with it.
        fault: BoundsFault,
    },
    /// A computed size is negative.
    NegativeSize {
        /// The expression in the executable's graph.
        expr: ExprId,
        /// The place where the expression was made.
        site: Site,
        /// The function that was called.
        call: Box<str>,
        /// The size.
        size: i64,
    },
    /// Sizes that the data have decided do not fit.
    Sizes(DecidedSizes),
    /// A step of a loop failed.
    InStep {
        /// The number of steps before it.
        step: i64,
        /// The function that made the loop.
        call: Box<str>,
        /// The error of the step.
        error: Box<RunError>,
    },
    /// The [flag](crate::StopFlag) of the run was set.
    Stopped,
    /// The run was not complete at its [deadline](crate::RunOptions::deadline).
    DeadlinePassed,
    /// Memory for results, temporaries or scratch is not available.
    Memory(#[from] OutOfMemory),
    /// The code does not belong to the schedule: a bug in Broadloom.
    UnknownKernel(#[from] UnknownKernel),
    /// An array that a phase of the run leaves for a later one is not there: a bug in Broadloom.
    MissingArray,
}

/// Why sizes that the data of a run have decided do not fit: what a call says of sizes that it knows before it runs.
///
/// ```
/// use broadloom::{CallError, RunError, prelude::*};
///
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// let kernel = x.masked(x.gt(0)).max(0).compile()?;
/// match kernel.run(&[-1.0]) {
///     Err(CallError::Run(RunError::Sizes(sizes))) => assert_eq!(sizes.error().code(), "S102"),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DecidedSizes(Box<BindError>);

impl DecidedSizes {
    /// Returns the error.
    pub fn error(&self) -> &BindError {
        &self.0
    }
}

impl PartialEq for DecidedSizes {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl Eq for DecidedSizes {}

/// The expression that caused an error, its place and its function.
type Origin<'e> = (&'e mut ExprId, &'e mut Site, &'e mut Box<str>);

/// Replaces the expression of a part that caused an error by the one of the whole graph for which it was made.
fn set_origin(of: Option<Origin<'_>>, origins: &[ExprId]) {
    if let Some((expr, ..)) = of
        && let Some(origin) = origins.get(expr.index())
    {
        *expr = *origin;
    }
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
            RunError::NegativeSize { .. } => "R009",
            RunError::MissingArray => "R010",
            RunError::Bounds { .. } => "R011",
            RunError::Sizes(sizes) => sizes.0.code(),
            RunError::InStep { error, .. } => error.code(),
            RunError::Stopped => "R007",
            RunError::DeadlinePassed => "R008",
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
        let (site, reason) = match self.of_step() {
            RunError::InStep { .. } => return text,
            RunError::Sizes(sizes) => return sizes.0.text(),
            RunError::NegativeSize { site, .. } => (site, "a size is 0 or more".to_owned()),
            RunError::IndexOutOfRange { site, size, .. } => {
                (site, format!("valid indices are 0 to {}, or -{size} to -1 from the end", size - 1))
            }
            RunError::NoSuchSegment { site, segments, call, .. } if **call == *"bincount" => {
                (site, format!("elements are integers from 0 to {}", segments - 1))
            }
            RunError::NoSuchSegment { site, segments, .. } => {
                (site, format!("valid ids are 0 to {}", segments - 1))
            }
            RunError::NegativeExponent { site, .. } => {
                (site, "to get fractions, cast the base to f64 first".to_owned())
            }
            RunError::Bounds { site, fault, .. } => (site, fault.help().to_owned()),
            RunError::NoBin { site, .. } => {
                (site, "give the `range` of the bins, or replace such elements first".to_owned())
            }
            RunError::Memory(_)
            | RunError::UnknownKernel(_)
            | RunError::MissingArray
            | RunError::Stopped
            | RunError::DeadlinePassed => return text,
        };
        text.source(*site, Style::Error);
        text.rows(vec![Row::new(reason, None)]);
        text
    }

    /// Returns the error without the steps in which it happened.
    fn of_step(&self) -> &RunError {
        let mut error = self;
        while let RunError::InStep { error: inner, .. } = error {
            error = inner;
        }
        error
    }

    /// Returns the error of a step of a loop, after this many steps. That a run was stopped is not the fault of a step.
    pub(super) fn in_step(self, step: i64, call: &str) -> RunError {
        match self {
            RunError::Stopped
            | RunError::DeadlinePassed
            | RunError::Memory(_)
            | RunError::MissingArray
            | RunError::UnknownKernel(_) => self,
            error => RunError::InStep { step, call: call.into(), error: Box::new(error) },
        }
    }

    /// Returns the error of a part of a graph in terms of the whole.
    pub(super) fn of_part(mut self, origins: &[ExprId]) -> RunError {
        set_origin(self.origin_mut(), origins);
        self
    }

    /// Returns the expression that failed, its place and its function.
    fn origin_mut(&mut self) -> Option<Origin<'_>> {
        match self {
            RunError::IndexOutOfRange { expr, site, call, .. }
            | RunError::NoSuchSegment { expr, site, call, .. }
            | RunError::NegativeExponent { expr, site, call, .. }
            | RunError::NegativeSize { expr, site, call, .. }
            | RunError::Bounds { expr, site, call, .. }
            | RunError::NoBin { expr, site, call, .. } => Some((expr, site, call)),
            RunError::InStep { error, .. } => error.origin_mut(),
            RunError::Memory(_)
            | RunError::UnknownKernel(_)
            | RunError::MissingArray
            | RunError::Sizes(_)
            | RunError::Stopped
            | RunError::DeadlinePassed => None,
        }
    }

    /// Returns the error of sizes that are known since the run has begun.
    pub(crate) fn of_size(error: BindError) -> RunError {
        RunError::Sizes(DecidedSizes(Box::new(error)))
    }

    /// Returns the error of a call within a run.
    pub(super) fn of_call(error: CallError) -> RunError {
        match error {
            CallError::Bind(error) => RunError::of_size(error),
            CallError::Run(error) => error,
        }
    }

    pub(super) fn negative_size(graph: &CheckedGraph, expr: ExprId, size: i64) -> RunError {
        RunError::NegativeSize { expr, site: graph.site(expr), call: graph.call(expr).into(), size }
    }

    pub(super) fn new(graph: &CheckedGraph, binding: &Binding, failure: &FailureAt) -> RunError {
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
            Node::Take { indices, .. } if let Some(fault) = graph.fault_of_bounds(expr, failure.value) => {
                // The pair is wrong because of its second bound.
                let mut position = index(graph.shape(*indices));
                position.iter_mut().for_each(|at| *at += 1);
                RunError::Bounds { expr, site, call, position, fault }
            }
            Node::Take { indices, .. } | Node::Scatter { indices, .. } => RunError::IndexOutOfRange {
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
            RunError::NoSuchSegment { row, id, segments, call, .. } if **call == *"bincount" => match id {
                ..0 => write!(f, "`bincount`: element {row} is {id}, but only integers from 0 are counted"),
                _ => write!(f, "`bincount`: element {row} is {id}, but there are {segments} counts"),
            },
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
            RunError::Bounds { position, call, fault, .. } => {
                write!(f, "`{call}`: the bound{} {fault}", at(position))
            }
            // A number that the caller passed as a size.
            RunError::NegativeSize { call, size, .. } if **call == *"input" => {
                write!(f, "a size is {size}, which is negative")
            }
            RunError::NegativeSize { call, size, .. } => {
                write!(f, "`{call}`: the computed size is {size}, which is negative")
            }
            RunError::Sizes(sizes) => write!(f, "{}", sizes.0),
            RunError::MissingArray => f.write_str("an array of an earlier phase is missing"),
            RunError::InStep { step, call, error } => write!(f, "in step {step} of `{call}`: {error}"),
            RunError::Stopped => f.write_str("the run was stopped"),
            RunError::DeadlinePassed => {
                f.write_str("the run was not complete at its deadline, and was stopped")
            }
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
    /// Returns the error of a part of a graph in terms of the whole.
    pub(crate) fn of_part(mut self, origins: &[ExprId]) -> CallError {
        set_origin(self.origin_mut(), origins);
        self
    }

    /// Returns the expression in the compiled graph that caused the error, its place and its function.
    pub(crate) fn origin_mut(&mut self) -> Option<Origin<'_>> {
        match self {
            CallError::Run(error) => error.origin_mut(),
            CallError::Bind(BindError::EmptyTable(table)) => {
                Some((&mut table.expr, &mut table.site, &mut table.call))
            }
            CallError::Bind(_) => None,
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
