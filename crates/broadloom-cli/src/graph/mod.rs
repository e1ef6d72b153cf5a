//! Pictures of graphs and of the kernels that they become.
//!
//! ```text
//! Explanation ──drawing──▶ nodes, edges, kernels ──layers──▶ rows ──layout──▶ places ──▶ SVG
//!                                     └──────────────────────────────────────────────▶ DOT
//! ```

mod dot;
mod drawing;
mod label;
mod layers;
mod layout;
mod svg;

use crate::args::{GraphArgs, PictureFormat};
use crate::failure::Failure;
use crate::program;
use crate::terminal::Terminal;
use broadloom::{CompileOptions, Executable};
use drawing::Drawing;
use std::io::Write as _;
use std::path::Path;

/// `broadloom graph`.
///
/// # Errors
/// Every mistake in the program, what the compiler cannot do, and a file that cannot be written.
pub fn run(args: &GraphArgs, terminal: &Terminal) -> Result<(), Failure> {
    let format = format(args)?;
    let graph = program::checked(&args.program, terminal)?;
    let explanation = Executable::compile(&graph, &CompileOptions::default())?.explain();
    let drawing = Drawing::new(&explanation);
    let picture = match format {
        PictureFormat::Svg => svg::svg(drawing),
        PictureFormat::Dot => dot::dot(&drawing),
    };
    match &args.output {
        Some(file) => write(file, &picture),
        None => terminal.print(picture),
    }
}

/// As it is asked for, else by the name of the file.
fn format(args: &GraphArgs) -> Result<PictureFormat, Failure> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let Some(file) = &args.output else { return Ok(PictureFormat::Dot) };
    let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("svg") => Ok(PictureFormat::Svg),
        Some("dot" | "gv") => Ok(PictureFormat::Dot),
        _ => Err(Failure::usage(format!("{} has no ending that names a kind of picture", file.display()))
            .help("name the file .svg or .dot, or pass --format svg or --format dot")),
    }
}

/// Writes a file whole or not at all.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: &dyn std::fmt::Display| {
        Failure::data(format!("{} cannot be written: {error}", file.display()))
            .help("check that its folder is there and may be written to, and that the disk has room")
    };
    let mut temporary = tempfile::Builder::new();
    #[cfg(unix)]
    temporary.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut temporary = temporary.tempfile_in(folder).map_err(|error| failed(&error))?;
    temporary.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    temporary.persist(file).map_err(|error| failed(&error.error))?;
    Ok(())
}
