//! Branches that a selection leaves out, and statements that a loss does not read, have no part in a derivative.

use super::floats;
use crate::support::graph;
use broadloom_ir::interp::{Array, interpret};

/// Functions that are infinite or NaN, or whose derivatives are, for some of the elements -1, 0, 1, infinity and NaN.
const DANGEROUS: &[&str] = &[
    "log(x)",
    "sqrt(x)",
    "1 / x",
    "x**-0.5",
    "asin(2 * x)",
    "exp(1000 * x)",
    "x / x",
    "log(log(x))",
    "rsqrt(x)",
    "x * inf",
    "tan(x / 0)",
    "acosh(x)",
    "log1p(-x)",
    "sqrt(sqrt(x) - 1)",
    "0 / x",
    "gelu(x * inf)",
    "hypot(x, x / 0)",
];

/// How a value leaves elements out: `f` is the function, `ok` holds for the element 1 alone.
const SELECTIONS: &[&str] = &[
    "sum(where(ok, f, 0))",
    "sum(where(ok, f * 2 + 1, x * 3))",
    "sum(where(~ok, 0, exp(f) * 0.1))",
    "sum(where(ok, f, 0) * where(ok, f, 1))",
    "sum(where(ok[:, None], f[:, None] * x[None], 0)[:, 2])",
    "mean(where(ok, sin(f) + f, 0))",
    "sum(f, where=ok)",
    "sum(where(ok, (f[:, None] * array([1.0, 2.0])).sum(1), 0))",
    "sum(where(ok, f, 0).reshape(5, 1) * 2)",
    "sum(where(ok, f, 0)[1:])",
    "sum(where(ok, where(ok, f, nan), 0))",
    "sum(where(ok, maximum(f, f - 1), 0))",
    "sum(where(ok, cumsum(where(ok, f, 0)), 0))",
    "sum(where(ok, x * f + (x * f)**2, 0))",
];

#[test]
fn branches_left_out_are_no_part_of_a_derivative() {
    let x = [-1.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
    let mut wrong = String::new();
    let mut count = 0;
    for function in DANGEROUS {
        for selection in SELECTIONS {
            let text = |function: &str| {
                format!(
                    "input x: f64[5]\nok = x == 1\nf = {function}\noutput loss = {selection}\n\
                     output slopes = grad({selection}, x)\n"
                )
            };
            let results = interpret(&graph(&text(function)), &[Array::new(&[5], &x)], true);
            let results = results.unwrap_or_else(|error| panic!("{function} {selection}: {error}"));
            let (graph, mut all) = (graph(&text(function)), results.iter());
            let mut loss = f64::NAN;
            let mut slopes = Vec::new();
            for output in graph.outputs() {
                let values = floats(all.next().expect("one for each output"));
                match &*output.name {
                    "loss" => loss = values[0],
                    "slopes" => slopes = values,
                    _ => {}
                }
            }
            // Where the element 1 itself has no finite value, neither need its derivative be one.
            let others: Vec<f64> = (0..5).filter(|at| *at != 2).map(|at| slopes[at]).collect();
            count += 1;
            if loss.is_finite() && others.iter().any(|slope| !slope.is_finite()) {
                wrong.push_str(&format!("\n{selection} with {function}: {slopes:?}"));
            }
        }
    }
    assert!(count > 200, "{count} graphs");
    assert!(wrong.is_empty(), "{wrong}");
}

/// `relu(log(x))` at 0 is `relu` of minus infinity.
#[test]
fn functions_that_select() {
    for (loss, want) in [
        ("sum(relu(log(x)))", [0.0, 0.5]),
        ("sum(maximum(log(x), 0))", [0.0, 0.5]),
        ("sum(clip(log(x), -1, 1))", [0.0, 0.5]),
        ("max(where(x > 0, log(x), -5))", [0.0, 0.5]),
        ("sum(fmax(log(x), 0))", [0.0, 0.5]),
    ] {
        let text = format!("input x: f64[2]\noutput slopes = grad({loss}, x)\n");
        let results = interpret(&graph(&text), &[Array::new(&[2], &[0.0, 2.0])], true).expect("it runs");
        assert_eq!(floats(&results[0]), want, "{loss}");
    }
}

/// The order of sums in a derivative is that of a walk from the loss.
#[test]
fn statements_before_change_no_bit() {
    let loss = "sum(exp(x) * x + sin(x) / (x + 2) + x**2 * exp(x) + sum(x * x) * x + x[::-1] * sin(x))";
    let run = |before: &str| {
        let text = format!("input x: f64[n]\n{before}\noutput slopes = grad({loss}, x)\n");
        let x: Vec<f64> = (0..37).map(|at| f64::sin(at as f64)).collect();
        let graph = graph(&text);
        let place =
            graph.outputs().iter().position(|output| *output.name == *"slopes").expect("it is an output");
        let results = interpret(&graph, &[Array::new(&[37], &x)], true).expect("it runs");
        floats(&results[place]).iter().map(|slope| slope.to_bits()).collect::<Vec<u64>>()
    };
    let alone = run("");
    for before in [
        "a = x[::-1] * sin(x)",
        "a = x**2 * exp(x) + sum(x * x)",
        "a = sin(x) / (x + 2)\nb = grad(sum(x**2 * exp(x)), x)",
        "a = grad(sum(sin(x) + exp(x) * x), x) * cos(x)",
    ] {
        assert_eq!(run(before), alone, "{before}");
    }
}
