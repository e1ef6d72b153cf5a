//! Special values, expressions of two inputs, and the comparison of a graph with what became of it.

use crate::support::here;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Graph};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_ir::shape::Shape;
use broadloom_ir::transform::Rewritten;

pub const INTEGERS: &[DType] =
    &[DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];
pub const SIGNED: &[DType] = &[DType::I8, DType::I16, DType::I32, DType::I64];
pub const FLOATS: &[DType] = &[DType::F16, DType::Bf16, DType::F32, DType::F64];
pub const BOOL: &[DType] = &[DType::Bool];

/// Zeros of both signs, infinities, NaN, the ends of the range, numbers that round.
pub fn specials(dtype: DType) -> Vec<Scalar> {
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
pub fn pairs(x: DType, y: DType) -> Vec<Array> {
    let (left, right) = (specials(x), specials(y));
    let shape = vec![left.len() * right.len()];
    let of = |dtype, elements| Array { dtype, shape: shape.clone(), elements };
    let xs = left.iter().flat_map(|value| std::iter::repeat_n(*value, right.len())).collect();
    let ys = left.iter().flat_map(|_| right.iter().copied()).collect();
    vec![of(x, xs), of(y, ys)]
}

pub type Build = fn(&mut Graph, ExprId, ExprId) -> ExprId;

/// A graph of the inputs `x` and `y`, both of shape `[n]`.
pub fn graph(x: DType, y: DType, build: Build) -> CheckedGraph {
    let mut graph = Graph::new();
    let n = graph.symbol("n", here());
    let shape = Shape::from_iter([graph.symbol_size(n)]);
    let x = graph.input("x", x, shape.clone(), here());
    let y = graph.input("y", y, shape, here());
    let out = build(&mut graph, x, y);
    graph.finish(&[("out", out)]).unwrap()
}

/// An interpreted error with the expression of the graph that was rewritten.
pub fn in_source(error: InterpretError, rewritten: &Rewritten) -> InterpretError {
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

pub fn assert_same(source: &CheckedGraph, rewritten: &Rewritten, arrays: &[Array]) {
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

pub fn constant(graph: &mut Graph, like: ExprId, value: f64) -> ExprId {
    graph.constant(Scalar::F64(value).cast(graph.dtype(like)), here())
}

pub fn op(graph: &mut Graph, op: Op, operands: &[ExprId]) -> ExprId {
    graph.elementwise(op, operands, here())
}

/// `x op value`.
pub fn with(graph: &mut Graph, of: Op, x: ExprId, value: f64) -> ExprId {
    let value = constant(graph, x, value);
    op(graph, of, &[x, value])
}

/// `value op x`.
pub fn after(graph: &mut Graph, of: Op, x: ExprId, value: f64) -> ExprId {
    let value = constant(graph, x, value);
    op(graph, of, &[value, x])
}

/// The first word of what an expression is.
pub fn what(graph: &CheckedGraph, expr: ExprId) -> String {
    let line = graph.to_string().lines().nth(expr.index()).unwrap().to_string();
    line.split(' ').nth(2).unwrap().to_string()
}
