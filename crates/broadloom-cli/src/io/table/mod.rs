//! Tables: text such as .csv, and files of columns such as Parquet.
//!
//! The columns of a file are found out first. All inputs of a small text are read together when the first one is loaded; a
//! large file is read row by row, for all of its inputs together.

pub mod cells;
pub mod reading;
mod text;

use super::columns::Columns;
use super::content::Content;
use super::format::TableFormat;
use super::source::Source;
use crate::failure::Failure;
use broadloom::DType;
use cells::{Cell, Reads};
use reading::{Input, Loaded, Part, Reading};
use std::cell::RefCell;
use std::rc::Rc;
use text::Text;

/// How tables of text are read.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// The delimiter, if it is not the default.
    pub delimiter: Option<u8>,
    /// Cells that mean a missing number, besides the default ones.
    pub missing: Vec<String>,
}

/// A cell with unexpected content.
#[derive(Debug, Clone)]
pub struct Bad {
    row: usize,
    line: u64,
    text: String,
}

/// The cells of a column, read in one way.
#[derive(Debug, Clone)]
pub struct Profile {
    has_numbers: bool,
    /// Whether all cells are integers, without missing ones.
    is_int: bool,
    /// The first cell of text.
    bad: Option<Bad>,
}

impl Profile {
    pub fn new() -> Profile {
        Profile { has_numbers: false, is_int: true, bad: None }
    }

    pub fn add(&mut self, cell: Cell) {
        match cell {
            Cell::Int(_) => self.has_numbers = true,
            Cell::Float(_) => (self.has_numbers, self.is_int) = (true, false),
            Cell::Missing => self.is_int = false,
            Cell::Text => {}
        }
    }

    fn dtype(&self) -> DType {
        if self.is_int { DType::I64 } else { DType::F64 }
    }
}

/// The content of a column.
#[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "only files of columns have all kinds"))]
#[derive(Debug, Clone)]
pub enum Kind {
    /// Numbers: in each row one, or an array of the shape `row`.
    Numbers {
        dtype: DType,
        row: Vec<usize>,
    },
    Text,
    /// Dates that the file keeps as such, not as text.
    Dates,
    /// Numbers, and a cell that is not a number.
    Bad(Bad),
    /// A type that cannot be read, and advice.
    Foreign {
        found: String,
        help: String,
    },
}

impl From<Profile> for Kind {
    /// The content of a column of text that was read as numbers.
    fn from(profile: Profile) -> Kind {
        let dtype = profile.dtype();
        match (profile.bad, profile.has_numbers) {
            (None, _) => Kind::Numbers { dtype, row: Vec::new() },
            (Some(_), false) => Kind::Text,
            (Some(bad), true) => Kind::Bad(bad),
        }
    }
}

/// The distinct texts of a column in order; its cells are read as positions in this list.
pub type Names = Rc<[Box<str>]>;

/// What opening a table finds out about it.
#[derive(Debug)]
pub struct Described {
    pub names: Vec<String>,
    pub kinds: Vec<Kind>,
    pub rows: usize,
}

/// Where the elements of a table come from.
#[derive(Debug)]
enum Origin {
    Text(Text),
    Columns(Columns),
}

/// A table: the names and contents of its columns, and its number of rows.
#[derive(Debug)]
pub struct Table {
    content: Rc<Content>,
    names: Vec<String>,
    kinds: Vec<Kind>,
    rows: usize,
    origin: Origin,
    loaded: RefCell<Loaded>,
    /// The current pass over a large file.
    reading: RefCell<Rc<RefCell<Reading>>>,
}

impl Table {
    /// Finds out the columns of a table.
    ///
    /// # Errors
    /// Returns an error if the file is not such a table, is damaged, or cannot be read.
    pub fn open(
        content: &Rc<Content>,
        format: TableFormat,
        options: &TableOptions,
    ) -> Result<Table, Failure> {
        let (origin, described) = match format {
            TableFormat::Text(usual) => {
                let (text, described) = Text::open(content, usual, options)?;
                (Origin::Text(text), described)
            }
            TableFormat::Columns(format) => {
                let (columns, described) = Columns::open(content, format)?;
                (Origin::Columns(columns), described)
            }
        };
        let Described { names, kinds, rows } = described;
        let (loaded, reading) = (RefCell::default(), RefCell::default());
        Ok(Table { content: content.clone(), names, kinds, rows, origin, loaded, reading })
    }

    /// The names of all columns, also of those that cannot be read.
    pub fn columns(&self) -> &[String] {
        &self.names
    }

    /// Makes the input `name` from a part of the table: a column of numbers, or of codes if it is text; or several
    /// columns, `height,weight` or `temp_*`, or all columns of numbers, as a matrix `f64[rows, columns]`. After a
    /// last colon, `text`, `days` or `seconds` says how to read a column.
    ///
    /// # Errors
    /// Returns an error if the column does not exist, or cannot be read in this way.
    pub fn part(self: &Rc<Table>, name: &str, part: Option<&str>) -> Result<Box<dyn Source>, Failure> {
        let Some(part) = part else { return self.all_numbers(name) };
        if let Some(column) = self.position(part)? {
            return self.column(name, column);
        }
        if let Some((column, kind)) = part.rsplit_once(':')
            && let Some(column) = self.position(column)?
        {
            let what = match (&self.origin, &self.kinds[column], kind) {
                (Origin::Text(_), _, "text") | (Origin::Columns(_), Kind::Text, "text") => {
                    return self.codes(column);
                }
                (Origin::Text(_), _, "days") | (Origin::Columns(_), Kind::Dates, "days") => {
                    return self.dates(column, Reads::Days);
                }
                (Origin::Text(_), _, "seconds") | (Origin::Columns(_), Kind::Dates, "seconds") => {
                    return self.dates(column, Reads::Seconds);
                }
                (Origin::Columns(_), _, "text") => format!("its column {:?} is not text", self.names[column]),
                (Origin::Columns(_), _, "days" | "seconds") => {
                    format!("its column {:?} has no dates", self.names[column])
                }
                _ => format!("a column cannot be read as {kind:?}"),
            };
            return Err(self
                .content
                .wrong(&what)
                .help("use :text for codes of its texts, :days or :seconds for dates"));
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
        self.matrix(name, columns)
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
        let is_text = |at: &usize| matches!(self.kinds[*at], Kind::Text);
        let (text, others): (Vec<usize>, Vec<usize>) = (0..self.names.len()).partition(is_text);
        let named = |columns: Vec<usize>| columns.into_iter().map(|at| &self.names[at]).collect::<Vec<_>>();
        let failure = self.content.wrong(&format!("it has no column named {name:?}{near}"));
        match text.is_empty() {
            true => failure.help(format!("its columns are {:?}", self.names)),
            false => failure.help(format!(
                "its numeric columns are {:?}, and its text columns are {:?}",
                named(others),
                named(text)
            )),
        }
    }

    fn column(self: &Rc<Table>, name: &str, column: usize) -> Result<Box<dyn Source>, Failure> {
        match (&self.kinds[column], &self.origin) {
            (Kind::Text, _) => self.codes(column),
            (Kind::Numbers { dtype, row }, Origin::Text(_)) => {
                Ok(self.input(vec![column], *dtype, row.clone()))
            }
            (Kind::Numbers { dtype, row }, Origin::Columns(columns)) => {
                let dtype = columns.dtype(column, *dtype)?;
                Ok(self.input(vec![column], dtype, row.clone()))
            }
            (Kind::Dates | Kind::Bad(_) | Kind::Foreign { .. }, _) => Err(self.refusal(name, column)),
        }
    }

    fn input(self: &Rc<Table>, columns: Vec<usize>, dtype: DType, row: Vec<usize>) -> Box<dyn Source> {
        Input::boxed(self, Part { columns: columns.into(), reads: Reads::Numbers, dtype, row, names: None })
    }

    /// Whether a column can be one of a matrix.
    fn is_numeric(&self, column: usize) -> bool {
        matches!(&self.kinds[column], Kind::Numbers { row, .. } if row.is_empty())
    }

    /// Whether a matrix of the whole table leaves out a column: not if it has numbers and a wrong cell.
    fn is_left_out(&self, column: usize) -> bool {
        !self.is_numeric(column) && !matches!(self.kinds[column], Kind::Bad(_))
    }

    /// The columns that a matrix of the whole table leaves out, and the others.
    fn parted(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.names.len()).partition(|column| self.is_left_out(*column))
    }

    /// The columns of numbers as a matrix.
    fn all_numbers(self: &Rc<Table>, name: &str) -> Result<Box<dyn Source>, Failure> {
        let (others, numbers) = self.parted();
        match others.first() {
            Some(first) if numbers.is_empty() => Err(self.refusal(name, *first)),
            _ => self.matrix(name, numbers),
        }
    }

    /// A warning that a matrix of the whole table leaves out columns, with what to type instead.
    pub fn warning(&self, name: &str) -> Option<[String; 2]> {
        let names = |columns: &[usize]| -> Vec<&str> {
            columns.iter().map(|column| self.names[*column].as_str()).collect()
        };
        let (others, numbers) = self.parted();
        let chosen = names(&numbers[..numbers.len().min(2)]).join(",");
        let headline = format!("{name} contains only the numeric columns, without {:?}", names(&others));
        let file = self.content.path().display();
        let help = format!("to silence this warning, choose columns, as in '{name}={file}:{chosen}'");
        (!others.is_empty()).then_some([headline, help])
    }

    /// Columns side by side.
    fn matrix(self: &Rc<Table>, name: &str, columns: Vec<usize>) -> Result<Box<dyn Source>, Failure> {
        if let Some(column) = columns.iter().find(|column| !self.is_numeric(**column)) {
            return Err(self.refusal(name, *column));
        }
        let width = columns.len();
        Ok(self.input(columns, DType::F64, vec![width]))
    }

    /// The error of a column that is not one of numbers, for the input `name`.
    fn refusal(&self, name: &str, column: usize) -> Failure {
        let (file, title) = (self.content.path().display(), &self.names[column]);
        let not_in_matrix = |is: &str| {
            self.content.wrong(&format!("its column {title:?} {is}, which cannot be part of a matrix"))
        };
        let as_dates =
            |failure: Failure| failure.help_code("to read dates:", format!("'{name}={file}:{title}:days'"));
        match &self.kinds[column] {
            Kind::Text => {
                let failure = not_in_matrix("is text").help_code(
                    "to read it alone, as codes of its texts:",
                    format!("'{name}={file}:{title}'"),
                );
                match self.origin {
                    Origin::Text(_) => as_dates(failure),
                    Origin::Columns(_) => failure,
                }
            }
            Kind::Numbers { dtype, row } => {
                let sizes: String = row.iter().map(|size| format!(", {size}")).collect();
                not_in_matrix(&format!("is {dtype}[n{sizes}]"))
                    .help_code("to read it alone:", format!("'{name}={file}:{title}'"))
            }
            Kind::Dates => as_dates(self.content.wrong(&format!("its column {title:?} has dates")))
                .help_code("or with times:", format!("'{name}={file}:{title}:seconds'")),
            Kind::Bad(bad) => self
                .bad_cell(column, bad, Reads::Numbers)
                .help_code("to read the column as text:", format!("'{name}={file}:{title}:text'")),
            Kind::Foreign { found, help } => {
                self.content.wrong(&format!("its column {title:?} has the type {found}")).help(help)
            }
        }
    }

    /// The error of a cell that cannot be read in one way.
    fn bad_cell(&self, column: usize, bad: &Bad, reads: Reads) -> Failure {
        let Bad { row, line, text } = bad;
        let (title, wanted) = (&self.names[column], reads.wanted());
        self.content
            .wrong(&format!("column {title:?}, row {row} (line {line}): {text:?} is not a {wanted}"))
            .help_code("if it means a missing number:", format!("--missing '{text}'"))
    }

    /// A column as codes: the position of each cell among the sorted texts.
    fn codes(self: &Rc<Table>, column: usize) -> Result<Box<dyn Source>, Failure> {
        let texts = match &self.origin {
            Origin::Text(text) => text.texts(column)?,
            Origin::Columns(columns) => Ok(columns.texts(column)?),
        };
        let texts = texts.map_err(|Bad { row, line, text }| {
            let title = &self.names[column];
            let what = format!("column {title:?}, row {row} (line {line}): {text:?} is not valid UTF-8");
            let file = self.content.path().display();
            let failure = self.content.wrong(&what);
            failure.help_code("convert the file:", format!("iconv -f LATIN1 -t UTF-8 {file}"))
        })?;
        let names: Names = texts.into_iter().collect();
        let (columns, reads) = (Rc::from([column]), Reads::Numbers);
        Ok(Input::boxed(
            self,
            Part { columns, reads, dtype: DType::I64, row: Vec::new(), names: Some(names) },
        ))
    }

    /// A column of dates as numbers.
    fn dates(self: &Rc<Table>, column: usize, reads: Reads) -> Result<Box<dyn Source>, Failure> {
        let profile = match &self.origin {
            Origin::Text(text) => text.profile(column, reads)?,
            Origin::Columns(columns) => columns.dates(column, reads)?,
        };
        match &profile.bad {
            Some(bad) => Err(self.bad_cell(column, bad, reads)),
            None => {
                let (columns, dtype) = (Rc::from([column]), profile.dtype());
                Ok(Input::boxed(self, Part { columns, reads, dtype, row: Vec::new(), names: None }))
            }
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
