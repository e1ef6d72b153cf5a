//! Reductions of short rows, which have a row in each lane, alone and beside loops over the same rows: the bits of the interpreter,
//! for every length, dtype and layout.

use crate::support::harness::{Input, Kernels, Layout};
use crate::support::numbers::recurring;
use crate::support::ways::{selected, ways_and_baseline};
use broadloom::prelude::*;

/// Of `x[n, columns]` and a row of weights: each reduction of its own.
const ALONE: [fn(Tensor, Tensor) -> Tensor; 8] = [
    |x, _| x.sum(-1),
    |x, w| (x * w).sum(-1),
    |x, _| x.max(-1),
    |x, w| (x - w).min(-1),
    |x, _| x.argmax(-1),
    |x, w| (x * w).argmin(-1),
    |x, _| x.mean(-1),
    |x, _| x.prod(-1),
];

/// Several reductions of one loop, by their places in the list.
const TOGETHER: [&[usize]; 2] = [&[0, 1, 2, 3, 4, 5], &[4, 0]];

/// Of the same: what is reduced, and rows that are computed from it. Loops along rows and loops with a row in each lane take turns.
const BESIDE: [fn(Tensor, Tensor) -> Vec<Tensor>; 8] = [
    |x, _| vec![x - x.mean_keepdims(-1)],
    |x, w| {
        let centred = x - x.mean_keepdims(-1);
        vec![centred / (centred.square().mean_keepdims(-1) + 1e-3).sqrt() * w]
    },
    |x, w| vec![x - x.max_keepdims(-1), (x * w).min(-1)],
    |x, _| vec![x.softmax(-1), x.sum(-1)],
    |x, _| vec![x.log_softmax(-1)],
    |x, w| vec![(x * w).exp().sum(-1), x.sin().max(-1)],
    // A function that is called for whole rows, and values of each row between loops of both kinds.
    |x, w| vec![x.abs().pow(w.abs()) / (x.sum_keepdims(-1) + x.max_keepdims(-1)).exp()],
    |x, _| vec![x * (x.abs().sum_keepdims(-1) + 1).reciprocal(), x.argmax(-1)],
];

/// Around the longest rows that are unrolled, read as a whole and transposed in registers, and around whole vectors.
const COLUMNS: [usize; 17] = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 48, 49, 64, 65, 256, 257];

/// Dense; rows apart; columns in memory order; rows from the last to the first.
const LAYOUTS: [Layout; 4] = [
    Layout::DENSE,
    Layout { gap: 3, ..Layout::DENSE },
    Layout { order: &[1, 0], ..Layout::DENSE },
    Layout { backwards: true, ..Layout::DENSE },
];

/// Each length with each reduction, in one of some ways to compile, and in each way one of some reductions.
fn check<T: Element>(one_in: usize) {
    let sets = (0..ALONE.len()).map(|one| vec![one]).chain(TOGETHER.map(<[usize]>::to_vec));
    let sets: Vec<Vec<usize>> = sets.collect();
    let rows = [(0, false), (1, true), (5, false), (16, true), (35, false), (35, true)];
    check_lengths::<T>(&COLUMNS, &rows, sets.len(), one_in, |which, x, w| {
        sets[which].iter().map(|one| ALONE[*one](x, w)).collect()
    });
}

/// Each length with each of the expressions of rows, on as many rows as have their functions in lanes, and on fewer.
fn check_beside<T: Element>(one_in: usize) {
    let columns = [2, 5, 9, 16, 31, 48, 64, 65];
    let rows = [(0, false), (1, false), (17, true), (127, false), (143, true), (300, false)];
    check_lengths::<T>(&columns, &rows, BESIDE.len(), one_in, |which, x, w| BESIDE[which](x, w));
}

/// Each length of rows with each of so many expressions, in one of some ways to compile, for numbers of rows that have NaNs or not.
fn check_lengths<T: Element>(
    lengths: &[usize],
    rows: &[(usize, bool)],
    expressions: usize,
    one_in: usize,
    expression: impl Fn(usize, Tensor, Tensor) -> Vec<Tensor>,
) {
    let ways = ways_and_baseline();
    for (length, &columns) in lengths.iter().enumerate() {
        for which in 0..expressions {
            let graph = |g: &Graph| -> Vec<Tensor> {
                let x = g.input::<T>("x", shape![g.symbol("n"), columns]);
                expression(which, x, g.input::<T>("w", shape![columns]))
            };
            let chosen = ways.iter().enumerate().filter(|(way, _)| selected(length + which + way, one_in));
            let kernels = Kernels::each_of(chosen.map(|(_, way)| (way, graph)));
            for &(rows, has_nans) in rows {
                let x = Input::new(&[rows, columns], recurring::<T>(rows * columns, has_nans));
                let w = Input::new(&[columns], recurring::<T>(columns, false));
                let layouts = LAYOUTS.map(|layout| vec![layout, Layout::DENSE]);
                kernels.check_each_laid_out(format_args!("rows reduced by {which}"), &[x, w], &layouts);
            }
        }
    }
}

#[test]
fn of_f32_beside_rows() {
    check_beside::<f32>(3);
}

#[test]
fn of_f64_beside_rows() {
    check_beside::<f64>(3);
}

#[test]
fn of_f16_beside_rows() {
    check_beside::<f16>(6);
}

#[test]
fn of_f32() {
    check::<f32>(2);
}

#[test]
fn of_f64() {
    check::<f64>(2);
}

#[test]
fn of_i32() {
    check::<i32>(4);
}

#[test]
fn of_i64() {
    check::<i64>(4);
}

#[test]
fn of_narrow_dtypes() {
    check::<u8>(4);
    check::<f16>(4);
}
