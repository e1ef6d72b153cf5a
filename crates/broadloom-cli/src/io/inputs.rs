//! Opens the inputs that arguments name, each with the reader for its file.

use super::archive::{self, Entry};
use super::argument::{Argument, raw_layout};
use super::content::Content;
use super::format::{ColumnFormat, Format, TableFormat};
use super::memory::{Array, Memory, Owned, bytes_of, too_large};
use super::npy::{Fix, Header, Unreadable};
use super::picture::{PictureFile, PictureFormat};
use super::source::{Elements, Layout, Opened, Source};
use super::table::{Table, TableOptions};
use super::zarr;
use crate::failure::Failure;
use broadloom::{DType, Scalar};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Opens inputs. Those that come from one file share it.
#[derive(Debug)]
pub struct Files {
    options: TableOptions,
    contents: HashMap<PathBuf, Rc<Content>>,
    tables: HashMap<PathBuf, Rc<Table>>,
}

impl Files {
    pub fn new(options: TableOptions) -> Files {
        Files { options, contents: HashMap::new(), tables: HashMap::new() }
    }

    /// The inputs of an argument: one, or all arrays of a file whose names the program uses. A declaration gives none.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or its content does not match its name.
    pub fn open(
        &mut self,
        argument: &Argument,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Opened>, Failure> {
        match argument {
            Argument::Declared { .. } => Ok(Vec::new()),
            Argument::Number { name, value } => {
                let source = Box::new(scalar(*value)?);
                Ok(vec![opened(name, source, true)])
            }
            Argument::File { name: Some(name), path, part } => {
                Ok(vec![self.one(name, path, part.as_deref())?])
            }
            Argument::File { name: None, path, part } => self.all(path, part.as_deref(), is_wanted),
        }
    }

    fn one(&mut self, name: &str, path: &Path, part: Option<&str>) -> Result<Opened, Failure> {
        if path.is_dir() {
            is_store(path)?;
            return Ok(opened(name, zarr::open(name, path)?, true));
        }
        let content = self.content(path, part)?;
        let source: Box<dyn Source> = match kind(&content, part)? {
            Format::Npy => Box::new(npy(&content, part)?),
            Format::Npz => Box::new(Entry::open(name, &content, part)?),
            Format::Table(format) => {
                let mut opened = self.table(&content, format)?.part(name, part)?;
                opened.is_named = true;
                return Ok(opened);
            }
            Format::Png | Format::Jpeg if part.is_some() => {
                return Err(content
                    .wrong(&format!("a picture has no part {:?}", part.unwrap_or_default()))
                    .help("leave out what follows the last colon"));
            }
            Format::Png => Box::new(PictureFile::open(&content, PictureFormat::Png)?),
            Format::Jpeg => Box::new(PictureFile::open(&content, PictureFormat::Jpeg)?),
            Format::Raw => Box::new(raw(name, &content, part)?),
        };
        Ok(opened(name, source, true))
    }

    fn all(
        &mut self,
        path: &Path,
        part: Option<&str>,
        is_wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<Opened>, Failure> {
        if path.is_dir() {
            is_store(path)?;
            return match zarr::keys(path) {
                none if none.is_empty() => {
                    zarr::open("x", path).and(Err(unnamed(&path.display().to_string())))
                }
                keys => (keys.iter().filter(|key| is_wanted(key)))
                    .map(|key| Ok(opened(key, zarr::open(key, &path.join(key))?, false)))
                    .collect(),
            };
        }
        let content = self.content(path, part)?;
        match (kind(&content, part)?, part) {
            (Format::Npz, None) => {
                let keys = archive::keys(&content)?.into_iter().filter(|key| is_wanted(key));
                let entries = keys.map(|key| {
                    let source = Box::new(Entry::open(&key, &content, Some(&key))?);
                    Ok(opened(&key, source, false))
                });
                entries.collect()
            }
            (Format::Table(format), None) => {
                let table = self.table(&content, format)?;
                let columns = table.columns().iter().filter(|name| is_wanted(name));
                columns.map(|name| table.part(name, Some(name))).collect()
            }
            _ => {
                let part = part.map_or(String::new(), |part| format!(":{part}"));
                Err(unnamed(&format!("{}{part}", path.display())))
            }
        }
    }

    /// A file, opened once, because a pipe can be read only once.
    fn content(&mut self, path: &Path, part: Option<&str>) -> Result<Rc<Content>, Failure> {
        if let Some(content) = self.contents.get(path) {
            return Ok(content.clone());
        }
        let content = Rc::new(Content::open(path, part.and_then(needed))?);
        self.contents.insert(path.to_owned(), content.clone());
        Ok(content)
    }

    fn table(&mut self, content: &Rc<Content>, format: TableFormat) -> Result<Rc<Table>, Failure> {
        if let Some(table) = self.tables.get(content.path()) {
            return Ok(table.clone());
        }
        let table = Rc::new(Table::open(content, format, &self.options)?);
        self.tables.insert(content.path().to_owned(), table.clone());
        Ok(table)
    }
}

/// Refuses folders that are neither arrays nor groups of Zarr.
fn is_store(folder: &Path) -> Result<(), Failure> {
    let metadata = ["zarr.json", ".zarray", ".zgroup"];
    match metadata.iter().any(|name| folder.join(name).is_file()) {
        true => Ok(()),
        false => Err(Failure::data(format!("{} is a folder", folder.display()))
            .help("give a file in it; in a shell, FOLDER/*.npz gives several")),
    }
}

/// The mistake of a file that is one array, and that the arguments do not name.
fn unnamed(file: &str) -> Failure {
    Failure::usage(format!("the input {file} has no name"))
        .help_code("give it the name that the expression uses:", format!("x={file}"))
        .help("only .npz and tables contain names: .csv, .tsv, .parquet and .arrow")
}

fn opened(name: &str, source: Box<dyn Source>, is_named: bool) -> Opened {
    Opened { name: name.to_owned(), source, is_named, warnings: Vec::new(), columns: Vec::new() }
}

/// The number of bytes of raw elements, if their whole shape is given.
fn needed(part: &str) -> Option<u64> {
    let (dtype, sizes) = raw_layout(part).ok()?;
    let sizes: Vec<usize> = sizes.into_iter().collect::<Option<_>>()?;
    bytes_of(dtype, &sizes).map(|length| length as u64)
}

/// The kind of an input, from the extension of its file or the first bytes of a pipe. Anything unknown is raw elements,
/// which the argument describes.
fn kind(content: &Rc<Content>, part: Option<&str>) -> Result<Format, Failure> {
    if content.is_piped() {
        let is_raw = part.is_some_and(|part| raw_layout(part).is_ok());
        return Ok(if is_raw { Format::Raw } else { begun(&content.beginning()?) });
    }
    let end = content.path().extension().and_then(|end| end.to_str()).unwrap_or_default();
    Ok(Format::of_name(&end.to_ascii_lowercase()).unwrap_or(Format::Raw))
}

fn begun(bytes: &[u8]) -> Format {
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match bytes {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Format::Npz,
        [0x89, b'P', b'N', b'G', ..] => Format::Png,
        [0xff, 0xd8, 0xff, ..] => Format::Jpeg,
        [b'P', b'A', b'R', b'1', ..] => Format::Table(TableFormat::Columns(ColumnFormat::Parquet)),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Format::Table(TableFormat::Columns(ColumnFormat::Ipc)),
        _ if bytes.contains(&0) => Format::Raw,
        _ if first_line.contains(&b'\t') && !first_line.contains(&b',') => {
            Format::Table(TableFormat::Text(b'\t'))
        }
        _ => Format::Table(TableFormat::Text(b',')),
    }
}

/// The dtype of elements as an argument gives it.
///
/// # Errors
/// Returns an error if no dtype has the name.
pub fn stated(content: &Content, dtype: &str) -> Result<DType, Failure> {
    broadloom_text::dtype(dtype).ok_or_else(|| {
        content
            .wrong(&format!("{dtype:?} is not a dtype"))
            .help("only a dtype may follow a .npy file: x=x.npy:bf16")
    })
}

/// Adds NumPy code that repairs the file; `a` is the array selected by `key`.
pub fn mend(failure: Failure, content: &Content, key: &str, fix: Option<Fix>) -> Failure {
    match fix {
        Some(Fix::NumPy(code)) => {
            let file = if content.is_piped() { "FILE".into() } else { content.path().display().to_string() };
            failure.help_code("convert it with NumPy:", format!("a = np.load({file:?}){key}; {code}"))
        }
        Some(Fix::Words(help)) => failure.help(help),
        None => failure,
    }
}

fn npy(content: &Rc<Content>, part: Option<&str>) -> Result<Elements, Failure> {
    let stated = part.map(|part| stated(content, part)).transpose()?;
    let failed = |error: Unreadable| mend(content.wrong(&error.what), content, "", error.fix);
    let header = Header::read(content.reader(0)).map_err(failed)?;
    let layout = header.layout(stated).map_err(failed)?;
    Elements::new(content.clone(), layout, header.length as u64)
        .map_err(|what| content.wrong(&what).help("it is truncated, or still being written: write it again"))
}

fn raw(name: &str, content: &Rc<Content>, part: Option<&str>) -> Result<Elements, Failure> {
    let file = content.path().display();
    // A column of a file of an unknown kind is not a layout.
    let end = content.path().extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_known = Format::of_name(&end.to_ascii_lowercase()).is_some();
    let Some(part) = part.filter(|part| is_known || part.contains('[')) else {
        let failure = match content.is_piped() {
            true => content.wrong("its contents are not a .npy, an .npz, a table or a picture"),
            false => foreign(name, content),
        };
        let code = format!("{name}={file}:f32[_, 3]");
        return Err(failure.help_code("for raw elements, give the dtype and the shape:", code));
    };
    let (dtype, sizes) = raw_layout(part).map_err(|what| content.wrong(&what))?;
    let found = content.length();
    let known: Vec<usize> = sizes.iter().copied().flatten().collect();
    let rest = bytes_of(dtype, &known).ok_or_else(|| content.wrong(&too_large(dtype, &known)))?;
    let inferred = found.checked_div(rest as u64).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    let shape: Vec<usize> = sizes.iter().map(|size| size.unwrap_or(inferred)).collect();
    let layout = Layout::plain(dtype, shape);
    let needed = layout.length().map_err(|what| content.wrong(&what))?;
    if needed as u64 != found {
        let what = match known.len() == sizes.len() {
            true => format!("{part} needs {needed} bytes, but the file has {found}"),
            false => {
                format!("the file has {found} bytes, which is not a multiple of the {rest} that {part} needs")
            }
        };
        return Err(content.wrong(&what).help("correct the dtype or the shape; one size may be `_`"));
    }
    Elements::new(content.clone(), layout, 0).map_err(|what| content.wrong(&what))
}

/// The mistake for a file of an unknown kind, with advice on converting it.
fn foreign(name: &str, content: &Content) -> Failure {
    let path = content.path();
    let (file, stem) = (path.display().to_string(), path.with_extension("").display().to_string());
    let failure = content.wrong("its name does not say which format it has");
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
    let python = |load: &str| format!("np.savez({:?}, x={load})", format!("{stem}.npz"));
    let table = |load: &str| format!("pd.{load}({file:?}).to_csv({:?}, index=False)", format!("{stem}.csv"));
    let (sentence, code) = match end.as_str() {
        "tif" | "tiff" | "webp" | "gif" | "bmp" | "avif" | "heic" | "ppm" => {
            ("convert it to .png:", format!("magick {file} {stem}.png"))
        }
        "json" => ("convert it with pandas:", table("read_json")),
        "xls" | "xlsx" | "ods" => ("convert it with pandas:", table("read_excel")),
        "h5" | "hdf5" => ("convert it with h5py:", python(&format!("h5py.File({file:?})['KEY'][:]"))),
        "mat" => ("convert it with SciPy:", python(&format!("scipy.io.loadmat({file:?})['KEY']"))),
        "wav" | "flac" | "ogg" => {
            ("convert it with soundfile:", python(&format!("soundfile.read({file:?})[0]")))
        }
        "pt" | "pth" => ("convert it with PyTorch:", python(&format!("torch.load({file:?}).numpy()"))),
        "gz" => ("decompress it into a pipe:", format!("gzip -dc {file} | broadloom eval .. {name}=-")),
        "xz" => ("decompress it into a pipe:", format!("xz -dc {file} | broadloom eval .. {name}=-")),
        "zst" => ("decompress it into a pipe:", format!("zstd -dc {file} | broadloom eval .. {name}=-")),
        _ => {
            return failure
                .help("known formats are .npy, .npz, .csv, .tsv, .parquet, .arrow, .png, .jpg and .jpeg");
        }
    };
    failure.help_code(sentence, code)
}

fn scalar(value: Scalar) -> Result<Array, Failure> {
    let bytes = value.bits().to_ne_bytes();
    let owned = Owned::read(bytes.as_slice(), bytes.len());
    let owned = owned.map_err(|error| Failure::data(error.to_string()))?;
    Array::new(value.dtype(), Vec::new(), false, Memory::owned(owned), 0).map_err(Failure::data)
}
