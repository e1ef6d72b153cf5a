//! Positions in indices, to read and to change, with plain loops: dtypes, sizes, equal and negative positions, threads.

use broadloom::prelude::*;
use broadloom::{CallError, CompileOptions, RunError, Threads};
use std::sync::Arc;

const SIZES: [usize; 7] = [0, 1, 2, 3, 17, 65, 1000];

/// Positions from `-places` to before `places`, most of them several times.
fn positions(count: usize, places: usize) -> Vec<i64> {
    (0..count as i64).map(|at| (at * at * 7 + 3 * at) % (2 * places as i64) - places as i64).collect()
}

fn place(position: i64, places: usize) -> usize {
    position.rem_euclid(places as i64) as usize
}

macro_rules! vectors {
    ($rust:ty) => {
        for places in [1, 3, 65] {
            for count in SIZES {
                let i = positions(count, places);
                let v: Vec<$rust> = (0..count).map(|at| (at % 11) as $rust).collect();
                let x: Vec<$rust> = (0..places).map(|at| (at % 7) as $rust).collect();
                let looped = |change: &dyn Fn($rust, $rust) -> $rust| {
                    let mut x = x.clone();
                    i.iter().zip(&v).for_each(|(at, v)| {
                        let at = place(*at, places);
                        x[at] = change(x[at], *v);
                    });
                    x
                };
                let inputs = (x.as_slice(), i.as_slice(), v.as_slice());
                let run = |change: fn(broadloom::At, Tensor) -> Tensor| -> Vec<$rust> {
                    eval(inputs, |(x, i, v)| change(x.at(i), v)).unwrap()
                };
                assert_eq!(run(|x, v| x.set(v)), looped(&|_, v| v));
                assert_eq!(run(|x, v| x.add(v)), looped(&|x, v| x + v));
                assert_eq!(run(|x, _| x.set(5)), looped(&|_, _| 5 as $rust));
                assert_eq!(run(|x, v| x.maximum(v)), looped(&|x, v| if x < v { v } else { x }));
                assert_eq!(run(|x, v| x.minimum(v)), looped(&|x, v| if x > v { v } else { x }));
                assert_eq!(run(|x, _| x.multiply(1)), x);
            }
        }
    };
}

#[test]
fn vectors_change_as_in_a_loop() {
    vectors!(f64);
    vectors!(f32);
    vectors!(i64);
    vectors!(i16);
    vectors!(u64);
}

/// `x[i, :, j]` of `[3, 4, 5]`: the axis of the positions comes first.
#[test]
fn positions_apart_and_together() {
    let x: Vec<f32> = (0..60).map(|at| at as f32).collect();
    let (i, j) = ([2_i64, 0, -1, 2], [4_i64, 1, 0, 4]);
    let cube = ArrayView::new(&x, &[3, 4, 5]).unwrap();
    let (apart, together): (Vec<f32>, Vec<f32>) =
        eval((cube, &i, &j), |(x, i, j)| (x.slice(slice![i, .., j]), x.slice(slice![.., i, j]))).unwrap();
    let element = |a: usize, b: usize, c: usize| x[a * 20 + b * 5 + c];
    let pairs = || i.iter().zip(&j).map(|(i, j)| (*i, *j));
    let wanted: Vec<f32> =
        pairs().flat_map(|(i, j)| (0..4).map(move |b| element(place(i, 3), b, place(j, 5)))).collect();
    assert_eq!(apart, wanted);
    let wanted: Vec<f32> =
        (0..3).flat_map(|a| pairs().map(move |(i, j)| element(a, place(i, 4), place(j, 5)))).collect();
    assert_eq!(together, wanted);
    let cube = ArrayView::new(&x, &[3, 4, 5]).unwrap();
    let rows = ArrayView::new(&x[..16], &[4, 4]).unwrap();
    let set: Vec<f32> = eval((cube, &i, &j, rows), |(x, i, j, v)| x.at(slice![i, ..;-1, j]).set(v)).unwrap();
    let mut wanted = x.clone();
    for (row, (i, j)) in pairs().enumerate() {
        for b in 0..4 {
            wanted[place(i, 3) * 20 + (3 - b) * 5 + place(j, 5)] = x[row * 4 + b];
        }
    }
    assert_eq!(set, wanted);
}

/// One position for a column of values that take many operations: it does not move along the column.
#[test]
fn a_column_of_computed_values_changes_at_a_position() {
    let heavy = |x: f64| (1..6).map(|times| (times as f64 * x).sqrt()).sum::<f64>();
    for rows in SIZES {
        let [table, column]: [Vec<f64>; 2] =
            [4, 1].map(|wide| (0..rows * wide).map(|at| (at % 13) as f64).collect());
        for position in [0_i64, 3, -1] {
            let table_of = ArrayView::new(&table, &[rows, 4]).unwrap();
            let arrays = (table_of, &column, &[position][..]);
            let found: Vec<f64> = eval(arrays, |(x, v, i)| {
                let value = (1..6).map(|times| (v * times).sqrt()).reduce(|sum, next| sum + next);
                x.at(slice![.., i.index(0, 0)]).set(value.unwrap())
            })
            .unwrap();
            let mut wanted = table.clone();
            for (row, x) in wanted.chunks_mut(4).zip(&column) {
                row[place(position, 4)] = heavy(*x);
            }
            assert_eq!(found, wanted, "{rows} rows, column {position}");
        }
    }
}

#[test]
fn an_input_is_updated_at_positions() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for threads in [Threads::Calling, Threads::Pool(Arc::new(pool))] {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f64>("x", shape![n]);
        let i = g.input::<i64>("i", shape![m]);
        x.assign(x.at(i).add(x.slice(slice![i])));
        let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
        let kernel = g.compile_with([], &options).unwrap();
        let i = positions(70_000, 1000);
        let mut have: Vec<f64> = (0..1000).map(f64::from).collect();
        let mut counts = vec![1.0; 1000];
        i.iter().for_each(|at| counts[place(*at, 1000)] += 1.0);
        let wanted: Vec<f64> = have.iter().zip(&counts).map(|(x, count)| x * count).collect();
        kernel.run((&mut have, &i)).unwrap();
        assert_eq!(have, wanted);
        let outside = [0_i64, 1000];
        match kernel.run((&mut have, &outside)) {
            Err(CallError::Run(RunError::IndexOutOfRange { index: 1000, size: 1000, .. })) => {}
            other => panic!("{:?}", other.err()),
        }
        assert_eq!(have, wanted, "an error leaves the array");
    }
}

/// Rows of `[places, width]` at positions of rank 0, 1 and 2: the last in row-major order counts. Values of one row, and
/// numbers, stretch.
#[test]
fn rows_change_at_positions_of_any_rank() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for threads in [Threads::Calling, Threads::Pool(Arc::new(pool))] {
        let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
        for (shape, ranks) in [(vec![], 0), (vec![7], 1), (vec![0], 1), (vec![3, 5], 2), (vec![4, 0], 2)] {
            let g = Graph::new();
            let [n, m] = g.symbols(["n", "m"]);
            let sizes = g.symbols(["a", "b"]);
            let indexed: Vec<Dim> = sizes[..ranks].iter().map(|size| Dim::from(*size)).collect();
            let x = g.input::<f32>("x", shape![n, m]);
            let i = g.input::<i32>("i", indexed.clone());
            let of_values: Vec<Dim> = indexed.into_iter().chain([Dim::from(m)]).collect();
            let v = g.input::<f32>("v", of_values);
            let outputs = [
                ("each", x.at(i).set(v)),
                ("row", x.at(i).set(x.slice(slice![0]))),
                ("one", x.at(i).set(-1)),
            ];
            let kernel = g.compile_with(outputs, &options).unwrap();
            for (places, width) in [(1, 1), (3, 2), (9, 17), (40, 33)] {
                let count: usize = shape.iter().product();
                let at: Vec<i32> = positions(count, places).into_iter().map(|at| at as i32).collect();
                let table: Vec<f32> = (0..places * width).map(|at| at as f32).collect();
                let values: Vec<f32> = (0..count * width).map(|at| 0.5 + at as f32).collect();
                let changed = |value: &dyn Fn(usize, usize) -> f32| {
                    let mut table = table.clone();
                    for (row, at) in at.iter().enumerate() {
                        let to = place(i64::from(*at), places) * width;
                        (0..width).for_each(|column| table[to + column] = value(row, column));
                    }
                    table
                };
                let inputs = (
                    ArrayView::new(&table, &[places, width]).unwrap(),
                    ArrayView::new(&at, &shape).unwrap(),
                    ArrayView::new(&values, &[&shape[..], &[width]].concat()).unwrap(),
                );
                let mut outputs = kernel.run(inputs).unwrap();
                let [each, row, one] =
                    ["each", "row", "one"].map(|name| outputs.take::<Vec<f32>>(name).unwrap());
                assert_eq!(each, changed(&|row, column| values[row * width + column]), "{shape:?}");
                assert_eq!(row, changed(&|_, column| table[column]), "{shape:?}");
                assert_eq!(one, changed(&|_, _| -1.0), "{shape:?}");
            }
        }
    }
}

/// Halves, bytes and truth values are stored as they are.
#[test]
fn short_types_change_at_positions() {
    let i = [3_i64, -1, 0, 3];
    let bytes: Vec<u8> = eval((&[9_u8; 5], &i, &[1_u8, 2, 3, 4]), |(x, i, v)| x.at(i).set(v)).unwrap();
    assert_eq!(bytes, [3, 9, 9, 4, 2]);
    let flags: Vec<bool> = eval((&[false; 5], &i), |(x, i)| x.at(i).set(true)).unwrap();
    assert_eq!(flags, [true, false, false, true, true]);
    let halves: Vec<f32> = eval((&[9.0_f32; 5], &i, &[1.5_f32, 2.5, f32::NAN, 4.5]), |(x, i, v)| {
        let changed = x.cast_to(DType::F16).at(i).set(v.cast_to(DType::F16));
        changed.cast_to(DType::F32)
    })
    .unwrap();
    assert!(halves[0].is_nan());
    assert_eq!(halves[1..], [9.0, 9.0, 4.5, 2.5]);
}

/// The report names the position in the shape of the indices.
#[test]
fn an_index_outside_names_its_position() {
    let i = ArrayView::new(&[0_i64, 1, 2, 5], &[2, 2]).unwrap();
    let error =
        eval((&[1.0_f64; 3], i), |(x, i)| x.at(i).set(2.0)).map(|changed: Vec<f64>| changed).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("`set`: the index at [1, 1] is 5, but the axis has 3 elements"), "{text}");
}
