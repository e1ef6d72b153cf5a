//! NumPy's .npz: archives of .npy files.

use super::content::{Content, Reader};
use super::inputs::{mend, stated};
use super::memory::{Array, Memory};
use super::npy::{Header, Unreadable};
use super::source::{ByteRows, DAMAGED, Layout, Rows, Source};
use crate::failure::Failure;
use broadloom::DType;
use flate2::read::DeflateDecoder;
use std::fmt::{self, Debug};
use std::io::{BufReader, ErrorKind, Read};
use std::rc::Rc;
use zip::{CompressionMethod, ZipArchive};

/// An array within an .npz.
pub struct Entry {
    content: Rc<Content>,
    key: String,
    header: Header,
    layout: Layout,
}

impl Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.key, self.content.name())
    }
}

fn file_of(key: &str) -> String {
    format!("{key}.npy")
}

fn archive(content: &Rc<Content>) -> Result<ZipArchive<BufReader<Reader>>, Failure> {
    ZipArchive::new(BufReader::new(content.reader(0)))
        .map_err(|error| content.wrong(&error.to_string()).help("write it again with np.savez"))
}

/// The names of the arrays in an archive.
///
/// # Errors
/// Returns an error if it is not an archive.
pub fn keys(content: &Rc<Content>) -> Result<Vec<String>, Failure> {
    let archive = archive(content)?;
    let names = archive.file_names().filter_map(Result::ok);
    Ok(names.filter_map(|name| name.strip_suffix(".npy").map(str::to_owned)).collect())
}

impl Entry {
    /// The array for the input `name`: the only one, or the one that `part` names. A dtype may follow a colon if
    /// NumPy has no dtype for the elements.
    ///
    /// # Errors
    /// Returns an error if no array or several arrays match, or if it cannot be read.
    pub fn open(name: &str, content: &Rc<Content>, part: Option<&str>) -> Result<Entry, Failure> {
        let known = keys(content)?;
        let (key, stated) = match part {
            None => match known.as_slice() {
                [only] => (only.clone(), None),
                _ => {
                    return Err(content
                        .wrong(&format!("it has {} arrays: {known:?}", known.len()))
                        .help_code("choose one:", format!("{name}={}:KEY", content.path().display()))
                        .help("or pass the file without a name, and use the names of its arrays"));
                }
            },
            Some(part) if known.iter().any(|key| key == part) => (part.to_owned(), None),
            Some(part) => match part.rsplit_once(':') {
                Some((key, dtype)) => (key.to_owned(), Some(stated(content, dtype)?)),
                None => (part.to_owned(), None),
            },
        };
        if !known.contains(&key) {
            let near = broadloom_text::nearest(&key, known.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            return Err(content
                .wrong(&format!("it has no array {key:?}{near}"))
                .help(format!("its arrays are {known:?}")));
        }
        let bad = |what: String| content.wrong(&format!("array {key:?}: {what}"));
        let failed = |error: Unreadable| mend(bad(error.what), content, &format!("[{key:?}]"), error.fix);
        let mut archive = archive(content)?;
        let mut entry = archive.by_name(&file_of(&key)).map_err(|error| bad(error.to_string()))?;
        let header = Header::read(&mut entry).map_err(failed)?;
        let layout = header.layout(stated).map_err(failed)?;
        drop(entry);
        Ok(Entry { content: content.clone(), key, header, layout })
    }

    fn bad(&self, what: impl fmt::Display) -> Failure {
        self.content.wrong(&format!("array {:?}: {what}", self.key))
    }
}

impl Source for Entry {
    fn dtype(&self) -> DType {
        self.layout.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.layout.shape
    }

    fn load(&self) -> Result<Array, Failure> {
        let mut archive = archive(&self.content)?;
        let mut entry = archive.by_name(&file_of(&self.key)).map_err(|error| self.bad(error))?;
        Header::read(&mut entry).map_err(|error| self.bad(error.what))?;
        let length = self.layout.length().map_err(|what| self.bad(what))?;
        let promised = entry.size().saturating_sub(self.header.length as u64);
        let owned = self.layout.read(&mut entry).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => self.bad(self.layout.lacks(length, promised)),
            _ => self.bad(error),
        })?;
        self.layout.array(Memory::owned(owned), 0).map_err(|what| self.bad(what))
    }

    fn rows(&self) -> Result<Box<dyn Rows + '_>, Failure> {
        let mut archive = archive(&self.content)?;
        let entry = archive.by_name(&file_of(&self.key)).map_err(|error| self.bad(error))?;
        let (method, size, start) = (entry.compression(), entry.compressed_size(), entry.data_start());
        drop(entry);
        let (Some(start), false) = (start, self.layout.is_fortran) else {
            return Ok(Box::new(self.load()?.into_rows()));
        };
        let stored = BufReader::new(self.content.reader(start).take(size));
        let mut from: Box<dyn Read> = match method {
            CompressionMethod::Stored => Box::new(stored),
            CompressionMethod::Deflated => Box::new(BufReader::new(DeflateDecoder::new(stored))),
            _ => return Ok(Box::new(self.load()?.into_rows())),
        };
        Header::read(&mut from).map_err(|error| self.bad(error.what).help(DAMAGED))?;
        let name = format!("{}: array {:?}", self.content.name(), self.key);
        Ok(Box::new(ByteRows::new(from, self.layout.clone(), name)))
    }
}
