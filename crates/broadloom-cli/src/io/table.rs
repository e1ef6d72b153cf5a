//! Tables as text: .csv and .tsv.
//!
//! A file is read once to learn what its columns are. The cells of a small one are kept; a large one is read again for
//! its rows, by all inputs that come from it together.

use super::content::{Content, Reader};
use super::memory::{Array, Memory, Owned};
use super::source::{Rows, Source};
use crate::failure::Failure;
use broadloom::{ArrayView, DType};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::rc::Rc;

/// Cells that mean that there is no number.
const MISSING: &[&str] = &["", "NA", "N/A", "nan", "NaN", "NAN", "null", "NULL", "None"];
/// Files up to this many bytes are kept in memory.
const SMALL: u64 = 32 << 20;
/// What to do about a table that is no table.
const HELP: &str =
    "rows have as many cells as the first one; what separates cells may be given by --delimiter";

/// What the cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Float,
    /// Some cell is no number.
    Text,
}

/// A column, or all of them as a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Column(usize),
    Matrix,
}

/// A table: the names and kinds of its columns, and how many rows it has.
#[derive(Debug)]
pub struct Table {
    content: Rc<Content>,
    delimiter: u8,
    names: Vec<String>,
    kinds: Vec<Kind>,
    has_header: bool,
    rows: usize,
    /// The columns of numbers of a small file.
    kept: Option<BTreeMap<Part, Numbers>>,
    /// Who reads a large file at present.
    reading: RefCell<Rc<RefCell<Reading>>>,
}

/// Elements of an input.
#[derive(Debug, Clone)]
enum Numbers {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
}

impl Numbers {
    fn dtype(&self) -> DType {
        match self {
            Numbers::Ints(_) => DType::I64,
            Numbers::Floats(_) => DType::F64,
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

    /// Adds a cell of a column of this kind; what has changed since the file was read first is nothing.
    fn push(&mut self, cell: &str) {
        match self {
            Numbers::Ints(ints) => ints.push(cell.parse().unwrap_or_default()),
            Numbers::Floats(floats) => floats.push(number(cell).unwrap_or(f64::NAN)),
        }
    }

    /// Takes the first `count` away.
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

/// A cell's value; NaN if it says that there is none.
fn number(cell: &str) -> Option<f64> {
    if MISSING.contains(&cell) { Some(f64::NAN) } else { cell.parse().ok() }
}

fn cell(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("?").trim()
}

/// What a column is with one cell more.
fn with_cell(kind: Kind, cell: &str) -> Kind {
    match kind {
        Kind::Int if cell.parse::<i64>().is_ok() => Kind::Int,
        Kind::Int | Kind::Float if number(cell).is_some() => Kind::Float,
        _ => Kind::Text,
    }
}

/// The rows of a file as they stand in it.
fn records<R: Read>(from: R, delimiter: u8) -> csv::Reader<R> {
    csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(from)
}

impl Table {
    /// Learns what a table is. Its first row is a header if not all of its cells are numbers; without one, columns are
    /// named `c0`, `c1` and so on.
    ///
    /// # Errors
    /// If rows have different numbers of cells, or the file cannot be read.
    pub fn open(content: &Rc<Content>, delimiter: u8) -> Result<Table, Failure> {
        let failed = |error: &csv::Error| content.wrong(&bad_rows(error)).help(HELP);
        let mut table = Table {
            content: content.clone(),
            delimiter,
            names: Vec::new(),
            kinds: Vec::new(),
            has_header: false,
            rows: 0,
            kept: None,
            reading: RefCell::default(),
        };
        let mut reader = records(content.reader(0), delimiter);
        let mut record = csv::ByteRecord::new();
        let mut is_first = true;
        while reader.read_byte_record(&mut record).map_err(|error| failed(&error))? {
            if std::mem::take(&mut is_first) {
                let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned());
                let mut cells: Vec<String> = cells.collect();
                if let Some(first) = cells.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').to_owned();
                }
                table.kinds = vec![Kind::Int; cells.len()];
                table.has_header = cells.iter().any(|cell| number(cell).is_none());
                if table.has_header {
                    table.names = cells;
                    continue;
                }
                table.names = (0..cells.len()).map(|at| format!("c{at}")).collect();
            }
            for (kind, bytes) in table.kinds.iter_mut().zip(&record) {
                *kind = with_cell(*kind, cell(bytes));
            }
            table.rows += 1;
        }
        if content.length() <= SMALL {
            table.kept = Some(table.read_all()?);
        }
        Ok(table)
    }

    /// Every input that can be made of the table.
    fn read_all(&self) -> Result<BTreeMap<Part, Numbers>, Failure> {
        let mut reading = Reading::default();
        for (at, kind) in self.kinds.iter().enumerate().filter(|(_, kind)| **kind != Kind::Text) {
            reading.wanted.insert(Part::Column(at), Numbers::of(*kind));
        }
        if !self.kinds.contains(&Kind::Text) {
            reading.wanted.insert(Part::Matrix, Numbers::Floats(Vec::new()));
        }
        reading.fill(self, usize::MAX)?;
        Ok(reading.wanted)
    }

    /// The names of the columns of numbers.
    pub fn numeric(&self) -> Vec<&str> {
        let columns = self.names.iter().zip(&self.kinds).filter(|(_, kind)| **kind != Kind::Text);
        columns.map(|(name, _)| name.as_str()).collect()
    }

    /// A column: `i64` if all its cells are integers, else `f64`.
    ///
    /// # Errors
    /// If there is none of this name, or several, or it is not of numbers, in words.
    pub fn column(self: &Rc<Table>, name: &str) -> Result<Box<dyn Source>, String> {
        let mut named =
            self.names.iter().zip(&self.kinds).enumerate().filter(|(_, (known, _))| *known == name);
        let numeric = self.numeric();
        match (named.next(), named.next()) {
            (None, _) => {
                let near = broadloom_text::nearest(name, numeric.iter().copied());
                let near = near.map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
                Err(format!("it has no column {name:?}{near}; columns of numbers are {numeric:?}"))
            }
            (Some(_), Some(_)) => Err(format!("it has several columns {name:?}")),
            (Some((_, (_, Kind::Text))), None) => Err(format!(
                "its column {name:?} is text, which is no input; columns of numbers are {numeric:?}"
            )),
            (Some((at, (_, kind))), None) => {
                let dtype = if *kind == Kind::Int { DType::I64 } else { DType::F64 };
                let (part, shape) = (Part::Column(at), vec![self.rows]);
                Ok(Box::new(Input { table: self.clone(), part, dtype, shape }))
            }
        }
    }

    /// The table as a matrix `f64[rows, columns]`.
    ///
    /// # Errors
    /// If some column is not of numbers, in words.
    pub fn matrix(self: &Rc<Table>) -> Result<Box<dyn Source>, String> {
        let text = self.names.iter().zip(&self.kinds).filter(|(_, kind)| **kind == Kind::Text);
        let text: Vec<&str> = text.map(|(name, _)| name.as_str()).collect();
        if !text.is_empty() {
            let numeric = self.numeric();
            return Err(format!(
                "its columns {text:?} are text, so that the table is no matrix; columns of numbers are {numeric:?}"
            ));
        }
        let shape = vec![self.rows, self.names.len()];
        Ok(Box::new(Input { table: self.clone(), part: Part::Matrix, dtype: DType::F64, shape }))
    }
}

impl Numbers {
    fn of(kind: Kind) -> Numbers {
        match kind {
            Kind::Int => Numbers::Ints(Vec::new()),
            Kind::Float | Kind::Text => Numbers::Floats(Vec::new()),
        }
    }
}

/// A pass over a file, which feeds all inputs that come from it.
#[derive(Debug, Default)]
struct Reading {
    reader: Option<csv::Reader<Reader>>,
    record: csv::ByteRecord,
    /// What was read and not taken yet.
    wanted: BTreeMap<Part, Numbers>,
}

impl Reading {
    /// Reads further rows.
    fn fill(&mut self, table: &Table, rows: usize) -> Result<(), Failure> {
        let failed = |error: &csv::Error| table.content.wrong(&bad_rows(error)).help(HELP);
        if self.reader.is_none() {
            let mut reader = records(table.content.reader(0), table.delimiter);
            if table.has_header {
                reader.read_byte_record(&mut self.record).map_err(|error| failed(&error))?;
            }
            self.reader = Some(reader);
        }
        let Some(reader) = &mut self.reader else { return Ok(()) };
        for _ in 0..rows {
            if !reader.read_byte_record(&mut self.record).map_err(|error| failed(&error))? {
                break;
            }
            for (part, numbers) in &mut self.wanted {
                match part {
                    Part::Column(at) => numbers.push(self.record.get(*at).map_or("", cell)),
                    Part::Matrix => self.record.iter().for_each(|bytes| numbers.push(cell(bytes))),
                }
            }
        }
        Ok(())
    }
}

/// A column or matrix of a table.
#[derive(Debug)]
struct Input {
    table: Rc<Table>,
    part: Part,
    dtype: DType,
    shape: Vec<usize>,
}

impl Input {
    /// How many elements a row has.
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
        Array::new(numbers.dtype(), shape, false, Memory::owned(owned), 0).map_err(failed)
    }

    fn changed(&self) -> Failure {
        self.table.content.wrong("it was changed while it was read").help("run again when it is complete")
    }
}

impl Source for Input {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let kept = self.table.kept.as_ref().and_then(|kept| kept.get(&self.part));
        let array = match kept {
            Some(numbers) => self.array(numbers)?,
            None => {
                let mut reading = Reading::default();
                let numbers = if self.dtype == DType::I64 { Kind::Int } else { Kind::Float };
                reading.wanted.insert(self.part, Numbers::of(numbers));
                reading.fill(&self.table, usize::MAX)?;
                self.array(reading.wanted.get(&self.part).unwrap_or(&Numbers::of(numbers)))?
            }
        };
        if array.shape() == self.shape { Ok(array) } else { Err(self.changed()) }
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        if self.table.kept.is_some() {
            return Ok(Box::new(self.load()?.into_rows()));
        }
        let mut current = self.table.reading.borrow_mut();
        if current.borrow().reader.is_some() {
            // A new pass.
            *current = Rc::default();
        }
        let kind = if self.dtype == DType::I64 { Kind::Int } else { Kind::Float };
        current.borrow_mut().wanted.insert(self.part, Numbers::of(kind));
        Ok(Box::new(Streamed { input: self, reading: current.clone(), chunk: None, left: self.table.rows }))
    }
}

/// An input that is read as its rows are asked for.
struct Streamed<'t> {
    input: &'t Input,
    reading: Rc<RefCell<Reading>>,
    chunk: Option<Array>,
    left: usize,
}

impl Rows for Streamed<'_> {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let (input, width) = (self.input, self.input.width().max(1));
        let count = count.min(self.left);
        let mut reading = self.reading.borrow_mut();
        let waiting = reading.wanted.get(&input.part).map_or(0, Numbers::len) / width;
        reading.fill(&input.table, count.saturating_sub(waiting))?;
        let numbers = reading.wanted.get_mut(&input.part).map(|numbers| numbers.split(count * width));
        let array = input.array(&numbers.ok_or_else(|| input.changed())?)?;
        if array.shape().first() != Some(&count) {
            return Err(input.changed());
        }
        self.left -= count;
        self.chunk.insert(array).view().map_err(|what| input.table.content.wrong(&what))
    }
}

fn bad_rows(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, but the first has {expected_len}")
        }
        _ => error.to_string(),
    }
}
