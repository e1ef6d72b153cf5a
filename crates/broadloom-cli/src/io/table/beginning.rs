//! How a table of text begins: its encoding, and what stands before its rows.

use crate::failure::Failure;
use crate::io::content::Content;
use std::rc::Rc;

/// The mark of UTF-8 with which some programs start files. It is not part of the first cell.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];
/// The marks of other encodings, in which some programs for tables write text. That of UTF-32 starts like one of UTF-16.
const WIDE: &[(&[u8], &str)] = &[
    (&[0xff, 0xfe, 0, 0], "UTF-32"),
    (&[0, 0, 0xfe, 0xff], "UTF-32"),
    (&[0xff, 0xfe], "UTF-16"),
    (&[0xfe, 0xff], "UTF-16"),
];
/// The bytes of four that are 0 in most groups of a text without a mark.
const ZEROS: &[([bool; 4], &str)] = &[
    ([false, true, false, true], "UTF-16LE"),
    ([true, false, true, false], "UTF-16BE"),
    ([false, true, true, true], "UTF-32LE"),
    ([true, true, true, false], "UTF-32BE"),
];
/// How files begin that are not text. The first bytes of Parquet and Arrow alone could be the name of a column.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"PAR1\x15", "a Parquet file", "give it a name that ends with .parquet"),
    (b"ARROW1\0\0", "an Arrow file", "give it a name that ends with .arrow"),
    (b"PK\x03\x04", "a .zip or .xlsx file", "unpack it, or save it as .csv"),
    (&[0x1f, 0x8b], "compressed with gzip", "decompress it with gzip -dc"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd", "decompress it with zstd -dc"),
];

/// Where the rows of a table start.
#[derive(Debug)]
pub struct Beginning {
    /// The place of the first cell, and its line.
    pub at: u64,
    pub line: u64,
    /// The delimiter that the file names.
    pub delimiter: Option<u8>,
}

impl Beginning {
    /// Looks at the first bytes of a table.
    ///
    /// # Errors
    /// Returns an error if the file is not text in UTF-8, or cannot be read.
    pub fn of(content: &Rc<Content>) -> Result<Beginning, Failure> {
        let bytes = content.beginning()?;
        if let Some(encoding) = encoding(&bytes) {
            let code = format!("iconv -f {encoding} -t UTF-8 {}", content.path().display());
            let what = format!("it is text in {encoding}");
            return Err(content.wrong(&what).help_code("convert the file:", code));
        }
        if let Some((_, what, help)) = OTHERS.iter().find(|(mark, ..)| bytes.starts_with(mark)) {
            return Err(content.wrong(&format!("it is {what}, and not a table of text")).help(*help));
        }
        let (mark, rest) = match bytes.strip_prefix(MARK) {
            Some(rest) => (MARK.len() as u64, rest),
            None => (0, bytes.as_slice()),
        };
        Ok(match named_delimiter(rest) {
            Some((delimiter, length)) => {
                Beginning { at: mark + length as u64, line: 2, delimiter: Some(delimiter) }
            }
            None => Beginning { at: mark, line: 1, delimiter: None },
        })
    }
}

/// The encoding of a text, if it is not UTF-8.
fn encoding(bytes: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = WIDE.iter().find(|(mark, _)| bytes.starts_with(mark)) {
        return Some(name);
    }
    let mut zeros = [0; 4];
    let mut groups = 0;
    for group in bytes.chunks_exact(zeros.len()) {
        zeros.iter_mut().zip(group).for_each(|(count, byte)| *count += usize::from(*byte == 0));
        groups += 1;
    }
    let are_most = zeros.map(|count| 2 * count > groups);
    ZEROS.iter().find(|(zeros, _)| *zeros == are_most).map(|(_, name)| *name)
}

/// The delimiter in a first line `sep=;`, which is written for Excel, and the length of the line.
fn named_delimiter(bytes: &[u8]) -> Option<(u8, usize)> {
    let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'))?;
    let (line, rest) = bytes.split_at_checked(end)?;
    let line = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\"")).unwrap_or(line);
    let (name, mark) = line.split_last_chunk::<1>().map(|(name, [mark])| (name, *mark))?;
    let is_mark = name.eq_ignore_ascii_case(b"sep=") && mark.is_ascii() && mark != b'"';
    let ends = if rest.starts_with(b"\r\n") { 2 } else { 1 };
    is_mark.then_some((mark, end + ends))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_their_bytes() {
        let wide = |text: &str, bytes: &dyn Fn(u32) -> Vec<u8>| -> Vec<u8> {
            text.chars().flat_map(|letter| bytes(letter as u32)).collect()
        };
        let text = "a,é\n1,2\n";
        for (bytes, expected) in [
            (text.as_bytes().to_vec(), None),
            (Vec::new(), None),
            (b"a".to_vec(), None),
            // Zero bytes in a text are not an encoding.
            (b"a,b\n1,\0\n3,4\n".to_vec(), None),
            (wide(text, &|letter| (letter as u16).to_le_bytes().to_vec()), Some("UTF-16LE")),
            (wide(text, &|letter| (letter as u16).to_be_bytes().to_vec()), Some("UTF-16BE")),
            (wide(text, &|letter| letter.to_le_bytes().to_vec()), Some("UTF-32LE")),
            (wide(text, &|letter| letter.to_be_bytes().to_vec()), Some("UTF-32BE")),
            (vec![0xff, 0xfe, b'a', 0], Some("UTF-16")),
            (vec![0xfe, 0xff, 0, b'a'], Some("UTF-16")),
            (vec![0xff, 0xfe, 0, 0, b'a', 0, 0, 0], Some("UTF-32")),
            (vec![0, 0, 0xfe, 0xff, 0, 0, 0, b'a'], Some("UTF-32")),
        ] {
            assert_eq!(encoding(&bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn the_line_for_excel_names_a_delimiter() {
        for (text, expected) in [
            ("sep=;\na;b\n", Some((b';', 6))),
            ("SEP=|\r\na|b\r\n", Some((b'|', 7))),
            ("\"sep=;\"\na;b\n", Some((b';', 8))),
            ("sep=\t\na\tb\n", Some((b'\t', 6))),
            ("sep=,\r1,2\r", Some((b',', 6))),
            ("sep=\n1\n", None),
            ("sep=ab\n1\n", None),
            ("step=;\n1\n", None),
            ("sep=;", None),
            ("\n", None),
            ("", None),
        ] {
            assert_eq!(named_delimiter(text.as_bytes()), expected, "{text:?}");
        }
    }
}
