//! What is accepted on the command line. The arguments of a command stand here; what they mean, in its module.

use crate::program::ProgramArgs;
use crate::terminal::MessageArgs;
use clap::{Args, Parser, Subcommand};
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

/// Draw the graph of a program and its kernels.
#[derive(Debug, Args)]
pub struct GraphArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The picture: .svg or .dot
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Time a program on given or random inputs.
#[derive(Debug, Args)]
pub struct BenchArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Most threads to compute with; as many as there are processors by default
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
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
