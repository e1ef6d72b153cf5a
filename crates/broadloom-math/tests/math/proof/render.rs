//! `docs/accuracy.md`, from the tables.

use crate::proof::measure::NUMERICS;
use crate::proof::random::Format;
use crate::proof::record::{COMMAND, Entry};
use crate::proof::table::{FUNCTIONS, Row, Truth};
use std::fmt::Write;

/// Where the page lies.
pub const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy.md");

/// The page.
pub fn render(entries: &[Entry]) -> String {
    let count = |format, arity, exhaustive| {
        let of = move |entry: &&Entry| {
            (entry.format, entry.function.arity(), entry.exhaustive) == (format, arity, exhaustive)
        };
        let tested = entries.iter().filter(of).map(|entry| entry.tested);
        (tested.clone().count() / NUMERICS.len(), tested.min().unwrap_or(0) as f64 / 1e6)
    };
    let (functions, _) = count(Format::F32, 1, true);
    let (others, some) = count(Format::F32, 1, false);
    let so_far = match others {
        0 => String::new(),
        _ => format!(
            "\n  {others} more functions so far at {some:.0} million arguments evenly spread over all, marked `*`;"
        ),
    };
    let (_, pairs) = count(Format::F32, 2, false);
    let doubles = count(Format::F64, 1, false).1.min(count(Format::F64, 2, false).1);
    format!(
        "# Accuracy of the elementary functions

Generated from `crates/broadloom-math/accuracy.tsv`, in which the worst arguments stand, too; do not edit.
`{COMMAND}` measures, writes both, and resumes
where it was stopped; `-- --help` names its options.

## Errors

Largest errors found, in ulps (units in the last place of the true value; below the normal numbers, the least
subnormal), rounded up. *Unfused* is what CPUs without fused multiply-add compute, *fused* what those with
it compute; each gives the same bits on every CPU. The bound is what tests hold the functions to, for f32 and
f64 where they differ; *exact* functions agree with their definition to the bit. *Of terms*: in ulps of the
largest term of a sum, where the sum is smaller than it.

{}
How measured:

* f32, one operand ({functions} functions): all 2^32 arguments;{so_far}
  against f64 functions of the C library or of the crate `libm`, the thousand worst again in multiple
  precision, which decides.
* f32, two operands: at least {pairs:.1} million pairs each: corners, hard cases, and random ones of every size,
  compared likewise.
* f64: at least {doubles:.2} million arguments each, likewise chosen, against sums of two f64 (some 100 bits), where these
  are far from the ends of the format, or else in multiple precision (130 bits), which decides on the worst again.
* Among them are arguments found by a search: next to the worst ones of each 32nd of a binade, at all distances, round
  by round. So short intervals are met where terms cancel, or where an intermediate result passes a power of two.
* `cargo test` repeats a part of it, and all worst arguments, and fails if an error is larger than recorded.

There are no functions of f16 or bf16. Such a number is computed with as f32 and the result is rounded once, so
its error is at most half an ulp of the narrow format, plus the f32 error times 2^-13 (f16) or 2^-16 (bf16).

## Special values

As C99 Annex F has them, where it has the function. All NaN are the positive quiet one. Other values are
rounded to four digits here.

{}{}",
        errors(entries),
        special_unary(),
        special_binary(),
    )
}

/// A Markdown table, of which the first row is the head.
fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        writeln!(text, "| {} |", row.join(" | ")).expect("a string takes all");
        if i == 0 {
            writeln!(text, "|{}", " --- |".repeat(row.len())).expect("a string takes all");
        }
    }
    text
}

fn errors(entries: &[Entry]) -> String {
    let mut rows = vec![
        ["function", "", "bound", "f32 unfused", "f32 fused", "f64 unfused", "f64 fused"]
            .map(String::from)
            .to_vec(),
    ];
    for row in FUNCTIONS {
        let [f32, f64] = row.bounds;
        let exact = matches!(row.truth, Truth::Exact { .. });
        let terms = matches!(row.truth, Truth::Rounded { floor, .. } if floor(1.0, 1.0) > 0.0);
        let bound = if exact {
            "exact".into()
        } else if terms {
            format!("{f32}, of terms")
        } else if f32 == f64 {
            f32.to_string()
        } else {
            format!("{f32}, {f64}")
        };
        let mut cells = vec![format!("`{}`", row.function), row.function.doc().into(), bound];
        for format in Format::ALL {
            for numerics in 0..NUMERICS.len() {
                let of = |entry: &&Entry| {
                    (entry.function, entry.format, entry.numerics) == (row.function, format, numerics)
                };
                cells.push(match entries.iter().find(of) {
                    Some(entry) if exact && entry.worst.error == 0.0 => "exact".into(),
                    Some(entry) => {
                        let part = !entry.exhaustive && format == Format::F32 && row.function.arity() == 1;
                        let mark = if part { "\\*" } else { "" };
                        format!("{:.3}{mark}", (entry.worst.error * 1e3).ceil() / 1e3)
                    }
                    None => "not measured".into(),
                });
            }
        }
        rows.push(cells);
    }
    table(&rows)
}

const INF: f64 = f64::INFINITY;

fn special_unary() -> String {
    let points = [0.0, -0.0, 1.0, -1.0, INF, -INF, f64::NAN];
    let mut rows = vec![["a".to_string()].into_iter().chain(points.map(brief)).collect()];
    for row in FUNCTIONS.iter().filter(|row| row.function.arity() == 1) {
        let values = points.map(|x| value(row, x, 0.0));
        rows.push([format!("`{}(a)`", row.function)].into_iter().chain(values).collect());
    }
    table(&rows)
}

fn special_binary() -> String {
    let points = [0.0, -0.0, 1.0, -1.0, 2.5, -2.5, INF, -INF, f64::NAN];
    let mut text = String::new();
    for row in FUNCTIONS.iter().filter(|row| row.function.arity() == 2) {
        let corner = format!("`{}(a, b)`: a down, b across", row.function);
        let mut rows = vec![[corner].into_iter().chain(points.map(brief)).collect()];
        for x in points {
            let values = points.map(|y| value(row, x, y));
            rows.push([brief(x)].into_iter().chain(values).collect());
        }
        text += "\n";
        text += &table(&rows);
    }
    text
}

/// The value as all formats and numerics show it, or all values if they differ in what is shown.
fn value(row: &Row, x: f64, y: f64) -> String {
    let mut shown: Vec<String> = Vec::new();
    let narrow = row.f32.map(|f| f64::from(f(x as f32, y as f32)));
    let wide = row.f64.map(|f| f(x, y));
    for value in narrow.into_iter().chain(wide).map(brief) {
        if !shown.contains(&value) {
            shown.push(value);
        }
    }
    shown.join(" or ")
}

/// A number in at most four significant digits.
fn brief(x: f64) -> String {
    let four: f64 = format!("{x:.3e}").parse().expect("a printed number");
    four.to_string()
}
