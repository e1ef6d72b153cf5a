//! Transposes of blocks, against element by element.
#![allow(unsafe_code, reason = "entry points are called with the addresses of arrays")]

use broadloom_math::transpose_function;

#[test]
fn every_element_goes_to_its_place_and_nothing_else_is_written() {
    for size in [1, 2, 4, 8] {
        let function = transpose_function(size).expect("there is one for the size");
        let shapes =
            [(0, 3), (3, 0), (1, 1), (4, 4), (16, 256), (7, 13), (9, 8), (8, 17), (2, 50), (3, 50), (12, 63)];
        // Columns that follow each other in memory, and others.
        for ((rows, columns), gap) in shapes.into_iter().flat_map(|shape| [(shape, 0), (shape, 1)]) {
            let (row, column) = ((columns + 2) * size, (rows + gap) * size);
            let source: Vec<u8> = (0..columns * column).map(|byte| (byte * 7 + byte / 251) as u8).collect();
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
                function(target.as_mut_ptr(), row as isize, source.as_ptr(), column as isize, rows, columns);
            }
            assert_eq!(target, expected, "{rows} x {columns} of {size} bytes");
        }
    }
    assert!(transpose_function(3).is_none());
}
