//! The text language: NumPy-flavoured expressions and programs, for people who do not write Rust and for programs that
//! take expressions at run time.
//!
//! ```text
//! text ──tokens──▶ tokens ──parse──▶ syntax tree with spans ──resolve──▶ graph builder ──finish──▶ CheckedGraph
//!                                                                                                       │
//! text ◀───────────────────────────────────print─────────────────────────────────────────────────────────┘
//! ```
//!
//! ```
//! use broadloom_text::Program;
//! let text = "
//!     symbols n, k
//!     assume  k >= 1
//!     input   obs:   f32[n, 3]
//!     input   codes: f32[k, 3]
//!     let     diff = codes[None, :, :] - obs[:, None, :]
//!     output  code = argmin(sum(diff ** 2, axis=-1), axis=1)
//! ";
//! let graph = Program::parse("nearest.bl", text)?.resolve()?;
//! assert_eq!(broadloom_text::signature(&graph), "code: i64[n]\n");
//! let printed = broadloom_text::print(&graph);
//! let again = Program::parse("printed.bl", &printed)?.resolve()?;
//! assert_eq!(broadloom_text::print(&again), printed);
//! # Ok::<(), broadloom_text::Mistakes>(())
//! ```
//!
//! # The language
//!
//! Expressions are Python's: operators and their precedence, calls with keyword arguments, methods, indices. Functions
//! have the names of the op table and NumPy's; `np.` in front of them is accepted. What an expression means is what the
//! same calls of the graph builder mean: the language has no dtypes, shapes or ops of its own. Numbers are weak, and
//! operations on numbers alone are Python's.
//!
//! | statement | meaning |
//! | --- | --- |
//! | `symbols n, k` | sizes; without such a statement, the names in inputs are symbols |
//! | `parameters p` | sizes that each call gives by name |
//! | `assume n >= 1, k % 8 == 0, m == n - 1` | facts, before the first use of a symbol |
//! | `assume likely(n) == 1024` | a hint |
//! | `input x: f32[n, 2*k, _, #n]` | an array; `_` is inferred, `#n` may also be 1 |
//! | `let a = ..` | a name for a value |
//! | `output y = ..`, or `y = ..` | a result |
//! | `assign x = ..` | a result that is written to the input `x` |
//! | an expression alone | the only result, named `result` |
//!
//! Statements end at the end of a line or with `;`. `#` begins a comment. Names that are no identifiers stand in double
//! quotes.
//!
//! # Untrusted texts
//!
//! [`Limits`] bound a text's length, tokens and nesting, its numbers, and the expressions it may make; the rank is
//! bounded by the graph. Only brackets, prefix operators and `**` nest in the parser, and that is counted; every later
//! pass goes through an arena in order.
//!
//! # Why these parts
//!
//! Tokens are made by `logos`: it compiles to one automaton, so that time is linear in the text whatever that contains.
//! Expressions are parsed by precedence climbing by hand, because the bound of nesting and the messages are half of
//! the work, and in a combinator library both are at home least.
#![forbid(unsafe_code)]

mod error;
mod names;
mod parse;
mod print;
mod resolve;
mod source;
mod syntax;
mod token;

pub use error::{Limit, Mistake, Mistakes, NameOf, Problem};
pub use names::{dtype, nearest, other_names, own_name};
pub use print::{inputs, print, signature};
pub use source::Span;

use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use source::Source;
use std::collections::HashMap;
use std::sync::Arc;
use syntax::Tree;

/// Most mistakes that are reported of one text.
const MAX_MISTAKES: usize = 20;

/// Bounds of what is accepted from a text that is not trusted. The rank of tensors is bounded by the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a text.
    pub length: usize,
    /// Tokens of a text, which bounds its statements and expressions as well.
    pub tokens: usize,
    /// Brackets, prefix operators and powers within each other. The parser's stack grows with this.
    pub nesting: usize,
    /// Characters of a number.
    pub number: usize,
    /// Operations of the graph.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { length: 1 << 18, tokens: 50_000, nesting: 64, number: 64, nodes: 20_000 }
    }
}

/// An input that a program need not declare, because its array is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub shape: &'a [usize],
}

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<Source>,
    tree: Tree,
    limits: Limits,
    is_strict: bool,
}

impl Program {
    /// Parses a text within the default [`Limits`]. `name` stands in messages, and is usually the name of a file.
    ///
    /// # Errors
    /// Every statement that is none of the language; a text beyond the limits.
    pub fn parse(name: &str, text: &str) -> Result<Program, Mistakes> {
        Program::parse_within(name, text, &Limits::default())
    }

    /// Like [`Program::parse`], within other limits.
    ///
    /// # Errors
    /// Those of [`Program::parse`].
    pub fn parse_within(name: &str, text: &str, limits: &Limits) -> Result<Program, Mistakes> {
        Program::read(Source { name: name.into(), text: text.into(), preamble: 0 }, limits)
    }

    /// Parses a text whose inputs are declared elsewhere, each as `x: f32[n, 3]`. Messages call the declarations
    /// `input:1`, `input:2` and so on, and count the lines of the text without them.
    ///
    /// ```
    /// use broadloom_text::Program;
    /// let mistakes = Program::parse_declared("sum", &["x: f32[n]"], "x + z").and_then(|program| program.resolve());
    /// assert!(mistakes.unwrap_err().to_string().starts_with("sum:1:5: "));
    /// ```
    ///
    /// # Errors
    /// Those of [`Program::parse`], of the declarations as well.
    pub fn parse_declared(name: &str, inputs: &[&str], text: &str) -> Result<Program, Mistakes> {
        let preamble: String = inputs.iter().map(|input| format!("input {input}\n")).collect();
        let source = Source { name: name.into(), preamble: preamble.len(), text: (preamble + text).into() };
        Program::read(source, &Limits::default())
    }

    fn read(source: Source, limits: &Limits) -> Result<Program, Mistakes> {
        let source = Arc::new(source);
        let (tree, mistakes) = parse::parse(&source, limits);
        if mistakes.is_empty() {
            Ok(Program { source, tree, limits: *limits, is_strict: false })
        } else {
            Err(Mistakes::new(source, mistakes, HashMap::new()))
        }
    }

    /// Makes it a mistake that an op broadcasts operands of equally many elements: torch before 0.2 took them element
    /// by element.
    ///
    /// ```
    /// use broadloom_text::Program;
    /// let text = "input x: f32[n, 1]; input y: f32[1, n]; x + y";
    /// assert!(Program::parse("sum", text)?.resolve().is_ok());
    /// assert!(Program::parse("sum", text)?.strict().resolve().is_err());
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    #[must_use]
    pub fn strict(self) -> Program {
        Program { is_strict: true, ..self }
    }

    /// The graph that the program describes.
    ///
    /// # Errors
    /// Every name, argument, dtype and shape that is wrong.
    pub fn resolve(&self) -> Result<CheckedGraph, Mistakes> {
        self.resolve_with(&[])
    }

    /// Like [`Program::resolve`], with inputs that are declared by what they are. Those that the program declares
    /// itself keep its declaration.
    ///
    /// # Errors
    /// Those of [`Program::resolve`].
    pub fn resolve_with(&self, given: &[Given<'_>]) -> Result<CheckedGraph, Mistakes> {
        resolve::resolve(self, given)
    }

    /// The names that the program uses as values and neither declares nor defines, in order: what must be
    /// [given](Program::resolve_with).
    pub fn missing_inputs(&self) -> Vec<&str> {
        resolve::missing_inputs(&self.tree)
    }
}
