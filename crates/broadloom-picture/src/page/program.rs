//! The column of the program: its text, if it has one, and the expressions of its graph.

use super::{Page, links, numbers, text};
use crate::label;
use broadloom::{Choice, Planned};
use broadloom_ir::graph::Node;
use broadloom_ir::{ExprId, InputId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// The text of a program, and where its expressions were written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramText {
    /// Its name, such as that of a file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The parts of the text, as byte positions, that expressions of the graph were written as.
    pub spans: Vec<(ExprId, Range<usize>)>,
    /// What stands beside lines, by their numbers, counted from 1: where a front end took them from.
    pub beside: BTreeMap<usize, String>,
}

/// The longest text of an expression that is shown beside loops, in columns.
const MAX_SHORT: usize = 28;
/// The most parts around a letter that are marked with their expressions: each of them is written at each letter, and texts may
/// nest as deeply as they are long.
const MAX_AROUND: usize = 12;
/// The most expressions of a part that are linked: a function may be composed of many.
const MAX_LINKED: usize = 64;

impl Page<'_> {
    pub(super) fn program(&self) -> String {
        let mut html = self.program.map(source).unwrap_or_default();
        html += "<h3>Expressions, with dtypes and shapes</h3>\n<div class=\"lines\">\n";
        let graph = self.explanation.graph();
        let mut planned: BTreeMap<ExprId, Vec<&Planned>> = BTreeMap::new();
        for each in self.explanation.plan() {
            planned.entry(each.expr).or_default().push(each);
        }
        for expr in graph.exprs() {
            let what = match graph.node(expr) {
                Node::Input(input) => format!("input {}", self.input(*input)),
                _ => self.call(expr),
            };
            let type_ = label::type_text(graph, graph.dtype(expr), graph.shape(expr));
            let why = planned.get(&expr).map(|planned| choices(planned)).unwrap_or_default();
            // Without a text, the place in Rust says which expression it is.
            let place = graph.site(expr).location().filter(|_| self.program.is_none());
            let place = place.map(|place| format!("{}:{}", place.file(), place.line())).unwrap_or_default();
            let (color, link) = (self.color(&[expr]), links(&[expr], None));
            let _ = writeln!(
                html,
                "<div class=\"line{color}\"{link}><span class=\"number\">{expr}</span>{} <span class=\"type\">{}</span>\
                 <span class=\"why\">{}</span><span class=\"of\">{}</span></div>",
                text(&what),
                text(&type_),
                text(&why),
                text(&place),
            );
        }
        for output in graph.outputs() {
            let verb = if output.assigned.is_some() { "assign" } else { "output" };
            let (expr, name) = (output.expr, text(&output.name));
            let (color, link) = (self.color(&[expr]), links(&[expr], None));
            let _ = writeln!(
                html,
                "<div class=\"line{color}\"{link}><span class=\"number\">{verb}</span>{name} = {expr}</div>"
            );
        }
        html + "</div>\n"
    }

    /// An expression as it was written, if that is short, or else its operation.
    pub(super) fn short(&self, expr: ExprId) -> String {
        let written = self.program.and_then(|program| {
            let span = self.spans.get(&expr)?;
            program.text.get(span.clone())
        });
        let is_short = |text: &&str| label::columns(text) <= MAX_SHORT && !text.contains('\n');
        match (written.filter(is_short), self.explanation.graph().node(expr)) {
            // The place of an input is its declaration.
            (_, Node::Input(input)) => self.input(*input).to_string(),
            // A constant may be part of a function that was written.
            (Some(written), node) if !matches!(node, Node::Constant(_)) => written.to_string(),
            _ => label::clipped(&label::operation(self.explanation.graph(), expr).1),
        }
    }

    fn input(&self, input: InputId) -> &str {
        self.explanation.graph().inputs().get(input.index()).map_or("", |input| &*input.name)
    }

    /// An expression with its operands: `add(%1, 2)`, `sum(%1) over axis 1`.
    fn call(&self, expr: ExprId) -> String {
        let graph = self.explanation.graph();
        let (_, what) = label::operation(graph, expr);
        let operand =
            |operand: &ExprId| label::inline(graph, *operand).unwrap_or_else(|| operand.to_string());
        let operands: Vec<String> = graph.operands(expr).iter().map(operand).collect();
        if operands.is_empty() {
            return what;
        }
        let (name, rest) = what.split_at(what.find(' ').unwrap_or(what.len()));
        let is_name = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
        let operands = operands.join(", ");
        if is_name { format!("{name}({operands}){rest}") } else { format!("{what} of {operands}") }
    }
}

/// What becomes of a tensor. If it was split into parts and none is stored, the most costly one stands for it.
fn choices(planned: &[&Planned]) -> String {
    let is_stored = |planned: &&&Planned| matches!(planned.choice, Choice::Materialise(_));
    let stored: BTreeSet<String> =
        planned.iter().filter(is_stored).map(|planned| planned.choice.to_string()).collect();
    match planned.iter().max_by_key(|planned| planned.cost) {
        Some(Planned { choice, cost, .. }) if stored.is_empty() => format!("{choice}, cost {cost}"),
        _ => stored.into_iter().collect::<Vec<String>>().join("; "),
    }
}

/// The text of a program, cut where parts of it begin and end.
fn source(program: &ProgramText) -> String {
    let ProgramText { name: _, text: written, spans, beside } = program;
    let close_line = |number: usize| match beside.get(&number) {
        Some(beside) => format!("</span><span class=\"of\">{}</span></div>\n", text(beside)),
        None => "</span></div>\n".to_string(),
    };
    let mut parts: BTreeMap<(usize, usize), Vec<ExprId>> = BTreeMap::new();
    for (expr, Range { start, end }) in spans {
        if start < end && written.get(*start..*end).is_some() {
            parts.entry((*start, *end)).or_default().push(*expr);
        }
    }
    let mut cuts: BTreeSet<usize> = parts.keys().flat_map(|(start, end)| [*start, *end]).collect();
    cuts.extend([0, written.len()]);
    cuts.extend(written.match_indices('\n').flat_map(|(at, _)| [at, at + 1]));
    let cuts: Vec<usize> = cuts.into_iter().collect();
    let mut html = "<h3>Text</h3>\n<div class=\"lines source\">\n".to_string();
    let mut line = 1;
    html += &open_line(line);
    let mut next = parts.keys().copied().peekable();
    // The parts around the current position, by length and by end: there may be as many as the text is long.
    let mut around: BTreeSet<(usize, (usize, usize))> = BTreeSet::new();
    let mut ends: BTreeSet<(usize, usize)> = BTreeSet::new();
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let piece = written.get(start..end).unwrap_or_default();
        if piece == "\n" {
            if end < written.len() {
                html += &close_line(line);
                line += 1;
                html += &open_line(line);
            }
            continue;
        }
        while let Some((begin, stop)) = next.next_if(|(begin, _)| *begin <= start) {
            around.insert((stop - begin, (begin, stop)));
            ends.insert((stop, begin));
        }
        while let Some((stop, begin)) = ends.first().copied().filter(|(stop, _)| *stop <= start) {
            ends.remove(&(stop, begin));
            around.remove(&(stop - begin, (begin, stop)));
        }
        let inner: Vec<(usize, usize)> = around.iter().take(MAX_AROUND).map(|(_, part)| *part).collect();
        let exprs = |part: &(usize, usize)| {
            let mut exprs = parts.get(part).cloned().unwrap_or_default();
            // The last ones are the results of the function.
            exprs.drain(..exprs.len().saturating_sub(MAX_LINKED));
            exprs
        };
        // Tabs have no width of their own.
        let piece = text(&piece.replace('\t', "    ").replace('\r', ""));
        match inner.first() {
            None => html += &piece,
            Some(own) => {
                let within: BTreeSet<ExprId> = inner.iter().flat_map(&exprs).collect();
                let within: Vec<ExprId> = within.into_iter().collect();
                let (own, within) = (numbers(&exprs(own)), numbers(&within));
                let _ =
                    write!(html, "<span class=\"part\" data-e=\"{own}\" data-in=\"{within}\">{piece}</span>");
            }
        }
    }
    html + &close_line(line) + "</div>\n"
}

fn open_line(number: usize) -> String {
    format!("<div class=\"line\"><span class=\"number\">{number}</span><span>")
}
