//! Running sums of rows, of columns, of everything.

use crate::by_hand::Level;
use crate::by_hand::scans::{running_columns, running_rows, running_sum};
use crate::harness::contest::{Loop, agreeing, alone, array, is_close, kernel};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;

/// Running results: of which tensor, by which loops.
type Running = (fn(Tensor) -> Tensor, fn(Level, &[f32], &mut [f32]));

pub fn entries(suite: &mut Suite) {
    let rows: Running = (|x| x.cumsum(1), running_rows);
    let columns: Running = (|x| x.cumsum(0), running_columns);
    let all: Running = (|x| x.reshape(shape![-1]).cumsum(0).reshape(x.shape()), running_sum);
    for (name, count) in [("4096 x 1024", 4096), ("64 x 1024", 64)] {
        running(suite, &format!("running sums of rows, {name}"), count, rows);
        running(suite, &format!("running sums of columns, {name}"), count, columns);
        running(suite, &format!("running sums of everything, {name}"), count, all);
    }
}

fn running(suite: &mut Suite, name: &str, rows: usize, (expression, by_hand): Running) {
    let (level, rows) = (suite.level, suite.size(rows));
    suite.ratio(name, Asked::Ratio(1.25), || {
        let g = Graph::new();
        let compiled = alone(expression(g.input::<f32>("x", shape![g.symbol("n"), 1024])));
        let x = array(&[rows, 1024], 35);
        let shape = [rows, 1024];
        let broadloom = kernel(compiled, vec![x.clone()], &shape);
        let hand: Loop<f32> = Box::new(move |out| by_hand(level, x.as_slice(), out));
        agreeing(rows * 1024, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}
