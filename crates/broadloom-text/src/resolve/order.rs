//! The order in which statements are resolved, and the names that a program leaves undefined.

use crate::names;
use crate::syntax::{Action, Id, Infix, Kind, Statement, Tree};
use std::collections::HashSet;

/// Returns the statements in order, except that among adjacent facts those about a single symbol come first. Their
/// order has no meaning, and an equality uses its symbols, after which no facts about them are accepted.
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

/// Returns the names that are used but neither declared nor defined, in order, and whether each is a constant.
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
