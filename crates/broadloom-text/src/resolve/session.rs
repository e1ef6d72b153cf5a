//! Programs that grow line by line, for front ends that learn of each operation when it is written.

use super::text::Texts;
use super::{Resolver, Value};
use crate::error::Mistakes;
use crate::sites::TextPlaces;
use crate::source::{Source, Span};
use crate::syntax::Tree;
use crate::{Functions, Limits, Resolved, TextColumns, TextList, parse};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Literal;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A program that grows: each text is resolved when it is added, and what it defines can be asked for.
///
/// ```
/// use broadloom_text::{Defined, Limits, Session};
/// let mut session = Session::new("example", Limits::default());
/// session.run("input x: f32[n, 3]")?;
/// session.run("let total = sum(x, axis=1)")?;
/// assert!(matches!(session.get("total"), Some(Defined::Tensor { sizes, .. }) if sizes.len() == 1));
/// assert!(session.run("let wrong = total + x[:, :2]").unwrap_err().to_string().starts_with("example:3:13: "));
/// session.run("output y = total * 2")?;
/// assert_eq!(broadloom_text::signature(&session.finish()?.graph), "y: f32[n]\n");
/// # Ok::<(), broadloom_text::Mistakes>(())
/// ```
#[derive(Debug)]
pub struct Session {
    resolver: Resolver<'static>,
    lines: usize,
}

/// What a name of a [`Session`] stands for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Defined {
    /// A tensor.
    Tensor {
        /// The dtype of its elements.
        dtype: DType,
        /// The sizes of its axes.
        sizes: Vec<Dim>,
    },
    /// A number that is known when a kernel is called; it takes the dtype of the floats that it meets.
    Number(DType),
    /// A number that is known now.
    Literal(Literal),
    /// A size.
    Size(Dim),
    /// The sizes of a tensor.
    Sizes(Vec<Dim>),
    /// This many results, which indices take.
    Several(usize),
}

impl Session {
    /// Creates an empty program. `name` appears in messages. The limits hold for each text, and that of operations
    /// for all of them together.
    pub fn new(name: &str, limits: Limits) -> Session {
        let source = Source { name: name.into(), text: String::new(), preamble: 0, written: BTreeMap::new() };
        Session { resolver: Resolver::new(Arc::new(source), Arc::new(Tree::default()), limits), lines: 0 }
    }

    /// Adds functions to the language, for the texts that follow.
    ///
    /// ```
    /// use broadloom_text::{Functions, Limits, Session};
    /// let functions = Functions::new().add("cube", ["x"], broadloom::function(|[x]| x * x * x))?;
    /// let mut session = Session::new("example", Limits::default()).with_functions(&functions);
    /// session.run("input x: f32[n]; output y = cube(x)")?;
    /// assert_eq!(broadloom_text::signature(&session.finish()?.graph), "y: f32[n]\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_functions(mut self, functions: &Functions) -> Session {
        self.resolver.functions = functions.clone();
        self
    }

    /// Adds a text, which becomes the next lines of the program.
    ///
    /// # Errors
    /// Returns every mistake in the text. Names that it would have defined are known afterwards, and their use is
    /// silent.
    pub fn run(&mut self, text: &str) -> Result<(), Mistakes> {
        let resolver = &mut self.resolver;
        let source = Arc::make_mut(&mut resolver.source);
        let start = source.text.len();
        source.text.push_str(text);
        source.text.push('\n');
        self.lines += source.text[start..].matches('\n').count();
        match parse::parse(source, start, resolver.loops.len(), &resolver.limits) {
            Ok((tree, mistakes)) => {
                resolver.values = vec![Value::Poison; tree.exprs.len()];
                resolver.tree = Arc::new(tree);
                resolver.mistakes.extend(mistakes);
                let (tree, of_text) = (resolver.tree.clone(), resolver.mistakes.len());
                resolver.statements(&tree, of_text);
            }
            Err(mistake) => resolver.mistakes.push(mistake),
        }
        let end = start + text.len();
        let found = resolver.graph.withdraw_diagnostics(0);
        resolver.take_over(found, Span { start: end, end });
        match std::mem::take(&mut resolver.mistakes) {
            none if none.is_empty() => Ok(()),
            mistakes => Err(Mistakes::new(self.places(), mistakes)),
        }
    }

    /// Adds an input of rank 1 or more that is a column of text: its elements are codes, the positions of their texts in an
    /// ordered list without repetition. `sizes` are written as in a declaration.
    ///
    /// # Errors
    /// Returns an error if the name is taken.
    pub fn text_column(&mut self, name: &str, sizes: &str, texts: TextList) -> Result<(), Mistakes> {
        self.run(&format!("input \"{name}\": i64[{sizes}]"))?;
        if let Some(Value::Tensor(expr)) = self.resolver.names.get(name) {
            self.resolver.texts.add(*expr, name.to_owned().into(), texts.to_vec().into());
        }
        Ok(())
    }

    /// Makes this session only find out which columns of text meet: columns with other texts may, and a text that is
    /// compared may be one of another column. See [`Session::joined_texts`].
    pub fn only_join_texts(&mut self) {
        self.resolver.texts = Texts::first_pass();
    }

    /// Returns the columns of text that meet columns with other texts, with the texts of all of them, which their codes
    /// must index instead.
    pub fn joined_texts(&self) -> Vec<(Box<str>, TextList)> {
        self.resolver.texts.joined()
    }

    /// Marks all that was added so far as declarations, which messages number apart from the lines that follow.
    pub fn begin(&mut self) {
        let source = Arc::make_mut(&mut self.resolver.source);
        source.preamble = source.text.len();
    }

    /// Adds an input of rank 0 that is a [number](Defined::Number).
    ///
    /// # Errors
    /// Returns an error if the name is taken.
    pub fn number(&mut self, name: &str, dtype: DType) -> Result<(), Mistakes> {
        self.run(&format!("input \"{name}\": {dtype}[]"))?;
        if let Some(Value::Tensor(expr)) = self.resolver.names.get(name) {
            let number = Value::Number(*expr);
            self.resolver.names.insert(name.into(), number);
        }
        Ok(())
    }

    /// Forgets the innermost loop that has not ended, and its lines. `text` and `lines` are those of the program before it.
    pub fn abandon_loop(&mut self, text: usize, lines: usize) {
        self.resolver.abandon_loop();
        Arc::make_mut(&mut self.resolver.source).text.truncate(text);
        self.lines = lines;
    }

    /// Makes a name stand for a value of its own, with the elements of a tensor or a number: derivatives by it are those of a
    /// function by its parameter, whatever else the function computes from what it is called with.
    ///
    /// ```
    /// use broadloom_text::{Limits, Session};
    /// let mut session = Session::new("example", Limits::default());
    /// session.run("input x: f64[]")?;
    /// session.variable("w", "x")?;
    /// session.run("let product = w * x\noutput slope = grad(product, w)")?;
    /// assert!(session.depends("product", "w") && !session.depends("slope", "w"));
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    ///
    /// # Errors
    /// Returns the mistakes in the text of the value.
    pub fn variable(&mut self, name: &str, value: &str) -> Result<(), Mistakes> {
        let start = self.text().len();
        self.run(&format!("let {name} = {value}"))?;
        let resolver = &mut self.resolver;
        let site = resolver.sites.site(Span { start, end: start + "let ".len() + name.len() });
        let graph = &mut resolver.graph;
        let own = match resolver.names.get(name) {
            Some(Value::Tensor(expr)) => Value::Tensor(graph.variable(*expr, site)),
            Some(Value::Number(expr)) => Value::Number(graph.variable(*expr, site)),
            Some(Value::Literal(literal)) => {
                let number = graph.literal(*literal, DType::F64, site);
                Value::Number(graph.variable(number, site))
            }
            _ => return Ok(()),
        };
        resolver.names.insert(name.into(), own);
        Ok(())
    }

    /// Returns whether the elements of a name are computed from those of another one.
    pub fn depends(&self, name: &str, on: &str) -> bool {
        let expr = |name: &str| self.resolver.names.get(name).and_then(Value::expr);
        expr(name).zip(expr(on)).is_some_and(|(expr, on)| self.resolver.graph.depends(expr, on))
    }

    /// Returns what a name stands for; `None` if it stands for nothing, or for a mistake.
    pub fn get(&self, name: &str) -> Option<Defined> {
        let graph = &self.resolver.graph;
        Some(match self.resolver.names.get(name)? {
            Value::Tensor(expr) if !graph.is_poisoned(*expr) => {
                Defined::Tensor { dtype: graph.dtype(*expr), sizes: graph.shape(*expr).to_vec() }
            }
            Value::Number(expr) if !graph.is_poisoned(*expr) => Defined::Number(graph.dtype(*expr)),
            Value::Literal(literal) => Defined::Literal(*literal),
            Value::Size(size) => Defined::Size(size.clone()),
            Value::Sizes(sizes) => Defined::Sizes(sizes.clone()),
            Value::Several(results) => Defined::Several(results.len()),
            _ => return None,
        })
    }

    /// Returns what a name stands for, like [`Session::get`], for a caller that makes other sizes of those of a tensor: they are
    /// checked at each call.
    pub fn measure(&mut self, name: &str) -> Option<Defined> {
        if let Some(Value::Tensor(expr)) = self.resolver.names.get(name) {
            self.resolver.graph.measure(*expr);
        }
        self.get(name)
    }

    /// Returns a size as it is written in the program.
    pub fn show<'a>(&'a self, size: &'a Dim) -> impl fmt::Display + 'a {
        let symbols = self.resolver.graph.symbols();
        fmt::from_fn(move |f| write!(f, "{}", size.display(&|symbol| symbols[symbol.index()].named())))
    }

    /// Returns the number of lines so far.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// Returns the text so far.
    pub fn text(&self) -> &str {
        &self.resolver.source.text
    }

    /// Returns the graph of the outputs.
    ///
    /// # Errors
    /// Returns the mistakes that only the whole program shows: no output, or a size that nothing determines.
    pub fn finish(mut self) -> Result<Resolved, Mistakes> {
        let end = self.resolver.source.text.trim_end().len();
        let end = Span { start: end, end };
        let graph = self.resolver.finish(end);
        let places = self.places();
        let texts = TextColumns { joined: Vec::new(), results: self.resolver.text_results() };
        match graph {
            Some(graph) => Ok(Resolved { graph, warnings: None, places, texts }),
            None => Err(Mistakes::new(places, self.resolver.mistakes)),
        }
    }

    fn places(&self) -> TextPlaces {
        TextPlaces { source: self.resolver.source.clone(), sites: self.resolver.sites.clone() }
    }
}
