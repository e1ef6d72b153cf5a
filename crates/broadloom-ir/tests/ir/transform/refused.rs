//! Simplifications that are tempting and wrong.

use super::data::{Build, FLOATS, assert_same, constant, graph, op, pairs, with};
use crate::support::here;
use broadloom_ir::dtype::DType;
use broadloom_ir::interp::interpret;
use broadloom_ir::ops::Op;
use broadloom_ir::transform::prepare;

/// Dtypes, an expression that looks as if it were `x` (the second one), and is not.
struct Refused(&'static [DType], Build, Build);

const REFUSED: &[Refused] = &[
    Refused(FLOATS, |g, x, _| with(g, Op::Add, x, 0.0), |_, x, _| x),
    Refused(FLOATS, |g, x, _| with(g, Op::Subtract, x, -0.0), |_, x, _| x),
    Refused(
        FLOATS,
        |g, x, _| with(g, Op::Multiply, x, 0.0),
        |g, x, _| {
            let zero = constant(g, x, 0.0);
            g.broadcast_to(zero, g.shape(x), here())
        },
    ),
    Refused(
        FLOATS,
        |g, x, _| op(g, Op::Subtract, &[x, x]),
        |g, x, _| {
            let zero = constant(g, x, 0.0);
            g.broadcast_to(zero, g.shape(x), here())
        },
    ),
    Refused(
        FLOATS,
        |g, x, _| op(g, Op::Divide, &[x, x]),
        |g, x, _| {
            let one = constant(g, x, 1.0);
            g.broadcast_to(one, g.shape(x), here())
        },
    ),
    Refused(FLOATS, |g, x, _| with(g, Op::FloorDivide, x, 1.0), |_, x, _| x),
    Refused(
        FLOATS,
        |g, x, _| with(g, Op::Divide, x, 3.0),
        |g, x, _| {
            let third = constant(g, x, 1.0 / 3.0);
            op(g, Op::Multiply, &[x, third])
        },
    ),
    Refused(
        FLOATS,
        |g, x, y| {
            let difference = op(g, Op::Subtract, &[x, y]);
            op(g, Op::Negative, &[difference])
        },
        |g, x, y| op(g, Op::Subtract, &[y, x]),
    ),
    Refused(FLOATS, |g, x, _| with(g, Op::Fmax, x, f64::NEG_INFINITY), |_, x, _| x),
    Refused(
        FLOATS,
        |g, x, _| {
            let zero = constant(g, x, 0.0);
            let small = op(g, Op::Minimum, &[x, zero]);
            let large = op(g, Op::Negative, &[small]);
            op(g, Op::Maximum, &[large, zero])
        },
        |g, x, _| {
            let zero = constant(g, x, 0.0);
            let small = op(g, Op::Minimum, &[x, zero]);
            op(g, Op::Negative, &[small])
        },
    ),
    Refused(
        &[DType::F64],
        |g, x, _| {
            let narrow = g.cast(x, DType::F32, here());
            g.cast(narrow, DType::F64, here())
        },
        |_, x, _| x,
    ),
    Refused(
        &[DType::U8],
        |g, x, _| {
            let float = g.cast(x, DType::F32, here());
            g.cast(float, DType::I8, here())
        },
        |g, x, _| g.cast(x, DType::I8, here()),
    ),
    Refused(
        &[DType::I64],
        |g, x, _| {
            let float = g.cast(x, DType::F64, here());
            g.cast(float, DType::I64, here())
        },
        |_, x, _| x,
    ),
    Refused(&[DType::I8, DType::I64], |g, x, _| op(g, Op::Abs, &[x]), |_, x, _| x),
    Refused(
        &[DType::I32],
        |g, x, _| {
            let square = op(g, Op::Square, &[x]);
            with(g, Op::Maximum, square, 0.0)
        },
        |g, x, _| op(g, Op::Square, &[x]),
    ),
];

#[test]
fn what_is_no_rule_differs_on_some_value() {
    for Refused(dtypes, build, tempting) in REFUSED {
        for &dtype in *dtypes {
            let (source, other) = (graph(dtype, dtype, *build), graph(dtype, dtype, *tempting));
            let arrays = pairs(dtype, dtype);
            assert_same(&source, &prepare(&source), &arrays);
            let [want, got] =
                [&source, &other].map(|graph| interpret(graph, &arrays, true).unwrap().remove(0));
            let differs = want.elements.iter().zip(&got.elements).any(|(want, got)| !want.same(*got));
            assert!(differs, "{source} ({dtype}) is the same as\n{other}");
        }
    }
}
