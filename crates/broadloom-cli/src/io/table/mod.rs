//! Tables: text such as .csv, and files of columns such as Parquet.
//!
//! The columns of a file are found out first. All inputs of a small text are read together when the first one is loaded; a
//! large file is read row by row, for all of its inputs together.

mod beginning;
pub mod cells;
pub mod dates;
mod header;
pub mod numbers;
mod profile;
mod quotes;
pub mod reading;
mod refusals;
mod text;

use super::columns::Columns;
use super::content::Content;
use super::format::TableFormat;
use super::source::{Opened, Source};
use crate::failure::Failure;
use broadloom::DType;
use broadloom_ir::dtype::Class;
use cells::Reads;
pub use header::has_text;
use numbers::Spelling;
#[cfg(feature = "arrow")]
pub use profile::Told;
pub use profile::{Found, Kind, Profile};
pub use quotes::looks_like_rows;
use reading::{Input, Loaded, Part, Reading};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use text::Text;

/// How tables of text are read.
#[derive(Debug, Clone, Default)]
pub struct TableOptions {
    /// The delimiter, if it is not the default.
    pub delimiter: Option<u8>,
    pub spelling: Spelling,
}

/// The distinct texts of a column in order; its cells are read as positions in this list.
pub type Names = Arc<[Box<str>]>;

/// What opening a table finds out about it.
#[derive(Debug)]
pub struct Described {
    pub names: Vec<String>,
    pub kinds: Vec<Kind>,
    pub rows: usize,
    /// The columns that only number or name the rows.
    pub index: Vec<usize>,
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
    index: Vec<usize>,
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
                let (columns, described) = Columns::open(content, format, &options.spelling)?;
                (Origin::Columns(columns), described)
            }
        };
        let Described { names, kinds, rows, index } = described;
        if names.is_empty() {
            let failure = content.wrong("it has no columns");
            return Err(failure.help("check whether the command that writes it failed"));
        }
        let (loaded, reading) = (RefCell::default(), RefCell::default());
        Ok(Table { content: content.clone(), names, kinds, rows, index, origin, loaded, reading })
    }

    /// The names of all columns, also of those that cannot be read.
    pub fn columns(&self) -> &[String] {
        &self.names
    }

    /// Makes the input `name` from a part of the table: a column of numbers, truth values or text; or several columns,
    /// `height,weight` or `temp_*`, or all columns of numbers, as a matrix `f64[rows, columns]`. After a last colon,
    /// `text`, `days` or `seconds` says how to read a column.
    ///
    /// # Errors
    /// Returns an error if the column does not exist, or cannot be read in this way.
    pub fn part(self: &Rc<Table>, name: &str, part: Option<&str>) -> Result<Opened, Failure> {
        let Some(part) = part else { return self.all_numbers(name) };
        if let Some(column) = self.position(part)? {
            return self.column(name, column);
        }
        if let Some((column, kind)) = part.rsplit_once(':')
            && let Some(column) = self.position(column)?
        {
            let is_date = matches!(self.kinds[column], Kind::Dates);
            let have_texts = match &self.origin {
                Origin::Text(_) => true,
                Origin::Columns(columns) => {
                    !matches!(self.kinds[column], Kind::Foreign { .. }) && columns.have_texts(column)
                }
            };
            let is_truth = matches!(self.kinds[column], Kind::Numbers { class: Class::Bool, .. });
            let title = &self.names[column];
            let what = match kind {
                "text" if have_texts => return self.texts(name, column),
                "days" if is_date || have_texts && !is_truth => return self.dates(name, column, Reads::Days),
                "seconds" if is_date || have_texts && !is_truth => {
                    return self.dates(name, column, Reads::Seconds);
                }
                "text" => format!("its column {title:?} is not text"),
                "days" | "seconds" => format!("its column {title:?} has no dates"),
                _ => format!("a column cannot be read as {kind:?}"),
            };
            if let Kind::Foreign { .. } = self.kinds[column] {
                return Err(self.refusal(name, column));
            }
            return Err(self.content.wrong(&what).help("use :text for texts, :days or :seconds for dates"));
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
            // A pattern means an index only if it means nothing else.
            let data: Vec<usize> = found.iter().copied().filter(|at| !self.index.contains(at)).collect();
            columns.extend(if data.is_empty() { found } else { data });
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

    fn column(self: &Rc<Table>, name: &str, column: usize) -> Result<Opened, Failure> {
        let (dtype, row, class, told) = match &self.kinds[column] {
            Kind::Text => return self.texts(name, column),
            Kind::Numbers { dtype, row, class, told } => (*dtype, row.clone(), *class, told),
            Kind::Dates | Kind::Mixed { .. } | Kind::Dressed(_) | Kind::Foreign { .. } => {
                return Err(self.refusal(name, column));
            }
        };
        let (read_as, is_bare) = match &self.origin {
            Origin::Text(_) => (dtype, told.is_bare),
            Origin::Columns(columns) => {
                let nulls = columns.nulls(column, dtype)?;
                let read_as = if nulls > 0 { DType::F64 } else { dtype };
                // The nulls of lists are counted by their elements.
                let are_null = row.is_empty() && self.rows > 0 && nulls >= self.rows;
                (read_as, told.is_bare || are_null)
            }
        };
        let part =
            Part { columns: Rc::from([column]), reads: Reads::Numbers, dtype: read_as, row, names: None };
        let mut opened = self.opened(name, part, &profile::numbers(class, read_as, is_bare));
        if read_as == DType::F64 {
            opened.warnings.extend(self.told(name, column)?);
        } else {
            opened.warnings.extend(self.drops_zeros(name, column, told.padded.as_ref()));
        }
        Ok(opened)
    }

    /// The input of one column, which is read in some way.
    fn opened(self: &Rc<Table>, name: &str, part: Part, read: &str) -> Opened {
        let columns = part.columns.iter().map(|column| self.describe(name, *column, read)).collect();
        let warnings = match &self.origin {
            Origin::Text(text) => text.warnings(),
            Origin::Columns(_) => Vec::new(),
        };
        let source: Box<dyn Source> = Input::boxed(self, part);
        Opened { name: name.to_owned(), source, is_named: false, warnings, columns }
    }

    fn describe(&self, name: &str, column: usize, read: &str) -> String {
        format!("{name} = {}:{}: {read}", self.content.path().display(), self.names[column])
    }

    /// Whether a column can be one of a matrix.
    fn is_numeric(&self, column: usize) -> bool {
        matches!(&self.kinds[column], Kind::Numbers { row, .. } if row.is_empty())
    }

    /// Whether a matrix of the whole table leaves out a column: not if it has numbers and a wrong cell.
    fn is_left_out(&self, column: usize) -> bool {
        !self.is_numeric(column) && !matches!(self.kinds[column], Kind::Mixed { .. } | Kind::Dressed(_))
    }

    /// The columns of numbers as a matrix, with warnings of the columns that it leaves out.
    fn all_numbers(self: &Rc<Table>, name: &str) -> Result<Opened, Failure> {
        let data = (0..self.names.len()).filter(|column| !self.index.contains(column));
        let (others, numbers): (Vec<usize>, Vec<usize>) = data.partition(|column| self.is_left_out(*column));
        let (index, numbers) = match numbers.is_empty() && others.is_empty() {
            true => (&[][..], self.index.clone()),
            false => (self.index.as_slice(), numbers),
        };
        if let (Some(first), true) = (others.first(), numbers.is_empty()) {
            return Err(self.refusal(name, *first));
        }
        let names = |columns: &[usize]| -> Vec<&str> {
            columns.iter().map(|column| self.names[*column].as_str()).collect()
        };
        let help = self.choice(name, &numbers);
        let only = format!("{name} contains only the numeric columns, without {:?}", names(&others));
        let without = format!("{name} is without the index of the rows, {:?}", names(index));
        let warnings = [(only, !others.is_empty()), (without, !index.is_empty())];
        let warnings: Vec<[String; 2]> = warnings
            .into_iter()
            .filter_map(|(headline, is_true)| is_true.then(|| [headline, help.clone()]))
            .collect();
        let mut opened = self.matrix(name, numbers)?;
        opened.warnings.extend(warnings);
        Ok(opened)
    }

    /// Columns side by side.
    fn matrix(self: &Rc<Table>, name: &str, columns: Vec<usize>) -> Result<Opened, Failure> {
        if let Some(column) = columns.iter().find(|column| !self.is_numeric(**column)) {
            return Err(self.refusal(name, *column));
        }
        let (mut described, mut warnings) = (Vec::new(), Vec::new());
        for (at, column) in columns.iter().enumerate() {
            if let Kind::Numbers { class, dtype, told, .. } = &self.kinds[*column] {
                let read = profile::numbers(*class, *dtype, told.is_bare);
                described.push(self.describe(&format!("{name}[:, {at}]"), *column, &read));
                warnings.extend(self.told(name, *column)?);
            }
        }
        let row = vec![columns.len()];
        let part =
            Part { columns: columns.into(), reads: Reads::Numbers, dtype: DType::F64, row, names: None };
        let mut opened = self.opened(name, part, "");
        opened.warnings.extend(warnings);
        Ok(Opened { columns: described, ..opened })
    }

    /// A column of text: the position of each cell among the sorted texts.
    fn texts(self: &Rc<Table>, name: &str, column: usize) -> Result<Opened, Failure> {
        let texts = match &self.origin {
            Origin::Text(text) => text.texts(column)?,
            Origin::Columns(columns) => Ok(columns.texts(column)?),
        };
        let texts = texts.map_err(|found| self.undecodable(column, &found))?;
        let names: Names = texts.into_iter().collect();
        let read = format!("text, {} different", names.len());
        let (columns, reads) = (Rc::from([column]), Reads::Numbers);
        let part = Part { columns, reads, dtype: DType::I64, row: Vec::new(), names: Some(names) };
        Ok(self.opened(name, part, &read))
    }

    /// A column of dates as numbers.
    fn dates(self: &Rc<Table>, name: &str, column: usize, reads: Reads) -> Result<Opened, Failure> {
        let profile = match &self.origin {
            Origin::Text(text) => text.profile(column, reads)?,
            Origin::Columns(columns) => columns.dates(column, reads)?,
        };
        if let Some(bad) = &profile.text {
            return Err(self.bad_cell(column, bad, reads, None));
        }
        let dtype = profile.dtype();
        let unit = if reads == Reads::Days { "days" } else { "seconds" };
        let part = Part { columns: Rc::from([column]), reads, dtype, row: Vec::new(), names: None };
        let missing = if profile.has_missing() { ", some of them missing, as f64" } else { "" };
        let read = match profile.number {
            Some(_) => format!("dates, as {unit} since 1970-01-01{missing}"),
            None => profile::numbers(Class::Int, dtype, true),
        };
        Ok(self.opened(name, part, &read))
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
