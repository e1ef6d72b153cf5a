//! Prints arrays as NumPy does, or exactly.
//!
//! The rules are those of `numpy.array2string` with its default options (8 digits, 75 columns, summarised above 1,000
//! elements), as of NumPy 2.4.

mod float;
mod labelled;
#[cfg(test)]
mod tests;

use broadloom::{ArrayView, DType, Scalar};
use broadloom_ir::dtype::{AnyNumber, Class};
use broadloom_ir::for_each_dtype;
use float::Floats;
pub use labelled::results as labelled;

/// Longest line.
const WIDTH: usize = 75;
/// Most elements that are printed one by one.
const THRESHOLD: usize = 1000;
/// Elements that are shown at each end of an axis of a larger array.
const EDGE: usize = 3;

/// The element at an index.
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

/// A value such that reading it gives the same value: of floats the shortest such text. Truth values are 1 and 0, so
/// that a column of them is one of numbers.
pub fn exact(value: Scalar) -> String {
    match value.number() {
        AnyNumber::Int(int) => int.to_string(),
        AnyNumber::Float(_) => float::alone(value),
    }
}

/// The array as NumPy prints it; a large one with `...` for most of it, unless it is wanted as a whole.
pub fn array(array: &ArrayView<'_>, is_whole: bool) -> String {
    let shape = array.shape();
    let count = shape.iter().fold(1usize, |count, size| count.saturating_mul(*size));
    if shape.is_empty() {
        return element(array, &[]).map_or(String::new(), |value| match value {
            Scalar::Bool(true) => "True".to_owned(),
            Scalar::Bool(false) => "False".to_owned(),
            value => exact(value),
        });
    }
    if count == 0 {
        return "[]".to_owned();
    }
    let mut printer = Printer {
        array,
        is_summary: !is_whole && count > THRESHOLD,
        format: Format::Bool,
        index: vec![0; shape.len()],
        shape,
    };
    let mut sample = Vec::new();
    printer.sample(0, &mut sample);
    printer.format = Format::of(array.dtype(), &sample);
    printer.axis(0, " ", WIDTH)
}

/// How all elements of an array are written, in one width.
#[derive(Debug)]
enum Format {
    Bool,
    Int { width: usize },
    Float(Floats),
}

impl Format {
    fn of(dtype: DType, sample: &[Scalar]) -> Format {
        match dtype.class() {
            Class::Bool => Format::Bool,
            Class::Int => {
                Format::Int { width: sample.iter().map(|value| exact(*value).len()).max().unwrap_or(0) }
            }
            Class::Float => Format::Float(Floats::of(dtype, sample)),
        }
    }

    fn write(&self, value: Scalar) -> String {
        match self {
            Format::Bool => match value.number() {
                AnyNumber::Int(0) => "False".to_owned(),
                _ => " True".to_owned(),
            },
            Format::Int { width } => format!("{:>width$}", exact(value)),
            Format::Float(floats) => floats.write(value),
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

/// What is shown along an axis.
enum Item {
    At(usize),
    Dots,
}

impl Printer<'_, '_> {
    fn size(&self, axis: usize) -> usize {
        self.shape.get(axis).copied().unwrap_or(0)
    }

    fn items(&self, axis: usize) -> Vec<Item> {
        let size = self.size(axis);
        if self.is_summary && 2 * EDGE < size {
            let (first, last) = (0..EDGE, size - EDGE..size);
            first.map(Item::At).chain([Item::Dots]).chain(last.map(Item::At)).collect()
        } else {
            (0..size).map(Item::At).collect()
        }
    }

    fn at(&mut self, axis: usize, position: usize) {
        if let Some(index) = self.index.get_mut(axis) {
            *index = position;
        }
    }

    /// The elements that are shown.
    fn sample(&mut self, axis: usize, into: &mut Vec<Scalar>) {
        if axis == self.shape.len() {
            into.extend(element(self.array, &self.index));
            return;
        }
        for item in self.items(axis) {
            if let Item::At(position) = item {
                self.at(axis, position);
                self.sample(axis + 1, into);
            }
        }
    }

    /// What stands between the brackets of an axis, with them.
    fn axis(&mut self, axis: usize, indent: &str, width: usize) -> String {
        let left = self.shape.len() - axis;
        let mut text = String::new();
        if left == 1 {
            let mut line = indent.to_owned();
            for (at, item) in self.items(axis).into_iter().enumerate() {
                let word = match item {
                    Item::Dots => "...".to_owned(),
                    Item::At(position) => {
                        self.at(axis, position);
                        element(self.array, &self.index)
                            .map_or(String::new(), |value| self.format.write(value))
                    }
                };
                if at > 0 {
                    line.push(' ');
                }
                let is_full = line.chars().count() + word.chars().count() > width - 1;
                if is_full && line.len() > indent.len() {
                    text.push_str(line.trim_end());
                    text.push('\n');
                    line = indent.to_owned();
                }
                line.push_str(&word);
            }
            text.push_str(&line);
        } else {
            let (between, inner) = ("\n".repeat(left - 1), format!("{indent} "));
            for (at, item) in self.items(axis).into_iter().enumerate() {
                if at > 0 {
                    text.push_str(&between);
                }
                text.push_str(indent);
                match item {
                    Item::Dots => text.push_str("..."),
                    Item::At(position) => {
                        self.at(axis, position);
                        text.push_str(&self.axis(axis + 1, &inner, width.saturating_sub(1).max(1)));
                    }
                }
            }
        }
        format!("[{}]", text.strip_prefix(indent).unwrap_or(&text))
    }
}
