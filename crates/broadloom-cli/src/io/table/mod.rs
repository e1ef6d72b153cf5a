//! Tables as text: .csv and .tsv.
//!
//! A file is first read once to find out its columns. For a small file, all inputs are read together when the first
//! one is loaded; a large file is read row by row, for all of its inputs together.

mod cells;
mod reading;

use crate::failure::Failure;
use crate::io::content::Content;
use crate::io::source::Source;
use broadloom::DType;
use cells::{Cell, Reads};
use reading::{Input, Loaded, Reading};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::Read;
use std::rc::Rc;

/// The advice for a file that is not a table.
const HELP: &str = "every row needs as many cells as the first one; if another character separates cells, pass it with --delimiter";

/// How tables are read.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// The delimiter, if it is not the default.
    pub delimiter: Option<u8>,
    /// Cells that mean a missing number, besides the default ones.
    pub missing: Vec<String>,
}

/// A cell with unexpected content.
#[derive(Debug, Clone)]
struct Bad {
    row: usize,
    line: u64,
    text: String,
}

/// The content of a column, read in one way.
#[derive(Debug, Clone, Default)]
struct Profile {
    has_numbers: bool,
    /// Whether all cells are integers, without missing ones.
    is_int: bool,
    bad: Option<Bad>,
}

impl Profile {
    fn add(&mut self, cell: Cell, bad: impl FnOnce() -> Bad) {
        match cell {
            Cell::Int(_) => self.has_numbers = true,
            Cell::Float(_) => (self.has_numbers, self.is_int) = (true, false),
            Cell::Missing => self.is_int = false,
            Cell::Text if self.bad.is_none() => self.bad = Some(bad()),
            Cell::Text => {}
        }
    }

    /// Whether it is a column of text, rather than one of numbers with a wrong cell.
    fn is_text(&self) -> bool {
        self.bad.is_some() && !self.has_numbers
    }

    fn dtype(&self) -> DType {
        if self.is_int { DType::I64 } else { DType::F64 }
    }
}

/// The distinct texts of a column in order; its cells are read as positions in this list.
pub type Names = Rc<[Box<str>]>;

/// A table: the names and contents of its columns, and its number of rows.
#[derive(Debug)]
pub struct Table {
    content: Rc<Content>,
    delimiter: u8,
    missing: Vec<String>,
    names: Vec<String>,
    profiles: Vec<Profile>,
    has_header: bool,
    rows: usize,
    loaded: RefCell<Loaded>,
    /// The current pass over a large file.
    reading: RefCell<Rc<RefCell<Reading>>>,
}

/// The rows of a file in its order.
fn records<R: Read>(from: R, delimiter: u8) -> csv::Reader<R> {
    csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(from)
}

impl Table {
    /// Finds out the columns of a table. The first row is a header if any of its cells is not a number; without a
    /// header, columns are named `c0`, `c1` and so on.
    ///
    /// # Errors
    /// Returns an error if rows have different numbers of cells, or the file cannot be read.
    pub fn open(content: &Rc<Content>, usual: u8, options: &TableOptions) -> Result<Table, Failure> {
        let mut table = Table {
            content: content.clone(),
            delimiter: options.delimiter.unwrap_or(usual),
            missing: options.missing.clone(),
            names: Vec::new(),
            profiles: Vec::new(),
            has_header: false,
            rows: 0,
            loaded: RefCell::default(),
            reading: RefCell::default(),
        };
        let mut reader = records(content.reader(0), table.delimiter);
        let mut record = csv::ByteRecord::new();
        let mut is_first = true;
        // The start of a last cell that continues over several lines.
        let mut over_lines = None;
        while reader.read_byte_record(&mut record).map_err(|error| table.bad_rows(&error))? {
            if std::mem::take(&mut is_first) {
                let mut cells: Vec<String> =
                    record.iter().map(|cell| cells::text(cell).into_owned()).collect();
                if let Some(first) = cells.first_mut() {
                    *first = first.trim_start_matches('\u{feff}').to_owned();
                }
                table.profiles = vec![Profile { is_int: true, ..Profile::default() }; cells.len()];
                let read = |cell: &String| Reads::Numbers.read(cell, &table.missing);
                table.has_header = cells.iter().any(|cell| read(cell) == Cell::Text);
                if table.has_header {
                    table.names = cells;
                    continue;
                }
                table.names = (0..cells.len()).map(|at| format!("c{at}")).collect();
            }
            table.rows += 1;
            let line = record.position().map_or(0, csv::Position::line);
            over_lines = record.iter().next_back().filter(|cell| cell.contains(&b'\n')).map(|_| line);
            for (profile, bytes) in table.profiles.iter_mut().zip(&record) {
                let text = cells::text(bytes);
                let bad = || Bad { row: table.rows, line, text: text.to_string() };
                profile.add(Reads::Numbers.read(&text, &table.missing), bad);
            }
        }
        match over_lines {
            Some(line) if !table.ends_with_quote()? => {
                let what = format!("the quotation mark in line {line} is never closed");
                Err(content
                    .wrong(&what)
                    .help("close it, or double it if it belongs to the text: `5\"\" long`"))
            }
            _ => Ok(table),
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

    /// The names of all columns, whatever their cells contain.
    pub fn columns(&self) -> &[String] {
        &self.names
    }

    /// Calls a function for each row after the header, with its number and its record.
    fn for_each_row(&self, mut row: impl FnMut(usize, &csv::ByteRecord)) -> Result<(), Failure> {
        let mut reader = records(self.content.reader(0), self.delimiter);
        let mut record = csv::ByteRecord::new();
        let mut at = 0;
        while reader.read_byte_record(&mut record).map_err(|error| self.bad_rows(&error))? {
            if at > 0 || !self.has_header {
                row(at + usize::from(!self.has_header), &record);
            }
            at += 1;
        }
        Ok(())
    }

    /// Makes the input `name` from a part of the table: a column of numbers, or of codes if it is text; or several
    /// columns, `height,weight` or `temp_*`, or all columns of numbers, as a matrix `f64[rows, columns]`. After a
    /// last colon, `text`, `days` or `seconds` says how to read a column.
    ///
    /// # Errors
    /// Returns an error if there is no such column, or it cannot be read in this way.
    pub fn part(self: &Rc<Table>, name: &str, part: Option<&str>) -> Result<Box<dyn Source>, Failure> {
        let Some(part) = part else { return self.all_numbers(name) };
        if let Some(column) = self.position(part)? {
            return self.column(name, column);
        }
        if let Some((column, kind)) = part.rsplit_once(':')
            && let Some(column) = self.position(column)?
        {
            return match kind {
                "text" => self.codes(column),
                "days" => self.dates(column, Reads::Days),
                "seconds" => self.dates(column, Reads::Seconds),
                _ => Err(self
                    .content
                    .wrong(&format!("a column cannot be read as {kind:?}"))
                    .help("use :text for codes of its texts, :days or :seconds for dates")),
            };
        }
        if !part.contains([',', '*']) {
            return Err(self.no_column(part));
        }
        let mut columns = Vec::new();
        for item in part.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let found: Vec<usize> = match (self.position(item)?, item.contains('*')) {
                (Some(column), _) => vec![column],
                (None, true) => (0..self.names.len()).filter(|at| is_like(&self.names[*at], item)).collect(),
                (None, false) => Vec::new(),
            };
            if found.is_empty() {
                return Err(self.no_column(item));
            }
            columns.extend(found);
        }
        for column in &columns {
            self.refuse_text(name, *column)?;
        }
        Ok(self.matrix(columns))
    }

    /// The column of a name.
    fn position(&self, name: &str) -> Result<Option<usize>, Failure> {
        let mut named = self.names.iter().enumerate().filter(|(_, known)| *known == name);
        match (named.next(), named.next()) {
            (Some(_), Some(_)) => Err(self
                .content
                .wrong(&format!("it has several columns named {name:?}"))
                .help("rename one of them")),
            (found, _) => Ok(found.map(|(at, _)| at)),
        }
    }

    fn no_column(&self, name: &str) -> Failure {
        let near = broadloom_text::nearest(name, self.names.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
        let columns = self.names.iter().zip(&self.profiles);
        let of = |is_text| -> Vec<&String> {
            columns
                .clone()
                .filter(|(_, profile)| profile.is_text() == is_text)
                .map(|(name, _)| name)
                .collect()
        };
        let failure = self.content.wrong(&format!("it has no column named {name:?}{near}"));
        match of(true).as_slice() {
            [] => failure.help(format!("its columns are {:?}", self.names)),
            text => failure
                .help(format!("its numeric columns are {:?}, and its text columns are {text:?}", of(false))),
        }
    }

    fn column(self: &Rc<Table>, name: &str, column: usize) -> Result<Box<dyn Source>, Failure> {
        let profile = &self.profiles[column];
        if profile.is_text() {
            return self.codes(column);
        }
        self.refuse_text(name, column)?;
        Ok(Input::boxed(self, vec![column], Reads::Numbers, profile.dtype(), None, false))
    }

    /// The columns of numbers as a matrix.
    fn all_numbers(self: &Rc<Table>, name: &str) -> Result<Box<dyn Source>, Failure> {
        let is_text = |at: &usize| self.profiles[*at].is_text();
        let (text, numbers): (Vec<usize>, Vec<usize>) = (0..self.names.len()).partition(is_text);
        for column in &numbers {
            self.refuse_text(name, *column)?;
        }
        if let (Some(first), true) = (text.first(), numbers.is_empty()) {
            return Err(self.text_column(name, *first));
        }
        Ok(self.matrix(numbers))
    }

    /// The names of columns of text, which a matrix of the whole table leaves out.
    pub fn left_out(&self) -> Vec<&str> {
        let columns = self.names.iter().zip(&self.profiles);
        columns.filter(|(_, profile)| profile.is_text()).map(|(name, _)| name.as_str()).collect()
    }

    fn matrix(self: &Rc<Table>, columns: Vec<usize>) -> Box<dyn Source> {
        Input::boxed(self, columns, Reads::Numbers, DType::F64, None, true)
    }

    /// Refuses a column with anything but numbers.
    fn refuse_text(&self, name: &str, column: usize) -> Result<(), Failure> {
        match &self.profiles[column] {
            profile if profile.is_text() => Err(self.text_column(name, column)),
            Profile { bad: Some(bad), .. } => {
                let (file, title) = (self.content.path().display(), &self.names[column]);
                Err(self
                    .bad_cell(column, bad, Reads::Numbers)
                    .help_code("if it means a missing number:", format!("--missing '{}'", bad.text))
                    .help_code("to read the column as text:", format!("'{name}={file}:{title}:text'")))
            }
            _ => Ok(()),
        }
    }

    fn text_column(&self, name: &str, column: usize) -> Failure {
        let (file, title) = (self.content.path().display(), &self.names[column]);
        self.content
            .wrong(&format!("its column {title:?} is text, which cannot be part of a matrix"))
            .help_code("to read it alone, as codes of its texts:", format!("'{name}={file}:{title}'"))
            .help_code("to read dates:", format!("'{name}={file}:{title}:days'"))
    }

    fn bad_cell(&self, column: usize, bad: &Bad, reads: Reads) -> Failure {
        let Bad { row, line, text } = bad;
        let (title, wanted) = (&self.names[column], reads.wanted());
        self.content.wrong(&format!("column {title:?}, row {row} (line {line}): {text:?} is not a {wanted}"))
    }

    /// A column as codes: the position of each cell among the sorted texts.
    fn codes(self: &Rc<Table>, column: usize) -> Result<Box<dyn Source>, Failure> {
        let mut texts: BTreeSet<Box<str>> = BTreeSet::new();
        let mut bad = None;
        self.for_each_row(|row, record| {
            let bytes = record.get(column).unwrap_or_default();
            let text = cells::text(bytes);
            // Different invalid bytes would become equal texts.
            if bad.is_none() && std::str::from_utf8(bytes).is_err() {
                let line = record.position().map_or(0, csv::Position::line);
                bad = Some(Bad { row, line, text: text.to_string() });
            }
            if !texts.contains(&*text) {
                texts.insert((&*text).into());
            }
        })?;
        if let Some(Bad { row, line, text }) = bad {
            let title = &self.names[column];
            let what = format!("column {title:?}, row {row} (line {line}): {text:?} is not valid UTF-8");
            let file = self.content.path().display();
            return Err(self
                .content
                .wrong(&what)
                .help_code("convert the file:", format!("iconv -f LATIN1 -t UTF-8 {file}")));
        }
        let names: Names = texts.into_iter().collect();
        Ok(Input::boxed(self, vec![column], Reads::Numbers, DType::I64, Some(names), false))
    }

    /// A column of dates as numbers.
    fn dates(self: &Rc<Table>, column: usize, reads: Reads) -> Result<Box<dyn Source>, Failure> {
        let mut profile = Profile { is_int: true, ..Profile::default() };
        self.for_each_row(|row, record| {
            let text = cells::text(record.get(column).unwrap_or_default());
            let line = record.position().map_or(0, csv::Position::line);
            profile.add(reads.read(&text, &self.missing), || Bad { row, line, text: text.to_string() });
        })?;
        match &profile.bad {
            Some(bad) => Err(self
                .bad_cell(column, bad, reads)
                .help_code("if it means a missing number:", format!("--missing '{}'", bad.text))),
            None => Ok(Input::boxed(self, vec![column], reads, profile.dtype(), None, false)),
        }
    }
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn stars_stand_for_any_letters() {
        for (name, pattern, expected) in [
            ("temp_1", "temp_*", true),
            ("temp_", "temp_*", true),
            ("temperature", "temp_*", false),
            ("a_x_b", "a*b", true),
            ("ab", "a*b", true),
            ("a", "a*a", false),
            ("aba", "*b*", true),
            ("aca", "*b*", false),
            ("anything", "*", true),
            ("xaxbx", "*a*b*", true),
            ("xbxax", "*a*b*", false),
        ] {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        }
    }
}
