//! Tensors without elements, whatever views, reductions and tables stand between them and what is read: nothing is. In debug
//! builds an array without elements is in no memory, so a read ends the test.

use broadloom::prelude::*;
use broadloom::{AnyArray, CompileOptions, CpuLevel, Dim, Threads, concat};
use broadloom_ir::interp::{self, interpret};

/// Of `x[a, b]`, whose sizes are both 0, or one of them.
type Expression = fn(Tensor) -> Tensor;

const EXPRESSIONS: &[(&str, Expression)] = &[
    ("running sums of medians", |x| x.median(0).reshape([-1]).cumsum(0)),
    ("a sum of repeated medians", |x| x.median(1).repeat(0, 0).sum(..)),
    ("a sum of repeated rows", |x| x.repeat(0, 0).sum(..)),
    ("sums of repeated columns", |x| x.repeat(0, 1).sum(1)),
    ("the elements in another shape", |x| x.reshape([-1, 3]).sum(0)),
    ("the elements in a row", |x| x.reshape([-1]).sum(0)),
    ("a transposed table in a row", |x| x.t().reshape([-1]).sum(0)),
    ("products with what is repeated", |x| (x.reshape([-1]).repeat(2, 0) * 2).sum(0)),
    ("a sorted table", |x| x.sort(1).reshape([-1]).sum(0)),
    ("the places of a sorted table", |x| x.argsort(0).reshape([-1]).sum(0)),
    ("running sums in a row", |x| x.cumsum(0).reshape([-1]).sum(0)),
    ("rows joined with themselves", |x| concat([x, x], 0).reshape([-1]).sum(0)),
    ("a slice of nothing", |x| x.slice(slice![0..0, ..]).repeat(3, 0).sum(..)),
    ("products of matrices", |x| x.matmul(x.t()).sum(..)),
    ("products of matrices across", |x| x.t().matmul(x).sum(..)),
    ("functions of what is turned around", |x| x.flip(0).t().exp().sum(0)),
    ("windows", |x| x.reshape([-1]).repeat(0, 0).broadcast_to([4, 0]).sum(1)),
    ("halves", |x| x.cast::<f16>().reshape([-1]).repeat(0, 0).sum(0)),
];

fn ways() -> [CompileOptions; 3] {
    let way = |vectorize, threads| CompileOptions {
        vectorize,
        threads,
        parallel_threshold: 0,
        ..CompileOptions::default()
    };
    [way(true, Threads::Calling), way(false, Threads::Calling), way(true, Threads::Global)]
}

/// Sizes as numbers, and as symbols.
#[test]
fn nothing_is_read() {
    for (name, expression) in EXPRESSIONS {
        for sizes in [[0, 0], [0, 3], [3, 0], [0, 1], [1, 0], [0, 64]] {
            for known in [[true, true], [false, false], [true, false], [false, true]] {
                let g = Graph::new();
                let symbols = g.symbols(["a", "b"]);
                let size = |axis: usize| match known[axis] {
                    true => Dim::from(sizes[axis] as i64),
                    false => symbols[axis].into(),
                };
                let out = expression(g.input::<f32>("x", shape![size(0), size(1)])).cast::<f64>();
                // A median of no elements is refused while the expression is built.
                let Ok(checked) = out.finish() else { continue };
                let arrays = [interp::Array::new::<f32>(&sizes, &[])];
                let want = interpret(&checked, &arrays, CpuLevel::detect().is_fused());
                for options in ways() {
                    let kernel = Executable::compile(&checked, &options).unwrap();
                    let got = kernel.run(ArrayView::new(&[0.0f32; 0], &sizes).unwrap());
                    let case = format!("{name} of {sizes:?}, known {known:?}");
                    match (&want, got) {
                        (Ok(want), Ok(mut got)) => {
                            let got: AnyArray = got.take("out").unwrap();
                            assert_eq!(got.shape(), want[0].shape, "{case}");
                            let want = want[0].to_vec::<f64>().unwrap();
                            assert_eq!(got.as_slice::<f64>(), Some(want.as_slice()), "{case}");
                        }
                        (Err(_), Err(_)) => {}
                        (want, got) => panic!("{case}: {want:?} and {got:?}"),
                    }
                }
            }
        }
    }
}

/// Quantiles of nothing are refused like a maximum: in terms of the axes that the user gave.
#[test]
fn quantiles_of_nothing_are_refused() {
    let expressions: [(&str, Expression); 5] = [
        ("max", |x| x.max(0)),
        ("median", |x| x.median(0)),
        ("nanmedian", |x| x.nanmedian(0)),
        ("quantile", |x| x.quantile(0.3, 0)),
        ("nanquantile", |x| x.nanquantile([0.1, 0.2], 0)),
    ];
    for (name, expression) in expressions {
        let g = Graph::new();
        let y = expression(g.input::<f32>("x", shape![0, 3]));
        let message = g.compile([("y", y)]).unwrap_err().to_string();
        assert!(message.contains(&format!("`{name}` is not defined for zero elements: axis 0")), "{message}");
    }
}
