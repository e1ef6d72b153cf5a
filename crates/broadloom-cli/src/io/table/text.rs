//! Tables as text: .csv and .tsv.

use super::cells::{self, Cell, Reads};
use super::numbers::Spelling;
use super::quotes::{Misquoted, Quotes};
use super::reading::{Elements, Part};
use super::{Described, Found, Kind, Profile, TableOptions};
use crate::failure::Failure;
use crate::io::content::{Content, Reader};
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

/// The advice for a file that is not a table.
pub const HELP: &str = "every row needs as many cells as the first one; if another character separates cells, pass it with --delimiter";
/// The mark of UTF-8 with which some programs start files. It is not part of the first cell.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
/// The marks of UTF-16 in either order, in which some programs for tables write text.
const WIDE: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];

/// The text of a table, and how it is read.
#[derive(Debug)]
pub struct Text {
    content: Rc<Content>,
    delimiter: u8,
    spelling: Spelling,
    /// The place of the first cell.
    start: u64,
    has_header: bool,
    /// The first empty line between rows of one column, where it may be meant as a cell.
    empty_line: Option<u64>,
}

/// The rows of a file in its order.
type Records = csv::Reader<Quotes<Reader>>;

impl Text {
    /// Finds out the columns of a table. The first row is a header if any of its cells is text; without a header,
    /// columns are named `c0`, `c1` and so on.
    ///
    /// # Errors
    /// Returns an error if rows have different numbers of cells, quotation marks are not closed, or the file cannot be
    /// read.
    pub fn open(
        content: &Rc<Content>,
        usual: u8,
        options: &TableOptions,
    ) -> Result<(Text, Described), Failure> {
        let mut beginning = Vec::new();
        let read = content.reader(0).take(MARK.len() as u64).read_to_end(&mut beginning);
        read.map_err(|error| content.unreadable(&error))?;
        if WIDE.iter().any(|mark| beginning.starts_with(mark)) {
            let code = format!("iconv -f UTF-16 -t UTF-8 {}", content.path().display());
            return Err(content.wrong("it is text in UTF-16").help_code("convert the file:", code));
        }
        let mut text = Text {
            content: content.clone(),
            delimiter: options.delimiter.unwrap_or(usual),
            spelling: options.spelling.clone(),
            start: if beginning == MARK { MARK.len() as u64 } else { 0 },
            has_header: false,
            empty_line: None,
        };
        let mut reader = text.records();
        let mut record = csv::ByteRecord::new();
        let (mut names, mut profiles, mut rows) = (Vec::new(), Vec::new(), 0);
        let mut is_first = true;
        while reader.read_byte_record(&mut record).map_err(|error| text.bad_rows(&error))? {
            if std::mem::take(&mut is_first) {
                let cells: Vec<String> = record.iter().map(|cell| cells::text(cell).into_owned()).collect();
                profiles = vec![Profile::new(); cells.len()];
                let read = |cell: &String| Reads::Numbers.read(cell, &text.spelling);
                text.has_header = cells.iter().any(|cell| read(cell) == Cell::Text);
                if text.has_header {
                    names = cells;
                    continue;
                }
                names = (0..cells.len()).map(|at| format!("c{at}")).collect();
            }
            rows += 1;
            let at = text.place(record.position());
            for (profile, bytes) in profiles.iter_mut().zip(&record) {
                text.look_at(profile, Reads::Numbers, bytes, rows, at);
            }
        }
        let kinds = profiles.into_iter().map(Kind::from).collect();
        if names.len() == 1 {
            text.empty_line = text.find_empty_line().map_err(|error| content.unreadable(&error))?;
        }
        // pandas and R write the index of rows as a first column without a name.
        let index = if names.first().is_some_and(String::is_empty) { vec![0] } else { Vec::new() };
        Ok((text, Described { names, kinds, rows, index }))
    }

    /// The first empty line that has others before and behind it; none is looked for in a text with quoted cells, which may
    /// have such lines.
    fn find_empty_line(&self) -> io::Result<Option<u64>> {
        let (mut empty, mut between, mut has_rows) = (None, None, false);
        for (number, line) in (1..).zip(BufReader::new(self.content.reader(self.start)).split(b'\n')) {
            let line = line?;
            if line.contains(&b'"') {
                return Ok(None);
            }
            match line.as_slice() {
                b"" | b"\r" if has_rows => empty = empty.or(Some(number)),
                b"" | b"\r" => {}
                _ => (between, has_rows) = (empty, true),
            }
        }
        Ok(between)
    }

    /// The warning of an empty line, if there is one that may be meant as a cell.
    pub fn warning(&self) -> Option<[String; 2]> {
        let line = self.empty_line?;
        let what = format!("{}: line {line} is empty, and not a row", self.content.name());
        Some([what, "if a cell is missing there, write NA".to_owned()])
    }

    fn records(&self) -> Records {
        let bytes = Quotes::new(self.content.reader(self.start), self.delimiter);
        csv::ReaderBuilder::new().has_headers(false).delimiter(self.delimiter).from_reader(bytes)
    }

    /// Takes a cell into account for the kind of its column.
    fn look_at(&self, profile: &mut Profile, reads: Reads, bytes: &[u8], row: usize, at: u64) {
        let text = cells::text(bytes);
        let cell = reads.read(&text, &self.spelling);
        profile.add(cell, &text, row, at);
    }

    /// The place of a row in the file.
    fn place(&self, of: Option<&csv::Position>) -> u64 {
        self.start + of.map_or(0, csv::Position::byte)
    }

    fn bad_rows(&self, error: &csv::Error) -> Failure {
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
                let line = self.content.line(self.place(pos.as_ref()));
                let cells = if *len == 1 { "1 cell" } else { &format!("{len} cells") };
                format!("line {line} has {cells}, but the first has {expected_len}")
            }
            csv::ErrorKind::Io(error) => {
                let Some(wrong) = error.get_ref().and_then(|error| error.downcast_ref::<Misquoted>()) else {
                    return self.content.unreadable(error);
                };
                return self.content.wrong(&wrong.to_string()).help(
                    "close it, or if it belongs to the text, quote the cell and double it: `\"5\"\" long\"`",
                );
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
    pub fn texts(&self, column: usize) -> Result<Result<BTreeSet<Box<str>>, Found>, Failure> {
        let mut texts: BTreeSet<Box<str>> = BTreeSet::new();
        let mut bad = None;
        self.for_each_row(|row, record| {
            let bytes = record.get(column).unwrap_or_default();
            let text = cells::text(bytes);
            if bad.is_none() && std::str::from_utf8(bytes).is_err() {
                bad = Some(Found { row, at: self.place(record.position()), text: text.to_string() });
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
            let at = self.place(record.position());
            self.look_at(&mut profile, reads, record.get(column).unwrap_or_default(), row, at);
        })?;
        Ok(profile)
    }

    /// Starts reading the rows after the header.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn pass(&self) -> Result<Pass, Failure> {
        let mut reader = self.records();
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
    reader: Records,
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
                        None => part.reads.read(&cell, &text.spelling),
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
