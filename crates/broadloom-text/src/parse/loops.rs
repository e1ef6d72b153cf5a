//! Parses the headers of loops: `for t in range(n) with u = x`, `for row in x with total = 0.0`, `while u > 1 with u = x`.

use super::{Parsed, Parser};
use crate::error::{Mistake, Problem};
use crate::source::Span;
use crate::syntax::{Action, Header, Id, Name, Statement, StepsOf};
use crate::token::Token;

impl Parser<'_> {
    /// A loop whose steps are counted.
    pub(super) fn loop_over_rows(&mut self) -> Parsed<Action> {
        self.next += 1;
        let mut names = vec![self.name("a name")?];
        while self.eat(Token::Comma) {
            names.push(self.name("a name")?);
        }
        if self.peek_name() != Some("in") {
            return self.unexpected("`in`, as in `for t in range(10) with u = x`");
        }
        self.next += 1;
        let start = self.span();
        let function = match (self.peek_name(), self.peek_at(1)) {
            (Some(function @ ("range" | "enumerate" | "zip")), Some(Token::ParenOpen)) => function.to_owned(),
            _ => String::new(),
        };
        let arrays = match function.is_empty() {
            true => vec![self.expression()?],
            false => {
                self.next += 1;
                let open = self.span();
                self.next += 1;
                self.list(Token::ParenClose, open)?.0
            }
        };
        let steps = self.steps(&function, names, &arrays, start)?;
        let carried = self.carried()?;
        self.refuse_colon()?;
        self.loops += 1;
        Ok(Action::Loop(Header { steps, carried }))
    }

    fn steps(&self, function: &str, names: Vec<Name>, arrays: &[Id], start: Span) -> Parsed<StepsOf> {
        let refuse = |what: &'static str, help: &str| {
            let span = start.to(self.previous());
            Err(Box::new(Mistake::new(Problem::Program { what }, span).help(help)))
        };
        let mut names = names.into_iter();
        let counter = match function {
            "range" | "enumerate" => names.next(),
            _ => None,
        };
        match (function, counter, arrays) {
            ("range", Some(counter), &[count]) if names.len() == 0 => Ok(StepsOf::Range { counter, count }),
            ("range", ..) => refuse(
                "`range` takes the number of steps, which one name counts from 0",
                "write `for t in range(10)`",
            ),
            (_, counter, arrays) if names.len() == arrays.len() => {
                Ok(StepsOf::Rows { counter, rows: names.zip(arrays.iter().copied()).collect() })
            }
            ("enumerate", ..) => refuse(
                "`enumerate` takes as many arrays as there are names after the first, which counts",
                "write `for t, a, b in enumerate(x, y)`",
            ),
            _ => refuse(
                "there are as many names as arrays, whose rows they stand for",
                "write `for row in x`, or `for a, b in zip(x, y)`",
            ),
        }
    }

    /// The values that a loop carries: `with u = x, v = 0`.
    fn carried(&mut self) -> Parsed<Vec<(Name, Id)>> {
        let mut carried = Vec::new();
        if self.peek_name() != Some("with") {
            return Ok(carried);
        }
        self.next += 1;
        loop {
            carried.push(self.definition()?);
            if !self.eat(Token::Comma) {
                return Ok(carried);
            }
        }
    }

    /// A loop whose condition is a statement in it: `loop with u = x`.
    pub(super) fn loop_with(&mut self) -> Parsed<Action> {
        self.next += 1;
        if self.peek_name() != Some("with") {
            return self.unexpected("`with`, as in `loop with u = x`");
        }
        let carried = self.carried()?;
        self.refuse_colon()?;
        self.loops += 1;
        Ok(Action::Loop(Header { steps: StepsOf::While, carried }))
    }

    /// A loop with a condition, which is a statement after that of the loop: it depends on the carried values. Without any, it
    /// is the condition of the loop around it.
    pub(super) fn loop_while(&mut self, start: Span, first: usize) -> Parsed<()> {
        self.next += 1;
        let condition = self.expression()?;
        let of_condition = self.tree.exprs.len();
        let carried = self.carried()?;
        self.refuse_colon()?;
        if carried.is_empty() && self.loops > 0 {
            self.require_end()?;
            self.end_statement(Action::While(condition), start, first);
            return Ok(());
        }
        if carried.is_empty() {
            let help = "name the values that change from step to step: `while u > 1 with u = x`";
            let problem = Problem::Program { what: "a condition needs values that the loop carries" };
            return Err(Box::new(Mistake::new(problem, start.to(self.previous())).help(help)));
        }
        self.require_end()?;
        self.loops += 1;
        let span = self.tree.span(condition);
        let exprs = of_condition as u32..self.tree.exprs.len() as u32;
        let action = Action::Loop(Header { steps: StepsOf::While, carried });
        self.tree.statements.push(Statement { action, span: start.to(self.previous()), exprs });
        // The loop comes first, although its condition was read first.
        let exprs = first as u32..of_condition as u32;
        self.tree.statements.push(Statement { action: Action::While(condition), span, exprs });
        Ok(())
    }

    /// Refuses the colon that ends the first line of a loop in Python.
    fn refuse_colon(&self) -> Parsed<()> {
        if self.peek() != Some(Token::Colon) {
            return Ok(());
        }
        let problem = Problem::Habit { what: "the first line of a loop ends without a colon".into() };
        let mistake =
            Mistake::new(problem, self.span()).help("remove the `:`, and write `end` after the steps");
        Err(Box::new(mistake))
    }

    /// Refuses statements of Python that leave a loop or choose among its statements.
    pub(super) fn refuse_jump<T>(&self, keyword: &str) -> Parsed<T> {
        let (what, help) = match keyword {
            "if" => (
                "`if` does not choose statements: each step runs all of them",
                "choose a value: `next u = where(u > 1, u / 2, u)`",
            ),
            "continue" => (
                "`continue` does not skip statements: each step runs all of them",
                "keep a value where nothing is to change: `next u = where(u > 1, u / 2, u)`",
            ),
            _ => (
                "a loop has no `break` and no `return`: it ends after its steps, or by its condition",
                "state when it goes on: `while u > 1 with u = x`",
            ),
        };
        Err(Box::new(Mistake::new(Problem::Habit { what: what.into() }, self.span()).help(help)))
    }
}
