//! Parses expressions by precedence climbing, with Python's operators, precedence and associativity.

use super::{Parsed, Parser};
use crate::error::{Limit, Mistake, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Argument, Id, Infix, Item, Kind, Name, Prefix};
use crate::token::Token;
use broadloom_ir::graph::Literal;

/// How tightly operators bind, from the loosest.
const COMPARISON: u8 = 1;
const OR: u8 = 2;
const XOR: u8 = 3;
const AND: u8 = 4;
const SHIFT: u8 = 5;
const SUM: u8 = 6;
const PRODUCT: u8 = 7;
const PREFIX: u8 = 8;
const POWER: u8 = 9;

/// Modules whose functions the language has.
const MODULES: &[&str] = &["np", "numpy", "scipy", "math"];
const SUBMODULES: &[&str] = &["linalg", "special", "lib", "stride_tricks"];
/// Modules within those whose functions the language lacks; each gets a message of its own.
const FOREIGN: &[&str] = &["random", "fft", "stats"];

/// The comparison of a token.
pub(super) fn comparison(token: Token) -> Option<Infix> {
    Some(match token {
        Token::EqualEqual => Infix::Equal,
        Token::NotEqual => Infix::NotEqual,
        Token::Less => Infix::Less,
        Token::LessEqual => Infix::LessEqual,
        Token::Greater => Infix::Greater,
        Token::GreaterEqual => Infix::GreaterEqual,
        _ => return None,
    })
}

/// The binary operator of a token, and how tightly it binds.
fn infix(token: Token) -> Option<(Infix, u8)> {
    if let Some(comparison) = comparison(token) {
        return Some((comparison, COMPARISON));
    }
    Some(match token {
        Token::Or => (Infix::Or, OR),
        Token::Caret => (Infix::Xor, XOR),
        Token::And => (Infix::And, AND),
        Token::ShiftLeft => (Infix::ShiftLeft, SHIFT),
        Token::ShiftRight => (Infix::ShiftRight, SHIFT),
        Token::Plus => (Infix::Add, SUM),
        Token::Minus => (Infix::Subtract, SUM),
        Token::Star => (Infix::Multiply, PRODUCT),
        Token::At => (Infix::MatMul, PRODUCT),
        Token::Slash => (Infix::Divide, PRODUCT),
        Token::SlashSlash => (Infix::FloorDivide, PRODUCT),
        Token::Percent => (Infix::Remainder, PRODUCT),
        Token::StarStar => (Infix::Power, POWER),
        _ => return None,
    })
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed<Id> {
        self.climb(COMPARISON)
    }

    /// An expression without comparison.
    pub(super) fn arithmetic(&mut self) -> Parsed<Id> {
        self.climb(OR)
    }

    /// An expression whose operators bind at least this tightly.
    fn climb(&mut self, least: u8) -> Parsed<Id> {
        self.depth += 1;
        if self.depth > self.limits.nesting {
            return Err(Box::new(Mistake::limit(Limit::Nesting, self.limits.nesting, self.span())));
        }
        let mut left = self.prefix()?;
        while let Some((operator, binds)) = self.peek().and_then(infix).filter(|(_, binds)| *binds >= least) {
            self.next += 1;
            // A power binds less tightly than a sign on its right, and associates to the right.
            let right = self.climb(if binds == POWER { PREFIX } else { binds + 1 })?;
            let span = self.tree.span(left).to(self.tree.span(right));
            left = self.push(Kind::Infix(operator, left, right), span);
            if binds == COMPARISON && self.peek().and_then(comparison).is_some() {
                return Err(self.combined(left).unwrap_or_else(|| self.chained(span)));
            }
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The mistake `a < b & c < d` of people in whose language `&` binds less tightly; its second comparison comes next. `None` for
    /// other chains.
    fn combined(&mut self, first: Id) -> Option<Box<Mistake>> {
        let written = |parser: &Self, id: Id| parser.source.slice(parser.tree.span(id)).to_owned();
        let Kind::Infix(_, left, middle) = self.tree.expr(first).kind else { return None };
        let Kind::Infix(combines, a, b) = self.tree.expr(middle).kind else { return None };
        let sign = match combines {
            Infix::And => "&",
            Infix::Or => "|",
            _ => return None,
        };
        // In parentheses, it is meant as it stands.
        if self.source.slice(self.tree.span(middle)).starts_with('(') {
            return None;
        }
        let (start, between) = (self.tree.span(left).start, self.tree.span(a).end);
        let first = self.source.slice(Span { start, end: between }).to_owned();
        let relation = self.source.slice(self.span()).to_owned();
        self.next += 1;
        let right = self.climb(COMPARISON + 1).ok()?;
        let span = Span { start, end: start }.to(self.tree.span(right));
        let what = format!("`{sign}` binds more tightly than comparisons, as in Python").into();
        let (second, last) = (written(self, b), written(self, right));
        let help = format!("put both in parentheses: `({first}) {sign} ({second} {relation} {last})`");
        Some(Box::new(Mistake::new(Problem::Habit { what }, span).help(help)))
    }

    /// The mistake `a < b < c`; its second comparison comes next.
    pub(super) fn chained(&self, start: Span) -> Box<Mistake> {
        let what = "comparisons cannot be chained".into();
        let mistake = Mistake::new(Problem::Habit { what }, start.to(self.span()));
        Box::new(mistake.help("write both, in parentheses: `(a < b) & (b < c)`; in `assume`, with a comma"))
    }

    fn prefix(&mut self) -> Parsed<Id> {
        let start = self.span();
        let operator = match self.peek() {
            Some(Token::Minus) => Prefix::Negative,
            Some(Token::Plus) => Prefix::Positive,
            Some(Token::Tilde) => Prefix::Invert,
            _ => return self.postfix(),
        };
        self.next += 1;
        let operand = self.climb(PREFIX)?;
        Ok(self.push(Kind::Prefix(operator, operand), start.to(self.tree.span(operand))))
    }

    /// An atom followed by calls, attributes and indices.
    fn postfix(&mut self) -> Parsed<Id> {
        let mut base = self.atom()?;
        loop {
            let start = self.tree.span(base);
            if self.eat(Token::Dot) {
                let name = self.attribute()?;
                let open = self.span();
                let kind = if self.eat(Token::ParenOpen) {
                    // The receiver is the first argument.
                    let text = names::text_parameter(&name.text);
                    let text = text.and_then(|(place, name)| Some((place.checked_sub(1)?, name)));
                    let arguments = self.arguments(open, text)?;
                    Kind::Call { name, receiver: Some(base), arguments }
                } else {
                    Kind::Attribute { base, name }
                };
                base = self.push(kind, start.to(self.previous()));
            } else if self.peek() == Some(Token::BracketOpen) {
                let open = self.span();
                self.next += 1;
                let items = self.items(open)?;
                base = self.push(Kind::Index { base, items }, start.to(self.previous()));
            } else if self.peek() == Some(Token::ParenOpen) {
                return self.unexpected("an operator, because only names can be called");
            } else {
                return Ok(base);
            }
        }
    }

    fn attribute(&mut self) -> Parsed<Name> {
        if self.peek() == Some(Token::Name) { self.name("a name") } else { self.unexpected("a name") }
    }

    fn atom(&mut self) -> Parsed<Id> {
        let span = self.span();
        match self.peek() {
            Some(Token::Int | Token::Float) => {
                let literal = self.number(span)?;
                self.next += 1;
                Ok(self.push(Kind::Literal(literal), span))
            }
            Some(Token::Ellipsis) => {
                self.next += 1;
                Ok(self.push(Kind::Ellipsis, span))
            }
            Some(Token::Quoted) => {
                let name = self.name("a name")?;
                Ok(self.push(Kind::Name { text: name.text, is_quoted: true }, span))
            }
            Some(Token::Name) => self.named(span),
            // A dtype as NumPy's users often write it.
            Some(Token::String) if names::dtype(self.source.slice(span).trim_matches('\'')).is_some() => {
                self.next += 1;
                let text = self.source.slice(span).trim_matches('\'').into();
                Ok(self.push(Kind::Name { text, is_quoted: true }, span))
            }
            // A text to compare with.
            Some(Token::String) if self.quoted().is_some() => {
                let text = self.quoted().unwrap_or_default();
                self.next += 1;
                Ok(self.push(Kind::Text(text), span))
            }
            Some(Token::ParenOpen) => {
                self.next += 1;
                let (items, is_tuple) = self.list(Token::ParenClose, span)?;
                match items.as_slice() {
                    // Parentheses belong to what they enclose, so that carets show them.
                    [inner] if !is_tuple => {
                        let inner = *inner;
                        self.tree.exprs[inner.0 as usize].span = span.to(self.previous());
                        Ok(inner)
                    }
                    _ => Ok(self.push(Kind::Tuple(items), span.to(self.previous()))),
                }
            }
            Some(Token::BracketOpen) => {
                self.next += 1;
                let (items, _) = self.list(Token::BracketClose, span)?;
                Ok(self.push(Kind::List(items), span.to(self.previous())))
            }
            _ => {
                self.refuse_habits()?;
                self.unexpected("an expression")
            }
        }
    }

    /// A constant, a name, or a call.
    fn named(&mut self, start: Span) -> Parsed<Id> {
        self.refuse_habits()?;
        let first = self.next;
        let is_module = |parser: &Self, name: &str| {
            MODULES.contains(&name)
                || SUBMODULES.contains(&name)
                || parser.next > first && FOREIGN.contains(&name)
        };
        while self.peek_name().is_some_and(|name| is_module(self, name))
            && self.peek_at(1) == Some(Token::Dot)
            && self.peek_at(2) == Some(Token::Name)
        {
            self.next += 2;
        }
        let name = self.name("a name")?;
        let name = self.with_method(name);
        if &*name.text == "symbols"
            && self.peek() == Some(Token::Dot)
            && matches!(self.peek_at(1), Some(Token::Name | Token::Quoted))
        {
            self.next += 1;
            let symbol = self.name("the name of a symbol")?;
            return Ok(self.push(Kind::Symbol(symbol), start.to(self.previous())));
        }
        let open = self.span();
        if self.eat(Token::ParenOpen) {
            let arguments = self.arguments(open, names::text_parameter(&name.text))?;
            let span = start.to(self.previous());
            return Ok(self.push(Kind::Call { name, receiver: None, arguments }, span));
        }
        let kind = match &*name.text {
            "True" => Kind::Literal(Literal::Bool(true)),
            "False" => Kind::Literal(Literal::Bool(false)),
            "None" => Kind::None,
            _ => Kind::Name { text: name.text, is_quoted: false },
        };
        Ok(self.push(kind, start.to(name.span)))
    }

    /// The name of a function's method, as in `maximum.accumulate(x)`, which is a function too.
    fn with_method(&mut self, function: Name) -> Name {
        if self.peek() != Some(Token::Dot) || self.peek_at(2) != Some(Token::ParenOpen) {
            return function;
        }
        let Some(method) = self.tokens.get(self.next + 1).filter(|next| next.token == Token::Name) else {
            return function;
        };
        let text = format!("{}.{}", function.text, self.source.slice(method.span));
        if names::function(&text).is_none() {
            return function;
        }
        let span = function.span.to(method.span);
        self.next += 2;
        Name { text: text.into(), span }
    }

    /// The expressions up to a closing bracket, and whether there is a comma.
    pub(super) fn list(&mut self, end: Token, open: Span) -> Parsed<(Vec<Id>, bool)> {
        let mut items = Vec::new();
        let mut has_comma = false;
        while self.peek() != Some(end) {
            if self.is_at_end() {
                return Err(Box::new(Mistake::new(Problem::Unclosed, open)));
            }
            items.push(self.expression()?);
            if !self.eat(Token::Comma) {
                break;
            }
            has_comma = true;
        }
        self.close(end, open, if end == Token::ParenClose { "`,` or `)`" } else { "`,` or `]`" })?;
        Ok((items, has_comma))
    }

    /// The arguments of a call; the one at the position or with the name of `text` may be quoted.
    fn arguments(&mut self, open: Span, text: Option<(usize, &str)>) -> Parsed<Vec<Argument>> {
        let mut arguments: Vec<Argument> = Vec::new();
        while self.peek() != Some(Token::ParenClose) {
            if self.is_at_end() {
                return Err(Box::new(Mistake::new(Problem::Unclosed, open)));
            }
            let mut keyword = None;
            if self.peek() == Some(Token::Name) && self.peek_at(1) == Some(Token::Equal) {
                keyword = Some(self.name("a name")?);
                self.next += 1;
            } else if arguments.last().is_some_and(|argument| argument.keyword.is_some()) {
                let mistake = self.unexpected("a keyword argument, because positional arguments come first");
                return mistake.map_err(|mistake| Box::new(mistake.help("to compare, write `==`")));
            }
            let takes_text = text.is_some_and(|(position, text)| match &keyword {
                Some(keyword) => *keyword.text == *text,
                None => arguments.len() == position,
            });
            let value = match self.quoted().filter(|_| takes_text) {
                Some(text) => {
                    let span = self.span();
                    self.next += 1;
                    self.push(Kind::Text(text), span)
                }
                None => self.expression()?,
            };
            arguments.push(Argument { keyword, value });
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.close(Token::ParenClose, open, "`,` or `)`")?;
        Ok(arguments)
    }

    /// The quoted text of the next token, if it is a plain string.
    fn quoted(&self) -> Option<Box<str>> {
        let text = self.source.slice(self.span());
        let quote = match self.peek() {
            Some(Token::Quoted) => '"',
            Some(Token::String) => '\'',
            _ => return None,
        };
        text.strip_prefix(quote)?.strip_suffix(quote).map(Box::from)
    }

    fn items(&mut self, open: Span) -> Parsed<Vec<(Item, Span)>> {
        let mut items = Vec::new();
        while self.peek() != Some(Token::BracketClose) {
            if self.is_at_end() {
                return Err(Box::new(Mistake::new(Problem::Unclosed, open)));
            }
            let start = self.span();
            let first = self.bound()?;
            let item = if self.eat(Token::Colon) {
                let stop = self.bound()?;
                let step = if self.eat(Token::Colon) { self.bound()? } else { None };
                Item::Range { start: first, stop, step }
            } else {
                match first {
                    Some(index) => Item::At(index),
                    None => return self.unexpected("an index"),
                }
            };
            items.push((item, start.to(self.previous())));
            if !self.eat(Token::Comma) {
                break;
            }
        }
        if items.is_empty() {
            return self.unexpected("an index");
        }
        // As in Python, `x[(1, 0)]` is `x[1, 0]`, and not the rows 1 and 0.
        if let [(Item::At(alone), _)] = items[..]
            && let Kind::Tuple(parts) = &self.tree.exprs[alone.0 as usize].kind
            && self.source.slice(self.previous()) != ","
        {
            items = parts.iter().map(|part| (Item::At(*part), self.tree.span(*part))).collect();
        }
        self.close(Token::BracketClose, open, "`,` or `]`")?;
        Ok(items)
    }

    /// An optional bound of a range.
    fn bound(&mut self) -> Parsed<Option<Id>> {
        match self.peek() {
            Some(Token::Colon | Token::Comma | Token::BracketClose) => Ok(None),
            _ => self.expression().map(Some),
        }
    }

    fn number(&self, span: Span) -> Parsed<Literal> {
        let text = self.source.slice(span);
        if text.len() > self.limits.number {
            return Err(Box::new(Mistake::limit(Limit::Number, self.limits.number, span)));
        }
        let digits = text.replace('_', "");
        let bad = || Box::new(Mistake::new(Problem::Number, span));
        // As in Python: a single `_` between digits, or after the prefix of a base.
        let letters = text.as_bytes();
        let is_apart = |at: usize| {
            let [before, after] = [at.checked_sub(1), at.checked_add(1)]
                .map(|at| at.and_then(|at| letters.get(at)).is_some_and(u8::is_ascii_alphanumeric));
            !before || !after
        };
        if letters.iter().enumerate().any(|(at, letter)| *letter == b'_' && is_apart(at)) {
            return Err(bad());
        }
        let is_decimal =
            self.peek() == Some(Token::Int) && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_decimal && digits.starts_with('0') && digits.bytes().any(|digit| digit != b'0') {
            let help = "a number cannot begin with 0; for base 8, write `0o7`";
            return Err(Box::new(Mistake::new(Problem::Number, span).help(help)));
        }
        if self.peek() == Some(Token::Float) {
            let value: f64 = digits.parse().map_err(|_| bad())?;
            return if value.is_finite() { Ok(Literal::Float(value)) } else { Err(bad()) };
        }
        let (digits, radix) = match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
            Some("0x") => (&digits[2..], 16),
            Some("0b") => (&digits[2..], 2),
            Some("0o") => (&digits[2..], 8),
            _ => (&*digits, 10),
        };
        i128::from_str_radix(digits, radix).map(Literal::Int).map_err(|_| bad())
    }

    /// The mistake for Python syntax that the language lacks, if it comes next, with what to write instead.
    pub(super) fn refuse_habits(&self) -> Parsed<()> {
        let text = self.source.slice(self.span());
        let (what, help) = match (self.peek(), text) {
            (Some(Token::Name), "and") => {
                ("`and` does not work element by element", "write `&`, with parentheses: `(a > 0) & (b > 0)`")
            }
            (Some(Token::Name), "or") => {
                ("`or` does not work element by element", "write `|`, with parentheses: `(a > 0) | (b > 0)`")
            }
            (Some(Token::Name), "not") => {
                ("`not` does not work element by element", "write `~`, with parentheses: `~(a > 0)`")
            }
            (Some(Token::AndAnd), _) => ("`&&` is not an operator", "write `&`: `(a > 0) & (b > 0)`"),
            (Some(Token::OrOr), _) => ("`||` is not an operator", "write `|`: `(a > 0) | (b > 0)`"),
            (Some(Token::Bang), _) => ("`!` is not an operator", "write `~`: `~(a > 0)`"),
            (Some(Token::Equal), _) => (
                "`=` names a value and is not allowed here",
                "to compare, write `==`; to change elements, write `x.at[0].set(1)`",
            ),
            (Some(Token::Update), _) => (
                "values cannot be changed in place",
                "name the result: `let y = x + 1`, or `let y = x.at[0].add(1)`; to write to an input: `assign x = x + 1`",
            ),
            (Some(Token::Name), "lambda" | "def") => {
                ("functions cannot be defined", "write the expression itself, or name it: `let y = ..`")
            }
            (Some(Token::Name), "if" | "else") => {
                ("`if` and `else` do not work element by element", "write `where(condition, a, b)`")
            }
            (Some(Token::Name), "for" | "while" | "in") => (
                "a loop is a statement: every operation works on whole tensors",
                "reduce over an axis, `sum(x, axis=0)`, or write `for t in range(10) with u = x; next u = u / 2; end`",
            ),
            (Some(Token::Name), "is") => ("`is` does not compare elements", "write `==`"),
            (Some(Token::Name), "import" | "from") => {
                ("imports are not needed", "call functions by name; the prefix `np.` is accepted")
            }
            (Some(Token::String), _) => {
                ("text is not a value", "write a name that is not an identifier in double quotes")
            }
            (Some(Token::Brace), _) => ("dictionaries and sets are not supported", "write lists as `[a, b]`"),
            _ => return Ok(()),
        };
        Err(Box::new(Mistake::new(Problem::Habit { what: what.into() }, self.span()).help(help)))
    }
}
