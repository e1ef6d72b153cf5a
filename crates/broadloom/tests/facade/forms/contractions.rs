//! Reductions of what two axes move, each some of it, computed for blocks of both: the bits of the interpreter.

use crate::support::harness::{Input, Kernels, Layout};
use crate::support::numbers::{numbers, with_zeros};
use crate::support::ways::{selected, ways};
use broadloom::prelude::*;
use broadloom_ir::dtype::Scalar;

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
const SIZES: [[usize; 3]; 15] = [
    [36, 64, 64],
    [8, 16, 9],
    [9, 17, 0],
    [37, 65, 1],
    [35, 63, 10],
    [44, 67, 63],
    [41, 47, 65],
    [8, 17, 80],
    [13, 20, 300],
    [12, 20, 1023],
    [9, 32, 1024],
    [11, 19, 1025],
    [9, 18, 2049],
    [10, 17, 3100],
    [0, 16, 70],
];

/// Around whole blocks of rows, where these are reduced as well.
const REDUCED_SIZES: [[usize; 3]; 14] = [
    [64, 36, 64],
    [16, 8, 9],
    [17, 9, 0],
    [65, 37, 1],
    [63, 64, 10],
    [66, 65, 63],
    [17, 1023, 9],
    [16, 1024, 2],
    [20, 1025, 1],
    [19, 2500, 8],
    [16, 20, 1025],
    [17, 9, 2049],
    [16, 0, 70],
    [0, 16, 70],
];

fn is_contraction(kernel: &Executable) -> bool {
    kernel.explain().to_string().contains("contract r for n over rows of k")
}

/// Tables `[n, r]` and `[k, r]`.
fn tables<T: Element>([n, k, r]: [usize; 3], elements: fn(usize, u32) -> Vec<T>) -> [Input<T>; 2] {
    [Input::of(&[n, r], elements, 1), Input::of(&[k, r], elements, 2)]
}

/// Inputs `x[n, 1, r]` and `y[k, r]`.
fn pairs<T: Element>(g: &Graph, n: impl Into<Dim>, k: impl Into<Dim>, r: impl Into<Dim>) -> [Tensor; 2] {
    let (n, k, r): (Dim, Dim, Dim) = (n.into(), k.into(), r.into());
    let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![k, r]));
    [x.unsqueeze(1), y]
}

fn of_symbols<T: Element>(g: &Graph) -> [Tensor; 2] {
    let [n, k, r] = g.symbols(["n", "k", "r"]);
    pairs::<T>(g, n, k, r)
}

/// Whether an expression is a contraction, with the bits of the interpreter for the sizes.
fn check((name, expression): (&str, Expression), sizes: &[[usize; 3]]) {
    let kernels = Kernels::of(&ways(), |g| {
        let [x, y] = of_symbols::<f32>(g);
        expression(x, y)
    });
    for (way, kernel) in kernels.each() {
        assert_eq!(is_contraction(kernel), way.vectorize, "{name}: {}", kernel.explain());
    }
    for sizes in sizes {
        kernels.check(name, &tables(*sizes, numbers));
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
    for (which, (name, expression)) in REDUCED.iter().enumerate() {
        let kernels = Kernels::of(&ways(), |g| {
            let [n, k, r] = g.symbols(["n", "k", "r"]);
            let [x, y] = pairs::<f32>(g, n, k, r);
            expression(x, y, weights(g, k))
        });
        for (way, kernel) in kernels.each() {
            let explained = kernel.explain().to_string();
            let is_fused = ["contract r", " for k over rows of n", "stored between kernels: 0 bytes"]
                .into_iter()
                .all(|text| explained.contains(text));
            assert_eq!(is_fused, way.vectorize, "{name}: {explained}");
        }
        for (place, sizes) in REDUCED_SIZES.into_iter().enumerate() {
            if selected(which + place, 2) {
                kernels.check(name, &tables(sizes, numbers));
            }
        }
    }
}

/// Sums of few terms are unrolled where they are no contractions: around the longest that is unrolled, and the longest in index
/// order.
#[test]
fn reductions_over_constant_axes_have_the_bits_of_the_interpreter() {
    const LENGTHS: [usize; 7] = [1, 2, 8, 9, 64, 65, 129];
    const ROWS: [[Option<usize>; 2]; 7] = [
        [None, None],
        [Some(40), None],
        [None, Some(20)],
        [Some(5), None],
        [None, Some(3)],
        [None, Some(7)],
        [None, Some(8)],
    ];
    for (which, (name, expression)) in REDUCED.iter().enumerate() {
        for (length, r) in LENGTHS.into_iter().enumerate() {
            for (place, [of_n, of_k]) in ROWS.into_iter().enumerate() {
                // Each expression takes each length and each place once.
                if !selected(which + length + place, 7) {
                    continue;
                }
                let kernels = Kernels::of(&ways(), |g| {
                    let [n, k] = g.symbols(["n", "k"]);
                    let [n, k] =
                        [(of_n, n), (of_k, k)].map(|(size, symbol)| size.map_or(symbol.into(), Dim::from));
                    let [x, y] = pairs::<f32>(g, n, k, r);
                    expression(x, y, weights(g, k))
                });
                let sizes = [of_n.unwrap_or(40), of_k.unwrap_or(50), r];
                kernels.check(format_args!("{name}, {of_n:?} and {of_k:?}"), &tables(sizes, numbers));
            }
        }
    }
}

/// Few rows, of which one is no contraction, and strips that end with a part of a vector.
#[test]
fn few_rows_have_the_bits_of_the_interpreter() {
    for (which, (name, expression)) in REDUCED.iter().enumerate() {
        for (length, r) in [3, 20].into_iter().enumerate() {
            let kernels = Kernels::of(&ways(), |g| {
                let [n, k] = g.symbols(["n", "k"]);
                let [x, y] = pairs::<f32>(g, n, k, r);
                expression(x, y, weights(g, k))
            });
            let sizes = [[1, 1900], [2, 1100], [7, 500], [8, 300], [13, 160], [31, 70], [1100, 1]];
            for (place, [n, k]) in sizes.into_iter().enumerate() {
                if !selected(which + length + place, 2) {
                    continue;
                }
                kernels.check(name, &tables([n, k, r], numbers));
                if n.min(k) > 1 {
                    continue;
                }
                let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
                for (_, kernel) in kernels.each() {
                    let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
                    // The three nearest of one are refused, as above.
                    let Ok(bound) = kernel.bind(views) else { continue };
                    let explained = bound.explain().to_string();
                    assert!(!explained.contains("contract "), "{name} of {n}, {k}: {explained}");
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
        let [x, y] = pairs::<f32>(&g, g.symbol("n"), k, 128);
        let nearest = (x - y).square().sum(-1).sqrt().argmin(-1);
        let explained = nearest.compile().unwrap().explain().to_string();
        assert_eq!(explained.matches(" = sum v").count(), sums, "{explained}");
        assert_eq!(explained.contains("contract 128"), k > 4, "{explained}");
    }
}

/// Whether sums are unrolled depends on all that reads them, in any order.
#[test]
fn the_order_of_outputs_decides_nothing() {
    let contracted = |is_swapped: bool| {
        let g = Graph::new();
        let [x, y] = pairs::<f32>(&g, 40, 10_000, 8);
        let distances = (x - y).square().sum(-1);
        let [first, second] = match is_swapped {
            false => [distances.argmin(1), distances.min(0)],
            true => [distances.min(0), distances.argmin(1)],
        };
        let kernel = g.compile([("first", first), ("second", second)]).unwrap();
        kernel.explain().to_string().matches("contract ").count()
    };
    assert_eq!([false, true].map(contracted), [2, 2]);
}

/// Rows of both sides that lie apart along the reduction axis are packed, and go on behind the last one.
#[test]
fn reductions_of_transposed_tables_have_the_bits_of_the_interpreter() {
    for (which, (name, expression)) in REDUCED.iter().enumerate() {
        let lengths = [(9, [true, false]), (9, [false, true]), (20, [true, true]), (65, [true, true])];
        for (length, (r, across)) in lengths.into_iter().enumerate() {
            if !selected(which + length, 2) {
                continue;
            }
            let kernels = Kernels::of(&ways(), |g| {
                let [n, k] = g.symbols(["n", "k"]);
                let [x, y] =
                    [("x", n, across[0]), ("y", k, across[1])].map(|(name, size, across)| match across {
                        true => g.input::<f32>(name, shape![r, size]).t(),
                        false => g.input::<f32>(name, shape![size, r]),
                    });
                expression(x.unsqueeze(1), y, weights(g, k))
            });
            for [n, k] in [[37, 41], [64, 36], [16, 16], [20, 70]] {
                let inputs = [(n, across[0], 1), (k, across[1], 2)].map(|(size, across, seed)| {
                    Input::of(&if across { [r, size] } else { [size, r] }, numbers, seed)
                });
                kernels.check(name, &inputs);
            }
        }
    }
}

/// Sizes that were taken to be longer have other code.
#[test]
fn short_axes_are_no_contractions() {
    let kernels = Kernels::of(&ways(), |g| {
        let [x, y] = of_symbols::<f32>(g);
        vec![(x * y).sum(-1)]
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
            // The interpreter takes long for more, which differ from others in their number only.
            if n * k * r < 400_000 {
                kernels.check("products", &tables([n, k, r], numbers));
            }
            let (x, y) = (numbers(n * r, 1), numbers(k * r, 2));
            let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
            let (_, widest) = kernels.each().next().unwrap();
            let bound = widest.bind(views).unwrap();
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
const OF_INTEGERS: &[(&str, Expression)] = &[
    ("a count", |x, y| vec![x.ne(y).sum(-1)]),
    ("a count of two conditions", |x, y| vec![(x.ne(y) & y.gt(0)).sum(-1)]),
    ("a sum", |x, y| vec![x.maximum(y).sum(-1)]),
    ("a sum of products", |x, y| vec![(x * y).sum(-1)]),
    ("a count of bits", |x, y| vec![(x ^ y).count_ones().sum(-1)]),
];

/// Lanes that are narrower than a sum hold the greatest and the least elements for as many steps as they are taken to.
#[test]
fn sums_of_integers_are_those_of_the_interpreter() {
    fn check<T: Element>(least: T, greatest: T, others: [T; 2]) {
        for (name, expression) in OF_INTEGERS {
            let kernels = Kernels::of(&ways(), |g| {
                let [x, y] = of_symbols::<T>(g);
                expression(x, y)
            });
            for (way, kernel) in kernels.each() {
                assert_eq!(is_contraction(kernel), way.vectorize, "{name}: {}", kernel.explain());
            }
            let mut sizes = vec![[19, 33, 70], [8, 17, 255], [9, 20, 256], [9, 17, 1025]];
            // Lanes of more bytes do not fill.
            sizes.extend((size_of::<T>() <= 2).then_some([7, 16, 2300]));
            for [n, k, r] in sizes {
                // Rows of one extreme, of the other, and of all.
                let value = |row: usize, step: usize| match (row % 3, (row + step * step) % 4) {
                    (0, _) | (2, 0) => greatest,
                    (1, _) | (2, 1) => least,
                    (_, which) => others[which - 2],
                };
                let table = |rows: usize| {
                    Input::new(&[rows, r], (0..rows * r).map(|at| value(at / r, at % r)).collect())
                };
                kernels.check(name, &[table(n), table(k)]);
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
    const ORDERS: [&[usize]; 4] = [&[0, 1, 2], &[0, 2, 1], &[2, 1, 0], &[1, 0, 2]];
    let layouts: Vec<Layout> = ORDERS
        .into_iter()
        .flat_map(|order| [1, 2].map(|apart| Layout { order, apart, ..Layout::DENSE }))
        .collect();
    for (name, shapes, expression) in batches {
        let kernels = Kernels::of(&ways(), |g| vec![expression(g)]);
        let [x, y] = shapes;
        kernels.check_laid_out(name, &[Input::of(&x, numbers, 3), Input::of(&y, numbers, 4)], &layouts);
    }
}

/// Products, and greatest sums, of every dtype that is stored.
#[test]
fn dtypes_have_the_bits_of_the_interpreter() {
    fn check<T: Element>(elements: fn(usize, u32) -> Vec<T>) {
        let expressions: [(&str, Expression); 2] = [
            ("products", |x, y| vec![(x * y).sum(-1)]),
            ("the greatest of the least", |x, y| vec![x.minimum(y).max(-1)]),
        ];
        for (name, expression) in expressions {
            let kernels = Kernels::of(&ways(), |g| {
                let [x, y] = of_symbols::<T>(g);
                expression(x, y)
            });
            for (way, kernel) in kernels.each() {
                assert_eq!(is_contraction(kernel), way.vectorize, "{name}: {}", kernel.explain());
            }
            for sizes in [[37, 40, 20], [9, 33, 100], [8, 17, 1100]] {
                kernels.check(name, &tables(sizes, elements));
            }
        }
    }
    /// Of all sizes that the dtype has.
    fn integers<T: Element>(count: usize, seed: u32) -> Vec<T> {
        let number = |at: usize| (at as i64 + i64::from(seed)).wrapping_mul(0x1234_5678_9abc_def1);
        (0..count).map(|at| T::from_scalar(Scalar::I64(number(at)).cast(T::DTYPE)).unwrap()).collect()
    }
    check(integers::<i8>);
    check(integers::<u8>);
    check(integers::<i16>);
    check(integers::<u16>);
    check(integers::<i32>);
    check(integers::<u32>);
    check(integers::<i64>);
    check(integers::<u64>);
    check(with_zeros::<f16>);
    check(with_zeros::<bf16>);
    check(with_zeros::<f32>);
    check(with_zeros::<f64>);
    check(|count, seed| (0..count).map(|at| (at + seed as usize).is_multiple_of(3)).collect::<Vec<bool>>());
}

/// Rows that are kept between loops around are no part of a contraction.
#[test]
fn functions_of_outer_axes_are_kept_or_not() {
    let expressions: [fn(Tensor, Tensor) -> Tensor; 3] = [
        |v, table| v.softmax(-1).unsqueeze(-1) * table,
        |v, table| v.tanh().unsqueeze(-1) * v.tanh().sum(-1).unsqueeze(-1).unsqueeze(-1) * table,
        |v, table| v.exp().unsqueeze(-1) + table.exp(),
    ];
    let inputs = [
        Input::of(&[2, 40], numbers, 5),
        Input::of(&[2, 40, 70], numbers, 6),
        Input::of(&[2, 33, 70], numbers, 7),
    ];
    for expression in expressions {
        let kernels = Kernels::of(&ways(), |g| {
            let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
            let weights = g.input::<f32>("v", shape![b, n]);
            let (left, right) = (g.input::<f32>("x", shape![b, n, r]), g.input::<f32>("y", shape![b, k, r]));
            let table = (left.unsqueeze(2) * right.unsqueeze(1)).sum(-1);
            vec![expression(weights, table)]
        });
        kernels.check("functions of outer axes", &inputs);
    }
}

const LENGTHS: [Option<i64>; 6] = [None, Some(16), Some(64), Some(65), Some(1024), Some(1025)];

/// What an executable says of the scratch memory of its kernels, in bytes per thread.
fn scratch(kernel: &Executable) -> Vec<usize> {
    let explained = kernel.explain().to_string();
    let parts: Vec<&str> = explained.split(" bytes of scratch per thread").collect();
    let (_, before) = parts.split_last().unwrap();
    before.iter().map(|text| text.rsplit(' ').next().unwrap().parse().unwrap()).collect()
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
        let outputs = ["first", "second"].into_iter().zip(expression(x.unsqueeze(1), y));
        let kernel = g.compile(outputs).unwrap();
        assert!(kernel.explain().to_string().contains("contract"), "{name}: {}", kernel.explain());
        let bytes = scratch(&kernel);
        assert!((1..1 << 20).contains(&bytes[0]), "{name}: {}", kernel.explain());
    }
    for (which, (name, expression)) in EXPRESSIONS.iter().enumerate() {
        for (place, across) in
            [[false, false], [false, true], [true, false], [true, true]].into_iter().enumerate()
        {
            for (at, length) in LENGTHS.into_iter().enumerate() {
                if selected(which + place + at, 4) {
                    check::<f32>(name, *expression, across, length);
                    check::<f64>(name, *expression, across, length);
                }
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
        let outputs = ["first", "second"].into_iter().zip(expression(x.unsqueeze(1), y, w));
        let kernel = g.compile(outputs).unwrap();
        let bytes = scratch(&kernel);
        let is_small = !bytes.is_empty() && bytes.iter().all(|bytes| *bytes < 3 << 19);
        assert!(is_small, "{name}: {}", kernel.explain());
    }
    for (which, (name, expression)) in REDUCED.iter().enumerate() {
        for (at, length) in LENGTHS.into_iter().enumerate() {
            if selected(which + at, 3) {
                check::<f32>(name, *expression, length);
                check::<f64>(name, *expression, length);
            }
        }
    }
}
