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

/// Returns sign and digits without the point, and the exponent of the first digit: the shortest digits that parse to the value in
/// its dtype and, of those, the nearest; of two equally near ones, those with an even last digit, like NumPy.
fn digits(value: Scalar) -> (bool, String, i32) {
    let mut buffer = zmij::Buffer::new();
    let text = match value {
        // The text of a wider dtype is longer.
        Scalar::F16(_) | Scalar::Bf16(_) => &*short(value),
        Scalar::F32(float) => buffer.format_finite(float),
        _ => buffer.format_finite(wide(value)),
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{}{after}", before.trim_start_matches('-'));
    let digits = all.trim_start_matches('0');
    let leading = all.len() - digits.len();
    let point = before.trim_start_matches('-').len() as i32 - leading as i32;
    let digits = digits.trim_end_matches('0');
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match digits {
        "" => (text.starts_with('-'), "0".to_owned(), 0),
        digits => (text.starts_with('-'), digits.to_owned(), exponent + point - 1),
    }
}

/// The shortest text of a float of 16 bits.
fn short(value: Scalar) -> String {
    let with = |digits: usize| format!("{:.digits$e}", wide(value));
    let is_same = |text: &String| match value {
        Scalar::F16(float) => text.parse().is_ok_and(|read| f16::from_f64(read) == float),
        Scalar::Bf16(float) => text.parse().is_ok_and(|read| bf16::from_f64(read) == float),
        _ => false,
    };
    (0..PRECISION).map(with).find(is_same).unwrap_or_else(|| with(PRECISION))
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
    let (is_negative, all, power) = digits(value);
    match most {
        Some(most) if all.len() > most + 1 => {
            let (before, after, power) = parts(&format!("{:.most$e}", wide(value)));
            (before, after.trim_end_matches('0').to_owned(), power)
        }
        _ => {
            let (first, after) = all.split_at(1);
            (format!("{}{first}", if is_negative { "-" } else { "" }), after.to_owned(), power)
        }
    }
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
        // Between these limits, the text of the library is that of NumPy.
        match value {
            Scalar::F64(float) => return zmij::Buffer::new().format_finite(float).to_owned(),
            Scalar::F32(float) => return zmij::Buffer::new().format_finite(float).to_owned(),
            _ => {}
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, by the standard library: the fewest digits of those that the exact value rounds to, half to even, which
    /// parse to it. Otherwise its own shortest text.
    fn expected(float: f64) -> (String, i32) {
        let with = |digits: usize| format!("{:.digits$e}", float.abs());
        let own = format!("{:e}", float.abs());
        let text = (0..17).map(with).find(|text| text.parse() == Ok(float.abs())).unwrap_or(own.clone());
        let short = if text.len() <= own.len() { text } else { own };
        let (mantissa, exponent) = short.split_once('e').unwrap();
        (mantissa.replace('.', ""), exponent.parse().unwrap())
    }

    #[test]
    fn digits_are_the_shortest_and_the_nearest() {
        let mut random = fastrand::Rng::with_seed(7);
        let ties = (0..200).map(|at| 2f64.powi(at - 100) * (1.0 + f64::from(at) / 8.0));
        let wide = (54..70).flat_map(|power| {
            (0..50).map(move |at| 2f64.powi(power) + f64::from(at) * 2f64.powi(power - 52))
        });
        let edges = [
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            1e-324 * 30.0,
            9007199254740993.0,
            1e22,
            1e23,
            0.1,
            1.0,
            100.0,
        ];
        let any = std::iter::repeat_with(|| f64::from_bits(random.u64(..))).take(20_000);
        let mut tested = 0;
        for float in
            ties.chain(wide).chain(edges).chain(any.filter(|float| float.is_finite() && *float != 0.0))
        {
            let (is_negative, all, exponent) = digits(Scalar::F64(float));
            assert_eq!((all.clone(), exponent), expected(float), "{float:e}");
            assert_eq!(is_negative, float < 0.0);
            assert_eq!(alone(Scalar::F64(float)).parse(), Ok(float), "{float:e}");
            tested += 1;
        }
        assert!(tested > 20_000, "{tested}");
        assert_eq!(digits(Scalar::F64(-0.0)), (true, "0".to_owned(), 0));
        for (float, text) in [
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(alone(Scalar::F64(float)), text);
        }
        for (float, text) in
            [(0.1f32, "0.1"), (999_999.0, "999999.0"), (1e6, "1e+06"), (1e-4, "1e-04"), (1.5e-4, "0.00015")]
        {
            assert_eq!(alone(Scalar::F32(float)), text);
        }
    }
}
