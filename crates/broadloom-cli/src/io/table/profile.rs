//! What a column contains, decided by all of its cells.

use super::cells::Cell;
use broadloom::DType;
use broadloom_ir::dtype::Class;

/// A cell and its place.
#[derive(Debug, Clone)]
pub struct Found {
    pub row: usize,
    pub line: u64,
    pub text: String,
}

/// The cells of a column, read in one way: the first of each kind.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    pub number: Option<Found>,
    pub truth: Option<Found>,
    pub dressed: Option<Found>,
    pub text: Option<Found>,
    /// A number that f64 rounds to another integer.
    pub rounded: Option<Found>,
    has_floats: bool,
    has_missing: bool,
}

impl Profile {
    pub fn new() -> Profile {
        Profile::default()
    }

    /// Takes a cell into account.
    pub fn add(&mut self, cell: Cell, text: &str, row: usize, line: u64) {
        let found = || Found { row, line, text: text.to_owned() };
        let first = match cell {
            Cell::Missing => {
                self.has_missing = true;
                return;
            }
            Cell::Int(_) | Cell::NegativeZero | Cell::Float(_) => &mut self.number,
            Cell::Truth(_) => &mut self.truth,
            Cell::Dressed => &mut self.dressed,
            Cell::Text => &mut self.text,
        };
        first.get_or_insert_with(found);
        self.has_floats |= matches!(cell, Cell::Float(_));
        if is_rounded(cell, text) {
            self.rounded.get_or_insert_with(found);
        }
    }

    /// The dtype of a column of numbers.
    pub fn dtype(&self) -> DType {
        if self.has_floats || self.has_missing { DType::F64 } else { DType::I64 }
    }
}

/// Whether f64 has another value than an integer.
fn is_rounded(cell: Cell, text: &str) -> bool {
    match cell {
        Cell::Int(int) => (int as f64) as i128 != i128::from(int),
        // More digits than i64 has.
        Cell::Float(float) => text.parse::<i128>().is_ok_and(|int| float as i128 != int),
        _ => false,
    }
}

/// The content of a column.
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only files of columns have all kinds"))]
#[derive(Debug, Clone)]
pub enum Kind {
    /// Numbers or truth values: in each row one, or an array of the shape `row`.
    Numbers {
        /// The dtype of the column alone.
        dtype: DType,
        row: Vec<usize>,
        /// The class of the cells: integers and truth values become f64 if some are missing.
        class: Class,
        /// A number that f64 rounds to another integer.
        rounded: Option<Found>,
    },
    Text,
    /// Dates that the file keeps as such, not as text.
    Dates,
    /// Numbers, and a cell that is neither a number nor missing.
    Mixed {
        number: Found,
        other: Found,
    },
    /// Numbers as people write them.
    Dressed(Found),
    /// A type that cannot be read, and advice.
    Foreign {
        found: String,
        help: String,
    },
}

impl From<Profile> for Kind {
    /// The content of a column of text that was read as numbers.
    fn from(profile: Profile) -> Kind {
        let (has_missing, dtype) = (profile.has_missing, profile.dtype());
        match profile {
            Profile { text: Some(other), number: Some(number), .. } => Kind::Mixed { number, other },
            Profile { text: Some(_), .. } => Kind::Text,
            Profile { dressed: Some(dressed), .. } => Kind::Dressed(dressed),
            Profile { truth: Some(other), number: Some(number), .. } => Kind::Mixed { number, other },
            Profile { truth: Some(_), .. } => {
                let dtype = if has_missing { DType::F64 } else { DType::Bool };
                Kind::Numbers { dtype, row: Vec::new(), class: Class::Bool, rounded: None }
            }
            Profile { has_floats, rounded, .. } => {
                let class = if has_floats { Class::Float } else { Class::Int };
                Kind::Numbers { dtype, row: Vec::new(), class, rounded }
            }
        }
    }
}

/// How a column of numbers is read, for people.
pub fn numbers(class: Class, dtype: DType) -> String {
    let of = match class {
        Class::Bool => "truth values",
        Class::Int => "integers",
        Class::Float => "numbers",
    };
    // Integers and truth values are floats only where some are missing.
    let is_missing = class != Class::Float && dtype.class() == Class::Float;
    format!("{of}{}", if is_missing { ", some of them missing, as f64" } else { "" })
}
