//! Measures the largest errors of the functions, and writes `accuracy.tsv` and `docs/accuracy.md`.
//!
//! ```text
//! all 2^32 f32, or samples and a search ─▶ 64 pieces ─▶ the thousand worst ─▶ in multiple precision ─▶ table ─▶ page
//!                                            └─ state: which are done, and the worst so far
//! ```
//!
//! A function has four lines in the table: f32 and f64, without and with fused multiply-add. The state is
//! written after each piece, which takes some seconds, so the command can be stopped at any time and resumes
//! where it was; `--minutes` makes it stop by itself. A state has a fingerprint of the function's results; that
//! of other code is begun anew.
#![allow(clippy::print_stdout, reason = "a program that reports what it measures")]

#[path = "../../tests/math/proof/mod.rs"]
mod proof;
mod search;
mod sweep;

use crate::proof::measure::{Finding, NUMERICS};
use crate::proof::random::Format;
use crate::proof::record::{self, COMMAND, Entry, TABLE};
use crate::proof::render::{PAGE, render};
use crate::proof::table::{FUNCTIONS, Row};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs, io};
use sweep::Sweep;

const HELP: &str = "Measures the accuracy of the elementary functions, in pieces of seconds, and resumes.

    --minutes N        stop after about N minutes
    --function NAME    measure only this function
    --format NAME      measure only this format, f32 or f64
    --pieces N         measure N of the 64 pieces of each function, for a first look
    --state DIR        where the state is kept (target/accuracy)
    --render           only write the page from the table, measure nothing";

struct Options {
    until: Option<Instant>,
    pieces: u64,
    rows: Vec<&'static Row>,
    formats: Vec<Format>,
    state: PathBuf,
}

fn main() -> ExitCode {
    match options().map(|options| run(&options)) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        Ok(Ok(false)) => ExitCode::FAILURE,
        Ok(Err(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    // The program lies in target/release/examples.
    let target = program.ancestors().nth(3).unwrap_or(Path::new("."));
    let mut options = Options {
        until: None,
        pieces: sweep::PIECES,
        rows: FUNCTIONS.iter().collect(),
        formats: Format::ALL.to_vec(),
        state: target.join("accuracy"),
    };
    let mut arguments = env::args().skip(1);
    while let Some(option) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{option} needs a value"));
        match option.as_str() {
            "--minutes" => {
                let minutes: f64 = value()?.parse().map_err(|_| "--minutes needs a number")?;
                let span = Duration::try_from_secs_f64(60.0 * minutes).map_err(|error| error.to_string())?;
                options.until = Some(Instant::now() + span);
            }
            "--function" => {
                let name = value()?;
                options.rows.retain(|row| row.function.name() == name);
                if options.rows.is_empty() {
                    return Err(format!("no function `{name}`"));
                }
            }
            "--format" => {
                let name = value()?;
                options.formats.retain(|format| format.name == name);
                if options.formats.is_empty() {
                    return Err(format!("no format `{name}`"));
                }
            }
            "--pieces" => {
                let pieces = value()?.parse().ok().filter(|pieces| (1..=sweep::PIECES).contains(pieces));
                options.pieces =
                    pieces.ok_or(format!("--pieces needs a number from 1 to {}", sweep::PIECES))?;
            }
            "--state" => options.state = value()?.into(),
            "--render" => options.rows.clear(),
            _ => return Err(HELP.into()),
        }
    }
    Ok(options)
}

/// Whether all was measured, and all errors are within their bounds.
fn run(options: &Options) -> io::Result<bool> {
    fs::create_dir_all(&options.state)?;
    let mut fit = true;
    let mut to_go = 0;
    for row in &options.rows {
        for &format in &options.formats {
            let file = options.state.join(format!("{}-{}.txt", row.function, format.name));
            let sweep = Sweep::resume(row, format, file)?;
            let left = sweep.run(options.until, options.pieces)?;
            to_go += left;
            if left > 0 {
                println!("{} {}: {left} of {} pieces to go", row.function, format.name, options.pieces);
                continue;
            }
            let entries = sweep.entries()?;
            replace(&entries)?;
            for entry in &entries {
                let (numerics, Finding { error, at }) = (NUMERICS[entry.numerics], entry.worst);
                println!("{} {} {numerics}: {error:.6} ulp at {at:?}", row.function, format.name);
                if entry.worst.error > row.bound(format) {
                    println!("    exceeds the bound, {}", row.bound(format));
                    fit = false;
                }
            }
        }
    }
    fs::write(PAGE, render(&record::read()?))?;
    if to_go > 0 {
        println!("{to_go} pieces to go: `{COMMAND}` resumes");
    }
    Ok(fit && to_go == 0)
}

/// Replaces entries of the table, or adds them.
fn replace(new: &[Entry]) -> io::Result<()> {
    let key = |e: &Entry| (e.function, e.format.name, e.numerics);
    let mut entries = if fs::exists(TABLE)? { record::read()? } else { Vec::new() };
    entries.retain(|old| new.iter().all(|new| key(new) != key(old)));
    entries.extend(new.iter().cloned());
    fs::write(TABLE, record::print(entries.clone()))?;
    fs::write(PAGE, render(&entries))
}
