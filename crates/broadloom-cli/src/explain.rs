//! Explains what programs compile to.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::program;
use crate::terminal::Terminal;
use broadloom::{CompileOptions, Executable};

/// `broadloom explain`.
///
/// # Errors
/// Returns every mistake in the program, and what the compiler cannot do.
pub fn run(args: &ExplainArgs, terminal: &Terminal) -> Result<(), Failure> {
    let graph = program::checked(&args.program, terminal)?;
    let explanation = Executable::compile(&graph, &CompileOptions::default())?.explain();
    if args.loops || !(args.clif || args.asm) {
        terminal.print(&explanation)?;
    }
    if args.clif {
        terminal.print(explanation.clif()?)?;
    }
    if args.asm {
        terminal.print(explanation.disassembly()?)?;
    }
    Ok(())
}
