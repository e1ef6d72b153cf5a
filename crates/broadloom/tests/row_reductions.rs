//! Reductions of short rows, which have a row in each lane: the bits of the interpreter, for every length, dtype and layout.

#[path = "support/bits.rs"]
mod bits;

use bits::assert_bits;
use broadloom::prelude::*;
use broadloom::{CompileOptions, CpuLevel, Element, Threads};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp::{self, interpret};
use std::collections::HashMap;

/// A few numbers from -3.3 to 3.3, so that extremes occur several times and the order of sums matters; some are not a number.
fn elements<T: Element>(count: usize, has_nans: bool) -> Vec<T> {
    let number = |index: usize| match index * 7919 % 97 {
        13 if has_nans => f64::NAN,
        rest => ((rest % 7) as f64 - 3.0) * 1.1,
    };
    (0..count).map(|index| T::from_scalar(Scalar::F64(number(index)).cast(T::DTYPE)).unwrap()).collect()
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

/// Reductions of the rows of `x[n, columns]`, with and without something computed first and a row of weights.
fn check<T: Element>() {
    for columns in [2, 3, 4, 5, 7, 8, 9, 10, 15, 16, 17, 31, 33, 48, 49, 64, 65, 129, 256, 257_usize] {
        // What the interpreter computes is the same for all ways to compile.
        let mut known = HashMap::new();
        for options in ways() {
            let g = Graph::new();
            let x = g.input::<T>("x", shape![g.symbol("n"), columns]);
            let w = g.input::<T>("w", shape![columns]);
            let outputs = [
                x.sum(-1).cast::<f64>(),
                (x * w).sum(-1).cast::<f64>(),
                x.max(-1).cast::<f64>(),
                (x - w).min(-1).cast::<f64>(),
                x.argmax(-1).cast::<f64>(),
                (x * w).argmin(-1).cast::<f64>(),
                x.mean(-1).cast::<f64>(),
                x.prod(-1).cast::<f64>(),
            ];
            // Alone, and several of a loop.
            let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
            let alone =
                names.into_iter().zip(outputs).map(|named| g.compile_with([named], &options).unwrap());
            let together = [
                names.into_iter().zip(outputs).take(6).collect::<Vec<_>>(),
                vec![("e", outputs[4]), ("a", outputs[0])],
            ]
            .map(|outputs| g.compile_with(outputs, &options).unwrap());
            let is_fused = CpuLevel::detect().is_fused() && options.level.is_none();
            for (which, kernel) in alone.chain(together).enumerate() {
                for rows in [0, 1, 5, 16, 35_usize] {
                    for has_nans in [false, true] {
                        let (x, w) = (elements::<T>(rows * columns, has_nans), elements::<T>(columns, false));
                        let arrays =
                            [interp::Array::new(&[rows, columns], &x), interp::Array::new(&[columns], &w)];
                        let want: &Vec<interp::Array> = known
                            .entry((which, rows, has_nans, is_fused))
                            .or_insert_with(|| interpret(kernel.graph(), &arrays, is_fused).unwrap());
                        // Dense; rows apart; columns in memory order; rows from the last to the first.
                        let layouts: [(isize, isize, isize, usize); 4] = [
                            (0, columns as isize, 1, rows * columns),
                            (2, columns as isize + 3, 1, rows * (columns + 3) + 2),
                            (0, 1, rows as isize, rows * columns),
                            (
                                (rows.max(1) - 1) as isize * columns as isize,
                                -(columns as isize),
                                1,
                                rows * columns,
                            ),
                        ];
                        for (origin, row, column, count) in layouts {
                            let mut memory = elements::<T>(count, true);
                            let place = |at: usize| {
                                origin + (at / columns) as isize * row + (at % columns) as isize * column
                            };
                            for (at, value) in x.iter().enumerate() {
                                memory[place(at) as usize] = *value;
                            }
                            let view = ArrayView::strided(
                                &memory,
                                origin as usize,
                                &[rows, columns],
                                &[row, column],
                            )
                            .unwrap();
                            let got = kernel.run(inputs! { "x" => view, "w" => &w }).unwrap();
                            let what = format_args!(
                                "{rows} rows of {columns} {}, {row} and {column} apart",
                                T::DTYPE
                            );
                            assert_bits(&kernel, got, want, what);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn of_f32() {
    check::<f32>();
}

#[test]
fn of_f64() {
    check::<f64>();
}

#[test]
fn of_i32() {
    check::<i32>();
}

#[test]
fn of_i64() {
    check::<i64>();
}

#[test]
fn of_narrow_dtypes() {
    check::<u8>();
    check::<f16>();
}
