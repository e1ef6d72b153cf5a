//! How long it takes to write and compile graphs, how that grows, and which part of it the verifier takes.

use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{CheckedGraph, CpuLevel};
use broadloom_ir::transform::prepare;
use broadloom_loops::LowerOptions;

/// Numbers of steps up to one at which compiling is to take no more than its limit.
const TO_10_000: &[usize] = &[1000, 2000, 4000, 7000, 10_000];
const TO_100_000: &[usize] = &[10_000, 25_000, 50_000, 100_000];
const TO_40: &[usize] = &[6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 36, 40];

pub fn entries(suite: &mut Suite) {
    suite.seconds("nearest code", 2e-3, || Contender::new("broadloom", || compile(&nearest_code())));
    suite.growing("10 operations, each of the last", 1e-3, &[10], |steps| move || compile(&chain(steps)));
    suite
        .growing("1,000 operations, each of the last", 0.06, &[1000], |steps| move || compile(&chain(steps)));
    suite.growing("100,000 operations, each of the last", 5.0, TO_100_000, |steps| {
        move || compile(&chain(steps))
    });
    for (last, limit) in [(1000, 0.15), (4000, 0.6), (10_000, 1.5)] {
        let steps: Vec<usize> = TO_10_000.iter().copied().filter(|steps| *steps <= last).collect();
        let name = format!("{last} operations, each of two of the last twenty");
        suite.growing(&name, limit, &steps, |steps| move || compile(&braid(steps)));
    }
    for (last, name) in [(16, "16 shifts, each joined and added"), (40, "40 shifts, each joined and added")] {
        let steps: Vec<usize> = TO_40.iter().copied().filter(|steps| *steps <= last).collect();
        suite.growing(name, 0.2, &steps, |steps| move || compile(&shifts(steps)));
    }
    suite.growing("a Haar pyramid of 16 levels over a concat", 0.2, &[2, 4, 6, 8, 10, 12, 14, 16], |steps| {
        move || compile(&pyramid(steps))
    });
    suite.growing("400 column sums of exp", 1.0, &[100, 200, 400], |steps| {
        move || compile(&column_sums(steps))
    });
    suite.growing("80 softmaxes over axis 0", 0.6, &[20, 40, 80], |steps| move || compile(&softmaxes(steps)));
    suite.growing("4,000 sines, each of the last", 0.6, &[1000, 2000, 4000], |steps| {
        move || compile(&sines(steps))
    });
    // These are derived as well each time.
    suite.growing("1,000 sines under a sum, with the derivative", 0.15, &[125, 250, 500, 1000], |steps| {
        move || compile(&derived(steps, |y| y.sin()))
    });
    suite.growing(
        "squares and sines 20 deep under a sum, with the derivative",
        0.15,
        &[5, 10, 20],
        |steps| move || compile(&derived(steps, |y| y * y + y.sin())),
    );
    verified(suite, "nearest code", nearest_code());
    verified(suite, "1,000 operations, each of two of the last twenty", braid(1000));
    verified(suite, "400 column sums of exp", column_sums(400));
    verified(suite, "80 softmaxes over axis 0", softmaxes(80));
}

fn compile(graph: &CheckedGraph) {
    Executable::compile(graph, &CompileOptions::default()).expect("the graph compiles");
}

/// Verifying the schedule of a graph, as a part of compiling the graph.
fn verified(suite: &mut Suite, name: &str, graph: CheckedGraph) {
    suite.ratio(&format!("verifying {name}"), Asked::Ratio(0.1), || {
        let prepared = prepare(&graph).graph;
        let options = LowerOptions::dense(&prepared, CpuLevel::detect().is_fused());
        let schedule = broadloom_loops::lower(&prepared, &options).expect("the graph is lowered");
        let verify = move || broadloom_loops::verify(&schedule).expect("the schedule is right");
        vec![Contender::new("verify", verify), Contender::new("compiling", move || compile(&graph))]
    });
}

/// A graph of one output.
fn alone(output: Tensor) -> CheckedGraph {
    output.finish().expect("the graph has no mistakes")
}

fn nearest_code() -> CheckedGraph {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let (obs, codes) = (g.input::<f32>("obs", shape![n, 3]), g.input::<f32>("codes", shape![k, 3]));
    alone((codes.unsqueeze(0) - obs.unsqueeze(1)).square().sum(-1).argmin(1))
}

/// One of four cheap operations.
fn mixed(index: usize, x: Tensor, y: Tensor) -> Tensor {
    match index % 4 {
        0 => x + y,
        1 => x * y,
        2 => x - y,
        _ => x.maximum(y),
    }
}

fn chain(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    alone((0..steps).fold(x, |last, index| mixed(index, last, x)))
}

fn sines(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    alone((0..steps).fold(x, |last, _| last.sin()))
}

/// The sum of a function applied again and again, and its derivative.
fn derived(steps: usize, function: impl Fn(Tensor) -> Tensor) -> CheckedGraph {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let (value, [slope]) = (0..steps).fold(x, |y, _| function(y)).sum(0).value_and_grad([x]);
    g.finish([("value", value), ("slope", slope)]).expect("the graph has no mistakes")
}

fn braid(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let n = g.symbol("n");
    let mut values: Vec<Tensor> =
        (0..20).map(|index| g.input::<f32>(&format!("x{index}"), shape![n])).collect();
    let mut state = 1_u64;
    let mut back = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 40) as usize % 20
    };
    for index in 0..steps {
        let [left, right] = [back(), back()].map(|back| values[values.len() - back]);
        values.push(mixed(index, left, right));
    }
    let last = values.split_off(values.len() - 20);
    alone(last.into_iter().reduce(|sum, value| sum + value).expect("there are some"))
}

/// An array shifted around by 1, 2, 3, .. and added to itself.
fn shifts(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![1000]);
    let shifted = |v: Tensor, by: usize| concat([v.slice(slice![by..]), v.slice(slice![..by])], 0) + v;
    alone((1..=steps).fold(x, shifted))
}

/// Means and differences of neighbours, and of the means again, as far as `levels`.
fn pyramid(levels: usize) -> CheckedGraph {
    let g = Graph::new();
    let length = 1 << levels;
    let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![length / 2]));
    let mut outputs = Vec::new();
    let mut means = concat([x, y], 0);
    for level in 0..levels {
        let (even, odd) = (means.slice(slice![..; 2]), means.slice(slice![1..; 2]));
        outputs.push((format!("level{level}"), (even - odd) * 0.5));
        means = (even + odd) * 0.5;
    }
    outputs.push(("mean".to_owned(), means));
    let outputs = outputs.iter().map(|(name, tensor)| (name.as_str(), *tensor));
    g.finish(outputs).expect("the pyramid has no mistakes")
}

fn column_sums(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let sums = (0..steps).map(|index| (format!("sum{index}"), (x * (index as f32 * 0.01)).exp().sum(0)));
    let outputs: Vec<(String, Tensor)> = sums.collect();
    g.finish(outputs.iter().map(|(name, sum)| (name.as_str(), *sum))).expect("the sums have no mistakes")
}

fn softmaxes(steps: usize) -> CheckedGraph {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    alone((0..steps).fold(x, |last, index| (last * (index as f32 + 1.5)).softmax(0)))
}
