//! The program `broadloom-sql`: SQL with tensor expressions, in this process or on a cluster.
//!
//! Results go to standard output and messages to standard error. The exit code is 0 on success, 1 for errors in data, in
//! files and at run time, 2 for errors of usage and in queries, and 130 after Ctrl-C.
#![forbid(unsafe_code)]

mod args;
mod cell;
mod failure;
mod interrupt;
mod planned;
mod print;
mod run;

use args::{Cli, Command};
use broadloom_sql::STACK_BYTES;
use clap::Parser;
use failure::Failure;
use std::io::Write;
use std::process::ExitCode;

/// The time for tasks that still compute when the program ends. Plans stop between two parts of a kernel.
const ENDING: std::time::Duration = std::time::Duration::from_millis(500);

fn main() -> ExitCode {
    let cli = Cli::parse();
    match started(cli) {
        Ok(code) => code,
        Err(failure) => {
            // Nothing can be said if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{}", failure.text());
            failure.code()
        }
    }
}

/// Runs a command on a thread with a stack for deep queries, which the first thread of a process may not have.
fn started(cli: Cli) -> Result<ExitCode, Failure> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || ended(&cli))?;
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn ended(cli: &Cli) -> Result<ExitCode, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.thread_stack_size(STACK_BYTES).enable_all().build()?;
    let ended = runtime.block_on(async {
        match &cli.command {
            None => run::query(&cli.query).await,
            Some(Command::Scheduler(args)) => run::scheduler(args).await,
            Some(Command::Executor(args)) => run::executor(args).await,
            Some(Command::Completions(args)) => run::completions(args),
            Some(Command::Man(args)) => run::man(args),
        }
    });
    runtime.shutdown_timeout(ENDING);
    ended
}
