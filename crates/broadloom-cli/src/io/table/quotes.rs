//! Checks quotation marks while a table is read.
//!
//! A cell that begins with a quotation mark reaches to the next single one, over delimiters and lines. If that mark was
//! meant as text, whole rows would become one cell without a notice, so what cannot be a quoted cell is an error.

use super::text::DELIMITERS;
use std::fmt;
use std::io::{self, Read};

/// A quotation mark that cannot be meant as it stands.
#[derive(Debug)]
pub struct Misquoted {
    /// What is wrong, in words.
    what: String,
    advice: Advice,
}

/// What to do about a quotation mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Close it, or double it.
    Close,
    /// It belongs to a cell with delimiters and lines, or to several texts.
    Cell,
    /// This character seems to separate cells.
    Delimiter(u8),
}

impl Misquoted {
    pub fn advice(&self) -> Advice {
        self.advice
    }
}

/// Whether a text cannot be a cell: with tabs and lines between quotation marks, it looks like rows.
pub fn looks_like_rows(text: &str, delimiter: u8) -> bool {
    delimiter == b'\t' && text.contains('\t') && text.contains('\n')
}

impl fmt::Display for Misquoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misquoted {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the start of a cell.
    Start,
    /// In a cell without quotation marks.
    Plain,
    /// In a quoted cell.
    Quoted,
    /// Behind a quotation mark in a quoted cell.
    Closed,
}

/// Passes on the bytes of a table.
#[derive(Debug)]
pub struct Quotes<R> {
    from: R,
    delimiter: u8,
    state: State,
    /// The current line, and the line in which the quoted cell starts.
    line: u64,
    opened: u64,
    /// Whether the quoted cell has a delimiter.
    has_delimiter: bool,
}

impl<R: Read> Quotes<R> {
    /// `line` is the number of the first line.
    pub fn new(from: R, delimiter: u8, line: u64) -> Quotes<R> {
        Quotes { from, delimiter, state: State::Start, line, opened: 0, has_delimiter: false }
    }

    fn check(&mut self, bytes: &[u8]) -> Result<(), Misquoted> {
        let (Some(last), State::Start | State::Plain) = (bytes.last(), self.state) else {
            return bytes.iter().try_for_each(|byte| self.step(*byte));
        };
        if bytes.contains(&b'"') {
            return bytes.iter().try_for_each(|byte| self.step(*byte));
        }
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.state = if self.is_end(*last) { State::Start } else { State::Plain };
        Ok(())
    }

    /// Whether a byte outside quotation marks ends a cell.
    fn is_end(&self, byte: u8) -> bool {
        byte == self.delimiter || matches!(byte, b'\n' | b'\r')
    }

    fn step(&mut self, byte: u8) -> Result<(), Misquoted> {
        let (is_end, opened, line) = (self.is_end(byte), self.opened, self.line);
        let wrong = |what: String, advice| Err(Misquoted { what, advice });
        self.state = match (self.state, byte) {
            (State::Start, b'"') => {
                (self.opened, self.has_delimiter) = (line, false);
                State::Quoted
            }
            (State::Quoted, b'"') => State::Closed,
            (State::Quoted, _) => {
                self.has_delimiter |= byte == self.delimiter;
                State::Quoted
            }
            (State::Closed, b'"') => State::Quoted,
            // Texts with line ends are common in .csv, and tabs in them are not: these are rows.
            (State::Closed, _)
                if is_end && self.delimiter == b'\t' && self.has_delimiter && opened < line =>
            {
                let what = format!(
                    "the quotation mark that opens in line {opened} closes in line {line}, so these rows would be one cell"
                );
                return wrong(what, Advice::Cell);
            }
            (State::Closed, _) if !is_end => {
                let what = format!(
                    "the quotation mark that opens in line {opened} closes in line {line}, where text follows it"
                );
                let is_delimiter = DELIMITERS.contains(&byte);
                return wrong(what, if is_delimiter { Advice::Delimiter(byte) } else { Advice::Close });
            }
            _ if is_end => State::Start,
            _ => State::Plain,
        };
        self.line += u64::from(byte == b'\n');
        Ok(())
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        match (count, self.state) {
            (0, State::Quoted) if !buffer.is_empty() => {
                let what = format!("the quotation mark in line {} is never closed", self.opened);
                return Err(io::Error::other(Misquoted { what, advice: Advice::Close }));
            }
            // The end of the file ends a cell as the end of a line does.
            (0, State::Closed) => self.step(b'\n').map_err(io::Error::other)?,
            _ => {}
        }
        self.check(buffer.get(..count).unwrap_or_default()).map_err(io::Error::other)?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            let (first, rest) = self.0.split_at(count);
            buffer[..count].copy_from_slice(first);
            self.0 = rest;
            Ok(count)
        }
    }

    #[test]
    fn quoted_cells_are_told_from_stray_marks() {
        for (text, delimiter, expected) in [
            ("a,b\n\"1,\n\"\"2\",3\r\n\"\",\"x\"\n", b',', None),
            ("a\tb\n5\" long\t\"x\"\n", b'\t', None),
            ("\"several\nlines\"\tx\n", b'\t', None),
            ("\"x\"", b',', None),
            ("", b',', None),
            (
                "id\tname\n1\t\"Foo\n2\tBar\n3\t\"Baz\n4\tQux\n",
                b'\t',
                Some("opens in line 2 closes in line 4, where text"),
            ),
            (
                "id\tname\n1\t\"Foo\n2\tBar\n3\tBaz\"\n4\tQux\n",
                b'\t',
                Some("opens in line 2 closes in line 4, so"),
            ),
            ("a\tb\n1\t\"x\n2\ty\"", b'\t', Some("opens in line 2 closes in line 3, so")),
            ("a,b\n\"x\"y,1\n", b',', Some("opens in line 2 closes in line 2, where text")),
            ("a\n\"x\" \n", b',', Some("closes in line 2, where text")),
            ("a,b\n1,\"x\n2,y\n", b',', Some("line 2 is never closed")),
            ("\"", b',', Some("line 1 is never closed")),
        ] {
            for size in [1, 2, 3, 7, 1000] {
                let mut read = Vec::new();
                let result = Quotes::new(Slow(text.as_bytes(), size), delimiter, 1).read_to_end(&mut read);
                match (result, expected) {
                    (Ok(_), None) => assert_eq!(read, text.as_bytes(), "{text}"),
                    (Err(error), Some(expected)) if error.to_string().contains(expected) => {}
                    (result, _) => panic!("{text} by {size}: {result:?}"),
                }
            }
        }
    }
}
