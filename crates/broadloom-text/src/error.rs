//! Mistakes in texts: data first, then text, in the layout of the graph's diagnostics.

use crate::MAX_MISTAKES;
use crate::sites::TextPlaces;
use crate::source::{Span, Written};
use broadloom_ir::diagnostics::{Diagnostic, Help, Made, Places, Style, Text};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Site;
use std::fmt;

/// The limited property of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Bytes in the text.
    Length,
    /// Tokens in the text.
    Tokens,
    /// Depth of nested brackets and operators.
    Nesting,
    /// Expressions of the graph, as [`Limits::nodes`](crate::Limits::nodes) counts them.
    Nodes,
    /// Characters in a number.
    Number,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::Length => "bytes",
            Limit::Tokens => "tokens",
            Limit::Nesting => "levels of nesting",
            Limit::Nodes => "expressions",
            Limit::Number => "digits",
        })
    }
}

/// The kind of name that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOf {
    /// A function.
    Function,
    /// A method or an attribute.
    Method,
    /// An input, a `let` or a symbol.
    Value,
    /// A symbol.
    Symbol,
    /// A keyword argument.
    Keyword,
    /// A dtype.
    DType,
    /// An input that can be assigned to.
    Input,
    /// One of the texts of a column.
    Text,
}

impl fmt::Display for NameOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NameOf::Function => "function",
            NameOf::Method => "method or attribute",
            NameOf::Value => "name",
            NameOf::Symbol => "symbol",
            NameOf::Keyword => "keyword argument",
            NameOf::DType => "dtype",
            NameOf::Input => "input",
            NameOf::Text => "column value",
        })
    }
}

/// What is wrong. `Display` prints the headline.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A character that cannot start a token.
    #[error("the character {found:?} is not allowed here")]
    Character {
        /// The character.
        found: char,
    },
    /// Something else was expected.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The text found.
        found: Box<str>,
        /// What was expected.
        expected: &'static str,
    },
    /// A bracket that is not closed.
    #[error("this bracket is never closed")]
    Unclosed,
    /// Python syntax that the language does not have.
    #[error("{what}")]
    Habit {
        /// The syntax, as a sentence.
        what: Box<str>,
    },
    /// The text exceeds a limit for untrusted texts.
    #[error("at most {most} {limit} are accepted")]
    Limit {
        /// The limited property.
        limit: Limit,
        /// The limit.
        most: usize,
    },
    /// A number that is not representable.
    #[error("the number is out of range")]
    Number,
    /// A calculation on numbers without a result.
    #[error("{what}")]
    Calculation {
        /// The reason.
        what: &'static str,
    },
    /// An unknown name.
    #[error("unknown {of} `{name}`")]
    Unknown {
        /// The kind of name expected.
        of: NameOf,
        /// The name.
        name: Box<str>,
    },
    /// A name that is already in use.
    #[error("the name `{name}` is already taken")]
    Taken {
        /// The name.
        name: Box<str>,
    },
    /// An argument that the function does not take, or that is missing.
    #[error("`{function}` {what}")]
    Argument {
        /// The name of the function.
        function: Box<str>,
        /// The mistake, as the words after the name.
        what: Box<str>,
    },
    /// A value of the wrong kind.
    #[error("expected {expected}, found {found}")]
    Kind {
        /// The expected kind.
        expected: &'static str,
        /// The actual kind.
        found: &'static str,
    },
    /// Axes meet whose positions mean different things: groups of different texts, or groups and rows.
    #[error("{left} meet {right}")]
    Groups {
        /// The groups or rows along the axis of one operand.
        left: Box<str>,
        /// Those of the other one.
        right: Box<str>,
    },
    /// Statements in the wrong place, or too many or too few of them.
    #[error("{what}")]
    Program {
        /// The rule that they break.
        what: &'static str,
    },
    /// A mistake in shapes or dtypes, found by the graph.
    #[error("{0}")]
    Graph(Box<Diagnostic>),
}

impl Problem {
    /// Returns a stable code: the codes of the graph, and `P` for mistakes that only texts can contain.
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Character { .. } | Problem::Unexpected { .. } | Problem::Unclosed => "P001",
            Problem::Habit { .. } => "P002",
            Problem::Limit { .. } => "P003",
            Problem::Number | Problem::Calculation { .. } => "P004",
            Problem::Unknown { .. } => "P005",
            Problem::Taken { .. } => "P006",
            Problem::Argument { .. } => "P007",
            Problem::Kind { .. } | Problem::Groups { .. } => "P008",
            Problem::Program { .. } => "P009",
            Problem::Graph(diagnostic) => diagnostic.code().as_str(),
        }
    }
}

/// One mistake.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// What is wrong.
    pub problem: Problem,
    /// The part of the text that is wrong.
    pub span: Span,
    /// Suggestions, in words.
    pub helps: Vec<Box<str>>,
}

impl Mistake {
    pub(crate) fn new(problem: Problem, span: Span) -> Mistake {
        Mistake { problem, span, helps: Vec::new() }
    }

    /// A limit for untrusted texts that is exceeded.
    pub(crate) fn limit(limit: Limit, most: usize, span: Span) -> Mistake {
        Mistake::new(Problem::Limit { limit, most }, span).help(match limit {
            Limit::Length | Limit::Tokens | Limit::Nodes => "split the program into several programs",
            Limit::Nesting => "name parts of the expression: `let part = ..`",
            Limit::Number => "write fewer digits: `f64` holds 17",
        })
    }

    pub(crate) fn help(mut self, help: impl Into<Box<str>>) -> Mistake {
        self.helps.push(help.into());
        self
    }

    pub(crate) fn graph(mut diagnostic: Diagnostic, span: Span) -> Mistake {
        diagnostic.op = diagnostic.op.map(|op| match &*op {
            "declare_equal" | "range" | "multiple_of" => "assume".into(),
            "select" => "where".into(),
            _ => op,
        });
        // For matrices, NumPy's users write `.T`.
        let has_matrices = diagnostic.operands.iter().all(|operand| operand.dims.len() <= 2);
        let transposed = if has_matrices { ".T" } else { ".mT" };
        let helps = diagnostic.helps.into_iter();
        diagnostic.helps = helps.filter_map(|help| in_text(help, transposed)).collect();
        Mistake::new(Problem::Graph(Box::new(diagnostic)), span)
    }
}

/// One or more mistakes or warnings in a text, in the order of the text.
///
/// `{}` prints one line for each; `{:#}` prints everything that helps to fix them.
#[derive(Clone, PartialEq)]
pub struct Mistakes(Box<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    places: TextPlaces,
    mistakes: Vec<Mistake>,
}

impl Mistakes {
    pub(crate) fn new(places: TextPlaces, mut mistakes: Vec<Mistake>) -> Mistakes {
        mistakes.sort_by_key(|mistake| mistake.span.start);
        // Whatever follows exceeds the limit as well.
        let is_limit = |mistake: &Mistake| matches!(mistake.problem, Problem::Limit { .. });
        let first = mistakes.iter().position(is_limit);
        let mut index = 0..;
        mistakes.retain(|mistake| index.next() == first || !is_limit(mistake));
        mistakes.truncate(MAX_MISTAKES);
        mistakes.iter_mut().for_each(|mistake| spell_out(mistake, &places));
        Mistakes(Box::new(Inner { places, mistakes }))
    }

    /// Returns the mistakes; there is at least one.
    pub fn as_slice(&self) -> &[Mistake] {
        &self.0.mistakes
    }

    /// Returns the mistakes that the graph has found, in order.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.as_slice().iter().filter_map(|mistake| match &mistake.problem {
            Problem::Graph(diagnostic) => Some(&**diagnostic),
            _ => None,
        })
    }

    /// Returns the places in the text to which the mistakes refer.
    pub fn places(&self) -> &TextPlaces {
        &self.0.places
    }

    /// Returns the warnings among them that are nearly always mistakes.
    pub fn likely_wrong(&self) -> Option<Mistakes> {
        let is_likely =
            |mistake: &&Mistake| matches!(&mistake.problem, Problem::Graph(of) if of.is_likely_wrong());
        let mistakes: Vec<Mistake> = self.as_slice().iter().filter(is_likely).cloned().collect();
        (!mistakes.is_empty()).then(|| Mistakes::new(self.0.places.clone(), mistakes))
    }

    /// Returns line and column of the start of a mistake, counted from 1; the column counts characters.
    pub fn position(&self, mistake: &Mistake) -> (usize, usize) {
        self.0.places.source.position(mistake.span.start)
    }

    /// Points at the places from which a front end took lines of the text; see [`TextPlaces::written_at`].
    #[must_use]
    pub fn written_at(mut self, written: impl Fn(usize) -> Option<Written>) -> Mistakes {
        self.0.places = self.0.places.written_at(written);
        self
    }

    /// Returns everything that helps to fix them, with ANSI escape sequences for colours.
    pub fn colored(&self) -> impl fmt::Display {
        self.text().colored()
    }

    /// Returns everything that helps to fix them, in parts that can be coloured and extended.
    pub fn text(&self) -> Text {
        let mut text = Text::default();
        for (index, mistake) in self.as_slice().iter().enumerate() {
            text.add(Style::Plain, if index == 0 { "" } else { "\n\n" });
            text.append(self.frame(mistake));
        }
        text
    }

    fn frame(&self, mistake: &Mistake) -> Text {
        let places = &self.0.places;
        if let Problem::Graph(diagnostic) = &mistake.problem {
            return diagnostic.display_at(&Pointing { places, mistake, at: diagnostic.site });
        }
        let label = format!("error[{}]", mistake.problem.code());
        let mut text = Text::message(Style::Error, label, mistake.problem.to_string());
        text.pointing(places.source.point_at(mistake.span), Style::Error);
        mistake.helps.iter().for_each(|help| text.help(help, None));
        text
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", self.text());
        }
        for (index, mistake) in self.as_slice().iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let place = self.0.places.source.place(mistake.span);
            write!(f, "{separator}{place}: {}", mistake.problem)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Mistakes {
    /// Prints the whole frames, so that `unwrap` shows them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self:#}")
    }
}

impl std::error::Error for Mistakes {}

/// The places of a graph's diagnostic; its op is at the mistake.
struct Pointing<'a> {
    places: &'a TextPlaces,
    mistake: &'a Mistake,
    at: Site,
}

impl Places for Pointing<'_> {
    fn place(&self, site: Site) -> Option<String> {
        self.places.place(site)
    }

    fn lines(&self, site: Site) -> Vec<String> {
        if site == self.at {
            return self.places.source.point_at(self.mistake.span);
        }
        self.places.lines(site)
    }
}

/// The longest part of a text repeated in a suggestion, in bytes.
const MAX_OPERAND: usize = 80;

/// Replaces roles of unnamed operands in suggestions, such as `rhs`, by the operands as written in the text.
fn spell_out(mistake: &mut Mistake, places: &TextPlaces) {
    let Mistake { problem: Problem::Graph(diagnostic), span, .. } = mistake else { return };
    let Diagnostic { operands, helps, .. } = &mut **diagnostic;
    let text_of = |role: &str| {
        let operand = operands.iter().find(|operand| *operand.name == *role)?;
        let part = match &operand.made {
            Made::Input(name) => return name.chars().all(is_letter).then(|| name.to_string()),
            Made::Op { .. } | Made::List | Made::Constant(_) => places.sites.span(operand.site)?,
            Made::Wanted | Made::Result => return None,
        };
        // A conversion that belongs to the operation has the same place as the operation.
        let is_part = span.start <= part.start && part.end <= span.end && part != *span;
        let text = Some(places.source.slice(part)).filter(|text| is_part && text.len() <= MAX_OPERAND)?;
        // Lists have no methods.
        let is_usable = !text.is_empty() && !text.starts_with('[') && !text.contains(char::is_control);
        is_usable.then(|| match is_primary(text) {
            true => text.to_owned(),
            false => format!("({text})"),
        })
    };
    for code in helps.iter_mut().filter_map(|help| help.code.as_mut()) {
        let words = code.split_inclusive(|letter: char| !is_letter(letter));
        let spelled = words.map(|word| {
            let role = word.trim_end_matches(|letter| !is_letter(letter));
            let rest = word.get(role.len()..).unwrap_or_default();
            text_of(role).map_or(word.to_owned(), |text| text + rest)
        });
        *code = spelled.collect::<String>().into();
    }
}

fn is_letter(letter: char) -> bool {
    letter == '_' || letter.is_alphanumeric()
}

/// Returns whether a text is a name with calls, indices and attributes, to which more can be appended.
pub(crate) fn is_primary(text: &str) -> bool {
    let mut depth = 0usize;
    text.chars().all(|letter| {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => return depth > 0 || letter == '.' || is_letter(letter),
        }
        true
    })
}

/// Translates a suggestion of the graph from Rust to this language; `None` if it has no equivalent.
fn in_text(help: Help, transposed: &str) -> Option<Help> {
    let Some(code) = &help.code else { return Some(help) };
    let mut code = code.to_string();
    // Inferred sizes have no names here.
    if code.contains('?') {
        return None;
    }
    // The graph has no words for this operand.
    if code.contains("...") {
        let how = if code.contains("_keepdims(") { ": write `keepdims=True`" } else { "" };
        let text = format!("{}{how}", help.text.trim_end_matches(':'));
        return Some(Help { text: text.into(), code: None, ..help });
    }
    // Paddle's form: `x.add_axis(y, 1)`.
    if let Some((call, axis)) = code.strip_suffix(')').and_then(|code| code.rsplit_once(", "))
        && let Some((left, right)) = call.split_once("_axis(")
    {
        let (left, op) = left.rsplit_once('.')?;
        code = format!("{op}({left}, {right}, axis={axis})");
    }
    code = code.replace(".t()", transposed);
    for (method, operator) in [(".matmul(", "@"), (".pow(", "**")] {
        if let Some((left, right)) = code.strip_suffix(')').and_then(|code| code.split_once(method)) {
            code = format!("{left} {operator} {right}");
        }
    }
    // This fact would come too late.
    if code.starts_with("let ") && code.contains("g.symbol(") {
        return Some(Help { text: "state it above everything that uses it".into(), code: None, ..help });
    }
    // An output may have the name of an input, so no assignment is needed.
    if let Some(value) = code.strip_prefix("let ") {
        code = format!("output {}", value.trim_end_matches(';'));
    }
    if let Some((target, value)) = code.split_once(".assign(") {
        code = format!("assign {target} = {}", value.strip_suffix(')').unwrap_or(value));
    }
    if let Some(sizes) = code.strip_prefix("g.declare_equal(").and_then(|rest| rest.strip_suffix(')')) {
        let (left, right) = sizes.split_once(", ")?;
        code = format!("assume {left} == {right}");
    }
    if let Some((symbol, multiple)) =
        code.strip_prefix("g.symbol(\"").and_then(|rest| rest.split_once("\").multiple_of("))
    {
        code = format!("assume {symbol} % {} == 0", multiple.trim_end_matches(')'));
    }
    if let Some(symbol) = code.strip_prefix("g.parameter(\"").and_then(|rest| rest.strip_suffix("\")")) {
        code = format!("parameters {symbol}");
    }
    if let Some(operand) = code.strip_prefix('!') {
        code = format!("~{operand}");
    }
    // A size that a `rebind` keeps.
    if let Some((before, sizes)) = code.split_once(".rebind(shape![") {
        let (sizes, after) = sizes.split_once(']')?;
        let sizes: Vec<&str> =
            sizes.split(", ").map(|size| if size == "_" { "None" } else { size }).collect();
        code = format!("{before}.rebind([{}]{after}", sizes.join(", "));
    }
    for dtype in DType::ALL {
        code = code.replace(&format!(".cast::<{dtype}>()"), &format!(".astype({dtype})"));
    }
    if let Some((before, axis)) = code.split_once("_keepdims(") {
        let (axis, after) = axis.split_once(')')?;
        code = format!("{before}(axis={axis}, keepdims=True){after}");
    }
    let code = new_axes(&code.replace("shape![", "["));
    Some(Help { code: Some(code.into()), ..help })
}

/// Writes `x.unsqueeze(1)` as the index `x[:, None]`.
fn new_axes(code: &str) -> String {
    const METHOD: &str = ".unsqueeze(";
    let (mut text, mut rest) = (String::new(), code);
    while let Some((before, after)) = rest.split_once(METHOD) {
        text += before;
        let mut items: Vec<&str> = Vec::new();
        rest = after;
        while let Some((axis, following)) = rest.split_once(')')
            && let Ok(axis) = axis.parse::<usize>()
        {
            items.resize(items.len().max(axis), ":");
            items.insert(axis, "None");
            rest = following;
            let Some(more) = rest.strip_prefix(METHOD) else { break };
            rest = more;
        }
        match items.is_empty() {
            true => text += METHOD,
            false => text += &format!("[{}]", items.join(", ")),
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::new_axes;

    #[test]
    fn new_axes_are_indices() {
        for (code, expected) in [
            ("x.unsqueeze(0)", "x[None]"),
            ("x.unsqueeze(1) - y", "x[:, None] - y"),
            ("x.unsqueeze(2) * y.unsqueeze(1)", "x[:, :, None] * y[:, None]"),
            ("x.unsqueeze(1).unsqueeze(2)", "x[:, None, None]"),
            ("x.unsqueeze(0).unsqueeze(2)", "x[None, :, None]"),
            ("x.unsqueeze(n)", "x.unsqueeze(n)"),
            ("x + y", "x + y"),
        ] {
            assert_eq!(new_axes(code), expected);
        }
    }
}
