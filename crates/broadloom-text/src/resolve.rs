//! The syntax tree to a graph, by calls of the graph builder and nothing else: dtypes, weak numbers, shapes and their
//! mistakes are the builder's.
//!
//! Expressions are evaluated in the order of the arena, each to a [`Value`]. The builder reports mistakes by a place in
//! Rust; they are taken from it right after the call that made them, when the span is known.

mod call;
mod declare;
mod fold;
mod index;

use crate::error::{Limit, Mistake, Mistakes, NameOf, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Action, Id, Infix, Kind, Name, Prefix, Statement, Tree};
use crate::{Given, Limits, MAX_MISTAKES, Program};
use broadloom_ir::diagnostics::{Diagnostic, Problem as GraphProblem};
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph, Literal, Node, Site};
use broadloom_ir::ops::Op;
use broadloom_ir::{ExprId, SymbolId};
use std::collections::{HashMap, HashSet};
use std::panic::Location;

/// What an expression is.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    /// What a mistake left behind; its use is silent.
    Poison,
    Tensor(ExprId),
    /// A number that takes the dtype of what it meets.
    Literal(Literal),
    /// Arithmetic on symbols.
    Size(Dim),
    /// `n % 8`, which only `assume` leaves as it is.
    Modulo(Dim, i64),
    List(Vec<Id>),
    DType(DType),
    None,
    Ellipsis,
}

impl Value {
    fn describe(&self) -> &'static str {
        match self {
            Value::Poison => "a mistake",
            Value::Tensor(_) => "a tensor",
            Value::Literal(_) => "a number",
            Value::Size(_) | Value::Modulo(..) => "a size",
            Value::List(_) => "a list",
            Value::DType(_) => "a dtype",
            Value::None => "`None`",
            Value::Ellipsis => "`...`",
        }
    }
}

type Resolved<T> = Result<T, Box<Mistake>>;

fn mistake<T>(problem: Problem, span: Span) -> Resolved<T> {
    Err(Box::new(Mistake::new(problem, span)))
}

struct Resolver<'a> {
    tree: &'a Tree,
    limits: &'a Limits,
    graph: Graph,
    /// By expression, as far as evaluated.
    values: Vec<Value>,
    /// Inputs and definitions.
    names: HashMap<Box<str>, Value>,
    inputs: HashMap<Box<str>, Span>,
    symbols: HashMap<Box<str>, (SymbolId, Span)>,
    /// Whether names in sizes are symbols without having been declared.
    is_implicit: bool,
    /// Where expressions were made first.
    made: HashMap<ExprId, Span>,
    /// The results of all calls of the builder.
    calls: Vec<(ExprId, Span)>,
    outputs: Vec<(Name, ExprId)>,
    mistakes: Vec<Mistake>,
    /// How many of the graph's warnings are among the mistakes.
    warned: usize,
    /// The place in Rust of all calls, which nobody sees.
    site: Site,
}

pub(crate) fn resolve(program: &Program, given: &[Given<'_>]) -> Result<CheckedGraph, Mistakes> {
    let Program { source, tree, limits, is_strict } = program;
    let declares = |statement: &Statement| matches!(statement.action, Action::Symbols(_));
    let mut resolver = Resolver {
        tree,
        limits,
        graph: Graph::new(),
        values: Vec::with_capacity(tree.exprs.len()),
        names: HashMap::new(),
        inputs: HashMap::new(),
        symbols: HashMap::new(),
        is_implicit: !tree.statements.iter().any(declares),
        made: HashMap::new(),
        calls: Vec::new(),
        outputs: Vec::new(),
        mistakes: Vec::new(),
        warned: 0,
        site: Location::caller(),
    };
    if *is_strict {
        resolver.graph.warn_of_pointwise();
    }
    resolver.give(given);
    for statement in &tree.statements {
        if resolver.mistakes.len() >= MAX_MISTAKES {
            break;
        }
        resolver.statement(statement);
    }
    let end = source.text.trim_end().len();
    match resolver.finish(Span { start: end, end }) {
        Some(graph) => Ok(graph),
        None => {
            resolver.mistakes.truncate(MAX_MISTAKES);
            Err(Mistakes::new(source.clone(), resolver.mistakes, resolver.inputs))
        }
    }
}

/// The names that are used and neither declared nor defined.
pub(crate) fn missing_inputs(tree: &Tree) -> Vec<&str> {
    let mut known: HashSet<&str> = HashSet::from(["_", "newaxis"]);
    let mut missing = Vec::new();
    for statement in &tree.statements {
        let takes_sizes = matches!(statement.action, Action::Input { .. } | Action::Assume(_));
        let exprs = &tree.exprs[statement.exprs.start as usize..statement.exprs.end as usize];
        for expr in exprs {
            let Kind::Name { text: name, .. } = &expr.kind else { continue };
            if takes_sizes {
                known.insert(name);
            } else if !known.contains(&**name)
                && names::constant(name).is_none()
                && names::dtype(name).is_none()
            {
                missing.push(&**name);
                known.insert(name);
            }
        }
        match &statement.action {
            Action::Symbols(names) | Action::Parameters(names) => {
                known.extend(names.iter().map(|name| &*name.text));
            }
            Action::Input { name, .. } | Action::Let { name, .. } | Action::Output { name, .. } => {
                known.insert(&name.text);
            }
            Action::Assume(_) | Action::Assign { .. } | Action::Result(_) => {}
        }
    }
    missing
}

impl Resolver<'_> {
    fn give(&mut self, given: &[Given<'_>]) {
        for input in given {
            let declares = |statement: &Statement| matches!(&statement.action, Action::Input { name, .. } if *name.text == *input.name);
            if self.tree.statements.iter().any(declares) {
                continue;
            }
            // A size beyond `i64` is refused by the builder as too many elements.
            let size = |size: &usize| Dim::constant(i64::try_from(*size).unwrap_or(i64::MAX));
            let shape = input.shape.iter().map(size).collect();
            let expr = self.graph.input(input.name, input.dtype, shape, self.site);
            let nowhere = Span { start: 0, end: 0 };
            self.take_diagnostics(nowhere, &[]);
            self.names.insert(input.name.into(), Value::Tensor(expr));
        }
    }

    fn statement(&mut self, statement: &Statement) {
        for id in statement.exprs.clone() {
            let value = self.eval(Id(id), &statement.action);
            let value = self.keep(value).unwrap_or(Value::Poison);
            self.values.push(value);
        }
        if statement.exprs.clone().any(|id| self.is_poisoned(Id(id))) {
            // The name is known all the same, so that its uses are no mistakes as well.
            if let Action::Let { name, .. } | Action::Output { name, .. } | Action::Input { name, .. } =
                &statement.action
            {
                self.names.entry(name.text.clone()).or_insert(Value::Poison);
            }
            return;
        }
        let result = self.act(statement);
        self.keep(result);
    }

    fn is_poisoned(&self, id: Id) -> bool {
        match &self.values[id.0 as usize] {
            Value::Tensor(expr) => self.graph.is_poisoned(*expr),
            value => *value == Value::Poison,
        }
    }

    /// Records the mistake, if it is one.
    fn keep<T>(&mut self, result: Resolved<T>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(mistake) => {
                self.mistakes.push(*mistake);
                None
            }
        }
    }

    fn act(&mut self, statement: &Statement) -> Resolved<()> {
        match &statement.action {
            Action::Symbols(names) => {
                for name in names {
                    let symbol = self.graph.symbol(&name.text, self.site);
                    self.declare(name, symbol)?;
                }
            }
            Action::Parameters(names) => {
                for name in names {
                    let symbol = self.graph.parameter(&name.text, self.site);
                    self.declare(name, symbol)?;
                }
            }
            Action::Assume(fact) => self.fact(fact)?,
            Action::Input { name, dtype, sizes } => self.input(name, dtype, sizes, statement.span)?,
            Action::Let { name, value } => {
                if self.names.contains_key(&name.text) || self.symbols.contains_key(&name.text) {
                    return mistake(Problem::Taken { name: name.text.clone() }, name.span);
                }
                let value = self.definition(*value)?;
                self.names.insert(name.text.clone(), value);
            }
            Action::Output { name, value } => self.output(name.clone(), *value)?,
            Action::Result(value) => {
                self.output(Name { text: "result".into(), span: self.tree.span(*value) }, *value)?;
            }
            Action::Assign { name, value } => self.assign(name, *value, statement.span)?,
        }
        Ok(())
    }

    /// A value that may have a name: a tensor, a number or a size.
    fn definition(&mut self, id: Id) -> Resolved<Value> {
        match &self.values[id.0 as usize] {
            value @ (Value::Literal(_) | Value::Size(_) | Value::Poison) => Ok(value.clone()),
            _ => Ok(self.tensor(id, DType::Bool)?.map_or(Value::Poison, Value::Tensor)),
        }
    }

    fn output(&mut self, name: Name, id: Id) -> Resolved<()> {
        if self.outputs.iter().any(|(other, _)| other.text == name.text) {
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

    fn assign(&mut self, name: &Name, id: Id, span: Span) -> Resolved<()> {
        let target = match self.names.get(&name.text) {
            Some(Value::Tensor(expr)) => *expr,
            Some(_) => return Ok(()),
            None => return self.unknown(NameOf::Input, name, self.inputs.keys().map(|name| &**name)),
        };
        let meets = self.graph.dtype(target);
        if let Some(value) = self.tensor(id, meets)? {
            self.build(span, &[target, value], |graph, site| graph.assign(target, value, site))?;
        }
        Ok(())
    }

    /// An unknown name, with the nearest one that is known.
    fn unknown<'n, T>(
        &self,
        of: NameOf,
        name: &Name,
        candidates: impl IntoIterator<Item = &'n str>,
    ) -> Resolved<T> {
        let mistake = Mistake::new(Problem::Unknown { of, name: name.text.clone() }, name.span);
        Err(Box::new(match names::nearest(&name.text, candidates) {
            Some(near) => mistake.help(format!("did you mean `{near}`?")),
            None => mistake,
        }))
    }

    fn eval(&mut self, id: Id, action: &Action) -> Resolved<Value> {
        let tree = self.tree;
        let expr = tree.expr(id);
        match &expr.kind {
            Kind::Literal(literal) => Ok(Value::Literal(*literal)),
            Kind::None => Ok(Value::None),
            Kind::Ellipsis => Ok(Value::Ellipsis),
            Kind::List(items) if items.iter().any(|item| self.is_poisoned(*item)) => Ok(Value::Poison),
            Kind::List(items) => Ok(Value::List(items.clone())),
            Kind::Name { text, is_quoted } => {
                let takes_sizes = matches!(action, Action::Input { .. } | Action::Assume(_));
                match names::constant(text) {
                    // Numbers that have no digits; the other constants give way to names of the program.
                    Some(constant) if !is_quoted && matches!(&**text, "inf" | "nan") => {
                        Ok(Value::Literal(constant))
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

    fn name(&mut self, name: &Name, takes_sizes: bool) -> Resolved<Value> {
        let text = &*name.text;
        let symbol = self.symbols.get(text).map(|(symbol, _)| self.graph.symbol_size(*symbol));
        match (symbol, self.names.get(text)) {
            (Some(size), _) if takes_sizes => return Ok(Value::Size(size)),
            (_, Some(value)) if !takes_sizes => return Ok(value.clone()),
            (Some(size), None) => return Ok(Value::Size(size)),
            _ => {}
        }
        if takes_sizes {
            if !self.is_implicit {
                return self.unknown(NameOf::Symbol, name, self.symbols.keys().map(|name| &**name));
            }
            let symbol = self.graph.symbol(text, self.site);
            self.declare(name, symbol)?;
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
        if names::function(text).is_some() {
            let problem = Problem::Unknown { of: NameOf::Value, name: text.into() };
            let help = format!("to call the function, write `{text}(..)`");
            return Err(Box::new(Mistake::new(problem, name.span).help(help)));
        }
        let known = self.names.keys().chain(self.symbols.keys()).map(|name| &**name);
        self.unknown(NameOf::Value, name, known)
    }

    fn prefix(&mut self, prefix: Prefix, operand: Id, span: Span) -> Resolved<Value> {
        match (&self.values[operand.0 as usize], prefix) {
            (Value::Poison, _) => return Ok(Value::Poison),
            (Value::Literal(literal), _) => {
                let literal = *literal;
                return fold::prefix(prefix, literal)
                    .map(Value::Literal)
                    .or_else(|what| mistake(Problem::Calculation { what }, span));
            }
            (Value::Size(size), Prefix::Negative) => {
                let size = size.clone();
                return self.arithmetic(span, || size.neg()).map(Value::Size);
            }
            (Value::Size(size), Prefix::Positive) => return Ok(Value::Size(size.clone())),
            _ => {}
        }
        let op = match prefix {
            Prefix::Negative => Op::Negative,
            Prefix::Positive => Op::Positive,
            Prefix::Invert => Op::BitwiseInvert,
        };
        self.elementwise(op, &[operand], span)
    }

    fn infix(&mut self, infix: Infix, operands: [Id; 2], span: Span) -> Resolved<Value> {
        let [left, right] = operands.map(|operand| self.values[operand.0 as usize].clone());
        if left == Value::Poison || right == Value::Poison {
            return Ok(Value::Poison);
        }
        if let (Value::Literal(left), Value::Literal(right)) = (&left, &right) {
            return fold::infix(infix, *left, *right)
                .map(Value::Literal)
                .or_else(|what| mistake(Problem::Calculation { what }, span));
        }
        if let (Some(left), Some(right)) = (as_size(&left), as_size(&right)) {
            let size = match (infix, right.as_constant()) {
                (Infix::Add, _) => Some(left.add(&right)),
                (Infix::Subtract, _) => Some(left.sub(&right)),
                (Infix::Multiply, _) => Some(left.mul(&right)),
                (Infix::FloorDivide, Some(k)) if k > 0 => Some(left.floor_div(k)),
                (Infix::Remainder, Some(k)) if k > 0 => return Ok(Value::Modulo(left, k)),
                _ => None,
            };
            if let Some(size) = size {
                return self.arithmetic(span, || size).map(Value::Size);
            }
        }
        let op = match infix {
            Infix::Add => Op::Add,
            Infix::Subtract => Op::Subtract,
            Infix::Multiply => Op::Multiply,
            Infix::Divide => Op::Divide,
            Infix::FloorDivide => Op::FloorDivide,
            Infix::Remainder => Op::Remainder,
            Infix::Power => Op::Pow,
            Infix::And => Op::BitwiseAnd,
            Infix::Or => Op::BitwiseOr,
            Infix::Xor => Op::BitwiseXor,
            Infix::ShiftLeft => Op::BitwiseLeftShift,
            Infix::ShiftRight => Op::BitwiseRightShift,
            Infix::Equal => Op::Equal,
            Infix::NotEqual => Op::NotEqual,
            Infix::Less => Op::Less,
            Infix::LessEqual => Op::LessEqual,
            Infix::Greater => Op::Greater,
            Infix::GreaterEqual => Op::GreaterEqual,
        };
        self.elementwise(op, &operands, span)
    }

    /// A row of the op table on operands of which numbers take the dtype of the tensors.
    fn elementwise(&mut self, op: Op, operands: &[Id], span: Span) -> Resolved<Value> {
        if let (Op::Pow, &[base, exponent]) = (op, operands)
            && let Value::Literal(exponent) = self.values[exponent.0 as usize]
            && let Some(base) = self.tensor(base, DType::Bool)?
        {
            let raise = |graph: &mut Graph, site| graph.power_literal(base, exponent, site);
            return self.build(span, &[base], raise).map(Value::Tensor);
        }
        let Some(exprs) = self.tensors(operands)? else { return Ok(Value::Poison) };
        self.build(span, &exprs, |graph, site| graph.elementwise(op, &exprs, site)).map(Value::Tensor)
    }

    /// Tensors of operands, unless one is poisoned; numbers take the common dtype of the others.
    fn tensors(&mut self, operands: &[Id]) -> Resolved<Option<Vec<ExprId>>> {
        let dtypes = operands.iter().filter_map(|operand| match &self.values[operand.0 as usize] {
            Value::Tensor(expr) => Some(self.graph.dtype(*expr)),
            Value::Size(_) | Value::Modulo(..) => Some(DType::I64),
            _ => None,
        });
        let meets = DType::promote_all(dtypes).unwrap_or(DType::Bool);
        let mut exprs = Vec::with_capacity(operands.len());
        for operand in operands {
            match self.tensor(*operand, meets)? {
                Some(expr) => exprs.push(expr),
                None => return Ok(None),
            }
        }
        Ok(Some(exprs))
    }

    /// A tensor, unless it is poisoned; a number takes the dtype that it meets.
    fn tensor(&mut self, id: Id, meets: DType) -> Resolved<Option<ExprId>> {
        let span = self.tree.span(id);
        let expr = match self.values[id.0 as usize].clone() {
            Value::Poison => return Ok(None),
            Value::Tensor(expr) => expr,
            Value::Literal(literal) => {
                self.build(span, &[], |graph, site| graph.literal(literal, meets, site))?
            }
            Value::Size(size) => self.build(span, &[], |graph, site| graph.size_value(size, site))?,
            Value::Modulo(size, of) => self.build(span, &[], |graph, site| {
                let size = graph.size_value(size, site);
                let of = graph.literal(Literal::Int(of.into()), DType::I64, site);
                graph.elementwise(Op::Remainder, &[size, of], site)
            })?,
            other @ (Value::List(_) | Value::DType(_) | Value::None | Value::Ellipsis) => {
                let problem = Problem::Kind { expected: "a tensor or a number", found: other.describe() };
                let mistake = Mistake::new(problem, span);
                return Err(Box::new(match other {
                    Value::List(_) => mistake.help("to make a tensor of several, write `stack([a, b])`"),
                    _ => mistake,
                }));
            }
        };
        Ok((!self.graph.is_poisoned(expr)).then_some(expr))
    }

    fn size(&self, id: Id) -> Resolved<Dim> {
        let value = &self.values[id.0 as usize];
        match as_size(value) {
            Some(size) => Ok(size),
            None => {
                let problem = Problem::Kind { expected: "a size", found: value.describe() };
                let help = "sizes are integers, symbols, and `+ - * //` of them";
                Err(Box::new(Mistake::new(problem, self.tree.span(id)).help(help)))
            }
        }
    }

    /// Arithmetic on sizes that may overflow.
    fn arithmetic(&self, span: Span, compute: impl FnOnce() -> Result<Dim, DimError>) -> Resolved<Dim> {
        compute().map_err(|error| {
            let diagnostic = Diagnostic::new(GraphProblem::Size(error), Some("size"), self.site);
            Box::new(Mistake::graph(diagnostic, span, Vec::new()))
        })
    }

    /// Calls the builder, and takes its mistakes.
    fn build(
        &mut self,
        span: Span,
        operands: &[ExprId],
        action: impl FnOnce(&mut Graph, Site) -> ExprId,
    ) -> Resolved<ExprId> {
        if self.calls.len() >= self.limits.nodes {
            return mistake(Problem::Limit { limit: Limit::Nodes, most: self.limits.nodes }, span);
        }
        let expr = action(&mut self.graph, self.site);
        self.take_diagnostics(span, operands);
        self.calls.push((expr, span));
        self.made.entry(expr).or_insert(span);
        Ok(expr)
    }

    fn take_diagnostics(&mut self, span: Span, operands: &[ExprId]) {
        for diagnostic in self.graph.withdraw_diagnostics(0).into_iter().flatten() {
            let made = operands.iter().map(|operand| self.made.get(operand).copied()).collect();
            self.mistakes.push(Mistake::graph(diagnostic, span, made));
        }
        // There are none unless they were asked for, as mistakes.
        let warnings = self.graph.warnings().get(self.warned..).unwrap_or_default().to_vec();
        self.warned += warnings.len();
        for warning in warnings {
            let made = operands.iter().map(|operand| self.made.get(operand).copied()).collect();
            self.mistakes.push(Mistake::graph(warning, span, made));
        }
    }

    fn finish(&mut self, end: Span) -> Option<CheckedGraph> {
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
        for diagnostic in diagnostics {
            let span = self.span_of(&diagnostic).unwrap_or(end);
            self.mistakes.push(Mistake::graph(diagnostic, span, Vec::new()));
        }
        None
    }

    /// What a mistake that is found in the end is about: the symbol, or the first call of its op.
    fn span_of(&self, diagnostic: &Diagnostic) -> Option<Span> {
        if let GraphProblem::Unsolvable { symbol } = &diagnostic.problem {
            return self.symbols.get(symbol).map(|(_, span)| *span);
        }
        let op = diagnostic.op.as_deref()?;
        if op == "output" {
            return self.outputs.first().map(|(name, _)| name.span);
        }
        let is_call = |(expr, _): &&(ExprId, Span)| match self.graph.node(*expr) {
            Node::Elementwise { op: own, .. } => own.name() == op,
            Node::Reduce { op: own, .. } => own.name() == op,
            Node::View { view, .. } => view.name() == op,
            Node::Select { .. } => op == "select",
            Node::Concat { .. } => op == "concat",
            _ => false,
        };
        self.calls.iter().find(is_call).map(|(_, span)| *span)
    }
}

/// A size, or an integer as one.
fn as_size(value: &Value) -> Option<Dim> {
    match value {
        Value::Size(size) => Some(size.clone()),
        Value::Literal(Literal::Int(value)) => i64::try_from(*value).ok().map(Dim::constant),
        _ => None,
    }
}
