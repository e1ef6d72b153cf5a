//! The elements of inputs that come from a table.

use super::cells::{self, Cell, Reads};
use super::{HELP, Names, Table, records};
use crate::failure::Failure;
use crate::io::content::Reader;
use crate::io::memory::{Array, Memory, Owned};
use crate::io::source::{Rows, Source};
use broadloom::{ArrayView, DType};
use std::cell::RefCell;
use std::rc::Rc;

/// Files of at most this many bytes are read once for all inputs.
const SMALL: u64 = 32 << 20;

/// The cells of an input, and how they are read.
#[derive(Debug, Clone)]
struct Part {
    columns: Rc<[usize]>,
    reads: Reads,
    dtype: DType,
    names: Option<Names>,
}

/// Elements of an input.
#[derive(Debug, Clone)]
enum Numbers {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    fn of(dtype: DType) -> Numbers {
        match dtype {
            DType::I64 => Numbers::Ints(Vec::new()),
            _ => Numbers::Floats(Vec::new()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Numbers::Ints(ints) => ints.len(),
            Numbers::Floats(floats) => floats.len(),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Numbers::Ints(ints) => bytemuck::cast_slice(ints),
            Numbers::Floats(floats) => bytemuck::cast_slice(floats),
        }
    }

    /// Adds a cell; `None` if the file has changed since it was first read.
    fn push(&mut self, cell: Cell) {
        match (self, cell) {
            (Numbers::Ints(ints), Cell::Int(int)) => ints.push(int),
            (Numbers::Ints(ints), _) => ints.push(0),
            (Numbers::Floats(floats), Cell::Int(int)) => floats.push(int as f64),
            (Numbers::Floats(floats), Cell::Float(float)) => floats.push(float),
            (Numbers::Floats(floats), _) => floats.push(f64::NAN),
        }
    }

    /// Removes and returns the first `count`.
    fn split(&mut self, count: usize) -> Numbers {
        match self {
            Numbers::Ints(ints) => {
                let rest = ints.split_off(count.min(ints.len()));
                Numbers::Ints(std::mem::replace(ints, rest))
            }
            Numbers::Floats(floats) => {
                let rest = floats.split_off(count.min(floats.len()));
                Numbers::Floats(std::mem::replace(floats, rest))
            }
        }
    }
}

/// The inputs of a small file: each takes its elements once.
#[derive(Debug, Default)]
pub struct Loaded {
    parts: Vec<Part>,
    numbers: Vec<Option<Numbers>>,
}

/// A pass over a file, which feeds all inputs that come from it.
#[derive(Debug, Default)]
pub struct Reading {
    reader: Option<csv::Reader<Reader>>,
    record: csv::ByteRecord,
    /// Elements that were read and not taken yet.
    wanted: Vec<(Part, Numbers)>,
}

impl Reading {
    fn want(&mut self, part: &Part) -> usize {
        self.wanted.push((part.clone(), Numbers::of(part.dtype)));
        self.wanted.len() - 1
    }

    /// Reads further rows.
    fn fill(&mut self, table: &Table, rows: usize) -> Result<(), Failure> {
        let failed = |error: csv::Error| table.bad_rows(&error);
        if self.reader.is_none() {
            let mut reader = records(table.content.reader(0), table.delimiter);
            if table.has_header {
                reader.read_byte_record(&mut self.record).map_err(failed)?;
            }
            self.reader = Some(reader);
        }
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for _ in 0..rows {
            if !reader.read_byte_record(&mut self.record).map_err(failed)? {
                break;
            }
            for (part, numbers) in &mut self.wanted {
                for column in &*part.columns {
                    let text = cells::text(self.record.get(*column).unwrap_or_default());
                    numbers.push(match &part.names {
                        None => part.reads.read(&text, &table.missing),
                        Some(names) => {
                            let found = names.binary_search_by(|name| (**name).cmp(&*text));
                            found.map_or(Cell::Text, |code| Cell::Int(code as i64))
                        }
                    });
                }
            }
        }
        Ok(())
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
    /// Columns side by side as a matrix, or a single column.
    pub fn boxed(
        table: &Rc<Table>,
        columns: Vec<usize>,
        reads: Reads,
        dtype: DType,
        names: Option<Names>,
        is_matrix: bool,
    ) -> Box<Input> {
        let shape = if is_matrix { vec![table.rows, columns.len()] } else { vec![table.rows] };
        let part = Part { columns: columns.into(), reads, dtype, names };
        let mut loaded = table.loaded.borrow_mut();
        loaded.parts.push(part.clone());
        let (at, is_small) = (loaded.parts.len() - 1, table.content.length() <= SMALL);
        Box::new(Input { table: table.clone(), part, at, shape, is_small })
    }

    /// The number of elements in a row.
    fn width(&self) -> usize {
        self.shape.get(1).copied().unwrap_or(1)
    }

    fn array(&self, numbers: &Numbers) -> Result<Array, Failure> {
        let bytes = numbers.bytes();
        let mut shape = self.shape.clone();
        if let Some(rows) = shape.first_mut() {
            *rows = numbers.len() / self.width().max(1);
        }
        let failed = |what: String| self.table.content.wrong(&what).help(HELP);
        let owned = Owned::read(bytes, bytes.len()).map_err(|error| failed(error.to_string()))?;
        Array::new(self.part.dtype, shape, false, Memory::owned(owned), 0).map_err(failed)
    }

    fn changed(&self) -> Failure {
        self.table.content.wrong("it changed while it was being read").help("run again when it is complete")
    }

    /// The elements. A small file is read once for all its inputs.
    fn numbers(&self) -> Result<Numbers, Failure> {
        let mut loaded = self.table.loaded.borrow_mut();
        if let Some(numbers) = loaded.numbers.get_mut(self.at).and_then(Option::take) {
            return Ok(numbers);
        }
        let mut reading = Reading::default();
        let is_first = self.is_small && loaded.numbers.is_empty();
        if is_first {
            for part in &loaded.parts {
                reading.want(part);
            }
        } else {
            reading.want(&self.part);
        }
        reading.fill(&self.table, usize::MAX)?;
        let mut numbers: Vec<Option<Numbers>> =
            reading.wanted.into_iter().map(|(_, numbers)| Some(numbers)).collect();
        let own = numbers.get_mut(if is_first { self.at } else { 0 }).and_then(Option::take);
        if is_first {
            loaded.numbers = numbers;
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

    fn load(&self) -> Result<Array, Failure> {
        let array = self.array(&self.numbers()?)?;
        if array.shape() == self.shape { Ok(array) } else { Err(self.changed()) }
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        if self.is_small {
            return Ok(Box::new(self.load()?.into_rows()));
        }
        let mut current = self.table.reading.borrow_mut();
        if current.borrow().reader.is_some() {
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
        let (input, width) = (self.input, self.input.width().max(1));
        let count = count.min(self.left);
        let mut reading = self.reading.borrow_mut();
        let waiting = reading.wanted.get(self.at).map_or(0, |(_, numbers)| numbers.len()) / width;
        reading.fill(&input.table, count.saturating_sub(waiting))?;
        let numbers = reading.wanted.get_mut(self.at).map(|(_, numbers)| numbers.split(count * width));
        let array = input.array(&numbers.ok_or_else(|| input.changed())?)?;
        if array.shape().first() != Some(&count) {
            return Err(input.changed());
        }
        self.left -= count;
        self.chunk.insert(array).view().map_err(|what| input.table.content.wrong(&what))
    }
}
