//! What the text tells of a warning, and the graph does not.

use super::Resolver;
use crate::names::{self, Arrange, Function, Several};
use crate::source::Span;
use crate::syntax::{Id, Infix, Item, Kind};
use broadloom_ir::diagnostics::{Diagnostic, Ones, Problem as GraphProblem};

impl Resolver<'_> {
    /// A difference of operands that broadcast is meant as a table of all pairs if it adds the axis itself, as `x[:, None] - y`
    /// does. If its operand has the axis from elsewhere, such as predictions with one column, it is likely to be a mistake.
    pub(super) fn with_meaning(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        let span = self.sites.span(diagnostic.site);
        if let GraphProblem::Pointwise { ones: ones @ Ones::Added, .. } = &mut diagnostic.problem
            && span.is_some_and(|span| self.takes_axes_from_elsewhere(span))
        {
            *ones = Ones::Given;
        }
        diagnostic
    }

    /// Whether a difference is at this place whose operands do not add axes.
    fn takes_axes_from_elsewhere(&self, span: Span) -> bool {
        let at = |id: &Id| self.tree.span(*id) == span;
        let ids = (0..self.tree.exprs.len()).rev().map(|number| Id(number as u32));
        let mut waiting = match ids.filter(at).map(|id| &self.tree.expr(id).kind).next() {
            Some(Kind::Infix(Infix::Subtract, left, right)) => vec![*left, *right],
            _ => return false,
        };
        while let Some(id) = waiting.pop() {
            match &self.tree.expr(id).kind {
                Kind::Index { base, items } => {
                    let is_new = |item: &Item| match item {
                        Item::At(id) => match &self.tree.expr(*id).kind {
                            Kind::None => true,
                            Kind::Name { text, .. } => &**text == "newaxis",
                            _ => false,
                        },
                        Item::Range { .. } => false,
                    };
                    if items.iter().any(|(item, _)| is_new(item)) {
                        return false;
                    }
                    waiting.push(*base);
                }
                Kind::Infix(Infix::MatMul, ..) => {}
                Kind::Infix(_, left, right) => waiting.extend([*left, *right]),
                Kind::Prefix(_, operand) => waiting.push(*operand),
                Kind::Attribute { base, .. } => waiting.push(*base),
                Kind::Call { name, receiver, arguments } => match names::function(&name.text) {
                    Some((
                        Function::Reshape
                        | Function::ExpandDims
                        | Function::BroadcastTo
                        | Function::Joined(_)
                        | Function::Arrange(Arrange::AtLeast(_))
                        | Function::Several(Several::Meshgrid),
                        ..,
                    )) => return false,
                    Some((Function::Elementwise(_) | Function::Composed(_) | Function::Cast, ..)) => {
                        waiting.extend(receiver);
                        waiting.extend(arguments.iter().map(|argument| argument.value));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        true
    }
}
