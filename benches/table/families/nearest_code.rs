//! The nearest of some codes to each row, and distances like it.

use crate::by_hand::nearest::{nearest_by_root, nearest_f32, nearest_naive};
use crate::harness::contest::{Loop, agreeing, array, compiled, kernel};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;
use broadloom::{Dim, Threads};

/// A symbolic size is to cost as much more than a constant one.
const OF_CONSTANT: Asked = Asked::Ratio(1.2);
/// Rows and codes where the number of coordinates varies.
const ROWS: usize = 20_000;
const CODES: usize = 64;

/// From differences of codes and rows to a distance, along the last axis.
type Distance = fn(Tensor) -> Tensor;

pub fn entries(suite: &mut Suite) {
    by_hand::<false>(suite, 1_000_000, 16, 3);
    by_hand::<false>(suite, 200_000, 256, 8);
    by_hand::<true>(suite, 1_000_000, 16, 3);
    let distances: [(&str, Distance); 5] = [
        ("nearest code", |difference| difference.square().sum(-1)),
        ("nearest code by sqrt", |difference| difference.square().sum(-1).sqrt()),
        ("nearest code by abs", |difference| difference.abs().sum(-1)),
        ("nearest code by norm", |difference| difference.norm(Norm::Two, -1)),
        ("nearest code by mean", |difference| difference.square().mean(-1)),
    ];
    for d in [3, 8, 16, 64] {
        for (name, distance) in distances {
            symbolic(suite, name, distance, d);
        }
        evaluated(suite, d);
    }
}

/// The nearest of `codes` to each of `obs`.
fn of(obs: Tensor, codes: Tensor, distance: Distance) -> Tensor {
    distance(codes.unsqueeze(0) - obs.unsqueeze(1)).argmin(1)
}

/// The kernel for rows of `d`.
fn kernel_for(d: impl Fn(&Graph) -> Dim, distance: Distance, threads: Threads) -> Executable {
    let g = Graph::new();
    let ([n, k], d) = (g.symbols(["n", "k"]), d(&g));
    let (obs, codes) = (g.input::<f32>("obs", shape![n, d]), g.input::<f32>("codes", shape![k, d]));
    compiled(of(obs, codes, distance), threads)
}

/// Distances rooted as NumPy's guide writes it, or not.
fn by_hand<const ROOT: bool>(suite: &mut Suite, n: usize, k: usize, d: usize) {
    let root = if ROOT { ", with sqrt" } else { "" };
    let (level, rows) = (suite.level, suite.size(n));
    suite.ratio(&format!("({n}, {k}, {d}){root}"), Asked::AsBefore, || {
        let distance: Distance = match ROOT {
            true => |difference| difference.square().sum(-1).sqrt(),
            false => |difference| difference.square().sum(-1),
        };
        let (obs, codes) = (array(&[rows, d], 1), array(&[k, d], 2));
        let broadloom = {
            let compiled = kernel_for(|_| d.into(), distance, Threads::Calling);
            kernel(compiled, vec![obs.clone(), codes.clone()], &[rows])
        };
        let hand: Loop<i64> = {
            let (obs, codes) = (obs.clone(), codes.clone());
            let nearest = if ROOT { nearest_by_root } else { nearest_f32 };
            Box::new(move |out| nearest(level, d, obs.as_slice(), codes.as_slice(), out))
        };
        let naive: Loop<i64> =
            Box::new(move |out| nearest_naive::<ROOT>(obs.as_slice(), codes.as_slice(), d, out));
        let loops = vec![("broadloom", broadloom), ("the hand-written loop", hand), ("a naive loop", naive)];
        agreeing(rows, |a, b| a == b, loops)
    });
}

/// The number of coordinates is a symbol, beside a constant.
fn symbolic(suite: &mut Suite, name: &str, distance: Distance, d: usize) {
    let rows = suite.size(ROWS);
    suite.ratio(&format!("{name}, d = {d} a symbol"), OF_CONSTANT, || {
        let (obs, codes) = (array(&[rows, d], 3), array(&[CODES, d], 4));
        let run = |compiled| kernel(compiled, vec![obs.clone(), codes.clone()], &[rows]);
        let loops: Vec<(_, Loop<i64>)> = vec![
            ("broadloom", run(kernel_for(|g| g.symbol("d").into(), distance, Threads::Calling))),
            ("a constant d", run(kernel_for(|_| d.into(), distance, Threads::Calling))),
        ];
        agreeing(rows, |a, b| a == b, loops)
    });
}

/// By `eval`, to which all sizes are those of the arrays, beside a kernel for that many coordinates. Both use all threads and
/// return a new array, which is copied for the comparison.
fn evaluated(suite: &mut Suite, d: usize) {
    let rows = suite.size(ROWS);
    suite.ratio(&format!("nearest code, d = {d}, by eval"), OF_CONSTANT, || {
        let distance: Distance = |difference| difference.square().sum(-1);
        let (obs, codes) = (array(&[rows, d], 5), array(&[CODES, d], 6));
        let kernel = kernel_for(|_| d.into(), distance, Threads::Global);
        let inputs = (obs.clone(), codes.clone());
        let constant: Loop<i64> = Box::new(move |out| {
            let mut outputs = kernel.run((&*inputs.0, &*inputs.1)).expect("the arrays fit");
            let found: Vec<i64> = outputs.take("out").expect("there is one result");
            out.copy_from_slice(&found);
        });
        let eval: Loop<i64> = Box::new(move |out| {
            let found: Vec<i64> =
                eval((&*obs, &*codes), |(obs, codes)| of(obs, codes, distance)).expect("the arrays fit");
            out.copy_from_slice(&found);
        });
        agreeing(rows, |a, b| a == b, vec![("broadloom", eval), ("a constant d", constant)])
    });
}
