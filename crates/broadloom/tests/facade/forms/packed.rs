//! Contractions of computed operands: each side is computed once for a block and packed, not again for each pair, and has the
//! bits of the interpreter.

use crate::support::harness::{Input, Kernels};
use crate::support::numbers::{numbers, with_zeros};
use crate::support::ways::{selected, ways};
use broadloom::prelude::*;

/// Of `x[n, 1, r]` and `y[k, r]`, and of one number for each step of these axes: `u[n, 1, 1]`, `v[k, 1]` and `s[r]`.
type Expression = fn([Tensor; 2], [Tensor; 3]) -> Vec<Tensor>;

const EXPRESSIONS: &[(&str, Expression)] = &[
    ("the left side", |[x, y], _| vec![(x.relu() * y).sum(-1)]),
    ("the right side", |[x, y], _| vec![(x * y.relu()).sum(-1)]),
    ("centred rows on the left", |[x, y], [u, ..]| vec![((x - u) * y).sum(-1)]),
    ("centred rows on the right", |[x, y], [_, v, _]| vec![(x * (y - v)).sum(-1)]),
    ("centred rows on both sides", |[x, y], [u, v, _]| vec![((x - u) * (y - v)).sum(-1)]),
    ("scaled columns", |[x, y], [_, _, s]| vec![((x * s) * y).sum(-1)]),
    ("several numbers on one side", |[x, y], [_, v, s]| vec![(x.relu() * ((y - v) * s + 0.25)).sum(-1)]),
    ("what is read elsewhere as well", |[x, y], [u, v, _]| {
        vec![((x - u) * (y - v)).sum(-1) * u.squeeze(-1) + v.squeeze(-1)]
    }),
    ("two sums of one packed side", |[x, y], [u, v, _]| {
        let left = x - u;
        vec![(left * y).sum(-1), (left - (y - v)).abs().sum(-1)]
    }),
    ("squared differences", |[x, y], [u, v, s]| vec![((x - u) * s - (y - v) * s).square().sum(-1)]),
    ("the greatest", |[x, y], [u, v, _]| vec![((x - u) * (y - v)).max(-1)]),
    ("a count", |[x, y], [u, _, s]| vec![(x - u).lt(y * s).sum(-1)]),
    ("of another dtype", |[x, y], [u, ..]| vec![((x - u).cast::<f64>() * y.cast::<f64>()).sum(-1)]),
];

/// Around whole blocks of rows, parts that are packed at once, whole vectors, and whole blocks of the tree.
const SIZES: [[usize; 3]; 14] = [
    [36, 64, 64],
    [8, 16, 9],
    [9, 17, 0],
    [37, 65, 1],
    [13, 33, 63],
    [44, 67, 65],
    [12, 131, 80],
    [13, 20, 300],
    [25, 140, 512],
    [12, 20, 1023],
    [9, 32, 1024],
    [11, 19, 1025],
    [15, 17, 3100],
    [0, 16, 70],
];

fn build(g: &Graph, [n, k, r]: [Dim; 3], is_across: [bool; 2], expression: Expression) -> Vec<Tensor> {
    let table = |name, rows: Dim, is_across| match is_across {
        true => g.input::<f32>(name, shape![r, rows]).t(),
        false => g.input::<f32>(name, shape![rows, r]),
    };
    let (x, y) = (table("x", n, is_across[0]).unsqueeze(1), table("y", k, is_across[1]));
    let [u, v, s] = [("u", n), ("v", k), ("s", r)].map(|(name, size)| g.input::<f32>(name, shape![size]));
    expression([x, y], [u.unsqueeze(1).unsqueeze(2), v.unsqueeze(1), s])
}

fn inputs(
    [n, k, r]: [usize; 3],
    is_across: [bool; 2],
    elements: fn(usize, u32) -> Vec<f32>,
) -> [Input<f32>; 5] {
    let table = |rows: usize, is_across, seed| {
        Input::of(&if is_across { [r, rows] } else { [rows, r] }, elements, seed)
    };
    let [u, v, s] = [(n, 3), (k, 4), (r, 5)].map(|(size, seed)| Input::of(&[size], elements, seed));
    [table(n, is_across[0], 1), table(k, is_across[1], 2), u, v, s]
}

/// Whether a contraction packs both sides where it is vectorised, and stores nothing.
#[test]
fn computed_operands_are_packed() {
    for (which, (name, expression)) in EXPRESSIONS.iter().enumerate() {
        for (layout, is_across) in
            [[false, false], [true, false], [false, true], [true, true]].into_iter().enumerate()
        {
            let kernels = Kernels::of(&ways(), |g| {
                let [n, k, r] = g.symbols(["n", "k", "r"]).map(Dim::from);
                build(g, [n, k, r], is_across, *expression)
            });
            for (way, kernel) in kernels.each() {
                let explained = kernel.explain().to_string();
                let is_contraction = explained.contains("contract r for n over rows of k");
                assert_eq!(is_contraction, way.vectorize, "{name}: {explained}");
                assert!(explained.contains("stored between kernels: 0 bytes"), "{name}: {explained}");
            }
            for (place, sizes) in SIZES.into_iter().enumerate() {
                if selected(which + layout + place, 4) {
                    kernels.check(name, &inputs(sizes, is_across, numbers));
                    kernels.check(name, &inputs(sizes, is_across, with_zeros));
                }
            }
        }
    }
}

/// Axes of known sizes: in index order, in one block of the tree, and in several; batches, whose operands the rows of the
/// batch before may not serve.
#[test]
fn known_sizes_and_batches_have_the_bits_of_the_interpreter() {
    for (which, (name, expression)) in EXPRESSIONS.iter().enumerate() {
        for (length, r) in [3, 8, 64, 65, 700, 1025].into_iter().enumerate() {
            if !selected(which + length, 3) {
                continue;
            }
            let kernels = Kernels::of(&ways(), |g| {
                let [n, k] = g.symbols(["n", "k"]).map(Dim::from);
                build(g, [n, k, r.into()], [false, false], *expression)
            });
            for [n, k] in [[37, 41], [13, 130], [16, 16]] {
                kernels.check(name, &inputs([n, k, r], [false, false], numbers));
            }
        }
    }
    let kernels = Kernels::of(&ways(), |g| {
        let [b, n, k, r] = g.symbols(["b", "n", "k", "r"]);
        let x = g.input::<f32>("x", shape![b, n, r]);
        let y = g.input::<f32>("y", shape![r, k]);
        let u = g.input::<f32>("u", shape![b]).unsqueeze(1).unsqueeze(2);
        // A number of the batch on each side.
        vec![(x - u).matmul(y.relu()), x.relu().matmul(y * u + u)]
    });
    for (place, [b, n, k, r]) in [[3, 14, 40, 70], [2, 36, 16, 1030], [1, 9, 65, 9]].into_iter().enumerate() {
        let seed = 7 * place as u32;
        let inputs = [
            Input::of(&[b, n, r], numbers, seed + 1),
            Input::of(&[r, k], numbers, seed + 2),
            Input::of(&[b], numbers, seed + 3),
        ];
        kernels.check("batches", &inputs);
    }
}

/// A table of centred columns with itself, as of covariances: over the long axis.
#[test]
fn centred_columns_have_the_bits_of_the_interpreter() {
    let kernels = Kernels::of(&ways(), |g| {
        let [n, d] = g.symbols(["n", "d"]);
        let x = g.input::<f64>("x", shape![n, d]);
        let w = g.input::<f64>("w", shape![n]).unsqueeze(1);
        let centred = x - x.mean(0);
        vec![centred.t().matmul(centred), (centred * w).t().matmul(centred)]
    });
    for (way, kernel) in kernels.each() {
        let explained = kernel.explain().to_string();
        assert_eq!(explained.contains("contract n"), way.vectorize, "{explained}");
        assert_eq!(
            explained.contains("over rows of d'") && explained.contains("stream n by 4 over rows"),
            !way.vectorize,
            "{explained}"
        );
    }
    for [n, d] in [[70, 17], [1100, 8], [3000, 37], [5, 64], [1, 9], [64, 130]] {
        let elements = |count, seed| numbers(count, seed).into_iter().map(f64::from).collect::<Vec<f64>>();
        kernels.check("centred", &[Input::of(&[n, d], elements, 1), Input::of(&[n], elements, 2)]);
    }
}

/// Of `x[n, r]`, `y[k, r]`, `u[n]` and `v[k]`.
type Followed = fn([Tensor; 2], [Tensor; 2]) -> Vec<Tensor>;

/// Products that are reduced again, beside other readers of the number of a row or a column.
#[test]
fn numbers_of_rows_that_are_read_elsewhere_have_the_bits_of_the_interpreter() {
    const EXPRESSIONS: [(&str, Followed); 8] = [
        ("extremes", |[x, y], [u, _]| vec![(x - u.unsqueeze(1)).matmul(y.t()).max(1) - u]),
        ("extremes of columns", |[x, y], [_, v]| vec![x.matmul((y - v.unsqueeze(1)).t()).max(0) - v]),
        ("shares", |[x, y], [u, _]| {
            let scaled = x * u.unsqueeze(1);
            vec![scaled.matmul(y.t()).sum(1) / scaled.sum(1)]
        }),
        ("weights", |[x, y], [u, _]| vec![((x - u.unsqueeze(1)).matmul(y.t()) / 99).exp().sum(1) * u]),
        ("the greatest", |[x, y], [u, _]| {
            vec![(x - u.unsqueeze(1)).matmul(y.t()).argmax(1).cast::<f32>() + u]
        }),
        ("computed numbers", |[x, y], [u, v]| {
            let (u, v) = (u * 2 + 1, v * v - 1);
            let products = (x - u.unsqueeze(1)).matmul((y * v.unsqueeze(1)).t());
            vec![products.max(1) - u, products.min(0) + v]
        }),
        ("squares", |[x, y], [u, _]| {
            let left = x - u.unsqueeze(1);
            vec![left.matmul(y.t()).square().sum(-1) + left.sum(-1)]
        }),
        ("truth", |[x, y], [u, _]| {
            let left = x.gt(u.unsqueeze(1));
            let both = left.unsqueeze(1).logical_and(y.gt(0));
            vec![both.sum(-1).max(-1) - left.sum(-1)]
        }),
    ];
    for (name, expression) in EXPRESSIONS {
        for known in [None, Some([64, 16, 32])] {
            let kernels = Kernels::of(&ways(), |g| {
                let [n, k, r] = g.symbols(["n", "k", "r"]).map(Dim::from);
                let [n, k, r] = known.map_or([n, k, r], |sizes| sizes.map(Dim::from));
                let [x, y] = [("x", n), ("y", k)].map(|(name, rows)| g.input::<f32>(name, shape![rows, r]));
                expression(
                    [x, y],
                    [("u", n), ("v", k)].map(|(name, size)| g.input::<f32>(name, shape![size])),
                )
            });
            for [n, k, r] in
                known.map_or(vec![[37, 17, 70], [16, 65, 9], [40, 33, 1030]], |sizes| vec![sizes])
            {
                let tables = [(n, 1), (k, 2)].map(|(rows, seed)| Input::of(&[rows, r], numbers, seed));
                let [x, y] = tables;
                let [u, v] = [(n, 3), (k, 4)].map(|(size, seed)| Input::of(&[size], numbers, seed));
                kernels.check(name, &[x, y, u, v]);
            }
        }
    }
}

/// Rows and columns of known numbers, and sums over an axis that is longer than contractions can fold: code without them is
/// chosen, once.
#[test]
fn axes_that_are_too_long_to_fold_have_other_code() {
    let kernels = Kernels::of(&ways(), |g| {
        let m = g.symbol("m");
        let (x, y) = (g.input::<f32>("x", shape![2, m, 3]), g.input::<f32>("y", shape![64, 3]));
        let both = x.unsqueeze(2).maximum(y.abs() - 1);
        vec![both.sum([2, 3]), both.sum([1, 3]), both.sum(-1) * x.sum(-1).unsqueeze(2)]
    });
    for m in [9, 1024, 1025, 3000] {
        kernels.check("folded", &[Input::of(&[2, m, 3], numbers, 1), Input::of(&[64, 3], numbers, 2)]);
    }
}
