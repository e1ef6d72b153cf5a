//! All pairs of two sets of points: which is nearest, how far, and sums over them, beside loops by hand whose tiles stay
//! in registers.

use crate::by_hand::Level;
use crate::by_hand::nearest::{
    nearest_by_abs, nearest_by_cosine, nearest_f32, nearest_f64, nearest_of_bytes, nearest_of_words,
};
use crate::by_hand::pairs::{kernel_sums, kernel_sums_of_eight};
use crate::harness::contest::{Loop, Passed, agreeing, alone, array, is_close, kernel, numbers, of};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Dim, Element, Threads};
use std::rc::Rc;

/// Of the time of the loop by hand.
const OF_BY_HAND: Asked = Asked::Ratio(1.1);
/// A symbolic size is to cost as much more than a constant one.
const OF_CONSTANT: Asked = Asked::Ratio(1.1);
/// Sums over several axes, of the time of the same number of elements along one.
const OF_ONE_AXIS: Asked = Asked::Ratio(1.25);
/// Of a loop by hand, where more is computed of a pair than its distance.
const OF_MORE_BY_HAND: Asked = Asked::Ratio(1.2);

pub fn entries(suite: &mut Suite) {
    for d in [2, 3, 8, 16, 64, 128, 512] {
        for k in [4, 256, 4096] {
            nearest::<f32>(suite, k, d, |x| x, nearest_f32);
            nearest::<f64>(suite, k, d, f64::from, nearest_f64);
        }
    }
    let rows = 20_000;
    by_distance(
        suite,
        "abs",
        [4 * rows, 256, 16],
        |x| x,
        |x, y| (x - y).abs().sum(-1),
        nearest_by_abs,
        is_close,
    );
    by_distance(suite, "cosine", [rows, 256, 64], |x| x, cosine, nearest_by_cosine, is_close);
    let differing = |x: Tensor, y: Tensor| x.ne(y).sum(-1).cast::<u8>();
    let byte = |x: f32| (4.0 * x) as u8;
    by_distance(suite, "differing bytes", [3 * rows, 256, 64], byte, differing, nearest_of_bytes, |x, y| {
        x == y
    });
    let bits = |x: Tensor, y: Tensor| (x ^ y).count_ones().sum(-1);
    let word = |x: f32| u64::from(x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    by_distance(suite, "differing bits", [3 * rows, 256, 4], word, bits, nearest_of_words, |x, y| x == y);
    for sizes in [&[32, 32][..], &[3, 32, 32], &[32, 32, 3], &[128, 128]] {
        nearest_image(suite, sizes);
    }
    for d in [3, 16] {
        sums_by_weights(suite, d, 1, kernel_sums);
        sums_by_weights(suite, d, 8, kernel_sums_of_eight);
    }
}

fn cosine(x: Tensor, y: Tensor) -> Tensor {
    1 - (x * y).sum(-1) / (x.norm(Norm::Two, -1) * y.norm(Norm::Two, -1))
}

/// Rows for which some pairs of `k` and `d` take some milliseconds, in arrays of at most 16 MiB.
fn rows(suite: &Suite, k: usize, d: usize, bytes: usize) -> usize {
    let by_time = 2_000_000_000 / bytes / (k * (d + 2));
    suite.size(by_time.clamp(256, (16 << 20) / (bytes * d)))
}

fn points<T: Element>(shape: &[usize], seed: u64, number: fn(f32) -> T) -> Rc<Array<T>> {
    of(numbers(shape.iter().product(), seed).map(number).collect(), shape)
}

type Nearest<T> = fn(Level, usize, &[T], &[T], &mut [i64]);

/// The nearest of `k` codes by squares of differences, where all sizes are constants; and where they are symbols.
fn nearest<T: Element>(suite: &mut Suite, k: usize, d: usize, number: fn(f32) -> T, hand: Nearest<T>) {
    let (level, n, k) = (suite.level, rows(suite, k, d, size_of::<T>()), suite.size(k));
    let inputs = || Points([points(&[n, d], 1, number), points(&[k, d], 2, number)]);
    let constants = [n, k, d];
    let name = format!("nearest of {k}, d = {d}, {}", T::DTYPE);
    suite.brief(&name, OF_BY_HAND, || {
        let inputs = inputs();
        let broadloom = inputs.nearest(&Graph::new(), constants);
        let hand: Loop<i64> =
            Box::new(move |out| hand(level, d, inputs.0[0].as_slice(), inputs.0[1].as_slice(), out));
        agreeing(n, |a, b| a == b, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
    suite.brief(&format!("{name}, symbols"), OF_CONSTANT, || {
        let (inputs, g) = (inputs(), Graph::new());
        let broadloom = inputs.nearest(&g, g.symbols(["n", "k", "d"]));
        let constant = inputs.nearest(&Graph::new(), constants);
        agreeing(n, |a, b| a == b, vec![("broadloom", broadloom), ("constants", constant)])
    });
}

/// The nearest of images by sums over all their axes, beside that of their elements along a single axis.
fn nearest_image(suite: &mut Suite, sizes: &[usize]) {
    let count: usize = sizes.iter().product();
    let (n, k) = (suite.size(1_000_000 / count), 256);
    let text: Vec<String> = sizes.iter().map(usize::to_string).collect();
    suite.brief(&format!("nearest of {k} images of {}", text.join(" x ")), OF_ONE_AXIS, || {
        let nearest = |sizes: &[usize]| {
            let g = Graph::new();
            let [rows, images] = g.symbols(["n", "k"]);
            let input = |name: &str, rows: Symbol| {
                let dims = std::iter::once(Dim::from(rows)).chain(sizes.iter().map(|size| Dim::from(*size)));
                g.input::<f32>(name, dims.collect::<Vec<Dim>>())
            };
            let (x, y) = (input("x", rows), input("y", images));
            let axes: Vec<i64> = (2..2 + sizes.len() as i64).collect();
            let nearest = alone((x.unsqueeze(1) - y).square().sum(axes).argmin(1));
            let shape = |rows: usize| [&[rows], sizes].concat();
            kernel(nearest, vec![array(&shape(n), 1), array(&shape(k), 2)], &[n])
        };
        agreeing(n, |a: &i64, b| a == b, vec![("broadloom", nearest(sizes)), ("one axis", nearest(&[count]))])
    });
}

/// Rows, and codes of which one is the nearest.
struct Points<T>([Rc<Array<T>>; 2]);

impl<T: Element> Points<T> {
    /// The nearest code of each row, by a kernel for these sizes.
    fn nearest(&self, g: &Graph, sizes: [impl Into<Dim>; 3]) -> Loop<i64> {
        let [n, k, d] = sizes.map(Into::into);
        let (obs, codes) = (g.input::<T>("obs", shape![n, d]), g.input::<T>("codes", shape![k, d]));
        let nearest = alone((codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1));
        let [obs, codes] = self.0.clone();
        let rows = obs.shape()[0];
        kernel(nearest, vec![obs, codes], &[rows])
    }
}

type NearestWithDistance<T> = fn(Level, usize, &[T], &[T], &mut [i64], &mut [T]);

/// The nearest by another distance, and how far it is.
fn by_distance<T: Element + Default>(
    suite: &mut Suite,
    name: &str,
    [n, k, d]: [usize; 3],
    number: fn(f32) -> T,
    distance: fn(Tensor, Tensor) -> Tensor,
    hand: NearestWithDistance<T>,
    is_close: fn(&T, &T) -> bool,
) {
    let (level, n) = (suite.level, suite.size(n));
    suite.brief(&format!("nearest of {k} and how far, by {name}, d = {d}"), OF_MORE_BY_HAND, || {
        let (x, y) = (points(&[n, d], 1, number), points(&[k, d], 2, number));
        let g = Graph::new();
        let [rows, count] = g.symbols(["n", "k"]);
        let (obs, codes) = (g.input::<T>("obs", shape![rows, d]), g.input::<T>("codes", shape![count, d]));
        let (nearest, least) = distance(obs.unsqueeze(1), codes).argmin_with_value(1);
        let outputs = [("nearest", nearest), ("least", least.cast::<T>())];
        let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
        let compiled = g.compile_with(outputs, &options).expect("the expressions compile");
        let broadloom: Loop<Found<T>> = {
            let (x, y) = (x.clone(), y.clone());
            Box::new(move |out| {
                let (indices, distances) = room(&mut out[0], n);
                compiled.run_into([x.view(), y.view()], (indices, distances)).expect("the arrays fit");
            })
        };
        let hand: Loop<Found<T>> = Box::new(move |out| {
            let (indices, distances) = room(&mut out[0], n);
            hand(level, d, x.as_slice(), y.as_slice(), indices, distances);
        });
        let agree = |a: &Found<T>, b: &Found<T>| {
            let others = a.0.iter().zip(&b.0).filter(|(a, b)| a != b).count();
            others * 1000 <= n && a.1.iter().zip(&b.1).all(|(a, b)| is_close(a, b))
        };
        agreeing(1, agree, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// The nearest of each row, and how far it is.
type Found<T> = (Vec<i64>, Vec<T>);

fn room<T: Default + Clone>((indices, distances): &mut Found<T>, rows: usize) -> (&mut [i64], &mut [T]) {
    indices.resize(rows, 0);
    distances.resize(rows, T::default());
    (indices, distances)
}

type Sums = fn(Level, usize, &[f32], &[f32], &[f32], &mut [f32]);

/// `exp(-|x - y|^2 / 2) @ b`.
fn sums_by_weights(suite: &mut Suite, d: usize, columns: usize, hand: Sums) {
    let (level, n) = (suite.level, suite.size(10_000));
    let name = format!("exp(-|x - y|^2 / 2) @ b, {n} x {n}, d = {d}, b of {columns}");
    suite.brief(&name, OF_MORE_BY_HAND, || {
        let (x, y, b) = (array(&[n, d], 1), array(&[n, d], 2), array(&[n, columns], 3));
        let g = Graph::new();
        let [rows, count] = g.symbols(["n", "m"]);
        let (obs, centres) = (g.input::<f32>("x", shape![rows, d]), g.input::<f32>("y", shape![count, d]));
        let factors = g.input::<f32>("b", shape![count, columns]);
        let distances = (obs.unsqueeze(1) - centres).square().sum(-1);
        let sums = alone((distances * -0.5).exp().matmul(factors));
        let broadloom = kernel(sums, vec![x.clone(), y.clone(), b.clone()], &[n, columns]);
        let hand: Loop<f32> =
            Box::new(move |out| hand(level, d, x.as_slice(), y.as_slice(), b.as_slice(), out));
        agreeing(n * columns, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}
