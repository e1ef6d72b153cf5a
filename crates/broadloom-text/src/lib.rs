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
//! operations on numbers alone are Python's. Sizes (`n`, `len(x)`, `x.shape[0]`, `x.size`) and what operators make of
//! them are numbers, too: they take the dtype of floats that they meet, and are `i64` beside integers; `size(n)` is
//! `i64` beside floats as well.
//!
//! Lists of numbers are arrays where an operand is expected. An index takes integers, ranges, `None`, `...`, and for one
//! axis a list of integers or a tensor of them, by NumPy's rule for where the axes go. Ranges are strict: they end where
//! the axis does. `add(x, y, axis=1)` and the like place the smaller operand, as Paddle does. Where the DSL has two
//! results at once, as `argmin_with_value`, the two are written as two outputs, which become one kernel.
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
//! `x @ w` is the matrix product. The subscripts of `einsum('ij,jk->ik', a, b)` stand in quotes of either kind; they are
//! the only text among the arguments. Inputs whose elements are codes of texts ([`Given::names`]) are compared with one of
//! these, `city == 'Oslo'`, and number their groups: `segment_mean(x, city)`. To the graph they are integers.
//!
//! docs/language.md is the reference for people who write programs.
//!
//! Where an input has the name of a symbol, `symbols.n` is the symbol.
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
//! `cargo run --release -p broadloom-text --example fuzz -- --minutes 60` looks for texts that panic, hang, or compute
//! something else than the interpreter.
//!
//! # Why these parts
//!
//! Tokens are made by `logos`: it compiles to one automaton, so that time is linear in the text whatever that contains.
//! Expressions are parsed by precedence climbing by hand, because the bound of nesting and the messages are half of
//! the work, and in a combinator library both are at home least.
#![forbid(unsafe_code)]

mod absent;
mod error;
mod names;
mod parse;
mod print;
mod reference;
mod resolve;
mod sites;
mod source;
mod syntax;
mod token;

pub use absent::instead;
pub use error::{Limit, Mistake, Mistakes, NameOf, Problem};
pub use names::{dtype, elsewhere, keywords, nearest, other_names, own_name};
pub use print::{inputs, print, signature};
pub use reference::{Explanation, explanation, functions, usage};
pub use sites::TextPlaces;
pub use source::Span;

use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use sites::Sites;
use source::Source;
use std::sync::Arc;
use syntax::{Action, Tree};

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
    /// The symbol of this name stands for the size of the leading axis, so that the graph is one for any number of
    /// rows.
    pub rows: Option<&'a str>,
    /// If its elements are codes, the texts of which they are the positions, in order and each once. It may be compared
    /// with one of them, `city == 'Oslo'`, and groups by it need no number of groups.
    ///
    /// ```
    /// use broadloom_text::{Given, Program};
    /// let names = ["Lima", "Oslo"].map(Box::from);
    /// let city = Given {
    ///     name: "city",
    ///     dtype: broadloom_ir::dtype::DType::I64,
    ///     shape: &[5],
    ///     rows: None,
    ///     names: Some(&names),
    /// };
    /// let counts = Program::parse("example", "segment_sum(city == 'Oslo', city)")?.resolve_with(&[city])?;
    /// assert_eq!(broadloom_text::signature(&counts), "result: i64[2]\n");
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub names: Option<&'a [Box<str>]>,
}

/// A program's graph, and what there is to know beside it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The graph.
    pub graph: CheckedGraph,
    /// Operations that are valid and may not be what was meant: operands of equally many elements that broadcast to
    /// more, as `(n, 1)` and `(n,)` do.
    pub warnings: Option<Mistakes>,
    /// Where its expressions stand in the text.
    pub places: TextPlaces,
}

/// The graph of one expression of declared inputs, each as `x: f32[n, 3]`, with one output named `result`: for texts that
/// come from elsewhere. A text of statements, which could declare inputs or add outputs, is refused, as is one beyond the
/// default [`Limits`]; messages count lines and columns from the beginning of the expression.
///
/// ```
/// let graph = broadloom_text::compile_expr("sqrt(x*x + y*y)", &["x: f32[n]", "y: f32[n]"])?;
/// assert_eq!(broadloom_text::signature(&graph), "result: f32[n]\n");
///
/// let mistakes = broadloom_text::compile_expr("x + z", &["x: f32[n]"]).unwrap_err();
/// assert!(mistakes.to_string().starts_with("expression:1:5: "), "{mistakes}");
/// assert!(broadloom_text::compile_expr("x; output y = x", &["x: f32[n]"]).is_err());
/// # Ok::<(), broadloom_text::Mistakes>(())
/// ```
///
/// # Errors
/// Every mistake in the expression and in the declarations.
pub fn compile_expr(text: &str, inputs: &[&str]) -> Result<CheckedGraph, Mistakes> {
    let program = Program::parse_declared("expression", inputs, text)?;
    program.refuse_statements(inputs.len())?.resolve()
}

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<Source>,
    tree: Tree,
    /// In what is not in the tree.
    mistakes: Vec<Mistake>,
    limits: Limits,
}

impl Program {
    /// Parses a text within the default [`Limits`]. `name` stands in messages, and is usually the name of a file.
    ///
    /// Statements that are none of the language are reported when the program is [resolved](Program::resolve),
    /// together with the mistakes in the others.
    ///
    /// # Errors
    /// A text beyond the limits.
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
        let limits = Limits::default();
        let declarations =
            Source { name: name.into(), preamble: preamble.len(), text: preamble.as_str().into() };
        Program::read(declarations, &limits)?.refuse_all_but_inputs(inputs.len())?;
        let source = Source { name: name.into(), preamble: preamble.len(), text: (preamble + text).into() };
        Program::read(source, &limits)
    }

    /// Refuses declarations that are not one input each, so that none can reach into the text behind it.
    fn refuse_all_but_inputs(self, count: usize) -> Result<(), Mistakes> {
        let Program { source, tree, mut mistakes, .. } = self;
        let mut inputs = 0;
        for statement in &tree.statements {
            let line = source.position(statement.span.start).0;
            let is_input = matches!(statement.action, Action::Input { .. });
            inputs += usize::from(is_input);
            if mistakes.is_empty() && (!is_input || line != inputs) {
                let what = "a declaration contains one input and nothing else";
                let mistake = Mistake::new(Problem::Program { what }, statement.span);
                mistakes.push(mistake.help("write what to compute in the expression"));
            }
        }
        if mistakes.is_empty() && inputs == count {
            return Ok(());
        }
        Err(Mistakes::new(TextPlaces { source, sites: Sites::default() }, mistakes))
    }

    /// Refuses what stands behind so many declarations, if it is not one expression.
    fn refuse_statements(mut self, declarations: usize) -> Result<Program, Mistakes> {
        let mut behind = self.tree.statements.iter().skip(declarations);
        let is_expression = |statement: &syntax::Statement| {
            // Mistakes in it are told when it is resolved.
            matches!(statement.action, Action::Result(_) | Action::Broken { of: syntax::Broken::Other, .. })
        };
        let other = match (behind.next(), behind.next()) {
            (Some(first), None) if is_expression(first) => return Ok(self),
            (None, _) if !self.mistakes.is_empty() => return Ok(self),
            (None, _) => None,
            (Some(first), second) => Some(if is_expression(first) { second.unwrap_or(first) } else { first }),
        };
        let end = self.source.text.len();
        let span = other.map_or(Span { start: end, end }, |statement| statement.span);
        let mistake =
            Mistake::new(Problem::Program { what: "only a single expression is allowed here" }, span)
                .help("to read a program of several statements, use `Program::parse`");
        self.mistakes.push(mistake);
        Err(Mistakes::new(TextPlaces { source: self.source, sites: Sites::default() }, self.mistakes))
    }

    fn read(source: Source, limits: &Limits) -> Result<Program, Mistakes> {
        let source = Arc::new(source);
        match parse::parse(&source, limits) {
            Ok((tree, mistakes)) => Ok(Program { source, tree, mistakes, limits: *limits }),
            Err(mistake) => Err(Mistakes::new(TextPlaces { source, sites: Sites::default() }, vec![mistake])),
        }
    }

    /// The graph that the program describes.
    ///
    /// # Errors
    /// Every statement that is none of the language; every name, argument, dtype and shape that is wrong.
    pub fn resolve(&self) -> Result<CheckedGraph, Mistakes> {
        self.resolve_with(&[])
    }

    /// Like [`Program::resolve`], with inputs that are declared by what they are. Those that the program declares
    /// itself keep its declaration.
    ///
    /// # Errors
    /// Those of [`Program::resolve`].
    pub fn resolve_with(&self, given: &[Given<'_>]) -> Result<CheckedGraph, Mistakes> {
        Ok(resolve::resolve(self, given, false)?.graph)
    }

    /// Like [`Program::resolve_with`], with what there is to know beside the graph.
    ///
    /// ```
    /// use broadloom_text::{Given, Program};
    /// let x = Given { name: "x", dtype: broadloom_ir::dtype::DType::F32, shape: &[4], rows: None, names: None };
    /// let y = Given { name: "y", shape: &[4, 1], ..x };
    /// let resolved = Program::parse("example", "x * y")?.resolve_in_full(&[x, y])?;
    /// assert!(resolved.warnings.is_some_and(|warnings| format!("{warnings:#}").contains("[4, 4]")));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Program::resolve`].
    pub fn resolve_in_full(&self, given: &[Given<'_>]) -> Result<Resolved, Mistakes> {
        resolve::resolve(self, given, true)
    }

    /// The names that the program uses as values and neither declares nor defines, in order: what must be
    /// [given](Program::resolve_with). Of them, [constants](Program::constants) are left out.
    pub fn missing_inputs(&self) -> Vec<&str> {
        resolve::undefined(&self.tree).filter(|(_, is_constant)| !is_constant).map(|(name, _)| name).collect()
    }

    /// The constants that the program uses, such as `pi` and `e`, in order. An input that is given by the name of one
    /// takes its place.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "e + x * nan")?;
    /// assert_eq!((program.missing_inputs(), program.constants()), (vec!["x"], vec!["e", "nan"]));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn constants(&self) -> Vec<&str> {
        resolve::undefined(&self.tree).filter(|(_, is_constant)| *is_constant).map(|(name, _)| name).collect()
    }
}
