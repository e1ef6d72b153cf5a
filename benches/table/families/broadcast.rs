//! Operands that are stretched, transposed, or reshaped.

use crate::by_hand::elementwise::{outer_norm, plus_transposed};
use crate::harness::contest::{Loop, agreeing, alone, array, is_close, kernel, of};
use crate::harness::{Asked, Contender, Suite};
use broadloom::Array;
use broadloom::prelude::*;
use std::rc::Rc;

/// Beside a broadcast of 64 MiB these are nothing: partial results and indices.
const NEXT_TO_NOTHING: usize = 1 << 20;

/// An expression of two arrays.
type Binary = fn(Tensor, Tensor) -> Tensor;

pub fn entries(suite: &mut Suite) {
    outer(suite);
    transposed(suite);
    distances(suite);
    let stored: [(&str, Binary); 5] = [
        ("argmax(x[:, None] + y)", |x, y| (x + y).argmax(..)),
        ("argmin(x[:64, None, None] + (x[:64, None] + y), (0, 2))", |x, y| {
            let x = x.slice(slice![..64]);
            (x.unsqueeze(1) + (x + y)).argmin([0, 2])
        }),
        ("sum(ravel(x[:, None] + y))", |x, y| (x + y).reshape([-1]).sum(0)),
        ("ravel(x[:, None] + y)[::4096]", |x, y| (x + y).reshape([-1]).slice(slice![..; 4096])),
        ("max(reshape(x[:, None] + y, (1024, -1)), 1)", |x, y| (x + y).reshape([1024, -1]).max(1)),
    ];
    for (name, expression) in stored {
        stores(suite, name, expression);
    }
}

fn outer(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(2048));
    suite.ratio("sqrt(x[n, 1]^2 + y[m]^2), 2048 x 2048", Asked::AsBefore, || {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
        let compiled = alone((x.square() + y.square()).sqrt());
        let (x, y) = (array(&[count, 1], 21), array(&[count], 22));
        let broadloom = kernel(compiled, vec![x.clone(), y.clone()], &[count, count]);
        let hand: Loop<f32> = Box::new(move |out| outer_norm(level, x.as_slice(), y.as_slice(), out));
        agreeing(count * count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// One operand is met along its columns.
fn transposed(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(1200));
    suite.ratio("x + y.T, 1200 x 1200", Asked::Ratio(1.4), || {
        let (x, y) = (array(&[count, count], 23), array(&[count, count], 24));
        let sum = |second: fn(Tensor) -> Tensor| -> Loop<f32> {
            let g = Graph::new();
            let n = g.symbol("n");
            let [a, b] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n, n]));
            kernel(alone(a + second(b)), vec![x.clone(), y.clone()], &[count, count])
        };
        let (transposed, plain) = (sum(Tensor::t), sum(|y| y));
        let mut block = vec![0.0; 64 * count];
        let hand: Loop<f32> = Box::new(move |out| {
            plus_transposed(level, x.as_slice(), y.as_slice(), &mut block, count, out);
        });
        let same = agreeing(
            count * count,
            |a, b| a == b,
            vec![("broadloom", transposed), ("the hand-written loop", hand)],
        );
        let other = agreeing(count * count, |_, _| true, vec![("the sum x + y", plain)]);
        let mut contenders: Vec<Contender> = same;
        contenders.splice(1..1, other);
        contenders
    });
}

/// Distances of every x from every y, whose coordinates lie together or apart.
fn distances(suite: &mut Suite) {
    let count = suite.size(1024);
    suite.ratio("distances of x[n, 8] from y[k, 8]", Asked::Ratio(1.2), || {
        let (x, columns) = (array(&[count, 8], 25), array(&[8, count], 26));
        let at = |row: usize, column: usize| columns.as_slice()[column * count + row];
        let rows = of((0..8 * count).map(|index| at(index / 8, index % 8)).collect(), &[count, 8]);
        let distances = |shape: fn(Symbol) -> broadloom::Shape,
                         y: fn(Tensor) -> Tensor,
                         data: Rc<Array<f32>>|
         -> Loop<f32> {
            let g = Graph::new();
            let [n, k] = g.symbols(["n", "k"]);
            let difference =
                g.input::<f32>("x", shape![n, 8]).unsqueeze(1) - y(g.input::<f32>("y", shape(k)));
            kernel(alone(difference.square().sum(-1).sqrt()), vec![x.clone(), data], &[count, count])
        };
        let loops = vec![
            ("broadloom", distances(|k| shape![k, 8], |y| y, rows)),
            ("y[8, k]", distances(|k| shape![8, k], Tensor::t, columns.clone())),
        ];
        agreeing(count * count, is_close, loops)
    });
}

/// Bytes that are stored between kernels by an expression of a broadcast of 64 MiB.
fn stores(suite: &mut Suite, name: &str, expression: Binary) {
    suite.bytes(&format!("stored by {name}, 4096 x 4096"), NEXT_TO_NOTHING, || {
        let g = Graph::new();
        let (x, y) = (g.input::<f32>("x", shape![4096, 1]), g.input::<f32>("y", shape![4096]));
        let kernel = alone(expression(x, y));
        let (x, y) = (array(&[4096, 1], 27), array(&[4096], 28));
        kernel.bind((&*x, &*y)).expect("the arrays fit").temporary_bytes()
    });
}
