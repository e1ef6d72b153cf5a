//! Elements in order, places in sorted tables and quantiles: compiled code with the interpreter, over dtypes, sizes, axes,
//! layouts and threads, and with the standard library.

use crate::support::harness::{OfThree, check_three};
use crate::support::numbers::with_ties;
use crate::support::ways::ways;
use broadloom::prelude::*;
use broadloom::{AnyArray, CallError, CompileOptions, QuantileMethod, Threads, bf16, f16};
use std::sync::Arc;

const EXPRESSIONS: &[(&str, OfThree)] = &[
    ("along the last axis", |x, _| vec![x.sort(-1), x.argsort(-1)]),
    ("in the middle", |x, _| vec![x.sort(1), x.argsort(1)]),
    ("in front", |x, _| vec![x.sort(0), x.argsort(0)]),
    ("descending", |x, _| vec![x.sort_descending(1), x.argsort_descending(-1)]),
    ("of what is computed", |x, y| vec![x.maximum(y).sort(-1), x.minimum(y).argsort(1)]),
    ("of views", |x, _| vec![x.slice(slice![.., ..;-1, ..]).t().sort(1), x.t().argsort(-1)]),
    ("of all", |x, _| vec![x.reshape(shape![-1]).sort(0), x.reshape(shape![-1]).argsort(0)]),
    ("used", |x, y| vec![x.sort(-1).maximum(y), x.argsort(1) + x.argsort(-1)]),
    ("twice", |x, _| {
        let sorted = x.sort(1);
        vec![sorted, sorted, sorted.sort(-1)]
    }),
    ("ranks", |x, _| vec![x.argsort(-1).argsort(-1)]),
    ("of what is stretched", |x, y| vec![y.broadcast_to(x.shape()).sort(0), y.sort(0).maximum(x)]),
    ("places", |x, y| vec![y.sort(0).searchsorted(x), y.searchsorted_right(x), y.searchsorted(y.max(..))]),
    ("medians", |x, _| vec![x.median(-1), x.median([0, 2]), x.median_keepdims(..), x.median(1)]),
    ("medians of numbers", |x, _| vec![x.nanmedian(-1), x.nanmedian([0, 2]), x.nanmedian_keepdims(..)]),
    ("quantiles", |x, _| {
        vec![x.quantile(0.3, -1), x.quantile([0.0, 0.7, 1.0], [0, 1]), x.nanquantile([0.9, 0.1], 1)]
    }),
];

fn check<T: Element>() {
    let shapes = [[2, 3, 17], [1, 1, 1], [3, 65, 2], [4, 1, 1000], [0, 3, 2], [2, 3, 0], [1, 17, 65]];
    for case in EXPRESSIONS {
        let needs_elements = ["median", "quantiles", "places"].iter().any(|word| case.0.contains(word));
        let shapes = shapes.into_iter().filter(|shape| !needs_elements || !shape.contains(&0));
        check_three(*case, 1, shapes, with_ties::<T>, &ways());
    }
}

#[test]
fn floats_have_the_bits_of_the_interpreter() {
    check::<f32>();
    check::<f64>();
}

#[test]
fn floats_of_16_bits_have_the_bits_of_the_interpreter() {
    check::<f16>();
    check::<bf16>();
}

#[test]
fn signed_integers_have_the_bits_of_the_interpreter() {
    check::<i8>();
    check::<i16>();
    check::<i32>();
    check::<i64>();
}

#[test]
fn other_integers_have_the_bits_of_the_interpreter() {
    check::<u8>();
    check::<u32>();
    check::<u64>();
    check::<bool>();
}

/// Through arrays of the caller that do not lie as rows do, and more than one of them.
#[test]
fn results_are_written_to_any_layout() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let kernel = g.compile([("a", x.sort(1)), ("b", x.sort(1)), ("c", x.argsort(1))]).unwrap();
    let data: Vec<f32> = with_ties(15, 1);
    let (mut a, mut b, mut c) = (vec![7.0f32; 30], vec![7.0f32; 15], vec![7i64; 30]);
    kernel
        .run_into(
            ArrayView::new(&data, &[3, 5]).unwrap(),
            outputs! {
                "a" => ArrayViewMut::strided(&mut a, 0, &[3, 5], &[2, 6]).unwrap(),
                "b" => ArrayViewMut::new(&mut b, &[3, 5]).unwrap(),
                "c" => ArrayViewMut::strided(&mut c, 0, &[3, 5], &[10, 2]).unwrap(),
            },
        )
        .unwrap();
    for (row, data) in data.chunks(5).enumerate() {
        let mut order: Vec<usize> = (0..5).collect();
        order.sort_by(|&left, &right| {
            let (left, right) = (data[left], data[right]);
            left.is_nan()
                .cmp(&right.is_nan())
                .then(left.partial_cmp(&right).unwrap_or(std::cmp::Ordering::Equal))
        });
        for (place, index) in order.into_iter().enumerate() {
            assert_eq!(c[row * 10 + 2 * place], index as i64);
            let found = [a[row * 2 + 6 * place], b[row * 5 + place]];
            assert!(
                found.iter().all(|found| *found == data[index] || found.is_nan() && data[index].is_nan())
            );
        }
    }
}

#[test]
fn long_rows_are_sorted_as_by_the_standard_library() {
    let count = 300_001;
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let kernel = g.compile([("sorted", x.sort(0)), ("order", x.argsort(0))]).unwrap();
    let data: Vec<f64> = with_ties(count, 9);
    let (sorted, order): (Vec<f64>, Vec<i64>) = kernel.run(&data).unwrap().try_into().unwrap();
    let mut want = data.clone();
    want.sort_by(|left, right| left.is_nan().cmp(&right.is_nan()).then(left.total_cmp(right)));
    assert!(sorted.iter().zip(&want).all(|(got, want)| got == want || got.is_nan() && want.is_nan()));
    let mut places: Vec<i64> = (0..count as i64).collect();
    places.sort_by(|left, right| {
        let (left, right) = (data[*left as usize], data[*right as usize]);
        left.is_nan().cmp(&right.is_nan()).then(left.partial_cmp(&right).unwrap_or(std::cmp::Ordering::Equal))
    });
    assert_eq!(order, places);
}

/// Rows are shared by threads, each of which sorts its own.
#[test]
fn many_rows_are_sorted_by_threads() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<u8>("x", shape![n, m]);
    let outputs = [("rows", x.sort(1)), ("columns", x.sort(0)), ("order", x.argsort(1))];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let threads = Threads::Pool(Arc::new(pool));
    let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
    let kernel = g.compile_with(outputs, &options).unwrap();
    let data: Vec<u8> = with_ties(5000 * 7, 2);
    let mut got = kernel.run(ArrayView::new(&data, &[5000, 7]).unwrap()).unwrap();
    let (rows, columns): (AnyArray, AnyArray) = (got.take("rows").unwrap(), got.take("columns").unwrap());
    let order: AnyArray = got.take("order").unwrap();
    let (rows, order) = (rows.as_slice::<u8>().unwrap(), order.as_slice::<i64>().unwrap());
    for (row, data) in data.chunks(7).enumerate() {
        let mut want = data.to_vec();
        want.sort_unstable();
        assert_eq!(rows[row * 7..][..7], want);
        let by_order: Vec<u8> = order[row * 7..][..7].iter().map(|index| data[*index as usize]).collect();
        assert_eq!(by_order, want);
    }
    for column in 0..7 {
        let of = |data: &[u8]| -> Vec<u8> { data.iter().copied().skip(column).step_by(7).collect() };
        let mut want = of(&data);
        want.sort_unstable();
        assert_eq!(of(columns.as_slice().unwrap()), want);
    }
}

#[test]
fn medians_and_quantiles_are_what_is_worked_out_by_hand() {
    let x = [7.0f64, 1.0, 2.0, 3.0];
    let (middle, low, high): (f64, f64, f64) =
        eval(&x, |x| (x.median(0), x.quantile(0.25, 0), x.quantile(1.0, 0))).unwrap();
    assert_eq!((middle, low, high), (2.5, 1.75, 7.0));
    let infinite: (f64, f64) =
        eval(&[1.0, f64::INFINITY], |x| (x.quantile(1.0, 0), x.quantile(0.0, 0))).unwrap();
    assert_eq!(infinite, (f64::INFINITY, 1.0));
    let by = |method| -> f64 { eval(&x, |x| x.quantile_by(method, 0.4, 0)).unwrap() };
    // Of 1, 2, 3, 7 at 3 * 0.4 = 1.2 behind the first.
    assert_eq!(by(QuantileMethod::Lower), 2.0);
    assert_eq!(by(QuantileMethod::Higher), 3.0);
    assert_eq!(by(QuantileMethod::Midpoint), 2.5);
    assert_eq!(by(QuantileMethod::Nearest), 2.0);
    assert_eq!(by(QuantileMethod::InvertedCdf), 2.0);
    assert_eq!(by(QuantileMethod::Weibull), 2.0);
    let mixed: (f64, f64) = eval(&[f64::NAN, f64::NAN], |x| (x.nanmedian(0), x.nanquantile(0.5, 0))).unwrap();
    assert!(mixed.0.is_nan() && mixed.1.is_nan());
    let of_integers: (f64, i32) =
        eval(&[1i32, 4], |x| (x.median(0), x.quantile_by(QuantileMethod::Higher, 0.5, 0))).unwrap();
    assert_eq!(of_integers, (2.5, 4));
}

#[test]
fn a_median_of_nothing_is_refused_when_the_size_is_known() {
    let g = Graph::new();
    let kernel = g.input::<f32>("x", shape![g.symbol("n")]).median(0).compile().unwrap();
    let error = kernel.run(&[0.0f32; 0]).unwrap_err();
    assert!(matches!(error, CallError::Bind(_)), "{error}");
    assert_eq!(
        error.to_string(),
        "`median` is not defined for zero elements: an axis that it needs is empty"
    );
    // Axes go to the end for a sort: no axis of that order is named.
    let empty = || broadloom::ArrayView::new(&[0.0f32; 0], &[0, 3]).unwrap();
    let of = |graph: &Graph| graph.input::<f32>("x", shape![graph.symbol("k"), 3]);
    type Function = fn(&Tensor) -> Tensor;
    let functions: [(&str, Function); 3] = [
        ("quantile", |x| x.quantile(0.3, 0)),
        ("nanquantile", |x| x.nanquantile(0.3, 0)),
        ("nanmedian", |x| x.nanmedian(0)),
    ];
    for (name, function) in functions {
        let error =
            function(&of(&Graph::new())).compile().unwrap().run(inputs! { "x" => empty() }).unwrap_err();
        let expected = format!("`{name}` is not defined for zero elements: an axis that it needs is empty");
        assert_eq!(error.to_string(), expected);
    }
    // The axis of an operand is named.
    let g = Graph::new();
    let taken = of(&g).take(g.input::<i64>("at", shape![2]), 0).compile().unwrap();
    let error = taken.run(inputs! { "x" => empty(), "at" => &[0i64, 0] }).unwrap_err();
    assert!(error.to_string().contains("2 indices into axis 0, which is empty"), "{error}");
}

#[test]
fn a_sort_is_stored_and_said_to_be() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let explanation = (x * 2.0).sort(1).sum(1).compile().unwrap().explain();
    assert!(explanation.to_string().contains("sorted a whole row at a time"), "{explanation}");
    assert!(explanation.to_string().contains("sort m"), "{explanation}");
}
