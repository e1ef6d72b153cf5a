//! Loops that hold more than one row in registers: sums with transposed arrays, and sums of short dense rows.

use crate::support::harness::{Input, Kernels};
use crate::support::numbers::numbers;
use crate::support::ways::ways;
use broadloom::prelude::*;

/// Sizes around blocks of rows and whole vectors of every width, also below the shortest axis that is cut.
const SIZES: [[usize; 2]; 13] = [
    [0, 40],
    [40, 0],
    [1, 1],
    [3, 70],
    [8, 16],
    [9, 33],
    [16, 32],
    [17, 31],
    [23, 40],
    [32, 128],
    [40, 7],
    [64, 65],
    [71, 143],
];

/// A target that begins somewhere within a vector has the same elements, and nothing around it is written.
#[test]
fn sums_with_transposed_arrays_at_any_alignment() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let (y, z) = (g.input::<f32>("y", shape![m, n]), g.input::<f32>("z", shape![m, n]));
    let w = g.input::<f32>("w", shape![n, 1]);
    let one = (x + y.t()).compile().unwrap();
    let several = (((x + y.t()) * w).maximum(z.t()) - 1).compile().unwrap();
    for [n, m] in SIZES {
        let [xs, ys, zs, ws] =
            [(n * m, 1), (n * m, 2), (n * m, 3), (n, 4)].map(|(count, seed)| numbers(count, seed));
        let [x, w] =
            [(&xs, [n, m]), (&ws, [n, 1])].map(|(data, shape)| ArrayView::new(data, &shape).unwrap());
        let [y, z] = [&ys, &zs].map(|data| ArrayView::new(data, &[m, n]).unwrap());
        let across = |of: &[f32], at: usize| of[at % m * n + at / m];
        let sums: Vec<f32> = (0..n * m).map(|at| xs[at] + across(&ys, at)).collect();
        let greatest = (0..n * m).map(|at| (sums[at] * ws[at / m]).max(across(&zs, at)) - 1.0);
        let greatest: Vec<f32> = greatest.collect();
        for offset in 0..9 {
            let mut target = vec![f32::NAN; offset + n * m + 9];
            let mut run = |kernel: &Executable, views: Vec<ArrayView<'_>>, expected: &[f32]| {
                target.fill(f32::NAN);
                let out = ArrayViewMut::new(&mut target[offset..offset + n * m], &[n, m]).unwrap();
                kernel.run_into(views, out).unwrap();
                assert_eq!(&target[offset..offset + n * m], expected, "{n} x {m} at {offset}");
                assert!(target[..offset].iter().chain(&target[offset + n * m..]).all(|of| of.is_nan()));
            };
            run(&one, vec![x.clone(), y.clone()], &sums);
            run(&several, vec![x.clone(), y.clone(), z.clone(), w.clone()], &greatest);
        }
    }
}

fn transposed_sums<T: Element + PartialEq + std::fmt::Debug>(convert: fn(f32) -> T, add: fn(T, T) -> T) {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let sum = g.input::<T>("x", shape![n, m]) + g.input::<T>("y", shape![m, n]).t();
    let kernels: Vec<Executable> = ways().iter().map(|way| sum.compile_with(way).unwrap()).collect();
    for [n, m] in SIZES {
        let [xs, ys] = [1, 2]
            .map(|seed| -> Vec<T> { numbers(n * m, seed).iter().map(|of| convert(100.0 * of)).collect() });
        let expected: Vec<T> = (0..n * m).map(|at| add(xs[at], ys[at % m * n + at / m])).collect();
        for kernel in &kernels {
            let views = (ArrayView::new(&xs, &[n, m]).unwrap(), ArrayView::new(&ys, &[m, n]).unwrap());
            let found: Vec<T> = kernel.run(views).unwrap().try_into().unwrap();
            assert_eq!(found, expected, "{n} x {m}");
        }
    }
}

#[test]
fn sums_with_transposed_arrays_of_any_dtype() {
    transposed_sums::<f32>(|of| of, |a, b| a + b);
    transposed_sums::<f64>(f64::from, |a, b| a + b);
    transposed_sums::<i64>(|of| of as i64, |a, b| a + b);
    transposed_sums::<u32>(|of| of as u32, |a, b| a + b);
    transposed_sums::<i16>(|of| of as i16, |a, b| a + b);
    transposed_sums::<u8>(|of| of as u8, |a, b| a.wrapping_add(b));
}

/// Elements of two sizes are transposed side by side.
#[test]
fn sums_with_transposed_arrays_of_two_dtypes() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f64>("x", shape![m, n]), g.input::<i32>("y", shape![m, n]));
    let kernel = (x.t() * y.t() + g.input::<f64>("z", shape![n, m])).compile().unwrap();
    for [n, m] in SIZES {
        let [xs, zs] =
            [1, 2].map(|seed| -> Vec<f64> { numbers(n * m, seed).into_iter().map(f64::from).collect() });
        let ys: Vec<i32> = (0..n * m).map(|at| at as i32 % 13 - 6).collect();
        let (x, y) = (ArrayView::new(&xs, &[m, n]).unwrap(), ArrayView::new(&ys, &[m, n]).unwrap());
        let z = ArrayView::new(&zs, &[n, m]).unwrap();
        let found: Vec<f64> =
            kernel.run(inputs! { "x" => x, "y" => y, "z" => z }).unwrap().try_into().unwrap();
        let expected = (0..n * m).map(|at| {
            let across = at % m * n + at / m;
            xs[across] * f64::from(ys[across]) + zs[at]
        });
        assert_eq!(found, expected.collect::<Vec<f64>>(), "{n} x {m}");
    }
}

/// Of `x[n, m]`.
type Sums = fn(Tensor) -> Tensor;

const SUMS: [(&str, Sums); 5] = [
    ("sums", |x| x.sum(0)),
    ("means of squares", |x| (x * x).mean(0)),
    ("products", |x| (x * 0.001 + 1).prod(0)),
    ("sums of functions", |x| x.exp().sum(0)),
    ("deviations", |x| x.std(0)),
];

/// Short rows are walked as one, with the lanes of a block in registers or in rows: the bits of the interpreter.
#[test]
fn sums_of_short_dense_rows() {
    for (what, sums) in SUMS {
        for m in 1..=6 {
            let kernels = Kernels::of(&ways(), |g| {
                let x = g.input::<f32>("x", shape![g.symbol("n"), m]);
                vec![sums(x), sums(x.cast::<f64>())]
            });
            for n in [1, 63, 64, 65, 79, 80, 81, 1023, 1024, 1040, 2063, 5000] {
                kernels.check(what, &[Input::of(&[n, m], numbers, 7)]);
            }
        }
    }
}
