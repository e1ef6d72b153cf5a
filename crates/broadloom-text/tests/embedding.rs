//! The program of the guide's chapter on embedding, and formulas that nobody should send: each is refused, bounded by a limit of
//! calls, or stopped, within a second.

use broadloom::{BindError, CallError, CallLimits, Inputs, RunError, RunOptions, prelude::*};
use broadloom_text::{Formula, Limits};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Columns that a program has, by names of its own.
type Table = BTreeMap<&'static str, Vec<f32>>;

/// The end of a formula.
#[derive(Debug, PartialEq)]
enum Ended {
    /// The text is not a formula, or is beyond a limit of texts or of compiling.
    Refused,
    /// It asks for more than calls may.
    Bounded,
    /// It was stopped at the deadline.
    Stopped,
    /// It has a result.
    Done(usize),
}

/// Runs are timed, so no two tests run any at the same time.
static ALONE: Mutex<()> = Mutex::new(());

/// What the chapter says to do with a formula. Returns how it ended, and how long the run took.
fn answer(text: &str, table: &Table, limits: CallLimits) -> (Ended, Duration) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let start = Instant::now();
    let mut of_text = Limits::default();
    (of_text.length, of_text.nodes) = (2_000, 500);
    let formula = Formula::new(text)
        .within(of_text)
        .column("x", "Unit price (EUR)", DType::F32)
        .column("amount", "amount", DType::F32)
        .column("unused", "no such column", DType::F64);
    let Ok(graph) = formula.resolve() else { return (Ended::Refused, start.elapsed()) };
    let options = CompileOptions { max_values: 5_000, limits, ..CompileOptions::default() };
    let Ok(kernel) = Executable::compile(&graph, &options) else { return (Ended::Refused, start.elapsed()) };
    let mut inputs = Inputs::new();
    for input in kernel.inputs() {
        let column = formula.column_of(&input.name).unwrap();
        inputs = inputs.named(input.name, &table[column]);
    }
    // Compiling is bounded by `max_values`, and takes ten times as long in builds without optimisation.
    let start = Instant::now();
    let bound = match kernel.bind(inputs) {
        Ok(bound) => bound,
        Err(BindError::Limit { .. }) => return (Ended::Bounded, start.elapsed()),
        Err(_) => return (Ended::Refused, start.elapsed()),
    };
    // The first run that can be stopped may compile.
    let _ = bound.run_with(&RunOptions::new().until(Instant::now()));
    let start = Instant::now();
    let ended = match bound.run_with(&RunOptions::new().within(Duration::from_millis(50))) {
        Ok(outputs) => {
            Ended::Done(outputs.iter().map(|(_, array)| array.shape().iter().product::<usize>()).sum())
        }
        Err(CallError::Run(RunError::DeadlinePassed)) => Ended::Stopped,
        Err(CallError::Bind(BindError::Limit { .. })) => Ended::Bounded,
        Err(error) => panic!("{text}: {error:?}"),
    };
    (ended, start.elapsed())
}

fn table() -> Table {
    let rows = |scale: f32| (0..10_000).map(|row| scale * row as f32).collect();
    BTreeMap::from([("Unit price (EUR)", rows(0.25)), ("amount", rows(1.0)), ("another column", Vec::new())])
}

/// A megabyte of results, 32 of temporaries, and less than a second of work.
const LIMITS: CallLimits =
    CallLimits { output_bytes: 1 << 20, temporary_bytes: 32 << 20, work: 2_000_000_000 };

/// Formulas that must not have a result.
const HOSTILE: &[&str] = &[
    // Large results.
    "arange(200000000)",
    "arange(10**18)",
    "repeat(x, 10000)",
    "tile(x, 100000)",
    "x[:, None] + x",
    "x[:, None] * x[None, :] + amount",
    "outer(x, x)",
    "broadcast_to(x, (100000, n))",
    "zeros((1000000, 1000000))",
    "ones((10**6, 10**6)) + x[0]",
    "eye(1000000)",
    "tri(100000)",
    "pad(x, 10**9)",
    "linspace(0, 1, 10**9)",
    "full((10**9,), 1.5)",
    "meshgrid(x, x)[0]",
    "kron(x, x)",
    "concat([arange(10**8), arange(10**8)])",
    // Hours of work for a small result.
    "zeros((1000000, 1000000)).sum() + x",
    "zeros((10**6, 10**6)).sum()",
    "exp(zeros((10**6, 10**6))).sum(axis=0).max()",
    "sin(arange(10**12)).sum()",
    "sum(x[:, None] * x[None, :] * arange(1000000)[:, None, None])",
    "arange(10**13).max()",
    "mean(ones((10**5, 10**5, 10**5)))",
    "argmax(arange(10**12) % 7)",
    "(arange(10**7)[:, None] == arange(10**7)).sum()",
    "softmax(arange(10**12) * 1.0).sum()",
    "(ones((20000, 20000)) @ ones((20000, 20000))).sum()",
    // Large temporaries.
    "sort(arange(10**9) % 1000)[:5]",
    "median(arange(10**9))",
    "cumsum(arange(10**11))[-1:]",
    // Texts.
    "x; output y = x",
    "input z: f32[10**12]\nz",
    "let a = x; a",
    "assign x = 2 * x",
    "unknown + x",
    "open('secrets')",
    "x.__class__",
    "x + ",
    "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((x))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))",
    "pad(pad(pad(x, 2**62), 2**62), 2**62)",
    "2**2**2**2**2**2 * x",
    "x[10**30]",
    "concat([])",
    "stack([])",
    "einsum('')",
];

fn long() -> Vec<String> {
    vec![
        "x + ".repeat(1_000) + "x",
        format!("convolve(x, [{}])", "1, ".repeat(600)),
        "split(x, 1000)[0]".to_string(),
        "quantile(x, 0.3) + ".repeat(90) + "x",
    ]
}

#[test]
fn hostile_formulas_are_refused_bounded_or_stopped_within_a_second() {
    let table = table();
    let mut wrong = String::new();
    let texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_string()).chain(long()).collect();
    assert!(texts.len() >= 40);
    for text in &texts {
        let (ended, taken) = answer(text, &table, LIMITS);
        let is_wrong = matches!(ended, Ended::Done(_)) || taken > Duration::from_secs(1);
        if is_wrong || std::env::var_os("SHOW").is_some() {
            let _ = writeln!(wrong, "{text:.80}: {ended:?}, {taken:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Without a limit of work, the deadline ends the formulas.
#[test]
fn hostile_formulas_are_stopped_if_their_work_is_not_limited() {
    let table = table();
    let limits = CallLimits { work: u64::MAX, ..LIMITS };
    let mut stopped = 0;
    let mut wrong = String::new();
    for text in HOSTILE {
        let (ended, taken) = answer(text, &table, limits);
        stopped += usize::from(ended == Ended::Stopped);
        let is_wrong = matches!(ended, Ended::Done(_)) || taken > Duration::from_secs(1);
        if is_wrong || std::env::var_os("SHOW").is_some() {
            let _ = writeln!(wrong, "{text:.80}: {ended:?}, {taken:?}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(stopped >= 8, "{stopped}");
}

/// Limits keep nobody from ordinary formulas.
#[test]
fn ordinary_formulas_have_results() {
    let table = table();
    let rows = 10_000;
    for (text, count) in [
        ("x * amount", rows),
        ("(x - mean(x)) / std(x)", rows),
        ("where(x > 100, x, 0).sum()", 1),
        ("sort(x)[-3:]", 3),
        ("cumsum(x * amount)", rows),
        ("median(amount)", 1),
        ("len(x) * x", rows),
        ("arange(10) + 1", 10),
        ("\"x\" + pi", rows),
    ] {
        let (ended, _) = answer(text, &table, LIMITS);
        assert_eq!(ended, Ended::Done(count), "{text}");
    }
}

#[test]
fn columns_may_have_any_names_and_number() {
    let names: Vec<String> = (0..2_000).map(|index| format!("c{index}")).collect();
    let mut formula = Formula::new("c7 + c1999");
    for name in &names {
        formula = formula.column(name, "a \"quoted\"\nname; output y = 1", DType::F64);
    }
    let mut limits = Limits::default();
    limits.nodes = 10;
    formula = formula.within(limits);
    let graph = formula.resolve().unwrap();
    let inputs: Vec<&str> = graph.inputs().iter().map(|input| &*input.name).collect();
    assert_eq!(inputs, ["c7", "c1999"]);
    assert_eq!(formula.column_of("c7"), Some("a \"quoted\"\nname; output y = 1"));
    assert_eq!(formula.column_of("c2000"), None);
}

/// A formula in which names of columns are words of the language, or need quotes.
#[test]
fn names_for_formulas_may_need_quotes() {
    let formula = Formula::new("\"unit price\" * n + e").column("unit price", "Unit price (EUR)", DType::F32);
    let formula = formula.column("n", "number", DType::F32).column("e", "energy", DType::F32);
    let graph = formula.resolve().unwrap();
    let kernel = Executable::compile(&graph, &CompileOptions::default()).unwrap();
    let inputs = inputs! { "unit price" => &[2.0f32, 3.0], "n" => &[10.0f32, 20.0], "e" => &[1.0f32, 2.0] };
    let result: Vec<f32> = kernel.run(inputs).unwrap().try_into().unwrap();
    assert_eq!(result, [21.0, 62.0]);
    let mistakes =
        Formula::new("\"unit prce\" * 2").column("unit price", "p", DType::F32).resolve().unwrap_err();
    assert!(!mistakes.to_string().is_empty());
}

#[test]
fn joins_of_nothing_say_so() {
    for (text, expected) in [
        ("concat([])", "`concat` takes at least one tensor"),
        ("stack([])", "`stack` takes at least one tensor"),
        ("einsum('')", "`einsum` needs `operands`"),
    ] {
        let message = Formula::new(text).resolve().unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
