//! Prints arrays as NumPy does, or exactly.
//!
//! The rules are those of `numpy.array2string` with its default options (8 digits, 75 columns, summarised above 1,000
//! elements), as of NumPy 2.4.

mod float;
mod labelled;
#[cfg(test)]
mod tests;

use crate::io::table::Names;
use broadloom::{ArrayView, DType, Scalar};
use broadloom_ir::dtype::{AnyNumber, Class};
use broadloom_ir::for_each_dtype;
use float::Floats;
pub use labelled::results as labelled;
use std::io::{self, Write};

/// The maximum length of a line.
const WIDTH: usize = 75;
/// The maximum number of elements that are printed in full.
const THRESHOLD: usize = 1000;
/// The number of elements shown at each end of an axis of a larger array.
const EDGE: usize = 3;

/// Returns the element at an index.
pub fn element(array: &ArrayView<'_>, index: &[usize]) -> Option<Scalar> {
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(DType::$variant => array.get::<$rust>(index).map(Scalar::$variant),)*
            }
        };
    }
    for_each_dtype!(typed)
}

/// Formats a value so that reading it gives the same value: for floats, the shortest such text.
pub fn exact(value: Scalar) -> String {
    match (value, value.number()) {
        (Scalar::Bool(true), _) => "True".to_owned(),
        (Scalar::Bool(false), _) => "False".to_owned(),
        (_, AnyNumber::Int(int)) => int.to_string(),
        (_, AnyNumber::Float(_)) => float::alone(value),
    }
}

/// The text at a position in a list.
pub fn text(code: Scalar, texts: &Names) -> &str {
    let at = match code.number() {
        AnyNumber::Int(int) => usize::try_from(int).ok(),
        AnyNumber::Float(_) => None,
    };
    at.and_then(|at| texts.get(at)).map_or("", |text| text)
}

/// Writes the array as NumPy prints it. Most elements of a large array become `...`, unless the whole array is wanted.
/// Only one line is kept in memory.
/// Elements of text print as the texts that they index.
pub fn array(
    out: &mut dyn Write,
    array: &ArrayView<'_>,
    is_whole: bool,
    texts: Option<&Names>,
) -> io::Result<()> {
    let shape = array.shape();
    let count = shape.iter().fold(1usize, |count, size| count.saturating_mul(*size));
    if shape.is_empty() {
        return match element(array, &[]) {
            Some(code) if let Some(texts) = texts => out.write_all(text(code, texts).as_bytes()),
            value => out.write_all(value.map(exact).unwrap_or_default().as_bytes()),
        };
    }
    if count == 0 {
        return out.write_all(b"[]");
    }
    let mut printer = Printer {
        array,
        is_summary: !is_whole && count > THRESHOLD,
        format: Format::Bool,
        index: vec![0; shape.len()],
        shape,
    };
    printer.format = match texts {
        Some(texts) => Format::Text(texts.clone()),
        None => Format::of(array.dtype(), &mut |visit| printer.visit(0, visit)),
    };
    printer.axis(out, 0, " ", WIDTH)
}

/// The format of all elements of an array, with one width.
#[derive(Debug)]
enum Format {
    Bool,
    Int {
        width: usize,
    },
    Float(Floats),
    /// Positions of texts.
    Text(Names),
}

/// Passes each element of an array to a function, in order.
type Elements<'a> = dyn FnMut(&mut dyn FnMut(Scalar)) + 'a;

impl Format {
    /// Returns the format that fits all values that `each` passes to a function.
    fn of(dtype: DType, each: &mut Elements<'_>) -> Format {
        match dtype.class() {
            Class::Bool => Format::Bool,
            Class::Int => {
                let (mut least, mut greatest) = (0, 0);
                each(&mut |value| {
                    if let AnyNumber::Int(int) = value.number() {
                        (least, greatest) = (int.min(least), int.max(greatest));
                    }
                });
                Format::Int { width: least.to_string().len().max(greatest.to_string().len()) }
            }
            Class::Float => Format::Float(Floats::of(dtype, each)),
        }
    }

    fn write(&self, value: Scalar) -> String {
        match self {
            Format::Bool => format!("{:>5}", exact(value)),
            Format::Int { width } => format!("{:>width$}", exact(value)),
            Format::Float(floats) => floats.write(value),
            Format::Text(texts) => {
                let text = text(value, texts);
                let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
                let letters = text.chars().map(|letter| match letter {
                    letter if letter == mark || letter == '\\' || letter.is_control() => {
                        letter.escape_default().to_string()
                    }
                    letter => letter.to_string(),
                });
                format!("{mark}{}{mark}", letters.collect::<String>())
            }
        }
    }
}

struct Printer<'a, 'd> {
    array: &'a ArrayView<'d>,
    shape: Vec<usize>,
    is_summary: bool,
    format: Format,
    index: Vec<usize>,
}

/// A part of an axis that is shown: an element, or the dots in place of several.
enum Item {
    At(usize),
    Dots,
}

impl Printer<'_, '_> {
    fn items(&self, axis: usize) -> impl Iterator<Item = Item> + use<> {
        let size = self.shape.get(axis).copied().unwrap_or(0);
        let is_cut = self.is_summary && 2 * EDGE < size;
        let (first, last) = if is_cut { (EDGE, size - EDGE) } else { (size, size) };
        (0..first).map(Item::At).chain(is_cut.then_some(Item::Dots)).chain((last..size).map(Item::At))
    }

    fn at(&mut self, axis: usize, position: usize) {
        if let Some(index) = self.index.get_mut(axis) {
            *index = position;
        }
    }

    /// Passes the elements that are shown to a function.
    fn visit(&mut self, axis: usize, visit: &mut dyn FnMut(Scalar)) {
        if axis == self.shape.len() {
            element(self.array, &self.index).into_iter().for_each(visit);
            return;
        }
        for item in self.items(axis) {
            if let Item::At(position) = item {
                self.at(axis, position);
                self.visit(axis + 1, visit);
            }
        }
    }

    /// Writes an axis with its brackets.
    fn axis(&mut self, out: &mut dyn Write, axis: usize, indent: &str, width: usize) -> io::Result<()> {
        out.write_all(b"[")?;
        let left = self.shape.len() - axis;
        if left == 1 {
            self.row(out, indent, width)?;
        } else {
            let (between, inner) = ("\n".repeat(left - 1), format!("{indent} "));
            for (at, item) in self.items(axis).enumerate() {
                if at > 0 {
                    write!(out, "{between}{indent}")?;
                }
                match item {
                    Item::Dots => out.write_all(b"...")?,
                    Item::At(position) => {
                        self.at(axis, position);
                        self.axis(out, axis + 1, &inner, width.saturating_sub(1).max(1))?;
                    }
                }
            }
        }
        out.write_all(b"]")
    }

    /// Writes the elements of the last axis, in lines.
    fn row(&mut self, out: &mut dyn Write, indent: &str, width: usize) -> io::Result<()> {
        let axis = self.shape.len() - 1;
        let mut line = indent.to_owned();
        // The brackets replace the indent of the first line.
        let mut written = indent.len();
        for (at, item) in self.items(axis).enumerate() {
            let word = match item {
                Item::Dots => "...".to_owned(),
                Item::At(position) => {
                    self.at(axis, position);
                    element(self.array, &self.index).map_or(String::new(), |value| self.format.write(value))
                }
            };
            if at > 0 {
                line.push(' ');
            }
            let is_full = line.chars().count() + word.chars().count() > width - 1;
            if is_full && line.len() > indent.len() {
                writeln!(out, "{}", line.get(written..).unwrap_or_default().trim_end())?;
                line = indent.to_owned();
                written = 0;
            }
            line.push_str(&word);
        }
        out.write_all(line.get(written..).unwrap_or_default().as_bytes())
    }
}
