//! Sums of products whose operands do not fit, and subscripts that say nothing.

use std::fmt;
use std::ops::Range;

/// How the axes of a product's operands stand above each other: those that meet share a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// What stands above each column: the axis of the result, `sum`, or a letter of the subscripts.
    pub heads: Vec<Box<str>>,
    /// For each operand, the column of each of its axes.
    pub columns: Vec<Vec<usize>>,
}

/// By which rule two axes meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// What lies along them is multiplied and summed: they are equal, and not even the literal 1 stretches.
    Summed,
    /// They are batch axes, which broadcast.
    Batch,
    /// They have the same subscript: they are equal, or one is the literal 1.
    Subscript,
    /// They have the same subscript and belong to one operand: they are equal.
    Diagonal,
}

/// Two axes that meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meeting {
    /// By which rule.
    pub rule: Rule,
    /// The axes, counted in their operands.
    pub axes: [usize; 2],
}

/// What is wrong with the subscripts of an `einsum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misspelled {
    /// A character that is no subscript.
    Character(char),
    /// A dot that is not one of three.
    Dot,
    /// A `-` or `>` that is no arrow.
    Arrow,
    /// A second arrow.
    SecondArrow,
    /// A comma behind the arrow.
    SeveralResults,
    /// A second `...` of an operand, or of the result.
    SecondEllipsis,
    /// Subscripts for another number of operands than there are.
    Operands {
        /// As many as have subscripts.
        named: usize,
        /// As many as there are.
        given: usize,
    },
    /// Subscripts for another number of axes than an operand has.
    Axes {
        /// Which operand.
        operand: usize,
        /// Number of its letters.
        named: usize,
        /// Number of its axes.
        rank: usize,
    },
    /// A letter twice in the result.
    Repeated(char),
    /// A letter of the result that no operand has.
    Unknown(char),
    /// The axes of `...` do not appear in the result.
    LostEllipsis,
    /// More operands than supported.
    TooMany {
        /// As many as are.
        most: usize,
    },
}

impl fmt::Display for Misspelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misspelled::Character(found) => {
                write!(f, "{found:?} is not a subscript; subscripts are letters from a to z and A to Z")
            }
            Misspelled::Dot => {
                f.write_str("a dot is allowed only in `...`, which stands for the axes without a letter")
            }
            Misspelled::Arrow => f.write_str("write the result after `->`"),
            Misspelled::SecondArrow => f.write_str("only one `->` is allowed"),
            Misspelled::SeveralResults => f.write_str("only one result is allowed: no comma may follow `->`"),
            Misspelled::SecondEllipsis => {
                f.write_str("`...` may appear only once in an operand, and once in the result")
            }
            Misspelled::Operands { named, given } => {
                write!(
                    f,
                    "they describe {}, but {given} {} given",
                    operands(*named),
                    if *given == 1 { "was" } else { "were" }
                )
            }
            Misspelled::Axes { operand, named, rank } => write!(
                f,
                "operand {operand} has rank {rank}, but {named} {}",
                if *named == 1 { "subscript" } else { "subscripts" }
            ),
            Misspelled::Repeated(letter) => write!(f, "`{letter}` appears twice in the result"),
            Misspelled::Unknown(letter) => write!(f, "`{letter}` appears in the result, but in no operand"),
            Misspelled::LostEllipsis => {
                f.write_str("the axes of `...` appear in the operands, but not in the result")
            }
            Misspelled::TooMany { most } => write!(f, "at most {most} operands are supported"),
        }
    }
}

fn operands(count: usize) -> String {
    format!("{count} {}", if count == 1 { "operand" } else { "operands" })
}

/// Subscripts that say nothing: where, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscripts {
    /// The subscripts as written.
    pub text: Box<str>,
    /// The part that is wrong, in bytes.
    pub at: Range<usize>,
    /// What is wrong with it.
    pub because: Misspelled,
}
