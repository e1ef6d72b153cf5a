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

/// Reads a date, `2024-05-31` or `20240531`, with an optional time after `T` or a space.
pub fn instant(cell: &str) -> Option<Instant> {
    read(cell).filter(|(_, is_leap)| !is_leap).map(|(instant, _)| instant)
}

/// Whether a cell is a leap second, the second 60 before a midnight in UTC: a count of seconds since 1970 has none.
pub fn is_leap_second(cell: &str) -> bool {
    let midnight = |instant: Instant| instant.seconds.rem_euclid(DAY) == 0;
    read(cell.trim()).is_some_and(|(instant, is_leap)| is_leap && midnight(instant))
}

/// Reads a date, and whether its second is 60.
fn read(cell: &str) -> Option<(Instant, bool)> {
    let (date, time) =
        cell.split_once(['T', 't', ' ']).map_or((cell, None), |(date, time)| (date, Some(time)));
    // An offset may move the time to the day before or after.
    let Clock { seconds, rest, is_leap } = time.map_or(Some(Clock::default()), utc)?;
    Some((Instant { seconds: days(date)? * DAY + seconds, rest, units: UNITS }, is_leap))
}

/// Reads `2024-05-31` or `20240531`, as days since 1970-01-01.
fn days(date: &str) -> Option<i64> {
    let [year, month, day] = match date.split('-').collect::<Vec<_>>().as_slice() {
        [year, month, day] => [*year, *month, *day],
        [date] if date.len() == 8 && date.is_ascii() => [date.get(..4)?, date.get(4..6)?, date.get(6..)?],
        _ => return None,
    };
    let part = |digits: &str, count: usize| if digits.len() == count { number(digits) } else { None };
    let (year, month, day) = (i64::from(part(year, 4)?), part(month, 2)?, part(day, 2)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    if !(1..=length).contains(&day) {
        return None;
    }
    let before: u32 = lengths.get(..(month - 1) as usize)?.iter().sum();
    // Leap days of earlier years; year 0 is a leap year.
    let leaps = |year: i64| (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    Some((year - 1970) * 365 + leaps(year) - leaps(1970) + i64::from(before + day - 1))
}

/// A time of day.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    /// Whole seconds of the day in UTC, which may be negative or more than a day has.
    seconds: i64,
    /// Units after them.
    rest: i64,
    is_leap: bool,
}

/// Reads `12`, `12:30`, `12:30:00` or `12:30:00.25`, also without colons, with `Z`, `UTC` or an offset after it.
fn utc(time: &str) -> Option<Clock> {
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
    let clock = clock(time.trim_end())?;
    Some(Clock { seconds: clock.seconds - offset, ..clock })
}

/// Reads `02`, `0200` or `02:00`, as seconds.
fn offset(text: &str) -> Option<i64> {
    let Clock { seconds, rest, is_leap } = clock(text)?;
    (rest == 0 && !is_leap && seconds < DAY).then_some(seconds)
}

/// Reads a time, in which 24:00 is the end of the day.
fn clock(time: &str) -> Option<Clock> {
    let (whole, fraction) =
        time.split_once(['.', ',']).map_or((time, None), |(whole, part)| (whole, Some(part)));
    let parts: Vec<&str> = match whole.contains(':') {
        true => whole.split(':').collect(),
        false if !whole.is_ascii() => return None,
        false => {
            (0..whole.len()).step_by(2).filter_map(|at| whole.get(at..whole.len().min(at + 2))).collect()
        }
    };
    let part = |at: usize| match parts.get(at) {
        Some(digits) if digits.len() == 2 => number(digits),
        Some(_) => None,
        None if at > 0 => Some(0),
        None => None,
    };
    let (hours, minutes, seconds) = (part(0)?, part(1)?, part(2)?);
    let rest = match fraction {
        None => 0,
        // Parts of hours and of minutes are not read.
        Some(fraction) if parts.len() == 3 && !fraction.is_empty() => number(&format!("{fraction:0<9}"))?,
        Some(_) => return None,
    };
    let is_end = (hours, minutes, seconds, rest) == (24, 0, 0, 0);
    let is_time = hours < 24 && minutes < 60 && seconds <= 60;
    (parts.len() <= 3 && (is_end || is_time)).then(|| Clock {
        seconds: i64::from(hours * 3600 + minutes * 60 + seconds),
        rest: i64::from(rest),
        is_leap: seconds == 60,
    })
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
            // The basic forms of ISO 8601, and hours alone.
            ("20240531", 1_717_113_600.0),
            ("20240531T123000Z", 1_717_158_600.0),
            ("20240531T123000", 1_717_158_600.0),
            ("20240531T1230", 1_717_158_600.0),
            ("20240531T12", 1_717_156_800.0),
            ("20240531T12+02", 1_717_149_600.0),
            ("20240531T123015.5+0200", 1_717_151_415.5),
            ("20240531 123000", 1_717_158_600.0),
            ("2024-05-31T123000Z", 1_717_158_600.0),
            ("2024-05-31T12", 1_717_156_800.0),
            ("2024-05-31T12+02", 1_717_149_600.0),
            ("19691231", -86_400.0),
            // The end of a day is the start of the next one.
            ("2024-05-31T24:00:00", 1_717_200_000.0),
            ("2024-05-31T24:00", 1_717_200_000.0),
            ("20240531T24", 1_717_200_000.0),
            ("2024-02-28T24:00:00Z", 1_709_164_800.0),
            ("2024-12-31T24:00:00.000+01:00", 1_735_686_000.0),
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
            "2024-05-31T24:00:01",
            "2024-05-31T24:01",
            "2024-05-31T24:00:00.5",
            "2024-05-31T25:00",
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
            "2024-05-31T1",
            "2024-05-31T123",
            "2024-05-31T12300",
            "2024-05-31T12300000",
            "2024-05-31T12:3000",
            "2024-05-31T12.5",
            "2024-05-31T12:30.5",
            "2024-05-31T12:30+24:00",
            "2024-05-31T12:30+01:00:60",
            "2024-0531",
            "202405-31",
            "2024053",
            "202405311",
            "20241301",
            "20230229",
            "2024é31",
            "é",
            "",
        ] {
            assert!(instant(cell).is_none(), "{cell}");
        }
    }
    /// The leap seconds of 2016, the same in New York and in India, and seconds 60 elsewhere.
    #[test]
    fn leap_seconds_are_told_from_mistakes() {
        for (cell, expected) in [
            ("2016-12-31T23:59:60Z", true),
            ("2016-12-31 23:59:60.5", true),
            ("20161231T235960Z", true),
            ("2016-12-31T18:59:60-05:00", true),
            ("2017-01-01T05:29:60+0530", true),
            ("2016-12-31T12:30:60Z", false),
            ("2016-12-31T23:59:60-05:00", false),
            ("2016-12-31T23:59:61Z", false),
            ("2016-12-32T23:59:60Z", false),
            ("2016-12-31T23:59:59Z", false),
            ("2016-12-31T24:00:00Z", false),
            ("Oslo", false),
        ] {
            assert_eq!(is_leap_second(cell), expected, "{cell}");
            assert!(!expected || instant(cell).is_none(), "{cell}");
        }
    }
}
