//! Counts and sums of small integers over pairs, in lanes and rows narrower than their dtype: the bits of the interpreter.

#[path = "support/bits.rs"]
mod bits;
#[path = "support/options.rs"]
mod options;

use bits::assert_bits;
use broadloom::prelude::*;
use broadloom::{CompileOptions, CpuLevel, Element};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp::{self, interpret};
use options::options;

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

/// Numbers from the least to the greatest of a dtype of a byte, of which some are frequent, behind a row of the same number.
fn elements<T: Element>(count: usize, row: usize, same: i64) -> Vec<T> {
    let number = |at: usize| match at {
        _ if at < row => same,
        _ if at % 7 < 3 => (at * 31 % 11) as i64 - 5,
        _ => (at * 7919 % 256) as i64 - 128,
    };
    (0..count).map(|at| T::from_scalar(Scalar::I64(number(at)).cast(T::DTYPE)).unwrap()).collect()
}

/// Around the number of elements after which lanes of a byte are full, and around a block.
fn check<T: Element>() {
    for r in [0, 1, 9, 64, 255, 256, 1025_usize] {
        for (name, expression) in EXPRESSIONS {
            // There is no greatest of no elements.
            if r == 0 && name.starts_with("the greatest") {
                continue;
            }
            let [plain, ..] = options();
            for options in options().into_iter().chain([CompileOptions { vector_bytes: 32, ..plain }]) {
                let g = Graph::new();
                let [n, k] = g.symbols(["n", "k"]);
                let (x, y) = (g.input::<T>("x", shape![n, r]), g.input::<T>("y", shape![k, r]));
                let outputs = ["first", "second"].into_iter().zip(expression(x.unsqueeze(1), y));
                let kernel = g.compile_with(outputs, &options).unwrap();
                let sizes: &[[usize; 2]] = if r < 300 { &[[37, 20], [67, 5]] } else { &[[9, 5]] };
                for &[n, k] in sizes {
                    let (x, y) = (elements::<T>(n * r, r, 100), elements::<T>(k * r, r, 27));
                    let arrays = [interp::Array::new(&[n, r], &x), interp::Array::new(&[k, r], &y)];
                    let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
                    let views = [ArrayView::new(&x, &[n, r]).unwrap(), ArrayView::new(&y, &[k, r]).unwrap()];
                    let got = kernel.run(views).unwrap();
                    assert_bits(&kernel, got, &want, format_args!("{name} of {n}, {k}, {r} {}", T::DTYPE));
                }
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
