//! Whether the first row of a table of text has the names of its columns.

use super::cells::{Cell, Reads};
use super::numbers::Spelling;
use std::collections::HashSet;
use std::ops::Range;

/// The most integers of an index in no order that are compared with each other.
const MOST_INTEGERS: usize = 1 << 20;

/// Whether a row can only have names: one of its cells is text.
pub fn has_text(cells: &[String], spelling: &Spelling) -> bool {
    cells.iter().any(|cell| Reads::Numbers.read(cell, spelling) == Cell::Text)
}

/// A first row of numbers behind empty cells, as pandas and R write it for columns whose names are numbers. It has names if
/// the cells below the empty ones are an index.
#[derive(Debug)]
pub struct OverIndex {
    /// The number of empty cells.
    levels: usize,
    /// Whether the names differ.
    are_distinct: bool,
    /// Whether all names are integers.
    are_integers: bool,
    rows: usize,
    /// Whether all cells below are text.
    are_texts: bool,
    /// The integers below count from the first one on, as far as these.
    counted: Range<i64>,
    /// The last one, if each is greater than the one before: they differ, however many there are.
    ascending_to: Option<i64>,
    /// The others, unless one is there twice, there are too many, or one cell is not an integer.
    integers: Option<HashSet<i64>>,
    has_missing: bool,
}

impl OverIndex {
    /// The first row, if it can have such names.
    pub fn new(cells: &[String], spelling: &Spelling) -> Option<OverIndex> {
        let levels = cells.iter().take_while(|cell| cell.is_empty()).count();
        let names = cells.get(levels..).filter(|names| levels > 0 && !names.is_empty())?;
        let read: Vec<Cell> = names.iter().map(|name| Reads::Numbers.read(name, spelling)).collect();
        let are_numbers = read.iter().all(|cell| matches!(cell, Cell::Int(_) | Cell::Float(_)));
        let distinct: HashSet<&String> = names.iter().collect();
        are_numbers.then(|| OverIndex {
            levels,
            are_distinct: distinct.len() == names.len(),
            are_integers: read.iter().all(|cell| matches!(cell, Cell::Int(_))),
            rows: 0,
            are_texts: true,
            counted: 0..0,
            ascending_to: None,
            integers: Some(HashSet::new()),
            has_missing: false,
        })
    }

    /// The number of cells at the start of a row that may be those of an index.
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Takes the first cells of a further row into account.
    pub fn add(&mut self, cells: impl Iterator<Item = Cell>) {
        for (level, cell) in cells.enumerate() {
            self.has_missing |= cell == Cell::Missing;
            self.are_texts &= cell == Cell::Text;
            if level > 0 {
                continue;
            }
            match cell {
                Cell::Int(int) => self.add_integer(int),
                _ => (self.ascending_to, self.integers) = (None, None),
            }
        }
        self.rows += 1;
    }

    fn add_integer(&mut self, int: i64) {
        if self.rows == 0 {
            self.counted = int..int;
            self.ascending_to = Some(int);
        } else {
            self.ascending_to = self.ascending_to.filter(|last| *last < int).map(|_| int);
        }
        if self.counts() && int == self.counted.end {
            self.counted.end += 1;
            return;
        }
        let has_room = |integers: &HashSet<i64>| integers.len() < MOST_INTEGERS;
        let integers = self.integers.as_mut().filter(|integers| has_room(integers));
        if !integers.is_some_and(|integers| !self.counted.contains(&int) && integers.insert(int)) {
            self.integers = None;
        }
    }

    /// Whether the first row has names. An index that neither counts nor is text could be a column of data with one missing
    /// cell, so its integers have to differ, and all names have to be integers.
    pub fn has_names(&self) -> bool {
        let is_index = match self.levels {
            1 => self.are_texts || self.counts() || (self.are_integers && self.are_different()),
            _ => true,
        };
        self.is_complete() && self.are_distinct && is_index
    }

    /// Whether the index is 0, 1, 2, .. or 1, 2, 3, ..
    fn counts(&self) -> bool {
        matches!(self.counted.start, 0 | 1) && self.counted.end - self.counted.start == self.rows as i64
    }

    /// Whether the integers of the index certainly differ.
    fn are_different(&self) -> bool {
        self.ascending_to.is_some() || self.integers.is_some()
    }

    /// Whether the first row may have names, although the cells below its empty ones do not look like an index.
    pub fn may_have_names(&self) -> bool {
        self.is_complete() && !self.has_names()
    }

    /// Whether only the first row lacks cells.
    fn is_complete(&self) -> bool {
        self.rows > 0 && !self.has_missing
    }
}

/// A first row of integers that follow one another, above numbers that all have decimals: pandas writes names so if the index
/// is left out, but data may look so too.
#[derive(Debug)]
pub struct OverDecimals {
    rows: usize,
    has_others: bool,
}

impl OverDecimals {
    /// The first row, if it can have such names.
    pub fn new(cells: &[String], spelling: &Spelling) -> Option<OverDecimals> {
        let read: Vec<Cell> = cells.iter().map(|cell| Reads::Numbers.read(cell, spelling)).collect();
        let follow = |pair: &[Cell]| match pair {
            [Cell::Int(first), Cell::Int(second)] => first.checked_add(1) == Some(*second),
            _ => false,
        };
        let are_names = read.len() > 1 && read.windows(2).all(follow);
        are_names.then_some(OverDecimals { rows: 0, has_others: false })
    }

    /// Takes a further row into account.
    pub fn add(&mut self, cells: impl Iterator<Item = Cell>) {
        for cell in cells {
            self.has_others |= !matches!(cell, Cell::Float(_) | Cell::Missing);
        }
        self.rows += 1;
    }

    /// Whether the first row may have names.
    pub fn may_have_names(&self) -> bool {
        self.rows > 0 && !self.has_others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those of filtered rows ascend: they differ, and nobody has to remember them.
    #[test]
    fn a_long_index_has_names_above_it_if_it_ascends() {
        let rows = MOST_INTEGERS as i64 + 2;
        let has_names = |int: fn(i64) -> i64| {
            let first = ["", "2019", "2020"].map(str::to_owned);
            let mut over = OverIndex::new(&first, &Spelling::default()).expect("names over an index");
            (0..rows).for_each(|row| over.add([Cell::Int(int(row))].into_iter()));
            over.has_names()
        };
        assert!(has_names(|row| 3 * row));
        assert!(has_names(|row| row));
        assert!(!has_names(|row| -row));
        assert!(!has_names(|row| row / 2));
    }
}
