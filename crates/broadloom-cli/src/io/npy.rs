//! NumPy's .npy: a header, which is the text of a Python dictionary, and the elements.
//!
//! The header is parsed here instead of by a library: the available ones trust its lengths (`npyz` multiplies sizes
//! without a check). Of Python's literals, only strings, numbers, truth values and tuples of numbers occur.

use super::source::Layout;
use broadloom::DType;
use std::io::{self, Read};

/// The longest accepted header; NumPy has the same limit.
const MAX_HEADER: usize = 10_000;
/// The most axes; NumPy has 64.
const MAX_RANK: usize = 64;

/// The content of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// NumPy's text for the dtype: `<f4`.
    descr: Descr,
    pub shape: Vec<usize>,
    pub is_fortran: bool,
    /// Bytes before the elements.
    pub length: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Descr {
    Plain(String),
    Structured,
}

/// A mistake in a header, and how to repair the file with NumPy.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub what: String,
    pub fix: Option<Fix>,
}

/// How to repair a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fix {
    /// NumPy code in which `a` is the array.
    NumPy(&'static str),
    Words(&'static str),
}

impl From<String> for Unreadable {
    fn from(what: String) -> Self {
        Unreadable { what, fix: None }
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends inside the header of a .npy file".to_owned().into(),
            _ => error.to_string().into(),
        }
    }
}

/// The letter of the native byte order.
const NATIVE: char = if cfg!(target_endian = "little") { '<' } else { '>' };
/// The letter of the other byte order.
const SWAPPED: char = if cfg!(target_endian = "little") { '>' } else { '<' };

impl Header {
    /// Reads only the header.
    ///
    /// # Errors
    /// Returns an error if it is not a header.
    pub fn read(mut from: impl Read) -> Result<Header, Unreadable> {
        let mut start = [0u8; 8];
        from.read_exact(&mut start)?;
        let [magic @ .., major, minor] = start;
        if magic != *b"\x93NUMPY" {
            return Err(Unreadable {
                what: "it is not a .npy file: it does not begin with \\x93NUMPY".to_owned(),
                fix: Some(Fix::Words("its name does not match its contents; np.save writes .npy files")),
            });
        }
        let (length, before) = match major {
            1 => {
                let mut length = [0u8; 2];
                from.read_exact(&mut length)?;
                (usize::from(u16::from_le_bytes(length)), 10)
            }
            2 | 3 => {
                let mut length = [0u8; 4];
                from.read_exact(&mut length)?;
                (usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX), 12)
            }
            _ => {
                return Err(
                    format!("its format version is {major}.{minor}; versions 1 to 3 are supported").into()
                );
            }
        };
        if length > MAX_HEADER {
            return Err(format!("its header has {length} bytes; at most {MAX_HEADER} are accepted").into());
        }
        let mut text = vec![0; length];
        from.read_exact(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        let mut header = Dictionary { rest: &text }
            .header()
            .ok_or_else(|| format!("its header cannot be parsed: {}", text.trim_end().escape_debug()))?;
        header.length = before + length;
        Ok(header)
    }

    /// The layout of the elements after the header, with their dtype or the one that the user gives.
    ///
    /// # Errors
    /// Returns an error if Broadloom does not have the dtype.
    pub fn layout(&self, stated: Option<DType>) -> Result<Layout, Unreadable> {
        let unreadable = |what: String, fix| Err(Unreadable { what, fix: Some(Fix::NumPy(fix)) });
        let Descr::Plain(descr) = &self.descr else {
            return unreadable(
                "its elements are records with several fields".to_owned(),
                "np.save('new.npy', a['field'])",
            );
        };
        // Without a letter, the byte order is the machine's.
        let (order, kind) = match descr.strip_prefix(['<', '>', '|', '=']) {
            Some(kind) => (descr.chars().next(), kind),
            None => (None, descr.as_str()),
        };
        let is_swapped = order == Some(SWAPPED);
        let found = match kind {
            _ if let Some(found) = DType::of_numpy_code(kind) => found,
            "V2" if stated == Some(DType::Bf16) => DType::Bf16,
            "V2" => {
                return Err(Unreadable {
                    what: format!("its elements are {descr:?}, two bytes of unknown meaning"),
                    fix: Some(Fix::Words("if they are bfloat16, add :bf16 to the file's name")),
                });
            }
            _ => {
                let (what, fix) = match kind.chars().next() {
                    Some('c') => ("complex numbers", "np.save('re.npy', a.real); np.save('im.npy', a.imag)"),
                    Some('U' | 'S') => ("strings", "np.save('new.npy', a.astype(np.float64))"),
                    Some('O') => ("Python objects", "np.save('new.npy', a.astype(np.float64))"),
                    Some('M' | 'm') => ("times", "np.save('new.npy', a.astype(np.int64))"),
                    Some('f') => {
                        ("floats that not every machine supports", "np.save('new.npy', a.astype(np.float64))")
                    }
                    _ => ("which is not a dtype of Broadloom", "np.save('new.npy', a.astype(np.float64))"),
                };
                return unreadable(format!("its elements are {descr:?}, {what}"), fix);
            }
        };
        match stated {
            Some(stated) if stated != found => Err(format!(
                "its elements are {found}, not {stated}; naming a dtype does not convert a file: write .astype({stated}) in the expression"
            )
            .into()),
            _ => {
                let Header { shape, is_fortran, .. } = self.clone();
                Ok(Layout { dtype: found, shape, is_fortran, is_swapped: is_swapped && found.size() > 1 })
            }
        }
    }
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`.
struct Dictionary<'a> {
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    fn header(mut self) -> Option<Header> {
        let (mut descr, mut is_fortran, mut shape) = (None, None, None);
        self.expect('{')?;
        while !self.take('}') {
            let key = self.string()?;
            self.expect(':')?;
            match key {
                "descr" => descr = Some(self.descr()?),
                "fortran_order" => is_fortran = Some(self.truth()?),
                "shape" => shape = Some(self.shape()?),
                _ => return None,
            }
            if !self.take(',') && !self.rest.trim_start().starts_with('}') {
                return None;
            }
        }
        let is_all = self.rest.trim().is_empty();
        let header = Header { descr: descr?, shape: shape?, is_fortran: is_fortran?, length: 0 };
        is_all.then_some(header)
    }

    fn take(&mut self, letter: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(letter);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, letter: char) -> Option<()> {
        self.take(letter).then_some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = if self.take('\'') { '\'' } else { self.expect('"').map(|()| '"')? };
        let (text, rest) = self.rest.split_once(quote)?;
        self.rest = rest;
        Some(text)
    }

    /// A string, or anything in brackets, which is skipped.
    fn descr(&mut self) -> Option<Descr> {
        if !self.rest.trim_start().starts_with('[') {
            return self.string().map(|text| Descr::Plain(text.to_owned()));
        }
        let mut depth = 0usize;
        let mut quote = None;
        for (at, letter) in self.rest.char_indices() {
            match (quote, letter) {
                (Some(open), _) if open == letter => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(letter),
                (None, '[') => depth += 1,
                (None, ']') => depth = depth.checked_sub(1)?,
                (None, _) => {}
            }
            if letter == ']' && depth == 0 {
                self.rest = self.rest.get(at + 1..)?;
                return Some(Descr::Structured);
            }
        }
        None
    }

    fn truth(&mut self) -> Option<bool> {
        let rest = self.rest.trim_start();
        let (value, rest) = match rest.strip_prefix("True") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("False")?),
        };
        self.rest = rest;
        Some(value)
    }

    fn shape(&mut self) -> Option<Vec<usize>> {
        self.expect('(')?;
        let mut shape = Vec::new();
        while !self.take(')') {
            let rest = self.rest.trim_start();
            let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
            let (digits, rest) = rest.split_at_checked(end)?;
            shape.push(digits.parse().ok()?);
            // Python 2 wrote long integers like this.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if shape.len() > MAX_RANK || (!self.take(',') && !self.rest.trim_start().starts_with(')')) {
                return None;
            }
        }
        Some(shape)
    }
}

/// The bytes before the elements of an array in row-major order. The length of the header does not depend on the first
/// size, so this size can be filled in later.
pub fn header(dtype: DType, shape: &[usize]) -> Vec<u8> {
    /// The digits of the largest size.
    const WIDEST: usize = 20;
    // The spelling of the package ml_dtypes for what NumPy has not; single bytes have no order.
    let (code, order) = (dtype.numpy_code().unwrap_or("V2"), if dtype.size() == 1 { '|' } else { NATIVE });
    let descr = format!("{order}{code}");
    let mut sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    if shape.len() > 1 {
        sizes.truncate(sizes.len() - 2);
    } else {
        sizes.truncate(sizes.trim_end().len());
    }
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let first = shape.first().map_or(0, |size| WIDEST - size.to_string().len().min(WIDEST));
    let length = (10 + text.len() + first + 1).next_multiple_of(64) - 10;
    text.push_str(&" ".repeat(length - 1 - text.len()));
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}
