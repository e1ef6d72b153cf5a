//! In which order statements are read, and which names a program leaves to be given.

use crate::names;
use crate::syntax::{Action, Id, Infix, Kind, Statement, Tree};
use std::collections::HashSet;

/// The statements in their order, but of facts beside each other first those of one symbol alone: their order says nothing,
/// and an equality uses the symbols in it, of which nothing new can be stated then.
pub(super) fn in_order(tree: &Tree) -> Vec<&Statement> {
    let is_fact = |statement: &Statement| matches!(statement.action, Action::Assume(_));
    let of_one = |statement: &Statement| match &statement.action {
        Action::Assume(fact) => {
            let is_number = |id: Id| matches!(tree.expr(id).kind, Kind::Literal(_));
            let is_remainder = matches!(tree.expr(fact.left).kind, Kind::Infix(Infix::Remainder, ..));
            let is_bound = fact.relation != Infix::Equal && (is_number(fact.left) || is_number(fact.right));
            is_bound || is_remainder || fact.is_hint
        }
        _ => true,
    };
    let mut order: Vec<&Statement> = tree.statements.iter().collect();
    for facts in order.chunk_by_mut(|left, right| is_fact(left) && is_fact(right)) {
        facts.sort_by_key(|statement| !of_one(statement));
    }
    order
}

/// The names that are used and neither declared nor defined, in order, and whether each is a constant.
pub(crate) fn undefined(tree: &Tree) -> impl Iterator<Item = (&str, bool)> {
    let mut known: HashSet<&str> = HashSet::from(["_", "newaxis"]);
    let mut undefined = Vec::new();
    for statement in &tree.statements {
        let takes_sizes = matches!(statement.action, Action::Input { .. } | Action::Assume(_));
        let exprs = &tree.exprs[statement.exprs.start as usize..statement.exprs.end as usize];
        for expr in exprs {
            let Kind::Name { text: name, is_quoted } = &expr.kind else { continue };
            if takes_sizes {
                known.insert(name);
            } else if names::dtype(name).is_none() && known.insert(name) {
                undefined.push((&**name, !is_quoted && names::constant(name).is_some()));
            }
        }
        match &statement.action {
            Action::Symbols(names) | Action::Parameters(names) => {
                known.extend(names.iter().map(|name| &*name.text));
            }
            Action::Input { name, .. } | Action::Let { name, .. } | Action::Output { name, .. } => {
                known.insert(&name.text);
            }
            Action::Broken { names, .. } => known.extend(names.iter().map(|name| &*name.text)),
            Action::Assume(_) | Action::Assign { .. } | Action::Result(_) => {}
        }
    }
    undefined.into_iter()
}
