//! Advice about errors of calls, for people at a shell. The library describes the errors themselves.

use super::Help;
use broadloom::{BindError, ChunkError, RunError};

fn sentence(sentence: &str) -> Vec<Help> {
    vec![(sentence.to_owned(), None)]
}

fn code(sentence: &str, code: String) -> Vec<Help> {
    vec![(sentence.to_owned(), Some(code))]
}

/// Arrays that do not fit. The library's own help on sizes is as good here.
pub fn bind(error: &BindError) -> Vec<Help> {
    match error {
        BindError::Missing { name, .. } => code("give it after the expression:", format!("{name}=FILE")),
        BindError::MissingSize { symbol, .. } => {
            code("no input determines it; give it:", format!("--size {symbol}=3"))
        }
        BindError::UnknownSize { .. } => sentence("correct the --size, or leave it out"),
        BindError::ImpossibleSize { .. } => sentence("give another one with --size"),
        BindError::DType { array, expected, found } => code(
            &format!("convert it in the program: declare {:?} as {found}, and write", array.name),
            format!("{}.astype({expected})", array.name),
        ),
        BindError::Size(mismatch) if mismatch.stated.is_some() => {
            sentence("give arrays of those sizes, or correct what the program assumes")
        }
        BindError::Rank { .. } => sentence("declare as many axes as it has, and reshape it in the program"),
        BindError::Obligation(_) => sentence("give arrays of other sizes, or change this expression"),
        BindError::EmptyTable(_) => sentence("give an array that has elements along this axis"),
        BindError::Arithmetic(_) | BindError::TooLarge { .. } => sentence("give smaller sizes"),
        BindError::Compile(_) => sentence(super::REPORT),
        _ => Vec::new(),
    }
}

/// Data that have no result.
pub fn run(error: &RunError) -> Vec<Help> {
    match error {
        RunError::IndexOutOfRange { size, .. } => {
            code("correct the indices, or keep them in range:", format!("clip(i, 0, {})", size - 1))
        }
        RunError::NoSuchSegment { .. } => sentence("correct the ids, or ask for more segments"),
        RunError::NegativeExponent { .. } => code("write", "x.astype(f64) ** y".to_owned()),
        RunError::NoBin { .. } => {
            code("give the range, or replace such elements:", "range=(0, 1)".to_owned())
        }
        RunError::Bounds { fault, .. } => sentence(fault.help()),
        RunError::Memory(_) => sentence("give smaller arrays, or compute parts of them"),
        RunError::UnknownKernel(_) => sentence(super::REPORT),
        _ => Vec::new(),
    }
}

/// Errors of computing in chunks.
pub fn chunk(error: &ChunkError) -> Vec<Help> {
    match error {
        ChunkError::Bind(error) => bind(error),
        ChunkError::Run(error) => run(error),
        ChunkError::Compile(_) => sentence(super::REPORT),
        ChunkError::Refused { .. } => {
            sentence("leave out --chunk: files are mapped, and only results need memory")
        }
        _ => Vec::new(),
    }
}
