//! Parses tokens into the syntax tree: statements here, expressions in [`expression`].

mod expression;
mod loops;

use crate::error::{Limit, Mistake, Problem};
use crate::source::{Source, Span};
use crate::syntax::{Action, Broken, Expr, Fact, Id, Infix, InputSize, Kind, Name, Statement, Tree};
use crate::token::{Spanned, Token, tokens};
use crate::{Limits, MAX_MISTAKES};

/// Returns all that could be parsed of a text from a position on, which is inside of this many loops, and the mistakes in the
/// rest.
///
/// # Errors
/// A text beyond the limits.
pub(crate) fn parse(
    source: &Source,
    from: usize,
    loops: usize,
    limits: &Limits,
) -> Result<(Tree, Vec<Mistake>), Mistake> {
    let text = source.text.get(from..).unwrap_or("");
    if text.len() > limits.length {
        return Err(Mistake::limit(Limit::Length, limits.length, Span { start: from, end: from }));
    }
    let tokens = tokens(text, from, limits.tokens)?;
    let end = from + text.trim_end().len();
    let mut parser = Parser { source, limits, tokens, next: 0, depth: 0, loops, end, tree: Tree::default() };
    let mut mistakes = Vec::new();
    while parser.next < parser.tokens.len() && mistakes.len() < MAX_MISTAKES {
        if parser.eat(Token::End) {
            continue;
        }
        let start = parser.next;
        if let Err(mistake) = parser.statement() {
            mistakes.push(*mistake);
            parser.recover(start);
        }
    }
    Ok((parser.tree, mistakes))
}

type Parsed<T> = Result<T, Box<Mistake>>;

pub(crate) struct Parser<'a> {
    source: &'a Source,
    limits: &'a Limits,
    tokens: Vec<Spanned>,
    next: usize,
    depth: usize,
    /// The number of loops that have begun and not ended.
    loops: usize,
    /// The end of the text, to report what is missing there.
    end: usize,
    tree: Tree,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<Token> {
        self.tokens.get(self.next + ahead).map(|spanned| spanned.token)
    }

    /// The place of the next token.
    fn span(&self) -> Span {
        let end = Span { start: self.end, end: self.end };
        self.tokens.get(self.next).map_or(end, |spanned| spanned.span)
    }

    /// The place of the last token.
    fn previous(&self) -> Span {
        let previous = self.next.checked_sub(1).and_then(|previous| self.tokens.get(previous));
        previous.map_or_else(|| self.span(), |spanned| spanned.span)
    }

    fn eat(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    /// The text of the next token, if it is a name.
    fn peek_name(&self) -> Option<&str> {
        (self.peek() == Some(Token::Name)).then(|| self.source.slice(self.span()))
    }

    /// Whether the statement ends here.
    fn is_at_end(&self) -> bool {
        matches!(self.peek(), None | Some(Token::End))
    }

    fn unexpected<T>(&self, expected: &'static str) -> Parsed<T> {
        if self.peek() == Some(Token::Unknown) {
            let found = self.source.slice(self.span()).chars().next().unwrap_or(' ');
            return Err(Box::new(Mistake::new(Problem::Character { found }, self.span())));
        }
        let found = match self.peek() {
            None => "the end".into(),
            Some(Token::End) if self.source.slice(self.span()) != ";" => "the end of the line".into(),
            Some(_) => format!("`{}`", self.source.slice(self.span())).into(),
        };
        let span = match self.peek() {
            // A line end cannot be marked.
            Some(Token::End) => Span { start: self.previous().end, end: self.previous().end },
            _ => self.span(),
        };
        Err(Box::new(Mistake::new(Problem::Unexpected { found, expected }, span)))
    }

    fn expect(&mut self, token: Token, expected: &'static str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { self.unexpected(expected) }
    }

    /// Closes a bracket that was opened at `open`.
    fn close(&mut self, token: Token, open: Span, expected: &'static str) -> Parsed<()> {
        if self.eat(token) {
            return Ok(());
        }
        if self.is_at_end() {
            return Err(Box::new(Mistake::new(Problem::Unclosed, open)));
        }
        self.refuse_habits()?;
        self.unexpected(expected)
    }

    fn push(&mut self, kind: Kind, span: Span) -> Id {
        self.tree.exprs.push(Expr { kind, span });
        // There are fewer expressions than tokens, and at most as many tokens as bytes.
        Id((self.tree.exprs.len() - 1) as u32)
    }

    /// A name, or one in quotes.
    fn name(&mut self, expected: &'static str) -> Parsed<Name> {
        let span = self.span();
        let text = match self.peek() {
            Some(Token::Name) => self.source.slice(span),
            Some(Token::Quoted) => self.source.slice(span).trim_matches('"'),
            _ => return self.unexpected(expected),
        };
        let text = text.into();
        self.next += 1;
        Ok(Name { text, span })
    }

    /// Ends a statement that began at `start` with the expression `first`.
    fn end_statement(&mut self, action: Action, start: Span, first: usize) {
        let span = start.to(self.previous());
        let exprs = first as u32..self.tree.exprs.len() as u32;
        self.tree.statements.push(Statement { action, span, exprs });
    }

    fn statement(&mut self) -> Parsed<()> {
        let (start, mut first) = (self.span(), self.tree.exprs.len());
        let keyword = self.peek_name().unwrap_or("").to_owned();
        let is_named = matches!(self.peek_at(1), Some(Token::Name | Token::Quoted));
        let action = match keyword.as_str() {
            "symbols" | "parameters" if is_named => {
                self.next += 1;
                let mut names = vec![self.name("a name")?];
                while self.eat(Token::Comma) {
                    names.push(self.name("a name")?);
                }
                if keyword == "symbols" { Action::Symbols(names) } else { Action::Parameters(names) }
            }
            "assume"
                if is_named
                    || matches!(self.peek_at(1), Some(Token::Int | Token::Minus | Token::ParenOpen)) =>
            {
                self.next += 1;
                // Each fact is a statement, because the meaning of a symbol may change from one to the next.
                let mut fact = self.fact()?;
                while self.eat(Token::Comma) {
                    self.end_statement(Action::Assume(fact), start, first);
                    first = self.tree.exprs.len();
                    fact = self.fact()?;
                }
                Action::Assume(fact)
            }
            "input" if is_named => {
                self.next += 1;
                self.input()?
            }
            "let" | "output" | "assign" if is_named => {
                self.next += 1;
                let (name, value) = self.definition()?;
                match keyword.as_str() {
                    "let" => Action::Let { name, value },
                    "output" => Action::Output { name, value },
                    _ => Action::Assign { name, value },
                }
            }
            "for" if is_named => self.loop_over_rows()?,
            "loop" if is_named => self.loop_with()?,
            "break" | "continue" | "if" | "return"
                if self.loops > 0 && self.peek_at(1) != Some(Token::Equal) =>
            {
                return self.refuse_jump(&keyword);
            }
            "while" if self.peek_at(1) != Some(Token::Equal) && self.peek_at(1).is_some() => {
                return self.loop_while(start, first);
            }
            "next" | "stack" if self.loops > 0 && is_named => {
                self.next += 1;
                let (name, value) = self.definition()?;
                if keyword == "next" { Action::Next { name, value } } else { Action::Stack { name, value } }
            }
            "end" if self.loops > 0 && matches!(self.peek_at(1), None | Some(Token::End)) => {
                self.next += 1;
                self.loops -= 1;
                Action::End
            }
            _ if self.names_defined(self.next) > 0 => {
                let (name, value) = self.definition()?;
                Action::Output { name, value }
            }
            _ => Action::Result(self.expression()?),
        };
        self.require_end()?;
        self.end_statement(action, start, first);
        Ok(())
    }

    /// Requires that the statement ends here.
    fn require_end(&self) -> Parsed<()> {
        if self.is_at_end() {
            return Ok(());
        }
        self.refuse_habits()?;
        self.unexpected("an operator, `;` or the end of the line")
    }

    /// Skips the rest of a statement with a mistake, which began at the token `start`. Records the names that it
    /// would have defined, so that their uses are not reported too.
    fn recover(&mut self, start: usize) {
        self.depth = 0;
        while !self.is_at_end() {
            self.next += 1;
        }
        let first = self.tree.statements.iter().rev().take(2).map(|statement| statement.exprs.end).max();
        let first = first.unwrap_or(0);
        self.tree.exprs.truncate(first as usize);
        let tokens = self.tokens.get(start..self.next).unwrap_or(&[]);
        let name = |spanned: &Spanned| {
            let text = self.source.slice(spanned.span).trim_matches('"').into();
            let is_name = matches!(spanned.token, Token::Name | Token::Quoted);
            is_name.then_some(Name { text, span: spanned.span })
        };
        let defined = |from: usize| {
            let count = 2 * self.names_defined(start + from);
            tokens.iter().skip(from).take(count).filter_map(name).collect()
        };
        let keyword = tokens.first().and_then(name).map(|name| name.text);
        let (of, names): (_, Vec<Name>) = match (keyword.as_deref(), tokens) {
            (Some("symbols" | "parameters"), [_, rest @ ..]) => {
                (Broken::Symbols, rest.iter().filter_map(name).collect())
            }
            (Some("assume"), _) => (Broken::Fact, Vec::new()),
            (Some("while"), _)
                if self.loops > 0 && !tokens.iter().any(|token| self.source.slice(token.span) == "with") =>
            {
                (Broken::Condition, Vec::new())
            }
            (Some("for" | "while" | "loop"), _) => {
                self.loops += 1;
                // Some of these are the names of what the loop carries; those of others have a meaning.
                (Broken::Loop, tokens.iter().filter_map(name).collect())
            }
            _ if self.names_defined(start) > 0 => (Broken::Other, defined(0)),
            (Some("let" | "output"), _) if self.names_defined(start + 1) > 0 => (Broken::Other, defined(1)),
            (Some("input" | "let" | "output"), [_, second, ..]) => {
                (Broken::Other, name(second).into_iter().collect())
            }
            _ => (Broken::Other, Vec::new()),
        };
        let span = tokens.first().map_or(self.previous(), |spanned| spanned.span).to(self.previous());
        self.tree.statements.push(Statement {
            action: Action::Broken { names, of },
            span,
            exprs: first..first,
        });
    }

    /// How many names stand before an `=`: `a = ..`, and `a, b = ..` as Python has it.
    fn names_defined(&self, start: usize) -> usize {
        let tokens = self.tokens.get(start..).unwrap_or(&[]);
        let is_name = |spanned: &Spanned| matches!(spanned.token, Token::Name | Token::Quoted);
        let names = tokens.chunks(2).take_while(|pair| pair.first().is_some_and(is_name));
        let mut ends = names.map(|pair| pair.get(1).map(|spanned| spanned.token)).enumerate();
        match ends.find(|(_, end)| *end != Some(Token::Comma)) {
            Some((commas, Some(Token::Equal))) => commas + 1,
            _ => 0,
        }
    }

    fn definition(&mut self) -> Parsed<(Name, Id)> {
        let several = self.names_defined(self.next);
        let name = self.name("a name")?;
        if several > 1 {
            let problem = Problem::Program { what: "a definition has one name" };
            let help = format!("select one of several results by its number: `{} = ..[0]`", name.text);
            return Err(Box::new(Mistake::new(problem, self.span()).help(help)));
        }
        self.expect(Token::Equal, "`=`")?;
        Ok((name, self.expression()?))
    }

    fn fact(&mut self) -> Parsed<Fact> {
        let start = self.span();
        let is_hint = self.peek_name() == Some("likely") && self.peek_at(1) == Some(Token::ParenOpen);
        self.next += usize::from(is_hint);
        let left = self.arithmetic()?;
        let Some(relation) = self.peek().and_then(expression::comparison) else {
            return self.unexpected("a comparison: `==`, `>=` or `<=`");
        };
        self.next += 1;
        let right = self.arithmetic()?;
        if self.peek().and_then(expression::comparison).is_some() {
            return Err(self.chained(start));
        }
        if !matches!(
            relation,
            Infix::Equal | Infix::LessEqual | Infix::GreaterEqual | Infix::Less | Infix::Greater
        ) || is_hint && relation != Infix::Equal
        {
            let what = "a fact is an equality or a bound: `==`, `>=`, `<=`, `>` or `<`";
            return Err(Box::new(Mistake::new(Problem::Program { what }, start.to(self.previous()))));
        }
        Ok(Fact { is_hint, left, relation, right, span: start.to(self.previous()) })
    }

    fn input(&mut self) -> Parsed<Action> {
        let name = self.name("the name of an input")?;
        self.expect(Token::Colon, "`:` and the dtype, as in `x: f32[n, 3]`")?;
        if self.peek() != Some(Token::Name) {
            return self.unexpected("a dtype");
        }
        let dtype = self.name("a dtype")?;
        let mut sizes = Vec::new();
        let open = self.span();
        if self.eat(Token::BracketOpen) {
            while self.peek() != Some(Token::BracketClose) {
                sizes.push(if self.peek_name() == Some("_") {
                    self.next += 1;
                    InputSize::Inferred
                } else if self.eat(Token::Hash) {
                    InputSize::OneOr(self.arithmetic()?)
                } else {
                    InputSize::Given(self.arithmetic()?)
                });
                if !self.eat(Token::Comma) {
                    break;
                }
            }
            self.close(Token::BracketClose, open, "`,` or `]`")?;
        }
        Ok(Action::Input { name, dtype, sizes })
    }
}
