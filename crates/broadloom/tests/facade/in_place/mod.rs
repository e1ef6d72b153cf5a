//! Assigned inputs: a run writes over its inputs in every overlapping way, and is compared with the interpreter on
//! copies, whatever the layout, the code and the threads.

mod cases;
mod positions;
mod regions;

use crate::support::ways::selected;
use broadloom::prelude::*;
use broadloom::{
    AnyArray, BindError, CallError, Inputs, IntoArrayView, RunError, RunOptions, StopFlag, Threads,
};
use broadloom_ir::dtype::{AnyNumber, Scalar};
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::interp;
use cases::{CASES, Results, matrix};
use std::sync::Arc;

/// How an array lies in its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lying {
    Dense,
    Gaps,
    Backwards,
    Transposed,
}

/// Memory with an array of numbers in it, and what lies between them.
struct Memory {
    dtype: DType,
    shape: Vec<usize>,
    offset: usize,
    strides: Vec<isize>,
    bytes: Vec<u64>,
}

impl Memory {
    fn new(dtype: DType, shape: &[usize], lying: Lying, seed: usize) -> Memory {
        let mut strides = vec![0isize; shape.len()];
        let (mut next, inner) = match lying {
            Lying::Gaps => (2, 3),
            Lying::Dense | Lying::Backwards | Lying::Transposed => (1, 0),
        };
        let order: Vec<usize> = match lying {
            Lying::Transposed => (0..shape.len()).collect(),
            Lying::Dense | Lying::Gaps | Lying::Backwards => (0..shape.len()).rev().collect(),
        };
        for axis in order {
            strides[axis] = next;
            next = next * shape[axis].max(1) as isize + inner;
        }
        let mut offset = 0;
        if lying == Lying::Backwards {
            for (stride, size) in strides.iter_mut().zip(shape) {
                offset += *stride as usize * size.saturating_sub(1);
                *stride = -*stride;
            }
        }
        let words = (next as usize + 4) * dtype.size() / 8 + 1;
        let mut memory = Memory { dtype, shape: shape.to_vec(), offset, strides, bytes: vec![0; words] };
        for (position, place) in memory.places().into_iter().enumerate() {
            let number = ((position * 37 + seed * 53 + 11) % 101) as i128 - 40;
            let value = match dtype.is_float() {
                true => AnyNumber::Float(number as f64 / 32.0),
                false => AnyNumber::Int(number),
            };
            memory.write(place, value.to_scalar(dtype));
        }
        memory
    }

    /// Where the elements are, in row-major order.
    fn places(&self) -> Vec<usize> {
        let mut places = vec![self.offset as isize];
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            places = places
                .iter()
                .flat_map(|place| (0..*size as isize).map(move |index| place + index * stride))
                .collect();
        }
        places.into_iter().map(|place| place as usize).collect()
    }

    fn write(&mut self, place: usize, value: Scalar) {
        let size = self.dtype.size();
        let bytes = value.bits().to_le_bytes();
        for (byte, from) in bytes.iter().take(size).enumerate() {
            let at = place * size + byte;
            let mut word = self.bytes[at / 8].to_le_bytes();
            word[at % 8] = *from;
            self.bytes[at / 8] = u64::from_le_bytes(word);
        }
    }

    fn pointer(&self) -> *const u8 {
        self.bytes.as_ptr().cast::<u8>().wrapping_add(self.offset * self.dtype.size())
    }

    fn view(&self) -> ArrayView<'_> {
        // SAFETY: all elements lie in the memory, which is borrowed, and any bits that are written are values.
        unsafe { ArrayView::from_raw(self.pointer(), self.dtype, &self.shape, &self.strides) }.unwrap()
    }

    fn view_mut(&mut self) -> ArrayViewMut<'_> {
        let pointer = self.bytes.as_mut_ptr().cast::<u8>().wrapping_add(self.offset * self.dtype.size());
        // SAFETY: all elements lie in the memory, which is borrowed exclusively.
        unsafe { ArrayViewMut::from_raw(pointer, self.dtype, &self.shape, &self.strides) }.unwrap()
    }

    /// The elements as the interpreter has them.
    fn array(&self) -> interp::Array {
        elements(self.view(), &self.shape)
    }

    /// The memory after the array in it was overwritten with these elements.
    fn with(&self, array: &interp::Array) -> Vec<u64> {
        let Memory { dtype, shape, offset, strides, bytes } = self;
        let (shape, strides) = (shape.clone(), strides.clone());
        let mut memory = Memory { dtype: *dtype, shape, offset: *offset, strides, bytes: bytes.clone() };
        for (place, value) in memory.places().into_iter().zip(&array.elements) {
            memory.write(place, *value);
        }
        memory.bytes
    }
}

fn elements(view: ArrayView<'_>, shape: &[usize]) -> interp::Array {
    macro_rules! by_dtype {
        ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
            match view.dtype() {
                $(DType::$variant => interp::Array::new(shape, &view.to_vec::<$rust>().unwrap()),)*
            }
        };
    }
    broadloom_ir::for_each_dtype!(by_dtype)
}

fn same(a: &interp::Array, b: &interp::Array) -> bool {
    a.shape == b.shape && a.elements.iter().zip(&b.elements).all(|(a, b)| a.same(*b))
}

fn is_assigned(graph: &CheckedGraph, name: &str) -> bool {
    graph.outputs().iter().any(|output| output.assigned.is_some() && *output.name == *name)
}

/// The ways to run that must agree: vector and scalar code, one thread and three.
fn ways() -> Vec<CompileOptions> {
    let three = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap());
    let mut ways = Vec::new();
    for vectorize in [true, false] {
        for threads in [Threads::Calling, Threads::Pool(three.clone())] {
            ways.push(CompileOptions {
                threads,
                vectorize,
                parallel_threshold: 0,
                ..CompileOptions::default()
            });
        }
    }
    ways
}

/// Runs a graph on fresh memory of every layout, in every way, and compares all memory with the interpreter's.
fn check(
    name: &str,
    ways: &[CompileOptions],
    build: &dyn Fn(&Graph) -> Results,
    sizes: &dyn Fn(&str) -> Vec<usize>,
) {
    let g = Graph::new();
    let outputs = build(&g);
    let graph = g.finish(outputs.iter().copied()).unwrap();
    for options in ways {
        let kernel = g.compile_with(outputs.iter().copied(), options).unwrap();
        for lying in [Lying::Dense, Lying::Gaps, Lying::Backwards, Lying::Transposed] {
            let memory = |(seed, input): (usize, &broadloom_ir::graph::InputInfo)| {
                Memory::new(input.dtype, &sizes(&input.name), lying, seed)
            };
            let mut memories: Vec<Memory> = graph.inputs().iter().enumerate().map(memory).collect();
            let before: Vec<interp::Array> = memories.iter().map(Memory::array).collect();
            let expected =
                interp::interpret(&graph, &before, broadloom::CpuLevel::detect().is_fused()).unwrap();
            let mut wanted: Vec<Vec<u64>> = memories.iter().map(|memory| memory.bytes.clone()).collect();
            for (output, array) in graph.outputs().iter().zip(&expected) {
                if let Some(input) = output.assigned {
                    wanted[input.index()] = memories[input.index()].with(array);
                }
            }
            let mut inputs = Inputs::new();
            for (input, memory) in graph.inputs().iter().zip(&mut memories) {
                let name = input.name.to_string();
                inputs = match is_assigned(&graph, &name) {
                    true => inputs.named(name, memory.view_mut()),
                    false => inputs.named(name, memory.view()),
                };
            }
            let results = kernel.run(inputs).unwrap();
            let context = || {
                let (vectorize, threads) = (options.vectorize, &options.threads);
                let explanation = kernel.explain();
                format!("{name}, {lying:?}, vectorize {vectorize}, {threads:?}\n{graph}\n{explanation}")
            };
            for ((of, result), wanted) in results.iter().zip(&expected) {
                let result: &AnyArray = result;
                assert!(
                    same(&elements(result.into_array_view(), result.shape()), wanted),
                    "{of}: {}",
                    context()
                );
            }
            for (index, (memory, wanted)) in memories.iter().zip(&wanted).enumerate() {
                assert!(memory.bytes == *wanted, "input {index}: {}", context());
            }
        }
    }
}

fn shape_of(name: &str, n: usize, m: usize, square: bool) -> Vec<usize> {
    match (name, square) {
        ("total", _) => vec![],
        ("means", _) => vec![m],
        (_, true) => vec![n, n],
        (_, false) => vec![n, m],
    }
}

#[test]
fn every_overlap_equals_the_interpreter_on_copies() {
    let ways = ways();
    for (which, (name, square, build, in_place)) in CASES.iter().enumerate() {
        let build = |g: &Graph| build(g, matrix(g, "x", *square));
        for (place, (n, m)) in [(1, 1), (2, 3), (7, 17), (40, 33), (3, 1100)].into_iter().enumerate() {
            let is_large = place >= 3;
            if *square && n == 3 || is_large && !selected(which + place, 2) {
                continue;
            }
            check(name, &ways, &build, &|input| shape_of(input, n, m, *square));
        }
        let g = Graph::new();
        let outputs = build(&g);
        let explanation = g.compile(outputs).unwrap().explain();
        if let Some(in_place) = in_place {
            assert_eq!(explanation.in_place("x"), Some(*in_place), "{name}\n{explanation}");
        }
        assert_eq!(explanation.in_place("none"), None);
    }
}

/// Arrays that do not stay on one thread, and rows of several strips.
#[test]
fn long_arrays() {
    let build = |g: &Graph| {
        let n = g.symbol("n");
        let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
        x.assign(x.exp() * 0.5 + y);
        y.assign(x - x.mean(0));
        vec![("greatest", x.max(0))]
    };
    check("long", &ways(), &build, &|_| vec![9001]);
}

/// A small generator of numbers, the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides
    }
}

/// A random change of a region of a square matrix, by elements of a part of the same size.
fn region(dice: &mut Dice, x: Tensor, change: impl FnOnce(broadloom::At, Tensor) -> Tensor) -> Tensor {
    let n = x.shape()[0];
    let (region, part) = match dice.roll(15) {
        0 => (slice![0].to_vec(), slice![-1].to_vec()),
        1 => (slice![.., -1].to_vec(), slice![.., 0].to_vec()),
        2 => (slice![.., 0].to_vec(), slice![0].to_vec()),
        3 => (slice![1..].to_vec(), slice![..-1].to_vec()),
        4 => (slice![.., ..-1].to_vec(), slice![.., 1..].to_vec()),
        5 => (slice![..;2].to_vec(), slice![..;-2].to_vec()),
        10 => (slice![1..;2].to_vec(), slice![..-1;2].to_vec()),
        11 => (slice![..;20].to_vec(), slice![..;20].to_vec()),
        12 => (slice![..;3, ..;-2].to_vec(), slice![..;3, ..;2].to_vec()),
        13 => (slice![-1].to_vec(), slice![0].to_vec()),
        6 => (slice![.., ..;-3].to_vec(), slice![.., ..;3].to_vec()),
        7 => (slice![1.., 1..].to_vec(), slice![..-1, ..-1].to_vec()),
        8 => (slice![..;-1].to_vec(), slice![..].to_vec()),
        _ => (slice![..n / 2, ..].to_vec(), slice![n - n / 2.., ..].to_vec()),
    };
    change(x.at(region), x.slice(part))
}

/// A random expression over square matrices.
fn expression(dice: &mut Dice, leaves: &[Tensor], depth: usize) -> Tensor {
    let x = if depth == 0 { leaves[dice.roll(leaves.len())] } else { expression(dice, leaves, depth - 1) };
    let y = leaves[dice.roll(leaves.len())];
    match dice.roll(22) {
        // Rows that the data choose, among them those that are replaced.
        20 => x.at(y.argsort(1).slice(slice![0])).set(x.slice(slice![..;-1])),
        21 => x.at(x.argsort(0).slice(slice![.., -1])).add(y),
        15 | 16 => region(dice, x, |at, part| at.set(part)),
        17 => region(dice, x, |at, part| at.add(part)),
        18 => {
            let axis = dice.roll(2);
            let other = y.slice_axis(axis, ..1, 1);
            region(dice, x, |at, _| at.set(other.sum(..)))
        }
        19 => x.at(x.gt(y)).set(0.25),
        0 => x.flip(0),
        1 => x.flip(1),
        2 => x.t(),
        3 => concat([x.slice(slice![1..]), y.slice(slice![..1])], 0),
        4 => concat([x.slice(slice![.., 1..]), x.slice(slice![.., ..1])], 1),
        5 => x + x.mean_keepdims(0),
        6 => x - x.max_keepdims(1),
        7 => x * y.sum_keepdims(..),
        8 => x.slice(slice![..1]) + y,
        9 => x.slice(slice![.., ..1]) - y,
        10 => (x * 0.125).exp(),
        11 => x.softmax(dice.roll(2)),
        12 => x * y.t(),
        13 => x.maximum(y),
        _ => x + y,
    }
}

#[test]
fn random_updates_equal_the_interpreter_on_copies() {
    let ways = ways();
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60);
    let mut direct = 0;
    for seed in 0..cases {
        let build = |g: &Graph| {
            let mut dice = Dice(seed * 77 + 1);
            let leaves = ["x", "y", "z"].map(|name| matrix(g, name, true));
            for leaf in &leaves[..1 + dice.roll(3)] {
                let depth = dice.roll(4);
                let value = expression(&mut dice, &leaves, depth);
                // Changes of the input itself, one after the other.
                let value = match dice.roll(4) {
                    // Positions of several changes, some of them among what is replaced.
                    3 => (0..=dice.roll(3)).fold(*leaf, |x, _| {
                        let places = leaves[dice.roll(3)].argsort(0).slice(slice![.., 0]);
                        let rows = leaves[dice.roll(3)] + dice.roll(9) as i64;
                        x.at(places).set(rows)
                    }),
                    0 => (0..=dice.roll(5)).fold(*leaf, |x, _| region(&mut dice, x, |at, part| at.set(part))),
                    1 => region(&mut dice, *leaf, |at, part| at.set(value.mean(..) - part)),
                    _ => value,
                };
                leaf.assign(value);
            }
            let outputs = ["a", "b"].into_iter().take(dice.roll(3));
            outputs.map(|name| (name, expression(&mut dice, &leaves, 2))).collect()
        };
        let ways = &ways[seed as usize % ways.len()..][..1];
        let n = [1, 2, 5, 18, 35][seed as usize % 5];
        check(&format!("seed {seed}"), ways, &build, &|_| vec![n, n]);
        let g = Graph::new();
        let outputs = build(&g);
        let explanation = g.compile(outputs).unwrap().explain();
        direct += ["x", "y", "z"].iter().filter(|name| explanation.in_place(name) == Some(true)).count();
    }
    assert!(direct as u64 > cases / 4, "only {direct} values were written in place");
}

/// The error of a call.
#[track_caller]
fn bind_error<T>(result: Result<T, CallError>) -> BindError {
    match result {
        Err(CallError::Bind(error)) => error,
        Err(CallError::Run(error)) => panic!("{error}"),
        Ok(_) => panic!("it ran"),
    }
}

#[test]
fn assigned_inputs_are_passed_as_mut() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
    x.add_(y);
    let kernel = g.compile([]).unwrap();
    assert_eq!(format!("{kernel:?}"), "Executable(x: &mut f32[n], y: f32[n] -> )");
    assert!(kernel.inputs()[0].is_assigned && !kernel.inputs()[1].is_assigned);
    let (mut a, b) = (vec![1.0f32, 2.0], vec![10.0f32, 20.0]);

    let error = bind_error(kernel.run(inputs! { "x" => &a, "y" => &b }));
    assert_eq!(error.to_string(), r#"input "x" is written to by the kernel: pass it as `&mut`"#);
    assert!(matches!(error, BindError::Shared { .. }));

    assert!(kernel.run(inputs! { "x" => &mut a, "y" => &b }).unwrap().is_empty());
    kernel.run((&mut a, &b)).unwrap();
    kernel.run_into((a.as_mut_slice(), &b), ()).unwrap();
    assert_eq!(a, [31.0, 62.0]);
    // What is only read may be passed as `&mut`, too.
    let mut c = [1.0f32, 1.0];
    kernel.run(inputs! { "y" => &mut c, "x" => &mut a }).unwrap();
    assert_eq!(a, [32.0, 63.0]);
    // A view can be passed again and again.
    let mut view = ArrayViewMut::strided(&mut a, 1, &[2], &[-1]).unwrap();
    kernel.run((&mut view, &b)).unwrap();
    kernel.run((&mut view, &b)).unwrap();
    assert_eq!(a, [72.0, 83.0]);

    // Each run of what is bound updates the array once more, from any thread.
    let bound = kernel.bind((&mut a, &b)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| bound.run().unwrap());
        }
    });
    drop(bound);
    assert_eq!(a, [112.0, 163.0]);

    let mut total = 1.0f32;
    let t = Graph::new();
    t.input::<f32>("total", shape![]).add_(t.input::<f32>("x", shape![t.symbol("n")]).sum(0));
    t.compile([]).unwrap().run((&mut total, &b)).unwrap();
    assert_eq!(total, 31.0);
}

#[test]
fn targets_keep_their_values_when_the_data_have_no_result() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<i64>("x", shape![n]);
    let ids = g.input::<i32>("ids", shape![n]);
    x.assign(x.take(ids, 0));
    let kernel = g.compile([]).unwrap();
    assert!(
        kernel
            .explain()
            .to_string()
            .contains("x: computed aside: the data may fail after elements of it are written")
    );
    let mut data = [5i64, 6, 7];
    let error = kernel.run((&mut data, &[2, 0, 3])).unwrap_err();
    assert!(matches!(error, CallError::Run(RunError::IndexOutOfRange { index: 3, .. })), "{error}");
    assert_eq!(data, [5, 6, 7]);
    kernel.run((&mut data, &[2, 0, -1])).unwrap();
    assert_eq!(data, [7, 5, 7]);

    let g = Graph::new();
    let x = g.input::<i32>("x", shape![g.symbol("n")]);
    x.pow_(x);
    let kernel = g.compile([]).unwrap();
    let mut data = [3, 2, -1];
    assert!(matches!(kernel.run(&mut data), Err(CallError::Run(RunError::NegativeExponent { .. }))));
    assert_eq!(data, [3, 2, -1]);

    let g = Graph::new();
    let (n, k) = (g.symbol("n"), g.symbol("k"));
    let sums = g.input::<f32>("sums", shape![k]);
    let ids = g.input::<i64>("ids", shape![n]);
    sums.add_(g.input::<f32>("rows", shape![n]).segment_sum(ids, k));
    let kernel = g.compile([]).unwrap();
    let mut data = [1.0f32, 2.0];
    let inputs = |ids| (ids, [10.0f32, 20.0, 30.0]);
    let (bad, rows) = inputs([0i64, 2, 1]);
    let error = kernel.run(inputs! { "sums" => &mut data, "ids" => &bad, "rows" => &rows }).unwrap_err();
    let CallError::Run(RunError::NoSuchSegment { row, id, segments, .. }) = error else { panic!("{error}") };
    assert_eq!((row, id, segments, data), (1, 2, 2, [1.0, 2.0]));
    kernel.run(inputs! { "sums" => &mut data, "ids" => &[0i64, 1, 1], "rows" => &rows }).unwrap();
    assert_eq!(data, [11.0, 52.0]);
    let mut none = [0.0f32; 0];
    let error =
        bind_error(kernel.run(inputs! { "sums" => &mut none, "ids" => &[0i64], "rows" => &[1.0f32] }));
    assert!(error.to_string().contains("1 rows, but no segments"), "{error}");
    kernel.run(inputs! { "sums" => &mut none, "ids" => &[0i64; 0], "rows" => &[0.0f32; 0] }).unwrap();
}

/// Views of raw pointers may share memory; then a run computes aside, or refuses.
#[test]
fn arrays_that_share_memory() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
    let (sum, product) = (x + y.flip(0), x * y);
    let kernel = g.compile([("sum", sum), ("product", product)]).unwrap();
    let view = |data: &mut [f32], offset: usize, count: usize, stride: isize| {
        let pointer = data.as_mut_ptr().wrapping_add(offset).cast::<u8>();
        // SAFETY: inside the slice, which outlives the call; all accesses of a call go through such pointers.
        unsafe {
            let shared = ArrayView::from_raw(pointer, DType::F32, &[count], &[stride]).unwrap();
            (shared, ArrayViewMut::from_raw(pointer, DType::F32, &[count], &[stride]).unwrap())
        }
    };
    // The first output lies over the second input, the other one between the elements of the first.
    let start: Vec<f32> = (0..20).map(|i| i as f32).collect();
    let mut data = start.clone();
    let (x_view, _) = view(&mut data, 0, 5, 2);
    let (y_view, sum_view) = view(&mut data, 10, 5, 1);
    let (_, product_view) = view(&mut data, 1, 5, 2);
    kernel.run_into((x_view, y_view), (sum_view, product_view)).unwrap();
    for i in 0..5 {
        assert_eq!(data[10 + i], start[2 * i] + start[14 - i], "{data:?}");
        assert_eq!(data[1 + 2 * i], start[2 * i] * start[10 + i], "{data:?}");
    }
    // Two outputs in one place.
    let (a, b) = ([1.0f32; 5], [2.0f32; 5]);
    let ((_, first), (_, second)) = (view(&mut data, 0, 5, 1), view(&mut data, 0, 5, 1));
    let error = bind_error(kernel.run_into((&a, &b), (first, second)));
    assert_eq!(
        error.to_string(),
        r#"output "sum" and output "product" are the same array, and both are written to"#
    );

    // An assigned input that overlaps one that is read.
    let h = Graph::new();
    let n = h.symbol("n");
    let (x, y) = (h.input::<f32>("x", shape![n]), h.input::<f32>("y", shape![n]));
    x.assign(x + 10 * y);
    let kernel = h.compile([]).unwrap();
    let mut data = start.clone();
    let ((_, x_view), (y_view, _)) = (view(&mut data, 1, 10, 1), view(&mut data, 0, 10, 1));
    kernel.run((x_view, y_view)).unwrap();
    for i in 0..10 {
        assert_eq!(data[i + 1], start[i + 1] + 10.0 * start[i], "{data:?}");
    }
    // The output of a run lies over the target.
    let twice = h.compile([("y", y * 2)]).unwrap();
    let ((_, x_view), (_, out)) = (view(&mut data, 0, 5, 1), view(&mut data, 0, 5, 1));
    let error = bind_error(twice.run_into((x_view, &a), out));
    assert!(matches!(error, BindError::SameArray { .. }), "{error}");
}

#[test]
fn mistakes() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![1, n]);
    let i = g.input::<i32>("i", shape![n]);
    let message = |bad: Tensor| {
        assert!(bad.is_poisoned());
        let errors = g.check().unwrap_err();
        let last = errors.as_slice().last().unwrap().clone();
        (last.code().as_str(), last.to_string(), format!("{last:#}"))
    };
    let (code, text, _) = message(x.add_(g.input::<f32>("y", shape![m, n])));
    assert_eq!(
        (code, &*text),
        ("S003", "`add_` cannot write its result into \"x\": axis 0 would grow from 1 to `m`")
    );
    let (code, text, full) = message(i.assign(i * 0.5));
    assert_eq!((code, &*text), ("T005", "`assign` does not convert f64 to i32, a different kind of number"));
    assert!(full.contains("help: to convert it anyway:   i.assign(value.cast::<i32>())"), "{full}");
    let (code, _, full) = message(i.divide_(2));
    assert_eq!(code, "T005");
    assert!(full.contains("i.assign((i / 2).cast::<i32>())"), "{full}");
    let (code, text, _) = message((x + 1).assign(x));
    assert_eq!(
        (code, &*text),
        ("N006", "`assign` can write only to an input, not to the result of an expression")
    );
    let (code, text, _) = message(x.assign(g.input::<f32>("z", shape![m])));
    assert_eq!(
        (code, &*text),
        (
            "S002",
            "`assign` cannot stretch to [1, n]: axis 1 is `m`, but should be `n`, not known to be equal"
        )
    );
    let line = line!() + 1;
    x.assign(i);
    let (code, text, full) = message(g.assign(x, 0));
    assert_eq!(
        (code, &*text),
        ("N002", "`assign` writes to the input \"x\", which has already been assigned")
    );
    assert!(full.contains("first assigned at") && full.contains(&format!(" {}:{line}:", file!())), "{full}");

    let g = Graph::new();
    let x = g.input::<f32>("x", shape![2]);
    x.add_(1);
    assert!(g.compile([("x", x)]).unwrap_err().to_string().contains("two outputs have the name \"x\""));
    assert!(Graph::new().compile([]).unwrap_err().to_string().contains("no outputs"));
    let error = eval::<_, _, Vec<f32>>(&[1.0f32], |x| x.assign(x + 1)).unwrap_err();
    assert!(error.to_string().contains("pass it as `&mut`"), "{error}");
}
