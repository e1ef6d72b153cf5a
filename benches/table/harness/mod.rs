//! Entries and their limits.

pub mod contest;
mod measure;
mod report;

use crate::by_hand::Level;
use measure::alone;
pub use measure::{Contender, Times, measure};
use report::Row;
use std::collections::HashMap;
use std::time::Duration;

/// Time for an entry.
const TIME: Duration = Duration::from_millis(1200);
/// Time for an entry of a family that has many, each of some milliseconds.
const BRIEF_TIME: Duration = Duration::from_millis(100);
/// A figure that an earlier run had may be exceeded by this much, if nothing else is asked.
const AS_BEFORE: f64 = 1.05;

/// The limit for the ratio of the first contender's time to the second's.
#[derive(Clone, Copy)]
pub enum Asked {
    /// Only what it was in the run that is given by `--before`.
    AsBefore,
    /// At most so much.
    Ratio(f64),
    /// At most so much, and at most so much of the third's.
    Both(f64, f64),
    /// At most so much, or at most so much of the third's or of the fourth's: those of which the machine can do no more.
    RatioOrBounds(f64, [f64; 2]),
}

/// The outcome of an entry.
pub struct Outcome {
    pub figure: String,
    pub asked: String,
    pub holds: Option<bool>,
}

/// The run: what is wanted of it, and what was measured.
pub struct Suite {
    /// The widest vectors of this CPU.
    pub level: Level,
    /// Whether everything runs once, on small arrays, to see that it runs and that contenders agree.
    is_quick: bool,
    filters: Vec<String>,
    /// Ratios of an earlier run.
    before: HashMap<String, f64>,
    family: &'static str,
    rows: Vec<Row>,
}

impl Suite {
    pub fn new(is_quick: bool, filters: Vec<String>, before: Option<&str>) -> Suite {
        let before = before.map(report::ratios).unwrap_or_default();
        let level = Level::detect();
        Suite { level, is_quick, filters, before, family: "", rows: Vec::new() }
    }

    /// The entries of a concern.
    pub fn family(&mut self, name: &'static str, entries: fn(&mut Suite)) {
        self.family = name;
        entries(self);
    }

    /// A size that is smaller if everything only runs once.
    pub fn size(&self, full: usize) -> usize {
        if self.is_quick { full.min(16).max(full / 64) } else { full }
    }

    /// Contenders that do the same work, or work that is to take as long: the first as a multiple of the second.
    pub fn ratio(&mut self, entry: &str, asked: Asked, contenders: impl FnOnce() -> Vec<Contender>) {
        self.ratio_within(TIME, entry, asked, contenders);
    }

    /// Contenders as in [`Suite::ratio`], with less time to measure.
    pub fn brief(&mut self, entry: &str, asked: Asked, contenders: impl FnOnce() -> Vec<Contender>) {
        self.ratio_within(BRIEF_TIME, entry, asked, contenders);
    }

    fn ratio_within(
        &mut self,
        within: Duration,
        entry: &str,
        asked: Asked,
        contenders: impl FnOnce() -> Vec<Contender>,
    ) {
        let before = self.before.get(entry).copied();
        self.entry(entry, |is_quick| {
            let mut contenders = contenders();
            if is_quick {
                contenders.iter_mut().for_each(|contender| (contender.run)());
                return None;
            }
            let times = measure(&mut contenders, within);
            Some(judge(&times, &contenders, asked, before))
        });
    }

    /// Work that is repeated, and has a limit in seconds.
    pub fn seconds(&mut self, entry: &str, limit: f64, work: impl FnOnce() -> Contender) {
        self.entry(entry, |is_quick| {
            let mut contenders = [work()];
            if is_quick {
                (contenders[0].run)();
                return None;
            }
            let seconds = measure(&mut contenders, TIME).seconds(0);
            Some(Outcome { figure: time(seconds), asked: time(limit), holds: Some(seconds <= limit) })
        });
    }

    /// Work whose time grows with a number of steps, and has a limit in seconds at the last of some numbers. If the
    /// limit is exceeded before that, the rest is left out: it may grow without bound.
    pub fn growing<W: FnMut()>(
        &mut self,
        entry: &str,
        limit: f64,
        steps: &[usize],
        make: impl Fn(usize) -> W,
    ) {
        self.entry(entry, |is_quick| {
            if is_quick {
                make(4)();
                return None;
            }
            let last = *steps.last().expect("there are steps");
            for steps in steps.iter().copied() {
                let seconds = alone(make(steps));
                if steps == last || seconds > limit {
                    let figure = match steps == last {
                        true => time(seconds),
                        false => format!("{} at {steps} already", time(seconds)),
                    };
                    let holds = Some(steps == last && seconds <= limit);
                    return Some(Outcome { figure, asked: time(limit), holds });
                }
            }
            None
        });
    }

    /// Bytes, of which there is a limit.
    pub fn bytes(&mut self, entry: &str, limit: usize, count: impl FnOnce() -> usize) {
        self.entry(entry, |is_quick| {
            let bytes = count();
            let figure = format!("{bytes} bytes");
            (!is_quick).then(|| Outcome {
                figure,
                asked: format!("{limit} bytes"),
                holds: Some(bytes <= limit),
            })
        });
    }

    /// An entry that measures itself. In a quick run it runs once, without an outcome.
    pub fn entry(&mut self, entry: &str, outcome: impl FnOnce(bool) -> Option<Outcome>) {
        let name = format!("{}: {entry}", self.family);
        if !self.filters.is_empty() && !self.filters.iter().any(|filter| name.contains(filter)) {
            return;
        }
        if let Some(Outcome { figure, asked, holds }) = outcome(self.is_quick) {
            let row = Row { family: self.family, entry: entry.to_owned(), figure, asked, holds };
            if self.rows.last().is_none_or(|last| last.family != row.family) {
                println!("\n{}", row.family);
            }
            println!("{}", row.line());
            self.rows.push(row);
        }
    }

    /// Writes docs/benchmarks.md.
    pub fn write(&self) -> std::io::Result<()> {
        report::write(&self.rows, self.level)
    }
}

fn judge(times: &Times, contenders: &[Contender], asked: Asked, before: Option<f64>) -> Outcome {
    let ratio = times.ratio(0, 1);
    let mut figure = format!("{ratio:.2} x {} ({})", contenders[1].name, time(times.seconds(0)));
    for (index, other) in contenders.iter().enumerate().skip(2) {
        figure += &format!(", {:.2} x {}", times.ratio(0, index), other.name);
    }
    match (asked, before) {
        (Asked::AsBefore, None) => Outcome { figure, asked: String::new(), holds: None },
        (Asked::AsBefore, Some(before)) => {
            let asked = format!("{AS_BEFORE} x the {before:.2} of before");
            Outcome { figure, asked, holds: Some(ratio <= AS_BEFORE * before) }
        }
        (Asked::Ratio(limit), _) => Outcome { figure, asked: limit.to_string(), holds: Some(ratio <= limit) },
        (Asked::Both(limit, of_third), _) => {
            let holds = Some(ratio <= limit && times.ratio(0, 2) <= of_third);
            Outcome { figure, asked: format!("{limit}, {of_third} x {}", contenders[2].name), holds }
        }
        (Asked::RatioOrBounds(limit, [of_third, of_fourth]), _) => {
            let is_bound = times.ratio(0, 2) <= of_third || times.ratio(0, 3) <= of_fourth;
            let (third, fourth) = (contenders[2].name, contenders[3].name);
            let asked = format!("{limit}, or {of_third} x {third}, or {of_fourth} x {fourth}");
            Outcome { figure, asked, holds: Some(ratio <= limit || is_bound) }
        }
    }
}

/// Seconds for people.
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1e-6 => format!("{:.0} ns", seconds * 1e9),
        _ if seconds < 1e-3 => format!("{:.3} us", seconds * 1e6),
        _ if seconds < 1.0 => format!("{:.3} ms", seconds * 1e3),
        _ => format!("{seconds:.2} s"),
    }
}
