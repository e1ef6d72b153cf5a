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
