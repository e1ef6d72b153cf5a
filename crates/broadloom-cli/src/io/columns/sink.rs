//! Writes results as columns.

use crate::io::format::ColumnFormat;
use crate::io::sink::{Heads, Sink};
use crate::io::table::Names;
use crate::print;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use broadloom::{AnyArray, Array, IntoArrayView};
use broadloom_arrow::{ColumnType, column_of_array};
use broadloom_ir::for_each_dtype;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::io::{self, Write};
use std::sync::Arc;

/// The rows of a batch in a file.
const ROWS: usize = 1 << 16;
/// The bytes of encoded rows after which they are written, as one row group.
const GROUP: usize = 128 << 20;

/// A file that is being written.
enum File<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Ipc(Box<FileWriter<W>>),
}

/// A Parquet or Arrow IPC file: a column for each result, or for each named column of the only result.
pub struct Columns<W: Write + Send> {
    format: ColumnFormat,
    results: Vec<String>,
    heads: Heads,
    /// The file, from the first rows on, which show the shapes. Until then, its place.
    file: Result<File<W>, Option<W>>,
    /// The number of rows written.
    done: usize,
}

impl<W: Write + Send> Columns<W> {
    /// A file of results with these names.
    pub fn new(out: W, format: ColumnFormat, results: Vec<String>, heads: Heads) -> Columns<W> {
        Columns { format, results, heads, file: Err(Some(out)), done: 0 }
    }

    /// The columns, by their names.
    fn columns(&self, results: &[Option<&AnyArray>]) -> io::Result<Vec<(Field, ArrayRef)>> {
        let mut arrays: Vec<(&str, AnyArray, Option<&Names>)> = Vec::new();
        for (at, (name, array)) in self.results.iter().zip(results).enumerate() {
            let Some(array) = *array else { continue };
            let texts = self.heads.texts.get(at).and_then(Option::as_ref);
            match &self.heads.columns {
                Some(heads) if array.shape().len() == 2 && self.results.len() == 1 => {
                    let sides = heads
                        .iter()
                        .enumerate()
                        .map(|(at, head)| Ok((head.as_str(), side(array, at)?, texts)));
                    arrays.extend(sides.collect::<io::Result<Vec<_>>>()?);
                }
                _ => arrays.push((name, array.clone(), texts)),
            }
        }
        let rows = |array: &AnyArray| array.shape().first().copied().unwrap_or(1);
        if let [(first, one, _), others @ ..] = arrays.as_slice()
            && let Some((other, another, _)) =
                others.iter().find(|(_, another, _)| rows(another) != rows(one))
        {
            let (one, another) = (rows(one), rows(another));
            return Err(io::Error::other(format!(
                "its columns need equal numbers of rows, but {first:?} has {one}, and {other:?} has {another}: \
                 write each to its own file with -o NAME=FILE"
            )));
        }
        let mut columns: Vec<(Field, ArrayRef)> = Vec::new();
        if let (Some(label), Some((_, array, _))) = (&self.heads.rows, arrays.first()) {
            let names = label.names.iter().skip(self.done).take(rows(array)).map(|name| &**name);
            let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
            columns.push((Field::new(&label.of, DataType::Utf8, false), names));
        }
        for (name, array, texts) in arrays {
            if let Some(texts) = texts {
                let view = array.into_array_view();
                let count = rows(&array);
                let index = |row: usize| if view.shape().is_empty() { Vec::new() } else { vec![row] };
                let cells =
                    (0..count).filter_map(|row| Some(print::text(view.scalar_at(&index(row))?, texts)));
                columns.push((
                    Field::new(name, DataType::Utf8, false),
                    Arc::new(StringArray::from_iter_values(cells)),
                ));
                continue;
            }
            let kind = ColumnType::fixed(array.dtype(), array.shape().get(1..).unwrap_or_default());
            let field = kind.field(name, false).map_err(io::Error::other)?;
            columns.push((field, column_of_array(name, array).map_err(io::Error::other)?));
        }
        Ok(columns)
    }

    fn open(format: ColumnFormat, out: W, schema: SchemaRef) -> io::Result<File<W>> {
        match format {
            ColumnFormat::Ipc => FileWriter::try_new(out, &schema)
                .map(|writer| File::Ipc(Box::new(writer)))
                .map_err(io::Error::other),
            ColumnFormat::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let writer = ArrowWriter::try_new(out, schema, Some(properties)).map_err(io::Error::other)?;
                Ok(File::Parquet(Box::new(writer)))
            }
        }
    }
}

impl<W: Write + Send> Sink for Columns<W> {
    fn push(&mut self, results: &[Option<&AnyArray>]) -> io::Result<()> {
        let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = self.columns(results)?.into_iter().unzip();
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(io::Error::other)?;
        if let Err(out) = &mut self.file
            && let Some(out) = out.take()
        {
            self.file = Ok(Self::open(self.format, out, schema)?);
        }
        let Ok(file) = &mut self.file else { return Ok(()) };
        for start in (0..batch.num_rows()).step_by(ROWS) {
            let part = batch.slice(start, ROWS.min(batch.num_rows() - start));
            match file {
                File::Ipc(writer) => writer.write(&part).map_err(io::Error::other)?,
                File::Parquet(writer) => {
                    writer.write(&part).map_err(io::Error::other)?;
                    if writer.in_progress_size() > GROUP {
                        writer.flush().map_err(io::Error::other)?;
                    }
                }
            }
        }
        self.done += batch.num_rows();
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        match self.file {
            Ok(File::Ipc(writer)) => writer.into_inner().map_err(io::Error::other)?.flush(),
            Ok(File::Parquet(writer)) => writer.into_inner().map_err(io::Error::other)?.flush(),
            Err(_) => Err(io::Error::other("there are no rows, so the types of its columns are not known")),
        }
    }
}

/// A column of a matrix.
fn side(array: &AnyArray, column: usize) -> io::Result<AnyArray> {
    let width = array.shape().get(1).copied().unwrap_or(1).max(1);
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(broadloom::DType::$variant => {
                    let elements = array.as_slice::<$rust>().unwrap_or_default().iter();
                    let elements: Vec<$rust> = elements.skip(column).step_by(width).copied().collect();
                    let rows = elements.len();
                    Array::new(elements, &[rows]).map(AnyArray::from)
                })*
            }
        };
    }
    for_each_dtype!(typed).map_err(io::Error::other)
}
