//! Blocks of a table with rows for columns: no function, but like a tile a loop that compiled kernels call.
//!
//! Reading a table against the order of its elements takes a cache line for each of them. A block that is as wide as a
//! cache line uses each line that it touches as a whole; its columns, copied to rows, are then read like any others.
#![allow(unsafe_code, reason = "an entry point that compiled kernels call with addresses")]

/// The entry point: `target[r][c] = source[c][r]` for `r < rows` and `c < columns`. Strides are bytes from one row of
/// `target`, and from one row of `source`, to the next; elements within a row are contiguous, of any alignment.
///
/// # Safety
///
/// `source` must be valid for reads of `columns` rows of `rows` elements, and `target` for writes of `rows` rows of
/// `columns` elements; they must not overlap.
pub type TransposeFn = unsafe extern "C" fn(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
);

/// The loop for elements of 1, 2, 4 or 8 bytes.
pub fn transpose_function(size: usize) -> Option<TransposeFn> {
    match size {
        1 => Some(run::<u8, 8>),
        2 => Some(run::<u16, 8>),
        4 => Some(run::<u32, 4>),
        8 => Some(run::<u64, 2>),
        _ => None,
    }
}

/// Elements of which square blocks are transposed in registers.
trait Element: Copy + Default {
    fn transposed<const N: usize>(block: [[Self; N]; N]) -> [[Self; N]; N] {
        let mut transposed = [[Self::default(); N]; N];
        for (r, row) in transposed.iter_mut().enumerate() {
            for (c, element) in row.iter_mut().enumerate() {
                *element = block[c][r];
            }
        }
        transposed
    }
}

impl Element for u8 {}
impl Element for u16 {}
impl Element for u32 {}
impl Element for u64 {}

/// # Safety
///
/// As [`TransposeFn`].
unsafe extern "C" fn run<T: Element, const N: usize>(
    target: *mut u8,
    target_stride: isize,
    source: *const u8,
    source_stride: isize,
    rows: usize,
    columns: usize,
) {
    let (whole_rows, whole_columns) = (rows - rows % N, columns - columns % N);
    let from = |r: usize, c: usize| {
        // SAFETY: within the caller's rows of `source`.
        unsafe { source.offset(c as isize * source_stride).cast::<T>().add(r) }
    };
    let to = |r: usize, c: usize| {
        // SAFETY: within the caller's rows of `target`.
        unsafe { target.offset(r as isize * target_stride).cast::<T>().add(c) }
    };
    for r in (0..whole_rows).step_by(N) {
        for c in (0..whole_columns).step_by(N) {
            let mut block = [[T::default(); N]; N];
            for (i, row) in block.iter_mut().enumerate() {
                // SAFETY: columns c .. c + N and rows r .. r + N are the caller's.
                *row = unsafe { from(r, c + i).cast::<[T; N]>().read_unaligned() };
            }
            for (i, row) in T::transposed(block).into_iter().enumerate() {
                // SAFETY: as for the reads.
                unsafe { to(r + i, c).cast::<[T; N]>().write_unaligned(row) };
            }
        }
    }
    for r in 0..rows {
        let first = if r < whole_rows { whole_columns } else { 0 };
        for c in first..columns {
            // SAFETY: r < rows and c < columns.
            unsafe { to(r, c).write_unaligned(from(r, c).read_unaligned()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::transpose_function;

    #[test]
    fn every_element_goes_to_its_place_and_nothing_else_is_written() {
        for size in [1, 2, 4, 8] {
            let function = transpose_function(size).expect("there is one for the size");
            for (rows, columns) in [(0, 3), (3, 0), (1, 1), (4, 4), (16, 256), (7, 13), (9, 8), (8, 17)] {
                let (row, column) = ((columns + 2) * size, (rows + 1) * size);
                let source: Vec<u8> =
                    (0..columns * column).map(|byte| (byte * 7 + byte / 251) as u8).collect();
                let mut target = vec![0xa5; rows * row];
                let mut expected = target.clone();
                for r in 0..rows {
                    for c in 0..columns {
                        expected[r * row + c * size..][..size]
                            .copy_from_slice(&source[c * column + r * size..][..size]);
                    }
                }
                // SAFETY: the arrays have as many rows, of these strides.
                unsafe {
                    function(
                        target.as_mut_ptr(),
                        row as isize,
                        source.as_ptr(),
                        column as isize,
                        rows,
                        columns,
                    );
                }
                assert_eq!(target, expected, "{rows} x {columns} of {size} bytes");
            }
        }
        assert!(transpose_function(3).is_none());
    }
}
