//! Prints arrays as NumPy does.
//!
//! [`ArrayView`], [`Array`] and [`AnyArray`] implement `Display`: `{}` prints most elements of an
//! array of more than 1,000 as `...`, and `{:#}` prints all of them. The rules are those of `numpy.array2string` with its default
//! options (8 digits, 75 columns, three elements at each end), as of NumPy 2.4.
//!
//! ```
//! use broadloom::prelude::*;
//! use broadloom::AnyArray;
//! let halves: AnyArray = eval(&[1, 2, 300], |x| (x / 2.0).unsqueeze(0))?;
//! assert_eq!(halves.to_string(), "[[  0.5   1.  150. ]]");
//! let many: AnyArray = eval(&[0u8; 2000], |x| x + 1)?;
//! assert_eq!(many.to_string(), "[1 1 1 ... 1 1 1]");
//! assert_eq!(format!("{many:#}").matches('1').count(), 2000);
//! # Ok::<(), broadloom::EvalError>(())
//! ```

mod float;

use crate::array::{AnyArray, Array, ArrayView, IntoArrayView};
use broadloom_ir::dtype::{AnyNumber, Class, DType, Element, Scalar};
use float::Floats;
use std::fmt::{self, Write};

/// The maximum length of a line.
const WIDTH: usize = 75;
/// The maximum number of elements that are printed in full.
const THRESHOLD: usize = 1000;
/// The number of elements shown at each end of an axis of a larger array.
const EDGE: usize = 3;

/// Formats a value so that reading it gives the same value: for floats, the shortest such text.
///
/// ```
/// use broadloom::{Scalar, print::exact};
/// assert_eq!(exact(Scalar::F32(0.1)), "0.1");
/// assert_eq!((exact(Scalar::Bool(true)), exact(Scalar::F64(1e16))), ("True".into(), "1e+16".into()));
/// ```
pub fn exact(value: Scalar) -> String {
    match (value, value.number()) {
        (Scalar::Bool(true), _) => "True".to_owned(),
        (Scalar::Bool(false), _) => "False".to_owned(),
        (_, AnyNumber::Int(int)) => int.to_string(),
        (_, AnyNumber::Float(_)) => float::alone(value),
    }
}

/// Formats values of one dtype in one format, each as wide as the widest.
///
/// ```
/// use broadloom::{Scalar, print::column};
/// assert_eq!(column(&[Scalar::F64(0.5), Scalar::F64(-12.0)]), ["  0.5", "-12. "]);
/// assert_eq!(column(&[]), [""; 0]);
/// ```
pub fn column(values: &[Scalar]) -> Vec<String> {
    let Some(first) = values.first() else { return Vec::new() };
    let format = Format::of(first.dtype(), &mut |visit| values.iter().copied().for_each(visit));
    values.iter().map(|value| format.write(*value)).collect()
}

/// An array to print whose elements stand for something else, such as codes of texts: this prints what `word` returns for each.
///
/// ```
/// use broadloom::{ArrayView, Scalar, print::Words};
/// let codes = ArrayView::new(&[0u8, 1, 0, 0], &[2, 2])?;
/// let words = Words { array: &codes, word: &|code| if code == Scalar::U8(0) { "no" } else { "yes" }.to_owned() };
/// assert_eq!(words.to_string(), "[[no yes]\n [no no]]");
/// # Ok::<(), broadloom::LayoutError>(())
/// ```
pub struct Words<'a, 'd> {
    /// The array.
    pub array: &'a ArrayView<'d>,
    /// The text of an element.
    pub word: &'a dyn Fn(Scalar) -> String,
}

impl fmt::Debug for Words<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({:?})", self.array)
    }
}

impl fmt::Display for Words<'_, '_> {
    /// Prints the words as NumPy prints elements; all of them with `#`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self.array, f, &|_| Format::Words(self.word))
    }
}

impl fmt::Display for ArrayView<'_> {
    /// Prints the elements as NumPy does; all of them with `#`. Without axes it is the element alone, in the shortest text that
    /// reads as the same number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(value) = self.scalar_at(&[]) {
            return f.write_str(&exact(value));
        }
        print(self, f, &|printer| Format::of(self.dtype(), &mut |visit| printer.visit(0, visit)))
    }
}

impl<T: Element> fmt::Display for Array<T> {
    /// Prints the elements as NumPy does; all of them with `#`.
    ///
    /// ```
    /// let table = broadloom::Array::new(vec![1.0, -2.5, f64::NAN, 0.0], &[2, 2])?;
    /// assert_eq!(table.to_string(), "[[ 1.  -2.5]\n [ nan  0. ]]");
    /// # Ok::<(), broadloom::LayoutError>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.into_array_view(), f)
    }
}

impl fmt::Display for AnyArray {
    /// Prints the elements as NumPy does; all of them with `#`.
    ///
    /// ```
    /// use broadloom::{AnyArray, prelude::*};
    /// let sums: AnyArray = eval(&[1, 2, 3], |x| x.cumsum(0))?;
    /// assert_eq!(sums.to_string(), "[1 3 6]");
    /// # Ok::<(), broadloom::EvalError>(())
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.into_array_view(), f)
    }
}

/// Prints an array in a format that depends on the elements that are shown. Only one line is kept in memory.
fn print<'a>(
    array: &'a ArrayView<'_>,
    f: &mut fmt::Formatter<'_>,
    format: &dyn Fn(&mut Printer<'_, '_>) -> Format<'a>,
) -> fmt::Result {
    let shape = array.shape();
    let count = shape.iter().fold(1usize, |count, size| count.saturating_mul(*size));
    if count == 0 {
        return f.write_str("[]");
    }
    let is_summary = !f.alternate() && count > THRESHOLD;
    let mut printer = Printer { array, is_summary, index: vec![0; shape.len()], shape };
    let format = format(&mut printer);
    match array.scalar_at(&[]) {
        Some(value) => f.write_str(&format.write(value)),
        None => printer.axis(f, &format, 0, " ", WIDTH),
    }
}

/// The format of all elements of an array, with one width.
enum Format<'a> {
    Bool,
    Int { width: usize },
    Float(Floats),
    Words(&'a dyn Fn(Scalar) -> String),
}

/// Passes each element of an array to a function, in order.
type Elements<'a> = dyn FnMut(&mut dyn FnMut(Scalar)) + 'a;

impl Format<'_> {
    /// Returns the format that fits all values that `each` passes to a function.
    fn of(dtype: DType, each: &mut Elements<'_>) -> Self {
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
            Format::Words(word) => word(value),
        }
    }
}

struct Printer<'a, 'd> {
    array: &'a ArrayView<'d>,
    shape: Vec<usize>,
    is_summary: bool,
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
            self.array.scalar_at(&self.index).into_iter().for_each(visit);
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
    fn axis(
        &mut self,
        f: &mut fmt::Formatter<'_>,
        format: &Format<'_>,
        axis: usize,
        indent: &str,
        width: usize,
    ) -> fmt::Result {
        f.write_char('[')?;
        let left = self.shape.len() - axis;
        if left == 1 {
            self.row(f, format, indent, width)?;
        } else {
            let (between, inner) = ("\n".repeat(left - 1), format!("{indent} "));
            for (at, item) in self.items(axis).enumerate() {
                if at > 0 {
                    write!(f, "{between}{indent}")?;
                }
                match item {
                    Item::Dots => f.write_str("...")?,
                    Item::At(position) => {
                        self.at(axis, position);
                        self.axis(f, format, axis + 1, &inner, width.saturating_sub(1).max(1))?;
                    }
                }
            }
        }
        f.write_char(']')
    }

    /// Writes the elements of the last axis, in lines.
    fn row(
        &mut self,
        f: &mut fmt::Formatter<'_>,
        format: &Format<'_>,
        indent: &str,
        width: usize,
    ) -> fmt::Result {
        let axis = self.shape.len() - 1;
        let mut line = indent.to_owned();
        // The brackets replace the indent of the first line.
        let mut written = indent.len();
        for (at, item) in self.items(axis).enumerate() {
            let word = match item {
                Item::Dots => "...".to_owned(),
                Item::At(position) => {
                    self.at(axis, position);
                    self.array.scalar_at(&self.index).map_or(String::new(), |value| format.write(value))
                }
            };
            if at > 0 {
                line.push(' ');
            }
            let is_full = line.chars().count() + word.chars().count() > width - 1;
            if is_full && line.len() > indent.len() {
                writeln!(f, "{}", line.get(written..).unwrap_or_default().trim_end())?;
                line = indent.to_owned();
                written = 0;
            }
            line.push_str(&word);
        }
        f.write_str(line.get(written..).unwrap_or_default())
    }
}
