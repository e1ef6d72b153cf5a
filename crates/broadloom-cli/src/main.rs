//! The program `broadloom`: NumPy-like expressions on files, from the shell.
//!
//! ```text
//! args ──▶ program (text, declarations, inputs) ──▶ CheckedGraph ──▶ Executable ──▶ results
//!             ▲                                                                        │
//!          io::Source ◀── files                                       files ◀── io::Sink, or standard output
//! ```
//!
//! Data go to standard output and messages to standard error. The exit code is 0 on success, 1 for errors in data
//! and at run time, and 2 for errors of usage and in expressions.
#![deny(unsafe_code)]

mod args;
mod bench;
mod check;
mod completions;
mod eval;
mod explain;
mod failure;
mod files;
mod graph;
mod help;
mod interrupt;
mod io;
mod labels;
mod man;
mod ops;
mod print;
mod program;
mod stream;
mod terminal;
mod threads;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::process::ExitCode;
use terminal::Terminal;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let terminal = Terminal::new(&cli.messages);
    match run(&cli.command, &terminal) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => terminal.fail(&failure),
    }
}

fn run(command: &Command, terminal: &Terminal) -> Result<(), Failure> {
    match command {
        Command::Eval(args) => eval::run(args, terminal),
        Command::Check(args) => check::run(args, terminal),
        Command::Explain(args) => explain::run(args, terminal),
        Command::Graph(args) => graph::run(args, terminal),
        Command::Bench(args) => bench::run(args, terminal),
        Command::Ops(args) => ops::run(args, terminal),
        Command::Help(args) => help::run(args, terminal),
        Command::Completions(args) => completions::run(args, terminal),
        Command::Man(args) => man::run(args),
    }
}
