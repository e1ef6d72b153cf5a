//! The elements of inputs that come from a table.

use super::cells::{Cell, Reads};
use super::{Names, Origin, Table, text};
use crate::failure::Failure;
use crate::io::columns;
use crate::io::memory::{Array, Memory, Owned};
use crate::io::source::{DAMAGED, Rows, Source};
use broadloom::{ArrayView, DType};
use std::cell::RefCell;
use std::rc::Rc;

/// Text files of at most this many bytes are read once for all inputs.
const SMALL: u64 = 32 << 20;

/// The cells of an input, and how they are read.
#[derive(Debug, Clone)]
pub struct Part {
    pub columns: Rc<[usize]>,
    pub reads: Reads,
    pub dtype: DType,
    /// The shape of a row.
    pub row: Vec<usize>,
    pub names: Option<Names>,
}

/// Elements of an input, as bytes of this machine.
#[derive(Debug, Clone)]
pub struct Elements {
    dtype: DType,
    bytes: Vec<u8>,
}

impl Elements {
    pub fn of(dtype: DType) -> Elements {
        Elements { dtype, bytes: Vec::new() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a cell as bool, i64 or f64. One that is not a number is a missing number; in columns of integers and of truth
    /// values there are none, unless the file has changed since it was first read.
    pub fn push(&mut self, cell: Cell) {
        let bytes = match (self.dtype, cell) {
            (DType::Bool, _) => return self.bytes.push(u8::from(cell == Cell::Truth(true))),
            (DType::I64, Cell::Int(int)) => int.to_ne_bytes(),
            (DType::I64, _) => [0; 8],
            (_, Cell::Int(int)) => (int as f64).to_ne_bytes(),
            (_, Cell::NegativeZero) => (-0.0f64).to_ne_bytes(),
            (_, Cell::Float(float)) => float.to_ne_bytes(),
            (_, Cell::Truth(truth)) => f64::from(u8::from(truth)).to_ne_bytes(),
            (_, Cell::Missing | Cell::Dressed | Cell::Text) => f64::NAN.to_ne_bytes(),
        };
        self.bytes.extend(bytes);
    }
}

/// For columns that are arrays in their files.
#[cfg(feature = "arrow")]
impl Elements {
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes some elements nan, counted from a position in bytes.
    pub fn set_nan(&mut self, start: usize, elements: std::ops::Range<usize>) {
        let size = self.dtype.size();
        let nan = broadloom::Scalar::F64(f64::NAN).cast(self.dtype).bits().to_ne_bytes();
        let range = start + elements.start * size..start + elements.end * size;
        for element in self.bytes.get_mut(range).unwrap_or_default().chunks_exact_mut(size) {
            element.copy_from_slice(nan.get(..size).unwrap_or_default());
        }
    }

    /// Adds columns side by side, in rows.
    pub fn interleave(&mut self, sides: &[Elements]) {
        let size = self.dtype.size();
        let mut sides: Vec<_> = sides.iter().map(|side| side.bytes.chunks_exact(size)).collect();
        let rows = sides.iter().map(ExactSizeIterator::len).min().unwrap_or(0);
        self.bytes.reserve(rows * sides.len() * size);
        for _ in 0..rows {
            for side in &mut sides {
                self.bytes.extend_from_slice(side.next().unwrap_or_default());
            }
        }
    }
}

impl Elements {
    fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Removes and returns the first `count`.
    fn split(&mut self, count: usize) -> Elements {
        let rest = self.bytes.split_off((count * self.dtype.size()).min(self.bytes.len()));
        Elements { dtype: self.dtype, bytes: std::mem::replace(&mut self.bytes, rest) }
    }
}

/// The inputs of a small file: each takes its elements once.
#[derive(Debug, Default)]
pub struct Loaded {
    parts: Vec<Part>,
    elements: Vec<Option<Elements>>,
}

#[derive(Debug)]
enum Pass {
    Text(text::Pass),
    Columns(columns::Pass),
}

/// A pass over a file, which feeds all inputs that come from it.
#[derive(Debug, Default)]
pub struct Reading {
    pass: Option<Pass>,
    /// Elements that were read and not taken yet.
    wanted: Vec<(Part, Elements)>,
}

impl Reading {
    fn want(&mut self, part: &Part) -> usize {
        self.wanted.push((part.clone(), Elements::of(part.dtype)));
        self.wanted.len() - 1
    }

    /// Reads further rows.
    fn fill(&mut self, table: &Table, rows: usize) -> Result<(), Failure> {
        let pass = match self.pass.take() {
            Some(pass) => pass,
            None => match &table.origin {
                Origin::Text(text) => Pass::Text(text.pass()?),
                Origin::Columns(columns) => {
                    let wanted = self.wanted.iter().flat_map(|(part, _)| part.columns.iter().copied());
                    Pass::Columns(columns.pass(wanted)?)
                }
            },
        };
        match (self.pass.insert(pass), &table.origin) {
            (Pass::Text(pass), Origin::Text(text)) => pass.fill(text, rows, &mut self.wanted),
            (Pass::Columns(pass), _) => pass.fill(rows, &mut self.wanted),
            (Pass::Text(_), Origin::Columns(_)) => Ok(()),
        }
    }
}

/// A column of a table, or several as a matrix.
#[derive(Debug)]
pub struct Input {
    table: Rc<Table>,
    part: Part,
    /// Its position among the inputs of the table.
    at: usize,
    shape: Vec<usize>,
    is_small: bool,
}

impl Input {
    pub fn boxed(table: &Rc<Table>, part: Part) -> Box<Input> {
        let shape = [&[table.rows], part.row.as_slice()].concat();
        let mut loaded = table.loaded.borrow_mut();
        loaded.parts.push(part.clone());
        // Columns are read one by one anyway.
        let is_small = matches!(table.origin, Origin::Text(_)) && table.content.length() <= SMALL;
        Box::new(Input { table: table.clone(), part, at: loaded.parts.len() - 1, shape, is_small })
    }

    /// The number of elements in a row.
    fn width(&self) -> usize {
        // A table without columns has no rows either.
        self.part.row.iter().product::<usize>().max(1)
    }

    fn array(&self, elements: &Elements) -> Result<Array, Failure> {
        let bytes = elements.bytes();
        let mut shape = self.shape.clone();
        if let Some(rows) = shape.first_mut() {
            *rows = elements.len() / self.width();
        }
        let failed = |what: String| self.table.content.wrong(&what);
        let owned = Owned::read(bytes, bytes.len()).map_err(|error| failed(error.to_string()))?;
        Array::new(self.part.dtype, shape, false, Memory::owned(owned), 0).map_err(failed)
    }

    /// The error of a file with another number of rows than it seemed to have.
    fn changed(&self) -> Failure {
        match self.table.origin {
            Origin::Text(_) => {
                let failure = self.table.content.wrong("it changed while it was being read");
                failure.help("run again when it is complete")
            }
            Origin::Columns(_) => {
                let what = format!("it does not have the {} rows that it claims to have", self.table.rows);
                self.table.content.wrong(&what).help(DAMAGED)
            }
        }
    }

    /// The elements. A small file is read once for all its inputs.
    fn elements(&self) -> Result<Elements, Failure> {
        let mut loaded = self.table.loaded.borrow_mut();
        if let Some(elements) = loaded.elements.get_mut(self.at).and_then(Option::take) {
            return Ok(elements);
        }
        let mut reading = Reading::default();
        let is_first = self.is_small && loaded.elements.is_empty();
        if is_first {
            for part in &loaded.parts {
                reading.want(part);
            }
        } else {
            reading.want(&self.part);
        }
        reading.fill(&self.table, usize::MAX)?;
        let mut elements: Vec<Option<Elements>> =
            reading.wanted.into_iter().map(|(_, elements)| Some(elements)).collect();
        let own = elements.get_mut(if is_first { self.at } else { 0 }).and_then(Option::take);
        if is_first {
            loaded.elements = elements;
        }
        own.ok_or_else(|| self.changed())
    }
}

impl Source for Input {
    fn dtype(&self) -> DType {
        self.part.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn names(&self) -> Option<&Names> {
        self.part.names.as_ref()
    }

    fn rename(&mut self, names: &Names) {
        self.part.names = Some(names.clone());
        if let Some(part) = self.table.loaded.borrow_mut().parts.get_mut(self.at) {
            part.names = Some(names.clone());
        }
    }

    fn load(&self) -> Result<Array, Failure> {
        let array = self.array(&self.elements()?)?;
        if array.shape() == self.shape { Ok(array) } else { Err(self.changed()) }
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        if self.is_small {
            return Ok(Box::new(self.load()?.into_rows()));
        }
        let mut current = self.table.reading.borrow_mut();
        if current.borrow().pass.is_some() {
            // Start a new pass.
            *current = Rc::default();
        }
        let at = current.borrow_mut().want(&self.part);
        Ok(Box::new(Streamed {
            input: self,
            reading: current.clone(),
            at,
            chunk: None,
            left: self.table.rows,
        }))
    }
}

/// An input whose rows are read on demand.
struct Streamed<'t> {
    input: &'t Input,
    reading: Rc<RefCell<Reading>>,
    /// Its position among the inputs of the pass.
    at: usize,
    chunk: Option<Array>,
    left: usize,
}

impl Rows for Streamed<'_> {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let (input, width) = (self.input, self.input.width());
        let count = count.min(self.left);
        let mut reading = self.reading.borrow_mut();
        let waiting = reading.wanted.get(self.at).map_or(0, |(_, elements)| elements.len()) / width;
        reading.fill(&input.table, count.saturating_sub(waiting))?;
        let elements = reading.wanted.get_mut(self.at).map(|(_, elements)| elements.split(count * width));
        let array = input.array(&elements.ok_or_else(|| input.changed())?)?;
        if array.shape().first() != Some(&count) {
            return Err(input.changed());
        }
        self.left -= count;
        self.chunk.insert(array).view().map_err(|what| input.table.content.wrong(&what))
    }
}
