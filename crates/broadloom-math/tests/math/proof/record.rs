//! What the sweep has measured: `accuracy.tsv`, a line for each function, format and numerics.

use crate::proof::measure::{Finding, NUMERICS};
use crate::proof::random::Format;
use crate::proof::table::FUNCTIONS;
use broadloom_math::Function;
use std::{fs, io};

/// The command that measures, writes the table, and renders it.
pub const COMMAND: &str = "cargo run --release -p broadloom-math --example accuracy";

pub const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/accuracy.tsv");
const HEADER: &str = "function\tformat\tnumerics\tulps\tat\targuments\thow\tfingerprint";

/// A line of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub function: Function,
    pub format: Format,
    /// Index into [`NUMERICS`].
    pub numerics: usize,
    /// The largest error, [`rounded_up`].
    pub worst: Finding,
    /// How many arguments were tried.
    pub tested: u64,
    /// Whether these are all that there are.
    pub exhaustive: bool,
    /// Of the code that was measured: its results at the [`probe`](crate::proof::samples::probe).
    pub fingerprint: u64,
}

/// An error in ulps as it is recorded.
pub fn rounded_up(error: f64) -> f64 {
    (error * 1e6).ceil() / 1e6
}

/// The lines of the committed table.
pub fn read() -> io::Result<Vec<Entry>> {
    let text = fs::read_to_string(TABLE)?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && *line != HEADER);
    lines
        .map(|line| {
            let invalid = || io::Error::new(io::ErrorKind::InvalidData, format!("{TABLE}: {line:?}"));
            entry(line).ok_or_else(invalid)
        })
        .collect()
}

fn entry(line: &str) -> Option<Entry> {
    let fields: Vec<_> = line.split('\t').collect();
    let [function, format, numerics, ulps, at, tested, how, fingerprint] = fields[..] else { return None };
    let (x, y) = at.split_once(' ').unwrap_or((at, "0"));
    let format = Format::ALL.into_iter().find(|f| f.name == format)?;
    // Read in the format, because its digits name another f64 than the f32 is.
    let number = |text: &str| match format {
        Format::F32 => text.parse().ok().map(|x: f32| f64::from(x)),
        _ => text.parse().ok(),
    };
    Some(Entry {
        function: Function::ALL.into_iter().find(|f| f.name() == function)?,
        format,
        numerics: NUMERICS.iter().position(|&name| name == numerics)?,
        worst: Finding { error: ulps.parse().ok()?, at: (number(x)?, number(y)?) },
        tested: tested.parse().ok()?,
        exhaustive: how == "exhaustive",
        fingerprint: u64::from_str_radix(fingerprint, 16).ok()?,
    })
}

/// The table as text, in the order of the functions.
pub fn print(mut entries: Vec<Entry>) -> String {
    let place = |f: Function| FUNCTIONS.iter().position(|row| row.function == f);
    entries.sort_by_key(|entry| (place(entry.function), entry.format.name, entry.numerics));
    let lines: String = entries.iter().map(line).collect();
    format!("# Written by `{COMMAND}`.\n{HEADER}\n{lines}")
}

fn line(entry: &Entry) -> String {
    let (format, numerics) = (entry.format.name, NUMERICS[entry.numerics]);
    // The digits are those of the format.
    let digits = |x: f64| if format == "f32" { format!("{:e}", x as f32) } else { format!("{x:e}") };
    let Entry { function, worst: Finding { error, at: (x, y) }, tested, fingerprint, .. } = entry;
    let at = match function.arity() {
        1 => digits(*x),
        _ => format!("{} {}", digits(*x), digits(*y)),
    };
    let how = if entry.exhaustive { "exhaustive" } else { "sampled" };
    format!("{function}\t{format}\t{numerics}\t{error:.6}\t{at}\t{tested}\t{how}\t{fingerprint:016x}\n")
}
