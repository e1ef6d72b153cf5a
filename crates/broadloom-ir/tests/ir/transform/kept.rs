//! What no simplification may change: how sums round, and which errors data have.

use super::data::{Build, assert_same, constant, graph, op, pairs, with};
use crate::support::here;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::Graph;
use broadloom_ir::interp::Array;
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::prepare;

/// Sums of these are rounded otherwise if products are not rounded before.
fn numbers(dtype: DType, count: usize) -> Array {
    let elements = (1..=count).map(|i| Scalar::F64(1.0 / (0.3 + i as f64)).cast(dtype)).collect();
    Array { dtype, shape: vec![count], elements }
}

#[test]
fn a_sum_adds_products_as_before() {
    let sums: &[Build] = &[
        // `x * y` is rounded before it is multiplied by 1, and must not become a factor pair.
        |g, x, y| {
            let product = op(g, Op::Multiply, &[x, y]);
            with(g, Op::Multiply, product, 1.0)
        },
        |g, x, y| {
            let product = op(g, Op::Multiply, &[x, y]);
            with(g, Op::Subtract, product, 0.0)
        },
        |g, x, y| {
            let product = op(g, Op::Multiply, &[x, y]);
            op(g, Op::Positive, &[product])
        },
        |g, x, _| with(g, Op::Divide, x, 2.0),
        |g, x, _| with(g, Op::Multiply, x, 1.0),
        |g, x, _| {
            let square = op(g, Op::Square, &[x]);
            with(g, Op::Maximum, square, 0.0)
        },
        |g, x, y| {
            let [product, mirrored] = [op(g, Op::Multiply, &[x, y]), op(g, Op::Multiply, &[y, x])];
            op(g, Op::Maximum, &[product, mirrored])
        },
        |g, x, _| {
            let [third, tenth] = [1.0 / 3.0, 0.1].map(|value| constant(g, x, value));
            let [third, tenth] = [third, tenth].map(|value| g.broadcast_to(value, g.shape(x), here()));
            op(g, Op::Multiply, &[third, tenth])
        },
    ];
    for dtype in [DType::F32, DType::F64] {
        for build in sums {
            for reduce in [ReduceOp::Sum, ReduceOp::Mean] {
                let mut g = Graph::new();
                let n = g.symbol("n", here());
                let shape = Shape::from_iter([g.symbol_size(n)]);
                let [x, y] = ["x", "y"].map(|name| g.input(name, dtype, shape.clone(), here()));
                let values = build(&mut g, x, y);
                let [first, second] =
                    [false, true].map(|keepdims| g.reduce(reduce, values, Some(&[0]), keepdims, here()));
                let source = g.finish(&[("first", first), ("second", second)]).unwrap();
                for count in [0, 1, 7, 64, 100, 1500] {
                    let y = Array {
                        elements: numbers(dtype, count).elements.into_iter().rev().collect(),
                        ..numbers(dtype, count)
                    };
                    assert_same(&source, &prepare(&source), &[numbers(dtype, count), y]);
                }
            }
        }
    }
}

#[test]
fn errors_of_data_stay() {
    fn exponent(g: &mut Graph, x: ExprId, y: ExprId) -> ExprId {
        op(g, Op::Pow, &[x, y])
    }
    let cases: &[Build] = &[
        |g, x, y| {
            let power = exponent(g, x, y);
            let below = with(g, Op::Less, power, 5.0);
            g.select(below, x, x, here())
        },
        |g, x, y| {
            let power = exponent(g, x, y);
            let yes = g.constant(Scalar::Bool(true), here());
            g.select(yes, x, power, here())
        },
        |g, x, y| {
            let power = exponent(g, x, y);
            with(g, Op::Multiply, power, 1.0)
        },
        |g, x, y| {
            // The one that is written first is reported first.
            let taken = g.take(x, y, 0, here());
            let same = with(g, Op::Subtract, taken, 0.0);
            let power = exponent(g, same, y);
            op(g, Op::Maximum, &[power, power])
        },
        |g, x, _| with(g, Op::Pow, x, -1.0),
    ];
    for build in cases {
        for dtype in [DType::I64, DType::I32] {
            let source = graph(dtype, dtype, *build);
            assert_same(&source, &prepare(&source), &pairs(dtype, dtype));
            let good = Array { dtype, shape: vec![2], elements: vec![Scalar::I64(1).cast(dtype); 2] };
            assert_same(&source, &prepare(&source), &[good.clone(), good]);
        }
    }
}
