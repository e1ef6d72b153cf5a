//! Rows that are met several times.

use crate::by_hand::Level;
use crate::by_hand::rows::{layer_norm, softmax};
use crate::harness::contest::{Loop, agreeing, alone, array, is_close, kernel};
use crate::harness::{Asked, Suite};
use broadloom::prelude::*;

const ELEMENTS: usize = 1 << 20;

pub fn entries(suite: &mut Suite) {
    for m in [100, 1024, 4096] {
        symbolic(suite, m);
    }
    for m in [16, 64, 1024] {
        by_hand(suite, "softmax", m, |x| x.softmax(-1), softmax);
    }
    let normalised = |x: Tensor| {
        let centred = x - x.mean_keepdims(-1);
        centred / (centred.square().mean_keepdims(-1) + 1e-5).sqrt()
    };
    for m in [64, 1024] {
        by_hand(suite, "layer norm", m, normalised, layer_norm);
    }
}

/// An expression of rows of a number.
fn of_rows(m: impl Fn(&Graph) -> broadloom::Dim, expression: fn(Tensor) -> Tensor) -> Executable {
    let g = Graph::new();
    alone(expression(g.input::<f32>("x", shape![g.symbol("n"), m(&g)])))
}

/// Softmax of rows whose length is a symbol, beside that of rows whose length is known.
fn symbolic(suite: &mut Suite, m: usize) {
    let rows = suite.size(ELEMENTS / m);
    suite.ratio(&format!("softmax of rows of m = {m}"), Asked::Ratio(1.1), || {
        let x = array(&[rows, m], 41);
        let softmax = |kernel_of: Executable| -> Loop<f32> { kernel(kernel_of, vec![x.clone()], &[rows, m]) };
        let loops = vec![
            ("broadloom", softmax(of_rows(|g| g.symbol("m").into(), |x| x.softmax(-1)))),
            ("a constant m", softmax(of_rows(|_| m.into(), |x| x.softmax(-1)))),
        ];
        agreeing(rows * m, is_close, loops)
    });
}

fn by_hand(
    suite: &mut Suite,
    name: &str,
    m: usize,
    expression: fn(Tensor) -> Tensor,
    by_hand: fn(Level, usize, &[f32], &mut [f32]),
) {
    let (level, rows) = (suite.level, suite.size(ELEMENTS / m));
    suite.ratio(&format!("{name} of rows of {m}"), Asked::Ratio(1.2), || {
        let x = array(&[rows, m], 42);
        let broadloom = kernel(of_rows(|_| m.into(), expression), vec![x.clone()], &[rows, m]);
        let hand: Loop<f32> = Box::new(move |out| by_hand(level, m, x.as_slice(), out));
        agreeing(rows * m, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}
