//! Data without a result: the interpreter and compiled code report the same expression, position and value, whatever
//! the loops, and whichever thread meets one first.

use broadloom::prelude::*;
use broadloom::{CallError, CheckedGraph, CpuLevel, RunError, Threads};
use broadloom_ir::ExprId;
use broadloom_ir::graph::Node;
use broadloom_ir::interp::{self, InterpretError, interpret};
use std::sync::Arc;

/// An expression of the inputs `table: f32[k, 3]`, `at: i64[n]`, `near: i32[n, m]`, `base: i32[n, 1]` and
/// `power: i32[m]`, and wide versions of the last two.
struct Inputs {
    table: Tensor,
    at: Tensor,
    near: Tensor,
    base: Tensor,
    power: Tensor,
    long: Tensor,
}

type Build = fn(&Inputs) -> Vec<Tensor>;

const CASES: &[(&str, Build)] = &[
    ("rows", |x| vec![x.table.take(x.at, 0)]),
    ("columns", |x| vec![x.table.t().take(x.at, 1)]),
    ("elements", |x| vec![x.table.take(x.near, 0)]),
    ("of a column", |x| vec![x.table.index(1, 1).take(x.near, 0)]),
    ("turned", |x| vec![x.table.take(x.near.t(), 0) + 1]),
    ("of computed indices", |x| vec![x.table.take(x.near + x.at.unsqueeze(1), 0)]),
    ("summed over rows", |x| vec![x.table.take(x.at, 0).sum(0)]),
    ("summed over columns", |x| vec![x.table.take(x.at, 0).sum(1)]),
    ("summed over all", |x| vec![x.table.index(1, 0).take(x.at, 0).sum(..)]),
    ("extremes", |x| vec![x.table.index(1, 0).take(x.near, 0).argmin(0), x.table.take(x.near, 0).max(1)]),
    ("of functions", |x| vec![x.table.take(x.at, 0).exp().sum(0)]),
    ("under functions", |x| vec![x.table.exp().index(1, 2).take(x.near, 0).sin()]),
    ("one inside another", |x| vec![x.table.take(x.near.index(1, 0).take(x.at, 0), 0)]),
    ("two", |x| vec![x.table.take(x.near, 0).sum(-1), x.table.take(x.at, 0)]),
    ("two, the other way", |x| vec![x.table.take(x.at, 0), x.table.take(x.near, 0).sum(-1)]),
    ("powers", |x| vec![x.base.pow(x.power)]),
    ("powers of rows", |x| vec![x.base.pow(x.near)]),
    ("wide powers", |x| vec![x.long.pow(x.at)]),
    ("powers, summed", |x| vec![x.base.pow(x.near).sum(1), x.base.pow(x.near).max(0)]),
    ("a power for all rows", |x| vec![x.power.pow(x.power) + x.base]),
    ("powers of taken ones", |x| vec![x.near.take(x.at, 0).index(1, 0).pow(x.at)]),
    ("a power that is not selected", |x| vec![select(x.power.less(0), x.base, x.base.pow(x.power))]),
    ("a power and an index", |x| vec![x.base.pow(x.power), x.table.take(x.near, 0)]),
];

/// Reproducible numbers.
fn random(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

/// What is wrong.
#[derive(Debug, PartialEq)]
enum Wrong {
    /// The sizes, whatever the data.
    Sizes,
    /// An element: expression, indices of the position, value, and the size of the axis if it is an index.
    Element(ExprId, Vec<usize>, i64, Option<i64>),
}

fn unravel(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let along = position % size;
            position /= size;
            along
        })
        .collect();
    index.reverse();
    index
}

/// What the interpreter reports.
fn interpreted(graph: &CheckedGraph, inputs: &[interp::Array], sizes: [usize; 3]) -> Option<Wrong> {
    let shape = |expr| -> Vec<usize> {
        let value = |symbol: broadloom_ir::SymbolId| sizes.get(symbol.index()).map(|size| *size as i64);
        graph.shape(expr).iter().map(|dim| dim.evaluate(&value).expect("sizes are small") as usize).collect()
    };
    match interpret(graph, inputs, true) {
        Ok(_) => None,
        Err(InterpretError::Index { expr, position, value, size }) => {
            let Node::Take { indices, .. } = graph.node(expr) else { panic!("{expr} takes nothing") };
            let index = unravel(position, &shape(*indices));
            Some(Wrong::Element(expr, index, value, Some(size as i64)))
        }
        Err(InterpretError::NegativeExponent { expr, position, value }) => {
            Some(Wrong::Element(expr, unravel(position, &shape(expr)), value, None))
        }
        Err(InterpretError::Obligation { .. }) => Some(Wrong::Sizes),
        Err(error) => panic!("{error}\n{graph}"),
    }
}

/// What compiled code reports.
fn reported(result: Result<Outputs, CallError>) -> Option<Wrong> {
    match result {
        Ok(_) => None,
        Err(CallError::Run(RunError::IndexOutOfRange { expr, position, index, size, .. })) => {
            Some(Wrong::Element(expr, position, index, Some(size)))
        }
        Err(CallError::Run(RunError::NegativeExponent { expr, position, exponent, .. })) => {
            Some(Wrong::Element(expr, position, exponent, None))
        }
        Err(CallError::Bind(_)) => Some(Wrong::Sizes),
        Err(error) => panic!("{error}"),
    }
}

/// Numbers of `0..bound`, of which `wrong` many are replaced by one of `others`.
fn numbers(count: usize, bound: usize, wrong: usize, others: [i64; 3], seed: &mut u64) -> Vec<i64> {
    let mut numbers: Vec<i64> = (0..count).map(|_| (random(seed) % bound) as i64).collect();
    for _ in 0..if count == 0 { 0 } else { wrong } {
        numbers[random(seed) % count] = others[random(seed) % 3];
    }
    numbers
}

#[test]
fn the_first_wrong_datum_is_reported_on_every_path() -> Result<(), Box<dyn std::error::Error>> {
    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build()?);
    let way = |level, vectorize, threads| CompileOptions {
        level,
        vectorize,
        threads,
        parallel_threshold: 0,
        ..CompileOptions::default()
    };
    let ways = [
        way(None, true, Threads::Calling),
        way(None, true, Threads::Pool(pool)),
        way(None, false, Threads::Calling),
        way(Some(CpuLevel::Baseline), true, Threads::Calling),
    ];
    let mut seed = 7;
    let mut reports = 0;
    for (name, build) in CASES {
        let g = Graph::new();
        let [n, m, k] = g.symbols(["n", "m", "k"]);
        let inputs = Inputs {
            table: g.input::<f32>("table", shape![k, 3]),
            at: g.input::<i64>("at", shape![n]),
            near: g.input::<i32>("near", shape![n, m]),
            base: g.input::<i32>("base", shape![n, 1]),
            power: g.input::<i32>("power", shape![m]),
            long: g.input::<i64>("long", shape![n]),
        };
        let results = build(&inputs);
        let names: Vec<String> = (0..results.len()).map(|index| format!("out{index}")).collect();
        let outputs = || names.iter().map(String::as_str).zip(results.iter().copied());
        let graph = g.finish(outputs())?;
        let kernels = ways.iter().map(|way| g.compile_with(outputs(), way)).collect::<Result<Vec<_>, _>>()?;
        for (n, m, k) in
            [(5, 3, 7), (1, 1, 1), (40, 33, 6), (3000, 2, 100), (2, 1500, 3), (0, 4, 2), (4, 0, 2)]
        {
            for wrong in [0, 1, 1, 3, 40] {
                let fewest = k.min(n).min(3);
                let bad = [k as i64 + 5, -(k as i64) - 5, -1_000_000];
                let at = numbers(n, fewest.max(1), wrong, bad, &mut seed);
                let near = numbers(n * m, k.min(2), wrong, bad, &mut seed);
                let near: Vec<i32> = near.into_iter().map(|number| number as i32).collect();
                let base: Vec<i32> = (0..n as i32).collect();
                let power = numbers(m, 9, wrong, [-1, -7, i64::from(i32::MIN)], &mut seed);
                let power: Vec<i32> = power.into_iter().map(|number| number as i32).collect();
                let long: Vec<i64> = (0..n as i64).collect();
                let table: Vec<f32> = (0..3 * k).map(|number| number as f32).collect();
                let arrays = [
                    interp::Array::new(&[k, 3], &table),
                    interp::Array::new(&[n], &at),
                    interp::Array::new(&[n, m], &near),
                    interp::Array::new(&[n, 1], &base),
                    interp::Array::new(&[m], &power),
                    interp::Array::new(&[n], &long),
                ];
                let want = interpreted(&graph, &arrays, [n, m, k]);
                reports += usize::from(matches!(want, Some(Wrong::Element(..))));
                for (kernel, way) in kernels.iter().zip(&ways) {
                    let inputs = inputs! {
                        "table" => ArrayView::new(&table, &[k, 3])?,
                        "at" => &at,
                        "near" => ArrayView::new(&near, &[n, m])?,
                        "base" => ArrayView::new(&base, &[n, 1])?,
                        "power" => &power,
                        "long" => &long,
                    };
                    let got = reported(kernel.run(inputs));
                    let loops = kernel.explain();
                    assert_eq!(got, want, "{name} at n = {n}, m = {m}, k = {k}, {way:?}\n{graph}\n{loops}");
                }
            }
        }
    }
    assert!(reports > 200, "the data are wrong in {reports} cases only");
    Ok(())
}

/// `eval` keeps a kernel for all expressions of one structure, and each call reports its own.
#[test]
fn kept_kernels_report_the_place_of_the_call() {
    let (table, indices, none) = ([1.0_f32; 20], [30_i64; 9], [0.0_f32; 0]);
    let lines = [
        (eval::<_, _, Vec<f32>>((&table, &indices), |(x, i)| x.take(i, 0)), line!()),
        (eval::<_, _, Vec<f32>>((&table, &indices), |(x, i)| x.take(i, 0)), line!()),
        (eval::<_, _, Vec<f32>>((&none, &indices), |(x, i)| x.take(i, 0)), line!()),
    ];
    for (result, line) in lines {
        let error = format!("{:#}", result.unwrap_err());
        assert!(
            error.contains("`take`") && error.contains(&format!("--> {}:{line}:", file!())),
            "{line}: {error}"
        );
    }
}
