//! Well-known expressions, one for every form of loop: built by the tests of several crates.

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Graph};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use std::panic::Location;

/// A graph under construction with one-letter symbols.
pub struct Builder {
    graph: Graph,
}

impl Builder {
    fn dim(&mut self, size: &str) -> Dim {
        match size.parse() {
            Ok(size) => Dim::constant(size),
            Err(_) => Dim::symbol(self.graph.symbol(size, Location::caller())),
        }
    }

    fn input(&mut self, name: &str, dtype: DType, shape: &[&str]) -> ExprId {
        let shape: Shape = shape.iter().map(|size| self.dim(size)).collect();
        self.graph.input(name, dtype, shape, Location::caller())
    }

    fn op(&mut self, op: Op, operands: &[ExprId]) -> ExprId {
        self.graph.elementwise(op, operands, Location::caller())
    }

    fn reduce(&mut self, op: ReduceOp, operand: ExprId, axes: &[i64], keepdims: bool) -> ExprId {
        self.graph.reduce(op, operand, Some(axes), keepdims, Location::caller())
    }

    fn expand(&mut self, operand: ExprId, axis: i64) -> ExprId {
        self.graph.expand_dims(operand, &[axis], Location::caller())
    }
}

pub type Build = fn(&mut Builder) -> Vec<ExprId>;

const F32: DType = DType::F32;
const F64: DType = DType::F64;

/// Every form of loop, by a well-known expression that takes it.
pub const CASES: &[(&str, Build)] = &[
    ("bias", |b| {
        let x = b.input("x", F32, &["n", "m", "3"]);
        let bias = b.input("bias", F32, &["3"]);
        vec![b.op(Op::Add, &[x, bias])]
    }),
    ("tile call", |b| {
        let (x, y) = (b.input("x", F32, &["n", "m"]), b.input("y", F32, &["n", "m"]));
        let e = b.op(Op::Exp, &[x]);
        vec![b.op(Op::Multiply, &[e, y])]
    }),
    ("outer product of functions", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1"]), b.input("y", F32, &["m"]));
        let (e, s) = (b.op(Op::Exp, &[x]), b.op(Op::Sin, &[y]));
        vec![b.op(Op::Multiply, &[e, s])]
    }),
    ("nearest code", |b| {
        let (obs, codes) = (b.input("obs", F32, &["n", "3"]), b.input("codes", F32, &["k", "3"]));
        let (obs, codes) = (b.expand(obs, 1), b.expand(codes, 0));
        let d = b.op(Op::Subtract, &[codes, obs]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        vec![b.reduce(ReduceOp::ArgMin, d, &[1], false), b.reduce(ReduceOp::Min, d, &[1], false)]
    }),
    ("pairs of other kinds", |b| {
        let (x, y) = (b.input("x", F64, &["n", "17"]), b.input("y", F64, &["k", "17"]));
        let (x, y) = (b.expand(x, 1), b.expand(y, 0));
        let product = b.op(Op::Multiply, &[x, y]);
        let product = b.reduce(ReduceOp::Sum, product, &[2], false);
        let d = b.op(Op::Subtract, &[x, y]);
        let square = b.op(Op::Square, &[d]);
        let square = b.reduce(ReduceOp::Sum, square, &[2], false);
        let distance = b.op(Op::Sqrt, &[square]);
        let abs = b.op(Op::Abs, &[d]);
        let abs = b.reduce(ReduceOp::Sum, abs, &[2], false);
        let least = b.reduce(ReduceOp::Min, distance, &[1], false);
        vec![
            b.reduce(ReduceOp::ArgMax, product, &[1], false),
            b.reduce(ReduceOp::Mean, least, &[0], false),
            b.reduce(ReduceOp::Max, abs, &[1], true),
            b.reduce(ReduceOp::ArgMin, abs, &[1], false),
        ]
    }),
    ("nearest code, long", |b| {
        let (obs, codes) = (b.input("obs", F32, &["n", "m"]), b.input("codes", F32, &["k", "m"]));
        let (obs, codes) = (b.expand(obs, 1), b.expand(codes, 0));
        let d = b.op(Op::Subtract, &[codes, obs]);
        let d = b.op(Op::Square, &[d]);
        let d = b.reduce(ReduceOp::Sum, d, &[-1], false);
        let d = b.op(Op::Sqrt, &[d]);
        vec![b.reduce(ReduceOp::ArgMin, d, &[1], false)]
    }),
    ("rows, columns, all", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let q = b.op(Op::Square, &[x]);
        let d = b.graph.cast(x, F64, Location::caller());
        vec![
            b.reduce(ReduceOp::Sum, q, &[1], false),
            b.reduce(ReduceOp::Sum, q, &[0], false),
            b.reduce(ReduceOp::Mean, d, &[0, 1], false),
            b.reduce(ReduceOp::Sum, d, &[0], false),
            b.reduce(ReduceOp::ArgMax, x, &[0], false),
            b.reduce(ReduceOp::ArgMin, x, &[1], true),
            b.reduce(ReduceOp::ArgMin, x, &[0, 1], true),
            b.reduce(ReduceOp::Max, x, &[0], true),
        ]
    }),
    ("softmax", |b| {
        let x = b.input("x", F32, &["n", "m"]);
        let max = b.reduce(ReduceOp::Max, x, &[1], true);
        let d = b.op(Op::Subtract, &[x, max]);
        let e = b.op(Op::Exp, &[d]);
        let sum = b.reduce(ReduceOp::Sum, e, &[1], true);
        vec![b.op(Op::Divide, &[e, sum])]
    }),
    ("standardised columns", |b| {
        let x = b.input("x", F64, &["n", "m"]);
        let mean = b.reduce(ReduceOp::Mean, x, &[0], true);
        let d = b.op(Op::Subtract, &[x, mean]);
        let q = b.op(Op::Square, &[d]);
        let var = b.reduce(ReduceOp::Mean, q, &[0], true);
        let std = b.op(Op::Sqrt, &[var]);
        vec![b.op(Op::Divide, &[d, std])]
    }),
    ("kernel density", |b| {
        let (x, y) = (b.input("x", F64, &["n", "1"]), b.input("y", F64, &["m"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let q = b.op(Op::Square, &[d]);
        let q = b.op(Op::Negative, &[q]);
        let e = b.op(Op::Exp, &[q]);
        let s = b.reduce(ReduceOp::Sum, e, &[1], false);
        vec![b.op(Op::Log, &[s])]
    }),
    ("columns of functions, matrix product", |b| {
        let (x, y) = (b.input("x", F32, &["n", "k"]), b.input("y", F32, &["k", "m"]));
        let e = b.op(Op::Exp, &[y]);
        let sums = b.reduce(ReduceOp::Sum, e, &[0], false);
        let x = b.expand(x, 2);
        let p = b.op(Op::Multiply, &[x, y]);
        vec![sums, b.reduce(ReduceOp::Sum, p, &[1], false)]
    }),
    ("take and iota", |b| {
        let (table, index) = (b.input("table", F32, &["4", "3"]), b.input("index", DType::I32, &["n"]));
        let n = b.dim("n");
        let taken = b.graph.take(table, index, 0, Location::caller());
        let position = b.graph.iota(n, Location::caller());
        let position = b.graph.cast(position, F32, Location::caller());
        let position = b.expand(position, 1);
        vec![b.op(Op::Add, &[taken, position])]
    }),
    ("mean of the least", |b| {
        let (x, y) = (b.input("x", F32, &["n", "1"]), b.input("y", F32, &["k"]));
        let d = b.op(Op::Subtract, &[x, y]);
        let d = b.op(Op::Abs, &[d]);
        let least = b.reduce(ReduceOp::Min, d, &[1], false);
        vec![b.reduce(ReduceOp::Mean, least, &[0], false)]
    }),
];

/// The graph of a case, its outputs named `out0`, `out1`, ..
pub fn graph(build: Build) -> CheckedGraph {
    let mut builder = Builder { graph: Graph::new() };
    let results = build(&mut builder);
    let names: Vec<String> = (0..results.len()).map(|index| format!("out{index}")).collect();
    let outputs: Vec<(&str, ExprId)> = names.iter().map(String::as_str).zip(results).collect();
    builder.graph.finish(&outputs).expect("the cases are well shaped")
}
