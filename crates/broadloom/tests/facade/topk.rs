//! The best elements along an axis: compiled code with the interpreter, and with a sort, over lengths, axes, layouts,
//! threads, and what is computed before and after.

use crate::support::bits::array_bits;
use crate::support::harness::{OfThree, check_three};
use crate::support::numbers::with_ties;
use crate::support::ways::ways;
use broadloom::CallError;
use broadloom::prelude::*;
use std::cmp::Ordering;

/// Indices of a row by a stable sort of all of it: NaNs first, then by value.
fn sorted(row: &[f32], largest: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&left, &right| {
        let (x, y) = (row[left], row[right]);
        let by_value = x.partial_cmp(&y).unwrap_or(Ordering::Equal);
        y.is_nan().cmp(&x.is_nan()).then(if largest { by_value.reverse() } else { by_value })
    });
    order
}

#[test]
fn rows_of_every_length_are_as_if_they_were_sorted() {
    for (k, largest) in [(1, true), (2, false), (3, true), (10, false), (64, true), (64, false)] {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n, m]);
        let (values, indices) = if largest { x.topk(k, -1) } else { x.topk_smallest(k, 1) };
        let kernel = g.compile([("values", values), ("indices", indices)]).unwrap();
        let lengths = [k, k + 1, 63, 64, 65, 127, 128, 129, 1000, 1023, 1024, 1025, 2500];
        for length in lengths.into_iter().filter(|length| *length >= k) {
            for rows in [0, 1, 3] {
                let data = with_ties::<f32>(rows * length, (k * length) as u32);
                let view = ArrayView::new(&data, &[rows, length]).unwrap();
                let (values, indices): (Vec<f32>, Vec<i64>) = kernel.run(view).unwrap().try_into().unwrap();
                assert_eq!((values.len(), indices.len()), (rows * k, rows * k));
                for (row, data) in data.chunks(length).enumerate() {
                    for (place, best) in sorted(data, largest).into_iter().take(k).enumerate() {
                        let (value, index) = (values[row * k + place], indices[row * k + place]);
                        assert_eq!(index, best as i64, "{k} of {length}, place {place}");
                        let is_same = value == data[best] || value.is_nan() && data[best].is_nan();
                        assert!(is_same, "{value} for {}", data[best]);
                    }
                }
            }
        }
    }
}

const EXPRESSIONS: &[(&str, OfThree)] = &[
    ("values and indices", |x, _| x.topk(3, -1).to_vec()),
    ("in the middle", |x, _| x.topk_smallest(3, 1).to_vec()),
    ("in front", |x, _| x.topk(2, 0).to_vec()),
    ("of what is computed", |x, y| (-(x - y).square()).topk(3, 1).to_vec()),
    ("of functions", |x, y| ((x * 0.01).exp() * y).topk_smallest(3, -1).to_vec()),
    ("of functions, in front", |x, y| ((x * 0.01).exp() * y).topk_smallest(2, 0).to_vec()),
    ("of sums", |x, _| x.sum(-1).topk(3, 1).to_vec()),
    ("of sums, in front", |x, _| x.sum(1).topk(2, 0).to_vec()),
    ("used", |x, y| vec![x.topk(3, -1).0.mean(-1), x.topk(3, 1).0 + y.slice(slice![0..3])]),
    ("of the best", |x, _| x.topk(3, -1).0.topk_smallest(2, -1).to_vec()),
    ("of views", |x, _| x.slice(slice![.., ..;-1, ..]).t().topk(3, 1).to_vec()),
    ("of a joined axis", |x, _| x.reshape(shape![-1]).topk(64, 0).to_vec()),
    ("beside others", |x, _| vec![x.topk(3, -1).1, x.max(-1), x.sum(-1)]),
    ("of other types", |x, _| {
        let [(a, b), (c, d)] = [x.cast::<f64>().topk(3, 1), x.cast::<i16>().topk_smallest(3, -1)];
        vec![a, b, c, d]
    }),
    ("of truth", |x, y| x.gt(y).topk(3, -1).to_vec()),
    ("of one row", |_, y| (y + 1).reshape(shape![-1]).topk(5, 0).to_vec()),
];

trait Both {
    fn to_vec(self) -> Vec<Tensor>;
}

impl Both for (Tensor, Tensor) {
    fn to_vec(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

#[test]
fn expressions_have_the_bits_of_the_interpreter() {
    let shapes = [[2, 3, 64], [5, 70, 9], [3, 1030, 4], [4, 5, 2100], [17, 40, 33]];
    for case in EXPRESSIONS {
        check_three(*case, 2, shapes, with_ties::<f32>, &ways());
    }
}

#[test]
fn the_best_one_is_the_extreme() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let ((most, at_most), (least, at_least)) = (x.topk(1, 1), x.topk_smallest(1, 1));
    let pairs = [
        ("a", most),
        ("b", at_most),
        ("c", least),
        ("d", at_least),
        ("e", x.max_keepdims(1)),
        ("f", x.argmax_keepdims(1)),
        ("g", x.min_keepdims(1)),
        ("h", x.argmin_keepdims(1)),
    ];
    let kernel = g.compile(pairs).unwrap();
    for length in [1, 2, 63, 1025] {
        let data = with_ties::<f32>(7 * length, length as u32);
        let mut got = kernel.run(ArrayView::new(&data, &[7, length]).unwrap()).unwrap();
        for (best, extreme) in [("a", "e"), ("b", "f"), ("c", "g"), ("d", "h")] {
            let [best, extreme] = [best, extreme].map(|name| array_bits(&got.take(name).unwrap()));
            assert_eq!(best, extreme, "{length}");
        }
    }
}

#[test]
fn nothing_of_what_is_computed_is_stored() {
    let g = Graph::new();
    let [n, m, d] = g.symbols(["n", "m", "d"]);
    let (x, y) = (g.input::<f32>("x", shape![n, d]), g.input::<f32>("y", shape![m, d]));
    let (values, indices) = (-(x.unsqueeze(1) - y).square().sum(-1)).topk(10, -1);
    let explanation = g.compile([("values", values), ("indices", indices)]).unwrap().explain();
    assert_eq!(explanation.kernels(), 1, "{explanation}");
    assert!(explanation.temporaries().is_empty(), "{explanation}");
    assert!(explanation.to_string().contains("best m for 10 over rows of n"), "{explanation}");
}

/// Where neighbours of the axis around lie side by side, elements of many rows are taken at once.
#[test]
fn columns_of_every_length_are_as_if_they_were_sorted() {
    for (k, largest) in [(1, true), (3, false), (64, true)] {
        for options in ways() {
            let g = Graph::new();
            let [n, m] = g.symbols(["n", "m"]);
            let x = g.input::<f32>("x", shape![n, m]);
            let (values, indices) = if largest { x.topk(k, 0) } else { x.topk_smallest(k, 0) };
            let outputs = [("values", values), ("indices", indices)];
            let kernel = g.compile_with(outputs, &options).unwrap();
            assert!(kernel.explain().to_string().contains("over rows of m"), "{}", kernel.explain());
            for (length, columns) in
                [(k, 1), (k, 63), (k + 1, 64), (70, 65), (300, 2050), (1030, 17), (70, 0)]
            {
                let data = with_ties::<f32>(length * columns, (k * length) as u32);
                let view = ArrayView::new(&data, &[length, columns]).unwrap();
                let (values, indices): (Vec<f32>, Vec<i64>) = kernel.run(view).unwrap().try_into().unwrap();
                assert_eq!((values.len(), indices.len()), (k * columns, k * columns));
                for column in 0..columns {
                    let column_of = |data: &[f32]| -> Vec<f32> {
                        data.iter().copied().skip(column).step_by(columns).collect()
                    };
                    let (data, values) = (column_of(&data), column_of(&values));
                    for (place, best) in sorted(&data, largest).into_iter().take(k).enumerate() {
                        let (value, index) = (values[place], indices[place * columns + column]);
                        assert_eq!(index, best as i64, "{k} of {length}, place {place} of {column}");
                        let is_same = value == data[best] || value.is_nan() && data[best].is_nan();
                        assert!(is_same, "{value} for {}", data[best]);
                    }
                }
            }
        }
    }
}

#[test]
fn an_axis_that_is_too_short_is_refused_when_it_is_known() {
    let g = Graph::new();
    let kernel = g.input::<f32>("x", shape![g.symbol("n")]).topk(3, 0).0.compile().unwrap();
    let found: Vec<f32> = kernel.run(&[1.0f32, 3.0, 2.0]).unwrap().try_into().unwrap();
    assert_eq!(found, [3.0, 2.0, 1.0]);
    let error = kernel.run(&[1.0f32, 3.0]).unwrap_err();
    assert!(matches!(error, CallError::Bind(_)), "{error}");
    assert!(error.to_string().contains("n is 2, but `topk` needs n >= 3"), "{error}");
}
