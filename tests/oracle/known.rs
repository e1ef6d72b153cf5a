//! Expressions that were compiled wrongly once.

use crate::build::Built;
use crate::check::check;
use crate::recipe::SIZES;
use broadloom::{Graph, Tensor, concat, shape};

type Build = fn(&Graph) -> Vec<Tensor>;

const KNOWN: &[(&str, Build)] = &[
    ("a row that is read in a loop in which rows are written", |g| {
        let [n, m, _] = g.symbols(["n", "m", "k"]);
        let (x, y) = (g.input::<f64>("x", shape![n, 1]), g.input::<f64>("y", shape![m]));
        vec![(x.pow(x) + y.exp()).log().min(..)]
    }),
    ("the same under a division", |g| {
        let [n, m, _] = g.symbols(["n", "m", "k"]);
        let x = g.input::<f64>("x", shape![n, m]);
        let e = (x - x.max_keepdims(1)).exp();
        vec![(e / e.sum_keepdims(1)).prod(0)]
    }),
    ("an output that is stored once more for another one, after it was made", |g| {
        let [n, m, _] = g.symbols(["n", "m", "k"]);
        let x = g.input::<i64>("x", shape![n, m]);
        let y = x.abs();
        vec![(x + 1).square(), y.take(y.argmin(0), 0), y]
    }),
    ("a row that is kept for the loop after a reduction, beside functions of other sums", |g| {
        let [n] = g.symbols(["n"]);
        let (x, y) = (g.input::<bool>("x", shape![n, 5]), g.input::<f64>("y", shape![n, 5]));
        vec![x.softmax(1), y.log_softmax(1), x.log_softmax(1), y.softmax(1)]
    }),
    ("an output beside another one in a kernel, which waits for a reader of the first", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("y", shape![n, m]));
        let standardised = (x - x.mean_keepdims(0)) / (x.std_keepdims(0) + 1);
        vec![standardised.log_softmax(1).softmax(1), standardised, y.log_softmax(1)]
    }),
    ("extremes with numbers that are known", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<f32>("x", shape![n, m]), g.input::<f64>("y", shape![n, m]));
        vec![
            x.maximum(2.5),
            x.minimum(-1.0),
            x.clip(-1.0, 1.0),
            x.maximum(f32::NAN).minimum(1.0),
            x.maximum(0.0) / x,
            x.minimum(-0.0) / x,
            y.maximum(f64::INFINITY).minimum(y.maximum(-0.5)),
            y.clip(0.0, 1.0) / y,
            y.relu(),
        ]
    }),
    ("quotients and rests of numbers that are known", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<i64>("x", shape![n, m]), g.input::<u64>("y", shape![n, m]));
        let mut results = Vec::new();
        for divisor in [1_i64, 2, 3, 7, -1, -5, -8, 1000, i64::MAX, i64::MIN, 0] {
            results.extend([x.floor_divide(divisor), x.remainder(divisor), x.fmod(divisor)]);
        }
        for divisor in [1_u64, 6, 64, 641, u64::MAX, (1 << 63) + 1, 0] {
            results.extend([y.floor_divide(divisor), y.remainder(divisor)]);
        }
        results
    }),
    ("sums of few rows beside a piece with loops over them", |g| {
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<f32>("x", shape![3, n]), g.input::<f32>("y", shape![n, 3, m]));
        vec![concat([x.sum_keepdims(1), y.sum(0)], 1)]
    }),
];

#[test]
fn known_expressions_compute_what_the_interpreter_does() {
    check_known(0);
}

/// A test of its own, so that two threads share the work.
#[test]
fn known_expressions_with_other_seeds_compute_what_the_interpreter_does() {
    check_known(9);
}

fn check_known(first_seed: u64) {
    let size = |size: usize| SIZES.iter().position(|known| *known == size).expect("a size of the list");
    let sizes = [(3, 16), (2, 2), (1025, 17), (33, 1025), (1, 0)].map(|(n, m)| [size(n), size(m), 0]);
    for (name, build) in KNOWN {
        let graph = Graph::new();
        let results = build(&graph);
        let outputs = (0..).zip(results).map(|(index, tensor)| (format!("out{index}"), tensor)).collect();
        let built = Built { graph, inputs: Vec::new(), outputs };
        for seed in (first_seed..64).step_by(18) {
            check(&built, &sizes, seed * 0x0101_0101_0101_0101)
                .unwrap_or_else(|problem| panic!("{name}: {problem}"));
        }
    }
}
