//! The text language: NumPy-flavoured expressions and programs, for people who do not write Rust and for programs
//! that accept expressions at run time.
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
//! Expressions are those of Python: operators and their precedence, calls with keyword arguments, methods, indices.
//! Functions have the names of the op table and of NumPy; a leading `np.` is accepted. An expression means what the
//! same calls of the graph builder mean: the language has no dtypes, shapes or ops of its own. Numbers are weak,
//! and operations on numbers alone follow Python. Sizes (`n`, `len(x)`, `x.shape[0]`, `x.size`) and the results of
//! operators on them are numbers too: they take the dtype of floats beside them, and are `i64` beside integers.
//! `size(n)` is `i64` beside floats as well.
//!
//! A list of numbers is an array where an operand is expected. An index takes integers, ranges, `None`, `...`, and
//! for one axis a list or a tensor of integers; NumPy's rule decides where the axes go. A range is cut at the end of
//! an axis of constant size, with a warning; along other axes it must end within the axis. `add(x, y, axis=1)` and
//! similar calls align the smaller operand with an axis, as Paddle does. If a DSL method has two results, such as
//! `argmin_with_value`, write the two as two outputs; they become one kernel.
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
//! `x @ w` is the matrix product. The subscripts of `einsum('ij,jk->ik', a, b)` are quoted in either style; they
//! are the only text arguments. Inputs whose elements are codes of texts ([`Given::names`]) can be compared with
//! one of the texts, `city == 'Oslo'`, and determine their own number of groups: `segment_mean(x, city)`. The graph
//! sees integers.
//!
//! docs/language.md is the reference for people who write programs.
//!
//! If an input has the name of a symbol, write `symbols.n` for the symbol.
//!
//! A statement ends at the end of the line or with `;`. `#` starts a comment. Names that are not identifiers are
//! written in double quotes.
//!
//! # Untrusted texts
//!
//! [`Formula`] takes one expression from a person who is not trusted, and has all limits in one place.
//!
//! [`Limits`] bound a text's length, tokens and nesting, its numbers, and the expressions it may build; the graph
//! bounds the rank. Only brackets, prefix operators and `**` nest in the parser, and their depth is limited; every
//! later pass walks an arena in order.
//!
//! `cargo run --release -p broadloom-text --example fuzz -- --minutes 60` searches for texts that panic, hang, or
//! give a different result from the interpreter.
//!
//! # Why these parts
//!
//! `logos` makes the tokens: it compiles to one automaton, so its time is linear in the text, whatever the text
//! contains. Expressions are parsed by hand-written precedence climbing, because the nesting limit and the messages
//! are half of the work, and a combinator library supports those two least.
#![forbid(unsafe_code)]

mod absent;
mod error;
mod formula;
mod functions;
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
pub use formula::Formula;
pub use functions::{FunctionError, Functions};
pub use names::{absent_keywords, dtype, elsewhere, keywords, nearest, other_names, own_name};
pub use print::{inputs, print, signature};
pub use reference::{Explanation, explanation, functions, usage};
pub use resolve::{Defined, Session};
pub use sites::TextPlaces;
pub use source::{Span, Written};

use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use sites::Sites;
use source::Source;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use syntax::{Action, Tree};

/// The most mistakes reported for one text.
const MAX_MISTAKES: usize = 20;

/// Limits on untrusted texts. The graph bounds the rank of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes in the text.
    pub length: usize,
    /// Tokens in the text, which also bounds its statements and expressions.
    pub tokens: usize,
    /// Depth of nested brackets, prefix operators and powers. The parser's stack grows with it.
    pub nesting: usize,
    /// Characters in a number.
    pub number: usize,
    /// Expressions that the text requests of the graph: inputs, numbers and operations, those that a function is
    /// composed of and equal ones included.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { length: 1 << 18, tokens: 50_000, nesting: 64, number: 64, nodes: 20_000 }
    }
}

/// An input that a program does not need to declare, because its array is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its dtype.
    pub dtype: DType,
    /// Its shape, in which a size may be [`Given::INFERRED`].
    pub shape: &'a [usize],
    /// The name of a symbol for the size of the leading axis, so that one graph serves any number of rows.
    pub rows: Option<&'a str>,
    /// If the elements are codes: the texts that the codes index, in order and without repetition. The input may be
    /// compared with one of them, `city == 'Oslo'`, and groups by it need no number of groups. It is not a number: only
    /// views, masks, `where`, `concat`, sorts, loops and comparisons accept it, and `astype` gives its codes. Two such inputs, and
    /// groups by two of them, may meet if they have the same texts; [`Program::resolve_in_full`] says which texts inputs that
    /// meet need otherwise.
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

impl Given<'_> {
    /// A size that the program infers from the use of the input, as it does for `_` in a declaration. No array has as many
    /// elements.
    ///
    /// ```
    /// use broadloom_text::{Given, Program};
    /// let shape = [4, Given::INFERRED];
    /// let v = Given { name: "v", dtype: broadloom_ir::dtype::DType::F32, shape: &shape, rows: None, names: None };
    /// let w = Given { name: "w", shape: &[3], ..v };
    /// let program = Program::parse("example", "v + w")?;
    /// assert_eq!(broadloom_text::signature(&program.resolve_with(&[v, w])?), "result: f32[4, 3]\n");
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub const INFERRED: usize = usize::MAX;
}

/// A program's graph and the information that belongs to it.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The graph.
    pub graph: CheckedGraph,
    /// Operations that are valid but may not be what was meant, such as operands with equal numbers of elements that
    /// broadcast to more, as `(n, 1)` and `(n,)` do.
    pub warnings: Option<Mistakes>,
    /// The places of its expressions in the text.
    pub places: TextPlaces,
    /// What the program does with columns of text.
    pub texts: TextColumns,
}

/// The texts that codes index, in order and without repetition.
pub type TextList = Arc<[Box<str>]>;

/// The columns of text of a program: inputs with [`Given::names`].
#[derive(Debug, Clone, Default)]
pub struct TextColumns {
    /// Inputs that are compared, chosen between or concatenated with inputs of other texts, and the texts that their
    /// codes must index instead of their own: in order, the texts of all columns that meet.
    pub joined: Vec<(Box<str>, TextList)>,
    /// Results that are text, each with an input whose texts it indexes.
    pub results: Vec<(Box<str>, Box<str>)>,
}

/// Builds the graph of one expression over declared inputs, each written as `x: f32[n, 3]`, with one output named
/// `result`. It is meant for texts from elsewhere: it refuses statements, which could declare inputs or add
/// outputs, and texts beyond the default [`Limits`]; [`Formula`] has other limits, and names of columns. Messages count lines and columns from the start of the
/// expression.
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
/// Returns every mistake in the expression and in the declarations.
pub fn compile_expr(text: &str, inputs: &[&str]) -> Result<CheckedGraph, Mistakes> {
    let program = Program::parse_declared("expression", inputs, text)?;
    program.refuse_statements(inputs.len())?.resolve()
}

/// A parsed text.
#[derive(Debug, Clone)]
pub struct Program {
    source: Arc<Source>,
    tree: Arc<Tree>,
    /// Mistakes in parts of the text that are not in the tree.
    mistakes: Vec<Mistake>,
    limits: Limits,
    functions: Functions,
}

impl Program {
    /// Parses a text within the default [`Limits`]. `name` appears in messages, and is usually the name of a file.
    ///
    /// Invalid statements are reported when the program is [resolved](Program::resolve), together with the mistakes
    /// in the other statements.
    ///
    /// # Errors
    /// Returns an error if the text exceeds the limits.
    pub fn parse(name: &str, text: &str) -> Result<Program, Mistakes> {
        Program::parse_within(name, text, &Limits::default())
    }

    /// Like [`Program::parse`], with other limits.
    ///
    /// # Errors
    /// Returns the errors of [`Program::parse`].
    pub fn parse_within(name: &str, text: &str, limits: &Limits) -> Result<Program, Mistakes> {
        Program::read(
            Source { name: name.into(), text: text.into(), preamble: 0, written: BTreeMap::new() },
            limits,
        )
    }

    /// Parses a text whose inputs are declared separately, each as `x: f32[n, 3]`. Messages call the declarations
    /// `input:1`, `input:2` and so on, and count the lines of the text without them.
    ///
    /// ```
    /// use broadloom_text::Program;
    /// let mistakes = Program::parse_declared("sum", &["x: f32[n]"], "x + z").and_then(|program| program.resolve());
    /// assert!(mistakes.unwrap_err().to_string().starts_with("sum:1:5: "));
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Program::parse`], for the declarations as well.
    pub fn parse_declared(name: &str, inputs: &[&str], text: &str) -> Result<Program, Mistakes> {
        let preamble: String = inputs.iter().map(|input| format!("input {input}\n")).collect();
        let limits = Limits::default();
        let declarations = Source {
            name: name.into(),
            preamble: preamble.len(),
            text: preamble.clone(),
            written: BTreeMap::new(),
        };
        Program::read(declarations, &limits)?.refuse_all_but_inputs(inputs.len())?;
        Program::parse_after(name, &preamble, text)
    }

    /// Parses a text after definitions that are not the user's, each on a line of its own, such as `let n = 3`. Messages count the
    /// lines of the text without them.
    ///
    /// ```
    /// use broadloom_text::Program;
    /// let program = Program::parse_after("formula", "let low = 2\nlet high = 5\n", "input x: f32[n]; clip(x, low, hihg)")?;
    /// assert!(program.resolve().unwrap_err().to_string().starts_with("formula:1:31: "));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Program::parse`].
    pub fn parse_after(name: &str, definitions: &str, text: &str) -> Result<Program, Mistakes> {
        let source = Source {
            name: name.into(),
            preamble: definitions.len(),
            text: definitions.to_owned() + text,
            written: BTreeMap::new(),
        };
        Program::read(source, &Limits::default())
    }

    /// Refuses declarations that are not exactly one input each, so that no declaration can reach into the text
    /// after it.
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

    /// Refuses whatever follows the declarations if it is not one expression.
    fn refuse_statements(mut self, declarations: usize) -> Result<Program, Mistakes> {
        let mut following = self.tree.statements.iter().skip(declarations);
        let is_expression = |statement: &syntax::Statement| {
            // Mistakes in it are reported when it is resolved.
            matches!(statement.action, Action::Result(_) | Action::Broken { of: syntax::Broken::Other, .. })
        };
        let other = match (following.next(), following.next()) {
            (Some(first), None) if is_expression(first) => return Ok(self),
            (None, _) if !self.mistakes.is_empty() => return Ok(self),
            (None, _) => None,
            (Some(first), second) => Some(if is_expression(first) { second.unwrap_or(first) } else { first }),
        };
        let end = self.source.text.len();
        let span = other.map_or(Span { start: end, end }, |statement| statement.span);
        let mistake =
            Mistake::new(Problem::Program { what: "only a single expression is allowed here" }, span)
                .help("write one expression, without `let`, `input`, `output`, `=` and `;`");
        self.mistakes.push(mistake);
        Err(Mistakes::new(TextPlaces { source: self.source, sites: Sites::default() }, self.mistakes))
    }

    fn read(source: Source, limits: &Limits) -> Result<Program, Mistakes> {
        let source = Arc::new(source);
        match parse::parse(&source, 0, 0, limits) {
            Ok((tree, mistakes)) => {
                let functions = Functions::default();
                Ok(Program { source, tree: Arc::new(tree), mistakes, limits: *limits, functions })
            }
            Err(mistake) => Err(Mistakes::new(TextPlaces { source, sites: Sites::default() }, vec![mistake])),
        }
    }

    /// Adds functions to the language, for this program.
    ///
    /// ```
    /// use broadloom_text::{Functions, Program};
    /// let functions = Functions::new().add("cube", ["x"], broadloom::function(|[x]| x * x * x))?;
    /// let program = Program::parse("example", "input x: f32[n]; cube(x) + 1")?.with_functions(&functions);
    /// assert_eq!(broadloom_text::print(&program.resolve()?).matches('*').count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_functions(mut self, functions: &Functions) -> Program {
        self.functions = functions.clone();
        self
    }

    /// Checks the syntax of all statements, before anything is known about the inputs.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "x + ")?;
    /// assert!(program.check_syntax().unwrap_err().to_string().starts_with("example:1:4: "));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    ///
    /// # Errors
    /// Returns every statement that cannot be read.
    pub fn check_syntax(&self) -> Result<(), Mistakes> {
        if self.mistakes.is_empty() {
            return Ok(());
        }
        let places = TextPlaces { source: self.source.clone(), sites: Sites::default() };
        Err(Mistakes::new(places, self.mistakes.clone()))
    }

    /// Builds the graph that the program describes.
    ///
    /// # Errors
    /// Returns every invalid statement, and every wrong name, argument, dtype and shape.
    pub fn resolve(&self) -> Result<CheckedGraph, Mistakes> {
        self.resolve_with(&[])
    }

    /// Like [`Program::resolve`], with inputs declared by their properties. Declarations in the program take
    /// precedence.
    ///
    /// # Errors
    /// Returns the errors of [`Program::resolve`].
    pub fn resolve_with(&self, given: &[Given<'_>]) -> Result<CheckedGraph, Mistakes> {
        Ok(resolve::resolve(self, given, false)?.graph)
    }

    /// Like [`Program::resolve_with`], and returns the information that belongs to the graph.
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
    /// Returns the errors of [`Program::resolve`].
    pub fn resolve_in_full(&self, given: &[Given<'_>]) -> Result<Resolved, Mistakes> {
        resolve::resolve(self, given, true)
    }

    /// Returns the names that the program uses as values and neither declares nor defines, in order: these must be
    /// [given](Program::resolve_with). [Constants](Program::constants) are left out.
    pub fn missing_inputs(&self) -> Vec<&str> {
        resolve::undefined(&self.tree).filter(|(_, is_constant)| !is_constant).map(|(name, _)| name).collect()
    }

    /// Returns those of the [missing inputs](Program::missing_inputs) that the program writes in double quotes only, and compares:
    /// where none is given, it is a text.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "sum((city == \"Oslo\") * \"my column\")")?;
    /// assert_eq!(program.possible_texts(), ["Oslo"]);
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn possible_texts(&self) -> Vec<&str> {
        let texts = resolve::compared_in_quotes(&self.tree);
        self.missing_inputs().into_iter().filter(|name| texts.contains(name)).collect()
    }

    /// Returns the names of the inputs that the program declares, in order.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "input x: f32[n]; x + y")?;
    /// assert_eq!((program.declared_inputs(), program.missing_inputs()), (vec!["x"], vec!["y"]));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn declared_inputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for statement in &self.tree.statements {
            if let Action::Input { name, .. } = &statement.action {
                names.push(&name.text);
            }
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    /// Returns the names with a meaning of their own that the program uses as values, in order: constants, such as `pi`
    /// and `e`, and dtypes, such as `u8`. A given input of that name replaces the meaning, but for dtypes only where a
    /// function takes none.
    ///
    /// ```
    /// let program = broadloom_text::Program::parse("example", "e + x.astype(u8) * nan + f16")?;
    /// assert_eq!((program.missing_inputs(), program.constants()), (vec!["x"], vec!["e", "nan", "f16"]));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn constants(&self) -> Vec<&str> {
        resolve::undefined(&self.tree).filter(|(_, is_constant)| *is_constant).map(|(name, _)| name).collect()
    }
}

/// Runs the examples of the page for registries.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
