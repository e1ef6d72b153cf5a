//! Prints floats as NumPy does: the shortest digits that distinguish a value from its neighbours in its dtype, and
//! at most eight after the point in a column of several.

use broadloom_ir::dtype::{AnyNumber, DType, Scalar};
use half::{bf16, f16};

/// The maximum number of digits after the point.
const PRECISION: usize = 8;

/// Returns the exact value.
fn wide(value: Scalar) -> f64 {
    match value.number() {
        AnyNumber::Float(float) => float,
        AnyNumber::Int(int) => int as f64,
    }
}

/// Returns the shortest text `d.ddde-5` that parses to the value in its dtype. Of two equally near texts it takes the one
/// with an even last digit, like NumPy and unlike the standard library.
fn shortest(value: Scalar) -> String {
    let with = |digits: usize| format!("{:.digits$e}", wide(value));
    let is_same = |text: &String| match value {
        Scalar::F16(float) => text.parse().is_ok_and(|read| f16::from_f64(read) == float),
        Scalar::Bf16(float) => text.parse().is_ok_and(|read| bf16::from_f64(read) == float),
        Scalar::F32(float) => text.parse() == Ok(float),
        _ => text.parse() == Ok(wide(value)),
    };
    let text = match value {
        // The standard library cannot print these; the text of f32 is longer.
        Scalar::F16(_) | Scalar::Bf16(_) => {
            return (0..).map(with).take(PRECISION).find(is_same).unwrap_or_else(|| with(PRECISION));
        }
        Scalar::F32(float) => format!("{float:e}"),
        _ => format!("{:e}", wide(value)),
    };
    let digits = text.chars().take_while(|letter| *letter != 'e').filter(char::is_ascii_digit).count();
    Some(with(digits.saturating_sub(1))).filter(is_same).unwrap_or(text)
}

/// Returns sign and digits without the point, and the exponent of the first digit.
fn digits(value: Scalar) -> (bool, String, i32) {
    let text = shortest(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
    (mantissa.starts_with('-'), digits, exponent.parse().unwrap_or(0))
}

/// Returns the parts before and after the point.
fn positional(value: Scalar, most: Option<usize>) -> (String, String) {
    let (is_negative, digits, exponent) = digits(value);
    let after = (digits.len() as i64 - 1 - i64::from(exponent)).max(0);
    let text = match most {
        Some(most) if after > most as i64 => format!("{:.most$}", wide(value)),
        _ => {
            // Zeros between the point and the digits.
            let point = exponent.saturating_add(1);
            let leading = usize::try_from(1 - point).unwrap_or(0);
            let padded = format!("{}{digits}", "0".repeat(leading));
            let before = usize::try_from(point).unwrap_or(0).max(1);
            let padded = format!("{padded:0<before$}");
            let (before, after) = padded.split_at(before);
            format!("{}{before}.{after}", if is_negative { "-" } else { "" })
        }
    };
    let (before, after) = text.split_once('.').unwrap_or((&text, ""));
    (before.to_owned(), after.trim_end_matches('0').to_owned())
}

/// Returns sign and first digit, the digits after the point, and the exponent.
fn scientific(value: Scalar, most: Option<usize>) -> (String, String, i32) {
    let (_, all, _) = digits(value);
    let text = match most {
        Some(most) if all.len() > most + 1 => format!("{:.most$e}", wide(value)),
        _ => shortest(value),
    };
    let (before, after, power) = parts(&text);
    (before, after.trim_end_matches('0').to_owned(), power)
}

fn parts(text: &str) -> (String, String, i32) {
    let (mantissa, power) = text.split_once('e').unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (before.to_owned(), after.to_owned(), power.parse().unwrap_or(0))
}

/// Formats an exponent with a sign and at least this many digits.
fn power(power: i32, width: usize) -> String {
    let sign = if power < 0 { '-' } else { '+' };
    format!("e{sign}{:0>width$}", power.unsigned_abs())
}

fn not_finite(value: f64) -> Option<&'static str> {
    match value {
        value if value.is_nan() => Some("nan"),
        f64::INFINITY => Some("inf"),
        f64::NEG_INFINITY => Some("-inf"),
        _ => None,
    }
}

/// Formats a single value.
pub fn alone(value: Scalar) -> String {
    let float = wide(value);
    if let Some(word) = not_finite(float) {
        return word.to_owned();
    }
    let absolute = float.abs();
    // Like Python's own floats.
    let end = if value.dtype() == DType::F64 { 1e16 } else { cutoff(value.dtype()) };
    if absolute == 0.0 || (1e-4..end).contains(&absolute) {
        let (before, after) = positional(value, None);
        return format!("{before}.{}", if after.is_empty() { "0" } else { &after });
    }
    let (before, after, exponent) = scientific(value, None);
    let point = if after.is_empty() { "" } else { "." };
    format!("{before}{point}{after}{}", power(exponent, 2))
}

/// The format of floats in a column.
#[derive(Debug)]
pub struct Floats {
    /// The number of digits of the exponent, if there is one.
    exponent: Option<usize>,
    /// The numbers of characters before and after the point.
    before: usize,
    after: usize,
}

impl Floats {
    /// Returns the format that fits all values that `each` passes to a function. It calls `each` twice, so that no value has
    /// to be kept.
    pub fn of(dtype: DType, each: &mut super::Elements<'_>) -> Floats {
        let (mut least, mut largest, mut widest) = (f64::INFINITY, 0.0f64, 0);
        each(&mut |value| match not_finite(wide(value)) {
            Some(word) => widest = widest.max(word.len()),
            None if wide(value) != 0.0 => {
                least = least.min(wide(value).abs());
                largest = largest.max(wide(value).abs());
            }
            None => {}
        });
        let has_exponent =
            largest > 0.0 && (largest >= cutoff(dtype) || least < 1e-4 || largest / least > 1000.0);
        let mut floats = Floats { exponent: has_exponent.then_some(0), before: 0, after: 0 };
        each(&mut |value| {
            if !wide(value).is_finite() {
                return;
            }
            let (before, after) = match &mut floats.exponent {
                Some(digits) => {
                    let (before, after, exponent) = scientific(value, Some(PRECISION));
                    *digits = power(exponent, 2).len().saturating_sub(2).max(*digits);
                    (before, after)
                }
                None => positional(value, Some(PRECISION)),
            };
            floats.before = floats.before.max(before.len());
            floats.after = floats.after.max(after.len());
        });
        floats.before = floats.before.max(widest.saturating_sub(floats.right() + 1));
        floats
    }

    /// Returns the number of characters after the point.
    fn right(&self) -> usize {
        self.after + self.exponent.map_or(0, |digits| digits + 2)
    }

    pub fn write(&self, value: Scalar) -> String {
        let (float, before, after) = (wide(value), self.before, self.after);
        if let Some(word) = not_finite(float) {
            return format!("{word:>width$}", width = before + 1 + self.right());
        }
        match self.exponent {
            Some(width) => {
                let (integer, fraction, exponent) = parts(&format!("{float:.after$e}"));
                format!("{integer:>before$}.{fraction}{}", power(exponent, width))
            }
            None => {
                let (integer, fraction) = positional(value, Some(PRECISION));
                format!("{integer:>before$}.{fraction:<after$}")
            }
        }
    }
}

/// Returns the value from which exponents are used, which depends on the decimal digits of the dtype.
fn cutoff(dtype: DType) -> f64 {
    match dtype {
        DType::Bf16 => 1e2,
        DType::F16 => 1e3,
        DType::F32 => 1e6,
        _ => 1e8,
    }
}
