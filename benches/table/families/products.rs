//! Products of matrices, and what is like them.

use crate::harness::contest::{Loop, agreeing, alone, array, compiled, is_close, kernel, of, pool};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Element, Threads};
use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, LinalgScalar};
use std::rc::Rc;

/// Of the time of the crate `matrixmultiply`, on which ndarray's products rest.
const OF_A_LIBRARY: Asked = Asked::Ratio(1.25);

pub fn entries(suite: &mut Suite) {
    for n in [64, 256, 512, 1000] {
        square(suite, n, |x| x, is_close);
    }
    square(suite, 512, f64::from, |a, b| (a - b).abs() <= 1e-9 * (1.0 + a.abs()));
    rows_with_rows(suite);
    followed(suite);
    distances(suite);
    shared(suite);
}

/// `x @ y`, or `x @ y.T`, of square matrices by ndarray.
fn library<T: Element + LinalgScalar>(
    x: Rc<Array<T>>,
    y: Rc<Array<T>>,
    n: usize,
    transposed: bool,
) -> Loop<T> {
    Box::new(move |out| {
        let shape = (n, n);
        let x = ArrayView2::from_shape(shape, x.as_slice()).expect("a square");
        let y = ArrayView2::from_shape(shape, y.as_slice()).expect("a square");
        let y = if transposed { y.reversed_axes() } else { y };
        let mut out = ArrayViewMut2::from_shape(shape, out).expect("a square");
        general_mat_mul(T::one(), &x, &y, T::zero(), &mut out);
    })
}

/// The product of matrices whose sizes are symbols, and a row to go on with.
fn product<T: Element>(g: &Graph) -> (Tensor, Tensor) {
    let [n, k, m] = g.symbols(["n", "k", "m"]);
    let (x, y) = (g.input::<T>("x", shape![n, k]), g.input::<T>("y", shape![k, m]));
    (x.matmul(y), g.input::<T>("b", shape![m]))
}

fn square<T: Element + LinalgScalar + Default>(
    suite: &mut Suite,
    n: usize,
    element: fn(f32) -> T,
    is_close: fn(&T, &T) -> bool,
) {
    let n = suite.size(n);
    suite.ratio(&format!("x @ y, {} of {n} x {n}", T::DTYPE), OF_A_LIBRARY, || {
        let [x, y] = [3, 4].map(|seed| {
            let numbers: Vec<T> = array(&[n, n], seed).as_slice().iter().map(|x| element(*x)).collect();
            of(numbers, &[n, n])
        });
        let g = Graph::new();
        let broadloom = kernel(alone(product::<T>(&g).0), vec![x.clone(), y.clone()], &[n, n]);
        let loops = vec![("broadloom", broadloom), ("matrixmultiply", library(x, y, n, false))];
        agreeing(n * n, is_close, loops)
    });
}

/// The axis that is summed is the last one of both.
fn rows_with_rows(suite: &mut Suite) {
    let n = suite.size(512);
    suite.ratio(&format!("x @ y.T, f32 of {n} x {n}"), OF_A_LIBRARY, || {
        let (x, y) = (array(&[n, n], 3), array(&[n, n], 4));
        let g = Graph::new();
        let [rows, k, columns] = g.symbols(["n", "k", "m"]);
        let (left, right) = (g.input::<f32>("x", shape![rows, k]), g.input::<f32>("y", shape![columns, k]));
        let broadloom = kernel(alone(left.matmul(right.t())), vec![x.clone(), y.clone()], &[n, n]);
        let loops = vec![("broadloom", broadloom), ("matrixmultiply", library(x, y, n, true))];
        agreeing(n * n, is_close, loops)
    });
}

/// What follows a product is done where its results are.
fn followed(suite: &mut Suite) {
    let n = suite.size(512);
    suite.ratio(&format!("relu(x @ y + b), f32 of {n} x {n}"), Asked::Ratio(1.05), || {
        let (x, y, b) = (array(&[n, n], 3), array(&[n, n], 4), array(&[n], 5));
        let g = Graph::new();
        let mut followed = kernel(
            alone({
                let (product, b) = product::<f32>(&g);
                (product + b).relu()
            }),
            vec![x.clone(), y.clone(), b],
            &[n, n],
        );
        let mut bare = kernel(alone(product::<f32>(&g).0), vec![x, y], &[n, n]);
        let (mut out, mut other) = (vec![0.0_f32; n * n], vec![0.0_f32; n * n]);
        vec![
            Contender::new("broadloom", move || followed(&mut out)),
            Contender::new("the product alone", move || bare(&mut other)),
        ]
    });
}

/// Squares of differences have no library; they are two operations where a product has one.
fn distances(suite: &mut Suite) {
    let n = suite.size(512);
    suite.ratio(&format!("squared distances of {n} and {n} points, d = {n}"), Asked::Ratio(2.5), || {
        let (x, y) = (array(&[n, n], 3), array(&[n, n], 4));
        let g = Graph::new();
        let [rows, k, columns] = g.symbols(["n", "k", "m"]);
        let (left, right) = (g.input::<f32>("x", shape![rows, k]), g.input::<f32>("y", shape![columns, k]));
        let distances = alone((left.unsqueeze(1) - right).square().sum(-1));
        let mut broadloom = kernel(distances, vec![x.clone(), y.clone()], &[n, n]);
        let mut product = library(x, y, n, true);
        let (mut out, mut other) = (vec![0.0_f32; n * n], vec![0.0_f32; n * n]);
        vec![
            Contender::new("broadloom", move || broadloom(&mut out)),
            Contender::new("matrixmultiply, products", move || product(&mut other)),
        ]
    });
}

fn shared(suite: &mut Suite) {
    let n = suite.size(1000);
    suite.ratio(&format!("x @ y, f32 of {n} x {n}, two threads"), Asked::Ratio(0.55), || {
        let (x, y) = (array(&[n, n], 3), array(&[n, n], 4));
        let run = |name, threads: Threads| {
            let arrays: Vec<Rc<dyn crate::harness::contest::Passed>> = vec![x.clone(), y.clone()];
            let g = Graph::new();
            let mut run = kernel(compiled(product::<f32>(&g).0, threads), arrays, &[n, n]);
            let mut out = vec![0.0_f32; n * n];
            Contender::new(name, move || run(&mut out))
        };
        vec![run("two threads", pool(2)), run("one thread", Threads::Calling)]
    });
}
