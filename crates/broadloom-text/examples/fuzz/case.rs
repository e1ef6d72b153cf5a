//! A case: its text, and whether it fails.

use crate::arrays::Random;
use crate::{programs, run, shrink, texts};
use broadloom_ir::graph::{Node, View};
use broadloom_text::{Given, Limits, Program};
use cpu_time::ThreadTime;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{panic, process, thread};

/// The longest that a case may take, in processor time.
const SOON: Duration = Duration::from_secs(2);
/// After this, it hangs.
const HANGS: Duration = Duration::from_secs(60);
/// The most memory of the process, in KiB.
const MOST_MEMORY: u64 = 3 << 20;

/// How far a case went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Refused,
    Accepted,
    Compiled,
    Ran,
}

impl Outcome {
    pub const COUNT: usize = 4;
}

/// The text of a case.
pub fn text(seed: u64, number: u64) -> String {
    let mut random = Random::new(seed, number);
    match number % 4 {
        3 => programs::program(&mut random),
        _ => texts::text(&mut random),
    }
}

/// The last panic's message, which the hook keeps instead of printing it.
static PANIC: Mutex<String> = Mutex::new(String::new());

pub fn quiet_panics() {
    panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
}

/// Whether the case is all right, and how far it went; else what is wrong.
fn examine(seed: u64, number: u64, text: &str) -> Result<Outcome, String> {
    let is_program = number % 4 == 3;
    let action = || -> Result<Outcome, String> {
        // A program of the grammar declares what it needs.
        let given = [
            Given { name: "x", dtype: broadloom::DType::F32, shape: &[4, 3], rows: None, names: None },
            Given { name: "i", dtype: broadloom::DType::I64, shape: &[4], rows: None, names: None },
        ];
        let given: &[Given<'_>] = if is_program { &[] } else { &given };
        let resolved = Program::parse("fuzz", text).and_then(|program| {
            program.missing_inputs();
            program.resolve_with(given)
        });
        let graph = match resolved {
            Ok(graph) => graph,
            Err(mistakes) => {
                let is_empty = format!("{mistakes}{mistakes:#}").is_empty() || mistakes.as_slice().is_empty();
                return if is_empty { Err("refused without a reason".into()) } else { Ok(Outcome::Refused) };
            }
        };
        reads_back(&graph)?;
        if is_program { run::run(&graph, &mut Random::new(seed, !number)) } else { Ok(Outcome::Accepted) }
    };
    match panic::catch_unwind(panic::AssertUnwindSafe(action)) {
        Ok(result) => result,
        Err(_) => Err(format!("panics: {}", PANIC.lock().unwrap_or_else(PoisonError::into_inner))),
    }
}

/// Whether what is printed of a graph reads back and is printed again alike.
fn reads_back(graph: &broadloom::CheckedGraph) -> Result<(), String> {
    let printed = broadloom_text::print(graph);
    // What `print` says that it cannot.
    let begins_before_all = graph.exprs().any(|expr| match graph.node(expr) {
        Node::View { view: View::Slice(parts), .. } => {
            parts.iter().any(|part| part.start.as_constant().is_some_and(|start| start < 0))
        }
        _ => false,
    });
    if begins_before_all
        || printed.split(|letter: char| !letter.is_ascii_digit()).any(|digits| digits.len() >= 18)
    {
        return Ok(());
    }
    // A printed program declares what was given, and is longer than a text at the limits.
    let mut limits = Limits::default();
    for limit in [&mut limits.length, &mut limits.tokens, &mut limits.nodes] {
        *limit *= 4;
    }
    let again = Program::parse_within("printed", &printed, &limits).and_then(|program| program.resolve());
    let again = again.map_err(|mistakes| format!("does not read back\n{printed}\n{mistakes:#}"))?;
    let twice = broadloom_text::print(&again);
    if twice == printed { Ok(()) } else { Err(format!("is printed in two ways\n{printed}\n{twice}")) }
}

/// The memory that this process has, in KiB, where that is known.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = status.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4)
}

/// What is examined now, and since when.
type Current = Option<(Instant, u64, String)>;

/// Examines cases under a watch, which ends the program if one hangs.
pub struct Watch(Arc<Mutex<Current>>);

impl Watch {
    pub fn start(into: PathBuf, seed: u64) -> Watch {
        let current: Arc<Mutex<Current>> = Arc::default();
        let seen = current.clone();
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(500));
                if let Some((since, number, text)) = &*seen.lock().unwrap_or_else(PoisonError::into_inner)
                    && since.elapsed() > HANGS
                {
                    eprintln!("case {number} hangs: {}", write(&into, seed, *number, text, "hangs"));
                    process::exit(1);
                }
            }
        });
        Watch(current)
    }

    fn set(&self, current: Current) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = current;
    }

    /// How far the case went.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, seed: u64, number: u64, text: &str) -> Result<Outcome, String> {
        self.set(Some((Instant::now(), number, text.to_owned())));
        let start = ThreadTime::now();
        let result = examine(seed, number, text);
        let took = start.elapsed();
        self.set(None);
        match memory() {
            _ if took >= SOON && result.is_ok() => Err(format!("takes {:.1} s", took.as_secs_f64())),
            Some(memory) if memory > MOST_MEMORY => Err(format!("the process has {memory} KiB")),
            _ => result,
        }
    }
}

/// Writes a failing case, made smaller, to a file, and gives its name.
pub fn report(into: &Path, seed: u64, number: u64, text: &str, problem: &str) -> String {
    let kind = |problem: &str| problem.split([' ', ':']).next().unwrap_or("").to_owned();
    let fails = |text: &str| examine(seed, number, text).is_err_and(|other| kind(&other) == kind(problem));
    let (smaller, problem) = match fails(text) {
        true => {
            let smaller = shrink::smaller(text, &fails);
            let problem = examine(seed, number, &smaller).err().unwrap_or_default();
            (smaller, problem)
        }
        false => (text.to_owned(), problem.to_owned()),
    };
    write(into, seed, number, &smaller, &problem)
}

fn write(into: &Path, seed: u64, number: u64, text: &str, problem: &str) -> String {
    let file = into.join(format!("{seed}-{number}.txt"));
    let problem = problem.replace('\n', "\n# ");
    let content = format!("{text}\n# seed {seed}, case {number}\n# {problem}\n");
    match std::fs::create_dir_all(into).and_then(|()| std::fs::write(&file, content)) {
        Ok(()) => file.display().to_string(),
        Err(error) => format!("{text:?} ({}: {error})", file.display()),
    }
}
