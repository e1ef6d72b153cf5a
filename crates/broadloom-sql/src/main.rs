//! The program `broadloom-sql`: SQL with tensor expressions, in this process or on a cluster.
//!
//! Results go to standard output and messages to standard error. The exit code is 0 on success, 1 for errors in data, in
//! files and at run time, 2 for errors of usage and in queries, and 130 after Ctrl-C.
#![forbid(unsafe_code)]

mod args;
mod failure;
mod planned;
mod print;
mod run;

use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match started(&cli) {
        Ok(code) => code,
        Err(failure) => {
            // Nothing can be said if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{}", failure.text());
            failure.code()
        }
    }
}

fn started(cli: &Cli) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match &cli.command {
            None => run::query(&cli.query).await,
            Some(Command::Scheduler(args)) => run::scheduler(args).await,
            Some(Command::Executor(args)) => run::executor(args).await,
        }
    })
}
