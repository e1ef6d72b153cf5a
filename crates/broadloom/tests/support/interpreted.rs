//! Compiled code with the interpreter, bit by bit, over options of compiling, sizes and layouts.

pub mod bits;
pub mod options;

use bits::assert_bits;
use broadloom::prelude::*;
use broadloom::{CompileOptions, CpuLevel};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp::{self, interpret};

/// What is compared: outputs of `x[n, m, k]` and of `y`, which has the last of these axes.
pub type Expression = fn(Tensor, Tensor) -> Vec<Tensor>;

/// Compares an expression on arrays of the shapes, of which `y` has the last `rank` sizes, with elements that
/// `elements` gives for their number and a seed.
pub fn check<T: Element>(
    (name, expression): (&str, Expression),
    rank: usize,
    shapes: impl IntoIterator<Item = [usize; 3]> + Clone,
    elements: fn(usize, u32) -> Vec<T>,
    options: impl IntoIterator<Item = CompileOptions>,
) {
    for options in options {
        let g = Graph::new();
        let [n, m, k] = g.symbols(["n", "m", "k"]);
        let x = g.input::<T>("x", shape![n, m, k]);
        let y = g.input::<T>("y", if rank == 1 { shape![k] } else { shape![m, k] });
        let outputs = expression(x, y);
        let kernel = g.compile_with(["a", "b", "c", "d"].into_iter().zip(outputs), &options).unwrap();
        for shape in shapes.clone() {
            let [n, m, k] = shape;
            let y_shape = &shape[3 - rank..];
            let (x, y) = (elements(n * m * k, 3), elements(y_shape.iter().product(), 4));
            let arrays = [interp::Array::new(&shape, &x), interp::Array::new(y_shape, &y)];
            let want = interpret(kernel.graph(), &arrays, CpuLevel::detect().is_fused()).unwrap();
            // Dense, and with the first two axes exchanged in memory and every other element skipped.
            let skipped = T::from_scalar(Scalar::F64(f64::NAN).cast(T::DTYPE)).unwrap();
            let mut apart = vec![skipped; 2 * x.len()];
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
                let y = ArrayView::new(&y, y_shape).unwrap();
                let got = kernel.run(inputs! { "x" => x, "y" => y }).unwrap();
                assert_bits(&kernel, got, &want, format_args!("{name} of {shape:?} {}", T::DTYPE));
            }
        }
    }
}
