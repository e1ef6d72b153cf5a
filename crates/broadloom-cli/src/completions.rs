//! Scripts that complete commands in a shell.

use crate::args::{Cli, CompletionsArgs};
use crate::failure::Failure;
use crate::terminal::Terminal;
use clap::CommandFactory;

/// `broadloom completions`.
///
/// # Errors
/// Returns an error if standard output cannot be written.
pub fn run(args: &CompletionsArgs, terminal: &Terminal) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "broadloom", &mut script);
    terminal.write(|out| out.write_all(&script))
}
