//! Elements that a mask selects: as many as the data decide, in new arrays on both sides.

use crate::by_hand::selections::{combined, distinct, positions, selected};
use crate::harness::contest::{Loop, agreeing, array, compiled, numbers, pool};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;
use broadloom::{AnyArray, Array, Threads};
use std::rc::Rc;

pub fn entries(suite: &mut Suite) {
    for (share, below) in [(1, 0.01f32), (50, 0.5), (99, 0.99)] {
        kept(suite, share, below);
    }
    two_threads(suite);
    of_two(suite);
    sum(suite);
    sparse(suite);
    for values in [1000, 5_000_000] {
        unique(suite, values);
    }
}

/// What is compared of a result: how long it is, and some of its elements.
fn summary<T: Copy + Into<f64>>(kept: &[T], out: &mut [f64]) {
    let at = |place: usize| kept.get(place).copied().map_or(0.0, Into::into);
    out.copy_from_slice(&[kept.len() as f64, at(0), at(kept.len() / 2), at(kept.len().saturating_sub(1))]);
}

/// Runs a kernel of one input into a new array.
fn ours(kernel: Executable, x: Rc<Array<f32>>) -> Loop<f64> {
    Box::new(move |out| {
        let result: AnyArray = kernel.run(&*x).expect("the array fits").try_into().expect("one result");
        match result.as_slice::<f32>() {
            Some(kept) => summary(kept, out),
            None => {
                let at: Vec<f64> =
                    result.as_slice::<i64>().unwrap_or_default().iter().map(|at| *at as f64).collect();
                summary(&at, out);
            }
        }
    })
}

fn of_one(threads: Threads, make: impl Fn(Tensor) -> Tensor) -> Executable {
    let g = Graph::new();
    compiled(make(g.input::<f32>("x", shape![g.symbol("n")])), threads)
}

/// Four million elements, of which a share is below a number.
fn kept(suite: &mut Suite, share: usize, below: f32) {
    let (level, count) = (suite.level, suite.size(1 << 22));
    suite.ratio(&format!("x[x < t], 4 Mi f32, {share} % kept"), Asked::Ratio(1.2), || {
        let x = array(&[count], 71);
        let kernel = of_one(Threads::Calling, |x| x.masked(x.lt(f64::from(below))));
        let ours = ours(kernel, x.clone());
        let hand: Loop<f64> = Box::new(move |out| summary(&selected(level, x.as_slice(), below), out));
        agreeing(4, |a, b| a == b, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

fn two_threads(suite: &mut Suite) {
    let count = suite.size(1 << 22);
    suite.ratio("x[x < t], 4 Mi f32, 50 % kept, two threads", Asked::Ratio(0.6), || {
        let x = array(&[count], 71);
        let kernel = |threads| of_one(threads, |x| x.masked(x.lt(0.5)));
        let (two, one) = (ours(kernel(pool(2)), x.clone()), ours(kernel(Threads::Calling), x));
        agreeing(4, |a, b| a == b, vec![("two threads", two), ("one thread", one)])
    });
}

/// What is computed of the selected elements of two arrays.
fn of_two(suite: &mut Suite) {
    let count = suite.size(1 << 22);
    suite.ratio("x[m] * 2 + y[m], 4 Mi f32, 50 % kept", Asked::Ratio(1.0), || {
        let (x, y) = (array(&[count], 75), array(&[count], 76));
        let g = Graph::new();
        let n = g.symbol("n");
        let [first, second] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
        let mask = first.lt(0.5);
        let kernel = compiled(first.masked(mask) * 2 + second.masked(mask), Threads::Calling);
        let of_hand = (x.clone(), y.clone());
        let ours: Loop<f64> = Box::new(move |out| {
            let kept: Vec<f32> =
                kernel.run((&*x, &*y)).expect("the arrays fit").try_into().expect("one result");
            summary(&kept, out);
        });
        let (x, y) = of_hand;
        let hand: Loop<f64> = Box::new(move |out| summary(&combined(x.as_slice(), y.as_slice(), 0.5), out));
        agreeing(4, |a, b| a == b, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// A chain of which a mask selects elements, summed: as one with `where=`.
fn sum(suite: &mut Suite) {
    let count = suite.size(1 << 22);
    suite.ratio("(x * 2 + 1)[m].sum(), 4 Mi f32", Asked::Ratio(1.1), || {
        let x = array(&[count], 72);
        let kernel = |make: fn(Tensor) -> Tensor| of_one(Threads::Calling, make);
        let selected = ours(kernel(|x| (x * 2 + 1).masked(x.lt(0.5)).sum(0)), x.clone());
        let filtered = ours(kernel(|x| (x * 2 + 1).filter(x.lt(0.5)).sum(0)), x);
        agreeing(4, |a, b| a == b, vec![("selected", selected), ("`where=`", filtered)])
    });
}

/// The positions of few elements: at the speed of reading.
fn sparse(suite: &mut Suite) {
    let count = suite.size(1 << 22);
    suite.ratio("positions of 4 Mi f32 below t, 0.01 % of them", Asked::Ratio(1.2), || {
        let x = array(&[count], 73);
        let kernel = of_one(Threads::Calling, |x| x.lt(1e-4).flatnonzero());
        let ours = ours(kernel, x.clone());
        let hand: Loop<f64> = Box::new(move |out| {
            let at: Vec<f64> = positions(x.as_slice(), 1e-4).into_iter().map(|at| at as f64).collect();
            summary(&at, out);
        });
        agreeing(4, |a, b| a == b, vec![("broadloom", ours), ("the hand-written loop", hand)])
    });
}

/// The distinct ones of a million integers.
fn unique(suite: &mut Suite, values: usize) {
    let count = suite.size(1_000_000);
    suite.brief(&format!("unique of 1 M i64, up to {values} different"), Asked::Ratio(1.2), || {
        let x: Vec<i64> = numbers(count, 74).map(|x| (f64::from(x) * values as f64) as i64).collect();
        let g = Graph::new();
        let kernel = compiled(g.input::<i64>("x", shape![g.symbol("n")]).unique(), Threads::Calling);
        let hand = x.clone();
        let ours: Loop<f64> = Box::new(move |out| {
            let kept: Vec<i64> = kernel.run(&x).expect("the array fits").try_into().expect("one result");
            summary(&kept.iter().map(|x| *x as f64).collect::<Vec<f64>>(), out);
        });
        let hand: Loop<f64> = Box::new(move |out| {
            summary(&distinct(&hand).iter().map(|x| *x as f64).collect::<Vec<f64>>(), out);
        });
        agreeing(4, |a, b| a == b, vec![("broadloom", ours), ("sorted and deduplicated", hand)])
    });
}
