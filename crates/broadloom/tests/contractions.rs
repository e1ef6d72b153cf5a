//! Reductions of what two axes move, each some of it, computed for blocks of both: the bits of the interpreter.

#[path = "support/options.rs"]
mod options;
mod support;

use broadloom::prelude::*;
use broadloom::{AnyArray, CompileOptions, CpuLevel, Dim, Element, Executable};
use broadloom_ir::interp::{self, interpret};
use options::options;
use support::numbers;

/// Of `x[n, 1, r]` and `y[k, r]`.
type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

const EXPRESSIONS: &[(&str, Expression)] = &[
    ("products", |x, y| vec![(x * y).sum(-1)]),
    ("squared differences", |x, y| vec![(x - y).square().sum(-1)]),
    ("differences", |x, y| vec![(x - y).abs().sum(-1)]),
    ("the greatest sum", |x, y| vec![(x + y).max(-1)]),
    ("a count", |x, y| vec![x.lt(y).sum(-1)]),
    ("of what is computed of each", |x, y| vec![((x + 1) * (y * y - 0.5)).sum(-1)]),
    ("two at once", |x, y| vec![(x * y).sum(-1), (x - y).abs().sum(-1)]),
    ("products and what follows", |x, y| vec![((x * y).sum(-1) * 0.5 + 1).relu()]),
    ("a function of sums", |x, y| vec![(-(x - y).square().sum(-1)).exp()]),
    ("products of products", |x, y| vec![(x * 0.001 + y * 0.001 + 1).prod(-1)]),
];

/// Of `x[n, 1, r]`, `y[k, r]` and `w[k, 5]`.
type Reduced = fn(Tensor, Tensor, Tensor) -> Vec<Tensor>;

/// What is reduced over the rows of `y` as well.
const REDUCED: &[(&str, Reduced)] = &[
    ("the nearest", |x, y, _| vec![(x - y).square().sum(-1).argmin(-1)]),
    ("the nearest and how near", |x, y, _| {
        let distances = (x - y).square().sum(-1).sqrt();
        vec![distances.min(-1), distances.argmin(-1)]
    }),
    ("the greatest product, and where", |x, y, _| {
        let products = (x * y).sum(-1);
        vec![products.max(-1), products.argmax(-1)]
    }),
    ("a sum", |x, y, _| vec![((x * y).sum(-1) * 0.5).sum(-1)]),
    ("sums of functions", |x, y, _| vec![(-(x - y).square().sum(-1)).exp().sum(-1)]),
    ("weights", |x, y, w| vec![((x - y).abs().sum(-1) * w.index(1, 0)).sum(-1)]),
    ("weights of several right-hand sides", |x, y, w| {
        let near = (-(x - y).square().sum(-1)).exp();
        vec![near.matmul(w)]
    }),
    ("two sums", |x, y, _| {
        let products = (x * y).sum(-1);
        vec![products.tanh().sum(-1), products.square().sum(-1)]
    }),
    ("a product", |x, y, _| vec![((x * y).sum(-1) * 0.001 + 1).prod(-1)]),
    ("a count", |x, y, _| vec![(x * y).sum(-1).gt(0.5).sum(-1)]),
    ("counts of counts", |x, y, _| vec![x.lt(y).sum(-1).gt(2).sum(-1)]),
    ("the greatest of what is greatest", |x, y, _| vec![(x + y).max(-1).min(-1)]),
    ("the nearest ones", |x, y, _| {
        let (distances, codes) = (x - y).square().sum(-1).topk_smallest(3, -1);
        vec![distances, codes]
    }),
    ("the best of what is computed", |x, y, w| {
        let (scores, codes) = (-((x - y).abs().sum(-1) - w.index(1, 0)).exp()).topk(2, -1);
        vec![codes, scores]
    }),
    ("the one with most", |x, y, _| vec![x.lt(y).sum(-1).topk(1, -1).1]),
    ("the logarithm of a sum of exponentials", |x, y, _| vec![(x * y).sum(-1).logsumexp(-1)]),
    ("a mean by softmax", |x, y, w| {
        let scores = -(x - y).square().sum(-1);
        let weights = (scores - scores.max_keepdims(-1)).exp();
        vec![(weights * w.index(1, 0)).sum(-1) / weights.sum(-1)]
    }),
    ("counts and products", |x, y, _| {
        let counts = x.lt(y).sum(-1);
        let products = (x * y).cast::<f64>().sum(-1);
        vec![(counts.cast::<f64>() * products.max_keepdims(-1)).sum(-1)]
    }),
    ("of each row as well", |x, y, _| {
        let own = x.square().sum(-1);
        vec![((x * y).sum(-1) - own).max(-1), own.index(1, 0).exp()]
    }),
];

/// Around whole blocks of rows, whole vectors, and whole blocks of the tree.
const SIZES: [[usize; 3]; 17] = [
    [36, 64, 64],
    [8, 16, 9],
    [9, 17, 0],
    [37, 65, 1],
    [35, 63, 10],
    [80, 130, 63],
    [41, 47, 65],
    [8, 100, 80],
    [73, 16, 300],
    [12, 20, 1023],
    [12, 32, 1024],
    [11, 19, 1025],
    [10, 34, 2047],
    [9, 18, 2049],
    [20, 17, 3100],
    [8, 16, 5200],
    [0, 16, 70],
];

fn bits<T: Element>(of: impl Fn(&T) -> u64) -> impl Fn(&[T]) -> Vec<u64> {
    move |values| values.iter().map(&of).collect()
}

/// Whether the outputs of each kernel have the bits of the interpreter.
fn compare(what: &str, kernels: &[Executable], views: &[ArrayView<'_>; 2], arrays: &[interp::Array]) {
    let graph = kernels[0].graph();
    let want = interpret(graph, arrays, CpuLevel::detect().is_fused());
    for kernel in kernels {
        let got = kernel.run(inputs! { "x" => views[0].clone(), "y" => views[1].clone() });
        // An extreme of nothing is refused.
        let Ok(want) = &want else {
            assert!(got.is_err(), "{what}");
            continue;
        };
        let mut got = got.unwrap();
        for (output, want) in graph.outputs().iter().zip(want) {
            let got: AnyArray = got.take(&output.name).unwrap();
            if let Some(got) = got.as_slice::<f32>() {
                let of = bits(|value: &f32| value.to_bits().into());
                assert_eq!(of(got), of(&want.to_vec::<f32>().unwrap()), "{what}");
            } else if let Some(got) = got.as_slice::<f64>() {
                let of = bits(|value: &f64| value.to_bits());
                assert_eq!(of(got), of(&want.to_vec::<f64>().unwrap()), "{what}");
            } else {
                assert_eq!(got.as_slice::<i64>().unwrap(), want.to_vec::<i64>().unwrap(), "{what}");
            }
        }
    }
}

fn compiled(graph: &Graph, outputs: Vec<Tensor>, options: &CompileOptions) -> Executable {
    graph.compile_with(["first", "second"].into_iter().zip(outputs), options).unwrap()
}

/// Around whole blocks of rows, where these are reduced as well.
const REDUCED_SIZES: [[usize; 3]; 14] = [
    [64, 36, 64],
    [16, 8, 9],
    [17, 9, 0],
    [65, 37, 1],
    [63, 64, 10],
    [130, 65, 63],
    [17, 1023, 65],
    [16, 1024, 2],
    [20, 1025, 1],
    [19, 2500, 12],
    [16, 40, 1025],
    [19, 9, 2049],
    [16, 0, 70],
    [0, 16, 70],
];

fn is_contraction(kernel: &Executable) -> bool {
    kernel.explain().to_string().contains("contract r for n over rows of k")
}

/// Whether an expression is a contraction, with the bits of the interpreter for the sizes.
fn check((name, expression): (&str, Expression), sizes: &[[usize; 3]]) {
    let kernels = options().map(|options| {
        let g = Graph::new();
        let [n, k, r] = g.symbols(["n", "k", "r"]);
        let (x, y) = (g.input::<f32>("x", shape![n, r]), g.input::<f32>("y", shape![k, r]));
        let kernel = compiled(&g, expression(x.unsqueeze(1), y), &options);
        assert_eq!(is_contraction(&kernel), options.vectorize, "{name}: {}", kernel.explain());
        kernel
    });
    for &[n, k, r] in sizes {
        let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
        let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
        let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
        compare(&format!("{name} of {n}, {k}, {r}"), &kernels, &views, &arrays);
    }
}

#[test]
fn all_sizes_have_the_bits_of_the_interpreter() {
    EXPRESSIONS.iter().for_each(|expression| check(*expression, &SIZES));
}

/// The rows of results of several blocks share the memory that one block would fill: as many rows as fit, and more. Two
/// blocks, of which the first has a rank; then three and four; five; and nine.
#[test]
fn ranks_of_many_rows_have_the_bits_of_the_interpreter() {
    let sizes =
        [[288, 3, 1025], [300, 3, 2048], [192, 3, 3072], [200, 3, 4096], [150, 3, 4097], [150, 2, 9000]];
    check(EXPRESSIONS[0], &sizes);
}

/// Numbers of as many rows as there are codes, that are computed where they are read.
fn weights(g: &Graph, rows: impl Into<Dim>) -> Tensor {
    g.iota(rows).cast::<f32>().unsqueeze(1) * 0.1 - g.iota(5).cast::<f32>()
}

/// What follows a contraction over the axis for whose steps it has rows: neither is a table.
#[test]
fn reductions_of_all_sizes_have_the_bits_of_the_interpreter() {
    for (name, expression) in REDUCED {
        let kernels = options().map(|options| {
            let g = Graph::new();
            let [n, k, r] = g.symbols(["n", "k", "r"]);
            let (x, y) = (g.input::<f32>("x", shape![n, r]), g.input::<f32>("y", shape![k, r]));
            let outputs = expression(x.unsqueeze(1), y, weights(&g, k));
            let kernel = compiled(&g, outputs, &options);
            let explained = kernel.explain().to_string();
            let is_fused = ["contract r", " for k over rows of n", "stored between kernels: 0 bytes"]
                .into_iter()
                .all(|text| explained.contains(text));
            assert_eq!(is_fused, options.vectorize, "{name}: {explained}");
            kernel
        });
        for [n, k, r] in REDUCED_SIZES {
            let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
            let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
            let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
            compare(&format!("{name} of {n}, {k}, {r}"), &kernels, &views, &arrays);
        }
    }
}

/// Sums of few terms are unrolled where they are no contractions.
#[test]
fn reductions_over_constant_axes_have_the_bits_of_the_interpreter() {
    for (name, expression) in REDUCED {
        for r in [1, 2, 5, 8, 9, 17, 64, 65, 129] {
            for sizes in
                [["n", "k"], ["40", "k"], ["n", "20"], ["5", "k"], ["n", "3"], ["n", "7"], ["n", "8"]]
            {
                let kernels = options().map(|options| {
                    let g = Graph::new();
                    let [n, k] = sizes.map(|size| match size.parse::<i64>() {
                        Ok(size) => Dim::from(size),
                        Err(_) => g.symbol(size).into(),
                    });
                    let x = g.input::<f32>("x", shape![n, r]);
                    let y = g.input::<f32>("y", shape![k, r]);
                    compiled(&g, expression(x.unsqueeze(1), y, weights(&g, k)), &options)
                });
                let [n, k] =
                    [(sizes[0], 40), (sizes[1], 50)].map(|(size, other)| size.parse().unwrap_or(other));
                let (x, y) = (numbers(n * r as usize, 1), numbers(k * r as usize, 2));
                let (at_x, at_y) = ([n, r as usize], [k, r as usize]);
                let views = [ArrayView::new(&x, &at_x).unwrap(), ArrayView::new(&y, &at_y).unwrap()];
                let arrays = [interp::Array::new(&at_x, &x), interp::Array::new(&at_y, &y)];
                compare(&format!("{name} of {n}, {k}, {r}"), &kernels, &views, &arrays);
            }
        }
    }
}

/// Few rows, of which one is no contraction, and strips that end with a part of a vector.
#[test]
fn few_rows_have_the_bits_of_the_interpreter() {
    for (name, expression) in REDUCED {
        for r in [3, 20] {
            let kernels = options().map(|options| {
                let g = Graph::new();
                let [n, k] = g.symbols(["n", "k"]);
                let (x, y) = (g.input::<f32>("x", shape![n, r]), g.input::<f32>("y", shape![k, r]));
                compiled(&g, expression(x.unsqueeze(1), y, weights(&g, k)), &options)
            });
            for [n, k] in [[1, 1900], [2, 1500], [7, 600], [8, 500], [13, 400], [31, 150], [1900, 1]] {
                let r = r as usize;
                let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
                let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
                let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
                compare(&format!("{name} of {n}, {k}, {r}"), &kernels, &views, &arrays);
                for kernel in &kernels {
                    let bound = kernel.bind(inputs! { "x" => views[0].clone(), "y" => views[1].clone() });
                    // The three nearest of one are refused, as above.
                    let Ok(bound) = bound else { continue };
                    let explained = bound.explain().to_string();
                    let is_single = n.min(k) == 1;
                    assert!(
                        !is_single || !explained.contains("contract "),
                        "{name} of {n}, {k}: {explained}"
                    );
                }
            }
        }
    }
}

/// The distances to a few codes are sums of one loop, which reads an observation once.
#[test]
fn distances_to_few_codes_are_sums_of_one_loop() {
    for (k, sums) in [(2, 2), (4, 4), (5, 1), (8, 1)] {
        let g = Graph::new();
        let (x, y) = (g.input::<f32>("x", shape![g.symbol("n"), 128]), g.input::<f32>("y", shape![k, 128]));
        let nearest = (x.unsqueeze(1) - y).square().sum(-1).sqrt().argmin(-1);
        let explained = compiled(&g, vec![nearest], &CompileOptions::default()).explain().to_string();
        assert_eq!(explained.matches(" = sum v").count(), sums, "{explained}");
        assert_eq!(explained.contains("contract 128"), k > 4, "{explained}");
    }
}

/// Whether sums are unrolled depends on all that reads them, in any order.
#[test]
fn the_order_of_outputs_decides_nothing() {
    let contracted = |is_swapped: bool| {
        let g = Graph::new();
        let (x, y) = (g.input::<f32>("x", shape![40, 8]), g.input::<f32>("y", shape![10_000, 8]));
        let distances = (x.unsqueeze(1) - y).square().sum(-1);
        let outputs = match is_swapped {
            false => vec![distances.argmin(1), distances.min(0)],
            true => vec![distances.min(0), distances.argmin(1)],
        };
        let kernel = compiled(&g, outputs, &CompileOptions::default());
        kernel.explain().to_string().matches("contract ").count()
    };
    assert_eq!([false, true].map(contracted), [2, 2]);
}

/// Rows of both sides that lie apart along the reduction axis are packed, and go on behind the last one.
#[test]
fn reductions_of_transposed_tables_have_the_bits_of_the_interpreter() {
    for (name, expression) in REDUCED {
        for (r, across) in [(9, [true, false]), (9, [false, true]), (20, [true, true]), (65, [true, true])] {
            let kernels = options().map(|options| {
                let g = Graph::new();
                let [n, k] = g.symbols(["n", "k"]);
                let [x, y] =
                    [("x", n, across[0]), ("y", k, across[1])].map(|(name, size, across)| match across {
                        true => g.input::<f32>(name, shape![r, size]).t(),
                        false => g.input::<f32>(name, shape![size, r]),
                    });
                compiled(&g, expression(x.unsqueeze(1), y, weights(&g, k)), &options)
            });
            for [n, k] in [[37, 41], [64, 36], [16, 16], [20, 70]] {
                let r = r as usize;
                let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
                let shape = |size: usize, across: bool| if across { [r, size] } else { [size, r] };
                let (at_x, at_y) = (shape(n, across[0]), shape(k, across[1]));
                let views = [ArrayView::new(&x, &at_x).unwrap(), ArrayView::new(&y, &at_y).unwrap()];
                let arrays = [interp::Array::new(&at_x, &x), interp::Array::new(&at_y, &y)];
                compare(&format!("{name} of {n}, {k}, {r}, {across:?}"), &kernels, &views, &arrays);
            }
        }
    }
}

/// Sizes that were taken to be longer have other code.
#[test]
fn short_axes_are_no_contractions() {
    let kernels = options().map(|options| {
        let g = Graph::new();
        let [n, k, r] = g.symbols(["n", "k", "r"]);
        let (x, y) = (g.input::<f32>("x", shape![n, r]), g.input::<f32>("y", shape![k, r]));
        compiled(&g, vec![(x.unsqueeze(1) * y).sum(-1)], &options)
    });
    let shapes = [
        (1, 1),
        (1, 1100),
        (1100, 1),
        (2, 2),
        (3, 5),
        (2, 1100),
        (1100, 5),
        (7, 160),
        (80, 15),
        (100, 16),
        (0, 0),
        (100, 0),
    ];
    for (n, k) in shapes {
        for r in [0, 1, 3, 64, 65, 1030] {
            let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
            let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
            let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
            compare(&format!("{n}, {k}, {r}"), &kernels, &views, &arrays);
            let bound =
                kernels[0].bind(inputs! { "x" => views[0].clone(), "y" => views[1].clone() }).unwrap();
            let is_long = n != 1 && k != 1;
            // With so few elements, a call takes no longer than what surrounds it.
            let is_little = [n * k, n * r, k * r].into_iter().all(|count| count < 1024);
            let is_contraction = bound.explain().to_string().contains("contract");
            // Sums of three terms may be unrolled instead.
            let is_free = is_little || r == 3 && is_long;
            assert!(is_contraction == is_long || is_free, "{n}, {k}, {r}: {}", bound.explain());
        }
    }
}

/// Of `x[n, 1, r]` and `y[k, r]` of integers.
type OfIntegers = fn(Tensor, Tensor) -> Tensor;

const OF_INTEGERS: &[(&str, OfIntegers)] = &[
    ("a count", |x, y| x.ne(y).sum(-1)),
    ("a count of two conditions", |x, y| (x.ne(y) & y.gt(0)).sum(-1)),
    ("a sum", |x, y| x.maximum(y).sum(-1)),
    ("a sum of products", |x, y| (x * y).sum(-1)),
    ("a count of bits", |x, y| (x ^ y).count_ones().sum(-1)),
];

/// Lanes that are narrower than a sum hold the greatest and the least elements for as many steps as they are taken to.
#[test]
fn sums_of_integers_are_those_of_the_interpreter() {
    fn check<T: Element + PartialEq>(least: T, greatest: T, others: [T; 2]) {
        for (name, expression) in OF_INTEGERS {
            let kernels = options().map(|options| {
                let g = Graph::new();
                let [n, k, r] = g.symbols(["n", "k", "r"]);
                let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![k, r]));
                let kernel = compiled(&g, vec![expression(x.unsqueeze(1), y)], &options);
                assert_eq!(is_contraction(&kernel), options.vectorize, "{name}: {}", kernel.explain());
                kernel
            });
            for [n, k, r] in [[37, 65, 70], [8, 17, 255], [9, 64, 256], [9, 34, 1025], [7, 16, 2300]] {
                // Rows of one extreme, of the other, and of all.
                let value = |row: usize, step: usize| match (row % 3, (row + step * step) % 4) {
                    (0, _) | (2, 0) => greatest,
                    (1, _) | (2, 1) => least,
                    (_, which) => others[which - 2],
                };
                let table =
                    |rows: usize| -> Vec<T> { (0..rows * r).map(|at| value(at / r, at % r)).collect() };
                let (x, y) = (table(n), table(k));
                let inputs = || {
                    inputs! {
                        "x" => ArrayView::new(&x, &[n, r]).unwrap(),
                        "y" => ArrayView::new(&y, &[k, r]).unwrap(),
                    }
                };
                let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
                let want = interpret(kernels[0].graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
                for kernel in &kernels {
                    let got: AnyArray = kernel.run(inputs()).unwrap().take("first").unwrap();
                    let what = format!("{name} of {n}, {k}, {r} {}", T::DTYPE);
                    match got.as_slice::<i64>() {
                        Some(got) => assert_eq!(got, want[0].to_vec::<i64>().unwrap(), "{what}"),
                        None => {
                            assert_eq!(
                                got.as_slice::<u64>().unwrap(),
                                want[0].to_vec::<u64>().unwrap(),
                                "{what}"
                            );
                        }
                    }
                }
            }
        }
    }
    check(u8::MIN, u8::MAX, [1, 127]);
    check(i8::MIN, i8::MAX, [-1, 0]);
    check(u16::MIN, u16::MAX, [1, 0x7fff]);
    check(i16::MIN, i16::MAX, [-1, 0]);
    check(u32::MIN, u32::MAX, [1, 0x7fff_ffff]);
    check(i64::MIN, i64::MAX, [-1, 0]);
    check(u64::MIN, u64::MAX, [1, 1 << 40]);
}

/// Every order of the axes in memory, steps between elements, and batches, some of which share an operand.
#[test]
fn layouts_and_batches_have_the_same_bits() {
    /// The name, the shapes of `x` and `y`, and what is computed of arrays of such shapes.
    type Batches = (&'static str, [[usize; 3]; 2], fn(&Graph) -> Tensor);
    fn inputs(g: &Graph, shapes: [broadloom::Shape; 2]) -> [Tensor; 2] {
        let [x, y] = shapes;
        [g.input::<f32>("x", x), g.input::<f32>("y", y)]
    }
    fn product([x, y]: [Tensor; 2]) -> Tensor {
        (x.unsqueeze(-1) * y.unsqueeze(1)).sum(2)
    }
    let batches: [Batches; 4] = [
        ("both", [[3, 37, 70], [3, 70, 35]], |g| {
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            product(inputs(g, [shape![b, n, r], shape![b, r, k]]))
        }),
        ("the left", [[3, 37, 70], [1, 70, 35]], |g| {
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            product(inputs(g, [shape![b, n, r], shape![1, r, k]]))
        }),
        ("the right", [[1, 37, 70], [3, 70, 35]], |g| {
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            product(inputs(g, [shape![1, n, r], shape![b, r, k]]))
        }),
        ("both, of rows", [[3, 37, 70], [3, 35, 70]], |g| {
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            let [x, y] = inputs(g, [shape![b, n, r], shape![b, k, r]]);
            (x.unsqueeze(2) * y.unsqueeze(1)).sum(-1)
        }),
    ];
    for (name, [left, right], expression) in batches {
        let (left, right) = (left.as_slice(), right.as_slice());
        let kernels = options().map(|options| {
            let g = Graph::new();
            let outputs = vec![expression(&g)];
            compiled(&g, outputs, &options)
        });
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let (x, y) = (numbers(count(left), 3), numbers(count(right), 4));
        let arrays = [interp::Array::new(left, &x), interp::Array::new(right, &y)];
        for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
            for apart in [1, 2] {
                let (x, strides_x) = laid_out(&x, left, order, apart);
                let (y, strides_y) = laid_out(&y, right, order, apart);
                let views = [
                    ArrayView::strided(&x, 0, left, &strides_x).unwrap(),
                    ArrayView::strided(&y, 0, right, &strides_y).unwrap(),
                ];
                compare(&format!("batches of {name}, {order:?} by {apart}"), &kernels, &views, &arrays);
            }
        }
    }
}

/// Elements with the axes in another order in memory, the last of which steps by `apart`; and their strides.
fn laid_out(values: &[f32], shape: &[usize], order: [usize; 3], apart: usize) -> (Vec<f32>, Vec<isize>) {
    let mut strides = [0; 3];
    let mut length = apart;
    for axis in order.into_iter().rev() {
        strides[axis] = length;
        length *= shape[axis];
    }
    let mut laid_out = vec![f32::NAN; length];
    for (at, value) in values.iter().enumerate() {
        let index = [at / (shape[1] * shape[2]), at / shape[2] % shape[1], at % shape[2]];
        laid_out[index.iter().zip(strides).map(|(at, stride)| at * stride).sum::<usize>()] = *value;
    }
    (laid_out, strides.map(|stride| stride as isize).to_vec())
}

/// Products, and greatest sums, of every dtype that is stored.
#[test]
fn dtypes_have_the_bits_of_the_interpreter() {
    fn check<T: Element>(of: impl Fn(usize) -> T) {
        for expression in [
            |x: Tensor, y: Tensor| (x * y).sum(-1),
            |x: Tensor, y: Tensor| x.minimum(y).max(-1).cast::<f64>(),
        ] {
            let kernels = options().map(|options| {
                let g = Graph::new();
                let [n, k, r] = g.symbols(["n", "k", "r"]);
                let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![k, r]));
                let sums = expression(x.unsqueeze(1), y);
                let is_float = sums.dtype().is_some_and(broadloom::DType::is_float);
                let sums = if is_float { sums.cast::<f64>() } else { sums.cast::<i64>() };
                let kernel = compiled(&g, vec![sums], &options);
                assert_eq!(is_contraction(&kernel), options.vectorize, "{}", kernel.explain());
                kernel
            });
            for [n, k, r] in [[37, 70, 20], [9, 33, 100], [8, 40, 1100]] {
                let x: Vec<T> = (0..n * r).map(|at| of(at * 7 + 1)).collect();
                let y: Vec<T> = (0..k * r).map(|at| of(at * 5 + 3)).collect();
                let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
                let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
                compare(std::any::type_name::<T>(), &kernels, &views, &arrays);
            }
        }
    }
    check(|at| (at % 251) as i8);
    check(|at| (at % 257) as u8);
    check(|at| (at * 37) as i16);
    check(|at| (at * 41) as u16);
    check(|at| (at * 100_003) as i32);
    check(|at| (at * 100_019) as u32);
    check(|at| (at as i64).wrapping_mul(0x1234_5678_9abc_def1));
    check(|at| (at as u64).wrapping_mul(0x9234_5678_9abc_def1));
    check(|at| f16::from_f32((at % 1009) as f32 * 0.01 - 4.0));
    check(|at| bf16::from_f32((at % 1009) as f32 * 0.01 - 4.0));
    check(|at| (at % 1009) as f32 * 0.01 - 4.0);
    check(|at| (at % 1009) as f64 * 0.01 - 4.0);
    check(|at| at % 3 == 0);
}

/// Rows that are kept between loops around are no part of a contraction.
#[test]
fn functions_of_outer_axes_are_kept_or_not() {
    let (b, n, k, r) = (2, 40, 33, 70);
    let (v, x, y) = (numbers(b * n, 5), numbers(b * n * r, 6), numbers(b * k * r, 7));
    let (at_v, at_x, at_y) = ([b, n], [b, n, r], [b, k, r]);
    let arrays =
        [interp::Array::new(&at_v, &v), interp::Array::new(&at_x, &x), interp::Array::new(&at_y, &y)];
    let expressions: [fn(Tensor, Tensor) -> Tensor; 3] = [
        |v, table| v.softmax(-1).unsqueeze(-1) * table,
        |v, table| v.tanh().unsqueeze(-1) * v.tanh().sum(-1).unsqueeze(-1).unsqueeze(-1) * table,
        |v, table| v.exp().unsqueeze(-1) + table.exp(),
    ];
    for expression in expressions {
        for options in options() {
            let g = Graph::new();
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            let weights = g.input::<f32>("v", shape![b, n]);
            let (left, right) = (g.input::<f32>("x", shape![b, n, r]), g.input::<f32>("y", shape![b, k, r]));
            let table = (left.unsqueeze(2) * right.unsqueeze(1)).sum(-1);
            let kernel = compiled(&g, vec![expression(weights, table)], &options);
            let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
            let inputs = inputs! {
                "v" => ArrayView::new(&v, &at_v).unwrap(),
                "x" => ArrayView::new(&x, &at_x).unwrap(),
                "y" => ArrayView::new(&y, &at_y).unwrap(),
            };
            let got: AnyArray = kernel.run(inputs).unwrap().take("first").unwrap();
            let of = bits(|value: &f32| value.to_bits().into());
            assert_eq!(of(got.as_slice::<f32>().unwrap()), of(&want[0].to_vec::<f32>().unwrap()));
        }
    }
}

/// Packed rows, results and ranks of a thread.
#[test]
fn scratch_memory_stays_below_a_mebibyte() {
    fn check<T: Element>(name: &str, expression: Expression, across: [bool; 2], length: Option<i64>) {
        let g = Graph::new();
        let [n, k, r] = g.symbols(["n", "k", "r"]);
        let r = length.map_or(r.into(), Dim::from);
        let [x, y] = [("x", n, across[0]), ("y", k, across[1])].map(|(input, size, across)| match across {
            true => g.input::<T>(input, shape![r, size]).t(),
            false => g.input::<T>(input, shape![size, r]),
        });
        let kernel = compiled(&g, expression(x.unsqueeze(1), y), &CompileOptions::default());
        let explained = kernel.explain().to_string();
        assert!(explained.contains("contract"), "{name}: {explained}");
        let (before, _) = explained.split_once(" bytes of scratch per thread").unwrap();
        let bytes: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((1..1 << 20).contains(&bytes), "{name}: {explained}");
    }
    for (name, expression) in EXPRESSIONS {
        for across in [[false, false], [false, true], [true, false], [true, true]] {
            for length in [None, Some(16), Some(64), Some(65), Some(1024), Some(1025)] {
                check::<f32>(name, *expression, across, length);
                check::<f64>(name, *expression, across, length);
            }
        }
    }
}

/// Behind a contraction, accumulators of up to five right-hand sides and of all ranks are added to its rows.
#[test]
fn scratch_memory_of_reductions_stays_below_one_and_a_half_mebibytes() {
    fn check<T: Element>(name: &str, expression: Reduced, length: Option<i64>) {
        let g = Graph::new();
        let [n, k, r] = g.symbols(["n", "k", "r"]);
        let r = length.map_or(r.into(), Dim::from);
        let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![r, k]).t());
        let w = weights(&g, k).cast::<T>();
        let kernel = compiled(&g, expression(x.unsqueeze(1), y, w), &CompileOptions::default());
        let explained = kernel.explain().to_string();
        let kernels: Vec<&str> = explained.split(" bytes of scratch per thread").collect();
        let (_, before) = kernels.split_last().unwrap();
        assert!(!before.is_empty(), "{name}: {explained}");
        for text in before {
            let bytes: usize = text.rsplit(' ').next().unwrap().parse().unwrap();
            assert!(bytes < 3 << 19, "{name}: {explained}");
        }
    }
    for (name, expression) in REDUCED {
        for length in [None, Some(16), Some(64), Some(65), Some(1024), Some(1025)] {
            check::<f32>(name, *expression, length);
            check::<f64>(name, *expression, length);
        }
    }
}
