//! The errors and warnings of tables: which column and cell, and what to type.

use super::cells::{Cell, Reads};
use super::numbers::{self, Spelling};
use super::{Found, Kind, Origin, Table, dates};
use crate::failure::Failure;
use broadloom::DType;
use broadloom_ir::dtype::Class;

/// A warning, and what to type.
pub type Warning = [String; 2];

/// A word in quotes for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Table {
    /// A column as it is typed for the input `name`, in quotes for a shell.
    fn typed(&self, name: &str, part: &str) -> String {
        quoted(&format!("{name}={}:{part}", self.content.path().display()))
    }

    /// The advice to choose some of the columns of a matrix.
    pub(super) fn choice(&self, name: &str, columns: &[usize]) -> String {
        let titles = || columns.iter().map(|column| self.names[*column].as_str());
        let is_list = |title: &&str| {
            let is_only = self.names.iter().filter(|other| other == title).count() == 1;
            is_only && !title.is_empty() && !title.contains([',', '*'])
        };
        let chosen: Vec<&str> = titles().filter(is_list).take(2).collect();
        let part = match chosen.as_slice() {
            [] => {
                let file = self.content.path().display();
                return format!(
                    "to silence this warning, give the columns of {file} names, and choose some of them"
                );
            }
            // Without the comma, it would not be a matrix.
            [only] => format!("{only},"),
            several => several.join(","),
        };
        format!("to silence this warning, choose columns, as in {}", self.typed(name, &part))
    }

    /// The warnings of a column that becomes f64.
    pub(super) fn told(&self, name: &str, column: usize) -> Result<Vec<Warning>, Failure> {
        let Kind::Numbers { dtype, class, told, .. } = &self.kinds[column] else { return Ok(Vec::new()) };
        let padded = self.drops_zeros(name, column, told.padded.as_ref());
        let rounded = self.rounds(name, column, *dtype, told.rounded.as_ref())?;
        let missing = match class {
            Class::Bool => self.lacks_truths(name, column, told.missing.as_ref())?,
            Class::Int | Class::Float => None,
        };
        Ok([padded, rounded, missing].into_iter().flatten().collect())
    }

    /// The warning that a truth value is missing, if one is. `found` is the first such cell of a text.
    fn lacks_truths(
        &self,
        name: &str,
        column: usize,
        found: Option<&Found>,
    ) -> Result<Option<Warning>, Failure> {
        let place = match &self.origin {
            Origin::Text(_) => found.map(|found| self.place(found)),
            Origin::Columns(columns) => columns.first_null(column)?.map(|row| format!("row {row}")),
        };
        let (file, title) = (self.content.path().display(), &self.names[column]);
        Ok(place.map(|place| {
            let what = "a truth value is missing, so the column is 1, 0 and nan, and nan counts as true";
            let help = format!("for a condition that is false where a value is missing, write `{name} == 1`");
            [format!("{file}: column {title:?}, {place}: {what}"), help]
        }))
    }

    pub(super) fn no_column(&self, name: &str) -> Failure {
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

    /// The error of a column that is not one of numbers, for the input `name`.
    pub(super) fn refusal(&self, name: &str, column: usize) -> Failure {
        let title = &self.names[column];
        let typed = |how: &str| self.typed(name, &format!("{title}{how}"));
        let not_in_matrix = |is: &str| {
            self.content.wrong(&format!("its column {title:?} {is}, which cannot be part of a matrix"))
        };
        let as_dates = |failure: Failure| failure.help_code("to read dates:", typed(":days"));
        match &self.kinds[column] {
            Kind::Text => as_dates(not_in_matrix("is text").help_code("to read it alone:", typed(""))),
            Kind::Numbers { dtype, row, .. } => {
                let sizes: String = row.iter().map(|size| format!(", {size}")).collect();
                not_in_matrix(&format!("is {dtype}[n{sizes}]")).help_code("to read it alone:", typed(""))
            }
            Kind::Dates => as_dates(self.content.wrong(&format!("its column {title:?} has dates")))
                .help_code("or with times:", typed(":seconds")),
            Kind::Mixed { other, .. } if !other.is_decoded() => self.undecodable(column, other),
            Kind::Mixed { number, other } => self
                .bad_cell(column, other, Reads::Numbers, Some(number))
                .help_code("to read the column as text:", typed(":text")),
            Kind::Dressed(found) => {
                self.dressed(column, found).help_code("to read the column as text:", typed(":text"))
            }
            Kind::Foreign { found, help } => {
                self.content.wrong(&format!("its column {title:?} {found}")).help(help)
            }
        }
    }

    /// The error of a cell that cannot be read in one way, beside a cell that can.
    pub(super) fn bad_cell(&self, column: usize, bad: &Found, reads: Reads, good: Option<&Found>) -> Failure {
        let (title, text, wanted) = (&self.names[column], &bad.text, reads.wanted());
        if !bad.is_decoded() {
            return self.undecodable(column, bad);
        }
        if reads != Reads::Numbers && dates::is_leap_second(text) {
            let what = format!(
                "column {title:?}, {}: {text:?} is a leap second, which a count of seconds does not have",
                self.place(bad)
            );
            return self.content.wrong(&what).help("write the second before it, 59, or the next midnight");
        }
        let beside = good
            .map_or(String::new(), |good| format!(", and {:?} in {} is one", good.text, self.place(good)));
        let what = format!("column {title:?}, {}: {text:?} is not a {wanted}{beside}", self.place(bad));
        let failure = self.content.wrong(&what);
        // What has digits is not missing, but written in another way; `True` and `False` are not missing numbers.
        let is_truth = matches!(Reads::Numbers.read(text, &Spelling::default()), Cell::Truth(_));
        // The option separates several cells by commas.
        let is_named = !text.contains(|letter: char| letter.is_numeric() || letter == ',');
        match is_named && !is_truth {
            true => failure.help_code("if it means a missing number:", format!("--missing {}", quoted(text))),
            false => failure,
        }
    }

    /// The error of a cell with bytes that are no text, in the encoding of UTF-8.
    pub(super) fn undecodable(&self, column: usize, found: &Found) -> Failure {
        let (title, file) = (&self.names[column], self.content.path().display());
        let what = format!("column {title:?}, {}: {:?} is not valid UTF-8", self.place(found), found.text);
        let failure = self.content.wrong(&what);
        failure.help_code("convert the file:", format!("iconv -f LATIN1 -t UTF-8 {file}"))
    }

    /// The error of a number that is written for people.
    pub(super) fn dressed(&self, column: usize, found: &Found) -> Failure {
        let text = &found.text;
        let (title, dress) = (&self.names[column], numbers::dress(text).unwrap_or("an unusual form"));
        let what = format!(
            "column {title:?}, {}: {text:?} has {dress}, so it is not read as a number",
            self.place(found)
        );
        let failure = self.content.wrong(&what);
        let options = numbers::options(text);
        match options.is_empty() {
            true => failure.help("write it with digits and a point, as in 1234.5"),
            false => options
                .into_iter()
                .fold(failure, |failure, (sentence, code)| failure.help_code(sentence, code)),
        }
    }

    /// The warning that f64 does not hold a number of a column of some dtype, if it does not. `found` is the first such number
    /// of a text.
    pub(super) fn rounds(
        &self,
        name: &str,
        column: usize,
        dtype: DType,
        found: Option<&(Found, &'static str)>,
    ) -> Result<Option<Warning>, Failure> {
        let (file, title) = (self.content.path().display(), &self.names[column]);
        let (place, what, help) = match &self.origin {
            Origin::Text(_) => {
                let Some((found, becomes)) = found else { return Ok(None) };
                (self.place(found), format!("{} is {becomes}", found.text), self.as_text(name, column))
            }
            Origin::Columns(columns) => {
                let Some((row, integer)) = columns.first_rounded(column, dtype)? else { return Ok(None) };
                let help = "to keep all digits, write the column without nulls, and read it alone";
                (format!("row {row}"), format!("{integer} is rounded to f64"), help.to_owned())
            }
        };
        Ok(Some([format!("{file}: column {title:?}, {place}: {what}"), help]))
    }

    /// The warning that the first number with zeros before it loses them, if there is one.
    pub(super) fn drops_zeros(&self, name: &str, column: usize, padded: Option<&Found>) -> Option<Warning> {
        let (file, title, padded) = (self.content.path().display(), &self.names[column], padded?);
        let what = format!("{} is read without its leading zeros", padded.text);
        let warning = format!("{file}: column {title:?}, {}: {what}", self.place(padded));
        Some([warning, self.as_text(name, column)])
    }

    /// How to read a column that only looks like numbers.
    fn as_text(&self, name: &str, column: usize) -> String {
        let typed = self.typed(name, &format!("{}:text", self.names[column]));
        format!("if it is a name and not a count, read the column as text: {typed}")
    }

    /// Where a cell is.
    fn place(&self, Found { row, at, .. }: &Found) -> String {
        match self.origin {
            Origin::Text(_) => format!("row {row} (line {})", self.content.line(*at)),
            Origin::Columns(_) => format!("row {row}"),
        }
    }
}
