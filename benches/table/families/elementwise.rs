//! Cheap operations, element by element.

use crate::by_hand::Level;
use crate::by_hand::elementwise::{
    axpy, black_or_white, chain, choose, count_greater, horner, normalise, normalise_bytes, product_modulo,
    quotient, quotient_unsigned, shifted, thousands, unit_rows,
};
use crate::by_hand::streams;
use crate::harness::contest::{Loop, Passed, agreeing, alone, array, is_close, kernel, numbers, of};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use std::rc::Rc;

const COUNT: usize = 64 << 10;
/// Operands that recur are read from rows in the first-level cache; a loop by hand has them in registers.
const OF_BY_HAND: Asked = Asked::Ratio(1.5);
/// At the full width of the vectors.
const FULL_WIDTH: Asked = Asked::Ratio(1.15);

pub fn entries(suite: &mut Suite) {
    for (count, name) in [(64 << 10, "64 Ki"), (4 << 20, "4 Mi")] {
        two_inputs(suite, &format!("2.5 * x + y, {name} elements"), count, |x, y| 2.5 * x + y, axpy);
        let seven = |x: Tensor, y: Tensor| {
            let t = (x * 1.5 - y).abs() + 0.25;
            (t * t - x).minimum(4)
        };
        two_inputs(suite, &format!("seven cheap operations, {name} elements"), count, seven, chain);
        let chosen = |x: Tensor, y: Tensor| select(x.gt(y), x - y, 0.5 * y);
        two_inputs(suite, &format!("x - y where x > y, else y / 2, {name} elements"), count, chosen, choose);
        threshold(suite, name, count);
        count_above(suite, name, count);
    }
    two_inputs(suite, "2.5 * x + y, 32 Mi elements", 32 << 20, |x, y| 2.5 * x + y, streams::axpy);
    polynomial(suite);
    long_integers(suite);
    short_rows(suite);
    image(suite);
    trailing::<3, 48>(suite);
    trailing::<4, 64>(suite);
    trailing::<5, 80>(suite);
    of_length_one::<2>(suite);
    of_length_one::<3>(suite);
    of_length_one::<4>(suite);
}

fn two_inputs(
    suite: &mut Suite,
    name: &str,
    count: usize,
    expression: fn(Tensor, Tensor) -> Tensor,
    by_hand: fn(Level, &[f32], &[f32], &mut [f32]),
) {
    let (level, count) = (suite.level, suite.size(count));
    suite.ratio(name, FULL_WIDTH, || {
        let g = Graph::new();
        let n = g.symbol("n");
        let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
        let compiled = alone(expression(x, y));
        let (x, y) = (array(&[count], 3), array(&[count], 4));
        let broadloom = kernel(compiled, vec![x.clone(), y.clone()], &[count]);
        let hand: Loop<f32> = Box::new(move |out| by_hand(level, x.as_slice(), y.as_slice(), out));
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

fn polynomial(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(64 << 10));
    suite.ratio("polynomial of degree 8, f64, 64 Ki elements", FULL_WIDTH, || {
        let g = Graph::new();
        let x = g.input::<f64>("x", shape![g.symbol("n")]);
        let compiled = alone((2..9).fold(9 * x + 8, |sum, coefficient| sum * x + (9 - coefficient)));
        let x = of(numbers(count, 5).map(f64::from).collect(), &[count]);
        let broadloom = kernel(compiled, vec![x.clone()], &[count]);
        let hand: Loop<f64> = Box::new(move |out| horner(level, x.as_slice(), out));
        let is_close = |a: &f64, b: &f64| (a - b).abs() <= 1e-12 * a.abs();
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Quotients and shifts of integers of 8 bytes, for which AVX2 has few instructions, or none.
fn long_integers(suite: &mut Suite) {
    let signed: [(&str, Ternary, TernaryByHand<i64>); 4] = [
        ("(a * b + c) % 7", |[a, b, c]| (a * b + c).remainder(7), product_modulo),
        ("(a + b) // 1000 * c", |[a, b, c]| (a + b).floor_divide(1000) * c, thousands),
        ("a // (b + 1) + c", |[a, b, c]| a.floor_divide(b + 1) + c, quotient),
        ("(a >> b) + c", |[a, b, c]| (a >> (b & 31)) + c, shifted),
    ];
    for (name, expression, by_hand) in signed {
        three_inputs(suite, &format!("{name}, i64, 64 Ki elements"), expression, |x| x as i64, by_hand);
    }
    let quotient: Ternary = |[a, b, c]| a.floor_divide(b + 1) + c;
    let name = "a // (b + 1) + c, u64, 64 Ki elements";
    three_inputs(suite, name, quotient, |x| x as u64, quotient_unsigned);
}

type Ternary = fn([Tensor; 3]) -> Tensor;
type TernaryByHand<T> = fn(Level, &[T], &[T], &[T], &mut [T]);

fn three_inputs<T: Element + PartialEq>(
    suite: &mut Suite,
    name: &str,
    expression: Ternary,
    number: fn(f64) -> T,
    by_hand: TernaryByHand<T>,
) {
    let (level, count) = (suite.level, suite.size(COUNT));
    suite.ratio(name, Asked::Ratio(1.0), || {
        let g = Graph::new();
        let n = g.symbol("n");
        let compiled = alone(expression(["a", "b", "c"].map(|name| g.input::<T>(name, shape![n]))));
        let arrays = [(7, 1e9), (8, 1e5), (9, 1e6)].map(|(seed, most)| {
            of(numbers(count, seed).map(|x| number(f64::from(x) * most)).collect(), &[count])
        });
        let [a, b, c] = arrays.clone();
        let broadloom = kernel(compiled, vec![a, b, c], &[count]);
        let hand: Loop<T> = Box::new(move |out| {
            let [a, b, c] = arrays.each_ref().map(|array| array.as_slice());
            by_hand(level, a, b, c, out);
        });
        agreeing(count, |a, b| a == b, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Bytes that are black or white.
fn threshold(suite: &mut Suite, name: &str, count: usize) {
    let (level, count) = (suite.level, suite.size(count));
    suite.ratio(&format!("255 where x > 100, else 0, u8, {name} elements"), FULL_WIDTH, || {
        let g = Graph::new();
        let x = g.input::<u8>("x", shape![g.symbol("n")]);
        let compiled = alone(x.gt(100).cast::<u8>() * 255);
        let x = of(numbers(count, 6).map(|x| (x * 256.0) as u8).collect(), &[count]);
        let broadloom = kernel(compiled, vec![x.clone()], &[count]);
        let hand: Loop<u8> = Box::new(move |out| black_or_white(level, x.as_slice(), out));
        agreeing(count, |a, b| a == b, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// How many are greater than their neighbour in another array.
fn count_above(suite: &mut Suite, name: &str, count: usize) {
    let (level, count) = (suite.level, suite.size(count));
    suite.ratio(&format!("the count of x > y, {name} elements"), FULL_WIDTH, || {
        let g = Graph::new();
        let n = g.symbol("n");
        let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
        let compiled = alone(x.gt(y).sum(..));
        let (x, y) = (array(&[count], 3), array(&[count], 4));
        let broadloom = kernel(compiled, vec![x.clone(), y.clone()], &[]);
        let hand: Loop<i64> = Box::new(move |out| count_greater(level, x.as_slice(), y.as_slice(), out));
        agreeing(1, |a, b| a == b, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Rows whose length is a symbol, and no multiple of the lanes of a vector.
fn short_rows(suite: &mut Suite) {
    for m in [31, 47, 100] {
        suite.ratio(&format!("(x + y) * c, rows of m = {m}"), Asked::Ratio(2.5), || {
            let rows = |name, m: usize| {
                let g = Graph::new();
                let [n, columns] = g.symbols(["n", "m"]);
                let x = g.input::<f32>("x", shape![n, columns]);
                let (y, c) = (g.input::<f32>("y", shape![columns]), g.input::<f32>("c", shape![n, 1]));
                let n = (64 << 10) / m;
                let arrays: Vec<Rc<dyn Passed>> = vec![array(&[n, m], 3), array(&[m], 4), array(&[n, 1], 5)];
                let mut run = kernel(alone((x + y) * c), arrays, &[n, m]);
                let mut out = vec![0.0_f32; n * m];
                Contender::new(name, move || run(&mut out))
            };
            vec![rows("broadloom", m), rows("rows of one more", m + 1)]
        });
    }
}

/// Bytes of a picture, normalised by channel.
fn image(suite: &mut Suite) {
    let (level, height) = (suite.level, suite.size(1080));
    suite.ratio("u8 [1080, 1920, 3] normalised by channel", FULL_WIDTH, || {
        let g = Graph::new();
        let [h, w] = g.symbols(["h", "w"]);
        let x = g.input::<u8>("x", shape![h, w, 3]);
        let [mean, scale] = ["mean", "scale"].map(|name| g.input::<f32>(name, shape![3]));
        let compiled = alone((x.cast::<f32>() - mean) * scale);
        let shape = [height, 1920, 3];
        let count = shape.iter().product();
        let x = of(numbers(count, 6).map(|x| (x * 256.0) as u8).collect(), &shape);
        let (mean, scale) = (array(&[3], 7), array(&[3], 8));
        let broadloom = kernel(compiled, vec![x.clone(), mean.clone(), scale.clone()], &shape);
        let [mean, scale] = [mean, scale].map(|array| repeated::<48>(array.as_slice()));
        let hand: Loop<f32> = Box::new(move |out| normalise_bytes(level, x.as_slice(), &mean, &scale, out));
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Rows of `M`, each column less its mean and scaled; by hand `P` at a time, a multiple of it.
fn trailing<const M: usize, const P: usize>(suite: &mut Suite) {
    let (level, rows) = (suite.level, suite.size(64 << 10));
    suite.ratio(&format!("(x - mean) * scale, x f32[n, {M}]"), OF_BY_HAND, || {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n"), M]);
        let [mean, scale] = ["mean", "scale"].map(|name| g.input::<f32>(name, shape![M]));
        let compiled = alone((x - mean) * scale);
        let (x, mean, scale) = (array(&[rows, M], 9), array(&[M], 7), array(&[M], 8));
        let broadloom = kernel(compiled, vec![x.clone(), mean.clone(), scale.clone()], &[rows, M]);
        let [mean, scale] = [mean, scale].map(|array| repeated::<P>(array.as_slice()));
        let hand: Loop<f32> = Box::new(move |out| normalise(level, x.as_slice(), &mean, &scale, out));
        agreeing(rows * M, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// Rows of `M`, each divided by its length.
fn of_length_one<const M: usize>(suite: &mut Suite) {
    let (level, rows) = (suite.level, suite.size(64 << 10));
    suite.ratio(&format!("x / the length of its row, x f32[n, {M}]"), FULL_WIDTH, || {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n"), M]);
        let compiled = alone(x / x.square().sum_keepdims(-1).sqrt());
        let x = array(&[rows, M], 9);
        let broadloom = kernel(compiled, vec![x.clone()], &[rows, M]);
        let hand: Loop<f32> = Box::new(move |out| unit_rows::<M>(level, x.as_slice(), out));
        agreeing(rows * M, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// A few numbers again and again.
fn repeated<const P: usize>(numbers: &[f32]) -> [f32; P] {
    std::array::from_fn(|at| numbers[at % numbers.len()])
}
