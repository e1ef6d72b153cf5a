//! The table: on the terminal while it is measured, and as docs/benchmarks.md.

use crate::by_hand::Level;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A measured entry.
pub struct Row {
    pub family: &'static str,
    pub entry: String,
    pub figure: String,
    pub asked: String,
    /// Whether the figure is what is asked for, if anything is.
    pub holds: Option<bool>,
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.holds {
            Some(true) => "PASS",
            Some(false) => "SHORT",
            None => "",
        }
    }

    /// A line of the terminal's table.
    pub fn line(&self) -> String {
        format!("{:68} | {:44} | {:24} | {}", self.entry, self.figure, self.asked, self.verdict())
    }
}

/// Writes the page.
pub fn write(rows: &[Row], level: Level) -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
    std::fs::write(path, page(rows, level))
}

/// The ratios of a page, by entry.
pub fn ratios(page: &str) -> HashMap<String, f64> {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let ratio = |figure: &str| figure.split_once(" x ")?.0.parse().ok();
    cells.filter_map(|(entry, rest)| Some((entry.to_owned(), ratio(rest)?))).collect()
}

fn page(rows: &[Row], level: Level) -> String {
    let (held, asked) = rows
        .iter()
        .filter_map(|row| row.holds)
        .fold((0, 0), |(held, asked), holds| (held + usize::from(holds), asked + 1));
    let mut page = format!(
        "# Benchmarks\n\n\
         Written by `cargo bench --features rivals --bench table -- --write` on {}, {} threads, {}, on {}; do not edit.\n\n\
         A figure is the time of Broadloom as a multiple of that of its rival, which is named beside it: the best loop that we\n\
         can write by hand, for the widest vectors of the CPU, a library, or Broadloom itself on another way to say the same.\n\
         `the peak` is a loop of as many multiplications and additions that wait for nothing. All run in turns, on one thread\n\
         if the entry does not say more, into arrays that are there; the figure is the median over the rounds, and the time in\n\
         brackets the median of Broadloom's. Compiling and calling have limits in seconds. `asked` is the limit that a figure\n\
         has to keep; {held} of {asked} do.\n",
        cpu(),
        std::thread::available_parallelism().map_or(1, usize::from),
        level.name(),
        today(),
    );
    let mut family = "";
    for row in rows {
        if row.family != family {
            family = row.family;
            let _ =
                write!(page, "\n## {family}\n\n| entry | figure | asked | |\n| --- | --- | --- | --- |\n");
        }
        let _ = writeln!(page, "| {} | {} | {} | {} |", row.entry, row.figure, row.asked, row.verdict());
    }
    page
}

/// The name of the processor, by the system.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    match (field("model name"), field("cpu family"), field("model\t")) {
        (Some(name), Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        (Some(name), ..) => name,
        _ => std::env::consts::ARCH.to_owned(),
    }
}

/// The date, as 2026-11-21.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut year, mut day) = (1970, seconds / 86_400);
    let is_leap =
        |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_of = |year| if is_leap(year) { 366 } else { 365 };
    while day >= days_of(year) {
        day -= days_of(year);
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}
