//! The bytes of inputs: those of a file, or those of a pipe, copied to an unnamed file.

use super::memory::{Memory, Owned};
use super::zarr;
use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The spelling of standard input and standard output on the command line.
pub const STDIO: &str = "-";
/// Their names in messages.
pub const STDIN: &str = "standard input";
pub const STDOUT: &str = "standard output";
/// The number of bytes that identify the content of a pipe.
const BEGINNING: usize = 4096;

/// An open file. It is read from several places at a time, each by a [`Reader`] of its own.
#[derive(Debug)]
pub struct Content {
    path: PathBuf,
    file: File,
    length: u64,
    is_piped: bool,
}

impl Content {
    /// Opens a file; `-` is standard input. Anything but a regular file is copied to a temporary file, so that it can
    /// be mapped and read more than once. The copy is limited to `most` bytes and to the memory of this machine,
    /// because some pipes never end.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or gives more.
    pub fn open(path: &Path, needed: Option<u64>) -> Result<Content, Failure> {
        let failed = |error: io::Error| unreadable(path, &error);
        if path == Path::new(STDIO) {
            return Content::copy(path, io::stdin().lock(), needed);
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Content::copy(path, file, needed);
        }
        Ok(Content { path: path.to_owned(), file, length: metadata.len(), is_piped: false })
    }

    fn copy(path: &Path, from: impl Read, needed: Option<u64>) -> Result<Content, Failure> {
        let most = needed.unwrap_or_else(memory_of_machine);
        // One more byte shows whether there is more.
        let mut from = from.take(most.saturating_add(1));
        let kept = tempfile::tempfile().and_then(|mut file| Ok((io::copy(&mut from, &mut file)?, file)));
        let (length, file) = kept.map_err(|error| unreadable(path, &error))?;
        if length > most {
            let shown = shown(path);
            return Err(match needed {
                Some(_) => Failure::data(format!("{shown} has more than the {most} bytes of the shape"))
                    .help("correct the dtype or the shape; one size may be `_`"),
                None => Failure::data(format!(
                    "{shown} has more than {most} bytes, which is all the memory of this machine"
                ))
                .help_code("to read only its beginning, write:", format!("head -c 1000000 {shown} | ..")),
            });
        }
        if length == 0 {
            return Err(Failure::data(format!("{} is empty", shown(path)))
                .help("check whether the command that writes it failed"));
        }
        Ok(Content { path: path.to_owned(), file, length, is_piped: true })
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        shown(&self.path)
    }

    /// Its spelling on the command line.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether it came through a pipe, so that no file name shows its kind.
    pub fn is_piped(&self) -> bool {
        self.is_piped
    }

    /// All bytes without reading them, if the system maps them.
    pub fn map(&self) -> io::Result<Memory> {
        if self.length == 0 {
            return Ok(Memory::owned(Owned::default()));
        }
        Memory::map(&self.file)
    }

    /// All bytes, for files of columns: mapped, or read where the system does not map the file.
    #[cfg(feature = "arrow")]
    pub fn all(self: &Rc<Content>) -> io::Result<Memory> {
        self.map().or_else(|_| {
            let length = usize::try_from(self.length).map_err(io::Error::other)?;
            Owned::read(self.reader(0), length).map(Memory::owned)
        })
    }

    /// The first bytes, enough to identify the kind.
    pub fn beginning(self: &Rc<Content>) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let read = self.reader(0).take(BEGINNING as u64).read_to_end(&mut bytes);
        read.map_err(|error| self.unreadable(&error))?;
        Ok(bytes)
    }

    /// Reads from a place on.
    pub fn reader(self: &Rc<Content>, at: u64) -> Reader {
        Reader { content: self.clone(), at }
    }

    /// The line of a text in which the first row from a place on starts, counted from 1: places are behind the end of the
    /// row before, or within it, and empty lines may follow.
    pub fn line(self: &Rc<Content>, at: u64) -> u64 {
        let mut before = 0;
        let mut line = 1;
        let bytes = BufReader::new(self.reader(0)).bytes().map_while(Result::ok);
        for (place, byte) in (0..).zip(bytes) {
            let is_end = matches!(byte, b'\n' | b'\r');
            if place >= at && !is_end {
                break;
            }
            // Both together are one end.
            line += u64::from(is_end && (before, byte) != (b'\r', b'\n'));
            before = byte;
        }
        line
    }

    /// An error in the content.
    pub fn wrong(&self, what: &str) -> Failure {
        Failure::data(format!("{}: {what}", self.name()))
    }

    pub fn unreadable(&self, error: &io::Error) -> Failure {
        unreadable(&self.path, error)
    }
}

/// The bytes of memory of the machine; a large default if the system does not report it.
pub fn memory_of_machine() -> u64 {
    const UNKNOWN: u64 = 1 << 36;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|total| total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.map_or(UNKNOWN, |kilobytes| kilobytes.saturating_mul(1024))
}

fn shown(path: &Path) -> String {
    if path == Path::new(STDIO) { STDIN.to_owned() } else { path.display().to_string() }
}

/// A file that cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::data(format!("{} cannot be read: {error}", shown(path)));
    match error.kind() {
        io::ErrorKind::NotFound => match zarr::nearest(path) {
            Some(help) => failure.help(help),
            None => failure.help("check the path; it is relative to the current folder"),
        },
        _ => failure,
    }
}

/// A position in a file, independent of other readers.
#[derive(Debug)]
pub struct Reader {
    content: Rc<Content>,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = &self.content.file;
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(buffer)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.content.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
