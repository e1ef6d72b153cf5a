//! How deep the expressions of a query are.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion, TreeNodeVisitor};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use std::ops::ControlFlow;

/// The most levels of an expression: a sum of `n` terms has `n` of them. Planning takes time that grows with their square.
const MOST_LEVELS: usize = 1000;
/// The most tokens of a query without a comma between them, which are as many levels at most. Parsers recurse over them.
const MOST_TOKENS: usize = 10_000;

fn refused<T>(levels: &str) -> Result<T> {
    plan_err!(
        "an expression of the query is {levels} levels deep, and at most {MOST_LEVELS} are planned: a sum of many terms has a \
         level for each; compute parts of it in a subquery, or write it as one expression of `broadloom`"
    )
}

/// Refuses a text whose parts are too deep to be parsed. Other mistakes are those of the parser.
///
/// # Errors
/// Returns an error that says so.
pub fn check_text(sql: &str) -> Result<()> {
    let mut longest = 0;
    let mut tokens = 0;
    for token in Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default() {
        match token {
            Token::Comma | Token::SemiColon => tokens = 0,
            Token::Whitespace(_) => {}
            _ => tokens += 1,
        }
        longest = longest.max(tokens);
    }
    if longest > MOST_TOKENS { refused("many thousand") } else { Ok(()) }
}

/// Refuses a statement whose expressions are too deep to be planned.
///
/// # Errors
/// Returns an error that says so.
pub fn check_statement(statement: &Statement) -> Result<()> {
    let mut levels = Levels::default();
    let mut statement = statement;
    while let Statement::Explain(explained) = statement {
        statement = &explained.statement;
    }
    let _ = match statement {
        Statement::Statement(statement) => statement.visit(&mut levels),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => query.visit(&mut levels),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    if levels.most > MOST_LEVELS { refused(&levels.most.to_string()) } else { Ok(()) }
}

#[derive(Default)]
struct Levels {
    now: usize,
    most: usize,
}

impl Levels {
    fn enter(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }
}

impl Visitor for Levels {
    type Break = ();

    fn pre_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.enter();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.now -= 1;
        ControlFlow::Continue(())
    }
}

impl<'n> TreeNodeVisitor<'n> for Levels {
    type Node = Expr;

    fn f_down(&mut self, _: &'n Expr) -> Result<TreeNodeRecursion> {
        self.enter();
        Ok(TreeNodeRecursion::Continue)
    }

    fn f_up(&mut self, _: &'n Expr) -> Result<TreeNodeRecursion> {
        self.now -= 1;
        Ok(TreeNodeRecursion::Continue)
    }
}

/// The field of an expression, in the form of protocol buffers, that holds an operator and its operands, and those of its operands and
/// its name (`LogicalExprNode` and `BinaryExprNode` in `datafusion.proto` of datafusion-proto-models 55.2).
const OPERATOR: u32 = 4;
const OPERANDS: u32 = 1;
const NAME: u32 = 3;
/// The most messages inside of each other that are read (the limit of prost 0.14).
const MOST_MESSAGES: usize = 100;

/// Refuses the bytes of a plan with an expression that is too deep. Only chains of operators are: they are sent as lists, and messages
/// are not nested deeply. A plan that is built from longer ones takes time that grows with their square.
pub(crate) fn check_bytes(plan: &[u8]) -> Result<()> {
    let levels = levels(plan, false, MOST_MESSAGES).unwrap_or(0);
    if levels > 2 * MOST_LEVELS { refused(&levels.to_string()) } else { Ok(()) }
}

/// Returns the levels of the deepest expression in a message; `None` if bytes are not a message, but a text for instance.
fn levels(mut message: &[u8], is_operator: bool, most: usize) -> Option<usize> {
    let (mut operands, mut has_name, mut deepest) = (0, false, 0);
    while !message.is_empty() {
        let (field, kind) = decode_key(&mut message).ok()?;
        if kind != WireType::LengthDelimited {
            skip_field(kind, field, &mut message, DecodeContext::default()).ok()?;
            continue;
        }
        let length = usize::try_from(decode_varint(&mut message).ok()?).ok()?;
        let (part, rest) = message.split_at_checked(length)?;
        message = rest;
        operands += usize::from(field == OPERANDS);
        has_name |= field == NAME;
        if most > 0 {
            deepest = deepest.max(levels(part, field == OPERATOR, most - 1).unwrap_or(0));
        }
    }
    Some(deepest + if is_operator && has_name { operands } else { 0 })
}

/// Refuses a plan that is too deep, or whose expressions are.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    let mut levels = Levels::default();
    plan.apply_with_subqueries(|node| node.apply_expressions(|expr| expr.visit(&mut levels)))?;
    // A plan that passed the checks of a client may be a little deeper: the planner adds casts.
    if levels.most > 2 * MOST_LEVELS { refused(&levels.most.to_string()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::SessionContext;

    fn checked(sql: &str) -> Result<()> {
        check_text(sql)?;
        let state = SessionContext::new().state();
        check_statement(&state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?)
    }

    #[test]
    fn long_lists_are_no_depth_and_long_sums_are() {
        let sum = |terms: usize| vec!["x"; terms].join("+");
        assert!(checked(&format!("SELECT {} FROM t", sum(900))).is_ok());
        assert!(checked(&format!("SELECT x FROM t WHERE x IN ({})", vec!["1"; 50_000].join(", "))).is_ok());
        for sql in [
            format!("SELECT {} FROM t", sum(2000)),
            format!("EXPLAIN SELECT {} FROM t", sum(2000)),
            format!("COPY (SELECT {} FROM t) TO 'a.csv'", sum(2000)),
            format!("SELECT 1 WHERE EXISTS (SELECT {} FROM t)", sum(2000)),
            format!("SELECT {} FROM t", sum(200_000)),
        ] {
            let error = checked(&sql).unwrap_err().strip_backtrace();
            assert!(error.contains("levels deep"), "{error}");
        }
    }
}
