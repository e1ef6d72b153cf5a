//! Describes programs without running them: their inputs and outputs, and how columns of tables are read.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::program::{self, Loaded};
use crate::terminal::Terminal;

/// `broadloom check`.
///
/// # Errors
/// Returns every mistake in the program.
pub fn run(args: &CheckArgs, terminal: &Terminal) -> Result<(), Failure> {
    let Loaded { graph, inputs, labels, .. } = program::load(&args.program, terminal)?;
    if args.print {
        return terminal.print(broadloom_text::print(&graph));
    }
    let mut text: String =
        inputs.iter().flat_map(|input| &input.columns).map(|column| format!("# {column}\n")).collect();
    if args.with_inputs {
        text += &broadloom_text::inputs(&graph);
    }
    for output in graph.outputs().iter().filter(|output| labels.texts(&output.name).is_some()) {
        text += &format!("# the elements of {} are positions of texts\n", output.name);
    }
    terminal.print(text + &broadloom_text::signature(&graph))
}
