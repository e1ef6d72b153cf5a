//! Checks the footer of a Parquet file before it is parsed.
//!
//! A footer is a structure in Thrift's compact protocol. The parser allocates lists and trees as long and as deep as they
//! claim to be, and memory that is not there ends the process. So every list has to fit the bytes that follow it, and
//! the tree of columns has to be complete and flat enough for recursion.

/// The deepest structure that is accepted: of Thrift's values, and of columns in columns.
const DEEPEST: usize = 48;
/// The fields of a footer and of a column in it, by the definition of the format.
const SCHEMA: u64 = 2;
const CHILDREN: u64 = 5;

/// Whether a footer may be parsed.
pub fn is_sound(footer: &[u8]) -> bool {
    let mut walker = Walker { rest: footer, columns: Vec::new() };
    walker.structure(0, None).is_some() && is_tree(&walker.columns)
}

/// The number of lengths at the start of delta-encoded texts.
pub fn lengths(values: &[u8]) -> Option<u64> {
    let mut walker = Walker { rest: values, columns: Vec::new() };
    let (_block, _parts) = (walker.number()?, walker.number()?);
    walker.number()
}

/// Whether the numbers of children, parents first, are those of one tree that is not too deep.
fn is_tree(columns: &[u64]) -> bool {
    // The children of each open node that are still to come; the root is expected.
    let mut open: Vec<u64> = vec![1];
    for children in columns {
        let Some(expected) = open.last_mut() else { return false };
        *expected -= 1;
        // A node without children is closed at once.
        open.push(*children);
        if open.len() > DEEPEST {
            return false;
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    open.is_empty()
}

struct Walker<'f> {
    rest: &'f [u8],
    /// The numbers of children of the columns.
    columns: Vec<u64>,
}

impl<'f> Walker<'f> {
    fn take(&mut self, count: u64) -> Option<&'f [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    /// A number in groups of seven bits, the least significant first.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A structure; `list` is the field of the footer that it is an element of.
    fn structure(&mut self, depth: usize, list: Option<u64>) -> Option<()> {
        let mut field = 0u64;
        let mut children = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                break;
            }
            field = match head >> 4 {
                // Numbers alternate in sign; those of fields are positive.
                0 => self.number()? >> 1,
                step => field.checked_add(u64::from(step))?,
            };
            // The parser would cut off further bits.
            u16::try_from(field).ok()?;
            match head & 0x0f {
                // The truth value is the type.
                1 | 2 => {}
                5 if depth == 1 && list == Some(SCHEMA) && field == CHILDREN => {
                    children = self.number()? >> 1
                }
                kind => self.value(kind, depth, field)?,
            }
        }
        if depth == 1 && list == Some(SCHEMA) {
            self.columns.push(children);
        }
        Some(())
    }

    fn value(&mut self, kind: u8, depth: usize, field: u64) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            1..=3 => self.byte().map(drop),
            4..=6 => self.number().map(drop),
            7 => self.take(8).map(drop),
            8 => self.number().and_then(|count| self.take(count)).map(drop),
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.number()?,
                    count => u64::from(count),
                };
                // An element takes at least one byte.
                if count > self.rest.len() as u64 {
                    return None;
                }
                (0..count).try_for_each(|_| match head & 0x0f {
                    12 => self.structure(depth + 1, (depth == 0).then_some(field)),
                    kind => self.value(kind, depth + 1, field),
                })
            }
            11 => {
                let count = self.number()?;
                if count > self.rest.len() as u64 {
                    return None;
                }
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1, field)?;
                    self.value(kinds & 0x0f, depth + 1, field)
                })
            }
            12 => self.structure(depth + 1, None),
            13 => self.take(16).map(drop),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_one_tree() {
        for (columns, expected) in [
            (&[][..], false),
            (&[0], true),
            (&[2, 0, 0], true),
            (&[2, 1, 0, 0], true),
            (&[2, 0], false),
            (&[1, 0, 0], false),
            (&[u64::MAX, 0], false),
            (&[1; 40], false),
            (&[&[1; 40][..], &[0]].concat(), true),
            (&[&[1; 60][..], &[0]].concat(), false),
        ] {
            assert_eq!(is_tree(columns), expected, "{columns:?}");
        }
    }

    /// Footers by the definition of Thrift's compact protocol.
    #[test]
    fn lists_fit_their_bytes() {
        // version: 1, schema: [{children: 1}, {}], num_rows: 0, row_groups: [].
        let sound = [0x15, 2, 0x19, 0x2c, 0x55, 2, 0, 0, 0x16, 0, 0x19, 0x0c, 0];
        assert!(is_sound(&sound));
        assert!(!is_sound(&sound[..12]));
        let with = |at: usize, bytes: &[u8]| [&sound[..at], bytes, &sound[at + 1..]].concat();
        assert!(!is_sound(&with(11, &[0xfc, 0xff, 0xff, 0xff, 0xff, 7])), "two billion row groups");
        assert!(!is_sound(&with(5, &[0xfe, 0xff, 0xff, 0xff, 0xf])), "two billion columns");
        assert!(!is_sound(&with(0, &[0x18, 0xff, 0xff, 0xff, 0xff, 7])), "a text of two gigabytes");
        // A structure in a structure, and so on.
        assert!(!is_sound(&[0x1c; 100_000]));
        assert!(!is_sound(&[0x19, 0x19].repeat(50_000)));
    }

    #[test]
    fn texts_are_counted() {
        assert_eq!(lengths(&[0x80, 1, 4, 0xac, 2, 0]), Some(300));
        assert_eq!(lengths(&[0x80, 1, 4, 0xac]), None);
        assert_eq!(lengths(&[0xff; 30]), None);
    }
}
