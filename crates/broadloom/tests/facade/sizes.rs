//! Sizes that are symbols and turn out short: each call has code for its own, and the same bits.

use crate::support::numbers::numbers;
use broadloom::prelude::*;
use broadloom::{Bound, CompileOptions, CpuLevel, Norm, Threads};
use broadloom_ir::interp::{self, interpret};
use std::sync::Arc;

/// More codes than have code of their own.
const CODES: usize = 300;
/// So few codes are unrolled.
const FEW_CODES: usize = 16;
const POINTS: usize = 80;

/// `[k, 1, d]` and `[n, d]` to results over `[k, n, d]`.
type Expression = fn(Tensor, Tensor) -> Tensor;

const NEAREST: [(&str, Expression); 10] = [
    ("argmin of squares", |code, point| (code - point).square().sum(-1).argmin(0)),
    ("min of squares", |code, point| (code - point).square().sum(-1).min(0)),
    ("argmin of roots", |code, point| (code - point).square().sum(-1).sqrt().argmin(0)),
    ("min of roots", |code, point| (code - point).square().sum(-1).sqrt().min(0)),
    ("argmin of abs", |code, point| (code - point).abs().sum(-1).argmin(0)),
    ("min of abs", |code, point| (code - point).abs().sum(-1).min(0)),
    ("argmin of norm", |code, point| (code - point).norm(Norm::Two, -1).argmin(0)),
    ("min of norm", |code, point| (code - point).norm(Norm::Two, -1).min(0)),
    ("argmin of mean", |code, point| (code - point).square().mean(-1).argmin(0)),
    ("min of mean", |code, point| (code - point).square().mean(-1).min(0)),
];

fn kernel(expression: Expression) -> Executable {
    let g = Graph::new();
    let [n, k, d] = g.symbols(["n", "k", "d"]);
    let (codes, points) = (g.input::<f32>("codes", shape![k, d]), g.input::<f32>("points", shape![n, d]));
    expression(codes.unsqueeze(1), points).compile().unwrap()
}

fn bound<'a>(kernel: &Executable, codes: &'a [f32], points: &'a [f32], d: usize) -> Bound<'a> {
    let codes = ArrayView::new(codes, &[codes.len() / d, d]).unwrap();
    let points = ArrayView::new(points, &[points.len() / d, d]).unwrap();
    kernel.bind(inputs! { "codes" => codes, "points" => points }).unwrap()
}

/// Whether the result of a run has the interpreter's bits.
fn check(kernel: &Executable, bound: &Bound<'_>, codes: &[f32], points: &[f32], d: usize) {
    let arrays = [
        interp::Array::new(&[codes.len() / d, d], codes),
        interp::Array::new(&[points.len() / d, d], points),
    ];
    let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
    let got = bound.run().unwrap().take::<broadloom::AnyArray>("out").unwrap();
    match got.as_slice::<f32>() {
        Some(got) => {
            let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
            assert_eq!(bits(got), bits(&want[0].to_vec::<f32>().unwrap()));
        }
        None => assert_eq!(got.as_slice::<i64>().unwrap(), want[0].to_vec::<i64>().unwrap()),
    }
}

#[test]
fn sums_over_pairs_have_the_loops_of_their_length_whatever_the_call_before() {
    for (name, expression) in NEAREST {
        let kernel = kernel(expression);
        for d in [65, 2, 3, 8, 9, 16, 64] {
            let (codes, points) = (numbers(CODES * d, 1), numbers(POINTS * d, 2));
            let bound = bound(&kernel, &codes, &points, d);
            let text = bound.explain().to_string();
            assert!(text.contains("contract "), "{name}, d = {d}\n{text}");
            // Beyond 64 elements the sum is a tree.
            assert_eq!(text.contains(&format!("only where d = {d}\n")), d <= 64, "{name}\n{text}");
            check(&kernel, &bound, &codes, &points, d);
        }
        assert_eq!(kernel.explain().variants(), 7);
        assert!(kernel.explain().to_string().contains("\nand where d = 64: "), "{:?}", kernel.explain());
    }
}

#[test]
fn few_codes_have_code_of_their_own() {
    for (name, expression) in NEAREST {
        let kernel = kernel(expression);
        for d in [2, 8, 9] {
            let (codes, points) = (numbers(FEW_CODES * d, 1), numbers(POINTS * d, 2));
            let bound = bound(&kernel, &codes, &points, d);
            let text = bound.explain().to_string();
            assert!(text.contains(&format!("only where k = {FEW_CODES}, d = {d}\n")), "{name}\n{text}");
            assert_eq!(text.contains("contract "), d > 8, "{name}, d = {d}\n{text}");
            check(&kernel, &bound, &codes, &points, d);
        }
    }
}

#[test]
fn the_number_of_short_sizes_is_bounded() {
    let kernel = kernel(NEAREST[0].1);
    for d in 2..20 {
        let (codes, points) = (numbers(CODES * d, 3), numbers(POINTS * d, 4));
        let bound = bound(&kernel, &codes, &points, d);
        assert_eq!(bound.explain().to_string().contains("only where d = "), d < 10, "d = {d}");
        check(&kernel, &bound, &codes, &points, d);
    }
    assert_eq!(kernel.explain().variants(), 9);
}

#[test]
fn little_data_and_long_sizes_compile_nothing() {
    let kernel = kernel(NEAREST[0].1);
    for (codes, points, d) in [(4, 4, 3), (1, 1, 2), (CODES, POINTS, 1), (CODES, POINTS, 100), (0, 9, 4)] {
        let (codes, points) = (numbers(codes * d, 5), numbers(points * d, 6));
        if !codes.is_empty() {
            check(&kernel, &bound(&kernel, &codes, &points, d), &codes, &points, d);
        }
    }
    assert_eq!(kernel.explain().variants(), 1);
}

#[test]
fn a_size_with_a_unit_is_put_as_a_whole() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let d = g.symbol("d").multiple_of(8);
    let (codes, points) = (g.input::<f32>("codes", shape![k, d]), g.input::<f32>("points", shape![n, d]));
    let kernel = NEAREST[2].1(codes.unsqueeze(1), points).compile().unwrap();
    for d in [8, 16, 64, 72] {
        let (codes, points) = (numbers(CODES * d, 7), numbers(POINTS * d, 8));
        let bound = bound(&kernel, &codes, &points, d);
        assert_eq!(bound.explain().to_string().contains(&format!("only where d = {d}\n")), d <= 64);
        check(&kernel, &bound, &codes, &points, d);
    }
}

#[test]
fn trailing_axes_are_put_where_they_are_not_all() {
    let g = Graph::new();
    let [n, c] = g.symbols(["n", "c"]);
    let (x, scale) = (g.input::<f32>("x", shape![n, c]), g.input::<f32>("scale", shape![c]));
    let scaled = (x * scale).compile().unwrap();
    let twice = (2 * x).compile().unwrap();
    for (channels, variants) in [(3, 2), (4, 3), (17, 3), (1, 3)] {
        let (data, factors) = (numbers(500 * channels, 9), numbers(channels, 10));
        let view = ArrayView::new(&data, &[500, channels]).unwrap();
        let got: Vec<f32> = scaled.run((view, &factors)).unwrap().try_into().unwrap();
        let want = data.iter().enumerate().map(|(index, x)| x * factors[index % channels]);
        assert_eq!(got, want.collect::<Vec<f32>>());
        assert_eq!(scaled.explain().variants(), variants, "{channels}");
        twice.run(ArrayView::new(&data, &[500, channels]).unwrap()).unwrap();
        assert_eq!(twice.explain().variants(), 1);
    }
}

#[test]
fn threads_meet_a_new_size_at_once() {
    let kernel = kernel(NEAREST[0].1);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let kernel = &kernel;
            scope.spawn(move || {
                for d in 2..8 {
                    let d = 2 + (d + thread) % 6;
                    let (codes, points) = (numbers(CODES * d, 11), numbers(POINTS * d, 12));
                    check(kernel, &bound(kernel, &codes, &points, d), &codes, &points, d);
                }
            });
        }
    });
    assert_eq!(kernel.explain().variants(), 7);
}

/// Few columns of many rows: threads share the rows, in code of its own for such calls, and the bits stay.
#[test]
fn threads_share_what_is_reduced_to_few() {
    const ROWS: usize = 40_000;
    let kernel = |threads: Threads, is_constant: bool| {
        let g = Graph::new();
        let n = g.symbol("n");
        let shape = if is_constant { shape![n, 17] } else { shape![n, g.symbol("m")] };
        let options = CompileOptions { threads, ..CompileOptions::default() };
        let x = g.input::<f32>("x", shape);
        g.compile_with([("sums", x.sum(0)), ("least", x.argmin(0))], &options).unwrap()
    };
    let numbers = numbers(ROWS * 17, 5);
    let x = ArrayView::new(&numbers, &[ROWS, 17]).unwrap();
    let few = ArrayView::new(&numbers[..17 * 100], &[100, 17]).unwrap();
    let arrays = [interp::Array::new(&[ROWS, 17], &numbers)];
    for is_constant in [true, false] {
        let alone = kernel(Threads::Calling, is_constant);
        let want = interpret(alone.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let two = kernel(Threads::Pool(Arc::new(pool)), is_constant);
        for (kernel, is_shared) in [(alone, false), (two, true)] {
            // So few rows are no work for two.
            let text = kernel.bind(inputs![few.clone()]).unwrap().explain().to_string();
            assert!(!text.contains("threads share what is reduced to"), "{text}");
            let bound = kernel.bind(inputs![x.clone()]).unwrap();
            let text = bound.explain().to_string();
            assert_eq!(text.contains("threads share what is reduced to"), is_shared, "{text}");
            let (sums, least): (Vec<f32>, Vec<i64>) = bound.run().unwrap().try_into().unwrap();
            assert_eq!(bits(&sums), bits(&want[0].to_vec::<f32>().unwrap()));
            assert_eq!(least, want[1].to_vec::<i64>().unwrap());
        }
    }
}

/// Columns are shared as columns only where each thread has some pages of a row of them.
#[test]
fn threads_share_rows_of_up_to_some_thousand_columns() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let options = CompileOptions { threads: Threads::Pool(Arc::new(pool)), ..CompileOptions::default() };
    for (rows, columns, is_shared) in [
        (10_000, 128, true),
        (10_000, 255, true),
        (5000, 1000, true),
        (5000, 4096, false),
        (3000, 1000, false),
    ] {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let kernel = g.compile_with([("sums", g.input::<f32>("x", shape![n, m]).sum(0))], &options).unwrap();
        let x = vec![0.0_f32; rows * columns];
        let bound = kernel.bind(ArrayView::new(&x, &[rows, columns]).unwrap()).unwrap();
        let text = bound.explain().to_string();
        assert_eq!(
            text.contains("threads share what is reduced to"),
            is_shared,
            "{rows} x {columns}\n{text}"
        );
    }
}

/// Functions of a few columns beside extremes are stored once, rather than called on every row of the table.
#[test]
fn functions_of_few_columns_have_code_of_their_own() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), g.symbol("m")]);
    let kernel = g.compile([("sums", x.exp().sum(0)), ("greatest", x.exp().max(0))]).unwrap();
    for (rows, columns, is_short) in [(300, 17, true), (100, 63, true), (100, 64, false), (40, 300, false)] {
        let x = numbers(rows * columns, 3);
        let bound = kernel.bind(ArrayView::new(&x, &[rows, columns]).unwrap()).unwrap();
        let stored = bound.temporary_bytes() >= rows * columns * size_of::<f32>();
        assert_eq!(stored, is_short, "{rows} x {columns}");
        let arrays = [interp::Array::new(&[rows, columns], &x)];
        let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
        let (sums, greatest): (Vec<f32>, Vec<f32>) = bound.run().unwrap().try_into().unwrap();
        for (got, want) in [sums, greatest].iter().zip(&want) {
            let want = want.to_vec::<f32>().unwrap();
            assert!(got.iter().map(|x| x.to_bits()).eq(want.iter().map(|x| x.to_bits())));
        }
    }
}

/// Functions of short rows beside one number for each row are called on several rows at once; of long ones, row by row.
#[test]
fn functions_of_short_rows_have_code_of_their_own() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, w) = (g.input::<f32>("x", shape![n, m]), g.input::<f32>("w", shape![n, 1]));
    let kernel = (x - w).exp().compile().unwrap();
    for (rows, columns, is_short) in
        [(100, 100, true), (7, 255, true), (40, 256, false), (3, 10, false), (9, 0, false)]
    {
        let (x, w) = (numbers(rows * columns, 1), numbers(rows, 2));
        let views = (ArrayView::new(&x, &[rows, columns]).unwrap(), ArrayView::new(&w, &[rows, 1]).unwrap());
        let bound = kernel.bind(views).unwrap();
        let text = bound.explain().to_string();
        assert_eq!(text.contains("only where short rows\n"), is_short, "{rows} x {columns}\n{text}");
        let arrays = [interp::Array::new(&[rows, columns], &x), interp::Array::new(&[rows, 1], &w)];
        let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
        let got: Vec<f32> = bound.run().unwrap().try_into().unwrap();
        assert!(
            got.iter().map(|x| x.to_bits()).eq(want[0].to_vec::<f32>().unwrap().iter().map(|x| x.to_bits()))
        );
    }
}
