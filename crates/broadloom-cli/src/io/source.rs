//! Inputs: what they are, and their elements.

use super::argument::{Argument, raw_layout};
use super::memory::{Array, Memory, Owned, bytes_of, open, too_large, unreadable};
use super::npy::{Fix, Header, Unreadable};
use super::picture::Picture;
use super::table::Table;
use crate::failure::Failure;
use broadloom::{ArrayView, DType, Scalar};
use flate2::read::DeflateDecoder;
use image::ImageFormat;
use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use zip::{CompressionMethod, ZipArchive};

/// An input. What it is, is known before its elements are read.
pub trait Source: Debug {
    fn dtype(&self) -> DType;

    fn shape(&self) -> &[usize];

    /// The elements.
    ///
    /// # Errors
    /// If the file is damaged, or there is no memory for them.
    fn load(&self) -> Result<Array, Failure>;

    /// The elements row by row, from the first one. All inputs that are read together are asked for their rows before
    /// any of them is read.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        Ok(Box::new(self.load()?.into_rows()))
    }
}

/// Rows of an input: parts along its leading axis.
pub trait Rows {
    /// The next rows: `count` of them, or what is left.
    ///
    /// # Errors
    /// If the file is damaged, or there is no memory for them.
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure>;
}

/// Rows of what is in memory or mapped.
struct ArrayRows {
    array: Array,
    at: usize,
}

impl Array {
    pub fn into_rows(self) -> impl Rows {
        ArrayRows { array: self, at: 0 }
    }
}

impl Rows for ArrayRows {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let length = self.array.shape().first().copied().unwrap_or(0);
        let (start, end) = (self.at, self.at.saturating_add(count).min(length));
        self.at = end;
        self.array.rows(start..end).map_err(Failure::data)
    }
}

/// Rows of elements in row-major order that are read from somewhere.
struct ByteRows<R> {
    from: R,
    dtype: DType,
    shape: Vec<usize>,
    /// What errors call it.
    name: String,
    chunk: Option<Array>,
}

impl<R: Read> Rows for ByteRows<R> {
    fn next(&mut self, count: usize) -> Result<ArrayView<'_>, Failure> {
        let failed = |what: String| Failure::data(format!("{}: {what}", self.name)).help(DAMAGED);
        let mut shape = self.shape.clone();
        if let (Some(rows), Some(left)) = (shape.first_mut(), self.shape.first_mut()) {
            *rows = count.min(*left);
            *left -= *rows;
        }
        let length = bytes_of(self.dtype, &shape).ok_or_else(|| failed(too_large(self.dtype, &shape)))?;
        let owned = Owned::read(&mut self.from, length).map_err(|error| failed(error.to_string()))?;
        let array = Array::new(self.dtype, shape, false, Memory::owned(owned), 0).map_err(failed)?;
        self.chunk.insert(array).view().map_err(Failure::data)
    }
}

/// An input with its name.
#[derive(Debug)]
pub struct Opened {
    pub name: String,
    pub source: Box<dyn Source>,
    /// Whether its name stands on the command line, and not in a file.
    pub is_named: bool,
}

/// What is in memory or mapped.
impl Source for Array {
    fn dtype(&self) -> DType {
        Array::dtype(self)
    }

    fn shape(&self) -> &[usize] {
        Array::shape(self)
    }

    fn load(&self) -> Result<Array, Failure> {
        Ok(self.clone())
    }
}

/// An array within an .npz.
struct Entry {
    archive: Rc<PathBuf>,
    key: String,
    dtype: DType,
    header: Header,
}

impl Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.key, self.archive.display())
    }
}

impl Source for Entry {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let path = &self.archive;
        let bad = |what: String| wrong_in(path, &self.key, &what);
        let mut archive = archive(path)?;
        let mut entry = archive.by_name(&file_of(&self.key)).map_err(|error| bad(error.to_string()))?;
        Header::read(&mut entry).map_err(|error| bad(error.what))?;
        let shape = self.header.shape.clone();
        let length = bytes_of(self.dtype, &shape).ok_or_else(|| bad(too_large(self.dtype, &shape)))?;
        let promised = entry.size().saturating_sub(self.header.length as u64);
        let owned = Owned::read(&mut entry, length).map_err(|error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => {
                bad(format!("{}{shape:?} needs {length} bytes of data, but there are {promised}", self.dtype))
            }
            _ => bad(error.to_string()),
        })?;
        Array::new(self.dtype, shape, self.header.is_fortran, Memory::owned(owned), 0).map_err(bad)
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        let path = &self.archive;
        let bad = |what: String| wrong_in(path, &self.key, &what).help(DAMAGED);
        let mut archive = archive(path)?;
        let entry = archive.by_name(&file_of(&self.key)).map_err(|error| bad(error.to_string()))?;
        let (method, size, start) = (entry.compression(), entry.compressed_size(), entry.data_start());
        drop(entry);
        let (Some(start), false) = (start, self.header.is_fortran) else {
            return Ok(Box::new(self.load()?.into_rows()));
        };
        let mut file = open(path)?;
        file.seek(SeekFrom::Start(start)).map_err(|error| unreadable(path, &error))?;
        let stored = BufReader::new(file.take(size));
        let mut from: Box<dyn Read> = match method {
            CompressionMethod::Stored => Box::new(stored),
            CompressionMethod::Deflated => Box::new(BufReader::new(DeflateDecoder::new(stored))),
            _ => return Ok(Box::new(self.load()?.into_rows())),
        };
        Header::read(&mut from).map_err(|error| bad(error.what))?;
        let name = format!("{}: array {:?}", path.display(), self.key);
        Ok(Box::new(ByteRows {
            from,
            dtype: self.dtype,
            shape: self.header.shape.clone(),
            name,
            chunk: None,
        }))
    }
}

/// A .png or .jpeg.
#[derive(Debug)]
struct PictureFile {
    path: PathBuf,
    format: ImageFormat,
    dtype: DType,
    shape: Vec<usize>,
}

impl PictureFile {
    fn open(path: &Path, format: ImageFormat) -> Result<PictureFile, Failure> {
        let Picture { dtype, shape, .. } = PictureFile::header(path, format)?;
        Ok(PictureFile { path: path.to_owned(), format, dtype, shape })
    }

    fn header(path: &Path, format: ImageFormat) -> Result<Picture<'static>, Failure> {
        let file = open(path)?;
        let length = file.metadata().map_err(|error| unreadable(path, &error))?.len();
        Picture::open(BufReader::new(file), format, length).map_err(|what| wrong(path, &what).help(DAMAGED))
    }
}

impl Source for PictureFile {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let picture = PictureFile::header(&self.path, self.format)?;
        picture.load().map_err(|what| wrong(&self.path, &what).help(DAMAGED))
    }
}

/// Help on what is not as its name says.
const DAMAGED: &str = "it is damaged, or its name says something else than what it holds";

pub(super) fn wrong(path: &Path, what: &str) -> Failure {
    Failure::data(format!("{}: {what}", path.display()))
}

fn wrong_in(path: &Path, key: &str, what: &str) -> Failure {
    Failure::data(format!("{}: array {key:?}: {what}", path.display()))
}

/// Adds how NumPy would mend the file, of which `a` is the array.
fn mend(failure: Failure, path: &Path, key: &str, fix: Option<Fix>) -> Failure {
    match fix {
        Some(Fix::NumPy(code)) => {
            let load = format!("a = np.load({:?}){key}", path.display().to_string());
            failure.help_code("convert it with NumPy:", format!("{load}; {code}"))
        }
        Some(Fix::Words(help)) => failure.help(help),
        None => failure,
    }
}

/// Opens inputs. Those that come from one table share it.
#[derive(Debug)]
pub struct Files {
    delimiter: Option<u8>,
    tables: HashMap<PathBuf, Rc<Table>>,
}

impl Files {
    /// With another delimiter of cells than that of the files' kind.
    pub fn new(delimiter: Option<u8>) -> Files {
        Files { delimiter, tables: HashMap::new() }
    }

    /// The inputs of an argument: one, or all arrays of a file whose names are wanted. Of a declaration, none.
    ///
    /// # Errors
    /// If the file cannot be read, or is not what its name says.
    pub fn open(
        &mut self,
        argument: &Argument,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Opened>, Failure> {
        match argument {
            Argument::Declared { .. } => Ok(Vec::new()),
            Argument::Number { name, value } => {
                let source = Box::new(scalar(*value)?);
                Ok(vec![Opened { name: name.clone(), source, is_named: true }])
            }
            Argument::File { name: Some(name), path, part } => {
                let source = self.one(name, path, part.as_deref())?;
                Ok(vec![Opened { name: name.clone(), source, is_named: true }])
            }
            Argument::File { name: None, path, part } => self.all(path, part.as_deref(), is_wanted),
        }
    }

    fn one(&mut self, name: &str, path: &Path, part: Option<&str>) -> Result<Box<dyn Source>, Failure> {
        let only = |part: Option<&str>| match part {
            None => Ok(()),
            Some(part) => Err(wrong(path, &format!("a picture has no part {part:?}"))
                .help("leave out what follows the last colon")),
        };
        Ok(match Format::of(path) {
            Some(Format::Npy) => Box::new(npy(path, part)?),
            Some(Format::Npz) => Box::new(npz(name, path, part)?),
            Some(Format::Table(delimiter)) => {
                let table = self.table(path, delimiter)?;
                let source = match part {
                    Some(column) => table.column(column),
                    None => table.matrix(),
                };
                let failed = |what: String| match part {
                    Some(_) => wrong(path, &what),
                    None => wrong(path, &what)
                        .help_code("pass columns:", format!("{name}={}:COLUMN", path.display())),
                };
                source.map_err(failed)?
            }
            Some(Format::Picture(format)) => {
                only(part)?;
                Box::new(PictureFile::open(path, format)?)
            }
            None => Box::new(raw(name, path, part)?),
        })
    }

    fn all(
        &mut self,
        path: &Path,
        part: Option<&str>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Opened>, Failure> {
        if part.is_none() {
            match Format::of(path) {
                Some(Format::Npz) => {
                    let entries = keys(path)?.into_iter().filter(|key| is_wanted(key)).map(|key| {
                        let source = Box::new(npz(&key, path, Some(&key))?);
                        Ok(Opened { name: key, source, is_named: false })
                    });
                    return entries.collect();
                }
                Some(Format::Table(delimiter)) => {
                    let table = self.table(path, delimiter)?;
                    let columns = table.numeric().into_iter().filter(|name| is_wanted(name)).map(|name| {
                        let source = table.column(name).map_err(|what| wrong(path, &what))?;
                        Ok(Opened { name: name.to_owned(), source, is_named: false })
                    });
                    return columns.collect();
                }
                _ => {}
            }
        }
        let file = match part {
            Some(part) => format!("{}:{part}", path.display()),
            None => path.display().to_string(),
        };
        Err(Failure::usage(format!("the input {file} has no name"))
            .help_code("give it one, by which the expression means it:", format!("x={file}"))
            .help("only .npz, .csv and .tsv have names of their own"))
    }

    fn table(&mut self, path: &Path, delimiter: u8) -> Result<Rc<Table>, Failure> {
        if let Some(table) = self.tables.get(path) {
            return Ok(table.clone());
        }
        let table = Rc::new(Table::open(path, self.delimiter.unwrap_or(delimiter))?);
        self.tables.insert(path.to_owned(), table.clone());
        Ok(table)
    }
}

/// Kinds of files, by the ends of their names. What has none of them is raw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Npy,
    Npz,
    /// With its usual delimiter.
    Table(u8),
    Picture(ImageFormat),
}

impl Format {
    fn of(path: &Path) -> Option<Format> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "csv" => Format::Table(b','),
            "tsv" => Format::Table(b'\t'),
            "png" => Format::Picture(ImageFormat::Png),
            "jpg" | "jpeg" => Format::Picture(ImageFormat::Jpeg),
            _ => return None,
        })
    }
}

fn stated(path: &Path, dtype: &str) -> Result<DType, Failure> {
    broadloom_text::dtype(dtype).ok_or_else(|| {
        wrong(path, &format!("{dtype:?} is no dtype"))
            .help("only a dtype may follow a .npy file: x=x.npy:bf16")
    })
}

fn npy(path: &Path, part: Option<&str>) -> Result<Array, Failure> {
    let stated = part.map(|part| stated(path, part)).transpose()?;
    let memory = Memory::map(path)?;
    let failed = |error: Unreadable| mend(wrong(path, &error.what), path, "", error.fix);
    let header = Header::read(memory.bytes()).map_err(failed)?;
    let dtype = header.dtype(stated).map_err(failed)?;
    let Header { shape, is_fortran, length, .. } = header;
    Array::new(dtype, shape, is_fortran, memory, length)
        .map_err(|what| wrong(path, &what).help("it was cut off, or is still being written: write it again"))
}

fn file_of(key: &str) -> String {
    format!("{key}.npy")
}

fn archive(path: &Path) -> Result<ZipArchive<BufReader<File>>, Failure> {
    ZipArchive::new(BufReader::new(open(path)?))
        .map_err(|error| wrong(path, &error.to_string()).help("write it again by np.savez"))
}

/// The names of the arrays in an archive.
fn keys(path: &Path) -> Result<Vec<String>, Failure> {
    let archive = archive(path)?;
    let names = archive.file_names().filter_map(Result::ok);
    Ok(names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned)).collect())
}

fn npz(name: &str, path: &Path, part: Option<&str>) -> Result<Entry, Failure> {
    let known = keys(path)?;
    let (key, dtype) = match part {
        None => match known.as_slice() {
            [only] => (only.clone(), None),
            _ => {
                return Err(wrong(path, &format!("it has {} arrays: {known:?}", known.len()))
                    .help_code("say which:", format!("{name}={}:KEY", path.display()))
                    .help("or pass the file without a name, and mean its arrays by their own"));
            }
        },
        Some(part) if known.iter().any(|key| key == part) => (part.to_owned(), None),
        Some(part) => match part.rsplit_once(':') {
            Some((key, dtype)) => (key.to_owned(), Some(stated(path, dtype)?)),
            None => (part.to_owned(), None),
        },
    };
    if !known.contains(&key) {
        let near = broadloom_text::nearest(&key, known.iter().map(String::as_str));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
        return Err(
            wrong(path, &format!("it has no array {key:?}{near}")).help(format!("its arrays are {known:?}"))
        );
    }
    let failed =
        |error: Unreadable| mend(wrong_in(path, &key, &error.what), path, &format!("[{key:?}]"), error.fix);
    let mut archive = archive(path)?;
    let entry = archive.by_name(&file_of(&key));
    let mut entry = entry.map_err(|error| wrong_in(path, &key, &error.to_string()))?;
    let header = Header::read(&mut entry).map_err(failed)?;
    let dtype = header.dtype(dtype).map_err(failed)?;
    Ok(Entry { archive: Rc::new(path.to_owned()), dtype, header, key: key.clone() })
}

fn raw(name: &str, path: &Path, part: Option<&str>) -> Result<Array, Failure> {
    let Some(part) = part else {
        let memory_error = open(path).err();
        return Err(memory_error.unwrap_or_else(|| {
            wrong(path, "what the file holds is not known by its name")
                .help("known are .npy, .npz, .csv, .tsv, .png, .jpg and .jpeg")
                .help_code(
                    "of other files, say the dtype and the shape:",
                    format!("{name}={}:f32[_, 3]", path.display()),
                )
        }));
    };
    let memory = Memory::map(path)?;
    let (dtype, sizes) = raw_layout(part).map_err(|what| wrong(path, &what))?;
    let found = memory.bytes().len();
    let known: Vec<usize> = sizes.iter().copied().flatten().collect();
    let rest = bytes_of(dtype, &known).ok_or_else(|| wrong(path, &too_large(dtype, &known)))?;
    let inferred = found.checked_div(rest).unwrap_or(0);
    let shape: Vec<usize> = sizes.iter().map(|size| size.unwrap_or(inferred)).collect();
    let needed = bytes_of(dtype, &shape).ok_or_else(|| wrong(path, &too_large(dtype, &shape)))?;
    if needed != found {
        let what = match known.len() == sizes.len() {
            true => format!("{part} is {needed} bytes, but the file has {found}"),
            false => {
                format!("the file has {found} bytes, which is no multiple of the {rest} that {part} needs")
            }
        };
        return Err(wrong(path, &what).help("correct the dtype or the shape; one size may be `_`"));
    }
    Array::new(dtype, shape, false, memory, 0).map_err(|what| wrong(path, &what))
}

fn scalar(value: Scalar) -> Result<Array, Failure> {
    let bytes = value.bits().to_ne_bytes();
    let owned = Owned::read(bytes.as_slice(), bytes.len());
    let owned = owned.map_err(|error| Failure::data(error.to_string()))?;
    Array::new(value.dtype(), Vec::new(), false, Memory::owned(owned), 0).map_err(Failure::data)
}
