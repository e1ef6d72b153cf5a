//! `broadloom graph`: a picture of a program, to a file or to the terminal.

use crate::args::{GraphArgs, PictureFormat};
use crate::failure::Failure;
use crate::files;
use crate::program;
use crate::terminal::Terminal;
use broadloom::{CompileOptions, Executable};

/// `broadloom graph`.
///
/// # Errors
/// Returns every mistake in the program, what the compiler cannot do, and a file that cannot be written.
pub fn run(args: &GraphArgs, terminal: &Terminal) -> Result<(), Failure> {
    let format = format(args)?;
    let graph = program::checked(&args.program, terminal)?;
    let explanation = Executable::compile(&graph, &CompileOptions::default())?.explain();
    let picture = match format {
        PictureFormat::Svg => broadloom_picture::svg(&explanation),
        PictureFormat::Dot => broadloom_picture::dot(&explanation),
    };
    match &args.output {
        Some(file) if !files::is_stdout(file) => files::write(file, picture.as_bytes()),
        _ => terminal.print(picture),
    }
}

/// Returns the requested format, or else the one of the file's extension.
fn format(args: &GraphArgs) -> Result<PictureFormat, Failure> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let Some(file) = args.output.as_deref().filter(|file| !files::is_stdout(file)) else {
        return Ok(PictureFormat::Dot);
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
