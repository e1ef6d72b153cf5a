//! Explains what programs compile to.

use crate::args::ExplainArgs;
use crate::failure::Failure;
use crate::files;
use crate::io::content::STDIO;
use crate::program;
use crate::terminal::Terminal;
use broadloom::{CompileOptions, Executable, Explanation};
use broadloom_picture::ProgramText;
use std::path::Path;

/// `broadloom explain`.
///
/// # Errors
/// Returns every mistake in the program, what the compiler cannot do, and a file that cannot be written.
pub fn run(args: &ExplainArgs, terminal: &Terminal) -> Result<(), Failure> {
    let graph = program::checked(&args.program, terminal)?;
    let explanation = Executable::compile(&graph, &CompileOptions::default())?.explain();
    if args.loops || !(args.clif || args.asm || args.html.is_some()) {
        terminal.print(&explanation)?;
    }
    if args.clif {
        terminal.print(explanation.clif()?)?;
    }
    if args.asm {
        terminal.print(explanation.disassembly()?)?;
    }
    match &args.html {
        None => Ok(()),
        Some(file) if file == Path::new(STDIO) || files::is_stdout(file) => {
            terminal.print(page(&explanation, terminal)?)
        }
        Some(file) => files::write(file, page(&explanation, terminal)?.as_bytes()),
    }
}

fn page(explanation: &Explanation, terminal: &Terminal) -> Result<String, Failure> {
    let program = terminal.places().map(|places| ProgramText {
        name: places.name().to_owned(),
        text: places.text().to_owned(),
        spans: places.spans(explanation.graph()),
        ..ProgramText::default()
    });
    Ok(broadloom_picture::html(explanation, program.as_ref())?)
}
