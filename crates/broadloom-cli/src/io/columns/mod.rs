//! Files of columns: Parquet and Arrow IPC.
//!
//! `broadloom-arrow` says which columns are arrays. Programs have no nulls here: a null number is nan, as a missing cell of
//! a .csv is.

mod cells;
mod guard;
mod ipc;
mod parquet;
mod sink;
mod thrift;

use super::content::Content;
use super::format::ColumnFormat;
use super::sink::{Heads, Sink, bytes};
use super::source::DAMAGED;
use super::table::cells::{Cell, Reads};
use super::table::numbers::Spelling;
use super::table::reading::{Elements, Part};
use super::table::{Described, Kind, Profile, Told};
use crate::failure::Failure;
use ::bytes::Bytes;
use arrow_array::{Array as _, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use broadloom::{AnyArray, DType};
use broadloom_arrow::{Column, ColumnError, ColumnType};
use broadloom_ir::dtype::{AnyNumber, Class, Element, Scalar};
use broadloom_ir::for_each_dtype;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Debug};
use std::io::Write;
use std::rc::Rc;

/// The approximate bytes of the batches that are read from a Parquet file, and the most rows in one.
const BATCH: usize = 8 << 20;
const MOST_ROWS: usize = 1 << 16;
/// The approximate bytes of a text, a date, or anything else that is not an array.
const CELL: usize = 64;
/// The most elements in a row.
const WIDEST: usize = 1 << 24;
/// The key in the metadata of a field whose type cannot be read, with its name.
const UNREADABLE: &str = "broadloom.unreadable";

#[derive(Debug)]
enum File {
    Parquet(parquet::File),
    Ipc(ipc::File),
}

/// The columns of a file.
#[derive(Debug)]
pub struct Columns {
    content: Rc<Content>,
    file: File,
    spelling: Spelling,
}

/// Batches of rows. They end after the first error.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Failure>>>;

/// The destination of results with these names as columns of a file.
///
/// # Errors
/// Returns an error in a program that is built without the feature `arrow`.
pub fn create(
    out: impl Write + Send + 'static,
    format: ColumnFormat,
    results: Vec<String>,
    heads: Heads,
) -> Result<Box<dyn Sink>, Failure> {
    Ok(Box::new(sink::Columns::new(out, format, results, heads)))
}

impl Columns {
    /// Finds out the columns of a file.
    ///
    /// # Errors
    /// Returns an error if the file is damaged, or cannot be read.
    pub fn open(
        content: &Rc<Content>,
        format: ColumnFormat,
        spelling: &Spelling,
    ) -> Result<(Columns, Described), Failure> {
        let failed = |what: String| damaged(content, &what);
        let bytes = Bytes::from_owner(content.all().map_err(|error| content.unreadable(&error))?);
        let (file, rows) = match format {
            ColumnFormat::Ipc => {
                let file = ipc::File::open(bytes).map_err(failed)?;
                let rows = file.rows();
                (File::Ipc(file), rows)
            }
            ColumnFormat::Parquet => {
                let file = parquet::File::open(bytes).map_err(failed)?;
                let rows = file.rows().map_err(failed)?;
                (File::Parquet(file), rows)
            }
        };
        let columns = Columns { content: content.clone(), file, spelling: spelling.clone() };
        let names = columns.fields().map(|field| field.name().clone()).collect();
        let kinds = columns.fields().enumerate().map(|(at, field)| columns.kind(at, field)).collect();
        let index = columns.index();
        Ok((columns, Described { names, kinds, rows, index }))
    }

    /// The kind of a column's content.
    fn kind(&self, column: usize, field: &Field) -> Kind {
        let compression = match &self.file {
            File::Parquet(file) => file.unsupported_compression(column),
            File::Ipc(_) => None,
        };
        match compression {
            None => kind(field),
            Some(name) => Kind::Foreign {
                found: format!("is compressed with {name}, which is not supported"),
                help: "write it with zstd, snappy, lz4 or gzip".to_owned(),
            },
        }
    }

    fn schema(&self) -> &SchemaRef {
        match &self.file {
            File::Parquet(file) => file.schema(),
            File::Ipc(file) => file.schema(),
        }
    }

    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.schema().fields().iter().map(|field| &**field)
    }

    /// The columns that are the index of a frame of pandas, by its own metadata.
    fn index(&self) -> Vec<usize> {
        let pandas = self.schema().metadata().get("pandas");
        let pandas: Option<Value> = pandas.and_then(|text| serde_json::from_str(text).ok());
        let index = pandas.as_ref().and_then(|pandas| pandas.get("index_columns")?.as_array());
        // An index that is a range is not a column.
        let names: Vec<&str> = index.into_iter().flatten().filter_map(Value::as_str).collect();
        let fields = self.fields().enumerate().filter(|(_, field)| names.contains(&field.name().as_str()));
        fields.map(|(at, _)| at).collect()
    }

    /// Whether columns of integers and truth values with nulls are f64: the number of nulls of such a column.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn nulls(&self, column: usize, dtype: DType) -> Result<usize, Failure> {
        let is_nullable = self.fields().nth(column).is_some_and(may_have_nulls);
        if dtype.class() == Class::Float || !is_nullable {
            return Ok(0);
        }
        let known = match &self.file {
            File::Parquet(file) => file.nulls(column),
            File::Ipc(_) => None,
        };
        if let Some(known) = known {
            return Ok(usize::try_from(known).unwrap_or(usize::MAX));
        }
        let mut count = 0;
        self.for_each_batch(column, &mut |field, array| {
            let column = Column::new(field, array).map_err(|error| error.to_string())?;
            count += column.nulls().map_or(0, |nulls| nulls.null_count());
            Ok(true)
        })?;
        Ok(count)
    }

    /// The row, counted from 1, of the first null in a column of numbers.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn first_null(&self, column: usize) -> Result<Option<usize>, Failure> {
        let (mut before, mut found) = (0, None);
        self.for_each_batch(column, &mut |field, array| {
            let column = Column::new(field, array).map_err(|error| error.to_string())?;
            let null = column.nulls().and_then(|nulls| nulls.iter().position(|is_valid| !is_valid));
            found = null.map(|row| before + row + 1);
            before += array.len();
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Calls a function for each batch of a column, until it returns false.
    fn for_each_batch(
        &self,
        column: usize,
        each: &mut dyn FnMut(&Field, &ArrayRef) -> Result<bool, String>,
    ) -> Result<(), Failure> {
        for batch in self.batches(&[column])? {
            let batch = batch?;
            let array = batch.columns().first().zip(batch.schema_ref().fields().first());
            let goes_on = array.map_or(Ok(true), |(array, field)| each(field, array));
            if !goes_on.map_err(|what| damaged(&self.content, &what))? {
                break;
            }
        }
        Ok(())
    }

    /// The row, counted from 1, and the digits of the first integer that f64 rounds to another one. `dtype` is that of
    /// the column's elements.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn first_rounded(&self, column: usize, dtype: DType) -> Result<Option<(usize, String)>, Failure> {
        if !matches!(dtype, DType::I64 | DType::U64) {
            return Ok(None);
        }
        let (mut before, mut found) = (0, None);
        self.for_each_batch(column, &mut |field, array| {
            found =
                first_rounded(field, array)?.map(|(row, integer)| (before + row + 1, integer.to_string()));
            before += array.len();
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    /// Whether the cells of a column can be read as texts.
    pub fn have_texts(&self, column: usize) -> bool {
        self.fields().nth(column).is_some_and(|field| cells::have_texts(field.data_type()))
    }

    /// The distinct texts of a column, also of integers and truth values; a null is the empty text.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn texts(&self, column: usize) -> Result<BTreeSet<Box<str>>, Failure> {
        let mut texts: BTreeSet<Box<str>> = BTreeSet::new();
        self.for_each_batch(column, &mut |_, array| {
            for text in cells::texts(array) {
                let text = text.unwrap_or_default();
                if !texts.contains(&*text) {
                    texts.insert((&*text).into());
                }
            }
            Ok(true)
        })?;
        Ok(texts)
    }

    /// The cells of a column of dates, of texts or of integers, read as dates.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn dates(&self, column: usize, reads: Reads) -> Result<Profile, Failure> {
        let (mut profile, mut row) = (Profile::new(), 0);
        self.for_each_batch(column, &mut |_, array| {
            for (cell, text) in cells::dates(array, reads, &self.spelling) {
                row += 1;
                profile.add(cell, &text, row, 0);
            }
            Ok(true)
        })?;
        Ok(profile)
    }

    /// Starts reading rows of some columns.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn pass(&self, columns: impl Iterator<Item = usize>) -> Result<Pass, Failure> {
        let columns: BTreeSet<usize> = columns.collect();
        let columns: Vec<usize> = columns.into_iter().collect();
        let (content, batches) = (self.content.clone(), self.batches(&columns)?);
        let spelling = self.spelling.clone();
        Ok(Pass { content, spelling, columns, batches, batch: None, codes: HashMap::new() })
    }

    /// The rows of some columns, which are given in order.
    fn batches(&self, columns: &[usize]) -> Result<Batches, Failure> {
        let content = self.content.clone();
        let failed = move |what: String| damaged(&content, &what);
        let mut has_failed = false;
        let mut until_error =
            move |batch: &Result<RecordBatch, Failure>| !std::mem::replace(&mut has_failed, batch.is_err());
        match &self.file {
            File::Parquet(file) => {
                let is_wanted = |(at, _): &(usize, &Field)| columns.contains(at);
                let width = self.fields().enumerate().filter(is_wanted).map(|(_, field)| match kind(field) {
                    Kind::Numbers { dtype, row, .. } => {
                        row.iter().product::<usize>().saturating_mul(dtype.size())
                    }
                    _ => CELL,
                });
                let width = width.fold(0, usize::saturating_add);
                let rows = (BATCH / width.max(1)).clamp(1, MOST_ROWS);
                let batches = file.batches(columns, rows).map_err(&failed)?;
                Ok(Box::new(
                    batches
                        .map(move |batch| batch.map_err(&failed))
                        .take_while(move |batch| until_error(batch)),
                ))
            }
            File::Ipc(file) => {
                let batches = file.batches(columns);
                Ok(Box::new(
                    batches
                        .map(move |batch| batch.map_err(&failed))
                        .take_while(move |batch| until_error(batch)),
                ))
            }
        }
    }
}

fn damaged(content: &Content, what: &str) -> Failure {
    content.wrong(what).help(DAMAGED)
}

/// Returns the kind of a column's content, by its type.
fn kind(field: &Field) -> Kind {
    let numbers =
        |dtype: DType, row: Vec<usize>, told: Told| Kind::Numbers { dtype, row, class: dtype.class(), told };
    let foreign = |found: &str, help: String| Kind::Foreign { found: format!("has the type {found}"), help };
    if let Some(name) = field.metadata().get(UNREADABLE) {
        return foreign(name, "cast it to Int64 or Float64 first".to_owned());
    }
    let found = field.data_type();
    match ColumnType::of(field) {
        Ok(kind) => match kind.sizes() {
            // An array has one shape, and only the data tell how long lists are.
            None => foreign(&found.to_string(), of_lists(found)),
            Some(row) if kind.elements().is_some_and(|elements| (1..=WIDEST).contains(&elements)) => {
                numbers(kind.dtype, row, Told::default())
            }
            Some(_) => {
                foreign(&kind.to_string(), format!("choose a column with 1 to {WIDEST} elements in a row"))
            }
        },
        Err(error) => match (found, error) {
            // All of it is null, and nulls are nan.
            (DataType::Null, _) => numbers(DType::F64, Vec::new(), Told { is_bare: true, ..Told::default() }),
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, _) => Kind::Text,
            (DataType::Date32 | DataType::Date64 | DataType::Timestamp(..), _) => Kind::Dates,
            (_, ColumnError::Unsupported { help, .. }) => foreign(&found.to_string(), help),
            (_, error) => foreign(&found.to_string(), error.to_string()),
        },
    }
}

/// What to do with lists whose length is not part of their type.
fn of_lists(found: &DataType) -> String {
    let item = match found {
        DataType::List(item) | DataType::LargeList(item) => item.data_type(),
        other => other,
    };
    format!(
        "its rows differ in length; cast it to a fixed-size list, in SQL with `arrow_cast(.., 'FixedSizeList(3, {item})')`"
    )
}

/// The field of a column whose values are stored once, in a dictionary, such as a categorical of pandas: it is read as a column
/// of its values.
fn without_dictionary(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Dictionary(_, values) if cells::have_texts(values) || values.is_primitive() => {
            FieldRef::new(field.as_ref().clone().with_data_type((**values).clone()).with_nullable(true))
        }
        _ => field.clone(),
    }
}

/// Whether a field or the elements of its lists may be null.
fn may_have_nulls(field: &Field) -> bool {
    field.is_nullable()
        || match field.data_type() {
            DataType::FixedSizeList(item, _) => may_have_nulls(item),
            _ => false,
        }
}

/// A pass over the rows of a file.
pub struct Pass {
    content: Rc<Content>,
    spelling: Spelling,
    /// The columns of the batches.
    columns: Vec<usize>,
    batches: Batches,
    /// The remaining rows of the current batch.
    batch: Option<RecordBatch>,
    /// The codes of the texts of the inputs, by their positions.
    codes: HashMap<usize, HashMap<Box<str>, i64>>,
}

impl Debug for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a pass over {}", self.content.name())
    }
}

impl Pass {
    /// Reads further rows, at most `rows` or all that are left.
    ///
    /// # Errors
    /// Returns an error if the file is damaged.
    pub fn fill(&mut self, mut rows: usize, wanted: &mut [(Part, Elements)]) -> Result<(), Failure> {
        while rows > 0 {
            let batch = match self.batch.take() {
                Some(batch) => batch,
                None => match self.batches.next() {
                    Some(batch) => batch?,
                    None => return Ok(()),
                },
            };
            let count = rows.min(batch.num_rows());
            let part = batch.slice(0, count);
            if count < batch.num_rows() {
                self.batch = Some(batch.slice(count, batch.num_rows() - count));
            }
            for (at, (input, elements)) in wanted.iter_mut().enumerate() {
                self.add(at, input, &part, elements)?;
            }
            rows -= count;
        }
        Ok(())
    }

    /// Adds the rows of a batch to the elements of an input.
    fn add(
        &mut self,
        at: usize,
        input: &Part,
        batch: &RecordBatch,
        to: &mut Elements,
    ) -> Result<(), Failure> {
        let place = |column: &usize| {
            let place = self.columns.binary_search(column).ok()?;
            Some((batch.schema_ref().fields().get(place)?, batch.columns().get(place)?))
        };
        let columns: Vec<_> = input.columns.iter().filter_map(place).collect();
        let failed = |what: String| damaged(&self.content, &what);
        match columns.as_slice() {
            [(field, array)] => match (&input.names, input.reads) {
                (Some(names), _) => {
                    let codes =
                        self.codes.entry(at).or_insert_with(|| names.iter().cloned().zip(0..).collect());
                    for text in cells::texts(array) {
                        let code = codes.get(&*text.unwrap_or_default());
                        to.push(code.map_or(Cell::Text, |code| Cell::Int(*code)));
                    }
                    Ok(())
                }
                (None, Reads::Days | Reads::Seconds) => {
                    cells::dates(array, input.reads, &self.spelling).for_each(|(cell, _)| to.push(cell));
                    Ok(())
                }
                (None, Reads::Numbers) => numbers(field, array, to).map_err(failed),
            },
            several => {
                let mut sides = Vec::new();
                for (field, array) in several {
                    let mut side = Elements::of(to.dtype());
                    numbers(field, array, &mut side).map_err(failed)?;
                    sides.push(side);
                }
                to.interleave(&sides);
                Ok(())
            }
        }
    }
}

/// Adds the elements of a column of numbers, converted to f64 if those of the input are; rows that are null become nan.
fn numbers(field: &Field, array: &ArrayRef, to: &mut Elements) -> Result<(), String> {
    if *array.data_type() == DataType::Null {
        (0..array.len()).for_each(|_| to.push(Cell::Missing));
        return Ok(());
    }
    let column = Column::new(field, array).map_err(|error| error.to_string())?;
    let elements = column.to_array().map_err(|error| error.to_string())?;
    let start = to.bytes().len();
    match (elements.dtype() == to.dtype(), to.dtype()) {
        (true, _) => to.extend(bytes(&elements)),
        (false, DType::F64) => to.extend(bytemuck::cast_slice(&floats(&elements))),
        (false, _) => return Err(format!("the column {:?} has another type in some rows", field.name())),
    }
    let Some(nulls) = column.nulls() else { return Ok(()) };
    if to.dtype().class() != Class::Float {
        return Err(format!("the column {:?} has nulls, but its statistics have none", field.name()));
    }
    let each = column.elements();
    let valid = nulls.iter();
    for row in valid.enumerate().filter(|(_, is_valid)| !is_valid).map(|(row, _)| row) {
        to.set_nan(start, row * each..(row + 1) * each);
    }
    Ok(())
}

/// The first integer that f64 rounds to another one, and its row. What lies under a null does not count.
fn first_rounded(field: &Field, array: &ArrayRef) -> Result<Option<(usize, i128)>, String> {
    let column = Column::new(field, array).map_err(|error| error.to_string())?;
    let elements = column.to_array().map_err(|error| error.to_string())?;
    let integers: Box<dyn Iterator<Item = i128>> =
        match (elements.as_slice::<i64>(), elements.as_slice::<u64>()) {
            (Some(integers), _) => Box::new(integers.iter().copied().map(i128::from)),
            (None, Some(integers)) => Box::new(integers.iter().copied().map(i128::from)),
            (None, None) => return Ok(None),
        };
    let each = column.elements();
    let mut found =
        integers.enumerate().map(|(at, integer)| (at / each, integer)).filter(|(row, integer)| {
            (*integer as f64) as i128 != *integer && column.nulls().is_none_or(|nulls| nulls.is_valid(*row))
        });
    Ok(found.next())
}

/// The elements as f64.
fn floats(array: &AnyArray) -> Vec<f64> {
    fn float(value: Scalar) -> f64 {
        match value.number() {
            AnyNumber::Int(int) => int as f64,
            AnyNumber::Float(float) => float,
        }
    }
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(DType::$variant => {
                    let elements = array.as_slice::<$rust>().unwrap_or_default();
                    elements.iter().map(|element| float(element.into_scalar())).collect()
                })*
            }
        };
    }
    for_each_dtype!(typed)
}
