//! What a column contains, decided by all of its cells.

use super::cells::Cell;
use broadloom::DType;
use broadloom_ir::dtype::Class;

/// A cell and its place.
#[derive(Debug, Clone)]
pub struct Found {
    pub row: usize,
    /// The byte of the file where the row starts, or the end of the row before.
    pub at: u64,
    pub text: String,
}

impl Found {
    /// Whether its bytes are text, in the encoding of UTF-8.
    pub fn is_decoded(&self) -> bool {
        !self.text.contains(char::REPLACEMENT_CHARACTER)
    }
}

/// What is told of a column of numbers that a program uses: the first cell of each kind.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// A number that f64 does not hold, and what becomes of it.
    pub rounded: Option<(Found, &'static str)>,
    /// An integer with zeros before it, as codes and identifiers have them: the number has none.
    pub padded: Option<Found>,
    /// A missing cell.
    pub missing: Option<Found>,
    /// Whether no cell has a value.
    pub is_bare: bool,
}

/// The cells of a column, read in one way: the first of each kind.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    pub number: Option<Found>,
    pub truth: Option<Found>,
    pub dressed: Option<Found>,
    pub text: Option<Found>,
    told: Told,
    has_floats: bool,
}

impl Profile {
    pub fn new() -> Profile {
        Profile::default()
    }

    /// Takes a cell into account.
    pub fn add(&mut self, cell: Cell, text: &str, row: usize, at: u64) {
        let text = text.trim();
        let found = || Found { row, at, text: text.to_owned() };
        let first = match cell {
            Cell::Missing => {
                self.told.missing.get_or_insert_with(found);
                return;
            }
            Cell::Int(_) | Cell::NegativeZero | Cell::Float(_) => &mut self.number,
            Cell::Truth(_) => &mut self.truth,
            Cell::Dressed => &mut self.dressed,
            Cell::Text => &mut self.text,
        };
        first.get_or_insert_with(found);
        self.has_floats |= matches!(cell, Cell::Float(_));
        if let (None, Some(becomes)) = (&self.told.rounded, rounded(cell, text)) {
            self.told.rounded = Some((found(), becomes));
        }
        if self.told.padded.is_none() && is_padded(text) {
            self.told.padded = Some(found());
        }
    }

    pub fn has_missing(&self) -> bool {
        self.told.missing.is_some()
    }

    /// The dtype of a column of numbers.
    pub fn dtype(&self) -> DType {
        if self.has_floats || self.has_missing() { DType::F64 } else { DType::I64 }
    }
}

/// Whether a cell is an integer with zeros before it.
fn is_padded(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// What becomes of a number that f64 does not hold: an integer, or one beyond its range.
fn rounded(cell: Cell, text: &str) -> Option<&'static str> {
    let has_digits = |from: char| {
        let digits = text.split(['e', 'E']).next().unwrap_or_default();
        digits.contains(|letter: char| letter.is_ascii_digit() && letter >= from)
    };
    let is_rounded = match cell {
        Cell::Int(int) => (int as f64) as i128 != i128::from(int),
        Cell::Float(float) if float.is_infinite() && has_digits('0') => {
            return Some("too large for f64: it is inf");
        }
        Cell::Float(0.0) if has_digits('1') => return Some("too small for f64: it is 0"),
        // More digits than i64 has.
        Cell::Float(float) => text.parse::<i128>().is_ok_and(|int| float as i128 != int),
        _ => false,
    };
    is_rounded.then_some("rounded to f64")
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
        told: Told,
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
    /// What cannot be read: why, as in `has the type Decimal128(10, 2)`, and advice.
    Foreign {
        found: String,
        help: String,
    },
}

impl From<Profile> for Kind {
    /// The content of a column of text that was read as numbers.
    fn from(profile: Profile) -> Kind {
        let dtype = profile.dtype();
        match profile {
            Profile { text: Some(other), number: Some(number), .. } => Kind::Mixed { number, other },
            Profile { text: Some(_), .. } => Kind::Text,
            Profile { dressed: Some(dressed), .. } => Kind::Dressed(dressed),
            Profile { truth: Some(other), number: Some(number), .. } => Kind::Mixed { number, other },
            Profile { truth: Some(_), told, .. } => {
                let dtype = if told.missing.is_some() { DType::F64 } else { DType::Bool };
                Kind::Numbers { dtype, row: Vec::new(), class: Class::Bool, told }
            }
            Profile { number, has_floats, told, .. } => {
                let class = if has_floats { Class::Float } else { Class::Int };
                let told = Told { is_bare: number.is_none(), ..told };
                Kind::Numbers { dtype, row: Vec::new(), class, told }
            }
        }
    }
}

/// How a column of numbers is read, for people.
pub fn numbers(class: Class, dtype: DType, is_bare: bool) -> String {
    if is_bare {
        return format!("no values, as {dtype}");
    }
    let of = match class {
        Class::Bool => "truth values",
        Class::Int => "integers",
        Class::Float => "numbers",
    };
    // Integers and truth values are floats only where some are missing.
    let is_missing = class != Class::Float && dtype.class() == Class::Float;
    format!("{of}{}", if is_missing { ", some of them missing, as f64" } else { "" })
}
