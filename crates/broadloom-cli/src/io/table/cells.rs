//! Cells of tables: numbers, missing values, dates, and text.

use std::borrow::Cow;

/// Cells that mean a missing number; the user may name more.
const MISSING: &[&str] = &["", "NA", "N/A", "nan", "NaN", "NAN", "null", "NULL", "None"];

/// The text of a cell.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
    }
}

/// The value of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    Int(i64),
    Float(f64),
    Missing,
    /// Anything else.
    Text,
}

/// How numbers are read from cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    Numbers,
    /// Dates as days since 1970-01-01; a time of day is cut off.
    Days,
    /// Dates and times as seconds since then, in UTC unless they say otherwise.
    Seconds,
}

impl Reads {
    /// Reads a cell.
    pub fn read(self, cell: &str, missing: &[String]) -> Cell {
        if MISSING.contains(&cell) || missing.iter().any(|known| known == cell) {
            return Cell::Missing;
        }
        let whole = |float: f64| (float == float.trunc()).then_some(Cell::Int(float as i64));
        match self {
            Reads::Numbers => {
                let int = cell.parse().map(Cell::Int);
                int.or_else(|_| cell.parse().map(Cell::Float)).unwrap_or(Cell::Text)
            }
            Reads::Days => date(cell).map_or(Cell::Text, |(days, _)| Cell::Int(days)),
            Reads::Seconds => date(cell).map_or(Cell::Text, |(days, seconds)| {
                let seconds = days as f64 * 86_400.0 + seconds;
                whole(seconds).unwrap_or(Cell::Float(seconds))
            }),
        }
    }

    /// Converts a date given as a number of units since 1970-01-01, with `per_day` units in a day.
    #[cfg(feature = "arrow")]
    pub fn convert(self, units: i64, per_day: i64) -> Cell {
        /// The seconds of a day.
        const DAY: i64 = 86_400;
        let (days, rest) = (units.div_euclid(per_day), units.rem_euclid(per_day));
        match self {
            Reads::Numbers => Cell::Int(units),
            Reads::Days => Cell::Int(days),
            Reads::Seconds if per_day < DAY => days.checked_mul(DAY).map_or(Cell::Missing, Cell::Int),
            Reads::Seconds => {
                let per_second = per_day / DAY;
                match units.rem_euclid(per_second) {
                    0 => Cell::Int(units.div_euclid(per_second)),
                    _ => Cell::Float(days as f64 * DAY as f64 + rest as f64 / per_second as f64),
                }
            }
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

/// Reads a date in ISO 8601, `2024-05-31` with an optional time after `T` or a space. Returns days since 1970-01-01 and
/// seconds of the day.
fn date(cell: &str) -> Option<(i64, f64)> {
    let (date, time) = cell.split_once(['T', ' ']).map_or((cell, None), |(date, time)| (date, Some(time)));
    let mut parts = date.split('-');
    let [year, month, day] = [(4, parts.next()), (2, parts.next()), (2, parts.next())]
        .map(|(digits, part)| part.filter(|part| part.len() == digits).and_then(number));
    let (year, month, day) = (i64::from(year?), month?, day?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if parts.next().is_some() || !(1..=length).contains(&day) {
        return None;
    }
    let before: u32 = lengths.get(..(month - 1) as usize)?.iter().sum();
    // Leap days of earlier years; year 0 is a leap year.
    let leaps = |year: i64| (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    let days = (year - 1970) * 365 + leaps(year) - leaps(1970) + i64::from(before + day - 1);
    Some((days, time.map_or(Some(0.0), seconds)?))
}

/// Reads `12:30`, `12:30:00` or `12:30:00.25`, with `Z` or `+02:00` after it. Returns seconds of the day in UTC.
fn seconds(time: &str) -> Option<f64> {
    let (time, offset) = match time.strip_suffix('Z') {
        Some(time) => (time, 0.0),
        None => match time.rfind(['+', '-']) {
            Some(at) => {
                let (time, offset) = time.split_at_checked(at)?;
                let sign = if offset.starts_with('-') { -1.0 } else { 1.0 };
                (time, sign * clock(offset.get(1..)?)?)
            }
            None => (time, 0.0),
        },
    };
    Some(clock(time)? - offset)
}

fn clock(time: &str) -> Option<f64> {
    let mut parts = time.split(':');
    let [hours, minutes] =
        [parts.next()?, parts.next()?].map(|part| Some(part).filter(|part| part.len() == 2).and_then(number));
    let (hours, minutes) = (hours.filter(|hours| *hours < 24)?, minutes.filter(|minutes| *minutes < 60)?);
    let seconds = match parts.next() {
        None => 0.0,
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            number(fraction)?;
            let is_plain = whole.len() == 2 && number(whole)? < 60;
            is_plain.then(|| seconds.parse().ok())??
        }
    };
    parts.next().is_none().then_some(f64::from(hours * 3600 + minutes * 60) + seconds)
}

/// Reads digits only.
fn number(digits: &str) -> Option<u32> {
    let is_plain = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `date -u -d .. +%s`.
    #[test]
    fn dates_are_days_and_seconds() {
        for (cell, days, seconds) in [
            ("1970-01-01", 0, 0.0),
            ("1969-12-31", -1, -86_400.0),
            ("2000-02-29", 11_016, 951_782_400.0),
            ("2000-03-01", 11_017, 951_868_800.0),
            ("1900-03-01", -25_508, -2_203_891_200.0),
            ("2024-05-31", 19_874, 1_717_113_600.0),
            ("2024-05-31T12:30", 19_874, 1_717_158_600.0),
            ("2024-05-31 12:30:15.5Z", 19_874, 1_717_158_615.5),
            ("2024-05-31T12:30:00+02:00", 19_874, 1_717_151_400.0),
            ("0001-01-01", -719_162, -62_135_596_800.0),
            ("9999-12-31", 2_932_896, 253_402_214_400.0),
        ] {
            assert_eq!(Reads::Days.read(cell, &[]), Cell::Int(days), "{cell}");
            let read = match Reads::Seconds.read(cell, &[]) {
                Cell::Int(int) => int as f64,
                Cell::Float(float) => float,
                other => panic!("{cell}: {other:?}"),
            };
            assert_eq!(read, seconds, "{cell}");
        }
        for cell in [
            "2024-5-31",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-00",
            "2024-05-31T",
            "2024-05-31T24:00",
            "2024-05-31T12:60",
            "2024-05-31T12:30:60",
            "31.05.2024",
            "2024-05-31-01",
            "+024-05-31",
            "2024-05-31T12",
            "é",
            "",
        ] {
            assert!(!matches!(Reads::Days.read(cell, &[]), Cell::Int(_)), "{cell}");
        }
    }

    #[test]
    fn cells_are_numbers_or_not() {
        let missing = ["-".to_owned(), "n/a".to_owned()];
        for (cell, expected) in [
            ("3", Cell::Int(3)),
            ("-3.5", Cell::Float(-3.5)),
            ("99999999999999999999", Cell::Float(1e20)),
            ("", Cell::Missing),
            ("NA", Cell::Missing),
            ("-", Cell::Missing),
            ("n/a", Cell::Missing),
            ("80kg", Cell::Text),
        ] {
            assert_eq!(Reads::Numbers.read(cell, &missing), expected, "{cell}");
        }
        assert_eq!(Reads::Numbers.read("-", &[]), Cell::Text);
    }
}
