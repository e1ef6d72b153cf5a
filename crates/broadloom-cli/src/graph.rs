//! `broadloom graph`: a picture of a program or of its broadcasting, to a file or to the terminal.

use crate::args::{GraphArgs, PictureFormat};
use crate::failure::Failure;
use crate::files;
use crate::program;
use crate::terminal::Terminal;
use broadloom::diagnostics::Places;
use broadloom::{CompileOptions, Executable};
use broadloom_picture::BroadcastFigures;

/// `broadloom graph`.
///
/// # Errors
/// Returns every mistake in the program, what the compiler cannot do, and a file that cannot be written.
pub fn run(args: &GraphArgs, terminal: &Terminal) -> Result<(), Failure> {
    let format = format(args)?;
    let picture = match (args.broadcast, format) {
        (true, PictureFormat::Svg) => figures(args, terminal)?.svg(),
        (true, PictureFormat::Dot) => {
            return Err(Failure::usage("--broadcast draws cells, which DOT does not have")
                .help("name the file .svg, or pass --format svg"));
        }
        (false, format) => kernels(args, format, terminal)?,
    };
    match &args.output {
        Some(file) if !files::is_stdout(file) => files::write(file, picture.as_bytes()),
        _ => terminal.print(picture),
    }
}

fn kernels(args: &GraphArgs, format: PictureFormat, terminal: &Terminal) -> Result<String, Failure> {
    let graph = program::checked(&args.program, terminal)?;
    let explanation = Executable::compile(&graph, &CompileOptions::default())?.explain();
    Ok(match format {
        PictureFormat::Svg => broadloom_picture::svg(&explanation),
        PictureFormat::Dot => broadloom_picture::dot(&explanation),
    })
}

/// Returns the figures of a program, also of one whose only mistakes are shapes that do not fit: the figures explain
/// them.
fn figures(args: &GraphArgs, terminal: &Terminal) -> Result<BroadcastFigures, Failure> {
    let figures = match program::checked(&args.program, terminal) {
        Ok(graph) => {
            let places = terminal.places().map(|places| places as &dyn Places);
            BroadcastFigures::of_graph(&graph, places)
        }
        Err(failure) => {
            let Some(mistakes) = failure.mistakes() else { return Err(failure) };
            let figures = BroadcastFigures::of_mistakes(mistakes.diagnostics(), Some(mistakes.places()));
            if figures.len() < mistakes.as_slice().len() {
                return Err(failure);
            }
            figures
        }
    };
    if figures.is_empty() {
        return Err(Failure::usage("no operation of the program combines arrays element by element")
            .help_code("combine some:", "x[:, None] + y"));
    }
    Ok(figures)
}

/// Returns the requested format, or else the one of the file's extension.
fn format(args: &GraphArgs) -> Result<PictureFormat, Failure> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let Some(file) = args.output.as_deref().filter(|file| !files::is_stdout(file)) else {
        return Ok(if args.broadcast { PictureFormat::Svg } else { PictureFormat::Dot });
    };
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("svg") => Ok(PictureFormat::Svg),
        Some("dot" | "gv") => Ok(PictureFormat::Dot),
        _ => {
            Err(Failure::usage(format!("the extension of {} does not name a picture format", file.display()))
                .help("name the file .svg or .dot, or pass --format svg or --format dot"))
        }
    }
}
