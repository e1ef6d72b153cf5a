//! Inputs as they are written on the command line.

use super::content::STDIO;
use crate::failure::Failure;
use broadloom::{DType, Scalar};
use broadloom_ir::dtype::AnyNumber;
use std::path::{Path, PathBuf};

/// An input.
#[derive(Debug, Clone)]
pub enum Argument {
    /// `x:f32[n, 3]`: what it is, without data.
    Declared { text: String },
    /// `x=3.5`
    Number { name: String, value: Scalar },
    /// `x=FILE`, `x=FILE:part`, or a file all of whose arrays are inputs by their own names.
    File { name: Option<String>, path: PathBuf, part: Option<String> },
}

impl Argument {
    /// Reads an argument.
    ///
    /// # Errors
    /// If a number is none of the dtype that it is said to have.
    pub fn parse(text: &str) -> Result<Argument, Failure> {
        let Some((name, mark, rest)) = named(text) else {
            let (path, part) = path_and_part(text);
            return Ok(Argument::File { name: None, path, part });
        };
        if mark == ':' {
            let (dtype, sizes) =
                rest.split_at_checked(rest.find('[').unwrap_or(rest.len())).unwrap_or((rest, ""));
            // What is no file and looks like a declaration has a mistake in it.
            let looks_so = !sizes.is_empty() && is_identifier(dtype.trim()) && !Path::new(text).exists();
            if looks_so || broadloom_text::dtype(dtype.trim()).is_some() {
                return Ok(Argument::Declared { text: text.to_owned() });
            }
            let (path, part) = path_and_part(text);
            return Ok(Argument::File { name: None, path, part });
        }
        match number(rest)? {
            Some(value) => Ok(Argument::Number { name, value }),
            None => {
                let (path, part) = path_and_part(rest);
                Ok(Argument::File { name: Some(name), path, part })
            }
        }
    }

    /// Whether it comes from standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self, Argument::File { path, .. } if path == Path::new(STDIO))
    }

    /// The name of the input, if it is written.
    pub fn name(&self) -> Option<&str> {
        match self {
            Argument::Declared { .. } => None,
            Argument::Number { name, .. } => Some(name),
            Argument::File { name, .. } => name.as_deref(),
        }
    }
}

/// A name in quotes or an identifier, `=` or `:`, and the rest.
fn named(text: &str) -> Option<(String, char, &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => text.split_at_checked(text.find(['=', ':'])?)?,
    };
    let mark = rest.trim_start().chars().next().filter(|mark| matches!(mark, '=' | ':'))?;
    let rest = rest.trim_start().get(1..)?;
    let name = name.trim();
    let is_name = text.starts_with('"') || is_identifier(name);
    is_name.then(|| (name.to_owned(), mark, rest))
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_alphanumeric())
}

/// The shortest beginning before a colon that is a file, so that paths may contain colons as well.
fn path_and_part(text: &str) -> (PathBuf, Option<String>) {
    let is_input = |path: &str| path == STDIO || Path::new(path).exists() && !Path::new(path).is_dir();
    if is_input(text) {
        return (text.into(), None);
    }
    let mut parts =
        text.match_indices(':').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
    let mut existing = parts.clone().filter(|(path, _)| is_input(path));
    match existing.next().or_else(|| parts.next_back()) {
        Some((path, part)) => (path.into(), Some(part.to_owned())),
        None => (text.into(), None),
    }
}

/// `3`, `3.5`, `true`, `f32:3.5`; nothing if it does not look like one.
fn number(text: &str) -> Result<Option<Scalar>, Failure> {
    if let Some((dtype, value)) = text.split_once(':')
        && let Some(dtype) = broadloom_text::dtype(dtype)
    {
        let number = plain(value)
            .ok_or_else(|| Failure::usage(format!("`{value}` is no number, in {text}")).help(EXAMPLES))?;
        let scalar = number.cast(dtype);
        let is_exact = match (number.number(), scalar.number()) {
            (AnyNumber::Int(before), AnyNumber::Int(after)) => before == after,
            (AnyNumber::Float(_), AnyNumber::Int(_)) => false,
            (_, AnyNumber::Float(_)) => true,
        };
        if !is_exact {
            return Err(Failure::usage(format!("{value} is no number of {dtype}"))
                .help("give a number in the range of the dtype, or another dtype"));
        }
        return Ok(Some(scalar));
    }
    Ok(plain(text))
}

const EXAMPLES: &str = "numbers are 3, 3.5, 1e-3, inf, nan, true and false";

/// A number with the dtype that it has by itself.
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

/// A dtype and a shape as raw files need them: `f32[1000, 3]`, of which one size may be `_`, to follow from the length.
///
/// # Errors
/// If it is none, in words.
pub fn raw_layout(text: &str) -> Result<(DType, Vec<Option<usize>>), String> {
    let wrong = || format!("{text:?} is no dtype with a shape, as in f32[1000, 3] or u8[_, 4]");
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
        _ => Err(format!("only one size of {text:?} can follow from the length of the file")),
    }
}
