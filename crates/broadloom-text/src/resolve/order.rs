//! The order in which statements are resolved, and the names that a program leaves undefined.

use crate::names;
use crate::syntax::{Action, Expr, Header, Id, Infix, Kind, Statement, StepsOf, Tree};
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

/// Returns the names that are used as values but neither declared nor defined, in order, and whether each has a meaning
/// of its own: constants and dtypes.
pub(crate) fn undefined(tree: &Tree) -> impl Iterator<Item = (&str, bool)> {
    let mut known: HashSet<&str> = HashSet::from(["_", "newaxis"]);
    let mut undefined = Vec::new();
    for statement in &tree.statements {
        let takes_sizes = matches!(statement.action, Action::Input { .. } | Action::Assume(_));
        let exprs = &tree.exprs[statement.exprs.start as usize..statement.exprs.end as usize];
        let dtypes: HashSet<Id> = exprs.iter().flat_map(dtype_arguments).collect();
        for (id, expr) in (statement.exprs.start..).map(Id).zip(exprs) {
            let Kind::Name { text: name, is_quoted } = &expr.kind else { continue };
            if takes_sizes {
                known.insert(name);
                continue;
            }
            let is_dtype = names::dtype(name).is_some();
            if !(is_dtype && dtypes.contains(&id)) && known.insert(name) {
                undefined.push((&**name, !is_quoted && (is_dtype || names::constant(name).is_some())));
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
            Action::Loop(Header { steps, carried }) => {
                let (counter, rows) = match steps {
                    StepsOf::Range { counter, .. } => (Some(counter), &[][..]),
                    StepsOf::Rows { counter, rows } => (counter.as_ref(), &rows[..]),
                    StepsOf::While => (None, &[][..]),
                };
                let named = rows.iter().chain(carried).map(|(name, _)| name);
                known.extend(named.chain(counter).map(|name| &*name.text));
            }
            Action::Stack { name, .. } => {
                known.insert(&name.text);
            }
            Action::Assume(_)
            | Action::Assign { .. }
            | Action::Result(_)
            | Action::While(_)
            | Action::Next { .. }
            | Action::End => {}
        }
    }
    undefined.into_iter()
}

/// Returns the names that are written in double quotes only, as operands of comparisons or in lists of those.
pub(crate) fn compared_in_quotes(tree: &Tree) -> HashSet<&str> {
    let mut compared: HashSet<Id> = HashSet::new();
    for expr in tree.exprs.iter() {
        match &expr.kind {
            Kind::Infix(Infix::Equal | Infix::NotEqual, left, right) => compared.extend([*left, *right]),
            Kind::Call { name, receiver, arguments } => {
                let own = names::own_name(&name.text);
                if matches!(own, Some("equal" | "not_equal" | "isin" | "array_equal")) {
                    compared.extend(receiver.iter().copied().chain(arguments.iter().map(|of| of.value)));
                }
            }
            _ => {}
        }
    }
    let items = |id: &Id| match &tree.expr(*id).kind {
        Kind::List(items) | Kind::Tuple(items) => items.clone(),
        _ => Vec::new(),
    };
    let of_lists: Vec<Id> = compared.iter().flat_map(items).collect();
    compared.extend(of_lists);
    let (mut texts, mut others) = (HashSet::new(), HashSet::new());
    for (id, expr) in (0..).map(Id).zip(tree.exprs.iter()) {
        if let Kind::Name { text, is_quoted } = &expr.kind {
            let names = if *is_quoted && compared.contains(&id) { &mut texts } else { &mut others };
            names.insert(&**text);
        }
    }
    &texts - &others
}

/// Returns the arguments of a call that stand where a function takes a dtype, in the language's order or in NumPy's.
fn dtype_arguments(expr: &Expr) -> Vec<Id> {
    const DTYPE: &str = "dtype";
    let Kind::Call { name, receiver, arguments } = &expr.kind else { return Vec::new() };
    let Some((function, own, parameters)) = names::function(&name.text) else { return Vec::new() };
    let by_position = parameters.iter().filter(|parameter| !parameter.contains('='));
    let orders = [
        Some(by_position.copied().map(names::bare).collect()),
        names::numpy_order(function, own, &parameters),
    ];
    let is_dtype =
        |position: usize| orders.iter().flatten().any(|order: &Vec<_>| order.get(position) == Some(&DTYPE));
    let by_keyword = arguments.iter().filter(|argument| {
        argument.keyword.as_ref().is_some_and(|keyword| names::keyword(&keyword.text) == DTYPE)
    });
    let positional = arguments.iter().filter(|argument| argument.keyword.is_none());
    let positional = receiver.iter().copied().chain(positional.map(|argument| argument.value));
    let at_position = positional.enumerate().filter(|(position, _)| is_dtype(*position)).map(|(_, id)| id);
    at_position.chain(by_keyword.map(|argument| argument.value)).collect()
}
