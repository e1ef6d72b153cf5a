//! Dates in cells, as in ISO 8601.

use super::cells::Cell;

/// The seconds of a day.
const DAY: i64 = 86_400;
/// Nanoseconds, the units of times in cells: as many digits as `number` reads.
const UNITS: i64 = 1_000_000_000;

/// An instant in UTC.
#[derive(Debug, Clone, Copy)]
pub struct Instant {
    /// Whole seconds since 1970-01-01, before the instant.
    seconds: i64,
    /// A part of a second, as a count of units.
    rest: i64,
    /// The number of units in a second.
    units: i64,
}

impl Instant {
    /// Returns the instant at a number of days since 1970-01-01.
    #[cfg(feature = "arrow")]
    pub fn day(days: i32) -> Instant {
        Instant { seconds: i64::from(days) * DAY, rest: 0, units: 1 }
    }

    /// Returns the instant at a number of units since 1970-01-01, of which a second has `units`.
    #[cfg(feature = "arrow")]
    pub fn at(count: i64, units: i64) -> Instant {
        Instant { seconds: count.div_euclid(units), rest: count.rem_euclid(units), units }
    }

    /// The days since 1970-01-01.
    pub fn days(self) -> i64 {
        self.seconds.div_euclid(DAY)
    }

    /// The seconds since 1970-01-01.
    pub fn seconds(self) -> Cell {
        let Instant { seconds, rest, units } = self;
        // Both parts have one sign, so that a difference loses no digits.
        let (whole, part) = if seconds < 0 { (seconds + 1, rest - units) } else { (seconds, rest) };
        match rest {
            0 => Cell::Int(seconds),
            _ => Cell::Float(whole as f64 + part as f64 / units as f64),
        }
    }
}

/// Reads a date, `2024-05-31` with an optional time after `T` or a space.
pub fn instant(cell: &str) -> Option<Instant> {
    let (date, time) =
        cell.split_once(['T', 't', ' ']).map_or((cell, None), |(date, time)| (date, Some(time)));
    // An offset may move the time to the day before or after.
    let (seconds, rest) = time.map_or(Some((0, 0)), seconds)?;
    Some(Instant { seconds: days(date)? * DAY + seconds, rest, units: UNITS })
}

/// Reads `2024-05-31`, as days since 1970-01-01.
fn days(date: &str) -> Option<i64> {
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
    Some((year - 1970) * 365 + leaps(year) - leaps(1970) + i64::from(before + day - 1))
}

/// Reads `12:30`, `12:30:00` or `12:30:00.25`, with `Z`, `UTC` or an offset after it. Returns whole seconds of the day in
/// UTC, which may be negative or more than a day has, and units after them.
fn seconds(time: &str) -> Option<(i64, i64)> {
    let utc = ["Z", "z", "UTC"].iter().find_map(|end| time.strip_suffix(end));
    let (time, offset) = match (utc, time.rfind(['+', '-'])) {
        (Some(time), _) => (time, 0),
        (None, Some(at)) => {
            let (time, offset) = time.split_at_checked(at)?;
            let sign = if offset.starts_with('-') { -1 } else { 1 };
            (time, sign * self::offset(offset.get(1..)?)?)
        }
        (None, None) => (time, 0),
    };
    let (seconds, rest) = clock(time.trim_end())?;
    Some((seconds - offset, rest))
}

/// Reads `02`, `0200` or `02:00`, as seconds.
fn offset(text: &str) -> Option<i64> {
    let (seconds, rest) = match (text.len(), text.is_ascii()) {
        (2, true) => clock(&format!("{text}:00")),
        (4, true) => {
            let (hours, minutes) = text.split_at_checked(2)?;
            clock(&format!("{hours}:{minutes}"))
        }
        _ => clock(text),
    }?;
    (rest == 0).then_some(seconds)
}

/// Reads a time as seconds and units after them.
fn clock(time: &str) -> Option<(i64, i64)> {
    let mut parts = time.split(':');
    let [hours, minutes] =
        [parts.next()?, parts.next()?].map(|part| Some(part).filter(|part| part.len() == 2).and_then(number));
    let (hours, minutes) = (hours.filter(|hours| *hours < 24)?, minutes.filter(|minutes| *minutes < 60)?);
    let (seconds, rest) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
            let rest = number(&format!("{fraction:0<9}")).filter(|_| !fraction.is_empty())?;
            let whole = number(whole).filter(|seconds| whole.len() == 2 && *seconds < 60)?;
            (whole, i64::from(rest))
        }
    };
    parts.next().is_none().then_some((i64::from(hours * 3600 + minutes * 60 + seconds), rest))
}

/// Reads digits only.
fn number(digits: &str) -> Option<u32> {
    let is_plain = digits.len() <= 9 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from `date -u -d .. +%s`, and the day in which they lie.
    #[test]
    fn dates_are_instants() {
        for (cell, seconds) in [
            ("1970-01-01", 0.0),
            ("1969-12-31", -86_400.0),
            ("2000-02-29", 951_782_400.0),
            ("2000-03-01", 951_868_800.0),
            ("1900-03-01", -2_203_891_200.0),
            ("2024-05-31", 1_717_113_600.0),
            ("2024-05-31T12:30", 1_717_158_600.0),
            ("2024-05-31 12:30:15.5Z", 1_717_158_615.5),
            ("2024-05-31t12:30:15,5z", 1_717_158_615.5),
            ("2024-05-31 12:30:15 UTC", 1_717_158_615.0),
            ("2024-05-31T12:30:00+02:00", 1_717_151_400.0),
            ("2024-05-31T12:30:00+0200", 1_717_151_400.0),
            ("2024-05-31T12:30:00+02", 1_717_151_400.0),
            ("2024-05-31 12:30:00 +02:00", 1_717_151_400.0),
            ("2024-05-31T12:30-0330", 1_717_171_200.0),
            // One instant, written in two places, and one before midnight in UTC.
            ("2024-05-31T23:30:00-05:00", 1_717_216_200.0),
            ("2024-06-01T04:30:00Z", 1_717_216_200.0),
            ("2024-05-31T01:00+02", 1_717_110_000.0),
            ("0001-01-01", -62_135_596_800.0),
            ("9999-12-31", 253_402_214_400.0),
            // The float next to the decimal number, before 1970 too.
            ("1969-12-31T23:59:59.999999Z", -1e-6),
            ("1969-12-31T23:59:59.999999999Z", -1e-9),
            ("1969-12-31T23:59:58.5Z", -1.5),
            ("1970-01-01T00:00:00.1", 0.1),
            ("1970-01-01T00:00:00,000000001", 1e-9),
            ("1970-01-01T02:00:00.1+02", 0.1),
            ("1970-01-01T01:00:00.999999+01:00:01", -1e-6),
            ("2024-05-31T12:00:00.123456Z", 1_717_156_800.123456),
            ("0001-01-01T00:00:00.5Z", -62_135_596_799.5),
        ] {
            let instant = instant(cell).unwrap_or_else(|| panic!("{cell}"));
            let read = match instant.seconds() {
                Cell::Int(seconds) => seconds as f64,
                Cell::Float(seconds) => seconds,
                other => panic!("{cell}: {other:?}"),
            };
            assert_eq!(read, seconds, "{cell}");
            assert_eq!(instant.days(), (seconds / 86_400.0).floor() as i64, "{cell}");
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
            "2024-05-31T12:30+2",
            "2024-05-31T12:30+020",
            "2024-05-31T12:30+25",
            "2024-05-31T12:30+",
            "2024-05-31T12:30:00.",
            "2024-05-31T12:30:00.1234567890",
            "2024-05-31T12:30:00+01:00:00.5",
            "2024-05-31T12:30+é",
            "31.05.2024",
            "2024-05-31-01",
            "+024-05-31",
            "2024-05-31T12",
            "é",
            "",
        ] {
            assert!(instant(cell).is_none(), "{cell}");
        }
    }
}
