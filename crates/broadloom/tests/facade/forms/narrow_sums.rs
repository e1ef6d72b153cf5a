//! Counts and sums of small integers over pairs, in lanes and rows narrower than their dtype: the bits of the interpreter.

use crate::support::harness::{Input, Kernels};
use crate::support::numbers::of_a_byte;
use crate::support::ways::{selected, ways};
use broadloom::prelude::*;

/// Of `x[n, 1, r]` and `y[k, r]`.
type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

const EXPRESSIONS: &[(&str, Expression)] = &[
    ("counts", |x, y| vec![x.ne(y).sum(-1)]),
    ("counts as bytes", |x, y| vec![x.ne(y).sum(-1).cast::<u8>(), x.lt(y).sum(-1).cast::<i8>()]),
    ("counts as floats", |x, y| vec![(x.ge(y).sum(-1).cast::<f32>() * -0.01).exp()]),
    ("the least count", |x, y| {
        let count = x.ne(y).sum(-1).cast::<u8>();
        let (index, least) = count.argmin_with_value(1);
        vec![index, least]
    }),
    ("where most are less", |x, y| vec![x.lt(y).sum(-1).argmax(1)]),
    ("the three with most", |x, y| {
        let (values, indices) = x.ne(y).sum(-1).topk(3, 1);
        vec![values, indices]
    }),
    ("all counts", |x, y| vec![x.ne(y).sum(-1).sum(1), x.ne(y).sum(-1).max(0)]),
    ("products", |x, y| vec![(x * y).sum(-1)]),
    ("products in 32 bits", |x, y| vec![(x * y).sum(-1).cast::<u32>(), (x * y).sum(-1).cast::<i32>()]),
    ("the greatest product, and their sum", |x, y| {
        let wide = (x * y).cast::<i64>();
        vec![wide.sum(-1), wide.max(-1)]
    }),
    ("what follows a sum", |x, y| vec![((x * y).sum(-1) * 2 + 1).max(1)]),
    ("distances", |x, y| {
        let differences = (x.cast::<i64>() - y.cast::<i64>()).abs();
        vec![differences.sum(-1).argmin(1)]
    }),
];

/// Around the number of elements after which lanes of a byte are full, and around a block; of dtypes longer than a byte, two
/// of three.
fn check<T: Element>() {
    for (length, r) in [0, 1, 9, 64, 255, 256, 1025_usize].into_iter().enumerate() {
        for (which, (name, expression)) in EXPRESSIONS.iter().enumerate() {
            // There is no greatest of no elements.
            if r == 0 && name.starts_with("the greatest") {
                continue;
            }
            let ways = ways();
            let is_chosen = |way: usize| size_of::<T>() == 1 || !selected(1 + length + which + way, 3);
            let chosen: Vec<CompileOptions> =
                ways.into_iter().enumerate().filter(|(way, _)| is_chosen(*way)).map(|(_, way)| way).collect();
            let kernels = Kernels::of(&chosen, |g| {
                let [n, k] = g.symbols(["n", "k"]);
                let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![k, r]));
                expression(x.unsqueeze(1), y)
            });
            let sizes: &[[usize; 2]] = if r < 300 { &[[19, 20], [67, 5]] } else { &[[9, 5]] };
            for &[n, k] in sizes {
                let table = |rows: usize, same| Input::new(&[rows, r], of_a_byte::<T>(rows * r, r, same));
                kernels.check(name, &[table(n, 100), table(k, 27)]);
            }
        }
    }
}

#[test]
fn of_u8() {
    check::<u8>();
}

#[test]
fn of_i8() {
    check::<i8>();
}

#[test]
fn of_u16() {
    check::<u16>();
}

#[test]
fn of_i16() {
    check::<i16>();
}

#[test]
fn of_f32() {
    check::<f32>();
}

/// The row of a count is as narrow as what is compared, and needs no cast to it.
#[test]
fn rows_are_narrow() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let (x, y) = (g.input::<u8>("x", shape![n, 64]), g.input::<u8>("y", shape![k, 64]));
    let nearest = x.unsqueeze(1).ne(y).sum(-1).cast::<u8>().argmin(1);
    let kernel = g.compile([("nearest", nearest)]).unwrap();
    let explained = kernel.explain().to_string();
    assert!(explained.contains("= row r1[n] : u8") && !explained.contains("cast"), "{explained}");
}
