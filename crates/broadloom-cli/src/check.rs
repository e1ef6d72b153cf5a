//! Programs without data: what they take and give.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::program;
use crate::terminal::Terminal;

/// `broadloom check`.
///
/// # Errors
/// Every mistake in the program.
pub fn run(args: &CheckArgs, terminal: &Terminal) -> Result<(), Failure> {
    let graph = program::checked(&args.program, terminal)?;
    terminal.print(match args.print {
        true => broadloom_text::print(&graph),
        false => broadloom_text::signature(&graph),
    })
}
