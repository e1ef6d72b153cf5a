//! Sums of rows, of columns, of everything.

use crate::by_hand::Level;
use crate::by_hand::reductions::{column_sums, full_sum, row_sums, standardise};
use crate::harness::contest::{Loop, agreeing, alone, array, compiled, is_close, kernel, numbers, of, pool};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom::{Array, Threads};
use std::rc::Rc;

const SUMS: Asked = Asked::Ratio(1.0);
/// Of the time of one thread, unless the memory is busy: no sum takes less time than reading what it sums.
const BY_TWO_THREADS: Asked = Asked::RatioOrBounds(0.6, [1.0, 1.1]);

pub fn entries(suite: &mut Suite) {
    squares(suite, "sums of the rows of x * x", |x| (x * x).sum(1), row_sums, |rows| vec![rows]);
    squares(suite, "sums of the columns of x * x", |x| (x * x).sum(0), column_sums, |_| vec![1024]);
    squares(suite, "the sum of x * x", |x| (x * x).sum(..), full_sum, |_| vec![]);
    in_cache(suite);
    short_rows(suite, "sums of rows", |x| x.sum(1), |row| row.iter().sum());
    short_rows(
        suite,
        "the greatest of rows",
        |x| x.max(1),
        |row| row.iter().copied().fold(f32::MIN, f32::max),
    );
    short_rows(
        suite,
        "where the greatest of rows is",
        |x| x.argmax(1).cast::<f32>(),
        |row| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best }) as f32,
    );
    columns_and_rows(suite, 2048, 2048);
    columns_and_rows(suite, 8192, 4096);
    for columns in [3, 17, 64] {
        shared_columns(suite, BY_TWO_THREADS, 10_000_000, columns, true);
    }
    for columns in [3, 17] {
        shared_columns(suite, BY_TWO_THREADS, 10_000_000, columns, false);
    }
    // One thread has more than half of the memory's bandwidth.
    both_ways(suite);
    shared_columns(suite, Asked::Ratio(0.85), 600_000, 200, false);
    standardised(suite);
}

/// A reduction of the squares of 4,096 rows of 1,024.
fn squares(
    suite: &mut Suite,
    name: &str,
    expression: fn(Tensor) -> Tensor,
    by_hand: fn(Level, &[f32], &mut [f32]),
    shape: fn(usize) -> Vec<usize>,
) {
    let (level, rows) = (suite.level, suite.size(4096));
    suite.ratio(&format!("{name}, 4096 x 1024"), SUMS, || {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let compiled = alone(expression(g.input::<f32>("x", shape![n, m])));
        let x = array(&[rows, 1024], 31);
        let shape = shape(rows);
        let broadloom = kernel(compiled, vec![x.clone()], &shape);
        let hand: Loop<f32> = Box::new(move |out| by_hand(level, x.as_slice(), out));
        agreeing(
            shape.iter().product(),
            is_close,
            vec![("broadloom", broadloom), ("the hand-written loop", hand)],
        )
    });
}

/// A reduction of rows of 10 elements, beside a plain loop over them.
fn short_rows(suite: &mut Suite, name: &str, expression: fn(Tensor) -> Tensor, of_row: fn(&[f32]) -> f32) {
    const COLUMNS: usize = 10;
    let rows = suite.size(10_000);
    suite.ratio(&format!("{name} of 10, 10000 rows"), SUMS, || {
        let g = Graph::new();
        let compiled = alone(expression(g.input::<f32>("x", shape![g.symbol("n"), COLUMNS])));
        let x = array(&[rows, COLUMNS], 31);
        let broadloom = kernel(compiled, vec![x.clone()], &[rows]);
        let plain: Loop<f32> = Box::new(move |out| {
            let of_rows = x.as_slice().chunks_exact(COLUMNS).zip(out);
            of_rows.for_each(|(row, result)| *result = of_row(row));
        });
        agreeing(rows, is_close, vec![("broadloom", broadloom), ("a plain loop", plain)])
    });
}

/// A sum in the second-level cache.
fn in_cache(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(64 << 10));
    suite.ratio("the sum of x * x, 64 Ki elements", SUMS, || {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let compiled = alone((x * x).sum(..));
        let x = array(&[count], 31);
        let broadloom = kernel(compiled, vec![x.clone()], &[]);
        let hand: Loop<f32> = Box::new(move |out| full_sum(level, x.as_slice(), out));
        agreeing(1, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// A contender that sums an array along an axis.
fn sum(name: &'static str, x: &Rc<Array<f32>>, axis: i64, threads: Threads, is_constant: bool) -> Contender {
    let g = Graph::new();
    let n = g.symbol("n");
    let shape = if is_constant { shape![n, x.shape()[1]] } else { shape![n, g.symbol("m")] };
    let summed = compiled(g.input::<f32>("x", shape).sum(axis), threads);
    let count = x.shape()[1 - axis as usize];
    let mut run = kernel(summed, vec![x.clone()], &[count]);
    let mut out = vec![0.0_f32; count];
    Contender::new(name, move || run(&mut out))
}

fn columns_and_rows(suite: &mut Suite, rows: usize, columns: usize) {
    let shape = [suite.size(rows), columns];
    suite.ratio(&format!("sums of the columns of [{rows}, {columns}]"), Asked::Ratio(1.3), || {
        let x = array(&shape, 32);
        let sum = |name, axis| sum(name, &x, axis, Threads::Calling, false);
        vec![sum("columns", 0), sum("sums of its rows", 1)]
    });
}

/// Sums of the rows and of the columns of a square matrix, by one kernel and by two.
fn both_ways(suite: &mut Suite) {
    let side = suite.size(3000);
    suite.ratio("sums of the rows and the columns of [3000, 3000] f64", Asked::Ratio(1.1), || {
        let x = of(numbers(side * side, 34).map(f64::from).collect(), &[side, side]);
        let kernel_of = |axes: &[i64]| {
            let g = Graph::new();
            let n = g.symbol("n");
            let x = g.input::<f64>("x", shape![n, n]);
            let outputs = axes.iter().zip(["first", "second"]).map(|(axis, name)| (name, x.sum(*axis)));
            let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
            g.compile_with(outputs, &options).expect("the expression compiles")
        };
        let [both, rows, columns] = [&[0, 1][..], &[1], &[0]].map(kernel_of);
        let (mut first, mut second) = (vec![0.0; side], vec![0.0; side]);
        let (mut of_rows, mut of_columns) = (vec![0.0; side], vec![0.0; side]);
        let again = x.clone();
        vec![
            Contender::new("one kernel", move || {
                both.run_into(&*x, (&mut first, &mut second)).expect("the arrays fit");
            }),
            Contender::new("two", move || {
                rows.run_into(&*again, &mut of_rows).expect("the arrays fit");
                columns.run_into(&*again, &mut of_columns).expect("the arrays fit");
            }),
        ]
    });
}

/// Columns, of which the rows are many.
fn shared_columns(suite: &mut Suite, asked: Asked, rows: usize, columns: usize, is_constant: bool) {
    let size = if is_constant { columns.to_string() } else { format!("m = {columns}") };
    let many = if rows < 1_000_000 { rows.to_string() } else { format!("{} M", rows / 1_000_000) };
    let (level, name) = (suite.level, format!("sums of the columns of [{many}, {size}], two threads"));
    let rows = suite.size(rows);
    suite.ratio(&name, asked, || {
        let x = array(&[rows, columns], 33);
        vec![
            sum("two threads", &x, 0, pool(2), is_constant),
            sum("one thread", &x, 0, Threads::Calling, is_constant),
            copying(rows * columns / 2),
            reading(level, x.clone()),
        ]
    });
}

/// Two threads that copy so many floats, which moves twice the bytes.
fn copying(count: usize) -> Contender {
    let (source, mut target) = (vec![1.0_f32; count], vec![0.0_f32; count]);
    Contender::new("two threads copying", move || {
        let half = count / 2;
        let (low, high) = target.split_at_mut(half);
        std::thread::scope(|scope| {
            scope.spawn(|| low.copy_from_slice(&source[..half]));
            high.copy_from_slice(&source[half..]);
        });
        std::hint::black_box(&mut target);
    })
}

/// Two threads that read an array, each its half: the one sum of all its squares, by hand.
fn reading(level: Level, x: Rc<Array<f32>>) -> Contender {
    Contender::new("two threads reading", move || {
        let (low, high) = x.as_slice().split_at(x.as_slice().len() / 2);
        let (mut first, mut second) = ([0.0_f32], [0.0_f32]);
        std::thread::scope(|scope| {
            scope.spawn(|| full_sum(level, low, &mut first));
            full_sum(level, high, &mut second);
        });
        std::hint::black_box((first, second));
    })
}

/// Four columns less their means, over their deviations, beside the same with the means kept as an axis.
fn standardised(suite: &mut Suite) {
    let (level, rows) = (suite.level, suite.size(200_000));
    suite.ratio("(x - x.mean(0)) / x.std(0), f64[200000, 4]", Asked::Ratio(1.05), || {
        let x = of(numbers(rows * 4, 34).map(f64::from).collect(), &[rows, 4]);
        let broadloom = |expression: fn(Tensor) -> Tensor| -> Loop<f64> {
            let g = Graph::new();
            let compiled = alone(expression(g.input::<f64>("x", shape![g.symbol("n"), 4])));
            kernel(compiled, vec![x.clone()], &[rows, 4])
        };
        let once = |x: Tensor| {
            let centred = x - x.mean_keepdims(0);
            centred / centred.square().mean_keepdims(0).sqrt()
        };
        let data = x.clone();
        let hand: Loop<f64> = Box::new(move |out| standardise::<4>(level, data.as_slice(), out));
        let loops = vec![
            ("broadloom", broadloom(|x| (x - x.mean(0)) / x.std(0))),
            ("its sums written once", broadloom(once)),
            ("the hand-written loop", hand),
        ];
        agreeing(rows * 4, |a: &f64, b: &f64| (a - b).abs() < 1e-9, loops)
    });
}
