//! Rows of a few elements, which vector loops read and write as a whole and shuffle.

use crate::support::ways::ways_and_baseline;
use broadloom::prelude::*;

/// The sum of the elements of each row, each times its number, of small integers: exact in every dtype.
fn weighed<T: Element, R: Element + PartialEq + std::fmt::Debug>(number: fn(i64) -> T, result: fn(i64) -> R) {
    for columns in 2..=9_usize {
        for options in ways_and_baseline() {
            let g = Graph::new();
            let x = g.input::<T>("x", shape![g.symbol("n"), columns]);
            let columns_of = (0..columns as i64).map(|column| x.index(-1, column).cast::<R>() * (column + 1));
            let total = columns_of.reduce(|total, column| total + column).unwrap();
            let kernel = total.compile_with(&options).unwrap();
            for rows in [0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 200_usize] {
                let at = |row: usize, column: usize| ((7 * row + 5 * column) % 11) as i64;
                let mut elements = Vec::with_capacity(rows * columns);
                elements
                    .extend((0..rows * columns).map(|index| number(at(index / columns, index % columns))));
                let mut totals = vec![result(0); rows];
                let view = ArrayView::new(&elements, &[rows, columns]).unwrap();
                kernel.run_into([view], &mut totals).unwrap();
                for (row, total) in totals.into_iter().enumerate() {
                    let of_row: Vec<i64> = (0..columns).map(|column| at(row, column)).collect();
                    let expected: i64 =
                        of_row.iter().zip(1..).map(|(element, weight)| element * weight).sum();
                    let case = format!("{:?} of {columns} as {:?}, row {row} of {rows}", T::DTYPE, R::DTYPE);
                    assert_eq!(total, result(expected), "{case}");
                }
            }
        }
    }
}

/// Each row turned around, every element times its new number, as another dtype. Nothing is written behind the rows.
fn turned<T: Element, R: Element + PartialEq + std::fmt::Debug>(number: fn(i64) -> T, result: fn(i64) -> R) {
    for columns in 2..=9_usize {
        for options in ways_and_baseline() {
            let g = Graph::new();
            let x = g.input::<T>("x", shape![g.symbol("n"), columns]);
            let numbers = (g.iota(columns) + 1).cast::<R>();
            let kernel = (x.flip(-1).cast::<R>() * numbers).compile_with(&options).unwrap();
            for rows in [0, 1, 3, 4, 15, 16, 17, 63, 64, 65, 200_usize] {
                let at = |row: usize, column: usize| ((7 * row + 5 * column) % 11) as i64;
                let elements: Vec<T> =
                    (0..rows * columns).map(|index| number(at(index / columns, index % columns))).collect();
                let mut written: Vec<R> = (0..rows * columns + 5).map(|_| result(-1)).collect();
                let view = ArrayView::new(&elements, &[rows, columns]).unwrap();
                let out = ArrayViewMut::new(&mut written[..rows * columns], &[rows, columns]).unwrap();
                kernel.run_into([view], out).unwrap();
                let expected = (0..rows * columns).map(|index| {
                    let (row, column) = (index / columns, index % columns);
                    result(at(row, columns - 1 - column) * (column as i64 + 1))
                });
                let expected: Vec<R> = expected.chain((0..5).map(|_| result(-1))).collect();
                assert!(written == expected, "{:?} of {columns} as {:?}, {rows} rows", T::DTYPE, R::DTYPE);
            }
        }
    }
}

#[test]
fn of_4_bytes() {
    weighed(|x| x as f32, |x| x as f32);
    weighed(|x| x as i32, |x| x as i32);
    turned(|x| x as f32, |x| x as f32);
    turned(|x| x as i32, |x| x as i32);
}

/// Rows in parts of a register, because results are longer.
#[test]
fn of_4_bytes_as_8() {
    weighed(|x| x as f32, |x| x);
    weighed(|x| x as i32, |x| x as f64);
    turned(|x| x as f32, |x| x);
    turned(|x| x as i32, |x| x as f64);
}

#[test]
fn of_8_bytes_as_4() {
    weighed(|x| x as f64, |x| x as f32);
    turned(|x| x, |x| x as i32);
}

#[test]
fn of_8_bytes() {
    weighed(|x| x as f64, |x| x as f64);
    weighed(|x| x, |x| x);
    turned(|x| x as f64, |x| x as f64);
    turned(|x| x, |x| x);
}

#[test]
fn of_fewer_bytes() {
    weighed(|x| x as i16, |x| x as i16);
    turned(|x| x as i16, |x| x as i16);
}

/// An update in place reads each element before its store, also where rows are turned around or added up. Longer ones are computed
/// aside.
#[test]
fn of_an_array_that_is_updated() {
    for (columns, turns) in (2..=5_usize).flat_map(|columns| [false, true].map(|turns| (columns, turns))) {
        for options in ways_and_baseline() {
            let g = Graph::new();
            let n = g.symbol("n");
            let [x, w] =
                [("x", columns), ("w", 1)].map(|(name, columns)| g.input::<f32>(name, shape![n, columns]));
            x.assign(if turns { x.flip(-1) * w } else { x * w + x.sum_keepdims(-1) });
            let kernel = g.compile_with([], &options).unwrap();
            let in_place = columns <= 4;
            assert_eq!(kernel.explain().in_place("x"), Some(in_place), "{columns}: {}", kernel.explain());
            for rows in [0, 1, 15, 16, 100_usize] {
                let mut elements: Vec<f32> = (0..rows * columns).map(|index| (index % 13) as f32).collect();
                let weights: Vec<f32> = (0..rows).map(|index| (index % 7) as f32).collect();
                let rows_of = elements.chunks(columns).zip(&weights);
                let expected: Vec<f32> = rows_of
                    .flat_map(|(row, weight)| {
                        let sum: f32 = row.iter().sum();
                        let new = |at: usize| match turns {
                            true => row[columns - 1 - at] * weight,
                            false => row[at] * weight + sum,
                        };
                        (0..columns).map(new).collect::<Vec<f32>>()
                    })
                    .collect();
                let x = ArrayViewMut::new(&mut elements, &[rows, columns]).unwrap();
                kernel.run((x, ArrayView::new(&weights, &[rows, 1]).unwrap())).unwrap();
                assert_eq!(elements, expected, "{rows} rows of {columns}");
            }
        }
    }
}
