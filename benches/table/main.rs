//! Times of Broadloom beside the best loops by hand, or beside itself, and the limits for them.
//!
//! ```text
//! cargo bench --features rivals --bench table                        every entry, some six minutes
//! cargo bench --features rivals --bench table -- rows softmax        entries whose family or name has one of these texts
//! cargo bench --features rivals --bench table -- --write             writes docs/benchmarks.md as well
//! cargo bench --features rivals --bench table -- --before page.md    what has no limit of its own is to be within 1.05 of that page
//! cargo test --features rivals --bench table                         everything once, on small arrays
//! ```
#![allow(clippy::print_stdout, reason = "a benchmark reports to whoever runs it")]

mod by_hand;
mod families;
mod harness;

use harness::Suite;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (mut is_bench, mut is_written, mut before, mut filters) = (false, false, None, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => is_bench = true,
            "--write" => is_written = true,
            "--before" => {
                let page = arguments.next().ok_or("--before needs a page that --write wrote")?;
                before = Some(std::fs::read_to_string(page)?);
            }
            option if option.starts_with('-') => return Err(format!("no such option: {option}").into()),
            _ => filters.push(argument),
        }
    }
    if is_written && !filters.is_empty() {
        return Err("the page has all entries: --write takes no filter".into());
    }
    let mut suite = Suite::new(!is_bench, filters, before.as_deref());
    families::run(&mut suite);
    if is_written {
        suite.write()?;
    }
    Ok(())
}
