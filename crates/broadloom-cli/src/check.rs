//! Describes programs without data: their inputs and outputs.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::program;
use crate::terminal::Terminal;

/// `broadloom check`.
///
/// # Errors
/// Returns every mistake in the program.
pub fn run(args: &CheckArgs, terminal: &Terminal) -> Result<(), Failure> {
    let graph = program::checked(&args.program, terminal)?;
    if args.print {
        return terminal.print(broadloom_text::print(&graph));
    }
    let inputs = if args.with_inputs { broadloom_text::inputs(&graph) } else { String::new() };
    terminal.print(inputs + &broadloom_text::signature(&graph))
}
