//! Turns the syntax tree into a graph, only by calls of the graph builder: the builder decides dtypes, weak numbers and
//! shapes, and finds the mistakes in them.
//!
//! Expressions are evaluated in the order of the arena, each to a [`Value`]. Each call passes a site, from which
//! [`Sites`] finds the place in the text again.

mod arrange;
mod call;
mod change;
mod declare;
mod derive;
mod fold;
mod groups;
mod index;
mod lints;
mod loops;
mod make;
mod operand;
mod operator;
mod order;
mod own;
mod product;
mod recurrences;
mod reduce;
mod samples;
mod selected;
mod session;
mod several;
mod sort;
mod text;
mod ufunc;
mod value;

use crate::Resolved;
use crate::error::{Limit, Mistake, Mistakes, NameOf, Problem};
use crate::names;
use crate::sites::{Sites, TextPlaces};
use crate::source::{Source, Span};
use crate::syntax::{Action, Broken, Id, Kind, Name, Statement, Tree};
use crate::{Functions, Given, Limits, MAX_MISTAKES, Program, TextColumns, TextList};
use broadloom_ir::diagnostics::{Diagnostic, Diagnostics, Problem as GraphProblem};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph, InputDim, Site};
use broadloom_ir::{ExprId, SymbolId};
use groups::Groups;
use loops::OpenSteps;
use operand::as_size;
pub(crate) use order::{compared_in_quotes, undefined};
pub use session::{Defined, Session};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use text::{TextKind, Texts};
use value::{Region, Value};

/// The name of the result of a program that is one expression.
const RESULT: &str = "result";

type Outcome<T> = Result<T, Box<Mistake>>;

fn mistake<T>(problem: Problem, span: Span) -> Outcome<T> {
    Err(Box::new(Mistake::new(problem, span)))
}

#[derive(Debug)]
struct Resolver<'a> {
    source: Arc<Source>,
    tree: Arc<Tree>,
    limits: Limits,
    functions: Functions,
    /// The parts of the text that call them.
    calls_of_own: HashMap<Span, Box<str>>,
    graph: Graph,
    /// The values by expression; poison until evaluated.
    values: Vec<Value>,
    /// Inputs and definitions.
    names: HashMap<Box<str>, Value>,
    /// Inputs that replace the constants `inf` and `nan`: given ones, and ones declared without quotes.
    in_place: HashSet<Box<str>>,
    inputs: HashSet<Box<str>>,
    texts: Texts<'a>,
    groups: Groups,
    symbols: HashMap<Box<str>, (SymbolId, Span)>,
    /// Whether undeclared names in sizes are symbols.
    is_implicit: bool,
    /// Names that statements with mistakes would have defined.
    broken: HashSet<Box<str>>,
    /// Whether a fact is missing, so that sizes may seem to differ only because of that.
    lacks_facts: bool,
    outputs: Vec<(Name, ExprId)>,
    assigned: HashSet<Box<str>>,
    /// The loops around what is resolved, outermost first.
    loops: Vec<OpenSteps>,
    /// Names that the steps of loops have defined which have ended: they may be defined again.
    of_steps: HashSet<Box<str>>,
    /// The dtypes that numbers take which loops carry, by the statement that begins the loop.
    dtypes_of_numbers: HashMap<usize, HashMap<Box<str>, DType>>,
    mistakes: Vec<Mistake>,
    sites: Sites,
}

/// Builds the graph of a program. `in_full`, it collects warnings, and columns of text that meet may have different
/// texts, which the caller then has to join.
pub(crate) fn resolve(program: &Program, given: &[Given<'_>], in_full: bool) -> Result<Resolved, Mistakes> {
    let joined = if in_full { joined_texts(program, given) } else { Vec::new() };
    let given = text::with_joined(given, &joined);
    let mut resolver = Resolver::of(program);
    if in_full {
        resolver.graph.warn_of_pointwise();
    }
    resolver.run(program, &given);
    let end = program.source.text.trim_end().len();
    let end = Span { start: end, end };
    let graph = resolver.finish(end);
    let warnings = resolver.graph.warnings();
    let warnings: Vec<Mistake> =
        warnings.into_iter().map(|warning| resolver.of_graph(resolver.with_meaning(warning), end)).collect();
    let texts = TextColumns { joined: joined.clone(), results: resolver.text_results() };
    let places = TextPlaces { source: program.source.clone(), sites: resolver.sites };
    let Some(graph) = graph else { return Err(Mistakes::new(places, resolver.mistakes)) };
    let warnings = (!warnings.is_empty()).then(|| Mistakes::new(places.clone(), warnings));
    Ok(Resolved { graph, warnings, places, texts })
}

/// The columns of text that meet columns with other texts, with the texts of all of them.
fn joined_texts(program: &Program, given: &[Given<'_>]) -> Vec<(Box<str>, TextList)> {
    if given.iter().filter(|given| given.names.is_some()).count() < 2 {
        return Vec::new();
    }
    // Its mistakes may come from texts that are not joined yet.
    let mut resolver = Resolver::of(program);
    resolver.texts = Texts::first_pass();
    resolver.run(program, given);
    resolver.texts.joined()
}

impl<'a> Resolver<'a> {
    fn of(program: &Program) -> Self {
        let functions = program.functions.clone();
        Resolver { functions, ..Resolver::new(program.source.clone(), program.tree.clone(), program.limits) }
    }

    fn new(source: Arc<Source>, tree: Arc<Tree>, limits: Limits) -> Self {
        let declares = |statement: &Statement| {
            matches!(statement.action, Action::Symbols(_) | Action::Broken { of: Broken::Symbols, .. })
        };
        let mut graph = Graph::new();
        graph.limit_requests(limits.nodes);
        Resolver {
            values: vec![Value::Poison; tree.exprs.len()],
            is_implicit: !tree.statements.iter().any(declares),
            source,
            tree,
            limits,
            functions: Functions::default(),
            calls_of_own: HashMap::new(),
            graph,
            names: HashMap::new(),
            in_place: HashSet::new(),
            inputs: HashSet::new(),
            texts: Texts::default(),
            groups: Groups::default(),
            symbols: HashMap::new(),
            broken: HashSet::new(),
            lacks_facts: false,
            outputs: Vec::new(),
            assigned: HashSet::new(),
            loops: Vec::new(),
            of_steps: HashSet::new(),
            dtypes_of_numbers: HashMap::new(),
            mistakes: Vec::new(),
            sites: Sites::default(),
        }
    }

    /// Results that are text, each with a column whose texts it indexes.
    fn text_results(&self) -> Vec<(Box<str>, Box<str>)> {
        let results = self.outputs.iter();
        results
            .filter_map(|(name, expr)| Some((name.text.clone(), self.texts.column(*expr)?.into())))
            .collect()
    }

    /// Resolves the statements of a program.
    fn run(&mut self, program: &Program, given: &[Given<'a>]) {
        self.mistakes.clone_from(&program.mistakes);
        self.give(given);
        let tree = program.tree.clone();
        self.statements(&tree, program.mistakes.len());
        if let Some(open) = self.loops.first() {
            let problem = Problem::Program { what: "a loop does not end" };
            self.mistakes.push(Mistake::new(problem, open.span).help("after its last step, write `end`"));
        }
    }

    /// Resolves statements, until there are too many mistakes beside those of the text.
    fn statements(&mut self, tree: &Tree, of_text: usize) {
        let statements = order::in_order(tree);
        let mut next = 0;
        while let Some(statement) = statements.get(next) {
            let found = self.mistakes.len().saturating_sub(of_text) + self.graph.mistakes().len();
            if found >= MAX_MISTAKES {
                break;
            }
            next = self.statement(statement, next).unwrap_or(next + 1);
        }
    }

    fn give(&mut self, given: &[Given<'a>]) {
        for input in given {
            let declares = |statement: &Statement| matches!(&statement.action, Action::Input { name, .. } if *name.text == *input.name);
            if self.tree.statements.iter().any(declares) {
                continue;
            }
            // A size beyond `i64` is refused by the builder as too many elements.
            let size = |size: &usize| match *size {
                Given::INFERRED => InputDim::Inferred,
                size => InputDim::Size(Dim::constant(i64::try_from(size).unwrap_or(i64::MAX))),
            };
            let mut sizes: Vec<InputDim> = input.shape.iter().map(size).collect();
            if let (Some(rows), Some(leading)) = (input.rows, sizes.first_mut()) {
                let symbol = self.graph.symbol(rows, Site::Nowhere);
                *leading = InputDim::Size(Dim::symbol(symbol));
            }
            let expr = self.graph.input_of(input.name, input.dtype, &sizes, Site::Nowhere);
            self.names.insert(input.name.into(), Value::Tensor(expr));
            if let Some(names) = input.names {
                self.texts.add(expr, input.name.into(), names.into());
            }
            self.in_place.insert(input.name.into());
        }
    }

    /// Resolves the statement with this number. Returns that of the one from which to resolve again, if it is needed.
    fn statement(&mut self, statement: &Statement, number: usize) -> Option<usize> {
        let before = (self.mistakes.len(), self.graph.mistakes().len());
        let again = self.evaluate(statement, number);
        if matches!(statement.action, Action::Assume(_)) {
            self.lacks_facts |= before != (self.mistakes.len(), self.graph.mistakes().len());
        } else if self.lacks_facts {
            self.graph.retain_mistakes(before.1, |mistake| !mistake.code().as_str().starts_with('S'));
        }
        again
    }

    fn evaluate(&mut self, statement: &Statement, number: usize) -> Option<usize> {
        for id in statement.exprs.clone() {
            let value = self.eval(Id(id), &statement.action).and_then(|value| {
                self.follow_texts(self.tree.span(Id(id)))?;
                Ok(value)
            });
            let value = self.keep(value).unwrap_or(Value::Poison);
            self.values[id as usize] = value;
        }
        if let Action::Broken { names, of } = &statement.action {
            self.broken.extend(names.iter().map(|name| name.text.clone()));
            self.lacks_facts |= *of == Broken::Fact;
        }
        if statement.exprs.clone().any(|id| self.is_poisoned(Id(id))) {
            // Define the name anyway, so that its uses are not reported too.
            if let Action::Let { name, .. } | Action::Output { name, .. } | Action::Input { name, .. } =
                &statement.action
            {
                self.names.entry(name.text.clone()).or_insert(Value::Poison);
            }
            if !matches!(
                statement.action,
                Action::Loop(_) | Action::While(_) | Action::Next { .. } | Action::Stack { .. }
            ) {
                return None;
            }
        }
        let result = self.act(statement, number);
        let result = result.and_then(|again| self.follow_texts(statement.span).map(|()| again));
        self.keep(result).flatten()
    }

    fn is_poisoned(&self, id: Id) -> bool {
        match &self.values[id.0 as usize] {
            Value::Tensor(expr) | Value::Number(expr) => self.graph.is_poisoned(*expr),
            Value::Several(results) => results.iter().any(|result| self.graph.is_poisoned(*result)),
            Value::At(tensor) | Value::Region(Region { tensor, .. }) => self.graph.is_poisoned(*tensor),
            value => *value == Value::Poison,
        }
    }

    /// Records the mistake of an outcome, if it has one.
    fn keep<T>(&mut self, result: Outcome<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.mistakes.push(*mistake);
                None
            }
        }
    }

    fn act(&mut self, statement: &Statement, number: usize) -> Outcome<Option<usize>> {
        match &statement.action {
            Action::Loop(header) => {
                let begun = self.begin_loop(header, number, statement.span);
                if begun.is_err() {
                    self.begin_broken_loop(statement.span);
                }
                begun?;
            }
            Action::Broken { of: Broken::Loop, .. } => self.begin_broken_loop(statement.span),
            Action::Broken { of: Broken::Condition, .. } => self.broken_condition(),
            Action::While(condition) => self.condition(*condition, statement.span)?,
            Action::Next { name, value } => self.next_value(name, *value)?,
            Action::Stack { name, value } => self.stacked_value(name, *value)?,
            Action::End => return self.end_loop(statement.span),
            Action::Symbols(names) => {
                for name in names {
                    let site = self.sites.site(name.span);
                    let symbol = self.graph.symbol(&name.text, site);
                    self.declare(name, symbol);
                }
            }
            Action::Parameters(names) => {
                for name in names {
                    let site = self.sites.site(name.span);
                    let symbol = self.graph.parameter(&name.text, site);
                    self.declare(name, symbol);
                }
            }
            Action::Assume(fact) => self.fact(fact)?,
            Action::Input { name, dtype, sizes } => self.input(name, dtype, sizes)?,
            Action::Let { name, value } => {
                let is_free = self.of_steps.remove(&name.text);
                if self.names.contains_key(&name.text) && !is_free || self.symbols.contains_key(&name.text) {
                    return mistake(Problem::Taken { name: name.text.clone() }, name.span);
                }
                let value = self.definition(*value)?;
                self.names.insert(name.text.clone(), value);
            }
            Action::Output { name, value } => {
                if !self.is_misplaced("an output", Some(name), name.span) {
                    self.output(name.clone(), *value)?;
                }
            }
            Action::Result(value) => {
                let span = self.tree.span(*value);
                if self.is_misplaced("an expression without a name", None, span) {
                    return Ok(None);
                }
                if self.outputs.iter().any(|(other, _)| &*other.text == RESULT) {
                    let what = "an expression without a name becomes `result`, which already exists";
                    let mistake = Mistake::new(Problem::Program { what }, span);
                    return Err(Box::new(mistake.help("name each one: `total = x.sum(); least = x.min()`")));
                }
                self.output(Name { text: RESULT.into(), span }, *value)?;
            }
            Action::Assign { name, value } => {
                if !self.is_misplaced("`assign`", Some(name), name.span) {
                    self.assign(name, *value, statement.span)?;
                }
            }
            Action::Broken { .. } => {}
        }
        Ok(None)
    }

    /// A value that may have a name: a tensor, a number or a size.
    fn definition(&mut self, id: Id) -> Outcome<Value> {
        match &self.values[id.0 as usize] {
            Value::List(_) => Ok(self.tensor(id, DType::Bool)?.map_or(Value::Poison, Value::Tensor)),
            value @ (Value::Literal(_)
            | Value::Size(_)
            | Value::Sizes(_)
            | Value::Several(_)
            | Value::Number(_)
            | Value::Poison) => Ok(value.clone()),
            _ => Ok(self.tensor(id, DType::Bool)?.map_or(Value::Poison, Value::Tensor)),
        }
    }

    fn output(&mut self, name: Name, id: Id) -> Outcome<()> {
        if self.assigned.contains(&name.text) || self.outputs.iter().any(|(other, _)| other.text == name.text)
        {
            return mistake(Problem::Taken { name: name.text }, name.span);
        }
        let Some(expr) = self.tensor(id, DType::Bool)? else {
            self.names.entry(name.text).or_insert(Value::Poison);
            return Ok(());
        };
        // An output may have the name of an input or a symbol, which keeps its meaning in expressions.
        if !self.symbols.contains_key(&name.text) {
            self.names.entry(name.text.clone()).or_insert(Value::Tensor(expr));
        }
        self.outputs.push((name, expr));
        Ok(())
    }

    fn assign(&mut self, name: &Name, id: Id, span: Span) -> Outcome<()> {
        let target = match self.names.get(&name.text) {
            Some(Value::Tensor(expr)) => *expr,
            Some(_) => return Ok(()),
            None if self.broken.contains(&name.text) => return Ok(()),
            None => return self.unknown(NameOf::Input, name, self.inputs.iter().map(|name| &**name)),
        };
        if self.outputs.iter().any(|(other, _)| other.text == name.text) {
            return mistake(Problem::Taken { name: name.text.clone() }, name.span);
        }
        self.assigned.insert(name.text.clone());
        let meets = self.graph.dtype(target);
        if let Some(value) = self.tensor(id, meets)? {
            self.build(span, |graph, site| graph.assign(target, value, site))?;
        }
        Ok(())
    }

    /// The mistake for an unknown name, with the nearest known one.
    fn unknown<'n, T>(
        &self,
        of: NameOf,
        name: &Name,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Outcome<T> {
        let mistake = Mistake::new(Problem::Unknown { of, name: name.text.clone() }, name.span);
        Err(Box::new(match names::nearest(&name.text, candidates) {
            Some(near) => mistake.help(format!("did you mean `{near}`?")),
            None => mistake,
        }))
    }

    fn eval(&mut self, id: Id, action: &Action) -> Outcome<Value> {
        let tree = self.tree.clone();
        let expr = tree.expr(id);
        match &expr.kind {
            Kind::Literal(literal) => Ok(Value::Literal(*literal)),
            Kind::Symbol(name) => match self.symbols.get(&name.text) {
                Some((symbol, _)) => Ok(Value::Size(self.graph.symbol_size(*symbol))),
                None if self.broken.contains(&name.text) => Ok(Value::Poison),
                None => self.unknown(NameOf::Symbol, name, self.symbols.keys().map(|name| &**name)),
            },
            Kind::None => Ok(Value::None),
            Kind::Ellipsis => Ok(Value::Ellipsis),
            Kind::Text(text) => Ok(Value::Text(text.clone(), TextKind::Text)),
            Kind::List(items) | Kind::Tuple(items) => {
                let is_poisoned = items.iter().any(|item| self.is_poisoned(*item));
                Ok(if is_poisoned { Value::Poison } else { Value::List(items.clone()) })
            }
            Kind::Name { text, is_quoted } => {
                let takes_sizes = matches!(action, Action::Input { .. } | Action::Assume(_));
                match names::constant(text) {
                    // `inf` and `nan`, unless an array of that name is given; names of the program also replace the
                    // other constants.
                    Some(constant)
                        if !is_quoted
                            && matches!(&**text, "inf" | "nan")
                            && !self.in_place.contains(text) =>
                    {
                        Ok(Value::Literal(constant))
                    }
                    // Double quotes enclose a name, or, if there is no such name, a text to compare with.
                    _ if *is_quoted && !takes_sizes && !self.is_known(text) => {
                        Ok(Value::Text(text.clone(), TextKind::Name))
                    }
                    _ => self.name(&Name { text: text.clone(), span: expr.span }, takes_sizes),
                }
            }
            Kind::Prefix(prefix, operand) => self.prefix(*prefix, *operand, expr.span),
            Kind::Infix(infix, left, right) => self.infix(*infix, [*left, *right], expr.span),
            Kind::Attribute { base, name } => self.attribute(*base, name, expr.span),
            Kind::Call { name, receiver, arguments } => self.call(name, *receiver, arguments, expr.span),
            Kind::Index { base, items } => self.index(*base, items, expr.span),
        }
    }

    /// Whether the program or its inputs give a name a meaning.
    fn is_known(&self, text: &str) -> bool {
        self.names.contains_key(text) || self.symbols.contains_key(text) || self.broken.contains(text)
    }

    fn name(&mut self, name: &Name, takes_sizes: bool) -> Outcome<Value> {
        let text = &*name.text;
        let symbol = self.symbols.get(text).map(|(symbol, _)| self.graph.symbol_size(*symbol));
        match (symbol, self.names.get(text)) {
            (Some(size), _) if takes_sizes => return Ok(Value::Size(size)),
            (_, Some(value)) if !takes_sizes => return Ok(value.clone()),
            (Some(size), None) => return Ok(Value::Size(size)),
            _ => {}
        }
        if self.broken.contains(text) {
            return Ok(Value::Poison);
        }
        if takes_sizes {
            if !self.is_implicit {
                return self.unknown(NameOf::Symbol, name, self.symbols.keys().map(|name| &**name));
            }
            let site = self.sites.site(name.span);
            let symbol = self.graph.symbol(text, site);
            self.declare(name, symbol);
            return Ok(Value::Size(self.graph.symbol_size(symbol)));
        }
        if let Some(constant) = names::constant(text) {
            return Ok(Value::Literal(constant));
        }
        if let Some(dtype) = names::dtype(text) {
            return Ok(Value::DType(dtype));
        }
        if text == "newaxis" {
            return Ok(Value::None);
        }
        if self.is_function(text) {
            let problem = Problem::Unknown { of: NameOf::Value, name: text.into() };
            let help = format!("to call the function, write `{text}(..)`");
            return Err(Box::new(Mistake::new(problem, name.span).help(help)));
        }
        let known = self.names.keys().chain(self.symbols.keys()).map(|name| &**name);
        self.unknown(NameOf::Value, name, known)
    }

    fn finish(&mut self, end: Span) -> Option<CheckedGraph> {
        let found = self.graph.withdraw_diagnostics(0);
        self.take_over(found, end);
        if !self.mistakes.is_empty() {
            return None;
        }
        if self.outputs.is_empty() && self.graph.assignments().is_empty() {
            let what = "a program needs an output: `output y = ..`";
            self.mistakes.push(Mistake::new(Problem::Program { what }, end));
            return None;
        }
        let outputs: Vec<(&str, ExprId)> =
            self.outputs.iter().map(|(name, expr)| (&*name.text, *expr)).collect();
        let diagnostics = match self.graph.finish(&outputs) {
            Ok(graph) => return Some(graph),
            Err(diagnostics) => diagnostics,
        };
        self.take_over(Some(diagnostics), end);
        None
    }

    fn take_over(&mut self, diagnostics: Option<Diagnostics>, end: Span) {
        for diagnostic in diagnostics.into_iter().flatten() {
            // The size that a reshape infers is unknown for the same reason: do not report it again.
            if matches!(&diagnostic.problem, GraphProblem::Unsolvable { symbol } if symbol.starts_with('?'))
                && !self.mistakes.is_empty()
            {
                continue;
            }
            let mistake = self.of_graph(diagnostic, end);
            self.mistakes.push(mistake);
        }
    }

    /// Locates a mistake that the graph found; one without a place is reported at the end of the text.
    fn of_graph(&self, diagnostic: Diagnostic, end: Span) -> Mistake {
        let span = match &diagnostic.problem {
            // At the declaration, because it has to change.
            GraphProblem::Unsolvable { symbol } => self.symbols.get(symbol).map(|(_, span)| *span),
            // The name of an output has no expression of its own.
            GraphProblem::BadName { name, .. } if diagnostic.op.as_deref() == Some("output") => {
                let mut outputs = self.outputs.iter().map(|(output, _)| output);
                outputs.find(|output| output.text.starts_with(&**name)).map(|output| output.span)
            }
            _ => self.sites.span(diagnostic.site),
        };
        let diagnostic = self.of_own(diagnostic, span);
        let span = span.unwrap_or(end);
        match diagnostic.problem {
            GraphProblem::TooLarge => Mistake::limit(Limit::Nodes, self.limits.nodes, span),
            _ => Mistake::graph(diagnostic, span),
        }
    }
}

/// A mistake in the form of the graph's.
fn refused(problem: GraphProblem, op: Option<&str>, span: Span) -> Box<Mistake> {
    Box::new(Mistake::graph(Diagnostic::new(problem, op, Site::Nowhere), span))
}
