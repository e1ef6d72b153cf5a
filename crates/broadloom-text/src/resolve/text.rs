//! Columns of text, whose elements are codes: comparisons with texts, and the number of groups.

use super::call::Call;
use super::{Outcome, Resolver, Value};
use crate::error::{Mistake, NameOf, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Id, Name};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Literal;
use broadloom_ir::ops::Op;

/// The most texts of a column to list.
const MOST_TEXTS: usize = 10;

/// The meaning of a quoted text where no text is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    /// An unknown name.
    Name,
}

impl Resolver<'_> {
    /// The column of text and the code of the text, if the operands are such a pair.
    pub(super) fn compared_text(
        &mut self,
        left: &Value,
        right: &Value,
        operands: [Id; 2],
    ) -> Outcome<Option<[ExprId; 2]>> {
        let (column, text, span) = match (left, right) {
            (Value::Tensor(column), Value::Text(text, _)) => (*column, text, self.tree.span(operands[1])),
            (Value::Text(text, _), Value::Tensor(column)) => (*column, text, self.tree.span(operands[0])),
            _ => return Ok(None),
        };
        let Some(names) = self.texts.get(&column) else { return Ok(None) };
        let Ok(code) = names.binary_search(text) else {
            let problem = Problem::Unknown { of: NameOf::Text, name: text.clone() };
            let near = names::nearest(text, names.iter().map(|name| &**name));
            let few: Vec<&str> = names.iter().take(MOST_TEXTS).map(|name| &**name).collect();
            let more = if few.len() < names.len() { ", .." } else { "" };
            let help = match near {
                Some(near) => format!("did you mean '{near}'?"),
                None => format!("the column contains {few:?}{more}"),
            };
            return Err(Box::new(Mistake::new(problem, span).help(help)));
        };
        let literal = Literal::Int(code as i128);
        let code = self.build(span, |graph, site| graph.literal(literal, DType::I64, site))?;
        Ok(Some([column, code]))
    }

    /// Refuses arithmetic on columns of text, whose codes are not numbers, and comparisons of two columns with
    /// different codes.
    pub(super) fn refuse_codes(&self, op: Option<Op>, operands: &[Id], span: Span) -> Outcome<()> {
        let of = |id: &Id| match self.value(*id) {
            Value::Tensor(expr) => self.texts.get(expr).copied(),
            _ => None,
        };
        let is_comparison = matches!(op, Some(Op::Equal | Op::NotEqual));
        if is_comparison {
            let mut columns = operands.iter().filter_map(of);
            let (Some(left), Some(right)) = (columns.next(), columns.next()) else { return Ok(()) };
            if left == right {
                return Ok(());
            }
            let what = "the codes of these columns stand for different texts";
            let help = "compare each with a text, or encode both columns with the same texts first";
            return Err(Box::new(Mistake::new(Problem::Program { what }, span).help(help)));
        }
        let Some(column) = operands.iter().find(|id| of(id).is_some()) else { return Ok(()) };
        let span = self.tree.span(*column);
        let problem = Problem::Kind { expected: "numbers", found: "a column of text" };
        let code = format!("{}.astype(i64)", self.source.slice(span));
        Err(Box::new(Mistake::new(problem, span).help(format!(
            "compare it with a text, or group by it; for its codes as numbers, write `{code}`"
        ))))
    }

    /// The number of groups, which is known for a column of text.
    pub(super) fn segments(&self, call: &Call, ids: ExprId) -> Outcome<Dim> {
        match (call.get("segments"), self.texts.get(&ids)) {
            (Some(segments), _) => self.size(segments),
            (None, Some(names)) => Ok(Dim::constant(names.len() as i64)),
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
