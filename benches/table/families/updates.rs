//! Arrays that change in a region, or at positions.

use crate::by_hand::Level;
use crate::by_hand::updates::{added, even_columns, first_row, replaced, stencil, stencil_in_place};
use crate::harness::contest::{Loop, agreeing, alone, doubles, is_near, kernel, numbers, of};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Executable, Inputs, Threads};
use std::rc::Rc;

pub fn entries(suite: &mut Suite) {
    for side in [2000, 200] {
        another(suite, side);
        itself(suite, side);
    }
    columns(suite);
    row(suite);
    for elements in [1000, 1_000_000] {
        positions(suite, elements);
    }
}

/// The inner points of an array from those of another.
fn another(suite: &mut Suite, side: usize) {
    let (level, name) = (suite.level, format!("stencil of five points, {side} x {side} f64"));
    let side = suite.size(side);
    suite.ratio(&name, Asked::Ratio(1.1), || {
        let x = doubles(&[side, side], 61, |x| x);
        let step = updated(|x, y| y.assign(y.at(slice![1..-1, 1..-1]).set(0.2 * around(x))), x.clone(), side);
        let hand: Loop<f64> = Box::new(move |out| stencil(level, x.as_slice(), side, out));
        agreeing(side * side, is_near, vec![("broadloom", step), ("the hand-written loop", hand)])
    });
}

/// The inner points of an array from its own old ones.
fn itself(suite: &mut Suite, side: usize) {
    let (level, name) = (suite.level, format!("stencil of five points in place, {side} x {side} f64"));
    let side = suite.size(side);
    suite.ratio(&name, Asked::Ratio(1.1), || {
        let x = doubles(&[side, side], 62, |x| x);
        let step = |x: Tensor, y: Tensor| {
            let source = x.slice(slice![1..-1, 1..-1]);
            y.assign(y.at(slice![1..-1, 1..-1]).set(0.2 * around(y) + source))
        };
        let step = updated(step, x.clone(), side);
        let mut new = vec![0.0; side * side];
        let hand: Loop<f64> = Box::new(move |out| stencil_in_place(level, x.as_slice(), side, &mut new, out));
        agreeing(side * side, is_near, vec![("broadloom", step), ("by way of a second array", hand)])
    });
}

/// Elements that lie between others.
fn columns(suite: &mut Suite) {
    let (level, side) = (suite.level, suite.size(2000));
    suite.ratio("every second column of 2000 x 2000 f64", Asked::Ratio(1.1), || {
        let x = doubles(&[side, side], 64, |x| x);
        let even = slice![.., ..;2];
        let step = move |x: Tensor, y: Tensor| y.assign(y.at(even).set(0.5 * y.slice(even) + x.slice(even)));
        let step = updated(step, x.clone(), side);
        let hand: Loop<f64> = Box::new(move |out| even_columns(level, x.as_slice(), side, out));
        agreeing(side * side, is_near, vec![("broadloom", step), ("the hand-written loop", hand)])
    });
}

/// One row of many, in a time that is mostly that of the call.
fn row(suite: &mut Suite) {
    let (level, side) = (suite.level, suite.size(4000));
    suite.ratio("a row of 4000 x 4000 f64", Asked::Ratio(2.0), || {
        let x = doubles(&[side, side], 63, |x| x);
        let step = updated(|x, y| y.assign(y.at(slice![0]).set(2 * x.slice(slice![1]))), x.clone(), side);
        let hand: Loop<f64> = Box::new(move |out| first_row(level, x.as_slice(), side, out));
        agreeing(side * side, is_near, vec![("broadloom", step), ("the hand-written loop", hand)])
    });
}

/// Elements that a million positions replace, and those that they add to.
fn positions(suite: &mut Suite, elements: usize) {
    type ByHand = fn(Level, &[f64], &[i64], &[f64], &mut [f64]);
    type Change = fn([Tensor; 3]) -> Tensor;
    let changes: [(&str, Change, ByHand); 2] =
        [("replaced", |[x, i, v]| x.at(i).set(v), replaced), ("added to", |[x, i, v]| x.at(i).add(v), added)];
    let (level, count) = (suite.level, suite.size(1_000_000));
    for (name, change, by_hand) in changes {
        suite.ratio(&format!("{elements} f64, {name} at a million positions"), Asked::Ratio(1.1), || {
            let at = numbers(count, 65).map(|at| (f64::from(at) * elements as f64) as i64);
            let (x, at) = (doubles(&[elements], 66, |x| x), of(at.collect(), &[count]));
            let values = doubles(&[count], 67, |x| x);
            let g = Graph::new();
            let [n, k] = g.symbols(["n", "k"]);
            let inputs = [
                g.input::<f64>("x", shape![n]),
                g.input::<i64>("i", shape![k]),
                g.input::<f64>("v", shape![k]),
            ];
            let ours =
                kernel(alone(change(inputs)), vec![x.clone(), at.clone(), values.clone()], &[elements]);
            let hand: Loop<f64> =
                Box::new(move |out| by_hand(level, x.as_slice(), at.as_slice(), values.as_slice(), out));
            agreeing(elements, is_near, vec![("broadloom", ours), ("the hand-written loop", hand)])
        });
    }
}

/// Calls a kernel that changes its second input.
fn updated(assign: impl FnOnce(Tensor, Tensor) -> Tensor, x: Rc<Array<f64>>, side: usize) -> Loop<f64> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x_of_graph, y) = (g.input::<f64>("x", shape![n, m]), g.input::<f64>("y", shape![n, m]));
    assign(x_of_graph, y);
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let kernel: Executable = g.compile_with([], &options).expect("the expression compiles");
    Box::new(move |out| {
        let y = ArrayViewMut::new(out, &[side, side]).expect("as many elements as the shape has");
        kernel.run(Inputs::new().next(&*x).next(y)).expect("the arrays fit");
    })
}

/// The sum of each inner point and its four neighbours.
fn around(x: Tensor) -> Tensor {
    let row = x.slice(slice![1..-1]);
    let columns = x.slice(slice![.., 1..-1]);
    row.slice(slice![.., 1..-1])
        + row.slice(slice![.., ..-2])
        + row.slice(slice![.., 2..])
        + columns.slice(slice![2..])
        + columns.slice(slice![..-2])
}
