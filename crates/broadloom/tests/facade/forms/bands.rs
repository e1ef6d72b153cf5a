//! Sorts, running results, quantiles and softmaxes of rows that no array holds: the bits of the interpreter, and memory for some
//! rows.

use crate::support::harness::{Input, Kernels, Layout};
use crate::support::numbers::{with_ties, with_zeros};
use crate::support::ways::{alone, selected, ways};
use broadloom::prelude::*;
use broadloom::{CallError, CompileOptions, RunError, RunOptions, StopFlag, Threads, bf16, f16};
use std::time::Duration;

/// Of distances `d[n, k]`, and of `y[k, p]` behind them.
type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

const OF_FLOATS: &[(&str, Expression)] = &[
    ("softmax @ y", |d, y| vec![(-d).softmax(1).matmul(y)]),
    ("a softmax and its sums", |d, _| vec![d.softmax(1), d.log_softmax(1).sum(1)]),
    ("medians", |d, _| vec![d.median(1), d.nanmedian(1)]),
    ("quantiles", |d, _| vec![d.quantile(0.3, 1), d.quantile([0.1, 0.5, 1.0], 1), d.nanquantile(0.7, 1)]),
    ("sums of medians", |d, _| vec![d.median(1).sum(..), d.nanquantile(0.2, 0).mean(..)]),
    ("running and grouped medians", |d, _| {
        let medians = d.median(1);
        let places = d.argmin(1).remainder(3);
        vec![medians.cumsum(0), medians.segment_sum(places, 3), d.cumsum(1).sum(..)]
    }),
    ("a softmax of running sums", |d, _| vec![d.cumsum(1).softmax(1).argmax(1)]),
];

const OF_NUMBERS: &[(&str, Expression)] = &[
    ("the nearest", |d, _| {
        vec![d.argsort(1).slice(slice![.., ..1]), d.sort_descending(1).slice(slice![.., -1..])]
    }),
    ("ranks", |d, _| vec![d.argsort(1).argsort(1).slice(slice![.., 0])]),
    ("the last running results", |d, _| {
        vec![d.cumsum(1).slice(slice![.., -1]), d.cummax(1).slice(slice![.., -1])]
    }),
    ("distances as well", |d, _| vec![d, d.sort(1).slice(slice![.., 0]), d.cummin(1).max(1)]),
    ("differences in order", |d, _| vec![(d.sort(1) - d).max(1), d.sort(1).sum(0)]),
    ("of sorted columns", |d, _| vec![d.sort(0).slice(slice![0, ..]), d.argsort(0).slice(slice![..1, ..])]),
    ("what rows are divided by", |d, _| {
        vec![d.sort(1).maximum(d.max_keepdims(1)), d.sort(1).slice(slice![..;-1, 0])]
    }),
    ("extremes of rows", |d, _| {
        vec![d.cummax(1).slice(slice![.., -1]).max(..), d.sort(1).min(..), d.cumsum(1).max(..)]
    }),
    ("elements at found places", |d, _| {
        vec![
            d.take_along_axis(d.argmin_keepdims(1), 1),
            d.take_along_axis(d.argsort(1).slice(slice![.., ..1]), 1).max(..),
        ]
    }),
    ("data in order", |d, y| vec![y.take(d.argsort(1).slice(slice![.., ..1]), 0).sum([1, 2])]),
    ("several sorts, one of them of all", |d, _| {
        vec![d.sort(1).sort(0).slice(slice![.., 0]), d.sort(0).sort(1).max(1)]
    }),
];

/// What is computed for sizes that are constants or symbols.
fn built<T: Element>(g: &Graph, expression: Expression, sizes: [Option<usize>; 3]) -> Vec<Tensor> {
    let symbols = g.symbols(["n", "k", "p"]).map(Dim::from);
    let [n, k, p] = std::array::from_fn(|at| sizes[at].map_or(symbols[at], Dim::from));
    let (x, y) = (g.input::<T>("x", shape![n, p]), g.input::<T>("y", shape![k, p]));
    let apart = x.unsqueeze(1) - y;
    let distances = if T::DTYPE.is_float() { apart.square().sum(2).sqrt() } else { apart.max(2) };
    expression(distances, y)
}

fn tables<T: Element>([n, k, p]: [usize; 3], elements: fn(usize, u32) -> Vec<T>) -> [Input<T>; 2] {
    [(n, 1), (k, 2)].map(|(rows, seed)| Input::of(&[rows, p], elements, seed))
}

/// Sizes that are constants and symbols, each in another way to compile, which change places from one expression to the next.
fn check<T: Element>(expressions: &[(&str, Expression)], elements: fn(usize, u32) -> Vec<T>) {
    let ways = ways();
    const BACKWARDS: Layout = Layout { order: &[1, 0], apart: 2, gap: 3, backwards: true };
    for (which, (name, expression)) in expressions.iter().enumerate() {
        let graph = |(place, p): (usize, Option<usize>)| {
            let way = &ways[(which + place) % ways.len()];
            (way, move |g: &Graph| built::<T>(g, *expression, [None, None, p]))
        };
        for p in [3, 17] {
            let kernels = Kernels::each_of([None, Some(p)].into_iter().enumerate().map(graph));
            for (place, [n, k]) in [[1, 1], [2, 37], [37, 2], [75, 19], [131, 70]].into_iter().enumerate() {
                if selected(place + which, 2) {
                    let layouts = [Layout::DENSE, BACKWARDS];
                    kernels.check_laid_out(name, &tables::<T>([n, k, p], elements), &layouts);
                }
            }
        }
    }
}

#[test]
fn of_f32() {
    check::<f32>(OF_FLOATS, with_ties);
    check::<f32>(OF_NUMBERS, with_zeros);
}

#[test]
fn of_other_floats() {
    check::<f64>(OF_FLOATS, with_zeros);
    check::<f16>(OF_FLOATS, with_ties);
    check::<bf16>(OF_NUMBERS, with_zeros);
}

#[test]
fn of_integers() {
    check::<i64>(OF_NUMBERS, with_ties);
    check::<u8>(OF_NUMBERS, with_ties);
    check::<i16>(OF_NUMBERS, with_ties);
}

/// Constants, for which the loops are others.
#[test]
fn of_constant_sizes() {
    let sizes = [601, 501, 3];
    for (name, expression) in OF_FLOATS.iter().chain(OF_NUMBERS) {
        let kernels = Kernels::of(&[alone()], |g| built::<f32>(g, *expression, sizes.map(Some)));
        kernels.check(name, &tables::<f32>(sizes, with_zeros));
    }
}

/// Tables without rows, and without anything in a row.
#[test]
fn of_nothing() {
    for (name, expression) in OF_NUMBERS.iter().take(3) {
        let expression: Expression =
            if *name == "the nearest" { |d, _| vec![d.argsort(1), d.sort(1)] } else { *expression };
        let kernels = Kernels::of(&ways(), |g| built::<f32>(g, expression, [None; 3]));
        for sizes in [[0, 5, 3], [0, 1, 0], [5, 1, 0], [5, 3, 0]] {
            kernels.check(name, &tables::<f32>(sizes, with_zeros));
        }
    }
    let kernels =
        Kernels::of(&ways(), |g| built::<f32>(g, |d, _| vec![d.sort(1), d.cumsum(1).sum(1)], [None; 3]));
    kernels.check("rows of nothing", &tables::<f32>([5, 0, 3], with_zeros));
}

/// Of distances `d[b, n, k]` of a batch, and of `y[b, k, p]` behind them.
const OF_BATCHES: &[(&str, Expression)] = &[
    ("the nearest", |d, _| vec![d.argsort(2).slice(slice![.., .., ..1])]),
    ("in order", |d, _| vec![d.sort(2).slice(slice![.., .., 0]), d.sort_descending(2).max(2)]),
    ("medians", |d, _| vec![d.median(2)]),
    ("quantiles", |d, _| vec![d.quantile([0.1, 0.9], 2)]),
    ("the last running results", |d, _| vec![d.cumsum(2).slice(slice![.., .., -1])]),
    ("softmax @ y", |d, y| vec![(-d).softmax(2).matmul(y)]),
    ("the greatest running sum", |d, _| vec![d.cumsum(2).max(..)]),
    ("sums of medians", |d, _| vec![d.median(2).sum(1)]),
    ("columns", |d, _| vec![d.sort(1).slice(slice![.., 0, ..])]),
    ("sums and medians of a softmax", |d, _| {
        let weights = (-d).softmax(2);
        vec![weights.median(2), weights.sort(2).square().sum(2)]
    }),
];

/// What is computed of a batch whose sizes are constants or symbols.
fn built_of_batch<T: Element>(g: &Graph, expression: Expression, sizes: [Option<usize>; 4]) -> Vec<Tensor> {
    let symbols = g.symbols(["b", "n", "k", "p"]).map(Dim::from);
    let [b, n, k, p] = std::array::from_fn(|at| sizes[at].map_or(symbols[at], Dim::from));
    let (x, y) = (g.input::<T>("x", shape![b, n, p]), g.input::<T>("y", shape![b, k, p]));
    expression((x.unsqueeze(2) - y.unsqueeze(1)).square().sum(3).sqrt(), y)
}

#[test]
fn of_batches() {
    let ways = ways();
    for (which, (name, expression)) in OF_BATCHES.iter().enumerate() {
        for p in [3, 17] {
            let graph = |(place, p): (usize, Option<usize>)| {
                let way = &ways[(which + place) % ways.len()];
                (way, move |g: &Graph| built_of_batch::<f32>(g, *expression, [None, None, None, p]))
            };
            let kernels = Kernels::each_of([None, Some(p)].into_iter().enumerate().map(graph));
            for [b, n, k] in [[1, 1, 1], [3, 37, 19], [19, 1, 5], [2, 70, 131], [7, 5, 1]] {
                let tables =
                    [(n, 1), (k, 2)].map(|(rows, seed)| Input::of(&[b, rows, p], with_ties::<f32>, seed));
                kernels.check(name, &tables);
            }
        }
    }
}

/// Of two axes around the rows, which no kernel walks as one.
#[test]
fn of_batches_of_batches() {
    type OfRows = fn(Tensor) -> Tensor;
    let of: &[(&str, OfRows)] = &[
        ("medians", |d| d.median(3)),
        ("running sums", |d| d.cumsum(3).slice(slice![.., .., .., -1])),
        ("sums of softmaxes", |d| d.softmax(3).sort(3).max(3)),
    ];
    for (name, expression) in of {
        let kernels = Kernels::of(&ways(), |g| {
            let [a, b, n, k] = g.symbols(["a", "b", "n", "k"]);
            let (x, y) = (g.input::<f64>("x", shape![a, b, n, 1]), g.input::<f64>("y", shape![b, 1, k]));
            vec![expression((x - y).abs())]
        });
        for [a, b, n, k] in [[1, 1, 1, 1], [3, 2, 11, 7], [2, 5, 1, 40], [4, 3, 9, 1]] {
            let x = Input::of(&[a, b, n, 1], with_ties::<f64>, 5);
            kernels.check(name, &[x, Input::of(&[b, 1, k], with_ties::<f64>, 6)]);
        }
    }
}

/// Whatever the number of rows of a table: what is stored of 32 MB.
#[test]
fn some_rows_of_batches_are_stored() {
    for (name, expression) in OF_BATCHES {
        for sizes in [[None; 4], [None, None, None, Some(3)], [Some(2), Some(2000), Some(2000), Some(3)]] {
            for (threads, share) in [(Threads::Calling, 1), (Threads::count(2).unwrap(), 2)] {
                let g = Graph::new();
                let outputs = ["a", "b"].into_iter().zip(built_of_batch::<f32>(&g, *expression, sizes));
                let options = CompileOptions { threads, ..CompileOptions::default() };
                let kernel = g.compile_with(outputs, &options).unwrap();
                let table = vec![1.0f32; 12_000];
                let table = || ArrayView::new(&table, &[2, 2000, 3]).unwrap();
                let bound = kernel.bind(inputs! { "x" => table(), "y" => table() }).unwrap();
                let bytes = bound.temporary_bytes();
                assert!(bytes <= share * ROOM, "{name}: {bytes}\n{}", bound.explain());
            }
        }
    }
}

#[test]
fn of_windows() {
    type OfWindows = fn(Tensor) -> Vec<Tensor>;
    const OF_WINDOWS: &[(&str, OfWindows)] = &[
        ("medians", |w| vec![w.median(-1)]),
        ("in order", |w| vec![w.argsort(-1).slice(slice![.., ..3]), w.sort(-1).slice(slice![.., 1])]),
        ("running sums", |w| vec![w.cumsum(-1).slice(slice![.., -1])]),
        ("a softmax", |w| vec![w.softmax(-1).slice(slice![.., 0]), (w.sort(-1) * w).sum(-1)]),
    ];
    for (name, expression) in OF_WINDOWS {
        let kernels = Kernels::of(&ways(), |g| {
            expression(g.input::<f32>("x", shape![g.symbol("n")]).sliding_window_view(11, 0))
        });
        for n in [11, 12, 100, 1111] {
            kernels.check(name, &[Input::of(&[n], with_ties::<f32>, 3)]);
        }
    }
}

/// The most bytes for rows of each thread.
const ROOM: usize = 9 << 19;

/// Whatever the number of rows: what is stored of 20 and 40 MB.
#[test]
fn some_rows_are_stored() {
    let all: &[(&str, Expression)] = &[
        ("argsort", |d, _| vec![d.argsort(1).slice(slice![.., ..5])]),
        ("sort", |d, _| vec![d.sort(1).slice(slice![.., 5])]),
        ("median", |d, _| vec![d.median(1)]),
        ("quantiles", |d, _| vec![d.quantile([0.1, 0.9], 1)]),
        ("running sums", |d, _| vec![d.cumsum(1).slice(slice![.., -1])]),
        ("softmax", |d, y| vec![(-d).softmax(1).matmul(y)]),
        ("columns", |d, _| vec![d.argsort(0).slice(slice![..5, ..])]),
        ("medians of numbers", |d, _| vec![d.nanmedian(1)]),
        ("the least by its place", |d, _| vec![d.take_along_axis(d.argmin_keepdims(1), 1)]),
        ("a sum of medians", |d, _| vec![d.median(1).sum(..)]),
        ("the greatest running sum", |d, _| vec![d.cumsum(1).max(..)]),
        ("a sum of sorted rows", |d, _| vec![d.sort(1).slice(slice![.., ..9]).sqrt().sum(..)]),
        ("running sums of medians", |d, _| vec![d.median(1).cumsum(0)]),
        ("groups of last running sums", |d, _| {
            let last = d.cumsum(1).slice(slice![.., -1]);
            vec![last.segment_max(last.cast::<i64>().remainder(7), 7)]
        }),
    ];
    for (name, expression) in all {
        for sizes in [[None, None, None], [None, None, Some(3)], [Some(5000), Some(2000), Some(3)]] {
            for (threads, share) in [(Threads::Calling, 1), (Threads::count(2).unwrap(), 2)] {
                let g = Graph::new();
                let outputs = ["a", "b"].into_iter().zip(built::<f32>(&g, *expression, sizes));
                let options = CompileOptions { threads, ..CompileOptions::default() };
                let kernel = g.compile_with(outputs, &options).unwrap();
                let (x, y) = (vec![1.0f32; 15_000], vec![0.5f32; 6000]);
                let (x, y) =
                    (ArrayView::new(&x, &[5000, 3]).unwrap(), ArrayView::new(&y, &[2000, 3]).unwrap());
                let bound = kernel.bind(inputs! { "x" => x, "y" => y }).unwrap();
                let bytes = bound.temporary_bytes();
                assert!(bytes <= share * ROOM, "{name}: {bytes}\n{}", bound.explain());
                let explained = bound.explain();
                let of_pairs = |size: &String| size.contains("n*k") || size.contains("k*n");
                assert!(!of_pairs(&explained.materialized_bytes().to_string()), "{explained}");
            }
        }
    }
}

/// Kernels that do not run together: a mean of each column is needed before a row is sorted, and a row needs the one before.
#[test]
fn whole_arrays_are_stored_where_rows_need_others() {
    let expressions: [Expression; 2] = [
        |d, _| vec![(d.sort(1) - d.sort(1).mean_keepdims(0)).sort(1).max(1)],
        |d, _| {
            let sorted = d.sort(1);
            vec![(sorted.slice(slice![1.., ..]) - sorted.slice(slice![..-1, ..])).sort(1).max(1)]
        },
    ];
    for expression in expressions {
        let kernels = Kernels::of(&ways(), |g| built::<f32>(g, expression, [None; 3]));
        kernels.check("rows with others", &tables::<f32>([57, 23, 3], with_zeros));
    }
    let kernels = Kernels::of(&ways(), |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
        let sorted = (x.unsqueeze(1) - x).square().sum(2).sort(1);
        vec![(sorted + sorted.t()).sort(1).max(1)]
    });
    kernels.check("rows and columns", &[Input::of(&[57, 3], with_zeros::<f32>, 3)]);
}

/// The first element that data choose wrongly is reported, in whatever order rows are computed.
#[test]
fn errors_are_those_of_all_rows() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let (x, table) = (g.input::<i64>("x", shape![n]), g.input::<f32>("table", shape![k]));
    let picked = (table.take(x, 0).unsqueeze(1) + table).sort(1).slice(slice![.., 0]);
    let later = picked.take(x, 0);
    let options = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    let kernel = g.compile_with([("a", picked), ("b", later)], &options).unwrap();
    let mut x: Vec<i64> = vec![0; 100];
    (x[70], x[60]) = (55, -56);
    let failed = kernel.run(inputs! { "x" => &x, "table" => &[1.0f32; 50] });
    match failed {
        Err(CallError::Run(RunError::IndexOutOfRange { position, index, .. })) => {
            assert_eq!((position, index), (vec![60], -56));
        }
        other => panic!("{:?}", other.map(drop)),
    }
}

/// Arrays that are written in place are read by other kernels of the same rows.
#[test]
fn updates_of_rows_see_old_values() {
    let updates: [fn(Tensor, Tensor) -> Tensor; 3] = [
        |x, _| x.assign(x.exp().sort(1)),
        |x, y| x.assign((x + y).cumsum(1).sort(1)),
        // Each row needs what others were.
        |x, _| x.assign((x + x.sum_keepdims(0)).sort(1) + x.max(0)),
    ];
    for (which, update) in updates.into_iter().enumerate() {
        let run = |parallel_threshold| {
            let g = Graph::new();
            let [n, m] = g.symbols(["n", "m"]);
            let x = g.input::<f32>("x", shape![n, m]);
            let _ = update(x, g.input::<f32>("y", shape![m]));
            let options = CompileOptions { parallel_threshold, ..CompileOptions::default() };
            let kernel = g.compile_with([], &options).unwrap();
            let (mut x, y) = (with_ties::<f32>(43 * 29, 5), with_ties::<f32>(29, 6));
            let mut named = inputs! { "x" => ArrayViewMut::new(&mut x, &[43, 29]).unwrap() };
            if kernel.inputs().len() > 1 {
                named = named.named("y", &y);
            }
            kernel.run(named).unwrap();
            x.iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
        };
        assert!(run(0) == run(1 << 30), "update {which}");
    }
}

/// A run that can be stopped has the same bits, and ends.
#[test]
fn rows_can_be_stopped() {
    let g = Graph::new();
    let outputs = ["a"].into_iter().zip(built::<f32>(&g, |d, y| vec![(-d).softmax(1).matmul(y)], [None; 3]));
    let kernel = g.compile_with(outputs, &CompileOptions::default()).unwrap();
    let (x, y) = (with_zeros::<f32>(1500 * 3, 1), with_zeros::<f32>(700 * 3, 2));
    let named = || {
        let (x, y) = (ArrayView::new(&x, &[1500, 3]).unwrap(), ArrayView::new(&y, &[700, 3]).unwrap());
        inputs! { "x" => x, "y" => y }
    };
    let all: Vec<f32> = kernel.run(named()).unwrap().try_into().unwrap();
    let within = RunOptions::new().within(Duration::from_secs(100));
    let again: Vec<f32> = kernel.run_with(named(), &within).unwrap().try_into().unwrap();
    assert!(all.iter().map(|x| x.to_bits()).eq(again.iter().map(|x| x.to_bits())));
    let flag = StopFlag::new();
    flag.stop();
    let stopped = kernel.run_with(named(), &RunOptions::new().stopped_by(&flag));
    assert!(matches!(stopped, Err(CallError::Run(RunError::Stopped))));
}

/// Sizes for which the number of elements overflows are those of no call; and a condition that none of the verifier's sizes
/// meets leaves kernels as they are.
#[test]
fn rows_of_any_sizes_compile() {
    let g = Graph::new();
    let [a, b, c, d] = g.symbols(["a", "b", "c", "d"]);
    let x = g.input::<f64>("x", shape![a, b, c, d]);
    assert!((2.0 * x).sort(-1).compile().is_ok());

    // There is a call in which rows have no elements.
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<i64>("x", shape![n - 1, m]);
    let kernel = x.quantile(0.5, 0).compile().unwrap();
    let rows = [4i64, 10, 7, 2, 30, 7, 3, 20, 7];
    let rows = ArrayView::new(&rows, &[3, 3]).unwrap();
    let middle: Vec<f64> = kernel.run(rows).unwrap().try_into().unwrap();
    assert_eq!(middle, [3.0, 20.0, 7.0]);

    // Twice the computed pairs of f64: before and after they are sorted.
    for (is_tied, bytes) in [(true, "32*m*k"), (false, "16*m*rows0")] {
        let g = Graph::new();
        let [n, m, k] = g.symbols(["n", "m", "k"]);
        let (x, y) = (g.input::<f64>("x", shape![n, m]), g.input::<f64>("y", shape![k]));
        let x = if is_tied { x.rebind(shape![2 * k, m]) } else { x };
        let first = (2.0 * x).sort(1).slice_axis(1, (0, 1), 1).squeeze(1);
        let kernel = g.compile([("a", first), ("b", y + 1.0)]).unwrap();
        assert_eq!(kernel.explain().materialized_bytes().to_string(), bytes);
    }
}
