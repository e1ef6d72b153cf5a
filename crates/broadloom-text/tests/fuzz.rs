//! Some seconds of the fuzzer, `examples/fuzz`, whose long runs are a command.

#[path = "../../../tests/oracle/arrays.rs"]
#[allow(dead_code, reason = "the oracle reads results, too")]
mod arrays;
#[path = "../examples/fuzz/case.rs"]
mod case;
#[path = "../examples/fuzz/programs.rs"]
mod programs;
#[path = "../examples/fuzz/run.rs"]
mod run;
#[path = "../examples/fuzz/shrink.rs"]
mod shrink;
#[path = "../examples/fuzz/texts.rs"]
mod texts;

use case::{Outcome, Watch};
use std::path::Path;
use std::time::{Duration, Instant};

const SEED: u64 = 1;
/// How long, after the first cases, which are examined however long they take.
const TIME: Duration = Duration::from_secs(5);
const FIRST: u64 = 200;

#[test]
fn some_cases() {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    case::quiet_panics();
    let watch = Watch::start(into.clone(), SEED);
    let start = Instant::now();
    let mut counts = [0; Outcome::COUNT];
    for number in 0.. {
        if number >= FIRST && start.elapsed() >= TIME {
            break;
        }
        let text = case::text(SEED, number);
        match watch.check(SEED, number, &text) {
            Ok(outcome) => counts[outcome as usize] += 1,
            Err(problem) => {
                let file = case::report(&into, SEED, number, &text, &problem);
                // A panic's message would go where those of the cases go.
                eprintln!("case {number} fails, see {file}: {problem}");
                std::process::exit(1);
            }
        }
    }
    assert!(counts[Outcome::Ran as usize] >= 20 && counts[Outcome::Refused as usize] >= 20, "{counts:?}");
}

/// What it found once.
#[test]
fn found_before() {
    case::quiet_panics();
    let watch = Watch::start(Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz"), SEED);
    for text in [
        // Compiling did not end: within which of the joined parts an element is depends on whether there are any.
        "input x: f32[n - 1]\nlet a = concat([x, x, x])\noutput y = concat([-a, -a, -a])",
        // Printed as `[:]`.
        "input x: f32[n]\noutput y = x[9223372036854775807:]",
        // Printed as `size(1)`, which is a constant where it is read.
        "input x: u16[_]\noutput y = stack([1], axis=0) / len(x)\noutput z = segment_sum(y, x, 3)",
        // An array without elements was stored to by an axis without a loop.
        "input x: f32[0, m]\nlet v = x.T\nw = v.astype(f16)\nl = where(x > 7, x, x)\ntan(w)",
        // A slice that ends before the first element wherever it begins.
        "input x: f32[n]\nlet one = array([2])\noutput y = one[n - 1:-2]",
    ] {
        // Of the cases every fourth is a program to run.
        assert!(watch.check(SEED, 3, text).is_ok(), "{text}: {:?}", watch.check(SEED, 3, text));
    }
}

/// What is made smaller keeps what fails.
#[test]
fn smaller_texts() {
    let text = "let a = 1\nlet b = a @ 2\noutput c = a + b\n";
    assert_eq!(shrink::smaller(text, &|text| text.contains('@')), "@");
    assert_eq!(shrink::smaller(text, &|text| text.contains("let") && text.contains('c')), "letc");
}
