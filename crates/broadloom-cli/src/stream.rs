//! Runs programs on large inputs: reads, computes and writes their rows chunk by chunk.

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::io::destinations::{Destinations, Writing};
use crate::io::memory::{Array, bytes_of};
use crate::io::source::{Opened, Rows};
use crate::program::Loaded;
use crate::terminal::Terminal;
use broadloom::{AnyArray, Chunked, CompileOptions, Executable, Inputs, Outputs};
use broadloom_ir::dim::Dim;
use indicatif::{ProgressBar, ProgressStyle};

/// From this many bytes of all inputs together, they are large.
const LARGE: usize = 64 << 20;
/// The approximate bytes of inputs in a chunk.
const CHUNK: usize = 8 << 20;
/// The largest useful chunk, in bytes.
const MOST: usize = 256 << 20;

/// A program that runs over its rows.
pub struct Stream {
    chunked: Chunked,
    /// The number of rows.
    length: usize,
    /// The number of rows in a chunk.
    chunk: usize,
}

impl Stream {
    /// The program in chunks of rows, if its inputs are large or chunks are requested, and it supports chunks.
    ///
    /// # Errors
    /// Returns an error if chunks are requested and impossible.
    pub fn new(
        loaded: &Loaded,
        kernel: &Executable,
        destinations: &Destinations,
        args: &EvalArgs,
        options: &CompileOptions,
        terminal: &Terminal,
    ) -> Result<Option<Stream>, Failure> {
        let needed = kernel.inputs();
        let size = |input: &Opened| bytes_of(input.source.dtype(), input.source.shape()).unwrap_or(0);
        let inputs = || {
            let is_needed = |input: &&Opened| needed.iter().any(|info| info.name == input.name);
            loaded.inputs.iter().filter(is_needed).filter(|input| !input.source.shape().is_empty())
        };
        let refuse = |why: String| match args.chunk {
            Some(_) => Err(Failure::usage(format!("the program cannot run in chunks: {why}"))
                .help("leave out --chunk: files are mapped, and only results need memory")),
            None => {
                terminal.note(|| format!("not running in chunks: {why}"));
                Ok(None)
            }
        };
        let Some(largest) = inputs().max_by_key(|input| size(input)) else {
            return if args.chunk.is_some() { refuse("it has no arrays".to_owned()) } else { Ok(None) };
        };
        let length = largest.source.shape().first().copied().unwrap_or(0);
        let has_rows = |input: &&Opened| input.source.shape().first() == Some(&length);
        let bytes: usize = inputs().filter(has_rows).map(size).fold(0, usize::saturating_add);
        if args.chunk.is_none() && bytes < LARGE {
            return Ok(None);
        }
        let graph = match loaded.by_rows(length) {
            Ok(graph) => graph,
            Err(_) => return refuse(format!("it works only for {length} rows")),
        };
        let executable = Executable::compile(&graph, options)?;
        let leading = graph.inputs().iter().find(|input| *input.name == *largest.name);
        let symbol = leading.and_then(|input| input.shape.first()).and_then(Dim::as_symbol);
        let Some(symbol) = symbol else {
            return refuse(format!("the program fixes the number of rows of {:?}", largest.name));
        };
        let chunked = match executable.in_chunks(&graph.symbols()[symbol.index()].name) {
            Ok(chunked) => chunked,
            Err(error) if args.chunk.is_some() => return Err(error.into()),
            Err(error) => return refuse(error.to_string()),
        };
        // The errors of a run on whole arrays are clearer.
        let is_streamed = |input: &Opened| chunked.streamed().iter().any(|info| info.name == input.name);
        if loaded.inputs.iter().any(|input| is_streamed(input) && !has_rows(&input)) {
            return Ok(None);
        }
        // The pass in which a result's rows come, and how many they are.
        let rows_of = |name: &str| {
            let is_of = |pass: &usize| chunked.rows(*pass).iter().any(|info| info.name == name);
            let pass = (0..chunked.passes()).find(is_of)?;
            let output = graph.outputs().iter().find(|output| *output.name == *name)?;
            Some((pass, graph.shape(output.expr).first().cloned()))
        };
        if !destinations.can_take_rows(&rows_of) {
            return refuse(
                "its results come in different passes, or have different numbers of rows, but must be written together"
                    .to_owned(),
            );
        }
        let multiple = chunked.multiple();
        let row = (bytes / length.max(1)).max(1);
        let wanted = args.chunk.map_or(CHUNK / row, |rows| rows.get());
        let chunk = wanted.max(1).div_ceil(multiple).saturating_mul(multiple);
        if args.chunk.is_none() && chunk.min(length).saturating_mul(row) > MOST {
            return refuse(format!("a chunk would have {chunk} rows of {row} bytes"));
        }
        Ok(Some(Stream { chunked, length, chunk }))
    }

    /// Reads, computes and writes all rows. Returns the results that are not rows.
    ///
    /// # Errors
    /// Returns an error if files cannot be read or written, or data have no result.
    pub fn run(
        &self,
        loaded: &Loaded,
        args: &EvalArgs,
        mut files: Option<&mut Writing>,
        terminal: &Terminal,
    ) -> Result<Outputs, Failure> {
        let Stream { chunked, length, chunk } = self;
        let opened = |name: &str| loaded.inputs.iter().find(|input| input.name == name);
        let mut fixed: Vec<(&str, Array)> = Vec::new();
        for info in chunked.fixed() {
            if let Some(input) = opened(&info.name) {
                fixed.push((&input.name, input.source.load()?));
            }
        }
        let mut inputs = Inputs::new();
        for (name, array) in &fixed {
            let view = array.view().map_err(|what| Failure::data(format!("input {name:?}: {what}")))?;
            inputs = inputs.named(*name, view);
        }
        for (name, size) in args.program.sizes() {
            inputs = inputs.with_size(name, size);
        }
        let mut run = chunked.start(inputs)?;
        let bar = progress(*length, chunked.passes(), terminal);
        for _ in 0..chunked.passes() {
            let mut readers: Vec<(String, Box<dyn Rows + '_>)> = Vec::new();
            for info in chunked.streamed() {
                if let Some(input) = opened(&info.name) {
                    readers.push((info.name, input.source.rows()?));
                }
            }
            let mut done = 0;
            // No rows are a chunk, too.
            loop {
                let rows = (*chunk).min(length - done);
                let mut inputs = Inputs::new();
                for (name, reader) in &mut readers {
                    inputs = inputs.named(name.as_str(), reader.next(rows)?);
                }
                let results = run.push(inputs)?;
                if let Some(files) = &mut files {
                    files.push(&|name| results.get(name))?;
                }
                done += rows;
                bar.inc(rows as u64);
                if done == *length {
                    break;
                }
            }
            run.end_pass()?;
        }
        bar.finish_and_clear();
        let totals = run.finish()?;
        if let Some(files) = files {
            files.push(&|name: &str| -> Option<&AnyArray> { totals.get(name) })?;
        }
        Ok(totals)
    }
}

/// The progress bar, on a terminal.
fn progress(length: usize, passes: usize, terminal: &Terminal) -> ProgressBar {
    if !terminal.shows_progress() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length as u64 * passes as u64);
    match ProgressStyle::with_template("{bar:30} {percent:>3}%  {human_pos} of {human_len} rows  {eta} left")
    {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
