//! Looks for texts that panic, take too long or too much memory, or compute something else than the interpreter does.
//!
//! ```sh
//! cargo run --release -p broadloom-text --example fuzz -- --minutes 60
//! cargo run --release -p broadloom-text --example fuzz -- --seed 7 --case 1234     # one case again
//! cargo run --release -p broadloom-text --example fuzz -- --seed 7 --case 1235 --file smaller.txt   # of another text
//! ```
//!
//! Three cases in four are texts of any kind: bytes, pieces of the language, damaged programs. They go through parsing,
//! resolving and printing. The fourth is a program of a grammar, which is compiled and run on small arrays of sizes such
//! as 0, 1, 2 and 3, in several layouts, among elements that must stay as they are. A case follows from the seed and its
//! number. What fails is made smaller and written to `target/fuzz`, or to the directory of `--into`. A line a minute says
//! how far it is.
#![allow(clippy::print_stdout, reason = "a program that prints what it finds")]

#[path = "../../../../tests/oracle/arrays.rs"]
#[allow(dead_code, reason = "the oracle reads results, too")]
mod arrays;
mod case;
mod programs;
mod run;
mod shrink;
mod texts;

use case::{Outcome, Watch};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

/// Failures after which it is enough.
const MOST_FAILURES: usize = 20;

struct Arguments {
    minutes: f64,
    seed: u64,
    case: Option<u64>,
    file: Option<PathBuf>,
    into: PathBuf,
}

impl Arguments {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let mut arguments = Arguments {
            minutes: 1.0,
            seed: now.as_secs(),
            case: None,
            file: None,
            into: "target/fuzz".into(),
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            let bad = |_| format!("{word} takes a number, not {value}");
            match word.as_str() {
                "--minutes" => arguments.minutes = value.parse().map_err(|_| bad(()))?,
                "--seed" => arguments.seed = value.parse().map_err(|_| bad(()))?,
                "--case" => arguments.case = Some(value.parse().map_err(|_| bad(()))?),
                "--file" => arguments.file = Some(value.into()),
                "--into" => arguments.into = value.into(),
                _ => {
                    return Err(format!(
                        "there is no {word}: --minutes, --seed, --case, --file and --into are"
                    ));
                }
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::from(2);
        }
    };
    let Arguments { minutes, seed, case, file, into } = &arguments;
    case::quiet_panics();
    let watch = Watch::start(into.clone(), *seed);
    if let Some(number) = case {
        let text = match file.as_ref().map(std::fs::read_to_string) {
            None => case::text(*seed, *number),
            Some(Ok(text)) => text,
            Some(Err(error)) => {
                eprintln!("the file cannot be read: {error}");
                return ExitCode::from(2);
            }
        };
        println!("{text}\n----");
        let result = watch.check(*seed, *number, &text);
        println!("{result:?}");
        return if result.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    println!("seed {seed}, {minutes} minutes");
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(minutes * 60.0);
    let mut said = 0;
    let (mut failures, mut counts, mut slowest) = (0, [0_u64; Outcome::COUNT], (Duration::ZERO, 0));
    for number in 0.. {
        let now = Instant::now();
        let minute = (now - start).as_secs() / 60;
        if minute > said || now >= end || failures >= MOST_FAILURES {
            said = minute;
            let [refused, accepted, compiled, ran] = counts;
            println!(
                "{minute} min: {} cases, {} accepted, {} compiled, {ran} run; slowest {:.2} s (case {}); {failures} failures",
                refused + accepted + compiled + ran,
                accepted + compiled + ran,
                compiled + ran,
                slowest.0.as_secs_f64(),
                slowest.1,
            );
        }
        if now >= end || failures >= MOST_FAILURES {
            break;
        }
        let text = case::text(*seed, number);
        match watch.check(*seed, number, &text) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(problem) => {
                failures += 1;
                let file = case::report(into, *seed, number, &text, &problem);
                println!("case {number} fails, see {file}: {}", problem.lines().next().unwrap_or(""));
            }
        }
        slowest = slowest.max((now.elapsed(), number));
    }
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
