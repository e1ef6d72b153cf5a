//! Conformance: NumPy and Broadloom evaluate one large table of expressions.
//!
//! ```text
//! reference.py ──NumPy──▶ cases ──▶ graph ──interpreter, scalar and vector code──▶ compare
//! ```
//!
//! ```sh
//! python3 -m venv target/numpy
//! target/numpy/bin/pip install -r tests/numpy/requirements.txt
//! cargo test --release --test numpy
//! ```
//!
//! The Python is the first of `$BROADLOOM_PYTHON`, that of the environment above, which `.ci/run` makes,
//! and `python3`. Without one that has the NumPy of `requirements.txt` the test says so and passes. What differs on
//! purpose stands, with its reason, in `meaning.py`; bf16 is not in NumPy and so not here. A test without
//! optimisation compiles a share of the cases only.

mod build;
mod compare;
mod compiled;
mod coverage;
mod dsl;
mod expression;
mod table;
mod text;

use broadloom_ir::graph::{CheckedGraph, Graph};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::shape::Shape;
use build::Builder;
use compiled::{Batch, Ran, Written};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use table::{Case, Wanted};

/// Failures of an op that are shown; the others are counted.
const SHOWN: usize = 2;
/// Cases that are compiled as one graph.
const BATCH: usize = 24;
/// The kind of cases that are NumPy's own text.
const TEXT: &str = "function";
/// One in so many of these graphs is compiled.
const SHARE: usize = if cfg!(debug_assertions) { 16 } else { 1 };

/// Prints the version of NumPy, and whether its long doubles are wide enough to be references.
const PROBE: &str = "import numpy
print(numpy.__version__, 'wide' if numpy.finfo(numpy.longdouble).nmant >= 60 else 'with narrow long doubles')";

/// Writes past the test harness, which keeps the output of tests that pass to itself.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A Python with the NumPy that is required, or why there is none.
fn python() -> Result<PathBuf, String> {
    let required = include_str!("requirements.txt").trim();
    let version = required.strip_prefix("numpy==").expect("one requirement, of one version");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("numpy").join("bin/python");
    let mut found = Vec::new();
    let asked = std::env::var_os("BROADLOOM_PYTHON").map(PathBuf::from);
    for python in asked.into_iter().chain([made, "python3".into()]) {
        let has = Command::new(&python).args(["-c", PROBE]).output();
        match has {
            Ok(output) if output.status.success() => {
                let has = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                match has.split_once(' ') {
                    Some((has, "wide")) if has == version => return Ok(python),
                    _ => found.push(format!("{} has NumPy {has}", python.display())),
                }
            }
            Ok(_) => found.push(format!("{} has no NumPy", python.display())),
            Err(_) => found.push(format!("there is no {}", python.display())),
        }
    }
    Err(format!("{required} is required, but {}", found.join(", ")))
}

/// Has NumPy write the cases.
fn write_cases(python: &Path, directory: &Path) {
    std::fs::create_dir_all(directory).expect("the target directory can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/numpy/reference.py");
    let output = Command::new(python)
        .args(["-B", "-W", "error"])
        .arg(script)
        .arg(directory)
        .args(Op::ALL.iter().map(|op| format!("{}:{}", op.name(), op.arity())))
        .output()
        .expect("Python runs");
    assert!(output.status.success(), "reference.py: {}", String::from_utf8_lossy(&output.stderr));
    say(String::from_utf8_lossy(&output.stdout).trim_end());
}

/// The graph of a case; none if it is refused.
fn graph(case: &Case) -> Option<CheckedGraph> {
    if case.kind == TEXT {
        return text::graph(case).ok();
    }
    let site = build::here();
    let mut graph = Graph::new();
    let mut inputs = HashMap::new();
    for (name, array) in &case.inputs {
        let shape: Shape = array.shape.iter().map(|&size| (size as i64).into()).collect();
        inputs.insert(name.clone(), graph.input(name, array.dtype, shape, site));
    }
    let expression = expression::parse(&case.expression);
    let output = Builder { graph: &mut graph, inputs: &inputs, site }.tensor(&expression);
    graph.finish(&[("out", output)]).ok()
}

/// Whether an error of a run is one of the data.
fn is_of_data(error: &InterpretError) -> bool {
    matches!(error, InterpretError::Index { .. } | InterpretError::NegativeExponent { .. })
}

/// How a case differs: in the interpreter at both numerics levels, or as Rust writes it.
fn check(case: &Case, covered: &mut coverage::Covered) -> Option<String> {
    let graph = graph(case);
    let written = if case.kind == TEXT { Written::NoForm } else { compiled::written(case) };
    match (written, &graph) {
        (Written::NoForm, _) | (Written::Refused, None) => {}
        (Written::Text(text), Some(graph)) if text == graph.to_string() => {}
        (Written::Text(text), Some(graph)) => {
            return Some(format!("in Rust it is\n{text}instead of\n{graph}"));
        }
        (Written::Text(_), None) => return Some("in Rust it is accepted".into()),
        (Written::Refused, Some(_)) => return Some("in Rust it is refused".into()),
    }
    let Some(graph) = graph else {
        let said = if case.kind == TEXT { text::graph(case).err() } else { None };
        let refused = format!("it is refused: {}", said.unwrap_or_default());
        return (!matches!(case.wanted, Wanted::Refused)).then_some(refused);
    };
    let arrays: Vec<Array> = case.inputs.iter().map(|(_, array)| array.clone()).collect();
    for fused in [false, true] {
        match interpret(&graph, &arrays, fused) {
            Ok(outputs) => {
                if let Some(difference) =
                    outputs.last().and_then(|output| compare::difference(&case.wanted, output))
                {
                    return Some(format!("{difference} (interpreter, fused: {fused})"));
                }
            }
            Err(error) if is_of_data(&error) && matches!(case.wanted, Wanted::Fails) => {}
            Err(error) => return Some(format!("it fails: {error}")),
        }
    }
    if !matches!(case.wanted, Wanted::Refused | Wanted::Fails) {
        covered.count(&graph);
    }
    None
}

/// Failures by kind and op, of which some are shown.
#[derive(Default)]
struct Failures {
    count: usize,
    shown: String,
    of: HashMap<String, usize>,
}

impl Failures {
    fn add(&mut self, case: &Case, difference: &str) {
        self.count += 1;
        let op = case.expression.split('(').next().unwrap_or_default();
        let of = self.of.entry(format!("{} {op}", case.kind)).or_default();
        *of += 1;
        if *of <= SHOWN {
            let inputs =
                case.inputs.iter().map(|(name, array)| format!("{name}: {}{:?}", array.dtype, array.shape));
            let inputs = inputs.collect::<Vec<_>>().join(", ");
            let _ = writeln!(self.shown, "{} {} with {inputs}: {difference}", case.kind, case.expression);
        }
    }
}

/// Compiles cases, several as one graph; gives how many were run in each way.
fn compile(cases: &[Case], failures: &mut Failures) -> usize {
    let (texts, cases): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.kind == TEXT);
    let (failing, others): (Vec<&Case>, Vec<&Case>) = cases
        .into_iter()
        .filter(|case| !matches!(case.wanted, Wanted::Refused))
        .partition(|case| matches!(case.wanted, Wanted::Fails));
    let mut run = 0;
    for batch in others.chunks(BATCH).chain(failing.chunks(1)).step_by(SHARE) {
        let batch = Batch::new(batch);
        for vectorize in [false, true] {
            for (case, ran) in batch.run(vectorize) {
                run += usize::from(vectorize);
                let difference = match ran {
                    Ran::Array(array) => compare::difference(&case.wanted, &array),
                    Ran::Fails => {
                        (!matches!(case.wanted, Wanted::Fails)).then(|| "it fails on its data".into())
                    }
                    Ran::Broken(text) => Some(text),
                };
                if let Some(difference) = difference {
                    let code = if vectorize { "vector" } else { "scalar" };
                    failures.add(case, &format!("{difference} ({code} code)"));
                }
            }
        }
    }
    for case in texts.into_iter().filter(|case| !matches!(case.wanted, Wanted::Refused)).step_by(SHARE) {
        for vectorize in [false, true] {
            run += usize::from(vectorize);
            let difference = match text::run(case, vectorize) {
                Ok(array) => compare::difference(&case.wanted, &array),
                Err(text) => Some(text),
            };
            if let Some(difference) = difference {
                failures.add(case, &format!("{difference} (compiled, vectors: {vectorize})"));
            }
        }
    }
    run
}

#[test]
fn expressions_mean_what_they_mean_in_numpy() {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return say(&format!("SKIPPED, NOT RUN: conformance with NumPy: {reason}")),
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numpy");
    write_cases(&python, &directory);
    let cases = table::read(&directory);
    let mut covered = coverage::Covered::default();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Failures::default();
    for case in &cases {
        *counts.entry(&case.kind).or_default() += 1;
        if let Some(difference) = check(case, &mut covered) {
            failures.add(case, &difference);
        }
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    say(&format!("NumPy conformance: {} cases, interpreted: {}", cases.len(), counts.join(", ")));
    let compiled = compile(&cases, &mut failures);
    say(&format!("NumPy conformance: {compiled} of them in scalar and in vector code"));
    assert!(failures.count == 0, "{} results differ:\n{}", failures.count, failures.shown);
    let missing = covered.missing();
    assert!(missing.is_empty(), "no case has as its last op: {}", missing.join(", "));
}
