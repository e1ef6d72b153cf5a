//! Columns of text, whose elements are codes: the positions of their texts in a list.
//!
//! Codes mean something only with their list, so the resolver follows them through the graph: views, choices and
//! concatenations of text are text, and any other use of the codes as numbers is a mistake. Columns that meet, such as
//! those of a comparison, need one list. A first pass over the program finds out which do.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, NameOf, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Id, Name};
use crate::{Given, TextList};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Literal, Node, Segmented, ValueOf};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

/// The most texts of a column to list.
const MOST_TEXTS: usize = 10;

/// The meaning of a quoted text where no text is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    /// An unknown name.
    Name,
}

/// A column of text: its name, and its texts in order.
type Column<'a> = (Cow<'a, str>, Cow<'a, [Box<str>]>);

/// The columns of text of a program, and the expressions that are text.
#[derive(Debug, Default)]
pub(super) struct Texts<'a> {
    columns: Vec<Column<'a>>,
    /// The column whose texts an expression indexes.
    of: HashMap<ExprId, usize>,
    /// Pairs of columns that meet.
    met: Vec<[usize; 2]>,
    /// The number of expressions of the graph that were followed.
    followed: usize,
    /// Whether this pass only finds out which columns meet.
    is_first_pass: bool,
}

impl<'a> Texts<'a> {
    /// The state before the first pass.
    pub(super) fn first_pass() -> Texts<'a> {
        Texts { is_first_pass: true, ..Texts::default() }
    }

    pub(super) fn add(&mut self, expr: ExprId, name: Cow<'a, str>, texts: Cow<'a, [Box<str>]>) {
        self.of.insert(expr, self.columns.len());
        self.columns.push((name, texts));
    }

    /// Makes an expression text of the same column as another one, if that is text.
    pub(super) fn add_like(&mut self, expr: ExprId, other: ExprId) {
        if let Some(column) = self.of.get(&other) {
            self.of.insert(expr, *column);
        }
    }

    /// The number of the column of text that an expression is.
    pub(super) fn number(&self, expr: ExprId) -> Option<usize> {
        self.of.get(&expr).copied()
    }

    pub(super) fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |(name, _)| name)
    }

    /// Whether the codes of two columns mean the same texts. The first pass only finds out which will.
    pub(super) fn are_alike(&self, columns: [usize; 2]) -> bool {
        let [left, right] = columns.map(|column| self.columns.get(column).map(|(_, texts)| texts));
        self.is_first_pass || left == right
    }

    pub(super) fn is_text(&self, expr: ExprId) -> bool {
        self.of.contains_key(&expr)
    }

    /// The column of text that an expression is.
    pub(super) fn column(&self, expr: ExprId) -> Option<&str> {
        Some(self.name(self.number(expr)?))
    }

    fn list(&self, expr: ExprId) -> Option<&[Box<str>]> {
        Some(&self.columns.get(*self.of.get(&expr)?)?.1)
    }

    /// The columns that need other texts than their own: the union of those of all columns that they meet.
    pub(super) fn joined(&self) -> Vec<(Box<str>, TextList)> {
        let mut group: Vec<usize> = (0..self.columns.len()).collect();
        for [left, right] in &self.met {
            let (from, to) = (group[*left], group[*right]);
            group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
        let mut joined = Vec::new();
        for one in 0..self.columns.len() {
            let columns = self.columns.iter().zip(&group).filter(|(_, group)| **group == one);
            let columns: Vec<_> = columns.map(|((name, texts), _)| (&**name, &**texts)).collect();
            let Some(((_, first), others)) = columns.split_first() else { continue };
            if others.iter().all(|(_, texts)| texts == first) {
                continue;
            }
            let union: BTreeSet<&Box<str>> = columns.iter().flat_map(|(_, texts)| *texts).collect();
            let union: TextList = union.into_iter().cloned().collect();
            joined.extend(columns.iter().map(|(name, _)| ((*name).into(), union.clone())));
        }
        joined
    }
}

/// The given columns with the texts that they need.
pub(super) fn with_joined<'b>(given: &[Given<'b>], joined: &'b [(Box<str>, TextList)]) -> Vec<Given<'b>> {
    let with = |given: &Given<'b>| {
        let found = joined.iter().find(|(name, _)| **name == *given.name);
        Given { names: found.map(|(_, texts)| &**texts).or(given.names), ..*given }
    };
    given.iter().map(with).collect()
}

/// The role of an expression's text operands.
enum Use {
    /// The result is text of the same column.
    Text(Vec<ExprId>),
    /// The result is not text, and the operands must be text of one list.
    Compared(Vec<ExprId>),
    /// The codes mean groups, or are numbers because the program says so.
    Codes,
    Wrong,
}

impl Resolver<'_> {
    /// Follows the codes of columns of text through the expressions that the graph has more than before.
    pub(super) fn follow_texts(&mut self, span: Span) -> Outcome<()> {
        let new = self.graph.exprs_from(self.texts.followed.max(1));
        if self.texts.columns.is_empty() {
            return Ok(());
        }
        for expr in new {
            self.texts.followed = expr.index() + 1;
            self.follow_axes(expr, span)?;
            let operands = self.graph.node(expr).operands();
            if !operands.iter().any(|operand| self.texts.of.contains_key(operand)) {
                continue;
            }
            let (alike, is_text) = match self.use_of(expr) {
                Use::Text(alike) => (alike, true),
                Use::Compared(alike) => (alike, false),
                Use::Codes => continue,
                Use::Wrong => return Err(self.not_numbers(span)),
            };
            let columns: Option<Vec<usize>> =
                alike.iter().map(|operand| self.texts.of.get(operand).copied()).collect();
            // Text beside numbers.
            let Some(columns) = columns else { return Err(self.not_numbers(span)) };
            let Some((first, others)) = columns.split_first() else { continue };
            for other in others.iter().filter(|other| *other != first) {
                self.meet([*first, *other], span)?;
            }
            if is_text {
                self.texts.of.insert(expr, *first);
            }
        }
        Ok(())
    }

    fn use_of(&self, expr: ExprId) -> Use {
        let is_text = |operand: &ExprId| self.texts.of.contains_key(operand);
        match self.graph.node(expr) {
            Node::View { operand, .. } => Use::Text(vec![*operand]),
            Node::Sort { operand, sort } if !sort.indices => Use::Text(vec![*operand]),
            Node::TopK { operand, topk } if !topk.indices => Use::Text(vec![*operand]),
            // The indices of elements in the order of their texts.
            Node::Sort { operand, .. } | Node::TopK { operand, .. } => Use::Compared(vec![*operand]),
            Node::Take { table, indices, .. } if !is_text(indices) => Use::Text(vec![*table]),
            // Whatever is text selects nothing.
            Node::Compress { operand, mask, .. } if !is_text(mask) => Use::Text(vec![*operand]),
            Node::Concat { operands, .. } => Use::Text(operands.to_vec()),
            Node::Set { base, value, .. } => Use::Text(vec![*base, *value]),
            Node::Scatter { op: None, base, indices, values } if !is_text(indices) => {
                Use::Text(vec![*base, *values])
            }
            Node::Select { on_true, on_false, .. } => Use::Text(vec![*on_true, *on_false]),
            Node::Search { table, values, .. } => Use::Compared(vec![*table, *values]),
            Node::Elementwise { op: Op::Equal | Op::NotEqual, operands } => Use::Compared(operands.to_vec()),
            Node::Elementwise { op: Op::Positive, .. } => Use::Codes,
            Node::Segment { values, .. } if !is_text(values) => Use::Codes,
            Node::Loop { repeated, result } => {
                let parts = match repeated.value_of(*result) {
                    ValueOf::Carried(number) => {
                        let carried = &repeated.carried[number];
                        vec![carried.initial, carried.next]
                    }
                    ValueOf::Stacked(value) => vec![value],
                };
                // Its steps may read rows of text for results that are not text.
                if parts.iter().any(is_text) { Use::Text(parts) } else { Use::Codes }
            }
            _ => Use::Wrong,
        }
    }

    /// Two columns meet, whose codes must be positions in one list.
    fn meet(&mut self, columns: [usize; 2], span: Span) -> Outcome<()> {
        let [left, right] = columns.map(|column| &self.texts.columns[column].1);
        if self.texts.is_first_pass {
            self.texts.met.push(columns);
        } else if left != right {
            let what = "the codes of these columns stand for different texts";
            let help = "compare each with a text, or encode both columns with the same texts first";
            return Err(Box::new(Mistake::new(Problem::Program { what }, span).help(help)));
        }
        Ok(())
    }

    /// The codes of a column of text as numbers, as an expression of its own; any other expression as it is.
    pub(super) fn codes(&mut self, expr: ExprId, span: Span) -> Outcome<ExprId> {
        match self.texts.of.contains_key(&expr) {
            true => self.build(span, |graph, site| graph.elementwise(Op::Positive, &[expr], site)),
            false => Ok(expr),
        }
    }

    /// Like [`Self::codes`], for a conversion to a dtype, which has to hold them.
    pub(super) fn codes_as(&mut self, expr: ExprId, dtype: DType, span: Span) -> Outcome<ExprId> {
        let last = self.texts.list(expr).map_or(0, |list| list.len().saturating_sub(1));
        // All positions up to the last one, of which a float has every one only up to its digits.
        let is_held = match dtype.is_float() {
            true => last <= 1 << dtype.digits(),
            false => Literal::Int(last as i128).to_scalar(dtype).is_some(),
        };
        match self.texts.of.contains_key(&expr) {
            true if dtype == DType::Bool || !is_held => {
                let what = "the positions of texts in their list are integers from 0, of which this dtype holds too few";
                let help = "for conditions, compare with a text: `x == 'yes'`; for all positions, write `.astype(i64)`";
                Err(Box::new(Mistake::new(Problem::Program { what }, span).help(help)))
            }
            _ => self.codes(expr, span),
        }
    }

    /// Replaces a column of text, and a text or a list of texts that it is compared with, by codes:
    /// `city == 'Oslo'`, `isin(city, ['Oslo', 'Lima'])`.
    pub(super) fn encode_texts(&mut self, operands: [Id; 2]) -> Outcome<()> {
        let [left, right] = operands;
        for (column, texts) in [(left, right), (right, left)] {
            let Value::Tensor(expr) = *self.value(column) else { continue };
            let (items, is_list) = match self.value(texts) {
                Value::Text(..) => (vec![texts], false),
                Value::List(items) if !items.is_empty() => (items.clone(), true),
                _ => continue,
            };
            let mut codes = Vec::with_capacity(items.len());
            for item in items {
                let Value::Text(text, _) = self.value(item) else { break };
                let Some(code) = self.code_of(expr, text, self.tree.span(item))? else { break };
                let literal = Literal::Int(code as i128);
                codes.push(
                    self.build(self.tree.span(item), |graph, site| graph.literal(literal, DType::I64, site))?,
                );
            }
            let encoded = match codes[..] {
                [code] if !is_list => code,
                // Other things than texts are refused as operands are.
                _ if !self.is_list_of(texts, codes.len()) => continue,
                _ => self.build(self.tree.span(texts), |graph, site| graph.stack(&codes, 0, site))?,
            };
            let column_codes = self.codes(expr, self.tree.span(column))?;
            self.values[column.0 as usize] = Value::Tensor(column_codes);
            self.values[texts.0 as usize] = Value::Tensor(encoded);
            return Ok(());
        }
        Ok(())
    }

    fn is_list_of(&self, id: Id, count: usize) -> bool {
        matches!(self.value(id), Value::List(items) if items.len() == count)
    }

    /// The code of a text in the list of a column; `None` if the expression is not one.
    fn code_of(&self, column: ExprId, text: &str, span: Span) -> Outcome<Option<usize>> {
        let Some(names) = self.texts.list(column) else { return Ok(None) };
        match names.binary_search_by(|name| (**name).cmp(text)) {
            Ok(code) => Ok(Some(code)),
            // Columns that this one meets may have the text.
            Err(_) if self.texts.is_first_pass => Ok(Some(0)),
            Err(_) => {
                let problem = Problem::Unknown { of: NameOf::Text, name: text.into() };
                let near = names::nearest(text, names.iter().map(|name| &**name));
                let few: Vec<&str> = names.iter().take(MOST_TEXTS).map(|name| &**name).collect();
                let more = if few.len() < names.len() { ", .." } else { "" };
                let help = match near {
                    Some(near) => format!("did you mean '{near}'?"),
                    None => format!("the column contains {few:?}{more}"),
                };
                Err(Box::new(Mistake::new(problem, span).help(help)))
            }
        }
    }

    /// Refuses arithmetic on columns of text before it is built. Comparisons of two columns are the exception.
    pub(super) fn refuse_codes(&self, op: Option<Op>, operands: &[Id]) -> Outcome<()> {
        let is_text = |id: &&Id| match self.value(**id) {
            Value::Tensor(expr) => self.texts.of.contains_key(expr),
            _ => false,
        };
        let texts = operands.iter().filter(is_text).count();
        let is_comparison = matches!(op, Some(Op::Equal | Op::NotEqual)) && texts == operands.len();
        match operands.iter().find(is_text) {
            Some(column) if !is_comparison => Err(self.not_numbers(self.tree.span(*column))),
            _ => Ok(()),
        }
    }

    /// The mistake of codes that are used as numbers.
    pub(super) fn not_numbers(&self, span: Span) -> Box<Mistake> {
        let problem = Problem::Kind { expected: "numbers", found: "a column of text" };
        // Point to the column in the expression, if a part of it is one.
        let within = |part: Span| span.start <= part.start && part.end <= span.end;
        let is_text = |id: &Id| self.value(*id).expr().is_some_and(|expr| self.texts.of.contains_key(&expr));
        let parts = (0..self.values.len()).rev().map(|at| Id(at as u32));
        let column = parts.filter(|id| within(self.tree.span(*id))).find(is_text);
        let span = column.map_or(span, |column| self.tree.span(column));
        let code = format!("{}.astype(i64)", self.source.slice(span));
        Box::new(Mistake::new(problem, span).help(format!(
            "compare it with a text or another column of text, or group by it; for its codes as numbers, write `{code}`"
        )))
    }

    /// Resolves the tables of which reductions of groups are printed.
    pub(super) fn segment_tables(&mut self, call: &Call) -> Outcome<Option<ExprId>> {
        let ops = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Min, ReduceOp::Max].map(|op| (op.name(), op));
        let Some(op) = self.meaning_of(call, "op", ops)? else { return call.refuse("needs `op`") };
        let Some(elements) = call.get("elements") else { return call.refuse("needs `elements`") };
        let (Some(x), Some(ids)) = (self.operand(call, "x")?, self.operand(call, "ids")?) else {
            return Ok(None);
        };
        let of = Segmented {
            op,
            compensated: self.flag(call, "compensated")?,
            segments: self.segments(call, ids)?,
            elements: self.size(elements)?,
        };
        self.build(call.span, |graph, site| graph.segment_tables(&of, [x, ids], site)).map(Some)
    }

    /// The number of groups, which is known for a column of text.
    pub(super) fn segments(&mut self, call: &Call, ids: ExprId) -> Outcome<Dim> {
        let texts = self.texts.list(ids).map(<[_]>::len);
        match (call.get("segments"), texts) {
            (Some(segments), _) => {
                let size = self.size(segments)?;
                match (texts, size.as_constant()) {
                    // The first pass does not know all texts.
                    (Some(texts), Some(size)) if size != texts as i64 && !self.texts.is_first_pass => call
                        .refuse(format!(
                            "has {texts} groups here, one for each text, and not {size}: leave out `segments`"
                        )),
                    _ => Ok(size),
                }
            }
            (None, Some(texts)) => Ok(Dim::constant(texts as i64)),
            (None, None) => {
                call.refuse("needs `segments`, the number of groups, unless `ids` is a column of text that is passed as data and not only declared")
            }
        }
    }

    /// The mistake for a text that the column does not contain.
    pub(super) fn stray_text(&self, text: Box<str>, kind: TextKind, span: Span) -> Box<Mistake> {
        match kind {
            TextKind::Text => {
                let problem = Problem::Habit { what: "text is not a value".into() };
                let mistake = Mistake::new(problem, span);
                Box::new(mistake.help("write a name that is not an identifier in double quotes").help(
                    "to select by text, compare a column that is passed as data by `==` or `!=`: `city == 'Oslo'`",
                ))
            }
            TextKind::Name => {
                let known = self.names.keys().chain(self.symbols.keys()).map(|name| &**name);
                let unknown: Outcome<()> = self.unknown(NameOf::Value, &Name { text, span }, known);
                unknown.expect_err("the name is unknown")
            }
        }
    }
}
