//! Running results: compiled code with plain loops and with the interpreter, over lengths, axes, dtypes, layouts,
//! threads, and what is computed before and after.

use crate::support::bits::{array_bits, bits};
use crate::support::harness::{OfThree, check_three};
use crate::support::numbers::with_few_nans;
use crate::support::ways::ways;
use broadloom::prelude::*;

#[test]
fn sums_along_each_axis_are_those_of_a_loop() {
    for options in ways() {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n, m]);
        let outputs = [("rows", x.cumsum(1)), ("columns", x.cumsum(0)), ("negative", x.cumsum(-1))];
        let kernel = g.compile_with(outputs, &options).unwrap();
        for [n, m] in
            [[0, 3], [3, 0], [1, 1], [1, 70], [70, 1], [2, 3], [17, 65], [65, 16], [5, 4100], [3000, 7]]
        {
            let data: Vec<f32> = with_few_nans(n * m, (n + m) as u32);
            let mut got = kernel.run(ArrayView::new(&data, &[n, m]).unwrap()).unwrap();
            let (mut rows, mut columns) = (data.clone(), data.clone());
            for i in 0..n {
                for j in 0..m {
                    if j > 0 {
                        rows[i * m + j] += rows[i * m + j - 1];
                    }
                    if i > 0 {
                        columns[i * m + j] += columns[(i - 1) * m + j];
                    }
                }
            }
            for (name, want) in [("rows", &rows), ("columns", &columns), ("negative", &rows)] {
                let got = array_bits(&got.take(name).unwrap());
                let want: Vec<u64> = want.iter().map(|want| bits(want.into_scalar())).collect();
                let differs = got.iter().zip(&want).position(|(got, want)| got != want);
                assert!(got.len() == want.len() && differs.is_none(), "{name} of {n} x {m} at {differs:?}");
            }
        }
    }
}

const EXPRESSIONS: &[(&str, OfThree)] = &[
    ("last axis", |x, _| vec![x.cumsum(-1)]),
    ("axis in the middle", |x, _| vec![x.cumsum(1)]),
    ("first axis", |x, _| vec![x.cumsum(0)]),
    ("extremes", |x, _| vec![x.cummax(2), x.cummin(1), x.cummax(0)]),
    ("products", |x, y| vec![(x * 0.01).cumprod(1), (y * 0.01).cumprod(0), (y * 0.01).cumprod(1)]),
    ("of what is computed", |x, y| {
        vec![(x - y).square().cumsum(-1), (x - y).abs().cumsum(1), (x * y).cumsum(0)]
    }),
    ("of functions", |x, y| vec![((x * 0.01).exp() * y).cumsum(-1), ((x * 0.01).exp() * y).cumsum(1)]),
    ("used by functions", |x, y| vec![(x.cummax(-1) * 0.01).exp() + y, (x.cummax(0) * 0.01).exp() + y]),
    ("between functions", |x, _| vec![((x * 0.01).tanh().cumsum(1) * 0.1).sin() * x]),
    ("of sums", |x, _| {
        vec![x.sum(-1).cumsum(0), x.sum(-1).cumsum(1), x.sum(0).cumsum(0), x.sum(1).cummax(1)]
    }),
    ("summed", |x, _| vec![x.cumsum(-1).sum(-1), x.cumsum(1).sum(0), x.cumsum(0).max(0)]),
    ("beside what is reduced of each step", |x, _| {
        vec![
            x.cumsum(0) - x.max_keepdims(2),
            (x - x.mean_keepdims(2)).cumsum(0),
            (x - x.mean_keepdims([1, 2])).cumsum(0),
            (x - x.sum_keepdims(-1)).cumsum(1),
        ]
    }),
    ("of scans", |x, _| vec![x.cumsum(0).cumsum(1), x.cummax(1).cumsum(1), x.cumsum(2).cummin(0)]),
    ("two at once", |x, _| vec![x.cumsum(1) - x.cummax(1), x.cumsum(0) * x.cummin(2)]),
    ("beside others", |x, y| vec![x.cumsum(1), (x * y).exp(), x.sum(1), x + 1]),
    ("shifted", |x, _| {
        vec![x.cumsum(1).slice(slice![.., 1.., ..]) - x.cumsum(1).slice(slice![.., ..-1, ..])]
    }),
    ("reversed", |x, _| vec![x.slice(slice![.., ..;-1, ..]).cumsum(1).slice(slice![.., ..;-1, ..])]),
    ("of views", |x, _| vec![x.t().cumsum(1), x.cumsum(1).t(), x.permute_dims([1, 0, 2]).cumsum(0)]),
    ("of a joined axis", |x, _| vec![x.reshape(shape![-1]).cumsum(0), x.cumsum(-1).reshape(shape![-1])]),
    ("of other types", |x, y| {
        let [small, wide] = [x.clip(-100, 100).cast::<i16>(), x.cast::<f64>()];
        vec![small.cumsum(1), wide.cumsum(-1), y.gt(0).cumsum(0), small.cummin(0)]
    }),
    ("of 16 bits", |x, y| {
        vec![
            (y * 0.01).cast::<f16>().cumsum(0),
            x.cast::<f16>().cummax(2),
            (y * 0.001).cast::<f16>().cumprod(1),
        ]
    }),
    ("of truth", |x, y| vec![x.gt(y).cummax(1), x.gt(y).cummin(-1)]),
    ("broadcast", |x, y| vec![y.cumsum(0) + x, y.cumsum(1) * x, y.unsqueeze(0).cumsum(1) + x]),
    ("from zero", |x, _| vec![x.cumsum_from_zero(1), x.cumsum_from_zero(-1) + 1]),
    ("of one number", |_, y| {
        vec![(y.gt(y).cast::<f32>() + 1).cumsum(0), y.sum(..).broadcast_to(shape![7]).cumsum(0)]
    }),
    ("without NaN", |x, _| vec![x.nancumsum(1), x.nancumprod(2)]),
    ("of products of matrices", |x, y| vec![x.matmul(y.t()).cumsum(-1), x.matmul(y.t()).cumsum(1)]),
    ("in a join", |x, _| vec![concat([x.cumsum(1), x], 1), concat([x, x], 1).cumsum(1)]),
    ("of short rows", |x, _| {
        vec![x.slice(slice![.., .., 0..3]).cumsum(-1), x.slice(slice![.., .., 0..3]).cumsum(1)]
    }),
    ("of softmax weights", |x, _| vec![x.clip(-9, 9).softmax(-1).cumsum(-1)]),
    ("in the order of the best", |x, _| vec![x.cumsum(1).topk(2, 1).0, x.topk(2, 1).0.cumsum(1)]),
];

#[test]
fn expressions_have_the_bits_of_the_interpreter() {
    let shapes = [[2, 3, 5], [5, 70, 9], [3, 1030, 4], [4, 5, 2100], [17, 40, 33]];
    for case in EXPRESSIONS {
        check_three(*case, 2, shapes, with_few_nans, &ways());
    }
}
