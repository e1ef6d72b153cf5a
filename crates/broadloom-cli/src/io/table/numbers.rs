//! Numbers in cells: how they are written, and what only looks like one.

use super::cells::Cell;

/// How the cells of a table are written.
#[derive(Debug, Clone)]
pub struct Spelling {
    /// Cells that mean a missing number, besides the default ones.
    pub missing: Vec<String>,
    /// The mark before the decimals of a number.
    pub decimal: char,
    /// The mark between groups of three digits.
    pub thousands: Option<char>,
}

impl Default for Spelling {
    fn default() -> Self {
        Spelling { missing: Vec::new(), decimal: '.', thousands: None }
    }
}

impl Spelling {
    /// Reads a number.
    pub fn number(&self, cell: &str) -> Option<Cell> {
        match (self.decimal, self.thousands) {
            ('.', None) => number(cell),
            _ => number(&self.plain(cell)?),
        }
    }

    /// The number as programs write it; `None` if the marks are in places where they mean something else.
    fn plain(&self, cell: &str) -> Option<String> {
        let (whole, fraction) = match cell.split_once(self.decimal) {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (cell, None),
        };
        let whole = match self.thousands.filter(|mark| whole.contains(*mark)) {
            Some(mark) if !is_grouped(whole.trim_start_matches(['+', '-']), mark) => return None,
            Some(mark) => whole.replace(mark, ""),
            None => whole.to_owned(),
        };
        let plain = fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}"));
        // A point that is not the decimal mark means something else too.
        let points = plain.matches('.').count();
        (points == usize::from(fraction.is_some())).then_some(plain)
    }
}

fn number(cell: &str) -> Option<Cell> {
    match cell.parse::<i64>() {
        Ok(0) if cell.starts_with('-') => Some(Cell::NegativeZero),
        Ok(int) => Some(Cell::Int(int)),
        Err(_) => cell.parse().ok().map(Cell::Float),
    }
}

/// Whether digits are in groups of three, the first of which may be shorter.
fn is_grouped(digits: &str, mark: char) -> bool {
    let mut groups = digits.split(mark);
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    groups.next().is_some_and(|first| (1..=3).contains(&first.len()) && are_digits(first))
        && groups.all(|group| group.len() == 3 && are_digits(group))
}

/// The marks that people put between groups of digits.
const BETWEEN: [char; 8] = [',', '.', ' ', '\'', '_', '\u{a0}', '\u{2009}', '\u{202f}'];

/// What makes a cell a number for people and not for programs, such as a decimal comma or a percent sign.
pub fn dress(cell: &str) -> Option<&'static str> {
    let is_currency = |letter: char| matches!(letter, '$' | '€' | '£' | '¥' | '₹' | '¢');
    let is_sign = |letter: char| is_currency(letter) || matches!(letter, '%' | '‰' | '(' | ')' | '−');
    let bare = cell.trim_matches(|letter: char| {
        is_sign(letter) || matches!(letter, '+' | '-') || letter.is_whitespace()
    });
    let (digits, exponent) = bare.split_once(['e', 'E']).unwrap_or((bare, "0"));
    exponent.parse::<i32>().ok()?;
    let is_digit = |letter: char| letter.is_ascii_digit();
    if !digits.contains(is_digit)
        || !digits.chars().all(|letter| is_digit(letter) || BETWEEN.contains(&letter))
    {
        return None;
    }
    // One mark before decimals, behind groups of three digits with the same mark between all.
    let marks: Vec<char> = digits.chars().filter(|letter| !is_digit(*letter)).collect();
    let is_number = match marks.as_slice() {
        [] | [',' | '.'] => true,
        [first, .., last] if first != last && matches!(last, ',' | '.') => {
            digits.rsplit_once(*last).is_some_and(|(whole, _)| is_grouped(whole, *first))
        }
        [first, ..] => is_grouped(digits, *first),
    };
    if !is_number {
        return None;
    }
    match cell {
        _ if digits.contains(',') => Some("a comma"),
        _ if cell.contains(['%', '‰']) => Some("a percent sign"),
        _ if cell.contains(is_currency) => Some("a currency sign"),
        _ if cell.contains(is_sign) => Some("a sign that programs do not use"),
        _ if marks == ['.'] => Some("a point"),
        _ if !marks.is_empty() => Some("marks between groups of digits"),
        _ => None,
    }
}

/// The options that read a cell with commas and points, each with when to use it.
pub fn options(cell: &str) -> Vec<(&'static str, String)> {
    let choices = [
        ("if the comma starts the decimals:", "--decimal ','", ',', None),
        ("if the comma separates thousands:", "--thousands ','", '.', Some(',')),
        (
            "to read the comma before decimals, and points between thousands:",
            "--decimal ',' --thousands '.'",
            ',',
            Some('.'),
        ),
    ];
    let reads = |decimal: char, thousands: Option<char>| {
        let is_used = |mark: char| cell.contains(mark);
        let spelling = Spelling { decimal, thousands, ..Spelling::default() };
        is_used(',') && thousands.is_none_or(is_used) && spelling.number(cell).is_some()
    };
    let fitting = choices.into_iter().filter(|(.., decimal, thousands)| reads(*decimal, *thousands));
    fitting.map(|(sentence, code, ..)| (sentence, code.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_chosen() {
        let plain = Spelling::default();
        let german = Spelling { decimal: ',', thousands: Some('.'), ..Spelling::default() };
        let comma = Spelling { decimal: ',', ..Spelling::default() };
        let english = Spelling { thousands: Some(','), ..Spelling::default() };
        let (int, float) = (|int| Some(Cell::Int(int)), |float| Some(Cell::Float(float)));
        for (cell, by_plain, by_german, by_comma, by_english) in [
            ("3", int(3), int(3), int(3), int(3)),
            (
                "-0",
                Some(Cell::NegativeZero),
                Some(Cell::NegativeZero),
                Some(Cell::NegativeZero),
                Some(Cell::NegativeZero),
            ),
            ("3,25", None, float(3.25), float(3.25), None),
            ("3.25", float(3.25), None, None, float(3.25)),
            ("1.234", float(1.234), int(1234), None, float(1.234)),
            ("-1.234,5", None, float(-1234.5), None, None),
            ("1,234", None, float(1.234), float(1.234), int(1234)),
            ("1,234.5", None, None, None, float(1234.5)),
            ("12,34,567", None, None, None, None),
            ("1.23,4", None, None, None, None),
            ("1,5e3", None, float(1500.0), float(1500.0), None),
            (",5", None, float(0.5), float(0.5), None),
            ("", None, None, None, None),
        ] {
            let found = [&plain, &german, &comma, &english].map(|spelling| spelling.number(cell));
            assert_eq!(found, [by_plain, by_german, by_comma, by_english], "{cell}");
        }
    }

    #[test]
    fn numbers_for_people_are_told_from_texts() {
        for (cell, expected) in [
            ("3,14", Some("a comma")),
            ("1,234", Some("a comma")),
            ("1.234,56", Some("a comma")),
            ("-1,5e3", Some("a comma")),
            ("$5.10", Some("a currency sign")),
            ("€ 1,50", Some("a comma")),
            ("5%", Some("a percent sign")),
            ("5.5 %", Some("a percent sign")),
            ("(5.10)", Some("a sign that programs do not use")),
            ("−5", Some("a sign that programs do not use")),
            ("1 234", Some("marks between groups of digits")),
            ("1'234'567", Some("marks between groups of digits")),
            ("1.234.567", Some("marks between groups of digits")),
            ("80kg", None),
            ("1,2,3", None),
            ("12 34", None),
            ("10.0.0.1", None),
            ("2024-05-31", None),
            ("12:30", None),
            ("%", None),
            ("$", None),
            ("", None),
            ("a,b", None),
            ("52E", None),
        ] {
            assert_eq!(dress(cell), expected, "{cell}");
        }
    }
}
