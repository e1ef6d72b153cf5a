//! Tables as text: .csv and .tsv.

use super::cells::{self, Cell, Reads};
use super::reading::{Elements, Part};
use super::{Bad, Described, Kind, Profile, TableOptions};
use crate::failure::Failure;
use crate::io::content::{Content, Reader};
use std::collections::BTreeSet;
use std::io::Read;
use std::rc::Rc;

/// The advice for a file that is not a table.
pub const HELP: &str = "every row needs as many cells as the first one; if another character separates cells, pass it with --delimiter";

/// The text of a table, and how it is read.
#[derive(Debug)]
pub struct Text {
    content: Rc<Content>,
    delimiter: u8,
    missing: Vec<String>,
    has_header: bool,
}

/// The rows of a file in its order.
fn records<R: Read>(from: R, delimiter: u8) -> csv::Reader<R> {
    csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(from)
}

impl Text {
    /// Finds out the columns of a table. The first row is a header if any of its cells is not a number; without a
    /// header, columns are named `c0`, `c1` and so on.
    ///
    /// # Errors
    /// Returns an error if rows have different numbers of cells, or the file cannot be read.
    pub fn open(
        content: &Rc<Content>,
        usual: u8,
        options: &TableOptions,
    ) -> Result<(Text, Described), Failure> {
        let mut text = Text {
            content: content.clone(),
            delimiter: options.delimiter.unwrap_or(usual),
            missing: options.missing.clone(),
            has_header: false,
        };
        let mut reader = records(content.reader(0), text.delimiter);
        let mut record = csv::ByteRecord::new();
        let (mut names, mut profiles, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut is_first = true;
        // The start of a last cell that continues over several lines.
        let mut over_lines = None;
        while reader.read_byte_record(&mut record).map_err(|error| text.bad_rows(&error))? {
            if std::mem::take(&mut is_first) {
                let mut cells: Vec<String> =
                    record.iter().map(|cell| cells::text(cell).into_owned()).collect();
                if let Some(first) = cells.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').to_owned();
                }
                profiles = vec![Profile::new(); cells.len()];
                let read = |cell: &String| Reads::Numbers.read(cell, &text.missing);
                text.has_header = cells.iter().any(|cell| read(cell) == Cell::Text);
                if text.has_header {
                    names = cells;
                    continue;
                }
                names = (0..cells.len()).map(|at| format!("c{at}")).collect();
            }
            rows += 1;
            let line = record.position().map_or(0, csv::Position::line);
            over_lines = record.iter().next_back().filter(|cell| cell.contains(&b'\n')).map(|_| line);
            for (profile, bytes) in profiles.iter_mut().zip(&record) {
                text.look_at(profile, Reads::Numbers, bytes, rows, line);
            }
        }
        match over_lines {
            Some(line) if !text.ends_with_quote()? => {
                let what = format!("the quotation mark in line {line} is never closed");
                Err(content
                    .wrong(&what)
                    .help("close it, or double it if it belongs to the text: `5\"\" long`"))
            }
            _ => {
                let kinds = profiles.into_iter().map(Kind::from).collect();
                Ok((text, Described { names, kinds, rows }))
            }
        }
    }

    /// Takes a cell into account for the kind of its column.
    fn look_at(&self, profile: &mut Profile, reads: Reads, bytes: &[u8], row: usize, line: u64) {
        let text = cells::text(bytes);
        let cell = reads.read(&text, &self.missing);
        profile.add(cell);
        if cell == Cell::Text && profile.bad.is_none() {
            profile.bad = Some(Bad { row, line, text: text.to_string() });
        }
    }

    /// Whether the last character of the file, ignoring line ends, is a quotation mark.
    fn ends_with_quote(&self) -> Result<bool, Failure> {
        /// The most line ends to skip at the end of a file.
        const TAIL: u64 = 64;
        let mut tail = Vec::new();
        let mut reader = self.content.reader(self.content.length().saturating_sub(TAIL));
        reader.read_to_end(&mut tail).map_err(|error| self.content.unreadable(&error))?;
        Ok(tail.trim_ascii_end().ends_with(b"\""))
    }

    fn bad_rows(&self, error: &csv::Error) -> Failure {
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = pos.as_ref().map_or(0, csv::Position::line);
                let cells = if *len == 1 { "1 cell" } else { &format!("{len} cells") };
                format!("line {line} has {cells}, but the first has {expected_len}")
            }
            _ => error.to_string(),
        };
        self.content.wrong(&what).help(HELP)
    }

    /// Calls a function for each row after the header, with its number and its record.
    fn for_each_row(&self, mut row: impl FnMut(usize, &csv::ByteRecord)) -> Result<(), Failure> {
        let mut pass = self.pass()?;
        let mut at = 0;
        while pass.reader.read_byte_record(&mut pass.record).map_err(|error| self.bad_rows(&error))? {
            at += 1;
            row(at, &pass.record);
        }
        Ok(())
    }

    /// The distinct texts of a column, or the first cell that is not valid UTF-8: different invalid bytes would become
    /// equal texts.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn texts(&self, column: usize) -> Result<Result<BTreeSet<Box<str>>, Bad>, Failure> {
        let mut texts: BTreeSet<Box<str>> = BTreeSet::new();
        let mut bad = None;
        self.for_each_row(|row, record| {
            let bytes = record.get(column).unwrap_or_default();
            let text = cells::text(bytes);
            if bad.is_none() && std::str::from_utf8(bytes).is_err() {
                let line = record.position().map_or(0, csv::Position::line);
                bad = Some(Bad { row, line, text: text.to_string() });
            }
            if !texts.contains(&*text) {
                texts.insert((&*text).into());
            }
        })?;
        Ok(match bad {
            Some(bad) => Err(bad),
            None => Ok(texts),
        })
    }

    /// The content of a column, read in one way.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn profile(&self, column: usize, reads: Reads) -> Result<Profile, Failure> {
        let mut profile = Profile::new();
        self.for_each_row(|row, record| {
            let line = record.position().map_or(0, csv::Position::line);
            self.look_at(&mut profile, reads, record.get(column).unwrap_or_default(), row, line);
        })?;
        Ok(profile)
    }

    /// Starts reading the rows after the header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn pass(&self) -> Result<Pass, Failure> {
        let mut reader = records(self.content.reader(0), self.delimiter);
        let mut record = csv::ByteRecord::new();
        if self.has_header {
            reader.read_byte_record(&mut record).map_err(|error| self.bad_rows(&error))?;
        }
        Ok(Pass { reader, record })
    }
}

/// A pass over the rows of a file.
#[derive(Debug)]
pub struct Pass {
    reader: csv::Reader<Reader>,
    record: csv::ByteRecord,
}

impl Pass {
    /// Reads further rows, at most `rows` or all that are left.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn fill(&mut self, text: &Text, rows: usize, wanted: &mut [(Part, Elements)]) -> Result<(), Failure> {
        for _ in 0..rows {
            if !self.reader.read_byte_record(&mut self.record).map_err(|error| text.bad_rows(&error))? {
                break;
            }
            for (part, elements) in wanted.iter_mut() {
                for column in &*part.columns {
                    let cell = cells::text(self.record.get(*column).unwrap_or_default());
                    elements.push(match &part.names {
                        None => part.reads.read(&cell, &text.missing),
                        Some(names) => {
                            let found = names.binary_search_by(|name| (**name).cmp(&*cell));
                            found.map_or(Cell::Text, |code| Cell::Int(code as i64))
                        }
                    });
                }
            }
        }
        Ok(())
    }
}
