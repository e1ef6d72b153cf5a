//! Rows, a batch of columns at a time: from a file, or made.

use crate::common::{Error, uniform_numbers};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The columns of some rows.
pub struct Batch {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
    /// The number of each row's group.
    pub ids: Vec<i64>,
}

impl Batch {
    fn new(names: &[String]) -> Batch {
        Batch { names: names.to_vec(), columns: vec![Vec::new(); names.len()], ids: Vec::new() }
    }

    /// A column by its name, if it exists.
    pub fn column(&self, name: &str) -> &[f64] {
        let position = self.names.iter().position(|known| known == name);
        position.map_or(&[], |position| &self.columns[position])
    }
}

/// A source of rows, which can be read any number of times.
pub struct Source {
    path: Option<PathBuf>,
    /// Of made rows.
    rows: usize,
    /// The columns of numbers, which are all but the groups'.
    columns: Vec<String>,
    /// Which field of a file's rows the groups are.
    by: usize,
}

/// Takes a batch; says whether to go on.
type Sink<'s> = &'s mut dyn FnMut(Batch) -> bool;

const STATIONS: [&str; 8] = ["Aberdeen", "Bergen", "Cork", "Delft", "Esbjerg", "Faro", "Gdansk", "Hamburg"];

impl Source {
    /// Hours of weather at some stations.
    pub fn made(rows: usize, by: &str) -> Result<Source, Error> {
        if by != "station" {
            return Err(format!("made weather is grouped by \"station\", not {by:?}").into());
        }
        let columns = ["celsius", "dew", "wind"].map(str::to_string).to_vec();
        Ok(Source { path: None, rows, columns, by: 0 })
    }

    /// A file of comma-separated values with a header.
    pub fn open(path: &Path, by: &str) -> Result<Source, Error> {
        let header = reader(path)?.headers().map_err(|error| failed(path, &error))?.clone();
        let names: Vec<String> = header.iter().map(str::to_string).collect();
        let Some(position) = names.iter().position(|name| name == by) else {
            return Err(
                failed(path, &format!("there is no column {by:?} to group by; there are {names:?}")).into()
            );
        };
        let columns = names.into_iter().filter(|name| name != by).collect();
        Ok(Source { path: Some(path.to_owned()), rows: 0, columns, by: position })
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// All rows in batches of `chunk`, the last of which is shorter, and the names of at most `most` groups.
    pub fn read(&self, chunk: usize, most: usize, sink: Sink<'_>) -> Result<Vec<String>, String> {
        match &self.path {
            Some(path) => self.parse(path, chunk, most, sink),
            None => Ok(self.make(chunk, sink)),
        }
    }

    fn parse(&self, path: &Path, chunk: usize, most: usize, sink: Sink<'_>) -> Result<Vec<String>, String> {
        let (mut names, mut numbers) = (Vec::new(), HashMap::new());
        let mut batch = Batch::new(&self.columns);
        let mut record = csv::StringRecord::new();
        let mut reader = reader(path)?;
        while reader.read_record(&mut record).map_err(|error| failed(path, &error))? {
            let group = record.get(self.by).unwrap_or_default();
            let id = match numbers.get(group) {
                Some(id) => *id,
                None if names.len() == most => {
                    return Err(failed(path, &format!("more than {most} groups")));
                }
                None => {
                    numbers.insert(group.to_string(), names.len() as i64);
                    names.push(group.to_string());
                    names.len() as i64 - 1
                }
            };
            batch.ids.push(id);
            let fields = record.iter().enumerate().filter(|(position, _)| *position != self.by);
            for (column, (_, field)) in batch.columns.iter_mut().zip(fields) {
                // A cell that is not a number counts as missing.
                column.push(field.trim().parse().unwrap_or(f64::NAN));
            }
            if batch.ids.len() == chunk && !sink(std::mem::replace(&mut batch, Batch::new(&self.columns))) {
                return Ok(names);
            }
        }
        if names.is_empty() {
            return Err(failed(path, &"it has no rows"));
        }
        if !batch.ids.is_empty() {
            sink(batch);
        }
        Ok(names)
    }

    fn make(&self, chunk: usize, sink: Sink<'_>) -> Vec<String> {
        let mut uniform = uniform_numbers(0x9e1e).map(f64::from);
        let mut next = || uniform.next().unwrap_or_default();
        let mut left = self.rows;
        while left > 0 {
            let mut batch = Batch::new(&self.columns);
            for _ in 0..chunk.min(left) {
                let station = (next() * STATIONS.len() as f64) as usize % STATIONS.len();
                let celsius = 5.0 + 2.0 * station as f64 + 14.0 * next();
                batch.ids.push(station as i64);
                let row = [celsius, celsius - 12.0 * next(), 15.0 * next() * next()];
                batch.columns.iter_mut().zip(row).for_each(|(column, number)| column.push(number));
            }
            left -= batch.ids.len();
            if !sink(batch) {
                break;
            }
        }
        STATIONS.map(str::to_string).to_vec()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}", path.display()),
            None => write!(f, "{} rows of made weather", crate::common::report::grouped(self.rows)),
        }
    }
}

fn reader(path: &Path) -> Result<csv::Reader<std::fs::File>, String> {
    let reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path);
    reader.map_err(|error| failed(path, &error))
}

fn failed(path: &Path, reason: &dyn fmt::Display) -> String {
    format!("cannot read {}: {reason}", path.display())
}
