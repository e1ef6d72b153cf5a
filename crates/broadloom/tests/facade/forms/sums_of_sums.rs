//! Sums over two axes of what two other axes move, each some of it: the bits of the interpreter.

use crate::support::harness::{Input, Kernels};
use crate::support::numbers::with_zeros;
use crate::support::ways::{selected, ways};
use broadloom::prelude::*;
use broadloom_ir::dtype::Scalar;

/// Of `x[n, a, b]` and `y[k, a, b]`.
type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

fn pairs(x: Tensor) -> Tensor {
    x.unsqueeze(1)
}

const EXPRESSIONS: &[(&str, Expression)] = &[
    ("products", |x, y| vec![einsum("iab,jab->ij", [x, y])]),
    ("products of other layouts", |x, y| {
        vec![einsum("bai,jba->ji", [x.permute_dims([2, 1, 0]), y.permute_dims([0, 2, 1])])]
    }),
    ("squared differences", |x, y| vec![(pairs(x) - y).square().sum([2, 3])]),
    ("differences", |x, y| vec![(pairs(x) - y).abs().sum([2, 3])]),
    ("counts", |x, y| vec![pairs(x).lt(y).sum([2, 3])]),
    ("a mean, and what follows", |x, y| vec![((pairs(x) * y).mean([2, 3]) * 2 - 1).relu()]),
    ("two at once", |x, y| vec![(pairs(x) * y).sum([2, 3]), (pairs(x) - y).abs().sum([2, 3])]),
    ("the greatest of sums", |x, y| vec![(pairs(x) * y).sum(3).max(2)]),
    ("a sum of functions of sums", |x, y| vec![((pairs(x) * y).sum(3) * 2 + 1).sum(2)]),
    ("a sum of sums", |x, y| vec![einsum("iab,jab->j", [x, y])]),
    ("the greatest sum", |x, y| vec![einsum("iab,jab->ij", [x, y]).max(1)]),
    ("the nearest", |x, y| {
        let (index, least) = (pairs(x) - y).square().sum([2, 3]).argmin_with_value(1);
        vec![index, least]
    }),
    ("a sum of functions of all sums", |x, y| vec![(pairs(x) - y).abs().sum([2, 3]).sqrt().sum(1)]),
    ("extremes of counts", |x, y| {
        let counts = pairs(x).lt(y).sum(3);
        vec![counts.max(2), counts.min(2).argmin(1)]
    }),
    ("running sums of sums", |x, y| vec![(pairs(x) - y).square().sum([2, 3]).cumsum(1)]),
    ("extremes over two axes", |x, y| vec![(pairs(x) - y).abs().max([2, 3]), (pairs(x) * y).sum(3).min(2)]),
    ("extremes and counts of another layout", |x, y| {
        let [x, y] = [x, y].map(|table| table.permute_dims([0, 2, 1]));
        vec![(pairs(y) - x).abs().max([2, 3]), pairs(y).ge(x).sum([2, 3])]
    }),
    ("near ones, and whether all are less", |x, y| {
        vec![(pairs(x) - y).abs().lt(2).sum([2, 3]), pairs(x).le(y).all([2, 3])]
    }),
    ("sums and extremes of some", |x, y| {
        let less = pairs(x).lt(y);
        vec![(pairs(x) * y).filter(less).sum([2, 3]), select(less, pairs(x) - y, 1).max([2, 3])]
    }),
    ("the product of sums, and the least", |x, y| {
        vec![(pairs(x) - y).sum(3).prod(2), (pairs(x) - y).sum(3).max(2).min(1)]
    }),
];

/// What is computed for `a` and `b` that are constants or symbols.
fn built<T: Element>(g: &Graph, expression: Expression, sizes: [Option<usize>; 2]) -> Vec<Tensor> {
    let [n, k, a, b] = g.symbols(["n", "k", "a", "b"]);
    let [of_a, of_b] = sizes;
    let [a, b] = [(a, of_a), (b, of_b)].map(|(symbol, size)| size.map_or(Dim::from(symbol), Dim::from));
    let (x, y) = (g.input::<T>("x", shape![n, a, b]), g.input::<T>("y", shape![k, a, b]));
    expression(x, y)
}

fn compiled(expression: Expression, sizes: [Option<usize>; 2]) -> Executable {
    let g = Graph::new();
    let outputs = ["first", "second"].into_iter().zip(built::<f32>(&g, expression, sizes));
    g.compile(outputs).unwrap()
}

fn tables<T: Element>(n: usize, k: usize, axes: &[usize]) -> [Input<T>; 2] {
    [n, k].map(|rows| Input::of(&[&[rows], axes].concat(), with_zeros, 1 + u32::from(rows == k)))
}

/// Sizes that are constants and symbols, each in another way to compile, which change places from one expression to the next.
fn check<T: Element>(of: &[[usize; 2]], rows: &[[usize; 2]]) {
    let ways = ways();
    for &[a, b] in of {
        for (which, (name, expression)) in EXPRESSIONS.iter().enumerate() {
            let sizes = [[Some(a), Some(b)], [None; 2], [None, Some(b)], [Some(a), None]];
            let graph = |(place, sizes): (usize, [Option<usize>; 2])| {
                let expression = *expression;
                let way = &ways[(which + place) % ways.len()];
                (way, move |g: &Graph| built::<T>(g, expression, sizes))
            };
            let kernels = Kernels::each_of(sizes.into_iter().enumerate().map(graph));
            for &[n, k] in rows {
                kernels.check(name, &tables::<T>(n, k, &[a, b]));
            }
        }
    }
}

/// Around the lengths of sums in index order, of which each has up to 64 terms.
#[test]
fn of_f32() {
    check::<f32>(&[[1, 5], [2, 64], [3, 9], [5, 65], [64, 3], [65, 3]], &[[37, 20]]);
    check::<f32>(&[[3, 9]], &[[5, 67]]);
}

/// Around the lengths of blocks, which the interpreter takes long for.
#[test]
fn of_long_axes() {
    check::<f32>(&[[80, 70], [2, 1024], [3, 1025]], &[[9, 17]]);
}

#[test]
fn of_f64() {
    check::<f64>(&[[2, 64], [5, 65], [16, 16]], &[[37, 20]]);
    check::<f64>(&[[4, 300]], &[[18, 9]]);
}

#[test]
fn of_many_rows() {
    check::<f32>(&[[3, 17]], &[[300, 17], [33, 70], [1, 1], [0, 3]]);
}

#[test]
fn of_integers() {
    check::<i64>(&[[3, 9], [5, 65]], &[[37, 20]]);
    check::<i32>(&[[3, 9], [64, 3]], &[[37, 20]]);
    check::<i32>(&[[16, 100]], &[[18, 9]]);
    check::<u8>(&[[3, 9], [2, 255], [9, 64]], &[[37, 20]]);
    check::<u8>(&[[4, 300]], &[[35, 9]]);
    check::<i8>(&[[5, 65]], &[[37, 20]]);
}

/// As many as there are elements, around the greatest numbers of one and of two bytes.
#[test]
fn all_are_counted() {
    fn check<T: Element>(sizes: [usize; 2]) {
        let (n, k) = (9, 5);
        let [x, y] = [(0.0, n), (1.0, k)].map(|(number, rows)| {
            let element = T::from_scalar(Scalar::F64(number).cast(T::DTYPE)).unwrap();
            vec![element; rows * sizes[0] * sizes[1]]
        });
        let views =
            || [(&x, n), (&y, k)].map(|(x, rows)| ArrayView::new(x, &[rows, sizes[0], sizes[1]]).unwrap());
        let counts: Expression = |x, y| vec![pairs(x).lt(y).sum([2, 3])];
        for sizes_known in [sizes.map(Some), [None; 2]] {
            let kernels = Kernels::of(&ways(), |g| built::<T>(g, counts, sizes_known));
            for (_, kernel) in kernels.each() {
                let got = kernel.run(views()).unwrap();
                let want = vec![(sizes[0] * sizes[1]) as i64; n * k];
                let (_, counts) = got.iter().next().unwrap();
                assert_eq!(counts.as_slice::<i64>(), Some(want.as_slice()), "{} {sizes:?}", T::DTYPE);
            }
        }
    }
    for sizes in [[2, 127], [2, 128], [9, 64], [64, 1024]] {
        check::<u8>(sizes);
        check::<u16>(sizes);
        check::<f32>(sizes);
    }
    check::<u16>([63, 1024]);
    check::<u16>([64, 1023]);
    check::<u16>([15, 17]);
    check::<u8>([15, 17]);
}

#[test]
fn of_halves() {
    check::<f16>(&[[3, 9], [5, 65]], &[[37, 20]]);
}

/// Sums of negative zeros are positive before anything else is done with them.
#[test]
fn zeros_are_positive() {
    let (n, k) = (7, 5);
    for [a, b] in [[3, 5], [70, 5]] {
        for expression in [
            (|x, y| vec![(pairs(x) * y).sum(3).max(2), (pairs(x) * y).sum(3).prod(2)]) as Expression,
            |x, y| vec![(pairs(x) * y).sum(3).min(2)],
        ] {
            let kernel = compiled(expression, [Some(a), Some(b)]);
            let (x, y) = (vec![-0.0f32; n * a * b], vec![1.0f32; k * a * b]);
            let got = kernel
                .run([ArrayView::new(&x, &[n, a, b]).unwrap(), ArrayView::new(&y, &[k, a, b]).unwrap()])
                .unwrap();
            for (name, zeros) in got.iter() {
                let zeros = zeros.as_slice::<f32>().unwrap();
                assert!(zeros.iter().all(|zero| zero.to_bits() == 0), "{name} of {a}, {b}: {zeros:?}");
            }
        }
    }
}

/// Inputs `x[n, a, b, c]` and `y[k, a, b, c]`, where `a`, `b` and `c` are constants or symbols.
fn of_three_axes(g: &Graph, sizes: Option<[usize; 3]>) -> [Tensor; 2] {
    let [n, k, a, b, c] = g.symbols(["n", "k", "a", "b", "c"]);
    let [a, b, c] = sizes.map_or([a, b, c].map(Dim::from), |sizes| sizes.map(Dim::from));
    let x = g.input::<f32>("x", shape![n, a, b, c]);
    [x, g.input::<f32>("y", shape![k, a, b, c])]
}

/// Over three axes, of all lengths.
#[test]
fn of_more_axes() {
    const EXPRESSIONS: &[Expression] = &[
        |x, y| vec![(pairs(x) - y).square().sum([2, 3, 4])],
        |x, y| vec![(pairs(x) - y).square().sum([2, 3, 4]).argmin(1)],
        |x, y| vec![(pairs(x) - y).abs().max([2, 3, 4]), (pairs(x) * y).sum([3, 4]).max(2)],
        |x, y| vec![pairs(x).lt(y).sum([2, 3, 4]), pairs(x).eq(y).any([2, 3, 4])],
        |x, y| vec![(-(pairs(x) - y).square().sum([2, 3, 4])).exp().sum(1)],
        |x, y| vec![(pairs(x) - y).abs().pow(2.5).sum([2, 3, 4])],
        |x, y| {
            let [x, y] = [x, y].map(|table| table.permute_dims([1, 0, 2, 3]));
            let batches = x.unsqueeze(2) - y.unsqueeze(1);
            vec![batches.abs().max([3, 4]), batches.gt(0).sum([3, 4])]
        },
    ];
    const SIZES: &[[usize; 3]] = &[
        [2, 2, 2],
        [2, 3, 2],
        [2, 2, 4],
        [2, 3, 4],
        [70, 2, 3],
        [2, 70, 3],
        [3, 2, 70],
        [66, 67, 1],
        [1, 1, 1030],
        [0, 3, 5],
        [3, 5, 0],
    ];
    let inputs = |sizes: [usize; 3]| tables::<f32>(14, 9, &sizes);
    for (which, expression) in EXPRESSIONS.iter().enumerate() {
        let of_symbols = Kernels::of(&ways(), |g| {
            let [x, y] = of_three_axes(g, None);
            expression(x, y)
        });
        for (place, sizes) in SIZES.iter().enumerate() {
            of_symbols.check("symbols", &inputs(*sizes));
            // The greatest of no constants is refused.
            if sizes.contains(&0) {
                continue;
            }
            let graph = |g: &Graph| {
                let [x, y] = of_three_axes(g, Some(*sizes));
                expression(x, y)
            };
            let ways = ways();
            let chosen = ways.iter().enumerate().filter(|(way, _)| selected(which + place + way, 2));
            let of_constants = Kernels::each_of(chosen.map(|(_, way)| (way, graph)));
            of_constants.check("constants", &inputs(*sizes));
        }
    }
}

/// The results of a contraction are combined over the other axes, if the tree of each of these has a single block.
#[test]
fn sums_of_sums_are_contractions() {
    let (n, k) = (37, 20);
    for (name, expression) in [&EXPRESSIONS[0], &EXPRESSIONS[2], &EXPRESSIONS[3], &EXPRESSIONS[11]] {
        let of_symbols = compiled(*expression, [None; 2]);
        for sizes in [[2, 64], [5, 65], [64, 3], [2, 1024], [65, 3], [3, 1025], [1024, 2], [1025, 3]] {
            let [a, b] = sizes;
            let is_expected = a <= 1024;
            let (x, y) = (with_zeros::<f32>(n * a * b, 1), with_zeros::<f32>(k * a * b, 2));
            let views = || [ArrayView::new(&x, &[n, a, b]).unwrap(), ArrayView::new(&y, &[k, a, b]).unwrap()];
            let of_constants = compiled(*expression, sizes.map(Some));
            for kernel in [&of_constants, &of_symbols] {
                let text = kernel.bind(views()).unwrap().explain().to_string();
                let is_contraction = text.contains("contract") && text.contains("fold");
                assert_eq!(is_contraction, is_expected, "{name} {sizes:?}\n{text}");
            }
        }
    }
}

/// However short the last axis is, extremes and counts over pairs are contractions, unless unrolled code takes less time.
#[test]
fn short_axes_are_contractions() {
    let greatest: Expression = |x, y| vec![(pairs(x) - y).abs().max([2, 3])];
    let counts: Expression = |x, y| vec![pairs(x).ne(y).sum([2, 3])];
    let all: Expression = |x, y| vec![pairs(x).le(y).all([2, 3])];
    let near: Expression = |x, y| vec![(y - pairs(x)).abs().lt(2).sum([2, 3])];
    let explained = |expression: Expression, sizes: [usize; 2]| {
        let kernel = compiled(expression, sizes.map(Some));
        kernel.explain().to_string()
    };
    for sizes in [[32, 3], [5, 4], [2, 16], [100, 2]] {
        for expression in [greatest, counts, all, near] {
            let text = explained(expression, sizes);
            assert!(text.contains("contract") && text.contains("fold"), "{sizes:?}\n{text}");
        }
    }
    for sizes in [[2, 2], [3, 3], [2, 4], [4, 4], [8, 2]] {
        // The few counts of the last axis may be accumulated side by side.
        let text = explained(counts, sizes);
        assert!(text.contains("contract"), "{sizes:?}\n{text}");
        let text = explained(greatest, sizes);
        assert!(!text.contains("contract"), "{sizes:?}\n{text}");
    }
}

/// Few elements over several axes are unrolled whole, unless the results are added: then a contraction computes them.
#[test]
fn few_elements_are_unrolled() {
    let explained = |sizes: [usize; 3], expression: Expression| {
        let g = Graph::new();
        let [x, y] = of_three_axes(&g, Some(sizes));
        g.compile(["first", "second"].into_iter().zip(expression(x, y))).unwrap().explain().to_string()
    };
    for sizes in [[2, 2, 2], [2, 3, 2], [2, 2, 4], [1, 4, 4]] {
        let text = explained(sizes, |x, y| vec![(pairs(x) - y).square().sum([2, 3, 4])]);
        assert!(!text.contains("reduce") && !text.contains("contract"), "{sizes:?}\n{text}");
        let text = explained(sizes, |x, y| vec![(-(pairs(x) - y).square().sum([2, 3, 4])).exp().sum(1)]);
        assert!(text.contains("contract"), "{sizes:?}\n{text}");
    }
    for sizes in [[2, 2, 2], [2, 3, 2]] {
        let text = explained(sizes, |x, y| vec![(pairs(x) - y).square().sum([2, 3, 4]).argmin(1)]);
        assert!(!text.contains("contract"), "{sizes:?}\n{text}");
    }
}

/// A function that is called is called for strips along the table, and not for the few elements of an axis.
#[test]
fn functions_are_called_for_long_strips() {
    for sizes in [[2, 4], [4, 2], [3, 5], [2, 16]] {
        let powers: Expression = |x, y| vec![(pairs(x) - y).abs().pow(2.5).sum([2, 3])];
        let kernel = compiled(powers, sizes.map(Some));
        let text = kernel.explain().to_string();
        assert!(text.contains("call") && text.contains("strip k of"), "{sizes:?}\n{text}");
    }
}
