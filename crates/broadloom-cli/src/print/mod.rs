//! Prints results: tables of groups, and arrays of texts.

mod labelled;

use crate::io::table::Names;
use broadloom::print::Words;
use broadloom::{ArrayView, Scalar};
use broadloom_ir::dtype::AnyNumber;
pub use labelled::results as labelled;
use std::io::{self, Write};

/// The text at a position in a list.
pub fn text(code: Scalar, texts: &Names) -> &str {
    let at = match code.number() {
        AnyNumber::Int(int) => usize::try_from(int).ok(),
        AnyNumber::Float(_) => None,
    };
    at.and_then(|at| texts.get(at)).map_or("", |text| text)
}

/// Writes the array as NumPy prints it. Most elements of a large array become `...`, unless the whole array is wanted.
/// Elements of text print as the texts that they index.
pub fn array(
    out: &mut dyn Write,
    array: &ArrayView<'_>,
    is_whole: bool,
    texts: Option<&Names>,
) -> io::Result<()> {
    let Some(texts) = texts else {
        return if is_whole { write!(out, "{array:#}") } else { write!(out, "{array}") };
    };
    if let Some(code) = array.scalar_at(&[]) {
        return out.write_all(text(code, texts).as_bytes());
    }
    let words = Words { array, word: &|code| quoted(text(code, texts)) };
    if is_whole { write!(out, "{words:#}") } else { write!(out, "{words}") }
}

/// A text as Python prints it in a list.
fn quoted(text: &str) -> String {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let letters = text.chars().map(|letter| match letter {
        letter if letter == mark || letter == '\\' || letter.is_control() => {
            letter.escape_default().to_string()
        }
        letter => letter.to_string(),
    });
    format!("{mark}{}{mark}", letters.collect::<String>())
}
