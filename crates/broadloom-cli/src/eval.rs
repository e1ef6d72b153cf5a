//! Runs programs on files.

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::io::content::memory_of_machine;
use crate::io::destinations::Destinations;
use crate::io::memory::Array;
use crate::labels::Labels;
use crate::print;
use crate::program;
use crate::stream::Stream;
use crate::terminal::Terminal;
use crate::threads::threads;
use broadloom::{AnyArray, Bound, CheckedGraph, CompileOptions, Executable, Inputs, IntoArrayView, Outputs};
use indicatif::BinaryBytes;
use std::time::{Duration, Instant};

/// The time that each step took.
#[derive(Debug)]
struct Clock {
    last: Instant,
    steps: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn start() -> Clock {
        Clock { last: Instant::now(), steps: Vec::new() }
    }

    fn step(&mut self, name: &'static str) {
        let now = Instant::now();
        self.add(name, now - self.last);
        self.last = now;
    }

    /// Adds time to a step.
    fn add(&mut self, name: &'static str, time: Duration) {
        match self.steps.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += time,
            None => self.steps.push((name, time)),
        }
    }

    fn text(&self) -> String {
        let step = |(name, time): &(&str, Duration)| format!("{name} {:.3} ms", time.as_secs_f64() * 1e3);
        self.steps.iter().map(step).collect::<Vec<_>>().join(", ")
    }
}

/// `broadloom eval`.
///
/// # Errors
/// Mistakes in the program; files that cannot be read or written; data that have no result.
pub fn run(args: &EvalArgs, terminal: &Terminal) -> Result<(), Failure> {
    let mut clock = Clock::start();
    let loaded = program::load(&args.program, terminal)?;
    refuse_assignments(&loaded.graph)?;
    clock.add("read", loaded.reading);
    clock.last += loaded.reading;
    clock.step("parse");
    let options = CompileOptions { threads: threads(args.threads)?, ..CompileOptions::default() };
    let kernel = Executable::compile(&loaded.graph, &options)?;
    let destinations = Destinations::new(
        &args.outputs,
        &kernel.outputs(),
        &loaded.labels,
        args.program.delimiter(),
        terminal,
    )?;
    let stream = Stream::new(&loaded, &kernel, &destinations, args, &options, terminal)?;
    clock.step("compile");
    if let Some(stream) = stream {
        let mut files = if destinations.has_files() { Some(destinations.open()?) } else { None };
        let totals = stream.run(&loaded, args, files.as_mut(), terminal)?;
        match files {
            Some(files) => files.finish(terminal)?,
            None => show(&totals, &loaded.labels, terminal)?,
        }
        clock.step("read, run and write");
        if args.time {
            terminal.message(&clock.text());
        }
        return Ok(());
    }
    let mut arrays: Vec<(&str, Array)> = Vec::new();
    for info in kernel.inputs() {
        if let Some(input) = loaded.inputs.iter().find(|input| input.name == info.name) {
            arrays.push((&input.name, input.source.load()?));
        }
    }
    clock.step("read");
    let outputs = compute(&kernel, &arrays, args, terminal)?;
    clock.step("run");
    if destinations.has_files() {
        let mut files = destinations.open()?;
        files.push(&|name: &str| -> Option<&AnyArray> { outputs.get(name) })?;
        files.finish(terminal)?;
    } else {
        show(&outputs, &loaded.labels, terminal)?;
    }
    clock.step("write");
    if args.time {
        terminal.message(&clock.text());
    }
    Ok(())
}

/// Inputs are files, which are read only.
fn refuse_assignments(graph: &CheckedGraph) -> Result<(), Failure> {
    match graph.outputs().iter().find(|output| output.assigned.is_some()) {
        None => Ok(()),
        Some(output) => {
            let name = &output.name;
            Err(Failure::usage(format!("`assign {name}` writes to an input, which eval never does"))
                .help_code("make it a result:", format!("output {name} = .."))
                .help(format!("and name its file with -o {name}=FILE")))
        }
    }
}

fn compute(
    kernel: &Executable,
    arrays: &[(&str, Array)],
    args: &EvalArgs,
    terminal: &Terminal,
) -> Result<Outputs, Failure> {
    let mut inputs = Inputs::new();
    for (name, array) in arrays {
        let view = array.view().map_err(|what| Failure::data(format!("input {name:?}: {what}")))?;
        inputs = inputs.named(*name, view);
    }
    for (name, size) in args.program.sizes() {
        inputs = inputs.with_size(name, size);
    }
    let bound = kernel.bind(inputs)?;
    announce(&bound, terminal)?;
    Ok(bound.run()?)
}

/// Says before a run how much memory it takes beside its inputs and results, if that is much: results have the sizes that the
/// program shows, and temporaries do not.
///
/// # Errors
/// Returns an error if this machine has less memory.
fn announce(bound: &Bound<'_>, terminal: &Terminal) -> Result<(), Failure> {
    const MUCH: u64 = 512 << 20;
    const STORED: &str = "to see what is stored, write `broadloom explain` in place of `broadloom eval`";
    let temporaries = bound.temporary_bytes() as u64;
    let results = bound.outputs().iter().fold(0, |sum: u64, output| sum.saturating_add(output.bytes as u64));
    let (needed, memory) = (results.saturating_add(temporaries), memory_of_machine());
    let (shown, results) = (BinaryBytes(temporaries), BinaryBytes(results));
    if needed > memory {
        return Err(Failure::data(format!(
            "the run needs {results} for results and {shown} for temporaries, and this machine has {}",
            BinaryBytes(memory)
        ))
        .help("compute a part of the rows or columns at a time, as in `x[:, :100]`")
        .help(STORED));
    }
    if temporaries >= MUCH {
        terminal.warn(format!("the run takes {shown} of memory for temporaries"), Some(STORED));
    }
    Ok(())
}

fn show(outputs: &Outputs, labels: &Labels, terminal: &Terminal) -> Result<(), Failure> {
    // The reader of a pipe gets all elements.
    let is_whole = !terminal.is_watched();
    let all: Vec<(&str, &AnyArray)> = outputs.iter().collect();
    if let Some(table) = print::labelled(&all, labels) {
        return terminal.print(table);
    }
    terminal.write(|out| {
        for (name, array) in all {
            if let Some(table) = print::labelled(&[(name, array)], labels) {
                write!(out, "{name} =\n{table}")?;
                continue;
            }
            match outputs.len() {
                1 => {}
                _ if array.shape().len() > 1 => writeln!(out, "{name} =")?,
                _ => write!(out, "{name} = ")?,
            }
            print::array(out, &array.into_array_view(), is_whole, labels.texts(name))?;
            writeln!(out)?;
        }
        Ok(())
    })
}
