//! Inputs: their descriptions and their elements.

use super::content::Content;
use super::memory::{Array, Memory, Owned, bytes_of, sizes, too_large};
use super::table::Names;
use crate::failure::Failure;
use broadloom::{ArrayView, DType};
use std::fmt::Debug;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

/// An input. Its dtype and shape are known before its elements are read.
pub trait Source: Debug {
    fn dtype(&self) -> DType;

    fn shape(&self) -> &[usize];

    /// The texts that its elements index, if it is a column of text.
    fn names(&self) -> Option<&Names> {
        None
    }

    /// Makes the elements of a column of text index these texts, which include its own.
    fn rename(&mut self, _names: &Names) {}

    /// The elements.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or not enough memory.
    fn load(&self) -> Result<Array, Failure>;

    /// The elements row by row, from the first. Call this on all inputs that are read together before reading any of
    /// them.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        Ok(Box::new(self.load()?.into_rows()))
    }
}

/// Rows of an input: parts along its leading axis.
pub trait Rows {
    /// The next `count` rows, or all that are left.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or not enough memory.
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure>;
}

/// Rows of elements in memory or in a mapped file.
struct ArrayRows {
    array: Array,
    at: usize,
}

impl Array {
    pub fn into_rows(self) -> impl Rows {
        ArrayRows { array: self, at: 0 }
    }
}

impl Rows for ArrayRows {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let length = self.array.shape().first().copied().unwrap_or(0);
        let (start, end) = (self.at, self.at.saturating_add(count).min(length));
        self.at = end;
        self.array.rows(start..end).map_err(Failure::data)
    }
}

/// Rows of elements in row-major order, from a reader.
pub struct ByteRows<R> {
    from: R,
    layout: Layout,
    /// Its name in errors.
    name: String,
    chunk: Option<Array>,
}

impl<R: Read> ByteRows<R> {
    pub fn new(from: R, layout: Layout, name: String) -> ByteRows<R> {
        ByteRows { from, layout, name, chunk: None }
    }
}

impl<R: Read> Rows for ByteRows<R> {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let failed = |what: String| Failure::data(format!("{}: {what}", self.name)).help(DAMAGED);
        let mut rows = self.layout.clone();
        if let (Some(rows), Some(left)) = (rows.shape.first_mut(), self.layout.shape.first_mut()) {
            *rows = count.min(*left);
            *left -= *rows;
        }
        let owned = rows.read(&mut self.from).map_err(|error| failed(error.to_string()))?;
        self.chunk.insert(rows.array(Memory::owned(owned), 0).map_err(failed)?).view().map_err(Failure::data)
    }
}

/// An input with its name.
#[derive(Debug)]
pub struct Opened {
    pub name: String,
    pub source: Box<dyn Source>,
    /// Whether its name comes from the command line, not from a file.
    pub is_named: bool,
    /// Warnings, each with what to type.
    pub warnings: Vec<[String; 2]>,
    /// How each column of a table was read, for people.
    pub columns: Vec<String>,
}

/// Elements in memory or in a mapped file.
impl Source for Array {
    fn dtype(&self) -> DType {
        Array::dtype(self)
    }

    fn shape(&self) -> &[usize] {
        Array::shape(self)
    }

    fn load(&self) -> Result<Array, Failure> {
        Ok(self.clone())
    }
}

/// The layout of elements in a file.
#[derive(Debug, Clone)]
pub struct Layout {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Whether the first axis is the innermost.
    pub is_fortran: bool,
    /// Whether the bytes of each element are in the other order than this machine's.
    pub is_swapped: bool,
}

impl Layout {
    /// In row-major order, and the byte order of this machine.
    pub fn plain(dtype: DType, shape: Vec<usize>) -> Layout {
        Layout { dtype, shape, is_fortran: false, is_swapped: false }
    }

    /// The number of bytes of the elements.
    ///
    /// # Errors
    /// Returns an error if there are more than a machine has, in words.
    pub fn length(&self) -> Result<usize, String> {
        bytes_of(self.dtype, &self.shape).ok_or_else(|| too_large(self.dtype, &self.shape))
    }

    /// The message for a file with too few bytes.
    pub fn lacks(&self, length: usize, available: u64) -> String {
        let shape = sizes(&self.shape);
        format!("{}{shape} needs {length} bytes of data, but there are {available}", self.dtype)
    }

    /// Reads the elements.
    ///
    /// # Errors
    /// Returns an error if there are fewer, or not enough memory.
    pub fn read(&self, from: impl Read) -> io::Result<Owned> {
        let length = self.length().map_err(io::Error::other)?;
        let owned = Owned::read(from, length)?;
        Ok(if self.is_swapped { owned.swapped(self.dtype) } else { owned })
    }

    /// An array whose elements start at an offset in memory.
    ///
    /// # Errors
    /// Returns the errors of [`Array::new`].
    pub fn array(&self, memory: Memory, offset: usize) -> Result<Array, String> {
        Array::new(self.dtype, self.shape.clone(), self.is_fortran, memory, offset)
    }
}

/// Elements in a file, after a header or alone. They are mapped; if the system refuses, or the byte order differs,
/// they are read.
#[derive(Debug)]
pub struct Elements {
    content: Rc<Content>,
    layout: Layout,
    offset: u64,
}

impl Elements {
    /// # Errors
    /// Returns an error, in words, if the file has fewer of them.
    pub fn new(content: Rc<Content>, layout: Layout, offset: u64) -> Result<Elements, String> {
        let length = layout.length()?;
        let available = content.length().saturating_sub(offset);
        match available < length as u64 {
            true => Err(layout.lacks(length, available)),
            false => Ok(Elements { content, layout, offset }),
        }
    }

    fn mapped(&self) -> Option<Result<Array, Failure>> {
        let offset = usize::try_from(self.offset).ok().filter(|_| !self.layout.is_swapped)?;
        let memory = self.content.map().ok()?;
        Some(self.layout.array(memory, offset).map_err(|what| self.content.wrong(&what)))
    }
}

impl Source for Elements {
    fn dtype(&self) -> DType {
        self.layout.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        if let Some(array) = self.mapped() {
            return array;
        }
        let from = self.content.reader(self.offset);
        let owned = self.layout.read(from).map_err(|error| self.content.unreadable(&error))?;
        self.layout.array(Memory::owned(owned), 0).map_err(|what| self.content.wrong(&what))
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        if let Some(array) = self.mapped() {
            return Ok(Box::new(array?.into_rows()));
        }
        if self.layout.is_fortran {
            return Ok(Box::new(self.load()?.into_rows()));
        }
        let from = BufReader::new(self.content.reader(self.offset));
        Ok(Box::new(ByteRows::new(from, self.layout.clone(), self.content.name())))
    }
}

/// Advice for a file whose content does not match its name.
pub const DAMAGED: &str = "it is damaged, or its name does not match its contents";
