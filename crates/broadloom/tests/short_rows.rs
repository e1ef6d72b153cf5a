//! Rows of a few elements, which vector loops read as a whole and shuffle.

use broadloom::prelude::*;
use broadloom::{CompileOptions, CpuLevel, Element, Threads};

/// The sum of the elements of each row, each times its number, of small integers: exact in every dtype.
fn weighed<T: Element, R: Element + PartialEq + std::fmt::Debug>(number: fn(i64) -> T, result: fn(i64) -> R) {
    for columns in 2..=9_usize {
        for options in ways() {
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

/// Every width of vectors, and no vectors.
fn ways() -> Vec<CompileOptions> {
    let way = |level: Option<CpuLevel>, vectorize, vector_bytes| CompileOptions {
        threads: Threads::Calling,
        level,
        vectorize,
        vector_bytes,
        ..CompileOptions::default()
    };
    vec![
        way(None, true, 64),
        way(None, true, 32),
        way(None, true, 16),
        way(Some(CpuLevel::Baseline), true, 16),
        way(None, false, 16),
    ]
}

#[test]
fn of_4_bytes() {
    weighed(|x| x as f32, |x| x as f32);
    weighed(|x| x as i32, |x| x as i32);
}

/// Rows in parts of a register, because results are longer.
#[test]
fn of_4_bytes_as_8() {
    weighed(|x| x as f32, |x| x);
    weighed(|x| x as i32, |x| x as f64);
}

#[test]
fn of_8_bytes() {
    weighed(|x| x as f64, |x| x as f64);
    weighed(|x| x, |x| x);
}

#[test]
fn of_fewer_bytes() {
    weighed(|x| x as i16, |x| x as i16);
}
