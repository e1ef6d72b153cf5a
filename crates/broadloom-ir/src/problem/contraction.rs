//! Sums of products whose operands do not fit, and invalid subscripts.

use std::fmt;
use std::ops::Range;

/// The alignment of the axes of a product's operands: axes that meet share a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alignment {
    /// The heading of each column: the axis of the result, `sum`, or a letter of the subscripts.
    pub heads: Vec<Box<str>>,
    /// For each operand, the column of each of its axes.
    pub columns: Vec<Vec<usize>>,
}

/// The rule by which two axes meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Elements along them are multiplied and summed: the sizes are equal, and not even the literal 1 stretches.
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
    /// The rule.
    pub rule: Rule,
    /// The axes, counted in their operands.
    pub axes: [usize; 2],
}

/// The mistake in the subscripts of an `einsum`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misspelled {
    /// A character that is not a subscript.
    Character(char),
    /// A dot that is not part of `...`.
    Dot,
    /// A `-` or `>` that is not part of an arrow.
    Arrow,
    /// A second arrow.
    SecondArrow,
    /// A comma after the arrow.
    SeveralResults,
    /// A second `...` in one operand, or in the result.
    SecondEllipsis,
    /// Subscripts for a different number of operands.
    Operands {
        /// The number of operands with subscripts.
        named: usize,
        /// The number of operands.
        given: usize,
    },
    /// Subscripts for a different number of axes than an operand has.
    Axes {
        /// The operand.
        operand: usize,
        /// The number of its letters.
        named: usize,
        /// The number of its axes.
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
        /// The most that are supported.
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

/// Invalid subscripts: where, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscripts {
    /// The subscripts as written.
    pub text: Box<str>,
    /// The part that is wrong, in bytes.
    pub at: Range<usize>,
    /// What is wrong with it.
    pub because: Misspelled,
}
