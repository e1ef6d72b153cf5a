//! A case or more of each rule.

use super::data::{
    BOOL, Build, FLOATS, INTEGERS, SIGNED, after, assert_same, constant, graph, op, pairs, what, with,
};
use crate::support::here;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{Graph, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::{RULES, simplify};

/// The number of elements of `x`, as a float of its dtype or `f64`.
fn size_of(graph: &mut Graph, x: ExprId) -> ExprId {
    let n = graph.shape(x)[0].clone();
    let count = graph.size_value(n, here());
    graph.cast(count, DType::F64, here())
}

/// One where `x < y`, else zero.
fn below(graph: &mut Graph, x: ExprId, y: ExprId) -> ExprId {
    let below = op(graph, Op::Less, &[x, y]);
    graph.cast(below, graph.dtype(x), here())
}

/// A rule, dtypes of `x`, an expression that it simplifies, and what the output is then.
struct Case(&'static str, &'static [&'static [DType]], Build, &'static str);

const CASES: &[Case] = &[
    Case(
        "op of constants = constant",
        &[BOOL],
        |g, x, _| {
            // The graph folds what is built of constants; this is one only once the select is gone.
            let yes = g.constant(Scalar::Bool(true), here());
            let [one, two] = [1, 2].map(|value| g.constant(Scalar::I64(value), here()));
            let size = g.size_value(g.shape(x)[0].clone(), here());
            let picked = g.select(yes, two, size, here());
            op(g, Op::Subtract, &[picked, one])
        },
        "constant",
    ),
    Case(
        "x + 0 = x of integers, x + -0 = x of floats",
        &[INTEGERS, BOOL],
        |g, x, _| with(g, Op::Add, x, 0.0),
        "input",
    ),
    Case(
        "x + 0 = x of integers, x + -0 = x of floats",
        &[FLOATS],
        |g, x, _| after(g, Op::Add, x, -0.0),
        "input",
    ),
    Case("x - 0 = x", &[INTEGERS, FLOATS], |g, x, _| with(g, Op::Subtract, x, 0.0), "input"),
    Case("x * 1 = x", &[INTEGERS, FLOATS, BOOL], |g, x, _| with(g, Op::Multiply, x, 1.0), "input"),
    Case("x * 1 = x", &[INTEGERS, FLOATS, BOOL], |g, x, _| after(g, Op::Multiply, x, 1.0), "input"),
    Case(
        "x * 1 = x",
        &[FLOATS],
        |g, x, _| {
            let one = constant(g, x, 1.0);
            let ones = g.broadcast_to(one, g.shape(x), here());
            op(g, Op::Multiply, &[ones, x])
        },
        "input",
    ),
    Case("x / 1 = x", &[FLOATS], |g, x, _| with(g, Op::Divide, x, 1.0), "input"),
    Case("x // 1 = x of integers", &[INTEGERS], |g, x, _| with(g, Op::FloorDivide, x, 1.0), "input"),
    Case(
        "x / c = x * (1 / c) of powers of two",
        &[FLOATS],
        |g, x, _| with(g, Op::Divide, x, 4.0),
        "multiply",
    ),
    Case(
        "x / c = x * (1 / c) of powers of two",
        &[FLOATS],
        |g, x, _| with(g, Op::Divide, x, -0.125),
        "multiply",
    ),
    Case(
        "x & ones = x",
        &[INTEGERS, BOOL],
        |g, x, _| {
            let zero = constant(g, x, 0.0);
            let ones = op(g, Op::BitwiseInvert, &[zero]);
            op(g, Op::BitwiseAnd, &[x, ones])
        },
        "input",
    ),
    Case("x | 0 = x", &[INTEGERS, BOOL], |g, x, _| with(g, Op::BitwiseOr, x, 0.0), "input"),
    Case("x ^ 0 = x", &[INTEGERS, BOOL], |g, x, _| after(g, Op::BitwiseXor, x, 0.0), "input"),
    Case("x << 0 = x", &[INTEGERS], |g, x, _| with(g, Op::BitwiseLeftShift, x, 0.0), "input"),
    Case("x >> 0 = x", &[INTEGERS], |g, x, _| with(g, Op::BitwiseRightShift, x, 0.0), "input"),
    Case("x and true = x", &[BOOL], |g, x, _| with(g, Op::LogicalAnd, x, 1.0), "input"),
    Case("x or false = x", &[BOOL], |g, x, _| after(g, Op::LogicalOr, x, 0.0), "input"),
    Case("x xor false = x", &[BOOL], |g, x, _| with(g, Op::LogicalXor, x, 0.0), "input"),
    Case(
        "maximum(x, least) = x",
        &[INTEGERS, FLOATS, BOOL],
        |g, x, _| {
            let least = if g.dtype(x) == DType::Bool { 0.0 } else { f64::NEG_INFINITY };
            with(g, Op::Maximum, x, least)
        },
        "input",
    ),
    Case(
        "minimum(x, greatest) = x",
        &[INTEGERS, FLOATS, BOOL],
        |g, x, _| after(g, Op::Minimum, x, f64::INFINITY),
        "input",
    ),
    Case(
        "maximum(x, 0) = x of x that is not negative",
        &[FLOATS],
        |g, x, _| {
            let square = op(g, Op::Square, &[x]);
            with(g, Op::Maximum, square, 0.0)
        },
        "square",
    ),
    Case(
        "maximum(x, 0) = x of x that is not negative",
        &[FLOATS],
        |g, x, _| {
            let magnitude = op(g, Op::Abs, &[x]);
            let root = op(g, Op::Sqrt, &[magnitude]);
            after(g, Op::Maximum, root, -0.0)
        },
        "sqrt",
    ),
    Case(
        "maximum(x, 0) = x of x that is not negative",
        &[FLOATS],
        |g, x, _| {
            let size = size_of(g, x);
            let total = g.reduce(ReduceOp::Sum, x, None, false, here());
            let total = g.cast(total, DType::F64, here());
            let size = op(g, Op::Relu, &[size]);
            op(g, Op::Multiply, &[total, size])
        },
        "multiply",
    ),
    Case(
        "maximum(x, 0) = x of x that is not negative",
        &[&[DType::U8, DType::U64]],
        |g, x, _| with(g, Op::Maximum, x, 0.0),
        "input",
    ),
    Case(
        "maximum(x, 0) = x of x that is not negative",
        &[INTEGERS, FLOATS],
        |g, x, y| {
            let (x, y) = (op(g, Op::Relu, &[x]), op(g, Op::Abs, &[y]));
            let larger = op(g, Op::Maximum, &[x, y]);
            op(g, Op::Relu, &[larger])
        },
        "maximum",
    ),
    Case(
        "abs(x) = x of x that is not negative",
        &[FLOATS],
        |g, x, _| {
            let magnitude = op(g, Op::Abs, &[x]);
            op(g, Op::Abs, &[magnitude])
        },
        "abs",
    ),
    Case(
        "abs(x) = x of x that is not negative",
        &[SIGNED],
        |g, x, _| {
            let positive = op(g, Op::Relu, &[x]);
            op(g, Op::Abs, &[positive])
        },
        "relu",
    ),
    Case(
        "x & x, x | x, maximum(x, x), minimum(x, x) = x",
        &[INTEGERS, BOOL],
        |g, x, _| {
            let both = op(g, Op::BitwiseAnd, &[x, x]);
            op(g, Op::BitwiseOr, &[both, x])
        },
        "input",
    ),
    Case(
        "x & x, x | x, maximum(x, x), minimum(x, x) = x",
        &[FLOATS, INTEGERS],
        |g, x, _| {
            let both = op(g, Op::Maximum, &[x, x]);
            let both = op(g, Op::Fmin, &[both, x]);
            op(g, Op::Minimum, &[both, x])
        },
        "input",
    ),
    Case(
        "+x, stop_gradient(x) = x",
        &[FLOATS, INTEGERS],
        |g, x, _| {
            let stopped = op(g, Op::StopGradient, &[x]);
            op(g, Op::Positive, &[stopped])
        },
        "input",
    ),
    Case("with_gradient(x, y) = x", &[FLOATS, INTEGERS], |g, x, y| op(g, Op::WithGradient, &[x, y]), "input"),
    Case(
        "--x = x, ~~x = x, not not x = x",
        &[FLOATS, INTEGERS],
        |g, x, _| {
            let negative = op(g, Op::Negative, &[x]);
            op(g, Op::Negative, &[negative])
        },
        "input",
    ),
    Case(
        "--x = x, ~~x = x, not not x = x",
        &[INTEGERS, BOOL],
        |g, x, _| {
            let flipped = op(g, Op::BitwiseInvert, &[x]);
            op(g, Op::BitwiseInvert, &[flipped])
        },
        "input",
    ),
    Case(
        "--x = x, ~~x = x, not not x = x",
        &[BOOL],
        |g, x, _| {
            let not = op(g, Op::LogicalNot, &[x]);
            op(g, Op::LogicalNot, &[not])
        },
        "input",
    ),
    Case(
        "floor, ceil, trunc, round of integers = x",
        &[INTEGERS],
        |g, x, _| [Op::Floor, Op::Ceil, Op::Trunc, Op::Round].iter().fold(x, |x, of| op(g, *of, &[x])),
        "input",
    ),
    Case(
        "c * x = select(c, x, 0) of a truth value and integers",
        &[INTEGERS],
        |g, x, y| {
            let one = below(g, x, y);
            op(g, Op::Multiply, &[one, x])
        },
        "select",
    ),
    Case(
        "c * x = select(c, x, 0) of a truth value and integers",
        &[INTEGERS],
        |g, x, y| {
            let one = below(g, x, y);
            op(g, Op::Multiply, &[y, one])
        },
        "select",
    ),
    Case(
        "cast of a cast that loses nothing = cast",
        &[FLOATS, INTEGERS, BOOL],
        |g, x, _| {
            let from = g.dtype(x);
            let wide = DType::ALL.iter().find(|over| from != **over && from.is_exact_in(**over));
            let wide = g.cast(x, *wide.unwrap_or(&from), here());
            g.cast(wide, from, here())
        },
        "input",
    ),
    Case(
        "x.at[r].set(v)[r] = v",
        &[FLOATS, INTEGERS, BOOL],
        |g, x, y| {
            let from_second = [SliceSpec::Range { start: Some(Dim::ONE), stop: None, step: 1 }];
            let value = g.slice(y, &from_second, here());
            let changed = g.set(x, &from_second, value, here());
            g.slice(changed, &from_second, here())
        },
        "slice",
    ),
    Case(
        "x.at[r].set(u).at[r].set(v) = x.at[r].set(v)",
        &[FLOATS, INTEGERS, BOOL],
        |g, x, y| {
            let from_second = [SliceSpec::Range { start: Some(Dim::ONE), stop: None, step: 1 }];
            let value = g.slice(y, &from_second, here());
            let twice = op(g, Op::Equal, &[x, y]);
            let twice = g.cast(twice, g.dtype(x), here());
            let first = g.slice(twice, &from_second, here());
            let changed = g.set(x, &from_second, first, here());
            g.set(changed, &from_second, value, here())
        },
        "set",
    ),
    Case(
        "select(c, x, x) = x, select(true, x, y) = x",
        &[FLOATS, INTEGERS],
        |g, x, y| {
            let below = op(g, Op::Less, &[x, y]);
            g.select(below, x, x, here())
        },
        "input",
    ),
    Case(
        "select(c, x, x) = x, select(true, x, y) = x",
        &[FLOATS, INTEGERS],
        |g, x, y| {
            let [yes, no] = [true, false].map(|value| g.constant(Scalar::Bool(value), here()));
            let first = g.select(yes, x, y, here());
            g.select(no, y, first, here())
        },
        "input",
    ),
];

#[test]
fn each_rule_simplifies_and_changes_no_bit() {
    for rule in RULES {
        assert!(CASES.iter().any(|case| case.0 == rule.name), "a case for {rule:?}");
    }
    for Case(name, dtypes, build, becomes) in CASES {
        assert!(RULES.iter().any(|rule| rule.name == *name), "{name} is no rule");
        for &dtype in dtypes.iter().copied().flatten() {
            let source = graph(dtype, dtype, *build);
            let simpler = simplify(&source);
            let out = simpler.graph.outputs()[0].expr;
            assert_eq!(what(&simpler.graph, out), *becomes, "{name} ({dtype}):\n{}", simpler.graph);
            assert_same(&source, &simpler, &pairs(dtype, dtype));
        }
    }
}

#[test]
fn casts_of_casts_keep_every_value() {
    for &from in DType::ALL {
        for &over in DType::ALL {
            for &to in DType::ALL {
                let mut g = Graph::new();
                let n = g.symbol("n", here());
                let shape = Shape::from_iter([g.symbol_size(n)]);
                let x = g.input("x", from, shape, here());
                let middle = g.cast(x, over, here());
                let out = g.cast(middle, to, here());
                let source = g.finish(&[("out", out)]).unwrap();
                assert_same(&source, &simplify(&source), &pairs(from, DType::Bool)[..1]);
            }
        }
    }
}
