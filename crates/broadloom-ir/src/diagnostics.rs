//! Mistakes found while a graph is built, explained: data first, text second.
//!
//! The graph records what is wrong and where. From that and the graph, a [`Diagnostic`] is made when the graph is checked:
//! it says what is wrong ([`Problem`]), where, with which [`Operand`]s, where clashing symbols come
//! from, and what would help. `{}` prints the headline, `{:#}` the whole frame with a table of the operands, and
//! [`Diagnostic::colored`] the frame in colours.

mod advice;
mod check;
mod headline;
mod help;
mod product;
mod reason;
mod render;
mod text;

pub use crate::problem::{
    Alignment, Certainty, Code, Conflict, Inferred, Made, Meeting, Misplaced, Misspelled, NameKind, Operand,
    Problem, Requirement, Rule, Size, Subscripts,
};
use crate::site::Site;
use std::fmt;
pub use text::{Places, Row, Style, Text};

/// Where a symbol of a clashing size comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Name of the symbol.
    pub symbol: Box<str>,
    /// The input whose axis has the symbol as its size.
    pub input: Box<str>,
    /// That axis.
    pub axis: usize,
    /// Where the input was declared.
    pub site: Site,
}

/// A change that makes the op valid: each was tried before it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Help {
    /// What it does, in words.
    pub text: Box<str>,
    /// What to write, if it is an expression.
    pub code: Option<Box<str>>,
    /// The shape that results.
    pub result: Option<Vec<Size>>,
    /// Whether it is right only if something holds that the shapes do not show.
    pub assumes: bool,
}

/// One mistake.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// Name of the op or declaration, if one is to blame.
    pub op: Option<Box<str>>,
    /// Where it was called.
    pub site: Site,
    /// What it was applied to.
    pub operands: Vec<Operand>,
    /// Where the clashing symbols come from, if the operands do not show it.
    pub origins: Vec<Origin>,
    /// At most three changes that make it valid, the likeliest first.
    pub helps: Vec<Help>,
}

impl Diagnostic {
    /// A mistake without operands.
    pub fn new(problem: Problem, op: Option<&str>, site: Site) -> Diagnostic {
        let op = op.map(Box::from);
        Diagnostic { problem, op, site, operands: Vec::new(), origins: Vec::new(), helps: Vec::new() }
    }

    /// The code of the kind of mistake.
    pub fn code(&self) -> Code {
        self.problem.code()
    }

    /// The axes on which sizes clash, ascending, if that is the problem.
    pub fn conflicts(&self) -> &[Conflict] {
        match &self.problem {
            Problem::Broadcast(conflicts)
            | Problem::Stretch { conflicts, .. }
            | Problem::Placed { conflicts, .. }
            | Problem::Contraction { conflicts, .. } => conflicts,
            _ => &[],
        }
    }

    /// Whether this is a warning: the op is valid, but may not be what was meant.
    pub fn is_warning(&self) -> bool {
        matches!(self.problem, Problem::Pointwise { .. } | Problem::CutOff { .. })
    }

    /// The whole frame with other places than those in Rust.
    pub fn display_at(&self, places: &dyn Places) -> Text {
        render::text(self).at(places)
    }

    /// Why, in sentences without a final dot: the rule that is broken and, if it depends, for which sizes it is not.
    pub fn because(&self) -> Vec<String> {
        reason::because(self)
    }

    /// The whole frame with ANSI escape sequences for colours, to be printed on a terminal. Whether the output is one,
    /// and whether its user wants colours (`NO_COLOR`), is for the caller to know.
    ///
    /// ```
    /// use broadloom_ir::diagnostics::{Diagnostic, Problem};
    /// let mistake = Diagnostic::new(Problem::NoOutputs, None, broadloom_ir::graph::Site::caller());
    /// assert!(format!("{mistake:#}").starts_with("error[N003]: the graph has no outputs\n"));
    /// assert!(mistake.colored().to_string().starts_with("\x1b[1;31merror[N003]\x1b[0m"));
    /// ```
    pub fn colored(&self) -> impl fmt::Display {
        render::text(self).colored()
    }
}

impl fmt::Display for Diagnostic {
    /// The headline; with `#` the whole frame.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", render::text(self));
        }
        match &self.op {
            Some(op) => write!(f, "`{op}` ")?,
            None => f.write_str(headline::subject(&self.problem))?,
        }
        write!(f, "{}", self.problem)
    }
}

impl fmt::Debug for Diagnostic {
    /// The whole frame, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl std::error::Error for Diagnostic {}

/// One or more mistakes, in the order in which they were made.
#[derive(Clone, PartialEq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// The diagnostics, unless there are none.
    pub fn new(diagnostics: Vec<Diagnostic>) -> Option<Diagnostics> {
        (!diagnostics.is_empty()).then_some(Diagnostics(diagnostics))
    }

    /// The mistakes; at least one.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.0
    }

    /// The mistakes in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// All frames with ANSI escape sequences for colours; see [`Diagnostic::colored`].
    pub fn colored(&self) -> impl fmt::Display {
        self.text().colored()
    }

    fn text(&self) -> Text {
        let mut text = Text::default();
        for (index, diagnostic) in self.iter().enumerate() {
            text.add(Style::Plain, if index == 0 { "" } else { "\n\n" });
            text.append(render::text(diagnostic));
        }
        text
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Diagnostics(vec![diagnostic])
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    /// The headlines, one per line; with `#` all frames.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", self.text());
        }
        for (index, diagnostic) in self.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "\n" })?;
            fmt::Display::fmt(diagnostic, f)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Diagnostics {
    /// All frames, so that `unwrap` shows them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self:#}")
    }
}

impl std::error::Error for Diagnostics {}
