//! Mistakes found while a graph is built, with their explanations: data first, then text.
//!
//! The graph records what is wrong and where. When the graph is checked, a [`Diagnostic`] is made from the record
//! and the graph. It says what is wrong ([`Problem`]), where, with which [`Operand`]s, where clashing symbols come
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
    Alignment, Certainty, Code, Conflict, Inferred, Made, Meeting, Misplaced, Misspelled, NameKind, Ones,
    Operand, Problem, Requirement, Rule, Size, Subscripts, Wrapped,
};
use crate::site::Site;
use std::fmt;
pub use text::{Places, Row, Style, Text};

/// The origin of a symbol in a clashing size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The name of the symbol.
    pub symbol: Box<str>,
    /// What has the symbol as its size, or decides it.
    pub of: Decider,
    /// The place where that was made.
    pub site: Site,
}

/// What a size is that of, or what decides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// An axis of an input.
    Axis {
        /// The name of the input.
        input: Box<str>,
        /// The axis.
        axis: usize,
    },
    /// The true elements of a mask, which this function made.
    Mask(Box<str>),
    /// A number that this function computed.
    Number(Box<str>),
}

/// A change that makes the op valid. Each change has been tried before it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Help {
    /// The change, in words.
    pub text: Box<str>,
    /// The code to write, if it is an expression.
    pub code: Option<Box<str>>,
    /// The shape that results.
    pub result: Option<Vec<Size>>,
    /// Whether the change is right only under an assumption that the shapes do not show.
    pub assumes: bool,
}

/// One mistake.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What is wrong.
    pub problem: Problem,
    /// The name of the op or declaration at fault, if any.
    pub op: Option<Box<str>>,
    /// The place of the call.
    pub site: Site,
    /// The operands.
    pub operands: Vec<Operand>,
    /// Where the clashing symbols come from, if the operands do not show it.
    pub origins: Vec<Origin>,
    /// At most three changes that make it valid, the most likely first.
    pub helps: Vec<Help>,
}

impl Diagnostic {
    /// Creates a diagnostic without operands.
    pub fn new(problem: Problem, op: Option<&str>, site: Site) -> Diagnostic {
        let op = op.map(Box::from);
        Diagnostic { problem, op, site, operands: Vec::new(), origins: Vec::new(), helps: Vec::new() }
    }

    /// Returns the code of the kind of mistake.
    pub fn code(&self) -> Code {
        self.problem.code()
    }

    /// Returns the axes on which sizes clash, in ascending order, if that is the problem.
    pub fn conflicts(&self) -> &[Conflict] {
        match &self.problem {
            Problem::Broadcast(conflicts)
            | Problem::Stretch { conflicts, .. }
            | Problem::Placed { conflicts, .. }
            | Problem::Contraction { conflicts, .. } => conflicts,
            _ => &[],
        }
    }

    /// Returns whether this is a warning: the op is valid, but may not be what was meant.
    pub fn is_warning(&self) -> bool {
        matches!(
            self.problem,
            Problem::Pointwise { .. }
                | Problem::CutOff { .. }
                | Problem::Wraps { .. }
                | Problem::Misaligned { .. }
                | Problem::NotRead
        )
    }

    /// Returns whether this is a warning of something that is nearly always a mistake.
    pub fn is_likely_wrong(&self) -> bool {
        matches!(
            self.problem,
            Problem::Pointwise { is_harmless: false, ones: Ones::Given, .. }
                | Problem::Misaligned { .. }
                | Problem::NotRead
        ) || matches!(self.problem, Problem::Wraps { of, .. } if !matches!(of, Wrapped::Product | Wrapped::Negation))
    }

    /// Returns the whole frame with places other than those in Rust.
    pub fn display_at(&self, places: &dyn Places) -> Text {
        render::text(self).at(places)
    }

    /// Returns the reasons as sentences without a final full stop: the broken rule and, if it depends on sizes, the
    /// sizes that satisfy it.
    pub fn because(&self) -> Vec<String> {
        reason::because(self)
    }

    /// Returns the whole frame with ANSI escape sequences for colours, for a terminal. The caller decides whether
    /// the output is a terminal and whether its user wants colours (`NO_COLOR`).
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
    /// Prints the headline; with `#` the whole frame.
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
    /// Prints the whole frame, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

impl std::error::Error for Diagnostic {}

/// One or more mistakes, in the order in which they were made.
#[derive(Clone, PartialEq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// Returns the diagnostics; `None` if there are none.
    pub fn new(diagnostics: Vec<Diagnostic>) -> Option<Diagnostics> {
        (!diagnostics.is_empty()).then_some(Diagnostics(diagnostics))
    }

    /// Returns the mistakes; there is at least one.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.0
    }

    /// Iterates over the mistakes in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// Returns all frames with ANSI escape sequences for colours; see [`Diagnostic::colored`].
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
    /// Prints the headlines, one per line; with `#` all frames.
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
    /// Prints all frames, so that `unwrap` shows them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self:#}")
    }
}

impl std::error::Error for Diagnostics {}
