//! Writes results to files, some rows at a time.

use super::npy;
use super::table::numbers::Spelling;
use super::table::{Names, has_text, looks_like_rows};
use crate::labels::Label;
use crate::print;
use broadloom::{AnyArray, ArrayView, DType, IntoArrayView};
use broadloom_ir::for_each_dtype;
use jpeg_encoder::SamplingFactor;
use png::{BitDepth, ColorType};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A destination of results.
pub trait Sink {
    /// Takes further rows, one part for each result in order, or `None` for results without new rows. A result
    /// without axes comes at once.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()>;

    /// Completes the file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The elements in row-major order, as in memory.
pub fn bytes(array: &AnyArray) -> &[u8] {
    macro_rules! typed {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match array.dtype() {
                $(DType::$variant => array.as_slice::<$rust>().map_or(&[], |elements| bytemuck::cast_slice(elements)),)*
            }
        };
    }
    for_each_dtype!(typed)
}

/// The sizes of all rows pushed so far.
#[derive(Debug, Default)]
struct Shape(Option<Vec<usize>>);

impl Shape {
    fn push(&mut self, rows: &AnyArray) {
        match &mut self.0 {
            None => self.0 = Some(rows.shape().to_vec()),
            Some(shape) => {
                if let (Some(total), Some(more)) = (shape.first_mut(), rows.shape().first()) {
                    *total += more;
                }
            }
        }
    }
}

/// Raw elements.
#[derive(Debug)]
pub struct Raw<W>(pub W);

impl<W: Write> Sink for Raw<W> {
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()> {
        rows.iter().flatten().try_for_each(|rows| self.0.write_all(bytes(rows)))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

/// A .npy file. Its header is rewritten once the number of rows is known.
#[derive(Debug)]
pub struct Npy<W> {
    out: W,
    shape: Shape,
}

impl<W: Write + Seek> Npy<W> {
    pub fn new(out: W) -> Npy<W> {
        Npy { out, shape: Shape::default() }
    }

    fn add(&mut self, rows: &AnyArray) -> io::Result<()> {
        if self.shape.0.is_none() {
            self.out.write_all(&npy::header(rows.dtype(), rows.shape()))?;
        }
        self.shape.push(rows);
        self.out.write_all(bytes(rows))
    }

    fn complete(mut self, dtype: DType) -> io::Result<W> {
        if let Some(shape) = &self.shape.0 {
            self.out.seek(SeekFrom::Start(0))?;
            self.out.write_all(&npy::header(dtype, shape))?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A .npy file with the only result.
#[derive(Debug)]
pub struct NpyFile<W> {
    pub npy: Npy<W>,
    pub dtype: DType,
}

impl<W: Write + Seek> Sink for NpyFile<W> {
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()> {
        rows.iter().flatten().try_for_each(|rows| self.npy.add(rows))
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.npy.complete(self.dtype).map(drop)
    }
}

/// A writer that ignores everything after its first error. An archive that is dropped after an error tries to complete
/// itself, and would print the errors of that.
#[derive(Debug)]
struct Once<W> {
    out: W,
    has_failed: bool,
    at: u64,
}

impl<W> Once<W> {
    fn new(out: W) -> Once<W> {
        Once { out, has_failed: false, at: 0 }
    }

    fn tried<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.has_failed = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write> Write for Once<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = if self.has_failed { Ok(bytes.len()) } else { self.out.write(bytes) };
        self.at += *result.as_ref().unwrap_or(&0) as u64;
        if self.has_failed { result } else { self.tried(result) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let result = self.out.flush();
        self.tried(result)
    }
}

impl<W: Seek> Seek for Once<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if self.has_failed {
            self.at = match to {
                SeekFrom::Start(at) => at,
                SeekFrom::Current(by) => self.at.saturating_add_signed(by),
                SeekFrom::End(_) => self.at,
            };
            return Ok(self.at);
        }
        let result = self.out.seek(to);
        self.at = *result.as_ref().unwrap_or(&self.at);
        self.tried(result)
    }
}

/// An .npz file. Its arrays first go to unnamed files, because rows of all arrays arrive in turns.
pub struct Npz<W: Write + Seek> {
    out: ZipWriter<Once<W>>,
    arrays: Vec<(String, DType, Npy<BufWriter<File>>)>,
}

impl<W: Write + Seek> Npz<W> {
    /// Creates it in a folder with enough space.
    ///
    /// # Errors
    /// Returns an error if files cannot be made there.
    pub fn new(out: W, results: &[(String, DType)], folder: &Path) -> io::Result<Npz<W>> {
        let array = |(name, dtype): &(String, DType)| {
            Ok((name.clone(), *dtype, Npy::new(BufWriter::new(tempfile::tempfile_in(folder)?))))
        };
        let arrays = results.iter().map(array).collect::<io::Result<_>>()?;
        Ok(Npz { out: ZipWriter::new(Once::new(out)), arrays })
    }
}

impl<W: Write + Seek> Sink for Npz<W> {
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()> {
        let mut arrays = self.arrays.iter_mut().zip(rows);
        arrays.try_for_each(|((_, _, array), rows)| rows.map_or(Ok(()), |rows| array.add(rows)))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        // NumPy does not compress by default either.
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        for (name, dtype, array) in self.arrays {
            self.out.start_file(format!("{name}.npy"), options)?;
            let mut array = array.complete(dtype)?;
            array.seek(SeekFrom::Start(0))?;
            let mut file = array.into_inner()?;
            io::copy(&mut file, &mut self.out)?;
        }
        self.out.finish()?.flush()
    }
}

/// The names of a table's rows and columns.
#[derive(Debug, Clone, Default)]
pub struct Heads {
    /// The groups that the rows are.
    pub rows: Option<Label>,
    /// The columns, if a matrix has names for them.
    pub columns: Option<Vec<String>>,
    /// For each result, the texts that its elements index if it is text.
    pub texts: Vec<Option<Names>>,
}

/// The number of cells that a thread writes at a time.
const BLOCK: usize = 1 << 14;
/// The number of blocks that are in memory at a time, for each thread.
const BLOCKS: usize = 4;

/// A table as text: one result of up to two axes, or several columns with a header. What cannot be read back is refused.
pub struct Table<W: Write> {
    out: W,
    delimiter: u8,
    /// The names of the columns, until they are written.
    header: Option<Vec<String>>,
    has_header: bool,
    /// The number of columns of a matrix, from the first rows on.
    width: Option<usize>,
    /// The names of the rows, and the number of rows written.
    rows: Option<Label>,
    done: usize,
    /// The texts of results that are text.
    texts: Vec<Option<Names>>,
}

impl<W: Write> Table<W> {
    pub fn new(out: W, header: Option<Vec<String>>, heads: Heads, delimiter: u8) -> Table<W> {
        let Heads { rows, texts, .. } = heads;
        Table { out, delimiter, header, has_header: false, width: None, rows, done: 0, texts }
    }

    /// Writes the header, if there is one, before the first rows. A matrix of texts, or with names of rows, needs one too: its first row would be
    /// read as names.
    fn begin(&mut self, width: usize) -> io::Result<bool> {
        let has_texts = self.rows.is_some() || self.texts.iter().any(Option::is_some);
        let header = match self.header.take() {
            Some(header) => header,
            None if has_texts => self.numbered(width),
            None => return Ok(false),
        };
        if !has_text(&header, &Spelling::default()) {
            return Err(io::Error::other(format!(
                "the names of its columns, {header:?}, would be read as numbers: write E.T, with E as your expression, which \
                 has them in a column"
            )));
        }
        self.names(&header).map(|()| true)
    }

    /// Names of columns that have none, as they are read from a table without a header.
    fn numbered(&self, width: usize) -> Vec<String> {
        let of = self.rows.as_ref().map(|label| label.of.clone());
        let start = usize::from(of.is_some());
        of.into_iter().chain((start..start + width).map(|at| format!("c{at}"))).collect()
    }

    /// Writes a row of names.
    fn names(&mut self, names: &[String]) -> io::Result<()> {
        let mut lines = Lines::new(self.delimiter);
        names.iter().try_for_each(|name| lines.text(name))?;
        lines.end()?;
        self.out.write_all(&lines.written()?)
    }
}

impl<W: Write> Sink for Table<W> {
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()> {
        if self.width.is_none() {
            let first = rows.iter().copied().flatten().next();
            let width = first.and_then(|array| array.shape().get(1).copied()).unwrap_or(1);
            self.width = Some(width);
            self.has_header = self.begin(width)?;
        }
        let texts = self.texts.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        let columns = rows.iter().zip(texts).filter_map(|(rows, texts)| {
            let rows = (*rows)?;
            Some(Column { rank: rows.shape().len().min(2), view: rows.into_array_view(), texts })
        });
        let columns: Vec<Column<'_>> = columns.collect();
        let rows = columns.iter().map(Column::length).max().unwrap_or(0);
        let cells = columns.iter().map(Column::width).sum::<usize>().max(1);
        let block = (BLOCK / cells).max(1);
        let (first, names, delimiter) =
            (self.done, self.rows.as_ref().map(|label| &label.names), self.delimiter);
        let lines = |start: usize| {
            let mut lines = Lines::new(delimiter);
            for row in start..rows.min(start + block) {
                if let Some(names) = names {
                    lines.text(names.get(first + row).map_or("", |name| name))?;
                }
                for column in &columns {
                    column.write(row, &mut lines)?;
                }
                lines.end()?;
            }
            lines.written()
        };
        let starts: Vec<usize> = (0..rows).step_by(block).collect();
        for some in starts.chunks(BLOCKS * rayon::current_num_threads()) {
            let written: Vec<io::Result<Vec<u8>>> = some.par_iter().map(|start| lines(*start)).collect();
            for lines in written {
                self.out.write_all(&lines?)?;
            }
        }
        self.done += rows;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        // Without rows and names, the file would be empty, which is not a table.
        if let (Some(width), 0, false) = (self.width, self.done, self.has_header) {
            self.names(&self.numbered(width))?;
        }
        self.out.flush()
    }
}

/// A result of up to two axes, as columns of a table.
struct Column<'r> {
    view: ArrayView<'r>,
    rank: usize,
    texts: Option<&'r Names>,
}

impl Column<'_> {
    fn length(&self) -> usize {
        self.view.shape().first().copied().unwrap_or(1)
    }

    fn width(&self) -> usize {
        self.view.shape().get(1).copied().unwrap_or(1)
    }

    /// Writes its cells of a row.
    fn write(&self, row: usize, lines: &mut Lines) -> io::Result<()> {
        for column in 0..self.width() {
            let index = [row, column];
            let cell = self.view.scalar_at(index.get(..self.rank).unwrap_or_default());
            match (cell, self.texts) {
                (Some(code), Some(texts)) => lines.text(print::text(code, texts))?,
                (cell, _) => lines.number(&cell.map_or(String::new(), broadloom::print::exact))?,
            }
        }
        Ok(())
    }
}

/// Lines of a table as text.
struct Lines {
    out: csv::Writer<Vec<u8>>,
    delimiter: u8,
}

impl Lines {
    fn new(delimiter: u8) -> Lines {
        Lines { out: csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new()), delimiter }
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        if looks_like_rows(text, self.delimiter) {
            return Err(io::Error::other(format!(
                "the text {text:?} has a tab and a new line, which a .tsv cannot hold: write the table as .csv"
            )));
        }
        self.number(text)
    }

    fn number(&mut self, number: &str) -> io::Result<()> {
        Ok(self.out.write_field(number)?)
    }

    /// Ends a row.
    fn end(&mut self) -> io::Result<()> {
        Ok(self.out.write_record(None::<&[u8]>)?)
    }

    fn written(self) -> io::Result<Vec<u8>> {
        self.out.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// A picture of u8, which is written as a whole.
#[derive(Debug)]
pub struct Picture<W> {
    out: W,
    shape: Shape,
    pixels: Vec<u8>,
    /// The quality of a .jpg; a .png is lossless.
    quality: Option<u8>,
}

impl<W: Write> Picture<W> {
    pub fn png(out: W) -> Picture<W> {
        Picture { out, shape: Shape::default(), pixels: Vec::new(), quality: None }
    }

    pub fn jpeg(out: W, quality: u8) -> Picture<W> {
        Picture { quality: Some(quality), ..Picture::png(out) }
    }
}

impl<W: Write> Sink for Picture<W> {
    fn push(&mut self, rows: &[Option<&AnyArray>]) -> io::Result<()> {
        for rows in rows.iter().flatten() {
            self.shape.push(rows);
            self.pixels.extend(bytes(rows));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let shape = self.shape.0.unwrap_or_default();
        let (height, width, color) = match (shape.as_slice(), self.quality) {
            ([height, width] | [height, width, 1], _) => (height, width, ColorType::Grayscale),
            ([height, width, 3], _) => (height, width, ColorType::Rgb),
            ([height, width, 2], None) => (height, width, ColorType::GrayscaleAlpha),
            ([height, width, 4], None) => (height, width, ColorType::Rgba),
            (_, None) => {
                return Err(io::Error::other(format!(
                    "the shape {shape:?} is not that of a picture: [H, W], [H, W, 3] or [H, W, 4]"
                )));
            }
            (_, Some(_)) => {
                return Err(io::Error::other(format!(
                    "the shape {shape:?} does not fit a .jpg, which has no transparency: use [H, W] or [H, W, 3]"
                )));
            }
        };
        if *height == 0 || *width == 0 {
            return Err(io::Error::other(format!("a picture of shape {shape:?} has no pixels")));
        }
        match self.quality {
            None => {
                let size = |size: &usize| u32::try_from(*size).map_err(io::Error::other);
                let mut encoder = png::Encoder::new(&mut self.out, size(width)?, size(height)?);
                encoder.set_color(color);
                encoder.set_depth(BitDepth::Eight);
                let mut writer = encoder.write_header().map_err(io::Error::other)?;
                writer.write_image_data(&self.pixels).map_err(io::Error::other)?;
                writer.finish().map_err(io::Error::other)?;
            }
            Some(quality) => {
                let size = |size: &usize| {
                    let most =
                        format!("a .jpg has at most {} pixels in a row or column, not {size}", u16::MAX);
                    u16::try_from(*size).map_err(|_| io::Error::other(most))
                };
                let color = match color {
                    ColorType::Grayscale => jpeg_encoder::ColorType::Luma,
                    _ => jpeg_encoder::ColorType::Rgb,
                };
                let mut encoder = jpeg_encoder::Encoder::new(&mut self.out, quality);
                encoder.set_sampling_factor(SamplingFactor::R_4_4_4);
                encoder.encode(&self.pixels, size(width)?, size(height)?, color).map_err(io::Error::other)?;
            }
        }
        self.out.flush()
    }
}
