//! Cuts the rows of a stream into pieces, and determines the order in which their results combine.
//!
//! A float sum over all rows is a tree over blocks of rows: results of equal numbers of blocks merge like the
//! digits of a binary counter (`broadloom-ir/src/reduce.rs`). A piece of 2^k blocks that starts at a multiple of
//! 2^k blocks is one node of that tree, and so is the remainder at the end.

use broadloom_ir::reduce::BLOCK;
use std::ops::Range;

/// Rows to be computed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The rows, counted within the chunk.
    pub rows: Range<usize>,
    /// The piece has 2^rank blocks; `None` for the remainder at the end of all rows.
    pub rank: Option<u32>,
}

/// Cuts a chunk of `rows` rows into pieces. The `before` rows before it are whole blocks. The chunk itself consists
/// of whole blocks too, unless it is certainly the last.
pub(super) fn pieces(before: usize, rows: usize, is_last: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < rows {
        let first = (before + start) / BLOCK;
        let left = (rows - start).div_ceil(BLOCK);
        // The longest piece that starts here; at 0 the length is unlimited.
        let aligned = if first == 0 { usize::MAX } else { 1 << first.trailing_zeros() };
        if is_last && left <= aligned {
            pieces.push(Piece { rows: start..rows, rank: None });
            break;
        }
        let rank = left.min(aligned).ilog2();
        let end = start + (BLOCK << rank);
        pieces.push(Piece { rows: start..end, rank: Some(rank) });
        start = end;
    }
    pieces
}

/// The results of pieces, merged as far as possible: their ranks decrease.
#[derive(Debug)]
pub(super) struct Counter<T> {
    results: Vec<(Option<u32>, T)>,
}

impl<T> Default for Counter<T> {
    fn default() -> Self {
        Counter { results: Vec::new() }
    }
}

impl<T> Counter<T> {
    /// Adds the result of the next piece.
    pub fn push<E>(
        &mut self,
        rank: Option<u32>,
        result: T,
        mut merge: impl FnMut(T, T) -> Result<T, E>,
    ) -> Result<(), E> {
        let (mut rank, mut result) = (rank, result);
        while let Some(of) = rank
            && let Some((_, left)) = self.results.pop_if(|(other, _)| *other == rank)
        {
            result = merge(left, result)?;
            rank = Some(of + 1);
        }
        self.results.push((rank, result));
        Ok(())
    }

    /// Returns the result of all pieces: the remaining results merge from right to left. `None` if there were no
    /// pieces.
    pub fn finish<E>(&mut self, mut merge: impl FnMut(T, T) -> Result<T, E>) -> Result<Option<T>, E> {
        let mut results = std::mem::take(&mut self.results);
        let Some((_, mut right)) = results.pop() else { return Ok(None) };
        while let Some((_, left)) = results.pop() {
            right = merge(left, right)?;
        }
        Ok(Some(right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how blocks combine, as text.
    fn tree(chunks: &[usize]) -> String {
        let mut counter = Counter::default();
        let mut before = 0;
        let merge = |left: String, right: String| Ok::<_, ()>(format!("({left} {right})"));
        for rows in chunks {
            for piece in pieces(before, *rows, !rows.is_multiple_of(BLOCK)) {
                let blocks = (before + piece.rows.start) / BLOCK..(before + piece.rows.end).div_ceil(BLOCK);
                // Within one piece, the kernel combines the blocks by the same rules.
                let mut within = Counter::default();
                blocks.for_each(|block| within.push(Some(0), block.to_string(), merge).unwrap());
                let result = within.finish(merge).unwrap().unwrap();
                counter.push(piece.rank, result, merge).unwrap();
            }
            before += rows;
        }
        counter.finish(merge).unwrap().unwrap_or_default()
    }

    #[test]
    fn any_chunks_combine_as_one() {
        assert_eq!(tree(&[5 * BLOCK + 1]), "(((0 1) (2 3)) (4 5))");
        for blocks in 0..24 {
            for rest in [0, 1, 64, 1000] {
                let rows = blocks * BLOCK + rest;
                let whole = tree(&[rows]);
                for chunk in 1..6 {
                    let count = rows / (chunk * BLOCK);
                    let mut chunks = vec![chunk * BLOCK; count];
                    chunks.extend(Some(rows - count * chunk * BLOCK).filter(|rest| *rest > 0));
                    assert_eq!(tree(&chunks), whole, "{chunks:?}");
                }
                let uneven = [3, 1, 2, 7].map(|blocks| blocks * BLOCK);
                if rows >= 13 * BLOCK {
                    let rest = rows - uneven.iter().sum::<usize>();
                    let chunks: Vec<usize> =
                        uneven.into_iter().chain(Some(rest).filter(|rest| *rest > 0)).collect();
                    assert_eq!(tree(&chunks), whole, "{chunks:?}");
                }
            }
        }
    }

    #[test]
    fn pieces_are_few() {
        assert_eq!(pieces(0, 64 * BLOCK, false).len(), 1);
        assert_eq!(pieces(64 * BLOCK, 64 * BLOCK, false), [Piece { rows: 0..64 * BLOCK, rank: Some(6) }]);
        assert_eq!(pieces(64 * BLOCK, 3 * BLOCK + 5, true), [Piece { rows: 0..3 * BLOCK + 5, rank: None }]);
        assert_eq!(pieces(0, 10, true), [Piece { rows: 0..10, rank: None }]);
        assert_eq!(pieces(0, 0, true), []);
    }
}
