//! Rows that are reduced over: queries are whole, and what they are compared with comes in chunks. Bit for bit what the
//! interpreter gives of all rows at once.

use super::{Results, bits_of, cuts, extend, noise, results};
use broadloom::prelude::*;
use broadloom::{ChunkError, Chunked, CpuLevel, Inputs, Scalar, Threads};
use broadloom_ir::dtype::Element;
use broadloom_ir::interp::{self, interpret};
use std::cell::LazyCell;
use std::sync::Arc;

/// What is computed of `x: [m, d]`, the queries, `y: [n, d]` and `b: [n, 2]`, whose rows come in chunks.
type Expression = fn(Tensor, Tensor, Tensor) -> Vec<Tensor>;

/// The squares of the distances of all pairs, `[m, n]`.
fn squares(x: Tensor, y: Tensor) -> Tensor {
    (x.unsqueeze(1) - y).square().sum(-1)
}

/// What is computed, in how many passes, and of floats by whole blocks or not.
const EXPRESSIONS: &[(&str, usize, usize, Expression)] = &[
    ("the nearest", 1, 1, |x, y, _| {
        vec![squares(x, y).argmin(1), squares(x, y).min(1), squares(x, y).argmax(1)]
    }),
    ("near ones", 1, 1, |x, y, _| {
        let near = squares(x, y).lt(8);
        vec![near.sum(1), near.any(1), near.all(1), near.count_nonzero(1)]
    }),
    ("sums", 1, 1024, |x, y, _| vec![squares(x, y).sum(1), squares(x, y).mean(1)]),
    ("products", 1, 1024, |x, y, _| vec![(squares(x, y) / 64 + 0.75).prod(1), x.matmul(y.t()).max(1)]),
    ("weighted sums", 1, 1024, |x, y, b| {
        let weights = (-squares(x, y) / 4).exp();
        vec![weights.matmul(b), weights.sum(1), weights.matmul(b.slice(slice![.., 0]))]
    }),
    ("weighted means", 3, 1024, |x, y, b| vec![(-squares(x, y)).softmax(1).matmul(b)]),
    ("logarithms of sums", 2, 1024, |x, y, _| vec![(-squares(x, y)).logsumexp(1)]),
    ("the k nearest", 1, 1, |x, y, _| {
        let ((values, indices), (least, at_least)) =
            ((-squares(x, y)).topk(10, 1), squares(x, y).topk_smallest(3, 1));
        vec![values, indices, least, at_least]
    }),
    ("of a table", 1, 1, |x, y, b| {
        let ((a, b_at), (c, c_at)) = (y.topk(2, 0), b.topk_smallest(5, 0));
        vec![a, b_at, c, c_at, x.sum(0)]
    }),
    ("as many as possible", 1, 1, |_, y, _| {
        let (values, indices) = y.slice(slice![.., 0]).topk(64, 0);
        vec![values, indices]
    }),
    ("one", 1, 1, |x, y, _| {
        let (values, indices) = squares(x, y).topk_smallest(1, 1);
        vec![values, indices]
    }),
    ("the best are used", 2, 1, |x, y, _| {
        let (values, indices) = squares(x, y).topk_smallest(4, 1);
        vec![values.mean(1), indices.max(1), squares(x, y).lt(values.max_keepdims(1)).sum(1)]
    }),
    ("the closest pair", 1, 1, |x, y, _| {
        vec![squares(x, y).argmin(..), squares(x, y).min(..), squares(x, y).argmax(..), y.t().argmax(..)]
    }),
    ("over both", 1, 1024, |x, y, b| {
        let table = squares(x, y);
        vec![
            table.sum(..),
            table.mean(..),
            table.mean_keepdims(..),
            b.t().sum(..),
            (x.unsqueeze(1) * y).sum([0, 1]),
        ]
    }),
];

/// Numbers of which many are equal, and of floats some zeros of both signs, NaNs and infinities.
fn numbers<T: Element>(count: usize, seed: u64) -> Vec<T> {
    let number = |bits: u64| {
        let value = match bits % 997 {
            0 => f64::NAN,
            1 | 2 => f64::INFINITY,
            3 | 4 => f64::NEG_INFINITY,
            5..200 => -0.0,
            _ => (bits >> 40) as f64 % 9.0 - 3.0,
        };
        let value = if T::DTYPE.is_float() || value.is_finite() { value } else { 1.0 };
        T::from_scalar(Scalar::F64(value).cast(T::DTYPE)).expect("it has the dtype")
    };
    noise(count, seed).map(number).collect()
}

fn check<T: Element>(lengths: &[usize], d: usize, ways: &[CompileOptions]) {
    for (name, passes, multiple, expression) in EXPRESSIONS {
        let compile = |options: &CompileOptions| {
            let g = Graph::new();
            let [n, m] = g.symbols(["n", "m"]);
            let (x, y) = (g.input::<T>("x", shape![m, d]), g.input::<T>("y", shape![n, d]));
            let outputs = expression(x, y, g.input::<T>("b", shape![n, 2]));
            let names = ["a", "b", "c", "d", "e"];
            g.compile_with(names.into_iter().zip(outputs), options).unwrap()
        };
        let kernels: Vec<Executable> = ways.iter().map(compile).collect();
        let cut = |kernel: &Executable| {
            let chunked = kernel.in_chunks("n").unwrap_or_else(|error| panic!("{name}\n{error:?}"));
            assert_eq!(chunked.passes(), *passes, "{name}");
            if T::DTYPE.is_float() {
                assert_eq!(chunked.multiple(), *multiple, "{name}");
            }
            chunked
        };
        let all_chunked: Vec<Chunked> = kernels.iter().map(cut).collect();
        for (n, m) in lengths.iter().flat_map(|n| [(*n, 1), (*n, 19)]) {
            let arrays: Vec<(&str, [usize; 2], Vec<T>)> = [("x", [m, d]), ("y", [n, d]), ("b", [n, 2])]
                .into_iter()
                .zip(1..)
                .map(|((name, shape), seed)| (name, shape, numbers(shape[0] * shape[1], seed)))
                .collect();
            let of = |name: &str| arrays.iter().find(|(of, ..)| *of == name).expect("an input");
            let graph = kernels[0].graph();
            let inputs = graph.inputs().iter().map(|input| {
                let (_, shape, elements) = of(&input.name);
                interp::Array::new(shape, elements)
            });
            let inputs: Vec<interp::Array> = inputs.collect();
            // Once for all ways that fuse products with sums, and once for the others.
            let want = [false, true].map(|is_fused| {
                let inputs = &inputs;
                LazyCell::new(move || interpret(graph, inputs, is_fused))
            });
            for (way, chunked) in ways.iter().zip(&all_chunked) {
                let is_fused = way.level.unwrap_or(CpuLevel::detect()).is_fused();
                let want = &*want[usize::from(is_fused)];
                for chunks in cuts(n, chunked.multiple()) {
                    let view = |name: &str| {
                        let (_, shape, elements) = of(name);
                        ArrayView::new(elements, shape).unwrap()
                    };
                    let got = run(chunked, view, &chunks);
                    let (want, got) = match (want, got) {
                        (Ok(want), Ok(got)) => (want, got),
                        (Err(_), Err(ChunkError::Bind(_))) => continue,
                        (want, got) => panic!("{name} of {n} in {chunks:?}: {got:?}\n{want:?}"),
                    };
                    for (output, want) in graph.outputs().iter().zip(want) {
                        let (dtype, shape, got) = &got[&*output.name];
                        let at =
                            format!("{name} of {} in {chunks:?}: {} of {n} and {m}", T::DTYPE, output.name);
                        assert_eq!((want.dtype, &want.shape), (*dtype, shape), "{at}");
                        let want: Vec<u64> = want.elements.iter().map(|element| bits_of(*element)).collect();
                        assert_eq!(want.iter().zip(got).position(|(want, got)| want != got), None, "{at}");
                    }
                }
            }
        }
    }
}

fn run<'a>(
    chunked: &Chunked,
    view: impl Fn(&str) -> ArrayView<'a>,
    chunks: &[usize],
) -> Result<Results, ChunkError> {
    let fixed = chunked.fixed().into_iter();
    let fixed = fixed.fold(Inputs::new(), |inputs, info| inputs.named(info.name.clone(), view(&info.name)));
    let mut run = chunked.start(fixed)?;
    let mut all = Results::new();
    for _ in 0..chunked.passes() {
        let mut start = 0;
        for rows in chunks {
            let streamed = chunked.streamed().into_iter();
            let part = streamed.fold(Inputs::new(), |inputs, info| {
                inputs.named(info.name.clone(), view(&info.name).rows(start..start + rows).unwrap())
            });
            extend(&mut all, results(&run.push(part)?));
            start += rows;
        }
        run.end_pass()?;
    }
    all.extend(results(&run.finish()?));
    Ok(all)
}

/// One thread, several, and the least that a CPU can do.
fn ways() -> [CompileOptions; 3] {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let way = |threads| CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
    let alone = way(Threads::Calling);
    let plain = CompileOptions { level: Some(CpuLevel::Baseline), vectorize: false, ..alone.clone() };
    [alone, way(Threads::Pool(Arc::new(pool))), plain]
}

#[test]
fn chunks_of_what_is_reduced_give_the_bits_of_the_whole() {
    check::<f32>(&[0, 1, 9, 10, 64, 65, 1024, 1090, 2100], 3, &ways());
}

#[test]
fn chunks_of_long_types_give_the_bits_of_the_whole() {
    check::<f64>(&[12, 1089, 2100], 2, &ways());
    check::<i32>(&[11, 1100], 3, &ways()[1..]);
}

/// Of sixteen dimensions, distances are contractions.
#[test]
fn chunks_of_what_contractions_are_reduced_over_give_the_bits_of_the_whole() {
    check::<f32>(&[70, 1100, 2100], 16, &ways());
    check::<f64>(&[1100], 16, &ways()[..1]);
}

#[test]
fn chunks_of_short_types_give_the_bits_of_the_whole() {
    check::<f16>(&[70, 1100], 3, &ways()[..1]);
    check::<u8>(&[70, 1100], 3, &ways()[..1]);
}

/// Too few rows for the best of them are told as those of one run are, by whichever chunks they came.
#[test]
fn too_few_rows_are_told_in_the_end() {
    let g = Graph::new();
    let y = g.input::<f32>("y", shape![g.symbol("n"), 2]);
    let kernel = y.topk(3, 0).1.compile().unwrap();
    let data = [1.0f32, 5.0, 2.0, 4.0, 3.0, 6.0];
    let rows = |count: usize| ArrayView::new(&data[..2 * count], &[count, 2]).unwrap();
    let told = kernel.run(rows(2)).unwrap_err().to_string();
    assert_eq!(told, "n is 2, but `topk` needs n >= 3");
    let chunked = kernel.in_chunks("n").unwrap();
    for chunks in [&[2][..], &[1, 1], &[0, 2, 0]] {
        let mut run = chunked.start(()).unwrap();
        chunks.iter().for_each(|count| drop(run.push(rows(*count)).unwrap()));
        let error = run.finish().unwrap_err();
        assert_eq!((error.code(), error.to_string()), ("S102", told.clone()));
    }
    // One more mends it.
    let mut run = chunked.start(()).unwrap();
    run.push(rows(2)).unwrap();
    run.end_pass().unwrap_err();
    run.push(rows(1)).unwrap();
    let found: Vec<i64> = run.finish().unwrap().try_into().unwrap();
    // 1, 2, 1 and 5, 4, 5, column by column.
    assert_eq!(found, [1, 0, 0, 2, 2, 1]);
}
