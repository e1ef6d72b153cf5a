//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// What `--help` prints.
pub const USAGE: &str = "\
Quantizes the colours of a picture by k-means, all of it in compiled broadcasting expressions.

usage: cargo run --release --example vector_quantization -- [OPTIONS]

  --image PATH    a PNG or JPEG picture; without it, a scene is drawn
  --colors K      how many colours to keep [default: 16]
  --whiten        give all three channels the same weight: mean 0, deviation 1
  --output DIR    where to write quantized.png and palette.png
                  [default: target/vector_quantization]
  --help          this text";

/// What is asked for.
pub enum Request {
    Help,
    Quantize(Args),
}

/// The options.
pub struct Args {
    pub image: Option<PathBuf>,
    pub colors: usize,
    pub whiten: bool,
    pub output: PathBuf,
}

/// Reads the arguments after the program's name. An option's value is the next argument, or follows a `=`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Request, String> {
    let mut args =
        Args { image: None, colors: 16, whiten: false, output: PathBuf::from("target/vector_quantization") };
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        let (option, attached) = split(&argument);
        let mut value = || {
            let value = attached.clone().or_else(|| arguments.next());
            value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{option} needs a value"))
        };
        match option.as_str() {
            "--image" => args.image = Some(value()?.into()),
            "--colors" => args.colors = colors(&value()?)?,
            "--output" => args.output = value()?.into(),
            "--whiten" if attached.is_none() => args.whiten = true,
            "--help" | "-h" if attached.is_none() => return Ok(Request::Help),
            "--whiten" | "--help" | "-h" => return Err(format!("{option} takes no value")),
            _ => return Err(format!("unknown argument {argument:?}; --help lists the options")),
        }
    }
    Ok(Request::Quantize(args))
}

/// `--option=value` in its two halves. A value need not be Unicode unless it is attached.
fn split(argument: &OsStr) -> (String, Option<OsString>) {
    match argument.to_str().and_then(|text| text.split_once('=')) {
        Some((option, value)) => (option.to_string(), Some(value.into())),
        None => (argument.to_string_lossy().into_owned(), None),
    }
}

fn colors(value: &OsStr) -> Result<usize, String> {
    match value.to_str().and_then(|text| text.parse().ok()) {
        Some(0) => Err("--colors must be at least 1".to_string()),
        Some(colors) => Ok(colors),
        None => Err(format!("--colors needs a whole number, not {value:?}")),
    }
}
