//! Times programs, and compares them with copying the same number of bytes.
//!
//! ```text
//! CheckedGraph ──sizes──▶ shapes ──data──▶ arrays ──measure: kernel and copy in turns──▶ times ──report──▶ text, JSON
//! ```

mod data;
mod measure;
mod moved;
mod report;
mod sizes;

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::io;
use crate::program::{self, Loaded};
use crate::terminal::Terminal;
use crate::threads::threads;
use broadloom::prelude::*;
use broadloom::{CallError, Inputs, OutputsMut, RunError, Threads};
pub use data::Range;
use data::{Data, default_range};
use measure::Run;
use report::{Measured, Report};
use sizes::Sizes;
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

/// An input that is passed to the kernel.
struct Passed<'a> {
    name: String,
    dtype: DType,
    shape: Vec<usize>,
    is_assigned: bool,
    data: Elements<'a>,
}

/// Where the elements of an input come from.
enum Elements<'a> {
    Random(Range, Box<dyn Data>),
    Given(ArrayView<'a>),
}

impl Passed<'_> {
    fn origin(&self) -> String {
        match (&self.data, self.dtype) {
            (Elements::Given(_), _) => "given".to_string(),
            (Elements::Random(..), DType::Bool) => "random".to_string(),
            (Elements::Random(range, _), _) => format!("random in {range}"),
        }
    }

    fn text(&self) -> String {
        type_text(&self.name, self.dtype, &self.shape)
    }

    fn bytes(&self) -> usize {
        bytes(self.dtype, &self.shape)
    }
}

fn type_text(name: &str, dtype: DType, shape: &[usize]) -> String {
    format!("{name}: {dtype}{shape:?}")
}

fn elements(shape: &[usize]) -> usize {
    shape.iter().fold(1, |count, size| count.saturating_mul(*size))
}

fn bytes(dtype: DType, shape: &[usize]) -> usize {
    elements(shape).saturating_mul(dtype.size())
}

/// `broadloom bench`.
///
/// # Errors
/// Returns every mistake in the program, sizes and data that do not fit it, and what the compiler cannot do.
pub fn run(args: &BenchArgs, terminal: &Terminal) -> Result<(), Failure> {
    let Loaded { graph, inputs: files, .. } = program::load(&args.program, terminal)?;
    let single = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let kernel = Executable::compile(&graph, &single)?;
    let arrays = (files.iter())
        .map(|file| Ok((file.name.as_str(), file.source.load()?)))
        .collect::<Result<Vec<(&str, io::memory::Array)>, Failure>>()?;
    let mut views: HashMap<&str, ArrayView<'_>> = HashMap::new();
    for (name, array) in &arrays {
        let view = array.view().map_err(|what| Failure::data(format!("input {name:?}: {what}")))?;
        views.insert(name, view);
    }
    let sizes = args.program.sizes();
    let given: BTreeMap<String, i64> =
        sizes.map(|(name, size)| (name.to_string(), i64::try_from(size).unwrap_or(i64::MAX))).collect();
    let ranges: HashMap<&str, Range> =
        args.range.iter().map(|(name, range)| (name.as_str(), *range)).collect();
    let known = sizes::known(&graph, &|name| views.get(name).map(ArrayView::shape));
    let sizes = Sizes::choose(&kernel, &given, &known)?;
    let bench = Bench { kernel: &kernel, sizes: &sizes, ranges: &ranges, views: &views, seed: args.seed };
    bench.check_inputs()?;
    let (mut inputs, outputs) = bench.fitting()?;

    let available = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let counts = match args.threads {
        Some(count) => vec![count],
        None if available == NonZeroUsize::MIN => vec![available],
        None => vec![NonZeroUsize::MIN, available],
    };
    let explanation = kernel.explain();
    let mut report = Report {
        inputs: inputs.iter().map(|input| (input.text(), input.origin())).collect(),
        outputs: outputs.iter().map(|(name, dtype, shape)| type_text(name, *dtype, shape)).collect(),
        sizes: sizes.named.clone(),
        kernels: explanation.kernels(),
        compile_time: explanation.compile_time().as_secs_f64(),
        bytes_in: inputs.iter().map(|input| bench.moved(input)[0]).sum(),
        bytes_out: outputs.iter().map(|(_, dtype, shape)| bytes(*dtype, shape)).sum::<usize>()
            + inputs.iter().map(|input| bench.moved(input)[1]).sum::<usize>(),
        elements: (inputs.iter().map(|input| elements(&input.shape)))
            .chain(outputs.iter().map(|(_, _, shape)| elements(shape)))
            .max()
            .unwrap_or(0),
        rows: Vec::new(),
    };
    let half = (report.bytes_in + report.bytes_out).div_ceil(2);
    let (from, mut to) = (buffer(half)?, buffer(half)?);
    let mut results = bench.results(&outputs)?;
    for count in counts {
        let threads = threads(Some(count))?;
        let pool = match &threads {
            Threads::Pool(pool) => Some(pool.clone()),
            Threads::Calling | Threads::Global => None,
        };
        let options = CompileOptions { threads, ..CompileOptions::default() };
        let kernel = Executable::compile(&graph, &options)?;
        terminal.note(|| format!("measuring on {count} threads"));
        let bench = Bench { kernel: &kernel, ..bench };
        let mut run = || bench.run_into(&mut inputs, &outputs, &mut results);
        let mut copy = || {
            measure::copy(pool.as_deref(), &from, &mut to);
            Ok(())
        };
        let mut runs: [Run<'_, Failure>; 2] = [&mut run, &mut copy];
        let times = measure::in_turns(&mut runs, args.seconds)?;
        if let [run, copy] = times[..] {
            report.rows.push(Measured { threads: count.get(), run, copy });
        }
    }
    match args.json {
        true => terminal.print(format_args!("{:#}\n", report.json())),
        false => terminal.print(report),
    }
}

fn buffer(length: usize) -> Result<Vec<u8>, Failure> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length).map_err(|_| {
        Failure::data(format!("not enough memory to copy {length} bytes")).help("give smaller sizes")
    })?;
    buffer.resize(length, 1);
    Ok(buffer)
}

/// Name, dtype and shape of an output.
type Output = (String, DType, Vec<usize>);

#[derive(Clone, Copy)]
struct Bench<'a, 'f> {
    kernel: &'a Executable,
    sizes: &'a Sizes,
    ranges: &'a HashMap<&'a str, Range>,
    /// The inputs that are not random.
    views: &'a HashMap<&'a str, ArrayView<'f>>,
    seed: u64,
}

impl<'f> Bench<'_, 'f> {
    /// Checks that ranges belong to random inputs, and that no file would be written.
    fn check_inputs(&self) -> Result<(), Failure> {
        let inputs = self.kernel.inputs();
        let is_given = |name: &str| self.views.contains_key(name);
        if let Some(input) = inputs.iter().find(|input| input.is_assigned && is_given(&input.name)) {
            let name = &input.name;
            return Err(Failure::usage(format!(
                "`assign {name}` writes to an input that comes from a file or a number"
            ))
            .help_code("time it on random numbers:", format!("{name}:{}[n]", input.dtype)));
        }
        if let Some(name) = self.ranges.keys().find(|name| is_given(name)) {
            return Err(Failure::usage(format!(
                "--range {name} has no effect: the input comes from a file or a number"
            ))
            .help("leave out its --range"));
        }
        let mut names: Vec<&&str> = self.ranges.keys().collect();
        names.sort_unstable();
        match names.into_iter().find(|name| !inputs.iter().any(|input| input.name == **name)) {
            None => Ok(()),
            Some(name) => {
                let has: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
                Err(Failure::usage(format!("the program has no input {name} for --range"))
                    .help(format!("its inputs are {}", has.join(", "))))
            }
        }
    }

    /// The bytes that a run reads and writes of an input.
    fn moved(&self, input: &Passed<'_>) -> [usize; 2] {
        let update =
            if input.is_assigned { moved::of_update(self.kernel, self.sizes, &input.name) } else { None };
        match update {
            Some(elements) => elements.map(|count| count.saturating_mul(input.dtype.size())),
            None => [input.bytes(), if input.is_assigned { input.bytes() } else { 0 }],
        }
    }

    /// Random inputs that the program accepts, and its outputs. If integers are refused as indices, their range is
    /// reduced step by step.
    fn fitting(&self) -> Result<(Vec<Passed<'f>>, Vec<Output>), Failure> {
        let mut most = data::MOST;
        loop {
            let mut inputs = self.inputs(most)?;
            match self.kernel.run(self.passed(&mut inputs)) {
                Ok(outputs) => {
                    let outputs = outputs.iter();
                    let outputs = outputs
                        .map(|(name, array)| (name.to_string(), array.dtype(), array.shape().to_vec()));
                    return Ok((inputs, outputs.collect()));
                }
                Err(CallError::Run(RunError::IndexOutOfRange { .. } | RunError::NoSuchSegment { .. }))
                    if most > 1.0 =>
                {
                    most = (most / 4.0).floor().max(1.0)
                }
                Err(error) => return Err(self.refused(error)),
            }
        }
    }

    /// Random inputs; integers are below `below` unless their range is given.
    fn inputs(&self, most: f64) -> Result<Vec<Passed<'f>>, Failure> {
        let mut generator = fastrand::Rng::with_seed(self.seed);
        let graph = self.kernel.graph();
        let mut inputs = Vec::new();
        for info in self.kernel.inputs() {
            let Some(input) = graph.inputs().iter().find(|input| *input.name == *info.name) else { continue };
            let (dtype, is_assigned) = (info.dtype, info.is_assigned);
            if let Some(view) = self.views.get(info.name.as_str()) {
                let shape = view.shape();
                let data = Elements::Given(view.clone());
                inputs.push(Passed { name: info.name, dtype, shape, is_assigned, data });
                continue;
            }
            let range = self.ranges.get(info.name.as_str()).copied();
            let range = range.unwrap_or_else(|| default_range(dtype, most));
            let shape = self.sizes.of(&input.shape).ok_or_else(|| {
                Failure::usage(format!("the given sizes leave no valid size for the input {info}"))
                    .help("give other sizes: --size n=1000")
            })?;
            let data = data::random(dtype, &shape, range, &mut generator)?;
            let data = Elements::Random(range, data);
            inputs.push(Passed { name: info.name, dtype, shape, is_assigned, data });
        }
        Ok(inputs)
    }

    fn passed<'a>(&'a self, inputs: &'a mut [Passed<'f>]) -> Inputs<'a> {
        let mut passed = Inputs::new();
        for Passed { name, is_assigned, data, .. } in inputs {
            passed = match data {
                Elements::Given(view) => passed.named(name.as_str(), &*view),
                Elements::Random(_, data) => match is_assigned {
                    true => data.pass_mut(name, passed),
                    false => data.pass(name, passed),
                },
            };
        }
        let parameters = self.kernel.parameters();
        for (name, size, _) in self.sizes.named.iter().filter(|(name, ..)| parameters.contains(name)) {
            passed = passed.with_size(name.as_str(), usize::try_from(*size).unwrap_or(usize::MAX));
        }
        passed
    }

    /// Arrays for the outputs.
    fn results(&self, outputs: &[Output]) -> Result<Vec<Box<dyn Data>>, Failure> {
        outputs.iter().map(|(_, dtype, shape)| data::array(*dtype, shape, &mut || 0.0)).collect()
    }

    fn run_into(
        &self,
        inputs: &mut [Passed<'f>],
        outputs: &[Output],
        results: &mut [Box<dyn Data>],
    ) -> Result<(), Failure> {
        let mut into = OutputsMut::new();
        for ((name, ..), result) in outputs.iter().zip(results) {
            into = result.receive(name, into);
        }
        self.kernel.run_into(self.passed(inputs), into).map_err(|error| self.refused(error))
    }

    /// The error for random data that do not fit.
    fn refused(&self, error: CallError) -> Failure {
        match error {
            CallError::Bind(error) => Failure::data(format!("random arrays do not fit: {error}"))
                .help("give sizes that fit: --size n=1000"),
            CallError::Run(error) => {
                let is_random = |name: &str| !self.views.contains_key(name);
                let inputs = self.kernel.inputs();
                let blamed = inputs.iter().find(|input| !input.dtype.is_float() && is_random(&input.name));
                match (&error, blamed) {
                    (RunError::Memory(_), _) | (_, None) => error.into(),
                    (_, Some(input)) => {
                        Failure::data(format!("the program fails on these random numbers: {error}"))
                            .help(format!("choose a range that fits: --range {}=0..10", input.name))
                    }
                }
            }
        }
    }
}
