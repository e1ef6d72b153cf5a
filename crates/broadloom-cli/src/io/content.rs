//! The bytes that inputs are made of: those of a file, or what a pipe gives, copied to a file without a name.

use super::memory::{Memory, Owned};
use crate::failure::Failure;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How standard input is written among the inputs, and standard output among the files.
pub const STDIO: &str = "-";
/// What messages call them.
pub const STDIN: &str = "standard input";
pub const STDOUT: &str = "standard output";
/// How many bytes are looked at to know what a pipe holds.
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
    /// Opens a file; `-` is standard input. What is no regular file is read to its end, and kept where temporary files
    /// are, so that it can be mapped, and read more than once.
    ///
    /// # Errors
    /// If it cannot be read, or is a folder.
    pub fn open(path: &Path) -> Result<Content, Failure> {
        let failed = |error: io::Error| unreadable(path, &error);
        if path == Path::new(STDIO) {
            return Content::copy(path, io::stdin().lock());
        }
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Failure::data(format!("{} is a folder", path.display()))
                .help("give a file in it; a shell writes several of them as FOLDER/*.npz"));
        }
        if !metadata.is_file() {
            return Content::copy(path, file);
        }
        Ok(Content { path: path.to_owned(), file, length: metadata.len(), is_piped: false })
    }

    fn copy(path: &Path, mut from: impl Read) -> Result<Content, Failure> {
        let kept = tempfile::tempfile().and_then(|mut file| Ok((io::copy(&mut from, &mut file)?, file)));
        let (length, file) = kept.map_err(|error| unreadable(path, &error))?;
        if length == 0 {
            return Err(Failure::data(format!("{} is empty", shown(path)))
                .help("see whether the command that should write it failed"));
        }
        Ok(Content { path: path.to_owned(), file, length, is_piped: true })
    }

    /// What messages call it.
    pub fn name(&self) -> String {
        shown(&self.path)
    }

    /// As it is written on the command line.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Whether it came through a pipe, so that no name says what it holds.
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

    /// The first bytes, as many as show what it is.
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

    /// Something is wrong with what it holds.
    pub fn wrong(&self, what: &str) -> Failure {
        Failure::data(format!("{}: {what}", self.name()))
    }

    pub fn unreadable(&self, error: &io::Error) -> Failure {
        unreadable(&self.path, error)
    }
}

fn shown(path: &Path) -> String {
    if path == Path::new(STDIO) { STDIN.to_owned() } else { path.display().to_string() }
}

/// A file that cannot be read.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::data(format!("{} cannot be read: {error}", shown(path)));
    match error.kind() {
        io::ErrorKind::NotFound => failure.help("check the path; it is relative to the current folder"),
        _ => failure,
    }
}

/// A place in a file, from which it is read on, whoever else reads it.
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
