//! Tables as text: .csv and .tsv.

use super::beginning::Beginning;
use super::cells::{self, Cell, Reads};
use super::header::{self, OverDecimals, OverIndex};
use super::numbers::Spelling;
use super::quotes::{Advice, Misquoted, Quotes};
use super::reading::{Elements, Part};
use super::refusals::Warning;
use super::{Described, Found, Kind, Profile, TableOptions};
use crate::failure::Failure;
use crate::io::content::{Content, Reader};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

/// The advice for a file that is not a table.
pub const HELP: &str = "every row needs as many cells as the first one; if another character separates cells, pass it with --delimiter";
/// The characters that separate cells in files of other programs.
pub const DELIMITERS: [u8; 4] = [b';', b'\t', b'|', b','];

/// The text of a table, and how it is read.
#[derive(Debug)]
pub struct Text {
    content: Rc<Content>,
    delimiter: u8,
    spelling: Spelling,
    /// The place of the first cell, and its line.
    start: u64,
    line: u64,
    has_header: bool,
    /// What is told of the whole table, once.
    warnings: RefCell<Vec<Warning>>,
}

/// The rows of a file in its order.
type Records = csv::Reader<Quotes<Reader>>;

impl Text {
    /// Finds out the columns of a table. The first row is a header if any of its cells is text, or if it has numbers behind an
    /// empty cell over an index; without a header, columns are named `c0`, `c1` and so on.
    ///
    /// # Errors
    /// Returns an error if the file is empty or not text in UTF-8, rows have different numbers of cells, quotation marks are not
    /// closed, or the file cannot be read.
    pub fn open(
        content: &Rc<Content>,
        usual: u8,
        options: &TableOptions,
    ) -> Result<(Text, Described), Failure> {
        let Beginning { at: start, line, delimiter: named } = Beginning::of(content)?;
        let stated = options.delimiter.or(named);
        let mut text = Text {
            content: content.clone(),
            delimiter: stated.unwrap_or(usual),
            spelling: options.spelling.clone(),
            start,
            line,
            has_header: false,
            warnings: RefCell::default(),
        };
        let mut record = csv::ByteRecord::new();
        if !text.records().read_byte_record(&mut record).map_err(|error| text.bad_rows(&error))? {
            let failure = content.wrong("it is empty");
            return Err(failure.help("check whether the command that writes it failed"));
        }
        let cells: Vec<String> = record.iter().map(|cell| cells::text(cell).trim().to_owned()).collect();
        if let ([only], None) = (cells.as_slice(), stated) {
            text.refuse_other_delimiter(only)?;
        }
        text.has_header = header::has_text(&cells, &text.spelling);
        if !text.has_header {
            let over_index = text.over_index(&cells)?;
            text.has_header = over_index.as_ref().is_some_and(OverIndex::has_names);
            let warning = match over_index.is_some_and(|index| index.may_have_names()) {
                true => Some(text.doubt(
                    "its first cell is empty, and those below are not",
                    "write a name into its first cell".to_owned(),
                )),
                false => text.over_decimals(&cells)?,
            };
            text.warnings.get_mut().extend(warning);
        }
        let mut profiles = vec![Profile::new(); cells.len()];
        let mut rows = 0;
        text.for_each_row(|row, record| {
            rows = row;
            let at = text.place(record.position());
            for (profile, bytes) in profiles.iter_mut().zip(record) {
                text.look_at(profile, Reads::Numbers, bytes, row, at);
            }
        })?;
        let names = match text.has_header {
            true => cells,
            false => (0..cells.len()).map(|at| format!("c{at}")).collect(),
        };
        let kinds = profiles.into_iter().map(Kind::from).collect();
        if names.len() == 1 {
            let empty = text.find_empty_line().map_err(|error| content.unreadable(&error))?;
            text.warnings.get_mut().extend(empty.map(|line| {
                let what = format!("{}: line {line} is empty, and not a row", content.name());
                [what, "if a cell is missing there, write NA".to_owned()]
            }));
        }
        // pandas and R write the index of rows as first columns without names.
        let index = (0..names.iter().take_while(|name| name.is_empty()).count()).collect();
        Ok((text, Described { names, kinds, rows, index }))
    }

    /// What is below a first row of numbers behind empty cells.
    fn over_index(&self, cells: &[String]) -> Result<Option<OverIndex>, Failure> {
        let Some(mut index) = OverIndex::new(cells, &self.spelling) else { return Ok(None) };
        self.for_each_row(|row, record| {
            if row > 1 {
                let read = |cell| Reads::Numbers.read(&cells::text(cell), &self.spelling);
                index.add(record.iter().take(index.levels()).map(read));
            }
        })?;
        Ok(Some(index))
    }

    /// The warning of a first row of integers above decimals.
    fn over_decimals(&self, cells: &[String]) -> Result<Option<Warning>, Failure> {
        let Some(mut first) = OverDecimals::new(cells, &self.spelling) else { return Ok(None) };
        self.for_each_row(|row, record| {
            if row > 1 {
                let read = |cell| Reads::Numbers.read(&cells::text(cell), &self.spelling);
                first.add(record.iter().map(read));
            }
        })?;
        let file = self.content.path().display();
        let help = format!("leave it out: tail -n +2 {file} | broadloom eval .. x=-");
        let why = "it has integers, and all others have decimals";
        Ok(first.may_have_names().then(|| self.doubt(why, help)))
    }

    /// The warning of a first row that may have names.
    fn doubt(&self, why: &str, help: String) -> Warning {
        let what = format!("{}: the first row is read as data, but {why}", self.content.name());
        [what, format!("if it has names, {help}")]
    }

    /// Refuses a table of one column whose rows all have equal numbers of another delimiter. `first` is its first cell.
    fn refuse_other_delimiter(&self, first: &str) -> Result<(), Failure> {
        let count = |text: &[u8], mark: u8| text.iter().filter(|byte| **byte == mark).count();
        let mut beginning = [0];
        let read = self.content.reader(self.start).read(&mut beginning);
        read.map_err(|error| self.content.unreadable(&error))?;
        // What a quoted cell has is part of a text.
        let mut marks = DELIMITERS.map(|mark| (mark, count(first.as_bytes(), mark)));
        if beginning == *b"\"" || marks.iter().all(|(_, count)| *count == 0) {
            return Ok(());
        }
        self.for_each_row(|_, record| {
            let cell = record.iter().next().unwrap_or_default();
            marks.iter_mut().filter(|(mark, expected)| count(cell, *mark) != *expected).for_each(
                |(_, expected)| {
                    *expected = 0;
                },
            );
        })?;
        let Some((mark, _)) = marks.iter().find(|(_, count)| *count > 0) else { return Ok(()) };
        let [own, other] = [self.delimiter, *mark].map(shown);
        let failure = self.content.wrong(&format!(
            "it has one column if {own} separates cells, but each of its lines has the same number of {other}"
        ));
        Err(failure
            .help_code(format!("if {other} separates cells:"), option(*mark))
            .help_code("if it does have one column:", option(self.delimiter)))
    }

    /// The first empty line behind a row, outside quoted cells.
    fn find_empty_line(&self) -> io::Result<Option<u64>> {
        let (mut line, mut before, mut is_row, mut has_rows) = (self.line, b'\n', false, false);
        // Whether the cell of this line starts with a quotation mark, and whether it is open.
        let (mut is_quoted, mut is_open) = (false, false);
        for byte in BufReader::new(self.content.reader(self.start)).bytes() {
            let byte = byte?;
            let is_second = (before, byte) == (b'\r', b'\n');
            before = byte;
            match byte {
                b'\n' | b'\r' if is_second => {}
                b'\n' | b'\r' => {
                    if !is_row && !is_open && has_rows {
                        return Ok(Some(line));
                    }
                    is_row &= is_open;
                    line += 1;
                }
                _ => {
                    is_quoted = if is_row { is_quoted } else { byte == b'"' };
                    is_open ^= is_quoted && byte == b'"';
                    (is_row, has_rows) = (true, true);
                }
            }
        }
        Ok(None)
    }

    /// The warnings of the table, where it is used first.
    pub fn warnings(&self) -> Vec<Warning> {
        self.warnings.take()
    }

    fn records(&self) -> Records {
        let bytes = Quotes::new(self.content.reader(self.start), self.delimiter, self.line);
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
                let failure = self.content.wrong(&wrong.to_string());
                const CLOSE: &str =
                    "close it, or if it belongs to the text, quote the cell and double it: `\"5\"\" long\"`";
                return match wrong.advice() {
                    Advice::Delimiter(mark) => {
                        failure.help_code(format!("if {} separates cells:", shown(mark)), option(mark))
                    }
                    Advice::Cell => failure.help(CLOSE).help(
                        "if it is one cell with tabs and lines, write the table as .csv, where it is read",
                    ),
                    Advice::Close => failure.help(CLOSE),
                };
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

/// A delimiter in messages.
fn shown(delimiter: u8) -> String {
    if delimiter == b'\t' { "a tab".to_owned() } else { format!("`{}`", char::from(delimiter)) }
}

/// The option that chooses a delimiter.
fn option(delimiter: u8) -> String {
    let typed = if delimiter == b'\t' { "\\t".to_owned() } else { char::from(delimiter).to_string() };
    format!("--delimiter '{typed}'")
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
