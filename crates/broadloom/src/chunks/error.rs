//! The reasons why something cannot be computed in chunks.

use crate::bind::{BindError, did_you_mean};
use crate::run::{CallError, RunError};
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::chunks::Refusal;
use broadloom_ir::diagnostics::{Places, Row, Style, Text};
use broadloom_ir::graph::{CheckedGraph, Node, SEARCH, Site, scan_name};
use std::fmt;
use thiserror::Error;

/// The reason why something cannot be computed in chunks. `{}` prints one line; `{:#}` and `{:?}` also show the
/// line of the program and what to do.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::ChunkError;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// let reversed = x.flip(0).compile()?;
/// let error = reversed.in_chunks("n").err();
/// assert!(matches!(error, Some(ChunkError::Refused { rows, .. }) if rows == "n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// No size has this name.
    UnknownSize {
        /// The name.
        name: String,
        /// A similar name.
        suggestion: Option<String>,
        /// The known names.
        known: Vec<String>,
    },
    /// A result needs more than the rows of one chunk, and is not a reduction whose parts merge.
    Refused {
        /// The symbol of the rows.
        rows: String,
        /// The operation, and the place where it was called.
        at: Option<(String, Site)>,
        /// The reason.
        refusal: Refusal,
    },
    /// The kernels of the parts do not compile.
    Compile(#[from] CompileError),
    /// The arrays do not fit.
    Bind(#[from] BindError),
    /// The data have no result. Positions count the rows of all chunks.
    Run(#[from] RunError),
    /// A streamed input was passed at the start, or another input was passed with a chunk.
    Misplaced {
        /// The input.
        name: String,
        /// Whether the input is streamed.
        is_streamed: bool,
    },
    /// A size was given by name with a chunk.
    SizeWithChunk {
        /// The name.
        name: String,
    },
    /// A chunk follows one whose number of rows is not a valid multiple.
    Multiple {
        /// The number of rows of the chunk before.
        rows: usize,
        /// The number that they had to be a multiple of.
        multiple: usize,
    },
    /// A size differs from its value in the first chunk.
    Changed {
        /// The symbol.
        symbol: String,
        /// Its value in the first chunk.
        first: i64,
        /// The value now.
        now: i64,
    },
    /// A pass had a different number of rows from the first pass.
    Rows {
        /// The pass, counted from 0.
        pass: usize,
        /// The number of rows of the first pass.
        first: usize,
        /// The number of rows of this pass.
        found: usize,
    },
    /// No chunk was passed.
    NoChunks,
    /// The rows must be passed again.
    MorePasses {
        /// The number of completed passes.
        done: usize,
        /// The number of passes required.
        passes: usize,
    },
    /// All passes have been completed.
    NoMorePasses,
    /// An earlier chunk had no result, so the whole run has none.
    Failed,
}

impl From<CallError> for ChunkError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Bind(error) => ChunkError::Bind(error),
            CallError::Run(error) => ChunkError::Run(error),
        }
    }
}

impl ChunkError {
    pub(super) fn refused(
        graph: &CheckedGraph,
        rows: &str,
        expr: Option<ExprId>,
        refusal: Refusal,
    ) -> ChunkError {
        let at = expr.map(|expr| {
            let name = match graph.node(expr) {
                Node::Input(input) => format!("input {:?}", graph.inputs()[input.index()].name),
                Node::Constant(_) => "constant".to_owned(),
                Node::Elementwise { op, .. } => op.name().to_owned(),
                Node::Select { .. } => "select".to_owned(),
                Node::Cast(_) => "cast".to_owned(),
                Node::Reduce { op, .. } => op.name().to_owned(),
                Node::View { view, .. } => view.name().to_owned(),
                Node::Take { .. } => "take".to_owned(),
                Node::Compress { .. } => "compress".to_owned(),
                Node::Iota => "arange".to_owned(),
                Node::Size(_) => "size".to_owned(),
                Node::Concat { .. } => "concat".to_owned(),
                Node::Set { .. } | Node::Scatter { op: None, .. } => "set".to_owned(),
                Node::Scatter { op: Some(op), .. } => op.name().to_owned(),
                Node::Segment { op, .. } => format!("segment_{}", op.name()),
                Node::TopK { topk, .. } => topk.name().to_owned(),
                Node::Sort { sort, .. } => sort.name().to_owned(),
                Node::Search { .. } => SEARCH.to_owned(),
                Node::Scan { op, .. } => scan_name(*op).to_owned(),
                Node::Step { name, .. } => format!("the step of {name:?}"),
                Node::Loop { .. } => graph.call(expr).to_owned(),
                Node::Poison => "mistake".to_owned(),
            };
            (name, graph.site(expr))
        });
        ChunkError::Refused { rows: rows.to_string(), at, refusal }
    }

    /// Returns the code of the kind of error.
    pub fn code(&self) -> &'static str {
        match self {
            ChunkError::UnknownSize { .. } => "C001",
            ChunkError::Refused { .. } => "C002",
            ChunkError::Compile(_) => "C003",
            ChunkError::Bind(error) => error.code(),
            ChunkError::Run(error) => error.code(),
            ChunkError::Misplaced { .. } | ChunkError::SizeWithChunk { .. } => "C004",
            ChunkError::Multiple { .. } => "C005",
            ChunkError::Changed { .. } => "C006",
            ChunkError::Rows { .. } => "C007",
            ChunkError::NoChunks => "C008",
            ChunkError::MorePasses { .. } | ChunkError::NoMorePasses => "C009",
            ChunkError::Failed => "C010",
        }
    }

    pub(super) fn called_from(self, site: Site) -> ChunkError {
        match self {
            ChunkError::Bind(error) => ChunkError::Bind(error.called_from(site)),
            error => error,
        }
    }

    /// Returns the whole text with ANSI escape sequences for colours; see
    /// [`Diagnostic::colored`](crate::Diagnostic::colored).
    pub fn colored(&self) -> impl fmt::Display {
        match self {
            ChunkError::Bind(error) => error.colored().to_string(),
            ChunkError::Run(error) => error.colored().to_string(),
            ChunkError::Compile(error) => format!("{error:?}"),
            _ => self.text().colored().to_string(),
        }
    }

    /// Returns the whole text with places other than those in Rust; see
    /// [`Diagnostic::display_at`](crate::Diagnostic::display_at).
    pub fn display_at(&self, places: &dyn Places) -> Text {
        match self {
            ChunkError::Bind(error) => error.display_at(places),
            ChunkError::Run(error) => error.display_at(places),
            _ => self.text().at(places),
        }
    }

    fn text(&self) -> Text {
        let mut text = Text::message(Style::Error, format!("error[{}]", self.code()), self.to_string());
        match self {
            ChunkError::Refused { rows, at, refusal } => {
                if let Some((_, site)) = at {
                    text.source(*site, Style::Error);
                }
                text.rows(vec![Row::new(reason(rows, *refusal), None)]);
                text.help_in_rust(help(*refusal), None);
            }
            ChunkError::UnknownSize { suggestion: Some(_), known, .. } => {
                text.rows(vec![Row::new(format!("the sizes are {known:?}"), None)]);
            }
            ChunkError::Multiple { multiple, .. } => {
                let why = "only whole blocks of rows give sums of floats the same bits for any chunks";
                text.rows(vec![Row::new(why, None)]);
                text.help(&format!("pass chunks of {multiple} rows, or a multiple of that; only the last chunk may have any number of rows"), None);
            }
            _ => {}
        }
        text
    }
}

/// Returns what prevents the computation in chunks.
fn reason(rows: &str, refusal: Refusal) -> String {
    match refusal {
        Refusal::NoRows => format!("no input that the outputs need has a leading axis of size `{rows}`"),
        Refusal::NotPlain => format!(
            "`{rows}` is declared to be a multiple or to equal another size, which may not hold for the rows of a chunk"
        ),
        Refusal::Input => format!("only the leading axis may have the size `{rows}`"),
        Refusal::MayBeOne => "an array of one row would stretch to all rows".to_owned(),
        Refusal::Pairs => format!("its result has two axes of the size `{rows}`: each row meets every other"),
        Refusal::OtherSize => format!("its result has a size that depends on `{rows}` in another way"),
        Refusal::Reshape => "it mixes rows with another axis".to_owned(),
        Refusal::Slice => "it cuts out rows, or changes their order".to_owned(),
        Refusal::Set => "it changes rows by their position".to_owned(),
        Refusal::Take => "it looks up rows by their position".to_owned(),
        Refusal::Sort => "it sorts all rows".to_owned(),
        Refusal::Search => "it searches among all rows".to_owned(),
        Refusal::Concat => "it appends rows to other rows".to_owned(),
        Refusal::Decided => "the data of all rows decide a size".to_owned(),
        Refusal::Selected => "it numbers selected rows, or adds them in an order of their own".to_owned(),
        Refusal::Loop => "the steps of a loop need more than the rows of one chunk".to_owned(),
        Refusal::OutputAxis => "the rows must be the leading axis of an output".to_owned(),
        Refusal::Assigned => "it writes to an input".to_owned(),
        _ => "it needs more than the rows of one chunk".to_owned(),
    }
}

/// Returns what to do about it.
fn help(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NoRows => "name the symbol for the leading axis of the inputs that you pass in chunks",
        Refusal::NotPlain => "remove that declaration, or run on whole arrays",
        Refusal::OutputAxis | Refusal::Input => "move the axis to the front, or run on whole arrays",
        Refusal::Assigned => "make the value an output instead",
        Refusal::MayBeOne => "declare the axis without `#`, or run on whole arrays",
        Refusal::Pairs => {
            "pass one side whole, as another input with its own size: x[n, 3] in chunks, and y[m, 3]"
        }
        Refusal::Reshape => "keep the rows as the leading axis, and reshape each row",
        Refusal::Slice => "compute all rows and slice the result, or run on whole arrays",
        Refusal::Set => {
            "change the rows with a condition on an input, as in where(first, 0, x), or run on whole arrays"
        }
        Refusal::Take => "pass the table to look up in whole, as an input with its own size",
        Refusal::Sort => {
            "for the k best of all rows, write `topk(x, k, axis=0)`; to sort all rows, run on whole arrays"
        }
        Refusal::Search => "pass the sorted table whole, as an input with its own size",
        Refusal::Selected => "compute it of all rows and select from the result, or run on whole arrays",
        Refusal::Concat => "pass the appended rows as further chunks, or run on whole arrays",
        _ => "run on whole arrays",
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_own = !matches!(self, ChunkError::Bind(_) | ChunkError::Run(_) | ChunkError::Compile(_));
        if f.alternate() && is_own {
            return fmt::Display::fmt(&self.text(), f);
        }
        match self {
            ChunkError::UnknownSize { name, suggestion, known } => {
                write!(f, "there is no size {name:?}{}", did_you_mean(suggestion.as_ref(), known))
            }
            ChunkError::Refused { rows, at: Some((op, _)), .. } => {
                write!(f, "`{op}` cannot be computed from chunks of `{rows}`")
            }
            ChunkError::Refused { rows, at: None, .. } => {
                write!(f, "nothing can be cut into chunks of `{rows}`")
            }
            ChunkError::Compile(error) => fmt::Display::fmt(error, f),
            ChunkError::Bind(error) => fmt::Display::fmt(error, f),
            ChunkError::Run(error) => fmt::Display::fmt(error, f),
            ChunkError::Misplaced { name, is_streamed: true } => {
                write!(f, "input {name:?} is streamed: pass it with each chunk, not at the start")
            }
            ChunkError::Misplaced { name, is_streamed: false } => {
                write!(f, "input {name:?} is not streamed: pass it at the start, not with a chunk")
            }
            ChunkError::SizeWithChunk { name } => {
                write!(f, "the size {name:?} was passed with a chunk: pass it at the start")
            }
            ChunkError::Multiple { rows, multiple } => {
                write!(
                    f,
                    "a chunk has {rows} rows, which is not a multiple of {multiple}, but is not the last chunk"
                )
            }
            ChunkError::Changed { symbol, first, now } => {
                write!(f, "`{symbol}` is {now} in this chunk, but was {first} in the first one")
            }
            ChunkError::Rows { pass, first, found } => {
                write!(f, "pass {} had {found} rows, but the first pass had {first}", pass + 1)
            }
            ChunkError::NoChunks => {
                f.write_str("no chunk was passed: pass an empty one to make the sizes known")
            }
            ChunkError::MorePasses { done, passes } => {
                write!(f, "{done} of {passes} passes over the rows are done: pass all rows again")
            }
            ChunkError::NoMorePasses => f.write_str("all passes over the rows are done"),
            ChunkError::Failed => f.write_str("an earlier chunk failed, so all rows together have no result"),
        }
    }
}

impl fmt::Debug for ChunkError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChunkError::Bind(error) => fmt::Debug::fmt(error, f),
            ChunkError::Run(error) => fmt::Debug::fmt(error, f),
            ChunkError::Compile(error) => fmt::Debug::fmt(error, f),
            _ => fmt::Display::fmt(&self.text(), f),
        }
    }
}
