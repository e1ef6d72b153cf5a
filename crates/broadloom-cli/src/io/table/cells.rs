//! Cells of tables: numbers, truth values, missing values, dates, and text.

use super::dates::{self, Instant};
use super::numbers::{self, Spelling};
use std::borrow::Cow;

/// Cells that mean a missing number; the user may name more.
const MISSING: &[&str] = &["", "NA", "N/A", "nan", "NaN", "NAN", "null", "NULL", "None"];

/// The cell of dates that pandas and NumPy print for a missing one.
const NOT_A_TIME: &str = "NaT";

/// The text of a cell, with the spaces around it: in a column of text, they belong to it, as in pandas and RFC 4180.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    Int(i64),
    /// `-0`: an integer, and -0.0 among floats.
    NegativeZero,
    Float(f64),
    Truth(bool),
    Missing,
    /// A number for people, such as `3,14` or `5%`.
    Dressed,
    /// Anything else.
    Text,
}

/// How numbers are read from cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Numbers and truth values as they are written.
    Numbers,
    /// Dates as days since 1970-01-01; a time of day is cut off.
    Days,
    /// Dates and times as seconds since then, in UTC unless they say otherwise.
    Seconds,
}

impl Reads {
    /// Reads a cell; spaces around it mean nothing.
    pub fn read(self, cell: &str, spelling: &Spelling) -> Cell {
        let whole = cell;
        let cell = cell.trim();
        let is_named = |known: &String| known == cell || known == whole;
        if MISSING.contains(&cell) || spelling.missing.iter().any(is_named) {
            return Cell::Missing;
        }
        match self {
            Reads::Numbers => match (spelling.number(cell), cell) {
                (Some(number), _) => number,
                (None, "True" | "true" | "TRUE") => Cell::Truth(true),
                (None, "False" | "false" | "FALSE") => Cell::Truth(false),
                (None, _) if numbers::dress(cell).is_some() => Cell::Dressed,
                (None, _) => Cell::Text,
            },
            Reads::Days | Reads::Seconds if cell == NOT_A_TIME => Cell::Missing,
            Reads::Days | Reads::Seconds => {
                dates::instant(cell).map_or(Cell::Text, |instant| self.at(instant))
            }
        }
    }

    /// Returns an instant as days or as seconds.
    pub fn at(self, instant: Instant) -> Cell {
        match self {
            Reads::Days => Cell::Int(instant.days()),
            Reads::Numbers | Reads::Seconds => instant.seconds(),
        }
    }

    /// The expected content of cells, for messages.
    pub fn wanted(self) -> &'static str {
        match self {
            Reads::Numbers => "number",
            Reads::Days | Reads::Seconds => "date such as 2024-05-31 or 2024-05-31T12:30:00Z",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_or_not() {
        let spelling = Spelling { missing: vec!["-".to_owned(), "n/a".to_owned()], ..Spelling::default() };
        for (cell, expected) in [
            ("3", Cell::Int(3)),
            ("-0", Cell::NegativeZero),
            ("-3.5", Cell::Float(-3.5)),
            ("99999999999999999999", Cell::Float(1e20)),
            ("True", Cell::Truth(true)),
            ("false", Cell::Truth(false)),
            ("", Cell::Missing),
            ("NA", Cell::Missing),
            ("-", Cell::Missing),
            ("n/a", Cell::Missing),
            ("3,14", Cell::Dressed),
            ("80kg", Cell::Text),
            ("T", Cell::Text),
            (" 3 ", Cell::Int(3)),
            ("\tTrue", Cell::Truth(true)),
            ("  ", Cell::Missing),
            (" - ", Cell::Missing),
            ("NaT", Cell::Text),
            ("20240531", Cell::Int(20_240_531)),
        ] {
            assert_eq!(Reads::Numbers.read(cell, &spelling), expected, "{cell}");
        }
        assert_eq!(Reads::Numbers.read("-", &Spelling::default()), Cell::Text);
        assert_eq!(Reads::Days.read("2024-05-31T23:30:00-05:00", &spelling), Cell::Int(19_875));
        assert_eq!(Reads::Seconds.read("2024-05-31T23:30:00-05:00", &spelling), Cell::Int(1_717_216_200));
        assert_eq!(Reads::Seconds.read("1970-01-01T00:00:00.25", &spelling), Cell::Float(0.25));
        assert_eq!(Reads::Days.read("Oslo", &spelling), Cell::Text);
        assert_eq!(Reads::Days.read("NaT", &spelling), Cell::Missing);
        assert_eq!(Reads::Days.read(" 20240531 ", &spelling), Cell::Int(19_874));
    }
}
