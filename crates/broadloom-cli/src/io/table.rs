//! Tables as text: .csv and .tsv.

use super::memory::{Array, Memory, Owned};
use broadloom::DType;
use std::io::Read;

/// Cells that mean that there is no number.
const MISSING: &[&str] = &["", "NA", "N/A", "nan", "NaN", "NAN", "null", "NULL", "None"];

/// A table's columns.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    name: String,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    /// Some cell is no number.
    Text,
}

impl Cells {
    fn push(&mut self, cell: &[u8]) {
        let cell = std::str::from_utf8(cell).unwrap_or("?").trim();
        match self {
            Cells::Text => {}
            Cells::Ints(ints) => match cell.parse() {
                Ok(int) => ints.push(int),
                Err(_) => {
                    // A column of integers so far turns into one of floats.
                    let floats = ints.iter().map(|int| *int as f64).collect();
                    *self = Cells::Floats(floats);
                    self.push(cell.as_bytes());
                }
            },
            Cells::Floats(floats) => match number(cell) {
                Some(value) => floats.push(value),
                None => *self = Cells::Text,
            },
        }
    }
}

/// A cell's value; NaN if it says that there is none.
fn number(cell: &str) -> Option<f64> {
    if MISSING.contains(&cell) { Some(f64::NAN) } else { cell.parse().ok() }
}

impl Table {
    /// Reads a table. Its first row is a header if not all of its cells are numbers; without one, columns are named
    /// `c0`, `c1` and so on.
    ///
    /// # Errors
    /// If rows have different numbers of cells, or the text cannot be read, in words.
    pub fn read(from: impl Read, delimiter: u8) -> Result<Table, String> {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(from);
        let mut record = csv::ByteRecord::new();
        let mut table = Table { columns: Vec::new(), rows: 0 };
        let mut is_first = true;
        while reader.read_byte_record(&mut record).map_err(|error| wrong(&error))? {
            if std::mem::take(&mut is_first) {
                let mut cells: Vec<String> =
                    record.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
                if let Some(first) = cells.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').to_owned();
                }
                let is_header = cells.iter().any(|cell| number(cell).is_none());
                let named = |(at, cell): (usize, String)| if is_header { cell } else { format!("c{at}") };
                let names: Vec<String> = cells.iter().cloned().enumerate().map(named).collect();
                let column = |name| Column { name, cells: Cells::Ints(Vec::new()) };
                table.columns = names.into_iter().map(column).collect();
                if is_header {
                    continue;
                }
                for (column, cell) in table.columns.iter_mut().zip(&cells) {
                    column.cells.push(cell.as_bytes());
                }
            } else {
                for (column, cell) in table.columns.iter_mut().zip(&record) {
                    column.cells.push(cell);
                }
            }
            table.rows += 1;
        }
        Ok(table)
    }

    /// The names of the columns of numbers.
    pub fn numeric(&self) -> Vec<&str> {
        let columns = self.columns.iter().filter(|column| !matches!(column.cells, Cells::Text));
        columns.map(|column| column.name.as_str()).collect()
    }

    /// A column: `i64` if all its cells are integers, else `f64`.
    ///
    /// # Errors
    /// If there is none of this name, or several, or it is not of numbers, in words.
    pub fn column(&self, name: &str) -> Result<Array, String> {
        let mut named = self.columns.iter().filter(|column| column.name == name);
        let numeric = self.numeric();
        match (named.next(), named.next()) {
            (None, _) => {
                let near = broadloom_text::nearest(name, numeric.iter().copied());
                let near = near.map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
                Err(format!("it has no column {name:?}{near}; columns of numbers are {numeric:?}"))
            }
            (Some(_), Some(_)) => Err(format!("it has several columns {name:?}")),
            (Some(Column { cells, .. }), None) => match cells {
                Cells::Ints(ints) => array(DType::I64, vec![self.rows], bytemuck::cast_slice(ints)),
                Cells::Floats(floats) => array(DType::F64, vec![self.rows], bytemuck::cast_slice(floats)),
                Cells::Text => Err(format!(
                    "its column {name:?} is text, which is no input; columns of numbers are {numeric:?}"
                )),
            },
        }
    }

    /// The table as a matrix `f64[rows, columns]`.
    ///
    /// # Errors
    /// If some column is not of numbers, in words.
    pub fn matrix(&self) -> Result<Array, String> {
        let numeric = self.numeric();
        let text = self.columns.iter().filter(|column| matches!(column.cells, Cells::Text));
        let text: Vec<&str> = text.map(|column| column.name.as_str()).collect();
        if !text.is_empty() {
            return Err(format!(
                "its columns {text:?} are text, so that the table is no matrix; columns of numbers are {numeric:?}"
            ));
        }
        let mut elements: Vec<f64> = Vec::new();
        let count = self.rows.saturating_mul(self.columns.len());
        elements.try_reserve_exact(count).map_err(|_| "there is not enough memory".to_owned())?;
        for row in 0..self.rows {
            elements.extend(self.columns.iter().filter_map(|column| match &column.cells {
                Cells::Ints(ints) => ints.get(row).map(|int| *int as f64),
                Cells::Floats(floats) => floats.get(row).copied(),
                Cells::Text => None,
            }));
        }
        array(DType::F64, vec![self.rows, self.columns.len()], bytemuck::cast_slice(&elements))
    }
}

fn array(dtype: DType, shape: Vec<usize>, bytes: &[u8]) -> Result<Array, String> {
    let owned = Owned::read(bytes, bytes.len()).map_err(|error| error.to_string())?;
    Array::new(dtype, shape, false, Memory::owned(owned), 0)
}

fn wrong(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line} has {len} cells, but the first has {expected_len}")
        }
        _ => error.to_string(),
    }
}
