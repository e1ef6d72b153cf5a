//! Rewritten graphs: the same bits on special values, the same errors, the same outputs and demands.

mod support;

use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph, Node, SliceSpec};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::{RULES, Rewriter, Rewritten, canonical, prepare, simplify};
use broadloom_ir::{ExprId, InputId};
use support::here;

const INTEGERS: &[DType] =
    &[DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];
const SIGNED: &[DType] = &[DType::I8, DType::I16, DType::I32, DType::I64];
const FLOATS: &[DType] = &[DType::F16, DType::Bf16, DType::F32, DType::F64];
const BOOL: &[DType] = &[DType::Bool];

/// Zeros of both signs, infinities, NaN, the ends of the range, numbers that round.
fn specials(dtype: DType) -> Vec<Scalar> {
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        -2.7,
        3.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::from(f32::MAX),
        f64::MIN_POSITIVE,
        -5e-324,
        f64::from(f32::MIN_POSITIVE) / 4.0,
        6e-8,
        65504.0,
        1e30,
    ];
    match dtype.class() {
        Class::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        Class::Float => floats.iter().map(|value| Scalar::F64(*value).cast(dtype)).collect(),
        Class::Int => {
            let ends = [f64::NEG_INFINITY, f64::INFINITY].map(|end| Scalar::F64(end).cast(dtype));
            // The squares of some wrap to negative numbers.
            let small = [-200, -128, -3, -1, 0, 1, 2, 7, 100, 200, 300, 46_341, 3_037_000_500, (1 << 53) + 1]
                .map(|value| Scalar::I64(value).cast(dtype));
            ends.into_iter().chain(small).collect()
        }
    }
}

/// The arrays `x` and `y` with every pair of special values.
fn pairs(x: DType, y: DType) -> Vec<Array> {
    let (left, right) = (specials(x), specials(y));
    let shape = vec![left.len() * right.len()];
    let of = |dtype, elements| Array { dtype, shape: shape.clone(), elements };
    let xs = left.iter().flat_map(|value| std::iter::repeat_n(*value, right.len())).collect();
    let ys = left.iter().flat_map(|_| right.iter().copied()).collect();
    vec![of(x, xs), of(y, ys)]
}

type Build = fn(&mut Graph, ExprId, ExprId) -> ExprId;

/// A graph of the inputs `x` and `y`, both of shape `[n]`.
fn graph(x: DType, y: DType, build: Build) -> CheckedGraph {
    let mut graph = Graph::new();
    let n = graph.symbol("n", here());
    let shape = Shape::from_iter([graph.symbol_size(n)]);
    let x = graph.input("x", x, shape.clone(), here());
    let y = graph.input("y", y, shape, here());
    let out = build(&mut graph, x, y);
    graph.finish(&[("out", out)]).unwrap()
}

/// An interpreted error with the expression of the graph that was rewritten.
fn in_source(error: InterpretError, rewritten: &Rewritten) -> InterpretError {
    match error {
        InterpretError::Index { expr, position, value, size } => {
            InterpretError::Index { expr: rewritten.origin(expr), position, value, size }
        }
        InterpretError::NegativeExponent { expr, position, value } => {
            InterpretError::NegativeExponent { expr: rewritten.origin(expr), position, value }
        }
        error => error,
    }
}

fn assert_same(source: &CheckedGraph, rewritten: &Rewritten, arrays: &[Array]) {
    for fused in [false, true] {
        let want = interpret(source, arrays, fused);
        let got = interpret(&rewritten.graph, arrays, fused);
        let what = || format!("{source}\nbecomes\n{}\nfused: {fused}", rewritten.graph);
        match (want, got) {
            (Ok(want), Ok(got)) => {
                for (want, got) in want.iter().zip(&got) {
                    assert_eq!((want.dtype, &want.shape), (got.dtype, &got.shape), "{}", what());
                    for (position, (want, got)) in want.elements.iter().zip(&got.elements).enumerate() {
                        assert!(want.same(*got), "{want} became {got} at {position} of\n{}", what());
                    }
                }
            }
            (Err(want), Err(got)) => assert_eq!(want, in_source(got, rewritten), "{}", what()),
            (want, got) => panic!("{want:?} became {got:?} in\n{}", what()),
        }
    }
}

fn constant(graph: &mut Graph, like: ExprId, value: f64) -> ExprId {
    graph.constant(Scalar::F64(value).cast(graph.dtype(like)), here())
}

fn op(graph: &mut Graph, op: Op, operands: &[ExprId]) -> ExprId {
    graph.elementwise(op, operands, here())
}

/// `x op value`.
fn with(graph: &mut Graph, of: Op, x: ExprId, value: f64) -> ExprId {
    let value = constant(graph, x, value);
    op(graph, of, &[x, value])
}

/// `value op x`.
fn after(graph: &mut Graph, of: Op, x: ExprId, value: f64) -> ExprId {
    let value = constant(graph, x, value);
    op(graph, of, &[value, x])
}

/// The number of elements of `x`, as a float of its dtype or `f64`.
fn size_of(graph: &mut Graph, x: ExprId) -> ExprId {
    let n = graph.shape(x)[0].clone();
    let count = graph.size_value(n, here());
    graph.cast(count, DType::F64, here())
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
    Case("+x = x", &[FLOATS, INTEGERS], |g, x, _| op(g, Op::Positive, &[x]), "input"),
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

/// The first word of what an expression is.
fn what(graph: &CheckedGraph, expr: ExprId) -> String {
    let line = graph.to_string().lines().nth(expr.index()).unwrap().to_string();
    line.split(' ').nth(2).unwrap().to_string()
}

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

#[test]
fn what_is_written_in_two_ways_is_one_node() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n), Dim::constant(4)]);
    let x = g.input("x", DType::F64, shape, here());
    let kept = g.reduce(ReduceOp::Sum, x, Some(&[0]), true, here());
    let squeezed = g.squeeze(kept, &[0], here());
    let plain = g.reduce(ReduceOp::Sum, x, Some(&[0]), false, here());
    let expanded = g.expand_dims(plain, &[0], here());
    let centred = [op(&mut g, Op::Subtract, &[x, kept]), op(&mut g, Op::Subtract, &[x, plain])];
    let outputs =
        [("a", kept), ("b", squeezed), ("c", plain), ("d", expanded), ("e", centred[0]), ("f", centred[1])];
    let source = g.finish(&outputs).unwrap();
    let canonical = canonical(&source);
    assert_eq!(
        canonical.graph.to_string(),
        r#"%0 = input "x" : f64[n, 4]
%1 = sum %0 axes=[0] : f64[4]
%2 = expand_dims %1 axes=[0] : f64[1, 4]
%3 = subtract %0 %1 : f64[n, 4]
output "a" = %2
output "b" = %1
output "c" = %1
output "d" = %2
output "e" = %3
output "f" = %3
"#
    );
    let sum = canonical.image(source.outputs()[2].expr).unwrap();
    let origins = canonical.origins_of(&[sum]);
    let named: Vec<String> = origins.iter().map(|expr| what(&source, *expr)).collect();
    assert_eq!(named, ["sum", "squeeze", "sum"], "all that the one node computes");
}

#[test]
fn standardising_sums_once() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n), Dim::constant(4)]);
    let x = g.input("x", DType::F64, shape, here());
    let mean = g.reduce(ReduceOp::Mean, x, Some(&[0]), false, here());
    let deviation = op(&mut g, Op::Subtract, &[x, mean]);
    let std = g.std(x, Some(&[0]), 0.0, false, here());
    let out = op(&mut g, Op::Divide, &[deviation, std]);
    let source = g.finish(&[("out", out)]).unwrap();
    assert_eq!(
        prepare(&source).graph.to_string(),
        r#"%0 = input "x" : f64[n, 4]
%1 = sum %0 axes=[0] : f64[4]
%2 = size n : i64[]
%3 = cast %2 : f64[]
%4 = divide %1 %3 : f64[4]
%5 = subtract %0 %4 : f64[n, 4]
%6 = square %5 : f64[n, 4]
%7 = sum %6 axes=[0] : f64[4]
%8 = divide %7 %3 : f64[4]
%9 = sqrt %8 : f64[4]
%10 = divide %5 %9 : f64[n, 4]
output "out" = %10
"#
    );
}

#[test]
fn inputs_outputs_assignments_and_demands_stay() {
    let mut g = Graph::new();
    let [n, m] = ["n", "m"].map(|name| g.symbol(name, here()));
    let [n, m] = [n, m].map(|symbol| g.symbol_size(symbol));
    let unused = g.input("unused", DType::F32, Shape::from_iter([m.clone()]), here());
    let x = g.input("x", DType::F32, Shape::from_iter([n]), here());
    g.elementwise(Op::Exp, &[unused], here());
    let start = SliceSpec::Range { start: Some(Dim::constant(5)), stop: None, step: 1 };
    let tail = g.slice(x, &[start], here());
    let least = g.reduce(ReduceOp::Min, tail, None, true, here());
    let same = with(&mut g, Op::Multiply, least, 1.0);
    let value = with(&mut g, Op::Subtract, x, 0.0);
    g.assign(x, value, here());
    let source = g.finish(&[("least", same), ("again", least)]).unwrap();
    let rewritten = prepare(&source);
    let after = &rewritten.graph;
    assert_eq!(after.inputs(), source.inputs());
    let named = |graph: &CheckedGraph| -> Vec<(String, Option<InputId>)> {
        graph.outputs().iter().map(|output| (output.name.to_string(), output.assigned)).collect()
    };
    assert_eq!(named(after), named(&source));
    let demands = |graph: &CheckedGraph| -> Vec<_> {
        graph.obligations().iter().map(|obligation| (obligation.demand.clone(), obligation.site)).collect()
    };
    assert_eq!(demands(after), demands(&source));
    assert_eq!(demands(after).len(), 2);
    for (one, other) in after.obligations().iter().zip(source.obligations()) {
        assert_eq!(one.origin.map(|expr| rewritten.origin(expr)), other.origin);
    }
    for expr in after.exprs() {
        let origin = rewritten.origin(expr);
        assert_eq!(after.site(expr), source.site(origin), "{expr} of {origin}");
    }
}

#[test]
fn a_long_chain_is_rewritten_without_recursion() {
    let mut g = Graph::new();
    let n = g.symbol("n", here());
    let shape = Shape::from_iter([g.symbol_size(n)]);
    let x = g.input("x", DType::F32, shape, here());
    let mut chain = x;
    for _ in 0..50_000 {
        chain = with(&mut g, Op::Multiply, chain, 1.0);
        chain = op(&mut g, Op::Negative, &[chain]);
        chain = op(&mut g, Op::Positive, &[chain]);
    }
    let source = g.finish(&[("out", chain)]).unwrap();
    assert_eq!(prepare(&source).graph.len(), 1);
}

#[test]
fn a_rewriter_keeps_what_is_copied() {
    let source = graph(DType::F32, DType::F32, |g, x, y| {
        let sum = op(g, Op::Add, &[x, y]);
        op(g, Op::Exp, &[sum])
    });
    let copy = Rewriter::map(&source, |rewriter, expr| rewriter.copy(expr));
    assert_eq!(copy.graph.to_string(), source.to_string());
    let negated = Rewriter::map(&source, |rewriter, expr| {
        let copy = rewriter.copy(expr);
        match source.node(expr) {
            Node::Elementwise { op: Op::Add, .. } => {
                rewriter.builder().elementwise(Op::Negative, &[copy], source.site(expr))
            }
            _ => copy,
        }
    });
    assert_eq!(what(&negated.graph, ExprId::new(3)), "negative");
    assert_eq!(negated.image(ExprId::new(2)), Some(ExprId::new(3)));
    assert_eq!(negated.origin(ExprId::new(3)), ExprId::new(2));
}
