//! Sizes that do not fit.

use crate::dim::{Dim, Named};
use crate::ids::SymbolId;
use crate::site::Site;
use std::fmt;

/// A size together with its text, so that a diagnostic can be read without the graph.
#[derive(Clone, PartialEq, Eq)]
pub struct Size {
    /// The size.
    pub dim: Dim,
    text: Box<str>,
}

impl Size {
    /// The size, printed with the given names.
    pub fn new<'a>(dim: Dim, names: &dyn Fn(SymbolId) -> Option<Named<'a>>) -> Size {
        let text = dim.display(&|symbol| names(symbol).unwrap_or("?".into())).to_string().into();
        Size { dim, text }
    }

    /// The text of the size.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether two sizes that should be equal can ever be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// They never are.
    Never,
    /// They are for some values of the symbols only.
    Sometimes,
}

/// An axis of the result on which two operands do not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The axis of the result.
    pub axis: usize,
    /// Position of the operand that has `left`.
    pub left_operand: usize,
    /// Position of the operand that has `right`.
    pub right_operand: usize,
    /// What a sentence calls the two, such as "on the left" and "on the right".
    pub names: [Box<str>; 2],
    /// The one size.
    pub left: Size,
    /// The other size.
    pub right: Size,
    /// Whether they can ever be equal.
    pub certainty: Certainty,
    /// The simplest two sizes that must be equal for these to be.
    pub only_if: [Size; 2],
    /// Why inferred sizes among them are what they are.
    pub inferred: Vec<Inferred>,
}

/// A step of the reasons why an inferred size is what it is: two sizes that an op found to be equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inferred {
    /// The sizes, with inferred ones as `?input.axis`.
    pub sizes: Box<[Size; 2]>,
    /// Name of the op.
    pub op: &'static str,
    /// Where it was called.
    pub site: Site,
}

/// The conflict that a headline names: a certain one if there is one, and of those the rightmost, which is the first in
/// the order of comparison.
pub(crate) fn rightmost(conflicts: &[Conflict]) -> Option<&Conflict> {
    let certain = conflicts.iter().rev().find(|conflict| conflict.certainty == Certainty::Never);
    certain.or(conflicts.last())
}
