//! Running results: compiled code with plain loops and with the interpreter, over lengths, axes, dtypes, layouts,
//! threads, and what is computed before and after.

use broadloom::prelude::*;
use broadloom::{AnyArray, CompileOptions, CpuLevel, Threads};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp::{self, interpret};

/// Zeros of both signs, infinities and NaNs among numbers of many sizes.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12345);
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        match state >> 24 {
            0 => f32::NAN,
            1..4 => 0.0,
            4..8 => -0.0,
            8 => f32::INFINITY,
            _ => ((state >> 8) % 1999) as f32 / 3.0 - 300.0,
        }
    };
    (0..count).map(next).collect()
}

fn options() -> [CompileOptions; 4] {
    let plain = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    [
        plain.clone(),
        CompileOptions { threads: Threads::Calling, vector_bytes: 16, ..plain.clone() },
        CompileOptions { vector_bytes: 32, ..plain.clone() },
        CompileOptions { vectorize: false, ..plain },
    ]
}

fn bits(value: f32) -> u32 {
    if value.is_nan() { f32::NAN.to_bits() } else { value.to_bits() }
}

#[test]
fn sums_along_each_axis_are_those_of_a_loop() {
    for options in options() {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let x = g.input::<f32>("x", shape![n, m]);
        let outputs = [("rows", x.cumsum(1)), ("columns", x.cumsum(0)), ("negative", x.cumsum(-1))];
        let kernel = g.compile_with(outputs, &options).unwrap();
        for [n, m] in
            [[0, 3], [3, 0], [1, 1], [1, 70], [70, 1], [2, 3], [17, 65], [65, 16], [5, 4100], [3000, 7]]
        {
            let data: Vec<f32> = numbers(n * m, (n + m) as u32);
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
                let got: Vec<f32> = got.take(name).unwrap();
                assert_eq!(got.len(), want.len());
                for (at, (got, want)) in got.iter().zip(want).enumerate() {
                    assert_eq!(bits(*got), bits(*want), "{name} of {n} x {m} at {at}: {got} for {want}");
                }
            }
        }
    }
}

/// What is compared with the interpreter: outputs of `x[n, m, k]` and `y[m, k]`.
type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

const EXPRESSIONS: &[(&str, Expression)] = &[
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

fn scalar_bits(value: Scalar) -> u64 {
    match value.cast(broadloom::DType::F64) {
        Scalar::F64(value) if value.is_nan() => f64::NAN.to_bits(),
        Scalar::F64(value) if value != 0.0 || value.is_sign_negative() => value.to_bits(),
        _ => 0,
    }
}

/// The values of an array as `f64`, in which all that the expressions give is exact, and of which all NaNs are one.
fn array_bits(array: &AnyArray) -> Vec<u64> {
    macro_rules! as_any {
        ($($type:ty => $variant:ident),*) => {
            $(if let Some(values) = array.as_slice::<$type>() {
                return values.iter().map(|value| scalar_bits(Scalar::$variant(*value))).collect();
            })*
        };
    }
    as_any!(f32 => F32, f64 => F64, i64 => I64, i16 => I16, bool => Bool);
    if let Some(values) = array.as_slice::<f16>() {
        return values.iter().map(|value| scalar_bits(Scalar::F32(value.to_f32()))).collect();
    }
    panic!("no expression gives {array:?}");
}

#[test]
fn expressions_have_the_bits_of_the_interpreter() {
    for (name, expression) in EXPRESSIONS {
        for options in options() {
            let g = Graph::new();
            let [n, m, k] = g.symbols(["n", "m", "k"]);
            let (x, y) = (g.input::<f32>("x", shape![n, m, k]), g.input::<f32>("y", shape![m, k]));
            let outputs = expression(x, y);
            let names = ["a", "b", "c", "d"];
            let kernel = g.compile_with(names.into_iter().zip(outputs), &options).unwrap();
            for shape in [[2, 3, 5], [5, 70, 9], [3, 1030, 4], [4, 5, 2100], [17, 40, 33]] {
                let [n, m, k] = shape;
                let (x, y) = (numbers(n * m * k, 3), numbers(m * k, 4));
                let arrays = [interp::Array::new(&shape, &x), interp::Array::new(&[m, k], &y)];
                let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
                // Dense, and with the first two axes exchanged in memory and every other element skipped.
                let mut apart = vec![f32::NAN; 2 * x.len()];
                for (at, value) in x.iter().enumerate() {
                    let [i, j, l] = [at / (m * k), at / k % m, at % k];
                    apart[2 * ((j * n + i) * k + l)] = *value;
                }
                let strides = [2 * k as isize, 2 * (n * k) as isize, 2];
                let views = [
                    ArrayView::new(&x, &shape).unwrap(),
                    ArrayView::strided(&apart, 0, &shape, &strides).unwrap(),
                ];
                for x in views {
                    let y = ArrayView::new(&y, &[m, k]).unwrap();
                    let mut got = kernel.run(inputs! { "x" => x, "y" => y }).unwrap();
                    for (output, want) in kernel.graph().outputs().iter().zip(&want) {
                        let got: AnyArray = got.take(&output.name).unwrap();
                        let want: Vec<u64> = want.elements.iter().map(|value| scalar_bits(*value)).collect();
                        let got = array_bits(&got);
                        let differs = got.iter().zip(&want).position(|(got, want)| got != want);
                        assert!(
                            got.len() == want.len() && differs.is_none(),
                            "{name}, {} of {shape:?} at {differs:?}\n{}",
                            output.name,
                            kernel.explain()
                        );
                    }
                }
            }
        }
    }
}
