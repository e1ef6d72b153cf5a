//! Inputs as written on the command line.

use super::content::STDIO;
use crate::failure::Failure;
use broadloom::{DType, Scalar};
use broadloom_ir::dtype::AnyNumber;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// An input.
#[derive(Debug, Clone)]
pub enum Argument {
    /// `x:f32[n, 3]`: a declaration without data.
    Declared { text: String },
    /// `x=3.5`
    Number { name: String, value: Scalar },
    /// `x=FILE`, `x=FILE:part`, or a file all of whose arrays are inputs by their own names.
    File { name: Option<String>, path: PathBuf, part: Option<String> },
}

impl Argument {
    /// Reads an argument. Paths may have any bytes; all else is UTF-8.
    ///
    /// # Errors
    /// Returns an error if a number does not fit its dtype.
    pub fn parse(argument: &OsStr) -> Result<Argument, Failure> {
        let bytes = argument.as_encoded_bytes();
        let file = |name: Option<String>, bytes: &[u8]| {
            let (path, part) = path_and_part(bytes);
            Ok(Argument::File { name, path, part })
        };
        let Some((name, mark, rest)) = named(bytes) else { return file(None, bytes) };
        let text = std::str::from_utf8(rest).ok();
        match (mark, text, argument.to_str()) {
            (b':', Some(rest), Some(text)) if is_declaration(rest, argument) => {
                Ok(Argument::Declared { text: text.to_owned() })
            }
            (b':', ..) => file(None, bytes),
            _ => match text.map(number).transpose()?.flatten() {
                Some(value) => Ok(Argument::Number { name, value }),
                None => file(Some(name), rest),
            },
        }
    }

    /// Whether it comes from standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self, Argument::File { path, .. } if path == Path::new(STDIO))
    }

    /// The name of the input, if it is given.
    pub fn name(&self) -> Option<&str> {
        match self {
            Argument::Declared { .. } => None,
            Argument::Number { name, .. } => Some(name),
            Argument::File { name, .. } => name.as_deref(),
        }
    }
}

/// Whether the text after a name and a colon is a declaration. A text that looks like one and is not a file is a
/// mistaken declaration.
fn is_declaration(rest: &str, argument: &OsStr) -> bool {
    let (dtype, sizes) = rest.split_at_checked(rest.find('[').unwrap_or(rest.len())).unwrap_or((rest, ""));
    let looks_so = !sizes.is_empty() && is_identifier(dtype.trim()) && !Path::new(argument).exists();
    looks_so || broadloom_text::dtype(dtype.trim()).is_some()
}

/// A name in quotes or an identifier, `=` or `:`, and the rest.
fn named(bytes: &[u8]) -> Option<(String, u8, &[u8])> {
    let is_quoted = bytes.starts_with(b"\"");
    let (name, rest) = match bytes.strip_prefix(b"\"") {
        Some(quoted) => {
            let end = quoted.iter().position(|byte| *byte == b'"')?;
            (quoted.get(..end)?, quoted.get(end + 1..)?)
        }
        None => bytes.split_at_checked(bytes.iter().position(|byte| matches!(byte, b'=' | b':'))?)?,
    };
    let (mark, rest) = rest.trim_ascii_start().split_first()?;
    let name = std::str::from_utf8(name).ok()?.trim();
    let is_name = matches!(mark, b'=' | b':') && (is_quoted || is_identifier(name));
    is_name.then(|| (name.to_owned(), *mark, rest))
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_alphanumeric())
}

/// The path given by a part of an argument.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        OsStr::from_bytes(bytes).into()
    }
    #[cfg(not(unix))]
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// The shortest prefix before a colon that is a file, because paths may contain colons too.
fn path_and_part(bytes: &[u8]) -> (PathBuf, Option<String>) {
    let is_input = |path: &Path| path == Path::new(STDIO) || path.exists() && !path.is_dir();
    let whole = path_of(bytes);
    if is_input(&whole) {
        return (whole, None);
    }
    let colons = bytes.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
    let mut parts = colons.filter_map(|at| {
        let part = std::str::from_utf8(bytes.get(at + 1..)?).ok()?;
        Some((path_of(bytes.get(..at)?), part.to_owned()))
    });
    let mut existing = parts.clone().filter(|(path, _)| is_input(path));
    match existing.next().or_else(|| parts.next_back()) {
        Some((path, part)) => (path, Some(part)),
        None => (whole, None),
    }
}

/// `3`, `3.5`, `true`, `f32:3.5`; `None` if it does not look like a number.
fn number(text: &str) -> Result<Option<Scalar>, Failure> {
    if let Some((dtype, value)) = text.split_once(':')
        && let Some(dtype) = broadloom_text::dtype(dtype)
    {
        let number = plain(value)
            .ok_or_else(|| Failure::usage(format!("`{value}` is not a number, in {text}")).help(EXAMPLES))?;
        let number = match number {
            Scalar::I64(0) if dtype.is_float() && value.starts_with('-') => Scalar::F64(-0.0),
            number => number,
        };
        let scalar = number.cast(dtype);
        let is_exact = match (number.number(), scalar.number()) {
            (AnyNumber::Int(before), AnyNumber::Int(after)) => before == after,
            (AnyNumber::Float(_), AnyNumber::Int(_)) => false,
            (_, AnyNumber::Float(_)) => true,
        };
        if !is_exact {
            return Err(Failure::usage(format!("{value} does not fit in {dtype}"))
                .help("give a number in the range of the dtype, or choose another dtype"));
        }
        return Ok(Some(scalar));
    }
    Ok(plain(text))
}

const EXAMPLES: &str = "write numbers like 3, 3.5, 1e-3, inf, nan, true and false";

/// A number with its default dtype.
fn plain(text: &str) -> Option<Scalar> {
    match text {
        "true" | "True" => return Some(Scalar::Bool(true)),
        "false" | "False" => return Some(Scalar::Bool(false)),
        _ => {}
    }
    if let Ok(int) = text.parse::<i64>() {
        return Some(Scalar::I64(int));
    }
    text.parse::<u64>().map(Scalar::U64).ok().or_else(|| text.parse().map(Scalar::F64).ok())
}

/// The dtype and shape of a raw file: `f32[1000, 3]`. One size may be `_`, which follows from the length of the file.
///
/// # Errors
/// Returns an error, in words, if the text is not a layout.
pub fn raw_layout(text: &str) -> Result<(DType, Vec<Option<usize>>), String> {
    let wrong = || format!("{text:?} is not a dtype with a shape, such as f32[1000, 3] or u8[_, 4]");
    let (dtype, sizes) = text.split_once('[').ok_or_else(wrong)?;
    let dtype = broadloom_text::dtype(dtype.trim()).ok_or_else(wrong)?;
    let sizes = sizes.trim_end().strip_suffix(']').ok_or_else(wrong)?;
    let mut shape = Vec::new();
    for size in sizes.split(',').map(str::trim).filter(|size| !size.is_empty()) {
        shape.push(match size {
            "_" => None,
            size => Some(size.parse().map_err(|_| wrong())?),
        });
    }
    match shape.iter().filter(|size| size.is_none()).count() {
        0 | 1 => Ok((dtype, shape)),
        _ => Err(format!("the length of the file can determine only one size of {text:?}")),
    }
}
