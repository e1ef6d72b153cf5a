//! Dates in cells, as in ISO 8601.

/// The seconds of a day.
pub const DAY: i64 = 86_400;

/// Reads a date, `2024-05-31` with an optional time after `T` or a space. Returns the instant in UTC: days since
/// 1970-01-01, and seconds of that day.
pub fn instant(cell: &str) -> Option<(i64, f64)> {
    let (date, time) =
        cell.split_once(['T', 't', ' ']).map_or((cell, None), |(date, time)| (date, Some(time)));
    let seconds = time.map_or(Some(0.0), seconds)?;
    // An offset may move the time to the day before or after.
    let day = (seconds / DAY as f64).floor();
    Some((days(date)? + day as i64, seconds - day * DAY as f64))
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

/// Reads `12:30`, `12:30:00` or `12:30:00.25`, with `Z`, `UTC` or an offset after it. Returns seconds of the day in UTC,
/// which may be negative or more than a day has.
fn seconds(time: &str) -> Option<f64> {
    let utc = ["Z", "z", "UTC"].iter().find_map(|end| time.strip_suffix(end));
    let (time, offset) = match (utc, time.rfind(['+', '-'])) {
        (Some(time), _) => (time, 0.0),
        (None, Some(at)) => {
            let (time, offset) = time.split_at_checked(at)?;
            let sign = if offset.starts_with('-') { -1.0 } else { 1.0 };
            (time, sign * self::offset(offset.get(1..)?)?)
        }
        (None, None) => (time, 0.0),
    };
    Some(clock(time.trim_end())? - offset)
}

/// Reads `02`, `0200` or `02:00`, as seconds.
fn offset(text: &str) -> Option<f64> {
    match (text.len(), text.is_ascii()) {
        (2, true) => clock(&format!("{text}:00")),
        (4, true) => {
            let (hours, minutes) = text.split_at_checked(2)?;
            clock(&format!("{hours}:{minutes}"))
        }
        _ => clock(text),
    }
}

fn clock(time: &str) -> Option<f64> {
    let mut parts = time.split(':');
    let [hours, minutes] =
        [parts.next()?, parts.next()?].map(|part| Some(part).filter(|part| part.len() == 2).and_then(number));
    let (hours, minutes) = (hours.filter(|hours| *hours < 24)?, minutes.filter(|minutes| *minutes < 60)?);
    let seconds = match parts.next() {
        None => 0.0,
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, "0"));
            number(fraction)?;
            let is_plain = whole.len() == 2 && number(whole)? < 60;
            is_plain.then(|| format!("{whole}.{fraction}").parse().ok())??
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
        ] {
            let (days, of_day) = instant(cell).unwrap_or_else(|| panic!("{cell}"));
            assert_eq!(days as f64 * 86_400.0 + of_day, seconds, "{cell}");
            assert!((0.0..86_400.0).contains(&of_day), "{cell}: {of_day}");
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
            "2024-05-31T12:30+é",
            "31.05.2024",
            "2024-05-31-01",
            "+024-05-31",
            "2024-05-31T12",
            "é",
            "",
        ] {
            assert_eq!(instant(cell), None, "{cell}");
        }
    }
}
