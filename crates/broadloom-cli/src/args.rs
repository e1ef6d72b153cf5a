//! What is accepted on the command line. The arguments of a command stand here; what they mean, in its module.

use crate::bench::Range;
use crate::program::ProgramArgs;
use crate::terminal::MessageArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// NumPy-like expressions on files, compiled to fused loops.
#[derive(Debug, Parser)]
#[command(name = "broadloom", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub messages: MessageArgs,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0, 1 for errors of data and of running, 2 for errors of usage and in expressions.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Eval(EvalArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    Graph(GraphArgs),
    Bench(BenchArgs),
    Ops(OpsArgs),
    Completions(CompletionsArgs),
}

/// Compute an expression or a program on files.
#[derive(Debug, Args)]
pub struct EvalArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Where results go, instead of standard output: a file for the only result, an .npz for all, or NAME=FILE for one
    /// of several
    #[arg(short, long, value_name = "[NAME=]FILE")]
    pub output: Vec<String>,
    /// Most threads to compute with; as many as there are processors by default
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Report how long reading, compiling, running and writing took
    #[arg(long)]
    pub time: bool,
}

/// Check a program without data, and print the dtypes and shapes of its results.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print the inputs as well, before the results
    #[arg(long = "inputs")]
    pub with_inputs: bool,
    /// Print the program in normal form instead
    #[arg(long, conflicts_with = "with_inputs")]
    pub print: bool,
}

/// Show the loops, the costs and the code that a program is compiled to.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print loops and costs (the default)
    #[arg(long)]
    pub loops: bool,
    /// Print Cranelift's intermediate code
    #[arg(long)]
    pub clif: bool,
    /// Print machine code
    #[arg(long)]
    pub asm: bool,
}

/// Draw the graph of a program and the kernels that it is compiled to.
#[derive(Debug, Args)]
#[command(after_help = GRAPH_EXAMPLES)]
pub struct GraphArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The picture, .svg or .dot; standard output by default
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The kind of picture; by default as the file is named, and dot on standard output
    #[arg(long, value_enum)]
    pub format: Option<PictureFormat>,
}

/// The kinds of picture.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PictureFormat {
    /// A picture that browsers show.
    Svg,
    /// For Graphviz, which places the nodes itself.
    Dot,
}

const GRAPH_EXAMPLES: &str = "\
Examples:
  broadloom graph 'exp(x) / sum(exp(x), axis=1, keepdims=True)' 'x:f32[n, m]' -o softmax.svg
  broadloom graph 'mean((x - y)**2)' 'x:f32[n]' 'y:f32[n]' --format svg > loss.svg
  broadloom graph -f model.bl | dot -Tpdf > model.pdf";

/// Time a program on files or on random inputs, beside copying as many bytes.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// What an input's random numbers are taken from; by default floats from 0..1 and integers from 0..100
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = named_range)]
    pub range: Vec<(String, Range)>,
    /// The random numbers differ by this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    /// Threads to compute with; by default one, and then as many as there are processors
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How long to measure, for each number of threads
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Print JSON, with times in seconds
    #[arg(long)]
    pub json: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  broadloom bench 'sqrt(x*x + y*y)' 'x:f32[n]' 'y:f32[n]'
  broadloom bench 'argmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)' obs=obs.npy codes=codes.npy
  broadloom bench '(x - mean(x, axis=0)) / std(x, axis=0)' 'x:f32[n, m]' --size n=1000000 --size m=4
  broadloom bench 'take(table, i)' 'table:f64[k]' 'i:i64[n]' --size k=1000 --range i=0..1000 --json

Inputs that are declared without data are random. --size gives their sizes, n=1000; others are chosen so that arrays have up to a million elements.

`copy` is the speed of copying as many bytes as the inputs and results have, on as many threads, in turns with the runs.";

fn named_range(text: &str) -> Result<(String, Range), String> {
    let (name, range) = text.split_once('=').ok_or("expected NAME=FROM..TO, as in i=0..100")?;
    Ok((name.to_owned(), range.parse()?))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "it is a number of seconds, at most 3600".to_owned())
}

/// Print the reference of operations.
#[derive(Debug, Args)]
pub struct OpsArgs {
    /// One operation, by any of its names
    pub name: Option<String>,
}

/// Print a script that completes commands in a shell.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: Shell,
}
